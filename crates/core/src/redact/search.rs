//! Searches lines for everything that is to be removed: finds the lines that may have any of it,
//! and leaves the search of a line to `line_search.rs`, and of a string in it to
//! `string_search.rs`. A search is not changed by its use, so threads can share it.

mod line_search;
mod string_search;

use super::People;
use super::finds::{Finds, TextFinds};
use super::opaque::{OpaqueContent, WithoutSignatures};
use super::prefilter::{NeedleHit, NeedlePrefilter, SearchSet};
use super::values::{SecretValue, ValueSearch};
use line_search::LineSearch;
#[cfg(test)]
pub(super) use line_search::is_id_member;
use pisess_json::string;
use pisess_json::text::Text;
use std::ops::Range;
pub use string_search::SecretSources;
#[cfg(test)]
pub(super) use string_search::is_base64_file;

/// A search for secrets by the rules and by known values, and for everything else to remove.
#[derive(Default)]
pub struct SecretSearch {
    /// Home directories and user names to replace, if requested.
    people: Option<People>,
    opaque: OpaqueContent,
    /// By what secrets are recognized. Of ids and signatures, only values are, in any case.
    sources: SecretSources,
    /// The known values: those that the user gave, or that were found elsewhere.
    value_search: ValueSearch,
    /// The prefilter for people, and for values without a window. `None` if there are neither
    /// people nor values.
    needles: Option<NeedlePrefilter>,
    /// Whether the search is narrow: only lines that may contain people or values are searched, but
    /// these with the rules as well.
    is_narrow: bool,
}

impl SecretSearch {
    /// Returns a search for secrets by the rules, for these values and, if given, for `people`,
    /// whose home directories and names are replaced. Signatures, encrypted texts and images are
    /// found as well, unless `opaque` keeps them.
    pub(super) fn new(
        values: Vec<SecretValue>,
        people: Option<People>,
        opaque: OpaqueContent,
    ) -> SecretSearch {
        let value_search = ValueSearch::new(values);

        // Without values and people, the prefilter of the rules is enough.
        let needles = if value_search.values.is_empty() && people.is_none() {
            None
        } else {
            let mut literals = Vec::new();
            for needle in &value_search.needles {
                literals.push((needle.as_slice(), SearchSet::VALUES));
            }
            for needle in people.iter().flat_map(|people| &people.needles) {
                literals.push((needle.as_slice(), SearchSet::PEOPLE));
            }
            Some(NeedlePrefilter::new(literals.into_iter()))
        };

        SecretSearch {
            people,
            opaque,
            value_search,
            needles,
            ..SecretSearch::default()
        }
    }

    /// Returns a search for these values alone, and not for what the rules recognize.
    pub(super) fn for_values_only(values: Vec<SecretValue>) -> SecretSearch {
        SecretSearch {
            sources: SecretSources::ValuesOnly,
            ..SecretSearch::new(values, None, OpaqueContent::Keep)
        }
    }

    /// Whether the rules are applied.
    pub fn applies_rules(&self) -> bool {
        self.sources == SecretSources::RulesAndValues
    }

    /// Adds values, and makes the search narrow: from now on, only lines that may contain a value,
    /// a home directory or a name are searched.
    pub fn narrow_with(&mut self, more: Vec<SecretValue>) {
        // The automata of the old search are dropped before the new ones are built, because two of
        // them may take many megabytes.
        let SecretSearch {
            people,
            opaque,
            sources,
            value_search,
            ..
        } = std::mem::take(self);
        let values = value_search.into_values_with(more);
        *self = SecretSearch {
            sources,
            is_narrow: true,
            ..SecretSearch::new(values, people, opaque)
        };
    }

    /// Searches each line of `bytes` that has a needle, and calls `visit_line` with the range of
    /// the line, without its newline, and the finds. Lines are visited in order.
    ///
    /// A needle is a literal that is in each line with a secret of some kind, such as `ghp_` for a
    /// token of GitHub. Most lines have none, and are not searched.
    pub fn each_line(&self, bytes: &[u8], visit_line: &mut dyn FnMut(Range<usize>, Finds)) {
        let mut needles = self.find_own_needles(bytes);
        // It is fast to search for the needles of the rules in all lines at once. A narrow search
        // needs them only in a few lines, so `complete_needles` finds them there.
        if !self.is_narrow {
            needles.append(&mut find_rule_needles(bytes));
            needles.sort_by_key(|needle| needle.last_byte);
        }

        let mut remaining = &needles[..];
        while let Some(first) = remaining.first() {
            let line_range = line_around(bytes, first.last_byte);
            let count = remaining.partition_point(|needle| needle.last_byte < line_range.end);
            let (in_this_line, in_later_lines) = remaining.split_at(count);
            remaining = in_later_lines;

            let line = &bytes[line_range.clone()];
            let line_needles = self.complete_needles(line, line_range.start, in_this_line);
            let finds = self.search_line(line, &line_needles);
            visit_line(line_range, finds);
        }
    }

