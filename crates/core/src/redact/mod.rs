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
//!           Strings ──> MappedText (escapes decoded, level by level) ──> Exact, SHAPES, RULES, ──> Finds
//!                                                                        assignments, cookies      │ in file order
//!                                                                                                  v
//!                                                                       Redactor ──> placeholders ──> line
//! ```
//!
//! A secret that was found is also searched for everywhere else, as a value, in every spelling.
//!
//! Up to the finds, lines are independent of each other: `SecretSearch` is shared by threads.
//! Reading files and writing the copy is in [`crate::ops::redact`].

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
use places::SecretHit;
pub use search::{Finds, SecretSearch};
pub use shapes::SHAPES_TABLE;
use std::collections::BTreeMap;
use std::ops::Range;
use values::SecretValue;

/// The beginning of a placeholder.
pub const PLACEHOLDER_START: &str = "[REDACTED:";

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
    /// Whether it may be ordinary text elsewhere: see [`SecretValue::is_ordinary`].
    pub is_ordinary: bool,
}

/// The minimum length of a secret, in bytes, to be searched for as a value.
const SHORTEST_VALUE: usize = 4;

/// Bytes of a line to replace.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Splice {
    /// Their range in the line.
    range: Range<usize>,
    /// What replaces them.
    replacement: Vec<u8>,
}

/// Removes secrets from the lines of one session, in file order; by default, what the rules find.
#[derive(Default)]
pub struct Redactor {
    /// What finds them.
    pub search: SecretSearch,
    /// The kind and number of each secret seen, for its placeholder.
    numbers: HashMap<Vec<u8>, (&'static str, usize)>,
    /// The name to which each secret is assigned, if there is one.
    names: HashMap<Vec<u8>, String>,
    /// The last number used for each kind.
    last_numbers: BTreeMap<&'static str, usize>,
    /// The placeholders of secrets that were removed before, whose numbers are not used again.
    reserved_placeholders: HashSet<(String, usize)>,
}

impl Redactor {
    /// Returns a redactor for these values, in addition to the rules, and for the home directories
    /// and names of `people`.
    pub fn new(values: Vec<SecretValue>, people: Option<People>, keeps_images: bool) -> Redactor {
        Redactor {
            search: SecretSearch::new(values, people, keeps_images),
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
    pub fn number_secrets<'a>(&mut self, lines: impl Iterator<Item = (&'a Finds, bool)> + Clone) {
        // All placeholders of lines are known before the first secret is numbered.
        let mut first_in_summary = HashSet::default();
        for (finds, is_summary) in lines.clone() {
            for placeholder in &finds.placeholders {
                if first_in_summary.contains(placeholder) {
                    continue;
                }
                if is_summary {
                    first_in_summary.insert(placeholder.clone());
                } else {
                    self.reserved_placeholders.insert(placeholder.clone());
                }
            }
        }

        for (finds, is_summary) in lines {
            for hit in &finds.hits {
                self.assign_number(hit.kind, &hit.secret);
                if !hit.name.is_empty() && !self.names.contains_key(&hit.secret) {
                    self.names.insert(hit.secret.clone(), hit.name.clone());
                }
            }
            if !is_summary {
                continue;
            }
            for (kind, number) in &finds.placeholders {
                let is_of_secret_above = self
                    .last_numbers
                    .get(kind.as_str())
                    .is_some_and(|last| number <= last);
                if !is_of_secret_above {
                    self.reserved_placeholders.insert((kind.clone(), *number));
                }
            }
        }
    }

    /// Numbers the secrets that were found in the next line, in their order, and moves them from
    /// `finds.hits` to the replacements. Returns them in their order.
    pub fn plan_replacements(&mut self, finds: &mut Finds) -> Vec<Secret> {
        let mut secrets = Vec::new();
        for hit in std::mem::take(&mut finds.hits) {
            let range = hit.range.clone();
            let secret = self.number_hit(hit);
            finds.splices.push(Splice {
                range,
                replacement: secret.placeholder.clone().into_bytes(),
            });
            secrets.push(secret);
        }
        secrets
    }

