//! Arranges the sessions of a list as a tree: forks below their sources, sub-agents below the
//! sessions that own them.

use super::ListedSession;
use foldhash::HashMap;
use std::path::{Path, PathBuf};

/// The place of forks in the tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkRows {
    /// At the top level, like other sessions.
    Separate,
    /// Below their sources, in the order in which they were started.
    Nested,
    /// Below their sources, in the same order. If forks have newer messages than their source, the
    /// one with the newest message comes last and is not indented: it continues its source.
    NestedByTrunk,
}

/// A row of a list: a session and its place in the tree of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListRow {
    /// The index of the session in the list.
    pub index: usize,
    /// The number of its ancestors in the tree.
    pub depth: usize,
    /// The number of levels by which the row is indented; at most `depth`, because a fork that
    /// continues its source is not indented further.
    pub level: usize,
    /// Whether the session is a fork that continues its source at the same level.
    pub continues_source: bool,
    /// Whether the session is the last child of its parent; always false at the top level.
    pub is_last: bool,
}

/// Returns the rows of a sorted list, from top to bottom, with sub-agents and advisors below the
/// sessions that own them.
///
/// The rows at the top level are in the order of the list. A session whose parent is not in the
/// list is at the top level, too. Below a session, sub-agents precede forks, both in the order of
/// their start times.
pub fn build_rows(list: &[ListedSession], fork_rows: ForkRows) -> Vec<ListRow> {
    let mut children_by_parent: Vec<Vec<usize>> = vec![Vec::new(); list.len()];
    let mut roots = Vec::new();
    let parents = find_parents(list, fork_rows);
    for (index, &parent) in parents.iter().enumerate() {
        match parent {
            Some(parent) => children_by_parent[parent].push(index),
            None => roots.push(index),
        }
    }
    for children in &mut children_by_parent {
        children.sort_by_key(|&child| {
            let is_fork = list[child].owner.is_none();
            // `false` sorts first.
            (is_fork, list[child].created_ms)
        });
    }

    let continuations = if fork_rows == ForkRows::NestedByTrunk {
        find_continuing_forks(list, &roots, &children_by_parent)
    } else {
        vec![None; list.len()]
    };
    // The fork that continues its source comes last: it is at the level of the source, so nothing
    // else of the source can follow it.
    for (children, &continuation) in children_by_parent.iter_mut().zip(&continuations) {
        if let Some(continuation) = continuation {
            children.retain(|&child| child != continuation);
            children.push(continuation);
        }
    }
    list_rows_top_down(&roots, &children_by_parent, &continuations)
}

/// Returns, for each session, the fork in which its conversation goes on: the one with the newest
/// message, in itself or in a fork below it. `None` if no fork has a newer message than the session
/// itself.
fn find_continuing_forks(
    list: &[ListedSession],
    roots: &[usize],
    children_by_parent: &[Vec<usize>],
) -> Vec<Option<usize>> {
    // The sessions level by level, so that parents precede their children. The list grows while it
    // is walked: each session appends its children.
    let mut parents_first = roots.to_vec();
    let mut visited_count = 0;
    while let Some(&index) = parents_first.get(visited_count) {
        parents_first.extend(&children_by_parent[index]);
        visited_count += 1;
    }

    // The time of the newest message in each session and in the forks below it, in milliseconds
    // since 1970.
    let mut newest_ms: Vec<i64> = list.iter().map(|session| session.modified_ms).collect();
    let mut continuations = vec![None; list.len()];
    // Backwards, so that the time of a fork is final before it is compared with that of its source.
    for &index in parents_first.iter().rev() {
        for &child in &children_by_parent[index] {
            let is_fork = list[child].owner.is_none();
            if is_fork && newest_ms[child] > newest_ms[index] {
                newest_ms[index] = newest_ms[child];
                continuations[index] = Some(child);
            }
        }
    }
    continuations
}

/// Returns the rows of the roots and of all their descendants, from top to bottom: each session,
/// then its children. A child that continues its parent is not indented, so it must be the last of
/// the children.
fn list_rows_top_down(
    roots: &[usize],
    children_by_parent: &[Vec<usize>],
    continuations: &[Option<usize>],
) -> Vec<ListRow> {
    let mut rows = Vec::with_capacity(children_by_parent.len());
    // A stack of the rows to come, the next one on top. So siblings are pushed in reverse.
    let mut pending = Vec::new();
    for &index in roots.iter().rev() {
        pending.push(ListRow {
            index,
            depth: 0,
            level: 0,
            continues_source: false,
            is_last: false,
        });
    }

    while let Some(row) = pending.pop() {
        rows.push(row);
        let children = &children_by_parent[row.index];
        let last_child = children.last().copied();
        for &child in children.iter().rev() {
            let continues_source = continuations[row.index] == Some(child);
            pending.push(ListRow {
                index: child,
                depth: row.depth + 1,
                level: row.level + usize::from(!continues_source),
                continues_source,
                is_last: Some(child) == last_child,
            });
        }
    }
    rows
}

