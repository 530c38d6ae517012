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
    /// same. An edit in the middle that keeps the size shows only in the ctime. So even a `chmod`
    /// counts as an edit.
    ///
    /// On overlayfs, the first open for writing copies the file up, which changes its ctime and may
    /// change its device and inode. If nothing else has changed, the result is
    /// [`FileChange::Grown`], so that the caller reads the content again.
    pub(super) fn compare(&self, files: &dyn Files, file: &File) -> io::Result<Option<FileChange>> {
        let new = self.settled(files, file)?;
        let old = &self.stat;
        let is_moved = new.changed != old.changed || !new.is_same_inode(old);
        if new.size != old.size || !is_moved {
            return self.compare_content(files, file, &new);
        }

        // The size is the same, but the ctime or the inode is not.
        let may_be_copied_up = new.modified == old.modified && files.copies_up(file);
        if !may_be_copied_up {
            return Ok(Some(FileChange::Edited));
        }
        match self.compare_content(files, file, &new)? {
            Some(change) => Ok(Some(change)),
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
        let new = self.settled(files, file)?;
        if new.size == self.stat.size && new.modified != self.stat.modified {
            return Ok(Some(FileChange::Edited));
        }
        self.compare_content(files, file, &new)
    }

    /// Returns the current `stat` of the file. During an append, Linux updates the modification
    /// time before the size, which would look like an edit. So this waits up to [`APPENDED_WITHIN`]
    /// for the size to change.
    fn settled(&self, files: &dyn Files, file: &File) -> io::Result<Stat> {
        let mut pause = Pause::new(APPENDED_WITHIN);
        loop {
            let new = files.stat(file)?;
            let is_settled = new.size != self.stat.size || new.modified == self.stat.modified;
            if is_settled || pause.is_over() {
                return Ok(new);
            }
            pause.sleep(files);
        }
    }

    /// Compares the size, the first and the last bytes of the snapshot with the current file.
    /// Returns `None` if they are the same. `new` is the current `stat` of the file.
    fn compare_content(
        &self,
        files: &dyn Files,
        file: &File,
        new: &Stat,
    ) -> io::Result<Option<FileChange>> {
        let old = &self.stat;
        if new.size < old.size {
            return Ok(Some(FileChange::Truncated));
        }
        let head = read_range(files, file, 0, old.size.min(HEAD_BYTES))?;
        let tail = read_range(files, file, tail_start(old.size), old.size)?;
        if head != self.head || tail != self.tail {
            return Ok(Some(FileChange::Edited));
        }
        Ok((new.size > old.size).then_some(FileChange::Grown))
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
