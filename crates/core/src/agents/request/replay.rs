//! Prepares the messages of a context as the agents do before they send it: drops failed turns,
//! filters thinking, and answers each tool call exactly once, directly after its turn.
//!
//! ```text
//! context     turn: calls a, b     result b     user     result a
//! pi          turn: calls a, b     result b     result a = "No result provided"     user
//! oh-my-pi    turn: calls a, b     result b     result a     user
//! ```

use super::blocks::{Block, Call, Content, Part, Source, ToolResult, joined};
use super::ids::{WireId, assign, tool_name};
use super::sink::whole_text;
use super::{Api, Target};
use crate::agents::oh_my_pi::message::call_ids;
use crate::session::content;
use crate::session::entry::Role;
use foldhash::{HashMap, HashSet};
use pisess_json::text::{Text, concat};
use pisess_json::{Raw, js};
use std::collections::VecDeque;
use std::io;

/// Writes messages in the form of one API. They arrive in the order of the body.
pub trait Writer {
    /// Writes a message of the user, or of a developer: of oh-my-pi or its extensions.
    fn user(&mut self, role: Role, content: Content) -> io::Result<()>;
    /// Writes the blocks of an assistant message; the results of its calls follow. `source` is its
    /// author, compared with the target.
    fn turn(&mut self, source: Source, blocks: Vec<Block>) -> io::Result<()>;
    fn result(&mut self, result: ToolResult) -> io::Result<()>;
    /// Writes the rest of the body. Returns whether it ends with an assistant message; `None` if it
    /// has no message.
    fn finish(self: Box<Self>) -> io::Result<Option<bool>>;
}

/// The result of a call that has none in the session.
const NO_RESULT: &str = "No result provided";

/// Passes messages to a writer.
pub struct Replay<'t> {
    target: &'t Target,
    writer: Box<dyn Writer + 't>,
    /// The ids in the body, each with the number to try next if it is wanted again.
    ids: HashMap<Text<'static>, usize>,
    late: Late,
    /// The calls of the last turn.
    open: Vec<Open>,
    /// The ids of the calls that were answered with [`NO_RESULT`].
    unanswered: HashSet<Option<Text<'static>>>,
    left_out: LeftOut,
    /// The number of the current message, and of the last turn.
    number: usize,
    turn: usize,
}

/// The results that are not in a body.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// The number of those that another message separates from their calls.
    pub separated: usize,
    /// The number of those whose call is not in the context, or has another result.
    pub stray: usize,
}

/// A call, and whether its result was written.
struct Open {
    /// Its id in the session.
    own: Option<Text<'static>>,
    /// Its id and its tool in the body; none if the call is left out.
    wire: Option<(Text<'static>, Text<'static>)>,
    is_answered: bool,
}

impl<'t> Replay<'t> {
    pub fn new(target: &'t Target, late: Late, writer: Box<dyn Writer + 't>) -> Self {
        Replay {
            target,
            writer,
            ids: HashMap::default(),
            late,
            open: Vec::new(),
            unanswered: HashSet::default(),
            left_out: LeftOut::default(),
            number: 0,
            turn: 0,
        }
    }

    /// Handles the next message, as converted for the model.
    pub fn take(&mut self, json: &[u8]) -> io::Result<()> {
        let message = Raw::checked(json);
        let role = message.get_text("role").unwrap_or_default();
        self.number += 1;
        match role.as_bytes() {
            b"user" => self.user(Role::User, message),
            b"developer" => self.user(Role::Developer, message),
            b"assistant" => self.turn(message),
            b"toolResult" => self.result(message),
            // The target has the system messages.
            _ => Ok(()),
        }
    }

    /// Writes the results that are missing and the rest of the body. Returns whether it ends with
    /// an assistant message, and the results that were left out; `None` if it has no message.
    pub fn finish(mut self) -> io::Result<Option<(bool, LeftOut)>> {
        self.close()?;
        let ends_with_answer = self.writer.finish()?;
        Ok(ends_with_answer.map(|ends_with_answer| (ends_with_answer, self.left_out)))
    }

