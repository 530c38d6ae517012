//! `pisess export`: writes a session as a page or a document.

mod browser;
mod examples;

use self::browser::open_page;
use crate::cli::guide::{Example, Guide};
use crate::cli::named::expand_arguments;
use crate::cli::open::{Input, OpenSession};
use crate::cli::options::{LastArgs, parse_positive_amount};
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::cli::pruned::{load_pruned, requests_with_pruned};
use crate::cli::redaction::{
    RedactionArgs, RemovedSecrets, SecretsOutcome, add_counts, refuse_leftovers, report_redaction,
};
use crate::cli::renderer::RendererArgs;
use crate::cli::rows::entry::row_options;
use crate::export::atif::{SubAgent, has_steps, write_trajectory};
use crate::export::cuts::Cuts;
use crate::export::fit::fit_to_size;
use crate::export::markdown::write_document;
use crate::export::page::{OwnPage, read_own_page, write_page};
use crate::export::source::{Contents, Display, ExportedPart, OtherBranches};
use crate::export::static_html::write_static_page;
use crate::export::verify::{Rendition, find_leaked_values};
use crate::export::work::Work;
use crate::format::{ID_SUFFIX_LEN, format_count, id_suffix};
use crate::load::LoadOptions;
use crate::ops::navigate::last_request;
use crate::ops::plan::copy_all;
use crate::ops::stats::{collect_stats, count_loaded};
use crate::ops::tree::Filter;
use crate::session::entry::Role;
use crate::session::range::EntryRange;
use foldhash::HashSet;
use pisess_json::write::Object;
use pisess_store::{self as store, Committed, Fill, Glance, NewFolder, Reach, ReadAt, StoreError};
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf, is_separator};

/// The number of bytes that are collected before they are written.
const WRITE_BUFFER: usize = 1 << 18;

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Write a page to the current directory",
        "pisess export session.jsonl",
    ),
    Example::new(
        "Print the conversation as Markdown",
        "pisess export --as markdown -o - session.jsonl",
    ),
    Example::new(
        "Write Markdown that fits into an issue",
        "pisess export --max-size 65536 -o issue.md session.jsonl",
    ),
    Example::new(
        "Show what was asked and answered",
        "pisess export --no-tools --no-thinking session.jsonl",
    ),
    Example::new(
        "Write HTML without scripts, for mail and wikis",
        "pisess export --static session.jsonl",
    ),
    Example::new(
        "Write a trajectory for evaluation or training",
        "pisess export --as atif -o run.json session.jsonl",
    ),
    Example::new(
        "Write trajectories of all sessions of a directory",
        "pisess export --as atif sessions",
    ),
    Example::new(
        "Write conversations for fine-tuning, one JSON line for each session",
        "pisess export --as messages -o train.jsonl sessions",
    ),
    Example::new(
        "Export without secrets",
        "pisess export --redact session.jsonl",
    ),
    Example::new(
        "Export only the path to an entry",
        "pisess export -o answer.html session.jsonl '@~3'",
    ),
    Example::new(
        "Export only the last ten entries of the conversation",
        "pisess export --last 10 -o end.md session.jsonl",
    ),
]);

