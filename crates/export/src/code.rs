//! Blocks of code and output, in sections, so that a page need not draw all of a long one.

use super::ansi;
pub use super::highlight::Language;
use super::highlight::each_word;
use super::markup::{Markup, Tag, WordKind};
use pisess_json::string::{decode, split_parts};

/// The size of a section of code. A section is full as soon as it has reached either limit; its
/// last character may exceed the bytes.
#[derive(Clone, Copy)]
struct CodeSectionLimits {
    lines: usize,
    bytes: usize,
}

/// The limits of the section that is shown at first.
const FIRST_SECTION: CodeSectionLimits = CodeSectionLimits {
    lines: 24,
    bytes: 4 * 1024,
};

/// The limits of each section that follows.
const LATER_SECTION: CodeSectionLimits = CodeSectionLimits {
    lines: 400,
    bytes: 16 * 1024,
};

/// The most bytes that a character takes.
const LONGEST_CHAR: usize = 4;

/// The length in bytes above which code is not coloured.
const LONGEST_COLOURED: usize = 4 << 20;

/// Appends lines of a file as a block of code. The page numbers them from `first_line` on.
pub fn push_numbered_lines(
    text: &str,
    first_line: u64,
    language: Option<&'static Language>,
    markup: &mut Markup,
) {
    let name = numbered_block_name(first_line, language);
    push_code_block(text, &name, language, markup);
}

/// Returns the value of [`Tag::Block`] for lines of a file: its language and the number of the
/// first line.
fn numbered_block_name(first_line: u64, language: Option<&'static Language>) -> String {
    let language_name = language.map_or("", Language::name);
    format!("{language_name} {first_line}")
}

/// Appends a block of code in sections. `name` is the value of [`Tag::Block`]. The code is coloured
/// if it is in a known language, and no longer than [`LONGEST_COLOURED`].
pub fn push_code_block(
    text: &str,
    name: &str,
    language: Option<&'static Language>,
    markup: &mut Markup,
) {
    markup.push_element_with(Tag::Block, name, |markup| {
        SectionWriter::new(markup).write_code(text, language);
    });
}

/// Appends a block of code, of which the page shows more at first than with [`push_code_block`]:
/// the first section has the size of a later one. The caller limits the text.
pub fn push_short_block(
    text: &str,
    name: &str,
    language: Option<&'static Language>,
    markup: &mut Markup,
) {
    markup.push_element_with(Tag::Block, name, |markup| {
        SectionWriter::with_first_section(markup, LATER_SECTION).write_code(text, language);
    });
}

/// Appends terminal output, with its colours and links.
pub fn push_output(text: &str, markup: &mut Markup) {
    let text = text.strip_suffix('\n').unwrap_or(text);
    markup.push_element(Tag::Output, |markup| {
        let mut writer = SectionWriter::new(markup);
        ansi::TerminalReader::default().each_piece(text, &mut |style, piece| {
            writer.write_styled(style, piece);
        });
        writer.finish();
    });
}

/// The number of bytes of a long string that are decoded at a time.
const PART_LEN: usize = 1 << 20;

/// Divides a JSON string, given by the bytes between its quotes, into parts of about [`PART_LEN`]
/// bytes. Only a line that is longer than that is divided.
pub fn string_parts(string: &[u8]) -> impl Iterator<Item = &[u8]> {
    split_parts(string, PART_LEN)
}

/// Iterates over the decoded [`string_parts`], so that a long string is not in memory twice.
pub fn decoded_parts(string: &[u8]) -> impl Iterator<Item = String> {
    string_parts(string).map(|part| decode(part).into_string_lossy())
}

/// Appends a JSON string, given by the bytes between its quotes, as terminal output. It is decoded
/// in parts, so that a long one is not in memory twice.
pub fn push_json_output(string: &[u8], markup: &mut Markup) {
    markup.push_element(Tag::Output, |markup| {
        let mut writer = SectionWriter::new(markup);
        // One reader for all parts, so that a colour continues in the next part.
        let mut reader = ansi::TerminalReader::default();
        each_shown_part(string, |part| {
            reader.each_piece(part, &mut |style, piece| writer.write_styled(style, piece));
        });
        writer.finish();
    });
}