    fn user(&mut self, role: Role, message: Raw) -> io::Result<()> {
        self.close()?;
        self.writer.user(
            role,
            Content::of(message.get("content"), self.target.agent.half_pair),
        )
    }

    fn turn(&mut self, message: Raw) -> io::Result<()> {
        self.close()?;
        let [stop_reason, content] = content::members(message, ["stopReason", "content"]);
        let failed = stop_reason.is_some_and(|reason| reason.is("error") || reason.is("aborted"));
        if failed && self.target.agent.drops_failed {
            return Ok(());
        }
        let is_cut = failed || stop_reason.is_some_and(|reason| reason.is("length"));
        let says =
            |block: Raw| content::is_block(block, "text") || content::is_block(block, "toolCall");
        let is_thought = is_cut && !content.unwrap_or(Raw::NULL).items().any(says);
        if is_thought && self.target.agent.drops_cut_thoughts {
            return Ok(());
        }
        self.turn = self.number;
        let source = source(message, self.target);
        let halves = self.target.agent.half_pair;
        let blocks = match content.and_then(Raw::text) {
            Some(text) => vec![Block::Text {
                text: whole_text(text, halves),
                signature: None,
            }],
            None => {
                let blocks = content.unwrap_or(Raw::NULL).items();
                blocks
                    .filter_map(|block| self.block(block, source))
                    .collect()
            }
        };
        self.writer.turn(source, blocks)
    }

    fn block<'a>(&mut self, block: Raw<'a>, source: Source) -> Option<Block<'a>> {
        let kind = block.get_text("type")?;
        match kind.as_bytes() {
            b"text" => {
                let text = whole_text(block.get_text("text")?, self.target.agent.half_pair);
                let signature =
                    signature(block, "textSignature").filter(|_| source.is_same_model());
                Some(Block::Text { text, signature })
            }
            b"thinking" => thinking(block, source, self.target),
            b"redactedThinking" if source.is_same_model() => {
                let signature = Some(block.get_text("data").filter(|data| !data.is_blank())?);
                Some(Block::Thinking {
                    text: Text::default(),
                    signature,
                    redacted: true,
                })
            }
            b"toolCall" => self.call(block, source).map(Block::Call),
            _ => None,
        }
    }

    /// Opens a call and returns it; `None` if its tool has no name.
    fn call<'a>(&mut self, block: Raw<'a>, source: Source) -> Option<Call<'a>> {
        let [id, name, arguments, namespace] =
            content::members(block, ["id", "name", "arguments", "namespace"]);
        let own = id.and_then(Raw::text).map(Text::into_owned);
        let Some(name) = name
            .and_then(Raw::text)
            .and_then(|name| tool_name(&name, self.target.api))
        else {
            self.open.push(Open {
                own,
                wire: None,
                is_answered: true,
            });
            return None;
        };
        let WireId { call, item } = assign(
            &mut self.ids,
            &own.clone().unwrap_or_default(),
            source,
            self.target,
        );
        self.open.push(Open {
            own,
            wire: Some((call.clone(), name.clone())),
            is_answered: false,
        });
        let is_same = source.is_same_model();
        Some(Call {
            id: call,
            item,
            name,
            arguments,
            signature: signature(block, "thoughtSignature").filter(|_| is_same),
            namespace: namespace.filter(|_| is_same),
        })
    }

    /// Writes a result, if it answers an open call. The APIs refuse any other; it is quoted or left
    /// out.
    fn result(&mut self, message: Raw) -> io::Result<()> {
        let own = message.get_text("toolCallId");
        let is_open = self.open.iter().any(|open| !open.is_answered);
        if let Some(open) = answered(&mut self.open, own.as_ref()) {
            open.is_answered = true;
            return answer(open, message, self.target, self.writer.as_mut());
        }
        let own = own.map(Text::into_owned);
        if self.target.agent.rescues_results {
            // A result with a call was moved to it.
            if !is_open && !self.late.has_call(&own) {
                return self.quote(message);
            }
        } else if self.unanswered.contains(&own) {
            self.left_out.separated += 1;
        } else {
            self.left_out.stray += 1;
        }
        Ok(())
    }

    /// Writes the text of a result without a call as a user message.
    fn quote(&mut self, message: Raw) -> io::Result<()> {
        let names = ["toolCallId", "toolName", "content", "isError"];
        let [id, name, content, is_error] = content::members(message, names);
        let blocks = content::blocks_of(content.unwrap_or(Raw::NULL), "text");
        let texts = blocks
            .filter_map(|block| block.get_text("text"))
            .filter(|text| !text.is_blank());
        let parts: Vec<_> = texts.map(Part::Text).collect();
        if parts.is_empty() {
            return Ok(());
        }
        let (name, id, text) = (js::template(name), js::template(id), joined(&parts));
        let end = if js::truthy(is_error) {
            "\" is-error=\"true\">\n"
        } else {
            "\">\n"
        };
        let start = concat(&[&"<stale-tool-result tool=\"", &name, &"\" id=\"", &id, &end]);
        let text = concat(&[&start, &text, &"\n</stale-tool-result>"]);
        let text = whole_text(text, self.target.agent.half_pair);
        self.writer.user(Role::User, Content::Plain(text))
    }

    /// Answers the calls that have no result.
    fn close(&mut self) -> io::Result<()> {
        for open in std::mem::take(&mut self.open) {
            if open.is_answered {
                continue;
            }
            if let Some(message) = self.late.take(&open.own, self.turn) {
                answer(
                    &open,
                    Raw::checked(&message),
                    self.target,
                    self.writer.as_mut(),
                )?;
            } else if let Some((id, name)) = open.wire {
                let parts = vec![Part::Text(Text::from(NO_RESULT))];
                self.writer.result(ToolResult {
                    id: &id,
                    name,
                    parts,
                    is_error: Some(true),
                })?;
                self.unanswered.insert(open.own);
            }
        }
        Ok(())
    }
}

