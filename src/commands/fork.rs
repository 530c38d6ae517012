//! `pisess fork`: copies a path of a session into a new session.

mod native;

use crate::agents::stores::{Disk, Store, normalize_path};
use crate::cli::follow::parent_folder;
use crate::cli::foreign::resolve_foreign_title;
use crate::cli::guide::{Example, Guide};
use crate::cli::hook::{HookArgs, HookEvent};
use crate::cli::ids::Ids;
use crate::cli::locate::{
    SessionStores, agent_folder, stores_for_named_project, stores_for_recorded_project,
};
use crate::cli::named::name_argument;
use crate::cli::open::OpenSession;
use crate::cli::options::WriteArgs;
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::process::run::ShellCommand;
use crate::cli::session_report::report_new_session;
use crate::cli::transaction::{Creation, NewContent};
use crate::import::Origin;
use crate::load::LoadOptions;
use crate::ops::IdSource;
use crate::ops::convert::convert_session;
use crate::ops::fork::{Ancestors, ForkOptions, fork, fork_all, fork_subtree, omit_thinking};
use crate::ops::plan::NewSession;
use crate::session::blobs::BlobStore;
use crate::session::dialect::Dialect;
use crate::session::entry::{EntryIx, Role};
use crate::session::reference::{CURRENT_REFERENCE, Position};
use clap::ValueEnum;
use clap::builder::PossibleValue;
use native::NativeFork;
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_store::OnDisk;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Copy the conversation so far, without its other branches",
        "pisess fork session.jsonl",
    ),
    Example::new(
        "Copy up to the last user message, and print its text for editing",
        "pisess fork --before session.jsonl '@^{user}'",
    ),
    Example::new(
        "Print only the path of the new session, for another command",
        "pisess fork --before session.jsonl '@^{user}' | head -n 1",
    ),
    Example::new(
        "Copy an entry with its ancestors and all its descendants",
        "pisess fork --subtree session.jsonl '@~9'",
    ),
    Example::new(
        "Copy only an entry and all its descendants",
        "pisess fork --subtree --alone session.jsonl '@~9'",
    ),
    Example::new(
        "Try something else from an entry on, in a session with a name of its own",
        "pisess fork --name 'narrow gauge' session.jsonl '@~4'",
    ),
    Example::new(
        "Copy everything, for another project",
        "pisess fork --branches --cwd ~/other session.jsonl",
    ),
    Example::new(
        "Continue a session of pi in oh-my-pi",
        "pisess fork --branches --for omp session.jsonl",
    ),
    Example::new(
        "Continue a session of pi in Claude Code",
        "pisess fork --for claude session.jsonl",
    ),
    Example::new(
        "Write the new session to a pipe",
        "pisess fork -o - session.jsonl @^ | pisess context --tokens -",
    ),
])
.with_found("a hook cancelled the operation");

