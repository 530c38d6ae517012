//! Decides from the raw bytes which lines may contain something to remove; a line that is skipped
//! never does.
//!
//! Each rule has needles: literals, at least one of which is in every secret that it finds. One
//! automaton searches for the needles of all rules at once, and what follows a needle of ordinary
//! words decides whether it counts.

use super::rules::RULES;
use super::shapes::{SHAPES, Shape};
use super::values::base64_spellings;
use super::{START, assignments, cookies};
use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, dfa};
use std::array::from_fn;
use std::collections::BTreeMap;
use std::ops::BitOrAssign;
use std::sync::LazyLock;

/// What the needles in a line call for: rules to apply, and other searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls {
    /// One bit for each rule of the table.
    rules: [u64; RULE_WORDS],
    /// One bit for each of the other searches.
    others: u16,
}

const RULE_WORDS: usize = RULES.len().div_ceil(64);

impl Calls {
    /// A secret may be encoded in base64.
    pub const BASE64: Calls = Calls::other(0);
    /// Letters may be written as escapes, which can hide any needle.
    pub const ESCAPES: Calls = Calls::other(1);
    /// A value given by the user, or found elsewhere, may be in the line.
    pub const VALUES: Calls = Calls::other(2);
    /// A home directory or the name of a user may be in the line.
    pub const PEOPLE: Calls = Calls::other(3);
    /// A placeholder is in the line.
    pub const PLACEHOLDERS: Calls = Calls::other(4);
    /// A string may be a signature, or encrypted.
    pub const SIGNATURES: Calls = Calls::other(5);
    /// A content block or a payload may be opaque as a whole.
    pub const BLOCKS: Calls = Calls::other(6);
    /// The codes of a terminal may be in a secret, or between it and its name.
    pub const CODES: Calls = Calls::other(7);
    /// A secret or its name may be encoded for a URL.
    pub const PERCENT: Calls = Calls::other(8);
    /// A secret or its name may be encoded as HTML.
    pub const ENTITIES: Calls = Calls::other(9);
    /// All calls for what can hide a needle.
    pub const HIDING: Calls = Calls {
        rules: [0; RULE_WORDS],
        others: Calls::ESCAPES.others
            | Calls::CODES.others
            | Calls::PERCENT.others
            | Calls::ENTITIES.others,
    };
    /// A secret of a known shape may be in the line.
    pub const SHAPES: Calls = Calls::other(10);
    /// A value may be assigned to the name of a secret.
    pub const ASSIGNMENTS: Calls = Calls::other(11);
    /// The value of a cookie may be in the line.
    pub const COOKIES: Calls = Calls::other(12);
    /// All calls for a search for secrets in text.
    pub const TEXT: Calls = Calls {
        rules: [u64::MAX; RULE_WORDS],
        others: Calls::BASE64.others
            | Calls::VALUES.others
            | Calls::HIDING.others
            | Calls::SHAPES.others
            | Calls::ASSIGNMENTS.others
            | Calls::COOKIES.others,
    };
    /// All calls for a search that can find a secret in one form of a text.
    pub const SECRETS: Calls = Calls {
        rules: [u64::MAX; RULE_WORDS],
        others: Calls::SHAPES.others | Calls::ASSIGNMENTS.others | Calls::COOKIES.others,
    };
    /// All calls.
    #[cfg(test)]
    pub const EVERY: Calls = Calls {
        rules: [u64::MAX; RULE_WORDS],
        others: u16::MAX,
    };

    const fn other(bit: u32) -> Calls {
        Calls {
            rules: [0; RULE_WORDS],
            others: 1 << bit,
        }
    }

    /// Returns the call for one rule of the table.
    pub fn rule(at: usize) -> Calls {
        let mut calls = Calls::default();
        calls.rules[at / 64] = 1 << (at % 64);
        calls
    }

    /// Whether any of these is called for.
    pub fn any(self, of: Calls) -> bool {
        let mut common = u64::from(self.others & of.others);
        for (own, wanted) in self.rules.iter().zip(of.rules) {
            common |= own & wanted;
        }
        common != 0
    }
}

impl BitOrAssign for Calls {
    fn bitor_assign(&mut self, other: Calls) {
        self.others |= other.others;
        for (own, more) in self.rules.iter_mut().zip(other.rules) {
            *own |= more;
        }
    }
}

/// A needle in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The offset of its last byte.
    pub at: usize,
    /// What it calls for.
    pub calls: Calls,
}

