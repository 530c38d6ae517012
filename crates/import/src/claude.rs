//! Reads sessions of Claude Code: `~/.claude/projects/*/*.jsonl`.
//!
//! Each line has a `uuid` and a `parentUuid`, which give the tree. A response is written in several
//! lines that share `message.id`, one for each block, and calls that run in parallel have their
//! results below different ones of these lines. What is attached to such a line is attached to the
//! end of the response, so that no result is on a branch of its own. Lines that Claude Code writes
//! a second time, as it does before a compaction, are kept as custom entries.

mod blocks;
mod injected;

use super::parts::{custom_message, filled_text, kept_line, time_ms, unused_members, usage_json};
use super::writer::{Draft, Place, Writer};
use super::{Origin, Reader};
use blocks::{answered_call, convert_stop_reason, response_block, result_message, user_block};
use foldhash::HashMap;
use injected::{Injected, META, classify};
use pisess_core::session::content::{finite, is_block, joined_text, members};
use pisess_core::session::usage::Usage;
use pisess_json::Raw;
use pisess_json::string::encoded;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use std::array::from_fn;
use std::io;

/// The model of messages that Claude Code makes itself.
const SYNTHETIC: &str = "<synthetic>";

/// What the model sees of a result that a micro-compaction cleared.
const CLEARED: &str = "[Old tool result content cleared]";

/// The numbers of tokens in the usage of a response.
const TOKENS: [&str; 4] = [
    "input_tokens",
    "output_tokens",
    "cache_read_input_tokens",
    "cache_creation_input_tokens",
];

/// The reader of a source, with what the lines so far have shown.
#[derive(Default)]
pub struct Claude<'o> {
    writer: Writer<'o>,
    /// The lines of the tree, by `uuid`.
    lines: HashMap<Box<[u8]>, LinePlaces>,
    responses: Vec<Response>,
    /// Positions in `responses`, by `message.id`.
    response_ids: HashMap<Box<[u8]>, usize>,
    /// The calls of tools, by their id.
    calls: HashMap<Box<[u8]>, Call>,
    /// The last entry of the main conversation.
    main_end: Option<Place>,
    /// The last entry of all, side chains included.
    last: Option<Place>,
    /// The last entry before the first line of the tree.
    before_tree: Option<Place>,
    model: Option<Text<'static>>,
    /// Whether the whole file is that of a sub-agent.
    is_agent: bool,
    /// Whether the user has named the session.
    is_titled: bool,
    time_ms: i64,
    /// The compaction that was announced and whose summary has not been read yet.
    announced: AnnouncedCompaction,
}

/// The entries of a line.
#[derive(Clone, Copy)]
struct LinePlaces {
    first: Place,
    last: Place,
    /// The response that the line is a part of, or has a result for: a position in
    /// [`Claude::responses`].
    response: Option<usize>,
}

struct Response {
    /// The last entry with a part of it.
    end: Place,
    /// The tokens that its entries have together, as [`TOKENS`].
    counted: [f64; 4],
}

struct Call {
    name: Text<'static>,
    /// Its last result.
    result: Option<Place>,
}

/// What the line before a summary says about the compaction.
#[derive(Clone, Copy, Default)]
struct AnnouncedCompaction {
    /// The tokens in the context before it.
    tokens_before: f64,
    /// The first entry that it keeps.
    first_kept: Option<Place>,
}

/// A line with the members that decide what becomes of it.
struct ClaudeLine<'a> {
    offset: u64,
    raw: Raw<'a>,
    kind: Option<Raw<'a>>,
    uuid: Option<Text<'a>>,
    parent: Option<Text<'a>>,
    message: Option<Raw<'a>>,
    /// Whether it is on a side chain of the file, which is where a sub-agent wrote.
    is_side: bool,
    time_ms: i64,
}

impl From<Place> for LinePlaces {
    /// The places of a line that has one entry, and is not part of a response.
    fn from(place: Place) -> LinePlaces {
        LinePlaces {
            first: place,
            last: place,
            response: None,
        }
    }
}

