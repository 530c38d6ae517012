//! `pisess switch`: moves the leaf to another entry.

use crate::cli::guide::{Example, Guide};
use crate::cli::navigation::Move;
use crate::cli::open::OpenSession;
use crate::cli::options::WriteArgs;
use crate::cli::output::{Exit, Failure, Ui, visible};
use crate::cli::summary_source::SummaryArgs;
use crate::load::Options;
use crate::ops::navigate::{navigate, return_to};
use crate::session::reference::PREVIOUS;
use std::path::PathBuf;

/// The examples and exit codes shown after the options in the help, and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "switch",
    examples: &[
        Example::new(
            "Switch to another branch, or to an earlier entry",
            "pisess switch session.jsonl label:green",
        ),
        Example::new(
            "Undo the last user message, and print it for editing",
            "pisess switch session.jsonl '@^{user}'",
        ),
        Example::new("Go back to the leaf before the last move", "pisess switch session.jsonl -"),
        Example::new("Start over in the same session", "pisess switch session.jsonl root"),
        Example::new(
            "Go back, with a summary of what was tried since",
            "pisess switch --summarize session.jsonl '@~4'",
        ),
    ],
    found: Some("a hook cancelled the operation; with --prepare or --prompt: nothing to summarize"),
    writes: true,
    refers: true,
};

/// Switch to another branch or entry.
///
/// The agents continue from the last entry of the file, so a mark is appended under REF: an entry that
/// no model sees. If REF is a user message, the session continues from before it, and its text is
/// printed, to be edited and sent again. If REF is already the leaf, nothing is written.
///
/// With `-` as REF, the leaf moves back to where it was before its last move, by whichever program; repeated, it
/// toggles between the two. An entry whose id is `-` is `id:-`.
///
/// With --summarize, or one of the summary options, a summary of the branch you leave is appended instead, as
/// by `pisess summarize`. If there is nothing to summarize, the mark is still appended. If the branch you leave
/// is only a branch summary, the session continues from that summary, and no other is appended unless --summary or
/// --summary-file is given. The id of the new entry is printed.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Entry to continue from
    #[arg(value_name = "REF")]
    pub to: String,
    /// Append a summary of the branch you leave (the built-in one, unless another source is set)
    #[arg(long)]
    pub summarize: bool,
    /// Label the summary (or REF, if there is no summary)
    #[arg(long, value_name = "NAME")]
    pub label: Option<String>,
    /// Source of the summary.
    #[command(flatten)]
    pub summary: SummaryArgs,
    /// Output and locking options.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Runs the command.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let open = OpenSession::open(&args.session, Options::default(), ui)?;
    let target = open.resolve(&args.to)?;
    let navigate = if args.to == PREVIOUS { return_to } else { navigate };
    let step = Move {
        open: &open,
        navigation: navigate(&open.session, open.session.leaf, target),
        summary: args.summary.clone(),
        label: args.label.clone(),
        wants_summary: args.summarize || args.summary.is_asked_for(),
    };
    let exit = step.go(&args.write, ui)?;
    if args.to == PREVIOUS && exit == Exit::Done && !args.write.dry_run && !args.write.json {
        let place = target.map_or_else(|| "root".into(), |target| open.session.id(target));
        ui.status(&format!("back to {}", visible(&place.to_string_lossy())));
    }
    Ok(exit)
}
