//! Diffs: the lines with their numbers, the code with its colours, and the words that differ.

use super::code::{Language, SectionWriter};
use super::highlight::each_word;
use super::markup::{Markup, Tag, WordKind};
use super::view_parts::ChangedLines;
use pisess_core::format::changes::DiffSign;
use std::ops::Range;

/// The length in bytes above which the lines of a diff are not coloured.
const LONGEST_COLOURED: usize = 512 * 1024;

/// The text that pi writes in place of skipped lines.
const SKIPPED: &str = "...";

/// A line of a diff.
#[derive(Debug, PartialEq, Eq)]
struct DiffLine<'t> {
    sign: DiffSign,
    /// The sign at the start of the line, as in a unified diff: `+`, `-` or a space. Empty if the
    /// line has no sign, as in `@@ … @@`.
    sign_text: &'t str,
    /// Its number in the file, if the diff has numbers.
    number: &'t str,
    text: &'t str,
    /// The byte range of `text` that differs from the line's counterpart: for a removed line, the
    /// line that replaces it; for an added line, the line that it replaces. Empty if there is none.
    changed: Range<usize>,
}

/// How a diff is written.
#[derive(Clone, Copy, Debug)]
pub struct DiffStyle {
    /// The maximum number of lines to write.
    pub shown_count: usize,
    /// The language of the file.
    pub language: Option<&'static Language>,
    /// Who made the diff.
    pub source: DiffSource,
}

/// Who made a diff.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DiffSource {
    /// An agent, which may have put a number before the text of each line.
    Agent,
    /// This crate, from two texts.
    Export,
}

/// Appends the first lines of a diff, each with its sign.
///
/// Adjacent added lines become one element, as do adjacent removed lines. Common lines have no
/// element. The value of the diff counts all its changed lines, shown or not, as in `+3 −1`.
pub fn push_diff(lines: &[(DiffSign, &str)], style: DiffStyle, markup: &mut Markup) {
    let byte_count: usize = lines.iter().map(|(_, text)| text.len()).sum();
    let language = if markup.has_colours() && byte_count <= LONGEST_COLOURED {
        style.language
    } else {
        None
    };
    let mut parsed_lines = parse_lines(lines);
    if style.source == DiffSource::Agent {
        split_numbers(&mut parsed_lines);
    }
    // After the numbers are split off, which are no part of the texts that are compared. Before
    // lines are left out, because the counterpart of a shown line may not be shown.
    mark_changes(&mut parsed_lines);
    let shown_lines = &parsed_lines[..style.shown_count.min(parsed_lines.len())];

    markup.push_element_with(Tag::Diff, &format_change_counts(lines), |markup| {
        let mut writer = SectionWriter::new(markup);
        for run in shown_lines.chunk_by(|line, next| line.sign == next.sign) {
            push_run(run, language, &mut writer);
        }
        writer.finish();
    });
}

/// Appends consecutive lines with the same sign, as one element unless they are common.
fn push_run(run: &[DiffLine], language: Option<&'static Language>, writer: &mut SectionWriter) {
    // Before the element is opened, so that the new section does not begin with the end of an empty
    // element. Within the element, `push_line` divides the section.
    writer.divide_if_full();
    let tag = match run[0].sign {
        DiffSign::Added => Some(Tag::Added),
        DiffSign::Removed => Some(Tag::Removed),
        DiffSign::Common => None,
    };
    if let Some(tag) = tag {
        writer.markup.open(tag);
    }
    for line in run {
        push_line(line, language, writer);
    }
    if tag.is_some() {
        writer.markup.close();
    }
}

/// Returns the number of added and of removed lines, as in `+3 −1`. A count of 0 is left out.
fn format_change_counts(lines: &[(DiffSign, &str)]) -> String {
    let ChangedLines { added, removed } = ChangedLines::count(lines);
    match (added, removed) {
        (0, 0) => String::new(),
        (added, 0) => format!("+{added}"),
        (0, removed) => format!("−{removed}"),
        (added, removed) => format!("+{added} −{removed}"),
    }
}

