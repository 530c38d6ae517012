//! A list of sessions for people.

use super::age::age;
use crate::core::ops::list::{Listed, Row};
use crate::core::paths::{below_home, name};
use crate::ui::{Clock, Failure, Styles, Ui, columns, fitted, styled, visible};
use owo_colors::Style;
use std::collections::HashSet;
use std::path::Path;

/// The width from which times and directories are shown in full.
const WIDE: usize = 110;
/// The width of the project column if space is scarce.
const PROJECT: usize = 12;
/// The number of characters shown from the end of an id, unless more are needed to distinguish ids.
pub const ID: usize = 8;
/// The columns before the title; numbers are aligned to the right.
const HEADER: [&str; 9] = ["", "age", "time", "id", "project", "msgs", "br", "context", "cost"];
const RIGHT: [usize; 5] = [1, 5, 6, 7, 8];

/// The data that rows depend on, besides the list.
pub struct Look<'a> {
    /// The current time in milliseconds since 1970.
    pub now: i64,
    /// The session that `last` names.
    pub last: Option<&'a Path>,
}

/// Prints the rows of a list, with a header.
pub fn print(list: &[Listed], rows: &[Row], look: &Look, ui: &mut Ui) -> Result<(), Failure> {
    if rows.is_empty() {
        return Ok(());
    }
    let width = ui.width();
    let is_wide = width.is_none_or(|width| width >= WIDE);
    let shape = Shape {
        look,
        list,
        is_wide,
        id: id_length(list),
        has_projects: list.iter().any(|session| session.cwd != list[0].cwd),
        clock: Clock::new(ui),
        home: ui.home(),
    };
    let cells: Vec<Cells> = rows.iter().map(|row| shape.cells(row)).collect();
    let styles = ui.styles;
    let header = Cells { columns: HEADER.map(str::to_owned), title: "name or first user message".to_owned() };
    let header = Cells { columns: shape.shown(header.columns), ..header };
    let widths = widths(&cells, &header);
    ui.print(&header.line(&widths, width, &[styles.dim; 10]))?;
    for (row, cells) in rows.iter().zip(&cells) {
        ui.print(&cells.line(&widths, width, &row_styles(&list[row.at], &styles)))?;
    }
    Ok(())
}

/// The properties that the rows of a list share.
struct Shape<'a> {
    look: &'a Look<'a>,
    list: &'a [Listed],
    is_wide: bool,
    /// The number of characters shown from the end of an id.
    id: usize,
    has_projects: bool,
    clock: Clock,
    home: Option<String>,
}

/// The cells of one row.
struct Cells {
    columns: [String; HEADER.len()],
    title: String,
}

impl Shape<'_> {
    fn cells(&self, row: &Row) -> Cells {
        let session = &self.list[row.at];
        let is_last = self.look.last == Some(&session.path);
        let columns = [
            (if is_last { "*" } else { "" }).to_owned(),
            age(self.look.now, session.modified).replace(' ', ""),
            self.clock.text(session.modified),
            visible(id_end(&session.id.to_string_lossy(), self.id)),
            self.project(session),
            session.messages.to_string(),
            session.branches.to_string(),
            session.context.map_or("-".to_owned(), short),
            cost(session),
        ];
        Cells { columns: self.shown(columns), title: title(session, row) }
    }

    /// Removes columns that have no information or no space.
    fn shown(&self, mut columns: [String; HEADER.len()]) -> [String; HEADER.len()] {
        if !self.is_wide {
            columns[2].clear();
        }
        if !self.has_projects {
            columns[4].clear();
        }
        columns
    }

    /// Returns the directory, with `~` for the home directory; only its last part if space is scarce.
    fn project(&self, session: &Listed) -> String {
        let cwd = session.cwd.to_string_lossy();
        if !self.is_wide {
            return fitted(&visible(name(&cwd)), PROJECT, "…");
        }
        visible(&below_home(&cwd, self.home.as_deref()))
    }
}

impl Cells {
    fn line(&self, widths: &[usize], width: Option<usize>, styles: &[Style]) -> String {
        let mut line = String::new();
        let mut used = 0;
        for (at, (cell, &column)) in self.columns.iter().zip(widths).enumerate() {
            if column == 0 {
                continue;
            }
            let blank = " ".repeat(column.saturating_sub(columns(cell)));
            let gap = if at == 0 { " " } else { "  " };
            let (before, behind) = match RIGHT.contains(&at) {
                true => (blank, gap.to_owned()),
                false => (String::new(), blank + gap),
            };
            for (text, style) in
                [(&before, Style::default()), (cell, styles[at]), (&behind, Style::default())]
            {
                let room = width.map_or(usize::MAX, |width| width.saturating_sub(used));
                let text = fitted_exactly(text, room);
                used += columns(&text);
                line += &styled(&text, style);
            }
        }
        let room = width.map_or(usize::MAX, |width| width.saturating_sub(used));
        line += &styled(&fitted(&self.title, room, "…"), styles[HEADER.len()]);
        format!("{}\n", line.trim_end())
    }
}

