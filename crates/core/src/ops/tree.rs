//! The rows of the tree: the filters and search of the file's own agent, and the text of each row.

use crate::agents::row::search::matches;
use crate::session::Session;
use crate::session::collected::{EntryText, ToolCall};
use crate::session::entry::{EntryIx, Flags, Kind, Role, View};
use crate::session::labels::Labels;
use crate::session::reference::Position;
use crate::session::search::{Hit, Words};
use crate::session::tree::{Tree, TreeRow, active, layout};
use foldhash::{HashMap, HashSet};
use pisess_json::text::Text;
use std::borrow::Cow;
use std::ops::Range;

/// The agents' filter modes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Filter {
    /// All but settings and bookkeeping
    #[default]
    Default,
    /// Like default, without tool results
    NoTools,
    /// Only user messages
    UserOnly,
    /// Only entries with a label
    LabeledOnly,
    /// Every entry
    All,
}

/// A tree ready to be drawn: rows in drawing order.
#[derive(Debug)]
pub struct Drawing<'a> {
    /// The session.
    pub session: &'a Session,
    labels: Labels<'a>,
    /// The position of each row.
    pub places: Vec<TreeRow>,
    /// By entry: whether it is on the path to the leaf.
    is_active: Vec<bool>,
    /// By entry: whether it has a row.
    is_visible: Vec<bool>,
    /// The entry that is drawn as the leaf.
    pub leaf: Position,
    /// For each tool result, the number of the call that it answers, counted from 1; 0 if there is
    /// none.
    calls: Vec<u32>,
    /// The words to search for.
    pub words: Words,
    /// The renderers' texts for the rows of entries, each on one line.
    pub rendered: HashMap<EntryIx, Text<'static>>,
    /// The entries that `undo` took back.
    pub undone: HashSet<EntryIx>,
    /// If each entry is drawn as when it was written, and was the leaf: where the leaf had moved
    /// before it, to another branch.
    turns: Option<HashMap<EntryIx, Position>>,
}

/// Filters and lays out the tree as if `leaf` were the leaf. The session must have been loaded with
/// rows and, if `typed` contains words to search for, with searchable texts and matches.
pub fn draw<'a>(session: &'a Session, leaf: Position, filter: Filter, typed: &str) -> Drawing<'a> {
    let labels = Labels::new(session);
    let search = Search::new(session, typed);
    let is_active = active(session, leaf);
    let mut is_visible = Vec::with_capacity(session.entries.len());
    for ix in session.all() {
        let passes = passes(session, &labels, leaf, filter, ix);
        is_visible.push(passes && search.finds(&labels, ix));
    }
    let places = layout(session, Tree::new(session), &is_active, &is_visible);
    let calls = calls_by_id(session, &is_active);
    Drawing {
        places,
        is_active,
        is_visible,
        calls,
        words: search.words,
        ..bare(session, labels, leaf)
    }
}

/// Draws new entries as they are written, without a layout. `entries` are the new ones, in file
/// order. Labels, and entries that continue on another branch, are shown even if the filter hides
/// them: labels unless only user messages are shown, branches only in `Default` and `NoTools`.
pub fn live<'a>(
    session: &'a Session,
    entries: &[EntryIx],
    filter: Filter,
    typed: &str,
) -> Drawing<'a> {
    let labels = Labels::new(session);
    let search = Search::new(session, typed);
    let is_shown = |ix: EntryIx| {
        // Each entry was the leaf when it was written.
        let passes = passes(session, &labels, Some(ix), filter, ix) || is_news(session, ix, filter);
        passes && search.finds(&labels, ix)
    };

    let mut places = Vec::new();
    let mut turns = HashMap::default();
    for &entry in entries {
        if !is_shown(entry) {
            continue;
        }
        places.push(TreeRow {
            entry,
            depth: 0,
            branch_points: 0,
            connector: false,
            last: false,
        });

        // A hidden ancestor may have moved the leaf.
        let hidden = session
            .upwards(session.entry(entry).parent)
            .take_while(|&above| !is_shown(above));
        let turn = std::iter::once(entry)
            .chain(hidden)
            .find_map(|ix| turn(session, ix));
        if let Some(turn) = turn {
            turns.insert(entry, turn);
        }
    }

    let mut calls = Vec::with_capacity(session.collected.tool_results.len());
    for result in &session.collected.tool_results {
        // What was written before is not drawn, so its calls are not searched for.
        let is_old = entries.first().is_none_or(|&first| result.entry < first);
        let number = if is_old {
            0
        } else {
            latest_call(session, result)
        };
        calls.push(number);
    }

    Drawing {
        places,
        calls,
        words: search.words,
        turns: Some(turns),
        ..bare(session, labels, None)
    }
}

/// Whether a live drawing shows an entry although the filter hides it.
fn is_news(session: &Session, ix: EntryIx, filter: Filter) -> bool {
    if session.entry(ix).kind == Kind::Label && filter != Filter::UserOnly {
        return true;
    }
    matches!(filter, Filter::Default | Filter::NoTools) && turn(session, ix).is_some()
}

