//! `--restore`: restores what was pruned.

use super::job::PruneJob;
use super::report::PruneOutcome;
use crate::cli::open::OpenSession;
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::cli::pruned::open_if_exists;
use crate::cli::pruned::pruned_failure;
use crate::cli::transaction::{AttemptResult, ChangeAttempt};
use crate::ops::plan::copy_all;
use crate::ops::prune::{
    OriginalSession, Restoration, SessionDigest, UnplacedRecord, read_pruned_file,
};
use pisess_store::{self as store, Cause, Committed, Locked, ReadAt, SessionFile, StoreError};
use std::io::Write;

/// The result of restoring a session in place.
#[derive(Default)]
pub struct RestoredInPlace {
    /// The commit of the session; `None` if nothing was written.
    pub committed: Option<Committed>,
    pub outcome: PruneOutcome,
    /// The session before it was pruned, if the restored session is known to begin with it.
    pub original: Option<OriginalSession>,
    /// The error if SESSION.pruned could not be removed.
    pub removal_error: Option<StoreError>,
}

/// What a restore in place would do.
pub struct PlannedRestore {
    pub outcome: PruneOutcome,
    /// The number of bytes that the session would have.
    pub size_after: u64,
}

impl PruneJob<'_> {
    /// Restores the session in place, or into another file. With `-n`, prints the parts that would
    /// be restored.
    pub fn restore(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        let side_file = self.source_side_file();
        self.open.refuse_archived_side_file(&side_file)?;
        let Some(pruned) = open_if_exists(&side_file)? else {
            ui.print_status(&format!("{}: nothing was pruned", self.open.input.name));
            return self.report_outcome(None, &PruneOutcome::default(), ui);
        };
        if self.write.change.dry_run {
            self.refuse_in_dry_run()?;
            let restoration = self.plan_restore(self.open, pruned)?;
            self.print_restored(&restoration.restored_records, ui)?;
            return Ok(Exit::Done);
        }
        if self.write.output.is_some() {
            return self.restore_elsewhere(pruned, ui);
        }
        self.restore_in_place(ui)
    }

    /// Restores the session in place, without printing. Does nothing if nothing was pruned.
    pub fn restore_session(&self) -> Result<RestoredInPlace, Failure> {
        self.open.refuse_archived_side_file(&self.side_file)?;
        if open_if_exists(&self.side_file)?.is_none() {
            return Ok(RestoredInPlace::default());
        }
        self.restore_under_lock()
    }

    /// Plans a restore in place, for `-n`. Fails if the real run would be refused.
    ///
    /// Without SESSION.pruned, nothing was pruned: then there is nothing to restore, and nothing to
    /// refuse.
    pub fn plan_restore_outcome(&self) -> Result<PlannedRestore, Failure> {
        let source = self.open.input.source();
        self.open.refuse_archived_side_file(&self.side_file)?;
        let Some(pruned) = open_if_exists(&self.side_file)? else {
            return Ok(PlannedRestore {
                outcome: PruneOutcome::default(),
                size_after: source.len(),
            });
        };
        self.refuse_in_dry_run()?;
        let restoration = self.plan_restore(self.open, pruned)?;
        Ok(PlannedRestore {
            outcome: PruneOutcome::from_restored(&restoration.restored_records),
            size_after: restoration.restored_file(source).len(),
        })
    }

    /// Writes the restored session to the file of `-o`, which is [`PruneJob::target`]. The session
    /// and `pruned`, its SESSION.pruned, stay as they are.
    fn restore_elsewhere(&self, pruned: SessionFile, ui: &mut Ui) -> Result<Exit, Failure> {
        let input = &self.open.input;
        let restoration = self.plan_restore(self.open, pruned)?;
        let original = input.map_read_error(restoration.verify_original(input.source()))?;
        let whole = restoration.restored_file(input.source());
        let mut write = |out: &mut dyn Write| copy_all(&whole, out);
        let force = self.write.change.force;
        let committed = store::create(&self.target, input.protected_file(), force, &mut write)?;

        let outcome = PruneOutcome::from_restored(&restoration.restored_records);
        let exit = self.report_outcome(Some(committed), &outcome, ui)?;
        self.report_original(original.as_ref(), ui);
        Ok(exit)
    }

    /// Restores the session in place, and reports the result. A failure to remove SESSION.pruned is
    /// reported, too: at that time, the session is restored.
    fn restore_in_place(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        let restored = self.restore_under_lock()?;
        let is_written = restored.committed.is_some();
        let exit = self.report_outcome(restored.committed, &restored.outcome, ui)?;
        self.report_original(restored.original.as_ref(), ui);
        match restored.removal_error {
            None => Ok(exit),
            Some(error) => Ok(exit.max(self.report_unremoved(error, is_written, ui))),
        }
    }

    /// Restores the session under its lock, and then removes SESSION.pruned. That file is kept if
    /// one of its values has no place in the session.
    ///
    /// The file is removed once the session is rewritten, so that no value is ever in neither; and
    /// before the lock is released, because another pisess may then prune the session, and write a
    /// new file of this name. A failure to remove it is returned as `removal_error`, because the
    /// session is restored all the same.
    fn restore_under_lock(&self) -> Result<RestoredInPlace, Failure> {
        let mut attempt =
            |locked_open: &OpenSession, locked| self.restore_locked(locked_open, locked);
        let (committed, restored) = self
            .open
            .attempt_under_lock(&self.write_options(), &mut attempt)?;
        Ok(RestoredInPlace {
            committed,
            ..restored
        })
    }

    /// Restores the locked session, and then removes SESSION.pruned, the file beside it that has
    /// the pruned values. A failure to remove that file is a part of the result: the session is
    /// restored.
    fn restore_locked(
        &self,
        locked_open: &OpenSession,
        locked: Locked,
    ) -> AttemptResult<RestoredInPlace> {
        // The file is looked up under the lock, because another pisess may have pruned or restored
        // meanwhile.
        let Some(pruned) = open_if_exists(&self.side_file)? else {
            return Ok(ChangeAttempt::nothing_to_do(RestoredInPlace::default()));
        };
        let restoration = self.plan_restore(locked_open, pruned)?;
        let outcome = PruneOutcome::from_restored(&restoration.restored_records);
        // A killed restore may have left SESSION.pruned behind, although the session is whole.
        if outcome.is_empty() {
            return Ok(ChangeAttempt::nothing_to_do(RestoredInPlace {
                removal_error: self.remove_restored_file(&restoration),
                ..RestoredInPlace::default()
            }));
        }

        let source = locked_open.input.source();
        let original = restoration.verify_original(source);
        let original = locked_open.input.map_read_error(original)?;
        let whole = restoration.restored_file(source);
        let mut write = |out: &mut dyn Write| copy_all(&whole, out);
        let backup = None;
        // Called after the rewrite, with the lock still held.
        let mut removal_error = None;
        let mut remove_side_file = || removal_error = self.remove_restored_file(&restoration);
        // Agents do not use the lock: lines that they append meanwhile are kept.
        let locked = locked.carrying_growth();
        let commit = locked.rewrite_then(backup, &mut write, &mut remove_side_file)?;
        let restored = RestoredInPlace {
            outcome,
            original,
            removal_error,
            ..RestoredInPlace::default()
        };
        Ok(ChangeAttempt::with_commit(commit, restored))
    }

    /// Removes SESSION.pruned, unless one of its values has no place in the session: such a value
    /// is in no file but this one. Returns the error if the file cannot be removed.
    fn remove_restored_file(&self, restoration: &Restoration) -> Option<StoreError> {
        let is_needed = !restoration.unplaced.is_empty();
        if is_needed {
            return None;
        }
        store::remove(&self.side_file).err()
    }

    /// Reports that the restored session is the one that was pruned. Reports nothing if that is not
    /// known.
    fn report_original(&self, original: Option<&OriginalSession>, ui: &mut Ui) {
        let Some(OriginalSession {
            digest,
            appended_bytes,
        }) = original
        else {
            return;
        };
        if self.write.change.json {
            return;
        }
        let SessionDigest { bytes, sha256 } = digest;
        // `appended_bytes` lacks what an agent appended while the session was rewritten. The report
        // is true all the same: the session still begins with the same bytes.
        let report = if *appended_bytes == 0 {
            format!("the file from before the prune is back: {bytes} bytes, sha256 {sha256}")
        } else {
            format!(
                "the first {bytes} bytes are the file as it was before the prune, sha256 {sha256}; {appended_bytes} bytes were appended since"
            )
        };
        ui.print_status(&report);
    }

    /// Reports that SESSION.pruned could not be removed, although everything in it is in the
    /// session. Returns the resulting exit code. `is_written` is whether this run changed the
    /// session.
    pub fn report_unremoved(&self, error: StoreError, is_written: bool, ui: &mut Ui) -> Exit {
        // The file is removed, but may reappear after a power failure.
        if let Cause::Unsynced(_) = error.cause {
            ui.warn(&error.to_string());
            return Exit::Done;
        }
        let failure = Failure::from(error);
        if !is_written {
            return ui.report_failure(&failure);
        }
        let name = to_visible(&self.target.to_string_lossy());
        let failure = failure.after_writing(&name);
        ui.report_failure(
            &failure.with_hint("the session is whole; remove that file, or repeat the command"),
        )
    }

    /// Returns what is to be restored from `pruned`, the file SESSION.pruned. If the placeholder of
    /// a pruned value is missing, the value has no place in the session: then fails, unless
    /// `--force` is given. The failure names the first such value.
    fn plan_restore(
        &self,
        open: &OpenSession,
        pruned: SessionFile,
    ) -> Result<Restoration, Failure> {
        let side_file_name = to_visible(&pruned.path().to_string_lossy());
        let restoration = read_side_file(open, pruned)?;
        let is_forced = self.write.change.force;
        match restoration.unplaced.first() {
            Some(first) if !is_forced => {
                let count = restoration.unplaced.len();
                Err(unplaced_failure(open, &side_file_name, first, count))
            }
            _ => Ok(restoration),
        }
    }
}

/// Returns the failure for `count` pruned values that have no place in the session. The failure
/// names the `first` of them.
fn unplaced_failure(
    open: &OpenSession,
    side_file_name: &str,
    first: &UnplacedRecord,
    count: usize,
) -> Failure {
    let UnplacedRecord { entry_id, field } = first;
    let placeholders_are = match count {
        1 => format!("a placeholder for {side_file_name} is"),
        _ => format!("{count} placeholders for {side_file_name} are"),
    };
    let failure = open.input.failure(format_args!(
        "{placeholders_are} not in the session, such as {field} of {entry_id}"
    ));
    failure.with_hint("--force puts the others back and keeps SESSION.pruned")
}

/// Reads SESSION.pruned, and finds the place of each of its values in the session.
///
/// # Errors
/// If the file is damaged, or belongs to another session.
pub fn read_side_file(open: &OpenSession, pruned: SessionFile) -> Result<Restoration, Failure> {
    let operations = read_pruned_file(&pruned, &open.session.header.id)
        .map_err(|error| pruned_failure(pruned.path(), error))?;
    open.input.map_read_error(Restoration::new(
        &open.session,
        open.input.source(),
        operations,
        Box::new(pruned),
    ))
}
