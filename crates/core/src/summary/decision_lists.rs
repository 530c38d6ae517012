//! Lists of decisions in replies: what the assistant presents as decided, below a line that says
//! so.
//!
//! ```text
//! The plan is ready. Key decisions:
//! - **No dependencies** — `fetch` is built in
//! - **esbuild** bundles to one file
//! ```

use super::budget::{DECISION_LIST, LISTED_DECISION};
use super::fitting::keep_first;
use super::one_line::one_line;
use super::prose::is_list_item;
use super::quote::{is_narrower, strip_marks};

/// The words that name a list of decisions.
const NAMES: [&str; 14] = [
    "decision",
    "decisions",
    "decided",
    "settled",
    "agreed",
    "entscheidung",
    "entscheidungen",
    "entschieden",
    "décision",
    "décisions",
    "decisión",
    "decisiones",
    "решения",
    "决定",
];
/// The words with which the same line names what is open, refused, or only asked for.
const OPEN_NAMES: [&str; 16] = [
    "open",
    "need",
    "needed",
    "your",
    "pending",
    "offen",
    "todo",
    "make",
    "to",
    "not",
    "no",
    "for",
    "without",
    "which",
    "rejected",
    "questions",
];

/// A name of more columns is a sentence.
const LONGEST_NAME: usize = 60;
/// A single item is quoted by the rules for sentences.
const LEAST_ITEMS: usize = 2;

/// Finds the last list of decisions in a reply, and returns its items on one line of about
/// [`DECISION_LIST`] UTF-16 units. `None` if there is none.
pub(super) fn find_decision_list(reply: &str) -> Option<String> {
    let lines: Vec<&str> = reply.lines().collect();
    // A later list replaces an earlier one, because it is more likely up to date.
    let mut list = None;
    for (index, line) in lines.iter().enumerate() {
        if names_decisions(line)
            && let Some(items) = read_items(&lines[index + 1..])
        {
            list = Some(items);
        }
    }
    list
}

/// Whether a line names the list below it as one of decisions that were made.
fn names_decisions(line: &str) -> bool {
    let Some(name) = list_name(line) else {
        return false;
    };
    let lower = name.to_lowercase();
    let has_word_of = |list: &[&str]| {
        let mut words = lower.split(|c: char| !c.is_alphanumeric());
        words.any(|word| list.contains(&word))
    };
    has_word_of(&NAMES) && !has_word_of(&OPEN_NAMES)
}

/// Returns the name that a line gives to the list below it, if the line is a heading or ends in a
/// colon: `Key decisions` in `The plan is ready. **Key decisions:**`. `None` for other lines, and
/// if the name is a sentence.
fn list_name(line: &str) -> Option<&str> {
    let text = line.trim();
    let is_bold = text.starts_with("**") && text.ends_with("**");
    let is_heading = text.starts_with('#') || is_bold;
    let ends_in_colon = text.trim_end_matches('*').ends_with([':', '：']);
    if !is_heading && !ends_in_colon {
        return None;
    }
    let unmarked = text.trim_end_matches([':', '：', '*', ' ']);
    let last_sentence = unmarked.rsplit(['.', '!', '?']).next()?;
    if !is_narrower(last_sentence, LONGEST_NAME) {
        return None;
    }
    Some(last_sentence)
}

/// Reads the list that `lines` begin with, and joins its items, as many as fit. `None` if fewer
/// than [`LEAST_ITEMS`] fit. Of an item, only the first line is read.
fn read_items(lines: &[&str]) -> Option<String> {
    let mut items: Vec<String> = Vec::new();
    for line in lines {
        let continues_item = line.starts_with([' ', '\t']) && !items.is_empty();
        if line.trim().is_empty() || continues_item {
            continue;
        }
        if !is_list_item(line) {
            break;
        }
        let unmarked = strip_marks(line.trim()).replace("**", "");
        items.push(one_line(&unmarked, LISTED_DECISION));
    }
    let shown = keep_first(items, DECISION_LIST);
    if shown.len() < LEAST_ITEMS {
        return None;
    }
    Some(shown.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_found_below_a_line_that_names_decisions() {
        for (reply, expected) in [
            (
                "The plan is ready. Key decisions:\n\n- **No frames** — the printer cuts\n  them off\n- blue\n\nShall I?",
                Some("No frames — the printer cuts; blue"),
            ),
            (
                "## Settled design\n1. one sheet\n2. two colors",
                Some("one sheet; two colors"),
            ),
            (
                "**Decisions**\n- a\n- b\n\n**Decisions**\n- c\n- d",
                Some("c; d"),
            ),
            ("Open decisions:\n- a\n- b", None),
            ("I need your decision on these:\n- a\n- b", None),
            ("Decisions to make:\n- a\n- b", None),
            ("Rejected decisions:\n- a\n- b", None),
            ("## Decisions that I did not take\n- a\n- b", None),
            ("Key decisions:\nThe map stays.", None),
            ("Decisions:", None),
            ("It is decided.\n- a\n- b", None),
        ] {
            assert_eq!(find_decision_list(reply).as_deref(), expected, "{reply}");
        }
    }
}
