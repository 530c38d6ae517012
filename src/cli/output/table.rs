//! Tables without rules, whose columns are as wide as their content.
//!
//! `comfy-table` computes the widths of the columns from the widest cells of the first rows. It
//! would count the escape sequences of colours as text, so the rows are drawn here.

use super::{Failure, RowBuffer, Ui, apply_style, display_width, truncate_end};
use comfy_table::{ColumnConstraint, ContentArrangement, TableStyle, Width};
use owo_colors::Style;
use std::borrow::Cow;
use std::mem::take;

/// The parts of a cell, each with its style.
pub type Cell = Vec<(String, Style)>;

/// Returns a cell with one unstyled part.
pub fn plain_cell(text: String) -> Cell {
    vec![(text, Style::new())]
}

/// The number of columns between two cells.
pub const COLUMN_GAP: usize = 2;
const ELLIPSIS: &str = "…";
/// The number of first rows whose cells determine the widths of the columns.
const SAMPLE_ROWS: usize = 256;

/// A column of a table, and how it is fitted.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    pub title: &'static str,
    is_number: bool,
    can_shrink: bool,
    max_width: usize,
}

impl Column {
    pub const fn text(title: &'static str) -> Self {
        Column {
            title,
            is_number: false,
            can_shrink: false,
            max_width: usize::MAX,
        }
    }

    /// Returns a column of numbers, which are right-aligned.
    pub const fn number(title: &'static str) -> Self {
        Column {
            is_number: true,
            ..Column::text(title)
        }
    }

    /// Lets the column be truncated if space is scarce.
    pub const fn allow_shrink(self) -> Self {
        Column {
            can_shrink: true,
            ..self
        }
    }

    /// Truncates the column to `width`.
    pub const fn with_max_width(self, width: usize) -> Self {
        Column {
            max_width: width,
            ..self
        }
    }
}

/// A table to print. If any column has a title, a row of titles is first.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<TableRow>,
    /// The widths of the columns. Before the first row is printed, these are the widths of the
    /// widest cells; then they are fixed.
    widths: Vec<usize>,
    is_arranged: bool,
}

#[derive(Debug)]
struct TableRow {
    cells: Vec<Cell>,
    /// The address to which the first cell is a link; `None` for no link.
    address: Option<String>,
}

impl Table {
    /// Returns an empty table. Each column is at least as wide as its title.
    pub fn new(columns: impl Into<Vec<Column>>) -> Self {
        let columns = columns.into();
        let widths = columns
            .iter()
            .map(|column| display_width(column.title).max(1))
            .collect();
        Table {
            columns,
            rows: Vec::new(),
            widths,
            is_arranged: false,
        }
    }

    /// Adds a row with a cell for each column. Columns become as wide as their widest cell. Once
    /// rows have been printed, widths are fixed: longer cells are truncated, or shift the rest of
    /// their row.
    pub fn add_row(&mut self, cells: Vec<Cell>) {
        self.add_linked_row(cells, None);
    }

    /// Adds a row as [`Self::add_row`] does. With an address, its first cell is a link.
    pub fn add_linked_row(&mut self, cells: Vec<Cell>, address: Option<String>) {
        if !self.is_arranged {
            for ((width, column), cell) in self.widths.iter_mut().zip(&self.columns).zip(&cells) {
                *width = (*width).max(cell_width(cell)).min(column.max_width);
            }
        }
        self.rows.push(TableRow { cells, address });
    }

    pub fn add_text_row(&mut self, cells: impl IntoIterator<Item = String>) {
        self.add_row(cells.into_iter().map(plain_cell).collect());
    }

    /// Returns the width of the table if no cell is truncated.
    pub fn natural_width(&self) -> usize {
        self.widths.iter().sum::<usize>() + COLUMN_GAP * self.columns.len().saturating_sub(1)
    }

    /// Prints the rows added so far, as soon as there are [`SAMPLE_ROWS`]. Their cells determine
    /// the widths of the columns, also for later rows.
    pub fn flush_when_full(&mut self, ui: &mut Ui) -> Result<(), Failure> {
        if self.rows.len() < SAMPLE_ROWS {
            Ok(())
        } else {
            self.flush(ui)
        }
    }

    /// Prints the remaining rows, fitted to the width of the terminal.
    pub fn print(mut self, ui: &mut Ui) -> Result<(), Failure> {
        self.flush(ui)
    }

