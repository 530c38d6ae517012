//! oh-my-pi's search in the tree, which is fuzzy, but only within words (`fuzzyMatch`, without its
//! scores).
//!
//! All words of the query must match. A word of the query matches in one of these cases:
//!
//! - A word of the text contains it, or has its letters in order and close together.
//! - A word of the text is equal to it without its last one or two letters.
//! - It begins where a word of the text begins, and continues into the next words.
//! - It consists of the initials of words that are close together.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// Returns the words of a query, in lower case, as UTF-16.
pub fn parse_query(typed: &str) -> Vec<Vec<u16>> {
    typed
        .to_lowercase()
        .split(is_js_space)
        .flat_map(split_words)
        .collect()
}

/// Whether a text matches all words of a query; true if the query is empty.
pub fn matches_query(query: &[Vec<u16>], text: &str) -> bool {
    if query.is_empty() {
        return true;
    }
    let index = WordIndex::new(split_words(text));
    !index.words.is_empty() && query.iter().all(|word| index.matches_word(word))
}

/// Whether a character is part of a word: `[\p{Letter}\p{Mark}\p{Number}]`.
fn is_word(c: char) -> bool {
    use GeneralCategoryGroup::{Letter, Mark, Number};
    c.is_ascii_alphanumeric() || matches!(c.general_category_group(), Letter | Mark | Number)
}

fn is_js_space(c: char) -> bool {
    pisess_json::text::is_js_space(u32::from(c))
}

/// Returns the words of a text, in lower case, as UTF-16. `camelCase` is two words, and so is
/// `HTTPServer`: `http` and `server`.
fn split_words(text: &str) -> Vec<Vec<u16>> {
    let mut spaced = String::with_capacity(text.len() + 8);
    let mut previous: Option<char> = None;
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        let follows_lower =
            previous.is_some_and(|before| before.is_ascii_lowercase() || before.is_ascii_digit());
        // The last of several capitals begins a word if a small letter follows: the `S` of
        // `HTTPServer`.
        let ends_capitals = previous.is_some_and(|before| before.is_ascii_uppercase())
            && chars.peek().is_some_and(char::is_ascii_lowercase);
        if c.is_ascii_uppercase() && (follows_lower || ends_capitals) {
            spaced.push(' ');
        }
        spaced.push(c);
        previous = Some(c);
    }
    let mut words = Vec::new();
    for word in spaced.to_lowercase().split(|c| !is_word(c)) {
        if !word.is_empty() {
            // The agent compares UTF-16 units, so the scores depend on their number.
            words.push(word.encode_utf16().collect());
        }
    }
    words
}

/// The words of a text, prepared for matching.
struct WordIndex {
    words: Vec<Vec<u16>>,
    /// All words, joined.
    joined_words: Vec<u16>,
    /// The offset of each word in `joined_words`, ascending.
    word_offsets: Vec<usize>,
}

impl WordIndex {
    /// Joins the words of a text, so that a word of a query may continue from one into the next.
    /// The offset of each word tells where words begin.
    fn new(words: Vec<Vec<u16>>) -> Self {
        let mut word_offsets = Vec::with_capacity(words.len());
        let mut offset = 0;
        for word in &words {
            word_offsets.push(offset);
            offset += word.len();
        }
        WordIndex {
            word_offsets,
            joined_words: words.concat(),
            words,
        }
    }

    /// Whether a word of the query matches the text, also if a letter and an adjacent digit are
    /// swapped: `h2` matches `2h`.
    fn matches_word(&self, word: &[u16]) -> bool {
        if self.matches_unswapped(word) {
            return true;
        }
        for index in 1..word.len() {
            let first = word[index - 1];
            let second = word[index];
            let can_swap =
                is_letter(first) && is_digit(second) || is_digit(first) && is_letter(second);
            if can_swap {
                let mut swapped = word.to_vec();
                swapped.swap(index - 1, index);
                if self.matches_unswapped(&swapped) {
                    return true;
                }
            }
        }
        false
    }

    /// Whether a word of the query matches as it is.
    fn matches_unswapped(&self, word: &[u16]) -> bool {
        self.has_word_prefix(word)
            || self.words.iter().any(|other| is_similar(word, other))
            || self.has_initials(word)
    }

