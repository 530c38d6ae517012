//! The walk over a string, a block of bytes at a time.

use super::{Malformed, Result, Scanner};

impl Scanner<'_> {
    /// Walks from after the opening quote to after the closing one. Returns whether there was an escape.
    #[inline]
    pub(super) fn string_end(&mut self) -> Result<bool> {
        // Keys, ids and most other strings are short and without escapes.
        if let Some(start) = self.bytes.get(self.pos..).and_then(|rest| rest.first_chunk::<LANE>()) {
            let (special, high) = special_masks(start);
            let at = special.trailing_zeros() as usize;
            if start.get(at) == Some(&b'"') {
                self.non_ascii |= high != 0;
                self.pos += at + 1;
                return Ok(false);
            }
        }
        self.long_string_end()
    }

    fn long_string_end(&mut self) -> Result<bool> {
        #[cfg(target_arch = "x86_64")]
        if self.has_avx2 {
            // SAFETY: the only precondition is support for AVX2 and BMI, detected when the scanner was
            // created.
            #[allow(unsafe_code)]
            return unsafe { self.string_end_avx2() };
        }
        self.string_end_sse2()
    }

    /// Does not branch on the positions of quotes and backslashes, which are unpredictable: only the end of
    /// the string, a `\u` escape and malformed bytes leave the main path.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2,bmi1")]
    fn string_end_avx2(&mut self) -> Result<bool> {
        let (mut any_backslash, mut any_high) = (0, 0);
        // Whether the block's first byte follows a backslash that is not itself escaped.
        let mut carry = false;
        while let Some(block) = self.bytes.get(self.pos..).and_then(|rest| rest.first_chunk::<BLOCK>()) {
            let masks = Masks::of(block);
            let (escaped, carries) = escaped(masks.backslash, carry);
            let stop = (masks.end & !escaped) | (escaped & !masks.letter);
            any_high |= masks.high;
            if stop == 0 {
                any_backslash |= masks.backslash;
                carry = carries;
                self.pos += BLOCK;
                continue;
            }
            let at = stop.trailing_zeros();
            any_backslash |= masks.backslash & !(u64::MAX << at);
            let place = self.pos + at as usize;
            if escaped >> at & 1 == 1 {
                any_backslash |= 1;
                carry = false;
                self.pos = self.escape_end(place - 1)?;
            } else if block[at as usize] == b'"' {
                self.pos = place + 1;
                self.non_ascii |= any_high != 0;
                return Ok(any_backslash != 0);
            } else {
                return Err(Malformed { at: place });
            }
        }
        self.non_ascii |= any_high != 0;
        self.pos -= usize::from(carry);
        self.string_tail(any_backslash != 0)
    }

    fn string_end_sse2(&mut self) -> Result<bool> {
        let mut escaped = false;
        while let Some(lane) = self.bytes.get(self.pos..).and_then(|rest| rest.first_chunk::<LANE>()) {
            let (mut special, high) = special_masks(lane);
            self.non_ascii |= high != 0;
            let mut taken = LANE;
            while special != 0 {
                let at = special.trailing_zeros() as usize;
                match lane[at] {
                    b'"' => {
                        self.pos += at + 1;
                        return Ok(escaped);
                    }
                    b'\\' => {
                        escaped = true;
                        let end = self.escape_end(self.pos + at)? - self.pos;
                        if end >= LANE {
                            taken = end;
                            break;
                        }
                        special &= u32::MAX << end;
                    }
                    _ => return Err(Malformed { at: self.pos + at }),
                }
            }
            self.pos += taken;
        }
        self.string_tail(escaped)
    }

    /// Walks over the last bytes of the buffer, one at a time.
    fn string_tail(&mut self, mut escaped: bool) -> Result<bool> {
        loop {
            match self.bytes.get(self.pos) {
                Some(b'"') => {
                    self.pos += 1;
                    return Ok(escaped);
                }
                Some(b'\\') => {
                    escaped = true;
                    self.pos = self.escape_end(self.pos)?;
                }
                Some(&byte @ 0x20..) => {
                    self.non_ascii |= byte >= 0x80;
                    self.pos += 1;
                }
                _ => return Err(self.malformed()),
            }
        }
    }

    /// Returns where the escape that starts at `at` ends.
    fn escape_end(&self, at: usize) -> Result<usize> {
        match self.bytes.get(at + 1) {
            Some(b'"' | b'\\' | b'/' | b'b' | b'f' | b'n' | b'r' | b't') => Ok(at + 2),
            Some(b'u') => match self.bytes.get(at + 2..at + 6) {
                Some(hex) if hex.iter().all(u8::is_ascii_hexdigit) => Ok(at + 6),
                _ => Err(Malformed { at }),
            },
            _ => Err(Malformed { at }),
        }
    }
}

/// The number of bytes of a string examined together with AVX2.
const BLOCK: usize = 64;
/// The number of bytes examined together on any processor.
const LANE: usize = 16;

/// Whether this processor has AVX2 and BMI (any with the former has the latter). The standard library caches
/// the result.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2") && std::arch::is_x86_feature_detected!("bmi1")
}

