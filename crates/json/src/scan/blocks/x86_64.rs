//! The walk over a string in blocks of 64 bytes, with vector instructions that only newer
//! processors have.

use super::super::{EMPTY_RANGE, Scanner};
use std::arch::x86_64::{
    __m128i, __m256i, _mm_loadu_si128, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8,
    _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
    _mm256_shuffle_epi8,
};

/// The number of bytes of a string that are examined together.
const BLOCK: usize = 64;

/// Whether the processor has AVX2 and BMI. All processors with AVX2 have BMI, too. The standard
/// library caches the result.
pub fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1")
}

impl Scanner<'_> {
    /// Walks to the end of a string in blocks. Returns whether the string has an escape; `None` if
    /// it is malformed, at the current position.
    ///
    /// The positions of quotes and backslashes are unpredictable, so there are few branches: where
    /// one backslash follows another, at the end of the string, at a `\u` escape and at malformed
    /// bytes. The position and the range of bytes above 0x7f stay in registers.
    #[target_feature(enable = "avx2,bmi1")]
    pub(super) fn skip_string_rest_avx2(&mut self) -> Option<bool> {
        let bytes = self.bytes;
        let mut pos = self.pos;
        // The backslashes of all blocks so far, one mask over the other. Not 0 if there was one.
        let mut seen_backslashes = 0;
        let mut is_first_escaped = false;
        let mut non_ascii = EMPTY_RANGE;
        let has_escape = loop {
            let Some(block) = bytes
                .get(pos..)
                .and_then(|unread| unread.first_chunk::<BLOCK>())
            else {
                // The walk in lanes needs the backslash of an escape that the last block ended in.
                self.pos = pos - usize::from(is_first_escaped);
                break self.skip_string_rest_in_lanes(seen_backslashes != 0);
            };
            let masks = block_masks(block);
            let escaped = find_escaped(masks.backslash, is_first_escaped);
            // Selected, not branched on.
            let (high_start, high_end) = if masks.has_non_ascii {
                (pos, pos + BLOCK)
            } else {
                (usize::MAX, non_ascii.end)
            };
            non_ascii = non_ascii.start.min(high_start)..high_end;

            // The walk stops at bytes that end the string, at escapes of more than two bytes, and
            // at invalid ones.
            let stop = (masks.end & !escaped.mask) | (escaped.mask & !masks.letter);
            if stop == 0 {
                seen_backslashes |= masks.backslash;
                is_first_escaped = escaped.is_next_escaped;
                pos += BLOCK;
                continue;
            }

            let index = stop.trailing_zeros();
            let before_stop = !(u64::MAX << index);
            seen_backslashes |= masks.backslash & before_stop;
            self.pos = pos + index as usize;
            let is_stop_escaped = escaped.mask >> index & 1 == 1;
            if is_stop_escaped {
                // Its backslash may be the last byte of the block before.
                seen_backslashes |= 1;
                self.pos -= 1;
                match self.escape_end(self.pos) {
                    // The next block begins behind the escape.
                    Some(escape_end) => {
                        is_first_escaped = false;
                        pos = escape_end;
                    }
                    None => break None,
                }
            } else if block[index as usize] == b'"' {
                self.pos += 1;
                break Some(seen_backslashes != 0);
            } else {
                // A control character.
                break None;
            }
        };
        self.note_non_ascii(non_ascii);
        has_escape
    }
}

/// The bytes of a block by class: bit `n` of a mask is set if byte `n` is of its class.
struct Masks {
    /// Quotes and control characters: bytes that end a string unless they are escaped.
    end: u64,
    backslash: u64,
    /// Letters of a two-byte escape: with a backslash before them, they are an escape. They include
    /// `"`, `\` and `/`.
    letter: u64,
    /// Whether any byte is above 0x7f.
    has_non_ascii: bool,
}

/// Computes the masks of a block from the masks of its halves, because a half fits in a register.
#[inline]
#[target_feature(enable = "avx2")]
fn block_masks(block: &[u8; BLOCK]) -> Masks {
    let (halves, _) = block.as_chunks::<{ BLOCK / 2 }>();
    // SAFETY: 32 bytes are read from where 32 bytes are borrowed, twice; they need no alignment.
    #[allow(unsafe_code)]
    let (first_bytes, second_bytes) = unsafe {
        (
            _mm256_loadu_si256(halves[0].as_ptr().cast()),
            _mm256_loadu_si256(halves[1].as_ptr().cast()),
        )
    };
    // Two calls, and no `map` over the halves: the library function that would call the closure is
    // not compiled for AVX2, and would not be inlined.
    let first = half_masks(first_bytes);
    let second = half_masks(second_bytes);
    // Consists of the highest bits of the bytes, of both halves one over the other.
    let highest_bits = _mm256_movemask_epi8(_mm256_or_si256(first_bytes, second_bytes));
    Masks {
        end: u64::from(first.end) | u64::from(second.end) << 32,
        backslash: u64::from(first.backslash) | u64::from(second.backslash) << 32,
        letter: u64::from(first.letter) | u64::from(second.letter) << 32,
        has_non_ascii: highest_bits != 0,
    }
}

