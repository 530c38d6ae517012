//! `--restore`: puts back what was pruned.

use super::job::{Job, existing};
use super::report::Outcome;
use crate::cli::open::OpenSession;
use crate::cli::output::{Exit, Failure, Ui, visible};
use crate::cli::pruned::unusable;
use crate::cli::transaction::Attempted;
use crate::ops::plan::copy_all;
use crate::ops::prune::{Restore, read};
use pisess_store::{self as store, Cause, Locked, SessionFile, StoreError};
use std::io::Write;

impl Job<'_> {
    /// Restores the session in place or into another file, or (with `-n`) prints what would be put
    /// back.
    pub fn restore(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        let beside = self.own_side_file();
        self.open.refuse_archived_side_file(&beside)?;
        let Some(pruned) = existing(&beside)? else {
            ui.status(&format!("{}: nothing was pruned", self.open.input.name));
            return self.report(None, &Outcome::default(), ui);
        };
        if self.write.change.dry_run {
            let restore = self.places(self.open, pruned)?;
            self.print_restored(&restore.placed, ui)?;
            return Ok(Exit::Done);
        }
        if self.write.output.is_some() {
            return self.restore_elsewhere(pruned, ui);
        }
        self.restore_in_place(ui)
    }

    /// Writes the restored session to another file.
    fn restore_elsewhere(&self, pruned: SessionFile, ui: &mut Ui) -> Result<Exit, Failure> {
        let input = &self.open.input;
        let restore = self.places(self.open, pruned)?;
        let whole = restore.whole(input.source());
        let mut write = |out: &mut dyn Write| copy_all(&whole, out);
        let force = self.write.change.force;
        let committed = store::create(&self.place, input.file(), force, &mut write)?;
        self.report(Some(committed), &Outcome::restored(&restore.placed), ui)
    }

    /// Restores the session under its lock, then removes the file beside it, unless something in it
    /// has no place in the session.
    fn restore_in_place(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        let options = self.write.change.options(self.open.session.dialect);
        let mut unremoved = None;
        let mut attempt = |now: &OpenSession, locked: Locked| -> Attempted<Outcome> {
            // Checked under the lock, because another pisess may have pruned or restored meanwhile.
            let Some(pruned) = existing(&self.pruned)? else {
                return Ok((None, Outcome::default()));
            };
            let restore = self.places(now, pruned)?;
            let outcome = Outcome::restored(&restore.placed);
            let mut remove_side_file = || {
                if restore.lost.is_empty() {
                    unremoved = store::remove(&self.pruned).err();
                }
            };
            if outcome.is_nothing() {
                remove_side_file();
                return Ok((None, outcome));
            }

            let whole = restore.whole(now.input.source());
            let mut write = |out: &mut dyn Write| copy_all(&whole, out);
            // Removed under the lock, because another pisess may prune as soon as it is released.
            let attempt =
                locked
                    .carrying_growth()
                    .rewrite_then(None, &mut write, &mut remove_side_file)?;
            Ok((Some(attempt), outcome))
        };
        let (committed, outcome) = self.open.under_lock(&options, &mut attempt)?;
        let is_written = committed.is_some();
        let exit = self.report(committed, &outcome, ui)?;
        match unremoved {
            None => Ok(exit),
            Some(error) => Ok(exit.max(self.report_unremoved(error, is_written, ui))),
        }
    }

    /// Reports that SESSION.pruned could not be removed, although all of it is in the session.
    fn report_unremoved(&self, error: StoreError, is_written: bool, ui: &mut Ui) -> Exit {
        // It is removed, and perhaps back after a power failure.
        if let Cause::Unsynced(_) = error.cause {
            ui.warn(&error.to_string());
            return Exit::Done;
        }
        let failure = Failure::from(error);
        if !is_written {
            return ui.report(&failure);
        }
        let name = visible(&self.place.to_string_lossy());
        let failure = failure.after_writing(&name);
        ui.report(&failure.hint("the session is whole; remove that file, or repeat the command"))
    }

    /// Returns what is to be restored; fails if something has no place, unless --force is given.
    fn places(&self, now: &OpenSession, pruned: SessionFile) -> Result<Restore, Failure> {
        let name = visible(&pruned.path().to_string_lossy());
        let restore = opened(now, pruned)?;
        if self.write.change.force {
            return Ok(restore);
        }
        let Some((id, field)) = restore.lost.first() else {
            return Ok(restore);
        };
        let lost = match restore.lost.len() {
            1 => format!("a placeholder for {name} is not"),
            count => format!("{count} placeholders for {name} are not"),
        };
        let failure = now.input.cannot(format_args!(
            "{lost} in the session, such as {field} of {id}"
        ));
        Err(failure.hint("--force puts the others back and keeps SESSION.pruned"))
    }
}

/// Reads the file beside a session, and finds where its content belongs.
///
/// # Errors
/// If it is damaged, or belongs to another session.
pub fn opened(now: &OpenSession, pruned: SessionFile) -> Result<Restore, Failure> {
    let operations =
        read(&pruned, &now.session.header.id).map_err(|error| unusable(pruned.path(), error))?;
    now.input.read(Restore::new(
        &now.session,
        now.input.source(),
        operations,
        Box::new(pruned),
    ))
}
