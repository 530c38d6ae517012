//! The entries that one worker collects from the lines that begin in its range of the file.

use crate::agents::Agent;
use crate::agents::readable::{self, Folders};
use crate::agents::row::{CUT_MARK, ROW_UNITS, RowOptions, exceeds_row};
use crate::load::LoadOptions;
use crate::load::classify::{count_images, dialect_evidence, entry_flags, message_role};
use crate::load::list_stats::entry_key;
use crate::session::collected::{
    Collected, EntryText, ImageCount, LabelChange, OddLine, PathRange, ToolCall,
};
use crate::session::column::RowShape;
use crate::session::defect::FindingKind;
use crate::session::dialect::Dialect;
use crate::session::entry::{Entry, EntryIx, Flags, Kind, LineNo, Role, Slice, Span};
use crate::session::read::header::Preamble;
use crate::session::read::record::{
    Block, Member, ParsedEntry, Record, draft_head_name, scan_record_into,
};
use crate::session::search::Matches;
use crate::session::usage::{BilledRequest, CostEstimator};
use crate::session::{Format, Problem};
use memchr::memchr;
use pisess_json::string::is_utf8;
use pisess_json::text::{Text, drop_high_surrogate};
use pisess_json::time::parse_js_date;
use pisess_json::{KeyCache, Raw, Scanner, range_in};
use std::ops::Range;

/// The entries of a part of a file, and all that belongs to them. They are numbered from 0 until
/// the fragment is appended to the one before it.
#[derive(Debug, Default)]
pub struct Fragment {
    pub entries: Vec<Entry>,
    pub arena: Vec<u8>,
    /// The `parentId` of each entry whose parent is not the previous entry.
    pub parent_ids: Vec<EntryText>,
    pub collected: Collected,
    pub problems: Vec<Problem>,
    pub draft_links: Vec<DraftLink>,
    /// Labels that name the labelled entry by a record number.
    pub numbered_targets: Vec<NumberedTarget>,
    /// The last `leaf` record.
    pub leaf_record: Option<LeafRecord>,
    /// Whether a line shows that the file is in the draft tree format.
    pub is_draft: bool,
    /// The agent of the first line that only one agent writes.
    pub dialect: Option<Dialect>,
    /// The number of physical lines.
    pub line_count: u32,
    /// The number of records: lines that parse.
    pub record_count: u32,
    /// Estimates costs that the lines do not record.
    pub estimator: CostEstimator,
}

/// The link of an entry of the draft tree format to its parent.
#[derive(Clone, Copy, Debug)]
pub struct DraftLink {
    pub entry: EntryIx,
    /// The record number of the parent: the member `parent`, or `backToIndex` of a pop.
    pub parent: Option<f64>,
    /// Whether the entry is a `head`.
    pub is_head: bool,
}

/// The labelled entry of a label of the draft tree format.
#[derive(Clone, Copy, Debug)]
pub struct NumberedTarget {
    /// The label entry.
    pub label: EntryIx,
    /// The record number of the labelled entry, as stored. It may be any number.
    pub record: f64,
}

/// A `leaf` record, which moves the leaf to an entry.
#[derive(Clone, Copy, Debug)]
pub struct LeafRecord {
    pub entry: EntryIx,
    /// The id of the entry that becomes the leaf.
    pub target_id: Slice,
}

/// How lines are read.
pub struct ReadContext<'a> {
    pub options: &'a LoadOptions,
    pub format: Format,
    /// The agent by whose rules lines are read.
    pub agent: &'static dyn Agent,
    /// The working directory of the session. Paths in rows for people are relative to it.
    pub cwd: Option<&'a Text<'static>>,
}

impl Fragment {
    /// Returns a fragment without entries. The lines after the preamble are to be added to it.
    pub fn after(preamble: &Preamble) -> Fragment {
        Fragment {
            line_count: preamble.line_count + 1,
            // The header is record 0.
            record_count: 1,
            ..Fragment::default()
        }
    }