/// The masks of half a block; see [`Masks`].
struct HalfMasks {
    end: u32,
    backslash: u32,
    letter: u32,
}

/// Compares all bytes of half a block with each class at once. Bytes are compared as unsigned
/// numbers: the minimum of a byte and 0x1f is the byte itself for a control character only.
#[inline]
#[target_feature(enable = "avx2")]
fn half_masks(bytes: __m256i) -> HalfMasks {
    let quote = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'"' as i8));
    let backslash = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'\\' as i8));
    let control = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f)), bytes);

    // The letters of escapes are found by a table: the shuffle replaces each byte by the letter
    // that the table has for its low hexadecimal digit. Only a letter of the table is replaced by
    // itself. A byte above 0x7f is replaced by 0.
    let table = _mm256_broadcastsi128_si256(load_table(&ESCAPE_LETTERS));
    let letter_in_table = _mm256_cmpeq_epi8(_mm256_shuffle_epi8(table, bytes), bytes);
    // The two letters for which the table has no room.
    let letter_b = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'b' as i8));
    let other_letter = _mm256_or_si256(quote, letter_b);
    HalfMasks {
        end: _mm256_movemask_epi8(_mm256_or_si256(quote, control)) as u32,
        backslash: _mm256_movemask_epi8(backslash) as u32,
        letter: _mm256_movemask_epi8(_mm256_or_si256(letter_in_table, other_letter)) as u32,
    }
}

/// The letters of two-byte escapes, each at the index that is its low hexadecimal digit. An index
/// that is the low digit of no letter has a byte with another low digit.
///
/// Three letters have the low digit 2: `"` (22), `b` (62) and `r` (72). The table has `r`.
const ESCAPE_LETTERS: [u8; 16] = {
    // A byte with the low digit 0, and for the index 0, one with the low digit 1.
    let mut table = [0x10; 16];
    table[0] = 0x01;
    table[0x2] = b'r';
    table[0x4] = b't';
    table[0x6] = b'f';
    table[0xc] = b'\\';
    table[0xe] = b'n';
    table[0xf] = b'/';
    table
};

#[inline]
#[target_feature(enable = "sse2")]
fn load_table(table: &[u8; 16]) -> __m128i {
    // SAFETY: 16 bytes are read from where 16 bytes are borrowed; they need no alignment.
    #[allow(unsafe_code)]
    unsafe {
        _mm_loadu_si128(table.as_ptr().cast())
    }
}

/// Which bytes of a block are escaped: they follow a backslash that is not itself escaped.
struct EscapedBytes {
    /// Bit `n` is set if byte `n` is escaped.
    mask: u64,
    /// Whether the first byte of the next block is escaped.
    is_next_escaped: bool,
}

/// Finds the escaped bytes of a block, given the mask of its backslashes, and whether its first
/// byte is escaped by the block before. In a run of backslashes, the first, third, … escape the
/// byte after them:
///
/// ```text
/// bytes        a \ \ \ n b \ \ c \ "
/// backslash    . 1 1 1 . . 1 1 . 1 .
/// escaped      . . 1 . 1 . . 1 . . 1
/// ```
///
/// The method is taken from simdjson: an addition treats all runs at once.
#[inline]
fn find_escaped(backslash: u64, is_first_escaped: bool) -> EscapedBytes {
    /// The bits at even positions.
    const EVEN: u64 = 0x5555_5555_5555_5555;

    let after_backslash = backslash << 1 | u64::from(is_first_escaped);
    if backslash & after_backslash == 0 {
        // As usual, no backslash follows another, so none is escaped.
        return EscapedBytes {
            mask: after_backslash,
            is_next_escaped: backslash >> 63 == 1,
        };
    }

    // A first byte that is escaped is not part of a run, even if it is a backslash.
    let in_runs = backslash & !u64::from(is_first_escaped);
    let after_backslash = in_runs << 1 | u64::from(is_first_escaped);
    let run_starts = in_runs & !after_backslash;

    // Adding 1 at the first bit of a run clears the run, and carries a bit to the position after
    // it. Done for the runs that start at an odd position, this leaves those that start at an even
    // one. The carried bits do not matter: no backslash is there, so the mask below has none of
    // them.
    //
    // A carry out of the block is from a run at an odd start, up to the last position, 63. Such a
    // run has an odd number of backslashes, so the last one escapes the byte after the block.
    let odd_run_starts = run_starts & !EVEN;
    let (even_start_runs, is_next_escaped) = in_runs.overflowing_add(odd_run_starts);

    // A run that starts at 2 escapes the bytes at 3, 5, …, and one that starts at 3 those at 4, 6,
    // …. So of the bytes after a backslash, those at even positions are escaped, and the opposite
    // holds after a backslash of a run with an even start.
    let after_even_start_run = even_start_runs << 1;
    let mask = (EVEN ^ after_even_start_run) & after_backslash;
    EscapedBytes {
        mask,
        is_next_escaped,
    }
}
