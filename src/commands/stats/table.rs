//! The tables for people: grouped digits, a total, small bars on a terminal.

use super::groups::{By, Group, Groups, group_json, key_name, row};
use crate::cli::output::{Cell, Column, Failure, Table, Ui, columns, fitted_path, plain, visible};
use crate::format::{decimals, dollars, grouped, tokens};
use crate::ops::stats::Totals;
use crate::session::paths::below_home;
use owo_colors::Style;
use pisess_json::write::Object;

/// The maximum width of a bar, and the minimum.
const BAR: usize = 20;
const SHORTEST_BAR: usize = 6;
/// The maximum width of a key if there is space, and of all keys if there is not.
const KEY: usize = 48;
const SHORTEST_KEY: usize = 24;
/// Figures that are more expendable than this leave their space to keys.
const MAIN: u8 = 2;
/// The width of the columns beside a file, with the end of one id.
const BESIDE_FILE: usize = 35;

fn print_summary(totals: &Totals, ui: &mut Ui) -> Result<(), Failure> {
    let mut table = Table::new([Column::text(""); 2]);
    let mut row = |name: &str, text: String| table.texts([name.to_owned(), text]);
    if totals.sessions != 1 {
        row("sessions", grouped(totals.sessions as f64));
    }
    let counts = [
        totals.messages,
        totals.user_messages,
        totals.assistant_messages,
        totals.tool_results,
    ];
    let [all, users, models, results] = counts.map(|count| grouped(count as f64));
    row(
        "messages",
        format!("{all} ({users} user, {models} assistant, {results} tool results)"),
    );
    let [calls, failed] =
        [totals.tool_calls, totals.tool_failures].map(|count| grouped(count as f64));
    row("tools", format!("{calls} calls, {failed} failed"));
    for (name, tokens) in [
        ("input", totals.usage.input),
        ("output", totals.usage.output),
        ("cache read", totals.usage.cache_read),
        ("cache write", totals.usage.cache_write),
        ("tokens", totals.usage.tokens()),
    ] {
        row(name, grouped(tokens));
    }
    row("cost", cost(totals, decimals(totals.usage.cost)));
    row("time", duration(totals.took_ms));
    row("files", grouped(totals.files() as f64));
    table.print(ui)?;
    ui.print(&unpriced(totals))
}

/// Returns notes on the parts of the cost that are estimated or unknown.
fn unpriced(totals: &Totals) -> String {
    let usage = &totals.usage;
    let mut notes = String::new();
    if usage.estimated > 0.0 {
        notes += &format!("~ {} of the cost is estimated\n", dollars(usage.estimated));
    }
    if usage.unpriced > 0 {
        notes += &format!(
            "{} of {} requests unpriced: no cost is recorded for them\n",
            grouped(usage.unpriced as f64),
            grouped(usage.billed as f64)
        );
    }
    notes
}

#[derive(Clone, Copy)]
struct Figure {
    name: &'static str,
    /// Its title if numbers are short.
    short: &'static str,
    cell: fn(&Totals, &Layout) -> String,
    /// The higher, the earlier the figure is removed if space is scarce.
    expendable: u8,
}

struct Layout {
    keys: Vec<usize>,
    figures: Vec<Figure>,
    /// The number of decimal places of a cost.
    places: usize,
    /// Whether tokens are shortened, as in `12.3k`, to save space.
    is_short: bool,
    /// Whether no key is shortened that would have space on a wide terminal.
    is_whole: bool,
}

impl Layout {
    fn tokens(&self, count: f64) -> String {
        if self.is_short {
            tokens(count)
        } else {
            grouped(count)
        }
    }
}

