//! `pisess check`: finds problems in session files, explains their consequences, and repairs them.

mod checkup;
mod cwd;
mod repair;
mod report;

use crate::agents::stores::normalize_path;
use crate::cli::foreign::{find_sessions_of, find_sources, find_sources_of_projects};
use crate::cli::guide::{Example, Guide};
use crate::cli::locate::existing_store_roots;
use crate::cli::named::{expand_arguments_to_read, search_arguments_to_read};
use crate::cli::open::Input;
use crate::cli::options::WriteArgs;
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::cli::process::command_line::id_argument;
use crate::cli::redaction::join_first_few;
use crate::cli::rollouts::Rollouts;
use crate::cli::sources::{SourceArgs, Sources};
use crate::ops::check::Finding;
use checkup::check_input;
use cwd::CwdSources;
use pisess_json::text::Text;
use pisess_store::workers::in_order;
use pisess_store::{self as store, FoundFile, Glance, Reach};
use repair::repair_sessions;
use report::{CheckReport, ReportStyle};
use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};

pub const GUIDE: Guide = Guide::new(&[
    Example::new("Check a session", "pisess check session.jsonl"),
    Example::new(
        "Check all sessions below a directory",
        "pisess check sessions",
    ),
    Example::new("Check the sessions of all projects", "pisess check --all"),
    Example::answers_no(
        "Print the findings as JSON",
        "pisess check --json broken.jsonl",
    ),
    Example::new(
        "Repair a session into another file",
        "pisess check --repair -o mended.jsonl broken.jsonl",
    ),
    Example::new(
        "Print what a repair would change",
        "pisess check --repair -n broken.jsonl",
    ),
])
.with_found("a warning or an error was found");

/// Check session files, and optionally repair them.
///
/// In a pipe, each finding is a line: file, line number, severity, problem, and `[repairable]` if
/// it can be repaired. An indented line below it has the consequence for the agent that opens the
/// session. For a damaged line, a second indented line shows the beginning of its text, as far as
/// it can be read and has no secret; `pisess show SESSION :LINE` prints more. If a file has many
/// findings, its path is printed once, above them. Three or more equal findings share a line, with
/// the texts of the first three damaged lines. A directory is searched recursively.
///
/// On a terminal, each session with findings has a heading, and each finding is a row. Notes are
/// only counted. If there are several sessions, consequences are left out. -v prints notes and
/// consequences.
///
/// An error means that data is lost, that an agent hangs, or that the session does not open. A
/// warning means that the session opens incomplete or is displayed wrongly. A note is only
/// informational, and does not affect the exit code. -q suppresses these notes (except with
/// --json), and all messages on standard error that are not errors.
///
/// --repair applies unambiguous repairs, to another file with -o, or in place with --backup. Given
/// a directory, it repairs the *.jsonl files directly in it; -r includes its subdirectories, except
/// hidden ones. Removed bytes are kept in FILE.rejected. The exit code is 1 if the repaired file
/// still has a warning or an error, else 0.
///
/// If several files are copies of one session, a note names them. If one of two copies contains all
/// entries of the other, the note's hint says so; otherwise, it names `pisess join`.
///
/// If the header is missing, --repair rebuilds it. Its time and id come from the file's name. Its
/// working directory comes from --cwd, other sessions in the same directory, or the name of that
/// directory.
#[derive(Debug, clap::Args)]
#[command(override_usage = concat!(
    "pisess check [OPTIONS] <SESSION>...\n",
    "       pisess check [OPTIONS] --all\n",
    "       pisess check [OPTIONS] --repair --backup <SESSION>...\n",
    "       pisess check [OPTIONS] --repair -o <PATH> <SESSION>",
))]
pub struct Args {
    /// Sessions by path or name, directories of them, or - for standard input
    #[arg(required_unless_present = "all", value_name = "SESSION")]
    pub sessions: Vec<PathBuf>,
    /// Include the sessions of all projects
    #[arg(short, long, conflicts_with_all = ["sessions", "repair"])]
    pub all: bool,
    #[command(flatten)]
    pub source: SourceArgs,
    /// Include subdirectories (always included without --repair)
    #[arg(short, long)]
    pub recursive: bool,
    /// On a terminal, also print notes and, if there are several sessions, the consequence of each
    /// finding (a pipe always gets both)
    #[arg(short, long)]
    pub verbose: bool,
    /// Apply unambiguous repairs; requires -o, --backup or -n
    #[arg(long, conflicts_with = "source")]
    pub repair: bool,
    /// Keep the old file, with SUFFIX appended to its name (repairs in place)
    #[arg(long, value_name = "SUFFIX", num_args = 0..=1, require_equals = true, default_missing_value = ".bak", requires = "repair", conflicts_with = "output", help_heading = "Writing")]
    pub backup: Option<String>,
    /// Record DIR as the working directory (if the header is rebuilt)
    #[arg(long, value_name = "DIR", requires = "repair")]
    pub cwd: Option<PathBuf>,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Checks sessions, or with `--repair` repairs them.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let cwd = CwdSources {
        cwd_option: args
            .cwd
            .as_ref()
            .map(|cwd| normalize_path(&ui.current_folder().join(cwd))),
        home: ui.home().map(PathBuf::from),
    };
    if args.repair {
        return repair_sessions(args, &cwd, ui);
    }
    if args.write.output.is_some() {
        return Err(Failure::invalid("-o requires --repair")
            .with_hint("to save the findings, redirect standard output"));
    }
    check_sessions(args, &cwd, ui)
}

