//! `pisess import`: converts sessions of other agents into sessions of pi or oh-my-pi.

mod destinations;
mod run;

use crate::cli::files::FileItem;
use crate::cli::foreign::{SourceFiles, commands_that_list, find_arguments, survey_file};
use crate::cli::guide::{Example, Guide};
use crate::cli::options::WriteArgs;
use crate::cli::output::{Column, Exit, Failure, Ui, plain_cell, to_visible};
use crate::cli::period::PeriodArgs;
use crate::cli::plan::{PlanTable, SESSIONS, half_path_cell};
use crate::cli::rollouts::Rollouts;
use crate::cli::session_report::report_new_session;
use crate::format::format_count;
use crate::import::{Origin, Survey};
use crate::ops::plan::Action;
use crate::session::dialect::Dialect;
use crate::session::period::Period;
use destinations::{Destination, Place, find_destinations};
use foldhash::HashSet;
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_store::FoundFile;
use run::{ImportResult, Importer};
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
        "Import the sessions of the current directory from the last two weeks",
        "pisess import --since 2w .",
    ),
    Example::new(
        "Import a session of Codex into oh-my-pi's store",
        "pisess import --for omp 'Paper for a kite'",
    ),
    Example::new(
        "Import a session whose project has another path on this machine",
        "pisess import --cwd ~/code/kites 'Paper for a kite'",
    ),
    Example::new(
        "Import what OpenCode has exported",
        "pisess import session.json",
    ),
]);

/// Import sessions of Claude Code, Codex, OpenCode and Gemini CLI.
///
/// Converts each session to a new session of pi, or of the agent given by --for. The new session is
/// stored where that agent lists it. The new session keeps branches, compactions, tool calls,
/// thinking, images, usage, times, and side chains (conversations of sub-agents in the file of the
/// session that started them). Data without a counterpart is kept in custom entries. The source is
/// not changed.
///
/// A sub-agent that has a file of its own becomes a session below the session that started it. If a
/// Codex thread was continued from an earlier turn, Codex keeps it in several files. These files
/// become one session.
///
/// A SOURCE is a file, a directory, an id or its beginning or end, a name, or words of a title. A
/// word can also be the name of a file. If the file is a session of one of these agents, the file
/// is imported; otherwise, the word is searched for in ids, names and titles. Ids, names and titles
/// are those of sessions in ~/.claude, ~/.codex, ~/.gemini and ~/.local/share/opencode/storage.
/// Directories are searched recursively. If a directory contains no sessions of these agents, it
/// counts as a project: the sessions that these agents recorded for the project are imported.
///
/// Newer versions of OpenCode keep sessions in a database. To import such a session, give its whole
/// id, ses_…: pisess runs `opencode export`, for at most 60 seconds. A file with the output of
/// `opencode export` is a SOURCE, too.
///
/// --since skips sessions that were last written to before TIME; --until skips sessions that were
/// started after TIME. All other sessions are imported as a whole.
///
/// Importing an unchanged source again changes nothing. If the source has grown, the new part is
/// appended to the imported session. If the imported session was continued, too, a new session is
/// created beside the old one. A source that was edited or became shorter is refused.
///
/// The path of each written session is printed. On a terminal, without -o, its title, its id and
/// the command that continues it are printed to standard error, too.
///
/// If the project has another path on this machine, give it with --cwd: the new sessions then
/// belong to the project in DIR. A session that was imported before keeps its directory; to move
/// it, use `pisess relocate`.
///
/// With -o, the session is written to PATH. If PATH is a directory, each source gets a file in it.
#[derive(Debug, clap::Args)]
#[command(mut_arg("output", |output| output.help("Write the result to PATH (- for standard output) instead of a file in the agent's store")))]
pub struct Args {
    /// The sources: files, directories, or ids, names or words of the titles of sessions of other
    /// agents
    #[arg(value_name = "SOURCE", required = true)]
    pub sources: Vec<PathBuf>,
    /// Write the new session in the format of this agent
    #[arg(long = "for", value_name = "AGENT", default_value = "pi")]
    pub agent: Dialect,
    /// Record DIR as the working directory (of the new session)
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    #[command(flatten)]
    pub period: PeriodArgs,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Imports sessions. All of them are written before anything is printed, so that a closed pipe does
/// not end the command half done.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let period = args.period.parse_period(ui)?;
    let SourceFiles { files, failures } = find_arguments(&args.sources, ui);
    let mut worst_exit = Exit::Done;
    for failure in &failures {
        worst_exit = worst_exit.max(ui.report_failure(failure));
    }

