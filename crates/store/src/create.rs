//! New files: `-o PATH`, a fork, the lines removed by a repair (rule 6).

use super::append::Committed;
use super::archive::Member;
use super::attributes;
use super::error::{Action, Cause, StoreError};
use super::files::{
    AsStream, DISK, FileType, Files, Stat, duplicate, own_stream, real, unlink_own,
};
use super::read::{ReadAt, spool_written};
use super::rewrite::{folder_of, has_complete_copy, sync_folder};
use super::send::copy_range;
use super::session_file::{Glance, SessionFile};
use super::temp::{Fill, Out, Temp, write_through};
use std::fs::File;
use std::io::{self, Write};
use std::path::{Component, Path, PathBuf};

/// Writes a new file (rules 2, 6 and 7): completely and synced, or not at all. The file has the
/// permissions of `source`, or mode 0600 if there is no source.
///
/// Without `force`, an existing path is refused. The source itself, and a file with several hard
/// links, are refused in any case. FIFOs, devices and the process's own streams (`/dev/stdout`) are
/// not replaced, but written to.
pub fn create(
    path: &Path,
    source: Option<&SessionFile>,
    force: bool,
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> Result<Committed, StoreError> {
    let new = NewFile {
        path,
        source,
        model: Model::Source,
        force,
    };
    create_on(&DISK, &new, write, None)
}

/// Fails if [`create`] would refuse this path, without writing anything.
pub fn check_create(
    path: &Path,
    source: Option<&SessionFile>,
    force: bool,
) -> Result<(), StoreError> {
    let failed = |error| StoreError::io(Action::Create, path, error);
    let Some(stat) = existing_at(&DISK, path).map_err(failed)? else {
        return resolve(path).map(drop).map_err(failed);
    };
    let is_stream = stat.kind == FileType::Other || own_stream(&DISK, path).is_some();
    if is_stream {
        return Ok(());
    }
    refuse_existing(&DISK, path, source, force, &stat)
}

/// A callback that gets the content of a new file, and refuses it by returning an error.
pub type CheckContent<'a> = dyn FnMut(&dyn ReadAt) -> io::Result<()> + 'a;

/// Writes a new file as [`create`] does, but calls `check` with the content before the file gets
/// its name. If `check` returns an error, there is no new file.
pub fn create_checked(
    path: &Path,
    source: Option<&SessionFile>,
    force: bool,
    write: &mut Fill<'_>,
    check: &mut CheckContent<'_>,
) -> Result<Committed, StoreError> {
    let new = NewFile {
        path,
        source,
        model: Model::Source,
        force,
    };
    create_on(&DISK, &new, write, Some(check))
}

/// Creates an export, such as a page, as [`create_checked`] does, but not with the permissions of
/// `source`. The export has the permissions of the file that it replaces, or mode 0600 if there is
/// none.
pub fn create_private(
    path: &Path,
    source: Option<&SessionFile>,
    force: bool,
    write: &mut Fill<'_>,
    check: Option<&mut CheckContent<'_>>,
) -> Result<Committed, StoreError> {
    let new = NewFile {
        path,
        source,
        model: Model::Replaced,
        force,
    };
    create_on(&DISK, &new, write, check)
}

/// Writes a file of an archive, with the permissions and the modification time in the archive
/// (rules 6 and 7). An existing path is refused.
pub fn restore(
    path: &Path,
    member: &Member,
    write: &mut Fill<'_>,
) -> Result<Committed, StoreError> {
    let mut keep_attributes = |new: &dyn ReadAt| {
        // A stream has no attributes.
        let Some(file) = new.file() else {
            return Ok(());
        };
        DISK.set_mode(file, member.mode)?;
        DISK.set_modified(file, member.modified())
    };
    let new = NewFile {
        path,
        source: None,
        model: Model::Source,
        force: false,
    };
    create_on(&DISK, &new, write, Some(&mut keep_attributes))
}

/// A file to create.
pub(super) struct NewFile<'a> {
    pub path: &'a Path,
    /// The session that is read, which must not be replaced.
    pub source: Option<&'a SessionFile>,
    /// The file whose permissions it gets. If there is no such file, it has mode 0600.
    pub model: Model,
    /// Whether it may replace an existing file.
    pub force: bool,
}

