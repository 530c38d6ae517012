//! The input for the summary of an abandoned branch (pi's `prepareBranchEntries`).

use super::context::{self, Edits, edited};
use super::{file_ops, tokens, with_line};
use crate::agents::prepare::FileOps;
use crate::session::Session;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::{Body, EntryReader, Message};
use pisess_json::Raw;
use std::io;

/// The limit of pi for the messages, in tokens: the usual context window minus its reserve for prompt and
/// response.
pub const TOKEN_BUDGET: u64 = 128_000 - 16_384;

/// A branch summary before its text is written.
#[derive(Clone, Debug, Default)]
pub struct BranchPreparation {
    /// The messages of the branch, in order: the newest that fit the budget.
    pub messages: Vec<Message>,
    /// The files touched by those messages, and by those that earlier branch summaries list.
    pub file_ops: FileOps,
    /// The estimate of the messages.
    pub tokens: u64,
}

/// Prepares the summary of `entries`, oldest first; a `budget` of 0 tokens means no limit.
///
/// Tool results are omitted. Edits on the branch apply to its entries.
///
/// # Errors
/// If a line cannot be read.
pub fn prepare(
    session: &Session,
    entries: &[EntryIx],
    bodies: &dyn EntryReader,
    budget: u64,
) -> io::Result<BranchPreparation> {
    let mut branch = BranchPreparation::default();
    for &ix in entries.iter().filter(|&&ix| session.entry(ix).kind == Kind::BranchSummary) {
        with_line(bodies, ix, |line| file_ops::add_details(line, &mut branch.file_ops))?;
    }
    let edits = Edits::among(session, entries.iter().copied(), bodies)?;
    for &ix in entries.iter().rev() {
        let Some(message) = message(session, ix, &edits, bodies)? else { continue };
        file_ops::add_message(session, &message, bodies, &mut branch.file_ops)?;
        let tokens = message.with(bodies, tokens::estimate)?;
        let full = budget > 0 && branch.tokens + tokens > budget;
        let summary = matches!(session.entry(ix).kind, Kind::Compaction | Kind::BranchSummary);
        // A summary that does not fit is still included if more than a tenth of the budget is left.
        if !full || (summary && branch.tokens * 10 < budget * 9) {
            branch.messages.push(message);
            branch.tokens += tokens;
        }
        if full {
            break;
        }
    }
    branch.messages.reverse();
    Ok(branch)
}

/// Returns the message of an entry of the branch.
fn message(
    session: &Session,
    ix: EntryIx,
    edits: &Edits,
    bodies: &dyn EntryReader,
) -> io::Result<Option<Message>> {
    let built = |make: fn(Raw) -> Vec<u8>| with_line(bodies, ix, |line| Body::built(make(line)));
    let edit = edits.of(session, ix);
    let body = match session.entry(ix).kind {
        Kind::Message if session.entry(ix).role == Role::ToolResult => return Ok(None),
        Kind::Message if edit.is_some() || session.entry(ix).role == Role::Missing => {
            context::message(session, ix, bodies)?
        }
        Kind::Message => Some(Body::Stored),
        Kind::CustomMessage if edit.is_some() => Some(built(|line| context::custom(line, Some(b"[]")))?),
        Kind::CustomMessage => Some(built(|line| context::custom(line, None))?),
        // Edits do not apply to summaries here.
        Kind::BranchSummary => return Ok(Some(Message { entry: ix, body: built(context::branch_summary)? })),
        Kind::Compaction => {
            return Ok(Some(Message { entry: ix, body: built(context::compaction_summary)? }));
        }
        _ => None,
    };
    let Some(body) = body else { return Ok(None) };
    let message = Message { entry: ix, body };
    match edit {
        None => Ok(Some(message)),
        Some(edit) => edited(message, edit, bodies),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::pi::testing::*;
    use pisess_json::text::Text;

    fn prepared(entries: &[String], budget: u64) -> (Vec<String>, BranchPreparation) {
        let made = chain(entries);
        let branch = prepare(&made.session, &made.path(), &made.bodies(), budget).unwrap();
        (made.ids(&branch.messages), branch)
    }

    #[test]
    fn the_newest_that_fit_are_told() {
        let entries = [user("abcd"), call("edit", "f"), result("hidden"), user("abcd"), assistant("abcd")];
        assert_eq!(prepared(&entries, 0).0, ["e0", "e1", "e3", "e4"]);
        let (told, branch) = prepared(&entries, 2);
        assert_eq!((told, branch.tokens), (vec!["e3".to_owned(), "e4".to_owned()], 2));
        // pi includes the files of the message that no longer fits, too.
        assert_eq!(branch.file_ops.edited.as_slice(), [Text::from("f")]);
    }

    #[test]
    fn summaries_squeeze_in() {
        let summary = r#""type":"branch_summary","fromId":"x","summary":"12345678","details":{"readFiles":["r"],"modifiedFiles":[]}"#;
        let entries = [user("a"), summary.to_owned(), user("abcd")];
        assert_eq!(prepared(&entries, 2).0, ["e1", "e2"]);
        assert_eq!(prepared(&entries, 1).0, ["e2"]);
        assert_eq!(prepared(&entries, 1).1.file_ops.read.as_slice(), [Text::from("r")]);
    }

    #[test]
    fn edits_hold_where_pi_lets_them() {
        let entries = [user("a"), user("b"), compacted("e1", ""), edit("e0", "null"), edit("e2", "null")];
        assert_eq!(prepared(&entries, 0).0, ["e1", "e2"]);
    }
}
