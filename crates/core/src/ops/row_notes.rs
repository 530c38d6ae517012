//! What rows of a tree show besides their texts.

use crate::session::Session;
use crate::session::collected::EntryText;
use crate::session::content::join_text;
use crate::session::entry::{EntryIx, Flags, Kind, Role};
use crate::session::read::entry_reader::{EntryReader, resolve_member};
use crate::session::tree::Ancestry;
use crate::summary::failure_reason;
use foldhash::{HashMap, HashSet};
use std::cell::LazyCell;
use std::io;

/// Returns the first entry of the conversation that each compaction among `entries` keeps. A
/// compaction that keeps nothing is left out, and so is one of oh-my-pi that names the last entry
/// that it replaces, not the first one that it keeps.
pub fn find_first_kept(
    reader: &EntryReader,
    entries: &[EntryIx],
) -> io::Result<HashMap<EntryIx, EntryIx>> {
    let session = reader.session();
    let mut compactions = HashSet::default();
    for &ix in entries {
        if session.entry(ix).kind == Kind::Compaction {
            compactions.insert(ix);
        }
    }
    // Computed at the first compaction, which most sessions do not have.
    let ancestry = LazyCell::new(|| Ancestry::new(session));

    let mut first_kept = HashMap::default();
    for first_kept_id in &session.collected.first_kept_ids {
        let compaction = first_kept_id.entry;
        if !compactions.contains(&compaction) {
            continue;
        }
        // Without an entry, the id is not in the session: `check` reports that.
        let Some(named) = find_named_entry(reader, first_kept_id)? else {
            continue;
        };
        // A compaction that keeps nothing names itself. An entry on another branch is a defect.
        let keeps_entries = named != compaction && ancestry.is_ancestor_or_self(named, compaction);
        if !keeps_entries {
            continue;
        }
        if let Some(kept) = first_kept_below(session, named, compaction) {
            first_kept.insert(compaction, kept);
        }
    }
    Ok(first_kept)
}

/// Returns the entry that a compaction names as the first that it keeps; `None` if it is not in the
/// session. `first_kept_id` has the compaction, and the id as it was collected from its line.
fn find_named_entry(
    reader: &EntryReader,
    first_kept_id: &EntryText,
) -> io::Result<Option<EntryIx>> {
    let session = reader.session();
    let id = session.text(first_kept_id.text);
    if !id.is_empty() {
        return Ok(session.find_entry(&id));
    }
    // In version 1, the entry is named by its index. The reader converts the line, so that it has
    // an id.
    resolve_member(reader, first_kept_id.entry, "firstKeptEntryId")
}

/// Returns the first entry of the conversation at or after `named` on the path to a compaction,
/// which `named` is on. A label may be named, which no model sees.
fn first_kept_below(session: &Session, named: EntryIx, compaction: EntryIx) -> Option<EntryIx> {
    if session.is_conversation(named) {
        return Some(named);
    }
    let mut kept = None;
    // From the compaction upwards, because it keeps few entries.
    for above in session.ancestors(session.entry(compaction).parent) {
        if above == named {
            break;
        }
        if session.is_conversation(above) {
            kept = Some(above);
        }
    }
    kept
}

/// Returns why each failed tool call or command among `entries` failed, on one line. Entries whose
/// output does not say why are left out. The lines of the entries are read, so only entries that
/// are drawn should be given.
pub fn read_failure_reasons(
    reader: &EntryReader,
    entries: &[EntryIx],
) -> io::Result<HashMap<EntryIx, String>> {
    let mut reasons = HashMap::default();
    for &ix in entries {
        let entry = reader.session().entry(ix);
        let output_member = match entry.role {
            Role::ToolResult => "content",
            Role::BashExecution | Role::PythonExecution => "output",
            _ => continue,
        };
        if !entry.flags.contains(Flags::FAILED) {
            continue;
        }
        let reason = reader.with_message(ix, |message| {
            let output = join_text(message.get(output_member), "\n");
            failure_reason(&output.to_string_lossy())
        })?;
        if !reason.is_empty() {
            reasons.insert(ix, reason);
        }
    }
    Ok(reasons)
}
