//! References to the blobs of oh-my-pi: payloads that it keeps outside of its sessions.

use memchr::memmem;

/// Returns the hashes of the blobs that a line refers to: `blob:sha256:` and 64 hex digits as a
/// whole string.
pub fn blob_hashes(line: &[u8]) -> impl Iterator<Item = &str> {
    const MARK: &[u8] = b"\"blob:sha256:";
    /// The number of hex digits of a SHA-256.
    const DIGITS: usize = 64;

    memmem::find_iter(line, MARK).filter_map(|at| {
        let (hash, rest) = line[at + MARK.len()..].split_at_checked(DIGITS)?;
        let is_whole_string = rest.first() == Some(&b'"');
        let hash = std::str::from_utf8(hash).ok()?;
        (is_whole_string && is_blob_hash(hash)).then_some(hash)
    })
}

/// Whether this is the name of a blob.
pub fn is_blob_hash(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blobs_are_whole_strings() {
        let hash = "0123456789abcdef".repeat(4);
        let line = format!(
            "[\"blob:sha256:{hash}\",\"blob:sha256:{hash}x\",\"blob:sha256:{}",
            &hash[1..]
        );
        assert_eq!(blob_hashes(line.as_bytes()).collect::<Vec<_>>(), [hash]);
    }
}
