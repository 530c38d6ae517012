//! Decides from the raw bytes which lines may contain something to remove; a line that is skipped never does.
//!
//! Nearly every byte of a session is skipped, so the first test must be cheap. Each needle, a literal to
//! search for, has two windows of four bytes: one for even and one for odd offsets, so that it is enough to
//! look up the pairs of bytes at even offsets. A window is two pairs, and belongs to a group. A table lists,
//! for each pair, the groups with a window that begins with it, and those with a window that ends with it.
//!
//! ```text
//! bytes     a  u  t  h  _  t  o  k  e  n  =
//! pairs    [ au ][ th ][ _t ][ ok ][ en ]        token at an odd offset:  (ok)(en)
//! groups            ...     begin & continue     at an even one:          (to)(ke)
//! ```
//!
//! If a pair begins a window of a group, and the next pair ends one of the same group, the needles are
//! compared with the bytes.

use super::rules::RULES;
use std::ops::{BitOr, BitOrAssign, Range};

/// What the needles in a line call for: rules to apply, and other searches.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Calls(u128);

impl Calls {
    /// Letters may be written as escapes, which can hide any needle.
    pub const ESCAPES: Calls = Calls(1 << 120);
    /// A value given by the user may be in the line.
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
    #[cfg(test)]
    pub const EVERY: Calls = Calls(u128::MAX);

    /// Returns the call for one rule of the table.
    pub fn rule(at: usize) -> Calls {
        const { assert!(RULES.len() <= 120) };
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

/// A literal of at least two bytes, without a newline.
#[derive(Clone, Debug)]
struct Needle {
    bytes: Vec<u8>,
    calls: Calls,
    /// The offset of its rarest part.
    part: usize,
}

/// Literals, at least one of which is in every line to be searched.
#[derive(Debug)]
pub struct Needles {
    /// For each pair of bytes, a set of groups: in the low half those with a window that begins with the
    /// pair, in the high half those with a window that ends with it.
    pairs: Box<[u32; 1 << 16]>,
    /// The needles in the order of their slots. The slot is a hash of the first three bytes of the rarest
    /// part.
    by_slot: Vec<Needle>,
    /// For each slot, where its needles begin in `by_slot`.
    slots: Box<[u16; SLOTS + 1]>,
    /// Needles of two bytes.
    short: Vec<Needle>,
}

/// The length of a window in bytes.
const WINDOW: usize = 4;
/// The number of bytes tested at once.
const BLOCK: usize = 16;
/// The number of blocks tested before needles are compared in them.
const BATCH: usize = 64;
/// The number of slots: enough that most are empty.
const SLOTS: usize = 1 << 12;

/// Literals that are always searched for, because they show escapes that may hide letters, placeholders, or
/// content that cannot be read.
const ALWAYS: [(&[u8], Calls); 6] = [
    (b"\\u00", Calls::ESCAPES),
    (b"[REDACTED:", Calls::PLACEHOLDERS),
    (b"ignature", Calls::SIGNATURES),
    (b"ncrypted", Calls(Calls::SIGNATURES.0 | Calls::BLOCKS.0)),
    (b"redacted", Calls::BLOCKS),
    (b"\"image\"", Calls::BLOCKS),
];

impl Needles {
    /// Returns the needles of all rules and these literals, each of at least two bytes.
    pub fn new<'a>(more: impl IntoIterator<Item = (&'a [u8], Calls)>) -> Needles {
        let keywords = RULES.iter().enumerate().flat_map(|(at, rule)| {
            rule.keywords.iter().map(move |keyword| (keyword.as_bytes(), Calls::rule(at)))
        });
        let mut needles: Vec<Needle> = Vec::new();
        let mut all: Vec<_> = keywords.chain(ALWAYS).chain(more).collect();
        all.sort_unstable_by_key(|(bytes, _)| *bytes);
        for (bytes, calls) in all {
            match needles.last_mut().filter(|last| last.bytes == bytes) {
                Some(same) => same.calls |= calls,
                None => needles.push(Needle { bytes: bytes.to_vec(), calls, part: rarest_part(bytes) }),
            }
        }
        let pairs = pairs(&needles);
        let (mut by_slot, short): (Vec<_>, Vec<_>) =
            needles.into_iter().partition(|needle| needle.start().is_some());
        by_slot.sort_by_key(|needle| needle.start().map(slot));
        let mut slots = Box::new([0; SLOTS + 1]);
        for needle in by_slot.iter().filter_map(Needle::start) {
            slots[slot(needle) + 1] += 1;
        }
        for at in 1..slots.len() {
            slots[at] += slots[at - 1];
        }
        Needles { pairs, by_slot, slots, short }
    }

