//! The shortest prefix of each id that no other id of the session has.

use super::Session;
use super::labels::Labels;
use super::reference::{SHORTEST_PREFIX, is_reference_form};
use foldhash::HashSet;
use pisess_json::text::Text;

/// The ids of a session in order. Ids with a common prefix are neighbours in this order, so only
/// the neighbours of an id decide how much of it is unique.
#[derive(Debug, Default)]
pub struct UniquePrefixes<'a> {
    sorted: Vec<SortedId<'a>>,
    /// The labels of the session. A reference that is both a label and a prefix of an id names the
    /// labelled entry.
    labels: HashSet<Text<'a>>,
}

/// An id, with its first 8 bytes as a number, which decides most comparisons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SortedId<'a> {
    head: u64,
    id: &'a [u8],
}

impl<'a> SortedId<'a> {
    /// Prepares an id for comparison. Big-endian, so that numbers compare as the bytes do; a
    /// shorter id is filled with zeros.
    fn new(id: &'a [u8]) -> Self {
        let mut head = [0; 8];
        let head_len = id.len().min(head.len());
        head[..head_len].copy_from_slice(&id[..head_len]);
        SortedId {
            head: u64::from_be_bytes(head),
            id,
        }
    }
}

impl<'a> UniquePrefixes<'a> {
    /// Collects the ids of a session, of which prefixes are taken, and its labels: a prefix that is
    /// also a label would name the labelled entry.
    pub fn new(session: &'a Session) -> UniquePrefixes<'a> {
        let ids = session
            .entry_indexes()
            .map(|ix| session.bytes(session.entry(ix).id));
        let mut label_names = HashSet::default();
        for (_, change) in Labels::new(session).iter() {
            label_names.insert(session.text(change.name));
        }
        UniquePrefixes {
            labels: label_names,
            ..UniquePrefixes::from_ids(ids)
        }
    }

    /// Sorts ids. Equal ids count as one. There are no labels that a prefix has to avoid.
    pub fn from_ids(ids: impl Iterator<Item = &'a [u8]>) -> UniquePrefixes<'a> {
        let mut sorted: Vec<SortedId> = ids.map(SortedId::new).collect();
        sorted.sort_unstable();
        sorted.dedup();
        UniquePrefixes {
            sorted,
            labels: HashSet::default(),
        }
    }

    /// Whether `id` is one of the ids.
    pub fn contains(&self, id: &Text) -> bool {
        self.sorted
            .binary_search(&SortedId::new(id.as_bytes()))
            .is_ok()
    }

    /// Returns the length, in bytes, of the shortest prefix that names the entry with this id,
    /// which must be one of the session. The prefix is not shorter than a reference may be, and is
    /// neither a label nor another form of reference. Without such a prefix, returns the length of
    /// the whole id.
    pub fn prefix_len(&self, id: &Text) -> usize {
        let shared_len = self.len_shared_with_another(id.as_bytes());
        let shown = id.to_string_lossy();
        let mut char_count = 0;
        for (start, c) in shown.char_indices() {
            char_count += 1;
            let end = start + c.len_utf8();
            let is_long_enough = end > shared_len && char_count >= SHORTEST_PREFIX;
            if is_long_enough && !self.has_other_meaning(&shown[..end]) {
                return end;
            }
        }
        id.as_bytes().len()
    }

    /// Returns the length of the longest prefix of an id that another id has, too.
    fn len_shared_with_another(&self, id: &[u8]) -> usize {
        let index = match self.sorted.binary_search(&SortedId::new(id)) {
            Ok(index) => index,
            // Not expected, because the id is one of the session.
            Err(insert_index) => insert_index,
        };
        // The ids are sorted, so a neighbour shares the longest prefix with this one.
        let before = self.sorted[..index].last();
        let after = self.sorted.get(index + 1);
        let shared_len_with = |neighbour: Option<&SortedId>| match neighbour {
            Some(neighbour) => common_prefix_len(id, neighbour.id),
            None => 0,
        };
        shared_len_with(before).max(shared_len_with(after))
    }

    /// Whether a reference that is a prefix of an id would be read as something else.
    fn has_other_meaning(&self, prefix: &str) -> bool {
        self.labels.contains(&Text::from(prefix)) || is_reference_form(prefix)
    }
}

/// Returns the length of the longest common prefix of two ids, in bytes.
fn common_prefix_len(one: &[u8], other: &[u8]) -> usize {
    let pairs = one.iter().zip(other);
    pairs.take_while(|(byte, other)| byte == other).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prefix_is_as_long_as_no_other_id_has_it() {
        let ids = [
            "abcd1234",
            "abcd1299",
            "abcd1299",
            "abce0000",
            "f0",
            "abcd",
            "root0001",
            "zürich",
            "日本語です",
        ];
        let prefixes = UniquePrefixes::from_ids(ids.iter().map(|id| id.as_bytes()));
        let shown = ids.map(|id| &id[..prefixes.prefix_len(&Text::from(id))]);
        assert_eq!(
            shown,
            [
                "abcd123",
                "abcd129",
                "abcd129",
                "abce",
                "f0",
                "abcd",
                "root0",
                "züri",
                "日本語で"
            ]
        );
    }
}