    /// Whether `word` begins where a word of the text begins. It may continue into the next words.
    /// `word` must not be empty; no word of a query is.
    ///
    /// If `word` is short, only its first occurrence in the joined words counts, as in the agent.
    /// In `stop to`, joined `stopto`, `to` first occurs within `stop`, so it is not found.
    fn has_word_prefix(&self, word: &[u16]) -> bool {
        /// The minimum length of a word all of whose occurrences count, in UTF-16 units.
        const MIN_LONG_UNITS: usize = 3;

        let counts_first_only = word.len() < MIN_LONG_UNITS;
        for (offset, window) in self.joined_words.windows(word.len()).enumerate() {
            if window != word {
                continue;
            }
            let is_start = self.word_offsets.binary_search(&offset).is_ok();
            if is_start || counts_first_only {
                return is_start;
            }
        }
        false
    }

    /// Whether a word of two to four letters consists of the initials of words of the text, with at
    /// most two words skipped.
    fn has_initials(&self, word: &[u16]) -> bool {
        if !(2..=4).contains(&word.len()) {
            return false;
        }
        let initials = self.words.iter().filter_map(|other| other.first().copied());
        subsequence_span(word, initials).is_some_and(|span| span <= word.len() + 2)
    }
}

fn is_letter(unit: u16) -> bool {
    u8::try_from(unit).is_ok_and(|byte| byte.is_ascii_lowercase())
}

fn is_digit(unit: u16) -> bool {
    u8::try_from(unit).is_ok_and(|byte| byte.is_ascii_digit())
}

/// Whether a word of a text is similar to a word of the query. It is if it contains the query, has
/// its letters in order and close together, or is the query without its last one or two letters.
fn is_similar(query: &[u16], word: &[u16]) -> bool {
    if query.starts_with(word) && query.len() - word.len() <= 2 {
        return true;
    }
    let contains_query = word.windows(query.len()).any(|part| part == query);
    contains_query || has_subsequence(query, word)
}

/// Whether a word has the letters of the query in order and close together: they span at most two
/// more letters than the query has, or 1.8 times as many.
fn has_subsequence(query: &[u16], word: &[u16]) -> bool {
    let max_span = (query.len() + 2).max((query.len() * 9).div_ceil(5));
    subsequence_span(query, word.iter().copied()).is_some_and(|span| span <= max_span)
}

/// Finds the wanted letters in order, each at its first occurrence after the one before it. Returns
/// how many letters there are from the first to the last, both included: 3 for `ac` in `xabc`.
/// `None` if a letter is missing.
fn subsequence_span(wanted: &[u16], letters: impl Iterator<Item = u16>) -> Option<usize> {
    let (&first_wanted, mut still_wanted) = wanted.split_first()?;
    let mut letters = letters.enumerate();
    let (start, _) = letters.find(|&(_, letter)| letter == first_wanted)?;
    let mut last = start;
    while let Some((&next_wanted, rest)) = still_wanted.split_first() {
        let (index, _) = letters.find(|&(_, letter)| letter == next_wanted)?;
        last = index;
        still_wanted = rest;
    }
    Some(last - start + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_marks_and_numbers_make_words() {
        for c in ['a', '9', 'é', '漢', '\u{301}', '\u{94d}', '½', '\u{e0100}'] {
            assert!(is_word(c), "{c}");
        }
        for c in ['-', '_', ' ', '\u{200b}', '…', 'Ⓐ', '\u{fffd}', '😀'] {
            assert!(!is_word(c), "{c}");
        }
    }

    #[test]
    fn words_are_found_loosely() {
        let text = "assistant: fix the parseJSONFile in summary2";
        for typed in [
            "",
            "!!",
            "fix",
            "parse json",
            "jsonfile",
            "summry",
            "summar2y",
            "ftp",
            "FIX  THE",
            "assistants",
        ] {
            assert!(matches_query(&parse_query(typed), text), "{typed}");
        }
        for typed in ["xyz", "fix xyz", "ffjs", "assistantsxyz", "asntt"] {
            assert!(!matches_query(&parse_query(typed), text), "{typed}");
        }
    }
}
