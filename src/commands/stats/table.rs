//! Prints sums as tables for people: with grouped digits, a total, and on a terminal small bars.

use super::groups::{GroupKey, StatsGroup, StatsGroups, group_json, key_name, totals_json};
use crate::cli::output::{
    COLUMN_GAP, Cell, Column, Failure, Table, Ui, display_width, plain_cell, to_visible,
    truncate_path,
};
use crate::format::{format_dollars, format_small_dollars, format_tokens, group_digits};
use crate::ops::stats::Totals;
use crate::session::paths::abbreviate_home;
use owo_colors::Style;
use pisess_json::write::Object;
use std::path::Path;

/// The maximum width of a bar and, below, the minimum, in columns.
const MAX_BAR_WIDTH: usize = 20;
const MIN_BAR_WIDTH: usize = 6;
/// The maximum width of a key, in columns; and, below, the minimum width of all keys together.
const MAX_KEY_WIDTH: usize = 48;
const MIN_KEY_WIDTH: usize = 24;
/// Figures that are at most this expendable are the main ones. The others leave their space to
/// keys.
const MAX_MAIN_EXPENDABILITY: u8 = 2;
/// The width of the columns beside a file, including the suffix of one id.
const WIDTH_BESIDE_FILE: usize = 50;

/// Prints the sums of all entries, each on a line, as pi's `/session` does; then the notes. The
/// number of sessions is left out if it is 1.
fn print_summary(totals: &Totals, notes: &str, ui: &mut Ui) -> Result<(), Failure> {
    let mut table = Table::new([Column::text(""); 2]);
    if totals.sessions != 1 {
        add_summary_row(&mut table, "sessions", group_digits(totals.sessions as f64));
    }
    add_summary_row(&mut table, "messages", describe_messages(totals));
    add_summary_row(&mut table, "tools", describe_tools(totals));
    for (name, tokens) in [
        ("input", totals.usage.input),
        ("output", totals.usage.output),
        ("cache read", totals.usage.cache_read),
        ("cache write", totals.usage.cache_write),
        ("tokens", totals.usage.total_tokens()),
    ] {
        add_summary_row(&mut table, name, group_digits(tokens));
    }
    // A single number has room for digits, and is not compared with others.
    let format_dollar_amount = if totals.usage.cost < SMALL_COST {
        format_small_dollars
    } else {
        format_dollars
    };
    let cost = format_cost(totals, format_dollar_amount);
    add_summary_row(&mut table, "cost", cost);
    add_summary_row(&mut table, "time", format_duration(totals.took_ms));
    let file_count = group_digits(totals.changed_file_count() as f64);
    add_summary_row(&mut table, "files", file_count);
    table.print(ui)?;
    ui.print(notes)
}

/// Returns the number of messages: `7 (2 user, 3 assistant, 2 tool results)`.
fn describe_messages(totals: &Totals) -> String {
    format!(
        "{} ({} user, {} assistant, {} {})",
        group_digits(totals.messages as f64),
        group_digits(totals.user_messages as f64),
        group_digits(totals.assistant_messages as f64),
        group_digits(totals.tool_results as f64),
        noun_for(totals.tool_results, "tool result", "tool results")
    )
}

/// Returns the number of tool calls: `12 calls, 1 failed`.
fn describe_tools(totals: &Totals) -> String {
    format!(
        "{} {}, {} failed",
        group_digits(totals.tool_calls as f64),
        noun_for(totals.tool_calls, "call", "calls"),
        group_digits(totals.tool_failures as f64)
    )
}

fn noun_for(count: u64, singular: &'static str, plural: &'static str) -> &'static str {
    if count == 1 { singular } else { plural }
}

/// Adds a row with the name of a sum and its value.
fn add_summary_row(table: &mut Table, name: &str, value: String) {
    table.add_text_row([name.to_owned(), value]);
}

