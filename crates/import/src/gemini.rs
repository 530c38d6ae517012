//! Reads sessions of Gemini CLI: `~/.gemini/tmp/*/chats/*.jsonl`.
//!
//! A file is a log of changes to a list of messages:
//!
//! - A line with the id of a message adds the message, or replaces it. A response is written again
//!   with the results of its calls when these have ended. So a response is held back until another
//!   message follows.
//! - `$rewindTo` removes a message and all messages after it. What follows is on another branch.
//! - `$set` with messages replaces the list. The new list mostly repeats the old one. Otherwise it
//!   is a compaction, or goes back to an earlier message ([`history`]).

pub mod format;
mod history;
mod message;

use super::SourceReader;
use super::parts::{
    hidden_message_members, kept_line_members, non_empty_text, parse_time_ms, unconverted_members,
};
use super::writer::{EntryDraft, EntryWriter, NodeIx};
use foldhash::HashSet;
use history::{PathMessage, RemovedMessages, is_optional};
use message::{
    Part, Response, UserMessage, fingerprint, is_converted_whole, list_calls, lone_result_members,
    read_parts, user_blocks,
};
use pisess_core::session::content::{find_members, finite_or_zero, member_is};
use pisess_json::Raw;
use pisess_json::outline::Outlined;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use std::io;

const NAME: &str = "gemini";

/// The members of `$set` that have a counterpart, or repeat what other lines have.
const SET_KEYS: [&str; 4] = ["messages", "lastUpdated", "sessionId", "summary"];

/// The members of a message of the user that have a counterpart.
const USER_KEYS: [&str; 3] = ["timestamp", "type", "content"];

/// The reader of a source, with the state after the lines that were read so far.
#[derive(Default)]
pub struct GeminiReader<'o> {
    writer: EntryWriter<'o>,
    /// The leaf.
    leaf: Option<NodeIx>,
    /// The list of messages of Gemini CLI, without messages that have only results of calls.
    path: Vec<PathMessage>,
    removed: RemovedMessages,
    held: Option<HeldResponse>,
    /// The ids of all messages that were read.
    known_messages: HashSet<Box<[u8]>>,
    /// The ids of the calls that are in a message.
    known_calls: HashSet<Box<[u8]>>,
    /// The ids of the calls whose result was added.
    answered_calls: HashSet<Box<[u8]>>,
    model: Text<'static>,
    /// The number of tokens in the context, as reported last.
    context_tokens: f64,
    time_ms: i64,
}

/// Whether a response is in the source for the first time, or again, as in a list after a
/// compaction.
#[derive(Clone, Copy)]
enum Occurrence {
    First,
    Copy,
}

/// A response that is held back, because a later line may replace it.
struct HeldResponse {
    /// The offset of its first line.
    offset: u64,
    /// The last line that was written of it: it replaces the earlier ones.
    line: Vec<u8>,
    /// The entries that came after its first line, and are added after it.
    followers: Vec<EntryDraft>,
}

impl<'o> SourceReader<'o> for GeminiReader<'o> {
    /// Reads a line of the log of changes:
    ///
    /// ```text
    /// {"sessionId":"…","projectHash":"…","startTime":"…"}      the first line
    /// {"id":"m1","type":"user","content":[…]}                  a message
    /// {"$set":{"summary":"Parser"}}                            a change of members
    /// {"$rewindTo":"m1"}                                       the removal of messages
    /// ```
    ///
    /// Any other line is kept as a custom entry.
    fn read_object(&mut self, offset: u64, value: Outlined) -> io::Result<()> {
        let raw = value.raw();
        let [id, set, rewind, project] =
            find_members(raw, ["id", "$set", "$rewindTo", "projectHash"]);
        let text = |member: Option<Raw<'_>>| member.and_then(Raw::text).map(Text::into_owned);

        // The order matters: Gemini CLI decides in the same order what a line is.
        if let Some(target) = text(rewind) {
            self.release_held()?;
            self.rewind(&target);
            return self.keep_line(offset, "rewindTo", raw.bytes());
        }
        if let Some(id) = text(id) {
            self.time_ms = parse_time_ms(raw.get("timestamp")).unwrap_or(self.time_ms);
            return self.read_message(offset, &id, raw);
        }
        if let Some(set) = set.filter(|set| set.is_object()) {
            return self.read_set(offset, set);
        }
        // The first line, which names the session.
        if project.is_some() {
            self.time_ms = parse_time_ms(raw.get("startTime")).unwrap_or(self.time_ms);
            let kept = unconverted_members(raw, &["messages"]).finish();
            self.keep_line(offset, "session", &kept)?;
            return self.read_changes(offset, raw);
        }
        self.keep_line(offset, "line", raw.bytes())
    }

    fn add_custom(&mut self, offset: u64, members: Object) -> io::Result<()> {
        self.add_entry(offset, "custom", members)
    }

    fn add_record(&mut self, draft: EntryDraft) -> io::Result<()> {
        // A response without content stays held: the model has not answered yet, and a later import
        // may read the answer. It is taken out for a moment, so that it is not released here.
        let unanswered = self.held.take_if(|held| held.is_empty());
        self.release_held()?;
        self.leaf = Some(self.writer.append_record(self.leaf, draft)?);
        self.held = unanswered;
        Ok(())
    }

    fn finish(mut self: Box<Self>) -> io::Result<EntryWriter<'o>> {
        self.release_held()?;
        Ok(self.writer)
    }
}

