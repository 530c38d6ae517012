//! `pisess migrate`: migrates session files to version 3.

use crate::cli::guide::{Example, Guide};
use crate::cli::locate::everything;
use crate::cli::named::{
    FoundSessions, NEEDS_RECURSION, expanded, is_below, is_by_name, reach_of_change,
};
use crate::cli::open::OpenSession;
use crate::cli::options::WriteArgs;
use crate::cli::output::{Column, Exit, Failure, Table, Ui, visible};
use crate::cli::status::Status;
use crate::load::{Options, load};
use crate::ops::plan::{Change, copy_all};
use crate::session::{Format, Session};
use pisess_json::write::Object;
use pisess_store::{self as store, Batch, Committed, FoundFile, Reach, SessionFile};
use std::path::{Path, PathBuf};
use std::time::Instant;

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Migrate one file, keeping the old one as old.jsonl.bak",
        "pisess migrate --backup old.jsonl",
    ),
    Example::new(
        "Migrate every session below a directory, with a table at the end",
        "pisess migrate -r sessions",
    ),
    Example::answers_no(
        "Check whether a file needs migration (exit 1), changing nothing",
        "pisess migrate --check old.jsonl",
    ),
    Example::new(
        "Migrate in a pipe",
        "pisess migrate - < old.jsonl > new.jsonl",
    ),
])
.found("with --check: some files need migration");

/// Migrate old session files to version 3.
///
/// Files in version 1, version 2 or the draft tree format (a proposal that preceded version 2) are
/// converted to version 3, which both agents read. A line is changed only where it has to be; all
/// other lines are copied byte for byte, and a version 3 file is left as it is. Old entries get the
/// same ids every time.
///
/// For a directory, the *.jsonl files directly in it are migrated, and with -r also those in its
/// subdirectories, except hidden ones. --check and -n, which write nothing, always include
/// subdirectories. With -r, the root directory, a home directory and directories above an agent's
/// store are refused without --force.
///
/// Several files are migrated in parallel; those that were changed are listed, followed by a table
/// of the results. A file that cannot be migrated does not stop the others. Other commands read old
/// files without migrating them; a command that changes an old file migrates it in the same write.
#[derive(Debug, clap::Args)]
#[command(override_usage = concat!(
    "pisess migrate [OPTIONS] <SESSION>...\n",
    "       pisess migrate [OPTIONS] --check --all",
))]
pub struct Args {
    /// Session files, directories of them, or - for standard input
    #[arg(required_unless_present = "all", value_name = "SESSION")]
    pub sessions: Vec<PathBuf>,
    /// Include the sessions of all projects (with --check or -n)
    #[arg(short, long, conflicts_with_all = ["sessions", "output", "backup"])]
    pub all: bool,
    /// Only report what there is to do, and exit 1 if there is anything
    #[arg(long, conflicts_with_all = ["output", "backup"])]
    pub check: bool,
    /// Keep the old file, with SUFFIX appended to its name
    #[arg(long, value_name = "SUFFIX", num_args = 0..=1, require_equals = true, default_missing_value = ".bak", help_heading = "Writing")]
    pub backup: Option<String>,
    /// Include subdirectories (--check and -n always do)
    #[arg(short, long)]
    pub recursive: bool,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// What became of a file.
struct Outcome {
    path: PathBuf,
    found: Result<Found, Failure>,
    status: Status,
    committed: Option<Committed>,
}

/// What a file contained before it was migrated.
struct Found {
    version: &'static str,
    entries: usize,
}

impl Args {
    fn writes(&self) -> bool {
        !self.check && !self.write.change.dry_run
    }
}

pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let has_output = args.write.output.is_some();
    if let [session] = &args.sessions[..]
        && (session == Path::new("-") || has_output)
    {
        return convert(session, args, ui);
    }
    let has_stdin = args
        .sessions
        .iter()
        .any(|session| session == Path::new("-"));
    if has_stdin {
        return Err(
            Failure::cannot("standard input cannot be combined with paths").hint("give - alone"),
        );
    }
    if has_output {
        return Err(Failure::cannot("-o takes only one session")
            .hint("without -o, each file is migrated in place"));
    }
    if args.all && args.writes() {
        return Err(Failure::usage("--all requires --check or -n")
            .hint("to migrate the sessions in a directory, give it with -r"));
    }
    migrate_in_place(args, ui)
}

