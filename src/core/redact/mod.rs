//! Finds secrets in the lines of a session, and removes them.
//!
//! A line is other people's bytes: only the bytes of a secret are replaced, by a placeholder such as
//! `[REDACTED:github-pat#1]`. The same secret gets the same placeholder, so the conversation stays readable.
//! What cannot be read cannot be cleaned: signatures, encrypted thinking and images are removed
//! (`opaque.rs`).
//!
//! ```text
//! line ──> Needles: may it hold one? ──no──> as it is
//!                    │ yes
//!                    v
//!          Strings ──> Spoken (escapes resolved, level by level) ──> Exact, RULES ──> spans ──> placeholders
//! ```
//!
//! Reading files and writing the copy is in [`crate::core::ops::redact`].

mod needles;
mod opaque;
pub mod people;
mod rules;
mod shape;
mod unescape;
pub mod values;

use crate::core::json::strings::Strings;
use foldhash::HashMap;
use needles::Needles;
pub use people::People;
use std::collections::BTreeMap;
use std::ops::Range;
use unescape::Spoken;
use values::{Exact, Value};

/// What to remove besides secrets.
#[derive(Debug, Default)]
pub struct Options {
    /// Keep images.
    pub keep_images: bool,
    /// Home directories and user names to replace, if requested.
    pub people: Option<People>,
}

/// A secret in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// The path of the string that contains it, as JavaScript would write it; empty for a malformed line.
    pub field: String,
    /// Its kind.
    pub kind: &'static str,
    /// Its replacement.
    pub placeholder: String,
    /// Its length in bytes, as written in the line.
    pub length: usize,
}

/// A line without its secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redacted {
    /// The new line; `None` if nothing was removed.
    pub line: Option<Vec<u8>>,
    /// The secrets, in the order of the line.
    pub findings: Vec<Finding>,
    /// Signatures, encrypted texts and images that were removed.
    pub opaque: usize,
}

/// Bytes of a line to replace.
#[derive(Clone, Debug)]
struct Splice {
    /// Their range in the line.
    range: Range<usize>,
    /// What replaces them.
    by: Vec<u8>,
}

/// A secret in a string, before it is numbered.
#[derive(Debug)]
struct Hit {
    /// Its range in the line.
    range: Range<usize>,
    kind: &'static str,
    /// Its text, with all escapes decoded.
    secret: Vec<u8>,
}

/// Strings under these keys are names; only exact values are searched for in them.
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

/// The maximum number of levels of JSON inside strings of JSON.
const LEVELS: usize = 6;

/// Removes secrets from the lines of one session, in file order.
pub struct Redactor {
    options: Options,
    values: Vec<Value>,
    exact: Exact,
    needles: Needles,
    /// The number of each secret seen, for its placeholder.
    numbers: HashMap<(&'static str, Vec<u8>), usize>,
    /// The last number used for each kind.
    last: BTreeMap<String, usize>,
}

impl Redactor {
    /// Returns a redactor for these values, in addition to the rules.
    pub fn new(values: Vec<Value>, options: Options) -> Redactor {
        let exact = Exact::new(&values);
        let needles = Needles::new(exact.needles().chain(options.people.iter().flat_map(People::needles)));
        Redactor { options, values, exact, needles, numbers: HashMap::default(), last: BTreeMap::new() }
    }

    /// Calls `line` with the range of each line of `bytes` that may contain something to remove; in no
    /// particular order, possibly several times for a line. The other lines contain nothing.
    pub fn each_candidate(&self, bytes: &[u8], line: &mut dyn FnMut(Range<usize>)) {
        self.needles.each_line(bytes, line);
    }

    /// Reads the placeholders that a line has already, so that new numbers do not repeat theirs.
    pub fn notice_placeholders(&mut self, line: &[u8]) {
        const START: &[u8] = b"[REDACTED:";
        for at in memchr::memmem::find_iter(line, START) {
            let rest = &line[at + START.len()..];
            let Some(end) = memchr::memchr(b']', &rest[..rest.len().min(80)]) else { continue };
            let Ok(inner) = std::str::from_utf8(&rest[..end]) else { continue };
            if let Some((kind, number)) = inner.rsplit_once('#')
                && let Ok(number) = number.parse::<usize>()
            {
                let last = self.last.entry(kind.to_owned()).or_default();
                *last = (*last).max(number.min(1 << 40));
            }
        }
    }

