//! Sessions of pi, written as sessions of Claude Code and Codex: the way back from an import.
//!
//! ```text
//! entries of pi ── walk: what the model sees of each ── claude::write, codex::write ──> lines
//! ```
//!
//! The walk is the same for every agent. It follows the rules of pi: failed turns are left out,
//! edits are applied, and each call has exactly one result, directly after its turn. A writer
//! converts the rest to lines of its agent.
//!
//! Each line has a member `pisess` with the entry from which it was made. An import restores the
//! entry from it ([`returned`](super::returned)). An entry that the model does not see becomes a
//! line of the type `pisess`, which the agents skip.

use crate::parts::type_and_text;
use foldhash::{HashMap, HashSet};
use pisess_core::agents::pi::context::entry_messages;
use pisess_core::agents::pi::edits::ContextEdit;
use pisess_core::agents::pi::llm::convert_message;
use pisess_core::ops::rows::find_edits;
use pisess_core::session::Session;
use pisess_core::session::content::{blocks_of_type, find_members, is_block};
use pisess_core::session::entry::{EntryIx, Kind};
use pisess_core::session::read::entry_reader::EntryReader;
use pisess_core::session::tree::active_mask;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::time::date_from_value;
use std::io::{self, Write};
use std::path::PathBuf;
use std::rc::Rc;

/// The session of another agent that is made of a session of pi.
#[derive(Clone, Copy)]
pub struct NativeTarget<'a> {
    /// How the agent writes sessions.
    pub format: &'static dyn NativeFormat,
    /// The id of the session, a UUID.
    pub session_id: &'a str,
    /// Its working directory.
    pub cwd: &'a Text<'a>,
    /// When it is made, in milliseconds since 1970. Entries at the start that have no time get this
    /// time.
    pub created_ms: i64,
}

/// Writes a session of pi as a session of another agent. `reader` reads the entries.
///
/// Returns whether the model sees anything at the leaf. If not, the agent cannot continue the
/// session.
pub fn write_native_session(
    reader: &EntryReader,
    target: &NativeTarget,
    out: &mut dyn Write,
) -> io::Result<bool> {
    let writer = target.format.new_writer(target, reader.session(), out)?;
    Walk::new(reader, target, writer)?.write_all_entries()
}

/// A line for the file in which an agent lists the titles of sessions.
pub struct TitleList {
    /// The file, in the directory of the agent.
    pub file_name: &'static str,
    /// The line for the session, with its newline.
    pub line: Vec<u8>,
}

/// How sessions of pi are written for an agent.
pub trait NativeFormat: Sync {
    /// Begins a session.
    fn new_writer<'a>(
        &self,
        target: &NativeTarget<'a>,
        session: &Session,
        out: &'a mut dyn Write,
    ) -> io::Result<Box<dyn NativeWriter + 'a>>;

    /// Returns where the agent looks for the session, below its own directory.
    fn file_path(&self, target: &NativeTarget) -> PathBuf;

    /// Returns the line that lists the title of a session; `None` if the agent finds titles in the
    /// sessions themselves.
    fn title_list(&self, _target: &NativeTarget, _title: &Text) -> Option<TitleList> {
        None
    }
}

/// Writes lines of an agent.
pub trait NativeWriter {
    /// Whether the agent has branches. Otherwise, entries of other branches are written as entries
    /// that the model does not see.
    fn has_branches(&self) -> bool;

    /// Returns the part of a call's id in the session of pi that is the id for the agent's API.
    fn call_id<'i>(&self, own_id: &'i str) -> &'i str;

    /// Writes what the model sees of an entry. Returns the line that later lines follow.
    fn write_seen(&mut self, source: &SourceEntry, seen: &ModelMessage) -> io::Result<LineIx>;

    /// Writes an entry that the model does not see.
    fn write_unseen(&mut self, source: &SourceEntry) -> io::Result<()>;

    /// Writes a name of the session.
    fn write_title(&mut self, source: &SourceEntry, name: &Text) -> io::Result<()>;

    /// Writes the result [`MISSING_RESULT`] for a call that has no result, after `parent`. Returns
    /// the line of the result.
    fn write_missing_result(
        &mut self,
        parent: Option<LineIx>,
        time_ms: i64,
        call: &OpenCall,
    ) -> io::Result<LineIx>;

    /// Ends the session. `leaf` is the line at which the agent continues; `None` if the model sees
    /// nothing.
    fn finish(self: Box<Self>, leaf: Option<LineIx>) -> io::Result<()>;
}

