//! The tree of a session: the children of each entry in order, and the layout of the tree in rows.
//!
//! Children are sorted by time. There are two layouts, with the same rows:
//!
//! ```text
//! trunk                 pi
//! a                     a
//! ├─ c                  ├─ b
//! │  d                  │  e
//! b                     └─ c
//! e                        d
//! ```
//!
//! The trunk is the path to the leaf. In its layout, it is not indented, however often the
//! conversation was rewound. In pi's layout (`tree-selector`), chains of single children stay flat,
//! all rows below a branch point are indented, and the branch with the leaf comes first. Everything
//! is computed in loops over arrays; no walk recurses.

use super::entry::{Entry, EntryIx};
use crate::session::Session;

/// The roots, and the children of each entry, in the agents' order.
#[derive(Debug)]
pub struct Tree {
    roots: Vec<EntryIx>,
    /// The children of entry `n` are `children[child_start[n]..child_start[n + 1]]`.
    child_start: Vec<u32>,
    children: Vec<EntryIx>,
}

impl Tree {
    /// Builds the tree of a session. It contains every entry exactly once.
    pub fn new(session: &Session) -> Tree {
        Tree::from_parents(&session.entries, |ix| session.entry(ix).parent)
    }

    /// Builds a tree in which `parent` decides the parent of each entry, in place of the links in
    /// the session. The parents must not form a cycle.
    ///
    /// This is a counting sort of the entries by their parents: it counts the children of each
    /// entry, sums the counts to where the children of each start, and puts each child in its
    /// place.
    pub fn from_parents(entries: &[Entry], parent: impl Fn(EntryIx) -> Option<EntryIx>) -> Tree {
        // Counted two places ahead, so that after summing, `child_start[n + 1]` is where the first
        // child of `n` goes. It moves on with each child, and ends where the children of `n + 1`
        // start.
        let mut child_start = vec![0_u32; entries.len() + 2];
        for index in 0..entries.len() {
            if let Some(parent) = parent(EntryIx::new(index)) {
                child_start[parent.index() + 2] += 1;
            }
        }
        for index in 1..child_start.len() {
            child_start[index] += child_start[index - 1];
        }

        let mut roots = Vec::new();
        let child_count = child_start.last().map_or(0, |&last| last as usize);
        // The entry is only a placeholder: every place is filled below.
        let mut children = vec![EntryIx::new(0); child_count];
        for index in 0..entries.len() {
            let ix = EntryIx::new(index);
            match parent(ix) {
                None => roots.push(ix),
                Some(parent) => {
                    let next = &mut child_start[parent.index() + 1];
                    children[*next as usize] = ix;
                    *next += 1;
                }
            }
        }
        // The last place was only needed for counting ahead.
        child_start.pop();

        for bounds in child_start.windows(2) {
            let siblings = &mut children[bounds[0] as usize..bounds[1] as usize];
            if siblings.len() >= 2 {
                sort_by_time(siblings, entries);
            }
        }
        Tree {
            roots,
            child_start,
            children,
        }
    }

    /// Returns the entries without a parent, in file order.
    pub fn roots(&self) -> &[EntryIx] {
        &self.roots
    }

    /// Returns the children of an entry, oldest first.
    pub fn children(&self, ix: EntryIx) -> &[EntryIx] {
        &self.children
            [self.child_start[ix.index()] as usize..self.child_start[ix.index() + 1] as usize]
    }

    /// Iterates over all entries: parents before children, and siblings from the oldest to the
    /// youngest. The descendants of a sibling come before the next sibling.
    pub fn walk_oldest_first(&self) -> impl Iterator<Item = EntryIx> + use<'_> {
        self.walk(&[])
    }

    /// Iterates over all entries in drawing order: parents before children. Of siblings, the one
    /// that leads to the leaf comes first, then the others from the oldest to the youngest.
    ///
    /// `is_active` has, for each entry, whether it is on the path to the leaf. If it is empty,
    /// siblings are ordered by age only.
    pub fn walk<'a>(&'a self, is_active: &'a [bool]) -> impl Iterator<Item = EntryIx> + use<'a> {
        let mut stack = Vec::new();
        push_siblings(&mut stack, &self.roots, is_active);
        std::iter::from_fn(move || {
            let ix = stack.pop()?;
            push_siblings(&mut stack, self.children(ix), is_active);
            Some(ix)
        })
    }
}