    /// Numbers the secrets in the next line that cannot be replaced, and takes them from `finds`.
    pub fn take_stuck(&mut self, finds: &mut Finds) -> Vec<Secret> {
        let mut secrets = Vec::new();
        for hit in std::mem::take(&mut finds.stuck) {
            secrets.push(self.number_hit(hit));
        }
        secrets
    }

    /// Removes the secrets from a text that is not a line: it is searched as a line that consists
    /// of one string.
    pub fn redact_text(&mut self, text: &mut String) {
        if !self.search.may_find(text.as_bytes()) {
            return;
        }
        let line = string::encode_to_vec(&Text::from(&**text));
        let mut line_finds = Finds::default();
        self.search
            .each_line(&line, &mut |_, finds| line_finds = finds);
        if line_finds.is_clean() {
            return;
        }

        self.plan_replacements(&mut line_finds);
        let redacted = line_finds.apply_to(&line);
        *text = Raw::from_checked(&redacted)
            .text()
            .unwrap_or_default()
            .into_string_lossy();
    }

    /// Numbers a secret that was found, and gives it its placeholder. Its kind is the one under
    /// which it was found first.
    fn number_hit(&mut self, hit: SecretHit) -> Secret {
        let (kind, _) = self.assign_number(hit.kind, &hit.secret);
        let value = SecretValue {
            kind,
            bytes: hit.secret,
        };
        // Where it is found by its value, it has the name from where it is assigned.
        let name = if hit.name.is_empty() {
            self.names.get(&value.bytes).cloned().unwrap_or_default()
        } else {
            hit.name
        };
        Secret {
            field: hit.field,
            kind,
            name,
            placeholder: self.placeholder_for(&value),
            length: hit.range.len(),
            is_ordinary: value.is_ordinary(),
        }
    }

    /// Returns the secrets of at least `SHORTEST_VALUE` bytes numbered so far, as values to search
    /// for: to prove that none is left.
    pub fn found_values(&self) -> Vec<SecretValue> {
        let mut values = Vec::new();
        for (secret, (kind, _)) in &self.numbers {
            if secret.len() >= SHORTEST_VALUE {
                values.push(SecretValue {
                    kind,
                    bytes: secret.clone(),
                });
            }
        }
        values
    }

    /// Returns the secrets of at least `SHORTEST_VALUE` bytes in a line, each with the kind that it
    /// has everywhere.
    pub fn values_in(&self, finds: &Finds) -> impl Iterator<Item = SecretValue> {
        let long_hits = finds
            .hits
            .iter()
            .filter(|hit| hit.secret.len() >= SHORTEST_VALUE);
        long_hits.map(|hit| SecretValue {
            kind: self
                .numbers
                .get(&hit.secret)
                .map_or(hit.kind, |(kind, _)| kind),
            bytes: hit.secret.clone(),
        })
    }

    /// Removes the secrets found so far from a text, wherever they are in it, as
    /// [`Redactor::redact_text`] does. Secrets that may be ordinary text remain. The search stays
    /// narrow afterwards: see [`SecretSearch::narrow_with`].
    pub fn redact_known_values(&mut self, text: &mut String) {
        let mut values = self.found_values();
        values.retain(|value| !value.is_ordinary());
        self.search.narrow_with(values);
        self.redact_text(text);
    }

    /// Returns the placeholder of a secret; a new one gets the next number of its kind.
    pub fn placeholder_for(&mut self, value: &SecretValue) -> String {
        let (kind, number) = self.assign_number(value.kind, &value.bytes);
        format!("{PLACEHOLDER_START}{kind}#{number}]")
    }

    /// Returns the kind and number of a secret. A new one has `kind`, and the next number of that
    /// kind which no placeholder of an earlier redaction has. A known one keeps the kind and number
    /// with which it was found first.
    fn assign_number(&mut self, kind: &'static str, secret: &[u8]) -> (&'static str, usize) {
        if let Some(known) = self.numbers.get(secret) {
            return *known;
        }
        let last = self.last_numbers.entry(kind).or_default();
        *last += 1;
        while self
            .reserved_placeholders
            .contains(&(kind.to_owned(), *last))
        {
            *last += 1;
        }
        self.numbers.insert(secret.to_vec(), (kind, *last));
        (kind, *last)
    }
}

#[cfg(test)]
mod tests;
