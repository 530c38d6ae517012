//! A session to prune: writes the file beside it, then the session.

use super::branch::damaged;
use super::report::Outcome;
use super::restore::opened;
use crate::cli::ids::Ids;
use crate::cli::open::OpenSession;
use crate::cli::options::WriteArgs;
use crate::cli::output::{Exit, Failure, Ui, visible};
use crate::cli::pruned::own_path;
use crate::cli::transaction::Attempted;
use crate::format::size;
use crate::ops::archive::PRUNED;
use crate::ops::plan::copy_all;
use crate::ops::prune::{Damaged, Prune, ValueKind, above_compactions, pruned_file};
use crate::session::dialect::Dialect;
use pisess_store::{
    self as store, Archive, Attempt, Beside, Committed, Glance, Locked, SessionFile, WriteOptions,
};
use std::io;
use std::path::{Path, PathBuf};

/// Opens the file beside a session, if it exists.
pub(super) fn existing(path: &Path) -> Result<Option<SessionFile>, Failure> {
    match SessionFile::open(path) {
        Err(error) if error.kind() == Some(io::ErrorKind::NotFound) => Ok(None),
        file => Ok(Some(file?)),
    }
}

impl OpenSession {
    /// Refuses a session whose SESSION.pruned is missing, because a run of `archive` was killed
    /// that had moved it into the archive.
    pub(super) fn refuse_archived_side_file(&self, beside: &Path) -> Result<(), Failure> {
        let Some(archive) = self.input.archive() else {
            return Ok(());
        };
        if !store::is_free(beside)? {
            return Ok(());
        }
        let name = visible(&archive.to_string_lossy());
        let read = Archive::read(&Glance::open(&archive)?);
        let read = read.map_err(|error| Failure::reading(&name, error))?;
        let is_in_it = read.is_some_and(|archive| {
            let mut names = archive.members.iter().map(|member| &member.name);
            names.any(|name| name == PRUNED)
        });
        if !is_in_it {
            return Ok(());
        }
        let failure = self
            .input
            .cannot(format_args!("what was pruned from it is in {name}"));
        Err(failure.hint(format!(
            "`pisess archive --restore {name}` puts it back beside the session"
        )))
    }
}

/// What to do with a session.
pub enum Task {
    /// Prune the payloads of these kinds that take more than this many bytes.
    Payloads { over: u64, kinds: Vec<ValueKind> },
    /// Prune what no branch needs above its last compaction.
    Compacted,
    /// Prune the branch that this reference is on.
    Branch(String),
    /// Put back what was pruned.
    Restore,
}

/// A session to prune or to restore.
pub struct Job<'a> {
    pub task: Task,
    pub write: &'a WriteArgs,
    pub open: &'a OpenSession,
    /// The file that is pruned or restored.
    pub place: PathBuf,
    /// The file beside it.
    pub pruned: PathBuf,
}

