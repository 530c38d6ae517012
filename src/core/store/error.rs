//! What can go wrong with a file, in words a person can act on.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Why a file was not read or not written. Unless a variant says otherwise, nothing was changed (rule 7).
///
/// The message names the path as it is; whoever prints it to a terminal makes control characters visible.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StoreError {
    /// There is nothing at this path, or a folder above it is missing.
    #[error("cannot {doing} {}: no such file or folder", path.display())]
    NotFound {
        /// What was being done.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
    },

    /// A folder where a file was expected.
    #[error("cannot {doing} {}: it is a folder", path.display())]
    IsFolder {
        /// What was being done.
        doing: &'static str,
        /// To which path.
        path: PathBuf,
    },

    /// A pipe, device or socket where a regular file was expected.
    #[error("cannot {doing} {}: not a regular file", path.display())]
    NotRegular {
        /// What was being done.
        doing: &'static str,
        /// To which path.
        path: PathBuf,
    },

    /// The system does not let us: owner, mode, a read-only file system, an immutable file.
    #[error("cannot {doing} {}: {}", path.display(), Plain(source))]
    Permission {
        /// What was being done.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// Anything else that the system refused: a full disk, a failing device.
    #[error("cannot {doing} {}: {}", path.display(), Plain(source))]
    Io {
        /// What was being done.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// The output or backup is already there (rule 6).
    #[error("cannot {doing} {}: it exists already", path.display())]
    Exists {
        /// What was being done.
        doing: &'static str,
        /// To which file.
        path: PathBuf,
    },

    /// The output is the input itself, by another name, a link or a redirection.
    #[error("cannot write {}: it is the input itself", path.display())]
    SameAsInput {
        /// The output as named.
        path: PathBuf,
    },

    /// The file has several names, and a rename would tear them apart (rule 2).
    #[error("cannot rewrite {}: it has {links} hard links", path.display())]
    HardLinked {
        /// The file.
        path: PathBuf,
        /// How many names it has.
        links: u64,
    },

    /// Someone else holds a lock, and did so for as long as we were to wait (rules 3 and 5).
    #[error("cannot lock {}: held by {} (waited {:.1} s)", path.display(), Holder(*holder), waited.as_secs_f64())]
    Busy {
        /// The locked file, or the lock file.
        path: PathBuf,
        /// The process that holds it, where that can be known.
        holder: Option<u32>,
        /// How long we waited.
        waited: Duration,
    },

    /// The file is not what was read (rules 3 and 4).
    #[error("cannot write {}: {change} since it was read", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
        /// In which way.
        change: Change,
    },

    /// An oh-my-pi that is running owns this file (rule 5).
    #[error("cannot write {}: {sign}", path.display())]
    LiveAgent {
        /// The file.
        path: PathBuf,
        /// How we know.
        sign: LiveSign,
    },

    /// The file system has no advisory locks (rule 3).
    #[error("cannot lock {}: {}", path.display(), Plain(source))]
    NoLockSupport {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// The new file would not have the owner, mode, ACL or extended attributes of the old (rule 2).
    #[error("cannot rewrite {}: {what} cannot be kept: {}", path.display(), Plain(source))]
    AttributesLost {
        /// The file.
        path: PathBuf,
        /// Which attribute.
        what: String,
        /// What the system said.
        source: io::Error,
    },

    /// An append failed and could not be taken back: the file may have a torn last line, which every command
    /// reads past and the next append closes (rules 1 and 7).
    #[error("{failure}; {left} bytes of it stay at the end")]
    Torn {
        /// Why the append failed.
        failure: Box<StoreError>,
        /// How much of the append is in the file.
        left: u64,
    },

    /// The change is in place, but its folder could not be synced: a power cut may still bring back what was
    /// there before. Only ever among [`super::Committed::troubles`].
    #[error("cannot sync the folder {}: {}", folder.display(), Plain(source))]
    Unsynced {
        /// The folder.
        folder: PathBuf,
        /// What the system said.
        source: io::Error,
    },

    /// The file was rewritten, but what another process wrote to the old one in that moment could not be
    /// carried over (rule 4). Only ever among [`super::Committed::troubles`].
    #[error("cannot carry over what was appended to {} meanwhile: {}", path.display(), Plain(source))]
    GrowthLost {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: io::Error,
    },
}

/// In which way a file is not what was read (rule 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The path names another file now.
    Replaced,
    /// The path names nothing now.
    Removed,
    /// The file is shorter than it was.
    Truncated,
    /// The file was written to elsewhere than at its end.
    Edited,
    /// The file is longer, and the caller did not read the rest.
    Grown,
}

/// How we know that a running oh-my-pi owns a file (rule 5).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LiveSign {
    /// A process holds the file open for writing.
    OpenForWriting {
        /// That process.
        pid: u32,
    },
    /// The last entry was written a moment ago and is none that closes a session.
    JustWritten {
        /// How long ago.
        ago: Duration,
    },
}

