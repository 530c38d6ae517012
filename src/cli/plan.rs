//! The table that `-n` prints for people: what would be written or moved, with sizes and a total.

use super::output::{Cell, Column, Failure, Table, Ui, plain_cell, to_visible, truncate_path};
use crate::format::{format_bytes, format_count};
use crate::ops::archive::find_companions;
use crate::session::paths::abbreviate_home;
use std::path::Path;

/// The nouns for one row of a plan and for several rows.
#[derive(Clone, Copy, Debug)]
pub struct RowNoun {
    pub one: &'static str,
    pub many: &'static str,
}

/// A table with a size in the first column, and a total in the last row.
pub struct PlanTable {
    table: Table,
    column_count: usize,
    noun: RowNoun,
    row_count: usize,
    total_bytes: usize,
}

impl PlanTable {
    /// Returns an empty plan with these columns after the size. There must be at least two, because
    /// the row of the total uses them.
    pub fn new(columns: &[Column], noun: RowNoun) -> PlanTable {
        debug_assert!(columns.len() >= 2);
        let size_column = Column::number("size");
        PlanTable {
            table: Table::new([&[size_column], columns].concat()),
            column_count: columns.len(),
            noun,
            row_count: 0,
            total_bytes: 0,
        }
    }

    /// Adds a row. Prints the rows added so far once there are enough to determine the column
    /// widths.
    pub fn add_row(&mut self, bytes: usize, cells: Vec<Cell>, ui: &mut Ui) -> Result<(), Failure> {
        self.row_count += 1;
        self.total_bytes += bytes;
        let mut row = vec![plain_cell(format_bytes(bytes))];
        row.extend(cells);
        self.table.add_row(row);
        self.table.flush_when_full(ui)
    }

    /// Prints the remaining rows, and the total if there were several rows.
    pub fn print(mut self, ui: &mut Ui) -> Result<(), Failure> {
        if self.row_count > 1 {
            let rows = format_count(self.row_count, self.noun.one, self.noun.many);
            let bytes = format_bytes(self.total_bytes);
            let mut total = vec![bytes, "total".to_owned(), rows];
            total.resize(1 + self.column_count, String::new());
            self.table.add_text_row(total);
        }
        self.table.print(ui)
    }
}

/// The nouns for a plan with a row for each session.
pub const SESSIONS: RowNoun = RowNoun {
    one: "session",
    many: "sessions",
};

/// Returns an empty plan for sessions that would be moved, with old and new paths.
pub fn session_moves_table() -> PlanTable {
    PlanTable::new(&[Column::text("from"), Column::text("to")], SESSIONS)
}

/// Returns the size of a session together with the files that move with it, such as sessions of
/// sub-agents. A file that cannot be examined counts as empty: the operation itself will report it.
pub fn size_with_companions(session: &Path) -> usize {
    let mut bytes = size_on_disk(session);
    for companion in find_companions(session).unwrap_or_default() {
        bytes += size_on_disk(&companion.path);
    }
    bytes
}

fn size_on_disk(path: &Path) -> usize {
    std::fs::metadata(path).map_or(0, |file| file.len() as usize)
}

/// The number of columns that a row reserves for cells other than paths.
const COLUMNS_BESIDE_PATHS: usize = 30;
/// The minimum width of a path. It suffices for the suffix of an id that is still distinct.
const LEAST_PATH_COLUMNS: usize = 24;

/// Returns the cell for the only path of a row, with `~` for the home directory. On a terminal, the
/// path is truncated in its middle so that the row fits.
pub fn path_cell(path: &Path, ui: &Ui) -> Cell {
    path_cell_of(1, path, ui)
}

/// Returns a cell as [`path_cell`] does, for one of two paths in a row.
pub fn half_path_cell(path: &Path, ui: &Ui) -> Cell {
    path_cell_of(2, path, ui)
}

/// Returns the cell for one of `paths_in_row` paths, which share the available columns.
fn path_cell_of(paths_in_row: usize, path: &Path, ui: &Ui) -> Cell {
    let path = path.to_string_lossy();
    let mut shown = to_visible(&abbreviate_home(&path, ui.home().as_deref()));
    if let Some(width) = ui.row_width() {
        let room = width.saturating_sub(COLUMNS_BESIDE_PATHS) / paths_in_row;
        let path_range = 0..shown.len();
        shown = truncate_path(&shown, path_range, room.max(LEAST_PATH_COLUMNS), "…");
    }
    plain_cell(shown)
}
