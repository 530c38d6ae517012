//! What is collected from the lines of a file besides its entries.
//!
//! Each worker collects from its part of the file; [`AppendPart`] joins the parts in file order. To
//! collect a new fact, add a line to [`Collected`], and store the fact where `load` reads the
//! lines. If its type is a new struct, `renumber!` below the struct lists the fields that change
//! when parts are joined.

use super::column::RowColumn;
use super::entry::{EntryIx, LineNo, Slice, Span};
use super::file_calls::FileCall;
use super::list_stats::{EntryKey, ListStats};
use super::search::Matches;
use super::usage::BilledRequest;

use pisess_json::text::Text;
use std::ops::Range;

/// What precedes a part of a file: the counts that turn numbers within the part into numbers within
/// the file.
///
/// A worker numbers the entries, lines and records of its part from 0. It identifies strings by
/// their offset in an arena (a buffer) of its own. When the part is joined, these counts are added
/// to its numbers.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrecedingCounts {
    /// Entries.
    pub entries: u32,
    /// The length of the arena, in bytes.
    pub arena: u32,
    /// Physical lines.
    pub lines: u32,
    /// Records that parse.
    pub records: u32,
}

/// An item that may refer to entries, strings, lines or records of a part of a file by number.
pub trait Renumber {
    /// Turns numbers within the part into numbers within the whole file by adding `preceding`.
    fn renumber(&mut self, preceding: PrecedingCounts);
}

/// Implements [`Renumber`] for a struct. The fields in the first braces are renumbered. The fields
/// in the second braces mean the same in the whole file.
///
/// All fields must be listed, so a new field does not compile until somebody has decided whether it
/// is renumbered. A forgotten one would refer to an entry or text of another part.
macro_rules! renumber {
    ($type:ident { $($field:ident),* } keeps { $($kept:ident),* }) => {
        impl $crate::session::collected::Renumber for $type {
            fn renumber(&mut self, preceding: $crate::session::collected::PrecedingCounts) {
                let $type { $($field,)* $($kept: _,)* } = self;
                $($field.renumber(preceding);)*
            }
        }
    };
}
pub(crate) use renumber;

/// A label entry.
#[derive(Clone, Copy, Debug)]
pub struct LabelChange {
    /// The label entry.
    pub entry: EntryIx,
    /// The id of the labelled entry.
    pub target: Slice,
    /// The label; empty if it is cleared.
    pub name: Slice,
    /// The `timestamp` of the label entry, as stored.
    pub timestamp: Slice,
}
renumber!(LabelChange { entry, target, name, timestamp } keeps {});

/// A tool call, recorded if rows were requested.
#[derive(Clone, Copy, Debug)]
pub struct ToolCall {
    /// The assistant entry.
    pub entry: EntryIx,
    /// The call's id.
    pub id: Slice,
    /// The tool, if rows are readable; `row` then contains only the call's description.
    pub name: Slice,
    /// The text for the row of its result.
    pub row: Slice,
    /// Where the row has a path.
    pub path_range: PathRange,
}
renumber!(ToolCall { entry, id, name, row } keeps { path_range });

/// The range of a path in the row of a call, in bytes; empty if the row has no path. It has only 16
/// bits per offset, because there is one range for each call of a session, and rows are short.
#[derive(Clone, Copy, Debug, Default)]
pub struct PathRange {
    start: u16,
    end: u16,
}

impl PathRange {
    /// Stores the range in fewer bits. If an offset needs more than 16 bits, the range is empty:
    /// the row is then shown as one without a path.
    pub fn new(range: &Range<usize>) -> PathRange {
        match (u16::try_from(range.start), u16::try_from(range.end)) {
            (Ok(start), Ok(end)) => PathRange { start, end },
            _ => PathRange::default(),
        }
    }

    /// Returns the range as offsets in the row.
    pub fn offsets(self) -> Range<usize> {
        usize::from(self.start)..usize::from(self.end)
    }
}

/// A string of an entry that most entries do not have, and that is therefore no field of
/// [`Entry`](super::entry::Entry): an unknown type or role, a stored `parentId`, the id of the call
/// that a result answers, or a text for fuzzy search.
#[derive(Clone, Copy, Debug)]
pub struct EntryText {
    /// The entry.
    pub entry: EntryIx,
    /// The string.
    pub text: Slice,
}
renumber!(EntryText { entry, text } keeps {});

/// The number of images of an entry that has several.
#[derive(Clone, Copy, Debug)]
pub struct ImageCount {
    /// The entry.
    pub entry: EntryIx,
    /// The number, at least 2.
    pub count: usize,
}
renumber!(ImageCount { entry } keeps { count });

