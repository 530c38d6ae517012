//! Builds the rows of the tree for people, in parts: role, ending, text. Commands print them on a
//! terminal, `export` on a page.

use super::branches::NotesAtLeaf;
use super::edit::{content_json, stored_content};
use super::tree::TreeView;
use crate::agents::pi::edits::ContextEdit;
use crate::session::Session;
use crate::session::entry::{Ending, Entry, EntryIx, Flags, Kind, Role};
use crate::session::read::entry_reader::EntryReader;
use crate::session::tree::{Tree, active_mask};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use std::io;
use std::ops::Range;

/// The minimum number of consecutive tool rows that are folded into one.
const SHORTEST_FOLD: usize = 3;

/// The maximum number of printed rows of a branch that stays unfolded.
const LONGEST_OPEN_BRANCH: usize = 3;

/// The author of a row, which decides its colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tone {
    /// The user.
    User,
    /// The model.
    Assistant,
    /// A tool.
    Tool,
    /// A compaction or a branch summary.
    Summary,
    /// Settings, labels and all else.
    Note,
}

/// The row of an entry, in parts.
#[derive(Clone, Debug)]
pub struct EntryRow<'a> {
    /// The author of the row.
    pub tone: Tone,
    /// The role, tool or type, such as `user`, `bash` or `model`.
    pub role: Text<'a>,
    /// The ending; `None` if it was normal.
    pub ending: Option<Ending>,
    /// The text of the row.
    pub body: Text<'a>,
    /// The byte range of a file path in the body, which may be truncated in its middle; empty if
    /// there is no path.
    pub path: Range<usize>,
}

impl TreeView<'_> {
    /// Returns the row of an entry in parts. The text of the body depends on the entry:
    ///
    /// - a tool result: the call that it answers, with the tool as its role;
    /// - an entry with a text that an extension rendered: that text; the role of a custom entry is
    ///   its type;
    /// - a reply without text: the tools that it calls;
    /// - an aborted message without other text: empty, because the ending shows that it was
    ///   aborted;
    /// - any other entry: the text that was collected when the session was loaded.
    pub fn row(&self, ix: EntryIx) -> EntryRow<'_> {
        let entry = self.session.entry(ix);
        let ending = entry.ending();
        let stored = self.session.row_parts(ix);
        let row = EntryRow {
            tone: row_tone(entry.kind, entry.role),
            role: stored.role,
            ending,
            body: stored.body,
            path: 0..0,
        };

        if let Some(call) = self.answered_call(ix) {
            let name = self.session.text(call.name);
            return EntryRow {
                role: if name.is_empty() { row.role } else { name },
                body: self.session.text(call.row),
                path: call.path_range.offsets(),
                ..row
            };
        }

        if let Some(rendered) = self.rendered.get(&ix) {
            // The body that was collected for a custom entry is its type, so it becomes the role.
            let is_custom = entry.kind == Kind::Custom;
            return EntryRow {
                role: if is_custom { row.body } else { row.role },
                body: rendered.as_borrowed(),
                ..row
            };
        }

        if entry.flags.contains(Flags::SILENT) && row.body == "(no content)" {
            return EntryRow {
                body: self.list_calls(ix),
                ..row
            };
        }

        let says_only_aborted = row.body == "(aborted)" || row.body == "Operation aborted";
        if ending == Some(Ending::Aborted) && says_only_aborted {
            return EntryRow {
                body: Text::default(),
                ..row
            };
        }
        row
    }

    /// Returns the text of a row for an assistant message without text, from the tools that it
    /// calls: `(calls read, bash)`, or `(no content)` if it calls none.
    fn list_calls(&self, ix: EntryIx) -> Text<'static> {
        let calls = self.session.collected.tool_calls_of(ix);
        if calls.is_empty() {
            return Text::from("(no content)");
        }
        let mut text = Text::from("(calls ").into_owned();
        for (index, call) in calls.iter().enumerate() {
            if index > 0 {
                text.push_str(", ");
            }
            text.push(&self.session.text(call.name));
        }
        text.push_str(")");
        text
    }
}

/// Returns the author of an entry's row.
pub fn row_tone(kind: Kind, role: Role) -> Tone {
    match (kind, role) {
        (Kind::Message, Role::User | Role::BashExecution | Role::PythonExecution) => Tone::User,
        (Kind::Message, Role::Assistant) => Tone::Assistant,
        (Kind::Message, Role::ToolResult) => Tone::Tool,
        (Kind::Compaction | Kind::BranchSummary, _) => Tone::Summary,
        _ => Tone::Note,
    }
}

/// Consecutive rows of a view that are printed as one row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowGroup {
    /// The indexes of the rows. The printed row has the position of the first row, and the id of
    /// the last.
    pub rows: Range<usize>,
    /// The kind of the printed row.
    pub kind: GroupKind,
}

