//! Lists the session files that a path refers to.

use super::error::StoreError;
use super::files::{DISK, FileType, Files};
use std::ffi::OsStr;
use std::fs::DirEntry;
use std::path::{Path, PathBuf};

/// The contents of a directory.
#[derive(Debug, Default)]
pub struct Listing {
    /// The session files, sorted by path.
    pub sessions: Vec<PathBuf>,
    /// The subdirectories that could not be read. They do not stop the search.
    pub problems: Vec<StoreError>,
}

/// Returns the sessions of a path: of a file, the file itself, whatever its name; of a directory, the `*.jsonl` in
/// it and, with `recursive`, in its subdirectories. Hidden files and directories are skipped, and so are symbolic
/// links to directories (except the given path).
pub fn list_sessions(path: &Path, recursive: bool) -> Result<Listing, StoreError> {
    let stat = DISK.stat_at(path).map_err(|error| StoreError::io("read", path, error))?;
    let mut listing = Listing::default();
    if stat.kind != FileType::Folder {
        listing.sessions.push(path.to_owned());
        return Ok(listing);
    }
    let mut folders = list_folder(path, &mut listing)?;
    while let Some(folder) = folders.pop().filter(|_| recursive) {
        match list_folder(&folder, &mut listing) {
            Ok(more) => folders.extend(more),
            Err(problem) => listing.problems.push(problem),
        }
    }
    listing.sessions.sort();
    Ok(listing)
}

/// Collects the sessions of one directory, and returns its subdirectories.
fn list_folder(folder: &Path, listing: &mut Listing) -> Result<Vec<PathBuf>, StoreError> {
    let failed = |error| StoreError::io("read the directory", folder, error);
    let mut folders = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        if entry.file_name().as_encoded_bytes().starts_with(b".") {
            continue;
        }
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            folders.push(entry.path());
        } else if is_session(&entry) {
            listing.sessions.push(entry.path());
        }
    }
    Ok(folders)
}

/// Whether a path counts as a session file. A link to a file does, and so does a dangling link, so that it is
/// reported; a link to a directory or a FIFO does not.
fn is_session(entry: &DirEntry) -> bool {
    let path = entry.path();
    let is_file = || std::fs::metadata(&path).is_ok_and(|stat| stat.is_file());
    path.extension() == Some(OsStr::new("jsonl")) && (is_file() || !path.exists())
}
