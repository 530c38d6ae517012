//! Rule 5: whether a running oh-my-pi owns the file.
//!
//! oh-my-pi keeps its tree in memory. An append by another process makes its next rewrite fail, and
//! everything after that stays in memory only, so files of a running oh-my-pi are left alone. There
//! are two signs:
//!
//! - **A process has the file open for writing.** oh-my-pi keeps it open from its first append
//!   until it exits. This is the strong sign, and waiting does not help. A process between its fork
//!   and its exec still has the files of its parent open, so the file is refused only if a second
//!   check finds the same. The check works on Linux (in `/proc`) and on Windows. pisess does not
//!   take another pisess for an agent: it opens a session for writing only under the lock, and on
//!   Linux the check skips processes that run pisess (and a child before its exec, which still runs
//!   the program of its parent).
//! - **The file changed within the last few seconds, and its last entry has a timestamp from that
//!   time.** This is for systems on which processes cannot be inspected, and for the moment after
//!   oh-my-pi renamed a new file into place and before it opens that file. A fresh copy of an old
//!   session does not match, because its last entry is old. The sign disappears by itself, so the
//!   store waits for that, within the caller's time limit.
//!
//! The second sign must not make one pisess wait because of what the previous one wrote (a thousand
//! labels in a row are common). So it does not apply if the last entry is one that no working agent
//! writes last: a label, a compaction, a branch summary, a `custom` entry by pisess, a bare header,
//! or the `session_exit` that closes a session. Nor does it apply if processes can be inspected and
//! the inode was created before these seconds: then the change was an append, and an oh-my-pi that
//! appended still has the file open. Before a file is moved or removed, it does apply to an append:
//! pi opens the file for each entry, and would create it again at its old path.

use super::error::{Action, Cause, StoreError};
use super::files::{DISK, Files, Stat, Writer};
use super::session_file::Glance;
use super::snapshot::read_range;
use serde::Deserialize;
use std::borrow::Cow;
use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// How recent a change is that counts as a sign of a running agent.
const RECENT: Duration = Duration::from_secs(5);

/// The pause between the two checks for a process that has the file open.
const FORKING: Duration = Duration::from_millis(50);

/// How [`refuse`] searches for a running agent.
pub(super) struct Search {
    /// How long to wait until a recent change no longer counts.
    pub wait: Duration,
    /// Whether an append counts even if no process has the file open.
    pub counts_appends: bool,
}

/// Refuses a file that a running oh-my-pi owns: one that a process has open for writing, or that an
/// agent has just written to. The second sign disappears by itself, so this waits for that, at most
/// for the time of `search`.
///
/// `resolved` is the path without symbolic links, and `path` the one for messages.
pub(super) fn refuse(
    files: &dyn Files,
    path: &Path,
    resolved: &Path,
    file: &File,
    search: &Search,
) -> Result<(), StoreError> {
    let mut wait_left = search.wait;
    let read_error = |error| StoreError::io(Action::Read, path, error);
    let refusal = |cause| StoreError::new(Action::Write, path, cause);
    loop {
        let stat = files.stat(file).map_err(read_error)?;
        if let Some(Writer { pid }) = find_lasting_writer(files, resolved, &stat) {
            return Err(refusal(Cause::OpenForWriting { pid }));
        }
        let agent_wrote_ago = time_since_agent_wrote(files, file, &stat, search);
        let Some(ago) = agent_wrote_ago.map_err(read_error)? else {
            return Ok(());
        };

        // `time_since_agent_wrote` returns only times less than `RECENT`.
        let recent_for = RECENT - ago;
        if recent_for > wait_left {
            return Err(refusal(Cause::JustWritten { ago }));
        }
        files.sleep(recent_for);
        wait_left -= recent_for;
        // The file may have been opened or changed during the wait, so both signs are looked for
        // again.
    }
}

/// Returns a process that has the file open for writing. A process that was just forked does not
/// count: it has the files of its parent open until it runs another program, so only a process that
/// is also found after a pause is returned.
fn find_lasting_writer(files: &dyn Files, resolved: &Path, stat: &Stat) -> Option<Writer> {
    files.writer_of(resolved, stat)?;
    files.sleep(FORKING);
    // `stat` identifies the file, so it need not be read again.
    files.writer_of(resolved, stat)
}

