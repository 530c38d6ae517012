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

/// Whether base64 digits may encode, after the first `bits_before` bits, bytes for which
/// `may_follow` is true. It sees only the first [`BYTES_DECODED`] bytes.
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

/// Returns the first [`BYTES_DECODED`] bytes that base64 digits encode, after the first
/// `bits_before` bits. These are the last bits of the byte before; they are fewer than the six of a
/// digit. `None` if there are too few digits, or if something else, such as a line break, is among
/// them.
///
/// ```text
///   bits of the digits   before │ byte │ byte │ byte │ byte │ byte │ byte │ after
/// ```
fn decode_first_bytes(digits: &[u8], bits_before: usize) -> Option<[u8; BYTES_DECODED]> {
    debug_assert!(bits_before < BITS_PER_DIGIT);
    // The digits are read into the lower bits of the number, where all of them have room.
    let mut bits: u64 = 0;
    for &digit in digits.get(..DIGITS_DECODED)? {
        bits = bits << BITS_PER_DIGIT | u64::from(base64_digit_value(digit)?);
    }

    const BITS_DECODED: usize = BYTES_DECODED * u8::BITS as usize;
    const OTHER_BITS: usize = DIGITS_DECODED * BITS_PER_DIGIT - BITS_DECODED;
    // There are as many other bits as a digit has, so this is not negative.
    let bits_after = OTHER_BITS - bits_before;
    // After the shift, the last bytes of the number are the decoded ones. The first two have the
    // bits before.
    let [_, _, bytes @ ..] = (bits >> bits_after).to_be_bytes();
    Some(bytes)
}

/// The number of bytes that [`decode_first_bytes`] decodes. It relies on a `u64` having two more.
const BYTES_DECODED: usize = 6;

/// The number of digits that encode [`BYTES_DECODED`] bytes. Eight digits, with 48 bits, would
/// suffice only for bytes that begin with the first bit of a digit.
const DIGITS_DECODED: usize = 9;

/// Whether `rest` begins with base64 digits that encode, after the first `bits_before` bits, a text
/// for which `may_follow` is true. Unlike [`may_encode`], this decodes all digits. If a line break
/// cuts the digits, any text is accepted, because the rest of it is not known.
pub fn encodes_text(rest: &[u8], bits_before: usize, may_follow: fn(&[u8]) -> bool) -> bool {
    let digit_count = rest
        .iter()
        .take(TEXT_DIGITS_DECODED)
        .take_while(|byte| is_base64_digit(byte))
        .count();
    let (digits, after_digits) = rest.split_at(digit_count);
    let bytes = decode_bytes(digits, bits_before);

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

/// Returns the bytes that base64 digits encode after the first `bits_before` bits, up to the last
/// whole byte. A byte that is no digit counts as the digit `A`.
fn decode_bytes(digits: &[u8], bits_before: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(digits.len());
    // The bits that were read so far; the older ones are shifted out. The last `unused_count` are
    // not part of a byte yet.
    let mut bits: u32 = 0;
    let mut unused_count = 0;
    let mut skipped_count = bits_before;
    for &digit in digits {
        let value = base64_digit_value(digit).unwrap_or(0);
        bits = bits << BITS_PER_DIGIT | u32::from(value);
        unused_count += BITS_PER_DIGIT;

        // The needle ends within a digit or at its end, so one digit is enough to skip its bits.
        let skipped_now = skipped_count.min(unused_count);
        skipped_count -= skipped_now;
        unused_count -= skipped_now;

        if unused_count >= 8 {
            unused_count -= 8;
            bytes.push((bits >> unused_count) as u8);
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
    let digits_on_line = rest
        .iter()
        .take(SHORTEST_ENCODED)
        .take_while(|byte| is_base64_digit(byte))
        .count();
    if digits_on_line == SHORTEST_ENCODED {
        return true;
    }
    let next_line = after_line_break(&rest[digits_on_line..]);
    let missing = SHORTEST_ENCODED - digits_on_line;
    match next_line.get(..missing) {
        Some(digits) => digits.iter().all(is_base64_digit),
        None => false,
    }
}

/// Returns the bytes after a line break at the start of `bytes`; empty if there is no line break.
///
/// The line break is written as an escape: `\n`, or `\r\n` from Windows. Each level of escaping
/// doubles the backslashes, so any number of them may precede the letter.
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
