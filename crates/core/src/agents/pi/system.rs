//! The system prompt in effect (pi's `getCurrentSystemMessage`). All system messages of a context
//! are combined into one, which a compaction stores as its checkpoint.

use super::context::{Projection, message_role};
use crate::agents::ordered::OrderedMap;
use crate::session::content;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::EntryReader;
use pisess_json::text::Text;
use pisess_json::{Raw, js, write};
use std::io;

/// Returns the system message that a compaction at the end of `path` stores, as JSON: the system
/// prompt in effect, because the system messages before it no longer count. Its timestamp is 0.
/// `None` if there is no system prompt.
pub fn build_checkpoint(path: &[EntryIx], reader: &EntryReader) -> io::Result<Option<Vec<u8>>> {
    let session = reader.session();
    // Only system messages and the checkpoints of compactions set the prompt.
    let may_have_prompt = path.iter().any(|&ix| {
        session.entry(ix).kind == Kind::Compaction || session.is_message(ix, Role::System)
    });
    if !may_have_prompt {
        return Ok(None);
    }
    let system = combine_system_messages(&Projection::from_path(path, reader)?)?;
    Ok(system.map(|system| system.to_message(b"0")))
}

/// Combines the system messages of a context into one prompt. `None` if there is none: as in pi,
/// this is so if no message has a timestamp and no tool remains.
pub fn combine_system_messages(projection: &Projection) -> io::Result<Option<SystemPrompt>> {
    let session = projection.reader.session();
    let mut system = SystemPrompt::default();
    for message in &projection.messages {
        if message_role(session, message) == Role::System {
            message.with_json(projection.reader, |json| system.apply_message(json))?;
        }
    }
    if system.timestamp.is_none() && system.tools.is_empty() {
        return Ok(None);
    }
    Ok(Some(system))
}

/// A system prompt with its sections and tools.
#[derive(Debug, Default)]
pub struct SystemPrompt {
    content: Text<'static>,
    /// The sections as JSON, by name.
    sections: OrderedMap<Vec<u8>, Vec<u8>>,
    /// The definitions of the tools as JSON, by name.
    tools: OrderedMap<Vec<u8>, Vec<u8>>,
    /// The first timestamp that is not `null`. If there is none yet, the timestamp of the last
    /// message.
    timestamp: Option<Vec<u8>>,
}

impl SystemPrompt {
    /// Returns the prompt as one system message, with this `timestamp`, which is JSON. Without
    /// sections or tools, the message lacks the member for them.
    pub fn to_message(&self, timestamp: &[u8]) -> Vec<u8> {
        let mut message = write::Object::new()
            .str("role", "system")
            .text("content", &self.content);
        if !self.sections.is_empty() {
            message = message.json("sections", &self.sections_object());
        }
        if !self.tools.is_empty() {
            message = message.json("toolsAdded", &write::array(self.tool_definitions()));
        }
        message.json("timestamp", timestamp).finish()
    }

    /// Applies a later system message to the prompt: its text is appended as a paragraph, a section
    /// that is `null` is removed, and tools are removed before others are added, so that a message
    /// can replace a tool. The timestamp of the prompt is the first that is not `null`.
    pub fn apply_message(&mut self, message: Raw) {
        let names = [
            "content",
            "sections",
            "toolsAdded",
            "toolsRemoved",
            "timestamp",
        ];
        let [content, sections, added, removed, timestamp] = content::find_members(message, names);
        // The stored time is JSON.
        let has_time = self
            .timestamp
            .as_deref()
            .is_some_and(|time| time != b"null");
        if !has_time {
            self.timestamp = timestamp.map(|time| time.bytes().to_vec());
        }
        append_paragraph(&mut self.content, &content::content_text(content, "\n"));

        for (name, value) in sections.map(js::object_entries).unwrap_or_default() {
            if value.is_null() {
                self.sections.remove(name.as_bytes());
            } else {
                self.sections.set(name.into_bytes(), value.bytes().to_vec());
            }
        }

        for tool in removed.unwrap_or(Raw::NULL).items() {
            let name = js::interpolate(tool.get("name"));
            self.tools.remove(name.as_bytes());
        }
        for tool in added.unwrap_or(Raw::NULL).items() {
            let name = js::interpolate(tool.get("name"));
            self.tools.set(name.into_bytes(), tool.bytes().to_vec());
        }
    }

    /// Returns the whole prompt: the text, then the sections that are strings.
    pub fn prompt_text(&self) -> Text<'static> {
        let mut prompt = self.content.clone();
        let sections = self.sections_object();
        for (_, section) in js::object_entries(Raw::from_checked(&sections)) {
            if let Some(text) = section.text() {
                append_paragraph(&mut prompt, &text);
            }
        }
        prompt
    }

    /// Iterates over the definitions of the tools in effect, as JSON.
    pub fn tool_definitions(&self) -> impl Iterator<Item = &[u8]> {
        self.tools.iter().map(|(_, tool)| &tool[..])
    }

    /// Returns the sections as a JSON object. Its members are in the order in which JavaScript
    /// writes them: names that are array indexes come first.
    fn sections_object(&self) -> Vec<u8> {
        let mut object = write::Object::new();
        for (name, value) in self.sections.iter() {
            object = object.member(&Text::from_wtf8(&name[..]), value);
        }
        js::stringify(Raw::from_checked(&object.finish())).into_bytes()
    }
}

/// Appends a text as a paragraph, after a blank line. An empty text is left out.
fn append_paragraph(prompt: &mut Text, text: &Text) {
    if !text.is_empty() {
        let gap = if prompt.is_empty() { "" } else { "\n\n" };
        prompt.push_all(&[&gap, text]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::pi::testing::*;

    fn at(entries: &[String]) -> Option<String> {
        let made = chain(entries);
        let json = build_checkpoint(&made.path(), &made.reader()).unwrap();
        json.map(|json| String::from_utf8(json).unwrap())
    }

    #[test]
    fn system_messages_are_replayed_into_one() {
        let entries = [
            says(
                "system",
                r#""content":"a","sections":{"x":"1","y":"2","z":"3"},"toolsAdded":[{"name":"t"},{"name":"u","n":1}],"timestamp":1"#,
            ),
            user("hi"),
            says(
                "system",
                r#""content":[{"type":"text","text":"b"}],"sections":{"x":null,"y":"4","0":"5"},"toolsRemoved":[{"name":"t"}],"toolsAdded":[{"name":"u","n":2},{"name":"t"}]"#,
            ),
        ];
        assert_eq!(
            at(&entries).unwrap(),
            r#"{"role":"system","content":"a\n\nb","sections":{"0":"5","y":"4","z":"3"},"toolsAdded":[{"name":"u","n":2},{"name":"t"}],"timestamp":0}"#
        );
    }

    #[test]
    fn without_a_time_or_a_tool_there_is_none() {
        assert_eq!(at(&[user("a")]), None);
        assert_eq!(at(&[says("system", r#""content":"a""#)]), None);
        assert!(at(&[says("system", r#""content":"","timestamp":null"#)]).is_some());
        assert!(at(&[says("system", r#""toolsAdded":[{}]"#)]).is_some());
    }
}
