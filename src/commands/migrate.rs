//! `pisess migrate`: brings session files to version 3.

use super::input::OpenSession;
use super::transaction::{output_or_input, store_options};
use super::workers::in_order;
use crate::core::load::{Options, load};
use crate::core::plan::{Change, copy_all};
use crate::core::session::{Format, Session};
use crate::core::store::{self, Batch, SessionFile};
use crate::guide::{Example, Guide};
use crate::options::WriteArgs;
use crate::ui::{Exit, Failure, Ui, visible};
use comfy_table::{CellAlignment, ContentArrangement, Table, TableStyle};
use serde::Serialize;
use std::convert::Infallible;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// How it is used, behind the options of the help and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "migrate",
    examples: &[
        Example::new(
            "One file, and the old one stays beside it as old.jsonl.bak",
            "pisess migrate --backup old.jsonl",
        ),
        Example::new("Every session below a folder, with a table at the end", "pisess migrate -r sessions"),
        Example::answers_no(
            "Is there work? Exit 1 says yes, and nothing is changed",
            "pisess migrate --check old.jsonl",
        ),
        Example::new("In a pipe", "pisess migrate - < old.jsonl > new.jsonl"),
    ],
    found: Some("with --check: there are files to migrate"),
    writes: true,
    refers: false,
};

/// Bring old session files to version 3.
///
/// Version 1, version 2 and the draft of the tree format become version 3, the one that both agents
/// read. Of a line only what has to change is changed; all others go back byte for byte, and a file
/// of version 3 stays as it is. Ids that are given to old entries are the same every time.
///
/// A folder means its own *.jsonl files. Many files are migrated at once, and a table tells at the
/// end what was done. The other commands read old files without migrating them; a command that
/// changes one migrates it in the same write.
#[derive(Debug, clap::Args)]
#[command(after_long_help = GUIDE.help())]
pub struct Args {
    /// Session files, folders of them, or - for standard input
    #[arg(required = true, value_name = "SESSION")]
    pub sessions: Vec<PathBuf>,
    /// Change nothing, only tell what is to be migrated (then exit 1)
    #[arg(long, conflicts_with_all = ["output", "backup"])]
    pub check: bool,
    /// Keep the old file too, with SUFFIX behind its name
    #[arg(long, value_name = "SUFFIX", num_args = 0..=1, require_equals = true, default_missing_value = ".bak", help_heading = "Writing")]
    pub backup: Option<String>,
    /// Look into folders of folders, too
    #[arg(short, long)]
    pub recursive: bool,
    /// How to write.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// What became of one file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
enum Status {
    /// It is of the current version.
    Current,
    /// It is of an older version, and was left so.
    Outdated,
    /// It was migrated.
    Migrated,
    /// It could not be read or written.
    Failed,
}

/// A row of `--json`.
#[derive(Clone, Debug, Serialize)]
struct Outcome {
    path: String,
    from: Option<&'static str>,
    to: Option<&'static str>,
    entries: Option<usize>,
    status: Status,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip)]
    exit: Option<Exit>,
    #[serde(skip)]
    warnings: Vec<String>,
}

/// Runs the command.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    if let [session] = &args.sessions[..]
        && (session == Path::new("-") || args.write.output.is_some())
    {
        return convert(session, args, ui);
    }
    if args.sessions.iter().any(|session| session == Path::new("-")) {
        return Err(Failure::cannot("standard input is migrated by itself").hint("give - alone"));
    }
    if args.write.output.is_some() {
        return Err(Failure::cannot("-o takes one session").hint("without -o each file is migrated in place"));
    }
    let (paths, mut outcomes) = listed(args)?;
    let batch = Batch::new();
    outcomes.extend(migrated(&paths, args, &batch, ui));
    for warning in batch.finish() {
        ui.warn(&warning.to_string());
    }
    report(&outcomes, args, ui)
}

