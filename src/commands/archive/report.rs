//! What became of sessions that were archived, restored or deleted: their results, and the report.

use super::Args;
use crate::cli::ids::Ids;
use crate::cli::output::{Cell, Column, Exit, Failure, Table, Ui, plain_cell, to_visible};
use crate::cli::plan::{PlanTable, SESSIONS, size_with_companions};
use crate::cli::status::Status;
use crate::format::{ID_SUFFIX_LEN, format_age, format_bytes, format_count, id_suffix};
use crate::ops::archive::ArchiveFacts;
use crate::ops::list::{ListedSession, display_title};
use crate::session::paths::abbreviate_home;
use pisess_json::write::Object;
use pisess_store::{Cause, StoreError};
use std::path::{Path, PathBuf};

/// How large a session and its archive are, in bytes.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// The size of the session with all files that belong to it.
    pub files: u64,
    /// The size of the archive.
    pub archive: u64,
}

/// The facts by which a user knows a session. Text of the session is not escaped.
#[derive(Clone, Debug)]
pub struct SessionFacts {
    id: String,
    /// Its working directory; empty if it records none.
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

/// What became of a session.
#[derive(Debug)]
pub struct ArchiveResult {
    /// Where it was: its path, or that of its archive.
    pub path: PathBuf,
    /// Where it is now; `None` if it is deleted.
    pub to: Option<PathBuf>,
    /// What became of it.
    pub status: Status,
    /// Its facts; `None` after a failure, or if its archive does not record them.
    pub facts: Option<SessionFacts>,
    /// The sizes, if they are known: not before a session is archived, nor after a failure.
    pub sizes: Option<Sizes>,
    /// The errors that occurred after it was archived.
    pub errors: Vec<StoreError>,
}

/// The result for a session, or why there is none.
pub struct ArchiveOutcome {
    /// The path of the session or of its archive, or the argument that names it.
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
    /// Returns the result for a session that stays where it is, because the command failed.
    fn new_failed(path: PathBuf) -> ArchiveResult {
        ArchiveResult {
            path,
            to: None,
            status: Status::Failed,
            facts: None,
            sizes: None,
            errors: Vec::new(),
        }
    }

    /// Returns what was archived as JSON. Sizes are `null` if nothing was.
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

    /// Returns what was done with the session, or with `-n` would be done.
    fn action(&self, args: &Args) -> &'static str {
        match self.status {
            Status::Archived => "archived",
            Status::Restored => "restored",
            Status::Deleted => "deleted",
            _ if args.restore => "restore",
            _ if args.delete => "delete",
            _ => "archive",
        }
    }

    /// Returns the row of the session, without its size. If its facts are unknown, its path is in
    /// place of them.
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

/// The columns of the table for people, after the size.
fn session_columns() -> [Column; 5] {
    [
        Column::text("action"),
        Column::text("project"),
        Column::number("age"),
        Column::text("id"),
        Column::text("name or first user message").allow_shrink(),
    ]
}

/// Returns the table for sessions that were moved, without rows.
fn moved_table() -> Table {
    let size_column = [Column::number("size")];
    Table::new([&size_column[..], &session_columns()].concat())
}

/// The sizes of all sessions that were archived, or of which the archives were deleted.
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

    /// Returns the sums as words.
    fn summarize(&self, what_became: &str) -> String {
        let sessions = format_count(self.sessions, "session", "sessions");
        let files = format_bytes(self.files);
        let archives = format_bytes(self.archives);
        format!("{sessions} {what_became}, {files} in {archives}")
    }
}

/// Reports failures, and prints the results; returns the worst exit code. A failure to print is one
/// after the write if a session was archived, restored or deleted.
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

/// Reports the errors that occurred after a session was archived; returns the worst exit code. That
/// a change may not be on the disk yet is only a warning; a file that could not be removed is a
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

/// Prints the results, and on standard error the sizes of all sessions that were archived or
/// deleted. A failure was reported, and is printed only as JSON.
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

/// Prints where each session is now, one path a line; for a deleted archive, where that was. People
/// know sessions by their titles: a plan, and what was done on a terminal, is a table of them.
fn print_rows(results: &[ArchiveResult], args: &Args, ui: &mut Ui) -> Result<(), Failure> {
    let now_ms = Ids::new(ui)?.now_ms(ui);
    let mut plan = PlanTable::new(&session_columns(), SESSIONS);
    let mut moved = moved_table();
    for result in results {
        match result.status {
            Status::Failed => {}
            Status::Planned => {
                let bytes = size_with_companions(&result.path);
                plan.add_row(bytes, result.cells(args, now_ms, ui), ui)?;
            }
            _ if ui.stdout_is_terminal() => {
                let bytes = result.sizes.map_or(0, |sizes| sizes.files);
                let mut row = vec![plain_cell(format_bytes(bytes as usize))];
                row.extend(result.cells(args, now_ms, ui));
                moved.add_row(row);
                moved.flush_when_full(ui)?;
            }
            _ => {
                let path = result.to.as_ref().unwrap_or(&result.path);
                ui.print_path(&path.to_string_lossy())?;
            }
        }
    }
    plan.print(ui)?;
    moved.print(ui)
}

/// Returns the hint how to restore sessions that were archived.
fn restore_hint(results: &[ArchiveResult]) -> String {
    let mut ids = Vec::new();
    for result in results {
        if let (Status::Archived, Some(facts)) = (result.status, &result.facts) {
            ids.push(id_suffix(&facts.id, ID_SUFFIX_LEN));
        }
    }
    match &ids[..] {
        [id] => format!("`pisess archive --restore {id}` moves it back"),
        _ => "`pisess archive --restore ID` moves one back".to_owned(),
    }
}
