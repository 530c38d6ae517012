//! Events: what the user saw. Most repeat an item, and are kept as custom entries.

use super::content::{ContentBlock, fingerprint};
use super::line::CodexLine;
use super::{CodexReader, Conversion};
use crate::parts::non_empty_text;
use pisess_json::Raw;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::io;

impl CodexReader<'_> {
    /// Adds an event, which is what Codex showed to the user, by its type. Most events repeat an
    /// item; such an event is not converted, so that the session does not have it twice.
    pub(super) fn add_event(&mut self, line: &CodexLine) -> io::Result<Conversion> {
        let event = line.payload;
        let Some(event_type) = non_empty_text(event, "type") else {
            return Ok(Conversion::Unconverted);
        };
        match &*event_type.to_string_lossy() {
            "user_message" => {
                let Some(text) = self.record_new_text(line, "message", "user")? else {
                    return Ok(Conversion::Unconverted);
                };
                self.add_user_message(line, &encode_to_vec(&text), &["message"])?;
            }
            "agent_message" => {
                let Some(text) = self.record_new_text(line, "message", "assistant")? else {
                    return Ok(Conversion::Unconverted);
                };
                let unconverted = line.unconverted_members(&["message"]);
                self.hold_content(line, &[ContentBlock::Text(text)], unconverted)?;
            }
            "agent_reasoning" => {
                let Some(text) = self.record_new_text(line, "text", "assistant")? else {
                    return Ok(Conversion::Unconverted);
                };
                let unconverted = line.unconverted_members(&["text"]);
                self.hold_thinking(line, &[text], unconverted)?;
            }
            "token_count" => return self.add_token_count(line),
            "thread_name_updated" => return self.add_session_name(line),
            "thread_rolled_back" => {
                let turn_count = event
                    .get_raw("num_turns")
                    .and_then(Raw::as_index)
                    .unwrap_or(0);
                self.roll_back(turn_count)?;
                // The line itself is kept as the first entry of the new branch.
                return Ok(Conversion::Unconverted);
            }
            event_type => return self.add_tool_event(event_type, line),
        }
        Ok(Conversion::Converted)
    }

    /// Returns the text of an event that becomes a message, and records that it does: an item that
    /// only a later import reads may repeat it. `None` if an item of this source repeats the event,
    /// or if the event has no text.
    ///
    /// `key` is the key of the text. `speaker` is passed to [`fingerprint`].
    fn record_new_text<'a>(
        &mut self,
        line: &CodexLine<'a>,
        key: &str,
        speaker: &str,
    ) -> io::Result<Option<Text<'a>>> {
        let Some(text) = non_empty_text(line.payload, key) else {
            return Ok(None);
        };
        let fingerprint = fingerprint(speaker, &text);
        if self.is_repeated_by_item(line, fingerprint)? {
            return Ok(None);
        }
        self.event_fingerprints.insert(fingerprint);
        Ok(Some(text))
    }

    /// Whether an item repeats an event with this fingerprint, so that the event does not become a
    /// message.
    ///
    /// If an earlier import added the event, only items before the end of that import count: an
    /// import repeats what earlier imports decided.
    pub(super) fn is_repeated_by_item(
        &mut self,
        line: &CodexLine,
        fingerprint: u64,
    ) -> io::Result<bool> {
        let Some(first_item_offset) = self.items.find(fingerprint)? else {
            return Ok(false);
        };
        for &import_end in &self.earlier.ends {
            if line.offset < import_end {
                return Ok(first_item_offset < import_end);
            }
        }
        // This import adds the line, and reads the whole source.
        Ok(true)
    }

    /// Adds the name of the session. A blank name is not converted, nor is the name of the session
    /// from which this one was forked: its lines come first.
    fn add_session_name(&mut self, line: &CodexLine) -> io::Result<Conversion> {
        let Some(name) = non_empty_text(line.payload, "thread_name") else {
            return Ok(Conversion::Unconverted);
        };
        if name.is_blank() || line.offset < self.own_start {
            return Ok(Conversion::Unconverted);
        }
        let members = Object::new().text("name", &name).json(
            "codex",
            &line.unconverted_members(&["thread_name"]).finish(),
        );
        self.writer.name = Some(name.into_owned());
        self.add_entry(line.offset, "session_info", members)?;
        Ok(Conversion::Converted)
    }

    /// Goes back to before the last `turn_count` turns, or to before the first turn if there are
    /// fewer.
    fn roll_back(&mut self, turn_count: usize) -> io::Result<()> {
        self.release_reply()?;
        for _ in 0..turn_count {
            let Some(turn) = self.turns_on_path.pop() else {
                break;
            };
            self.leaf = turn.leaf_before;
            self.history.last_user_text = turn.last_user_text;
        }
        Ok(())
    }
}
