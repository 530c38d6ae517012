//! What became of sessions that were archived, restored or deleted: their results, and the report.

use crate::cli::output::{Exit, Failure, Ui, plain_cell, to_visible};
use crate::cli::plan::{PlanTable, half_path_cell, session_moves_table, size_with_companions};
use crate::cli::status::Status;
use crate::format::{format_bytes, format_count};
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

/// What became of a session.
#[derive(Debug)]
pub struct ArchiveResult {
    /// Where it was: its path, or that of its archive.
    pub path: PathBuf,
    /// Where it is now; `None` if it is deleted.
    pub to: Option<PathBuf>,
    /// What became of it.
    pub status: Status,
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
            sizes: None,
            errors: Vec::new(),
        }
    }

    /// Prints where the session is now; for a deleted archive, where that was. With `-n`, adds to
    /// the plan where the session is to be moved. A failure was reported, and is printed only as
    /// JSON.
    fn print_result(&self, json: bool, plan: &mut PlanTable, ui: &mut Ui) -> Result<(), Failure> {
        let path = self.path.to_string_lossy();
        let to = self.to.as_ref().map(|to| to.to_string_lossy());
        if json {
            let result = Object::new()
                .str("path", &path)
                .str_or_null("to", to.as_deref())
                .json("status", &self.status.to_json())
                .number_or_null("bytes", self.sizes.map(|sizes| sizes.files as f64))
                .number_or_null(
                    "archivedBytes",
                    self.sizes.map(|sizes| sizes.archive as f64),
                );
            return ui.print_json(&result.finish());
        }
        match (self.status, to) {
            (Status::Failed, _) => Ok(()),
            (Status::Planned, _) => {
                let from_cell = half_path_cell(&self.path, ui);
                let to_cell = match &self.to {
                    Some(to) => half_path_cell(to, ui),
                    None => plain_cell("(to be deleted)".to_owned()),
                };
                plan.add_row(
                    size_with_companions(&self.path),
                    vec![from_cell, to_cell],
                    ui,
                )
            }
            (_, to) => ui.print_path(&to.unwrap_or(path)),
        }
    }
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

    /// Prints the sums, if there is a session.
    fn report(&self, what_became: &str, ui: &mut Ui) {
        if self.sessions == 0 {
            return;
        }
        let sessions = format_count(self.sessions, "session", "sessions");
        ui.print_status(&format!(
            "{sessions} {what_became}, {} in {}",
            format_bytes(self.files),
            format_bytes(self.archives)
        ));
    }
}

/// Reports failures, and prints the results; returns the worst exit code. A failure to print is one
/// after the write if a session was archived, restored or deleted.
pub fn report_outcomes(
    outcomes: Vec<ArchiveOutcome>,
    json: bool,
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
        print_results(&results, json, ui)
    } else {
        let sessions = format_count(written_count, "session", "sessions");
        ui.print_after_write(&sessions, |ui| print_results(&results, json, ui))
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
/// deleted.
fn print_results(results: &[ArchiveResult], json: bool, ui: &mut Ui) -> Result<(), Failure> {
    let mut archived = SizeSums::default();
    let mut deleted = SizeSums::default();
    let mut plan = session_moves_table();
    for result in results {
        result.print_result(json, &mut plan, ui)?;
        match (result.status, result.sizes) {
            (Status::Archived, Some(sizes)) => archived.add(sizes),
            (Status::Deleted, Some(sizes)) => deleted.add(sizes),
            _ => {}
        }
    }
    plan.print(ui)?;
    archived.report("archived", ui);
    deleted.report("deleted", ui);
    Ok(())
}
