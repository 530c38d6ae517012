//! What a command reports on a terminal of a session that it has made.

use super::locate::SessionStores;
use super::named::{read_for_list, shown_title};
use super::output::{Ui, display_width, truncate_end};
use super::process::command_line::quote_word;
use crate::format::{ID_SUFFIX_LEN, id_suffix};
use pisess_store::{Disk, OnDisk};
use std::path::Path;

/// Reports the title and the id of a session that was made, and how to continue it. `how` begins
/// the report: `imported`, `forked`. The answer on standard output is its path, for other programs;
/// so nothing is reported unless standard error is a terminal.
pub fn report_new_session(how: &str, path: &Path, ui: &mut Ui) {
    if ui.is_quiet() || !ui.stderr_is_terminal() {
        return;
    }
    let Some(session) = read_for_list(path) else {
        return;
    };
    let full_id = session.id.to_string_lossy();
    let id = id_suffix(&full_id, ID_SUFFIX_LEN);
    let mut report = format!("{how} {id}: {}", shown_title(&session));
    if let Some(width) = ui.row_width() {
        let room = width.saturating_sub(display_width("pisess: "));
        report = truncate_end(&report, room, "…");
    }
    ui.print_status(&report);

    let argument = resume_argument(path, id, ui);
    ui.print_status(&format!("`pisess resume {argument}` continues it"));
}

/// Returns the id of a session if that names it; otherwise, such as for a file in no store, its
/// path.
fn resume_argument(path: &Path, id: &str, ui: &Ui) -> String {
    let found = SessionStores::locate(ui).find_by_name(id);
    let names_it = found.is_ok_and(|found| OnDisk.real(&found) == OnDisk.real(path));
    if names_it {
        id.to_owned()
    } else {
        quote_word(path.as_os_str())
    }
}
