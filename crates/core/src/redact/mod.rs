//! Finds secrets in the lines of a session, and removes them.
//!
//! Only the bytes of a secret are replaced, by a placeholder such as `[REDACTED:github-pat#1]`. The
//! same secret gets the same placeholder, so the conversation stays readable. What cannot be read
//! cannot be cleaned: signatures, encrypted thinking and images are removed (`opaque.rs`).
//!
//! ```text
//! lines ──> Prefilter: what may they hold? ──nothing──> as they are
//!                    │ rules, values, signatures, …
//!                    v
//!           Strings ──> Spoken (escapes decoded, level by level) ──> Exact, SHAPES, RULES, ──> Finds
//!                                                                    assignments, cookies      │ in file order
//!                                                                                              v
//!                                                                   Redactor ──> placeholders ──> line
//! ```
//!
//! A secret that was found is also searched for everywhere else, as a value, in every spelling.
//!
//! Up to the finds, lines are independent of each other: `Search` is shared by threads. Reading
//! files and writing the copy is in [`crate::ops::redact`].

pub mod addresses;
mod assignments;
mod cookies;
mod encoded;
mod expressions;
mod keys;
mod names;
mod opaque;
pub mod people;
mod places;
mod prefilter;
mod resemblance;
mod rules;
mod search;
mod shapes;
mod unescape;
pub mod values;
mod windows;

use foldhash::{HashMap, HashSet};
pub use people::People;
use pisess_json::text::Text;
use pisess_json::{Raw, string};
use places::Hit;
pub use search::{Finds, Search};
pub use shapes::SHAPES_TABLE;
use std::collections::BTreeMap;
use std::ops::Range;
use values::Value;

/// The beginning of a placeholder.
pub const START: &str = "[REDACTED:";

/// A secret in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// The path of the string that contains it, as JavaScript would write it; empty for a malformed
    /// line.
    pub field: String,
    /// Its kind.
    pub kind: &'static str,
    /// The name to which it is assigned; empty if it is recognized by its shape.
    pub name: String,
    /// Its replacement.
    pub placeholder: String,
    /// Its length in bytes, as written in the line.
    pub length: usize,
    /// Whether it may be ordinary text elsewhere: see [`Value::is_ordinary`].
    pub is_ordinary: bool,
}

/// Bytes of a line to replace.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Splice {
    /// Their range in the line.
    range: Range<usize>,
    /// What replaces them.
    by: Vec<u8>,
}

/// Removes secrets from the lines of one session, in file order; by default, what the rules find.
#[derive(Default)]
pub struct Redactor {
    /// What finds them.
    pub search: Search,
    /// The kind and number of each secret seen, for its placeholder.
    numbers: HashMap<Vec<u8>, (&'static str, usize)>,
    /// The name to which each secret is assigned, if there is one.
    names: HashMap<Vec<u8>, String>,
    /// The last number used for each kind.
    last: BTreeMap<&'static str, usize>,
    /// The placeholders of secrets that were removed before, whose numbers are not used again.
    taken: HashSet<(String, usize)>,
}

impl Redactor {
    /// Returns a redactor for these values, in addition to the rules, and for the home directories
    /// and names of `people`.
    pub fn new(values: Vec<Value>, people: Option<People>, keeps_images: bool) -> Redactor {
        Redactor {
            search: Search::new(values, people, keeps_images),
            ..Redactor::default()
        }
    }

