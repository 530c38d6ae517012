//! `pisess pop`: back to before the last question, with a summary of what came after it.

use super::failure::{Exit, Failure};
use super::input::Input;
use super::moving::Move;
use super::summary::SummaryArgs;
use super::write::Job;
use crate::cli::{Talk, Write};
use crate::core::bodies::FileBodies;
use crate::core::load::Options;
use crate::core::ops::navigate::{last_request, navigate};
use crate::core::reference::Position;
use crate::core::session::Session;
use crate::guide::{Example, Guide};
use crate::world::World;
use std::path::PathBuf;

/// How it is used, behind the options of the help and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "pop",
    examples: &[
        Example::new(
            "Before the last question, which is printed to be asked again",
            "pisess pop session.jsonl",
        ),
        Example::new(
            "Two questions back at once, with a summary by a model",
            "pisess pop --summarizer 'llm -m small' session.jsonl '@^{user}^^{user}'",
        ),
        Example::new("Back to an entry", "pisess pop session.jsonl '@~4'"),
    ],
    found: Some("no question leads to the leaf, or a hook said cancel"),
    writes: true,
    refers: true,
};

/// Take the last question back, and leave a summary of what came after it.
///
/// The conversation goes on from before the last question of the person, or from REF. A summary is
/// appended there of what is left behind, so that the model knows what was tried. The question is
/// printed to be edited and asked again. Popping again goes one question further up.
///
/// Without a summary option the summary is extracted from the conversation itself, without a model.
/// Where nothing was answered yet, there is nothing to tell, and a mark is appended in its place, as
/// `pisess switch` does; where such a summary is all that is left, nothing. The id of the new entry is
/// printed.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = GUIDE.help())]
pub struct Args {
    /// The session: a path, or - for standard input
    pub session: PathBuf,
    /// The entry to go back to, when it is not the last question
    #[arg(value_name = "REF")]
    pub to: Option<String>,
    /// Label the summary; if none is left, label the question
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
    let target = target(args, &input, &session)?;
    let step = Move {
        input: &input,
        session: &session,
        bodies: &FileBodies::new(&session, input.source()),
        navigation: navigate(&session, session.leaf, target),
        summary: args.summary.clone(),
        label: args.label.clone(),
        wants_summary: true,
    };
    if let Some(exit) = step.shown(world)? {
        return Ok(exit);
    }
    let job = Job { input: &input, options: &options, write: &args.write, talk, backup: None };
    step.go(&job, world)
}

fn target(args: &Args, input: &Input, session: &Session) -> Result<Position, Failure> {
    match &args.to {
        Some(reference) => input.resolve(session, reference),
        None => match last_request(session) {
            None => Err(Failure::no(format_args!("{}: no question leads to the leaf", input.name))
                .hint("name the entry to go back to")),
            question => Ok(question),
        },
    }
}
