//! The tables for people: grouped digits, a total, small bars on a terminal.

use super::groups::{GroupKey, StatsGroup, StatsGroups, group_json, key_name, totals_json};
use crate::cli::output::{
    Cell, Column, Failure, Table, Ui, display_width, plain_cell, to_visible, truncate_path,
};
use crate::format::{format_dollars, format_tokens, group_digits, price_decimals};
use crate::ops::stats::Totals;
use crate::session::paths::abbreviate_home;
use owo_colors::Style;
use pisess_json::write::Object;

/// The maximum width of a bar, and the minimum.
const MAX_BAR_WIDTH: usize = 20;
const MIN_BAR_WIDTH: usize = 6;
/// The maximum width of a key if there is space, and of all keys if there is not.
const MAX_KEY_WIDTH: usize = 48;
const MIN_KEY_WIDTH: usize = 24;
/// Figures that are more expendable than this leave their space to keys.
const MAX_MAIN_EXPENDABILITY: u8 = 2;
/// The width of the columns beside a file, with the end of one id.
const WIDTH_BESIDE_FILE: usize = 35;

fn print_summary(totals: &Totals, ui: &mut Ui) -> Result<(), Failure> {
    let mut table = Table::new([Column::text(""); 2]);
    let mut row = |name: &str, text: String| table.add_text_row([name.to_owned(), text]);
    if totals.sessions != 1 {
        row("sessions", group_digits(totals.sessions as f64));
    }
    let counts = [
        totals.messages,
        totals.user_messages,
        totals.assistant_messages,
        totals.tool_results,
    ];
    let [all, users, models, results] = counts.map(|count| group_digits(count as f64));
    row(
        "messages",
        format!("{all} ({users} user, {models} assistant, {results} tool results)"),
    );
    let [calls, failed] =
        [totals.tool_calls, totals.tool_failures].map(|count| group_digits(count as f64));
    row("tools", format!("{calls} calls, {failed} failed"));
    for (name, tokens) in [
        ("input", totals.usage.input),
        ("output", totals.usage.output),
        ("cache read", totals.usage.cache_read),
        ("cache write", totals.usage.cache_write),
        ("tokens", totals.usage.total_tokens()),
    ] {
        row(name, group_digits(tokens));
    }
    row(
        "cost",
        format_cost(totals, price_decimals(totals.usage.cost)),
    );
    row("time", format_duration(totals.took_ms));
    row("files", group_digits(totals.changed_file_count() as f64));
    table.print(ui)?;
    ui.print(&cost_notes(totals))
}

/// Returns notes on the parts of the cost that are estimated or unknown.
fn cost_notes(totals: &Totals) -> String {
    let usage = &totals.usage;
    let mut notes = String::new();
    if usage.estimated_cost > 0.0 {
        notes += &format!(
            "~ {} of the cost is estimated\n",
            format_dollars(usage.estimated_cost)
        );
    }
    if usage.unpriced_count > 0 {
        notes += &format!(
            "{} of {} requests unpriced: no cost is recorded for them\n",
            group_digits(usage.unpriced_count as f64),
            group_digits(usage.request_count as f64)
        );
    }
    notes
}

#[derive(Clone, Copy)]
struct FigureColumn {
    title: &'static str,
    /// Its title if numbers are short.
    short_title: &'static str,
    format_cell: fn(&Totals, &TableLayout) -> String,
    /// The higher, the earlier the figure is removed if space is scarce.
    expendability: u8,
}

struct TableLayout {
    key_widths: Vec<usize>,
    figures: Vec<FigureColumn>,
    /// The number of decimal places of a cost.
    decimal_places: usize,
    /// Whether tokens are shortened, as in `12.3k`, to save space.
    shortens_tokens: bool,
    /// Whether no key is shortened that would have space on a wide terminal.
    shows_whole_keys: bool,
}

impl TableLayout {
    fn format_tokens(&self, count: f64) -> String {
        if self.shortens_tokens {
            format_tokens(count)
        } else {
            group_digits(count)
        }
    }
}