/// Returns the parent of an entry, if that is not the entry before it in the file: there the
/// conversation went on elsewhere.
fn turn(session: &Session, ix: EntryIx) -> Option<Position> {
    let parent = session.entry(ix).parent;
    if parent == ix.before() {
        return None;
    }
    Some(parent)
}

/// Returns the number of the last call in the file with the id of a result, as
/// [`Drawing::calls`] has it.
fn latest_call(session: &Session, result: &EntryText) -> u32 {
    let id = session.bytes(result.text);
    let calls = &session.collected.tool_calls;
    match calls.iter().rposition(|call| session.bytes(call.id) == id) {
        Some(at) => at as u32 + 1,
        None => 0,
    }
}

/// Returns the rows without a layout, for callers that list entries in another order.
pub fn rows<'a>(session: &'a Session, leaf: Position) -> Drawing<'a> {
    let is_active = active(session, leaf);
    let calls = calls_by_id(session, &is_active);
    let is_visible = vec![false; session.entries.len()];
    Drawing {
        is_active,
        is_visible,
        calls,
        ..bare(session, Labels::new(session), leaf)
    }
}

/// Returns a drawing without rows.
fn bare<'a>(session: &'a Session, labels: Labels<'a>, leaf: Position) -> Drawing<'a> {
    Drawing {
        session,
        labels,
        places: Vec::new(),
        is_active: Vec::new(),
        is_visible: Vec::new(),
        leaf,
        calls: Vec::new(),
        words: Words::default(),
        rendered: HashMap::default(),
        undone: HashSet::default(),
        turns: None,
    }
}

impl<'a> Drawing<'a> {
    /// Returns the row of an entry, without marks and label.
    pub fn text(&self, ix: EntryIx) -> Text<'a> {
        match self.call(ix) {
            Some(call) => self.session.text(call.row),
            None => self.session.row(ix),
        }
    }

    /// Whether `undo` took the entry back, and it is not on the path to the leaf.
    pub fn is_undone(&self, ix: EntryIx) -> bool {
        self.undone.contains(&ix) && !self.is_active(ix)
    }

    /// Returns the call that a tool result answers.
    pub fn call(&self, ix: EntryIx) -> Option<&'a ToolCall> {
        if self.session.entry(ix).role != Role::ToolResult {
            return None;
        }
        let collected = &self.session.collected;
        let result = collected
            .tool_results
            .binary_search_by_key(&ix, |result| result.entry)
            .ok()?;
        let number = *self.calls.get(result)? as usize;
        // 0 is no call.
        let call = number.checked_sub(1)?;
        collected.tool_calls.get(call)
    }

    /// Returns the entry's label.
    pub fn label(&self, ix: EntryIx) -> Option<Text<'a>> {
        self.labels.name(ix)
    }

    /// Returns where the entry or its label contains a searched word; `None` if only its row
    /// matches: oh-my-pi's search is fuzzy, and pi's also finds words that no field contains.
    pub fn hit(&self, ix: EntryIx) -> Option<Cow<'a, Hit>> {
        if let Some(found) = self.session.found(ix) {
            return Some(Cow::Borrowed(&found.hit));
        }
        let texts = [
            ("label", self.label(ix)),
            ("message.role", self.session.role_name(ix)),
            ("type", Some(self.session.kind_name(ix))),
        ];
        for (field, text) in texts {
            if let Some(text) = text
                && let Some(hit) = self.words.hit(field, &text.to_string_lossy())
            {
                return Some(Cow::Owned(hit));
            }
        }
        None
    }

    /// Whether the entry is on the path to the leaf.
    pub fn is_active(&self, ix: EntryIx) -> bool {
        self.is_live() || self.is_active[ix.at()]
    }

    /// Returns the entry whose row is marked as the leaf: the leaf, or its nearest ancestor that is
    /// shown. The agents select the same entry.
    pub fn marked(&self) -> Position {
        self.session
            .upwards(self.leaf)
            .find(|ix| self.is_visible[ix.at()])
    }

    /// Returns the nearest ancestor that is shown.
    pub fn above(&self, ix: EntryIx) -> Position {
        self.session
            .upwards(self.session.entry(ix).parent)
            .find(|ix| self.is_visible[ix.at()])
    }

    /// Returns the entry that a label names, where labels are rows of their own.
    pub fn labelled(&self, ix: EntryIx) -> Option<Text<'a>> {
        if !self.is_live() {
            return None;
        }
        let changes = &self.session.collected.labels;
        let at = changes
            .binary_search_by_key(&ix, |change| change.entry)
            .ok()?;
        Some(self.session.text(changes[at].target))
    }

    /// Whether each entry is drawn as when it was written.
    pub fn is_live(&self) -> bool {
        self.turns.is_some()
    }

    /// Returns where the leaf had moved before an entry was written, if that is on another branch
    /// than what was written before.
    pub fn turn(&self, ix: EntryIx) -> Option<Position> {
        self.turns.as_ref()?.get(&ix).copied()
    }

    /// Returns the range of the rows that are at most `most` rows from the one marked as the leaf;
    /// all rows without `most`. Without a leaf, the first row is meant. `rows` are the entries of
    /// all rows.
    pub fn around(
        &self,
        mut rows: impl ExactSizeIterator<Item = EntryIx>,
        most: Option<usize>,
    ) -> Range<usize> {
        let count = rows.len();
        let Some(most) = most else {
            return 0..count;
        };
        let marked = self.marked();
        let at = rows.position(|ix| marked == Some(ix)).unwrap_or(0);
        let start = at.saturating_sub(most);
        let end = at.saturating_add(most).saturating_add(1);
        start..count.min(end)
    }

    /// Whether the entry is the leaf.
    pub fn is_leaf(&self, ix: EntryIx) -> bool {
        self.is_live() || self.leaf == Some(ix)
    }
}

