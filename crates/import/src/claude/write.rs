//! Writes sessions of Claude Code.
//!
//! ```text
//! entry          line, with the uuid of the line before as parentUuid
//! user, …        user
//! response       assistant, with all its blocks
//! result         user, with one tool_result
//! compaction     system (compact_boundary), then user (isCompactSummary)
//! name           custom-title, outside of the tree
//! other          pisess, outside of the tree
//! ```
//!
//! Claude Code continues a session at the line that `last-prompt` names. Which lines a compaction
//! preserves is in a list in its boundary.

use crate::calls::CommonCall;
use crate::claude::blocks::line_content;
use crate::native::{
    LineIx, MISSING_RESULT, ModelMessage, NativeFormat, NativeTarget, NativeWriter, OpenCall,
    SourceEntry, Visibility, is_text,
};
use crate::parts::non_empty_text;
use crate::returned::{NO_ENTRY, RETURNED_KEY, returned_member};
use pisess_core::agents::request::signed_thinking_block;
use pisess_core::session::Session;
use pisess_core::session::content::{finite_or_zero, is_block, member_is, text_block};
use pisess_json::Raw;
use pisess_json::js::to_base_36;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::time::iso_string;
use pisess_json::write::{Object, array};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// The version of Claude Code whose lines these are.
const VERSION: &str = "2.1.332";

/// What Claude Code shows in place of a compaction.
const BOUNDARY_TEXT: &str = "Conversation compacted";

/// The text of a failed result without text, which the API refuses.
const EMPTY_FAILURE: &str = "(no output)";

/// The maximum length of the name of a project's directory. A longer name is cut, and a hash is
/// added.
const MAX_PROJECT_LEN: usize = 200;

/// How sessions of pi are written for Claude Code.
pub struct ClaudeNative;

impl NativeFormat for ClaudeNative {
    fn new_writer<'a>(
        &self,
        target: &NativeTarget<'a>,
        _session: &Session,
        out: &'a mut dyn Write,
    ) -> io::Result<Box<dyn NativeWriter + 'a>> {
        Ok(Box::new(ClaudeWriter::new(target, out)))
    }

    fn file_path(&self, target: &NativeTarget) -> PathBuf {
        Path::new("projects")
            .join(project_name(&target.cwd.to_string_lossy()))
            .join(format!("{}.jsonl", target.session_id))
    }
}

/// Returns the name that Claude Code gives the directory for the sessions of a project. It is the
/// path of the project, with `-` for each UTF-16 unit that is not an ASCII letter or digit:
/// `/home/ann/work` becomes `-home-ann-work`. A long name is cut, and a hash of the path is added.
fn project_name(cwd: &str) -> String {
    let mut name = String::new();
    for unit in cwd.encode_utf16() {
        match u8::try_from(unit) {
            Ok(byte) if byte.is_ascii_alphanumeric() => name.push(char::from(byte)),
            _ => name.push('-'),
        }
    }
    if name.len() <= MAX_PROJECT_LEN {
        return name;
    }
    // The name is ASCII, so it is cut between two characters.
    name.truncate(MAX_PROJECT_LEN);
    let hash = to_base_36(java_hash(cwd).unsigned_abs());
    format!("{name}-{hash}")
}

/// Returns the hash of a text as `String.hashCode` of Java computes it: 31 times the hash so far,
/// plus the next UTF-16 unit, in 32 bits.
fn java_hash(text: &str) -> i32 {
    let mut hash: i32 = 0;
    for unit in text.encode_utf16() {
        hash = hash.wrapping_mul(31).wrapping_add(i32::from(unit));
    }
    hash
}

/// A session in progress.
pub struct ClaudeWriter<'a> {
    session_id: &'a str,
    cwd: &'a Text<'a>,
    /// The namespace of the ids of its lines.
    namespace: Uuid,
    line_count: u32,
    /// The text of the last message that the user wrote.
    last_prompt: Option<Text<'static>>,
    out: &'a mut dyn Write,
}

/// What a line with a message is marked as.
#[derive(Clone, Copy)]
enum LineMark {
    /// The message is part of the conversation that the user sees.
    None,
    /// The user does not see the message.
    Meta,
    /// The message is the summary of a compaction.
    Summary,
}

