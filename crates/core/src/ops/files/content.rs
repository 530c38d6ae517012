//! The content of a file, as far as the calls of a session show it.

use super::operations::{FileChange, ReadPart, TextEdits};
use super::patch::apply_patch;
use crate::format::changes::{DiffSign, diff_lines};
use crate::session::file_calls::TextReplacement;

/// What is known of the content of a file.
#[derive(Debug, Default)]
pub struct FileContent {
    known: Known,
    /// The number of edits that do not fit what is known: something else changed the file before.
    pub unfit_edits: usize,
}

/// The known content.
#[derive(Debug, Default, PartialEq, Eq)]
pub enum Known {
    /// Nothing.
    #[default]
    Nothing,
    /// All of it.
    Whole(String),
    /// Runs of lines, in order, with the number of the first line of each. The number is missing in
    /// the text of an edit whose place is not known.
    Parts(Vec<KnownLines>),
}

/// Known lines of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownLines {
    /// The number of the first line, from 1.
    pub first_line: Option<usize>,
    /// The lines, joined by line feeds.
    pub text: String,
    /// The number of lines of the file, if it is known.
    line_count: Option<usize>,
}

impl KnownLines {
    /// Returns the number of lines, where a line feed at the end begins one.
    fn len(&self) -> usize {
        self.text.split('\n').count()
    }

    /// Returns the number of the last line, from 1.
    pub fn last_line(&self) -> Option<usize> {
        Some(self.first_line? + self.len() - 1)
    }
}

impl FileContent {
    /// Returns what is known.
    pub fn known(&self) -> &Known {
        &self.known
    }

    /// Applies what the next operation on the file did.
    pub fn apply(&mut self, change: FileChange) {
        match change {
            FileChange::Write(text) | FileChange::ReadWhole(text) => {
                self.known = Known::Whole(text);
                self.unfit_edits = 0;
            }
            FileChange::ReadPart(part) => self.add_part(part),
            FileChange::Edit(edits) => self.apply_edits(&edits),
            FileChange::Unknown => {}
        }
    }

    /// Adds lines that were read. If they differ from the known lines, something else changed the
    /// file, and only they are known.
    fn add_part(&mut self, part: ReadPart) {
        let added = KnownLines {
            first_line: Some(part.first_line),
            text: part.text,
            line_count: part.line_count,
        };
        match &mut self.known {
            Known::Whole(text) if contains_lines(text, &added) => return,
            Known::Parts(parts) if parts.iter().all(|part| part.first_line.is_some()) => {
                add_to_parts(parts, added);
            }
            _ => {
                self.known = Known::Parts(vec![added]);
                self.unfit_edits = 0;
            }
        }
        self.complete_parts();
    }

    /// If the known lines are all lines of the file, makes them its content.
    fn complete_parts(&mut self) {
        if let Known::Parts(parts) = &mut self.known
            && let [part] = &mut parts[..]
            && part.first_line == Some(1)
            && part.line_count == Some(part.len())
        {
            self.known = Known::Whole(std::mem::take(&mut part.text));
        }
    }

    fn apply_edits(&mut self, edits: &TextEdits) {
        match &mut self.known {
            Known::Nothing => self.known = Known::Parts(loose_parts(edits)),
            Known::Whole(text) => match apply_to_whole(text, edits) {
                Some(edited) => *text = edited,
                None => self.unfit_edits += 1,
            },
            Known::Parts(parts) => {
                if !apply_to_parts(parts, edits) {
                    // Where it is, and how it moved the other lines, is not known.
                    for part in parts.iter_mut() {
                        part.line_count = None;
                    }
                    parts.extend(loose_parts(edits));
                }
            }
        }
    }
}

/// Returns the new texts of an edit whose place in the file is not known.
fn loose_parts(edits: &TextEdits) -> Vec<KnownLines> {
    let mut parts = Vec::new();
    for replacement in &edits.replacements {
        parts.push(KnownLines {
            first_line: None,
            text: replacement.new.clone(),
            line_count: None,
        });
    }
    parts
}

/// Whether a text has these lines at their place.
fn contains_lines(text: &str, lines: &KnownLines) -> bool {
    let Some(first_line) = lines.first_line else {
        return false;
    };
    let mut own = text.split('\n').skip(first_line - 1);
    lines.text.split('\n').all(|line| own.next() == Some(line))
}

/// Adds lines that were read to those that are known: they continue a part, or are one of their own.
/// If a part has one of their lines, the parts before are dropped.
fn add_to_parts(parts: &mut Vec<KnownLines>, added: KnownLines) {
    let (Some(first), Some(last)) = (added.first_line, added.last_line()) else {
        return;
    };
    let overlaps = parts.iter().any(|part| {
        part.first_line.is_some_and(|part_first| part_first <= last)
            && part.last_line().is_some_and(|part_last| part_last >= first)
    });
    if overlaps {
        parts.clear();
    }
    let continued = parts.iter_mut().find(|part| {
        part.last_line()
            .is_some_and(|part_last| part_last + 1 == first)
    });
    if let Some(part) = continued {
        part.text.push('\n');
        part.text.push_str(&added.text);
        part.line_count = added.line_count;
        return;
    }
    parts.push(added);
    parts.sort_by_key(|part| part.first_line);
}

