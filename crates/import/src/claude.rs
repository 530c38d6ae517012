//! Reads sessions of Claude Code: `~/.claude/projects/*/*.jsonl`.
//!
//! Each line has a `uuid` and a `parentUuid`, which give the tree.
//!
//! A response is written in several lines, one for each block, which share `message.id`. These
//! lines become one message ([`parts`]). If calls run in parallel, their results are below
//! different lines of the response. In the session, everything below such a line is attached to the
//! end of the response. So no result is on a branch of its own, and calls are followed by their
//! results ([`held`]).
//!
//! Lines that Claude Code writes a second time, as it does before a compaction, are kept as custom
//! entries.

mod attachments;
mod blocks;
mod compaction;
pub mod format;
mod held;
mod injected;
mod kept;
mod line;
mod parts;
mod queue;
mod response;
mod user;
mod uuids;
pub mod write;

use super::SourceReader;
use super::writer::{EntryDraft, EntryWriter, NodeIx};
use crate::parts::{non_empty_text, unconverted_members};
use crate::returned::{ReturnedLine, lacks_content, restore_content};
use compaction::AnnouncedCompaction;
use foldhash::HashMap;
use held::HeldLine;
use line::ClaudeLine;
use parts::{OpenResponse, SourceLine};
use pisess_json::Raw;
use pisess_json::outline::Outlined;
use pisess_json::text::Text;
use pisess_json::write::Object;
use queue::PromptQueue;
use response::{ResponseIx, ResponseState, ToolCallState};
use std::io;
use uuids::NodesByUuid;

/// The reader of a source, with the state after the lines that were read so far.
#[derive(Default)]
pub struct ClaudeReader<'o> {
    writer: EntryWriter<'o>,
    /// The lines of the tree.
    nodes_by_uuid: NodesByUuid,
    responses: Vec<ResponseState>,
    /// The responses by their `message.id`.
    response_ids: HashMap<Box<[u8]>, ResponseIx>,
    /// The calls of tools, by their id.
    calls: HashMap<Box<[u8]>, ToolCallState>,
    /// The response whose parts are being read, with the lines that were read since it began.
    open_response: OpenResponse,
    /// The offset of [`EarlierImports::merged_from`](crate::EarlierImports::merged_from): from
    /// there on, the lines of a response become one message.
    merged_from: u64,
    /// The lines that are held back, in the order of the source.
    held_lines: Vec<HeldLine>,
    /// The entries of lines of the type `progress`. Each has the entry below which the first line
    /// of its chain is: that of the call.
    progress_starts: HashMap<NodeIx, NodeIx>,
    /// The last entry of the main conversation.
    main_leaf: Option<NodeIx>,
    /// The last entry of all, side chains included.
    last_entry: Option<NodeIx>,
    /// The last entry before the first line of the tree.
    last_before_tree: Option<NodeIx>,
    model: Option<Text<'static>>,
    /// Whether a line of the tree was read. Only the first one shows whether a sub-agent wrote the
    /// file.
    has_tree: bool,
    /// Whether a sub-agent wrote the whole file.
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

/// Where the entries of a line are attached in the tree.
#[derive(Clone, Copy)]
struct AttachPoint {
    /// The entry that the line follows; `None` for a root. If other entries were appended to this
    /// entry, the line follows the last of them.
    parent: Option<NodeIx>,
    /// The response that this entry is a part of, or has a result for.
    response: Option<ResponseIx>,
}

impl AttachPoint {
    /// Returns the place below an entry, as a place that belongs to no response.
    fn below(parent: Option<NodeIx>) -> AttachPoint {
        AttachPoint {
            parent,
            response: None,
        }
    }
}

impl From<NodeIx> for LineNodes {
    /// Makes the record of a line that has one entry, and belongs to no response.
    fn from(node: NodeIx) -> LineNodes {
        LineNodes {
            first: node,
            last: node,
            response: None,
        }
    }
}

