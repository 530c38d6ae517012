//! Collects the facts of one file for statistics.

use super::scan::{CallFacts, Line, Message, Usage, scan};
use crate::core::entry::{Entry, Kind, LineNo, Slice};
use crate::core::json::scan::RawString;
use crate::core::json::string::decode;
use crate::core::json::{Raw, Scanner};
use crate::core::load::header::{self, Version};
use crate::core::load::{LoadError, Options, load};
use crate::core::session::{Header, Session};
use crate::core::store::ReadAt;
use crate::core::stretches::{Stretch, StretchReader};
use crate::core::text::Text;
use crate::core::time::parse_js_date;
use foldhash::quality::RandomState;
use hashbrown::HashTable;
use memchr::memchr;
use std::hash::BuildHasher;
use std::ops::{ControlFlow, Range};

/// What to collect from a file.
#[derive(Clone, Copy, Debug, Default)]
pub struct HarvestOptions {
    /// Keep ids, parents and timestamps as stored, for a table of entries.
    pub texts: bool,
    /// Omit the usage that oh-my-pi's task results report for their sub-agents, because the files of these
    /// are read, too.
    pub without_agents: bool,
}

/// The facts of one file.
#[derive(Clone, Debug)]
pub struct Harvest {
    /// Its header.
    pub header: Header,
    /// Its messages and billed entries, in file order.
    pub entries: Vec<Counted>,
    /// The tool calls of all entries.
    pub calls: Vec<Call>,
    /// The number of lines that are not JSON, and the first of them.
    pub malformed: Option<(u32, LineNo)>,
    names: Names,
    arena: Vec<u8>,
    /// The version in the header. In version 1, entries have no ids.
    version: Version,
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
    /// Its role in the counts.
    pub role: Role,
    /// Its physical line.
    pub line: LineNo,
    calls: (u32, u32),
    role_name: Name,
    provider: Name,
    model: Name,
    tool: Name,
    id: Slice,
    parent_id: Slice,
    timestamp: Slice,
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
    tool: Name,
    /// A hash of the path that a `write` or `edit` names, with the session's directory if it is relative.
    pub file: Option<u64>,
}

impl Harvest {
    /// Returns the tool calls of an entry.
    pub fn calls(&self, entry: &Counted) -> &[Call] {
        &self.calls[entry.calls.0 as usize..entry.calls.1 as usize]
    }

