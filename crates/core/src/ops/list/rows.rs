//! The tree of sessions in a list: forks and sub-agents below the sessions that they come from.

use super::ListedSession;
use foldhash::HashMap;
use std::path::{Path, PathBuf};

/// Where the rows of forks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ForkRows {
    /// At the top level, as those of other sessions.
    Separate,
    /// Below their sources, in the order in which they were started.
    Nested,
    /// Below their sources. If a fork has a newer message than its source, the fork with the newest
    /// comes last and continues its source at the same level.
    NestedByTrunk,
}

/// A row of a list: a session and its place in the tree of sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ListRow {
    /// Its index in the list.
    pub index: usize,
    /// The number of sessions above it in the tree.
    pub depth: usize,
    /// The number of levels that it is indented, at most `depth`.
    pub level: usize,
    /// Whether it is a fork that continues its source at the same level.
    pub continues_source: bool,
    /// Whether it is the last of its siblings.
    pub is_last: bool,
}

/// Returns the rows of a sorted list, from top to bottom, with sub-agents and advisors below the
/// sessions that own them.
///
/// The sessions at the top level have the order of the list; among them is each session whose
/// parent is not in the list. Below a session, sub-agents precede forks, each in the order in which
/// they were started.
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
    // The fork that continues its source comes last, at the same level.
    for (children, &continuation) in children_by_parent.iter_mut().zip(&continuations) {
        if let Some(continuation) = continuation {
            children.retain(|&child| child != continuation);
            children.push(continuation);
        }
    }
    stack_rows(&roots, &children_by_parent, &continuations)
}

/// Returns, for each session, the fork that continues it: the fork with the newest message in it or
/// below it, if that message is newer than all messages of the session itself.
fn find_continuing_forks(
    list: &[ListedSession],
    roots: &[usize],
    children_by_parent: &[Vec<usize>],
) -> Vec<Option<usize>> {
    // The sessions level by level, so that parents precede their children.
    let mut order = roots.to_vec();
    let mut visited_count = 0;
    while let Some(&index) = order.get(visited_count) {
        order.extend(&children_by_parent[index]);
        visited_count += 1;
    }

    // The newest message in each session or in the forks below it.
    let mut newest_ms: Vec<i64> = list.iter().map(|session| session.modified_ms).collect();
    let mut continuations = vec![None; list.len()];
    // Backwards, so that the time of a fork is complete before its source compares it.
    for &index in order.iter().rev() {
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

/// Returns the rows of sessions and of their children, from top to bottom. A child that is the
/// continuation of its parent is the last of its children.
fn stack_rows(
    roots: &[usize],
    children_by_parent: &[Vec<usize>],
    continuations: &[Option<usize>],
) -> Vec<ListRow> {
    let mut rows = Vec::with_capacity(children_by_parent.len());
    // A stack of the rows to come, the next one on top.
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

/// Sorts rows by repository, and sets the repository of each session. Repositories have the order
/// of their first rows; sessions in none come last. Rows of one repository keep their order.
///
/// Rows nested below a session belong to the repository of that session, so that they stay below
/// it. `repository` is called once for each row at the top level.
pub fn group_by_repository(
    list: &mut [ListedSession],
    rows: &mut [ListRow],
    mut repository: impl FnMut(&ListedSession) -> Option<PathBuf>,
) {
    // The position of each repository among those of the list.
    let mut ranks: HashMap<PathBuf, usize> = HashMap::default();
    // Nested rows follow their row at the top level, and have its repository.
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

/// Returns the parent of each session as an index in the list: for a sub-agent the session that
/// owns it, for a fork its source. With [`ForkRows::Separate`] forks have no parent.
///
/// A link that would close a cycle is left out: headers can name each other as sources.
fn find_parents(list: &[ListedSession], fork_rows: ForkRows) -> Vec<Option<usize>> {
    let mut by_path: HashMap<&Path, usize> = HashMap::default();
    let mut by_id: HashMap<&[u8], usize> = HashMap::default();
    for (index, session) in list.iter().enumerate() {
        by_path.insert(&session.path, index);
        // Of sessions with the same id, the first in the list.
        by_id.entry(session.id.as_bytes()).or_insert(index);
    }

    let find_owner = |session: &ListedSession| {
        let owner = session.owner.as_deref()?;
        by_path.get(owner).copied()
    };
    let find_source = |session: &ListedSession| {
        let parent = session.parent.as_ref()?;
        let path = parent.to_string_lossy();
        let source = by_path.get(Path::new(&*path));
        source.or_else(|| by_id.get(parent.as_bytes())).copied()
    };

    let mut parents: Vec<Option<usize>> = vec![None; list.len()];
    for (index, session) in list.iter().enumerate() {
        let mut parent = find_owner(session);
        if parent.is_none() && fork_rows != ForkRows::Separate {
            parent = find_source(session);
        }
        if let Some(parent) = parent
            && !is_at_or_above(&parents, index, parent)
        {
            parents[index] = Some(parent);
        }
    }
    parents
}

/// Whether `ancestor` is `session` itself, or above it. `parents` has the parent of each session.
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
