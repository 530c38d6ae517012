//! Moves a session to another project directory: its forks, its header and its files change, or
//! nothing does.
//!
//! ```text
//!   look: nothing is in the way, no agent at work ──> forks ──> header ──> files
//!                                                        <──────── one fails: all are changed back
//! ```
//!
//! The forks come first: the session moves only if they can name its new path. The files come last,
//! so that the same command completes a run that was killed: it finds the session in its old place.

use super::SessionMove;
use super::files::{MoveError, move_all, plan_file_moves, refuse_occupied};
use super::headers::ChangedHeaders;
use super::stored::{StoredSessions, Unread};
use crate::cli::locate::{stores_for_named_project, stores_for_recorded_project};
use crate::cli::open::{Input, OpenSession};
use crate::cli::options::ChangeArgs;
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::status::Status;
use crate::cli::titled::TitlePolicy;
use crate::load::LoadOptions;
use crate::ops::relocate::{find_project_folder, header_changes_for_move, parent_session_change};
use crate::session::dialect::Dialect;
use foldhash::HashMap;
use pisess_store::{self as store, Committed, SessionFile, StoreError, WriteOptions};
use std::path::{Path, PathBuf};

/// Moves sessions, one after another.
pub struct Mover<'a> {
    change: &'a ChangeArgs,
    /// The sessions in the stores, as they were before the first move. They are read once needed.
    stored: Option<StoredSessions>,
    /// The new path of each moved session, by its old path.
    new_paths: HashMap<PathBuf, PathBuf>,
    /// The number of forks that were changed.
    pub updated_forks: usize,
    /// The commits of all changes, for their warnings.
    pub commits: Vec<Committed>,
    /// With `--force`, the failures of forks that could not be changed.
    pub fork_failures: Vec<Failure>,
}

/// The result of a plan that was applied.
struct AppliedPlan {
    updated_forks: usize,
    /// With `--force`, the failures of forks that could not be changed.
    fork_failures: Vec<Failure>,
    /// The commits of the moves of files; the commits of the headers are in [`ChangedHeaders`].
    file_commits: Vec<Committed>,
}

/// The result for one session.
pub struct Relocation {
    pub path: PathBuf,
    pub to: PathBuf,
    /// The working directory in the header, before and after.
    pub old_cwd: Option<PathBuf>,
    pub new_cwd: PathBuf,
    pub status: Status,
    /// Whether the user named the session by name: then its path is reported.
    pub by_name: bool,
}

impl Relocation {
    /// Returns the result for a session that was not moved because of a failure.
    pub fn new_failed(session: &Path) -> Relocation {
        Relocation {
            path: session.to_owned(),
            to: session.to_owned(),
            old_cwd: None,
            new_cwd: PathBuf::new(),
            status: Status::Failed,
            by_name: false,
        }
    }

    /// Returns the paths that stay in the old directory: files whose names begin with the session's
    /// file name, such as backups. If the directory is now empty, returns the directory itself. A
    /// session that was not moved leaves nothing behind.
    pub fn find_leftovers(&self) -> Result<Vec<PathBuf>, StoreError> {
        let (Some(folder), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Ok(Vec::new());
        };
        if self.path == self.to {
            return Ok(Vec::new());
        }
        let paths = store::paths_in(folder)?;
        if paths.is_empty() {
            return Ok(vec![folder.to_owned()]);
        }

        // With -n, the files are not moved yet, so those that would be moved are not left behind.
        // After the move, none of them is in the old directory.
        let planned_moves = plan_file_moves(&self.path, &self.to)?;
        let mut leftovers = Vec::new();
        for path in paths {
            let file_name = path.file_name().unwrap_or_default().as_encoded_bytes();
            let is_named_after = file_name.starts_with(name.as_encoded_bytes());
            let is_planned = planned_moves.iter().any(|planned| planned.from == path);
            if is_named_after && !is_planned {
                leftovers.push(path);
            }
        }
        Ok(leftovers)
    }
}

/// The plan for one session: its old and new path, and its old and new working directory.
struct RelocationPlan<'a> {
    open: &'a OpenSession,
    file: &'a SessionFile,
    old: PathBuf,
    to: PathBuf,
    old_cwd: Option<PathBuf>,
    cwd: &'a Path,
    /// Whether the session is in a store that has a directory for each project.
    is_in_store: bool,
}

impl RelocationPlan<'_> {
    fn is_current(&self) -> bool {
        self.old == self.to && self.old_cwd.as_deref() == Some(self.cwd)
    }
}