/// A column with one figure of each group.
#[derive(Clone, Copy)]
struct FigureColumn {
    kind: FigureKind,
    title: &'static str,
    /// The title if numbers of tokens are abbreviated.
    short_title: &'static str,
    format_cell: fn(&Totals, &TableLayout) -> String,
    /// The rank by which the figure is removed if space is scarce, the highest first.
    expendability: u8,
}

/// What a figure counts. Each kind is shown only for some keys.
#[derive(Clone, Copy)]
enum FigureKind {
    Sessions,
    Messages,
    /// Reads and writes of a file.
    FileAccess,
    /// Tool calls, with the time they took and the files they changed.
    Work,
    /// Tokens and cost of requests.
    Usage,
}

/// The columns of a table, and the format of their numbers.
struct TableLayout {
    key_widths: Vec<usize>,
    figures: Vec<FigureColumn>,
    /// Whether numbers of tokens are abbreviated to save space, as in `12.3k`.
    shortens_tokens: bool,
    /// Whether costs have four decimal digits, because all of them are small.
    shows_small_costs: bool,
    /// Whether every key has the width that it would have on a wide terminal.
    shows_whole_keys: bool,
}

/// Costs are printed with four decimal digits if one of them is below `SMALL_COST`, and none is
/// above `MAX_COST_WITH_DIGITS`, both in dollars.
const SMALL_COST: f64 = 0.1;
const MAX_COST_WITH_DIGITS: f64 = 1.0;

impl TableLayout {
    /// Removes the figure with the highest expendability. Does nothing if there is no figure.
    fn remove_most_expendable_figure(&mut self) {
        let most_expendable = self
            .figures
            .iter()
            .enumerate()
            .max_by_key(|(_, figure)| figure.expendability);
        if let Some((index, _)) = most_expendable {
            self.figures.remove(index);
        }
    }

    fn format_cost(&self, totals: &Totals) -> String {
        if self.shows_small_costs {
            format_cost(totals, format_small_dollars)
        } else {
            format_cost(totals, format_dollars)
        }
    }

    fn format_tokens(&self, count: f64) -> String {
        if self.shortens_tokens {
            format_tokens(count)
        } else {
            group_digits(count)
        }
    }
}

impl FigureColumn {
    /// Returns a column with the same title in every table. The figure with the largest
    /// `expendability` is the first to be left out of a narrow table.
    const fn new(
        kind: FigureKind,
        title: &'static str,
        expendability: u8,
        format_cell: fn(&Totals, &TableLayout) -> String,
    ) -> FigureColumn {
        FigureColumn {
            kind,
            title,
            short_title: title,
            format_cell,
            expendability,
        }
    }

    /// Sets the title for tables with abbreviated numbers.
    const fn with_short_title(mut self, short_title: &'static str) -> FigureColumn {
        self.short_title = short_title;
        self
    }
}

/// All figures, from left to right.
const FIGURES: [FigureColumn; 16] = [
    FigureColumn::new(FigureKind::Sessions, "sessions", 7, |totals, _| {
        group_digits(totals.sessions as f64)
    })
    .with_short_title("sess"),
    FigureColumn::new(FigureKind::Messages, "messages", 5, |totals, _| {
        group_digits(totals.messages as f64)
    })
    .with_short_title("msgs"),
    FigureColumn::new(FigureKind::Messages, "by user", 4, |totals, _| {
        group_digits(totals.user_messages as f64)
    })
    .with_short_title("user"),
    FigureColumn::new(FigureKind::FileAccess, "reads", 1, |totals, _| {
        group_digits(totals.reads as f64)
    }),
    FigureColumn::new(FigureKind::FileAccess, "writes", 1, |totals, _| {
        group_digits(totals.writes as f64)
    }),
    FigureColumn::new(FigureKind::FileAccess, "failed", 1, |totals, _| {
        group_digits(totals.tool_failures as f64)
    }),
    FigureColumn::new(FigureKind::Work, "calls", 5, |totals, _| {
        group_digits(totals.tool_calls as f64)
    }),
    FigureColumn::new(FigureKind::Work, "failed", 6, |totals, _| {
        group_digits(totals.tool_failures as f64)
    }),
    FigureColumn::new(FigureKind::Usage, "input", 2, |totals, layout| {
        layout.format_tokens(totals.usage.input)
    }),
    FigureColumn::new(FigureKind::Usage, "output", 2, |totals, layout| {
        layout.format_tokens(totals.usage.output)
    }),
    FigureColumn::new(FigureKind::Usage, "cache write", 3, |totals, layout| {
        layout.format_tokens(totals.usage.cache_write)
    })
    .with_short_title("cache w"),
    FigureColumn::new(FigureKind::Usage, "cache read", 3, |totals, layout| {
        layout.format_tokens(totals.usage.cache_read)
    })
    .with_short_title("cache r"),
    FigureColumn::new(FigureKind::Usage, "total tokens", 1, |totals, layout| {
        layout.format_tokens(totals.usage.total_tokens())
    })
    .with_short_title("total"),
    FigureColumn::new(FigureKind::Usage, "cost", 0, |totals, layout| {
        layout.format_cost(totals)
    }),
    FigureColumn::new(FigureKind::Work, "time", 8, |totals, _| {
        format_duration(totals.took_ms)
    }),
    FigureColumn::new(FigureKind::Work, "files", 9, |totals, _| {
        group_digits(totals.changed_file_count() as f64)
    }),
];

