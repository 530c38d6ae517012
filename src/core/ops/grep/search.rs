//! The search through one file.

use super::pattern::Pattern;
use super::sieve::{Sifted, Signs};
use crate::core::entry::{EntryIx, Kind, LineNo, Role};
use crate::core::fields::{Field, Scope, visit};
use crate::core::json::scan::RawString;
use crate::core::json::string::decode;
use crate::core::json::{Raw, Scanner};
use crate::core::load::header::{self, Preamble, Version};
use crate::core::load::{LoadError, Options, load};
use crate::core::record::{Record, scan};
use crate::core::search::{Hit, Snippet};
use crate::core::session::{Header, Session};
use crate::core::store::ReadAt;
use crate::core::stretches::{Stretch, StretchReader};
use crate::core::text::{Text, utf16_len};
use crate::core::time::parse_js_date;
use memchr::{memchr, memchr_iter, memrchr};
use std::io;
use std::ops::{ControlFlow, Range};

/// What is searched for, and where.
#[derive(Clone, Debug)]
pub struct Query {
    /// What must match.
    pub pattern: Pattern,
    /// Which fields of an entry.
    pub scope: Scope,
    /// Only entries with one of these roles or types; all where there are none.
    pub roles: Vec<String>,
    /// Only entries of this time (milliseconds since 1970) or later.
    pub since_ms: Option<i64>,
    /// Only entries on the path to the leaf.
    pub active: bool,
    /// Find out the place, line and surroundings of each match; without, hits can only be counted.
    pub places: bool,
}

/// The role of a hit in the title that oh-my-pi keeps before the entries.
pub const TITLE: &str = "title";

/// An entry that matches, at its first match.
#[derive(Clone, Debug)]
pub struct Match {
    /// Its physical line.
    pub line: LineNo,
    /// Its id; empty where it has none.
    pub id: Text<'static>,
    /// The role of its message; of any other entry its type.
    pub role: Text<'static>,
    /// Its time as written.
    pub timestamp: Option<Text<'static>>,
    /// Where it matches.
    pub hit: Hit,
}

/// What was found out about a file besides its hits.
#[derive(Clone, Debug)]
pub struct Searched {
    /// Its header.
    pub header: Header,
    /// Lines that may match but are not JSON, and the first of them.
    pub unread: Option<(u32, LineNo)>,
}

/// Searches a file from its first entry to its last. `take` gets each entry that matches, until it
/// breaks.
///
/// # Errors
/// Where the file is not a session, or cannot be read.
pub fn search(
    source: &dyn ReadAt,
    query: &Query,
    reader: &mut StretchReader,
    take: &mut dyn FnMut(&Header, Match) -> ControlFlow<()>,
) -> Result<Searched, LoadError> {
    let preamble = header::read(source)?;
    let counted = Counted { place: preamble.end, lines: preamble.lines };
    let start = preamble.end;
    let mut search =
        Search { source, query, preamble, counted, counts_lines: false, tree: None, unread: None };
    if let Some(hit) = search.title()
        && take(&search.preamble.header, hit).is_break()
    {
        return Ok(Searched { header: search.preamble.header, unread: None });
    }
    let flow = reader.read(source, start, |stretch| match search.stretch(stretch, take) {
        Ok(ControlFlow::Continue(())) => ControlFlow::Continue(()),
        Ok(ControlFlow::Break(())) => ControlFlow::Break(Ok(())),
        Err(error) => ControlFlow::Break(Err(error)),
    })?;
    if let ControlFlow::Break(Err(error)) = flow {
        return Err(error);
    }
    Ok(Searched { header: search.preamble.header, unread: search.unread })
}

struct Search<'s> {
    source: &'s dyn ReadAt,
    query: &'s Query,
    preamble: Preamble,
    counted: Counted,
    /// Whether a line number was asked for; before, no lines are counted.
    counts_lines: bool,
    /// The tree of the file, loaded when the first hit needs it.
    tree: Option<Tree>,
    unread: Option<(u32, LineNo)>,
}

/// How many lines there are before a place of the file.
#[derive(Clone, Copy, Debug)]
struct Counted {
    place: u64,
    lines: u32,
}

/// A session, and which of its entries are on the path to the leaf.
struct Tree {
    session: Session,
    active: Vec<bool>,
}

