//! A loaded session: its header, its entries, and the problems found.
//!
//! After the header, no line makes loading ([`crate::load`]) fail. Defects are listed in
//! [`Session::problems`], and each command decides which of them stop it. Older formats are
//! presented as if migrated: every entry has an id and a parent.

pub mod blobs;
pub mod defect;
pub mod dialect;
pub mod paths;
pub mod schema;

pub(crate) mod column;
pub mod entry;
pub mod fields;
pub mod file_calls;
pub mod file_patch;
pub mod period;
pub mod prefilter;
pub mod search;

pub mod index;
pub mod list_stats;

pub mod codex_shell;
pub mod command_prompt;
pub mod content;
pub mod envelope;
pub mod forwarded;
pub mod outcome;

pub mod conversation;
pub mod copied_turns;
pub mod labels;
pub mod prefixes;
pub mod range;
pub mod reference;
pub mod tree;

pub mod read;

pub mod usage;

pub mod collected;
pub mod name;

pub mod migrate;

#[cfg(test)]
pub(crate) mod dice;
#[cfg(all(test, unix))]
pub(crate) mod thread_time;

use crate::session::collected::{Collected, EntryText, renumber};
pub use crate::session::column::RowParts;
use crate::session::defect::FindingKind;
use crate::session::dialect::Dialect;
use crate::session::entry::{Entry, EntryIx, Kind, LineNo, Role, Slice, Span};
use crate::session::file_calls::FileCall;
use crate::session::index::IdIndex;
use crate::session::range::EntryRange;
use crate::session::search::Matches;
use crate::session::usage::{BilledRequest, Usage, UsageSums};
use pisess_json::text::Text;
use pisess_json::time::parse_js_date;
use std::sync::Arc;

/// How a file stores its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Version 1: linear, without ids.
    V1,
    /// The draft tree format: a proposal before version 2, with record numbers in place of ids.
    Draft,
    /// Version 2: a tree. Messages of extensions have the role `hookMessage` in place of `custom`.
    V2,
    /// Version 3: the current version of both agents.
    V3,
}

/// The header line.
#[derive(Clone, Debug)]
pub struct Header {
    /// The location of the header's object in the file.
    pub span: Span,
    /// The physical line.
    pub line: LineNo,
    /// The object's bytes.
    pub bytes: Vec<u8>,
    /// The session's id.
    pub id: Text<'static>,
    /// The working directory of the session.
    pub cwd: Option<Text<'static>>,
    /// The time at which it was started, as stored.
    pub timestamp: Option<Text<'static>>,
}

impl Header {
    /// Returns the time at which the session was started, in milliseconds since 1970.
    pub fn started_ms(&self) -> Option<i64> {
        parse_js_date(self.timestamp.as_ref()?.as_bytes())
    }
}

/// A problem at a line of the file that did not stop loading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The physical line.
    pub line: LineNo,
    /// The kind.
    pub kind: FindingKind,
}
renumber!(Problem { line } keeps { kind });

/// The requests of a session to count.
#[derive(Clone, Copy, Debug)]
pub enum RequestScope {
    /// The requests on all branches.
    AllBranches,
    /// The requests of the entries in a range.
    Range(EntryRange),
}

/// A session in memory.
#[derive(Debug)]
pub struct Session {
    /// The header.
    pub header: Header,
    /// The title line of oh-my-pi without its newline, if the file has one.
    pub title_slot: Option<Vec<u8>>,
    /// How the file stores its tree.
    pub format: Format,
    /// The agent it belongs to.
    pub dialect: Dialect,
    /// The leaf; `None` before the first entry.
    pub leaf: Option<EntryIx>,
    /// The problems of the file, in file order.
    pub problems: Vec<Problem>,
    /// What was collected from the lines of the file besides its entries.
    pub collected: Collected,
    /// The length of the file in bytes.
    pub file_len: u64,
    /// Whether the last line has its newline.
    pub ends_with_newline: bool,
    /// The entries in file order.
    pub entries: Vec<Entry>,
    /// The number of physical lines.
    pub line_count: u32,
    /// The number of records that parse, including the header.
    pub record_count: u32,
    /// If the session was converted from another file: for each line, the number of the line of
    /// that file that it was made from.
    pub original_lines: Option<Arc<[u32]>>,
    pub(super) arena: Vec<u8>,
    /// The stored `parentId` of entries that became roots, in file order. An entry becomes a root
    /// if no entry has that id, or if the link was cut because it closed a cycle.
    pub(super) dangling: Vec<EntryText>,
    pub(super) ids: IdIndex,
}

impl Session {
    /// Returns the tokens and cost of the request that an entry records. `None` if it records none,
    /// or if usage was not requested when the session was loaded.
    pub fn usage_of(&self, ix: EntryIx) -> Option<&Usage> {
        let index = self
            .collected
            .billed
            .binary_search_by_key(&ix, |request| request.entry)
            .ok()?;
        Some(&self.collected.billed[index].usage)
    }

