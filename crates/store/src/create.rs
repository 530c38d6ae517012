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

/// Writes a new file: completely and synced, or not at all. It is written under a temporary name
/// and then renamed, so that an error or a crash leaves what was at the path (rules 2 and 7). The
/// file has the permissions of `input` if that is open, else mode 0600 (rule 6).
///
/// Without `force`, an existing path is refused. The input itself, and a file with several hard
/// links, are refused in any case. FIFOs, devices and the process's own streams (`/dev/stdout`) are
/// not replaced, but written to.
pub fn create(
    path: &Path,
    input: InputFile,
    force: bool,
    write: &mut dyn FnMut(&mut dyn Write) -> io::Result<()>,
) -> Result<Committed, StoreError> {
    let new = NewFile {
        path,
        input,
        permissions: PermissionsOf::Input,
        force,
    };
    let no_check = None;
    create_on(&DISK, &new, write, no_check)
}

/// What is read to write a new file. The new file must not replace it.
#[derive(Clone, Copy, Debug)]
pub enum InputFile<'a> {
    /// No file: the input was a stream, or there was none.
    Stream,
    /// An open session.
    Open(&'a SessionFile),
    /// The path of a file whose content was converted or decompressed, so that it is not open as a
    /// session.
    Converted(&'a Path),
}

impl<'a> InputFile<'a> {
    /// Returns the open file, from which a new file gets its permissions.
    fn open_file(self) -> Option<&'a File> {
        match self {
            InputFile::Open(session) => Some(&session.file),
            InputFile::Stream | InputFile::Converted(_) => None,
        }
    }

    /// Whether the input is the file with the state `stat`.
    fn is_at(self, files: &dyn Files, stat: &Stat) -> io::Result<bool> {
        match self {
            InputFile::Stream => Ok(false),
            InputFile::Open(session) => session.is_at(files, stat),
            InputFile::Converted(path) => {
                let input_stat = existing_at(files, path)?;
                // A FIFO or a terminal may be the input and the output.
                Ok(input_stat.is_some_and(|input| {
                    input.kind == FileType::Regular && input.is_same_inode(stat)
                }))
            }
        }
    }
}

/// Fails if an output would replace a file that is read. The functions that create a file call this
/// for one input; it is for the further inputs.
pub fn refuse_further_input(output: &Path, input: InputFile) -> Result<(), StoreError> {
    let existing = existing_at(&DISK, output)
        .map_err(|error| StoreError::io(Action::Create, output, error))?;
    match existing {
        Some(stat) => refuse_input(&DISK, output, input, &stat),
        None => Ok(()),
    }
}

/// Fails if [`create`] would refuse this path, without writing anything.
pub fn check_create(path: &Path, input: InputFile, force: bool) -> Result<(), StoreError> {
    let failed = |error| StoreError::io(Action::Create, path, error);
    let Some(stat) = existing_at(&DISK, path).map_err(failed)? else {
        // Fails if the directory is missing, or if the path names a directory.
        return resolve(path).map(drop).map_err(failed);
    };
    let is_stream = stat.kind == FileType::Other || own_stream(&DISK, path).is_some();
    if is_stream {
        return Ok(());
    }
    refuse_existing(&DISK, path, input, force, &stat)
}

/// A callback that gets the content of a new file, and refuses it by returning an error.
pub type CheckContent<'a> = dyn FnMut(&dyn ReadAt) -> io::Result<()> + 'a;

/// Writes a new file as [`create`] does, but calls `check` with the content before the file gets
/// its name. If `check` returns an error, there is no new file.
pub fn create_checked(
    path: &Path,
    input: InputFile,
    force: bool,
    write: &mut Fill<'_>,
    check: &mut CheckContent<'_>,
) -> Result<Committed, StoreError> {
    let new = NewFile {
        path,
        input,
        permissions: PermissionsOf::Input,
        force,
    };
    create_on(&DISK, &new, write, Some(check))
}

