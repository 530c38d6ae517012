//! Moves sessions into archives and back, lists and deletes archives.

mod list;
mod pack;
mod unpack;

pub use self::list::{Archived, list};
pub use self::pack::Packer;
pub use self::unpack::{chosen, delete, restore};

use super::output::{Exit, Failure, Ui, visible};
use super::status::Status;
use crate::format::{counted, size};
use pisess_json::write::Object;
use std::path::PathBuf;

/// What became of a session.
#[derive(Debug)]
pub struct ArchiveResult {
    /// Where it was: its path, or that of its archive.
    pub path: PathBuf,
    /// Where it is now; `None` if it is deleted.
    pub to: Option<PathBuf>,
    /// What became of it.
    pub status: Status,
    /// The size of its files, and that of its archive.
    pub bytes: Option<(u64, u64)>,
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
                .number_or_null("bytes", self.bytes.map(|(bytes, _)| bytes as f64))
                .number_or_null(
                    "archivedBytes",
                    self.bytes.map(|(_, archived)| archived as f64),
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

/// Prints the rows and failures of a command; returns how it ends.
pub fn report(
    done: Vec<(PathBuf, Result<ArchiveResult, Failure>)>,
    json: bool,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let mut worst = Exit::Done;
    let is_written =
        |result: &ArchiveResult| !matches!(result.status, Status::Planned | Status::Failed);
    let written = done
        .iter()
        .filter(|(_, result)| result.as_ref().is_ok_and(is_written))
        .count();
    let print = |ui: &mut Ui| {
        let mut sums = (0, 0, 0);
        for (path, result) in done {
            let result = result.unwrap_or_else(|failure| {
                worst = worst.max(ui.report(&failure));
                ArchiveResult {
                    path,
                    to: None,
                    status: Status::Failed,
                    bytes: None,
                }
            });
            result.print(json, ui)?;
            if let (Status::Archived, Some((bytes, archived))) = (result.status, result.bytes) {
                sums = (
                    sums.0 + 1,
                    sums.1 + bytes as usize,
                    sums.2 + archived as usize,
                );
            }
        }
        if let (1.., bytes, archived) = sums {
            let sessions = counted(sums.0, "session", "sessions");
            ui.status(&format!(
                "{sessions} archived, {} in {}",
                size(bytes),
                size(archived)
            ));
        }
        Ok(())
    };
    let printed = match written {
        0 => print(ui),
        _ => ui.print_after(&counted(written, "session", "sessions"), print),
    };
    worst.printed(printed)
}
