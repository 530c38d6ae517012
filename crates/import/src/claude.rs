//! Reads sessions of Claude Code: `~/.claude/projects/*/*.jsonl`.
//!
//! Each line has a `uuid` and a `parentUuid`, which give the tree. A response is written in several
//! lines that share `message.id`, one for each block, and becomes one message ([`parts`]). Calls
//! that run in parallel have their results below different ones of these lines. What is attached to
//! such a line is attached to the end of the response, so that no result is on a branch of its own,
//! and the calls are followed by their results ([`held`]). Lines that Claude Code writes a second
//! time, as it does before a compaction, are kept as custom entries.

mod attachments;
mod blocks;
mod held;
mod injected;
mod parts;
mod queue;

use super::writer::{EntryDraft, EntryWriter, NodeIx};
use super::{Origin, SourceReader};
use crate::parts::{
    custom_message_members, kept_line_members, non_empty_text, parse_time_ms, unconverted_members,
    usage_json,
};
use attachments::read_attachment;
use blocks::{
    answered_call_id, build_result_message, convert_response_block, convert_stop_reason,
    convert_user_block,
};
use foldhash::HashMap;
use held::HeldLine;
use injected::{InjectedKind, META_MESSAGE, classify_injected};
use parts::{OpenResponse, SourceLine, part_members};
use pisess_core::session::content::{
    find_members, finite_or_zero, is_block, join_text, text_content,
};
use pisess_core::session::usage::Usage;
use pisess_json::Raw;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use queue::PromptQueue;
use std::array::from_fn;
use std::borrow::Cow;
use std::io;

/// The model of messages that Claude Code makes itself.
const SYNTHETIC_MODEL: &str = "<synthetic>";

/// What the model sees of a result that a micro-compaction cleared.
const CLEARED_PLACEHOLDER: &str = "[Old tool result content cleared]";

/// The numbers of tokens in the usage of a response.
const TOKEN_KEYS: [&str; 4] = [
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
];

/// The reader of a source, with what the lines so far have shown.
#[derive(Default)]
pub struct ClaudeReader<'o> {
    writer: EntryWriter<'o>,
    /// The lines of the tree, by `uuid`.
    nodes_by_uuid: HashMap<Box<[u8]>, LineNodes>,
    responses: Vec<ResponseState>,
    /// The responses by their `message.id`.
    response_ids: HashMap<Box<[u8]>, ResponseIx>,
    /// The calls of tools, by their id.
    calls: HashMap<Box<[u8]>, ToolCallState>,
    /// The response whose parts are being read, with the lines that were read since it began.
    open_response: OpenResponse,
    /// The offset from which the lines of a response become one message.
    merged_from: u64,
    /// The lines that are held back, in the order of the source.
    held_lines: Vec<HeldLine>,
    /// The last entry of the main conversation.
    main_leaf: Option<NodeIx>,
    /// The last entry of all, side chains included.
    last_entry: Option<NodeIx>,
    /// The last entry before the first line of the tree.
    last_before_tree: Option<NodeIx>,
    model: Option<Text<'static>>,
    /// Whether a line of the tree was read. The first one shows whether the file is that of a
    /// sub-agent.
    has_tree: bool,
    /// Whether the whole file is that of a sub-agent.
    is_sub_agent_file: bool,
    /// Whether the user has named the session.
    has_user_title: bool,
    /// The time of the last line that was read.
    time_ms: i64,
    /// What the user typed while Claude Code worked.
    prompt_queue: PromptQueue,
    /// The compaction that was announced and whose summary has not been read yet.
    announced_compaction: AnnouncedCompaction,
}

/// The entries of a line.
#[derive(Clone, Copy)]
struct LineNodes {
    first: NodeIx,
    last: NodeIx,
    /// The response that the line is a part of, or has a result for.
    response: Option<ResponseIx>,
}

/// Where a line is attached.
#[derive(Clone, Copy)]
struct AttachPoint {
    /// The entry below whose end the line is; `None` for a root.
    parent: Option<NodeIx>,
    /// The response that this entry is a part of, or has a result for.
    response: Option<ResponseIx>,
}

impl AttachPoint {
    /// Returns the place below an entry, without regard to its response.
    fn below(parent: Option<NodeIx>) -> AttachPoint {
        AttachPoint {
            parent,
            response: None,
        }
    }
}

/// An index in [`ClaudeReader::responses`].
#[derive(Clone, Copy, PartialEq, Eq)]
struct ResponseIx(usize);

struct ResponseState {
    /// The last entry with a part of it.
    last_node: NodeIx,
    /// The tokens that its entries have together, as [`TOKEN_KEYS`].
    counted_tokens: [f64; 4],
    /// The number of its calls without a result, apart from those that are held.
    open_call_count: usize,
}

struct ToolCallState {
    name: Text<'static>,
    response: ResponseIx,
    place: CallPlace,
    /// Its last result.
    last_result: Option<NodeIx>,
}

/// What the line before a summary says about the compaction.
#[derive(Clone, Copy, Default)]
struct AnnouncedCompaction {
    /// The tokens in the context before it.
    tokens_before: f64,
    /// The first entry that it keeps.
    first_kept: Option<NodeIx>,
}

