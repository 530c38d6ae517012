//! `pisess fork`: a new session from a path of another.

use super::failure::{Exit, Failure};
use super::hook::{After, Hook, HookArgs, Place};
use super::input::Input;
use super::mint::Mint;
use super::write::{Job, Made, create};
use crate::cli::{Talk, Write};
use crate::core::bodies::{Bodies, FileBodies};
use crate::core::entry::Role;
use crate::core::json::Raw;
use crate::core::json::write::Object;
use crate::core::load::Options;
use crate::core::ops::fork::{ForkOptions, fork, fork_all, fork_subtree};
use crate::core::plan::{Entries, NewSession, Piece};
use crate::core::reference::Position;
use crate::core::session::{Dialect, Session};
use crate::core::text::Text;
use crate::guide::{Example, Guide};
use crate::world::World;
use std::io;
use std::path::{Path, PathBuf};

/// How it is used, behind the options of the help and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "fork",
    examples: &[
        Example::new("The conversation so far, without its other branches", "pisess fork session.jsonl"),
        Example::new(
            "Up to the last question, whose text is printed to be asked anew",
            "pisess fork --before session.jsonl '@^{user}'",
        ),
        Example::new(
            "A place with all that was tried from there",
            "pisess fork --subtree session.jsonl '@~9'",
        ),
        Example::new("Everything, for another project", "pisess fork --all --cwd ~/other session.jsonl"),
        Example::new("Into a pipe", "pisess fork -o - session.jsonl @^ | pisess context --tokens -"),
    ],
    found: Some("a hook said cancel"),
    writes: true,
    refers: true,
};

/// Copy the path to an entry, or the whole tree, into a new session.
///
/// The new session holds what leads to REF, in a file of its own beside the session, named as the
/// agent names files. It has a new id and remembers where it came from. Labels in effect on its
/// entries come with it. The session itself is not changed. The path of the new file is printed.
///
/// With --subtree it also holds what hangs below REF. The conversation then stands where it stands in
/// the session, if that is in there, else at the last entry that is.
#[derive(Debug, clap::Args)]
#[command(after_long_help = GUIDE.help())]
pub struct Args {
    /// The session: a path, or - for standard input
    pub session: PathBuf,
    /// The last entry to copy
    #[arg(value_name = "REF", default_value = "@", conflicts_with = "all")]
    pub at: String,
    /// End before REF, a user message, and print its text to be edited
    #[arg(long, conflicts_with = "all")]
    pub before: bool,
    /// Copy what hangs below REF, too, with its branches
    #[arg(long, conflicts_with_all = ["before", "all"])]
    pub subtree: bool,
    /// Copy every entry and branch
    #[arg(long)]
    pub all: bool,
    /// The working folder of the new session, when it is to be another
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
    /// The folder to put the new file in
    #[arg(long, value_name = "DIR", conflicts_with = "output")]
    pub dir: Option<PathBuf>,
    /// Who is asked before, and told afterwards.
    #[command(flatten)]
    pub hook: HookArgs,
    /// How to write.
    #[command(flatten)]
    pub write: Write,
}

/// Runs the command.
pub fn run(args: &Args, talk: &Talk, world: &mut World) -> Result<Exit, Failure> {
    let input = Input::open(&args.session, world)?;
    let options = Options { workers: world.processors, ..Options::default() };
    let session = input.load_noted(&options, talk, world)?;
    let mut mint = Mint::new(world)?;
    let session_id = mint.session_id(world);
    let source = input.file().map(|file| Text::from(file.resolved().to_string_lossy().into_owned()));
    let cwd = args.cwd.as_deref().map(|cwd| absolute(world, cwd));
    let fork_options = ForkOptions { session_id, source, cwd: cwd.clone().map(Text::from) };
    let bodies = FileBodies::new(&session, input.source());
    let unreadable = |error| input.unreadable(error);
    let chosen = if args.all { session.leaf } else { input.resolve(&session, &args.at)? };
    let message = chosen.filter(|&ix| args.before && session.is_message(ix, Role::User));
    if args.before && message.is_none() {
        return Err(Failure::cannot(format_args!("{}: {} is no user message", input.name, args.at))
            .hint(format!("--before takes one; the nearest is {}^{{user}}", args.at)));
    }
    let hook = args.hook.hook(&input, world);
    if let Some(hook) = &hook {
        let event = event(args, &session, chosen, &bodies).map_err(unreadable)?;
        hook.ask(event, &Place::of(&input, &session))?;
    }
    let text = |message| session.agent().draft_text(&session, &bodies, message);
    let draft = message.map(text).transpose().map_err(unreadable)?;
    let end = message.map_or(chosen, |message| session.entry(message).parent);
    let path_or_more = if args.subtree { fork_subtree } else { fork };
    let new = mint.stamp(world, |stamp| match args.all {
        true => Ok(fork_all(&session, &fork_options, stamp)),
        false => path_or_more(&session, &bodies, end, &fork_options, stamp),
    });
    let new = new.map_err(unreadable)?;
    let path = match &args.write.output {
        Some(path) => path.clone(),
        // What comes by a pipe goes on by one.
        None if input.file().is_none() && args.dir.is_none() => PathBuf::from("-"),
        None => folder(args, &input, &session, cwd.as_deref(), world)?.join(new.file_name()),
    };
    let job = Job { input: &input, options: &options, write: &args.write, talk, backup: None };
    let after = hook.map(|hook| after(hook, &input, &session, &new, &fork_options));
    let made = Made { names: vec![path.to_string_lossy().into_owned()], draft, after };
    create(&job, &session, &new, &path, made, world)
}

