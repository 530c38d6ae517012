//! The output of a failed call: the lines that say most of why it failed, and which tests did.

use super::budget::{POINT, RESULT};
use super::one_line::one_line;
use super::quote::{clip, sanitize};

/// The maximum number of lines that are quoted of the output of a failed call.
const MOST_INFORMATIVE_LINES: usize = 3;

/// The maximum number of failed tests that are named.
const MOST_TESTS: usize = 4;

/// Picks up to [`MOST_INFORMATIVE_LINES`] lines of the output of a failed call that most likely
/// report why it failed, in the order of the output:
///
/// - the last line, which is usually a total or the error itself;
/// - before it, the last lines of the form `what: why` that are not indented, as programs of any
///   kind report errors;
/// - first of all, if there are failed tests, a line with their names: `failed: low, high`.
///
/// Empty lines are skipped, and so are the lines that the agent adds to the output: `status` and a
/// notice of truncation. The lines share the space of a point.
pub(super) fn pick_informative_lines(status: &str, output: &str) -> String {
    let output = sanitize(output);
    let failed_tests = list_failed_tests(&output);
    let mut lines: Vec<&str> = Vec::new();
    let mut most_reasons = MOST_INFORMATIVE_LINES;
    if !failed_tests.is_empty() {
        lines.push(&failed_tests);
        most_reasons -= 1;
    }
    lines.extend(last_reasons(status, &output, most_reasons));

    let room_per_line = POINT / lines.len().max(1);
    let mut clipped = Vec::new();
    for line in lines {
        clipped.push(clip(line.trim(), room_per_line));
    }
    clipped.join("\n")
}

/// Returns the last line of an output, and the last lines before it that give a reason, up to
/// `most` in all and in the order of the output. Lines that name a failed test are skipped: they
/// are listed by their names.
fn last_reasons<'o>(status: &str, output: &'o str, most: usize) -> Vec<&'o str> {
    let mut last_first = Vec::new();
    for line in output.lines().rev() {
        if last_first.len() == most {
            break;
        }
        let reports_nothing = ["", "(no output)", status].contains(&line.trim());
        if reports_nothing || is_truncation_notice(line) || failed_test_name(line).is_some() {
            continue;
        }
        let is_last_line = last_first.is_empty();
        if is_last_line || has_reason(line) {
            last_first.push(line);
        }
    }
    last_first.reverse();
    last_first
}

/// Returns the line of the output of a failed call that most likely says why it failed. It is one
/// of these, the first that the output has:
///
/// 1. the first line that a test runner writes for a failed test
/// 2. the first that reports an error, as programs write it
/// 3. the last of the form `what: why` that is not indented
/// 4. the last line with a letter, which is usually a total
/// 5. the last line
///
/// Empty if the output has none.
pub fn failure_reason(output: &str) -> String {
    let output = sanitize(output);
    let lines = lines_of_program(&output);
    let failed_test = lines.iter().find(|line| failed_test_name(line).is_some());
    let error = lines.iter().find(|line| reports_error(line));
    let reason = lines.iter().rfind(|line| has_reason(line));
    let total = lines
        .iter()
        .rfind(|line| line.contains(char::is_alphabetic));
    let found = failed_test.or(error).or(reason).or(total).or(lines.last());
    match found {
        Some(line) => one_line(line.trim(), POINT),
        None => String::new(),
    }
}

/// Returns the lines of an output that its program wrote, without empty ones. The agents write
/// others in place of an empty output, or below the output.
fn lines_of_program(output: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    for line in output.lines() {
        let is_of_agent = line == "(no output)"
            || line.starts_with("Command exited with code ")
            || is_truncation_notice(line);
        if !line.trim().is_empty() && !is_of_agent {
            lines.push(line);
        }
    }
    lines
}

/// Whether a line is the agent's notice that the output is longer: `[Showing lines 151-2150 of
/// 4000. Full output: /tmp/pi-bash-ab.log]`.
fn is_truncation_notice(line: &str) -> bool {
    line.starts_with("[Showing lines ") || line.starts_with('[') && line.contains("Full output: ")
}

/// Whether a line has the form `what: why`, and is not indented.
fn has_reason(line: &str) -> bool {
    !line.starts_with(' ') && (line.contains(": ") || line.contains('：'))
}

/// Whether a line reports an error in a form that programs use: `error: why`, `ValueError: why`,
/// `fatal: why`.
fn reports_error(line: &str) -> bool {
    let Some((what, _)) = line.split_once(':') else {
        return false;
    };
    let what = what.trim().to_ascii_lowercase();
    // A Rust error has a code, as in `error[E0308]`.
    what.ends_with("error") || what.starts_with("error[") || what == "fatal"
}