/// One session to standard output, or into another file.
fn convert(session: &Path, args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    if args.backup.is_some() {
        return Err(Failure::cannot("--backup: the session itself stays as it is")
            .hint("--backup is for a migration in place"));
    }
    let open = OpenSession::open(session, Options::default(), ui)?;
    let (loaded, source) = (&open.session, open.input.source());
    if args.write.dry_run || args.check {
        return report(&[Outcome::of(session, loaded, before(loaded))], args, ui);
    }
    // A version 3 file passes as it is, to its last byte.
    let mut fill = |out: &mut dyn std::io::Write| match loaded.format {
        Format::V3 => copy_all(source, out),
        _ => Change::default().write(loaded, source, out),
    };
    match args.write.output.as_deref().filter(|output| *output != Path::new("-")) {
        Some(output) => {
            ui.warn_of(&store::create(output, open.input.file(), args.write.force, &mut fill)?);
        }
        None => fill(&mut *ui.verbatim()).map_err(|error| output_or_input(&open.input, error))?,
    }
    Ok(Exit::Done)
}

/// The files that are meant, and what went wrong in finding them.
fn listed(args: &Args) -> Result<(Vec<PathBuf>, Vec<Outcome>), Failure> {
    let mut paths = Vec::new();
    let mut outcomes = Vec::new();
    for path in &args.sessions {
        match store::list_sessions(path, args.recursive) {
            Ok(listing) => {
                paths.extend(listing.sessions);
                outcomes.extend(
                    listing.problems.into_iter().map(|problem| Outcome::failed(path, &problem.into())),
                );
            }
            Err(error) if args.sessions.len() == 1 => return Err(error.into()),
            Err(error) => outcomes.push(Outcome::failed(path, &error.into())),
        }
    }
    Ok((paths, outcomes))
}

/// Migrates many files on all processors; outcomes in the order of the paths.
fn migrated(paths: &[PathBuf], args: &Args, batch: &Batch, ui: &Ui) -> Vec<Outcome> {
    let progress = ui.progress(paths.len());
    let workers = ui.processors().min(paths.len()).max(1);
    let options = Options { workers: ui.processors() / workers, ..Options::default() };
    let work = |path: &PathBuf| {
        let outcome =
            one(path, args, batch, &options).unwrap_or_else(|failure| Outcome::failed(path, &failure));
        progress.advance();
        outcome
    };
    let mut done = Vec::new();
    let keep = |outcome| {
        done.push(outcome);
        Ok::<(), Infallible>(())
    };
    let Ok(()) = in_order(paths.iter().collect(), workers, work, keep);
    done
}

/// Migrates one file. When another process changes or replaces it meanwhile, as another migration does, it
/// is opened again, until the wait is over.
fn one(path: &Path, args: &Args, batch: &Batch, options: &Options) -> Result<Outcome, Failure> {
    let (start, wait) = (Instant::now(), Duration::from_secs_f64(args.write.wait));
    loop {
        match attempt(path, args, batch, options) {
            Err(failure) if failure.is_change() && start.elapsed() < wait => {}
            result => return result,
        }
    }
}

fn attempt(path: &Path, args: &Args, batch: &Batch, options: &Options) -> Result<Outcome, Failure> {
    let file = SessionFile::open(path)?;
    let session =
        load(&file, options).map_err(|error| Failure::load(&visible(&path.to_string_lossy()), error))?;
    if session.format == Format::V3 || args.check || args.write.dry_run {
        return Ok(Outcome::of(path, &session, before(&session)));
    }
    let backup = args.backup.as_ref().map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    });
    let locked = store::lock(&file, &store_options(&args.write, &session))?;
    let mut fill = |out: &mut dyn std::io::Write| Change::default().write(&session, &file, out);
    let committed = batch.rewrite(locked, backup.as_deref(), &mut fill)?.done()?;
    let warnings = committed.troubles.iter().map(ToString::to_string).collect();
    Ok(Outcome { warnings, ..Outcome::of(path, &session, Status::Migrated) })
}

/// The status of a session that is left as it is.
fn before(session: &Session) -> Status {
    if session.format == Format::V3 { Status::Current } else { Status::Outdated }
}

