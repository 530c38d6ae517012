//! Finds the payloads of entries that can be pruned: images, results of tools and commands, details
//! of extensions.
//!
//! Each payload is one JSON value in the line, identified by its path (`message.content[1]`). It is
//! replaced by a placeholder that the agents accept and a model understands. Values that providers
//! verify or agents compute with are kept: signatures, thinking, summaries with their details, data
//! of `custom` entries.

use super::{MessageTokens, PrunableSecrets, PrunableValue, PrunePlan, locate_part, side};
use crate::format::format_bytes;
use crate::session::Session;
use crate::session::content::find_members;
use crate::session::entry::{EntryIx, Role, Span};
use crate::session::read::batches::{BatchSize, split_batches};
use crate::session::read::entry_reader::{EntryReader, splice_replacements};
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_json::{Raw, string};
use pisess_store::ReadAt;
use pisess_store::workers::{Pool, in_order};
use std::io;
use std::ops::Range;

/// The kind of a value that pruning replaces.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ValueKind {
    /// An image block.
    Image,
    /// The text of a tool result, or the output of a command run by the user.
    Result,
    /// Details of an extension or a tool, which a model never sees.
    Details,
    /// A reference to a removed entry, or the label of one.
    Link,
}

impl ValueKind {
    /// The kinds of payloads.
    pub const PAYLOADS: [ValueKind; 3] = [ValueKind::Image, ValueKind::Result, ValueKind::Details];

    /// Returns the name of the kind in the pruned file.
    pub fn name(self) -> &'static str {
        match self {
            ValueKind::Image => "image",
            ValueKind::Result => "result",
            ValueKind::Details => "details",
            ValueKind::Link => side::LINK_KIND,
        }
    }
}

/// A payload must be more than this many times as long as its placeholder. A shorter one is not
/// worth pruning, and may be a placeholder itself.
pub const MIN_LENGTH_RATIO: usize = 3;

/// The maximum length of a tool's name in a placeholder, in UTF-16 units.
const MAX_TOOL_NAME: usize = 40;

/// The maximum length of an image's format in a placeholder, in characters.
const MAX_IMAGE_FORMAT: usize = 20;

/// The conditions for payloads to prune.
#[derive(Clone, Copy)]
struct PayloadFilter<'k> {
    /// The length in bytes that a payload must exceed.
    threshold: u64,
    kinds: &'k [ValueKind],
}

impl PrunePlan {
    /// Returns the plan to prune the payloads (images, outputs of tools, details) of these kinds
    /// that have more than `threshold` bytes in the file. Lines are read on up to `workers`
    /// threads.
    ///
    /// The plan also has the estimated size of each message after the prune, if the session was
    /// loaded with the estimates of its messages: see `estimate_pruned_message`.
    pub fn from_payloads(
        session: &Session,
        source: &dyn ReadAt,
        threshold: u64,
        kinds: &[ValueKind],
        workers: usize,
    ) -> io::Result<PrunePlan> {
        let line_length = |&ix: &EntryIx| session.entry(ix).span.len;
        // The entries to read. A payload is no longer than its line. What a model wrote is no
        // payload, so replies have none.
        let mut candidates: Vec<EntryIx> = session.entry_indexes().collect();
        candidates
            .retain(|ix| line_length(ix) > threshold && !session.is_message(*ix, Role::Assistant));

        let filter = PayloadFilter { threshold, kinds };
        let readers = Pool::new(|| EntryReader::new(session, source));
        let batches = split_batches(&candidates, BatchSize::default(), line_length);
        let mut all = FoundPayloads::default();
        in_order(
            batches,
            workers,
            |batch: Range<usize>| {
                readers.with(|reader| find_payloads_of(&candidates[batch], reader, filter))
            },
            |batch_found: io::Result<FoundPayloads>| {
                let mut found = batch_found?;
                all.values.append(&mut found.values);
                all.message_tokens.append(&mut found.message_tokens);
                Ok::<(), io::Error>(())
            },
        )?;
        Ok(PrunePlan {
            name: side::PAYLOADS_OPERATION,
            // Only values are moved out; no whole entry is.
            entries: Vec::new(),
            branch_count: 0,
            values: all.values,
            secrets: PrunableSecrets::default(),
            pruned_message_tokens: all.message_tokens,
            mark: None,
        })
    }
}

