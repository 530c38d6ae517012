//! The entries that one worker collects from the lines that start in its chunk.

use crate::agents::Agent;
use crate::agents::readable::{self, Folders};
use crate::agents::row::{CUT, ROW_UNITS, RowOptions, is_longer};
use crate::load::Options;
use crate::load::classify::{evidence, flags, role_of};
use crate::load::list_stats::key_of;
use crate::session::collected::{Collected, EntryText, LabelChange, OddLine, ToolCall};
use crate::session::defect::FindingKind;
use crate::session::dialect::Dialect;
use crate::session::entry::{Entry, EntryIx, Flags, Kind, LineNo, Role, Slice, Span};
use crate::session::read::record::{Block, Member, Record, Typed, named_head, scan_into};
use crate::session::usage::Billed;
use crate::session::{Format, Problem};
use memchr::memchr;
use pisess_json::string::is_utf8;
use pisess_json::text::{Text, drop_high_surrogate};
use pisess_json::time::parse_js_date;
use pisess_json::{KeyCache, Raw, Scanner};
use std::ops::Range;

/// Entries and what belongs to them, numbered from 0 until the fragment is joined to the previous
/// one.
#[derive(Debug, Default)]
pub struct Fragment {
    pub entries: Vec<Entry>,
    pub arena: Vec<u8>,
    /// The `parentId` of the entries whose parent is not the previous entry.
    pub parent_ids: Vec<EntryText>,
    pub collected: Collected,
    pub problems: Vec<Problem>,
    pub draft_links: Vec<DraftLink>,
    /// Labels that refer to their target by record number.
    pub numbered_targets: Vec<(EntryIx, f64)>,
    /// The last `leaf` record: its entry and the id it refers to.
    pub leaf_record: Option<(EntryIx, Slice)>,
    /// Whether an entry of the draft tree was seen.
    pub draft: bool,
    /// The first evidence of an agent.
    pub dialect: Option<Dialect>,
    /// Counts of physical lines, and of records that parse.
    pub lines: u32,
    pub records: u32,
}

/// The links of a draft-tree entry, which are record numbers.
#[derive(Clone, Copy, Debug)]
pub struct DraftLink {
    pub entry: EntryIx,
    /// `parent`, or `backToIndex` of a pop.
    pub parent: f64,
    /// Whether the entry is a `head`.
    pub head: bool,
}

/// The options for reading lines.
pub struct Reading<'a> {
    pub options: &'a Options,
    pub format: Format,
    /// The agent whose rows and rules to use.
    pub agent: &'static Agent,
    /// The working directory of the session, to which paths in readable rows are relative.
    pub cwd: Option<&'a Text<'static>>,
}

impl Fragment {
    /// Adds whole lines, which begin at the offset `start` of the file. Only its last line may lack
    /// a newline.
    pub fn read_lines(
        &mut self,
        bytes: &[u8],
        start: u64,
        reading: &Reading,
        keys: &mut KeyCache<Member>,
    ) {
        let mut scanner = Scanner::new(bytes);
        let mut blocks = Vec::new();
        let mut pos = 0;
        while pos < bytes.len() {
            scanner.seek(pos);
            let mut record = Record::default();
            let parsed = (!scanner.at_end())
                .then(|| scan_into(&mut scanner, keys, &mut record, &mut blocks));
            let whole = scanner.at_end();
            let from = scanner.pos().max(pos);
            let newline = match bytes.get(from) {
                // Usually, the scanner stopped there.
                Some(b'\n') => Some(from),
                _ => memchr(b'\n', &bytes[from..]).map(|at| from + at),
            };
            let end = newline.unwrap_or(bytes.len());
            let line = LineNo(self.lines);
            let non_ascii = scanner.take_non_ascii();
            let (span, problems) = (
                Span {
                    start: start + pos as u64,
                    len: (end - pos) as u64,
                },
                self.problems.len(),
            );
            let is_value = whole && matches!(parsed, Some(Ok(())));
            match parsed {
                None => {}
                Some(Ok(())) if whole => {
                    // All other bytes of the line are ASCII. The range may reach into the next
                    // line.
                    if !non_ascii.is_empty()
                        && !is_utf8(&bytes[non_ascii.start..non_ascii.end.min(end)])
                    {
                        self.problems.push(Problem {
                            line,
                            kind: FindingKind::InvalidUtf8,
                        });
                    }
                    self.push(&record, &blocks, span, reading);
                    if reading.options.messages {
                        // Grows only if an entry was added.
                        self.collected
                            .messages
                            .resize(self.entries.len(), message_place(&bytes[pos..end], &record));
                    }
                    if reading.options.message_tokens {
                        self.collected
                            .message_tokens
                            .resize(self.entries.len(), message_tokens(&record, reading.agent));
                    }
                }
                Some(Ok(())) => self.problems.push(Problem {
                    line,
                    kind: FindingKind::FusedLine,
                }),
                Some(Err(_)) => {
                    let torn = newline.is_none();
                    let kind = if torn {
                        FindingKind::TornTail
                    } else {
                        FindingKind::MalformedLine
                    };
                    self.problems.push(Problem { line, kind });
                }
            }
            if let Some(is_plain) = reading.options.plain {
                let is_read = is_value && newline.is_some() && self.problems.len() == problems;
                if is_read && is_plain(&record, &blocks) {
                    self.collected.plain_lines[usize::from(bytes[..end].ends_with(b"\r"))] += 1;
                } else {
                    self.collected.odd_lines.push(OddLine { line, span });
                }
            }
            self.lines += 1;
            pos = end + 1;
        }
    }

