//! Searches one line: divides it into strings, and decides between finds that overlap.

use super::SecretSearch;
use super::string_search::{SecretSources, StringSearch};
use crate::redact::assignments::kind_of_member;
use crate::redact::finds::Finds;
use crate::redact::opaque::{self, OpaqueContent, OpaqueValues};
use crate::redact::placeholders;
use crate::redact::places::{RangeSet, SecretHit};
use crate::redact::prefilter::{NeedleHit, SearchSet};
use crate::redact::rules::is_example;
use crate::redact::values::{Occurrence, SecretValue};
use crate::redact::{Replacement, Splice};
use pisess_json::strings::{LineString, Strings};
use pisess_json::{Malformed, string};
use std::ops::Range;
use std::sync::Arc;

/// The keys of identifiers, types and times. In their values, the rules are not applied; only known
/// values are searched for.
const ID_KEYS: &str =
    "id parentId targetId fromId firstKeptEntryId toolCallId timestamp type responseId";

/// The search of one line.
pub(super) struct LineSearch<'a> {
    search: &'a SecretSearch,
    /// The line, without its newline.
    line: &'a [u8],
    /// The searches that all needles of the line call for.
    searches: SearchSet,
    /// The strings of the line. The last that was read is the current one.
    strings: Strings<'a>,
    /// The replacements of the signatures that were read so far.
    signatures: Vec<Splice>,
    /// Everything else that was found so far.
    finds: Finds,
}

impl<'a> LineSearch<'a> {
    pub(super) fn new(search: &'a SecretSearch, line: &'a [u8], needles: &[NeedleHit]) -> Self {
        let mut searches = SearchSet::default();
        for needle in needles {
            searches |= needle.searches;
        }
        LineSearch {
            search,
            line,
            searches,
            strings: Strings::new(line),
            signatures: Vec::new(),
            finds: Finds::default(),
        }
    }

    /// Searches the line. `needles` are the hits of needles in it, in order.
    ///
    /// If two finds overlap, only one is kept:
    /// 1. an opaque block, rather than a signature in it;
    /// 2. opaque content, rather than a home directory or a name in it;
    /// 3. opaque content, a home directory or a name, rather than a secret that is inside it;
    /// 4. any other secret, rather than the finds that it overlaps.
    ///
    /// From a malformed line, only secrets are removed.
    pub(super) fn run(mut self, needles: &[NeedleHit]) -> Finds {
        if self.searches.intersects(SearchSet::PLACEHOLDERS) {
            self.finds.placeholders = placeholders::read_all(self.line);
        }
        let is_json = self.search_strings(needles).is_ok();
        if !is_json {
            self.search_malformed();
            return self.finds;
        }

        // Rule 1: opaque blocks take precedence over the signatures in them.
        let signatures = std::mem::take(&mut self.signatures);
        let opaque = self.find_opaque(signatures);
        self.finds.opaque_count = opaque.count;
        let mut splices = opaque.splices;
        let kept_ranges = opaque.kept;

        // Rule 2: opaque content takes precedence over the people in it.
        let mut people_splices = self.find_people(&splices);
        splices.append(&mut people_splices);

        // This comes before rule 3 drops the secrets in opaque content, because a value that is
        // part of such a secret is not irreplaceable.
        let removed_ranges = splices.iter().map(|splice| &splice.range);
        let excluded_ranges = RangeSet::from_ranges(removed_ranges.chain(&kept_ranges));
        self.add_irreplaceable(&excluded_ranges);

        // Rule 3: secrets inside of what is removed anyway are dropped.
        let hits = &mut self.finds.hits;
        hits.retain(|hit| !excluded_ranges.covers(&hit.range));

        // Rule 4: the remaining secrets take precedence over all that they overlap.
        let secret_ranges = RangeSet::from_ranges(hits.iter().map(|hit| &hit.range));
        splices.retain(|splice| !secret_ranges.overlaps(&splice.range));
        self.finds.splices = splices;
        self.finds
    }

