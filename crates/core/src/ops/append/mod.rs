//! Appends entries supplied by the caller, chained under a position of the tree.
//!
//! All are validated before any is written. Missing ids, parents and times are inserted where the
//! agents put them; fields that are present are kept byte for byte.

pub mod shorthand;

pub use super::required::check_message;

use super::chain::fill_missing_members;
use super::edit::call_ids;
use super::required;
use super::{IdSource, Refusal, parent_id};
use crate::ops::plan::{Change, NewEntry};
use crate::session::Session;
use crate::session::entry::{EntryIx, Kind, ReferenceTarget};
use crate::session::reference::Position;
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::time::parse_js_date;
use std::collections::BTreeSet;

/// Validated entries to append. Each is a child of the previous one, unless it specifies a parent.
pub struct Batch<'s> {
    session: &'s Session,
    /// The new entries by id. Their indexes continue those of the session's entries.
    ids: HashMap<Text<'static>, EntryIx>,
    /// The parent of each entry of the batch.
    parents: Vec<Option<EntryIx>>,
    /// The parent of the next entry that specifies none.
    parent: Option<Text<'static>>,
    /// The entries.
    pub change: Change,
    /// The types of new entries that neither agent writes: from a newer version, or misspelled.
    pub unknown_types: BTreeSet<String>,
}

impl<'s> Batch<'s> {
    /// Returns a batch without entries, to be appended under `parent`. The session must have been
    /// loaded with tool calls, because results are checked against them.
    pub fn with_parent(session: &'s Session, parent: Position) -> Batch<'s> {
        Batch {
            session,
            ids: HashMap::default(),
            parents: Vec::new(),
            parent: parent_id(session, parent).map(Text::into_owned),
            change: Change::default(),
            unknown_types: BTreeSet::new(),
        }
    }

    /// Validates and adds the next entry, given as JSON. A missing id, parent or time is inserted.
    /// If the entry is refused, the batch is unchanged. Only an id that was generated for the entry
    /// is used up.
    ///
    /// # Errors
    /// If the line is not an object in UTF-8, or is not an entry that the agent would accept here.
    pub fn add_line(&mut self, line: &[u8], id_source: &mut IdSource) -> Result<(), Refusal> {
        let TypedObject { kind, entry } = TypedObject::parse(line)?;

        // All checks come before the first change of the batch, so that a refusal leaves it
        // unchanged.
        self.check_type_and_fields(&kind, entry)?;
        let id = self.choose_id(entry, id_source)?;
        let parent_id = self.choose_parent(entry)?;
        check_timestamp(entry)?;
        let parent = match &parent_id {
            Some(parent_id) => self.find_entry(parent_id),
            None => None,
        };
        self.check_reference(entry, &id, parent)?;
        self.check_tool_result(entry, parent)?;

        // An extension may write its own types: the caller warns of these.
        if !required::is_known_kind(Kind::from_member(entry.get("type"))) {
            self.unknown_types.insert(kind.to_string());
        }
        let complete_line = fill_missing_members(entry, &id, parent_id.as_ref(), id_source);
        let new_entry = NewEntry {
            id,
            line: complete_line,
        };
        self.push_entry(new_entry, parent);
        Ok(())
    }

    /// Adds a validated entry, and makes it the default parent of the next one.
    fn push_entry(&mut self, entry: NewEntry, parent: Option<EntryIx>) {
        let ix = EntryIx::new(self.session.entries.len() + self.parents.len());
        self.ids.insert(entry.id.clone(), ix);
        self.parents.push(parent);
        self.parent = Some(entry.id.clone());
        self.change.entries.push(entry);
    }

    /// Checks that a line of this type is an entry, and that it has the fields that the agent
    /// requires. A line that starts a session, and a record that moves the leaf, are no entries:
    /// they are refused with a hint what to do instead.
    fn check_type_and_fields(&self, kind: &Text, entry: Raw) -> Result<(), Refusal> {
        match &*kind.to_string_lossy() {
            "session" | "title" => Err(Refusal::with_hint(
                format!("{kind} starts a session and is not an entry"),
                "give only the lines after it",
            )),
            "leaf" => Err(Refusal::with_hint(
                "the agents ignore the target of a leaf record",
                "move the leaf with `pisess switch`",
            )),
            name => {
                let kind = Kind::named(name.as_bytes());
                required::check_new_entry(self.session.dialect, kind, entry)
            }
        }
    }

    /// Finds the entry with this id in the batch or in the session.
    fn find_entry(&self, id: &Text) -> Option<EntryIx> {
        self.ids
            .get(id)
            .copied()
            .or_else(|| self.session.find_entry(id))
    }

    /// Returns the index of an entry in the batch; `None` for an entry of the session.
    fn batch_index(&self, ix: EntryIx) -> Option<usize> {
        ix.index().checked_sub(self.session.entries.len())
    }

    /// Iterates over an entry and its ancestors, in the batch and then in the session.
    fn upwards(&self, from: Option<EntryIx>) -> impl Iterator<Item = EntryIx> + '_ {
        std::iter::successors(from, |&ix| match self.batch_index(ix) {
            Some(index) => self.parents[index],
            None => self.session.entry(ix).parent,
        })
    }

