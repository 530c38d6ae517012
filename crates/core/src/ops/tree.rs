//! Selects and arranges the rows of the tree, with the filters and the search of the session's
//! agent.

use crate::agents::row::search::{matches_query, parse_query};
use crate::session::Session;
use crate::session::collected::{EntryText, ToolCall};
use crate::session::entry::{EntryIx, Flags, Kind, Role, TreeVisibility};
use crate::session::labels::Labels;
use crate::session::range::EntryRange;
use crate::session::reference::Position;
use crate::session::search::{Hit, SearchWords};
use crate::session::tree::{Tree, TreeRow, active_mask, layout_rows};
use foldhash::{HashMap, HashSet};
use pisess_json::text::Text;
use std::borrow::Cow;
use std::ops::Range;

pub use crate::session::tree::Layout;

/// The filter modes of the agents, and two that only pisess has: `Failed` and `Images`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Filter {
    /// All but settings and bookkeeping (labels, names, marks of `switch`, …)
    #[default]
    Default,
    /// Like default, without tool results
    NoTools,
    /// Only user messages
    UserOnly,
    /// Only entries with a label
    LabeledOnly,
    /// Only tool calls, commands and replies that failed or were aborted
    Failed,
    /// Only entries with an image
    Images,
    /// Every entry
    All,
}

/// The content and the layout of a view.
#[derive(Clone, Copy, Debug, Default)]
pub struct ViewOptions<'q> {
    /// The entries that are shown.
    pub filter: Filter,
    /// The search query, as in the tree of the agent: only entries that match are shown. Empty for
    /// no search.
    pub query: &'q str,
    /// The layout of the rows.
    pub layout: Layout,
}

/// A tree ready to be drawn, with its rows in drawing order.
#[derive(Debug)]
pub struct TreeView<'a> {
    /// The session.
    pub session: &'a Session,
    labels: Labels<'a>,
    /// The layout of the rows.
    pub layout: Layout,
    /// The position of each row.
    pub tree_rows: Vec<TreeRow>,
    /// By entry: whether it is on the path to the leaf.
    is_active: Vec<bool>,
    /// By entry: whether it has a row.
    is_visible: Vec<bool>,
    /// The entry that is drawn as the leaf, which need not be the leaf of the session.
    pub leaf: Option<EntryIx>,
    /// For each tool result of the session, the index of the call that it answers in
    /// `Collected::tool_calls`; `None` if there is none.
    answered_calls: Vec<Option<u32>>,
    /// The words of the search query.
    pub words: SearchWords,
    /// The texts that external renderers made for the rows of entries, each of one line.
    pub rendered: HashMap<EntryIx, Text<'static>>,
    /// The entries that `undo` has undone.
    pub undone: HashSet<EntryIx>,
    /// For compactions, the first entry that each keeps; see
    /// [`find_first_kept`](super::row_notes::find_first_kept).
    pub first_kept: HashMap<EntryIx, EntryIx>,
    /// Why calls and commands failed; see
    /// [`read_failure_reasons`](super::row_notes::read_failure_reasons).
    pub failure_reasons: HashMap<EntryIx, String>,
    /// Only in a live view, where each entry is drawn as when it was written and was the leaf: maps
    /// an entry to the position on another branch to which the leaf had moved before the entry was
    /// written. `None` in other views.
    leaf_moves: Option<HashMap<EntryIx, Position>>,
}

/// Filters and lays out the tree as if `leaf` were the leaf. The session must have been loaded with
/// rows and, if there is a query, with a search for its words.
pub fn build_view<'a>(
    session: &'a Session,
    leaf: Option<EntryIx>,
    options: ViewOptions,
) -> TreeView<'a> {
    build_selected_view(session, leaf, options, |_| true)
}

/// Filters and lays out the entries of a range. They are laid out as if the end of the range were
/// the leaf, so that the range is drawn in one column. Apart from this, the leaf is the leaf of the
/// session, and the path to it is marked.
pub fn build_range_view<'a>(
    session: &'a Session,
    range: EntryRange,
    options: ViewOptions,
) -> TreeView<'a> {
    let is_in_range = range.mask(session);
    let view = build_selected_view(session, range.end.entry(), options, |ix| {
        is_in_range[ix.index()]
    });
    TreeView {
        leaf: session.leaf,
        is_active: active_mask(session, session.leaf),
        ..view
    }
}

