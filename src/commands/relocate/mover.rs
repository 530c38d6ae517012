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

use super::files::{MoveError, move_all, moves, refuse_occupied};
use super::headers::ChangedHeaders;
use super::stored::{StoredSessions, Unread};
use crate::cli::locate::{stores_seen_from, stores_seen_from_recorded};
use crate::cli::open::{Input, OpenSession};
use crate::cli::options::ChangeArgs;
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::status::Status;
use crate::load::Options;
use crate::ops::relocate::{folder_for, follow_source, move_header};
use crate::session::dialect::Dialect;
use foldhash::HashMap;
use pisess_store::{self as store, Committed, SessionFile, StoreError, WriteOptions};
use std::path::{Path, PathBuf};

/// Moves sessions, one after another.
pub struct Mover<'a> {
    change: &'a ChangeArgs,
    /// The sessions in the stores as they were at first; read when they are needed.
    stored: Option<StoredSessions>,
    /// The new path of each session, by its old one.
    moved: HashMap<PathBuf, PathBuf>,
    /// The number of forks that were changed.
    pub updated: usize,
    /// What the commits report.
    pub committed: Vec<Committed>,
    /// Forks that could not be changed, with `--force`.
    pub unchanged_forks: Vec<Failure>,
}

/// What became of a session.
pub struct Relocation {
    pub path: PathBuf,
    pub to: PathBuf,
    pub status: Status,
    /// Whether the session was found by its name, so that its path is to be reported.
    pub by_name: bool,
}

impl Relocation {
    /// Returns the result for a session that stays as it is.
    pub fn failed(session: &Path) -> Relocation {
        Relocation {
            path: session.to_owned(),
            to: session.to_owned(),
            status: Status::Failed,
            by_name: false,
        }
    }

    /// Returns the files that stay behind in the old directory and whose names begin with that of the
    /// session. If the directory is now empty, returns the directory. A session that was not moved
    /// leaves nothing.
    pub fn left(&self) -> Result<Vec<PathBuf>, StoreError> {
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

        let planned = moves(&self.path, &self.to)?;
        let mut left = Vec::new();
        for path in paths {
            let file_name = path.file_name().unwrap_or_default().as_encoded_bytes();
            let is_named_after = file_name.starts_with(name.as_encoded_bytes());
            let is_moved = planned.iter().any(|each| each.from == path);
            if is_named_after && !is_moved {
                left.push(path);
            }
        }
        Ok(left)
    }
}

/// A session that is to be moved, and where.
struct Plan<'a> {
    open: &'a OpenSession,
    file: &'a SessionFile,
    old: PathBuf,
    to: PathBuf,
    old_cwd: Option<PathBuf>,
    cwd: &'a Path,
    /// Whether the session is in a store in which each project has a directory.
    is_in_store: bool,
}

impl Plan<'_> {
    fn is_current(&self) -> bool {
        self.old == self.to && self.old_cwd.as_deref() == Some(self.cwd)
    }
}

