//! The branches of a session: one for each end of a conversation in the tree.
//!
//! Notes ([`crate::session::entry::Kind::is_bookkeeping`]: labels, marks, records) are not
//! conversation. A branch ends at an entry that has only notes below it, and these belong to the
//! branch. Notes beside a continuing conversation are not a branch, unless the leaf is among them:
//! then the next message begins one there.
//!
//! ```text
//! a ─ b ─ c ─ label ─ label          one branch, its tip is c
//!     ├ label                        none
//!     ├ mark = leaf                  a branch without entries: its tip is the mark, its end is b
//!     └ d ─ e                        another, its tip is e; all three begin at b
//! ```

use crate::session::Session;
use crate::session::entry::{EntryIx, Flags, Role, TreeVisibility};
use crate::session::labels::Labels;
use crate::session::reference::Position;
use crate::session::tree::Tree;

/// A branch of the session.
#[derive(Clone, Copy, Debug)]
pub struct Branch {
    /// Its last entry.
    pub tip: EntryIx,
    /// The entry at which the branch diverges from others. `None` if it is the only branch, or if
    /// it diverges at the root.
    pub branch_point: Option<EntryIx>,
    /// The number of entries of the branch after `branch_point`, without notes.
    pub entry_count: u32,
    /// The first user request of the branch, after `branch_point`; `None` if it has none.
    pub first_request: Option<EntryIx>,
    /// The last user request on the path to the tip.
    pub request: Option<EntryIx>,
    /// What came out after that request. `None` if nothing follows it.
    pub outcome: Option<Outcome>,
    /// The labelled entry or note of the branch that is nearest to the tip.
    pub labelled_entry: Option<EntryIx>,
    /// Whether the leaf is on the branch.
    pub active: bool,
}

impl Branch {
    /// Returns the last entry of the branch that `tree` shows: the tip, or its nearest ancestor
    /// that is not hidden, as the mark of a `switch` is. If all entries are hidden, returns the
    /// tip.
    pub fn last_shown_entry(&self, session: &Session) -> EntryIx {
        for ix in session.ancestors(Some(self.tip)) {
            let kind = session.entry(ix).kind;
            let is_hidden = kind.is_bookkeeping()
                && kind.tree_visibility(session.dialect) != TreeVisibility::Shown;
            if !is_hidden {
                return ix;
            }
        }
        self.tip
    }
}

impl Branch {
    /// Returns a branch that begins with `first`, which is not counted yet: see
    /// [`Self::push_entry`]. `above` is the branch that ends at the parent; `None` for a root.
    fn beginning_at(session: &Session, first: EntryIx, above: Option<Branch>) -> Branch {
        Branch {
            tip: first,
            branch_point: session.entry(first).parent,
            entry_count: 0,
            first_request: None,
            // These two are of the whole path, not only of the branch.
            request: above.and_then(|above| above.request),
            outcome: above.and_then(|above| above.outcome),
            labelled_entry: None,
            active: false,
        }
    }

    /// Adds the next entry of the branch, which becomes its tip.
    fn push_entry(&mut self, session: &Session, ix: EntryIx) {
        let entry = session.entry(ix);
        self.tip = ix;
        // Labels, marks and other bookkeeping are part of a branch, but not counted.
        if !entry.kind.is_bookkeeping() {
            self.entry_count += 1;
        }
        if entry.flags.contains(Flags::USER_REQUEST) {
            self.first_request = self.first_request.or(Some(ix));
            self.request = Some(ix);
            self.outcome = None;
        } else if session.is_conversation(ix) {
            self.outcome = Some(Outcome::at_entry(ix, self.outcome, session));
        }
    }
}

/// What came out at the end of a branch.
#[derive(Clone, Copy, Debug)]
pub struct Outcome {
    /// The last entry of the conversation after the last user message: usually an answer.
    pub entry: EntryIx,
    /// Whether the last tool result after that message is a failure. An answer may follow it, which
    /// only describes it.
    has_failed_result: bool,
}

