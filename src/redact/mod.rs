//! Finds secrets in the lines of a session, and removes them.
//!
//! Only the bytes of a secret are replaced, by a placeholder such as `[REDACTED:github-pat#1]`. The same
//! secret gets the same placeholder, so the conversation stays readable. What cannot be read cannot be
//! cleaned: signatures, encrypted thinking and images are removed (`opaque.rs`).
//!
//! ```text
//! lines ──> Needles: what may they hold? ──nothing──> as they are
//!                    │ rules, values, signatures, …
//!                    v
//!           Strings ──> Spoken (escapes decoded, level by level) ──> Exact, RULES ──> Finds
//!                                                                                     │ in file order
//!                                                                                     v
//!                                                                   Redactor ──> placeholders ──> line
//! ```
//!
//! A secret that was found is also searched for everywhere else, as a value, in every spelling.
//!
//! Up to the finds, lines are independent of each other: `Search` is shared by threads. Reading files and
//! writing the copy is in [`crate::ops::redact`].

pub mod addresses;
mod opaque;
pub mod people;
mod prefilter;
mod resemblance;
mod rules;
mod search;
mod unescape;
pub mod values;

use foldhash::HashMap;
pub use people::People;
use pisess_json::text::Text;
use pisess_json::{Raw, string};
pub use search::Finds;
use search::{Hit, Search};
use std::collections::BTreeMap;
use std::ops::Range;
use values::Value;

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
pub struct Secret {
    /// The path of the string that contains it, as JavaScript would write it; empty for a malformed line.
    pub field: String,
    /// Its kind.
    pub kind: &'static str,
    /// Its replacement.
    pub placeholder: String,
    /// Its length in bytes, as written in the line.
    pub length: usize,
    /// Whether it may be ordinary text elsewhere: see [`Value::is_ordinary`].
    pub is_ordinary: bool,
}

/// A line without its secrets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Redacted {
    /// The secrets, in the order of the line.
    pub secrets: Vec<Secret>,
    /// Secrets that cannot be replaced.
    pub stuck: Vec<Secret>,
    splices: Vec<Splice>,
}

/// Bytes of a line to replace.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Splice {
    /// Their range in the line.
    range: Range<usize>,
    /// What replaces them.
    by: Vec<u8>,
}

/// Removes secrets from the lines of one session, in file order.
pub struct Redactor {
    search: Search,
    /// The number of each secret seen, for its placeholder.
    numbers: HashMap<Value, usize>,
    /// The last number used for each kind.
    last: BTreeMap<String, usize>,
}

impl Default for Redactor {
    /// Returns a redactor for what the rules find.
    fn default() -> Redactor {
        Redactor::new(Vec::new(), Options::default())
    }
}

impl Redactor {
    /// Returns a redactor for these values, in addition to the rules.
    pub fn new(values: Vec<Value>, options: Options) -> Redactor {
        Redactor { search: Search::new(values, options), numbers: HashMap::default(), last: BTreeMap::new() }
    }

    /// Calls `line` for each line of `bytes` that may contain something to remove, in order: with its range,
    /// newline excluded, and what was found in it.
    pub fn each_line(&self, bytes: &[u8], line: &mut dyn FnMut(Range<usize>, Finds)) {
        self.search.each_line(bytes, line);
    }

    /// Records the placeholders that a line already contains, so that new ones get other numbers.
    pub fn notice_placeholders(&mut self, finds: &Finds) {
        for (kind, number) in &finds.placeholders {
            let last = self.last.entry(kind.clone()).or_default();
            *last = (*last).max((*number).min(1 << 40));
        }
    }

    /// Numbers the secrets that were found in the next line.
    pub fn redact(&mut self, finds: Finds) -> Redacted {
        let mut redacted = Redacted { splices: finds.splices, ..Redacted::default() };
        for hit in finds.stuck {
            redacted.stuck.push(self.secret(hit).0);
        }
        for hit in finds.hits {
            let (secret, range) = self.secret(hit);
            redacted.splices.push(Splice { range, by: secret.placeholder.clone().into_bytes() });
            redacted.secrets.push(secret);
        }
        redacted
    }

    /// Removes the secrets from a text that is not a line.
    pub fn clean(&mut self, text: &mut String) {
        if !self.search.may_find(text.as_bytes()) {
            return;
        }
        let mut line = string::encoded(&Text::from(&**text));
        let mut found = Finds::default();
        self.each_line(&line, &mut |_, finds| found = finds);
        if !found.is_clean() {
            line = self.redact(found).line(&line);
            *text = Raw::checked(&line).text().unwrap_or_default().into_string_lossy();
        }
    }

    /// Numbers a secret. Returns it with its range in the line.
    fn secret(&mut self, hit: Hit) -> (Secret, Range<usize>) {
        let Hit { field, range, kind, secret } = hit;
        let value = Value { kind, bytes: secret };
        let is_ordinary = value.is_ordinary();
        let placeholder = self.placeholder(value);
        (Secret { field, kind, placeholder, length: range.len(), is_ordinary }, range)
    }

    /// Returns the secrets of at least four bytes numbered so far, as values to search for: to prove that none
    /// is left.
    pub fn found(&self) -> Vec<Value> {
        self.numbers.keys().filter(|value| value.bytes.len() >= 4).cloned().collect()
    }

    /// Removes the secrets found so far from a text, wherever they are in it, as [`Redactor::clean`] does.
    pub fn clean_found(&mut self, text: &mut String) {
        let found = self.found().into_iter().filter(|value| !value.is_ordinary());
        self.search_for(found.collect());
        self.clean(text);
    }

    /// Searches for these values as well, from now on only in the lines that may contain one of them.
    pub fn search_for(&mut self, values: Vec<Value>) {
        let search = std::mem::replace(&mut self.search, Search::new(Vec::new(), Options::default()));
        self.search = search.extended(values);
    }

    /// Returns the placeholder of a secret; a new one gets the next number of its kind.
    pub fn placeholder(&mut self, value: Value) -> String {
        let kind = value.kind;
        let last = self.last.entry(kind.to_owned()).or_default();
        let number = *self.numbers.entry(value).or_insert_with(|| {
            *last += 1;
            *last
        });
        format!("[REDACTED:{kind}#{number}]")
    }
}

impl Redacted {
    /// Returns the new line.
    pub fn line(mut self, line: &[u8]) -> Vec<u8> {
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
}

fn overlap(one: &Range<usize>, other: &Range<usize>) -> bool {
    one.start < other.end && other.start < one.end
}

#[cfg(test)]
mod tests;