/// Divides each line into its sign and its text. The text may still begin with a number, for which
/// [`split_numbers`] is called, and the part of it that is changed is set by [`mark_changes`].
fn parse_lines<'t>(lines: &[(DiffSign, &'t str)]) -> Vec<DiffLine<'t>> {
    let mut parsed_lines = Vec::with_capacity(lines.len());
    for &(sign, line) in lines {
        // A line such as `@@ -1 +1 @@` counts as common, but does not begin with a space.
        let sign_len = if line.starts_with(sign.as_str()) {
            sign.as_str().len()
        } else {
            0
        };
        let (sign_text, text) = line.split_at(sign_len);
        parsed_lines.push(DiffLine {
            sign,
            sign_text,
            number: "",
            text,
            changed: 0..0,
        });
    }
    parsed_lines
}

/// Divides the text of each line into its number and the rest, as in the diffs of pi. If one line
/// has no number and is not [`SKIPPED`], the diff has no numbers, and no line is changed.
fn split_numbers(lines: &mut [DiffLine]) {
    // All lines are checked before the first one is changed.
    for line in &*lines {
        let is_numbered = split_number(line.text).is_some() || line.text.trim() == SKIPPED;
        if !is_numbered {
            return;
        }
    }
    for line in lines {
        if let Some((number, text)) = split_number(line.text) {
            line.number = number;
            line.text = text;
        }
    }
}

/// Divides a line of an agent's diff into its number and its text: ` 12 let x` becomes `12` and
/// `let x`. `None` if the line has no number, or no space after it.
fn split_number(line: &str) -> Option<(&str, &str)> {
    let line = line.trim_start_matches(' ');
    let digit_count = line.bytes().take_while(u8::is_ascii_digit).count();
    let (number, after_number) = line.split_at(digit_count);
    if number.is_empty() {
        return None;
    }
    // The number of an empty line may be without the space.
    if after_number.is_empty() {
        return Some((number, ""));
    }
    let text = after_number.strip_prefix(' ')?;
    Some((number, text))
}

/// Sets [`DiffLine::changed`] of replaced lines. Where added lines directly follow removed lines,
/// the first removed line is compared with the first added line, and so on.
fn mark_changes(lines: &mut [DiffLine]) {
    let mut remaining = lines;
    while !remaining.is_empty() {
        // Any of the three runs may be empty.
        let removed_len = run_len(remaining, DiffSign::Removed);
        let (removed, after_removed) = remaining.split_at_mut(removed_len);
        let added_len = run_len(after_removed, DiffSign::Added);
        let (added, after_added) = after_removed.split_at_mut(added_len);
        let common_len = run_len(after_added, DiffSign::Common);
        remaining = &mut after_added[common_len..];

        for (old, new) in removed.iter_mut().zip(added) {
            if let Some(parts) = changed_parts(old.text, new.text) {
                old.changed = parts.old;
                new.changed = parts.new;
            }
        }
    }
}

/// Returns the number of lines with this sign at the start of `lines`.
fn run_len(lines: &[DiffLine], sign: DiffSign) -> usize {
    lines.iter().take_while(|line| line.sign == sign).count()
}

/// The parts of two lines in which they differ.
struct ChangedParts {
    old: Range<usize>,
    new: Range<usize>,
}

/// Returns the parts of two lines that differ, in whole words: what is between their longest common
/// prefix and their longest common suffix.
///
/// `None` if prefix and suffix are less than a third of the longer line: such lines have little to
/// do with each other.
fn changed_parts(old: &str, new: &str) -> Option<ChangedParts> {
    let prefix_len = common_words_at_start(old, new);
    // The suffix must not overlap the prefix.
    let suffix_len = common_words_at_end(&old[prefix_len..], &new[prefix_len..]);
    let longer_len = usize::max(old.len(), new.len());
    let is_similar = (prefix_len + suffix_len) * 3 >= longer_len;
    if !is_similar {
        return None;
    }
    Some(ChangedParts {
        old: prefix_len..old.len() - suffix_len,
        new: prefix_len..new.len() - suffix_len,
    })
}

