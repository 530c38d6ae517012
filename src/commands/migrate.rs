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

struct Outcome {
    path: PathBuf,
    /// The version that it had, and its number of entries.
    was: Result<(&'static str, usize), Failure>,
    status: Status,
    committed: Option<Committed>,
}

impl Args {
    fn writes(&self) -> bool {
        !self.check && !self.write.change.dry_run
    }
}

pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    if let [session] = &args.sessions[..]
        && (session == Path::new("-") || args.write.output.is_some())
    {
        if session.is_dir() {
            return Err(Failure::cannot(format_args!(
                "-o takes only one session, and {} is a directory",
                visible(&session.to_string_lossy())
            ))
            .hint(
                "without -o, the files in it are migrated in place; --backup keeps the old ones",
            ));
        }
        return convert(session, args, ui);
    }
    if args
        .sessions
        .iter()
        .any(|session| session == Path::new("-"))
    {
        return Err(
            Failure::cannot("standard input cannot be combined with paths").hint("give - alone"),
        );
    }
    if args.write.output.is_some() {
        return Err(Failure::cannot("-o takes only one session")
            .hint("without -o, each file is migrated in place"));
    }
    if args.all && args.writes() {
        return Err(Failure::usage("--all requires --check or -n")
            .hint("to migrate the sessions in a directory, give it with -r"));
    }
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
    if sessions.len() == 1
        && files.is_empty()
        && let Some(failure) = failures.pop()
    {
        return Err(failure);
    }
    let batch = Batch::default();
    // An argument that was not found, or a directory that could not be searched.
    let missing = |failure: Failure| {
        Outcome::failed(
            Path::new(&failure.path.clone().unwrap_or_default()),
            failure,
        )
    };
    let mut outcomes: Vec<_> = failures.into_iter().map(missing).collect();
    outcomes.extend(migrated(files, args, &batch, ui));
    for warning in batch.finish() {
        ui.warn(&warning.to_string());
    }
    let exit = report(&outcomes, args, ui)?;
    let mut outdated = outcomes
        .iter()
        .filter(|outcome| outcome.status == Status::Outdated);
    if !args.writes()
        && !args.recursive
        && outdated.any(|outcome| is_below(sessions, &outcome.path))
    {
        ui.warn(NEEDS_RECURSION);
    }
    Ok(exit)
}