const fn figure(
    [name, short]: [&'static str; 2],
    expendable: u8,
    cell: fn(&Totals, &Layout) -> String,
) -> Figure {
    Figure {
        name,
        short,
        cell,
        expendable,
    }
}

const FIGURES: [Figure; 14] = [
    figure(["sessions", "sess"], 7, |totals, _| {
        grouped(totals.sessions as f64)
    }),
    figure(["messages", "msgs"], 4, |totals, _| {
        grouped(totals.messages as f64)
    }),
    figure(["reads"; 2], 1, |totals, _| grouped(totals.reads as f64)),
    figure(["writes"; 2], 1, |totals, _| grouped(totals.writes as f64)),
    figure(["calls"; 2], 5, |totals, _| {
        grouped(totals.tool_calls as f64)
    }),
    figure(["failed"; 2], 6, |totals, _| {
        grouped(totals.tool_failures as f64)
    }),
    figure(["input"; 2], 2, |totals, layout| {
        layout.tokens(totals.usage.input)
    }),
    figure(["output"; 2], 2, |totals, layout| {
        layout.tokens(totals.usage.output)
    }),
    figure(["cache write", "cache w"], 3, |totals, layout| {
        layout.tokens(totals.usage.cache_write)
    }),
    figure(["cache read", "cache r"], 3, |totals, layout| {
        layout.tokens(totals.usage.cache_read)
    }),
    figure(["total tokens", "total"], 1, |totals, layout| {
        layout.tokens(totals.usage.tokens())
    }),
    figure(["cost"; 2], 0, |totals, layout| cost(totals, layout.places)),
    figure(["time"; 2], 8, |totals, _| duration(totals.took_ms)),
    figure(["files"; 2], 9, |totals, _| grouped(totals.files() as f64)),
];

impl Groups {
    /// Prints the sums, or those of each group.
    pub fn print(mut self, json: bool, ui: &mut Ui) -> Result<(), Failure> {
        self.sort();
        let is_grouped = !self.by.is_empty();
        if !json {
            return if is_grouped {
                self.print_table(ui)
            } else {
                print_summary(&self.total, ui)
            };
        }
        if !is_grouped {
            return ui.print_json(&row(Object::new(), &self.total));
        }
        for group in &self.list {
            ui.print_json(&group_json(&self.by, group))?;
        }
        Ok(())
    }

    /// Prints the table, without figures for which there is no space.
    fn print_table(&self, ui: &mut Ui) -> Result<(), Failure> {
        if self.by == [By::File] {
            return self.files(ui.width()).print(ui);
        }
        let room = ui.width().unwrap_or(usize::MAX);
        // A single bar has nothing to be compared with.
        let may_have_bars = ui.stdout_is_terminal() && self.list.len() > 1;
        let mut layout_beside_bars = None;
        if may_have_bars {
            let layout = self.layout(room.saturating_sub(SHORTEST_BAR + 2), true);
            // The bars give way to keys.
            if layout.is_whole {
                layout_beside_bars = Some(layout);
            }
        }
        let has_bars = layout_beside_bars.is_some();
        let layout = layout_beside_bars.unwrap_or_else(|| self.layout(room, false));

        let left = room.saturating_sub(self.table(&layout, None).width() + 2);
        let bar_width = left.min(BAR);
        let bar = if has_bars && bar_width >= SHORTEST_BAR {
            Some((bar_width, ui.styles.active))
        } else {
            None
        };
        self.table(&layout, bar).print(ui)?;
        ui.print(&unpriced(&self.total))
    }

    /// Returns all figures with whole numbers if they fit, else with short numbers, else fewer
    /// figures. Keys take two fifths, and more if the figures leave it: all of them, or without
    /// bars the main ones.
    fn layout(&self, room: usize, has_bars: bool) -> Layout {
        let widths: Vec<_> = (0..self.by.len()).map(|at| self.widest(at)).collect();
        let mut layout = Layout {
            keys: vec![0; widths.len()],
            figures: self.figures(),
            places: decimals(self.total.usage.cost),
            is_short: true,
            is_whole: true,
        };
        if room == usize::MAX {
            // In a pipe, no key is cut.
            layout.keys = vec![room; widths.len()];
            layout.is_short = false;
            return layout;
        }

        // The keys take what short numbers leave.
        if !has_bars {
            layout.figures.retain(|figure| figure.expendable <= MAIN);
        }
        let left = room.saturating_sub(self.table(&layout, None).width());
        let two_fifths = room / 5 * 2;
        layout.keys = shares(&widths, left.max(two_fifths.max(SHORTEST_KEY)));
        layout.is_whole = layout
            .keys
            .iter()
            .zip(&widths)
            .all(|(key, width)| key >= width);

        // The figures take the rest.
        layout.figures = self.figures();
        layout.is_short = false;
        layout.is_short = self.table(&layout, None).width() > room;
        while self.table(&layout, None).width() > room && layout.figures.len() > 1 {
            let most_expendable = layout
                .figures
                .iter()
                .enumerate()
                .max_by_key(|(_, figure)| figure.expendable);
            let Some((at, _)) = most_expendable else {
                break;
            };
            layout.figures.remove(at);
        }
        layout
    }

    fn widest(&self, at: usize) -> usize {
        let keys = self.list.iter().map(|group| columns(&self.key(group, at)));
        keys.max().unwrap_or(0).max(columns("total")).min(KEY)
    }

    /// Returns the table, with bars of this width and style.
    fn table(&self, layout: &Layout, bar: Option<(usize, Style)>) -> Table {
        let mut columns = Vec::new();
        for (&by, &most) in self.by.iter().zip(&layout.keys) {
            columns.push(Column::text(key_name(by)).at_most(most));
        }
        for figure in &layout.figures {
            let name = if layout.is_short {
                figure.short
            } else {
                figure.name
            };
            columns.push(Column::number(name));
        }
        if bar.is_some() {
            columns.push(Column::text(""));
        }
        let mut table = Table::new(columns);

        let mut highest: f64 = 0.0;
        for group in &self.list {
            highest = highest.max(self.worth(&group.totals));
        }
        for group in &self.list {
            let mut row = Vec::new();
            for (at, &most) in layout.keys.iter().enumerate() {
                row.push(plain(self.fitted(group, at, most)));
            }
            push_figures(&mut row, layout, &group.totals);
            if let Some((bar, style)) = bar {
                let part = self.worth(&group.totals) / highest;
                row.push(vec![(drawn(part, bar), style)]);
            }
            table.row(row);
        }
        if self.list.len() > 1 {
            let mut row = vec![plain("total".to_owned())];
            row.resize(self.by.len(), plain(String::new()));
            push_figures(&mut row, layout, &self.total);
            table.row(row);
        }
        table
    }

    /// Returns the table of files, with the ends of the ids of their sessions.
    fn files(&self, width: Option<usize>) -> Table {
        // In a pipe, no path is cut.
        let longest_path = match width {
            Some(width) => width
                .saturating_sub(BESIDE_FILE)
                .clamp(SHORTEST_KEY, KEY + SHORTEST_KEY),
            None => usize::MAX,
        };
        let mut table = Table::new([
            Column::text("file"),
            Column::number("reads"),
            Column::number("writes"),
            Column::number("sessions"),
            Column::text("in").cut(),
        ]);
        for group in &self.list {
            let ids: Vec<_> = group.sessions.iter().map(|(_, id)| visible(id)).collect();
            table.texts([
                self.fitted(group, 0, longest_path),
                grouped(group.totals.reads as f64),
                grouped(group.totals.writes as f64),
                grouped(group.totals.sessions as f64),
                ids.join(" "),
            ]);
        }
        table
    }

    /// Returns a key in at most this width if its end can be kept: without the provider of a model,
    /// or without directories of a path.
    fn fitted(&self, group: &Group, at: usize, most: usize) -> String {
        let key = self.key(group, at);
        if columns(&key) <= most {
            return key;
        }
        match self.by[at] {
            By::Model => match key.split_once('/') {
                Some((_provider, model)) => model.to_owned(),
                None => key.clone(),
            },
            By::Project | By::File => fitted_path(&key, 0..key.len(), most, "…"),
            _ => key,
        }
    }

    /// Returns a key as the table shows it; a note in parentheses if the group does not have it.
    fn key(&self, group: &Group, at: usize) -> String {
        let missing = match self.by[at] {
            By::Model => "(no model)",
            By::Tool => "(no name)",
            By::Project => "(no project)",
            _ => "(no time)",
        };
        let key = match (self.by[at], &group.keys[at]) {
            (By::Session, _) => group.name.clone(),
            (By::Project | By::File, Some(path)) => Some(below_home(path, self.home.as_deref())),
            (_, key) => key.clone(),
        };
        match key {
            Some(key) => visible(&key),
            None => missing.to_owned(),
        }
    }

    /// Returns the figures that are not empty for these groups.
    fn figures(&self) -> Vec<Figure> {
        let is_by = |by| self.by.contains(&by);
        let mut shown = Vec::new();
        for figure in FIGURES {
            let is_shown = match figure.name {
                "sessions" => !is_by(By::Session),
                "messages" => !is_by(By::Tool) && !is_by(By::File),
                "reads" | "writes" => is_by(By::File),
                "calls" | "failed" | "time" | "files" => !is_by(By::File),
                // Tools have usage only if they made requests of their own.
                _ if is_by(By::File) => false,
                _ => !is_by(By::Tool) || self.total.usage.billed > 0,
            };
            if is_shown {
                shown.push(figure);
            }
        }
        shown
    }

    /// Returns the amount that the bar of a group shows.
    fn worth(&self, totals: &Totals) -> f64 {
        let counts_calls = self.by.contains(&By::Tool) || self.by.contains(&By::File);
        if counts_calls {
            totals.tool_calls as f64
        } else if self.total.usage.cost > 0.0 {
            totals.usage.cost
        } else {
            totals.usage.tokens()
        }
    }
}

/// Adds the cells of the figures of these totals to a row.
fn push_figures(row: &mut Vec<Cell>, layout: &Layout, totals: &Totals) {
    for figure in &layout.figures {
        row.push(plain((figure.cell)(totals, layout)));
    }
}

/// Returns the widths of columns that need `widths` and have `room` together: those that need less
/// than their share leave the rest to the others.
fn shares(widths: &[usize], room: usize) -> Vec<usize> {
    let all: usize = widths.iter().sum();
    let equal_share = room / widths.len().max(1);
    let mut shares = Vec::new();
    for &width in widths {
        let left_by_others = room.saturating_sub(all - width);
        shares.push(width.min(equal_share.max(left_by_others)));
    }
    shares
}

/// Returns a bar for a part (1 is the whole) of this many columns, in eighths of a column. Empty if
/// the part is not a positive number.
fn drawn(part: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if !part.is_finite() || part <= 0.0 {
        return String::new();
    }
    let eighths = (part.min(1.0) * columns as f64 * 8.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Returns a cost in dollars, after `~` if a part of it is estimated; `unpriced` if there are billed
/// requests, but none with a price.
fn cost(totals: &Totals, places: usize) -> String {
    if totals.usage.billed > 0 && totals.usage.billed == totals.usage.unpriced {
        "unpriced".to_owned()
    } else {
        let estimated = if totals.usage.estimated > 0.0 {
            "~"
        } else {
            ""
        };
        format!("{estimated}${:.places$}", totals.usage.cost)
    }
}

/// Returns a duration in its two largest units.
fn duration(ms: i64) -> String {
    let seconds = ms / 1000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, seconds) => format!("{seconds}s"),
        (0, minutes, seconds) => format!("{minutes}m{seconds:02}s"),
        (hours, minutes, _) => format!("{hours}h{minutes:02}m"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_easily() {
        assert_eq!(
            [0, 59_999, 60_000, 3_599_000, 90_000_000].map(duration),
            ["0s", "59s", "1m00s", "59m59s", "25h00m"]
        );
    }

    #[test]
    fn bars_are_drawn_in_eighths() {
        assert_eq!(
            [0.0, 0.05, 0.5, 1.0, f64::NAN].map(|part| drawn(part, 4)),
            ["", "▎", "██", "████", ""]
        );
    }
}