impl Search<'_> {
    fn stretch(
        &mut self,
        stretch: Stretch,
        take: &mut dyn FnMut(&Header, Match) -> ControlFlow<()>,
    ) -> Result<ControlFlow<()>, LoadError> {
        let bytes = stretch.bytes;
        let mut at = 0;
        let mut signs = self.query.pattern.sieve().map(|sieve| sieve.signs(bytes));
        while let Some(line) = next_line(bytes, at, signs.as_mut()) {
            at = line.end + 1;
            if let Some(hit) = self.line(stretch, line)?
                && take(&self.preamble.header, hit).is_break()
            {
                return Ok(ControlFlow::Break(()));
            }
        }
        if self.counts_lines && self.counted.place >= stretch.start {
            self.count_to(stretch, bytes.len());
        }
        Ok(ControlFlow::Continue(()))
    }

    /// The title in force, where it matches: that of oh-my-pi's title line, else of the header.
    fn title(&self) -> Option<Match> {
        let Preamble { title_slot, header, lines, .. } = &self.preamble;
        let (line, json) = match title_slot {
            Some(slot) => (LineNo(1), slot.trim_ascii()),
            None => (LineNo(*lines), &*header.bytes),
        };
        let json = Raw::checked(json);
        let text = |key: &str| json.get_text(key).map(Text::into_owned);
        let role_name = Text::from(TITLE);
        let timestamp = text("updatedAt").or_else(|| text("timestamp"));
        let envelope =
            Envelope { kind: Kind::Missing, role: Role::Missing, id: Text::default(), role_name, timestamp };
        // It is on no path.
        if self.query.active || !self.wants(&envelope) {
            return None;
        }
        let title = text("title")?;
        let hit = hit_at("title".to_owned(), &title, self.query.pattern.find(title.as_bytes())?);
        Some(envelope.matched(line, hit))
    }

    fn line(&mut self, stretch: Stretch, place: Range<usize>) -> Result<Option<Match>, LoadError> {
        let line = &stretch.bytes[place.clone()];
        if line.trim_ascii().is_empty() {
            return Ok(None);
        }
        let mut scanner = Scanner::new(line);
        let scanned = scan(&mut scanner, &mut Vec::new());
        let Some(record) = scanned.ok().filter(|_| scanner.at_end()) else {
            if stretch.start + (place.end as u64) < self.source.len() {
                let line = self.line_no(stretch, place.start)?;
                self.unread.get_or_insert((0, line)).0 += 1;
            }
            return Ok(None);
        };
        let envelope = Envelope::of(&record, self.preamble.version);
        let is_entry = record.is_object && !record.kind.is_some_and(|kind| kind.is("session"));
        if !is_entry || !self.wants(&envelope) {
            return Ok(None);
        }
        let Some(found) = self.first_match(&record, &envelope) else { return Ok(None) };
        let line = if self.needs_line() { self.line_no(stretch, place.start)? } else { LineNo(0) };
        self.matched(line, envelope, found)
    }

    fn needs_line(&self) -> bool {
        self.query.places || self.query.active
    }

    fn wants(&self, envelope: &Envelope) -> bool {
        let role = envelope.role_name.as_bytes();
        let is_wanted = |wanted: &String| wanted.as_bytes() == role;
        let is_late = |since: i64| envelope.time_ms().is_some_and(|time| time >= since);
        (self.query.roles.is_empty() || self.query.roles.iter().any(is_wanted))
            && self.query.since_ms.is_none_or(is_late)
    }

    fn first_match(&self, record: &Record, envelope: &Envelope) -> Option<Hit> {
        let mut found = None;
        let pattern = &self.query.pattern;
        let see = &mut |field: &Field| {
            let is_match = match pattern.sieve().map(|sieve| sieve.sift(field.raw())) {
                Some(Sifted::No) => false,
                Some(Sifted::Match) if !self.query.places => {
                    found = Some(nowhere());
                    true
                }
                _ => {
                    let text = field.text();
                    let place = pattern.find(text.as_bytes());
                    found = place.map(|place| match self.query.places {
                        true => hit_at(field.path(), &text, place),
                        false => nowhere(),
                    });
                    found.is_some()
                }
            };
            if is_match { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        };
        // Broken off where something was found.
        let _ = visit(Raw::checked(record.bytes), envelope.kind, envelope.role, self.query.scope, see);
        found
    }

    /// The hit, unless it is on another branch than the one that is asked for.
    fn matched(&mut self, line: LineNo, envelope: Envelope, hit: Hit) -> Result<Option<Match>, LoadError> {
        let mut id = envelope.id.clone();
        // Entries of version 1 have the ids that a migration gives them.
        let is_numbered = self.query.places && self.preamble.version == Version::One;
        if self.query.active || is_numbered {
            let tree = self.tree()?;
            let Some(ix) = tree.entry_on(line) else { return Ok(None) };
            id = tree.session.id(ix).into_owned();
            if self.query.active && !self.tree.as_ref().is_some_and(|tree| tree.active[ix.at()]) {
                return Ok(None);
            }
        }
        Ok(Some(Envelope { id, ..envelope }.matched(line, hit)))
    }

    fn tree(&mut self) -> Result<&Tree, LoadError> {
        let tree = match self.tree.take() {
            Some(tree) => tree,
            None => Tree::new(load(self.source, &Options::default())?),
        };
        Ok(self.tree.insert(tree))
    }

    /// The number of the line that starts at `at` in the stretch.
    fn line_no(&mut self, stretch: Stretch, at: usize) -> io::Result<LineNo> {
        self.counts_lines = true;
        if self.counted.place < stretch.start {
            // Nothing was found before: only now its lines are of interest.
            let (from, to) = (self.counted.place, stretch.start);
            self.counted.lines += newlines(self.source, from, to)?;
            self.counted.place = to;
        }
        self.count_to(stretch, at);
        Ok(LineNo(self.counted.lines + 1))
    }

    fn count_to(&mut self, stretch: Stretch, at: usize) {
        let from = (self.counted.place - stretch.start) as usize;
        self.counted.lines += memchr_iter(b'\n', &stretch.bytes[from..at]).count() as u32;
        self.counted.place = stretch.start + at as u64;
    }
}

