//! The entries of an export, and the text of their fields.

use super::cuts::{Cuts, first_request_and_last};
use super::work::Work;
use foldhash::HashMap;
pub use pisess_core::format::clip as cut;
use pisess_core::format::format_count;
use pisess_core::format::title::title_words;
use pisess_core::ops::branches::find_branches;
use pisess_core::ops::extract::write_part;
use pisess_core::ops::plan::copy_all;
use pisess_core::session::blobs::BlobStore;
use pisess_core::session::content::blocks_of_type;
use pisess_core::session::entry::{Entry, EntryIx, Flags, Kind, Slice};
use pisess_core::session::list_stats::is_command;
use pisess_core::session::range::EntryRange;
use pisess_core::session::read::batches::{BatchSize, split_batches};
use pisess_core::session::read::entry_reader::EntryReader;
use pisess_core::session::reference::Position;
use pisess_core::session::tree::{Tree, active_mask};
use pisess_core::session::usage::{Usage, UsageSums};
use pisess_core::session::{RequestScope, Session};
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::time::iso_string;
use pisess_store::ReadAt;
use pisess_store::workers::{self, Pool};
use std::fmt;
use std::io::{self, Write};
use std::ops::Range;

/// The maximum number of characters of a title.
const LONGEST_TITLE: usize = 120;

/// The maximum number of characters of the title in the name of a file.
const LONGEST_FILE_TITLE: usize = 50;

/// The contents of an export, shared by the threads that read it.
pub struct Contents<'a> {
    /// The session, loaded with rows.
    pub session: &'a Session,
    /// The bytes of its file.
    pub file: &'a dyn ReadAt,
    /// Where the images are that oh-my-pi keeps outside of its sessions.
    pub blobs: BlobStore,
    /// The exported entries, in file order.
    pub entries: Vec<EntryIx>,
    /// The leaf, or if it is not exported, its nearest ancestor that is. `None` if there is none.
    pub leaf: Option<EntryIx>,
    /// What is left out.
    pub cuts: Cuts,
    /// What the user asked to leave out. If the export would be too large, `cuts` leave out more.
    requested_cuts: Cuts,
    /// Where Markdown is displayed.
    pub display: Display,
    /// The Markdown that a renderer made of an entry, which is shown in place of its content.
    pub rendered: HashMap<EntryIx, String>,
    /// The requests of the exported part, including pruned ones: the time of each in milliseconds,
    /// and its usage. `None` if none was pruned.
    pub requests: Option<Vec<(i64, Usage)>>,
    /// The prompts, calls and times that the entries add to the sums; empty if the export does not
    /// show them.
    pub work: Work,
    /// The name of the session's file, if it is known.
    pub file_name: Option<String>,
    /// Whether the session was redacted for the export.
    pub is_redacted: bool,
    /// What is exported, without cuts.
    part: ExportedPart,
    /// For each entry of the session, its position in `entries`; [`NO_NUMBER`] if it is not
    /// exported.
    entry_numbers: Vec<u32>,
    /// The calls of the exported part, sorted by the id of the call, then by entry. Calls that a
    /// filter hides are among them: a result that is shown names its call.
    calls: Vec<CallEntry<'a>>,
    /// The exported results, sorted in the same way.
    results: Vec<CallEntry<'a>>,
}

/// The part of a session that is exported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportedPart {
    /// Every branch. The position is the leaf.
    AllBranches(Position),
    /// The entries of a range, such as the path to an entry.
    Range(EntryRange),
}

impl ExportedPart {
    /// Returns the range of the path that a document of one path contains.
    fn path_range(self) -> EntryRange {
        match self {
            ExportedPart::AllBranches(leaf) => EntryRange::path_to(leaf),
            ExportedPart::Range(range) => range,
        }
    }

    /// Returns which requests belong to the part.
    pub fn request_scope(self) -> RequestScope {
        match self {
            ExportedPart::AllBranches(_) => RequestScope::AllBranches,
            ExportedPart::Range(range) => RequestScope::Range(range),
        }
    }
}

