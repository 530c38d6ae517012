//! `pisess summarize`: moves to another entry, summarizing the branch that is left.

use crate::cli::guide::{Example, Guide};
use crate::cli::navigation::{BranchEnd, MoveArgs, PlannedMove, is_move_reported, navigate_to};
use crate::cli::open::OpenSession;
use crate::cli::output::{Exit, Failure, Ui, to_visible_lines};
use crate::cli::rows::entry::report_destination;
use crate::cli::summary_source::start_compiling_rules;
use crate::load::LoadOptions;
use crate::ops::navigate::{Navigation, navigate};
use crate::session::reference::Position;
use pisess_json::write::Object;
use std::path::PathBuf;

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Print a summary of the conversation",
        "pisess summarize session.jsonl",
    ),
    Example::new(
        "Go back to an entry, with the built-in summary of what was tried since",
        "pisess summarize session.jsonl '@~4'",
    ),
    Example::new(
        "Take back the last user message and print it, with a summary by a model",
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

/// Summarize the conversation, or the branch that you leave.
///
/// Without REF, prints a summary of the whole conversation, and writes nothing. With REF and
/// --print, prints the summary that would be appended, and writes nothing. Only with --json, a
/// printed summary begins with the fixed sentence with which the agents introduce each summary.
///
/// With REF alone, the session continues from REF, as with `pisess switch --summarize`: a summary
/// of the branch you leave is appended there. The summary covers the entries from the branch point
/// to the leaf. If there is nothing to summarize, nothing is written (exit code 1); `switch` would
/// move without a summary. If REF is a user message or a custom message, the session continues from
/// before REF, and the text of REF is printed for editing.
///
/// Without a summary option, pisess extracts the summary from the conversation, without a model.
/// After a move, the id of the new entry is printed, and stderr reports where the session
/// continues.
#[derive(Debug, clap::Args)]
#[command(alias = "summarise")]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Entry to continue from
    #[arg(value_name = "REF")]
    pub to: Option<String>,
    /// Print the summary, and write nothing (default without REF)
    #[arg(long, conflicts_with_all = ["label", "output"])]
    pub print: bool,
    /// Treat REF as the entry that you leave: the summary ends with REF
    #[arg(long, alias = "at", value_name = "REF", default_value = "@")]
    pub from: String,
    #[command(flatten)]
    pub options: MoveArgs,
}

/// Makes the summary of a move from one entry to another, and moves there with it. With `--print`,
/// or if no entry to move to is given, only prints the summary.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let open = open_session(args, ui)?;
    let navigation = plan_navigation(args, &open)?;
    let is_only_printed = args.print || args.to.is_none();
    if is_only_printed {
        // clap refuses these options with `--print`, but not without REF.
        args.refuse_options_of_moves()?;
        let planned = PlannedMove::with_summary(&open, navigation, &args.options);
        return print_summary(planned, ui);
    }
    move_with_summary(args, open, navigation, ui)
}

/// Opens the session for a summary, which reads all messages of a branch.
fn open_session(args: &Args, ui: &mut Ui) -> Result<OpenSession, Failure> {
    // The summary leaves out secrets. The rules for them are compiled while the session is loaded.
    start_compiling_rules();
    let load = LoadOptions {
        message_spans: true,
        ..LoadOptions::default()
    };
    OpenSession::open_to_change(&args.session, load, ui)
}

/// Returns the move from the entry of `--from` to REF. Without REF, the move goes to the root, so
/// that the whole conversation is summarized.
fn plan_navigation(args: &Args, open: &OpenSession) -> Result<Navigation, Failure> {
    let from = open.resolve_parent(&args.from)?;
    match &args.to {
        Some(reference) => navigate_to(open, from, reference),
        None => Ok(navigate(&open.session, from, Position::Root)),
    }
}

/// Moves, appending the summary, and reports where the session continues.
fn move_with_summary(
    args: &Args,
    mut open: OpenSession,
    navigation: Navigation,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let branch_end = if open.resolve_reference(&args.from)?.is_current {
        BranchEnd::Leaf
    } else {
        BranchEnd::OtherEntry
    };
    let new_leaf = navigation.new_leaf;
    let planned = PlannedMove::with_summary(&open, navigation, &args.options);
    let exit = planned.move_with_summary(branch_end, ui)?;
    if exit == Exit::Done && is_move_reported(&args.options, &open) {
        report_destination(&mut open, new_leaf, &args.options.write.change, ui);
    }
    Ok(exit)
}

impl Args {
    /// Refuses options that have an effect only if the session is changed.
    fn refuse_options_of_moves(&self) -> Result<(), Failure> {
        let option = if self.options.label.is_some() {
            "--label"
        } else if self.options.write.output.is_some() {
            "--output"
        } else {
            return Ok(());
        };
        let what = format!("{option} needs REF: without it, the summary is only printed");
        Err(Failure::usage_error(what).with_hint("give the entry to continue from"))
    }
}

/// Prints the summary of a move, without moving. With `--prepare` or `--prompt`, prints what the
/// summary would be made of.
fn print_summary(mut planned: PlannedMove, ui: &mut Ui) -> Result<Exit, Failure> {
    if let Some(exit) = planned.print_preview(ui)? {
        return Ok(exit);
    }
    let hook = planned.hook_command(ui);
    let summary = planned.prepare_summary(hook.as_ref(), ui)?;
    if planned.options.write.change.json {
        let json = Object::new()
            .text("summary", &summary.text)
            .json("details", &summary.details)
            .finish();
        ui.print_json(&json)?;
        return Ok(Exit::Done);
    }

    // The JSON has the text as it would be stored. For people, the agent's preamble is left out: it
    // only explains to a model what a branch summary is.
    let stored_text = summary.text.to_string_lossy();
    let preamble = planned.open.session.agent().constants().branch_preamble;
    let own_text = stored_text.strip_prefix(preamble).unwrap_or(&stored_text);
    ui.print(&(to_visible_lines(own_text.trim()) + "\n"))?;
    Ok(Exit::Done)
}
