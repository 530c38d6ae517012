//! The checksum `frameCrc` of a line of a pruned file. The payload has a separate checksum, `crc`.
//!
//! It is the last member before the payload, and covers all bytes of the line before it, including
//! the checksum of the payload. Lines written by earlier versions of pisess lack it. Such a line
//! must have only the members that these versions wrote: otherwise, a line in which the name of the
//! checksum is damaged would pass as an old one.

use memchr::memmem;

/// The bytes before the checksum of a line.
const CHECKSUM_MEMBER: &[u8] = b",\"frameCrc\":";
/// The bytes before the checksum of a payload.
const PAYLOAD_CRC: &[u8] = b",\"crc\":";

/// The error that a line was changed after it was written.
#[derive(Debug)]
pub struct ChecksumMismatch;

/// The beginning of a line, without the checksum.
pub struct CheckedMembers<'l> {
    /// The members before the checksum, without a closing brace.
    pub bytes: &'l [u8],
    /// Whether the line had a checksum; those of earlier versions have none.
    pub had_checksum: bool,
}

/// Appends the checksum to the beginning of a line, which must have all other members but the
/// payload.
pub fn append_checksum(line: &mut Vec<u8>) {
    let sum = crc32fast::hash(line);
    line.extend_from_slice(CHECKSUM_MEMBER);
    line.extend_from_slice(sum.to_string().as_bytes());
}

/// Verifies the checksum at the end of a line's beginning, and returns the bytes before it:
/// `{"id":"a1",…,"frameCrc":7` -> `{"id":"a1",…`. A line without a checksum passes: the caller
/// decides whether an earlier version may have written it.
pub fn verify_and_strip_checksum(line: &[u8]) -> Result<CheckedMembers<'_>, ChecksumMismatch> {
    // The last occurrence is the member itself, not a text that looks like it: it is the last
    // member, and in a string, each quote is escaped.
    let Some(member_start) = memmem::rfind(line, CHECKSUM_MEMBER) else {
        return Ok(CheckedMembers {
            bytes: line,
            had_checksum: false,
        });
    };
    let sum = crc32fast::hash(&line[..member_start]).to_string();
    if line[member_start + CHECKSUM_MEMBER.len()..] == *sum.as_bytes() {
        Ok(CheckedMembers {
            bytes: &line[..member_start],
            had_checksum: true,
        })
    } else {
        Err(ChecksumMismatch)
    }
}

/// Whether a record without a checksum may be of an earlier version, where `crc`, the checksum of
/// the payload, was the last member.
pub fn may_lack_checksum(members: &[u8]) -> bool {
    match memmem::rfind(members, PAYLOAD_CRC) {
        Some(crc_start) => members[crc_start + PAYLOAD_CRC.len()..]
            .iter()
            .all(u8::is_ascii_digit),
        None => true,
    }
}
