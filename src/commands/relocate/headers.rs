//! Changes the headers of sessions, and can undo these changes.

use crate::cli::open::Input;
use crate::cli::output::Failure;
use crate::cli::transaction::{AttemptResult, ChangeAttempt, attempt_under_lock};
use crate::ops::relocate::{HeaderChange, apply_header_changes, write_with_header};
use crate::session::entry::Span;
use pisess_store::{Attempt, Committed, Locked, WriteOptions};
use std::fs::File;
use std::io;
use std::path::PathBuf;

/// The headers that were changed so far. They are changed back if a later step fails.
pub struct ChangedHeaders {
    options: WriteOptions,
    changed: Vec<ChangedHeader>,
}

/// A header that was changed, with its content before.
struct ChangedHeader {
    path: PathBuf,
    old_bytes: Vec<u8>,
    committed: Committed,
}

impl ChangedHeaders {
    pub fn new(options: WriteOptions) -> ChangedHeaders {
        ChangedHeaders {
            options,
            changed: Vec::new(),
        }
    }

    /// Returns the number of changed headers.
    pub fn len(&self) -> usize {
        self.changed.len()
    }

    /// Sets members of a session's header, under the session's lock. Writes nothing if they have
    /// these values already. Lines that other processes append meanwhile are kept.
    pub fn change_header(
        &mut self,
        input: &Input,
        changes: &[HeaderChange],
    ) -> Result<(), Failure> {
        // The value of the attempt is the old header.
        let mut change = |grown_input: Option<Input>, locked: Locked| -> AttemptResult<Vec<u8>> {
            // If the file has grown since it was opened, the header is read from the grown file.
            let locked_input = grown_input.as_ref().unwrap_or(input);
            let header = locked_input.read_header()?;
            let new_bytes = locked_input.map_read_error(apply_header_changes(&header, changes))?;
            if new_bytes == header.bytes {
                return Ok(ChangeAttempt::nothing_to_do(header.bytes));
            }
            let commit = replace_header(&header.span, &new_bytes, locked_input, locked)?;
            Ok(ChangeAttempt::with_commit(commit, header.bytes))
        };
        let (committed, old_bytes) = attempt_under_lock(input, &self.options, &mut change)?;
        if let (Some(committed), Some(path)) = (committed, &input.path) {
            self.changed.push(ChangedHeader {
                path: path.clone(),
                old_bytes,
                committed,
            });
        }
        Ok(())
    }

    /// Changes all headers back, the last one first.
    ///
    /// # Errors
    /// The first failure of a header that cannot be changed back. It does not stop the others.
    pub fn undo_all(self) -> Result<(), Failure> {
        let mut first_failure = None;
        for header in self.changed.iter().rev() {
            if let Err(failure) = self.restore_header(header)
                && first_failure.is_none()
            {
                first_failure = Some(failure);
            }
        }
        match first_failure {
            None => Ok(()),
            Some(failure) => Err(failure),
        }
    }

    /// Writes the old header of a file again. Lines that were appended meanwhile are kept.
    fn restore_header(&self, changed: &ChangedHeader) -> Result<(), Failure> {
        // A session that is standard output cannot be opened. That was checked before the header
        // was changed, so it is not checked again.
        let is_stdout = |_: &File| false;
        let input = Input::open_path(&changed.path, &is_stdout)?;
        let options = WriteOptions {
            // The file was just written to, so an agent seems to have it open.
            force: true,
            ..self.options
        };
        // `grown_input` is the file as it is now, if lines were appended since it was opened.
        let mut restore = |grown_input: Option<Input>, locked: Locked| -> AttemptResult<()> {
            let locked_input = grown_input.as_ref().unwrap_or(&input);
            let header = locked_input.read_header()?;
            let commit = replace_header(&header.span, &changed.old_bytes, locked_input, locked)?;
            let no_value = ();
            Ok(ChangeAttempt::with_commit(commit, no_value))
        };
        attempt_under_lock(&input, &options, &mut restore)?;
        Ok(())
    }

    /// Keeps the changes, and returns their commits.
    pub fn keep(self) -> Vec<Committed> {
        let changed = self.changed.into_iter();
        changed.map(|header| header.committed).collect()
    }
}

/// Rewrites a locked session with `new_header` in place of the header at `header_span`. Lines that
/// other processes append meanwhile follow the rewritten ones, because no line depends on the
/// header.
fn replace_header(
    header_span: &Span,
    new_header: &[u8],
    input: &Input,
    locked: Locked,
) -> Result<Attempt, Failure> {
    let mut write =
        |out: &mut dyn io::Write| write_with_header(header_span, new_header, input.source(), out);
    let backup = None;
    Ok(locked.carrying_growth().rewrite(backup, &mut write)?)
}
