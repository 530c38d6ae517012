//! The walk over a string in blocks of 64 bytes, with vector instructions that only newer
//! processors have.

use super::super::{EMPTY_RANGE, Scanner};
use std::arch::x86_64::{
    __m128i, __m256i, _mm_set_epi8, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8,
    _mm256_loadu_si256, _mm256_min_epu8, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8,
    _mm256_shuffle_epi8,
};

/// The number of bytes of a string that are examined together.
const BLOCK: usize = 64;

/// Whether the processor has AVX2, and BMI, which all processors with AVX2 have; the standard
/// library caches it.
pub fn has_avx2() -> bool {
    is_x86_feature_detected!("avx2") && is_x86_feature_detected!("bmi1")
}

impl Scanner<'_> {
    /// Walks to the end of a string in blocks.
    ///
    /// The positions of quotes and backslashes are unpredictable, so it branches only where one
    /// backslash follows another, and at the end of the string, a `\u` escape and malformed bytes.
    /// The position and the range of bytes above 0x7f stay in registers.
    #[target_feature(enable = "avx2,bmi1")]
    pub(super) fn skip_string_rest_avx2(&mut self) -> Option<bool> {
        let (bytes, mut pos) = (self.bytes, self.pos);
        let mut any_backslash = 0;
        // Whether the block's first byte follows a backslash that is not itself escaped.
        let mut carry = false;
        let mut non_ascii = EMPTY_RANGE;
        let end = loop {
            let Some(block) = bytes
                .get(pos..)
                .and_then(|rest| rest.first_chunk::<BLOCK>())
            else {
                self.pos = pos - usize::from(carry);
                break self.skip_string_rest_in_lanes(any_backslash != 0);
            };
            let masks = block_masks(block);
            let (escaped, carries) = escaped_mask(masks.backslash, carry);
            let stop = (masks.end & !escaped) | (escaped & !masks.letter);
            // Selected, not branched on.
            let (high_start, high_end) = if masks.high == 0 {
                (usize::MAX, non_ascii.end)
            } else {
                (pos, pos + BLOCK)
            };
            non_ascii = non_ascii.start.min(high_start)..high_end;
            if stop == 0 {
                any_backslash |= masks.backslash;
                carry = carries;
                pos += BLOCK;
                continue;
            }
            let at = stop.trailing_zeros();
            any_backslash |= masks.backslash & !(u64::MAX << at);
            self.pos = pos + at as usize;
            if escaped >> at & 1 == 1 {
                any_backslash |= 1;
                carry = false;
                self.pos -= 1;
                match self.escape_end(self.pos) {
                    Some(end) => pos = end,
                    None => break None,
                }
            } else if block[at as usize] == b'"' {
                self.pos += 1;
                break Some(any_backslash != 0);
            } else {
                break None;
            }
        };
        self.note_non_ascii(non_ascii);
        end
    }
}

/// The bytes of a block by class: a mask has a bit for each byte.
struct Masks {
    /// Quotes and control characters: bytes that end a string unless they are escaped.
    end: u64,
    backslash: u64,
    /// Letters that form a two-byte escape with a backslash before them.
    letter: u64,
    /// Not 0 if any byte is above 0x7f.
    high: u64,
}

#[inline]
#[target_feature(enable = "avx2")]
fn block_masks(block: &[u8; BLOCK]) -> Masks {
    let (halves, _) = block.as_chunks::<{ BLOCK / 2 }>();
    // SAFETY: 32 bytes are read from where 32 bytes are borrowed, twice; they need no alignment.
    #[allow(unsafe_code)]
    let (first, second) = unsafe {
        (
            _mm256_loadu_si256(halves[0].as_ptr().cast()),
            _mm256_loadu_si256(halves[1].as_ptr().cast()),
        )
    };
    // No closure: the library function that would call it is not compiled for AVX2 and would not be
    // inlined.
    let (low, high) = (half_masks(first), half_masks(second));
    Masks {
        end: u64::from(low[0]) | u64::from(high[0]) << 32,
        backslash: u64::from(low[1]) | u64::from(high[1]) << 32,
        letter: u64::from(low[2]) | u64::from(high[2]) << 32,
        high: u64::from(_mm256_movemask_epi8(_mm256_or_si256(first, second)) as u32),
    }
}

/// The masks of half a block: ends, backslashes, letters.
#[inline]
#[target_feature(enable = "avx2")]
fn half_masks(bytes: __m256i) -> [u32; 3] {
    let quote = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'"' as i8));
    let backslash = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'\\' as i8));
    let control = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f)), bytes);
    let letter = _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(escape_letters()), bytes);
    let letter = _mm256_cmpeq_epi8(letter, bytes);
    let of_two = _mm256_or_si256(
        quote,
        _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'b' as i8)),
    );
    [
        _mm256_movemask_epi8(_mm256_or_si256(quote, control)) as u32,
        _mm256_movemask_epi8(backslash) as u32,
        _mm256_movemask_epi8(_mm256_or_si256(letter, of_two)) as u32,
    ]
}

/// Returns a table of the letters that form an escape: 22 2f 5c 62 66 6e 72 74. It maps each low
/// digit to a letter that ends in it, or to a byte that does not. Of the three that end in 2 it has
/// 72; the other two are compared separately.
#[inline]
#[target_feature(enable = "sse2")]
fn escape_letters() -> __m128i {
    let (none, slash) = (0x10, b'/' as i8);
    _mm_set_epi8(
        slash, 0x6e, none, 0x5c, none, none, none, none, none, 0x66, none, 0x74, none, 0x72, none,
        0x01,
    )
}

/// Returns which bytes follow a backslash that is not itself escaped, and whether the byte after
/// the block does. Adding to a run of backslashes that starts at an odd position carries to its
/// end, which distinguishes runs of odd length (as in simdjson).
#[inline]
fn escaped_mask(backslash: u64, carry: bool) -> (u64, bool) {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let behind = backslash << 1 | u64::from(carry);
    if backslash & behind == 0 {
        // As usual, no backslash follows another.
        return (behind, backslash >> 63 == 1);
    }
    let first_free = backslash & !u64::from(carry);
    let behind = first_free << 1 | u64::from(carry);
    let odd_starts = first_free & !EVEN & !behind;
    let (even_runs, carries) = odd_starts.overflowing_add(first_free);
    ((EVEN ^ (even_runs << 1)) & behind, carries)
}
