//! Finds all lines of a private key, given the first or the last, which a rule recognizes.
//!
//! The length of a key is not limited. In a diff, or in the output of `grep -C` or a viewer, each
//! line of a key has a prefix, and its first or last lines may be missing.

use super::base64_digits::is_padded_base64_digit;
use super::resemblance::is_mixed;
use regex::bytes::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// The minimum number of base64 digits at the end of a full line of a key. Programs write 64 to 76.
const SHORTEST_LINE: usize = 24;

/// The maximum number of header lines of a key, such as `Proc-Type: 4,ENCRYPTED`.
const MOST_HEADERS: usize = 8;

/// The maximum number of shorter lines at the end of a key: the last digits and, in a PGP key, a
/// checksum.
const MOST_SHORT_LINES: usize = 2;

/// A line that begins or ends a key.
struct Delimiter {
    /// The range of the delimiter in the text.
    range: Range<usize>,
    /// Whether the delimiter ends a key.
    is_end: bool,
}

/// Returns the range of the PEM key that the delimiter at `line` begins or ends. If the other
/// delimiter is missing, the range has only the lines that are certainly part of the key.
pub fn pem_key_range(text: &[u8], line: Range<usize>) -> Range<usize> {
    static LINES: LazyLock<Regex> = LazyLock::new(|| Regex::new(PEM_LINE).expect("a constant"));
    if is_end_of_pem(&text[line.clone()]) {
        return find_key_start(text, line.start)..line.end;
    }
    let next = LINES.find_at(text, line.end).map(|next| Delimiter {
        range: next.range(),
        is_end: is_end_of_pem(next.as_bytes()),
    });
    line.start..find_key_end(text, line.end, next)
}

fn is_end_of_pem(delimiter: &[u8]) -> bool {
    memchr::memmem::find(delimiter, b"END").is_some()
}

/// Matches the delimiters of a private key in PEM.
pub const PEM_LINE: &str =
    r"(?-u)-{4,5} ?(?:BEGIN|END) (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)? ?-{4,5}";

/// Returns the range of the PuTTY key whose first line begins at `line`. The last line of such a
/// key has a checksum, `Private-MAC`.
pub fn putty_key_range(text: &[u8], line: Range<usize>) -> Range<usize> {
    static LINES: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?-u)PuTTY-User-Key-File-[23]:|Private-MAC: *[0-9a-f]{40,64}")
            .expect("a constant")
    });
    let next = LINES.find_at(text, line.end).map(|next| Delimiter {
        range: next.range(),
        is_end: next.as_bytes().starts_with(b"Private"),
    });
    line.start..find_key_end(text, line.end, next)
}

/// Returns the end of the key whose first delimiter ends at `first_line_end`. `next` is the next
/// delimiter in the text, of this or another key.
///
/// If `next` ends this key, the key ends with `next`. Otherwise, its last lines are missing: it
/// ends with the last line before `next` that is certainly part of the key.
fn find_key_end(text: &[u8], first_line_end: usize, next: Option<Delimiter>) -> usize {
    // The text after the next delimiter is not part of this key.
    let limit = match next {
        Some(next) => {
            // A document that only mentions both delimiters has words between them.
            let between = &text[first_line_end..next.range.start];
            if next.is_end && is_mostly_base64(between) {
                return next.range.end;
            }
            next.range.start
        }
        None => text.len(),
    };
    let before_next = &text[..limit];
    let digits_end = skip_digits_on_line(before_next, first_line_end);
    find_digit_lines_end(before_next, digits_end)
}

