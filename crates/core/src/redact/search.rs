//! Searches lines for everything that is to be removed. A search is not changed by its use, so
//! threads can share it.

use super::assignments::kind_of_member;
use super::base64_digits::is_base64_digit;
use super::encoded::each_base64_run;
use super::finds::{Finds, TextFinds};
use super::matches::{RuleMatch, each_match};
use super::opaque::{self, WithoutSignatures};
use super::placeholders;
use super::places::{RangeSet, SecretHit, SecretHits};
use super::prefilter::{NeedleHit, NeedlePrefilter, SearchSet};
use super::rules::is_example;
use super::unescape::{MappedText, escape_levels};
use super::values::{SecretValue, ValueSearch};
use super::{People, Splice};
use foldhash::HashSet;
use pisess_json::string;
use pisess_json::strings::{LineString, Strings};
use pisess_json::text::Text;
use std::collections::BTreeSet;
use std::iter::Peekable;
use std::ops::Range;

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
    /// Returns a search for secrets by the rules, for these values and, if given, for `people`.
    /// Signatures and encrypted texts are found as well, and also images unless `keeps_images` is
    /// set.
    pub fn new(
        values: Vec<SecretValue>,
        people: Option<People>,
        keeps_images: bool,
    ) -> SecretSearch {
        let value_search = ValueSearch::new(values);

        let mut literals = Vec::new();
        for needle in &value_search.needles {
            literals.push((needle.as_slice(), SearchSet::VALUES));
        }
        for needle in people.iter().flat_map(|people| &people.needles) {
            literals.push((needle.as_slice(), SearchSet::PEOPLE));
        }
        // Without values and people, the prefilter of the rules is enough.
        let needles = if value_search.values.is_empty() && people.is_none() {
            None
        } else {
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
        let old = std::mem::take(self);
        let mut values = old.value_search.values;
        let known: HashSet<Vec<u8>> = values.iter().map(|value| value.bytes.clone()).collect();
        for value in more {
            if !known.contains(&value.bytes) {
                values.push(value);
            }
        }
        *self = SecretSearch {
            is_narrow: true,
            ..SecretSearch::new(values, old.people, old.keeps_images)
        };
    }

    /// Searches each line of `bytes` that has a needle, and calls `visit_line` with the range of
    /// the line, without its newline, and the finds. Lines are visited in order.
    pub fn each_line(&self, bytes: &[u8], visit_line: &mut dyn FnMut(Range<usize>, Finds)) {
        let mut needles = self.own_needles(bytes);
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

            // Converts offsets in `bytes` to offsets in the line.
            let mut line_needles = in_this_line.to_vec();
            for needle in &mut line_needles {
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
    fn own_needles(&self, bytes: &[u8]) -> Vec<NeedleHit> {
        let Some(needles) = &self.needles else {
            return Vec::new();
        };
        let mut hits = needles.find_in_lines(bytes);
        self.value_search.each_window(bytes, &mut |last_byte| {
            hits.push(NeedleHit {
                last_byte,
                searches: SearchSet::VALUES,
            })
        });
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
        let is_without_needles = self.needed_searches(text.as_bytes()) == SearchSet::default();
        if is_without_needles {
            return None;
        }

        let line = string::encode_to_vec(&Text::from(text));
        let mut line_finds = Finds::default();
        self.each_line(&line, &mut |_, finds| line_finds = finds);
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

    /// Searches a line, given without its newline. `needles` are the hits of needles in the line.
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
        let mut splices = self.find_opaque(line, searches, signatures);
        finds.opaque_count = splices.len();

        // Rule 2.
        let mut people_splices = self.find_people(line, searches, &splices);
        splices.append(&mut people_splices);

        // This comes before rule 3 drops the secrets in opaque content, because a value that is
        // part of such a secret is not irreplaceable.
        self.add_irreplaceable(line, &mut finds);

        // Rule 3.
        let removed_ranges = RangeSet::from_ranges(splices.iter().map(|splice| &splice.range));
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
    ) -> Vec<Splice> {
        // Escaped letters can hide the needles of any search.
        if !searches.intersects(SearchSet::BLOCKS) && !searches.intersects(SearchSet::ESCAPES) {
            return signatures;
        }
        let blocks = opaque::opaque_block_splices(line, self.keeps_images);
        let block_ranges = RangeSet::from_ranges(blocks.iter().map(|block| &block.range));
        let mut splices = signatures;
        splices.retain(|signature| !block_ranges.overlaps(&signature.range));
        splices.extend(blocks);
        splices
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
    /// found in this way replace those that were found in its strings.
    fn search_malformed(&self, line: &[u8], needle_searches: SearchSet, finds: &mut Finds) {
        let mut searches = needle_searches;
        // The needles of rules were not searched for in signatures, so all searches are needed.
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

    /// Adds the known values that are outside of strings, such as numbers. They are irreplaceable,
    /// because a placeholder there would not be valid JSON. These are the values in the line that
    /// do not overlap a secret found in a string. A value next to a digit is part of another
    /// number, and is skipped.
    fn add_irreplaceable(&self, line: &[u8], finds: &mut Finds) {
        let secret_ranges = RangeSet::from_ranges(finds.hits.iter().map(|hit| &hit.range));
        let mut irreplaceable = Vec::new();
        self.value_search
            .each_occurrence(line, &mut |range, value_index| {
                let is_part_of_number = is_digit_at(line, range.start.checked_sub(1))
                    || is_digit_at(line, Some(range.end));
                if !is_part_of_number && !secret_ranges.overlaps(&range) {
                    irreplaceable.push((range, value_index));
                }
            });

        // `path_at` needs ascending offsets, which `each_occurrence` guarantees.
        let mut paths = Strings::new(line);
        for (range, value_index) in irreplaceable {
            let SecretValue { kind, bytes } = &self.value_search.values[value_index];
            finds.irreplaceable.push(SecretHit {
                field: paths.path_at(range.start),
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
        // each string is searched only as its own needles call for.
        let mut text_needles = needles
            .iter()
            .filter(|needle| needle.searches.intersects(SearchSet::TEXT))
            .peekable();
        let mut strings = Strings::new(line);
        // Whether the last key may be the name of a secret, so that the strings under it are
        // checked.
        let mut may_be_assigned = false;
        loop {
            let string = match strings.advance() {
                Ok(Some(string)) => string,
                Ok(None) => return true,
                Err(_) => return false,
            };
            if may_be_signed
                && !string.is_key
                && !string.range.is_empty()
                && opaque::is_signature_key(strings.nearest_key())
            {
                signatures.push(Splice {
                    range: string.range.clone(),
                    replacement: Vec::new(),
                });
                continue;
            }

            let searches = take_searches_in(&mut text_needles, &string.range);
            if searches != SearchSet::default() {
                self.add_hits_in_string(&strings, &string, searches, finds);
            }

            if string.is_key {
                may_be_assigned = searches.intersects(SearchSet::ASSIGNMENTS)
                    || searches.intersects(SearchSet::HIDING);
            } else if may_be_assigned {
                add_member_hit(&strings, &string, finds);
            }
        }
    }

    /// Adds the secrets in `string`, the current string of `strings`, to `finds`. `searches` are
    /// the searches that the needles in the string call for.
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

        let field = strings.path();
        let string_start = string.range.start;
        for mut hit in found.hits {
            hit.field.clone_from(&field);
            hit.range = string_start + hit.range.start..string_start + hit.range.end;
            finds.hits.push(hit);
        }
    }

    /// Runs `searches` on one string, given as written, on all levels of escapes.
    fn search_string(
        &self,
        raw: &[u8],
        searches: SearchSet,
        sources: SecretSources,
    ) -> StringFinds {
        if raw.len() < SHORTEST_SEARCHED {
            return StringFinds::default();
        }
        let mut hits = SecretHits::new(raw);
        for level in escape_levels(raw) {
            self.add_hits_at_level(&level, searches, sources, &mut hits);
        }
        StringFinds {
            examples: std::mem::take(&mut hits.examples),
            hits: hits.finish(),
        }
    }

    /// Adds the secrets on one level of escapes, in each form that a text may have there: without
    /// terminal codes, with HTML entities decoded, or with URL escapes decoded.
    ///
    /// If several forms of the same bytes contain a secret, the first form decides the text of the
    /// secret. The text should be the one that the secret has elsewhere. So forms without terminal
    /// codes, and with entities decoded, come first. A percent sign or a plus may be part of a
    /// secret, so forms in which these encode other characters come last.
    fn add_hits_at_level(
        &self,
        level: &MappedText,
        searches: SearchSet,
        sources: SecretSources,
        hits: &mut SecretHits,
    ) {
        // Escaped letters can hide the needles of any form.
        let is_called =
            |form: SearchSet| searches.intersects(form) || searches.intersects(SearchSet::ESCAPES);

        let without_codes = if is_called(SearchSet::CODES) {
            level.strip_terminal_codes()
        } else {
            None
        };
        let visible_text = without_codes.as_ref().unwrap_or(level);

        if is_called(SearchSet::ENTITIES)
            && let Some(decoded) = visible_text.decode_entities()
        {
            self.add_hits_in_decoded(&decoded, sources, hits);
        }
        if let Some(without_codes) = &without_codes {
            self.add_hits_in_decoded(without_codes, sources, hits);
        }
        // Unless letters are escaped, the needles of this level are known: they are those of the
        // raw bytes.
        if searches.intersects(SearchSet::ESCAPES) {
            self.add_hits_in_decoded(level, sources, hits);
        } else {
            self.add_hits_in_form(level, searches, sources, hits);
        }
        // A secret that was found may continue with an encoded character.
        if is_called(SearchSet::PERCENT) || !hits.is_empty() {
            for decoded in [visible_text.decode_form(), visible_text.decode_percent()]
                .into_iter()
                .flatten()
            {
                self.add_hits_in_decoded(&decoded, sources, hits);
            }
        }
    }

    /// Adds the secrets in a decoded form of a text. The needles are searched for again, because
    /// decoding may show needles that the raw bytes hide.
    fn add_hits_in_decoded(
        &self,
        decoded: &MappedText,
        sources: SecretSources,
        hits: &mut SecretHits,
    ) {
        let searches = self.needed_searches(&decoded.text);
        self.add_hits_in_form(decoded, searches, sources, hits);
    }

    /// Runs `searches` on one form of a text, and adds the secrets to `hits`.
    ///
    /// Known values come first, because the first find decides the kind of a secret. Base64 in the
    /// text is decoded and searched with the rules, too; a secret in it has the range of its
    /// digits.
    fn add_hits_in_form(
        &self,
        form: &MappedText,
        searches: SearchSet,
        sources: SecretSources,
        hits: &mut SecretHits,
    ) {
        let text = &*form.text;
        self.value_search
            .each_occurrence(text, &mut |range, value_index| {
                let value = &self.value_search.values[value_index];
                hits.add(SecretHit {
                    range: form.source_range(range),
                    kind: value.kind,
                    secret: value.bytes.clone(),
                    ..SecretHit::default()
                });
            });
        if sources == SecretSources::ValuesOnly {
            return;
        }

        if !is_base64_file(text) {
            each_match(searches, text, |rule_match| {
                let source = form.source_range(rule_match.range.clone());
                add_hit(rule_match, text, source, hits);
            });
        }
        if searches.intersects(SearchSet::BASE64) {
            each_base64_run(text, &mut |decoded| {
                let decoded_searches = self.needed_searches(&decoded.bytes);
                each_match(decoded_searches, &decoded.bytes, |rule_match| {
                    let digits = decoded.source_range(rule_match.range.clone());
                    let source = form.source_range(digits);
                    add_hit(rule_match, &decoded.bytes, source, hits);
                });
            });
        }
    }
}

/// The sources by which secrets in a string are recognized.
#[derive(Clone, Copy, PartialEq, Eq)]
enum SecretSources {
    /// The rules and the known values.
    RulesAndValues,
    /// Only the known values.
    ValuesOnly,
}

/// The results of searching one string of a line.
#[derive(Default)]
struct StringFinds {
    /// The secrets, in order. Their ranges are relative to the string, and their fields are empty.
    hits: Vec<SecretHit>,
    /// The example keys from documentation.
    examples: BTreeSet<Vec<u8>>,
}

/// The minimum length in bytes, as written, of a string that is searched.
const SHORTEST_SEARCHED: usize = 6;

/// Returns the searches that the needles in a range of the line call for. Consumes these needles,
/// and those before the range, from `needles`, which are in order.
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

/// Adds `string`, the current string of `strings`, as a secret, if its key and its text show that
/// it is one. Does nothing if a secret was already found in the string, or if it is an example from
/// documentation.
fn add_member_hit(strings: &Strings, string: &LineString, finds: &mut Finds) {
    // Secrets are added in the order of the line, so only the last can be in this string.
    let has_hit = finds
        .hits
        .last()
        .is_some_and(|hit| string.range.start < hit.range.end);
    let key = strings.nearest_key();
    let value = string.raw.bytes;
    if has_hit || is_example(value) {
        return;
    }
    let Some(kind) = kind_of_member(key, value) else {
        return;
    };
    finds.hits.push(SecretHit {
        field: strings.path(),
        range: string.range.clone(),
        kind,
        name: String::from_utf8_lossy(key).into_owned(),
        secret: value.to_vec(),
    });
}

/// The maximum length of a name in reports.
const LONGEST_SHOWN_NAME: usize = 40;

/// Adds the match of a rule in a text to `hits`. `source` is the range of the match in the string
/// as written. An example key from documentation is added to the examples instead.
fn add_hit(rule_match: RuleMatch, text: &[u8], source: Range<usize>, hits: &mut SecretHits) {
    let secret = &text[rule_match.range];
    if is_example(secret) {
        hits.examples.insert(secret.to_vec());
        return;
    }
    // A longer name may contain other text, so it is not shown.
    let name = if rule_match.name.len() <= LONGEST_SHOWN_NAME {
        String::from_utf8_lossy(rule_match.name).into_owned()
    } else {
        String::new()
    };
    hits.add(SecretHit {
        range: source,
        kind: rule_match.kind,
        name,
        secret: secret.to_vec(),
        ..SecretHit::default()
    });
}

/// Whether there is a digit at this offset; false for `None`.
fn is_digit_at(line: &[u8], at: Option<usize>) -> bool {
    at.and_then(|at| line.get(at))
        .is_some_and(u8::is_ascii_digit)
}

/// Returns the hits of the needles of all rules in some lines, in order, except those in
/// signatures.
fn find_rule_needles(lines: &[u8]) -> Vec<NeedleHit> {
    let searched = WithoutSignatures::new(lines);
    let mut hits = NeedlePrefilter::for_rules().find_in_lines(&searched.bytes);
    searched.restore_offsets(hits.iter_mut().map(|hit| &mut hit.last_byte));
    hits
}

/// Returns the range of the line around an offset, without its newline.
fn line_around(bytes: &[u8], at: usize) -> Range<usize> {
    let start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |newline| newline + 1);
    start..memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |newline| at + newline)
}

/// The maximum length of a string that is an identifier, a type or a time.
const LONGEST_ID: usize = 80;

/// Whether a string is an identifier, a type or a time, by its key and its length.
pub(super) fn is_id_member(key: &[u8], value: &[u8]) -> bool {
    value.len() <= LONGEST_ID && ID_KEYS.split(' ').any(|name| key == name.as_bytes())
}

/// From this length on, the digits of a text in base64 are not searched with the rules: only the
/// bytes that they encode.
const SHORTEST_BASE64_FILE: usize = 512;

/// Whether a text looks like an image or another file in base64, whose digits are not secrets.
pub(super) fn is_base64_file(text: &[u8]) -> bool {
    text.len() >= SHORTEST_BASE64_FILE
        && text
            .iter()
            .all(|byte| is_base64_digit(byte) || *byte == b'=')
}