/// The payloads of several entries, in their order.
#[derive(Default)]
struct FoundPayloads {
    values: Vec<PrunableValue>,
    /// See [`PrunePlan::pruned_message_tokens`].
    message_tokens: Vec<MessageTokens>,
}

/// Finds the payloads of several entries. Also estimates the size of each message without its
/// payloads, in tokens, while its line is in memory.
fn find_payloads_of(
    entries: &[EntryIx],
    reader: &EntryReader,
    filter: PayloadFilter,
) -> io::Result<FoundPayloads> {
    let session = reader.session();
    let mut found = FoundPayloads::default();
    for &entry in entries {
        let line_span = session.entry(entry).span;
        reader.with_stored(line_span, |stored_line| {
            let mut values = find_payloads(entry, stored_line, line_span, filter);
            if values.is_empty() {
                return;
            }
            let tokens = estimate_pruned_message(session, entry, stored_line, &values);
            if let Some(tokens) = tokens {
                found.message_tokens.push(MessageTokens { entry, tokens });
            }
            found.values.append(&mut values);
        })?;
    }
    Ok(found)
}

/// Returns the agent's estimate, in tokens, of the message of an entry after these values are
/// replaced. `None` if the session was loaded without estimates, or if the entry has no stored
/// message. `stored_line` is the line of the entry as it is in the file.
fn estimate_pruned_message(
    session: &Session,
    entry: EntryIx,
    stored_line: &[u8],
    values: &[PrunableValue],
) -> Option<u64> {
    // If estimates were requested, each entry has one.
    let were_estimates_requested = session.message_tokens(entry).is_some();
    if !were_estimates_requested {
        return None;
    }
    let line_start = session.entry(entry).span.start;
    let message_span = session.message_span(entry)?;
    // Spans are offsets in the file.
    let message_start = (message_span.start - line_start) as usize;
    let stored_message = &stored_line[message_start..message_start + message_span.len as usize];

    let mut replacements: Vec<_> = values.iter().map(PrunableValue::replacement).collect();
    replacements.sort_by_key(|replacement| replacement.span.start);
    let message = splice_replacements(stored_message, message_span, &replacements);
    Some(
        session
            .agent()
            .estimate_message(Raw::from_checked(&message)),
    )
}

/// Returns the payloads of an entry that the filter accepts. `stored_line` is the line of the
/// entry, and `line_span` its location in the file.
///
/// Payloads are searched for in messages and custom messages. They are images in the content, the
/// content and output of tools and commands, and the details of messages that tools or extensions
/// write.
fn find_payloads(
    entry: EntryIx,
    stored_line: &[u8],
    line_span: Span,
    filter: PayloadFilter,
) -> Vec<PrunableValue> {
    let line = Raw::from_checked(stored_line.trim_ascii());
    let Some(message) = find_message(line) else {
        return Vec::new();
    };
    let StoredMessage {
        object,
        prefix,
        is_custom,
    } = message;
    let names = ["role", "toolName", "content", "output", "details"];
    let [role, tool, content, output, details] = find_members(object, names);
    let role = Role::from_member(role);
    let writer = describe_writer(role, tool);
    let mut finder = PayloadFinder {
        entry,
        stored_line,
        line_span,
        filter,
        values: Vec::new(),
    };

    if let Some(content) = content
        && role != Role::Assistant
    {
        finder.add_content(content, prefix, writer.as_deref());
    }
    // A command that the user ran has its output in `output`, not in `content`.
    if let Some(writer) = &writer
        && let Some(output) = output
        && output.is_string()
    {
        let field = format!("{prefix}output");
        finder.try_add(ValueKind::Result, field, output, || {
            text_placeholder(writer, output)
        });
    }
    // The agent may compute with the details of other roles, so these are kept.
    let has_prunable_details =
        is_custom || matches!(role, Role::ToolResult | Role::Custom | Role::HookMessage);
    if let Some(details) = details
        && has_prunable_details
    {
        let field = format!("{prefix}details");
        finder.try_add(ValueKind::Details, field, details, || {
            details_placeholder(details)
        });
    }
    finder.values
}

/// The object of an entry that has the members of a message.
struct StoredMessage<'l> {
    object: Raw<'l>,
    /// The path of the object in the line, with a dot at its end; empty for the entry itself.
    prefix: &'static str,
    /// Whether the object is the entry itself, as for a custom message.
    is_custom: bool,
}

