//! The checksum of a line of a pruned file, other than of its payload.
//!
//! It is the last member before the payload, and covers all bytes of the line before it, among them
//! the checksum of the payload. A line that an earlier version wrote has none; its members are
//! those that this version knew, so that a damaged name of the checksum is not taken for its
//! absence.

use memchr::memmem;

const CHECKSUM_MEMBER: &[u8] = b",\"frameCrc\":";
const PAYLOAD_CRC: &[u8] = b",\"crc\":";

/// A line was changed after it was written.
#[derive(Debug)]
pub struct ChecksumMismatch;

/// The beginning of a line without its checksum.
pub struct CheckedMembers<'l> {
    /// The members before the checksum, without a closing brace.
    pub bytes: &'l [u8],
    /// Whether there was a checksum: an earlier version wrote none.
    pub had_checksum: bool,
}

/// Appends its checksum to the beginning of a line.
pub fn append_checksum(line: &mut Vec<u8>) {
    let sum = crc32fast::hash(line);
    line.extend_from_slice(CHECKSUM_MEMBER);
    line.extend_from_slice(sum.to_string().as_bytes());
}

/// Checks the beginning of a line, and returns it without its checksum, which covers all bytes
/// before it. A line without a checksum passes: the caller decides whether an earlier version may
/// have written it.
pub fn strip_checksum(line: &[u8]) -> Result<CheckedMembers<'_>, ChecksumMismatch> {
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

/// Whether the members of a record without a checksum may be those of an earlier version, in which
/// nothing followed the checksum of the payload.
pub fn may_be_older(members: &[u8]) -> bool {
    match memmem::rfind(members, PAYLOAD_CRC) {
        Some(crc_start) => members[crc_start + PAYLOAD_CRC.len()..]
            .iter()
            .all(u8::is_ascii_digit),
        None => true,
    }
}
