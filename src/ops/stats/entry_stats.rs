//! Collects the facts of one file for statistics.

use crate::ops::prune::Restore;
use crate::ops::stats::interned::{Name, Names};
use crate::ops::stats::prices::Prices;
use crate::session::Header;
use crate::session::entry::{Entry, LineNo, Slice};
use crate::session::file_calls::FileTool;
use crate::session::usage::{SubAgents, Usage};
use pisess_json::text::Text;
use std::path::Path;

/// What to collect from a file.
#[derive(Clone, Copy, Default)]
pub struct StatsOptions<'a> {
    /// Keep ids, parents and timestamps as stored, for a table of entries.
    pub texts: bool,
    /// Keep the paths of the files that calls name.
    pub paths: bool,
    /// The path of the file, and the sub-agents whose sessions are read as well. The usage that a tool result reports
    /// for these is omitted.
    pub agents: Option<(&'a Path, &'a SubAgents)>,
    /// What was pruned from the session, to be read with it: only what it used counts.
    pub pruned: Option<&'a Restore>,
}

/// The facts of one file.
#[derive(Clone, Debug)]
pub struct EntryStats {
    /// Its header.
    pub header: Header,
    /// Its messages and billed entries, in file order.
    pub entries: Vec<Counted>,
    /// The tool calls of all entries.
    pub calls: Vec<Call>,
    /// The number of lines that are not JSON, and the first of them.
    pub malformed: Option<(u32, LineNo)>,
    pub(super) agents: Vec<String>,
    pub(super) names: Names,
    pub(super) arena: Vec<u8>,
}

/// The role of an entry in the counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A user message.
    User,
    /// An assistant message.
    Assistant,
    /// A tool result.
    ToolResult {
        /// Whether the tool failed.
        failed: bool,
    },
    /// Another message.
    OtherMessage,
    /// An entry that is not a message but is billed.
    Billed,
}

/// An entry that is counted.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// A key that is the same for copies of the entry in other files, and different for all other entries.
    pub key: u64,
    /// Its time; [`Entry::NO_TIME`] if it has none.
    pub time_ms: i64,
    /// The milliseconds since the previous entry of its turn; 0 outside of a turn.
    pub took_ms: i64,
    /// Its tokens and cost, if it has any.
    pub usage: Option<Usage>,
    /// Whether `usage` is the sum that a tool result reports for sub-agents, which may have their own sessions.
    pub of_agents: bool,
    /// Whether the same message is earlier in the file, as after `pisess pick`: it was paid for once.
    pub is_copy: bool,
    /// Its role in the counts.
    pub role: Role,
    /// Its physical line; `None` if it was pruned.
    pub line: Option<LineNo>,
    pub(super) calls: (u32, u32),
    pub(super) agents: (u32, u32),
    pub(super) role_name: Name,
    pub(super) provider: Name,
    pub(super) model: Name,
    pub(super) tool: Name,
    pub(super) id: Slice,
    pub(super) parent_id: Slice,
    pub(super) timestamp: Slice,
}

impl Counted {
    /// Returns an entry of which only the role is known.
    pub(super) fn new(role: Role, role_name: Name) -> Counted {
        Counted {
            role,
            role_name,
            key: 0,
            time_ms: Entry::NO_TIME,
            took_ms: 0,
            usage: None,
            of_agents: false,
            is_copy: false,
            line: None,
            calls: (0, 0),
            agents: (0, 0),
            provider: Name::default(),
            model: Name::default(),
            tool: Name::default(),
            id: Slice::default(),
            parent_id: Slice::default(),
            timestamp: Slice::default(),
        }
    }

    /// Whether it counts as a request to a model.
    pub fn is_billed(&self) -> bool {
        !self.is_copy && (self.usage.is_some() || self.role == Role::Assistant)
    }
}

/// A tool call.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub(super) tool: Name,
    /// The file that a `read`, `write` or `edit` names.
    pub file: Option<TouchedFile>,
}

/// A file that a call reads or changes.
#[derive(Clone, Copy, Debug)]
pub struct TouchedFile {
    /// What is done with it.
    pub tool: FileTool,
    /// A hash of its absolute path.
    pub key: u64,
    pub(super) path: Name,
}

impl EntryStats {
    pub(super) fn new(header: Header) -> EntryStats {
        EntryStats {
            header,
            entries: Vec::new(),
            calls: Vec::new(),
            agents: Vec::new(),
            malformed: None,
            names: Names::default(),
            arena: Vec::new(),
        }
    }

    /// Returns the tool calls of an entry.
    pub fn calls(&self, entry: &Counted) -> &[Call] {
        &self.calls[entry.calls.0 as usize..entry.calls.1 as usize]
    }

    /// Returns the ends of the paths of the sessions of an entry's sub-agents, as far as it names them.
    pub fn agents(&self, entry: &Counted) -> &[String] {
        &self.agents[entry.agents.0 as usize..entry.agents.1 as usize]
    }

    /// Returns the name of a call's tool.
    pub fn call_tool(&self, call: &Call) -> Option<&str> {
        self.names.get(call.tool)
    }

    /// Returns the absolute path of a file, if paths are kept.
    pub fn path(&self, file: &TouchedFile) -> Option<&str> {
        self.names.get(file.path)
    }

    /// Fills in the cost of requests that have none, as far as the table has their models.
    pub fn estimate(&mut self, prices: &Prices) {
        for entry in &mut self.entries {
            let (provider, model) = (self.names.get(entry.provider), self.names.get(entry.model));
            let Some(usage) = entry.usage.as_mut().filter(|usage| usage.cost.is_none()) else { continue };
            if let Some(cost) = model.and_then(|model| prices.cost(provider, model, usage)) {
                (usage.cost, usage.is_estimated) = (Some(cost), true);
            }
        }
    }

    /// Returns the tool that a tool result belongs to.
    pub fn tool(&self, entry: &Counted) -> Option<&str> {
        self.names.get(entry.tool)
    }

    /// Returns the provider of an entry's model.
    pub fn provider(&self, entry: &Counted) -> Option<&str> {
        self.names.get(entry.provider)
    }

    /// Returns an entry's model. For a tool result without usage of its own, that of the call.
    pub fn model(&self, entry: &Counted) -> Option<&str> {
        self.names.get(entry.model)
    }

    /// Returns the role of an entry's message, or its type.
    pub fn role_name(&self, entry: &Counted) -> &str {
        self.names.get(entry.role_name).unwrap_or_default()
    }

    /// Returns the id of an entry, if texts are kept.
    pub fn id(&self, entry: &Counted) -> Text<'_> {
        self.text(entry.id)
    }

    /// Returns the id of an entry's parent, if texts are kept; empty if it has none.
    pub fn parent_id(&self, entry: &Counted) -> Text<'_> {
        self.text(entry.parent_id)
    }

    /// Returns the timestamp of an entry as stored, if texts are kept.
    pub fn timestamp(&self, entry: &Counted) -> Text<'_> {
        self.text(entry.timestamp)
    }

    fn text(&self, slice: Slice) -> Text<'_> {
        Text::from_wtf8(&self.arena[slice.range()])
    }
}
