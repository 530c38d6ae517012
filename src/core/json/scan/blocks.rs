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
            // SAFETY: the one precondition is AVX2, which was detected when the scanner was created.
            #[allow(unsafe_code)]
            return unsafe { self.string_end_avx2() };
        }
        self.string_end_sse2()
    }

    /// Without branches that depend on where quotes and backslashes are, which could not be predicted: only
    /// the end of the string, an escape of several letters and malformed bytes leave the main path.
    #[cfg(target_arch = "x86_64")]
    #[target_feature(enable = "avx2")]
    fn string_end_avx2(&mut self) -> Result<bool> {
        let (mut any_backslash, mut any_high) = (0, 0);
        // Whether the block's first byte follows a backslash that is not itself escaped.
        let mut carry = false;
        while let Some(block) = self.bytes.get(self.pos..).and_then(|rest| rest.first_chunk::<BLOCK>()) {
            let masks = Masks::of(block);
            let (escaped, carries) = escaped(masks.backslash, carry);
            let stop = (masks.quote & !escaped) | masks.control | (escaped & !masks.letter);
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
            } else if masks.quote >> at & 1 == 1 {
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

    /// Does the same for the last bytes of the buffer, one at a time.
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

/// Whether this processor has AVX2; the standard library caches the answer.
#[cfg(target_arch = "x86_64")]
pub(super) fn has_avx2() -> bool {
    std::arch::is_x86_feature_detected!("avx2")
}

/// A bit for each byte of a block that is one of these.
#[cfg(target_arch = "x86_64")]
struct Masks {
    quote: u64,
    backslash: u64,
    control: u64,
    /// Bytes that form an escape of one letter with a backslash before them.
    letter: u64,
    /// Bytes above 0x7f.
    high: u64,
}

#[cfg(target_arch = "x86_64")]
impl Masks {
    #[inline]
    #[target_feature(enable = "avx2")]
    fn of(block: &[u8; BLOCK]) -> Masks {
        let (first, second) = block.split_at(BLOCK / 2);
        let halves = [first, second].map(|half| half.first_chunk().map_or([0; 5], |half| half_masks(half)));
        let [quote, backslash, control, letter, high] =
            std::array::from_fn(|at| u64::from(halves[0][at]) | u64::from(halves[1][at]) << 32);
        Masks { quote, backslash, control, letter, high }
    }
}

/// The masks of half a block, in the order of the fields of [`Masks`].
#[cfg(target_arch = "x86_64")]
#[inline]
#[target_feature(enable = "avx2")]
fn half_masks(half: &[u8; BLOCK / 2]) -> [u32; 5] {
    use std::arch::x86_64::{
        _mm_set_epi8, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8, _mm256_loadu_si256,
        _mm256_min_epu8, _mm256_movemask_epi8, _mm256_set1_epi8, _mm256_setzero_si256, _mm256_shuffle_epi8,
        _mm256_srli_epi16,
    };
    // SAFETY: 32 bytes are read from where 32 bytes are borrowed; they need no alignment.
    #[allow(unsafe_code)]
    let bytes = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
    let is = |byte: u8| _mm256_movemask_epi8(_mm256_cmpeq_epi8(bytes, _mm256_set1_epi8(byte as i8))) as u32;
    let control = _mm256_cmpeq_epi8(_mm256_min_epu8(bytes, _mm256_set1_epi8(0x1f)), bytes);
    // The letters are 22 2f 5c 62 66 6e 72 74: each high digit has a bit, each table maps a digit to its
    // bits, and a letter is where both have one in common.
    let low = _mm256_broadcastsi128_si256(_mm_set_epi8(1, 4, 0, 2, 0, 0, 0, 0, 0, 4, 0, 8, 0, 13, 0, 0));
    let high = _mm256_broadcastsi128_si256(_mm_set_epi8(0, 0, 0, 0, 0, 0, 0, 0, 8, 4, 2, 0, 0, 1, 0, 0));
    let high_digits = _mm256_and_si256(_mm256_srli_epi16::<4>(bytes), _mm256_set1_epi8(0x0f));
    let common = _mm256_and_si256(_mm256_shuffle_epi8(low, bytes), _mm256_shuffle_epi8(high, high_digits));
    let other = _mm256_cmpeq_epi8(common, _mm256_setzero_si256());
    [
        is(b'"'),
        is(b'\\'),
        _mm256_movemask_epi8(control) as u32,
        !_mm256_movemask_epi8(other) as u32,
        _mm256_movemask_epi8(bytes) as u32,
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