/// Returns the offset after the digits that follow a delimiter on the same line, as in a key whose
/// line breaks were replaced by spaces: `-----BEGIN PRIVATE KEY----- MIIEow… k9wRzM…`. If there are
/// none, returns `delimiter_end`.
fn skip_digits_on_line(text: &[u8], delimiter_end: usize) -> usize {
    let mut digits_end = delimiter_end;
    loop {
        let space_count = text[digits_end..]
            .iter()
            .take_while(|byte| **byte == b' ')
            .count();
        let digit_count = text[digits_end + space_count..]
            .iter()
            .take_while(|byte| is_padded_base64_digit(byte))
            .count();
        if digit_count < SHORTEST_LINE {
            return digits_end;
        }
        digits_end += space_count + digit_count;
    }
}

/// Returns the end of the last digits of a key, following its lines as long as they are certainly
/// part of the key. If there are no digits, returns `first_line_end`.
///
/// A key has some headers, then full lines of digits, then perhaps a shorter last line that ends
/// with `=`.
fn find_digit_lines_end(text: &[u8], first_line_end: usize) -> usize {
    let Some(first_digits_end) = find_first_digits_end(text, first_line_end) else {
        return first_line_end;
    };

    let mut key_end = first_digits_end;
    for line in LinesBelow::new(text, first_digits_end) {
        let content = line.trimmed();
        let is_full = count_trailing_digits(content) >= SHORTEST_LINE;
        if !is_full {
            // The last line of the key, or other text after the key.
            if let Some(digits_end) = last_digits_end(content) {
                key_end = line.start + digits_end;
            }
            break;
        }
        key_end = line.start + content.len();
    }
    key_end
}

/// Returns the end of the first full line of digits below an offset; `None` if a line that is
/// neither a header nor blank comes first, or more than [`MOST_HEADERS`] of these.
fn find_first_digits_end(text: &[u8], first_line_end: usize) -> Option<usize> {
    let headers_and_digits = MOST_HEADERS + 1;
    for line in LinesBelow::new(text, first_line_end).take(headers_and_digits) {
        let content = line.trimmed();
        if count_trailing_digits(content) >= SHORTEST_LINE {
            return Some(line.start + content.len());
        }
        // A blank line may consist of the short prefix that each line of a diff has.
        let is_header_or_blank = content.contains(&b':') || content.len() < SHORTEST_LINE;
        if !is_header_or_blank {
            return None;
        }
    }
    None
}

/// Returns the offset in a line after the last digits of a key, if the key ends in this line: after
/// the `==` of `QbVnZs0hKxDf2Q==</pre>`. The line follows a full one. `None` if the line is not
/// part of the key.
///
/// A short line is the last of a key if its digits end with padding. Other text, such as the
/// closing tag, may follow the padding, or a full line of digits.
fn last_digits_end(line: &[u8]) -> Option<usize> {
    if line.ends_with(b"=") {
        return Some(line.len());
    }
    let mut run_start = 0;
    for run in digit_runs(line) {
        let run_end = run_start + run.len();
        // Padding completes a group of four digits. The `=` of a setting rarely does.
        let is_padded = run.ends_with(b"=") && run.len() % 4 == 0;
        if run.len() >= SHORTEST_LINE || is_padded {
            return Some(run_end);
        }
        run_start = run_end;
    }
    None
}

/// Returns the start of the digits of a key whose last delimiter begins at `last_line`, following
/// its lines upwards. If there are no digits, returns `last_line`.
///
/// From the end, a key has at most [`MOST_SHORT_LINES`] short lines, then only full lines of at
/// least [`SHORTEST_LINE`] digits. A line may have a prefix before its digits, as in a diff.
fn find_key_start(text: &[u8], last_line: usize) -> usize {
    let mut lines = LinesAbove::new(text, last_line);
    let Some(last_full_line) = find_last_full_line(&mut lines) else {
        return last_line;
    };

    // Only the last lines of a key are short, so a short line above a full one is other text.
    let mut key_start = last_full_line.start;
    for line in lines.filter(|line| !line.bytes.is_empty()) {
        let digits = line.trailing_digits();
        if digits.len() < SHORTEST_LINE {
            break;
        }
        key_start = digits.start;
    }
    key_start
}

