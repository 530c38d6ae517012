//! The context of matches: the entries before and after them in the conversation.
//!
//! Before a match are the entries above it, after it those that follow: on the path to the leaf if
//! it is on that path, else on the newest branch. Settings and bookkeeping are passed over.

use crate::session::Session;
use crate::session::entry::{EntryIx, LineNo, Sort};
use crate::session::tree::{Tree, active};
use foldhash::HashSet;

/// Calls `show` with the matches on these lines, which are in order, and with the entries around
/// them: `most_above` above each and `most_below` below it, in the order of the file. Its arguments
/// are the entry, the index of its match (`None` if it is only context), and whether it follows the
/// entry shown before it.
pub fn around(
    session: &Session,
    lines: &[LineNo],
    most_above: usize,
    most_below: usize,
    mut show: impl FnMut(EntryIx, Option<usize>, bool),
) {
    let tree = Tree::new(session);
    let is_active = active(session, session.leaf);
    let is_passed = |ix: &EntryIx| session.entry(*ix).kind.schema().sort != Sort::Conversation;
    let next = |ix: EntryIx| {
        let children = tree.children(ix);
        let on_path = children.iter().find(|child| is_active[child.at()]);
        on_path
            .or_else(|| children.iter().rfind(|child| !is_passed(child)))
            .or(children.last())
            .copied()
    };
    let above = |ix: EntryIx| {
        session
            .upwards(Some(ix))
            .skip(1)
            .filter(|ix| !is_passed(ix))
    };
    let matches: Vec<(EntryIx, usize)> = lines
        .iter()
        .enumerate()
        .filter_map(|(at, &line)| Some((session.entry_on(line)?, at)))
        .collect();
    let mut shown: HashSet<EntryIx> = matches.iter().map(|&(ix, _)| ix).collect();
    for &(ix, _) in &matches {
        shown.extend(above(ix).take(most_above));
        let below = std::iter::successors(next(ix), |&ix| next(ix));
        shown.extend(below.filter(|ix| !is_passed(ix)).take(most_below));
    }
    let mut order: Vec<EntryIx> = shown.into_iter().collect();
    order.sort_unstable_by_key(|ix| ix.at());
    let mut before = None;
    for ix in order {
        let continues = before.is_some() && before == above(ix).next();
        before = Some(ix);
        let found = matches
            .binary_search_by_key(&ix.at(), |(ix, _)| ix.at())
            .ok()
            .map(|at| matches[at].1);
        show(ix, found, continues);
    }
}
