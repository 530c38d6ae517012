//! Finds what is to be removed from lines. A search changes nothing, so any number of threads can
//! share it.

use super::prefilter::{Calls, Found, Prefilter, SHORTEST_ENCODED, is_digit};
use super::rules::RULES;
use super::unescape::{Spoken, levels};
use super::values::{Exact, Value};
use super::{People, START, Splice, opaque, overlap};
use base64::Engine;
use base64::alphabet::STANDARD;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use pisess_json::strings::Strings;
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

/// A secret, before it is numbered.
#[derive(Clone, Debug, Default)]
pub(super) struct Hit {
    /// The path of the string that contains it; empty for a malformed line.
    pub field: String,
    /// Its range in the line.
    pub range: Range<usize>,
    pub kind: &'static str,
    /// Its text, with all escapes decoded.
    pub secret: Vec<u8>,
}

/// The keys of identifiers, types and times, in which only the values given by the user are
/// searched for.
const NAMES: &str =
    "id parentId targetId fromId firstKeptEntryId toolCallId timestamp type responseId";

/// The rules, the values given by the user, and what else to remove.
#[derive(Default)]
pub struct Search {
    values: Vec<Value>,
    /// Home directories and user names to replace, if requested.
    people: Option<People>,
    keeps_images: bool,
    exact: Exact,
    /// The needles of the values and of people.
    needles: Option<Prefilter>,
    /// Whether only lines with these are looked at.
    is_narrow: bool,
}

impl Search {
    /// Returns a search for these values, in addition to the rules, and for `people`.
    pub fn new(values: Vec<Value>, people: Option<People>, keeps_images: bool) -> Search {
        let exact = Exact::new(&values);
        let values_in = exact
            .needles
            .iter()
            .map(|needle| (needle.as_slice(), Calls::VALUES));
        let own = people.iter().flat_map(|people| &people.needles);
        let people_in = own.map(|needle| (needle.as_slice(), Calls::PEOPLE));
        let is_any = !values.is_empty() || people.is_some();
        let needles = is_any.then(|| Prefilter::new(values_in.chain(people_in)));
        Search {
            values,
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
        let values = old.values.into_iter().chain(more).collect();
        *self = Search {
            is_narrow: true,
            ..Search::new(values, old.people, old.keeps_images)
        };
    }

    /// Calls `line` for each line of `bytes` that may contain something to remove, in order: with
    /// its range, newline excluded, and what was found in it.
    pub fn each_line(&self, bytes: &[u8], line: &mut dyn FnMut(Range<usize>, Finds)) {
        let mut found = self
            .needles
            .as_ref()
            .map_or_else(Vec::new, |needles| needles.in_lines(bytes));
        if !self.is_narrow {
            found.append(&mut Prefilter::of_rules().in_lines(bytes));
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
                own.append(&mut Prefilter::of_rules().in_lines(&bytes[range.clone()]));
                own.sort_by_key(|found| found.at);
            }
            line(range.clone(), self.line(&bytes[range], &own));
            rest = after;
        }
    }

    /// Whether it searches for values, which have kinds of their own, besides what the rules find.
    pub fn has_values(&self) -> bool {
        !self.values.is_empty()
    }

    /// Whether a text may contain something to remove.
    pub fn may_find(&self, text: &[u8]) -> bool {
        self.calls_in(text) != Calls::default()
    }

    /// Returns what the needles in a text call for.
    fn calls_in(&self, text: &[u8]) -> Calls {
        let mut calls = Prefilter::of_rules().calls_in(text);
        self.needles
            .iter()
            .for_each(|needles| calls |= needles.calls_in(text));
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
            // A torn or malformed line is searched as text.
            finds.hits = if calls.any(Calls::TEXT) {
                self.hits_in(line, 0, calls, true)
            } else {
                Vec::new()
            };
            finds.splices.clear();
            return finds;
        }
        if calls.any(Calls::BLOCKS) || calls.any(Calls::ESCAPES) {
            add(opaque::blocks(line, self.keeps_images), &mut finds.splices);
        }
        finds.opaque = finds.splices.len();
        if let Some(people) = &self.people
            && (calls.any(Calls::PEOPLE) || calls.any(Calls::ESCAPES))
        {
            let mut named = people.splices(line);
            named.retain(|one| {
                !finds
                    .splices
                    .iter()
                    .any(|other| overlap(&one.range, &other.range))
            });
            finds.splices.append(&mut named);
        }
        let Finds {
            hits,
            stuck,
            splices,
            ..
        } = &mut finds;
        self.exact.each(line, &mut |range, value| {
            let is_digit = |at: Option<usize>| {
                at.and_then(|at| line.get(at))
                    .is_some_and(u8::is_ascii_digit)
            };
            let is_part = is_digit(range.start.checked_sub(1)) || is_digit(Some(range.end));
            if !is_part && !hits.iter().any(|hit| overlap(&hit.range, &range)) {
                let Value { kind, bytes } = self.values[value].clone();
                let field = Strings::path_at(line, range.start);
                stuck.push(Hit {
                    field,
                    range,
                    kind,
                    secret: bytes,
                });
            }
        });
        hits.retain(|hit| {
            !splices
                .iter()
                .any(|splice| contains(&splice.range, &hit.range))
        });
        splices.retain(|splice| !hits.iter().any(|hit| overlap(&splice.range, &hit.range)));
        finds
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
                let mut hits = self.hits_in(found.raw.bytes, found.range.start, calls, rules);
                if !hits.is_empty() {
                    let field = strings.path();
                    hits.iter_mut().for_each(|hit| hit.field.clone_from(&field));
                    finds.hits.append(&mut hits);
                }
            }
        }
    }

    /// Returns the secrets in the bytes of one string, which begin at `start` in the line, and
    /// whose needles call for `calls`. Their `field` is empty.
    fn hits_in(&self, raw: &[u8], start: usize, calls: Calls, rules: bool) -> Vec<Hit> {
        let mut hits: Vec<Hit> = Vec::new();
        if raw.len() < 6 {
            return hits;
        }
        levels(raw).for_each(|spoken| self.hits_at_level(&spoken, calls, rules, &mut hits));
        for hit in &mut hits {
            hit.range = hit.range.start + start..hit.range.end + start;
        }
        hits.sort_by_key(|hit| hit.range.start);
        hits
    }

    fn hits_at_level(&self, spoken: &Spoken, calls: Calls, rules: bool, hits: &mut Vec<Hit>) {
        let text = &*spoken.text;
        self.exact.each(text, &mut |range, value| {
            let value = &self.values[value];
            put(hits, spoken.source(range), value.kind, &value.bytes);
        });
        if !rules || is_base64(text) {
            return;
        }
        // Unless letters are escaped, what this level calls for was called for by the raw bytes.
        let calls = if calls.any(Calls::ESCAPES) {
            self.calls_in(text)
        } else {
            calls
        };
        apply(calls, text, |range, kind, secret| {
            put(hits, spoken.source(range), kind, secret)
        });
        if calls.any(Calls::BASE64) {
            each_decoded(text, &mut |start, decoded| {
                let calls = self.calls_in(decoded);
                apply(calls, decoded, |range, kind, secret| {
                    // Four digits encode three bytes.
                    let encoded = start + range.start * 4 / 3..start + (range.end * 4).div_ceil(3);
                    put(hits, spoken.source(encoded), kind, secret);
                });
            });
        }
    }
}