/// Pushes siblings in the reverse of their drawing order, because the last one that is pushed is
/// drawn next: first all that do not lead to the leaf, from the youngest to the oldest, then the
/// one that does.
fn push_siblings(stack: &mut Vec<EntryIx>, siblings: &[EntryIx], is_active: &[bool]) {
    // At most one sibling leads to the leaf; none if `is_active` is empty.
    let leads_to_leaf = |ix: EntryIx| is_active.get(ix.index()) == Some(&true);
    for &ix in siblings.iter().rev() {
        if !leads_to_leaf(ix) {
            stack.push(ix);
        }
    }
    for &ix in siblings.iter().rev() {
        if leads_to_leaf(ix) {
            stack.push(ix);
        }
    }
}

/// Answers in constant time whether an entry is an ancestor of another. It has the entries in
/// drawing order, with the sizes of their subtrees.
#[derive(Debug)]
pub struct Ancestry {
    /// The index of each entry in drawing order.
    drawing_index: Vec<u32>,
    /// The number of entries in the subtree of each entry, itself included.
    subtree_size: Vec<u32>,
}

impl Ancestry {
    /// Computes the ancestry of all entries.
    pub fn new(session: &Session) -> Ancestry {
        Ancestry::from_parents(&session.entries, |ix| session.entry(ix).parent)
    }

    /// Computes the ancestry of entries in which `parent` returns the parent of each, as
    /// [`Tree::from_parents`] does.
    pub fn from_parents(
        entries: &[Entry],
        parent: impl Fn(EntryIx) -> Option<EntryIx>,
    ) -> Ancestry {
        let drawing_order: Vec<_> = Tree::from_parents(entries, &parent)
            .walk_oldest_first()
            .collect();
        let mut drawing_index = vec![0_u32; entries.len()];
        for (at, ix) in drawing_order.iter().enumerate() {
            drawing_index[ix.index()] = at as u32;
        }
        // Backwards, so that the size of each subtree is complete before its parent adds it.
        let mut subtree_size = vec![1_u32; entries.len()];
        for &ix in drawing_order.iter().rev() {
            if let Some(parent) = parent(ix) {
                subtree_size[parent.index()] += subtree_size[ix.index()];
            }
        }
        Ancestry {
            drawing_index,
            subtree_size,
        }
    }

    /// Returns the index of an entry in drawing order, in which descendants follow their ancestors.
    pub fn drawing_index(&self, ix: EntryIx) -> u32 {
        self.drawing_index[ix.index()]
    }

    /// Whether `above` is an ancestor of `below`, or the same entry.
    pub fn is_ancestor_or_self(&self, above: EntryIx, below: EntryIx) -> bool {
        // In drawing order, an entry and its descendants are neighbours.
        let start = self.drawing_index[above.index()];
        let end = start + self.subtree_size[above.index()];
        (start..end).contains(&self.drawing_index[below.index()])
    }
}

/// Sorts siblings by `timestamp`. The siblings are in file order, which decides between equal
/// times.
///
/// In the agents, a time that does not parse compares equal to every other, which is not an order.
/// Here, an entry with such a time is sorted as if it had the time of the sibling before it.
fn sort_by_time(siblings: &mut [EntryIx], entries: &[Entry]) {
    let time = |ix: EntryIx| entries[ix.index()].time_ms;
    if siblings.is_sorted_by_key(|&ix| time(ix)) {
        return;
    }

    // Siblings before the first with a time are treated as if they had that time.
    let mut known_time = siblings
        .iter()
        .map(|&ix| time(ix))
        .find(|&time| time != Entry::NO_TIME)
        .unwrap_or_default();
    let mut timed = Vec::with_capacity(siblings.len());
    for &ix in &*siblings {
        if time(ix) != Entry::NO_TIME {
            known_time = time(ix);
        }
        timed.push((known_time, ix));
    }
    timed.sort_by_key(|&(time, _)| time);
    for (place, (_, ix)) in siblings.iter_mut().zip(timed) {
        *place = ix;
    }
}

