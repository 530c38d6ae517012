//! What is known of a tool call that ended.

use super::budget::RESULT;
use super::call::SummaryCall;
use super::command_step::CommandStep;
use super::failed_output::pick_informative_lines;
use super::one_line::one_line;
use super::outlines::Finding;
use super::path_changes::PathChange;
use super::quote::sanitize;
use super::shell::{CommandLine, changes_files};
use super::words::compile_expression;
use crate::session::outcome::Outcome;
use regex::Regex;
use std::sync::LazyLock;

/// The status of a call whose outcome is not known.
pub(super) const HIDDEN_EXIT_CODE: &str = "its exit code hidden by a pipe or a later step";

/// Programs and tools that stop a process. They fail if it has ended already.
const STOPPING_PROGRAMS: &str =
    "kill killall pkill taskkill Stop-Process killshell killbash taskstop";

/// A tool call that ended.
pub(super) struct ToolRun {
    pub call: SummaryCall,
    pub outcome: Outcome,
    pub command: CommandLine,
    /// The most informative lines of its output, if it failed; the first line, if it is a command
    /// that only looks; else the line that has its result.
    pub output: String,
    /// What it found, if it only looked.
    pub finding: Finding,
    /// The lines that describe what it wrote into a file.
    pub written: String,
    /// The number of its turn.
    pub turn_number: usize,
}

impl ToolRun {
    /// Whether the call is known to have passed.
    pub fn is_passed(&self) -> bool {
        self.outcome == Outcome::Passed && !self.command.hides_exit_code
    }

    /// Returns what the call removed, wrote and restored. Of a command that failed, only what steps
    /// before its last one did.
    pub fn path_changes(&self) -> &[PathChange] {
        let changes = &self.command.path_changes;
        match self.outcome {
            Outcome::Passed => changes,
            Outcome::Failed(_) => &changes[..self.command.changes_before_last],
            Outcome::Stopped => &[],
        }
    }

    /// Returns the file that a tool read or wrote, so that it exists. `None` for a shell command,
    /// or if the call did not pass.
    pub fn file_used_by_tool(&self) -> Option<&str> {
        // Only calls of a shell have a command. Most other tools have a file as their target.
        let is_shell = !self.call.command.is_empty();
        if is_shell || self.outcome != Outcome::Passed {
            return None;
        }
        Some(&self.call.target)
    }

    /// Whether the call changed a file, other than by a command.
    pub fn changes_file(&self) -> bool {
        self.outcome == Outcome::Passed && changes_files(&self.call.tool)
    }

    pub fn is_commit(&self) -> bool {
        let mut steps = self.command.steps.iter();
        self.outcome == Outcome::Passed && steps.any(|step| step.is_one_of("git-commit"))
    }

    /// Returns how the call ended, in words.
    pub fn describe_outcome(&self) -> String {
        if self.hides_failure() {
            format!("ended, {HIDDEN_EXIT_CODE}")
        } else {
            one_line(&self.outcome.to_string(), 80)
        }
    }

    /// Returns the step that failed. Which of several steps failed is not known; most likely it was
    /// the last.
    ///
    /// `None` if the call did not fail, or if its failure blocks nothing, because it only looked,
    /// started a server, which never ends by itself, or was to stop a process, which has ended.
    pub fn failed_step(&self) -> Option<&CommandStep> {
        let has_failed = matches!(self.outcome, Outcome::Failed(_));
        if !has_failed || self.only_looked() || self.started_server() {
            return None;
        }
        let last_step = self.command.steps.last()?;
        let stops_process = last_step.is_one_of(STOPPING_PROGRAMS);
        (!stops_process).then_some(last_step)
    }

    /// Whether a call that failed only looked: all its steps do, or the exit code is that of a look
    /// that found nothing, as that of `test -f a && make` without the file `a`.
    fn only_looked(&self) -> bool {
        let found_nothing = self.output.is_empty() && self.outcome.exit_code() == Some("1");
        found_nothing || self.command.is_read_only
    }

