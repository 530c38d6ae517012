//! `pisess archive`: moves sessions out of the agents' stores into compressed archives, and back.

mod interrupted;
mod list;
mod pack;
mod report;
mod restore;
mod unpack;

use crate::cli::foreign::resolve_argument_to_change;
use crate::cli::guide::{Example, Guide};
use crate::cli::ids::Ids;
use crate::cli::locate::{ArchiveScope, Scope, SessionStores, resolve_user_folder};
use crate::cli::named::{
    self, NEEDS_RECURSION, expand_arguments, is_in_subfolder, reach_of_change, resolve_argument,
};
use crate::cli::options::{ChangeArgs, parse_amount};
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::period;
use crate::cli::status::{Status, warn_of_skipped};
use crate::cli::titled::TitlePolicy;
use crate::format::format_count;
use crate::ops::list::SessionFilter;
use foldhash::HashSet;
use interrupted::restore_interrupted;
use list::list_archived;
use pack::Packer;
use pisess_store::{self as store, FoundFile, Reach, SearchProblem};
use report::{ArchiveOutcome, report_outcomes};
use restore::restore_archive;
use std::path::{Path, PathBuf};
use unpack::{delete_archive, find_archive};

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "List the sessions of all projects without a message in the last 90 days",
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
/// Moves each session to the directory `sessions.archive`, beside the agent's directory of
/// sessions. Agents do not list sessions there. Each archive is one file, compressed with zstd. The
/// archive also contains the files of sub-agents and SESSION.pruned. oh-my-pi stores large images
/// in separate files; the archive has copies of the images that the session uses. The archive is
/// read again and compared before the session is removed.
///
/// Give sessions or directories, or choose sessions by options. Without SESSION, the options choose
/// from the sessions of the current directory; with --project, of that project; with --all, of all
/// projects. --older-than, --larger-than and --empty limit the choice to sessions that meet the
/// condition. Given a directory, archives the *.jsonl files directly in it; -r includes its
/// subdirectories.
///
/// A session given by path or name is refused (exit 3) if an agent may have it open. Sessions found
/// in a directory or by options are skipped if an agent may have them open, or wrote to them in the
/// last ten minutes. A label, a summary or a mark (the entry that `pisess switch` appends) does not
/// count. One failure does not stop the others.
///
/// -n prints a table with the title, project and age of each session. Without -n, the table is only
/// printed on a terminal; a pipe gets the new path of each session.
///
/// `list`, `grep`, `stats`, `blame` and `redact --check` include archived sessions with --archived.
/// Commands that read a session, except `resume` and `migrate`, read an archive given by its path.
/// `zstd -dc` prints the session in it.
///
/// --restore moves a session back to its old path, with its modification time. If the file at the
/// old path still begins with all bytes of the archived session, that file is kept, with any lines
/// added since. If any other file is there, --restore fails.
///
/// If the command is killed, a session is either in its place with all its files, or renamed so
/// that agents do not list it. The archive of a renamed session is complete, and --restore puts the
/// session back. Running the same command again finishes the work.
#[derive(Debug, clap::Args)]
#[command(override_usage = concat!(
    "pisess archive [OPTIONS] <SESSION>...\n",
    "       pisess archive [OPTIONS] --older-than <TIME>\n",
    "       pisess archive [OPTIONS] --list",
))]
#[command(mut_arg("force", |force| force.help("Override refusals (with --delete, does not ask)")))]
pub struct Args {
    /// The sessions, or directories of them; with --restore and --delete, archived sessions, by id,
    /// name or path of the archive (with --restore, also by words of the title)
    #[arg(value_name = "SESSION", conflicts_with_all = ["project", "all"])]
    pub sessions: Vec<PathBuf>,
    /// Choose sessions whose newest message is older than TIME: 90d, 12w, 6mo, 2026-10-31 or
    /// 2026-10 (before that day or month)
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
    /// Include subdirectories (-n lists their sessions even without -r)
    #[arg(short, long)]
    pub recursive: bool,
    /// Print a list, and change nothing (lists archived sessions)
    #[arg(long, conflicts_with_all = ["sessions", "restore", "delete"])]
    pub list: bool,
    /// Restore what an earlier run changed (moves archived sessions back into their stores)
    #[arg(long, conflicts_with = "delete")]
    pub restore: bool,
    /// Delete archived sessions: asks on a terminal, and otherwise requires --force
    #[arg(long)]
    pub delete: bool,
    #[command(flatten)]
    pub change: ChangeArgs,
}

