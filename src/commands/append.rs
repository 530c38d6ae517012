//! `pisess append`: adds entries under the leaf, or elsewhere.

use super::failure::{Exit, Failure, note};
use super::input::Input;
use super::mint::Mint;
use super::moving::new_parent;
use super::summary::read_text;
use super::visible::visible;
use super::write::{Job, Made as Told, change};
use crate::cli::{Talk, Write};
use crate::core::bodies::{Bodies, FileBodies};
use crate::core::entry::{EntryIx, Kind, Role};
use crate::core::json::Raw;
use crate::core::json::edit::Edit;
use crate::core::json::string::encoded;
use crate::core::load::Options;
use crate::core::ops::Stamp;
use crate::core::ops::append::{Made, append, is_known};
use crate::core::plan::Change;
use crate::core::reference::Position;
use crate::core::session::Session;
use crate::core::text::Text;
use crate::guide::{Example, Guide};
use crate::world::World;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// How it is used, behind the options of the help and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "append",
    examples: &[
        Example::new(
            "A question, for the agent to go on from",
            "pisess append session.jsonl --user 'And by bus?'",
        ),
        Example::new(
            "A question to another model, on a branch",
            "pisess append session.jsonl --at 'cause found' --model anthropic/claude-opus-4-5 --user 'Are you sure?'",
        ),
        Example::new(
            "A note for programs, which no model sees",
            "pisess append session.jsonl --custom reviewed --data '{\"by\":\"u\"}'",
        ),
        Example::new(
            "What another program makes; ids, parents and times are filled in",
            "echo '{\"type\":\"message\",\"message\":{\"role\":\"user\",\"content\":\"And by bus?\"}}' | pisess append session.jsonl",
        ),
    ],
    found: None,
    writes: true,
    refers: true,
};

/// Add entries: messages, notes, settings, a name.
///
/// The entries are told by options, or come as JSON lines on standard input, in the shape that the
/// file's agent writes. What they leave out of `id`, `parentId` and `timestamp` is filled in: the
/// first goes under the leaf or `--at REF`, each further one under the one before. What they bring
/// along stays byte for byte.
///
/// All are looked at before any is written: fields that the agent relies on must be there, ids must
/// be new, and what is named must be in the session. Their ids are printed. The last is the leaf.
///
/// Several options make several entries, settings before messages. What a message says is read from
/// standard input when it is `-`.
#[derive(Debug, clap::Args)]
#[command(after_long_help = GUIDE.help())]
pub struct Args {
    /// The session: a path, or - for standard input
    pub session: PathBuf,
    /// The entry to go on from
    #[arg(long, value_name = "REF", default_value = "@")]
    pub at: String,
    /// Entries as JSON lines, from a file; - is standard input
    #[arg(long, value_name = "FILE")]
    pub from: Option<PathBuf>,
    /// What to add, in words.
    #[command(flatten)]
    pub words: Words,
    /// How to write.
    #[command(flatten)]
    pub write: Write,
}

/// Entries in words, in the order in which they are written.
#[derive(clap::Args, Debug)]
pub struct Words {
    /// pi: name the session; an empty name takes it off
    #[arg(long, value_name = "NAME", help_heading = "Entries")]
    pub name: Option<String>,
    /// Another model from here on
    #[arg(long, value_name = "PROVIDER/ID", value_parser = model, help_heading = "Entries")]
    pub model: Option<(String, String)>,
    /// Another thinking level from here on
    #[arg(long, value_name = "LEVEL", value_parser = LEVELS, help_heading = "Entries")]
    pub thinking: Option<String>,
    /// A custom entry, which no model sees
    #[arg(long, value_name = "TYPE", help_heading = "Entries")]
    pub custom: Option<String>,
    /// What the custom entry holds
    #[arg(long, value_name = "JSON", requires = "custom", help_heading = "Entries")]
    pub data: Option<String>,
    /// A custom message, which the model sees
    #[arg(long, value_name = "TYPE", requires = "text", help_heading = "Entries")]
    pub custom_message: Option<String>,
    /// What the custom message says
    #[arg(long, requires = "custom_message", help_heading = "Entries")]
    pub text: Option<String>,
    /// Do not show the custom message to the person
    #[arg(long, requires = "custom_message", help_heading = "Entries")]
    pub hidden: bool,
    /// A message of the person
    #[arg(long, value_name = "TEXT", help_heading = "Entries")]
    pub user: Option<String>,
    /// A reply of the model, by the one in force there
    #[arg(long, value_name = "TEXT", help_heading = "Entries")]
    pub assistant: Option<String>,
}