impl ClaudeLine<'_> {
    /// Whether the member `key` is `true`.
    fn is(&self, key: &str) -> bool {
        self.raw.get(key).and_then(Raw::bool) == Some(true)
    }

    fn draft(&self, kind: &'static str, members: Object) -> Draft {
        Draft {
            offset: self.offset,
            time_ms: self.time_ms,
            kind,
            members,
        }
    }

    /// Drafts a message. `message` lacks its time only; `used` are the members of the line that it
    /// has already, and `unused` the blocks without a counterpart, which are kept as `claude`.
    fn message_draft(&self, message: Object, used: &[&str], unused: &[Raw]) -> Draft {
        let message = message.number("timestamp", self.time_ms as f64).finish();

        let mut rest = unused_members(self.raw, &[&["type", "message"], used].concat());
        if let Some(message) = self.message {
            let blocks: Vec<_> = unused.iter().map(|block| block.bytes()).collect();
            let rest_of_message =
                unused_members(message, &["type", "role", "content", "model", "id"])
                    .list("content", &blocks)
                    .finish();
            if rest_of_message != b"{}" {
                rest = rest.json("message", &rest_of_message);
            }
        }

        let members = Object::new()
            .json("message", &message)
            .json("claude", &rest.finish());
        self.draft("message", members)
    }

    /// Drafts what the user said, or Claude Code in the name of the user. A line with blocks that
    /// have no counterpart is always a message: a custom message has no place for them.
    fn user_draft(&self, content: &[u8], unused: &[Raw]) -> Draft {
        let injected = if !unused.is_empty() {
            None
        } else if self.is("isMeta") {
            Some(META)
        } else {
            classify(Raw::checked(content))
        };
        if let Some(injected) = injected {
            return self.injected_draft(injected, content);
        }
        let message = Object::new().str("role", "user").json("content", content);
        self.message_draft(message, &[], unused)
    }

    /// Drafts a custom message, which the model sees.
    fn injected_draft(&self, injected: Injected, content: &[u8]) -> Draft {
        let Injected { kind, is_shown } = injected;
        let rest = unused_members(self.raw, &["type", "message"]);
        let members = custom_message(Origin::Claude.name(), kind, content, is_shown);
        self.draft("custom_message", members.json("claude", &rest.finish()))
    }
}

impl<'o> Reader<'o> for Claude<'o> {
    fn read_object(&mut self, offset: u64, raw: Raw) -> io::Result<()> {
        let line = self.parse_line(offset, raw);
        let is_repeated = match &line.uuid {
            Some(uuid) => self.lines.contains_key(uuid.as_bytes()),
            None => false,
        };
        if is_repeated {
            // Lines after it are attached where they would be without it.
            self.keep(&line, is_repeated)?;
            return Ok(());
        }

        let places = match self.convert_line(&line)? {
            Some(places) => places,
            None => self.keep(&line, is_repeated)?,
        };
        self.last = Some(places.last);
        if !line.is_side {
            self.main_end = Some(places.last);
        }
        if let Some(uuid) = line.uuid {
            self.lines.insert(uuid.as_bytes().into(), places);
        } else if self.lines.is_empty() {
            self.before_tree = self.main_end;
        }
        Ok(())
    }

    fn add_custom(&mut self, offset: u64, members: Object) -> io::Result<()> {
        let draft = Draft {
            offset,
            time_ms: self.time_ms,
            kind: "custom",
            members,
        };
        self.main_end = Some(self.writer.append(self.main_end, draft)?);
        Ok(())
    }

    fn add_record(&mut self, draft: Draft) -> io::Result<()> {
        // `main_end` may stay: the record is now the end of that entry, so that lines follow it.
        self.writer.append(self.main_end.or(self.last), draft)?;
        Ok(())
    }

    fn finish(self: Box<Self>) -> io::Result<Writer<'o>> {
        Ok(self.writer)
    }
}

impl<'o> Claude<'o> {
    /// Makes a reader that has read nothing.
    pub fn new(writer: Writer<'o>) -> Self {
        Claude {
            writer,
            ..Claude::default()
        }
    }

