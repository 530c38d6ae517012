//! The appearance of human-readable rows: colours, width, glyphs.

use crate::cli::options::ColorChoice;
use crate::cli::output::clock::Clock;
use crate::cli::output::links::link_text;
pub use crate::format::display_width;
use crate::format::{is_printable_ascii, push_visible};
use owo_colors::{OwoColorize, Style};
use pisess_json::text::Text;
use std::io::Write;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// Styles for text; all plain by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Styles {
    /// Times, connectors, tools, and the rest of ids.
    pub dim: Style,
    /// The prefix of an id that suffices to name the entry.
    pub id_prefix: Style,
    /// The glyphs for the active path and the leaf.
    pub active: Style,
    pub label: Style,
    pub user: Style,
    pub assistant: Style,
    pub error: Style,
    pub summary: Style,
    /// Matches of a search.
    pub hit: Style,
    pub bold: Style,
    /// The titles of columns.
    pub heading: Style,
    /// Text that only the left side has.
    pub removed: Style,
    /// Text that only the right side has.
    pub added: Style,
}

impl Styles {
    /// Returns the styles for `--color`; if it is `auto`, `wants_colour` decides.
    pub fn new(color: ColorChoice, wants_colour: bool) -> Styles {
        let is_coloured = match color {
            ColorChoice::Always => true,
            ColorChoice::Auto => wants_colour,
            ColorChoice::Never => false,
        };
        if !is_coloured {
            return Styles::default();
        }
        Styles {
            dim: Style::new().dimmed(),
            id_prefix: Style::new().blue().bold(),
            active: Style::new().cyan(),
            label: Style::new().yellow(),
            user: Style::new().cyan().bold(),
            assistant: Style::new().green(),
            error: Style::new().red(),
            summary: Style::new().magenta(),
            hit: Style::new().red().bold(),
            bold: Style::new().bold(),
            heading: Style::new().underline(),
            removed: Style::new().red(),
            added: Style::new().green(),
        }
    }

    /// Whether anything stands out.
    pub fn has_colour(&self) -> bool {
        !self.dim.is_plain()
    }
}

/// The characters that rows are drawn with.
#[derive(Clone, Copy, Debug)]
pub struct Glyphs {
    /// Connects a sibling that is not the last.
    pub tee: &'static str,
    /// Connects the last sibling.
    pub corner: &'static str,
    /// The same two, of a sibling that is folded with all below it.
    pub folded_tee: &'static str,
    pub folded_corner: &'static str,
    /// Continues a connector past other rows.
    pub bar: &'static str,
    /// Marks entries on the active path.
    pub bullet: &'static str,
    /// Marks the leaf, after its text.
    pub leaf: &'static str,
    /// Marks the entry that is drawn as the leaf and is not, after its text.
    pub drawn_leaf: &'static str,
    /// Precedes a row that represents several.
    pub fold: &'static str,
    /// Draws a rule across.
    pub rule: &'static str,
    /// Separates facts.
    pub dot: &'static str,
    /// Replaces text that was truncated.
    pub ellipsis: &'static str,
}

impl Glyphs {
    /// The glyphs of pi.
    pub const UNICODE: Glyphs = Glyphs {
        tee: "├─ ",
        corner: "└─ ",
        folded_tee: "├╴ ",
        folded_corner: "└╴ ",
        bar: "│  ",
        bullet: "• ",
        leaf: "← active",
        drawn_leaf: "← REF",
        fold: "⋯ ",
        rule: "─",
        dot: " · ",
        ellipsis: "…",
    };
    /// ASCII only.
    pub const ASCII: Glyphs = Glyphs {
        tee: "|- ",
        corner: "`- ",
        folded_tee: "|+ ",
        folded_corner: "`+ ",
        bar: "|  ",
        bullet: "* ",
        leaf: "<- active",
        drawn_leaf: "<- REF",
        fold: "... ",
        rule: "-",
        dot: " - ",
        ellipsis: "...",
    };
}

