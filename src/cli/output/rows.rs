//! The appearance of rows for people: colours, width, glyphs, truncation.

use crate::cli::options::ColorChoice;
use crate::cli::output::clock::{Clock, DateAndTime};
use crate::cli::output::links::link_text;
pub use crate::format::display_width;
use crate::format::{is_printable_ascii, push_visible};
use owo_colors::{OwoColorize, Style};
use pisess_json::text::Text;
use std::io::Write;
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;

/// The styles for text. By default, all are plain.
#[derive(Clone, Copy, Debug, Default)]
pub struct Styles {
    /// For times, connectors, tools, and the rest of ids after their prefixes.
    pub dim: Style,
    /// For the shortest prefix of an id that names the entry.
    pub id_prefix: Style,
    /// For the glyphs of the active path and of the leaf.
    pub active: Style,
    pub label: Style,
    pub user: Style,
    pub assistant: Style,
    pub error: Style,
    pub summary: Style,
    /// For matches of a search.
    pub hit: Style,
    pub bold: Style,
    /// For the titles of columns.
    pub heading: Style,
    /// For text that only the left side has.
    pub removed: Style,
    /// For text that only the right side has.
    pub added: Style,
}

impl Styles {
    /// Returns the styles for `--color`. For `auto`, `wants_colour` decides.
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

    /// Whether the styles have colour, so that text can be highlighted.
    pub fn has_colour(&self) -> bool {
        !self.dim.is_plain()
    }
}

/// The characters with which rows are drawn.
#[derive(Clone, Copy, Debug)]
pub struct Glyphs {
    /// Connects a sibling that is followed by another one.
    pub tee: &'static str,
    /// Connects the last sibling.
    pub corner: &'static str,
    /// The same two, for a sibling that is folded together with everything below it.
    pub folded_tee: &'static str,
    pub folded_corner: &'static str,
    /// Continues a connector beside other rows, down to the next sibling.
    pub bar: &'static str,
    /// Marks entries on the active path.
    pub bullet: &'static str,
    /// Marks the leaf. Follows its text.
    pub leaf: &'static str,
    /// Marks an entry that is drawn as the leaf without being the leaf. Follows its text.
    pub drawn_leaf: &'static str,
    /// Precedes a row that represents several rows.
    pub fold: &'static str,
    /// One column of a horizontal rule.
    pub rule: &'static str,
    /// Separates facts.
    pub dot: &'static str,
    /// Replaces truncated text.
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

/// A buffer in which rows are drawn, one after another. A row consists of parts, each with a style.
#[derive(Clone, Debug, Default)]
pub struct RowBuffer {
    /// The text drawn so far, including the current part.
    pub text: Vec<u8>,
    /// The maximum width of a row; `None` if rows are not truncated.
    pub width: Option<usize>,
    /// The remaining columns of the current row; `None` if rows are not truncated.
    pub columns_left: Option<usize>,
    /// Replaces truncated text.
    pub ellipsis: &'static str,
    /// The offset of the current row in `text`.
    row_start: usize,
    /// The offset of the current part in `text`.
    part_start: usize,
    /// Formats the times of rows; `None` if rows have no times.
    pub clock: Option<Clock>,
    /// The date of the previous row. A row with the same date does not repeat it.
    previous_date: String,
    /// The last formatted minute, and its date and time of day. Most rows are in the same minute as
    /// the row above, so that formatting is saved.
    cached_minute: Option<i64>,
    cached: DateAndTime,
}

/// The time (in 1973) from which on all time zones differ from UTC by whole minutes.
const WHOLE_MINUTES_SINCE_MS: i64 = 100_000_000_000;

impl RowBuffer {
    /// Returns an empty buffer. Rows are truncated to `width` columns, ending with `ellipsis`.
    /// Without a width, rows are not truncated.
    pub fn new(width: Option<usize>, ellipsis: &'static str, clock: Option<Clock>) -> RowBuffer {
        RowBuffer {
            width,
            columns_left: width,
            ellipsis,
            clock,
            ..RowBuffer::default()
        }
    }

