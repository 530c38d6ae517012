//! Blocks of code, output and diffs, in sections, so that a page need not draw all of a long one.

use super::ansi;
pub use super::highlight::Language;
use super::highlight::words;
use super::markup::{Markup, Tag, Word};
use pisess_core::format::changes::Sign;
use pisess_json::string::{decode, parts};

/// The size of a section. It ends with the line or byte that reaches either number.
#[derive(Clone, Copy)]
struct SectionSize {
    lines: usize,
    bytes: usize,
}

/// The size of the section that is shown at first.
const FIRST: SectionSize = SectionSize {
    lines: 24,
    bytes: 4 * 1024,
};

/// The size of each section that follows.
const MORE: SectionSize = SectionSize {
    lines: 400,
    bytes: 16 * 1024,
};

/// The most bytes that a character takes.
const LONGEST_CHAR: usize = 4;

/// The length in bytes above which code is not coloured.
const LONGEST_COLOURED: usize = 4 << 20;

/// Appends the lines of a file from line `first` on.
pub fn lines(text: &str, first: u64, language: Option<&'static Language>, markup: &mut Markup) {
    let name = language.map_or("", Language::name);
    block(text, &format!("{name} {first}"), language, markup);
}

/// Appends a block of code; `name` is the value of [`Tag::Block`].
pub fn block(text: &str, name: &str, language: Option<&'static Language>, markup: &mut Markup) {
    let text = text.strip_suffix('\n').unwrap_or(text);
    markup.element_with(Tag::Block, name, |markup| {
        let mut pen = Pen::new(markup);
        match language {
            Some(language) if text.len() <= LONGEST_COLOURED => {
                words(text, language, &mut |word, text| pen.put(word, text));
            }
            _ => pen.put(None, text),
        }
        pen.finish();
    });
}

/// Appends terminal output, with its colours and links.
pub fn output(text: &str, markup: &mut Markup) {
    let text = text.strip_suffix('\n').unwrap_or(text);
    markup.element(Tag::Output, |markup| {
        let mut pen = Pen::new(markup);
        ansi::words(text, &mut |style, text| pen.put_styled(style, text));
        pen.finish();
    });
}

/// The number of bytes of a long string that are decoded at a time.
const PART_LEN: usize = 1 << 20;

/// Appends a JSON string, given by the bytes between its quotes, as terminal output.
pub fn output_of(string: &[u8], markup: &mut Markup) {
    markup.element(Tag::Output, |markup| {
        let mut pen = Pen::new(markup);
        let mut style = ansi::Style::default();
        let mut parts = parts(string, PART_LEN).peekable();
        while let Some(part) = parts.next() {
            let decoded = decode(part);
            let decoded = decoded.to_string_lossy();
            let is_last = parts.peek().is_none();
            let text = match decoded.strip_suffix('\n') {
                Some(text) if is_last => text,
                _ => &decoded,
            };
            // The style at the end of a part is that at the beginning of the next.
            ansi::words_after(text, &mut style, &mut |style, text| {
                pen.put_styled(style, text)
            });
        }
        pen.finish();
    });
}

/// Appends a diff: its lines, each with the side that it is on.
pub fn diff(lines: &[(Sign, &str)], markup: &mut Markup) {
    markup.element(Tag::Diff, |markup| {
        let mut pen = Pen::new(markup);
        for run in lines.chunk_by(|(one, _), (other, _)| one == other) {
            let (sign, _) = run[0];
            match sign {
                Sign::Added => pen.markup.open(Tag::Added),
                Sign::Removed => pen.markup.open(Tag::Removed),
                Sign::Common => {}
            }
            for (_, text) in run {
                pen.put(None, text);
                pen.put(None, "\n");
            }
            if sign != Sign::Common {
                pen.markup.close();
            }
        }
        pen.finish();
    });
}

/// Writes words in sections. A new one begins when the size of the last is reached.
struct Pen<'m> {
    markup: &'m mut Markup,
    /// What the section contains so far.
    written: SectionSize,
    size: SectionSize,
}

const EMPTY: SectionSize = SectionSize { lines: 0, bytes: 0 };

impl<'m> Pen<'m> {
    fn new(markup: &'m mut Markup) -> Self {
        markup.begin_section();
        Pen {
            markup,
            written: EMPTY,
            size: FIRST,
        }
    }

    fn put(&mut self, word: Option<Word>, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            // Divided only if more follows, so that no section is empty.
            let is_full =
                self.written.lines >= self.size.lines || self.written.bytes >= self.size.bytes;
            if is_full {
                self.markup.divide();
                self.written = EMPTY;
                self.size = MORE;
            }

            let (piece, more) = rest.split_at(self.piece_len(rest));
            self.markup.word(word, piece);
            self.written.lines += memchr::memchr_iter(b'\n', piece.as_bytes()).count();
            self.written.bytes += piece.len();
            rest = more;
        }
    }

    /// Writes a piece of terminal output.
    fn put_styled(&mut self, style: &ansi::Style, text: &str) {
        let Some(address) = &style.link else {
            return self.put(style.word, text);
        };
        if text.is_empty() {
            return;
        }
        self.markup.open_with(Tag::Link, address);
        self.put(style.word, text);
        self.markup.close();
    }

    /// The length of the prefix of `text` that fits in the section, which is not full: whole lines
    /// if possible; a line longer than a section is split.
    fn piece_len(&self, text: &str) -> usize {
        let bytes_left = self.size.bytes - self.written.bytes;
        let lines_left = self.size.lines - self.written.lines;
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
        let markup = Markup::of(|m| block(text, "", None, m)).finish();
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
        assert_eq!(found[0].lines().count(), FIRST.lines);
        assert!(
            found.len() > 2
                && found
                    .iter()
                    .all(|section| section.lines().count() <= MORE.lines)
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
                .all(|section| section.len() <= MORE.bytes + LONGEST_CHAR)
        );
        assert_eq!(sections(""), [""]);
    }

    #[test]
    fn a_link_goes_on_in_the_next_section() {
        let long = "x".repeat(FIRST.bytes + 1);
        let text = format!("\x1b]8;;https://h\x07{long}\x1b]8;;\x07end");
        let markup = Markup::of(|m| output(&text, m)).finish();
        let (first, second) = (&long[1..], "x");
        let link = "\x02ahttps://h\x03";
        assert_eq!(
            markup,
            format!("\x01O\x05{link}{first}\x04\x06\x05{link}{second}\x04end\x06\x04")
        );
    }

    #[test]
    fn a_diff_is_its_lines() {
        use Sign::{Added, Common, Removed};
        let markup = Markup::of(|m| {
            diff(
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