impl Job<'_> {
    pub fn prune(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        self.open.refuse_archived_side_file(&self.own_side_file())?;
        self.name_dependents(ui)?;
        let (committed, outcome) = match &self.write.output {
            Some(_) => self.prune_elsewhere(ui)?,
            None => {
                self.refuse_running()?;
                self.open.under_lock(&self.options(), &mut |now, locked| {
                    self.attempt(now, locked, ui)
                })?
            }
        };
        if outcome.is_nothing() {
            ui.status(&format!("{}: {}", self.open.input.name, self.nothing()));
        }
        self.report(committed, &outcome, ui)
    }

    /// Returns the file beside the session that is read, which may be another than that of the
    /// result.
    pub(super) fn own_side_file(&self) -> PathBuf {
        match self.open.input.file() {
            Some(file) => pruned_file(&own_path(file)),
            None => self.pruned.clone(),
        }
    }

    fn nothing(&self) -> String {
        match &self.task {
            Task::Payloads { over, .. } => {
                format!("no payload is larger than {}", size(*over as usize))
            }
            Task::Compacted => "nothing above a compaction can be pruned".to_owned(),
            Task::Branch(_) | Task::Restore => "nothing to prune".to_owned(),
        }
    }

    /// Whether entries leave the session, or only payloads.
    fn removes_entries(&self) -> bool {
        matches!(self.task, Task::Branch(_) | Task::Compacted)
    }

    /// As with oh-my-pi, a process that has the file open for writing, or just wrote to it, owns
    /// it.
    fn options(&self) -> WriteOptions {
        let is_owned = self.removes_entries();
        self.write.change.options(if is_owned {
            Dialect::OhMyPi
        } else {
            self.open.session.dialect
        })
    }

    /// Refuses to remove entries of a session that an agent may have open: it would continue from
    /// one that is gone.
    fn refuse_running(&self) -> Result<(), Failure> {
        let mut cwd = None;
        if self.removes_entries() {
            let recorded = self.open.session.header.cwd.as_ref();
            cwd = recorded.map(|cwd| PathBuf::from(&*cwd.to_string_lossy()));
        }
        let folders = Vec::from_iter(cwd.as_deref());
        self.open
            .input
            .refuse_running(&folders, self.write.change.force)
    }

    /// Prunes the session under its lock: writes the file beside it, then the session. If the
    /// session cannot be written, the file beside it is what it was.
    fn attempt(&self, now: &OpenSession, locked: Locked, ui: &Ui) -> Attempted<Outcome> {
        let prune = self.find(now, ui)?;
        let outcome = Outcome::of(&prune, &now.session);
        if prune.is_empty() {
            return Ok((None, outcome));
        }
        let old = existing(&self.pruned)?;
        let replaces = old.is_some();
        let beside = self.write_pruned(now, &prune, old, replaces)?;
        let source = now.input.source();
        let pruned = prune.pruned(&now.session, source);
        let locked = if self.removes_entries() {
            locked
        } else {
            locked.carrying_growth()
        };
        let attempt = locked.rewrite(None, &mut |out| copy_all(&pruned.over(source), out))?;
        if let Attempt::Done(_) = attempt {
            beside.keep();
        }
        Ok((Some(attempt), outcome))
    }

    /// Returns what to prune from the session as it is now.
    pub(super) fn find(&self, now: &OpenSession, ui: &Ui) -> Result<Prune, Failure> {
        let source = now.input.source();
        match &self.task {
            Task::Payloads { over, kinds } => {
                let workers = now.workers();
                let found = Prune::payloads_of(&now.session, source, *over, kinds, workers);
                now.input.read(found)
            }
            Task::Compacted => {
                Damaged::check(&now.session).map_err(|error| damaged(now, error))?;
                let leaves = now.input.read(above_compactions(&now.session, source))?;
                Ids::new(ui)?.issue(ui, |fresh| {
                    now.input.read(Prune::entries_of(
                        "compacted",
                        &now.session,
                        source,
                        leaves,
                        fresh,
                    ))
                })
            }
            Task::Branch(reference) => {
                Ids::new(ui)?.issue(ui, |fresh| self.branch(now, reference, fresh))
            }
            Task::Restore => Err(now.input.cannot("it is to be restored")),
        }
    }

    /// Writes the file beside a session: the records of `old`, the file so far, that are still needed,
    /// then what is pruned now. (What a killed run wrote to it is in the session, too.) An existing
    /// file is only replaced if `replaces` is set, and if it belongs to this session.
    fn write_pruned(
        &self,
        now: &OpenSession,
        prune: &Prune,
        old: Option<SessionFile>,
        replaces: bool,
    ) -> Result<Beside, Failure> {
        match existing(&self.pruned)? {
            Some(replaced) if replaces => {
                // Fails for a file that is damaged, or belongs to another session.
                opened(now, replaced)?;
            }
            _ => {}
        }
        let old = match old {
            Some(old) => Some(opened(now, old)?),
            None => None,
        };
        let mut write = |out: &mut dyn io::Write| {
            prune.write_pruned(&now.session, now.input.source(), old.as_ref(), out)
        };
        let beside = store::create_beside(&self.pruned, now.input.file(), replaces, &mut write)?;
        Ok(beside)
    }

    /// Writes a pruned copy, whose file beside it includes what was pruned before.
    fn prune_elsewhere(&self, ui: &mut Ui) -> Result<(Option<Committed>, Outcome), Failure> {
        let prune = self.find(self.open, ui)?;
        let session = &self.open.session;
        let input = &self.open.input;
        let force = self.write.change.force;
        let pruned_before = match input.file() {
            Some(file) => existing(&pruned_file(&own_path(file)))?,
            None => None,
        };

        // The file beside the copy comes first, so that no copy is without what was pruned.
        let is_needed = pruned_before.is_some() || !prune.is_empty();
        let beside = if is_needed {
            Some(self.write_pruned(self.open, &prune, pruned_before, force)?)
        } else {
            None
        };
        let source = input.source();
        let pruned = prune.pruned(session, source);
        let written = store::create(&self.place, input.file(), force, &mut |out| {
            copy_all(&pruned.over(source), out)
        })?;
        if let Some(beside) = beside {
            ui.warn_of(&beside.keep());
        }
        Ok((Some(written), Outcome::of(&prune, session)))
    }
}
