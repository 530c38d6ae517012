//! Checks ids and parents, and plans how a repair makes one tree of them again.
//!
//! Repairs are derived from the file alone. The rules:
//!
//! - Of entries with the same id, all but the last get new ids, because the agents resolve the id
//!   to the last.
//! - A cycle is cut where loading cuts it, at its first entry in the file. That entry becomes a
//!   child of the entry before it in the file, so that the conversation stays in one piece.
//! - Children of an unreadable line become children of that line's parent or, if this is unknown,
//!   of the entry before the line.
//! - An entry whose parent is missing becomes a child of the entry before it in the file, if the
//!   conversation so far ends there and nowhere else: no other parent fits.
//! - Entries that name the same missing parent stay siblings, even if the first of them has found
//!   no parent.

use super::ends::Ends;
use super::finding::{Finding, FindingKind, finding_in_entry};
use super::line_repair::{LineRepair, OddIds};
use super::lost_parents::{find_continuations, find_replacement_parents};
use crate::session::entry::{EntryIx, Flags, Kind, LineNo};
use crate::session::reference::Position;
use crate::session::{Format, Session};
use foldhash::{HashMap, HashSet};
use pisess_json::text::Text;
use std::collections::BTreeMap;

/// The planned changes to ids and parents.
#[derive(Debug, Default)]
pub(super) struct LinkRepair {
    pub new_ids: HashMap<EntryIx, String>,
    /// The new place of each moved entry: below another entry, or at the root.
    pub new_parents: BTreeMap<EntryIx, Position>,
    /// The entry at which the conversation ends after the repair, if that is no longer the leaf of
    /// the file.
    pub new_leaf: Option<EntryIx>,
    issued_ids: HashSet<String>,
}

impl LinkRepair {
    /// Returns the id of an entry after the repair.
    pub fn repaired_id<'a>(&'a self, session: &'a Session, ix: EntryIx) -> Text<'a> {
        match self.new_ids.get(&ix) {
            Some(new_id) => Text::from(new_id.as_str()),
            None => session.id(ix),
        }
    }

    /// Returns a new id for the record with this number. No entry has the id after the repair, and
    /// `is_taken` is false for it.
    pub fn free_id(
        &self,
        session: &Session,
        record: u32,
        is_taken: impl Fn(&str) -> bool,
    ) -> String {
        session.deterministic_id(record, |id| self.issued_ids.contains(id) || is_taken(id))
    }

    /// Returns the parent of an entry after the repair.
    pub fn repaired_parent(&self, session: &Session, ix: EntryIx) -> Option<EntryIx> {
        match self.new_parents.get(&ix) {
            Some(new_parent) => new_parent.entry(),
            None => session.entry(ix).parent,
        }
    }

    /// Returns the entries whose lines change.
    pub fn changed_entries(&self) -> impl Iterator<Item = EntryIx> {
        self.new_ids.keys().chain(self.new_parents.keys()).copied()
    }
}

/// The findings of a check, and the links as repaired up to then.
#[derive(Default)]
pub(super) struct CheckedLinks {
    pub links: LinkRepair,
    pub findings: Vec<Finding>,
}

/// Checks all ids and parents in a file with repaired lines, and plans the changes that repair
/// them. Files of version 1 and of the draft tree ([`Format::Draft`]) need no ids, so nothing is
/// reported.
///
/// `is_active` has an element for each entry: whether the entry is on the path to the leaf.
pub(super) fn check_links(
    session: &Session,
    repair: &LineRepair,
    is_active: &[bool],
) -> CheckedLinks {
    if matches!(session.format, Format::V1 | Format::Draft) {
        return CheckedLinks::default();
    }

    let continuations = find_continuations(session, repair);
    let mut graph = Graph::new(session, repair, is_active, &continuations);
    // Ids first: a finding about a parent names the parent by its new id.
    graph.repair_ids();
    graph.repair_parents(repair);
    CheckedLinks {
        links: graph.links,
        findings: graph.findings,
    }
}