/// Returns, for each entry, whether it is on the path to `leaf`.
pub fn active_mask(session: &Session, leaf: Option<EntryIx>) -> Vec<bool> {
    let mut is_active = vec![false; session.entries.len()];
    for ix in session.ancestors(leaf) {
        is_active[ix.index()] = true;
    }
    is_active
}

/// The position of an entry's row in a drawn tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TreeRow {
    /// The entry.
    pub entry: EntryIx,
    /// The indent in levels, as the agents count it, for `--json`. What is drawn is `level`. In the
    /// layout of the trunk, which no agent has, the two are equal.
    pub depth: u32,
    /// The number of levels that are drawn before the row: bars, and the connector.
    pub level: u32,
    /// Whether a connector (`├─` or `└─`) is drawn before the row.
    pub has_connector: bool,
    /// Whether the row is the last of its siblings.
    pub is_last: bool,
}

impl TreeRow {
    /// Returns a row that is not indented.
    pub fn new(entry: EntryIx) -> TreeRow {
        TreeRow {
            entry,
            depth: 0,
            level: 0,
            has_connector: false,
            is_last: false,
        }
    }
}

/// How a tree is laid out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum Layout {
    /// Abandoned branches are indented, and the branch with the leaf comes last
    #[default]
    Trunk,
    /// As in pi: every branch is indented, and the branch with the leaf comes first
    Pi,
}

/// Lays out the visible entries, and returns their rows in drawing order. Each entry becomes a
/// child of its nearest visible ancestor, or a root.
///
/// `is_active` and `is_visible` have an element for each entry: whether it is on the path to the
/// leaf, and whether it has a row.
pub fn layout_rows(
    session: &Session,
    tree: Tree,
    layout: Layout,
    is_active: &[bool],
    is_visible: &[bool],
) -> Vec<TreeRow> {
    match layout {
        Layout::Trunk => {
            // The layout of the trunk decides itself which sibling is drawn last, so it takes
            // siblings in the order of time.
            let rows = collect_visible_rows(session, tree, &[], is_visible);
            layout_by_trunk(&rows, is_active)
        }
        Layout::Pi => {
            let rows = collect_visible_rows(session, tree, is_active, is_visible);
            layout_as_pi(rows)
        }
    }
}

/// The visible entries, before their layout.
struct VisibleRows {
    entries: Vec<EntryIx>,
    /// For each entry, the row of its nearest visible ancestor, counted from 1; 0 if there is none.
    parent_rows: Vec<u32>,
}

/// Returns the visible entries in the order of `tree.walk(order)`, in which a parent precedes its
/// children.
fn collect_visible_rows(
    session: &Session,
    tree: Tree,
    order: &[bool],
    is_visible: &[bool],
) -> VisibleRows {
    // For each entry, its row or that of its nearest visible ancestor, counted from 1; 0 if there
    // is none.
    let mut row_numbers = vec![0_u32; session.entries.len()];
    let count = is_visible.iter().filter(|&&visible| visible).count();
    let mut rows = VisibleRows {
        entries: Vec::with_capacity(count),
        parent_rows: Vec::with_capacity(count),
    };
    for ix in tree.walk(order) {
        // The walk visits the parent first, so that its row is known.
        let parent_row = match session.entry(ix).parent {
            Some(parent) => row_numbers[parent.index()],
            None => 0,
        };
        row_numbers[ix.index()] = parent_row;
        if is_visible[ix.index()] {
            rows.entries.push(ix);
            rows.parent_rows.push(parent_row);
            row_numbers[ix.index()] = rows.entries.len() as u32;
        }
    }
    rows
}