    /// Adds the entries and problems of whole lines. `start` is the offset in the file of the
    /// first. Only the last line of the file may lack a newline.
    ///
    /// The scanner runs over all lines without a search for their ends. No value contains a
    /// newline, and the scanner stops at one even in a broken string. So the end of a line is where
    /// the scanner stopped, or the first newline after that.
    pub fn read_lines(
        &mut self,
        bytes: &[u8],
        start: u64,
        reading: &ReadContext,
        keys: &mut KeyCache<Member>,
    ) {
        let mut scanner = Scanner::new(bytes);
        let mut blocks = Vec::new();
        let mut line_start = 0;
        while line_start < bytes.len() {
            scanner.seek(line_start);
            let mut record = Record::default();
            let content = scan_line(&mut scanner, keys, &mut record, &mut blocks);
            let newline = find_newline(bytes, scanner.pos());
            // Taken from every line, so that the range of a broken line does not count for the next
            // one.
            let non_ascii = scanner.take_non_ascii();

            let line_end = newline.unwrap_or(bytes.len());
            let line = &bytes[line_start..line_end];
            let span = Span {
                start: start + line_start as u64,
                len: line.len() as u64,
            };

            let problems_before = self.problems.len();
            match content {
                LineContent::Blank => {}
                LineContent::Value => {
                    // All other bytes of the line are ASCII. The range may reach into the next
                    // line.
                    let has_invalid_utf8 = !non_ascii.is_empty()
                        && !is_utf8(&bytes[non_ascii.start..non_ascii.end.min(line_end)]);
                    if has_invalid_utf8 {
                        self.report(FindingKind::InvalidUtf8);
                    }
                    let is_entry = self.push_record(&record, &blocks, span, reading);
                    if is_entry {
                        self.keep_message(line, &record, &blocks, reading);
                    }
                }
                LineContent::ValueAndMore => self.report(FindingKind::FusedLine),
                // Only a line that was not written to its end lacks a newline.
                LineContent::Malformed if newline.is_none() => self.report(FindingKind::TornTail),
                LineContent::Malformed => self.report(FindingKind::MalformedLine),
            }

            if let Some(is_plain) = reading.options.is_plain_line {
                let is_sound = content == LineContent::Value
                    && newline.is_some()
                    && self.problems.len() == problems_before;
                // Without a value, there is no record to ask about.
                if is_sound && is_plain(&record, &blocks) {
                    self.count_plain_line(line);
                } else {
                    let line = LineNo(self.line_count);
                    self.collected.odd_lines.push(OddLine { line, span });
                }
            }
            self.line_count += 1;
            line_start = line_end + 1;
        }
    }

    /// Counts a plain line: one that ends with `\r\n`, or one that ends with `\n`.
    fn count_plain_line(&mut self, line: &[u8]) {
        let [lf_count, crlf_count] = &mut self.collected.plain_lines;
        if line.ends_with(b"\r") {
            *crlf_count += 1;
        } else {
            *lf_count += 1;
        }
    }

    /// Adds a problem of the present line.
    fn report(&mut self, kind: FindingKind) {
        let line = LineNo(self.line_count);
        self.problems.push(Problem { line, kind });
    }

    /// Stores the location and the estimated tokens of an entry's message, if the options request
    /// them. `line` is the line of the entry.
    ///
    /// Both tables have one element per entry, in file order. So this must be called once, and
    /// after each entry that is added, even if the entry has no message.
    fn keep_message(
        &mut self,
        line: &[u8],
        record: &Record,
        blocks: &[Block],
        reading: &ReadContext,
    ) {
        if reading.options.message_spans {
            self.collected.messages.push(message_range(line, record));
            debug_assert_eq!(self.collected.messages.len(), self.entries.len());
        }
        if reading.options.message_tokens {
            let tokens = match &record.message {
                Some(message) => reading.agent.estimate_scanned(message, blocks),
                None => 0,
            };
            self.collected.message_tokens.push(tokens);
            debug_assert_eq!(self.collected.message_tokens.len(), self.entries.len());
        }
    }

