//! The appearance of human-readable rows: colours, width, glyphs.

use super::clock::Clock;
use super::visible::is_plain;
use crate::options::ColorChoice;
use owo_colors::{OwoColorize, Style};
use std::io::{self, Write};
use std::ops::Range;
use std::sync::{Mutex, PoisonError};
use std::thread;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Styles for text; all plain by default.
#[derive(Clone, Copy, Debug, Default)]
pub struct Styles {
    /// Ids, times and connectors.
    pub dim: Style,
    /// The glyphs for the active path and the leaf.
    pub active: Style,
    /// Labels.
    pub label: Style,
    /// User messages.
    pub user: Style,
    /// Messages of the model.
    pub assistant: Style,
    /// Errors.
    pub error: Style,
    /// Summaries.
    pub summary: Style,
    /// Search matches.
    pub hit: Style,
}

impl Styles {
    /// Returns the styles for `--color` and for whether the stream should be coloured.
    pub fn new(color: ColorChoice, wants_colour: bool) -> Styles {
        match color {
            ColorChoice::Always => Styles::coloured(),
            ColorChoice::Auto if wants_colour => Styles::coloured(),
            ColorChoice::Auto | ColorChoice::Never => Styles::default(),
        }
    }

    fn coloured() -> Styles {
        Styles {
            dim: Style::new().dimmed(),
            active: Style::new().cyan(),
            label: Style::new().yellow(),
            user: Style::new().cyan().bold(),
            assistant: Style::new().green(),
            error: Style::new().red(),
            summary: Style::new().magenta(),
            hit: Style::new().red().bold(),
        }
    }
}

/// The characters rows are drawn with.
#[derive(Clone, Copy, Debug)]
pub struct Glyphs {
    /// Connects a sibling that is not the last.
    pub tee: &'static str,
    /// Connects the last sibling.
    pub corner: &'static str,
    /// Continues a connector past other rows.
    pub bar: &'static str,
    /// Marks entries on the active path.
    pub bullet: &'static str,
    /// Follows the leaf.
    pub leaf: &'static str,
    /// Replaces text that was cut off.
    pub ellipsis: &'static str,
}

impl Glyphs {
    /// The glyphs that pi uses.
    pub const UNICODE: Glyphs =
        Glyphs {
            tee: "├─ ", corner: "└─ ", bar: "│  ", bullet: "• ", leaf: "← active", ellipsis: "…"
        };
    /// Glyphs in ASCII only.
    pub const ASCII: Glyphs =
        Glyphs { tee: "|- ", corner: "`- ", bar: "|  ", bullet: "* ", leaf: "<- active", ellipsis: "..." };
}

/// A buffer in which rows are drawn, one after the other.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The text drawn so far.
    pub text: String,
    /// The width of the terminal, if there is one.
    pub width: Option<usize>,
    /// The columns left in the row being drawn; `None` if rows are not cut.
    pub left: Option<usize>,
    /// Replaces text that was cut off.
    pub ellipsis: &'static str,
    start: usize,
    /// A reusable buffer for the parts of a row.
    pub part: String,
    /// Formats the times of the rows, if they have any.
    pub clock: Option<Clock>,
}

impl Rows {
    /// Returns an empty buffer.
    pub fn new(width: Option<usize>, ellipsis: &'static str, clock: Option<Clock>) -> Rows {
        Rows { text: String::new(), width, left: width, ellipsis, start: 0, part: String::new(), clock }
    }

    /// Starts a row.
    pub fn begin(&mut self) {
        self.start = self.text.len();
        self.left = self.width;
    }

    /// Ends the row, trimming trailing spaces.
    pub fn end(&mut self) {
        let row = &self.text[self.start..];
        self.text.truncate(self.start + row.trim_end_matches(' ').len());
        self.text.push('\n');
    }

    /// Appends the part as far as it fits, and clears it for the next.
    pub fn put_part(&mut self, style: Style) {
        let part = std::mem::take(&mut self.part);
        self.put(&part, style);
        self.part = part;
        self.part.clear();
    }

    /// Appends the text as far as it fits.
    pub fn put(&mut self, text: &str, style: Style) {
        match self.left {
            None => push_styled(&mut self.text, text, style),
            Some(left) => {
                push_styled(&mut self.text, &fitted(text, left, self.ellipsis), style);
                self.left = Some(left.saturating_sub(columns(text)));
            }
        }
    }
}

/// The number of rows that a thread draws at a time.
pub const STRETCH: usize = 8192;

/// Draws stretches of `count` rows on as many threads as there are `pens`, and writes them in order.
///
/// # Errors
/// If writing fails.
pub fn draw_stretches(
    pens: &mut [Rows],
    count: usize,
    draw: &(dyn Fn(&mut Rows, Range<usize>) + Sync),
    out: &mut dyn Write,
) -> io::Result<()> {
    let round = STRETCH * pens.len();
    for start in (0..count).step_by(round) {
        let stretch = |at: usize| start + at * STRETCH..count.min(start + (at + 1) * STRETCH);
        let threads = pens.len();
        let jobs = Mutex::new(pens.iter_mut().enumerate().filter(|(at, _)| !stretch(*at).is_empty()));
        let next = || jobs.lock().unwrap_or_else(PoisonError::into_inner).next();
        let work = || {
            while let Some((at, pen)) = next() {
                draw(pen, stretch(at));
            }
        };
        thread::scope(|scope| {
            // This thread draws as well, and draws everything if no other thread can be started.
            let start = |_: &usize| thread::Builder::new().spawn_scoped(scope, work).is_ok();
            (1..threads).take_while(start).for_each(drop);
            work();
        });
        for pen in &mut *pens {
            out.write_all(pen.text.as_bytes())?;
            pen.text.clear();
        }
    }
    Ok(())
}

/// Returns a pen for each processor, or one pen if there is little to draw.
pub fn pens(pen: Rows, count: usize, processors: usize) -> Vec<Rows> {
    vec![pen; if count > STRETCH { processors.max(1) } else { 1 }]
}

fn push_styled(out: &mut String, text: &str, style: Style) {
    if style == Style::default() {
        out.push_str(text);
    } else {
        *out += &styled(text, style);
    }
}

/// Returns the text with its style applied.
pub fn styled(text: &str, style: Style) -> String {
    match text.is_empty() || style == Style::default() {
        true => text.to_owned(),
        false => text.style(style).to_string(),
    }
}

/// Returns the number of columns that the text occupies.
pub fn columns(text: &str) -> usize {
    if is_plain(text) { text.len() } else { text.width() }
}

/// Returns the text cut to `columns`, with an ellipsis if anything was cut off.
pub fn fitted(text: &str, columns: usize, ellipsis: &str) -> String {
    if self::columns(text) <= columns {
        return text.to_owned();
    }
    let room = columns.saturating_sub(ellipsis.width());
    let mut used = 0;
    let end = text
        .grapheme_indices(true)
        .find(|(_, grapheme)| {
            used += grapheme.width();
            used > room
        })
        .map_or(text.len(), |(at, _)| at);
    let mark = if columns >= ellipsis.width() { ellipsis } else { "" };
    format!("{}{mark}", text[..end].trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_characters_count_twice() {
        assert_eq!(fitted("abcdef", 6, "…"), "abcdef");
        assert_eq!(fitted("abcdef", 4, "…"), "abc…");
        assert_eq!(fitted("日本語", 4, "…"), "日…");
        assert_eq!(fitted("abc", 0, "…"), "");
    }
}