/// Literals, at least one of which is in every line to be searched.
#[derive(Debug)]
pub struct Prefilter {
    automaton: Automata,
    /// For each pattern of the automaton what it calls for, and what must follow it.
    calls: Vec<Vec<(Calls, MayFollow)>>,
}

/// A literal to search for. Several needles may have the same literal.
struct Needle {
    literal: Vec<u8>,
    calls: Calls,
    may_follow: MayFollow,
}

impl Needle {
    fn new(literal: &[u8], calls: Calls, may_follow: MayFollow) -> Needle {
        Needle {
            literal: literal.to_vec(),
            calls,
            may_follow,
        }
    }
}

/// The automaton, with a table for each state, which takes some megabytes, or with lists, which
/// take three times as long.
#[derive(Debug)]
enum Automata {
    Tables(dfa::DFA),
    Lists(NFA),
}

/// What may follow a needle.
#[derive(Clone, Copy, Debug)]
enum MayFollow {
    Anything,
    /// Bytes for which this is true.
    Checked(fn(&[u8]) -> bool),
    /// The rest of a secret of this shape.
    RestOf(&'static Shape),
    /// Digits of base64 that encode, after some bits, bytes for which this is true.
    EncodedChecked(usize, fn(&[u8]) -> bool),
    /// Digits of base64 that encode, after some bits, the rest of a secret of this shape.
    EncodedRestOf(usize, &'static Shape),
}

impl MayFollow {
    /// Whether this follows the needle whose last byte is at an offset. What is encoded in base64 must
    /// also be long enough to be a key; bytes that cannot be decoded are not checked further.
    fn allows(self, text: &[u8], at: usize) -> bool {
        let (needle, rest) = text.split_at(at + 1);
        match self {
            MayFollow::Anything => true,
            MayFollow::Checked(may_follow) => may_follow(rest),
            MayFollow::RestOf(shape) => {
                let before = &needle[..needle.len() - shape.prefix.len()];
                shape.may_follow(rest) && shape.may_begin_after(before)
            }
            MayFollow::EncodedChecked(bits, may_follow) => match decoded(rest, bits) {
                Some(first) => may_follow(&first) && continues_base64(rest),
                None => continues_base64(rest),
            },
            MayFollow::EncodedRestOf(bits, shape) => match decoded(rest, bits) {
                Some(first) => shape.may_begin_with(&first) && continues_base64(rest),
                None => continues_base64(rest),
            },
        }
    }
}

/// Literals of content that cannot be read, and of placeholders.
const OTHERS: [(&[u8], Calls); 6] = [
    (START.as_bytes(), Calls::PLACEHOLDERS),
    (b"ignature", Calls::SIGNATURES),
    (b"ncrypted", Calls::SIGNATURES),
    (b"ncrypted", Calls::BLOCKS),
    (b"redacted", Calls::BLOCKS),
    (b"\"image\"", Calls::BLOCKS),
];

/// Literals of what can hide letters, or separate a secret from its name: they are searched for
/// whatever else is.
const HIDING: [(&[u8], Calls, MayFollow); 20] = [
    (b"\\u00", Calls::ESCAPES, MayFollow::Anything),
    (b"\x1b", Calls::CODES, MayFollow::Anything),
    (b"x1b[", Calls::CODES, COLOUR),
    (b"x1B[", Calls::CODES, COLOUR),
    (b"^[[", Calls::CODES, COLOUR),
    (b"\\033[", Calls::CODES, COLOUR),
    (b"\\e[", Calls::CODES, COLOUR),
    (b"\\E[", Calls::CODES, COLOUR),
    (b"x1b]", Calls::CODES, MayFollow::Anything),
    (b"x1B]", Calls::CODES, MayFollow::Anything),
    (b"^[]", Calls::CODES, MayFollow::Anything),
    (b"\\033]", Calls::CODES, MayFollow::Anything),
    (b"\\e]", Calls::CODES, MayFollow::Anything),
    (b"%3D", Calls::PERCENT, MayFollow::Anything),
    (b"%3d", Calls::PERCENT, MayFollow::Anything),
    (b"%3A", Calls::PERCENT, MayFollow::Anything),
    (b"%3a", Calls::PERCENT, MayFollow::Anything),
    (b"%22", Calls::PERCENT, MayFollow::Anything),
    (b"&quot;", Calls::ENTITIES, MayFollow::Anything),
    (b"&#", Calls::ENTITIES, MayFollow::Anything),
];

/// Of the codes that are written as text, those of colours stand beside secrets. Source code names
/// many others, such as those of keys.
const COLOUR: MayFollow = MayFollow::Checked(continues_colour);

impl Prefilter {
    /// Returns the needles of all rules, and the literals that are always searched for.
    pub fn of_rules() -> &'static Prefilter {
        static NEEDLES: LazyLock<Prefilter> = LazyLock::new(|| Prefilter::of(rule_needles()));
        &NEEDLES
    }

    /// Returns these literals, and those of what can hide them.
    pub fn new<'a>(literals: impl Iterator<Item = (&'a [u8], Calls)>) -> Prefilter {
        let mut needles = Vec::new();
        for (literal, calls) in literals {
            needles.push(Needle::new(literal, calls, MayFollow::Anything));
        }
        for (literal, calls, may_follow) in HIDING {
            needles.push(Needle::new(literal, calls, may_follow));
        }
        Prefilter::of(needles)
    }

    /// Returns a prefilter that searches for each literal once, whatever needles have it.
    fn of(needles: Vec<Needle>) -> Prefilter {
        let mut calls_of_literals: BTreeMap<Vec<u8>, Vec<_>> = BTreeMap::new();
        for needle in needles {
            let calls = calls_of_literals.entry(needle.literal).or_default();
            calls.push((needle.calls, needle.may_follow));
        }
        let (literals, calls): (Vec<_>, Vec<_>) = calls_of_literals.into_iter().unzip();
        let automaton = if literals.len() < MOST_IN_TABLES {
            dfa::Builder::new()
                .prefilter(false)
                .build(literals)
                .map(Automata::Tables)
        } else {
            NFA::builder()
                .prefilter(false)
                .build(literals)
                .map(Automata::Lists)
        };
        Prefilter {
            automaton: automaton.expect("values of a file fit"),
            calls,
        }
    }

    /// Returns what the needles in a text call for.
    pub fn calls_in(&self, text: &[u8]) -> Calls {
        let mut all = Calls::default();
        self.each([text], &mut |_, _, calls| all |= calls);
        all
    }

    /// Returns the needles in some lines that call for something, in order.
    pub fn in_lines(&self, bytes: &[u8]) -> Vec<Found> {
        let ends = cuts(bytes);
        let lanes: [_; LANES] = from_fn(|lane| &bytes[ends[lane]..ends[lane + 1]]);
        let mut found: [Vec<Found>; LANES] = from_fn(|_| Vec::new());
        self.each(lanes, &mut |lane, at, calls| {
            found[lane].push(Found {
                at: ends[lane] + at,
                calls,
            })
        });
        found.into_iter().flatten().collect()
    }

    /// Calls `found` with each needle in the texts that calls for something, in order for each
    /// text: with the number of the text, and the offset of the needle's last byte.
    fn each<const N: usize>(&self, texts: [&[u8]; N], found: &mut dyn FnMut(usize, usize, Calls)) {
        match &self.automaton {
            Automata::Tables(automaton) => self.each_with(automaton, texts, found),
            Automata::Lists(automaton) => self.each_with(automaton, texts, found),
        }
    }

    /// Steps through all texts at the same time, up to the end of the shortest, then through the rest
    /// of each: see [`Prefilter::each`].
    fn each_with<const N: usize>(
        &self,
        automaton: &impl Automaton,
        texts: [&[u8]; N],
        found: &mut dyn FnMut(usize, usize, Calls),
    ) {
        let Ok(start) = automaton.start_state(Anchored::No) else {
            return;
        };
        let mut states = [start; N];
        // A step waits for memory, and steps in different texts do not wait for each other.
        let shortest = texts.iter().map(|text| text.len()).min().unwrap_or(0);
        let beginnings = texts.map(|text| &text[..shortest]);
        for at in 0..shortest {
            for (lane, bytes) in beginnings.iter().enumerate() {
                states[lane] = automaton.next_state(Anchored::No, states[lane], bytes[at]);
                if automaton.is_match(states[lane]) {
                    self.report(automaton, states[lane], texts, lane, at, found);
                }
            }
        }
        for (lane, mut state) in states.into_iter().enumerate() {
            for (at, &byte) in texts[lane].iter().enumerate().skip(shortest) {
                state = automaton.next_state(Anchored::No, state, byte);
                if automaton.is_match(state) {
                    self.report(automaton, state, texts, lane, at, found);
                }
            }
        }
    }

    /// Calls `found` if the needles that end at an offset of a text call for something. `lane` is the
    /// number of the text.
    ///
    /// As a part of the loop that calls it, this would take the registers from the loop, which then
    /// takes a third longer.
    #[inline(never)]
    fn report<const N: usize>(
        &self,
        automaton: &impl Automaton,
        state: StateID,
        texts: [&[u8]; N],
        lane: usize,
        at: usize,
        found: &mut dyn FnMut(usize, usize, Calls),
    ) {
        let mut all = Calls::default();
        for index in 0..automaton.match_len(state) {
            let needle = automaton.match_pattern(state, index);
            for (calls, may_follow) in &self.calls[needle.as_usize()] {
                if may_follow.allows(texts[lane], at) {
                    all |= *calls;
                }
            }
        }
        if all != Calls::default() {
            found(lane, at, all);
        }
    }
}