/// Appends a JSON string, given by the bytes between its quotes, as lines of a file, like
/// [`push_numbered_lines`]. It is decoded in parts, and not coloured.
pub fn push_json_numbered_lines(
    string: &[u8],
    first_line: u64,
    language: Option<&'static Language>,
    markup: &mut Markup,
) {
    let name = numbered_block_name(first_line, language);
    markup.push_element_with(Tag::Block, &name, |markup| {
        let mut writer = SectionWriter::new(markup);
        each_shown_part(string, |text| writer.write(None, text));
        writer.finish();
    });
}

/// Calls `write` with each decoded part of a JSON string. If the string ends with a line break, the
/// last part is without it: a block would show it as an empty last line.
fn each_shown_part(string: &[u8], mut write: impl FnMut(&str)) {
    let mut parts = decoded_parts(string).peekable();
    while let Some(part) = parts.next() {
        let is_last = parts.peek().is_none();
        if is_last {
            write(part.strip_suffix('\n').unwrap_or(&part));
        } else {
            write(&part);
        }
    }
}

/// Writes the text of an element in sections. A full section ends only when more text follows, so
/// that no section is empty.
pub(super) struct SectionWriter<'m> {
    pub(super) markup: &'m mut Markup,
    /// The line breaks in the section so far.
    written_lines: usize,
    /// The bytes of text in the section so far.
    written_bytes: usize,
    limits: CodeSectionLimits,
}

impl<'m> SectionWriter<'m> {
    /// Begins the first section, of which a page shows everything at first.
    pub(super) fn new(markup: &'m mut Markup) -> Self {
        SectionWriter::with_first_section(markup, FIRST_SECTION)
    }

    /// Begins the first section, with limits of its own. All later sections have those of
    /// [`LATER_SECTION`].
    fn with_first_section(markup: &'m mut Markup, first_section: CodeSectionLimits) -> Self {
        markup.begin_section();
        SectionWriter {
            markup,
            written_lines: 0,
            written_bytes: 0,
            limits: first_section,
        }
    }

    /// Writes a whole block of code and ends the last section. The words are coloured if the
    /// language is known and the text is not too long. A newline at the end of the text is left
    /// out: a block would show it as an empty last line.
    fn write_code(mut self, text: &str, language: Option<&'static Language>) {
        let text = text.strip_suffix('\n').unwrap_or(text);
        let may_colour = self.markup.has_colours() && text.len() <= LONGEST_COLOURED;
        if may_colour && let Some(language) = language {
            each_word(text, language, &mut |word_kind, word| {
                self.write(word_kind, word);
            });
        } else {
            self.write(None, text);
        }
        self.finish();
    }

    /// Writes text of one kind. Text that does not fit in the section continues in the next.
    pub(super) fn write(&mut self, word_kind: Option<WordKind>, text: &str) {
        let mut unwritten = text;
        while !unwritten.is_empty() {
            // A section is divided only when more text follows, so that none is empty. Afterwards,
            // the section is not full, so at least one byte fits, and the loop advances.
            self.divide_if_full();

            let (piece, remainder) = unwritten.split_at(self.fitting_len(unwritten));
            self.markup.push_word(word_kind, piece);
            self.written_lines += memchr::memchr_iter(b'\n', piece.as_bytes()).count();
            self.written_bytes += piece.len();
            unwritten = remainder;
        }
    }

    /// Begins another section if the current one is full. Text must follow.
    pub(super) fn divide_if_full(&mut self) {
        if !self.section_is_full() {
            return;
        }
        self.markup.divide_section();
        self.written_lines = 0;
        self.written_bytes = 0;
        self.limits = LATER_SECTION;
    }

    fn section_is_full(&self) -> bool {
        self.written_lines >= self.limits.lines || self.written_bytes >= self.limits.bytes
    }

    /// Writes a piece of terminal output with its colour, and as a link if its style has an
    /// address.
    fn write_styled(&mut self, style: &ansi::Style, text: &str) {
        let Some(address) = &style.link else {
            return self.write(style.word_kind, text);
        };
        // No link without a text.
        if text.is_empty() {
            return;
        }
        self.markup.open_with(Tag::Link, address);
        self.write(style.word_kind, text);
        self.markup.close();
    }

