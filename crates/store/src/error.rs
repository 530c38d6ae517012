//! Errors of reading and writing files, with messages a user can act on.

use super::files::{describe_process, is_closed_pipe, is_in_use, is_stdout};
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a file was not read or not written. Unless its cause states otherwise, nothing was changed
/// (rule 7).
///
/// Messages contain paths as they are; control characters must be escaped when printed to a
/// terminal.
#[derive(Debug, thiserror::Error)]
#[error("cannot {action} {}: {cause}", path.display())]
pub struct StoreError {
    /// What was to be done with it.
    pub action: Action,
    /// The file or directory, or the lock file.
    pub path: PathBuf,
    /// What prevented it.
    pub cause: Cause,
}

/// What was to be done with a file or directory. Displayed as the verb of the message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum Action {
    /// A file was to be read.
    #[error("read")]
    Read,
    /// The entries of a directory were to be listed.
    #[error("read the directory")]
    ReadFolder,
    /// A file was to be locked against other processes.
    #[error("lock")]
    Lock,
    /// Lines were to be appended, or the path of an existing file is refused for any change.
    #[error("write")]
    Write,
    /// A file was to be replaced by one with other content (rule 2).
    #[error("rewrite")]
    Rewrite,
    /// A new file or directory was to be made (rule 6).
    #[error("create")]
    Create,
    /// A file was to be removed, or an empty directory.
    #[error("remove")]
    Remove,
    /// A file was to be renamed to this path.
    #[error("move to")]
    MoveTo,
    /// A file that could not be removed was to get its name back, from this hidden one.
    #[error("move back")]
    MoveBack,
    /// A file to be removed was to be renamed to this path first.
    #[error("set aside as")]
    SetAsideAs,
    /// The old content of a file was to be saved under this path.
    #[error("back up to")]
    BackUpTo,
    /// A file was to be written through to the disk.
    #[error("sync")]
    Sync,
    /// The entries of a directory were to be written through to the disk.
    #[error("sync the directory")]
    SyncFolder,
    /// Input that is not a regular file was to be copied to a temporary file.
    #[error("write a temporary file for")]
    Spool,
    /// Lines that another process appended during a rewrite were to be copied to the new file (rule
    /// 4).
    #[error("carry over what was appended meanwhile to")]
    CarryGrowthTo,
}

/// What prevented that a file was read or written.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The path is a pipe, device or socket, but a regular file was expected.
    #[error("not a regular file")]
    NotRegular,

    /// An error of the system: there is no such file, access is denied, the disk is full. Also used
    /// if an output or backup exists already (rule 6), or if a directory is where a file was
    /// expected.
    #[error("{}", reason(.0))]
    Io(io::Error),

    /// The output is the input itself, through another name, a link or a redirection.
    #[error("it is the input itself")]
    SameAsInput,

    /// The file has this many hard links, more than one. A rename would separate them (rule 2).
    #[error("it has {0} hard links")]
    HardLinked(u64),

    /// Another process held a lock for as long as we waited (rules 3 and 5).
    #[error("held by {} (waited {:.1} s)", describe_process(*holder), waited.as_secs_f64())]
    Busy {
        /// The process that holds it, if known.
        holder: Option<u32>,
        /// How long we waited.
        waited: Duration,
    },

    /// The file changed since it was read (rules 3 and 4).
    #[error("{0} since it was read")]
    Changed(FileChange),

    /// The file belongs to an oh-my-pi that is running (rule 5): a process holds it open for
    /// writing.
    #[error("{} has it open for writing, as a running oh-my-pi does", describe_process(*pid))]
    OpenForWriting {
        /// The process, if the system reports which one it is.
        pid: Option<u32>,
    },

    /// The file belongs to an agent that is running (rule 5): the last entry was written a moment
    /// ago, and does not close a session.
    #[error("an agent seems to be writing it (last entry {:.1} s ago)", ago.as_secs_f64())]
    JustWritten {
        /// How long ago.
        ago: Duration,
    },

    /// The file system has no advisory locks (rule 3).
    #[error("{}", plain(.0))]
    NoLockSupport(io::Error),

    /// The new file would not have the owner, mode, ACL or extended attributes of the old one (rule
    /// 2).
    #[error("{what} cannot be kept: {}", plain(error))]
    AttributesLost {
        /// The attribute.
        what: String,
        /// The system's error.
        error: io::Error,
    },

    /// An append failed and could not be undone, so the file may have a torn last line (rules 1 and
    /// 7). Every command skips a torn line, and the next append begins a new line after it.
    #[error(
        "{}; {left} bytes of the new lines remain at the end of the file",
        reason(error)
    )]
    Torn {
        /// Why the append failed.
        error: io::Error,
        /// The number of bytes of the append that are in the file.
        left: u64,
        /// Whether there is a whole line among them, which is in effect.
        has_line: bool,
    },

    /// Whole lines were appended, but the file could not be synced: a power failure may still
    /// remove them. The append is not undone, because other processes see the lines already.
    #[error("{}; the new lines are written", plain(.0))]
    UnsyncedAppend(io::Error),

    /// The change is in place, but its directory could not be synced: a power failure may still
    /// restore the old state. Only in [`super::Committed::warnings`].
    #[error("{}", plain(.0))]
    Unsynced(io::Error),

    /// The change is in place, but a hidden file with the old content could not be removed; the
    /// next rewrite of the same file removes it. Only in [`super::Committed::warnings`].
    #[error("{}", plain(.0))]
    Unremoved(io::Error),

    /// The file was rewritten, but data that another process wrote to the old one at that moment
    /// could not be carried over (rule 4). Only in [`super::Committed::warnings`].
    #[error("{}", plain(.0))]
    GrowthLost(io::Error),
}