/// A line with the members that decide what becomes of it.
struct ClaudeLine<'a> {
    offset: u64,
    raw: Raw<'a>,
    kind: Option<Raw<'a>>,
    uuid: Option<Text<'a>>,
    parent: Option<Text<'a>>,
    /// Whether it names no parent at all, not even `null`, as files made by other programs do.
    lacks_parent: bool,
    message: Option<Raw<'a>>,
    /// Whether it is on a side chain of the file, which is where a sub-agent wrote.
    is_sidechain: bool,
    time_ms: i64,
}

/// Where a call is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum CallPlace {
    Session,
    /// In a line that is held back.
    HeldLine,
}

impl ToolCallState {
    /// Whether it is in the session, and has no result yet.
    fn is_open(&self) -> bool {
        self.place == CallPlace::Session && self.last_result.is_none()
    }
}

impl From<NodeIx> for LineNodes {
    /// The places of a line that has one entry, and is not part of a response.
    fn from(node: NodeIx) -> LineNodes {
        LineNodes {
            first: node,
            last: node,
            response: None,
        }
    }
}

impl ClaudeLine<'_> {
    /// Whether the member `key` is `true`.
    fn has_flag(&self, key: &str) -> bool {
        self.raw.get(key).and_then(Raw::bool) == Some(true)
    }

    fn new_draft(&self, kind: &'static str, members: Object) -> EntryDraft {
        EntryDraft {
            offset: self.offset,
            time_ms: self.time_ms,
            kind,
            members,
        }
    }

    /// Drafts an entry with a message, which lacks only its time. What the message has no place for
    /// is kept as the member `claude` of the entry: the members of the line except those with
    /// `converted_keys`, and in it the members of the source's message, with `unconverted_blocks`
    /// as its content.
    fn draft_message(
        &self,
        message: Object,
        converted_keys: &[&str],
        unconverted_blocks: &[Raw],
    ) -> EntryDraft {
        self.draft_response(message, converted_keys, unconverted_blocks, &[])
    }

    /// Does the same as [`draft_message`](Self::draft_message) for a message that was written in
    /// several lines. `parts` are the other lines, whose members are kept as `parts` of `claude`.
    /// The entry has the time of the last line, because that is when the message was complete.
    fn draft_response(
        &self,
        message: Object,
        converted_keys: &[&str],
        unconverted_blocks: &[Raw],
        parts: &[ClaudeLine],
    ) -> EntryDraft {
        let message = message.number("timestamp", self.time_ms as f64).finish();

        let mut unconverted_line =
            unconverted_members(self.raw, &[&["type", "message"], converted_keys].concat());
        if let Some(source_message) = self.message {
            let blocks: Vec<_> = unconverted_blocks
                .iter()
                .map(|block| block.bytes())
                .collect();
            let message_keys = ["type", "role", "content", "model", "id"];
            let unconverted_message = unconverted_members(source_message, &message_keys)
                .json_array("content", &blocks)
                .finish();
            if unconverted_message != b"{}" {
                unconverted_line = unconverted_line.json("message", &unconverted_message);
            }
        }
        if !parts.is_empty() {
            let parts = parts.iter().map(|part| part_members(self, part));
            unconverted_line = unconverted_line.json("parts", &array(parts));
        }

        let members = Object::new()
            .json("message", &message)
            .json("claude", &unconverted_line.finish());
        EntryDraft {
            time_ms: parts.last().map_or(self.time_ms, |part| part.time_ms),
            ..self.new_draft("message", members)
        }
    }

    /// Drafts a message of the role `user`: what the user wrote, or a custom message if Claude Code
    /// sends it in the name of the user. A line with `unconverted_blocks` is never a custom
    /// message, which has no place for them.
    fn draft_user_message(&self, content: &[u8], unconverted_blocks: &[Raw]) -> EntryDraft {
        let injected = if !unconverted_blocks.is_empty() {
            None
        } else if self.has_flag("isMeta") {
            Some(META_MESSAGE)
        } else {
            classify_injected(Raw::from_checked(content))
        };
        match injected {
            Some(injected) => self.draft_injected(injected, content),
            None => {
                let message = Object::new().str("role", "user").json("content", content);
                self.draft_message(message, &[], unconverted_blocks)
            }
        }
    }

    /// Drafts the custom message for an injected message. The other members of the line are kept as
    /// `claude`.
    fn draft_injected(&self, injected: InjectedKind, content: &[u8]) -> EntryDraft {
        let InjectedKind { kind, is_shown } = injected;
        let unconverted = unconverted_members(self.raw, &["type", "message"]).finish();
        let members = custom_message_members(Origin::Claude.name(), kind, content, is_shown)
            .json("claude", &unconverted);
        self.new_draft("custom_message", members)
    }
}