    /// Adds the value of a line as an entry. If the value is not an object, or is a second header,
    /// adds a problem instead. Either counts as a record, except a value that JavaScript treats as
    /// false. Returns whether an entry was added.
    fn push_record(
        &mut self,
        record: &Record,
        blocks: &[Block],
        span: Span,
        reading: &ReadContext,
    ) -> bool {
        if !record.is_object {
            self.report(FindingKind::NotAnEntry);
            // Only a value that JavaScript treats as true has a record number.
            if Raw::from_checked(record.bytes).is_truthy() {
                self.record_count += 1;
            }
            return false;
        }
        let record_number = self.record_count;
        self.record_count += 1;
        if record.kind.is_some_and(|kind| kind.is("session")) {
            self.report(FindingKind::SecondHeader);
            return false;
        }

        // The index that the entry has when it is added below.
        let ix = EntryIx::new(self.entries.len());
        let stored_kind = Kind::from_string(record.kind);
        let role = message_role(stored_kind, record, reading.format);
        if self.dialect.is_none() {
            self.dialect = dialect_evidence(stored_kind, role, record);
        }
        self.collect_draft_link(stored_kind, ix, record);
        let parsed = ParsedEntry {
            kind: migrated_kind(stored_kind, record),
            role,
            record,
            blocks,
        };

        let id = match record.id {
            Some(id) => self.keep_text(&id.text()),
            None => Slice::default(),
        };
        // Entries of version 1 have no ids; linking assigns them.
        if id.is_empty() && reading.format != Format::V1 {
            self.report(FindingKind::MissingId);
        }
        let parent = self.find_or_queue_parent(ix, record.get(Member::ParentId));

        if let Some(rows) = &reading.options.rows {
            self.keep_row(ix, &parsed, rows, reading);
        } else if reading.options.tool_calls {
            self.keep_calls_and_results(ix, &parsed, None, reading);
        }
        let timestamp = record.timestamp.map(|time| time.text()).unwrap_or_default();
        let time_ms = parse_js_date(timestamp.as_bytes());
        self.store_facts_of_kind(ix, &parsed, &timestamp);
        self.keep_requested(ix, &parsed, &timestamp, time_ms, reading);

        let mut flags = entry_flags(&parsed, reading.agent);
        if reading.options.rows.is_some() && flags.contains(Flags::IMAGES) {
            let count = count_images(&parsed);
            if count > 1 {
                let counted = ImageCount { entry: ix, count };
                self.collected.image_counts.push(counted);
            }
        }
        let has_white_space_around = record.bytes.len() as u64 != span.len;
        flags.insert_if(Flags::PADDED, has_white_space_around);
        self.entries.push(Entry {
            span,
            time_ms: time_ms.unwrap_or(Entry::NO_TIME),
            id,
            parent,
            line: LineNo(self.line_count),
            record: record_number,
            kind: parsed.kind,
            role,
            flags,
        });
        true
    }

    /// Stores the link of an entry of the draft tree format to its parent, as in
    /// `{"type":"message","parent":3,…}`. `kind` is the kind before migration.
    ///
    /// The header does not distinguish this format from version 1. So the file is marked as one of
    /// the draft tree format by its first link, or by its first entry of a kind that only this
    /// format has.
    fn collect_draft_link(&mut self, kind: Kind, entry: EntryIx, record: &Record) {
        let parent = draft_parent_number(kind, record);
        let has_draft_kind = matches!(kind, Kind::Head | Kind::StackSummary | Kind::StackPop);
        if has_draft_kind || parent.is_some() {
            self.is_draft = true;
        }

        // A head is stored even without a link, because linking needs the list of all heads.
        let is_head = kind == Kind::Head;
        if is_head || parent.is_some() {
            self.draft_links.push(DraftLink {
                entry,
                parent,
                is_head,
            });
        }
    }