    let SurveyedFiles {
        mut sources,
        failures: refused_files,
    } = survey_files(files, ui);
    let has_sources = !sources.is_empty();
    retain_in_period(&mut sources, period);
    let has_none_in_period = has_sources && sources.is_empty();
    let output = args.write.output.as_deref();
    let is_one_file = output.is_some_and(|output| !output.is_dir());
    if is_one_file {
        sources = require_one_session(sources)?;
    }

    let importer = Importer::new(args.agent, &args.write.change, ui.stdout_predicate());
    let place = Place {
        output,
        cwd: args.cwd.as_deref(),
    };
    let destinations = find_destinations(sources, importer.agent, place, ui)?;
    if destinations.is_empty() && refused_files.is_empty() && failures.is_empty() {
        if has_none_in_period {
            ui.warn(NOTHING_IN_PERIOD);
        } else {
            ui.warn(&nothing_to_import());
        }
        return Ok(worst_exit);
    }

    let is_printed = output == Some(Path::new("-")) && !args.write.change.dry_run;
    let exit = if is_printed {
        print_only_session(&importer, &destinations, refused_files, args, ui)?
    } else {
        let mut outcomes = refused_files;
        outcomes.extend(import_all(&importer, destinations, ui));
        report_outcomes(outcomes, args, ui)?
    };
    Ok(worst_exit.max(exit))
}

/// Reports the files that cannot be imported, and prints the session of the only destination, if
/// there is one.
fn print_only_session(
    importer: &Importer,
    destinations: &[Destination],
    refused_files: Vec<ImportOutcome>,
    args: &Args,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let mut worst_exit = Exit::Done;
    for refused in refused_files {
        if let Err(failure) = refused.result {
            worst_exit = worst_exit.max(ui.report_failure(&failure));
        }
    }
    if let Some(destination) = destinations.first() {
        worst_exit = worst_exit.max(print_session(importer, destination, args, ui)?);
    }
    Ok(worst_exit)
}

/// Returns the warning that the directories contain no sessions of another agent.
fn nothing_to_import() -> String {
    let agents = Origin::names_of_all("or");
    let commands = commands_that_list(" --all");
    format!(
        "no sessions of {agents} in these directories (hint: {commands} list what could be imported)"
    )
}

/// The warning if no session was written to in the period.
const NOTHING_IN_PERIOD: &str =
    "nothing was written in this period to any of these sessions (hint: omit --since and --until)";

/// Keeps the sessions that were written to in a period. A session is also kept if only one of its
/// sub-agents was. Its sub-agents are kept with it.
fn retain_in_period(sources: &mut Vec<Survey>, period: Period) {
    let mut session_ids = HashSet::default();
    for source in sources.iter() {
        // A sub-agent's source has the session id of its owner.
        if period.overlaps(source.head.created_ms, source.modified_ms) {
            session_ids.insert(source.head.session_id().to_owned());
        }
    }
    sources.retain(|source| session_ids.contains(source.head.session_id()));
}

/// Returns the source to import into one file. Sub-agents are left out if a session of a user is
/// among the sources. Fails if more than one source remains.
fn require_one_session(mut sources: Vec<Survey>) -> Result<Vec<Survey>, Failure> {
    if sources.iter().any(|source| source.head.sub_agent.is_none()) {
        sources.retain(|source| source.head.sub_agent.is_none());
    }
    if sources.len() > 1 {
        return Err(
            Failure::usage_error("-o names one file, and there are several sources")
                .with_hint("give an existing directory with -o"),
        );
    }
    Ok(sources)
}