/// What an entry's `parentId` says about its place in the tree.
enum ParentState<'s> {
    /// The entry is a child of an earlier entry, or a root on purpose.
    Ordinary,
    /// The entry is its own ancestor.
    InCycle,
    /// The parent is this entry, which is further down in the file.
    Forward(EntryIx),
    /// No entry has this id, which the entry names as its parent.
    Missing(Text<'s>),
    /// The `parentId` is neither a string nor null: this JSON.
    Odd(&'s [u8]),
    /// The entry has neither an id nor a `parentId`: it is of version 1, where each entry is a
    /// child of the one before.
    Unlinked,
}

/// The ids and parents of a session while they are checked.
struct Graph<'s> {
    session: &'s Session,
    /// For each entry, whether it is on the path to the leaf.
    is_active: &'s [bool],
    findings: Vec<Finding>,
    odd_ids_by_line: HashMap<LineNo, &'s OddIds>,
    /// By entry: the root of its tree before any repair.
    original_roots: Vec<EntryIx>,
    /// The trees after the repair as planned so far.
    trees: GrowingTrees,
    /// The repair as planned so far.
    links: LinkRepair,
    /// Maps the last of several entries that shared a line to the entry that becomes its child: see
    /// [`find_continuations`].
    continuations: &'s BTreeMap<EntryIx, EntryIx>,
    /// The ids of missing parents. A new id must differ from these: otherwise, the children of a
    /// missing parent would become children of the entry with the new id.
    dangling_ids: HashSet<&'s [u8]>,
}