/// A line that the model sees, by its number among such lines, from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LineIx(pub u32);

/// An entry of the session of pi that is to be written.
pub struct SourceEntry<'a> {
    /// The line of the new session that it follows.
    pub parent: Option<LineIx>,
    /// Its time in milliseconds since 1970.
    pub time_ms: i64,
    /// The entry as pi stores it.
    pub entry: Raw<'a>,
}

/// What the model sees of an entry.
pub enum ModelMessage<'a> {
    /// A message of the user, or of pi in the name of the user, with this content.
    User {
        content: Raw<'a>,
        visibility: Visibility,
    },
    /// A response. Its calls are in the order of its blocks.
    Response {
        message: Raw<'a>,
        calls: &'a [OpenCall],
    },
    /// The result of a call.
    Result {
        message: Raw<'a>,
        call: &'a OpenCall,
    },
    /// The summary of a compaction, and the lines before it that the compaction keeps.
    Compaction {
        content: Raw<'a>,
        kept: &'a [LineIx],
    },
}

/// Whether the user sees a message, too.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Visibility {
    Shown,
    Hidden,
}

/// A call whose result has not been written.
#[derive(Clone, Debug)]
pub struct OpenCall {
    /// Its id in the session of pi.
    source_id: Text<'static>,
    /// Its id in the new session, which is unique there.
    pub id: Text<'static>,
}

/// The result of a call that has none, as pi sends it.
pub const MISSING_RESULT: &str = "No result provided";

/// The maximum length of an id of a call in the APIs, in characters.
const MAX_ID_LEN: usize = 64;

/// What was written on a branch up to an entry: the state from which each of its children
/// continues.
#[derive(Clone, Default)]
struct BranchState {
    /// The last line that the model sees.
    line: Option<LineIx>,
    /// The last response.
    response: Option<EntryIx>,
    /// The calls of that response that still need a result. The branches below the response share
    /// the list, because most of them do not change it.
    open_calls: Rc<Vec<OpenCall>>,
    /// Whether [`Walk::last_seen`] is this entry or an ancestor of it.
    is_below_last: bool,
}

/// An entry of the session of pi, as it is read from the file.
#[derive(Clone, Copy)]
struct StoredEntry<'e> {
    ix: EntryIx,
    kind: Kind,
    json: Raw<'e>,
}

/// A walk over the entries of a session.
struct Walk<'a> {
    reader: &'a EntryReader<'a>,
    writer: Box<dyn NativeWriter + 'a>,
    /// The edits in effect.
    edits: HashMap<EntryIx, ContextEdit>,
    /// Whether an entry is on the path to the leaf, by its index.
    is_active: Vec<bool>,
    /// The last entry on that path that the model sees.
    last_seen: Option<EntryIx>,
    /// The last compaction on that path.
    last_compaction: Option<EntryIx>,
    /// Whether an entry was written, by its index.
    is_written: Vec<bool>,
    /// For each entry, by its index, the number of its children that were not written yet. The leaf
    /// has one more, because the end of the session needs the state after it.
    unwritten_children: Vec<u32>,
    /// For each entry with unwritten children, by its index, the state after it.
    states: Vec<Option<BranchState>>,
    /// The lines of messages on the path to the leaf, each with its entry. Summaries are not among
    /// them. The result written for a call that had none is listed with the entry of the call.
    active_lines: Vec<(EntryIx, LineIx)>,
    call_ids: CallIds,
    /// The time of the entry that is being written.
    time_ms: i64,
    /// The branch of the entry that is being written: before it is written, the state after its
    /// parent, and then the state after the entry.
    branch: BranchState,
}

