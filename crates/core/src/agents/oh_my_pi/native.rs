//! Native snapshots: compactions that Anthropic writes. The agent goes on while it waits for one,
//! so the entries between the last that the snapshot covers and the compaction are kept.
//!
//! ```text
//! covered ── through │ kept ── compaction ── after it
//! ```
//!
//! The reference is the source of oh-my-pi 18.3.4.

use crate::session::Session;
use crate::session::content;
use crate::session::entry::{EntryIx, Kind};
use crate::session::reference::Position;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;

/// Returns the summary in a compaction's `preserveData` as Anthropic replays it.
pub fn payload(preserved: Raw) -> Option<Vec<u8>> {
    let native = preserved
        .get("anthropicCompaction")
        .filter(|native| native.is_object())?;
    let text = |key| native.get_text(key).filter(|text| !text.is_empty());
    let object = Object::new()
        .str("type", "anthropicCompaction")
        .text("provider", &text("provider")?)
        .text("content", &text("content")?)
        .with(text("encryptedContent"), |object, content| {
            object.text("encryptedContent", &content)
        })
        .with(text("filesText"), |object, files| {
            object.text("filesText", &files)
        });
    Some(object.finish())
}

/// Whether a compaction is a native snapshot that names no first kept entry.
pub fn is_snapshot(line: Raw) -> bool {
    let is_unnamed = content::is(line, "firstKeptEntryId", "");
    is_unnamed
        && line
            .get("preserveData")
            .is_some_and(|preserved| payload(preserved).is_some())
}

/// Returns the id of the last entry that a compaction covers, if it names that one and no first
/// kept entry.
pub fn through(line: Raw) -> Option<Text> {
    let id = line
        .get_text("providerReplayThroughEntryId")
        .filter(|id| !id.is_empty())?;
    content::is(line, "firstKeptEntryId", "").then_some(id)
}

/// Returns the first entry that a native snapshot keeps, other than labels, or the snapshot itself
/// if it covers everything; `None` if it does not name an entry of its path.
pub fn first_kept(session: &Session, compaction: EntryIx, line: Raw) -> Position {
    let through = session.find(&through(line).filter(|_| is_snapshot(line))?)?;
    let path = session.path(Some(compaction));
    let at = path.iter().position(|&ix| ix == through)?;
    path[at + 1..]
        .iter()
        .copied()
        .find(|&ix| session.entry(ix).kind != Kind::Label)
}
