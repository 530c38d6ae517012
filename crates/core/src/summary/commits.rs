//! The messages of the commits in a command line.

use super::command_step::CommandStep;
use super::literals::{Quoted, mask_literals, read_inner_document};
use super::shell::OPERATORS;

/// Returns the first line of the message of each `git commit` in a command line, as far as it is in
/// quotes after `-m` or `--message`. It may be a here-document: `-m "$(cat <<'EOF'`.
pub(super) fn find_commit_messages(line: &str) -> Vec<String> {
    let code = mask_literals(line);
    let mut messages = Vec::new();
    let mut part_start = 0;
    for part in code.split_inclusive(OPERATORS) {
        let step = part.trim_end_matches(OPERATORS);
        // The mask keeps the length, so an offset in the code is one in the line.
        if is_commit(step)
            && let Some(value_offset) = find_message_value(step)
            && let Some(message) = read_message(&line[part_start + value_offset..])
        {
            messages.push(message);
        }
        part_start += part.len();
    }
    messages
}

fn is_commit(step: &str) -> bool {
    CommandStep::parse(step).is_some_and(|step| step.is_one_of("git-commit"))
}

/// Returns the offset of the value of the first `-m` or `--message` in a masked step. It is 14 in
/// `git commit -m _____`.
fn find_message_value(step: &str) -> Option<usize> {
    let mut words = words_with_offsets(step).into_iter();
    while let Some((word_start, word)) = words.next() {
        match read_message_option(word) {
            Some(OptionValue::InWord(value_offset)) => return Some(word_start + value_offset),
            Some(OptionValue::NextWord) => return words.next().map(|(start, _)| start),
            None => {}
        }
    }
    None
}

/// Returns the words of a step, each with its offset.
fn words_with_offsets(step: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut offset = 0;
    for word_and_space in step.split_inclusive(char::is_whitespace) {
        let word = word_and_space.trim_end();
        if !word.is_empty() {
            words.push((offset, word));
        }
        offset += word_and_space.len();
    }
    words
}

/// Where the value of an option is.
enum OptionValue {
    /// In the word of the option, at this offset: `--message=_____`, `-m_____`.
    InWord(usize),
    NextWord,
}

/// Returns where the message is if a masked word is `-m`, alone or behind other letters as in
/// `-qm`, or `--message`. `None` for any other word.
fn read_message_option(word: &str) -> Option<OptionValue> {
    if word == "--message" {
        return Some(OptionValue::NextWord);
    }
    if word.starts_with("--message=") {
        return Some(OptionValue::InWord("--message=".len()));
    }
    if !word.starts_with('-') || word.starts_with("--") {
        return None;
    }

    // The letters end where a masked quotation begins: in `-S_____m`, `m` is a part of the value of
    // `-S`, and no option.
    let letters = word.split('_').next()?;
    let value_offset = letters.find('m')? + 1;
    if value_offset == word.len() {
        Some(OptionValue::NextWord)
    } else {
        Some(OptionValue::InWord(value_offset))
    }
}

/// Returns the first line of a message that `value` begins with, in quotes. `None` if there are no
/// quotes, or the message is empty.
fn read_message(value: &str) -> Option<String> {
    let (quoted, is_after_dollar) = match value.strip_prefix('$') {
        Some(after_dollar) => (after_dollar, true),
        None => (value, false),
    };
    let inner_document = quoted.strip_prefix('"').and_then(read_inner_document);
    let text = match inner_document {
        Some(document) => document.text.to_owned(),
        None => {
            let text = Quoted::read(quoted, is_after_dollar)?.text;
            let has_ansi_escapes = is_after_dollar && quoted.starts_with('\'');
            if has_ansi_escapes {
                decode_ansi_escapes(text)
            } else {
                text.to_owned()
            }
        }
    };
    let mut lines = text.lines().map(str::trim);
    lines.find(|line| !line.is_empty()).map(str::to_owned)
}

/// Decodes the common escapes of a text in `$'…'`: line breaks, tabs, quotes and backslashes.
fn decode_ansi_escapes(text: &str) -> String {
    let mut decoded = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            decoded.push(c);
            continue;
        }
        match chars.next() {
            Some('n') => decoded.push('\n'),
            Some('t') => decoded.push('\t'),
            Some(escaped) => decoded.push(escaped),
            None => decoded.push(c),
        }
    }
    decoded
}
