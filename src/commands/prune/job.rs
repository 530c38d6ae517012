//! Prunes one session: writes the file beside it, and then the session.

use super::branch::{choose_branch, damaged_failure};
use super::report::PruneOutcome;
use super::restore::read_side_file;
use super::secrets::{SecretScope, plan_secrets};
use crate::cli::ids::Ids;
use crate::cli::open::OpenSession;
use crate::cli::options::WriteArgs;
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::cli::process::command_line::quote_word;
use crate::cli::pruned::{open_if_exists, session_own_path};
use crate::cli::shared_secrets::SharedSecrets;
use crate::cli::transaction::{
    AttemptResult, ChangeAttempt, refuse_in_dry_run, refuse_output_in_dry_run,
};
use crate::format::format_bytes;
use crate::ops::archive::PRUNED;
use crate::ops::plan::{Action, copy_all};
use crate::ops::prune::{
    MIN_LENGTH_RATIO, PruneBlocker, PrunePlan, Restoration, ValueKind, complete_removal,
    find_compacted_entries, mask_with_edits, pruned_file,
};
use crate::session::dialect::Dialect;
use pisess_json::text::Text;
use pisess_store::{
    self as store, Archive, Attempt, Committed, CompanionFile, Glance, IfExists, Locked,
    WriteOptions,
};
use std::io;
use std::path::{Path, PathBuf};

impl OpenSession {
    /// Refuses a session whose SESSION.pruned is missing because it is in an archive. A run of
    /// `archive` leaves this state if it was killed after it had moved that file. `side_file` is
    /// the path of SESSION.pruned.
    pub(super) fn refuse_archived_side_file(&self, side_file: &Path) -> Result<(), Failure> {
        let Some(archive_path) = self.input.find_leftover_archive() else {
            return Ok(());
        };
        if !store::is_free(side_file)? {
            return Ok(());
        }

        let name = to_visible(&archive_path.to_string_lossy());
        let archive = Archive::read(&Glance::open(&archive_path)?)
            .map_err(|error| Failure::from_read_error(&name, error))?;
        // Without SESSION.pruned in the archive, nothing was pruned from the session.
        let has_pruned_file = archive
            .is_some_and(|archive| archive.members.iter().any(|member| member.name == PRUNED));
        if !has_pruned_file {
            return Ok(());
        }
        let failure = self
            .input
            .failure(format_args!("what was pruned from it is in {name}"));
        let argument = quote_word(archive_path.as_os_str());
        Err(failure.with_hint(format!(
            "`pisess archive --restore {argument}` puts it back beside the session"
        )))
    }
}

/// The task for a session.
pub enum Task<'a> {
    /// Prune the payloads of `kinds` that have more than `over` bytes.
    Payloads { over: u64, kinds: Vec<ValueKind> },
    /// Prune the entries above compactions that no branch needs any more.
    Compacted,
    /// Prune the branch that contains the entry of this reference.
    Branch(String),
    /// Prune the entries of these references and ranges.
    Entries(Vec<String>),
    /// Prune the strings that contain one of `values` or, depending on `scope`, another secret.
    Secrets {
        scope: SecretScope,
        values: &'a SharedSecrets,
    },
    /// Restore everything that was pruned.
    Restore,
}

/// A session to prune or to restore, with the options for that.
pub struct PruneJob<'a> {
    pub task: Task<'a>,
    pub write: &'a WriteArgs,
    pub open: &'a OpenSession,
    /// The path of the file that is pruned or restored.
    pub target: PathBuf,
    /// The path of SESSION.pruned, the file beside `target`.
    pub side_file: PathBuf,
    /// Whether the user named the session itself, and not only its directory.
    pub is_named: bool,
    /// Whether the pruned parts are removed for good afterwards (`--purge`).
    pub is_purged: bool,
}

