//! Reports the session that a command created, found or chose, with its title and id.

use super::ids::Ids;
use super::locate::SessionStores;
use super::named::{read_for_list, shown_title};
use super::output::{Failure, Ui, display_width, truncate_end};
use super::process::command_line::{id_argument, quote_word};
use crate::format::{ID_SUFFIX_LEN, format_age, id_suffix};
use crate::ops::list::ListedSession;
use pisess_store::{Disk, OnDisk};
use std::path::Path;

/// Reports a session that the user did not name by its path. `how` begins the report, for example
/// `chose` or `last is`.
pub fn report_session(how: &str, path: &Path, ui: &mut Ui) -> Result<(), Failure> {
    let Some(session) = read_for_list(path) else {
        ui.print_status(&format!("{how} {}", path.display()));
        return Ok(());
    };
    report_listed(how, &session, ui)
}

/// Reports a session that has been read, as [`report_session`] does.
pub fn report_listed(how: &str, session: &ListedSession, ui: &mut Ui) -> Result<(), Failure> {
    let id = session.id.to_string_lossy();
    let id = id_suffix(&id, ID_SUFFIX_LEN);
    let age = format_age(Ids::new(ui)?.now_ms(ui), session.modified_ms);
    let title = shown_title(session);
    print_row(&format!("{how} {id} ({age}): {title}"), ui);
    Ok(())
}

/// Reports a new session, with its id, its title and the command that continues it. `how` begins
/// the report, for example `imported` or `forked`.
///
/// Standard output has the path, for other programs. This report is for people, so it is printed
/// only if standard error is a terminal.
pub fn report_new_session(how: &str, path: &Path, ui: &mut Ui) {
    if ui.is_quiet() || !ui.stderr_is_terminal() {
        return;
    }
    let Some(session) = read_for_list(path) else {
        return;
    };
    let id = session.id.to_string_lossy();
    let shown_id = id_suffix(&id, ID_SUFFIX_LEN);
    print_row(&format!("{how} {shown_id}: {}", shown_title(&session)), ui);
    let argument = resume_argument(path, &id, ui);
    ui.print_status(&format!("`pisess resume {argument}` continues it"));
}

/// Prints a report, truncated to one row of the terminal.
fn print_row(report: &str, ui: &mut Ui) {
    let mut row = report.to_owned();
    if let Some(width) = ui.row_width() {
        let room = width.saturating_sub(display_width("pisess: "));
        row = truncate_end(report, room, "…");
    }
    ui.print_status(&row);
}

/// Returns the argument of `pisess resume` for a session: its id if that identifies it, otherwise
/// its path. The id does not identify a file that is in no store.
fn resume_argument(path: &Path, id: &str, ui: &Ui) -> String {
    let found = SessionStores::locate(ui).find_by_name(id_suffix(id, ID_SUFFIX_LEN));
    let names_it =
        found.is_ok_and(|found| OnDisk.resolve_links(&found) == OnDisk.resolve_links(path));
    match id_argument(id) {
        Some(argument) if names_it => argument,
        _ => quote_word(path.as_os_str()),
    }
}
