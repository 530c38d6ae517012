//! Joins two copies of a session that have diverged: the result has all entries of both, each once.
//!
//! Entries are the same if they have the same id, and must then have the same bytes. The result has
//! the lines of the first copy in their order. A line that only the second copy has is inserted
//! after the line that precedes it there. So the last line, and thus the leaf, is that of the first
//! copy. The exception: if the second copy has lines after this last line, its own last line
//! becomes the leaf.
//!
//! The missing lines can also be added to the first copy in place. They are then appended, so that
//! its bytes stay unchanged, and a mark restores the leaf.

use crate::ops::chain::Chain;
use crate::ops::plan::{Change, NewEntry, write_line};
use crate::ops::switch::new_mark;
use crate::ops::{IdSource, Refusal, parent_id};
use crate::session::defect::FindingKind;
use crate::session::entry::{EntryIx, Flags, LineNo};
use crate::session::read::entry_reader::EntryReader;
use crate::session::reference::Position;
use crate::session::{Format, Session};
use foldhash::HashMap;
use pisess_json::text::Text;
use std::io::{self, Write};

/// One of two copies of a session.
#[derive(Clone, Copy)]
pub struct SessionCopy<'a> {
    /// The name of the copy in messages.
    pub name: &'a str,
    /// Reads the lines of the copy.
    pub reader: &'a EntryReader<'a>,
}

impl<'a> SessionCopy<'a> {
    fn session(self) -> &'a Session {
        self.reader.session()
    }

    /// Reads the stored line of an entry. The error names the copy.
    fn read_line(self, ix: EntryIx) -> Result<Vec<u8>, Refusal> {
        let span = self.session().entry(ix).span;
        let line = self.reader.read_stored(span);
        line.map(|line| line.to_vec())
            .map_err(|error| Refusal::new(format!("cannot read {}: {error}", self.name)))
    }
}

/// A line of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JoinedLine {
    First(EntryIx),
    Second(EntryIx),
}

/// The result of joining two copies: their lines in the new order.
#[derive(Debug)]
pub struct Join {
    lines: Vec<JoinedLine>,
    /// The number of entries that only the first copy has.
    pub only_first: usize,
    /// The number of entries that only the second copy has.
    pub only_second: usize,
}

/// The change that adds the missing lines to the first copy.
#[derive(Debug)]
pub struct Addition {
    /// The entries that only the second copy has, and the mark that restores the leaf, if it is
    /// needed.
    pub change: Change,
    /// The number of entries that only the first copy has.
    pub only_first: usize,
    /// The number of entries that only the second copy has.
    pub only_second: usize,
    /// Whether the conversation continues where the first copy ends. Otherwise it continues where
    /// the second ends.
    pub continues_first: bool,
}

/// Returns the change that appends to the first copy the entries it lacks. The leaf, which is the
/// entry that the conversation continues, is then the same as in the result of [`join`]. If it is
/// an entry of the first copy, a mark is appended last: an entry that moves the leaf back there.
///
/// # Errors
/// As for [`join`].
pub fn add_to_first(
    first: SessionCopy,
    second: SessionCopy,
    id_source: &mut IdSource,
) -> Result<Addition, Refusal> {
    let joined = join(first, second)?;
    let mut change = Change::default();
    for ix in second.session().entry_indexes() {
        let id = second.session().id(ix);
        if first.session().find_entry(&id).is_none() {
            // The mark below must not get the id of one of these entries.
            id_source.reserve_id(&id);
            change.entries.push(NewEntry {
                id: id.into_owned(),
                line: second.read_line(ix)?.trim_ascii().to_vec(),
            });
        }
    }

    // The agents take the last line of a file for the leaf. In the joined file, that may be a line
    // of the first copy, but here, it is the last appended one. A mark then restores the leaf.
    let is_leaf_of_first = !matches!(joined.lines.last(), Some(JoinedLine::Second(_)));
    let last_added = change.entries.last().map(|entry| entry.id.clone());
    if let Some(last_added) = last_added
        && is_leaf_of_first
    {
        let mark = mark_leaf(first.session(), &last_added, id_source);
        change.entries.extend(mark);
    }
    Ok(Addition {
        change,
        only_first: joined.only_first,
        only_second: joined.only_second,
        continues_first: is_leaf_of_first,
    })
}

