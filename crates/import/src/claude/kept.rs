//! Lines without a counterpart, which are kept as custom entries.

use super::line::ClaudeLine;
use super::{AttachPoint, ClaudeReader, LineNodes};
use crate::Origin;
use crate::parts::{kept_line_members, non_empty_text};
use crate::writer::EntryDraft;
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
        let subtype = line.value.get("subtype");
        if subtype.is_some_and(|subtype| subtype.is("compact_boundary")) {
            return self.keep_boundary(line);
        }

        let first = self
            .writer
            .append(attach_point.parent, draft_kept_line(line))?;

        let mut last = first;
        for cleared in list_cleared_results(line.value.raw()) {
            // A result that was not read cannot be edited.
            let Some(call) = self.calls.get(cleared.call_id.as_bytes()) else {
                continue;
            };
            let Some(result) = call.last_result else {
                continue;
            };
            // The entry of the result itself stays as it is. pi applies the edit when it builds
            // the context.
            let replacement = Object::new().text("content", &cleared.replacement).finish();
            let edit = Object::new()
                .str("targetId", &self.writer.entry_id(result))
                .json("replacement", &replacement);
            let draft = line.new_draft("context_edit", edit);
            last = self.writer.append(Some(last), draft)?;
        }

        Ok(LineNodes {
            first,
            last,
            response: attach_point.response,
        })
    }
}

/// Drafts the custom entry that keeps a line. Its name is `claude.TYPE` or `claude.TYPE.SUBTYPE`.
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
