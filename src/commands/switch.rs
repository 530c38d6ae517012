//! `pisess switch`: moves the leaf to another entry.

use crate::cli::guide::{Example, Guide};
use crate::cli::navigation::{MoveArgs, PlannedMove, conversation_entry, is_move_reported};
use crate::cli::open::OpenSession;
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::rows::entry::{describe_entry, print_destination};
use crate::load::LoadOptions;
use crate::ops::navigate::{Navigation, navigate, navigate_back};
use crate::ops::switch::skip_marks;
use crate::session::reference::{PREVIOUS_REFERENCE, Position};
use std::path::PathBuf;

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Switch to another branch, or to an earlier entry",
        "pisess switch session.jsonl label:green",
    ),
    Example::new(
        "Go to the entry that says these words",
        "pisess switch session.jsonl ':/tests pass'",
    ),
    Example::new(
        "Go back to before something was first mentioned",
        "pisess switch session.jsonl ':1/changelog^'",
    ),
    Example::new(
        "Take back the last user message, and print it for editing",
        "pisess switch session.jsonl '@^{user}'",
    ),
    Example::new(
        "Go back to the leaf before the last move",
        "pisess switch session.jsonl -",
    ),
    Example::new(
        "Start over in the same session",
        "pisess switch session.jsonl root",
    ),
    Example::new(
        "Go back, with a summary of what was tried since",
        "pisess switch --summarize session.jsonl '@~4'",
    ),
])
.with_found("a hook cancelled the operation; with --prepare or --prompt: nothing to summarize");

/// Switch to another branch or entry.
///
/// Agents continue from the last entry of the file, so `switch` appends an entry, the mark, under
/// REF. No model sees a mark. If REF is a user message or a custom message, the session continues
/// from before REF, and the text of REF is printed for editing. If REF is already the leaf, nothing
/// is written; to undo a user message at the leaf, use `pisess pop`.
///
/// As REF, `-` is the leaf before the last move, even if another program made the move. A second
/// `switch -` goes back again. (To name an entry with the id `-`, use `id:-`.)
///
/// With --summarize or a summary option, `switch` appends no mark, but a summary of the branch you
/// leave, as `pisess summarize` does. If there is nothing to summarize, it appends the mark. A
/// branch that is only a summary is not summarized again. --summary and --summary-file always
/// append the given summary.
///
/// Prints the id of the new entry; reports on stderr where the session continues.
#[derive(Debug, clap::Args)]
#[command(mut_arg("label", |label| label.help("Label the summary (or REF if there is no summary)")))]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Entry to continue from
    #[arg(value_name = "REF")]
    pub to: String,
    /// Append a summary of the branch you leave (extracted without a model, unless a summary option
    /// is given)
    #[arg(long)]
    pub summarize: bool,
    #[command(flatten)]
    pub options: MoveArgs,
}

/// Moves the leaf, and reports its new position on standard error.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let mut open = OpenSession::open_to_change(&args.session, LoadOptions::default(), ui)?;
    let target = open.resolve_parent(&args.to)?;
    let navigation = plan_navigation(&open, &args.to, target)?;
    // Described before the move, so that a failure to read the entry does not follow a write.
    let destination = match conversation_entry(&open, navigation.new_leaf)? {
        Some(ix) => describe_entry(&mut open, ix, ui)?,
        None => "root".to_owned(),
    };
    let is_reported = is_move_reported(&args.options, &open);
    let step = PlannedMove {
        open: &open,
        navigation,
        options: args.options.clone(),
        wants_summary: args.summarize || args.options.summary.wants_summary(),
    };
    let exit = step.execute(ui)?;
    if exit == Exit::Done && is_reported {
        print_destination(&destination, &args.options.write.change, ui);
    }
    Ok(exit)
}

/// Plans the move to `target`, the position that `reference` names. A move to a user message
/// usually goes above it. There are two exceptions: if `target` is the leaf, the leaf stays,
/// because selecting the current leaf does nothing in pi, either; and `-` returns exactly to the
/// previous leaf.
fn plan_navigation(
    open: &OpenSession,
    reference: &str,
    target: Position,
) -> Result<Navigation, Failure> {
    let leaf = Position::from(open.session.leaf);
    let conversation_end = open
        .input
        .map_read_error(skip_marks(&open.entry_reader(), leaf))?;
    let is_leaf = target == leaf || target == conversation_end;

    if is_leaf || reference == PREVIOUS_REFERENCE {
        Ok(navigate_back(&open.session, leaf, target))
    } else {
        Ok(navigate(&open.session, leaf, target))
    }
}
