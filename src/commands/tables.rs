//! Small tables: columns as wide as their content, without rules.
//!
//! `comfy-table` lays them out and truncates cells that do not fit. It would count the escape sequences of
//! colours as text, so they are added afterwards.

use crate::ui::{Failure, Ui, fitted, styled};
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, TableStyle};
use owo_colors::Style;

/// The parts of a cell, each with its style.
pub type Cell = Vec<(String, Style)>;

/// The number of columns between two cells.
const GAP: u16 = 2;
/// Replaces truncated text.
const ELLIPSIS: &str = "…";

/// A table to be printed.
#[derive(Debug)]
pub struct SmallTable {
    table: Table,
    rows: Vec<Vec<Cell>>,
    /// The columns that are truncated if space is scarce.
    cut: &'static [usize],
}

impl SmallTable {
    /// Returns an empty table, in which only the columns `cut` are truncated.
    pub fn new(cut: &'static [usize]) -> Self {
        let mut table = Table::new();
        table.load_style(TableStyle::new()).set_truncation_indicator(ELLIPSIS);
        table.set_content_arrangement(ContentArrangement::Dynamic);
        // Text may be truncated at any character: it contains no control characters.
        table.set_delimiter('\0');
        SmallTable { table, rows: Vec::new(), cut }
    }

    /// Adds a row of titles.
    pub fn header(&mut self, titles: &[&str], ui: &Ui) {
        self.row(titles.iter().map(|title| vec![((*title).to_owned(), ui.styles.dim)]).collect());
    }

    /// Adds a row.
    pub fn row(&mut self, cells: Vec<Cell>) {
        let plain = |cell: &Cell| cell.iter().map(|(text, _)| text.as_str()).collect::<String>();
        let mut row = comfy_table::Row::from(cells.iter().map(plain));
        row.max_height(1);
        self.table.add_row(row);
        self.rows.push(cells);
    }

    /// Aligns columns to the right.
    pub fn align_right(&mut self, columns: std::ops::Range<usize>) {
        for column in self.table.column_iter_mut().skip(columns.start).take(columns.len()) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }

    /// Prints the rows, fitted to the width of the terminal.
    pub fn print(mut self, ui: &mut Ui) -> Result<(), Failure> {
        let last = self.table.column_count().saturating_sub(1);
        for (at, column) in self.table.column_iter_mut().enumerate() {
            column.set_padding((0, if at == last { 0 } else { GAP }));
            if !self.cut.contains(&at) {
                column.set_constraint(ColumnConstraint::ContentWidth);
            }
        }
        if let Some(width) = ui.width().and_then(|width| u16::try_from(width).ok()) {
            self.table.set_width(width);
        }
        for (line, cells) in self.table.lines().zip(&self.rows) {
            let line = line.trim_end();
            let line = line
                .strip_suffix(ELLIPSIS)
                .map_or(line.to_owned(), |cut| cut.trim_end().to_owned() + ELLIPSIS);
            // The columns that are not truncated may be too wide.
            let line = match ui.width() {
                Some(width) => fitted(&line, width, ELLIPSIS),
                None => line,
            };
            ui.print(&format!("{}\n", coloured(&line, cells)))?;
        }
        Ok(())
    }
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