const fn new_figure(
    [name, short]: [&'static str; 2],
    expendable: u8,
    cell: fn(&Totals, &TableLayout) -> String,
) -> FigureColumn {
    FigureColumn {
        title: name,
        short_title: short,
        format_cell: cell,
        expendability: expendable,
    }
}

const FIGURES: [FigureColumn; 14] = [
    new_figure(["sessions", "sess"], 7, |totals, _| {
        group_digits(totals.sessions as f64)
    }),
    new_figure(["messages", "msgs"], 4, |totals, _| {
        group_digits(totals.messages as f64)
    }),
    new_figure(["reads"; 2], 1, |totals, _| {
        group_digits(totals.reads as f64)
    }),
    new_figure(["writes"; 2], 1, |totals, _| {
        group_digits(totals.writes as f64)
    }),
    new_figure(["calls"; 2], 5, |totals, _| {
        group_digits(totals.tool_calls as f64)
    }),
    new_figure(["failed"; 2], 6, |totals, _| {
        group_digits(totals.tool_failures as f64)
    }),
    new_figure(["input"; 2], 2, |totals, layout| {
        layout.format_tokens(totals.usage.input)
    }),
    new_figure(["output"; 2], 2, |totals, layout| {
        layout.format_tokens(totals.usage.output)
    }),
    new_figure(["cache write", "cache w"], 3, |totals, layout| {
        layout.format_tokens(totals.usage.cache_write)
    }),
    new_figure(["cache read", "cache r"], 3, |totals, layout| {
        layout.format_tokens(totals.usage.cache_read)
    }),
    new_figure(["total tokens", "total"], 1, |totals, layout| {
        layout.format_tokens(totals.usage.total_tokens())
    }),
    new_figure(["cost"; 2], 0, |totals, layout| {
        format_cost(totals, layout.decimal_places)
    }),
    new_figure(["time"; 2], 8, |totals, _| format_duration(totals.took_ms)),
    new_figure(["files"; 2], 9, |totals, _| {
        group_digits(totals.changed_file_count() as f64)
    }),
];

impl StatsGroups {
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
            return ui.print_json(&totals_json(Object::new(), &self.total));
        }
        for group in &self.groups {
            ui.print_json(&group_json(&self.by, group))?;
        }
        Ok(())
    }

    /// Prints the table, without figures for which there is no space.
    fn print_table(&self, ui: &mut Ui) -> Result<(), Failure> {
        if self.by == [GroupKey::File] {
            return self.build_file_table(ui.row_width()).print(ui);
        }
        let room = ui.row_width().unwrap_or(usize::MAX);
        // A single bar has nothing to be compared with.
        let may_have_bars = ui.stdout_is_terminal() && self.groups.len() > 1;
        let mut layout_beside_bars = None;
        if may_have_bars {
            let layout = self.choose_layout(room.saturating_sub(MIN_BAR_WIDTH + 2), true);
            // The bars give way to keys.
            if layout.shows_whole_keys {
                layout_beside_bars = Some(layout);
            }
        }
        let has_bars = layout_beside_bars.is_some();
        let layout = layout_beside_bars.unwrap_or_else(|| self.choose_layout(room, false));

        let spare_width = room.saturating_sub(self.build_table(&layout, None).natural_width() + 2);
        let bar_width = spare_width.min(MAX_BAR_WIDTH);
        let bar = if has_bars && bar_width >= MIN_BAR_WIDTH {
            Some((bar_width, ui.styles.active))
        } else {
            None
        };
        self.build_table(&layout, bar).print(ui)?;
        ui.print(&cost_notes(&self.total))
    }

    /// Returns all figures with whole numbers if they fit, else with short numbers, else fewer
    /// figures. Keys take two fifths, and more if the figures leave it: all of them, or without
    /// bars the main ones.
    fn choose_layout(&self, room: usize, has_bars: bool) -> TableLayout {
        let widths: Vec<_> = (0..self.by.len()).map(|at| self.widest_key(at)).collect();
        let mut layout = TableLayout {
            key_widths: vec![0; widths.len()],
            figures: self.relevant_figures(),
            decimal_places: price_decimals(self.total.usage.cost),
            shortens_tokens: true,
            shows_whole_keys: true,
        };
        if room == usize::MAX {
            // In a pipe, no key is cut.
            layout.key_widths = vec![room; widths.len()];
            layout.shortens_tokens = false;
            return layout;
        }

        // The keys take what short numbers leave.
        if !has_bars {
            layout
                .figures
                .retain(|figure| figure.expendability <= MAX_MAIN_EXPENDABILITY);
        }
        let spare_width = room.saturating_sub(self.build_table(&layout, None).natural_width());
        let two_fifths = room / 5 * 2;
        layout.key_widths = share_width(&widths, spare_width.max(two_fifths.max(MIN_KEY_WIDTH)));
        layout.shows_whole_keys = layout
            .key_widths
            .iter()
            .zip(&widths)
            .all(|(key, width)| key >= width);

        // The figures take the rest.
        layout.figures = self.relevant_figures();
        layout.shortens_tokens = false;
        layout.shortens_tokens = self.build_table(&layout, None).natural_width() > room;
        while self.build_table(&layout, None).natural_width() > room && layout.figures.len() > 1 {
            let most_expendable = layout
                .figures
                .iter()
                .enumerate()
                .max_by_key(|(_, figure)| figure.expendability);
            let Some((at, _)) = most_expendable else {
                break;
            };
            layout.figures.remove(at);
        }
        layout
    }

    fn widest_key(&self, key_index: usize) -> usize {
        let keys = self
            .groups
            .iter()
            .map(|group| display_width(&self.key_text(group, key_index)));
        keys.max()
            .unwrap_or(0)
            .max(display_width("total"))
            .min(MAX_KEY_WIDTH)
    }

    /// Returns the table, with bars of this width and style.
    fn build_table(&self, layout: &TableLayout, bar_size: Option<(usize, Style)>) -> Table {
        let mut columns = Vec::new();
        for (&by, &most) in self.by.iter().zip(&layout.key_widths) {
            columns.push(Column::text(key_name(by)).with_max_width(most));
        }
        for figure in &layout.figures {
            let name = if layout.shortens_tokens {
                figure.short_title
            } else {
                figure.title
            };
            columns.push(Column::number(name));
        }
        if bar_size.is_some() {
            columns.push(Column::text(""));
        }
        let mut table = Table::new(columns);

        let mut highest: f64 = 0.0;
        for group in &self.groups {
            highest = highest.max(self.bar_value(&group.totals));
        }
        for group in &self.groups {
            let mut row = Vec::new();
            for (at, &most) in layout.key_widths.iter().enumerate() {
                row.push(plain_cell(self.fit_key(group, at, most)));
            }
            push_figures(&mut row, layout, &group.totals);
            if let Some((bar, style)) = bar_size {
                let fraction = self.bar_value(&group.totals) / highest;
                row.push(vec![(draw_bar(fraction, bar), style)]);
            }
            table.add_row(row);
        }
        if self.groups.len() > 1 {
            let mut row = vec![plain_cell("total".to_owned())];
            row.resize(self.by.len(), plain_cell(String::new()));
            push_figures(&mut row, layout, &self.total);
            table.add_row(row);
        }
        table
    }

    /// Returns the table of files, with the ends of the ids of their sessions.
    fn build_file_table(&self, width: Option<usize>) -> Table {
        // In a pipe, no path is cut.
        let longest_path = match width {
            Some(width) => width
                .saturating_sub(WIDTH_BESIDE_FILE)
                .clamp(MIN_KEY_WIDTH, MAX_KEY_WIDTH + MIN_KEY_WIDTH),
            None => usize::MAX,
        };
        let mut table = Table::new([
            Column::text("file"),
            Column::number("reads"),
            Column::number("writes"),
            Column::number("sessions"),
            Column::text("in").allow_shrink(),
        ]);
        for group in &self.groups {
            let ids: Vec<_> = group
                .sessions
                .iter()
                .map(|(_, id)| to_visible(id))
                .collect();
            table.add_text_row([
                self.fit_key(group, 0, longest_path),
                group_digits(group.totals.reads as f64),
                group_digits(group.totals.writes as f64),
                group_digits(group.totals.sessions as f64),
                ids.join(" "),
            ]);
        }
        table
    }

    /// Returns a key in at most this width if its end can be kept: without the provider of a model,
    /// or without directories of a path.
    fn fit_key(&self, group: &StatsGroup, key_index: usize, max_width: usize) -> String {
        let key = self.key_text(group, key_index);
        if display_width(&key) <= max_width {
            return key;
        }
        match self.by[key_index] {
            GroupKey::Model => match key.split_once('/') {
                Some((_provider, model)) => model.to_owned(),
                None => key.clone(),
            },
            GroupKey::Project | GroupKey::File => truncate_path(&key, 0..key.len(), max_width, "…"),
            _ => key,
        }
    }

    /// Returns a key as the table shows it; a note in parentheses if the group does not have it.
    fn key_text(&self, group: &StatsGroup, key_index: usize) -> String {
        let missing = match self.by[key_index] {
            GroupKey::Model => "(no model)",
            GroupKey::Tool => "(no name)",
            GroupKey::Project => "(no project)",
            _ => "(no time)",
        };
        let key = match (self.by[key_index], &group.keys[key_index]) {
            (GroupKey::Session, _) => group.name.clone(),
            (GroupKey::Project | GroupKey::File, Some(path)) => {
                Some(abbreviate_home(path, self.home.as_deref()))
            }
            (_, key) => key.clone(),
        };
        match key {
            Some(key) => to_visible(&key),
            None => missing.to_owned(),
        }
    }

    /// Returns the figures that are not empty for these groups.
    fn relevant_figures(&self) -> Vec<FigureColumn> {
        let is_by = |by| self.by.contains(&by);
        let mut figures = Vec::new();
        for figure in FIGURES {
            let is_shown = match figure.title {
                "sessions" => !is_by(GroupKey::Session),
                "messages" => !is_by(GroupKey::Tool) && !is_by(GroupKey::File),
                "reads" | "writes" => is_by(GroupKey::File),
                "calls" | "failed" | "time" | "files" => !is_by(GroupKey::File),
                // Tools have usage only if they made requests of their own.
                _ if is_by(GroupKey::File) => false,
                _ => !is_by(GroupKey::Tool) || self.total.usage.request_count > 0,
            };
            if is_shown {
                figures.push(figure);
            }
        }
        figures
    }

    /// Returns the amount that the bar of a group shows.
    fn bar_value(&self, totals: &Totals) -> f64 {
        let counts_calls = self.by.contains(&GroupKey::Tool) || self.by.contains(&GroupKey::File);
        if counts_calls {
            totals.tool_calls as f64
        } else if self.total.usage.cost > 0.0 {
            totals.usage.cost
        } else {
            totals.usage.total_tokens()
        }
    }
}

