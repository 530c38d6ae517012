//! Checks ids and parents, and plans how a repair makes one tree of them again.
//!
//! Repairs are derived from the file alone. Of entries with the same id, all but the last get new
//! ids, because the agents resolve the id to the last. A cycle is cut where loading cuts it, at its
//! first entry in the file. Children of an unreadable line become children of that line's parent,
//! or of the entry before it. An entry that is cut from its parent becomes a child of the entry
//! before it in the file, so that the conversation stays in one piece. So does an entry whose
//! parent is missing, if all entries before it end there: no other parent fits.

use super::finding::{Finding, FindingKind as K, found};
use super::line_repair::{LineRepair, OddIds};
use crate::session::entry::{EntryIx, Flags, Kind, LineNo};
use crate::session::{Format, Session};
use foldhash::{HashMap, HashSet};
use pisess_json::text::Text;
use std::collections::BTreeMap;

/// Changes to ids and parents.
#[derive(Debug, Default)]
pub(super) struct Links {
    pub ids: HashMap<EntryIx, String>,
    /// New parents; with `None` inside, the entry becomes a root.
    pub parents: BTreeMap<EntryIx, Option<EntryIx>>,
    /// The entry at which the conversation ends after the repair, if that is no longer the leaf of
    /// the file.
    pub new_leaf: Option<EntryIx>,
    taken: HashSet<String>,
}

impl Links {
    /// Returns the id of an entry after the repair.
    pub fn id<'a>(&'a self, session: &'a Session, ix: EntryIx) -> Text<'a> {
        self.ids
            .get(&ix)
            .map_or_else(|| session.id(ix), |id| Text::from(id.as_str()))
    }

    /// Returns a new id for a record, which no entry has after the repair.
    pub fn free_id(
        &self,
        session: &Session,
        record: u32,
        is_wanted: impl Fn(&str) -> bool,
    ) -> String {
        session.deterministic_id(record, |id| self.taken.contains(id) || is_wanted(id))
    }

    /// Returns the parent of an entry after the repair.
    pub fn parent(&self, session: &Session, ix: EntryIx) -> Option<EntryIx> {
        let changed = self.parents.get(&ix);
        changed.copied().unwrap_or(session.entry(ix).parent)
    }

    /// Returns the entries whose lines change.
    pub fn entries(&self) -> impl Iterator<Item = EntryIx> {
        self.ids.keys().chain(self.parents.keys()).copied()
    }
}

/// Checks all ids and parents of a file with repaired lines.
pub(super) fn check(
    session: &Session,
    repair: &LineRepair,
    active: &[bool],
    findings: &mut Vec<Finding>,
) -> Links {
    if matches!(session.format, Format::V1 | Format::Draft) {
        return Links::default();
    }
    let mut above = session
        .all()
        .map(|ix| session.entry(ix).parent.unwrap_or(ix))
        .collect::<Vec<_>>();
    let mut graph = Graph {
        session,
        active,
        findings,
        odd: repair.odd_ids.iter().map(|odd| (odd.line, odd)).collect(),
        roots: session.all().map(|ix| root(&mut above, ix)).collect(),
        above,
        links: Links::default(),
        continuations: continuations(session, repair),
        wanted: session
            .dangling
            .iter()
            .map(|parent| session.bytes(parent.text))
            .collect(),
    };
    graph.ids();
    graph.parents(repair);
    graph.links
}

struct Graph<'s, 'f> {
    session: &'s Session,
    active: &'s [bool],
    findings: &'f mut Vec<Finding>,
    odd: HashMap<LineNo, &'s OddIds>,
    /// The root of each entry before anything was joined.
    roots: Vec<EntryIx>,
    /// Of each entry one above it in its tree, while trees are joined: union-find over the parents.
    above: Vec<EntryIx>,
    links: Links,
    /// By the last of several entries that shared a line: see [`continuations`].
    continuations: BTreeMap<EntryIx, EntryIx>,
    /// The parent ids that no entry in the file has: no new id may equal one of these.
    wanted: HashSet<&'s [u8]>,
}

