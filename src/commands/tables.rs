//! Small tables: columns of their own width, no lines.

use crate::ui::{Failure, Ui, fitted_styled};
use comfy_table::{ContentArrangement, Table, TableStyle};

/// Returns an empty table.
pub fn small_table() -> Table {
    let mut table = Table::new();
    table.load_style(TableStyle::new()).set_content_arrangement(ContentArrangement::Disabled);
    table
}

/// Prints a table; what does not fit into the width is cut.
pub fn print_table(table: &Table, ui: &mut Ui) -> Result<(), Failure> {
    let width = ui.width().unwrap_or(usize::MAX);
    for line in table.lines() {
        // The space before the first column is that of a border.
        let line = line.strip_prefix(' ').unwrap_or(&line);
        ui.print(&format!("{}\n", fitted_styled(line.trim_end(), width, "…")))?;
    }
    Ok(())
}
