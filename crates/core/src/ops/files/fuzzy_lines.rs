//! Finds the lines that pi's `edit` rewrites where a text does not occur exactly.
//!
//! pi then ignores white space at line ends, and the differences between kinds of quotes, dashes
//! and spaces. It rewrites all lines that a match touches, even if they stay the same, with the
//! line end of the first of them. The recorded diff does not show which lines these are. This
//! matters in a file with several kinds of line ends.
//!
//! pi also treats compatible characters (NFKC) as equal. Texts that match only in this way are not
//! found here.

use super::text_edits::{RangeReplacement, normalize_line_ends};
use crate::session::file_calls::TextReplacement;
use pisess_json::text::is_js_space;
use std::ops::Range;

/// Finds the lines of `text` that replacements touch, and the text that replaced them. `edited` is
/// `text` after the replacements, as the tool recorded it; both have line feeds only. Lines are
/// grouped as in [`find_touched_lines`].
///
/// `None` if a replaced text is not found, or if `edited` has too few lines.
pub fn find_rewritten_lines(
    text: &str,
    edited: &str,
    replacements: &[TextReplacement],
) -> Option<Vec<RangeReplacement>> {
    let old_lines = LineRanges::new(text);
    let new_lines = LineRanges::new(edited);
    let mut found = Vec::new();
    // How much further down a line is in `edited` than in `text`: the number of lines that the
    // groups above it have added. Negative if they removed more than they added.
    let mut shift = 0;
    for group in find_touched_lines(text, replacements)? {
        let new_start = group.lines.start.checked_add_signed(shift)?;
        // The end of the group is also moved by the lines that it added itself.
        shift += group.added_lines;
        let new_end = group.lines.end.checked_add_signed(shift)?;

        let old_bytes = old_lines.bytes_of(group.lines)?;
        let new_bytes = new_lines.bytes_of(new_start..new_end)?;
        found.push(RangeReplacement {
            range: old_bytes,
            new: edited[new_bytes].to_owned(),
        });
    }
    Some(found)
}

/// The byte ranges of the lines of a text. The text after the last line feed is a line, too, even
/// if it is empty.
struct LineRanges {
    /// The offset of each line, followed by the length of the text.
    starts: Vec<usize>,
}

impl LineRanges {
    fn new(text: &str) -> LineRanges {
        let mut starts = vec![0];
        starts.extend(text.match_indices('\n').map(|(feed, _)| feed + 1));
        starts.push(text.len());
        LineRanges { starts }
    }

    /// Returns the byte range of these lines; `None` if the text has fewer lines.
    fn bytes_of(&self, lines: Range<usize>) -> Option<Range<usize>> {
        let start = *self.starts.get(lines.start)?;
        let end = *self.starts.get(lines.end)?;
        if start <= end { Some(start..end) } else { None }
    }
}

/// A group of lines that one or several overlapping replacements touch.
struct TouchedLines {
    /// The indexes of the lines.
    lines: Range<usize>,
    /// The number of lines that the replacements add; negative if they remove lines.
    added_lines: isize,
}

/// Returns the lines that the replacements touch, in order. Replacements that touch the same line
/// share a group. `None` if a replaced text is not found.
fn find_touched_lines(text: &str, replacements: &[TextReplacement]) -> Option<Vec<TouchedLines>> {
    let comparable = comparable_form(text);
    let mut touched_by_each = Vec::new();
    for replacement in replacements {
        touched_by_each.push(find_lines_of_match(&comparable, replacement)?);
    }
    touched_by_each.sort_by_key(|touched| touched.lines.start);

    let mut groups: Vec<TouchedLines> = Vec::new();
    for touched in touched_by_each {
        if let Some(group) = groups.last_mut()
            && touched.lines.start < group.lines.end
        {
            group.lines.end = group.lines.end.max(touched.lines.end);
            group.added_lines += touched.added_lines;
        } else {
            groups.push(touched);
        }
    }
    Some(groups)
}