/// Returns the object of an entry that has the members of a message: `message` or, in a custom
/// message, the entry itself. `None` if the entry is neither.
fn find_message(line: Raw<'_>) -> Option<StoredMessage<'_>> {
    let [kind, message] = find_members(line, ["type", "message"]);
    let is_custom = kind.is_some_and(|kind| kind.is("custom_message"));
    if is_custom {
        return Some(StoredMessage {
            object: line,
            prefix: "",
            is_custom,
        });
    }
    let message = message.filter(|message| message.is_object())?;
    Some(StoredMessage {
        object: message,
        prefix: "message.",
        is_custom,
    })
}

/// Collects the payloads of an entry.
struct PayloadFinder<'a> {
    entry: EntryIx,
    stored_line: &'a [u8],
    line_span: Span,
    filter: PayloadFilter<'a>,
    values: Vec<PrunableValue>,
}

impl PayloadFinder<'_> {
    /// Adds the payloads in the content of a message: its images and, if a tool or command wrote
    /// it, its texts. `writer` names this tool or command for a placeholder; `None` if the message
    /// is of someone else. `prefix` is the path of the message in the line, such as `message.`.
    fn add_content(&mut self, content: Raw, prefix: &str, writer: Option<&str>) {
        if let Some(writer) = writer
            && content.is_string()
        {
            let field = format!("{prefix}content");
            self.try_add(ValueKind::Result, field, content, || {
                text_placeholder(writer, content)
            });
        }
        // A string has no items.
        for (index, block) in content.items().enumerate() {
            // A short block has no part that exceeds the threshold.
            if block.bytes().len() as u64 > self.filter.threshold {
                self.add_block(block, format!("{prefix}content[{index}]"), writer);
            }
        }
    }

    /// Adds an image block as a whole. Of a text block that a tool or command wrote, adds only the
    /// text. `path` is the path of the block in the line, such as `message.content[0]`. `writer` is
    /// the name of the tool or command; `None` if the message is of someone else, whose texts are
    /// not payloads.
    fn add_block(&mut self, block: Raw, path: String, writer: Option<&str>) {
        if let Some(placeholder) = image_placeholder(block) {
            self.try_add(ValueKind::Image, path, block, || placeholder);
            return;
        }
        let [kind, text] = find_members(block, ["type", "text"]);
        let is_text = kind.is_some_and(|kind| kind.is("text"));
        if let Some(writer) = writer
            && let Some(text) = text
            && is_text
            && text.is_string()
        {
            self.try_add(ValueKind::Result, path + ".text", text, || {
                text_placeholder(writer, text)
            });
        }
    }

    /// Adds a value if the filter accepts it, and if it is more than `MIN_LENGTH_RATIO` times as
    /// long as its placeholder: a shorter one is not worth pruning.
    fn try_add(
        &mut self,
        kind: ValueKind,
        field: String,
        value: Raw,
        make_placeholder: impl FnOnce() -> Vec<u8>,
    ) {
        let span = locate_part(value.bytes(), self.stored_line, self.line_span);
        let is_accepted = self.filter.kinds.contains(&kind) && span.len > self.filter.threshold;
        if !is_accepted {
            return;
        }
        // The placeholder is built only now, because most values are excluded above.
        let placeholder = make_placeholder();
        let least_len = MIN_LENGTH_RATIO * placeholder.len();
        if span.len <= least_len as u64 {
            return;
        }
        self.values.push(PrunableValue {
            entry: self.entry,
            field,
            kind,
            span,
            placeholder,
        });
    }
}

/// Returns the value at a path in a line, such as `message.content[1].text`. Paths have the form of
/// [`PrunableValue::field`]; that of the whole line is empty. `None` if the line has no such value.
pub fn find_at_path<'a>(line: Raw<'a>, path: &str) -> Option<Raw<'a>> {
    if path == side::WHOLE_LINE {
        return Some(line);
    }
    let mut value = line;
    for part in path.split('.') {
        // A part is `key` or `key[index]`.
        let key_and_index = part.strip_suffix(']').and_then(|part| part.split_once('['));
        value = match key_and_index {
            None => value.get(part)?,
            Some((key, index)) => {
                let array = value.get(key)?;
                array.items().nth(index.parse().ok()?)?
            }
        };
    }
    Some(value)
}

