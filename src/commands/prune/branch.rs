//! `--branch`: the branch to prune, and what refers to it.

use super::job::{Job, Task};
use crate::cli::locate::{Places, Scope};
use crate::cli::open::OpenSession;
use crate::cli::output::{Failure, Ui, visible};
use crate::load::read_header;
use crate::ops::IdSource;
use crate::ops::archive::folder_of;
use crate::ops::branches::Branch;
use crate::ops::prune::{BranchChoice, Damaged, Prune, branch_at};
use crate::session::usage::{end_of, places};
use pisess_json::Raw;
use pisess_store::{Glance, files_below};
use std::path::{Path, PathBuf};

const NAMED: usize = 8;

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

    /// Refuses the active branch, and several branches.
    fn refuse(
        &self,
        now: &OpenSession,
        reference: &str,
        choice: &BranchChoice,
    ) -> Result<(), Failure> {
        let id =
            |branch: &Branch| visible(&now.session.id(branch.end(&now.session)).to_string_lossy());
        let count = choice.tips.len();
        let more = (count > NAMED).then(|| format!("and {} more", count - NAMED));
        let tips: Vec<_> = choice.tips.iter().take(NAMED).map(id).chain(more).collect();
        let tips = tips.join(" ");
        let point = choice
            .point
            .map_or("root".to_owned(), |ix| now.session.id(ix).to_string());
        let hint = match (choice.is_active, count) {
            (true, _) => format!(
                "--force prunes it, and moves the leaf to {}",
                visible(&point)
            ),
            (false, 2..) => {
                "--force prunes them all; give an entry nearer to a tip to prune one".to_owned()
            }
            (false, _) => return Ok(()),
        };
        let what = match count {
            0 | 1 => format!("{reference} is on the active branch"),
            _ if choice.is_active => {
                format!("{count} branches end there, the active one too: {tips}")
            }
            _ => format!("{count} branches end there: {tips}"),
        };
        Err(now.input.cannot(what).hint(hint))
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

    /// Returns the sessions of the sub-agents that the branch started.
    fn agents_of(&self, session: &Path, choice: &BranchChoice) -> Vec<PathBuf> {
        let billed = &self.open.session.collected.billed;
        let leaving = billed
            .iter()
            .filter(|request| choice.leaves[request.entry.at()]);
        let reported = leaving.filter_map(|request| request.agents.as_deref());
        let ends: Vec<_> = reported
            .flat_map(|reported| places(session, reported))
            .collect();
        if ends.is_empty() {
            return Vec::new();
        }
        let files = folder_of(session)
            .and_then(|folder| files_below(&folder).ok())
            .unwrap_or_default();
        let is_named = |path: &Path| ends.contains(&end_of(&path.to_string_lossy()));
        files
            .into_iter()
            .map(|(path, _)| path)
            .filter(|path| is_named(path))
            .collect()
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
