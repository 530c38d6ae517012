//! Finds what is to be removed from lines. A search changes nothing, so any number of threads can
//! share it.

use super::assignments::{each_assignment, kind_of_member};
use super::cookies::{self, each_cookie};
use super::encoded::each_decoded;
use super::opaque::{self, WithoutSignatures};
use super::places::{Hit, Hits, Places};
use super::prefilter::{Calls, Found, Prefilter, is_digit};
use super::rules::{RULES, is_example};
use super::shapes::each_shape;
use super::unescape::{Spoken, levels};
use super::values::{Exact, Value};
use super::{People, START, Splice};
use foldhash::HashSet;
use pisess_json::strings::Strings;
use std::collections::BTreeSet;
use std::ops::Range;

/// What was found in a line.
#[derive(Clone, Debug, Default)]
pub struct Finds {
    /// The secrets, in the order of the line.
    pub(super) hits: Vec<Hit>,
    /// The replacements of everything else that is removed.
    pub(super) splices: Vec<Splice>,
    /// The number of signatures, encrypted texts and images to remove.
    pub opaque: usize,
    /// Values outside of strings, such as a number, which a placeholder cannot replace.
    pub(super) stuck: Vec<Hit>,
    /// The placeholders that the line has already: kind and number.
    pub(super) placeholders: Vec<(String, usize)>,
    /// The keys in it that documentation uses as examples, which are kept.
    pub examples: BTreeSet<Vec<u8>>,
}

impl Finds {
    /// Whether there is nothing to remove.
    pub fn is_clean(&self) -> bool {
        self.hits.is_empty() && self.splices.is_empty()
    }

    /// Returns a line without what is to be removed.
    pub fn without(mut self, line: &[u8]) -> Vec<u8> {
        self.splices.sort_by_key(|splice| splice.range.start);
        let mut out = Vec::with_capacity(line.len());
        let mut at = 0;
        for splice in self.splices {
            out.extend_from_slice(&line[at..splice.range.start]);
            out.extend_from_slice(&splice.by);
            at = splice.range.end;
        }
        out.extend_from_slice(&line[at..]);
        out
    }

    /// Whether there is a secret, or a placeholder of one.
    pub fn has_secrets(&self) -> bool {
        !self.hits.is_empty() || !self.stuck.is_empty() || !self.placeholders.is_empty()
    }
}

/// What a rule finds in a text.
pub(super) struct Match<'t> {
    range: Range<usize>,
    kind: &'static str,
    name: &'t [u8],
}

/// The keys of identifiers, types and times, in which only the values given by the user are
/// searched for.
const NAMES: &str =
    "id parentId targetId fromId firstKeptEntryId toolCallId timestamp type responseId";

/// The rules, the values given by the user, and what else to remove.
#[derive(Default)]
pub struct Search {
    /// Home directories and user names to replace, if requested.
    people: Option<People>,
    keeps_images: bool,
    /// The values given by the user or found elsewhere.
    exact: Exact,
    /// The needles of people, and of the values without a window.
    needles: Option<Prefilter>,
    /// Whether only lines with these are looked at.
    is_narrow: bool,
}

impl Search {
    /// Returns a search for these values, in addition to the rules, and for `people`.
    pub fn new(values: Vec<Value>, people: Option<People>, keeps_images: bool) -> Search {
        let exact = Exact::new(values);
        let is_any = !exact.values.is_empty() || people.is_some();
        let mut literals = Vec::new();
        for needle in &exact.needles {
            literals.push((needle.as_slice(), Calls::VALUES));
        }
        for needle in people.iter().flat_map(|people| &people.needles) {
            literals.push((needle.as_slice(), Calls::PEOPLE));
        }
        let needles = is_any.then(|| Prefilter::new(literals.into_iter()));
        Search {
            people,
            keeps_images,
            exact,
            needles,
            is_narrow: false,
        }
    }

