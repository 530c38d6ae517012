//! `pisess export`: writes a session as a page or a document.

use crate::cli::guide::{Example, Guide};
use crate::cli::named::{FoundSessions, expanded};
use crate::cli::open::{Input, OpenSession};
use crate::cli::options::positive_amount;
use crate::cli::output::{Exit, Failure, Ui, visible};
use crate::cli::pruned::requests;
use crate::cli::redaction::{RedactionArgs, Removed, counted, refuse_any, summarize};
use crate::cli::renderer::RendererArgs;
use crate::cli::rows::entry::row_options;
use crate::export::atif::{SubAgent, has_steps, trajectory};
use crate::export::cuts::Cuts;
use crate::export::fit::fit;
use crate::export::markdown::document;
use crate::export::page::page;
use crate::export::source::Contents;
use crate::export::static_html::static_page;
use crate::export::verify::{Rendition, left_over};
use crate::load::Options;
use crate::ops::plan::copy_all;
use crate::ops::tree::Filter;
use crate::session::reference::LEAF;
use foldhash::HashSet;
use pisess_json::write::Object;
use pisess_store::{self as store, Committed, Fill, Reach, StoreError};
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};

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
        "Export without secrets",
        "pisess export --redact session.jsonl",
    ),
    Example::new(
        "Export only the path to an entry",
        "pisess export -o answer.html session.jsonl '@~3'",
    ),
]);

/// Export a session as a page or a document.
///
/// Writes one HTML file that needs no network, with the tree on the left and the path to the
/// selected entry on the right. The file is named after the session and written to the current
/// directory; its path is printed.
///
/// With --as markdown or --static, the path to the leaf, or to REF, is written as a document.
/// Without REF, the document and a note report how many other branches are not in it. With REF, the
/// HTML page, too, contains only the path to REF. The extension of the file chooses the format: `-o
/// x.md` writes Markdown.
///
/// The title is the name of the session, or its first request. Markdown leaves out settings,
/// bookkeeping, and messages that the agent does not show, unless --filter asks for them.
///
/// A page or a document can leave out tool calls, thinking, entries, and lines of output. With
/// --max-size, as little as possible is left out: lines of output first, then thinking, then tool
/// calls, then entries in the middle of the conversation. The page or document names what is left
/// out.
///
/// With --as atif, the path is written as a trajectory: the Agent Trajectory Interchange Format,
/// version 1.7, which tools for evaluation and training read. The sessions of the sub-agents that
/// its results name are embedded.
///
/// Of a directory, each session in it is exported, at any depth, to a file named after it, in the
/// directory given with -o or the current one. An export that is there already is kept if it has the
/// same content, so that the same command completes a run that was interrupted.
///
/// With --redact, the session is redacted first, as by `pisess redact`. The export is then read
/// again, decompressed, and searched for every secret that was found. If one is left, the export is
/// deleted, and the command fails.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input; or a directory of
    /// sessions
    pub session: PathBuf,
    /// Export only the path to this entry
    #[arg(value_name = "REF")]
    pub at: Option<String>,
    /// Output format (without it, that of the extension of PATH, or html)
    #[arg(long = "as", value_name = "FORMAT")]
    pub format: Option<Rendition>,
    /// Write HTML of one path, without scripts
    #[arg(long = "static")]
    pub is_static: bool,
    /// Write the result to PATH (- for standard output), or to a file in PATH if that is a
    /// directory
    #[arg(short, long, value_name = "PATH")]
    pub output: Option<PathBuf>,
    /// Leave out tool calls and their results
    #[arg(long)]
    pub no_tools: bool,
    /// Leave out what the model thought
    #[arg(long)]
    pub no_thinking: bool,
    /// Choose which entries to show
    #[arg(long, value_name = "MODE")]
    pub filter: Option<Filter>,
    /// Show at most N lines of what a tool printed, read, wrote or changed
    #[arg(long, value_name = "N")]
    pub max_lines: Option<usize>,
    /// Leave out as much as necessary to write at most SIZE bytes, such as 65536 or 10M
    #[arg(long, value_name = "SIZE", value_parser = positive_amount)]
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
    /// Returns the format that was asked for, or that of the output's extension.
    fn format(&self) -> Result<Rendition, Failure> {
        let extension = self
            .output
            .as_deref()
            .and_then(Path::extension)
            .map(|text| text.to_string_lossy());
        match (
            self.format,
            extension.as_deref().map(str::to_ascii_lowercase).as_deref(),
        ) {
            (Some(Rendition::Page), _) | (None, None | Some("html" | "htm")) => {
                Ok(if self.is_static {
                    Rendition::StaticPage
                } else {
                    Rendition::Page
                })
            }
            (Some(format), _) => Ok(format),
            (None, Some("md" | "markdown")) => Ok(Rendition::Markdown),
            (None, Some(extension)) => Err(Failure::usage(format_args!(
                "no format has the extension .{}",
                visible(extension)
            ))
            .hint("give the format: --as html, --as markdown or --as atif")),
        }
    }

    fn cuts(&self) -> Cuts {
        Cuts {
            filter: self.filter,
            tools: self.no_tools || self.filter == Some(Filter::NoTools),
            thinking: self.no_thinking,
            lines: self.max_lines,
            last: None,
        }
    }
}

pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let format = args.format()?;
    let cuts = args.cuts();
    if format == Rendition::Trajectory && (cuts != Cuts::default() || args.max_size.is_some()) {
        return Err(
            Failure::usage("a trajectory is complete: nothing can be left out of it")
                .hint("omit --no-tools, --no-thinking, --filter, --max-lines and --max-size"),
        );
    }
    if args.attach && format != Rendition::Page {
        return Err(
            Failure::usage("--attach applies only to a page with scripts")
                .hint("omit --static, and give an output that ends in .html"),
        );
    }
    if args.attach && (cuts != Cuts::default() || args.max_size.is_some()) {
        return Err(Failure::usage("with --attach, the page contains every entry whole")
            .hint("omit --no-tools, --no-thinking, --filter, --max-lines and --max-size, or omit --attach"));
    }
    if args.is_static && format != Rendition::StaticPage {
        let cause = if args.format.is_some() {
            "--as"
        } else {
            "give an output that ends in .html"
        };
        return Err(Failure::usage("--static applies only to HTML")
            .hint(format!("omit --static or {cause}")));
    }
    if !args.redact && args.redaction != RedactionArgs::default() {
        return Err(Failure::usage(
            "--env-file, --secret-file, --paths and --keep-images need --redact",
        )
        .hint("add --redact, or omit them"));
    }
    if args.session.is_dir() && args.output.as_deref() != Some(Path::new("-")) {
        return all(args, format, ui);
    }
    one(args, &args.session, format, ui)
}

/// Exports the sessions below a directory. Those of sub-agents belong to the session that started
/// them.
fn all(args: &Args, format: Rendition, ui: &mut Ui) -> Result<Exit, Failure> {
    if args.at.is_some() {
        return Err(
            Failure::usage("REF is an entry of one session").hint("omit REF, or give a session")
        );
    }
    if args
        .output
        .as_deref()
        .is_some_and(|output| !ui.absolute(output).is_dir())
    {
        return Err(
            Failure::usage("the sessions of a directory are exported to a directory")
                .hint("give an existing directory with -o"),
        );
    }
    let FoundSessions {
        files, failures, ..
    } = expanded(std::slice::from_ref(&args.session), Reach::Whole, ui);
    let mut worst = failures
        .iter()
        .map(|failure| ui.report(failure))
        .max()
        .unwrap_or(Exit::Done);
    let mut names = HashSet::default();
    for file in files.into_iter().filter(|file| file.owner.is_none()) {
        let exported = if names.insert(file.path.file_stem().map(OsString::from)) {
            one(args, &file.path, format, ui)
        } else {
            let name = visible(&file.path.to_string_lossy());
            let failure = Failure::cannot(format_args!(
                "{name}: another session has the same file name"
            ));
            Err(failure.path(&name).hint("export it with another -o"))
        };
        worst = match exported {
            Ok(_) => worst,
            Err(failure) if failure.is_transcript() => worst,
            // A session without messages is ordinary in a store.
            Err(failure) if failure.exit() == Exit::Found => {
                ui.warn(&failure.line());
                worst
            }
            Err(failure) => worst.max(ui.report(&failure)),
        };
    }
    Ok(worst)
}