impl<'a> ClaudeWriter<'a> {
    pub fn new(target: &NativeTarget<'a>, out: &'a mut dyn Write) -> ClaudeWriter<'a> {
        ClaudeWriter {
            session_id: target.session_id,
            cwd: target.cwd,
            namespace: Uuid::new_v5(&Uuid::NAMESPACE_OID, target.session_id.as_bytes()),
            line_count: 0,
            last_prompt: None,
            out,
        }
    }

    fn write_line(&mut self, line: Object) -> io::Result<()> {
        self.out.write_all(&line.finish())?;
        self.out.write_all(b"\n")
    }

    /// Numbers a new line of the tree, and returns its number.
    fn new_line(&mut self) -> LineIx {
        self.line_count += 1;
        LineIx(self.line_count - 1)
    }

    /// Returns the id of a line. It depends only on the session and the number of the line, so the
    /// same session is always written with the same ids.
    fn uuid(&self, line: LineIx) -> String {
        Uuid::new_v5(&self.namespace, &line.0.to_be_bytes()).to_string()
    }

    /// Begins a line of the tree below `parent`; a root has none.
    fn begin_tree_line(&self, parent: Option<LineIx>) -> Object {
        let parent = parent.map(|parent| self.uuid(parent));
        Object::new()
            .str_or_null("parentUuid", parent.as_deref())
            .bool("isSidechain", false)
    }

    /// Adds the members with which all lines of the tree end.
    fn end_tree_line(&self, line: Object, ix: LineIx, time_ms: i64) -> Object {
        line.str("uuid", &self.uuid(ix))
            .str("timestamp", &iso_string(time_ms))
            .str("userType", "external")
            .text("cwd", self.cwd)
            .str("sessionId", self.session_id)
            .str("version", VERSION)
    }

    /// Writes a line with a message, and beside the message the entry of `source`, from which a
    /// later import restores the entry. `kind` is the type of the line: `user` or `assistant`.
    /// `message` is JSON. Returns the line.
    ///
    /// ```text
    /// {"parentUuid":"…",…,"type":"user","message":{…},"uuid":"…",…,"pisess":{"entry":{…}}}
    /// ```
    fn write_message(
        &mut self,
        source: &SourceEntry,
        kind: &str,
        message: &[u8],
        mark: LineMark,
    ) -> io::Result<LineIx> {
        let ix = self.new_line();
        let line = self
            .begin_tree_line(source.parent)
            .str("type", kind)
            .json("message", message);
        let line = match mark {
            LineMark::None => line,
            LineMark::Meta => line.bool("isMeta", true),
            LineMark::Summary => line
                .bool("isVisibleInTranscriptOnly", true)
                .bool("isCompactSummary", true),
        };
        let line = self.end_tree_line(line, ix, source.time_ms);

        // If an import would make the same content of the message, the entry is stored without it.
        let imported_content = line_content(kind, Raw::from_checked(message), Vec::new());
        let entry_member = returned_member(source.entry, imported_content.as_deref());
        self.write_line(line.json(RETURNED_KEY, &entry_member))?;
        Ok(ix)
    }

    /// Writes a compaction as two lines: its boundary, with the list of the `kept` lines, and its
    /// summary. Returns the line of the summary, which the next line follows. Claude Code itself
    /// inserts the kept lines between the two.
    fn write_compaction(
        &mut self,
        source: &SourceEntry,
        content: Raw,
        kept: &[LineIx],
    ) -> io::Result<LineIx> {
        let boundary = self.write_boundary(source, kept)?;
        let summary_source = SourceEntry {
            parent: Some(boundary),
            ..*source
        };
        let summary = user_message(&user_content(content));
        self.write_message(&summary_source, "user", &summary, LineMark::Summary)
    }

    /// Writes the boundary of a compaction, with which a new context begins. Its parent is `null`,
    /// and its logical parent is the line before it. The line has no entry of pi: the summary has
    /// the entry of the compaction.
    fn write_boundary(&mut self, source: &SourceEntry, kept: &[LineIx]) -> io::Result<LineIx> {
        let boundary = self.new_line();
        let metadata = self.compaction_metadata(source, boundary, kept);
        let logical_parent = source.parent.map(|parent| self.uuid(parent));
        let line = self
            .begin_tree_line(None)
            .str_or_null("logicalParentUuid", logical_parent.as_deref())
            .str("type", "system")
            .str("subtype", "compact_boundary")
            .str("content", BOUNDARY_TEXT)
            .bool("isMeta", false)
            .str("level", "info")
            .json("compactMetadata", &metadata);
        let line = self
            .end_tree_line(line, boundary, source.time_ms)
            .json(RETURNED_KEY, NO_ENTRY);
        self.write_line(line)?;
        Ok(boundary)
    }

    /// Returns the data on a compaction in its boundary, as JSON. `kept` are the lines that it
    /// keeps, if any; the anchor, after which Claude Code inserts them, is the summary.
    ///
    /// ```text
    /// {"trigger":"manual","preTokens":9000,"preservedMessages":{"anchorUuid":"…","uuids":["…"]}}
    /// ```
    fn compaction_metadata(
        &self,
        source: &SourceEntry,
        boundary: LineIx,
        kept: &[LineIx],
    ) -> Vec<u8> {
        let tokens_before = finite_or_zero(source.entry.get("tokensBefore"));
        let metadata = Object::new()
            .str("trigger", "manual")
            .number("preTokens", tokens_before);
        if kept.is_empty() {
            return metadata.finish();
        }
        let uuids = kept
            .iter()
            .map(|&line| encode_to_vec(&Text::from(self.uuid(line))));
        // The summary is written right after the boundary, so it has the next number.
        let summary = LineIx(boundary.0 + 1);
        let preserved = Object::new()
            .str("anchorUuid", &self.uuid(summary))
            .json("uuids", &array(uuids));
        metadata
            .json("preservedMessages", &preserved.finish())
            .finish()
    }

    /// Writes a message of the user, or of pi in the name of the user. Remembers the text of a
    /// message of the user: the last line of the session repeats the last of these texts.
    fn write_user(
        &mut self,
        source: &SourceEntry,
        content: Raw,
        visibility: Visibility,
    ) -> io::Result<LineIx> {
        // The entries of messages that pi sends have no `message`, or another role.
        let stored_message = source.entry.get("message").unwrap_or(Raw::NULL);
        if member_is(stored_message, "role", "user") {
            self.last_prompt = first_text(content);
        }
        let mark = match visibility {
            Visibility::Shown => LineMark::None,
            Visibility::Hidden => LineMark::Meta,
        };
        let message = user_message(&user_content(content));
        self.write_message(source, "user", &message, mark)
    }

    /// Writes a response of the model. It gets an id in the form of the API's ids.
    fn write_response(
        &mut self,
        source: &SourceEntry,
        message: Raw,
        calls: &[OpenCall],
    ) -> io::Result<LineIx> {
        // Made of the id of the line that is written next.
        let next_line = LineIx(self.line_count);
        let id = format!("msg_{}", self.uuid(next_line).replace('-', ""));
        let message = response_message(message, calls, &id);
        self.write_message(source, "assistant", &message, LineMark::None)
    }

    /// Writes the result of a call, as a message of the user.
    fn write_result(
        &mut self,
        source: &SourceEntry,
        message: Raw,
        call: &OpenCall,
    ) -> io::Result<LineIx> {
        let is_error = message.get("isError").and_then(Raw::bool) == Some(true);
        let content = message.get("content").unwrap_or(Raw::NULL);
        let block = result_block(&call.id, &result_content(content, is_error), is_error);
        let message = user_message(&array([block]));
        self.write_message(source, "user", &message, LineMark::None)
    }
}

