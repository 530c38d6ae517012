//! Decides from the raw bytes which lines may contain something to remove. A skipped line never
//! does.
//!
//! Each rule has needles: literals, at least one of which is in every secret that the rule finds.
//! One automaton searches for the needles of all rules at once. If a needle is an ordinary word,
//! the bytes after it decide whether it counts. The needles in a line determine the searches to run
//! on the line: see [`SearchSet`].

use super::rules::{RULES, Rule};
use super::shapes::{SHAPES, Shape};
use super::values::base64_spellings;
use super::{PLACEHOLDER_START, assignments, cookies};
use aho_corasick::automaton::{Automaton, StateID};
use aho_corasick::nfa::contiguous::NFA;
use aho_corasick::{Anchored, dfa};
use std::array::from_fn;
use std::collections::BTreeMap;
use std::ops::{BitOrAssign, Range};
use std::sync::LazyLock;

/// The searches that a line needs because of its needles: rules to apply, and other searches. A
/// constant below is the set of one search, unless stated otherwise.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SearchSet {
    /// One bit for each rule of the table.
    rule_bits: [u64; RULE_WORDS],
    /// One bit for each of the other searches.
    other_bits: u16,
}

/// The number of 64-bit words that have a bit for each rule.
const RULE_WORDS: usize = RULES.len().div_ceil(64);

impl SearchSet {
    /// A secret may be encoded in base64.
    pub const BASE64: SearchSet = SearchSet::from_bit(0);
    /// Letters may be written as escapes, which can hide any needle.
    pub const ESCAPES: SearchSet = SearchSet::from_bit(1);
    /// A value given by the user, or found elsewhere, may be in the line.
    pub const VALUES: SearchSet = SearchSet::from_bit(2);
    /// A home directory or the name of a user may be in the line.
    pub const PEOPLE: SearchSet = SearchSet::from_bit(3);
    /// A placeholder is in the line.
    pub const PLACEHOLDERS: SearchSet = SearchSet::from_bit(4);
    /// A string may be a signature, or encrypted.
    pub const SIGNATURES: SearchSet = SearchSet::from_bit(5);
    /// A content block or a payload may be opaque as a whole.
    pub const BLOCKS: SearchSet = SearchSet::from_bit(6);
    /// The codes of a terminal may be in a secret, or between it and its name.
    pub const CODES: SearchSet = SearchSet::from_bit(7);
    /// A secret or its name may be encoded for a URL.
    pub const PERCENT: SearchSet = SearchSet::from_bit(8);
    /// A secret or its name may be encoded as HTML.
    pub const ENTITIES: SearchSet = SearchSet::from_bit(9);
    /// The searches for everything that can hide a needle.
    pub const HIDING: SearchSet = SearchSet {
        rule_bits: [0; RULE_WORDS],
        other_bits: SearchSet::ESCAPES.other_bits
            | SearchSet::CODES.other_bits
            | SearchSet::PERCENT.other_bits
            | SearchSet::ENTITIES.other_bits,
    };
    /// A secret of a known shape may be in the line.
    pub const SHAPES: SearchSet = SearchSet::from_bit(10);
    /// A value may be assigned to the name of a secret.
    pub const ASSIGNMENTS: SearchSet = SearchSet::from_bit(11);
    /// The value of a cookie may be in the line.
    pub const COOKIES: SearchSet = SearchSet::from_bit(12);
    /// All searches for secrets in text.
    pub const TEXT: SearchSet = SearchSet {
        rule_bits: [u64::MAX; RULE_WORDS],
        other_bits: SearchSet::BASE64.other_bits
            | SearchSet::VALUES.other_bits
            | SearchSet::HIDING.other_bits
            | SearchSet::SHAPES.other_bits
            | SearchSet::ASSIGNMENTS.other_bits
            | SearchSet::COOKIES.other_bits,
    };
    /// The searches that can find a secret in one form of a text: rules, shapes, assignments,
    /// cookies.
    pub const SECRETS: SearchSet = SearchSet {
        rule_bits: [u64::MAX; RULE_WORDS],
        other_bits: SearchSet::SHAPES.other_bits
            | SearchSet::ASSIGNMENTS.other_bits
            | SearchSet::COOKIES.other_bits,
    };
    /// All searches.
    #[cfg(test)]
    pub const EVERY: SearchSet = SearchSet {
        rule_bits: [u64::MAX; RULE_WORDS],
        other_bits: u16::MAX,
    };

    const fn from_bit(bit: u32) -> SearchSet {
        SearchSet {
            rule_bits: [0; RULE_WORDS],
            other_bits: 1 << bit,
        }
    }