/// Export a session as a page or a document.
///
/// Writes one HTML file that needs no network, with the tree on the left and the conversation on
/// the right. The file is named after the session, in the current directory. Its path is printed.
/// An earlier page of the same session is replaced. --force is required to replace any other file,
/// a page that was changed, or a page with the session attached. It is also required to replace a
/// redacted page by a page that is not redacted.
///
/// Only you can read the file, and `chmod` shares it. A file that replaces another gets the
/// permissions of that file.
///
/// --as markdown and --static write a document. A document contains one path and says how many
/// branches it leaves out. With REF, a page is limited to the path to REF, too. With a range or
/// --last, an export contains only these entries. The extension of the file chooses the format:
/// `-o x.md` writes Markdown.
///
/// The title is the name of the session, or its first request. Prompts are shown as they were
/// typed; only fences, code spans and addresses are marked. Markdown leaves out settings,
/// bookkeeping and hidden messages, unless --filter asks for them.
///
/// --no-tools, --no-thinking, --filter and --max-lines leave out parts of pages and documents.
/// --max-size leaves out as little as possible: lines of output first, then thinking, then tool
/// calls, then entries in the middle. The result reports how many parts were left out. Markdown
/// also marks each place.
///
/// --as atif writes the path as a trajectory for evaluation and training: the Agent Trajectory
/// Interchange Format, version 1.7. It embeds the sub-agent sessions that tool results name.
///
/// --as messages writes one JSON line per conversation, `{"messages":[…],"tools":[…]}`, for
/// fine-tuning. Messages have the form of OpenAI's Chat Completions API. A conversation is the
/// whole path; with --context, summaries replace the entries that were compacted. Thinking, failed
/// replies and results without a call are left out. `tools` contains the definitions that the
/// session records. All conversations are written to one file, even if several sessions or
/// directories are given.
///
/// Given a directory, exports every session below it, one file each, into the -o directory or the
/// current one. Pages and documents are named after the day and the title of the session. Existing
/// exports with the same content are kept, so the same command completes an interrupted run.
///
/// --redact redacts the session first, as `pisess redact` does. The export is then read again,
/// decompressed, and searched for every secret that was found. If one is left, the export is
/// deleted, and the command fails.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input; or a directory of
    /// sessions
    pub session: PathBuf,
    /// Export only the path to this entry, or only the entries of this range
    #[arg(value_name = "REF", conflicts_with = "entry_count")]
    pub at: Option<String>,
    /// Further sessions and directories (with --as messages)
    #[arg(value_name = "SESSION", hide = true)]
    pub others: Vec<PathBuf>,
    #[command(flatten)]
    pub last: LastArgs,
    /// Output format (by default, from the extension of PATH, or html)
    #[arg(long = "as", value_name = "FORMAT")]
    pub format: Option<Rendition>,
    /// Include all branches (with --as messages, a line for each)
    #[arg(long, conflicts_with = "at")]
    pub branches: bool,
    /// Use what the model would see (with --as messages: compactions applied)
    #[arg(long)]
    pub context: bool,
    /// Write HTML of one path, without scripts
    #[arg(long = "static")]
    pub is_static: bool,
    /// Write the result to PATH (- for standard output), or to a file in PATH if that is a
    /// directory (a PATH that ends in / is created)
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Show the page in the browser
    #[arg(long)]
    pub open: bool,
    /// Leave out tool calls and their results
    #[arg(long)]
    pub no_tools: bool,
    /// Leave out the model's thinking
    #[arg(long)]
    pub no_thinking: bool,
    /// Choose which entries to show
    #[arg(long, value_name = "MODE")]
    pub filter: Option<Filter>,
    /// Show at most N lines of what a tool printed, read, wrote or changed
    #[arg(long, value_name = "N")]
    pub max_lines: Option<usize>,
    /// Leave out as much as necessary to write at most SIZE bytes, such as 65536 or 10M
    #[arg(long, value_name = "SIZE", value_parser = parse_positive_amount)]
    pub max_size: Option<u64>,
    /// Add the exported entries to the page, as a session that the reader can save
    #[arg(long)]
    pub attach: bool,
    #[command(flatten)]
    pub renderers: RendererArgs,
    /// Remove secrets, signatures and images first, as `pisess redact` does
    #[arg(long)]
    pub redact: bool,
    #[command(flatten)]
    pub redaction: RedactionArgs,
    /// Override refusals (such as to overwrite an existing output)
    #[arg(long)]
    pub force: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

impl Args {
    /// Returns the format of `--as`, else that of the output's extension, else a page. A page has
    /// scripts unless `--static` is given.
    fn resolve_format(&self) -> Result<Rendition, Failure> {
        match self.format {
            Some(Rendition::Page) => return Ok(self.page_format()),
            Some(format) => return Ok(format),
            None => {}
        }
        let output = self.output.as_deref();
        let output_file = output.filter(|output| !is_folder_name(output));
        let Some(extension) = output_file.and_then(Path::extension) else {
            return Ok(self.page_format());
        };
        let extension = extension.to_string_lossy();
        match extension.to_ascii_lowercase().as_str() {
            "html" | "htm" => Ok(self.page_format()),
            "md" | "markdown" => Ok(Rendition::Markdown),
            "jsonl" => Ok(Rendition::Messages),
            lowercase => Err(Failure::usage_error(format_args!(
                "no format has the extension .{}",
                to_visible(lowercase)
            ))
            .with_hint("give the format: --as html, --as markdown, --as atif or --as messages")),
        }
    }

    fn page_format(&self) -> Rendition {
        if self.is_static {
            Rendition::StaticPage
        } else {
            Rendition::Page
        }
    }

