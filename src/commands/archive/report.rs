//! The results of sessions that were archived, restored or deleted, and the report of them.

use super::Args;
use crate::cli::ids::Ids;
use crate::cli::output::{Cell, Column, Exit, Failure, Table, Ui, plain_cell, to_visible};
use crate::cli::plan::{PlanTable, SESSIONS, size_with_companions};
use crate::cli::process::command_line::id_argument;
use crate::cli::status::Status;
use crate::format::{ID_SUFFIX_LEN, format_age, format_bytes, format_count, id_suffix};
use crate::ops::archive::ArchiveFacts;
use crate::ops::list::{ListedSession, display_title};
use crate::session::paths::abbreviate_home;
use pisess_json::write::Object;
use pisess_store::{Cause, StoreError};
use std::path::{Path, PathBuf};

/// The sizes of a session and its archive, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// The size of the session with all files that belong to it.
    pub files: u64,
    /// The size of the archive.
    pub archive: u64,
}

/// The facts by which a user recognizes a session. Texts are not escaped for a terminal.
#[derive(Clone, Debug)]
pub struct SessionFacts {
    id: String,
    /// Its working directory; empty if the session records none.
    cwd: String,
    /// Its name or first user message.
    title: String,
    /// The time of its newest message, in milliseconds since 1970.
    modified_ms: i64,
}

impl From<&ListedSession> for SessionFacts {
    fn from(session: &ListedSession) -> SessionFacts {
        SessionFacts {
            id: session.id.to_string_lossy().into_owned(),
            cwd: session.cwd.to_string_lossy().into_owned(),
            title: display_title(&session.title(), session.message_count),
            modified_ms: session.modified_ms,
        }
    }
}

impl From<&ArchiveFacts> for SessionFacts {
    fn from(facts: &ArchiveFacts) -> SessionFacts {
        let cwd = facts.header.cwd.as_ref();
        SessionFacts {
            id: facts.header.id.to_string_lossy().into_owned(),
            cwd: cwd.map_or_else(String::new, |cwd| cwd.to_string_lossy().into_owned()),
            title: display_title(&facts.title, facts.message_count),
            modified_ms: facts.modified_ms,
        }
    }
}

/// The result of archiving, restoring or deleting one session.
#[derive(Debug)]
pub struct ArchiveResult {
    /// The path before: of the session, or of the archive that was restored or deleted.
    pub path: PathBuf,
    /// The path after: of the archive, or of the restored session. `None` if the archive is
    /// deleted.
    pub to: Option<PathBuf>,
    /// What became of it.
    pub status: Status,
    /// Whether the session is only in the plan: without `-n`, the command would leave it out,
    /// because it is in a subdirectory.
    pub needs_recursion: bool,
    /// The facts of the session. `None` after a failure, or if its archive does not record them.
    pub facts: Option<SessionFacts>,
    /// The sizes. `None` after a failure, and for a session that is only planned to be archived.
    pub sizes: Option<Sizes>,
    /// Errors that occurred after the change: unsynced files, or files that could not be removed.
    pub errors: Vec<StoreError>,
}

/// The result for one session, or the failure.
pub struct ArchiveOutcome {
    /// The path of the session or of its archive, or the argument that named it.
    pub path: PathBuf,
    pub result: Result<ArchiveResult, Failure>,
}

impl ArchiveOutcome {
    pub fn failed(path: &Path, failure: Failure) -> ArchiveOutcome {
        ArchiveOutcome {
            path: path.to_owned(),
            result: Err(failure),
        }
    }
}

impl ArchiveResult {
    /// Returns the result for a session that was left where it is, because the command failed.
    fn new_failed(path: PathBuf) -> ArchiveResult {
        ArchiveResult {
            path,
            to: None,
            status: Status::Failed,
            needs_recursion: false,
            facts: None,
            sizes: None,
            errors: Vec::new(),
        }
    }

