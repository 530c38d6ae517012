//! Sets of searches: what is to be searched for in a line.

use crate::redact::rules::RULES;
use std::ops::BitOrAssign;

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

    /// Whether the set has no search.
    pub fn is_empty(self) -> bool {
        self == SearchSet::default()
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