impl StatsGroups {
    /// Prints the sums of each group; without `--by`, the sums of all entries.
    pub fn print(mut self, json: bool, ui: &mut Ui) -> Result<(), Failure> {
        self.sort();
        if json {
            return self.print_json(ui);
        }
        self.drop_groups_without_model();
        if self.by.is_empty() {
            print_summary(&self.total, &self.cost_notes(), ui)
        } else {
            self.print_table(ui)
        }
    }

    /// Prints an object for each group; without `--by`, one object with the sums of all entries.
    fn print_json(&self, ui: &mut Ui) -> Result<(), Failure> {
        if self.by.is_empty() {
            return ui.print_json(&totals_json(Object::new(), &self.total, self.prices_date));
        }
        for group in &self.groups {
            ui.print_json(&group_json(&self.by, group, self.prices_date))?;
        }
        Ok(())
    }

    /// Returns notes about the parts of the cost that are estimated or unknown.
    fn cost_notes(&self) -> String {
        let usage = &self.total.usage;
        let mut notes = String::new();
        if usage.has_estimate() {
            let estimated = format_dollars(usage.estimated_cost);
            let prices = match self.prices_date {
                Some(date) => format!(", prices of {date}"),
                None => String::new(),
            };
            notes += &format!("~ {estimated} of the cost is estimated{prices}\n");
        }
        if usage.unpriced_count > 0 {
            notes += &format!(
                "{} of {} requests unpriced: no cost is recorded, and no price known\n",
                group_digits(usage.unpriced_count as f64),
                group_digits(usage.request_count as f64)
            );
        }
        if self.unrecorded_count > 0 && self.total.sessions > 1 {
            notes += &format!(
                "{} of {} sessions record no usage\n",
                group_digits(self.unrecorded_count as f64),
                group_digits(self.total.sessions as f64)
            );
        }
        notes
    }

    /// With several keys, drops the groups without a model and without usage, such as a group of
    /// user messages: a row of user messages for each day would be useless.
    fn drop_groups_without_model(&mut self) {
        if self.by.len() < 2 {
            return;
        }
        let Some(model_index) = self.by.iter().position(|&by| by == GroupKey::Model) else {
            return;
        };
        self.groups.retain(|group| {
            group.keys[model_index].is_some() || group.totals.usage.request_count > 0
        });
    }