/// The file whose permissions a new file gets (rule 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Model {
    /// The session that is read: who can read it can read the new file.
    Source,
    /// The file that is replaced: its user chose who can read it.
    Replaced,
}

/// Writes a file completely under a temporary name, and then gives it its name. Before that,
/// `check` is called with the content. If `check` returns an error, nothing changes at the path.
pub(super) fn create_on(
    files: &'static dyn Files,
    new: &NewFile<'_>,
    write: &mut Fill<'_>,
    check: Option<&mut CheckContent<'_>>,
) -> Result<Committed, StoreError> {
    let &NewFile {
        path,
        source,
        model,
        force,
    } = new;
    let failed = |error| StoreError::io(Action::Create, path, error);
    let existing = existing_at(files, path).map_err(failed)?;
    // A device or a FIFO is not replaced: the content is written into it.
    if let Some(stream) = stream_at(files, path, existing.as_ref()) {
        let stream = stream.map_err(failed)?;
        write_to_stream(files, &stream, path, source, write, check)?;
        return Ok(Committed::new(path));
    }
    if let Some(stat) = &existing {
        refuse_existing(files, path, source, force, stat)?;
    }

    let target = resolve(path).map_err(failed)?;
    // Declared here, so that `model_file` can refer to it.
    let replaced_file;
    let model_file = match model {
        Model::Source => source.map(|source| &source.file),
        Model::Replaced if existing.is_some() => {
            // If it cannot be read, its permissions are not known, and the new file is private.
            replaced_file = files.open_read(&target).ok();
            replaced_file.as_ref()
        }
        Model::Replaced => None,
    };
    let mut new = stage(files, path, &target, model_file, write, check)?;

    if existing.is_some() {
        files.rename(&new.path, &target).map_err(failed)?;
    } else {
        // Another process may have created the file meanwhile: then this fails.
        files.rename_new(&new.path, &target).map_err(failed)?;
    }
    new.disarm();
    let mut committed = Committed::new(path);
    committed.sync_folder_of(files, &target);
    Ok(committed)
}

/// Returns the state of the file at a path; `None` if there is no file.
fn existing_at(files: &dyn Files, path: &Path) -> io::Result<Option<Stat>> {
    match files.stat_at(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        stat => stat.map(Some),
    }
}

/// Writes the new file under a temporary name beside `target`. When it is returned, it is complete,
/// checked and synced, and has the permissions of `model`.
fn stage(
    files: &'static dyn Files,
    path: &Path,
    target: &Path,
    model: Option<&File>,
    write: &mut Fill<'_>,
    check: Option<&mut CheckContent<'_>>,
) -> Result<Temp, StoreError> {
    let failed = |error| StoreError::io(Action::Create, path, error);
    let mut new = Temp::create_beside(files, target).map_err(failed)?;
    new.fill(path, write)?;
    if let Some(check) = check {
        check(&new).map_err(failed)?;
    }
    if let Some(model) = model {
        attributes::copy_permissions(files, model, &new.file).map_err(failed)?;
    }
    // Before the rename, so that a power failure leaves no incomplete file under the name.
    files.sync(&new.file).map_err(failed)?;
    Ok(new)
}

/// A new file that belongs to a session, and is in place already. If it is dropped without
/// [`CompanionFile::keep`], it is removed, and the file that it replaced gets its name back (rule
/// 7).
#[must_use = "dropping it undoes it"]
#[derive(Debug)]
pub struct CompanionFile {
    committed: Committed,
    /// The new file. If it has replaced a file, that file has the temporary name now. `None` if the
    /// same content was there already, or once the new file is kept.
    new: Option<Temp>,
    target: PathBuf,
    has_replaced: bool,
}

