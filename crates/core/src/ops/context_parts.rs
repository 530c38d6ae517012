//! Sums the agent's token estimates of a context's messages by role, tool, file or entry.

use crate::agents::Agent;
use crate::ops::files::RecordedPaths;
use crate::session::content::{find_members, member_is};
use crate::session::entry::{EntryIx, Role};
use crate::session::file_calls::called_files;
use crate::session::read::entry_reader::{Body, ContextMessage, EntryReader, read_in_order};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use std::io;

/// The property by which the messages of a context are grouped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum PartKey {
    /// The role of the message.
    Role,
    /// The tool of a call and its result.
    Tool,
    /// The file that a call of `read`, `write` or `edit` names, with the result.
    File,
    /// The entry that the message comes from.
    Entry,
}

/// The messages of a context with the same key.
#[derive(Clone, Debug)]
pub struct ContextPart {
    /// The role, tool or file. `None` for messages that have none, and if entries are the key.
    pub name: Option<String>,
    /// The entry, if entries are the key.
    pub entry: Option<EntryIx>,
    /// The agent's estimate, in tokens.
    pub tokens: u64,
    /// The number of messages, where each call of a reply counts separately.
    pub messages: usize,
}

/// Groups the messages of a context by `key`, and returns the groups, the largest first. The sum of
/// their tokens is the sum of the estimates of all messages, which may differ from the provider's
/// count. Messages are read on up to `workers` threads, each with its own reader.
pub fn measure_parts<'a>(
    messages: &[ContextMessage],
    key: PartKey,
    reader: impl Fn() -> EntryReader<'a> + Sync,
    paths: RecordedPaths,
    workers: usize,
) -> io::Result<Vec<ContextPart>> {
    let mut adder = PartAdder::default();
    if key == PartKey::Entry {
        add_by_entry(messages, &reader(), &mut adder)?;
    } else {
        let reading = MessageReading {
            key,
            agent: reader().session().agent(),
            paths,
        };
        let messages: Vec<&ContextMessage> = messages.iter().collect();
        // Called on any thread.
        let measure = |_, json: Raw| reading.measure_message(json);
        // Called on this thread, in the order of the context.
        let add = |_, measured: &mut MeasuredMessage| adder.add_message(measured);
        read_in_order(&messages, workers, reader, measure, add)?;
    }

    let mut parts = adder.parts;
    // The sort is stable: parts of equal size stay in the order of the context.
    parts.sort_by_key(|part| std::cmp::Reverse(part.tokens));
    Ok(parts)
}

/// Adds the estimate of each message to the part of its entry. If the session was loaded with the
/// estimates of its messages, stored messages are not read.
fn add_by_entry(
    messages: &[ContextMessage],
    reader: &EntryReader,
    adder: &mut PartAdder,
) -> io::Result<()> {
    let session = reader.session();
    let agent = session.agent();
    for message in messages {
        let tokens = match session.message_tokens(message.entry) {
            Some(tokens) if matches!(message.body, Body::Stored) => tokens,
            _ => message.with_json(reader, |json| agent.estimate_message(json))?,
        };
        adder.add_tokens(PartIdentity::Entry(message.entry), tokens);
    }
    Ok(())
}

/// A message, with the role, tools or files that its tokens are added to.
enum MeasuredMessage {
    /// All tokens belong to one name, or to none.
    Whole { name: Option<String>, tokens: u64 },
    /// A reply: the tokens of each call belong to its name, and the rest to none.
    Reply {
        calls: Vec<MeasuredCall>,
        tokens: u64,
    },
    /// The result of a call, which belongs to the name of the call.
    Result { call_id: Vec<u8>, tokens: u64 },
}

/// A call in a reply.
struct MeasuredCall {
    id: Option<Vec<u8>>,
    /// The tool or file of the call.
    name: Option<String>,
    tokens: u64,
}

/// The settings for measuring messages, which all threads share.
struct MessageReading<'a> {
    key: PartKey,
    agent: &'static dyn Agent,
    paths: RecordedPaths<'a>,
}