/// Returns a text truncated to the width; trailing spaces are kept.
fn fitted_exactly(text: &str, room: usize) -> String {
    if columns(text) <= room { text.to_owned() } else { fitted(text, room, "") }
}

fn widths(cells: &[Cells], header: &Cells) -> Vec<usize> {
    let width = |at: usize| {
        let widest = cells.iter().map(|cells| columns(&cells.columns[at])).max().unwrap_or(0);
        // A column without content has no header either, except for the mark.
        if widest == 0 { usize::from(at == 0) } else { widest.max(columns(&header.columns[at])) }
    };
    (0..HEADER.len()).map(width).collect()
}

fn row_styles(session: &Listed, styles: &Styles) -> [Style; HEADER.len() + 1] {
    let plain = Style::default();
    let title = if session.name.is_some() { styles.label } else { plain };
    [styles.active, plain, styles.dim, styles.dim, plain, plain, plain, plain, plain, title]
}

/// Returns the name or the first user message, after the marks of the row's position.
fn title(session: &Listed, row: &Row) -> String {
    let branch = match (row.depth, row.is_last) {
        (0, _) => String::new(),
        (depth, true) => format!("{}└─ ", "   ".repeat(depth.min(24) - 1)),
        (depth, false) => format!("{}├─ ", "   ".repeat(depth.min(24) - 1)),
    };
    let agent = session.owner.as_ref().and_then(|_| session.path.file_stem());
    let agent = agent.map(|stem| format!("{}: ", stem.to_string_lossy().trim_start_matches('_')));
    let text = session.title();
    let text = match (session.messages, text.is_empty()) {
        (0, true) => "(no messages)".into(),
        (_, true) => "(no text)".into(),
        _ => text.to_string_lossy(),
    };
    visible(&format!("{branch}{}{}", agent.unwrap_or_default(), text.trim()))
}

/// Returns the number of characters from the end that distinguish all ids.
fn id_length(list: &[Listed]) -> usize {
    let tells_apart = |&length: &usize| {
        let mut seen = HashSet::new();
        list.iter().all(|session| seen.insert(id_end(&session.id.to_string_lossy(), length).to_owned()))
    };
    [ID, ID + 4].into_iter().find(tells_apart).unwrap_or(ID)
}

/// Returns the last characters of an id, by which a session can be named.
pub fn id_end(id: &str, length: usize) -> &str {
    id.char_indices().rev().nth(length - 1).map_or(id, |(at, _)| &id[at..])
}

/// Returns a number of tokens in four characters: `950`, `9.8k`, `120k`, `1.2M`.
fn short(number: f64) -> String {
    match number {
        n if n < 1000.0 => format!("{n:.0}"),
        n if n < 9950.0 => format!("{:.1}k", n / 1e3),
        n if n < 999_500.0 => format!("{:.0}k", n / 1e3),
        n if n < 9_950_000.0 => format!("{:.1}M", n / 1e6),
        n => format!("{:.0}M", n / 1e6),
    }
}

/// Returns dollars; `-` if no response has a cost, followed by `+` if only some have.
fn cost(session: &Listed) -> String {
    let usage = &session.usage;
    let some = if usage.unpriced > 0 { "+" } else { "" };
    match usage.cost {
        cost if cost <= 0.0 && usage.unpriced > 0 => "-".to_owned(),
        cost if cost <= 0.0 && usage.total() <= 0.0 => "-".to_owned(),
        cost if cost < 99.995 => format!("${cost:.2}{some}"),
        cost => format!("${cost:.0}{some}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_take_four_characters() {
        let numbers = [0.0, 999.0, 1000.0, 9949.0, 9950.0, 120_400.0, 999_499.0, 999_500.0, 12e6];
        let shown = ["0", "999", "1.0k", "9.9k", "10k", "120k", "999k", "1.0M", "12M"];
        assert_eq!(numbers.map(short), shown);
    }

    #[test]
    fn ids_end_where_they_should() {
        assert_eq!(id_end("0199-abcdefgh", 8), "abcdefgh");
        assert_eq!((id_end("abc", 8), id_end("", 8), id_end("éé", 1)), ("abc", "", "é"));
    }
}