impl PruneJob<'_> {
    /// Prunes the session in place, or with `-o` writes a pruned copy, and reports the result.
    pub fn prune(&self, ui: &mut Ui) -> Result<Exit, Failure> {
        let (committed, outcome) = self.prune_session(ui)?;
        if outcome.is_empty() {
            ui.print_status(&format!(
                "{}: {}",
                self.open.input.name,
                self.nothing_message()
            ));
        }
        self.report_outcome(committed, &outcome, ui)
    }

    /// Prunes the session in place, or with `-o` writes a pruned copy. Returns what was committed,
    /// and the numbers for the report.
    pub(super) fn prune_session(
        &self,
        ui: &mut Ui,
    ) -> Result<(Option<Committed>, PruneOutcome), Failure> {
        self.open
            .refuse_archived_side_file(&self.source_side_file())?;
        self.report_dependents(ui)?;
        if self.write.output.is_some() {
            return self.prune_elsewhere(ui);
        }
        self.refuse_running()?;
        if let Task::Secrets { .. } = self.task {
            return self.prune_secrets(ui);
        }
        self.open
            .attempt_under_lock(&self.write_options(), &mut |locked_open, locked| {
                self.prune_locked(locked_open, locked, ui)
            })
    }

    /// Returns the path of SESSION.pruned beside the session that is read. With `-o`, the file
    /// beside the result is another one.
    pub(super) fn source_side_file(&self) -> PathBuf {
        match self.open.input.file() {
            Some(file) => pruned_file(&session_own_path(file)),
            None => self.side_file.clone(),
        }
    }

    /// Returns the message for a session from which nothing is pruned.
    pub(super) fn nothing_message(&self) -> String {
        match &self.task {
            Task::Payloads { over: 0, .. } => format!(
                "nothing to prune: no payload is more than {MIN_LENGTH_RATIO} times as long as its placeholder"
            ),
            Task::Payloads { over, .. } => {
                format!("no payload is larger than {}", format_bytes(*over as usize))
            }
            Task::Secrets { scope, .. } => match scope {
                SecretScope::RecognizedAndGiven => "no secrets found".to_owned(),
                SecretScope::GivenOnly => "the given values do not occur".to_owned(),
            },
            Task::Compacted => "nothing above a compaction can be pruned".to_owned(),
            Task::Branch(_) | Task::Entries(_) | Task::Restore => "nothing to prune".to_owned(),
        }
    }

    /// Whether the task removes entries, and not only payloads.
    fn removes_entries(&self) -> bool {
        matches!(
            self.task,
            Task::Branch(_) | Task::Entries(_) | Task::Compacted
        )
    }

    /// Returns the options for writing. If entries are removed, or if a search found the session,
    /// they follow oh-my-pi's rule for sessions of any agent: a process owns a file that it has
    /// open for writing, or has just written to.
    pub(super) fn write_options(&self) -> WriteOptions {
        let dialect = if self.removes_entries() || !self.is_named {
            Dialect::OhMyPi
        } else {
            self.open.session.dialect
        };
        self.write.change.write_options(dialect)
    }

    /// Refuses to remove entries of a session that an agent may have open, because it runs in the
    /// session's working directory: the agent would continue from an entry that no longer exists.
    ///
    /// Payloads may be removed from such a session: the entries remain, and lines that the agent
    /// appends meanwhile are kept.
    fn refuse_running(&self) -> Result<(), Failure> {
        if !self.removes_entries() {
            return Ok(());
        }
        // Without a working directory, no agent can be recognized.
        let Some(cwd) = &self.open.session.header.cwd else {
            return Ok(());
        };
        let cwd = PathBuf::from(&*cwd.to_string_lossy());
        self.open
            .input
            .refuse_running_agent(&[&cwd], self.write.change.force)
    }

    /// With `-n`, fails if the real run would be refused. A stream is never written, so nothing is
    /// refused.
    pub(super) fn refuse_in_dry_run(&self) -> Result<(), Failure> {
        self.open
            .refuse_archived_side_file(&self.source_side_file())?;
        self.refuse_planned_branch()?;
        let input = &self.open.input;
        if let Some(output) = &self.write.output {
            return refuse_output_in_dry_run(output, input, self.write.change.force);
        }
        if input.file().is_none() {
            return Ok(());
        }
        self.refuse_running()?;
        refuse_in_dry_run(input, Action::Rewrite, &self.write_options())
    }

    /// Prunes the locked session. First writes SESSION.pruned, the file beside it for what is
    /// removed, so that no pruned part is ever in neither file. Then rewrites the session. If that
    /// fails, SESSION.pruned gets its old content back.
    ///
    /// An agent may append lines meanwhile. If only payloads are removed, these lines are kept. If
    /// entries are removed, a new line may refer to one of them: then nothing is written, and the
    /// caller tries again.
    fn prune_locked(
        &self,
        locked_open: &OpenSession,
        locked: Locked,
        ui: &Ui,
    ) -> AttemptResult<PruneOutcome> {
        self.require_same_entries(locked_open)?;
        let plan = self.plan_prune(locked_open, ui)?;
        let outcome = PruneOutcome::from_prune(&plan, locked_open);
        if plan.is_empty() {
            return Ok(ChangeAttempt::nothing_to_do(outcome));
        }

        // Until it is kept, dropping the new file restores the old one.
        let new_side_file = self.extend_side_file(locked_open, &plan)?;

        let source = locked_open.input.source();
        let pruned = plan.build_pruned_session(&locked_open.session, source);
        let mut write = |out: &mut dyn io::Write| copy_all(&pruned.with_source(source), out);
        let locked = if self.removes_entries() {
            locked
        } else {
            locked.carrying_growth()
        };
        // `new_side_file` has what is removed.
        let backup = None;
        let mut commit = locked.rewrite(backup, &mut write)?;
        if let Attempt::Done(committed) = &mut commit {
            committed.warnings.extend(new_side_file.keep().warnings);
        }
        Ok(ChangeAttempt::with_commit(commit, outcome))
    }

    /// Checks that `--branch` or `--entries` still removes the entries that it removed when the
    /// session was first read. If an entry was appended since, `@` is another one, which the user
    /// may not have seen.
    fn require_same_entries(&self, locked_open: &OpenSession) -> Result<(), Failure> {
        let has_not_grown = std::ptr::eq(self.open, locked_open);
        if has_not_grown {
            return Ok(());
        }
        let first_ids = self.find_removed_ids(self.open)?;
        if self.find_removed_ids(locked_open)? == first_ids {
            return Ok(());
        }
        let input = &locked_open.input;
        let failure = input.busy_failure("another program changed the entries to remove");
        Err(failure.with_hint("`pisess prune -n` lists them as they are now"))
    }

    /// Returns the ids of the entries that `--branch` or `--entries` removes from `open`. Other
    /// tasks have no references, so there is nothing to compare for them.
    fn find_removed_ids<'a>(&self, open: &'a OpenSession) -> Result<Vec<Text<'a>>, Failure> {
        let is_removed = match &self.task {
            Task::Branch(reference) => choose_branch(open, reference)?.is_removed,
            Task::Entries(references) => choose_entries(open, references)?,
            _ => return Ok(Vec::new()),
        };
        let mut ids = Vec::new();
        for ix in open.session.entry_indexes() {
            if is_removed[ix.index()] {
                ids.push(open.session.id(ix));
            }
        }
        Ok(ids)
    }

    /// Plans what to prune from `open`, the session as it is now: it may have been read again under
    /// the lock. The removal of entries needs new ids, because it may append a mark.
    pub(super) fn plan_prune(&self, open: &OpenSession, ui: &Ui) -> Result<PrunePlan, Failure> {
        let source = open.input.source();
        match &self.task {
            Task::Payloads { over, kinds } => {
                let workers = open.worker_count();
                let plan = PrunePlan::from_payloads(&open.session, source, *over, kinds, workers);
                open.input.map_read_error(plan)
            }
            Task::Compacted => plan_compacted(open, ui),
            Task::Entries(references) => {
                let is_removed = choose_entries(open, references)?;
                plan_removal("entries", is_removed, open, ui)
            }
            Task::Branch(reference) => self.plan_branch(open, reference, ui),
            Task::Secrets { scope, values } => plan_secrets(open, *scope, values),
            // This task has a plan of its own: `plan_restore`.
            Task::Restore => Err(open.input.failure("it is to be restored")),
        }
    }

    /// Writes SESSION.pruned of a locked session, with the records that it already has.
    pub(super) fn extend_side_file(
        &self,
        locked_open: &OpenSession,
        plan: &PrunePlan,
    ) -> Result<CompanionFile, Failure> {
        match open_if_exists(&self.side_file)? {
            Some(old_side_file) => {
                let old_records = read_side_file(locked_open, old_side_file)?;
                self.write_side_file(locked_open, plan, Some(&old_records), IfExists::Replace)
            }
            None => self.write_side_file(locked_open, plan, None, IfExists::Refuse),
        }
    }

    /// Writes the file beside a session: first the old records, then those that are pruned now.
    ///
    /// An old record is left out if the session still contains its content: a run that was killed
    /// after it had written this file, and before it rewrote the session, leaves such records. They
    /// are pruned now, so they are written once.
    fn write_side_file(
        &self,
        open: &OpenSession,
        plan: &PrunePlan,
        old_records: Option<&Restoration>,
        if_exists: IfExists,
    ) -> Result<CompanionFile, Failure> {
        let mut write = |out: &mut dyn io::Write| {
            plan.write_pruned(&open.session, open.input.source(), old_records, out)
        };
        let protected = open.input.protected_file();
        let side_file = store::create_beside(&self.side_file, protected, if_exists, &mut write)?;
        Ok(side_file)
    }

    /// Writes a pruned copy (`-o`). With `--force`, existing files are replaced.
    fn prune_elsewhere(&self, ui: &mut Ui) -> Result<(Option<Committed>, PruneOutcome), Failure> {
        let plan = self.plan_prune(self.open, ui)?;
        // The file beside the copy is written first, so that a copy never lacks its pruned parts.
        // Until it is kept, dropping it removes it, or restores the file that it replaced.
        let new_side_file = self.write_side_file_of_copy(&plan)?;

        let input = &self.open.input;
        let source = input.source();
        let pruned = plan.build_pruned_session(&self.open.session, source);
        let force = self.write.change.force;
        let committed = store::create(&self.target, input.protected_file(), force, &mut |out| {
            copy_all(&pruned.with_source(source), out)
        })?;
        if let Some(new_side_file) = new_side_file {
            ui.report_commit_warnings(&new_side_file.keep());
        }
        Ok((Some(committed), PruneOutcome::from_prune(&plan, self.open)))
    }

    /// Writes the file beside a pruned copy: everything that was pruned from the session before,
    /// and what `plan` prunes. `None` if both are nothing.
    fn write_side_file_of_copy(&self, plan: &PrunePlan) -> Result<Option<CompanionFile>, Failure> {
        let source_side_file = match self.open.input.file() {
            Some(file) => open_if_exists(&pruned_file(&session_own_path(file)))?,
            // A stream has no file beside it.
            None => None,
        };
        if source_side_file.is_none() && plan.is_empty() {
            return Ok(None);
        }

        let if_exists = if self.write.change.force {
            self.refuse_unrelated_side_file()?;
            IfExists::Replace
        } else {
            IfExists::Refuse
        };
        let old_records = match source_side_file {
            Some(side_file) => Some(read_side_file(self.open, side_file)?),
            None => None,
        };
        let new_side_file =
            self.write_side_file(self.open, plan, old_records.as_ref(), if_exists)?;
        Ok(Some(new_side_file))
    }

    /// Refuses to replace a file beside the copy that is damaged, or belongs to another session.
    /// Even with `--force`, that file is kept: it may have the only copy of what was pruned.
    fn refuse_unrelated_side_file(&self) -> Result<(), Failure> {
        if let Some(existing) = open_if_exists(&self.side_file)? {
            read_side_file(self.open, existing)?;
        }
        Ok(())
    }
}

