//! Finds cycles of parents, which only a damaged file has.

use crate::session::entry::{Entry, EntryIx};

/// Returns the cycles of parents: the entries of each, in the order from child to parent. Empty for
/// nearly all files.
pub fn find_cycles(entries: &[Entry]) -> Vec<Vec<EntryIx>> {
    if all_parents_precede(entries) {
        return Vec::new(); // There can be no cycle.
    }
    let mut search = CycleSearch {
        entries,
        visited_from: vec![None; entries.len()],
    };
    let mut cycles = Vec::new();
    for index in 0..entries.len() {
        if let Some(member) = search.walk_to_new_cycle(EntryIx::new(index)) {
            cycles.push(collect_cycle(entries, member));
        }
    }
    cycles
}

/// Whether each parent is before its child in the file.
fn all_parents_precede(entries: &[Entry]) -> bool {
    entries
        .iter()
        .enumerate()
        .all(|(index, entry)| entry.parent.is_none_or(|parent| parent.index() < index))
}

/// Walks from entries to their parents. As each entry is visited once, all walks together take one
/// step per entry.
struct CycleSearch<'e> {
    entries: &'e [Entry],
    /// For each entry, the start of the walk that visited it; `None` if none has.
    visited_from: Vec<Option<EntryIx>>,
}

impl CycleSearch<'_> {
    /// Walks from `start` to its parent, from there to the parent's parent, and so on, until it
    /// comes to a root, or to an entry that was visited before. Returns that entry if this walk
    /// visited it itself: then it is in a cycle, which no walk before has found.
    fn walk_to_new_cycle(&mut self, start: EntryIx) -> Option<EntryIx> {
        let mut current = start;
        while self.visited_from[current.index()].is_none() {
            self.visited_from[current.index()] = Some(start);
            // At a root, the walk has found no cycle.
            current = self.entries[current.index()].parent?;
        }

        // What an earlier walk visited leads to a root, or into a cycle that was found then.
        let was_visited_by_this_walk = self.visited_from[current.index()] == Some(start);
        if was_visited_by_this_walk {
            Some(current)
        } else {
            None
        }
    }
}

/// Returns the entries of a cycle: from `member` over the parents, until `member` is next again.
///
/// `member` must be in a cycle. From an entry that only leads into a cycle, the round would not
/// end.
fn collect_cycle(entries: &[Entry], member: EntryIx) -> Vec<EntryIx> {
    let mut cycle = vec![member];
    let mut next = entries[member.index()].parent;
    while let Some(ix) = next
        && ix != member
    {
        cycle.push(ix);
        next = entries[ix.index()].parent;
    }
    cycle
}
