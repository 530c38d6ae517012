//! Native snapshots: compactions that Anthropic writes. The agent works on while it waits for one.
//! So the entries between the last one that the snapshot covers and the compaction are kept.
//!
//! ```text
//! covered ── through │ kept ── compaction ── after it
//! ```
//!
//! The reference is the source of oh-my-pi 18.3.4.

use super::message::non_empty_text;
use crate::session::Session;
use crate::session::content;
use crate::session::entry::{EntryIx, Kind};
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;

/// Returns the summary that Anthropic wrote for a compaction, in the form in which requests give it
/// back. `preserved` is the `preserveData` of the compaction. `None` if its provider or its content
/// is missing or empty.
pub fn anthropic_payload(preserved: Raw) -> Option<Vec<u8>> {
    let native = preserved
        .get("anthropicCompaction")
        .filter(|native| native.is_object())?;
    let mut object = Object::new()
        .str("type", "anthropicCompaction")
        .text("provider", &non_empty_text(native, "provider")?)
        .text("content", &non_empty_text(native, "content")?);
    for key in ["encryptedContent", "filesText"] {
        if let Some(text) = non_empty_text(native, key) {
            object = object.text(key, &text);
        }
    }
    Some(object.finish())
}

/// Whether a compaction is a native snapshot: its `firstKeptEntryId` is empty, and it has a summary
/// that Anthropic replays.
pub fn is_snapshot(line: Raw) -> bool {
    content::member_is(line, "firstKeptEntryId", "")
        && line
            .get("preserveData")
            .is_some_and(|preserved| anthropic_payload(preserved).is_some())
}

/// Returns the id of the last entry that a native snapshot covers. `None` if the compaction names
/// no such entry, or if its `firstKeptEntryId` is not empty.
pub fn last_covered_id(line: Raw) -> Option<Text> {
    if !content::member_is(line, "firstKeptEntryId", "") {
        return None;
    }
    non_empty_text(line, "providerReplayThroughEntryId")
}

/// Returns the first entry that a native snapshot keeps, labels not counted. A native snapshot is a
/// compaction that Anthropic wrote while the agent worked on: it keeps what came after the last
/// entry that it covers. If that is nothing, the result is the snapshot itself.
///
/// `None` if the compaction is not a native snapshot, or names no entry of its path.
pub fn first_kept_entry(session: &Session, compaction: EntryIx, line: Raw) -> Option<EntryIx> {
    if !is_snapshot(line) {
        return None;
    }
    let last_covered = session.find_entry(&last_covered_id(line)?)?;
    // The path ends with the snapshot, which is found below if no entry before it is.
    let path = session.path(Some(compaction));
    let covered_index = path.iter().position(|&ix| ix == last_covered)?;
    path[covered_index + 1..]
        .iter()
        .copied()
        .find(|&ix| session.entry(ix).kind != Kind::Label)
}
