//! Sets of ranges of a line that do not overlap, such as those of its secrets.
//!
//! A line may have tens of thousands of secrets, so the sets are sorted, and a range is not
//! compared with all others.

use super::rules::is_contextual;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

/// A set of ranges that do not overlap.
#[derive(Debug, Default)]
pub struct RangeSet {
    /// The end of each range, by its start.
    ends: BTreeMap<usize, usize>,
}

impl RangeSet {
    /// Returns the set of these ranges.
    pub fn from_ranges<'a>(ranges: impl Iterator<Item = &'a Range<usize>>) -> RangeSet {
        let mut set = RangeSet::default();
        for range in ranges {
            set.insert(range);
        }
        set
    }

    /// Adds a range, which must not overlap another one.
    pub fn insert(&mut self, range: &Range<usize>) {
        self.ends.insert(range.start, range.end);
    }

    /// Whether any range of the set overlaps this one.
    pub fn overlaps(&self, range: &Range<usize>) -> bool {
        let before = self.ends.range(..range.end).next_back();
        before.is_some_and(|(start, end)| range.start < *end && *start < range.end)
    }

    /// Whether any range of the set contains this one.
    pub fn covers(&self, range: &Range<usize>) -> bool {
        let before = self.ends.range(..=range.start).next_back();
        before.is_some_and(|(_, end)| range.end <= *end)
    }
}

/// A secret, before it is numbered. A line may have tens of thousands, so texts that several of
/// them have are shared.
#[derive(Clone, Debug, Default)]
pub struct SecretHit {
    /// The path of the string that contains the secret; empty for a malformed line.
    pub field: Arc<str>,
    /// The range of the secret in the line.
    pub range: Range<usize>,
    pub kind: &'static str,
    /// The name to which the secret is assigned; empty if it is recognized by its shape.
    pub name: Arc<str>,
    /// The text of the secret, with all escapes decoded.
    pub secret: Arc<[u8]>,
}

/// The secrets that were found in a string so far, which do not overlap.
#[derive(Debug)]
pub struct SecretHits<'a> {
    /// The string as written, with escapes.
    raw: &'a [u8],
    /// The secrets, in the order of the search. The range of one that was merged into another is
    /// empty.
    hits: Vec<SecretHit>,
    /// For the start of each range, the index in `hits`.
    index_by_start: BTreeMap<usize, usize>,
    /// The example keys from documentation, which are kept.
    pub examples: BTreeSet<Vec<u8>>,
}

/// The result of removing the secrets that overlap a range.
struct OverlappingHits {
    /// The smallest range that contains the range and all removed secrets.
    merged_range: Range<usize>,
    /// The index of the removed secret that was found first; `None` if there was none.
    earliest: Option<usize>,
}