    /// Returns the set of one rule, given its row in the table.
    pub fn for_rule(row: usize) -> SearchSet {
        let mut searches = SearchSet::default();
        searches.rule_bits[row / 64] = 1 << (row % 64);
        searches
    }

    /// Whether the two sets have a search in common.
    pub fn intersects(self, other: SearchSet) -> bool {
        let mut common = u64::from(self.other_bits & other.other_bits);
        for (own, wanted) in self.rule_bits.iter().zip(other.rule_bits) {
            common |= own & wanted;
        }
        common != 0
    }
}

impl BitOrAssign for SearchSet {
    fn bitor_assign(&mut self, other: SearchSet) {
        self.other_bits |= other.other_bits;
        for (own, more) in self.rule_bits.iter_mut().zip(other.rule_bits) {
            *own |= more;
        }
    }
}

/// An occurrence of a needle in a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NeedleHit {
    /// The offset of the needle's last byte.
    pub last_byte: usize,
    /// The searches that the line needs because of the needle.
    pub searches: SearchSet,
}

/// A search for needles, at least one of which is in every line with something to remove.
#[derive(Debug)]
pub struct NeedlePrefilter {
    automaton: NeedleAutomaton,
    /// By the number of a pattern in the automaton: the calls of the needles with this literal.
    calls_by_pattern: Vec<Vec<Call>>,
    /// The length of the longest needle, in bytes.
    longest_needle: usize,
}

/// A literal to search for, and the searches that it calls for. Several needles may have the same
/// literal.
struct Needle {
    literal: Vec<u8>,
    call: Call,
}

/// The searches that a needle calls for, if the bytes after it fulfil a condition.
#[derive(Clone, Copy, Debug)]
struct Call {
    searches: SearchSet,
    /// The condition for the bytes after the needle.
    continuation: Continuation,
}

impl Needle {
    fn new(literal: &[u8], searches: SearchSet, continuation: Continuation) -> Needle {
        Needle {
            literal: literal.to_vec(),
            call: Call {
                searches,
                continuation,
            },
        }
    }
}

/// The automaton. A DFA has a table for each state, which takes some megabytes in all. An NFA has
/// lists, and takes three times as long.
#[derive(Debug)]
enum NeedleAutomaton {
    Dfa(dfa::DFA),
    Nfa(NFA),
}

