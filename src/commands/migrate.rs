//! `pisess migrate`: brings session files to version 3.

use super::failure::{Exit, Failure, note};
use super::input::Input;
use super::visible::{verbatim, visible};
use super::workers::in_order;
use super::write::{store_options, troubles};
use crate::cli::{Talk, Write};
use crate::core::load::Options;
use crate::core::plan::{Change, copy_all};
use crate::core::session::{Dialect, Format, Session};
use crate::core::store::{self, Batch, StoreError};
use crate::guide::{Example, Guide};
use crate::world::World;
use comfy_table::{CellAlignment, ContentArrangement, Table, TableStyle};
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
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
    pub write: Write,
}

/// What became of one file, as `--json` tells it.
#[derive(Clone, Debug, Serialize)]
struct Outcome {
    path: String,
    from: Option<&'static str>,
    to: Option<&'static str>,
    entries: Option<usize>,
    status: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
    #[serde(skip)]
    exit: Option<Exit>,
    #[serde(skip)]
    notes: Vec<String>,
}

/// Runs the command.
pub fn run(args: &Args, talk: &Talk, world: &mut World) -> Result<Exit, Failure> {
    if let [session] = &args.sessions[..]
        && (session == Path::new("-") || args.write.output.is_some())
    {
        return convert(session, args, talk, world);
    }
    if args.sessions.iter().any(|session| session == Path::new("-")) {
        return Err(Failure::cannot("standard input is migrated by itself").hint("give - alone"));
    }
    if args.write.output.is_some() {
        return Err(Failure::cannot("-o takes one session").hint("without -o each file is migrated in place"));
    }
    let (paths, mut outcomes) = listed(args)?;
    let batch = Batch::new();
    outcomes.extend(migrated(&paths, args, &batch, talk, world));
    for trouble in batch.finish() {
        note(&trouble.to_string(), talk, world);
    }
    report(&outcomes, args, talk, world)
}

/// One session to standard output, or into another file.
fn convert(session: &Path, args: &Args, talk: &Talk, world: &mut World) -> Result<Exit, Failure> {
    if args.backup.is_some() {
        return Err(Failure::cannot("--backup: the session itself stays as it is")
            .hint("--backup is for a migration in place"));
    }
    let input = Input::open(session, world)?;
    let options = Options { workers: world.processors, ..Options::default() };
    let loaded = input.load_noted(&options, talk, world)?;
    if args.write.dry_run || args.check {
        let outcome = outcome(session, &loaded, status(&loaded, true));
        return report(&[outcome], args, talk, world);
    }
    // A version 3 file passes as it is, to its last byte.
    let mut fill = |out: &mut dyn std::io::Write| match loaded.format {
        Format::V3 => copy_all(input.source(), out),
        _ => Change::default().write(&loaded, input.source(), out),
    };
    match args.write.output.as_deref().filter(|output| *output != Path::new("-")) {
        Some(output) => {
            let committed = store::create(output, input.file(), args.write.force, &mut fill)?;
            troubles(&committed, talk, world);
        }
        None => fill(&mut *verbatim(world)).map_err(Failure::output)?,
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
                outcomes.extend(listing.problems.into_iter().map(|problem| failed(path, &problem.into())));
            }
            Err(error) if args.sessions.len() == 1 => return Err(error.into()),
            Err(error) => outcomes.push(failed(path, &error.into())),
        }
    }
    Ok((paths, outcomes))
}

/// Migrates many files on all processors; outcomes in the order of the paths.
fn migrated(paths: &[PathBuf], args: &Args, batch: &Batch, talk: &Talk, world: &mut World) -> Vec<Outcome> {
    let bar = progress(paths.len(), talk, world);
    let workers = world.processors.min(paths.len()).max(1);
    let options = Options { workers: world.processors / workers, ..Options::default() };
    let work = |path: &PathBuf| {
        let outcome = one(path, args, batch, &options).unwrap_or_else(|failure| failed(path, &failure));
        bar.inc(1);
        outcome
    };
    let mut done = Vec::new();
    let keep = |outcome| {
        done.push(outcome);
        Ok::<(), Infallible>(())
    };
    let Ok(()) = in_order(paths.iter().collect(), workers, work, keep);
    bar.finish_and_clear();
    done
}

fn progress(files: usize, talk: &Talk, world: &World) -> ProgressBar {
    if files < 2 || talk.quiet || !world.terminals.stderr {
        return ProgressBar::hidden();
    }
    let bar = ProgressBar::with_draw_target(Some(files as u64), ProgressDrawTarget::stderr());
    match ProgressStyle::with_template("{bar:40} {pos}/{len} sessions  {eta}") {
        Ok(style) => bar.with_style(style),
        Err(_) => bar,
    }
}

/// Migrates one file. Where another process replaces or changes it meanwhile, as another migration does,
/// it is opened again, until the time to wait is over.
fn one(path: &Path, args: &Args, batch: &Batch, options: &Options) -> Result<Outcome, Failure> {
    let started = Instant::now();
    let wait = Duration::from_secs_f64(args.write.wait);
    loop {
        match attempt(path, args, batch, options) {
            Ok(outcome) => return Ok(outcome),
            Err(Stopped::Failed(failure)) => return Err(failure),
            Err(Stopped::Changed(error)) if started.elapsed() >= wait => return Err(error.into()),
            Err(Stopped::Changed(_)) => {}
        }
    }
}

/// Why a file was not migrated.
enum Stopped {
    /// It is not what was read any more.
    Changed(StoreError),
    Failed(Failure),
}

