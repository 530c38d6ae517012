//! Conditions for the bytes after a needle. Many needles are ordinary words, so only the bytes
//! after one show whether it may be part of a secret.

use crate::redact::base64_digits::{continues_base64, encodes_text, may_encode};
use crate::redact::shapes::Shape;

/// The condition that the bytes after a needle must fulfil for it to count.
#[derive(Clone, Copy, Debug)]
pub enum Continuation {
    Anything,
    /// Bytes for which this is true.
    Checked(fn(&[u8]) -> bool),
    /// The rest of a secret of this shape.
    RestOf(&'static Shape),
    /// Digits of base64 that encode bytes for which `may_follow` is true.
    EncodedChecked {
        /// The number of bits at the start of the first digit that belong to the needle.
        bits_before: usize,
        may_follow: fn(&[u8]) -> bool,
    },
    /// Digits of base64 that encode text for which `may_follow` is true.
    EncodedText {
        /// The number of bits at the start of the first digit that belong to the needle.
        bits_before: usize,
        may_follow: fn(&[u8]) -> bool,
    },
    /// Digits of base64 that encode the rest of a secret of this shape.
    EncodedRestOf {
        /// The number of bits at the start of the first digit that belong to the needle.
        bits_before: usize,
        shape: &'static Shape,
    },
}

impl Continuation {
    /// Whether the needle that ends at `last_byte` may be part of a secret, judged by the bytes
    /// after it.
    ///
    /// In doubt, returns true: a wrong `false` would leave a secret in the file, because a line
    /// without needles is not searched, but a wrong `true` only costs time.
    pub fn allows(self, text: &[u8], last_byte: usize) -> bool {
        let (up_to_needle, rest) = text.split_at(last_byte + 1);
        // Of two checks, the one that is cheaper, or more often false, comes first.
        match self {
            Continuation::Anything => true,
            Continuation::Checked(may_follow) => may_follow(rest),
            Continuation::RestOf(shape) => {
                // The needle is the prefix of the shape, so its length is known.
                let before_prefix = &up_to_needle[..up_to_needle.len() - shape.prefix.len()];
                shape.may_continue_with(rest) && shape.may_begin_after(before_prefix)
            }
            Continuation::EncodedChecked {
                bits_before,
                may_follow,
            } => may_encode(rest, bits_before, may_follow) && continues_base64(rest),
            Continuation::EncodedText {
                bits_before,
                may_follow,
            } => continues_base64(rest) && encodes_text(rest, bits_before, may_follow),
            Continuation::EncodedRestOf { bits_before, shape } => {
                let may_be_rest = may_encode(rest, bits_before, |first_bytes| {
                    shape.may_continue_with_prefix(first_bytes)
                });
                may_be_rest && continues_base64(rest)
            }
        }
    }
}

/// A terminal code that is written as text counts only if it sets a colour, as in output with
/// secrets. Source code contains many other codes, such as the code of a key.
pub const COLOUR: Continuation = Continuation::Checked(continues_colour);

/// A URL escape counts only before a word that may be a secret or a part of one. Most addresses
/// have only ordinary words there.
pub const ENCODED_WORD: Continuation = Continuation::Checked(begins_with_random_word);

/// Whether the bytes after `ESC[` are the rest of a colour code, as in `ESC[1;31m`, or of the code
/// `ESC[K`, with which `grep` ends a line.
fn continues_colour(rest: &[u8]) -> bool {
    for byte in rest.iter().take(LONGEST_COLOUR + 1) {
        match byte {
            // The parameters.
            b'0'..=b'9' | b';' | b':' => {}
            b'm' | b'K' => return true,
            _ => return false,
        }
    }
    false
}

/// Whether the bytes begin with a word that may be a secret or a part of one: with `x9Qd81`, but
/// not with `required`. The word must have at least 16 characters, which few words of a language
/// have, or at least six with both a letter and a digit.
fn begins_with_random_word(rest: &[u8]) -> bool {
    const SHORTEST_MIXED: usize = 6;
    const SHORTEST_OF_LETTERS: usize = 16;

    // How long a word is beyond that does not matter.
    let word_len = measure_word(rest, SHORTEST_OF_LETTERS);
    let word = &rest[..word_len];
    let is_mixed = word.iter().any(u8::is_ascii_digit) && word.iter().any(u8::is_ascii_alphabetic);
    let is_long_mixed = is_mixed && word_len >= SHORTEST_MIXED;
    is_long_mixed || word_len >= SHORTEST_OF_LETTERS
}

/// Returns the length of the word with which the bytes begin, measured until it has `enough_len`
/// bytes. The digits and letters of an escape such as `%21` count like any other of the word.
fn measure_word(bytes: &[u8], enough_len: usize) -> usize {
    let mut len = 0;
    while len < enough_len {
        let rest = &bytes[len..];
        if begins_with_escaped_sign(rest) {
            len += b"%21".len();
        } else if rest.first().is_some_and(|&byte| is_in_word(byte)) {
            len += 1;
        } else {
            break;
        }
    }
    len
}

/// Whether a byte may be in a word that is a secret.
fn is_in_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#*_-.^~$".contains(&byte)
}

/// Whether the bytes begin with the URL escape of a sign that is usual in passwords: `!#$*+@^`.
fn begins_with_escaped_sign(bytes: &[u8]) -> bool {
    const ESCAPED_SIGNS: [&[u8]; 7] = [b"%21", b"%23", b"%24", b"%2A", b"%2B", b"%40", b"%5E"];
    let is_escape = bytes.first() == Some(&b'%');
    is_escape && ESCAPED_SIGNS.iter().any(|sign| bytes.starts_with(sign))
}

/// The maximum number of digits and separators in a colour code, with some reserve:
/// `38;2;255;255;255;1` has 18. The limit avoids reading a long text of digits to its end.
const LONGEST_COLOUR: usize = 24;
