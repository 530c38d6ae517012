//! What rows of a tree show besides the texts that were stored when the session was loaded. The
//! lines of the entries are read again, so it is done only for entries that are drawn.

use crate::session::Session;
use crate::session::content::join_text;
use crate::session::entry::{EntryIx, Flags, Kind, Role};
use crate::session::read::entry_reader::{EntryReader, resolve_member};
use crate::summary::failure_reason;
use foldhash::HashMap;
use std::io;

/// Returns the first entry of the conversation that each compaction among `entries` keeps. A
/// compaction that keeps nothing is left out, and so is one of oh-my-pi that names the last entry
/// that it replaces, not the first one that it keeps.
pub fn find_first_kept(
    reader: &EntryReader,
    entries: &[EntryIx],
) -> io::Result<HashMap<EntryIx, EntryIx>> {
    let session = reader.session();
    let mut first_kept = HashMap::default();
    for &ix in entries {
        if session.entry(ix).kind != Kind::Compaction {
            continue;
        }
        let Some(named) = resolve_member(reader, ix, "firstKeptEntryId")? else {
            continue;
        };
        if let Some(kept) = first_kept_on_path(session, ix, named) {
            first_kept.insert(ix, kept);
        }
    }
    Ok(first_kept)
}

/// Returns the first entry of the conversation at or after `named` on the path to a compaction;
/// `None` if `named` is not on that path. A label may be named, which no model sees.
fn first_kept_on_path(session: &Session, compaction: EntryIx, named: EntryIx) -> Option<EntryIx> {
    let mut kept = None;
    // From the compaction upwards, because it keeps few entries.
    for above in session.ancestors(session.entry(compaction).parent) {
        if session.is_conversation(above) {
            kept = Some(above);
        }
        if above == named {
            return kept;
        }
    }
    None
}

/// Returns why each failed tool call or command among `entries` failed, on one line. Entries whose
/// output does not say why are left out.
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
