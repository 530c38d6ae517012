//! What settings and paths are on the disk, and which files are below a directory of our own, whatever their names.

use super::error::StoreError;
use super::files;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Access to the disk.
pub trait Disk {
    /// Returns the content of a small file, if it can be read.
    fn text(&self, path: &Path) -> Option<Vec<u8>>;
    /// Whether the path exists.
    fn exists(&self, path: &Path) -> bool;
    /// Returns the path without symbolic links, or unchanged if it cannot be resolved.
    fn real(&self, path: &Path) -> PathBuf;
}

/// The size of the largest settings file to read.
const SETTINGS: u64 = 1 << 20;

/// The real disk.
#[derive(Clone, Copy, Debug)]
pub struct OnDisk;

impl Disk for OnDisk {
    fn text(&self, path: &Path) -> Option<Vec<u8>> {
        // A FIFO is not opened, because that would block.
        super::modified(path)?;
        let mut text = Vec::new();
        std::fs::File::open(path).ok()?.take(SETTINGS).read_to_end(&mut text).ok()?;
        Some(text)
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn real(&self, path: &Path) -> PathBuf {
        files::real(path).unwrap_or_else(|_| path.to_owned())
    }
}

/// Returns the files at any depth below a directory, sorted, each with whether it is a regular file; symbolic links are not
/// followed. A directory that does not exist has none.
pub fn files_below(folder: &Path) -> Result<Vec<(PathBuf, bool)>, StoreError> {
    let (mut files, mut folders) = (Vec::new(), vec![folder.to_owned()]);
    while let Some(next) = folders.pop() {
        let failed = |error| StoreError::io("read the directory", &next, error);
        let entries = match std::fs::read_dir(&next) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries.map_err(failed)?,
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else {
                files.push((entry.path(), kind.is_file()));
            }
        }
    }
    files.sort();
    Ok(files)
}

/// Removes a directory and those below it, as far as they contain no files.
pub fn remove_empty_folders(folder: &Path) {
    let (mut folders, mut at) = (vec![folder.to_owned()], 0);
    while at < folders.len() {
        let entries = std::fs::read_dir(&folders[at]).into_iter().flatten().flatten();
        let below: Vec<_> = entries
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .map(|entry| entry.path())
            .collect();
        folders.extend(below);
        at += 1;
    }
    // One that contains a file is not empty, and stays.
    folders.iter().rev().for_each(|folder| drop(std::fs::remove_dir(folder)));
}