impl NativeWriter for ClaudeWriter<'_> {
    fn has_branches(&self) -> bool {
        true
    }

    fn call_id<'i>(&self, own_id: &'i str) -> &'i str {
        own_id
    }

    /// Writes what the model sees as one line, except for a compaction, which has two.
    fn write_seen(&mut self, source: &SourceEntry, seen: &ModelMessage) -> io::Result<LineIx> {
        match *seen {
            ModelMessage::User {
                content,
                visibility,
            } => self.write_user(source, content, visibility),
            ModelMessage::Response { message, calls } => {
                self.write_response(source, message, calls)
            }
            ModelMessage::Result { message, call } => self.write_result(source, message, call),
            ModelMessage::Compaction { content, kept } => {
                self.write_compaction(source, content, kept)
            }
        }
    }

    /// Writes an entry that the model does not see, as a line of a type of pisess, which Claude
    /// Code skips.
    fn write_unseen(&mut self, source: &SourceEntry) -> io::Result<()> {
        let line = Object::new()
            .str("type", RETURNED_KEY)
            .str("timestamp", &iso_string(source.time_ms))
            .str("sessionId", self.session_id)
            .json(RETURNED_KEY, &returned_member(source.entry, None));
        self.write_line(line)
    }

    /// Writes a name of the session as Claude Code stores a name from the user.
    fn write_title(&mut self, source: &SourceEntry, name: &Text) -> io::Result<()> {
        let line = Object::new()
            .str("type", "custom-title")
            .text("customTitle", name)
            .str("sessionId", self.session_id)
            .json(RETURNED_KEY, &returned_member(source.entry, None));
        self.write_line(line)
    }

    /// Writes the result of a call that has none. The line has no entry of pi, so an import adds
    /// nothing for it.
    fn write_missing_result(
        &mut self,
        parent: Option<LineIx>,
        time_ms: i64,
        call: &OpenCall,
    ) -> io::Result<LineIx> {
        let ix = self.new_line();
        let content = encode_to_vec(&Text::from(MISSING_RESULT));
        let block = result_block(&call.id, &content, true);
        let line = self
            .begin_tree_line(parent)
            .str("type", "user")
            .json("message", &user_message(&array([block])));
        let line = self
            .end_tree_line(line, ix, time_ms)
            .json(RETURNED_KEY, NO_ENTRY);
        self.write_line(line)?;
        Ok(ix)
    }

    /// Writes at which line the session continues: a newer line may be on another branch.
    fn finish(mut self: Box<Self>, leaf: Option<LineIx>) -> io::Result<()> {
        let Some(leaf) = leaf else {
            return Ok(());
        };
        let prompt = self.last_prompt.take().unwrap_or_default();
        let line = Object::new()
            .str("type", "last-prompt")
            .text("lastPrompt", &prompt)
            .str("leafUuid", &self.uuid(leaf))
            .str("sessionId", self.session_id)
            .json(RETURNED_KEY, NO_ENTRY);
        self.write_line(line)
    }
}