    /// Removes the secrets from a line, which is given without its newline.
    pub fn line(&mut self, line: &[u8]) -> Redacted {
        let (mut hits, is_json) = self.hits(line);
        let mut redacted = Redacted::default();
        let mut splices = if is_json { opaque::splices(line, self.options.keep_images) } else { Vec::new() };
        redacted.opaque = splices.len();
        if is_json && let Some(people) = &self.options.people {
            splices.extend(people.splices(line));
        }
        hits.retain(|(_, hit)| {
            !splices
                .iter()
                .any(|splice| splice.range.start <= hit.range.start && hit.range.end <= splice.range.end)
        });
        splices.retain(|splice| !hits.iter().any(|(_, hit)| overlap(&splice.range, &hit.range)));
        for (field, hit) in hits {
            let placeholder = self.placeholder(hit.kind, hit.secret);
            splices.push(Splice { range: hit.range.clone(), by: placeholder.clone().into_bytes() });
            redacted.findings.push(Finding { field, kind: hit.kind, placeholder, length: hit.range.len() });
        }
        if !splices.is_empty() {
            redacted.line = Some(spliced(line, splices));
        }
        redacted
    }

    /// Returns every secret found so far, as values to search for: to prove that none is left.
    pub fn found(&self) -> Vec<Value> {
        let found = self.numbers.keys().filter(|(_, secret)| secret.len() >= 4);
        found.map(|(kind, secret)| Value { kind, bytes: secret.clone() }).collect()
    }

    /// Returns the secrets of a line with their fields, in order and without overlaps; and whether the line
    /// is JSON.
    fn hits(&self, line: &[u8]) -> (Vec<(String, Hit)>, bool) {
        let mut hits = Vec::new();
        let mut strings = Strings::new(line);
        loop {
            match strings.advance() {
                Ok(Some(found)) => {
                    let rules = found.is_key || !is_name(strings.nearest_key(), found.raw.bytes);
                    let of_string = self.hits_in(found.raw.bytes, found.range.start, rules);
                    if !of_string.is_empty() {
                        let path = strings.path();
                        hits.extend(of_string.into_iter().map(|hit| (path.clone(), hit)));
                    }
                }
                Ok(None) => return (hits, true),
                // A torn or malformed line is searched as text.
                Err(_) => {
                    let whole = self.hits_in(line, 0, true);
                    return (whole.into_iter().map(|hit| (String::new(), hit)).collect(), false);
                }
            }
        }
    }

    /// Returns the secrets in the bytes of one string, which begin at `start` of the line.
    fn hits_in(&self, raw: &[u8], start: usize, rules: bool) -> Vec<Hit> {
        if raw.len() < 6 {
            return Vec::new();
        }
        let mut hits: Vec<Hit> = Vec::new();
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
                hits.push(Hit { range: source, kind, secret: secret.to_vec() });
            }
        };
        self.exact.each(&spoken.text, &mut |range, value| {
            let value = &self.values[value];
            add(range, value.kind, &value.bytes);
        });
        if !rules || is_base64(&spoken.text) || !self.needles.occur_in(&spoken.text) {
            return;
        }
        for rule in &rules::RULES {
            let holds = |keyword: &&str| memchr::memmem::find(&spoken.text, keyword.as_bytes()).is_some();
            if !rule.keywords.iter().any(holds) {
                continue;
            }
            for captures in rule.expression().captures_iter(&spoken.text) {
                let group = (1..captures.len()).find_map(|group| captures.get(group)).or(captures.get(0));
                let Some(secret) = group.filter(|secret| (rule.is_secret)(secret.as_bytes())) else {
                    continue;
                };
                add(secret.range(), rule.kind, secret.as_bytes());
            }
        }
    }

    /// Returns the placeholder of a secret; a new one gets the next number of its kind.
    fn placeholder(&mut self, kind: &'static str, secret: Vec<u8>) -> String {
        let last = self.last.entry(kind.to_owned()).or_default();
        let number = *self.numbers.entry((kind, secret)).or_insert_with(|| {
            *last += 1;
            *last
        });
        format!("[REDACTED:{kind}#{number}]")
    }
}

/// Whether a string is a name according to its key, and short enough to be one.
fn is_name(key: &[u8], value: &[u8]) -> bool {
    value.len() <= 80 && NAMES.iter().any(|name| key == name.as_bytes())
}

/// Whether the text is the content of a picture or another file: it cannot be searched.
fn is_base64(text: &[u8]) -> bool {
    let in_alphabet =
        |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=' | b'-' | b'_');
    text.len() >= 512 && text.iter().all(in_alphabet)
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

fn spliced(line: &[u8], mut splices: Vec<Splice>) -> Vec<u8> {
    splices.sort_by_key(|splice| splice.range.start);
    let mut out = Vec::with_capacity(line.len());
    let mut at = 0;
    for splice in splices {
        out.extend_from_slice(&line[at..splice.range.start]);
        out.extend_from_slice(&splice.by);
        at = splice.range.end;
    }
    out.extend_from_slice(&line[at..]);
    out
}

#[cfg(test)]
mod tests;