    /// Returns the parent of `entry`, which is about to be added, if that is the entry before it,
    /// as for most entries. Returns `None` in two other cases:
    ///
    /// - The entry is a root, because it has no `parentId`, or an empty one.
    /// - The parent is another entry. Its id is added to `parent_ids`, and is looked up once all
    ///   entries of the file are known.
    fn find_or_queue_parent(&mut self, entry: EntryIx, parent_id: Option<Raw>) -> Option<EntryIx> {
        let parent_id = parent_id?.text()?;
        if parent_id.is_empty() {
            return None;
        }
        if let Some(before) = self.entries.last()
            && self.arena[before.id.range()] == *parent_id.as_bytes()
        {
            return entry.previous();
        }

        let text = self.keep_text(&parent_id);
        self.parent_ids.push(EntryText { entry, text });
        None
    }

    /// Stores the row of an entry, and its tool calls.
    pub fn keep_row(
        &mut self,
        entry: EntryIx,
        parsed: &ParsedEntry,
        rows: &RowOptions,
        reading: &ReadContext,
    ) {
        // The column has the rows of all entries before this one in the same buffer.
        self.collected.rows.push(entry.index(), |buffer| {
            append_row(parsed, rows, reading.agent, buffer)
        });
        self.keep_calls_and_results(entry, parsed, Some(rows), reading);
    }

    /// Stores the tool calls of an assistant message. `rows` describes the rows that they get;
    /// without it, only ids are stored. Of a tool result, stores the id of the call that it
    /// answers.
    fn keep_calls_and_results(
        &mut self,
        entry: EntryIx,
        parsed: &ParsedEntry,
        rows: Option<&RowOptions>,
        reading: &ReadContext,
    ) {
        // Only a message has a role.
        if parsed.role == Role::Assistant {
            for block in parsed.blocks.iter().filter(|block| block.is_call()) {
                let call = self.build_tool_call(entry, block, rows, reading);
                self.collected.tool_calls.push(call);
            }
        }
        if parsed.role == Role::ToolResult
            && let Some(message) = &parsed.record.message
            && let Some(call_id) = message.get(Member::ToolCallId).and_then(Raw::text)
        {
            let text = self.keep_text(&call_id);
            self.collected.tool_results.push(EntryText { entry, text });
        }
    }

    /// Returns a tool call to collect, after storing its strings in the arena.
    ///
    /// Without `rows`, the call has only its id. With rows for people, it has its name, and a
    /// description in which the range of a path is known. With rows of the agent, it has only the
    /// agent's text, which includes the name.
    fn build_tool_call(
        &mut self,
        entry: EntryIx,
        block: &Block,
        rows: Option<&RowOptions>,
        reading: &ReadContext,
    ) -> ToolCall {
        let name = block.name.and_then(Raw::text).unwrap_or_default();
        let arguments = block.arguments.unwrap_or(Raw::NULL);
        let id = block.id.and_then(Raw::text).unwrap_or_default();
        let mut call = ToolCall {
            entry,
            id: self.keep_text(&id),
            name: Slice::default(),
            row: Slice::default(),
            path_range: PathRange::default(),
        };
        // Only the id was requested, to connect calls with their results.
        let Some(rows) = rows else { return call };

        let home = rows.home.as_ref();
        if rows.readable {
            let cwd = reading.cwd;
            let description = readable::describe_call(&name, arguments, Folders { cwd, home });
            call.name = self.keep_text(&name);
            call.row = self.keep_text(&description.text);
            call.path_range = PathRange::new(&description.path);
        } else {
            let row = reading.agent.call_row(&name, arguments, home);
            call.row = self.keep_text(&row);
        }
        call
    }

