//! Wraps text for a terminal: indented, and broken between words.

use super::apply_style;
use crate::format::display_width;
use owo_colors::Style;
use unicode_segmentation::UnicodeSegmentation;

/// The maximum width of a tab.
const TAB_COLUMNS: usize = 8;

/// The maximum number of digits in the marker of a numbered list item.
const MAX_NUMBER_DIGITS: usize = 3;

/// The minimum width of a line, whatever its indentation.
const MIN_LINE_COLUMNS: usize = 20;

/// Appends a line, which has been escaped, indented by `indent` columns. If the indented line is
/// wider than `width`, it is broken between words; a word that is too long is broken anywhere.
/// Without a width, the line is not broken.
///
/// The second and further rows are aligned with the text of the first row: after the line's own
/// indentation, and after a list marker.
pub fn push_wrapped_line(
    out: &mut String,
    line: &str,
    indent: usize,
    width: Option<usize>,
    style: Style,
) {
    if line.is_empty() {
        out.push('\n');
        return;
    }
    let Some(width) = width else {
        return push_row(out, indent, line, style);
    };
    let room = width.saturating_sub(indent).max(MIN_LINE_COLUMNS);
    // A text has at most as many columns as bytes, unless it has tabs.
    let surely_fits = line.len() <= room && !line.contains('\t');
    if surely_fits {
        return push_row(out, indent, line, style);
    }

    let first_end = find_row_end(line, room);
    push_row(out, indent, line[..first_end].trim_end(), style);
    let hanging = hanging_columns(line).min(room / 2);
    let mut rest = line[first_end..].trim_start_matches(' ');
    while !rest.is_empty() {
        let row_end = find_row_end(rest, room - hanging);
        push_row(out, indent + hanging, rest[..row_end].trim_end(), style);
        rest = rest[row_end..].trim_start_matches(' ');
    }
}

fn push_row(out: &mut String, indent: usize, text: &str, style: Style) {
    *out += &" ".repeat(indent);
    *out += &apply_style(text, style);
    out.push('\n');
}

/// Returns the length in bytes of the first row of a text that is wrapped to `room` columns. A row
/// ends after a space if possible, and has at least one character. Only an empty text has an empty
/// row.
///
/// Reads no further than that row, because a line of megabytes has many rows.
fn find_row_end(text: &str, room: usize) -> usize {
    let mut fitting = 0;
    let mut columns_left = room;
    for grapheme in text.graphemes(true) {
        let width = columns(grapheme);
        if width > columns_left {
            break;
        }
        columns_left -= width;
        fitting += grapheme.len();
    }
    if fitting == text.len() {
        return fitting;
    }
    if fitting == 0 {
        // The first character is wider than the room.
        return text.graphemes(true).next().map_or(text.len(), str::len);
    }

    // The space after the last word that fits needs no column, because rows are printed without it.
    let breaks_before_space = text[fitting..].starts_with(' ');
    if breaks_before_space {
        return fitting;
    }
    let last_space = text[..fitting].rfind(' ');
    // The spaces at the start of the text are not a place to break: the row would be blank.
    let indentation = text.len() - text.trim_start().len();
    match last_space {
        Some(space) if space >= indentation => space + 1,
        // The word is too long for a row, so it is broken.
        _ => fitting,
    }
}

/// Returns the width of a text. A tab counts with its maximum width, because its actual width
/// depends on its position.
fn columns(text: &str) -> usize {
    let tabs = text.matches('\t').count();
    display_width(text) + tabs * (TAB_COLUMNS - 1)
}

/// Returns the column at which the text of a line begins: after its indentation, and after the
/// marker of a list item or a quote.
fn hanging_columns(line: &str) -> usize {
    let text = line.trim_start();
    let indentation = columns(&line[..line.len() - text.len()]);
    // Without a space, there is no text after a marker, and `mark` is empty.
    let (mark, _) = text.split_once(' ').unwrap_or_default();
    let digits = mark.strip_suffix(['.', ')']);
    let is_number = digits.is_some_and(|digits| {
        digits.len() <= MAX_NUMBER_DIGITS && digits.bytes().all(|byte| byte.is_ascii_digit())
    });
    if matches!(mark, "-" | "*" | "+" | "•" | ">") || is_number {
        indentation + display_width(mark) + " ".len()
    } else {
        indentation
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wrapped(line: &str, width: usize) -> String {
        let mut out = String::new();
        push_wrapped_line(&mut out, line, 2, Some(width), Style::new());
        out
    }

    /// If each row read the rest of the line, this would take minutes.
    #[test]
    fn a_line_of_megabytes_is_broken() {
        let rows = wrapped(&"é".repeat(1 << 20), 22);
        assert_eq!(rows.lines().count(), (1_usize << 20).div_ceil(20));
    }

    #[test]
    fn lines_are_broken_between_words() {
        assert_eq!(
            wrapped("one two three four five six", 22),
            "  one two three four\n  five six\n"
        );
        assert_eq!(
            wrapped("- one two three four five", 22),
            "  - one two three four\n    five\n"
        );
        assert_eq!(
            wrapped("    let x = a_function(of_arguments);", 26),
            "      let x =\n      a_function(of_argume\n      nts);\n"
        );
        assert_eq!(wrapped("", 22), "\n");
        let word = "x".repeat(45);
        assert_eq!(
            wrapped(&word, 22),
            format!("  {0}\n  {0}\n  xxxxx\n", "x".repeat(20))
        );
        assert_eq!(
            wrapped("日本語の文章はどこでも折り返せる", 22),
            "  日本語の文章はどこで\n  も折り返せる\n"
        );
    }
}