/// Migrates the files that are given, and those in the directories that are given.
fn migrate_in_place(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let reach = if args.writes() {
        reach_of_change(&args.sessions, args.recursive, args.write.change.force, ui)?
    } else {
        Reach::Visible
    };
    let sessions = if args.all {
        &everything(ui)
    } else {
        &args.sessions
    };
    let FoundSessions {
        files,
        mut failures,
        ..
    } = expanded(sessions, reach, ui);
    // Nothing was found for the only argument: the command fails, and prints no table.
    if sessions.len() == 1
        && files.is_empty()
        && let Some(failure) = failures.pop()
    {
        return Err(failure);
    }

    let mut outcomes = Vec::new();
    // An argument that was not found, or a directory that could not be searched.
    for failure in failures {
        let path = PathBuf::from(failure.path.clone().unwrap_or_default());
        outcomes.push(Outcome::failed(&path, failure));
    }
    let batch = Batch::default();
    outcomes.extend(migrate_all(files, args, &batch, ui));
    for warning in batch.finish() {
        ui.warn(&warning.to_string());
    }

    let exit = report(&outcomes, args, ui)?;
    if !args.writes() && !args.recursive {
        let needs_recursion = outcomes
            .iter()
            .any(|outcome| outcome.status == Status::Outdated && is_below(sessions, &outcome.path));
        if needs_recursion {
            ui.warn(NEEDS_RECURSION);
        }
    }
    Ok(exit)
}

/// Migrates one session to standard output or to another file.
fn convert(session: &Path, args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    if session.is_dir() {
        let name = visible(&session.to_string_lossy());
        return Err(Failure::cannot(format_args!(
            "-o takes only one session, and {name} is a directory"
        ))
        .hint("without -o, the files in it are migrated in place; --backup keeps the old ones"));
    }
    if args.backup.is_some() {
        return Err(
            Failure::cannot("--backup has no effect: the session itself is not changed")
                .hint("--backup applies to a migration in place"),
        );
    }
    let open = OpenSession::open(session, Options::default(), ui)?;
    let loaded = &open.session;
    let source = open.input.source();
    if !args.writes() {
        let outcome = Outcome::new(session, loaded, status_before(loaded));
        return report(&[outcome], args, ui);
    }

    // A version 3 file is copied byte for byte.
    let mut fill = |out: &mut dyn std::io::Write| match loaded.format {
        Format::V3 => copy_all(source, out),
        _ => Change::default().write(loaded, source, out),
    };
    let output = args.write.output.as_deref().unwrap_or(Path::new("-"));
    open.write_elsewhere(output, args.write.change.force, &mut fill, ui)?;
    Ok(Exit::Done)
}

/// Migrates many files on all processors; returns the outcomes in the order of the files. Of a
/// directory, files that are not sessions are left out.
fn migrate_all(files: Vec<FoundFile>, args: &Args, batch: &Batch, ui: &mut Ui) -> Vec<Outcome> {
    // The processors that remain if there are fewer files than processors read ranges of a file.
    let workers_per_file = ui.processors() / ui.processors().min(files.len()).max(1);
    let options = Options {
        workers: workers_per_file,
        ..Options::default()
    };
    let work = |file: FoundFile| match migrate(&file.path, args, batch, &options) {
        Ok(outcome) => Some(outcome),
        Err(failure) if failure.is_transcript() && !file.named => None,
        Err(failure) => Some(Outcome::failed(&file.path, failure)),
    };
    let mut outcomes = Vec::new();
    ui.parallel(files, work, |_, outcome| outcomes.extend(outcome));
    outcomes
}

/// Migrates one file. If another process changes or replaces it in the meantime, as another
/// migration does, the file is opened again, until the wait is over.
fn migrate(path: &Path, args: &Args, batch: &Batch, options: &Options) -> Result<Outcome, Failure> {
    let start = Instant::now();
    loop {
        let result = try_migrate(path, args, batch, options);
        let may_retry = start.elapsed() < args.write.change.wait;
        match result {
            Err(failure) if failure.is_change && may_retry => {}
            result => return result,
        }
    }
}

/// Migrates one file; fails if it is changed or replaced in the meantime.
fn try_migrate(
    path: &Path,
    args: &Args,
    batch: &Batch,
    options: &Options,
) -> Result<Outcome, Failure> {
    let file = SessionFile::open(path)?;
    let session = load(&file, options)
        .map_err(|error| Failure::load(&visible(&path.to_string_lossy()), error))?;
    if session.format == Format::V3 || !args.writes() {
        return Ok(Outcome::new(path, &session, status_before(&session)));
    }

    let backup = args
        .backup
        .as_ref()
        .map(|suffix| store::with_suffix(path, suffix));
    let locked = store::lock(&file, &args.write.change.options(session.dialect))?;
    let mut fill = |out: &mut dyn std::io::Write| Change::default().write(&session, &file, out);
    let committed = batch
        .rewrite(locked, backup.as_deref(), &mut fill)?
        .done()?;
    Ok(Outcome {
        committed: Some(committed),
        ..Outcome::new(path, &session, Status::Migrated)
    })
}

fn status_before(session: &Session) -> Status {
    if session.format == Format::V3 {
        Status::Current
    } else {
        Status::Outdated
    }
}

impl Outcome {
    fn new(path: &Path, session: &Session, status: Status) -> Outcome {
        let version = match session.format {
            Format::V1 => "v1",
            Format::Draft => "draft",
            Format::V2 => "v2",
            Format::V3 => "v3",
        };
        Outcome {
            path: path.to_owned(),
            found: Ok(Found {
                version,
                entries: session.entries.len(),
            }),
            status,
            committed: None,
        }
    }