    /// Stores what the options request besides rows, calls and messages.
    ///
    /// `timestamp` is the text in the line. `time_ms` is its time in milliseconds since 1970, if it
    /// parses.
    fn keep_requested(
        &mut self,
        entry: EntryIx,
        parsed: &ParsedEntry,
        timestamp: &Text,
        time_ms: Option<i64>,
        reading: &ReadContext,
    ) {
        let options = reading.options;
        // The tables of timestamps and of keys have one element per entry, even if it is empty.
        if options.timestamps {
            debug_assert_eq!(self.collected.timestamps.len(), entry.index());
            let stored = self.keep_text(timestamp);
            self.collected.timestamps.push(stored);
        }
        if options.entry_keys {
            debug_assert_eq!(self.collected.keys.len(), entry.index());
            self.collected.keys.push(entry_key(parsed, timestamp));
        }
        if options.usage {
            let prices = options.prices.as_deref();
            let estimator = &mut self.estimator;
            let request = BilledRequest::priced_from_entry(entry, parsed, estimator, prices);
            // Most entries are not responses of a model, and record no request.
            if let Some(request) = request {
                self.collected.billed.push(request);
            }
        }
        if options.stats {
            self.keep_stats(entry, parsed, reading.cwd, options.read_paths);
        }
        if options.file_calls {
            self.keep_file_calls(entry, parsed);
        }
        if !options.search.is_empty() {
            self.keep_matches(entry, parsed, reading);
        }
        if let Some(period) = options.list_stats {
            let list_stats = &mut self.collected.list_stats;
            list_stats.add_entry(entry, parsed, time_ms, period);
        }
    }

    /// Stores which of the searched words an entry contains, and the match to show. A word counts
    /// if it is in a field, or in the text that the agent's own search covers. An entry without any
    /// of the words gets no matches.
    ///
    /// If a word is missing, and the agent has a fuzzy search, the text for that search is stored.
    fn keep_matches(&mut self, entry: EntryIx, parsed: &ParsedEntry, reading: &ReadContext) {
        let words = &reading.options.search;
        let line = Raw::from_checked(parsed.record.bytes);
        let mut matches = words.search_entry(line, parsed.kind, parsed.role);

        if !matches.has_every_word() {
            self.search_agent_text(entry, parsed, reading, &mut matches);
        }
        if matches.has_any_word() {
            self.collected.search_matches.push((entry, matches));
        }
    }

    /// Adds to `matches` the searched words that are in the text that the agent's own search
    /// covers. This text is made only for words that are in none of the fields, because it takes
    /// long.
    fn search_agent_text(
        &mut self,
        entry: EntryIx,
        parsed: &ParsedEntry,
        reading: &ReadContext,
        matches: &mut Matches,
    ) {
        let agent_text = reading.agent.search_text(parsed);
        let words = &reading.options.search;
        words.mark_found(&agent_text.to_string_lossy(), &mut matches.words);

        // The fuzzy search also covers the label, which a later line may set. So the text is
        // stored, and searched when all lines are read.
        let has_missing_word = !matches.has_every_word();
        if has_missing_word && reading.agent.has_fuzzy_search() {
            let text = self.keep_text(&agent_text);
            self.collected.fuzzy_texts.push(EntryText { entry, text });
        }
    }

    /// Stores the facts that only a few kinds of entries have: a label, the name of the session, a
    /// leaf record, the first entry that a compaction keeps, and unknown types and roles.
    fn store_facts_of_kind(&mut self, entry: EntryIx, parsed: &ParsedEntry, timestamp: &Text) {
        let record = parsed.record;
        match parsed.kind {
            Kind::Label => self.keep_label(entry, record, timestamp),
            Kind::SessionInfo => {
                let name = member_text(record, Member::Name);
                self.collected.given_name = Some(name.into_owned());
            }
            Kind::Leaf => {
                let target_id = self.keep_text(&member_text(record, Member::TargetId));
                self.leaf_record = Some(LeafRecord { entry, target_id });
            }
            Kind::Compaction => {
                let compaction = Raw::from_checked(record.bytes);
                let id = compaction.get_text("firstKeptEntryId");
                let text = self.keep_text(&id.unwrap_or_default());
                let first_kept_ids = &mut self.collected.first_kept_ids;
                first_kept_ids.push(EntryText { entry, text });
            }
            // Other kinds have no such fact.
            _ => {}
        }
        self.store_unknown_name(entry, parsed);
    }