/// Lays out visible rows as pi does. `rows` are in drawing order: the branch with the leaf is
/// first.
///
/// A connector is drawn before a row that has visible siblings. Roots are siblings of each other.
fn layout_as_pi(rows: VisibleRows) -> Vec<TreeRow> {
    let VisibleRows {
        entries,
        parent_rows,
    } = rows;
    let mut tree_rows: Vec<TreeRow> = entries.into_iter().map(TreeRow::new).collect();

    // For each row, counted from 1, the number of its children; for 0, the number of roots. Only
    // whether there are several matters, so a byte suffices. Siblings are counted from the last to
    // the first, so the last one finds a count of 0.
    let mut child_counts = vec![0_u8; tree_rows.len() + 1];
    for index in (0..tree_rows.len()).rev() {
        let sibling_count = &mut child_counts[parent_rows[index] as usize];
        tree_rows[index].is_last = *sibling_count == 0;
        *sibling_count = sibling_count.saturating_add(1);
    }

    // Parents precede their children, so the level and the depth of a parent are final here.
    for index in 0..tree_rows.len() {
        let parent_number = parent_rows[index] as usize;
        let has_connector = child_counts[parent_number] > 1;
        let own_level = if has_connector { 1 } else { 0 };
        tree_rows[index].has_connector = has_connector;

        let Some(parent_index) = parent_number.checked_sub(1) else {
            // In the agents, several roots are not indented.
            tree_rows[index].level = own_level;
            continue;
        };
        let parent = tree_rows[parent_index];
        tree_rows[index].level = parent.level + own_level;
        // An entry below a branch point is indented by one level, and its children by one more, to
        // group them.
        let is_indented = has_connector || parent.has_connector;
        tree_rows[index].depth = parent.depth + u32::from(is_indented);
    }
    tree_rows
}

/// Lays out visible rows around the trunk, which is the path to the leaf. In `rows`, siblings are
/// ordered by time.
///
/// One child of each row may continue it: that child is drawn last, at the level of its parent. All
/// other children are drawn before it, oldest first, one level deeper and with a connector.
///
/// - A row of the trunk is continued by the next row of the trunk, and the last of them by none.
/// - Any other row is continued by the child whose subtree contains the newest entry, because the
///   conversation left the branch there.
/// - If no row is on the trunk, one of the roots is at the left. It is chosen in the same way.
fn layout_by_trunk(rows: &VisibleRows, is_active: &[bool]) -> Vec<TreeRow> {
    let VisibleRows {
        entries,
        parent_rows,
    } = rows;
    let continuations = find_continuations(rows, is_active);
    let row_count = entries.len();

    // Rows are counted from 1; row 0 has the roots as its children. Backwards, so that the size of
    // each subtree is complete before its parent adds it.
    let mut subtree_sizes = vec![1_u32; row_count + 1];
    for row in (1..=row_count).rev() {
        subtree_sizes[parent_rows[row - 1] as usize] += subtree_sizes[row];
    }

    // The rows of a subtree are drawn one after the other. So the place of a row, counted from 1 as
    // rows are, follows from the place of its parent and the sizes of the subtrees before it.
    let mut places = vec![0_u32; row_count + 1];
    let mut next_child_places = vec![1_u32; row_count + 1];
    let mut tree_rows = vec![TreeRow::new(EntryIx::new(0)); row_count];
    for row in 1..=row_count {
        let parent = parent_rows[row - 1] as usize;
        let parent_end = places[parent] + subtree_sizes[parent];
        let parent_level = match parent {
            0 => 0,
            _ => tree_rows[places[parent] as usize - 1].level,
        };
        let mut tree_row = TreeRow::new(entries[row - 1]);
        let place;
        if continuations[parent] as usize == row {
            place = parent_end - subtree_sizes[row];
            tree_row.level = parent_level;
            tree_row.is_last = true;
        } else {
            place = next_child_places[parent];
            next_child_places[parent] += subtree_sizes[row];
            tree_row.level = parent_level + 1;
            tree_row.has_connector = true;
            // Nothing follows in the subtree of the parent: no child continues the parent.
            tree_row.is_last = next_child_places[parent] == parent_end;
        }
        tree_row.depth = tree_row.level;
        places[row] = place;
        next_child_places[row] = place + 1;
        tree_rows[place as usize - 1] = tree_row;
    }
    tree_rows
}

