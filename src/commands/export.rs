//! `pisess export`: writes a session as a page or a document.

mod browser;
mod directory;
mod examples;
mod exporter;
mod output_path;
mod session;
mod sub_agents;

use self::directory::export_all;
use self::session::export_session;
use crate::cli::guide::{Example, Guide};
use crate::cli::named::{FoundSessions, expand_arguments_to_read, find_project_cwd, names_project};
use crate::cli::options::{LastArgs, parse_positive_amount};
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::cli::redaction::RedactionArgs;
use crate::cli::renderer::RendererArgs;
use crate::export::cuts::Cuts;
use crate::export::verify::Rendition;
use crate::ops::tree::Filter;
use pisess_store::{NewFolder, Reach};
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
        "Export only questions and answers",
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
        "Write a page with the current branch alone",
        "pisess export -o branch.html session.jsonl @",
    ),
    Example::new(
        "Export only the last ten entries of the conversation",
        "pisess export --last 10 -o end.md session.jsonl",
    ),
]);

/// Export a session as a page or a document.
///
/// Writes one HTML file that needs no network, with the tree on the left and the conversation on
/// the right. The file is written to the current directory, and named after the session's file. The
/// path of the new file is printed. An earlier page of the same session is replaced. To replace any
/// other file, a page that was changed, or a page with an attached session, use --force. To replace
/// a redacted page by a page with secrets, use --force as well.
///
/// Only you can read the new file; use `chmod` to let others read it. A file that replaces another
/// gets the permissions of that file.
///
/// --as markdown and --static write a document. A document contains only one path, and says how
/// many branches it leaves out. A page contains all branches. With REF, a page contains only the
/// path to REF, as a document does. With a range or --last, an export contains only the entries of
/// the range. The extension of the file selects the format: `-o x.md` writes Markdown.
///
/// The title is the name of the session, or its first request. Prompts are shown as they were
/// typed; only fences, code spans and URLs are formatted. Without --filter, a page contains every
/// entry; a document leaves out settings, bookkeeping (labels, names, the marks that `switch`
/// appends, …) and hidden messages.
///
/// --no-tools, --no-thinking, --filter and --max-lines leave out parts of pages and documents.
/// --max-size leaves out as little as possible: lines of output first, then thinking, then tool
/// calls, then entries in the middle. The exported file says what was left out. Markdown also marks
/// each place.
///
/// --as atif writes the path as a trajectory for evaluation and training: the Agent Trajectory
/// Interchange Format, version 1.7. If a tool result names the session of a sub-agent, the
/// trajectory embeds that session.
///
/// --as messages writes one JSON line per conversation, `{"messages":[…],"tools":[…]}`, for
/// fine-tuning. Messages have the form of OpenAI's Chat Completions API. A conversation is the
/// whole path, including entries that were compacted; with --context, summaries replace these
/// entries. Thinking, failed replies and results without a call are left out. `tools` contains the
/// definitions that the session records. If you give several sessions, or directories, all
/// conversations are written to one file; those without a user message are left out.
///
/// In all formats but `messages`, each session below a given directory is exported to a file of its
/// own, in the -o directory or the current one. These pages and documents are named after the day
/// and the title of the session. Existing exports with the same content are kept. So if a run is
/// interrupted, the same command completes it.
///
/// --redact redacts the session first, as `pisess redact` does. The written file is then read
/// again, including the compressed parts of a page, and searched for every secret that was found in
/// the session. If a secret is left, the export is deleted, and the command fails. --env-file,
/// --secret-file, --paths and --keep-images apply only with --redact.
#[derive(Debug, clap::Args)]
#[command(override_usage = concat!(
    "pisess export [OPTIONS] <SESSION> [REF]\n",
    "       pisess export [OPTIONS] --as messages <SESSION>...",
))]
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
    /// Include all branches (only with --as messages: writes a line for each)
    #[arg(long, conflicts_with = "at")]
    pub branches: bool,
    /// Use what the model would see (only with --as messages: summaries in place of compacted
    /// entries)
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
    /// Attach the exported entries to the page, as a session file that readers can save
    #[arg(long)]
    pub attach: bool,
    #[command(flatten)]
    pub renderers: RendererArgs,
    /// Remove secrets, signatures and images first, as `pisess redact` does
    #[arg(long)]
    pub redact: bool,
    #[command(flatten)]
    pub redaction: RedactionArgs,
    /// Override refusals (such as overwriting an existing output)
    #[arg(long)]
    pub force: bool,
    /// Print the result as JSON
    #[arg(long)]
    pub json: bool,
}

impl Args {
    /// Returns the format of `--as`; without it, the format of the output's extension, else a page.
    /// A page has scripts unless `--static` is given.
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
            "patch" | "diff" => Err(Failure::usage_error("export does not write patches")
                .with_hint("`pisess show --patch SESSION` prints what the agent changed in files")),
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

    /// Whether a REF or `--last` selects a part of the session. Otherwise all branches are
    /// exported.
    fn selects_part(&self) -> bool {
        self.at.is_some() || self.last.entry_count.is_some()
    }