/// Returns the range of the digits in the last full line of a key. Takes this line, and the short
/// lines below it, from the lines above the last delimiter of the key. `None` if the key has no
/// full line.
fn find_last_full_line(lines: &mut LinesAbove) -> Option<Range<usize>> {
    // On the line of the delimiter, the text before it is a prefix, or the digits of a key without
    // line breaks.
    let before_delimiter = lines.next()?.trailing_digits();
    if before_delimiter.len() >= SHORTEST_LINE {
        return Some(before_delimiter);
    }

    let filled_lines = lines.filter(|line| !line.bytes.is_empty());
    for line in filled_lines.take(MOST_SHORT_LINES + 1) {
        let digits = line.trailing_digits();
        if digits.len() >= SHORTEST_LINE {
            return Some(digits);
        }
        // A line without digits is other text, so the lines above it are not of this key.
        if digits.is_empty() {
            return None;
        }
    }
    None
}

/// A line of a text.
struct TextLine<'t> {
    /// The offset of the line in the text.
    start: usize,
    /// The line without its line break.
    bytes: &'t [u8],
}

impl<'t> TextLine<'t> {
    /// Returns the line without the white space, and the quotes and punctuation of source code, at
    /// its end.
    fn trimmed(&self) -> &'t [u8] {
        let is_punctuation = |byte: &u8| {
            byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'`' | b',' | b';' | b'\\')
        };
        let end = self.bytes.iter().rposition(|byte| !is_punctuation(byte));
        &self.bytes[..end.map_or(0, |last| last + 1)]
    }

    /// Returns the range, in the text, of the base64 digits at the end of the trimmed line. It is
    /// empty if there are none.
    fn trailing_digits(&self) -> Range<usize> {
        let content = self.trimmed();
        let end = self.start + content.len();
        end - count_trailing_digits(content)..end
    }
}

/// Returns the number of base64 digits at the end of a trimmed line.
fn count_trailing_digits(content: &[u8]) -> usize {
    content
        .iter()
        .rev()
        .take_while(|byte| is_padded_base64_digit(byte))
        .count()
}

/// Iterates over the lines below an offset, from top to bottom. Empty lines are left out, because
/// there is nothing between `\r` and `\n`, the escapes of one line break.
struct LinesBelow<'t> {
    text: &'t [u8],
    /// The line break before the next line; `None` at the end of the text.
    line_break: Option<Range<usize>>,
}

impl<'t> LinesBelow<'t> {
    /// The first line is the one after the next line break.
    fn new(text: &'t [u8], offset: usize) -> LinesBelow<'t> {
        LinesBelow {
            text,
            line_break: line_break_after(text, offset),
        }
    }

    /// Returns the line after `self.line_break`, and moves this to the break after the line. `None`
    /// after the last line of the text, which no break follows.
    fn read_line(&mut self) -> Option<TextLine<'t>> {
        let start = self.line_break.take()?.end;
        self.line_break = line_break_after(self.text, start);
        let end = match &self.line_break {
            Some(next_break) => next_break.start,
            None => self.text.len(),
        };
        Some(TextLine {
            start,
            bytes: &self.text[start..end],
        })
    }
}

impl<'t> Iterator for LinesBelow<'t> {
    type Item = TextLine<'t>;

    /// Returns the next line that is not empty; `None` after the last one.
    fn next(&mut self) -> Option<TextLine<'t>> {
        loop {
            let line = self.read_line()?;
            if !line.bytes.is_empty() {
                return Some(line);
            }
        }
    }
}

/// Iterates over the lines above an offset, from bottom to top. The first is the part before the
/// offset of its own line. Empty lines are included.
struct LinesAbove<'t> {
    text: &'t [u8],
    /// The end of the next line; `None` at the start of the text.
    line_end: Option<usize>,
}

impl<'t> LinesAbove<'t> {
    fn new(text: &'t [u8], offset: usize) -> LinesAbove<'t> {
        LinesAbove {
            text,
            line_end: Some(offset),
        }
    }
}

impl<'t> Iterator for LinesAbove<'t> {
    type Item = TextLine<'t>;

