//! `pisess import`: makes sessions of pi or oh-my-pi of those of Claude Code and Codex.

mod destinations;
mod run;

use crate::cli::foreign::{found, survey};
use crate::cli::guide::{Example, Guide};
use crate::cli::options::WriteArgs;
use crate::cli::output::{Exit, Failure, Ui, visible};
use crate::format::counted;
use crate::import::Survey;
use crate::ops::plan::Action;
use crate::session::dialect::Dialect;
use destinations::{Destination, destinations};
use foldhash::HashSet;
use pisess_json::write::Object;
use pisess_store::FoundFile;
use run::{Done, Importer};
use std::path::{Path, PathBuf};

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "List what could be imported from Claude Code",
        "pisess list --all --source claude",
    ),
    Example::new(
        "Import all its sessions into pi's store",
        "pisess import ~/.claude/projects",
    ),
    Example::new(
        "Import a session of Codex into oh-my-pi's store",
        "pisess import --for omp 'Paper for a kite'",
    ),
]);

/// Import sessions of Claude Code and Codex.
///
/// Each session becomes a session of pi, or of the agent given by --for, in the store of that agent
/// and in the directory of the session's project. Branches, side chains, compactions, tool calls,
/// thinking, images, usage and times are kept. What has no counterpart is kept in custom entries.
/// The source is not changed.
///
/// A sub-agent of Claude Code that has a file of its own becomes a session in the directory named
/// like that of the session that started it, where `list` finds it.
///
/// The sources are files, directories (which are searched at any depth), or sessions in ~/.claude
/// and ~/.codex, given by the start or the end of their id, or by their name.
///
/// Importing a source again changes nothing. If the source has grown since, what is new is appended
/// to the session; if the imported session was continued as well, a new session is created beside
/// it. A source that was edited or became shorter is refused.
///
/// With -o, the session is written to PATH. If PATH is a directory, the sessions of all sources are
/// written to files in it.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The sources: files, directories, or names of sessions of Claude Code and Codex
    #[arg(value_name = "SOURCE", required = true)]
    pub sources: Vec<PathBuf>,
    /// Convert the new session for this agent
    #[arg(long = "for", value_name = "AGENT", default_value = "pi")]
    pub agent: Dialect,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Runs the command. All is written before anything is printed, so that a closed pipe does not end
/// the command half done.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let (files, failures) = found(&args.sources, ui);
    let mut worst = Exit::Done;
    for failure in &failures {
        worst = worst.max(ui.report(failure));
    }

    let (mut sources, mut outcomes) = survey_files(files, ui);
    let output = args.write.output.as_deref();
    if output.is_some_and(|output| !output.is_dir()) {
        sources = require_one_session(sources)?;
    }
    let importer = Importer::new(args.agent, &args.write.change, ui.stdout_is());
    let destinations = destinations(sources, importer.agent, output, ui)?;

    if output == Some(Path::new("-")) && !args.write.change.dry_run {
        if let Some(destination) = destinations.first() {
            return stream(&importer, destination, args, ui);
        }
        return match outcomes.pop() {
            Some(outcome) => outcome.done.map(|_| worst),
            None => Ok(worst),
        };
    }

    outcomes.extend(import_all(&importer, destinations, ui));
    Ok(worst.max(report(outcomes, args, ui)?))
}

/// Returns the sources for an output that is one file. Sub-agents are left out if a session is
/// there, too; more than one source is refused.
fn require_one_session(mut sources: Vec<Survey>) -> Result<Vec<Survey>, Failure> {
    if sources.iter().any(|source| source.sub_agent.is_none()) {
        sources.retain(|source| source.sub_agent.is_none());
    }
    if sources.len() > 1 {
        return Err(
            Failure::usage("-o names one file, and there are several sources")
                .hint("give an existing directory with -o"),
        );
    }
    Ok(sources)
}

/// Imports the sources, on all processors. Several files may contain parts of one session: all but
/// the first of them are imported afterwards, one after another, since they grow the same file.
fn import_all(importer: &Importer, destinations: Vec<Destination>, ui: &mut Ui) -> Vec<Outcome> {
    let mut seen = HashSet::default();
    let mut firsts = Vec::new();
    let mut repeats = Vec::new();
    for destination in destinations {
        let source = &destination.source;
        let is_first = seen.insert((source.origin.name(), source.id.clone()));
        if is_first {
            firsts.push(destination);
        } else {
            repeats.push(destination);
        }
    }

    let mut outcomes = Vec::new();
    let import = |destination| Outcome::of_import(importer, destination);
    ui.parallel(firsts, import, |_, outcome| outcomes.push(outcome));
    for destination in repeats {
        outcomes.push(Outcome::of_import(importer, destination));
    }
    outcomes
}

/// What became of a file.
struct Outcome {
    path: PathBuf,
    /// What it contains, if it can be imported.
    source: Option<Survey>,
    done: Result<Done, Failure>,
}