    /// Returns the name of a call's tool.
    pub fn call_tool(&self, call: &Call) -> Option<&str> {
        self.names.get(call.tool)
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

/// Harvests a file. `hasher` must be the same for all files whose harvests are added up.
///
/// # Errors
/// If the file is not a session, or cannot be read.
pub fn harvest(
    source: &dyn ReadAt,
    options: HarvestOptions,
    hasher: &RandomState,
    reader: &mut StretchReader,
) -> Result<Harvest, LoadError> {
    let preamble = header::read(source)?;
    let (start, lines) = (preamble.end, preamble.lines);
    let harvest = Harvest {
        header: preamble.header,
        entries: Vec::new(),
        calls: Vec::new(),
        malformed: None,
        names: Names::default(),
        arena: Vec::new(),
        version: preamble.version,
    };
    let mut harvester = Harvester { harvest, options, hasher, lines, turn: None, model: Default::default() };
    let size = source.len();
    let flow = reader.read(source, start, |stretch| {
        harvester.stretch(stretch, size);
        ControlFlow::<()>::Continue(())
    })?;
    debug_assert!(flow.is_continue());
    let mut harvest = harvester.harvest;
    if options.texts && harvest.version == Version::One {
        harvest.take_ids(&load(source, &Options::default())?);
    }
    Ok(harvest)
}

impl Harvest {
    /// Sets the ids of version 1 entries to those that migration gives them.
    fn take_ids(&mut self, session: &Session) {
        for entry in &mut self.entries {
            let Ok(at) = session.entries.binary_search_by_key(&entry.line.0, |entry| entry.line.0) else {
                continue;
            };
            let ix = crate::core::entry::EntryIx(at as u32);
            entry.id = keep(&mut self.arena, &session.id(ix));
            entry.parent_id = keep(&mut self.arena, &session.parent_id(ix).unwrap_or_default());
        }
    }
}

struct Harvester<'h> {
    harvest: Harvest,
    options: HarvestOptions,
    hasher: &'h RandomState,
    /// The number of lines before the next one.
    lines: u32,
    /// The latest time in the current turn.
    turn: Option<i64>,
    /// The provider and model of the last assistant message: tool results are attributed to it.
    model: (Name, Name),
}

impl Harvester<'_> {
    fn stretch(&mut self, stretch: Stretch, size: u64) {
        let bytes = stretch.bytes;
        let mut scanner = Scanner::new(bytes);
        let mut calls = Vec::new();
        let mut pos = 0;
        while pos < bytes.len() {
            scanner.seek(pos);
            self.lines += 1;
            if !scanner.at_end() {
                let line = scan(&mut scanner, &mut calls).ok().filter(|_| scanner.at_end());
                match line {
                    Some(line) => self.line(&line, &calls),
                    // A line that an agent is still writing has no newline yet.
                    None if has_newline(stretch, scanner.pos().max(pos), size) => {
                        self.harvest.malformed.get_or_insert((0, LineNo(self.lines))).0 += 1;
                    }
                    None => {}
                }
            }
            let at = scanner.pos().max(pos);
            pos = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |newline| at + newline + 1);
        }
    }

    fn line(&mut self, line: &Line, calls: &[CallFacts]) {
        if !line.is_object {
            return;
        }
        let kind_name = line.kind.map(|kind| decode(kind.bytes)).unwrap_or_default();
        let kind = Kind::named(kind_name.as_bytes());
        match (kind, &line.message) {
            (Kind::Message, Some(message)) => self.message(line, message, calls),
            (Kind::Message, None) => {
                self.push(line, Entered { name: kind_name, ..Entered::new(Role::OtherMessage) });
            }
            (Kind::Usage | Kind::ModelUsage | Kind::Compaction | Kind::BranchSummary, _) => {
                let usage = line.usage.and_then(Usage::of);
                let model = match kind {
                    Kind::Usage | Kind::ModelUsage => (self.name(line.provider), self.name(line.model)),
                    _ => Default::default(),
                };
                if usage.is_some() {
                    self.push(line, Entered { name: kind_name, usage, model, ..Entered::new(Role::Billed) });
                }
            }
            _ => {}
        }
    }

    fn message(&mut self, line: &Line, message: &Message, calls: &[CallFacts]) {
        let name = message.role.map(|role| decode(role.bytes)).unwrap_or_default();
        let entered = match name.as_bytes() {
            b"user" => Entered::new(Role::User),
            b"assistant" => {
                let model = message.response_model.filter(|model| model.is_string()).or(message.model);
                self.model = (self.name(message.provider), self.name(model));
                let usage = message.usage.and_then(Usage::of);
                let calls = self.calls(calls);
                Entered { usage, calls, model: self.model, ..Entered::new(Role::Assistant) }
            }
            b"toolResult" => {
                let failed = message.is_error.is_some_and(Raw::is_truthy);
                let usage = self.result_usage(message);
                // The usage of a tool is that of its own models.
                let model = if usage.is_some() { Default::default() } else { self.model };
                let tool = self.name(message.tool_name);
                Entered { usage, model, tool, ..Entered::new(Role::ToolResult { failed }) }
            }
            _ => Entered::new(Role::OtherMessage),
        };
        self.push(line, Entered { name, ..entered });
    }

    fn result_usage(&self, message: &Message) -> Option<Usage> {
        let own = message.usage.and_then(Usage::of);
        let is_task = message.tool_name.is_some_and(|name| name.is("task"));
        let agents = || message.details?.get("usage").and_then(Usage::of);
        own.or_else(|| if is_task && !self.options.without_agents { agents() } else { None })
    }

    fn calls(&mut self, calls: &[CallFacts]) -> Range<usize> {
        let start = self.harvest.calls.len();
        for call in calls {
            let writes = call.name.is_some_and(|name| name.is("write") || name.is("edit"));
            let path = call.arguments.filter(|_| writes).and_then(|arguments| arguments.get_text("path"));
            let file = path.filter(|path| !path.is_empty()).map(|path| self.file(&path));
            let tool = self.name(call.name);
            self.harvest.calls.push(Call { tool, file });
        }
        start..self.harvest.calls.len()
    }

    /// Returns the hash of a path; relative paths start from the session's directory.
    fn file(&self, path: &Text) -> u64 {
        let is_relative = !matches!(path.as_bytes().first(), Some(b'/' | b'~'));
        let cwd = self.harvest.header.cwd.as_ref().filter(|_| is_relative);
        let path = path.as_bytes().strip_prefix(b"./").unwrap_or(path.as_bytes());
        let mut whole = cwd.map(|cwd| [cwd.as_bytes(), b"/"].concat()).unwrap_or_default();
        whole.extend_from_slice(path);
        self.hasher.hash_one(whole)
    }

    fn push(&mut self, line: &Line, entered: Entered) {
        let timestamp = line.timestamp.map(text).unwrap_or_default();
        let id = line.id.map(text).unwrap_or_default();
        let time_ms = parse_js_date(timestamp.as_bytes()).unwrap_or(Entry::NO_TIME);
        let counted = Counted {
            key: self.key(&id, &timestamp),
            time_ms,
            took_ms: self.took(entered.role, time_ms),
            usage: entered.usage,
            role: entered.role,
            line: LineNo(self.lines),
            calls: (entered.calls.start as u32, entered.calls.end as u32),
            role_name: self.harvest.names.of(entered.name.as_bytes()),
            provider: entered.model.0,
            model: entered.model.1,
            tool: entered.tool,
            id: self.keep(&id),
            parent_id: self.keep(&line.parent_id.and_then(Raw::text).unwrap_or_default()),
            timestamp: self.keep(&timestamp),
        };
        self.harvest.entries.push(counted);
    }

    /// Returns the key of an entry. One without an id is identified by its line and session.
    fn key(&self, id: &Text, timestamp: &Text) -> u64 {
        if self.harvest.version == Version::One || id.is_empty() {
            return self.hasher.hash_one((
                self.harvest.header.id.as_bytes(),
                self.lines,
                timestamp.as_bytes(),
            ));
        }
        self.hasher.hash_one((id.as_bytes(), timestamp.as_bytes()))
    }

    /// Returns the time since the previous entry of its turn, which ends with the last response or tool
    /// result.
    fn took(&mut self, role: Role, time_ms: i64) -> i64 {
        let is_timed = time_ms != Entry::NO_TIME;
        match (role, self.turn.filter(|_| is_timed)) {
            (Role::User, _) => {
                self.turn = is_timed.then_some(time_ms);
                0
            }
            (Role::Assistant | Role::ToolResult { .. }, Some(before)) => {
                self.turn = Some(before.max(time_ms));
                (time_ms - before).max(0)
            }
            _ => 0,
        }
    }

    fn name(&mut self, value: Option<Raw>) -> Name {
        match value.and_then(Raw::text) {
            Some(text) => self.harvest.names.of(text.as_bytes()),
            None => Name::default(),
        }
    }

    fn keep(&mut self, text: &Text) -> Slice {
        if self.options.texts { keep(&mut self.harvest.arena, text) } else { Slice::default() }
    }
}

