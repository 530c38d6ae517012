//! Reads a session file line by line into a [`EntryStats`].

use crate::load::{LoadError, Options, load};
use crate::ops::stats::entry_stats::{Call, Counted, EntryStats, StatsOptions, TouchedFile};
use crate::ops::stats::interned::Name;
use crate::session::entry::{Entry, Kind, LineNo, Role, Slice};
use crate::session::file_calls::{FileTool, file_of};
use crate::session::paths::{is_absolute, is_windows};
use crate::session::read::header;
use crate::session::read::line_chunks::{ChunkReader, LineChunk};
use crate::session::read::record::{self, Block, Member, MessageFacts, Record, scan_into};
use crate::session::usage::{Reported, Usage, fingerprint, reported};
use crate::session::{Format, Session};
use foldhash::HashSet;
use foldhash::quality::RandomState;
use memchr::memchr;
use pisess_json::text::Text;
use pisess_json::time::parse_js_date;
use pisess_json::{KeyCache, Raw, Scanner};
use pisess_store::ReadAt;
use std::hash::BuildHasher;
use std::ops::ControlFlow;

/// Returns the facts of a file. `hasher` must be the same for all files that are added up.
pub fn collect(
    source: &dyn ReadAt,
    options: StatsOptions,
    hasher: &RandomState,
    reader: &mut ChunkReader,
) -> Result<EntryStats, LoadError> {
    let whole = options.pruned.map(|pruned| pruned.whole(source));
    let source = whole.as_ref().map_or(source, |whole| whole as &dyn ReadAt);
    let preamble = header::read(source)?;
    let (start, lines) = (preamble.end, preamble.lines);
    let mut harvester = Collector {
        harvest: EntryStats::new(preamble.header),
        format: preamble.format,
        options,
        hasher,
        keys: record::keys(),
        lines,
        turn: Turn::Over,
        last: Entry::NO_TIME,
        messages: HashSet::default(),
        model: Default::default(),
    };
    let size = source.len();
    let flow = reader.read(source, start..size, |stretch| {
        harvester.stretch(stretch, size);
        ControlFlow::<()>::Continue(())
    })?;
    debug_assert!(flow.is_continue());
    if options.texts && harvester.format == Format::V1 {
        harvester.take_ids(&load(source, &Options::default())?);
    }
    Ok(harvester.harvest)
}

struct Collector<'h> {
    harvest: EntryStats,
    format: Format,
    options: StatsOptions<'h>,
    hasher: &'h RandomState,
    keys: KeyCache<Member>,
    /// The line number of the current line.
    lines: u32,
    turn: Turn,
    /// The latest time of a message; [`Entry::NO_TIME`] if there is none.
    last: i64,
    messages: HashSet<u64>,
    /// The provider and model of the last assistant message, to which tool results are attributed.
    model: (Name, Name),
}