/// Returns the range of the line around an offset, newline excluded.
fn line_around(bytes: &[u8], at: usize) -> Range<usize> {
    let start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |newline| newline + 1);
    start..memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |newline| at + newline)
}

/// Calls `found` with the range, the kind and the text of each secret that the called rules find in
/// a text.
fn apply(calls: Calls, text: &[u8], mut found: impl FnMut(Range<usize>, &'static str, &[u8])) {
    for (_, rule) in RULES
        .iter()
        .enumerate()
        .filter(|(at, _)| calls.any(Calls::rule(*at)))
    {
        for captures in rule.expression().captures_iter(text) {
            if let Some(secret) = rule.secret(&captures) {
                found(secret.range(), rule.kind, secret.as_bytes());
            }
        }
    }
}

/// Adds a secret, unless an earlier level or an earlier rule found it. If it overlaps others, they
/// become one, with the kind of the first: no part of a secret may remain.
fn put(hits: &mut Vec<Hit>, mut range: Range<usize>, kind: &'static str, secret: &[u8]) {
    if range.is_empty() || hits.iter().any(|hit| contains(&hit.range, &range)) {
        return;
    }
    let mut first = None;
    hits.retain(|hit| {
        let is_apart = !overlap(&hit.range, &range);
        if !is_apart {
            range = range.start.min(hit.range.start)..range.end.max(hit.range.end);
            first.get_or_insert_with(|| hit.clone());
        }
        is_apart
    });
    let hit = first.unwrap_or_else(|| Hit {
        kind,
        secret: secret.to_vec(),
        ..Hit::default()
    });
    hits.push(Hit { range, ..hit });
}

/// Calls `found` with what each run of base64 in the text encodes, and where it begins. What
/// precedes the first digit may consist of digits as well, so every alignment is tried.
fn each_decoded(text: &[u8], found: &mut dyn FnMut(usize, &[u8])) {
    const BASE64: GeneralPurpose = GeneralPurpose::new(
        &STANDARD,
        GeneralPurposeConfig::new()
            .with_decode_allow_trailing_bits(true)
            .with_decode_padding_mode(DecodePaddingMode::Indifferent),
    );
    let mut end = 0;
    while let Some(start) = text[end..].iter().position(is_digit).map(|at| end + at) {
        end = text[start..]
            .iter()
            .position(|byte| !is_digit(byte))
            .map_or(text.len(), |at| start + at);
        if end - start < SHORTEST_ENCODED {
            continue;
        }
        let digits: Vec<u8> = text[start..end]
            .iter()
            .map(|byte| match byte {
                b'-' => b'+',
                b'_' => b'/',
                other => *other,
            })
            .collect();
        for skipped in 0..4 {
            let whole = (digits.len() - skipped) / 4 * 4;
            let rest = &digits[skipped..];
            // One digit alone encodes nothing.
            let rest = if rest.len() == whole + 1 {
                &rest[..whole]
            } else {
                rest
            };
            if let Ok(decoded) = BASE64.decode(rest) {
                found(start + skipped, &decoded);
            }
        }
    }
}

/// Adds the replacements of whole blocks, which take precedence over those of strings in them.
fn add(blocks: Vec<Splice>, splices: &mut Vec<Splice>) {
    splices.retain(|splice| {
        !blocks
            .iter()
            .any(|block| overlap(&block.range, &splice.range))
    });
    splices.extend(blocks);
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

fn contains(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