impl<'o> SourceReader<'o> for ClaudeReader<'o> {
    fn read_object(&mut self, offset: u64, raw: Raw) -> io::Result<()> {
        self.detect_sub_agent_file(raw);
        if !self.open_response.is_open() {
            let line = self.parse_line(offset, raw, self.time_ms);
            if !self.begins_response(&line) {
                return self.read_line(&line, &[]);
            }
        }
        self.read_later(SourceLine::object(offset, raw))
    }

    fn add_custom(&mut self, offset: u64, members: Object) -> io::Result<()> {
        self.read_later(SourceLine::custom(offset, members))
    }

    fn add_record(&mut self, draft: EntryDraft) -> io::Result<()> {
        // What a response lacks when an import ends becomes a message of its own in a later import.
        self.end_open_responses()?;
        self.keep_held_lines()?;
        // `main_leaf` may stay: the record is now the end of that entry, so that lines follow it.
        self.writer
            .append_record(self.main_leaf.or(self.last_entry), draft)?;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<EntryWriter<'o>> {
        self.end_open_responses()?;
        Ok(self.writer)
    }
}

impl<'o> ClaudeReader<'o> {
    /// Makes a reader that has read nothing. The lines of a response become one message if the
    /// first is at `merged_from` or after it.
    pub fn new(writer: EntryWriter<'o>, merged_from: u64) -> Self {
        ClaudeReader {
            writer,
            merged_from,
            ..ClaudeReader::default()
        }
    }

    /// Sets `is_sub_agent_file` if the first line of the tree is that of a sub-agent.
    fn detect_sub_agent_file(&mut self, raw: Raw) {
        if self.has_tree {
            return;
        }
        let [uuid, is_sidechain] = find_members(raw, ["uuid", "isSidechain"]);
        self.has_tree = uuid.is_some_and(Raw::is_string);
        if is_sidechain.and_then(Raw::bool) == Some(true)
            && non_empty_text(raw, "agentId").is_some()
        {
            self.is_sub_agent_file = true;
        }
    }

    /// Reads a line: adds its entries, or holds it back. `parts` are the other lines of the
    /// response that it begins.
    fn read_line(&mut self, line: &ClaudeLine, parts: &[ClaudeLine]) -> io::Result<()> {
        self.time_ms = line.time_ms;
        if self.is_repeated(line) {
            // It follows the main conversation, wherever its first occurrence is. Its entry is not
            // recorded, so lines after it are attached where they would be without it.
            let end_of_conversation = AttachPoint::below(self.main_leaf);
            self.keep_line(line, end_of_conversation)?;
            return Ok(());
        }

        if self.hold_line(line)? {
            return Ok(());
        }
        self.release_lines_before(line)?;
        self.add_line(line, parts)?;
        self.release_ready_lines()
    }

    /// Whether the line was read before.
    fn is_repeated(&self, line: &ClaudeLine) -> bool {
        match &line.uuid {
            Some(uuid) => self.nodes_by_uuid.contains_key(uuid.as_bytes()),
            None => false,
        }
    }

    /// Adds a custom entry to the main conversation.
    fn add_custom_entry(&mut self, offset: u64, members: Object) -> io::Result<()> {
        let draft = EntryDraft {
            offset,
            time_ms: self.time_ms,
            kind: "custom",
            members,
        };
        self.main_leaf = Some(self.writer.append(self.main_leaf, draft)?);
        Ok(())
    }