/// Filters and lays out the entries that `is_selected` accepts. `leaf` counts as the current entry:
/// the path to it is drawn in the first column, and the filter may show entries because they are on
/// that path.
fn build_selected_view<'a>(
    session: &'a Session,
    leaf: Option<EntryIx>,
    options: ViewOptions,
    is_selected: impl Fn(EntryIx) -> bool,
) -> TreeView<'a> {
    let ViewOptions {
        filter,
        query,
        layout,
    } = options;
    let labels = Labels::new(session);
    let search = RowSearch::new(session, query);
    // By entry: whether it has a row.
    let mut is_visible = Vec::with_capacity(session.entries.len());
    for ix in session.entry_indexes() {
        let passes = is_selected(ix) && filter_shows(session, &labels, leaf, filter, ix);
        is_visible.push(passes && search.is_match(&labels, ix));
    }

    let is_active = active_mask(session, leaf);
    let tree = Tree::new(session);
    let tree_rows = layout_rows(session, tree, layout, &is_active, &is_visible);
    let answered_calls = find_answered_calls(session, &is_active);
    TreeView {
        layout,
        tree_rows,
        is_active,
        is_visible,
        answered_calls,
        words: search.words,
        ..empty_view(session, labels, leaf)
    }
}

/// Returns a live view of the new entries `entries`: one row per entry, in file order, without a
/// layout.
///
/// Two kinds of entries are shown even if the filter hides them: labels, except with the filter
/// `UserOnly`; and, with the filters `Default` and `NoTools`, entries that continue on another
/// branch.
pub fn build_live_view<'a>(
    session: &'a Session,
    entries: &[EntryIx],
    filter: Filter,
    query: &str,
) -> TreeView<'a> {
    let labels = Labels::new(session);
    let search = RowSearch::new(session, query);
    let is_shown = |ix: EntryIx| {
        // Each entry was the leaf when it was written.
        let passes = filter_shows(session, &labels, Some(ix), filter, ix)
            || overrides_filter(session, ix, filter);
        passes && search.is_match(&labels, ix)
    };

    let mut tree_rows = Vec::new();
    let mut leaf_moves = HashMap::default();
    for &entry in entries {
        if !is_shown(entry) {
            continue;
        }
        tree_rows.push(TreeRow::new(entry));

        // A move of the leaf is shown with the first shown entry after the move. So the hidden
        // ancestors of this entry are checked, too.
        for ix in session.ancestors(Some(entry)) {
            if ix != entry && is_shown(ix) {
                break;
            }
            if let Some(moved_to) = non_adjacent_parent(session, ix) {
                leaf_moves.insert(entry, moved_to);
                break;
            }
        }
    }

    let mut answered_calls = Vec::with_capacity(session.collected.tool_results.len());
    for result in &session.collected.tool_results {
        // Results before the new entries are not drawn, so their calls are not needed.
        let is_earlier = entries.first().is_none_or(|&first| result.entry < first);
        answered_calls.push(if is_earlier {
            None
        } else {
            find_last_call(session, result)
        });
    }

    TreeView {
        tree_rows,
        answered_calls,
        words: search.words,
        leaf_moves: Some(leaf_moves),
        ..empty_view(session, labels, None)
    }
}

/// Whether a live view shows an entry even if the filter hides it: see [`build_live_view`].
fn overrides_filter(session: &Session, ix: EntryIx, filter: Filter) -> bool {
    if session.entry(ix).kind == Kind::Label && filter != Filter::UserOnly {
        return true;
    }
    matches!(filter, Filter::Default | Filter::NoTools)
        && non_adjacent_parent(session, ix).is_some()
}

/// Returns the parent of an entry if it is not the entry before it in the file. If so, the leaf had
/// moved to that parent before the entry was written.
fn non_adjacent_parent(session: &Session, ix: EntryIx) -> Option<Position> {
    let parent = session.entry(ix).parent;
    if parent == ix.previous() {
        return None;
    }
    Some(parent.into())
}

/// Returns the index, in `Collected::tool_calls`, of the last call in the file that a result can
/// answer; `None` if there is none.
fn find_last_call(session: &Session, result: &EntryText) -> Option<u32> {
    let id = session.bytes(result.text);
    let calls = &session.collected.tool_calls;
    let index = calls
        .iter()
        .rposition(|call| session.bytes(call.id) == id)?;
    Some(index as u32)
}