    /// Whether only a part of the session is exported, and not every branch.
    fn selects_part(&self) -> bool {
        self.at.is_some() || self.last.entry_count.is_some()
    }

    /// Returns what the options leave out.
    fn cuts(&self) -> Cuts {
        Cuts {
            filter: self.filter,
            omits_tools: self.no_tools || self.filter == Some(Filter::NoTools),
            omits_thinking: self.no_thinking,
            max_lines: self.max_lines,
            last_entries: None,
        }
    }

    /// Refuses options that contradict the format, or each other.
    fn require_consistent(&self, format: Rendition) -> Result<(), Failure> {
        let leaves_out = self.cuts() != Cuts::default() || self.max_size.is_some();
        if format == Rendition::Messages && leaves_out {
            let what = "conversations for fine-tuning are complete: nothing can be left out";
            let hint = "omit --no-tools, --no-thinking, --filter, --max-lines and --max-size";
            return Err(Failure::usage_error(what).with_hint(hint));
        }
        if format != Rendition::Messages && (self.branches || self.context) {
            let what = "--branches and --context apply only to --as messages";
            return Err(Failure::usage_error(what).with_hint("add it, or omit them"));
        }
        if format == Rendition::Trajectory && leaves_out {
            return Err(Failure::usage_error(
                "a trajectory is complete: nothing can be left out of it",
            )
            .with_hint("omit --no-tools, --no-thinking, --filter, --max-lines and --max-size"));
        }
        if self.attach && format != Rendition::Page {
            return Err(
                Failure::usage_error("--attach applies only to a page with scripts")
                    .with_hint("omit --static, and give an output that ends in .html"),
            );
        }
        if self.attach && leaves_out {
            return Err(Failure::usage_error("with --attach, the page contains every entry whole")
                .with_hint("omit --no-tools, --no-thinking, --filter, --max-lines and --max-size, or omit --attach"));
        }
        if self.is_static && format != Rendition::StaticPage {
            let cause = if self.format.is_some() {
                "--as"
            } else {
                "give an output that ends in .html"
            };
            return Err(Failure::usage_error("--static applies only to HTML")
                .with_hint(format!("omit --static or {cause}")));
        }
        if self.open && !matches!(format, Rendition::Page | Rendition::StaticPage) {
            return Err(Failure::usage_error("--open applies only to HTML")
                .with_hint("omit --open, or write a page with --as html"));
        }
        if self.open && self.output.as_deref() == Some(Path::new("-")) {
            return Err(open_needs_file_failure());
        }
        if !self.redact && self.redaction != RedactionArgs::default() {
            return Err(Failure::usage_error(
                "--env-file, --secret-file, --paths and --keep-images need --redact",
            )
            .with_hint("add --redact, or omit them"));
        }
        Ok(())
    }
}

pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let format = args.resolve_format()?;
    args.require_consistent(format)?;
    // Dropping it at the end removes the directory again if nothing was exported to it.
    let _new_folder = make_output_folder(args, ui)?;
    if format == Rendition::Messages {
        return examples::export_examples(args, ui);
    }
    if !args.others.is_empty() {
        let failure = Failure::usage_error("only --as messages takes several sessions");
        return Err(failure.with_hint("give a directory, or run the command for each session"));
    }
    if args.session.is_dir() && args.output.as_deref() != Some(Path::new("-")) {
        return export_all(args, format, ui);
    }
    export_session(args, &args.session, format, None, ui)
}

/// Whether a path names a directory by its end, as `pages/` does.
fn is_folder_name(path: &Path) -> bool {
    path.to_string_lossy().ends_with(is_separator)
}

/// Makes the directory of `-o` if it is missing, and its path ends as that of a directory.
fn make_output_folder(args: &Args, ui: &Ui) -> Result<Option<NewFolder>, Failure> {
    let Some(output) = args.output.as_deref() else {
        return Ok(None);
    };
    let folder = ui.resolve_path(output);
    if !is_folder_name(output) || folder.is_dir() {
        return Ok(None);
    }
    Ok(Some(NewFolder::make(&folder)?))
}

