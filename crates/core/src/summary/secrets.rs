//! Removes secrets: from each text before anything of it is cut, because half a secret could not be
//! recognized, and once more from the finished page.
//!
//! A secret that is assigned to a name is recognized there, and is known from then on. In another
//! place it may stand without the name, and be cut there. So the starts of known secrets are
//! removed from the page, too.

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
    redact_starts(redactor, page);
}

/// This many characters of a known secret are no coincidence before a mark of what was left out.
const SHORTEST_START: usize = 8;

/// Replaces the starts of known secrets whose rest was cut off, as the ellipsis after them shows,
/// by the placeholders of the secrets.
fn redact_starts(redactor: &mut Redactor, text: &mut String) {
    if !text.contains('…') {
        return;
    }
    for value in redactor.found_values() {
        let Ok(secret) = std::str::from_utf8(&value.bytes) else {
            continue;
        };
        if value.is_ordinary() {
            continue;
        }
        let placeholder = redactor.placeholder_for(&value);
        replace_starts(text, secret, &placeholder);
    }
}

/// Replaces the starts of a secret that are followed by an ellipsis.
fn replace_starts(text: &mut String, secret: &str, placeholder: &str) {
    let Some((start_len, _)) = secret.char_indices().nth(SHORTEST_START) else {
        return;
    };
    let mut from = 0;
    while let Some(found) = text[from..].find(&secret[..start_len]) {
        let start = from + found;
        let shared = shared_len(&text[start..], secret);
        let end = start + shared;
        if text[end..].starts_with('…') {
            text.replace_range(start..end, placeholder);
            from = start + placeholder.len();
        } else {
            from = end;
        }
    }
}

/// Returns the length in bytes of the longest start that two texts have in common.
fn shared_len(one: &str, other: &str) -> usize {
    let pairs = one.chars().zip(other.chars());
    pairs
        .take_while(|(own, theirs)| own == theirs)
        .map(|(c, _)| c.len_utf8())
        .sum()
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
        ] {
            let mut redacted = text.to_owned();
            replace_starts(&mut redacted, secret, "[x]");
            assert_eq!(redacted, expected);
        }
    }
}
