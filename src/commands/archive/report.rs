//! Moves sessions into archives and back, lists and deletes archives.

use crate::cli::output::{Exit, Failure, Ui, visible};
use crate::cli::status::Status;
use crate::format::{counted, size};
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
    pub troubles: Vec<StoreError>,
}

impl ArchiveResult {
    fn print(&self, json: bool, ui: &mut Ui) -> Result<(), Failure> {
        let path = self.path.to_string_lossy();
        let to = self.to.as_ref().map(|to| to.to_string_lossy());
        if json {
            let result = Object::new()
                .str("path", &path)
                .str_or_null("to", to.as_deref())
                .json("status", &self.status.json())
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
                ui.print(&format!("{} -> {}\n", visible(&path), visible(&to)))
            }
            (_, to) => ui.print_path(&to.unwrap_or(path)),
        }
    }
}

/// The sizes of all sessions that were archived.
#[derive(Default)]
struct Sums {
    sessions: usize,
    files: usize,
    archives: usize,
}

/// Prints the rows and failures of a command; returns how it ends.
pub fn report(
    done: Vec<(PathBuf, Result<ArchiveResult, Failure>)>,
    json: bool,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let mut worst = Exit::Done;
    let mut results = Vec::new();
    let mut written = 0;
    for (path, result) in done {
        match result {
            Ok(result) => {
                written += usize::from(result.status != Status::Planned);
                worst = worst.max(report_troubles(&result, ui));
                results.push(result);
            }
            Err(failure) => {
                worst = worst.max(ui.report(&failure));
                results.push(ArchiveResult {
                    path,
                    to: None,
                    status: Status::Failed,
                    sizes: None,
                    troubles: Vec::new(),
                });
            }
        }
    }
    let printed = if written == 0 {
        print_results(&results, json, ui)
    } else {
        let sessions = counted(written, "session", "sessions");
        ui.print_after(&sessions, |ui| print_results(&results, json, ui))
    };
    worst.printed(printed)
}

/// Reports what went wrong after a session was archived; returns how that ends.
fn report_troubles(result: &ArchiveResult, ui: &mut Ui) -> Exit {
    let mut worst = Exit::Done;
    for trouble in &result.troubles {
        if let Cause::Unsynced(_) = trouble.cause {
            ui.warn(&trouble.to_string());
            continue;
        }
        let written = result.to.as_ref().unwrap_or(&result.path);
        let failure = Failure::cannot(trouble)
            .after_writing(&visible(&written.to_string_lossy()))
            .hint("remove that file; it is in the archive");
        worst = worst.max(ui.report(&failure));
    }
    worst
}

fn print_results(results: &[ArchiveResult], json: bool, ui: &mut Ui) -> Result<(), Failure> {
    let mut sums = Sums::default();
    for result in results {
        result.print(json, ui)?;
        if result.status == Status::Archived
            && let Some(sizes) = result.sizes
        {
            sums.sessions += 1;
            sums.files += sizes.files as usize;
            sums.archives += sizes.archive as usize;
        }
    }
    if sums.sessions > 0 {
        let sessions = counted(sums.sessions, "session", "sessions");
        ui.status(&format!(
            "{sessions} archived, {} in {}",
            size(sums.files),
            size(sums.archives)
        ));
    }
    Ok(())
}
