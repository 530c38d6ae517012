//! How rows for people look: colour, width, marks.

use super::clock::Clock;
use super::visible::is_plain;
use crate::options::ColorChoice;
use owo_colors::{OwoColorize, Style};
use std::io::{self, Write};
use std::ops::Range;
use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

/// Colours; all plain unless they are wanted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Styles {
    /// Ids, times, connectors.
    pub dim: Style,
    /// The marks of the active path and the leaf.
    pub active: Style,
    /// Labels.
    pub label: Style,
    /// What the person said.
    pub user: Style,
    /// What the model said.
    pub assistant: Style,
    /// Errors.
    pub error: Style,
    /// Summaries.
    pub summary: Style,
}

impl Styles {
    /// For `--color` and a stream that wants colour or not.
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
        }
    }
}

/// The characters rows are drawn with.
#[derive(Clone, Copy, Debug)]
pub struct Glyphs {
    /// Leads to a sibling that has others below it.
    pub tee: &'static str,
    /// Leads to the last sibling.
    pub corner: &'static str,
    /// Passes by.
    pub bar: &'static str,
    /// Stands on the active path.
    pub bullet: &'static str,
    /// Stands behind the leaf.
    pub leaf: &'static str,
    /// Stands for what was cut off.
    pub ellipsis: &'static str,
}

impl Glyphs {
    /// As pi draws.
    pub const UNICODE: Glyphs =
        Glyphs {
            tee: "├─ ", corner: "└─ ", bar: "│  ", bullet: "• ", leaf: "← active", ellipsis: "…"
        };
    /// Without anything beyond ASCII.
    pub const ASCII: Glyphs =
        Glyphs { tee: "|- ", corner: "`- ", bar: "|  ", bullet: "* ", leaf: "<- active", ellipsis: "..." };
}

/// Rows being drawn, one behind the other.
#[derive(Clone, Debug)]
pub struct Rows {
    /// What they say so far.
    pub text: String,
    /// Columns of the terminal, where there is one.
    pub width: Option<usize>,
    /// Columns that are free in the row being drawn; without a terminal the row is whole.
    pub left: Option<usize>,
    /// Stands for what was cut off.
    pub ellipsis: &'static str,
    start: usize,
    /// Room to make the parts of a row in, used again and again.
    pub part: String,
    /// Tells the times of the rows, where they have any.
    pub clock: Option<Clock>,
}

impl Rows {
    /// None yet.
    pub fn new(width: Option<usize>, ellipsis: &'static str, clock: Option<Clock>) -> Rows {
        Rows { text: String::new(), width, left: width, ellipsis, start: 0, part: String::new(), clock }
    }

    /// Starts a row.
    pub fn begin(&mut self) {
        self.start = self.text.len();
        self.left = self.width;
    }

    /// Ends the row, without spaces at its end.
    pub fn end(&mut self) {
        let row = &self.text[self.start..];
        self.text.truncate(self.start + row.trim_end_matches(' ').len());
        self.text.push('\n');
    }

    /// Appends the part, as far as it fits, and makes room for the next.
    pub fn put_part(&mut self, style: Style) {
        let part = std::mem::take(&mut self.part);
        self.put(&part, style);
        self.part = part;
        self.part.clear();
    }

    /// Appends what fits of the text.
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

/// Rows that one thread draws at a time.
pub const STRETCH: usize = 8192;

/// Draws stretches of `count` rows on as many threads as there are `pens`, and writes them in order.
///
/// # Errors
/// Where writing fails.
pub fn draw_stretches(
    pens: &mut [Rows],
    count: usize,
    draw: &(dyn Fn(&mut Rows, Range<usize>) + Sync),
    out: &mut dyn Write,
) -> io::Result<()> {
    let round = STRETCH * pens.len();
    for start in (0..count).step_by(round) {
        let stretch = |at: usize| start + at * STRETCH..count.min(start + (at + 1) * STRETCH);
        std::thread::scope(|scope| {
            let mut jobs = pens.iter_mut().enumerate().filter(|(at, _)| !stretch(*at).is_empty());
            let mine = jobs.next();
            for (at, pen) in jobs {
                scope.spawn(move || draw(pen, stretch(at)));
            }
            if let Some((at, pen)) = mine {
                draw(pen, stretch(at));
            }
        });
        for pen in &mut *pens {
            out.write_all(pen.text.as_bytes())?;
            pen.text.clear();
        }
    }
    Ok(())
}

/// A pen for each processor, one where there is little to draw.
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

/// The text in its colour.
pub fn styled(text: &str, style: Style) -> String {
    match text.is_empty() || style == Style::default() {
        true => text.to_owned(),
        false => text.style(style).to_string(),
    }
}

/// How many columns the text takes.
pub fn columns(text: &str) -> usize {
    if is_plain(text) { text.len() } else { text.width() }
}

/// The text cut to `columns`, with a mark where something was cut off.
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