/// What a hook is told before a fork: pi's `session_before_fork`, and the entry itself.
fn event(args: &Args, session: &Session, chosen: Position, bodies: &dyn Bodies) -> io::Result<Object> {
    let entry = match chosen {
        Some(ix) => bodies.line(ix)?.trim_ascii().to_vec(),
        None => b"null".to_vec(),
    };
    Ok(Object::new()
        .str("type", "session_before_fork")
        .text_or_null("entryId", chosen.map(|ix| session.id(ix)).as_ref())
        .str("position", if args.before { "before" } else { "at" })
        .bool("all", args.all)
        .bool("subtree", args.subtree)
        .json("entry", &entry))
}

/// What it is told once the new session is there (`session_branch`).
fn after(hook: Hook, input: &Input, session: &Session, new: &NewSession, options: &ForkOptions) -> After {
    let leaf = match &new.entries {
        Entries::All => session.leaf.map(|leaf| session.id(leaf).into_owned()),
        Entries::Some(pieces) => pieces.last().and_then(|piece| match piece {
            Piece::Made(line) => Raw::checked(line).get_text("id").map(Text::into_owned),
            Piece::Copied { entry, .. } => Some(session.id(*entry).into_owned()),
        }),
    };
    let old = Place::of(input, session);
    let cwd = options.cwd.clone().map(Text::into_owned).or(old.cwd);
    let event = Object::new()
        .str("type", "session_branch")
        .text_or_null("previousSessionFile", options.source.as_ref());
    After { hook, event, place: Place { file: None, id: Text::from(new.id.clone()), cwd, leaf } }
}

/// The folder of the new file: the one that is named, else the session's; for another project the
/// folder beside it that the agent keeps for that project, where the session lies in one of its own.
fn folder(
    args: &Args,
    input: &Input,
    session: &Session,
    cwd: Option<&str>,
    world: &World,
) -> Result<PathBuf, Failure> {
    if let Some(dir) = &args.dir {
        return Ok(dir.clone());
    }
    let Some(file) = input.file() else {
        return Err(Failure::cannot("standard input has no folder for the new session")
            .hint("give a file with -o, a folder with --dir, or -o - for standard output"));
    };
    let beside = file.path().parent().filter(|parent| *parent != Path::new("")).unwrap_or(Path::new("."));
    let Some(cwd) = cwd else { return Ok(beside.to_owned()) };
    let old =
        session.header.cwd.as_ref().map(|cwd| agent_folder(session.dialect, &cwd.to_string_lossy(), world));
    let agents_own = beside.file_name().is_some_and(|name| old.is_some_and(|old| name == old.as_str()));
    match beside.parent().filter(|_| agents_own) {
        Some(sessions) => Ok(sessions.join(agent_folder(session.dialect, cwd, world))),
        None => Ok(beside.to_owned()),
    }
}

/// The name of the folder in which the agent keeps the sessions of a project.
fn agent_folder(dialect: Dialect, cwd: &str, world: &World) -> String {
    let flat = |path: &str| path.trim_start_matches(['/', '\\']).replace(['/', '\\', ':'], "-");
    let below = |folder: &str| {
        let rest = cwd.strip_prefix(folder.trim_end_matches('/'))?;
        (rest.is_empty() || rest.starts_with('/')).then(|| flat(rest))
    };
    let joined = |prefix: &str, rest: String| match (prefix, rest.as_str()) {
        (prefix, "") => prefix.to_owned(),
        ("-", rest) => format!("-{rest}"),
        (prefix, rest) => format!("{prefix}-{rest}"),
    };
    if dialect == Dialect::OhMyPi {
        if let Some(rest) = world.home().and_then(|home| below(&home)) {
            return joined("-", rest);
        }
        let temporary =
            (world.env)("TMPDIR").filter(|folder| !folder.is_empty()).unwrap_or("/tmp".to_owned());
        if let Some(rest) = below(&temporary) {
            return joined("-tmp", rest);
        }
    }
    format!("--{}--", flat(cwd))
}

/// The path from the root, without `.` and `..`; the folder need not exist.
fn absolute(world: &World, path: &Path) -> String {
    let mut whole = PathBuf::new();
    for component in world.folder.join(path).components() {
        match component {
            std::path::Component::ParentDir => {
                whole.pop();
            }
            std::path::Component::CurDir => {}
            other => whole.push(other),
        }
    }
    whole.to_string_lossy().into_owned()
}
