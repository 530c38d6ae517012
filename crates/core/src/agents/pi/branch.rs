//! The input for the summary of an abandoned branch (pi's `prepareBranchEntries`).

use super::context;
use super::edits::{ContextEdit, apply_edit, collect_edits};
use super::tokens;
use crate::agents::prepare::{BranchBudget, FileOps, collect_branch_input};
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::{Body, ContextMessage, EntryReader};
use foldhash::HashMap;
use std::io;

/// Returns the messages from which the summary of a branch is made, and the files that they
/// touched. `entries` are the entries of the branch, oldest first. As in pi, tool results are left
/// out, because the calls show what was done. Edits on the branch are applied to its entries.
pub fn prepare_branch_summary(
    entries: &[EntryIx],
    reader: &EntryReader,
    budget: BranchBudget,
) -> io::Result<(Vec<ContextMessage>, FileOps)> {
    let edits = collect_edits(entries.iter().copied(), reader)?;
    collect_branch_input(entries, reader, budget, tokens::estimate_message, |ix| {
        branch_message(ix, &edits, reader)
    })
}

/// Returns the message of an entry of the branch. `None` for a tool result, for an entry without a
/// message, and for an entry that an edit omits. As in pi, edits are not applied to the summaries
/// on a branch.
fn branch_message(
    ix: EntryIx,
    edits: &HashMap<Vec<u8>, ContextEdit>,
    reader: &EntryReader,
) -> io::Result<Option<ContextMessage>> {
    let session = reader.session();
    let entry = session.entry(ix);
    if session.is_message(ix, Role::ToolResult) {
        return Ok(None);
    }
    let edit = match entry.kind {
        Kind::Message | Kind::CustomMessage => edits.get(session.id(ix).as_bytes()).copied(),
        _ => None,
    };

    let is_edited = edit.is_some();
    let Some(body) = unedited_body(ix, is_edited, reader)? else {
        return Ok(None);
    };
    let message = ContextMessage { entry: ix, body };
    apply_edit(message, edit, reader)
}

/// Returns the message of an entry before its edit; `None` for an entry without a message. Content
/// that is missing stays missing, unlike in a context, except where an edit needs it (`is_edited`).
fn unedited_body(ix: EntryIx, is_edited: bool, reader: &EntryReader) -> io::Result<Option<Body>> {
    let entry = reader.session().entry(ix);
    let json = match entry.kind {
        // The line need not be read.
        Kind::Message if !is_edited && entry.role != Role::Missing => {
            return Ok(Some(Body::Stored));
        }
        Kind::Message => return context::message_body(ix, reader),
        Kind::CustomMessage => {
            let default_content: Option<&[u8]> = if is_edited { Some(b"[]") } else { None };
            reader.with_entry(ix, |line| {
                context::build_custom_message(line, default_content)
            })?
        }
        Kind::BranchSummary => reader.with_entry(ix, context::build_branch_summary)?,
        Kind::Compaction => reader.with_entry(ix, context::build_compaction_summary)?,
        _ => return Ok(None),
    };
    Ok(Some(Body::from_json(json)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::pi::testing::*;
    use crate::agents::prepare::BRANCH_BUDGET;

    fn prepared(entries: &[String], budget: BranchBudget) -> (Vec<String>, FileOps) {
        let made = chain(entries);
        let (messages, ops) = prepare_branch_summary(&made.path(), &made.reader(), budget).unwrap();
        (made.ids(&messages), ops)
    }

    #[test]
    fn the_newest_that_fit_are_included() {
        let entries = [
            user("abcd"),
            call("edit", "f"),
            result("hidden"),
            user("abcd"),
            assistant("abcd"),
        ];
        assert_eq!(
            prepared(&entries, BRANCH_BUDGET).0,
            ["e0", "e1", "e3", "e4"]
        );
        let (included, ops) = prepared(&entries, BranchBudget::Tokens(2));
        assert_eq!(included, ["e3", "e4"]);
        // pi includes the files of the message that no longer fits, too.
        assert!(ops.edited.keys().eq(["f"]));
    }

    #[test]
    fn summaries_squeeze_in() {
        let summary = r#""type":"branch_summary","fromId":"x","summary":"12345678","details":{"readFiles":["r"],"modifiedFiles":[]}"#;
        let entries = [user("a"), summary.to_owned(), user("abcd")];
        assert_eq!(prepared(&entries, BranchBudget::Tokens(2)).0, ["e1", "e2"]);
        assert_eq!(prepared(&entries, BranchBudget::Tokens(1)).0, ["e2"]);
        assert!(
            prepared(&entries, BranchBudget::Tokens(1))
                .1
                .read
                .keys()
                .eq(["r"])
        );
    }

    /// The messages of a whole branch are not measured, so they need not be read.
    #[test]
    fn a_whole_branch_is_not_read() {
        let made = chain(&[user("a"), call("edit", "f"), result("hidden")]);
        let unreadable: Vec<u8> = Vec::new();
        let reader = EntryReader::new(&made.session, &unreadable);
        assert!(prepare_branch_summary(&made.path(), &reader, BRANCH_BUDGET).is_err());
        let (messages, _) =
            prepare_branch_summary(&made.path(), &reader, BranchBudget::Unlimited).unwrap();
        assert_eq!(made.ids(&messages), ["e0", "e1"]);
    }

    #[test]
    fn edits_hold_where_pi_lets_them() {
        let entries = [
            user("a"),
            user("b"),
            compacted("e1", ""),
            edit("e0", "null"),
            edit("e2", "null"),
        ];
        assert_eq!(prepared(&entries, BRANCH_BUDGET).0, ["e1", "e2"]);
    }
}
