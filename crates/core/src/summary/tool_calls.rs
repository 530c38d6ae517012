//! Records each tool call. Commands, failures, changed files and the last calls are all derived
//! from these records when the summary is written.

use super::budget::*;
use super::call::SummaryCall;
use super::commits::find_commit_messages;
use super::found::has_findings;
use super::one_line::one_line;
use super::outlines::Finding;
use super::quote::{code_span, quote_line, strip_digits};
use super::removals::Removals;
use super::shell::{CommandLine, hides_work};
use super::todo_lists::TodoList;
use super::tool_run::{ToolRun, choose_output};
use super::words::compile_expression;
use super::written::choose_written;
use crate::session::outcome::Outcome;
use foldhash::HashSet;
use regex::Regex;
use std::collections::VecDeque;
use std::sync::LazyLock;

/// The tool calls of a session, and the todo list that they keep.
#[derive(Default)]
pub(super) struct ToolHistory {
    /// The calls of the last reply that have no result.
    pub pending: Vec<SummaryCall>,
    /// The newest calls that ended, oldest first.
    pub runs: VecDeque<ToolRun>,
    pub todo_list: TodoList,
    /// The number of the current turn.
    pub turn_number: usize,
}

/// Files that the newest work changed.
pub(super) struct ChangedFiles {
    /// When or for what they were changed, in words.
    pub occasion: &'static str,
    pub newest_first: Vec<String>,
}

impl ToolHistory {
    /// Removes the call that a result answers from the pending calls, and returns it. `named_call`
    /// is the call as far as the result names it, and is returned if no such call is pending.
    pub fn take_pending(&mut self, named_call: SummaryCall) -> SummaryCall {
        let pending = self
            .pending
            .iter()
            .position(|call| call.id == named_call.id);
        match pending {
            Some(index) => self.pending.remove(index),
            None => named_call,
        }
    }

    /// Records a call that ended with `output`. Of more than [`RECENT`] calls, the oldest is
    /// dropped.
    pub fn record_run(&mut self, mut call: SummaryCall, outcome: Outcome, output: &str) {
        if outcome == Outcome::Passed {
            self.todo_list.update(&call, output, self.turn_number);
        }

        let command = if call.command.is_empty() {
            CommandLine::from_tool(&call.tool, &call.target)
        } else {
            CommandLine::parse(&call.command)
        };
        let shown_output = choose_output(&outcome, &command, output);
        // The replaced texts may be long, and only the lines that are chosen now are quoted.
        let replacements = std::mem::take(&mut call.replacements);
        let written = choose_written(&replacements, &call.target);

        let excess = (self.runs.len() + 1).saturating_sub(RECENT);
        self.runs.drain(..excess);
        let mut run = ToolRun {
            call,
            outcome,
            command,
            output: shown_output,
            finding: Finding::default(),
            written,
            turn_number: self.turn_number,
        };
        if run.outcome == Outcome::Passed && has_findings(&run, output) {
            run.finding = Finding::read(output);
        }
        self.runs.push_back(run);
    }

    /// Whether a call of a turn changed a file. It must be the current turn: the search ends at the
    /// newest call of another one.
    pub fn changes_files_in(&self, turn_number: usize) -> bool {
        let newest_first = self.runs.iter().rev();
        newest_first
            .take_while(|run| run.turn_number == turn_number)
            .any(ToolRun::changes_file)
    }

    /// Lists the commands whose last run is known to have passed, newest first, with their results:
    /// `` `make test` ("31 passed") ``. Commits, which are listed apart, and commands that change
    /// nothing or do not name what they run are left out.
    pub fn passed_commands(&self) -> Vec<String> {
        let mut seen_steps = HashSet::default();
        let mut passed = Vec::new();
        for run in self.runs.iter().rev() {
            if run.call.command.is_empty() || run.command.is_read_only || run.is_commit() {
                continue;
            }
            // The newest run comes first. Also if it failed, it hides the earlier ones.
            let is_last_run = seen_steps.insert(&run.command.steps);
            if !is_last_run || !run.is_passed() {
                continue;
            }
            if hides_work(&run.call.command) {
                continue;
            }
            let mut command = describe_call(&run.call);
            if !run.output.is_empty() {
                command.push_str(&format!(" ({})", quote_line(&run.output, RESULT)));
            }
            passed.push(command);
        }
        fold_series(&passed)
    }

    /// Quotes the first line of each commit's message, newest first. A message that is not in the
    /// command line, but in a file or an editor, is not known.
    pub fn commit_messages(&self) -> Vec<String> {
        let mut messages = Vec::new();
        for run in self.runs.iter().rev() {
            if !run.is_commit() {
                continue;
            }
            let mut messages_of_run = Vec::new();
            // A command line may commit several times.
            for message in find_commit_messages(&run.call.command) {
                messages_of_run.push(quote_line(&message, COMMAND));
            }
            messages.extend(messages_of_run.into_iter().rev());
        }
        messages
    }

    /// Returns the files of the newest work: those changed since the last commit or, if there is no
    /// commit, in the last turn that changed any. Files that were removed since are left out.
    pub fn changed_files(&self, removals: &Removals) -> ChangedFiles {
        let mut newest_first = self.runs.iter().rev();
        let last_change = newest_first.find(|run| run.changes_file());
        let changing_turn = last_change.map_or(self.turn_number, |run| run.turn_number);
        let has_commits = self.runs.iter().any(ToolRun::is_commit);
        let occasion = if has_commits {
            "since the last `git commit`"
        } else if changing_turn == self.turn_number {
            "for the request under Goal"
        } else {
            "for an earlier request"
        };

        let newest_runs = if has_commits {
            self.runs_since_commit()
        } else {
            self.runs_since_turn(changing_turn)
        };
        ChangedFiles {
            occasion,
            newest_first: list_changed_files(newest_runs, removals),
        }
    }