impl From<StoreError> for Stopped {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Changed { .. } => Stopped::Changed(error),
            _ => Stopped::Failed(error.into()),
        }
    }
}

fn attempt(path: &Path, args: &Args, batch: &Batch, options: &Options) -> Result<Outcome, Stopped> {
    let file = store::SessionFile::open(path)?;
    let session = crate::core::load::load(&file, options)
        .map_err(|error| Stopped::Failed(Failure::load(&visible(&path.to_string_lossy()), error)))?;
    if session.format == Format::V3 || args.check || args.write.dry_run {
        return Ok(outcome(path, &session, status(&session, true)));
    }
    let backup = args.backup.as_ref().map(|suffix| {
        let mut name = path.as_os_str().to_owned();
        name.push(suffix);
        PathBuf::from(name)
    });
    let locked = store::lock(&file, &store_options(&args.write, &session))?;
    // What has grown is opened again, too.
    let committed = batch
        .rewrite(locked, backup.as_deref(), &mut |out| Change::default().write(&session, &file, out))?
        .done()?;
    let mut outcome = outcome(path, &session, status(&session, false));
    outcome.notes = committed.troubles.iter().map(ToString::to_string).collect();
    Ok(outcome)
}

fn status(session: &Session, before: bool) -> &'static str {
    match (session.format, before) {
        (Format::V3, _) => "current",
        (_, true) => "outdated",
        (_, false) => "migrated",
    }
}

fn outcome(path: &Path, session: &Session, status: &'static str) -> Outcome {
    let from = match (session.format, session.dialect) {
        (Format::V1, _) => "v1",
        (Format::Draft, _) => "draft",
        (Format::V2, _) => "v2",
        (Format::V3, Dialect::Pi | Dialect::OhMyPi) => "v3",
    };
    Outcome {
        path: path.to_string_lossy().into_owned(),
        from: Some(from),
        to: Some("v3"),
        entries: Some(session.entries.len()),
        status,
        error: None,
        exit: None,
        notes: Vec::new(),
    }
}

fn failed(path: &Path, failure: &Failure) -> Outcome {
    Outcome {
        path: path.to_string_lossy().into_owned(),
        from: None,
        to: None,
        entries: None,
        status: "failed",
        error: Some(failure.line()),
        exit: Some(failure.exit()),
        notes: Vec::new(),
    }
}

/// Rows or the table, and the exit code of the batch: the worst.
fn report(outcomes: &[Outcome], args: &Args, talk: &Talk, world: &mut World) -> Result<Exit, Failure> {
    let worst = outcomes.iter().filter_map(|outcome| outcome.exit).max();
    let work = args.check && outcomes.iter().any(|outcome| outcome.status == "outdated");
    let exit = worst.into_iter().chain(work.then_some(Exit::Found)).max().unwrap_or(Exit::Done);
    for outcome in outcomes {
        for note in outcome.notes.iter().chain(&outcome.error) {
            let silent = talk.quiet && outcome.error.is_none();
            if !silent {
                let _ = writeln!(world.stderr, "pisess: {}", visible(note));
            }
        }
    }
    if args.write.json {
        for outcome in outcomes {
            let row = serde_json::to_vec(outcome).map_err(|error| Failure::output(error.into()))?;
            super::write::print_json(world, &row)?;
        }
        return Ok(exit);
    }
    if outcomes.is_empty() {
        note("no *.jsonl there (hint: -r descends into folders)", talk, world);
        return Ok(exit);
    }
    if outcomes.len() == 1 && outcomes.iter().any(|outcome| outcome.error.is_some()) {
        return Ok(exit);
    }
    let text = if outcomes.len() == 1 { one_line(&outcomes[0]) } else { table(outcomes, args) };
    world.stdout.write_all(text.as_bytes()).map_err(Failure::output)?;
    Ok(exit)
}

fn one_line(outcome: &Outcome) -> String {
    let path = visible(&outcome.path);
    let (from, entries) = (outcome.from.unwrap_or("?"), outcome.entries.unwrap_or(0));
    match outcome.status {
        "current" => format!("{path}: is version 3 already, {entries} entries\n"),
        "outdated" => format!("{path}: is {from}, {entries} entries, to be migrated\n"),
        _ => format!("{path}: migrated from {from}, {entries} entries\n"),
    }
}

/// What was done, by the version that was found.
fn table(outcomes: &[Outcome], args: &Args) -> String {
    let mut table = Table::new();
    table.load_style(TableStyle::new()).set_content_arrangement(ContentArrangement::Disabled);
    let done = if args.check || args.write.dry_run { "to migrate" } else { "migrated" };
    table.set_header(["from", "files", "entries", done, "current", "failed"]);
    for from in [Some("draft"), Some("v1"), Some("v2"), Some("v3"), None] {
        let group: Vec<_> = outcomes.iter().filter(|outcome| outcome.from == from).collect();
        let count =
            |statuses: &[&str]| group.iter().filter(|outcome| statuses.contains(&outcome.status)).count();
        if group.is_empty() {
            continue;
        }
        table.add_row([
            from.unwrap_or("-").to_owned(),
            group.len().to_string(),
            group.iter().filter_map(|outcome| outcome.entries).sum::<usize>().to_string(),
            count(&["migrated", "outdated"]).to_string(),
            count(&["current"]).to_string(),
            count(&["failed"]).to_string(),
        ]);
    }
    for column in table.column_iter_mut().skip(1) {
        column.set_cell_alignment(CellAlignment::Right);
    }
    table.lines().map(|line| format!("{}\n", line.trim_end().trim_start_matches(' '))).collect()
}