    /// Returns how many bytes of the text go into the section: the whole text, or as many whole
    /// lines as fit. If not even the first line fits, it is split between two characters, and may
    /// exceed the limit of the section by less than [`LONGEST_CHAR`] bytes. The result is not 0
    /// unless the text is empty.
    ///
    /// The section must not be full.
    fn fitting_len(&self, text: &str) -> usize {
        let bytes_left = self.limits.bytes - self.written_bytes;
        let lines_left = self.limits.lines - self.written_lines;
        debug_assert!(bytes_left > 0 && lines_left > 0);
        let fitting_bytes = &text.as_bytes()[..text.len().min(bytes_left)];

        // The limit of lines is reached: the section ends after the last line that it has room for.
        let mut newlines = memchr::memchr_iter(b'\n', fitting_bytes);
        let last_line = lines_left - 1;
        if let Some(newline) = newlines.nth(last_line) {
            return newline + 1;
        }

        // Neither limit is reached.
        let fits_whole = fitting_bytes.len() == text.len();
        if fits_whole {
            return text.len();
        }

        // The limit of bytes is reached: the section ends after the last line that fits.
        if let Some(last_newline) = memchr::memrchr(b'\n', fitting_bytes) {
            return last_newline + 1;
        }

        // Not even one line fits. At least one character is taken, so that the caller advances.
        let mut split_offset = bytes_left.max(LONGEST_CHAR);
        while split_offset < text.len() && !text.is_char_boundary(split_offset) {
            split_offset += 1;
        }
        split_offset.min(text.len())
    }

    /// Ends the last section.
    pub(super) fn finish(self) {
        self.markup.end_section();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sections(text: &str) -> Vec<String> {
        let markup = Markup::from_fn(|m| push_code_block(text, "", None, m)).finish();
        markup
            .split('\x05')
            .skip(1)
            .map(|part| part.split('\x06').next().unwrap().to_owned())
            .collect()
    }

    #[test]
    fn long_blocks_come_in_sections() {
        assert_eq!(sections("one\ntwo\n"), ["one\ntwo"]);
        let text: String = (0..1000).map(|at| format!("line {at}\n")).collect();
        let found = sections(&text);
        assert_eq!(found.concat() + "\n", text);
        assert_eq!(found[0].lines().count(), FIRST_SECTION.lines);
        assert!(
            found.len() > 2
                && found
                    .iter()
                    .all(|section| section.lines().count() <= LATER_SECTION.lines)
        );
    }

    #[test]
    fn a_line_without_an_end_is_cut_between_characters() {
        let text = "é".repeat(50_000);
        let found = sections(&text);
        assert_eq!(found.concat(), text);
        assert!(
            found
                .iter()
                .all(|section| section.len() <= LATER_SECTION.bytes + LONGEST_CHAR)
        );
        assert_eq!(sections(""), [""]);
    }

    #[test]
    fn a_string_in_parts_is_written_like_its_text() {
        let line = r"a line \u00e9 of a long output\n";
        let string = line.repeat(2 * PART_LEN / line.len() + 1);
        let text = decode(string.as_bytes()).into_string_lossy();
        let rust = Language::from_path("a.rs");

        let in_parts =
            Markup::from_fn(|m| push_json_numbered_lines(string.as_bytes(), 7, rust, m)).finish();
        let name = numbered_block_name(7, rust);
        let whole = Markup::from_fn(|m| push_code_block(&text, &name, None, m)).finish();
        assert!(in_parts == whole, "numbered lines");

        let in_parts = Markup::from_fn(|m| push_json_output(string.as_bytes(), m)).finish();
        let whole = Markup::from_fn(|m| push_output(&text, m)).finish();
        assert!(in_parts == whole, "terminal output");
    }

    #[test]
    fn a_link_goes_on_in_the_next_section() {
        let long = "x".repeat(FIRST_SECTION.bytes + 1);
        let text = format!("\x1b]8;;https://h\x07{long}\x1b]8;;\x07end");
        let markup = Markup::from_fn(|m| push_output(&text, m)).finish();
        let (first, second) = (&long[1..], "x");
        let link = "\x02ahttps://h\x03";
        assert_eq!(
            markup,
            format!("\x01O\x05{link}{first}\x04\x06\x05{link}{second}\x04end\x06\x04")
        );
    }
}
