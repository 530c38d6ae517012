//! Events: what the user saw. Most repeat an item, and are kept as custom entries.

use super::content::{ContentBlock, text_fingerprint};
use super::line::CodexLine;
use super::{CodexReader, Conversion};
use crate::parts::{non_empty_string, non_empty_text};
use pisess_json::Raw;
use pisess_json::outline::Outlined;
use pisess_json::string::{decode, encode_to_vec};
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
            "user_message" => self.add_user_event(line),
            "agent_message" => self.add_reply_event(line),
            "agent_reasoning" => self.add_reasoning_event(line),
            "token_count" => self.add_token_count(line),
            "thread_name_updated" => self.add_session_name(line),
            "thread_rolled_back" => {
                self.roll_back(event)?;
                // The line itself is kept as the first entry of the new branch.
                Ok(Conversion::Unconverted)
            }
            event_type => self.add_tool_event(event_type, line),
        }
    }

    /// Adds a message of the user, unless an item has it.
    fn add_user_event(&mut self, line: &CodexLine) -> io::Result<Conversion> {
        let Some(text) = self.record_new_text(line, "message", "user")? else {
            return Ok(Conversion::Unconverted);
        };
        self.add_user_message(line, &encode_to_vec(&text), &["message"])?;
        Ok(Conversion::Converted)
    }

    /// Adds a text of the model to the held reply, unless an item has it.
    fn add_reply_event(&mut self, line: &CodexLine) -> io::Result<Conversion> {
        let Some(text) = self.record_new_text(line, "message", "assistant")? else {
            return Ok(Conversion::Unconverted);
        };
        let unconverted = line.unconverted_members(&["message"]);
        self.hold_content(line, &[ContentBlock::Text(text)], unconverted)?;
        Ok(Conversion::Converted)
    }

    /// Adds thinking of the model to the held reply, unless an item has it.
    fn add_reasoning_event(&mut self, line: &CodexLine) -> io::Result<Conversion> {
        let Some(text) = self.record_new_text(line, "text", "assistant")? else {
            return Ok(Conversion::Unconverted);
        };
        let unconverted = line.unconverted_members(&["text"]);
        self.hold_thinking(line, &[text], unconverted)?;
        Ok(Conversion::Converted)
    }

    /// Returns the text of an event, which becomes a message. `None` if the event has no text, or
    /// if an item of this source repeats it, so that the item becomes the message.
    ///
    /// Records the text: an item that only a later import reads may repeat it. `key` is the key of
    /// the text. `speaker` is `user` or `assistant`.
    fn record_new_text<'a>(
        &mut self,
        line: &CodexLine<'a>,
        key: &str,
        speaker: &str,
    ) -> io::Result<Option<Text<'a>>> {
        let Some(stored_text) = non_empty_string(line.payload, key) else {
            return Ok(None);
        };
        let fingerprint = text_fingerprint(speaker, stored_text);
        if self.is_repeated_by_item(line, fingerprint)? {
            return Ok(None);
        }
        self.event_fingerprints.insert(fingerprint);
        Ok(Some(decode(stored_text)))
    }

    /// Whether an item repeats an event with this fingerprint, so that the event does not become a
    /// message.
    ///
    /// An import decides as earlier imports did, so that it repeats their entries. So if an earlier
    /// import added the event, only items that this import had read count.
    pub(super) fn is_repeated_by_item(
        &mut self,
        line: &CodexLine,
        fingerprint: u64,
    ) -> io::Result<bool> {
        let Some(first_item_offset) = self.items.find(fingerprint)? else {
            return Ok(false);
        };
        // The ends are in order, so the first one after the line is that of the import which added
        // the line.
        for &import_end in &self.earlier.ends {
            if line.offset < import_end {
                return Ok(first_item_offset < import_end);
            }
        }
        // This import adds the line, and reads the whole source.
        Ok(true)
    }

    /// Adds the name of the session.
    fn add_session_name(&mut self, line: &CodexLine) -> io::Result<Conversion> {
        let Some(name) = non_empty_text(line.payload, "thread_name") else {
            return Ok(Conversion::Unconverted);
        };
        // If the session was forked, the lines of the other session come first, with its name.
        let is_name_of_other_session = line.offset < self.own_start;
        if name.is_blank() || is_name_of_other_session {
            return Ok(Conversion::Unconverted);
        }
        let unconverted = line.unconverted_members(&["thread_name"]);
        let members = Object::new()
            .text("name", &name)
            .json("codex", &unconverted.finish());
        self.writer.name = Some(name.into_owned());
        self.add_entry(line.offset, "session_info", members)?;
        Ok(Conversion::Converted)
    }

    /// Goes back to before the last turns, whose number is in the event: `{"num_turns":2}`. If
    /// there are fewer turns, goes back to before the first one.
    fn roll_back(&mut self, event: Outlined) -> io::Result<()> {
        self.release_reply()?;
        let turn_count = event.get_raw("num_turns").and_then(Raw::as_index);
        for _ in 0..turn_count.unwrap_or(0) {
            let Some(turn) = self.turns_on_path.pop() else {
                break;
            };
            self.leaf = turn.leaf_before;
            self.history.last_user_text = turn.last_user_text;
        }
        Ok(())
    }
}