impl<'a> Mover<'a> {
    pub fn new(change: &'a ChangeArgs) -> Mover<'a> {
        Mover {
            change,
            stored: None,
            moved: HashMap::default(),
            updated: 0,
            committed: Vec::new(),
            unchanged_forks: Vec::new(),
        }
    }

    /// Returns the sessions in the stores.
    pub fn stored(&mut self, ui: &Ui) -> &mut StoredSessions {
        self.stored.get_or_insert_with(|| StoredSessions::read(ui))
    }

    /// Returns what could not be read of the stores.
    pub fn unread(&mut self) -> Vec<Unread> {
        let stored = self.stored.as_mut();
        stored.map_or_else(Vec::new, |stored| std::mem::take(&mut stored.unread))
    }

    /// Moves a session; with `-n`, only looks whether it can be moved.
    ///
    /// # Errors
    /// If it cannot be moved. Unless the failure says so, nothing was changed.
    pub fn relocate(
        &mut self,
        session: &Path,
        cwd: &Path,
        ui: &mut Ui,
    ) -> Result<Relocation, Failure> {
        let open = OpenSession::open(session, Options::default(), ui)?;
        let Some(file) = open.input.file() else {
            return Err(open
                .input
                .cannot("a stream cannot be moved")
                .hint("give the path of a file"));
        };
        let plan = plan(&open, file, cwd, ui);
        let is_current = plan.is_current();
        if !is_current {
            refuse_occupied(&moves(&plan.old, &plan.to)?, &open.input)?;
        }
        let status = if is_current {
            Status::Current
        } else if self.change.dry_run {
            Status::Planned
        } else {
            Status::Moved
        };
        if !self.change.dry_run {
            self.write(&plan, ui)?;
        }
        Ok(Relocation {
            path: plan.old,
            to: plan.to,
            status,
            by_name: open.input.by_name,
        })
    }

    /// Changes all that belongs to a session, or nothing.
    fn write(&mut self, plan: &Plan, ui: &Ui) -> Result<(), Failure> {
        let mut headers = ChangedHeaders::new(self.options());
        if !plan.is_current() {
            self.refuse_busy(plan)?;
        }
        // A session that is where it belongs may have forks that still name its former path.
        let forks = if plan.is_in_store {
            self.forks_of(&plan.old, ui)
        } else {
            Vec::new()
        };
        let mut unchanged = Vec::new();
        let forked = self.change_forks(&forks, plan, &mut headers, &mut unchanged, ui);
        let updated = headers.len();
        let written = match forked {
            Ok(()) if !plan.is_current() => self.change_session(plan, &mut headers),
            Ok(()) => Ok(Vec::new()),
            Err(failure) => Err(failure),
        };
        match written {
            Ok(committed) => self.committed.extend(committed),
            Err(failure) => return Err(undone(headers, failure)),
        }
        self.updated += updated;
        self.committed.extend(headers.keep());
        self.unchanged_forks.extend(unchanged);
        self.moved.insert(plan.old.clone(), plan.to.clone());
        Ok(())
    }

    /// Fails if an agent may have the session open, or another process has locked it: before
    /// anything is changed.
    fn refuse_busy(&self, plan: &Plan) -> Result<(), Failure> {
        let mut folders = vec![plan.cwd];
        folders.extend(plan.old_cwd.as_deref());
        plan.open
            .input
            .refuse_running(&folders, self.change.force)?;
        drop(store::lock(plan.file, &self.options())?);
        Ok(())
    }

    /// Returns the present paths of the forks of a session: those that were moved by now are at their
    /// new paths.
    fn forks_of(&mut self, session: &Path, ui: &Ui) -> Vec<PathBuf> {
        let mut forks = self.stored(ui).forks_of(session);
        for fork in &mut forks {
            if let Some(moved_to) = self.moved.get(&*fork) {
                fork.clone_from(moved_to);
            }
        }
        forks
    }

    /// Lets the headers of forks name the new path of their source. With `--force`, one that cannot
    /// be changed is added to `unchanged`.
    fn change_forks(
        &self,
        forks: &[PathBuf],
        plan: &Plan,
        headers: &mut ChangedHeaders,
        unchanged: &mut Vec<Failure>,
        ui: &Ui,
    ) -> Result<(), Failure> {
        for fork in forks {
            let changed = Input::open_path(fork, ui.stdout_is())
                .and_then(|input| headers.change(&input, &[follow_source(&plan.to)]));
            match changed {
                Ok(()) => {}
                // Another process has moved or deleted it meanwhile.
                Err(failure) if failure.is_missing => {}
                Err(failure) if self.change.force => unchanged.push(
                    failure
                        .after_writing("the session it was forked from is moved")
                        .hint("later, `pisess relocate` of that session completes it"),
                ),
                Err(failure) => {
                    let name = &plan.open.input.name;
                    return Err(failure
                        .within(format_args!("{name}: its fork cannot name the new path"))
                        .hint("the session stays where it is; --force moves it nevertheless"));
                }
            }
        }
        Ok(())
    }

    /// Changes the header of a session, then moves its files.
    fn change_session(
        &self,
        plan: &Plan,
        headers: &mut ChangedHeaders,
    ) -> Result<Vec<Committed>, Failure> {
        let session = &plan.open.session;
        let former = (plan.old != plan.to).then_some(&*plan.old);
        let changes = move_header(&session.header, session.dialect, plan.cwd, former);
        headers.change(&plan.open.input, &changes)?;
        if plan.old == plan.to {
            return Ok(Vec::new());
        }
        self.move_files(plan)
    }

    /// Moves the session and what belongs to it under its lock: `prune` may write one of these files
    /// at any time.
    fn move_files(&self, plan: &Plan) -> Result<Vec<Committed>, Failure> {
        // That no agent has it open was checked when the header was changed.
        let options = WriteOptions {
            is_omp: false,
            ..self.options()
        };
        let file = SessionFile::open(&plan.old)?;
        let _locked = store::lock(&file, &options)?;
        let moves = moves(&plan.old, &plan.to)?;
        refuse_occupied(&moves, &plan.open.input)?;
        move_all(&moves).map_err(|MoveError { error, is_undone }| {
            let failure = Failure::from(error);
            if is_undone {
                return failure;
            }
            failure
                .after_writing("the header, and some of the files are moved")
                .hint("run the same command again to move the others")
        })
    }

    /// As with oh-my-pi, a process that has the file open for writing, or just wrote to it, owns it.
    fn options(&self) -> WriteOptions {
        WriteOptions {
            is_moved: true,
            ..self.change.options(Dialect::OhMyPi)
        }
    }
}

/// Changes headers back after a failure, and returns it.
fn undone(headers: ChangedHeaders, failure: Failure) -> Failure {
    // Files were moved and could not be moved back: the same command does the rest.
    if failure.exit() == Exit::Written {
        return failure;
    }
    match headers.undo() {
        Ok(()) => failure,
        Err(_) => failure
            .after_writing("headers, but no file is moved")
            .hint("run the same command again"),
    }
}

/// Returns the plan to move a session to the directory `cwd`. Its file moves to the directory of that
/// project in the same store; it stays where it is if it is in no store or in a flat one.
fn plan<'a>(open: &'a OpenSession, file: &'a SessionFile, cwd: &'a Path, ui: &Ui) -> Plan<'a> {
    let header = &open.session.header;
    let old_cwd = header
        .cwd
        .as_ref()
        .map(|cwd| PathBuf::from(&*cwd.to_string_lossy()));
    let old = file.resolved().to_owned();
    let before = stores_seen_from_recorded(old_cwd.as_deref().unwrap_or(ui.folder()), ui);
    let after = stores_seen_from(cwd, ui);
    let folder = old.parent().unwrap_or(Path::new("/"));
    let new_folder = folder_for(folder, open.session.dialect, &before, &after);
    let to = match (new_folder, old.file_name()) {
        (Some(new_folder), Some(name)) => new_folder.join(name),
        _ => old.clone(),
    };
    Plan {
        is_in_store: new_folder.is_some(),
        open,
        file,
        old,
        to,
        old_cwd,
        cwd,
    }
}