/// Exports the sessions below a directory. Those of sub-agents are not exported on their own: they
/// belong to the session that started them. A failure is reported, and the other sessions are
/// exported.
fn export_all(args: &Args, format: Rendition, ui: &mut Ui) -> Result<Exit, Failure> {
    if args.at.is_some() {
        return Err(Failure::usage_error("REF is an entry of one session")
            .with_hint("omit REF, or give a session"));
    }
    if args.open {
        return Err(Failure::usage_error("--open shows the page of one session")
            .with_hint("omit --open, or give a session"));
    }
    let output = args.output.as_deref();
    if output.is_some_and(|output| !ui.resolve_path(output).is_dir()) {
        return Err(Failure::usage_error(
            "the sessions of a directory are exported to a directory",
        )
        .with_hint("give an existing directory with -o, or a path that ends in /"));
    }

    let found_sessions = expand_arguments(std::slice::from_ref(&args.session), Reach::Whole, ui);
    let mut worst_exit = Exit::Done;
    for failure in &found_sessions.failures {
        worst_exit = worst_exit.max(ui.report_failure(failure));
    }

    let mut batch = Batch::default();
    for file in found_sessions.files {
        if file.owner.is_some() {
            continue;
        }
        let result = export_session(args, &file.path, format, Some(&mut batch), ui);

        let Err(failure) = result else { continue };
        if failure.is_transcript() {
            continue;
        }
        if failure.exit() == Exit::Found {
            // A session without messages is ordinary in a store.
            ui.warn(&failure.to_line());
        } else {
            worst_exit = worst_exit.max(ui.report_failure(&failure));
        }
    }
    batch.warn_of_other_branches(ui);
    Ok(worst_exit)
}

/// The exports of the sessions of a directory.
#[derive(Default)]
struct Batch {
    /// The files that were written, or found complete.
    outputs: HashSet<PathBuf>,
    /// What the documents of all sessions leave out, and of how many sessions.
    left_out: OtherBranches,
    sessions_with_others: usize,
}

impl Batch {
    fn add_other_branches(&mut self, others: OtherBranches) {
        self.left_out.branches += others.branches;
        self.left_out.messages += others.messages;
        self.sessions_with_others += 1;
    }

    /// Reports what all documents leave out, as the export of one session does.
    fn warn_of_other_branches(&self, ui: &mut Ui) {
        if self.sessions_with_others == 0 {
            return;
        }
        let sessions = format_count(self.sessions_with_others, "session", "sessions");
        ui.warn(&format!(
            "{} of {sessions} not exported (hint: export a session with the REF of another branch; `pisess branches` lists them)",
            self.left_out
        ));
    }
}

/// Returns the failure for a session whose export would overwrite that of another.
fn same_file_name_failure(session: &Path) -> Failure {
    let name = to_visible(&session.to_string_lossy());
    Failure::invalid(format_args!(
        "{name}: another session has the same file name"
    ))
    .with_path(&name)
    .with_hint("export it with another -o")
}

/// Exports a session: the one that the user gave, or one below the directory that was given.
fn export_session(
    args: &Args,
    path: &Path,
    format: Rendition,
    mut batch: Option<&mut Batch>,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let mut input = Input::open_to_read(path, ui)?;
    let mut removed_secrets = None;
    if args.redact {
        let (redacted_input, removed) = RemovedSecrets::remove_from(input, &args.redaction, ui)?;
        input = redacted_input;
        removed_secrets = Some(removed);
    }

    let options = LoadOptions {
        // A page shows them.
        stats: format == Rendition::Page,
        ..load_options(ui)
    };
    let open = OpenSession::from_input(input, options, ui)?;
    let mut contents = load_contents(args, format, &open, ui)?;
    let agents = if format == Rendition::Trajectory {
        open_sub_agents(&open.input, args, removed_secrets.as_mut(), ui)?
    } else {
        Vec::new()
    };

    contents.apply_cuts(args.cuts());
    let output = output_path(args, format, &contents, &open.input, batch.is_some(), ui);
    if output == Path::new("-") && ui.stdout_is_terminal() {
        contents.display = Display::Terminal;
    }
    let is_from_directory = batch.is_some();
    if let Some(batch) = &mut batch
        && !batch.outputs.insert(output.clone())
    {
        return Err(same_file_name_failure(path));
    }
    if format != Rendition::Page
        && let Some(others) = contents.count_other_branches()
    {
        match &mut batch {
            Some(batch) => batch.add_other_branches(others),
            None => ui.warn(&format!(
                "{others} not exported (hint: give the REF of another branch; `pisess branches` lists them)"
            )),
        }
    }

    let exporter = Exporter {
        args,
        format,
        session: &open.input,
        is_from_directory,
        removed: removed_secrets.as_ref(),
        agents: &agents,
        workers: ui.processor_count(),
    };
    if let Some(max_size) = args.max_size {
        exporter.fit_to_size(&mut contents, max_size, ui)?;
    }
    exporter.write_output(&contents, &output, ui)?;
    Ok(Exit::Done)
}