    /// Returns the `id` of a new entry, or a generated id if it has none. An `id` that is taken, in
    /// the session or in the batch, is refused.
    fn choose_id(&self, entry: Raw, id_source: &mut IdSource) -> Result<Text<'static>, Refusal> {
        let Some(given) = entry.get("id") else {
            let is_taken = |id: &str| self.ids.contains_key(&Text::from(id));
            return Ok(Text::from(id_source.issue_free_id(self.session, is_taken)));
        };
        let hint = "omit it to have one generated";
        // To the agents, an empty id is none, so it is refused like a value of another type.
        let Some(id) = given.text().filter(|id| !id.is_empty()) else {
            return Err(Refusal::with_hint("`id` is not a string", hint));
        };
        if self.find_entry(&id).is_some() {
            let what = format!("the id {:?} is taken", id.to_string());
            return Err(Refusal::with_hint(what, hint));
        }
        Ok(id.into_owned())
    }

    /// Returns the parent id of a new entry; `None` for a root. If the entry has a `parentId`, that
    /// entry must exist. Otherwise, the parent is the entry added before, or the parent of the
    /// batch for its first entry.
    fn choose_parent(&self, entry: Raw) -> Result<Option<Text<'static>>, Refusal> {
        let Some(given) = entry.get("parentId") else {
            return Ok(self.parent.clone());
        };
        if given.is_null() {
            return Ok(None);
        }
        let hint = "omit it to continue from the entry before";
        let Some(id) = given.text() else {
            return Err(Refusal::with_hint(
                "`parentId` is neither a string nor null",
                hint,
            ));
        };
        if self.find_entry(&id).is_none() {
            let message = format!("the parent {:?} is not in the session", id.to_string());
            return Err(Refusal::with_hint(message, hint));
        }
        Ok(Some(id.into_owned()))
    }

    /// Checks that the entry named in `targetId`, `fromId` or `firstKeptEntryId` exists. The target
    /// of an edit and the first kept entry of a compaction must also be ancestors of the new entry,
    /// which will be a child of `parent`. The field, and what it may name, are in the schema of the
    /// entry's type.
    fn check_reference(
        &self,
        entry: Raw,
        own_id: &Text,
        parent: Option<EntryIx>,
    ) -> Result<(), Refusal> {
        let Some((key, allowed_target)) = Kind::from_member(entry.get("type")).schema().refers
        else {
            return Ok(());
        };
        let Some(id) = entry.get_text(key) else {
            return Ok(());
        };
        if names_no_earlier_entry(allowed_target, &id, own_id) {
            return Ok(());
        }

        let shown_id = id.to_string();
        let Some(target) = self.find_entry(&id) else {
            let what = format!("`{key}`: the entry {shown_id:?} is not in the session");
            let hint = "`pisess path --ids` lists the entries on the path to an entry";
            return Err(Refusal::with_hint(what, hint));
        };
        let must_be_above = match allowed_target {
            ReferenceTarget::Ancestor | ReferenceTarget::AncestorOrItself => true,
            ReferenceTarget::Any | ReferenceTarget::AnyOrRoot => false,
        };
        if must_be_above && !self.upwards(parent).any(|ix| ix == target) {
            let what = format!("`{key}`: the entry {shown_id:?} is not above the new entry");
            let hint = "name an entry above the new one, or append elsewhere with --at";
            return Err(Refusal::with_hint(what, hint));
        }
        Ok(())
    }

    /// Checks that an ancestor of a tool result makes the call that the result answers, because
    /// providers refuse a result without its call. Any other entry passes.
    fn check_tool_result(&self, entry: Raw, parent: Option<EntryIx>) -> Result<(), Refusal> {
        if Kind::from_member(entry.get("type")) != Kind::Message {
            return Ok(());
        }
        let Some(message) = entry.get("message") else {
            return Ok(());
        };
        let is_result = message
            .get("role")
            .is_some_and(|role| role.is("toolResult"));
        if !is_result {
            return Ok(());
        }
        let Some(call_id) = message.get_text("toolCallId") else {
            // Not expected: without this field, `check_type_and_fields` has refused the result.
            return Ok(());
        };
        if self.upwards(parent).any(|ix| self.makes_call(ix, &call_id)) {
            return Ok(());
        }
        Err(Refusal::with_hint(
            format!(
                "no entry above the new one makes the tool call {:?}",
                call_id.to_string()
            ),
            "append it together with its call, or below the call with --at",
        ))
    }

    /// Whether an entry makes the tool call with this id. The calls of the session were collected
    /// when it was loaded; the calls of the batch are read from its lines.
    fn makes_call(&self, ix: EntryIx, call_id: &Text) -> bool {
        if let Some(index) = self.batch_index(ix) {
            let entry = Raw::from_checked(&self.change.entries[index].line);
            let message = entry.get("message").unwrap_or(Raw::NULL);
            return call_ids(message.get("content")).contains(call_id);
        }
        // Loading stores a call without an id with an empty one, which no result answers.
        if call_id.is_empty() {
            return false;
        }
        for call in self.session.collected.tool_calls_of(ix) {
            if self.session.bytes(call.id) == call_id.as_bytes() {
                return true;
            }
        }
        false
    }
}

