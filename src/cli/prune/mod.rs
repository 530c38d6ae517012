//! Moves payloads out of a session and back, and reports it.

mod report;
mod restore;

use self::report::Outcome;
use self::restore::found_places;
use super::open::{Input, OpenSession};
use super::options::WriteArgs;
use super::output::{Exit, Failure, Ui};
use super::transaction::{Attempted, store_options, under_lock};
use crate::format::size;
use crate::ops::prune::{Prune, Wanted, pruned_file};
use pisess_store::{self as store, Attempt, Beside, Committed, Locked, SessionFile, StoreError};
use std::path::{Path, PathBuf};

/// Returns the path as given, or with links resolved if it is a symbolic link.
pub fn own_path(file: &SessionFile) -> PathBuf {
    if file.path().is_symlink() { file.resolved().to_owned() } else { file.path().to_owned() }
}

/// Opens the file beside a session, if it exists.
fn existing(path: &Path) -> Result<Option<SessionFile>, Failure> {
    match SessionFile::open(path) {
        Err(StoreError::NotFound { .. }) => Ok(None),
        file => Ok(Some(file?)),
    }
}

/// A session to prune or to restore.
pub struct Job<'a> {
    /// Whether payloads are put back.
    pub restores: bool,
    /// The payloads to move.
    pub wanted: Wanted,
    /// Output and locking options.
    pub write: &'a WriteArgs,
    /// The session.
    pub open: &'a OpenSession,
    /// The file that is pruned or restored.
    pub place: PathBuf,
    /// The file beside it.
    pub pruned: PathBuf,
}

impl Job<'_> {
    /// Prunes the session.
    pub fn prune(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        let (committed, outcome) = match &self.write.output {
            Some(_) => self.prune_elsewhere(ui)?,
            None => {
                let options = store_options(self.write, &self.open.session);
                let mut attempt = |grown: Option<Input>, locked: Locked| self.attempt(grown, locked);
                under_lock(&self.open.input, &options, &mut attempt)?
            }
        };
        if outcome.payloads == 0 {
            ui.status(&format!(
                "{}: no payload is larger than {}",
                self.open.input.name,
                size(self.wanted.over as usize)
            ));
        }
        self.report(committed, &outcome, ui)
    }

    /// Prunes the session under its lock: writes the file beside it, then the session. If the session cannot
    /// be written, the file beside it is what it was.
    fn attempt(&self, grown: Option<Input>, locked: Locked) -> Attempted<Outcome> {
        let grown = grown.map(|input| self.open.reloaded(input)).transpose()?;
        let now = grown.as_ref().unwrap_or(self.open);
        let prune = self.find(now)?;
        let outcome = Outcome { payloads: prune.payloads.len(), bytes: prune.saved() };
        if prune.payloads.is_empty() {
            return Ok((None, outcome));
        }
        let old = existing(&self.pruned)?;
        let beside = self.write_pruned(now, &prune, old.as_ref(), old.is_some())?;
        let (session, source) = (&now.session, now.input.source());
        let attempt = locked.rewrite(None, &mut |out| prune.write_session(session, source, out))?;
        if let Attempt::Done(_) = attempt {
            beside.keep();
        }
        Ok((Some(attempt), outcome))
    }

    fn find(&self, now: &OpenSession) -> Result<Prune, Failure> {
        let prune = Prune::new(&now.session, now.input.source(), self.wanted.clone());
        prune.map_err(|error| now.input.unreadable(error))
    }

    /// Writes the lines of the file beside the session that are still needed, then the new payloads: those that a killed
    /// run wrote are in the session, too. Neither adds to a file that pisess did not write, nor replaces one.
    fn write_pruned(
        &self,
        now: &OpenSession,
        prune: &Prune,
        old: Option<&SessionFile>,
        replaces: bool,
    ) -> Result<Beside, Failure> {
        if let Some(there) = existing(&self.pruned)?.filter(|_| replaces) {
            found_places(now, &there)?;
        }
        let old = old.map(|old| Ok::<_, Failure>((old, found_places(now, old)?))).transpose()?;
        let made = store::create_beside(&self.pruned, now.input.file(), replaces, &mut |out| {
            if let Some((old, places)) = &old {
                places.write_missing(*old, out)?;
            }
            prune.write_payloads(&now.session, now.input.source(), out)
        });
        Ok(made?)
    }

    /// Writes a pruned copy, whose file of payloads includes those pruned before.
    fn prune_elsewhere(&self, ui: &mut Ui) -> Result<(Option<Committed>, Outcome), Failure> {
        let prune = self.find(self.open)?;
        let force = self.write.force;
        let old =
            self.open.input.file().map(|file| existing(&pruned_file(&own_path(file)))).transpose()?.flatten();
        let is_needed = old.is_some() || !prune.payloads.is_empty();
        let beside =
            is_needed.then(|| self.write_pruned(self.open, &prune, old.as_ref(), force)).transpose()?;
        let (session, source) = (&self.open.session, self.open.input.source());
        let written = store::create(&self.place, self.open.input.file(), force, &mut |out| {
            prune.write_session(session, source, out)
        })?;
        beside.into_iter().for_each(|beside| ui.warn_of(&beside.keep()));
        Ok((Some(written), Outcome { payloads: prune.payloads.len(), bytes: prune.saved() }))
    }
}
