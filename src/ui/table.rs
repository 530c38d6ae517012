//! Tables: columns as wide as their content, without rules.
//!
//! `comfy-table` lays them out and truncates cells that do not fit. It would count the escape sequences of
//! colours as text, so they are added afterwards.

use super::{Failure, Ui, columns, fitted, styled};
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, TableStyle, Width};
use owo_colors::Style;
use std::mem::take;

/// The parts of a cell, each with its style.
pub type Cell = Vec<(String, Style)>;

/// The number of columns between two cells.
const GAP: usize = 2;
/// Replaces truncated text.
const ELLIPSIS: &str = "…";
/// The number of rows whose cells decide the widths of the columns.
const MANY: usize = 1000;

/// A column of a table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    title: &'static str,
    is_number: bool,
    is_cut: bool,
    most: usize,
}

impl Column {
    /// Returns a column of text.
    pub const fn text(title: &'static str) -> Self {
        Column { title, is_number: false, is_cut: false, most: usize::MAX }
    }

    /// Returns a column of numbers, aligned to the right.
    pub const fn number(title: &'static str) -> Self {
        Column { is_number: true, ..Column::text(title) }
    }

    /// Returns the column, truncated if space is scarce.
    pub const fn cut(self) -> Self {
        Column { is_cut: true, ..self }
    }

    /// Returns the column, truncated to a width.
    pub const fn at_most(self, width: usize) -> Self {
        Column { most: width, ..self }
    }
}

/// A table to be printed. Titles, if there are any, precede the first row.
#[derive(Debug)]
pub struct Table {
    columns: Vec<Column>,
    rows: Vec<Vec<Cell>>,
    /// The widths of the columns, as far as rows were added.
    widths: Vec<usize>,
    has_titles: bool,
}

impl Table {
    /// Returns an empty table.
    pub fn new(columns: impl Into<Vec<Column>>) -> Self {
        let columns = columns.into();
        let has_titles = columns.iter().any(|column| !column.title.is_empty());
        let widths = columns.iter().map(|column| self::columns(column.title)).collect();
        Table { columns, rows: Vec::new(), widths, has_titles }
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        for ((width, column), cell) in self.widths.iter_mut().zip(&self.columns).zip(&cells) {
            *width = (*width).max(columns(&plain(cell))).min(column.most);
        }
        self.rows.push(cells);
    }

    /// Returns the width at which no cell has to be truncated.
    pub fn width(&self) -> usize {
        self.widths.iter().sum::<usize>() + GAP * self.columns.len().saturating_sub(1)
    }

    /// Prints the rows so far if they are many. Columns of later rows are at least as wide.
    pub fn stream(&mut self, ui: &mut Ui) -> Result<(), Failure> {
        if self.rows.len() < MANY { Ok(()) } else { self.flush(ui) }
    }

    /// Prints the rows, fitted to the width of the terminal.
    pub fn print(mut self, ui: &mut Ui) -> Result<(), Failure> {
        self.flush(ui)
    }

    fn flush(&mut self, ui: &mut Ui) -> Result<(), Failure> {
        let mut rows = take(&mut self.rows);
        if rows.is_empty() {
            return Ok(());
        }
        if take(&mut self.has_titles) {
            let title = |column: &Column| vec![(column.title.to_owned(), ui.styles.dim)];
            rows.insert(0, self.columns.iter().map(title).collect());
        }
        // A column that is cut takes what the others leave.
        let width = ui.width().filter(|_| self.columns.iter().any(|column| column.is_cut));
        for (line, cells) in self.layout(&rows, width).lines().zip(&rows) {
            let line = line.trim_end();
            let cut = line.strip_suffix(ELLIPSIS).map(|cut| cut.trim_end().to_owned() + ELLIPSIS);
            let line = cut.unwrap_or_else(|| line.to_owned());
            // The columns that are not truncated may be too wide.
            let line = width.map_or(line.clone(), |width| fitted(&line, width, ELLIPSIS));
            ui.print(&format!("{}\n", coloured(&line, cells)))?;
        }
        Ok(())
    }