    /// Whether the call ran a failed step again, and it is known whether the step then passed. The
    /// earlier failure need not be reported any more: it is over, or the failure of this call is
    /// reported.
    pub fn settles_step(&self, step: &CommandStep) -> bool {
        if !self.repeats_step(step) {
            return false;
        }
        if !self.hides_failure() {
            return true;
        }
        // In `make map; make test`, the exit code and the end of the output are those of the last
        // step, which may be the failed one.
        let last_step = self.command.steps.last();
        let is_last_step = last_step.is_some_and(|last| last.runs_again(step));
        is_last_step && (!self.command.hides_last_exit_code || reports_passed_tests(&self.output))
    }

    /// Whether the call ran all tests after an earlier call whose `failed_step` ran some: it ran
    /// more of them, as the same words of both report, and all passed. An example is `npm test`
    /// with `Tests 842 passed`, after `vitest run src/tide` with `Tests 1 failed | 18 passed`.
    pub fn settles_tests_of(&self, earlier: &ToolRun, failed_step: &CommandStep) -> bool {
        let is_same_turn = self.turn_number == earlier.turn_number;
        if !is_same_turn || !reports_passed_tests(&self.output) {
            return false;
        }
        // The output is that of the last step.
        let Some(last_step) = self.command.steps.last() else {
            return false;
        };
        if last_step.folder != failed_step.folder || !last_step.runs_all_tests() {
            return false;
        }

        let passed_count = count_passed_tests(&self.output);
        for report in earlier.output.split(" / ").flat_map(str::lines) {
            let is_same_kind = first_word(report) == first_word(&self.output);
            let has_passed_fewer = count_passed_tests(report) < passed_count;
            if reports_failed_tests(report) && is_same_kind && has_passed_fewer {
                return true;
            }
        }
        false
    }

    /// Whether the call passed as far as is known, and its last line has words, but none of
    /// failure. A number alone may be an exit code.
    pub fn ends_well(&self) -> bool {
        static STATUS: LazyLock<Regex> = LazyLock::new(|| compile_expression(EXIT_CODES));
        let has_words = self.output.contains(char::is_alphabetic);
        if self.outcome != Outcome::Passed || !has_words || STATUS.is_match(&self.output) {
            return false;
        }
        // `12 passed, 0 errors` has a word of failure.
        !reports_failure(&self.output) || reports_passed_tests(&self.output)
    }

    /// Whether the call timed out because it started a server, as its output reports.
    fn started_server(&self) -> bool {
        static SERVING: LazyLock<Regex> = LazyLock::new(|| compile_expression(SERVES));
        let Outcome::Failed(line) = &self.outcome else {
            return false;
        };
        line.contains("timed out")
            && SERVING.is_match(&self.output)
            && !reports_failure(&self.output)
    }

    /// Whether the shell did not find a program. Such a step is not run again: if it was needed,
    /// the program was installed, or another one was run.
    pub fn has_missing_program(&self) -> bool {
        self.outcome.exit_code() == Some("127")
    }

    /// Whether the shell did not find a program, or an interpreter a module.
    pub fn has_missing_module(&self) -> bool {
        const REPORTS: [&str; 3] = ["No module named", "Cannot find module", "command not found"];
        self.has_missing_program() || REPORTS.iter().any(|report| self.output.contains(report))
    }

    /// Whether the call ran a step again. A call that was stopped may not have reached the step.
    pub fn repeats_step(&self, step: &CommandStep) -> bool {
        let mut own_steps = self.command.steps.iter();
        self.outcome != Outcome::Stopped && own_steps.any(|own| own.runs_again(step))
    }

    /// Whether the call passed, and did part of what an earlier one that failed was to do. A part
    /// of a commit, as `git add`, settles nothing.
    pub fn did_part_of(&self, failed: &ToolRun) -> bool {
        if !self.is_passed() || self.command.is_read_only {
            return false;
        }
        let mut parts = failed.command.steps.iter();
        parts.any(|part| part.words[0] != "git" && self.repeats_step(part))
    }

    /// Whether the call passed only as far as its exit code says, which hides that of a step.
    fn hides_failure(&self) -> bool {
        self.outcome == Outcome::Passed && self.command.hides_exit_code
    }
}

/// The words of an output that report a failure.
const FAILS: &str = r"(?ix-u)(error|fail|fatal|panic|exception|traceback|denied|refused
      |not\ found|cannot|can't|no\ such|undefined|missing|abort|killed|timed\ out|warning|not\ ok)";

