//! Compares two paths: finds the entries that only one of them has, or that differ.
//!
//! Within a session, each line is a different entry. Entries of two sessions are the same entry if
//! they have the same id, or else the same content, because an agent may give copies new ids. Links
//! to other entries are not part of the content, because forks change them.

pub mod context;

use crate::session::Session;
use crate::session::entry::{EntryIx, Kind};
use crate::session::read::entry_reader::EntryReader;
use foldhash::{HashMap, HashSet};
use pisess_json::{Raw, js, string};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, VecDeque};
use std::io;

/// A path to compare.
pub struct ComparedPath<'a> {
    /// The session.
    pub session: &'a Session,
    /// The entries, starting at the root.
    pub path: Vec<EntryIx>,
    /// Reads the lines of the entries.
    pub reader: &'a EntryReader<'a>,
}

/// The differences of two paths. Entries are those of the left session, unless stated otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// The last entry before the first difference, in the left session; `None` if the first entries
    /// differ.
    pub ancestor: Option<EntryIx>,
    /// The number of entries that both paths have, including changed ones.
    pub common_count: usize,
    /// Entries with the same id but different content.
    pub changed: Vec<ChangedEntry>,
    /// Entries of the left path only.
    pub only_left: Vec<EntryIx>,
    /// Entries of the right path only.
    pub only_right: Vec<EntryIx>,
}

/// An entry whose content differs between the sides.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChangedEntry {
    /// The entry in the left session.
    pub left: EntryIx,
    /// The entry in the right session.
    pub right: EntryIx,
}

impl Difference {
    /// Whether the paths have the same entries with the same content.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.only_left.is_empty() && self.only_right.is_empty()
    }
}

/// Compares two paths of the same session, both from the root. Such paths have the same entries up
/// to the point where they diverge, and no common entry after it.
pub fn compare_paths(left: &[EntryIx], right: &[EntryIx]) -> Difference {
    let common_count = left
        .iter()
        .zip(right)
        .take_while(|(left, right)| left == right)
        .count();
    Difference {
        ancestor: left[..common_count].last().copied(),
        common_count,
        changed: Vec::new(),
        only_left: left[common_count..].to_vec(),
        only_right: right[common_count..].to_vec(),
    }
}

/// Compares the paths of two sessions. The partner of a left entry is the same entry on the right
/// path; each entry has at most one. An entry is changed if its content differs from its partner's.
pub fn compare_sessions(left: &ComparedPath, right: &ComparedPath) -> io::Result<Difference> {
    let left_digests = entry_digests(left)?;
    let right_digests = entry_digests(right)?;
    let all_partners = find_partners(left, right, &left_digests, &right_digests);
    let partners = partners_in_order(left, &all_partners);

    let mut difference = Difference::default();
    let mut has_partner = vec![false; right.path.len()];
    for (index, &ix) in left.path.iter().enumerate() {
        let Some(partner) = partners[index] else {
            difference.only_left.push(ix);
            continue;
        };
        difference.common_count += 1;
        has_partner[partner] = true;
        if left_digests[index] != right_digests[partner] {
            difference.changed.push(ChangedEntry {
                left: ix,
                right: right.path[partner],
            });
        }
    }
    for (index, &ix) in right.path.iter().enumerate() {
        if !has_partner[index] {
            difference.only_right.push(ix);
        }
    }
    difference.ancestor = find_common_ancestor(left, right, &partners, &difference);
    Ok(difference)
}

/// Returns the last entry of the left path that precedes the first difference on both paths, and so
/// does its partner. `partners` has, for each index of the left path, the index of the partner.
fn find_common_ancestor(
    left: &ComparedPath,
    right: &ComparedPath,
    partners: &[Option<usize>],
    difference: &Difference,
) -> Option<EntryIx> {
    // Each list of differences is in path order, so its first entry is the first on the path.
    let first_changed = difference.changed.first().map(|changed| changed.left);
    let first_only_left = difference.only_left.first().copied();
    let first_only_right = difference.only_right.first().copied();
    let left_end =
        len_before(&left.path, first_changed).min(len_before(&left.path, first_only_left));
    let right_end = len_before(&right.path, first_only_right);

    // The last entry before both ends that has its partner before them, too.
    let last_common = partners[..left_end]
        .iter()
        .rposition(|partner| partner.is_some_and(|partner| partner < right_end))?;
    Some(left.path[last_common])
}

