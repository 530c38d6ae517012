//! What settings and paths are on the disk.

use super::files;
use std::io::Read;
use std::path::{Path, PathBuf};

/// Access to the disk.
pub trait Disk {
    /// Returns the content of a small file, if it can be read.
    fn text(&self, path: &Path) -> Option<Vec<u8>>;
    /// Whether the path exists.
    fn exists(&self, path: &Path) -> bool;
    /// Returns the path without symbolic links, or unchanged if it cannot be resolved.
    fn real(&self, path: &Path) -> PathBuf;
}

/// The size of the largest settings file to read.
const SETTINGS: u64 = 1 << 20;

/// The real disk.
#[derive(Clone, Copy, Debug)]
pub struct OnDisk;

impl Disk for OnDisk {
    fn text(&self, path: &Path) -> Option<Vec<u8>> {
        // A FIFO is not opened, because that would block.
        super::modified(path)?;
        let mut text = Vec::new();
        std::fs::File::open(path).ok()?.take(SETTINGS).read_to_end(&mut text).ok()?;
        Some(text)
    }

    fn exists(&self, path: &Path) -> bool {
        path.exists()
    }

    fn real(&self, path: &Path) -> PathBuf {
        files::real(path).unwrap_or_else(|_| path.to_owned())
    }
}