/// Writes the result of a call, unless the call is left out.
fn answer(open: &Open, message: Raw, target: &Target, writer: &mut dyn Writer) -> io::Result<()> {
    let Some((id, tool)) = &open.wire else {
        return Ok(());
    };
    let [name, content, is_error] = content::members(message, ["toolName", "content", "isError"]);
    let named = name
        .and_then(Raw::text)
        .and_then(|name| tool_name(&name, target.api));
    writer.result(ToolResult {
        id,
        name: named.unwrap_or(tool.clone()),
        parts: Content::of(content, target.agent.half_pair).into_parts(),
        is_error: is_error.and_then(Raw::bool),
    })
}

/// Returns the first unanswered call that a result with this id answers. An id of the Responses API
/// has two halves; a result may have only the first.
fn answered<'o>(open: &'o mut [Open], id: Option<&Text>) -> Option<&'o mut Open> {
    let half = |id: &Text| {
        id.as_bytes()
            .split(|&byte| byte == b'|')
            .next()
            .map(<[u8]>::to_vec)
    };
    let same = |open: &Open| open.own.as_ref() == id;
    let same_half = |open: &Open| match (&open.own, id) {
        (Some(own), Some(id)) => {
            half(own) == half(id) && half(id).is_some_and(|half| !half.is_empty())
        }
        _ => false,
    };
    let mut unanswered = open
        .iter()
        .enumerate()
        .filter(|(_, open)| !open.is_answered);
    let exact = unanswered.clone().find(|(_, open)| same(open));
    let (at, _) = exact.or_else(|| unanswered.find(|(_, open)| same_half(open)))?;
    open.get_mut(at)
}