impl HeldResponse {
    fn has_id(&self, id: &Text) -> bool {
        Raw::from_checked(&self.line).get_text("id").as_ref() == Some(id)
    }

    /// Whether the response has no content yet, and no entry came after it.
    fn is_empty(&self) -> bool {
        let message = Raw::from_checked(&self.line);
        let parts = read_parts(message.get("content").unwrap_or(Raw::NULL));
        let response = Response::convert(message, &parts);
        response.blocks.is_empty() && self.followers.is_empty()
    }
}

impl<'o> GeminiReader<'o> {
    /// Makes a reader that has read nothing.
    pub fn new(writer: EntryWriter<'o>) -> Self {
        GeminiReader {
            writer,
            model: Text::from(NAME),
            ..GeminiReader::default()
        }
    }

    /// Adds an entry below the leaf. While a response is held back, the entry is held back with it,
    /// and added after it.
    fn add_entry(&mut self, offset: u64, kind: &'static str, members: Object) -> io::Result<()> {
        let draft = self.draft_entry(offset, kind, members);
        match &mut self.held {
            Some(held) => held.followers.push(draft),
            None => self.add_below_leaf(draft)?,
        }
        Ok(())
    }

    /// Drafts an entry with the time of the line that is being read.
    fn draft_entry(&self, offset: u64, kind: &'static str, members: Object) -> EntryDraft {
        EntryDraft {
            offset,
            time_ms: self.time_ms,
            kind,
            members,
        }
    }

    fn add_below_leaf(&mut self, draft: EntryDraft) -> io::Result<()> {
        self.leaf = Some(self.writer.add_child(self.leaf, draft)?);
        Ok(())
    }

    /// Keeps a line without a counterpart, or a part of it, as a custom entry.
    fn keep_line(&mut self, offset: u64, kind: &str, data: &[u8]) -> io::Result<()> {
        self.add_entry(offset, "custom", kept_line_members(NAME, kind, data))
    }

    /// Reads a line with a message: a new one, or one that Gemini CLI writes again.
    fn read_message(&mut self, offset: u64, id: &Text, raw: Raw) -> io::Result<()> {
        let is_response = member_is(raw, "type", "gemini");
        let is_known = self.known_messages.contains(id.as_bytes());
        if is_known && is_response {
            return self.read_response_again(offset, id, raw);
        }
        if is_known {
            return self.keep_line(offset, "repeated", raw.bytes());
        }

        // A new message follows the held response, so no later line replaces that response.
        self.release_held()?;
        if !is_response {
            return self.add_message(offset, id, raw);
        }
        self.known_messages.insert(id.as_bytes().into());
        self.held = Some(HeldResponse {
            offset,
            line: raw.bytes().to_vec(),
            followers: Vec::new(),
        });
        Ok(())
    }

    /// Reads a line with a response that was read before: Gemini CLI writes a response again when
    /// its calls have ended. If the response is still held, the line replaces the earlier one.
    /// Otherwise, the calls and results that the earlier line lacked are added.
    fn read_response_again(&mut self, offset: u64, id: &Text, raw: Raw) -> io::Result<()> {
        if let Some(held) = &mut self.held
            && held.has_id(id)
        {
            held.line = raw.bytes().to_vec();
            return Ok(());
        }
        self.add_missing_calls(offset, raw)
    }

