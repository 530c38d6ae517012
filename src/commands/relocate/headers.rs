//! Changes headers, and changes them back.

use crate::cli::open::Input;
use crate::cli::output::Failure;
use crate::cli::transaction::{Attempted, under_lock};
use crate::ops::relocate::{HeaderChange, changed_header, write_with};
use pisess_store::{Committed, Locked, WriteOptions};
use std::io;
use std::path::PathBuf;

/// The headers that were changed, to be changed back if a later step fails.
pub struct ChangedHeaders {
    options: WriteOptions,
    changed: Vec<ChangedHeader>,
}

struct ChangedHeader {
    path: PathBuf,
    before: Vec<u8>,
    committed: Option<Committed>,
}

impl ChangedHeaders {
    pub fn new(options: WriteOptions) -> ChangedHeaders {
        ChangedHeaders {
            options,
            changed: Vec::new(),
        }
    }

    /// Returns how many headers were changed.
    pub fn len(&self) -> usize {
        self.changed.len()
    }

    /// Sets members of the header of a session. If they have these values, nothing is written.
    pub fn change(&mut self, input: &Input, changes: &[HeaderChange]) -> Result<(), Failure> {
        let mut before = Vec::new();
        let mut attempt = |grown: Option<Input>, locked: Locked| -> Attempted<()> {
            let now = grown.as_ref().unwrap_or(input);
            let header = now.header()?;
            let new = now.read(changed_header(&header, changes))?;
            if new == header.bytes {
                return Ok((None, ()));
            }
            before.clone_from(&header.bytes);
            let mut write =
                |out: &mut dyn io::Write| write_with(&header.span, &new, now.source(), out);
            let attempt = locked.carrying_growth().rewrite(None, &mut write)?;
            Ok((Some(attempt), ()))
        };
        let (committed, ()) = under_lock(input, &self.options, &mut attempt)?;
        if let (Some(committed), Some(path)) = (committed, &input.path) {
            self.changed.push(ChangedHeader {
                path: path.clone(),
                before,
                committed: Some(committed),
            });
        }
        Ok(())
    }

    /// Changes all of them back, the last one first.
    ///
    /// # Errors
    /// If one of them cannot be changed back. The others are.
    pub fn undo(self) -> Result<(), Failure> {
        let mut first_failure = None;
        for header in self.changed.iter().rev() {
            if let Err(failure) = self.put_back(header)
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

    /// Writes the header that a file had before. What was appended to the file since is kept.
    fn put_back(&self, changed: &ChangedHeader) -> Result<(), Failure> {
        let input = Input::open_path(&changed.path, &|_| false)?;
        let options = WriteOptions {
            force: true,
            ..self.options
        };
        let mut attempt = |grown: Option<Input>, locked: Locked| -> Attempted<()> {
            let now = grown.as_ref().unwrap_or(&input);
            let header = now.header()?;
            let mut write = |out: &mut dyn io::Write| {
                write_with(&header.span, &changed.before, now.source(), out)
            };
            let attempt = locked.carrying_growth().rewrite(None, &mut write)?;
            Ok((Some(attempt), ()))
        };
        under_lock(&input, &options, &mut attempt)?;
        Ok(())
    }

    /// Keeps the changes. Returns what their commits report.
    pub fn keep(self) -> Vec<Committed> {
        let changed = self.changed.into_iter();
        changed.filter_map(|header| header.committed).collect()
    }
}