    /// Returns the requests to models that the entries in a scope record, in file order; none if
    /// usage was not requested when the session was loaded.
    pub fn requests(&self, scope: RequestScope) -> Vec<&BilledRequest> {
        let billed = self.collected.billed.iter();
        match scope {
            RequestScope::AllBranches => billed.collect(),
            RequestScope::Range(range) => {
                let is_in_range = range.mask(self);
                billed
                    .filter(|request| is_in_range[request.entry.index()])
                    .collect()
            }
        }
    }

    /// Returns the sum of all requests on all branches; zeros if usage was not requested when the
    /// session was loaded.
    pub fn total_usage(&self) -> UsageSums {
        self.collected
            .billed
            .iter()
            .map(|request| &request.usage)
            .collect()
    }

    /// Returns the entry with this index.
    pub fn entry(&self, ix: EntryIx) -> &Entry {
        &self.entries[ix.index()]
    }

    /// Returns the string of a slice.
    pub fn text(&self, slice: Slice) -> Text<'_> {
        Text::from_wtf8(&self.arena[slice.range()])
    }

    /// Returns the bytes (WTF-8) of the string of a slice.
    pub fn bytes(&self, slice: Slice) -> &[u8] {
        &self.arena[slice.range()]
    }

    /// Returns the id of an entry; empty if it has none.
    pub fn id(&self, ix: EntryIx) -> Text<'_> {
        self.text(self.entry(ix).id)
    }

    /// Returns the entry with this id; if there are several, the last, as in both agents. `None` if
    /// there is none.
    pub fn find_entry(&self, id: &Text) -> Option<EntryIx> {
        self.ids
            .get(id.as_bytes(), |ix| self.bytes(self.entry(ix).id))
    }

    /// Returns the indexes of all entries, in file order.
    pub fn entry_indexes(
        &self,
    ) -> impl DoubleEndedIterator<Item = EntryIx> + ExactSizeIterator + use<> {
        (0..self.entries.len()).map(EntryIx::new)
    }

    /// Returns the entry on a physical line.
    pub fn entry_on_line(&self, line: LineNo) -> Option<EntryIx> {
        self.entries
            .binary_search_by_key(&line, |entry| entry.line)
            .ok()
            .map(EntryIx::new)
    }

    /// Returns the line number of an entry to show to people. In a converted session, it is the
    /// number of the line in the original file.
    pub fn shown_line(&self, ix: EntryIx) -> LineNo {
        self.original_line(self.entry(ix).line)
    }

    /// Converts the number of a line into the number of the line in the original file that it was
    /// made from. If the session was not converted, the number stays the same.
    pub fn original_line(&self, line: LineNo) -> LineNo {
        line.in_original(self.original_lines.as_deref())
    }

    /// Returns the first entry whose [`shown_line`](Self::shown_line) is `line`.
    pub fn entry_on_shown_line(&self, line: LineNo) -> Option<EntryIx> {
        if self.original_lines.is_none() {
            return self.entry_on_line(line);
        }
        self.entry_indexes().find(|&ix| self.shown_line(ix) == line)
    }

    /// Returns the `parentId` of an entry as version 3 stores it, even if no entry has that id;
    /// `None` for an entry that names no parent.
    pub fn parent_id(&self, ix: EntryIx) -> Option<Text<'_>> {
        match self.entry(ix).parent {
            Some(parent) => Some(self.id(parent)),
            None => self.dangling_id(ix),
        }
    }

    /// Returns the id of the parent that the line of a root names; `None` if it names none.
    pub fn dangling_id(&self, ix: EntryIx) -> Option<Text<'_>> {
        let index = self
            .dangling
            .binary_search_by_key(&ix, |parent| parent.entry)
            .ok()?;
        Some(self.text(self.dangling[index].text))
    }

    /// Returns the text of an entry's row in a tree; empty if rows were not requested when the
    /// session was loaded. The row of a tool result lacks the text of its call.
    pub fn row(&self, ix: EntryIx) -> Text<'_> {
        self.collected.rows.get(ix.index()).text
    }

    /// Returns the role and the body of an entry's row; both are empty without a row.
    pub fn row_parts(&self, ix: EntryIx) -> RowParts<'_> {
        self.collected.rows.get(ix.index()).split()
    }

    /// Returns the `timestamp` of an entry as stored. `None` if the entry has none, or if
    /// timestamps were not requested when the session was loaded.
    pub fn timestamp(&self, ix: EntryIx) -> Option<Text<'_>> {
        self.collected
            .timestamps
            .get(ix.index())
            .filter(|slice| !slice.is_empty())
            .map(|&slice| self.text(slice))
    }

    /// Returns where an entry contains the words that were searched for while the session was
    /// loaded; `None` if it contains none of them.
    pub fn search_matches(&self, ix: EntryIx) -> Option<&Matches> {
        let index = self
            .collected
            .search_matches
            .binary_search_by_key(&ix, |&(entry, _)| entry)
            .ok()?;
        Some(&self.collected.search_matches[index].1)
    }

    /// Returns the text of an entry for the agent's fuzzy search, without the label. Empty if no
    /// such search is needed: the agent has none, no words were searched for while the session was
    /// loaded, or the entry contains all of them.
    pub fn fuzzy_text(&self, ix: EntryIx) -> Text<'_> {
        let texts = &self.collected.fuzzy_texts;
        match texts.binary_search_by_key(&ix, |text| text.entry) {
            Ok(index) => self.text(texts[index].text),
            Err(_) => Text::default(),
        }
    }

    /// Returns the calls of an entry that name a file; `None` if they were not requested when the
    /// session was loaded.
    pub fn file_calls(&self, ix: EntryIx) -> Option<&[FileCall]> {
        let all = self.collected.file_calls.as_ref()?;
        // The calls are in file order, so those of an entry are neighbours.
        let from_first = &all[all.partition_point(|call| call.entry < ix)..];
        let count = from_first
            .iter()
            .take_while(|call| call.entry == ix)
            .count();
        Some(&from_first[..count])
    }

    /// Returns the location of an entry's `message` in the file. `None` if the entry has no
    /// message, or if locations were not requested when the session was loaded.
    pub fn message_span(&self, ix: EntryIx) -> Option<Span> {
        let range_in_line = self.collected.messages.get(ix.index())?;
        if range_in_line.is_empty() {
            return None; // The entry has no `message`.
        }
        Some(Span {
            start: self.entry(ix).span.start + u64::from(range_in_line.start),
            len: range_in_line.len() as u64,
        })
    }

    /// Returns the agent's estimate of the message of an entry, in tokens. `None` if estimates were
    /// not requested when the session was loaded, or if migration would change the message.
    pub fn message_tokens(&self, ix: EntryIx) -> Option<u64> {
        if self.needs_migration(ix) {
            return None;
        }
        self.collected.message_tokens.get(ix.index()).copied()
    }

    /// Whether the lines of all entries are valid UTF-8.
    pub fn is_utf8(&self) -> bool {
        self.problems
            .iter()
            .all(|problem| problem.kind != FindingKind::InvalidUtf8)
    }

    /// Iterates from an entry to its root, both included. It ends, because cycles of parents were
    /// cut while loading.
    pub fn ancestors(&self, from: Option<EntryIx>) -> impl Iterator<Item = EntryIx> + use<'_> {
        std::iter::successors(from, |&ix| self.entry(ix).parent)
    }

    /// Returns the path from the root to `leaf`; empty for `None`.
    pub fn path(&self, leaf: Option<EntryIx>) -> Vec<EntryIx> {
        let mut path: Vec<_> = self.ancestors(leaf).collect();
        path.reverse();
        path
    }

    /// Whether the session has an entry of a type.
    pub fn has_kind(&self, kind: Kind) -> bool {
        self.entries.iter().any(|entry| entry.kind == kind)
    }

    /// Returns the index in `path` of the last entry of a type.
    pub fn last_index_of_kind(&self, path: &[EntryIx], kind: Kind) -> Option<usize> {
        path.iter().rposition(|&ix| self.entry(ix).kind == kind)
    }

    /// Returns the index in `path` of the entry with an id; `None` for an empty id.
    pub fn index_on_path(&self, path: &[EntryIx], id: &Text) -> Option<usize> {
        if id.is_empty() {
            None
        } else {
            path.iter().position(|&ix| self.id(ix) == *id)
        }
    }

    /// Returns the entry with a record number: the header is record 0, and each later line that
    /// parses has the next number. `None` if no entry has the number.
    pub fn entry_of_record(&self, number: f64) -> Option<EntryIx> {
        let index = self
            .entries
            .binary_search_by(|entry| f64::from(entry.record).total_cmp(&number))
            .ok()?;
        Some(EntryIx::new(index))
    }

    /// Returns the type of an entry as its line names it; empty if the line has no type.
    pub fn kind_name(&self, ix: EntryIx) -> Text<'_> {
        match self.entry(ix).kind.name() {
            Some(name) => Text::from(name),
            None => self.other_name(ix).unwrap_or_default(),
        }
    }

    /// Returns the role of an entry's message as its line names it; `None` if the entry is not a
    /// message or has no role.
    pub fn role_name(&self, ix: EntryIx) -> Option<Text<'_>> {
        match self.entry(ix).role {
            Role::Missing => None,
            Role::Other => self.other_name(ix),
            role => role.name().map(Text::from),
        }
    }

    /// Returns the stored name of a type or role that is not in the tables.
    fn other_name(&self, ix: EntryIx) -> Option<Text<'_>> {
        let names = &self.collected.other_names;
        let index = names.binary_search_by_key(&ix, |name| name.entry).ok()?;
        Some(self.text(names[index].text))
    }

    /// Whether the entry is a message with this role.
    pub fn is_message(&self, ix: EntryIx, role: Role) -> bool {
        let entry = self.entry(ix);
        entry.kind == Kind::Message && entry.role == role
    }
}
