//! Lines of a message that most likely were pasted: code, logs, and what is near them. The words
//! that the user adds below them are not.

use super::prose::is_list_item;
use super::words::compile_expression;
use regex::Regex;
use std::sync::LazyLock;

/// Matches lines of code and of logs. A time without seconds is neither, and neither is a semicolon
/// between two words: "check the map; keep the names".
static CODE: LazyLock<Regex> = LazyLock::new(|| {
    compile_expression(
        r"[{}=\\|<>$]|;(\S|\s*$)|[\])'`];|:\s*\S+;|\w\(|[^\d\s]:\d|\d:\d\d:\d|^\w*[a-z][A-Z]\w*:",
    )
});

/// Whether a line has the form of code, or of a log.
pub(super) fn is_code_line(line: &str) -> bool {
    CODE.is_match(line)
}

/// The number of lines around code in which nothing is taken for a wish: the text of an error, or
/// of a report that was pasted.
const LINES_AROUND_CODE: usize = 2;

/// Returns for each line of prose whether it is code, or is near code and so most likely was pasted
/// with it. An item of a list is pasted only if it is code itself: people write lists of what they
/// want, and errors and logs have none.
pub(super) fn find_pasted(prose: &[&str]) -> Vec<bool> {
    let are_code: Vec<bool> = prose.iter().map(|line| CODE.is_match(line)).collect();
    let mut are_pasted = Vec::with_capacity(prose.len());
    for (index, line) in prose.iter().enumerate() {
        let distance = if is_list_item(line) {
            0
        } else {
            LINES_AROUND_CODE
        };
        let first = index.saturating_sub(distance);
        let last = (index + distance).min(prose.len() - 1);
        are_pasted.push(are_code[first..=last].contains(&true));
    }
    are_pasted
}

/// Words of somebody who speaks for himself.
const WORDS_OF_SELF: [&str; 18] = [
    "i", "i'm", "i'd", "i'll", "i've", "me", "my", "ich", "mir", "je", "moi", "yo", "mi", "quiero",
    "prefiero", "quisiera", "eu", "quero",
];

/// Words of somebody who asks for something, as programs do, too: "please upgrade".
const WORDS_OF_REQUEST: [&str; 4] = ["we", "please", "pls", "bitte"];

/// The last paragraph has more lines if it was pasted, too.
const MOST_CLOSING_LINES: usize = 3;

/// Returns the lines of the last paragraph of a message, if the user speaks in it, as below a
/// pasted error: "I do not want you to mend it, tell me why". Empty if the message has only one
/// paragraph, or if the last has code or too many lines.
pub(super) fn find_closing_words(message: &str) -> Vec<&str> {
    let Some((_, last_paragraph)) = message.trim_end().rsplit_once("\n\n") else {
        return Vec::new();
    };
    let lines: Vec<&str> = last_paragraph.lines().collect();
    if lines.len() > MOST_CLOSING_LINES || !user_speaks_in(&lines) {
        return Vec::new();
    }
    lines
}

/// Whether a paragraph has a word of somebody who speaks for himself or asks for something, and no
/// code.
fn user_speaks_in(paragraph: &[&str]) -> bool {
    has_word_and_no_code(paragraph, |word| {
        WORDS_OF_SELF.contains(&word) || WORDS_OF_REQUEST.contains(&word)
    })
}

/// Whether a paragraph has a word of somebody who speaks for himself, and no code.
pub(super) fn user_speaks_for_himself_in(paragraph: &[&str]) -> bool {
    has_word_and_no_code(paragraph, |word| WORDS_OF_SELF.contains(&word))
}

/// Whether `is_wanted` is true for a word of a paragraph, which has no code. Words are in lower
/// case; the apostrophe of "I'm" may be a curly one.
fn has_word_and_no_code(paragraph: &[&str], is_wanted: impl Fn(&str) -> bool) -> bool {
    if paragraph.iter().any(|line| CODE.is_match(line)) {
        return false;
    }
    for line in paragraph {
        let lower = line.to_lowercase().replace('’', "'");
        let mut words = lower.split(|c: char| !c.is_alphanumeric() && c != '\'');
        if words.any(&is_wanted) {
            return true;
        }
    }
    false
}