/// Returns, for each entry of the left path, the index of its partner on the right path. This is
/// the entry with the same id or, among entries without a partner by id, one with the same content.
fn find_partners(
    left: &ComparedPath,
    right: &ComparedPath,
    left_digests: &[ContentDigest],
    right_digests: &[ContentDigest],
) -> Vec<Option<usize>> {
    let mut partners = find_partners_by_id(left, right);
    let taken: HashSet<usize> = partners.iter().flatten().copied().collect();

    // By content: the entries of the right path without a partner, in order. If several have the
    // same content, the first on the left is paired with the first on the right, and so on.
    let mut right_by_content: HashMap<ContentDigest, VecDeque<usize>> = HashMap::default();
    for (index, &digest) in right_digests.iter().enumerate() {
        if !taken.contains(&index) {
            let with_same_content = right_by_content.entry(digest).or_default();
            with_same_content.push_back(index);
        }
    }
    for (partner, digest) in partners.iter_mut().zip(left_digests) {
        if partner.is_none()
            && let Some(with_same_content) = right_by_content.get_mut(digest)
        {
            *partner = with_same_content.pop_front();
        }
    }
    partners
}

/// Returns, for each entry of the left path, the index of the entry with the same id on the right
/// path. An entry of the right path is returned only once; of several with the same id, the last.
fn find_partners_by_id(left: &ComparedPath, right: &ComparedPath) -> Vec<Option<usize>> {
    let mut right_by_id: HashMap<&[u8], usize> = HashMap::default();
    for (index, &ix) in right.path.iter().enumerate() {
        right_by_id.insert(right.session.bytes(right.session.entry(ix).id), index);
    }
    let mut partners = Vec::with_capacity(left.path.len());
    for &ix in &left.path {
        let id = left.session.bytes(left.session.entry(ix).id);
        let partner = if id.is_empty() {
            // Two entries are not the same only because neither has an id.
            None
        } else {
            right_by_id.remove(id)
        };
        partners.push(partner);
    }
    partners
}

/// Returns the number of entries of a path before `end`; of all entries if there is no `end`.
fn len_before(path: &[EntryIx], end: Option<EntryIx>) -> usize {
    let Some(end) = end else {
        return path.len();
    };
    let index = path.iter().position(|&ix| ix == end);
    index.unwrap_or(path.len())
}

/// Returns the partners of entries whose order is the same on both sides: any other two entries are
/// not the same entry. As few as possible are left out. Labels and other bookkeeping keep their
/// partners, because a fork moves them to the end.
///
/// `partners` has, for each index of the left path, the index of the partner on the right path.
fn partners_in_order(left: &ComparedPath, partners: &[Option<usize>]) -> Vec<Option<usize>> {
    let may_move = |index: usize| left.session.entry(left.path[index]).kind.is_bookkeeping();
    let mut ordered = Vec::new();
    for (index, &partner) in partners.iter().enumerate() {
        if let Some(partner) = partner
            && !may_move(index)
        {
            ordered.push(PartneredEntry { index, partner });
        }
    }

    let mut partners_in_order = vec![None; partners.len()];
    for index in longest_ascending(&ordered) {
        partners_in_order[index] = partners[index];
    }
    for (index, &partner) in partners.iter().enumerate() {
        if may_move(index) {
            partners_in_order[index] = partner;
        }
    }
    partners_in_order
}

/// An entry of the left path that has a partner.
struct PartneredEntry {
    /// The index of the entry on the left path.
    index: usize,
    /// The index of its partner on the right path.
    partner: usize,
}

/// Returns the left indexes of a longest subsequence of these entries whose partners ascend, from
/// the last to the first. For example, if the partners of entries 0 to 3 are 5, 1, 2, 0: `[2, 1]`.
///
/// This is patience sorting: comparing all pairs of entries would take quadratic time.
fn longest_ascending(entries: &[PartneredEntry]) -> Vec<usize> {
    // At the index `n`: the end of the best subsequence of length `n + 1` so far, as a position in
    // `entries`. Of several, the one whose last partner is lowest is the best, because most entries
    // can continue it. These last partners ascend, so binary search is possible.
    let mut best_ends: Vec<usize> = Vec::new();
    // By position: the position before it in the longest subsequence that ends there.
    let mut predecessors: Vec<Option<usize>> = Vec::with_capacity(entries.len());
    for (position, entry) in entries.iter().enumerate() {
        // The entry continues the longest of these subsequences that ends with a lower partner.
        let continued_len = best_ends.partition_point(|&end| entries[end].partner < entry.partner);
        let predecessor = continued_len.checked_sub(1).map(|index| best_ends[index]);
        predecessors.push(predecessor);
        // It is the lowest end of the length `continued_len + 1`.
        if continued_len == best_ends.len() {
            best_ends.push(position);
        } else {
            best_ends[continued_len] = position;
        }
    }

    let mut indexes = Vec::new();
    let mut next = best_ends.last().copied();
    while let Some(position) = next {
        indexes.push(entries[position].index);
        next = predecessors[position];
    }
    indexes
}