/// Returns a mark below the current leaf, which restores that leaf after `last_added` was appended.
fn mark_leaf(session: &Session, last_added: &Text, id_source: &mut IdSource) -> Vec<NewEntry> {
    let leaf = session.leaf.into();
    let mut chain = Chain::with_parent(session, leaf, id_source);
    let leaf_id = parent_id(session, leaf);
    chain.add_entry(new_mark(Some(last_added), leaf_id.as_ref(), &[]));
    chain.change.entries
}

/// Joins two copies of a session: the result has the lines of both, each once.
///
/// # Errors
/// If they are not copies of the same session, if an entry has different contents, or if a copy has
/// lines that are not entries with an id.
pub fn join(first: SessionCopy, second: SessionCopy) -> Result<Join, Refusal> {
    let id = &first.session().header.id;
    if id.is_empty() {
        let what = format!("{} has no id in its header", first.name);
        return Err(Refusal::with_hint(what, "`pisess check --repair` it first"));
    }
    if *id != second.session().header.id {
        let what = format!(
            "{} and {} are different sessions: their ids differ",
            first.name, second.name
        );
        return Err(Refusal::with_hint(
            what,
            "`pisess check` on their directory names copies of one session",
        ));
    }
    if first.session().dialect != second.session().dialect {
        return Err(Refusal::with_hint(
            "one copy is of pi, the other of oh-my-pi",
            "convert one with `pisess fork --branches --for`",
        ));
    }
    require_sound(first)?;
    require_sound(second)?;
    require_equal_common_entries(first, second)?;
    Ok(interleave(first.session(), second.session()))
}

/// Refuses a copy unless each of its lines is an entry with an id of its own. Lines of both copies
/// are matched by these ids: any other line would be in the result twice.
fn require_sound(copy: SessionCopy) -> Result<(), Refusal> {
    let session = copy.session();
    if session.format != Format::V3 {
        let what = format!("{} is in an older format", copy.name);
        return Err(Refusal::with_hint(what, "`pisess migrate` it first"));
    }
    for problem in &session.problems {
        let hides_entry = matches!(
            problem.kind,
            FindingKind::MalformedLine
                | FindingKind::NulBytes
                | FindingKind::FusedLine
                | FindingKind::TornTail
                | FindingKind::SecondHeader
                | FindingKind::NotAnEntry
                | FindingKind::NullLine
        );
        if hides_entry {
            return Err(unsound(copy, problem.line, problem.kind.predicate()));
        }
    }
    for entry in &session.entries {
        if entry.id.is_empty() {
            return Err(unsound(copy, entry.line, "has no id"));
        }
        if entry.flags.contains(Flags::SUPERSEDED) {
            return Err(unsound(copy, entry.line, "has the id of a later line"));
        }
    }
    Ok(())
}

/// Returns the refusal of a copy because of a line: see [`require_sound`].
fn unsound(copy: SessionCopy, line: LineNo, what: &str) -> Refusal {
    let what = format!("{}: line {} {what}", copy.name, line.0);
    Refusal::with_hint(what, "`pisess check --repair` it first")
}