/// The content that a printed row represents.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GroupKind {
    /// An entry.
    Entry,
    /// Consecutive tool results.
    Tools,
    /// A branch that is not continued.
    Branch,
}

impl RowGroup {
    fn single_row(index: usize) -> RowGroup {
        RowGroup {
            rows: index..index + 1,
            kind: GroupKind::Entry,
        }
    }
}

/// Returns one group for each row of a view.
pub fn ungrouped_rows(view: &TreeView) -> Vec<RowGroup> {
    let mut groups = Vec::with_capacity(view.tree_rows.len());
    for index in 0..view.tree_rows.len() {
        groups.push(RowGroup::single_row(index));
    }
    groups
}

/// Groups the rows of a tree for printing, each group as one row: each run of at least
/// `SHORTEST_FOLD` tool results is folded into one group, and any other row is a group of its own.
/// Returns all groups in order.
pub fn fold_tool_rows(view: &TreeView, edits: &HashMap<EntryIx, ContextEdit>) -> Vec<RowGroup> {
    let mut groups: Vec<RowGroup> = Vec::with_capacity(view.tree_rows.len());
    let mut index = 0;
    while index < view.tree_rows.len() {
        let run_end = find_tool_run_end(view, edits, index);
        if run_end - index >= SHORTEST_FOLD {
            groups.push(RowGroup {
                rows: index..run_end,
                kind: GroupKind::Tools,
            });
            index = run_end;
        } else {
            groups.push(RowGroup::single_row(index));
            index += 1;
        }
    }
    groups
}

/// Returns the index after the run of tool results that begins at the row `start`. A run consists
/// of rows that can be folded, each the child of the row before it. If the first row cannot be
/// folded, the run is empty: `start` itself is returned.
fn find_tool_run_end(
    view: &TreeView,
    edits: &HashMap<EntryIx, ContextEdit>,
    start: usize,
) -> usize {
    if !can_fold_row(view, edits, start) {
        return start;
    }
    let mut end = start + 1;
    while end < view.tree_rows.len()
        && can_fold_row(view, edits, end)
        && continues_row_before(view, end)
    {
        end += 1;
    }
    end
}

/// Whether the row with this index can be folded: it shows a tool result, and nothing that a fold
/// would hide, which is a label, a context edit, or the mark at the leaf.
fn can_fold_row(view: &TreeView, edits: &HashMap<EntryIx, ContextEdit>, index: usize) -> bool {
    let ix = view.tree_rows[index].entry;
    let has_mark = view.marked_entry() == Some(ix);
    let has_label = view.label(ix).is_some();
    let is_edited = edits.contains_key(&ix);
    view.session.is_message(ix, Role::ToolResult) && !has_mark && !has_label && !is_edited
}

/// Folds each branch that the conversation left on its way to the leaf, if the branch has more than
/// `LONGEST_OPEN_BRANCH` printed rows. The view must have the layout of the trunk:
///
/// ```text
/// a              level 0: the trunk, which is the path to the leaf
/// ├─ x           level 1 with a connector: a branch begins
/// │  y           ...up to the next row of this kind, or of level 0, even if it branches again
/// b              level 0
/// ```
pub fn fold_left_branches(view: &TreeView, groups: Vec<RowGroup>) -> Vec<RowGroup> {
    let is_on_trunk = |group: &RowGroup| view.tree_rows[group.rows.start].level == 0;
    let begins_branch = |group: &RowGroup| {
        let first_row = &view.tree_rows[group.rows.start];
        first_row.level == 1 && first_row.has_connector
    };

    let mut folded: Vec<RowGroup> = Vec::with_capacity(groups.len());
    // A section is a row of the trunk, or a whole branch.
    for section in groups.chunk_by(|_, next| !is_on_trunk(next) && !begins_branch(next)) {
        let first = &section[0];
        let last = &section[section.len() - 1];
        if begins_branch(first) && section.len() > LONGEST_OPEN_BRANCH {
            folded.push(RowGroup {
                rows: first.rows.start..last.rows.end,
                kind: GroupKind::Branch,
            });
        } else {
            folded.extend_from_slice(section);
        }
    }
    folded
}

/// Returns the entry whose text describes the branch with these rows: its first user message or,
/// without one, its first entry. A branch has at least one row.
pub fn describing_entry(view: &TreeView, rows: &Range<usize>) -> EntryIx {
    let tree_rows = &view.tree_rows[rows.clone()];
    for tree_row in tree_rows {
        let flags = view.session.entry(tree_row.entry).flags;
        if flags.contains(Flags::USER_REQUEST) {
            return tree_row.entry;
        }
    }
    tree_rows[0].entry
}