/// Creates an export, such as a page, as [`create_checked`] does. It has the permissions of the
/// file that it replaces, or mode 0600 if there is none. It does not get the permissions of
/// `input`: the user decides who can read an export. `input` must not be replaced here, either.
pub fn create_private(
    path: &Path,
    input: InputFile,
    force: bool,
    write: &mut Fill<'_>,
    check: Option<&mut CheckContent<'_>>,
) -> Result<Committed, StoreError> {
    let new = NewFile {
        path,
        input,
        permissions: PermissionsOf::ReplacedFile,
        force,
    };
    create_on(&DISK, &new, write, check)
}

/// Writes a file of an archive, completely or not at all, with the permissions and the modification
/// time that the archive has for it. An existing path is refused.
pub fn restore(
    path: &Path,
    member: &Member,
    write: &mut Fill<'_>,
) -> Result<Committed, StoreError> {
    // Called when the content is complete, so that writing it does not change the time afterwards.
    let mut set_attributes = |new: &dyn ReadAt| {
        // A stream has no attributes.
        let Some(file) = new.file() else {
            return Ok(());
        };
        DISK.set_mode(file, member.mode)?;
        DISK.set_modified(file, member.modified())
    };
    let new = NewFile {
        path,
        // Until the attributes are set, the file has mode 0600.
        input: InputFile::Stream,
        permissions: PermissionsOf::Input,
        force: false,
    };
    create_on(&DISK, &new, write, Some(&mut set_attributes))
}

/// A file to create.
pub(super) struct NewFile<'a> {
    pub path: &'a Path,
    /// What is read, which must not be replaced.
    pub input: InputFile<'a>,
    /// The file whose permissions it gets. If there is no such file, it has mode 0600.
    pub permissions: PermissionsOf,
    /// Whether it may replace an existing file.
    pub force: bool,
}

/// The file whose permissions a new file gets (rule 6).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PermissionsOf {
    /// The input: who can read it can read the new file.
    Input,
    /// The file that is replaced: its user chose who can read it.
    ReplacedFile,
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
        input,
        permissions,
        force,
    } = new;
    let failed = |error| StoreError::io(Action::Create, path, error);
    let existing = existing_at(files, path).map_err(failed)?;
    // A device or a FIFO is not replaced: the content is written into it.
    if let Some(stream) = stream_at(files, path, existing.as_ref()) {
        let stream = stream.map_err(failed)?;
        write_to_stream(files, &stream, path, input, write, check)?;
        return Ok(Committed::new(path));
    }
    if let Some(stat) = &existing {
        refuse_existing(files, path, input, force, stat)?;
    }

    let target = resolve(path).map_err(failed)?;
    // Declared here, so that `permissions_from` can refer to it.
    let replaced_file;
    let permissions_from = match permissions {
        PermissionsOf::Input => input.open_file(),
        PermissionsOf::ReplacedFile if existing.is_some() => {
            // If it cannot be read, its permissions are not known, and the new file is private.
            replaced_file = files.open_read(&target).ok();
            replaced_file.as_ref()
        }
        PermissionsOf::ReplacedFile => None,
    };
    let mut new = stage(files, path, &target, permissions_from, write, check)?;

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

/// Writes the new file under a temporary name beside `target`, which the caller then renames. When
/// it is returned, it is complete, checked and synced. It has the permissions of
/// `permissions_from`, or mode 0600 without such a file.
///
/// `target` is `path` without symbolic links. `path` is for errors.
fn stage(
    files: &'static dyn Files,
    path: &Path,
    target: &Path,
    permissions_from: Option<&File>,
    write: &mut Fill<'_>,
    check: Option<&mut CheckContent<'_>>,
) -> Result<Temp, StoreError> {
    let failed = |error| StoreError::io(Action::Create, path, error);
    let mut new = Temp::create_beside(files, target).map_err(failed)?;
    new.fill(path, write)?;
    if let Some(check) = check {
        check(&new).map_err(failed)?;
    }
    if let Some(file) = permissions_from {
        attributes::copy_permissions(files, file, &new.file).map_err(failed)?;
    }
    // Before the rename, so that a power failure leaves no incomplete file under the name.
    files.sync(&new.file).map_err(failed)?;
    Ok(new)
}

