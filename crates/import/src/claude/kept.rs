//! Lines without a counterpart, which are kept as custom entries.

use super::line::ClaudeLine;
use super::{AttachPoint, ClaudeReader, LineNodes};
use crate::Origin;
use crate::parts::{kept_line_members, non_empty_text};
use crate::writer::{EntryDraft, NodeIx};
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::io;

/// What the model sees of a result that a micro-compaction cleared.
pub const CLEARED_PLACEHOLDER: &str = "[Old tool result content cleared]";

impl ClaudeReader<'_> {
    /// Keeps a line without a counterpart as a custom entry at `attach_point`. If the line clears
    /// tool results, an entry follows for each result, which edits what the model sees of it.
    ///
    /// A line that announces a compaction is kept by [`ClaudeReader::keep_boundary`] instead.
    pub(super) fn keep_line(
        &mut self,
        line: &ClaudeLine,
        attach_point: AttachPoint,
    ) -> io::Result<LineNodes> {
        if line.announces_compaction() {
            return self.keep_boundary(line);
        }

        let draft = draft_kept_line(line);
        let first = self.writer.append(attach_point.parent, draft)?;
        let mut last = first;
        for cleared in list_cleared_results(line.value.raw()) {
            // A result that was not read cannot be edited.
            let Some(result) = self.find_last_result(&cleared.call_id) else {
                continue;
            };
            let edit = draft_context_edit(line, &self.writer.entry_id(result), &cleared);
            last = self.writer.append(Some(last), edit)?;
        }
        Ok(LineNodes {
            first,
            last,
            response: attach_point.response,
        })
    }

    /// Returns the entry of the last result of a call; `None` if no result of it was read.
    fn find_last_result(&self, call_id: &Text) -> Option<NodeIx> {
        self.calls.get(call_id.as_bytes())?.last_result
    }
}

/// Drafts the entry with which pi replaces a result when it builds the context. The entry of the
/// result itself, which has the id `result_id`, stays as it is.
fn draft_context_edit(line: &ClaudeLine, result_id: &str, cleared: &ClearedResult) -> EntryDraft {
    let replacement = Object::new().text("content", &cleared.replacement).finish();
    let edit = Object::new()
        .str("targetId", result_id)
        .json("replacement", &replacement);
    line.new_draft("context_edit", edit)
}

/// Drafts the custom entry that keeps a line. Its name is `claude.TYPE` or `claude.TYPE.SUBTYPE`,
/// as in `claude.system.turn_duration`.
pub(super) fn draft_kept_line(line: &ClaudeLine) -> EntryDraft {
    let mut name = match line.kind.and_then(Raw::text) {
        Some(line_type) => line_type.to_string(),
        None => "line".to_owned(),
    };
    if let Some(subtype) = non_empty_text(line.value, "subtype") {
        name.push_str(&format!(".{subtype}"));
    }
    let members = kept_line_members(Origin::Claude.name(), &name, line.value.bytes());
    line.new_draft("custom", members)
}

/// A result that the model no longer sees as it was.
struct ClearedResult<'a> {
    /// The id of its call.
    call_id: Text<'a>,
    /// What the model sees instead.
    replacement: Text<'a>,
}

/// Returns the tool results that a line clears, so that the model no longer sees them as they were:
///
/// ```text
/// {"microcompactMetadata":{"compactedToolIds":["toolu_1"]}}        a fixed text replaces the result
/// {"replacements":[{"toolUseId":"toolu_1","replacement":"…"}]}     this text replaces the result
/// ```
fn list_cleared_results(line: Raw<'_>) -> Vec<ClearedResult<'_>> {
    let mut cleared = Vec::new();
    let metadata = line.get("microcompactMetadata").unwrap_or(Raw::NULL);
    let call_ids = metadata.get("compactedToolIds").unwrap_or(Raw::NULL);
    for call_id in call_ids.items().filter_map(Raw::text) {
        cleared.push(ClearedResult {
            call_id,
            replacement: Text::from(CLEARED_PLACEHOLDER),
        });
    }

    for item in line.get("replacements").unwrap_or(Raw::NULL).items() {
        if let Some(call_id) = non_empty_text(item, "toolUseId")
            && let Some(replacement) = non_empty_text(item, "replacement")
        {
            cleared.push(ClearedResult {
                call_id,
                replacement,
            });
        }
    }
    cleared
}
