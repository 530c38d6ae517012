//! The context of matches: the entries before and after them in the conversation.
//!
//! Before a match are the entries above it, after it those that follow: on the path to the leaf if it is on that path,
//! else on the newest branch. Settings and bookkeeping are passed over.

use crate::session::Session;
use crate::session::entry::{EntryIx, LineNo};
use crate::session::tree::{Tree, active};
use foldhash::HashSet;

/// The number of entries to show around each match.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Around {
    /// Above it.
    pub before: usize,
    /// Below it.
    pub after: usize,
}

/// An entry to show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The entry.
    pub entry: EntryIx,
    /// The index of its match; `None` if it is only context.
    pub found: Option<usize>,
    /// Whether it follows the entry shown before it.
    pub continues: bool,
}

/// Returns the matches on these lines, in order, with the entries around them, in the order of the file.
pub fn around(session: &Session, lines: &[LineNo], around: Around) -> Vec<Shown> {
    let tree = Tree::new(session);
    let is_active = active(session, session.leaf);
    let is_passed = |&ix: &EntryIx| {
        let kind = session.entry(ix).kind;
        kind.is_bookkeeping() || kind.is_setting()
    };
    let next = |ix: EntryIx| {
        let children = tree.children(ix);
        let on_path = children.iter().find(|child| is_active[child.at()]);
        on_path.or_else(|| children.iter().rfind(|child| !is_passed(child))).or(children.last()).copied()
    };
    let above = |ix: EntryIx| session.upwards(Some(ix)).skip(1).filter(|ix| !is_passed(ix));
    let matches: Vec<(EntryIx, usize)> =
        lines.iter().enumerate().filter_map(|(at, &line)| Some((session.entry_on(line)?, at))).collect();
    let mut shown: HashSet<EntryIx> = matches.iter().map(|&(ix, _)| ix).collect();
    for &(ix, _) in &matches {
        shown.extend(above(ix).take(around.before));
        // A walk down ends even in a cycle.
        let below = std::iter::successors(next(ix), |&ix| next(ix)).take(session.entries.len());
        shown.extend(below.filter(|ix| !is_passed(ix)).take(around.after));
    }
    let mut order: Vec<EntryIx> = shown.into_iter().collect();
    order.sort_unstable_by_key(|ix| ix.at());
    let mut before = None;
    let show = |entry: EntryIx| {
        let continues = before.is_some() && before == above(entry).next();
        before = Some(entry);
        let found = matches.binary_search_by_key(&entry.at(), |(ix, _)| ix.at()).ok().map(|at| matches[at].1);
        Shown { entry, found, continues }
    };
    order.into_iter().map(show).collect()
}
