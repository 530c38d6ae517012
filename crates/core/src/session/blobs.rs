//! References to the blobs of oh-my-pi: payloads that it keeps outside of its sessions.

use memchr::memmem;

/// Returns the hashes of the blobs that a line refers to, in order and with repetitions.
///
/// A reference is a JSON string that contains `blob:sha256:` and 64 hex digits, and nothing else.
pub fn blob_hashes(line: &[u8]) -> impl Iterator<Item = &str> {
    const MARK: &[u8] = b"\"blob:sha256:";

    memmem::find_iter(line, MARK).filter_map(|mark| hash_in_reference(&line[mark + MARK.len()..]))
}

/// Returns the 64 hex digits with which `rest` begins, if they end the string: a closing quote
/// follows. `rest` is what follows `"blob:sha256:` on the line.
fn hash_in_reference(rest: &[u8]) -> Option<&str> {
    let (hash, after_hash) = rest.split_at_checked(SHA256_DIGITS)?;
    let hash = std::str::from_utf8(hash).ok()?;
    let is_whole_string = after_hash.starts_with(b"\"");
    if is_whole_string && is_blob_hash(hash) {
        Some(hash)
    } else {
        None
    }
}

/// The number of hex digits of a SHA-256.
const SHA256_DIGITS: usize = 64;

/// Whether a file of this name can be a blob: oh-my-pi names each blob by its SHA-256 in hex.
pub fn is_blob_hash(name: &str) -> bool {
    name.len() == SHA256_DIGITS && name.bytes().all(|byte| byte.is_ascii_hexdigit())
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
