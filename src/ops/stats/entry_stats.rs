//! Collects the facts of one file for statistics.

use crate::ops::prune::Restore;
use crate::ops::stats::interned::{Name, Names};
use crate::ops::stats::prices::Prices;
use crate::session::Header;
use crate::session::entry::{LineNo, Role, Slice};
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

/// An entry that is counted.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counted {
    /// A key that is the same for copies of the entry in other files, and different for all other entries.
    pub key: u64,
    /// Its time; [`NO_TIME`](crate::session::entry::Entry::NO_TIME) if it has none.
    pub time_ms: i64,
    /// The milliseconds since the previous entry of its turn; 0 outside of a turn.
    pub took_ms: i64,
    /// Its tokens and cost, if it has any.
    pub usage: Option<Usage>,
    /// Whether `usage` is the sum that a tool result reports for sub-agents, which may have their own sessions.
    pub of_agents: bool,
    /// Whether the same message is earlier in the file, as after `pisess pick`: it was paid for once.
    pub is_copy: bool,
    /// The role of its message; `None` for an entry that is not a message but is billed.
    pub role: Option<Role>,
    /// Whether it is the result of a tool that failed.
    pub has_failed: bool,
    /// Its physical line; `None` if it was pruned.
    pub line: Option<LineNo>,
    pub(super) calls: (u32, u32),
    pub(super) agents: (u32, u32),
    /// The role of its message, or its type.
    pub role_name: Name,
    /// The provider of its model.
    pub provider: Name,
    /// Its model. For a tool result without usage of its own, that of the call.
    pub model: Name,
    /// The tool that a tool result belongs to.
    pub tool: Name,
    /// Its id, if texts are kept.
    pub id: Slice,
    /// The id of its parent, if texts are kept; empty if it has none.
    pub parent_id: Slice,
    /// Its timestamp as stored, if texts are kept.
    pub timestamp: Slice,
}

impl Counted {
    /// Whether it counts as a request to a model.
    pub fn is_billed(&self) -> bool {
        !self.is_copy && (self.usage.is_some() || self.role == Some(Role::Assistant))
    }
}

/// A tool call.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    /// The tool.
    pub tool: Name,
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
    /// Its absolute path, if paths are kept.
    pub path: Name,
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

    /// Returns a name, if it is not missing.
    pub fn name(&self, name: Name) -> Option<&str> {
        self.names.get(name)
    }

    /// Returns a text that was kept.
    pub fn text(&self, slice: Slice) -> Text<'_> {
        Text::from_wtf8(&self.arena[slice.range()])
    }
}