/// A new file that belongs to a session, such as one for the lines that a repair removes, and is in
/// place already. If it is dropped without [`CompanionFile::keep`], it is removed, and the file
/// that it replaced gets its name back (rule 7).
#[must_use = "dropping it undoes it"]
#[derive(Debug)]
pub struct CompanionFile {
    committed: Committed,
    /// The new file, whose creation a drop undoes. If it has replaced a file, that file has the
    /// temporary name now. `None` if there is nothing to undo: the same content was there already,
    /// or the new file is kept.
    undoable: Option<Temp>,
    /// The path of the new file, without symbolic links.
    target: PathBuf,
    has_replaced: bool,
}

impl CompanionFile {
    /// Keeps the file, because the session that it belongs to was written. Removes the file that it
    /// replaced.
    pub fn keep(mut self) -> Committed {
        let mut committed = std::mem::replace(&mut self.committed, Committed::new(&self.target));
        // Once this is taken, dropping `self` undoes nothing.
        if let Some(temp) = self.undoable.take() {
            committed.remove_temp(temp);
        }
        committed
    }

    /// Removes the new file, and puts back the one that it replaced.
    ///
    /// Dropping does the same, but ignores a failure. The caller needs to know if the new file must
    /// not remain, even under its temporary name.
    pub fn put_back_old(mut self) -> Result<(), StoreError> {
        self.undo()
    }

    /// Removes both files: the new one and the one that it replaced. A failure to remove one of
    /// them does not prevent that the other is removed.
    pub fn remove_with_old(mut self) -> Result<(), StoreError> {
        // Once this is taken, dropping `self` undoes nothing.
        let old_removal = match self.undoable.take() {
            Some(temp) => temp.remove(),
            None => Ok(()),
        };
        remove(&self.target)?;
        old_removal
    }

    fn undo(&mut self) -> Result<(), StoreError> {
        let Some(mut temp) = self.undoable.take() else {
            return Ok(());
        };
        let failed = |action, error| StoreError::io(action, &self.committed.path, error);
        if self.has_replaced {
            temp.exchange_back(&self.target)
                .map_err(|error| failed(Action::Rewrite, error))?;
            // The new file has the temporary name now.
            temp.remove()?;
        } else {
            unlink_own(&DISK, &self.target).map_err(|error| failed(Action::Remove, error))?;
        }
        sync_folder(&DISK, folder_of(&self.target))
    }
}

