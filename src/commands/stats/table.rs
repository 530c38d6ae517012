//! Tables for people: grouped digits, a total, small bars on a terminal.

use super::By;
use super::groups::{Group, key_name};
use crate::commands::amounts;
use crate::core::ops::stats::Totals;
use crate::ui::{Failure, Ui, columns, fitted, styled, visible};

/// The maximum width of a bar, and the minimum.
const BAR: usize = 20;
const SHORTEST_BAR: usize = 6;
/// The maximum width of a key if there is space, and if there is not.
const KEY: usize = 48;
const SHORTEST_KEY: usize = 24;

/// Returns the sums of one session, or of all sessions.
pub fn summary(totals: &Totals) -> String {
    let mut out = String::new();
    let mut row = |name: &str, text: String| out += &format!("{name:11}  {text}\n");
    if totals.sessions != 1 {
        row("sessions", grouped(totals.sessions as f64));
    }
    let (users, models, results) = (totals.user_messages, totals.assistant_messages, totals.tool_results);
    row(
        "messages",
        format!(
            "{} ({} user, {} assistant, {} tool results)",
            grouped(totals.messages as f64),
            grouped(users as f64),
            grouped(models as f64),
            grouped(results as f64)
        ),
    );
    row(
        "tools",
        format!(
            "{} calls, {} failed",
            grouped(totals.tool_calls as f64),
            grouped(totals.tool_failures as f64)
        ),
    );
    for (name, tokens) in [
        ("input", totals.input),
        ("output", totals.output),
        ("cache read", totals.cache_read),
        ("cache write", totals.cache_write),
        ("tokens", totals.tokens()),
    ] {
        row(name, grouped(tokens));
    }
    row("cost", cost(totals, decimals(totals.cost)));
    row("time", duration(totals.took_ms));
    row("files", grouped(totals.files() as f64));
    out + &unpriced(totals)
}

/// Returns a note on the part of the cost that is unknown.
fn unpriced(totals: &Totals) -> String {
    match totals.unpriced {
        0 => String::new(),
        count => format!(
            "{} of {} requests unpriced: no cost is recorded for them\n",
            grouped(count as f64),
            grouped(totals.billed as f64)
        ),
    }
}

/// The table of all groups.
pub struct Table<'g> {
    /// The key of the groups.
    pub by: By,
    /// The groups, in order.
    pub groups: &'g [Group],
    /// The sum of all groups.
    pub total: &'g Totals,
}

/// A column of numbers.
struct Column {
    name: &'static str,
    /// Its title if numbers are short.
    short: &'static str,
    cell: fn(&Totals, Numbers) -> String,
    /// The higher, the earlier the column is removed if space is scarce.
    expendable: u8,
}

/// The format of numbers.
#[derive(Clone, Copy)]
struct Numbers {
    /// The number of decimal places of a cost.
    places: usize,
    /// Whether tokens are shortened, as in `12.3k`, to save space.
    is_short: bool,
}

impl Numbers {
    fn tokens(self, count: f64) -> String {
        if self.is_short { amounts::tokens(count) } else { grouped(count) }
    }
}

