//! Finds what is to be removed from lines. A search changes nothing, so any number of threads can share it.

use super::needles::{Calls, Needles};
use super::people::People;
use super::rules::RULES;
use super::unescape::Spoken;
use super::values::{Exact, Value};
use super::{Options, Splice, opaque, overlap};
use crate::core::json::strings::Strings;
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
    /// The placeholders that the line has already: kind and number.
    pub(super) placeholders: Vec<(String, usize)>,
}

impl Finds {
    /// Whether there is nothing to remove.
    pub fn is_clean(&self) -> bool {
        self.hits.is_empty() && self.splices.is_empty()
    }

    /// Whether there is a secret, or a placeholder of one.
    pub fn has_secrets(&self) -> bool {
        !self.hits.is_empty() || !self.placeholders.is_empty()
    }
}

/// A secret, before it is numbered.
#[derive(Clone, Debug)]
pub(super) struct Hit {
    /// The path of the string that contains it; empty for a malformed line.
    pub field: String,
    /// Its range in the line.
    pub range: Range<usize>,
    pub kind: &'static str,
    /// Its text, with all escapes decoded.
    pub secret: Vec<u8>,
}

/// The keys of identifiers, types and times, in which only the values given by the user are searched for.
const NAMES: [&str; 9] = [
    "id",
    "parentId",
    "targetId",
    "fromId",
    "firstKeptEntryId",
    "toolCallId",
    "timestamp",
    "type",
    "responseId",
];

/// The maximum number of levels of JSON nested in JSON strings.
pub(super) const LEVELS: usize = 6;

/// The rules, the values given by the user, and the options.
pub(super) struct Search {
    options: Options,
    values: Vec<Value>,
    exact: Exact,
    needles: Needles,
}

impl Search {
    /// Returns a search for these values, in addition to the rules.
    pub fn new(values: Vec<Value>, options: Options) -> Search {
        let exact = Exact::new(&values);
        let people = options.people.iter().flat_map(People::needles).map(|needle| (needle, Calls::PEOPLE));
        let needles = Needles::new(exact.needles().map(|needle| (needle, Calls::VALUES)).chain(people));
        Search { options, values, exact, needles }
    }

    /// Calls `line` for each line of `bytes` that may contain something to remove, in order: with its range,
    /// newline excluded, and what was found in it.
    pub fn each_line(&self, bytes: &[u8], line: &mut dyn FnMut(Range<usize>, Finds)) {
        self.needles.each_line(bytes, &mut |range, calls| {
            let finds = self.line(&bytes[range.clone()], calls);
            line(range, finds);
        });
    }

    /// Returns what is found in a line whose needles call for `calls`.
    pub fn line(&self, line: &[u8], calls: Calls) -> Finds {
        let mut finds = Finds::default();
        if calls.any(Calls::PLACEHOLDERS) {
            finds.placeholders = placeholders(line);
        }
        if !self.strings(line, calls, &mut finds) {
            // A torn or malformed line is searched as text.
            finds.hits = self.hits_in(line, 0, true);
            finds.splices.clear();
            return finds;
        }
        if calls.any(Calls::BLOCKS | Calls::ESCAPES) {
            add(opaque::blocks(line, self.options.keep_images), &mut finds.splices);
        }
        finds.opaque = finds.splices.len();
        if let Some(people) =
            self.options.people.as_ref().filter(|_| calls.any(Calls::PEOPLE | Calls::ESCAPES))
        {
            let free = |one: &Splice| !finds.splices.iter().any(|other| overlap(&one.range, &other.range));
            let mut people = people.splices(line);
            people.retain(free);
            finds.splices.append(&mut people);
        }
        let Finds { hits, splices, .. } = &mut finds;
        hits.retain(|hit| !splices.iter().any(|splice| contains(&splice.range, &hit.range)));
        splices.retain(|splice| !hits.iter().any(|hit| overlap(&splice.range, &hit.range)));
        finds
    }

