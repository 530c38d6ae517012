//! The entries of an export, and the text of their fields.

use super::commonmark::Author;
use super::cuts::Cuts;
use super::row_text::readable;
use foldhash::HashMap;
pub use pisess_core::format::clip as cut;
use pisess_core::format::counted;
use pisess_core::ops::branches::branches;
use pisess_core::ops::plan::copy_all;
use pisess_core::session::content::blocks_of;
use pisess_core::session::entry::{EntryIx, Flags, Slice};
use pisess_core::session::list_stats::is_command;
use pisess_core::session::read::batches::{BatchSize, batches};
use pisess_core::session::read::entry_reader::EntryReader;
use pisess_core::session::tree::{Tree, active};
use pisess_core::session::usage::{Usage, UsageSums};
use pisess_core::session::{RequestScope, Session};
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::ReadAt;
use pisess_store::workers::{self, Pool};
use std::io::{self, Write};
use std::ops::Range;

/// The most characters of a title.
const LONGEST_TITLE: usize = 120;

/// The contents of an export, shared by the threads that read it.
pub struct Contents<'a> {
    /// The session, loaded with rows.
    pub session: &'a Session,
    /// The bytes of its file.
    pub file: &'a dyn ReadAt,
    /// The exported entries, in file order.
    pub entries: Vec<EntryIx>,
    /// The leaf, or the nearest entry above it that is exported.
    pub leaf: Option<EntryIx>,
    /// What is left out.
    pub cuts: Cuts,
    /// Markdown that renderers made of entries.
    pub rendered: HashMap<EntryIx, String>,
    /// The requests of the session, or of the path, with those that were pruned, and their times;
    /// `None` if none was pruned.
    pub requests: Option<Vec<(i64, Usage)>>,
    /// Whether only the path to `end` is exported.
    path_only: bool,
    /// The last entry of the path, whether or not it is exported.
    end: Option<EntryIx>,
    /// For each entry of the session, its position in `entries`, or [`NO_NUMBER`].
    numbers: Vec<u32>,
    /// The exported calls, sorted by the id of the call, then by entry.
    calls: Vec<CallPlace<'a>>,
    /// The exported results, sorted likewise.
    results: Vec<CallPlace<'a>>,
}

/// An entry with a call, or with its result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CallPlace<'a> {
    /// The id of the call.
    id: &'a [u8],
    entry: EntryIx,
}

/// The number of an entry that is not exported.
const NO_NUMBER: u32 = u32::MAX;