impl Drop for CompanionFile {
    /// Undoes the creation, unless [`keep`](Self::keep) has taken the file: removes the new file,
    /// or puts back the one that it replaced.
    fn drop(&mut self) {
        // An error is ignored, because a drop cannot report it. The new file stays then: it has
        // more lines than belong there, which is harmless.
        let _ = self.undo();
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

/// Writes a file that belongs to the session `input`: completely and synced, with the permissions
/// of the session. It is in place when this returns, so that it is on disk before the session that
/// refers to it.
///
/// The caller keeps the file once the session is written. Otherwise it drops the result, which
/// removes the file again (rule 7).
pub fn create_beside(
    path: &Path,
    input: InputFile,
    if_exists: IfExists,
    write: &mut Fill<'_>,
) -> Result<CompanionFile, StoreError> {
    let failed = |error| StoreError::io(Action::Create, path, error);
    let target = resolve(path).map_err(failed)?;
    let existing = existing_at(&DISK, &target).map_err(failed)?;
    if let Some(stat) = &existing {
        // Whether an ordinary file is refused is decided below, when the content is known.
        let allows_ordinary_file = true;
        refuse_existing(&DISK, path, input, allows_ordinary_file, stat)?;
    }
    let permissions_from = input.open_file();
    let no_check = None;
    let mut new = stage(&DISK, path, &target, permissions_from, write, no_check)?;
    let mut companion = CompanionFile {
        committed: Committed::new(path),
        undoable: None,
        target,
        has_replaced: existing.is_some(),
    };

    if if_exists == IfExists::Refuse {
        // A file with other content is an error.
        let is_there_already =
            has_complete_copy(&DISK, &companion.target, &new.file, new.bytes).map_err(failed)?;
        if is_there_already {
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
    companion.undoable = Some(new);
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
    /// Makes a directory, and the missing directories above it. If this fails, the directories made
    /// so far are removed again.
    pub fn make(path: &Path) -> Result<NewFolder, StoreError> {
        let failed = |error| StoreError::io(Action::Create, path, error);
        // Dropped after an error: see above.
        let mut folder = NewFolder { made: Vec::new() };
        // From the innermost directory outwards, up to the first one that exists.
        for missing in path.ancestors() {
            if missing.try_exists().map_err(failed)? {
                break;
            }
            folder.made.push(missing.to_owned());
        }
        std::fs::create_dir_all(path).map_err(failed)?;
        // Each new name is in the directory above, which is synced so that a power failure does not
        // take away the file that is created next.
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
    /// Removes the directories, unless they are kept: then `made` is empty.
    fn drop(&mut self) {
        // The innermost directory is first, so that the next one is empty when it is removed.
        for made in &self.made {
            let stays = match std::fs::remove_dir(made) {
                Ok(()) => false,
                Err(error) if error.kind() == io::ErrorKind::NotFound => false,
                // A directory in which another process has put a file stays.
                Err(error) if error.kind() == io::ErrorKind::DirectoryNotEmpty => true,
                // Tried once more: the system may have been short of some resource for a moment.
                Err(_) => std::fs::remove_dir(made).is_err(),
            };
            if stays {
                // The directories above it are not empty, either.
                return;
            }
        }
    }
}

/// Gives a file or directory another name, which must be free.
pub fn rename_new(from: &Path, to: &Path) -> Result<Committed, StoreError> {
    rename_new_on(&DISK, from, to)
}

/// Does what [`rename_new`] does, by the operations of `files`. The new name is on disk afterwards.
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
    /// Compares the bytes with the bytes of the file at the same offset. After the first
    /// difference, or beyond the end of the file, nothing more is read.
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
/// with several hard links are refused in any case. `stat` is the state of the file at `path`.
fn refuse_existing(
    files: &dyn Files,
    path: &Path,
    input: InputFile,
    force: bool,
    stat: &Stat,
) -> Result<(), StoreError> {
    let refused = |kind: io::ErrorKind| Err(StoreError::io(Action::Create, path, kind.into()));
    refuse_input(files, path, input, stat)?;
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

/// Refuses an output that is the input: writing would destroy it. `output_stat` identifies the
/// output, whatever its path.
fn refuse_input(
    files: &dyn Files,
    output_path: &Path,
    input: InputFile,
    output_stat: &Stat,
) -> Result<(), StoreError> {
    match input.is_at(files, output_stat) {
        Ok(false) => Ok(()),
        Ok(true) => Err(StoreError::new(
            Action::Write,
            output_path,
            Cause::SameAsInput,
        )),
        // The input could not be examined, so the two cannot be compared.
        Err(error) => Err(StoreError::io(Action::Read, output_path, error)),
    }
}

/// Writes to a stream, such as a terminal or a pipe. With `check`, the whole content is collected
/// and checked before the first byte is written. `path` is the path of the stream, for errors. The
/// stream is refused if it is the input, as after `>> input`.
fn write_to_stream(
    files: &'static dyn Files,
    stream: &File,
    path: &Path,
    input: InputFile,
    write: &mut Fill<'_>,
    check: Option<&mut CheckContent<'_>>,
) -> Result<(), StoreError> {
    let stat = files
        .stat(stream)
        .map_err(|error| StoreError::io(Action::Write, path, error))?;
    refuse_input(files, path, input, &stat)?;
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

/// Returns the path of the file to which the symbolic links at the end of `path` lead; the file
/// need not exist. A rename to the returned path replaces that file. A rename to `path` would
/// replace the link.
///
/// # Errors
/// If the path names a directory, or if the directory of the file does not exist.
fn resolve(path: &Path) -> io::Result<PathBuf> {
    let mut unresolved = path.to_owned();
    for _ in 0..MAX_LINKS {
        let folder = real(folder_of(&unresolved))?;
        // `folder/` names no file.
        if is_folder_name(&unresolved) {
            return Err(io::ErrorKind::IsADirectory.into());
        }
        // Neither do `.`, `..` and `/`.
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
