//! How a tool call, or a command that the user ran, ended.

use super::content::find_members;
use pisess_json::Raw;
use pisess_json::js::is_truthy;
use std::fmt;

/// How the lines begin with which the agents' shell tools report that a command failed.
const FAILURE_STARTS: [&str; 3] = [EXIT_CODE_START, "Command timed out", "Command failed: "];
/// How the lines begin with which the agents report that the user stopped a command.
const STOP_STARTS: [&str; 3] = ["Command aborted", "Command cancelled", "Operation aborted"];
/// How the line begins that reports an exit code.
const EXIT_CODE_START: &str = "Command exited with code ";
/// How the agents' edit tools report that the file has the new text already.
const NO_CHANGE_START: &str = "No changes made to ";

/// How a tool call ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// The call ended without an error.
    #[default]
    Passed,
    /// The call failed. Contains the agent's line that reports the failure; empty if there is none.
    Failed(String),
    /// The user stopped the call.
    Stopped,
}

impl Outcome {
    /// Returns how a tool call ended, given its result and output. The first of these that is
    /// present decides:
    ///
    /// 1. the flag `cancelled`;
    /// 2. a report of the agent in the last lines of the output;
    /// 3. an exit code other than 0;
    /// 4. the flag `isError` or `timedOut`.
    ///
    /// One flagged error passes: an edit that changes nothing, because the file has the new text
    /// already, as it should.
    pub fn from_result(result: Raw, output: &str) -> Self {
        let [is_error, is_cancelled, own_code, details] =
            find_members(result, ["isError", "cancelled", "exitCode", "details"]);
        let [detailed_code, is_timed_out] =
            find_members(details.unwrap_or(Raw::NULL), ["exitCode", "timedOut"]);

        if is_truthy(is_cancelled) {
            return Outcome::Stopped;
        }
        if let Some(outcome) = find_reported_outcome(output) {
            return outcome;
        }

        // A command that the user ran has its code in the result itself, a tool in its details.
        let code = own_code.or(detailed_code).and_then(Raw::number);
        if let Some(code) = code
            && code != 0.0
        {
            return Outcome::Failed(format!("{EXIT_CODE_START}{code}"));
        }

        let is_flagged = is_truthy(is_error) || is_truthy(is_timed_out);
        if is_flagged && !output.starts_with(NO_CHANGE_START) {
            return Outcome::Failed(String::new());
        }
        Outcome::Passed
    }

    /// Returns the exit code of a command that failed; `None` if it did not fail, or the code is
    /// not known.
    pub fn exit_code(&self) -> Option<&str> {
        match self {
            Outcome::Failed(line) => line.strip_prefix(EXIT_CODE_START),
            Outcome::Passed | Outcome::Stopped => None,
        }
    }
}

/// The number of lines at the end of an output that may be the agent's report, not counting empty
/// lines.
const LAST_LINES: usize = 4;

/// Returns the outcome that the agent reports in the last lines of an output, as in
/// `Command exited with code 1`. Of several reports, the last counts. `None` if there is none.
fn find_reported_outcome(output: &str) -> Option<Outcome> {
    let from_end = output.lines().rev().map(str::trim);
    for line in from_end.filter(|line| !line.is_empty()).take(LAST_LINES) {
        if starts_with_one_of(line, &STOP_STARTS) {
            return Some(Outcome::Stopped);
        }
        if starts_with_one_of(line, &FAILURE_STARTS) {
            return Some(Outcome::Failed(line.to_owned()));
        }
    }
    None
}

fn starts_with_one_of(line: &str, starts: &[&str]) -> bool {
    starts.iter().any(|start| line.starts_with(start))
}

/// Formats the outcome as the end of a sentence about the call, such as `exited with code 1`.
impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Outcome::Passed => "ok",
            Outcome::Stopped => "stopped by the user",
            Outcome::Failed(line) if line.is_empty() => "failed",
            Outcome::Failed(line) => line.strip_prefix("Command ").unwrap_or(line),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outcome_is_known_by_flag_code_or_line() {
        let failed = |line: &str| Outcome::Failed(line.to_owned());
        let cases = [
            (r#"{"isError":true}"#, "no", failed("")),
            (
                r#"{"isError":true}"#,
                "a\n\nCommand timed out after 120 seconds",
                failed("Command timed out after 120 seconds"),
            ),
            (
                "{}",
                "a\n\nCommand exited with code 2\n\n[Output truncated]",
                failed("Command exited with code 2"),
            ),
            (
                r#"{"details":{"exitCode":137}}"#,
                "",
                failed("Command exited with code 137"),
            ),
            (r#"{"details":{"timedOut":true}}"#, "", failed("")),
            (
                r#"{"exitCode":3}"#,
                "",
                failed("Command exited with code 3"),
            ),
            (r#"{"exitCode":3,"cancelled":true}"#, "", Outcome::Stopped),
            (
                r#"{"isError":true}"#,
                "x\n\nCommand aborted",
                Outcome::Stopped,
            ),
            (
                r#"{"isError":false}"#,
                "Command line tools",
                Outcome::Passed,
            ),
            (
                r#"{"isError":true}"#,
                "No changes made to a.ts. The replacement produced identical content.",
                Outcome::Passed,
            ),
        ];
        for (result, output, expected) in cases {
            assert_eq!(
                Outcome::from_result(Raw::parse(result.as_bytes()).unwrap(), output),
                expected,
                "{result} {output}"
            );
        }
    }

    #[test]
    fn an_outcome_ends_a_sentence() {
        let outcome = |line: &str| Outcome::Failed(line.to_owned());
        assert_eq!(outcome("Command exited with code 2").exit_code(), Some("2"));
        assert_eq!(
            outcome("Command exited with code 2").to_string(),
            "exited with code 2"
        );
        assert_eq!(outcome("").to_string(), "failed");
    }
}
