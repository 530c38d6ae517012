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

use super::parts::{custom_message, kept, rest_of, text, time, usage_json};
use super::writer::{Draft, Place, Writer};
use super::{Origin, Reader, each_value};
use content::{array_text, blocks, print, prints, reasoning, thinking};
use foldhash::{HashMap, HashSet};
use history::{History, is_turn};
use pisess_core::session::content::{finite, members, text_content};
use pisess_core::session::usage::Usage;
use pisess_json::Raw;
use pisess_json::string::encoded;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use pisess_store::ReadAt;
use std::io;
use tools::{arguments, output};

const PROVIDER: &str = "openai-codex";
/// The summary of a compaction of which only an encrypted form exists.
const NO_SUMMARY: &str = "Context compacted by Codex.";
/// The thinking levels of pi that Codex has, too.
const LEVELS: [&str; 5] = ["minimal", "low", "medium", "high", "xhigh"];

/// What was read so far.
#[derive(Default)]
pub struct Codex<'o> {
    writer: Writer<'o>,
    /// The texts and calls of items, and the offset at which each is first.
    items: HashMap<u64, u64>,
    /// The ends of earlier imports, which saw no item after them.
    earlier: Vec<u64>,
    at: Option<Place>,
    /// Where each turn on the path begins, and the position in the history of what the user had
    /// said before.
    turns: Vec<(Option<Place>, Option<usize>)>,
    history: History,
    /// The last message of a response, until its tokens are known, and what came after it. The
    /// members of the first are those of its message.
    held: Vec<Draft>,
    /// What of its line the message that is held has no place for.
    held_rest: Vec<u8>,
    model: Text<'static>,
    level: Option<Text<'static>>,
    names: HashMap<Box<[u8]>, Text<'static>>,
    /// What events said that became messages. An item that says it comes in a later import.
    recorded: HashSet<u64>,
    /// Calls whose result was read.
    answered: HashSet<Box<[u8]>>,
    /// The tokens of all requests, as reported last.
    total: Option<Vec<u8>>,
    /// The size of the context, as reported last.
    context: f64,
    time_ms: i64,
}

/// A line, and what it says.
struct CodexLine<'a> {
    offset: u64,
    raw: Raw<'a>,
    payload: Raw<'a>,
}

impl<'o> Codex<'o> {
    /// Returns a reader of a source.
    pub fn new(source: &dyn ReadAt, earlier: &[u64], writer: Writer<'o>) -> io::Result<Self> {
        let mut items: HashMap<u64, u64> = HashMap::default();
        each_value(source, source.len(), |line, raw| {
            let Some(raw) = raw else { return Ok(()) };
            let (kind, payload) = parts_of(raw);
            if kind == "response_item" {
                for print in prints(payload) {
                    items.entry(print).or_insert(line.span.start);
                }
            }
            Ok(())
        })?;
        let (earlier, model) = (earlier.to_vec(), Text::from("codex"));
        Ok(Codex {
            writer,
            items,
            earlier,
            model,
            ..Codex::default()
        })
    }
}

/// Returns the type of a line, and its payload: the line itself, if it is an item of an old file.
fn parts_of(raw: Raw<'_>) -> (&'static str, Raw<'_>) {
    let [kind, payload] = members(raw, ["type", "payload"]);
    let known = [
        "session_meta",
        "response_item",
        "event_msg",
        "turn_context",
        "compacted",
    ];
    match (kind, payload.filter(|payload| payload.is_object())) {
        (Some(kind), Some(payload)) => (
            known
                .into_iter()
                .find(|known| kind.is(known))
                .unwrap_or("other"),
            payload,
        ),
        (Some(_), None) => ("response_item", raw),
        (None, _) => ("other", raw),
    }
}

impl<'o> Reader<'o> for Codex<'o> {
    fn line(&mut self, offset: u64, raw: Raw) -> io::Result<()> {
        let (kind, payload) = parts_of(raw);
        self.time_ms = time(raw.get("timestamp")).unwrap_or(self.time_ms);
        let line = CodexLine {
            offset,
            raw,
            payload,
        };
        let is_used = match kind {
            "response_item" => self.item(&line)?,
            "event_msg" => self.event(&line)?,
            "turn_context" => self.settings(&line)?,
            "compacted" => self.compacted(&line)?,
            _ => false,
        };
        if is_used { Ok(()) } else { self.keep(&line) }
    }

    fn custom(&mut self, offset: u64, members: Object) -> io::Result<()> {
        self.add(offset, "custom", members)
    }

    fn record(&mut self, draft: Draft) -> io::Result<()> {
        self.flush(None)?;
        self.at = Some(self.writer.chain(self.at, draft)?);
        Ok(())
    }

    fn end(mut self: Box<Self>) -> io::Result<Writer<'o>> {
        self.flush(None)?;
        Ok(self.writer)
    }
}