/// Who or what an entry is due to, recorded if statistics were requested. Only replies, tool
/// results, entries of usage, and requests of the user that are not messages have one. A field that
/// does not apply to the entry is empty.
#[derive(Clone, Copy, Debug)]
pub struct Attribution {
    /// The entry.
    pub entry: EntryIx,
    /// The provider of the model that responded, or whose usage it is.
    pub provider: Slice,
    /// The id of that model.
    pub model: Slice,
    /// The tool of a result.
    pub tool: Slice,
    /// The id of the call that a result answers, if the tool failed.
    pub failed_call_id: Slice,
    /// Whether a reply has a record of its tokens.
    pub has_usage: bool,
    /// The time in the message, in milliseconds since 1970: when the reply began.
    pub began_ms: Option<i64>,
}
renumber!(Attribution { entry, provider, model, tool, failed_call_id } keeps { has_usage, began_ms });

impl Attribution {
    /// Returns an attribution with nothing but its entry, for an entry that is not a reply. Only
    /// replies can lack their usage, so `has_usage` is set.
    pub fn empty(entry: EntryIx) -> Attribution {
        let none = Slice::default();
        Attribution {
            entry,
            provider: none,
            model: none,
            tool: none,
            failed_call_id: none,
            has_usage: true,
            began_ms: None,
        }
    }
}

/// A tool call, recorded if statistics were requested. A call that names several files is recorded
/// once for each.
#[derive(Clone, Copy, Debug)]
pub struct CountedCall {
    /// The assistant entry.
    pub entry: EntryIx,
    /// The tool.
    pub tool: Slice,
    /// A file that the call names, with its absolute path.
    pub file: Option<FileCall>,
    /// The id of a call that names a file; empty for other calls.
    pub id: Slice,
    /// Whether a record before this one is of the same call, with another of its files. Such a
    /// record does not count as a call.
    pub is_further_file: bool,
    /// Whether the tool failed. This is known only of calls that name a file.
    pub has_failed: bool,
}
renumber!(CountedCall { entry, tool, file, id } keeps { is_further_file, has_failed });

/// A line that is not plain: see
/// [`LoadOptions::is_plain_line`](crate::load::LoadOptions::is_plain_line).
#[derive(Clone, Copy, Debug)]
pub struct OddLine {
    /// The physical line.
    pub line: LineNo,
    /// The location, without the newline.
    pub span: Span,
}
renumber!(OddLine { line } keeps { span });

impl<T: Renumber> AppendPart for Vec<T> {
    fn append_part(&mut self, next: &mut Self, preceding: PrecedingCounts) {
        for item in next.iter_mut() {
            item.renumber(preceding);
        }
        self.append(next);
    }
}

/// `None` means that the items were not requested, or that the part has no entries. As soon as one
/// part has a list, even an empty one, the whole has one.
impl<T: Renumber> AppendPart for Option<Vec<T>> {
    fn append_part(&mut self, next: &mut Self, preceding: PrecedingCounts) {
        if let Some(next) = next {
            self.get_or_insert_default().append_part(next, preceding);
        }
    }
}

impl AppendPart for RowColumn {
    fn append_part(&mut self, next: &mut Self, preceding: PrecedingCounts) {
        self.append(next, preceding.entries as usize);
    }
}

/// The last text in the file counts: a later name of a session replaces an earlier one.
impl AppendPart for Option<Text<'static>> {
    fn append_part(&mut self, next: &mut Self, _: PrecedingCounts) {
        if next.is_some() {
            *self = next.take();
        }
    }
}

impl AppendPart for ListStats {
    fn append_part(&mut self, next: &mut Self, preceding: PrecedingCounts) {
        self.append(std::mem::take(next), preceding.entries);
    }
}

/// Two counts, which are added to those of the whole.
impl AppendPart for [u32; 2] {
    fn append_part(&mut self, next: &mut Self, _: PrecedingCounts) {
        for (count, more) in self.iter_mut().zip(next) {
            *count += *more;
            *more = 0;
        }
    }
}

