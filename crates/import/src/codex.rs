//! Reads sessions of Codex: `~/.codex/sessions/**/rollout-*.jsonl`.
//!
//! A file is a log: a line follows the one before it. It contains the items that are sent to the
//! model, and the events that the user saw, which mostly repeat them; an event is a message of its
//! own only if no item has its text. A rollback goes back to before a turn, so that what follows is
//! on another branch. The tokens of a response come after it, so that its last message is held
//! until then.
//!
//! Files written before September 2025 have the items alone, without time and type of the line.

mod content;
mod history;
mod tools;

use super::joined::{Junction, SourceLayout};
use super::parts::{
    custom_message_members, kept_line_members, non_empty_text, parse_time_ms, unconverted_members,
    usage_json,
};
use super::writer::{EntryDraft, EntryWriter, NodeIx};
use super::{EarlierImports, Origin, SourceReader, for_each_object};
use content::{
    convert_content_blocks, find_item_type, fingerprint, item_fingerprints, join_texts,
    list_reasoning_texts, thinking_block,
};
use foldhash::{HashMap, HashSet};
use history::{History, begins_turn};
use pisess_core::session::content::{find_members, finite_or_zero, text_block};
use pisess_core::session::usage::Usage;
use pisess_json::Raw;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use pisess_store::ReadAt;
use std::cmp::Reverse;
use std::io;
use tools::{ToolCall, ToolResult, convert_arguments, convert_result};

const PROVIDER: &str = "openai-codex";
/// The summary of a compaction of which only an encrypted form exists.
const ENCRYPTED_SUMMARY: &str = "Context compacted by Codex.";
/// The thinking levels of pi that Codex has, too.
const THINKING_LEVELS: [&str; 5] = ["minimal", "low", "medium", "high", "xhigh"];

/// The reader of a source, with what the lines so far have shown.
#[derive(Default)]
pub struct CodexReader<'o> {
    writer: EntryWriter<'o>,
    /// The offset of the first item with each fingerprint, in the whole source.
    first_item_offsets: HashMap<u64, u64>,
    /// Where files of the source join that were not read yet, the next one last.
    junctions: Vec<Junction>,
    /// The offsets to which junctions go back and that were not read yet, the next one last.
    unread_places: Vec<u64>,
    /// The places that were read, in the order of their offsets.
    bookmarks: Vec<Bookmark>,
    /// Lines before this offset were written for another session, whose name this one does not get.
    own_start: u64,
    /// The earlier imports: they saw no item after their end.
    earlier: EarlierImports,
    /// The leaf.
    leaf: Option<NodeIx>,
    /// The turns on the path.
    turns_on_path: Vec<TurnStart>,
    history: History,
    held_reply: Option<HeldReply>,
    /// The calls of the last reply that was added which have no result yet. If an import ended in
    /// the middle of a response, its other calls are held until these have their results, because
    /// providers refuse a message between a call and its result.
    open_calls: HashSet<Box<[u8]>>,
    model: Text<'static>,
    thinking_level: Option<Text<'static>>,
    /// The tools that were called, by the id of the call.
    tool_names: HashMap<Box<[u8]>, Text<'static>>,
    /// The fingerprints of events that became messages. An item that says the same comes in a later
    /// import, and must not become a second message.
    event_fingerprints: HashSet<u64>,
    /// The ids of the calls whose result was read.
    answered_calls: HashSet<Box<[u8]>>,
    /// The tokens of all requests, as reported last.
    total_usage: Option<Vec<u8>>,
    /// The number of tokens in the context, as reported last.
    context_tokens: f64,
    time_ms: i64,
}

/// A place to which a later file of the source goes back.
struct Bookmark {
    offset: u64,
    leaf: Option<NodeIx>,
    turns_on_path: Vec<TurnStart>,
    last_user_text: Option<usize>,
    model: Text<'static>,
    thinking_level: Option<Text<'static>>,
}

/// What a rollback of a turn goes back to.
#[derive(Clone, Copy)]
struct TurnStart {
    /// The leaf before it.
    leaf_before: Option<NodeIx>,
    /// [`History::last_user_text`] before it.
    last_user_text: Option<usize>,
}