/// A JSON object with a `type`, which may be an entry.
struct TypedObject<'l> {
    /// Its `type`.
    kind: Text<'l>,
    entry: Raw<'l>,
}

impl<'l> TypedObject<'l> {
    /// Parses a line that must be one object in UTF-8 with a `type`.
    fn parse(line: &'l [u8]) -> Result<TypedObject<'l>, Refusal> {
        let hint = "each line is one entry, such as {\"type\":\"custom\",\"customType\":\"seen\"}";
        let refuse = |what: &str| Refusal::with_hint(what, hint);
        let entry = Raw::parse(line).map_err(|error| refuse(&error.to_string()))?;
        if !entry.is_object() {
            return Err(refuse("not a JSON object"));
        }
        // The parser checks only the structure. The agents would replace bytes that are not UTF-8.
        if std::str::from_utf8(line).is_err() {
            return Err(refuse("it contains bytes that are not UTF-8"));
        }
        match entry.get_text("type") {
            Some(kind) => Ok(TypedObject { kind, entry }),
            None => Err(refuse("`type` is missing or not a string")),
        }
    }
}

/// Whether an id is one of the two valid ones that name no earlier entry: `root`, where a
/// summarized branch began at the root; and the entry's own id, with which a compaction keeps
/// nothing before it.
fn names_no_earlier_entry(allowed: ReferenceTarget, id: &Text, own_id: &Text) -> bool {
    match allowed {
        ReferenceTarget::AnyOrRoot => *id == *"root",
        ReferenceTarget::AncestorOrItself => id == own_id,
        ReferenceTarget::Any | ReferenceTarget::Ancestor => false,
    }
}

/// Refuses an entry whose `timestamp` is not a time. A missing one is inserted later.
fn check_timestamp(entry: Raw) -> Result<(), Refusal> {
    match entry.get("timestamp") {
        Some(timestamp) if !is_time(timestamp) => Err(Refusal::with_hint(
            "`timestamp` is not a time",
            "write it as 2026-01-31T12:00:00.000Z, or omit it",
        )),
        _ => Ok(()),
    }
}

/// Whether a value is a string that JavaScript's `Date` parses, such as
/// `"2026-01-31T12:00:00.000Z"`.
fn is_time(value: Raw) -> bool {
    if value.raw_string().is_none() {
        return false;
    }
    let Some(text) = value.text() else {
        return false;
    };
    parse_js_date(text.as_bytes()).is_some()
}
