//! What was there when a file was read, and whether it still is (rule 4).

use super::error::Change;
use super::files::{Files, Stat};
use super::read::resize;
use std::fs::File;
use std::io;

const HEAD_BYTES: u64 = 256;
const TAIL_BYTES: u64 = 4096;

/// A file as it was at one moment. The first 256 bytes are where an oh-my-pi title is rewritten in place,
/// the last 4 KB are where an append that was taken back and made anew would show.
///
/// The bytes themselves are kept, not a hash of them: 4 KB cost nothing and cannot collide.
#[derive(Debug, Clone)]
pub(super) struct Snapshot {
    pub stat: Stat,
    head: Box<[u8]>,
    tail: Box<[u8]>,
}

/// What became of a file since a snapshot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compared {
    Same,
    /// There is more to read, or all of it is to be read again.
    Stale,
    Changed(Change),
}

impl Snapshot {
    pub fn take(files: &dyn Files, file: &File) -> io::Result<Snapshot> {
        let stat = files.stat(file)?;
        Ok(Snapshot {
            stat,
            head: read_range(files, file, 0, stat.size.min(HEAD_BYTES))?,
            tail: read_range(files, file, tail_start(stat.size), stat.size)?,
        })
    }

    /// Compares with another handle to the same file, as it is now. A change of the same size that is in
    /// neither range shows in the ctime alone, so a mere `chmod` counts as changed too: the safe side.
    ///
    /// On overlayfs the first open for writing copies the file up, which gives it another ctime and may
    /// give it another device and inode. There the content decides: it is to be read again.
    pub fn compare(&self, files: &dyn Files, file: &File) -> io::Result<Compared> {
        let new = files.stat(file)?;
        let old = &self.stat;
        let is_moved = new.changed != old.changed || !new.is_same_inode(old);
        if new.size != old.size || !is_moved {
            return self.compare_content(files, file, &new);
        }
        if new.modified != old.modified || !files.copies_up(file) {
            return Ok(Compared::Changed(Change::Edited));
        }
        Ok(match self.compare_content(files, file, &new)? {
            Compared::Same => Compared::Stale,
            other => other,
        })
    }

    /// The same for a reader, who does not mind that the file was renamed, replaced or given another mode:
    /// what counts is the mtime.
    pub fn compare_for_reading(&self, files: &dyn Files, file: &File) -> io::Result<Compared> {
        let new = files.stat(file)?;
        if new.size == self.stat.size && new.modified != self.stat.modified {
            return Ok(Compared::Changed(Change::Edited));
        }
        self.compare_content(files, file, &new)
    }

    fn compare_content(&self, files: &dyn Files, file: &File, new: &Stat) -> io::Result<Compared> {
        let old = &self.stat;
        if new.size < old.size {
            return Ok(Compared::Changed(Change::Truncated));
        }
        let head = read_range(files, file, 0, old.size.min(HEAD_BYTES))?;
        let tail = read_range(files, file, tail_start(old.size), old.size)?;
        if head != self.head || tail != self.tail {
            return Ok(Compared::Changed(Change::Edited));
        }
        Ok(if new.size > old.size { Compared::Stale } else { Compared::Same })
    }

    /// Whether the last line has its newline; so it is with nothing at all.
    pub fn ends_with_newline(&self) -> bool {
        self.tail.last().is_none_or(|byte| *byte == b'\n')
    }
}

fn tail_start(size: u64) -> u64 {
    size.saturating_sub(TAIL_BYTES)
}

/// The bytes from `start` to `end`, or fewer when the file is shorter by now.
pub(super) fn read_range(files: &dyn Files, file: &File, start: u64, end: u64) -> io::Result<Box<[u8]>> {
    let mut bytes = Vec::new();
    resize(&mut bytes, usize::try_from(end.saturating_sub(start)).map_err(io::Error::other)?)?;
    let mut filled = 0;
    while filled < bytes.len() {
        match files.read_at(file, &mut bytes[filled..], start + filled as u64) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes.into_boxed_slice())
}
