//! `pisess relocate`: moves sessions to another project directory.

mod files;
mod headers;
mod mover;
mod stored;

use crate::agents::stores::{BaseDirs, Disk as _, Store};
use crate::cli::guide::{Example, Guide};
use crate::cli::locate::{resolve_user_folder, stores_for_recorded_project};
use crate::cli::named::{find_project_cwd, report_project, resolve_name};
use crate::cli::options::ChangeArgs;
use crate::cli::output::{Cell, Exit, Failure, Ui, plain_cell, to_visible};
use crate::cli::plan::{PlanTable, half_path_cell, session_moves_table, size_with_companions};
use crate::cli::session_report::report_new_session;
use crate::cli::status::Status;
use crate::cli::titled::TitlePolicy;
use crate::format::format_count;
use crate::ops::relocate::{may_hold_sessions, moved_cwd};
use foldhash::HashSet;
use mover::{Mover, Relocation};
use pisess_json::text::Text;
use pisess_json::write::{Object, text_array};
use pisess_store::{self as store, OnDisk};
use std::path::{Path, PathBuf};
use stored::StoredSession;

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
/// (where the agent keeps sessions) moves to the store's directory for DIR. Of other sessions, only
/// the header is changed. When a file moves, no other file is overwritten, and the headers of the
/// session's forks in the stores get the new path. The other files of the session move, too:
/// SESSION.pruned, and the files that oh-my-pi keeps beside a session, including sub-agents. Other
/// files whose names begin with the session's name, such as backups, stay and are reported. A store
/// directory that is empty afterwards stays, too.
///
/// If the header of a fork cannot be changed, the session is not moved. With --force, it is moved,
/// and the fork is reported (exit 4). If a session belongs to DIR already, its file stays where it
/// is. If a fork still names an old path of this file, the header of the fork is updated.
///
/// `relocate OLD NEW` and `relocate --moved-from OLD NEW` move all sessions of the project
/// directory OLD and of its subdirectories, after you renamed OLD to NEW. In `relocate OLD NEW`,
/// OLD may also be the name of the project, as `list` shows it.
///
/// If DIR or NEW does not exist yet, `relocate` needs --force. The exception is `relocate
/// --moved-from` if the directory above NEW exists: so you can also run this form before you rename
/// OLD.
///
/// A session that an agent may have open is refused (exit 3), because the agent would keep writing
/// to the old path. pisess assumes that a session is open in two cases: an agent runs in the old or
/// the new directory, or the session was written a moment ago.
#[derive(Debug, clap::Args)]
#[command(override_usage = concat!(
    "pisess relocate [OPTIONS] <SESSION>... <DIR>\n",
    "       pisess relocate [OPTIONS] --moved-from <DIR> <DIR>",
))]
#[command(mut_arg("force", |force| force.help("Override refusals (such as to move a session that an agent may have open, or to a DIR that does not exist; --moved-from only needs the directory above DIR)")))]
pub struct Args {
    /// The sessions, given by path or name, then DIR, their new project directory
    #[arg(value_name = "SESSION", required = true)]
    pub paths: Vec<PathBuf>,
    /// Move all sessions of this directory and its subdirectories
    #[arg(long, value_name = "DIR")]
    pub moved_from: Option<PathBuf>,
    #[command(flatten)]
    pub change: ChangeArgs,
}

/// Moves sessions. All of them are moved before anything is printed, so that a closed pipe does not
/// end the command half done.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let Some((dir, sessions)) = args.paths.split_last() else {
        return Err(Failure::usage_error("no directory is given"));
    };
    let dir = resolve_user_folder(dir, ui);
    args.require_new_folder(&dir, ui)?;
    let mut mover = Mover::new(&args.change);
    let planned_moves = plan_moves(args, sessions, &dir, &mut mover, ui)?;
    let is_reversible = true;
    let title_policy = TitlePolicy::for_change(is_reversible, sessions, ui);
    let has_moves = !planned_moves.is_empty();
    let mut results = Vec::new();
    for planned in planned_moves {
        let result = mover.relocate_session(&planned, title_policy, ui);
        results.push((planned.session, result));
    }

    let only_moved = find_only_moved(&results);
    let exit = report_results(args, &mut mover, results, ui)?;
    if let Some(path) = only_moved
        && !args.change.json
    {
        report_new_session("moved", &path, ui);
    }
    if !has_moves && exit == Exit::Done {
        ui.print_status("no session of that directory in the stores");
    }
    Ok(exit)
}

/// The result of moving a session, which is given by its path or name.
type MoveResult = (PathBuf, Result<Relocation, Failure>);

/// Returns the new path of the session, if a single one was to be moved and is.
fn find_only_moved(results: &[MoveResult]) -> Option<PathBuf> {
    match results {
        [(_, Ok(outcome))] if outcome.status == Status::Moved => Some(outcome.to.clone()),
        _ => None,
    }
}