/// How a file changed since it was read (rule 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum FileChange {
    /// The path is another file now.
    #[error("it was replaced by another file")]
    Replaced,
    /// The path does not exist any more.
    #[error("it was removed")]
    Removed,
    /// It is shorter than it was.
    #[error("it was truncated")]
    Truncated,
    /// It changed before its old end.
    #[error("it was changed")]
    Edited,
    /// It is longer, and the caller has not read the rest. After a copy-up on overlayfs, the whole
    /// file must be read again.
    #[error("it has grown")]
    Grown,
}

impl StoreError {
    pub(super) fn new(action: Action, path: &Path, cause: Cause) -> StoreError {
        StoreError {
            action,
            path: path.to_owned(),
            cause,
        }
    }

    /// Converts an error of the system that occurred while a file was accessed.
    ///
    /// The error may contain an error of the store, which a callback passed on: for example, that
    /// the source changed during writing. That error is returned unchanged.
    pub(super) fn io(action: Action, path: &Path, error: io::Error) -> StoreError {
        match error.downcast() {
            Ok(error) => error,
            Err(error) if is_in_use(&error) => StoreError::new(
                Action::Lock,
                path,
                Cause::Busy {
                    holder: None,
                    waited: Duration::ZERO,
                },
            ),
            Err(error) => StoreError::new(action, path, Cause::Io(error)),
        }
    }

    /// Returns the error for a file that is not as it was read.
    pub(super) fn changed(path: &Path, change: FileChange) -> StoreError {
        StoreError::new(Action::Write, path, Cause::Changed(change))
    }

    /// Returns the kind of the error of [`Cause::Io`]; `None` for any other cause.
    pub fn kind(&self) -> Option<io::ErrorKind> {
        match &self.cause {
            Cause::Io(error) => Some(error.kind()),
            _ => None,
        }
    }

    /// Whether the system denies access: owner, mode, a read-only file system, an immutable file.
    pub(super) fn is_denied(&self) -> bool {
        matches!(
            self.kind(),
            Some(io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem)
        )
    }

    /// Whether another process is in the way, so that a later attempt may succeed (exit 3 instead
    /// of 2).
    pub fn is_busy(&self) -> bool {
        let is_live = matches!(
            self.cause,
            Cause::OpenForWriting { .. } | Cause::JustWritten { .. }
        );
        is_live || matches!(self.cause, Cause::Busy { .. } | Cause::Changed(_))
    }