/// Returns the length in bytes of the longest common prefix that ends within no word of either
/// text: of `a red ` for `a red ferry` and `a red field`.
fn common_words_at_start(old: &str, new: &str) -> usize {
    let mut len = 0;
    for (old_char, new_char) in old.chars().zip(new.chars()) {
        if old_char != new_char {
            break;
        }
        len += old_char.len_utf8();
    }
    let splits_word = old[len..].starts_with(is_word_char) || new[len..].starts_with(is_word_char);
    if splits_word {
        len = old[..len].trim_end_matches(is_word_char).len();
    }
    len
}

/// Returns the length in bytes of the longest common suffix that begins within no word of either
/// text: of ` sail` for `a red sail` and `a bad sail`.
fn common_words_at_end(old: &str, new: &str) -> usize {
    let mut len = 0;
    for (old_char, new_char) in old.chars().rev().zip(new.chars().rev()) {
        if old_char != new_char {
            break;
        }
        len += old_char.len_utf8();
    }
    let old_before = &old[..old.len() - len];
    let new_before = &new[..new.len() - len];
    // If the suffix begins within a word of one of the texts, what it has of this word is removed.
    let splits_word = old_before.ends_with(is_word_char) || new_before.ends_with(is_word_char);
    if splits_word {
        // The suffix is the same in both texts.
        let suffix = &old[old.len() - len..];
        len = suffix.trim_start_matches(is_word_char).len();
    }
    len
}

