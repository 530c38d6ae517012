//! Small tables: columns of their own width, no lines.
//!
//! `comfy-table` lays them out without colours, which would count as columns; they are put in afterwards.

use crate::ui::{Failure, Ui, fitted_styled, styled};
use comfy_table::{CellAlignment, ContentArrangement, Table, TableStyle};
use owo_colors::Style;

/// The parts of a cell, each in its colour.
pub type Cell = Vec<(String, Style)>;

/// A table in the making.
#[derive(Debug)]
pub struct SmallTable {
    table: Table,
    rows: Vec<Vec<Cell>>,
}

impl SmallTable {
    /// Returns an empty one.
    pub fn new() -> Self {
        let mut table = Table::new();
        table.load_style(TableStyle::new()).set_content_arrangement(ContentArrangement::Disabled);
        SmallTable { table, rows: Vec::new() }
    }

    /// Adds a row; a header is one.
    pub fn row(&mut self, cells: Vec<Cell>) {
        let plain = |cell: &Cell| cell.iter().map(|(text, _)| text.as_str()).collect::<String>();
        self.table.add_row(cells.iter().map(plain));
        self.rows.push(cells);
    }

    /// Aligns columns to the right.
    pub fn align_right(&mut self, columns: std::ops::Range<usize>) {
        for column in self.table.column_iter_mut().skip(columns.start).take(columns.len()) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }

    /// Prints the rows, truncated to the width.
    pub fn print(&self, ui: &mut Ui) -> Result<(), Failure> {
        let width = ui.width().unwrap_or(usize::MAX);
        for (line, cells) in self.table.lines().zip(&self.rows) {
            // The space before the first column is that of a border.
            let line = line.strip_prefix(' ').unwrap_or(&line);
            let line = coloured(line.trim_end(), cells);
            ui.print(&format!("{}\n", fitted_styled(&line, width, "…")))?;
        }
        Ok(())
    }
}

/// The line with the colours of its cells.
fn coloured(line: &str, cells: &[Cell]) -> String {
    let mut out = String::with_capacity(line.len() + 32);
    let mut rest = line;
    for (text, style) in cells.iter().flatten() {
        let text = text.trim_end();
        // Between cells there are spaces only.
        if let Some(at) = rest.find(text) {
            out.push_str(&rest[..at]);
            out.push_str(&styled(text, *style));
            rest = &rest[at + text.len()..];
        }
    }
    out + rest
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
    }
}