/// A digest of the content of an entry.
type ContentDigest = [u8; 32];

/// Returns a digest of the content of each entry of a path.
fn entry_digests(side: &ComparedPath) -> io::Result<Vec<ContentDigest>> {
    let mut digests = Vec::with_capacity(side.path.len());
    for &ix in &side.path {
        let kind = side.session.entry(ix).kind;
        digests.push(
            side.reader
                .with_entry(ix, |entry| digest_entry(entry, kind))?,
        );
    }
    Ok(digests)
}

/// Returns a digest of the content of an entry. A copy in another file has the same digest:
///
/// - Members are sorted by name, and values are formatted as JavaScript does, because an agent that
///   rewrites a file may change the order and the format.
/// - The id, and the links `parentId`, `fromId` and `firstKeptEntryId` are ignored, because a copy
///   may have others.
/// - The times of labels are ignored, because oh-my-pi's forks set labels again.
fn digest_entry(entry: Raw, kind: Kind) -> ContentDigest {
    let mut members: BTreeMap<Vec<u8>, Raw> = BTreeMap::new();
    for (key, value) in entry.members() {
        let key = string::decode(key.bytes);
        let is_ignored = match key.as_bytes() {
            b"id" | b"parentId" | b"fromId" | b"firstKeptEntryId" => true,
            b"timestamp" => kind == Kind::Label,
            _ => false,
        };
        if !is_ignored {
            // Of duplicate members, the last counts, as in JavaScript.
            members.insert(key.into_bytes(), value);
        }
    }

    let mut digest = Sha256::new();
    for (key, value) in members {
        let value = js::stringify(value);
        for part in [&*key, value.as_bytes()] {
            // The lengths are included so that `ab`, `c` has another digest than `a`, `bc`.
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
    }
    digest.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{LoadOptions, load};
    use crate::session::read::entry_reader::EntryReader;

    fn file(entries: &[(&str, &str)]) -> Vec<u8> {
        let mut text = "{\"type\":\"session\",\"version\":3,\"id\":\"s\"}\n".to_owned();
        let mut parent = "null".to_owned();
        for (id, content) in entries {
            text += &format!(
                "{{\"type\":\"message\",\"id\":\"{id}\",\"parentId\":{parent},\"message\":{{\"role\":\"user\",\"content\":\"{content}\"}}}}\n"
            );
            parent = format!("\"{id}\"");
        }
        text.into_bytes()
    }

    /// Returns the ids of the ancestor, and of the changed, left and right entries.
    fn compared(left: &[(&str, &str)], right: &[(&str, &str)]) -> String {
        let files = [file(left), file(right)];
        let loaded = files
            .each_ref()
            .map(|file| load(file, &LoadOptions::default()).unwrap());
        let reader = [0, 1].map(|at| EntryReader::new(&loaded[at], &files[at]));
        let [left, right] = [0, 1].map(|at| ComparedPath {
            session: &loaded[at],
            path: loaded[at].path(loaded[at].leaf),
            reader: &reader[at],
        });
        let difference = compare_sessions(&left, &right).unwrap();
        let ids = |side: usize, entries: &[EntryIx]| {
            entries
                .iter()
                .map(|&ix| loaded[side].id(ix).to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let changed: Vec<_> = difference
            .changed
            .iter()
            .map(|changed| changed.left)
            .collect();
        let ancestor = ids(0, difference.ancestor.as_slice());
        format!(
            "{ancestor}: ~{} -{} +{}",
            ids(0, &changed),
            ids(0, &difference.only_left),
            ids(1, &difference.only_right)
        )
    }

    #[test]
    fn entries_are_the_same_by_id_or_by_content() {
        let left = [("a", "1"), ("b", "2"), ("c", "3")];
        assert_eq!(compared(&left, &left), "c: ~ - +");
        assert_eq!(
            compared(&left, &[("x", "1"), ("y", "2"), ("z", "3")]),
            "c: ~ - +"
        );
        assert_eq!(compared(&left, &[("a", "1"), ("y", "4")]), "a: ~ -b c +y");
        assert_eq!(compared(&left, &[("a", "1"), ("c", "3")]), "a: ~ -b +");
        assert_eq!(
            compared(&left, &[("a", "1"), ("b", "other"), ("c", "3")]),
            "a: ~b - +"
        );
        assert_eq!(compared(&left, &[]), ": ~ -a b c +");
    }

    #[test]
    fn diff_reports_entries_in_another_order() {
        assert_eq!(
            compared(&[("a", "1"), ("b", "2")], &[("b", "2"), ("a", "1")]),
            ": ~ -a +a"
        );
        assert_eq!(
            compared(&[("a", "1"), ("b", "1")], &[("x", "1")]),
            "a: ~ -b +"
        );
    }
}
