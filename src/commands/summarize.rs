//! `pisess summarize`: leaves a branch for another place, with a summary of what is left.

use super::failure::{Exit, Failure};
use super::input::Input;
use super::label::checked;
use super::mint::Mint;
use super::summary::{Source, SummaryArgs, Wanted, extract};
use super::visible::verbatim;
use super::write::{Job, Made, change, print_json};
use crate::cli::{Talk, Write};
use crate::core::agent;
use crate::core::bodies::{Bodies, FileBodies};
use crate::core::json::Raw;
use crate::core::json::write::{Object, array, texts};
use crate::core::load::Options;
use crate::core::ops::Stamp;
use crate::core::ops::navigate::{Navigation, navigate};
use crate::core::ops::summary::{Summary, branch, details};
use crate::core::reference::Position;
use crate::core::session::Session;
use crate::core::summary::Kind;
use crate::core::text::Text;
use crate::guide::{Example, Guide};
use crate::world::World;
use std::io;
use std::path::PathBuf;

/// How it is used, behind the options of the help and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "summarize",
    examples: &[
        Example::new(
            "Back to an entry, with the built-in summary of what was tried since",
            "pisess summarize session.jsonl '@~4'",
        ),
        Example::new(
            "Back before the last question, with a summary by a model; the question is printed",
            "pisess summarize --summarizer 'llm -m small' session.jsonl '@^{user}'",
        ),
        Example::new(
            "With a summary and a name of one's own",
            "pisess summarize --summary 'The cache made it slower.' --label tried session.jsonl '@~2'",
        ),
        Example::new("What would be left behind, as JSON", "pisess summarize --prepare session.jsonl '@~4'"),
    ],
    found: Some("nothing is left behind on the way, and no summary is given"),
    writes: true,
    refers: true,
};

/// Go to another entry and leave a summary of the branch behind.
///
/// The conversation goes on from REF, where a summary is appended of what is left behind: the
/// entries from the leaf back to where the way to REF branches off. With a user message as REF the
/// conversation goes on before it, and its text is printed to be edited and asked again.
///
/// Without a summary option the summary is extracted from the conversation itself, without a model.
/// The id of the new entry is printed.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = GUIDE.help())]
pub struct Args {
    /// The session: a path, or - for standard input
    pub session: PathBuf,
    /// The entry to go on from
    #[arg(value_name = "REF")]
    pub to: String,
    /// The entry to leave, when it is not the leaf
    #[arg(long, value_name = "REF", default_value = "@")]
    pub from: String,
    /// Label the summary
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,
    /// Where the summary comes from.
    #[command(flatten)]
    pub summary: SummaryArgs,
    /// How to write.
    #[command(flatten)]
    pub write: Write,
}

/// Runs the command.
pub fn run(args: &Args, talk: &Talk, world: &mut World) -> Result<Exit, Failure> {
    let input = Input::open(&args.session, world)?;
    let options = Options { workers: world.processors, ..Options::default() };
    let session = input.load_noted(&options, talk, world)?;
    let from = input.resolve(&session, &args.from)?;
    let target = input.resolve(&session, &args.to)?;
    let navigation = navigate(&session, from, target);
    let bodies = FileBodies::new(&session, input.source());
    let unreadable = |error: io::Error| input.unreadable(error);
    if args.summary.prepare {
        let json = preparation_json(args, &session, &navigation, &bodies).map_err(unreadable)?;
        print_json(world, &json)?;
        return Ok(if navigation.abandoned.is_empty() { Exit::Found } else { Exit::Done });
    }
    if args.summary.prompt {
        nothing_left(&input, &navigation)?;
        let (messages, _) =
            agent::prepare_branch(&session, &navigation.abandoned, &bodies).map_err(unreadable)?;
        let prompt = agent::branch_prompt(&session, &messages, &args.summary.prompt_of(), &bodies)
            .map_err(unreadable)?;
        verbatim(world).write_all(&prompt).map_err(Failure::output)?;
        return Ok(Exit::Done);
    }
    args.label.as_deref().map(checked).transpose()?;
    let given = args.summary.given(input.file().is_none(), world)?;
    if given.is_none() {
        nothing_left(&input, &navigation)?;
    }
    let mut mint = Mint::new(world)?;
    let mut args = args.clone();
    let mut source = given.map(|given| Source::Given(Text::from(given)));
    if source.is_none() {
        let asked = args.clone();
        let event = || event(&asked, &session, &navigation, &bodies);
        let answer = args.summary.ask_hook(event).map_err(|failure| failure.of(&input))?;
        args.label = answer.label.map(|label| label.to_string()).or(args.label);
        source = answer.summary.map(|(text, details)| Source::Hooked(text, details));
    }
    let summary = summary(&args, &session, &navigation, source, &bodies, &unreadable)?;
    let draft = match navigation.target.filter(|_| navigation.edits_target) {
        Some(target) => Some(agent::draft_text(&session, &bodies, target).map_err(unreadable)?),
        None => None,
    };
    let name = args.label.as_deref().map(checked).transpose()?;
    let id_of = |session: &Session, place: Position| place.map(|ix| session.id(ix).into_owned());
    let (old, new) = (id_of(&session, navigation.old_leaf), id_of(&session, navigation.new_leaf));
    let job = Job { input: &input, options: &options, write: &args.write, talk, backup: None };
    let mut decide = |input: &Input, session: &Session, stamp: &mut Stamp| {
        // Entries that were appended meanwhile are not in the summary: they would be lost from sight.
        let same = args.from != "@" || id_of(session, session.leaf) == old;
        let place = |id: &Option<Text<'static>>| id.as_ref().and_then(|id| session.find(id));
        if !same {
            return Err(Failure::busy(format_args!("{}: the conversation went on meanwhile", input.name))
                .hint("run the command again"));
        }
        let change = branch(session, place(&old), place(&new), &summary, name.as_ref(), stamp);
        let id =
            change.lines.first().and_then(|line| Raw::checked(line).get_text("id")).map(|id| id.to_string());
        Ok(Some((change, Made { names: id.into_iter().collect(), draft: draft.clone() })))
    };
    change(&job, &session, &mut mint, world, &mut decide)
}