    /// Searches for these values as well, from now on only in the lines that may contain one of
    /// them.
    pub fn extend(&mut self, more: Vec<Value>) {
        let old = std::mem::take(self);
        let mut values = old.exact.values;
        let known: HashSet<Vec<u8>> = values.iter().map(|value| value.bytes.clone()).collect();
        for value in more {
            if !known.contains(&value.bytes) {
                values.push(value);
            }
        }
        *self = Search {
            is_narrow: true,
            ..Search::new(values, old.people, old.keeps_images)
        };
    }

    /// Calls `line` for each line of `bytes` that may contain something to remove, in order: with
    /// its range, newline excluded, and what was found in it.
    pub fn each_line(&self, bytes: &[u8], line: &mut dyn FnMut(Range<usize>, Finds)) {
        let mut found = self.own_needles(bytes);
        if !self.is_narrow {
            found.append(&mut needles_of_rules(bytes));
            found.sort_by_key(|found| found.at);
        }
        let mut rest = &found[..];
        while let Some(first) = rest.first() {
            let range = line_around(bytes, first.at);
            let (own, after) = rest.split_at(rest.partition_point(|found| found.at < range.end));
            let mut own: Vec<_> = own
                .iter()
                .map(|found| Found {
                    at: found.at - range.start,
                    ..*found
                })
                .collect();
            if self.is_narrow {
                own.append(&mut needles_of_rules(&bytes[range.clone()]));
                own.sort_by_key(|found| found.at);
            }
            line(range.clone(), self.line(&bytes[range], &own));
            rest = after;
        }
    }

    /// Returns the needles of people and of values in some lines, in order.
    fn own_needles(&self, bytes: &[u8]) -> Vec<Found> {
        let Some(needles) = &self.needles else {
            return Vec::new();
        };
        let mut found = needles.in_lines(bytes);
        self.exact.each_window(bytes, &mut |at| {
            found.push(Found {
                at,
                calls: Calls::VALUES,
            })
        });
        found.sort_by_key(|found| found.at);
        found
    }

    /// Whether it searches for values, which have kinds of their own, besides what the rules find.
    pub fn has_values(&self) -> bool {
        !self.exact.values.is_empty()
    }

    /// Whether a text may contain something to remove.
    pub fn may_find(&self, text: &[u8]) -> bool {
        self.calls_in(text) != Calls::default()
    }

    /// Returns what the needles in a text call for.
    fn calls_in(&self, text: &[u8]) -> Calls {
        let mut calls = Prefilter::of_rules().calls_in(text);
        if let Some(needles) = &self.needles {
            calls |= needles.calls_in(text);
            self.exact
                .each_window(text, &mut |_| calls |= Calls::VALUES);
        }
        calls
    }

    /// Returns what is found in a line with these needles.
    pub fn line(&self, line: &[u8], needles: &[Found]) -> Finds {
        let mut calls = Calls::default();
        needles.iter().for_each(|found| calls |= found.calls);
        let mut finds = Finds::default();
        if calls.any(Calls::PLACEHOLDERS) {
            finds.placeholders = placeholders(line);
        }
        if !self.strings(line, needles, calls.any(Calls::SIGNATURES), &mut finds) {
            // A torn or malformed line is searched as text, including its signatures.
            if calls.any(Calls::SIGNATURES) {
                calls |= Calls::TEXT;
            }
            if calls.any(Calls::TEXT) {
                finds.hits = self.hits_in(line, 0, calls, true, &mut finds.examples);
            } else {
                finds.hits.clear();
            }
            finds.splices.clear();
            return finds;
        }
        if calls.any(Calls::BLOCKS) || calls.any(Calls::ESCAPES) {
            let blocks = opaque::blocks(line, self.keeps_images);
            // What is in a block is replaced along with it.
            let places = Places::of(blocks.iter().map(|block| &block.range));
            finds
                .splices
                .retain(|splice| !places.overlap(&splice.range));
            finds.splices.extend(blocks);
        }
        finds.opaque = finds.splices.len();
        if let Some(people) = &self.people
            && (calls.any(Calls::PEOPLE) || calls.any(Calls::ESCAPES))
        {
            let places = Places::of(finds.splices.iter().map(|splice| &splice.range));
            let mut named = people.splices(line);
            named.retain(|splice| !places.overlap(&splice.range));
            finds.splices.append(&mut named);
        }
        self.add_stuck(line, &mut finds);
        let removed = Places::of(finds.splices.iter().map(|splice| &splice.range));
        finds.hits.retain(|hit| !removed.contain(&hit.range));
        let replaced = Places::of(finds.hits.iter().map(|hit| &hit.range));
        finds
            .splices
            .retain(|splice| !replaced.overlap(&splice.range));
        finds
    }

