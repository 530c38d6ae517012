//! Applies edits to texts. The tools edit texts with line feeds only; in a file with carriage
//! returns, the line ends stay as they are.

use super::fuzzy_lines::find_rewritten_lines;
use super::numbered_diff::apply_numbered_diff;
use super::operations::TextEdits;
use super::patch::apply_patch;
use crate::format::changes::{DiffSign, diff_lines};
use crate::session::file_calls::TextReplacement;

/// Returns known lines after an edit; `None` if the edit does not fit.
pub fn apply_to_lines(text: &str, edits: &TextEdits) -> Option<String> {
    if edits.is_sequential {
        return replace_in_sequence(text, &edits.replacements);
    }
    // The line feed after the last line is not in the text, but the carriage return before it is.
    if text.ends_with('\r') {
        let edited = replace_at_once(&format!("{text}\n"), &edits.replacements)?;
        return edited.strip_suffix('\n').map(str::to_owned);
    }
    replace_at_once(text, &edits.replacements)
}

/// Returns a file's content after an edit; `None` if the edit does not fit.
pub fn apply_to_whole(text: &str, edits: &TextEdits) -> Option<String> {
    if edits.is_sequential {
        return replace_in_sequence(text, &edits.replacements);
    }
    // pi finds texts without the byte order mark.
    let (mark, unmarked) = split_byte_order_mark(text);
    if let Some(edited) = replace_at_once(unmarked, &edits.replacements) {
        return Some(format!("{mark}{edited}"));
    }

    // pi also accepts texts that differ in white space, quotes or dashes. Then it rewrites the
    // lines of such a text as a whole, and the recorded diff shows the result.
    let with_feeds = normalize_line_ends(unmarked);
    let patched = apply_patch(&with_feeds, edits.patch.as_deref()?)?;
    let rewritten_lines = find_rewritten_lines(&with_feeds, &patched, &edits.replacements);
    let rewritten_lines = match rewritten_lines {
        Some(found) if replace_ranges(&with_feeds, &found) == patched => found,
        // The diff is certain, and which lines pi rewrote only matters for their ends.
        _ => changed_lines(&with_feeds, &patched),
    };
    let edited = replace_in_original(unmarked, &rewritten_lines);
    Some(format!("{mark}{edited}"))
}

/// Returns a file's content after an edit of which a diff was recorded; `None` if the diff does not
/// fit. It has neither the byte order mark nor carriage returns.
pub fn apply_diff_to_whole(text: &str, diff: &str) -> Option<String> {
    let (mark, unmarked) = split_byte_order_mark(text);
    let with_feeds = normalize_line_ends(unmarked);
    let patched = apply_numbered_diff(&with_feeds, diff)?;
    if with_feeds == unmarked {
        return Some(format!("{mark}{patched}"));
    }
    let edited = replace_in_original(unmarked, &changed_lines(&with_feeds, &patched));
    Some(format!("{mark}{edited}"))
}

/// Splits a text into its byte order mark, if it has one, and the rest.
fn split_byte_order_mark(text: &str) -> (&str, &str) {
    const BYTE_ORDER_MARK: char = '\u{feff}';

    let unmarked = text.strip_prefix(BYTE_ORDER_MARK).unwrap_or(text);
    text.split_at(text.len() - unmarked.len())
}

/// Replaces texts of which each occurs in the text before the edit, up to the kind of line ends;
/// `None` if one does not. The line ends of the text stay, and new lines get the same.
fn replace_at_once(text: &str, replacements: &[TextReplacement]) -> Option<String> {
    let with_feeds = normalize_line_ends(text);
    let found = find_replacements(&with_feeds, replacements)?;
    if with_feeds == text {
        Some(replace_ranges(text, &found))
    } else {
        Some(replace_in_original(text, &found))
    }
}

/// Replaces texts of which each occurs in what the replacement before left; `None` if one does not.
fn replace_in_sequence(text: &str, replacements: &[TextReplacement]) -> Option<String> {
    let mut edited = text.to_owned();
    for replacement in replacements {
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
    // Where the next line of `old` begins.
    let mut offset = 0;
    for (sign, line) in diff_lines(old, new) {
        if sign == DiffSign::Common {
            offset += line.len();
            continue;
        }
        let continues_last = changed.last().is_some_and(|placed| placed.end == offset);
        if !continues_last {
            changed.push(PlacedText {
                start: offset,
                end: offset,
                new: String::new(),
            });
        }
        let last = changed.len() - 1;
        let placed = &mut changed[last];
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
pub struct PlacedText {
    pub start: usize,
    pub end: usize,
    /// The new text, with line feeds.
    pub new: String,
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

/// Puts each new text in place of its range. The ranges are sorted, and do not overlap.
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
pub fn normalize_line_ends(text: &str) -> String {
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

/// A text that is joined from pieces. A carriage return at the end of a piece and a line feed at
/// the start of the next stay two line ends: another line feed is put between them.
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

/// Returns what ends the line at an offset: `\n`, `\r\n` or `\r`. A last line without an end is
/// treated as the line before. A carriage return alone ends a line only in a text without line
/// feeds.
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