    /// Returns the runs after the last commit, newest first.
    fn runs_since_commit(&self) -> Vec<&ToolRun> {
        let newest_first = self.runs.iter().rev();
        newest_first.take_while(|run| !run.is_commit()).collect()
    }

    /// Returns the runs of a turn and of those after it, newest first.
    fn runs_since_turn(&self, turn_number: usize) -> Vec<&ToolRun> {
        let newest_first = self.runs.iter().rev();
        newest_first
            .take_while(|run| run.turn_number >= turn_number)
            .collect()
    }

    /// Returns the paths that the calls removed, such as with `rm`, and that no later call wrote or
    /// read, so that they are still gone. `cwd` is the directory of the session.
    pub fn removals(&self, cwd: &str) -> Removals {
        let mut removals = Removals::in_folder(cwd);
        let runs_in_cwd = self.count_runs_in_cwd();
        // From the oldest run to the newest: a later run may restore what an earlier one removed.
        for (index, run) in self.runs.iter().enumerate() {
            let is_folder_known = index < runs_in_cwd && !run.call.has_folder;
            for change in run.path_changes() {
                removals.apply(change, is_folder_known, index);
            }
            if let Some(file) = run.file_used_by_tool() {
                // The file exists, even if an earlier run removed it.
                removals.restore(file);
            }
        }
        removals
    }

    /// Returns the number of runs, from the oldest one, that started in the directory of the
    /// session, unless the call names another one. The shells of some agents stay in the directory
    /// to which a command changes. So the directory is unknown for all runs after the first one
    /// with a `cd`:
    ///
    /// ```text
    /// rm a    cd src && rm b    rm c        2: where `rm c` ran is unknown
    /// ```
    fn count_runs_in_cwd(&self) -> usize {
        let changes_folder = |run: &ToolRun| run.command.changes_folder;
        match self.runs.iter().position(changes_folder) {
            Some(index) => index + 1,
            None => self.runs.len(),
        }
    }

    /// Returns the index of the first call after a turn; with `None`, that of the first call.
    pub fn first_run_after(&self, turn_number: Option<usize>) -> usize {
        match turn_number {
            Some(turn) => self.runs.partition_point(|run| run.turn_number <= turn),
            None => 0,
        }
    }

    /// Whether a failure that a previous summary lists is over: its command ran again, or its file
    /// was changed. `point` begins with the call, as [`describe_call`] writes it: `` `make test`:
    /// `` or ``edit `map.c`: ``.
    pub fn is_settled(&self, point: &str) -> bool {
        let Some((tool, from_quoted)) = point.split_once('`') else {
            return false;
        };
        let quoted = from_quoted.split('`').next().unwrap_or_default();
        let failed = if tool.is_empty() {
            CommandLine::parse(quoted)
        } else {
            CommandLine::from_tool(tool.trim(), quoted)
        };
        let Some(step) = failed.steps.last() else {
            return false;
        };
        self.runs.iter().any(|run| run.settles_step(step))
    }
}

/// Lists the files that these runs changed, each once, and in their order. Files that were removed
/// since are left out.
fn list_changed_files(runs: Vec<&ToolRun>, removals: &Removals) -> Vec<String> {
    let mut listed = HashSet::default();
    let mut files = Vec::new();
    for run in runs {
        let file = &run.call.target;
        if !run.changes_file() || file.is_empty() || removals.contain(file) {
            continue;
        }
        let is_new = listed.insert(file);
        if is_new {
            files.push(code_span(file, COMMAND));
        }
    }
    fold_series(&files)
}

/// Describes a call on one line: `` `make test` ``, ``read `map.c` `` or `TodoWrite`. The text of a
/// here-document is left out, and so is `cd /work && ` at the start of a command, which agents
/// write before most commands.
pub(super) fn describe_call(call: &SummaryCall) -> String {
    static FOLDER_CHANGE: LazyLock<Regex> =
        LazyLock::new(|| compile_expression(r"^cd [/~]\S* *&& *"));
    if !call.command.is_empty() {
        // Keeps the `<<` itself: `cat > map.c <<`.
        let mut parts = call.command.split_inclusive("<<");
        let before_document = parts.next().unwrap_or_default();
        return code_span(&FOLDER_CHANGE.replace(before_document, ""), COMMAND);
    }
    let tool = one_line(&call.tool.replace('`', "'"), COMMAND);
    if call.target.is_empty() {
        return tool;
    }
    format!("{tool} {}", code_span(&call.target, COMMAND))
}

/// Folds items, given newest first: neighbours that differ only in digits become one item, such as
/// `a 1 … a 3 (3 alike)`. Two of them that are not equal are both kept, separated by a comma.
pub(super) fn fold_series(items: &[String]) -> Vec<String> {
    let mut folded = Vec::new();
    for series in items.chunk_by(|one, other| strip_digits(one) == strip_digits(other)) {
        folded.push(match series {
            [newest, .., oldest] if newest == oldest => format!("{newest} (×{})", series.len()),
            [newest, _, .., oldest] => format!("{oldest} … {newest} ({} alike)", series.len()),
            _ => series.join(", "),
        });
    }
    folded
}
