//! oh-my-pi's search in the tree: fuzzy, but within words (`fuzzyMatch`, without its scores).
//!
//! A word of the query matches if a word of the text contains it, has its letters in order and
//! close together, or equals it without its last one or two letters; if it starts at a word of the
//! text and continues into the next ones; or if it consists of the initials of words that are close
//! together. All words must match.

use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

/// Returns the words of what the user typed.
pub fn query(typed: &str) -> Vec<Vec<u16>> {
    typed
        .to_lowercase()
        .split(is_js_space)
        .flat_map(words)
        .collect()
}

/// Whether `text` contains all words of the query; true if the query is empty.
pub fn matches(query: &[Vec<u16>], text: &str) -> bool {
    if query.is_empty() {
        return true;
    }
    let index = Index::new(words(text));
    !index.words.is_empty() && query.iter().all(|word| index.holds(word))
}

/// Whether the character is part of a word: `[\p{Letter}\p{Mark}\p{Number}]`.
fn is_word(c: char) -> bool {
    use GeneralCategoryGroup::{Letter, Mark, Number};
    c.is_ascii_alphanumeric() || matches!(c.general_category_group(), Letter | Mark | Number)
}

fn is_js_space(c: char) -> bool {
    pisess_json::text::is_js_space(u32::from(c))
}

/// Returns the words of a text, in lower case, as UTF-16. `camelCase` and `HTTPServer` are two
/// words each.
fn words(text: &str) -> Vec<Vec<u16>> {
    let mut parted = String::with_capacity(text.len() + 8);
    let (mut before, mut rest) = (None, text.chars().peekable());
    while let Some(c) = rest.next() {
        let after_lower =
            before.is_some_and(|b: char| b.is_ascii_lowercase() || b.is_ascii_digit());
        let ends_capitals = before.is_some_and(|b| b.is_ascii_uppercase())
            && rest.peek().is_some_and(|next| next.is_ascii_lowercase());
        if c.is_ascii_uppercase() && (after_lower || ends_capitals) {
            parted.push(' ');
        }
        parted.push(c);
        before = Some(c);
    }
    let lower = parted.to_lowercase();
    lower
        .split(|c| !is_word(c))
        .filter(|word| !word.is_empty())
        .map(|word| word.encode_utf16().collect())
        .collect()
}

struct Index {
    words: Vec<Vec<u16>>,
    /// All words joined, and where each starts.
    compact: Vec<u16>,
    starts: Vec<usize>,
}

impl Index {
    fn new(words: Vec<Vec<u16>>) -> Self {
        let starts = words.iter().scan(0, |at, word| {
            let start = *at;
            *at += word.len();
            Some(start)
        });
        Index {
            starts: starts.collect(),
            compact: words.concat(),
            words,
        }
    }

    /// Whether the word matches as typed, or with an adjacent letter and digit swapped.
    fn holds(&self, word: &[u16]) -> bool {
        self.holds_as_typed(word)
            || (1..word.len()).any(|at| {
                let (a, b) = (word[at - 1], word[at]);
                let is = |unit: u16, kind: fn(&u8) -> bool| {
                    u8::try_from(unit).is_ok_and(|byte| kind(&byte))
                };
                let are = |a, b| is(a, u8::is_ascii_lowercase) && is(b, u8::is_ascii_digit);
                let mut exchanged = word.to_vec();
                exchanged.swap(at - 1, at);
                (are(a, b) || are(b, a)) && self.holds_as_typed(&exchanged)
            })
    }

    fn holds_as_typed(&self, word: &[u16]) -> bool {
        self.starts_with(word)
            || self.words.iter().any(|other| is_like(word, other))
            || self.has_initials(word)
    }

    /// Whether a word of the text starts with `word`, which may continue into the next words. If
    /// `word` is short, only its first occurrence counts.
    fn starts_with(&self, word: &[u16]) -> bool {
        let mut places = self
            .compact
            .windows(word.len())
            .enumerate()
            .filter(|(_, at)| *at == word);
        let starts_word = |(at, _): (usize, &[u16])| self.starts.binary_search(&at).is_ok();
        if word.len() < 3 {
            places.next().is_some_and(starts_word)
        } else {
            places.any(starts_word)
        }
    }

    /// Whether two to four letters are the initials of words of the text, with at most two words
    /// skipped.
    fn has_initials(&self, word: &[u16]) -> bool {
        let initials = self.words.iter().filter_map(|other| other.first().copied());
        (2..=4).contains(&word.len())
            && span(word, initials).is_some_and(|span| span <= word.len() + 2)
    }
}

/// Whether a word of a text matches a word of the query.
fn is_like(query: &[u16], word: &[u16]) -> bool {
    let extended = query.starts_with(word) && query.len() - word.len() <= 2;
    extended || word.windows(query.len()).any(|part| part == query) || has_letters(query, word)
}

/// Whether the letters occur in the word in order, not too far apart.
fn has_letters(query: &[u16], word: &[u16]) -> bool {
    let most = (query.len() + 2).max((query.len() * 9).div_ceil(5));
    span(query, word.iter().copied()).is_some_and(|span| span <= most)
}

/// Returns how many letters there are from the first to the last of those wanted, each found after
/// the one before it; `None` if one is missing.
fn span(wanted: &[u16], letters: impl Iterator<Item = u16>) -> Option<usize> {
    let mut letters = letters.enumerate();
    let mut places = wanted
        .iter()
        .map(|wanted| letters.find(|(_, letter)| letter == wanted));
    let (first, _) = places.next()??;
    let last = places.try_fold(first, |_, place| place.map(|(at, _)| at))?;
    Some(last - first + 1)
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
            assert!(matches(&query(typed), text), "{typed}");
        }
        for typed in ["xyz", "fix xyz", "ffjs", "assistantsxyz", "asntt"] {
            assert!(!matches(&query(typed), text), "{typed}");
        }
    }
}
