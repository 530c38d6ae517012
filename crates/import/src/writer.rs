//! Lays out what a reader found as entries of a session, and writes their lines one by one.
//!
//! ```text
//! id      the start of the UUIDv5 of the line's offset, in the namespace of the new session
//! parent  the end of what was attached to the entry that the reader names
//! time    the time in the source, but not before the time of the parent
//! ```

use crate::parts::SMALL_MEMBERS_LEN;
use crate::returned::EntryParts;
use foldhash::{HashMap, HashSet};
use memchr::memchr;
use pisess_core::agents::convert;
use pisess_core::session::blobs::BlobStore;
use pisess_core::session::dialect::Dialect;
use pisess_json::edit::Edit as LineEdit;
use pisess_json::outline::Outlined;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::time::{date_from_value, iso_string};
use pisess_json::write::Object;
use returned_ids::ReturnedIds;
use std::io::{self, Write as _};
use uuid::Uuid;

mod returned_ids;

/// An entry that was laid out, by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NodeIx(u32);

/// What a reader makes of a line, or of a part of it.
#[derive(Clone, Debug)]
pub struct EntryDraft {
    /// The offset of the line in the source.
    pub offset: u64,
    /// Its time in milliseconds since 1970.
    pub time_ms: i64,
    /// The type of the entry.
    pub kind: &'static str,
    /// Its members, without the common ones.
    pub members: Object,
}

/// What the writer remembers of an entry.
struct Node {
    /// The number of which its id is made, as eight hexadecimal digits, unless it has another id in
    /// [`EntryWriter::other_ids`].
    id: u32,
    parent: Option<NodeIx>,
    /// The number of its ancestors.
    depth: u32,
    /// An ancestor far above it, or its parent; a root itself. See [`EntryWriter::find_shortcut`].
    shortcut: NodeIx,
    /// The entry that was appended to this one; this entry itself if none was. Children are
    /// attached to the end of this chain; see [`EntryWriter::resolve_end`].
    continuation: NodeIx,
    time_ms: i64,
}

/// The number of bytes of the largest buffer that is used again.
const MAX_KEPT_BUFFER: usize = 1 << 20;

/// The length of the longest name of an id: two numbers and a point.
const MAX_NAME_LEN: usize = 32;

/// The line of the source whose entry was laid out last.
#[derive(Default)]
struct LastLine {
    offset: u64,
    /// The [`FreeId::attempt`] of its last entry.
    attempt: u32,
}

/// An id that no entry has so far.
struct FreeId {
    id: u32,
    /// The number from which the id was made: the ids that were tried for a line are numbered from
    /// 1.
    attempt: u32,
}

/// Receives the lines of entries, without their newlines, each with the offset of the line of the
/// source from which it was made. A line is in parts, so that long texts need not be copied to join
/// them.
pub type EmitEntry<'a> = dyn FnMut(u64, &[&[u8]]) -> io::Result<()> + 'a;

/// Where entries are written.
struct Output<'o> {
    agent: Dialect,
    emit: &'o mut EmitEntry<'o>,
}

/// The session in progress.
#[derive(Default)]
pub struct EntryWriter<'o> {
    namespace: Uuid,
    /// The number of earlier imports whose record was not laid out yet. While it is not 0, the
    /// session has the entries already, and they are not emitted.
    earlier_import_count: usize,
    /// The time of the first line that has one. Root entries are not older than this.
    created_ms: i64,
    nodes: Vec<Node>,
    /// [`Node::id`] of all nodes.
    used_ids: HashSet<u32>,
    /// The entries that pisess wrote into the source.
    returned: ReturnedIds,
    /// The ids of those entries of `returned` whose id is not eight hexadecimal digits.
    other_ids: HashMap<NodeIx, Text<'static>>,
    last_line: LastLine,
    /// The memory of the common members of the last line that was emitted, for the next one.
    common_buffer: Vec<u8>,
    /// The memory of the members or the content of an entry that was emitted, for a later entry.
    members_buffer: Vec<u8>,
    /// Where the lines go; `None` if entries are only laid out.
    output: Option<Output<'o>>,
    /// The number of messages, including messages that are in the session already.
    pub message_count: usize,
    /// The name of the session so far.
    pub name: Option<Text<'static>>,
}

