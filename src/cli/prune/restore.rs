//! `--restore`: puts the payloads back.

use super::report::Outcome;
use super::{Job, existing, own_path};
use crate::cli::open::{Input, OpenSession};
use crate::cli::output::{Exit, Failure, Ui, visible};
use crate::cli::transaction::{Attempted, store_options, under_lock};
use crate::ops::prune::{Restore, RestoreError, find_places, pruned_file};
use pisess_store::{self as store, Attempt, Locked, SessionFile};

impl Job<'_> {
    /// Restores the session, or prints which payloads would be put back.
    pub fn restore(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        let file = self.open.input.file();
        let source_of_payloads =
            file.map_or_else(|| self.pruned.clone(), |file| pruned_file(&own_path(file)));
        let Some(pruned) = existing(&source_of_payloads)? else {
            ui.status(&format!("{}: nothing was pruned", self.open.input.name));
            return self.report(None, &Outcome::default(), ui);
        };
        if self.write.dry_run {
            let restore = self.places(self.open, &pruned)?;
            let payloads = restore.places().map(|(entry, field)| (entry, field, None));
            return self.print_rows(payloads, ui).map(|()| Exit::Done);
        }
        if self.write.output.is_some() {
            let restore = self.places(self.open, &pruned)?;
            let committed = store::create(&self.place, file, self.write.force, &mut |out| {
                restore.write_session(&self.open.session, self.open.input.source(), &pruned, out)
            })?;
            return self.report(Some(committed), &Outcome { payloads: restore.count(), bytes: 0 }, ui);
        }
        let options = store_options(self.write, &self.open.session);
        let mut unremoved = None;
        let mut remove = |is_whole: bool| {
            if is_whole {
                unremoved = store::remove(&self.pruned).err();
            }
        };
        let mut attempt = |grown: Option<Input>, locked: Locked| -> Attempted<Outcome> {
            let grown = grown.map(|input| self.open.reloaded(input)).transpose()?;
            let now = grown.as_ref().unwrap_or(self.open);
            // Checked under the lock, because another pisess may have pruned or restored meanwhile.
            let Some(pruned) = existing(&self.pruned)? else {
                return Ok((None, Outcome::default()));
            };
            let restore = self.places(now, &pruned)?;
            let outcome = Outcome { payloads: restore.count(), bytes: 0 };
            let is_whole = restore.lost.is_empty();
            if restore.count() == 0 {
                remove(is_whole);
                return Ok((None, outcome));
            }
            let (session, source) = (&now.session, now.input.source());
            // Under the lock, because another pisess may prune as soon as it is released.
            let attempt: Attempt = locked.rewrite_then(
                None,
                &mut |out| restore.write_session(session, source, &pruned, out),
                &mut || remove(is_whole),
            )?;
            Ok((Some(attempt), outcome))
        };
        let (committed, outcome) = under_lock(&self.open.input, &options, &mut attempt)?;
        if let Some(error) = unremoved {
            ui.warn(&error.to_string());
        }
        self.report(committed, &outcome, ui)
    }

    /// Returns the places of all payloads; fails if one has none, unless --force is given.
    fn places(&self, now: &OpenSession, pruned: &SessionFile) -> Result<Restore, Failure> {
        let restore = found_places(now, pruned)?;
        let name = visible(&pruned.path().to_string_lossy());
        match restore.lost.first().filter(|_| !self.write.force) {
            None => Ok(restore),
            Some((id, field)) => Err(now
                .input
                .cannot(format_args!(
                    "{}, such as {field} of {id}",
                    match restore.lost.len() {
                        1 => format!("a placeholder for {name} is not in the session"),
                        count => format!("{count} placeholders for {name} are not in the session"),
                    }
                ))
                .hint("--force puts the others back and keeps SESSION.pruned")),
        }
    }
}

/// Returns the places of all payloads that have one.
pub fn found_places(now: &OpenSession, pruned: &SessionFile) -> Result<Restore, Failure> {
    let name = visible(&pruned.path().to_string_lossy());
    find_places(&now.session, now.input.source(), pruned).map_err(|error| match error {
        RestoreError::Io(error) => Failure::reading(&name, error),
        RestoreError::NotAPayload { line } => {
            Failure::cannot(format_args!("{name}:{}: {error}", line.0)).path(&name).on_line(line.0)
        }
    })
}