impl<'s> Graph<'s> {
    /// Collects what the checks need. No repair is planned yet.
    fn new(
        session: &'s Session,
        repair: &'s LineRepair,
        is_active: &'s [bool],
        continuations: &'s BTreeMap<EntryIx, EntryIx>,
    ) -> Graph<'s> {
        let mut trees = GrowingTrees::new(session);
        let mut original_roots = Vec::with_capacity(session.entries.len());
        for ix in session.entry_indexes() {
            original_roots.push(trees.find_root(ix));
        }
        let mut odd_ids_by_line = HashMap::default();
        for odd in &repair.odd_ids {
            odd_ids_by_line.insert(odd.line, odd);
        }
        let mut dangling_ids = HashSet::default();
        for dangling in &session.dangling {
            dangling_ids.insert(session.bytes(dangling.text));
        }
        Graph {
            session,
            is_active,
            findings: Vec::new(),
            odd_ids_by_line,
            original_roots,
            trees,
            links: LinkRepair::default(),
            continuations,
            dangling_ids,
        }
    }

    /// Reports entries without an id, and entries whose id a later entry has as well. Plans a new
    /// id for each of these.
    fn repair_ids(&mut self) {
        let session = self.session;
        for ix in session.entry_indexes() {
            let entry = session.entry(ix);
            let has_id_of_later_entry = entry.flags.contains(Flags::SUPERSEDED);
            let finding = if entry.id.is_empty() {
                self.missing_id_finding(ix)
            } else if has_id_of_later_entry {
                self.duplicate_id_finding(ix)
            } else {
                continue;
            };

            let id = self.assign_new_id(ix);
            let mut fix = format!("it gets the id {id}");
            // The last of several entries that shared a line also gets a child.
            if let Some(next) = self.continuations.get(&ix) {
                fix += &format!(
                    ", and {} becomes its child",
                    self.links.repaired_id(session, *next)
                );
            }
            self.findings.push(finding.with_fix(fix));
        }
    }

    /// Returns the finding, without a fix, for an entry whose id is missing or not a string.
    fn missing_id_finding(&self, ix: EntryIx) -> Finding {
        let session = self.session;
        // The session has no id for either case: loading reads only strings.
        let is_odd = self.odd_ids_of(ix).is_some_and(|odd| odd.id.is_some());
        let (kind, message) = if is_odd {
            (FindingKind::OddId, "the entry's id is not a string")
        } else if session.entry(ix).kind == Kind::Leaf {
            (FindingKind::MissingId, "the record of the leaf has no id")
        } else {
            (FindingKind::MissingId, "the entry has no id")
        };
        let is_last = ix.index() + 1 == session.entries.len();
        finding_in_entry(session, ix, kind, message).worst_case_if(is_last)
    }

    /// Returns the finding, without a fix, for an entry whose id a later entry has as well. The
    /// agents resolve the id to that later entry.
    fn duplicate_id_finding(&self, ix: EntryIx) -> Finding {
        let session = self.session;
        let twin = session.find_entry(&session.id(ix)).unwrap_or(ix);
        let twin_line = session.shown_line(twin).0;
        let message = format!("the entry on line {twin_line} has the same id");
        // If one of the two is in a cycle, an agent that follows the shared id may never reach the
        // root.
        let is_in_cycle = |ix: EntryIx| session.entry(ix).flags.contains(Flags::IN_CYCLE);
        let is_worst_case = is_in_cycle(ix) || is_in_cycle(twin);
        finding_in_entry(session, ix, FindingKind::DuplicateId, message)
            .worst_case_if(is_worst_case)
    }

    /// Gives an entry a new id, which neither an entry nor a missing parent has, and returns the
    /// id. It is derived from the number of the entry's record, so that each repair of the same
    /// file gives the same id.
    fn assign_new_id(&mut self, ix: EntryIx) -> String {
        let record = self.session.entry(ix).record;
        // Borrowed apart from `links`, for the closure.
        let dangling_ids = &self.dangling_ids;
        let id = self.links.free_id(self.session, record, |id| {
            dangling_ids.contains(id.as_bytes())
        });
        self.links.issued_ids.insert(id.clone());
        self.links.new_ids.insert(ix, id.clone());
        id
    }

    /// Reports entries with a wrong parent, and plans another one for each for which it is certain.
    fn repair_parents(&mut self, repair: &LineRepair) {
        let session = self.session;
        let replacements = find_replacement_parents(session, repair);
        let entries_by_odd_id = self.entries_by_odd_id();
        // At the index of each root: the number of entries in its tree.
        let mut tree_sizes = vec![0; self.original_roots.len()];
        for root in &self.original_roots {
            tree_sizes[root.index()] += 1;
        }

        let mut orphans = HashMap::default();
        for ix in session.entry_indexes() {
            match self.classify_parent(ix) {
                ParentState::Ordinary => {}
                ParentState::InCycle => self.repair_cycle(ix),
                ParentState::Forward(parent) => self.report_forward_parent(ix, parent),
                ParentState::Missing(missing_id) => {
                    let replacement = replacements.get(missing_id.as_bytes()).copied();
                    let is_on_removed_line = replacement.is_some();
                    let cut_off = self.count_cut_off(ix, &tree_sizes);
                    let finding =
                        self.missing_parent_finding(ix, &missing_id, is_on_removed_line, cut_off);
                    if let Some(parent) = replacement
                        && let Some(fix) = self.attach_and_describe(ix, parent)
                    {
                        self.findings.push(finding.with_fix(fix));
                        continue;
                    }
                    let orphan = Orphan {
                        missing_id,
                        finding,
                    };
                    orphans.insert(ix, orphan);
                }
                ParentState::Odd(odd_id) => {
                    let parent = entries_by_odd_id.get(odd_id).copied();
                    self.repair_odd_parent(ix, parent);
                }
                ParentState::Unlinked => {
                    // `repair_ids` has reported the missing id, which is the same defect.
                    self.try_attach(ix, ix.previous().into());
                }
            }
        }

        // Orphans are attached last: which parent is certain depends on all other parents.
        self.attach_continuations();
        if !orphans.is_empty() {
            self.attach_orphans(orphans);
        }
        self.report_several_roots();
    }

    /// Returns the state of an entry's `parentId` before any repair. An entry in a cycle counts as
    /// such even if loading has removed its parent to cut the cycle. A root whose `parentId` is
    /// `null` is ordinary.
    fn classify_parent(&self, ix: EntryIx) -> ParentState<'s> {
        let session = self.session;
        let entry = session.entry(ix);
        if entry.flags.contains(Flags::IN_CYCLE) {
            return ParentState::InCycle;
        }
        if let Some(parent) = entry.parent {
            return if parent > ix {
                ParentState::Forward(parent)
            } else {
                ParentState::Ordinary
            };
        }

        // The entry is a root. The cases below are the reasons other than a `parentId` of `null`.
        if let Some(missing_id) = session.dangling_id(ix) {
            return ParentState::Missing(missing_id);
        }
        if let Some(odd_id) = self.odd_ids_of(ix).and_then(|odd| odd.parent.as_deref()) {
            return ParentState::Odd(odd_id);
        }
        if entry.id.is_empty() && entry.flags.contains(Flags::NO_PARENT_KEY) {
            return ParentState::Unlinked;
        }
        ParentState::Ordinary
    }

    /// Reports an entry whose parent is further down in the file. This needs no repair: the agents
    /// read such a file like any other.
    fn report_forward_parent(&mut self, ix: EntryIx, parent: EntryIx) {
        let line = self.session.shown_line(parent).0;
        let message = format!("its parent is after it, on line {line}");
        let finding = finding_in_entry(self.session, ix, FindingKind::ForwardParent, message);
        self.findings
            .push(finding.worst_case_if(self.is_active[ix.index()]));
    }

    /// Reports a `parentId` that is neither a string nor null, such as `7`. `parent` is the entry
    /// whose `id` has the same value: if there is one, the entry becomes its child.
    fn repair_odd_parent(&mut self, ix: EntryIx, parent: Option<EntryIx>) {
        let message = "its parentId is neither a string nor null";
        let finding = finding_in_entry(self.session, ix, FindingKind::OddParent, message)
            .worst_case_if(self.is_active[ix.index()]);
        if let Some(parent) = parent
            && let Some(fix) = self.attach_and_describe(ix, Position::Entry(parent))
        {
            self.findings.push(finding.with_fix(fix));
        } else {
            self.findings.push(finding);
        }
    }

    /// Where several entries shared a line, makes the entry after the line a child of the last of
    /// them: see [`find_continuations`]. [`repair_ids`](Self::repair_ids) has reported this.
    fn attach_continuations(&mut self) {
        for (&last, &next) in self.continuations {
            let new_parent = Position::Entry(last);
            if self.session.entry(next).parent.is_none() {
                // If this would close a cycle, `next` stays a root.
                self.try_attach(next, new_parent);
            } else {
                // Migration made this entry a child of the entry before the line. It is not a root,
                // so `try_attach` cannot be used.
                self.links.new_parents.insert(next, new_parent);
            }
        }
    }

    /// Reports the orphans, which are entries whose parent is missing and has no replacement, and
    /// plans a parent for each if one is certain: see [`certain_parents`].
    ///
    /// The parents of all other entries must be planned before. (Tool results, which move later, do
    /// not count: see [`Ends`].) Otherwise, an entry might seem an end that gets a child later, and
    /// a second repair would attach more orphans.
    fn attach_orphans(&mut self, mut orphans: HashMap<EntryIx, Orphan<'s>>) {
        let session = self.session;
        // By the id of a missing parent: where the last orphan with this parent was attached.
        let mut places: HashMap<Text, Position> = HashMap::default();
        let mut ends_so_far = Ends::new(session, &self.links);
        for ix in session.entry_indexes() {
            if let Some(orphan) = orphans.remove(&ix) {
                let sibling_place = places.get(&orphan.missing_id).copied();
                let only_end = ends_so_far.only_end_before(ix, &self.links);
                let candidates = certain_parents(sibling_place, only_end);
                let place = self.attach_orphan(ix, orphan.finding, &candidates);
                places.insert(orphan.missing_id, place);
            }
            // After the orphan is attached, because only then its parent is final.
            let parent = self.links.repaired_parent(session, ix);
            ends_so_far.add_entry(ix, parent);
        }
    }

    /// Makes an orphan a child of the first candidate that would not close a cycle, and reports it.
    /// Returns its new place: the root if there is no such candidate.
    fn attach_orphan(&mut self, ix: EntryIx, finding: Finding, candidates: &[EntryIx]) -> Position {
        let place = self.attach_to_first(ix, candidates);
        self.report_orphan(finding, place);
        place
    }

    /// Reports an orphan. The fix is its new parent; there is none if it stays a root.
    fn report_orphan(&mut self, finding: Finding, place: Position) {
        let finding = match place {
            Position::Entry(_) => finding.with_fix(self.describe_parent(place)),
            Position::Root => finding,
        };
        self.findings.push(finding);
    }

    /// Reports an entry of a cycle. Loading has cut the cycle by taking the parent away from one of
    /// its entries; the repair cuts it there, too.
    fn repair_cycle(&mut self, ix: EntryIx) {
        let session = self.session;
        let (kind, message) = if self.is_own_parent(ix) {
            (FindingKind::SelfParent, "the entry is its own parent")
        } else {
            (FindingKind::ParentCycle, "the entry is its own ancestor")
        };

        let is_cut_here = session.entry(ix).parent.is_none();
        let fix = if is_cut_here {
            self.attach_cut_entry(ix)
        } else {
            "the cycle is cut at its first entry".to_owned()
        };
        // A cycle is the worst case if the agent runs into it on the way from the leaf to the root.
        let finding = finding_in_entry(session, ix, kind, message)
            .worst_case_if(self.has_leaf_in_tree_of(ix))
            .with_fix(fix);
        self.findings.push(finding);
    }

    /// Whether an entry of a cycle is the only one of it.
    fn is_own_parent(&self, ix: EntryIx) -> bool {
        // Loading has taken the parent away from one entry of each cycle. It keeps the id of this
        // parent as a dangling one.
        match self.session.dangling_id(ix) {
            Some(parent_id) => self.session.find_entry(&parent_id) == Some(ix),
            None => false,
        }
    }

    /// Whether the leaf is in the tree of an entry, before any repair.
    fn has_leaf_in_tree_of(&self, ix: EntryIx) -> bool {
        match self.session.leaf {
            Some(leaf) => self.original_roots[leaf.index()] == self.original_roots[ix.index()],
            None => false,
        }
    }

    /// Makes the entry at which a cycle was cut a child of the entry before it, and returns the
    /// text of the fix. It becomes a root if it is the first of the file, or if the entry before it
    /// is one of its descendants, which would close a cycle again.
    fn attach_cut_entry(&mut self, ix: EntryIx) -> String {
        let before = Position::from(ix.previous());
        if let Some(fix) = self.attach_and_describe(ix, before) {
            return fix;
        }
        self.links.new_parents.insert(ix, Position::Root);
        self.describe_parent(Position::Root)
    }

    /// Returns the finding, without a fix, for an entry whose parent is missing.
    /// `is_on_removed_line` is whether a line that is not an entry had the id of the parent.
    /// `cut_off` is the number of entries that the conversation lost with it.
    fn missing_parent_finding(
        &self,
        ix: EntryIx,
        missing_id: &Text,
        is_on_removed_line: bool,
        cut_off: usize,
    ) -> Finding {
        let id = missing_id.to_string();
        let mut message = if is_on_removed_line {
            format!("its parent {id:?} is on a line that is not an entry")
        } else {
            format!("its parent {id:?} is not in the file")
        };
        match cut_off {
            0 => {}
            1 => message += "; 1 entry is cut off",
            many => message += &format!("; {many} entries are cut off"),
        }
        let is_active = self.is_active[ix.index()];
        finding_in_entry(self.session, ix, FindingKind::MissingParent, message)
            .worst_case_if(is_active)
    }

    /// Counts the entries that are cut off from the conversation because the parent of `ix` is
    /// missing, which makes `ix` the root of its tree:
    ///
    /// - if the conversation is in another tree, all entries in the tree of `ix`
    /// - if it is in the tree of `ix`, the entries of other trees that are before `ix` in the file,
    ///   because only these can have been its ancestors
    ///
    /// `tree_sizes` has, at the index of each root, the number of entries in its tree.
    fn count_cut_off(&self, ix: EntryIx, tree_sizes: &[usize]) -> usize {
        let has_conversation_in_tree = self.is_active[ix.index()];
        if !has_conversation_in_tree {
            return tree_sizes[ix.index()];
        }

        let mut count = 0;
        for &root in &self.original_roots[..ix.index()] {
            let is_in_other_tree = root != ix;
            if is_in_other_tree {
                count += 1;
            }
        }
        count
    }

    /// Maps each id that is not a string, as JSON, to its entry. Of several entries with the same
    /// id, the last counts, as for the agents.
    fn entries_by_odd_id(&self) -> HashMap<&'s [u8], EntryIx> {
        let mut by_id = HashMap::default();
        for ix in self.session.entry_indexes() {
            if let Some(id) = self.odd_ids_of(ix).and_then(|odd| odd.id.as_deref()) {
                by_id.insert(id, ix);
            }
        }
        by_id
    }

    /// Returns the invalid ids of an entry; `None` if its ids are valid.
    fn odd_ids_of(&self, ix: EntryIx) -> Option<&'s OddIds> {
        self.odd_ids_by_line
            .get(&self.session.entry(ix).line)
            .copied()
    }

    /// Makes the root `ix` a child of `parent`. With [`Position::Root`] as `parent`, `ix` stays a
    /// root.
    ///
    /// Returns false and changes nothing if this would close a cycle: if `ix` is `parent` or one of
    /// its ancestors.
    fn try_attach(&mut self, ix: EntryIx, parent: Position) -> bool {
        if let Position::Entry(above) = parent {
            let is_joined = self.trees.try_join(ix, above);
            if !is_joined {
                return false;
            }
        }
        self.links.new_parents.insert(ix, parent);
        true
    }

    /// Makes the root `ix` a child of `parent`, and returns the text of this fix. If this would
    /// close a cycle, returns `None` and changes nothing, like [`try_attach`](Self::try_attach).
    fn attach_and_describe(&mut self, ix: EntryIx, parent: Position) -> Option<String> {
        let is_attached = self.try_attach(ix, parent);
        if !is_attached {
            return None;
        }
        Some(self.describe_parent(parent))
    }

    /// Makes the root `ix` a child of the first candidate that would not close a cycle, and returns
    /// its new place. If there is none, nothing changes: `ix` stays at the root.
    fn attach_to_first(&mut self, ix: EntryIx, candidates: &[EntryIx]) -> Position {
        for &parent in candidates {
            let place = Position::Entry(parent);
            let is_attached = self.try_attach(ix, place);
            if is_attached {
                return place;
            }
        }
        Position::Root
    }

    /// Returns the text of a fix, such as `it becomes a child of ID`, with the id of the parent
    /// after the repair.
    fn describe_parent(&self, parent: Position) -> String {
        match parent {
            Position::Entry(parent) => {
                let id = self.links.repaired_id(self.session, parent);
                format!("it becomes a child of {id}")
            }
            Position::Root => "it becomes a root".to_owned(),
        }
    }

    /// Reports that the conversation has several roots. The finding is in the second root, because
    /// the first is correct.
    fn report_several_roots(&mut self) {
        let session = self.session;
        let roots: Vec<_> = session
            .entry_indexes()
            .filter(|&ix| self.is_unreported_root(ix))
            .collect();
        let [_, second, ..] = roots[..] else {
            // One root, or none, is no defect.
            return;
        };

        let message = format!("the conversation has {} root entries", roots.len());
        let finding = finding_in_entry(session, second, FindingKind::SeveralRoots, message)
            .worst_case_if(self.has_unlinked_roots(&roots));
        self.findings.push(finding);
    }

    /// Whether an entry is a root that no other check of ids and parents reports.
    fn is_unreported_root(&self, ix: EntryIx) -> bool {
        let session = self.session;
        let entry = session.entry(ix);
        if entry.parent.is_some() {
            return false;
        }
        let is_reported = session.dangling_id(ix).is_some()
            || entry.id.is_empty()
            || self.odd_ids_of(ix).is_some();
        // A custom entry with the `parentId` `null` begins no conversation, such as the mark that
        // `switch root` writes.
        let is_custom_at_root =
            entry.kind == Kind::Custom && !entry.flags.contains(Flags::NO_PARENT_KEY);
        !is_reported && !is_custom_at_root
    }

    /// Whether there are many roots because their writer sets no parents: they are most of the
    /// entries, or several have no `parentId` at all. A few roots are normal: each time a user
    /// starts over, the agent writes a root whose `parentId` is `null`.
    fn has_unlinked_roots(&self, roots: &[EntryIx]) -> bool {
        let are_most_entries = roots.len() > 2 && 2 * roots.len() > self.session.entries.len();
        if are_most_entries {
            return true;
        }
        let has_no_key = |ix: EntryIx| self.session.entry(ix).flags.contains(Flags::NO_PARENT_KEY);
        roots.iter().filter(|&&ix| has_no_key(ix)).count() > 1
    }
}