impl<'a> Mover<'a> {
    pub fn new(change: &'a ChangeArgs) -> Mover<'a> {
        Mover {
            change,
            stored: None,
            new_paths: HashMap::default(),
            updated_forks: 0,
            commits: Vec::new(),
            fork_failures: Vec::new(),
        }
    }

    /// Returns the sessions in the stores, which the first call reads.
    pub fn stored_sessions(&mut self, ui: &Ui) -> &mut StoredSessions {
        self.stored.get_or_insert_with(|| StoredSessions::read(ui))
    }

    /// Returns the parts of the stores that could not be read. A second call returns none.
    pub fn take_unread(&mut self) -> Vec<Unread> {
        let stored = self.stored.as_mut();
        stored.map_or_else(Vec::new, |stored| std::mem::take(&mut stored.unread))
    }

    /// Moves a session to another working directory. With `-n`, only checks whether that is
    /// possible. `title_policy` decides about words of a title.
    ///
    /// # Errors
    /// If the session cannot be moved. Nothing was changed, unless the failure says otherwise.
    pub fn relocate_session(
        &mut self,
        SessionMove { session, new_cwd }: &SessionMove,
        title_policy: TitlePolicy,
        ui: &mut Ui,
    ) -> Result<Relocation, Failure> {
        let options = LoadOptions::default();
        let open = match title_policy {
            TitlePolicy::Accept => OpenSession::open_to_change(session, options, ui)?,
            TitlePolicy::SuggestOnly => OpenSession::open(session, options, ui)?,
        };
        let Some(file) = open.input.file() else {
            return Err(open
                .input
                .failure("a stream cannot be moved")
                .with_hint("give the path of a file"));
        };
        let plan = plan_relocation(&open, file, new_cwd, ui);
        let status = if plan.is_current() {
            Status::Current
        } else {
            refuse_occupied(&plan_file_moves(&plan.old, &plan.to)?, &open.input)?;
            self.refuse_busy(&plan)?;
            if self.change.dry_run {
                Status::Planned
            } else {
                Status::Moved
            }
        };
        // Also for a session that is where it belongs: its forks may still name an old path.
        if !self.change.dry_run {
            self.apply_plan(&plan, ui)?;
        }
        Ok(Relocation {
            path: plan.old,
            to: plan.to,
            old_cwd: plan.old_cwd,
            new_cwd: plan.cwd.to_owned(),
            status,
            by_name: open.input.is_found_by_name,
        })
    }

    /// Writes the new path into the headers of the forks of a session, changes its own header, and
    /// moves its files; or changes nothing: if a step fails, the headers are changed back.
    ///
    /// The counts, commits and new path are recorded only once all steps have succeeded: what was
    /// changed back is not reported.
    fn apply_plan(&mut self, plan: &RelocationPlan, ui: &Ui) -> Result<(), Failure> {
        let forks = if plan.is_in_store {
            self.forks_of(&plan.old, ui)
        } else {
            Vec::new()
        };

        let mut headers = ChangedHeaders::new(self.write_options());
        let applied = match self.change_all(&forks, plan, &mut headers, ui) {
            Ok(applied) => applied,
            Err(failure) => return Err(undo_headers(headers, failure)),
        };
        // Nothing can fail from here on, so the headers need not be changed back any more.
        self.commits.extend(applied.file_commits);
        self.commits.extend(headers.keep());
        self.updated_forks += applied.updated_forks;
        self.fork_failures.extend(applied.fork_failures);
        self.new_paths.insert(plan.old.clone(), plan.to.clone());
        Ok(())
    }

    /// Changes the forks of a session, and then the session. A session that is where it belongs is
    /// not changed itself.
    fn change_all(
        &self,
        forks: &[PathBuf],
        plan: &RelocationPlan,
        headers: &mut ChangedHeaders,
        ui: &Ui,
    ) -> Result<AppliedPlan, Failure> {
        let fork_failures = self.change_forks(forks, plan, headers, ui)?;
        let updated_forks = headers.len();
        let file_commits = if plan.is_current() {
            Vec::new()
        } else {
            self.change_session(plan, headers)?
        };
        Ok(AppliedPlan {
            updated_forks,
            fork_failures,
            file_commits,
        })
    }

    /// Fails if an agent may have the session open, or if another process has locked it. This is
    /// only a check before anything is changed, so the lock is released again.
    fn refuse_busy(&self, plan: &RelocationPlan) -> Result<(), Failure> {
        let mut folders = vec![plan.cwd];
        folders.extend(plan.old_cwd.as_deref());
        plan.open
            .input
            .refuse_running_agent(&folders, self.change.force)?;
        drop(store::lock(plan.file, &self.write_options())?);
        Ok(())
    }

    /// Returns the current paths of a session's forks. A fork that this run has moved is at its new
    /// path.
    fn forks_of(&mut self, session: &Path, ui: &Ui) -> Vec<PathBuf> {
        let mut forks = self.stored_sessions(ui).forks_of(session);
        for fork in &mut forks {
            if let Some(moved_to) = self.new_paths.get(&*fork) {
                fork.clone_from(moved_to);
            }
        }
        forks
    }

    /// Writes the new path of a session into the headers of its forks. Fails if a fork cannot be
    /// changed, because then the session must not be moved. With `--force`, returns such failures
    /// instead.
    fn change_forks(
        &self,
        forks: &[PathBuf],
        plan: &RelocationPlan,
        headers: &mut ChangedHeaders,
        ui: &Ui,
    ) -> Result<Vec<Failure>, Failure> {
        let mut failures = Vec::new();
        for fork in forks {
            let Err(failure) = change_fork(fork, &plan.to, headers, ui) else {
                continue;
            };
            // Another process has moved or deleted the fork meanwhile, so there is nothing to
            // change.
            if failure.is_missing_file {
                continue;
            }
            if !self.change.force {
                let name = &plan.open.input.name;
                return Err(failure
                    .with_context(format_args!("{name}: its fork cannot name the new path"))
                    .with_hint("the session stays where it is; --force moves it nevertheless"));
            }
            failures.push(
                failure
                    .after_writing("the session it was forked from is moved")
                    .with_hint("later, `pisess relocate` of that session completes it"),
            );
        }
        Ok(failures)
    }

    /// Changes the header of a session, then moves its files. Returns the commits of the moves.
    /// There are none if the path does not change, as in a flat store.
    fn change_session(
        &self,
        plan: &RelocationPlan,
        headers: &mut ChangedHeaders,
    ) -> Result<Vec<Committed>, Failure> {
        let session = &plan.open.session;
        let is_moved = plan.old != plan.to;
        let former_path = if is_moved { Some(&*plan.old) } else { None };
        let changes =
            header_changes_for_move(&session.header, session.dialect, plan.cwd, former_path);
        headers.change_header(&plan.open.input, &changes)?;
        if !is_moved {
            return Ok(Vec::new());
        }
        self.move_files(plan)
    }

    /// Moves the session and the files that belong to it. This is done under the lock of the
    /// session, which also protects those files: `prune` may write one of them at any time.
    ///
    /// If a file cannot be moved, the others are moved back. If that fails, too, the failure is one
    /// after a write, and says so.
    fn move_files(&self, plan: &RelocationPlan) -> Result<Vec<Committed>, Failure> {
        let options = WriteOptions {
            // `true` would refuse a session that was just written to, because an agent may have it
            // open. This command itself has just written the header, and checked that before.
            is_omp: false,
            ..self.write_options()
        };
        let file = SessionFile::open(&plan.old)?;
        let _locked = store::lock(&file, &options)?;
        let moves = plan_file_moves(&plan.old, &plan.to)?;
        refuse_occupied(&moves, &plan.open.input)?;
        move_all(&moves).map_err(|MoveError { error, is_undone }| {
            let failure = Failure::from(error);
            if is_undone {
                return failure;
            }
            failure
                .after_writing("the header and some of the files")
                .with_hint("run the same command again to move the others")
        })
    }

    /// Returns the options for all writes. They follow oh-my-pi's rule for sessions of any agent: a
    /// process owns a file that it has open for writing, or has just written to.
    fn write_options(&self) -> WriteOptions {
        WriteOptions {
            is_moved: true,
            ..self.change.write_options(Dialect::OhMyPi)
        }
    }
}

/// Writes `new_source`, the new path of the session it was forked from, into the header of a fork.
fn change_fork(
    fork: &Path,
    new_source: &Path,
    headers: &mut ChangedHeaders,
    ui: &Ui,
) -> Result<(), Failure> {
    let input = Input::open_path(fork, ui.stdout_predicate())?;
    headers.change_header(&input, &[parent_session_change(new_source)])
}

/// Changes headers back after a failure, and returns that failure. If a header cannot be changed
/// back, the returned failure says so.
///
/// If files were moved and could not be moved back, the headers keep their changes: repeating the
/// command then moves the other files. `failure` then is one after a write.
fn undo_headers(headers: ChangedHeaders, failure: Failure) -> Failure {
    let keeps_changes = failure.exit() == Exit::FailedAfterWrite;
    if keeps_changes {
        return failure;
    }
    match headers.undo_all() {
        Ok(()) => failure,
        // The first failure is reported, because it is the reason. Repeating the command completes
        // the move in both cases.
        Err(_) => failure
            .after_writing("headers, but no file is moved")
            .with_hint("run the same command again"),
    }
}

/// Plans the move of a session to the working directory `cwd`. Its file moves to the directory of
/// that project in the same store. The file stays where it is if it is in no store, or in a flat
/// store, which has no directories of projects.
fn plan_relocation<'a>(
    open: &'a OpenSession,
    file: &'a SessionFile,
    cwd: &'a Path,
    ui: &Ui,
) -> RelocationPlan<'a> {
    let recorded_cwd = open.session.header.cwd.as_ref();
    let old_cwd = recorded_cwd.map(|cwd| PathBuf::from(&*cwd.to_string_lossy()));
    let old_project = old_cwd.as_deref().unwrap_or(ui.current_folder());
    // The stores, each with its directories for the sessions of the old or of the new project.
    let stores_before = stores_for_recorded_project(old_project, ui);
    let stores_after = stores_for_named_project(cwd, ui);

    let old = file.resolved().to_owned();
    let folder = old.parent().unwrap_or(Path::new("/"));
    // `None` if the file is in no store.
    let new_folder =
        find_project_folder(folder, open.session.dialect, &stores_before, &stores_after);
    let to = match (new_folder, old.file_name()) {
        (Some(new_folder), Some(name)) => new_folder.join(name),
        _ => old.clone(),
    };
    RelocationPlan {
        is_in_store: new_folder.is_some(),
        open,
        file,
        old,
        to,
        old_cwd,
        cwd,
    }
}
