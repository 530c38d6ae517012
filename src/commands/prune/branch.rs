//! `--branch`: finds the branch to prune, and reports what refers to it.

use super::job::{PruneJob, Task, plan_removal};
use crate::cli::locate::{Scope, SessionStores};
use crate::cli::open::OpenSession;
use crate::cli::output::{Failure, Ui, to_visible};
use crate::cli::process::command_line::quote_word;
use crate::load::read_header;
use crate::ops::archive::session_folder;
use crate::ops::prune::{PrunableBranch, PruneBlocker, PrunePlan, find_prunable_branch};
use crate::session::Session;
use crate::session::reference::Position;
use crate::session::usage::{possible_session_ends, session_end};
use pisess_json::Raw;
use pisess_store::{Glance, StoreError, files_below};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// The maximum number of branch tips to name in a refusal.
const MAX_TIPS: usize = 8;

impl PruneJob<'_> {
    /// Plans the removal of the branch that contains the entry of a reference. A branch that
    /// requires `--force` is refused, unless `--force` or `-n` is given.
    pub(super) fn plan_branch(
        &self,
        open: &OpenSession,
        reference: &str,
        ui: &Ui,
    ) -> Result<PrunePlan, Failure> {
        let choice = choose_branch(open, reference)?;
        if !self.write.change.force && !self.write.change.dry_run {
            self.refuse_branch(open, reference, &choice)?;
        }
        let mut plan = plan_removal("branch", choice.is_removed, open, ui)?;
        plan.branch_count = choice.tips.len();
        Ok(plan)
    }

    /// With `-n`, fails if the branch requires `--force`, and `--force` is not given.
    pub(super) fn refuse_planned_branch(&self) -> Result<(), Failure> {
        let Task::Branch(reference) = &self.task else {
            return Ok(());
        };
        if self.write.change.force {
            return Ok(());
        }
        let choice = choose_branch(self.open, reference)?;
        self.refuse_branch(self.open, reference, &choice)
    }

    /// Refuses a branch that requires `--force`: the active branch, because the session then
    /// continues elsewhere, and a branch with several tips, because the user may not know of the
    /// others.
    fn refuse_branch(
        &self,
        open: &OpenSession,
        reference: &str,
        choice: &PrunableBranch,
    ) -> Result<(), Failure> {
        let session = &open.session;
        let tip_count = choice.tips.len();
        let has_several_tips = tip_count > 1;
        let tips = list_tip_ids(session, choice);
        let why = match (has_several_tips, choice.is_active) {
            // A single branch that the session does not continue from.
            (false, false) => return Ok(()),
            (false, true) => format!("{reference} is on the active branch"),
            (true, false) => format!("{tip_count} branches end there: {tips}"),
            (true, true) => format!("{tip_count} branches end there, the active one too: {tips}"),
        };
        let hint = if choice.is_active {
            // The session then continues from the branch point.
            let new_leaf = match choice.branch_point {
                Position::Entry(ix) => to_visible(&session.id(ix).to_string()),
                Position::Root => "root".to_owned(),
            };
            format!("--force prunes it, and moves the leaf to {new_leaf}")
        } else {
            "--force prunes them all; give an entry nearer to a tip to prune one".to_owned()
        };
        Err(open.input.failure(why).with_hint(hint))
    }

    /// Reports the sub-agents that the branch started, and the forks of the session. Neither are
    /// removed with the branch.
    pub(super) fn report_dependents(&self, ui: &mut Ui) -> Result<(), Failure> {
        let Task::Branch(reference) = &self.task else {
            return Ok(());
        };
        // A session from a stream has neither: they are found by its path.
        let Some(file) = self.open.input.file() else {
            return Ok(());
        };
        let choice = choose_branch(self.open, reference)?;
        let session = file.resolved().to_owned();
        match self.find_sub_agents(&session, &choice) {
            Ok(sub_agents) => {
                for path in sub_agents {
                    let path = to_visible(&path.to_string_lossy());
                    ui.print_status(&format!("a sub-agent of the branch stays: {path}"));
                }
            }
            // The branch can be pruned all the same.
            Err(error) => ui.warn(&error.to_string()),
        }
        for path in self.find_forks(&session, ui) {
            let path = to_visible(&path.to_string_lossy());
            ui.print_status(&format!("a fork of the session stays: {path}"));
        }
        Ok(())
    }

    /// Returns the sessions of the sub-agents that the branch started: those files in the session's
    /// own directory that an entry of the branch reports.
    ///
    /// # Errors
    /// If the directory cannot be read. A missing directory is no error: then the sub-agents are
    /// gone already.
    fn find_sub_agents(
        &self,
        session: &Path,
        choice: &PrunableBranch,
    ) -> Result<Vec<PathBuf>, StoreError> {
        let reported_ends = self.list_reported_ends(session, choice);
        // The branch started no sub-agent, so the directory need not be read.
        if reported_ends.is_empty() {
            return Ok(Vec::new());
        }

        let Some(folder) = session_folder(session) else {
            return Ok(Vec::new());
        };
        let mut agents = Vec::new();
        for file in files_below(&folder)? {
            if reported_ends.contains(&session_end(&file.path.to_string_lossy())) {
                agents.push(file.path);
            }
        }
        Ok(agents)
    }

    /// Returns the ends of the paths of sub-agents' sessions that entries of a branch report: the
    /// name of the directory and of the file. The rest of the path may have changed since.
    fn list_reported_ends(&self, session: &Path, choice: &PrunableBranch) -> Vec<String> {
        let mut reported_ends = Vec::new();
        // `billed` has the entries with a cost. A report of sub-agents includes theirs.
        for request in &self.open.session.collected.billed {
            let is_of_branch = choice.is_removed[request.entry.index()];
            if is_of_branch && let Some(agents) = request.reported_ends.as_deref() {
                reported_ends.extend(possible_session_ends(session, agents));
            }
        }
        reported_ends
    }

    /// Returns the sessions in the stores that were forked from this session, according to their
    /// headers.
    fn find_forks(&self, session: &Path, ui: &Ui) -> Vec<PathBuf> {
        let mut forks = Vec::new();
        for file in SessionStores::locate(ui).find_sessions(&Scope::All).files {
            if file.owner.is_none() && self.is_fork(&file.path, session) {
                forks.push(file.path);
            }
        }
        forks
    }

    /// Whether the header of a file names this session as its parent, by path or by id.
    fn is_fork(&self, path: &Path, session: &Path) -> bool {
        let Ok(file) = Glance::open(path) else {
            return false;
        };
        let Ok(header) = read_header(&file) else {
            return false;
        };
        let Some(parent) = Raw::from_checked(&header.bytes).get_text("parentSession") else {
            return false;
        };
        parent == self.open.session.header.id || Path::new(&*parent.to_string_lossy()) == session
    }
}

