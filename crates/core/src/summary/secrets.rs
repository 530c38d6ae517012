//! Removes secrets: from each text before anything of it is cut, because half a secret could not be
//! recognized, and once more from the finished page.
//!
//! A secret that is assigned to a name is recognized there, and is known from then on. In another
//! place it may stand without the name, and be cut there. So the starts and the ends of known
//! secrets are removed from the page where something was left out, too.

use super::cut::{is_cut_after, is_cut_before};
use super::{SearchedMessage, SummaryBuilder};
use crate::redact::Redactor;

impl SummaryBuilder {
    /// Takes over a previous summary, without its secrets.
    pub fn add_previous_summary(&mut self, summary: &str) {
        let mut redacted = summary.to_owned();
        self.redactor.redact_text(&mut redacted);
        self.continue_from(&redacted);
    }

    /// Adds what is asked of the summary, without its secrets.
    pub fn add_instructions(&mut self, instructions: &str) {
        let mut redacted = instructions.to_owned();
        self.redactor.redact_text(&mut redacted);
        self.add_note("Asked of this summary", &redacted);
    }

    /// Adds the next message without its secrets, with the id of its entry.
    pub fn add_searched(&mut self, entry: &str, searched: &mut SearchedMessage) {
        if searched.has_secrets {
            for text in searched.message.redacted_texts_mut() {
                self.redactor.redact_text(text);
            }
        }
        self.add(entry, &searched.message);
    }
}

/// Removes from the finished page what may be left of secrets. Afterwards, the redactor searches
/// only for known secrets.
pub(super) fn redact_page(redactor: &mut Redactor, page: &mut String) {
    redactor.redact_text(page);
    redactor.redact_known_values(page);
    redact_cut_values(redactor, page);
}

/// This many characters of a known secret are no coincidence beside a mark of what was left out.
const SHORTEST_PART: usize = 8;

/// Replaces what is left of known secrets that were cut when a text was shortened: `by
/// Zq8rTk2WmB6…` becomes `by [secret 1]…`. An ellipsis, which shows that something was left out,
/// must be beside it, because the same characters may be a word elsewhere.
fn redact_cut_values(redactor: &mut Redactor, text: &mut String) {
    if !text.contains('…') {
        return;
    }
    for value in redactor.found_values() {
        // A word such as `password` may be a value, too, but its parts are in many words.
        if value.is_ordinary() {
            continue;
        }
        let Ok(secret) = std::str::from_utf8(&value.bytes) else {
            continue;
        };
        let placeholder = redactor.placeholder_for(&value);
        replace_starts(text, secret, value.shape_prefix_len(), &placeholder);
        replace_ends(text, secret, &placeholder);
    }
}

/// Replaces each start of a secret after which the text was cut: `Zq8rTk2WmB6…`. It has at least
/// [`SHORTEST_PART`] characters of the secret. `prefix_len` is the length of the prefix that other
/// secrets of its shape have, too; what has little more than that (`sk-ant-…`) is not replaced.
fn replace_starts(text: &mut String, secret: &str, prefix_len: usize, placeholder: &str) {
    let Some((shortest_len, _)) = secret.char_indices().nth(SHORTEST_PART) else {
        return;
    };
    let shortest = &secret[..shortest_len];
    // The text before this offset is searched. The search goes forward, because a start can only be
    // extended to its right.
    let mut searched_len = 0;
    while let Some(offset) = text[searched_len..].find(shortest) {
        let start = searched_len + offset;
        let end = start + shared_start_len(&text[start..], secret);
        if is_cut_before(&text[end..]) && !is_shape_prefix(&text[start..end], prefix_len) {
            text.replace_range(start..end, placeholder);
            searched_len = start + placeholder.len();
        } else {
            searched_len = end;
        }
    }
}

/// Whether the start of a secret has only what many secrets of its shape begin with: the prefix,
/// and perhaps a version, as in `sk-ant-api03-`.
fn is_shape_prefix(start: &str, prefix_len: usize) -> bool {
    let Some(after_prefix) = start.get(prefix_len..) else {
        return false;
    };
    prefix_len > 0 && after_prefix.len() < SHORTEST_PART && start.ends_with(['-', '_'])
}

