//! `pisess relocate`: moves sessions to another project directory.

mod files;
mod headers;
mod mover;
mod stored;

use crate::agents::stores::{BaseDirs, Disk as _, Store};
use crate::cli::guide::{Example, Guide};
use crate::cli::locate::{resolve_user_folder, stores_for_recorded_project};
use crate::cli::options::ChangeArgs;
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::cli::status::Status;
use crate::format::format_count;
use crate::ops::relocate::{may_hold_sessions, moved_cwd};
use foldhash::HashSet;
use mover::{Mover, Relocation};
use pisess_json::text::Text;
use pisess_json::write::{Object, text_array};
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
/// moved nevertheless, and the fork is reported (exit 4). If the session is moved already, its
/// forks that still name a former path are updated.
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
        .ok_or_else(|| Failure::usage_error("no directory is given"))?;
    let dir = resolve_user_folder(dir, ui);
    if !dir.is_dir() && !args.change.force {
        let dir = to_visible(&dir.to_string_lossy());
        return Err(Failure::invalid(format_args!("{dir} is not a directory"))
            .with_hint("the directory comes last; --force accepts one that does not exist"));
    }
    let mut mover = Mover::new(&args.change);
    let planned = plan_moves(args, sessions, &dir, &mut mover, ui)?;

    // All is moved before anything is printed, so that a closed pipe does not end the command half
    // done.
    let mut results = Vec::new();
    for (session, cwd) in &planned {
        results.push((session, mover.relocate_session(session, cwd, ui)));
    }
    let mut report = RelocationReport {
        args,
        worst_exit: Exit::Done,
        reported_leftovers: HashSet::default(),
    };
    report.report_unread(&mut mover, ui);
    report.report_forks(&mover, ui);
    let print = |ui: &mut Ui| {
        for (session, result) in results {
            report.report_session(session, result, ui)?;
        }
        Ok(())
    };
    let printed = if args.change.dry_run {
        print(ui)
    } else {
        ui.print_after_write("the sessions are moved", print)
    };
    let exit = report.worst_exit.or_print_failure(printed)?;
    if args.moved_from.is_some() && planned.is_empty() && exit == Exit::Done {
        ui.print_status("no session of that directory in the stores");
    }
    Ok(exit)
}

/// Returns the sessions to move, each with its new directory.
fn plan_moves(
    args: &Args,
    sessions: &[PathBuf],
    dir: &Path,
    mover: &mut Mover,
    ui: &Ui,
) -> Result<Vec<(PathBuf, PathBuf)>, Failure> {
    match (&args.moved_from, sessions) {
        (Some(_), [_, ..]) => Err(Failure::usage_error("--moved-from takes no session")
            .with_hint("give only the new directory")),
        (Some(old), []) => Ok(sessions_of_moved_folder(
            &resolve_user_folder(old, ui),
            dir,
            mover,
            ui,
        )),
        (None, []) => Err(Failure::usage_error("no session is given")
            .with_hint("give the session, then the directory")),
        (None, sessions) => Ok(sessions
            .iter()
            .map(|session| (session.clone(), dir.to_owned()))
            .collect()),
    }
}

/// Returns the sessions of a moved directory and of those below it, with the new directory of each.
fn sessions_of_moved_folder(
    old: &Path,
    new: &Path,
    mover: &mut Mover,
    ui: &Ui,
) -> Vec<(PathBuf, PathBuf)> {
    let home = ui.home();
    let here = BaseDirs {
        home: home.as_deref().map(Path::new),
        cwd: ui.current_folder(),
    };
    let mut planned = Vec::new();
    for (path, head) in &mover.stored_sessions(ui).headers {
        let Some(cwd) = &head.cwd else { continue };
        let cwd = cwd.to_string_lossy();
        if let Some(cwd) = moved_cwd(&cwd, old, new, here) {
            planned.push((path.clone(), cwd));
            continue;
        }
        // An interrupted run changed the header: the session is still where those of OLD are.
        let Some(former_cwd) = moved_cwd(&cwd, new, old, here) else {
            continue;
        };
        let stores = stores_for_recorded_project(&former_cwd, ui);
        let is_in_former_folder = |store: &Store| {
            store
                .folders
                .iter()
                .any(|own| Some(&**own) == path.parent())
        };
        if stores.iter().any(is_in_former_folder) {
            planned.push((path.clone(), PathBuf::from(&*cwd)));
        }
    }
    planned
}