    /// Stores the type of an entry, or the role of a message, that no agent of pisess knows: rows
    /// and JSON show it as it is.
    fn store_unknown_name(&mut self, entry: EntryIx, parsed: &ParsedEntry) {
        let record = parsed.record;
        let unknown_name = if parsed.kind == Kind::Other {
            record.kind
        } else if parsed.role == Role::Other {
            record.message.as_ref().and_then(|message| message.role)
        } else {
            None
        };
        if let Some(name) = unknown_name {
            let text = self.keep_text(&name.text());
            self.collected.other_names.push(EntryText { entry, text });
        }
    }

    /// Stores a label, which gives an entry a name, as in
    /// `{"type":"label","targetId":"a1b2c3d4","label":"done"}`. In the draft tree format, the
    /// labelled entry may be given by its record number, and a named head becomes a label.
    fn keep_label(&mut self, entry: EntryIx, record: &Record, timestamp: &Text) {
        if let Some(number) = record.get(Member::TargetId).and_then(Raw::number) {
            // The id of the entry is found when all lines are read. Until then, it is empty below.
            self.numbered_targets.push(NumberedTarget {
                label: entry,
                record: number,
            });
        }
        let name = match record.get(Member::Label).and_then(Raw::text) {
            Some(name) => name,
            None => draft_head_name(Raw::from_checked(record.bytes)).unwrap_or_default(),
        };
        let change = LabelChange {
            entry,
            target: self.keep_text(&member_text(record, Member::TargetId)),
            name: self.keep_text(&name),
            timestamp: self.keep_text(timestamp),
        };
        self.collected.labels.push(change);
    }

    /// Copies a text into the arena, and returns its place there.
    pub fn keep_text(&mut self, text: &Text) -> Slice {
        Slice::append(text.as_bytes(), &mut self.arena)
    }
}

/// Returns the text of a member; empty if it is missing or not a string.
fn member_text<'a>(record: &Record<'a>, member: Member) -> Text<'a> {
    record.get(member).and_then(Raw::text).unwrap_or_default()
}

/// What a line contains.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineContent {
    /// Nothing, or only white space.
    Blank,
    /// One JSON value.
    Value,
    /// A JSON value, and something after it.
    ValueAndMore,
    /// Something that does not begin with a JSON value.
    Malformed,
}

/// Scans the line at the scanner's position, and returns what it contains. The scanner stops in the
/// line, or at its end.
///
/// A value is stored in `record`, which must be empty, and in `blocks`, whose memory is used for
/// one line after another.
#[inline]
fn scan_line<'a>(
    scanner: &mut Scanner<'a>,
    keys: &mut KeyCache<Member>,
    record: &mut Record<'a>,
    blocks: &mut Vec<Block<'a>>,
) -> LineContent {
    if scanner.at_end() {
        LineContent::Blank
    } else if scan_record_into(scanner, keys, record, blocks).is_err() {
        LineContent::Malformed
    } else if scanner.at_end() {
        LineContent::Value
    } else {
        LineContent::ValueAndMore
    }
}

/// Returns the offset of the first newline at or after `from`; `None` if there is none.
#[inline]
fn find_newline(bytes: &[u8], from: usize) -> Option<usize> {
    // Usually, the scanner stopped at the newline.
    if bytes.get(from) == Some(&b'\n') {
        return Some(from);
    }
    memchr(b'\n', &bytes[from..]).map(|distance| from + distance)
}

/// Returns the record number by which an entry of the draft tree format names its parent. A pop, an
/// entry that returns to an earlier one, names that entry in another member. `None` if there is no
/// such member, or if it is not a number.
fn draft_parent_number(kind: Kind, record: &Record) -> Option<f64> {
    let link = if kind == Kind::StackPop {
        Raw::from_checked(record.bytes).get("backToIndex")
    } else {
        record.get(Member::Parent)
    };
    link.and_then(Raw::number)
}

