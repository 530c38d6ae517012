//! Ranges of a line that do not overlap, such as those of its secrets.
//!
//! A line may have tens of thousands of secrets, so none is compared with all others.

use super::rules::is_contextual;
use super::search::Hit;
use std::collections::BTreeMap;
use std::ops::Range;

/// Some ranges, none of which overlap.
#[derive(Debug, Default)]
pub struct Places {
    /// The end of each range, by its start.
    ends: BTreeMap<usize, usize>,
}

impl Places {
    /// Returns these ranges.
    pub fn of<'a>(ranges: impl Iterator<Item = &'a Range<usize>>) -> Places {
        let mut places = Places::default();
        for range in ranges {
            places.add(range);
        }
        places
    }

    /// Adds a range that does not overlap another one.
    pub fn add(&mut self, range: &Range<usize>) {
        self.ends.insert(range.start, range.end);
    }

    /// Whether any of them overlaps this one.
    pub fn overlap(&self, range: &Range<usize>) -> bool {
        let before = self.ends.range(..range.end).next_back();
        before.is_some_and(|(start, end)| range.start < *end && *start < range.end)
    }

    /// Whether any of them contains this one.
    pub fn contain(&self, range: &Range<usize>) -> bool {
        let before = self.ends.range(..=range.start).next_back();
        before.is_some_and(|(_, end)| range.end <= *end)
    }
}

/// The secrets found in a string so far, none of which overlap.
#[derive(Debug, Default)]
pub struct Hits {
    /// The secrets, by the starts of their ranges.
    all: BTreeMap<usize, Numbered>,
    /// The number of secrets that were put so far.
    count: usize,
}

#[derive(Debug)]
struct Numbered {
    /// Its number in the order in which they were found.
    number: usize,
    hit: Hit,
}

impl Hits {
    /// Adds a secret, unless an earlier form or an earlier rule found it. If it overlaps others,
    /// they become one, with the kind of the first: no part of a secret may remain.
    ///
    /// What is recognized by its surroundings may have been found in part. Then the whole is the
    /// secret.
    pub fn put(&mut self, new: Hit) {
        let range = new.range.clone();
        if range.is_empty() {
            return;
        }
        let mut merged = range.clone();
        let mut first: Option<Numbered> = None;
        while let Some((&start, before)) = self.all.range(..merged.end).next_back() {
            let other = &before.hit.range;
            if other.end <= merged.start {
                break;
            }
            if other.start <= range.start && range.end <= other.end {
                return;
            }
            merged = merged.start.min(other.start)..merged.end.max(other.end);
            let Some(other) = self.all.remove(&start) else {
                break;
            };
            if first
                .as_ref()
                .is_none_or(|first| other.number < first.number)
            {
                first = Some(other);
            }
        }
        let (number, mut hit) = match first {
            Some(first) => (first.number, first.hit),
            None => (self.count, new.clone()),
        };
        if merged == range && is_contextual(hit.kind) {
            hit.secret = new.secret;
        }
        self.count += 1;
        hit.range = merged.clone();
        self.all.insert(merged.start, Numbered { number, hit });
    }

    /// Returns the secrets in the order of their ranges.
    pub fn finish(self) -> Vec<Hit> {
        self.all
            .into_values()
            .map(|numbered| numbered.hit)
            .collect()
    }
}