    /// Parses a line. A line without a time has the time of the line before it in the source,
    /// `previous_time_ms`.
    fn parse_line<'a>(&self, offset: u64, raw: Raw<'a>, previous_time_ms: i64) -> ClaudeLine<'a> {
        let names = [
            "type",
            "uuid",
            "parentUuid",
            "message",
            "isSidechain",
            "timestamp",
        ];
        let [kind, uuid, parent, message, is_sidechain, timestamp] = find_members(raw, names);
        let is_marked = is_sidechain.and_then(Raw::bool) == Some(true);
        let uuid = uuid.and_then(Raw::text);
        let lacks_parent = parent.is_none();
        let parent = parent.and_then(Raw::text);
        ClaudeLine {
            offset,
            raw,
            kind,
            uuid: uuid.filter(|id| !id.is_empty()),
            parent: parent.filter(|id| !id.is_empty()),
            lacks_parent,
            message: message.filter(|message| message.is_object()),
            // In the file of a sub-agent, every line is marked, and none is aside.
            is_sidechain: is_marked && !self.is_sub_agent_file,
            time_ms: parse_time_ms(timestamp).unwrap_or(previous_time_ms),
        }
    }

    /// Adds the entries of a line, and records them under its `uuid`, so that later lines can be
    /// attached to them. `parts` are the other lines of the response that it begins, which become a
    /// part of its message.
    fn add_line(&mut self, line: &ClaudeLine, parts: &[ClaudeLine]) -> io::Result<()> {
        let nodes = match self.convert_line(line, parts)? {
            Some(nodes) => nodes,
            None => self.keep_line(line, self.find_attach_point(line))?,
        };
        self.last_entry = Some(nodes.last);
        if !line.is_sidechain {
            self.main_leaf = Some(nodes.last);
        }
        if let Some(uuid) = &line.uuid {
            self.nodes_by_uuid.insert(uuid.as_bytes().into(), nodes);
        } else if self.nodes_by_uuid.is_empty() {
            self.last_before_tree = self.main_leaf;
        }
        for part in parts {
            if let Some(uuid) = &part.uuid {
                self.nodes_by_uuid.insert(uuid.as_bytes().into(), nodes);
            }
        }
        Ok(())
    }

    /// Adds the entries of a line, if its type has a counterpart; `None` if it has not, or the line
    /// lacks something.
    fn convert_line(
        &mut self,
        line: &ClaudeLine,
        parts: &[ClaudeLine],
    ) -> io::Result<Option<LineNodes>> {
        let Some(kind) = line.kind else {
            return Ok(None);
        };
        if line.message.is_some() {
            self.prompt_queue.forget_delivered();
        }
        match line.message {
            Some(message) if kind.is("user") => self.add_user_line(line, message),
            Some(message) if kind.is("assistant") => self.add_response(line, message, parts),
            None if kind.is("attachment") => self.add_attachment(line),
            None if kind.is("queue-operation") => self.add_queued_prompt(line),
            None if kind.is("custom-title") || kind.is("ai-title") || kind.is("summary") => {
                self.add_title(line, kind)
            }
            _ => Ok(None),
        }
    }

    /// Finds the entries of the line with this `uuid`.
    fn find_line(&self, uuid: &Text) -> Option<LineNodes> {
        self.nodes_by_uuid.get(uuid.as_bytes()).copied()
    }

    /// Finds where a line is attached:
    ///
    /// - A line whose parent was read is attached to its parent.
    /// - A line whose parent is missing follows the line before it: in the main conversation, or
    ///   for a line of a side chain, in the file.
    /// - A root, which has a `uuid` and the parent `null`, follows what was kept before the tree.
    /// - Any other line, such as the first one of a side chain, follows the main conversation.
    fn find_attach_point(&self, line: &ClaudeLine) -> AttachPoint {
        let Some(uuid) = &line.parent else {
            let is_root = line.uuid.is_some() && !line.lacks_parent && !line.is_sidechain;
            let parent = if is_root {
                self.last_before_tree
            } else {
                self.main_leaf
            };
            return AttachPoint::below(parent);
        };
        if let Some(parent) = self.find_line(uuid) {
            return AttachPoint {
                parent: Some(parent.last),
                response: parent.response,
            };
        }
        AttachPoint::below(if line.is_sidechain {
            self.last_entry
        } else {
            self.main_leaf
        })
    }

    /// Keeps a line without a counterpart as a custom entry. If the line clears results of tools,
    /// an edit of each result follows it. A line that announces a compaction has its own place.
    fn keep_line(&mut self, line: &ClaudeLine, attach_point: AttachPoint) -> io::Result<LineNodes> {
        let subtype = line.raw.get("subtype");
        if subtype.is_some_and(|subtype| subtype.is("compact_boundary")) {
            return self.keep_boundary(line);
        }

        let first = self
            .writer
            .append(attach_point.parent, draft_kept_line(line))?;

        let mut last = first;
        for cleared in list_cleared_results(line.raw) {
            // A result that was not read cannot be edited.
            let Some(call) = self.calls.get(cleared.call_id.as_bytes()) else {
                continue;
            };
            let Some(result) = call.last_result else {
                continue;
            };
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

    /// Keeps the line that announces a compaction, and remembers what it says for the summary,
    /// which follows in a line of its own.
    ///
    /// If the compaction preserves messages, the line is appended to the last of them. What is
    /// attached to that message later follows this line. The messages after it, which are
    /// summarized, stay on a branch of their own.
    fn keep_boundary(&mut self, line: &ClaudeLine) -> io::Result<LineNodes> {
        let draft = draft_kept_line(line);
        let tokens = line
            .raw
            .get("compactMetadata")
            .and_then(|data| data.get("preTokens"));
        self.announced_compaction.tokens_before = finite_or_zero(tokens);
        self.announced_compaction.first_kept = None;

        if let Some(preserved) = find_preserved_messages(line.raw)
            && let Some(first) = self.find_line(&preserved.first)
            && let Some(last) = self.find_line(&preserved.last)
        {
            let node = self.writer.append(Some(last.last), draft)?;
            self.announced_compaction.first_kept = Some(first.first);
            return Ok(node.into());
        }

        let parent = non_empty_text(line.raw, "logicalParentUuid").or_else(|| line.parent.clone());
        let before = parent
            .and_then(|parent| self.find_line(&parent))
            .map(|parent| parent.last)
            .or(self.main_leaf);
        let node = self.writer.add_below_end(before, draft)?;
        Ok(node.into())
    }

    /// Adds what the user, a tool or Claude Code itself sends to the model.
    fn add_user_line(&mut self, line: &ClaudeLine, message: Raw) -> io::Result<Option<LineNodes>> {
        let content = message.get("content").unwrap_or(Raw::NULL);
        if line.has_flag("isCompactSummary") {
            let summary = join_text(Some(content), "\n");
            if !summary.is_blank() {
                let node = self.add_compaction(line, &summary)?;
                return Ok(Some(node.into()));
            }
        }

        let has_results = content.items().any(|block| is_block(block, "tool_result"));
        if line.has_flag("isMeta") && !has_results {
            return self.add_meta_message(line, content);
        }

        let Some(text) = content.text() else {
            return self.add_user_blocks(line, content);
        };
        if text.is_empty() {
            return Ok(None);
        }
        let parent = self.find_attach_point(line).parent;
        let draft = line.draft_user_message(&encode_to_vec(&text), &[]);
        let node = self.writer.add_below_end(parent, draft)?;
        Ok(Some(node.into()))
    }

    /// Adds a list of blocks: a message for each result of a tool, and one for the texts and images
    /// before, between and after them.
    fn add_user_blocks(
        &mut self,
        line: &ClaudeLine,
        content: Raw,
    ) -> io::Result<Option<LineNodes>> {
        let mut unconverted = Vec::new();
        let mut result_count = 0;
        for block in content.items() {
            if answered_call_id(block).is_some() {
                result_count += 1;
            } else if convert_user_block(block).is_none() {
                unconverted.push(block);
            }
        }

        // The details of a line belong to its result. If it has several, they cannot be assigned.
        let details = if result_count == 1 {
            line.raw.get("toolUseResult")
        } else {
            None
        };
        let attach_point = self.find_attach_point(line);
        let mut user_blocks = UserBlocks {
            line,
            unconverted,
            details,
            response: attach_point.response,
            first: None,
            last: attach_point.parent,
            has_result: false,
        };

        let mut parts = Vec::new();
        for block in content.items() {
            if let Some(part) = convert_user_block(block) {
                parts.push(part);
            } else if let Some(call_id) = answered_call_id(block) {
                self.add_user_parts(&mut user_blocks, &mut parts)?;
                self.add_result(&mut user_blocks, block, &call_id)?;
            }
            // Any other block does not divide the parts: those before and after it are one message.
        }
        self.add_user_parts(&mut user_blocks, &mut parts)?;

        let (Some(first), Some(last)) = (user_blocks.first, user_blocks.last) else {
            return Ok(None);
        };
        Ok(Some(LineNodes {
            first,
            last,
            response: if user_blocks.has_result {
                attach_point.response
            } else {
                None
            },
        }))
    }

    /// Adds these texts and images, if there are any, as one message, and empties the list.
    fn add_user_parts(
        &mut self,
        user_blocks: &mut UserBlocks,
        parts: &mut Vec<Vec<u8>>,
    ) -> io::Result<()> {
        if parts.is_empty() {
            return Ok(());
        }
        let content = array(std::mem::take(parts));
        let draft = user_blocks
            .line
            .draft_user_message(&content, user_blocks.unconverted_for_next());
        let node = self.writer.add_below_end(user_blocks.last, draft)?;
        user_blocks.record_added(node);
        Ok(())
    }

    /// Adds the result of a call.
    fn add_result(
        &mut self,
        user_blocks: &mut UserBlocks,
        block: Raw,
        call_id: &Text,
    ) -> io::Result<()> {
        self.release_call(call_id.as_bytes())?;
        let call = self.calls.get(call_id.as_bytes());
        let is_second = call.is_some_and(|call| call.last_result.is_some());
        let name = call.map(|call| call.name.clone());
        let message = build_result_message(block, call_id, name, user_blocks.details);
        let converted_keys: &[&str] = match user_blocks.details {
            Some(_) => &["toolUseResult"],
            None => &[],
        };
        let draft = user_blocks.line.draft_message(
            message,
            converted_keys,
            user_blocks.unconverted_for_next(),
        );

        let node = match user_blocks.response {
            // A second result of a call begins another branch.
            Some(response) if is_second && !user_blocks.has_result => {
                let end = self.responses[response.0].last_node;
                self.writer.add_child(Some(end), draft)?
            }
            Some(_) => self.writer.append(user_blocks.last, draft)?,
            None => self.writer.add_child(user_blocks.last, draft)?,
        };

        user_blocks.record_added(node);
        user_blocks.has_result = true;
        if let Some(call) = self.calls.get_mut(call_id.as_bytes()) {
            if call.is_open() {
                self.responses[call.response.0].open_call_count -= 1;
            }
            call.last_result = Some(node);
        }
        Ok(())
    }

    /// Adds what Claude Code sends to the model without showing it to the user.
    fn add_meta_message(
        &mut self,
        line: &ClaudeLine,
        content: Raw,
    ) -> io::Result<Option<LineNodes>> {
        let content = match content.text() {
            Some(text) if !text.is_empty() => content.bytes().to_vec(),
            _ => array(content.items().filter_map(convert_user_block)),
        };
        if content == b"[]" {
            return Ok(None);
        }
        let parent = self.find_attach_point(line).parent;
        let draft = line.draft_injected(META_MESSAGE, &content);
        let node = self.writer.append(parent, draft)?;
        Ok(Some(node.into()))
    }

    /// Adds what the user typed while Claude Code worked, or a file that the user mentioned.
    fn add_attachment(&mut self, line: &ClaudeLine) -> io::Result<Option<LineNodes>> {
        let Some(attachment) = read_attachment(line.raw) else {
            return Ok(None);
        };
        let text = Raw::from_checked(&attachment.content).text();
        if text.is_some_and(|text| self.prompt_queue.take_attached(&text)) {
            return Ok(None);
        }
        let parent = self.find_attach_point(line).parent;
        let draft = match attachment.injected {
            Some(injected) => line.draft_injected(injected, &attachment.content),
            None => {
                let message = Object::new()
                    .str("role", "user")
                    .json("content", &attachment.content);
                line.draft_message(message, &[], &[])
            }
        };
        let node = self.writer.append(parent, draft)?;
        Ok(Some(node.into()))
    }

    /// Adds what the user typed while Claude Code worked, if this line of the queue shows that the
    /// turn takes it up.
    fn add_queued_prompt(&mut self, line: &ClaudeLine) -> io::Result<Option<LineNodes>> {
        let has_open_call = self
            .responses
            .iter()
            .any(|response| response.open_call_count > 0);
        let Some(text) = self.prompt_queue.read_operation(line.raw, !has_open_call) else {
            return Ok(None);
        };
        let draft = line.draft_user_message(&encode_to_vec(&text), &[]);
        let parent = self.find_attach_point(line).parent;
        let node = self.writer.append(parent, draft)?;
        Ok(Some(node.into()))
    }

    /// Adds the summary of a compaction.
    fn add_compaction(&mut self, line: &ClaudeLine, summary: &Text) -> io::Result<NodeIx> {
        let known_parent = line.parent.as_ref().and_then(|id| self.find_line(id));
        let predecessor = match known_parent {
            Some(parent) => Some(parent.last),
            None if line.is_sidechain => None,
            None => self.main_leaf,
        };
        let parent = predecessor.map(|above| self.writer.resolve_end(above));

        let AnnouncedCompaction {
            tokens_before,
            first_kept,
        } = std::mem::take(&mut self.announced_compaction);
        let first_kept_id = match (first_kept, parent) {
            (Some(kept), Some(parent)) if self.writer.is_ancestor_or_self(kept, parent) => {
                self.writer.entry_id(kept)
            }
            // Its own id: it keeps nothing.
            _ => self.writer.next_id(line.offset),
        };

        let rest = unconverted_members(line.raw, &["type", "message"]);
        let members = Object::new()
            .text("summary", summary)
            .str("firstKeptEntryId", &first_kept_id)
            .number("tokensBefore", tokens_before)
            .json("claude", &rest.finish());
        self.writer
            .append(parent, line.new_draft("compaction", members))
    }

    /// Adds a response, or a part of it that comes too late to be merged. Claude Code writes a
    /// response block by block; `parts` are the lines after the first. Returns `None`, and adds
    /// nothing, if it has neither a block with a counterpart nor an error.
    fn add_response(
        &mut self,
        line: &ClaudeLine,
        message: Raw,
        parts: &[ClaudeLine],
    ) -> io::Result<Option<LineNodes>> {
        let content = content_as_blocks(message);
        let content = Raw::from_checked(&content);
        let blocks = ResponseBlocks::convert(content, parts);
        let error = non_empty_text(line.raw, "error");
        if blocks.converted.is_empty() && error.is_none() {
            return Ok(None);
        }

        let attach_point = self.find_attach_point(line).parent;
        let continued = self.find_continued_response(line);
        let model = match non_empty_text(message, "model") {
            Some(model) => model.into_owned(),
            None => Text::from("unknown"),
        };
        let model_change = self.add_model_change(line, &model, continued, attach_point)?;
        let parent = model_change.or(attach_point);

        let messages = || {
            let later_messages = parts.iter().filter_map(|part| part.message);
            std::iter::once(message).chain(later_messages)
        };
        let tokens = self.uncounted_tokens(continued, messages());
        let id = non_empty_text(message, "id");
        let error_status = line
            .raw
            .get("apiErrorStatus")
            .filter(|status| status.is_number());
        let converted = Object::new()
            .str("role", "assistant")
            .json("content", &array(&blocks.converted))
            .str("api", "anthropic-messages")
            .str("provider", "anthropic")
            .text("model", &model)
            .json("usage", &tokens.usage)
            .str("stopReason", blocks.stop_reason(line, messages()))
            .with(id.as_ref(), |message, id| message.text("responseId", id))
            .with(error.as_ref(), |message, error| {
                message.text("errorMessage", error)
            })
            .with(error_status, |message, status| {
                message.raw("errorStatus", status)
            });
        let draft = line.draft_response(
            converted,
            &["error", "apiErrorStatus"],
            &blocks.unconverted,
            parts,
        );
        let last = self.add_response_part(continued, parent, draft)?;

        let response = self.remember_response(continued, last, tokens.counted_tokens);
        let part_blocks = parts.iter().flat_map(ClaudeLine::blocks);
        self.remember_calls(
            response,
            content.items().chain(part_blocks),
            CallPlace::Session,
        );
        if let Some(id) = id {
            self.response_ids.insert(id.as_bytes().into(), response);
        }
        Ok(Some(LineNodes {
            first: model_change.unwrap_or(last),
            last,
            response: Some(response),
        }))
    }

    /// Adds a change of the model before a response, if another model wrote it than the responses
    /// before. Side chains may have their own model, and messages that Claude Code makes itself have
    /// none.
    fn add_model_change(
        &mut self,
        line: &ClaudeLine,
        model: &Text<'static>,
        continued: Option<ResponseIx>,
        parent: Option<NodeIx>,
    ) -> io::Result<Option<NodeIx>> {
        let is_known = self.model.as_ref() == Some(model);
        if line.is_sidechain || *model == SYNTHETIC_MODEL || is_known {
            return Ok(None);
        }
        let members = Object::new()
            .str("provider", "anthropic")
            .text("modelId", model);
        let change = line.new_draft("model_change", members);
        let node = self.add_response_part(continued, parent, change)?;
        self.model = Some(model.clone());
        Ok(Some(node))
    }

    /// Finds the response that a line continues: the one with the same `message.id`, if the line is
    /// attached to a line of it.
    fn find_continued_response(&self, line: &ClaudeLine) -> Option<ResponseIx> {
        let id = non_empty_text(line.message?, "id")?;
        let response = *self.response_ids.get(id.as_bytes())?;
        if self.find_attach_point(line).response == Some(response) {
            Some(response)
        } else {
            None
        }
    }

    /// Adds an entry of a response: to the end of its entries if the response is continued, else
    /// below `parent`.
    fn add_response_part(
        &mut self,
        continued: Option<ResponseIx>,
        parent: Option<NodeIx>,
        draft: EntryDraft,
    ) -> io::Result<NodeIx> {
        if continued.is_some() {
            self.writer.append(parent, draft)
        } else {
            self.writer.add_below_end(parent, draft)
        }
    }

    /// Records the calls among these blocks of a response, whose results come later.
    ///
    /// Invariant: `open_call_count` of a response is the number of its calls that are open.
    fn remember_calls<'a>(
        &mut self,
        response: ResponseIx,
        blocks: impl Iterator<Item = Raw<'a>>,
        place: CallPlace,
    ) {
        for block in blocks {
            if !is_block(block, "tool_use") {
                continue;
            }
            let Some(id) = non_empty_text(block, "id") else {
                continue;
            };
            let Some(name) = non_empty_text(block, "name") else {
                continue;
            };
            let call = ToolCallState {
                name: name.into_owned(),
                response,
                place,
                last_result: None,
            };
            if call.is_open() {
                self.responses[response.0].open_call_count += 1;
            }
            let replaced = self.calls.insert(id.as_bytes().into(), call);
            if let Some(replaced) = replaced
                && replaced.is_open()
            {
                self.responses[replaced.response.0].open_call_count -= 1;
            }
        }
    }

    /// Updates the state of the response that is continued, or stores that of a new response.
    /// Returns its index.
    fn remember_response(
        &mut self,
        continued: Option<ResponseIx>,
        last_node: NodeIx,
        counted_tokens: [f64; 4],
    ) -> ResponseIx {
        if let Some(ix) = continued {
            let response = &mut self.responses[ix.0];
            response.last_node = last_node;
            response.counted_tokens = counted_tokens;
            return ix;
        }
        self.responses.push(ResponseState {
            last_node,
            counted_tokens,
            open_call_count: 0,
        });
        ResponseIx(self.responses.len() - 1)
    }

    /// Returns the tokens that these messages, which are parts of one response, add to its usage.
    /// Each repeats the usage of the whole response so far, so the largest numbers count, and of
    /// them only what the entries of earlier parts do not have. `continued` is the response if
    /// there are earlier parts.
    fn uncounted_tokens<'a>(
        &self,
        continued: Option<ResponseIx>,
        messages: impl Iterator<Item = Raw<'a>>,
    ) -> ResponseTokens {
        let already_counted = match continued {
            Some(response) => self.responses[response.0].counted_tokens,
            None => [0.0; 4],
        };
        let mut reported = [0.0_f64; 4];
        for message in messages {
            let usage = message.get("usage").unwrap_or(Raw::NULL);
            for (count, key) in reported.iter_mut().zip(TOKEN_KEYS) {
                *count = count.max(finite_or_zero(usage.get(key)));
            }
        }
        let [input, output, cache_read, cache_write] =
            from_fn(|kind| (reported[kind] - already_counted[kind]).max(0.0));
        let added = Usage {
            input,
            output,
            cache_read,
            cache_write,
            ..Usage::default()
        };
        ResponseTokens {
            counted_tokens: from_fn(|kind| reported[kind].max(already_counted[kind])),
            usage: usage_json(&added, reported.iter().sum(), None),
        }
    }

    /// Adds a name of the session. A name that the user chose is not replaced by another.
    fn add_title(&mut self, line: &ClaudeLine, kind: Raw) -> io::Result<Option<LineNodes>> {
        let is_by_user = kind.is("custom-title");
        let name = if is_by_user {
            non_empty_text(line.raw, "customTitle")
        } else if self.has_user_title {
            None
        } else if kind.is("ai-title") {
            non_empty_text(line.raw, "aiTitle")
        } else {
            self.own_summary(line)
        };
        let Some(name) = name else {
            return Ok(None);
        };
        if name.is_blank() || Some(&name) == self.writer.name.as_ref() {
            return Ok(None);
        }

        if is_by_user {
            self.has_user_title = true;
        }
        self.writer.name = Some(name.clone().into_owned());
        let rest = unconverted_members(line.raw, &["customTitle", "aiTitle"]);
        let members = Object::new()
            .text("name", &name)
            .json("claude", &rest.finish());
        let draft = line.new_draft("session_info", members);
        let node = self.writer.append(self.main_leaf, draft)?;
        Ok(Some(node.into()))
    }

    /// The name in a `summary` line of this session. Old files also have summaries of other
    /// sessions, whose `leafUuid` is not the id of a line here.
    fn own_summary<'a>(&self, line: &ClaudeLine<'a>) -> Option<Text<'a>> {
        let leaf = non_empty_text(line.raw, "leafUuid")?;
        self.find_line(&leaf)?;
        non_empty_text(line.raw, "summary")
    }
}