/// Returns a view without rows and layout, for callers that list entries in another order and need
/// only their texts. No entry counts as visible.
pub fn view_without_layout<'a>(session: &'a Session, leaf: Option<EntryIx>) -> TreeView<'a> {
    let is_active = active_mask(session, leaf);
    let answered_calls = find_answered_calls(session, &is_active);
    let is_visible = vec![false; session.entries.len()];
    TreeView {
        is_active,
        is_visible,
        answered_calls,
        ..empty_view(session, Labels::new(session), leaf)
    }
}

/// Returns a view without rows, from which the other functions build theirs by setting the fields
/// that they need. The lists by entry (`is_active`, `is_visible`) are empty, too: they must be set
/// before rows are added.
fn empty_view<'a>(session: &'a Session, labels: Labels<'a>, leaf: Option<EntryIx>) -> TreeView<'a> {
    TreeView {
        session,
        labels,
        layout: Layout::default(),
        tree_rows: Vec::new(),
        is_active: Vec::new(),
        is_visible: Vec::new(),
        leaf,
        answered_calls: Vec::new(),
        words: SearchWords::default(),
        rendered: HashMap::default(),
        undone: HashSet::default(),
        first_kept: HashMap::default(),
        failure_reasons: HashMap::default(),
        leaf_moves: None,
    }
}

impl<'a> TreeView<'a> {
    /// Returns the text of an entry's row, without marks and label.
    pub fn row_text(&self, ix: EntryIx) -> Text<'a> {
        match self.answered_call(ix) {
            Some(call) => self.session.text(call.row),
            None => self.session.row(ix),
        }
    }

    /// Whether `undo` has undone the entry, and the entry is not on the path to the leaf.
    pub fn is_undone(&self, ix: EntryIx) -> bool {
        self.undone.contains(&ix) && !self.is_active(ix)
    }

    /// Returns the call that a tool result answers; `None` for any other entry, and for a result
    /// whose call is not in the session.
    pub fn answered_call(&self, ix: EntryIx) -> Option<&'a ToolCall> {
        if self.session.entry(ix).role != Role::ToolResult {
            return None;
        }
        let collected = &self.session.collected;
        let result_index = collected
            .tool_results
            .binary_search_by_key(&ix, |result| result.entry)
            .ok()?;
        // `answered_calls` has an element for each result of the session: the index of its call, or
        // `None`. In an empty view, it has no elements.
        let call_index = (*self.answered_calls.get(result_index)?)?;
        collected.tool_calls.get(call_index as usize)
    }

    /// Returns the entry's label.
    pub fn label(&self, ix: EntryIx) -> Option<Text<'a>> {
        self.labels.get(ix)
    }

    /// Returns the place where the entry or its label contains a word of the query. An entry may be
    /// found without such a place, and then the result is `None`: the search of oh-my-pi is fuzzy,
    /// and the search of pi also finds words that are only in the row.
    pub fn find_hit(&self, ix: EntryIx) -> Option<Cow<'a, Hit>> {
        if let Some(matches) = self.session.search_matches(ix)
            && let Some(hit) = &matches.hit
        {
            return Some(Cow::Borrowed(hit));
        }
        // The search at loading covers only fields with content, so these texts are searched here.
        let texts = [
            ("label", self.label(ix)),
            ("message.role", self.session.role_name(ix)),
            ("type", Some(self.session.kind_name(ix))),
        ];
        for (field, text) in texts {
            if let Some(text) = text
                && let Some(hit) = self.words.find_hit(field, &text.to_string_lossy())
            {
                return Some(Cow::Owned(hit));
            }
        }
        None
    }

    /// Whether the entry is on the path to the leaf; always true in a live view.
    pub fn is_active(&self, ix: EntryIx) -> bool {
        self.is_live() || self.is_active[ix.index()]
    }

    /// Returns the entry whose row is marked as the leaf: the leaf or, if it is not shown, its
    /// nearest shown ancestor. The agents select the same entry.
    pub fn marked_entry(&self) -> Option<EntryIx> {
        self.session
            .ancestors(self.leaf)
            .find(|ix| self.is_visible[ix.index()])
    }

    /// Returns the nearest shown ancestor of an entry.
    pub fn shown_ancestor(&self, ix: EntryIx) -> Option<EntryIx> {
        self.session
            .ancestors(self.session.entry(ix).parent)
            .find(|ix| self.is_visible[ix.index()])
    }

    /// Returns the id of the entry that a label entry labels, for the row of the label entry. Only
    /// a live view, which follows a session as it grows, has such rows. Any other view shows a
    /// label on the row of the labelled entry, so the result is `None`.
    pub fn label_target(&self, ix: EntryIx) -> Option<Text<'a>> {
        if !self.is_live() {
            return None;
        }
        // Label changes are in file order.
        let changes = &self.session.collected.labels;
        let index = changes
            .binary_search_by_key(&ix, |change| change.entry)
            .ok()?;
        Some(self.session.text(changes[index].target))
    }

    /// Whether this is a live view, in which each entry is drawn as when it was written.
    pub fn is_live(&self) -> bool {
        self.leaf_moves.is_some()
    }

    /// Returns the position on another branch to which the leaf had moved before an entry was
    /// written; `None` if it had not, or if the view is not live.
    pub fn leaf_moved_to(&self, ix: EntryIx) -> Option<Position> {
        self.leaf_moves.as_ref()?.get(&ix).copied()
    }

    /// Returns the range of the rows that are at most `distance` rows away from the row marked as
    /// the leaf. If no row is marked, the distance is measured from the first row. If `distance` is
    /// `None`, returns all rows.
    ///
    /// `rows` has the entry of each row, in order.
    pub fn rows_around_leaf(
        &self,
        mut rows: impl ExactSizeIterator<Item = EntryIx>,
        distance: Option<usize>,
    ) -> Range<usize> {
        let row_count = rows.len();
        let Some(distance) = distance else {
            return 0..row_count;
        };
        let marked_entry = self.marked_entry();
        let leaf_row = rows.position(|ix| marked_entry == Some(ix)).unwrap_or(0);
        let start = leaf_row.saturating_sub(distance);
        let end = leaf_row.saturating_add(distance).saturating_add(1);
        start..row_count.min(end)
    }

    /// Whether the entry is the leaf; always true in a live view.
    pub fn is_leaf(&self, ix: EntryIx) -> bool {
        self.is_live() || self.leaf == Some(ix)
    }
}