fn is_word_char(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Appends a line: its number, its sign and its text. The number is the value of an element, so
/// that it is not copied with the text.
fn push_line(line: &DiffLine, language: Option<&'static Language>, writer: &mut SectionWriter) {
    writer.divide_if_full();
    if !line.number.is_empty() {
        writer.markup.open_with(Tag::LineNumber, line.number);
        writer.markup.close();
    }
    writer.write(None, line.sign_text);

    match language {
        Some(language) => {
            let mut word_start = 0;
            each_word(line.text, language, &mut |word_kind, word| {
                let word_end = word_start + word.len();
                push_line_piece(line, word_start..word_end, word_kind, writer);
                word_start = word_end;
            });
        }
        None => push_line_piece(line, 0..line.text.len(), None, writer),
    }
    writer.write(None, "\n");
}

/// Appends a piece of a line's text, given by its byte range. All of it has one kind. The part of
/// it that is changed, if any, becomes an element.
fn push_line_piece(
    line: &DiffLine,
    piece: Range<usize>,
    word_kind: Option<WordKind>,
    writer: &mut SectionWriter,
) {
    // The changed part of the line may begin before the piece, or end after it.
    let changed_start = line.changed.start.clamp(piece.start, piece.end);
    let changed_end = line.changed.end.clamp(piece.start, piece.end);
    writer.write(word_kind, &line.text[piece.start..changed_start]);
    if changed_start < changed_end {
        writer.markup.open(Tag::Changed);
        writer.write(word_kind, &line.text[changed_start..changed_end]);
        writer.markup.close();
    }
    writer.write(word_kind, &line.text[changed_end..piece.end]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use DiffSign::{Added, Common, Removed};

    fn markup_of(lines: &[(DiffSign, &str)], language: &str) -> String {
        let style = DiffStyle {
            shown_count: lines.len(),
            language: Language::from_name(language),
            source: DiffSource::Agent,
        };
        Markup::from_fn(|m| push_diff(lines, style, m)).finish()
    }

    #[test]
    fn a_diff_is_its_lines() {
        let lines = [
            (Common, " a"),
            (Removed, "-b"),
            (Added, "+c"),
            (Added, "+d"),
        ];
        assert_eq!(
            markup_of(&lines, ""),
            "\x02I+2 −1\x03\x05 a\n\x01--b\n\x04\x01++c\n+d\n\x04\x06\x04"
        );
    }

    #[test]
    fn numbers_of_lines_are_no_text() {
        let lines = [
            (Common, "     ..."),
            (Removed, "-  9 old"),
            (Added, "+  9 new"),
            (Common, "  10 "),
            (Common, "  11"),
        ];
        assert_eq!(
            markup_of(&lines, ""),
            "\x02I+1 −1\x03\x05     ...\n\x01-\x02#9\x03\x04-old\n\x04\x01+\x02#9\x03\x04+new\n\x04\
             \x02#10\x03\x04 \n\x02#11\x03\x04 \n\x06\x04"
        );
        // A single line without a number: the others only look like it.
        let lines = [(Removed, "-1 apple"), (Added, "+some apples")];
        assert!(!markup_of(&lines, "").contains('#'));
        // The headers of a unified diff are whole.
        let lines = [(Common, "@@ -1 +1 @@"), (Common, "+++ b")];
        assert_eq!(
            markup_of(&lines, ""),
            "\x02I\x03\x05@@ -1 +1 @@\n+++ b\n\x06\x04"
        );
    }

    #[test]
    fn code_has_its_colours_and_changed_words_a_mark() {
        let lines = [
            (Removed, "-let a = read(file);"),
            (Added, "+let a = write(file);"),
        ];
        assert_eq!(
            markup_of(&lines, "rs"),
            "\x02I+1 −1\x03\x05\x01--\x0eklet\x0f a = \x01w\x0efread\x0f\x04(file);\n\x04\
             \x01++\x0eklet\x0f a = \x01w\x0efwrite\x0f\x04(file);\n\x04\x06\x04"
        );
    }

    #[test]
    fn changed_parts_are_whole_words() {
        let parts = |old: &str, new: &str| {
            let parts = changed_parts(old, new)?;
            Some((old[parts.old].to_owned(), new[parts.new].to_owned()))
        };
        let pair = |old: &str, new: &str| Some((old.to_owned(), new.to_owned()));
        assert_eq!(
            parts("the old_name is", "the old_names is"),
            pair("old_name", "old_names")
        );
        assert_eq!(parts("f(a, b)", "f(a, b, c)"), pair("", ", c"));
        assert_eq!(
            parts("größer als eins", "größer als zwei"),
            pair("eins", "zwei")
        );
        assert_eq!(parts("aaa", "aaaa"), None);
        assert_eq!(parts("one thing", "something else here"), None);
        assert_eq!(parts("", ""), pair("", ""));
    }

    #[test]
    fn any_lines_come_out_whole() {
        let texts = [
            "", "é", "日本 a", "a日本", " 1 x", "12", "\"", "é\"é", "aé", "éa",
        ];
        for old in texts {
            for new in texts {
                let removed = format!("-{old}");
                let added = format!("+{new}");
                let lines = [(Removed, removed.as_str()), (Added, added.as_str())];
                let style = DiffStyle {
                    shown_count: 2,
                    language: Language::from_name("js"),
                    source: DiffSource::Agent,
                };
                let markup = Markup::from_fn(|m| push_diff(&lines, style, m));
                let mut text = String::new();
                for event in markup.events() {
                    match event {
                        crate::markup::Event::Text(part) => text += part,
                        crate::markup::Event::Open(Tag::LineNumber, number) => text += number,
                        _ => {}
                    }
                }
                for part in [old, new] {
                    let compact = |text: &str| text.replace([' ', '+', '-', '\n'], "");
                    assert!(
                        compact(&text).contains(&compact(part)),
                        "{old:?} {new:?}: {text:?}"
                    );
                }
            }
        }
    }
}