/// The blocks of a response.
struct ResponseBlocks<'a> {
    /// The JSON of the blocks of all its lines, as pi has them.
    converted: Vec<Vec<u8>>,
    /// The blocks of the first line that have no counterpart.
    unconverted: Vec<Raw<'a>>,
}

impl<'a> ResponseBlocks<'a> {
    /// Converts the content of the first line, and that of the other lines.
    fn convert(content: Raw<'a>, parts: &[ClaudeLine]) -> ResponseBlocks<'a> {
        let mut converted = Vec::new();
        let mut unconverted = Vec::new();
        for block in content.items() {
            match convert_response_block(block) {
                Some(block) => converted.push(block),
                None => unconverted.push(block),
            }
        }
        for part in parts {
            converted.extend(part.blocks().filter_map(convert_response_block));
        }
        ResponseBlocks {
            converted,
            unconverted,
        }
    }

    /// Returns why the response ended, as pi says it. `line` is its first line; the last of the
    /// `messages` with a reason has it, because the lines before it are written while the response
    /// goes on. Without any reason, a response with a call waits for the result.
    fn stop_reason<'m>(
        &self,
        line: &ClaudeLine,
        messages: impl DoubleEndedIterator<Item = Raw<'m>>,
    ) -> &'static str {
        let mut reasons = messages.filter_map(|message| message.get_some("stop_reason"));
        let reason = reasons.next_back();
        let mut blocks = self.converted.iter();
        let has_call = blocks.any(|block| is_block(Raw::from_checked(block), "toolCall"));
        if reason.is_none() && has_call {
            return "toolUse";
        }
        convert_stop_reason(reason, line.has_flag("isApiErrorMessage"))
    }
}