    /// Adds one value.
    fn push(&mut self, record: &Record, blocks: &[Block], span: Span, reading: &Reading) {
        let line = LineNo(self.lines);
        if !record.is_object {
            self.problems.push(Problem {
                line,
                kind: FindingKind::NotAnEntry,
            });
            self.records += u32::from(Raw::checked(record.bytes).is_truthy());
            return;
        }
        let number = self.records;
        self.records += 1;
        let kind = Kind::of_string(record.kind);
        if record.kind.is_some_and(|kind| kind.is("session")) {
            self.problems.push(Problem {
                line,
                kind: FindingKind::SecondHeader,
            });
            return;
        }
        let ix = EntryIx::new(self.entries.len());
        let role = role_of(kind, record, reading.format);
        if self.dialect.is_none() {
            self.dialect = evidence(kind, role, record);
        }
        let typed = Typed {
            kind: self.draft_kind(kind, ix, record),
            role,
            record,
            blocks,
        };
        let id = record
            .id
            .map_or(Slice::default(), |id| self.keep(&id.text()));
        // Entries of version 1 have no ids; linking assigns them.
        if id.is_empty() && reading.format != Format::V1 {
            self.problems.push(Problem {
                line,
                kind: FindingKind::MissingId,
            });
        }
        let parent = self.parent(ix, record.get(Member::ParentId));
        if let Some(rows) = &reading.options.rows {
            self.row(ix, &typed, rows, reading);
        } else if reading.options.calls {
            self.calls(ix, &typed, None, reading);
        }
        let timestamp = record.timestamp.map(|time| time.text()).unwrap_or_default();
        let time = parse_js_date(timestamp.as_bytes());
        self.side_tables(ix, &typed, &timestamp);
        self.asked_for(ix, &typed, &timestamp, time, reading);
        let mut flags = flags(&typed, reading.agent);
        flags.insert_if(Flags::PADDED, record.bytes.len() as u64 != span.len);
        self.entries.push(Entry {
            span,
            time_ms: time.unwrap_or(Entry::NO_TIME),
            id,
            parent,
            line,
            record: number,
            kind: typed.kind,
            role,
            flags,
        });
    }

    /// Returns the kind that migration gives an older entry, and records its links.
    fn draft_kind(&mut self, kind: Kind, entry: EntryIx, record: &Record) -> Kind {
        let whole = Raw::checked(record.bytes);
        let link = if kind == Kind::StackPop {
            whole.get("backToIndex")
        } else {
            record.get(Member::Parent)
        };
        let is_draft = matches!(kind, Kind::Head | Kind::StackSummary | Kind::StackPop);
        let parent = link.and_then(Raw::number);
        self.draft |= is_draft || parent.is_some();
        let head = kind == Kind::Head;
        if head || parent.is_some() {
            self.draft_links.push(DraftLink {
                entry,
                parent: parent.unwrap_or(f64::NAN),
                head,
            });
        }
        match kind {
            Kind::StackSummary | Kind::StackPop => Kind::BranchSummary,
            Kind::Head if named_head(whole).is_some() => Kind::Label,
            Kind::Head => Kind::Custom,
            other => other,
        }
    }

