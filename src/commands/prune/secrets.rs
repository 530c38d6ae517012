//! `--secrets`, `--env-file` and `--secret-file`: move strings with secrets into SESSION.pruned, or
//! with `--purge` remove them for good.

use super::job::{PruneJob, Task};
use super::report::PruneOutcome;
use super::restore::read_side_file;
use crate::cli::open::OpenSession;
use crate::cli::output::{Failure, Ui};
use crate::cli::pruned::open_if_exists;
use crate::cli::redaction::{refuse_left_over, warn_kept};
use crate::cli::shared_secrets::SharedSecrets;
use crate::cli::transaction::{AttemptResult, ChangeAttempt};
use crate::format::{format_bytes, format_count};
use crate::ops::plan::copy_all;
use crate::ops::prune::{PrunePlan, SECRETS_OPERATION, read_operations};
use crate::ops::redact::{FoundSecret, redact_session};
use crate::redact::Redactor;
use crate::redact::values::SecretValue;
use pisess_store::{
    self as store, Attempt, Cause, Committed, CompanionFile, Locked, ReadAt, SessionFile,
    StoreError,
};
use std::io;

/// The note that follows the report of sessions from which secrets were taken out.
pub const KEPT_SECRETS_NOTE: &str = "SESSION.pruned holds the secrets (hint: --restore puts them back; --purge removes them for good)";

/// The hint for secrets that cannot be replaced.
const LEFT_OVER_HINT: &str = "a placeholder replaces neither a number nor the id of a session; `pisess archive PATH` and `pisess archive --delete PATH` remove the whole session";

/// Which secrets are taken out of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SecretScope {
    /// Those that are recognized by their shape, and the values that the user gave (`--secrets`).
    RecognizedAndGiven,
    /// The values that the user gave.
    GivenOnly,
}

impl SecretScope {
    fn new_redactor(self, values: Vec<SecretValue>) -> Redactor {
        match self {
            SecretScope::RecognizedAndGiven => Redactor::for_secrets_only(values),
            SecretScope::GivenOnly => Redactor::for_values_only(values),
        }
    }
}

/// What `prune` found of secrets in a session and in its SESSION.pruned.
#[derive(Clone, Debug, Default)]
pub struct SecretsOutcome {
    /// The number of distinct secrets that are taken out of the session.
    pub count: usize,
    /// Places where the text of a secret may be ordinary, and remains.
    pub kept_ordinary: Vec<FoundSecret>,
    /// The size of SESSION.pruned, if an earlier prune has left secrets in it.
    pub old_side_file_bytes: Option<u64>,
}

impl SecretsOutcome {
    pub fn from_prune(plan: &PrunePlan) -> SecretsOutcome {
        SecretsOutcome {
            count: plan.secrets.count,
            kept_ordinary: plan.secrets.kept_ordinary.clone(),
            old_side_file_bytes: None,
        }
    }

    /// Whether an earlier prune has left secrets in SESSION.pruned.
    pub fn has_old_secrets(&self) -> bool {
        self.old_side_file_bytes.is_some()
    }

    /// Returns the secrets and their places for people, as in `1 secret in 2 strings`.
    pub fn describe(&self, string_count: usize) -> String {
        let secrets = format_count(self.count, "secret", "secrets");
        let strings = format_count(string_count, "string", "strings");
        format!("{secrets} in {strings}")
    }

    /// Reports on standard error where secrets remain: in SESSION.pruned, unless `--purge` removes
    /// it, and where their text may be ordinary. `name` is the name of the session.
    pub fn report_remaining(&self, name: &str, purge: Purge, ui: &mut Ui) {
        warn_kept(&self.kept_ordinary, name, ui);
        let Some(bytes) = self.old_side_file_bytes else {
            return;
        };
        let size = format_bytes(bytes as usize);
        match purge {
            Purge::NotRequested => ui.warn(&format!(
                "{name}: SESSION.pruned has secrets from an earlier prune (hint: `--secrets --purge` removes it for good)"
            )),
            Purge::Planned => ui.print_status(&format!(
                "{name}: what was pruned from it before has secrets, and would be removed for good ({size})"
            )),
            Purge::Done => ui.print_status(&format!(
                "{name}: what was pruned from it before had secrets, and is removed for good ({size})"
            )),
        }
    }
}

/// Whether the secrets in SESSION.pruned are removed for good.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purge {
    NotRequested,
    /// With `-n`.
    Planned,
    Done,
}

/// Plans to take the secrets out of a session: `secrets` and, depending on `scope`, what is
/// recognized. Fails if one of them would remain.
pub(super) fn plan_secrets(
    open: &OpenSession,
    scope: SecretScope,
    secrets: &SharedSecrets,
) -> Result<PrunePlan, Failure> {
    let values = secrets.values_for(&open.input, open.worker_count())?;
    let redactor = scope.new_redactor(values);
    let source = open.input.source();
    let plan = PrunePlan::from_secrets(&open.session, source, redactor, open.worker_count());
    let plan = open.input.map_read_error(plan)?;
    if plan.secrets.damages_tree {
        let failure = open
            .input
            .failure("a secret is a part of the session's format; nothing was written");
        return Err(failure.with_hint("omit ordinary words from --env-file and --secret-file"));
    }
    refuse_left_over(&plan.secrets.remaining, &open.input, LEFT_OVER_HINT)?;
    Ok(plan)
}