/// Copy the path to an entry, or the whole tree, into a new session.
///
/// Writes the new session to a file beside the original. In two cases, the file is created in the
/// directory from which the agent lists the sessions of the project: with --cwd or --for, and if
/// the original is a session of an agent other than pi and oh-my-pi. The path is printed; with
/// --before, the text of REF follows. On a terminal, unless -o names the file, standard error has
/// the title and the id of the new session, and the command that continues it. The new session has
/// a new id, records its origin, and keeps the labels of the copied entries. The original is not
/// changed.
///
/// A session of another agent, such as Claude Code, may also be given by words of its title. It is
/// converted as by `import`, to a session of pi unless --for names another agent.
///
/// --for converts the new session to the format of that agent. Entries of a type that the other
/// format lacks are kept inside custom entries. The model gets the same context, except for parts
/// that one of the two agents cannot send. Converting the session back restores the original
/// entries.
///
/// `--for claude` and `--for codex` write a session of Claude Code or Codex into its store, from
/// any session that pisess reads. A tool call gets the name of the agent's own tool for the same
/// work, if there is one. Entries of types that the agent does not know are kept in the same file.
/// The agent ignores them, and `pisess import` restores them.
///
/// --no-thinking leaves out the model's thinking, even if encrypted. You can then share the copy,
/// or continue it with a model of another provider. Nothing else of the entries changes.
///
/// --subtree also copies the descendants of REF. --alone then leaves out the ancestors of REF, so
/// the model no longer sees them. The new session continues from the original leaf if the leaf was
/// copied, otherwise from the last entry copied.
#[derive(Debug, clap::Args)]
#[command(mut_arg("output", |output| output.help("Write the result to PATH (- for standard output) instead of a file beside the original")))]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// The last entry to copy (default: the leaf)
    #[arg(value_name = "REF", conflicts_with = "branches")]
    pub at: Option<String>,
    /// Stop before REF, which must be a user message, and print its text for editing
    #[arg(long, conflicts_with = "branches")]
    pub before: bool,
    /// Also copy the descendants of REF, with all their branches
    #[arg(long, conflicts_with_all = ["before", "branches"])]
    pub subtree: bool,
    /// Leave out the ancestors of REF: the new session begins with REF
    #[arg(long, requires = "subtree")]
    pub alone: bool,
    /// Include all branches (and copy every entry)
    #[arg(long, alias = "all")]
    pub branches: bool,
    /// Leave out the model's thinking
    #[arg(long)]
    pub no_thinking: bool,
    /// Write the new session in the format of this agent
    #[arg(long = "for", value_name = "AGENT")]
    pub agent: Option<TargetAgent>,
    /// Set the name of the session (of the new one)
    #[arg(long, value_name = "NAME")]
    pub name: Option<String>,
    /// Record DIR as the working directory (of the new session)
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// Create the new file in DIR
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    pub dir: Option<PathBuf>,
    #[command(flatten)]
    pub hook: HookArgs,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// The agent that is to continue the fork.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TargetAgent {
    /// pi or oh-my-pi.
    Dialect(Dialect),
    /// An agent with a format of its own, in which pisess can write sessions.
    Native(Origin),
}

impl ValueEnum for TargetAgent {
    fn value_variants<'a>() -> &'a [TargetAgent] {
        // clap wants a slice that outlives the call, so the list is made once and kept.
        static AGENTS: LazyLock<Vec<TargetAgent>> = LazyLock::new(|| {
            let mut agents = vec![
                TargetAgent::Dialect(Dialect::Pi),
                TargetAgent::Dialect(Dialect::OhMyPi),
            ];
            for &origin in Origin::all() {
                if origin.native().is_some() {
                    agents.push(TargetAgent::Native(origin));
                }
            }
            agents
        });
        &AGENTS
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(match self {
            TargetAgent::Dialect(Dialect::Pi) => PossibleValue::new("pi").help("pi"),
            TargetAgent::Dialect(Dialect::OhMyPi) => {
                PossibleValue::new("omp").alias("oh-my-pi").help("oh-my-pi")
            }
            TargetAgent::Native(origin) => {
                PossibleValue::new(origin.name()).help(origin.display_name())
            }
        })
    }
}

impl Args {
    /// Returns `--name` as the agent of the new session stores it.
    fn normalized_name(&self, open: &OpenSession) -> Option<Text<'static>> {
        let dialect = self.target_dialect().unwrap_or(open.session.dialect);
        let name = self.name.as_ref()?;
        Some(dialect.agent().normalize_name(name))
    }

    /// Returns the dialect of the copy; `None` to keep the dialect of the session. For an agent
    /// with a format of its own, the copy is in the dialect of pi, and is then converted.
    fn target_dialect(&self) -> Option<Dialect> {
        match self.agent? {
            TargetAgent::Dialect(dialect) => Some(dialect),
            TargetAgent::Native(_) => Some(Dialect::Pi),
        }
    }

    /// Returns the target agent if it has a format of its own.
    fn native_agent(&self) -> Option<Origin> {
        match self.agent? {
            TargetAgent::Dialect(_) => None,
            TargetAgent::Native(origin) => Some(origin),
        }
    }

    /// Returns the directory given by `--cwd`, as an absolute path.
    fn absolute_cwd(&self, ui: &Ui) -> Option<PathBuf> {
        self.cwd
            .as_ref()
            .map(|cwd| normalize_path(&ui.current_folder().join(cwd)))
    }

    /// Returns whether a subtree is copied together with the path to it.
    fn ancestor_choice(&self) -> Ancestors {
        if self.alone {
            Ancestors::LeftOut
        } else {
            Ancestors::Kept
        }
    }
}