/// Returns a message of the role `user`. `content` is JSON.
fn user_message(content: &[u8]) -> Vec<u8> {
    Object::new()
        .str("role", "user")
        .json("content", content)
        .finish()
}

/// Returns the content of a message of the user: a string, or texts that are not blank, and images.
fn user_content(content: Raw) -> Vec<u8> {
    if content.is_string() {
        return content.bytes().to_vec();
    }
    array(content.items().filter_map(user_block))
}

/// Returns a block of pi as Claude Code has it: a text that is not blank, or an image. `None` for
/// any other block.
fn user_block(block: Raw) -> Option<Vec<u8>> {
    if is_text(block) {
        return block.get_text("text").map(|text| text_block(&text));
    }
    if !is_block(block, "image") {
        return None;
    }
    let source = Object::new()
        .str("type", "base64")
        .text("media_type", &block.get_text("mimeType")?)
        .text("data", &block.get_text("data")?);
    let image = Object::new()
        .str("type", "image")
        .json("source", &source.finish());
    Some(image.finish())
}

/// Returns the content of a result. In a result that is an error, the API accepts only text, so
/// images are left out, and [`EMPTY_FAILURE`] takes the place of missing text.
fn result_content(content: Raw, is_error: bool) -> Vec<u8> {
    if content.is_string() {
        return content.bytes().to_vec();
    }
    if !is_error {
        return user_content(content);
    }
    let mut texts = Vec::new();
    for block in content.items() {
        if is_text(block) {
            texts.extend(user_block(block));
        }
    }
    if texts.is_empty() {
        return encode_to_vec(&Text::from(EMPTY_FAILURE));
    }
    array(texts)
}

/// Returns the result of the call with this id, as the API has it. `content` is JSON.
fn result_block(call_id: &Text, content: &[u8], is_error: bool) -> Vec<u8> {
    let block = Object::new()
        .str("type", "tool_result")
        .text("tool_use_id", call_id)
        .json("content", content);
    // Without the member, the API takes the call as successful.
    if is_error {
        block.bool("is_error", true).finish()
    } else {
        block.finish()
    }
}

/// Returns a response in the form in which the API sends it. `id` must be unique: Claude Code
/// treats lines with the same id as parts of one response.
fn response_message(message: Raw, calls: &[OpenCall], id: &str) -> Vec<u8> {
    let model = non_empty_text(message, "model").unwrap_or_else(|| Text::from("unknown"));
    // pi has further reasons, such as `error` and `aborted`, for which the API has none.
    let stop_reason = if member_is(message, "stopReason", "toolUse") {
        "tool_use"
    } else if member_is(message, "stopReason", "length") {
        "max_tokens"
    } else {
        "end_turn"
    };
    Object::new()
        .str("id", id)
        .str("type", "message")
        .str("role", "assistant")
        .text("model", &model)
        .json("content", &array(response_blocks(message, calls)))
        .str("stop_reason", stop_reason)
        .json("stop_sequence", b"null")
        .json("usage", &response_usage(message))
        .finish()
}

