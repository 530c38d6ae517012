//! Finds any number of long literals in one pass, with only some bytes of memory per literal.
//!
//! An automaton would need a state for each byte of each literal: gigabytes for some hundred
//! private keys. Here, a literal is recognized by a window of eight of its bytes. The whole literal
//! is compared only where its window occurs in the text. Windows are chosen so that literals with
//! the same beginning, such as private keys, have different windows.

use foldhash::HashSet;
use std::ops::Range;

/// The number of bytes in a window.
pub const WINDOW: usize = 8;

/// The window of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LiteralWindow {
    /// The bytes of the window.
    bytes: u64,
    /// The number of the literal.
    pub literal: u32,
    /// The offset of the window in the literal.
    pub offset: u32,
}

/// The windows of some literals.
#[derive(Debug, Default)]
pub struct WindowIndex {
    /// The windows, sorted.
    all: Vec<LiteralWindow>,
    /// A bit set, in which the bit for the hash of each window is set; empty if there are no
    /// windows.
    hashes: Vec<u64>,
    /// The number of bits by which the product in [`hash_window`] is shifted.
    shift: u32,
}

impl WindowIndex {
    /// Calls `visit` with each offset of the text at which the bytes of a window occur, and with
    /// all windows that have these bytes.
    pub fn each_window(&self, text: &[u8], visit: &mut dyn FnMut(usize, &[LiteralWindow])) {
        if self.all.is_empty() {
            return;
        }
        for (offset, text_window) in text.windows(WINDOW).enumerate() {
            let bytes = window_to_number(text_window);
            // Few places in the text pass this check, so the search in the list takes little time.
            if !self.has_hash(bytes) {
                continue;
            }
            let first = self.all.partition_point(|window| window.bytes < bytes);
            let equal_count = self.all[first..].partition_point(|window| window.bytes == bytes);
            if equal_count > 0 {
                visit(offset, &self.all[first..first + equal_count]);
            }
        }
    }

    /// Whether a window may have these bytes. True for the bytes of each window, and for a few
    /// others with the same hash.
    fn has_hash(&self, bytes: u64) -> bool {
        let hash = hash_window(bytes, self.shift);
        self.hashes[hash / 64] >> (hash % 64) & 1 == 1
    }
}

/// Chooses the windows of literals.
#[derive(Debug, Default)]
pub struct WindowIndexBuilder {
    all: Vec<LiteralWindow>,
    /// The bytes of the windows that were chosen.
    used_bytes: HashSet<u64>,
}

impl WindowIndexBuilder {
    /// Adds a literal, and chooses a window in `part`, which must have at least [`WINDOW`] bytes.
    ///
    /// Five places are tried in this order: the end, the middle, three quarters, one quarter, and
    /// the start. The first one whose bytes no other window has is chosen, because each literal
    /// that shares a window is compared wherever the window occurs. If there is none, the window is
    /// at the end, and shares its bytes with another.
    pub fn add_literal(&mut self, literal: u32, text: &[u8], part: Range<usize>) {
        debug_assert!(part.len() >= WINDOW);
        // The end comes first, because private keys and tokens of one kind have the same beginning.
        let last_offset = part.end - WINDOW;
        let room = last_offset - part.start;
        let offsets = [
            last_offset,
            part.start + room / 2,
            part.start + room / 4 * 3,
            part.start + room / 4,
            part.start,
        ];
        let mut chosen = last_offset;
        for offset in offsets {
            if !self.used_bytes.contains(&bytes_at(text, offset)) {
                chosen = offset;
                break;
            }
        }
        let bytes = bytes_at(text, chosen);
        self.used_bytes.insert(bytes);
        self.all.push(LiteralWindow {
            bytes,
            literal,
            offset: chosen as u32,
        });
    }

    /// Returns the index of the windows of all literals that were added.
    pub fn finish(mut self) -> WindowIndex {
        if self.all.is_empty() {
            return WindowIndex::default();
        }
        drop(self.used_bytes);
        self.all.sort_unstable();
        self.all.shrink_to_fit();
        // At most one of sixteen bits is set, so few places in a text pass the check by chance.
        let bit_count = (self.all.len() * 16).next_power_of_two().max(LEAST_HASHES);
        // The hash of a window has the bits that are needed for a number below `bit_count`.
        let shift = u64::BITS - bit_count.ilog2();
        let mut hashes = vec![0; bit_count / 64];
        for window in &self.all {
            let hash = hash_window(window.bytes, shift);
            hashes[hash / 64] |= 1 << (hash % 64);
        }
        WindowIndex {
            all: self.all,
            hashes,
            shift,
        }
    }
}

/// The minimum number of bits in [`WindowIndex::hashes`], 512 bytes. It must be a power of two, and
/// at least the 64 bits of one word.
const LEAST_HASHES: usize = 1 << 12;

fn bytes_at(text: &[u8], at: usize) -> u64 {
    window_to_number(&text[at..at + WINDOW])
}

/// Returns the bytes of a window as a number. There must be exactly [`WINDOW`] bytes.
fn window_to_number(window: &[u8]) -> u64 {
    let mut bytes = [0; WINDOW];
    bytes.copy_from_slice(window);
    u64::from_le_bytes(bytes)
}

/// Returns the hash of a window: the highest bits of a product, which depend on every bit of the
/// window.
fn hash_window(bytes: u64, shift: u32) -> usize {
    (bytes.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> shift) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn literals_with_one_beginning_have_different_windows() {
        let literals = [
            "-----BEGIN-----one-----END-----",
            "-----BEGIN-----two-----END-----",
            "-----BEGIN-----six-----END-----",
        ];
        let mut builder = WindowIndexBuilder::default();
        for (at, literal) in literals.iter().enumerate() {
            builder.add_literal(at as u32, literal.as_bytes(), 0..literal.len());
        }
        let windows = builder.finish();
        for (at, literal) in literals.iter().enumerate() {
            let text = format!("before {literal}");
            let mut found = Vec::new();
            windows.each_window(text.as_bytes(), &mut |place, windows| {
                for window in windows {
                    found.push((place - window.offset as usize, window.literal));
                }
            });
            assert!(found.contains(&(7, at as u32)), "{found:?}");
            assert!(found.len() <= 2, "{found:?}");
        }
    }
}
