//! A loaded session: its header, its entries, what was noted on the way.
//!
//! Loading ([`crate::core::load`]) never fails on content; what is wrong with a file is told in
//! [`Session::problems`], and each command decides what stops it. Older formats are understood here
//! as if migrated: every entry has its id and its parent.

use super::dialect::Dialect;
use super::digest::Digest;
use super::entry::{Entry, EntryIx, Kind, LineNo, Role, Slice, Span};
use super::index::IdIndex;
use super::search::Found;
use super::text::Text;

/// How a file stores its tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Version 1: a line after the other, no ids.
    V1,
    /// The draft of the tree format: numeric `parent`, `head` entries.
    Draft,
    /// Version 2: the tree, before the role `custom`.
    V2,
    /// Version 3: current in both agents.
    V3,
}

/// The header line.
#[derive(Clone, Debug)]
pub struct Header {
    /// Where its object stands in the file.
    pub span: Span,
    /// Its physical line.
    pub line: LineNo,
    /// The object's bytes.
    pub bytes: Vec<u8>,
    /// The session's id.
    pub id: Text<'static>,
    /// The folder the session was held in.
    pub cwd: Option<Text<'static>>,
    /// When it was started, as written.
    pub timestamp: Option<Text<'static>>,
}

/// A label entry, in file order.
#[derive(Clone, Copy, Debug)]
pub struct LabelChange {
    /// The label entry.
    pub entry: EntryIx,
    /// The id of the entry that is named.
    pub target: Slice,
    /// The name; empty where the label is taken off.
    pub name: Slice,
    /// The label entry's `timestamp` as written.
    pub timestamp: Slice,
}

/// A tool call, noted where rows were asked for.
#[derive(Clone, Copy, Debug)]
pub struct ToolCall {
    /// The assistant entry.
    pub entry: EntryIx,
    /// The call's id.
    pub id: Slice,
    /// The tool, where rows are for people: then `row` says what it does.
    pub name: Slice,
    /// What the row of its result says.
    pub row: Slice,
    /// Where a path is in the row: its start and its end in bytes.
    pub path: (u16, u16),
}

/// What turns of the model used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// Tokens, read from and written to the cache among them.
    pub tokens: f64,
    /// Their price in dollars.
    pub cost: f64,
}

impl std::ops::AddAssign for Usage {
    fn add_assign(&mut self, other: Usage) {
        self.tokens += other.tokens;
        self.cost += other.cost;
    }
}

/// A tool result, noted where rows were asked for.
#[derive(Clone, Copy, Debug)]
pub struct ToolResult {
    /// The entry.
    pub entry: EntryIx,
    /// The id of the call it answers.
    pub call: Slice,
}

/// Where a value stands in the line of its entry; empty where that is not known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InLine {
    /// Bytes of the line before it.
    pub start: u32,
    /// Its length in bytes.
    pub len: u32,
}

/// The names of an entry whose type or role is none of the known.
#[derive(Clone, Copy, Debug)]
pub struct OtherName {
    /// The entry.
    pub entry: EntryIx,
    /// Its type, where that is unknown.
    pub kind: Slice,
    /// Its role, where that is unknown.
    pub role: Slice,
}

/// What is wrong at a place of the file, and did not stop the reading.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The physical line.
    pub line: LineNo,
    /// What it is.
    pub kind: ProblemKind,
}

/// The kinds of [`Problem`] that loading notes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ProblemKind {
    /// The line is not JSON.
    Malformed,
    /// The last line is not JSON and has no newline: a write was cut.
    TornTail,
    /// Several values stand on the line.
    Fused,
    /// The line is a value that is no object.
    NotAnObject,
    /// A second header.
    SecondHeader,
    /// The line holds bytes that are not UTF-8.
    InvalidUtf8,
    /// A byte order mark.
    ByteOrderMark,
    /// The header's version is a string, or otherwise no number.
    OddVersion,
    /// An entry without a string `id`.
    NoId,
    /// An id that another entry has too.
    DuplicateId,
    /// The parents of the entry form a cycle.
    Cycle,
    /// The parent is not in the file.
    MissingParent,
}

/// A session in memory.
#[derive(Debug)]
pub struct Session {
    /// The header.
    pub header: Header,
    /// oh-my-pi's title line, where the file has one: its bytes without the newline.
    pub title_slot: Option<Vec<u8>>,
    /// How the file stores its tree.
    pub format: Format,
    /// Whose file it is.
    pub dialect: Dialect,
    /// The current position; `None` before the first entry.
    pub leaf: Option<EntryIx>,
    /// What is wrong with the file, in file order.
    pub problems: Vec<Problem>,
    /// Label entries in file order.
    pub labels: Vec<LabelChange>,
    /// Tool calls in file order, where rows were asked for.
    pub tool_calls: Vec<ToolCall>,
    /// Tool results in file order, where rows were asked for.
    pub tool_results: Vec<ToolResult>,
    /// What all turns of the model used, where asked for.
    pub usage: Usage,
    /// Names that are none of the known, in file order.
    pub other_names: Vec<OtherName>,
    /// The `timestamp` of each entry as written, where asked for.
    pub timestamps: Vec<Slice>,
    /// What a search looks through in each entry, where asked for.
    pub searchable: Vec<Slice>,
    /// What a search found in everything that an entry says, in file order, where asked for.
    pub found: Vec<(EntryIx, Found)>,
    /// Where each entry's `message` stands in its line, where asked for.
    pub messages: Vec<InLine>,
    /// What a list of sessions shows of it, where asked for.
    pub digest: Digest,
    /// The length of the file in bytes.
    pub len: u64,
    /// Whether the last line has its newline.
    pub ends_with_newline: bool,
    /// The entries in file order.
    pub entries: Vec<Entry>,
    /// Records that parse, the header among them.
    pub records: u32,
    pub(super) arena: Vec<u8>,
    pub(super) ids: IdIndex,
}

