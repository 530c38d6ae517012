//! `pisess switch`: moves the leaf to another entry.

use crate::cli::guide::{Example, Guide};
use crate::cli::navigation::{Move, MoveArgs};
use crate::cli::open::OpenSession;
use crate::cli::output::{Exit, Failure, Ui, fitted, visible};
use crate::cli::rows::entry::{row_options, said};
use crate::load::Options;
use crate::ops::label::last_of_conversation;
use crate::ops::navigate::{Navigation, navigate, return_to};
use crate::ops::switch::behind_marks;
use crate::ops::tree::rows;
use crate::session::reference::{LEAF, PREVIOUS, Position};
use std::path::{Path, PathBuf};

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Switch to another branch, or to an earlier entry",
        "pisess switch session.jsonl label:green",
    ),
    Example::new(
        "Undo the last user message, and print it for editing",
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
.found("a hook cancelled the operation; with --prepare or --prompt: nothing to summarize");

/// Switch to another branch or entry.
///
/// The agents continue from the last entry of the file, so a mark is appended under REF: an entry
/// that no model sees. If REF is a user message, the session continues from before it, and its text
/// is printed, to be edited and sent again. If REF is already the leaf, nothing is written; to undo
/// a user message at the leaf, use `pisess pop`.
///
/// With `-` as REF, the leaf moves back to where it was before its last move, by whichever program;
/// repeated, it toggles between the two. An entry whose id is `-` is `id:-`.
///
/// With --summarize, or one of the summary options, a summary of the branch you leave is appended
/// instead, as by `pisess summarize`. If there is nothing to summarize, the mark is still appended.
/// If the branch you leave consists of a branch summary alone, it is not summarized again: the
/// session continues from that summary. With --summary or --summary-file, the given summary is
/// appended in any case. The id of the new entry is printed, and on standard error the entry from
/// which the session continues.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Entry to continue from
    #[arg(value_name = "REF")]
    pub to: String,
    /// Append a summary of the branch you leave (the built-in one, unless another source is set)
    #[arg(long)]
    pub summarize: bool,
    #[command(flatten)]
    pub options: MoveArgs,
}

pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let mut open = OpenSession::open(&args.session, Options::default(), ui)?;
    // Above the mark of a switch is where the session is already.
    let target = if args.to == LEAF {
        open.session.leaf
    } else {
        open.resolve_above(&args.to)?
    };
    let navigation = navigation(&open, &args.to, target)?;
    let place = described(&mut open, navigation.new_leaf, ui)?;
    let MoveArgs { summary, write, .. } = &args.options;
    let wants_summary = args.summarize || summary.is_asked_for();
    let is_only_shown =
        summary.prepare || summary.prompt || write.change.dry_run || write.change.json;
    // With the session on standard output, standard error has the id.
    let to_stdout = write
        .output
        .as_deref()
        .map_or(open.input.file().is_none(), |path| path == Path::new("-"));
    let step = Move {
        open: &open,
        navigation,
        options: args.options.clone(),
        wants_summary,
    };
    let exit = step.go(ui)?;
    if exit == Exit::Done && !is_only_shown && !to_stdout {
        ui.status(&format!("now at {place}"));
    }
    Ok(exit)
}

/// Plans the move to `target`, which `reference` refers to. The leaf itself stays the leaf, even if
/// it is a user message: in pi, too, selecting the current leaf does nothing.
fn navigation(
    open: &OpenSession,
    reference: &str,
    target: Position,
) -> Result<Navigation, Failure> {
    let leaf = open.session.leaf;
    let place = open.input.read(behind_marks(&open.reader(), leaf))?;
    let is_leaf = target == leaf || target == place;

    if is_leaf || reference == PREVIOUS {
        Ok(return_to(&open.session, leaf, target))
    } else {
        Ok(navigate(&open.session, leaf, target))
    }
}

/// The maximum width of the text of an entry in a message.
const SHOWN: usize = 60;

/// Returns the id and the text of the entry of the conversation at a position, or the one above it.
fn described(open: &mut OpenSession, place: Position, ui: &Ui) -> Result<String, Failure> {
    let Some(ix) = last_of_conversation(&open.session, place) else {
        return Ok("root".to_owned());
    };
    open.add_rows(&[ix], row_options(ui))?;
    let row = said(&rows(&open.session, place).row(ix), &ui.styles);
    let text: String = row.into_iter().map(|(text, _)| text).collect();
    Ok(format!(
        "{}  {}",
        visible(&open.session.id(ix).to_string_lossy()),
        fitted(&text, SHOWN, "…")
    ))
}