impl<'s> Graph<'s, '_> {
    /// Gives entries without an id, and earlier duplicates, new ids.
    fn ids(&mut self) {
        let session = self.session;
        for ix in session.all() {
            let entry = session.entry(ix);
            let finding = if entry.id.is_empty() {
                let is_odd = self.odd(ix).is_some_and(|odd| odd.id.is_some());
                let is_last = ix.at() + 1 == session.entries.len();
                let (kind, message) = match entry.kind {
                    _ if is_odd => (K::OddId, "the entry's id is not a string"),
                    Kind::Leaf => (K::MissingId, "the record of the leaf has no id"),
                    _ => (K::MissingId, "the entry has no id"),
                };
                found(session, ix, kind, message).grave(is_last)
            } else if entry.flags.has(Flags::SUPERSEDED) {
                let twin = session.find(&session.id(ix)).unwrap_or(ix);
                let in_cycle = |ix: EntryIx| session.entry(ix).flags.has(Flags::IN_CYCLE);
                let message = format!(
                    "the entry on line {} has the same id",
                    session.entry(twin).line.0
                );
                found(session, ix, K::DuplicateId, message).grave(in_cycle(ix) || in_cycle(twin))
            } else {
                continue;
            };
            let id = self.new_id(ix);
            let mut fix = format!("it gets the id {id}");
            if let Some(next) = self.continuations.get(&ix) {
                fix += &format!(", and {} becomes its child", self.links.id(session, *next));
            }
            self.findings.push(finding.fix(fix));
        }
    }

    fn new_id(&mut self, ix: EntryIx) -> String {
        let record = self.session.entry(ix).record;
        let wanted = &self.wanted;
        let id = self
            .links
            .free_id(self.session, record, |id| wanted.contains(id.as_bytes()));
        self.links.taken.insert(id.clone());
        self.links.ids.insert(ix, id.clone());
        id
    }

    fn parents(&mut self, repair: &LineRepair) {
        let session = self.session;
        let instead = replaced(session, repair);
        // The number of entries in the tree of each root.
        let mut sizes = vec![0; self.roots.len()];
        self.roots.iter().for_each(|root| sizes[root.at()] += 1);
        let mut orphans = HashMap::default();
        let by_odd_id = self.odd_ids();
        for ix in session.all() {
            let entry = session.entry(ix);
            if entry.flags.has(Flags::IN_CYCLE) {
                self.cycle(ix);
            } else if let Some(parent) = entry.parent {
                if parent > ix {
                    let message = format!(
                        "its parent is after it, on line {}",
                        session.entry(parent).line.0
                    );
                    let finding = found(session, ix, K::ForwardParent, message);
                    self.findings.push(finding.grave(self.active[ix.at()]));
                }
            } else if let Some(parent) = session.dangling_id(ix) {
                let gone = instead.get(parent.as_bytes()).copied();
                let finding = self.missing(ix, &parent, gone.is_some(), &sizes);
                match gone.filter(|&parent| self.attach(ix, parent)) {
                    Some(parent) => self.findings.push(finding.fix(self.under(parent))),
                    None => drop(orphans.insert(ix, (parent, finding))),
                }
            } else if let Some(parent) = self.odd(ix).and_then(|odd| odd.parent.clone()) {
                let message = "its parentId is neither a string nor null";
                let finding = found(session, ix, K::OddParent, message).grave(self.active[ix.at()]);
                let parent = by_odd_id.get(&parent[..]).copied();
                let fix = parent.filter(|&parent| self.attach(ix, Some(parent)));
                self.findings.push(Finding {
                    fix: fix.map(|parent| self.under(Some(parent))),
                    ..finding
                });
            } else if entry.id.is_empty() && entry.flags.has(Flags::NO_PARENT_KEY) {
                self.attach(ix, ix.before());
            }
        }
        for (last, next) in std::mem::take(&mut self.continuations) {
            if session.entry(next).parent.is_none() {
                self.attach(next, Some(last));
            } else {
                self.links.parents.insert(next, Some(last));
            }
        }
        if !orphans.is_empty() {
            self.orphans(orphans);
        }
        self.several_roots();
    }

    /// Gives entries whose parent is missing the only parent that fits. All other parents are
    /// settled, so that a second repair has nothing to do.
    fn orphans(&mut self, mut orphans: HashMap<EntryIx, (Text<'s>, Finding)>) {
        let session = self.session;
        // Of the entries so far: whether another so far continues it, and the number of those that
        // none does.
        let (mut is_continued, mut ends) = (vec![false; session.entries.len()], 0);
        // Entries with the same missing parent have one again.
        let mut found = HashMap::default();
        for ix in session.all() {
            if let Some((missing, mut finding)) = orphans.remove(&ix) {
                let only_end = ix
                    .before()
                    .filter(|before| ends == 1 && !is_continued[before.at()]);
                let mut fitting = found.get(&missing).copied().into_iter().chain(only_end);
                if let Some(parent) = fitting.find(|&parent| self.attach(ix, Some(parent))) {
                    finding = finding.fix(self.under(Some(parent)));
                    found.insert(missing, parent);
                }
                self.findings.push(finding);
            }
            ends += usize::from(!is_continued[ix.at()]);
            if let Some(parent) = self.links.parent(session, ix) {
                let is_new = !std::mem::replace(&mut is_continued[parent.at()], true);
                ends -= usize::from(is_new && parent <= ix);
            }
        }
    }

    fn cycle(&mut self, ix: EntryIx) {
        let session = self.session;
        let entry = session.entry(ix);
        let is_cut = entry.parent.is_none();
        let is_grave = session
            .leaf
            .is_some_and(|leaf| self.roots[leaf.at()] == self.roots[ix.at()]);
        let is_own = session
            .dangling_id(ix)
            .and_then(|parent| session.find(&parent))
            == Some(ix);
        let (kind, message) = if is_own {
            (K::SelfParent, "the entry is its own parent")
        } else {
            (K::ParentCycle, "the entry is its own ancestor")
        };
        let fix = if is_cut {
            let parent = ix.before().filter(|&parent| self.attach(ix, Some(parent)));
            if parent.is_none() {
                self.links.parents.insert(ix, None);
            }
            self.under(parent)
        } else {
            "the cycle is cut at its first entry".to_owned()
        };
        self.findings
            .push(found(session, ix, kind, message).grave(is_grave).fix(fix));
    }

    /// Returns the finding for a missing parent, and what it costs. `is_gone`: whether the parent
    /// is on a line that is not an entry. `sizes` are those of the trees.
    fn missing(&self, ix: EntryIx, parent: &Text, is_gone: bool, sizes: &[usize]) -> Finding {
        let is_active = self.active[ix.at()];
        let why = if is_gone {
            "on a line that is not an entry"
        } else {
            "not in the file"
        };
        let mut message = format!("its parent {:?} is {why}", parent.to_string());
        // The entries before it that are in other trees.
        let others = || {
            self.roots[..ix.at()]
                .iter()
                .filter(|&&root| root != ix)
                .count()
        };
        match if is_active { others() } else { sizes[ix.at()] } {
            0 => {}
            1 => message += "; 1 entry is cut off",
            many => message += &format!("; {many} entries are cut off"),
        }
        found(self.session, ix, K::MissingParent, message).grave(is_active)
    }

    /// Returns the entries whose id is not a string, by id; of several with the same id the last,
    /// as in the agents.
    fn odd_ids(&self) -> HashMap<&'s [u8], EntryIx> {
        let id = |ix| {
            self.odd(ix)
                .and_then(|odd| odd.id.as_deref())
                .map(|id| (id, ix))
        };
        self.session.all().filter_map(id).collect()
    }

    fn odd(&self, ix: EntryIx) -> Option<&'s OddIds> {
        self.odd.get(&self.session.entry(ix).line).copied()
    }

    /// Makes `ix`, which is a root, a child of `parent` (`None` leaves it a root). Returns false if
    /// `ix` is `parent` or its ancestor.
    fn attach(&mut self, ix: EntryIx, parent: Option<EntryIx>) -> bool {
        if let Some(parent) = parent {
            let root = root(&mut self.above, parent);
            if root == ix {
                return false;
            }
            self.above[ix.at()] = root;
        }
        self.links.parents.insert(ix, parent);
        true
    }

    fn under(&self, parent: Option<EntryIx>) -> String {
        match parent {
            Some(parent) => format!(
                "it becomes a child of {}",
                self.links.id(self.session, parent)
            ),
            None => "it becomes a root".to_owned(),
        }
    }

    fn several_roots(&mut self) {
        let session = self.session;
        let is_root = |&ix: &EntryIx| {
            let entry = session.entry(ix);
            entry.parent.is_none() && session.dangling_id(ix).is_none() && !entry.id.is_empty()
        };
        let roots: Vec<_> = session
            .all()
            .filter(is_root)
            .filter(|&ix| self.odd(ix).is_none())
            .collect();
        let [_, second, ..] = roots[..] else { return };
        let message = format!("the conversation has {} root entries", roots.len());
        let finding =
            found(session, second, K::SeveralRoots, message).grave(self.is_unlinked(&roots));
        self.findings.push(finding);
    }

    /// Whether there are many roots because their writer sets no parents. A few are normal: each
    /// time a user starts over, the agent writes a root with `null`.
    fn is_unlinked(&self, roots: &[EntryIx]) -> bool {
        let without_key = |&&ix: &&EntryIx| self.session.entry(ix).flags.has(Flags::NO_PARENT_KEY);
        let most = roots.len() > 2 && 2 * roots.len() > self.session.entries.len();
        most || roots.iter().filter(without_key).count() > 1
    }
}