impl CompanionFile {
    /// Keeps the file, because the session that it belongs to was written. Removes the file that it
    /// replaced.
    pub fn keep(mut self) -> Committed {
        let mut committed = std::mem::replace(&mut self.committed, Committed::new(&self.target));
        // Without `new`, dropping this undoes nothing.
        if let Some(new) = self.new.take() {
            committed.remove_temp(new);
        }
        committed
    }
}

impl Drop for CompanionFile {
    /// Undoes the creation, unless [`keep`](Self::keep) has taken the file: removes the new file,
    /// or puts back the one that it replaced.
    fn drop(&mut self) {
        let Some(new) = &mut self.new else {
            return;
        };
        // An error is ignored: the new file stays, and the lines that it has in excess are
        // harmless.
        if self.has_replaced {
            let _ = new.exchange_back(&self.target);
        } else {
            let _ = unlink_own(&DISK, &self.target);
        }
        let _ = sync_folder(&DISK, folder_of(&self.target));
    }
}

/// What [`create_beside`] does with an existing file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IfExists {
    /// The file is replaced.
    Replace,
    /// The file is refused, unless it has the same content: then a killed run of the same command
    /// left it.
    Refuse,
}

/// Writes a file that belongs to the session `source` (rules 2, 6 and 7). The caller keeps the file
/// once the session is written, and otherwise drops it.
pub fn create_beside(
    path: &Path,
    source: Option<&SessionFile>,
    if_exists: IfExists,
    write: &mut Fill<'_>,
) -> Result<CompanionFile, StoreError> {
    let failed = |error| StoreError::io(Action::Create, path, error);
    let target = resolve(path).map_err(failed)?;
    let existing = existing_at(&DISK, &target).map_err(failed)?;
    if let Some(stat) = &existing {
        refuse_existing(&DISK, path, source, true, stat)?;
    }
    let model = source.map(|source| &source.file);
    let mut new = stage(&DISK, path, &target, model, write, None)?;
    let mut companion = CompanionFile {
        committed: Committed::new(path),
        new: None,
        target,
        has_replaced: existing.is_some(),
    };
    if if_exists == IfExists::Refuse {
        // Fails if there is a file with other content.
        let is_complete =
            has_complete_copy(&DISK, &companion.target, &new.file, new.bytes).map_err(failed)?;
        if is_complete {
            companion.committed.remove_temp(new);
            return Ok(companion);
        }
    }

    if companion.has_replaced {
        new.exchange(&companion.target).map_err(failed)?;
    } else {
        DISK.rename_new(&new.path, &companion.target)
            .map_err(failed)?;
        new.disarm();
    }
    // From here on, dropping the companion undoes this.
    companion.new = Some(new);
    companion.committed.sync_folder_of(&DISK, &companion.target);
    Ok(companion)
}

/// Removes a file whose content is safely on disk elsewhere.
pub fn remove(path: &Path) -> Result<(), StoreError> {
    DISK.unlink(path)
        .map_err(|error| StoreError::io(Action::Remove, path, error))?;
    sync_folder(&DISK, folder_of(path))
}

/// A directory that was made for a new file. If it is dropped without [`NewFolder::keep`], it is
/// removed, and so are the directories above that were made with it (rule 7).
#[derive(Debug)]
pub struct NewFolder {
    /// The directories that were made, innermost first.
    made: Vec<PathBuf>,
}

impl NewFolder {
    /// Makes a directory, and the missing directories above it.
    pub fn make(path: &Path) -> Result<NewFolder, StoreError> {
        let failed = |error| StoreError::io(Action::Create, path, error);
        let mut folder = NewFolder { made: Vec::new() };
        for above in path.ancestors() {
            if above.try_exists().map_err(failed)? {
                break;
            }
            folder.made.push(above.to_owned());
        }
        std::fs::create_dir_all(path).map_err(failed)?;
        for made in &folder.made {
            sync_folder(&DISK, folder_of(made))?;
        }
        Ok(folder)
    }

