//! Session files opened for reading.

use super::archive::{self, Archive};
use super::error::{Action, Cause, FileChange, StoreError};
use super::files::{self, DISK, FileType, Files, Stat};
use super::find::ms_since_1970;
use super::read::{MEMORY, ReadAt, Spooled, spool_named};
use super::snapshot::Snapshot;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A session file opened for reading, with a snapshot that shows later whether it has changed (rule
/// 4).
///
/// Reads go to the file that was opened, even if another file is renamed to its path. They end at
/// the size that the file had when it was opened.
#[derive(Debug)]
pub struct SessionFile {
    path: PathBuf,
    resolved: PathBuf,
    pub(super) file: File,
    pub(super) snapshot: Snapshot,
}

impl SessionFile {
    /// Opens a regular file. Symbolic links are followed here, and not again later (rule 2).
    pub fn open(path: &Path) -> Result<SessionFile, StoreError> {
        SessionFile::open_on(&DISK, path)
    }

    /// Does what [`SessionFile::open`] does, by the operations of `files`.
    pub(super) fn open_on(files: &dyn Files, path: &Path) -> Result<SessionFile, StoreError> {
        let failed = |error| StoreError::io(Action::Read, path, error);
        // Checked before opening, because opening a device may have effects.
        refuse_irregular(path, files.stat_at(path).map_err(failed)?.kind)?;
        let resolved = files::real(path).map_err(failed)?;
        let file = files.open_read(&resolved).map_err(failed)?;
        // Another file may have replaced it meanwhile.
        refuse_irregular(path, files.stat(&file).map_err(failed)?.kind)?;
        let snapshot = Snapshot::take(files, &file).map_err(failed)?;
        Ok(SessionFile {
            path: path.to_owned(),
            resolved,
            file,
            snapshot,
        })
    }

    /// Returns the path as given.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Returns the absolute path without symbolic links, which is locked and rewritten.
    pub fn resolved(&self) -> &Path {
        &self.resolved
    }

    /// Returns the open file, to be compared with another.
    pub fn handle(&self) -> &File {
        &self.file
    }

    /// Returns its state when it was opened.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// Whether `stat` is the state of this file. It is compared with the current state of the
    /// handle, because a copy-up on overlayfs changes the device and the inode.
    pub(super) fn is_at(&self, files: &dyn Files, stat: &Stat) -> io::Result<bool> {
        Ok(files.stat(&self.file)?.is_same_inode(stat))
    }

    /// Whether the file is unchanged since it was opened, or has only grown (rule 4). Readers that
    /// make two passes over the file check this after the second pass.
    pub fn still_same(&self) -> Result<bool, StoreError> {
        self.snapshot.is_start_of(self)
    }
}

/// Refuses a directory, and anything else that is not a regular file.
fn refuse_irregular(path: &Path, kind: FileType) -> Result<(), StoreError> {
    match kind {
        FileType::Regular => Ok(()),
        FileType::Folder => Err(StoreError::io(
            Action::Read,
            path,
            io::ErrorKind::IsADirectory.into(),
        )),
        FileType::Other => Err(StoreError::new(Action::Read, path, Cause::NotRegular)),
    }
}

impl ReadAt for SessionFile {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        read_before(self.snapshot.stat.size, &self.file, buf, offset)
    }

    fn file(&self) -> Option<&File> {
        Some(&self.file)
    }

    fn len(&self) -> u64 {
        self.snapshot.stat.size
    }
}

impl Snapshot {
    /// Opens the file at the path, if it has changed since this snapshot. Returns `None` if it is
    /// the same file, unchanged.
    pub fn look(&self, path: &Path) -> Result<Option<SessionFile>, StoreError> {
        let current = DISK
            .stat_at(path)
            .map_err(|error| StoreError::io(Action::Read, path, error))?;
        // `modified` is the mtime, and `changed` the ctime. No content is read: this is called for
        // thousands of files.
        let old = &self.stat;
        let is_unchanged = current.is_same_inode(old)
            && current.size == old.size
            && current.modified == old.modified
            && current.changed == old.changed;
        if is_unchanged {
            Ok(None)
        } else {
            SessionFile::open(path).map(Some)
        }
    }

