//! `--branch`: the branch to prune, and what refers to it.

use super::job::{Job, Task};
use crate::cli::locate::{Places, Scope};
use crate::cli::open::OpenSession;
use crate::cli::output::{Failure, Ui, visible};
use crate::load::read_header;
use crate::ops::IdSource;
use crate::ops::archive::folder_of;
use crate::ops::prune::{BranchChoice, Damaged, Prune, branch_at};
use crate::session::usage::{end_of, places};
use pisess_json::Raw;
use pisess_store::{Glance, files_below};
use std::path::{Path, PathBuf};

/// The maximum number of branch tips to name in a refusal.
const MOST_TIPS: usize = 8;

impl Job<'_> {
    /// Returns the prune of the branch that a reference is on.
    pub(super) fn branch(
        &self,
        now: &OpenSession,
        reference: &str,
        fresh: &mut IdSource,
    ) -> Result<Prune, Failure> {
        let choice = self.choice(now, reference)?;
        if !self.write.change.force && !self.write.change.dry_run {
            self.refuse(now, reference, &choice)?;
        }
        let prune = Prune::entries_of(
            "branch",
            &now.session,
            now.input.source(),
            choice.leaves,
            fresh,
        );
        let mut prune = now.input.read(prune)?;
        prune.branches = choice.tips.len();
        Ok(prune)
    }

    fn choice(&self, now: &OpenSession, reference: &str) -> Result<BranchChoice, Failure> {
        Damaged::check(&now.session).map_err(|error| damaged(now, error))?;
        let entry = now.entry_at(now.resolve(reference)?, reference)?;
        branch_at(&now.session, entry).ok_or_else(|| {
            let failure = now.input.cannot(format_args!(
                "the session does not branch above {reference}"
            ));
            failure.hint(
                "`pisess branches` lists the branches; `pisess archive` moves a whole session away",
            )
        })
    }

    /// Refuses a branch of which `--force` is required: the active one, and one that branches itself.
    fn refuse(
        &self,
        now: &OpenSession,
        reference: &str,
        choice: &BranchChoice,
    ) -> Result<(), Failure> {
        let session = &now.session;
        let count = choice.tips.len();
        if !choice.is_active && count < 2 {
            return Ok(());
        }

        let mut tips = Vec::new();
        for tip in choice.tips.iter().take(MOST_TIPS) {
            tips.push(visible(&session.id(tip.end(session)).to_string_lossy()));
        }
        if count > MOST_TIPS {
            tips.push(format!("and {} more", count - MOST_TIPS));
        }
        let tips = tips.join(" ");
        let why = if count < 2 {
            format!("{reference} is on the active branch")
        } else if choice.is_active {
            format!("{count} branches end there, the active one too: {tips}")
        } else {
            format!("{count} branches end there: {tips}")
        };

        let hint = if choice.is_active {
            let new_leaf = match choice.point {
                Some(ix) => session.id(ix).to_string(),
                None => "root".to_owned(),
            };
            format!(
                "--force prunes it, and moves the leaf to {}",
                visible(&new_leaf)
            )
        } else {
            "--force prunes them all; give an entry nearer to a tip to prune one".to_owned()
        };
        Err(now.input.cannot(why).hint(hint))
    }

    /// Reports why the branch would be refused without --force.
    pub(super) fn warn_of_refusal(&self, ui: &mut Ui) -> Result<(), Failure> {
        if let Task::Branch(reference) = &self.task
            && !self.write.change.force
            && let Err(failure) =
                self.refuse(self.open, reference, &self.choice(self.open, reference)?)
        {
            ui.warn(&failure.line());
        }
        Ok(())
    }

    /// Reports the sub-agents that the branch started, and the forks of the session: they stay.
    pub(super) fn name_dependents(&self, ui: &mut Ui) -> Result<(), Failure> {
        let (Task::Branch(reference), Some(file)) = (&self.task, self.open.input.file()) else {
            return Ok(());
        };
        let choice = self.choice(self.open, reference)?;
        let session = file.resolved().to_owned();
        for path in self.agents_of(&session, &choice) {
            ui.status(&format!(
                "a sub-agent of the branch stays: {}",
                visible(&path.to_string_lossy())
            ));
        }
        for path in self.forks_of(&session, ui) {
            ui.status(&format!(
                "a fork of the session stays: {}",
                visible(&path.to_string_lossy())
            ));
        }
        Ok(())
    }

    /// Returns the sessions of the sub-agents that the branch started: files in the session's own
    /// directory, whose paths end as an entry of the branch reports them.
    fn agents_of(&self, session: &Path, choice: &BranchChoice) -> Vec<PathBuf> {
        let mut reported_ends = Vec::new();
        for request in &self.open.session.collected.billed {
            if choice.leaves[request.entry.at()]
                && let Some(agents) = request.agents.as_deref()
            {
                reported_ends.extend(places(session, agents));
            }
        }
        if reported_ends.is_empty() {
            return Vec::new();
        }

        let Some(folder) = folder_of(session) else {
            return Vec::new();
        };
        let files = files_below(&folder).unwrap_or_default();
        let mut agents = Vec::new();
        for (path, _) in files {
            if reported_ends.contains(&end_of(&path.to_string_lossy())) {
                agents.push(path);
            }
        }
        agents
    }

    /// Returns the sessions in the stores whose header names this session as the one they were forked
    /// from.
    fn forks_of(&self, session: &Path, ui: &Ui) -> Vec<PathBuf> {
        let mut forks = Vec::new();
        for file in Places::of(ui).find(&Scope::All).files {
            if file.owner.is_none() && self.is_fork(&file.path, session) {
                forks.push(file.path);
            }
        }
        forks
    }

    /// Whether the header of a file names this session, by its path or its id.
    fn is_fork(&self, path: &Path, session: &Path) -> bool {
        let Ok(file) = Glance::open(path) else {
            return false;
        };
        let Ok(header) = read_header(&file) else {
            return false;
        };
        let Some(parent) = Raw::checked(&header.bytes).get_text("parentSession") else {
            return false;
        };
        parent == self.open.session.header.id || Path::new(&*parent.to_string_lossy()) == session
    }
}

/// Returns the failure for a session whose entries cannot be pruned.
pub(super) fn damaged(now: &OpenSession, error: Damaged) -> Failure {
    let name = &now.input.name;
    let hint = match error {
        Damaged::OldFormat => format!("`pisess migrate {name}` brings it to version 3"),
        _ => format!("see `pisess check {name}`; --repair may help"),
    };
    now.input.cannot(error).hint(hint)
}