    /// Keeps the directories.
    pub fn keep(mut self) {
        self.made.clear();
    }
}

impl Drop for NewFolder {
    fn drop(&mut self) {
        for made in &self.made {
            let is_kept = match std::fs::remove_dir(made) {
                Ok(()) => false,
                Err(error) if error.kind() == io::ErrorKind::NotFound => false,
                // A directory in which another process has put a file stays.
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => true,
                // Tried once more, for the same reason as in `unlink_own`.
                Err(_) => std::fs::remove_dir(made).is_err(),
            };
            // The directories above it are not empty, either.
            if is_kept {
                return;
            }
        }
    }
}

/// Gives a file or directory another name, which must be free.
pub fn rename_new(from: &Path, to: &Path) -> Result<Committed, StoreError> {
    rename_new_on(&DISK, from, to)
}

pub(super) fn rename_new_on(
    files: &dyn Files,
    from: &Path,
    to: &Path,
) -> Result<Committed, StoreError> {
    files
        .rename_new(from, to)
        .map_err(|error| StoreError::io(Action::MoveTo, to, error))?;
    let mut committed = Committed::new(to);
    // The new name first: if the system crashes in between, the file has two names, not none.
    committed.sync_folder_of(files, to);
    if folder_of(from) != folder_of(to) {
        committed.sync_folder_of(files, from);
    }
    Ok(committed)
}

/// Whether the file at a path has the content that `write` writes: then a run that was killed has
/// completed the file.
pub fn has_content(path: &Path, write: &mut Fill<'_>) -> Result<bool, StoreError> {
    let file = Glance::open(path)?;
    let mut comparison = Comparison {
        file: &file,
        written_len: 0,
        is_same: true,
        buffer: Vec::new(),
    };
    write(&mut comparison).map_err(|error| StoreError::io(Action::Read, path, error))?;
    Ok(comparison.is_same && comparison.written_len == file.len())
}

/// A writer that compares the bytes written to it with a file.
struct Comparison<'a> {
    file: &'a Glance,
    /// The number of bytes that were written, which is the offset of the next ones.
    written_len: u64,
    /// Whether the file begins with these bytes.
    is_same: bool,
    /// The bytes of the file, for reuse.
    buffer: Vec<u8>,
}

impl Write for Comparison<'_> {
    /// Compares the bytes with those of the file at the same offset. After the first difference, or
    /// beyond the end of the file, nothing more is read.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let start = self.written_len;
        let end = start + bytes.len() as u64;
        if self.is_same && end <= self.file.len() {
            self.buffer.resize(bytes.len(), 0);
            self.file.read_exact_at(&mut self.buffer, start)?;
            self.is_same = self.buffer == bytes;
        } else {
            self.is_same = false;
        }
        self.written_len = end;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Refuses to replace an existing file, unless `force` is given. The input, a directory, and a file
/// with several hard links are refused in any case.
fn refuse_existing(
    files: &dyn Files,
    path: &Path,
    source: Option<&SessionFile>,
    force: bool,
    stat: &Stat,
) -> Result<(), StoreError> {
    let refused = |kind: io::ErrorKind| Err(StoreError::io(Action::Create, path, kind.into()));
    refuse_input(files, path, source, stat)?;
    if stat.kind == FileType::Folder {
        return refused(io::ErrorKind::IsADirectory);
    }
    if !force {
        return refused(io::ErrorKind::AlreadyExists);
    }
    // A rename would replace only one of the names.
    if stat.links > 1 {
        let cause = Cause::HardLinked(stat.links);
        return Err(StoreError::new(Action::Rewrite, path, cause));
    }
    Ok(())
}