/// The condition that the bytes after a needle must fulfil for it to count.
#[derive(Clone, Copy, Debug)]
enum Continuation {
    Anything,
    /// Bytes for which this is true.
    Checked(fn(&[u8]) -> bool),
    /// The rest of a secret of this shape.
    RestOf(&'static Shape),
    /// Digits of base64 that encode bytes for which `may_follow` is true.
    EncodedChecked {
        /// The number of bits at the start of the first digit that belong to the needle.
        bits_before: usize,
        may_follow: fn(&[u8]) -> bool,
    },
    /// Digits of base64 that encode text for which `may_follow` is true.
    EncodedText {
        /// The number of bits at the start of the first digit that belong to the needle.
        bits_before: usize,
        may_follow: fn(&[u8]) -> bool,
    },
    /// Digits of base64 that encode the rest of a secret of this shape.
    EncodedRestOf {
        /// The number of bits at the start of the first digit that belong to the needle.
        bits_before: usize,
        shape: &'static Shape,
    },
}

impl Continuation {
    /// Whether the needle that ends at `last_byte` may be part of a secret, judged by the bytes
    /// after it.
    ///
    /// In doubt, returns true: a wrong `false` would leave a secret in the file, because a line
    /// without needles is not searched, but a wrong `true` only costs time.
    fn allows(self, text: &[u8], last_byte: usize) -> bool {
        let (up_to_needle, rest) = text.split_at(last_byte + 1);
        match self {
            Continuation::Anything => true,
            Continuation::Checked(may_follow) => may_follow(rest),
            Continuation::RestOf(shape) => {
                // The needle is the prefix of the shape, so its length is known.
                let before_prefix = &up_to_needle[..up_to_needle.len() - shape.prefix.len()];
                shape.may_continue_with(rest) && shape.may_begin_after(before_prefix)
            }
            Continuation::EncodedChecked {
                bits_before,
                may_follow,
            } => {
                let may_continue = match decode_first_bytes(rest, bits_before) {
                    Some(first_bytes) => may_follow(&first_bytes),
                    // There are too few digits on this line. They may continue after a line break,
                    // where only the search itself reads them.
                    None => true,
                };
                may_continue && continues_base64(rest)
            }
            Continuation::EncodedText {
                bits_before,
                may_follow,
            } => continues_base64(rest) && encodes_text(rest, bits_before, may_follow),
            Continuation::EncodedRestOf { bits_before, shape } => {
                let may_continue = match decode_first_bytes(rest, bits_before) {
                    Some(first_bytes) => shape.may_continue_with_prefix(&first_bytes),
                    // As above.
                    None => true,
                };
                may_continue && continues_base64(rest)
            }
        }
    }
}

/// The needles of opaque content and of placeholders.
const OPAQUE_LITERALS: [(&[u8], SearchSet); 6] = [
    (PLACEHOLDER_START.as_bytes(), SearchSet::PLACEHOLDERS),
    (b"ignature", SearchSet::SIGNATURES),
    (b"ncrypted", SearchSet::SIGNATURES),
    (b"ncrypted", SearchSet::BLOCKS),
    (b"redacted", SearchSet::BLOCKS),
    (b"\"image\"", SearchSet::BLOCKS),
];

/// The needles of encodings that can hide letters, or separate a secret from its name. Every
/// prefilter includes them.
const HIDING_LITERALS: [(&[u8], SearchSet, Continuation); 39] = [
    (b"\\u00", SearchSet::ESCAPES, Continuation::Anything),
    (b"\x1b", SearchSet::CODES, Continuation::Anything),
    (b"x1b[", SearchSet::CODES, COLOUR),
    (b"x1B[", SearchSet::CODES, COLOUR),
    (b"^[[", SearchSet::CODES, COLOUR),
    (b"\\033[", SearchSet::CODES, COLOUR),
    (b"\\e[", SearchSet::CODES, COLOUR),
    (b"\\E[", SearchSet::CODES, COLOUR),
    (b"x1b]", SearchSet::CODES, Continuation::Anything),
    (b"x1B]", SearchSet::CODES, Continuation::Anything),
    (b"^[]", SearchSet::CODES, Continuation::Anything),
    (b"\\033]", SearchSet::CODES, Continuation::Anything),
    (b"\\e]", SearchSet::CODES, Continuation::Anything),
    (b"%3D", SearchSet::PERCENT, Continuation::Anything),
    (b"%3d", SearchSet::PERCENT, Continuation::Anything),
    (b"%3A", SearchSet::PERCENT, Continuation::Anything),
    (b"%3a", SearchSet::PERCENT, Continuation::Anything),
    (b"%22", SearchSet::PERCENT, Continuation::Anything),
    (b"%20", SearchSet::PERCENT, ENCODED_WORD),
    (b"%27", SearchSet::PERCENT, ENCODED_WORD),
    (b"%0A", SearchSet::PERCENT, ENCODED_WORD),
    (b"%0a", SearchSet::PERCENT, ENCODED_WORD),
    (b"%24", SearchSet::PERCENT, ENCODED_WORD),
    (b"%2F", SearchSet::PERCENT, ENCODED_WORD),
    (b"%2f", SearchSet::PERCENT, ENCODED_WORD),
    (b"%2B", SearchSet::PERCENT, ENCODED_WORD),
    (b"%2b", SearchSet::PERCENT, ENCODED_WORD),
    (b"ser+", SearchSet::PERCENT, ENCODED_WORD),
    (b"-p+", SearchSet::PERCENT, ENCODED_WORD),
    (b"-a+", SearchSet::PERCENT, ENCODED_WORD),
    (b"earer+", SearchSet::PERCENT, ENCODED_WORD),
    (b"oken+", SearchSet::PERCENT, ENCODED_WORD),
    (b"key+", SearchSet::PERCENT, ENCODED_WORD),
    (b"word+", SearchSet::PERCENT, ENCODED_WORD),
    (b"phrase+", SearchSet::PERCENT, ENCODED_WORD),
    (b"PRIVATE%20KEY", SearchSet::PERCENT, Continuation::Anything),
    (b"PRIVATE+KEY", SearchSet::PERCENT, Continuation::Anything),
    (b"&quot;", SearchSet::ENTITIES, Continuation::Anything),
    (b"&#", SearchSet::ENTITIES, Continuation::Anything),
];

/// A terminal code that is written as text counts only if it is that of a colour, as in output with
/// secrets. Source code contains many other codes, such as those of keys.
const COLOUR: Continuation = Continuation::Checked(continues_colour);

/// A URL escape counts only before a word that may be a secret or a part of one. Most addresses
/// have only ordinary words there.
const ENCODED_WORD: Continuation = Continuation::Checked(begins_with_random_word);

impl NeedlePrefilter {
    /// Returns the prefilter for all rules, opaque content and encodings.
    pub fn for_rules() -> &'static NeedlePrefilter {
        static NEEDLES: LazyLock<NeedlePrefilter> =
            LazyLock::new(|| NeedlePrefilter::from_needles(build_rule_needles()));
        &NEEDLES
    }