/// Whether a filter shows an entry in the tree, by the rules of the session's agent. All filters
/// but `All` hide a reply without text, such as one that only calls tools, unless it is `leaf`.
pub fn filter_shows(
    session: &Session,
    labels: &Labels,
    leaf: Option<EntryIx>,
    filter: Filter,
    ix: EntryIx,
) -> bool {
    let entry = session.entry(ix);
    let visibility = entry.kind.tree_visibility(session.dialect);
    // Both agents hide these entries in every mode. pisess shows them in the mode `all`.
    let is_silent_reply = entry.flags.contains(Flags::SILENT) && leaf != Some(ix);
    if is_silent_reply || visibility == TreeVisibility::Never {
        return filter == Filter::All;
    }

    let is_usually_shown = visibility == TreeVisibility::Shown;
    match filter {
        Filter::Default => is_usually_shown,
        Filter::NoTools => is_usually_shown && entry.role != Role::ToolResult,
        Filter::UserOnly => entry.flags.contains(Flags::USER_REQUEST),
        Filter::LabeledOnly => labels.label_change(ix).is_some(),
        Filter::Failed => entry.ending().is_some(),
        Filter::Images => entry.flags.contains(Flags::IMAGES),
        Filter::All => true,
    }
}

/// A search for entries by the words of a query.
struct RowSearch<'s> {
    session: &'s Session,
    words: SearchWords,
    /// The words of the query, in UTF-16, for oh-my-pi's fuzzy search: each must resemble a word of
    /// the row. `None` for pi, which has no fuzzy search.
    fuzzy: Option<Vec<Vec<u16>>>,
}

impl<'s> RowSearch<'s> {
    /// Parses a query as the session's agent does: into words and, for an agent with a fuzzy search
    /// (oh-my-pi), also into the words of that search, which need only resemble the words of the
    /// entry. [`is_match`](Self::is_match) tries both.
    fn new(session: &'s Session, query: &str) -> Self {
        let fuzzy = if session.agent().has_fuzzy_search() {
            Some(parse_query(query))
        } else {
            None
        };
        RowSearch {
            session,
            words: SearchWords::new(query),
            fuzzy,
        }
    }