impl<'a> Walk<'a> {
    /// Prepares a walk before its first entry. Finds the edits in effect, and counts for each entry
    /// how many children need the state after it.
    fn new(
        reader: &'a EntryReader<'a>,
        target: &NativeTarget,
        writer: Box<dyn NativeWriter + 'a>,
    ) -> io::Result<Walk<'a>> {
        let session = reader.session();
        let mut unwritten_children = vec![0; session.entries.len()];
        for entry in &session.entries {
            if let Some(parent) = entry.parent {
                unwritten_children[parent.index()] += 1;
            }
        }
        // The end of the session counts as a child of the leaf.
        if let Some(leaf) = session.leaf {
            unwritten_children[leaf.index()] += 1;
        }
        let is_compaction = |ix: &EntryIx| session.entry(*ix).kind == Kind::Compaction;
        Ok(Walk {
            reader,
            writer,
            edits: find_edits(reader, session.leaf)?,
            is_active: active_mask(session, session.leaf),
            last_seen: None,
            last_compaction: session.ancestors(session.leaf).find(is_compaction),
            is_written: vec![false; session.entries.len()],
            unwritten_children,
            states: vec![None; session.entries.len()],
            active_lines: Vec::new(),
            call_ids: CallIds::default(),
            time_ms: target.created_ms,
            branch: BranchState::default(),
        })
    }

    /// Writes all entries, each after its parent, and otherwise in the order of the file. Returns
    /// whether the model sees anything at the leaf.
    fn write_all_entries(mut self) -> io::Result<bool> {
        self.last_seen = self.find_last_seen()?;
        let session = self.reader.session();
        for ix in session.entry_indexes() {
            // In a file, a parent may follow its children, so unwritten ancestors come first.
            let mut unwritten = Vec::new();
            for above in session.ancestors(Some(ix)) {
                if self.is_written[above.index()] {
                    break;
                }
                unwritten.push(above);
            }
            for entry in unwritten.into_iter().rev() {
                self.write_entry(entry)?;
            }
        }

        // The agent continues at the leaf, so no call of its branch may remain without a result.
        self.branch = self.take_state_after(session.leaf);
        self.close_calls()?;
        let last_line = self.branch.line;
        self.writer.finish(last_line)?;
        Ok(last_line.is_some())
    }

    /// Returns the state after an entry, for the next of its children to be written. If `ix` is
    /// `None`, this is the state before the first entry.
    ///
    /// The last child takes the state itself and other children a copy, so that few states are
    /// held. Counts the child as written.
    fn take_state_after(&mut self, ix: Option<EntryIx>) -> BranchState {
        let Some(ix) = ix else {
            return BranchState::default();
        };
        let unwritten_children = &mut self.unwritten_children[ix.index()];
        *unwritten_children = unwritten_children.saturating_sub(1);
        let is_last_child = *unwritten_children == 0;

        let kept_state = &mut self.states[ix.index()];
        let state = if is_last_child {
            kept_state.take()
        } else {
            kept_state.clone()
        };
        state.unwrap_or_default()
    }

    /// Writes an entry as lines of the new session. Its parent must have been written. If it has
    /// children that were not written yet, stores the state after the entry for them.
    fn write_entry(&mut self, ix: EntryIx) -> io::Result<()> {
        let line = self.reader.read_line(ix)?;
        let session = self.reader.session();
        let entry = StoredEntry {
            ix,
            kind: session.entry(ix).kind,
            json: Raw::from_checked(line.trim_ascii()),
        };
        // An entry without a time gets that of the entry written before it.
        if let Some(time_ms) = date_from_value(entry.json.get("timestamp")) {
            self.time_ms = time_ms;
        }

        self.branch = self.take_state_after(session.entry(ix).parent);
        if self.may_be_seen(&entry) {
            self.write_as_seen(&entry)?;
        } else {
            self.write_unseen(&entry)?;
        }
        if Some(ix) == self.last_seen {
            self.branch.is_below_last = true;
        }

        self.is_written[ix.index()] = true;
        if self.unwritten_children[ix.index()] > 0 {
            self.states[ix.index()] = Some(std::mem::take(&mut self.branch));
        }
        Ok(())
    }

    /// Whether an entry may be written as lines that the model sees.
    ///
    /// The agents continue a session below its last line on the path. So entries below that line on
    /// other branches are written as unseen: they would be taken for the end of the session.
    ///
    /// The agents apply the last compaction of the file. So all other compactions are written as
    /// unseen, too: if each listed what it keeps, the file would grow with the square of their
    /// number.
    fn may_be_seen(&self, entry: &StoredEntry) -> bool {
        if entry.kind == Kind::Compaction {
            return Some(entry.ix) == self.last_compaction;
        }
        if self.is_active[entry.ix.index()] {
            return true;
        }
        self.writer.has_branches() && !self.branch.is_below_last
    }

    /// Returns the last entry on the path to the leaf that the model sees. Labels and other
    /// bookkeeping may follow it. Decides by the same rules as
    /// [`write_as_seen`](Self::write_as_seen).
    fn find_last_seen(&self) -> io::Result<Option<EntryIx>> {
        // The path is walked upwards. A result counts only if its call is above, so the results are
        // gathered until their response is found: the last one first.
        let mut results = Vec::new();
        for ix in self.reader.session().ancestors(self.reader.session().leaf) {
            let Some(message) = self.message_for_model(ix)? else {
                continue;
            };
            let message = Raw::from_checked(&message);
            let content = message.get("content").unwrap_or(Raw::NULL);
            let role = message.get_text("role").unwrap_or_default();
            if role == *"toolResult" {
                let call_id = message.get_text("toolCallId").unwrap_or_default();
                results.push((ix, call_id.into_owned()));
            } else if role == *"assistant" && is_sent(message) {
                // The results of this response are below it, so the last of them is seen last.
                let last_answer = find_last_answer(content, &results);
                return Ok(Some(last_answer.unwrap_or(ix)));
            } else if role == *"user" && has_content(content) {
                return Ok(Some(ix));
            }
        }
        Ok(None)
    }

    /// Writes an entry that the model does not see. The branch continues as if the entry were not
    /// there.
    fn write_unseen(&mut self, entry: &StoredEntry) -> io::Result<()> {
        self.writer.write_unseen(&self.source_entry(entry))
    }

    /// Writes an entry that the model may see, by the role of the message that pi sends for it. If
    /// pi sends none, or the APIs would refuse it, the model does not see the entry, and it is
    /// written as unseen.
    fn write_as_seen(&mut self, entry: &StoredEntry) -> io::Result<()> {
        if entry.kind == Kind::SessionInfo {
            return self.write_title(entry);
        }
        let Some(message) = self.message_for_model(entry.ix)? else {
            return self.write_unseen(entry);
        };
        let message = Raw::from_checked(&message);
        let content = message.get("content").unwrap_or(Raw::NULL);
        let role = message.get_text("role").unwrap_or_default();
        if role == *"user" {
            // pi sends the summary of a compaction in the name of the user.
            if entry.kind == Kind::Compaction {
                return self.write_compaction(entry, content);
            }
            if has_content(content) {
                return self.write_user_message(entry, content);
            }
        } else if role == *"assistant" && is_sent(message) {
            return self.write_response(entry, message);
        } else if role == *"toolResult" {
            return self.write_result(entry, message);
        }
        self.write_unseen(entry)
    }

    /// Returns the JSON of the message that pi sends for an entry, with the edit of the entry
    /// applied. `None` if pi sends none.
    fn message_for_model(&self, ix: EntryIx) -> io::Result<Option<Vec<u8>>> {
        let edit = self.edits.get(&ix).copied();
        // A compaction may have a system message before its summary.
        let messages = entry_messages(ix, edit, self.reader)?;
        let Some(message) = messages.last() else {
            return Ok(None);
        };
        message.with_json(self.reader, |json| {
            convert_message(json).map(|converted| converted.into_owned())
        })
    }

    /// Writes a name of the session. An entry that removes the name is written as unseen, because
    /// the agents cannot remove a title.
    fn write_title(&mut self, entry: &StoredEntry) -> io::Result<()> {
        let name = entry.json.get_text("name").unwrap_or_default();
        if name.is_blank() {
            return self.write_unseen(entry);
        }
        self.writer.write_title(&self.source_entry(entry), &name)
    }

    /// Writes a message of the user with this content, after the missing results of the last
    /// response.
    fn write_user_message(&mut self, entry: &StoredEntry, content: Raw) -> io::Result<()> {
        self.close_calls()?;
        let visibility = match entry.json.get("display").and_then(Raw::bool) {
            Some(false) => Visibility::Hidden,
            _ => Visibility::Shown,
        };
        let seen = ModelMessage::User {
            content,
            visibility,
        };
        self.write_line(entry, &seen)
    }

    /// Writes a response, after the missing results of the response before it. The calls of the new
    /// response are open from then on: each needs a result before the next message.
    fn write_response(&mut self, entry: &StoredEntry, message: Raw) -> io::Result<()> {
        self.close_calls()?;
        let content = message.get("content").unwrap_or(Raw::NULL);
        let mut calls = Vec::new();
        for block in blocks_of_type(content, "toolCall") {
            let source_id = block.get_text("id").unwrap_or_default().into_owned();
            let wanted_id = source_id.to_string_lossy();
            let id = self.call_ids.assign(self.writer.call_id(&wanted_id));
            calls.push(OpenCall { source_id, id });
        }
        let seen = ModelMessage::Response {
            message,
            calls: &calls,
        };
        self.write_line(entry, &seen)?;
        self.branch.response = Some(entry.ix);
        self.branch.open_calls = Rc::new(calls);
        Ok(())
    }

    /// Writes the result of a call. `message` is what pi sends of `entry`.
    ///
    /// The call must be open: made by the last response on the branch, and without a result so far.
    /// Any other result is written as an entry that the model does not see, because the APIs of the
    /// models refuse a conversation with a second result of a call, or with a result whose call is
    /// missing.
    fn write_result(&mut self, entry: &StoredEntry, message: Raw) -> io::Result<()> {
        // As in `write_response`, a missing id is an empty one.
        let source_id = message.get_text("toolCallId").unwrap_or_default();
        let mut open_calls = self.branch.open_calls.iter();
        let Some(index) = open_calls.position(|call| call.source_id == source_id) else {
            return self.write_unseen(entry);
        };
        // Other branches below the response may share the list. If so, `make_mut` copies it for
        // this branch, and the call remains open on the others.
        let call = Rc::make_mut(&mut self.branch.open_calls).remove(index);
        let seen = ModelMessage::Result {
            message,
            call: &call,
        };
        self.write_line(entry, &seen)
    }

    /// Writes a compaction with the lines that it keeps: the lines of the entries from its first
    /// kept entry on. `content` is its summary.
    fn write_compaction(&mut self, entry: &StoredEntry, content: Raw) -> io::Result<()> {
        self.close_calls()?;
        let first_kept = entry.json.get_text("firstKeptEntryId");
        let kept_entries = self.list_kept_entries(entry.ix, first_kept);
        let mut kept = Vec::new();
        for (line_entry, line) in &self.active_lines {
            if kept_entries.contains(line_entry) {
                kept.push(*line);
            }
        }
        let seen = ModelMessage::Compaction {
            content,
            kept: &kept,
        };
        // Not by `write_line`, which would list the summary among the lines that a compaction may
        // keep.
        let line = self.writer.write_seen(&self.source_entry(entry), &seen)?;
        self.branch.line = Some(line);
        Ok(())
    }

    /// Returns the ancestors that a compaction keeps. `first_kept` is the id of the first of them.
    /// Returns none if it is not an ancestor: a compaction that keeps nothing names itself.
    fn list_kept_entries(&self, compaction: EntryIx, first_kept: Option<Text>) -> HashSet<EntryIx> {
        let session = self.reader.session();
        let Some(first_kept) = first_kept.and_then(|id| session.find_entry(&id)) else {
            return HashSet::default();
        };
        // From the compaction upwards, to the first kept entry.
        let mut kept = HashSet::default();
        for above in session.ancestors(session.entry(compaction).parent) {
            kept.insert(above);
            if above == first_kept {
                return kept;
            }
        }
        HashSet::default()
    }

    /// Writes a line that the model sees, and records it in `active_lines` if it is on the path. A
    /// summary is not written here: a later compaction cannot keep it.
    fn write_line(&mut self, entry: &StoredEntry, seen: &ModelMessage) -> io::Result<()> {
        let line = self.writer.write_seen(&self.source_entry(entry), seen)?;
        self.record_line(entry.ix, line);
        Ok(())
    }

    /// Records a line of an entry as the last line of the branch.
    fn record_line(&mut self, ix: EntryIx, line: LineIx) {
        self.branch.line = Some(line);
        if self.is_active[ix.index()] {
            self.active_lines.push((ix, line));
        }
    }

    /// Writes the result "No result provided" for each call that still has none, as pi does,
    /// because another message follows. The lines belong to the response, so that a compaction
    /// keeps a call with its result, or neither.
    fn close_calls(&mut self) -> io::Result<()> {
        // Without a response, no call is open.
        let Some(response) = self.branch.response else {
            return Ok(());
        };
        let open_calls = std::mem::take(&mut self.branch.open_calls);
        for call in open_calls.iter() {
            let line = self
                .writer
                .write_missing_result(self.branch.line, self.time_ms, call)?;
            self.record_line(response, line);
        }
        Ok(())
    }

    /// Returns an entry as the writer needs it: with its time, and the line that it follows.
    fn source_entry<'e>(&self, entry: &StoredEntry<'e>) -> SourceEntry<'e> {
        SourceEntry {
            parent: self.branch.line,
            time_ms: self.time_ms,
            entry: entry.json,
        }
    }
}

