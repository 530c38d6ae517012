//! `pisess summarize`: leaves a branch for another place, with a summary of what is left.

use super::input::OpenSession;
use super::navigation::Move;
use super::summary::SummaryArgs;
use crate::core::load::Options;
use crate::core::ops::navigate::navigate;
use crate::guide::{Example, Guide};
use crate::options::WriteArgs;
use crate::ui::{Exit, Failure, Ui};
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
    found: Some("nothing is left behind on the way, and no summary is given, or a hook said cancel"),
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
    pub at: String,
    /// Label the summary
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
    let at = open.resolve(&args.at)?;
    let target = open.resolve(&args.to)?;
    let step = Move {
        open: &open,
        navigation: navigate(&open.session, at, target),
        summary: args.summary.clone(),
        label: args.label.clone(),
        wants_summary: true,
    };
    if let Some(exit) = step.shown(ui)? {
        return Ok(exit);
    }
    step.make(args.at == "@", &args.write, ui)
}