impl<'o> EntryWriter<'o> {
    /// Makes a writer of a session for an agent. Entries up to the record of the last earlier
    /// import are laid out, but not passed to `emit`, because the session has them. (The default
    /// writer passes on no entry at all.)
    pub fn new(
        agent: Dialect,
        session_id: &str,
        earlier_import_count: usize,
        created_ms: i64,
        emit: &'o mut EmitEntry<'o>,
    ) -> EntryWriter<'o> {
        EntryWriter {
            namespace: Uuid::new_v5(&Uuid::NAMESPACE_OID, session_id.as_bytes()),
            earlier_import_count,
            created_ms,
            output: Some(Output { agent, emit }),
            ..EntryWriter::default()
        }
    }

    /// Adds an entry as a child of `parent` itself, even if other entries were appended to
    /// `parent`. Without a parent, the entry is a root. Emits its line, unless an earlier import
    /// has written it.
    pub fn add_child(&mut self, parent: Option<NodeIx>, draft: EntryDraft) -> io::Result<NodeIx> {
        let FreeId { id, attempt } = self.find_free_id(draft.offset);
        // The next entry of the same line continues the numbers of the attempts here.
        self.last_line = LastLine {
            offset: draft.offset,
            attempt,
        };
        // No entry is older than its parent.
        let time_ms = draft.time_ms.max(self.time_at(parent));
        let node = self.push_node(id, parent, time_ms)?;
        if draft.kind == "message" {
            self.message_count += 1;
        }

        if self.emits_entries() {
            self.emit_draft(node, &draft)?;
            self.keep_buffer(draft.members.finish());
        }
        Ok(node)
    }

    /// Adds an entry of pi that pisess stored in the line at `offset` when it wrote the source. The
    /// entry keeps its id, its parent and its time. If an earlier entry has the same id, it gets
    /// another one. If its parent is unknown, it becomes a root.
    ///
    /// `restored` is the entry with its content, if it was stored without it.
    pub fn add_returned(
        &mut self,
        offset: u64,
        entry: Outlined,
        restored: Option<EntryParts>,
    ) -> io::Result<NodeIx> {
        let names = ["id", "parentId", "timestamp", "type"];
        let [id, parent_id, timestamp, kind] = entry.get_all(names);
        let id = id.and_then(|id| id.text());
        let parent_id = parent_id.and_then(|parent_id| parent_id.text());
        let parent = match &parent_id {
            Some(parent_id) => self.returned.get(parent_id),
            None => None,
        };
        let time_ms = date_from_value(timestamp.map(Outlined::raw));
        let time_ms = time_ms.unwrap_or_else(|| self.time_at(parent));

        let node = match &id {
            Some(id) if self.may_keep_id(id) => {
                self.push_returned_node(offset, id.as_borrowed(), parent, time_ms)?
            }
            _ => {
                let number = self.find_free_id(offset).id;
                self.push_node(number, parent, time_ms)?
            }
        };
        if kind.is_some_and(|kind| kind.is("message")) {
            self.message_count += 1;
        }

        if !self.emits_entries() {
            return Ok(node);
        }
        let stored = restored.unwrap_or([entry.raw().bytes(), b"", b""]);
        if self.is_as_stored(node, id.as_ref(), parent_id.as_ref(), &stored) {
            self.emit_line(offset, &stored)?;
        } else {
            let line = self.returned_line(node, id, parent_id, &stored.concat())?;
            self.emit_line(offset, &[&line])?;
        }
        Ok(node)
    }

    /// Whether an entry that pisess stored in the source may keep this id: no earlier one has it.
    fn may_keep_id(&self, id: &Text) -> bool {
        !id.is_empty() && self.returned.get(id).is_none()
    }

    /// Adds a node for an entry that keeps its id, and records the node under that id.
    ///
    /// Every node has a number. The id `1a2b3c4d` is the number 0x1a2b3c4d itself, as long as no
    /// other node has it. An id that is not eight hexadecimal digits, such as `msg_1`, is stored
    /// beside a free number.
    fn push_returned_node(
        &mut self,
        offset: u64,
        kept_id: Text,
        parent: Option<NodeIx>,
        time_ms: i64,
    ) -> io::Result<NodeIx> {
        let id_number = parse_hex_id(&kept_id);
        let number = match id_number {
            Some(number) if !self.used_ids.contains(&number) => number,
            _ => self.find_free_id(offset).id,
        };
        let node = self.push_node(number, parent, time_ms)?;
        if id_number.is_none() {
            self.other_ids.insert(node, kept_id.clone().into_owned());
        }
        self.returned.insert(kept_id, node);
        Ok(node)
    }

    /// Whether an entry that pisess stored in the source, with `id` and `parent_id`, has the same
    /// id and parent in this session, so that no byte of its line changes.
    fn is_as_stored(
        &self,
        node: NodeIx,
        id: Option<&Text>,
        parent_id: Option<&Text>,
        entry: &EntryParts,
    ) -> bool {
        if !self.has_id(Some(node), id) || !self.has_id(self.node(node).parent, parent_id) {
            return false;
        }
        // An entry that was stored as a string may have line breaks, which `returned_line` refuses.
        // The part between the two is content that the import has made, without line breaks.
        let [before, _, after] = entry;
        memchr(b'\n', before).is_none() && memchr(b'\n', after).is_none()
    }

    /// Whether an entry has this id. Without an entry, such as the parent of a first entry, there
    /// must be no id either.
    fn has_id(&self, node: Option<NodeIx>, id: Option<&Text>) -> bool {
        let Some(node) = node else {
            return id.is_none();
        };
        let Some(id) = id else {
            return false;
        };
        match self.other_ids.get(&node) {
            Some(other_id) => other_id == id,
            None => hex_digits(self.node(node).id) == *id.as_bytes(),
        }
    }

    /// Returns the line of an entry that pisess stored in the source, with `id` and `parent_id`:
    /// the stored entry, with the id and the parent that it has in this session.
    fn returned_line(
        &self,
        node: NodeIx,
        id: Option<Text>,
        parent_id: Option<Text>,
        entry: &[u8],
    ) -> io::Result<Vec<u8>> {
        let new_id = Text::from(self.entry_id(node));
        let parent = self.node(node).parent;
        let new_parent_id = parent.map(|parent| Text::from(self.entry_id(parent)));
        let mut line = LineEdit::new(entry)?;
        if id.as_ref() != Some(&new_id) {
            line.set("id", &encode_to_vec(&new_id));
        }
        if parent_id != new_parent_id {
            match &new_parent_id {
                Some(new_parent_id) => line.set("parentId", &encode_to_vec(new_parent_id)),
                None => line.set("parentId", b"null"),
            }
        }
        Ok(line.finish())
    }

    /// Begins the members of an entry with a message: what is added next are the members of the
    /// message. There is space for all bytes of the `line` from which it is made, each of which is
    /// stored once. If possible, the members take the memory of an earlier entry.
    pub fn begin_message(&mut self, line: Outlined) -> Object {
        let buffer = self.take_buffer(line.bytes().len());
        Object::in_buffer(buffer).open("message")
    }

    /// Returns an empty buffer with space for this number of bytes, and for what an entry has
    /// besides them. If possible, it has the memory of an earlier entry: see
    /// [`keep_buffer`](Self::keep_buffer).
    pub fn take_buffer(&mut self, line_len: usize) -> Vec<u8> {
        let mut buffer = std::mem::take(&mut self.members_buffer);
        buffer.clear();
        buffer.reserve(line_len + SMALL_MEMBERS_LEN);
        buffer
    }

    /// Keeps the memory of bytes that are no longer needed. Memory for a long text is freed, so
    /// that it is not occupied until the end.
    pub fn keep_buffer(&mut self, buffer: Vec<u8>) {
        if buffer.capacity() <= MAX_KEPT_BUFFER {
            self.members_buffer = buffer;
        }
    }

    /// Whether the lines of entries are emitted. They are not if entries are only laid out, or
    /// while the session has them from an earlier import.
    fn emits_entries(&self) -> bool {
        self.output.is_some() && self.earlier_import_count == 0
    }

    /// Returns the time of an entry; without one, the time before which no root is.
    fn time_at(&self, node: Option<NodeIx>) -> i64 {
        match node {
            Some(node) => self.node(node).time_ms,
            None => self.created_ms,
        }
    }

    /// Adds the node of an entry. From then on, no other entry gets its id.
    fn push_node(&mut self, id: u32, parent: Option<NodeIx>, time_ms: i64) -> io::Result<NodeIx> {
        let node = NodeIx(u32::try_from(self.nodes.len()).map_err(io::Error::other)?);
        self.used_ids.insert(id);
        self.nodes.push(Node {
            id,
            parent,
            depth: parent.map_or(0, |parent| self.node(parent).depth + 1),
            shortcut: parent.map_or(node, |parent| self.find_shortcut(parent)),
            // Nothing is appended to it yet.
            continuation: node,
            time_ms,
        });
        Ok(node)
    }

    /// Appends an entry to its parent: entries that are added below the parent later follow this
    /// entry instead. Does nothing if another entry was appended to the parent already.
    pub fn continue_parent(&mut self, node: NodeIx) {
        let Some(parent) = self.node(node).parent else {
            return;
        };
        if self.node(parent).continuation == parent {
            self.node_mut(parent).continuation = node;
        }
    }

    /// Emits a line of a session of pi, and converts it before if the session is for oh-my-pi. Does
    /// nothing if the writer has no output. `offset` is the offset in the source of the line from
    /// which it was made.
    fn emit_line(&mut self, offset: u64, line: &[&[u8]]) -> io::Result<()> {
        let Some(output) = &mut self.output else {
            return Ok(());
        };
        match output.agent {
            Dialect::OhMyPi => {
                let line = line.concat();
                let no_blobs = BlobStore::default();
                let converted = convert::convert_entry(&line, Dialect::OhMyPi, None, &no_blobs);
                (output.emit)(offset, &[&converted])
            }
            Dialect::Pi => (output.emit)(offset, line),
        }
    }

    /// Adds an entry as a child of the end of `parent` (see [`resolve_end`](Self::resolve_end)).
    /// The end stays the same, so the next entry that is added there begins another branch.
    pub fn add_below_end(
        &mut self,
        parent: Option<NodeIx>,
        draft: EntryDraft,
    ) -> io::Result<NodeIx> {
        let end = parent.map(|parent| self.resolve_end(parent));
        self.add_child(end, draft)
    }

    /// Adds an entry as a child of the end of `parent`, and makes it the new end. Entries that are
    /// added there later follow this entry.
    pub fn append(&mut self, parent: Option<NodeIx>, draft: EntryDraft) -> io::Result<NodeIx> {
        let end = parent.map(|parent| self.resolve_end(parent));
        let node = self.add_child(end, draft)?;
        if let Some(end) = end {
            self.node_mut(end).continuation = node;
        }
        Ok(node)
    }

    /// Appends the record of an import, which is its last entry. Entries that are added after it
    /// are new to the next import, wherever their lines are in the source.
    pub fn append_record(
        &mut self,
        parent: Option<NodeIx>,
        draft: EntryDraft,
    ) -> io::Result<NodeIx> {
        let node = self.append(parent, draft)?;
        self.earlier_import_count = self.earlier_import_count.saturating_sub(1);
        Ok(node)
    }

    /// Returns the end of an entry: the last entry of the chain of entries that were appended to
    /// it. Shortens the chain: otherwise a long response would be walked again for each of its
    /// lines.
    pub fn resolve_end(&mut self, start: NodeIx) -> NodeIx {
        let end = self.find_end(start);
        self.shorten_chain(start, end);
        end
    }

    /// Follows the continuations of an entry to the last entry, whose continuation is itself.
    fn find_end(&self, start: NodeIx) -> NodeIx {
        let mut end = start;
        while self.node(end).continuation != end {
            end = self.node(end).continuation;
        }
        end
    }

    /// Sets the continuation of each entry of the chain from `start` to `end` to `end`, as in the
    /// path compression of a union-find.
    fn shorten_chain(&mut self, start: NodeIx, end: NodeIx) {
        let mut current = start;
        while current != end {
            let next = self.node(current).continuation;
            self.node_mut(current).continuation = end;
            current = next;
        }
    }

    /// Returns the shortcut of a child of `parent`. If the last two shortcuts above the child are
    /// of the same length, its own one spans both. So the lengths are those of the digits of a
    /// skew-binary number, and a walk up along shortcuts takes logarithmic time:
    ///
    /// ```text
    /// depth       1  2  3  4  5  6  7  8
    /// shortcut    0  1  0  3  4  3  0  7
    /// ```
    fn find_shortcut(&self, parent: NodeIx) -> NodeIx {
        let middle = self.node(parent).shortcut;
        let top = self.node(middle).shortcut;
        let lower_len = self.node(parent).depth - self.node(middle).depth;
        let upper_len = self.node(middle).depth - self.node(top).depth;
        if lower_len == upper_len { top } else { parent }
    }

    /// Whether `ancestor` is an ancestor of `node`, or `node` itself.
    pub fn is_ancestor_or_self(&self, ancestor: NodeIx, node: NodeIx) -> bool {
        let ancestor_depth = self.node(ancestor).depth;
        let mut current = node;
        while self.node(current).depth > ancestor_depth {
            let Node {
                parent, shortcut, ..
            } = *self.node(current);
            let is_too_far = self.node(shortcut).depth < ancestor_depth;
            current = match parent {
                Some(parent) if is_too_far => parent,
                _ => shortcut,
            };
        }
        current == ancestor
    }

    /// Returns the first entry after `before` on the path to `last`; `None` if `before` is `last`
    /// itself, or is not on the path.
    pub fn first_after(&self, before: Option<NodeIx>, last: NodeIx) -> Option<NodeIx> {
        let mut first = last;
        while self.node(first).parent != before {
            first = self.node(first).parent?;
        }
        Some(first)
    }

    /// Returns the id of an entry in the session.
    pub fn entry_id(&self, node: NodeIx) -> String {
        match self.other_ids.get(&node) {
            Some(id) => id.to_string(),
            None => hex_id(self.node(node).id),
        }
    }

    /// Returns the id that the next entry of the line at `offset` will get.
    pub fn next_id(&self, offset: u64) -> String {
        hex_id(self.find_free_id(offset).id)
    }

    fn node(&self, node: NodeIx) -> &Node {
        &self.nodes[node.0 as usize]
    }

    fn node_mut(&mut self, node: NodeIx) -> &mut Node {
        &mut self.nodes[node.0 as usize]
    }

    /// Returns an id that no entry has, for the next entry of the line at `offset`.
    ///
    /// The id is a hash of the offset and the number of an attempt, as in `1204.1`, in the
    /// namespace of the session: when an import is repeated, each entry gets the same id again. A
    /// line may have several entries, and an id may be taken. So the attempts of a line are
    /// numbered from 1, and continue after the number of its last entry.
    fn find_free_id(&self, offset: u64) -> FreeId {
        let mut attempt = if self.last_line.offset == offset {
            self.last_line.attempt
        } else {
            0
        };
        loop {
            attempt += 1;
            let id = self.hash_id(offset, attempt);
            if !self.used_ids.contains(&id) {
                return FreeId { id, attempt };
            }
        }
    }

    /// Returns the first 32 bits of the UUIDv5 of a name such as `1204.1`, which is the offset of a
    /// line and the number of an attempt.
    fn hash_id(&self, offset: u64, attempt: u32) -> u32 {
        // Formatted without an allocation, because every entry needs an id.
        let mut name = [0; MAX_NAME_LEN];
        let mut unused = &mut name[..];
        let _ = write!(unused, "{offset}.{attempt}");
        let name_len = MAX_NAME_LEN - unused.len();
        let uuid = Uuid::new_v5(&self.namespace, &name[..name_len]);
        let (first_32_bits, ..) = uuid.as_fields();
        first_32_bits
    }

    /// Emits the line of an entry. Like the agents, it puts the common members before the others;
    /// in custom entries, after them:
    ///
    /// ```text
    /// {"type":"message","id":"…","parentId":"…","timestamp":"…"  ,  "message":{…}  }
    /// {"type":"custom"  ,  "customType":"…","data":{…}  ,"id":"…","parentId":"…","timestamp":"…"}
    /// ```
    fn emit_draft(&mut self, node: NodeIx, draft: &EntryDraft) -> io::Result<()> {
        // The line with the common members only, in the memory of the last one. The other members
        // are inserted where they belong.
        let buffer = std::mem::take(&mut self.common_buffer);
        let type_only = Object::in_buffer(buffer).str("type", draft.kind);
        let after_type = type_only.byte_count();
        let common = self.append_common_members(type_only, node);
        let after_common = common.byte_count();
        let common_line = common.finish();

        let is_custom = matches!(draft.kind, "custom" | "custom_message");
        let insert_at = if is_custom { after_type } else { after_common };
        let (before, after) = common_line.split_at(insert_at);
        let members = draft.members.member_bytes();
        let comma: &[u8] = if members.is_empty() { b"" } else { b"," };
        self.emit_line(draft.offset, &[before, comma, members, after])?;
        self.common_buffer = common_line;
        Ok(())
    }

    /// Adds the members that every entry has, in the order in which the agents write them.
    fn append_common_members(&self, line: Object, node: NodeIx) -> Object {
        let Node {
            parent, time_ms, ..
        } = *self.node(node);
        let parent_id = parent.map(|parent| Text::from(self.entry_id(parent)));
        line.str("id", &self.entry_id(node))
            .text_or_null("parentId", parent_id.as_ref())
            .str("timestamp", &iso_string(time_ms))
    }
}