/// An entry of [`Contents::path_from_first_request`].
struct PathEntry {
    ix: EntryIx,
    /// Whether the cut to the last entries ([`Cuts::last_entries`]) keeps it.
    is_kept: bool,
}

/// The number of entries and tool calls that an export omits at one place of its path.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Gap {
    entries: usize,
    /// The omitted tool calls, without the calls of the omitted `entries`.
    calls: usize,
}

impl Gap {
    /// Returns a note for readers, such as `Left out here: 2 messages`. `None` if the gap is empty.
    pub fn note(self) -> Option<String> {
        let mut parts = Vec::new();
        if self.entries > 0 {
            parts.push(format_count(self.entries, "message", "messages"));
        }
        if self.calls > 0 {
            parts.push(format_count(self.calls, "tool call", "tool calls"));
        }
        if parts.is_empty() {
            return None;
        }
        Some(format!("Left out here: {}", parts.join(", ")))
    }
}

/// An entry with a call, or with its result.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct CallEntry<'a> {
    /// The id of the call.
    id: &'a [u8],
    entry: EntryIx,
}

/// Where Markdown is displayed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Display {
    /// On a forge, which notifies those whom a text names, and links issues by their number.
    #[default]
    Forge,
    /// On a terminal, as it is.
    Terminal,
}

/// The number of an entry that is not exported.
const NO_NUMBER: u32 = u32::MAX;

/// What a document of one path leaves out.
#[derive(Clone, Copy, Debug, Default)]
pub struct OtherBranches {
    /// The branches that are not on the path.
    pub branches: usize,
    /// The entries of these branches, without bookkeeping. Notes for readers call them messages.
    pub entries: usize,
}

impl fmt::Display for OtherBranches {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let branches = format_count(self.branches, "other branch", "other branches");
        let messages = format_count(self.entries, "message", "messages");
        write!(f, "{branches} ({messages})")
    }
}