    /// Sets the time of the row above, whose date the next row need not repeat. With `None`, the
    /// next row shows its date.
    pub fn set_previous_time(&mut self, time_ms: Option<i64>) {
        let date = self
            .clock
            .as_ref()
            .zip(time_ms)
            .map(|(clock, time)| clock.format_date_and_time(time).date);
        self.previous_date = date.unwrap_or_default();
    }

    /// Appends a time to the current part. Its date is replaced by spaces if the previous row has
    /// the same date. Appends nothing if the buffer has no clock.
    pub fn push_time(&mut self, time_ms: i64) {
        let Some(clock) = &self.clock else { return };
        // Two times in the same minute of UTC have the same text, because that is also one minute
        // of local time. Before 1973, it may be parts of two local minutes.
        let utc_minute = Some(time_ms.div_euclid(60_000));
        let is_one_local_minute = time_ms >= WHOLE_MINUTES_SINCE_MS;
        let is_cached = self.cached_minute == utc_minute && is_one_local_minute;
        if !is_cached {
            self.cached = clock.format_date_and_time(time_ms);
            self.cached_minute = utc_minute;
        }

        let date = &self.cached.date;
        if *date == self.previous_date {
            let end_of_spaces = self.text.len() + date.len();
            self.text.resize(end_of_spaces, b' ');
        } else {
            self.text.extend_from_slice(date.as_bytes());
            self.previous_date.clone_from(date);
        }
        self.text.push(b' ');
        self.text.extend_from_slice(self.cached.time.as_bytes());
    }

    /// Appends a text to the current part, as it is.
    pub fn push_str(&mut self, text: &str) {
        self.text.extend_from_slice(text.as_bytes());
    }

    /// Appends a text to the current part, escaped.
    pub fn push_text(&mut self, text: &Text) {
        if is_printable_ascii(text.as_bytes()) {
            return self.text.extend_from_slice(text.as_bytes());
        }
        let mut shown = String::new();
        push_visible(&mut shown, &text.to_string_lossy());
        self.push_str(&shown);
    }

    /// Appends a number to the current part, right-aligned in `width` columns.
    pub fn push_number(&mut self, number: usize, width: usize) {
        // Writing to memory cannot fail.
        let _ = write!(self.text, "{number:>width$}");
    }

    /// Pads the current part with spaces to `width` columns.
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

    /// Ends the row, and removes trailing spaces.
    pub fn end_row(&mut self) {
        let len = self.text[self.row_start..].trim_ascii_end().len();
        self.text.truncate(self.row_start + len);
        self.text.push(b'\n');
    }

    /// Ends the current part: applies its style, and truncates it if it does not fit.
    pub fn finish_part(&mut self, style: Style) {
        // Without a style and without truncation, the part stays as it was appended.
        if self.columns_left.is_some() || style != Style::default() {
            let part = self.text.split_off(self.part_start);
            return self.push_part(&String::from_utf8_lossy(&part), style);
        }
        self.part_start = self.text.len();
    }

    /// Appends a complete part, truncated to the remaining columns of the row. The previous part
    /// must be finished.
    pub fn push_part(&mut self, text: &str, style: Style) {
        self.push_linked_part(text, style, None);
    }

    /// Keeps columns of the row free for a later part, until [`Self::release_columns`].
    pub fn reserve_columns(&mut self, columns: usize) {
        if let Some(left) = &mut self.columns_left {
            *left = left.saturating_sub(columns);
        }
    }

    /// Lets the next part use columns that were reserved.
    pub fn release_columns(&mut self, columns: usize) {
        if let Some(left) = &mut self.columns_left {
            *left += columns;
        }
    }

