//! `pisess check`: finds problems in session files, explains their consequences, and repairs them.

use crate::cli::check::{RepairArgs, Report, checked, repair};
use crate::cli::guide::{Example, Guide};
use crate::cli::locate::named;
use crate::cli::open::Input;
use crate::cli::output::{Exit, Failure, Ui};
use crate::load::Options;
use crate::ops::check::Finding;
use pisess_store::workers::in_order;
use pisess_store::{self as store, StoreError};
use std::fs::File;
use std::path::{Path, PathBuf};

/// The examples and exit codes shown after the options in the help, and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "check",
    examples: &[
        Example::new("Check a session", "pisess check session.jsonl"),
        Example::new("Check all sessions below a directory", "pisess check -r sessions"),
        Example::answers_no("Print the findings as JSON", "pisess check --json broken.jsonl"),
        Example::new(
            "Repair a session into another file",
            "pisess check --repair -o mended.jsonl broken.jsonl",
        ),
    ],
    found: Some("a warning or an error was found"),
    writes: true,
    refers: false,
};

/// Check session files, and optionally repair them.
///
/// One finding is printed per line: file, line number, severity, problem, consequence for the agent that opens
/// the session, and whether it can be repaired. Above many findings, the file is printed once. An error means that data is lost, an agent hangs or the session
/// does not open; a warning, that the session opens incomplete or is displayed wrongly; a note is informational
/// and does not affect the exit code. For a directory, the *.jsonl files directly in it are checked.
///
/// With --repair, unambiguous repairs are applied: to another file with -o, or in place with --backup. Bytes
/// that are removed are kept beside the file, in FILE.rejected. The exit code is then the one that a check of
/// the repaired file would give.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Session files, directories of them, or - for standard input
    #[arg(required = true, value_name = "SESSION")]
    pub sessions: Vec<PathBuf>,
    /// Recurse into subdirectories
    #[arg(short, long)]
    pub recursive: bool,
    /// Options for repairs.
    #[command(flatten)]
    pub repair: RepairArgs,
}

/// Runs the command.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    if args.repair.repair {
        return match &args.sessions[..] {
            [session] => repair(session, &args.repair, ui),
            _ => Err(Failure::cannot("--repair takes only one session")),
        };
    }
    if args.repair.write.output.is_some() {
        return Err(
            Failure::cannot("-o requires --repair").hint("to save the findings, redirect standard output")
        );
    }
    let (subjects, workers, is_stdout) = (listed(args, ui), ui.processors(), ui.stdout_is());
    let options = Options { workers: workers / workers.min(subjects.len()).max(1), ..Options::default() };
    let mut report = Report::new(&args.repair, ui);
    in_order(
        subjects,
        workers,
        |subject| subject.checked(&options, is_stdout),
        |(path, found)| match found {
            Err(failure) if failure.is_transcript() && !args.sessions.contains(&path) => Ok(()),
            found => report.session(&path, found, ui),
        },
    )?;
    report.summary(&args.sessions, ui);
    Ok(report.exit)
}

/// A session to check.
struct Subject {
    path: PathBuf,
    /// The input if it is already open, as standard input is, or why the path could not be listed.
    input: Result<Option<Input>, Failure>,
}

/// Returns the sessions to check; a directory is replaced by the sessions in it.
fn listed(args: &Args, ui: &mut Ui) -> Vec<Subject> {
    let mut subjects = Vec::new();
    for path in &args.sessions {
        let failed = |error: StoreError| Subject { path: path.clone(), input: Err(error.into()) };
        if path == Path::new("-") {
            subjects.push(Subject { path: path.clone(), input: Input::open(path, ui).map(Some) });
            continue;
        }
        let named = match named(path, ui) {
            Ok(named) => named.path,
            Err(failure) => {
                subjects.push(Subject { path: path.clone(), input: Err(failure) });
                continue;
            }
        };
        match store::list_sessions(&named, args.recursive) {
            Ok(listing) => {
                let found = listing.sessions.into_iter().map(|path| Subject { path, input: Ok(None) });
                subjects.extend(listing.problems.into_iter().map(failed).chain(found));
            }
            Err(error) => subjects.push(failed(error)),
        }
    }
    subjects
}

impl Subject {
    fn checked(
        self,
        options: &Options,
        is_stdout: &dyn Fn(&File) -> bool,
    ) -> (PathBuf, Result<Vec<Finding>, Failure>) {
        let opened =
            self.input.and_then(|input| input.map_or_else(|| Input::open_path(&self.path, is_stdout), Ok));
        let found = opened.and_then(|input| Ok(checked(&input, options)?.into_findings()));
        (self.path, found)
    }
}
