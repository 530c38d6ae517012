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
    let (mut sources, mut outcomes) = read(files, ui);
    let output = args.write.output.as_deref();
    let is_one_file = output.is_some_and(|output| !output.is_dir());
    if is_one_file && sources.iter().any(|source| source.sub_agent.is_none()) {
        sources.retain(|source| source.sub_agent.is_none());
    }
    if is_one_file && sources.len() > 1 {
        let failure = Failure::usage("-o names one file, and there are several sources");
        return Err(failure.hint("give an existing directory with -o"));
    }

    let importer = Importer::new(args.agent, &args.write.change, ui.stdout_is());
    let sources = destinations(sources, importer.agent, output, ui)?;
    if output == Some(Path::new("-")) && !args.write.change.dry_run {
        return match (sources.first(), outcomes.pop()) {
            (Some(destination), _) => stream(&importer, destination, args, ui),
            (None, Some(outcome)) => outcome.done.map(|_| worst),
            (None, None) => Ok(worst),
        };
    }

    // What several files have of one session is imported one after another.
    let mut seen = HashSet::default();
    let mut first = Vec::new();
    let mut again = Vec::new();
    for destination in sources {
        let source = &destination.source;
        let is_new = seen.insert((source.origin.name(), source.id.clone()));
        if is_new {
            first.push(destination);
        } else {
            again.push(destination);
        }
    }
    let import = |destination: Destination| Outcome {
        done: importer.import(&destination),
        path: destination.source.path.clone(),
        source: Some(destination.source),
    };
    ui.parallel(first, import, |_, outcome| outcomes.push(outcome));
    outcomes.extend(again.into_iter().map(import));
    worst = worst.max(report(outcomes, args, ui)?);
    Ok(worst)
}

/// What became of a file.
struct Outcome {
    path: PathBuf,
    /// What it contains, if it can be imported.
    source: Option<Survey>,
    done: Result<Done, Failure>,
}

/// Reads the sources, on all processors. Returns those that can be imported, and why others that
/// were named cannot.
fn read(files: Vec<FoundFile>, ui: &mut Ui) -> (Vec<Survey>, Vec<Outcome>) {
    let work = |file: FoundFile| {
        let read = survey(&file.path);
        (file, read)
    };
    let (mut sources, mut failures) = (Vec::new(), Vec::new());
    ui.parallel(files, work, |_, (file, read)| {
        let name = visible(&file.path.to_string_lossy());
        let refused = |what: &str| Failure::cannot(format_args!("{name}: {what}")).path(&name);
        let failure = match read {
            Ok(Some(source)) if source.messages > 0 => return sources.push(source),
            Ok(_) if !file.named => return,
            Ok(Some(_)) => refused("it has no messages"),
            Ok(None) => refused("not a session of Claude Code or Codex"),
            Err(failure) => failure,
        };
        failures.push(Outcome {
            path: file.path,
            source: None,
            done: Err(failure),
        });
    });
    (sources, failures)
}

fn stream(
    importer: &Importer,
    to: &Destination,
    args: &Args,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    if args.write.change.json {
        return Err(Failure::carries_session());
    }
    importer.print(to, &mut *ui.verbatim())?;
    ui.flush()?;
    note(&to.source, ui);
    Ok(Exit::Done)
}

/// Reports what of a source was not read.
fn note(source: &Survey, ui: &mut Ui) {
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
            note(source, ui);
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
