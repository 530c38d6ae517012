//! The input for the summary of an abandoned branch (`prepareBranchEntries`).

use super::transcript::is_useless_result;
use super::{message, tokens};
use crate::agents::prepare::{BranchBudget, FileOps, collect_branch_input};
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::{ContextMessage, EntryReader};
use std::io;

/// Returns the messages from which the summary of a branch is made, and the files that they
/// touched. `entries` are the entries of the branch, oldest first. Unlike pi, oh-my-pi includes
/// tool results, except results that it has marked as useless.
pub fn prepare_branch_summary(
    entries: &[EntryIx],
    reader: &EntryReader,
    budget: BranchBudget,
) -> io::Result<(Vec<ContextMessage>, FileOps)> {
    collect_branch_input(
        entries,
        reader,
        budget,
        tokens::estimate_branch_message,
        |ix| branch_message(ix, reader),
    )
}

/// Returns the message of an entry for a branch summary; `None` for an entry without a message, and
/// for a tool result that the agent has marked as useless.
fn branch_message(ix: EntryIx, reader: &EntryReader) -> io::Result<Option<ContextMessage>> {
    let entry = reader.session().entry(ix);
    if !matches!(
        entry.kind,
        Kind::Message | Kind::CustomMessage | Kind::BranchSummary | Kind::Compaction
    ) {
        return Ok(None);
    }

    let body = reader.with_entry(ix, |line| {
        // The agent leaves out such results from its own summaries of branches, too.
        if entry.role == Role::ToolResult
            && let Some(message) = line.get("message")
            && is_useless_result(message, message.get("isError"))
        {
            return None;
        }
        message::body_for_summary(line, entry)
    })?;
    Ok(body.map(|body| ContextMessage { entry: ix, body }))
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
        let (messages, ops) = prepare_branch_summary(&path, &made.reader(), BRANCH_BUDGET).unwrap();
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
        let (messages, _) =
            prepare_branch_summary(&made.path(), &made.reader(), BranchBudget::Tokens(2)).unwrap();
        assert_eq!(made.ids(&messages), ["e2", "e3"]);
    }
}
