//! Decisions: how users answer questions, and what they correct.

use super::budget::*;
use super::quote::{display_width, ends_in_question, last_prose_line, quote_line};
use regex::Regex;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// The words with which a message answers a question.
const ANSWERS: &str = r"(?i)^\W*(yes|yep|yeah|no|nope|ok|okay|sure|go|do|please|both|neither|none|all|ja|nein|oui|non|s[ií]|não|да|нет|是|不|好|对|可以|はい|いいえ|네|아니|نعم|لا)([^\p{L}]|$)";

/// An answer of fewer columns needs no word in common with the question.
const SHORT_ANSWER: usize = 60;

/// A word of at least this many characters is one of content.
const CONTENT_WORD: usize = 5;

/// Whether a message answers the question before it, and is not simply what came next: it is short,
/// begins as an answer does, names an item of a list, or has a word of the question.
pub(super) fn is_answer(question: &str, message: &str) -> bool {
    static ANSWER: LazyLock<Regex> = LazyLock::new(|| Regex::new(ANSWERS).expect("a constant"));
    if ends_in_question(message) {
        return false;
    }
    if display_width(message) < SHORT_ANSWER || ANSWER.is_match(message) {
        return true;
    }
    let first_name = message
        .split(|c: char| !c.is_alphanumeric())
        .next()
        .unwrap_or_default();
    let can_name_item = (1..=LONGEST_ITEM_NAME).contains(&first_name.len());
    if can_name_item && find_item(question, first_name).is_some() {
        return true;
    }

    let asked = last_prose_line(question).to_lowercase();
    let words_asked: Vec<&str> = asked.unicode_words().collect();
    let said = message.to_lowercase();
    said.unicode_words()
        .any(|word| word.chars().count() >= CONTENT_WORD && words_asked.contains(&word))
}

/// Whether a message corrects what the assistant did or said.
pub(super) fn is_correction(message: &str) -> bool {
    static CORRECTION: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)^\W*(no,|nope,|nah,|actually,? |rather,? |instead,? |i meant |not that)")
            .expect("a constant")
    });
    CORRECTION.is_match(message)
}

/// Describes a decision by the last line of a question and its answer. If a short answer names
/// items of a list in the question (`2`, `b`), they are added.
pub(super) fn describe_decision(question: &str, answer: &str) -> String {
    let mut named_items = Vec::new();
    if display_width(answer) < REMARK {
        for name in answer.split(|c: char| !c.is_alphanumeric()) {
            if named_items.len() == MOST_NAMED_ITEMS {
                break;
            }
            let can_name_item = (1..=LONGEST_ITEM_NAME).contains(&name.len());
            if can_name_item && let Some(item) = find_item(question, name) {
                named_items.push(item);
            }
        }
    }

    let asked = quote_line(last_prose_line(question), POINT);
    let answered = quote_line(answer, POINT);
    let mut decision = format!("Asked {asked}, the user answered {answered}");
    for item in named_items {
        decision.push_str("; ");
        decision.push_str(&quote_line(item, POINT / 2));
    }
    decision
}

/// The maximum number of items of a list that an answer can name.
const MOST_NAMED_ITEMS: usize = 3;

/// The maximum length of the number or letter of an item, in bytes.
const LONGEST_ITEM_NAME: usize = 2;

/// Returns the line of a question that is the item of a list with this number or letter.
fn find_item<'q>(question: &'q str, name: &str) -> Option<&'q str> {
    question.lines().find(|line| {
        let unmarked = line.trim_start_matches([' ', '*', '(', '-', '#']);
        unmarked
            .strip_prefix(name)
            .is_some_and(|rest| rest.starts_with(['.', ')', ':']))
    })
}
