//! What was found in a line, and the line without it.

use super::places::SecretHit;
use super::{Placeholder, Splice};
use std::collections::BTreeSet;

/// What was found in a line.
#[derive(Clone, Debug, Default)]
pub struct Finds {
    /// The secrets, in the order of the line, until their replacements are planned.
    pub(super) hits: Vec<SecretHit>,
    /// The replacements of the secrets that were in `hits`, once they have placeholders: see
    /// [`super::Redactor::plan_replacements`].
    pub(super) secret_splices: Vec<Splice>,
    /// The replacements of everything else that is removed: opaque text, home directories and
    /// names. They overlap neither each other nor a secret.
    pub(super) splices: Vec<Splice>,
    /// The number of signatures, encrypted texts and images to remove.
    pub opaque_count: usize,
    /// Values outside of strings, such as a number, which a placeholder cannot replace.
    pub(super) irreplaceable: Vec<SecretHit>,
    /// The placeholders that the line has already.
    pub(super) placeholders: Vec<Placeholder>,
    /// The keys in it that documentation uses as examples, which are kept.
    pub examples: BTreeSet<Vec<u8>>,
}

impl Finds {
    /// Whether there is nothing to remove.
    pub fn is_clean(&self) -> bool {
        self.hits.is_empty() && self.secret_splices.is_empty() && self.splices.is_empty()
    }

    /// Returns a line with its replacements. A secret that is still in `hits` is not replaced.
    pub fn apply_to(self, line: &[u8]) -> Vec<u8> {
        let mut splices = self.splices;
        splices.extend(self.secret_splices);
        splices.sort_by_key(|splice| splice.range.start);

        let mut redacted = Vec::with_capacity(line.len());
        let mut copied_end = 0;
        // No two splices overlap: the search keeps one of several finds that do.
        for splice in splices {
            redacted.extend_from_slice(&line[copied_end..splice.range.start]);
            redacted.extend_from_slice(&splice.replacement);
            copied_end = splice.range.end;
        }
        redacted.extend_from_slice(&line[copied_end..]);
        redacted
    }

    /// Whether there is a secret, or a placeholder of one.
    pub fn has_secrets(&self) -> bool {
        !self.hits.is_empty() || !self.irreplaceable.is_empty() || !self.placeholders.is_empty()
    }
}

/// What was found in a text that is not a line.
pub struct TextFinds {
    /// The text as a JSON string, in which the ranges of the finds are.
    pub(super) line: Vec<u8>,
    pub(super) finds: Finds,
}
