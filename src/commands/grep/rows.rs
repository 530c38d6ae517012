//! The rows of a session, collected until they are printed.

use pisess_json::text::Text;
use pisess_store::{ReadAt, SpoolWriter, Spooled, StoreError, copy_range};
use std::io::{self, Write};

/// The number of bytes of rows from which on they are moved to the spool.
const MAX_UNSPOOLED: usize = 256 * 1024;

/// The rows of a session so far. With whole texts, they may be as long as the session: then most of
/// them are in a temporary file.
#[derive(Default)]
pub struct Rows {
    /// The rows before `bytes`; `None` if there are none.
    spool: Option<SpoolWriter>,
    /// The last rows.
    pub bytes: Vec<u8>,
    /// The id of the entry in the last row; `None` if there is no row.
    pub last_id: Option<Text<'static>>,
    /// The error of the spool, if it could not be written. No further rows are kept then.
    failure: Option<StoreError>,
}

impl Rows {
    pub fn is_empty(&self) -> bool {
        self.spool.is_none() && self.bytes.is_empty()
    }

    pub fn has_failed(&self) -> bool {
        self.failure.is_some()
    }

    /// Moves the last rows to the spool, if they are long. To be called after each row.
    pub fn limit_memory(&mut self) {
        if self.bytes.len() < MAX_UNSPOOLED {
            return;
        }
        if self.failure.is_none() {
            let spool = self.spool.get_or_insert_default();
            self.failure = spool.append(&self.bytes).err();
        }
        self.bytes.clear();
    }

    /// Returns the rows for printing.
    ///
    /// # Errors
    /// If the temporary file could not be written.
    pub fn finish(self) -> Result<FinishedRows, StoreError> {
        if let Some(failure) = self.failure {
            return Err(failure);
        }
        let spooled = match self.spool {
            Some(spool) => Some(spool.finish()?),
            None => None,
        };
        Ok(FinishedRows {
            spooled,
            bytes: self.bytes,
        })
    }
}

/// All rows of a session.
#[derive(Debug)]
pub struct FinishedRows {
    /// The rows before `bytes`; `None` if there are none.
    spooled: Option<Spooled>,
    bytes: Vec<u8>,
}

impl FinishedRows {
    pub fn is_empty(&self) -> bool {
        self.spooled.is_none() && self.bytes.is_empty()
    }

    pub fn write_to(&self, out: &mut dyn Write) -> io::Result<()> {
        if let Some(spooled) = &self.spooled {
            copy_range(spooled, 0..spooled.len(), out)?;
        }
        out.write_all(&self.bytes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_rows_are_spooled_in_order() {
        let mut rows = Rows::default();
        let mut expected = Vec::new();
        for number in 0..40 {
            let row = format!("{number}:{}\n", "x".repeat(MAX_UNSPOOLED / 4));
            rows.bytes.extend_from_slice(row.as_bytes());
            expected.extend_from_slice(row.as_bytes());
            rows.limit_memory();
            assert!(rows.bytes.len() < MAX_UNSPOOLED);
            assert!(!rows.is_empty());
        }
        let finished = rows.finish().unwrap();
        let mut printed = Vec::new();
        finished.write_to(&mut printed).unwrap();
        assert!(printed == expected);
    }
}