impl<'a> Contents<'a> {
    /// Returns the contents of the whole session, or only of the path to `end`.
    pub fn new(
        session: &'a Session,
        file: &'a dyn ReadAt,
        path_only: bool,
        end: Option<EntryIx>,
    ) -> Contents<'a> {
        let mut contents = Contents {
            session,
            file,
            entries: Vec::new(),
            leaf: end,
            cuts: Cuts::default(),
            rendered: HashMap::default(),
            requests: None,
            path_only,
            end,
            numbers: Vec::new(),
            calls: Vec::new(),
            results: Vec::new(),
        };
        contents.cut(Cuts::default());
        contents
    }

    /// Leaves out these parts, and no others: earlier cuts no longer apply. Computes everything that
    /// depends on the exported entries: their numbers, calls, results, and the leaf.
    pub fn cut(&mut self, cuts: Cuts) {
        let session = self.session;
        let mut entries: Vec<EntryIx> = if self.path_only {
            let mut path = session.path(self.end);
            // In a file, a parent may follow its children.
            path.sort_unstable();
            path
        } else {
            session.all().collect()
        };
        cuts.keep(session, self.end, &mut entries);
        let mut numbers = vec![NO_NUMBER; session.entries.len()];
        for (number, ix) in entries.iter().enumerate() {
            numbers[ix.at()] = number as u32;
        }
        self.entries = entries;
        self.numbers = numbers;
        self.cuts = cuts;

        let calls = session.collected.tool_calls.iter();
        self.calls = self.exported_places(calls.map(|call| (call.entry, call.id)));
        let results = session.collected.tool_results.iter();
        self.results = self.exported_places(results.map(|result| (result.entry, result.text)));

        self.leaf = session
            .upwards(self.end)
            .find(|&ix| self.number(ix).is_some());
    }

    /// Returns the places of the exported ones among these entries, each given with the id of a call,
    /// sorted by the id.
    fn exported_places(
        &self,
        entries: impl Iterator<Item = (EntryIx, Slice)>,
    ) -> Vec<CallPlace<'a>> {
        let mut places = Vec::new();
        for (entry, id) in entries {
            let id = self.session.bytes(id);
            if self.number(entry).is_some() && !id.is_empty() {
                places.push(CallPlace { id, entry });
            }
        }
        places.sort_unstable();
        places
    }

    /// Returns the usage of the session, or of the path. Pruned requests count, and so do entries
    /// that the export leaves out.
    pub fn usage(&self) -> UsageSums {
        if let Some(requests) = &self.requests {
            return requests.iter().map(|(_, usage)| usage).collect();
        }
        let scope = if self.path_only {
            RequestScope::PathTo(self.end)
        } else {
            RequestScope::AllBranches
        };
        let requests = self.session.requests(scope);
        requests.into_iter().map(|request| &request.usage).collect()
    }

    /// Returns the exported entries on the path to the leaf, from the root.
    pub fn path(&self) -> Vec<EntryIx> {
        let mut path = self.session.path(self.leaf);
        path.retain(|&ix| self.number(ix).is_some());
        path
    }

    /// Returns a predicate: whether the path to the leaf contains the entry with this number, which is
    /// a value in markup.
    pub fn on_path(&self) -> impl Fn(&str) -> bool + '_ {
        let on_path = active(self.session, self.leaf);
        move |number| {
            let entry = number
                .parse()
                .ok()
                .and_then(|number: usize| self.entries.get(number));
            entry.is_some_and(|ix| on_path[ix.at()])
        }
    }

    /// Returns, for each exported entry, the number of its nearest ancestor that is exported.
    pub fn parents(&self, tree: &Tree) -> Vec<Option<u32>> {
        let session = self.session;
        let mut ancestors: Vec<Option<u32>> = vec![None; session.entries.len()];
        // Parents come first, so that the ancestor of a parent is known.
        for ix in tree.walk(&vec![false; session.entries.len()]) {
            if let Some(parent) = session.entry(ix).parent {
                ancestors[ix.at()] = self.number(parent).or(ancestors[parent.at()]);
            }
        }
        self.entries.iter().map(|ix| ancestors[ix.at()]).collect()
    }

    /// Writes the exported entries as a session: the whole file, or the header and the lines of the
    /// path.
    pub fn write_session(&self, out: &mut dyn Write) -> io::Result<()> {
        if !self.path_only {
            return copy_all(self.file, out);
        }
        let reader = EntryReader::new(self.session, self.file);
        if let Some(title_line) = &self.session.title_slot {
            out.write_all(title_line.trim_ascii_end())?;
            out.write_all(b"\n")?;
        }
        out.write_all(self.session.header.bytes.trim_ascii_end())?;
        out.write_all(b"\n")?;
        for &ix in &self.entries {
            out.write_all(&reader.stored(self.session.entry(ix).span)?)?;
            out.write_all(b"\n")?;
        }
        Ok(())
    }

    /// Calls `make` for each of these entries, on `workers` threads with a [`Source`] for each, and
    /// `take` with the results, on this thread, in the order of the entries. Ends at the first error.
    pub fn in_order<T: Send>(
        &self,
        entries: &[EntryIx],
        workers: usize,
        make: impl Fn(&Source, EntryIx) -> io::Result<T> + Sync,
        mut take: impl FnMut(T) -> io::Result<()>,
    ) -> io::Result<()> {
        let batches = batches(entries, BatchSize::default(), |&ix| {
            self.session.entry(ix).span.len
        });
        let sources = Pool::new(|| Source::new(self));
        let make_batch = |batch: Range<usize>| -> io::Result<Vec<T>> {
            sources.with(|source| entries[batch].iter().map(|&ix| make(source, ix)).collect())
        };
        workers::in_order(batches, workers, make_batch, |results| {
            for result in results? {
                take(result)?;
            }
            Ok(())
        })
    }

    /// Returns the note for readers about what is left out. `others` is [`Contents::others`] in a
    /// document of the path, and else `None`.
    pub fn note(&self, others: Option<String>) -> Option<String> {
        // Earlier entries are counted only if the export is cut to the last ones.
        let path_len = if self.cuts.last.is_some() {
            self.session.path(self.end).len()
        } else {
            0
        };
        let omitted = path_len.saturating_sub(self.entries.len());
        self.cuts.note(omitted, others)
    }

    /// Returns the number of branches that are not on the path, and of their entries without
    /// bookkeeping, as `2 other branches (7 entries)`. `None` if there are none, or if the path does
    /// not end at the session's leaf.
    pub fn others(&self) -> Option<String> {
        let session = self.session;
        if self.end != session.leaf {
            return None;
        }

        let mut branch_count = 0;
        for branch in branches(session, &Tree::new(session)) {
            if !branch.active {
                branch_count += 1;
            }
        }
        let on_path = active(session, self.end);
        let mut entry_count = 0;
        for ix in session.all() {
            if !on_path[ix.at()] && !session.entry(ix).kind.is_bookkeeping() {
                entry_count += 1;
            }
        }
        if branch_count == 0 || entry_count == 0 {
            return None;
        }

        let other_branches = counted(branch_count, "other branch", "other branches");
        let entries = counted(entry_count, "entry", "entries");
        Some(format!("{other_branches} ({entries})"))
    }

    /// Returns the name of the session.
    pub fn name(&self) -> Option<String> {
        self.session
            .name()
            .map(|name| name.to_string_lossy().into_owned())
    }

    /// Returns the title of the export: the session's name, else the first request that is
    /// exported, else its project and day.
    pub fn title(&self) -> String {
        if let Some(title) = self.name().or_else(|| self.first_request()) {
            return cut(&title, LONGEST_TITLE);
        }

        let header = &self.session.header;
        let cwd = header.cwd.as_ref().map(Text::to_string_lossy);
        let cwd = cwd.unwrap_or_default();
        let time = header.timestamp.as_ref().map(Text::to_string_lossy);
        let time = time.unwrap_or_default();
        let mut parts = Vec::new();
        if let Some(project) = cwd.rsplit(['/', '\\']).find(|part| !part.is_empty()) {
            parts.push(project);
        }
        // A time in ISO 8601 begins with the day.
        if let Some(day) = time.get(.."2026-01-31".len()) {
            parts.push(day);
        }
        parts.join(", ")
    }

    /// Returns the first exported request, on one line. The name of a command counts only if no other
    /// request follows. Blank requests do not count.
    fn first_request(&self) -> Option<String> {
        let mut command = None;
        for &ix in &self.entries {
            if !self.session.entry(ix).flags.has(Flags::USER_REQUEST) {
                continue;
            }
            let (_, row) = self.session.row_parts(ix);
            let request = readable(&row.to_string_lossy(), Author::User).into_owned();
            if request.trim().is_empty() {
                continue;
            }
            if !is_command(&row) {
                return Some(request);
            }
            if command.is_none() {
                command = Some(request);
            }
        }
        command
    }

    /// Returns the position of an entry among the exported ones; `None` if it is not exported.
    pub fn number(&self, ix: EntryIx) -> Option<u32> {
        let number = *self.numbers.get(ix.at())?;
        if number == NO_NUMBER {
            return None;
        }
        Some(number)
    }

    /// Returns the id of an entry, for people.
    pub fn id(&self, ix: EntryIx) -> String {
        self.session.id(ix).to_string_lossy().into_owned()
    }

    /// Returns the entry with the call that a result answers: the nearest exported one before the
    /// result that has a call with this id. Ids may occur again.
    fn call(&self, id: &[u8], result: EntryIx) -> Option<EntryIx> {
        let result = CallPlace { id, entry: result };
        let end = self.calls.partition_point(|call| *call < result);
        let nearest = self.calls[..end].last()?;
        if nearest.id == id {
            Some(nearest.entry)
        } else {
            None
        }
    }

    /// Returns the result of a call, unless the result answers a later call with the same id.
    pub fn answer(&self, id: &[u8], call: EntryIx) -> Option<EntryIx> {
        let result = self.result(id, call)?;
        if self.call(id, result) != Some(call) {
            return None;
        }
        Some(result)
    }

    /// Whether a result is the [`Contents::answer`] of a call.
    pub fn is_answer(&self, id: &[u8], result: EntryIx) -> bool {
        self.call(id, result)
            .is_some_and(|call| self.result(id, call) == Some(result))
    }

    /// Returns the entry with the result of a call: the nearest exported one after it that has a
    /// result with this id.
    pub fn result(&self, id: &[u8], call: EntryIx) -> Option<EntryIx> {
        let call = CallPlace { id, entry: call };
        let start = self.results.partition_point(|result| *result <= call);
        let nearest = self.results.get(start)?;
        if nearest.id == id {
            Some(nearest.entry)
        } else {
            None
        }
    }
}