    /// Whether the line needs a search. Before a line is searched, a filter looks for needles in
    /// it: short texts without which a search cannot find anything, such as `/home/`. Escaped
    /// letters (`\u0068ome`) can hide the needles of any search, so a line with some needs all.
    fn calls_for(&self, search: SearchSet) -> bool {
        let has_needle = self.searches.intersects(search);
        let may_hide_needle = self.searches.intersects(SearchSet::ESCAPES);
        has_needle || may_hide_needle
    }

    /// Searches the strings of the line, and finds its signatures.
    ///
    /// # Errors
    /// [`Malformed`] if the line is not valid JSON. Only the strings before the error were searched
    /// then.
    fn search_strings(&mut self, needles: &[NeedleHit]) -> Result<(), Malformed> {
        // A needle is a short text without which a search finds nothing, such as `ghp_`. Unless
        // letters are escaped, it is in the raw bytes of its string, however often the string was
        // encoded. So each string gets only the searches for which it has a needle. Escaped letters
        // count as needles for all searches.
        let mut needle_cursor = NeedleCursor { rest: needles };
        let mut last_key = LastKey::default();
        while let Some(string) = self.strings.advance()? {
            let is_signature = self.is_signature(&string);
            // A signature that is removed as a whole is not searched.
            if is_signature && self.search.opaque != OpaqueContent::Keep {
                self.remove_signature(&string);
                continue;
            }

            let searches = needle_cursor.advance_through(&string.range);
            if !searches.is_empty() {
                self.add_hits_in_string(&string, searches, is_signature);
            }
            if string.is_key {
                last_key = LastKey::new(string.raw.bytes, searches);
            } else if !is_signature && last_key.may_be_assigned(self.strings.nearest_key()) {
                self.add_member_hit(&string);
            }
        }
        Ok(())
    }

    /// Marks the text of a signature for removal. Its quotes stay.
    fn remove_signature(&mut self, string: &LineString) {
        self.signatures.push(Splice {
            range: string.range.clone(),
            replacement: Replacement::Bytes(Vec::new()),
        });
    }

    /// Whether the string that was just read is the value of a signature.
    fn is_signature(&self, string: &LineString) -> bool {
        self.searches.intersects(SearchSet::SIGNATURES)
            && !string.is_key
            && !string.range.is_empty()
            && opaque::is_signature_key(self.strings.nearest_key())
    }

    /// Adds the secrets in the string that was just read. `searches` are the searches that the
    /// needles in the string call for.
    fn add_hits_in_string(&mut self, string: &LineString, searches: SearchSet, is_signature: bool) {
        let raw = string.raw.bytes;
        // The rules are not applied to ids, times and signatures, because they may take them for
        // secrets.
        let is_id = !string.is_key && is_id_member(self.strings.nearest_key(), raw);
        let sources = if is_id || is_signature {
            SecretSources::ValuesOnly
        } else {
            self.search.sources
        };
        let mut found = StringSearch::new(self.search, sources, raw).run(searches);
        self.finds.examples.append(&mut found.examples);
        self.finds.value_indexes.append(&mut found.value_indexes);
        if found.hits.is_empty() {
            return;
        }

        let field: Arc<str> = self.strings.path().into();
        let string_start = string.range.start;
        for hit in &mut found.hits {
            hit.field = field.clone();
            // From offsets in the string to offsets in the line.
            hit.range = string_start + hit.range.start..string_start + hit.range.end;
        }
        // A line with many secrets has most of them in one string, so their list is not copied.
        if self.finds.hits.is_empty() {
            self.finds.hits = found.hits;
        } else {
            self.finds.hits.append(&mut found.hits);
        }
    }