const fn column(
    [name, short]: [&'static str; 2],
    expendable: u8,
    cell: fn(&Totals, Numbers) -> String,
) -> Column {
    Column { name, short, cell, expendable }
}

const SESSIONS: Column = column(["sessions", "sess"], 7, |totals, _| grouped(totals.sessions as f64));
const MESSAGES: Column = column(["messages", "msgs"], 4, |totals, _| grouped(totals.messages as f64));
const CALLS: Column = column(["calls"; 2], 5, |totals, _| grouped(totals.tool_calls as f64));
const FAILED: Column = column(["failed"; 2], 6, |totals, _| grouped(totals.tool_failures as f64));
const INPUT: Column = column(["input"; 2], 2, |totals, numbers| numbers.tokens(totals.input));
const OUTPUT: Column = column(["output"; 2], 2, |totals, numbers| numbers.tokens(totals.output));
const CACHE_WRITE: Column =
    column(["cache write", "cache w"], 3, |totals, numbers| numbers.tokens(totals.cache_write));
const CACHE_READ: Column =
    column(["cache read", "cache r"], 3, |totals, numbers| numbers.tokens(totals.cache_read));
const TOTAL: Column = column(["total tokens", "total"], 1, |totals, numbers| numbers.tokens(totals.tokens()));
const COST: Column = column(["cost"; 2], 0, |totals, numbers| cost(totals, numbers.places));
const TIME: Column = column(["time"; 2], 8, |totals, _| duration(totals.took_ms));
const FILES: Column = column(["files"; 2], 9, |totals, _| grouped(totals.files() as f64));

/// The columns that fit, with their widths.
struct Layout {
    key: usize,
    columns: Vec<(Column, usize)>,
    numbers: Numbers,
}

impl Layout {
    fn width(&self) -> usize {
        self.key + self.columns.iter().map(|(_, width)| width + 2).sum::<usize>()
    }

    fn line(&self, key: &str, cell: impl Fn(&Column) -> String) -> String {
        let mut line = pad_right(&fitted(key, self.key, "…"), self.key);
        for (column, width) in &self.columns {
            let cell = cell(column);
            line += &format!("  {}{cell}", " ".repeat(width.saturating_sub(columns(&cell))));
        }
        line
    }

    fn header(&self, key: &str) -> String {
        self.line(key, |column| if self.numbers.is_short { column.short } else { column.name }.to_owned())
    }

    fn row(&self, key: &str, totals: &Totals) -> String {
        self.line(key, |column| (column.cell)(totals, self.numbers))
    }
}

impl Table<'_> {
    /// Prints the table, without columns for which there is no space.
    pub fn print(&self, ui: &mut Ui) -> Result<(), Failure> {
        if self.groups.is_empty() {
            return Ok(());
        }
        let keys: Vec<String> = self.groups.iter().map(|group| self.key(group)).collect();
        let room = ui.width().unwrap_or(usize::MAX);
        // A single bar has nothing to be compared with.
        let has_bars = ui.stdout_is_terminal() && self.groups.len() > 1;
        let layout = self.layout(&keys, room.saturating_sub(if has_bars { SHORTEST_BAR + 2 } else { 0 }));
        let bar = room.saturating_sub(layout.width() + 2).min(BAR);
        let bar = if has_bars && bar >= SHORTEST_BAR { bar } else { 0 };
        let most = self.groups.iter().map(|group| self.worth(&group.totals)).fold(0.0, f64::max);
        ui.print(&styled(layout.header(key_name(self.by)).trim_end(), ui.styles.dim))?;
        ui.print("\n")?;
        for (group, key) in self.groups.iter().zip(&keys) {
            let bar = drawn(self.worth(&group.totals) / most, bar);
            let bar = if bar.is_empty() { bar } else { format!("  {}", styled(&bar, ui.styles.active)) };
            ui.print(&format!("{}{bar}\n", layout.row(key, &group.totals)))?;
        }
        if self.groups.len() > 1 {
            ui.print(&format!("{}\n", layout.row("total", self.total)))?;
        }
        ui.print(&unpriced(self.total))
    }

    /// Returns all columns with whole numbers if they fit, else with short numbers, else fewer columns.
    fn layout(&self, keys: &[String], room: usize) -> Layout {
        let widest = keys.iter().map(|key| columns(key)).max().unwrap_or(0);
        let key = widest
            .max(key_name(self.by).len())
            .max("total".len())
            .min(KEY.min(room / 5 * 2).max(SHORTEST_KEY));
        let places = decimals(self.total.cost);
        let mut layout = self.with_numbers(key, Numbers { places, is_short: false });
        if layout.width() > room {
            layout = self.with_numbers(key, Numbers { places, is_short: true });
        }
        while layout.width() > room && layout.columns.len() > 1 {
            let worst = layout.columns.iter().enumerate().max_by_key(|(_, (column, _))| column.expendable);
            let Some((worst, _)) = worst else { break };
            layout.columns.remove(worst);
        }
        layout
    }

    fn with_numbers(&self, key: usize, numbers: Numbers) -> Layout {
        let width = |column: &Column| {
            let name = if numbers.is_short { column.short } else { column.name };
            let cells = self.groups.iter().map(|group| &group.totals).chain([self.total]);
            let widest = cells.map(|totals| columns(&(column.cell)(totals, numbers))).max();
            widest.unwrap_or(0).max(name.len())
        };
        let columns = self.columns().into_iter().map(|column| (width(&column), column));
        Layout { key, columns: columns.map(|(width, column)| (column, width)).collect(), numbers }
    }

    fn key(&self, group: &Group) -> String {
        let none = match self.by {
            By::Model => "(no model)",
            By::Tool => "(no name)",
            By::Project => "(no project)",
            _ => "(no time)",
        };
        group.shown.as_deref().or(group.key.as_deref()).map_or(none.to_owned(), visible)
    }

    /// Returns the columns that are not empty for these groups.
    fn columns(&self) -> Vec<Column> {
        let mut all = vec![
            SESSIONS,
            MESSAGES,
            CALLS,
            FAILED,
            INPUT,
            OUTPUT,
            CACHE_WRITE,
            CACHE_READ,
            TOTAL,
            COST,
            TIME,
            FILES,
        ];
        all.retain(|column| match (self.by, column.name) {
            (By::Session, "sessions") => false,
            (By::Tool, "messages") => false,
            (By::Tool, "input" | "output" | "cache write" | "cache read" | "total tokens" | "cost") => {
                self.total.billed > 0
            }
            _ => true,
        });
        all
    }

    /// Returns the amount that the bar of a group shows.
    fn worth(&self, totals: &Totals) -> f64 {
        match self.by {
            By::Tool => totals.tool_calls as f64,
            _ if self.total.cost > 0.0 => totals.cost,
            _ => totals.tokens(),
        }
    }
}