/// Defines [`Collected`], and joins it field by field, so that no field can be forgotten.
macro_rules! collected {
    ($($(#[$doc:meta])* $field:ident: $type:ty,)*) => {
        /// What is collected from the lines of a file besides its entries.
        #[derive(Debug, Default)]
        pub struct Collected {
            $($(#[$doc])* pub $field: $type,)*
        }

        impl AppendPart for Collected {
            fn append_part(&mut self, next: &mut Self, preceding: PrecedingCounts) {
                $(self.$field.append_part(&mut next.$field, preceding);)*
            }
        }
    };
}

collected! {
    /// The name in the last `session_info`, if there is one; see
    /// [`Session::name`](super::Session::name).
    given_name: Option<Text<'static>>,
    /// Label entries in file order.
    labels: Vec<LabelChange>,
    /// Unknown types of entries, and unknown roles of messages, in file order.
    other_names: Vec<EntryText>,
    /// The row of each entry, if requested.
    rows: RowColumn,
    /// The ids of the entries that compactions name as the first kept ones, in file order. Empty
    /// for a compaction that names none in its line: in version 1, it has the number of an entry.
    first_kept_ids: Vec<EntryText>,
    /// Tool calls in file order, if rows were requested.
    tool_calls: Vec<ToolCall>,
    /// The ids of the calls that tool results answer, in file order, if rows were requested.
    tool_results: Vec<EntryText>,
    /// The numbers of images of the entries that have several, in file order, if rows were
    /// requested.
    image_counts: Vec<ImageCount>,
    /// The texts for the agent's fuzzy search, of entries that do not contain every searched word,
    /// in file order.
    fuzzy_texts: Vec<EntryText>,
    /// The calls that name a file, in file order, if requested.
    file_calls: Option<Vec<FileCall>>,
    /// The matches in all text of the entries, in file order, if requested.
    search_matches: Vec<(EntryIx, Matches)>,
    /// The `timestamp` of each entry as stored, if requested.
    timestamps: Vec<Slice>,
    /// The requests that entries record, in file order and without copies, if requested.
    billed: Vec<BilledRequest>,
    /// What statistics need of entries, in file order, if requested.
    attributions: Vec<Attribution>,
    /// Tool calls in file order, if statistics were requested.
    counted_calls: Vec<CountedCall>,
    /// The identity of each entry, by which copies are recognized, if requested.
    keys: Vec<EntryKey>,
    /// The position of each entry's `message` in its line, if requested. The range is empty if the
    /// entry has no message.
    messages: Vec<Range<u32>>,
    /// The agent's estimate of each entry's `message`, in tokens, if requested.
    message_tokens: Vec<u64>,
    /// What a list of sessions shows of this one, if requested.
    list_stats: ListStats,
    /// The lines after the header that are not plain, if requested.
    odd_lines: Vec<OddLine>,
    /// The number of plain lines that end with LF, and the number of those that end with CR LF, if
    /// requested. They are only counted, because most lines are plain.
    plain_lines: [u32; 2],
}

impl Collected {
    /// Returns the tool calls of an entry, in their order.
    pub fn tool_calls_of(&self, ix: EntryIx) -> &[ToolCall] {
        // The calls are in file order, so those of an entry are neighbours.
        let first = self.tool_calls.partition_point(|call| call.entry < ix);
        let from_first = &self.tool_calls[first..];
        let count = from_first
            .iter()
            .take_while(|call| call.entry == ix)
            .count();
        &from_first[..count]
    }

    /// Returns the number of images of an entry that has any, if rows were requested.
    pub fn image_count(&self, ix: EntryIx) -> usize {
        let found = self
            .image_counts
            .binary_search_by_key(&ix, |counted| counted.entry);
        match found {
            Ok(index) => self.image_counts[index].count,
            Err(_) => 1,
        }
    }
}

impl Renumber for EntryIx {
    fn renumber(&mut self, preceding: PrecedingCounts) {
        *self = self.offset_by(preceding.entries);
    }
}

impl Renumber for Slice {
    fn renumber(&mut self, preceding: PrecedingCounts) {
        // An empty slice refers to no string of the arena.
        if self.len > 0 {
            self.start += preceding.arena;
        }
    }
}

impl<T> Renumber for (EntryIx, T) {
    fn renumber(&mut self, preceding: PrecedingCounts) {
        self.0.renumber(preceding);
    }
}

impl Renumber for LineNo {
    fn renumber(&mut self, preceding: PrecedingCounts) {
        self.0 += preceding.lines;
    }
}

impl Renumber for Range<u32> {
    fn renumber(&mut self, _: PrecedingCounts) {
        // The position of a `message` is relative to its line. So it needs no change when the parts
        // of a file are joined.
    }
}

impl Renumber for u64 {
    fn renumber(&mut self, _: PrecedingCounts) {
        // A number of tokens does not refer to an entry, a line or a string.
    }
}

impl Renumber for EntryKey {
    fn renumber(&mut self, _: PrecedingCounts) {
        // A key is a hash of strings. It does not refer to their place.
    }
}

impl<T: Renumber> Renumber for Option<T> {
    fn renumber(&mut self, preceding: PrecedingCounts) {
        if let Some(item) = self {
            item.renumber(preceding);
        }
    }
}

/// A collection to which the collection of the next part of the file can be appended.
pub trait AppendPart {
    /// Moves the content of `next` to the end of this collection, and adds the `preceding` counts
    /// to its numbers. `next` becomes empty, and is reused for a later part.
    fn append_part(&mut self, next: &mut Self, preceding: PrecedingCounts);
}