/// Notes that a range begins within a turn: with a reply or a result, whose user message is above.
fn warn_if_within_turn(open: &OpenSession, range: EntryRange, ui: &mut Ui) {
    let session = &open.session;
    let entries = range.entries(session);
    let Some(&first) = entries.iter().find(|&&ix| session.is_conversation(ix)) else {
        return;
    };
    let is_within_turn =
        session.is_message(first, Role::Assistant) || session.is_message(first, Role::ToolResult);
    if is_within_turn && let Some(request) = last_request(session, range.after.entry()) {
        let id = to_visible(&session.id(request).to_string_lossy());
        ui.warn(&format!(
            "the first of these entries is within a turn (hint: `{id}..` begins after its user message, `{id}^..` with it)"
        ));
    }
}

/// Collects the contents of the export, without cuts.
fn load_contents<'a>(
    args: &Args,
    format: Rendition,
    open: &'a OpenSession,
    ui: &mut Ui,
) -> Result<Contents<'a>, Failure> {
    let range = open.resolve_range(args.at.as_deref(), args.last.entry_count)?;
    if args.last.entry_count.is_some() {
        warn_if_within_turn(open, range, ui);
    }
    if args.attach && !range.is_whole_path() {
        return Err(
            Failure::usage_error("--attach needs a session that begins at the root")
                .with_hint("omit --attach, or give one REF to export the path to it"),
        );
    }
    let is_trajectory = format == Rendition::Trajectory;
    let part = if args.selects_part() || is_trajectory {
        ExportedPart::Range(range)
    } else {
        ExportedPart::AllBranches(range.end)
    };
    let mut contents = Contents::new(&open.session, open.input.source(), part);
    contents.requests = requests_with_pruned(open, part.request_scope());
    contents.is_redacted = args.redact;
    if format == Rendition::Page {
        contents.work = count_work(open, &contents);
        contents.file_name = file_name(&open.input);
    }
    let shown = contents.entries.iter().copied();
    contents.rendered = args.renderers.render(open, shown, ui)?;
    if is_trajectory && !has_steps(&contents) {
        return Err(open
            .input
            .negative_answer("the path has no message")
            .with_hint("name an entry further down"));
    }
    Ok(contents)
}

/// Returns the failure for `--open` if the export is printed.
fn open_needs_file_failure() -> Failure {
    Failure::usage_error("--open needs a file, not standard output")
        .with_hint("give a path with -o")
}

/// Returns what the entries of a page count for, as `stats` counts them. What was pruned from the
/// session is left out if it cannot be read.
fn count_work(open: &OpenSession, contents: &Contents) -> Work {
    if let Ok(Some(pruned)) = load_pruned(&open.input) {
        let options = LoadOptions {
            usage: true,
            stats: true,
            workers: open.worker_count(),
            ..LoadOptions::default()
        };
        let source = open.input.unredacted_source();
        if let Ok(stats) = collect_stats(source, &options, None, Some(&pruned)) {
            return Work::add_up(contents, &stats.session, &stats.entries);
        }
    }
    Work::add_up(contents, &open.session, &count_loaded(&open.session))
}

/// Returns the name of a session's file; `None` for a stream.
fn file_name(input: &Input) -> Option<String> {
    let name = input.file()?.path().file_name()?;
    Some(name.to_string_lossy().into_owned())
}

/// What is loaded of a session: rows, and the usage that pages and trajectories show.
fn load_options(ui: &Ui) -> LoadOptions {
    LoadOptions {
        usage: true,
        ..row_options(ui)
    }
}