/// Replaces each end of a secret before which the text was cut: `2WmB6yHn` below a line that
/// reports how much was left out. It has at least [`SHORTEST_PART`] characters of the secret.
fn replace_ends(text: &mut String, secret: &str, placeholder: &str) {
    let Some((shortest_start, _)) = secret.char_indices().nth_back(SHORTEST_PART - 1) else {
        return;
    };
    let shortest = &secret[shortest_start..];
    // The text from this offset on is searched. The search goes backward, because an end can only
    // be extended to its left.
    let mut unsearched_len = text.len();
    while let Some(offset) = text[..unsearched_len].rfind(shortest) {
        let end = offset + shortest.len();
        let start = end - shared_end_len(&text[..end], secret);
        if is_cut_after(&text[..start]) {
            text.replace_range(start..end, placeholder);
        }
        unsearched_len = start;
    }
}

/// Returns the length in bytes of the longest start that two texts have in common.
fn shared_start_len(one: &str, other: &str) -> usize {
    let mut len = 0;
    for (c, other_c) in one.chars().zip(other.chars()) {
        if c != other_c {
            break;
        }
        len += c.len_utf8();
    }
    len
}

/// Returns the length in bytes of the longest end that two texts have in common.
fn shared_end_len(one: &str, other: &str) -> usize {
    let mut len = 0;
    for (c, other_c) in one.chars().rev().zip(other.chars().rev()) {
        if c != other_c {
            break;
        }
        len += c.len_utf8();
    }
    len
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_start_of_a_secret_is_replaced_where_it_was_cut() {
        let secret = "Zq8rTk2WmB6yHn4sVx1c";
        for (text, expected) in [
            ("by Zq8rTk2WmB6…\" and", "by [x]…\" and"),
            ("Zq8rTk2WmB6…, Zq8rTk2WmB…", "[x]…, [x]…"),
            // Too short, or another word.
            ("by Zq8rTk…", "by Zq8rTk…"),
            ("by Zq8rTk2Wonder", "by Zq8rTk2Wonder"),
            (
                "> by Zq8rTk2WmB6\n> [… 20 characters left out …]\n> end",
                "> by [x]\n> [… 20 characters left out …]\n> end",
            ),
        ] {
            let mut redacted = text.to_owned();
            replace_starts(&mut redacted, secret, 0, "[x]");
            assert_eq!(redacted, expected);
        }
    }

    #[test]
    fn the_end_of_a_secret_is_replaced_where_it_was_cut() {
        let secret = "Zq8rTk2WmB6yHn4sVx1c";
        for (text, expected) in [
            ("left 2WmB6yHn4sVx1c", "left 2WmB6yHn4sVx1c"),
            (
                "> [… 2 characters left out …]\n> B6yHn4sVx1c, B6yHn4sVx1c",
                "> [… 2 characters left out …]\n> [x], B6yHn4sVx1c",
            ),
            (
                "\"a / [… 2 characters left out …] / 6yHn4sVx1c\"",
                "\"a / [… 2 characters left out …] / [x]\"",
            ),
            // Too short.
            (
                "> [… 2 characters left out …]\n> Hn4sVx1c.\n> n4sVx1c",
                "> [… 2 characters left out …]\n> [x].\n> n4sVx1c",
            ),
        ] {
            let mut redacted = text.to_owned();
            replace_ends(&mut redacted, secret, "[x]");
            assert_eq!(redacted, expected);
        }
    }

    #[test]
    fn what_every_secret_of_a_shape_begins_with_is_kept() {
        let secret = "sk-ant-api03-Zq8rTk2WmB6yHn4sVx1c";
        for (text, expected) in [
            ("by sk-ant-api03-…", "by sk-ant-api03-…"),
            ("by sk-ant-api03-Z…", "by [x]…"),
        ] {
            let mut redacted = text.to_owned();
            replace_starts(&mut redacted, secret, "sk-ant-".len(), "[x]");
            assert_eq!(redacted, expected);
        }
    }
}
