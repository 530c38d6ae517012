//! Finds and decodes base64 within a text, on one line or wrapped.

use super::base64_digits::{SHORTEST_ENCODED, is_base64_digit};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use std::ops::Range;

/// The minimum number of digits on a line whose run continues on the next line. Programs wrap lines
/// after 60 to 76 digits.
const SHORTEST_LINE: usize = 40;

/// The bytes that a run of base64 digits encodes, in one alignment.
pub struct DecodedBase64<'a> {
    /// The decoded bytes.
    pub bytes: Vec<u8>,
    /// The number of digits at the start of the run that were skipped.
    skipped_digits: usize,
    /// The lines of the run, in the order of the text.
    lines: &'a [DigitLine],
}

/// The digits of a run on one line.
struct DigitLine {
    /// The number of digits of the run on the lines before.
    digits_before: usize,
    /// The offset in the text of the first digit on the line.
    start: usize,
}

impl DecodedBase64<'_> {
    /// Returns the range of the text with the digits that encode a range of `bytes`.
    pub fn source_range(&self, range: Range<usize>) -> Range<usize> {
        // Four digits encode three bytes. A digit that encodes bits of two bytes belongs to both.
        let first = self.skipped_digits + range.start * 4 / 3;
        let end = self.skipped_digits + (range.end * 4).div_ceil(3);
        self.digit_offset(first)..self.digit_offset(end - 1) + 1
    }

    /// Converts the index of a digit in the run to its offset in the text.
    fn digit_offset(&self, digit: usize) -> usize {
        let next = self
            .lines
            .partition_point(|line| line.digits_before <= digit);
        let line = &self.lines[next - 1];
        line.start + digit - line.digits_before
    }
}

/// Decodes digits of the standard alphabet that may be a part of a longer run. So padding may be
/// missing, and the last bits need not encode a whole byte.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The number of digits that encode three bytes.
const GROUP: usize = 4;

/// Decodes each run of base64 digits in a text, and calls `visit` with the result. Runs of fewer
/// than [`SHORTEST_ENCODED`] digits are skipped.
///
/// The first digits of a run may be ordinary text: in `id/c2VjcmV0…`, `id/` consists of digits,
/// too. So the run is decoded from each of its first four digits, and `visit` is called for each
/// result.
pub fn each_base64_run(text: &[u8], visit: &mut dyn FnMut(&DecodedBase64)) {
    let mut searched_end = 0;
    while let Some(distance) = text[searched_end..].iter().position(is_base64_digit) {
        let run = read_digit_run(text, searched_end + distance);
        searched_end = run.end;
        if run.digits.len() < SHORTEST_ENCODED {
            continue;
        }
        // Four digits encode three bytes, so to skip four would only skip three bytes.
        for skipped_digits in 0..GROUP {
            if let Some(bytes) = decode_digits(&run.digits[skipped_digits..]) {
                visit(&DecodedBase64 {
                    bytes,
                    skipped_digits,
                    lines: &run.lines,
                });
            }
        }
    }
}

/// Decodes digits, of which the first begins a group; `None` if one of them is no digit.
fn decode_digits(digits: &[u8]) -> Option<Vec<u8>> {
    // A single digit after the last group has too few bits for a byte. The decoder would refuse it.
    let decoded_len = if digits.len() % GROUP == 1 {
        digits.len() - 1
    } else {
        digits.len()
    };
    BASE64.decode(&digits[..decoded_len]).ok()
}

/// A run of base64 digits, on one line or wrapped.
struct DigitRun {
    /// The digits, in the standard alphabet.
    digits: Vec<u8>,
    /// The lines of the run, in the order of the text.
    lines: Vec<DigitLine>,
    /// The offset in the text after the last digit.
    end: usize,
}

/// Reads the run of digits at an offset, including the following lines if it is wrapped.
///
/// A run continues on the next line if it has at least [`SHORTEST_LINE`] digits on this line and
/// ends with it, and if the next line begins with a digit, perhaps after white space. Fewer digits
/// at the end of a line are a word, and the next line is other text.
fn read_digit_run(text: &[u8], first_start: usize) -> DigitRun {
    let mut digits = Vec::new();
    let mut lines = Vec::new();
    let mut start = first_start;
    loop {
        lines.push(DigitLine {
            digits_before: digits.len(),
            start,
        });
        let width = text[start..]
            .iter()
            .take_while(|byte| is_base64_digit(byte))
            .count();
        let end = start + width;
        digits.extend(text[start..end].iter().map(to_standard_digit));

        if width < SHORTEST_LINE {
            return DigitRun { digits, lines, end };
        }
        match next_line_start(text, end) {
            Some(next_start) => start = next_start,
            None => return DigitRun { digits, lines, end },
        }
    }
}

/// Converts a digit of the URL alphabet to the standard one.
fn to_standard_digit(digit: &u8) -> u8 {
    match digit {
        b'-' => b'+',
        b'_' => b'/',
        other => *other,
    }
}

/// Returns the offset of the first digit on the next line. `None` if the line does not end at
/// `end`, or if the next line does not begin with a digit after any number of spaces and tabs.
fn next_line_start(text: &[u8], end: usize) -> Option<usize> {
    let line_start = match &text[end..] {
        [b'\r', b'\n', ..] => end + 2,
        [b'\n', ..] => end + 1,
        _ => return None,
    };
    let indent_len = text[line_start..]
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t'))
        .count();
    let start = line_start + indent_len;
    if text.get(start).is_some_and(is_base64_digit) {
        Some(start)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use base64::engine::general_purpose::STANDARD;

    #[test]
    fn wrapped_digits_are_one_text() {
        let text = b"A text of several words, which is long enough to be wrapped into three lines, as programs do with keys.";
        const PHRASE: &[u8] = b"long enough to be wrapped into three";
        let encoded = STANDARD.encode(text);
        for (width, between) in [(64, "\n"), (76, "\r\n    "), (200, "")] {
            let lines: Vec<_> = encoded
                .as_bytes()
                .chunks(width)
                .map(String::from_utf8_lossy)
                .collect();
            let wrapped = format!("data: {}", lines.join(between));
            let mut found = Vec::new();
            each_base64_run(wrapped.as_bytes(), &mut |decoded| {
                if let Some(at) = memchr::memmem::find(&decoded.bytes, PHRASE) {
                    found.push(decoded.source_range(at..at + PHRASE.len()));
                }
            });
            let [place] = &found[..] else {
                panic!("{found:?}");
            };
            let mut digits = wrapped[place.clone()].to_owned();
            digits.retain(|digit| !digit.is_whitespace());
            assert!(encoded.contains(&digits) && digits.len() >= PHRASE.len() * 4 / 3);
            assert!(digits.len() <= PHRASE.len() * 4 / 3 + 4, "{digits}");
        }
    }
}
