//! The results of searching a line, and their removal from the line.

use super::placeholders::Placeholder;
use super::places::SecretHit;
use super::{Replacement, SecretNumber, Splice};
use std::collections::BTreeSet;
use std::ops::Range;

/// The results of searching a line: the secrets, and everything else to remove.
#[derive(Clone, Debug, Default)]
pub struct Finds {
    /// The secrets without a planned replacement, in the order of the line.
    pub(super) hits: Vec<SecretHit>,
    /// The replacements of everything else to remove: opaque text, home directories and names. They
    /// do not overlap each other or a secret. [`super::Redactor::plan_replacements`] moves secrets
    /// from `hits` to here.
    pub(super) splices: Vec<Splice>,
    /// The number of signatures, encrypted texts and images to remove.
    pub opaque_count: usize,
    /// Secrets outside of strings, such as numbers, which a placeholder cannot replace.
    pub(super) irreplaceable: Vec<SecretHit>,
    /// The placeholders that the line already contains.
    pub(super) placeholders: Vec<Placeholder>,
    /// The example keys from documentation in the line, which are kept.
    pub examples: BTreeSet<Vec<u8>>,
    /// The indexes of the known values in the line. Unlike `hits`, these include a value that is
    /// inside another secret or overlaps it: the two are one hit, which has the text of only one of
    /// them.
    pub value_indexes: BTreeSet<usize>,
}

/// A secret in a line, with its placeholder.
#[derive(Clone, Debug)]
pub struct PlannedSecret {
    /// The range of the secret in the line.
    pub range: Range<usize>,
    /// The kind and number in the placeholder.
    pub number: SecretNumber,
}

impl Finds {
    /// Whether nothing in the line is replaced or will be. The answer is the same before and after
    /// [`plan_replacements`](super::Redactor::plan_replacements), which turns each hit into a
    /// splice.
    pub fn is_clean(&self) -> bool {
        self.hits.is_empty() && self.splices.is_empty()
    }

    /// Returns the line after the planned replacements. Secrets that are still in `hits` are not
    /// replaced.
    pub fn apply_to(&self, line: &[u8]) -> Vec<u8> {
        self.apply_to_part(line, 0..line.len())
    }

    /// Returns a part of the line after the planned replacements. None of them may be partly in it.
    pub fn apply_to_part(&self, line: &[u8], part: Range<usize>) -> Vec<u8> {
        let mut splices: Vec<&Splice> = self.splices.iter().collect();
        splices.retain(|splice| part.start <= splice.range.start && splice.range.end <= part.end);
        // No two of them have the same start.
        splices.sort_unstable_by_key(|splice| splice.range.start);

        let mut redacted = Vec::with_capacity(part.len());
        let mut copied_end = part.start;
        // Splices do not overlap, because the search keeps only one of several overlapping finds.
        for splice in splices {
            redacted.extend_from_slice(&line[copied_end..splice.range.start]);
            match &splice.replacement {
                Replacement::Bytes(bytes) => redacted.extend_from_slice(bytes),
                Replacement::Placeholder(number) => {
                    redacted.extend_from_slice(number.to_string().as_bytes());
                }
            }
            copied_end = splice.range.end;
        }
        redacted.extend_from_slice(&line[copied_end..part.end]);
        redacted
    }

    /// Returns the ranges of the secrets with a planned replacement, in the order of the line.
    pub fn planned_secrets(&self) -> Vec<PlannedSecret> {
        let mut planned = Vec::new();
        for splice in &self.splices {
            if let Replacement::Placeholder(number) = splice.replacement {
                planned.push(PlannedSecret {
                    range: splice.range.clone(),
                    number,
                });
            }
        }
        planned.sort_unstable_by_key(|secret| secret.range.start);
        planned
    }

    /// Frees the memory that is reserved for further finds. An empty list reserves none, but with
    /// the first item, it reserves memory for four.
    pub fn shrink_to_fit(&mut self) {
        self.hits.shrink_to_fit();
        self.splices.shrink_to_fit();
        self.irreplaceable.shrink_to_fit();
    }

    /// Whether the line contains a secret or a placeholder.
    pub fn has_secrets(&self) -> bool {
        !self.hits.is_empty() || !self.irreplaceable.is_empty() || !self.placeholders.is_empty()
    }
}

/// The results of searching a text that is not a line.
pub struct TextFinds {
    /// The text as a JSON string, to which the ranges in `finds` refer.
    pub(super) line: Vec<u8>,
    pub(super) finds: Finds,
}
