//! Decides from the raw bytes which lines may contain something to remove; a line that is skipped never does.
//!
//! Each rule has needles: literals, at least one of which is in every secret that it finds. One automaton searches
//! for the needles of all rules at once, and what follows a needle of ordinary words decides whether it counts.

use super::rules::RULES;
use super::search::{SHORTEST_ENCODED, is_digit};
use super::values::base64_spellings;
use aho_corasick::{AhoCorasick, AhoCorasickBuilder, AhoCorasickKind, StartKind};
use std::collections::BTreeMap;
use std::ops::{BitOr, BitOrAssign, Range};
use std::sync::OnceLock;

/// What the needles in a line call for: rules to apply, and other searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls(u128);

impl Calls {
    /// A secret may be encoded in base64.
    pub const BASE64: Calls = Calls(1 << 119);
    /// Letters may be written as escapes, which can hide any needle.
    pub const ESCAPES: Calls = Calls(1 << 120);
    /// A value given by the user, or found elsewhere, may be in the line.
    pub const VALUES: Calls = Calls(1 << 121);
    /// A home directory or the name of a user may be in the line.
    pub const PEOPLE: Calls = Calls(1 << 122);
    /// A placeholder is in the line.
    pub const PLACEHOLDERS: Calls = Calls(1 << 123);
    /// A string may be a signature, or encrypted.
    pub const SIGNATURES: Calls = Calls(1 << 124);
    /// A content block or a payload may be opaque as a whole.
    pub const BLOCKS: Calls = Calls(1 << 125);
    /// All calls for a search for secrets in text.
    pub const TEXT: Calls = Calls((1 << 122) - 1);
    /// All calls.
    pub const EVERY: Calls = Calls(u128::MAX);

    /// Returns the call for one rule of the table.
    pub fn rule(at: usize) -> Calls {
        const { assert!(RULES.len() <= 119) };
        Calls(1 << at)
    }

    /// Whether any of these is called for.
    pub fn any(self, of: Calls) -> bool {
        self.0 & of.0 != 0
    }
}

impl BitOr for Calls {
    type Output = Calls;
    fn bitor(self, other: Calls) -> Calls {
        Calls(self.0 | other.0)
    }
}

impl BitOrAssign for Calls {
    fn bitor_assign(&mut self, other: Calls) {
        *self = *self | other;
    }
}

/// Literals, at least one of which is in every line to be searched.
#[derive(Debug)]
pub struct Needles {
    automaton: AhoCorasick,
    /// For each needle what it calls for, if the bytes that follow it allow that.
    calls: Vec<Vec<(Calls, MayFollow)>>,
}

/// Whether these bytes may follow a needle.
type MayFollow = fn(&[u8]) -> bool;

/// Literals that are always searched for, because they show escapes that may hide letters, placeholders, or
/// content that cannot be read.
const ALWAYS: [(&[u8], Calls); 6] = [
    (ESCAPE, Calls::ESCAPES),
    (b"[REDACTED:", Calls::PLACEHOLDERS),
    (b"ignature", Calls::SIGNATURES),
    (b"ncrypted", Calls(Calls::SIGNATURES.0 | Calls::BLOCKS.0)),
    (b"redacted", Calls::BLOCKS),
    (b"\"image\"", Calls::BLOCKS),
];

const ESCAPE: &[u8] = b"\\u00";