/// Refuses copies in which the same entry has different contents, because the result can have only
/// one of them.
fn require_equal_common_entries(first: SessionCopy, second: SessionCopy) -> Result<(), Refusal> {
    for second_ix in second.session().entry_indexes() {
        let id = second.session().id(second_ix);
        let Some(first_ix) = first.session().find_entry(&id) else {
            continue;
        };
        let first_line = first.read_line(first_ix)?;
        let second_line = second.read_line(second_ix)?;
        // In one of the copies, a program may have changed the line ends to CR LF.
        if first_line.trim_ascii() != second_line.trim_ascii() {
            let what = format!(
                "the entry {id} has two contents: line {} of {} and line {} of {}",
                first.session().shown_line(first_ix).0,
                first.name,
                second.session().shown_line(second_ix).0,
                second.name
            );
            let hint =
                "a copy that was redacted, or pruned without its SESSION.pruned, cannot be joined";
            return Err(Refusal::with_hint(what, hint));
        }
    }
    Ok(())
}

/// Inserts the lines that only the second copy has into the lines of the first copy, each after the
/// line that precedes it in the second copy: `a b c` and `a x b y` give `a x b y c`. If parents
/// precede their children in both copies, they do so in the result.
fn interleave(first: &Session, second: &Session) -> Join {
    let added_lines = place_added_lines(first, second);
    let mut join = Join {
        lines: Vec::with_capacity(first.entries.len()),
        only_first: 0,
        only_second: 0,
    };
    join.push_added(added_lines.get(&Position::Root));
    for ix in first.entry_indexes() {
        join.lines.push(JoinedLine::First(ix));
        if second.find_entry(&first.id(ix)).is_none() {
            join.only_first += 1;
        }
        join.push_added(added_lines.get(&Position::Entry(ix)));
    }
    join
}

/// Returns the lines that only the second copy has, by the place in the first copy after which they
/// are inserted: an entry, or the root for the header.
fn place_added_lines(first: &Session, second: &Session) -> HashMap<Position, Vec<EntryIx>> {
    let mut added_lines: HashMap<Position, Vec<EntryIx>> = HashMap::default();
    // The place of the next such line. It never moves up, not even where common lines have another
    // order in the first copy, so that the added lines keep theirs.
    let mut place = Position::Root;
    for ix in second.entry_indexes() {
        if let Some(common) = first.find_entry(&second.id(ix)) {
            place = lower_position(place, Position::Entry(common));
            continue;
        }
        // The parent may be further down in the first copy, where it must precede the child.
        if let Some(parent) = second.entry(ix).parent
            && let Some(common_parent) = first.find_entry(&second.id(parent))
        {
            place = lower_position(place, Position::Entry(common_parent));
        }
        added_lines.entry(place).or_default().push(ix);
    }
    added_lines
}

/// Returns the one of two positions that is further down in the file. The root is above all
/// entries.
fn lower_position(one: Position, other: Position) -> Position {
    match (one, other) {
        (Position::Entry(one), Position::Entry(other)) => Position::Entry(one.max(other)),
        (Position::Root, position) | (position, Position::Root) => position,
    }
}

impl Join {
    /// Appends lines that only the second copy has, and counts them; nothing for `None`.
    fn push_added(&mut self, added: Option<&Vec<EntryIx>>) {
        let Some(added) = added else {
            return;
        };
        self.only_second += added.len();
        for &ix in added {
            self.lines.push(JoinedLine::Second(ix));
        }
    }

    /// Returns the number of entries of the result.
    pub fn entry_count(&self) -> usize {
        self.lines.len()
    }

    /// Writes the header of the first copy, then the joined lines, byte for byte.
    pub fn write(
        &self,
        first: SessionCopy,
        second: SessionCopy,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let session = first.session();
        if let Some(title) = &session.title_slot {
            write_line(title, out)?;
        }
        write_line(&session.header.bytes, out)?;
        for &line in &self.lines {
            let (copy, ix) = match line {
                JoinedLine::First(ix) => (first, ix),
                JoinedLine::Second(ix) => (second, ix),
            };
            let span = copy.session().entry(ix).span;
            copy.reader
                .with_stored(span, |line| write_line(line, out))??;
        }
        Ok(())
    }
}
