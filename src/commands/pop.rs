//! `pisess pop`: undoes the last user message, leaving a summary of what followed.

use crate::cli::guide::{Example, Guide};
use crate::cli::navigation::{MoveArgs, PlannedMove, is_move_reported, navigate_to};
use crate::cli::open::OpenSession;
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::cli::process::command_line::quote_word;
use crate::cli::rows::entry::report_destination;
use crate::format::format_count;
use crate::load::LoadOptions;
use crate::ops::navigate::{Navigation, last_request, navigate};
use crate::session::entry::EntryIx;
use crate::session::reference::{Position, is_text_reference};
use std::path::PathBuf;

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Take back the last user message, and print it for editing",
        "pisess pop session.jsonl",
    ),
    Example::new(
        "Undo the last two user messages, with a summary by a model",
        "pisess pop --back 2 --summarizer 'llm -m MODEL' session.jsonl",
    ),
    Example::new("Go back to an entry", "pisess pop session.jsonl '@~4'"),
])
.with_found("no user message precedes the leaf, or a hook cancelled the operation");

/// Take back the last user message, leaving a summary of what followed.
///
/// The session continues from before the last user message. With REF, the session continues from
/// REF or, if REF is a user message or a custom message, from before REF. A summary of the branch
/// you leave is appended there, so that the model knows what was tried. If the session continues
/// from before a message, the text of that message is printed, so that you can edit and send it
/// again. Run `pop` again to go back one more user message. `--back 2` goes back two user messages
/// at once, with one summary.
///
/// Without a summary option, pisess extracts the summary from the conversation, without a model. If
/// the message has no reply yet, there is nothing to summarize, and `pop` appends a mark, as
/// `pisess switch` does. A branch that is only a summary is not summarized again. --summary and
/// --summary-file always append the given summary.
///
/// Prints the id of the new entry; reports on stderr where the session continues.
#[derive(Debug, clap::Args)]
#[command(mut_arg("label", |label| label.help("Label the summary (or REF if there is no summary)")))]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Entry to go back to, instead of the last user message
    #[arg(value_name = "REF")]
    pub to: Option<String>,
    /// Go back N user messages
    #[arg(long, value_name = "N", conflicts_with = "to", value_parser = clap::value_parser!(u32).range(1..))]
    pub back: Option<u32>,
    #[command(flatten)]
    pub options: MoveArgs,
}

/// Moves the leaf to before the last user message, or to a given entry. Appends a summary of the
/// entries that followed.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let mut open = OpenSession::open_to_change(&args.session, LoadOptions::default(), ui)?;
    let navigation = match &args.to {
        Some(reference) => navigate_back_to(&open, reference, ui)?,
        None => {
            let request = find_request(&open, args.back.unwrap_or(1))?;
            // Navigation to a user message ends before it, so that the user can send it again.
            let leaf = Position::from(open.session.leaf);
            navigate(&open.session, leaf, Position::Entry(request))
        }
    };
    let new_leaf = navigation.new_leaf;
    let is_reported = is_move_reported(&args.options, &open);
    let exit = PlannedMove::with_summary(&open, navigation, &args.options).execute(ui)?;
    if exit == Exit::Done && is_reported {
        report_destination(&mut open, new_leaf, &args.options.write.change, ui);
    }
    Ok(exit)
}

/// Plans the move from the leaf to the entry that a reference names. Warns if nothing follows that
/// entry, and the reference is a text.
fn navigate_back_to(
    open: &OpenSession,
    reference: &str,
    ui: &mut Ui,
) -> Result<Navigation, Failure> {
    let navigation = navigate_to(open, open.session.leaf.into(), reference)?;
    // Going back to a user message undoes it, even if nothing follows.
    let changes_nothing = navigation.abandoned.is_empty() && !navigation.edits_target;
    if changes_nothing && is_text_reference(reference) {
        warn_of_end(open, reference, ui);
    }
    Ok(navigation)
}

/// Warns that nothing follows the entry to go back to, which was found by its text. The text is
/// often in the answer, too, which is newer than the user message that was meant.
fn warn_of_end(open: &OpenSession, reference: &str, ui: &mut Ui) {
    let hint = if last_request(&open.session, open.session.leaf).is_some() {
        let request = quote_word(format!("{reference}^{{user}}").as_ref());
        format!(" (hint: {request} is the last user message up to it)")
    } else {
        String::new()
    };
    let reference = to_visible(reference);
    ui.warn(&format!(
        "nothing follows {reference}: the conversation ends there{hint}"
    ));
}

/// Returns the user message to go back to: with `times` 1 the last one, with 2 the one before it.
/// Fails if there are fewer, or if `times` is 0.
fn find_request(open: &OpenSession, times: u32) -> Result<EntryIx, Failure> {
    let session = &open.session;
    let mut found_count = 0;
    // The last entry of the path that is still to be searched.
    let mut end = session.leaf;
    while found_count < times {
        let Some(request) = last_request(session, end) else {
            break;
        };
        found_count += 1;
        if found_count == times {
            return Ok(request);
        }
        end = session.entry(request).parent;
    }
    Err(too_few_failure(open, found_count))
}

/// Returns the failure if fewer user messages than requested are on the path. `found_count` is
/// their number.
fn too_few_failure(open: &OpenSession, found_count: u32) -> Failure {
    if found_count == 0 {
        let failure = open
            .input
            .negative_answer("there is no user message on the path to the leaf");
        return failure.with_hint("give the entry to go back to");
    }
    let messages = format_count(found_count as usize, "user message", "user messages");
    let failure = open
        .input
        .negative_answer(format!("only {messages} on the path to the leaf"));
    failure.with_hint(format!(
        "`--back {found_count}` goes back before the first one"
    ))
}