    /// Numbers the secrets in lines, in file order; the second of each pair is whether the line is
    /// an entry with a summary.
    ///
    /// The built-in summary is made with these numbers, and the secrets of later lines do not
    /// change them: a placeholder that a summary contains before any other line, and whose number a
    /// secret above it has, is that secret's. All other placeholders in the lines are of secrets
    /// that were removed before, and keep their numbers.
    pub fn number<'a>(&mut self, lines: impl Iterator<Item = (&'a Finds, bool)> + Clone) {
        let mut first_in_summary = HashSet::default();
        for (finds, is_summary) in lines.clone() {
            let placeholders = finds.placeholders.iter();
            let new = placeholders
                .filter(|placeholder| !first_in_summary.contains(*placeholder))
                .cloned();
            let new: Vec<_> = new.collect();
            if is_summary {
                first_in_summary.extend(new)
            } else {
                self.taken.extend(new)
            }
        }
        for (finds, is_summary) in lines {
            for hit in &finds.hits {
                self.numbered(hit.kind, &hit.secret);
                if !hit.name.is_empty() && !self.names.contains_key(&hit.secret) {
                    self.names.insert(hit.secret.clone(), hit.name.clone());
                }
            }
            let unknown = |(kind, number): &&(String, usize)| {
                self.last
                    .get(kind.as_str())
                    .is_none_or(|last| number > last)
            };
            self.taken.extend(
                finds
                    .placeholders
                    .iter()
                    .filter(|_| is_summary)
                    .filter(unknown)
                    .cloned(),
            );
        }
    }

    /// Numbers the secrets that were found in the next line, in their order, and plans their
    /// replacement.
    pub fn redact(&mut self, finds: &mut Finds) -> Vec<Secret> {
        let mut secrets = Vec::new();
        for hit in std::mem::take(&mut finds.hits) {
            let (secret, range) = self.secret(hit);
            finds.splices.push(Splice {
                range,
                by: secret.placeholder.clone().into_bytes(),
            });
            secrets.push(secret);
        }
        secrets
    }

    /// Numbers the secrets in the next line that cannot be replaced.
    pub fn stuck(&mut self, finds: &mut Finds) -> Vec<Secret> {
        std::mem::take(&mut finds.stuck)
            .into_iter()
            .map(|hit| self.secret(hit).0)
            .collect()
    }

    /// Removes the secrets from a text that is not a line.
    pub fn clean(&mut self, text: &mut String) {
        if !self.search.may_find(text.as_bytes()) {
            return;
        }
        let mut line = string::encoded(&Text::from(&**text));
        let mut found = Finds::default();
        self.search.each_line(&line, &mut |_, finds| found = finds);
        if !found.is_clean() {
            self.redact(&mut found);
            line = found.without(&line);
            *text = Raw::checked(&line)
                .text()
                .unwrap_or_default()
                .into_string_lossy();
        }
    }

    /// Numbers a secret. Returns it with its range in the line.
    fn secret(&mut self, hit: Hit) -> (Secret, Range<usize>) {
        let Hit {
            field,
            range,
            kind,
            name,
            secret,
        } = hit;
        let value = Value {
            kind: self.numbered(kind, &secret).0,
            bytes: secret,
        };
        // Where it is found by its value, it has the name from where it is assigned.
        let name = if name.is_empty() {
            self.names.get(&value.bytes).cloned().unwrap_or_default()
        } else {
            name
        };
        let placeholder = self.placeholder(&value);
        let (kind, is_ordinary) = (value.kind, value.is_ordinary());
        (
            Secret {
                field,
                kind,
                name,
                placeholder,
                length: range.len(),
                is_ordinary,
            },
            range,
        )
    }

    /// Returns the secrets of at least four bytes numbered so far, as values to search for: to
    /// prove that none is left.
    pub fn found(&self) -> Vec<Value> {
        let values = self.numbers.iter().map(|(bytes, (kind, _))| Value {
            kind,
            bytes: bytes.clone(),
        });
        values.filter(|value| value.bytes.len() >= 4).collect()
    }

    /// Returns the secrets of at least four bytes in a line, each with the kind that it has
    /// everywhere.
    pub fn values(&self, finds: &Finds) -> impl Iterator<Item = Value> {
        let long = finds.hits.iter().filter(|hit| hit.secret.len() >= 4);
        long.map(|hit| Value {
            kind: self
                .numbers
                .get(&hit.secret)
                .map_or(hit.kind, |(kind, _)| kind),
            bytes: hit.secret.clone(),
        })
    }

    /// Removes the secrets found so far from a text, wherever they are in it, as
    /// [`Redactor::clean`] does.
    pub fn clean_found(&mut self, text: &mut String) {
        let found = self
            .found()
            .into_iter()
            .filter(|value| !value.is_ordinary());
        self.search.extend(found.collect());
        self.clean(text);
    }

    /// Returns the placeholder of a secret; a new one gets the next number of its kind.
    pub fn placeholder(&mut self, value: &Value) -> String {
        let (kind, number) = self.numbered(value.kind, &value.bytes);
        format!("{START}{kind}#{number}]")
    }

    /// Returns the kind and number of a secret. If several rules find it, it has the kind of the
    /// first.
    fn numbered(&mut self, kind: &'static str, secret: &[u8]) -> (&'static str, usize) {
        if let Some(known) = self.numbers.get(secret) {
            return *known;
        }
        let last = self.last.entry(kind).or_default();
        *last += 1;
        while self.taken.contains(&(kind.to_owned(), *last)) {
            *last += 1;
        }
        self.numbers.insert(secret.to_vec(), (kind, *last));
        (kind, *last)
    }
}

#[cfg(test)]
mod tests;
