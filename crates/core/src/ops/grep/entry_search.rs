//! Searches one entry, or the title of a session: decides whether the query includes it, and finds
//! its first match.

use super::call_events::CallEvents;
use super::query::{Match, MatchTexts, Query, TITLE_ROLE, TOOL_CALL_ROLE};
use super::search::{ChunkState, FileSearch};
use super::tool::{
    CallSearch, ChunkLine, KnownCalls, ToolUse, find_call, includes_tool, is_replaced_text,
};
use crate::agents::readable::Folders;
use crate::load::{LoadError, count_images, ending, message_role};
use crate::session::Format;
use crate::session::entry::{Ending, Entry, EntryIx, Kind, LineNo, Role};
use crate::session::fields::{Field, FieldScope, visit_fields};
use crate::session::period::Period;
use crate::session::read::entry_reader::EntryReader;
use crate::session::read::record::{
    Block, Content, Member, ParsedEntry, Record, new_key_cache, scan_record_into,
};
use crate::session::search::Hit;
use pisess_json::text::Text;
use pisess_json::time::parse_js_date;
use pisess_json::{Raw, Scanner};
use std::io;
use std::ops::{ControlFlow, Range};

impl FileSearch<'_> {
    /// Searches the title of the session, which is in oh-my-pi's title line or else in the header.
    /// A match has the role `title` and the line of the title.
    pub(super) fn find_in_title(&self) -> Option<Match> {
        // Each of these options restricts the search to entries, and the title is not one.
        let is_excluded = self.query.entries.only_active
            || self.query.entries.only_entries
            || self.query.entries.only_failed
            || self.query.entries.only_images
            || !self.query.entries.tool_names.is_empty();
        if is_excluded {
            return None;
        }

        let (line, json) = match &self.preamble.title_slot {
            Some(slot) => (LineNo(1), slot.trim_ascii()),
            None => (
                LineNo(self.preamble.line_count),
                &*self.preamble.header.bytes,
            ),
        };
        let json = Raw::from_checked(json);
        let role = Text::from(TITLE_ROLE);
        let timestamp = json
            .get_text("updatedAt")
            .or_else(|| json.get_text("timestamp"))
            .map(Text::into_owned);
        if !self.has_wanted_role_and_time(Role::Missing, &role, timestamp.as_ref()) {
            return None;
        }

        let title = json.get_text("title")?;
        let matched = self.query.pattern.find(title.as_bytes());
        // In an inverted search, there is no matching part to show.
        let range = if self.query.inverted {
            if matched.is_some() {
                return None;
            }
            0..0
        } else {
            matched?
        };
        let hit = self.build_hit("title".to_owned(), &title, range);
        let mut texts = MatchTexts::default();
        self.add_field_text(&title, &mut texts);
        Some(Match {
            line,
            id: Text::default(),
            role,
            timestamp,
            hit,
            tool: None,
            continuation: None,
            ending: None,
            image_count: 0,
            is_active: None,
            texts,
            label_target: None,
            labelled: None,
        })
    }

    /// Searches the entry in a record. Returns its first match or, in an inverted search, a match
    /// if nothing in the entry matches. `line` is the line of the entry, and `state` has the blocks
    /// of its message.
    pub(super) fn search_record(
        &mut self,
        record: &Record,
        state: &ChunkState,
        line: ChunkLine,
    ) -> Result<Option<Match>, LoadError> {
        let is_header = record.kind.is_some_and(|kind| kind.is("session"));
        if !record.is_object || is_header {
            return Ok(None);
        }

        let kind = Kind::from_string(record.kind);
        let role = message_role(kind, record, self.preamble.format);
        let entry = ParsedEntry {
            kind,
            role,
            record,
            blocks: &state.blocks,
        };
        let role_name = role_name(&entry);
        let timestamp = record.timestamp.map(|text| text.text());
        let has_wanted_time = self.has_wanted_role_and_time(role, &role_name, timestamp.as_ref());
        if !has_wanted_time || !self.is_selected(&entry) {
            return Ok(None);
        }
        let mut found = self.find_hit(&entry);
        let mut call_text = None;
        // With --failed, a row is of the result, which also represents its call.
        let may_decide = found.is_some() == self.query.inverted;
        if may_decide && self.query.entries.only_failed {
            call_text = self.find_in_call(&entry, &state.calls, line)?;
            if call_text.is_some() {
                found = (!self.query.inverted).then(|| self.hit_in_output(&entry));
            }
        }
        let Some(hit) = found else {
            return Ok(None);
        };

        let line_no = if self.query.needs_lines() {
            self.lines.number_of(line, self.source)?
        } else {
            LineNo(0)
        };
        let tool = self.find_tool(&entry, &hit, &state.calls, line)?;
        let mut ending = ending(&entry);
        // The calls of a reply that was aborted have its mark. pi runs none of them, so the search
        // for their results would go on for a long way.
        if ending.is_none() && self.is_in_failed_call(&entry, &hit, line)? {
            ending = Some(Ending::Failed);
        }
        let mut texts = self.collect_texts(&entry);
        if let Some(text) = call_text {
            self.add_matches(&text, &mut texts);
        }
        let id = record.id.map(|text| text.text()).unwrap_or_default();
        Ok(Some(Match {
            line: line_no,
            id: id.into_owned(),
            role: role_name.into_owned(),
            timestamp: timestamp.map(Text::into_owned),
            hit,
            tool,
            continuation: None,
            ending,
            image_count: self.count_wanted_images(&entry),
            is_active: None,
            texts,
            label_target: label_target(&entry),
            labelled: None,
        }))
    }

    /// Whether an entry passes the filters of the query other than roles and the period: failures,
    /// images and tools.
    fn is_selected(&self, entry: &ParsedEntry) -> bool {
        if self.query.entries.only_failed && ending(entry).is_none() {
            return false;
        }
        if self.query.entries.only_images && count_images(entry) == 0 {
            return false;
        }
        self.is_of_wanted_tool(entry)
    }

    /// Returns the number of images of an entry; 0 unless the query selects entries with images.
    fn count_wanted_images(&self, entry: &ParsedEntry) -> usize {
        if self.query.entries.only_images {
            count_images(entry)
        } else {
            0
        }
    }

    /// Returns the first match in an entry; in an inverted search, a hit if nothing matches.
    fn find_hit(&self, entry: &ParsedEntry) -> Option<Hit> {
        if !self.is_certain_match(entry) {
            return self.find_in_fields(entry);
        }
        if self.query.inverted {
            None
        } else {
            Some(empty_hit())
        }
    }

    /// Returns the tool to which a match belongs, if the query reports tools; `None` if it belongs
    /// to none. A match in a tool result or in a tool call belongs to that tool. A match in a
    /// command that the user ran belongs to the tool that executed it.
    ///
    /// A result contains the name of its tool, but not the arguments, which are in an earlier call.
    /// That call is searched for in `calls`, the calls on the lines that were read last, and then
    /// in the file before `line`, the line of the entry.
    fn find_tool(
        &mut self,
        entry: &ParsedEntry,
        hit: &Hit,
        calls: &KnownCalls,
        line: ChunkLine,
    ) -> io::Result<Option<ToolUse>> {
        let Some(options) = &self.query.details.tools else {
            return Ok(None);
        };
        let Some(message) = &entry.record.message else {
            return Ok(None);
        };
        let folders = Folders {
            cwd: self.preamble.header.cwd.as_ref(),
            home: options.home.as_ref(),
        };
        match entry.role {
            Role::Assistant => {
                let call = find_call(&hit.field, entry.blocks);
                Ok(call.map(|call| ToolUse::from_call(call, folders)))
            }
            Role::ToolResult => {
                let mut search = CallSearch {
                    source: self.source,
                    keys: &mut self.keys,
                    folders,
                    keeps_arguments: options.call_arguments,
                };
                let tool = search.find_tool(message, calls, line)?;
                Ok(Some(tool))
            }
            Role::BashExecution | Role::PythonExecution => {
                Ok(Some(ToolUse::from_execution(message, folders)))
            }
            _ => Ok(None),
        }
    }

    /// Whether a match is in a tool call that failed. The result of the call records the failure,
    /// so it is searched for behind `line`, the line of the call.
    fn is_in_failed_call(
        &mut self,
        entry: &ParsedEntry,
        hit: &Hit,
        line: ChunkLine,
    ) -> io::Result<bool> {
        let call = find_call(&hit.field, entry.blocks);
        let Some(id) = call.and_then(|call| call.id) else {
            return Ok(false);
        };
        // What was read behind an earlier call of the chunk is not read again.
        let events = match &mut self.call_events {
            Some(events) if events.are_of(line.chunk) => events,
            other => other.insert(CallEvents::new(self.source, line.chunk)),
        };
        events.has_call_failed(self.source, &mut self.keys, id, line)
    }

    /// Searches the call of a tool result: its subject, alone and behind its tool as rows show it,
    /// and then its arguments. Returns the text that matches. `None` for any other entry.
    fn find_in_call(
        &mut self,
        entry: &ParsedEntry,
        calls: &KnownCalls,
        line: ChunkLine,
    ) -> io::Result<Option<String>> {
        let Some(result) = &entry.record.message else {
            return Ok(None);
        };
        if entry.role != Role::ToolResult {
            return Ok(None);
        }
        // As the row shows the call: below the user's home, a path begins with `~`.
        let tool_options = self.query.details.tools.as_ref();
        let folders = Folders {
            cwd: self.preamble.header.cwd.as_ref(),
            home: tool_options.and_then(|options| options.home.as_ref()),
        };
        let mut search = CallSearch {
            source: self.source,
            keys: &mut self.keys,
            folders,
            keeps_arguments: true,
        };
        let tool = search.find_tool(result, calls, line)?;
        let heading = format!("{} {}", tool.name, tool.subject);
        let subject = tool.subject.into_string_lossy();
        let arguments = tool.arguments.into_string_lossy();
        for text in [subject, heading, arguments] {
            if self.query.pattern.find(text.as_bytes()).is_some() {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    /// Returns a hit in the output of a failed tool, at the line that reports the failure.
    fn hit_in_output(&self, entry: &ParsedEntry) -> Hit {
        let mut hit = empty_hit();
        // The visit breaks at the first text, which is then in `hit`.
        let _ = visit_fields(
            Raw::from_checked(entry.record.bytes),
            entry.kind,
            entry.role,
            FieldScope::Meaningful,
            &mut |field| {
                let text = field.text();
                if text.is_empty() || is_tool_name(&field.path()) {
                    return ControlFlow::Continue(());
                }
                hit = self.build_hit(field.path(), &text, 0..0);
                ControlFlow::Break(())
            },
        );
        hit
    }

    /// Whether the query includes entries with this role and this timestamp. `role_name` is the
    /// name of the role or, for an entry that is not a message, its type.
    fn has_wanted_role_and_time(
        &self,
        role: Role,
        role_name: &Text,
        timestamp: Option<&Text>,
    ) -> bool {
        if !self.is_wanted_role(role, role_name) {
            return false;
        }
        // The default period includes all times, so no timestamp has to be parsed.
        let period = &self.query.entries.period;
        if *period == Period::default() {
            return true;
        }
        // Without a valid time, an entry counts as older than any other.
        let time_ms = timestamp.and_then(|time| parse_js_date(time.as_bytes()));
        period.contains(time_ms.unwrap_or(Entry::NO_TIME))
    }

    /// Whether the query includes entries with this role. If it names no role, it includes all.
    fn is_wanted_role(&self, role: Role, role_name: &Text) -> bool {
        let wanted_roles = &self.query.entries.roles;
        if wanted_roles.is_empty() {
            return true;
        }
        wanted_roles.iter().any(|wanted| {
            // A tool call is not an entry: it is in a reply of the model.
            let is_caller = wanted == TOOL_CALL_ROLE && role == Role::Assistant;
            is_caller || wanted.as_bytes() == role_name.as_bytes()
        })
    }

    /// Whether an entry is a result of one of the tools to which the query is limited, or a reply
    /// that calls one of them. If the query names no tool, all entries pass.
    fn is_of_wanted_tool(&self, entry: &ParsedEntry) -> bool {
        if self.query.entries.tool_names.is_empty() {
            return true;
        }
        match entry.role {
            Role::Assistant => {
                let mut blocks = entry.blocks.iter();
                blocks.any(|block| is_wanted_call(self.query, block))
            }
            Role::ToolResult => {
                let Some(message) = &entry.record.message else {
                    return false;
                };
                let tool_name = message.get(Member::ToolName);
                tool_name.is_some_and(|name| is_wanted_tool(self.query, name))
            }
            _ => false,
        }
    }

    /// Whether the JSON of a message, without decoding it, already shows that the entry matches, so
    /// that its fields need not be visited. Always false if snippets are returned, because they
    /// need the decoded text. False does not mean that there is no match.
    fn is_certain_match(&self, entry: &ParsedEntry) -> bool {
        if self.query.details.snippets.is_some()
            || entry.kind != Kind::Message
            || searched_fields(self.query, entry) != SearchedFields::All
        {
            return false;
        }
        // The prefilter searches JSON strings. Of a pattern that is a literal, it also knows when a
        // text must match.
        let Some(prefilter) = self.query.pattern.prefilter() else {
            return false;
        };
        let Some(message) = &entry.record.message else {
            return false;
        };

        if let Content::Text(text) = message.content
            && prefilter.must_match(text.bytes)
        {
            return true;
        }
        for block in entry.blocks {
            let text = block.text.and_then(|text| text.raw_string());
            if text.is_some_and(|text| prefilter.must_match(text)) {
                return true;
            }
        }
        false
    }

    /// Searches the fields of an entry, and returns the match to show; in an inverted search, the
    /// hit of an entry in which nothing matches.
    fn find_in_fields(&self, entry: &ParsedEntry) -> Option<Hit> {
        let mut fields = FieldSearch {
            search: self,
            searched: searched_fields(self.query, entry),
            found: None,
            found_replaced_text: false,
            first_text: None,
        };
        // The hits are in `fields` afterwards. Whether the visit broke early says no more.
        let _ = visit_fields(
            Raw::from_checked(entry.record.bytes),
            entry.kind,
            entry.role,
            self.query.scope,
            &mut |field| fields.search_field(field),
        );

        if self.query.inverted {
            fields.inverted_hit()
        } else {
            fields.found
        }
    }

    /// Returns the texts of a matching entry that the query requests: the whole text that was
    /// searched, every match in it, both, or neither.
    fn collect_texts(&self, entry: &ParsedEntry) -> MatchTexts {
        let mut texts = MatchTexts::default();
        let wanted = self.query.details.texts;
        if !wanted.whole && !wanted.every_match {
            return texts;
        }
        let searched = searched_fields(self.query, entry);
        // The visit never breaks, so its result says nothing.
        let _ = visit_fields(
            Raw::from_checked(entry.record.bytes),
            entry.kind,
            entry.role,
            self.query.scope,
            &mut |field| {
                if searched.contains(field) {
                    self.add_field_text(&field.text(), &mut texts);
                }
                ControlFlow::Continue(())
            },
        );
        texts
    }

    /// Adds the text of a field to the texts of an entry that the query requests, which may be both
    /// of these: the whole text, in which each field begins on a new line, and the list of every
    /// match that is not empty.
    fn add_field_text(&self, text: &Text, texts: &mut MatchTexts) {
        let shown = text.to_string_lossy();
        if self.query.details.texts.whole && !shown.is_empty() {
            push_field_text(&shown, texts.whole.get_or_insert_default());
        }
        self.add_matches(&shown, texts);
    }

    /// Adds the matches in a text that are not empty, if the query requests every match.
    fn add_matches(&self, text: &str, texts: &mut MatchTexts) {
        if !self.query.details.texts.every_match {
            return;
        }
        for matched in self.query.pattern.find_all(text.as_bytes()) {
            let matched = extend_to_characters(text, matched);
            if !matched.is_empty() {
                texts.every_match.push(text[matched].to_owned());
            }
        }
    }

    /// Returns the first match in a field. The text is not decoded if the prefilter shows that it
    /// cannot match, or that it must match and no snippet is needed.
    fn find_in_field(&self, field: &Field) -> Option<Hit> {
        let raw = field.raw();
        if let Some(prefilter) = self.query.pattern.prefilter() {
            if self.query.details.snippets.is_none() && prefilter.must_match(raw) {
                return Some(empty_hit());
            }
            if !prefilter.may_match(raw) {
                return None;
            }
        }
        let text = field.text();
        let matched = self.query.pattern.find(text.as_bytes())?;
        Some(self.build_hit(field.path(), &text, matched))
    }

    /// Returns a hit, which shows the matched range of a field's text with the text around it. An
    /// empty hit if no snippets are returned. `field` is the path of the field, such as
    /// `message.content[0].text`.
    fn build_hit(&self, field: String, text: &Text, matched: Range<usize>) -> Hit {
        let Some(size) = self.query.details.snippets else {
            return empty_hit();
        };
        // Lone surrogates become U+FFFD, which has the same number of bytes, so offsets stay valid.
        let shown = text.to_string_lossy();
        let mut matched = extend_to_characters(&shown, matched);
        // An empty match is at the start of the text. In a search for failures, the line that
        // reports the failure is shown instead.
        if self.query.entries.only_failed && matched.is_empty() {
            let start = find_failing_line(&shown);
            matched = start..start;
        }
        Hit::new(field, &shown, matched, size)
    }
}

/// Whether a block is a call of a tool that the query names.
fn is_wanted_call(query: &Query, block: &Block) -> bool {
    block.is_call() && block.name.is_some_and(|name| is_wanted_tool(query, name))
}

fn is_wanted_tool(query: &Query, name: Raw) -> bool {
    let Some(name) = name.text() else {
        return false;
    };
    let wanted_names = &query.entries.tool_names;
    wanted_names
        .iter()
        .any(|wanted| includes_tool(wanted, &name))
}

/// Returns the fields of an entry to search. All are searched, except in a reply: its text is left
/// out if the query is limited to certain tools or to tool calls.
fn searched_fields(query: &Query, entry: &ParsedEntry) -> SearchedFields {
    if entry.role != Role::Assistant {
        return SearchedFields::All;
    }
    if !query.entries.tool_names.is_empty() {
        let mut call_indexes = Vec::new();
        for block in entry.blocks {
            if is_wanted_call(query, block) {
                call_indexes.push(block.index);
            }
        }
        return SearchedFields::OfSomeCalls(call_indexes);
    }
    // With the role `toolCall` alone, only the tool calls of a reply are searched.
    let roles = &query.entries.roles;
    let has_role_of_replies = roles
        .iter()
        .any(|role| Some(&**role) == Role::Assistant.name());
    if roles.is_empty() || has_role_of_replies {
        SearchedFields::All
    } else {
        SearchedFields::OfCalls
    }
}

/// Returns the whole text of an entry, each field on a new line.
pub fn read_whole_text(reader: &EntryReader, ix: EntryIx, scope: FieldScope) -> io::Result<String> {
    let entry = reader.session().entry(ix);
    reader.with_entry(ix, |line| {
        join_fields(line, entry.kind, entry.role, scope, &SearchedFields::All)
    })
}

/// Returns the whole text of an entry that matches, as the search has it in [`MatchTexts::whole`]:
/// only the fields that were searched. They are read as they are in the file, not as migrated:
/// `--raw` may have found what migration changes, such as the role `hookMessage`.
pub fn read_searched_text(
    reader: &EntryReader,
    ix: EntryIx,
    query: &Query,
) -> io::Result<Option<String>> {
    let session = reader.session();
    let whole = reader.with_stored(session.entry(ix).span, |line| {
        let line = Raw::from_checked(line.trim_ascii());
        join_searched_fields(line, query, session.format)
    })?;
    if whole.is_empty() {
        return Ok(None);
    }
    Ok(Some(whole))
}

/// Returns the text of the searched fields in the line of an entry, each on a new line.
fn join_searched_fields(line: Raw, query: &Query, format: Format) -> String {
    let mut record = Record::default();
    let mut blocks = Vec::new();
    let mut scanner = Scanner::new(line.bytes());
    // The line of an entry is JSON, so this cannot fail.
    let _ = scan_record_into(&mut scanner, &mut new_key_cache(), &mut record, &mut blocks);

    let kind = Kind::from_string(record.kind);
    let role = message_role(kind, &record, format);
    let entry = ParsedEntry {
        kind,
        role,
        record: &record,
        blocks: &blocks,
    };
    let searched = searched_fields(query, &entry);
    join_fields(line, kind, role, query.scope, &searched)
}

/// Returns the text of some fields of an entry, each on a new line.
fn join_fields(
    line: Raw,
    kind: Kind,
    role: Role,
    scope: FieldScope,
    wanted: &SearchedFields,
) -> String {
    let mut whole = String::new();
    // The visit never breaks, so its result says nothing.
    let _ = visit_fields(line, kind, role, scope, &mut |field| {
        if wanted.contains(field) {
            push_field_text(&field.text().to_string_lossy(), &mut whole);
        }
        ControlFlow::Continue(())
    });
    whole
}

/// Appends the text of a field to the text of an entry, on a new line.
fn push_field_text(text: &str, whole: &mut String) {
    if !text.is_empty() && !whole.is_empty() && !whole.ends_with('\n') {
        whole.push('\n');
    }
    whole.push_str(text);
}

/// The path of the field with the name of a result's tool.
const TOOL_NAME_PATH: &str = "message.toolName";

/// Whether the field at a path is the name of a tool, in a result or in a call, as in
/// `message.content[2].name`.
fn is_tool_name(path: &str) -> bool {
    let in_block = path
        .strip_prefix("message.content[")
        .and_then(|from_index| from_index.split_once(']'));
    let is_name_in_call = in_block.is_some_and(|(_index, field)| field == ".name");
    path == TOOL_NAME_PATH || is_name_in_call
}

/// The words by which a line that reports a failure is recognized, in lower case.
const FAILURE_WORDS: [&str; 4] = ["error", "failed", "panicked", "fatal"];

/// Returns the offset of the first line that reports a failure; 0 if there is none.
fn find_failing_line(text: &str) -> usize {
    let mut start = 0;
    for line in text.split_inclusive('\n') {
        let lowercase = line.to_lowercase();
        if FAILURE_WORDS.iter().any(|word| lowercase.contains(word)) {
            return start;
        }
        start += line.len();
    }
    0
}

/// The fields of an entry to search.
#[derive(Debug, PartialEq, Eq)]
enum SearchedFields {
    All,
    /// The fields of all tool calls in the entry.
    OfCalls,
    /// The fields of the tool calls in the blocks with these indexes.
    OfSomeCalls(Vec<u32>),
}

impl SearchedFields {
    /// Whether a field of the entry is to be searched.
    fn contains(&self, field: &Field) -> bool {
        match self {
            SearchedFields::All => true,
            SearchedFields::OfCalls => field.is_of_call(),
            SearchedFields::OfSomeCalls(calls) => field
                .call_index()
                .is_some_and(|index| calls.contains(&index)),
        }
    }
}

/// A search of the fields of one entry.
struct FieldSearch<'a, 's> {
    search: &'a FileSearch<'s>,
    searched: SearchedFields,
    /// The match to show, of those found so far: see [`HitRank`].
    found: Option<Hit>,
    /// Whether a match in a text that an edit replaces was found.
    found_replaced_text: bool,
    /// In an inverted search, the first text that is not empty.
    first_text: Option<Hit>,
}

/// Whether a match is shown if later fields of the entry match as well.
enum HitRank {
    /// It is shown, and the search of the entry ends.
    Best,
    /// It is in the name of a tool, which comes before the texts of the tool: each later match
    /// takes its place.
    ToolName,
    /// It is in a text that an edit replaces: `edit fill.py: BEAM = 8` would read as if the edit
    /// wrote `BEAM = 8`. The first of these is shown, unless a later match has another rank.
    ReplacedText,
}

impl FieldSearch<'_, '_> {
    /// Searches the next field, and stores a match in `self.found`. In an inverted search, also
    /// stores the first text. Breaks if no later field can change the result.
    fn search_field(&mut self, field: &Field) -> ControlFlow<()> {
        if !self.searched.contains(field) {
            return ControlFlow::Continue(());
        }
        if self.search.query.inverted && self.first_text.is_none() {
            self.first_text = self.hit_at_start(field);
        }
        let Some(hit) = self.search.find_in_field(field) else {
            return ControlFlow::Continue(());
        };
        match self.rank_hit(field, &hit) {
            HitRank::Best => {
                self.found = Some(hit);
                ControlFlow::Break(())
            }
            HitRank::ToolName => {
                self.found = Some(hit);
                ControlFlow::Continue(())
            }
            HitRank::ReplacedText => {
                if !self.found_replaced_text {
                    self.found_replaced_text = true;
                    self.found = Some(hit);
                }
                ControlFlow::Continue(())
            }
        }
    }

    /// Returns whether a match in a field is shown even if a later field matches, too.
    fn rank_hit(&self, field: &Field, hit: &Hit) -> HitRank {
        // Without a snippet, `hit.field` is empty: any match will do.
        if is_replaced_text(&hit.field) {
            return HitRank::ReplacedText;
        }
        // A search for failures or of certain tools is a search for what the tool did.
        let entries = &self.search.query.entries;
        let prefers_text = entries.only_failed || !entries.tool_names.is_empty();
        if prefers_text && is_tool_name(&field.path()) {
            return HitRank::ToolName;
        }
        HitRank::Best
    }

    /// Returns the hit of the entry in an inverted search; `None` if something matches.
    fn inverted_hit(self) -> Option<Hit> {
        if self.found.is_some() {
            return None;
        }
        // An entry without text has no match either, so it is returned. If only tool calls are
        // searched, an entry without text may just lack such a call, so it is not.
        if self.first_text.is_none() && self.searched == SearchedFields::All {
            return Some(empty_hit());
        }
        self.first_text
    }

    /// Returns a hit at the start of a field, which an inverted search shows; `None` if the field
    /// is empty.
    fn hit_at_start(&self, field: &Field) -> Option<Hit> {
        let text = field.text();
        if text.is_empty() {
            return None;
        }
        Some(self.search.build_hit(field.path(), &text, 0..0))
    }
}

/// Returns a hit without a position and a snippet, for queries that request neither.
fn empty_hit() -> Hit {
    Hit::default()
}

/// Returns the id of the entry that a label entry labels. `None` for any other entry, and for a
/// label without a target or of itself.
fn label_target(entry: &ParsedEntry) -> Option<Text<'static>> {
    if entry.kind != Kind::Label {
        return None;
    }
    let target = entry.record.get(Member::TargetId)?.text()?;
    let is_itself = entry.record.id.is_some_and(|id| id.text() == target);
    if target.is_empty() || is_itself {
        return None;
    }
    Some(target.into_owned())
}

/// Extends a range to whole characters of the text. A match can begin or end within a character if
/// the pattern contains `(?-u)`, or if the match is empty.
fn extend_to_characters(text: &str, range: Range<usize>) -> Range<usize> {
    let mut start = range.start;
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    let mut end = range.end;
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}

/// Returns the name by which a query selects an entry: the role of its message (`user`) or, for an
/// entry without a message, its type (`compaction`).
fn role_name<'a>(entry: &ParsedEntry<'a>) -> Text<'a> {
    let stored_name = match entry.role {
        Role::Missing => entry.record.kind,
        // A role that pisess does not know.
        Role::Other => entry.record.message.and_then(|message| message.role),
        known => return Text::from(known.name().unwrap_or_default()),
    };
    match stored_name {
        Some(name) => name.text(),
        None => Text::default(),
    }
}