    /// Returns the parent if it is the previous entry, as usual. Any other is found by its id,
    /// which is stored.
    fn parent(&mut self, entry: EntryIx, id: Option<Raw>) -> Option<EntryIx> {
        let id = id.and_then(Raw::text).filter(|id| !id.is_empty())?;
        if self
            .entries
            .last()
            .is_some_and(|before| self.arena[before.id.range()] == *id.as_bytes())
        {
            return entry.before();
        }
        let text = self.keep(&id);
        self.parent_ids.push(EntryText { entry, text });
        None
    }

    /// Stores the row of an entry, and its tool calls.
    pub fn row(&mut self, entry: EntryIx, typed: &Typed, rows: &RowOptions, reading: &Reading) {
        let agent = reading.agent;
        let readable = if rows.readable {
            readable::entry_row(typed)
        } else {
            None
        };
        let is_agents = readable.is_none();
        self.collected.rows.push(entry.at(), |row| {
            let start = row.len();
            let parts = match readable {
                Some(text) => text.append_to(row),
                None => agent.push_row(typed, row),
            };
            if rows.readable && row.len() - start >= SHORTEST_CUT {
                drop_cut_half(row);
                let message = typed.record.message.as_ref().filter(|_| {
                    is_agents
                        && typed.kind == Kind::Message
                        && matches!(typed.role, Role::User | Role::Assistant)
                        && row.len() - start >= ROW_UNITS
                });
                if message.is_some_and(|message| is_longer(message, typed.blocks)) {
                    row.extend_from_slice(CUT.as_bytes());
                }
            }
            parts
        });
        if rows.searchable {
            let text = self.keep(&(agent.searchable)(typed));
            self.collected.searchable.push(text);
        }
        self.calls(entry, typed, Some(rows), reading);
    }

    /// Stores the tool calls of an entry, with their rows if requested, or the call of a tool
    /// result.
    fn calls(
        &mut self,
        entry: EntryIx,
        typed: &Typed,
        rows: Option<&RowOptions>,
        reading: &Reading,
    ) {
        if typed.kind == Kind::Message && typed.role == Role::Assistant {
            for block in typed.blocks.iter().filter(|block| block.is_call()) {
                let call = self.tool_call(entry, block, rows, reading);
                self.collected.tool_calls.push(call);
            }
        }
        let call = typed
            .record
            .message
            .as_ref()
            .and_then(|message| message.get(Member::ToolCallId))
            .and_then(Raw::text);
        if let (Role::ToolResult, Some(call)) = (typed.role, call) {
            let text = self.keep(&call);
            self.collected.tool_results.push(EntryText { entry, text });
        }
    }

    fn tool_call(
        &mut self,
        entry: EntryIx,
        block: &Block,
        rows: Option<&RowOptions>,
        reading: &Reading,
    ) -> ToolCall {
        let name = block.name.and_then(Raw::text).unwrap_or_default();
        let arguments = block.arguments.unwrap_or(Raw::NULL);
        let id = self.keep(&block.id.and_then(Raw::text).unwrap_or_default());
        let call = ToolCall {
            entry,
            id,
            name: Slice::default(),
            row: Slice::default(),
            path: (0, 0),
        };
        let Some(rows) = rows else { return call };
        if rows.readable {
            let folders = Folders {
                cwd: reading.cwd,
                home: rows.home.as_ref(),
            };
            let shown = readable::describe_call(&name, arguments, folders);
            // The offsets fit: rows are short.
            let path = (shown.path.start as u16, shown.path.end as u16);
            return ToolCall {
                name: self.keep(&name),
                row: self.keep(&shown.text),
                path,
                ..call
            };
        }
        let row = (reading.agent.call_row)(&name, arguments, rows.home.as_ref());
        ToolCall {
            row: self.keep(&row),
            ..call
        }
    }