impl Outcome {
    fn of(path: &Path, session: &Session, status: Status) -> Outcome {
        let from = match session.format {
            Format::V1 => "v1",
            Format::Draft => "draft",
            Format::V2 => "v2",
            Format::V3 => "v3",
        };
        Outcome {
            path: path.to_string_lossy().into_owned(),
            from: Some(from),
            to: Some("v3"),
            entries: Some(session.entries.len()),
            status,
            error: None,
            exit: None,
            warnings: Vec::new(),
        }
    }

    fn failed(path: &Path, failure: &Failure) -> Outcome {
        Outcome {
            path: path.to_string_lossy().into_owned(),
            from: None,
            to: None,
            entries: None,
            status: Status::Failed,
            error: Some(failure.line()),
            exit: Some(failure.exit()),
            warnings: Vec::new(),
        }
    }
}

/// Prints what became of the files; the exit code is the worst. What fails here changes nothing about
/// what is migrated (rule 7 of the store).
fn report(outcomes: &[Outcome], args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let worst = outcomes.iter().filter_map(|outcome| outcome.exit).max();
    let work = args.check && outcomes.iter().any(|outcome| outcome.status == Status::Outdated);
    let exit = worst.into_iter().chain(work.then_some(Exit::Found)).max().unwrap_or(Exit::Done);
    for outcome in outcomes {
        outcome.warnings.iter().for_each(|warning| ui.status(warning));
        outcome.error.iter().for_each(|error| ui.error(error));
    }
    let migrated = outcomes.iter().filter(|outcome| outcome.status == Status::Migrated);
    let migrated: Vec<_> = migrated.map(|outcome| outcome.path.as_str()).collect();
    let printed = print(outcomes, args, ui).and_then(|()| ui.flush());
    match printed {
        Err(failure) if !migrated.is_empty() => Err(failure.after_writing(&migrated.join(" "))),
        printed => printed.map(|()| exit),
    }
}

fn print(outcomes: &[Outcome], args: &Args, ui: &mut Ui) -> Result<(), Failure> {
    if args.write.json {
        return outcomes.iter().try_for_each(|outcome| {
            let row = serde_json::to_vec(outcome).expect("strings and numbers can be written");
            ui.print_json(&row)
        });
    }
    match outcomes {
        [] => {
            ui.warn("no *.jsonl there (hint: -r descends into folders)");
            Ok(())
        }
        [outcome] if outcome.error.is_some() => Ok(()),
        [outcome] => ui.print(&one_line(outcome)),
        outcomes => ui.print(&table(outcomes, args)),
    }
}

fn one_line(outcome: &Outcome) -> String {
    let path = visible(&outcome.path);
    let (from, entries) = (outcome.from.unwrap_or("?"), outcome.entries.unwrap_or(0));
    match outcome.status {
        Status::Current => format!("{path}: is version 3 already, {entries} entries\n"),
        Status::Outdated => format!("{path}: is {from}, {entries} entries, to be migrated\n"),
        Status::Migrated | Status::Failed => format!("{path}: migrated from {from}, {entries} entries\n"),
    }
}

/// Returns a table of what was done, by the version that was found.
fn table(outcomes: &[Outcome], args: &Args) -> String {
    let mut table = Table::new();
    table.load_style(TableStyle::new()).set_content_arrangement(ContentArrangement::Disabled);
    let done = if args.check || args.write.dry_run { "to migrate" } else { "migrated" };
    table.set_header(["from", "files", "entries", done, "current", "failed"]);
    for from in [Some("draft"), Some("v1"), Some("v2"), Some("v3"), None] {
        let group: Vec<_> = outcomes.iter().filter(|outcome| outcome.from == from).collect();
        let count = |status: Status| group.iter().filter(|outcome| outcome.status == status).count();
        if group.is_empty() {
            continue;
        }
        table.add_row([
            from.unwrap_or("-").to_owned(),
            group.len().to_string(),
            group.iter().filter_map(|outcome| outcome.entries).sum::<usize>().to_string(),
            (count(Status::Migrated) + count(Status::Outdated)).to_string(),
            count(Status::Current).to_string(),
            count(Status::Failed).to_string(),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.lines().map(|line| format!("{}\n", line.trim_end().trim_start_matches(' '))).collect()
}