    /// Adds the string that was just read as a secret, if its key and its text show that it is one,
    /// as in `"api_key":"x9Qd81LmP2"`. Does nothing if a secret was already found in the string, or
    /// if it is an example from documentation.
    fn add_member_hit(&mut self, string: &LineString) {
        // Secrets are added in the order of the line, so only the last can be in this string.
        let last_hit = self.finds.hits.last();
        let has_hit = last_hit.is_some_and(|hit| string.range.start < hit.range.end);
        let value = string.raw.bytes;
        if !self.search.applies_rules() || has_hit || is_example(value) {
            return;
        }
        let key = string::decode(self.strings.nearest_key());
        let Some(kind) = kind_of_member(key.as_bytes(), value) else {
            return;
        };
        self.finds.hits.push(SecretHit {
            field: self.strings.path().into(),
            range: string.range.clone(),
            kind,
            name: key.to_string_lossy().into(),
            secret: value.into(),
        });
    }

    /// Searches an incomplete or malformed line as one text, including its signatures. The secrets
    /// that are found replace all that were found in its strings before. Examples are added to the
    /// earlier ones.
    fn search_malformed(&mut self) {
        let mut searches = self.searches;
        // The needles of rules were not searched for in signatures, so any rule may apply there.
        if searches.intersects(SearchSet::SIGNATURES) {
            searches |= SearchSet::TEXT;
        }
        if !searches.intersects(SearchSet::TEXT) {
            self.finds.hits.clear();
            return;
        }
        let mut found =
            StringSearch::new(self.search, self.search.sources, self.line).run(searches);
        self.finds.examples.append(&mut found.examples);
        self.finds.value_indexes.append(&mut found.value_indexes);
        self.finds.hits = found.hits;
    }

    /// Returns the replacements of opaque content in a line: of opaque blocks, such as the data of
    /// an image, and of each of `signatures` that is outside of these blocks. If all opaque content
    /// is kept, returns the ranges of the blocks.
    fn find_opaque(&self, signatures: Vec<Splice>) -> OpaqueValues {
        // The filter of lines has found nothing with which an opaque block could begin.
        if !self.calls_for(SearchSet::BLOCKS) {
            return OpaqueValues {
                count: signatures.len(),
                splices: signatures,
                ..OpaqueValues::default()
            };
        }
        if self.search.opaque == OpaqueContent::Keep {
            return opaque::find_kept_blocks(self.line);
        }
        let keeps_images = self.search.opaque == OpaqueContent::KeepImages;
        let mut found = opaque::find_opaque_values(self.line, keeps_images);
        let found_ranges = RangeSet::from_ranges(found.splices.iter().map(|splice| &splice.range));
        for signature in signatures {
            if !found_ranges.overlaps(&signature.range) {
                found.push(signature);
            }
        }
        found
    }

    /// Returns the replacements of home directories and of people's names in a line. None of them
    /// overlaps `opaque`, the replacements of opaque content, because a range of the line is
    /// replaced only once.
    fn find_people(&self, opaque: &[Splice]) -> Vec<Splice> {
        let Some(people_search) = &self.search.people else {
            // The user has not asked to replace home directories and names.
            return Vec::new();
        };
        if !self.calls_for(SearchSet::PEOPLE) {
            // The filter of lines has found neither the start of a home directory nor a name.
            return Vec::new();
        }

        let opaque_ranges = RangeSet::from_ranges(opaque.iter().map(|splice| &splice.range));
        let mut people = people_search.find_splices(self.line);
        people.retain(|person| !opaque_ranges.overlaps(&person.range));
        people
    }

