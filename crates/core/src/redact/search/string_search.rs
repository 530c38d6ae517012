//! Searches one string of a line, on all levels of escapes and in all forms that a text may have
//! there.

use super::SecretSearch;
use crate::redact::base64_digits::is_base64_digit;
use crate::redact::encoded::each_base64_run;
use crate::redact::matches::{RuleMatch, each_match};
use crate::redact::places::{SecretHit, SecretHits};
use crate::redact::prefilter::SearchSet;
use crate::redact::rules::is_example;
use crate::redact::unescape::{MappedText, escape_levels};
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// The search of one string of a line.
pub(super) struct StringSearch<'a> {
    search: &'a SecretSearch,
    sources: SecretSources,
    /// The string as written, with escapes.
    raw: &'a [u8],
    /// The secrets that were found so far.
    hits: SecretHits<'a>,
    /// As [`StringFinds::value_indexes`].
    value_indexes: BTreeSet<usize>,
}

impl<'a> StringSearch<'a> {
    pub(super) fn new(search: &'a SecretSearch, sources: SecretSources, raw: &'a [u8]) -> Self {
        StringSearch {
            search,
            sources,
            raw,
            hits: SecretHits::new(raw),
            value_indexes: BTreeSet::new(),
        }
    }

    /// Runs `searches` on all levels of escapes: on the string as written, decoded, and, if it
    /// contains JSON in which strings have escapes, decoded again.
    pub(super) fn run(mut self, searches: SearchSet) -> StringFinds {
        if self.raw.len() < SHORTEST_SEARCHED {
            return StringFinds::default();
        }
        for level in escape_levels(self.raw) {
            self.add_hits_at_level(&level, searches);
        }
        StringFinds {
            examples: std::mem::take(&mut self.hits.examples),
            hits: self.hits.finish(),
            value_indexes: self.value_indexes,
        }
    }

    /// Adds the secrets on one level of escapes, in each form that a text may have there: without
    /// terminal codes, with HTML entities decoded, or with URL escapes decoded.
    ///
    /// If several forms of the same bytes contain a secret, the first form decides the text of the
    /// secret. The text should be the one that the secret has elsewhere. So forms without terminal
    /// codes, and with entities decoded, come first. A percent sign or a plus may be part of a
    /// secret, so forms in which these encode other characters come last.
    fn add_hits_at_level(&mut self, level: &MappedText, searches: SearchSet) {
        // Escaped letters can hide the needles of any form.
        let has_escapes = searches.intersects(SearchSet::ESCAPES);
        let may_have = |form: SearchSet| has_escapes || searches.intersects(form);

        let without_codes = if may_have(SearchSet::CODES) {
            level.strip_terminal_codes()
        } else {
            None
        };
        let visible_text = without_codes.as_ref().unwrap_or(level);

        // First, the entities: `API_KEY=&quot;x9Qd81Lm&quot;`.
        if may_have(SearchSet::ENTITIES)
            && let Some(decoded) = visible_text.decode_entities()
        {
            self.add_hits_in_decoded(&decoded);
        }
        if let Some(without_codes) = &without_codes {
            self.add_hits_in_decoded(without_codes);
        }

        // Then the level as it is. Unless letters are escaped, its needles are known: the raw bytes
        // have the same.
        if has_escapes {
            self.add_hits_in_decoded(level);
        } else {
            self.add_hits_in_form(level, searches);
        }

        // Last, the URL escapes: `API_KEY%3Dx9Qd81Lm`. A secret that was found may continue with
        // one, so they are decoded then even without a needle.
        if may_have(SearchSet::PERCENT) || !self.hits.is_empty() {
            if let Some(decoded) = visible_text.decode_form() {
                self.add_hits_in_decoded(&decoded);
            }
            if let Some(decoded) = visible_text.decode_percent() {
                self.add_hits_in_decoded(&decoded);
            }
        }
    }

    /// Adds the secrets in a decoded form of a text. The needles are searched for again, because
    /// decoding may show needles that the raw bytes hide.
    fn add_hits_in_decoded(&mut self, decoded: &MappedText) {
        let searches = self.search.needed_searches(&decoded.text);
        self.add_hits_in_form(decoded, searches);
    }