/// Lists archives (`--list`), restores or deletes the named ones (`--restore`, `--delete`), or else
/// archives sessions. Sessions to archive are named, or chosen by a filter, and at least one of
/// both is required.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let filter = args.session_filter(ui)?;
    let stores = match &args.project {
        Some(project) => SessionStores::locate_from(&resolve_user_folder(project, ui), ui),
        None => SessionStores::locate_from(ui.current_folder(), ui),
    };
    if args.list {
        let scope = ArchiveScope::from_all_option(args.all);
        return list_archived(&stores, scope, filter, args.change.json, ui);
    }
    if args.restore || args.delete {
        args.require_named_archives()?;
        return args.change_archives(&stores, ui);
    }

    let is_filtered = args.filters_sessions() || args.project.is_some() || args.all;
    if !is_filtered && args.sessions.is_empty() {
        return Err(
            Failure::usage_error("neither a session nor a filter is given").with_hint(
                "name sessions, pick one with --choose, or choose them with --older-than, --larger-than, --empty, --project or --all",
            ),
        );
    }
    args.archive_sessions(stores, filter, ui)
}

impl Args {
    /// Returns the filter of `--older-than`, `--larger-than` and `--empty`. Without these options,
    /// it accepts every session.
    fn session_filter(&self, ui: &Ui) -> Result<SessionFilter, Failure> {
        let before_ms = match &self.older_than {
            Some(time) => Some(period::parse_time_option("--older-than", time, ui)?.start),
            None => None,
        };
        Ok(SessionFilter {
            before_ms,
            only_empty: self.empty,
            larger_than: self.larger_than,
        })
    }

    /// Whether an option chooses sessions by their properties.
    fn filters_sessions(&self) -> bool {
        self.older_than.is_some() || self.larger_than.is_some() || self.empty
    }

    /// Fails if no archive to restore or to delete is named. A filter chooses sessions to archive,
    /// and none to restore or to delete.
    fn require_named_archives(&self) -> Result<(), Failure> {
        if self.sessions.is_empty() {
            let option = if self.restore {
                "--restore"
            } else {
                "--delete"
            };
            return Err(Failure::usage_error(format_args!(
                "{option}: no archived session is given"
            ))
            .with_hint("give each as SESSION; `pisess archive --list --all` lists them"));
        }
        if self.filters_sessions() {
            return Err(Failure::usage_error(
                "--older-than, --larger-than and --empty choose sessions to archive",
            )
            .with_hint("omit them; name the archived sessions"));
        }
        Ok(())
    }

    /// Archives the named sessions, or without names those in the stores. The filter applies to
    /// both. All sessions are archived before anything is printed, so that a closed pipe does not
    /// end the command half done.
    fn archive_sessions(
        &self,
        stores: SessionStores,
        filter: SessionFilter,
        ui: &mut Ui,
    ) -> Result<Exit, Failure> {
        let mut outcomes = self.finish_interrupted(&stores, ui)?;
        let mut search_exit = Exit::Done;
        let sessions = if self.sessions.is_empty() {
            let found = stores.find_sessions(&self.search_scope());
            search_exit = report_search_problems(found.problems, ui);
            without_sub_agents(found.files)
        } else {
            let given = self.find_given_sessions(ui)?;
            outcomes.extend(given.failed);
            given.files
        };
        // That named directories have no sessions was reported by the search.
        let is_none_reported = sessions.is_empty() && !self.sessions.is_empty();

        let packer = Packer {
            stores,
            filter,
            now_ms: Ids::new(ui)?.now_ms(ui),
            change: &self.change,
            is_stdout: ui.stdout_predicate(),
        };
        let other_projects = self.count_other_projects(&packer, &sessions, ui);
        let ArchivedSessions {
            outcomes: new_outcomes,
            skipped,
        } = archive_all(&packer, sessions, ui);
        outcomes.extend(new_outcomes);
        warn_of_skipped(&skipped, ui);
        if outcomes.is_empty() && skipped.is_empty() && !is_none_reported {
            self.report_none_chosen(other_projects, ui);
        } else if other_projects > 0 {
            warn_of_other_projects(other_projects, ui);
        }

        let needs_recursion = self.mark_those_below(&mut outcomes);
        let exit = report_outcomes(outcomes, self, ui)?;
        if needs_recursion {
            ui.warn(NEEDS_RECURSION);
        }
        Ok(exit.max(search_exit))
    }