/// The thinking levels of both agents.
const LEVELS: [&str; 7] = ["off", "minimal", "low", "medium", "high", "xhigh", "max"];

fn model(text: &str) -> Result<(String, String), &'static str> {
    match text.split_once('/') {
        Some((provider, id)) if !provider.is_empty() && !id.is_empty() => {
            Ok((provider.to_owned(), id.to_owned()))
        }
        _ => Err("write it as PROVIDER/ID"),
    }
}

/// The entries to be added.
enum Given {
    /// Lines of JSON, and what they are called in messages.
    Lines(String, Vec<u8>),
    /// Words, with texts read.
    Words,
}

/// Runs the command.
pub fn run(mut args: Args, talk: &Talk, world: &mut World) -> Result<Exit, Failure> {
    let input = Input::open(&args.session, world)?;
    let options = Options { workers: world.processors, ..Options::default() };
    let session = input.load_noted(&options, talk, world)?;
    let given = given(&mut args, &input, world)?;
    let mut mint = Mint::new(world)?;
    let mut unknown = BTreeSet::new();
    let job = Job { input: &input, options: &options, write: &args.write, talk, backup: None };
    let mut decide = |input: &Input, session: &Session, stamp: &mut Stamp| {
        let place = input.resolve(session, &args.at)?;
        new_parent(input, session, place)?;
        let change = match &given {
            Given::Lines(name, text) => {
                let change = lines(name, text, input, session, place, stamp)?;
                unknown = unknown_types(&change);
                change
            }
            Given::Words => {
                let made = args.words.made(input, session, place)?;
                let made = made.iter().map(|made| made.line(session.agent()).ok_or_else(|| no_title(input)));
                let made = made.collect::<Result<Vec<_>, _>>()?;
                let bodies = FileBodies::new(session, input.source());
                let appended = append(session, &bodies, place, made.iter().map(Vec::as_slice), stamp);
                appended
                    .map_err(|refused| Failure::cannot(format_args!("{}: {}", input.name, refused.what)))?
            }
        };
        let names = change.ids();
        Ok((!names.is_empty()).then_some((change, Told { names, ..Told::default() })))
    };
    let exit = change(&job, &session, &mut mint, world, &mut decide)?;
    if matches!(&given, Given::Lines(_, text) if text.trim_ascii().is_empty()) {
        note("there were no entries to append", talk, world);
    }
    for kind in unknown {
        note(&format!("neither agent knows entries of the type {kind}"), talk, world);
    }
    Ok(exit)
}

/// Types that no agent writes: of a newer one perhaps, or misspelled.
fn unknown_types(change: &Change) -> BTreeSet<String> {
    let kinds = change.lines.iter().filter_map(|line| Raw::checked(line).get_text("type"));
    kinds.map(|kind| kind.to_string()).filter(|kind| !is_known(kind)).collect()
}

fn no_title(input: &Input) -> Failure {
    Failure::cannot(format_args!(
        "{}: oh-my-pi keeps the name of a session in its first line, which no added entry changes",
        input.name
    ))
    .hint("rename it in the agent")
}