/// Returns the entries below which an orphan certainly belongs, the most certain first:
///
/// 1. the new parent of its sibling, an earlier orphan whose missing parent has the same id. It
///    comes first, because the sibling may itself be the only end;
/// 2. `only_end`, the entry before the orphan in the file, if the conversation so far ends there
///    and nowhere else.
///
/// If the sibling stayed a root, the orphan does, too. `sibling_place` is where the sibling is now;
/// `None` if there is none.
fn certain_parents(sibling_place: Option<Position>, only_end: Option<EntryIx>) -> Vec<EntryIx> {
    let mut parents = Vec::new();
    match sibling_place {
        Some(Position::Root) => return Vec::new(),
        Some(Position::Entry(parent)) => parents.push(parent),
        None => {} // The orphan has no sibling before it.
    }
    parents.extend(only_end);
    parents
}

/// An entry whose parent is not in the file.
struct Orphan<'s> {
    /// The id of the missing parent.
    missing_id: Text<'s>,
    /// The finding for the entry, to which a fix may be added.
    finding: Finding,
}

/// The trees of a session while roots get parents, which joins trees. This is a union-find forest:
/// it finds the root of an entry without a walk through all ancestors.
struct GrowingTrees {
    /// By entry: an ancestor in its tree; itself if it is a root.
    ancestors: Vec<EntryIx>,
}

impl GrowingTrees {
    /// Returns the trees as they are in a session.
    fn new(session: &Session) -> GrowingTrees {
        let mut ancestors = Vec::with_capacity(session.entries.len());
        for ix in session.entry_indexes() {
            ancestors.push(session.entry(ix).parent.unwrap_or(ix));
        }
        GrowingTrees { ancestors }
    }

    /// Returns the root of an entry's tree. On the way, links each entry to a higher ancestor, so
    /// that later calls are fast.
    fn find_root(&mut self, ix: EntryIx) -> EntryIx {
        let mut current = ix;
        loop {
            let above = self.ancestors[current.index()];
            if above == current {
                return current;
            }
            let higher = self.ancestors[above.index()];
            self.ancestors[current.index()] = higher;
            current = higher;
        }
    }

    /// Makes the tree of `root` a part of the tree of `other`. Returns false and changes nothing if
    /// it is the same tree.
    fn try_join(&mut self, root: EntryIx, other: EntryIx) -> bool {
        let other_root = self.find_root(other);
        if other_root == root {
            return false;
        }
        self.ancestors[root.index()] = other_root;
        true
    }
}