fn nothing_left(input: &Input, navigation: &Navigation) -> Result<(), Failure> {
    if !navigation.abandoned.is_empty() {
        return Ok(());
    }
    Err(Failure::no(format_args!("{}: nothing is left behind on the way there", input.name))
        .hint("give a summary with --summary to leave one all the same"))
}

fn summary(
    args: &Args,
    session: &Session,
    navigation: &Navigation,
    source: Option<Source>,
    bodies: &dyn Bodies,
    unreadable: &dyn Fn(io::Error) -> Failure,
) -> Result<Summary, Failure> {
    let (messages, file_ops) =
        agent::prepare_branch(session, &navigation.abandoned, bodies).map_err(unreadable)?;
    let files = agent::files(session, &file_ops);
    let source = match (source, args.summary.shell()) {
        (Some(source), _) => source,
        (None, Some(shell)) => {
            let prompt = agent::branch_prompt(session, &messages, &args.summary.prompt_of(), bodies)
                .map_err(unreadable)?;
            Source::Made(args.summary.ask(&shell, prompt)?)
        }
        (None, None) => {
            let wanted = Wanted {
                kind: Kind::Branch,
                messages: &messages,
                turn_prefix: &[],
                previous: None,
                files: &files,
            };
            let text = extract(&wanted, args.summary.instructions.as_deref(), bodies);
            Source::Made(text.map_err(unreadable)?)
        }
    };
    Ok(source.stored(details(&files), |text| agent::branch_text(session, &text, &file_ops)))
}

/// What a hook is told before a move (`session_before_tree`).
fn event(
    args: &Args,
    session: &Session,
    navigation: &Navigation,
    bodies: &dyn Bodies,
) -> io::Result<Vec<u8>> {
    let preparation = preparation_json(args, session, navigation, bodies)?;
    Ok(Object::new().str("type", "session_before_tree").json("preparation", &preparation).finish())
}

fn preparation_json(
    args: &Args,
    session: &Session,
    navigation: &Navigation,
    bodies: &dyn Bodies,
) -> io::Result<Vec<u8>> {
    let id = |place: Position| place.map(|ix| session.id(ix));
    let entries = navigation.abandoned.iter().map(|&ix| Ok(bodies.line(ix)?.trim_ascii().to_vec()));
    let (_, file_ops) = agent::prepare_branch(session, &navigation.abandoned, bodies)?;
    let files = agent::files(session, &file_ops);
    let draft = match navigation.target.filter(|_| navigation.edits_target) {
        Some(target) => Some(agent::draft_text(session, bodies, target)?),
        None => None,
    };
    Ok(Object::new()
        .text_or_null("targetId", id(navigation.target).as_ref())
        .text_or_null("oldLeafId", id(navigation.old_leaf).as_ref())
        .text_or_null("commonAncestorId", id(navigation.common_ancestor).as_ref())
        .text_or_null("newLeafId", id(navigation.new_leaf).as_ref())
        .json("entriesToSummarize", &array(entries.collect::<io::Result<Vec<_>>>()?))
        .json("readFiles", &texts(&files.read_files))
        .json("modifiedFiles", &texts(&files.modified_files))
        .text_or_null("editorText", draft.as_ref())
        .bool("userWantsSummary", true)
        .text_or_null("customInstructions", args.summary.instructions.as_deref().map(Text::from).as_ref())
        .bool("replaceInstructions", args.summary.replace_instructions)
        .text_or_null("label", args.label.as_deref().map(Text::from).as_ref())
        .finish())
}