    /// Returns the line that ends at `self.line_end`, and moves this to the end of the line above.
    /// `None` above the first line of the text, which no break precedes.
    fn next(&mut self) -> Option<TextLine<'t>> {
        let end = self.line_end.take()?;
        let mut start = 0;
        if let Some(line_break) = line_break_before(self.text, end) {
            start = line_break.end;
            self.line_end = Some(line_break.start);
        }
        Some(TextLine {
            start,
            bytes: &self.text[start..end],
        })
    }
}

/// Returns the range of the next line break at or after an offset: a newline, or the escape `\n` or
/// `\r` with all its backslashes, such as the `\\n` of JSON in a JSON string.
fn line_break_after(text: &[u8], offset: usize) -> Option<Range<usize>> {
    let mut searched_end = offset;
    while let Some(distance) = memchr::memchr2(b'\n', b'\\', &text[searched_end..]) {
        let start = searched_end + distance;
        if text[start] == b'\n' {
            return Some(start..start + 1);
        }
        // Each level of escaping doubles the backslashes before the letter.
        let backslashes = text[start..]
            .iter()
            .take_while(|byte| **byte == b'\\')
            .count();
        let letter = start + backslashes;
        if matches!(text.get(letter), Some(b'n' | b'r')) {
            return Some(start..letter + 1);
        }
        searched_end = letter;
    }
    None
}

/// Returns the range of the last line break that ends at or before an offset: a newline, or the
/// escape `\n` or `\r` with all its backslashes, such as the `\\n` of JSON in a JSON string.
fn line_break_before(text: &[u8], offset: usize) -> Option<Range<usize>> {
    let mut searched_start = offset;
    while let Some(last) = memchr::memrchr2(b'\n', b'\\', &text[..searched_start]) {
        if text[last] == b'\n' {
            return Some(last..last + 1);
        }
        // Each level of escaping doubles the backslashes before the letter.
        let backslashes_before = text[..last]
            .iter()
            .rev()
            .take_while(|byte| **byte == b'\\')
            .count();
        let start = last - backslashes_before;
        let letter = last + 1;
        // An escape whose letter is at the offset ends after it.
        if letter < offset && matches!(text[letter], b'n' | b'r') {
            return Some(start..letter + 1);
        }
        searched_start = start;
    }
    None
}

/// Whether the text between two delimiters contains a key: a random run of at least
/// [`SHORTEST_LINE`] base64 digits. Examples in documents have only dots there.
pub fn contains_key(text: &[u8]) -> bool {
    digit_runs(text).any(|run| run.len() >= SHORTEST_LINE && is_mixed(run))
}

/// Whether a text is probably the inside of a key: at least two fifths of it are runs of at least
/// [`SHORTEST_LINE`] base64 digits. The rest may be prefixes of the lines.
fn is_mostly_base64(text: &[u8]) -> bool {
    let mut digits = 0;
    for run in digit_runs(text) {
        if run.len() >= SHORTEST_LINE {
            digits += run.len();
        }
    }
    digits * 5 >= text.len() * 2
}