impl<'a> Contents<'a> {
    /// Returns the contents of a part of a session, without cuts.
    pub fn new(session: &'a Session, file: &'a dyn ReadAt, part: ExportedPart) -> Contents<'a> {
        let mut contents = Contents {
            session,
            file,
            blobs: BlobStore::default(),
            entries: Vec::new(),
            leaf: part.path_range().end.entry(),
            cuts: Cuts::default(),
            requested_cuts: Cuts::default(),
            display: Display::default(),
            rendered: HashMap::default(),
            requests: None,
            work: Work::default(),
            file_name: None,
            is_redacted: false,
            part,
            entry_numbers: Vec::new(),
            calls: Vec::new(),
            results: Vec::new(),
        };
        // Computes `entries`, `entry_numbers`, `calls` and `results`, which are still empty, and
        // the leaf again.
        contents.apply_cuts(Cuts::default());
        contents
    }

    /// Returns a reader of the exported entries, with their images.
    pub fn entry_reader(&self) -> EntryReader<'_> {
        EntryReader::new(self.session, self.file).with_blobs(&self.blobs)
    }

    /// Replaces the cuts by those that the user requested. Computes again what depends on the
    /// exported entries: their numbers, calls, results, and the leaf.
    pub fn apply_cuts(&mut self, cuts: Cuts) {
        self.requested_cuts = cuts;
        self.apply_larger_cuts(cuts);
    }

    /// Replaces the cuts by some that leave out more than the user asked for, so that the export is
    /// small enough. What the user asked for stays in `requested_cuts`.
    ///
    /// Computes again what depends on the exported entries: the entries themselves, their numbers,
    /// calls and results, and the leaf.
    pub fn apply_larger_cuts(&mut self, cuts: Cuts) {
        let session = self.session;
        self.cuts = cuts;

        // If only the last entries are exported, they are counted along this path.
        let path = self.part.path_range();
        let mut entries = match cuts.last_entries {
            Some(count) => first_request_and_last(session, path, count),
            None => self.entries_of_part(),
        };

        // The calls are found before a filter removes entries: a result that is shown needs its
        // call, which may be in a hidden reply.
        let calls = session.collected.tool_calls.iter();
        self.calls = self.sorted_call_entries(&entries, calls.map(|call| (call.entry, call.id)));

        // The results are found afterwards: a call links only to a result that is shown.
        cuts.retain_shown(session, path, &mut entries);
        let results = session.collected.tool_results.iter();
        self.results =
            self.sorted_call_entries(&entries, results.map(|result| (result.entry, result.text)));

        self.set_entries(entries);
        // From here on, `entry_number` returns the new numbers: an entry that has one is exported.
        self.leaf = session
            .ancestors(self.part.path_range().end.entry())
            .find(|&ix| self.entry_number(ix).is_some());
    }

    /// Returns the number of entries on the path of the exported part, whether they are shown or
    /// not.
    pub(super) fn path_len(&self) -> usize {
        self.part.path_range().entries(self.session).len()
    }

    /// Returns the entries of [`Self::part`], which is the whole session or a range of a path, in
    /// file order.
    fn entries_of_part(&self) -> Vec<EntryIx> {
        match self.part {
            // Indexes are in file order.
            ExportedPart::AllBranches(_) => self.session.entry_indexes().collect(),
            ExportedPart::Range(range) => {
                let mut entries = range.entries(self.session);
                // Sorts by file order, because a parent may follow its children in a file.
                entries.sort_unstable();
                entries
            }
        }
    }

    /// Sets the exported entries, and numbers them by their positions.
    fn set_entries(&mut self, entries: Vec<EntryIx>) {
        let mut entry_numbers = vec![NO_NUMBER; self.session.entries.len()];
        for (number, ix) in entries.iter().enumerate() {
            entry_numbers[ix.index()] = number as u32;
        }
        self.entries = entries;
        self.entry_numbers = entry_numbers;
    }

    /// Returns those of the calls or results that have an id and are in one of `entries`, sorted by
    /// the id of the call, then by entry. `entries` is in file order.
    ///
    /// `calls_or_results` has the entry of each, and where the session stores the id of the call.
    fn sorted_call_entries(
        &self,
        entries: &[EntryIx],
        calls_or_results: impl Iterator<Item = (EntryIx, Slice)>,
    ) -> Vec<CallEntry<'a>> {
        let mut call_entries = Vec::new();
        for (entry, id) in calls_or_results {
            let id = self.session.bytes(id);
            if !id.is_empty() && entries.binary_search(&entry).is_ok() {
                call_entries.push(CallEntry { id, entry });
            }
        }
        call_entries.sort_unstable();
        call_entries
    }

    /// Returns the usage of the exported part. Pruned requests count, and so do requests of entries
    /// that the cuts leave out.
    pub fn usage(&self) -> UsageSums {
        if let Some(requests) = &self.requests {
            return requests.iter().map(|(_, usage)| usage).collect();
        }
        let requests = self.session.requests(self.part.request_scope());
        requests.into_iter().map(|request| &request.usage).collect()
    }

    /// Returns the exported entries on the path to the leaf, from the root.
    pub fn exported_path(&self) -> Vec<EntryIx> {
        let mut path = self.session.path(self.leaf);
        path.retain(|&ix| self.entry_number(ix).is_some());
        path
    }

    /// Returns a predicate for the number of an exported entry: whether the entry is on the path to
    /// the leaf. The number is a decimal string, as in markup.
    pub fn path_predicate(&self) -> impl Fn(&str) -> bool + '_ {
        let on_path = active_mask(self.session, self.leaf);
        move |number| {
            let Ok(number) = number.parse::<usize>() else {
                return false;
            };
            match self.entries.get(number) {
                Some(ix) => on_path[ix.index()],
                None => false,
            }
        }
    }

    /// Returns, for each exported entry, the number of its nearest ancestor that is exported.
    pub fn exported_parents(&self, tree: &Tree) -> Vec<Option<u32>> {
        let session = self.session;
        // For each entry of the session, the number of its nearest exported ancestor.
        let mut nearest_exported: Vec<Option<u32>> = vec![None; session.entries.len()];
        // The walk visits a parent before its children, so the parent's item is known when a child
        // copies it. The order of siblings makes no difference, so none is marked as active.
        let is_active = vec![false; session.entries.len()];
        for ix in tree.walk(&is_active) {
            if let Some(parent) = session.entry(ix).parent {
                nearest_exported[ix.index()] = self
                    .entry_number(parent)
                    .or(nearest_exported[parent.index()]);
            }
        }
        self.entries
            .iter()
            .map(|ix| nearest_exported[ix.index()])
            .collect()
    }

    /// Writes the exported entries as a session file. If all branches are exported, this is the
    /// whole file, and else the title, the header and the lines of the entries.
    pub fn write_session(&self, out: &mut dyn Write) -> io::Result<()> {
        if matches!(self.part, ExportedPart::AllBranches(_)) {
            return copy_all(self.file, out);
        }
        let reader = EntryReader::new(self.session, self.file);
        write_part(&reader, &self.entries, out)
    }

    /// Calls `make` for each of the entries, on `workers` threads, each with a [`ContentsReader`]
    /// of its own. Calls `take` with each result on this thread, in the order of the entries. Ends
    /// at the first error.
    pub fn for_each_in_order<T: Send>(
        &self,
        entries: &[EntryIx],
        workers: usize,
        make: impl Fn(&ContentsReader, EntryIx) -> io::Result<T> + Sync,
        mut take: impl FnMut(T) -> io::Result<()>,
    ) -> io::Result<()> {
        // In batches: handing over a single result takes longer than making most of them.
        let batches = split_batches(entries, BatchSize::default(), |&ix| {
            self.session.entry(ix).span.len
        });
        let sources = Pool::new(|| ContentsReader::new(self));
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

    /// Returns the note for readers on what is left out; `None` if a reader would miss nothing.
    ///
    /// In a document of one path, `other_branches` is the result of
    /// [`Contents::describe_other_branches`]. A page, which shows all branches, passes `None`.
    pub fn omission_note(&self, other_branches: Option<String>) -> Option<String> {
        let mut omitted_count = 0;
        // Without this cut, no entry is omitted, so the path need not be walked.
        if self.cuts.last_entries.is_some() {
            for entry in self.path_from_first_request() {
                if !entry.is_kept {
                    omitted_count += 1;
                }
            }
        }
        self.cuts.omission_note(omitted_count, other_branches)
    }

    /// Returns the entries of the path from its first request on, or all of them if there is no
    /// request. Each entry has whether the cut to the last entries keeps it.
    ///
    /// What precedes the first request is not included, because readers do not miss it.
    fn path_from_first_request(&self) -> Vec<PathEntry> {
        let session = self.session;
        let path = self.part.path_range().entries(session);
        // `None` if there is no cut. Sorted, as the binary search below requires.
        let kept = self
            .cuts
            .last_entries
            .map(|count| first_request_and_last(session, self.part.path_range(), count));
        let first_request = path
            .iter()
            .position(|&ix| session.entry(ix).flags.contains(Flags::USER_REQUEST));

        let mut entries = Vec::new();
        for &ix in &path[first_request.unwrap_or(0)..] {
            let is_kept = match &kept {
                Some(kept) => kept.binary_search(&ix).is_ok(),
                None => true,
            };
            entries.push(PathEntry { ix, is_kept });
        }
        entries
    }

    /// Whether thinking is left out only so that the export is small enough.
    pub fn omits_thinking_for_size(&self) -> bool {
        self.cuts.omits_thinking && !self.requested_cuts.omits_thinking
    }

    /// Counts what the size limit omits between the entries of the exported path: entries between
    /// the first request and the last entries, and tool calls. What the user asked to leave out is
    /// not counted.
    ///
    /// The gap at index N is before the entry at index N of `exported_path`; the last gap is after
    /// the end of the path.
    pub fn find_gaps(&self, exported_path: &[EntryIx]) -> Vec<Gap> {
        let mut gaps = vec![Gap::default(); exported_path.len() + 1];
        if self.cuts == self.requested_cuts {
            return gaps;
        }

        let omitted_calls = self.count_omitted_calls();
        let mut gap_after_entry: HashMap<EntryIx, usize> = HashMap::default();
        for (index, &ix) in exported_path.iter().enumerate() {
            gap_after_entry.insert(ix, index + 1);
        }
        // The gap at the current place of the path: the one after the last exported entry so far.
        let mut current_gap = 0;
        for entry in self.path_from_first_request() {
            if let Some(&gap_after) = gap_after_entry.get(&entry.ix) {
                current_gap = gap_after;
            }
            if !entry.is_kept {
                gaps[current_gap].entries += 1;
                continue;
            }
            // Another cut, such as the one of tools, may omit an entry that this cut keeps. Its
            // calls are in the same gap as those of the last exported entry before it.
            let calls = omitted_calls.get(&entry.ix).copied();
            gaps[current_gap].calls += calls.unwrap_or(0);
        }
        gaps
    }

    /// Returns the number of the tool calls of each entry that are omitted only so that the export
    /// is small enough; none if the user asked to leave out tool calls, or if they are not omitted.
    fn count_omitted_calls(&self) -> HashMap<EntryIx, usize> {
        let mut call_counts: HashMap<EntryIx, usize> = HashMap::default();
        if self.cuts.omits_tools && !self.requested_cuts.omits_tools {
            for call in &self.session.collected.tool_calls {
                *call_counts.entry(call.entry).or_default() += 1;
            }
        }
        call_counts
    }

    /// Returns the note of a document that shows no entry.
    pub fn note_if_empty(&self) -> &'static str {
        for ix in self.part.path_range().entries(self.session) {
            if self.session.entry(ix).kind == Kind::Message {
                return "No message of this session is shown here.";
            }
        }
        "This session has no messages."
    }

    /// Returns the result of [`Contents::count_other_branches`] in words, such as
    /// `2 other branches (7 messages)`.
    pub fn describe_other_branches(&self) -> Option<String> {
        Some(self.count_other_branches()?.to_string())
    }

    /// Counts the branches that are not on the exported path, and their entries, without those that
    /// only annotate the session, such as labels. `None` if either number is 0, or if the user
    /// chose another part than the whole path to the leaf.
    pub fn count_other_branches(&self) -> Option<OtherBranches> {
        let session = self.session;
        if self.part.path_range() != EntryRange::path_to(session.leaf.into()) {
            return None;
        }

        let mut branch_count = 0;
        for branch in find_branches(session, &Tree::new(session)) {
            if !branch.active {
                branch_count += 1;
            }
        }
        let on_path = active_mask(session, session.leaf);
        let mut entry_count = 0;
        for ix in session.entry_indexes() {
            if !on_path[ix.index()] && !session.entry(ix).kind.is_bookkeeping() {
                entry_count += 1;
            }
        }
        if branch_count == 0 || entry_count == 0 {
            return None;
        }
        Some(OtherBranches {
            branches: branch_count,
            entries: entry_count,
        })
    }

    /// Returns the name of the session; `None` if it has none.
    pub fn session_name(&self) -> Option<String> {
        self.session
            .name()
            .map(|name| name.to_string_lossy().into_owned())
    }

    /// Returns the title of the export: the name of the session, or else the first exported
    /// request. Without either, the title is made of the working directory and the day of the first
    /// message, as in `pisess, 2026-03-14`.
    pub fn title(&self) -> String {
        if let Some(title) = self.session_name().or_else(|| self.first_request()) {
            return cut(&title, LONGEST_TITLE);
        }

        let header = &self.session.header;
        let mut parts = Vec::new();
        let cwd = header.cwd.as_ref().map(Text::to_string_lossy);
        let cwd = cwd.unwrap_or_default();
        // The last name in the path; a separator may follow it.
        let project = cwd.rsplit(['/', '\\']).find(|part| !part.is_empty());
        parts.extend(project);

        let header_time = header.timestamp.as_ref().map(Text::to_string_lossy);
        // A fork or an import has a header that is newer than its messages.
        let time = match self.first_message_time() {
            Some(time_ms) => iso_string(time_ms),
            None => header_time.unwrap_or_default().into_owned(),
        };
        parts.extend(day_of_iso_time(&time));
        parts.join(", ")
    }

    /// Returns a name for the exported file, without extension: the day of the first message, words
    /// of the title, and `id`, as in `2026-03-14-why-does-it-fail-6e8a4d70`.
    ///
    /// The name has only letters and digits of any script, and hyphens. No system and no shell
    /// treats any of these specially.
    pub fn file_name_of_title(&self, id: &str) -> String {
        let mut parts = Vec::new();
        if let Some(time_ms) = self.first_message_time()
            && let Some(day) = day_of_iso_time(&iso_string(time_ms))
        {
            parts.push(day.to_owned());
        }

        parts.extend(words_for_file_name(&self.title()));
        let plain_id: String = id.chars().filter(|c| c.is_alphanumeric()).collect();
        parts.push(plain_id);
        parts.join("-")
    }

    /// Returns the time of the first exported message that has a time, in milliseconds since 1970.
    fn first_message_time(&self) -> Option<i64> {
        for &ix in &self.entries {
            let entry = self.session.entry(ix);
            let has_time = entry.time_ms != Entry::NO_TIME;
            if entry.kind == Kind::Message && has_time {
                return Some(entry.time_ms);
            }
        }
        None
    }

    /// Returns the first exported request, on one line. Blank requests are skipped, and so are
    /// commands such as `/model`. If all requests are commands, returns the first command.
    fn first_request(&self) -> Option<String> {
        let mut first_command = None;
        for &ix in &self.entries {
            if !self.session.entry(ix).flags.contains(Flags::USER_REQUEST) {
                continue;
            }
            let row = self.session.row_parts(ix).body;
            let request = title_words(&row.to_string_lossy());
            if request.trim().is_empty() {
                continue;
            }
            if !is_command(&row) {
                return Some(request);
            }
            if first_command.is_none() {
                first_command = Some(request);
            }
        }
        first_command
    }

    /// Returns the number of an entry: its position in `entries`. `None` if it is not exported.
    pub fn entry_number(&self, ix: EntryIx) -> Option<u32> {
        let number = *self.entry_numbers.get(ix.index())?;
        if number == NO_NUMBER {
            return None;
        }
        Some(number)
    }

    /// Returns the id of an entry, for people.
    pub fn entry_id(&self, ix: EntryIx) -> String {
        self.session.id(ix).to_string_lossy().into_owned()
    }

    /// Returns the entry with the call that a result answers: the last entry before the result that
    /// has a call with this id. Calls of different turns may have the same id. The entry is in the
    /// exported part, but a filter may hide it.
    fn nearest_call(&self, id: &[u8], result: EntryIx) -> Option<EntryIx> {
        // The calls are sorted by id, then by entry. So the nearest call directly precedes the
        // position at which the result would be inserted.
        let result = CallEntry { id, entry: result };
        let calls_before = self.calls.partition_point(|call| *call < result);
        let nearest = self.calls[..calls_before].last()?;
        if nearest.id == id {
            Some(nearest.entry)
        } else {
            None
        }
    }

    /// Returns the entry with the result of a call. `None` if there is no result, or if the result
    /// answers a later call with the same id.
    pub fn matching_result(&self, id: &[u8], call: EntryIx) -> Option<EntryIx> {
        let result = self.nearest_result(id, call)?;
        if self.nearest_call(id, result) != Some(call) {
            return None;
        }
        Some(result)
    }

    /// Whether a result is the [`Contents::matching_result`] of an exported call.
    pub fn is_matching_result(&self, id: &[u8], result: EntryIx) -> bool {
        let Some(call) = self.nearest_call(id, result) else {
            return false;
        };
        let is_exported = self.entry_number(call).is_some();
        is_exported && self.nearest_result(id, call) == Some(result)
    }

    /// Returns the entry with the result of a call: the first exported entry after the call that
    /// has a result with this id. The result may answer a later call with the same id, too: see
    /// [`Contents::matching_result`].
    pub fn nearest_result(&self, id: &[u8], call: EntryIx) -> Option<EntryIx> {
        // The results are sorted by id, then by entry. So the nearest result directly follows the
        // position at which the call would be inserted.
        let call = CallEntry { id, entry: call };
        let results_before = self.results.partition_point(|result| *result <= call);
        let nearest = self.results.get(results_before)?;
        if nearest.id == id {
            Some(nearest.entry)
        } else {
            None
        }
    }
}