/// Returns the lines that one replacement touches; `None` if the replaced text is not found. As in
/// pi, its first occurrence is the one that is replaced.
///
/// `comparable` is the text of the file in [`comparable_form`], which has the same lines.
fn find_lines_of_match(comparable: &str, replacement: &TextReplacement) -> Option<TouchedLines> {
    let old = comparable_form(&normalize_line_ends(&replacement.old));
    let start = comparable.find(&old)?;
    let old_feeds = count_feeds(&old);
    let new_feeds = count_feeds(&normalize_line_ends(&replacement.new));

    let first_line = count_feeds(&comparable[..start]);
    let mut last_line = first_line + old_feeds;
    if old.ends_with('\n') {
        // The match ends with the line feed, so it does not touch the next line.
        last_line -= 1;
    }
    Some(TouchedLines {
        lines: first_line..last_line + 1,
        added_lines: new_feeds as isize - old_feeds as isize,
    })
}

fn count_feeds(text: &str) -> usize {
    text.matches('\n').count()
}

/// Returns a text without white space at line ends, and with ASCII quotes, dashes and spaces, such
/// as `a - "b"` for `a – “b”  `. pi compares texts in this form if an edit does not fit exactly.
/// The lines stay the same, so a match in this form shows which lines of the text it touches.
fn comparable_form(text: &str) -> String {
    let mut form = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let content = line.strip_suffix('\n').unwrap_or(line);
        let content = content.trim_end_matches(|c| is_js_space(u32::from(c)));
        form.extend(content.chars().map(comparable_char));
        if line.ends_with('\n') {
            form.push('\n');
        }
    }
    form
}

/// Returns the ASCII character for any kind of quote, dash or space; other characters unchanged.
fn comparable_char(c: char) -> char {
    match c {
        '\u{2018}'..='\u{201b}' => '\'',
        '\u{201c}'..='\u{201f}' => '"',
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{a0}' | '\u{2002}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => ' ',
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::super::operations::TextEdits;
    use super::super::text_edits::apply_to_whole;
    use super::*;

    /// Applies one edit, of which a patch is recorded, to a text.
    fn edited(text: &str, old: &str, new: &str, patch: &str) -> String {
        let replacement = TextReplacement {
            old: old.to_owned(),
            new: new.to_owned(),
            replaces_all: false,
        };
        let edits = TextEdits {
            replacements: vec![replacement],
            is_sequential: false,
            patch: Some(patch.to_owned()),
        };
        apply_to_whole(text, &edits).unwrap()
    }

    /// The first line stays the same, and yet gets another end.
    #[test]
    fn touched_lines_get_the_end_of_the_first() {
        let patch = "--- a\n+++ a\n@@ -1,3 +1,4 @@\n a — b\n+new\n c\n d\n";
        assert_eq!(
            edited("a — b\rc\rd\n", "a - b", "a — b\nnew", patch),
            "a — b\nnew\nc\rd\n"
        );
    }

    /// The last line is emptied, and has no end of its own.
    #[test]
    fn several_edits_are_placed_by_their_lines() {
        let replacements = [("c", "c\nnew"), ("d - e", "")].map(|(old, new)| TextReplacement {
            old: old.to_owned(),
            new: new.to_owned(),
            replaces_all: false,
        });
        let patch = "--- a\n+++ a\n@@ -1,4 +1,4 @@\n a\n c\n+new\n b\n-d — e\n\\ No newline at end of file\n";
        let edits = TextEdits {
            replacements: Vec::from(replacements),
            is_sequential: false,
            patch: Some(patch.to_owned()),
        };
        let text = "a\r\nc\nb\r\nd — e";
        assert_eq!(apply_to_whole(text, &edits).unwrap(), "a\r\nc\nnew\nb\r\n");
    }

    /// Of compatible characters, only the diff says where they are.
    #[test]
    fn the_diff_decides_where_nothing_is_found() {
        let patch = "--- a\n+++ a\n@@ -1,2 +1,2 @@\n-ﬁn\n+end\n b\n";
        assert_eq!(edited("ﬁn\r\nb\n", "fin", "end", patch), "end\r\nb\n");
    }
}
