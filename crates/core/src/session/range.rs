//! Ranges of entries: `REF..REF2`, `REF..`, and the last entries of the conversation.
//!
//! A range is a part of one path: the entries after one position, up to another. Settings and
//! bookkeeping between the two are part of it. A command that reads the path to an entry reads a
//! range, too: the one that begins at the root.

use super::conversation::Conversation;
use super::entry::EntryIx;
use super::reference::{
    Position, ReferenceError, current_ancestor, is_exact_name, resolve_reference,
};
use crate::session::Session;
use crate::session::read::entry_reader::EntryReader;

/// What separates the two ends of a range.
const DOTS: &str = "..";

/// A part of a path: the entries after one position, up to another position at or below it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EntryRange {
    /// The position before the first entry.
    pub after: Position,
    /// The last entry; if it equals `after`, the range is empty.
    pub end: Position,
}

/// What an argument selects: an entry, or a range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Selection {
    /// A position, given by a reference.
    Entry(Position),
    /// The entries of a range, given by two references and `..`.
    Range(EntryRange),
}

impl EntryRange {
    /// Returns the range from the root to `end`.
    pub const fn path_to(end: Position) -> EntryRange {
        EntryRange {
            after: Position::Root,
            end,
        }
    }

    /// Returns the range of the last `count` entries of the conversation, which extends to the
    /// leaf: `@~N..`.
    pub fn last(session: &Session, count: usize) -> EntryRange {
        EntryRange {
            after: current_ancestor(session, count),
            end: session.leaf.into(),
        }
    }

    /// Returns the range from a position to the end of its branch: to the leaf, if the position is
    /// on the path to the leaf, and otherwise to the end of the newest branch below the position.
    pub fn to_end_of_branch(session: &Session, after: Position) -> EntryRange {
        // These are the entries of that branch from the position on, the last one at its end.
        let entries_after = Conversation::new(session).entries_after(after);
        EntryRange {
            after,
            end: match entries_after.last() {
                Some(&last) => Position::Entry(last),
                None => after,
            },
        }
    }

    /// Whether the range begins at the root.
    pub fn is_whole_path(self) -> bool {
        self.after == Position::Root
    }

    /// Returns the entries, from the first to the last.
    pub fn entries(self, session: &Session) -> Vec<EntryIx> {
        let mut entries: Vec<EntryIx> = session
            .ancestors(self.end.entry())
            .take_while(|&ix| Position::Entry(ix) != self.after)
            .collect();
        entries.reverse();
        entries
    }

    /// Returns the entries that belong to the conversation, from the first to the last.
    pub fn conversation_entries(self, session: &Session) -> Vec<EntryIx> {
        let mut entries = self.entries(session);
        entries.retain(|&ix| session.is_conversation(ix));
        entries
    }

    /// Returns, for each entry of the session, whether it is in the range.
    pub fn mask(self, session: &Session) -> Vec<bool> {
        let mut is_in_range = vec![false; session.entries.len()];
        for ix in self.entries(session) {
            is_in_range[ix.index()] = true;
        }
        is_in_range
    }
}

/// Returns the entries that a command reads: the last `last_count` entries of the conversation,
/// else the range that `argument` selects, else the path to the entry that it names. Without
/// either, the path to the leaf.
pub fn resolve_range(
    reader: &EntryReader,
    argument: Option<&str>,
    last_count: Option<usize>,
) -> Result<EntryRange, ReferenceError> {
    let session = reader.session();
    if let Some(count) = last_count {
        return require_entries(EntryRange::last(session, count), &format!("--last {count}"));
    }
    let Some(argument) = argument else {
        return Ok(EntryRange::path_to(session.leaf.into()));
    };
    match resolve_selection(reader, argument)? {
        Selection::Entry(position) => Ok(EntryRange::path_to(position)),
        Selection::Range(range) => Ok(range),
    }
}

/// Whether an argument has the form of a range. An id or a label may have this form, too.
pub fn is_range_form(argument: &str) -> bool {
    argument.contains(DOTS)
}