/// Surveys the files, on all processors. Returns those that can be imported, and an outcome for
/// each of the others that the user named.
fn survey_files(files: Vec<FoundFile>, ui: &mut Ui) -> (Vec<Survey>, Vec<Outcome>) {
    let mut surveyed = Vec::new();
    let work = |file: FoundFile| {
        let result = survey(&file.path);
        (file, result)
    };
    ui.parallel(files, work, |_, file_and_result| {
        surveyed.push(file_and_result)
    });

    let mut sources = Vec::new();
    let mut failures = Vec::new();
    for (file, result) in surveyed {
        let name = visible(&file.path.to_string_lossy());
        let refused = |what: &str| Failure::cannot(format_args!("{name}: {what}")).path(&name);
        let failure = match result {
            Ok(Some(source)) if source.messages > 0 => {
                sources.push(source);
                continue;
            }
            // A directory contains other files, too, and sessions without messages.
            Ok(_) if !file.named => continue,
            Ok(Some(_)) => refused("it has no messages"),
            Ok(None) => refused("not a session of Claude Code or Codex"),
            Err(failure) => failure,
        };
        failures.push(Outcome {
            path: file.path,
            source: None,
            done: Err(failure),
        });
    }
    (sources, failures)
}

/// Writes the session of a source to standard output.
fn stream(
    importer: &Importer,
    destination: &Destination,
    args: &Args,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    if args.write.change.json {
        return Err(Failure::carries_session());
    }
    importer.print(destination, &mut *ui.verbatim())?;
    ui.flush()?;
    warn_if_torn(&destination.source, ui);
    Ok(Exit::Done)
}

/// Warns of a last line that is not whole.
fn warn_if_torn(source: &Survey, ui: &mut Ui) {
    if source.is_torn {
        let name = source.path.to_string_lossy();
        ui.warn(&format!(
            "{name}: its last line is torn, and is left for the next import"
        ));
    }
}

/// Prints what became of the sources; returns how the command ends.
fn report(outcomes: Vec<Outcome>, args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let counts = Counts::of(&outcomes);
    let written = counts.created + counts.grown;
    let mut worst = Exit::Done;
    let mut print = |ui: &mut Ui| print_outcomes(&outcomes, &counts, args, &mut worst, ui);
    let printed = if written == 0 || args.write.change.dry_run {
        print(ui)
    } else {
        ui.print_after(&counted(written, "session", "sessions"), print)
    };
    worst.printed(printed)
}

/// The number of sources by what became of them.
struct Counts {
    all: usize,
    created: usize,
    grown: usize,
    unchanged: usize,
}

impl Counts {
    fn of(outcomes: &[Outcome]) -> Counts {
        let mut counts = Counts {
            all: outcomes.len(),
            created: 0,
            grown: 0,
            unchanged: 0,
        };
        for done in outcomes
            .iter()
            .filter_map(|outcome| outcome.done.as_ref().ok())
        {
            match done.action {
                Action::Create => counts.created += 1,
                Action::Append | Action::Rewrite => counts.grown += 1,
                Action::Nothing => counts.unchanged += 1,
            }
        }
        counts
    }

    fn failed(&self) -> usize {
        self.all - self.created - self.grown - self.unchanged
    }
}

/// Prints a line for each source, and their number. Sets `worst` to the gravest of the failures.
fn print_outcomes(
    outcomes: &[Outcome],
    counts: &Counts,
    args: &Args,
    worst: &mut Exit,
    ui: &mut Ui,
) -> Result<(), Failure> {
    for outcome in outcomes {
        if let Some(source) = &outcome.source {
            warn_if_torn(source, ui);
        }
        match &outcome.done {
            Ok(done) => {
                if let Some(committed) = &done.committed {
                    ui.warn_of(committed);
                }
            }
            Err(failure) => *worst = (*worst).max(ui.report(failure)),
        }
        outcome.print(args, ui)?;
    }

    if args.write.change.json {
        return Ok(());
    }
    if counts.all > 1 {
        ui.status(&format!(
            "{} created, {} appended to, {} unchanged, {} failed",
            counted(counts.created, "session", "sessions"),
            counts.grown,
            counts.unchanged,
            counts.failed()
        ));
    } else if counts.unchanged == 1 {
        ui.status("nothing to do");
    }
    Ok(())
}

impl Outcome {
    fn of_import(importer: &Importer, destination: Destination) -> Outcome {
        let done = importer.import(&destination);
        Outcome {
            path: destination.source.path.clone(),
            source: Some(destination.source),
            done,
        }
    }

    fn print(&self, args: &Args, ui: &mut Ui) -> Result<(), Failure> {
        if args.write.change.json {
            return ui.print_json(&self.json(args.write.change.dry_run));
        }
        let Ok(done) = &self.done else { return Ok(()) };
        if done.action == Action::Nothing {
            return Ok(());
        }
        let to = done.to.to_string_lossy();
        if !args.write.change.dry_run {
            return ui.print_path(&to);
        }
        ui.print(&format!(
            "{} -> {} ({}, {})\n",
            visible(&self.path.to_string_lossy()),
            visible(&to),
            done.action.name(),
            counted(done.entries, "entry", "entries")
        ))
    }

    fn json(&self, is_dry_run: bool) -> Vec<u8> {
        let source = self.source.as_ref();
        let done = self.done.as_ref().ok();
        let to = done.map(|done| done.to.to_string_lossy());
        let error = self.done.as_ref().err().map(Failure::line);
        Object::new()
            .str("path", &self.path.to_string_lossy())
            .str_or_null("from", source.map(|source| source.origin.name()))
            .str_or_null("sessionId", source.map(|source| &*source.id))
            .str_or_null("to", to.as_deref())
            .str("action", done.map_or("failed", |done| done.action.name()))
            .bool("dryRun", is_dry_run)
            .number("entries", done.map_or(0, |done| done.entries) as f64)
            .str_or_null("error", error.as_deref())
            .finish()
    }
}
