//! Reads settings and looks up paths, and lists the files below a directory, whatever their names.

use super::error::{Action, Cause, StoreError};
use super::files::{self, OnDisk};
use std::fs::FileType;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// Access to the disk. Tests replace it by a machine with other files.
pub trait Disk {
    /// Returns the content of a regular file, such as a file of settings. `None` if it cannot be
    /// read. Of a large file, only the first [`MAX_SMALL_FILE_LEN`] bytes are returned.
    fn read_small_file(&self, path: &Path) -> Option<Vec<u8>>;
    /// Whether the path exists.
    fn exists(&self, path: &Path) -> bool;
    /// Returns the path without symbolic links, or unchanged if it cannot be resolved.
    fn resolve_links(&self, path: &Path) -> PathBuf;
}

/// The maximum number of bytes that are read of a small file. No settings are as long. The limit
/// keeps a wrong file from filling the memory.
pub const MAX_SMALL_FILE_LEN: u64 = 1 << 20;

impl Disk for OnDisk {
    fn read_small_file(&self, path: &Path) -> Option<Vec<u8>> {
        // To open a FIFO would block until another process writes to it.
        let is_regular = std::fs::metadata(path).ok()?.is_file();
        if !is_regular {
            return None;
        }
        let file = std::fs::File::open(path).ok()?;
        let mut content = Vec::new();
        // What a longer file has beyond the limit is left out.
        file.take(MAX_SMALL_FILE_LEN)
            .read_to_end(&mut content)
            .ok()?;
        Some(content)
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn resolve_links(&self, path: &Path) -> PathBuf {
        files::real(path).unwrap_or_else(|_| path.to_owned())
    }
}

/// A file below a directory.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileBelow {
    /// The path.
    pub path: PathBuf,
    /// Whether it is a regular file, and no symbolic link, for example.
    pub is_regular: bool,
}

/// Returns the files at any depth below a directory, sorted by path. Symbolic links are not
/// followed. A directory that does not exist has no files.
pub fn files_below(folder: &Path) -> Result<Vec<FileBelow>, StoreError> {
    let mut files = Vec::new();
    walk_below(folder, &mut |file| files.push(file))?;
    files.sort();
    Ok(files)
}

/// Returns the files below a directory as [`files_below`] does. A directory that is a symbolic link
/// is an error: what it leads to may belong to somebody else.
pub fn own_files_below(folder: &Path) -> Result<Vec<FileBelow>, StoreError> {
    match own_type(folder)? {
        Some(kind) if kind.is_symlink() => Err(link(folder)),
        _ => files_below(folder),
    }
}

/// Whether a regular file is at a path; `false` if nothing is there.
///
/// # Errors
/// If the path cannot be examined, or if something else is there, such as a symbolic link.
pub fn own_file(path: &Path) -> Result<bool, StoreError> {
    match own_type(path)? {
        None => Ok(false),
        Some(kind) if kind.is_file() => Ok(true),
        Some(kind) if kind.is_symlink() => Err(link(path)),
        Some(_) => Err(StoreError::new(Action::Read, path, Cause::NotRegular)),
    }
}

/// Whether nothing is at a path, not even a symbolic link that leads nowhere.
///
/// # Errors
/// If the path cannot be examined.
pub fn is_free(path: &Path) -> Result<bool, StoreError> {
    Ok(own_type(path)?.is_none())
}

/// Returns the type of what is at a path, without following a symbolic link. `None` if nothing is
/// there; a name that is too long for the system counts as that.
fn own_type(path: &Path) -> Result<Option<FileType>, StoreError> {
    use io::ErrorKind::{InvalidFilename, NotADirectory, NotFound};
    match path.symlink_metadata() {
        Ok(stat) => Ok(Some(stat.file_type())),
        Err(error) if matches!(error.kind(), NotFound | NotADirectory | InvalidFilename) => {
            Ok(None)
        }
        Err(error) => Err(StoreError::io(Action::Read, path, error)),
    }
}

fn link(path: &Path) -> StoreError {
    StoreError::new(
        Action::Read,
        path,
        Cause::Io(io::Error::other("it is a symbolic link")),
    )
}

/// Calls `take_file` with each file below a directory. Symbolic links are not followed.
///
/// Returns the directory and all directories below it, each after the directory that contains it.
fn walk_below(
    folder: &Path,
    take_file: &mut dyn FnMut(FileBelow),
) -> Result<Vec<PathBuf>, StoreError> {
    // The list grows while it is walked.
    let mut folders = vec![folder.to_owned()];
    let mut index = 0;
    while index < folders.len() {
        let current = folders[index].clone();
        index += 1;
        let failed = |error| StoreError::io(Action::ReadFolder, &current, error);
        let entries = match std::fs::read_dir(&current) {
            // Another process has removed it meanwhile.
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries.map_err(failed)?,
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else {
                take_file(FileBelow {
                    path: entry.path(),
                    is_regular: kind.is_file(),
                });
            }
        }
    }
    Ok(folders)
}

/// Removes a directory and the directories below it, except those that contain files at any depth.
///
/// # Errors
/// If a directory cannot be read, or cannot be removed although it is empty.
pub fn remove_empty_folders(folder: &Path) -> Result<(), StoreError> {
    let folders = walk_below(folder, &mut |_| ())?;
    for folder in folders.iter().rev() {
        match std::fs::remove_dir(folder) {
            Ok(()) => {}
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            // It contains a file.
            Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => {}
            Err(error) => return Err(StoreError::io(Action::Remove, folder, error)),
        }
    }
    Ok(())
}
