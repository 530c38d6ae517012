//! New files: `-o PATH`, a fork, the lines removed by a repair (rule 6).

use super::append::Committed;
use super::archive::Member;
use super::attributes;
use super::error::{Cause, StoreError};
use super::files::{AsStream, DISK, FileType, Files, Stat, duplicate, own_stream, real};
use super::read::{ReadAt, spool_written};
use super::rewrite::{folder_of, has_copy, sync_folder};
use super::send::copy_range;
use super::session_file::SessionFile;
use super::temp::{Fill, Out, Temp, write_through};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

/// Writes a new file (rules 2, 6 and 7): completely and synced, or not at all. It has the
/// permissions of `source`, or mode 0600. Without `force`, an existing path is refused; the source
/// itself and a file with several hard links are always refused. FIFOs, devices and the process's
/// own streams (`/dev/stdout`) are written through.
pub fn create(
    path: &Path,
    source: Option<&SessionFile>,
    force: bool,
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> Result<Committed, StoreError> {
    create_on(&DISK, path, source, force, write, None)
}

/// A callback that gets the content of a new file, and refuses it by returning an error.
pub type Finish<'a> = dyn FnMut(&dyn ReadAt) -> io::Result<()> + 'a;

/// Does the same as [`create`], but gives the file its name only if `check`, which reads the
/// content, returns no error.
pub fn create_checked(
    path: &Path,
    source: Option<&SessionFile>,
    force: bool,
    write: &mut Fill<'_>,
    check: &mut Finish<'_>,
) -> Result<Committed, StoreError> {
    create_on(&DISK, path, source, force, write, Some(check))
}

/// Writes a file of an archive to a path that must be free, with the permissions and the
/// modification time that it had (rules 6 and 7).
pub fn restore(
    path: &Path,
    member: &Member,
    write: &mut Fill<'_>,
) -> Result<Committed, StoreError> {
    let mut keep_attributes = |new: &dyn ReadAt| {
        let Some(file) = new.file() else {
            return Ok(());
        };
        DISK.set_mode(file, member.mode)?;
        DISK.set_modified(file, member.modified())
    };
    create_on(&DISK, path, None, false, write, Some(&mut keep_attributes))
}

/// Gives a new file its name if `finish`, which is called with the content, returns no error.
pub(super) fn create_on(
    files: &'static dyn Files,
    path: &Path,
    source: Option<&SessionFile>,
    force: bool,
    write: &mut Fill<'_>,
    finish: Option<&mut Finish<'_>>,
) -> Result<Committed, StoreError> {
    let failed = |error| StoreError::io("create", path, error);
    let existing = match files.stat_at(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        stat => Some(stat.map_err(failed)?),
    };
    if let Some(stream) = stream_at(files, path, existing.as_ref()) {
        write_to_stream(files, &stream.map_err(failed)?, path, source, write, finish)?;
        return Ok(Committed::new(path));
    }
    if let Some(stat) = &existing {
        refuse_existing(files, path, source, force, stat)?;
    }
    let target = resolve(path).map_err(failed)?;
    let mut new = stage(files, path, &target, source, write, finish)?;
    // Two creators cannot both succeed: this fails unless the name is still free at the rename.
    let is_free = existing.is_none();
    let rename = if is_free {
        Files::rename_new
    } else {
        Files::rename
    };
    rename(files, &new.path, &target).map_err(failed)?;
    new.placed();
    let mut committed = Committed::new(path);
    committed
        .troubles
        .extend(sync_folder(files, folder_of(&target)).err());
    Ok(committed)
}

/// The new file, complete, with its permissions and its time, and synced, but not in place.
fn stage(
    files: &'static dyn Files,
    path: &Path,
    target: &Path,
    source: Option<&SessionFile>,
    write: &mut Fill<'_>,
    finish: Option<&mut Finish<'_>>,
) -> Result<Temp, StoreError> {
    let failed = |error| StoreError::io("create", path, error);
    let mut new = Temp::beside(files, target).map_err(failed)?;
    new.fill(path, write)?;
    if let Some(finish) = finish {
        finish(&new).map_err(failed)?;
    }
    if let Some(source) = source {
        attributes::permit_as(files, &source.file, &new.file).map_err(failed)?;
    }
    files.sync(&new.file).map_err(failed)?;
    Ok(new)
}

/// A file beside a session, in place. Until it is kept, dropping it removes it, and gives what it
/// replaced its name back (rule 7).
#[must_use = "dropping it undoes it"]
#[derive(Debug)]
pub struct Beside {
    committed: Committed,
    /// The new file; its temporary name is now that of the old one. `None` if the same content was
    /// there already, or once it is kept.
    new: Option<Temp>,
    target: PathBuf,
    has_replaced: bool,
}

impl Beside {
    /// Keeps it, because the session that it belongs to was written. What it replaced is removed.
    pub fn keep(mut self) -> Committed {
        drop(self.new.take());
        std::mem::replace(&mut self.committed, Committed::new(&self.target))
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        let Some(new) = &mut self.new else { return };
        // If it cannot be undone, the file has surplus lines, which are harmless.
        let _ = if self.has_replaced {
            new.exchange_back(&self.target)
        } else {
            DISK.unlink(&self.target)
        };
        let _ = sync_folder(&DISK, folder_of(&self.target));
    }
}

/// Writes a file that belongs to the session `source`, to be kept when the session is written
/// (rules 2, 6 and 7). If `replaces` is false, an existing file is refused, unless a killed run of
/// the same command left it: it has the same content.
pub fn create_beside(
    path: &Path,
    source: Option<&SessionFile>,
    replaces: bool,
    write: &mut Fill<'_>,
) -> Result<Beside, StoreError> {
    let failed = |error| StoreError::io("create", path, error);
    let target = resolve(path).map_err(failed)?;
    let existing = DISK.stat_at(&target).ok();
    if let Some(stat) = &existing {
        refuse_existing(&DISK, path, source, true, stat)?;
    }
    let mut new = stage(&DISK, path, &target, source, write, None)?;
    let has_replaced = existing.is_some();
    let mut beside = Beside {
        committed: Committed::new(path),
        new: None,
        target,
        has_replaced,
    };
    if !replaces && has_copy(&DISK, &beside.target, &new.file, new.bytes).map_err(failed)? {
        return Ok(beside);
    }
    if beside.has_replaced {
        new.exchange(&beside.target).map_err(failed)?;
    } else {
        DISK.rename_new(&new.path, &beside.target).map_err(failed)?;
        new.placed();
    }
    beside.new = Some(new);
    beside
        .committed
        .troubles
        .extend(sync_folder(&DISK, folder_of(&beside.target)).err());
    Ok(beside)
}

/// Removes a file whose content is safely on disk elsewhere.
pub fn remove(path: &Path) -> Result<(), StoreError> {
    DISK.unlink(path)
        .map_err(|error| StoreError::io("remove", path, error))?;
    sync_folder(&DISK, folder_of(path))
}

/// A directory that was made for a new file. If it is dropped, it is removed again, with those
/// above it that were made (rule 7).
#[derive(Debug)]
pub struct NewFolder {
    /// The directories, from the innermost.
    made: Vec<PathBuf>,
}

impl NewFolder {
    /// Makes a directory, and those above it that are missing.
    pub fn make(path: &Path) -> Result<NewFolder, StoreError> {
        let missing = path.ancestors().take_while(|folder| !folder.exists());
        let folder = NewFolder {
            made: missing.map(Path::to_owned).collect(),
        };
        std::fs::create_dir_all(path).map_err(|error| StoreError::io("create", path, error))?;
        folder
            .made
            .iter()
            .try_for_each(|made| sync_folder(&DISK, folder_of(made)))?;
        Ok(folder)
    }

    /// Keeps it.
    pub fn keep(mut self) {
        self.made.clear();
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        // One that another process put a file in is not empty, and stays.
        self.made
            .iter()
            .for_each(|made| drop(std::fs::remove_dir(made)));
    }
}

/// Moves a file or directory to a name that must be free, in one rename. Creates the parent
/// directory.
pub fn move_new(from: &Path, to: &Path) -> Result<(), StoreError> {
    let failed = |error| StoreError::io("move to", to, error);
    std::fs::create_dir_all(folder_of(to)).map_err(failed)?;
    DISK.rename_new(from, to).map_err(failed)?;
    [to, from]
        .into_iter()
        .try_for_each(|path| sync_folder(&DISK, folder_of(path)))
}

fn refuse_existing(
    files: &dyn Files,
    path: &Path,
    source: Option<&SessionFile>,
    force: bool,
    stat: &Stat,
) -> Result<(), StoreError> {
    let refused = |kind: io::ErrorKind| Err(StoreError::io("create", path, kind.into()));
    refuse_input(files, path, source, stat)?;
    match stat.kind {
        FileType::Folder => refused(io::ErrorKind::IsADirectory),
        _ if !force => refused(io::ErrorKind::AlreadyExists),
        _ if stat.links > 1 => Err(StoreError::new(
            "rewrite",
            path,
            Cause::HardLinked(stat.links),
        )),
        _ => Ok(()),
    }
}

fn refuse_input(
    files: &dyn Files,
    path: &Path,
    source: Option<&SessionFile>,
    stat: &Stat,
) -> Result<(), StoreError> {
    let is_input = source.map_or(Ok(false), |source| source.is_at(files, stat));
    if is_input.map_err(|error| StoreError::io("read", path, error))? {
        Err(StoreError::new("write", path, Cause::SameAsInput))
    } else {
        Ok(())
    }
}

fn write_to_stream(
    files: &'static dyn Files,
    stream: &File,
    path: &Path,
    source: Option<&SessionFile>,
    write: &mut Fill<'_>,
    finish: Option<&mut Finish<'_>>,
) -> Result<(), StoreError> {
    let stat = files
        .stat(stream)
        .map_err(|error| StoreError::io("write", path, error))?;
    refuse_input(files, path, source, &stat)?;
    let out = Out {
        files,
        file: stream,
        bytes: 0,
    };
    let Some(finish) = finish else {
        return write_through(out, path, write).map(drop);
    };
    // A write to a stream cannot be undone.
    let written = spool_written(write)?;
    finish(&written).map_err(|error| StoreError::io("read", path, error))?;
    write_through(out, path, &mut |out| {
        copy_range(&written, 0..written.len(), out)
    })
    .map(drop)
}

/// Returns the stream to write to, if the path is not that of a file.
fn stream_at(files: &dyn Files, path: &Path, existing: Option<&Stat>) -> Option<io::Result<File>> {
    let is_stream = existing.is_some_and(|stat| stat.kind == FileType::Other);
    own_stream(files, path).or_else(|| is_stream.then(|| files.open_write(path)))
}

/// Returns `path` with the symbolic links at its end followed, even a dangling one, so that a
/// rename keeps them.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..40 {
        let folder = real(folder_of(&path))?;
        let named = path.components().next_back();
        let Some(Component::Normal(name)) = named.filter(|_| !is_folder_name(&path)) else {
            return Err(io::ErrorKind::IsADirectory.into());
        };
        let here = folder.join(name);
        match std::fs::read_link(&here) {
            Ok(target) => path = folder.join(target),
            Err(_) => return Ok(here),
        }
    }
    Err(io::Error::other("too many levels of symbolic links"))
}

/// Whether a path ends in a slash, as in `new/`: it names a directory, but [`Path`] ignores the
/// slash.
fn is_folder_name(path: &Path) -> bool {
    path.as_os_str()
        .as_encoded_bytes()
        .last()
        .is_some_and(|byte| std::path::is_separator(char::from(*byte)))
}

/// Whether two paths are names of one file, as a move leaves them that was interrupted on a system
/// without a rename that never replaces.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let stat = |path| DISK.stat_at(path).ok();
    matches!((stat(one), stat(other)), (Some(one), Some(other)) if one.is_same_inode(&other))
}

/// Whether a stream of this process (stdout after `>> input`) is the file itself (rule 2).
pub fn same_file(file: &File, stream: impl AsStream) -> bool {
    let is_here = |stream| Ok(DISK.stat(&stream)?.is_same_inode(&DISK.stat(file)?));
    duplicate(stream).and_then(is_here).unwrap_or(false)
}