/// The message of a response, held back until the response has ended.
struct HeldReply {
    /// The offset of its first line.
    offset: u64,
    /// The times of its first line and of its last.
    started_ms: i64,
    ended_ms: i64,
    model: Text<'static>,
    /// The id that OpenAI gave the response, if it is known.
    response_id: Option<Text<'static>>,
    /// The blocks of all its lines.
    blocks: Vec<Vec<u8>>,
    /// The members of its first line without a counterpart.
    unconverted: Object,
    /// Those of its other lines.
    unconverted_parts: Vec<Vec<u8>>,
    /// The entries that came after its first line.
    followers: Vec<EntryDraft>,
    /// Its lines as custom entries, if calls before it have no result yet. They take its place if
    /// the import ends before these results.
    kept_lines: Vec<EntryDraft>,
    /// The calls among its blocks whose result is not among `followers`.
    open_calls: HashSet<Box<[u8]>>,
    /// Whether it has ended: what follows is another message.
    has_ended: bool,
    /// The `usage` object of its request, once that was reported.
    usage: Option<Vec<u8>>,
}

/// What a line is to this reader.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineKind {
    /// It was sent to the model, or came from it.
    Item,
    /// The user saw it.
    Event,
    /// The settings of a turn.
    Settings,
    /// The tokens of a response.
    Usage,
    Compaction,
    Other,
}

/// What became of a line.
enum Conversion {
    /// It became one or more entries.
    Converted,
    /// It has no counterpart, or repeats what is there already. The line itself is to be kept as a
    /// custom entry.
    Unconverted,
}

struct CodexLine<'a> {
    offset: u64,
    raw: Raw<'a>,
    kind: LineKind,
    /// What the line says; the line itself, if it is an item of an old file.
    payload: Raw<'a>,
}

impl<'a> CodexLine<'a> {
    /// Reads what a line is. With a type and a payload, the type decides. With a type alone, the
    /// line is an item of an old file, and its own payload.
    fn new(offset: u64, raw: Raw<'a>) -> Self {
        let [line_type, payload] = find_members(raw, ["type", "payload"]);
        let payload = payload.filter(|payload| payload.is_object());
        let (kind, payload) = match (line_type, payload) {
            (Some(line_type), Some(payload)) => (LineKind::from_type(line_type), payload),
            (Some(_), None) => (LineKind::Item, raw),
            (None, _) => (LineKind::Other, raw),
        };
        CodexLine {
            offset,
            raw,
            kind,
            payload,
        }
    }

    /// The members of the line without a counterpart, as an object, including the members of the
    /// payload other than those with `converted_keys`.
    fn unconverted_members(&self, converted_keys: &[&str]) -> Object {
        let payload = unconverted_members(self.payload, converted_keys);
        if self.raw == self.payload {
            return payload;
        }
        unconverted_members(self.raw, &["payload"]).json("payload", &payload.finish())
    }
}

impl LineKind {
    fn from_type(kind: Raw) -> LineKind {
        if kind.is("response_item") {
            LineKind::Item
        } else if kind.is("event_msg") {
            LineKind::Event
        } else if kind.is("turn_context") {
            LineKind::Settings
        } else if kind.is("token_usage_record") {
            LineKind::Usage
        } else if kind.is("compacted") {
            LineKind::Compaction
        } else {
            LineKind::Other
        }
    }
}

impl<'o> CodexReader<'o> {
    /// Reads which items the source has, and makes a reader of the source. An event becomes a
    /// message unless an item repeats it, and the item may come later. `earlier` are the imports so
    /// far.
    pub fn new(
        source: &dyn ReadAt,
        layout: &SourceLayout,
        earlier: &EarlierImports,
        writer: EntryWriter<'o>,
    ) -> io::Result<Self> {
        Ok(CodexReader {
            writer,
            first_item_offsets: read_item_offsets(source)?,
            junctions: layout.junctions.iter().rev().copied().collect(),
            unread_places: places_of_junctions(&layout.junctions),
            own_start: layout.own_start,
            earlier: earlier.clone(),
            model: Text::from("codex"),
            ..CodexReader::default()
        })
    }
}

/// Returns the ids of the calls among these blocks. No other block has an id.
fn list_call_ids(blocks: &[Vec<u8>]) -> impl Iterator<Item = Box<[u8]>> {
    blocks.iter().filter_map(|block| {
        let id = Raw::from_checked(block).get_text("id")?;
        Some(id.as_bytes().into())
    })
}

/// Reads the whole source, and returns the offset of the first item with each fingerprint.
fn read_item_offsets(source: &dyn ReadAt) -> io::Result<HashMap<u64, u64>> {
    let mut first_offsets = HashMap::default();
    for_each_object(source, source.len(), |line, raw| {
        let Some(raw) = raw else { return Ok(()) };
        let line = CodexLine::new(line.span.start, raw);
        if line.kind == LineKind::Item {
            for fingerprint in item_fingerprints(line.payload) {
                first_offsets.entry(fingerprint).or_insert(line.offset);
            }
        }
        Ok(())
    })?;
    Ok(first_offsets)
}