    fn failed(path: &Path, failure: Failure) -> Outcome {
        Outcome {
            path: path.to_owned(),
            found: Err(failure),
            status: Status::Failed,
            committed: None,
        }
    }

    /// Returns the version that the file had; `None` if it could not be read.
    fn version(&self) -> Option<&'static str> {
        match &self.found {
            Ok(found) => Some(found.version),
            Err(_) => None,
        }
    }

    fn json(&self) -> Vec<u8> {
        let found = self.found.as_ref().ok();
        Object::new()
            .str("path", &self.path.to_string_lossy())
            .str_or_null("from", self.version())
            .str_or_null("to", found.map(|_| "v3"))
            .number_or_null("entries", found.map(|found| found.entries as f64))
            .json("status", &self.status.json())
            .with(self.found.as_ref().err(), |row, failure| {
                row.str("error", &failure.line())
            })
            .finish()
    }
}

/// Prints the outcomes; returns the worst exit code among them. A failure here does not undo a
/// migration (rule 7 of the store).
fn report(outcomes: &[Outcome], args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let mut exit = Exit::Done;
    let mut migrated = Vec::new();
    let mut failed = 0;
    for outcome in outcomes {
        if let Some(committed) = &outcome.committed {
            ui.warn_of(committed);
        }
        if outcome.status == Status::Migrated {
            migrated.push(outcome.path.to_string_lossy());
            if is_by_name(&args.sessions, &outcome.path) {
                ui.status(&format!("changed {}", outcome.path.to_string_lossy()));
            }
        }
        if args.check && outcome.status == Status::Outdated {
            exit = exit.max(Exit::Found);
        }
        if let Err(failure) = &outcome.found {
            exit = exit.max(failure.exit());
            failed += 1;
            ui.error(&failure.line());
        }
    }

    if outcomes.len() > 1 && failed > 0 && args.writes() {
        ui.status(&format!("{} migrated, {failed} failed", migrated.len()));
    }
    if migrated.is_empty() {
        print(outcomes, args, ui)?
    } else {
        ui.print_after(&migrated.join(" "), |ui| print(outcomes, args, ui))?
    }
    Ok(exit)
}

/// Prints one outcome on a line; of several, those that are or need to be migrated, and a table.
fn print(outcomes: &[Outcome], args: &Args, ui: &mut Ui) -> Result<(), Failure> {
    if args.write.change.json {
        for outcome in outcomes {
            ui.print_json(&outcome.json())?;
        }
        return Ok(());
    }
    if let [outcome] = outcomes {
        // A failure was reported already.
        if outcome.found.is_err() {
            return Ok(());
        }
        return ui.print(&one_line(outcome));
    }
    for outcome in outcomes {
        if matches!(outcome.status, Status::Migrated | Status::Outdated) {
            ui.print(&one_line(outcome))?;
        }
    }
    table(outcomes, args).print(ui)
}

fn one_line(outcome: &Outcome) -> String {
    let path = visible(&outcome.path.to_string_lossy());
    let (from, entries) = match &outcome.found {
        Ok(found) => (found.version, found.entries),
        Err(_) => ("?", 0),
    };
    match outcome.status {
        Status::Current => format!("{path}: already version 3, {entries} entries\n"),
        Status::Outdated => format!("{path}: {from}, {entries} entries, to be migrated\n"),
        _ => format!("{path}: migrated from {from}, {entries} entries\n"),
    }
}

/// Returns a table of the results, with a row for each version found, and one for the files that
/// could not be read.
fn table(outcomes: &[Outcome], args: &Args) -> Table {
    let migrated = if args.writes() {
        "migrated"
    } else {
        "to migrate"
    };
    let numbers = ["files", "entries", migrated, "current", "failed"].map(Column::number);
    let mut table = Table::new([&[Column::text("from")], &numbers[..]].concat());
    for version in [Some("draft"), Some("v1"), Some("v2"), Some("v3"), None] {
        let mut counts = Counts::default();
        for outcome in outcomes {
            if outcome.version() == version {
                counts.add(outcome);
            }
        }
        if counts.files > 0 {
            table.texts([
                version.unwrap_or("-").to_owned(),
                counts.files.to_string(),
                counts.entries.to_string(),
                counts.migrated.to_string(),
                counts.current.to_string(),
                counts.failed.to_string(),
            ]);
        }
    }
    table
}

/// A row of the table.
#[derive(Default)]
struct Counts {
    files: usize,
    entries: usize,
    /// The files that are migrated, or need to be.
    migrated: usize,
    current: usize,
    failed: usize,
}

impl Counts {
    fn add(&mut self, outcome: &Outcome) {
        self.files += 1;
        if let Ok(found) = &outcome.found {
            self.entries += found.entries;
        }
        match outcome.status {
            Status::Migrated | Status::Outdated => self.migrated += 1,
            Status::Current => self.current += 1,
            Status::Failed => self.failed += 1,
            _ => {}
        }
    }
}