/// Adds the cells of the figures of these totals to a row.
fn push_figures(row: &mut Vec<Cell>, layout: &TableLayout, totals: &Totals) {
    for figure in &layout.figures {
        row.push(plain_cell((figure.format_cell)(totals, layout)));
    }
}

/// Returns the widths of columns that need `widths` and have `room` together: those that need less
/// than their share leave the rest to the others.
fn share_width(widths: &[usize], room: usize) -> Vec<usize> {
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
fn draw_bar(fraction: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if !fraction.is_finite() || fraction <= 0.0 {
        return String::new();
    }
    let eighths = (fraction.min(1.0) * columns as f64 * 8.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Returns a cost in dollars, after `~` if a part of it is estimated; `unpriced` if there are
/// billed requests, but none with a price.
fn format_cost(totals: &Totals, places: usize) -> String {
    if totals.usage.request_count > 0 && totals.usage.request_count == totals.usage.unpriced_count {
        "unpriced".to_owned()
    } else {
        let estimated = if totals.usage.estimated_cost > 0.0 {
            "~"
        } else {
            ""
        };
        format!("{estimated}${:.places$}", totals.usage.cost)
    }
}

/// Returns a duration in its two largest units.
fn format_duration(ms: i64) -> String {
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
            [0, 59_999, 60_000, 3_599_000, 90_000_000].map(format_duration),
            ["0s", "59s", "1m00s", "59m59s", "25h00m"]
        );
    }

    #[test]
    fn bars_are_drawn_in_eighths() {
        assert_eq!(
            [0.0, 0.05, 0.5, 1.0, f64::NAN].map(|part| draw_bar(part, 4)),
            ["", "▎", "██", "████", ""]
        );
    }
}
