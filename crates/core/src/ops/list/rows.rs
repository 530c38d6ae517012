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
    let mut tree = SessionTree::new(list, &find_parents(list, fork_rows));
    if fork_rows == ForkRows::NestedByTrunk {
        tree.continue_in_newest_forks(list);
    }
    tree.rows_top_down()
}

/// The sessions of a list as a tree. Sessions are indexes in the list.
struct SessionTree {
    /// The sessions without a parent, in the order of the list.
    roots: Vec<usize>,
    /// For each session, its children in the order in which they are drawn.
    children: Vec<Vec<usize>>,
    /// For each session, the fork that continues it, which is the last of its children; `None` if
    /// there is none.
    continuations: Vec<Option<usize>>,
}

impl SessionTree {
    /// Builds the tree from the parent of each session. No fork continues its source yet.
    fn new(list: &[ListedSession], parents: &[Option<usize>]) -> SessionTree {
        let mut roots = Vec::new();
        let mut children: Vec<Vec<usize>> = vec![Vec::new(); list.len()];
        for (index, &parent) in parents.iter().enumerate() {
            match parent {
                Some(parent) => children[parent].push(index),
                None => roots.push(index),
            }
        }
        for siblings in &mut children {
            siblings.sort_by_key(|&child| {
                let is_fork = list[child].owner.is_none();
                // `false` sorts first.
                (is_fork, list[child].created_ms)
            });
        }
        SessionTree {
            roots,
            children,
            continuations: vec![None; list.len()],
        }
    }

    /// Lets each conversation go on in one of its forks: the one with the newest message, in itself
    /// or in a fork below it. If no fork has a newer message than the session itself, the
    /// conversation goes on in none.
    fn continue_in_newest_forks(&mut self, list: &[ListedSession]) {
        // The time of the newest message in each session and in the forks below it, in milliseconds
        // since 1970.
        let mut newest_ms: Vec<i64> = list.iter().map(|session| session.modified_ms).collect();
        // Backwards, so that the time of a fork is final before it is compared with the time of its
        // source.
        for index in self.parents_first().into_iter().rev() {
            for &child in &self.children[index] {
                let is_fork = list[child].owner.is_none();
                if is_fork && newest_ms[child] > newest_ms[index] {
                    newest_ms[index] = newest_ms[child];
                    self.continuations[index] = Some(child);
                }
            }
        }
        self.put_continuations_last();
    }

    /// Makes each continuation the last child of its source. It is drawn at the level of its
    /// source, so nothing else of the source can follow it.
    fn put_continuations_last(&mut self) {
        for (children, &continuation) in self.children.iter_mut().zip(&self.continuations) {
            if let Some(continuation) = continuation {
                children.retain(|&child| child != continuation);
                children.push(continuation);
            }
        }
    }

    /// Returns all sessions, level by level, so that parents precede their children.
    fn parents_first(&self) -> Vec<usize> {
        let mut sessions = Vec::with_capacity(self.children.len());
        let mut level = self.roots.clone();
        while !level.is_empty() {
            let mut next_level = Vec::new();
            for &index in &level {
                next_level.extend(&self.children[index]);
            }
            sessions.append(&mut level);
            level = next_level;
        }
        sessions
    }

    /// Returns the rows of all sessions, from top to bottom: each session, then its children. A
    /// child that continues its parent is not indented.
    fn rows_top_down(&self) -> Vec<ListRow> {
        let mut rows = Vec::with_capacity(self.children.len());
        // A stack of the rows to come, the next one on top. So siblings are pushed in reverse.
        let mut pending = Vec::new();
        for &index in self.roots.iter().rev() {
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
            let children = &self.children[row.index];
            for &child in children.iter().rev() {
                let continues_source = self.continuations[row.index] == Some(child);
                pending.push(ListRow {
                    index: child,
                    depth: row.depth + 1,
                    level: row.level + usize::from(!continues_source),
                    continues_source,
                    is_last: children.last() == Some(&child),
                });
            }
        }
        rows
    }
}

/// Sorts rows by repository, and sets the repository of each session. Repositories are in the order
/// of their first rows, and sessions without a repository come last. Rows of the same repository
/// keep their order.
///
/// Rows nested below a row at the top level get the repository of that row, so that they stay below
/// it. `find_repository` is called only for rows at the top level.
pub fn group_by_repository(
    list: &mut [ListedSession],
    rows: &mut [ListRow],
    mut find_repository: impl FnMut(&ListedSession) -> Option<PathBuf>,
) {
    // Nested rows follow their row at the top level, so its repository is still set when they come.
    let mut top_repository: Option<PathBuf> = None;
    for row in rows.iter() {
        let is_at_top_level = row.depth == 0;
        if is_at_top_level {
            top_repository = find_repository(&list[row.index]);
        }
        list[row.index].repository.clone_from(&top_repository);
    }

    // The place of each repository in the order of their first rows.
    let mut ranks: HashMap<PathBuf, usize> = HashMap::default();
    for row in rows.iter() {
        if let Some(repository) = &list[row.index].repository {
            let next_rank = ranks.len();
            ranks.entry(repository.clone()).or_insert(next_rank);
        }
    }
    // The sort is stable, so that rows of one repository keep their order.
    rows.sort_by_key(|row| match &list[row.index].repository {
        Some(repository) => ranks[repository],
        None => usize::MAX,
    });
}

/// Returns the parent of each session, as an index in the list. The parent of a sub-agent is the
/// session that owns it, and the parent of a fork is its source. If the header of a session names
/// no source in the list, as in a copied file, the source is the session with which it shares its
/// first entries. With [`ForkRows::Separate`], forks have no parent.
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