impl<'o> SourceReader<'o> for CodexReader<'o> {
    fn read_object(&mut self, offset: u64, raw: Raw) -> io::Result<()> {
        self.pass_junctions(offset)?;
        // A line without a time has that of the line before it.
        self.time_ms = parse_time_ms(raw.get("timestamp")).unwrap_or(self.time_ms);
        let line = CodexLine::new(offset, raw);
        let conversion = match line.kind {
            LineKind::Item => self.add_item(&line)?,
            LineKind::Event => self.add_event(&line)?,
            LineKind::Settings => {
                self.add_settings(&line)?;
                // Most settings have no counterpart, so the line is kept in any case.
                Conversion::Unconverted
            }
            LineKind::Usage => self.add_usage_record(&line)?,
            LineKind::Compaction => self.add_compaction(&line)?,
            LineKind::Other => Conversion::Unconverted,
        };
        match conversion {
            Conversion::Converted => Ok(()),
            Conversion::Unconverted => self.keep_line(&line),
        }
    }

    fn add_custom(&mut self, offset: u64, members: Object) -> io::Result<()> {
        self.add_entry(offset, "custom", members)
    }

    fn add_record(&mut self, draft: EntryDraft) -> io::Result<()> {
        self.write_held()?;
        self.leaf = Some(self.writer.append_record(self.leaf, draft)?);
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<EntryWriter<'o>> {
        self.release_reply()?;
        Ok(self.writer)
    }
}

/// Returns the offsets to which junctions go back, each once, the first one last.
fn places_of_junctions(junctions: &[Junction]) -> Vec<u64> {
    let mut places: Vec<u64> = junctions.iter().map(|junction| junction.back_to).collect();
    places.sort_by_key(|&place| Reverse(place));
    places.dedup();
    places
}