    fn layout(&self, rows: &[Vec<Cell>], width: Option<usize>) -> comfy_table::Table {
        let narrow = |width: usize| u16::try_from(width).unwrap_or(u16::MAX);
        let mut table = comfy_table::Table::new();
        table.load_style(TableStyle::new()).set_truncation_indicator(ELLIPSIS);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        // Text may be truncated at any character: it contains no control characters.
        table.set_delimiter('\0');
        for cells in rows {
            let mut row = comfy_table::Row::from(cells.iter().map(plain));
            row.max_height(1);
            table.add_row(row);
        }
        let last = self.columns.len() - 1;
        for (at, (column, laid)) in self.columns.iter().zip(table.column_iter_mut()).enumerate() {
            let gap = if at == last { 0 } else { GAP };
            laid.set_padding((0, narrow(gap)));
            if column.is_number {
                laid.set_cell_alignment(CellAlignment::Right);
            }
            if !column.is_cut {
                laid.set_constraint(ColumnConstraint::Absolute(Width::Fixed(narrow(self.widths[at] + gap))));
            }
        }
        if let Some(width) = width {
            table.set_width(narrow(width));
        }
        table
    }
}

/// Returns the text of a cell, without styles.
fn plain(cell: &Cell) -> String {
    cell.iter().map(|(text, _)| text.as_str()).collect()
}

/// Returns the line, coloured like its cells.
fn coloured(line: &str, cells: &[Cell]) -> String {
    let mut out = String::with_capacity(line.len() + 32);
    let mut rest = line;
    for cell in cells {
        for (text, style) in cell {
            // Cells are separated only by spaces.
            let start = rest.len() - rest.trim_start_matches(' ').len();
            out.push_str(&rest[..start]);
            rest = &rest[start..];
            let text = text.trim_matches(' ');
            let shown = common_prefix(rest, text);
            out.push_str(&styled(&rest[..shown], *style));
            rest = &rest[shown..];
            if shown < text.len() {
                break;
            }
        }
        if let Some(after) = rest.strip_prefix(ELLIPSIS) {
            out.push_str(ELLIPSIS);
            rest = after;
        }
    }
    out + rest
}

/// Returns the length of the common prefix.
fn common_prefix(one: &str, other: &str) -> usize {
    let same = one.chars().zip(other.chars()).take_while(|(one, other)| one == other);
    same.map(|(character, _)| character.len_utf8()).sum()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_of_later_rows_are_at_least_as_wide() {
        let mut table =
            Table::new([Column::number("n"), Column::text("").at_most(4), Column::text("said").cut()]);
        let cells = |cells: [&str; 3]| cells.map(|text| vec![(text.to_owned(), Style::new())]).to_vec();
        let mut lines = |cells: Vec<Cell>| {
            table.row(cells.clone());
            let laid = table.layout(&[cells], Some(20));
            laid.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
        };
        assert_eq!(lines(cells(["1234", "abcdef", "a b c"])), "1234  abc…  a b c");
        assert_eq!(lines(cells(["5", "g", "more words than fit"])), "   5  g     more wo…");
        assert_eq!(table.width(), 4 + 2 + 4 + 2 + 19);
    }

    #[test]
    fn colours_go_where_the_cells_are() {
        let red = Style::new().red();
        let plain = |text: &str| vec![(text.to_owned(), Style::new())];
        let cells =
            [plain(""), vec![("a".to_owned(), red)], vec![("[b] ".to_owned(), red), ("a".to_owned(), red)]];
        let line = coloured("     a  [b] a", &cells);
        assert_eq!(line.replace('\u{1b}', "␛"), "     ␛[31ma␛[0m  ␛[31m[b]␛[0m ␛[31ma␛[0m");
        assert_eq!(coloured("x", &[plain("x")]), "x");
        let cut = [vec![("long".to_owned(), red), ("er".to_owned(), red)], plain("a"), plain("")];
        assert_eq!(coloured("lo…  a", &cut).replace('\u{1b}', "␛"), "␛[31mlo␛[0m…  a");
    }
}