/// A buffer in which rows are drawn, one after the other.
#[derive(Clone, Debug, Default)]
pub struct RowBuffer {
    /// The text drawn so far, including the part that is being drawn.
    pub text: Vec<u8>,
    /// The maximum width of a row; `None` if rows are not cut.
    pub width: Option<usize>,
    /// The columns left in the row being drawn; `None` if rows are not cut.
    pub columns_left: Option<usize>,
    /// Replaces text that was cut off.
    pub ellipsis: &'static str,
    /// The offset of the row being drawn.
    row_start: usize,
    /// The offset of the part being drawn.
    part_start: usize,
    /// Formats the times of the rows, if they have any.
    pub clock: Option<Clock>,
    /// The date of the previous row, which is not repeated.
    previous_date: String,
    /// The minute formatted last, and its date and time of day: most rows follow another within a
    /// minute.
    cached_minute: Option<i64>,
    cached_date: String,
    cached_time: String,
}

/// The time (in 1973) since which every zone differs from UTC by whole minutes.
const WHOLE_MINUTES_SINCE_MS: i64 = 100_000_000_000;

impl RowBuffer {
    /// Returns an empty buffer. Rows that are longer than `width` columns end with the ellipsis;
    /// without a width, none is cut.
    pub fn new(width: Option<usize>, ellipsis: &'static str, clock: Option<Clock>) -> RowBuffer {
        RowBuffer {
            width,
            columns_left: width,
            ellipsis,
            clock,
            ..RowBuffer::default()
        }
    }

    /// Sets the date of the previous row from a time, or clears it, before a range of rows.
    pub fn set_previous_time(&mut self, time_ms: Option<i64>) {
        let date = self
            .clock
            .as_ref()
            .zip(time_ms)
            .map(|(clock, time)| clock.format_date_and_time(time).0);
        self.previous_date = date.unwrap_or_default();
    }

    /// Appends a time to the part, with its date only if that differs from the previous row.
    pub fn push_time(&mut self, time_ms: i64) {
        let Some(clock) = &self.clock else { return };
        let minute = Some(time_ms.div_euclid(60_000));
        if self.cached_minute != minute || time_ms < WHOLE_MINUTES_SINCE_MS {
            (self.cached_date, self.cached_time) = clock.format_date_and_time(time_ms);
            self.cached_minute = minute;
        }
        let date = &self.cached_date;
        if *date == self.previous_date {
            self.text.resize(self.text.len() + date.len(), b' ');
        } else {
            self.text.extend_from_slice(date.as_bytes());
            self.previous_date.clone_from(date);
        }
        self.text.push(b' ');
        self.text.extend_from_slice(self.cached_time.as_bytes());
    }

