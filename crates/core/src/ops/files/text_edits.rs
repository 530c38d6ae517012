//! Applies edits to texts. The texts in a call have line feeds only; in a file with carriage
//! returns, the line ends are preserved.

use super::fuzzy_lines::find_rewritten_lines;
use super::numbered_diff::apply_numbered_diff;
use super::operations::TextEdits;
use super::patch::apply_patch;
use crate::format::changes::{DiffSign, diff_lines};
use crate::session::file_calls::TextReplacement;
use std::ops::Range;

/// Applies an edit to some consecutive lines of a file; `None` if a replaced text does not occur in
/// them. `text` has no line feed after the last of these lines.
pub fn apply_to_lines(text: &str, edits: &TextEdits) -> Option<String> {
    if edits.is_sequential {
        return replace_in_sequence(text, &edits.replacements);
    }
    // In a file whose lines end with `\r\n`, the text ends with half a line end. The other half is
    // added for the edit, so that both together are compared as a line end.
    if text.ends_with('\r') {
        let with_feed = format!("{text}\n");
        let edited = replace_at_once(&with_feed, &edits.replacements)?;
        // `None` if the edit has removed the line end, too: then the line below these, which is not
        // known, is now a part of the last.
        return edited.strip_suffix('\n').map(str::to_owned);
    }
    replace_at_once(text, &edits.replacements)
}

/// Applies an edit to the whole content of a file; `None` if the edit does not fit. Where pi would
/// accept a text that differs in white space or quotes, so does this function, as far as the tool
/// recorded a diff.
pub fn apply_to_whole(text: &str, edits: &TextEdits) -> Option<String> {
    if edits.is_sequential {
        return replace_in_sequence(text, &edits.replacements);
    }
    // pi ignores the byte order mark when it searches texts.
    let (mark, unmarked) = split_byte_order_mark(text);
    let edited = match replace_at_once(unmarked, &edits.replacements) {
        Some(edited) => edited,
        None => rewrite_lines(unmarked, edits)?,
    };
    Some(format!("{mark}{edited}"))
}

/// Applies an edit as pi does if an old text is in the file only with other white space or quotes:
/// pi then rewrites whole lines. `None` if the tool recorded no diff, or one that does not fit.
fn rewrite_lines(text: &str, edits: &TextEdits) -> Option<String> {
    let with_feeds = normalize_line_ends(text);
    let patched = apply_patch(&with_feeds, edits.patch.as_deref()?)?;
    // The diff does not show the line ends: pi gives each rewritten line the line end of the first,
    // even if the line is otherwise the same. So the rewritten lines are searched for.
    let rewritten = match find_rewritten_lines(&with_feeds, &patched, &edits.replacements) {
        Some(found) if replace_ranges(&with_feeds, &found) == patched => found,
        // They are not found. The lines that the diff changes are the best guess.
        _ => changed_lines(&with_feeds, &patched),
    };
    Some(replace_in_original(text, &rewritten))
}

/// Applies a diff that oh-my-pi recorded to the whole content of a file; `None` if the diff does
/// not fit. The diff contains neither the byte order mark nor carriage returns, so the text keeps
/// its own. New lines get the line end of the line where the change starts.
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

/// Applies all replacements to the same text. Line ends are not compared; the text keeps its own,
/// and new lines get the same. `None` if an old text does not occur, or if two places overlap.
fn replace_at_once(text: &str, replacements: &[TextReplacement]) -> Option<String> {
    let with_feeds = normalize_line_ends(text);
    let found = find_replacements(&with_feeds, replacements)?;
    if with_feeds == text {
        Some(replace_ranges(text, &found))
    } else {
        Some(replace_in_original(text, &found))
    }
}

/// Applies each replacement to the result of the one before; `None` if an old text is empty or does
/// not occur. Without `replaces_all`, only its first occurrence is replaced.
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

/// Returns the lines in which two texts differ, as replacements in `old`: one for each run of
/// consecutive removed and added lines. For `a b c` and `a x c`, on lines of their own: `b` is
/// replaced by `x`.
fn changed_lines(old: &str, new: &str) -> Vec<RangeReplacement> {
    let signed_lines = diff_lines(old, new);
    let mut changed = Vec::new();
    // The offset in `old` of the next run of lines, which are all common or all changed.
    let mut offset = 0;
    for run in signed_lines.chunk_by(|one, next| is_common(one.0) == is_common(next.0)) {
        let mut old_len = 0;
        let mut added = String::new();
        for (sign, line) in run {
            match sign {
                DiffSign::Added => added.push_str(line),
                // These lines are in `old`.
                DiffSign::Common | DiffSign::Removed => old_len += line.len(),
            }
        }
        let range = offset..offset + old_len;
        offset = range.end;
        let (first_sign, _) = run[0];
        if !is_common(first_sign) {
            changed.push(RangeReplacement { range, new: added });
        }
    }
    changed
}