    /// Whether the change is in effect in spite of the error (exit 4 instead of 2).
    pub fn is_written(&self) -> bool {
        matches!(
            self.cause,
            Cause::UnsyncedAppend(_) | Cause::Torn { has_line: true, .. }
        )
    }

    /// Whether lines of another process may be missing in the new file.
    pub fn is_loss(&self) -> bool {
        matches!(self.cause, Cause::GrowthLost(_))
    }

    /// Whether the reader of standard output (`-o /dev/stdout`) closed the pipe. This is success
    /// for a shell tool. The same error for a session or a lock is a failure.
    pub fn is_closed_stdout(&self) -> bool {
        matches!(&self.cause, Cause::Io(error) if is_closed_pipe(error) && is_stdout(&self.path))
    }

    /// Returns a hint for the user on what to try; `None` if there is nothing to try.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match &self.cause {
            Cause::Io(error) => return hint_for(self.action, error.kind()),
            Cause::NotRegular if self.action == Action::Lock => {
                "move it away: it is not an oh-my-pi lock"
            }
            Cause::NotRegular => "give the path of a regular file, or - for a stream",
            Cause::SameAsInput => "give another path with -o",
            Cause::HardLinked(_) => "write the result elsewhere with -o, or remove the other links",
            Cause::Busy { .. } => "wait for the other process to end, or wait longer with --wait",
            Cause::Changed(_) => "run the command again",
            Cause::OpenForWriting { .. } => {
                "end that oh-my-pi session first, or use --force to write anyway"
            }
            Cause::JustWritten { .. } => {
                "end that agent's session first, or use --force to write anyway"
            }
            Cause::NoLockSupport(_) => "use --force to write without a lock",
            Cause::AttributesLost { .. } => "use --force to continue without it",
            Cause::Torn { has_line: true, .. } => {
                "do not repeat the command: whole lines are among them; check the end of the file"
            }
            Cause::Torn { .. } => "check the end of the file; the next append starts on a new line",
            Cause::UnsyncedAppend(_) => "do not repeat the command; check the disk",
            Cause::Unsynced(_) => "the change is in place; sync the disk before turning it off",
            Cause::Unremoved(_) => "the change is in place; remove that file",
            Cause::GrowthLost(_) => "the new content is in place; check the end of the file",
        })
    }
}

/// Returns the hint for an error of the system; `None` if there is nothing to try.
fn hint_for(action: Action, kind: io::ErrorKind) -> Option<&'static str> {
    use io::ErrorKind::*;
    Some(match (kind, action) {
        (NotFound, Action::Read) => {
            "check the path; sessions are below ~/.pi/agent/sessions and ~/.omp/agent/sessions"
        }
        (NotFound, Action::Create) => "create the directory first",
        (IsADirectory, Action::Read) => {
            "give the path of a session in it; archive, blame, check, export, grep, list, migrate, prune, redact --check and stats take directories"
        }
        (IsADirectory, _) => "give the path of a file",
        (AlreadyExists, Action::BackUpTo) => "choose another suffix with --backup=SUFFIX",
        (AlreadyExists, Action::SetAsideAs) => {
            "a run that was killed left it: `pisess archive --restore` puts it back"
        }
        (AlreadyExists, _) => "choose another name, or overwrite it with --force",
        (PermissionDenied | ReadOnlyFilesystem, _) => {
            "check the owner and mode of the file and its directory"
        }
        (StorageFull | QuotaExceeded | FileTooLarge, _) => "free some space; the file is unchanged",
        _ => return None,
    })
}

/// Returns the system's error in words for the user.
fn reason(error: &io::Error) -> String {
    match error.kind() {
        io::ErrorKind::NotFound => "no such file or directory".to_owned(),
        io::ErrorKind::IsADirectory => "it is a directory".to_owned(),
        io::ErrorKind::AlreadyExists => "it already exists".to_owned(),
        _ => plain(error),
    }
}

/// Returns the text of an I/O error without Rust's "(os error 28)", which does not help the user.
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    text.split_once(" (os error")
        .map_or(text.clone(), |(text, _)| text.to_lowercase())
}
