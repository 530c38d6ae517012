//! The parts of an entry that can be pruned: images, results of tools and commands, details of
//! extensions.
//!
//! Each payload is one JSON value of the line, named by its path (`message.content[1]`), and is
//! replaced by a note that the agents accept in its place and a model understands. Values that
//! providers verify or agents compute with are kept: signatures, thinking, summaries with their
//! details, data of `custom` entries.

use super::{Prune, Value, place_of, side};
use crate::format::size;
use crate::session::Session;
use crate::session::entry::{EntryIx, Role, Span};
use crate::session::read::entry_reader::EntryReader;
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_json::{Raw, string};
use pisess_store::ReadAt;
use std::io;

/// A kind of value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// An image block.
    Image,
    /// The text of a tool result, or the output of a command run by the user.
    Result,
    /// Details of an extension or a tool; a model never sees them.
    Details,
    /// The name of an entry that is removed, or its label.
    Link,
}

impl ValueKind {
    /// The kinds of payloads.
    pub const PAYLOADS: [ValueKind; 3] = [ValueKind::Image, ValueKind::Result, ValueKind::Details];

    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            ValueKind::Image => "image",
            ValueKind::Result => "result",
            ValueKind::Details => "details",
            ValueKind::Link => side::LINK,
        }
    }
}

/// How many times longer than its note a payload must be. A shorter one is not worth pruning, and
/// may be a note itself.
const TIMES_THE_NOTE: usize = 3;

impl Prune {
    /// Finds the payloads of a session: those of these kinds that take more than `over` bytes in
    /// their line.
    pub fn payloads_of(
        session: &Session,
        source: &dyn ReadAt,
        over: u64,
        kinds: &[ValueKind],
    ) -> io::Result<Prune> {
        let mut values = Vec::new();
        let reader = EntryReader::new(session, source);
        for entry in session
            .all()
            .filter(|&ix| session.entry(ix).span.len > over)
        {
            let span = session.entry(entry).span;
            let line = reader.stored(span)?;
            values.extend(payloads(entry, &line, span, over, kinds));
        }
        Ok(Prune {
            name: side::PAYLOADS,
            entries: Vec::new(),
            branches: 0,
            values,
            mark: None,
        })
    }
}

/// Returns the payloads of an entry that are to be pruned, given its line and the place of that.
fn payloads(
    entry: EntryIx,
    stored: &[u8],
    place: Span,
    over: u64,
    kinds: &[ValueKind],
) -> Vec<Value> {
    let mut found = Vec::new();
    let line = Raw::checked(stored.trim_ascii());
    let mut add = |kind, field: String, value: Raw, note: Vec<u8>| {
        let span = place_of(value.bytes(), stored, place);
        if kinds.contains(&kind) && span.len > over.max((TIMES_THE_NOTE * note.len()) as u64) {
            found.push(Value {
                entry,
                field,
                kind,
                span,
                note,
            });
        }
    };
    let is_custom = line
        .get("type")
        .is_some_and(|kind| kind.is("custom_message"));
    let (holder, prefix) = match line
        .get("message")
        .filter(|message| message.is_object() && !is_custom)
    {
        Some(message) => (message, "message."),
        None if is_custom => (line, ""),
        None => return found,
    };
    let role = Role::of(holder.get("role"));
    let what = output_of(holder, role);
    if let Some(content) = holder.get("content").filter(|_| role != Role::Assistant) {
        if let (Some(what), true) = (&what, content.is_string()) {
            add(
                ValueKind::Result,
                format!("{prefix}content"),
                content,
                text_note(what, content),
            );
        }
        for (at, item) in content.items().enumerate() {
            let text = item
                .get("text")
                .filter(|_| item.get("type").is_some_and(|kind| kind.is("text")));
            match (image_note(item), text, &what) {
                (Some(note), ..) => add(
                    ValueKind::Image,
                    format!("{prefix}content[{at}]"),
                    item,
                    note,
                ),
                (None, Some(text), Some(what)) if text.is_string() => {
                    add(
                        ValueKind::Result,
                        format!("{prefix}content[{at}].text"),
                        text,
                        text_note(what, text),
                    );
                }
                _ => {}
            }
        }
    }
    if let (Some(what), Some(output)) = (
        &what,
        holder.get("output").filter(|output| output.is_string()),
    ) {
        add(
            ValueKind::Result,
            format!("{prefix}output"),
            output,
            text_note(what, output),
        );
    }
    let has_details =
        is_custom || matches!(role, Role::ToolResult | Role::Custom | Role::HookMessage);
    if let Some(details) = holder.get("details").filter(|_| has_details) {
        let note = format!("[details removed, {}]", size(details.bytes().len()));
        add(
            ValueKind::Details,
            format!("{prefix}details"),
            details,
            Object::new().str("pruned", &note).finish(),
        );
    }
    found
}