fn one(args: &Args, session: &Path, format: Rendition, ui: &mut Ui) -> Result<Exit, Failure> {
    let cuts = args.cuts();
    let input = Input::open(session, ui)?;
    let (input, mut removed) = if args.redact {
        let (input, removed) = Removed::taken_from(input, &args.redaction, ui)?;
        (input, Some(removed))
    } else {
        (input, None)
    };
    let open = OpenSession::of(input, options(ui), ui)?;
    let end = open.resolve(args.at.as_deref().unwrap_or(LEAF))?;
    let is_trajectory = format == Rendition::Trajectory;
    let path_only = args.at.is_some() || is_trajectory;
    let mut contents = Contents::new(&open.session, open.input.source(), path_only, end);
    contents.requests = requests(&open, path_only.then_some(end));
    contents.rendered = args
        .renderers
        .render(&open, contents.entries.iter().copied(), ui)?;
    if is_trajectory && !has_steps(&contents) {
        return Err(open
            .input
            .no("the path has no message")
            .hint("name an entry further down"));
    }
    let agents = if is_trajectory {
        sub_agents(&open.input, args, removed.as_mut(), ui)?
    } else {
        Vec::new()
    };
    contents.cut(cuts);
    // The hint is to give REF, which those of a directory do not take.
    if format != Rendition::Page
        && session == args.session
        && let Some(others) = contents.others()
    {
        ui.warn(&format!(
            "{others} not exported (hint: give the REF of another branch; `pisess branches` lists them)"
        ));
    }
    let workers = ui.processors();
    let removed = removed.as_ref();
    let export = Export {
        args,
        format,
        session: &open.input,
        is_of_directory: session != args.session,
        removed,
        agents: &agents,
        workers,
    };
    if let Some(most) = args.max_size {
        let _waiting = ui.spinner("fitting");
        if !open.input.read(fit(&mut contents, most, &|contents, out| {
            export.write(contents, out)
        }))? {
            let problem = format_args!("{most} bytes are too few even for the first request");
            return Err(open.input.cannot(problem).hint("give a larger --max-size"));
        }
    }
    let output = output(args, format, &open.input, ui);
    if output == Path::new("-") {
        export.print(&contents, ui)?;
        return Ok(Exit::Done);
    }
    if let Some(committed) = export.create(&contents, &output, ui)? {
        ui.warn_of(&committed);
    }
    let path = output.to_string_lossy();
    ui.print_after(&path, |ui| {
        if !args.json {
            return ui.print_path(&path);
        }
        let row = Object::new()
            .str("path", &path)
            .number("entries", contents.entries.len() as f64);
        ui.print_json(
            &row.with(removed, |row, removed| counted(row, &removed.report))
                .finish(),
        )
    })?;
    Ok(Exit::Done)
}

fn options(ui: &Ui) -> Options {
    Options {
        usage: true,
        ..row_options(ui)
    }
}

/// Opens the sessions of sub-agents, which are in the directory named like the session. One that
/// cannot be read is left out with a note.
fn sub_agents(
    session: &Input,
    args: &Args,
    mut removed: Option<&mut Removed>,
    ui: &mut Ui,
) -> Result<Vec<OpenSession>, Failure> {
    let folder = session
        .file()
        .map(|file| file.path().with_extension(""))
        .filter(|folder| folder.is_dir());
    let files = folder.map(|folder| store::find(&[folder], Reach::Whole).files);
    let mut agents = Vec::new();
    for file in files.into_iter().flatten() {
        let opened = Input::open_path(&file.path, ui.stdout_is());
        let mut input = match opened.and_then(|input| input.header().map(|_| input)) {
            Ok(input) => input,
            Err(failure) if failure.is_transcript() => continue,
            Err(failure) => {
                ui.warn(&failure.line());
                continue;
            }
        };
        if let Some(removed) = removed.as_deref_mut() {
            let (copy, of_agent) = Removed::taken_from(input, &args.redaction, ui)?;
            summarize(&of_agent.report, &copy, true, ui);
            removed.add(of_agent);
            input = copy;
        }
        agents.push(OpenSession::of(input, options(ui), ui)?);
    }
    Ok(agents)
}

struct Export<'a> {
    args: &'a Args,
    format: Rendition,
    session: &'a Input,
    /// Whether it is one of those of a directory.
    is_of_directory: bool,
    /// What was removed from it.
    removed: Option<&'a Removed>,
    /// The sessions of sub-agents, for a trajectory.
    agents: &'a [OpenSession],
    workers: usize,
}

