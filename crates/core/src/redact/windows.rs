//! Finds any number of long literals in one pass, in some bytes of memory for each.
//!
//! An automaton needs a state for each byte of each literal: gigabytes for some hundred private
//! keys. Here a literal is recognized by a window of eight of its bytes, and only where that
//! window is in the text is the literal compared. The windows are chosen so that literals with the
//! same beginning, such as private keys, have different ones.

use foldhash::HashSet;
use std::ops::Range;

/// The number of bytes in a window.
pub const WINDOW: usize = 8;

/// A part of a literal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct LiteralWindow {
    /// Its bytes.
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
    /// One bit for each hash of a window; empty if there is none.
    hashes: Vec<u64>,
    /// The number of bits by which a product is shifted to be a hash.
    shift: u32,
}

impl WindowIndex {
    /// Calls `visit` with each offset of the text at which the bytes of a window begin, and with
    /// all windows that have these bytes.
    pub fn each_window(&self, text: &[u8], visit: &mut dyn FnMut(usize, &[LiteralWindow])) {
        if self.all.is_empty() {
            return;
        }
        for (offset, text_window) in text.windows(WINDOW).enumerate() {
            let bytes = window_to_number(text_window);
            // Few windows of the text pass, so that the search in the list takes little time.
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

    /// Whether a window may have these bytes: true for those of each window, and for some others.
    fn has_hash(&self, bytes: u64) -> bool {
        let hash = hash_window(bytes, self.shift);
        self.hashes[hash / 64] >> (hash % 64) & 1 == 1
    }
}

/// Chooses the windows.
#[derive(Debug, Default)]
pub struct WindowIndexBuilder {
    all: Vec<LiteralWindow>,
    /// The bytes of the windows that were chosen.
    used_bytes: HashSet<u64>,
}

impl WindowIndexBuilder {
    /// Adds a literal, whose window is to be in `part`: at least [`WINDOW`] bytes of it.
    ///
    /// The window is the first of five places whose bytes no other window has: the end, the middle,
    /// the third and the first quarter, and the start. If all are taken, it is at the end, and
    /// shared.
    pub fn add_literal(&mut self, literal: u32, text: &[u8], part: Range<usize>) {
        // The end first: private keys and tokens of one kind begin alike.
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

    /// Returns the windows of all literals that were added, sorted, and a table of their hashes.
    pub fn finish(mut self) -> WindowIndex {
        if self.all.is_empty() {
            return WindowIndex::default();
        }
        self.all.sort_unstable();
        // At most one of sixteen bits is set, so that few other texts are looked up.
        let width = (self.all.len() * 16).next_power_of_two().ilog2().max(12);
        let shift = u64::BITS - width;
        // A word has 64 bits, so the number of words needs six bits fewer.
        let mut hashes = vec![0; 1 << (width - 6)];
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

fn bytes_at(text: &[u8], at: usize) -> u64 {
    window_to_number(&text[at..at + WINDOW])
}

/// Returns the bytes of a window, which must be [`WINDOW`] bytes, as a number.
fn window_to_number(window: &[u8]) -> u64 {
    let mut bytes = [0; WINDOW];
    bytes.copy_from_slice(window);
    u64::from_le_bytes(bytes)
}

/// Returns the highest bits of a product, in which every bit of the window counts.
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
