//! The state of a file when it was read, to compare with later (rule 4).

use super::error::FileChange;
use super::files::{Files, Pause, Stat};
use super::read::resize;
use std::fs::File;
use std::io;
use std::time::Duration;

const HEAD_BYTES: u64 = 256;
const TAIL_BYTES: u64 = 4096;
/// How long, on a busy machine, the size may lag behind the modification time during an append.
const APPENDED_WITHIN: Duration = Duration::from_millis(100);

/// The state of a file at one moment: its `stat`, its first 256 bytes and its last 4 KB. oh-my-pi
/// overwrites its title in place, which shows in the first bytes. An append that was undone and
/// replaced shows in the last ones.
///
/// The bytes are kept, and not a hash, because so few bytes cost nothing and cannot collide. There
/// is no handle, so that thousands of files can be watched.
#[derive(Debug, Clone)]
pub struct Snapshot {
    pub(super) stat: Stat,
    pub(super) head: Box<[u8]>,
    tail: Box<[u8]>,
}

impl Snapshot {
    pub(super) fn take(files: &dyn Files, file: &File) -> io::Result<Snapshot> {
        let stat = files.stat(file)?;
        Ok(Snapshot {
            stat,
            head: read_range(files, file, 0, stat.size.min(HEAD_BYTES))?,
            tail: read_range(files, file, tail_start(stat.size), stat.size)?,
        })
    }

    /// Returns how the file that is open as `file` differs from this snapshot; `None` if it is the
    /// same. The snapshot has only the first and the last bytes, so an edit in the middle that
    /// keeps the size shows only in the ctime. So even a `chmod`, which changes the ctime, counts
    /// as an edit.
    ///
    /// On overlayfs, the first open for writing copies the file up, which changes its ctime and may
    /// change its device and inode. If nothing else has changed, the result is
    /// [`FileChange::Grown`], so that the caller reads the content again.
    pub(super) fn compare(&self, files: &dyn Files, file: &File) -> io::Result<Option<FileChange>> {
        let current = self.stat_after_append(files, file)?;
        let old = &self.stat;
        if current.size != old.size {
            return self.compare_content(files, file, &current);
        }
        // `changed` is the ctime.
        if current.changed == old.changed && current.is_same_inode(old) {
            return self.compare_content(files, file, &current);
        }

        // The size is the same, but the ctime or the inode is not: an edit, or a copy-up. A copy-up
        // keeps `modified`, the mtime.
        let may_be_copied_up = current.modified == old.modified && files.copies_up(file);
        if !may_be_copied_up {
            return Ok(Some(FileChange::Edited));
        }
        match self.compare_content(files, file, &current)? {
            Some(change) => Ok(Some(change)),
            // Not grown, but to be read again: the ctime can no longer show an edit in the middle.
            None => Ok(Some(FileChange::Grown)),
        }
    }

    /// Compares as [`compare`](Self::compare) does, but by the mtime instead of the ctime: for a
    /// reader, it does not matter whether the file was renamed, or its mode changed.
    pub(super) fn compare_for_reading(
        &self,
        files: &dyn Files,
        file: &File,
    ) -> io::Result<Option<FileChange>> {
        let current = self.stat_after_append(files, file)?;
        // An edit that keeps the size may be in the middle, of which the snapshot has no bytes:
        // only the mtime shows it. If the size has changed, the mtime has changed as well, and
        // shows nothing.
        if current.size == self.stat.size && current.modified != self.stat.modified {
            return Ok(Some(FileChange::Edited));
        }
        self.compare_content(files, file, &current)
    }

    /// Returns the current `stat` of the file, in which an append shows in the size.
    ///
    /// During an append, Linux updates the mtime before the size, which would look like an edit. So
    /// if the mtime has changed and the size has not, this waits up to [`APPENDED_WITHIN`] for the
    /// size to change.
    fn stat_after_append(&self, files: &dyn Files, file: &File) -> io::Result<Stat> {
        let mut pause = Pause::new(APPENDED_WITHIN);
        loop {
            let current = files.stat(file)?;
            let may_be_appending =
                current.modified != self.stat.modified && current.size == self.stat.size;
            if !may_be_appending || pause.is_over() {
                return Ok(current);
            }
            pause.sleep(files);
        }
    }

    /// Compares the size, the first and the last bytes of the snapshot with the current file.
    /// Returns `None` if they are the same. `current` is the current `stat` of the file.
    fn compare_content(
        &self,
        files: &dyn Files,
        file: &File,
        current: &Stat,
    ) -> io::Result<Option<FileChange>> {
        let old = &self.stat;
        if current.size < old.size {
            return Ok(Some(FileChange::Truncated));
        }
        // The last bytes are those before the old end, also if the file has grown.
        let head = read_range(files, file, 0, old.size.min(HEAD_BYTES))?;
        let tail = read_range(files, file, tail_start(old.size), old.size)?;
        if head != self.head || tail != self.tail {
            return Ok(Some(FileChange::Edited));
        }
        if current.size > old.size {
            return Ok(Some(FileChange::Grown));
        }
        Ok(None)
    }

    /// Whether the last line has its newline; true for an empty file.
    pub(super) fn ends_with_newline(&self) -> bool {
        self.tail.last().is_none_or(|byte| *byte == b'\n')
    }
}

fn tail_start(size: u64) -> u64 {
    size.saturating_sub(TAIL_BYTES)
}

/// Returns the bytes from `start` to `end`, or fewer if the file is shorter now.
pub(super) fn read_range(
    files: &dyn Files,
    file: &File,
    start: u64,
    end: u64,
) -> io::Result<Box<[u8]>> {
    let mut bytes = Vec::new();
    resize(
        &mut bytes,
        usize::try_from(end.saturating_sub(start)).map_err(io::Error::other)?,
    )?;
    let mut filled = 0;
    while filled < bytes.len() {
        match files.read_at(file, &mut bytes[filled..], start + filled as u64) {
            // The end of the file.
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    bytes.truncate(filled);
    Ok(bytes.into_boxed_slice())
}