    /// Appends a `str` to the part.
    pub fn push_str(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    /// Appends a text to the part, escaped.
    pub fn push_text(&mut self, text: &Text) {
        if is_printable_ascii(text.as_bytes()) {
            return self.text.extend_from_slice(text.as_bytes());
        }
        let mut shown = String::new();
        push_visible(&mut shown, &text.to_string_lossy());
        self.push_str(&shown);
    }

    /// Appends a number to the part, after spaces up to `width` columns.
    pub fn push_number(&mut self, number: usize, width: usize) {
        // Writing to memory cannot fail.
        let _ = write!(self.text, "{number:>width$}");
    }

    /// Appends spaces to the part up to `width` columns.
    pub fn pad_part(&mut self, width: usize) {
        let part = &self.text[self.part_start..];
        let part_columns = if is_printable_ascii(part) {
            part.len()
        } else {
            display_width(&String::from_utf8_lossy(part))
        };
        self.text
            .resize(self.text.len() + width.saturating_sub(part_columns), b' ');
    }

    pub fn begin_row(&mut self) {
        self.row_start = self.text.len();
        self.part_start = self.text.len();
        self.columns_left = self.width;
    }

    /// Ends the row, trimming trailing spaces.
    pub fn end_row(&mut self) {
        let len = self.text[self.row_start..].trim_ascii_end().len();
        self.text.truncate(self.row_start + len);
        self.text.push(b'\n');
    }

    /// Ends the part: styles it, and cuts it if it does not fit.
    pub fn finish_part(&mut self, style: Style) {
        if self.columns_left.is_some() || style != Style::default() {
            let part = self.text.split_off(self.part_start);
            return self.push_part(&String::from_utf8_lossy(&part), style);
        }
        self.part_start = self.text.len();
    }

    /// Appends a whole part, as far as it fits into what is left of the row. No other part may be
    /// open.
    pub fn push_part(&mut self, text: &str, style: Style) {
        self.push_linked_part(text, style, None);
    }

    /// Appends a whole part as [`Self::push_part`] does. With an address, it is a link.
    pub fn push_linked_part(&mut self, text: &str, style: Style, address: Option<&str>) {
        debug_assert_eq!(
            self.part_start,
            self.text.len(),
            "the part before is put first"
        );
        let mut cut = None;
        if let Some(left) = self.columns_left {
            let width = display_width(text);
            if width > left {
                cut = Some(truncate_end(text, left, self.ellipsis));
            }
            self.columns_left = Some(left.saturating_sub(width));
        }
        let shown = cut.as_deref().unwrap_or(text);
        match address {
            Some(address) => self.push_str(&link_text(&apply_style(shown, style), address)),
            None => push_styled(shown, style, &mut self.text),
        }
        self.part_start = self.text.len();
    }
}

pub fn apply_style(text: &str, style: Style) -> String {
    if text.is_empty() || style == Style::default() {
        text.to_owned()
    } else {
        text.style(style).to_string()
    }
}

/// Appends a text with its style.
pub fn push_styled(text: &str, style: Style, out: &mut Vec<u8>) {
    if text.is_empty() || style == Style::default() {
        out.extend_from_slice(text.as_bytes());
    } else {
        // Writing to memory cannot fail.
        let _ = write!(out, "{}", text.style(style));
    }
}

/// What separates the parts of a path, on any system.
pub const SEPARATORS: [char; 2] = ['/', '\\'];

/// A path is truncated in the middle only if its last name fits, or at least this many columns of
/// it.
const LEAST_NAME_COLUMNS: usize = 12;

/// The maximum number of bytes of a partial directory name to leave out after the ellipsis.
const MOST_PARTIAL_NAME_BYTES: usize = 12;

/// Returns a text whose `path` is truncated in the middle to fit into `most_columns`, keeping the
/// file's name and the text after it. If that is impossible, truncates the text at its end.
pub fn truncate_path(
    text: &str,
    path: Range<usize>,
    most_columns: usize,
    ellipsis: &str,
) -> String {
    let before = &text[..path.start];
    let after = &text[path.end..];
    let path = &text[path];
    let name_start = path.rfind(SEPARATORS).unwrap_or(0);
    let name_columns = display_width(&path[name_start..]);
    let room = most_columns
        .saturating_sub(display_width(before) + display_width(after) + display_width(ellipsis));
    if display_width(text) <= most_columns || room < name_columns.min(LEAST_NAME_COLUMNS) {
        return truncate_end(text, most_columns, ellipsis);
    }

    // One third is for the beginning, unless the name needs it.
    let head_room = (room / 3).min(room.saturating_sub(name_columns));
    let head = &path[..fitting_prefix_len(path, head_room)];
    let tail_room = room - display_width(head);
    let tail_bytes = fitting_bytes(path.graphemes(true).rev(), tail_room);
    let tail = &path[path.len() - tail_bytes..];

    // Directories are kept whole: the head ends in a separator, and the tail begins with one,
    // unless too much of the tail would be lost.
    let whole_head = match head.rfind(SEPARATORS) {
        Some(separator) => &head[..=separator],
        None => head,
    };
    let whole_tail = match tail.find(SEPARATORS) {
        Some(separator) if separator < MOST_PARTIAL_NAME_BYTES => &tail[separator..],
        _ => tail,
    };
    format!("{before}{whole_head}{ellipsis}{whole_tail}{after}")
}

/// Returns the number of bytes of the first graphemes that together fit into this many columns.
pub fn fitting_bytes<'a>(graphemes: impl Iterator<Item = &'a str>, most_columns: usize) -> usize {
    let mut left = most_columns;
    let mut bytes = 0;
    for grapheme in graphemes {
        let width = display_width(grapheme);
        if width > left {
            break;
        }
        left -= width;
        bytes += grapheme.len();
    }
    bytes
}