/// Returns a bar, in eighths of a column.
fn drawn(part: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if !part.is_finite() || part <= 0.0 {
        return String::new();
    }
    let eighths = (part.min(1.0) * columns as f64 * 8.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

fn pad_right(text: &str, width: usize) -> String {
    format!("{text}{}", " ".repeat(width.saturating_sub(columns(text))))
}

/// Returns a whole number with its digits in groups of three.
fn grouped(number: f64) -> String {
    let digits = format!("{:.0}", number);
    let mut out = String::new();
    for (at, digit) in digits.chars().enumerate() {
        let left = digits.len() - at;
        if at > 0 && left % 3 == 0 && !out.ends_with('-') {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns the number of decimal places for an amount of dollars.
fn decimals(cost: f64) -> usize {
    if cost == 0.0 || cost >= 1.0 { 2 } else { 4 }
}

fn cost(totals: &Totals, places: usize) -> String {
    match totals.billed > 0 && totals.billed == totals.unpriced {
        true => "unpriced".to_owned(),
        false => format!("${:.places$}", totals.cost),
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
    fn numbers_read_easily() {
        assert_eq!(
            [0.0, 999.0, 1000.0, 1234567.0, -1000.0].map(grouped),
            ["0", "999", "1,000", "1,234,567", "-1,000"]
        );
        assert_eq!(
            [0, 59_999, 60_000, 3_599_000, 90_000_000].map(duration),
            ["0s", "59s", "1m00s", "59m59s", "25h00m"]
        );
    }

    #[test]
    fn bars_are_drawn_in_eighths() {
        assert_eq!([0.0, 0.05, 0.5, 1.0, f64::NAN].map(|part| drawn(part, 4)), ["", "▎", "██", "████", ""]);
    }
}
