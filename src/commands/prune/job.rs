//! A session to prune: writes the file beside it, then the session.

use super::branch::damaged_failure;
use super::report::PruneOutcome;
use super::restore::read_side_file;
use crate::cli::ids::Ids;
use crate::cli::open::OpenSession;
use crate::cli::options::WriteArgs;
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::cli::pruned::session_own_path;
use crate::cli::transaction::AttemptResult;
use crate::format::format_bytes;
use crate::ops::archive::PRUNED;
use crate::ops::plan::copy_all;
use crate::ops::prune::{PruneBlocker, PrunePlan, ValueKind, find_compacted_entries, pruned_file};
use crate::session::dialect::Dialect;
use pisess_store::{
    self as store, Archive, Attempt, Beside, Committed, Glance, Locked, SessionFile, WriteOptions,
};
use std::io;
use std::path::{Path, PathBuf};

/// Opens the file beside a session, if it exists.
pub(super) fn open_if_exists(path: &Path) -> Result<Option<SessionFile>, Failure> {
    match SessionFile::open(path) {
        Err(error) if error.kind() == Some(io::ErrorKind::NotFound) => Ok(None),
        file => Ok(Some(file?)),
    }
}

impl OpenSession {
    /// Refuses a session whose SESSION.pruned is missing, because a run of `archive` was killed
    /// that had moved it into the archive.
    pub(super) fn refuse_archived_side_file(&self, beside: &Path) -> Result<(), Failure> {
        let Some(archive) = self.input.find_leftover_archive() else {
            return Ok(());
        };
        if !store::is_free(beside)? {
            return Ok(());
        }
        let name = to_visible(&archive.to_string_lossy());
        let read = Archive::read(&Glance::open(&archive)?);
        let read = read.map_err(|error| Failure::from_read_error(&name, error))?;
        let is_in_it = read.is_some_and(|archive| {
            let mut names = archive.members.iter().map(|member| &member.name);
            names.any(|name| name == PRUNED)
        });
        if !is_in_it {
            return Ok(());
        }
        let failure = self
            .input
            .failure(format_args!("what was pruned from it is in {name}"));
        Err(failure.with_hint(format!(
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
pub struct PruneJob<'a> {
    pub task: Task,
    pub write: &'a WriteArgs,
    pub open: &'a OpenSession,
    /// The file that is pruned or restored.
    pub target: PathBuf,
    /// The file beside it.
    pub side_file: PathBuf,
}

impl PruneJob<'_> {
    pub fn prune(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        self.open
            .refuse_archived_side_file(&self.source_side_file())?;
        self.report_dependents(ui)?;
        let (committed, outcome) = match &self.write.output {
            Some(_) => self.prune_elsewhere(ui)?,
            None => {
                self.refuse_running()?;
                self.open
                    .attempt_under_lock(&self.write_options(), &mut |locked_open, locked| {
                        self.prune_locked(locked_open, locked, ui)
                    })?
            }
        };
        if outcome.is_empty() {
            ui.print_status(&format!(
                "{}: {}",
                self.open.input.name,
                self.nothing_message()
            ));
        }
        self.report_outcome(committed, &outcome, ui)
    }

    /// Returns the file beside the session that is read, which may be another than that of the
    /// result.
    pub(super) fn source_side_file(&self) -> PathBuf {
        match self.open.input.file() {
            Some(file) => pruned_file(&session_own_path(file)),
            None => self.side_file.clone(),
        }
    }

    fn nothing_message(&self) -> String {
        match &self.task {
            Task::Payloads { over, .. } => {
                format!("no payload is larger than {}", format_bytes(*over as usize))
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
    fn write_options(&self) -> WriteOptions {
        let is_owned = self.removes_entries();
        self.write.change.write_options(if is_owned {
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
            .refuse_running_agent(&folders, self.write.change.force)
    }

    /// Prunes the session under its lock: writes the file beside it, then the session. If the
    /// session cannot be written, the file beside it is what it was.
    fn prune_locked(
        &self,
        locked_open: &OpenSession,
        locked: Locked,
        ui: &Ui,
    ) -> AttemptResult<PruneOutcome> {
        let prune = self.find_prunable(locked_open, ui)?;
        let outcome = PruneOutcome::from_prune(&prune, &locked_open.session);
        if prune.is_empty() {
            return Ok((None, outcome));
        }
        let old = open_if_exists(&self.side_file)?;
        let replaces = old.is_some();
        let new_side_file = self.write_pruned(locked_open, &prune, old, replaces)?;
        let source = locked_open.input.source();
        let pruned = prune.build_pruned_session(&locked_open.session, source);
        let locked = if self.removes_entries() {
            locked
        } else {
            locked.carrying_growth()
        };
        let mut attempt =
            locked.rewrite(None, &mut |out| copy_all(&pruned.with_source(source), out))?;
        if let Attempt::Done(committed) = &mut attempt {
            committed.troubles.extend(new_side_file.keep().troubles);
        }
        Ok((Some(attempt), outcome))
    }

    /// Returns what to prune from the session as it is now.
    pub(super) fn find_prunable(&self, open: &OpenSession, ui: &Ui) -> Result<PrunePlan, Failure> {
        let source = open.input.source();
        match &self.task {
            Task::Payloads { over, kinds } => {
                let workers = open.worker_count();
                let found = PrunePlan::from_payloads(&open.session, source, *over, kinds, workers);
                open.input.map_read_error(found)
            }
            Task::Compacted => {
                PruneBlocker::check(&open.session).map_err(|error| damaged_failure(open, error))?;
                let leaves = open
                    .input
                    .map_read_error(find_compacted_entries(&open.session, source))?;
                Ids::new(ui)?.with_id_source(ui, |fresh| {
                    open.input.map_read_error(PrunePlan::from_entries(
                        "compacted",
                        &open.session,
                        source,
                        leaves,
                        fresh,
                    ))
                })
            }
            Task::Branch(reference) => Ids::new(ui)?
                .with_id_source(ui, |fresh| self.prune_of_branch(open, reference, fresh)),
            Task::Restore => Err(open.input.failure("it is to be restored")),
        }
    }

    /// Writes the file beside a session: the records of `old`, the file so far, that are still
    /// needed, then what is pruned now. (What a killed run wrote to it is in the session, too.) An
    /// existing file is only replaced if `replaces` is set, and if it belongs to this session.
    fn write_pruned(
        &self,
        open: &OpenSession,
        prune: &PrunePlan,
        old_side_file: Option<SessionFile>,
        may_replace: bool,
    ) -> Result<Beside, Failure> {
        match open_if_exists(&self.side_file)? {
            Some(replaced) if may_replace => {
                // Fails for a file that is damaged, or belongs to another session.
                read_side_file(open, replaced)?;
            }
            _ => {}
        }
        let old = match old_side_file {
            Some(old) => Some(read_side_file(open, old)?),
            None => None,
        };
        let mut write = |out: &mut dyn io::Write| {
            prune.write_pruned(&open.session, open.input.source(), old.as_ref(), out)
        };
        let beside =
            store::create_beside(&self.side_file, open.input.file(), may_replace, &mut write)?;
        Ok(beside)
    }

    /// Writes a pruned copy, whose file beside it includes what was pruned before.
    fn prune_elsewhere(&self, ui: &mut Ui) -> Result<(Option<Committed>, PruneOutcome), Failure> {
        let prune = self.find_prunable(self.open, ui)?;
        let session = &self.open.session;
        let input = &self.open.input;
        let force = self.write.change.force;
        let pruned_before = match input.file() {
            Some(file) => open_if_exists(&pruned_file(&session_own_path(file)))?,
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
        let pruned = prune.build_pruned_session(session, source);
        let written = store::create(&self.target, input.file(), force, &mut |out| {
            copy_all(&pruned.with_source(source), out)
        })?;
        if let Some(beside) = beside {
            ui.report_commit_warnings(&beside.keep());
        }
        Ok((Some(written), PruneOutcome::from_prune(&prune, session)))
    }
}