    /// Returns a prefilter for these literals, and for the encodings that can hide them.
    pub fn new<'a>(literals: impl Iterator<Item = (&'a [u8], SearchSet)>) -> NeedlePrefilter {
        let mut needles = Vec::new();
        for (literal, searches) in literals {
            needles.push(Needle::new(literal, searches, Continuation::Anything));
        }
        for (literal, searches, continuation) in HIDING_LITERALS {
            needles.push(Needle::new(literal, searches, continuation));
        }
        NeedlePrefilter::from_needles(needles)
    }

    /// Builds the automaton for these needles. Needles with the same literal share one pattern of
    /// the automaton, so that it reports them only once.
    fn from_needles(needles: Vec<Needle>) -> NeedlePrefilter {
        let mut calls_by_literal: BTreeMap<Vec<u8>, Vec<Call>> = BTreeMap::new();
        for Needle { literal, call } in needles {
            calls_by_literal.entry(literal).or_default().push(call);
        }

        // The automaton numbers its patterns in the order of the literals that it is given.
        let mut literals = Vec::new();
        let mut calls_by_pattern = Vec::new();
        for (literal, calls) in calls_by_literal {
            literals.push(literal);
            calls_by_pattern.push(calls);
        }
        let longest_needle = literals.iter().map(Vec::len).max().unwrap_or(0);

        // The automaton is stepped byte by byte here, where its own prefilter cannot be used.
        let automaton = if literals.len() < MOST_DFA_NEEDLES {
            let table = dfa::Builder::new().prefilter(false).build(literals);
            NeedleAutomaton::Dfa(table.expect("values of a file fit"))
        } else {
            let lists = NFA::builder().prefilter(false).build(literals);
            NeedleAutomaton::Nfa(lists.expect("values of a file fit"))
        };
        NeedlePrefilter {
            automaton,
            calls_by_pattern,
            longest_needle,
        }
    }

    /// Returns the searches that the needles in a text call for.
    ///
    /// A long text is divided into [`LANES`] parts that are searched at the same time. Each part
    /// begins before the end of the previous one, so that no needle is cut in half. A needle in
    /// the overlap is found twice, which adds nothing to the set.
    pub fn needed_searches(&self, text: &[u8]) -> SearchSet {
        let mut all = SearchSet::default();
        let mut add_searches = |_lane, hit: NeedleHit| all |= hit.searches;

        let overlap = self.longest_needle.saturating_sub(1);
        let is_mostly_overlap = text.len() < 2 * LANES * overlap;
        if text.len() < LEAST_DIVIDED || is_mostly_overlap {
            let whole = 0..text.len();
            self.each_needle(text, [whole], &mut add_searches);
            return all;
        }

        let share = text.len().div_ceil(LANES);
        let parts: [_; LANES] = from_fn(|lane| {
            let start = (share * lane).saturating_sub(overlap);
            let end = (share * (lane + 1)).min(text.len());
            start..end
        });
        self.each_needle(text, parts, &mut add_searches);
        all
    }

    /// Returns the counting needles in one or more lines, in the order of their last bytes. Offsets
    /// are those in `bytes`.
    ///
    /// The lines are divided into `LANES` parts that are searched at the same time, which is
    /// faster: see `step_through_parts`. Each part ends with a line, so a needle with a newline
    /// might be missed, but no needle has one: in JSON, a line break is an escape.
    pub fn find_in_lines(&self, bytes: &[u8]) -> Vec<NeedleHit> {
        let bounds = lane_bounds(bytes);
        let parts: [_; LANES] = from_fn(|lane| bounds[lane]..bounds[lane + 1]);
        let mut hits_by_lane: [Vec<NeedleHit>; LANES] = from_fn(|_| Vec::new());
        self.each_needle(bytes, parts, &mut |lane, hit| hits_by_lane[lane].push(hit));
        // The lanes are consecutive, and the hits of each are in order.
        hits_by_lane.into_iter().flatten().collect()
    }

    /// Calls `visit` with the index of the part and the hit for each counting needle in the parts
    /// of a text. The hits of each part are in order. The bytes that are checked after a needle may
    /// be beyond its part.
    fn each_needle<const N: usize>(
        &self,
        text: &[u8],
        parts: [Range<usize>; N],
        visit: &mut dyn FnMut(usize, NeedleHit),
    ) {
        match &self.automaton {
            NeedleAutomaton::Dfa(automaton) => {
                self.step_through_parts(automaton, text, parts, visit);
            }
            NeedleAutomaton::Nfa(automaton) => {
                self.step_through_parts(automaton, text, parts, visit);
            }
        }
    }

    /// Steps through all parts at the same time up to the length of the shortest part, and then
    /// through the rest of each. This is faster, because a step waits for memory, but steps in
    /// different parts do not wait for each other.
    fn step_through_parts<const N: usize>(
        &self,
        automaton: &impl Automaton,
        text: &[u8],
        parts: [Range<usize>; N],
        visit: &mut dyn FnMut(usize, NeedleHit),
    ) {
        // Only an automaton that was built for anchored searches has no such state. Panics then,
        // because to find nothing would leave secrets in the file.
        let start = automaton
            .start_state(Anchored::No)
            .expect("the automaton is built for searches anywhere");
        let mut states = [start; N];

        let shortest = parts.iter().map(Range::len).min().unwrap_or(0);
        let beginnings = parts
            .each_ref()
            .map(|part| &text[part.start..part.start + shortest]);
        for offset in 0..shortest {
            for (lane, bytes) in beginnings.iter().enumerate() {
                states[lane] = automaton.next_state(Anchored::No, states[lane], bytes[offset]);
                if automaton.is_match(states[lane]) {
                    let last_byte = parts[lane].start + offset;
                    if let Some(hit) = self.needle_at(automaton, states[lane], text, last_byte) {
                        visit(lane, hit);
                    }
                }
            }
        }

        for (lane, mut state) in states.into_iter().enumerate() {
            let rest_start = parts[lane].start + shortest;
            for (offset, &byte) in text[rest_start..parts[lane].end].iter().enumerate() {
                state = automaton.next_state(Anchored::No, state, byte);
                if automaton.is_match(state)
                    && let Some(hit) = self.needle_at(automaton, state, text, rest_start + offset)
                {
                    visit(lane, hit);
                }
            }
        }
    }

    /// Returns the searches that the needles ending at `last_byte` call for; `None` if the bytes
    /// after it rule out every needle. `state` is the state of the automaton after this byte.
    ///
    /// Not inlined, because the function would use the registers that the calling loop needs: the
    /// loop would take a third longer.
    #[inline(never)]
    fn needle_at(
        &self,
        automaton: &impl Automaton,
        state: StateID,
        text: &[u8],
        last_byte: usize,
    ) -> Option<NeedleHit> {
        let mut searches = SearchSet::default();
        // Several patterns end at the same byte if one is a suffix of another.
        for index in 0..automaton.match_len(state) {
            let pattern = automaton.match_pattern(state, index);
            for call in &self.calls_by_pattern[pattern.as_usize()] {
                if call.continuation.allows(text, last_byte) {
                    searches |= call.searches;
                }
            }
        }
        if searches == SearchSet::default() {
            return None;
        }
        Some(NeedleHit {
            last_byte,
            searches,
        })
    }
}