    /// Stores what the options request besides the row.
    fn asked_for(
        &mut self,
        entry: EntryIx,
        typed: &Typed,
        timestamp: &Text,
        time: Option<i64>,
        &Reading { options, cwd, .. }: &Reading,
    ) {
        let record = typed.record;
        if options.timestamps {
            let kept = self.keep(timestamp);
            self.collected.timestamps.push(kept);
        }
        if options.keys {
            self.collected.keys.push(key_of(typed, timestamp));
        }
        if options.usage {
            self.collected.billed.extend(Billed::of(entry, typed));
        }
        if options.stats {
            self.keep_stats(entry, typed, cwd, options.read_paths);
        }
        if options.file_calls {
            self.keep_file_calls(entry, typed);
        }
        if !options.search.is_empty() {
            let found = options
                .search
                .look(Raw::checked(record.bytes), typed.kind, typed.role);
            self.collected
                .found
                .extend(found.map(|found| (entry, found)));
        }
        if let Some(period) = options.list_stats {
            self.collected
                .list_stats
                .take_in(entry, typed, time, period);
        }
    }

    /// Stores labels, the leaf record, and unknown names.
    fn side_tables(&mut self, entry: EntryIx, typed: &Typed, timestamp: &Text) {
        let Typed {
            kind, role, record, ..
        } = *typed;
        if kind == Kind::Label {
            let head = named_head(Raw::checked(record.bytes));
            let name = record
                .get(Member::Label)
                .and_then(Raw::text)
                .or(head)
                .unwrap_or_default();
            let target = record
                .get(Member::TargetId)
                .and_then(Raw::text)
                .unwrap_or_default();
            let number = record.get(Member::TargetId).and_then(Raw::number);
            self.numbered_targets
                .extend(number.map(|number| (entry, number)));
            let change = LabelChange {
                entry,
                target: self.keep(&target),
                name: self.keep(&name),
                timestamp: self.keep(timestamp),
            };
            self.collected.labels.push(change);
        }
        if kind == Kind::SessionInfo {
            self.collected.given_name = Some(
                record
                    .get(Member::Name)
                    .and_then(Raw::text)
                    .unwrap_or_default()
                    .into_owned(),
            );
        }
        if kind == Kind::Leaf {
            let target = record
                .get(Member::TargetId)
                .and_then(Raw::text)
                .unwrap_or_default();
            self.leaf_record = Some((entry, self.keep(&target)));
        }
        // Only a message has a role.
        let other = match (kind, role) {
            (Kind::Other, _) => record.kind,
            (_, Role::Other) => record.message.and_then(|message| message.role),
            _ => None,
        };
        if let Some(name) = other {
            let text = self.keep(&name.text());
            self.collected.other_names.push(EntryText { entry, text });
        }
    }

    pub fn keep(&mut self, text: &Text) -> Slice {
        Slice::append(text.as_bytes(), &mut self.arena)
    }
}

/// The minimum number of bytes of a row that was cut: 80 units are the fewest of an agent.
const SHORTEST_CUT: usize = 80;

/// Removes the half of a surrogate pair that a cut left at the end of a row, or before the sign of
/// a cut.
fn drop_cut_half(row: &mut Vec<u8>) {
    let is_marked = row.ends_with(CUT.as_bytes());
    row.truncate(row.len() - if is_marked { CUT.len() } else { 0 });
    drop_high_surrogate(row);
    row.extend_from_slice(if is_marked { CUT.as_bytes() } else { b"" });
}

/// Returns the agent's estimate of the message of a line.
fn message_tokens(record: &Record, agent: &Agent) -> u64 {
    let message = record.message.as_ref();
    message.map_or(0, |message| {
        (agent.message_tokens)(Raw::checked(message.bytes))
    })
}

/// Returns the location of the message in its line.
fn message_place(line: &[u8], record: &Record) -> Range<u32> {
    let Some(message) = record.message else {
        return 0..0;
    };
    let start = message.bytes.as_ptr() as usize - line.as_ptr() as usize;
    match (
        u32::try_from(start),
        u32::try_from(start + message.bytes.len()),
    ) {
        (Ok(start), Ok(end)) => start..end,
        _ => 0..0,
    }
}
