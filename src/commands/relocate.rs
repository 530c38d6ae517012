//! `pisess relocate`: moves sessions to another project directory.

use crate::agents::stores::{Here, Store};
use crate::cli::guide::{Example, Guide};
use crate::cli::locate::{
    Places, Scope, absolute_folder, stores_seen_from, stores_seen_from_recorded,
};
use crate::cli::open::{Input, OpenSession};
use crate::cli::options::ChangeArgs;
use crate::cli::output::{Exit, Failure, Ui, visible};
use crate::cli::status::Status;
use crate::cli::transaction::{Attempted, under_lock};
use crate::format::counted;
use crate::load::{LoadError, Options, read_header};
use crate::ops::archive::folder_of;
use crate::ops::prune::pruned_file;
use crate::ops::relocate::{cwd_after, folder_for, follows, moved, write_with};
use crate::session::Header;
use crate::session::dialect::Dialect;
use foldhash::{HashMap, HashSet};
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::{Object, texts};
use pisess_store::{
    self as store, FoundFile, Glance, Locked, SessionFile, StoreError, WriteOptions,
};
use std::io;
use std::path::{Path, PathBuf};

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Move a session to the current directory",
        "pisess relocate session.jsonl .",
    ),
    Example::new(
        "After renaming ~/code/ferry to the current directory, move its sessions",
        "pisess relocate --moved-from ~/code/ferry .",
    ),
]);

/// Move sessions to another project directory.
///
/// Sets the working directory in the header of each session to DIR. A session in its agent's store
/// is moved to where the agent keeps the sessions of DIR, without overwriting any file; a session
/// elsewhere stays where it is. Files that belong to the session move with it: those that oh-my-pi
/// keeps beside it, including sub-agents, and SESSION.pruned. The headers of its forks in the
/// stores are updated to its new path. What stays behind is reported: other files whose names begin
/// with that of the session, such as backups, and a directory of the store that is empty now.
///
/// With --moved-from, moves all sessions of a directory and of those below it, after that directory
/// was moved or renamed: the last argument is its new path.
///
/// A session is refused (exit 3) while an agent may have it open: while an agent runs in the old or
/// the new directory, or if the session was written a moment ago. The agent would keep writing to
/// the old path.
#[derive(Debug, clap::Args)]
#[command(override_usage = concat!(
    "pisess relocate [OPTIONS] <SESSION>... <DIR>\n",
    "       pisess relocate [OPTIONS] --moved-from <DIR> <DIR>",
))]
#[command(mut_arg("force", |force| force.help("Override refusals (such as to move a session that an agent may have open)")))]
pub struct Args {
    /// The sessions, given by path or name, and last their new project directory (DIR)
    #[arg(value_name = "SESSION", required = true)]
    pub paths: Vec<PathBuf>,
    /// Move all sessions of this directory and of those below it
    #[arg(long, value_name = "DIR")]
    pub moved_from: Option<PathBuf>,
    #[command(flatten)]
    pub change: ChangeArgs,
}

pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let (dir, sessions) = args
        .paths
        .split_last()
        .ok_or_else(|| Failure::usage("no directory is given"))?;
    let dir = absolute_folder(dir, ui);
    if !dir.is_dir() && !args.change.force {
        let dir = visible(&dir.to_string_lossy());
        return Err(Failure::cannot(format_args!("{dir} is not a directory"))
            .hint("the directory comes last; --force accepts one that does not exist"));
    }
    let mut batch = Batch {
        args,
        worst: Exit::Done,
        moved: HashMap::default(),
        left: HashSet::default(),
    };
    let planned: Vec<(PathBuf, PathBuf)> =
        match (&args.moved_from, sessions) {
            (Some(_), [_, ..]) => {
                return Err(Failure::usage("--moved-from takes no session")
                    .hint("give only the new directory"));
            }
            (Some(old), []) => moved_with(&absolute_folder(old, ui), &dir, &mut batch, ui),
            (None, []) => {
                return Err(Failure::usage("no session is given")
                    .hint("give the session, then the directory"));
            }
            (None, sessions) => sessions
                .iter()
                .map(|session| (session.clone(), dir.clone()))
                .collect(),
        };
    // Changes headers first, then forks, and moves files last. The same command completes an
    // interrupted run, because it finds sessions that are not in their new place yet.
    let sessions: Vec<_> = planned
        .iter()
        .map(|(session, cwd)| (session, batch.prepare(session, cwd, ui)))
        .collect();
    batch.update_forks(ui);
    // All is moved before anything is printed, so that a closed pipe does not end the command half
    // done.
    let finish = |(session, prepared): (_, Result<Relocation, Failure>)| {
        (session, prepared.and_then(|prepared| prepared.finish(args)))
    };
    let finished: Vec<_> = sessions.into_iter().map(finish).collect();
    let print = |ui: &mut Ui| {
        finished
            .into_iter()
            .try_for_each(|(at, done)| batch.note(at, done, ui))
    };
    let printed = if args.change.dry_run {
        print(ui)
    } else {
        ui.print_after("the sessions are moved", print)
    };
    let exit = batch.worst.printed(printed)?;
    if args.moved_from.is_some() && planned.is_empty() && exit == Exit::Done {
        ui.status("no session of that directory in the stores");
    }
    Ok(exit)
}

