//! Finds secrets in the lines of a session, and removes them.
//!
//! Only the bytes of a secret are replaced, by a placeholder such as `[REDACTED:github-pat#1]`. The
//! same secret always gets the same placeholder, so the conversation stays readable. Signatures,
//! encrypted thinking and images cannot be searched, so they are removed as a whole (`opaque.rs`).
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
//! A secret that was found is also searched for in all other places, as a value, in every encoding.
//!
//! A single line may have tens of thousands of secrets. So the bytes of a secret are shared by all
//! that refer to it: the hits, the numbers and the values.
//!
//! Lines are searched independently of each other, by threads that share a `SecretSearch`. Only the
//! numbering of placeholders needs the order of the file. Files are read and written in
//! [`crate::ops::redact`].

pub mod addresses;
mod assignments;
mod base64_digits;
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

pub use finds::{Finds, PlannedSecret, TextFinds};
use foldhash::HashMap;
use opaque::OpaqueContent;
pub use people::People;
use pisess_json::Raw;
use placeholders::{Placeholder, PlaceholderSet};
use places::SecretHit;
use prefilter::NeedlePrefilter;
pub use search::SecretSearch;
pub use shapes::SHAPES_TABLE;
use std::collections::BTreeMap;
use std::collections::hash_map::Entry;
use std::fmt;
use std::ops::Range;
use std::sync::Arc;
use values::SecretValue;

/// The beginning of a placeholder.
pub const PLACEHOLDER_START: &str = "[REDACTED:";

/// Compiles the rules in advance; otherwise, the first search does it. To be called on another
/// thread while a session is loaded.
pub fn compile_rules() {
    NeedlePrefilter::for_rules();
}

/// A secret in a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Secret {
    /// The path of the string that contains the secret, such as `message.content[0].text`; empty
    /// for a malformed line.
    pub field: Arc<str>,
    /// The name to which the secret is assigned; empty if it is recognized by its shape.
    pub name: Arc<str>,
    /// The kind and number of the secret.
    pub number: SecretNumber,
    /// The length in bytes, as written in the line.
    pub length: usize,
    /// Whether the same text may be ordinary elsewhere: see [`SecretValue::is_ordinary`].
    pub is_ordinary: bool,
}

impl Secret {
    /// Returns the replacement of the secret.
    pub fn placeholder(&self) -> String {
        self.number.to_string()
    }
}

/// The minimum length of a secret, in bytes, to be searched for as a value.
const SHORTEST_VALUE: usize = 4;

/// The replacement of a range of a line.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Splice {
    /// The range of the line to replace.
    range: Range<usize>,
    replacement: Replacement,
}

/// The new bytes of a range.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Replacement {
    Bytes(Vec<u8>),
    /// The placeholder of a secret. It is formatted when the line is written, because a line may
    /// have tens of thousands.
    Placeholder(SecretNumber),
}

/// The kind of a secret and its number among the secrets of this kind. Displayed as the
/// placeholder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SecretNumber {
    /// The kind, such as `github-pat`.
    pub kind: &'static str,
    /// Counted from 1.
    pub number: usize,
}

impl fmt::Display for SecretNumber {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        write!(f, "{PLACEHOLDER_START}{}#{}]", self.kind, self.number)
    }
}

/// A secret that has a number.
struct NumberedSecret {
    number: SecretNumber,
    /// The first name to which the secret is assigned; empty if there is none.
    name: Arc<str>,
}

/// Removes secrets from the lines of one session, which must be passed in file order. The default
/// removes what the rules find.
#[derive(Default)]
pub struct Redactor {
    /// The search that finds the secrets.
    pub search: SecretSearch,
    /// The secrets that were numbered so far, by their text.
    numbered: HashMap<Arc<[u8]>, NumberedSecret>,
    /// The last number used for each kind.
    last_numbers: BTreeMap<&'static str, usize>,
    /// The placeholders of secrets that were removed before, whose numbers are not used again.
    reserved_placeholders: PlaceholderSet,
}

/// A line whose secrets are numbered.
#[derive(Clone, Copy)]
pub struct LineToNumber<'a> {
    /// The results of searching the line.
    pub finds: &'a Finds,
    /// Whether the line is an entry with a summary.
    pub is_summary: bool,
}

impl Redactor {
    /// Returns a redactor that removes what the rules find, and also these values and the home
    /// directories and names of `people`.
    pub fn new(values: Vec<SecretValue>, people: Option<People>, keeps_images: bool) -> Redactor {
        let opaque = if keeps_images {
            OpaqueContent::KeepImages
        } else {
            OpaqueContent::Remove
        };
        Redactor {
            search: SecretSearch::new(values, people, opaque),
            ..Redactor::default()
        }
    }