/// Splits a text into runs of base64 digits. Each other byte is a run of its own.
fn digit_runs(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    text.chunk_by(|a, b| is_padded_base64_digit(a) && is_padded_base64_digit(b))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BODY: [&str; 4] = [
        "MIIEowIBAAKCAQEAx1qkZ0T9bYf8Q2nWmVhKc5LrDJd3uEoGiXsPtNvHyB7A4gFU",
        "k9wRzMj6aCeT1lYpQbVnZs0hKxDf2JuLrGo5iEtXqBmWvAySg8NcP3dHIU7FkO4z",
        "T9bYf8Q2nWmVhKc5LrDJd3uEoGiXsPtNvHyB7A4gFUx1qkZ0MIIEowIBAAKCAQEA",
        "QbVnZs0hKxDf2Q==",
    ];

    fn delimiter(word: &str) -> String {
        format!("-----{word} RSA PRIVATE {}-----", "KEY")
    }

    /// Returns what a rule replaces in a text.
    fn replaced(text: &str) -> Vec<&str> {
        let lines = Regex::new(PEM_LINE).unwrap();
        let found = lines.find_iter(text.as_bytes());
        found
            .map(|line| &text[pem_key_range(text.as_bytes(), line.range())])
            .collect()
    }

    #[test]
    fn a_key_is_found_whole_behind_any_prefix() {
        let mut lines = BODY.map(str::to_owned).to_vec();
        lines.insert(0, delimiter("BEGIN"));
        lines.push(delimiter("END"));
        for prefix in [
            "",
            "+",
            "-",
            " ",
            "key.pem-12-",
            "  12: ",
            "\t",
            "   7   │ ",
            "\"",
            "> ",
        ] {
            for line_break in ["\n", "\r\n", "\\n", "\\\\r\\\\n", "\",\n"] {
                let whole = lines.join(&format!("{line_break}{prefix}"));
                let text = format!("a\n{prefix}{whole}{line_break}{prefix}after");
                assert_eq!(replaced(&text)[0], whole);

                // Without the last lines, and without the first ones.
                let begun = lines[..3].join(&format!("{line_break}{prefix}"));
                for after in ["", "and so on", "--"] {
                    let text = format!("{prefix}{begun}{line_break}{prefix}{after}");
                    assert_eq!(replaced(&text), [begun.as_str()], "{text}");
                }
                let ended = lines[2..].join(&format!("{line_break}{prefix}"));
                for before in ["", "and so on"] {
                    let text = format!("{before}{line_break}{prefix}{ended}{line_break}");
                    let found = replaced(&text)[0];
                    assert!(ended.ends_with(found) || found.ends_with(&ended), "{found}");
                    assert!(found.contains(BODY[1]), "{found}");
                }
            }
        }
    }

    #[test]
    fn a_key_may_be_on_one_line_and_of_any_length() {
        for between in ["", " "] {
            let lines = format!("{}{between}{}", delimiter("BEGIN"), BODY.join(between));
            assert_eq!(
                replaced(&lines)[0].len(),
                lines.len() - if between.is_empty() { 0 } else { 17 }
            );
        }
        let long = format!(
            "{}\n{}\n{}",
            delimiter("BEGIN"),
            [BODY[0]; 2000].join("\n"),
            delimiter("END")
        );
        assert_eq!(replaced(&long)[0], long);
    }

    #[test]
    fn the_last_line_of_a_key_is_followed_by_other_text() {
        let begun = format!("{}\n{}", delimiter("BEGIN"), BODY.join("\n"));
        for after in ["</pre>", "&x=1", "'), port", " # end"] {
            let text = format!("<pre>{begun}{after}\nand so on");
            assert_eq!(replaced(&text), [begun.as_str()], "{text}");
        }
        // A full line may be the last.
        let (full, _) = begun.rsplit_once('\n').unwrap();
        let text = format!("<pre>{full}</pre>");
        assert_eq!(replaced(&text), [full]);
        // A setting below a key is no part of it.
        let text = format!("{full}\nNAME=value\n");
        assert_eq!(replaced(&text), [full]);
    }

    #[test]
    fn redact_keys_ignores_text_that_only_mentions_a_key() {
        for text in [
            format!("{}\n...\n{}", delimiter("BEGIN"), delimiter("END")),
            format!(
                "if (text.startsWith('{}')) {{\n  return parsed(text);\n}}",
                delimiter("BEGIN")
            ),
            format!("writes {} at its end", delimiter("END")),
        ] {
            for found in replaced(&text) {
                assert!(found.len() <= delimiter("BEGIN").len(), "{found}");
            }
        }
    }
}