/// Returns the needles of all rules, of opaque content and of encodings.
fn build_rule_needles() -> Vec<Needle> {
    let mut needles = Vec::new();
    for (row, rule) in RULES.iter().enumerate() {
        add_needles_of_rule(row, rule, &mut needles);
    }
    for shape in SHAPES.iter() {
        add_needles_of_shape(shape, &mut needles);
    }

    // The keywords are ordinary words, so the bytes after a keyword decide whether it counts.
    let assignment = Continuation::Checked(assignments::may_be_assigned);
    for keyword in assignments::KEYWORDS {
        needles.push(Needle::new(
            keyword.as_bytes(),
            SearchSet::ASSIGNMENTS,
            assignment,
        ));
        add_base64_text_needles(keyword, assignments::may_be_assigned, &mut needles);
    }
    let cookie = Continuation::Checked(cookies::may_follow);
    for keyword in cookies::KEYWORDS {
        let keyword = keyword.as_bytes();
        needles.push(Needle::new(keyword, SearchSet::COOKIES, cookie));
    }

    for (literal, searches) in OPAQUE_LITERALS {
        needles.push(Needle::new(literal, searches, Continuation::Anything));
    }
    for (literal, searches, continuation) in HIDING_LITERALS {
        needles.push(Needle::new(literal, searches, continuation));
    }
    needles
}