/// Opens the session to copy from. It may also be given by words of the title of another agent's
/// session. To find these, the sessions of all other agents are read, so they are searched last.
fn open_source(session: &Path, ui: &mut Ui) -> Result<OpenSession, Failure> {
    let failure = match OpenSession::open_to_read(session, LoadOptions::default(), ui) {
        Ok(open) => return Ok(open),
        Err(failure) => failure,
    };
    let path = match name_argument(session) {
        Some(words) if failure.is_missing_file => resolve_foreign_title(words, failure, ui)?,
        _ => return Err(failure),
    };
    OpenSession::open_to_read(&path, LoadOptions::default(), ui)
}

/// Copies a path, a subtree or all branches into a new session. With `--before`, the copy ends
/// above a user message, whose text is printed for editing.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    refuse_empty_name(args)?;
    let open = open_source(&args.session, ui)?;
    let chosen_position = match &args.at {
        Some(reference) => open.resolve_position(reference)?,
        None if args.before => open.session.current_entry().into(),
        None => open.session.leaf.into(),
    };
    let fork_end = ForkEnd::at_position(args, &open, chosen_position)?;
    let hook = args.hook.hook_command(&open.input, ui);
    if let Some(hook) = &hook {
        let event = hook_event(args, &open, chosen_position);
        // Fails if the hook cancels the fork. The rest of its answer has no effect.
        hook.ask_hook(open.input.map_read_error(event)?, &open, ui)?;
    }

    let mut ids = Ids::new(ui)?;
    let options = fork_options(args, &open, &mut ids, ui)?;
    let blobs = SessionStores::locate(ui).blobs;
    let new_session = ids.with_id_source(ui, |id_source| {
        let built = build_new_session(args, &open, fork_end.position, blobs, &options, id_source);
        open.input.map_read_error(built)
    })?;
    let ready = ReadyFork {
        notification: hook.map(|hook| fork_notification(hook, &open, &new_session, &options)),
        new_session,
        editor_text: fork_end.editor_text,
    };
    ready.write(args, &open, &ids, ui)
}

/// Where the copied path ends.
struct ForkEnd {
    position: Position,
    /// With `--before`, the text of the user message below the end, which is printed for editing.
    editor_text: Option<Text<'static>>,
}

impl ForkEnd {
    /// Returns the end for the position that the user chose: that position itself, or with
    /// `--before` the one above it. Then it must be a user message.
    fn at_position(
        args: &Args,
        open: &OpenSession,
        chosen_position: Position,
    ) -> Result<ForkEnd, Failure> {
        if !args.before {
            return Ok(ForkEnd {
                position: chosen_position,
                editor_text: None,
            });
        }
        let message = require_user_message(args, open, chosen_position)?;
        Ok(ForkEnd {
            position: open.session.entry(message).parent.into(),
            editor_text: Some(read_draft(open, message)?),
        })
    }
}

fn refuse_empty_name(args: &Args) -> Result<(), Failure> {
    if let Some(name) = &args.name
        && name.trim().is_empty()
    {
        return Err(Failure::usage_error("--name: the name is empty")
            .with_hint("omit the option to keep the name of the source"));
    }
    Ok(())
}

/// Returns the text of a user message as the agent would offer it for editing.
fn read_draft(open: &OpenSession, message: EntryIx) -> Result<Text<'static>, Failure> {
    let agent = open.session.agent();
    let draft = agent.draft_text(&open.entry_reader(), message);
    open.input.map_read_error(draft)
}

/// Returns what differs between the new session and its source: a new id, the source's path, and
/// the working directory and the name if they are given.
fn fork_options(
    args: &Args,
    open: &OpenSession,
    ids: &mut Ids,
    ui: &mut Ui,
) -> Result<ForkOptions<'static>, Failure> {
    let path_text = |path: &Path| Text::from(path.to_string_lossy().into_owned());
    let cwd = args.absolute_cwd(ui);
    Ok(ForkOptions {
        session_id: ids.new_session_id(ui)?,
        source: open.input.file().map(|file| path_text(file.resolved())),
        cwd: cwd.as_deref().map(path_text),
        name: args.normalized_name(open),
    })
}