impl Codex<'_> {
    /// Adds an entry, or holds it if a reply is held.
    fn add(&mut self, offset: u64, kind: &'static str, members: Object) -> io::Result<()> {
        let draft = Draft {
            offset,
            time_ms: self.time_ms,
            kind,
            members,
        };
        if self.held.is_empty() {
            self.at = Some(self.writer.add(self.at, draft)?);
        } else {
            self.held.push(draft);
        }
        Ok(())
    }

    /// Adds what is held. The reply gets this `usage`.
    fn flush(&mut self, usage: Option<&[u8]>) -> io::Result<()> {
        let mut held = std::mem::take(&mut self.held);
        if let Some(reply) = held.first_mut() {
            let none = usage_json(&Usage::default(), 0.0, None);
            let message = std::mem::take(&mut reply.members)
                .json("usage", usage.unwrap_or(&none))
                .number("timestamp", reply.time_ms as f64)
                .finish();
            reply.members = Object::new()
                .json("message", &message)
                .json("codex", &self.held_rest);
        }
        for draft in held {
            self.at = Some(self.writer.add(self.at, draft)?);
        }
        Ok(())
    }

    /// Keeps a line without a counterpart.
    fn keep(&mut self, line: &CodexLine) -> io::Result<()> {
        let kind = text(line.raw, "type").unwrap_or_else(|| Text::from("line"));
        let inner = text(line.payload, "type").filter(|inner| *inner != kind);
        let suffix = inner.map(|inner| format!(".{inner}")).unwrap_or_default();
        let members = kept(
            Origin::Codex.name(),
            &format!("{kind}{suffix}"),
            line.raw.bytes(),
        );
        self.add(line.offset, "custom", members)
    }

    /// Returns what of a line a message has no place for.
    fn rest(line: &CodexLine, used: &[&str]) -> Vec<u8> {
        let payload = rest_of(line.payload, used).finish();
        if line.raw == line.payload {
            return payload;
        }
        rest_of(line.raw, &["payload"])
            .json("payload", &payload)
            .finish()
    }

    /// Adds a message other than a reply; the members that it has are `used`.
    fn message(&mut self, line: &CodexLine, message: Object, used: &[&str]) -> io::Result<()> {
        let timed = message.number("timestamp", self.time_ms as f64).finish();
        let members = Object::new()
            .json("message", &timed)
            .json("codex", &Codex::rest(line, used));
        self.add(line.offset, "message", members)
    }

    /// Adds what the user said, which begins a turn, or what Codex says in the name of the user.
    fn user(&mut self, line: &CodexLine, content: &[u8], used: &[&str]) -> io::Result<()> {
        self.flush(None)?;
        let said = Raw::checked(content);
        if !is_turn(said) {
            return self.context(line, "context", content, used);
        }
        self.turns.push((self.at, self.history.last));
        self.history.say(said);
        self.message(
            line,
            Object::new().str("role", "user").json("content", content),
            used,
        )
    }

    /// Adds what Codex itself sends to the model.
    fn context(
        &mut self,
        line: &CodexLine,
        kind: &str,
        content: &[u8],
        used: &[&str],
    ) -> io::Result<()> {
        self.flush(None)?;
        self.history.add(content, self.turns.is_empty());
        let members = custom_message(Origin::Codex.name(), kind, content, false)
            .json("codex", &Codex::rest(line, used));
        self.add(line.offset, "custom_message", members)
    }

    /// Holds a part of a reply, which lacks its usage: it may be the last of its response.
    fn reply(&mut self, line: &CodexLine, content: &[u8], rest: Vec<u8>) -> io::Result<()> {
        self.flush(None)?;
        let calls = Raw::checked(content)
            .items()
            .any(|block| block.get("id").is_some());
        let message = Object::new()
            .str("role", "assistant")
            .json("content", content)
            .str("api", "openai-codex-responses")
            .str("provider", PROVIDER)
            .text("model", &self.model)
            .str("stopReason", if calls { "toolUse" } else { "stop" });
        self.held.push(Draft {
            offset: line.offset,
            time_ms: self.time_ms,
            kind: "message",
            members: message,
        });
        self.held_rest = rest;
        Ok(())
    }

    /// Reads an item that was sent to the model, or came from it. Returns whether it has a
    /// counterpart.
    fn item(&mut self, line: &CodexLine) -> io::Result<bool> {
        let item = line.payload;
        let Some(kind) = text(item, "type") else {
            return Ok(false);
        };
        let prints = prints(item);
        if !prints.is_empty() && prints.iter().all(|print| self.recorded.contains(print)) {
            if kind == "message" || kind == "reasoning" {
                self.recorded.retain(|print| !prints.contains(print));
            }
            return Ok(false);
        }
        let kind = kind.to_string_lossy();
        match (&*kind, text(item, "call_id").or_else(|| text(item, "id"))) {
            ("message", _) => return self.said(line),
            ("reasoning", _) => {
                let thoughts = reasoning(item);
                if thoughts.is_empty() {
                    return Ok(false);
                }
                let blocks = array(thoughts.iter().map(thinking));
                self.reply(
                    line,
                    &blocks,
                    Codex::rest(line, &["type", "summary", "content"]),
                )?;
            }
            ("function_call" | "custom_tool_call", Some(id)) => {
                let Some(name) = text(item, "name") else {
                    return Ok(false);
                };
                let given = if kind == "function_call" {
                    "arguments"
                } else {
                    "input"
                };
                let used = ["type", "name", "call_id", given];
                self.call(line, (&id, &name), &arguments(item.get(given)), &used)?;
            }
            ("web_search_call" | "local_shell_call" | "tool_search_call", Some(id)) => {
                let name = Text::from(kind.strip_suffix("_call").unwrap_or_default());
                let given = if kind == "tool_search_call" {
                    "arguments"
                } else {
                    "action"
                };
                let used = ["type", "call_id", given];
                self.call(line, (&id, &name), &arguments(item.get(given)), &used)?;
            }
            ("function_call_output" | "custom_tool_call_output", Some(id)) => {
                let name = self.name_of(&id, "unknown");
                let used = ["type", "call_id", "output"];
                self.result(
                    line,
                    (&id, &name),
                    (&output(item.get("output")), false),
                    &used,
                )?;
            }
            ("tool_search_output", Some(id)) => {
                let name = self.name_of(&id, "tool_search");
                let failed = item.get("status").is_some_and(|status| status.is("failed"));
                let used = ["type", "call_id", "tools"];
                self.result(
                    line,
                    (&id, &name),
                    (&output(item.get("tools")), failed),
                    &used,
                )?;
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Reads a message item.
    fn said(&mut self, line: &CodexLine) -> io::Result<bool> {
        let content = blocks(line.payload.get("content").unwrap_or(Raw::NULL));
        if content.is_empty() {
            return Ok(false);
        }
        let (content, used) = (array(content), ["type", "role", "content"]);
        let role = text(line.payload, "role").unwrap_or_default();
        match &*role.to_string_lossy() {
            "user" => self.user(line, &content, &used)?,
            "assistant" => self.reply(line, &content, Codex::rest(line, &used))?,
            role => self.context(line, role, &content, &used)?,
        }
        Ok(true)
    }

    /// Whether an item says what an event says: one of those that the import of this line has seen.
    /// If none does, the event becomes a message.
    fn is_repeated(&mut self, line: &CodexLine, kind: &str, text: &Text) -> bool {
        let end = self
            .earlier
            .iter()
            .find(|end| **end > line.offset)
            .copied()
            .unwrap_or(u64::MAX);
        let print = print(kind, text);
        let is_repeated = self.items.get(&print).is_some_and(|first| *first < end);
        if !is_repeated {
            self.recorded.insert(print);
        }
        is_repeated
    }

    /// Reads an event that the user saw. Returns whether it has a counterpart.
    fn event(&mut self, line: &CodexLine) -> io::Result<bool> {
        let event = line.payload;
        let Some(kind) = text(event, "type") else {
            return Ok(false);
        };
        let new = |this: &mut Self, key: &str, who: &str| {
            text(event, key).filter(|said| !this.is_repeated(line, who, said))
        };
        match &*kind.to_string_lossy() {
            "user_message" => {
                let Some(said) = new(self, "message", "user") else {
                    return Ok(false);
                };
                self.user(line, &encoded(&said), &["message"])?;
            }
            "agent_message" => {
                let Some(said) = new(self, "message", "assistant") else {
                    return Ok(false);
                };
                self.reply(line, &text_content(&said), Codex::rest(line, &["message"]))?;
            }
            "agent_reasoning" => {
                let Some(said) = new(self, "text", "assistant") else {
                    return Ok(false);
                };
                self.reply(
                    line,
                    &array([thinking(&said)]),
                    Codex::rest(line, &["text"]),
                )?;
            }
            "token_count" => return self.tokens(line),
            "thread_name_updated" => {
                let name = text(event, "thread_name").filter(|name| !name.is_blank());
                let Some(name) = name.map(Text::into_owned) else {
                    return Ok(false);
                };
                let rest = Codex::rest(line, &["thread_name"]);
                let members = Object::new().text("name", &name).json("codex", &rest);
                self.writer.name = Some(name);
                self.add(line.offset, "session_info", members)?;
            }
            "thread_rolled_back" => {
                self.flush(None)?;
                for _ in 0..event
                    .get("num_turns")
                    .and_then(Raw::index)
                    .unwrap_or(0)
                    .min(self.turns.len())
                {
                    let Some((at, said)) = self.turns.pop() else {
                        break;
                    };
                    self.at = at;
                    self.history.last = said;
                }
                return Ok(false);
            }
            kind => return self.tool_event(kind, line),
        }
        Ok(true)
    }

    /// Reads the tokens of a request, which belong to the reply that is held. The same report may
    /// come again.
    fn tokens(&mut self, line: &CodexLine) -> io::Result<bool> {
        let info = line.payload.get("info").unwrap_or(Raw::NULL);
        let [last, total] = members(info, ["last_token_usage", "total_token_usage"]);
        let Some(last) = last.filter(|last| last.is_object()) else {
            return Ok(false);
        };
        let reported = total.unwrap_or(last).bytes().to_vec();
        if self.total.as_ref() == Some(&reported) {
            return Ok(false);
        }
        self.total = Some(reported);
        let of = |key: &str| finite(last.get(key));
        let cached = of("cached_input_tokens");
        let usage = Usage {
            input: (of("input_tokens") - cached).max(0.0),
            output: of("output_tokens"),
            cache_read: cached,
            ..Usage::default()
        };
        self.context = of("total_tokens");
        let reasoning = last.get("reasoning_output_tokens").and_then(Raw::number);
        let usage = usage_json(&usage, self.context, reasoning);
        // The report itself has more, such as limits.
        if !self.held.is_empty() {
            self.keep(line)?;
            self.flush(Some(&usage))?;
            return Ok(true);
        }
        let members = Object::new()
            .str("kind", "codex")
            .str("provider", PROVIDER)
            .text("model", &self.model)
            .json("usage", &usage)
            .json("codex", &Codex::rest(line, &[]));
        self.add(line.offset, "usage", members)?;
        Ok(true)
    }

    /// Reads the settings of a turn, which are kept as well.
    fn settings(&mut self, line: &CodexLine) -> io::Result<bool> {
        self.flush(None)?;
        let model = text(line.payload, "model").filter(|model| *model != self.model);
        if let Some(model) = model {
            self.model = model.into_owned();
            let members = Object::new()
                .str("provider", PROVIDER)
                .text("modelId", &self.model);
            self.add(line.offset, "model_change", members)?;
        }
        let level = text(line.payload, "effort")
            .filter(|level| LEVELS.iter().any(|known| *level == **known));
        if let Some(level) = level.filter(|level| Some(level) != self.level.as_ref()) {
            let members = Object::new().text("thinkingLevel", &level);
            self.level = Some(level.into_owned());
            self.add(line.offset, "thinking_level_change", members)?;
        }
        Ok(false)
    }

    /// Reads a compaction. The messages that replace the conversation follow it, except for the
    /// summary itself.
    fn compacted(&mut self, line: &CodexLine) -> io::Result<bool> {
        self.flush(None)?;
        let given = line.payload.get("message").and_then(Raw::text);
        let history = line
            .payload
            .get("replacement_history")
            .filter(|history| history.is_array());
        if given.is_none() && history.is_none() {
            return Ok(false);
        }
        let summary = given
            .map(|summary| summary.trim().into_owned())
            .filter(|summary| !summary.is_empty());
        let members = Object::new()
            .text(
                "summary",
                summary.as_ref().unwrap_or(&Text::from(NO_SUMMARY)),
            )
            .str("firstKeptEntryId", &self.writer.next_id(line.offset))
            .number("tokensBefore", std::mem::take(&mut self.context))
            .json("codex", &Codex::rest(line, &["message"]));
        self.add(line.offset, "compaction", members)?;
        let Some(history) = history else {
            let kept = self.history.compact();
            kept.iter()
                .try_for_each(|content| self.again(line, content))?;
            return Ok(true);
        };
        self.history.last = None;
        for item in history.items() {
            let said = item.get("content").unwrap_or(Raw::NULL);
            let is_summary = |summary: &Text| {
                array_text(said)
                    .to_string_lossy()
                    .contains(&*summary.to_string_lossy())
            };
            let content = blocks(said);
            if content.is_empty() || summary.as_ref().is_some_and(is_summary) {
                continue;
            }
            let is = |role: &str| item.get("role").is_some_and(|own| own.is(role));
            if is("user") && is_turn(said) {
                self.history.say(said);
            }
            if is("assistant") {
                self.reply(line, &array(content), b"{}".to_vec())?;
                self.flush(None)?;
            } else {
                self.again(line, &array(content))?;
            }
        }
        Ok(true)
    }

    /// Adds what is sent to the model again after a compaction.
    fn again(&mut self, line: &CodexLine, content: &[u8]) -> io::Result<()> {
        self.add(
            line.offset,
            "custom_message",
            custom_message(Origin::Codex.name(), "compacted", content, false),
        )
    }
}