/// Returns the sessions of a moved directory and of those below it, with the new directory of each.
fn moved_with(old: &Path, new: &Path, batch: &mut Batch, ui: &mut Ui) -> Vec<(PathBuf, PathBuf)> {
    let found = batch.heads(ui);
    let home = ui.home();
    let here = Here {
        home: home.as_deref().map(Path::new),
        folder: ui.folder(),
    };
    let of_folder = |(path, head): (PathBuf, Header)| {
        let cwd = head.cwd?.to_string_lossy().into_owned();
        if let Some(cwd) = cwd_after(&cwd, old, new, here) {
            return Some((path, cwd));
        }
        // An interrupted run changed the header: the session is still where those of OLD are.
        let before = stores_seen_from_recorded(&cwd_after(&cwd, new, old, here)?, ui);
        let is_left = |store: &Store| {
            store
                .folders
                .iter()
                .any(|own| Some(&**own) == path.parent())
        };
        before
            .iter()
            .any(is_left)
            .then(|| (path.clone(), PathBuf::from(cwd)))
    };
    found.into_iter().filter_map(of_folder).collect()
}

struct Relocation {
    path: PathBuf,
    to: PathBuf,
    status: Status,
    /// Whether the session was found by its name, so that its path is to be reported.
    by_name: bool,
}

impl Relocation {
    /// Returns the files that stay behind and are named after the session. If there are none, and
    /// its directory is now empty, returns the directory.
    fn left(&self) -> Vec<PathBuf> {
        let (Some(folder), Some(name)) = (self.path.parent(), self.path.file_name()) else {
            return Vec::new();
        };
        if self.path == self.to {
            return Vec::new();
        }
        let moving: Vec<_> = moves(&self.path, &self.to)
            .into_iter()
            .map(|(from, _)| from)
            .collect();
        let paths = store::paths_in(folder);
        if paths.is_empty() && folder.is_dir() {
            return vec![folder.to_owned()];
        }
        let is_named = |path: &Path| {
            path.file_name().is_some_and(|other| {
                other
                    .as_encoded_bytes()
                    .starts_with(name.as_encoded_bytes())
            })
        };
        paths
            .into_iter()
            .filter(|path| is_named(path) && !moving.contains(path))
            .collect()
    }

    /// Moves the session, whose header was changed before, and the files that belong to it, under
    /// its lock: `prune` may write one of them at any time.
    fn finish(self, args: &Args) -> Result<Relocation, Failure> {
        if self.status == Status::Moved {
            let late = |error: StoreError| {
                let failure = Failure::from(error).after_writing("the header");
                failure.hint("run the same command again to move the file")
            };
            // That no agent has it open was checked when the header was changed.
            let options = WriteOptions {
                is_omp: false,
                ..write_options(args)
            };
            let file = SessionFile::open(&self.path).map_err(late)?;
            let _locked = store::lock(&file, &options).map_err(late)?;
            for (from, to) in moves(&self.path, &self.to) {
                store::move_new(&from, &to).map_err(late)?;
            }
        }
        Ok(self)
    }
}

/// As with oh-my-pi, a process that has the file open for writing, or just wrote to it, owns it.
fn write_options(args: &Args) -> WriteOptions {
    args.change.options(Dialect::OhMyPi)
}