/// Finds the branch that contains the entry of a reference. Fails if the session is damaged, or if
/// it does not branch above that entry.
pub(super) fn choose_branch(
    open: &OpenSession,
    reference: &str,
) -> Result<PrunableBranch, Failure> {
    PruneBlocker::require_removable_entries(&open.session)
        .map_err(|error| damaged_failure(open, error))?;
    let entry = open.require_entry(open.resolve_position(reference)?, reference)?;
    find_prunable_branch(&open.session, entry).ok_or_else(|| no_branch_failure(open, reference))
}

/// Returns the failure for an entry above which the session does not branch. The user may want to
/// remove the end of the conversation.
fn no_branch_failure(open: &OpenSession, reference: &str) -> Failure {
    let failure = open.input.failure(format_args!(
        "the session does not branch above {reference}"
    ));
    let range = quote_word(OsStr::new(&format!("{reference}^..")));
    failure.with_hint(format!(
        "`--entries {range}` removes this entry and all after it; `pisess branches` lists the branches"
    ))
}

/// Lists the ids of the tips of a branch for people: `3f9a 77c1 and 2 more`.
fn list_tip_ids(session: &Session, choice: &PrunableBranch) -> String {
    let mut ids = Vec::new();
    for tip in choice.tips.iter().take(MAX_TIPS) {
        let id = session.id(tip.last_shown_entry(session));
        ids.push(to_visible(&id.to_string_lossy()));
    }
    if choice.tips.len() > MAX_TIPS {
        ids.push(format!("and {} more", choice.tips.len() - MAX_TIPS));
    }
    ids.join(" ")
}

/// Returns the failure for a session from which no entries can be removed.
pub(super) fn damaged_failure(open: &OpenSession, error: PruneBlocker) -> Failure {
    let name = open.input.as_argument();
    let hint = match error {
        PruneBlocker::OldFormat => format!("`pisess migrate {name}` brings it to version 3"),
        _ => format!("see `pisess check {name}`; --repair may help"),
    };
    open.input.failure(error).with_hint(hint)
}
