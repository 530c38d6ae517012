//! Which lines may contain something to remove, judged by the raw bytes; a line that is skipped never does.

use super::rules::RULES;
use aho_corasick::packed::{Config, MatchKind, Searcher};
use aho_corasick::{AhoCorasick, AhoCorasickBuilder};

/// Literals, at least one of which is in every line to be searched.
#[derive(Debug)]
pub struct Needles {
    /// Vectorized, a few literals each.
    packed: Vec<Searcher>,
    /// The rest, for which the machine or the number of literals does not suffice.
    other: Option<AhoCorasick>,
}

/// The number of literals up to which a vectorized searcher is fast.
const PACKED: usize = 64;

/// Literals of lines in which escapes may hide letters, or that contain what cannot be read.
const ALWAYS: [&[u8]; 6] = [b"\\u00", b"[REDACTED:", b"ignature", b"ncrypted", b"redacted", b"base64"];

impl Needles {
    /// Returns the needles of all rules and these literals.
    pub fn new<'a>(more: impl IntoIterator<Item = &'a [u8]>) -> Needles {
        let keywords = RULES.iter().flat_map(|rule| rule.keywords).map(|keyword| keyword.as_bytes());
        let mut all: Vec<&[u8]> = keywords.chain(ALWAYS).chain(more).collect();
        all.sort_unstable();
        all.dedup();
        // A literal that contains another is found with it.
        let others = all.clone();
        all.retain(|needle| {
            !others.iter().any(|other| other != needle && memchr::memmem::find(needle, other).is_some())
        });
        // Literals with the same beginning share their masks.
        let mut packed = Vec::new();
        let mut other: Vec<&[u8]> = Vec::new();
        for group in all.chunks(PACKED) {
            match Config::new().match_kind(MatchKind::LeftmostFirst).builder().extend(group).build() {
                Some(searcher) => packed.push(searcher),
                None => other.extend(group),
            }
        }
        let other = (!other.is_empty())
            .then(|| AhoCorasickBuilder::new().build(&other).expect("a few hundred short literals fit"));
        Needles { packed, other }
    }

    /// Whether the bytes contain one.
    pub fn occur_in(&self, bytes: &[u8]) -> bool {
        self.packed.iter().any(|searcher| searcher.find(bytes).is_some())
            || self.other.as_ref().is_some_and(|searcher| searcher.is_match(bytes))
    }

    /// Calls `line` with the range of each line of `bytes`, newline excluded, that contains one; in no
    /// particular order, possibly several times for a line.
    pub fn each_line(&self, bytes: &[u8], line: &mut dyn FnMut(std::ops::Range<usize>)) {
        let whole = |hit: usize| {
            let start = memchr::memrchr(b'\n', &bytes[..hit]).map_or(0, |newline| newline + 1);
            let end = memchr::memchr(b'\n', &bytes[hit..]).map_or(bytes.len(), |newline| hit + newline);
            start..end
        };
        for searcher in &self.packed {
            let mut at = 0;
            while let Some(hit) = searcher.find_in(bytes, aho_corasick::Span { start: at, end: bytes.len() })
            {
                let range = whole(hit.start());
                at = range.end;
                line(range);
            }
        }
        let Some(searcher) = &self.other else { return };
        let mut at = 0;
        while let Some(hit) = searcher.find(aho_corasick::Input::new(bytes).range(at..)) {
            let range = whole(hit.start());
            at = range.end;
            line(range);
        }
    }
}