    /// Returns how many sessions of other projects the filter chooses, for messages. Returns 0 if
    /// the command is not limited to the current project, or prints no messages: counting reads the
    /// sessions of all projects.
    fn count_other_projects(&self, packer: &Packer, sessions: &[FoundFile], ui: &mut Ui) -> usize {
        let is_of_project = self.sessions.is_empty() && self.project.is_none() && !self.all;
        if !is_of_project || ui.is_quiet() {
            return 0;
        }
        count_in_other_projects(packer, sessions, ui)
    }

    /// Reports that no session is chosen, and where there may be some. `other_projects` is the
    /// number of sessions that `--all` would choose.
    fn report_none_chosen(&self, other_projects: usize, ui: &mut Ui) {
        let hint = if self.all {
            "`pisess list --all` lists the sessions".to_owned()
        } else if other_projects > 0 {
            let sessions = format_count(other_projects, "session", "sessions");
            format!("--all chooses {sessions} of other projects")
        } else {
            "--all looks in all projects".to_owned()
        };
        ui.print_status(&format!("no sessions to archive (hint: {hint})"));
    }

    /// Marks the planned sessions that are in subdirectories of given directories, and returns
    /// whether there are any. The plan of `-n` lists them, but without `-r` they are not archived.
    fn mark_those_below(&self, outcomes: &mut [ArchiveOutcome]) -> bool {
        if self.recursive {
            return false;
        }
        let mut needs_recursion = false;
        for outcome in outcomes {
            if let Ok(result) = &mut outcome.result
                && result.status == Status::Planned
                && is_in_subfolder(&self.sessions, &outcome.path)
            {
                result.needs_recursion = true;
                needs_recursion = true;
            }
        }
        needs_recursion
    }

    /// Returns the scope of a search for sessions, if none is named.
    fn search_scope(&self) -> Scope {
        if self.all {
            Scope::All
        } else {
            Scope::CurrentProject
        }
    }

    /// Returns the sessions that are named, by path or by name, and the sessions in directories
    /// that are named, each once. Sessions of sub-agents in directories are left out: they are
    /// archived with their owners.
    fn find_given_sessions(&self, ui: &mut Ui) -> Result<GivenSessions, Failure> {
        // `--restore` moves a session back.
        let is_reversible = true;
        let title_policy = TitlePolicy::for_change(is_reversible, &self.sessions, ui);
        let mut given = GivenSessions::default();
        let mut folders = Vec::new();
        for session in &self.sessions {
            // Words of a title suffice only if the policy accepts them.
            let resolved = match title_policy {
                TitlePolicy::Accept => resolve_argument_to_change(session, ui),
                TitlePolicy::SuggestOnly => resolve_argument(session, ui),
            };
            match resolved {
                Ok(path) if path.is_dir() => folders.push(path),
                Ok(path) => given.files.push(FoundFile {
                    path,
                    owner: None,
                    is_given: true,
                }),
                Err(failure) => given.failed.push(ArchiveOutcome::failed(session, failure)),
            }
        }
        // An empty search would report that there are no sessions, though some are named.
        if !folders.is_empty() {
            let in_folders = self.find_sessions_in(&folders, ui)?;
            given.files.extend(in_folders.files);
            given.failed.extend(in_folders.failed);
        }

        // A session may be named twice, or be in a directory that is given, too.
        given.files = distinct_files(given.files, ui);
        Ok(given)
    }