/// Returns the needles of all rules, and those that are always searched for. Rules that recognize a
/// secret by itself, not by what is around it, have needles in base64 as well.
fn rule_needles() -> Vec<Needle> {
    let mut needles = Vec::new();
    for (row, rule) in RULES.iter().enumerate() {
        for keyword in rule.keywords {
            let may_follow = MayFollow::Checked(rule.may_follow);
            needles.push(Needle::new(
                keyword.as_bytes(),
                Calls::rule(row),
                may_follow,
            ));
            if !rule.is_contextual {
                add_base64(keyword, &mut needles, |bits| {
                    MayFollow::EncodedChecked(bits, rule.may_follow)
                });
            }
        }
    }
    for shape in SHAPES.iter() {
        let prefix = shape.prefix.as_bytes();
        needles.push(Needle::new(prefix, Calls::SHAPES, MayFollow::RestOf(shape)));
        add_base64(shape.prefix, &mut needles, |bits| {
            MayFollow::EncodedRestOf(bits, shape)
        });
    }

    let may_be_assigned = MayFollow::Checked(assignments::may_be_assigned);
    for keyword in assignments::KEYWORDS {
        let keyword = keyword.as_bytes();
        needles.push(Needle::new(keyword, Calls::ASSIGNMENTS, may_be_assigned));
    }
    let may_be_cookie = MayFollow::Checked(cookies::may_follow);
    for keyword in cookies::KEYWORDS {
        needles.push(Needle::new(
            keyword.as_bytes(),
            Calls::COOKIES,
            may_be_cookie,
        ));
    }

    for (literal, calls) in OTHERS {
        needles.push(Needle::new(literal, calls, MayFollow::Anything));
    }
    for (literal, calls, may_follow) in HIDING {
        needles.push(Needle::new(literal, calls, may_follow));
    }
    needles
}