    /// Adds the secrets and the signatures in the strings of a line. Returns whether the line is JSON.
    fn strings(&self, line: &[u8], calls: Calls, finds: &mut Finds) -> bool {
        let is_text = calls.any(Calls::TEXT);
        let is_signed = calls.any(Calls::SIGNATURES);
        let mut strings = Strings::new(line);
        loop {
            let found = match strings.advance() {
                Ok(Some(found)) => found,
                Ok(None) => return true,
                Err(_) => return false,
            };
            if is_signed && !found.is_key && !found.range.is_empty() && opaque::is_key(strings.nearest_key())
            {
                finds.splices.push(Splice { range: found.range.clone(), by: Vec::new() });
            }
            if is_text {
                let rules = found.is_key || !is_name(strings.nearest_key(), found.raw.bytes);
                let mut hits = self.hits_in(found.raw.bytes, found.range.start, rules);
                if !hits.is_empty() {
                    let field = strings.path();
                    hits.iter_mut().for_each(|hit| hit.field.clone_from(&field));
                    finds.hits.append(&mut hits);
                }
            }
        }
    }

    /// Returns the secrets in the bytes of one string, which begin at `start` in the line. Their `field` is
    /// empty.
    fn hits_in(&self, raw: &[u8], start: usize, rules: bool) -> Vec<Hit> {
        let mut hits: Vec<Hit> = Vec::new();
        // Unless letters are escaped, a needle on any level of escapes is in the raw bytes as well.
        if raw.len() < 6 || !self.needles.calls_in(raw).any(Calls::TEXT) {
            return hits;
        }
        let mut spoken = Spoken::plain(raw);
        for _ in 0..LEVELS {
            self.hits_at_level(&spoken, rules, &mut hits);
            match spoken.unescaped() {
                Some(next) => spoken = next,
                None => break,
            }
        }
        for hit in &mut hits {
            hit.range = hit.range.start + start..hit.range.end + start;
        }
        hits.sort_by_key(|hit| hit.range.start);
        hits
    }

    fn hits_at_level(&self, spoken: &Spoken, rules: bool, hits: &mut Vec<Hit>) {
        let mut add = |range: Range<usize>, kind: &'static str, secret: &[u8]| {
            let source = spoken.source(range);
            // What an earlier level or an earlier rule found takes precedence.
            if !source.is_empty() && !hits.iter().any(|hit| overlap(&hit.range, &source)) {
                hits.push(Hit { field: String::new(), range: source, kind, secret: secret.to_vec() });
            }
        };
        self.exact.each(&spoken.text, &mut |range, value| {
            let value = &self.values[value];
            add(range, value.kind, &value.bytes);
        });
        if !rules || is_base64(&spoken.text) {
            return;
        }
        let calls = self.needles.calls_in(&spoken.text);
        for (_, rule) in RULES.iter().enumerate().filter(|(at, _)| calls.any(Calls::rule(*at))) {
            for captures in rule.expression().captures_iter(&spoken.text) {
                let group = (1..captures.len()).find_map(|group| captures.get(group)).or(captures.get(0));
                let Some(secret) = group.filter(|secret| (rule.is_secret)(secret.as_bytes())) else {
                    continue;
                };
                add(secret.range(), rule.kind, secret.as_bytes());
            }
        }
    }
}

/// Adds the replacements of whole blocks, which take precedence over those of strings in them.
fn add(blocks: Vec<Splice>, splices: &mut Vec<Splice>) {
    splices.retain(|splice| !blocks.iter().any(|block| overlap(&block.range, &splice.range)));
    splices.extend(blocks);
}

/// Returns the placeholders in a line.
pub(super) fn placeholders(line: &[u8]) -> Vec<(String, usize)> {
    const START: &[u8] = b"[REDACTED:";
    let read = |at: usize| {
        let rest = &line[at + START.len()..];
        let end = memchr::memchr(b']', &rest[..rest.len().min(80)])?;
        let (kind, number) = std::str::from_utf8(&rest[..end]).ok()?.rsplit_once('#')?;
        Some((kind.to_owned(), number.parse().ok()?))
    };
    memchr::memmem::find_iter(line, START).filter_map(read).collect()
}

/// Whether a string is an identifier according to its key, and short enough to be one.
pub(super) fn is_name(key: &[u8], value: &[u8]) -> bool {
    value.len() <= 80 && NAMES.iter().any(|name| key == name.as_bytes())
}

/// Whether the text looks like a picture or another file in base64, which cannot be searched.
pub(super) fn is_base64(text: &[u8]) -> bool {
    let in_alphabet =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_');
    text.len() >= 512 && text.iter().all(in_alphabet)
}

fn contains(outer: &Range<usize>, inner: &Range<usize>) -> bool {
    outer.start <= inner.start && inner.end <= outer.end
}