/// The next line that may match.
fn next_line(bytes: &[u8], from: usize, signs: Option<&mut Signs>) -> Option<Range<usize>> {
    let sign = match signs {
        Some(signs) => signs.next(from)?,
        None => from,
    };
    let start = memrchr(b'\n', bytes.get(from..sign)?).map_or(from, |newline| from + newline + 1);
    let rest = bytes.get(sign..).filter(|rest| !rest.is_empty())?;
    let end = memchr(b'\n', rest).map_or(bytes.len(), |newline| sign + newline);
    Some(start..end)
}

impl Tree {
    fn new(session: Session) -> Tree {
        let mut active = vec![false; session.entries.len()];
        session.upwards(session.leaf).for_each(|ix| active[ix.at()] = true);
        Tree { session, active }
    }

    fn entry_on(&self, line: LineNo) -> Option<EntryIx> {
        let at = self.session.entries.binary_search_by_key(&line.0, |entry| entry.line.0).ok()?;
        Some(EntryIx(at as u32))
    }
}

/// What an entry says of itself, whatever it holds.
struct Envelope {
    kind: Kind,
    role: Role,
    id: Text<'static>,
    role_name: Text<'static>,
    timestamp: Option<Text<'static>>,
}

impl Envelope {
    fn of(record: &Record, version: Version) -> Envelope {
        let text = |string: Option<RawString>| string.map(|string| decode(string.bytes).into_owned());
        let type_name = text(record.kind).unwrap_or_default();
        let kind = if record.kind.is_some() { Kind::named(type_name.as_bytes()) } else { Kind::Missing };
        let role_name =
            text(record.message.filter(|_| kind == Kind::Message).and_then(|message| message.role));
        let mut role = role_name.as_ref().map_or(Role::Missing, |name| Role::named(name.as_bytes()));
        let mut role_name = role_name.unwrap_or(type_name);
        if role == Role::HookMessage && version != Version::Three {
            (role, role_name) = (Role::Custom, Text::from("custom"));
        }
        let (id, timestamp) = (text(record.id).unwrap_or_default(), text(record.timestamp));
        Envelope { kind, role, id, role_name, timestamp }
    }

    fn time_ms(&self) -> Option<i64> {
        parse_js_date(self.timestamp.as_ref()?.as_bytes())
    }

    fn matched(self, line: LineNo, hit: Hit) -> Match {
        Match { line, id: self.id, role: self.role_name, timestamp: self.timestamp, hit }
    }
}

/// A match whose position is not requested.
fn nowhere() -> Hit {
    Hit { field: String::new(), range: 0..0, snippet: Snippet { text: String::new(), hit: 0..0 } }
}

fn hit_at(field: String, text: &Text, place: Range<usize>) -> Hit {
    // Lone surrogates become U+FFFD, which takes as many bytes: the place stays.
    let shown = text.to_string_lossy();
    let place = whole_characters(&shown, place);
    let start = utf16_len(&text.as_bytes()[..place.start]);
    let end = start + utf16_len(&text.as_bytes()[place.clone()]);
    let snippet = Snippet::around(&shown, place);
    Hit { field, range: start..end, snippet }
}

/// The range without half characters, which `(?-u)` and empty matches can make.
fn whole_characters(text: &str, range: Range<usize>) -> Range<usize> {
    let (mut start, mut end) = (range.start, range.end);
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}

/// Newlines in a part of a file.
fn newlines(source: &dyn ReadAt, from: u64, to: u64) -> io::Result<u32> {
    let mut buffer = vec![0; 64 * 1024];
    let (mut at, mut count) = (from, 0);
    while at < to {
        let wanted = usize::try_from(to - at).unwrap_or(usize::MAX).min(buffer.len());
        source.read_exact_at(&mut buffer[..wanted], at)?;
        count += memchr_iter(b'\n', &buffer[..wanted]).count() as u32;
        at += wanted as u64;
    }
    Ok(count)
}
