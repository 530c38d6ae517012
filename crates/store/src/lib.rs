//! The one module that touches files: reading them by position, and changing them safely.
//!
//! Session files hold other people's work, and other programs write them at the same time. Every
//! change follows seven rules; comments and tests cite them by number.
//!
//! 1. **Append** is one `write` of whole lines in append mode, then fsync. A newline comes first if
//!    the last line lacks one. Space is reserved before, where the system can. If a write is short
//!    nevertheless, the file is truncated to its old size. If another process has appended since,
//!    the bytes stay, and the error reports how many. Whole lines stay even if fsync fails: they
//!    are in effect already.
//! 2. **Rewrite** writes a temporary file in the directory of the resolved target, syncs it,
//!    renames it, and syncs the directory; a batch syncs each directory once. The name of the
//!    temporary file is one that no agent lists or promotes, and does not end in `.jsonl`. Mode,
//!    owner, ACL, extended attributes and modification time are kept; if they cannot be, the
//!    rewrite is refused without force. A backup is a separate file from the beginning: it is
//!    copied, synced and renamed into place before the session. Symbolic links are followed, hard
//!    links refused. A crash at any point leaves the old file or the new one. A temporary file that
//!    it leaves is removed by the next rewrite. A rename replaces only a regular file or nothing;
//!    `/dev/stdout` and FIFOs are written to.
//! 3. **Lock**: an advisory lock is held from the last comparison to the commit. After it is taken,
//!    the path must still lead to the inode that was read. Without lock support, nothing is written
//!    unless forced. Only input named by the user may block: lock files, and whatever replaced the
//!    session, are opened without blocking and then checked.
//! 4. **Changed under us**: device, inode, size, ctime, the first 256 bytes and the last 4 KB
//!    before the old end are compared under the lock. If the file has grown, the rest is read and
//!    the change decided again, until the time to wait is over. If the change does not depend on
//!    the rest, the rest is carried over unread. After any other change of the file, nothing is
//!    written. On overlayfs, the first open for writing copies the file and changes what `stat`
//!    reports; if nothing else changed, the content is read again. The rename of a rewrite
//!    exchanges the two files: if the old one was replaced or edited meanwhile, they are exchanged
//!    back. As long as another process has the old file open for writing, what it appends there is
//!    appended to the new file.
//! 5. **Live oh-my-pi**: its lock file `.<name>.lock` is held only around the commit. A lock file
//!    of a dead process is stolen; only our own is unlinked. Without force, a file that a live
//!    oh-my-pi owns is refused. If a file is to be moved, it is also refused if any agent wrote it
//!    a moment ago.
//! 6. **Nothing is ever lost**: backups never overwrite a file, and new files have mode 0600 or
//!    the mode of their source. An export has mode 0600, or the mode of the file it replaces.
//! 7. **An operation that fails has changed nothing**; a crash in the middle of an append leaves at
//!    most a torn last line, which the next append closes.
//!
//! ```text
//!   SessionFile::open ── Snapshot ──> lock ──> Locked ── append ──> Committed
//!                                      │  ^     │ Stale   rewrite
//!                                      │  └─────┘ reopen, decide again
//!                                      └──> StoreError (busy, changed, refused): nothing was written
//! ```
//!
//! A change, from reading to disk:
//!
//! ```
//! # use pisess_store::{Attempt, SessionFile, WriteOptions, lock};
//! # let folder = tempfile::tempdir()?;
//! # let path = folder.path().join("s.jsonl");
//! # std::fs::write(&path, "{}\n")?;
//! let mut file = SessionFile::open(&path)?;
//! let mut locked = lock(&file, &WriteOptions::default())?;
//! let committed = loop {
//!     if locked.is_stale() {
//!         file = locked.reopen()?;
//!     }
//!     // Load the file, decide on the change, then:
//!     match locked.append(b"{\"type\":\"label\"}\n")? {
//!         Attempt::Done(committed) => break committed,
//!         Attempt::Stale(again) => locked = *again,
//!     }
//! };
//! assert!(committed.warnings.is_empty());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The store does not interpret the lines. The one exception is rule 5, which examines the type and
//! time of the last line. There is no mmap: the agents truncate in place, which would cause a
//! SIGBUS here.

pub mod workers;

mod archive;
mod fn_writer;
mod read;
mod send;
mod session_file;
mod snapshot;
mod write_behind;

mod append;
mod attributes;
mod create;
mod lock;
mod rewrite;
mod temp;
mod temp_copy;

mod live;
mod publish_lock;

mod remove;
mod source;

mod disk;
mod error;
mod files;
mod find;

pub use append::{Attempt, Committed};
pub use archive::{Archive, Member, begins_with};
pub use create::{
    CheckContent, CompanionFile, IfExists, InputFile, NewFolder, check_create, create,
    create_beside, create_checked, create_private, has_content, is_same, refuse_further_input,
    remove, rename_new, restore, same_file,
};
pub use disk::{
    Disk, FileBelow, MAX_SMALL_FILE_LEN, files_below, is_free, own_file, own_files_below,
    remove_empty_folders,
};
pub use error::{Action, Cause, FileChange, StoreError, plain};
pub use files::{OnDisk, SessionsBeingWritten, find_agent_in, is_closed_pipe};
pub use find::{
    DatedFile, FoundFile, FoundFiles, KnownFiles, Reach, SearchProblem, distinct_files, find,
    find_sub_agents, find_with, modified, modified_ms, paths_in, session_files_in, with_suffix,
};
pub use fn_writer::FnWriter;
pub use live::{RecentTurn, find_recent_turn};
pub use lock::{Locked, WriteOptions, lock};
pub use read::{
    KeptContent, PageBuffer, ReadAt, SpoolWriter, Spooled, read_written, resize, shorter, spool,
    spool_and_read, spool_written,
};
pub use remove::{Unremoved, hidden_path_of};
pub use rewrite::Batch;
pub use send::{Piece, copy_range, send_pieces, send_range};
pub use session_file::{Glance, Opened, SessionFile, open};
pub use snapshot::Snapshot;
pub use source::{Source, write_archive};
pub use temp::Fill;
pub use temp_copy::TempCopy;

#[cfg(test)]
mod tests;