/// Applies an edit to the one part that has all its old texts; `false` if there is none, or several.
/// The lines of later parts move.
fn apply_to_parts(parts: &mut [KnownLines], edits: &TextEdits) -> bool {
    let mut edited: Option<(usize, String)> = None;
    for (index, part) in parts.iter().enumerate() {
        if let Some(text) = apply_exactly(&part.text, edits) {
            if edited.is_some() {
                return false;
            }
            edited = Some((index, text));
        }
    }
    let Some((index, text)) = edited else {
        return false;
    };

    let count_before = parts[index].len();
    parts[index].text = text;
    let count_after = parts[index].len();
    for part in parts.iter_mut() {
        if let Some(count) = &mut part.line_count {
            *count = (*count + count_after).saturating_sub(count_before);
        }
    }
    for part in &mut parts[index + 1..] {
        if let Some(line) = &mut part.first_line {
            *line = (*line + count_after).saturating_sub(count_before);
        }
    }
    true
}

/// Returns a file's content after an edit; `None` if the edit does not fit.
fn apply_to_whole(text: &str, edits: &TextEdits) -> Option<String> {
    if edits.is_sequential {
        return apply_exactly(text, edits);
    }
    // pi finds texts without the byte order mark, and with line feeds for all line ends.
    let without_mark = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    let mark = &text[..text.len() - without_mark.len()];
    let with_feeds = normalize_line_ends(without_mark);
    let edited = match find_replacements(&with_feeds, &edits.replacements) {
        Some(found) if with_feeds == without_mark => replace_ranges(without_mark, &found),
        Some(found) => replace_in_original(without_mark, &found),
        // It fits if differences in white space, quotes and dashes do not count. pi then writes
        // what the recorded diff says.
        None => {
            let patched = apply_patch(&with_feeds, edits.patch.as_deref()?)?;
            replace_in_original(without_mark, &changed_lines(&with_feeds, &patched))
        }
    };
    Some(format!("{mark}{edited}"))
}

const BYTE_ORDER_MARK: char = '\u{feff}';

/// Applies replacements to a text in which each old text occurs as it is.
fn apply_exactly(text: &str, edits: &TextEdits) -> Option<String> {
    if !edits.is_sequential {
        let found = find_replacements(text, &edits.replacements)?;
        return Some(replace_ranges(text, &found));
    }
    let mut edited = text.to_owned();
    for replacement in &edits.replacements {
        if replacement.old.is_empty() || !edited.contains(&replacement.old) {
            return None;
        }
        edited = if replacement.replaces_all {
            edited.replace(&replacement.old, &replacement.new)
        } else {
            edited.replacen(&replacement.old, &replacement.new, 1)
        };
    }
    Some(edited)
}

/// Returns the lines in which two texts differ, as replacements in the first.
fn changed_lines(old: &str, new: &str) -> Vec<PlacedText> {
    let mut changed: Vec<PlacedText> = Vec::new();
    let mut offset = 0;
    for (sign, line) in diff_lines(old, new) {
        if sign == DiffSign::Common {
            offset += line.len();
            continue;
        }
        if changed.last().is_none_or(|placed| placed.end != offset) {
            changed.push(PlacedText {
                start: offset,
                end: offset,
                new: String::new(),
            });
        }
        let Some(placed) = changed.last_mut() else {
            continue;
        };
        if sign == DiffSign::Added {
            placed.new.push_str(line);
        } else {
            offset += line.len();
            placed.end = offset;
        }
    }
    changed
}

/// A replacement at its place in a text.
struct PlacedText {
    start: usize,
    end: usize,
    /// The new text, with line feeds.
    new: String,
}

/// Finds each old text in a text with line feeds, sorted by place; `None` if one does not occur, or
/// if two overlap.
fn find_replacements(text: &str, replacements: &[TextReplacement]) -> Option<Vec<PlacedText>> {
    let mut found = Vec::new();
    for replacement in replacements {
        let old = normalize_line_ends(&replacement.old);
        if old.is_empty() {
            return None;
        }
        let start = text.find(&old)?;
        found.push(PlacedText {
            start,
            end: start + old.len(),
            new: normalize_line_ends(&replacement.new),
        });
    }
    found.sort_by_key(|placed| placed.start);
    let overlaps = found.windows(2).any(|pair| pair[0].end > pair[1].start);
    if overlaps { None } else { Some(found) }
}

fn replace_ranges(text: &str, found: &[PlacedText]) -> String {
    let mut edited = String::with_capacity(text.len());
    let mut copied_end = 0;
    for placed in found {
        edited.push_str(&text[copied_end..placed.start]);
        edited.push_str(&placed.new);
        copied_end = placed.end;
    }
    edited.push_str(&text[copied_end..]);
    edited
}