/// Returns how long ago a working agent wrote the last entry, which is less than [`RECENT`]. `None`
/// if that was longer ago, or if the last entry is not a sign of a working agent (see the module).
fn time_since_agent_wrote(
    files: &dyn Files,
    file: &File,
    stat: &Stat,
    search: &Search,
) -> io::Result<Option<Duration>> {
    let now = files.now();
    // Also for a time in the future, as after the clock was set back.
    let ago = time_between(now, stat.modified);
    if ago >= RECENT {
        return Ok(None);
    }

    // If the inode is older than the change, the change was an append: a rewrite makes a new inode.
    // An oh-my-pi that has appended keeps the file open, so the search for writers has found none.
    let was_append = match stat.born {
        Some(born) => time_between(now, born) >= RECENT,
        None => false,
    };
    if was_append && files.sees_writers() && !search.counts_appends {
        return Ok(None);
    }

    let is_agent_working = ends_with_new_entry_of_turn(files, file, stat)?;
    Ok(if is_agent_working { Some(ago) } else { None })
}

/// Whether an agent wrote to a file recently, as far as its last line shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RecentTurn {
    /// The last entry is from the moment when the file changed, and a working agent writes such
    /// entries last.
    Found,
    /// The last line is no entry. An agent may be writing it, or the file is a copy of a damaged
    /// session.
    Unknown,
    /// The file did not change recently, or is a fresh copy of an old session, or the session was
    /// only labelled.
    Missing,
}

/// Returns whether an agent wrote to the file within `period` before or after `now`.
///
/// # Errors
/// If the last line cannot be read.
pub fn find_recent_turn(
    file: &Glance,
    now: SystemTime,
    period: Duration,
) -> io::Result<RecentTurn> {
    if time_between(now, file.stat.modified) >= period {
        return Ok(RecentTurn::Missing);
    }
    let line = last_line(&DISK, &file.file, file.stat.size)?;
    let Some(entry) = LastEntry::parse(&line) else {
        return Ok(RecentTurn::Unknown);
    };
    Ok(if entry.is_new_and_of_a_turn(&file.stat) {
        RecentTurn::Found
    } else {
        RecentTurn::Missing
    })
}

/// Whether the last entry of a file was written when the file last changed, and is one that a
/// working agent writes last.
fn ends_with_new_entry_of_turn(files: &dyn Files, file: &File, stat: &Stat) -> io::Result<bool> {
    let line = last_line(files, file, stat.size)?;
    let entry = LastEntry::parse(&line);
    Ok(entry.is_some_and(|entry| entry.is_new_and_of_a_turn(stat)))
}

/// Returns the time between two moments, in either order.
pub(super) fn time_between(one: SystemTime, other: SystemTime) -> Duration {
    one.duration_since(other)
        .unwrap_or_else(|error| error.duration())
}

/// The last line of a session. If it does not parse, that is no sign of a running oh-my-pi, which
/// writes whole lines.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct LastEntry<'a> {
    #[serde(borrow, rename = "type")]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    timestamp: Cow<'a, str>,
    #[serde(borrow)]
    custom_type: Option<Cow<'a, str>>,
}

impl<'a> LastEntry<'a> {
    fn parse(line: &'a [u8]) -> Option<LastEntry<'a>> {
        serde_json::from_slice(line).ok()
    }

    /// Whether the entry was written when its file last changed, and is one that a working agent
    /// writes last.
    fn is_new_and_of_a_turn(&self, stat: &Stat) -> bool {
        self.is_of_a_turn() && self.is_from(stat.modified)
    }

    /// Whether a working agent may write such an entry last (see the module for those that it does
    /// not).
    fn is_of_a_turn(&self) -> bool {
        let custom_type = self.custom_type.as_deref().unwrap_or_default();
        // `session_info` and `context_edit` count: in pi, an extension may name the session, or
        // edit the context, in the middle of a turn.
        match &*self.kind {
            "session" | "label" | "compaction" | "branch_summary" => false,
            "custom" => custom_type != "session_exit" && !custom_type.starts_with("pisess"),
            _ => true,
        }
    }

    fn is_from(&self, moment: SystemTime) -> bool {
        let written = self
            .timestamp
            .parse::<jiff::Timestamp>()
            .and_then(SystemTime::try_from);
        written.is_ok_and(|written| time_between(written, moment) < RECENT)
    }
}

/// Returns the bytes of the last line, searched for from the end in growing steps.
fn last_line(files: &dyn Files, file: &File, size: u64) -> io::Result<Vec<u8>> {
    let mut window = 64 * 1024;
    loop {
        let start = size.saturating_sub(window);
        let tail = read_range(files, file, start, size)?;
        let line = tail.strip_suffix(b"\n").unwrap_or(&tail);
        match memchr::memrchr(b'\n', line) {
            Some(newline) => return Ok(line[newline + 1..].to_vec()),
            None if start == 0 => return Ok(line.to_vec()),
            None => window *= 4,
        }
    }
}