impl Collector<'_> {
    fn stretch(&mut self, stretch: LineChunk, size: u64) {
        let bytes = stretch.bytes;
        let mut scanner = Scanner::new(bytes);
        let mut blocks = Vec::new();
        let mut pos = 0;
        while pos < bytes.len() {
            scanner.seek(pos);
            self.lines += 1;
            if !scanner.at_end() {
                let mut record = Record::default();
                let scanned = scan_into(&mut scanner, &mut self.keys, &mut record, &mut blocks);
                if scanned.is_ok() && scanner.at_end() {
                    self.line(&record, &blocks);
                } else if has_newline(stretch, scanner.pos().max(pos), size) {
                    // A line that an agent is still writing has no newline yet.
                    let number = self.in_session().unwrap_or(LineNo(self.lines));
                    self.harvest.malformed.get_or_insert((0, number)).0 += 1;
                }
            }
            let at = scanner.pos().max(pos);
            pos = memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |newline| at + newline + 1);
        }
    }

    fn line(&mut self, line: &Record, blocks: &[Block]) {
        if !line.is_object {
            return;
        }
        let kind_name = line.kind.map(|kind| kind.text()).unwrap_or_default();
        let kind = Kind::named(kind_name.as_bytes());
        match (kind, &line.message) {
            (Kind::Message, Some(message)) => self.message(line, message, blocks),
            (Kind::Message, None) => {
                let entry = self.counted(Some(Role::Missing), &kind_name);
                self.push(line, entry, None);
            }
            _ if kind.schema().is_billed => {
                let Some(usage) = line.usage.and_then(Usage::of) else { return };
                let mut entry = self.counted(None, &kind_name);
                entry.usage = Some(usage);
                if matches!(kind, Kind::Usage | Kind::ModelUsage) {
                    (entry.provider, entry.model) = (self.name(line.provider), self.name(line.model));
                }
                self.push(line, entry, None);
            }
            // oh-my-pi: a request of the user in another form, as that for a skill.
            (Kind::CustomMessage, _)
                if Raw::checked(line.bytes).get("attribution").is_some_and(|by| by.is("user")) =>
            {
                let time = line.timestamp.and_then(|time| parse_js_date(time.text().as_bytes()));
                self.turn = time.map_or(Turn::Over, Turn::Working);
            }
            _ => {}
        }
    }

    fn message(&mut self, line: &Record, message: &MessageFacts, blocks: &[Block]) {
        let name = message.role.map(|role| role.text()).unwrap_or_default();
        let is_copy = message.timestamp.is_some() && !self.messages.insert(fingerprint(message.bytes));
        let role = Role::of_string(message.role);
        let entry = self.counted(Some(role), &name);
        let mut entry = match role {
            Role::Assistant => {
                let model = message.response_model.filter(|model| model.is_string()).or(message.model);
                self.model = (self.name(message.provider), self.name(model));
                let (provider, model) = self.model;
                let (usage, calls) = (message.usage.and_then(Usage::of), self.calls(blocks));
                Counted { usage, calls, provider, model, ..entry }
            }
            Role::ToolResult => {
                let (tool, has_failed) =
                    (self.name(message.tool_name), message.is_error.is_some_and(Raw::is_truthy));
                Counted { tool, has_failed, ..self.result_usage(message, entry) }
            }
            _ => entry,
        };
        if is_copy {
            (entry.usage, entry.is_copy) = (None, true);
        }
        self.push(line, entry, message.timestamp.and_then(Raw::number).map(|time| time as i64));
    }

    /// Returns an entry with this role, whose name is as stored.
    fn counted(&mut self, role: Option<Role>, name: &Text) -> Counted {
        Counted { role, role_name: self.harvest.names.of(name.as_bytes()), ..Counted::default() }
    }

    /// Adds the usage of a tool result: that of models which the tool called itself, or that of sub-agents, unless
    /// their own sessions are read as well. A result without usage is attributed to the model that made the call.
    fn result_usage(&mut self, message: &MessageFacts, entry: Counted) -> Counted {
        let (usage, sessions) = match reported(message.tool_name, message.usage, message.details) {
            Some(Reported { usage, sessions }) => {
                let is_read =
                    self.options.agents.is_some_and(|(path, agents)| agents.are_read(path, &sessions));
                (Usage::of(usage).filter(|_| !is_read), Some(sessions))
            }
            None => (message.usage.and_then(Usage::of), None),
        };
        match usage {
            Some(_) => {
                let of_agents = sessions.is_some();
                Counted { usage, of_agents, agents: self.agents(sessions.unwrap_or_default()), ..entry }
            }
            None => Counted { provider: self.model.0, model: self.model.1, ..entry },
        }
    }

    fn calls(&mut self, blocks: &[Block]) -> (u32, u32) {
        let start = self.harvest.calls.len() as u32;
        for call in blocks.iter().filter(|block| block.is_call()) {
            let file = file_of(call.name, call.arguments).map(|(tool, path)| self.file(tool, &path));
            let tool = self.name(call.name);
            self.harvest.calls.push(Call { tool, file });
        }
        (start, self.harvest.calls.len() as u32)
    }

    /// Returns the file. A relative path is resolved against the session's directory first.
    fn file(&mut self, tool: FileTool, path: &Text) -> TouchedFile {
        let is_relative = !path.as_bytes().starts_with(b"~") && !is_absolute(path.as_bytes());
        let cwd = self.harvest.header.cwd.as_ref().filter(|_| is_relative);
        let path = path.as_bytes().strip_prefix(b"./").unwrap_or(path.as_bytes());
        let mut whole = cwd.map(|cwd| [cwd.as_bytes(), b"/"].concat()).unwrap_or_default();
        whole.extend_from_slice(path);
        if is_windows(&whole) {
            whole.iter_mut().filter(|byte| **byte == b'\\').for_each(|byte| *byte = b'/');
        }
        let path = if self.options.paths { self.harvest.names.of(&whole) } else { Name::default() };
        TouchedFile { tool, key: self.hasher.hash_one(whole), path }
    }

    /// Adds an entry. `began` is the time in its message: of a reply, when it began.
    fn push(&mut self, line: &Record, mut entry: Counted, began: Option<i64>) {
        let timestamp = line.timestamp.map(|time| time.text()).unwrap_or_default();
        let id = line.id.map(|id| id.text()).unwrap_or_default();
        entry.time_ms = parse_js_date(timestamp.as_bytes()).unwrap_or(Entry::NO_TIME);
        (entry.line, entry.took_ms) = (self.in_session(), self.took(&entry, began));
        if entry.line.is_none() {
            // Of an entry that was pruned, only what it used counts.
            let is_reply = entry.role == Some(Role::Assistant) && !entry.is_copy;
            entry.usage = entry.usage.or(is_reply.then(Usage::default));
            (entry.role, entry.has_failed, entry.calls, entry.took_ms) = (None, false, (0, 0), 0);
            if entry.usage.is_none() {
                return;
            }
        }
        entry.key = self.key(&id, &timestamp);
        entry.id = self.keep(&id);
        entry.parent_id = self.keep(&line.parent_id.and_then(Raw::text).unwrap_or_default());
        entry.timestamp = self.keep(&timestamp);
        self.harvest.entries.push(entry);
    }

    /// Returns the number of the current line in the session; `None` if it was pruned.
    fn in_session(&self) -> Option<LineNo> {
        let number = LineNo(self.lines);
        self.options.pruned.map_or(Some(number), |pruned| pruned.in_session(number))
    }

    /// Returns a key that is equal only for copies. Entries of version 1, or without an id, are identified by
    /// session, line and time.
    fn key(&self, id: &Text, timestamp: &Text) -> u64 {
        if self.format == Format::V1 || id.is_empty() {
            return self.hasher.hash_one((
                self.harvest.header.id.as_bytes(),
                self.lines,
                timestamp.as_bytes(),
            ));
        }
        self.hasher.hash_one((id.as_bytes(), timestamp.as_bytes()))
    }

    /// Returns the time that the agent and its tools worked before an entry. A turn lasts from a user message to the
    /// first reply that calls no tools. What follows without a request, as a message that another program appended,
    /// or a reply to an extension, took no longer than its own generation. A step that took hours was idle.
    fn took(&mut self, entry: &Counted, began: Option<i64>) -> i64 {
        let time_ms = entry.time_ms;
        let is_timed = time_ms != Entry::NO_TIME;
        let last = self.last;
        if is_timed && entry.role.is_some() {
            self.last = last.max(time_ms);
        }
        let (next, took) = match (entry.role, self.turn) {
            _ if entry.is_copy => (Turn::Over, 0),
            (Some(Role::User), _) if is_timed => (Turn::Working(time_ms), 0),
            (Some(Role::User), _) => (Turn::Over, 0),
            (Some(Role::Assistant | Role::ToolResult), _) if !is_timed => (self.turn, 0),
            (Some(Role::Assistant), turn) => {
                let began = match turn {
                    Turn::Working(before) => before,
                    _ => began.filter(|&began| last != Entry::NO_TIME && began >= last).unwrap_or(time_ms),
                };
                let next = if entry.calls.0 == entry.calls.1 {
                    Turn::Over
                } else {
                    Turn::Calling(time_ms.max(began))
                };
                (next, time_ms - began)
            }
            (Some(Role::ToolResult), Turn::Working(before) | Turn::Calling(before)) => {
                (Turn::Working(before.max(time_ms)), time_ms - before)
            }
            _ => (self.turn, 0),
        };
        self.turn = next;
        if (0..=LONGEST_STEP).contains(&took) { took } else { 0 }
    }

    fn agents(&mut self, sessions: Vec<String>) -> (u32, u32) {
        let start = self.harvest.agents.len() as u32;
        self.harvest.agents.extend(sessions);
        (start, self.harvest.agents.len() as u32)
    }

    fn name(&mut self, value: Option<Raw>) -> Name {
        match value.and_then(Raw::text) {
            Some(text) => self.harvest.names.of(text.as_bytes()),
            None => Name::default(),
        }
    }

    fn keep(&mut self, text: &Text) -> Slice {
        let arena = &mut self.harvest.arena;
        if self.options.texts { Slice::append(text.as_bytes(), arena) } else { Slice::default() }
    }

    /// Gives entries of version 1 the ids that they have after a migration.
    fn take_ids(&mut self, session: &Session) {
        for entry in &mut self.harvest.entries {
            let Some(ix) = entry.line.and_then(|line| session.entry_on(line)) else { continue };
            let mut keep = |text: Text| Slice::append(text.as_bytes(), &mut self.harvest.arena);
            entry.id = keep(session.id(ix));
            entry.parent_id = keep(session.parent_id(ix).unwrap_or_default());
        }
    }
}

/// The maximum number of milliseconds between two entries of a turn that count as work: an hour. What takes longer waited
/// for a user, or for the machine to wake up.
const LONGEST_STEP: i64 = 60 * 60 * 1000;

/// What the conversation is waiting for, with the latest time of what is being done.
#[derive(Clone, Copy)]
enum Turn {
    /// A request.
    Over,
    /// A reply.
    Working(i64),
    /// The results of tool calls.
    Calling(i64),
}

/// Whether the line at `at` ends with a newline.
fn has_newline(stretch: LineChunk, at: usize, size: u64) -> bool {
    stretch.start + (stretch.bytes.len() as u64) < size || memchr(b'\n', &stretch.bytes[at..]).is_some()
}
