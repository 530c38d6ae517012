//! How rows for people look: colour, width, marks.

use super::visible::is_plain;
use crate::cli::{ColorChoice, Talk};
use crate::world::World;
use owo_colors::{OwoColorize, Style};
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
    /// For standard output: `--color` and `NO_COLOR` meet here.
    pub fn of(talk: &Talk, world: &World) -> Styles {
        let no_color = (world.env)("NO_COLOR").is_some_and(|value| !value.is_empty());
        let dumb = (world.env)("TERM").is_some_and(|term| term == "dumb");
        match talk.color {
            ColorChoice::Always => Styles::coloured(),
            ColorChoice::Auto if world.terminals.stdout && !no_color && !dumb => Styles::coloured(),
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

/// A row being drawn.
#[derive(Debug)]
pub struct Row {
    /// What it says so far.
    pub text: String,
    /// Columns of the terminal that are free; without a terminal the row is whole.
    pub left: Option<usize>,
    /// Stands for what was cut off.
    pub ellipsis: &'static str,
}

impl Row {
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

fn push_styled(out: &mut String, text: &str, style: Style) {
    if text.is_empty() {
        return;
    }
    if style == Style::default() {
        out.push_str(text);
    } else {
        *out += &text.style(style).to_string();
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