/// Plans the removal of the entries above compactions that no branch needs any more. Fails if the
/// session is damaged.
fn plan_compacted(open: &OpenSession, ui: &Ui) -> Result<PrunePlan, Failure> {
    PruneBlocker::require_removable_entries(&open.session)
        .map_err(|error| damaged_failure(open, error))?;
    let is_removed = find_compacted_entries(&open.session, open.input.source());
    let is_removed = open.input.map_read_error(is_removed)?;
    plan_removal("compacted", is_removed, open, ui)
}

/// Chooses the entries that `references` name, and what is removed with them: calls, results and
/// edits. Returns for each entry of the session whether it is removed. Fails if the session is
/// damaged, or if a reference names no entry.
fn choose_entries(open: &OpenSession, references: &[String]) -> Result<Vec<bool>, Failure> {
    PruneBlocker::require_removable_entries(&open.session)
        .map_err(|error| damaged_failure(open, error))?;
    let named = open.find_chosen_entries(references)?;
    let reader = open.entry_reader();
    let completed = complete_removal(&reader, &named);
    let completed = open.input.map_read_error(completed)?;
    let is_removed = mask_with_edits(&reader, &completed);
    open.input.map_read_error(is_removed)
}

/// Plans the removal of entries. `operation` is its name in SESSION.pruned.
pub(super) fn plan_removal(
    operation: &'static str,
    is_removed: Vec<bool>,
    open: &OpenSession,
    ui: &Ui,
) -> Result<PrunePlan, Failure> {
    let source = open.input.source();
    Ids::new(ui)?.with_id_source(ui, |id_source| {
        let plan = PrunePlan::from_entries(operation, &open.session, source, is_removed, id_source);
        open.input.map_read_error(plan)
    })
}
