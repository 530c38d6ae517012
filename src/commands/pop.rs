//! `pisess pop`: undoes the last user message, leaving a summary of what followed.

use crate::cli::guide::{Example, Guide};
use crate::cli::navigation::{MoveArgs, PlannedMove, navigate_to};
use crate::cli::open::OpenSession;
use crate::cli::output::{Exit, Failure, Ui};
use crate::load::LoadOptions;
use crate::ops::navigate::{last_request, navigate};
use crate::session::reference::Position;
use std::path::PathBuf;

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Undo the last user message, and print it for editing",
        "pisess pop session.jsonl",
    ),
    Example::new(
        "Undo two user messages at once, with a summary by a model",
        "pisess pop --summarizer 'llm -m MODEL' session.jsonl '@^{user}^^{user}'",
    ),
    Example::new("Go back to an entry", "pisess pop session.jsonl '@~4'"),
])
.with_found("no user message precedes the leaf, or a hook cancelled the operation");

/// Undo the last user message, leaving a summary of what followed.
///
/// The session continues from before the last user message. With REF, it continues from REF; if REF
/// is a user message, from before REF. A summary of the branch you leave is appended there, so that
/// the model knows what was tried. The text of the user message is printed, to be edited and sent
/// again. Run `pop` again to go back one more user message.
///
/// Without a summary option, pisess extracts the summary from the conversation, without a model. If
/// the message has no reply yet, there is nothing to summarize, and `pop` appends a marker, as
/// `pisess switch` does. A branch that is only a summary is not summarized again. --summary and
/// --summary-file always append the given summary. The id of the new entry is printed.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Entry to go back to, instead of the last user message
    #[arg(value_name = "REF")]
    pub to: Option<String>,
    #[command(flatten)]
    pub options: MoveArgs,
}

/// Goes back to before the last user message, or to the entry that is given, with a summary of what
/// followed.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let open = OpenSession::open(&args.session, LoadOptions::default(), ui)?;
    let navigation = if let Some(reference) = &args.to {
        navigate_to(&open, open.session.leaf.into(), reference)?
    } else {
        let Some(request) = last_request(&open.session, open.session.leaf) else {
            let failure = open
                .input
                .negative_answer("there is no user message on the path to the leaf");
            return Err(failure.with_hint("give the entry to go back to"));
        };
        navigate(
            &open.session,
            open.session.leaf.into(),
            Position::Entry(request),
        )
    };
    PlannedMove::with_summary(&open, navigation, &args.options).execute(ui)
}