/// A new session that is to be written, and what is reported with it.
struct ReadyFork {
    new_session: NewSession,
    /// With `--before`, the text to edit.
    editor_text: Option<Text<'static>>,
    /// The event for the hook after the write.
    notification: Option<HookEvent>,
}

impl ReadyFork {
    /// Writes the new session, for another agent in its own format, and reports it.
    fn write(
        self,
        args: &Args,
        open: &OpenSession,
        ids: &Ids,
        ui: &mut Ui,
    ) -> Result<Exit, Failure> {
        if let Some(agent) = args.native_agent()
            && let Some(format) = agent.native()
        {
            let native = NativeFork {
                args,
                open,
                agent,
                format,
                new_session: &self.new_session,
            };
            let now_ms = ids.now_ms(ui);
            let creation = native.create(self.editor_text, self.notification, now_ms, ui)?;
            return native.write(creation, now_ms, ui);
        }

        let folder = project_folder(args, open, ui);
        let file_name = self.new_session.file_name();
        let path = new_file_path(args, open, folder.as_deref(), &file_name);
        let creation = Creation {
            content: NewContent::Entries(self.new_session),
            path: path.clone(),
            folder,
            editor_text: self.editor_text,
            notification: self.notification,
        };
        let exit = open.create_session(creation, &args.write, ui)?;
        if is_reported(args, &path) {
            report_new_session("forked", &path, ui);
        }
        Ok(exit)
    }
}

/// Whether the new session is reported on the terminal. It is not reported if the user named its
/// file, or with `-n` or `--json`.
fn is_reported(args: &Args, path: &Path) -> bool {
    let has_new_name = args.write.output.is_none() && path != Path::new("-");
    has_new_name && !args.write.change.dry_run && !args.write.change.json
}

/// Returns the entry before which `--before` forks: the one at `position`, to which the argument
/// REF was resolved. Fails if it is not a user message.
fn require_user_message(
    args: &Args,
    open: &OpenSession,
    position: Position,
) -> Result<EntryIx, Failure> {
    if let Position::Entry(ix) = position
        && open.session.is_message(ix, Role::User)
    {
        return Ok(ix);
    }
    let reference = args.at.as_deref().unwrap_or(CURRENT_REFERENCE);
    let what = format_args!("{reference} is not a user message");
    let failure = open.input.failure(what);
    Err(failure.with_hint(format!("the nearest one is {reference}^{{user}}")))
}

/// Builds the new session. If the target agent has another dialect, the copy is converted; `blobs`
/// has the images of oh-my-pi.
fn build_new_session(
    args: &Args,
    open: &OpenSession,
    end: Position,
    blobs: BlobStore,
    options: &ForkOptions,
    id_source: &mut IdSource,
) -> io::Result<NewSession> {
    let target = args.target_dialect().unwrap_or(open.session.dialect);
    if target == open.session.dialect {
        return copy_requested(args, open, end, options, id_source);
    }
    // The conversion sets the name, in the way of the target agent.
    let options_of_copy = ForkOptions {
        name: None,
        ..options.clone()
    };
    let copy = copy_requested(args, open, end, &options_of_copy, id_source)?;
    convert_session(&open.entry_reader(), copy, blobs, options, id_source)
}

/// Copies the entries that the options select; with `--no-thinking`, without the model's thinking.
fn copy_requested(
    args: &Args,
    open: &OpenSession,
    end: Position,
    options: &ForkOptions,
    id_source: &mut IdSource,
) -> io::Result<NewSession> {
    let copy = copy_entries(args, open, end, options, id_source)?;
    if args.no_thinking {
        omit_thinking(&open.entry_reader(), copy, options, id_source)
    } else {
        Ok(copy)
    }
}

/// Copies all branches of a session (`--branches`), the subtree of `end` (`--subtree`), or else the
/// path to `end`.
fn copy_entries(
    args: &Args,
    open: &OpenSession,
    end: Position,
    options: &ForkOptions,
    id_source: &mut IdSource,
) -> io::Result<NewSession> {
    let reader = open.entry_reader();
    if args.branches {
        return Ok(fork_all(&open.session, options, id_source));
    }
    if args.subtree {
        let ancestors = args.ancestor_choice();
        return fork_subtree(&reader, end, ancestors, options, id_source);
    }
    fork(&reader, end, options, id_source)
}

