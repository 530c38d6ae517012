//! The input for the summary of an abandoned branch (`prepareBranchEntries`).

use super::transcript::is_useless;
use super::{message, tokens};
use crate::agents::prepare::{Budget, FileOps, prepare_branch};
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::{EntryReader, Message};
use std::io;

/// Prepares the summary of `entries`, oldest first. Tool results are included, truncated to 2,000
/// units each, except those marked useless.
pub fn prepare(
    entries: &[EntryIx],
    reader: &EntryReader,
    budget: Budget,
) -> io::Result<(Vec<Message>, FileOps)> {
    prepare_branch(entries, reader, budget, tokens::estimate_in_branch, |ix| {
        message_of(ix, reader)
    })
}

/// Returns the message of an entry of the branch; `None` for a useless result and for an entry
/// without a message.
fn message_of(ix: EntryIx, reader: &EntryReader) -> io::Result<Option<Message>> {
    let entry = reader.session().entry(ix);
    if !matches!(
        entry.kind,
        Kind::Message | Kind::CustomMessage | Kind::BranchSummary | Kind::Compaction
    ) {
        return Ok(None);
    }

    let body = reader.with_entry(ix, |line| {
        if entry.role == Role::ToolResult
            && let Some(message) = line.get("message")
            && is_useless(message, message.get("isError"))
        {
            return None;
        }
        message::plain(line, entry)
    })?;
    Ok(body.map(|body| Message { entry: ix, body }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::pi::testing::{call, chain, compacted, result, says, user};
    use crate::agents::prepare::BRANCH_BUDGET;

    #[test]
    fn results_are_included_unless_useless() {
        let useless = says(
            "toolResult",
            r#""toolCallId":"d","content":[],"useless":true"#,
        );
        let made = chain(&[
            user("a"),
            call("write", "w.ts"),
            result("r"),
            useless,
            compacted("e0", ""),
        ])
        .of_oh_my_pi();
        let path = made.path();
        let (messages, ops) = prepare(&path, &made.reader(), BRANCH_BUDGET).unwrap();
        assert_eq!(made.ids(&messages), ["e0", "e1", "e2", "e4"]);
        assert!(ops.written.keys().eq(["w.ts"]));
    }

    #[test]
    fn the_newest_that_fit_are_included() {
        let made = chain(&[
            user("aaaa"),
            compacted("none", ""),
            user("bbbb"),
            user("cccc"),
        ])
        .of_oh_my_pi();
        let (messages, _) = prepare(&made.path(), &made.reader(), Budget::Tokens(2)).unwrap();
        assert_eq!(made.ids(&messages), ["e2", "e3"]);
    }
}