/// What is to be added, read before anything is locked.
fn given(args: &mut Args, input: &Input, world: &mut World) -> Result<Given, Failure> {
    let by_pipe = input.file().is_none();
    if args.words.any() && args.from.is_some() {
        return Err(Failure::cannot("--from: the entries are told by options already")
            .hint("append in two steps, or give all entries as JSON"));
    }
    if args.words.any() {
        args.words.read(by_pipe, world)?;
        return Ok(Given::Words);
    }
    let path = args.from.as_deref().unwrap_or(Path::new("-"));
    if path != Path::new("-") {
        let name = visible(&path.to_string_lossy());
        let bytes = std::fs::read(path).map_err(|error| {
            Failure::reading(&name, error).hint("give the path of JSON lines, or - for standard input")
        })?;
        return Ok(Given::Lines(name, bytes));
    }
    if by_pipe || world.terminals.stdin {
        let what =
            if by_pipe { "standard input is the session already" } else { "standard input is a terminal" };
        return Err(Failure::cannot(format_args!("no entries to append: {what}"))
            .hint("tell them by options such as --user, or give a file with --from"));
    }
    let mut bytes = Vec::new();
    world.stdin.read_to_end(&mut bytes).map_err(|error| Failure::reading("standard input", error))?;
    Ok(Given::Lines("standard input".to_owned(), bytes))
}

fn lines(
    name: &str,
    text: &[u8],
    input: &Input,
    session: &Session,
    place: Position,
    stamp: &mut Stamp,
) -> Result<Change, Failure> {
    let lines = text.split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii).enumerate();
    let (numbers, entries): (Vec<_>, Vec<_>) = lines.filter(|(_, line)| !line.is_empty()).unzip();
    let bodies = FileBodies::new(session, input.source());
    append(session, &bodies, place, entries, stamp).map_err(|refused| {
        let line = numbers[refused.number] + 1;
        let failure = Failure::cannot(format_args!("{name}:{line}: {}; nothing was written", refused.what));
        let look = || "`pisess path --json` prints entries of the session to go by".to_owned();
        failure.hint(refused.hint.unwrap_or_else(look))
    })
}

impl Words {
    fn any(&self) -> bool {
        let texts =
            [&self.name, &self.thinking, &self.custom, &self.custom_message, &self.user, &self.assistant];
        self.model.is_some() || texts.into_iter().any(Option::is_some)
    }

    /// Reads the text that is given as `-`, and looks at what can be looked at without the session.
    fn read(&mut self, session_is_stdin: bool, world: &mut World) -> Result<(), Failure> {
        let mut read = false;
        for text in [&mut self.text, &mut self.user, &mut self.assistant].into_iter().flatten() {
            if text == "-" {
                if std::mem::replace(&mut read, true) {
                    return Err(Failure::cannot("two texts are to be read from standard input")
                        .hint("give one of them as it is"));
                }
                *text = read_text(Path::new("-"), session_is_stdin, world)?;
            }
        }
        let wrong = |what: &str, hint: &str| Err(Failure::cannot(what).hint(hint));
        let is_empty = |text: &Option<String>| text.as_ref().is_some_and(|text| text.trim().is_empty());
        if [&self.text, &self.user, &self.assistant].into_iter().any(is_empty) {
            return wrong("the text of the message is empty", "say something, or leave the option out");
        }
        if [&self.custom, &self.custom_message].into_iter().any(is_empty) {
            return wrong("the custom type is empty", "name what the entry is for, as programs look for it");
        }
        if self.data.as_ref().is_some_and(|data| Raw::parse(data.as_bytes()).is_err()) {
            return wrong("--data: no JSON", "quote it for the shell, as in --data '{\"n\":1}'");
        }
        Ok(())
    }