/// Reports what was moved, and the forks that were changed, and returns the worst exit code. A
/// failure to print does not undo a move, and says so.
fn report_results(
    args: &Args,
    mover: &mut Mover,
    results: Vec<MoveResult>,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let mut report = RelocationReport {
        args,
        worst_exit: Exit::Done,
        reported_leftovers: HashSet::default(),
    };
    report.report_unread(mover, ui);
    report.report_forks(mover, ui);
    let printed = if args.change.dry_run {
        report.print_sessions(results, ui)
    } else {
        ui.print_after_write("the sessions are moved", |ui| {
            report.print_sessions(results, ui)
        })
    };
    report.worst_exit.or_print_failure(printed)
}

impl Args {
    /// Refuses a new working directory that does not exist, unless it is made later or `--force` is
    /// given.
    fn require_new_folder(&self, dir: &Path, ui: &mut Ui) -> Result<(), Failure> {
        if self.may_precede_move(dir, ui) {
            let shown_dir = to_visible(&dir.to_string_lossy());
            ui.warn(&format!("{shown_dir} does not exist yet"));
            return Ok(());
        }
        if dir.is_dir() || self.change.force {
            return Ok(());
        }
        Err(no_directory_failure(dir))
    }

    /// Whether the user may rename the directory of `--moved-from` to `dir` afterwards: nothing is
    /// at `dir`, and the directory above it exists.
    ///
    /// A directory can neither be renamed to a symbolic link that leads nowhere, nor to a directory
    /// below itself.
    fn may_precede_move(&self, dir: &Path, ui: &Ui) -> bool {
        let Some(old) = &self.moved_from else {
            return false;
        };
        let parent_exists = dir.parent().is_some_and(Path::is_dir);
        let is_free = matches!(store::is_free(dir), Ok(true));
        let is_below_old = dir.starts_with(resolve_user_folder(old, ui));
        parent_exists && is_free && !is_below_old
    }
}

/// Returns the failure for a DIR that is not a directory, or that does not exist.
fn no_directory_failure(dir: &Path) -> Failure {
    let name = to_visible(&dir.to_string_lossy());
    let leads_nowhere = dir.is_symlink() && !dir.exists();
    let failure = if leads_nowhere {
        Failure::invalid(format_args!(
            "{name} is a symbolic link to a path that does not exist"
        ))
    } else {
        Failure::invalid(format_args!("{name} is not a directory"))
    };
    failure.with_hint("the directory comes last; --force accepts one that does not exist")
}

/// A session to move, and its destination.
struct SessionMove {
    /// The path or the name of the session.
    session: PathBuf,
    /// The new working directory of the session.
    new_cwd: PathBuf,
}

/// Returns the sessions to move to the working directory `dir`. There are three forms:
///
/// - `--moved-from OLD DIR` moves the stored sessions of OLD, a directory that was moved to DIR;
/// - `OLD DIR` does the same, if OLD is a directory and not a session;
/// - `SESSION… DIR` moves the given sessions.
fn plan_moves(
    args: &Args,
    sessions: &[PathBuf],
    dir: &Path,
    mover: &mut Mover,
    ui: &mut Ui,
) -> Result<Vec<SessionMove>, Failure> {
    if let Some(old) = &args.moved_from {
        if !sessions.is_empty() {
            return Err(Failure::usage_error("--moved-from takes no session")
                .with_hint("give only the new directory"));
        }
        let old = resolve_user_folder(old, ui);
        return Ok(plan_moves_of_folder(&old, dir, mover, ui));
    }
    if sessions.is_empty() {
        return Err(Failure::usage_error("no session is given")
            .with_hint("give the session, then the directory"));
    }
    if let [old] = sessions {
        let moves = plan_moves_of_named_folder(old, dir, mover, ui)?;
        // A directory is no session, even if no stored session belongs to it.
        if !moves.is_empty() || old.is_dir() {
            return Ok(moves);
        }
    }
    // Whether each of these is a session is only known when it is opened.
    let mut moves = Vec::new();
    for session in sessions {
        moves.push(SessionMove {
            session: session.clone(),
            new_cwd: dir.to_owned(),
        });
    }
    Ok(moves)
}

/// Returns the moves for `relocate OLD NEW` if OLD is a directory, or was one before it was moved:
/// the stored sessions of OLD. Returns none if OLD is a session. OLD may also be the name of a
/// project, as `list` shows it, whose directory no longer exists.
///
/// # Errors
/// If several projects have the name.
fn plan_moves_of_named_folder(
    old: &Path,
    new: &Path,
    mover: &mut Mover,
    ui: &mut Ui,
) -> Result<Vec<SessionMove>, Failure> {
    if names_session(old, ui) {
        return Ok(Vec::new());
    }
    let moves = plan_moves_of_folder(&resolve_user_folder(old, ui), new, mover, ui);
    if !moves.is_empty() {
        return Ok(moves);
    }
    match find_moved_project(old, ui)? {
        Some(cwd) => Ok(plan_moves_of_folder(&cwd, new, mover, ui)),
        None => Ok(Vec::new()),
    }
}

