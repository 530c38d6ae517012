//! `pisess relocate`: moves sessions to another project directory.

mod files;
mod headers;
mod mover;
mod stored;

use crate::agents::stores::{Disk as _, Here, Store};
use crate::cli::guide::{Example, Guide};
use crate::cli::locate::{absolute_folder, stores_seen_from_recorded};
use crate::cli::options::ChangeArgs;
use crate::cli::output::{Exit, Failure, Ui, visible};
use crate::cli::status::Status;
use crate::format::counted;
use crate::ops::relocate::{cwd_after, may_hold};
use foldhash::HashSet;
use mover::{Mover, Relocation};
use pisess_json::text::Text;
use pisess_json::write::{Object, texts};
use pisess_store::OnDisk;
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
/// If the header of a fork cannot be changed, the session stays where it is. With --force, it is
/// moved nevertheless, and the fork is reported (exit 4). If the session is moved already, its forks
/// that still name a former path are updated.
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
    let mut mover = Mover::new(&args.change);
    let planned = planned(args, sessions, &dir, &mut mover, ui)?;

    // All is moved before anything is printed, so that a closed pipe does not end the command half
    // done.
    let mut finished = Vec::new();
    for (session, cwd) in &planned {
        finished.push((session, mover.relocate(session, cwd, ui)));
    }
    let mut report = Report {
        args,
        worst: Exit::Done,
        left: HashSet::default(),
    };
    report.unread(&mut mover, ui);
    report.forks(&mover, ui);
    let print = |ui: &mut Ui| {
        for (session, done) in finished {
            report.session(session, done, ui)?;
        }
        Ok(())
    };
    let printed = if args.change.dry_run {
        print(ui)
    } else {
        ui.print_after("the sessions are moved", print)
    };
    let exit = report.worst.printed(printed)?;
    if args.moved_from.is_some() && planned.is_empty() && exit == Exit::Done {
        ui.status("no session of that directory in the stores");
    }
    Ok(exit)
}

/// Returns the sessions to move, each with its new directory.
fn planned(
    args: &Args,
    sessions: &[PathBuf],
    dir: &Path,
    mover: &mut Mover,
    ui: &Ui,
) -> Result<Vec<(PathBuf, PathBuf)>, Failure> {
    match (&args.moved_from, sessions) {
        (Some(_), [_, ..]) => {
            Err(Failure::usage("--moved-from takes no session").hint("give only the new directory"))
        }
        (Some(old), []) => Ok(moved_with(&absolute_folder(old, ui), dir, mover, ui)),
        (None, []) => {
            Err(Failure::usage("no session is given").hint("give the session, then the directory"))
        }
        (None, sessions) => Ok(sessions
            .iter()
            .map(|session| (session.clone(), dir.to_owned()))
            .collect()),
    }
}

/// Returns the sessions of a moved directory and of those below it, with the new directory of each.
fn moved_with(old: &Path, new: &Path, mover: &mut Mover, ui: &Ui) -> Vec<(PathBuf, PathBuf)> {
    let home = ui.home();
    let here = Here {
        home: home.as_deref().map(Path::new),
        folder: ui.folder(),
    };
    let mut planned = Vec::new();
    for (path, head) in &mover.stored(ui).heads {
        let Some(cwd) = &head.cwd else { continue };
        let cwd = cwd.to_string_lossy();
        if let Some(cwd) = cwd_after(&cwd, old, new, here) {
            planned.push((path.clone(), cwd));
            continue;
        }
        // An interrupted run changed the header: the session is still where those of OLD are.
        let Some(before) = cwd_after(&cwd, new, old, here) else {
            continue;
        };
        let stores = stores_seen_from_recorded(&before, ui);
        let is_left = |store: &Store| {
            store
                .folders
                .iter()
                .any(|own| Some(&**own) == path.parent())
        };
        if stores.iter().any(is_left) {
            planned.push((path.clone(), PathBuf::from(&*cwd)));
        }
    }
    planned
}

/// What is printed about a run.
struct Report<'a> {
    args: &'a Args,
    worst: Exit,
    /// What was reported to be left behind.
    left: HashSet<String>,
}

impl Report<'_> {
    /// Reports a failure, which does not stop the others.
    fn failure(&mut self, failure: &Failure, ui: &mut Ui) {
        self.worst = self.worst.max(ui.report(failure));
    }

    /// Reports what could not be read of the stores. It is a failure if it may hold sessions that
    /// were to be moved; anywhere else, forks may still name a former path.
    fn unread(&mut self, mover: &mut Mover, ui: &mut Ui) {
        let mut stores = Vec::new();
        if let Some(old) = &self.args.moved_from {
            stores = stores_seen_from_recorded(&absolute_folder(old, ui), ui);
        }
        for unread in mover.unread() {
            if may_hold(&OnDisk.real(&unread.path), &stores) {
                self.failure(&unread.failure, ui);
            } else {
                let hint = "forks in it are not updated; a later run updates them";
                ui.warn(&unread.failure.hint(hint).line());
            }
        }
    }

    /// Reports the forks that were updated, and those that were not.
    fn forks(&mut self, mover: &Mover, ui: &mut Ui) {
        for committed in &mover.committed {
            ui.warn_of(committed);
        }
        for failure in &mover.unchanged_forks {
            self.failure(failure, ui);
        }
        if mover.updated > 0 {
            let forks = counted(mover.updated, "fork", "forks");
            ui.status(&format!("{forks} updated"));
        }
    }

    /// Prints the result for a session.
    fn session(
        &mut self,
        session: &Path,
        done: Result<Relocation, Failure>,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let outcome = done.unwrap_or_else(|failure| {
            self.failure(&failure, ui);
            Relocation::failed(session)
        });
        let path = outcome.path.to_string_lossy();
        let to = outcome.to.to_string_lossy();
        let left = self.left_by(&outcome, ui);
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
        let mut first = Vec::new();
        for path in left {
            if self.left.insert(path.clone()) {
                first.push(path);
            }
        }
        if !first.is_empty() {
            let verb = if outcome.status == Status::Planned {
                "would leave"
            } else {
                "left"
            };
            ui.status(&format!("{verb} {}", first.join(", ")));
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
                    let verb = if path == to { "changed" } else { "moved" };
                    ui.status(&format!("{verb} {path}"));
                }
                ui.print_path(&to)
            }
        }
    }

    /// Returns what stays behind. A directory that cannot be read gets a note.
    fn left_by(&self, outcome: &Relocation, ui: &mut Ui) -> Vec<String> {
        let mut names = Vec::new();
        match outcome.left() {
            Ok(left) => names.extend(left.iter().map(|path| path.to_string_lossy().into_owned())),
            Err(error) => ui.warn(&error.to_string()),
        }
        names
    }
}