impl PruneJob<'_> {
    /// Returns the outcome of a plan for an open session. With `--secrets`, SESSION.pruned is
    /// searched, too.
    pub(super) fn plan_outcome(
        &self,
        plan: &PrunePlan,
        open: &OpenSession,
    ) -> Result<PruneOutcome, Failure> {
        let mut outcome = PruneOutcome::from_prune(plan, open);
        if let Task::Secrets { scope, values } = self.task
            && let Some(side_file) = open_if_exists(&self.side_file)?
        {
            let has_secrets = side_file_has_secrets(&side_file, open, scope, values, plan)?;
            if has_secrets {
                outcome.secrets.old_side_file_bytes = Some(side_file.len());
            }
        }
        Ok(outcome)
    }

    /// Takes the secrets out of the session. Returns what was committed, and the numbers for the
    /// report. Fails if the session was rewritten, but a file beside it may still have the secrets.
    pub(super) fn prune_secrets(
        &self,
        ui: &mut Ui,
    ) -> Result<(Option<Committed>, PruneOutcome), Failure> {
        let mut attempt =
            |locked_open: &OpenSession, locked| self.prune_secrets_locked(locked_open, locked, ui);
        let (committed, pruned) = self
            .open
            .attempt_under_lock(&self.write_options(), &mut attempt)?;
        let Some(failure) = pruned.purge_failure else {
            return Ok((committed, pruned.outcome));
        };
        // The warnings of the commit are reported here, because the caller gets only the failure.
        if let Some(committed) = &committed {
            ui.report_commit_warnings(committed);
        }
        Err(failure.after_writing(&self.open.input.name).with_hint(
            "the session has no secrets; a file beside it may have them: remove it, or repeat the command",
        ))
    }

    /// Takes the secrets out of a locked session. First writes them to SESSION.pruned, the file
    /// beside the session, so that no string is ever in neither file. Then rewrites the session.
    ///
    /// With `--purge`, the secrets are removed from SESSION.pruned afterwards: it gets its old
    /// content back, or if that has secrets itself, is removed.
    ///
    /// If the session grows before it is rewritten, the caller tries again: an appended line may
    /// contain a secret, so it is not copied as by other prunes.
    fn prune_secrets_locked(
        &self,
        locked_open: &OpenSession,
        locked: Locked,
        ui: &Ui,
    ) -> AttemptResult<PrunedSecrets> {
        let plan = self.plan_prune(locked_open, ui)?;
        let outcome = self.plan_outcome(&plan, locked_open)?;
        // `purges_old` is whether SESSION.pruned is to be removed, with all that was pruned before.
        let purges_old = self.is_purged && outcome.secrets.has_old_secrets();
        if purges_old {
            self.refuse_unsafe_purge(locked_open)?;
        }
        if plan.is_empty() {
            // The session itself has no secrets.
            if purges_old {
                store::remove(&self.side_file)?;
            }
            return Ok(ChangeAttempt::nothing_to_do(PrunedSecrets {
                outcome,
                purge_failure: None,
            }));
        }

        let new_side_file = self.extend_side_file(locked_open, &plan)?;
        let RewrittenSession {
            mut commit,
            side_file,
        } = self.rewrite_session(&plan, new_side_file, purges_old, locked_open, locked)?;
        let purge_failure = match &mut commit {
            Attempt::Done(committed) => self.finish_commit(committed, side_file),
            // The session has grown, and will be pruned again.
            Attempt::Stale(_) => None,
        };
        Ok(ChangeAttempt::with_commit(
            commit,
            PrunedSecrets {
                outcome,
                purge_failure,
            },
        ))
    }

    /// Adds the warnings about SESSION.pruned to a commit of the session. With `--purge`, returns
    /// the failure if a file that has the secrets could not be removed: SESSION.pruned, or the old
    /// session.
    fn finish_commit(
        &self,
        committed: &mut Committed,
        side_file: FinishedSideFile,
    ) -> Option<Failure> {
        committed.warnings.extend(side_file.warnings);
        if !self.is_purged || side_file.purge_failure.is_some() {
            return side_file.purge_failure;
        }
        take_unremoved(committed).map(Failure::from)
    }

    /// Rewrites the session without its secrets, and then keeps or purges `new_side_file`, the new
    /// SESSION.pruned, which has them. If the session is not rewritten, SESSION.pruned gets its old
    /// content back, because dropping a [`CompanionFile`] restores that.
    fn rewrite_session(
        &self,
        plan: &PrunePlan,
        new_side_file: CompanionFile,
        purges_old: bool,
        locked_open: &OpenSession,
        locked: Locked,
    ) -> Result<RewrittenSession, Failure> {
        let source = locked_open.input.source();
        let pruned_session = plan.build_pruned_session(&locked_open.session, source);
        let mut write =
            |out: &mut dyn io::Write| copy_all(&pruned_session.with_source(source), out);
        // A backup would keep the secrets.
        let backup = None;

        // Called after the rewrite, with the lock still held: once it is released, another pisess
        // may use SESSION.pruned. It is called at most once, which its type does not say, so the
        // file is in an `Option`.
        let mut new_side_file = Some(new_side_file);
        let mut finished = FinishedSideFile::default();
        let mut finish_side_file = || {
            if let Some(side_file) = new_side_file.take() {
                finished = self.finish_side_file(side_file, purges_old, locked_open);
            }
        };
        let commit = locked.rewrite_then(backup, &mut write, &mut finish_side_file)?;
        Ok(RewrittenSession {
            commit,
            side_file: finished,
        })
    }

    /// Keeps the new SESSION.pruned, or with `--purge` removes the secrets from it.
    fn finish_side_file(
        &self,
        new_side_file: CompanionFile,
        purges_old: bool,
        open: &OpenSession,
    ) -> FinishedSideFile {
        if !self.is_purged {
            return FinishedSideFile {
                warnings: new_side_file.keep().warnings,
                purge_failure: None,
            };
        }
        let purged = self.purge_secrets(new_side_file, purges_old, open);
        FinishedSideFile {
            warnings: Vec::new(),
            purge_failure: purged.err(),
        }
    }

    /// Refuses to remove SESSION.pruned if it is damaged, belongs to another session, or has
    /// another name under which its content would stay.
    pub(super) fn refuse_unsafe_purge(&self, open: &OpenSession) -> Result<(), Failure> {
        let Some(side_file) = open_if_exists(&self.side_file)? else {
            return Ok(());
        };
        store::own_file(&self.side_file)?;
        store::lock(&side_file, &self.write_options())?.refuse_hard_links()?;
        read_side_file(open, side_file)?;
        Ok(())
    }

    /// Removes the secrets that were written to `new_side_file`, the new SESSION.pruned, by putting
    /// the old one back. With `purges_old`, the old one has secrets, so that both are removed.
    /// Fails if secrets may be left.
    fn purge_secrets(
        &self,
        new_side_file: CompanionFile,
        purges_old: bool,
        open: &OpenSession,
    ) -> Result<(), Failure> {
        if purges_old {
            return Ok(new_side_file.remove_with_old()?);
        }
        new_side_file.put_back_old()?;
        let may_keep_others = matches!(
            self.task,
            Task::Secrets {
                scope: SecretScope::GivenOnly,
                ..
            }
        );
        if !may_keep_others
            && let Some(side_file) = open_if_exists(&self.side_file)?
            && lists_secrets(&side_file, open)
        {
            let name = self.side_file.to_string_lossy();
            return Err(Failure::invalid(format_args!("{name} still has secrets")));
        }
        Ok(())
    }
}