/// The ids of the calls in the new session.
#[derive(Default)]
struct CallIds {
    used: HashSet<String>,
    /// For each id that several calls wanted, the number that is appended for the next one.
    next_numbers: HashMap<String, usize>,
}

impl CallIds {
    /// Returns an id that the APIs accept and that no other call has. It is `wanted`, or similar:
    ///
    /// ```text
    /// call 1    call_1      the APIs accept only letters, digits, `_` and `-`
    /// call_1    call_1_2    if another call has `call_1`
    /// (empty)   call
    /// ```
    fn assign(&mut self, wanted: &str) -> Text<'static> {
        let mut base = String::new();
        for char in wanted.chars().take(MAX_ID_LEN) {
            let is_accepted = char.is_ascii_alphanumeric() || matches!(char, '_' | '-');
            base.push(if is_accepted { char } else { '_' });
        }
        if base.is_empty() {
            base.push_str("call");
        }

        let id = self.append_number_if_used(&base);
        self.used.insert(id.clone());
        Text::from(id)
    }

    /// Returns `base` or, if a call has that id already, `base` with a number, as in `call_2`.
    /// `base` is ASCII.
    fn append_number_if_used(&mut self, base: &str) -> String {
        if !self.used.contains(base) {
            return base.to_owned();
        }

        // Kept for the next call with this id, so that many equal ids do not try all numbers again.
        let next_number = self.next_numbers.entry(base.to_owned()).or_insert(2);
        loop {
            let suffix = format!("_{next_number}");
            *next_number += 1;
            // With its suffix, the id must not be longer than the APIs accept.
            let base_len = base.len().min(MAX_ID_LEN - suffix.len());
            let id = format!("{}{suffix}", &base[..base_len]);
            // Another call may have wanted this very id.
            if !self.used.contains(&id) {
                return id;
            }
        }
    }
}