    /// Returns the result as JSON. The sizes are `null` if they are unknown.
    fn to_json(&self) -> Vec<u8> {
        let to = self.to.as_ref().map(|to| to.to_string_lossy());
        Object::new()
            .str("path", &self.path.to_string_lossy())
            .str_or_null("to", to.as_deref())
            .json("status", &self.status.to_json())
            .number_or_null("bytes", self.sizes.map(|sizes| sizes.files as f64))
            .number_or_null(
                "archivedBytes",
                self.sizes.map(|sizes| sizes.archive as f64),
            )
            .finish()
    }

    /// Returns the value of the column "action": `archived` if it was done, `archive` if it is
    /// planned, and `needs -r` if it would not be done without that option.
    fn action(&self, args: &Args) -> &'static str {
        match self.status {
            Status::Archived => "archived",
            Status::Restored => "restored",
            Status::Deleted => "deleted",
            _ if args.restore => "restore",
            _ if args.delete => "delete",
            _ if self.needs_recursion => "needs -r",
            _ => "archive",
        }
    }

    /// Returns the cells of the session's row, without its size. If its facts are unknown, its path
    /// replaces them.
    fn cells(&self, args: &Args, now_ms: i64, ui: &Ui) -> Vec<Cell> {
        let home = ui.home();
        let mut texts = vec![self.action(args).to_owned()];
        if let Some(facts) = &self.facts {
            let project = abbreviate_home(&facts.cwd, home.as_deref());
            texts.push(to_visible(&project));
            texts.push(format_age(now_ms, facts.modified_ms));
            texts.push(to_visible(id_suffix(&facts.id, ID_SUFFIX_LEN)));
            texts.push(to_visible(&facts.title));
        } else {
            let path = abbreviate_home(&self.path.to_string_lossy(), home.as_deref());
            texts.push(to_visible(&path));
        }
        texts.resize(session_columns().len(), String::new());
        texts.into_iter().map(plain_cell).collect()
    }
}

/// The columns of the table for people, without the column of the size, which is first.
fn session_columns() -> [Column; 5] {
    [
        Column::text("action"),
        Column::text("project"),
        Column::number("age"),
        Column::text("id"),
        Column::text("name or first user message").allow_shrink(),
    ]
}

/// Returns an empty table for sessions that were archived, restored or deleted.
fn moved_table() -> Table {
    let size_column = [Column::number("size")];
    Table::new([&size_column[..], &session_columns()].concat())
}

/// The sums of sizes over all sessions that were archived, or over all archives that were deleted.
#[derive(Default)]
struct SizeSums {
    sessions: usize,
    files: usize,
    archives: usize,
}

impl SizeSums {
    fn add(&mut self, sizes: Sizes) {
        self.sessions += 1;
        self.files += sizes.files as usize;
        self.archives += sizes.archive as usize;
    }

    /// Returns the sums as words: `2 sessions archived, 3MB in 300kB`.
    fn summarize(&self, what_became: &str) -> String {
        let sessions = format_count(self.sessions, "session", "sessions");
        let files = format_bytes(self.files);
        let archives = format_bytes(self.archives);
        format!("{sessions} {what_became}, {files} in {archives}")
    }
}

/// Reports failures, prints the results and returns the worst exit code. If anything was written, a
/// failure to print counts as one after the write.
pub fn report_outcomes(
    outcomes: Vec<ArchiveOutcome>,
    args: &Args,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let mut worst_exit = Exit::Done;
    let mut results = Vec::new();
    let mut written_count = 0;
    for outcome in outcomes {
        match outcome.result {
            Ok(result) => {
                if result.status != Status::Planned {
                    written_count += 1;
                }
                worst_exit = worst_exit.max(report_late_errors(&result, ui));
                results.push(result);
            }
            Err(failure) => {
                worst_exit = worst_exit.max(ui.report_failure(&failure));
                results.push(ArchiveResult::new_failed(outcome.path));
            }
        }
    }

    let printed = if written_count == 0 {
        print_results(&results, args, ui)
    } else {
        let sessions = format_count(written_count, "session", "sessions");
        ui.print_after_write(&sessions, |ui| print_results(&results, args, ui))
    };
    worst_exit.or_print_failure(printed)
}

