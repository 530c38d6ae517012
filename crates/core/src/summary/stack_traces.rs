//! Stack traces in what a user pasted: the frames in the middle of a long one are left out. What
//! failed is said by the lines around the frames, and where by the first and the last of them.
//!
//! ```text
//! Traceback (most recent call last):              Traceback (most recent call last):
//!   File "run.py", line 9, in main                  File "run.py", line 9, in main
//!     draw(chart)                                     draw(chart)
//!   ... 30 lines                             ──>  [… 30 lines of the stack …]
//!   File "tide.py", line 4, in level                File "tide.py", line 4, in level
//!     return table[time]                              return table[time]
//! KeyError: '23:50'                               KeyError: '23:50'
//! ```

use super::words::compile_expression;
use regex::Regex;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::LazyLock;

/// The number of lines that stay at the start and at the end of the frames.
const KEPT_LINES: usize = 4;

/// Fewer lines between those that stay are not left out.
const LEAST_OMITTED: usize = 5;

/// Returns a message without the frames in the middle of its long stack traces. A line says how
/// many lines are left out.
pub(super) fn fold_stack_traces(message: &str) -> Cow<'_, str> {
    let lines: Vec<&str> = message.split_inclusive('\n').collect();
    let long_stacks = find_long_stacks(&lines);
    if long_stacks.is_empty() {
        return Cow::Borrowed(message);
    }

    let mut folded = String::new();
    let mut unread_start = 0;
    for stack in long_stacks {
        let omitted = stack.start + KEPT_LINES..stack.end - KEPT_LINES;
        folded.extend(lines[unread_start..omitted.start].iter().copied());
        folded.push_str(&format!("[… {} lines of the stack …]\n", omitted.len()));
        unread_start = omitted.end;
    }
    folded.extend(lines[unread_start..].iter().copied());
    Cow::Owned(folded)
}

/// Returns the ranges of lines that are the frames of a stack, of which enough can be left out.
fn find_long_stacks(lines: &[&str]) -> Vec<Range<usize>> {
    let mut long_stacks = Vec::new();
    let mut start = 0;
    while start < lines.len() {
        let end = find_stack_end(lines, start);
        if end - start >= 2 * KEPT_LINES + LEAST_OMITTED {
            long_stacks.push(start..end);
        }
        start = end.max(start + 1);
    }
    long_stacks
}

/// Returns the index after the frames that begin at `start`; `start` itself if none begins there.
fn find_stack_end(lines: &[&str], start: usize) -> usize {
    let mut end = start;
    while end < lines.len() {
        let is_in_stack = end > start;
        let belongs_to_frame = is_in_stack && is_deeply_indented(lines[end]);
        if !is_frame(lines[end]) && !belongs_to_frame {
            break;
        }
        end += 1;
    }
    end
}

/// Whether a line begins a frame, as Python, JavaScript, Java, C# and Rust write it.
fn is_frame(line: &str) -> bool {
    static FRAME: LazyLock<Regex> = LazyLock::new(|| {
        compile_expression(r#"^\s*(File "[^"]+", line \d|at \S+.*[:(]|at \S+$|\d+: \S*::)"#)
    });
    FRAME.is_match(line.trim_end())
}

/// Whether a line is indented like the code that Python quotes below a frame, or like the place
/// that Rust prints there.
fn is_deeply_indented(line: &str) -> bool {
    line.starts_with("    ") || line.starts_with('\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_middle_of_a_long_stack_is_left_out() {
        let frames: Vec<String> = (0..9)
            .map(|n| format!("  File \"a.py\", line {n}, in f\n    g({n})\n"))
            .collect();
        let head = "why?\nTraceback (most recent call last):\n";
        let error = "KeyError: '23:50'\nhelp\n";
        let message = format!("{head}{}{error}", frames.concat());
        let ends = [frames[..2].concat(), frames[7..].concat()];
        assert_eq!(
            fold_stack_traces(&message),
            format!(
                "{head}{}[… 10 lines of the stack …]\n{}{error}",
                ends[0], ends[1]
            )
        );
        // All of a short one stays.
        let short = format!("{head}{}{error}", frames[..6].concat());
        assert_eq!(fold_stack_traces(&short), short);
    }

    #[test]
    fn frames_of_several_languages_are_known() {
        for frame in [
            "    at App.draw (https://example.org/a.js:631:29)",
            "at draw (node:internal/a:1:2)",
            "\tat org.map.Chart.draw(Chart.java:12)",
            "   at Map.Chart.Draw() in C:\\map\\Chart.cs:line 12",
            "  File \"/a b/c.py\", line 12, in draw",
            "   3: map::chart::draw",
        ] {
            assert!(is_frame(frame), "{frame}");
        }
        for line in [
            "look at this chart of mine",
            "at first, draw it",
            "File the report",
            "1: draw it",
            "    indented",
            "",
        ] {
            assert!(!is_frame(line), "{line}");
        }
    }

    #[test]
    fn lists_and_code_are_no_stacks() {
        let items = "- draw it\n    in blue\n".repeat(30);
        let code = "    let a = 1;\n".repeat(30);
        for message in [&*items, &*code, "", "\n"] {
            assert_eq!(fold_stack_traces(message), message);
        }
    }
}