/// Imports the sources: on all processors, unless several of them are parts of one session. Then
/// the later parts are imported one by one at the end, because each appends to the session that the
/// first one created.
fn import_all(
    importer: &Importer,
    destinations: Vec<Destination>,
    ui: &mut Ui,
) -> Vec<ImportOutcome> {
    let mut seen_sessions = HashSet::default();
    let mut first_parts = Vec::new();
    let mut later_parts = Vec::new();
    for destination in destinations {
        let head = &destination.source.head;
        // Two agents may use the same id.
        let session = (head.origin.name(), head.id.clone());
        let is_first_part = seen_sessions.insert(session);
        if is_first_part {
            first_parts.push(destination);
        } else {
            later_parts.push(destination);
        }
    }

    let mut outcomes = Vec::new();
    let import = |destination| ImportOutcome::import_source(importer, destination);
    ui.map_in_parallel(first_parts, import, |_ui, outcome| outcomes.push(outcome));
    for destination in later_parts {
        outcomes.push(ImportOutcome::import_source(importer, destination));
    }
    outcomes
}

impl FileItem for Destination {
    fn path(&self) -> &Path {
        &self.source.head.path
    }
}

/// The outcome for one file.
struct ImportOutcome {
    path: PathBuf,
    /// The source in the file; `None` if the file cannot be imported.
    source: Option<Survey>,
    result: Result<ImportResult, Failure>,
}

/// The files, separated by whether they can be imported.
struct SurveyedFiles {
    /// The files that can be imported.
    sources: Vec<Survey>,
    /// The named files that cannot be imported, and all files that cannot be read.
    failures: Vec<ImportOutcome>,
}

/// Surveys the files on all processors: finds out which session each one has, and how much of it. A
/// file that the user did not name is skipped if it is not a session, or has no messages:
/// directories also contain such files.
fn survey_files(files: Vec<FoundFile>, ui: &mut Ui) -> SurveyedFiles {
    let mut results = Vec::new();
    let rollouts = Rollouts::default();
    let survey = |file: FoundFile| {
        let result = survey_file(&file.path, &rollouts);
        (file, result)
    };
    ui.map_in_parallel(files, survey, |_, file_and_result| {
        results.push(file_and_result)
    });

    let mut surveyed = SurveyedFiles {
        sources: Vec::new(),
        failures: Vec::new(),
    };
    for (file, result) in results {
        match result {
            Ok(survey) => surveyed.add_survey(file, survey),
            // A file that cannot be read may be a session, so its failure is reported even if it
            // was not named.
            Err(failure) => surveyed.add_failure(file, failure),
        }
    }
    surveyed
}

impl SurveyedFiles {
    /// Adds a file that was read. `survey` is `None` if the file is not a session of another agent.
    fn add_survey(&mut self, file: FoundFile, survey: Option<Survey>) {
        let why_refused = match survey {
            Some(source) if source.message_count > 0 => {
                self.sources.push(source);
                return;
            }
            Some(_) => "it has no messages".to_owned(),
            None => format!("not a session of {}", Origin::names_of_all("or")),
        };
        // Directories also contain other files, which are skipped.
        if !file.is_given {
            return;
        }
        let name = to_visible(&file.path.to_string_lossy());
        let failure = Failure::invalid(format_args!("{name}: {why_refused}"));
        self.add_failure(file, failure.with_path(&name));
    }

    fn add_failure(&mut self, file: FoundFile, failure: Failure) {
        self.failures.push(ImportOutcome {
            path: file.path,
            source: None,
            result: Err(failure),
        });
    }
}

/// Writes the session of a source to standard output. Refuses `--json`, whose output would mix with
/// the session.
fn print_session(
    importer: &Importer,
    destination: &Destination,
    args: &Args,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    if args.write.change.json {
        return Err(Failure::stdout_carries_session());
    }
    importer.write_to_stream(destination, &mut *ui.verbatim_stdout())?;
    ui.flush()?;
    warn_if_incomplete(&destination.source, ui);
    Ok(Exit::Done)
}

/// Warns of parts of a source that are not read: an incomplete last line, and turns in another file
/// that was not found.
fn warn_if_incomplete(source: &Survey, ui: &mut Ui) {
    let name = source.head.path.to_string_lossy();
    if source.is_torn {
        ui.warn(&format!(
            "{name}: its last line is torn, and is left for the next import"
        ));
    }
    if let Some(base) = &source.missing_base {
        ui.warn(&format!(
            "{name}: its first turns are not imported: they are in another file, the rollout {base}, which was not found"
        ));
    }
}

