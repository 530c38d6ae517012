//! Finds secrets in the lines of a session, and removes them.
//!
//! Only the bytes of a secret are replaced, by a placeholder such as `[REDACTED:github-pat#1]`. The
//! same secret gets the same placeholder, so the conversation stays readable. What cannot be read
//! cannot be cleaned: signatures, encrypted thinking and images are removed (`opaque.rs`).
//!
//! ```text
//! lines ──> NeedlePrefilter: what may they hold? ──nothing──> as they are
//!                    │ rules, values, signatures, …
//!                    v
//!           Strings ──> MappedText (escapes decoded, level by level) ──> ValueSearch, SHAPES, RULES, ──> Finds
//!                                                                        assignments, cookies            │ in file order
//!                                                                                                        v
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
mod finds;
mod keys;
mod matches;
mod names;
mod opaque;
pub mod people;
mod placeholders;
mod places;
mod prefilter;
mod resemblance;
mod rules;
mod search;
mod shapes;
mod unescape;
pub mod values;
mod windows;

pub use finds::{Finds, TextFinds};
use foldhash::{HashMap, HashSet};
pub use people::People;
use pisess_json::Raw;
use places::SecretHit;
use prefilter::NeedlePrefilter;
pub use search::SecretSearch;
pub use shapes::SHAPES_TABLE;
use std::collections::BTreeMap;
use std::ops::Range;
use values::SecretValue;

/// The beginning of a placeholder.
pub const PLACEHOLDER_START: &str = "[REDACTED:";

/// Compiles the rules, which the first search does otherwise. While a session is loaded, another
/// thread has the time for it.
pub fn compile_rules() {
    NeedlePrefilter::for_rules();
}

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

/// The kind of a secret, and its number among the secrets of this kind: what its placeholder shows.
#[derive(Clone, Copy)]
struct SecretNumber {
    kind: &'static str,
    /// Counted from 1.
    number: usize,
}

/// A placeholder that a line contains before it is redacted, such as `[REDACTED:github-pat#1]`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Placeholder {
    /// `github-pat`: any text, as the placeholder may be of another version.
    kind: String,
    /// `1`
    number: usize,
}

/// Removes secrets from the lines of one session, in file order; by default, what the rules find.
#[derive(Default)]
pub struct Redactor {
    /// What finds them.
    pub search: SecretSearch,
    /// The kind and number of each secret seen, for its placeholder.
    numbers: HashMap<Vec<u8>, SecretNumber>,
    /// The name to which each secret is assigned, if there is one.
    names: HashMap<Vec<u8>, String>,
    /// The last number used for each kind.
    last_numbers: BTreeMap<&'static str, usize>,
    /// The placeholders of secrets that were removed before, whose numbers are not used again.
    reserved_placeholders: HashSet<Placeholder>,
}