    /// Prints the table, leaving out figures for which there is no space. On a terminal, bars
    /// compare the costs of several groups, unless keys would have to be shortened for the bars.
    /// By file alone, prints the table of files, which has neither bars nor costs.
    fn print_table(&self, ui: &mut Ui) -> Result<(), Failure> {
        if self.by == [GroupKey::File] {
            return self.build_file_table(ui.row_width()).print(ui);
        }
        let room = ui.row_width().unwrap_or(usize::MAX);
        // A single bar has nothing to be compared with.
        let may_have_bars = ui.stdout_is_terminal() && self.groups.len() > 1;
        let table = if may_have_bars && let Some(layout) = self.layout_beside_bars(room) {
            let bar = self.bar_beside(&layout, room, ui.styles.active);
            self.build_table(&layout, bar)
        } else {
            let no_bar = None;
            self.build_table(&self.layout_without_bars(room), no_bar)
        };
        table.print(ui)?;
        ui.print(&self.cost_notes())
    }

    /// Returns the bar that gets what the table leaves of `room`, which may be more than the
    /// minimum. `None` if the table leaves less than that.
    fn bar_beside(&self, layout: &TableLayout, room: usize, style: Style) -> Option<Bar> {
        let left_width = room.saturating_sub(self.table_width(layout) + COLUMN_GAP);
        if left_width < MIN_BAR_WIDTH {
            return None;
        }
        Some(Bar {
            width: left_width.min(MAX_BAR_WIDTH),
            style,
        })
    }

    /// Returns the layout of a table beside bars of the minimum width, together at most `room`
    /// columns. The keys leave space for all figures. `None` if keys would have to be shortened for
    /// the bars.
    fn layout_beside_bars(&self, room: usize) -> Option<TableLayout> {
        let room_beside_bars = room.saturating_sub(MIN_BAR_WIDTH + COLUMN_GAP);
        let layout = self.choose_layout(room_beside_bars, self.relevant_figures());
        if layout.shows_whole_keys {
            Some(layout)
        } else {
            None
        }
    }

    /// Returns the layout of a table of at most `room` columns. The keys leave space only for the
    /// main figures, so that the others are left out first.
    fn layout_without_bars(&self, room: usize) -> TableLayout {
        let mut main_figures = self.relevant_figures();
        main_figures.retain(|figure| figure.expendability <= MAX_MAIN_EXPENDABILITY);
        self.choose_layout(room, main_figures)
    }

    /// Returns the layout for a table of at most `room` columns: all figures with whole numbers if
    /// they fit, else with abbreviated numbers, else fewer figures. The keys leave space for
    /// `reserved_figures`, with abbreviated numbers.
    ///
    /// `room` is [`usize::MAX`] if the output is not a terminal: then nothing is truncated,
    /// abbreviated or left out.
    fn choose_layout(&self, room: usize, reserved_figures: Vec<FigureColumn>) -> TableLayout {
        let mut layout = self.unlimited_layout();
        let is_terminal = room != usize::MAX;
        if !is_terminal {
            return layout;
        }

        let mut wanted_widths = Vec::new();
        for key_index in 0..self.by.len() {
            wanted_widths.push(self.widest_key(key_index));
        }
        let width_for_keys = self.width_for_keys(room, reserved_figures);
        layout.key_widths = share_width(&wanted_widths, width_for_keys);
        let mut widths = layout.key_widths.iter().zip(&wanted_widths);
        layout.shows_whole_keys = widths.all(|(width, wanted)| width >= wanted);

        // The figures get the rest: with whole numbers if there is enough space for all of them,
        // and otherwise with abbreviated numbers, and as many as possible.
        if self.table_width(&layout) > room {
            layout.shortens_tokens = true;
        }
        while self.table_width(&layout) > room && layout.figures.len() > 1 {
            layout.remove_most_expendable_figure();
        }
        layout
    }

    /// Returns the layout of a table that may have any width.
    fn unlimited_layout(&self) -> TableLayout {
        TableLayout {
            key_widths: vec![usize::MAX; self.by.len()],
            figures: self.relevant_figures(),
            shortens_tokens: false,
            shows_small_costs: self.compares_small_costs(),
            shows_whole_keys: true,
        }
    }