/// Returns the content of a message as an array of blocks. Claude Code writes blocks; programs that
/// write its files also write a string.
fn content_as_blocks<'a>(message: Raw<'a>) -> Cow<'a, [u8]> {
    let content = message.get("content").unwrap_or(Raw::NULL);
    match content.text() {
        Some(text) if !text.is_empty() => Cow::Owned(text_content(&text)),
        _ => Cow::Borrowed(content.bytes()),
    }
}

/// The tokens of a response, once a line of it is read.
struct ResponseTokens {
    /// Those that its entries have together, as [`TOKEN_KEYS`].
    counted_tokens: [f64; 4],
    /// The `usage` object of the entry.
    usage: Vec<u8>,
}

/// A line with a list of blocks whose messages are being added.
struct UserBlocks<'a> {
    line: &'a ClaudeLine<'a>,
    /// The blocks without a counterpart.
    unconverted: Vec<Raw<'a>>,
    /// The result of its only call, as Claude Code stores it.
    details: Option<Raw<'a>>,
    /// The response to which the line is attached.
    response: Option<ResponseIx>,
    /// The first message of the line.
    first: Option<NodeIx>,
    /// The last message of the line, or else the entry to which the line is attached.
    last: Option<NodeIx>,
    has_result: bool,
}

impl<'a> UserBlocks<'a> {
    /// The blocks without a counterpart that the next message of the line keeps: all of them if it
    /// is the first message, and else none.
    fn unconverted_for_next(&self) -> &[Raw<'a>] {
        match self.first {
            None => &self.unconverted,
            Some(_) => &[],
        }
    }