    /// Returns the sessions in these directories, without sessions of sub-agents.
    fn find_sessions_in(&self, folders: &[PathBuf], ui: &mut Ui) -> Result<GivenSessions, Failure> {
        let reach = if self.change.dry_run {
            Reach::Visible
        } else {
            reach_of_change(folders, self.recursive, self.change.force, ui)?
        };
        let found = expand_arguments(folders, reach, TitlePolicy::SuggestOnly, ui);
        let mut failed = Vec::new();
        for failure in found.failures {
            let path = PathBuf::from(failure.path.clone().unwrap_or_default());
            failed.push(ArchiveOutcome::failed(&path, failure));
        }
        Ok(GivenSessions {
            files: without_sub_agents(found.files),
            failed,
        })
    }

    /// Restores sessions that are still hidden because an earlier run was killed. Looks at the
    /// archives of the named sessions; if none is named, at all archives of the project, or of the
    /// stores with `--all`. Returns the failures.
    fn finish_interrupted(
        &self,
        stores: &SessionStores,
        ui: &mut Ui,
    ) -> Result<Vec<ArchiveOutcome>, Failure> {
        let archives = if self.sessions.is_empty() {
            stores.find_archives(ArchiveScope::from_all_option(self.all))?
        } else {
            self.find_archives_of_missing(stores, ui)?
        };
        Ok(restore_interrupted(archives, &self.change, stores, ui))
    }

    /// Returns the archives of the named sessions that are not at their paths. These sessions may
    /// be hidden. An argument that names neither a session nor an archive is passed over: it is
    /// reported later, when the session is to be archived.
    fn find_archives_of_missing(
        &self,
        stores: &SessionStores,
        ui: &mut Ui,
    ) -> Result<Vec<PathBuf>, Failure> {
        let mut archives = Vec::new();
        for argument in &self.sessions {
            if names_present_session(argument, ui)? {
                continue;
            }
            if let Ok(archive) = find_archive(argument, TitlePolicy::SuggestOnly, stores, ui) {
                archives.push(archive);
            }
        }
        Ok(archives)
    }