    /// What they say, in the order of their fields.
    fn made<'a>(
        &'a self,
        input: &Input,
        session: &Session,
        place: Position,
    ) -> Result<Vec<Made<'a>>, Failure> {
        let text = |text: &'a String| Text::from(text.as_str());
        let mut made = Vec::new();
        // Line ends become blanks, as pi makes them.
        let name = self.name.as_ref().map(|name| name.split(['\r', '\n']).filter(|part| !part.is_empty()));
        made.extend(name.map(|name| {
            let name = name.collect::<Vec<_>>().join(" ");
            Made::Name(Text::from(name.trim().to_owned()))
        }));
        made.extend(self.model.as_ref().map(|(provider, id)| Made::Model(text(provider), text(id))));
        made.extend(self.thinking.as_ref().map(|level| Made::Thinking(text(level))));
        made.extend(self.custom.as_ref().map(|kind| {
            let data = self.data.as_ref().map(|data| Raw::checked(data.trim().as_bytes()));
            Made::Custom(text(kind), data)
        }));
        made.extend(
            (self.custom_message.as_ref().zip(self.text.as_ref()))
                .map(|(kind, said)| Made::CustomMessage(text(kind), text(said), !self.hidden)),
        );
        made.extend(self.user.as_ref().map(|said| Made::User(text(said))));
        if let Some(said) = &self.assistant {
            let asked = self.model.as_ref().map(|(provider, id)| (text(provider), text(id)));
            made.push(Made::Assistant(text(said), reply(input, session, place, asked)?));
        }
        Ok(made)
    }
}

/// A reply like the last one at or above a place, by the model in force there: the one that is `asked` for,
/// that of a later model change, or the one that replied. How a model is spoken to goes with its
/// provider, so that one must be the same.
fn reply(
    input: &Input,
    session: &Session,
    place: Position,
    asked: Option<(Text, Text)>,
) -> Result<Vec<u8>, Failure> {
    let bodies = FileBodies::new(session, input.source());
    let line = |ix: EntryIx| bodies.line(ix).map_err(|error| input.unreadable(error));
    let cannot = |what: String| {
        Failure::cannot(format_args!("{}: --assistant: {what}", input.name))
            .hint("give the whole entry as JSON on standard input")
    };
    let mut model = asked.map(|(provider, id)| (provider.into_owned(), id.into_owned()));
    for ix in session.upwards(place) {
        if model.is_none() && session.entry(ix).kind == Kind::ModelChange {
            model = changed_model(Raw::checked(line(ix)?.trim_ascii()));
        }
        if !session.is_message(ix, Role::Assistant) {
            continue;
        }
        let line = line(ix)?;
        let message = Raw::checked(line.trim_ascii()).get("message").unwrap_or(Raw::NULL);
        let names_model = ["api", "provider", "model"].iter().all(|key| message.get_text(key).is_some());
        return match model {
            _ if !names_model => Err(cannot("the reply before it names no model".to_owned())),
            None => Ok(message.bytes().to_vec()),
            Some((provider, _)) if message.get_text("provider") != Some(provider.borrowed()) => {
                Err(cannot(format!("the model is one of {provider}, which has not replied before")))
            }
            Some((_, id)) => {
                let mut edit = Edit::new(message.bytes()).expect("it names a model");
                edit.set("model", &encoded(&id));
                Ok(edit.finish())
            }
        };
    }
    Err(cannot("no reply stands before it".to_owned()))
}

/// Provider and name of the model that an entry changes to, in the words of either agent.
fn changed_model(entry: Raw) -> Option<(Text<'static>, Text<'static>)> {
    if let Some(provider) = entry.get_text("provider") {
        return Some((provider.into_owned(), entry.get_text("modelId")?.into_owned()));
    }
    // oh-my-pi keeps models for other purposes, too.
    let is_default = entry.get("role").is_none_or(|role| role.is("default"));
    let whole = entry.get_text("model").filter(|_| is_default)?.to_string();
    let (provider, id) = whole.split_once('/')?;
    Some((Text::from(provider.to_owned()), Text::from(id.to_owned())))
}
