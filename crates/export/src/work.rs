//! Counts the prompts, tool calls, files and times of the entries of a page, as `stats` does.

use super::source::Contents;
use pisess_core::ops::stats::{CountedEntry, Totals, changed_file};
use pisess_core::session::Session;
use pisess_core::session::entry::{EntryIx, LineNo};

/// The sums that a page shows, and the part of each entry in them.
#[derive(Debug, Default)]
pub struct Work {
    /// The sums over all exported entries.
    pub totals: Totals,
    /// What each entry of the session adds to `totals`; empty if nothing was counted.
    by_entry: Vec<EntryWork>,
}

/// What one entry adds to the sums.
#[derive(Clone, Copy, Debug, Default)]
pub struct EntryWork {
    /// The milliseconds since the previous entry of its turn; 0 outside of a turn.
    pub took_ms: i64,
    /// Its tool calls.
    pub call_count: u32,
}

impl Work {
    /// Adds up the prompts, calls and times of the exported entries. `contents` must be without
    /// cuts.
    ///
    /// `counted` are the entries of `counted_session`, which is the session before entries were
    /// pruned from it, if any were. Each is found in the export by its line number. An entry
    /// without a line, or that is not exported, does not count.
    pub fn add_up(
        contents: &Contents,
        counted_session: &Session,
        counted: &[CountedEntry],
    ) -> Work {
        // The sums are those of one session, so it needs no number that distinguishes it.
        let session_number = 0;
        let mut work = Work {
            totals: Totals::default(),
            by_entry: vec![EntryWork::default(); contents.session.entries.len()],
        };
        for counted_entry in counted {
            let Some(line) = counted_entry.line else {
                continue;
            };
            let Some(ix) = exported_entry_at(contents, line) else {
                continue;
            };
            work.totals
                .add_with_calls(counted_session, counted_entry, session_number);
            work.by_entry[ix.index()] = EntryWork {
                took_ms: counted_entry.took_ms,
                call_count: counted_entry.call_count(counted_session) as u32,
            };
        }
        work
    }

    /// Returns what an entry adds to the sums.
    pub fn entry_work(&self, ix: EntryIx) -> EntryWork {
        self.by_entry.get(ix.index()).copied().unwrap_or_default()
    }
}

/// Returns the entry at a line of the file. `None` if no entry is there, or if it is not exported.
fn exported_entry_at(contents: &Contents, line: LineNo) -> Option<EntryIx> {
    // The entries are in the order of their lines.
    let entries = &contents.session.entries;
    let index = entries
        .binary_search_by_key(&line, |entry| entry.line)
        .ok()?;
    let ix = EntryIx::new(index);
    contents.entry_number(ix)?;
    Some(ix)
}

/// That an exported entry wrote or edited a file.
pub struct FileChange {
    /// The number of the exported entry.
    pub entry_number: u32,
    /// The number of the file, from 0, in the order in which files were first changed.
    pub file_number: u32,
}

/// Returns which exported entries wrote or edited which files. An entry with several calls for a
/// file has several changes of it.
pub fn file_changes(contents: &Contents) -> Vec<FileChange> {
    let session = contents.session;
    let mut file_numbers = foldhash::HashMap::default();
    let mut changes = Vec::new();
    for call in &session.collected.counted_calls {
        let Some(entry_number) = contents.entry_number(call.entry) else {
            continue;
        };
        let Some(path) = changed_file(call) else {
            continue;
        };
        let next_number = file_numbers.len() as u32;
        let file_number = *file_numbers
            .entry(session.bytes(path))
            .or_insert(next_number);
        changes.push(FileChange {
            entry_number,
            file_number,
        });
    }
    changes
}
