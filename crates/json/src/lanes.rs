//! Finds the bytes of a string that are not plain text, by examining 16 bytes at a time.

/// Iterates over the offsets of the quotes, backslashes and control characters of a string.
pub(crate) struct SpecialBytes<'a> {
    bytes: &'a [u8],
    /// The offset of the lane that is being examined.
    lane_start: usize,
    /// A bit for each special byte of the lane that was not returned yet.
    special: u32,
    /// The offset of the next lane.
    next_lane: usize,
}

impl<'a> SpecialBytes<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        SpecialBytes {
            bytes,
            lane_start: 0,
            special: 0,
            next_lane: 0,
        }
    }
}

impl Iterator for SpecialBytes<'_> {
    type Item = usize;

    /// Returns the offset of the next quote, backslash or control character. Examines the next
    /// lanes if the current one has none left.
    #[inline]
    fn next(&mut self) -> Option<usize> {
        while self.special == 0 {
            // After the last lane, `next_lane` may be beyond the end: then this returns `None`.
            let unread = self.bytes.get(self.next_lane..)?;
            self.lane_start = self.next_lane;
            self.next_lane += LANE;
            let masks = match unread.first_chunk::<LANE>() {
                Some(lane) => LaneMasks::of(lane),
                // The rest of the bytes, which may be none.
                None => LaneMasks::of(&pad_lane(unread)),
            };
            self.special = masks.special;
        }
        let index = self.special.trailing_zeros() as usize;
        // Clears the lowest bit that is set, which belongs to the byte that is returned.
        self.special &= self.special - 1;
        Some(self.lane_start + index)
    }
}

/// Fills a lane with bytes, of which there may be fewer, and with spaces, which are not special.
fn pad_lane(bytes: &[u8]) -> [u8; LANE] {
    let mut lane = [b' '; LANE];
    lane[..bytes.len()].copy_from_slice(bytes);
    lane
}

/// Returns the number of bytes before the first backslash, quote, control character or byte above
/// 0x7f.
pub(crate) fn plain_len(bytes: &[u8]) -> usize {
    let (lanes, rest) = bytes.as_chunks::<LANE>();
    for (index, lane) in lanes.iter().enumerate() {
        let masks = LaneMasks::of(lane);
        let not_plain = masks.special | masks.high;
        if not_plain != 0 {
            return index * LANE + not_plain.trailing_zeros() as usize;
        }
    }
    // The bytes that are in neither mask of `LaneMasks`.
    let is_plain = |&byte: &u8| (b' '..0x80).contains(&byte) && !matches!(byte, b'"' | b'\\');
    let plain_in_rest = rest.iter().take_while(|byte| is_plain(byte)).count();
    lanes.len() * LANE + plain_in_rest
}

/// Whether no byte is a backslash, a quote, a control character or above 0x7f. For keys and other
/// short strings, a table is twice as fast as [`plain_len`].
pub(crate) fn is_plain(bytes: &[u8]) -> bool {
    if bytes.len() >= LANE {
        return plain_len(bytes) == bytes.len();
    }
    for &byte in bytes {
        if !IS_PLAIN[usize::from(byte)] {
            return false;
        }
    }
    true
}

/// For each byte, whether [`is_plain`] accepts it.
static IS_PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = b' ';
    while byte < 0x80 {
        table[byte as usize] = byte != b'"' && byte != b'\\';
        byte += 1;
    }
    table
};

/// The number of bytes of a string that are examined together on any processor.
pub(crate) const LANE: usize = 16;

/// The bytes of a lane by class: bit `n` of a mask is set if byte `n` is of its class.
pub(crate) struct LaneMasks {
    /// Quotes, backslashes and control characters.
    pub special: u32,
    /// Bytes above 0x7f.
    pub high: u32,
}

impl LaneMasks {
    /// Finds the special bytes (quotes, backslashes, control characters) of a lane, and those above
    /// 0x7f. The result is the same as without SSE2.
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    #[inline]
    #[allow(unsafe_code)]
    pub fn of(lane: &[u8; LANE]) -> LaneMasks {
        // SAFETY: the one precondition is SSE2, without which this is not compiled.
        unsafe { lane_masks_sse2(lane) }
    }

    /// Finds the special bytes (quotes, backslashes, control characters) of a lane, and those above
    /// 0x7f. The result is the same as with SSE2.
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
    #[inline]
    pub fn of(lane: &[u8; LANE]) -> LaneMasks {
        let mut masks = LaneMasks {
            special: 0,
            high: 0,
        };
        for (index, &byte) in lane.iter().enumerate() {
            let is_special = byte == b'"' || byte == b'\\' || byte < 0x20;
            masks.special |= u32::from(is_special) << index;
            masks.high |= u32::from(byte >= 0x80) << index;
        }
        masks
    }
}

/// Compares all bytes of a lane with each class at once. Bytes are compared as unsigned numbers:
/// the minimum of a byte and 0x1f is the byte itself for a control character only.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[inline]
#[target_feature(enable = "sse2")]
fn lane_masks_sse2(lane: &[u8; LANE]) -> LaneMasks {
    use std::arch::x86_64::{
        _mm_cmpeq_epi8, _mm_loadu_si128, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128,
        _mm_set1_epi8,
    };
    // SAFETY: 16 bytes are read from where 16 bytes are borrowed; they need no alignment.
    #[allow(unsafe_code)]
    let bytes = unsafe { _mm_loadu_si128(lane.as_ptr().cast()) };
    let control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
    let quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'"' as i8));
    let backslash = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\' as i8));
    let special = _mm_or_si128(control, _mm_or_si128(quote, backslash));
    LaneMasks {
        special: _mm_movemask_epi8(special) as u32,
        // The mask consists of the highest bits of the bytes.
        high: _mm_movemask_epi8(bytes) as u32,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_strings_are_plain_as_long_ones_are() {
        for byte in 0..=u8::MAX {
            for len in [1, LANE - 1, LANE, LANE + 1] {
                let mut bytes = vec![b'a'; len];
                assert!(is_plain(&bytes));
                bytes[len - 1] = byte;
                assert_eq!(is_plain(&bytes), plain_len(&bytes) == len, "{byte} {len}");
            }
        }
        assert!(is_plain(b""));
    }
}