/// Migrates one session to standard output or to another file.
fn convert(session: &Path, args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    if args.backup.is_some() {
        return Err(
            Failure::cannot("--backup has no effect: the session itself is not changed")
                .hint("--backup applies to a migration in place"),
        );
    }
    let open = OpenSession::open(session, Options::default(), ui)?;
    let (loaded, source) = (&open.session, open.input.source());
    if args.write.change.dry_run || args.check {
        return report(&[Outcome::of(session, loaded, before(loaded))], args, ui);
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

/// Migrates many files on all processors; returns the outcomes in the order of the files.
fn migrated(files: Vec<FoundFile>, args: &Args, batch: &Batch, ui: &mut Ui) -> Vec<Outcome> {
    let workers = ui.processors() / ui.processors().min(files.len()).max(1);
    let options = Options {
        workers,
        ..Options::default()
    };
    let work = |file: FoundFile| match one(&file.path, args, batch, &options) {
        Err(failure) if failure.is_transcript() && !file.named => None,
        Err(failure) => Some(Outcome::failed(&file.path, failure)),
        Ok(outcome) => Some(outcome),
    };
    let mut done = Vec::new();
    ui.parallel(files, work, |_, outcome| done.extend(outcome));
    done
}

/// Migrates one file. If another process changes or replaces it in the meantime, as another
/// migration does, the file is opened again, until the wait is over.
fn one(path: &Path, args: &Args, batch: &Batch, options: &Options) -> Result<Outcome, Failure> {
    let (start, wait) = (Instant::now(), args.write.change.wait);
    loop {
        match attempt(path, args, batch, options) {
            Err(failure) if failure.is_change && start.elapsed() < wait => {}
            result => return result,
        }
    }
}

fn attempt(path: &Path, args: &Args, batch: &Batch, options: &Options) -> Result<Outcome, Failure> {
    let file = SessionFile::open(path)?;
    let session = load(&file, options)
        .map_err(|error| Failure::load(&visible(&path.to_string_lossy()), error))?;
    if session.format == Format::V3 || !args.writes() {
        return Ok(Outcome::of(path, &session, before(&session)));
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
        ..Outcome::of(path, &session, Status::Migrated)
    })
}

fn before(session: &Session) -> Status {
    if session.format == Format::V3 {
        Status::Current
    } else {
        Status::Outdated
    }
}

impl Outcome {
    fn of(path: &Path, session: &Session, status: Status) -> Outcome {
        let version = match session.format {
            Format::V1 => "v1",
            Format::Draft => "draft",
            Format::V2 => "v2",
            Format::V3 => "v3",
        };
        let was = Ok((version, session.entries.len()));
        Outcome {
            path: path.to_owned(),
            was,
            status,
            committed: None,
        }
    }

    fn failed(path: &Path, failure: Failure) -> Outcome {
        Outcome {
            path: path.to_owned(),
            was: Err(failure),
            status: Status::Failed,
            committed: None,
        }
    }

    fn json(&self) -> Vec<u8> {
        let was = self.was.as_ref().ok();
        Object::new()
            .str("path", &self.path.to_string_lossy())
            .str_or_null("from", was.map(|(version, _)| *version))
            .str_or_null("to", was.map(|_| "v3"))
            .number_or_null("entries", was.map(|(_, entries)| *entries as f64))
            .json("status", &self.status.json())
            .with(self.was.as_ref().err(), |row, failure| {
                row.str("error", &failure.line())
            })
            .finish()
    }
}

/// Prints the outcomes; returns the worst exit code among them. A failure here does not undo a
/// migration (rule 7 of the store).
fn report(outcomes: &[Outcome], args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let failures: Vec<_> = outcomes
        .iter()
        .filter_map(|outcome| outcome.was.as_ref().err())
        .collect();
    let work = args.check
        && outcomes
            .iter()
            .any(|outcome| outcome.status == Status::Outdated);
    let worst = failures.iter().map(|failure| failure.exit());
    let exit = worst
        .chain(work.then_some(Exit::Found))
        .max()
        .unwrap_or(Exit::Done);
    for outcome in outcomes {
        outcome
            .committed
            .iter()
            .for_each(|committed| ui.warn_of(committed));
        if outcome.status == Status::Migrated && is_by_name(&args.sessions, &outcome.path) {
            ui.status(&format!("changed {}", outcome.path.to_string_lossy()));
        }
        if let Err(failure) = &outcome.was {
            ui.error(&failure.line());
        }
    }
    let changed = outcomes
        .iter()
        .filter(|outcome| outcome.status == Status::Migrated);
    let migrated: Vec<_> = changed
        .map(|outcome| outcome.path.to_string_lossy())
        .collect();
    if outcomes.len() > 1 && !failures.is_empty() && args.writes() {
        ui.status(&format!(
            "{} migrated, {} failed",
            migrated.len(),
            failures.len()
        ));
    }
    if migrated.is_empty() {
        print(outcomes, args, ui)?
    } else {
        ui.print_after(&migrated.join(" "), |ui| print(outcomes, args, ui))?
    }
    Ok(exit)
}

fn print(outcomes: &[Outcome], args: &Args, ui: &mut Ui) -> Result<(), Failure> {
    if args.write.change.json {
        return outcomes
            .iter()
            .try_for_each(|outcome| ui.print_json(&outcome.json()));
    }
    match outcomes {
        [outcome] if outcome.was.is_err() => Ok(()),
        [outcome] => ui.print(&one_line(outcome)),
        outcomes => {
            let is_listed =
                |outcome: &&Outcome| matches!(outcome.status, Status::Migrated | Status::Outdated);
            outcomes
                .iter()
                .filter(is_listed)
                .try_for_each(|outcome| ui.print(&one_line(outcome)))?;
            table(outcomes, args).print(ui)
        }
    }
}

fn one_line(outcome: &Outcome) -> String {
    let path = visible(&outcome.path.to_string_lossy());
    let (from, entries) = outcome.was.as_ref().map_or(("?", 0), |was| *was);
    match outcome.status {
        Status::Current => format!("{path}: already version 3, {entries} entries\n"),
        Status::Outdated => format!("{path}: {from}, {entries} entries, to be migrated\n"),
        _ => format!("{path}: migrated from {from}, {entries} entries\n"),
    }
}

/// Returns a table of the results, with a row for each version found.
fn table(outcomes: &[Outcome], args: &Args) -> Table {
    let done = if args.writes() {
        "migrated"
    } else {
        "to migrate"
    };
    let numbers = ["files", "entries", done, "current", "failed"].map(Column::number);
    let mut table = Table::new([&[Column::text("from")], &numbers[..]].concat());
    for from in [Some("draft"), Some("v1"), Some("v2"), Some("v3"), None] {
        let is_from =
            |outcome: &&Outcome| outcome.was.as_ref().ok().map(|(version, _)| *version) == from;
        let group: Vec<_> = outcomes.iter().filter(is_from).collect();
        let count = |status: Status| {
            group
                .iter()
                .filter(|outcome| outcome.status == status)
                .count()
        };
        if group.is_empty() {
            continue;
        }
        let cells = [
            from.unwrap_or("-").to_owned(),
            group.len().to_string(),
            group
                .iter()
                .flat_map(|outcome| &outcome.was)
                .map(|(_, entries)| entries)
                .sum::<usize>()
                .to_string(),
            (count(Status::Migrated) + count(Status::Outdated)).to_string(),
            count(Status::Current).to_string(),
            count(Status::Failed).to_string(),
        ];
        table.texts(cells);
    }
    table
}