    /// Returns what the needles in a text call for.
    pub fn calls_in(&self, text: &[u8]) -> Calls {
        let mut all = Calls::default();
        self.each(text, &mut |_, calls| all |= calls);
        all
    }

    /// Calls `line` for each line of `bytes` that contains needles, in order: with its range, newline
    /// excluded, and what the needles call for.
    pub fn each_line(&self, bytes: &[u8], line: &mut dyn FnMut(Range<usize>, Calls)) {
        let mut current: Option<(Range<usize>, Calls)> = None;
        self.each(bytes, &mut |at, calls| match &mut current {
            Some((range, all)) if at < range.end => *all |= calls,
            _ => {
                let start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |newline| newline + 1);
                let end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |newline| at + newline);
                if let Some((range, all)) = current.replace((start..end, calls)) {
                    line(range, all);
                }
            }
        });
        if let Some((range, all)) = current {
            line(range, all);
        }
    }

    /// Calls `found` with the offset of the rarest part of each needle in the bytes, in order; possibly
    /// several times for the same one.
    fn each(&self, bytes: &[u8], found: &mut dyn FnMut(usize, Calls)) {
        let mut before = 0;
        let (blocks, rest) = bytes.as_chunks();
        for (batch, at) in blocks.chunks(BATCH).zip((0..).step_by(BATCH * BLOCK)) {
            // No processor can predict which blocks have windows, so they are recorded without a branch.
            let (mut held, mut count) = ([0; BATCH], 0);
            for (block, at) in batch.iter().zip((at..).step_by(BLOCK)) {
                held[count] = at;
                count += usize::from(self.may_hold(block, &mut before));
            }
            held[..count].iter().for_each(|&at| self.compare(bytes, at, found));
        }
        let mut last = [0; BLOCK];
        last[..rest.len()].copy_from_slice(rest);
        if self.may_hold(&last, &mut before) {
            self.compare(bytes, blocks.len() * BLOCK, found);
        }
    }

    /// Whether a window may end in the block; `before` is the table's value for the pair before the block.
    #[inline(always)]
    fn may_hold(&self, block: &[u8; BLOCK], before: &mut u32) -> bool {
        let (words, _) = block.as_chunks();
        let mut any = 0;
        for word in words {
            let mut word = u64::from_le_bytes(*word);
            for _ in 0..4 {
                let pair = self.pairs[usize::from(word as u16)];
                any |= *before & pair >> SECOND;
                *before = pair;
                word >>= 16;
            }
        }
        any != 0
    }

    /// Compares the needles with the bytes around each window that ends in the block at `at`.
    fn compare(&self, bytes: &[u8], at: usize, found: &mut dyn FnMut(usize, Calls)) {
        let around = around(bytes, at);
        let pairs = around.as_chunks().0.iter();
        let mut groups = pairs.map(|pair| self.pairs[usize::from(u16::from_le_bytes(*pair))]);
        let (mut windows, mut before) = (0_u32, groups.next().unwrap_or(0));
        for (bit, pair) in groups.enumerate() {
            windows |= u32::from(before & pair >> SECOND != 0) << bit;
            before = pair;
        }
        while windows != 0 {
            let end = at + 2 * windows.trailing_zeros() as usize;
            windows &= windows - 1;
            // A window begins with the second byte of a part, with the first, or with the byte before it.
            for part in end.saturating_sub(3)..end {
                self.compare_at(bytes, part, found);
            }
        }
    }

    #[inline]
    fn compare_at(&self, bytes: &[u8], part: usize, found: &mut dyn FnMut(usize, Calls)) {
        let Some(rest) = bytes.get(part..) else { return };
        let slot = rest.first_chunk().map(|start| slot(*start));
        let same = slot.map_or(0..0, |slot| self.slots[slot].into()..self.slots[slot + 1].into());
        for needle in self.by_slot[same].iter().chain(&self.short) {
            let start = part.checked_sub(needle.part);
            if start.is_some_and(|start| bytes[start..].starts_with(&needle.bytes)) {
                found(part, needle.calls);
            }
        }
    }
}

