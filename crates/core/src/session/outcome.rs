//! How a tool call, or a command that the user ran, ended.

use super::content::find_members;
use pisess_json::Raw;
use pisess_json::js::is_truthy;
use std::fmt;

/// How the agents' shell tools report that a command failed, and that the user stopped it.
const FAILURE_STARTS: [&str; 3] = [EXIT_CODE_START, "Command timed out", "Command failed: "];
const STOP_STARTS: [&str; 3] = ["Command aborted", "Command cancelled", "Operation aborted"];
const EXIT_CODE_START: &str = "Command exited with code ";
/// How the agents' edit tools report that the file has the new text already.
const NO_CHANGE_START: &str = "No changes made to ";

/// How a tool call ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Outcome {
    /// Without an error.
    #[default]
    Passed,
    /// With one: the agent's line that reports it; empty if there is none.
    Failed(String),
    /// The user stopped it.
    Stopped,
}

impl Outcome {
    /// Returns the outcome of the call with this result and output, from the result's flags, the
    /// agent's line at the end of the output, or the exit code.
    pub fn from_result(result: Raw, output: &str) -> Self {
        /// The number of lines at the end of the output that may be the agent's.
        const LAST_LINES: usize = 4;

        let [is_error, is_cancelled, own_code, details] =
            find_members(result, ["isError", "cancelled", "exitCode", "details"]);
        let [detailed_code, is_timed_out] =
            find_members(details.unwrap_or(Raw::NULL), ["exitCode", "timedOut"]);
        if is_truthy(is_cancelled) {
            return Outcome::Stopped;
        }

        let begins =
            |line: &str, starts: &[&str]| starts.iter().any(|start| line.starts_with(start));
        let lines = output.lines().rev().map(str::trim);
        for line in lines.filter(|line| !line.is_empty()).take(LAST_LINES) {
            if begins(line, &STOP_STARTS) {
                return Outcome::Stopped;
            }
            if begins(line, &FAILURE_STARTS) {
                return Outcome::Failed(line.to_owned());
            }
        }

        let code = own_code.or(detailed_code).and_then(Raw::number);
        if let Some(code) = code
            && code != 0.0
        {
            return Outcome::Failed(format!("{EXIT_CODE_START}{code}"));
        }
        if !output.starts_with(NO_CHANGE_START) && (is_truthy(is_error) || is_truthy(is_timed_out))
        {
            return Outcome::Failed(String::new());
        }
        Outcome::Passed
    }

    /// Returns the exit code of a command that failed, if it is known.
    pub fn exit_code(&self) -> Option<&str> {
        match self {
            Outcome::Failed(line) => line.strip_prefix(EXIT_CODE_START),
            Outcome::Passed | Outcome::Stopped => None,
        }
    }
}

/// Formats the outcome to end a sentence whose subject is the call.
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
