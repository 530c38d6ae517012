//! The blobs of oh-my-pi: payloads that it keeps outside of its sessions, in files named by the
//! SHA-256 of their bytes. It moves nearly every image there.

use super::content::{ConvertedBlock, convert_blocks, is_block};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use memchr::memmem;
use pisess_json::Raw;
use pisess_json::edit::with_member;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_store::{Glance, ReadAt};
use sha2::{Digest, Sha256};
use std::io;
use std::path::{Path, PathBuf};

/// What a string begins with that refers to a blob. The hash follows.
const REFERENCE_PREFIX: &str = "blob:sha256:";

/// The directory of oh-my-pi's blobs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BlobStore {
    /// `None` if it is not known. Then the store has no blobs.
    folder: Option<PathBuf>,
}

impl BlobStore {
    /// Returns the store in a directory; `None` if the directory is not known.
    pub fn new(folder: Option<PathBuf>) -> BlobStore {
        BlobStore { folder }
    }

    /// Returns the directory; `None` if it is not known.
    pub fn folder(&self) -> Option<&Path> {
        self.folder.as_deref()
    }

    /// Returns the bytes of a blob.
    ///
    /// # Errors
    /// If the directory is not known, if the blob cannot be read, or if its content has another
    /// hash.
    pub fn read(&self, hash: &str) -> io::Result<Vec<u8>> {
        let Some(folder) = self.folder() else {
            return Err(io::Error::other("the directory of blobs is not known"));
        };
        let file = Glance::open(&folder.join(hash)).map_err(io::Error::other)?;
        let bytes = file.read_range(0..file.len())?;
        let mut hasher = Sha256::new();
        hasher.update(&bytes);
        if !has_hash(hasher, hash) {
            return Err(io::Error::other("its content has another hash"));
        }
        Ok(bytes)
    }
}

/// Returns the block of an image with its data in it. `None` if the block is no image of a blob, or
/// if the blob cannot be read.
pub fn inline_image(block: Raw, blobs: &BlobStore) -> Option<Vec<u8>> {
    if !is_block(block, "image") {
        return None;
    }
    inline_data(block, blobs)
}

/// Returns an image, which is an object, with its `data` in base64 in place of the reference to its
/// blob. `None` if `data` is no such reference, or if the blob cannot be read.
fn inline_data(image: Raw, blobs: &BlobStore) -> Option<Vec<u8>> {
    let data = image.get_text("data")?;
    let data = std::str::from_utf8(data.as_bytes()).ok()?;
    let hash = referenced_blob(data)?;
    let bytes = blobs.read(hash).ok()?;
    let encoded = Text::from(STANDARD.encode(bytes));
    Some(with_member(image, "data", &encode_to_vec(&encoded)))
}

/// Returns content with the images of its blobs, as [`inline_image`] returns each. `None` if no
/// block changes.
pub fn inline_images(content: Raw, blobs: &BlobStore) -> Option<Vec<u8>> {
    convert_blocks(content, |block| match inline_image(block, blobs) {
        Some(inlined) => ConvertedBlock::Changed(inlined),
        None => ConvertedBlock::Same,
    })
}

/// Returns a compaction of oh-my-pi with its pictures of the older conversation, its frames, which
/// are in `preserveData.snapcompact.frames`. `None` if no frame changes.
pub fn inline_frames(compaction: Raw, blobs: &BlobStore) -> Option<Vec<u8>> {
    let preserved = compaction.get("preserveData")?;
    let archive = preserved.get("snapcompact")?;
    let frames = convert_blocks(archive.get("frames")?, |frame| {
        match inline_data(frame, blobs) {
            Some(inlined) => ConvertedBlock::Changed(inlined),
            None => ConvertedBlock::Same,
        }
    })?;
    let archive = with_member(archive, "frames", &frames);
    let preserved = with_member(preserved, "snapcompact", &archive);
    Some(with_member(compaction, "preserveData", &preserved))
}

/// Whether what was hashed has this hash, in hex.
pub fn has_hash(hasher: Sha256, hash: &str) -> bool {
    format!("{:x}", hasher.finalize()).eq_ignore_ascii_case(hash)
}

/// Returns the hash of the blob to which a string refers. `None` if the string is no reference.
pub fn referenced_blob(text: &str) -> Option<&str> {
    text.strip_prefix(REFERENCE_PREFIX)
        .filter(|hash| is_blob_hash(hash))
}

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