/// Returns the block at `at` and the pair before it, filled up with zeros where there are no bytes.
fn around(bytes: &[u8], at: usize) -> [u8; BLOCK + 2] {
    let whole = at.checked_sub(2).and_then(|start| bytes.get(start..start + BLOCK + 2)?.first_chunk());
    whole.copied().unwrap_or_else(|| {
        let byte = |place: usize| (at + place).checked_sub(2).and_then(|at| bytes.get(at).copied());
        std::array::from_fn(|place| byte(place).unwrap_or(0))
    })
}

impl Needle {
    /// Returns the first three bytes of its part, if it is that long.
    fn start(&self) -> Option<[u8; 3]> {
        self.bytes[self.part..].first_chunk().copied()
    }
}

fn slot([a, b, c]: [u8; 3]) -> usize {
    (u32::from_le_bytes([a, b, c, 0]).wrapping_mul(0x9e37_79b1) >> 20) as usize
}

/// Returns the offset of the needle's rarest part: the five bytes of two windows one byte apart, or all of a
/// shorter needle.
fn rarest_part(needle: &[u8]) -> usize {
    let width = needle.len().min(WINDOW + 1);
    let frequency = |part: &[u8]| part.iter().map(|&byte| frequency(byte)).product::<u64>();
    let parts = needle.windows(width.max(1)).enumerate();
    parts.min_by_key(|(_, part)| frequency(part)).map_or(0, |(at, _)| at)
}

/// Returns how often a byte occurs in prose, code and JSON, roughly, per thousand.
fn frequency(byte: u8) -> u64 {
    match byte {
        b' ' | b'e' | b't' | b'a' | b'o' | b'n' | b'i' | b's' | b'r' => 60,
        b'h' | b'd' | b'l' | b'c' | b'u' | b'm' | b'p' => 30,
        b'\\' | b'"' => 25,
        b'f' | b'g' | b'y' | b'w' | b'b' | b'v' => 15,
        b'.' | b',' | b'/' | b':' | b'-' | b'_' | b'=' => 15,
        b'0'..=b'9' => 10,
        b'k' => 8,
        b'A'..=b'Z' => 5,
        _ => 4,
    }
}

/// Two pairs of bytes; `None` is any byte.
type Window = [Option<u8>; WINDOW];

/// The groups of windows with no `None`, with one at the end, and with one at the beginning.
const GROUPS: [Range<usize>; 3] = [0..11, 11..12, 12..16];
/// Where the bits of the second pair begin.
const SECOND: usize = 16;

/// Returns the table of all pairs.
fn pairs(needles: &[Needle]) -> Box<[u32; 1 << 16]> {
    let mut all: Vec<Window> =
        needles.iter().flat_map(|needle| windows(&needle.bytes[needle.part..])).collect();
    // Windows with frequent pairs are placed first, so that they share a group with rare ones.
    let frequency = |window: &Window| pair_frequency(window, 0).max(pair_frequency(window, 2));
    all.sort_by_key(|window| (std::cmp::Reverse(frequency(window)), *window));
    let table = vec![0; 1 << 16].into_boxed_slice();
    let mut grouping =
        Grouping { table: table.try_into().expect("it has this length"), often: [[0; 2]; SECOND] };
    for window in all {
        let shape = match window {
            [Some(_), _, _, Some(_)] => 0,
            [Some(_), _, _, None] => 1,
            [None, ..] => 2,
        };
        grouping.add(window, GROUPS[shape].clone());
    }
    grouping.table
}

/// Windows in groups. A group also accepts the beginning of one of its windows followed by the end of
/// another, so windows are grouped such that this is rare.
struct Grouping {
    table: Box<[u32; 1 << 16]>,
    /// For each group, how often its windows begin and how often they end.
    often: [[u64; 2]; SECOND],
}

impl Grouping {
    fn add(&mut self, window: Window, groups: Range<usize>) {
        let cost = |group: &usize| {
            let [before, after] = [self.often[*group], self.with(&window, *group)];
            after[0] * after[1] - before[0] * before[1]
        };
        let group = groups.min_by_key(cost).expect("each shape has groups");
        self.often[group] = self.with(&window, group);
        each_pair(&window, 0, &mut |pair| self.table[pair] |= 1 << group);
        each_pair(&window, 2, &mut |pair| self.table[pair] |= 1 << SECOND << group);
    }