impl Session {
    /// The entry with number `ix`.
    pub fn entry(&self, ix: EntryIx) -> &Entry {
        &self.entries[ix.at()]
    }

    /// The string a slice names.
    pub fn text(&self, slice: Slice) -> Text<'_> {
        Text::from_wtf8(&self.arena[slice.range()])
    }

    /// The bytes (WTF-8) of the string a slice names.
    pub fn bytes(&self, slice: Slice) -> &[u8] {
        &self.arena[slice.range()]
    }

    /// The id of an entry; empty where it has none.
    pub fn id(&self, ix: EntryIx) -> Text<'_> {
        self.text(self.entry(ix).id)
    }

    /// The entry with this id; of several the last, as in both agents.
    pub fn find(&self, id: &Text) -> Option<EntryIx> {
        self.ids.get(id.as_bytes(), |ix| &self.arena[self.entry(ix).id.range()])
    }

    /// All entries' numbers in file order.
    pub fn all(&self) -> impl DoubleEndedIterator<Item = EntryIx> + ExactSizeIterator + use<> {
        (0..self.entries.len() as u32).map(EntryIx)
    }

    /// The id of the parent as version 3 stores it, also where no entry has it; `None` for a root.
    pub fn parent_id(&self, ix: EntryIx) -> Option<Text<'_>> {
        let entry = self.entry(ix);
        match self.format {
            Format::V1 | Format::Draft => entry.parent.map(|parent| self.id(parent)),
            Format::V2 | Format::V3 => (!entry.parent_id.is_empty()).then(|| self.text(entry.parent_id)),
        }
    }

    /// What the row of an entry says, where rows were kept; of a tool result what it says without
    /// its call.
    pub fn row(&self, ix: EntryIx) -> Text<'_> {
        self.text(self.entry(ix).row)
    }

    /// The `timestamp` of an entry as written, where timestamps were kept and it has one.
    pub fn timestamp(&self, ix: EntryIx) -> Option<Text<'_>> {
        self.timestamps.get(ix.at()).filter(|slice| !slice.is_empty()).map(|&slice| self.text(slice))
    }

    /// Where the words that were looked for are in an entry, where any of them is.
    pub fn found(&self, ix: EntryIx) -> Option<&Found> {
        let at = self.found.binary_search_by_key(&ix, |&(entry, _)| entry).ok()?;
        Some(&self.found[at].1)
    }

    /// Where the `message` of an entry stands in the file, where that was asked for and there is one.
    pub fn message_span(&self, ix: EntryIx) -> Option<Span> {
        let place = self.messages.get(ix.at()).filter(|place| place.len > 0)?;
        Some(Span { start: self.entry(ix).span.start + u64::from(place.start), len: u64::from(place.len) })
    }

    /// Whether every entry's line is valid UTF-8.
    pub fn is_utf8(&self) -> bool {
        self.problems.iter().all(|problem| problem.kind != ProblemKind::InvalidUtf8)
    }

    /// From an entry to its root, both included. Parents are acyclic here, so it ends.
    pub fn upwards(&self, from: Option<EntryIx>) -> impl Iterator<Item = EntryIx> + use<'_> {
        std::iter::successors(from, |&ix| self.entry(ix).parent)
    }

    /// From the root to `leaf`; empty for `None`.
    pub fn path(&self, leaf: Option<EntryIx>) -> Vec<EntryIx> {
        let mut path: Vec<_> = self.upwards(leaf).collect();
        path.reverse();
        path
    }

    /// The entry that is record `number` of the file (the header is 0), where one is.
    pub fn record_entry(&self, number: f64) -> Option<EntryIx> {
        let at = self.entries.binary_search_by(|entry| f64::from(entry.record).total_cmp(&number)).ok()?;
        Some(EntryIx(at as u32))
    }

    /// The type of an entry, as its line names it; empty where it has none.
    pub fn kind_name(&self, ix: EntryIx) -> Text<'_> {
        match self.entry(ix).kind.name() {
            Some(name) => Text::from(name),
            None => self.other_name(ix).map_or_else(Text::default, |name| self.text(name.kind)),
        }
    }

    /// The role of an entry's message; `None` where it is no message or has no role.
    pub fn role_name(&self, ix: EntryIx) -> Option<Text<'_>> {
        match self.entry(ix).role {
            Role::Missing => None,
            Role::Other => self.other_name(ix).map(|name| self.text(name.role)),
            role => role.name().map(Text::from),
        }
    }

    fn other_name(&self, ix: EntryIx) -> Option<&OtherName> {
        self.other_names.binary_search_by_key(&ix, |name| name.entry).ok().map(|at| &self.other_names[at])
    }

    /// Whether the entry is a message with this role.
    pub fn is_message(&self, ix: EntryIx, role: Role) -> bool {
        let entry = self.entry(ix);
        entry.kind == Kind::Message && entry.role == role
    }
}
