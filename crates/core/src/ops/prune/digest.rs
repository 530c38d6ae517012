//! The size and the SHA-256 of a session before a prune. With them, a restore can prove that the
//! session is what it was.

use pisess_json::Raw;
use pisess_store::{ReadAt, copy_range};
use serde::Serialize;
use sha2::{Digest, Sha256};
use std::io;

/// The identity of the bytes of a session.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct SessionDigest {
    /// The size in bytes.
    pub bytes: u64,
    /// The SHA-256, in hexadecimal digits.
    pub sha256: String,
}

/// The session before it was pruned, as the beginning of a restored session.
#[derive(Clone, Debug)]
pub struct OriginalSession {
    /// Its identity.
    pub digest: SessionDigest,
    /// The number of bytes that were appended since.
    pub appended_bytes: u64,
}

impl SessionDigest {
    /// Reads the digest of the first `bytes` bytes of a session.
    pub(super) fn of_start(source: &dyn ReadAt, bytes: u64) -> io::Result<SessionDigest> {
        let mut hasher = Sha256::new();
        copy_range(source, 0..bytes, &mut hasher)?;
        Ok(SessionDigest {
            bytes,
            sha256: format!("{:x}", hasher.finalize()),
        })
    }

    /// Returns the digest that an operation records; `None` if a member is missing.
    pub(super) fn from_json(digest: Raw) -> Option<SessionDigest> {
        Some(SessionDigest {
            bytes: digest.get("bytes")?.as_index()? as u64,
            sha256: digest.get_text("sha256")?.into_string_lossy(),
        })
    }
}