    /// Parses a line. Its time becomes that of the lines after it that have none, and the first
    /// line of the tree shows whether the file is that of a sub-agent.
    fn parse_line<'a>(&mut self, offset: u64, raw: Raw<'a>) -> ClaudeLine<'a> {
        let names = [
            "type",
            "uuid",
            "parentUuid",
            "message",
            "isSidechain",
            "timestamp",
        ];
        let [kind, uuid, parent, message, is_side, timestamp] = members(raw, names);
        self.time_ms = time_ms(timestamp).unwrap_or(self.time_ms);

        let is_side = is_side.and_then(Raw::bool) == Some(true);
        if is_side && self.lines.is_empty() && filled_text(raw, "agentId").is_some() {
            self.is_agent = true;
        }

        let uuid = uuid.and_then(Raw::text);
        let parent = parent.and_then(Raw::text);
        ClaudeLine {
            offset,
            raw,
            kind,
            uuid: uuid.filter(|id| !id.is_empty()),
            parent: parent.filter(|id| !id.is_empty()),
            message: message.filter(|message| message.is_object()),
            is_side: is_side && !self.is_agent,
            time_ms: self.time_ms,
        }
    }

    /// Adds the entries of a line, if its type has a counterpart; `None` if it has not, or the line
    /// lacks something.
    fn convert_line(&mut self, line: &ClaudeLine) -> io::Result<Option<LinePlaces>> {
        let Some(kind) = line.kind else {
            return Ok(None);
        };
        match line.message {
            Some(message) if kind.is("user") => self.add_user_line(line, message),
            Some(message) if kind.is("assistant") => self.add_response_line(line, message),
            None if kind.is("custom-title") || kind.is("ai-title") || kind.is("summary") => {
                self.add_title(line, kind)
            }
            _ => Ok(None),
        }
    }

    /// Finds the entries of the line with this `uuid`.
    fn line_by_id(&self, uuid: &Text) -> Option<LinePlaces> {
        self.lines.get(uuid.as_bytes()).copied()
    }

    /// Finds where a line is attached, and the response that is there. A line whose parent is
    /// missing follows the one before it; a side chain begins where it was started; other lines
    /// without a parent follow what was kept before the first of them.
    fn parent_of(&self, line: &ClaudeLine) -> (Option<Place>, Option<usize>) {
        if let Some(uuid) = &line.parent {
            if let Some(parent) = self.line_by_id(uuid) {
                return (Some(parent.last), parent.response);
            }
            let before = if line.is_side {
                self.last
            } else {
                self.main_end
            };
            return (before, None);
        }

        let is_root = line.uuid.is_some() && !line.is_side;
        let before = if is_root {
            self.before_tree
        } else {
            self.main_end
        };
        (before, None)
    }

    /// Keeps a line without a counterpart, with edits of the results that it clears. One that was
    /// read before follows the main conversation, wherever the first one is.
    fn keep(&mut self, line: &ClaudeLine, is_repeated: bool) -> io::Result<LinePlaces> {
        let subtype = line.raw.get("subtype");
        if subtype.is_some_and(|subtype| subtype.is("compact_boundary")) {
            return self.keep_boundary(line);
        }

        let (parent, response) = if is_repeated {
            (self.main_end, None)
        } else {
            self.parent_of(line)
        };
        let first = self.writer.append(parent, kept_draft(line))?;

        let mut last = first;
        for ClearedResult { call, replacement } in cleared_results(line.raw) {
            let Some(call) = self.calls.get(call.as_bytes()) else {
                continue;
            };
            let Some(result) = call.result else {
                continue;
            };
            let replacement = Object::new().text("content", &replacement).finish();
            let edit = Object::new()
                .str("targetId", &self.writer.id_of(result))
                .json("replacement", &replacement);
            let draft = line.draft("context_edit", edit);
            last = self.writer.append(Some(last), draft)?;
        }

        Ok(LinePlaces {
            first,
            last,
            response,
        })
    }

    /// Keeps the line that announces a compaction. If messages are preserved, it is attached to the
    /// last of them, so that those after it, which are summarized, are on another branch; what is
    /// attached to that message later is attached to the compaction.
    fn keep_boundary(&mut self, line: &ClaudeLine) -> io::Result<LinePlaces> {
        let draft = kept_draft(line);
        let tokens = line
            .raw
            .get("compactMetadata")
            .and_then(|data| data.get("preTokens"));
        self.announced.tokens_before = finite(tokens);
        self.announced.first_kept = None;

        if let Some(preserved) = preserved_messages(line.raw)
            && let Some(first) = self.line_by_id(&preserved.first)
            && let Some(last) = self.line_by_id(&preserved.last)
        {
            let place = self.writer.append(Some(last.last), draft)?;
            self.announced.first_kept = Some(first.first);
            return Ok(place.into());
        }

        let parent = filled_text(line.raw, "logicalParentUuid").or_else(|| line.parent.clone());
        let before = parent
            .and_then(|parent| self.line_by_id(&parent))
            .map(|parent| parent.last)
            .or(self.main_end);
        let place = self.writer.add_below_end(before, draft)?;
        Ok(place.into())
    }

    /// Adds what the user, a tool or Claude Code itself sends to the model.
    fn add_user_line(&mut self, line: &ClaudeLine, message: Raw) -> io::Result<Option<LinePlaces>> {
        let content = message.get("content").unwrap_or(Raw::NULL);
        if line.is("isCompactSummary") {
            let summary = joined_text(Some(content), "\n");
            if !summary.is_blank() {
                let place = self.add_compaction(line, &summary)?;
                return Ok(Some(place.into()));
            }
        }

        let has_results = content.items().any(|block| is_block(block, "tool_result"));
        if line.is("isMeta") && !has_results {
            return self.add_meta(line, content);
        }

        let Some(text) = content.text() else {
            return self.add_user_blocks(line, content);
        };
        if text.is_empty() {
            return Ok(None);
        }
        let (parent, _) = self.parent_of(line);
        let draft = line.user_draft(&encoded(&text), &[]);
        let place = self.writer.add_below_end(parent, draft)?;
        Ok(Some(place.into()))
    }

    /// Adds a list of blocks: a message for each result of a tool, and one for the texts and images
    /// before, between and after them.
    fn add_user_blocks(
        &mut self,
        line: &ClaudeLine,
        content: Raw,
    ) -> io::Result<Option<LinePlaces>> {
        let mut unused = Vec::new();
        let mut result_count = 0;
        for block in content.items() {
            if answered_call(block).is_some() {
                result_count += 1;
            } else if user_block(block).is_none() {
                unused.push(block);
            }
        }

        // The details of a line are those of its result; of several, no one knows whose.
        let details = if result_count == 1 {
            line.raw.get("toolUseResult")
        } else {
            None
        };
        let (parent, response) = self.parent_of(line);
        let mut added = UserBlocks {
            line,
            unused,
            details,
            response,
            first: None,
            last: parent,
            has_result: false,
        };

        let mut parts = Vec::new();
        for block in content.items() {
            if let Some(part) = user_block(block) {
                parts.push(part);
            } else if let Some(call_id) = answered_call(block) {
                self.add_user_parts(&mut added, &mut parts)?;
                self.add_result(&mut added, block, &call_id)?;
            }
            // Parts on both sides of a block that is neither are of one message.
        }
        self.add_user_parts(&mut added, &mut parts)?;

        let (Some(first), Some(last)) = (added.first, added.last) else {
            return Ok(None);
        };
        Ok(Some(LinePlaces {
            first,
            last,
            response: if added.has_result { response } else { None },
        }))
    }

    /// Adds these texts and images, if there are any, as one message, and empties the list.
    fn add_user_parts(
        &mut self,
        added: &mut UserBlocks,
        parts: &mut Vec<Vec<u8>>,
    ) -> io::Result<()> {
        if parts.is_empty() {
            return Ok(());
        }
        let content = array(std::mem::take(parts));
        let draft = added.line.user_draft(&content, added.unused_for_next());
        let place = self.writer.add_below_end(added.last, draft)?;
        added.push(place);
        Ok(())
    }

    /// Adds the result of a call.
    fn add_result(&mut self, added: &mut UserBlocks, block: Raw, call_id: &Text) -> io::Result<()> {
        let call = self.calls.get(call_id.as_bytes());
        let is_second = call.is_some_and(|call| call.result.is_some());
        let name = call.map(|call| call.name.clone());
        let message = result_message(block, call_id, name, added.details);
        let used: &[&str] = match added.details {
            Some(_) => &["toolUseResult"],
            None => &[],
        };
        let draft = added
            .line
            .message_draft(message, used, added.unused_for_next());

        let place = match added.response {
            // A second result of a call begins another branch.
            Some(response) if is_second && !added.has_result => {
                let end = self.responses[response].end;
                self.writer.add_child(Some(end), draft)?
            }
            Some(_) => self.writer.append(added.last, draft)?,
            None => self.writer.add_child(added.last, draft)?,
        };

        added.push(place);
        added.has_result = true;
        if let Some(call) = self.calls.get_mut(call_id.as_bytes()) {
            call.result = Some(place);
        }
        Ok(())
    }

    /// Adds what Claude Code sends to the model without showing it to the user.
    fn add_meta(&mut self, line: &ClaudeLine, content: Raw) -> io::Result<Option<LinePlaces>> {
        let content = match content.text() {
            Some(text) if !text.is_empty() => content.bytes().to_vec(),
            _ => array(content.items().filter_map(user_block)),
        };
        if content == b"[]" {
            return Ok(None);
        }
        let (parent, _) = self.parent_of(line);
        let draft = line.injected_draft(META, &content);
        let place = self.writer.append(parent, draft)?;
        Ok(Some(place.into()))
    }

    /// Adds the summary of a compaction.
    fn add_compaction(&mut self, line: &ClaudeLine, summary: &Text) -> io::Result<Place> {
        let known_parent = line.parent.as_ref().and_then(|id| self.line_by_id(id));
        let above = match known_parent {
            Some(parent) => Some(parent.last),
            None if line.is_side => None,
            None => self.main_end,
        };
        let parent = above.map(|above| self.writer.end_of(above));

        let AnnouncedCompaction {
            tokens_before,
            first_kept,
        } = std::mem::take(&mut self.announced);
        let first_kept_id = match (first_kept, parent) {
            (Some(kept), Some(parent)) if self.writer.is_on_path(kept, parent) => {
                self.writer.id_of(kept)
            }
            // Its own id: it keeps nothing.
            _ => self.writer.next_id(line.offset),
        };

        let rest = unused_members(line.raw, &["type", "message"]);
        let members = Object::new()
            .text("summary", summary)
            .str("firstKeptEntryId", &first_kept_id)
            .number("tokensBefore", tokens_before)
            .json("claude", &rest.finish());
        self.writer
            .append(parent, line.draft("compaction", members))
    }

    /// Adds a part of a response, which Claude Code writes block by block.
    fn add_response_line(
        &mut self,
        line: &ClaudeLine,
        message: Raw,
    ) -> io::Result<Option<LinePlaces>> {
        let content = message.get("content").unwrap_or(Raw::NULL);
        let error = filled_text(line.raw, "error");
        let (used, unused): (Vec<_>, Vec<_>) = content
            .items()
            .partition(|block| response_block(*block).is_some());
        if used.is_empty() && error.is_none() {
            return Ok(None);
        }

        // A response is continued only below its own lines.
        let (mut parent, response_of_parent) = self.parent_of(line);
        let id = filled_text(message, "id");
        let known = id
            .as_ref()
            .and_then(|id| self.response_ids.get(id.as_bytes()).copied());
        let continued = if known == response_of_parent {
            known
        } else {
            None
        };

        let model = match filled_text(message, "model") {
            Some(model) => model.into_owned(),
            None => Text::from("unknown"),
        };
        let mut first = None;
        if !line.is_side && model != SYNTHETIC && self.model.as_ref() != Some(&model) {
            let members = Object::new()
                .str("provider", "anthropic")
                .text("modelId", &model);
            let change = line.draft("model_change", members);
            let place = self.add_response_part(continued, parent, change)?;
            parent = Some(place);
            first = Some(place);
            self.model = Some(model.clone());
        }

        let blocks = array(used.iter().filter_map(|block| response_block(*block)));
        let tokens = self.count_tokens(continued, message.get("usage"));
        let stop_reason =
            convert_stop_reason(message.get("stop_reason"), line.is("isApiErrorMessage"));
        let error_status = line
            .raw
            .get("apiErrorStatus")
            .filter(|status| status.is_number());
        let converted = Object::new()
            .str("role", "assistant")
            .json("content", &blocks)
            .str("api", "anthropic-messages")
            .str("provider", "anthropic")
            .text("model", &model)
            .json("usage", &tokens.usage)
            .str("stopReason", stop_reason)
            .with(id.as_ref(), |message, id| message.text("responseId", id))
            .with(error.as_ref(), |message, error| {
                message.text("errorMessage", error)
            })
            .with(error_status, |message, status| {
                message.raw("errorStatus", status)
            });
        let draft = line.message_draft(converted, &["error", "apiErrorStatus"], &unused);
        let last = self.add_response_part(continued, parent, draft)?;

        self.remember_calls(&used);
        let state = Response {
            end: last,
            counted: tokens.counted,
        };
        let response = self.remember_response(continued, state);
        if let Some(id) = id {
            self.response_ids.insert(id.as_bytes().into(), response);
        }
        Ok(Some(LinePlaces {
            first: first.unwrap_or(last),
            last,
            response: Some(response),
        }))
    }

    /// Adds an entry of a response: to the end of what is there, if the response is continued.
    fn add_response_part(
        &mut self,
        continued: Option<usize>,
        parent: Option<Place>,
        draft: Draft,
    ) -> io::Result<Place> {
        if continued.is_some() {
            self.writer.append(parent, draft)
        } else {
            self.writer.add_below_end(parent, draft)
        }
    }

    /// Remembers the calls among these blocks of a response, whose results come later.
    fn remember_calls(&mut self, blocks: &[Raw]) {
        for block in blocks {
            if !is_block(*block, "tool_use") {
                continue;
            }
            let Some(id) = filled_text(*block, "id") else {
                continue;
            };
            let Some(name) = filled_text(*block, "name") else {
                continue;
            };
            let call = Call {
                name: name.into_owned(),
                result: None,
            };
            self.calls.insert(id.as_bytes().into(), call);
        }
    }

    /// Stores the state of a response that is continued, or of a new one. Returns its position.
    fn remember_response(&mut self, continued: Option<usize>, state: Response) -> usize {
        if let Some(position) = continued {
            self.responses[position] = state;
            return position;
        }
        self.responses.push(state);
        self.responses.len() - 1
    }

    /// Counts the tokens of a line of a response. Each line repeats the usage of the whole
    /// response, so that the line gets only what the lines before it have not got.
    fn count_tokens(&self, continued: Option<usize>, usage: Option<Raw>) -> ResponseTokens {
        let before = match continued {
            Some(position) => self.responses[position].counted,
            None => [0.0; 4],
        };
        let now = TOKENS.map(|key| finite(usage.and_then(|usage| usage.get(key))));
        let [input, output, cache_read, cache_write] =
            from_fn(|kind| (now[kind] - before[kind]).max(0.0));
        let added = Usage {
            input,
            output,
            cache_read,
            cache_write,
            ..Usage::default()
        };
        ResponseTokens {
            counted: from_fn(|kind| now[kind].max(before[kind])),
            usage: usage_json(&added, now.iter().sum(), None),
        }
    }

    /// Adds a name of the session. A name that the user chose is not replaced by another.
    fn add_title(&mut self, line: &ClaudeLine, kind: Raw) -> io::Result<Option<LinePlaces>> {
        let is_by_user = kind.is("custom-title");
        let name = if is_by_user {
            filled_text(line.raw, "customTitle")
        } else if self.is_titled {
            None
        } else if kind.is("ai-title") {
            filled_text(line.raw, "aiTitle")
        } else {
            self.summary_of_this_session(line)
        };
        let Some(name) = name else {
            return Ok(None);
        };
        if name.is_blank() || Some(&name) == self.writer.name.as_ref() {
            return Ok(None);
        }

        if is_by_user {
            self.is_titled = true;
        }
        self.writer.name = Some(name.clone().into_owned());
        let rest = unused_members(line.raw, &["customTitle", "aiTitle"]);
        let members = Object::new()
            .text("name", &name)
            .json("claude", &rest.finish());
        let draft = line.draft("session_info", members);
        let place = self.writer.append(self.main_end, draft)?;
        Ok(Some(place.into()))
    }

    /// The name in a `summary` line. Old files also have those of other sessions, whose leaves are
    /// elsewhere.
    fn summary_of_this_session<'a>(&self, line: &ClaudeLine<'a>) -> Option<Text<'a>> {
        let leaf = filled_text(line.raw, "leafUuid")?;
        self.line_by_id(&leaf)?;
        filled_text(line.raw, "summary")
    }
}