impl Needles {
    /// Returns the needles of all rules, and those of everything else that is always searched for.
    pub fn of_rules() -> &'static Needles {
        static NEEDLES: OnceLock<Needles> = OnceLock::new();
        NEEDLES.get_or_init(|| {
            let mut all: BTreeMap<Vec<u8>, Vec<(Calls, MayFollow)>> = BTreeMap::new();
            let mut add = |literal: &[u8], calls: Calls, may_follow: MayFollow| {
                all.entry(literal.to_vec()).or_default().push((calls, may_follow));
            };
            for (at, rule) in RULES.iter().enumerate() {
                for keyword in rule.keywords.iter().map(|keyword| keyword.as_bytes()) {
                    add(keyword, Calls::rule(at), rule.may_follow);
                    if !rule.is_contextual {
                        let spellings = base64_spellings(keyword);
                        spellings.iter().for_each(|spelling| add(spelling, Calls::BASE64, continues_base64));
                    }
                }
            }
            ALWAYS.into_iter().for_each(|(literal, calls)| add(literal, calls, |_| true));
            Needles::of(all)
        })
    }

    /// Returns these literals, and escapes, which can hide them.
    pub fn new<'a>(literals: impl Iterator<Item = (&'a [u8], Calls)>) -> Needles {
        let mut all: BTreeMap<Vec<u8>, Vec<(Calls, MayFollow)>> = BTreeMap::new();
        for (literal, calls) in literals.chain([(ESCAPE, Calls::ESCAPES)]) {
            all.entry(literal.to_vec()).or_default().push((calls, |_| true));
        }
        Needles::of(all)
    }

    fn of(all: BTreeMap<Vec<u8>, Vec<(Calls, MayFollow)>>) -> Needles {
        let (literals, calls): (Vec<_>, Vec<_>) = all.into_iter().unzip();
        // A table for every state takes some megabytes, and a third of the time of lists.
        let kind = (literals.len() < MOST_IN_TABLES).then_some(AhoCorasickKind::DFA);
        let mut builder = AhoCorasickBuilder::new();
        let automaton = builder.kind(kind).start_kind(StartKind::Unanchored).build(literals);
        Needles { automaton: automaton.expect("values of a file fit"), calls }
    }

    /// Returns what the needles in a text call for.
    pub fn calls_in(&self, text: &[u8]) -> Calls {
        let mut all = Calls::default();
        self.each(text, &mut |_, calls| all |= calls);
        all
    }

    /// Returns the lines of `bytes` that contain needles, in order: their ranges, newline excluded, and what the
    /// needles call for.
    pub fn lines(&self, bytes: &[u8]) -> Vec<(Range<usize>, Calls)> {
        let mut lines: Vec<(Range<usize>, Calls)> = Vec::new();
        self.each(bytes, &mut |at, calls| match lines.last_mut() {
            Some((range, all)) if at < range.end => *all |= calls,
            _ => {
                let start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |newline| newline + 1);
                let end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |newline| at + newline);
                lines.push((start..end, calls));
            }
        });
        lines
    }

    /// Calls `found` with the offset of the last byte of each needle in the bytes that calls for something, in order.
    fn each(&self, bytes: &[u8], found: &mut dyn FnMut(usize, Calls)) {
        for needle in self.automaton.find_overlapping_iter(bytes) {
            let rest = &bytes[needle.end()..];
            let may_follow = |call: &&(Calls, MayFollow)| call.1(rest);
            let calls = self.calls[needle.pattern().as_usize()].iter().filter(may_follow);
            let all = calls.fold(Calls::default(), |all, call| all | call.0);
            if all != Calls::default() {
                found(needle.end() - 1, all);
            }
        }
    }
}

/// Whether enough digits of base64 follow to encode a key.
fn continues_base64(rest: &[u8]) -> bool {
    rest.get(..SHORTEST_ENCODED).is_some_and(|digits| digits.iter().all(is_digit))
}

/// The number of needles from which on tables for all states are too large.
const MOST_IN_TABLES: usize = 2000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_reported_once_and_in_order() {
        let needles = [(&b"zq"[..], Calls::PEOPLE), (b"abcabcabd", Calls::VALUES)];
        let text = b"zq\nnothing\nabcabcabcabd zq zq\n\n\\u0061";
        let expected =
            [(0..2, Calls::PEOPLE), (11..29, Calls::VALUES | Calls::PEOPLE), (31..37, Calls::ESCAPES)];
        assert_eq!(Needles::new(needles.into_iter()).lines(text), expected);
    }

    /// A session about tokens and keys is not searched word by word.
    #[test]
    fn ordinary_words_call_for_nothing() {
        let needles = Needles::of_rules();
        for text in
            ["the token and the secret of a string", "tokens, keys and passwords", "https://x.org/a:b"]
        {
            assert_eq!(needles.calls_in(text.as_bytes()), Calls::default(), "{text}");
        }
        for text in ["token: ", "TOKEN=", r#"{\\\"secret\\\": \\\"x"#, "https://u:p@h"] {
            assert!(needles.calls_in(text.as_bytes()).any(Calls::TEXT), "{text}");
        }
    }
}