/// A line whose secrets are numbered.
#[derive(Clone, Copy)]
pub struct LineToNumber<'a> {
    /// What was found in it.
    pub finds: &'a Finds,
    /// Whether it is an entry with a summary.
    pub is_summary: bool,
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

    /// Numbers the secrets in lines, in file order.
    ///
    /// The lines may already contain placeholders, from two sources:
    ///
    /// - An earlier redaction of the session. The secret is gone, so no other secret may get the
    ///   number of the placeholder.
    /// - A built-in summary. The secret may still be in a line above the summary. It gets the same
    ///   number here, because the summary numbered the secrets above it in the same order.
    ///
    /// A placeholder in a summary is of the second kind if no other line above has it, and a secret
    /// above gets its number.
    pub fn number_secrets<'a>(&mut self, lines: impl Iterator<Item = LineToNumber<'a>> + Clone) {
        // Any line may have a placeholder whose number the first secret must not get, so all lines
        // are passed through before the first secret is numbered.
        self.reserve_outside_summaries(lines.clone());

        for line in lines {
            self.number_hits(&line.finds.hits);
            if line.is_summary {
                self.reserve_unassigned(&line.finds.placeholders);
            }
        }
    }

    /// Reserves the placeholders that an earlier redaction left, so that no secret gets one of
    /// them: all placeholders in the lines, except those that occur first in a summary (see
    /// [`Redactor::number_secrets`]).
    fn reserve_outside_summaries<'a>(&mut self, lines: impl Iterator<Item = LineToNumber<'a>>) {
        let mut first_in_summary = HashSet::default();
        for line in lines {
            for placeholder in &line.finds.placeholders {
                // The first place of a placeholder decides.
                if first_in_summary.contains(placeholder) {
                    continue;
                }
                if line.is_summary {
                    first_in_summary.insert(placeholder.clone());
                } else {
                    self.reserved_placeholders.insert(placeholder.clone());
                }
            }
        }
    }

    /// Numbers the secrets in a line, and remembers the name to which each is first assigned.
    fn number_hits(&mut self, hits: &[SecretHit]) {
        for hit in hits {
            self.number_secret(hit.kind, &hit.secret);
            if !hit.name.is_empty() && !self.names.contains_key(&hit.secret) {
                self.names.insert(hit.secret.clone(), hit.name.clone());
            }
        }
    }

    /// Reserves those placeholders whose number no secret of their kind has yet.
    fn reserve_unassigned(&mut self, placeholders: &[Placeholder]) {
        for placeholder in placeholders {
            let is_assigned = self
                .last_numbers
                .get(placeholder.kind.as_str())
                .is_some_and(|&last| placeholder.number <= last);
            if !is_assigned {
                self.reserved_placeholders.insert(placeholder.clone());
            }
        }
    }

    /// Numbers the secrets that were found in the next line, and moves them from `finds.hits` to
    /// `finds.secret_splices`. Returns them in the order of the line.
    pub fn plan_replacements(&mut self, finds: &mut Finds) -> Vec<Secret> {
        let mut secrets = Vec::new();
        for hit in std::mem::take(&mut finds.hits) {
            let range = hit.range.clone();
            let secret = self.number_hit(hit);
            finds.secret_splices.push(Splice {
                range,
                replacement: secret.placeholder.clone().into_bytes(),
            });
            secrets.push(secret);
        }
        secrets
    }

    /// Numbers the secrets in the next line that no placeholder can replace, and removes them from
    /// `finds`. Returns them in the order of the line.
    pub fn take_irreplaceable(&mut self, finds: &mut Finds) -> Vec<Secret> {
        let mut secrets = Vec::new();
        for hit in std::mem::take(&mut finds.irreplaceable) {
            secrets.push(self.number_hit(hit));
        }
        secrets
    }

    /// Removes the secrets from a text that is not a line, with the placeholders that they have in
    /// lines: see [`SecretSearch::search_text`]. A text without secrets stays as it is.
    pub fn redact_text(&mut self, text: &mut String) {
        let Some(mut found) = self.search.search_text(text) else {
            return;
        };
        self.plan_replacements(&mut found.finds);
        let redacted = found.finds.apply_to(&found.line);
        *text = Raw::from_checked(&redacted)
            .text()
            .unwrap_or_default()
            .into_string_lossy();
    }

    /// Numbers a secret that was found, and gives it its placeholder.
    ///
    /// Its kind is the one under which the same secret was found first. A hit without a name, such
    /// as one by the secret's value, gets the name to which the secret is assigned elsewhere.
    fn number_hit(&mut self, hit: SecretHit) -> Secret {
        let first_kind = self.number_secret(hit.kind, &hit.secret).kind;
        let value = SecretValue {
            kind: first_kind,
            bytes: hit.secret,
        };
        let name = if hit.name.is_empty() {
            self.names.get(&value.bytes).cloned().unwrap_or_default()
        } else {
            hit.name
        };
        Secret {
            field: hit.field,
            kind: first_kind,
            name,
            placeholder: self.placeholder_for(&value),
            // As written in the line, which may have escapes.
            length: hit.range.len(),
            is_ordinary: value.is_ordinary(),
        }
    }

    /// Returns all secrets of at least `SHORTEST_VALUE` bytes that were numbered so far. A search
    /// for them as values proves that none is left.
    pub fn found_values(&self) -> Vec<SecretValue> {
        let mut values = Vec::new();
        for (secret, numbered) in &self.numbers {
            if secret.len() >= SHORTEST_VALUE {
                values.push(SecretValue {
                    kind: numbered.kind,
                    bytes: secret.clone(),
                });
            }
        }
        values
    }

    /// Returns the secrets of at least `SHORTEST_VALUE` bytes in a line, each with the kind under
    /// which it was numbered, or else with that of its hit.
    pub fn values_in(&self, finds: &Finds) -> impl Iterator<Item = SecretValue> {
        let long_hits = finds
            .hits
            .iter()
            .filter(|hit| hit.secret.len() >= SHORTEST_VALUE);
        long_hits.map(|hit| {
            let kind = match self.numbers.get(&hit.secret) {
                Some(numbered) => numbered.kind,
                None => hit.kind,
            };
            SecretValue {
                kind,
                bytes: hit.secret.clone(),
            }
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

    /// Numbers a secret, unless it has a number, and returns its placeholder.
    pub fn placeholder_for(&mut self, value: &SecretValue) -> String {
        let SecretNumber { kind, number } = self.number_secret(value.kind, &value.bytes);
        format!("{PLACEHOLDER_START}{kind}#{number}]")
    }

    /// Numbers a secret, unless it has a number, and returns its kind and number.
    ///
    /// A new secret gets `kind`, and the next number of that kind which no reserved placeholder
    /// has. A known secret keeps the kind and number with which it was found first.
    fn number_secret(&mut self, kind: &'static str, secret: &[u8]) -> SecretNumber {
        if let Some(known) = self.numbers.get(secret) {
            return *known;
        }

        let last = self.last_numbers.entry(kind).or_default();
        let mut next = Placeholder {
            kind: kind.to_owned(),
            number: *last + 1,
        };
        // A secret that an earlier redaction removed has this placeholder.
        while self.reserved_placeholders.contains(&next) {
            next.number += 1;
        }
        *last = next.number;

        let numbered = SecretNumber {
            kind,
            number: next.number,
        };
        self.numbers.insert(secret.to_vec(), numbered);
        numbered
    }
}

#[cfg(test)]
mod tests;