/// A reader of [`Contents`], for one thread.
pub struct ContentsReader<'a> {
    /// The contents to read.
    pub contents: &'a Contents<'a>,
    /// Reads the entries that are exported.
    pub reader: EntryReader<'a>,
    /// Reads the calls of results, which may be far before the entry that `reader` reads.
    call_reader: EntryReader<'a>,
}

impl<'a> ContentsReader<'a> {
    /// Returns a new reader of these contents.
    pub fn new(contents: &'a Contents<'a>) -> ContentsReader<'a> {
        ContentsReader {
            contents,
            reader: contents.entry_reader(),
            call_reader: EntryReader::new(contents.session, contents.file),
        }
    }

    /// Calls `use_call` with the block of the call that the tool result at the entry `result`
    /// answers, or with `null` if there is no such call. Returns what `use_call` returns. `id` is
    /// the id of the call.
    pub fn with_call<T>(
        &self,
        id: &[u8],
        result: EntryIx,
        use_call: impl FnOnce(Raw) -> T,
    ) -> io::Result<T> {
        let Some(ix) = self.contents.nearest_call(id, result) else {
            return Ok(use_call(Raw::NULL));
        };
        self.call_reader.with_message(ix, |message| {
            let content = message.get("content").unwrap_or(Raw::NULL);
            for call in blocks_of_type(content, "toolCall") {
                let call_id = call.get_text("id");
                if call_id.is_some_and(|call_id| call_id.as_bytes() == id) {
                    return use_call(call);
                }
            }
            use_call(Raw::NULL)
        })
    }
}