    /// Records that a message of the line was added.
    fn record_added(&mut self, node: NodeIx) {
        self.first = self.first.or(Some(node));
        self.last = Some(node);
    }
}

/// Drafts the custom entry that keeps a line: `claude.TYPE`, or `claude.TYPE.SUBTYPE`.
fn draft_kept_line(line: &ClaudeLine) -> EntryDraft {
    let mut name = match line.kind.and_then(Raw::text) {
        Some(line_type) => line_type.to_string(),
        None => "line".to_owned(),
    };
    if let Some(subtype) = non_empty_text(line.raw, "subtype") {
        name.push_str(&format!(".{subtype}"));
    }
    let members = kept_line_members(Origin::Claude.name(), &name, line.raw.bytes());
    line.new_draft("custom", members)
}

/// The messages that a compaction preserves, by the `uuid` of their lines.
struct PreservedMessages<'a> {
    first: Text<'a>,
    last: Text<'a>,
}

/// Reads which messages a compaction preserves, from the line that announces it. It has a list of
/// all of them, or else the first and the last of a segment.
fn find_preserved_messages(boundary: Raw<'_>) -> Option<PreservedMessages<'_>> {
    let metadata = boundary.get("compactMetadata")?;
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

/// A result that the model no longer sees as it was.
struct ClearedResult<'a> {
    /// The id of its call.
    call_id: Text<'a>,
    /// What the model sees instead.
    replacement: Text<'a>,
}

/// Lists the results that the model no longer sees as they were after a line. A micro-compaction
/// lists only the ids of their calls. A line of the type `content-replacement` has for each call
/// the text that replaces its result.
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