/// The tokens of a response, once a line of it is read.
struct ResponseTokens {
    /// Those that its entries have together, as [`TOKENS`].
    counted: [f64; 4],
    /// The `usage` object of the line.
    usage: Vec<u8>,
}

/// A line with a list of blocks whose messages are being added.
struct UserBlocks<'a> {
    line: &'a ClaudeLine<'a>,
    /// The blocks without a counterpart.
    unused: Vec<Raw<'a>>,
    /// The result of its only call, as Claude Code stores it.
    details: Option<Raw<'a>>,
    /// The response to which the line is attached.
    response: Option<usize>,
    /// The first message of the line.
    first: Option<Place>,
    /// The last message of the line, or else the entry to which the line is attached.
    last: Option<Place>,
    has_result: bool,
}

impl<'a> UserBlocks<'a> {
    /// The unused blocks that the next message keeps: the first message has them all.
    fn unused_for_next(&self) -> &[Raw<'a>] {
        match self.first {
            None => &self.unused,
            Some(_) => &[],
        }
    }

    fn push(&mut self, place: Place) {
        self.first = self.first.or(Some(place));
        self.last = Some(place);
    }
}

/// Drafts the custom entry that keeps a line, named after its type and subtype.
fn kept_draft(line: &ClaudeLine) -> Draft {
    let mut kind = match line.kind.and_then(Raw::text) {
        Some(kind) => kind.to_string(),
        None => "line".to_owned(),
    };
    if let Some(subtype) = filled_text(line.raw, "subtype") {
        kind.push_str(&format!(".{subtype}"));
    }
    let members = kept_line(Origin::Claude.name(), &kind, line.raw.bytes());
    line.draft("custom", members)
}