/// Refuses to write to the file that is read. `stat` is the state of the output.
fn refuse_input(
    files: &dyn Files,
    path: &Path,
    source: Option<&SessionFile>,
    stat: &Stat,
) -> Result<(), StoreError> {
    let Some(source) = source else {
        return Ok(());
    };
    let failed = |error| StoreError::io(Action::Read, path, error);
    let is_input = source.is_at(files, stat).map_err(failed)?;
    if is_input {
        return Err(StoreError::new(Action::Write, path, Cause::SameAsInput));
    }
    Ok(())
}

/// Writes to a stream, such as a terminal or a pipe. With `check`, the whole content is collected
/// and checked before the first byte is written.
fn write_to_stream(
    files: &'static dyn Files,
    stream: &File,
    path: &Path,
    source: Option<&SessionFile>,
    write: &mut Fill<'_>,
    check: Option<&mut CheckContent<'_>>,
) -> Result<(), StoreError> {
    let stat = files
        .stat(stream)
        .map_err(|error| StoreError::io(Action::Write, path, error))?;
    refuse_input(files, path, source, &stat)?;
    let out = Out {
        files,
        file: stream,
        bytes: 0,
    };
    let Some(check) = check else {
        return write_through(out, path, write).map(drop);
    };
    // A write to a stream cannot be undone, so the check comes first.
    let written = spool_written(write)?;
    check(&written).map_err(|error| StoreError::io(Action::Read, path, error))?;
    write_through(out, path, &mut |out| {
        copy_range(&written, 0..written.len(), out)
    })
    .map(drop)
}

/// Returns the stream to write to, if the path is a device, a FIFO or a stream of this process.
/// `None` if it is the path of a file.
fn stream_at(files: &dyn Files, path: &Path, existing: Option<&Stat>) -> Option<io::Result<File>> {
    if let Some(stream) = own_stream(files, path) {
        return Some(stream);
    }
    match existing {
        Some(stat) if stat.kind == FileType::Other => Some(files.open_write(path)),
        _ => None,
    }
}

/// The number of links that are followed before they count as a loop, as in Linux.
const MAX_LINKS: usize = 40;

/// Follows the symbolic links at the end of `path`, even a dangling one. A rename to the returned
/// path replaces the target, and keeps the links.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut unresolved = path.to_owned();
    for _ in 0..MAX_LINKS {
        let folder = real(folder_of(&unresolved))?;
        // `folder/`, `.` and `..` name no file.
        if is_folder_name(&unresolved) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        let Some(Component::Normal(name)) = unresolved.components().next_back() else {
            return Err(io::ErrorKind::IsADirectory.into());
        };

        let candidate = folder.join(name);
        let is_link = match candidate.symlink_metadata() {
            Err(error) if error.kind() == io::ErrorKind::NotFound => false,
            metadata => metadata?.is_symlink(),
        };
        if !is_link {
            return Ok(candidate);
        }
        // A relative target starts from the directory of the link.
        unresolved = folder.join(std::fs::read_link(&candidate)?);
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

/// Whether two paths are names of the same file. Where the system has no rename that never
/// replaces, a move makes a second name first, and may be interrupted then.
pub fn is_same(one: &Path, other: &Path) -> bool {
    let Ok(one) = DISK.stat_at(one) else {
        return false;
    };
    let Ok(other) = DISK.stat_at(other) else {
        return false;
    };
    one.is_same_inode(&other)
}

/// Whether a stream of this process (stdout after `>> input`) is the file itself (rule 2).
pub fn same_file(file: &File, stream: impl AsStream) -> bool {
    let Ok(stream) = duplicate(stream) else {
        return false;
    };
    match (DISK.stat(&stream), DISK.stat(file)) {
        (Ok(stream), Ok(file)) => stream.is_same_inode(&file),
        _ => false,
    }
}