impl MessageReading<'_> {
    /// Estimates a message, and finds the names to which its tokens belong: its role or, depending
    /// on the key, the tools or files of its calls. Only replies and tool results have these.
    fn measure_message(&self, message: Raw) -> MeasuredMessage {
        let tokens = self.agent.estimate_message(message);
        if self.key == PartKey::Role {
            let role = message.get_text("role").unwrap_or_default();
            let name = if role.is_empty() {
                None
            } else {
                Some(role.into_string_lossy())
            };
            return MeasuredMessage::Whole { name, tokens };
        }
        match Role::from_member(message.get("role")) {
            Role::Assistant => MeasuredMessage::Reply {
                calls: self.measure_calls(message),
                tokens,
            },
            Role::ToolResult => self.measure_result(message, tokens),
            _ => MeasuredMessage::Whole { name: None, tokens },
        }
    }

    /// Estimates each call of a reply as if the reply contained nothing else.
    fn measure_calls(&self, reply: Raw) -> Vec<MeasuredCall> {
        let mut calls = Vec::new();
        for block in reply.get("content").unwrap_or(Raw::NULL).items() {
            if !member_is(block, "type", "toolCall") {
                continue;
            }
            calls.push(MeasuredCall {
                id: block.get_text("id").map(Text::into_bytes),
                name: self.name_of_call(block),
                tokens: self.estimate_call(block),
            });
        }
        calls
    }

    /// Finds the name to which the `tokens` of a tool result belong. The result contains the name
    /// of its tool. Its file is known only from the call, so [`PartAdder`] looks the call up.
    fn measure_result(&self, result: Raw, tokens: u64) -> MeasuredMessage {
        let [tool, call_id] = find_members(result, ["toolName", "toolCallId"]);
        if self.key == PartKey::Tool
            && let Some(tool) = tool.and_then(Raw::text)
        {
            let name = Some(tool.into_string_lossy());
            return MeasuredMessage::Whole { name, tokens };
        }
        match call_id.and_then(Raw::text) {
            Some(call_id) => MeasuredMessage::Result {
                call_id: call_id.into_bytes(),
                tokens,
            },
            None => MeasuredMessage::Whole { name: None, tokens },
        }
    }

    /// Returns the estimate, in tokens, of a reply that consists of this call.
    fn estimate_call(&self, call: Raw) -> u64 {
        let reply = Object::new()
            .str("role", "assistant")
            .json("content", &array([call.bytes()]))
            .finish();
        self.agent.estimate_message(Raw::from_checked(&reply))
    }

    /// Returns the name to which the tokens of a call belong: its tool or, depending on the key,
    /// the path of the first file that the call names. `None` if there is none.
    fn name_of_call(&self, call: Raw) -> Option<String> {
        let [tool, arguments] = find_members(call, ["name", "arguments"]);
        if self.key == PartKey::Tool {
            return tool.and_then(Raw::text).map(Text::into_string_lossy);
        }
        let first_file = called_files(tool, arguments).into_iter().next()?;
        let path = self
            .paths
            .resolve_call(self.agent, first_file.tool, first_file.path);
        Some(path)
    }
}

/// Adds up the parts of messages, in the order of the context.
#[derive(Default)]
struct PartAdder {
    /// The tool or file of each call, by its id.
    names_by_call: HashMap<Vec<u8>, Option<String>>,
    parts: Vec<ContextPart>,
    /// The index of each part in `parts`.
    index_by_identity: HashMap<PartIdentity, usize>,
}

/// The key of a part: parts with equal keys are added up.
#[derive(Clone, PartialEq, Eq, Hash)]
enum PartIdentity {
    /// A role, tool or file; `None` for messages that have none.
    Name(Option<String>),
    Entry(EntryIx),
}

impl PartAdder {
    /// Adds the next message of the context. The order matters: a result gets the name of its call,
    /// which must have been added before. Names and calls are moved out of `message`, so that they
    /// are not copied.
    fn add_message(&mut self, message: &mut MeasuredMessage) {
        match message {
            MeasuredMessage::Whole { name, tokens } => {
                let name = name.take();
                self.add_tokens(PartIdentity::Name(name), *tokens);
            }
            MeasuredMessage::Reply { calls, tokens } => {
                let calls = std::mem::take(calls);
                self.add_reply(calls, *tokens);
            }
            MeasuredMessage::Result { call_id, tokens } => {
                let name = self.names_by_call.get(call_id).cloned().flatten();
                self.add_tokens(PartIdentity::Name(name), *tokens);
            }
        }
    }

    /// Adds the tokens of each call of a reply to its tool or file, and the remaining ones to the
    /// part without a name. Together, these are the `tokens` of the whole reply.
    fn add_reply(&mut self, calls: Vec<MeasuredCall>, tokens: u64) {
        let mut unassigned = tokens;
        for call in calls {
            if let Some(id) = call.id {
                self.names_by_call.insert(id, call.name.clone());
            }
            // Each estimate is rounded up, so their sum may exceed the estimate of the whole reply.
            let share = call.tokens.min(unassigned);
            unassigned -= share;
            self.add_tokens(PartIdentity::Name(call.name), share);
        }
        if unassigned > 0 {
            self.add_tokens(PartIdentity::Name(None), unassigned);
        }
    }

    /// Adds the tokens of a message, or of one call, to the part with this identity.
    fn add_tokens(&mut self, identity: PartIdentity, tokens: u64) {
        let index = match self.index_by_identity.get(&identity) {
            Some(&index) => index,
            None => self.push_empty_part(identity),
        };
        self.parts[index].tokens += tokens;
        self.parts[index].messages += 1;
    }

    /// Adds a part without tokens, and returns its index in `parts`.
    fn push_empty_part(&mut self, identity: PartIdentity) -> usize {
        let mut part = ContextPart {
            name: None,
            entry: None,
            tokens: 0,
            messages: 0,
        };
        match &identity {
            PartIdentity::Name(name) => part.name = name.clone(),
            PartIdentity::Entry(entry) => part.entry = Some(*entry),
        }

        let index = self.parts.len();
        self.parts.push(part);
        self.index_by_identity.insert(identity, index);
        index
    }
}