impl Outcome {
    /// Returns the outcome of a branch that ends at `last`, an entry of the conversation. `above`
    /// is the outcome if the branch ended at its parent; `None` if nothing there follows the last
    /// user message.
    fn at_entry(last: EntryIx, above: Option<Outcome>, session: &Session) -> Outcome {
        let has_failed_result = if session.is_message(last, Role::ToolResult) {
            session.entry(last).flags.contains(Flags::FAILED)
        } else {
            // The last tool result is still the one above.
            above.is_some_and(|above| above.has_failed_result)
        };
        Outcome {
            entry: last,
            has_failed_result,
        }
    }

    /// Whether the last tool call after the last user message failed, or the entry itself.
    pub fn has_failed(&self, session: &Session) -> bool {
        let entry = session.entry(self.entry);
        self.has_failed_result || entry.flags.contains(Flags::FAILED)
    }
}

/// Returns all branches, newest first.
pub fn find_branches(session: &Session, tree: &Tree) -> Vec<Branch> {
    let labels = Labels::new(session);
    let order: Vec<EntryIx> = tree.walk_oldest_first().collect();
    let is_part = find_branch_parts(session, &order);
    let continuations = count_continuations(session, &is_part);

    // By entry: the branch that would end here. A note has the branch of the nearest ancestor that
    // is part of a branch.
    let mut branch_at: Vec<Option<Branch>> = vec![None; session.entries.len()];
    // By entry that is part of a branch: the last labelled note below it that is not such a part.
    let mut labelled_note: Vec<Option<EntryIx>> = vec![None; session.entries.len()];
    // Parents come first in this order, so the branch of a parent is known.
    for &ix in &order {
        let parent = session.entry(ix).parent;
        let branch_above = parent.and_then(|parent| branch_at[parent.index()]);
        let is_labelled = labels.label_change(ix).is_some();
        if is_part[ix.index()] {
            let diverges = parent.is_some_and(|parent| continuations[parent.index()] > 1);
            let mut branch = match branch_above {
                Some(above) if !diverges => above,
                _ => Branch::beginning_at(session, ix, branch_above),
            };
            branch.push_entry(session, ix);
            if is_labelled {
                branch.labelled_entry = Some(ix);
            }
            branch_at[ix.index()] = Some(branch);
        } else {
            branch_at[ix.index()] = branch_above;
            if is_labelled && let Some(above) = branch_above {
                labelled_note[above.tip.index()] = Some(ix);
            }
        }
    }

    // The leaf may be a note below the tip of its branch.
    let active_branch = session.leaf.and_then(|leaf| branch_at[leaf.index()]);
    let active_tip = active_branch.map(|branch| branch.tip);
    let mut branches = Vec::new();
    for ix in session.entry_indexes() {
        // The active branch ends at the leaf, even if the conversation was continued from there.
        let is_active = active_tip == Some(ix);
        let is_tip = is_part[ix.index()] && (continuations[ix.index()] == 0 || is_active);
        if is_tip && let Some(branch) = branch_at[ix.index()] {
            branches.push(Branch {
                // A labelled note below the tip is nearer to the end of the branch than any
                // labelled entry above.
                labelled_entry: labelled_note[ix.index()].or(branch.labelled_entry),
                active: is_active,
                ..branch
            });
        }
    }

    // A time that does not parse is older than any other; of equal times, the later entry of the
    // file is newer.
    branches.reverse();
    branches.sort_by_key(|branch| std::cmp::Reverse(session.entry(branch.tip).time_ms));
    branches
}

/// Where a branch begins.
#[derive(Clone, Copy, Debug)]
pub struct BranchStart {
    /// The first entry of the branch.
    pub first: EntryIx,
    /// The position at which the branch diverges from others.
    pub branch_point: Position,
}

/// Returns the start of the branch that contains `ix`. Its first entry is `ix` or the nearest
/// ancestor that has siblings with which the conversation continues, too. `None` if there is no
/// such entry. Bookkeeping does not count as a sibling: see `find_branch_parts`.
pub fn find_branch_start(session: &Session, tree: &Tree, ix: EntryIx) -> Option<BranchStart> {
    let order: Vec<EntryIx> = tree.walk_oldest_first().collect();
    let is_part = find_branch_parts(session, &order);
    let continuations = count_continuations(session, &is_part);
    // At the root, branches diverge if there are several roots.
    let roots = tree.roots().iter();
    let root_count = roots.filter(|root| is_part[root.index()]).count() as u32;

    for first in session.ancestors(Some(ix)) {
        let branch_point = Position::from(session.entry(first).parent);
        let ways_from_parent = match branch_point {
            Position::Entry(parent) => continuations[parent.index()],
            Position::Root => root_count,
        };
        if is_part[first.index()] && ways_from_parent > 1 {
            return Some(BranchStart {
                first,
                branch_point,
            });
        }
    }
    None
}

