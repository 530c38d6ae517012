//! Reads a session file line by line into a [`Harvest`].

use super::harvest::{Call, Counted, Harvest, HarvestOptions, Role};
use super::interned::Name;
use super::scan::{CallFacts, Line, Message, Usage, scan};
use crate::core::entry::{Entry, EntryIx, Kind, LineNo, Slice};
use crate::core::json::scan::RawString;
use crate::core::json::string::decode;
use crate::core::json::{KeyCache, Raw, Scanner};
use crate::core::load::header::{self, Version};
use crate::core::load::{LoadError, Options, load};
use crate::core::paths::{is_absolute, is_windows};
use crate::core::record::{self, Member};
use crate::core::session::Session;
use crate::core::store::ReadAt;
use crate::core::stretches::{Stretch, StretchReader};
use crate::core::text::Text;
use crate::core::time::parse_js_date;
use foldhash::quality::RandomState;
use memchr::memchr;
use std::hash::BuildHasher;
use std::ops::{ControlFlow, Range};

/// Returns the facts of a file. `hasher` must be the same for all files that are added up.
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
    let mut harvester = Harvester {
        harvest: Harvest::new(preamble.header),
        version: preamble.version,
        options,
        hasher,
        keys: record::keys(),
        lines,
        turn: None,
        model: Default::default(),
    };
    let size = source.len();
    let flow = reader.read(source, start, |stretch| {
        harvester.stretch(stretch, size);
        ControlFlow::<()>::Continue(())
    })?;
    debug_assert!(flow.is_continue());
    if options.texts && harvester.version == Version::One {
        harvester.take_ids(&load(source, &Options::default())?);
    }
    Ok(harvester.harvest)
}

struct Harvester<'h> {
    harvest: Harvest,
    version: Version,
    options: HarvestOptions,
    hasher: &'h RandomState,
    keys: KeyCache<Member>,
    /// The line number of the current line.
    lines: u32,
    /// The latest time in the current turn.
    turn: Option<i64>,
    /// The provider and model of the last assistant message, to which tool results are attributed.
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
                let line = scan(&mut scanner, &mut self.keys, &mut calls).ok().filter(|_| scanner.at_end());
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
                let (usage, of_agents) = self.result_usage(message);
                // A tool's usage is that of models it called itself.
                let model = if usage.is_some() { Default::default() } else { self.model };
                let tool = self.name(message.tool_name);
                Entered { usage, of_agents, model, tool, ..Entered::new(Role::ToolResult { failed }) }
            }
            _ => Entered::new(Role::OtherMessage),
        };
        self.push(line, Entered { name, ..entered });
    }

    /// Returns the usage of a tool result, and whether it is that of sub-agents.
    fn result_usage(&self, message: &Message) -> (Option<Usage>, bool) {
        let own = message.usage.and_then(Usage::of);
        let is_task = message.tool_name.is_some_and(|name| name.is("task"));
        if own.is_some() || !is_task || self.options.without_agents {
            return (own, false);
        }
        let agents = message.details.and_then(|details| details.get("usage")).and_then(Usage::of);
        (agents, agents.is_some())
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

    /// Returns a hash of the path. A relative one is resolved against the session's directory first.
    fn file(&self, path: &Text) -> u64 {
        let is_relative = !path.as_bytes().starts_with(b"~") && !is_absolute(path.as_bytes());
        let cwd = self.harvest.header.cwd.as_ref().filter(|_| is_relative);
        let path = path.as_bytes().strip_prefix(b"./").unwrap_or(path.as_bytes());
        let mut whole = cwd.map(|cwd| [cwd.as_bytes(), b"/"].concat()).unwrap_or_default();
        whole.extend_from_slice(path);
        if is_windows(&whole) {
            whole.iter_mut().filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
        }
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
            of_agents: entered.of_agents,
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

    /// Returns a key that is equal only for copies. Entries of version 1, or without an id, are identified by
    /// session, line and time.
    fn key(&self, id: &Text, timestamp: &Text) -> u64 {
        if self.version == Version::One || id.is_empty() {
            return self.hasher.hash_one((
                self.harvest.header.id.as_bytes(),
                self.lines,
                timestamp.as_bytes(),
            ));
        }
        self.hasher.hash_one((id.as_bytes(), timestamp.as_bytes()))
    }

    /// Returns the time since the previous entry of the turn. A turn lasts from a user message to the last
    /// assistant message or tool result before the next user message.
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

    /// Gives entries of version 1 the ids that they have after a migration.
    fn take_ids(&mut self, session: &Session) {
        for entry in &mut self.harvest.entries {
            let Ok(at) = session.entries.binary_search_by_key(&entry.line.0, |entry| entry.line.0) else {
                continue;
            };
            let ix = EntryIx::new(at);
            entry.id = keep(&mut self.harvest.arena, &session.id(ix));
            entry.parent_id = keep(&mut self.harvest.arena, &session.parent_id(ix).unwrap_or_default());
        }
    }
}

/// The content of an entry, without its envelope.
struct Entered<'a> {
    role: Role,
    name: Text<'a>,
    usage: Option<Usage>,
    of_agents: bool,
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
            of_agents: false,
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
