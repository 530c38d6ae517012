//! Options within a line, as in `A) keep it? B) drop it?`.

use super::list_items::{begins_with_name, first_word, may_name_item};
use super::user_quotes::find_answers;
use std::ops::Range;

/// Returns the item of a list within a line: `A) keep it? B) drop it?`, `(1) one, (2) both`
pub(super) fn find_inner_item<'r>(reply: &'r str, name: &str) -> Option<&'r str> {
    let name_mark = format!("{name}) ");
    for (start, _) in reply.match_indices(&name_mark) {
        let is_word_start = reply[..start].ends_with([' ', '(']);
        if is_word_start {
            let len = inner_item_len(&reply[start..]);
            return Some(with_unit(reply, start..start + len));
        }
    }
    None
}

/// Returns the length in bytes of the item that a text begins with. It ends with its question mark
/// or semicolon, before the next item, or with its line.
fn inner_item_len(text: &str) -> usize {
    let line = text.lines().next().unwrap_or_default();
    let next_item = find_next_item(line).unwrap_or(line.len());
    match line.find(['?', ';']) {
        // Includes the mark, which is one byte.
        Some(mark) => next_item.min(mark + 1),
        None => next_item,
    }
}

/// Returns an item, whose byte range in a reply is given. If it has no word, as the second in `a) 5
/// minutes, b) 15`, the options of its line up to it are returned, because the first has the unit.
fn with_unit(reply: &str, item: Range<usize>) -> &str {
    let item_text = &reply[item.clone()];
    // The name of the item is a letter, too.
    let has_word = item_text.chars().filter(|c| c.is_alphabetic()).count() > 1;
    if has_word {
        return item_text;
    }
    let before = &reply[..item.start];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    let earlier_options = &before[line_start..];
    let first = earlier_options
        .find("a) ")
        .or_else(|| earlier_options.find("A) "));
    match first {
        Some(first) => &reply[line_start + first..item.end],
        None => item_text,
    }
}

/// Returns the byte offset of the comma before the name of another item, as in `, (2) both` and
/// `, b) both`. Other words may be in parentheses, too: `A) keep the map, (the large one) of 1990?`
fn find_next_item(item: &str) -> Option<usize> {
    const SEPARATOR: &str = ", ";
    for (comma, _) in item.match_indices(SEPARATOR) {
        let after_comma = &item[comma + SEPARATOR.len()..];
        let next_item = after_comma.trim_start_matches('(');
        let name = first_word(next_item);
        let is_closed = next_item[name.len()..].starts_with(')');
        if is_closed && may_name_item(name) {
            return Some(comma);
        }
    }
    None
}

/// Shortens numbered questions to the options that an answer names: `(2) Which colour: a) red, b)
/// blue, c) none?`, answered by `1 yes. 2 b`, becomes `(2) Which colour: b) blue`. Questions
/// without such options, or without a number, stay as they are.
pub(super) fn keep_chosen_options(questions: &[&str], answer: &str) -> Vec<String> {
    let answers = find_answers(answer);
    let mut shortened = Vec::new();
    for question in questions {
        let chosen = shorten_to_chosen(question, &answers);
        shortened.push(chosen.unwrap_or_else(|| (*question).to_owned()));
    }
    shortened
}

/// Shortens a numbered question to the option that the answer with the same number names. `None` if
/// there is no such answer or option. `answers` begin with that to question 1.
fn shorten_to_chosen(question: &str, answers: &[&str]) -> Option<String> {
    let number = item_number(question)?;
    let index = number.checked_sub(1)?;
    let answer = answers.get(index)?;
    keep_chosen_option(question, answer)
}

/// Returns the number of an item of a list: 2 in `2. in blue`, `**2)** in blue` and `(2) in blue`.
fn item_number(item: &str) -> Option<usize> {
    let unmarked = item.trim_start_matches([' ', '*', '(']);
    let number = first_word(unmarked);
    let is_marked = unmarked[number.len()..].starts_with(['.', ')', ':']);
    if is_marked { number.parse().ok() } else { None }
}

/// Returns a question with the only option that the answer to it begins with. `None` if there is
/// none, or no other. The first word of "a warm one" names no option.
fn keep_chosen_option(question: &str, answer: &str) -> Option<String> {
    let words = answer.trim_start_matches(|c: char| !c.is_alphanumeric());
    let name = first_word(words);
    let is_letter = name.len() == 1 && name.bytes().all(|byte| byte.is_ascii_alphabetic());
    if !is_letter || !begins_with_name(words, name) {
        return None;
    }
    let first_option = find_inner_item(question, "a").or_else(|| find_inner_item(question, "A"))?;
    let chosen = find_inner_item(question, name)?;
    // Both are slices of the question.
    let lead_end = question.find(first_option)?;
    let lead = question[..lead_end].trim_end_matches(['(', ' ']);
    Some(format!("{lead} {chosen}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_ends_before_the_next() {
        let line = "How long? a) 5 minutes, b) 15, c) 30";
        assert_eq!(find_inner_item(line, "b"), Some("a) 5 minutes, b) 15"));
        assert_eq!(find_inner_item(line, "a"), Some("a) 5 minutes"));
        let line = "Which? A) keep the map, (the large one) of 1990, (B) another";
        assert_eq!(
            find_inner_item(line, "A"),
            Some("A) keep the map, (the large one) of 1990")
        );
    }

    #[test]
    fn only_the_options_that_were_chosen_are_kept() {
        let questions = [
            "1. Which paper: the old stock?",
            "2. Which colour: (a) red, (b) blue, (c) none?",
            "3. Which size: a) A3, b) A4?",
        ];
        assert_eq!(
            keep_chosen_options(&questions, "1 the old. 2 b, but pale. 3 as last year"),
            [questions[0], "2. Which colour: b) blue", questions[2]]
        );
        assert_eq!(keep_chosen_options(&questions, "b"), questions);
    }

    #[test]
    fn an_article_chooses_no_option() {
        let questions = [
            "1. Which size: a) A3, b) A4?",
            "2. Which colour: a) red, b) blue?",
        ];
        let answer = "1 a bit larger than last year. 2. a warm one, but never red";
        assert_eq!(keep_chosen_options(&questions, answer), questions);
        assert_eq!(
            keep_chosen_options(&questions, "(1) a\n(2) b for now"),
            ["1. Which size: a) A3", "2. Which colour: b) blue?"]
        );
    }

    /// The first item of the list asks nothing.
    #[test]
    fn an_answer_belongs_to_the_question_with_its_number() {
        let questions = [
            "2. Which size: a) A3, b) A4?",
            "**3.** Which colour: a) red, b) blue?",
            "- Which paper: a) old, b) new?",
        ];
        assert_eq!(
            keep_chosen_options(&questions, "1 fine. 2 b, please. 3 a"),
            [
                "2. Which size: b) A4?",
                "**3.** Which colour: a) red",
                questions[2]
            ]
        );
    }
}