/// Adds the keywords of the rule in a row of the table, plain and in base64.
fn add_needles_of_rule(row: usize, rule: &'static Rule, needles: &mut Vec<Needle>) {
    let searches = SearchSet::for_rule(row);
    let may_follow = rule.may_follow;
    for keyword in rule.keywords {
        let continuation = Continuation::Checked(may_follow);
        needles.push(Needle::new(keyword.as_bytes(), searches, continuation));

        if rule.is_contextual {
            add_base64_text_needles(keyword, may_follow, needles);
        } else {
            add_base64_needles(keyword, needles, |bits_before| {
                Continuation::EncodedChecked {
                    bits_before,
                    may_follow,
                }
            });
        }
    }
}

/// Adds the base64 spellings of a keyword that is recognized in text, such as a settings file or
/// the output of a program that is encoded as a whole.
fn add_base64_text_needles(
    keyword: &str,
    may_follow: fn(&[u8]) -> bool,
    needles: &mut Vec<Needle>,
) {
    add_base64_needles(keyword, needles, |bits_before| Continuation::EncodedText {
        bits_before,
        may_follow,
    });
}

/// Adds the prefix of a shape, plain and in base64.
fn add_needles_of_shape(shape: &'static Shape, needles: &mut Vec<Needle>) {
    let prefix = shape.prefix.as_bytes();
    let continuation = Continuation::RestOf(shape);
    needles.push(Needle::new(prefix, SearchSet::SHAPES, continuation));
    add_base64_needles(shape.prefix, needles, |bits_before| {
        Continuation::EncodedRestOf { bits_before, shape }
    });
}

/// Adds the base64 spellings of a literal. A literal of one byte has none that is long enough.
///
/// A spelling consists of the digits all of whose bits belong to the literal. The last bits of the
/// literal may be in the next digit. `continuation_after` returns the condition for the bytes after
/// a spelling, given the number of these bits.
fn add_base64_needles(
    literal: &str,
    needles: &mut Vec<Needle>,
    continuation_after: impl Fn(usize) -> Continuation,
) {
    if literal.len() < 2 {
        return;
    }
    // Three bytes are four digits, so only the number of bytes before the literal modulo 3 matters.
    for bytes_before in 0..3 {
        let bits_in_next_digit = (bytes_before + literal.len()) * 8 % BITS_PER_DIGIT;
        for spelling in base64_spellings(literal.as_bytes(), bytes_before) {
            let continuation = continuation_after(bits_in_next_digit);
            needles.push(Needle::new(&spelling, SearchSet::BASE64, continuation));
        }
    }
}

/// The number of parts of a text that are searched at the same time.
const LANES: usize = 4;

/// A text of fewer bytes is searched as a whole, because dividing it would save no time.
const LEAST_DIVIDED: usize = 256;

/// Divides lines into [`LANES`] consecutive parts of about the same length, without dividing a
/// line. Returns the start of each part, and the end of the last one.
///
/// A line that is longer than a part leaves the next parts empty.
fn lane_bounds(bytes: &[u8]) -> [usize; LANES + 1] {
    let mut bounds = [0; LANES + 1];
    bounds[LANES] = bytes.len();
    for (lane, bound) in bounds.iter_mut().enumerate().take(LANES).skip(1) {
        let equal_share = bytes.len() / LANES * lane;
        *bound = match memchr::memchr(b'\n', &bytes[equal_share..]) {
            Some(newline) => equal_share + newline + 1,
            None => bytes.len(),
        };
    }
    bounds
}

/// Whether the bytes after `ESC[` are the rest of a colour code, as in `ESC[1;31m`, or of the code
/// `ESC[K`, with which `grep` ends a line.
fn continues_colour(rest: &[u8]) -> bool {
    for byte in rest.iter().take(LONGEST_COLOUR + 1) {
        match byte {
            // The parameters.
            b'0'..=b'9' | b';' | b':' => {}
            b'm' | b'K' => return true,
            _ => return false,
        }
    }
    false
}