    /// Returns how often the windows of a group begin and end if this one is added.
    fn with(&self, window: &Window, group: usize) -> [u64; 2] {
        let often = |half: usize, bit: u32| {
            let mut is_new = false;
            each_pair(window, 2 * half, &mut |pair| is_new |= self.table[pair] & bit == 0);
            self.often[group][half] + u64::from(is_new) * pair_frequency(window, 2 * half)
        };
        [often(0, 1 << group), often(1, 1 << SECOND << group)]
    }
}

/// Returns how often the pair at this place of a window occurs.
fn pair_frequency(window: &Window, at: usize) -> u64 {
    window[at..at + 2].iter().map(|byte| byte.map_or(1000, frequency)).product()
}

/// Calls `pair` with each pair of bytes that is accepted at this place of a window.
fn each_pair(window: &Window, at: usize, pair: &mut dyn FnMut(usize)) {
    let range = |byte: Option<u8>| byte.map_or(0..=255, |byte| byte..=byte);
    for first in range(window[at]) {
        range(window[at + 1]).for_each(|second| pair(usize::from(u16::from_le_bytes([first, second]))));
    }
}

/// Returns the windows of a part at even and at odd offsets: the one at odd offsets begins with the second
/// byte, or if the part is short, with the byte before it.
fn windows(part: &[u8]) -> [Window; 2] {
    let byte = |at: isize| usize::try_from(at).ok().and_then(|at| part.get(at).copied());
    let from = |start: isize| [0, 1, 2, 3].map(|at| byte(start + at));
    [from(0), from(if part.len() > WINDOW { 1 } else { -1 })]
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a pseudo-random number less than `below`.
    fn random(state: &mut u64, below: usize) -> usize {
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (*state >> 33) as usize % below
    }

    #[test]
    fn every_needle_is_found_wherever_it_is_and_nothing_else() {
        let more: [(&[u8], Calls); 3] =
            [(b"\\\"", Calls::VALUES), (b"zq", Calls::PEOPLE), (b"abcabcabd", Calls::VALUES)];
        let keywords = RULES.iter().flat_map(|rule| rule.keywords).map(|keyword| keyword.as_bytes());
        let literals: Vec<&[u8]> =
            keywords.chain(ALWAYS.map(|always| always.0)).chain(more.map(|more| more.0)).collect();
        let expected = |text: &[u8]| {
            let holds = |needle: &[u8]| memchr::memmem::find(text, needle).is_some();
            let mut calls = Calls::default();
            for (at, rule) in RULES.iter().enumerate() {
                if rule.keywords.iter().any(|keyword| holds(keyword.as_bytes())) {
                    calls |= Calls::rule(at);
                }
            }
            ALWAYS.into_iter().chain(more).filter(|more| holds(more.0)).for_each(|more| calls |= more.1);
            calls
        };
        let needles = Needles::new(more);
        for needle in &literals {
            for before in 0..2 * BLOCK + 3 {
                for after in [0, 1, 2, 20] {
                    let text = ["~".repeat(before).as_bytes(), needle, "~".repeat(after).as_bytes()].concat();
                    assert_eq!(needles.calls_in(&text), expected(&text), "{}", text.escape_ascii());
                }
            }
        }
        let mut state = 7;
        for _ in 0..4_000 {
            let mut text = Vec::new();
            for _ in 0..random(&mut state, 12) {
                let needle = literals[random(&mut state, literals.len())];
                let end = random(&mut state, needle.len() + 1).max(random(&mut state, needle.len() + 1));
                text.extend_from_slice(&needle[random(&mut state, end + 1)..end]);
                text.extend_from_slice(&b"  \n\\\"a0k/e"[..random(&mut state, 11)]);
            }
            assert_eq!(needles.calls_in(&text), expected(&text), "{}", text.escape_ascii());
            let mut by_line = vec![Calls::default(); text.len() + 1];
            needles.each_line(&text, &mut |line, calls| {
                assert_eq!(by_line[line.start], Calls::default(), "a line is reported once");
                by_line[line.start] = calls;
            });
            let mut start = 0;
            for line in text.split(|&byte| byte == b'\n') {
                assert_eq!(by_line[start], expected(line), "{}", line.escape_ascii());
                start += line.len() + 1;
            }
        }
    }

    #[test]
    fn text_is_rarely_compared() {
        let needles = Needles::new([]);
        let text = include_bytes!("../../../docs/reliability.md");
        let mut before = 0;
        let blocks = text.as_chunks().0;
        let held = blocks.iter().filter(|block| needles.may_hold(block, &mut before)).count();
        assert!(held * 8 < blocks.len(), "{held} of {}", blocks.len());
    }
}
