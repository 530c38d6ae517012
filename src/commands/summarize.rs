//! `pisess summarize`: moves to another entry, summarizing the branch that is left.

use crate::cli::guide::{Example, Guide};
use crate::cli::navigation::{MoveArgs, PlannedMove, navigate_to};
use crate::cli::open::OpenSession;
use crate::cli::output::{Exit, Failure, Ui};
use crate::load::LoadOptions;
use std::path::PathBuf;

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Go back to an entry, with the built-in summary of what was tried since",
        "pisess summarize session.jsonl '@~4'",
    ),
    Example::new(
        "Undo the last user message and print it, with a summary by a model",
        "pisess summarize --summarizer 'llm -m MODEL' session.jsonl '@^{user}'",
    ),
    Example::new(
        "Go back with your own summary, and label it",
        "pisess summarize --summary 'The cache made it slower.' --label tried session.jsonl '@~2'",
    ),
    Example::new(
        "Print what would be summarized, as JSON",
        "pisess summarize --prepare session.jsonl '@~4'",
    ),
])
.with_found("nothing to summarize and no summary given, or a hook cancelled the operation");

/// Move to another entry, summarizing the branch you leave.
///
/// The session continues from REF, where a summary of the branch you leave is appended. It covers
/// the entries from the branch point to the leaf. If REF is a user message, the session continues
/// from before it, and its text is printed, to be edited and sent again.
///
/// Without a summary option, pisess extracts the summary from the conversation, without a model.
/// The id of the new entry is printed.
#[derive(Debug, clap::Args)]
#[command(alias = "summarise")]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Entry to continue from
    #[arg(value_name = "REF")]
    pub to: String,
    /// Entry to leave
    #[arg(long, alias = "at", value_name = "REF", default_value = "@")]
    pub from: String,
    #[command(flatten)]
    pub options: MoveArgs,
}

pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let open = OpenSession::open(&args.session, LoadOptions::default(), ui)?;
    let from = open.resolve_parent(&args.from)?;
    let leaves_leaf = open.resolve_reference(&args.from)?.is_current;
    let navigation = navigate_to(&open, from, &args.to)?;
    PlannedMove::with_summary(&open, navigation, &args.options).move_with_summary(leaves_leaf, ui)
}