/// Whether the bytes begin with a word that may be a secret or a part of one. The word must have at
/// least 16 characters, or at least six with both a letter and a digit.
fn begins_with_random_word(rest: &[u8]) -> bool {
    const SHORTEST: usize = 6;
    const LONGEST_OF_LETTERS: usize = 15;

    let mut word_len = 0;
    while word_len <= LONGEST_OF_LETTERS {
        match &rest[word_len..] {
            [byte, ..] if byte.is_ascii_alphanumeric() || b"!#*_-.^~$".contains(byte) => {
                word_len += 1;
            }
            // URL escapes of signs that are usual in passwords count as parts of the word.
            [b'%', b'2', b'1' | b'3' | b'4' | b'A' | b'B', ..]
            | [b'%', b'5', b'E', ..]
            | [b'%', b'4', b'0', ..] => word_len += 3,
            _ => break,
        }
    }
    let word = &rest[..word_len];
    let is_mixed = word.iter().any(u8::is_ascii_digit) && word.iter().any(u8::is_ascii_alphabetic);
    word_len > LONGEST_OF_LETTERS || word_len >= SHORTEST && is_mixed
}

/// The maximum number of digits and separators in a colour code, with some reserve:
/// `38;2;255;255;255;1` has 18. The limit avoids reading a long text of digits to its end.
const LONGEST_COLOUR: usize = 24;

/// The minimum number of base64 digits of a run that is decoded. Fewer digits are too short for a
/// key.
pub(super) const SHORTEST_ENCODED: usize = 16;