/// Whether a filter shows an entry of a session whose leaf is `leaf`.
pub fn passes(
    session: &Session,
    labels: &Labels,
    leaf: Position,
    filter: Filter,
    ix: EntryIx,
) -> bool {
    let entry = session.entry(ix);
    if filter == Filter::All {
        return true;
    }
    // Both agents hide these in every mode, even in `all`; pisess shows them in `all`.
    let view = entry.kind.view(session.dialect);
    if entry.flags.has(Flags::SILENT) && leaf != Some(ix) || view == View::Never {
        return false;
    }
    match filter {
        Filter::Default => view == View::Shown,
        Filter::NoTools => view == View::Shown && entry.role != Role::ToolResult,
        Filter::UserOnly => entry.flags.has(Flags::USER_REQUEST),
        Filter::LabeledOnly => labels.change(ix).is_some(),
        Filter::All => true,
    }
}

/// A search of rows.
struct Search<'s> {
    session: &'s Session,
    words: Words,
    /// The query of oh-my-pi's fuzzy search: UTF-16 words, each of which must resemble one of the
    /// row. `None` for pi, which has no such search.
    fuzzy: Option<Vec<Vec<u16>>>,
}

impl<'s> Search<'s> {
    fn new(session: &'s Session, typed: &str) -> Self {
        Search {
            session,
            words: Words::new(typed),
            fuzzy: session.agent().parse_fuzzy_query(typed),
        }
    }

    /// Whether an entry or its label matches: all words in all its text, or the agent's own search
    /// in its row.
    fn finds(&self, labels: &Labels, ix: EntryIx) -> bool {
        if self.words.is_empty() {
            return true;
        }
        let mut found = match self.session.found(ix) {
            Some(found) => found.words.clone(),
            None => vec![false; self.words.len()],
        };
        if found.iter().all(|&found| found) {
            return true;
        }

        let mut text = String::new();
        if let Some(label) = labels.name(ix) {
            text += &format!("{label} ");
        }
        if let Some(&searchable) = self.session.collected.searchable.get(ix.at()) {
            text += &self.session.text(searchable).to_string();
        }
        self.words.mark(&text, &mut found);
        if found.iter().all(|&found| found) {
            return true;
        }
        match &self.fuzzy {
            Some(query) => matches(query, &text),
            None => false,
        }
    }
}

/// Returns the number of each result's call, counted from 1; 0 for a result without a call. Of
/// calls with the same id, the last one drawn counts, as in the agents.
fn calls_by_id(session: &Session, is_active: &[bool]) -> Vec<u32> {
    let results = &session.collected.tool_results;
    if results.is_empty() {
        return Vec::new();
    }

    let mut rank = vec![0_u32; session.entries.len()];
    for (at, ix) in Tree::new(session).walk(is_active).enumerate() {
        rank[ix.at()] = at as u32;
    }
    let mut calls: Vec<(u32, &ToolCall)> = (1..).zip(&session.collected.tool_calls).collect();
    calls.sort_by_key(|(_, call)| rank[call.entry.at()]);

    let mut number_by_id: HashMap<&[u8], u32> = HashMap::default();
    for (number, call) in calls {
        number_by_id.insert(session.bytes(call.id), number);
    }
    let mut numbers = Vec::with_capacity(results.len());
    for result in results {
        let number = number_by_id.get(session.bytes(result.text));
        numbers.push(number.copied().unwrap_or(0));
    }
    numbers
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::row::RowOptions;
    use crate::load::{Options, load};

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
        let options = Options {
            rows: Some(RowOptions::default()),
            ..Options::default()
        };
        load(&text.into_bytes(), &options).unwrap()
    }

    #[test]
    fn a_result_answers_the_last_call_with_its_id() {
        let answered = |words: &str| {
            let session = session(words);
            calls_by_id(&session, &[])
        };
        assert_eq!(answered(""), [0; 0]);
        assert_eq!(answered("a:x x a:y,z z y"), [1, 3, 2]);
        assert_eq!(answered("a:x x x"), [1, 1]);
        assert_eq!(answered("a:x orphan"), [0]);
        assert_eq!(answered("x a:x"), [1]);
        assert_eq!(answered("a:x x a:x x"), [2, 2]);
    }
}