/// Adds the spellings in base64 of the literal with which a secret begins. One character has none.
/// `may_follow` returns what may follow a spelling, by the number of the literal's last bits that are
/// in the digit after it.
fn add_base64(literal: &str, needles: &mut Vec<Needle>, may_follow: impl Fn(usize) -> MayFollow) {
    if literal.len() < 2 {
        return;
    }
    // Three bytes are four digits, so only the number of bytes before it modulo 3 matters.
    for bytes_before in 0..3 {
        let bits = (bytes_before + literal.len()) * 8 % BITS_OF_DIGIT;
        for spelling in base64_spellings(literal.as_bytes(), bytes_before) {
            needles.push(Needle {
                literal: spelling,
                calls: Calls::BASE64,
                may_follow: may_follow(bits),
            });
        }
    }
}

/// The number of texts that are searched at the same time.
const LANES: usize = 4;

/// Returns where to cut bytes into parts of whole lines and about the same length, including both
/// ends. A part is empty where a line is longer than it.
fn cuts(bytes: &[u8]) -> [usize; LANES + 1] {
    from_fn(|lane| match lane {
        0 => 0,
        LANES => bytes.len(),
        lane => {
            let near = bytes.len() / LANES * lane;
            memchr::memchr(b'\n', &bytes[near..]).map_or(bytes.len(), |newline| near + newline + 1)
        }
    })
}

/// Whether the rest of a code for a colour follows its first characters, as in `ESC[1;31m`, or that
/// of the code with which `grep` ends a line. At most [`LONGEST_COLOUR`] bytes of parameters are read.
fn continues_colour(rest: &[u8]) -> bool {
    let is_parameter = |byte: &&u8| byte.is_ascii_digit() || matches!(byte, b';' | b':');
    let parameters = rest
        .iter()
        .take(LONGEST_COLOUR)
        .take_while(is_parameter)
        .count();
    matches!(rest.get(parameters), Some(b'm' | b'K'))
}