/// Returns a text with line feeds in place of carriage returns, alone or before a line feed.
fn normalize_line_ends(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Replaces texts, found in the normalized text, in the original. The lines around them keep their
/// ends, and the new lines get the end of the line in which the replaced text starts.
fn replace_in_original(original: &str, found: &[PlacedText]) -> String {
    let offsets = OriginalOffsets::new(original);
    let mut joined = SeamedText::default();
    let mut copied_end = 0;
    for placed in found {
        let start = offsets.original(placed.start);
        joined.push(&original[copied_end..start]);
        let line_end = line_end_at(original, start);
        if line_end == "\n" {
            joined.push(&placed.new);
        } else {
            joined.push(&placed.new.replace('\n', line_end));
        }
        copied_end = offsets.original(placed.end);
    }
    joined.push(&original[copied_end..]);
    joined.text
}

/// Converts offsets of the normalized text to those of the original.
struct OriginalOffsets {
    /// The offset in the normalized text of each line feed that follows a carriage return in the
    /// original.
    joined_feeds: Vec<usize>,
}

impl OriginalOffsets {
    fn new(original: &str) -> OriginalOffsets {
        let mut joined_feeds = Vec::new();
        for (count_before, (start, _)) in original.match_indices("\r\n").enumerate() {
            joined_feeds.push(start - count_before);
        }
        OriginalOffsets { joined_feeds }
    }

    fn original(&self, normalized: usize) -> usize {
        let dropped = self.joined_feeds.partition_point(|&feed| feed < normalized);
        normalized + dropped
    }
}

/// A text that is joined from pieces. A carriage return at the end of a piece and a line feed at the
/// start of the next stay two line ends: another line feed is put between them.
#[derive(Default)]
struct SeamedText {
    text: String,
}

impl SeamedText {
    fn push(&mut self, piece: &str) {
        if self.text.ends_with('\r') && piece.starts_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(piece);
    }
}

/// Returns the end of the line at an offset, or that of the line before if it is the last. A single
/// carriage return is one only in a text without line feeds.
fn line_end_at(text: &str, offset: usize) -> &'static str {
    let feed = match text[offset..].find('\n') {
        Some(distance) => Some(offset + distance),
        None => text[..offset].rfind('\n'),
    };
    match feed {
        Some(feed) if text[..feed].ends_with('\r') => "\r\n",
        Some(_) => "\n",
        None if text.contains('\r') => "\r",
        None => "\n",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edit(pairs: &[(&str, &str)]) -> FileChange {
        let replacements = pairs.iter().map(|(old, new)| TextReplacement {
            old: (*old).to_owned(),
            new: (*new).to_owned(),
            replaces_all: false,
        });
        FileChange::Edit(TextEdits {
            replacements: replacements.collect(),
            is_sequential: false,
            patch: None,
        })
    }

    fn part(first_line: usize, text: &str, line_count: usize) -> FileChange {
        FileChange::ReadPart(ReadPart {
            first_line,
            text: text.to_owned(),
            line_count: Some(line_count),
        })
    }

    fn content(changes: Vec<FileChange>) -> FileContent {
        let mut content = FileContent::default();
        for change in changes {
            content.apply(change);
        }
        content
    }

    fn whole(changes: Vec<FileChange>) -> String {
        match content(changes).known {
            Known::Whole(text) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn line_ends_and_the_byte_order_mark_stay() {
        let write = |text: &str| FileChange::Write(text.to_owned());
        assert_eq!(
            whole(vec![
                write("\u{feff}a\r\nb\r\nc\n"),
                edit(&[("b", "x\ny"), ("a\n", "A\n")])
            ]),
            "\u{feff}A\r\nx\r\ny\r\nc\n"
        );
        assert_eq!(
            whole(vec![write("a\rb"), edit(&[("a\nb", "c\nd")])]),
            "c\rd"
        );
    }

    #[test]
    fn parts_join_and_move() {
        assert_eq!(
            whole(vec![
                part(1, "a\nb", 5),
                edit(&[("a", "a\na2")]),
                part(4, "c\nd\n", 6)
            ]),
            "a\na2\nb\nc\nd\n"
        );
        let two = content(vec![
            part(5, "e", 9),
            part(1, "a", 9),
            edit(&[("a", "1\n2")]),
        ]);
        let Known::Parts(parts) = &two.known else {
            panic!("{two:?}");
        };
        let places: Vec<_> = parts.iter().map(|part| part.first_line).collect();
        assert_eq!(places, [Some(1), Some(6)]);
    }

    #[test]
    fn what_does_not_fit_is_counted() {
        let found = content(vec![FileChange::Write("a".to_owned()), edit(&[("b", "c")])]);
        assert_eq!(found.unfit_edits, 1);
        assert_eq!(found.known, Known::Whole("a".to_owned()));
        let found = content(vec![edit(&[("b", "c")])]);
        assert!(matches!(found.known, Known::Parts(_)));
    }
}
