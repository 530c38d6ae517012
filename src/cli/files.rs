//! The file operations of the user interface: it resolves paths, copies from files to standard
//! output, works on many files in parallel, and prints the warnings of a commit.

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

/// An item of a parallel job: a file that the job reads.
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
    /// Returns the absolute path. Symbolic links are resolved, as far as the path exists.
    pub fn resolve_path(&self, path: &Path) -> PathBuf {
        let path = self.world.folder.join(path);
        OnDisk.resolve_links(&path)
    }

    /// Returns a predicate that is true for the file of standard output.
    pub fn stdout_predicate(&self) -> &'w (dyn Fn(&File) -> bool + Sync) {
        self.world.stdout_is
    }

    /// Prints a range of bytes of `source`.
    pub fn print_range(&mut self, source: &dyn ReadAt, range: Range<u64>) -> io::Result<()> {
        match self.stdout_file()? {
            Some(file) => send_range(source, range, file),
            None => copy_range(source, range, self.stdout()),
        }
    }

    /// Prints pieces of `source`, separated by commas. If standard output is neither a file nor a
    /// pipe, prints nothing and returns false.
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

    /// Calls `work` for all items, on all processors. Passes the results to `take` in the order of
    /// the items, and shows the progress.
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
        // `take_result` never fails, so all items are processed.
        let take_result = |result| {
            take(self, result);
            Ok::<(), Infallible>(())
        };
        let Ok(()) = in_order(items, workers, work_and_advance, take_result);
    }

    /// Prints the warnings of a successful commit. If a warning says that lines may be lost, the
    /// exit code will be 4.
    pub fn report_commit_warnings(&mut self, committed: &Committed) {
        for warning in &committed.warnings {
            if warning.is_loss() {
                self.print_error(&warning.to_string())
            } else {
                self.warn(&warning.to_string())
            }
            self.has_loss |= warning.is_loss();
        }
    }
}