/// Returns a number as eight hexadecimal digits in lower case.
fn hex_id(number: u32) -> String {
    String::from_utf8_lossy(&hex_digits(number)).into_owned()
}

/// Returns the bytes of [`hex_id`]. `format!` takes several times as long, and every entry has two
/// ids.
fn hex_digits(number: u32) -> [u8; 8] {
    let mut digits = [0; 8];
    for (index, digit) in digits.iter_mut().enumerate() {
        // A digit is four bits. The first one is the highest, 28 bits from the lowest.
        let shift = 28 - 4 * index;
        let value = number >> shift & 0xf;
        *digit = b"0123456789abcdef"[value as usize];
    }
    digits
}

/// Parses an id of eight hexadecimal digits in lower case, as the agents write it. `None` for any
/// other id.
fn parse_hex_id(id: &Text) -> Option<u32> {
    let digits = std::str::from_utf8(id.as_bytes()).ok()?;
    let number = u32::from_str_radix(digits, 16).ok()?;
    // Other digits with the same number, such as capital letters, are another id.
    if hex_digits(number) != *id.as_bytes() {
        return None;
    }
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add_entry(writer: &mut EntryWriter, parent: Option<NodeIx>) -> NodeIx {
        let draft = EntryDraft {
            offset: writer.nodes.len() as u64,
            time_ms: 0,
            kind: "custom",
            members: Object::new(),
        };
        writer.add_child(parent, draft).unwrap()
    }

    /// Finds out the same as [`EntryWriter::is_ancestor_or_self`], without shortcuts.
    fn is_on_way_up(writer: &EntryWriter, ancestor: NodeIx, node: NodeIx) -> bool {
        let mut current = Some(node);
        while let Some(entry) = current {
            if entry == ancestor {
                return true;
            }
            current = writer.node(entry).parent;
        }
        false
    }

    #[test]
    fn ancestors_are_found_along_shortcuts() {
        let mut writer = EntryWriter::default();
        let mut nodes = Vec::new();
        for index in 0..300_usize {
            // Two roots, with long branches that begin at various entries.
            let parent = match index {
                0 | 100 => None,
                _ if index % 23 == 0 => Some(nodes[index * 7 % index.min(90)]),
                _ => Some(nodes[index - 1]),
            };
            nodes.push(add_entry(&mut writer, parent));
        }

        for &ancestor in &nodes {
            for &node in &nodes {
                let expected = is_on_way_up(&writer, ancestor, node);
                let found = writer.is_ancestor_or_self(ancestor, node);
                assert_eq!(found, expected, "{ancestor:?} {node:?}");
            }
        }
    }

    /// Claude Code may write the progress of each call of a long conversation at its end.
    #[cfg(unix)]
    #[test]
    fn ancestors_in_a_long_conversation_are_found_in_linear_time() {
        use crate::thread_time::measure;
        use std::time::Duration;

        let mut writer = EntryWriter::default();
        let root = add_entry(&mut writer, None);
        let mut leaf = root;
        for _ in 0..60_000 {
            leaf = add_entry(&mut writer, Some(leaf));
        }
        let time = measure(|| {
            for index in 0..60_000 {
                let ancestor = NodeIx(index);
                assert!(writer.is_ancestor_or_self(ancestor, leaf));
            }
        });
        assert!(time < Duration::from_secs(3), "{time:?}");
    }
}
