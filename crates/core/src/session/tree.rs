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
use std::ops::RangeInclusive;

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
    /// entry, sums the counts to where the children of each end, and puts each child in its place.
    pub fn from_parents(entries: &[Entry], parent: impl Fn(EntryIx) -> Option<EntryIx>) -> Tree {
        // First, this has the number of children of each entry. Another element follows the last
        // entry: it ends as the number of all children.
        let mut child_start = vec![0_u32; entries.len() + 1];
        for index in 0..entries.len() {
            if let Some(parent) = parent(EntryIx::new(index)) {
                child_start[parent.index()] += 1;
            }
        }
        // Then, it has the end of the children of each entry.
        let mut end = 0;
        for count_or_end in &mut child_start {
            end += *count_or_end;
            *count_or_end = end;
        }

        let mut roots = Vec::new();
        // All places are filled below.
        let mut children = vec![EntryIx::new(0); end as usize];
        // Each entry gets the place before its next sibling, so the last entry comes first. With
        // the first child of an entry, the end of its children has become their start.
        for index in (0..entries.len()).rev() {
            let ix = EntryIx::new(index);
            match parent(ix) {
                None => roots.push(ix),
                Some(parent) => {
                    let place = &mut child_start[parent.index()];
                    *place -= 1;
                    children[*place as usize] = ix;
                }
            }
        }
        roots.reverse();

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

/// Pushes siblings in the reverse of their drawing order, because the last that is pushed is drawn
/// next. The one that leads to the leaf is drawn first, then the others from the oldest to the
/// youngest.
fn push_siblings(stack: &mut Vec<EntryIx>, siblings: &[EntryIx], is_active: &[bool]) {
    // At most one sibling does; none if `is_active` is empty.
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

    /// Computes the ancestry of entries, of which `parent` returns the parents. The parents must
    /// not form a cycle.
    pub fn from_parents(
        entries: &[Entry],
        parent: impl Fn(EntryIx) -> Option<EntryIx>,
    ) -> Ancestry {
        let drawing_order: Vec<_> = Tree::from_parents(entries, &parent)
            .walk_oldest_first()
            .collect();
        let mut drawing_index = vec![0_u32; entries.len()];
        for (at, ix) in drawing_order.iter().enumerate() {
            // An `EntryIx` has 32 bits, so there are no more entries.
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

/// Sorts siblings by their time. They are in file order, which decides between equal times.
///
/// In the agents, a time that does not parse compares equal to every other, which is not an order.
/// Here, an entry with such a time is sorted as if it had the time of the sibling before it.
fn sort_by_time(siblings: &mut [EntryIx], entries: &[Entry]) {
    let time = |ix: EntryIx| entries[ix.index()].time_ms;
    if siblings.is_sorted_by_key(|&ix| time(ix)) {
        return;
    }

    struct Timed {
        ix: EntryIx,
        time_ms: i64,
    }
    // Before the first sibling with a time, the time of this sibling counts.
    let first_timed = siblings.iter().find(|&&ix| time(ix) != Entry::NO_TIME);
    let mut time_before = first_timed.map_or(0, |&ix| time(ix));
    let mut timed = Vec::with_capacity(siblings.len());
    for &ix in siblings.iter() {
        let time_ms = match time(ix) {
            Entry::NO_TIME => time_before,
            time_ms => time_ms,
        };
        timed.push(Timed { ix, time_ms });
        time_before = time_ms;
    }
    timed.sort_by_key(|sibling| sibling.time_ms);
    for (place, sibling) in siblings.iter_mut().zip(timed) {
        *place = sibling.ix;
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

/// Lays out the visible entries of a tree, and returns their rows in drawing order. Each entry
/// becomes a child of its nearest visible ancestor, or a root.
///
/// For each entry, `is_active` is whether it is on the path to the leaf, and `is_visible` whether
/// it has a row.
pub fn layout_rows(
    session: &Session,
    tree: Tree,
    layout: Layout,
    is_active: &[bool],
    is_visible: &[bool],
) -> Vec<TreeRow> {
    match layout {
        Layout::Trunk => {
            // This layout decides itself which sibling is drawn last, so it gets siblings in the
            // order of time.
            let visible = VisibleTree::new(session, tree.walk_oldest_first(), is_visible);
            layout_by_trunk(&visible, is_active)
        }
        Layout::Pi => {
            let visible = VisibleTree::new(session, tree.walk(is_active), is_visible);
            layout_as_pi(&visible)
        }
    }
}

/// The visible entries as a tree, before their layout. Its nodes are the visible entries and, above
/// the roots, the top.
///
/// Nodes have numbers: the top is [`TOP`], and the entries follow in the order of a walk. So a
/// parent has a lower number than its children.
struct VisibleTree {
    /// The entry of node `n` is `entries[n - 1]`, because the top has none.
    entries: Vec<EntryIx>,
    /// The parent of node `n` is `parents[n - 1]`, because the top has none.
    parents: Vec<u32>,
}

/// The node that is the parent of the roots.
const TOP: usize = 0;

impl VisibleTree {
    /// Builds the tree of the visible entries. `walk` has all entries, a parent before its
    /// children. Node 0 is [`TOP`], the parent of the roots, and node `n` is the `n`th visible
    /// entry of `walk`.
    fn new(
        session: &Session,
        walk: impl Iterator<Item = EntryIx>,
        is_visible: &[bool],
    ) -> VisibleTree {
        // For each entry, its own node if it is visible, or else the node of its nearest visible
        // ancestor; the top without one.
        let mut node_of_entry = vec![TOP as u32; session.entries.len()];
        let visible_count = is_visible.iter().filter(|&&visible| visible).count();
        let mut visible = VisibleTree {
            entries: Vec::with_capacity(visible_count),
            parents: Vec::with_capacity(visible_count),
        };
        for ix in walk {
            // The walk visits the parent first, so that its node is known.
            let parent_node = match session.entry(ix).parent {
                Some(parent) => node_of_entry[parent.index()],
                None => TOP as u32,
            };
            if is_visible[ix.index()] {
                visible.entries.push(ix);
                visible.parents.push(parent_node);
                // The top is node 0, so the first entry is node 1.
                let node = visible.entries.len();
                node_of_entry[ix.index()] = node as u32;
            } else {
                // Its children become children of its nearest visible ancestor.
                node_of_entry[ix.index()] = parent_node;
            }
        }
        visible
    }

    /// Returns the number of nodes, the top included.
    fn node_count(&self) -> usize {
        self.entries.len() + 1
    }

    /// Iterates over the nodes without the top, parents before children.
    fn nodes(&self) -> RangeInclusive<usize> {
        TOP + 1..=self.entries.len()
    }

    /// Returns the entry of a node other than the top.
    fn entry(&self, node: usize) -> EntryIx {
        self.entries[node - 1]
    }

    /// Returns the parent of a node other than the top.
    fn parent(&self, node: usize) -> usize {
        self.parents[node - 1] as usize
    }

    /// Returns, for each node, the number of its children.
    fn child_counts(&self) -> Vec<u32> {
        let mut counts = vec![0; self.node_count()];
        for node in self.nodes() {
            counts[self.parent(node)] += 1;
        }
        counts
    }

    /// Returns, for each node, its last child. For a node without children, returns the top, which
    /// is nobody's child.
    fn last_children(&self) -> Vec<usize> {
        let mut last_children = vec![TOP; self.node_count()];
        for node in self.nodes() {
            last_children[self.parent(node)] = node;
        }
        last_children
    }

    /// Returns, for each node, its newest descendant: the one that is the last in the file. `None`
    /// for a node without children.
    fn newest_descendants(&self) -> Vec<Option<EntryIx>> {
        let mut newest = vec![None; self.node_count()];
        // Backwards, so that the descendants of each node are known before its parent adds them.
        for node in self.nodes().rev() {
            let newest_in_subtree = newest[node].max(Some(self.entry(node)));
            let parent = self.parent(node);
            newest[parent] = newest[parent].max(newest_in_subtree);
        }
        newest
    }
}

/// Lays out visible entries as pi does. The nodes are in drawing order: the branch with the leaf is
/// first.
///
/// A row with visible siblings has a connector, such as `├─`. Roots are siblings of each other. Two
/// numbers give the indent of a row:
///
/// - Its level is what is drawn: a connector adds one level to the level of the parent.
/// - Its depth is what the agents report: they also indent the child of a row with a connector, but
///   not the roots.
fn layout_as_pi(tree: &VisibleTree) -> Vec<TreeRow> {
    let child_counts = tree.child_counts();
    let last_children = tree.last_children();
    // By node. The row of the top is not drawn. Its level and its depth are 0, where those of the
    // roots begin.
    let row_of_top = TreeRow::new(EntryIx::new(0));
    let mut rows = vec![row_of_top];
    // Parents precede their children, so the row of a parent is known.
    for node in tree.nodes() {
        let parent = tree.parent(node);
        let parent_row = rows[parent];
        let has_connector = child_counts[parent] > 1;
        // The children of an indented entry are indented once more, to group them. In the agents,
        // several roots are not indented.
        let is_indented = parent != TOP && (has_connector || parent_row.has_connector);
        rows.push(TreeRow {
            entry: tree.entry(node),
            depth: parent_row.depth + u32::from(is_indented),
            level: parent_row.level + u32::from(has_connector),
            has_connector,
            is_last: last_children[parent] == node,
        });
    }
    rows.remove(TOP);
    rows
}

/// Lays out visible entries around the trunk, which is the path to the leaf. `tree` must have
/// siblings oldest first. Roots are children of the top, so all but one are indented, too.
///
/// At most one child of each node continues it (see [`find_continuing_nodes`]): that child is drawn
/// last, at the level of its parent. All other children are drawn before it, oldest first, one
/// level deeper and with a connector:
///
/// ```text
/// a
/// ├─ c    the branch that was left
/// │  d    continues c
/// b       continues a: the trunk
/// ```
///
/// Each node gets a block of rows for itself and its descendants, out of the block of its parent.
fn layout_by_trunk(tree: &VisibleTree, is_active: &[bool]) -> Vec<TreeRow> {
    let continues_parent = find_continuing_nodes(tree, is_active);
    let mut blocks = RowBlock::of_subtrees(tree);
    let mut rows = vec![TreeRow::new(EntryIx::new(0)); tree.entries.len()];
    // Parents precede their children, so the place of each parent is known.
    for node in tree.nodes() {
        let is_continuation = continues_parent[node];
        let row_count = blocks[node].rows_left;
        let parent_block = &mut blocks[tree.parent(node)];
        let block = if is_continuation {
            parent_block.last_rows(row_count)
        } else {
            parent_block.take_next_rows(row_count)
        };
        // Without rows left, no child follows: the rows of a continuation still count as left.
        let is_last = is_continuation || parent_block.rows_left == 0;

        rows[block.next_row as usize] = TreeRow {
            entry: tree.entry(node),
            depth: block.level,
            level: block.level,
            has_connector: !is_continuation,
            is_last,
        };
        blocks[node] = block.without_own_row();
    }
    rows
}

/// The rows in which a node and its descendants are drawn, which follow each other. The first is
/// the row of the node, and its children divide the others among them.
#[derive(Clone, Copy)]
struct RowBlock {
    /// The level at which the node is drawn.
    level: u32,
    /// The first row that is not taken yet.
    next_row: u32,
    /// The number of rows from `next_row` on, including those kept for a child that continues the
    /// node.
    rows_left: u32,
}

impl RowBlock {
    /// Returns a block for each node, with a row for each entry of its subtree. The blocks have no
    /// place yet, except the block of the top: each gets its place from the block of its parent.
    fn of_subtrees(tree: &VisibleTree) -> Vec<RowBlock> {
        let own_row = RowBlock {
            level: 0,
            next_row: 0,
            rows_left: 1,
        };
        let mut blocks = vec![own_row; tree.node_count()];
        // The top has no row of its own.
        blocks[TOP].rows_left = 0;
        // Backwards, so that the block of each node is complete before its parent adds it.
        for node in tree.nodes().rev() {
            blocks[tree.parent(node)].rows_left += blocks[node].rows_left;
        }
        blocks
    }

    /// Returns the block after its first row, which is that of the node itself, was taken.
    fn without_own_row(self) -> RowBlock {
        RowBlock {
            next_row: self.next_row + 1,
            rows_left: self.rows_left - 1,
            ..self
        }
    }

    /// Takes the next `count` rows, for a child that is drawn one level deeper.
    fn take_next_rows(&mut self, count: u32) -> RowBlock {
        let first_row = self.next_row;
        self.next_row += count;
        self.rows_left -= count;
        RowBlock {
            level: self.level + 1,
            next_row: first_row,
            rows_left: count,
        }
    }

    /// Returns the last `count` rows, for the one child that continues the node at its level. The
    /// other children never take these rows, because all subtrees together fill the block. The rows
    /// stay counted in `rows_left`, so that this child may come before or after the others.
    fn last_rows(&self, count: u32) -> RowBlock {
        let end_row = self.next_row + self.rows_left;
        RowBlock {
            level: self.level,
            next_row: end_row - count,
            rows_left: count,
        }
    }
}

/// Returns, for each node of a tree, whether it continues its parent: it is drawn after its
/// siblings, at the level of the parent. At most one child of each node does. The trunk is the path
/// to the leaf.
///
/// - A node on the trunk is continued by its child on the trunk, and the last of the trunk by none.
/// - Any other node is continued by the child whose subtree contains the newest entry (the last one
///   of the file), because the conversation left the branch there.
/// - The top is on the trunk, unless no visible entry is.
fn find_continuing_nodes(tree: &VisibleTree, is_active: &[bool]) -> Vec<bool> {
    let has_trunk = tree.entries.iter().any(|ix| is_active[ix.index()]);
    let is_on_trunk = |node: usize| {
        if node == TOP {
            has_trunk
        } else {
            is_active[tree.entry(node).index()]
        }
    };

    let newest_descendants = tree.newest_descendants();
    let mut continues_parent = vec![false; tree.node_count()];
    for node in tree.nodes() {
        let parent = tree.parent(node);
        continues_parent[node] = if is_on_trunk(parent) {
            is_on_trunk(node)
        } else {
            let newest_in_subtree = newest_descendants[node].max(Some(tree.entry(node)));
            newest_in_subtree == newest_descendants[parent]
        };
    }
    continues_parent
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