    /// Adds a message that no later line replaces.
    fn add_message(&mut self, offset: u64, id: &Text, raw: Raw) -> io::Result<()> {
        let is_new = self.known_messages.insert(id.as_bytes().into());
        if member_is(raw, "type", "gemini") {
            let occurrence = if is_new {
                Occurrence::First
            } else {
                Occurrence::Copy
            };
            return self.add_response(offset, raw, occurrence);
        }
        if member_is(raw, "type", "user") {
            return self.add_user_message(offset, id, raw);
        }
        // Only the user sees other messages: information, warnings and errors.
        let kind = non_empty_text(raw, "type").unwrap_or_else(|| Text::from("line"));
        self.keep_line(offset, &kind.to_string_lossy(), raw.bytes())
    }

    /// Adds a message of the type `user`. Results of calls in it become messages of their own, and
    /// context that Gemini CLI or a hook added becomes a custom message.
    fn add_user_message(&mut self, offset: u64, id: &Text, raw: Raw) -> io::Result<()> {
        let parts = read_parts(raw.get("content").unwrap_or(Raw::NULL));
        match UserMessage::of_parts(&parts) {
            UserMessage::Empty => self.keep_line(offset, "user", raw.bytes()),
            // The message itself is not on the path: a later list may lack it.
            UserMessage::Results => self.add_lone_results(offset, &parts),
            UserMessage::SessionContext | UserMessage::HookContext => {
                let blocks = array(user_blocks(&parts));
                let members = hidden_message_members(NAME, "context", &blocks)
                    .object(NAME, &unconverted_user_members(raw, &parts));
                let draft = self.draft_entry(offset, "custom_message", members);
                self.add_to_path(id, raw, draft)
            }
            UserMessage::Prompt => self.add_prompt(offset, id, raw, &parts),
        }
    }

    /// Adds a message of the user as such. If it has results of calls among its parts, as beside
    /// an image that a tool has read, these become messages before it.
    fn add_prompt(&mut self, offset: u64, id: &Text, raw: Raw, parts: &[Part]) -> io::Result<()> {
        self.add_lone_results(offset, parts)?;
        let message = Object::new()
            .str("role", "user")
            .json("content", &array(user_blocks(parts)))
            .number("timestamp", self.time_ms as f64);
        let members = Object::new()
            .object("message", &message)
            .object(NAME, &unconverted_user_members(raw, parts));
        let draft = self.draft_entry(offset, "message", members);
        self.add_to_path(id, raw, draft)
    }

    /// Adds the results of calls among the parts of a message of the user. Usually the response
    /// with the call has the result, too, and it was added with the response; then nothing is
    /// added.
    fn add_lone_results(&mut self, offset: u64, parts: &[Part]) -> io::Result<()> {
        for part in parts {
            let Part::Result(result) = part else { continue };
            let Some(call_id) = non_empty_text(*result, "id") else {
                continue;
            };
            let is_known = self.known_calls.contains(call_id.as_bytes());
            let is_answered = self.answered_calls.contains(call_id.as_bytes());
            if !is_known || is_answered {
                continue;
            }
            if let Some(members) = lone_result_members(*result, self.time_ms) {
                self.answered_calls.insert(call_id.as_bytes().into());
                self.add_entry(offset, "message", members)?;
            }
        }
        Ok(())
    }

    /// Adds the held response, and the entries that were held back with it. Does nothing if no
    /// response is held.
    fn release_held(&mut self) -> io::Result<()> {
        let Some(held) = self.held.take() else {
            return Ok(());
        };
        let response = Raw::from_checked(&held.line);
        self.add_response(held.offset, response, Occurrence::First)?;
        for draft in held.followers {
            self.add_below_leaf(draft)?;
        }
        Ok(())
    }

    /// Adds a response with the results of its calls. A response without blocks and tokens is kept
    /// as a custom entry.
    fn add_response(&mut self, offset: u64, raw: Raw, occurrence: Occurrence) -> io::Result<()> {
        let [content, tokens] = find_members(raw, ["content", "tokens"]);
        let parts = read_parts(content.unwrap_or(Raw::NULL));
        let response = Response::convert(raw, &parts);
        let tokens = tokens.filter(|tokens| tokens.is_object());
        if response.blocks.is_empty() && tokens.is_none() {
            return self.keep_line(offset, NAME, raw.bytes());
        }

        // A response without a model has the model of the response before it.
        if let Some(model) = non_empty_text(raw, "model") {
            self.model = model.into_owned();
        }
        if let Some(tokens) = tokens {
            self.context_tokens = finite_or_zero(tokens.get("total"));
        }
        // The tokens of a copy were counted where the response is first.
        let counted_tokens = match occurrence {
            Occurrence::First => tokens,
            Occurrence::Copy => None,
        };
        let time_ms = parse_time_ms(raw.get("timestamp")).unwrap_or(self.time_ms);
        let draft = EntryDraft {
            offset,
            time_ms,
            kind: "message",
            members: response.entry_members(&self.model, counted_tokens, time_ms),
        };
        let id = raw.get_text("id").unwrap_or_default();
        self.add_to_path(&id, raw, draft)?;
        self.add_results(offset, raw, &parts, time_ms)
    }

