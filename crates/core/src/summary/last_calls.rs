//! The last calls of a request that is not done: those that changed or found something.

use super::budget::{LAST_CALLS, RESULT, SEARCHES};
use super::quote::quote_line;
use super::todo_lists::TodoTool;
use super::tool_calls::{ToolHistory, describe_call, fold_series};
use super::tool_run::ToolRun;
use super::written::describe_written;
use crate::session::outcome::Outcome;

/// Where a summary lists the calls that only looked.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Looks {
    /// Among the last calls.
    AmongLast,
    /// By what they found, in a list of their own.
    ListedApart,
}

impl ToolHistory {
    /// Describes the last [`LAST_CALLS`] calls of the current turn, in order, each with its outcome
    /// and result: `` `make test`: ok, "31 passed" ``. A series of similar calls counts as one. Of
    /// searches, only the last [`SEARCHES`] are listed.
    ///
    /// If none of these calls changed a file, the last one that did replaces the first of them: its
    /// file is most likely the one that is worked on.
    pub fn describe_last_calls(&self, looks: Looks) -> Vec<String> {
        let runs = self.newest_results_of_turn(looks);
        let descriptions: Vec<String> = runs.iter().map(|run| describe_run(run)).collect();
        let mut newest_first = fold_series(&descriptions);
        newest_first.truncate(LAST_CALLS);

        if let Some(index) = runs.iter().position(|run| run.changes_file()) {
            let last_change = &descriptions[index];
            // A series has the descriptions of its calls.
            let is_listed = newest_first.iter().any(|call| call.contains(last_change));
            if !is_listed {
                newest_first.pop();
                newest_first.push(last_change.clone());
            }
        }
        newest_first.reverse();
        newest_first
    }

    /// Returns the calls of the current turn that changed or found something, newest first. Of
    /// those that only read, the newest [`SEARCHES`] are returned, and none that is listed apart.
    fn newest_results_of_turn(&self, looks: Looks) -> Vec<&ToolRun> {
        let mut results = Vec::new();
        let mut search_count = 0;
        for run in self.runs.iter().rev() {
            if run.turn_number != self.turn_number {
                break;
            }
            // The list itself is quoted, if it is not done.
            let keeps_todo_list = TodoTool::from_name(&run.call.tool).is_some();
            if run.found_nothing() || keeps_todo_list && run.outcome == Outcome::Passed {
                continue;
            }
            if looks == Looks::ListedApart && run.has_finding() {
                continue;
            }
            if run.command.is_read_only {
                search_count += 1;
                if search_count > SEARCHES {
                    continue;
                }
            }
            results.push(run);
        }
        results
    }
}

impl ToolRun {
    /// Whether the call only looked, and nothing is known of what it found: a file was read, or a
    /// search had no result.
    fn found_nothing(&self) -> bool {
        let is_file_read = self.call.command.is_empty() && self.outcome == Outcome::Passed;
        self.command.is_read_only && (is_file_read || self.output.is_empty())
    }
}

/// Describes a call with its outcome and, as far as it is known, its result: `` `make test`: ok,
/// "31 passed" `` or ``edit `a.ts`: ok, wrote `function low` ``.
fn describe_run(run: &ToolRun) -> String {
    let mut description = format!("{}: {}", describe_call(&run.call), run.describe_outcome());
    if !run.call.command.is_empty() && !run.output.is_empty() {
        description.push_str(&format!(", {}", quote_line(&run.output, RESULT)));
    }
    let written = describe_written(&run.written, &run.call.target);
    if run.changes_file() && !written.is_empty() {
        description.push_str(&format!(", wrote {written}"));
    }
    description
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::call::SummaryCall;
    use crate::summary::written::Replacement;

    fn record(history: &mut ToolHistory, call: SummaryCall, output: &str) {
        history.record_run(call, Outcome::Passed, output);
    }

    fn command(line: &str) -> SummaryCall {
        SummaryCall {
            command: line.to_owned(),
            ..SummaryCall::default()
        }
    }

    fn file_call(tool: &str, path: &str, written: &str) -> SummaryCall {
        SummaryCall {
            tool: tool.to_owned(),
            target: path.to_owned(),
            replacements: vec![Replacement {
                new: written.to_owned(),
                ..Replacement::default()
            }],
            ..SummaryCall::default()
        }
    }

    #[test]
    fn a_call_that_sets_the_todo_list_is_left_out() {
        let mut history = ToolHistory::default();
        record(&mut history, command("make test"), "31 passed");
        let todo_write = SummaryCall {
            tool: "TodoWrite".to_owned(),
            ..SummaryCall::default()
        };
        record(&mut history, todo_write, "Todos have been modified");
        assert_eq!(
            history.describe_last_calls(Looks::AmongLast),
            ["`make test`: ok, \"31 passed\""]
        );
    }

    #[test]
    fn calls_that_found_nothing_are_left_out_and_the_last_change_is_not() {
        let mut history = ToolHistory::default();
        record(&mut history, file_call("read", "a.ts", ""), "text");
        record(&mut history, command("grep -n tide a.ts"), "");
        assert_eq!(history.describe_last_calls(Looks::AmongLast), [""; 0]);

        record(
            &mut history,
            file_call("edit", "a.ts", "function low() {"),
            "",
        );
        record(&mut history, file_call("read", "b.ts", ""), "text");
        record(&mut history, command("grep -n low b.ts"), "6: low");
        record(&mut history, command("grep -n high b.ts"), "5: high");
        record(&mut history, command("grep -n tide b.ts"), "7: tide");
        let change = "edit `a.ts`: ok, wrote `function low`";
        let searches = [
            "`grep -n high b.ts`: ok, \"5: high\"",
            "`grep -n tide b.ts`: ok, \"7: tide\"",
        ];
        assert_eq!(
            history.describe_last_calls(Looks::AmongLast),
            [change, searches[0], searches[1]]
        );

        for name in ["one", "two", "three", "four", "five", "six"] {
            record(&mut history, command(&format!("make {name}")), "");
        }
        let calls = history.describe_last_calls(Looks::AmongLast);
        assert_eq!(calls[0], change);
        assert_eq!(calls.len(), LAST_CALLS);
        assert_eq!(calls[LAST_CALLS - 1], "`make six`: ok");
    }
}