fn source(message: Raw, target: &Target) -> Source {
    let [provider, api, id] = content::members(message, ["provider", "api", "model"]);
    let is = |value: Option<Raw>, text: &Text| {
        value
            .and_then(Raw::text)
            .is_some_and(|value| value == *text)
    };
    Source {
        provider: is(provider, &target.model.provider),
        api: api.is_some_and(|api| api.is(target.api.name())),
        id: is(id, &target.model.id),
    }
}

fn signature<'a>(block: Raw<'a>, key: &str) -> Option<Text<'a>> {
    block.get_text(key).filter(|text| !text.is_empty())
}

fn thinking<'a>(block: Raw<'a>, source: Source, target: &Target) -> Option<Block<'a>> {
    let text = whole_text(
        block.get_text("thinking").unwrap_or_default(),
        target.agent.half_pair,
    );
    let signature = signature(block, "thinkingSignature");
    let redacted = content::truthy(block, "redacted");
    let shares = target.agent.shares_signatures
        && target.api == Api::Anthropic
        && source.provider
        && source.api;
    if source.is_same_model() || shares && signature.is_some() {
        let is_unsigned = signature.as_ref().is_none_or(Text::is_blank);
        if signature.is_none() && text.is_blank() || is_unsigned && redacted {
            return None;
        }
        let dropped = is_unsigned && target.agent.drops_unsigned && target.api == Api::Anthropic;
        return (!dropped).then_some(Block::Thinking {
            text,
            signature,
            redacted,
        });
    }
    if target.agent.drops_foreign_thinking || text.is_blank() {
        return None;
    }
    Some(Block::Text {
        text: marked(&text, target),
        signature: None,
    })
}

/// Returns thinking as text, marked as such for the model.
fn marked(text: &Text, target: &Target) -> Text<'static> {
    let id = target.model.id.to_string_lossy().to_ascii_lowercase();
    let (before, after) = match () {
        () if id.contains("claude") => ("", ""),
        () if id.contains("gemini") => ("```thinking\n", "\n```"),
        () => ("<think>\n", "\n</think>"),
    };
    concat(&[&before, text, &after])
}

/// The ids of all calls, and the results that come too late: not directly after the calls or
/// another result. An id is `None` if it is missing or not a string.
#[derive(Debug, Default)]
pub struct Late {
    calls: HashSet<Option<Text<'static>>>,
    /// By id: the number of each message, and the message.
    results: HashMap<Option<Text<'static>>, VecDeque<(usize, Vec<u8>)>>,
    /// The calls of the last turn that have no result yet.
    open: Vec<Option<Text<'static>>>,
}

impl Late {
    /// Reads the message with this number.
    pub fn read(&mut self, number: usize, message: Raw) {
        let role = message.get_text("role").unwrap_or_default();
        match role.as_bytes() {
            b"assistant" => {
                self.open = call_ids(message.get("content").unwrap_or(Raw::NULL));
                self.calls.extend(self.open.iter().cloned());
            }
            b"toolResult" => {
                let id = message.get_text("toolCallId").map(Text::into_owned);
                match self.open.iter().position(|open| *open == id) {
                    Some(at) => drop(self.open.remove(at)),
                    None => {
                        let results = self.results.entry(id).or_default();
                        results.push_back((number, message.bytes().to_vec()));
                    }
                }
            }
            _ => self.open.clear(),
        }
    }

    /// Removes and returns the first late result with this id after the turn with this number.
    pub fn take(&mut self, id: &Option<Text<'static>>, turn: usize) -> Option<Vec<u8>> {
        let results = self.results.get_mut(id)?;
        let at = results.iter().position(|(number, _)| *number > turn)?;
        results.remove(at).map(|(_, message)| message)
    }

    pub fn has_call(&self, id: &Option<Text<'static>>) -> bool {
        self.calls.contains(id)
    }
}