impl<'a> SecretHits<'a> {
    /// Returns an empty set for the secrets of this string.
    pub fn new(raw: &'a [u8]) -> SecretHits<'a> {
        SecretHits {
            raw,
            hits: Vec::new(),
            index_by_start: BTreeMap::new(),
            examples: BTreeSet::new(),
        }
    }

    /// Whether no secret was added.
    pub fn is_empty(&self) -> bool {
        self.hits.is_empty()
    }

    /// Whether [`SecretHits::add`] would leave out a secret with this range, because it is within
    /// one that was added before.
    pub fn covers(&self, range: &Range<usize>) -> bool {
        self.is_within_known(&extend_to_whole_escapes(self.raw, range))
    }

    /// Returns a name for the next secret. It is shared with the last secret if that has the same
    /// name, because a list of secrets often has only one name.
    pub fn share_name(&self, name: &str) -> Arc<str> {
        match self.hits.last() {
            Some(last) if &*last.name == name => last.name.clone(),
            _ => name.into(),
        }
    }

    /// Adds a secret, unless it is within one that was found earlier. If it overlaps others, they
    /// are merged, so that no part of a secret remains. The merged secret has the kind and the text
    /// of the one that was found first.
    ///
    /// If the first one is of a contextual kind, only a part of it may have been found. If the new
    /// secret then covers all others, the merged secret gets its text.
    pub fn add(&mut self, new_hit: SecretHit) {
        let range = extend_to_whole_escapes(self.raw, &new_hit.range);
        if range.is_empty() || self.is_within_known(&range) {
            return;
        }

        let overlapping = self.remove_overlapping(&range);
        let merged_range = overlapping.merged_range;
        let index = match overlapping.earliest {
            Some(index) => {
                let first_hit = &mut self.hits[index];
                let covers_all = merged_range == range;
                if covers_all && is_contextual(first_hit.kind) {
                    first_hit.secret = new_hit.secret;
                }
                index
            }
            // Nothing overlaps it.
            None => {
                self.hits.push(new_hit);
                self.hits.len() - 1
            }
        };
        self.index_by_start.insert(merged_range.start, index);
        self.hits[index].range = merged_range;
    }

    /// Whether a range is within a secret that was added before.
    fn is_within_known(&self, range: &Range<usize>) -> bool {
        // Secrets do not overlap, so only the last one that begins before the end of the range can
        // contain it.
        match self.index_by_start.range(..range.end).next_back() {
            Some((_, &index)) => {
                let known = &self.hits[index].range;
                known.start <= range.start && range.end <= known.end
            }
            None => false,
        }
    }

    /// Removes the secrets that overlap a range, from the last to the first. Returns the smallest
    /// range that contains all of them, and which of them was found first.
    fn remove_overlapping(&mut self, range: &Range<usize>) -> OverlappingHits {
        let Range { mut start, mut end } = range.clone();
        let mut earliest: Option<usize> = None;
        // The last hit that begins before the end. The ends of hits are in the order of their
        // starts, so if this one ends before the start, all hits before it do, too.
        while let Some((&hit_start, &index)) = self.index_by_start.range(..end).next_back() {
            // The hit stays in the list, because removing it would change the indexes of others.
            // `finish` drops hits with an empty range.
            let hit_range = &mut self.hits[index].range;
            if hit_range.end <= start {
                break;
            }
            start = start.min(hit_range.start);
            end = end.max(hit_range.end);
            *hit_range = 0..0;
            self.index_by_start.remove(&hit_start);
            // Hits are listed in the order in which they were found.
            earliest = Some(earliest.map_or(index, |earliest| earliest.min(index)));
        }
        OverlappingHits {
            merged_range: start..end,
            earliest,
        }
    }

    /// Returns the secrets in the order of their ranges.
    pub fn finish(self) -> Vec<SecretHit> {
        let mut hits = self.hits;
        hits.retain(|hit| !hit.range.is_empty());
        // No two of them have the same start.
        hits.sort_unstable_by_key(|hit| hit.range.start);
        hits.shrink_to_fit();
        hits
    }
}

/// Extends a range at both ends, so that it does not cut a JSON escape.
fn extend_to_whole_escapes(raw: &[u8], range: &Range<usize>) -> Range<usize> {
    let start = escape_around(raw, range.start).map_or(range.start, |escape| escape.start);
    let end = escape_around(raw, range.end).map_or(range.end, |escape| escape.end);
    start..end
}

/// Returns the range of the escape that a cut at this offset would split: in `a\n`, 1 to 3 for the
/// offset 2. `None` if the offset is between two characters.
fn escape_around(raw: &[u8], offset: usize) -> Option<Range<usize>> {
    // An escape that begins before this ends at the offset or before.
    let lowest_start = offset.saturating_sub(LONGEST_ESCAPE - 1);
    let start = lowest_start + memchr::memrchr(b'\\', &raw[lowest_start..offset])?;
    let (up_to_backslash, after_backslash) = raw.split_at(start + 1);
    // Of an even number of backslashes, the last is the second character of the escape `\\`, so it
    // does not begin an escape.
    let backslashes = up_to_backslash
        .iter()
        .rev()
        .take_while(|byte| **byte == b'\\')
        .count();
    if backslashes % 2 == 0 {
        return None;
    }

    let escape_len = if after_backslash.starts_with(b"u") {
        LONGEST_ESCAPE
    } else {
        br"\n".len()
    };
    let end = start + escape_len;
    let is_cut_off = end > raw.len();
    if is_cut_off || offset >= end {
        return None;
    }
    Some(start..end)
}

/// The length of an escape such as `\u0009`. All others have two bytes.
const LONGEST_ESCAPE: usize = 6;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_escape_is_cut() {
        let raw = br"a\tb\\c\u0009d\\\n";
        let places: Vec<_> = (0..=raw.len())
            .filter_map(|at| escape_around(raw, at))
            .collect();
        let expected = [
            1..3,
            4..6,
            7..13,
            7..13,
            7..13,
            7..13,
            7..13,
            14..16,
            16..18,
        ];
        assert_eq!(places, expected);
    }
}