    /// Adds the known values that are outside of strings, such as the number in `{"pin":9182}`.
    /// They are irreplaceable, because a placeholder there would not be valid JSON.
    ///
    /// A value is outside of strings if it neither overlaps a secret that was found in one, nor is
    /// in one of `excluded_ranges`, which are removed from the line, or kept, as a whole.
    fn add_irreplaceable(&mut self, excluded_ranges: &RangeSet) {
        let line = self.line;
        let value_search = &self.search.value_search;
        let secret_ranges = RangeSet::from_ranges(self.finds.hits.iter().map(|hit| &hit.range));
        let mut outside_strings = Vec::new();
        value_search.each_occurrence_or_part(line, &mut |occurrence| {
            let Occurrence {
                range, value_index, ..
            } = occurrence;
            self.finds.value_indexes.insert(value_index);
            if occurrence.is_inside_another {
                return;
            }
            let is_in_string = secret_ranges.overlaps(&range) || excluded_ranges.covers(&range);
            // The value 9182 is not the secret in the number 191823.
            if !is_in_string && !is_beside_digit(line, &range) {
                outside_strings.push((range, value_index));
            }
        });

        // `path_at` needs ascending offsets, which `each_occurrence_or_part` guarantees.
        let mut paths = Strings::new(line);
        for (range, value_index) in outside_strings {
            let SecretValue { kind, bytes } = &value_search.values[value_index];
            self.finds.irreplaceable.push(SecretHit {
                field: paths.path_at(range.start).into(),
                range,
                kind,
                secret: bytes.clone(),
                ..SecretHit::default()
            });
        }
    }
}

/// Whether a digit is directly before or after a range of the line.
fn is_beside_digit(line: &[u8], range: &Range<usize>) -> bool {
    let follows_digit = line[..range.start].last().is_some_and(u8::is_ascii_digit);
    let precedes_digit = line.get(range.end).is_some_and(u8::is_ascii_digit);
    follows_digit || precedes_digit
}

/// The key that was read last.
#[derive(Default)]
struct LastKey<'a> {
    /// The key as written.
    raw: &'a [u8],
    /// Whether the key may be the name of a secret, judged by the needles in it.
    may_name_secret: bool,
}

impl<'a> LastKey<'a> {
    /// `searches` are the searches that the needles in the key call for.
    fn new(raw: &'a [u8], searches: SearchSet) -> LastKey<'a> {
        // An encoding may hide the letters of a name, so it counts as a name.
        let may_name_secret =
            searches.intersects(SearchSet::ASSIGNMENTS) || searches.intersects(SearchSet::HIDING);
        LastKey {
            raw,
            may_name_secret,
        }
    }

    /// Whether a value may be assigned to the name of a secret. `nearest_key` is the key of the
    /// value, or of the array that the value is in.
    ///
    /// It is usually the last key. Another key was read between the two if the value comes after an
    /// object in an array, as `"…"` after the key `a` in `{"api_key":[{"a":1},"…"]}`. Nothing is
    /// known about the nearest key then.
    fn may_be_assigned(&self, nearest_key: &[u8]) -> bool {
        // Keys with the same text are told apart by their place in the line.
        let is_nearest = std::ptr::eq(nearest_key, self.raw);
        self.may_name_secret || !is_nearest
    }
}

/// A position among the needles of a line. It moves from string to string. A needle is a literal,
/// such as `ghp_`, that calls for searches of the string that it is in: here, for the rule that
/// finds tokens of GitHub.
struct NeedleCursor<'n> {
    /// The needles after the position, in the order of the line.
    rest: &'n [NeedleHit],
}

impl NeedleCursor<'_> {
    /// Moves to the end of a string, which is at `range` of the line. Returns the searches of text
    /// that the needles in the string call for. Successive strings must be passed in the order of
    /// the line.
    fn advance_through(&mut self, range: &Range<usize>) -> SearchSet {
        let mut searches = SearchSet::default();
        while let Some((needle, rest)) = self.rest.split_first() {
            if needle.last_byte >= range.end {
                break;
            }
            self.rest = rest;
            // Needles before the string are in a signature or between strings.
            let is_in_string = needle.last_byte >= range.start;
            if is_in_string && needle.searches.intersects(SearchSet::TEXT) {
                searches |= needle.searches;
            }
        }
        searches
    }
}

/// The maximum length of a string that is an identifier, a type or a time.
const LONGEST_ID: usize = 80;

/// Whether a string is an identifier, a type or a time, by its key and its length.
pub fn is_id_member(key: &[u8], value: &[u8]) -> bool {
    value.len() <= LONGEST_ID && ID_KEYS.split(' ').any(|name| key == name.as_bytes())
}