    /// Adds the values outside of strings.
    fn add_stuck(&self, line: &[u8], finds: &mut Finds) {
        let places = Places::of(finds.hits.iter().map(|hit| &hit.range));
        let mut stuck = Vec::new();
        self.exact.each(line, &mut |range, value| {
            let is_part =
                is_digit_at(line, range.start.checked_sub(1)) || is_digit_at(line, Some(range.end));
            if !is_part && !places.overlap(&range) {
                stuck.push((range, value));
            }
        });
        let mut paths = Strings::new(line);
        for (range, value) in stuck {
            let Value { kind, bytes } = &self.exact.values[value];
            finds.stuck.push(Hit {
                field: paths.path_at(range.start),
                range,
                kind,
                secret: bytes.clone(),
                ..Hit::default()
            });
        }
    }

    /// Adds the secrets and the signatures in the strings of a line. Returns whether the line is
    /// JSON.
    fn strings(&self, line: &[u8], needles: &[Found], is_signed: bool, finds: &mut Finds) -> bool {
        // Unless letters are escaped, a needle on any level of escapes is in the raw bytes as well.
        let mut waiting = needles
            .iter()
            .filter(|found| found.calls.any(Calls::TEXT))
            .peekable();
        let mut strings = Strings::new(line);
        // Whether a value may be assigned to the last key.
        let mut is_assigned = false;
        loop {
            let found = match strings.advance() {
                Ok(Some(found)) => found,
                Ok(None) => return true,
                Err(_) => return false,
            };
            if is_signed
                && !found.is_key
                && !found.range.is_empty()
                && opaque::is_key(strings.nearest_key())
            {
                finds.splices.push(Splice {
                    range: found.range.clone(),
                    by: Vec::new(),
                });
                continue;
            }
            while waiting
                .next_if(|needle| needle.at < found.range.start)
                .is_some()
            {}
            let mut calls = Calls::default();
            while let Some(needle) = waiting.next_if(|needle| needle.at < found.range.end) {
                calls |= needle.calls;
            }
            if calls != Calls::default() {
                let rules = found.is_key || !is_name(strings.nearest_key(), found.raw.bytes);
                let start = found.range.start;
                let examples = &mut finds.examples;
                let mut hits = self.hits_in(found.raw.bytes, start, calls, rules, examples);
                if !hits.is_empty() {
                    let field = strings.path();
                    hits.iter_mut().for_each(|hit| hit.field.clone_from(&field));
                    finds.hits.append(&mut hits);
                }
            }
            if found.is_key {
                is_assigned = calls.any(Calls::ASSIGNMENTS) || calls.any(Calls::HIDING);
            } else if is_assigned {
                let key = strings.nearest_key();
                let value = found.raw.bytes;
                let is_found = finds
                    .hits
                    .last()
                    .is_some_and(|hit| found.range.start < hit.range.end);
                if !is_found
                    && !is_example(value)
                    && let Some(kind) = kind_of_member(key, value)
                {
                    finds.hits.push(Hit {
                        field: strings.path(),
                        range: found.range.clone(),
                        kind,
                        name: String::from_utf8_lossy(key).into_owned(),
                        secret: value.to_vec(),
                    });
                }
            }
        }
    }