/// Opens the sessions of sub-agents, which are in the directory named like the session. A session
/// that cannot be read is left out, with a warning. If `removed_secrets` is given, secrets are
/// removed from each session, and added to those.
fn open_sub_agents(
    input: &Input,
    args: &Args,
    mut removed_secrets: Option<&mut RemovedSecrets>,
    ui: &mut Ui,
) -> Result<Vec<OpenSession>, Failure> {
    let Some(file) = input.file() else {
        return Ok(Vec::new());
    };
    let folder = file.path().with_extension("");
    if !folder.is_dir() {
        return Ok(Vec::new());
    }

    let mut agents = Vec::new();
    for file in store::find(&[folder], Reach::Whole).files {
        let mut input = match open_session(&file.path, ui) {
            Ok(input) => input,
            Err(failure) if failure.is_transcript() => continue,
            Err(failure) => {
                ui.warn(&failure.to_line());
                continue;
            }
        };
        if let Some(removed_secrets) = removed_secrets.as_deref_mut() {
            let (redacted_input, removed) =
                RemovedSecrets::remove_from(input, &args.redaction, ui)?;
            report_redaction(
                &removed.report,
                &redacted_input,
                SecretsOutcome::LeftOut,
                ui,
            );
            removed_secrets.merge(removed);
            input = redacted_input;
        }
        agents.push(OpenSession::from_input(input, load_options(ui), ui)?);
    }
    Ok(agents)
}

/// Opens a file, and fails if its first line is not the header of a session.
fn open_session(path: &Path, ui: &Ui) -> Result<Input, Failure> {
    let input = Input::open_path_to_read(path, ui.stdout_predicate())?;
    input.read_header()?;
    Ok(input)
}

/// Writes the export of a session.
struct Exporter<'a> {
    args: &'a Args,
    format: Rendition,
    session: &'a Input,
    /// Whether the session is one of those of a directory.
    is_from_directory: bool,
    /// The secrets that were removed from the session, with `--redact`.
    removed: Option<&'a RemovedSecrets>,
    /// The sessions of sub-agents, for a trajectory.
    agents: &'a [OpenSession],
    workers: usize,
}

/// What the export may replace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Replaced {
    /// Any file, with `--force`.
    IfForced,
    /// A page that pisess wrote of the same session.
    OwnPage,
}

