//! Compares two paths: the entries that only one of them has, from the point where they diverge.
//!
//! Within a session, each line is a different entry. Entries of two sessions are the same if they
//! have the same id, or else the same content, as in copies that an agent gave new ids. Links to
//! other entries are ignored, because forks change them.

pub mod context;

use crate::session::Session;
use crate::session::entry::{EntryIx, Kind};
use crate::session::read::entry_reader::EntryReader;
use foldhash::{HashMap, HashSet};
use pisess_json::text::Text;
use pisess_json::{Raw, js, string};
use sha2::{Digest, Sha256};
use std::collections::{BTreeMap, VecDeque};
use std::io;

/// A path to compare.
pub struct Side<'a> {
    /// The session.
    pub session: &'a Session,
    /// The entries, starting at the root.
    pub path: Vec<EntryIx>,
    /// The lines of its entries.
    pub reader: &'a EntryReader<'a>,
}

/// The differences of two paths. Entries are those of the left session, unless stated otherwise.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Difference {
    /// The last entry before the first difference, in the left session; `None` for the root.
    pub ancestor: Option<EntryIx>,
    /// The number of entries that both paths have, including changed ones.
    pub common: usize,
    /// Entries with the same id but different content: on the left and on the right.
    pub changed: Vec<(EntryIx, EntryIx)>,
    /// Entries of the left path only.
    pub only_left: Vec<EntryIx>,
    /// Entries of the right path only.
    pub only_right: Vec<EntryIx>,
}

impl Difference {
    /// Whether there are no differences.
    pub fn is_empty(&self) -> bool {
        self.changed.is_empty() && self.only_left.is_empty() && self.only_right.is_empty()
    }
}

/// Returns the differences of two paths of the same session, which diverge at one point.
pub fn paths(left: &[EntryIx], right: &[EntryIx]) -> Difference {
    let common = left
        .iter()
        .zip(right)
        .take_while(|(left, right)| left == right)
        .count();
    Difference {
        ancestor: left[..common].last().copied(),
        common,
        changed: Vec::new(),
        only_left: left[common..].to_vec(),
        only_right: right[common..].to_vec(),
    }
}

/// Returns the differences of the paths of two sessions.
pub fn sessions(left: &Side, right: &Side) -> io::Result<Difference> {
    let contents = [contents(left)?, contents(right)?];
    let partners = in_order(left, partners(left, right, &contents));
    let is_changed =
        |at: usize| partners[at].is_some_and(|partner| contents[0][at] != contents[1][partner]);
    let mut only_right = vec![true; right.path.len()];
    partners
        .iter()
        .flatten()
        .for_each(|&at| only_right[at] = false);
    let differs = |at: usize| partners[at].is_none() || is_changed(at);
    let first_left = (0..left.path.len())
        .find(|&at| differs(at))
        .unwrap_or(left.path.len());
    let first_right = only_right
        .iter()
        .position(|&is_only| is_only)
        .unwrap_or(right.path.len());
    let is_before = |at: &usize| partners[*at].is_some_and(|partner| partner < first_right);
    let on = |path: &[EntryIx], is_wanted: &dyn Fn(usize) -> bool| {
        path.iter()
            .enumerate()
            .filter(|&(at, _)| is_wanted(at))
            .map(|(_, &ix)| ix)
            .collect::<Vec<_>>()
    };
    Ok(Difference {
        ancestor: (0..first_left)
            .rev()
            .find(is_before)
            .map(|at| left.path[at]),
        common: partners.iter().flatten().count(),
        changed: (0..left.path.len())
            .filter(|&at| is_changed(at))
            .filter_map(|at| Some((left.path[at], right.path[partners[at]?])))
            .collect(),
        only_left: on(&left.path, &|at| partners[at].is_none()),
        only_right: on(&right.path, &|at| only_right[at]),
    })
}