    /// Whether an entry matches: if its fields and its label together contain all words, or if the
    /// agent's fuzzy search finds it. A query without words matches all entries.
    fn is_match(&self, labels: &Labels, ix: EntryIx) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let label = labels.get(ix);
        self.has_all_words(ix, label.as_ref()) || self.is_fuzzy_match(ix, label.as_ref())
    }

    /// Whether the fields of an entry and its label together contain all words of the query.
    fn has_all_words(&self, ix: EntryIx, label: Option<&Text>) -> bool {
        // By word: whether it was found. The fields were searched when the session was loaded. A
        // label is set by another entry, so it is searched here.
        let mut is_found = match self.session.search_matches(ix) {
            Some(matches) => matches.words.clone(),
            None => vec![false; self.words.len()],
        };
        if let Some(label) = label {
            self.words
                .mark_found(&label.to_string_lossy(), &mut is_found);
        }
        !is_found.contains(&false)
    }

    /// Whether the agent's fuzzy search finds an entry; `false` if the agent has no such search.
    fn is_fuzzy_match(&self, ix: EntryIx, label: Option<&Text>) -> bool {
        let Some(query) = &self.fuzzy else {
            return false;
        };
        // The text that the agent searches: the label comes before the other fields.
        let fields = self.session.fuzzy_text(ix);
        match label {
            Some(label) => matches_query(query, &format!("{label} {fields}")),
            None => matches_query(query, &fields.to_string()),
        }
    }
}

/// Returns, for each tool result in file order, the index of the call that it answers; `None` if
/// there is none. If several calls have the same id, the last one in drawing order counts, as in
/// the agents. In this order, the path to the leaf comes first.
fn find_answered_calls(session: &Session, is_active: &[bool]) -> Vec<Option<u32>> {
    let results = &session.collected.tool_results;
    if results.is_empty() {
        return Vec::new();
    }

    let calls = &session.collected.tool_calls;
    let mut call_by_id: HashMap<&[u8], u32> = HashMap::default();
    for index in calls_in_drawing_order(session, is_active) {
        // A later call replaces an earlier one with the same id.
        call_by_id.insert(session.bytes(calls[index as usize].id), index);
    }
    let mut answered_calls = Vec::with_capacity(results.len());
    for result in results {
        // The text that was collected with a result is the id of its call.
        let call_id = session.bytes(result.text);
        answered_calls.push(call_by_id.get(call_id).copied());
    }
    answered_calls
}

/// Returns the indexes of all tool calls, in the drawing order of their entries.
fn calls_in_drawing_order(session: &Session, is_active: &[bool]) -> Vec<u32> {
    let mut drawing_index = vec![0_u32; session.entries.len()];
    for (index, ix) in Tree::new(session).walk(is_active).enumerate() {
        drawing_index[ix.index()] = index as u32;
    }
    let calls = &session.collected.tool_calls;
    let mut in_order: Vec<u32> = (0..calls.len() as u32).collect();
    in_order.sort_by_key(|&index| drawing_index[calls[index as usize].entry.index()]);
    in_order
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::row::RowOptions;
    use crate::load::{LoadOptions, load};

    /// Returns a session with one entry for each word: `a:x,y` calls `x` and `y`, and `x` is the
    /// result of a call.
    fn session(words: &str) -> Session {
        let mut text = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
        for (at, word) in words.split_whitespace().enumerate() {
            let call = |id: &str| {
                format!(r#"{{"type":"toolCall","id":"{id}","name":"t","arguments":{{}}}}"#)
            };
            let message = match word.strip_prefix("a:") {
                Some(ids) => {
                    let calls: Vec<_> = ids.split(',').map(call).collect();
                    format!(r#"{{"role":"assistant","content":[{}]}}"#, calls.join(","))
                }
                None => format!(r#"{{"role":"toolResult","toolCallId":"{word}","content":[]}}"#),
            };
            let parent = at
                .checked_sub(1)
                .map_or("null".to_owned(), |parent| format!("\"e{parent}\""));
            text += &format!(
                "{{\"type\":\"message\",\"id\":\"e{at}\",\"parentId\":{parent},\"message\":{message}}}\n"
            );
        }
        let options = LoadOptions {
            rows: Some(RowOptions::default()),
            ..LoadOptions::default()
        };
        load(&text.into_bytes(), &options).unwrap()
    }

    #[test]
    fn a_result_answers_the_last_call_with_its_id() {
        let answered = |words: &str| {
            let session = session(words);
            find_answered_calls(&session, &[])
        };
        assert_eq!(answered(""), []);
        assert_eq!(answered("a:x x a:y,z z y"), [Some(0), Some(2), Some(1)]);
        assert_eq!(answered("a:x x x"), [Some(0), Some(0)]);
        assert_eq!(answered("a:x orphan"), [None]);
        assert_eq!(answered("x a:x"), [Some(0)]);
        assert_eq!(answered("a:x x a:x x"), [Some(1), Some(1)]);
    }
}