/// Returns the event for a hook before a fork. It is the `session_before_fork` of pi, with two
/// additions: the entry itself, and the options that select the copied entries.
fn hook_event(args: &Args, open: &OpenSession, chosen_position: Position) -> io::Result<Object> {
    let entry = match chosen_position {
        Position::Entry(ix) => open.entry_reader().read_line(ix)?.trim_ascii().to_vec(),
        Position::Root => b"null".to_vec(),
    };
    let entry_id = chosen_position.entry().map(|ix| open.session.id(ix));
    Ok(Object::new()
        .str("type", "session_before_fork")
        .text_or_null("entryId", entry_id.as_ref())
        .str("position", if args.before { "before" } else { "at" })
        .bool("all", args.branches)
        .bool("subtree", args.subtree)
        .bool("alone", args.alone)
        .json("entry", &entry))
}

/// Returns the notification for the hook after the new session is written: `session_branch`. It
/// has the id, the working directory and the leaf of the new session.
fn fork_notification(
    hook: ShellCommand,
    open: &OpenSession,
    new: &NewSession,
    options: &ForkOptions,
) -> HookEvent {
    let event = Object::new()
        .str("type", "session_branch")
        .text_or_null("previousSessionFile", options.source.as_ref());
    let source_event = HookEvent::from_session(hook, event, open);
    let cwd = options
        .cwd
        .clone()
        .map(Text::into_owned)
        .or(source_event.cwd);
    HookEvent {
        session_id: Text::from(new.id.clone()),
        cwd,
        leaf_id: new.leaf.clone(),
        ..source_event
    }
}

/// Returns the path of the new file: `-o`, or a new name in a directory. The directory is `--dir`,
/// else `folder`, else the directory of the session. A session from standard input is forked to
/// standard output.
fn new_file_path(args: &Args, open: &OpenSession, folder: Option<&Path>, name: &str) -> PathBuf {
    if let Some(output) = &args.write.output {
        return output.clone();
    }
    if let Some(folder) = args.dir.as_deref().or(folder) {
        return folder.join(name);
    }
    match open.input.file() {
        Some(file) => parent_folder(file.path()).join(name),
        None => PathBuf::from("-"),
    }
}

/// Returns the directory in which the agent (`--for`) looks for sessions of the target project
/// (`--cwd`). The directory may not exist yet. `None` if the fork is written elsewhere:
///
/// - to the place that `-o` or `--dir` names;
/// - to standard output, if the session is read from a stream;
/// - beside the session, if neither `--cwd` nor `--for` is given. A session of another agent is the
///   exception, because pi does not look beside it;
/// - beside the session, if that is the directory itself.
fn project_folder(args: &Args, open: &OpenSession, ui: &Ui) -> Option<PathBuf> {
    let has_given_path = args.write.output.is_some() || args.dir.is_some();
    if has_given_path {
        return None;
    }
    // The input may have no file although the path has one: an archive was decompressed, and a
    // session of another agent was converted.
    let is_stream = !open.input.path.as_deref().is_some_and(Path::is_file);
    if is_stream {
        return None;
    }
    let is_foreign = open.input.foreign.is_some();
    let has_given_target = args.cwd.is_some() || args.agent.is_some();
    if !has_given_target && !is_foreign {
        return None;
    }

    let agent = args.target_dialect().unwrap_or(open.session.dialect);
    let folder = agent_folder(&stores_of_target(args, open, ui), agent)?;
    if let Some(file) = open.input.file()
        && OnDisk.resolve_links(parent_folder(file.path())) == folder
    {
        return None;
    }
    Some(folder)
}

/// Returns the stores of the target project: the one of `--cwd`, else the project of the session,
/// else the current one.
fn stores_of_target(args: &Args, open: &OpenSession, ui: &Ui) -> Vec<Store> {
    if let Some(cwd) = args.absolute_cwd(ui) {
        return stores_for_named_project(&cwd, ui);
    }
    match &open.session.header.cwd {
        Some(cwd) => stores_for_recorded_project(Path::new(&cwd.to_string()), ui),
        None => stores_for_named_project(ui.current_folder(), ui),
    }
}