/// Returns what a placeholder calls the tool or command that wrote a message with this role: the
/// name of the tool, `a tool` or `a command`. `None` if neither wrote the message. `tool` is the
/// `toolName` of the message.
fn describe_writer(role: Role, tool: Option<Raw>) -> Option<String> {
    match role {
        Role::ToolResult => {
            let name = tool.and_then(Raw::text).unwrap_or_default();
            if name.is_empty() {
                return Some("a tool".to_owned());
            }
            let name = name.head_whole(MAX_TOOL_NAME);
            Some(name.to_string_lossy().into_owned())
        }
        Role::BashExecution | Role::PythonExecution => Some("a command".to_owned()),
        _ => None,
    }
}

/// Returns the placeholder for details. It is an object, as the agents expect.
fn details_placeholder(details: Raw) -> Vec<u8> {
    let text = format!("[details removed, {}]", format_bytes(details.bytes().len()));
    Object::new().str("pruned", &text).finish()
}

/// Returns the placeholder for a string that a tool or command wrote.
fn text_placeholder(writer: &str, text: Raw) -> Vec<u8> {
    // `text` is JSON, so its two quotes are not counted.
    let bytes = text.bytes().len().saturating_sub(2);
    string::encode_to_vec(&Text::from(format!(
        "[output of {writer} removed, {}]",
        format_bytes(bytes)
    )))
}

/// Returns the placeholder for an image block: a text block such as `[image removed, 12 kB png]`.
/// `None` for any other block, and for an image without data.
fn image_placeholder(block: Raw) -> Option<Vec<u8>> {
    if !block.get("type")?.is("image") {
        return None;
    }
    // Without data, there is nothing to prune.
    block.get("data")?.raw_string()?;
    // The size in the file, not that of the decoded image. The printed plan shows the same number.
    let bytes = block.bytes().len();
    let mime_type = block
        .get_text("mimeType")
        .unwrap_or_default()
        .into_string_lossy();
    let format = mime_type.rsplit('/').next().unwrap_or_default();
    let format: String = format.chars().take(MAX_IMAGE_FORMAT).collect();
    let text = format!("[image removed, {} {format}]", format_bytes(bytes));
    // If there is no format, or if it was cut after a space, a space precedes the bracket.
    let text = text.replace(" ]", "]");
    let placeholder = Object::new().str("type", "text").str("text", &text);
    Some(placeholder.finish())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{LoadOptions, load};

    fn found(line: &str) -> String {
        let place = Span {
            start: 0,
            len: line.len() as u64,
        };
        let payloads = find_payloads(
            EntryIx::new(0),
            line.as_bytes(),
            place,
            PayloadFilter {
                threshold: 0,
                kinds: &ValueKind::PAYLOADS,
            },
        );
        let line = Raw::parse(line.as_bytes()).unwrap();
        for payload in &payloads {
            let value = find_at_path(line, &payload.field).unwrap();
            assert_eq!(
                locate_part(value.bytes(), line.bytes(), place),
                payload.span
            );
            Raw::parse(&payload.placeholder).unwrap();
        }
        let shown = |payload: &PrunableValue| {
            format!(
                "{} {} {}",
                payload.kind.name(),
                payload.field,
                String::from_utf8_lossy(&payload.placeholder)
            )
        };
        payloads.iter().map(shown).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn prune_payload_skips_text_that_agents_use() {
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
    fn replies_are_not_read() {
        let text = concat!(
            r#"{"type":"session","version":3,"id":"s"}"#,
            "\n",
            r#"{"type":"message","id":"a","message":{"role":"assistant","content":[{"type":"text","text":"long"}]}}"#,
            "\n",
        );
        let session = load(&text.as_bytes().to_vec(), &LoadOptions::default()).unwrap();
        let unreadable: Vec<u8> = Vec::new();
        let prune = PrunePlan::from_payloads(&session, &unreadable, 0, &ValueKind::PAYLOADS, 1);
        assert!(prune.unwrap().is_empty());
    }

    #[test]
    fn a_placeholder_is_not_pruned_again() {
        let placeholder = text_placeholder(&"n".repeat(40), Raw::from_checked(b"\"x\""));
        let line = format!(
            r#"{{"type":"message","message":{{"role":"toolResult","toolName":"bash","content":[{{"type":"text","text":{}}}]}}}}"#,
            String::from_utf8(placeholder).unwrap()
        );
        assert_eq!(found(&line), "");
    }
}