/// The findings about a session, and its id.
struct CheckedSession {
    findings: Vec<Finding>,
    /// `None` for a session of another agent, or without a valid header.
    session_id: Option<Text<'static>>,
}

impl CheckedSession {
    /// Checks an open session with `workers` threads.
    fn check(input: &Input, workers: usize, cwd: &CwdSources) -> Result<CheckedSession, Failure> {
        let findings = check_input(input, workers, cwd)?.findings;
        // Other agents have several files of one session, for example one for each time that it was
        // resumed. `join` joins only copies of pi and oh-my-pi.
        let mut session_id = None;
        if input.foreign.is_none() {
            session_id = input.read_header().ok().map(|header| header.id);
        }
        Ok(CheckedSession {
            findings,
            session_id,
        })
    }
}

/// Warns of files with the same session id, with one warning for each id. Several paths of one file
/// are no copies. `are_of_stores` is whether the files are in the stores of the agents.
fn warn_of_copies(paths_by_id: BTreeMap<Vec<u8>, Vec<PathBuf>>, are_of_stores: bool, ui: &mut Ui) {
    for (id, paths) in paths_by_id {
        let paths = store::distinct_files(paths, PathBuf::as_path);
        let copy_count = paths.len();
        // Sessions without an id are not copies of each other.
        if copy_count < 2 || id.is_empty() {
            continue;
        }
        let id = String::from_utf8_lossy(&id);
        let hint = match find_redundant_copy(&paths) {
            Some(redundant) => redundant.to_hint(),
            None => join_hint(&id, copy_count, are_of_stores),
        };
        let id = to_visible(&id);
        let names = list_paths(&paths);
        ui.warn(&format!(
            "{copy_count} copies of the session {id}: {names} (hint: {hint})"
        ));
    }
}

/// Returns the hint for copies of which each has something of its own. `are_of_stores` is whether
/// they are in the stores of the agents.
fn join_hint(id: &str, copy_count: usize, are_of_stores: bool) -> String {
    // `join` finds both copies by their id, if the stores have two.
    let finds_both = are_of_stores && copy_count == 2;
    let join_command = match id_argument(id) {
        Some(id) if finds_both => format!("pisess join {id}"),
        _ => "pisess join".to_owned(),
    };
    format!("`{join_command}` makes one session of two")
}

/// A copy with which another one begins, or to which the other is equal: nothing is lost without
/// it.
struct RedundantCopy<'p> {
    copy: &'p Path,
    whole: &'p Path,
}

impl RedundantCopy<'_> {
    fn to_hint(&self) -> String {
        let copy = to_visible(&self.copy.to_string_lossy());
        let whole = to_visible(&self.whole.to_string_lossy());
        format!("{whole} has all of {copy}, which can be deleted")
    }
}

/// Finds the redundant one of two copies. `None` if both have something of their own, if one cannot
/// be read, or if there are more than two.
fn find_redundant_copy(copies: &[PathBuf]) -> Option<RedundantCopy<'_>> {
    let [first, second] = copies else {
        return None;
    };
    for (copy, whole) in [(second, first), (first, second)] {
        let whole_file = Glance::open(whole).ok()?;
        let mut copied_content = File::open(copy).ok()?;
        if store::begins_with(&whole_file, &mut copied_content).ok()? {
            return Some(RedundantCopy { copy, whole });
        }
    }
    None
}

/// Returns the first few paths as a list for people.
fn list_paths(paths: &[PathBuf]) -> String {
    let mut names = Vec::new();
    for path in paths {
        names.push(to_visible(&path.to_string_lossy()));
    }
    join_first_few(names)
}

/// The sessions to check, and the failures of arguments that name none.
struct SessionsToCheck {
    files: Vec<FoundFile>,
    failures: Vec<Failure>,
}