/// Sorts rows by repository, and sets the repository of each session. Repositories are in the order
/// of their first rows, and sessions without a repository come last. Rows of the same repository
/// keep their order.
///
/// Rows nested below a row at the top level get the repository of that row, so that they stay below
/// it. `repository` is called only for rows at the top level.
pub fn group_by_repository(
    list: &mut [ListedSession],
    rows: &mut [ListRow],
    mut repository: impl FnMut(&ListedSession) -> Option<PathBuf>,
) {
    // The position of each repository in the order of the groups.
    let mut ranks: HashMap<PathBuf, usize> = HashMap::default();
    // Nested rows follow their row at the top level, so its repository is still set when they come.
    let mut root_repository: Option<PathBuf> = None;
    for row in rows.iter() {
        if row.depth == 0 {
            root_repository = repository(&list[row.index]);
        }
        if let Some(repository) = &root_repository {
            let next_rank = ranks.len();
            ranks.entry(repository.clone()).or_insert(next_rank);
        }
        list[row.index].repository.clone_from(&root_repository);
    }

    // The sort is stable, so that rows of one repository keep their order.
    rows.sort_by_key(|row| match &list[row.index].repository {
        Some(repository) => ranks[repository],
        None => usize::MAX,
    });
}

/// Returns the parent of each session, as an index in the list. The parent of a sub-agent is the
/// session that owns it, and the parent of a fork is its source. If the header of a session names
/// no source in the list, as that of a copied file, the source is the session with which it shares
/// its first entries. With [`ForkRows::Separate`], forks have no parent.
///
/// Headers can name each other as sources, so a link that would close a cycle is left out.
fn find_parents(list: &[ListedSession], fork_rows: ForkRows) -> Vec<Option<usize>> {
    let sessions = SessionIndex::new(list);
    let mut parents: Vec<Option<usize>> = vec![None; list.len()];
    for (index, session) in list.iter().enumerate() {
        let mut parent = sessions.find_owner(session);
        if parent.is_none() && fork_rows != ForkRows::Separate {
            parent = sessions.find_source(session);
        }
        if let Some(parent) = parent
            && !is_at_or_above(&parents, index, parent)
        {
            parents[index] = Some(parent);
        }
    }
    parents
}

/// Finds the sessions that others refer to, as indexes in a list.
struct SessionIndex<'l> {
    by_path: HashMap<&'l Path, usize>,
    by_id: HashMap<&'l [u8], usize>,
}

impl<'l> SessionIndex<'l> {
    fn new(list: &'l [ListedSession]) -> SessionIndex<'l> {
        let mut by_path: HashMap<&Path, usize> = HashMap::default();
        let mut by_id: HashMap<&[u8], usize> = HashMap::default();
        for (index, session) in list.iter().enumerate() {
            by_path.insert(&session.path, index);
            // If several sessions have the same id, the first in the list counts.
            by_id.entry(session.id.as_bytes()).or_insert(index);
        }
        SessionIndex { by_path, by_id }
    }

    /// Returns the session that owns a sub-agent; `None` for any other session.
    fn find_owner(&self, session: &ListedSession) -> Option<usize> {
        let owner = session.owner.as_deref()?;
        self.by_path.get(owner).copied()
    }

    /// Returns the session from which a session was forked or copied. The header of a fork names
    /// its source, by path or by id. That of a copied file does not.
    fn find_source(&self, session: &ListedSession) -> Option<usize> {
        if let Some(named) = &session.parent {
            let path = named.to_string_lossy();
            let source = self.by_path.get(Path::new(&*path));
            if let Some(&source) = source.or_else(|| self.by_id.get(named.as_bytes())) {
                return Some(source);
            }
        }
        let copied_from = session.copied_from.as_deref()?;
        self.by_path.get(copied_from).copied()
    }
}

/// Whether `ancestor` is `session` itself or one of its ancestors. `parents` has the parent of each
/// session, without a cycle.
fn is_at_or_above(parents: &[Option<usize>], ancestor: usize, session: usize) -> bool {
    let mut position = Some(session);
    while let Some(current) = position {
        if current == ancestor {
            return true;
        }
        position = parents[current];
    }
    false
}
