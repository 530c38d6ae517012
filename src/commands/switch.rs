//! `pisess switch`: the conversation goes on from another place.

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
    verb: "switch",
    examples: &[
        Example::new("To another branch, or an earlier place", "pisess switch session.jsonl label:green"),
        Example::new(
            "Back before the last question, which is printed to be asked in another way",
            "pisess switch session.jsonl '@^{user}'",
        ),
        Example::new("Start anew in the same session", "pisess switch session.jsonl root"),
        Example::new(
            "Back, with a summary of what was tried since",
            "pisess switch --summarize session.jsonl '@~4'",
        ),
    ],
    found: Some("a hook said cancel; with --prepare or --prompt: nothing is left behind on the way"),
    writes: true,
    refers: true,
};

/// Go on from another entry.
///
/// The agents go on from the last entry of the file, so a mark is appended at REF: an entry that no
/// model sees. With a user message as REF the conversation goes on before it, and its text is
/// printed to be edited and asked again. Where one stands already, nothing is written.
///
/// With --summarize, or one of the summary options, a summary of what is left behind is appended
/// instead, as `pisess summarize` does; where nothing is left behind, the mark all the same, and where
/// such a summary is all that is left, nothing. The id of the new entry is printed.
#[derive(Clone, Debug, clap::Args)]
#[command(after_long_help = GUIDE.help())]
pub struct Args {
    /// The session: a path, or - for standard input
    pub session: PathBuf,
    /// The entry to go on from
    #[arg(value_name = "REF")]
    pub to: String,
    /// Leave a summary of what is left behind
    #[arg(long)]
    pub summarize: bool,
    /// Label the summary; if none is left, label REF
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
    let target = open.resolve(&args.to)?;
    let step = Move {
        open: &open,
        navigation: navigate(&open.session, open.session.leaf, target),
        summary: args.summary.clone(),
        label: args.label.clone(),
        wants_summary: args.summarize || args.summary.is_asked_for(),
    };
    if let Some(exit) = step.shown(ui)? {
        return Ok(exit);
    }
    step.go(&args.write, ui)
}