/// Whether an argument is a session, and not a directory. A single word is a session if one has
/// this name.
fn names_session(argument: &Path, ui: &mut Ui) -> bool {
    if argument.is_file() {
        return true;
    }
    let is_path = argument.components().count() > 1 || argument.is_dir();
    !is_path && !is_unknown_name(argument, ui)
}

/// Returns the directory of the project with this name, and reports it. `None` if there is no such
/// project, or if its directory still exists.
///
/// # Errors
/// If several projects have the name.
fn find_moved_project(name: &Path, ui: &mut Ui) -> Result<Option<PathBuf>, Failure> {
    let Some(cwd) = find_project_cwd(name, ui)? else {
        return Ok(None);
    };
    if cwd.is_dir() {
        return Ok(None);
    }
    report_project(name, &cwd, ui);
    Ok(Some(cwd))
}

/// Whether no session has the name.
fn is_unknown_name(name: &Path, ui: &Ui) -> bool {
    match resolve_name(name, ui) {
        Ok(_) => false,
        Err(failure) => failure.is_missing_file,
    }
}

/// Returns moves of the stored sessions whose working directory is `old`, the moved directory, or
/// below it. Their new working directory is `new`, or the same directory below `new`.
///
/// Sessions that an interrupted run has moved in part are included. It has changed the header,
/// which names the new directory, but the file is still in the store's directory for the old
/// project.
fn plan_moves_of_folder(old: &Path, new: &Path, mover: &mut Mover, ui: &Ui) -> Vec<SessionMove> {
    let home = ui.home();
    let base_dirs = BaseDirs {
        home: home.as_deref().map(Path::new),
        cwd: ui.current_folder(),
    };
    let mut moves = Vec::new();
    for StoredSession { path, header } in &mover.stored_sessions(ui).sessions {
        let Some(cwd) = &header.cwd else { continue };
        let cwd = cwd.to_string_lossy();
        let mut new_cwd = moved_cwd(&cwd, old, new, base_dirs);
        if new_cwd.is_none()
            && let Some(former_cwd) = moved_cwd(&cwd, new, old, base_dirs)
            && is_among_sessions_of(&former_cwd, path, ui)
        {
            // The header is changed already, and only the file is still to be moved.
            new_cwd = Some(PathBuf::from(&*cwd));
        }
        if let Some(new_cwd) = new_cwd {
            moves.push(SessionMove {
                session: path.clone(),
                new_cwd,
            });
        }
    }
    moves
}

/// Whether a file is in a store's directory for the sessions of a project.
fn is_among_sessions_of(project: &Path, path: &Path, ui: &Ui) -> bool {
    for Store { folders, .. } in stores_for_recorded_project(project, ui) {
        if folders
            .iter()
            .any(|folder| Some(&**folder) == path.parent())
        {
            return true;
        }
    }
    false
}

/// Prints the results of a run, and collects its exit code.
struct RelocationReport<'a> {
    args: &'a Args,
    worst_exit: Exit,
    /// The paths that were already reported as left behind.
    reported_leftovers: HashSet<String>,
}