    /// Adds the calls and results of a response that the session lacks: an earlier import ended,
    /// and added the response, before its calls were recorded.
    fn add_missing_calls(&mut self, offset: u64, raw: Raw) -> io::Result<()> {
        self.release_held()?;
        let parts = read_parts(raw.get("content").unwrap_or(Raw::NULL));
        let response = Response::convert_new_calls(raw, &parts, &self.known_calls);
        if !response.blocks.is_empty() {
            let members = response.entry_members(&self.model, None, self.time_ms);
            self.add_entry(offset, "message", members)?;
        }
        self.add_results(offset, raw, &parts, self.time_ms)
    }

    /// Adds the results of the calls of a response, except results that the session has, and
    /// records the calls. `raw` is the response, and `parts` are the parts of its content.
    fn add_results(
        &mut self,
        offset: u64,
        raw: Raw,
        parts: &[Part],
        time_ms: i64,
    ) -> io::Result<()> {
        for call in list_calls(raw, parts) {
            self.known_calls.insert(call.id.as_bytes().into());
            if self.answered_calls.contains(call.id.as_bytes()) {
                continue;
            }
            // The call has not ended yet, or the result is in a message of the user.
            let Some(result) = call.result_entry(time_ms) else {
                continue;
            };
            self.answered_calls.insert(call.id.as_bytes().into());
            self.add_below_leaf(EntryDraft {
                offset,
                time_ms: result.time_ms,
                kind: "message",
                members: result.members,
            })?;
        }
        Ok(())
    }

    /// Adds the entry of a message below the leaf, and the message to `path`. Must not be called
    /// while a response is held back.
    fn add_to_path(&mut self, id: &Text, raw: Raw, draft: EntryDraft) -> io::Result<()> {
        let leaf_before = self.leaf;
        self.add_below_leaf(draft)?;
        // The conversation has gone on, so messages that the last list lacked do not come back.
        self.removed = RemovedMessages::default();
        self.path.push(PathMessage {
            id: id.as_bytes().into(),
            fingerprint: fingerprint(raw),
            leaf_before,
            first_entry: self.leaf,
            is_optional: is_optional(raw),
        });
        Ok(())
    }

    /// Reads a line `$set`, which changes the members of the session that are in `set`. Members
    /// without a counterpart are kept as a custom entry.
    fn read_set(&mut self, offset: u64, set: Raw) -> io::Result<()> {
        self.time_ms = parse_time_ms(set.get("lastUpdated")).unwrap_or(self.time_ms);
        self.read_changes(offset, set)?;
        let unconverted = unconverted_members(set, &SET_KEYS).finish();
        if unconverted == b"{}" {
            return Ok(());
        }
        let kept = Object::new().json("$set", &unconverted).finish();
        self.keep_line(offset, "set", &kept)
    }

    /// Reads the members of the session that change: the list of messages, and the title, which is
    /// named `summary`.
    fn read_changes(&mut self, offset: u64, members: Raw) -> io::Result<()> {
        let [messages, summary] = find_members(members, ["messages", "summary"]);
        if let Some(messages) = messages.filter(|messages| messages.is_array()) {
            self.release_held()?;
            self.replace_messages(offset, messages)?;
        }
        match summary.and_then(Raw::text) {
            Some(title) => self.add_title(offset, title),
            None => Ok(()),
        }
    }

    /// Adds the title of the session as its name. Adds nothing if it is blank, or already the name.
    fn add_title(&mut self, offset: u64, title: Text) -> io::Result<()> {
        let is_current_name = self.writer.name.as_ref() == Some(&title);
        if title.is_blank() || is_current_name {
            return Ok(());
        }
        let members = Object::new().text("name", &title);
        self.writer.name = Some(title.into_owned());
        self.add_entry(offset, "session_info", members)
    }
}

/// Returns the members of a message of the user that are not in its entry. If a part of its content
/// has no counterpart, the whole content is among them.
fn unconverted_user_members(raw: Raw, parts: &[Part]) -> Object {
    if is_converted_whole(parts) {
        unconverted_members(raw, &USER_KEYS)
    } else {
        unconverted_members(raw, &["timestamp", "type"])
    }
}