    /// Returns the secrets in the bytes of one string, which begin at `start` in the line, and
    /// whose needles call for `calls`. Their `field` is empty. Adds the example keys in it.
    fn hits_in(
        &self,
        raw: &[u8],
        start: usize,
        calls: Calls,
        rules: bool,
        examples: &mut BTreeSet<Vec<u8>>,
    ) -> Vec<Hit> {
        if raw.len() < 6 {
            return Vec::new();
        }
        let mut hits = Hits::new(raw);
        for level in levels(raw) {
            self.hits_at_level(&level, calls, rules, &mut hits);
        }
        examples.append(&mut hits.examples);
        let mut hits = hits.finish();
        for hit in &mut hits {
            hit.range = hit.range.start + start..hit.range.end + start;
        }
        hits
    }

    /// Adds the secrets on one level of escapes, in each of the forms that text may have there.
    ///
    /// Without the codes of a terminal, and as HTML is displayed, a secret is what it is elsewhere,
    /// so these forms come first. A percent sign may also be a part of a secret.
    fn hits_at_level(&self, level: &Spoken, calls: Calls, rules: bool, hits: &mut Hits) {
        let is_called = |form: Calls| calls.any(form) || calls.any(Calls::ESCAPES);
        let without_codes = if is_called(Calls::CODES) {
            level.without_codes()
        } else {
            None
        };
        let shown = without_codes.as_ref().unwrap_or(level);
        if is_called(Calls::ENTITIES)
            && let Some(decoded) = shown.entities_decoded()
        {
            self.hits_in_decoded(&decoded, rules, hits);
        }
        if let Some(without_codes) = &without_codes {
            self.hits_in_decoded(without_codes, rules, hits);
        }
        // Unless letters are escaped, the raw bytes have the same needles as the level.
        if calls.any(Calls::ESCAPES) {
            self.hits_in_decoded(level, rules, hits);
        } else {
            self.hits_in_form(level, calls, rules, hits);
        }
        if is_called(Calls::PERCENT)
            && let Some(decoded) = shown.percent_decoded()
        {
            self.hits_in_decoded(&decoded, rules, hits);
        }
    }

    /// Adds the secrets in a form of a text that may show needles which the raw bytes hide.
    fn hits_in_decoded(&self, decoded: &Spoken, rules: bool, hits: &mut Hits) {
        let calls = self.calls_in(&decoded.text);
        self.hits_in_form(decoded, calls, rules, hits);
    }

    /// Adds the secrets in one form of a text, whose needles call for `calls`.
    fn hits_in_form(&self, spoken: &Spoken, calls: Calls, rules: bool, hits: &mut Hits) {
        let text = &*spoken.text;
        self.exact.each(text, &mut |range, value| {
            let value = &self.exact.values[value];
            hits.put(Hit {
                range: spoken.source(range),
                kind: value.kind,
                secret: value.bytes.clone(),
                ..Hit::default()
            });
        });
        if !rules || is_base64(text) {
            return;
        }
        apply(calls, text, |found| {
            let source = spoken.source(found.range.clone());
            add_hit(found, text, source, hits);
        });
        if calls.any(Calls::BASE64) {
            each_decoded(text, &mut |decoded| {
                let calls = self.calls_in(&decoded.bytes);
                apply(calls, &decoded.bytes, |found| {
                    let source = spoken.source(decoded.source(found.range.clone()));
                    add_hit(found, &decoded.bytes, source, hits);
                });
            });
        }
    }
}

/// The maximum length of a name in reports.
const LONGEST_SHOWN_NAME: usize = 40;