impl Export<'_> {
    /// Writes the export to a new file, which appears only if no secret is left in it. Returns `None`
    /// if it is there already.
    fn create(
        &self,
        contents: &Contents,
        path: &Path,
        ui: &mut Ui,
    ) -> Result<Option<Committed>, Failure> {
        let session = self.session;
        let (path, force) = (ui.absolute(path), self.args.force);
        let _waiting = ui.spinner("exporting");
        let mut write = |out: &mut dyn io::Write| self.write(contents, out);
        let Some(removed) = self.removed else {
            let committed = store::create(&path, session.file(), force, &mut write);
            return self.unless_complete(&path, committed, &mut write);
        };
        let mut left = BTreeSet::new();
        let committed =
            store::create_checked(&path, session.file(), force, &mut write, &mut |written| {
                left = left_over(self.format, written, &removed.secrets)?;
                refuse_any(!left.is_empty())
            });
        removed.none_in(&left, session)?;
        summarize(&removed.report, session, true, ui);
        // A run wrote it only if no secret was left in it.
        self.unless_complete(&path, committed, &mut write)
    }

    /// Accepts an export of a directory's session that an earlier run completed before it was
    /// killed: the file has the same content.
    fn unless_complete(
        &self,
        path: &Path,
        committed: Result<Committed, StoreError>,
        write: &mut Fill,
    ) -> Result<Option<Committed>, Failure> {
        match committed {
            Ok(committed) => Ok(Some(committed)),
            Err(error)
                if self.is_of_directory
                    && error.kind() == Some(io::ErrorKind::AlreadyExists)
                    && store::has_content(path, write)? =>
            {
                Ok(None)
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Writes the export to standard output, but only if no secret is left in it.
    fn print(&self, contents: &Contents, ui: &mut Ui) -> Result<(), Failure> {
        let session = self.session;
        let Some(removed) = self.removed else {
            return self.write(contents, ui.stdout()).map_err(Failure::output);
        };
        let written = store::spool_written(&mut |out| self.write(contents, out))?;
        removed.none_in(
            &session.read(left_over(self.format, &written, &removed.secrets))?,
            session,
        )?;
        copy_all(&written, ui.stdout()).map_err(Failure::output)?;
        ui.flush()?;
        summarize(&removed.report, session, true, ui);
        Ok(())
    }

    /// Returns the sub-agents with ids that are unique among them.
    fn nested(&self) -> Vec<SubAgent<'_>> {
        let mut nested: Vec<SubAgent> = Vec::new();
        for OpenSession { input, session, .. } in self.agents {
            let contents = Contents::new(session, input.source(), true, session.leaf);
            if !has_steps(&contents) {
                continue;
            }
            let name = session.header.id.to_string_lossy();
            let alike = nested
                .iter()
                .filter(|agent| agent.contents.session.header.id == session.header.id)
                .count();
            nested.push(SubAgent {
                id: if alike == 0 {
                    name.into_owned()
                } else {
                    format!("{name}-{}", alike + 1)
                },
                path: path_of(input),
                contents,
            });
        }
        nested
    }

    fn write(&self, contents: &Contents, out: &mut dyn io::Write) -> io::Result<()> {
        let mut out = io::BufWriter::with_capacity(1 << 18, out);
        match self.format {
            Rendition::Markdown => document(contents, self.workers, &mut out)?,
            Rendition::Trajectory => {
                let path = path_of(self.session);
                trajectory(contents, &path, &self.nested(), self.workers, &mut out)?
            }
            Rendition::StaticPage => static_page(contents, self.workers, &mut out)?,
            Rendition::Page => page(contents, self.workers, self.args.attach, &mut out)?,
        }
        io::Write::flush(&mut out)
    }
}

/// Returns the path of a session; an empty text for a stream.
fn path_of(input: &Input) -> String {
    input.file().map_or_else(String::new, |file| {
        file.path().to_string_lossy().into_owned()
    })
}

/// Returns where to write: to `-o`, or in it or the current directory to a file named after the
/// session; standard output if the input is a stream.
fn output(args: &Args, format: Rendition, input: &Input, ui: &Ui) -> PathBuf {
    let extension = match format {
        Rendition::Page | Rendition::StaticPage => ".html",
        Rendition::Markdown => ".md",
        Rendition::Trajectory => ".json",
    };
    let stem = input.file().and_then(|file| file.path().file_stem());
    let name = stem.map_or("-".into(), |stem| {
        store::with_suffix(Path::new(stem), extension)
    });
    match &args.output {
        Some(folder) if ui.absolute(folder).is_dir() => folder.join(name),
        Some(output) => output.clone(),
        None => name,
    }
}