    /// Returns what the options leave out of the export.
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
        if format != Rendition::Messages && (self.branches || self.context) {
            let what = "--branches and --context apply only to --as messages";
            return Err(
                Failure::usage_error(what).with_hint("add --as messages, or omit these options")
            );
        }
        self.refuse_cuts(format)?;
        self.refuse_options_of_pages(format)?;
        if !self.redact && self.redaction != RedactionArgs::default() {
            return Err(Failure::usage_error(
                "--env-file, --secret-file, --paths and --keep-images need --redact",
            )
            .with_hint("add --redact, or omit them"));
        }
        Ok(())
    }

    /// Refuses to leave anything out of a format that is complete.
    fn refuse_cuts(&self, format: Rendition) -> Result<(), Failure> {
        if !self.leaves_out() {
            return Ok(());
        }
        let what = match format {
            Rendition::Messages => {
                "conversations for fine-tuning are complete: nothing can be left out"
            }
            Rendition::Trajectory => "a trajectory is complete: nothing can be left out of it",
            Rendition::Page | Rendition::StaticPage | Rendition::Markdown => return Ok(()),
        };
        let hint = "omit --no-tools, --no-thinking, --filter, --max-lines and --max-size";
        Err(Failure::usage_error(what).with_hint(hint))
    }

    /// Whether options leave parts of the session out of the export.
    fn leaves_out(&self) -> bool {
        self.cuts() != Cuts::default() || self.max_size.is_some()
    }

    /// Refuses options of pages for other formats, and where they contradict others.
    fn refuse_options_of_pages(&self, format: Rendition) -> Result<(), Failure> {
        if self.attach && format != Rendition::Page {
            return Err(
                Failure::usage_error("--attach applies only to a page with scripts")
                    .with_hint("omit --static, and give an output that ends in .html"),
            );
        }
        if self.attach && self.leaves_out() {
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
        Ok(())
    }
}

/// Exports one session, or the sessions of a directory. With `--as messages`, exports any number of
/// sessions into one file. Contradictory options are refused before a directory is made.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let format = args.resolve_format()?;
    args.require_consistent(format)?;
    // When it is dropped at the end, the new directory is removed if nothing was exported to it:
    // after a failure, or if there is nothing to export.
    let _new_folder = make_output_folder(args, ui)?;
    if format == Rendition::Messages {
        return examples::export_examples(args, ui);
    }
    if !args.others.is_empty() {
        let failure = Failure::usage_error("only --as messages takes several sessions");
        return Err(failure.with_hint("give a directory, or run the command for each session"));
    }
    let is_to_stdout = args.output.as_deref() == Some(Path::new("-"));
    let is_folder = args.session.is_dir() && !is_to_stdout;
    if is_folder || is_rather_project(args, ui) {
        return export_all(args, format, ui);
    }

    let batch = None;
    match export_session(args, &args.session, format, batch, ui) {
        Err(failure) if failure.is_missing_file => {
            export_project_or_fail(args, format, failure, ui)
        }
        exported => exported,
    }
}

/// Exports the sessions of the project that SESSION names, because no session has that name.
///
/// # Errors
/// `no_session`, the failure to find a session, if no project has the name either, or if its
/// sessions would go to standard output. If several projects have the name, another failure lists
/// them.
fn export_project_or_fail(
    args: &Args,
    format: Rendition,
    no_session: Failure,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let project = find_project_cwd(&args.session, ui)?;
    let is_to_stdout = args.output.as_deref() == Some(Path::new("-"));
    if project.is_none() || is_to_stdout {
        return Err(no_session);
    }
    export_all(args, format, ui)
}

/// Whether SESSION is the name of a project, which is meant rather than a session with that name in
/// its title. An output in a directory shows that the sessions of the project are meant; a REF,
/// that one session is.
fn is_rather_project(args: &Args, ui: &Ui) -> bool {
    goes_to_folder(args, ui) && args.at.is_none() && names_project(&args.session, ui)
}

/// Finds the sessions that the arguments name, and those in directories among them: of the agents
/// that `--source` names, if it is given.
///
/// # Errors
/// If one of the arguments is standard input, and `--source` is given.
fn find_sessions(arguments: &[PathBuf], ui: &mut Ui) -> Result<FoundSessions, Failure> {
    let mut found = expand_arguments_to_read(arguments, Reach::Whole, ui);
    let Some(sources) = ui.sources.clone() else {
        return Ok(found);
    };
    let had_files = !found.files.is_empty();
    found.files = sources.retain_files(found.files, ui)?;
    // If only pi or oh-my-pi is searched for, `retain_files` has warned.
    if had_files && found.files.is_empty() && !sources.origins.is_empty() {
        ui.warn("none of the sessions found is of the agents that --source names");
    }
    Ok(found)
}

/// Whether `-o` is a directory, or is written as one.
fn goes_to_folder(args: &Args, ui: &Ui) -> bool {
    match args.output.as_deref() {
        Some(output) => is_folder_name(output) || ui.resolve_path(output).is_dir(),
        None => false,
    }
}

/// Whether a path is written as a directory: it ends with a separator, as in `pages/`.
fn is_folder_name(path: &Path) -> bool {
    path.to_string_lossy().ends_with(is_separator)
}

/// Makes the directory of `-o` if it is missing. Returns `None` if it exists, or if `-o` does not
/// end with a separator and so names a file.
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

/// Returns the failure for `--open` when the export goes to standard output.
fn open_needs_file_failure() -> Failure {
    Failure::usage_error("--open needs a file, not standard output")
        .with_hint("give a path with -o")
}