/// Exit codes other than 0, as a command line may print them: `exit code 101`, `rc=2`. They are
/// less than 200, unlike the codes of HTTP.
const EXIT_CODES: &str = r"(?ix-u)\b(exit(ed)?|exit_?code|status|code|rc|ret)
    ([\s_:=]+(with|code|status|value|of|is|was))*[\s_:=(]*([1-9][0-9]?|1[0-9][0-9])\b";

/// The words of an output that report that a server runs.
const SERVES: &str = r"(?ix)(^|\W)(listening|listener\ on|listens\ on|running\ (on|at)|serving
      |ready\ (in|on|at)|accepting\ connections|server\ (is\ )?(running|started|up)
      |started\ (server|on|in\ \d))(\W|$)
    | https?://(localhost|127\.0\.0\.1|0\.0\.0\.0)";

/// Whether an output has a word that reports a failure.
fn reports_failure(output: &str) -> bool {
    static FAILURE: LazyLock<Regex> = LazyLock::new(|| compile_expression(FAILS));
    FAILURE.is_match(output)
}

/// Matches a number of tests that passed, or that none failed.
const TESTS_PASSED: &str = r"(?ix)(^|\W)(
    [1-9][0-9]*\ (tests?\ )?(passed|passing|succeeded|successful)
    | fail(ed|ures|s)?\W{0,2}\ 0 | 0\ (failed|failures|failing))(\W|$)";

/// Matches a number of tests that failed, other than 0.
const TESTS_FAILED: &str = r"(?ix)(^|\W)(
    [1-9][0-9]*\ (tests?\ )?(failed|failing|failures?|errors?)
    | fail(ed|ures|s)?\W{0,2}\ [1-9][0-9]* | errors?\W{1,2}\ [1-9][0-9]*)(\W|$)";

/// Whether a line of output says that all tests passed. Examples are `36 passed; 0 failed`,
/// `12 test cases: 12 succeeded` and `# fail 0`.
fn reports_passed_tests(line: &str) -> bool {
    static PASSED: LazyLock<Regex> = LazyLock::new(|| compile_expression(TESTS_PASSED));
    static FAILED: LazyLock<Regex> = LazyLock::new(|| compile_expression(TESTS_FAILED));
    PASSED.is_match(line) && !FAILED.is_match(line)
}

/// Whether a line reports tests that passed and some that failed.
fn reports_failed_tests(line: &str) -> bool {
    count_passed_tests(line).is_some() && !reports_passed_tests(line)
}

/// Returns the first word of a report of tests, which names what is counted: `Tests 842 passed`.
fn first_word(report: &str) -> Option<&str> {
    report.split_whitespace().next()
}

/// Returns the number of tests that passed, as a line reports it.
fn count_passed_tests(line: &str) -> Option<u64> {
    static PASSED: LazyLock<Regex> =
        LazyLock::new(|| compile_expression(r"(?i)([0-9]+) (tests? )?(passed|passing|succeeded)"));
    PASSED.captures(line)?[1].parse().ok()
}

/// Chooses the lines of an output that are kept with a call: see [`ToolRun::output`].
pub(super) fn choose_output(outcome: &Outcome, command: &CommandLine, output: &str) -> String {
    if let Outcome::Failed(status) = outcome {
        return pick_informative_lines(status, output);
    }
    if command.is_read_only {
        return first_line(output);
    }
    result_line(output)
}

/// Returns the first line of an output that is not empty, as far as it can be quoted.
fn first_line(output: &str) -> String {
    let line = output.lines().find(|line| !line.trim().is_empty());
    one_line(line.unwrap_or_default(), RESULT)
}

/// Returns the last line of the output of a command that passed, if it is short and names a number:
/// what was counted or measured. Otherwise an empty text.
fn result_line(output: &str) -> String {
    let last_line = output.trim_end().lines().next_back().unwrap_or_default();
    let is_short = last_line.len() <= 2 * RESULT;
    let mut words = last_line.split_whitespace();
    if is_short && words.any(|word| word.starts_with(|c: char| c.is_ascii_digit())) {
        sanitize(last_line.trim())
    } else {
        String::new()
    }
}