    /// Runs `searches` on one form of a text, and adds the secrets.
    ///
    /// Known values come first, because the first find decides the kind of a secret. Then come the
    /// matches of rules in the text, and last those in its base64.
    fn add_hits_in_form(&mut self, form: &MappedText, searches: SearchSet) {
        self.add_values_in_form(form);
        if self.sources == SecretSources::ValuesOnly {
            return;
        }

        let text = &*form.text;
        // The digits of an encoded file may look like a secret.
        if !is_base64_file(text) {
            each_match(searches, text, |rule_match| {
                let source = form.source_range(rule_match.range.clone());
                self.add_rule_match(rule_match, text, source);
            });
        }
        if searches.intersects(SearchSet::BASE64) {
            self.add_hits_in_base64(form);
        }
    }

    /// Adds the occurrences of known values in one form of a text.
    fn add_values_in_form(&mut self, form: &MappedText) {
        let value_search = &self.search.value_search;
        value_search.each_occurrence_or_part(&form.text, &mut |occurrence| {
            self.value_indexes.insert(occurrence.value_index);
            if occurrence.is_inside_another {
                return;
            }
            let source = form.source_range(occurrence.range);
            if self.hits.covers(&source) {
                return;
            }
            let value = &value_search.values[occurrence.value_index];
            self.hits.add(SecretHit {
                range: source,
                kind: value.kind,
                secret: value.bytes.clone(),
                ..SecretHit::default()
            });
        });
    }

    /// Adds the matches of rules in what the base64 in one form of a text encodes. Such a secret
    /// has the range of its digits.
    fn add_hits_in_base64(&mut self, form: &MappedText) {
        each_base64_run(&form.text, &mut |decoded| {
            let decoded_searches = self.search.needed_searches(&decoded.bytes);
            each_match(decoded_searches, &decoded.bytes, |rule_match| {
                let digits = decoded.source_range(rule_match.range.clone());
                let source = form.source_range(digits);
                self.add_rule_match(rule_match, &decoded.bytes, source);
            });
        });
    }

    /// Adds the match of a rule in `text`. `source` is the range of the match in the string as
    /// written. An example key from documentation is added to the examples instead.
    fn add_rule_match(&mut self, rule_match: RuleMatch, text: &[u8], source: Range<usize>) {
        let secret = &text[rule_match.range];
        if is_example(secret) {
            self.hits.examples.insert(secret.to_vec());
            return;
        }
        // Most secrets of a second search are known values, which were added before.
        if self.hits.covers(&source) {
            return;
        }
        // A longer name may be joined with other text, so it is not shown.
        let name = if rule_match.name.len() <= LONGEST_SHOWN_NAME {
            self.hits
                .share_name(&String::from_utf8_lossy(rule_match.name))
        } else {
            Arc::default()
        };
        self.hits.add(SecretHit {
            range: source,
            kind: rule_match.kind,
            name,
            secret: secret.into(),
            ..SecretHit::default()
        });
    }
}

/// The sources by which secrets in a string are recognized.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub enum SecretSources {
    /// The rules and the known values.
    #[default]
    RulesAndValues,
    /// Only the known values.
    ValuesOnly,
}

/// The results of searching one string of a line.
#[derive(Default)]
pub struct StringFinds {
    /// The secrets, in order. Their ranges are relative to the string, and their fields are empty.
    pub hits: Vec<SecretHit>,
    /// The example keys from documentation.
    pub examples: BTreeSet<Vec<u8>>,
    /// As [`Finds::value_indexes`](crate::redact::Finds::value_indexes).
    pub value_indexes: BTreeSet<usize>,
}

/// The minimum length in bytes, as written, of a string that is searched.
const SHORTEST_SEARCHED: usize = 6;

/// The maximum length of a name in reports.
const LONGEST_SHOWN_NAME: usize = 40;

/// From this length on, the digits of a text in base64 are not searched with the rules: only the
/// bytes that they encode.
const SHORTEST_BASE64_FILE: usize = 512;

/// Whether a text looks like an image or another file in base64, whose digits are not secrets.
pub fn is_base64_file(text: &[u8]) -> bool {
    text.len() >= SHORTEST_BASE64_FILE
        && text
            .iter()
            .all(|byte| is_base64_digit(byte) || *byte == b'=')
}