/// The messages that a compaction preserves, by the `uuid` of their lines.
struct PreservedMessages<'a> {
    first: Text<'a>,
    last: Text<'a>,
}

/// Reads the messages that a compaction preserves: a list of all, or else the ends of a segment.
fn preserved_messages(boundary: Raw<'_>) -> Option<PreservedMessages<'_>> {
    let data = boundary.get("compactMetadata")?;
    let listed = data
        .get("preservedMessages")
        .and_then(|messages| messages.get("uuids"))
        .and_then(ends_of_list);
    if listed.is_some() {
        return listed;
    }
    let segment = data.get("preservedSegment")?;
    Some(PreservedMessages {
        first: filled_text(segment, "headUuid")?,
        last: filled_text(segment, "tailUuid")?,
    })
}

fn ends_of_list(uuids: Raw<'_>) -> Option<PreservedMessages<'_>> {
    Some(PreservedMessages {
        first: uuids.items().next()?.text()?,
        last: uuids.items().last()?.text()?,
    })
}

/// A result that the model no longer sees as it was.
struct ClearedResult<'a> {
    /// The id of its call.
    call: Text<'a>,
    /// What the model sees instead.
    replacement: Text<'a>,
}

/// Lists the results that a line clears: a micro-compaction names the calls alone, other lines
/// have each replacement.
fn cleared_results(line: Raw<'_>) -> Vec<ClearedResult<'_>> {
    let mut cleared = Vec::new();
    let ids = line
        .get("microcompactMetadata")
        .and_then(|data| data.get("compactedToolIds"));
    for call in ids.unwrap_or(Raw::NULL).items().filter_map(Raw::text) {
        cleared.push(ClearedResult {
            call,
            replacement: Text::from(CLEARED),
        });
    }

    for item in line.get("replacements").unwrap_or(Raw::NULL).items() {
        let call = filled_text(item, "toolUseId");
        let replacement = filled_text(item, "replacement");
        if let (Some(call), Some(replacement)) = (call, replacement) {
            cleared.push(ClearedResult { call, replacement });
        }
    }
    cleared
}