/// Returns for each entry of the left path the index of the same entry on the right, found by id,
/// else by content.
fn partners(left: &Side, right: &Side, contents: &[Vec<[u8; 32]>; 2]) -> Vec<Option<usize>> {
    let mut by_id: HashMap<&[u8], usize> = HashMap::default();
    for (at, &ix) in right.path.iter().enumerate() {
        by_id.insert(right.session.bytes(right.session.entry(ix).id), at);
    }
    let id = |&ix: &EntryIx| left.session.bytes(left.session.entry(ix).id);
    let mut partners: Vec<_> = left
        .path
        .iter()
        .map(|ix| {
            Some(id(ix))
                .filter(|id| !id.is_empty())
                .and_then(|id| by_id.remove(id))
        })
        .collect();
    let mut is_taken = vec![false; right.path.len()];
    partners
        .iter()
        .flatten()
        .for_each(|&at| is_taken[at] = true);
    let mut by_content: HashMap<[u8; 32], VecDeque<usize>> = HashMap::default();
    for at in (0..right.path.len()).filter(|&at| !is_taken[at]) {
        by_content.entry(contents[1][at]).or_default().push_back(at);
    }
    for (partner, content) in partners
        .iter_mut()
        .zip(&contents[0])
        .filter(|(partner, _)| partner.is_none())
    {
        *partner = by_content.get_mut(content).and_then(VecDeque::pop_front);
    }
    partners
}

/// Removes partners whose order differs between the sides: such entries are not the same. Notes are
/// exempt, because a fork moves its labels to the end.
fn in_order(left: &Side, mut partners: Vec<Option<usize>>) -> Vec<Option<usize>> {
    let counts = |at: &usize| !left.session.entry(left.path[*at]).kind.is_bookkeeping();
    // The longest increasing subsequence: `ends` has, for each length, the smallest end; `before`
    // has the predecessor of each element.
    let mut ends: Vec<usize> = Vec::new();
    let mut before = vec![None; partners.len()];
    for at in (0..partners.len()).filter(|at| partners[*at].is_some() && counts(at)) {
        let length = ends.partition_point(|&end| partners[end] < partners[at]);
        before[at] = length.checked_sub(1).map(|shorter| ends[shorter]);
        match ends.get_mut(length) {
            Some(end) => *end = at,
            None => ends.push(at),
        }
    }
    let kept: HashSet<usize> =
        std::iter::successors(ends.last().copied(), |&at| before[at]).collect();
    for at in (0..partners.len()).filter(counts) {
        partners[at] = partners[at].filter(|_| kept.contains(&at));
    }
    partners
}

/// Returns a digest of the content of each entry.
fn contents(side: &Side) -> io::Result<Vec<[u8; 32]>> {
    let mut contents = Vec::with_capacity(side.path.len());
    for &ix in &side.path {
        let kind = side.session.entry(ix).kind;
        contents.push(side.reader.with_entry(ix, |entry| content(entry, kind))?);
    }
    Ok(contents)
}

/// Returns a digest of an entry's members, sorted by name. Values are formatted as JavaScript does,
/// as in a file that an agent rewrote. The times of labels are ignored, because oh-my-pi's forks
/// set labels again.
fn content(line: Raw, kind: Kind) -> [u8; 32] {
    let counts = |key: &Text| match key.as_bytes() {
        b"id" | b"parentId" | b"fromId" | b"firstKeptEntryId" => false,
        b"timestamp" => kind != Kind::Label,
        _ => true,
    };
    let members: BTreeMap<Vec<u8>, Raw> = line
        .members()
        .map(|(key, value)| (string::decode(key.bytes), value))
        .filter(|(key, _)| counts(key))
        .map(|(key, value)| (key.into_bytes(), value))
        .collect();
    let mut digest = Sha256::new();
    for (key, value) in members {
        let value = js::stringify(value);
        for part in [&*key, value.as_bytes()] {
            digest.update((part.len() as u64).to_le_bytes());
            digest.update(part);
        }
    }
    digest.finalize().into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::{Options, load};
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
            .map(|file| load(file, &Options::default()).unwrap());
        let reader = [0, 1].map(|at| EntryReader::new(&loaded[at], &files[at]));
        let [left, right] = [0, 1].map(|at| Side {
            session: &loaded[at],
            path: loaded[at].path(loaded[at].leaf),
            reader: &reader[at],
        });
        let difference = sessions(&left, &right).unwrap();
        let ids = |side: usize, entries: &[EntryIx]| {
            entries
                .iter()
                .map(|&ix| loaded[side].id(ix).to_string())
                .collect::<Vec<_>>()
                .join(" ")
        };
        let changed: Vec<_> = difference.changed.iter().map(|&(left, _)| left).collect();
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
    fn what_changes_its_place_is_not_the_same() {
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
