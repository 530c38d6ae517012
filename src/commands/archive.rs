//! `pisess archive`: moves sessions out of the agents' stores into compressed archives, and back.

mod interrupted;
mod list;
mod pack;
mod report;
mod restore;
mod unpack;

use crate::cli::guide::{Example, Guide};
use crate::cli::ids::Ids;
use crate::cli::locate::{Scope, SessionStores, resolve_user_folder};
use crate::cli::named::{self, resolve_argument};
use crate::cli::options::{ChangeArgs, parse_amount};
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::period;
use crate::format::format_count;
use crate::ops::archive::ArchiveFilter;
use interrupted::restore_interrupted;
use list::list_archived;
use pack::Packer;
use pisess_store as store;
use report::{ArchiveOutcome, report_outcomes};
use restore::restore_archive;
use std::path::{Path, PathBuf};
use unpack::{delete_archive, find_archive};

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "List which sessions of all projects have no message newer than 90 days",
        "pisess archive -n --all --older-than 90d",
    ),
    Example::new("Archive them", "pisess archive --all --older-than 90d"),
    Example::new(
        "List the archived sessions of all projects",
        "pisess archive --list --all",
    ),
]);

/// Move sessions out of the agents' stores into compressed archives, and back.
///
/// Moves each session to `sessions.archive`, a directory beside its store that the agents do not
/// list. Each archive is one file, compressed with zstd. It also contains the files of sub-agents,
/// SESSION.pruned, and a copy of the blobs of oh-my-pi that the session refers to. The archive is
/// read again and compared before the session is removed.
///
/// Name the sessions, or choose them by options. Options choose from the sessions of the current
/// directory, of --project, or of all projects with --all. --older-than, --larger-than and --empty
/// choose only the sessions that meet the condition. Chosen sessions that changed in the last ten minutes, or that
/// an agent may have open, are skipped. A named session that an agent may have open is refused
/// (exit 3).
///
/// `list`, `grep` and `stats` include archived sessions with --archived. Every command reads an
/// archive given by its path. `zstd -dc` prints the session in it.
///
/// --restore moves a session back to its old path, with its modification time. A file at that path
/// is kept if it begins with the archived session, so lines added since stay. Any other file there
/// is refused.
///
/// If a run is killed, the session is either in its place with all its files, or hidden from the
/// agents. If it is hidden, the archive contains it, and --restore puts it back. Run again, the
/// same command restores a hidden session and archives it.
#[derive(Debug, clap::Args)]
#[command(override_usage = concat!(
    "pisess archive [OPTIONS] <SESSION>...\n",
    "       pisess archive [OPTIONS] --older-than <TIME>\n",
    "       pisess archive [OPTIONS] --list",
))]
#[command(mut_arg("force", |force| force.help("Override refusals (with --delete, does not ask)")))]
pub struct Args {
    /// The sessions; with --restore and --delete, archived sessions, by id, name or path of the
    /// archive
    #[arg(value_name = "SESSION", conflicts_with_all = ["older_than", "empty", "project", "all"])]
    pub sessions: Vec<PathBuf>,
    /// Choose sessions whose newest message is older than TIME: 90d, 12w, 6mo, 2026-10-31 or
    /// 2026-10
    #[arg(long, value_name = "TIME")]
    pub older_than: Option<String>,
    /// Choose sessions larger than SIZE bytes, such as 500000, 64k or 1.5M
    #[arg(long, value_name = "SIZE", value_parser = parse_amount)]
    pub larger_than: Option<u64>,
    /// Choose sessions without user messages
    #[arg(long)]
    pub empty: bool,
    /// Choose sessions of the project directory DIR
    #[arg(long, value_name = "DIR", conflicts_with = "all")]
    pub project: Option<PathBuf>,
    /// Include the sessions of all projects
    #[arg(short, long)]
    pub all: bool,
    /// List archived sessions
    #[arg(long, conflicts_with_all = ["sessions", "restore", "delete"])]
    pub list: bool,
    /// Restore the original (moves archived sessions back into their stores)
    #[arg(long, conflicts_with = "delete")]
    pub restore: bool,
    /// Delete archived sessions: asks on a terminal, and otherwise requires --force
    #[arg(long)]
    pub delete: bool,
    #[command(flatten)]
    pub change: ChangeArgs,
}