impl Exporter<'_> {
    /// Leaves out as little as possible so that at most `max_size` bytes are written.
    fn fit_to_size(&self, contents: &mut Contents, max_size: u64, ui: &Ui) -> Result<(), Failure> {
        let _waiting = ui.start_spinner("fitting");
        let fits = fit_to_size(contents, max_size, &|contents, out| {
            self.write_contents(contents, out)
        });
        if self.session.map_read_error(fits)? {
            return Ok(());
        }
        let problem = format_args!("{max_size} bytes are too few even for the first request");
        Err(self
            .session
            .failure(problem)
            .with_hint("give a larger --max-size"))
    }

    /// Writes the export to standard output or to a file, whose path is then printed. With `--open`,
    /// the file is shown in the browser.
    fn write_output(&self, contents: &Contents, output: &Path, ui: &mut Ui) -> Result<(), Failure> {
        if output == Path::new("-") {
            // The export of a stream is printed if there is no `-o`.
            if self.args.open {
                return Err(open_needs_file_failure());
            }
            return self.print_to_stdout(contents, ui);
        }

        if let Some(committed) = self.create_file(contents, output, ui)? {
            ui.report_commit_warnings(&committed);
        }
        self.print_path(contents, output, ui)?;
        if self.args.open {
            let page = ui.resolve_path(output);
            let opened = open_page(&page, ui);
            opened.map_err(|failure| failure.after_writing(&output.to_string_lossy()))?;
        }
        Ok(())
    }

    /// Writes the export to a new file, or in place of a page of the same session. With `--redact`,
    /// the export is searched before the file appears at its path: if a secret is left in it, the
    /// command fails, and there is no file. Returns `None` if an earlier run has written the same
    /// file.
    fn create_file(
        &self,
        contents: &Contents,
        path: &Path,
        ui: &mut Ui,
    ) -> Result<Option<Committed>, Failure> {
        let path = ui.resolve_path(path);
        let _waiting = match self.session.start_reading(ui) {
            Some(bar) => bar,
            None => ui.start_spinner("exporting"),
        };
        if self.args.force {
            return self.create_file_at(contents, &path, Replaced::IfForced, ui);
        }
        let Some(page) = self.own_page(contents, &path) else {
            return self.create_file_at(contents, &path, Replaced::IfForced, ui);
        };
        if !self.may_replace(page) {
            return Err(redacted_page_failure(&path));
        }
        self.create_file_at(contents, &path, Replaced::OwnPage, ui)
    }

    /// Returns the page at a path if pisess wrote it of this session, without the session itself,
    /// and it was not changed since.
    fn own_page(&self, contents: &Contents, path: &Path) -> Option<OwnPage> {
        if !matches!(self.format, Rendition::Page | Rendition::StaticPage) {
            return None;
        }
        // A file that cannot be read is not replaced.
        let file = Glance::open(path).ok()?;
        read_own_page(&file, contents.session).ok()?
    }

    /// Whether the export may replace a page without `--force`. A redacted page is replaced only by
    /// a redacted one: it may be at a place where others see it.
    fn may_replace(&self, page: OwnPage) -> bool {
        !page.is_redacted || self.removed.is_some()
    }

    /// Writes the export to a file, as [`Exporter::create_file`] does. A page that is to be replaced
    /// is looked at again when the new one is complete, right before the rename.
    fn create_file_at(
        &self,
        contents: &Contents,
        path: &Path,
        replaced: Replaced,
        ui: &mut Ui,
    ) -> Result<Option<Committed>, Failure> {
        let session = self.session;
        let replaces_page = replaced == Replaced::OwnPage;
        let force = self.args.force || replaces_page;
        let mut write = |out: &mut dyn io::Write| self.write_contents(contents, out);
        if self.removed.is_none() && !replaces_page {
            let create_result =
                store::create_private(path, session.file(), force, &mut write, None);
            return self.accept_complete(path, create_result, &mut write);
        }

        let mut left_secrets = BTreeSet::new();
        let mut check = |written: &dyn ReadAt| {
            if let Some(removed) = self.removed {
                left_secrets = find_leaked_values(self.format, written, &removed.secrets)?;
                refuse_leftovers(!left_secrets.is_empty())?;
            }
            if replaces_page {
                let page = self.own_page(contents, path);
                if !page.is_some_and(|page| self.may_replace(page)) {
                    return Err(io::ErrorKind::AlreadyExists.into());
                }
            }
            Ok(())
        };
        let create_result =
            store::create_private(path, session.file(), force, &mut write, Some(&mut check));
        if let Some(removed) = self.removed {
            // If a secret is left, `create_result` is an error, too, but does not name the secret.
            removed.refuse_left_in_export(&left_secrets, session)?;
            report_redaction(&removed.report, session, SecretsOutcome::LeftOut, ui);
        }
        // An earlier run kept its export only if no secret was left in it.
        self.accept_complete(path, create_result, &mut write)
    }

    /// Accepts that a file exists if the session is one of a directory's, and the file has the
    /// content that `write` would write: an earlier run wrote it before it was killed. Returns
    /// `None` then.
    fn accept_complete(
        &self,
        path: &Path,
        create_result: Result<Committed, StoreError>,
        write: &mut Fill,
    ) -> Result<Option<Committed>, Failure> {
        let error = match create_result {
            Ok(committed) => return Ok(Some(committed)),
            Err(error) => error,
        };
        let is_occupied = error.kind() == Some(io::ErrorKind::AlreadyExists);
        if self.is_from_directory && is_occupied && store::has_content(path, write)? {
            return Ok(None);
        }
        Err(error.into())
    }

    /// Writes the export to standard output. With `--redact`, it is written to a temporary file
    /// first, and printed only if no secret is left in it.
    fn print_to_stdout(&self, contents: &Contents, ui: &mut Ui) -> Result<(), Failure> {
        let session = self.session;
        let Some(removed) = self.removed else {
            return self
                .write_contents(contents, ui.stdout())
                .map_err(Failure::from_stdout_error);
        };
        let written = store::spool_written(&mut |out| self.write_contents(contents, out))?;
        let left_secrets =
            session.map_read_error(find_leaked_values(self.format, &written, &removed.secrets))?;
        removed.refuse_left_in_export(&left_secrets, session)?;
        copy_all(&written, ui.stdout()).map_err(Failure::from_stdout_error)?;
        ui.flush()?;
        report_redaction(&removed.report, session, SecretsOutcome::LeftOut, ui);
        Ok(())
    }

    /// Prints the path of the new file; as JSON, also the number of entries, and with `--redact`
    /// what was removed.
    fn print_path(&self, contents: &Contents, path: &Path, ui: &mut Ui) -> Result<(), Failure> {
        let path = path.to_string_lossy();
        ui.print_after_write(&path, |ui| {
            if !self.args.json {
                return ui.print_path(&path);
            }
            let row = Object::new()
                .str("path", &path)
                .number("entries", contents.entries.len() as f64)
                .with(self.removed, |row, removed| {
                    add_counts(row, &removed.report)
                });
            ui.print_json(&row.finish())
        })
    }

    /// Returns the contents of the sub-agents that have steps. If several have the same id, a
    /// number is appended from the second on, because ids must be unique in the trajectory.
    fn sub_agent_contents(&self) -> Vec<SubAgent<'_>> {
        let mut agents: Vec<SubAgent> = Vec::new();
        for OpenSession { input, session, .. } in self.agents {
            let path = ExportedPart::Range(EntryRange::path_to(session.leaf.into()));
            let contents = Contents::new(session, input.source(), path);
            if !has_steps(&contents) {
                continue;
            }
            let mut id = session.header.id.to_string_lossy().into_owned();
            let same_id_count = agents
                .iter()
                .filter(|agent| agent.contents.session.header.id == session.header.id)
                .count();
            if same_id_count > 0 {
                id += &format!("-{}", same_id_count + 1);
            }
            agents.push(SubAgent {
                id,
                path: path_text(input),
                contents,
            });
        }
        agents
    }

    /// Writes the contents in the format, through a buffer of [`WRITE_BUFFER`] bytes.
    fn write_contents(&self, contents: &Contents, out: &mut dyn io::Write) -> io::Result<()> {
        let mut out = io::BufWriter::with_capacity(WRITE_BUFFER, out);
        match self.format {
            Rendition::Markdown => write_document(contents, self.workers, &mut out)?,
            Rendition::Trajectory => {
                let path = path_text(self.session);
                let agents = self.sub_agent_contents();
                write_trajectory(contents, &path, &agents, self.workers, &mut out)?
            }
            Rendition::StaticPage => write_static_page(contents, self.workers, &mut out)?,
            Rendition::Page => write_page(contents, self.workers, self.args.attach, &mut out)?,
            // `export_examples` writes them.
            Rendition::Messages => {}
        }
        io::Write::flush(&mut out)
    }
}