/// Returns, for the last of several entries without ids that shared a line, the entry that
/// continues the conversation.
///
/// Such a line is from a file of version 1, in which each entry follows the one before. Migration
/// could not read the line, and made the entry after it a child of the entry before it.
fn continuations(session: &Session, repair: &LineRepair) -> BTreeMap<EntryIx, EntryIx> {
    let lines = repair.without_links.iter();
    let apart: Vec<_> = lines.filter_map(|&line| session.entry_on(line)).collect();
    let mut continuations = BTreeMap::new();
    for run in apart.chunk_by(|one, next| next.before() == Some(*one)) {
        let last = run[run.len() - 1];
        let next = EntryIx::new(last.at() + 1);
        let Some(entry) = session.entries.get(next.at()) else {
            continue;
        };
        let has_own_place = entry.flags.has(Flags::NO_PARENT_KEY)
            || entry.flags.has(Flags::IN_CYCLE)
            || session.dangling_id(next).is_some();
        if !has_own_place && entry.parent == run[0].before() {
            continuations.insert(last, next);
        }
    }
    continuations
}

/// Returns the new parents for children of missing entries, by the missing ids.
fn replaced(session: &Session, repair: &LineRepair) -> HashMap<Vec<u8>, Option<EntryIx>> {
    let mut replaced: HashMap<Vec<u8>, Option<EntryIx>> = HashMap::default();
    let known: HashSet<&[u8]> = repair
        .gone
        .iter()
        .filter_map(|gone| gone.id.as_ref())
        .map(Text::as_bytes)
        .collect();
    for gone in &repair.gone {
        let behind = session
            .entries
            .partition_point(|entry| entry.line.0 <= gone.after);
        let nearest = behind.checked_sub(1).map(EntryIx::new);
        let id = match &gone.id {
            Some(id) => Some(id.as_bytes().to_vec()),
            // The first entry after an unreadable line is taken for its child, if its parent is not
            // in the file.
            None => session
                .dangling_id(EntryIx::new(behind))
                .map(Text::into_bytes)
                .filter(|id| !known.contains(&id[..])),
        };
        let parent = match &gone.parent {
            Some(None) => None,
            Some(Some(parent)) => session
                .find(parent)
                .or_else(|| replaced.get(parent.as_bytes()).copied().flatten())
                .or(nearest),
            None => nearest,
        };
        if let Some(id) = id {
            replaced.insert(id, parent);
        }
    }
    replaced
}

/// Returns the root of an entry's tree while trees are joined, and shortens the way to it.
fn root(above: &mut [EntryIx], mut at: EntryIx) -> EntryIx {
    loop {
        let next = above[at.at()];
        if next == at {
            return at;
        }
        above[at.at()] = above[next.at()];
        at = above[at.at()];
    }
}