/// Finds the sessions to check: those at and below `arguments`. With `--all`, `arguments` are the
/// stores of pi and oh-my-pi. `--source` chooses the agents whose sessions are checked.
fn find_sessions(
    args: &Args,
    arguments: &[PathBuf],
    ui: &mut Ui,
) -> Result<SessionsToCheck, Failure> {
    // Besides `--source`, an environment variable can choose the agents. It applies only to a
    // search of the stores, and not to sessions that the user named.
    let takes_sources = args.all || args.source.is_given();
    let sources = if takes_sources {
        args.source.sources(ui)?
    } else {
        None
    };
    match sources {
        None => {
            let found = expand_arguments_to_read(arguments, Reach::Whole, ui);
            Ok(SessionsToCheck {
                files: found.files,
                failures: found.failures,
            })
        }
        Some(sources) if sources.includes_own() => {
            find_own_and_others(args, arguments, &sources, ui)
        }
        Some(sources) => {
            let found = find_sources(&sources.origins, &args.sessions, args.all, ui)?;
            Ok(SessionsToCheck {
                files: found.files,
                failures: found.failures,
            })
        }
    }
}

/// Finds the sessions of pi or oh-my-pi at and below `arguments`. Also finds the sessions of the
/// other agents that `--source` names, in the stores of these agents.
fn find_own_and_others(
    args: &Args,
    arguments: &[PathBuf],
    sources: &Sources,
    ui: &mut Ui,
) -> Result<SessionsToCheck, Failure> {
    let mut found = search_arguments_to_read(arguments, Reach::Whole, ui);
    let found_any = !found.files.is_empty();
    found.files = sources.retain_files(found.files, ui)?;
    let sessions_of_others = if args.all {
        find_sessions_of(&sources.origins, ui)
    } else {
        find_sources_of_projects(&sources.origins, arguments, &found.files, ui)
    };
    found.files.extend(sessions_of_others);

    // If files were found, but none of the agents that are named, `retain_files` has warned of
    // that. It does not if other agents are named, too, because their sessions were still to be
    // found.
    let has_retain_warned = found_any && sources.origins.is_empty();
    if found.files.is_empty() && !has_retain_warned {
        found.warn_of_none(ui);
    }
    Ok(SessionsToCheck {
        files: found.files,
        failures: found.failures,
    })
}

/// Checks sessions on all processors, and prints the findings in the order of the sessions. A
/// session that cannot be read is reported, and the others are checked. A sub-agent transcript is
/// skipped, unless its own path was given.
fn check_sessions(args: &Args, cwd: &CwdSources, ui: &mut Ui) -> Result<Exit, Failure> {
    let sessions = if args.all {
        &existing_store_roots(ui)
    } else {
        &args.sessions
    };
    let SessionsToCheck { files, failures } = find_sessions(args, sessions, ui)?;
    let mut report = CheckReport::new(&args.write, ui);
    report.style = ReportStyle::for_sessions(files.len(), args.verbose, ui);
    for failure in &failures {
        report.report_failure(failure, ui);
    }

    let workers = ui.processor_count();
    // If there are fewer files than processors, several processors check each file.
    let workers_per_file = workers / workers.min(files.len()).max(1);
    let files = open_stdin(files, ui);
    let is_stdout = ui.stdout_predicate();
    let rollouts = Rollouts::default();
    let check_file = |FileToCheck { file, stdin_input }: FileToCheck| {
        let all_entries = None;
        let input = match stdin_input {
            Some(input) => input,
            None => Input::open_path_to_read(&file.path, &rollouts, all_entries, is_stdout),
        };
        let result = input.and_then(|input| CheckedSession::check(&input, workers_per_file, cwd));
        (file, result)
    };
    let mut paths_by_id: BTreeMap<Vec<u8>, Vec<PathBuf>> = BTreeMap::new();
    let take_result = |(file, result): (FoundFile, Result<CheckedSession, Failure>)| {
        let checked = match result {
            Ok(checked) => checked,
            Err(failure) => {
                // A directory of sessions may also have the transcripts of sub-agents.
                let is_skipped = failure.is_transcript() && !file.is_given;
                if !is_skipped {
                    report.report_failure(&failure, ui);
                }
                return Ok(());
            }
        };
        if let Some(id) = checked.session_id {
            let paths = paths_by_id.entry(id.into_bytes()).or_default();
            paths.push(file.path.clone());
        }
        report.report_session(&file.path, &checked.findings, ui)
    };
    in_order(files, workers, check_file, take_result)?;
    warn_of_copies(paths_by_id, args.all, ui);
    report.print_summary(sessions, ui)?;
    Ok(report.exit)
}

/// A file that a thread is to open and check.
struct FileToCheck {
    file: FoundFile,
    /// Standard input, if that is the file. It is opened in advance, because threads have no `ui`.
    stdin_input: Option<Result<Input, Failure>>,
}

/// Opens standard input, if it is among the files.
fn open_stdin(files: Vec<FoundFile>, ui: &mut Ui) -> Vec<FileToCheck> {
    let mut files_to_check = Vec::new();
    for file in files {
        let is_stdin = file.path == Path::new("-");
        let stdin_input = if is_stdin {
            Some(Input::open(&file.path, ui))
        } else {
            None
        };
        files_to_check.push(FileToCheck { file, stdin_input });
    }
    files_to_check
}