/// Lists, restores or deletes archives, or archives the sessions that are named and those that a
/// filter chooses.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let before_ms = match &args.older_than {
        Some(time) => Some(period::parse_time_option("--older-than", time, ui)?.start),
        None => None,
    };
    let filter = ArchiveFilter {
        before_ms,
        only_empty: args.empty,
        larger_than: args.larger_than,
    };
    let project = args
        .project
        .as_ref()
        .map(|project| resolve_user_folder(project, ui));
    let stores = SessionStores::locate_from(project.as_deref().unwrap_or(ui.current_folder()), ui);
    if args.list {
        return list_archived(&stores, args.all, filter, args.change.json, ui);
    }

    if args.restore || args.delete {
        // A filter chooses sessions to archive, and none to restore.
        if args.sessions.is_empty() {
            let option = if args.restore {
                "--restore"
            } else {
                "--delete"
            };
            return Err(Failure::usage_error(format_args!(
                "{option}: no archived session is given"
            ))
            .with_hint("give each as SESSION; `pisess archive --list --all` lists them"));
        }
        return args.change_archives(&stores, ui);
    }

    let is_filtered = filter.before_ms.is_some()
        || args.larger_than.is_some()
        || args.empty
        || args.project.is_some()
        || args.all;
    if !is_filtered && args.sessions.is_empty() {
        return Err(
            Failure::usage_error("neither a session nor a filter is given").with_hint(
                "name sessions, or choose them with --older-than, --larger-than, --empty, --project or --all",
            ),
        );
    }
    args.archive_sessions(stores, is_filtered.then_some(filter), ui)
}

/// Warns of the sessions that a filter chooses, but that an agent may have open, or that changed
/// recently. Only the first is named, with the number of the others.
fn warn_of_skipped(skipped: &[Failure], ui: &mut Ui) {
    let Some((first, others)) = skipped.split_first() else {
        return;
    };
    let mut warning = format!("skipped {}", first.to_line());
    if !others.is_empty() {
        let others = format_count(others.len(), "other", "others");
        warning += &format!(", and {others}");
    }
    ui.warn(&warning);
}

impl Args {
    /// Archives the sessions that are named, and those that a filter chooses. All are moved before
    /// anything is printed, so that a closed pipe does not end the command half done.
    fn archive_sessions(
        &self,
        stores: SessionStores,
        filter: Option<ArchiveFilter>,
        ui: &mut Ui,
    ) -> Result<Exit, Failure> {
        let is_filtered = filter.is_some();
        let mut outcomes = self.finish_interrupted(&stores, is_filtered, ui)?;

        let mut sessions = Vec::new();
        let mut search_exit = Exit::Done;
        if is_filtered {
            search_exit = self.add_stored_sessions(&stores, &mut sessions, ui);
        }
        for session in &self.sessions {
            match resolve_argument(session, ui) {
                Ok(path) => sessions.push(path),
                Err(failure) => outcomes.push(ArchiveOutcome::failed(session, failure)),
            }
        }

        let packer = Packer {
            stores,
            filter,
            now_ms: Ids::new(ui)?.now_ms(ui),
            change: &self.change,
            is_stdout: ui.stdout_predicate(),
        };
        let skipped = archive_all(&packer, sessions, &mut outcomes, ui);
        warn_of_skipped(&skipped, ui);
        if outcomes.is_empty() && skipped.is_empty() {
            let hint = if self.all {
                "`pisess list --all` lists the sessions"
            } else {
                "--all looks in all projects"
            };
            ui.print_status(&format!("no session is chosen (hint: {hint})"));
        }
        let exit = report_outcomes(outcomes, self.change.json, ui)?;
        Ok(exit.max(search_exit))
    }