    /// Returns the width of all keys together, in a table of at most `room` columns: at least two
    /// fifths of the room, and more if `reserved_figures` leave more.
    fn width_for_keys(&self, room: usize, reserved_figures: Vec<FigureColumn>) -> usize {
        let spare_width = room.saturating_sub(self.width_without_keys(reserved_figures));
        let two_fifths = room / 5 * 2;
        spare_width.max(two_fifths).max(MIN_KEY_WIDTH)
    }

    /// Returns the width that a table with these figures has without its keys, if numbers are
    /// abbreviated.
    fn width_without_keys(&self, figures: Vec<FigureColumn>) -> usize {
        self.table_width(&TableLayout {
            key_widths: vec![0; self.by.len()],
            figures,
            shortens_tokens: true,
            shows_small_costs: self.compares_small_costs(),
            shows_whole_keys: false,
        })
    }

    /// Returns the width of the table without bars, in columns.
    fn table_width(&self, layout: &TableLayout) -> usize {
        let bar = None;
        self.build_table(layout, bar).natural_width()
    }

    /// Whether costs are so small that whole cents would hide their differences.
    fn compares_small_costs(&self) -> bool {
        let costs = || self.groups.iter().map(|group| group.totals.usage.cost);
        let has_small = costs().any(|cost| cost > 0.0 && cost < SMALL_COST);
        has_small && costs().all(|cost| cost <= MAX_COST_WITH_DIGITS)
    }

    /// Returns the width of the widest value of a key, in columns, at most [`MAX_KEY_WIDTH`]. The
    /// title `total` of the last row is included.
    fn widest_key(&self, key_index: usize) -> usize {
        let mut widest = display_width("total");
        for group in &self.groups {
            widest = widest.max(display_width(&self.key_text(group, key_index)));
        }
        widest.min(MAX_KEY_WIDTH)
    }

    /// Returns the table: a row for each group and, if there are several, a row for the total. If
    /// `bar` is given, each group has a bar; the group with the highest value has the longest.
    fn build_table(&self, layout: &TableLayout, bar: Option<Bar>) -> Table {
        let mut columns = self.table_columns(layout);
        if bar.is_some() {
            columns.push(Column::text(""));
        }
        let mut table = Table::new(columns);

        let measure = self.bar_measure();
        let mut highest: f64 = 0.0;
        for group in &self.groups {
            highest = highest.max(measure.value_of(&group.totals));
        }
        for group in &self.groups {
            let mut row = self.group_row(group, layout);
            if let Some(bar) = bar {
                let fraction = measure.value_of(&group.totals) / highest;
                row.push(vec![(draw_bar(fraction, bar.width), bar.style)]);
            }
            // A terminal opens the file or the directory that the first key names.
            table.add_linked_row(row, self.address_of_key(group, 0));
        }
        // A single row is the total.
        if self.groups.len() > 1 {
            table.add_row(self.total_row(layout));
        }
        table
    }

    /// Returns the cells of the keys and figures of a group.
    fn group_row(&self, group: &StatsGroup, layout: &TableLayout) -> Vec<Cell> {
        let mut row = Vec::new();
        for (key_index, &max_width) in layout.key_widths.iter().enumerate() {
            row.push(plain_cell(self.fit_key(group, key_index, max_width)));
        }
        push_figures(&mut row, layout, &group.totals);
        row
    }

    /// Returns the cells of the last row: `total` in the column of the first key, and the figures
    /// of all groups together.
    fn total_row(&self, layout: &TableLayout) -> Vec<Cell> {
        let mut row = vec![plain_cell("total".to_owned())];
        // The cells of the other keys are empty.
        row.resize(self.by.len(), plain_cell(String::new()));
        push_figures(&mut row, layout, &self.total);
        row
    }

    /// Returns the columns of the keys and of the figures.
    fn table_columns(&self, layout: &TableLayout) -> Vec<Column> {
        let mut columns = Vec::new();
        for (&by, &max_width) in self.by.iter().zip(&layout.key_widths) {
            columns.push(Column::text(key_name(by)).with_max_width(max_width));
        }
        for figure in &layout.figures {
            let title = if layout.shortens_tokens {
                figure.short_title
            } else {
                figure.title
            };
            columns.push(Column::number(title));
        }
        columns
    }