/// Whether a byte is a base64 digit, in the standard or the URL alphabet.
pub(super) fn is_base64_digit(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// The number of bits that a digit of base64 encodes.
const BITS_PER_DIGIT: usize = 6;

/// Returns the first [`BYTES_DECODED`] bytes that base64 digits encode, after the first
/// `bits_before` bits. `None` if there are too few digits, or if something else, such as a line
/// break, is among them.
fn decode_first_bytes(digits: &[u8], bits_before: usize) -> Option<[u8; BYTES_DECODED]> {
    let mut bits: u64 = 0;
    for &digit in digits.get(..DIGITS_DECODED)? {
        bits = bits << BITS_PER_DIGIT | u64::from(base64_digit_value(digit)?);
    }
    // The digits have more bits than the bytes need: `bits_before`, and the rest at the end.
    let bits_after = DIGITS_DECODED * BITS_PER_DIGIT - bits_before - BYTES_DECODED * 8;
    // The first two bytes of the `u64` have only the bits before the decoded bytes.
    let [_, _, bytes @ ..] = (bits >> bits_after).to_be_bytes();
    Some(bytes)
}

/// The number of bytes that [`decode_first_bytes`] decodes. It relies on a `u64` having two more.
const BYTES_DECODED: usize = 6;

/// The number of digits that encode [`BYTES_DECODED`] bytes. Eight digits, with 48 bits, would
/// suffice only for bytes that begin with the first bit of a digit.
const DIGITS_DECODED: usize = 9;

/// Whether `rest` begins with base64 digits that encode, after the first `bits_before` bits, a text
/// for which `may_follow` is true. If a line break cuts the digits, any text is accepted, because
/// the rest of it is not known.
fn encodes_text(rest: &[u8], bits_before: usize, may_follow: fn(&[u8]) -> bool) -> bool {
    let digit_count = rest
        .iter()
        .take(TEXT_DIGITS_DECODED)
        .take_while(|byte| is_base64_digit(byte))
        .count();
    let (digits, after_digits) = rest.split_at(digit_count);
    let bytes = decode_bytes(digits, bits_before);

    let is_text = bytes
        .iter()
        .take(BYTES_OF_TEXT)
        .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    let is_cut = digit_count < TEXT_DIGITS_DECODED && !after_line_break(after_digits).is_empty();
    is_text && (is_cut || may_follow(&bytes))
}

/// The maximum number of digits that [`encodes_text`] decodes. They encode 324 bytes; the checks of
/// rules look at no more than about 320.
const TEXT_DIGITS_DECODED: usize = 432;

/// The number of decoded bytes that must be printable ASCII or white space. If the needle is there
/// only by chance, at least one of this number of bytes is not.
const BYTES_OF_TEXT: usize = 16;

/// Returns the bytes that base64 digits encode after the first `bits_before` bits, up to the last
/// whole byte.
fn decode_bytes(digits: &[u8], bits_before: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(digits.len());
    let mut bits: u32 = 0;
    // Negative while the first `bits_before` bits are skipped.
    let mut bit_count = -(bits_before as isize);
    for &digit in digits {
        bits = bits << BITS_PER_DIGIT | u32::from(base64_digit_value(digit).unwrap_or(0));
        bit_count += BITS_PER_DIGIT as isize;
        if bit_count >= 8 {
            bit_count -= 8;
            bytes.push((bits >> bit_count) as u8);
        }
    }
    bytes
}

/// Returns the six bits of a base64 digit, in the standard or the URL alphabet; `None` for any
/// other byte.
fn base64_digit_value(digit: u8) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

/// Whether the bytes begin with at least [`SHORTEST_ENCODED`] base64 digits. One line break,
/// written as an escape, may be among them, because programs wrap base64.
fn continues_base64(rest: &[u8]) -> bool {
    let digits_on_line = rest
        .iter()
        .take(SHORTEST_ENCODED)
        .take_while(|byte| is_base64_digit(byte))
        .count();
    if digits_on_line == SHORTEST_ENCODED {
        return true;
    }
    let next_line = after_line_break(&rest[digits_on_line..]);
    let missing = SHORTEST_ENCODED - digits_on_line;
    match next_line.get(..missing) {
        Some(digits) => digits.iter().all(is_base64_digit),
        None => false,
    }
}

/// Returns the bytes after a line break at the start of `bytes`; empty if there is no line break.
///
/// The line break is written as an escape: `\n`, or `\r\n` from Windows. Each level of escaping
/// doubles the backslashes, so any number of them may precede the letter.
fn after_line_break(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    loop {
        let backslashes = rest.iter().take_while(|byte| **byte == b'\\').count();
        if backslashes == 0 {
            return &[];
        }
        match &rest[backslashes..] {
            [b'r', after @ ..] => rest = after,
            [b'n', after @ ..] => return after,
            _ => return &[],
        }
    }
}

/// From this number of needles on, the tables of a DFA are too large.
const MOST_DFA_NEEDLES: usize = 2000;

#[cfg(test)]
mod tests {
    use super::*;
    use base64::Engine;
    use base64::engine::general_purpose::STANDARD;

    #[test]
    fn needles_are_reported_in_order() {
        let needles = [
            (&b"zq"[..], SearchSet::PEOPLE),
            (b"abcabcabd", SearchSet::VALUES),
        ];
        let text = b"zq\nnothing\nabcabcabcabd zq zq\n\n\\u0061";
        let found = NeedlePrefilter::new(needles.into_iter()).find_in_lines(text);
        let found: Vec<_> = found
            .into_iter()
            .map(|found| (found.last_byte, found.searches))
            .collect();
        let people = |at| (at, SearchSet::PEOPLE);
        let expected = [
            people(1),
            (22, SearchSet::VALUES),
            people(25),
            people(28),
            (34, SearchSet::ESCAPES),
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_keyword_in_base64_counts_if_it_is_in_text() {
        let calls_for_base64 = |text: &str| {
            let searches = NeedlePrefilter::for_rules().needed_searches(text.as_bytes());
            searches.intersects(SearchSet::BASE64)
        };
        for before in ["", "a", "ab", "# settings of the service\n"] {
            for setting in [
                "ACME_TOKEN=x9Qd81LmP2",
                "password: x9Qd81LmP2",
                "DATABASE_URL=postgres://app:x9Qd81LmP2@db/main",
                "Authorization: Bearer x9Qd81LmP2x9Qd81LmP2",
            ] {
                let file = format!("{before}{setting}\nREGION=eu-north-1\n");
                let digits = STANDARD.encode(file);
                assert!(calls_for_base64(&digits), "{setting}");
            }
            let file = format!("{before}the token and the key of a session\n");
            assert!(!calls_for_base64(&STANDARD.encode(file)));
        }
        // The digits of `key` are in these words by chance.
        assert!(!calls_for_base64("a/little/bottles/settlementOfTheBattles"));
    }

    #[test]
    fn a_needle_is_found_wherever_a_text_is_divided() {
        let needles = NeedlePrefilter::new([(&b"zq\nzq"[..], SearchSet::PEOPLE)].into_iter());
        let longest = 2 * LEAST_DIVIDED;
        for before in 0..longest {
            let text = format!(
                "{}zq\nzq{}",
                ".".repeat(before),
                ".".repeat(longest - before)
            );
            assert_eq!(
                needles.needed_searches(text.as_bytes()),
                SearchSet::PEOPLE,
                "{before}"
            );
        }
    }

    /// A session about tokens and keys is not searched word by word.
    #[test]
    fn ordinary_words_call_for_nothing() {
        let needles = NeedlePrefilter::for_rules();
        for text in [
            "the token and the secret of a string",
            "token: string;",
            r#"\"key\": value"#,
            "https://x.org/a:b",
        ] {
            assert_eq!(
                needles.needed_searches(text.as_bytes()),
                SearchSet::default(),
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
            assert!(
                needles
                    .needed_searches(text.as_bytes())
                    .intersects(SearchSet::TEXT),
                "{text}"
            );
        }
    }
}
