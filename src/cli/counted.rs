//! An opened session whose bytes are counted as they are read, for a progress bar.

use super::output::Progress;
use pisess_store::{Opened, ReadAt};
use std::fs::File;
use std::io;

/// What was opened, and the bar that shows how much of it was read.
pub struct CountedSource {
    pub opened: Opened,
    /// `None` if no progress is shown.
    pub progress: Option<Progress>,
}

impl CountedSource {
    /// Returns a source whose reads are not counted.
    pub fn uncounted(opened: Opened) -> CountedSource {
        CountedSource {
            opened,
            progress: None,
        }
    }

    fn source(&self) -> &dyn ReadAt {
        match &self.opened {
            Opened::File(file) => file,
            Opened::Stream(spooled) => spooled,
        }
    }
}

impl ReadAt for CountedSource {
    fn read_at(&self, buf: &mut [u8], offset: u64) -> io::Result<usize> {
        let read = self.source().read_at(buf, offset)?;
        if let Some(progress) = &self.progress {
            progress.advance_by(read);
        }
        Ok(read)
    }

    fn len(&self) -> u64 {
        self.source().len()
    }

    fn file(&self) -> Option<&File> {
        self.source().file()
    }
}
