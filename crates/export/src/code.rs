//! Blocks of code, output and diffs, in sections, so that a page need not draw all of a long one.

use super::ansi;
pub use super::highlight::Language;
use super::highlight::words;
use super::markup::{Markup, Tag, Word};
use pisess_core::format::changes::Sign;
use pisess_json::string::{decode, parts};

/// The lines and bytes of the section that is shown at first.
const FIRST: (usize, usize) = (24, 4 * 1024);

/// The lines and bytes of each section that follows.
const MORE: (usize, usize) = (400, 16 * 1024);

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
        match language.filter(|_| text.len() <= LONGEST_COLOURED) {
            Some(language) => words(text, language, &mut |word, text| pen.put(word, text)),
            None => pen.put(None, text),
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
const PART: usize = 1 << 20;

/// Appends a JSON string, given by the bytes between its quotes, as terminal output.
pub fn output_of(string: &[u8], markup: &mut Markup) {
    markup.element(Tag::Output, |markup| {
        let mut pen = Pen::new(markup);
        let mut style = ansi::Style::default();
        let mut parts = parts(string, PART).peekable();
        while let Some(part) = parts.next() {
            let text = decode(part);
            let text = text.to_string_lossy();
            let is_last = parts.peek().is_none();
            let text = match text.strip_suffix('\n') {
                Some(line) if is_last => line,
                _ => &text,
            };
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
            let tag = match run[0].0 {
                Sign::Added => Some(Tag::Added),
                Sign::Removed => Some(Tag::Removed),
                Sign::Common => None,
            };
            tag.into_iter().for_each(|tag| pen.markup.open(tag));
            for (_, text) in run {
                pen.put(None, text);
                pen.put(None, "\n");
            }
            tag.into_iter().for_each(|_| pen.markup.close());
        }
        pen.finish();
    });
}

/// Writes words, beginning a new section when the limit of lines or bytes is reached.
struct Pen<'m> {
    markup: &'m mut Markup,
    lines: usize,
    bytes: usize,
    limit: (usize, usize),
}

impl<'m> Pen<'m> {
    fn new(markup: &'m mut Markup) -> Self {
        markup.begin();
        Pen {
            markup,
            lines: 0,
            bytes: 0,
            limit: FIRST,
        }
    }

    fn put(&mut self, word: Option<Word>, text: &str) {
        let mut rest = text;
        while !rest.is_empty() {
            // Divided only if more follows, so that no section is empty.
            if self.lines >= self.limit.0 || self.bytes >= self.limit.1 {
                self.markup.divide(0, 0);
                (self.lines, self.bytes, self.limit) = (0, 0, MORE);
            }
            let end = self.end_of_piece(rest);
            let (piece, more) = rest.split_at(end);
            self.markup.word(word, piece);
            self.lines += memchr::memchr_iter(b'\n', piece.as_bytes()).count();
            self.bytes += piece.len();
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

    /// Returns the length of the part of `text` that fits in the section: whole lines if possible;
    /// a line longer than a section is split.
    fn end_of_piece(&self, text: &str) -> usize {
        let most = self.limit.1 - self.bytes;
        let lines = self.limit.0 - self.lines;
        let window = &text.as_bytes()[..text.len().min(most)];
        if let Some(newline) = memchr::memchr_iter(b'\n', window).nth(lines - 1) {
            return newline + 1;
        }
        if window.len() == text.len() {
            return text.len();
        }
        let cut = memchr::memrchr(b'\n', window).map_or(most.max(4), |newline| newline + 1);
        (cut..=text.len())
            .find(|&at| text.is_char_boundary(at))
            .unwrap_or(text.len())
    }

    fn finish(self) {
        self.markup.end();
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
        assert_eq!(found[0].lines().count(), FIRST.0);
        assert!(
            found.len() > 2
                && found
                    .iter()
                    .all(|section| section.lines().count() <= MORE.0)
        );
    }

    #[test]
    fn a_line_without_an_end_is_cut_between_characters() {
        let text = "é".repeat(50_000);
        let found = sections(&text);
        assert_eq!(found.concat(), text);
        assert!(found.iter().all(|section| section.len() <= MORE.1 + 4));
        assert_eq!(sections(""), [""]);
    }

    #[test]
    fn a_link_goes_on_in_the_next_section() {
        let long = "x".repeat(FIRST.1 + 1);
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