    /// Returns a redactor that removes what the rules find, and these values, and nothing else:
    /// signatures, encrypted text and images stay. In a signature, only known values are searched
    /// for: the signatures of some providers contain the text that they sign.
    pub fn for_secrets_only(values: Vec<SecretValue>) -> Redactor {
        Redactor {
            search: SecretSearch::new(values, None, OpaqueContent::Keep),
            ..Redactor::default()
        }
    }

    /// Returns a redactor that removes these values, and nothing else, not even what the rules
    /// recognize.
    pub fn for_values_only(values: Vec<SecretValue>) -> Redactor {
        Redactor {
            search: SecretSearch::for_values_only(values),
            ..Redactor::default()
        }
    }

    /// Numbers the secrets in lines, in file order.
    ///
    /// The lines may already contain placeholders, from two sources:
    ///
    /// - An earlier redaction of the session. The secret is no longer in the session, so no other
    ///   secret may get the number of the placeholder.
    /// - A summary that pisess built, in which secrets were replaced. The secret may still be in a
    ///   line above the summary. It gets the same number here, because secrets are numbered in the
    ///   same order.
    ///
    /// A placeholder in a summary is taken to be of the second kind if no other line above contains
    /// it, and a secret above gets its number.
    pub fn number_secrets<'a>(&mut self, lines: impl Iterator<Item = LineToNumber<'a>> + Clone) {
        // All lines are read before the first secret is numbered, because any line may have a
        // placeholder whose number must not be used again.
        self.reserve_outside_summaries(lines.clone());

        for line in lines {
            self.number_hits(&line.finds.hits);
            if line.is_summary {
                self.reserve_unassigned(&line.finds.placeholders);
            }
        }
    }

    /// Reserves the placeholders of an earlier redaction, so that no secret gets one of them. These
    /// are all placeholders in the lines, except those whose first place is in a summary (see
    /// [`Redactor::number_secrets`]).
    fn reserve_outside_summaries<'a>(&mut self, lines: impl Iterator<Item = LineToNumber<'a>>) {
        let mut seen_first_in_summary = PlaceholderSet::default();
        for line in lines {
            for placeholder in &line.finds.placeholders {
                // Only the first place of a placeholder counts, and this is a later one.
                if seen_first_in_summary.contains(&placeholder.kind, placeholder.number) {
                    continue;
                }
                if line.is_summary {
                    seen_first_in_summary.insert(placeholder);
                } else {
                    self.reserved_placeholders.insert(placeholder);
                }
            }
        }
    }

    /// Numbers the secrets in a line, and records the first name to which each is assigned.
    fn number_hits(&mut self, hits: &[SecretHit]) {
        for hit in hits {
            let numbered = self.number_secret(hit.kind, &hit.secret);
            if numbered.name.is_empty() {
                numbered.name = hit.name.clone();
            }
        }
    }

    /// Reserves those placeholders whose number no secret of the kind has got yet.
    fn reserve_unassigned(&mut self, placeholders: &[Placeholder]) {
        for placeholder in placeholders {
            let is_assigned = self
                .last_numbers
                .get(&*placeholder.kind)
                .is_some_and(|&last| placeholder.number <= last);
            if !is_assigned {
                self.reserved_placeholders.insert(placeholder);
            }
        }
    }

    /// Numbers the secrets of the next line, and moves them from `finds.hits` to `finds.splices`.
    /// Calls `visit` with each secret, in the order of the line.
    pub fn plan_replacements(&mut self, finds: &mut Finds, visit: &mut dyn FnMut(Secret)) {
        for hit in std::mem::take(&mut finds.hits) {
            let range = hit.range.clone();
            let secret = self.number_hit(hit);
            finds.splices.push(Splice {
                range,
                replacement: Replacement::Placeholder(secret.number),
            });
            visit(secret);
        }
    }

    /// Numbers the irreplaceable secrets of the next line, and removes them from `finds`. Calls
    /// `visit` with each, in the order of the line.
    pub fn take_irreplaceable(&mut self, finds: &mut Finds, visit: &mut dyn FnMut(Secret)) {
        for hit in std::mem::take(&mut finds.irreplaceable) {
            visit(self.number_hit(hit));
        }
    }

    /// Removes the secrets from a text that is not a line: see [`SecretSearch::search_text`].
    /// Secrets get the same placeholders as in lines. A text without secrets is not changed.
    pub fn redact_text(&mut self, text: &mut String) {
        let Some(mut found) = self.search.search_text(text) else {
            return;
        };
        self.plan_replacements(&mut found.finds, &mut |_secret| {});
        let redacted = found.finds.apply_to(&found.line);
        *text = Raw::from_checked(&redacted)
            .text()
            .unwrap_or_default()
            .into_string_lossy();
    }

    /// Numbers a secret that was found, and returns it with its placeholder.
    ///
    /// The kind is the one under which the same secret was found first. If the hit has no name, for
    /// example because the secret was found by its value, it gets the name to which the secret is
    /// assigned elsewhere.
    fn number_hit(&mut self, hit: SecretHit) -> Secret {
        let numbered = self.number_secret(hit.kind, &hit.secret);
        let number = numbered.number;
        let name = if hit.name.is_empty() {
            numbered.name.clone()
        } else {
            hit.name
        };
        let value = SecretValue {
            kind: number.kind,
            bytes: hit.secret,
        };
        Secret {
            field: hit.field,
            name,
            number,
            // The length of the written form, which may have escapes.
            length: hit.range.len(),
            is_ordinary: value.is_ordinary(),
        }
    }

    /// Returns all secrets of at least `SHORTEST_VALUE` bytes that were numbered so far, in the
    /// order of their kinds and numbers. By searching a copy for these values, a caller proves that
    /// none is left.
    pub fn found_values(&self) -> Vec<SecretValue> {
        let mut found: Vec<_> = self
            .numbered
            .iter()
            .filter(|(secret, _)| secret.len() >= SHORTEST_VALUE)
            .collect();
        found.sort_unstable_by_key(|(_, numbered)| numbered.number);

        let mut values = Vec::with_capacity(found.len());
        for (secret, numbered) in found {
            values.push(SecretValue {
                kind: numbered.number.kind,
                bytes: secret.clone(),
            });
        }
        values
    }

    /// Returns the text of each secret that was numbered so far.
    pub fn texts_by_number(&self) -> HashMap<SecretNumber, Arc<[u8]>> {
        let mut texts = HashMap::default();
        for (text, numbered) in &self.numbered {
            texts.insert(numbered.number, text.clone());
        }
        texts
    }

    /// Returns the secrets of at least `SHORTEST_VALUE` bytes in a line. The kind of each is the
    /// one under which it was numbered, or else the kind of the hit.
    pub fn values_in(&self, finds: &Finds) -> impl Iterator<Item = SecretValue> {
        let long_hits = finds
            .hits
            .iter()
            .filter(|hit| hit.secret.len() >= SHORTEST_VALUE);
        long_hits.map(|hit| {
            let kind = match self.numbered.get(&hit.secret) {
                Some(numbered) => numbered.number.kind,
                None => hit.kind,
            };
            SecretValue {
                kind,
                bytes: hit.secret.clone(),
            }
        })
    }

    /// Removes from a text all secrets that were numbered so far. Secrets that may be ordinary text
    /// remain. Afterwards, the redactor searches only for these values: see
    /// [`SecretSearch::narrow_with`].
    pub fn redact_known_values(&mut self, text: &mut String) {
        let mut values = self.found_values();
        values.retain(|value| !value.is_ordinary());
        self.search.narrow_with(values);
        self.redact_text(text);
    }

    /// Returns the placeholder of a secret, which is numbered if it has no number.
    pub fn placeholder_for(&mut self, value: &SecretValue) -> String {
        let numbered = self.number_secret(value.kind, &value.bytes);
        numbered.number.to_string()
    }

    /// Returns the entry of a secret, which is numbered if it has no number.
    ///
    /// A new secret gets `kind`, and the next number of this kind that no reserved placeholder has.
    /// A known secret keeps its first kind and number.
    fn number_secret(&mut self, kind: &'static str, secret: &Arc<[u8]>) -> &mut NumberedSecret {
        let new_entry = match self.numbered.entry(secret.clone()) {
            Entry::Occupied(known) => return known.into_mut(),
            Entry::Vacant(new_entry) => new_entry,
        };
        let last = self.last_numbers.entry(kind).or_default();
        *last += 1;
        // A reserved placeholder stands for a secret that an earlier redaction removed.
        while self.reserved_placeholders.contains(kind, *last) {
            *last += 1;
        }
        let number = *last;
        new_entry.insert(NumberedSecret {
            number: SecretNumber { kind, number },
            name: Arc::default(),
        })
    }
}

#[cfg(test)]
mod tests;
