//! A session file opened for reading only: what is read is not used for a later write.

use super::error::StoreError;
use super::files::{self, DISK, Files};
use super::find::{Content, modified};
use super::read::ReadAt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

/// A regular file opened for reading, without the snapshot that a later write would need (rule 4).
#[derive(Debug)]
pub struct Glance {
    file: File,
    size: u64,
    modified: SystemTime,
}

impl Glance {
    /// Opens it, following symbolic links.
    pub fn open(path: &Path) -> Result<Glance, StoreError> {
        let failed = |error| StoreError::io("read", path, error);
        // Checked before opening, because opening a FIFO waits for a writer.
        super::session_file::refuse_irregular(path, DISK.stat_at(path).map_err(failed)?.kind)?;
        let file = File::open(path).map_err(failed)?;
        let stat = DISK.stat(&file).map_err(failed)?;
        super::session_file::refuse_irregular(path, stat.kind)?;
        Ok(Glance { file, size: stat.size, modified: stat.modified })
    }

    /// Returns the open file, to be compared with another.
    pub fn handle(&self) -> &File {
        &self.file
    }

    /// Returns when its content was last modified, in milliseconds since 1970.
    pub fn modified_ms(&self) -> i64 {
        let since = self.modified.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
    }
}

impl ReadAt for Glance {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let left = usize::try_from(self.size.saturating_sub(offset)).unwrap_or(usize::MAX);
        let wanted = buf.len().min(left);
        files::read_at(&self.file, &mut buf[..wanted], offset)
    }

    fn len(&self) -> u64 {
        self.size
    }
}

/// Returns the session files directly in a directory, including hidden ones, with their modification times;
/// none if the directory cannot be read.
pub fn in_folder(folder: &Path) -> Vec<(PathBuf, SystemTime)> {
    let mut content = Content::default();
    // Entries read before an error are kept.
    let _ = content.read(folder);
    let paths = content.files.into_iter().map(|name| folder.join(name));
    paths.filter_map(|path| Some((path.clone(), modified(&path)?))).collect()
}