/// Returns the failure for an export with secrets that would replace a page without them.
fn redacted_page_failure(page: &Path) -> Failure {
    let path = to_visible(&page.to_string_lossy());
    Failure::invalid(format_args!(
        "cannot create {path}: the page there is redacted, and this export is not"
    ))
    .with_path(&path)
    .with_hint("add --redact, choose another name, or overwrite it with --force")
}

/// Returns the path of a session; an empty text for a stream.
fn path_text(input: &Input) -> String {
    match input.file() {
        Some(file) => file.path().to_string_lossy().into_owned(),
        None => String::new(),
    }
}

/// Returns the path of the export: that of `-o`, or in the directory of `-o` a file named after the
/// session. Without `-o`, that file is in the current directory. A stream has no name: its export
/// is `-`, standard output. The documents of a directory are named after their titles, so that
/// people find them; a trajectory has the name of its session.
fn output_path(
    args: &Args,
    format: Rendition,
    contents: &Contents,
    input: &Input,
    is_from_directory: bool,
    ui: &Ui,
) -> PathBuf {
    let extension = match format {
        Rendition::Page | Rendition::StaticPage => ".html",
        Rendition::Markdown => ".md",
        Rendition::Trajectory => ".json",
        Rendition::Messages => examples::SUFFIX,
    };
    let stem = input.file().and_then(|file| file.path().file_stem());
    let name = match stem {
        Some(stem) if is_from_directory && format != Rendition::Trajectory => {
            let stem = contents.file_name_of_title(&short_id(contents, stem));
            PathBuf::from(stem + extension)
        }
        Some(stem) => store::with_suffix(Path::new(stem), extension),
        None => PathBuf::from("-"),
    };
    match &args.output {
        Some(folder) if ui.resolve_path(folder).is_dir() => folder.join(name),
        Some(output) => output.clone(),
        None => name,
    }
}

/// Returns the short id of a session, as `list` shows it; of its file's name if it has no id.
fn short_id(contents: &Contents, stem: &OsStr) -> String {
    let mut id = contents.session.header.id.to_string_lossy().into_owned();
    if id.is_empty() {
        id = stem.to_string_lossy().into_owned();
    }
    id_suffix(&id, ID_SUFFIX_LEN).to_owned()
}
