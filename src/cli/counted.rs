//! An opened session whose bytes are counted as they are read, for a progress bar.

use crate::cli::foreign::ConvertedSource;
use pisess_store::{KeptContent, Opened, ReadAt};
use std::fs::File;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// An opened session, and the number of bytes read from it. Bytes that are read again count again.
pub struct CountedSource {
    pub content: Content,
    pub read_bytes: Arc<AtomicUsize>,
}

/// What was opened.
pub enum Content {
    /// A file or a stream.
    Opened(Opened),
    /// A session of another agent.
    Converted(Box<ConvertedSource>),
}

impl CountedSource {
    pub fn new(content: Content) -> CountedSource {
        CountedSource {
            content,
            read_bytes: Arc::default(),
        }
    }

    fn source(&self) -> &dyn ReadAt {
        match &self.content {
            Content::Opened(opened) => opened,
            Content::Converted(converted) => &**converted,
        }
    }
}

impl ReadAt for CountedSource {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.source().read_at(buf, offset)?;
        self.read_bytes.fetch_add(read, Ordering::Relaxed);
        Ok(read)
    }

    fn len(&self) -> u64 {
        self.source().len()
    }

    fn file(&self) -> Option<&File> {
        self.source().file()
    }

    fn original_lines(&self) -> Option<&Arc<[u32]>> {
        self.source().original_lines()
    }

    fn stream(
        &self,
        kept: KeptContent,
        read: &mut (dyn FnMut(&[u8]) + Send),
    ) -> Option<io::Result<()>> {
        self.source().stream(kept, &mut |bytes| {
            self.read_bytes.fetch_add(bytes.len(), Ordering::Relaxed);
            read(bytes);
        })
    }
}