    /// Whether this is a snapshot of the same file, and the file has the same content now, or has
    /// only grown.
    pub fn is_start_of(&self, file: &SessionFile) -> Result<bool, StoreError> {
        if !file.snapshot.stat.is_same_inode(&self.stat) {
            return Ok(false);
        }
        // Compared as for a reader, because a change of the mode, for example, keeps the content.
        let compared = self.compare_for_reading(&DISK, &file.file);
        let change = compared.map_err(|error| StoreError::io(Action::Read, &file.path, error))?;
        Ok(matches!(change, None | Some(FileChange::Grown)))
    }
}

/// A regular file opened for reading only, without the snapshot that a later write would need (rule
/// 4).
#[derive(Debug)]
pub struct Glance {
    pub(super) file: File,
    pub(super) stat: Stat,
}

impl Glance {
    /// Opens it, following symbolic links.
    pub fn open(path: &Path) -> Result<Glance, StoreError> {
        let failed = |error| StoreError::io(Action::Read, path, error);
        refuse_irregular(path, DISK.stat_at(path).map_err(failed)?.kind)?;
        let file = DISK.open_read(path).map_err(failed)?;
        let stat = DISK.stat(&file).map_err(failed)?;
        refuse_irregular(path, stat.kind)?;
        Ok(Glance { file, stat })
    }

    /// Returns the open file, to be compared with another.
    pub fn handle(&self) -> &File {
        &self.file
    }

    /// Returns when its content was last modified, in milliseconds since 1970.
    pub fn modified_ms(&self) -> i64 {
        ms_since_1970(self.stat.modified).unwrap_or_default()
    }
}

impl ReadAt for Glance {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        read_before(self.stat.size, &self.file, buf, offset)
    }

    fn len(&self) -> u64 {
        self.stat.size
    }
}

fn read_before(end: u64, file: &File, buf: &mut [u8], offset: u64) -> io::Result<usize> {
    let left = usize::try_from(end.saturating_sub(offset)).unwrap_or(usize::MAX);
    let wanted = buf.len().min(left);
    DISK.read_at(file, &mut buf[..wanted], offset)
}

/// A path opened for reading: a file, or the content of a stream, which cannot be written back. A
/// stream is a FIFO or a pipe, such as `<(zcat old.jsonl.gz)`.
#[derive(Debug)]
pub enum Opened {
    /// A regular file.
    File(SessionFile),
    /// A stream, read to its end.
    Stream(Spooled),
}

/// Opens a path for reading. A stream is read to its end (see [`super::spool`]). The session in an
/// archive is decompressed, and so is any other file compressed with zstd, such as an old rollout
/// of Codex; both become a stream.
///
/// `is_promising` gets the start of a stream that is longer than fits in memory. If it returns
/// `false`, the content does not look like a session, and only the start is read.
pub fn open(path: &Path, is_promising: fn(&[u8]) -> bool) -> Result<Opened, StoreError> {
    let file = match SessionFile::open(path) {
        Ok(file) => file,
        // A FIFO, a pipe or a device.
        Err(StoreError {
            cause: Cause::NotRegular,
            ..
        }) => {
            let mut stream =
                File::open(path).map_err(|error| StoreError::io(Action::Read, path, error))?;
            let content = spool_named(&mut stream, MEMORY, is_promising, path)?;
            return Ok(Opened::Stream(content));
        }
        Err(error) => return Err(error),
    };

    let head = &file.snapshot.head;
    if Archive::begins(head) {
        let session = archive::session_in(&file, path, is_promising)?;
        return Ok(Opened::Stream(session));
    }
    if archive::is_compressed(head) {
        let content = archive::content_of(&file, path, is_promising)?;
        return Ok(Opened::Stream(content));
    }
    Ok(Opened::File(file))
}

impl Opened {
    fn source(&self) -> &dyn ReadAt {
        match self {
            Opened::File(file) => file,
            Opened::Stream(spooled) => spooled,
        }
    }
}

impl ReadAt for Opened {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        self.source().read_at(buf, offset)
    }

    fn len(&self) -> u64 {
        self.source().len()
    }

    fn file(&self) -> Option<&File> {
        self.source().file()
    }

    fn original_lines(&self) -> Option<&Arc<[u32]>> {
        self.source().original_lines()
    }
}