    /// Prints the rows added since the last flush. The first flush fixes the widths of the columns,
    /// and prints their titles.
    fn flush(&mut self, ui: &mut Ui) -> Result<(), Failure> {
        let rows = take(&mut self.rows);
        if rows.is_empty() {
            return Ok(());
        }

        // A column that can shrink gets what the others leave of the terminal. Without such a
        // column, rows are not fitted.
        let can_shrink = self.columns.iter().any(|column| column.can_shrink);
        let width = if can_shrink { ui.row_width() } else { None };
        let no_clock = None;
        let mut drawn_rows = RowBuffer::new(width, ELLIPSIS, no_clock);
        let is_first_flush = !self.is_arranged;
        if is_first_flush {
            self.arrange_columns(width);
            self.draw_titles(&mut drawn_rows, ui);
        }
        for row in &rows {
            self.draw_row(&row.cells, row.address.as_deref(), &mut drawn_rows);
        }
        ui.stdout()
            .write_all(&drawn_rows.text)
            .map_err(Failure::from_stdout_error)
    }

    /// Draws the titles of the columns, unless no column has one. A pager keeps them on the screen.
    fn draw_titles(&self, rows: &mut RowBuffer, ui: &mut Ui) {
        let has_titles = self.columns.iter().any(|column| !column.title.is_empty());
        if !has_titles {
            return;
        }
        ui.keep_heading();
        let mut titles = Vec::new();
        for column in &self.columns {
            titles.push(vec![(column.title.to_owned(), ui.styles.heading)]);
        }
        let no_link = None;
        self.draw_row(&titles, no_link, rows);
    }

    /// Returns the rows as text of `width` columns. A cell that is too long continues on the next
    /// line.
    pub fn format_wrapped(&self, width: usize) -> String {
        let rows = self
            .rows
            .iter()
            .map(|row| comfy_table::Row::from(row.cells.iter().map(cell_text)));
        let laid_out = self.lay_out(rows, Some(width), ' ');
        let mut text = String::new();
        for line in laid_out.lines() {
            text.push_str(line.trim_end());
            text.push('\n');
        }
        text
    }

    /// Fixes the widths of the columns so that the table fits into `width`. They are computed by
    /// laying out a row of the widest cells.
    fn arrange_columns(&mut self, width: Option<usize>) {
        let mut widest = comfy_table::Row::from(self.widths.iter().map(|&width| "x".repeat(width)));
        widest.max_height(1);
        let laid_out = self.lay_out([widest], width, '\0');
        let line = laid_out.lines().next().unwrap_or_default();
        self.widths = line.split_whitespace().map(display_width).collect();
        self.is_arranged = true;
    }

    /// Lays out rows in columns that fit into `width`. Cells are broken at `delimiter`. Only
    /// columns with [`Column::allow_shrink`] become narrower than their widest cell.
    fn lay_out(
        &self,
        rows: impl IntoIterator<Item = comfy_table::Row>,
        width: Option<usize>,
        delimiter: char,
    ) -> comfy_table::Table {
        let mut table = comfy_table::Table::new();
        table.load_style(TableStyle::new());
        table.set_truncation_indicator(ELLIPSIS);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_delimiter(delimiter);
        table.add_rows(rows);

        let columns = self.columns.iter().zip(&self.widths);
        for ((column, &content_width), table_column) in columns.zip(table.column_iter_mut()) {
            table_column.set_padding((0, COLUMN_GAP as u16));
            if !column.can_shrink {
                let fixed_width = Width::Fixed(saturate_to_u16(content_width + COLUMN_GAP));
                table_column.set_constraint(ColumnConstraint::Absolute(fixed_width));
            }
        }

        if let Some(width) = width {
            // comfy-table also pads the last column. Rows are printed without that padding.
            table.set_width(saturate_to_u16(width + COLUMN_GAP));
        }
        table
    }

    /// Draws a row. Numbers are right-aligned, texts are left-aligned. With an address, the first
    /// cell is a link.
    fn draw_row(&self, cells: &[Cell], address: Option<&str>, rows: &mut RowBuffer) {
        rows.begin_row();
        let mut pen = CellPen {
            rows,
            pending_spaces: 0,
            address,
        };
        let columns = self.columns.iter().zip(&self.widths);
        for (cell, (column, &width)) in cells.iter().zip(columns) {
            let full_width = cell_width(cell);
            if column.is_number {
                pen.pending_spaces += width.saturating_sub(full_width);
            }

            // Widths are measured in a sample of the rows, so a cell of another row may be wider.
            // If its column has no limit, the cell shifts the rest of the row to the right.
            let is_limited = column.can_shrink || column.max_width < usize::MAX;
            let room = if is_limited { width } else { full_width };
            let drawn_width = pen.draw_cell(cell, room);

            if !column.is_number {
                pen.pending_spaces += width.saturating_sub(drawn_width);
            }
            pen.pending_spaces += COLUMN_GAP;
            // Only the first cell is a link.
            pen.address = None;
        }
        pen.rows.end_row();
    }
}

