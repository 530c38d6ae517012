//! A new file on its way: written beside its target under a name that no agent lists, then renamed.

use super::error::StoreError;
use super::files::Files;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

/// What a caller does to write a new content: any number of writes to a buffered writer.
pub(super) type Fill<'a> = dyn FnMut(&mut dyn Write) -> io::Result<()> + 'a;

/// A temporary file, removed when dropped (rule 7). It is created 0600.
pub(super) struct Temp {
    files: &'static dyn Files,
    pub path: PathBuf,
    pub file: File,
    is_placed: bool,
}

impl Temp {
    /// The name starts with a dot and does not end in `.jsonl`: agents list only visible `*.jsonl`, and
    /// oh-my-pi promotes only `*.jsonl.*.bak` (rule 2). It is short, so that any target has room for it.
    pub fn in_folder(files: &'static dyn Files, folder: &Path) -> io::Result<Temp> {
        let made = tempfile::Builder::new()
            .prefix(".pisess-")
            .suffix(".part")
            .make_in(folder, |path| files.create_new(path))?;
        let (file, path) = made.into_parts();
        let path = path.keep().map_err(|error| error.error)?;
        Ok(Temp { files, path, file, is_placed: false })
    }

    /// Lets the caller write the content; says how many bytes it was.
    pub fn fill(&mut self, path: &Path, fill: &mut Fill<'_>) -> Result<u64, StoreError> {
        let out = Out { files: self.files, file: &self.file, bytes: 0 };
        write_through(out, path, fill)
    }

    /// The name is someone else's now: the rename was done.
    pub fn placed(&mut self) {
        self.is_placed = true;
    }
}

impl Drop for Temp {
    fn drop(&mut self) {
        if !self.is_placed {
            // What cannot be removed is a hidden file that no agent looks at.
            let _ = self.files.unlink(&self.path);
        }
    }
}

/// Lets the caller write to an open file through a buffer. An error of the store that the caller got while
/// writing (its source changed) comes back as itself.
pub(super) fn write_through(out: Out<'_>, path: &Path, fill: &mut Fill<'_>) -> Result<u64, StoreError> {
    let mut buffered = BufWriter::with_capacity(128 * 1024, out);
    let filled = fill(&mut buffered).and_then(|()| buffered.flush());
    let bytes = buffered.get_ref().bytes;
    // The parts are taken, because a dropped BufWriter would write its rest once more.
    drop(buffered.into_parts());
    match filled {
        Ok(()) => Ok(bytes),
        Err(error) => {
            Err(error.downcast::<StoreError>().unwrap_or_else(|error| StoreError::io("write", path, error)))
        }
    }
}

/// Writes through the seam.
pub(super) struct Out<'a> {
    pub files: &'static dyn Files,
    pub file: &'a File,
    pub bytes: u64,
}

impl Write for Out<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.files.write(self.file, bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