/// Returns the number of bytes of the longest prefix of a text that fits into `columns`, divided
/// between graphemes.
fn fitting_prefix_len(text: &str, columns: usize) -> usize {
    // A printable ASCII character is a grapheme of one column if another one follows it.
    let is_printable_ascii = |byte: &u8| matches!(byte, b' '..=b'~');
    match text.as_bytes().get(..=columns) {
        Some(head) if head.iter().all(is_printable_ascii) => columns,
        _ => fitting_bytes(text.graphemes(true), columns),
    }
}

/// Returns the end of the text that fits into `columns`, after an ellipsis if it was truncated.
pub fn truncate_start(text: &str, columns: usize, ellipsis: &str) -> String {
    if display_width(text) <= columns {
        return text.to_owned();
    }
    let Some(room) = columns.checked_sub(display_width(ellipsis)) else {
        return String::new();
    };
    let start = text.len() - fitting_bytes(text.graphemes(true).rev(), room);
    format!("{ellipsis}{}", text[start..].trim_start())
}

/// Returns the text truncated to `columns`, with an ellipsis if it was.
pub fn truncate_end(text: &str, columns: usize, ellipsis: &str) -> String {
    if display_width(text) <= columns {
        return text.to_owned();
    }
    let ellipsis_width = display_width(ellipsis);
    let room = columns.saturating_sub(ellipsis_width);
    let end = fitting_prefix_len(text, room);
    let mark = if columns >= ellipsis_width {
        ellipsis
    } else {
        ""
    };
    format!("{}{mark}", text[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(truncate_end("abcdef", 6, "…"), "abcdef");
        assert_eq!(truncate_end("abcdef", 4, "…"), "abc…");
        assert_eq!(truncate_end("日本語", 4, "…"), "日…");
        assert_eq!(truncate_end("abce\u{301}f", 5, "…"), "abce\u{301}f");
        assert_eq!(truncate_end("abce\u{301}fg", 5, "…"), "abce\u{301}…");
        assert_eq!(truncate_end("abcde\u{301}", 4, "…"), "abc…");
        assert_eq!(truncate_end("abc", 0, "…"), "");
        assert_eq!(truncate_start("abcdef", 4, "…"), "…def");
        assert_eq!(truncate_start("日本 語", 4, "…"), "…語");
        assert_eq!(truncate_start("abc", 0, "…"), "");
    }

    #[test]
    fn paths_are_cut_in_their_middle() {
        let path = "src/commands/deeply/nested/tree_rows.rs";
        let cut = |text: &str, columns| {
            let start = text.find("src").unwrap();
            truncate_path(text, start..start + path.len(), columns, "…")
        };
        let read = format!("{path}:5-14");
        assert_eq!(cut(&read, 60), read);
        assert_eq!(cut(&read, 36), "src/…/nested/tree_rows.rs:5-14");
        assert_eq!(cut(&read, 26), "src/…/tree_rows.rs:5-14");
        assert_eq!(cut(&read, 19), "…/tree_rows.rs:5-14");
        assert_eq!(
            cut(&format!("/a b/ in {path}"), 30),
            "/a b/ in src/…/tree_rows.rs"
        );
        assert_eq!(cut(&read, 9), "src/comm…");
        for columns in 0..60 {
            assert!(display_width(&cut(&read, columns)) <= columns, "{columns}");
        }
    }
}
