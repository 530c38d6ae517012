//! What counts in one session file: messages, billed entries and tool calls.

use super::interned::{Name, Names};
use super::scan::Usage;
use crate::core::entry::{LineNo, Slice};
use crate::core::session::Header;
use crate::core::text::Text;

/// How a file is harvested.
#[derive(Clone, Copy, Debug, Default)]
pub struct HarvestOptions {
    /// Keep ids, parents and times as written: for a table of entries.
    pub texts: bool,
    /// Leave out the usage of agents in oh-my-pi's task results: the files of these agents are counted.
    pub without_agents: bool,
}

/// What counts in one file.
#[derive(Clone, Debug)]
pub struct Harvest {
    /// Its header.
    pub header: Header,
    /// Its messages and billed entries, in file order.
    pub entries: Vec<Counted>,
    /// The tool calls of all entries.
    pub calls: Vec<Call>,
    /// Lines that are not JSON, and the first of them.
    pub malformed: Option<(u32, LineNo)>,
    pub(super) names: Names,
    pub(super) arena: Vec<u8>,
}

/// What an entry counts as.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// A message of the user.
    User,
    /// A message of a model.
    Assistant,
    /// A result of a tool.
    ToolResult {
        /// The tool failed.
        failed: bool,
    },
    /// Another message.
    OtherMessage,
    /// Not a message, but billed.
    Billed,
}

/// An entry that counts.
#[derive(Clone, Copy, Debug)]
pub struct Counted {
    /// The same for copies of an entry in other files, and only for them.
    pub key: u64,
    /// Its time; [`crate::core::entry::Entry::NO_TIME`] if it has none.
    pub time_ms: i64,
    /// Milliseconds since the entry before it in its turn; 0 outside of one.
    pub took_ms: i64,
    /// What was used.
    pub usage: Option<Usage>,
    /// What it counts as.
    pub role: Role,
    /// Its physical line.
    pub line: LineNo,
    pub(super) calls: (u32, u32),
    pub(super) role_name: Name,
    pub(super) provider: Name,
    pub(super) model: Name,
    pub(super) tool: Name,
    pub(super) id: Slice,
    pub(super) parent_id: Slice,
    pub(super) timestamp: Slice,
}

impl Counted {
    /// Whether a request was made for it.
    pub fn is_billed(&self) -> bool {
        self.usage.is_some() || self.role == Role::Assistant
    }
}

/// A tool call.
#[derive(Clone, Copy, Debug)]
pub struct Call {
    pub(super) tool: Name,
    /// A hash of the path in a `write` or `edit`, made absolute by the session's directory.
    pub file: Option<u64>,
}

impl Harvest {
    pub(super) fn new(header: Header) -> Harvest {
        Harvest {
            header,
            entries: Vec::new(),
            calls: Vec::new(),
            malformed: None,
            names: Names::default(),
            arena: Vec::new(),
        }
    }

    /// Returns the tool calls of an entry.
    pub fn calls(&self, entry: &Counted) -> &[Call] {
        &self.calls[entry.calls.0 as usize..entry.calls.1 as usize]
    }

    /// Returns the name of a call's tool.
    pub fn call_tool(&self, call: &Call) -> Option<&str> {
        self.names.get(call.tool)
    }

    /// Returns the tool whose result an entry is.
    pub fn tool(&self, entry: &Counted) -> Option<&str> {
        self.names.get(entry.tool)
    }

    /// Returns the provider of an entry's model.
    pub fn provider(&self, entry: &Counted) -> Option<&str> {
        self.names.get(entry.provider)
    }

    /// Returns an entry's model. Of a tool result without usage of its own it is that of the call.
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

    /// Returns the parent's id of an entry, if texts are kept; empty for none.
    pub fn parent_id(&self, entry: &Counted) -> Text<'_> {
        self.text(entry.parent_id)
    }

    /// Returns the time of an entry as written, if texts are kept.
    pub fn timestamp(&self, entry: &Counted) -> Text<'_> {
        self.text(entry.timestamp)
    }

    fn text(&self, slice: Slice) -> Text<'_> {
        Text::from_wtf8(&self.arena[slice.range()])
    }
}