/// Returns a line with the first [`MOST_TESTS`] names of tests that the output reports as failed:
/// `failed: a, b, c, d, 1 more`. Empty if it reports none.
fn list_failed_tests(output: &str) -> String {
    let mut names = Vec::new();
    for name in output.lines().filter_map(failed_test_name) {
        let name = one_line(name, RESULT);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    if names.is_empty() {
        return String::new();
    }
    let omitted_count = names.len().saturating_sub(MOST_TESTS);
    names.truncate(MOST_TESTS);
    let names = names.join(", ");
    if omitted_count > 0 {
        format!("failed: {names}, {omitted_count} more")
    } else {
        format!("failed: {names}")
    }
}

/// Returns the name of the test that a line reports as failed, as common test runners write it.
fn failed_test_name(line: &str) -> Option<&str> {
    let line = line.trim();
    // Rust: `test tide::low ... FAILED`
    if let Some(test) = line.strip_prefix("test ") {
        return test.strip_suffix(" ... FAILED");
    }
    // pytest: `FAILED tests/test_tide.py::test_low - AssertionError: 3 != 4`. Other programs write
    // `FAILED` before other things, which have no `::`.
    if let Some(test) = line.strip_prefix("FAILED ") {
        let name = test.split(" - ").next().unwrap_or_default();
        return name.contains("::").then_some(name);
    }
    // Go: `--- FAIL: TestLow (0.00s)`
    if let Some(test) = line.strip_prefix("--- FAIL: ") {
        return test.split(" (").next();
    }
    // TAP: `not ok 3 - low water`
    if let Some(test) = line.strip_prefix("not ok ") {
        return Some(test.trim_start_matches(|c: char| c.is_ascii_digit() || " -".contains(c)));
    }
    // Runners of JavaScript: `✕ low water`
    let marks = ["✗ ", "✘ ", "✕ ", "× "];
    marks.iter().find_map(|mark| line.strip_prefix(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_reason_is_one_line() {
        for (output, expected) in [
            (
                "FAILED tests/a.py::test_low - assert 3 == 4\n1 failed\n\nCommand exited with code 1",
                "FAILED tests/a.py::test_low - assert 3 == 4",
            ),
            (
                "Traceback (most recent call last):\n  File \"a.py\", line 1\nValueError: bad date",
                "ValueError: bad date",
            ),
            (
                "   Compiling tide\nerror[E0308]: mismatched types\n --> src/a.rs:1",
                "error[E0308]: mismatched types",
            ),
            ("reading tide.csv\nfatal: 403", "fatal: 403"),
            (
                "running 14 tests\n..F.\ntest result: FAILED. 13 passed",
                "test result: FAILED. 13 passed",
            ),
            ("running 14 tests\n..F.\n1 failed", "1 failed"),
            ("(no output)\n\nCommand exited with code 3", ""),
            (
                "see above\n\n[Showing lines 151-2150 of 4000. Full output: /tmp/a.log]\n\n\
                 Command exited with code 1",
                "see above",
            ),
            (
                "it broke\n}\n-----\n\nCommand exited with code 1",
                "it broke",
            ),
            ("404\n\nCommand exited with code 1", "404"),
        ] {
            assert_eq!(failure_reason(output), expected, "{output}");
        }
    }

    #[test]
    fn failed_tests_are_named_before_the_reason() {
        for (output, expected) in [
            (
                "test tide::high ... ok\ntest tide::low ... FAILED\ntest map::west ... FAILED\n\n\
                 failures:\n    tide::low\n\ntest result: FAILED. 12 passed; 2 failed",
                "failed: tide::low, map::west\ntest result: FAILED. 12 passed; 2 failed",
            ),
            (
                "E   AssertionError: 3 != 4\nFAILED tests/test_tide.py::test_low - AssertionError: \
                 3 != 4\n1 failed, 31 passed in 0.12s",
                "failed: tests/test_tide.py::test_low\nE   AssertionError: 3 != 4\n\
                 1 failed, 31 passed in 0.12s",
            ),
            (
                "--- FAIL: TestLow (0.00s)\n    tide_test.go:12: 3\nFAIL\ttide\t0.2s",
                "failed: TestLow\nFAIL\ttide\t0.2s",
            ),
            (
                "not ok 1 - a\nnot ok 2 - b\nnot ok 3 - c\nnot ok 4 - d\nnot ok 5 - e\n# fail 5",
                "failed: a, b, c, d, 1 more\n# fail 5",
            ),
            (
                "FAILED: slot 2 is empty after load",
                "FAILED: slot 2 is empty after load",
            ),
            (
                "make: *** [all] Error 2\n\n[Output truncated. Full output: /tmp/a.log]",
                "make: *** [all] Error 2",
            ),
        ] {
            let lines = pick_informative_lines("Command exited with code 1", output);
            assert_eq!(lines, expected.replace('\t', "    "), "{output}");
        }
    }
}
