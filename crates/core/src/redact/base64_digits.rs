//! Reads digits of base64 in raw bytes, without decoding a whole run: the prefilter only has to
//! know how an encoded secret begins. `encoded.rs` decodes runs.

/// The minimum number of base64 digits of a run that is decoded. Fewer digits are too short for a
/// key.
pub const SHORTEST_ENCODED: usize = 16;

/// Whether a byte is a base64 digit, in the standard or the URL alphabet.
pub fn is_base64_digit(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'-' | b'_')
}

/// Whether a byte is a digit of the standard base64 alphabet, or padding.
#[inline]
pub fn is_padded_base64_digit(byte: &u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

/// The number of bits that a digit of base64 encodes.
pub const BITS_PER_DIGIT: usize = 6;

/// Whether base64 digits may encode bytes for which `may_follow` is true. The first `bits_before`
/// bits of the digits are skipped, because they belong to the byte before. Only the first
/// [`BYTES_DECODED`] bytes are decoded and passed to `may_follow`.
pub fn may_encode(
    digits: &[u8],
    bits_before: usize,
    may_follow: impl FnOnce(&[u8]) -> bool,
) -> bool {
    match decode_first_bytes(digits, bits_before) {
        Some(first_bytes) => may_follow(&first_bytes),
        // There are too few digits on this line. They may continue after a line break, where only
        // the search itself reads them.
        None => true,
    }
}

/// Returns the first six bytes that nine base64 digits encode. The first `bits_before` bits of the
/// digits, fewer than the six of a digit, are skipped: they belong to the byte before. `None` if
/// there are fewer digits, or if something else, such as a line break, is among them.
///
/// ```text
///   the 54 bits of nine digits:
///   bits_before │ byte │ byte │ byte │ byte │ byte │ byte │ bits_after
/// ```
fn decode_first_bytes(digits: &[u8], bits_before: usize) -> Option<[u8; BYTES_DECODED]> {
    debug_assert!(bits_before < BITS_PER_DIGIT);
    let mut bits: u64 = 0;
    for &digit in digits.get(..DIGITS_DECODED)? {
        bits = bits << BITS_PER_DIGIT | u64::from(base64_digit_value(digit)?);
    }

    const BITS_OF_DIGITS: usize = DIGITS_DECODED * BITS_PER_DIGIT;
    const BITS_OF_BYTES: usize = BYTES_DECODED * u8::BITS as usize;
    // Not negative: the digits have six bits more than the bytes, and `bits_before` is at most 5.
    let bits_after = BITS_OF_DIGITS - BITS_OF_BYTES - bits_before;
    // The shift drops the bits after the bytes. Of the eight bytes of the number, the first two now
    // have only the bits before.
    let [_, _, bytes @ ..] = (bits >> bits_after).to_be_bytes();
    Some(bytes)
}

/// The number of bytes that [`decode_first_bytes`] decodes. It relies on a `u64` having two more.
const BYTES_DECODED: usize = 6;

/// The number of digits that encode [`BYTES_DECODED`] bytes. Eight digits, with 48 bits, would
/// suffice only for bytes that begin with the first bit of a digit.
const DIGITS_DECODED: usize = 9;

/// Whether `rest` begins with base64 digits that encode a text for which `may_follow` is true.
/// Unlike [`may_encode`], this decodes up to [`TEXT_DIGITS_DECODED`] digits. Their first
/// `bits_before` bits are skipped, because they belong to the byte before.
///
/// If a line break cuts the digits, any text is accepted, because its rest is not known.
pub fn encodes_text(rest: &[u8], bits_before: usize, may_follow: fn(&[u8]) -> bool) -> bool {
    let digit_count = rest
        .iter()
        .take(TEXT_DIGITS_DECODED)
        .take_while(|byte| is_base64_digit(byte))
        .count();
    let (digits, after_digits) = rest.split_at(digit_count);
    let bytes = decode_bytes(digits, bits_before);

    // If the bytes are random, as in an image, one of the first is not printable.
    let is_text = bytes
        .iter()
        .take(BYTES_OF_TEXT)
        .all(|byte| byte.is_ascii_graphic() || byte.is_ascii_whitespace());
    if !is_text {
        return false;
    }
    let is_cut = digit_count < TEXT_DIGITS_DECODED && !after_line_break(after_digits).is_empty();
    is_cut || may_follow(&bytes)
}

/// The maximum number of digits that [`encodes_text`] decodes. They encode 324 bytes; the checks of
/// rules look at no more than about 320.
const TEXT_DIGITS_DECODED: usize = 432;

/// The number of decoded bytes that must be printable ASCII or white space. If the needle is there
/// only by chance, at least one of this number of bytes is not.
const BYTES_OF_TEXT: usize = 16;

/// Returns the bytes that base64 digits encode, up to the last whole byte: `sec` for `c2Vj`. The
/// first `bits_before` bits, at most six, are skipped. A byte that is no digit counts as the digit
/// `A`.
fn decode_bytes(digits: &[u8], bits_before: usize) -> Vec<u8> {
    let Some((&first, others)) = digits.split_first() else {
        return Vec::new();
    };
    let mut bytes = Vec::with_capacity(digits.len());
    // The last `pending_count` of these bits are not part of a byte yet. The others were used or
    // skipped, and the shift to the left loses the oldest of them.
    let mut bits = u32::from(base64_digit_value(first).unwrap_or(0));
    let mut pending_count = BITS_PER_DIGIT - bits_before;
    for &digit in others {
        let value = base64_digit_value(digit).unwrap_or(0);
        bits = bits << BITS_PER_DIGIT | u32::from(value);
        pending_count += BITS_PER_DIGIT;
        // At most 7 bits were pending before this digit, so there is at most one whole byte.
        if pending_count >= 8 {
            pending_count -= 8;
            bytes.push((bits >> pending_count) as u8);
        }
    }
    bytes
}

/// Returns the six bits of a base64 digit, in the standard or the URL alphabet; `None` for any
/// other byte.
fn base64_digit_value(digit: u8) -> Option<u8> {
    match digit {
        b'A'..=b'Z' => Some(digit - b'A'),
        b'a'..=b'z' => Some(digit - b'a' + 26),
        b'0'..=b'9' => Some(digit - b'0' + 52),
        b'+' | b'-' => Some(62),
        b'/' | b'_' => Some(63),
        _ => None,
    }
}

/// Whether the bytes begin with at least [`SHORTEST_ENCODED`] base64 digits. One line break,
/// written as an escape, may be among them, because programs wrap base64.
pub fn continues_base64(rest: &[u8]) -> bool {
    let count_on_line = rest
        .iter()
        .take(SHORTEST_ENCODED)
        .take_while(|byte| is_base64_digit(byte))
        .count();
    if count_on_line == SHORTEST_ENCODED {
        return true;
    }
    let next_line = after_line_break(&rest[count_on_line..]);
    let missing_count = SHORTEST_ENCODED - count_on_line;
    match next_line.get(..missing_count) {
        Some(digits) => digits.iter().all(is_base64_digit),
        None => false,
    }
}

/// Returns the bytes after a line break at the start of `bytes`; empty if there is no line break.
///
/// The line break is written as an escape: `\n`, or `\r\n` from Windows. JSON in a JSON string
/// doubles the backslashes, as in `\\n`, so any number of them may precede the letter.
fn after_line_break(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    loop {
        let backslashes = rest.iter().take_while(|byte| **byte == b'\\').count();
        if backslashes == 0 {
            return &[];
        }
        match &rest[backslashes..] {
            [b'r', after @ ..] => rest = after,
            [b'n', after @ ..] => return after,
            _ => return &[],
        }
    }
}