/// Returns the first words of a title in lower case, as many whole words as fit into
/// [`LONGEST_FILE_TITLE`] characters. Each word counts with the character after it, a hyphen in the
/// name of the file.
fn words_for_file_name(title: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut char_count = 0;
    let title = title.to_lowercase();
    for word in title.split(|c: char| !c.is_alphanumeric()) {
        char_count += word.chars().count() + "-".len();
        if char_count > LONGEST_FILE_TITLE {
            break;
        }
        // Two separators in a row have an empty word between them.
        if !word.is_empty() {
            words.push(word.to_owned());
        }
    }
    words
}

/// Returns the day of a time in ISO 8601: `2026-01-31` of `2026-01-31T12:00:00.000Z`. `None` if the
/// text is shorter than a day.
fn day_of_iso_time(time: &str) -> Option<&str> {
    time.get(.."2026-01-31".len())
}

/// Returns the text of a JSON string; `None` if the value is not a string.
pub fn decode_string(value: Raw) -> Option<String> {
    value.text().map(|text| text.to_string_lossy().into_owned())
}

/// Returns the text of a JSON string, or any other value as JSON.
pub fn string_or_json(value: Raw) -> String {
    decode_string(value).unwrap_or_else(|| String::from_utf8_lossy(value.bytes()).into_owned())
}