/// Warns that `--cwd` does not change the directory of a session that was imported before.
fn warn_of_kept_cwd(imported: &ImportResult, kept: &Text, ui: &mut Ui) {
    let name = imported.to.to_string_lossy();
    let kept = to_visible(&kept.to_string_lossy());
    ui.warn(&format!(
        "{name}: it was imported before, and keeps its directory {kept} (hint: `pisess relocate` moves it)"
    ));
}

/// Prints the outcomes, and returns the worst exit code among them. That includes a failure to
/// print. If a session was written before, the failure is one after the write.
fn report_outcomes(
    outcomes: Vec<ImportOutcome>,
    args: &Args,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let mut report = ImportReport {
        outcomes: &outcomes,
        counts: ImportCounts::from_outcomes(&outcomes),
        args,
        worst_exit: Exit::Done,
    };
    let is_dry_run = args.write.change.dry_run;
    let changed_count = report.counts.created + report.counts.appended;
    let has_written = changed_count > 0 && !is_dry_run;
    let print_result = if has_written {
        let written = format_count(changed_count, "session", "sessions");
        ui.print_after_write(&written, |ui| report.print(ui))
    } else {
        report.print(ui)
    };
    // `print` has raised it, even if it failed halfway.
    let worst_exit = report.worst_exit;

    // With `-o`, the user named the sessions, and knows how to find them.
    let has_new_names = args.write.output.is_none() && !is_dry_run;
    let prints_for_people = !args.write.change.json && print_result.is_ok();
    if has_new_names && prints_for_people {
        report_imported_sessions(&outcomes, ui);
    }
    worst_exit.or_print_failure(print_result)
}

/// Reports the warnings about a source that was imported. The failure of another source itself
/// names the parts that are missing.
fn report_warnings(imported: &ImportResult, source: Option<&Survey>, ui: &mut Ui) {
    if let Some(source) = source {
        warn_if_incomplete(source, ui);
    }
    if let Some(kept_cwd) = &imported.kept_cwd {
        warn_of_kept_cwd(imported, kept_cwd, ui);
    }
    if let Some(committed) = &imported.committed {
        ui.report_commit_warnings(committed);
    }
}

/// Prints the outcomes of an import, and collects the exit code.
struct ImportReport<'a> {
    outcomes: &'a [ImportOutcome],
    counts: ImportCounts,
    args: &'a Args,
    /// The worst exit code of the failures that were reported so far. It is up to date even if
    /// printing fails halfway.
    worst_exit: Exit,
}

impl ImportReport<'_> {
    /// Prints a line for each source, with its warnings and its failure. Then prints the number of
    /// sources for each kind of outcome.
    fn print(&mut self, ui: &mut Ui) -> Result<(), Failure> {
        let mut plan = import_plan_table();
        for outcome in self.outcomes {
            match &outcome.result {
                Ok(imported) => report_warnings(imported, outcome.source.as_ref(), ui),
                Err(failure) => {
                    let exit = ui.report_failure(failure);
                    self.worst_exit = self.worst_exit.max(exit);
                }
            }
            outcome.print_line(self.args, &mut plan, ui)?;
        }
        plan.print(ui)?;

        if !self.args.write.change.json {
            self.counts.print(self.args.write.change.dry_run, ui);
        }
        Ok(())
    }
}

/// The number of sources for each kind of outcome.
struct ImportCounts {
    total: usize,
    created: usize,
    appended: usize,
    unchanged: usize,
}

impl ImportCounts {
    /// Counts the outcomes. A failure counts only towards the total.
    fn from_outcomes(outcomes: &[ImportOutcome]) -> ImportCounts {
        let mut counts = ImportCounts {
            total: outcomes.len(),
            created: 0,
            appended: 0,
            unchanged: 0,
        };
        for outcome in outcomes {
            let Ok(imported) = &outcome.result else {
                continue;
            };
            match imported.action {
                Action::Create => counts.created += 1,
                Action::Append | Action::Rewrite => counts.appended += 1,
                Action::Nothing => counts.unchanged += 1,
            }
        }
        counts
    }

