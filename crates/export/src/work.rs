//! The prompts, tool calls, files and times of the entries of a page, as `stats` counts them.

use super::source::Contents;
use pisess_core::ops::stats::{CountedEntry, Totals, changed_file};
use pisess_core::session::Session;
use pisess_core::session::entry::EntryIx;

/// The sums that a page shows, and the part of each entry in them.
#[derive(Debug, Default)]
pub struct Work {
    /// The sums over all exported entries.
    pub totals: Totals,
    /// The part of each entry of the session; empty if nothing was counted.
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
    /// Adds up the entries of an export without cuts.
    ///
    /// `counted` are the entries of `counted_session`: the session of the export, or the same
    /// session with what was pruned from it. An entry is found in the export by the number of its
    /// line.
    pub fn add_up(
        contents: &Contents,
        counted_session: &Session,
        counted: &[CountedEntry],
    ) -> Work {
        let entries = &contents.session.entries;
        let mut work = Work {
            totals: Totals::default(),
            by_entry: vec![EntryWork::default(); entries.len()],
        };
        for counted_entry in counted {
            let Some(line) = counted_entry.line else {
                continue;
            };
            // The entries are in the order of their lines.
            let Ok(index) = entries.binary_search_by_key(&line, |entry| entry.line) else {
                continue;
            };
            if contents.entry_number(EntryIx::new(index)).is_none() {
                continue;
            }
            work.totals
                .add_with_calls(counted_session, counted_entry, 0);
            work.by_entry[index] = EntryWork {
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

/// Returns the files that exported entries wrote or edited, as pairs of the number of the entry and
/// the number of the file. A file has the same number in every pair.
pub fn changed_files(contents: &Contents) -> Vec<[u32; 2]> {
    let session = contents.session;
    let mut file_numbers = foldhash::HashMap::default();
    let mut pairs = Vec::new();
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
        pairs.push([entry_number, file_number]);
    }
    pairs
}