    /// Returns the table for `--by file`: each file, with the suffixes of its sessions' ids. In a
    /// table of `width` columns, paths are shortened to leave space for the other columns. Without
    /// a width, no path is shortened.
    fn build_file_table(&self, width: Option<usize>) -> Table {
        // A path may be wider than other keys, because it is the only one.
        let widest_path = MAX_KEY_WIDTH + MIN_KEY_WIDTH;
        let path_width = match width {
            Some(width) => width
                .saturating_sub(WIDTH_BESIDE_FILE)
                .clamp(MIN_KEY_WIDTH, widest_path),
            None => usize::MAX,
        };
        // The index of the key `file`, which is the only one.
        let key_index = 0;
        let mut table = Table::new([
            Column::text("file"),
            Column::number("reads"),
            Column::number("writes"),
            Column::number("failed"),
            Column::number("sessions"),
            Column::number("wrote"),
            Column::text("in").allow_shrink(),
        ]);
        for group in &self.groups {
            let ids: Vec<_> = group
                .sessions
                .iter()
                .map(|session| to_visible(&session.id_suffix))
                .collect();
            let cells = [
                self.fit_key(group, key_index, path_width),
                group_digits(group.totals.reads as f64),
                group_digits(group.totals.writes as f64),
                group_digits(group.totals.tool_failures as f64),
                group_digits(group.totals.sessions as f64),
                group_digits(group.writing_session_count() as f64),
                ids.join(" "),
            ];
            let address = self.address_of_key(group, key_index);
            table.add_linked_row(cells.map(plain_cell).into(), address);
        }
        table
    }

    /// Returns a key, shortened if it is wider than `max_width` columns. A model loses its
    /// provider; a path loses directories in its middle. Other keys, and models that are still too
    /// wide, are left to the table, which truncates them at their end.
    fn fit_key(&self, group: &StatsGroup, key_index: usize, max_width: usize) -> String {
        let key = self.key_text(group, key_index);
        if display_width(&key) <= max_width {
            return key;
        }
        match self.by[key_index] {
            GroupKey::Model => match key.split_once('/') {
                Some((_provider, model)) => model.to_owned(),
                None => key,
            },
            GroupKey::Project | GroupKey::File => truncate_path(&key, 0..key.len(), max_width, "…"),
            _ => key,
        }
    }

    /// Returns the address of the file or directory that a key names; `None` if links are disabled,
    /// or if the key names neither.
    fn address_of_key(&self, group: &StatsGroup, key_index: usize) -> Option<String> {
        let path = match self.by[key_index] {
            GroupKey::Session => group.path.as_ref()?,
            GroupKey::Project | GroupKey::File => group.keys[key_index].as_ref()?,
            _ => return None,
        };
        self.links.address_of(Path::new(path))
    }

    /// Returns the value of a key as the table shows it: a session by its name, a path with `~` for
    /// the home directory. A missing value is replaced by a note in parentheses.
    fn key_text(&self, group: &StatsGroup, key_index: usize) -> String {
        let by = self.by[key_index];
        let key = match (by, &group.keys[key_index]) {
            (GroupKey::Session, _) => group.name.clone(),
            (GroupKey::Project | GroupKey::File, Some(path)) => {
                Some(abbreviate_home(path, self.home.as_deref()))
            }
            (_, key) => key.clone(),
        };
        if let Some(key) = key {
            return to_visible(&key);
        }

        let note = match by {
            GroupKey::Model => "(not by a model)",
            GroupKey::Tool => "(no name)",
            GroupKey::Project => "(no project)",
            // The key is a day, a week or a month.
            _ => "(no time)",
        };
        note.to_owned()
    }