/// Returns what an argument selects: `REF..REF2` a range, and any other reference an entry. An
/// argument that is an id or a label selects that entry, even with two dots in it. So does `:/TEXT`
/// if an entry contains all of TEXT, dots included.
///
/// TEXT may contain or end with dots, as in `:/two dots.. in it..` or `:/A sentence...`. So the
/// first two dots with a reference on either side separate the ends.
///
/// # Errors
/// If an end of a range names no entry, if the two ends are not on one path, in this
/// order, or if the range contains no entry.
pub fn resolve_selection(
    reader: &EntryReader,
    argument: &str,
) -> Result<Selection, ReferenceError> {
    // An id, a label, or the whole text of `:/TEXT`.
    if !is_range_form(argument) || is_exact_name(reader, argument)? {
        return resolve_entry(reader, argument);
    }

    let mut first_error = None;
    for (start, end) in split_at_dots(argument) {
        match resolve_ends(reader, start, end) {
            Ok(range) => {
                check_ends(reader.session(), range, start, end)?;
                return Ok(Selection::Range(require_entries(range, argument)?));
            }
            Err(error) => first_error = first_error.or(Some(error)),
        }
    }
    match first_error {
        Some(error) => Err(error),
        None => resolve_entry(reader, argument),
    }
}

/// Returns the pairs of texts before and after two dots of an argument, from left to right:
/// `:/end...` is `:/end` and `.`, or `:/end.` and nothing.
fn split_at_dots(argument: &str) -> impl Iterator<Item = (&str, &str)> {
    let offsets = (0..argument.len()).filter(|&offset| {
        let bytes = &argument.as_bytes()[offset..];
        bytes.starts_with(DOTS.as_bytes())
    });
    offsets.map(|offset| (&argument[..offset], &argument[offset + DOTS.len()..]))
}

/// Returns the range between two references. Without the second, the range extends to the end of
/// the branch.
fn resolve_ends(
    reader: &EntryReader,
    start: &str,
    end: &str,
) -> Result<EntryRange, ReferenceError> {
    // Such a range could begin at the root or at the leaf, so it is refused.
    if start.is_empty() {
        return Err(ReferenceError::RangeWithoutStart {
            end: end.to_owned(),
        });
    }
    let after = resolve_reference(reader, start)?.position;
    if end.is_empty() {
        return Ok(EntryRange::to_end_of_branch(reader.session(), after));
    }
    let end = resolve_reference(reader, end)?.position;
    Ok(EntryRange { after, end })
}

/// Selects the entry that a reference names.
fn resolve_entry(reader: &EntryReader, reference: &str) -> Result<Selection, ReferenceError> {
    let resolved = resolve_reference(reader, reference)?;
    Ok(Selection::Entry(resolved.position))
}

/// Returns the range, or an error if it is empty. `given` is the argument that selected it.
fn require_entries(range: EntryRange, given: &str) -> Result<EntryRange, ReferenceError> {
    if range.after == range.end {
        return Err(ReferenceError::EmptyRange {
            given: given.to_owned(),
        });
    }
    Ok(range)
}

/// Fails unless the end of a range is at or below its start. `start` and `end` are the arguments as
/// given, for the error.
fn check_ends(
    session: &Session,
    range: EntryRange,
    start: &str,
    end: &str,
) -> Result<(), ReferenceError> {
    let Position::Entry(after) = range.after else {
        return Ok(()); // Every entry is below the root.
    };
    let is_end_below = session.ancestors(range.end.entry()).any(|ix| ix == after);
    if is_end_below {
        return Ok(());
    }

    let is_reversed = match range.end {
        Position::Entry(last) => session.ancestors(Some(after)).any(|ix| ix == last),
        Position::Root => true,
    };
    let start = start.to_owned();
    let end = end.to_owned();
    if is_reversed {
        return Err(ReferenceError::RangeReversed { start, end });
    }
    Err(ReferenceError::RangeAcrossBranches {
        start,
        end,
        branch_point: describe_branch_point(session, range),
    })
}

/// Returns the id of the entry at which the paths to the two ends of a range diverge; `root` if
/// they have no entry in common.
fn describe_branch_point(session: &Session, range: EntryRange) -> String {
    let is_above_start = EntryRange::path_to(range.after).mask(session);
    let branch_point = session
        .ancestors(range.end.entry())
        .find(|ix| is_above_start[ix.index()]);
    match branch_point {
        Some(ix) => session.id(ix).to_string(),
        None => "root".to_owned(),
    }
}
