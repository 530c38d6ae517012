//! Decodes what is encoded in base64 within a text, on one line or wrapped.

use super::prefilter::{SHORTEST_ENCODED, is_base64_digit};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use std::ops::Range;

/// The minimum number of digits on a line that continues on the next one. Programs wrap after 60
/// to 76.
const SHORTEST_LINE: usize = 40;

/// What some digits of base64 encode.
pub struct DecodedBase64<'a> {
    /// What the digits encode.
    pub bytes: Vec<u8>,
    /// The number of digits that were skipped before the first byte.
    skipped_digits: usize,
    /// The lines of the digits, in the order of the text.
    lines: &'a [DigitLine],
}

/// The digits of one line.
struct DigitLine {
    /// The number of digits on the lines before it.
    digits_before: usize,
    /// The offset of its first digit in the text.
    start: usize,
}

impl DecodedBase64<'_> {
    /// Returns the digits that encode a range of bytes, as a range of the text.
    pub fn source_range(&self, range: Range<usize>) -> Range<usize> {
        // Four digits encode three bytes. A digit that encodes bits of two bytes belongs to both.
        let first = self.skipped_digits + range.start * 4 / 3;
        let end = self.skipped_digits + (range.end * 4).div_ceil(3);
        self.digit_offset(first)..self.digit_offset(end - 1) + 1
    }

    /// Returns the offset of a digit in the text.
    fn digit_offset(&self, digit: usize) -> usize {
        let next = self
            .lines
            .partition_point(|line| line.digits_before <= digit);
        let line = &self.lines[next - 1];
        line.start + digit - line.digits_before
    }
}

/// Decodes digits of the standard alphabet that may be cut out of a longer text: without padding,
/// and with bits at their end that encode no whole byte.
const BASE64: GeneralPurpose = GeneralPurpose::new(
    &STANDARD,
    GeneralPurposeConfig::new()
        .with_decode_allow_trailing_bits(true)
        .with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// The number of digits that encode three bytes.
const GROUP: usize = 4;

/// Calls `visit` with what each run of base64 in the text encodes; runs of fewer than
/// [`SHORTEST_ENCODED`] digits are skipped. The text before what is encoded may consist of digits
/// as well, so each of the four alignments is tried.
pub fn each_base64_run(text: &[u8], visit: &mut dyn FnMut(&DecodedBase64)) {
    let mut searched_end = 0;
    while let Some(distance) = text[searched_end..].iter().position(is_base64_digit) {
        let run = read_digit_run(text, searched_end + distance);
        searched_end = run.end;
        if run.digits.len() < SHORTEST_ENCODED {
            continue;
        }
        // What is encoded may begin at any of the first four digits.
        for skipped_digits in 0..GROUP {
            let mut aligned = &run.digits[skipped_digits..];
            // One digit after the last group of four encodes nothing.
            if aligned.len() % GROUP == 1 {
                aligned = &aligned[..aligned.len() - 1];
            }
            if let Ok(bytes) = BASE64.decode(aligned) {
                visit(&DecodedBase64 {
                    bytes,
                    skipped_digits,
                    lines: &run.lines,
                });
            }
        }
    }
}

/// Digits of base64 that belong together, on one line or wrapped.
struct DigitRun {
    /// The digits, in the standard alphabet.
    digits: Vec<u8>,
    /// The lines of the digits, in the order of the text.
    lines: Vec<DigitLine>,
    /// The offset in the text after the last digit.
    end: usize,
}

/// Reads the digits at an offset, and those of the lines on which they continue.
///
/// Digits continue on the next line if there are at least [`SHORTEST_LINE`] up to the end of their
/// own, and only white space is before those of the next.
fn read_digit_run(text: &[u8], first_start: usize) -> DigitRun {
    let mut digits = Vec::new();
    let mut lines = Vec::new();
    let mut start = first_start;
    loop {
        lines.push(DigitLine {
            digits_before: digits.len(),
            start,
        });
        let mut end = start;
        while let Some(byte) = text.get(end).filter(|byte| is_base64_digit(byte)) {
            // The digits of the alphabet for URLs are decoded as those of the other.
            digits.push(match byte {
                b'-' => b'+',
                b'_' => b'/',
                other => *other,
            });
            end += 1;
        }

        if end - start < SHORTEST_LINE {
            return DigitRun { digits, lines, end };
        }
        match next_line_start(text, end) {
            Some(next_start) => start = next_start,
            None => return DigitRun { digits, lines, end },
        }
    }
}

/// Returns the offset of the first digit of the next line; `None` if the line does not end at
/// `end`, or if anything else than spaces and tabs is before the digit.
fn next_line_start(text: &[u8], end: usize) -> Option<usize> {
    let mut from_newline = &text[end..];
    if let Some(after_return) = from_newline.strip_prefix(b"\r") {
        from_newline = after_return;
    }
    let line = from_newline.strip_prefix(b"\n")?;
    let indent = line.iter().take_while(|byte| matches!(byte, b' ' | b'\t'));
    let start = text.len() - line.len() + indent.count();
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
