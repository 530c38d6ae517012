//! Blocks of code, output and diffs, in sections, so that a page need not draw all of a long one.

use super::ansi;
pub use super::highlight::Language;
use super::highlight::each_word;
use super::markup::{Markup, Tag, WordKind};
use pisess_core::format::changes::DiffSign;
use pisess_json::string::{decode, split_parts};

/// The size of a section. It ends with the line or byte that reaches either number.
#[derive(Clone, Copy)]
struct SectionSize {
    lines: usize,
    bytes: usize,
}

/// The size of the section that is shown at first.
const FIRST_SECTION: SectionSize = SectionSize {
    lines: 24,
    bytes: 4 * 1024,
};

/// The size of each section that follows.
const LATER_SECTION: SectionSize = SectionSize {
    lines: 400,
    bytes: 16 * 1024,
};

/// The most bytes that a character takes.
const LONGEST_CHAR: usize = 4;

/// The length in bytes above which code is not coloured.
const LONGEST_COLOURED: usize = 4 << 20;

/// Appends the lines of a file from line `first` on.
pub fn push_numbered_lines(
    text: &str,
    first_line: u64,
    language: Option<&'static Language>,
    markup: &mut Markup,
) {
    let name = language.map_or("", Language::name);
    push_code_block(text, &format!("{name} {first_line}"), language, markup);
}

/// Appends a block of code; `name` is the value of [`Tag::Block`].
pub fn push_code_block(
    text: &str,
    name: &str,
    language: Option<&'static Language>,
    markup: &mut Markup,
) {
    let text = text.strip_suffix('\n').unwrap_or(text);
    markup.push_element_with(Tag::Block, name, |markup| {
        let mut writer = SectionWriter::new(markup);
        match language {
            Some(language) if text.len() <= LONGEST_COLOURED => {
                each_word(text, language, &mut |word, text| writer.write(word, text));
            }
            _ => writer.write(None, text),
        }
        writer.finish();
    });
}

/// Appends terminal output, with its colours and links.
pub fn push_output(text: &str, markup: &mut Markup) {
    let text = text.strip_suffix('\n').unwrap_or(text);
    markup.push_element(Tag::Output, |markup| {
        let mut writer = SectionWriter::new(markup);
        ansi::each_styled_piece(text, &mut |style, text| writer.write_styled(style, text));
        writer.finish();
    });
}

/// The number of bytes of a long string that are decoded at a time.
const PART_LEN: usize = 1 << 20;

/// Appends a JSON string, given by the bytes between its quotes, as terminal output.
pub fn push_json_output(string: &[u8], markup: &mut Markup) {
    markup.push_element(Tag::Output, |markup| {
        let mut writer = SectionWriter::new(markup);
        let mut style = ansi::Style::default();
        let mut parts = split_parts(string, PART_LEN).peekable();
        while let Some(part) = parts.next() {
            let decoded = decode(part);
            let decoded = decoded.to_string_lossy();
            let is_last = parts.peek().is_none();
            let text = match decoded.strip_suffix('\n') {
                Some(text) if is_last => text,
                _ => &decoded,
            };
            // The style at the end of a part is that at the beginning of the next.
            ansi::each_styled_piece_after(text, &mut style, &mut |style, text| {
                writer.write_styled(style, text)
            });
        }
        writer.finish();
    });
}

/// Appends a diff: its lines, each with the side that it is on.
pub fn push_diff(lines: &[(DiffSign, &str)], markup: &mut Markup) {
    markup.push_element(Tag::Diff, |markup| {
        let mut writer = SectionWriter::new(markup);
        for run in lines.chunk_by(|(one, _), (other, _)| one == other) {
            let (sign, _) = run[0];
            match sign {
                DiffSign::Added => writer.markup.open(Tag::Added),
                DiffSign::Removed => writer.markup.open(Tag::Removed),
                DiffSign::Common => {}
            }
            for (_, text) in run {
                writer.write(None, text);
                writer.write(None, "\n");
            }
            if sign != DiffSign::Common {
                writer.markup.close();
            }
        }
        writer.finish();
    });
}

/// Writes words in sections. A new one begins when the size of the last is reached.
struct SectionWriter<'m> {
    markup: &'m mut Markup,
    /// What the section contains so far.
    written: SectionSize,
    limit: SectionSize,
}

const EMPTY_SECTION: SectionSize = SectionSize { lines: 0, bytes: 0 };

impl<'m> SectionWriter<'m> {
    fn new(markup: &'m mut Markup) -> Self {
        markup.begin_section();
        SectionWriter {
            markup,
            written: EMPTY_SECTION,
            limit: FIRST_SECTION,
        }
    }

    fn write(&mut self, word: Option<WordKind>, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            // Divided only if more follows, so that no section is empty.
            let is_full =
                self.written.lines >= self.limit.lines || self.written.bytes >= self.limit.bytes;
            if is_full {
                self.markup.divide_section();
                self.written = EMPTY_SECTION;
                self.limit = LATER_SECTION;
            }

            let (piece, more) = rest.split_at(self.piece_len(rest));
            self.markup.push_word(word, piece);
            self.written.lines += memchr::memchr_iter(b'\n', piece.as_bytes()).count();
            self.written.bytes += piece.len();
            rest = more;
        }
    }

    /// Writes a piece of terminal output.
    fn write_styled(&mut self, style: &ansi::Style, text: &str) {
        let Some(address) = &style.link else {
            return self.write(style.word_kind, text);
        };
        if text.is_empty() {
            return;
        }
        self.markup.open_with(Tag::Link, address);
        self.write(style.word_kind, text);
        self.markup.close();
    }

    /// The length of the prefix of `text` that fits in the section, which is not full: whole lines
    /// if possible; a line longer than a section is split.
    fn piece_len(&self, text: &str) -> usize {
        let bytes_left = self.limit.bytes - self.written.bytes;
        let lines_left = self.limit.lines - self.written.lines;
        let window = &text.as_bytes()[..text.len().min(bytes_left)];
        if let Some(newline) = memchr::memchr_iter(b'\n', window).nth(lines_left - 1) {
            return newline + 1;
        }
        if window.len() == text.len() {
            return text.len();
        }

        if let Some(newline) = memchr::memrchr(b'\n', window) {
            return newline + 1;
        }
        let mut cut = bytes_left.max(LONGEST_CHAR);
        while cut < text.len() && !text.is_char_boundary(cut) {
            cut += 1;
        }
        cut.min(text.len())
    }

    fn finish(self) {
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

    #[test]
    fn a_diff_is_its_lines() {
        use DiffSign::{Added, Common, Removed};
        let markup = Markup::from_fn(|m| {
            push_diff(
                &[(Common, "a"), (Removed, "b"), (Added, "c"), (Added, "d")],
                m,
            )
        });
        assert_eq!(
            markup.finish(),
            "\x01I\x05a\n\x01-b\n\x04\x01+c\nd\n\x04\x06\x04"
        );
    }
}