/// The bytes of a block by class: a mask has a bit for each byte.
#[cfg(target_arch = "x86_64")]
struct Masks {
    /// Quotes and control characters: bytes that end a string unless they are escaped.
    end: u64,
    backslash: u64,
    /// Letters that form a two-byte escape with a backslash before them.
    letter: u64,
    /// Not 0 if any byte is above 0x7f.
    high: u32,
}

#[cfg(target_arch = "x86_64")]
impl Masks {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of(block: &[u8; BLOCK]) -> Masks {
        use std::arch::x86_64::{_mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256};
        let (halves, _) = block.as_chunks::<{ BLOCK / 2 }>();
        // SAFETY: 32 bytes are read from where 32 bytes are borrowed, twice; they need no alignment.
        #[allow(unsafe_code)]
        let (first, second) = unsafe {
            (_mm256_loadu_si256(halves[0].as_ptr().cast()), _mm256_loadu_si256(halves[1].as_ptr().cast()))
        };
        // No closure: the library function that would call it is not compiled for AVX2 and would not be inlined.
        let (low, high) = (half_masks(first), half_masks(second));
        Masks {
            end: u64::from(low[0]) | u64::from(high[0]) << 32,
            backslash: u64::from(low[1]) | u64::from(high[1]) << 32,
            letter: u64::from(low[2]) | u64::from(high[2]) << 32,
            high: _mm256_movemask_epi8(_mm256_or_si256(first, second)) as u32,
        }
    }
}

/// The masks of half a block: ends, backslashes, letters.
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn half_masks(bytes: std::arch::x86_64::__m256i) -> [u32; 3] {
    use std::arch::x86_64::{
        _mm_set_epi8, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8, _mm256_min_epu8, _mm256_movemask_epi8,
        _mm256_or_si256, _mm256_set1_epi8, _mm256_shuffle_epi8,
    };
    let quote = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'"' as i8));
    let backslash = _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b'\\' as i8));
    let control = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f)), bytes);
    // The letters are 22 2f 5c 62 66 6e 72 74. The table maps each low digit to a letter that ends in it, or
    // to a byte that does not. Of the three that end in 2 it has 72; the other two are compared separately.
    let (none, b, slash) = (0x10, b'b' as i8, b'/' as i8);
    let table = _mm_set_epi8(
        slash, 0x6e, none, 0x5c, none, none, none, none, none, 0x66, none, 0x74, none, 0x72, none, 0x01,
    );
    let letter = _mm256_cmpeq_epi8(_mm256_shuffle_epi8(_mm256_broadcastsi128_si256(table), bytes), bytes);
    let of_two = _mm256_or_si256(quote, _mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(b)));
    [
        _mm256_movemask_epi8(_mm256_or_si256(quote, control)) as u32,
        _mm256_movemask_epi8(backslash) as u32,
        _mm256_movemask_epi8(_mm256_or_si256(letter, of_two)) as u32,
    ]
}

/// Returns which bytes follow a backslash that is not itself escaped, and whether the byte after the block
/// does. Adding to a run of backslashes that starts at an odd position carries to its end, which
/// distinguishes runs of odd length (as in simdjson).
#[cfg(target_arch = "x86_64")]
#[inline]
fn escaped(backslash: u64, carry: bool) -> (u64, bool) {
    const EVEN: u64 = 0x5555_5555_5555_5555;
    let backslash = backslash & !u64::from(carry);
    let behind = backslash << 1 | u64::from(carry);
    let odd_starts = backslash & !EVEN & !behind;
    let (even_runs, carries) = odd_starts.overflowing_add(backslash);
    ((EVEN ^ (even_runs << 1)) & behind, carries)
}

/// A bit for each quote, backslash and control character, and one for each byte above 0x7f.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[inline]
#[allow(unsafe_code)]
fn special_masks(lane: &[u8; LANE]) -> (u32, u32) {
    // SAFETY: the one precondition is SSE2, without which this is not compiled.
    unsafe { special_masks_sse2(lane) }
}

#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[inline]
#[target_feature(enable = "sse2")]
fn special_masks_sse2(lane: &[u8; LANE]) -> (u32, u32) {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set1_epi8,
    };
    // SAFETY: 16 bytes are read from where 16 bytes are borrowed; they need no alignment.
    #[allow(unsafe_code)]
    let bytes = unsafe { _mm_loadu_si128(lane.as_ptr().cast()) };
    let control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
    let quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'"' as i8));
    let backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\' as i8));
    let special = _mm_or_si128(control, _mm_or_si128(quote, backslash));
    (_mm_movemask_epi8(special) as u32, _mm_movemask_epi8(bytes) as u32)
}

/// A bit for each quote, backslash and control character, and one for each byte above 0x7f.
#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
#[inline]
fn special_masks(lane: &[u8; LANE]) -> (u32, u32) {
    lane.iter().enumerate().fold((0, 0), |(special, high), (at, &b)| {
        let is_special = b == b'"' || b == b'\\' || b < 0x20;
        (special | u32::from(is_special) << at, high | u32::from(b >= 0x80) << at)
    })
}