    fn failed_count(&self) -> usize {
        self.total - self.created - self.appended - self.unchanged
    }

    /// Prints the numbers on standard error. For a single source, its line says the same, unless
    /// there was nothing to do.
    fn print(&self, is_dry_run: bool, ui: &mut Ui) {
        if self.total <= 1 {
            if self.unchanged == 1 {
                ui.print_status("nothing to do");
            }
            return;
        }

        let sessions = format_count(self.created, "session", "sessions");
        let appended = self.appended;
        let changes = if is_dry_run {
            format!("{sessions} would be created, {appended} would be appended to")
        } else {
            format!("{sessions} created, {appended} appended to")
        };
        let unchanged = self.unchanged;
        let failed = self.failed_count();
        ui.print_status(&format!(
            "{changes}, {unchanged} unchanged, {failed} failed"
        ));
    }
}

/// Returns an empty table for the plan of `-n`.
fn import_plan_table() -> PlanTable {
    let columns = [
        Column::text("action"),
        Column::number("entries"),
        Column::text("from"),
        Column::text("to"),
    ];
    PlanTable::new(&columns, SESSIONS)
}

/// On a terminal, reports how to continue the sessions that were written. If there is only one, its
/// new id and title are printed, because its id differs from the id of the source.
fn report_imported_sessions(outcomes: &[ImportOutcome], ui: &mut Ui) {
    let mut written = Vec::new();
    for outcome in outcomes {
        if let Ok(imported) = &outcome.result
            && imported.action != Action::Nothing
        {
            written.push(&*imported.to);
        }
    }
    match &written[..] {
        [] => {}
        [session] => report_new_session("imported", session, ui),
        _ if ui.stderr_is_terminal() => ui.print_status(
            "`pisess list` shows the ids of imported sessions, `pisess resume ID` continues one",
        ),
        _ => {}
    }
}

impl ImportOutcome {
    fn import_source(importer: &Importer, destination: Destination) -> ImportOutcome {
        let result = importer.import_source(&destination);
        ImportOutcome {
            path: destination.source.head.path.clone(),
            source: Some(destination.source),
            result,
        }
    }

    /// Prints the path of a session that was written. With `-n`, adds a row to the plan instead.
    /// Prints nothing for a failure, or if there was nothing to do. With `--json`, prints every
    /// outcome.
    fn print_line(&self, args: &Args, plan: &mut PlanTable, ui: &mut Ui) -> Result<(), Failure> {
        if args.write.change.json {
            return ui.print_json(&self.outcome_json(args.write.change.dry_run));
        }
        let Ok(imported) = &self.result else {
            return Ok(());
        };
        if imported.action == Action::Nothing {
            return Ok(());
        }

        if !args.write.change.dry_run {
            return ui.print_path(&imported.to.to_string_lossy());
        }
        let cells = vec![
            plain_cell(imported.action.name().to_owned()),
            plain_cell(imported.entries.to_string()),
            half_path_cell(&self.path, ui),
            half_path_cell(&imported.to, ui),
        ];
        plan.add_row(imported.planned_bytes, cells, ui)
    }

    /// Returns the outcome as JSON. A failure has the action `failed` and an `error`; `to`, the
    /// path of the session, is `null`.
    fn outcome_json(&self, is_dry_run: bool) -> Vec<u8> {
        let source = self.source.as_ref();
        let mut to = None;
        let mut action = "failed";
        let mut entry_count = 0;
        let mut error = None;
        match &self.result {
            Ok(imported) => {
                to = Some(imported.to.to_string_lossy());
                action = imported.action.name();
                entry_count = imported.entries;
            }
            Err(failure) => error = Some(failure.to_line()),
        }
        Object::new()
            .str("path", &self.path.to_string_lossy())
            .str_or_null("from", source.map(|source| source.head.origin.name()))
            .str_or_null("sessionId", source.map(|source| &*source.head.id))
            .str_or_null("to", to.as_deref())
            .str("action", action)
            .bool("dryRun", is_dry_run)
            .number("entries", entry_count as f64)
            .str_or_null("error", error.as_deref())
            .finish()
    }
}