impl CodexReader<'_> {
    /// Remembers the places before the line at `offset` to which a later file goes back, and goes
    /// back if the line is the first of such a file.
    fn pass_junctions(&mut self, offset: u64) -> io::Result<()> {
        while let Some(back_to) = self.unread_places.pop_if(|place| *place <= offset) {
            self.release_reply()?;
            self.bookmarks.push(Bookmark {
                offset: back_to,
                leaf: self.leaf,
                turns_on_path: self.turns_on_path.clone(),
                last_user_text: self.history.last_user_text,
                model: self.model.clone(),
                thinking_level: self.thinking_level.clone(),
            });
        }

        while let Some(junction) = self.junctions.pop_if(|junction| junction.at <= offset) {
            self.release_reply()?;
            self.open_calls.clear();
            let place = self
                .bookmarks
                .binary_search_by_key(&junction.back_to, |bookmark| bookmark.offset);
            // Otherwise, nothing is between the files.
            if junction.back_to < junction.at
                && let Ok(index) = place
            {
                let bookmark = &self.bookmarks[index];
                self.leaf = bookmark.leaf;
                self.turns_on_path.clone_from(&bookmark.turns_on_path);
                self.history.last_user_text = bookmark.last_user_text;
                self.model.clone_from(&bookmark.model);
                self.thinking_level.clone_from(&bookmark.thinking_level);
            }
        }
        Ok(())
    }

    /// Adds an entry below the leaf. While a reply is held back, the entry is held back with it,
    /// and added after it.
    fn add_entry(&mut self, offset: u64, kind: &'static str, members: Object) -> io::Result<()> {
        self.add_draft(EntryDraft {
            offset,
            time_ms: self.time_ms,
            kind,
            members,
        })
    }

    /// Does the same as [`add_entry`](Self::add_entry) for an entry that is drafted already.
    fn add_draft(&mut self, draft: EntryDraft) -> io::Result<()> {
        match &mut self.held_reply {
            Some(held) => held.followers.push(draft),
            None => self.leaf = Some(self.writer.add_child(self.leaf, draft)?),
        }
        Ok(())
    }

    /// Writes what is held when an import ends. If calls before the reply have no result yet, its
    /// lines become custom entries, and a later import adds the reply.
    fn write_held(&mut self) -> io::Result<()> {
        let must_wait = |held: &HeldReply| held.offset >= self.earlier.merged_from;
        let is_blocked =
            !self.open_calls.is_empty() && self.held_reply.as_ref().is_some_and(must_wait);
        if !is_blocked {
            return self.release_reply();
        }
        let Some(mut held) = self.held_reply.take() else {
            return Ok(());
        };
        for draft in held.kept_lines.drain(..).chain(held.followers.drain(..)) {
            self.add_draft(draft)?;
        }
        self.held_reply = Some(held);
        Ok(())
    }

    /// Adds the result of a call: after the reply that is held, unless the call is in the reply
    /// before it.
    fn add_result_entry(&mut self, offset: u64, call_id: &[u8], members: Object) -> io::Result<()> {
        if !self.open_calls.remove(call_id) {
            if let Some(held) = &mut self.held_reply {
                held.open_calls.remove(call_id);
                held.has_ended = true;
            }
            return self.add_entry(offset, "message", members);
        }

        let held_reply = self.held_reply.take();
        self.add_entry(offset, "message", members)?;
        self.held_reply = held_reply;
        let has_ended = self.held_reply.as_ref().is_some_and(|held| held.has_ended);
        if has_ended && self.open_calls.is_empty() {
            self.release_reply()?;
        }
        Ok(())
    }

    /// Ends the reply that is held, and adds it unless calls before it have no result yet. `usage`
    /// is the `usage` object of its request.
    fn end_reply(&mut self, usage: Vec<u8>) -> io::Result<()> {
        let Some(held) = &mut self.held_reply else {
            return Ok(());
        };
        held.usage = Some(usage);
        held.has_ended = true;
        if self.open_calls.is_empty() || held.offset < self.earlier.merged_from {
            self.release_reply()?;
        }
        Ok(())
    }

    /// Adds the reply that is held, and the entries that were held back with it. Does nothing if no
    /// reply is held. Without a usage of its request, the reply gets one of 0 tokens.
    fn release_reply(&mut self) -> io::Result<()> {
        let Some(held) = self.held_reply.take() else {
            return Ok(());
        };
        let HeldReply {
            offset,
            started_ms,
            ended_ms,
            model,
            response_id,
            blocks,
            unconverted,
            unconverted_parts,
            followers,
            kept_lines: _,
            open_calls,
            has_ended: _,
            usage,
        } = held;
        self.open_calls = open_calls;

        let has_call = list_call_ids(&blocks).next().is_some();
        let stop_reason = if has_call { "toolUse" } else { "stop" };
        let usage = usage.unwrap_or_else(|| usage_json(&Usage::default(), 0.0, None));
        let message = Object::new()
            .str("role", "assistant")
            .json("content", &array(blocks))
            .str("api", "openai-codex-responses")
            .str("provider", PROVIDER)
            .text("model", &model)
            .str("stopReason", stop_reason)
            .with(response_id.as_ref(), |message, id| {
                message.text("responseId", id)
            })
            .json("usage", &usage)
            .number("timestamp", started_ms as f64)
            .finish();
        let unconverted = unconverted.json_array("parts", &unconverted_parts).finish();
        let members = Object::new()
            .json("message", &message)
            .json("codex", &unconverted);
        let reply = EntryDraft {
            offset,
            time_ms: ended_ms,
            kind: "message",
            members,
        };
        self.leaf = Some(self.writer.add_child(self.leaf, reply)?);

        for draft in followers {
            self.leaf = Some(self.writer.add_child(self.leaf, draft)?);
        }
        Ok(())
    }

    /// Keeps a line without a counterpart as a custom entry.
    fn keep_line(&mut self, line: &CodexLine) -> io::Result<()> {
        let draft = self.draft_kept_line(line);
        self.add_draft(draft)
    }

    /// Drafts the custom entry that keeps a line. It is named after the type of the line and, if it
    /// is another one, the type of the payload.
    fn draft_kept_line(&self, line: &CodexLine) -> EntryDraft {
        let line_type = non_empty_text(line.raw, "type").unwrap_or_else(|| Text::from("line"));
        let name = match non_empty_text(line.payload, "type") {
            Some(payload_type) if payload_type != line_type => {
                format!("{line_type}.{payload_type}")
            }
            _ => line_type.to_string(),
        };
        EntryDraft {
            offset: line.offset,
            time_ms: self.time_ms,
            kind: "custom",
            members: kept_line_members(Origin::Codex.name(), &name, line.raw.bytes()),
        }
    }

    /// Builds the members of an entry with a message other than a reply. `message` lacks only its
    /// time. `converted_keys` are the keys of the payload whose members are in the message; other
    /// members are kept as `codex`.
    fn message_members(
        &self,
        line: &CodexLine,
        message: Object,
        converted_keys: &[&str],
    ) -> Object {
        let message = message.number("timestamp", self.time_ms as f64).finish();
        Object::new()
            .json("message", &message)
            .json("codex", &line.unconverted_members(converted_keys).finish())
    }

    /// Adds a message of the role `user`. If the user wrote it, it begins a turn. If Codex sends it
    /// in the name of the user, it becomes a custom message.
    fn add_user_message(
        &mut self,
        line: &CodexLine,
        content: &[u8],
        converted_keys: &[&str],
    ) -> io::Result<()> {
        self.release_reply()?;
        let parsed_content = Raw::from_checked(content);
        if !begins_turn(parsed_content) {
            return self.add_context(line, "context", content, converted_keys);
        }

        // Before the message changes the leaf and the history, for a rollback.
        self.turns_on_path.push(TurnStart {
            leaf_before: self.leaf,
            last_user_text: self.history.last_user_text,
        });
        self.history.add_user_text(parsed_content);
        let message = Object::new().str("role", "user").json("content", content);
        let members = self.message_members(line, message, converted_keys);
        self.add_entry(line.offset, "message", members)
    }

    /// Adds what Codex itself sends to the model, as the custom message `codex.KIND`, which the
    /// user does not see.
    fn add_context(
        &mut self,
        line: &CodexLine,
        kind: &str,
        content: &[u8],
        converted_keys: &[&str],
    ) -> io::Result<()> {
        self.release_reply()?;
        self.history
            .add_context(content, self.turns_on_path.is_empty());
        let members = custom_message_members(Origin::Codex.name(), kind, content, false)
            .json("codex", &line.unconverted_members(converted_keys).finish());
        self.add_entry(line.offset, "custom_message", members)
    }

    /// Holds back a part of a response, because other parts and the usage may come later. It
    /// becomes a part of the message that is held, unless a result or its tokens came after that. `blocks` are
    /// its blocks as JSON, and `unconverted` the members of the line without a counterpart.
    fn hold_reply(
        &mut self,
        line: &CodexLine,
        blocks: Vec<Vec<u8>>,
        unconverted: Object,
    ) -> io::Result<()> {
        let has_ended = self.held_reply.as_ref().is_some_and(|held| held.has_ended);
        if has_ended || line.offset < self.earlier.merged_from {
            self.release_reply()?;
        }
        let calls: Vec<_> = list_call_ids(&blocks).collect();
        let kept_line = if self.open_calls.is_empty() {
            None
        } else {
            Some(self.draft_kept_line(line))
        };
        if let Some(held) = &mut self.held_reply {
            held.ended_ms = self.time_ms;
            held.kept_lines.extend(kept_line);
            held.open_calls.extend(calls);
            held.blocks.extend(blocks);
            held.unconverted_parts.push(unconverted.finish());
            return Ok(());
        }
        self.held_reply = Some(HeldReply {
            offset: line.offset,
            started_ms: self.time_ms,
            ended_ms: self.time_ms,
            model: self.model.clone(),
            response_id: None,
            blocks,
            unconverted,
            unconverted_parts: Vec::new(),
            followers: Vec::new(),
            kept_lines: kept_line.into_iter().collect(),
            open_calls: calls.into_iter().collect(),
            has_ended: false,
            usage: None,
        });
        Ok(())
    }

    /// Adds an item by its type. An item that repeats an event which became a message is not
    /// converted.
    fn add_item(&mut self, line: &CodexLine) -> io::Result<Conversion> {
        let item = line.payload;
        let Some(item_type) = find_item_type(item) else {
            return Ok(Conversion::Unconverted);
        };
        let item_type = item_type.to_string_lossy();
        if self.forget_repeated_event(item, &item_type) {
            return Ok(Conversion::Unconverted);
        }

        let id = non_empty_text(item, "call_id").or_else(|| non_empty_text(item, "id"));
        match (&*item_type, id) {
            ("message", _) => self.add_message_item(line),
            ("reasoning", _) => self.add_reasoning_item(line),
            ("function_call", Some(id)) => self.add_named_call(line, &id, "arguments"),
            ("custom_tool_call", Some(id)) => self.add_named_call(line, &id, "input"),
            ("web_search_call", Some(id)) => self.add_typed_call(line, &id, "web_search", "action"),
            ("local_shell_call", Some(id)) => {
                self.add_typed_call(line, &id, "local_shell", "action")
            }
            ("tool_search_call", Some(id)) => {
                self.add_typed_call(line, &id, "tool_search", "arguments")
            }
            ("function_call_output" | "custom_tool_call_output", Some(id)) => {
                let result = ToolResult {
                    id: &id,
                    name: &self.tool_name(&id, "unknown"),
                    content: &convert_result(item.get("output")),
                    is_error: false,
                };
                self.add_tool_result(line, result, &["type", "call_id", "output"])?;
                Ok(Conversion::Converted)
            }
            ("tool_search_output", Some(id)) => {
                let status = item.get("status");
                let result = ToolResult {
                    id: &id,
                    name: &self.tool_name(&id, "tool_search"),
                    content: &convert_result(item.get("tools")),
                    is_error: status.is_some_and(|status| status.is("failed")),
                };
                self.add_tool_result(line, result, &["type", "call_id", "tools"])?;
                Ok(Conversion::Converted)
            }
            _ => Ok(Conversion::Unconverted),
        }
    }

    /// Whether an item repeats events that became messages in an earlier import. If so, forgets
    /// these events, because a later item with the same text is no repetition. Calls are not
    /// forgotten: the item of the result has the id of the call, too.
    fn forget_repeated_event(&mut self, item: Raw, item_type: &str) -> bool {
        let fingerprints = item_fingerprints(item);
        let repeats_events = !fingerprints.is_empty()
            && fingerprints
                .iter()
                .all(|fingerprint| self.event_fingerprints.contains(fingerprint));
        if repeats_events && matches!(item_type, "message" | "reasoning") {
            for fingerprint in &fingerprints {
                self.event_fingerprints.remove(fingerprint);
            }
        }
        repeats_events
    }

    /// Adds a message item, if any of its content has a counterpart.
    fn add_message_item(&mut self, line: &CodexLine) -> io::Result<Conversion> {
        let blocks = convert_content_blocks(line.payload.get("content").unwrap_or(Raw::NULL));
        if blocks.is_empty() {
            return Ok(Conversion::Unconverted);
        }
        let converted_keys = ["type", "role", "content"];
        let role = non_empty_text(line.payload, "role").unwrap_or_default();
        match &*role.to_string_lossy() {
            "user" => self.add_user_message(line, &array(blocks), &converted_keys)?,
            "assistant" => {
                let unconverted = line.unconverted_members(&converted_keys);
                self.hold_reply(line, blocks, unconverted)?;
            }
            // The developer or the system.
            role => self.add_context(line, role, &array(blocks), &converted_keys)?,
        }
        Ok(Conversion::Converted)
    }

    /// Adds a reasoning item, unless it is only encrypted.
    fn add_reasoning_item(&mut self, line: &CodexLine) -> io::Result<Conversion> {
        let thoughts = list_reasoning_texts(line.payload);
        if thoughts.is_empty() {
            return Ok(Conversion::Unconverted);
        }
        let blocks = thoughts.iter().map(thinking_block).collect();
        let unconverted = line.unconverted_members(&["type", "summary", "content"]);
        self.hold_reply(line, blocks, unconverted)?;
        Ok(Conversion::Converted)
    }

    /// Adds a call of the tool that the item names, if it names one. `arguments_key` is the key of
    /// the arguments, which differs between types of items.
    fn add_named_call(
        &mut self,
        line: &CodexLine,
        id: &Text,
        arguments_key: &str,
    ) -> io::Result<Conversion> {
        let Some(name) = non_empty_text(line.payload, "name") else {
            return Ok(Conversion::Unconverted);
        };
        let call = ToolCall {
            id,
            name: &name,
            arguments: &convert_arguments(line.payload.get(arguments_key)),
        };
        self.hold_tool_call(line, call, &["type", "name", "call_id", arguments_key])?;
        Ok(Conversion::Converted)
    }

    /// Adds a call of the tool `name`, which the type of the item stands for. `arguments_key` is
    /// the key of the arguments, which differs between types of items.
    fn add_typed_call(
        &mut self,
        line: &CodexLine,
        id: &Text,
        name: &str,
        arguments_key: &str,
    ) -> io::Result<Conversion> {
        let call = ToolCall {
            id,
            name: &Text::from(name),
            arguments: &convert_arguments(line.payload.get(arguments_key)),
        };
        self.hold_tool_call(line, call, &["type", "call_id", arguments_key])?;
        Ok(Conversion::Converted)
    }

    /// Whether an item repeats an event with this fingerprint, so that the event need not become a
    /// message. Only those items count that the import which added the event had read, because an
    /// import repeats what earlier imports decided.
    fn is_repeated_by_item(&self, line: &CodexLine, fingerprint: u64) -> bool {
        let Some(&first_item_offset) = self.first_item_offsets.get(&fingerprint) else {
            return false;
        };
        for &import_end in &self.earlier.ends {
            if line.offset < import_end {
                return first_item_offset < import_end;
            }
        }
        // This import adds the line, and has read the whole source.
        true
    }

    /// Returns the text of an event unless an item repeats it, and records that the event becomes a
    /// message, for items of later imports. `key` is the key of the text, and `speaker` that of
    /// [`fingerprint`].
    fn record_new_text<'a>(
        &mut self,
        line: &CodexLine<'a>,
        key: &str,
        speaker: &str,
    ) -> Option<Text<'a>> {
        let text = non_empty_text(line.payload, key)?;
        let fingerprint = fingerprint(speaker, &text);
        if self.is_repeated_by_item(line, fingerprint) {
            return None;
        }
        self.event_fingerprints.insert(fingerprint);
        Some(text)
    }

    /// Adds an event by its type. An event that an item repeats is not converted.
    fn add_event(&mut self, line: &CodexLine) -> io::Result<Conversion> {
        let event = line.payload;
        let Some(event_type) = non_empty_text(event, "type") else {
            return Ok(Conversion::Unconverted);
        };
        match &*event_type.to_string_lossy() {
            "user_message" => {
                let Some(text) = self.record_new_text(line, "message", "user") else {
                    return Ok(Conversion::Unconverted);
                };
                self.add_user_message(line, &encode_to_vec(&text), &["message"])?;
            }
            "agent_message" => {
                let Some(text) = self.record_new_text(line, "message", "assistant") else {
                    return Ok(Conversion::Unconverted);
                };
                let unconverted = line.unconverted_members(&["message"]);
                self.hold_reply(line, vec![text_block(&text)], unconverted)?;
            }
            "agent_reasoning" => {
                let Some(text) = self.record_new_text(line, "text", "assistant") else {
                    return Ok(Conversion::Unconverted);
                };
                let unconverted = line.unconverted_members(&["text"]);
                self.hold_reply(line, vec![thinking_block(&text)], unconverted)?;
            }
            "token_count" => return self.add_token_count(line),
            "thread_name_updated" => return self.add_session_name(line),
            "thread_rolled_back" => {
                let turn_count = event.get("num_turns").and_then(Raw::as_index).unwrap_or(0);
                self.roll_back(turn_count)?;
                // The line itself is kept as the first entry of the new branch.
                return Ok(Conversion::Unconverted);
            }
            event_type => return self.add_tool_event(event_type, line),
        }
        Ok(Conversion::Converted)
    }

    /// Adds the name of the session, unless it is blank.
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

    /// Adds the tokens of the last request, from the event that reports them.
    fn add_token_count(&mut self, line: &CodexLine) -> io::Result<Conversion> {
        let info = line.payload.get("info").unwrap_or(Raw::NULL);
        let [last_request, total] = find_members(info, ["last_token_usage", "total_token_usage"]);
        self.add_usage(line, last_request, total)
    }

    /// Adds the tokens of a response, from its record, which Codex has written since 0.171 before
    /// the event. The response has ended then.
    fn add_usage_record(&mut self, line: &CodexLine) -> io::Result<Conversion> {
        let [usage, total] = find_members(line.payload, ["usage", "thread_token_usage"]);
        let response_id = non_empty_text(line.payload, "response_id");
        if let Some(held) = &mut self.held_reply {
            held.response_id = response_id.map(Text::into_owned);
        }
        self.add_usage(line, usage, total)
    }

    /// Adds the tokens of the last request, which belong to the reply that is held. If no reply is
    /// held, they become an entry. `total` are the tokens of all requests. A report without tokens,
    /// or one that repeats an earlier report, is not converted.
    fn add_usage(
        &mut self,
        line: &CodexLine,
        last_request: Option<Raw>,
        total: Option<Raw>,
    ) -> io::Result<Conversion> {
        let Some(last_request) = last_request.filter(|usage| usage.is_object()) else {
            return Ok(Conversion::Unconverted);
        };

        // The total changes with each request, so an equal total is the same report again.
        let total = total.unwrap_or(last_request).bytes().to_vec();
        if self.total_usage.as_ref() == Some(&total) {
            return Ok(Conversion::Unconverted);
        }
        self.total_usage = Some(total);

        let tokens = |key| finite_or_zero(last_request.get(key));
        let cached_tokens = tokens("cached_input_tokens");
        let usage = Usage {
            // OpenAI counts the cached tokens as input, too.
            input: (tokens("input_tokens") - cached_tokens).max(0.0),
            output: tokens("output_tokens"),
            cache_read: cached_tokens,
            ..Usage::default()
        };
        self.context_tokens = tokens("total_tokens");
        let reasoning = last_request
            .get("reasoning_output_tokens")
            .and_then(Raw::number);
        let usage = usage_json(&usage, self.context_tokens, reasoning);

        if self.held_reply.is_some() {
            // The report itself has more, such as limits. As an entry after the reply, it is held
            // back as well, until the next statement adds both.
            self.keep_line(line)?;
            self.end_reply(usage)?;
            return Ok(Conversion::Converted);
        }
        let members = Object::new()
            .str("kind", "codex")
            .str("provider", PROVIDER)
            .text("model", &self.model)
            .json("usage", &usage)
            .json("codex", &line.unconverted_members(&[]).finish());
        self.add_entry(line.offset, "usage", members)?;
        Ok(Conversion::Converted)
    }

    /// Adds the model and the thinking level of a turn if they have changed. A level that pi does
    /// not have is left out.
    fn add_settings(&mut self, line: &CodexLine) -> io::Result<()> {
        self.release_reply()?;

        if let Some(model) = non_empty_text(line.payload, "model")
            && model != self.model
        {
            self.model = model.into_owned();
            let members = Object::new()
                .str("provider", PROVIDER)
                .text("modelId", &self.model);
            self.add_entry(line.offset, "model_change", members)?;
        }

        if let Some(level) = non_empty_text(line.payload, "effort")
            && THINKING_LEVELS.iter().any(|known| level == **known)
            && self.thinking_level.as_ref() != Some(&level)
        {
            let members = Object::new().text("thinkingLevel", &level);
            self.thinking_level = Some(level.into_owned());
            self.add_entry(line.offset, "thinking_level_change", members)?;
        }
        Ok(())
    }

    /// Adds a compaction, and after it the messages that replace the conversation: those in the
    /// line, or else those that [`History::compact`] rebuilds. A line with neither a summary nor
    /// messages is not converted.
    fn add_compaction(&mut self, line: &CodexLine) -> io::Result<Conversion> {
        self.release_reply()?;
        let message = line.payload.get("message").and_then(Raw::text);
        let replacements = line
            .payload
            .get("replacement_history")
            .filter(|history| history.is_array());
        if message.is_none() && replacements.is_none() {
            return Ok(Conversion::Unconverted);
        }

        let summary = message
            .map(|message| message.trim().into_owned())
            .filter(|summary| !summary.is_empty());
        // A compaction that keeps nothing names itself as the first kept entry.
        let own_id = self.writer.next_id(line.offset);
        let no_summary = Text::from(ENCRYPTED_SUMMARY);
        let members = Object::new()
            .text("summary", summary.as_ref().unwrap_or(&no_summary))
            .str("firstKeptEntryId", &own_id)
            .number("tokensBefore", self.context_tokens)
            .json("codex", &line.unconverted_members(&["message"]).finish());
        self.context_tokens = 0.0;
        self.add_entry(line.offset, "compaction", members)?;

        match replacements {
            Some(replacements) => {
                self.add_replacements(line, replacements, summary.as_ref())?;
            }
            None => {
                for content in self.history.compact() {
                    self.add_resent_content(line, &content)?;
                }
            }
        }
        Ok(Conversion::Converted)
    }

    /// Adds the messages that a compaction has in place of the conversation. A message that
    /// contains the summary is skipped, because the compaction itself has the summary. The texts of
    /// the user become the history that a later compaction sees.
    fn add_replacements(
        &mut self,
        line: &CodexLine,
        replacements: Raw,
        summary: Option<&Text>,
    ) -> io::Result<()> {
        self.history.last_user_text = None;
        for item in replacements.items() {
            let content = item.get("content").unwrap_or(Raw::NULL);
            let blocks = convert_content_blocks(content);
            if blocks.is_empty() {
                continue;
            }
            if let Some(summary) = summary {
                let text = join_texts(content);
                if text.to_string_lossy().contains(&*summary.to_string_lossy()) {
                    continue;
                }
            }

            let role = item.get("role").unwrap_or(Raw::NULL);
            if role.is("user") && begins_turn(content) {
                self.history.add_user_text(content);
            }
            if role.is("assistant") {
                // It is added at once, because no usage follows for it.
                self.hold_reply(line, blocks, Object::new())?;
                self.release_reply()?;
            } else {
                self.add_resent_content(line, &array(blocks))?;
            }
        }
        Ok(())
    }

    /// Adds content that is sent to the model again after a compaction.
    fn add_resent_content(&mut self, line: &CodexLine, content: &[u8]) -> io::Result<()> {
        let members = custom_message_members(Origin::Codex.name(), "compacted", content, false);
        self.add_entry(line.offset, "custom_message", members)
    }
}