/// Returns the last result that answers a call of a response, whose `content` this is. `None` if
/// there is none. Only the first result of a call answers it.
///
/// `results` are the results below the response, the last one first, each with the id of its call.
fn find_last_answer(content: Raw, results: &[(EntryIx, Text)]) -> Option<EntryIx> {
    let mut open_ids = Vec::new();
    for block in blocks_of_type(content, "toolCall") {
        open_ids.push(block.get_text("id").unwrap_or_default());
    }
    let mut last_answer = None;
    // In the order of the session.
    for (ix, call_id) in results.iter().rev() {
        if let Some(answered) = open_ids.iter().position(|id| id == call_id) {
            open_ids.remove(answered);
            last_answer = Some(*ix);
        }
    }
    last_answer
}

/// Whether a content has a text that is not blank, or an image. The APIs refuse other content.
fn has_content(content: Raw) -> bool {
    match content.text() {
        Some(text) => !text.is_blank(),
        None => content
            .items()
            .any(|block| is_text(block) || is_block(block, "image")),
    }
}

/// Whether pi sends a response: it has not failed, and contains text or calls.
fn is_sent(message: Raw) -> bool {
    let [stop_reason, content] = find_members(message, ["stopReason", "content"]);
    let has_failed = stop_reason.is_some_and(|reason| reason.is("error") || reason.is("aborted"));
    let content = content.unwrap_or(Raw::NULL);
    let has_text = content.text().is_some_and(|text| !text.is_blank());
    let has_block = content
        .items()
        .any(|block| is_text(block) || is_block(block, "toolCall"));
    !has_failed && (has_text || has_block)
}

/// Whether a block is a text that is not blank.
pub fn is_text(block: Raw) -> bool {
    let (kind, text) = type_and_text(block);
    kind.is_some_and(|kind| kind.is("text")) && text.is_some_and(|text| !text.is_blank())
}