/// Returns the tokens of a response under the names of the API, as JSON. Missing numbers are 0.
fn response_usage(message: Raw) -> Vec<u8> {
    let usage = message.get("usage").unwrap_or(Raw::NULL);
    let tokens = |key| finite_or_zero(usage.get(key));
    Object::new()
        .number("input_tokens", tokens("input"))
        .number("cache_creation_input_tokens", tokens("cacheWrite"))
        .number("cache_read_input_tokens", tokens("cacheRead"))
        .number("output_tokens", tokens("output"))
        .finish()
}

/// Returns the blocks of a response as the API has them. `calls` are the calls among them, in the
/// same order. Thinking is kept only with a valid signature, because the API refuses it otherwise.
/// Thinking at the end is left out, because a response cannot end with it.
fn response_blocks(message: Raw, calls: &[OpenCall]) -> Vec<Vec<u8>> {
    let content = message.get("content").unwrap_or(Raw::NULL);
    if let Some(text) = content.text() {
        return vec![text_block(&text)];
    }

    let keeps_thinking = has_valid_signatures(message);
    let mut calls = calls.iter();
    let mut blocks = Vec::new();
    // The thinking after the last text or call. It is added only before another text or call.
    let mut pending_thinking = Vec::new();
    for block in content.items() {
        if keeps_thinking && let Some(thinking) = thinking_block(block) {
            pending_thinking.push(thinking);
            continue;
        }
        let converted = if is_text(block) {
            user_block(block)
        } else if is_block(block, "toolCall") {
            calls.next().map(|call| call_block(block, call))
        } else {
            None
        };
        if let Some(converted) = converted {
            blocks.append(&mut pending_thinking);
            blocks.push(converted);
        }
    }
    blocks
}

/// Whether the signatures of thinking are valid in Claude Code: Anthropic made them, with the API
/// that Claude Code uses.
fn has_valid_signatures(message: Raw) -> bool {
    member_is(message, "api", "anthropic-messages") && member_is(message, "provider", "anthropic")
}

/// Returns a block with thinking as the API has it. `None` if it has no signature, without which
/// the API refuses thinking, or if the block is not thinking.
fn thinking_block(block: Raw) -> Option<Vec<u8>> {
    if !is_block(block, "thinking") {
        return None;
    }
    let signature = block.get_text("thinkingSignature")?;
    if signature.is_blank() {
        return None;
    }
    let is_redacted = block.get("redacted").and_then(Raw::bool) == Some(true);
    let text = block.get_text("thinking").unwrap_or_default();
    Some(signed_thinking_block(&text, &signature, is_redacted))
}

/// Returns a call in the form of Claude Code. If Claude Code has the tool under another name, the
/// call gets that name and its arguments. Any other call stays as it is: Claude Code sends it
/// unchanged.
fn call_block(block: Raw, call: &OpenCall) -> Vec<u8> {
    let name = block.get_text("name").unwrap_or_default();
    let arguments = block
        .get("arguments")
        .filter(|arguments| arguments.is_object())
        .unwrap_or(Raw::from_checked(b"{}"));
    let block = Object::new().str("type", "tool_use").text("id", &call.id);
    if let Some(common) = CommonCall::read(&name, arguments) {
        let renamed = common.for_claude();
        let is_call_of_claude = name == *renamed.name;
        // The arguments of such a call are kept as they are: some have no counterpart in pi.
        if !is_call_of_claude {
            return block
                .str("name", renamed.name)
                .json("input", &renamed.arguments)
                .finish();
        }
    }
    block.text("name", &name).raw("input", arguments).finish()
}

/// Returns the text of a content that is a string, or else the first of its text blocks that is not
/// blank. `None` if there is no such block.
fn first_text(content: Raw) -> Option<Text<'static>> {
    if let Some(text) = content.text() {
        return Some(text.into_owned());
    }
    let first = content.items().find(|block| is_text(*block))?;
    first.get_text("text").map(Text::into_owned)
}
