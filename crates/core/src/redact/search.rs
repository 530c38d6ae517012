//! Searches lines for everything that is to be removed: divides them into strings, decides between
//! finds that overlap, and leaves the search of a single string to `string_search.rs`. A search is
//! not changed by its use, so threads can share it.

mod string_search;

use super::assignments::kind_of_member;
use super::finds::{Finds, TextFinds};
use super::opaque::{self, OpaqueValues, WithoutSignatures};
use super::placeholders;
use super::places::{RangeSet, SecretHit};
use super::prefilter::{NeedleHit, NeedlePrefilter, SearchSet};
use super::rules::is_example;
use super::values::{SecretValue, ValueSearch};
use super::{People, Replacement, Splice};
use pisess_json::string;
use pisess_json::strings::{LineString, Strings};
use pisess_json::text::Text;
use std::iter::Peekable;
use std::ops::Range;
use std::sync::Arc;
use string_search::SecretSources;
#[cfg(test)]
pub(super) use string_search::is_base64_file;

/// The keys of identifiers, types and times. In their values, the rules are not applied; only known
/// values are searched for.
const ID_KEYS: &str =
    "id parentId targetId fromId firstKeptEntryId toolCallId timestamp type responseId";

/// A search for secrets by the rules and by known values, and for everything else to remove.
#[derive(Default)]
pub struct SecretSearch {
    /// Home directories and user names to replace, if requested.
    people: Option<People>,
    keeps_images: bool,
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
    /// whose home directories and names are replaced. Signatures and encrypted texts are found as
    /// well, and also images unless `keeps_images` is set.
    pub fn new(
        values: Vec<SecretValue>,
        people: Option<People>,
        keeps_images: bool,
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
            keeps_images,
            value_search,
            needles,
            is_narrow: false,
        }
    }

    /// Adds values, and makes the search narrow: from now on, only lines that may contain a value,
    /// a home directory or a name are searched.
    pub fn narrow_with(&mut self, more: Vec<SecretValue>) {
        // The automata of the old search are dropped before the new ones are built, because two of
        // them may take many megabytes.
        let SecretSearch {
            people,
            keeps_images,
            value_search,
            ..
        } = std::mem::take(self);
        let values = value_search.into_values_with(more);
        *self = SecretSearch {
            is_narrow: true,
            ..SecretSearch::new(values, people, keeps_images)
        };
    }

    /// Searches each line of `bytes` that has a needle, and calls `visit_line` with the range of
    /// the line, without its newline, and the finds. Lines are visited in order.
    pub fn each_line(&self, bytes: &[u8], visit_line: &mut dyn FnMut(Range<usize>, Finds)) {
        let mut needles = self.find_own_needles(bytes);
        // It is fast to search for the needles of the rules in all lines at once. A narrow search
        // needs them only in a few lines, so it does this below, for each of these lines.
        if !self.is_narrow {
            needles.append(&mut find_rule_needles(bytes));
            needles.sort_by_key(|needle| needle.last_byte);
        }

        let mut remaining = &needles[..];
        while let Some(first) = remaining.first() {
            let range = line_around(bytes, first.last_byte);
            let line = &bytes[range.clone()];
            let count = remaining.partition_point(|needle| needle.last_byte < range.end);
            let (in_this_line, in_later_lines) = remaining.split_at(count);
            remaining = in_later_lines;

            let mut line_needles = in_this_line.to_vec();
            for needle in &mut line_needles {
                // From an offset in `bytes` to an offset in the line.
                needle.last_byte -= range.start;
            }
            if self.is_narrow {
                line_needles.append(&mut find_rule_needles(line));
                line_needles.sort_by_key(|needle| needle.last_byte);
            }

            let finds = self.search_line(line, &line_needles);
            visit_line(range, finds);
        }
    }

    /// Returns the hits of the needles of people and of values in some lines, in order.
    /// [`find_rule_needles`] returns those of the rules.
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
            // A string with many values calls for the same search once.
            match hits.last_mut() {
                Some(last) if hit.is_repeated(last, lines) => *last = hit,
                _ => hits.push(hit),
            }
        });
        hits.append(&mut needles.find_in_lines(lines));
        hits.sort_by_key(|hit| hit.last_byte);
        hits
    }

    /// Whether values are searched for, besides the secrets that the rules find.
    pub fn has_values(&self) -> bool {
        !self.value_search.values.is_empty()
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
    ///
    /// If two finds overlap, only one is kept:
    /// 1. an opaque block, rather than a signature in it;
    /// 2. opaque content, rather than a home directory or a name in it;
    /// 3. opaque content, a home directory or a name, rather than a secret that is inside it;
    /// 4. any other secret, rather than the finds that it overlaps.
    ///
    /// From a malformed line, only secrets are removed.
    pub fn search_line(&self, line: &[u8], needles: &[NeedleHit]) -> Finds {
        let mut searches = SearchSet::default();
        for needle in needles {
            searches |= needle.searches;
        }
        let mut finds = Finds::default();
        if searches.intersects(SearchSet::PLACEHOLDERS) {
            finds.placeholders = placeholders::read_all(line);
        }

        let mut signatures = Vec::new();
        let is_json = self.search_strings(line, needles, searches, &mut signatures, &mut finds);
        if !is_json {
            self.search_malformed(line, searches, &mut finds);
            return finds;
        }

        // Rule 1.
        let opaque = self.find_opaque(line, searches, signatures);
        finds.opaque_count = opaque.count;
        let mut splices = opaque.splices;

        // Rule 2.
        let mut people_splices = self.find_people(line, searches, &splices);
        splices.append(&mut people_splices);

        // This comes before rule 3 drops the secrets in opaque content, because a value that is
        // part of such a secret is not irreplaceable.
        let removed_ranges = RangeSet::from_ranges(splices.iter().map(|splice| &splice.range));
        self.add_irreplaceable(line, &removed_ranges, &mut finds);

        // Rule 3.
        finds.hits.retain(|hit| !removed_ranges.covers(&hit.range));

        // Rule 4.
        let secret_ranges = RangeSet::from_ranges(finds.hits.iter().map(|hit| &hit.range));
        splices.retain(|splice| !secret_ranges.overlaps(&splice.range));
        finds.splices = splices;
        finds
    }

    /// Returns the replacements of opaque content in a line: of opaque blocks, if the needles call
    /// for them, and of those `signatures` that are outside of these blocks.
    fn find_opaque(
        &self,
        line: &[u8],
        searches: SearchSet,
        signatures: Vec<Splice>,
    ) -> OpaqueValues {
        // Escaped letters can hide the needles of any search.
        if !searches.intersects(SearchSet::BLOCKS) && !searches.intersects(SearchSet::ESCAPES) {
            return OpaqueValues {
                count: signatures.len(),
                splices: signatures,
            };
        }
        let mut found = opaque::find_opaque_values(line, self.keeps_images);
        let found_ranges = RangeSet::from_ranges(found.splices.iter().map(|splice| &splice.range));
        for signature in signatures {
            if !found_ranges.overlaps(&signature.range) {
                found.push(signature);
            }
        }
        found
    }

    /// Returns the replacements of home directories and names in a line, outside of opaque content.
    /// Empty if they are not to be replaced, or if the needles do not call for them.
    fn find_people(&self, line: &[u8], searches: SearchSet, opaque: &[Splice]) -> Vec<Splice> {
        let Some(people) = &self.people else {
            return Vec::new();
        };
        // Escaped letters can hide the needles of any search.
        if !searches.intersects(SearchSet::PEOPLE) && !searches.intersects(SearchSet::ESCAPES) {
            return Vec::new();
        }
        let opaque_ranges = RangeSet::from_ranges(opaque.iter().map(|splice| &splice.range));
        let mut splices = people.find_splices(line);
        splices.retain(|splice| !opaque_ranges.overlaps(&splice.range));
        splices
    }

    /// Searches an incomplete or malformed line as one text, including its signatures. The secrets
    /// found in this way replace those in `finds`, which were found in its strings. The examples
    /// are added to those.
    fn search_malformed(&self, line: &[u8], needle_searches: SearchSet, finds: &mut Finds) {
        let mut searches = needle_searches;
        // The needles of rules were not searched for in signatures, so any rule may apply there.
        if searches.intersects(SearchSet::SIGNATURES) {
            searches |= SearchSet::TEXT;
        }
        if !searches.intersects(SearchSet::TEXT) {
            finds.hits.clear();
            return;
        }
        let mut found = self.search_string(line, searches, SecretSources::RulesAndValues);
        finds.examples.append(&mut found.examples);
        finds.hits = found.hits;
    }

    /// Adds the known values that are outside of strings, such as the number in `{"pin":9182}`.
    /// They are irreplaceable, because a placeholder there would not be valid JSON.
    ///
    /// A value is outside of strings if it neither overlaps a secret that was found in one, nor is
    /// in one of `removed_ranges`, which are removed from the line as a whole. A value next to a
    /// digit is part of another number, and is skipped.
    fn add_irreplaceable(&self, line: &[u8], removed_ranges: &RangeSet, finds: &mut Finds) {
        let secret_ranges = RangeSet::from_ranges(finds.hits.iter().map(|hit| &hit.range));
        let mut irreplaceable = Vec::new();
        self.value_search
            .each_occurrence(line, &mut |range, value_index| {
                let follows_digit = line[..range.start].last().is_some_and(u8::is_ascii_digit);
                let precedes_digit = line.get(range.end).is_some_and(u8::is_ascii_digit);
                let is_part_of_number = follows_digit || precedes_digit;
                let is_removed = secret_ranges.overlaps(&range) || removed_ranges.covers(&range);
                if !is_part_of_number && !is_removed {
                    irreplaceable.push((range, value_index));
                }
            });

        // `path_at` needs ascending offsets, which `each_occurrence` guarantees.
        let mut paths = Strings::new(line);
        for (range, value_index) in irreplaceable {
            let SecretValue { kind, bytes } = &self.value_search.values[value_index];
            finds.irreplaceable.push(SecretHit {
                field: paths.path_at(range.start).into(),
                range,
                kind,
                secret: bytes.clone(),
                ..SecretHit::default()
            });
        }
    }

    /// Searches the strings of a line. Adds the replacements of signatures to `signatures`, and
    /// secrets to `finds`, including strings that are secrets because of their key.
    ///
    /// `line_searches` are the searches that all needles of the line call for. Returns whether the
    /// line is valid JSON. If it is not, only the strings before the error were searched.
    fn search_strings(
        &self,
        line: &[u8],
        needles: &[NeedleHit],
        line_searches: SearchSet,
        signatures: &mut Vec<Splice>,
        finds: &mut Finds,
    ) -> bool {
        let may_be_signed = line_searches.intersects(SearchSet::SIGNATURES);
        // Unless letters are escaped, a needle on any level of escapes is also in the raw bytes. So
        // each string is searched only as its own needles call for. Escaped letters are needles
        // themselves, which call for a search of all levels.
        let mut text_needles = needles
            .iter()
            .filter(|needle| needle.searches.intersects(SearchSet::TEXT))
            .peekable();
        // The last key that was read, and whether it may be the name of a secret, so that the
        // strings under it are checked.
        let mut last_key: &[u8] = b"";
        let mut may_be_assigned = false;

        let mut strings = Strings::new(line);
        loop {
            let string = match strings.advance() {
                Ok(Some(string)) => string,
                Ok(None) => return true,
                Err(_) => return false,
            };

            // A signature is removed as a whole, so it is not searched.
            if may_be_signed
                && !string.is_key
                && !string.range.is_empty()
                && opaque::is_signature_key(strings.nearest_key())
            {
                signatures.push(Splice {
                    range: string.range.clone(),
                    replacement: Replacement::Bytes(Vec::new()),
                });
                continue;
            }

            let searches = take_searches_in(&mut text_needles, &string.range);
            if !searches.is_empty() {
                self.add_hits_in_string(&strings, &string, searches, finds);
            }
            if string.is_key {
                last_key = string.raw.bytes;
                may_be_assigned = searches.intersects(SearchSet::ASSIGNMENTS)
                    || searches.intersects(SearchSet::HIDING);
                continue;
            }
            // The last key may be in an earlier item of the array that the string is in, as `a` in
            // `{"api_key":[{"a":1},"…"]}`. The key of the array was not kept, so it is checked.
            // Keys with the same text are told apart by their place in the line.
            let is_under_earlier_key = !std::ptr::eq(strings.nearest_key(), last_key);
            if may_be_assigned || is_under_earlier_key {
                add_member_hit(&strings, &string, finds);
            }
        }
    }

    /// Adds the secrets in `string`, the string that `strings` has just read, to `finds`.
    /// `searches` are the searches that the needles in the string call for.
    fn add_hits_in_string(
        &self,
        strings: &Strings,
        string: &LineString,
        searches: SearchSet,
        finds: &mut Finds,
    ) {
        let raw = string.raw.bytes;
        // The rules are not applied to ids and times, because they may take them for secrets.
        let is_id = !string.is_key && is_id_member(strings.nearest_key(), raw);
        let sources = if is_id {
            SecretSources::ValuesOnly
        } else {
            SecretSources::RulesAndValues
        };
        let mut found = self.search_string(raw, searches, sources);
        finds.examples.append(&mut found.examples);
        if found.hits.is_empty() {
            return;
        }

        let field: Arc<str> = strings.path().into();
        let string_start = string.range.start;
        for hit in &mut found.hits {
            hit.field = field.clone();
            hit.range = string_start + hit.range.start..string_start + hit.range.end;
        }
        // A line with many secrets has most of them in one string, so their list is not copied.
        if finds.hits.is_empty() {
            finds.hits = found.hits;
        } else {
            finds.hits.append(&mut found.hits);
        }
    }
}