/// Returns, for each row, the child that continues it; 0 if none does. Rows are counted from 1, and
/// the children of row 0 are the roots. See [`layout_by_trunk`].
///
/// A row on the trunk is continued by its child on the trunk, and any other row by the child whose
/// subtree contains the newest entry.
fn find_continuations(rows: &VisibleRows, is_active: &[bool]) -> Vec<u32> {
    let VisibleRows {
        entries,
        parent_rows,
    } = rows;
    let has_trunk = entries.iter().any(|ix| is_active[ix.index()]);
    let mut continuations = vec![0_u32; entries.len() + 1];
    // For each row, the newest entry of its subtree so far, as its index plus 1; 0 for a row that
    // was not visited.
    let mut newest_entries = vec![0_u32; entries.len() + 1];
    // Backwards, so that the newest entry below each row is known before the row is compared with
    // its siblings.
    for row in (1..=entries.len()).rev() {
        let ix = entries[row - 1];
        let parent_row = parent_rows[row - 1] as usize;
        newest_entries[row] = newest_entries[row].max(ix.index() as u32 + 1);

        let is_parent_on_trunk = match parent_row {
            0 => has_trunk,
            _ => is_active[entries[parent_row - 1].index()],
        };
        let continues_parent = if is_parent_on_trunk {
            is_active[ix.index()]
        } else {
            // So far, the parent has the newest entry of the siblings that were visited.
            newest_entries[row] > newest_entries[parent_row]
        };
        if continues_parent {
            continuations[parent_row] = row as u32;
        }
        newest_entries[parent_row] = newest_entries[parent_row].max(newest_entries[row]);
    }
    continuations
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{LoadOptions, load};

    /// Returns a session with one entry for each word, `id<parent@second`.
    fn session(words: &str) -> Session {
        let mut text = String::from("{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n");
        for word in words.split_whitespace() {
            let (id, rest) = word.split_once('<').unwrap();
            let (parent, second) = rest.split_once('@').unwrap_or((rest, "0"));
            text += &format!(
                "{{\"type\":\"custom\",\"id\":\"{id}\",\"parentId\":\"{parent}\",\"timestamp\":\"2026-01-01T00:00:0{second}.000Z\"}}\n"
            );
        }
        load(&text.into_bytes(), &LoadOptions::default()).unwrap()
    }

    /// Draws a session with the given leaf, or its own, without the hidden entries.
    fn draw(layout: Layout, words: &str, leaf: &str, hidden: &str) -> Vec<String> {
        let session = session(words);
        let tree = Tree::new(&session);
        let leaf = match leaf {
            "" => session.leaf,
            id => session.find_entry(&id.into()),
        };
        let active = active_mask(&session, leaf);
        let visible: Vec<bool> = session
            .entry_indexes()
            .map(|ix| !hidden.contains(&*session.id(ix).to_string_lossy()))
            .collect();
        let mut drawn = Vec::new();
        for row in layout_rows(&session, tree, layout, &active, &visible) {
            let connector = match (row.has_connector, row.is_last) {
                (true, true) => "└",
                (true, false) => "├",
                (false, _) => "",
            };
            let indent = " ".repeat(row.depth as usize);
            drawn.push(format!("{indent}{connector}{}", session.id(row.entry)));
        }
        drawn
    }

    fn drawn(words: &str, hidden: &str) -> Vec<String> {
        draw(Layout::Pi, words, "", hidden)
    }

    #[test]
    fn the_trunk_is_not_indented_and_follows_what_was_left() {
        // a ─ b ─ c        The branches of a begin with b, f and g, oldest first.
        //   │   └ d ─ e
        //   ├ f
        //   └ g ─ h
        let branched = "a< b<a@1 c<b@1 d<b@2 e<d f<a@2 g<a@3 h<g";
        let cases: [(&str, &str, &str, &[&str]); 11] = [
            ("a< b<a c<b", "", "", &["a", "b", "c"]),
            (
                branched,
                "",
                "",
                &["a", " ├b", "  ├c", " d", " e", " ├f", "g", "h"],
            ),
            // The order of siblings does not change with the leaf, except that the trunk is last.
            (
                branched,
                "c",
                "",
                &["a", " ├f", " ├g", " h", "b", " ├d", " e", "c"],
            ),
            // What follows the leaf was left there.
            (
                branched,
                "b",
                "",
                &["a", " ├f", " ├g", " h", "b", " ├c", " └d", " e"],
            ),
            ("a< b<a c<b", "a", "", &["a", " └b", " c"]),
            // What is hidden leaves no gap, and is continued by what is below it.
            (branched, "", "bg", &["a", " ├c", " ├d", " e", " ├f", "h"]),
            (branched, "", "bcdef", &["a", "g", "h"]),
            // No row of the trunk is visible below a, or none at all.
            (branched, "", "gh", &["a", " ├b", "  ├c", " d", " e", " └f"]),
            (branched, "", "agh", &[" ├b", "  ├c", " d", " e", "f"]),
            // Other roots are left, too.
            ("x< y<x a< b<a", "", "", &[" ├x", " y", "a", "b"]),
            ("", "", "", &[]),
        ];
        for (words, leaf, hidden, expected) in cases {
            assert_eq!(
                draw(Layout::Trunk, words, leaf, hidden),
                expected,
                "{words} with leaf {leaf} without {hidden}"
            );
        }
    }

    #[test]
    fn no_row_precedes_its_parent_and_only_the_trunk_is_at_the_left() {
        // A tree whose branches have every shape: the parent of an entry is any one before it.
        let mut words = String::from("n0< ");
        let mut state = 7_usize;
        for at in 1..100 {
            state = state * 1_103_515_245 % 2_147_483_648 + 12_345;
            words += &format!("n{at}<n{}@{} ", state / 64 % at, state % 10);
        }
        let session = session(&words);
        let visible = vec![true; session.entries.len()];
        for leaf in session.entry_indexes() {
            let active = active_mask(&session, Some(leaf));
            let tree = Tree::new(&session);
            let rows = layout_rows(&session, tree, Layout::Trunk, &active, &visible);
            let mut is_drawn = vec![false; session.entries.len()];
            for row in &rows {
                if let Some(parent) = session.entry(row.entry).parent {
                    assert!(is_drawn[parent.index()], "a parent comes first");
                }
                assert!(!is_drawn[row.entry.index()], "an entry has one row");
                is_drawn[row.entry.index()] = true;
                assert_eq!(
                    row.level == 0,
                    active[row.entry.index()],
                    "the trunk is at level 0"
                );
            }
            assert_eq!(rows.len(), session.entries.len());
        }
    }

    #[test]
    fn rows_are_indented_at_branches_and_sorted_by_time() {
        let branched = "a< b<a@1 c<b d<a@2 e<d";
        let cases: [(&str, &str, &[&str]); 6] = [
            ("a< b<a c<b", "", &["a", "b", "c"]),
            (
                "a< b<a@1 c<b d<a@2 e<d f<e",
                "",
                &["a", " ├d", "  e", "  f", " └b", "  c"],
            ),
            (
                "a< b<a@3 c<a@1 d<a@2 e<b",
                "",
                &["a", " ├b", "  e", " ├c", " └d"],
            ),
            // What is hidden leaves no gap.
            (branched, "bd", &["a", " ├e", " └c"]),
            (branched, "bc", &["a", "d", "e"]),
            ("a< b<a x< y<x", "", &["├x", " y", "└a", " b"]),
        ];
        for (words, hidden, expected) in cases {
            assert_eq!(drawn(words, hidden), expected, "{words} without {hidden}");
        }
    }

    #[test]
    fn a_deep_chain_and_a_wide_fan_are_no_trouble() {
        let chain: String = (1..100_000)
            .map(|at| format!("n{at}<n{} ", at - 1))
            .collect();
        let fan: String = (0..100_000)
            .map(|at| format!("n{at}<r@{} ", at % 10))
            .collect();
        for layout in [Layout::Pi, Layout::Trunk] {
            let chain = format!("n0< {chain}");
            assert_eq!(draw(layout, &chain, "", "").len(), 100_000);
            let fan = format!("r< {fan}");
            assert_eq!(draw(layout, &fan, "", "").len(), 100_001);
        }
    }
}