/// The maximum number of digits and separators in the code of a colour.
const LONGEST_COLOUR: usize = 24;

/// The minimum number of digits of base64 to decode: fewer encode no key.
pub(super) const SHORTEST_ENCODED: usize = 16;

/// Whether it is a digit of base64, in any of its alphabets.
pub(super) fn is_digit(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// The number of bits that a digit of base64 encodes.
const BITS_OF_DIGIT: usize = 6;

/// Returns the first bytes that digits of base64 encode, without the first `bits_before` bits, which
/// belong to what precedes them. `None` if something else is among the digits, such as a line
/// break, or if there are too few.
fn decoded(digits: &[u8], bits_before: usize) -> Option<[u8; DECODED]> {
    let mut bits: u64 = 0;
    for &digit in digits.get(..DIGITS_DECODED)? {
        let value = match digit {
            b'A'..=b'Z' => digit - b'A',
            b'a'..=b'z' => digit - b'a' + 26,
            b'0'..=b'9' => digit - b'0' + 52,
            b'+' | b'-' => 62,
            b'/' | b'_' => 63,
            _ => return None,
        };
        bits = bits << BITS_OF_DIGIT | u64::from(value);
    }
    let unused = DIGITS_DECODED * BITS_OF_DIGIT - bits_before - DECODED * 8;
    let [_, _, bytes @ ..] = (bits >> unused).to_be_bytes();
    Some(bytes)
}

/// The number of bytes to look at after the spelling of a literal.
const DECODED: usize = 6;

/// The number of digits that encode these bytes, wherever they begin in a digit.
const DIGITS_DECODED: usize = 9;

/// Whether enough digits of base64 follow to encode a key, perhaps with a line break between them,
/// which is an escape in JSON.
fn continues_base64(rest: &[u8]) -> bool {
    let digits = rest
        .iter()
        .take(SHORTEST_ENCODED)
        .take_while(|byte| is_digit(byte));
    let digits_on_line = digits.count();
    if digits_on_line == SHORTEST_ENCODED {
        return true;
    }
    let next_line = after_line_break(&rest[digits_on_line..]);
    let missing = SHORTEST_ENCODED - digits_on_line;
    next_line
        .get(..missing)
        .is_some_and(|digits| digits.iter().all(is_digit))
}

/// Returns what follows the line break with which the bytes begin, `\r` included, written as escapes of
/// any level; nothing if there is none.
fn after_line_break(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    loop {
        let backslashes = rest.iter().take_while(|byte| **byte == b'\\').count();
        match rest.get(backslashes) {
            Some(b'r') if backslashes > 0 => rest = &rest[backslashes + 1..],
            Some(b'n') if backslashes > 0 => return &rest[backslashes + 1..],
            _ => return &[],
        }
    }
}

/// The number of needles from which on tables for all states are too large.
const MOST_IN_TABLES: usize = 2000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn needles_are_reported_in_order() {
        let needles = [(&b"zq"[..], Calls::PEOPLE), (b"abcabcabd", Calls::VALUES)];
        let text = b"zq\nnothing\nabcabcabcabd zq zq\n\n\\u0061";
        let found = Prefilter::new(needles.into_iter()).in_lines(text);
        let found: Vec<_> = found
            .into_iter()
            .map(|found| (found.at, found.calls))
            .collect();
        let people = |at| (at, Calls::PEOPLE);
        let expected = [
            people(1),
            (22, Calls::VALUES),
            people(25),
            people(28),
            (34, Calls::ESCAPES),
        ];
        assert_eq!(found, expected);
    }

    /// A session about tokens and keys is not searched word by word.
    #[test]
    fn ordinary_words_call_for_nothing() {
        let needles = Prefilter::of_rules();
        for text in [
            "the token and the secret of a string",
            "token: string;",
            r#"\"key\": value"#,
            "https://x.org/a:b",
        ] {
            assert_eq!(
                needles.calls_in(text.as_bytes()),
                Calls::default(),
                "{text}"
            );
        }
        for text in [
            "token: 'x9Qd81Lm",
            "TOKEN=x9Qd81Lm",
            r#"{\\\"secret\\\": \\\"x9Qd81Lm"#,
            "token :=\\n\\\"x9Qd81Lm",
            "https://u:p@h",
        ] {
            assert!(needles.calls_in(text.as_bytes()).any(Calls::TEXT), "{text}");
        }
    }
}