    /// Returns all needles in a line, with offsets from its start. `found` are the needles in the
    /// line that a search of several lines has found. Their offsets are from the start of these
    /// lines, and `line_start` is the offset of the line there.
    fn complete_needles(
        &self,
        line: &[u8],
        line_start: usize,
        found: &[NeedleHit],
    ) -> Vec<NeedleHit> {
        let mut needles = found.to_vec();
        for needle in &mut needles {
            needle.last_byte -= line_start;
        }
        if self.is_narrow {
            needles.append(&mut find_rule_needles(line));
            needles.sort_by_key(|needle| needle.last_byte);
        }
        needles
    }

    /// Returns the hits of the needles of people and of values in some lines, in order.
    /// [`find_rule_needles`] finds the needles of the rules.
    fn find_own_needles(&self, lines: &[u8]) -> Vec<NeedleHit> {
        let Some(needles) = &self.needles else {
            return Vec::new();
        };
        let mut hits: Vec<NeedleHit> = Vec::new();
        self.value_search.each_window(lines, &mut |last_byte| {
            let hit = NeedleHit {
                last_byte,
                searches: SearchSet::VALUES,
            };
            push_needle_hit(&mut hits, hit, lines);
        });
        hits.append(&mut needles.find_in_lines(lines));
        hits.sort_by_key(|hit| hit.last_byte);
        hits
    }

    /// Whether values are searched for, besides the secrets that the rules find.
    pub fn has_values(&self) -> bool {
        !self.values().is_empty()
    }

    /// Returns the known values, to which the indexes in [`Finds::value_indexes`] refer.
    pub fn values(&self) -> &[SecretValue] {
        &self.value_search.values
    }

    /// Searches a text that is not a line, by making it a line that consists of one JSON string.
    /// Returns `None` if there is nothing to remove.
    pub fn search_text(&self, text: &str) -> Option<TextFinds> {
        if self.needed_searches(text.as_bytes()).is_empty() {
            return None;
        }

        let line = string::encode_to_vec(&Text::from(text));
        let mut line_finds = Finds::default();
        // There is one line, because the line breaks of the text are escaped in it.
        self.each_line(&line, &mut |_range, finds| line_finds = finds);
        if line_finds.is_clean() {
            return None;
        }
        Some(TextFinds {
            line,
            finds: line_finds,
        })
    }

    /// Returns the searches that the needles in a text call for.
    fn needed_searches(&self, text: &[u8]) -> SearchSet {
        let mut searches = NeedlePrefilter::for_rules().needed_searches(text);
        if let Some(needles) = &self.needles {
            searches |= needles.needed_searches(text);
            self.value_search
                .each_window(text, &mut |_| searches |= SearchSet::VALUES);
        }
        searches
    }

    /// Searches a line, given without its newline. `needles` are the hits of needles in the line,
    /// in order, with offsets from the start of the line.
    pub fn search_line(&self, line: &[u8], needles: &[NeedleHit]) -> Finds {
        LineSearch::new(self, line, needles).run(needles)
    }
}

/// Returns the hits of the needles of all rules in some lines, in order, except those in
/// signatures. Of repeated hits, only the last is returned.
fn find_rule_needles(lines: &[u8]) -> Vec<NeedleHit> {
    let searched = WithoutSignatures::new(lines);
    let mut hits = Vec::new();
    for hit in NeedlePrefilter::for_rules().find_in_lines(&searched.bytes) {
        let last_byte = searched.offset_in_lines(hit.last_byte);
        push_needle_hit(&mut hits, NeedleHit { last_byte, ..hit }, lines);
    }
    hits
}

/// Adds a hit to a list of hits in order. A hit that repeats the last one takes its place: a string
/// with many hits calls for the same search once.
fn push_needle_hit(hits: &mut Vec<NeedleHit>, hit: NeedleHit, lines: &[u8]) {
    match hits.last_mut() {
        Some(last) if hit.is_repeated(last, lines) => *last = hit,
        _ => hits.push(hit),
    }
}

/// Returns the range of the line around an offset, without its newline.
fn line_around(bytes: &[u8], at: usize) -> Range<usize> {
    let start = match memchr::memrchr(b'\n', &bytes[..at]) {
        Some(newline) => newline + 1,
        None => 0,
    };
    let end = match memchr::memchr(b'\n', &bytes[at..]) {
        Some(distance) => at + distance,
        None => bytes.len(),
    };
    start..end
}