/// Returns the value at a path returned by [`payloads`].
pub fn at_path<'a>(line: Raw<'a>, path: &str) -> Option<Raw<'a>> {
    path.split('.').try_fold(line, |value, part| {
        let (key, index) = match part.strip_suffix(']').and_then(|part| part.split_once('[')) {
            Some((key, index)) => (key, Some(index.parse().ok()?)),
            None => (part, None),
        };
        let member = value.get(key)?;
        index.map_or(Some(member), |index| member.items().nth(index))
    })
}

/// Returns the name in a note for the tool or command that wrote the message; `None` for other
/// messages.
fn output_of(message: Raw, role: Role) -> Option<String> {
    match role {
        Role::ToolResult => {
            let name = message.get_text("toolName").filter(|name| !name.is_empty());
            Some(name.map_or_else(
                || "a tool".to_owned(),
                |name| name.head_whole(40).to_string_lossy().into_owned(),
            ))
        }
        Role::BashExecution | Role::PythonExecution => Some("a command".to_owned()),
        _ => None,
    }
}

fn text_note(what: &str, text: Raw) -> Vec<u8> {
    let bytes = text.bytes().len().saturating_sub(2);
    string::encoded(&Text::from(format!(
        "[output of {what} removed, {}]",
        size(bytes)
    )))
}

/// Returns the note for an image block.
fn image_note(block: Raw) -> Option<Vec<u8>> {
    if !block.get("type")?.is("image") {
        return None;
    }
    let bytes = block.get("data")?.raw_string()?.len() / 4 * 3;
    let mime = block
        .get_text("mimeType")
        .unwrap_or_default()
        .into_string_lossy();
    let kind = mime.rsplit('/').next().unwrap_or_default();
    let note = format!(
        "[image removed, {} {}]",
        size(bytes),
        kind.chars().take(20).collect::<String>()
    );
    Some(
        Object::new()
            .str("type", "text")
            .str("text", &note.replace(" ]", "]"))
            .finish(),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(line: &str) -> String {
        let place = Span {
            start: 0,
            len: line.len() as u64,
        };
        let payloads = payloads(
            EntryIx::new(0),
            line.as_bytes(),
            place,
            0,
            &ValueKind::PAYLOADS,
        );
        let line = Raw::parse(line.as_bytes()).unwrap();
        for payload in &payloads {
            let value = at_path(line, &payload.field).unwrap();
            assert_eq!(place_of(value.bytes(), line.bytes(), place), payload.span);
            Raw::parse(&payload.note).unwrap();
        }
        let shown = |payload: &Value| {
            format!(
                "{} {} {}",
                payload.kind.name(),
                payload.field,
                String::from_utf8_lossy(&payload.note)
            )
        };
        payloads.iter().map(shown).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn what_others_compute_with_stays() {
        let long = "x".repeat(2000);
        for line in [
            format!(r#"{{"type":"custom","data":"{long}"}}"#),
            format!(
                r#"{{"type":"compaction","summary":"{long}","details":{{"readFiles":["{long}"]}}}}"#
            ),
            format!(
                r#"{{"type":"message","message":{{"role":"assistant","content":[{{"type":"thinking","thinking":"{long}"}}],"details":"{long}"}}}}"#
            ),
            format!(r#"{{"type":"message","message":{{"role":"user","content":"{long}"}}}}"#),
            format!(r#"{{"type":"message","message":"{long}"}}"#),
        ] {
            assert_eq!(found(&line), "", "{line}");
        }
    }

    #[test]
    fn a_note_is_not_pruned_again() {
        let note = text_note(&"n".repeat(40), Raw::checked(b"\"x\""));
        let line = format!(
            r#"{{"type":"message","message":{{"role":"toolResult","toolName":"bash","content":[{{"type":"text","text":{}}}]}}}}"#,
            String::from_utf8(note).unwrap()
        );
        assert_eq!(found(&line), "");
    }
}
