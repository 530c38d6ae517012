//! The output of a failed call: the lines that say most of why it failed, and which tests did.

use super::budget::{POINT, RESULT};
use super::quote::{clip, one_line, sanitize};

/// The maximum number of lines that are quoted of the output of a failed call.
const MOST_INFORMATIVE_LINES: usize = 3;

/// The maximum number of failed tests that are named.
const MOST_TESTS: usize = 4;

/// Returns the most informative lines of the output of a failed call: the last line, and before it
/// the last two lines of the form `what: why` that are not indented, as programs of any kind write
/// them. They share the space of a point. Empty lines and `status`, the agent's own line, are
/// skipped.
///
/// If there are failed tests, a line with their names comes first, in place of one of those lines.
pub(super) fn informative_lines(status: &str, output: &str) -> String {
    let output = sanitize(output);
    let failed_tests = list_failed_tests(&output);
    let most_lines = if failed_tests.is_empty() {
        MOST_INFORMATIVE_LINES
    } else {
        MOST_INFORMATIVE_LINES - 1
    };
    let mut lines: Vec<&str> = Vec::new();
    for line in output.lines().rev() {
        if ["", "(no output)", status].contains(&line.trim()) || failed_test(line).is_some() {
            continue;
        }
        let is_last_line = lines.is_empty();
        let has_reason = !line.starts_with(' ') && (line.contains(": ") || line.contains('：'));
        if is_last_line || has_reason {
            lines.push(line);
        }
        if lines.len() == most_lines {
            break;
        }
    }
    if !failed_tests.is_empty() {
        lines.push(&failed_tests);
    }
    lines.reverse();

    let room_per_line = POINT / lines.len().max(1);
    let mut clipped = Vec::new();
    for line in lines {
        clipped.push(clip(line.trim(), room_per_line));
    }
    clipped.join("\n")
}

/// Returns a line with the names of the tests that failed, and the number of those not named; empty
/// if the output names none.
fn list_failed_tests(output: &str) -> String {
    let mut names = Vec::new();
    for name in output.lines().filter_map(failed_test) {
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

/// Returns the name of the test that a line reports as failed, in the forms of the runners of Rust,
/// Python, Go, TAP and JavaScript.
fn failed_test(line: &str) -> Option<&str> {
    let line = line.trim();
    if let Some(test) = line.strip_prefix("test ") {
        return test.strip_suffix(" ... FAILED");
    }
    if let Some(test) = line.strip_prefix("FAILED ") {
        // A test of pytest has the path of its file.
        let name = test.split(" - ").next().unwrap_or_default();
        return name.contains("::").then_some(name);
    }
    if let Some(test) = line.strip_prefix("--- FAIL: ") {
        return test.split(" (").next();
    }
    if let Some(test) = line.strip_prefix("not ok ") {
        return Some(test.trim_start_matches(|c: char| c.is_ascii_digit() || " -".contains(c)));
    }
    let marks = ["✗ ", "✘ ", "✕ ", "× "];
    marks.iter().find_map(|mark| line.strip_prefix(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        ] {
            let lines = informative_lines("Command exited with code 1", output);
            assert_eq!(lines, expected.replace('\t', "    "), "{output}");
        }
    }
}
