//! Headings of summaries that a model wrote in another form than the agents': numbered lines.
//!
//! ```text
//! 1. Primary Request and Intent:
//!    The user wants a map.
//!
//! 2. Pending Tasks:
//!    - the legend
//! ```

use std::borrow::Cow;

/// A line of more words is an item of a list. A heading may be as long as "All user messages
/// (without results of tools, in this part of the session)".
const HEADING_WORDS: usize = 16;
/// Fewer numbered lines may be a list.
const LEAST_HEADINGS: usize = 3;

/// The lines that the agent puts around such a summary. They are about the summary itself.
const FRAME_STARTS: [&str; 5] = [
    "This session is being continued from a previous conversation",
    "If you need specific details from before compaction",
    "Continue the conversation from where it left off",
    "Please continue the conversation from where we left it off",
    "Recent messages are preserved verbatim",
];

/// Returns a summary with `## Title` in place of `1. Title:`, and what is below it moved to the
/// start of the line. Another summary is returned as it is, also one with headings of its own: its
/// numbered lines are points.
pub(super) fn mark_numbered_headings(summary: &str) -> Cow<'_, str> {
    if summary.lines().any(|line| line.starts_with("## ")) {
        return Cow::Borrowed(summary);
    }
    let mut heading_count = 0;
    let mut lines: Vec<Cow<str>> = Vec::new();
    for line in summary.lines() {
        if FRAME_STARTS.iter().any(|start| line.starts_with(start)) {
            continue;
        }
        // What precedes this line are the model's thoughts on the summary.
        if line.trim() == "Summary:" && heading_count == 0 {
            lines.clear();
            continue;
        }
        let next_number = heading_count + 1;
        match numbered_title(line, next_number) {
            Some(title) => {
                heading_count += 1;
                lines.push(Cow::Owned(format!("## {title}")));
            }
            None => lines.push(Cow::Borrowed(without_indent(line))),
        }
    }
    if heading_count < LEAST_HEADINGS {
        return Cow::Borrowed(summary);
    }
    Cow::Owned(lines.join("\n"))
}

/// Returns the title in `2. Pending Tasks:`, if the line has this number and ends with the colon.
fn numbered_title(line: &str, number: usize) -> Option<&str> {
    let (digits, rest) = line.split_once(". ")?;
    if digits.parse() != Ok(number) {
        return None;
    }
    let title = rest.trim().trim_matches('*').strip_suffix(':')?;
    (title.split_whitespace().count() <= HEADING_WORDS).then_some(title)
}

/// Returns a line without the indent of what is below a numbered line: up to three spaces, as wide
/// as `1. `.
fn without_indent(line: &str) -> &str {
    const INDENT: usize = 3;
    let mut text = line;
    for _ in 0..INDENT {
        text = text.strip_prefix(' ').unwrap_or(text);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbered_headings_become_headings() {
        let summary = "This session is being continued from a previous conversation that ran out.\n\nSummary:\n1. Primary Request and Intent:\n   A map.\n   1. with names\n\n2. Pending Tasks:\n   - the legend\n     - in blue\n3. Current Work:\n   x";
        assert_eq!(
            mark_numbered_headings(summary),
            "## Primary Request and Intent\nA map.\n1. with names\n\n## Pending Tasks\n- the legend\n  - in blue\n## Current Work\nx"
        );
    }

    #[test]
    fn lists_and_other_summaries_stay() {
        for summary in [
            "## Goal\n1. a map:\n2. names:\n3. ink:\n",
            "1. First:\n3. Third:\n4. Fourth:\n",
            "",
        ] {
            assert_eq!(mark_numbered_headings(summary), summary);
        }
    }
}