/// A reader of [`Contents`], for one thread.
pub struct Source<'a> {
    /// What it reads.
    pub contents: &'a Contents<'a>,
    /// Reads the entries that are exported.
    pub reader: EntryReader<'a>,
    /// Reads the calls of results, which may be far before the entry that `reader` reads.
    call_reader: EntryReader<'a>,
}

impl<'a> Source<'a> {
    /// Returns a new reader of these contents.
    pub fn new(contents: &'a Contents<'a>) -> Source<'a> {
        Source {
            contents,
            reader: EntryReader::new(contents.session, contents.file),
            call_reader: EntryReader::new(contents.session, contents.file),
        }
    }

    /// Returns what `use_call` returns for the block of the call that a result answers, or for `null`
    /// if there is none. `id` is that of the call.
    pub fn with_call<T>(
        &self,
        id: &[u8],
        result: EntryIx,
        use_call: impl FnOnce(Raw) -> T,
    ) -> io::Result<T> {
        let Some(ix) = self.contents.call(id, result) else {
            return Ok(use_call(Raw::NULL));
        };
        self.call_reader.with_message(ix, |message| {
            let content = message.get("content").unwrap_or(Raw::NULL);
            for call in blocks_of(content, "toolCall") {
                let call_id = call.get_text("id");
                if call_id.is_some_and(|call_id| call_id.as_bytes() == id) {
                    return use_call(call);
                }
            }
            use_call(Raw::NULL)
        })
    }
}

/// Returns the decoded string; `None` if the value is not one.
pub fn decoded(value: Raw) -> Option<String> {
    value.text().map(|text| text.to_string_lossy().into_owned())
}

/// Returns the decoded string; any other value as JSON.
pub fn shown(value: Raw) -> String {
    decoded(value).unwrap_or_else(|| String::from_utf8_lossy(value.bytes()).into_owned())
}