    /// Returns the figures that apply to the keys of these groups, from left to right.
    fn relevant_figures(&self) -> Vec<FigureColumn> {
        let by_session = self.by.contains(&GroupKey::Session);
        let by_tool = self.by.contains(&GroupKey::Tool);
        let by_file = self.by.contains(&GroupKey::File);
        // Tools have usage only if they made requests themselves. Files have none.
        let has_usage = !by_file && (!by_tool || self.total.usage.request_count > 0);

        let mut figures = Vec::new();
        for figure in FIGURES {
            let is_shown = match figure.kind {
                FigureKind::Sessions => !by_session,
                FigureKind::Messages => !by_tool && !by_file,
                FigureKind::FileAccess => by_file,
                FigureKind::Work => !by_file,
                FigureKind::Usage => has_usage,
            };
            if is_shown {
                figures.push(figure);
            }
        }
        figures
    }

    /// Returns what all bars of the table show: for tools and files the calls, otherwise the cost,
    /// or the tokens if no group has a cost.
    fn bar_measure(&self) -> BarMeasure {
        let counts_calls = self.by.contains(&GroupKey::Tool) || self.by.contains(&GroupKey::File);
        let has_cost = self.total.usage.cost > 0.0;
        if counts_calls {
            BarMeasure::Calls
        } else if has_cost {
            BarMeasure::Cost
        } else {
            BarMeasure::Tokens
        }
    }
}

/// What the bars of a table show.
#[derive(Clone, Copy)]
enum BarMeasure {
    Calls,
    Cost,
    Tokens,
}

impl BarMeasure {
    /// Returns the value of one group, to which the length of its bar is proportional.
    fn value_of(self, totals: &Totals) -> f64 {
        match self {
            BarMeasure::Calls => totals.tool_calls as f64,
            BarMeasure::Cost => totals.usage.cost,
            BarMeasure::Tokens => totals.usage.total_tokens(),
        }
    }
}

/// Adds the cells with the figures of `totals` to a row.
fn push_figures(row: &mut Vec<Cell>, layout: &TableLayout, totals: &Totals) {
    for figure in &layout.figures {
        row.push(plain_cell((figure.format_cell)(totals, layout)));
    }
}

/// Divides `room` columns among keys, and returns the width of each. No key gets more than it
/// wants.
///
/// A key gets all that it wants if the other keys leave enough room. Otherwise, it gets an equal
/// share, or what the others leave if that is more.
fn share_width(wanted_widths: &[usize], room: usize) -> Vec<usize> {
    let wanted_sum: usize = wanted_widths.iter().sum();
    let equal_share = room / wanted_widths.len().max(1);
    let mut shares = Vec::new();
    for &wanted in wanted_widths {
        let left_by_others = room.saturating_sub(wanted_sum - wanted);
        shares.push(wanted.min(equal_share.max(left_by_others)));
    }
    shares
}

/// The size and the style of bars.
#[derive(Clone, Copy)]
struct Bar {
    /// The width of the longest bar, in columns.
    width: usize,
    style: Style,
}

/// Returns a bar of `fraction` of `columns`, in steps of an eighth of a column. The bar is empty if
/// the fraction is not a positive number, as for 0/0.
fn draw_bar(fraction: f64, columns: usize) -> String {
    const EIGHTHS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    if !fraction.is_finite() || fraction <= 0.0 {
        return String::new();
    }
    let eighths = (fraction.min(1.0) * columns as f64 * 8.0).round() as usize;
    format!("{}{}", "█".repeat(eighths / 8), EIGHTHS[eighths % 8])
}

/// Returns a cost in dollars, with `~` before it if a part of it is estimated. Returns `unpriced`
/// if there are billed requests, but none has a price; and `-` if no usage is recorded.
fn format_cost(totals: &Totals, format: fn(f64) -> String) -> String {
    let usage = &totals.usage;
    if !usage.is_recorded() {
        return "-".to_owned();
    }
    if usage.request_count == usage.unpriced_count {
        return "unpriced".to_owned();
    }
    let estimate_mark = if usage.has_estimate() { "~" } else { "" };
    format!("{estimate_mark}{}", format(usage.cost))
}

/// Returns a duration in its two largest units: `45s`, `3m05s` or `2h10m`.
pub(super) fn format_duration(ms: i64) -> String {
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