/// Returns, by entry, whether it is part of a branch. Such parts are:
///
/// - entries that are not notes (labels, marks and other bookkeeping)
/// - notes with such an entry below them
/// - the notes at the leaf, if they are a branch of their own: see [`NotesAtLeaf`]
///
/// `order` has all entries, parents before their children.
fn find_branch_parts(session: &Session, order: &[EntryIx]) -> Vec<bool> {
    let mut is_part = find_conversation_parts(session, order);
    let at_leaf = NotesAtLeaf::find(session, |ix| is_part[ix.index()]);
    let are_own_branch = match at_leaf.entry_above {
        Some(above) => has_child_among(session, above, &is_part),
        // No branch is above the notes to which they could belong.
        None => true,
    };
    if are_own_branch {
        for note in at_leaf.notes {
            is_part[note.index()] = true;
        }
    }
    is_part
}

/// Returns, by entry, whether it is not a note, or has a descendant that is not one.
///
/// `order` has all entries, parents before their children.
fn find_conversation_parts(session: &Session, order: &[EntryIx]) -> Vec<bool> {
    let mut is_part = Vec::with_capacity(session.entries.len());
    for entry in &session.entries {
        is_part.push(!entry.kind.is_bookkeeping());
    }
    // In reverse order, children come before their parents, so the result for an entry is final
    // when it is passed on to its parent.
    for &ix in order.iter().rev() {
        if is_part[ix.index()]
            && let Some(parent) = session.entry(ix).parent
        {
            is_part[parent.index()] = true;
        }
    }
    is_part
}

/// Whether an entry has a child for which `is_part`, which is by entry, is true.
fn has_child_among(session: &Session, parent: EntryIx, is_part: &[bool]) -> bool {
    session
        .entry_indexes()
        .any(|ix| is_part[ix.index()] && session.entry(ix).parent == Some(parent))
}

/// The notes (labels, marks and other bookkeeping) at the end of the path to the leaf, after its
/// last entry that is not a note.
///
/// These notes are a branch of their own in two cases: if other children of `entry_above` continue
/// the conversation, so that the next message begins a branch at the leaf; and if `entry_above` is
/// `None`. Otherwise, they belong to the branch that ends at `entry_above`.
pub(super) struct NotesAtLeaf {
    /// From the leaf upwards; empty if the leaf is not a note.
    pub notes: Vec<EntryIx>,
    /// The entry above them.
    pub entry_above: Option<EntryIx>,
}

impl NotesAtLeaf {
    /// Collects the notes from the leaf upwards, up to the first entry for which `is_conversation`
    /// is true. So the caller decides which entries count as notes.
    pub fn find(session: &Session, is_conversation: impl Fn(EntryIx) -> bool) -> NotesAtLeaf {
        let mut found = NotesAtLeaf {
            notes: Vec::new(),
            entry_above: None,
        };
        for ix in session.ancestors(session.leaf) {
            if is_conversation(ix) {
                found.entry_above = Some(ix);
                break;
            }
            found.notes.push(ix);
        }
        found
    }
}

/// Returns, by entry, the number of branches that continue the conversation below it: its children
/// that are parts of branches (see [`find_branch_parts`]).
///
/// If the leaf has such children, the user has moved back to it. The next message will be one more
/// child, and so begins a branch, which is counted here. If the leaf has none, the next message
/// only continues the branch that ends there.
fn count_continuations(session: &Session, is_part: &[bool]) -> Vec<u32> {
    let mut counts = vec![0; session.entries.len()];
    for ix in session.entry_indexes() {
        if is_part[ix.index()]
            && let Some(parent) = session.entry(ix).parent
        {
            counts[parent.index()] += 1;
        }
    }
    if let Some(leaf) = session.leaf {
        let leaf_count = &mut counts[leaf.index()];
        if *leaf_count > 0 {
            *leaf_count += 1;
        }
    }
    counts
}