/// What is printed about a run.
struct RelocationReport<'a> {
    args: &'a Args,
    worst_exit: Exit,
    /// What was reported to be left behind.
    reported_leftovers: HashSet<String>,
}

impl RelocationReport<'_> {
    /// Reports a failure, which does not stop the others.
    fn report_failure(&mut self, failure: &Failure, ui: &mut Ui) {
        self.worst_exit = self.worst_exit.max(ui.report_failure(failure));
    }

    /// Reports what could not be read of the stores. It is a failure if it may hold sessions that
    /// were to be moved; anywhere else, forks may still name a former path.
    fn report_unread(&mut self, mover: &mut Mover, ui: &mut Ui) {
        let mut stores = Vec::new();
        if let Some(old) = &self.args.moved_from {
            stores = stores_for_recorded_project(&resolve_user_folder(old, ui), ui);
        }
        for unread in mover.take_unread() {
            if may_hold_sessions(&OnDisk.real(&unread.path), &stores) {
                self.report_failure(&unread.failure, ui);
            } else {
                let hint = "forks in it are not updated; a later run updates them";
                ui.warn(&unread.failure.with_hint(hint).to_line());
            }
        }
    }

    /// Reports the forks that were updated, and those that were not.
    fn report_forks(&mut self, mover: &Mover, ui: &mut Ui) {
        for committed in &mover.commits {
            ui.report_commit_warnings(committed);
        }
        for failure in &mover.fork_failures {
            self.report_failure(failure, ui);
        }
        if mover.updated_forks > 0 {
            let forks = format_count(mover.updated_forks, "fork", "forks");
            ui.print_status(&format!("{forks} updated"));
        }
    }

    /// Prints the result for a session.
    fn report_session(
        &mut self,
        session: &Path,
        result: Result<Relocation, Failure>,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let outcome = result.unwrap_or_else(|failure| {
            self.report_failure(&failure, ui);
            Relocation::new_failed(session)
        });
        let path = outcome.path.to_string_lossy();
        let to = outcome.to.to_string_lossy();
        let leftovers = self.list_leftovers(&outcome, ui);
        if self.args.change.json {
            let names: Vec<_> = leftovers
                .iter()
                .map(|path| Text::from(path.as_str()))
                .collect();
            return ui.print_json(
                &Object::new()
                    .str("path", &path)
                    .str("to", &to)
                    .json("status", &outcome.status.to_json())
                    .json("left", &text_array(&names))
                    .finish(),
            );
        }
        // A directory that several sessions left is reported once.
        let mut newly_left = Vec::new();
        for path in leftovers {
            if self.reported_leftovers.insert(path.clone()) {
                newly_left.push(path);
            }
        }
        if !newly_left.is_empty() {
            let verb = if outcome.status == Status::Planned {
                "would leave"
            } else {
                "left"
            };
            ui.print_status(&format!("{verb} {}", newly_left.join(", ")));
        }
        match outcome.status {
            Status::Failed => Ok(()),
            Status::Planned => ui.print(&format!("{} -> {}\n", to_visible(&path), to_visible(&to))),
            Status::Current => {
                ui.print_status(&format!("nothing to do in {path}"));
                Ok(())
            }
            _ => {
                if outcome.by_name {
                    let verb = if path == to { "changed" } else { "moved" };
                    ui.print_status(&format!("{verb} {path}"));
                }
                ui.print_path(&to)
            }
        }
    }

    /// Returns what stays behind. A directory that cannot be read gets a note.
    fn list_leftovers(&self, outcome: &Relocation, ui: &mut Ui) -> Vec<String> {
        let mut names = Vec::new();
        match outcome.find_leftovers() {
            Ok(left) => names.extend(left.iter().map(|path| path.to_string_lossy().into_owned())),
            Err(error) => ui.warn(&error.to_string()),
        }
        names
    }
}