struct Batch<'a> {
    args: &'a Args,
    worst: Exit,
    /// The new path of each session, by its old one.
    moved: HashMap<PathBuf, PathBuf>,
    /// What was reported to be left behind.
    left: HashSet<String>,
}

impl Batch<'_> {
    /// Reports a failure, which does not stop the others.
    fn fail(&mut self, failure: &Failure, ui: &mut Ui) {
        self.worst = self.worst.max(ui.report(failure));
    }

    /// Prints the result for a session.
    fn note(
        &mut self,
        session: &Path,
        done: Result<Relocation, Failure>,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let outcome = done.unwrap_or_else(|failure| {
            self.fail(&failure, ui);
            let (path, to) = (session.to_owned(), session.to_owned());
            Relocation {
                path,
                to,
                status: Status::Failed,
                by_name: false,
            }
        });
        let [path, to] = [&outcome.path, &outcome.to].map(|path| path.to_string_lossy());
        let left: Vec<_> = outcome
            .left()
            .iter()
            .map(|path| path.to_string_lossy().into_owned())
            .collect();
        if self.args.change.json {
            let names: Vec<_> = left.iter().map(|path| Text::from(path.as_str())).collect();
            return ui.print_json(
                &Object::new()
                    .str("path", &path)
                    .str("to", &to)
                    .json("status", &outcome.status.json())
                    .json("left", &texts(&names))
                    .finish(),
            );
        }
        // A directory that several sessions left is reported once.
        let left: Vec<_> = left
            .into_iter()
            .filter(|path| self.left.insert(path.clone()))
            .collect();
        if !left.is_empty() {
            let verb = if outcome.status == Status::Planned {
                "would leave"
            } else {
                "left"
            };
            ui.status(&format!("{verb} {}", left.join(", ")));
        }
        match outcome.status {
            Status::Failed => Ok(()),
            Status::Planned => ui.print(&format!("{} -> {}\n", visible(&path), visible(&to))),
            Status::Current => {
                ui.status(&format!("nothing to do in {path}"));
                Ok(())
            }
            _ => {
                if outcome.by_name {
                    ui.status(&format!(
                        "{} {path}",
                        if path == to { "changed" } else { "moved" }
                    ));
                }
                ui.print_path(&to)
            }
        }
    }

    /// Refuses a session that cannot be moved; otherwise changes its header.
    fn prepare(&mut self, session: &Path, cwd: &Path, ui: &mut Ui) -> Result<Relocation, Failure> {
        let open = OpenSession::open(session, Options::default(), ui)?;
        let Some(file) = open.input.file() else {
            return Err(open
                .input
                .cannot("a stream cannot be moved")
                .hint("give the path of a file"));
        };
        let (header, dialect) = (&open.session.header, open.session.dialect);
        let old_cwd = header
            .cwd
            .as_ref()
            .map(|cwd| PathBuf::from(&*cwd.to_string_lossy()));
        let old = file.resolved().to_owned();
        let to = destination(&old, dialect, old_cwd.as_deref(), cwd, ui);
        let is_current = old == to && old_cwd.as_deref() == Some(cwd);
        let status = match (is_current, self.args.change.dry_run) {
            (true, _) => Status::Current,
            (false, true) => Status::Planned,
            (false, false) => Status::Moved,
        };
        let is_occupied = |(from, to): &(PathBuf, PathBuf)| {
            to.symlink_metadata().is_ok() && !store::is_same(from, to)
        };
        let mut occupied = moves(&old, &to).into_iter().filter(is_occupied);
        if let Some((_, to)) = occupied.next().filter(|_| status != Status::Current) {
            let what = format!("{} exists already", visible(&to.to_string_lossy()));
            return Err(open.input.cannot(what).hint("move that file away first"));
        }
        if status == Status::Moved {
            let folders: Vec<_> = old_cwd.as_deref().into_iter().chain([cwd]).collect();
            open.input
                .refuse_running(&folders, self.args.change.force)?;
            let changes = moved(
                header,
                dialect,
                cwd,
                Some(&old).filter(|_| old != to).map(|old| &**old),
            );
            self.rewrite(&open.input, &changes, ui)?;
            self.moved.insert(old.clone(), to.clone());
        }
        Ok(Relocation {
            path: old,
            to,
            status,
            by_name: open.input.by_name,
        })
    }

    fn rewrite(
        &self,
        input: &Input,
        changes: &[(&str, Vec<u8>)],
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let mut attempt = |grown: Option<Input>, locked: Locked| -> Attempted<()> {
            let now = grown.as_ref().unwrap_or(input);
            let header: Header = now.header()?;
            let mut write =
                |out: &mut dyn io::Write| write_with(&header, changes, now.source(), out);
            Ok((
                Some(locked.carrying_growth().rewrite(None, &mut write)?),
                (),
            ))
        };
        let (committed, ()) = under_lock(input, &write_options(self.args), &mut attempt)?;
        committed.iter().for_each(|committed| ui.warn_of(committed));
        Ok(())
    }

    /// Returns all sessions in the stores, with their headers. Reports what cannot be read.
    fn heads(&mut self, ui: &mut Ui) -> Vec<(PathBuf, Header)> {
        let found = Places::of(ui).find(&Scope::All);
        let unread = found
            .troubles
            .into_iter()
            .filter_map(|trouble| trouble.error);
        unread.for_each(|error| self.fail(&error.into(), ui));
        let mut heads = Vec::new();
        for FoundFile { path, .. } in found.files.into_iter().filter(|file| file.owner.is_none()) {
            match Glance::open(&path).map(|file| read_header(&file)) {
                Ok(Ok(head)) => heads.push((path, head)),
                Ok(Err(LoadError::Io(error))) => {
                    self.fail(&Failure::reading(&path.to_string_lossy(), error), ui);
                }
                // It is not a session.
                Ok(Err(_)) => {}
                // Another process has moved or deleted it meanwhile.
                Err(error) if error.kind() == Some(io::ErrorKind::NotFound) => {}
                Err(error) => self.fail(&error.into(), ui),
            }
        }
        heads
    }

    /// Updates the headers of forks to the new paths of their sources.
    fn update_forks(&mut self, ui: &mut Ui) {
        if self
            .moved
            .values()
            .zip(self.moved.keys())
            .all(|(to, from)| to == from)
        {
            return;
        }
        let mut updated = 0;
        for (path, head) in self.heads(ui) {
            let parent = Raw::checked(&head.bytes).get_text("parentSession");
            let source =
                parent.and_then(|parent| self.moved.get(Path::new(&*parent.to_string_lossy())));
            let Some(source) = source.cloned() else {
                continue;
            };
            let followed = Input::open_path(&path, ui.stdout_is())
                .and_then(|input| self.rewrite(&input, &follows(&source), ui));
            match followed {
                Ok(()) => updated += 1,
                Err(failure) => {
                    let late =
                        failure.after_writing("the header of the session it was forked from");
                    self.fail(&late, ui);
                }
            }
        }
        if updated > 0 {
            ui.status(&format!("{} updated", counted(updated, "fork", "forks")));
        }
    }
}

fn destination(
    old: &Path,
    dialect: Dialect,
    old_cwd: Option<&Path>,
    cwd: &Path,
    ui: &Ui,
) -> PathBuf {
    let folder = old.parent().unwrap_or(Path::new("/"));
    let before = stores_seen_from_recorded(old_cwd.unwrap_or(ui.folder()), ui);
    let after = stores_seen_from(cwd, ui);
    let to = folder_for(folder, dialect, &before, &after).zip(old.file_name());
    to.map_or_else(|| old.to_owned(), |(folder, name)| folder.join(name))
}

/// Returns the moves to make, in order: the session last, so that an interrupted run can be
/// repeated.
fn moves(old: &Path, to: &Path) -> Vec<(PathBuf, PathBuf)> {
    if old == to {
        return Vec::new();
    }
    let artifacts = folder_of(old)
        .zip(folder_of(to))
        .map(|(from, to)| [from, to]);
    let pruned = [old, to].map(pruned_file);
    let exists = |[from, _]: &[PathBuf; 2]| from.symlink_metadata().is_ok();
    let beside = artifacts.into_iter().chain([pruned]).filter(exists);
    beside
        .chain([[old.to_owned(), to.to_owned()]])
        .map(|[from, to]| (from, to))
        .collect()
}
