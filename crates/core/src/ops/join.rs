//! Joins two copies of a session that grew apart: all entries of both, each once.
//!
//! Entries are the same if they have the same id, and must then have the same bytes. The result has
//! the lines of the first copy in their order, so that the conversation continues where that ends.
//! The lines that only the second copy has are where they are there: after the line before them.

use crate::ops::Refusal;
use crate::session::defect::FindingKind;
use crate::session::entry::{EntryIx, Flags, LineNo};
use crate::session::read::entry_reader::EntryReader;
use crate::session::{Format, Session};
use foldhash::HashMap;
use std::io::{self, Write};

/// One of two copies of a session.
#[derive(Clone, Copy)]
pub struct SessionCopy<'a> {
    /// Its name in messages.
    pub name: &'a str,
    /// Reads its lines.
    pub reader: &'a EntryReader<'a>,
}

impl<'a> SessionCopy<'a> {
    fn session(self) -> &'a Session {
        self.reader.session()
    }
}

/// A line of the result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum JoinedLine {
    First(EntryIx),
    Second(EntryIx),
}

/// The lines of two copies, joined.
#[derive(Debug)]
pub struct Join {
    lines: Vec<JoinedLine>,
    /// The number of entries that only the second copy has.
    pub added: usize,
    /// The number of entries that only the first copy has.
    pub only_first: usize,
}

/// Joins two copies.
///
/// # Errors
/// If they are not copies of one session, if an entry has two contents, or if a copy has lines that
/// are no entries with an id.
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
    compare_common(first, second)?;
    Ok(interleave(first.session(), second.session()))
}

/// Refuses a copy with a line that is no entry with an id of its own.
fn require_sound(copy: SessionCopy) -> Result<(), Refusal> {
    let session = copy.session();
    if session.format != Format::V3 {
        let what = format!("{} is in an older format", copy.name);
        return Err(Refusal::with_hint(what, "`pisess migrate` it first"));
    }
    for problem in &session.problems {
        let is_lost = matches!(
            problem.kind,
            FindingKind::MalformedLine
                | FindingKind::NulBytes
                | FindingKind::FusedLine
                | FindingKind::TornTail
                | FindingKind::SecondHeader
                | FindingKind::NotAnEntry
                | FindingKind::NullLine
        );
        if is_lost {
            return Err(unsound(copy, problem.line, "is not an entry"));
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

fn unsound(copy: SessionCopy, line: LineNo, what: &str) -> Refusal {
    let what = format!("{}: line {} {what}", copy.name, line.0);
    Refusal::with_hint(what, "`pisess check --repair` it first")
}

/// Refuses copies that have an entry with different contents.
fn compare_common(first: SessionCopy, second: SessionCopy) -> Result<(), Refusal> {
    let own = second.session();
    for ix in own.entry_indexes() {
        let id = own.id(ix);
        let Some(other) = first.session().find_entry(&id) else {
            continue;
        };
        let wanted = second.reader.read_stored(own.entry(ix).span)?;
        let span = first.session().entry(other).span;
        let found = first.reader.read_stored(span)?;
        if wanted.trim_ascii() != found.trim_ascii() {
            let what = format!(
                "the entry {id} has two contents: line {} of {} and line {} of {}",
                first.session().entry(other).line.0,
                first.name,
                own.entry(ix).line.0,
                second.name
            );
            let hint =
                "a copy that was redacted, or pruned without its SESSION.pruned, cannot be joined";
            return Err(Refusal::with_hint(what, hint));
        }
    }
    Ok(())
}

/// Returns the lines of both copies: each line that only the second has follows the one that it
/// follows there. A parent precedes its children, if it does so in the copies.
fn interleave(first: &Session, second: &Session) -> Join {
    let mut join = Join {
        lines: Vec::with_capacity(first.entries.len()),
        added: 0,
        only_first: 0,
    };
    // The lines that only the second copy has, by the common line before them; those at the start
    // have none.
    let mut added_after: HashMap<Option<EntryIx>, Vec<EntryIx>> = HashMap::default();
    let mut last_common = None;
    for ix in second.entry_indexes() {
        match first.find_entry(&second.id(ix)) {
            // Never back, so that the lines of the second copy keep their order.
            Some(common) => last_common = last_common.max(Some(common)),
            None => {
                // A parent that comes later in the first copy decides.
                let parent = second
                    .entry(ix)
                    .parent
                    .and_then(|parent| first.find_entry(&second.id(parent)));
                last_common = last_common.max(parent);
                added_after.entry(last_common).or_default().push(ix);
                join.added += 1;
            }
        }
    }

    join.push_added(added_after.remove(&None));
    for ix in first.entry_indexes() {
        join.lines.push(JoinedLine::First(ix));
        if second.find_entry(&first.id(ix)).is_none() {
            join.only_first += 1;
        }
        join.push_added(added_after.remove(&Some(ix)));
    }
    join
}

impl Join {
    fn push_added(&mut self, added: Option<Vec<EntryIx>>) {
        for ix in added.unwrap_or_default() {
            self.lines.push(JoinedLine::Second(ix));
        }
    }

    /// Returns the number of entries of the result.
    pub fn entry_count(&self) -> usize {
        self.lines.len()
    }

    /// Writes the header of the first copy, and the lines of both as they are.
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

fn write_line(line: &[u8], out: &mut dyn Write) -> io::Result<()> {
    out.write_all(line)?;
    out.write_all(b"\n")
}
