//! Compactions: the line that announces one, and the line with its summary.

use super::kept::draft_kept_line;
use super::line::ClaudeLine;
use super::{ClaudeReader, LineNodes};
use crate::parts::{non_empty_text, unconverted_members};
use crate::writer::NodeIx;
use pisess_core::session::content::finite_or_zero;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::io;

/// The data on a compaction in the line that announces it. The line with the summary follows later.
#[derive(Clone, Copy, Default)]
pub(super) struct AnnouncedCompaction {
    /// The tokens in the context before it.
    tokens_before: f64,
    /// The first entry that it keeps.
    first_kept: Option<NodeIx>,
}

impl ClaudeReader<'_> {
    /// Keeps the line that announces a compaction, and remembers its data for the summary, which
    /// follows in a line of its own.
    ///
    /// If the compaction preserves messages, the line is appended to the last preserved message,
    /// and what is attached to that message later follows this line. The summarized messages after
    /// the preserved ones stay on a branch of their own.
    pub(super) fn keep_boundary(&mut self, line: &ClaudeLine) -> io::Result<LineNodes> {
        let metadata = line.value.get_raw("compactMetadata").unwrap_or(Raw::NULL);
        let preserved = self.find_preserved_entries(metadata);
        self.announced_compaction = AnnouncedCompaction {
            tokens_before: finite_or_zero(metadata.get("preTokens")),
            first_kept: preserved.as_ref().map(|preserved| preserved.first),
        };

        let draft = draft_kept_line(line);
        let node = match preserved {
            Some(preserved) => self.writer.append(Some(preserved.last), draft)?,
            None => {
                let entry_before = self.find_entry_before_boundary(line);
                self.writer.add_below_end(entry_before, draft)?
            }
        };
        Ok(node.into())
    }

    /// Returns the entry that the line of a compaction follows. The line begins a new context, so
    /// its parent is `null`. Its logical parent is the last line before it. If neither is known,
    /// the line follows the main conversation.
    fn find_entry_before_boundary(&self, line: &ClaudeLine) -> Option<NodeIx> {
        let logical_parent = non_empty_text(line.value, "logicalParentUuid");
        let parent = logical_parent.or_else(|| line.parent.clone());
        let known_parent = parent.and_then(|parent| self.find_line(&parent));
        match known_parent {
            Some(parent) => Some(parent.last),
            None => self.main_leaf,
        }
    }

    /// Returns the first and the last entry of the messages that a compaction preserves. `None` if
    /// it preserves none, or if the line of one of the two was not read.
    fn find_preserved_entries(&self, metadata: Raw) -> Option<PreservedEntries> {
        let preserved = find_preserved_messages(metadata)?;
        Some(PreservedEntries {
            first: self.find_line(&preserved.first)?.first,
            last: self.find_line(&preserved.last)?.last,
        })
    }

    /// Adds the summary of a compaction as the entry of the compaction. What the compaction keeps
    /// was announced by the line before ([`keep_boundary`](Self::keep_boundary)).
    pub(super) fn add_compaction(
        &mut self,
        line: &ClaudeLine,
        summary: &Text,
    ) -> io::Result<NodeIx> {
        let known_parent = line.parent.as_ref().and_then(|id| self.find_line(id));
        let entry_before = match known_parent {
            Some(parent) => Some(parent.last),
            // The main conversation is not what a side chain summarizes.
            None if line.is_sidechain => None,
            None => self.main_leaf,
        };
        let parent = entry_before.map(|entry| self.writer.resolve_end(entry));

        // Taken, because the announcement is for this summary only.
        let announced = std::mem::take(&mut self.announced_compaction);
        let first_kept = announced
            .first_kept
            .filter(|kept| self.is_at_or_above(*kept, parent));
        let first_kept_id = match first_kept {
            Some(kept) => self.writer.entry_id(kept),
            // A compaction that keeps nothing names itself as the first kept entry.
            None => self.writer.next_id(line.offset),
        };

        let unconverted = unconverted_members(line.value, &["type", "message"]);
        let members = Object::new()
            .text("summary", summary)
            .str("firstKeptEntryId", &first_kept_id)
            .number("tokensBefore", announced.tokens_before)
            .json("claude", &unconverted.finish());
        let draft = line.new_draft("compaction", members);
        self.writer.append(parent, draft)
    }

    /// Whether `entry` is the parent of a compaction, or an ancestor of that. pi looks for the
    /// first kept entry only there.
    fn is_at_or_above(&self, entry: NodeIx, parent: Option<NodeIx>) -> bool {
        match parent {
            Some(parent) => self.writer.is_ancestor_or_self(entry, parent),
            None => false,
        }
    }
}

/// The entries of the messages that a compaction preserves.
struct PreservedEntries {
    first: NodeIx,
    last: NodeIx,
}

/// The messages that a compaction preserves, by the `uuid` of their lines.
struct PreservedMessages<'a> {
    first: Text<'a>,
    last: Text<'a>,
}

/// Returns the first and the last message that a compaction preserves. `metadata` is the member
/// `compactMetadata` of the line that announces it:
///
/// ```text
/// {"preservedMessages":{"uuids":["…","…","…"]}}                all of them
/// {"preservedSegment":{"headUuid":"…","tailUuid":"…"}}         the first and the last one
/// ```
///
/// `None` if it has neither.
fn find_preserved_messages(metadata: Raw<'_>) -> Option<PreservedMessages<'_>> {
    let listed = metadata
        .get("preservedMessages")
        .and_then(|messages| messages.get("uuids"))
        .and_then(first_and_last);
    if listed.is_some() {
        return listed;
    }
    let segment = metadata.get("preservedSegment")?;
    Some(PreservedMessages {
        first: non_empty_text(segment, "headUuid")?,
        last: non_empty_text(segment, "tailUuid")?,
    })
}

fn first_and_last(uuids: Raw<'_>) -> Option<PreservedMessages<'_>> {
    Some(PreservedMessages {
        first: uuids.items().next()?.text()?,
        last: uuids.items().last()?.text()?,
    })
}