/// The facts of an entry, except its envelope.
struct Entered<'a> {
    role: Role,
    name: Text<'a>,
    usage: Option<Usage>,
    calls: Range<usize>,
    model: (Name, Name),
    tool: Name,
}

impl Entered<'_> {
    fn new(role: Role) -> Self {
        Entered {
            role,
            name: Text::default(),
            usage: None,
            calls: 0..0,
            model: Default::default(),
            tool: Name::default(),
        }
    }
}

fn text(string: RawString<'_>) -> Text<'_> {
    decode(string.bytes)
}

/// Whether the line at `at` ends with a newline.
fn has_newline(stretch: Stretch, at: usize, size: u64) -> bool {
    stretch.start + (stretch.bytes.len() as u64) < size || memchr(b'\n', &stretch.bytes[at..]).is_some()
}

fn keep(arena: &mut Vec<u8>, text: &Text) -> Slice {
    let start = arena.len() as u32;
    arena.extend_from_slice(text.as_bytes());
    Slice { start, len: text.as_bytes().len() as u32 }
}

/// The number of a name in [`Names`]; 0 for none.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Name(u32);

/// Names that occur repeatedly, by number.
#[derive(Clone, Debug, Default)]
struct Names {
    list: Vec<Box<str>>,
    table: HashTable<u32>,
    hasher: RandomState,
    last: Name,
}

impl Names {
    fn of(&mut self, name: &[u8]) -> Name {
        // Most names equal the previous one.
        if self.get(self.last).is_some_and(|last| last.as_bytes() == name) {
            return self.last;
        }
        let shown = String::from_utf8_lossy(name);
        let hash = self.hasher.hash_one(&*shown);
        let found = self.table.find(hash, |&at| *self.list[at as usize] == *shown);
        self.last = match found {
            Some(&at) => Name(at + 1),
            None => {
                let at = self.list.len() as u32;
                self.list.push(shown.as_ref().into());
                self.table.insert_unique(hash, at, |&at| self.hasher.hash_one(&*self.list[at as usize]));
                Name(at + 1)
            }
        };
        self.last
    }

    fn get(&self, name: Name) -> Option<&str> {
        self.list.get((name.0 as usize).checked_sub(1)?).map(|name| &**name)
    }
}