/// The result of rewriting a session without its secrets.
struct RewrittenSession {
    commit: Attempt,
    side_file: FinishedSideFile,
}

/// What became of the new SESSION.pruned, once the session was rewritten.
#[derive(Default)]
struct FinishedSideFile {
    /// The warnings of keeping it.
    warnings: Vec<StoreError>,
    /// The failure to remove the secrets from it.
    purge_failure: Option<Failure>,
}

/// The result of taking the secrets out of a session.
struct PrunedSecrets {
    outcome: PruneOutcome,
    /// The failure of `--purge`, after the session was rewritten.
    purge_failure: Option<Failure>,
}

/// Takes from the warnings of a commit the one that the old session, which has the secrets, could
/// not be removed. For most commits that is harmless, but not for a purge.
fn take_unremoved(committed: &mut Committed) -> Option<StoreError> {
    let index = committed
        .warnings
        .iter()
        .position(|warning| matches!(warning.cause, Cause::Unremoved(_)))?;
    Some(committed.warnings.remove(index))
}

/// Whether SESSION.pruned contains `secrets`, or those that `plan` found in the session. Depending
/// on `scope`, others count as well: those that are recognized by their shape, and all that an
/// earlier prune moved there.
fn side_file_has_secrets(
    side_file: &SessionFile,
    open: &OpenSession,
    scope: SecretScope,
    secrets: &SharedSecrets,
    plan: &PrunePlan,
) -> Result<bool, Failure> {
    if scope == SecretScope::RecognizedAndGiven && lists_secrets(side_file, open) {
        return Ok(true);
    }
    let mut values = secrets.values_for(&open.input, open.worker_count())?;
    for value in &plan.secrets.values {
        if !value.is_ordinary() && !values.contains(value) {
            values.push(value.clone());
        }
    }
    let mut redactor = scope.new_redactor(values);
    let no_copy = None;
    let searched = redact_session(side_file, &mut redactor, open.worker_count(), no_copy);
    let report = open.input.map_read_error(searched)?;
    Ok(report.has_secrets())
}

/// Whether one of the operations that a file lists has moved secrets to it. A file that is damaged,
/// or belongs to another session, lists none.
fn lists_secrets(side_file: &SessionFile, open: &OpenSession) -> bool {
    let operations = read_operations(side_file, &open.session.header.id).unwrap_or_default();
    operations
        .iter()
        .any(|operation| operation.name == SECRETS_OPERATION)
}
