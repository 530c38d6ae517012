//! The needles: literals to search for in the raw bytes of a line.

use super::continuation::{COLOUR, Continuation, ENCODED_WORD};
use super::search_set::SearchSet;
use crate::redact::base64_digits::BITS_PER_DIGIT;
use crate::redact::rules::{RULES, Rule};
use crate::redact::shapes::{SHAPES, Shape};
use crate::redact::values::base64_spellings;
use crate::redact::{PLACEHOLDER_START, assignments, cookies};

/// A literal to search for, and the searches that a line with it needs. Several needles may have
/// the same literal.
pub struct Needle {
    pub literal: Vec<u8>,
    pub needed: NeededSearches,
}

/// The searches that a line with a needle needs, if the bytes after its literal fulfil a condition.
#[derive(Clone, Debug)]
pub struct NeededSearches {
    pub searches: SearchSet,
    /// The rest of the needle, which must follow the literal; usually empty.
    rest: Box<[u8]>,
    /// The condition for the bytes after the needle.
    continuation: Continuation,
}

impl NeededSearches {
    /// Whether the needle whose literal ends at `last_byte` may be part of a secret, judged by the
    /// bytes after the literal.
    pub fn are_called_for(&self, text: &[u8], last_byte: usize) -> bool {
        // The keywords of text have no rest. They are so frequent that a call that compares no
        // bytes makes the search of a session take a quarter longer.
        if !self.rest.is_empty() && !text[last_byte + 1..].starts_with(&self.rest) {
            return false;
        }
        self.continuation.allows(text, last_byte + self.rest.len())
    }
}

impl Needle {
    pub fn new(literal: &[u8], searches: SearchSet, continuation: Continuation) -> Needle {
        Needle {
            literal: literal.to_vec(),
            needed: NeededSearches {
                searches,
                rest: Box::default(),
                continuation,
            },
        }
    }

    /// Returns a needle in base64, of which only the first [`DIGITS_SEARCHED`] digits are the
    /// literal.
    fn in_base64(digits: &[u8], continuation: Continuation) -> Needle {
        let (literal, rest) = digits.split_at(digits.len().min(DIGITS_SEARCHED));
        Needle {
            literal: literal.to_vec(),
            needed: NeededSearches {
                searches: SearchSet::BASE64,
                rest: rest.into(),
                continuation,
            },
        }
    }
}

/// The maximum number of digits of a needle in base64 that the automaton searches for. Four digits
/// are rare in text, and the others are compared where they occur. With all digits, the automaton
/// would have twice as many states, and take 5.2 MB, not 2.7 MB.
const DIGITS_SEARCHED: usize = 4;

/// The needles of opaque content and of placeholders.
const OPAQUE_LITERALS: [(&[u8], SearchSet); 6] = [
    (PLACEHOLDER_START.as_bytes(), SearchSet::PLACEHOLDERS),
    (b"ignature", SearchSet::SIGNATURES),
    (b"ncrypted", SearchSet::SIGNATURES),
    (b"ncrypted", SearchSet::BLOCKS),
    (b"redacted", SearchSet::BLOCKS),
    (b"\"image\"", SearchSet::BLOCKS),
];

/// Literals that need the same searches on the same condition.
struct LiteralGroup {
    literals: &'static [&'static str],
    searches: SearchSet,
    continuation: Continuation,
}

/// The needles of encodings that can hide letters, or separate a secret from its name. Every
/// prefilter includes them.
const HIDING_LITERALS: [LiteralGroup; 6] = [
    LiteralGroup {
        literals: &["\\u00"],
        searches: SearchSet::ESCAPES,
        continuation: Continuation::Anything,
    },
    LiteralGroup {
        literals: &["\x1b", "x1b]", "x1B]", "^[]", "\\033]", "\\e]"],
        searches: SearchSet::CODES,
        continuation: Continuation::Anything,
    },
    LiteralGroup {
        literals: &["x1b[", "x1B[", "^[[", "\\033[", "\\e[", "\\E["],
        searches: SearchSet::CODES,
        continuation: COLOUR,
    },
    LiteralGroup {
        literals: &[
            "%3D",
            "%3d",
            "%3A",
            "%3a",
            "%22",
            "PRIVATE%20KEY",
            "PRIVATE+KEY",
        ],
        searches: SearchSet::PERCENT,
        continuation: Continuation::Anything,
    },
    LiteralGroup {
        literals: &[
            "%20", "%27", "%0A", "%0a", "%24", "%2F", "%2f", "%2B", "%2b", "ser+", "-p+", "-a+",
            "earer+", "oken+", "key+", "word+", "phrase+",
        ],
        searches: SearchSet::PERCENT,
        continuation: ENCODED_WORD,
    },
    LiteralGroup {
        literals: &["&quot;", "&#"],
        searches: SearchSet::ENTITIES,
        continuation: Continuation::Anything,
    },
];