/// Adds what was found in a text, and where it came from; an example is only counted.
fn add_hit(found: Match, text: &[u8], source: Range<usize>, hits: &mut Hits) {
    let secret = &text[found.range];
    if is_example(secret) {
        hits.examples.insert(secret.to_vec());
        return;
    }
    // A longer name may hold more than a name.
    let name = if found.name.len() <= LONGEST_SHOWN_NAME {
        String::from_utf8_lossy(found.name).into_owned()
    } else {
        String::new()
    };
    hits.put(Hit {
        range: source,
        kind: found.kind,
        name,
        secret: secret.to_vec(),
        ..Hit::default()
    });
}

/// Whether a digit is at this offset.
fn is_digit_at(line: &[u8], at: Option<usize>) -> bool {
    at.and_then(|at| line.get(at))
        .is_some_and(u8::is_ascii_digit)
}

/// Returns the needles of all rules in some lines, in order, except those in signatures.
fn needles_of_rules(lines: &[u8]) -> Vec<Found> {
    let searched = WithoutSignatures::of(lines);
    let mut found = Prefilter::of_rules().in_lines(&searched.bytes);
    searched.restore(found.iter_mut().map(|found| &mut found.at));
    found
}

/// Returns the range of the line around an offset, newline excluded.
fn line_around(bytes: &[u8], at: usize) -> Range<usize> {
    let start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |newline| newline + 1);
    start..memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |newline| at + newline)
}

/// Calls `found` with what the called rules find in a text. What was replaced by a placeholder is
/// no secret, even if the placeholder looks like one: `https://[REDACTED:…]@host`.
pub(super) fn apply<'t>(calls: Calls, text: &'t [u8], mut found: impl FnMut(Match<'t>)) {
    if !calls.any(Calls::SECRETS) {
        return;
    }
    let removed = Places::of(placeholder_ranges(text).iter());
    let mut check = |range: Range<usize>, kind, name| {
        if !removed.overlap(&range) {
            found(Match { range, kind, name });
        }
    };

    if calls.any(Calls::SHAPES) {
        each_shape(text, |range, kind| check(range, kind, b""));
    }
    for (at, rule) in RULES.iter().enumerate() {
        if !calls.any(Calls::rule(at)) {
            continue;
        }
        for captures in rule.expression().captures_iter(text) {
            if let Some(range) = rule.secret(text, &captures) {
                check(range, rule.kind, b"");
            }
        }
    }
    if calls.any(Calls::ASSIGNMENTS) {
        each_assignment(text, |assigned| {
            check(assigned.value, assigned.kind, &text[assigned.name]);
        });
    }
    if calls.any(Calls::COOKIES) {
        each_cookie(text, |name, value| check(value, cookies::KIND, &text[name]));
    }
}

/// Returns the ranges of the placeholders in a text.
fn placeholder_ranges(text: &[u8]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    for start in memchr::memmem::find_iter(text, START.as_bytes()) {
        let rest = &text[start..text.len().min(start + 80)];
        let width = memchr::memchr(b']', rest).map_or(rest.len(), |at| at + 1);
        ranges.push(start..start + width);
    }
    ranges
}

/// Returns the placeholders in a line.
pub(super) fn placeholders(line: &[u8]) -> Vec<(String, usize)> {
    let read = |at: usize| {
        let rest = &line[at + START.len()..];
        let end = memchr::memchr(b']', &rest[..rest.len().min(80)])?;
        let (kind, number) = std::str::from_utf8(&rest[..end]).ok()?.rsplit_once('#')?;
        Some((kind.to_owned(), number.parse().ok()?))
    };
    memchr::memmem::find_iter(line, START.as_bytes())
        .filter_map(read)
        .collect()
}

/// Whether a string is an identifier according to its key, and short enough to be one.
pub(super) fn is_name(key: &[u8], value: &[u8]) -> bool {
    value.len() <= 80 && NAMES.split(' ').any(|name| key == name.as_bytes())
}

/// Whether the text looks like a picture or another file in base64, which cannot be searched.
pub(super) fn is_base64(text: &[u8]) -> bool {
    text.len() >= 512 && text.iter().all(|byte| is_digit(byte) || *byte == b'=')
}
