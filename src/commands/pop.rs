//! `pisess pop`: back to before the last question, with a summary of what came after it.

use super::input::OpenSession;
use super::navigation::Move;
use super::summary::SummaryArgs;
use crate::core::load::Options;
use crate::core::ops::navigate::{last_request, navigate};
use crate::core::reference::Position;
use crate::guide::{Example, Guide};
use crate::options::WriteArgs;
use crate::ui::{Exit, Failure, Ui};
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
    pub write: WriteArgs,
}

/// Runs the command.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let open = OpenSession::open(&args.session, Options::default(), ui)?;
    let target = target(args, &open)?;
    let step = Move {
        open: &open,
        navigation: navigate(&open.session, open.session.leaf, target),
        summary: args.summary.clone(),
        label: args.label.clone(),
        wants_summary: true,
    };
    if let Some(exit) = step.shown(ui)? {
        return Ok(exit);
    }
    step.go(&args.write, ui)
}

fn target(args: &Args, open: &OpenSession) -> Result<Position, Failure> {
    match &args.to {
        Some(reference) => open.resolve(reference),
        None => match last_request(&open.session) {
            None => {
                Err(open.input.no("no user message leads to the leaf").hint("name the entry to go back to"))
            }
            question => Ok(question),
        },
    }
}