/// Returns the kind that migration gives an entry. In the draft tree format, summaries and pops
/// become branch summaries, named heads become labels, and other heads become `custom` entries.
fn migrated_kind(kind: Kind, record: &Record) -> Kind {
    match kind {
        Kind::StackSummary | Kind::StackPop => Kind::BranchSummary,
        Kind::Head => match draft_head_name(Raw::from_checked(record.bytes)) {
            Some(_) => Kind::Label,
            None => Kind::Custom,
        },
        other => other,
    }
}

/// The minimum length, in bytes, of a row in which a text was cut. The agents cut texts in rows
/// after 80 or more UTF-16 units, each of which takes at least one byte.
const SHORTEST_CUT_ROW: usize = 80;

/// Appends the row of an entry to `buffer`, and returns its shape.
///
/// The agents cut a long text after a number of UTF-16 units, which may divide a character, and do
/// not mark the cut. Rows in the agent's own form stay exactly so. In rows for people (`readable`),
/// half a character is removed, and [`CUT_MARK`] follows the start of a longer message.
fn append_row(
    parsed: &ParsedEntry,
    rows: &RowOptions,
    agent: &dyn Agent,
    buffer: &mut Vec<u8>,
) -> RowShape {
    if !rows.readable {
        return agent.push_row(parsed, buffer);
    }
    let row_start = buffer.len();
    if let Some(text) = readable::readable_row(parsed) {
        // pisess words this row itself, so it is not the start of a message, and gets no mark here.
        // It may quote a text that was cut.
        let shape = text.append_to(buffer);
        drop_divided_character(buffer, row_start);
        return shape;
    }

    let shape = agent.push_row(parsed, buffer);
    drop_divided_character(buffer, row_start);
    let row_len = buffer.len() - row_start;
    if is_message_cut(parsed, row_len) {
        buffer.extend_from_slice(CUT_MARK.as_bytes());
    }
    shape
}

/// Removes half a character at the end of the row that begins at `row_start`: the first half of a
/// surrogate pair, which remains if a text is cut within the pair. A [`CUT_MARK`] after it stays.
fn drop_divided_character(buffer: &mut Vec<u8>, row_start: usize) {
    let row_len = buffer.len() - row_start;
    if row_len < SHORTEST_CUT_ROW {
        return; // Nothing was cut.
    }
    let is_marked = buffer.ends_with(CUT_MARK.as_bytes());
    if is_marked {
        buffer.truncate(buffer.len() - CUT_MARK.len());
    }
    drop_high_surrogate(buffer);
    if is_marked {
        buffer.extend_from_slice(CUT_MARK.as_bytes());
    }
}

/// Whether the row of an entry, which has `row_len` bytes, is only the start of a message of the
/// user or the model.
///
/// Measuring a message takes long, so short rows are ruled out first. A message is cut after
/// `ROW_UNITS` units, each of which takes at least one byte, so its row has at least as many bytes.
/// If white space at the start was trimmed, the row of a cut message may be shorter; this is then
/// false.
fn is_message_cut(parsed: &ParsedEntry, row_len: usize) -> bool {
    let is_message =
        parsed.kind == Kind::Message && matches!(parsed.role, Role::User | Role::Assistant);
    if !is_message || row_len < ROW_UNITS {
        return false;
    }
    match &parsed.record.message {
        Some(message) => exceeds_row(message, parsed.blocks),
        None => false,
    }
}

/// Returns the range of the message within its line, in bytes. It is empty if the line has no
/// message, or if an offset does not fit into 32 bits. `record` must have been scanned from `line`.
fn message_range(line: &[u8], record: &Record) -> Range<u32> {
    let Some(message) = record.message else {
        return 0..0;
    };
    // The scanner copies nothing: the bytes of the message are a part of the line.
    let range = range_in(message.bytes, line);
    match (u32::try_from(range.start), u32::try_from(range.end)) {
        (Ok(start), Ok(end)) => start..end,
        _ => 0..0,
    }
}