impl<'o> SourceReader<'o> for ClaudeReader<'o> {
    /// Reads a line. Its entries are added at once, unless the line has to wait for the end of a
    /// response whose lines become one message.
    fn read_object(&mut self, offset: u64, value: Outlined) -> io::Result<()> {
        self.detect_sub_agent_file(value);
        let mut line = self.parse_line(offset, value, self.time_ms);
        if line.returned.is_some() {
            // pisess wrote the line, so it is no part of a response: an open response has ended.
            self.end_open_responses()?;
            line.set_previous_time(self.time_ms);
            // A second copy of such a line, made by Claude Code, is read as any other copy below.
            if !self.is_repeated(&line) {
                return self.read_returned_line(&line);
            }
        }

        // The line either becomes a part of the open response, or ends it. When a response ends,
        // the lines that waited for its end are read, and one of them may open the next response.
        while self.open_response.is_open() {
            let is_added = self.add_to_open_response(&line)?;
            if is_added {
                return Ok(());
            }
            // The lines that waited come before this one, so the time may be another now.
            line.set_previous_time(self.time_ms);
        }

        if self.begins_response(&line) {
            self.open_response(&line);
            return Ok(());
        }
        self.read_line(&line, &[])
    }

    fn add_custom(&mut self, offset: u64, members: Object) -> io::Result<()> {
        self.read_later(SourceLine::custom(offset, members))
    }

    fn add_record(&mut self, draft: EntryDraft) -> io::Result<()> {
        // If a response has further lines, a later import adds them as messages of their own.
        self.end_open_responses()?;
        self.keep_held_lines()?;
        // `main_leaf` need not change: lines below that entry now follow the record.
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
    /// first line is at the offset `merged_from` or after it.
    pub fn new(writer: EntryWriter<'o>, merged_from: u64) -> Self {
        ClaudeReader {
            writer,
            merged_from,
            ..ClaudeReader::default()
        }
    }

    /// Sets `is_sub_agent_file` if a sub-agent wrote the first line of the tree:
    ///
    /// ```text
    /// {"uuid":"…","isSidechain":true,"agentId":"a1b2", …}
    /// ```
    ///
    /// Later lines decide nothing: a session of the user may have lines of sub-agents, too.
    fn detect_sub_agent_file(&mut self, line: Outlined) {
        if self.has_tree {
            return;
        }
        let [uuid, is_sidechain] = line.get_all(["uuid", "isSidechain"]);
        self.has_tree = uuid.is_some_and(|uuid| uuid.is_string());

        let is_sidechain = is_sidechain.is_some_and(|mark| mark.bool() == Some(true));
        let has_agent_id = non_empty_text(line, "agentId").is_some();
        if is_sidechain && has_agent_id {
            self.is_sub_agent_file = true;
        }
    }

    /// Reads a line: adds its entries, or holds it back (see [`held`]). If the line begins a
    /// response, `parts` are the other lines of the response.
    fn read_line(&mut self, line: &ClaudeLine, parts: &[ClaudeLine]) -> io::Result<()> {
        self.time_ms = line.time_ms;
        if self.is_repeated(line) {
            // The line is kept at the end of the main conversation, wherever it was first. Its
            // entry is not recorded, so lines below it are attached where they would be without it.
            let end_of_conversation = AttachPoint::below(self.main_leaf);
            self.keep_line(line, end_of_conversation)?;
            return Ok(());
        }

        let is_held = self.hold_line(line)?;
        if is_held {
            return Ok(());
        }
        // Lines of a response that this line ends come before it.
        self.release_lines_before(line)?;
        self.add_line(line, parts)?;
        // Other lines may have waited for a result in this line.
        self.release_ready_lines()
    }

    /// Reads a line that pisess wrote when it made a session for Claude Code. Adds the entry of pi
    /// that is stored in the line. A line without an entry, such as the boundary of a compaction,
    /// is skipped: pisess wrote it only because Claude Code needs it.
    fn read_returned_line(&mut self, line: &ClaudeLine) -> io::Result<()> {
        self.time_ms = line.time_ms;
        let stored_entry = line.returned.as_ref().and_then(ReturnedLine::entry);
        match stored_entry {
            Some(entry) => self.add_returned_entry(line, entry),
            None => {
                self.link_through_skipped_line(line);
                Ok(())
            }
        }
    }

    /// Records the entries above a skipped line as its entries, so that lines below it are attached
    /// to them. The logical parent counts more than the parent, which a boundary does not have:
    ///
    /// ```text
    /// {"parentUuid":null,"logicalParentUuid":"…","subtype":"compact_boundary", …}
    /// ```
    fn link_through_skipped_line(&mut self, line: &ClaudeLine) {
        let Some(uuid) = &line.uuid else {
            return;
        };
        let logical_parent = non_empty_text(line.value, "logicalParentUuid");
        let Some(parent) = logical_parent.or(line.parent.clone()) else {
            return;
        };
        if let Some(above) = self.find_line(&parent) {
            self.nodes_by_uuid.insert(uuid.as_bytes(), above);
        }
    }

    /// Adds the entry of pi that pisess stored in a line when it wrote a session for Claude Code.
    fn add_returned_entry(&mut self, line: &ClaudeLine, entry: Outlined) -> io::Result<()> {
        // The entry was stored without its content if the message of the line has the same one.
        let content = if lacks_content(entry) {
            let buffer = self.writer.take_buffer(line.value.bytes().len());
            line.converted_content(buffer)
        } else {
            None
        };
        let restored = restore_content(entry, content.as_deref());

        let node = self.writer.add_returned(line.offset, entry, restored)?;
        if let Some(content) = content {
            self.writer.keep_buffer(content);
        }
        self.main_leaf = Some(node);
        self.last_entry = Some(node);
        if let Some(uuid) = &line.uuid {
            self.nodes_by_uuid.insert(uuid.as_bytes(), node.into());
        } else {
            // Without a `uuid`, no line can name this one as its parent. So the lines that name its
            // parent have to follow it.
            self.writer.continue_parent(node);
        }
        self.remember_settings(entry);
        Ok(())
    }

    /// Remembers the name and the model that an entry of pi sets. Later lines are compared with
    /// them, because only a change becomes an entry:
    ///
    /// ```text
    /// {"type":"session_info","name":"Parser"}                 the user named the session
    /// {"type":"model_change","modelId":"claude-opus-4"}       the user changed the model
    /// {"type":"message","message":{"model":"claude-opus-4"}}  the model wrote a reply
    /// ```
    fn remember_settings(&mut self, entry: Outlined) {
        let [kind, name, model, message] = entry.get_all(["type", "name", "modelId", "message"]);
        if kind.is_some_and(|kind| kind.is("session_info")) {
            // Without a name, the entry removes the name that the session had.
            let new_name = name
                .and_then(|name| name.text())
                .filter(|name| !name.is_blank());
            self.has_user_title = new_name.is_some();
            self.writer.name = new_name.map(Text::into_owned);
        }

        let model = model.or_else(|| message?.get("model"));
        let Some(model) = model.and_then(|model| model.text()) else {
            return;
        };
        // Most entries have the model of the entry before, which need not be copied again.
        if self.model.as_ref() != Some(&model) {
            self.model = Some(model.into_owned());
        }
    }

    /// Whether a line with the same `uuid` was read before.
    fn is_repeated(&self, line: &ClaudeLine) -> bool {
        match &line.uuid {
            Some(uuid) => self.nodes_by_uuid.contains(uuid.as_bytes()),
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

    /// Adds the entries of a line, and records them under its `uuid`, so that later lines can be
    /// attached to them. If the line begins a response, `parts` are the other lines of the
    /// response; they become a part of the same message.
    fn add_line(&mut self, line: &ClaudeLine, parts: &[ClaudeLine]) -> io::Result<()> {
        let nodes = match self.convert_line(line, parts)? {
            Some(nodes) => nodes,
            None => self.keep_line(line, self.find_attach_point(line))?,
        };
        if reports_progress(line) {
            self.record_progress(line, nodes.last);
        }
        self.last_entry = Some(nodes.last);
        if !line.is_sidechain {
            // Lines of side chains are not part of the main conversation, which goes on without
            // them.
            self.main_leaf = Some(nodes.last);
        }

        if let Some(uuid) = &line.uuid {
            self.nodes_by_uuid.insert(uuid.as_bytes(), nodes);
        } else if self.nodes_by_uuid.is_empty() {
            // No line with a `uuid` was read yet. Old versions wrote summaries without a `uuid` at
            // the start of a file.
            self.last_before_tree = self.main_leaf;
        }
        // The parts are in the message of their first line, so they have its entries.
        for part in parts {
            if let Some(uuid) = &part.uuid {
                self.nodes_by_uuid.insert(uuid.as_bytes(), nodes);
            }
        }
        Ok(())
    }

    /// Adds the entries of a line, by its type. Returns `None`, and adds nothing, if the type has
    /// no counterpart in pi, or if a required member is missing: the caller then keeps the line as
    /// a custom entry.
    fn convert_line(
        &mut self,
        line: &ClaudeLine,
        parts: &[ClaudeLine],
    ) -> io::Result<Option<LineNodes>> {
        let Some(kind) = line.kind else {
            return Ok(None);
        };
        if line.message.is_some() {
            // An attachment repeats a text of the queue only before the next message.
            self.prompt_queue.forget_delivered();
            if kind.is("user") {
                return self.add_user_line(line);
            }
            if kind.is("assistant") {
                return self.add_response(line, parts);
            }
            return Ok(None);
        }

        if kind.is("attachment") || kind.is("system") {
            self.add_attachment(line)
        } else if kind.is("queue-operation") {
            self.add_queued_prompt(line)
        } else if kind.is("custom-title") || kind.is("ai-title") || kind.is("summary") {
            self.add_title(line, kind)
        } else {
            Ok(None)
        }
    }

    /// Returns the entries of the line with this `uuid`; `None` if it was not read yet.
    fn find_line(&self, uuid: &Text) -> Option<LineNodes> {
        self.nodes_by_uuid.get(uuid.as_bytes())
    }

    /// Returns where a line is attached in the tree: below its parent, or, if that is not known,
    /// below the line before it.
    fn find_attach_point(&self, line: &ClaudeLine) -> AttachPoint {
        let Some(parent_uuid) = &line.parent else {
            // A root has the parent `null`. A line without the member, such as the first one of a
            // side chain, belongs to the conversation so far.
            let is_root = line.uuid.is_some() && !line.lacks_parent && !line.is_sidechain;
            let parent = if is_root {
                self.last_before_tree
            } else {
                self.main_leaf
            };
            return AttachPoint::below(parent);
        };

        if let Some(parent) = self.find_line(parent_uuid) {
            if let Some(end) = self.end_before_progress(line, parent.last) {
                return AttachPoint::below(Some(end));
            }
            return AttachPoint {
                parent: Some(parent.last),
                response: parent.response,
            };
        }

        // The parent is not in the file, so the line before takes its place. For a line of a side
        // chain, this is the last line of the file so far; for any other line, the last one of the
        // main conversation.
        let line_before = if line.is_sidechain {
            self.last_entry
        } else {
            self.main_leaf
        };
        AttachPoint::below(line_before)
    }

    /// Returns the end of the conversation, if a line reports the progress of a call below which
    /// that is. `parent` is the entry of the line's parent.
    ///
    /// Claude Code may write the progress of a whole turn as a chain below the first call, after
    /// the turn, and the next request below that chain. On a branch of its own, the chain would cut
    /// the replies of the turn off from the request.
    fn end_before_progress(&self, line: &ClaudeLine, parent: NodeIx) -> Option<NodeIx> {
        if !reports_progress(line) {
            return None;
        }
        let start = self.progress_starts.get(&parent).copied().unwrap_or(parent);
        let end = self.main_leaf?;
        self.writer.is_ancestor_or_self(start, end).then_some(end)
    }

    /// Records the start of the chain of a line that reports progress.
    fn record_progress(&mut self, line: &ClaudeLine, node: NodeIx) {
        let Some(parent_uuid) = &line.parent else {
            return;
        };
        if let Some(parent) = self.find_line(parent_uuid) {
            let start = self.progress_starts.get(&parent.last).copied();
            self.progress_starts
                .insert(node, start.unwrap_or(parent.last));
        }
    }

    /// Adds the name that a line of the type `kind` gives the session. Returns `None`, and adds
    /// nothing, if the line does not change the name.
    fn add_title(&mut self, line: &ClaudeLine, kind: Raw) -> io::Result<Option<LineNodes>> {
        let Some(name) = self.find_title(line, kind) else {
            return Ok(None);
        };
        let is_current_name = self.writer.name.as_ref() == Some(&name);
        if name.is_blank() || is_current_name {
            return Ok(None);
        }

        if kind.is("custom-title") {
            self.has_user_title = true;
        }
        self.writer.name = Some(name.clone().into_owned());
        let rest = unconverted_members(line.value, &["customTitle", "aiTitle"]);
        let members = Object::new()
            .text("name", &name)
            .json("claude", &rest.finish());
        let draft = line.new_draft("session_info", members);
        let node = self.writer.append(self.main_leaf, draft)?;
        Ok(Some(node.into()))
    }

    /// Returns the name of the session in a line of the type `kind`:
    ///
    /// ```text
    /// {"type":"custom-title","customTitle":"Parser"}              a name from the user
    /// {"type":"ai-title","aiTitle":"Write a parser"}              a name from the model
    /// {"type":"summary","summary":"A parser","leafUuid":"…"}      the same, in old versions
    /// ```
    ///
    /// `None` if the line has no name, or one from the model after the user has named the session.
    fn find_title<'a>(&self, line: &ClaudeLine<'a>, kind: Raw) -> Option<Text<'a>> {
        if kind.is("custom-title") {
            return non_empty_text(line.value, "customTitle");
        }
        // Only the user replaces a name from the user.
        if self.has_user_title {
            return None;
        }
        if kind.is("ai-title") {
            return non_empty_text(line.value, "aiTitle");
        }

        // Old files also have summaries of other sessions. Their `leafUuid` names no line of this
        // file.
        let leaf = non_empty_text(line.value, "leafUuid")?;
        self.find_line(&leaf)?;
        non_empty_text(line.value, "summary")
    }
}

/// Whether a line of the main conversation reports the progress of a call or of a hook.
fn reports_progress(line: &ClaudeLine) -> bool {
    !line.is_sidechain && line.kind.is_some_and(|kind| kind.is("progress"))
}