    /// Appends a complete part as [`Self::push_part`] does. With an address, the part is a link.
    /// Lowers [`RowBuffer::columns_left`] by the width of the part.
    pub fn push_linked_part(&mut self, text: &str, style: Style, address: Option<&str>) {
        debug_assert_eq!(
            self.part_start,
            self.text.len(),
            "the previous part is not finished"
        );
        let mut truncated = None;
        if let Some(left) = self.columns_left {
            let width = display_width(text);
            if width > left {
                truncated = Some(truncate_end(text, left, self.ellipsis));
            }
            self.columns_left = Some(left.saturating_sub(width));
        }

        // Escape sequences of styles and links take no columns, so they are added only now.
        let shown = truncated.as_deref().unwrap_or(text);
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

/// Appends a text in a style.
pub fn push_styled(text: &str, style: Style, out: &mut Vec<u8>) {
    if text.is_empty() || style == Style::default() {
        out.extend_from_slice(text.as_bytes());
    } else {
        // Writing to memory cannot fail.
        let _ = write!(out, "{}", text.style(style));
    }
}

/// The characters that separate the names of a path, on any system.
pub const SEPARATORS: [char; 2] = ['/', '\\'];

/// The minimum width of the last name of a path that is truncated in its middle. If less than that
/// and less than the whole name fits, the path is truncated at its end.
const LEAST_NAME_COLUMNS: usize = 12;

/// The maximum number of bytes of a partial directory name that is dropped after the ellipsis.
const MOST_PARTIAL_NAME_BYTES: usize = 12;

/// Truncates the path at `path_range` of a text in its middle, so that the text fits into
/// `most_columns`: `read src/cli/output/rows.rs` becomes `read src/…/rows.rs`. The file's name and
/// the text around the path are kept. If that is impossible, truncates the text at its end.
pub fn truncate_path(
    text: &str,
    path_range: Range<usize>,
    most_columns: usize,
    ellipsis: &str,
) -> String {
    if display_width(text) <= most_columns {
        return text.to_owned();
    }
    let before = &text[..path_range.start];
    let after = &text[path_range.end..];
    let path = &text[path_range];
    // The separator before the name counts as part of it.
    let name_start = path.rfind(SEPARATORS).unwrap_or(0);
    let name_columns = display_width(&path[name_start..]);

    // What the text around the path and the ellipsis leave of the columns.
    let other_columns = display_width(before) + display_width(ellipsis) + display_width(after);
    let room = most_columns.saturating_sub(other_columns);
    if room < name_columns.min(LEAST_NAME_COLUMNS) {
        return truncate_end(text, most_columns, ellipsis);
    }
    let (head, tail) = ends_of_path(path, name_columns, room);
    format!("{before}{head}{ellipsis}{tail}{after}")
}

/// Returns the beginning and the end of a path, which together fit into `room` columns. The path
/// itself is wider. For example, `src/cli/output/rows.rs` and 13 columns give `src/` and
/// `/rows.rs`. The last name of the path, which takes `name_columns`, comes first: the beginning
/// gets only columns that the name leaves.
fn ends_of_path(path: &str, name_columns: usize, room: usize) -> (&str, &str) {
    let columns_beside_name = room.saturating_sub(name_columns);
    let head_room = columns_beside_name.min(room / 3);
    let head = &path[..fitting_prefix_len(path, head_room)];
    let tail_room = room - display_width(head);
    let tail_bytes = fitting_bytes(path.graphemes(true).rev(), tail_room);
    let tail = &path[path.len() - tail_bytes..];

    // Directory names are kept whole: the head ends with a separator, and the tail begins with one.
    // A partial name remains in the tail if dropping it would lose too much.
    let whole_head = match head.rfind(SEPARATORS) {
        Some(separator) => &head[..=separator],
        None => head,
    };
    let whole_tail = match tail.find(SEPARATORS) {
        Some(partial_len) if partial_len < MOST_PARTIAL_NAME_BYTES => &tail[partial_len..],
        Some(_) | None => tail,
    };
    (whole_head, whole_tail)
}

/// Returns the length in bytes of the first graphemes that together fit into `most_columns`.
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

/// Returns the length in bytes of the longest prefix of a text that fits into `columns`. Graphemes
/// are not divided.
fn fitting_prefix_len(text: &str, columns: usize) -> usize {
    // A printable ASCII character is a grapheme of one column if another one follows.
    let is_printable_ascii = |byte: &u8| matches!(byte, b' '..=b'~');
    match text.as_bytes().get(..=columns) {
        Some(head) if head.iter().all(is_printable_ascii) => columns,
        _ => fitting_bytes(text.graphemes(true), columns),
    }
}

/// Truncates a text at its start to `columns`. An ellipsis replaces the removed part.
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

/// Truncates a text at its end to `columns`. An ellipsis replaces the removed part.
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
