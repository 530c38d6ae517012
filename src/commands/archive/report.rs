//! Moves sessions into archives and back, lists and deletes archives.

use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::cli::status::Status;
use crate::format::{format_bytes, format_count};
use pisess_json::write::Object;
use pisess_store::{Cause, StoreError};
use std::path::PathBuf;

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

impl ArchiveResult {
    fn print_result(&self, json: bool, ui: &mut Ui) -> Result<(), Failure> {
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
            (Status::Planned, Some(to)) => {
                ui.print(&format!("{} -> {}\n", to_visible(&path), to_visible(&to)))
            }
            (_, to) => ui.print_path(&to.unwrap_or(path)),
        }
    }
}

/// The sizes of all sessions that were archived.
#[derive(Default)]
struct SizeSums {
    sessions: usize,
    files: usize,
    archives: usize,
}

/// Prints the rows and failures of a command; returns how it ends.
pub fn report_results(
    outcomes: Vec<(PathBuf, Result<ArchiveResult, Failure>)>,
    json: bool,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let mut worst = Exit::Done;
    let mut results = Vec::new();
    let mut write_count = 0;
    for (path, result) in outcomes {
        match result {
            Ok(result) => {
                write_count += usize::from(result.status != Status::Planned);
                worst = worst.max(report_troubles(&result, ui));
                results.push(result);
            }
            Err(failure) => {
                worst = worst.max(ui.report_failure(&failure));
                results.push(ArchiveResult {
                    path,
                    to: None,
                    status: Status::Failed,
                    sizes: None,
                    errors: Vec::new(),
                });
            }
        }
    }
    let printed = if write_count == 0 {
        print_results(&results, json, ui)
    } else {
        let sessions = format_count(write_count, "session", "sessions");
        ui.print_after_write(&sessions, |ui| print_results(&results, json, ui))
    };
    worst.or_print_failure(printed)
}

/// Reports what went wrong after a session was archived; returns how that ends.
fn report_troubles(result: &ArchiveResult, ui: &mut Ui) -> Exit {
    let mut worst = Exit::Done;
    for trouble in &result.errors {
        if let Cause::Unsynced(_) = trouble.cause {
            ui.warn(&trouble.to_string());
            continue;
        }
        let written = result.to.as_ref().unwrap_or(&result.path);
        let failure = Failure::invalid(trouble)
            .after_writing(&to_visible(&written.to_string_lossy()))
            .with_hint("remove that file; it is in the archive");
        worst = worst.max(ui.report_failure(&failure));
    }
    worst
}

fn print_results(results: &[ArchiveResult], json: bool, ui: &mut Ui) -> Result<(), Failure> {
    let mut sums = SizeSums::default();
    for result in results {
        result.print_result(json, ui)?;
        if result.status == Status::Archived
            && let Some(sizes) = result.sizes
        {
            sums.sessions += 1;
            sums.files += sizes.files as usize;
            sums.archives += sizes.archive as usize;
        }
    }
    if sums.sessions > 0 {
        let sessions = format_count(sums.sessions, "session", "sessions");
        ui.print_status(&format!(
            "{sessions} archived, {} in {}",
            format_bytes(sums.files),
            format_bytes(sums.archives)
        ));
    }
    Ok(())
}