    /// Restores or deletes the named archives. A failure does not stop the others. Words of a title
    /// suffice to restore an archive, but not to delete it, which cannot be undone.
    fn change_archives(&self, stores: &SessionStores, ui: &mut Ui) -> Result<Exit, Failure> {
        // A restored session can be archived again, a deleted archive is lost.
        let is_reversible = self.restore;
        let title_policy = TitlePolicy::for_change(is_reversible, &self.sessions, ui);
        let mut outcomes = Vec::new();
        for session in &self.sessions {
            let result = find_archive(session, title_policy, stores, ui).and_then(|archive| {
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
        report_outcomes(outcomes, self, ui)
    }
}

/// Whether an argument names a session that is present, by its path or its name. Standard input
/// counts as present.
fn names_present_session(argument: &Path, ui: &Ui) -> Result<bool, Failure> {
    let Ok(path) = resolve_argument(argument, ui) else {
        // No session that is present has this name.
        return Ok(false);
    };
    let is_stdin = path == Path::new("-");
    if is_stdin {
        return Ok(true);
    }
    let is_missing = store::is_free(&path)?;
    Ok(!is_missing)
}

/// Returns the number of sessions outside the project that the filter would choose with `--all`.
/// `of_project` are the sessions of the project.
fn count_in_other_projects(packer: &Packer, of_project: &[FoundFile], ui: &mut Ui) -> usize {
    let mut paths_of_project = HashSet::default();
    for file in of_project {
        paths_of_project.insert(&file.path);
    }
    let mut others = packer.stores.find_sessions(&Scope::All).files;
    others.retain(|file| {
        // A sub-agent has an owner, and is archived with it.
        let is_sub_agent = file.owner.is_some();
        !is_sub_agent && !paths_of_project.contains(&file.path)
    });

    // The filter reads the sessions, so they are shared out among the processors.
    let is_chosen = |file: FoundFile| packer.is_chosen(&file.path);
    let mut chosen_count = 0;
    ui.map_in_parallel(others, is_chosen, |_ui, is_chosen| {
        chosen_count += usize::from(is_chosen);
    });
    chosen_count
}

/// The sessions that the arguments name.
#[derive(Default)]
struct GivenSessions {
    files: Vec<FoundFile>,
    /// The arguments that name no session, and the directories that cannot be read.
    failed: Vec<ArchiveOutcome>,
}

/// Reports directories that cannot be read, because they may contain sessions that the filter
/// chooses. Returns the worst exit code of these failures.
fn report_search_problems(problems: Vec<SearchProblem>, ui: &mut Ui) -> Exit {
    let mut worst_exit = Exit::Done;
    let is_strict = true;
    for failure in named::search_failures(problems, is_strict, ui) {
        worst_exit = worst_exit.max(ui.report_failure(&failure));
    }
    worst_exit
}

/// Returns the files, each once, even if their paths differ by symbolic links.
fn distinct_files(files: Vec<FoundFile>, ui: &Ui) -> Vec<FoundFile> {
    let mut seen_paths = HashSet::default();
    let mut distinct = Vec::new();
    for file in files {
        if seen_paths.insert(ui.resolve_path(&file.path)) {
            distinct.push(file);
        }
    }
    distinct
}

/// Warns that the filter chooses sessions of other projects, too, which are not archived.
fn warn_of_other_projects(session_count: usize, ui: &mut Ui) {
    let sessions = format_count(session_count, "session", "sessions");
    ui.warn(&format!(
        "only sessions of this project are chosen \
         (hint: --all also chooses {sessions} of other projects)"
    ));
}

/// Returns the files without the sessions of sub-agents.
fn without_sub_agents(mut files: Vec<FoundFile>) -> Vec<FoundFile> {
    files.retain(|file| file.owner.is_none());
    files
}

/// The result of archiving several sessions.
struct ArchivedSessions {
    /// The outcome for each session that the filter chooses, without those that were skipped.
    outcomes: Vec<ArchiveOutcome>,
    /// The failures of busy sessions that were skipped.
    skipped: Vec<Failure>,
}

/// Archives the sessions that the filter chooses, on all processors.
///
/// Three kinds of files are skipped if they were found by a search, and not named: files that are
/// not sessions, files that are gone, and sessions that are busy.
fn archive_all(packer: &Packer, sessions: Vec<FoundFile>, ui: &mut Ui) -> ArchivedSessions {
    let archive = |file: FoundFile| {
        let result = packer.archive_session(&file);
        (file, result)
    };
    let mut results = Vec::new();
    ui.map_in_parallel(sessions, archive, |_ui, file_and_result| {
        results.push(file_and_result);
    });

    let mut archived = ArchivedSessions {
        outcomes: Vec::new(),
        skipped: Vec::new(),
    };
    for (file, result) in results {
        match result {
            // The filter does not choose the session.
            Ok(None) => {}
            Ok(Some(result)) => archived.outcomes.push(ArchiveOutcome {
                path: file.path,
                result: Ok(result),
            }),
            Err(failure) => archived.add_failure(file, failure),
        }
    }
    archived
}

impl ArchivedSessions {
    /// Adds a session that could not be archived, unless it is to be skipped.
    fn add_failure(&mut self, file: FoundFile, failure: Failure) {
        let is_no_session = failure.is_not_session() || failure.is_missing_file;
        if !file.is_given && is_no_session {
            return;
        }
        let is_busy = failure.exit() == Exit::Busy;
        if !file.is_given && is_busy {
            self.skipped.push(failure);
            return;
        }
        self.outcomes
            .push(ArchiveOutcome::failed(&file.path, failure));
    }
}