    /// Adds the sessions of the project, or with `--all` of all projects, except those of
    /// sub-agents. Returns the worst exit code of the failures: a directory that cannot be read is
    /// one, because it may contain sessions that the filter chooses.
    fn add_stored_sessions(
        &self,
        stores: &SessionStores,
        sessions: &mut Vec<PathBuf>,
        ui: &mut Ui,
    ) -> Exit {
        let scope = if self.all {
            Scope::All
        } else {
            Scope::CurrentProject
        };
        let found_files = stores.find_sessions(&scope);
        let mut worst_exit = Exit::Done;
        for failure in named::search_failures(found_files.troubles, true, ui) {
            worst_exit = worst_exit.max(ui.report_failure(&failure));
        }
        for file in found_files.files {
            if file.owner.is_none() {
                sessions.push(file.path);
            }
        }
        worst_exit
    }

    /// Restores the sessions that earlier runs left hidden when they were killed: those in the
    /// archives of the stores if there is a filter, and those that are named. Returns the failures.
    fn finish_interrupted(
        &self,
        stores: &SessionStores,
        is_filtered: bool,
        ui: &mut Ui,
    ) -> Result<Vec<ArchiveOutcome>, Failure> {
        let mut archives = Vec::new();
        if is_filtered {
            archives = stores.find_archives(self.all)?;
        }
        for session in &self.sessions {
            let is_missing = match resolve_argument(session, ui) {
                Ok(path) => path != Path::new("-") && store::is_free(&path)?,
                Err(_) => true,
            };
            if is_missing && let Ok(archive) = find_archive(session, stores, ui) {
                archives.push(archive);
            }
        }
        Ok(restore_interrupted(archives, &self.change, stores, ui))
    }

    /// Restores or deletes the archives that are named. A failure does not stop the others.
    fn change_archives(&self, stores: &SessionStores, ui: &mut Ui) -> Result<Exit, Failure> {
        let mut outcomes = Vec::new();
        for session in &self.sessions {
            let result = find_archive(session, stores, ui).and_then(|archive| {
                if self.restore {
                    restore_archive(&archive, &self.change, stores)
                } else {
                    delete_archive(&archive, &self.change, ui)
                }
            });
            outcomes.push(ArchiveOutcome {
                path: session.clone(),
                result,
            });
        }
        report_outcomes(outcomes, self.change.json, ui)
    }
}

/// Archives sessions on all processors, and adds their outcomes. With a filter, sessions that it
/// does not choose have no outcome, nor has a file that is not a session, or that another process
/// just moved. Returns why sessions were skipped that the filter chooses.
fn archive_all(
    packer: &Packer,
    sessions: Vec<PathBuf>,
    outcomes: &mut Vec<ArchiveOutcome>,
    ui: &mut Ui,
) -> Vec<Failure> {
    let archive = |path: PathBuf| {
        let result = packer.archive_session(&path);
        (path, result)
    };
    let mut results = Vec::new();
    ui.map_in_parallel(sessions, archive, |_, path_and_result| {
        results.push(path_and_result);
    });

    let is_filtered = packer.filter.is_some();
    let mut skipped = Vec::new();
    for (path, result) in results {
        match result {
            Ok(None) => {}
            Ok(Some(archived)) => outcomes.push(ArchiveOutcome {
                path,
                result: Ok(archived),
            }),
            Err(failure)
                if is_filtered && (failure.is_not_session() || failure.is_missing_file) => {}
            Err(failure) if is_filtered && failure.exit() == Exit::Busy => {
                skipped.push(failure);
            }
            Err(failure) => outcomes.push(ArchiveOutcome::failed(&path, failure)),
        }
    }
    skipped
}