impl RelocationReport<'_> {
    /// Reports a failure, and raises the exit code to the exit code of the failure.
    fn report_failure(&mut self, failure: &Failure, ui: &mut Ui) {
        self.worst_exit = self.worst_exit.max(ui.report_failure(failure));
    }

    /// Prints the result for each session; with `-n`, a table. Even if printing fails halfway, the
    /// exit code includes the failures so far.
    fn print_sessions(&mut self, results: Vec<MoveResult>, ui: &mut Ui) -> Result<(), Failure> {
        let mut plan = session_moves_table();
        for (session, result) in results {
            self.report_session(&session, result, &mut plan, ui)?;
        }
        plan.print(ui)
    }

    /// Reports the parts of the stores that could not be read.
    ///
    /// With `--moved-from`, the sessions to move are searched for in the stores. A part that may
    /// hold such a session is a failure. Any other part is a warning: only forks in it may still
    /// name an old path.
    fn report_unread(&mut self, mover: &mut Mover, ui: &mut Ui) {
        // Without `--moved-from`, no store was searched for the sessions to move.
        let searched_stores = match &self.args.moved_from {
            Some(old) => stores_for_recorded_project(&resolve_user_folder(old, ui), ui),
            None => Vec::new(),
        };
        for unread in mover.take_unread() {
            let path = OnDisk.resolve_links(&unread.path);
            let may_hold_moved = may_hold_sessions(&path, &searched_stores);
            if may_hold_moved {
                self.report_failure(&unread.failure, ui);
            } else {
                let hint = "forks in it are not updated; a later run updates them";
                ui.warn(&unread.failure.with_hint(hint).to_line());
            }
        }
    }

    /// Reports the number of forks whose headers name the new paths, and the forks whose headers
    /// could not be changed. Before that, reports the warnings of all commits.
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

    /// Prints the result for a session: as JSON, or as its new path. With `-n`, adds the session to
    /// the plan. Reports on standard error what is left in the old directory.
    fn report_session(
        &mut self,
        session: &Path,
        result: Result<Relocation, Failure>,
        plan: &mut PlanTable,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let outcome = match result {
            Ok(outcome) => outcome,
            Err(failure) => {
                self.report_failure(&failure, ui);
                Relocation::new_failed(session)
            }
        };
        let leftovers = self.list_leftovers(&outcome, ui);
        if self.args.change.json {
            return ui.print_json(&relocation_json(&outcome, &leftovers));
        }

        self.report_moved(&outcome, plan, ui)?;
        self.report_leftovers(leftovers, &outcome, ui);
        Ok(())
    }

    /// Prints the new path of a session, or adds the session to the plan.
    fn report_moved(
        &self,
        outcome: &Relocation,
        plan: &mut PlanTable,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let path = outcome.path.to_string_lossy();
        let to = outcome.to.to_string_lossy();
        match outcome.status {
            Status::Failed => Ok(()),
            Status::Planned => {
                let cells = planned_cells(outcome, ui);
                plan.add_row(size_with_companions(&outcome.path), cells, ui)
            }
            Status::Current => {
                ui.print_status(&format!("nothing to do in {path}"));
                Ok(())
            }
            // Of the other statuses, `relocate` uses only `Moved`.
            _ => {
                // The user gave a name such as `last`, so the session that it meant is printed.
                if outcome.by_name {
                    let verb = if path == to { "changed" } else { "moved" };
                    ui.print_status(&format!("{verb} {path}"));
                }
                ui.print_path(&to)
            }
        }
    }

    /// Reports the paths that a session leaves behind. Each path is reported once, because several
    /// sessions may leave the same directory.
    fn report_leftovers(&mut self, leftovers: Vec<String>, outcome: &Relocation, ui: &mut Ui) {
        let mut new_leftovers = Vec::new();
        for path in leftovers {
            if !self.reported_leftovers.insert(path.clone()) {
                continue;
            }
            // An empty directory needs no action by the user. It is not removed, because an agent
            // that runs in the old project may be about to write a new session there.
            let is_old_folder = outcome.path.parent() == Some(Path::new(&path));
            if !is_old_folder {
                new_leftovers.push(path);
            }
        }
        if new_leftovers.is_empty() {
            return;
        }
        let verb = if outcome.status == Status::Planned {
            "would leave behind"
        } else {
            "left behind"
        };
        ui.print_status(&format!("{verb} {}", new_leftovers.join(", ")));
    }

    /// Returns the paths that stay behind. Warns of a directory that cannot be read.
    fn list_leftovers(&self, outcome: &Relocation, ui: &mut Ui) -> Vec<String> {
        match outcome.find_leftovers() {
            Ok(paths) => paths
                .iter()
                .map(|path| path.to_string_lossy().into_owned())
                .collect(),
            Err(error) => {
                ui.warn(&error.to_string());
                Vec::new()
            }
        }
    }
}

/// Returns the cells of a planned move: the old and the new path. If the file stays where it is,
/// only its header changes: then the cells have the name of the file, and its old and new working
/// directory.
fn planned_cells(outcome: &Relocation, ui: &Ui) -> Vec<Cell> {
    if outcome.path != outcome.to {
        return vec![
            half_path_cell(&outcome.path, ui),
            half_path_cell(&outcome.to, ui),
        ];
    }
    let file_name = outcome.path.file_name().unwrap_or_default();
    let mut from = plain_cell(format!("{}: ", to_visible(&file_name.to_string_lossy())));
    match &outcome.old_cwd {
        Some(cwd) => from.extend(half_path_cell(cwd, ui)),
        None => from.extend(plain_cell("no directory".to_owned())),
    }
    vec![from, half_path_cell(&outcome.new_cwd, ui)]
}

/// Returns the result for a session as JSON. Its member `left` has the paths that stay behind.
fn relocation_json(outcome: &Relocation, leftovers: &[String]) -> Vec<u8> {
    let leftovers: Vec<_> = leftovers
        .iter()
        .map(|path| Text::from(path.as_str()))
        .collect();
    Object::new()
        .str("path", &outcome.path.to_string_lossy())
        .str("to", &outcome.to.to_string_lossy())
        .json("status", &outcome.status.to_json())
        .json("left", &text_array(&leftovers))
        .finish()
}