/// Returns the label that is nearest to the end of the branch with these rows; `None` if it has no
/// label.
pub fn last_label<'a>(view: &TreeView<'a>, rows: &Range<usize>) -> Option<Text<'a>> {
    let tree_rows = &view.tree_rows[rows.clone()];
    tree_rows
        .iter()
        .rev()
        .find_map(|tree_row| view.label(tree_row.entry))
}

/// Whether the row at `index` continues the row before it in the same column, without a connector
/// such as `├─`: its entry is the only child, among the drawn entries, of the entry in the row
/// before. Also requires that both entries are on the path to the leaf, or neither is, because rows
/// on this path are marked.
fn continues_row_before(view: &TreeView, index: usize) -> bool {
    let Some(index_before) = index.checked_sub(1) else {
        return false;
    };
    let tree_row = &view.tree_rows[index];
    let entry_before = view.tree_rows[index_before].entry;

    // An entry with siblings has a connector.
    let is_only_child =
        !tree_row.has_connector && view.shown_ancestor(tree_row.entry) == Some(entry_before);
    let are_both_active = view.is_active(entry_before) == view.is_active(tree_row.entry);
    is_only_child && are_both_active
}

/// A tool in a folded group.
pub struct FoldedTool<'a> {
    /// The name of the tool.
    pub name: Text<'a>,
    /// The number of folded rows of the tool.
    pub row_count: usize,
}

/// Counts the rows of each tool in a group. Tools are in the order of their first row.
pub fn count_folded_tools<'a>(view: &'a TreeView, rows: &Range<usize>) -> Vec<FoldedTool<'a>> {
    let mut tools: Vec<FoldedTool> = Vec::new();
    for tree_row in &view.tree_rows[rows.clone()] {
        let name = view.row(tree_row.entry).role;
        match tools.iter_mut().find(|known| known.name == name) {
            Some(known) => known.row_count += 1,
            None => tools.push(FoldedTool { name, row_count: 1 }),
        }
    }
    tools
}

/// Returns the context edits in effect, by the entry that they edit. A context edit (pi's
/// `context_edit`) replaces the content of an earlier entry for the model, or omits the entry.
///
/// The last edit of an entry in the file is in effect. Exceptions: for an entry on the path to
/// `leaf`, edits on other branches are ignored. An edit without a replacement, or with the stored
/// content of the entry, undoes earlier edits, so none is in effect.
pub fn find_edits(
    reader: &EntryReader,
    leaf: Option<EntryIx>,
) -> io::Result<HashMap<EntryIx, ContextEdit>> {
    let session = reader.session();
    let mut edits = HashMap::default();
    if !session.agent().constants().applies_context_edits || !session.has_kind(Kind::ContextEdit) {
        return Ok(edits);
    }
    let is_active = active_mask(session, leaf);
    for ix in session.entry_indexes() {
        if session.entry(ix).kind != Kind::ContextEdit {
            continue;
        }
        let line = reader.read_line(ix)?;
        let line = Raw::from_checked(line.trim_ascii());
        let target_id = line.get_text("targetId");
        let Some(target) = target_id.and_then(|id| session.find_entry(&id)) else {
            // The edit names no entry of the session, so it has no effect.
            continue;
        };
        let is_on_other_branch = is_active[target.index()] && !is_active[ix.index()];
        if is_on_other_branch {
            continue;
        }

        // In file order, so that a later edit replaces an earlier one.
        let edit = parse_edit(reader, ix, target, line.get("replacement"))?;
        if let Some(edit) = edit {
            edits.insert(target, edit);
        } else {
            // It undoes the earlier one.
            edits.remove(&target);
        }
    }
    Ok(edits)
}

/// Returns the effect of the context edit `ix` on what the model sees of the entry `target`.
/// `replacement` is the member of that name in the edit; `null` omits the target. Returns `None` if
/// the edit restores the stored content.
fn parse_edit(
    reader: &EntryReader,
    ix: EntryIx,
    target: EntryIx,
    replacement: Option<Raw>,
) -> io::Result<Option<ContextEdit>> {
    // Without the member, the edit restores the stored content.
    let Some(replacement) = replacement else {
        return Ok(None);
    };
    if replacement.is_null() {
        return Ok(Some(ContextEdit::Omit));
    }
    let is_original = content_json(replacement.get("content")) == stored_content(reader, target)?;
    if is_original {
        return Ok(None);
    }
    Ok(Some(ContextEdit::Replace(ix)))
}

/// The size and the age of the subtree of an entry, including the entry. Notes are not counted,
/// except those at the leaf that are a branch of their own: see [`measure_subtrees`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SubtreeExtent {
    /// The number of entries that are not notes.
    pub entry_count: u32,
    /// The time of the newest counted entry, in milliseconds since 1970; `None` if no time parses.
    pub newest_ms: Option<i64>,
}