impl StoreError {
    /// An error of the system while doing something to a file, sorted into the variant that fits.
    pub(super) fn io(doing: &'static str, path: &Path, source: io::Error) -> StoreError {
        let path = path.to_owned();
        match source.kind() {
            io::ErrorKind::NotFound => StoreError::NotFound { doing, path },
            io::ErrorKind::IsADirectory => StoreError::IsFolder { doing, path },
            io::ErrorKind::AlreadyExists => StoreError::Exists { doing, path },
            io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
                StoreError::Permission { doing, path, source }
            }
            _ => StoreError::Io { doing, path, source },
        }
    }

    /// Another process is in the way and trying again later may work (exit 3); else it cannot be (exit 2).
    pub fn is_busy(&self) -> bool {
        matches!(self, StoreError::Busy { .. } | StoreError::Changed { .. } | StoreError::LiveAgent { .. })
    }

    /// The reader of a pipe went away, which a shell tool calls success.
    pub fn is_broken_pipe(&self) -> bool {
        matches!(self, StoreError::Io { source, .. } if source.kind() == io::ErrorKind::BrokenPipe)
    }

    /// Returns the file or folder that it is about.
    pub fn path(&self) -> Option<&Path> {
        Some(match self {
            StoreError::NotFound { path, .. }
            | StoreError::IsFolder { path, .. }
            | StoreError::NotRegular { path, .. }
            | StoreError::Permission { path, .. }
            | StoreError::Io { path, .. }
            | StoreError::Exists { path, .. }
            | StoreError::SameAsInput { path }
            | StoreError::HardLinked { path, .. }
            | StoreError::Busy { path, .. }
            | StoreError::Changed { path, .. }
            | StoreError::LiveAgent { path, .. }
            | StoreError::NoLockSupport { path, .. }
            | StoreError::AttributesLost { path, .. }
            | StoreError::GrowthLost { path, .. }
            | StoreError::Unsynced { folder: path, .. } => path,
            StoreError::Torn { failure, .. } => return failure.path(),
        })
    }

    /// What to try, where there is something.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            StoreError::NotFound { doing: "read", .. } => {
                "look at the path; sessions are below ~/.pi/agent/sessions and ~/.omp/agent/sessions"
            }
            StoreError::NotFound { doing: "create", .. } => "make the folder first",
            StoreError::NotFound { .. } => return None,
            StoreError::IsFolder { doing: "read", .. } => {
                "name a session in it; migrate and check take folders"
            }
            StoreError::IsFolder { .. } => "give the name of a file",
            StoreError::NotRegular { doing: "lock", .. } => "move it away: it is not a lock of oh-my-pi",
            StoreError::NotRegular { .. } => "give the path of a regular file, or - for a stream",
            StoreError::Permission { .. } => "look at the owner and mode of the file and its folder",
            StoreError::Io { source, .. } if is_full(source) => "free some space; the file is as it was",
            StoreError::Io { .. } => return None,
            StoreError::Exists { doing: "back up to", .. } => "choose another suffix with --backup=SUFFIX",
            StoreError::Exists { .. } => "choose another name; --force replaces an output",
            StoreError::SameAsInput { .. } => "leave the output out to change the file itself",
            StoreError::HardLinked { .. } => "write the result elsewhere with -o, or remove the other names",
            StoreError::Busy { .. } => "wait for the other process to end, or longer with --wait",
            StoreError::Changed { .. } => "run the command again",
            StoreError::LiveAgent { .. } => "end that oh-my-pi session first; --force writes in spite of it",
            StoreError::NoLockSupport { .. } => "--force writes without a lock",
            StoreError::AttributesLost { .. } => "--force goes on without it",
            StoreError::Torn { .. } => "look at the end of the file; the next append closes a cut line",
            StoreError::Unsynced { .. } => "the change is in place; sync the disk before cutting its power",
            StoreError::GrowthLost { .. } => "the new content is in place; look at the end of the file",
        })
    }
}

fn is_full(source: &io::Error) -> bool {
    matches!(
        source.kind(),
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge
    )
}

/// An I/O error without Rust's "(os error 28)", which tells a person nothing.
pub struct Plain<'a>(pub &'a io::Error);

impl fmt::Display for Plain<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = self.0.to_string();
        match text.split_once(" (os error") {
            Some((text, _)) => f.write_str(&text.to_lowercase()),
            None => f.write_str(&text),
        }
    }
}

struct Holder(Option<u32>);

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(pid) => write!(f, "process {pid}"),
            None => f.write_str("another process"),
        }
    }
}

impl fmt::Display for Change {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Change::Replaced => "it was replaced by another file",
            Change::Removed => "it was removed",
            Change::Truncated => "it was truncated",
            Change::Edited => "it was changed",
            Change::Grown => "it has grown",
        })
    }
}

impl fmt::Display for LiveSign {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            LiveSign::OpenForWriting { pid } => {
                write!(f, "process {pid} has it open for writing, as a running oh-my-pi does")
            }
            LiveSign::JustWritten { ago } => {
                write!(f, "an oh-my-pi seems to be writing it (last entry {:.1} s ago)", ago.as_secs_f64())
            }
        }
    }
}
