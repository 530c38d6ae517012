//! What the user interface does with files: paths, what is copied from them to standard output, the
//! warnings of a commit.

use super::output::Ui;
use crate::load::is_small;
use crate::ops::list::FamilyFile;
use pisess_store::workers::in_order;
use pisess_store::{
    Committed, Disk, FoundFile, OnDisk, Piece, ReadAt, copy_range, send_pieces, send_range,
};
use std::convert::Infallible;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// An item of a parallel job, which reads a file.
pub trait FileItem {
    /// The path of the file.
    fn path(&self) -> &Path;
}

impl FileItem for PathBuf {
    fn path(&self) -> &Path {
        self
    }
}

impl FileItem for FoundFile {
    fn path(&self) -> &Path {
        &self.path
    }
}

impl FileItem for FamilyFile {
    fn path(&self) -> &Path {
        &self.file.path
    }
}

impl<'w> Ui<'w> {
    /// Returns the absolute path, with symbolic links resolved as far as the path exists.
    pub fn resolve_path(&self, path: &Path) -> PathBuf {
        let path = self.world.folder.join(path);
        OnDisk.resolve_links(&path)
    }

    /// Returns a function that checks whether a file is standard output.
    pub fn stdout_predicate(&self) -> &'w (dyn Fn(&File) -> bool + Sync) {
        self.world.stdout_is
    }

    /// Prints a range of bytes of a source.
    pub fn print_range(&mut self, source: &dyn ReadAt, range: Range<u64>) -> io::Result<()> {
        match self.stdout_file()? {
            Some(file) => send_range(source, range, file),
            None => copy_range(source, range, self.stdout()),
        }
    }

    /// Prints pieces of a source, with commas between them. Returns whether standard output is a
    /// file or a pipe; otherwise, prints nothing.
    pub fn try_print_pieces<'p>(
        &mut self,
        source: &dyn ReadAt,
        pieces: impl Iterator<Item = Piece<'p>> + Send,
    ) -> io::Result<bool> {
        let Some(file) = self.stdout_file()? else {
            return Ok(false);
        };
        let workers = if is_small(source.len()) {
            1
        } else {
            self.processor_count()
        };
        send_pieces(source, pieces, b",", workers, file).map(|()| true)
    }

    /// Does `work` on all processors, and passes the results to `take` in the order of the items.
    /// Progress is shown.
    pub fn map_in_parallel<I: FileItem + Send, T: Send>(
        &mut self,
        items: Vec<I>,
        work: impl Fn(I) -> T + Sync,
        mut take: impl FnMut(&mut Self, T),
    ) {
        let progress = self.start_progress(&items);
        let workers = self.processor_count().min(items.len()).max(1);
        let work_and_advance = |item| {
            let result = work(item);
            progress.advance();
            result
        };
        // The receiver never ends the work early.
        let take_result = |result| {
            take(self, result);
            Ok::<(), Infallible>(())
        };
        let Ok(()) = in_order(items, workers, work_and_advance, take_result);
    }

    /// Prints the warnings of a successful commit. One about lines that may be missing makes the
    /// exit code 4.
    pub fn report_commit_warnings(&mut self, committed: &Committed) {
        for warning in &committed.troubles {
            if warning.is_loss() {
                self.print_error(&warning.to_string())
            } else {
                self.warn(&warning.to_string())
            }
            self.has_loss |= warning.is_loss();
        }
    }
}