/// Returns the searches that a range of the line needs because of its needles. Consumes these
/// needles, and those before the range, from `needles`, which are in order.
fn take_searches_in<'n>(
    needles: &mut Peekable<impl Iterator<Item = &'n NeedleHit>>,
    range: &Range<usize>,
) -> SearchSet {
    let mut searches = SearchSet::default();
    while let Some(needle) = needles.next_if(|needle| needle.last_byte < range.end) {
        // Needles before the range are in signatures or between strings, so they do not count.
        if needle.last_byte >= range.start {
            searches |= needle.searches;
        }
    }
    searches
}

/// Adds `string`, the string that `strings` has just read, as a secret, if its key and its text
/// show that it is one, as in `"api_key":"x9Qd81LmP2"`. Does nothing if a secret was already found
/// in the string, or if it is an example from documentation.
fn add_member_hit(strings: &Strings, string: &LineString, finds: &mut Finds) {
    // Secrets are added in the order of the line, so only the last can be in this string.
    let has_hit = finds
        .hits
        .last()
        .is_some_and(|hit| string.range.start < hit.range.end);
    let key = string::decode(strings.nearest_key());
    let value = string.raw.bytes;
    if has_hit || is_example(value) {
        return;
    }
    let Some(kind) = kind_of_member(key.as_bytes(), value) else {
        return;
    };
    finds.hits.push(SecretHit {
        field: strings.path().into(),
        range: string.range.clone(),
        kind,
        name: key.to_string_lossy().into(),
        secret: value.into(),
    });
}

/// Returns the hits of the needles of all rules in some lines, in order, except those in
/// signatures. Of repeated hits, only the last is returned.
fn find_rule_needles(lines: &[u8]) -> Vec<NeedleHit> {
    let searched = WithoutSignatures::new(lines);
    let mut hits = NeedlePrefilter::for_rules().find_in_lines(&searched.bytes);
    searched.restore_offsets(hits.iter_mut().map(|hit| &mut hit.last_byte));
    // Removes a hit that repeats the one before, after moving that one to its place.
    hits.dedup_by(|hit, last| {
        let is_repeated = hit.is_repeated(last, lines);
        if is_repeated {
            last.last_byte = hit.last_byte;
        }
        is_repeated
    });
    hits
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

/// The maximum length of a string that is an identifier, a type or a time.
const LONGEST_ID: usize = 80;

/// Whether a string is an identifier, a type or a time, by its key and its length.
pub(super) fn is_id_member(key: &[u8], value: &[u8]) -> bool {
    value.len() <= LONGEST_ID && ID_KEYS.split(' ').any(|name| key == name.as_bytes())
}