/// Reports the errors that occurred after a session was archived, and returns the worst exit code.
/// A change that may not be on disk yet is only a warning. A file that could not be removed is a
/// failure.
fn report_late_errors(result: &ArchiveResult, ui: &mut Ui) -> Exit {
    let mut worst_exit = Exit::Done;
    for error in &result.errors {
        if let Cause::Unsynced(_) = error.cause {
            ui.warn(&error.to_string());
            continue;
        }
        let written_path = result.to.as_ref().unwrap_or(&result.path);
        let failure = Failure::invalid(error)
            .after_writing(&to_visible(&written_path.to_string_lossy()))
            .with_hint("remove that file; it is in the archive");
        worst_exit = worst_exit.max(ui.report_failure(&failure));
    }
    worst_exit
}

/// Prints the results. If sessions were archived or deleted, also prints the sums of their sizes on
/// standard error. A failed session is printed only as JSON, because its failure was reported
/// before.
fn print_results(results: &[ArchiveResult], args: &Args, ui: &mut Ui) -> Result<(), Failure> {
    if args.change.json {
        for result in results {
            ui.print_json(&result.to_json())?;
        }
    } else {
        print_rows(results, args, ui)?;
    }

    let mut archived = SizeSums::default();
    let mut deleted = SizeSums::default();
    for result in results {
        match (result.status, result.sizes) {
            (Status::Archived, Some(sizes)) => archived.add(sizes),
            (Status::Deleted, Some(sizes)) => deleted.add(sizes),
            _ => {}
        }
    }
    if archived.sessions > 0 {
        let summary = archived.summarize("archived");
        ui.print_status(&format!("{summary} (hint: {})", restore_hint(results)));
    }
    if deleted.sessions > 0 {
        ui.print_status(&deleted.summarize("deleted"));
    }
    Ok(())
}

/// Prints one row for each session. Plans, and results on a terminal, are tables with titles,
/// because people know sessions by their titles. Otherwise a row is a path: where the session is
/// now, or where the deleted archive was.
fn print_rows(results: &[ArchiveResult], args: &Args, ui: &mut Ui) -> Result<(), Failure> {
    let now_ms = Ids::new(ui)?.now_ms(ui);
    let mut plan = PlanTable::new(&session_columns(), SESSIONS);
    let mut moved = moved_table();
    for result in results {
        // The failure of a session is reported before.
        if result.status == Status::Failed {
            continue;
        }
        if result.status == Status::Planned {
            let bytes = size_with_companions(&result.path);
            plan.add_row(bytes, result.cells(args, now_ms, ui), ui)?;
        } else if ui.stdout_is_terminal() {
            let bytes = result.sizes.map_or(0, |sizes| sizes.files);
            let mut row = vec![plain_cell(format_bytes(bytes as usize))];
            row.extend(result.cells(args, now_ms, ui));
            moved.add_row(row);
            moved.flush_when_full(ui)?;
        } else {
            let path = result.to.as_ref().unwrap_or(&result.path);
            ui.print_path(&path.to_string_lossy())?;
        }
    }
    plan.print(ui)?;
    moved.print(ui)
}

/// Returns the command that restores an archived session, as words for a hint.
fn restore_hint(results: &[ArchiveResult]) -> String {
    let mut ids = Vec::new();
    for result in results {
        if let (Status::Archived, Some(facts)) = (result.status, &result.facts) {
            ids.push(id_argument(&facts.id));
        }
    }
    match &ids[..] {
        [Some(id)] => format!(
            "`pisess archive --restore {id}` moves it back, `--delete {id}` deletes it for good"
        ),
        _ => "`pisess archive --restore ID` moves one back, `--delete ID` deletes one for good"
            .to_owned(),
    }
}
