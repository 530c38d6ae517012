//! An opened session whose bytes are counted as they are read, for a progress bar.

use pisess_store::{Opened, ReadAt};
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An opened session, and the number of bytes read from it. Bytes that are read again count again.
pub struct CountedSource {
    pub opened: Opened,
    pub read_bytes: Arc<AtomicUsize>,
}

impl CountedSource {
    pub fn new(opened: Opened) -> CountedSource {
        CountedSource {
            opened,
            read_bytes: Arc::default(),
        }
    }
}

impl ReadAt for CountedSource {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.opened.read_at(buf, offset)?;
        self.read_bytes.fetch_add(read, Ordering::Relaxed);
        Ok(read)
    }

    fn len(&self) -> u64 {
        self.opened.len()
    }

    fn file(&self) -> Option<&File> {
        self.opened.file()
    }

    fn original_lines(&self) -> Option<&Arc<[u32]>> {
        self.opened.original_lines()
    }
}