/// Whether a line with this sign is in both texts.
fn is_common(sign: DiffSign) -> bool {
    sign == DiffSign::Common
}

/// The replacement of a range of a text.
pub struct RangeReplacement {
    pub range: Range<usize>,
    /// The new text, with line feeds only.
    pub new: String,
}

/// Finds the old text of each replacement in a text with line feeds only: its first occurrence.
/// Returns the replacements with their ranges, in the order of the text. `None` if an old text is
/// empty or does not occur, or if two ranges overlap.
fn find_replacements(
    text: &str,
    replacements: &[TextReplacement],
) -> Option<Vec<RangeReplacement>> {
    let mut found = Vec::new();
    for replacement in replacements {
        let old = normalize_line_ends(&replacement.old);
        if old.is_empty() {
            return None;
        }
        let start = text.find(&old)?;
        found.push(RangeReplacement {
            range: start..start + old.len(),
            new: normalize_line_ends(&replacement.new),
        });
    }
    found.sort_by_key(|replacement| replacement.range.start);

    let overlaps = found
        .windows(2)
        .any(|pair| pair[0].range.end > pair[1].range.start);
    if overlaps { None } else { Some(found) }
}

/// Replaces each range by its new text. The ranges are sorted, and do not overlap.
fn replace_ranges(text: &str, replacements: &[RangeReplacement]) -> String {
    let mut edited = String::with_capacity(text.len());
    let mut copied_end = 0;
    for replacement in replacements {
        edited.push_str(&text[copied_end..replacement.range.start]);
        edited.push_str(&replacement.new);
        copied_end = replacement.range.end;
    }
    edited.push_str(&text[copied_end..]);
    edited
}

/// Replaces `\r\n` and `\r` by `\n`.
pub fn normalize_line_ends(text: &str) -> String {
    text.replace("\r\n", "\n").replace('\r', "\n")
}

/// Replaces ranges of the original text, given as ranges of the normalized one, in which each line
/// end is `\n`. The ranges must be sorted, and must not overlap. Other lines keep their line ends.
/// New lines get the line end of the line in which the replaced range starts.
fn replace_in_original(original: &str, replacements: &[RangeReplacement]) -> String {
    let offsets = OriginalOffsets::new(original);
    let mut edited = JoinedText::default();
    let mut copied_end = 0;
    for replacement in replacements {
        let start = offsets.to_original(replacement.range.start);
        edited.push(&original[copied_end..start]);

        let line_end = line_end_at(original, start);
        if line_end == "\n" {
            edited.push(&replacement.new);
        } else {
            edited.push(&replacement.new.replace('\n', line_end));
        }
        copied_end = offsets.to_original(replacement.range.end);
    }
    edited.push(&original[copied_end..]);
    edited.text
}

/// Converts offsets in the normalized text to offsets in the original.
struct OriginalOffsets {
    /// The offsets, in the normalized text, of the line feeds that were `\r\n` in the original.
    /// Ascending: the binary search below needs it.
    shortened_feeds: Vec<usize>,
}

impl OriginalOffsets {
    fn new(original: &str) -> OriginalOffsets {
        let mut shortened_feeds = Vec::new();
        for (count_before, (start, _)) in original.match_indices("\r\n").enumerate() {
            // Each `\r\n` before this one is one byte shorter in the normalized text.
            shortened_feeds.push(start - count_before);
        }
        OriginalOffsets { shortened_feeds }
    }

    /// Converts an offset in the normalized text.
    fn to_original(&self, normalized: usize) -> usize {
        let shortened_before = self
            .shortened_feeds
            .partition_point(|&feed| feed < normalized);
        normalized + shortened_before
    }
}

/// A text that is joined from pieces, none of whose line ends merge. If a piece ends with `\r` and
/// the next begins with `\n`, these are two line ends, but `\r\n` would be one. So another `\n` is
/// inserted between the pieces, which makes them `\r\n` and `\n`.
#[derive(Default)]
struct JoinedText {
    text: String,
}

impl JoinedText {
    fn push(&mut self, piece: &str) {
        if self.text.ends_with('\r') && piece.starts_with('\n') {
            self.text.push('\n');
        }
        self.text.push_str(piece);
    }
}

/// Returns the line end of the line at an offset: `\n`, `\r\n` or `\r`. A last line without a line
/// end gets the line end of the line before. A lone `\r` counts as a line end only in a text
/// without `\n`.
fn line_end_at(text: &str, offset: usize) -> &'static str {
    let feed_of_line = text[offset..].find('\n').map(|distance| offset + distance);
    let feed = feed_of_line.or_else(|| text[..offset].rfind('\n'));
    let Some(feed) = feed else {
        return if text.contains('\r') { "\r" } else { "\n" };
    };
    if text[..feed].ends_with('\r') {
        "\r\n"
    } else {
        "\n"
    }
}