/// Draws the cells of a row. Spaces are drawn only before a text, so that rows have no trailing
/// spaces.
struct CellPen<'r, 'a> {
    rows: &'r mut RowBuffer,
    /// The number of spaces to draw before the next text.
    pending_spaces: usize,
    /// The address to which the next cell links.
    address: Option<&'a str>,
}

impl CellPen<'_, '_> {
    /// Draws a cell, truncated to `room` columns, and returns its width as drawn. Spaces at its end
    /// become pending.
    fn draw_cell(&mut self, cell: &Cell, room: usize) -> usize {
        let mut room_left = room;
        let mut drawn_width = 0;
        for (text, style) in cell {
            if text.is_empty() {
                continue;
            }
            let text_width = display_width(text);
            let shown = if text_width > room_left {
                let cut = truncate_end(text, room_left, ELLIPSIS);
                drawn_width += display_width(&cut);
                Cow::Owned(cut)
            } else {
                drawn_width += text_width;
                Cow::Borrowed(text.as_str())
            };
            room_left = room_left.saturating_sub(text_width);

            let word = shown.trim_end_matches(' ');
            self.rows
                .push_part(&" ".repeat(self.pending_spaces), Style::new());
            self.rows.push_linked_part(word, *style, self.address);
            self.pending_spaces = shown.len() - word.len();
        }
        drawn_width
    }
}

/// Converts a width for comfy-table. No terminal is wider than the maximum.
fn saturate_to_u16(width: usize) -> u16 {
    u16::try_from(width).unwrap_or(u16::MAX)
}

/// Returns the width of a cell in terminal columns.
pub fn cell_width(cell: &Cell) -> usize {
    cell.iter().map(|(text, _)| display_width(text)).sum()
}

/// Returns the text of a cell without its styles.
fn cell_text(cell: &Cell) -> String {
    cell.iter().map(|(text, _)| text.as_str()).collect()
}

/// Returns the text of a cell with its styles, without truncating it.
pub fn format_cell(cell: &Cell) -> String {
    let mut out = String::new();
    for (text, style) in cell {
        out += &apply_style(text, *style);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn later_rows_keep_the_columns() {
        let plain = |cells: [&str; 3]| {
            cells
                .map(|text| vec![(text.to_owned(), Style::new())])
                .to_vec()
        };
        let drawn = |table: &Table, cells: &[Cell]| {
            let mut pen = RowBuffer::new(Some(20), ELLIPSIS, None);
            table.draw_row(cells, None, &mut pen);
            String::from_utf8(pen.text).unwrap()
        };
        let mut table = Table::new([
            Column::number("n"),
            Column::text("").with_max_width(4),
            Column::text("said").allow_shrink(),
        ]);
        table.add_row(plain(["1234", "abcdef", "more words than fit"]));
        assert_eq!(table.natural_width(), 4 + 2 + 4 + 2 + 19);
        table.arrange_columns(Some(20));
        for (cells, row) in [
            (
                ["1234", "abcdef", "more words than fit"],
                "1234  abc…  more wo…\n",
            ),
            (["5", "g", "a b"], "   5  g     a b\n"),
            (["123456", "g", "a b"], "123456  g     a b\n"),
            (["1", "a bcd", "e"], "   1  a b…  e\n"),
            (["1", "ab cd", "e"], "   1  ab…   e\n"),
            (["1", "", ""], "   1\n"),
        ] {
            assert_eq!(drawn(&table, &plain(cells)), row);
        }
        let red = Style::new().red();
        let said = vec![
            ("[b] ".to_owned(), red),
            ("more words".to_owned(), Style::new()),
        ];
        let row = drawn(&table, &[vec![], vec![("a".to_owned(), red)], said]);
        assert_eq!(
            row.replace('\u{1b}', "␛"),
            "      ␛[31ma␛[0m     ␛[31m[b]␛[0m mor…\n"
        );
    }
}