/// Returns the needles of encodings that can hide letters.
pub fn build_hiding_needles() -> Vec<Needle> {
    let mut list = NeedleList::default();
    list.add_hiding();
    list.needles
}

/// Returns the needles of all rules, of opaque content and of encodings.
pub fn build_rule_needles() -> Vec<Needle> {
    let mut list = NeedleList::default();
    for (row, rule) in RULES.iter().enumerate() {
        list.add_rule(row, rule);
    }
    for shape in SHAPES.iter() {
        list.add_shape(shape);
    }

    // The keywords are ordinary words, so the bytes after a keyword decide whether it counts.
    let assignment = Continuation::Checked(assignments::may_be_assigned);
    for keyword in assignments::KEYWORDS {
        list.add(keyword.as_bytes(), SearchSet::ASSIGNMENTS, assignment);
        list.add_in_base64_text(keyword, assignments::may_be_assigned);
    }
    let capitals = Continuation::Checked(assignments::may_be_assigned_after_capitals);
    for keyword in assignments::CAPITAL_KEYWORDS {
        list.add(keyword.as_bytes(), SearchSet::ASSIGNMENTS, capitals);
    }
    let cookie = Continuation::Checked(cookies::may_follow);
    for keyword in cookies::KEYWORDS {
        list.add(keyword.as_bytes(), SearchSet::COOKIES, cookie);
    }

    for (literal, searches) in OPAQUE_LITERALS {
        list.add(literal, searches, Continuation::Anything);
    }
    list.add_hiding();
    list.needles
}

/// The needles of a prefilter, while they are collected.
#[derive(Default)]
struct NeedleList {
    needles: Vec<Needle>,
}

impl NeedleList {
    /// Adds a needle that calls for `searches` if the bytes after it satisfy `continuation`.
    fn add(&mut self, literal: &[u8], searches: SearchSet, continuation: Continuation) {
        self.needles
            .push(Needle::new(literal, searches, continuation));
    }

    /// Adds the needles of encodings that can hide letters.
    fn add_hiding(&mut self) {
        for group in HIDING_LITERALS {
            for literal in group.literals {
                self.add(literal.as_bytes(), group.searches, group.continuation);
            }
        }
    }

    /// Adds the keywords of the rule in a row of the table, plain and in base64.
    fn add_rule(&mut self, row: usize, rule: &'static Rule) {
        let searches = SearchSet::for_rule(row);
        let may_follow = rule.may_follow;
        for keyword in rule.keywords {
            let continuation = Continuation::Checked(may_follow);
            self.add(keyword.as_bytes(), searches, continuation);

            if rule.is_contextual {
                self.add_in_base64_text(keyword, may_follow);
            } else {
                self.add_in_base64(keyword, |bits_before| Continuation::EncodedChecked {
                    bits_before,
                    may_follow,
                });
            }
        }
    }

    /// Adds the prefix of a shape, plain and in base64.
    fn add_shape(&mut self, shape: &'static Shape) {
        let prefix = shape.prefix.as_bytes();
        self.add(prefix, SearchSet::SHAPES, Continuation::RestOf(shape));
        self.add_in_base64(shape.prefix, |bits_before| Continuation::EncodedRestOf {
            bits_before,
            shape,
        });
    }

    /// Adds the base64 spellings of a keyword that is recognized in text, such as a settings file
    /// or the output of a program that is encoded as a whole.
    fn add_in_base64_text(&mut self, keyword: &str, may_follow: fn(&[u8]) -> bool) {
        self.add_in_base64(keyword, |bits_before| Continuation::EncodedText {
            bits_before,
            may_follow,
        });
    }

    /// Adds the base64 spellings of a literal; none for a literal of one byte, because they would
    /// be too short.
    ///
    /// A spelling consists of the digits all of whose bits belong to the literal. The last bits of
    /// the literal may be in the next digit. `continuation_after` returns the condition for the
    /// bytes after a spelling, given the number of these bits.
    fn add_in_base64(&mut self, literal: &str, continuation_after: impl Fn(usize) -> Continuation) {
        if literal.len() < 2 {
            return;
        }
        // Three bytes are four digits, so only the number of bytes before the literal modulo 3
        // matters.
        for bytes_before in 0..3 {
            let bit_count = (bytes_before + literal.len()) * u8::BITS as usize;
            let bits_in_next_digit = bit_count % BITS_PER_DIGIT;
            let mut spellings = base64_spellings(literal.as_bytes(), bytes_before);
            // The alphabets differ in two digits only, so most spellings are the same in both.
            spellings.dedup();
            for spelling in spellings {
                let continuation = continuation_after(bits_in_next_digit);
                self.needles
                    .push(Needle::in_base64(&spelling, continuation));
            }
        }
    }
}
