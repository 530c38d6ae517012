//! What fills a context: the agent's estimate of its messages, by role, tool, file or entry.

use crate::agents::Agent;
use crate::ops::files::RecordedPaths;
use crate::session::content::{find_members, member_is};
use crate::session::entry::{EntryIx, Role};
use crate::session::file_calls::called_file;
use crate::session::read::entry_reader::{ContextMessage, EntryReader};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use std::io;

/// What the messages of a context are grouped by.
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
    /// The role, tool or file; `None` for what belongs to none, and for an entry.
    pub name: Option<String>,
    /// The entry, if entries are the key.
    pub entry: Option<EntryIx>,
    /// The agent's estimate, in tokens.
    pub tokens: u64,
    /// The number of messages, or of parts of messages.
    pub messages: usize,
}

/// Returns the parts of a context, the largest first. Their sum is that of the estimates of all
/// messages, which may differ from the size that the provider counted.
pub fn measure_parts(
    messages: &[ContextMessage],
    by: PartKey,
    reader: &EntryReader,
    paths: RecordedPaths,
) -> io::Result<Vec<ContextPart>> {
    let mut meter = PartMeter {
        by,
        agent: reader.session().agent(),
        paths,
        names_by_call: HashMap::default(),
        parts: Vec::new(),
        positions: HashMap::default(),
    };
    for message in messages {
        message.with_json(reader, |json| meter.add_message(message.entry, json))?;
    }
    let mut parts = meter.parts;
    // Equal parts stay in the order of the context.
    parts.sort_by_key(|part| std::cmp::Reverse(part.tokens));
    Ok(parts)
}

struct PartMeter<'a> {
    by: PartKey,
    agent: &'static dyn Agent,
    paths: RecordedPaths<'a>,
    /// The tool or file of each call, by its id.
    names_by_call: HashMap<Vec<u8>, Option<String>>,
    parts: Vec<ContextPart>,
    positions: HashMap<(Option<String>, Option<EntryIx>), usize>,
}

impl PartMeter<'_> {
    /// Adds the estimate of a message to its part, or for a reply to those of its calls.
    fn add_message(&mut self, entry: EntryIx, message: Raw) {
        let tokens = self.agent.estimate_message(message);
        let role_name = message.get_text("role").unwrap_or_default();
        match self.by {
            PartKey::Entry => self.add_to_part(None, Some(entry), tokens),
            PartKey::Role => {
                let name = role_name.into_string_lossy();
                self.add_to_part(Some(name).filter(|name| !name.is_empty()), None, tokens);
            }
            PartKey::Tool | PartKey::File => match Role::from_member(message.get("role")) {
                Role::Assistant => self.add_reply(message, tokens),
                Role::ToolResult => {
                    let name = self.name_of_result(message);
                    self.add_to_part(name, None, tokens);
                }
                _ => self.add_to_part(None, None, tokens),
            },
        }
    }

    /// Adds the calls of a reply to their tools or files, and the rest to none.
    fn add_reply(&mut self, message: Raw, tokens: u64) {
        let mut unassigned = tokens;
        let content = message.get("content").unwrap_or(Raw::NULL);
        for block in content.items() {
            if !member_is(block, "type", "toolCall") {
                continue;
            }
            let name = self.name_of_call(block);
            if let Some(id) = block.get_text("id") {
                self.names_by_call.insert(id.into_bytes(), name.clone());
            }
            // Each estimate is rounded up, so their sum may exceed that of the whole reply.
            let share = self.estimate_call(block).min(unassigned);
            unassigned -= share;
            self.add_to_part(name, None, share);
        }
        if unassigned > 0 {
            self.add_to_part(None, None, unassigned);
        }
    }

    /// Returns the estimate of a reply that consists of a call.
    fn estimate_call(&self, call: Raw) -> u64 {
        let reply = Object::new()
            .str("role", "assistant")
            .json("content", &array([call.bytes()]))
            .finish();
        self.agent.estimate_message(Raw::from_checked(&reply))
    }

    /// Returns the tool of a call, or the file that it names; `None` if it names none.
    fn name_of_call(&self, call: Raw) -> Option<String> {
        let [name, arguments] = find_members(call, ["name", "arguments"]);
        if self.by == PartKey::Tool {
            return name.and_then(Raw::text).map(Text::into_string_lossy);
        }
        let (_, path) = called_file(name, arguments)?;
        Some(self.paths.resolve(&path))
    }

    /// Returns the tool of a result, or the file of its call. The call was added before: it precedes
    /// its result in the context.
    fn name_of_result(&self, result: Raw) -> Option<String> {
        if self.by == PartKey::Tool
            && let Some(tool) = result.get_text("toolName")
        {
            return Some(tool.into_string_lossy());
        }
        let call_id = result.get_text("toolCallId")?;
        self.names_by_call
            .get(call_id.as_bytes())
            .cloned()
            .flatten()
    }

    /// Adds tokens to the part with this name or of this entry, which is new if there is none yet.
    fn add_to_part(&mut self, name: Option<String>, entry: Option<EntryIx>, tokens: u64) {
        let parts = &mut self.parts;
        let position = *self
            .positions
            .entry((name.clone(), entry))
            .or_insert_with(|| {
                parts.push(ContextPart {
                    name,
                    entry,
                    tokens: 0,
                    messages: 0,
                });
                parts.len() - 1
            });
        self.parts[position].tokens += tokens;
        self.parts[position].messages += 1;
    }
}