impl SubtreeExtent {
    /// Returns the extent of an entry without its descendants.
    fn single_entry(entry: &Entry) -> SubtreeExtent {
        if entry.kind.is_bookkeeping() {
            return SubtreeExtent::default();
        }
        SubtreeExtent {
            entry_count: 1,
            newest_ms: entry_time(entry),
        }
    }
}

/// Returns the number of entries in each entry's subtree and the time of the newest one, by entry.
/// Notes, which are labels and other bookkeeping, do not count.
///
/// The exception: if the notes at the leaf are a branch of their own, their time counts for the
/// entries above them.
pub fn measure_subtrees(session: &Session) -> Vec<SubtreeExtent> {
    let mut extents: Vec<SubtreeExtent> = session
        .entries
        .iter()
        .map(SubtreeExtent::single_entry)
        .collect();
    // Backwards, so that the extent of an entry is final before it is added to the extent of its
    // parent.
    let parents_first: Vec<EntryIx> = Tree::new(session).walk_oldest_first().collect();
    for &ix in parents_first.iter().rev() {
        let Some(parent) = session.entry(ix).parent else {
            continue;
        };
        let child_extent = extents[ix.index()];
        let parent_extent = &mut extents[parent.index()];
        parent_extent.entry_count += child_extent.entry_count;
        parent_extent.newest_ms = parent_extent.newest_ms.max(child_extent.newest_ms);
    }

    add_time_of_notes_at_leaf(session, &mut extents);
    extents
}

/// If there are notes (bookkeeping) at the leaf, and they are a branch of their own, adds the time
/// of the leaf to the extents of the entries above it: the user has moved there, and the branch is
/// as new as the move.
fn add_time_of_notes_at_leaf(session: &Session, extents: &mut [SubtreeExtent]) {
    let has_counted_entries = |ix: EntryIx| extents[ix.index()].entry_count > 0;
    let at_leaf = NotesAtLeaf::find(session, has_counted_entries);
    // The notes are listed from the leaf upwards.
    let Some(&leaf) = at_leaf.notes.first() else {
        return;
    };
    let are_own_branch = match at_leaf.entry_above {
        Some(above) => has_counted_descendants(session, extents, above),
        None => true,
    };
    // Otherwise, they belong to the branch that ends at the entry above them.
    if !are_own_branch {
        return;
    }

    let leaf_ms = entry_time(session.entry(leaf));
    for ix in session.ancestors(Some(leaf)) {
        let extent = &mut extents[ix.index()];
        extent.newest_ms = extent.newest_ms.max(leaf_ms);
    }
}

/// Whether the extent of an entry has other entries than the entry itself. `extents` is by entry.
fn has_counted_descendants(session: &Session, extents: &[SubtreeExtent], ix: EntryIx) -> bool {
    let own_extent = SubtreeExtent::single_entry(session.entry(ix));
    extents[ix.index()].entry_count > own_extent.entry_count
}

/// Returns the time of an entry in milliseconds since 1970; `None` if it does not parse.
fn entry_time(entry: &Entry) -> Option<i64> {
    if entry.time_ms == Entry::NO_TIME {
        return None;
    }
    Some(entry.time_ms)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{LoadOptions, load};

    #[test]
    fn extents_do_not_depend_on_the_order_of_lines() {
        let line = |id: &str, parent: &str, second: u32| {
            format!(
                r#"{{"type":"message","id":"{id}","parentId":{parent},"timestamp":"2026-01-01T00:00:0{second}.000Z"}}"#
            )
        };
        let lines = [
            line("a", "null", 1),
            line("b", r#""a""#, 5),
            line("c", r#""b""#, 3),
            line("d", r#""a""#, 2),
        ];
        let header = r#"{"type":"session","version":3,"id":"s"}"#;
        for order in [[0, 1, 2, 3], [3, 2, 1, 0], [2, 0, 3, 1]] {
            let text = order.iter().fold(header.to_owned(), |text, &at: &usize| {
                text + "\n" + &lines[at]
            });
            let session = load(&text.into_bytes(), &LoadOptions::default()).unwrap();
            let extents = measure_subtrees(&session);
            let of = |id: &str| extents[session.find_entry(&Text::from(id)).unwrap().index()];
            let newest = |id: &str| of(id).newest_ms.map(|ms| ms / 1000 % 60);
            assert_eq!(
                ["a", "b", "c", "d"].map(|id| of(id).entry_count),
                [4, 2, 1, 1],
                "{order:?}"
            );
            assert_eq!(
                ["a", "b", "c", "d"].map(newest),
                [Some(5), Some(5), Some(3), Some(2)],
                "{order:?}"
            );
        }
    }
}
