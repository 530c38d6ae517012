//! Compactions, and the messages that are sent in place of the conversation after one.

use super::content::{content_array, join_texts, read_content_blocks};
use super::history::begins_turn;
use super::line::CodexLine;
use super::{CodexReader, Conversion};
use crate::Origin;
use crate::parts::hidden_message_members;
use memchr::{memmem, memrchr};
use pisess_core::session::content::find_members;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::io;

/// The summary of a compaction of which only an encrypted form exists.
pub(super) const ENCRYPTED_SUMMARY: &str = "Context compacted by Codex.";

/// Whether one of these lines may be a compaction for which the history is rebuilt: one without
/// replacements, from an older version. The rebuilt history joins the texts of a message, so that a
/// word may be in two texts of the source.
///
/// Codex writes keys and types without escapes, so their bytes are searched for.
pub(super) fn may_rebuild_history(lines: &[u8]) -> bool {
    for position in memmem::find_iter(lines, b"\"compacted\"") {
        let start = memrchr(b'\n', &lines[..position]).map_or(0, |newline| newline + 1);
        let line = lines[start..].split(|byte| *byte == b'\n').next();
        let has_replacements =
            line.is_some_and(|line| memmem::find(line, b"\"replacement_history\":[").is_some());
        if !has_replacements {
            return true;
        }
    }
    false
}

impl CodexReader<'_> {
    /// Adds a compaction, and after it the messages that replace the conversation. Newer files have
    /// these messages in the line:
    ///
    /// ```text
    /// {"type":"compacted","payload":{"message":"SUMMARY","replacement_history":[…]}}
    /// ```
    ///
    /// For older files, the [`history`](super::history) rebuilds them as Codex does. A line with
    /// neither a summary nor messages is not converted.
    pub(super) fn add_compaction(&mut self, line: &CodexLine) -> io::Result<Conversion> {
        self.release_reply()?;
        let message = line.payload.get_raw("message").and_then(Raw::text);
        let replacements = line
            .payload
            .get_raw("replacement_history")
            .filter(|history| history.is_array());
        if message.is_none() && replacements.is_none() {
            return Ok(Conversion::Unconverted);
        }

        // If Codex has only an encrypted summary, its text is blank or missing.
        let summary = message
            .map(|message| message.trim().into_owned())
            .filter(|summary| !summary.is_empty());
        self.add_compaction_entry(line, summary.as_ref())?;
        if let Some(replacements) = replacements {
            self.add_replacements(line, replacements, summary.as_ref())?;
        } else {
            for content in self.history.compact() {
                self.add_resent_content(line, &content)?;
            }
        }
        Ok(Conversion::Converted)
    }

    /// Adds the entry of a compaction. Without a summary, it gets a fixed text, because pi requires
    /// one.
    fn add_compaction_entry(&mut self, line: &CodexLine, summary: Option<&Text>) -> io::Result<()> {
        let summary = match summary {
            Some(summary) => summary.as_borrowed(),
            None => Text::from(ENCRYPTED_SUMMARY),
        };
        // A compaction that keeps nothing names itself as the first kept entry.
        let first_kept_id = self.writer.next_id(line.offset);
        let unconverted = line.unconverted_members(&["message"]);
        let members = Object::new()
            .text("summary", &summary)
            .str("firstKeptEntryId", &first_kept_id)
            .number("tokensBefore", self.context_tokens)
            .json("codex", &unconverted.finish());
        // Until the next report, the size of the context is unknown.
        self.context_tokens = 0.0;
        self.add_entry(line.offset, "compaction", members)
    }

    /// Adds the messages that a compaction has in place of the conversation, one below the other:
    /// a reply as a reply, and any other message as content that is sent again.
    ///
    /// The messages that the user wrote become the history from which a later compaction without
    /// replacements is rebuilt.
    fn add_replacements(
        &mut self,
        line: &CodexLine,
        replacements: Raw,
        summary: Option<&Text>,
    ) -> io::Result<()> {
        // The replacements are all that is sent from here on. So the history begins anew, without
        // the texts of the user from before the compaction.
        self.history.last_user_text = None;
        for item in replacements.items() {
            let [role, content] = find_members(item, ["role", "content"]);
            let role = role.unwrap_or(Raw::NULL);
            let content = content.unwrap_or(Raw::NULL);
            let blocks = read_content_blocks(content.into());
            if blocks.is_empty() {
                continue;
            }
            // The entry of the compaction has the summary already.
            let is_summary = summary.is_some_and(|summary| contains_text(content, summary));
            if is_summary {
                continue;
            }

            if role.is("assistant") {
                // Other replies are held until their usage is read. None follows for this one, so
                // it is added at once, before the next replacement.
                self.hold_content(line, &blocks, Object::new())?;
                self.release_reply()?;
                continue;
            }
            // Codex also sends texts of its own in the name of the user. They begin no turn.
            if role.is("user") && begins_turn(content) {
                self.history.add_user_text(content);
            }
            self.add_resent_content(line, &content_array(&blocks))?;
        }
        Ok(())
    }

    /// Adds content that is sent to the model again after a compaction.
    fn add_resent_content(&mut self, line: &CodexLine, content: &[u8]) -> io::Result<()> {
        let members = hidden_message_members(Origin::Codex.name(), "compacted", content);
        self.add_entry(line.offset, "custom_message", members)
    }
}

/// Whether the texts of a content, joined, contain `text`. Unpaired surrogates are compared as
/// replacement characters.
fn contains_text(content: Raw, text: &Text) -> bool {
    let whole = join_texts(content);
    whole.to_string_lossy().contains(&*text.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_history_is_rebuilt_for_a_compaction_without_replacements() {
        let old = r#"{"type":"compacted","payload":{"message":"Done"}}"#;
        let new = r#"{"type":"compacted","payload":{"message":"","replacement_history":[]}}"#;
        let quoted = r#"{"type":"event_msg","payload":{"message":"\"compacted\""}}"#;
        assert!(!may_rebuild_history(b""));
        assert!(!may_rebuild_history(
            format!("{quoted}\n{new}\n").as_bytes()
        ));
        assert!(may_rebuild_history(
            format!("{new}\n{old}\n{new}").as_bytes()
        ));
        assert!(may_rebuild_history(new.replace("[]", "null").as_bytes()));
    }
}
