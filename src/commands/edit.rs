//! `pisess edit`: changes what the model sees of an entry.

use crate::cli::given::read_text;
use crate::cli::guide::{Example, Guide};
use crate::cli::navigation::writes_to_stdout;
use crate::cli::open::{Input, OpenSession};
use crate::cli::options::WriteArgs;
use crate::cli::output::{Exit, Failure, Ui, to_visible, to_visible_line, truncate_end};
use crate::format::format_count;
use crate::load::LoadOptions;
use crate::ops::edit::{EditAction, edit_entries};
use crate::session::content::entry_text;
use crate::session::entry::EntryIx;
use pisess_json::text::Text;
use std::path::{Path, PathBuf};

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Replace a tool result with a shorter one",
        "pisess edit session.jsonl '@^{toolResult}' --replace '(the new test, 40 lines)'",
    ),
    Example::new(
        "Omit a user message and its reply from the context",
        "pisess edit session.jsonl '@^{user}' '@^{assistant}' --omit",
    ),
    Example::new(
        "Restore an entry that was edited",
        "pisess edit session.jsonl '@^{user}' --restore",
    ),
]);

/// Change what the model sees of an entry, not the entry itself.
///
/// Appends a `context_edit`, an entry type of pi, under the leaf. The edit applies from there on,
/// only on this branch. If an entry is edited several times, the last edit applies. Only user,
/// assistant, tool result and custom messages in the context can be edited. --restore shows the
/// model the original again. -n also prints the beginning of each entry's own text.
///
/// A tool call and its result belong together: if only one of them is omitted, the edit is refused.
///
/// oh-my-pi does not support context edits. In its sessions, append the changed message on a branch
/// instead, with `append --at REF^`.
#[derive(Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("wanted").required(true))]
#[command(override_usage = concat!(
    "pisess edit [OPTIONS] --omit <SESSION> <REF>...\n",
    "       pisess edit [OPTIONS] --replace <TEXT> <SESSION> <REF>\n",
    "       pisess edit [OPTIONS] --restore <SESSION> <REF>...",
))]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// The entries to edit
    #[arg(value_name = "REF", required = true)]
    pub targets: Vec<String>,
    /// Omit the entries from the context
    #[arg(long, group = "wanted")]
    pub omit: bool,
    /// Show the model TEXT instead (- for standard input)
    #[arg(long, value_name = "TEXT", group = "wanted")]
    pub replace: Option<String>,
    /// Restore what an earlier run changed (so that the model sees the original again)
    #[arg(long, alias = "undo", group = "wanted")]
    pub restore: bool,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Changes what the model sees of entries. One entry can be replaced by a text. Any number of
/// entries can be omitted, or restored to their own content.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let open = OpenSession::open_to_change(&args.session, LoadOptions::default(), ui)?;
    // The text is read before the session is locked.
    let replacement = read_replacement(args, &open.input, ui)?;
    let action = match &replacement {
        Some(text) => EditAction::Replace(text),
        None if args.omit => EditAction::Omit,
        None => EditAction::Undo,
    };
    // Read before the edit, because it replaces texts. Printed after it, because a refused edit has
    // only its failure to report.
    let target_reports = TargetReport::read_all(&open, args)?;
    // The number of edits in the change. The function below is called again if the session grows
    // before the commit.
    let mut edit_count = 0;
    let exit = open.apply_change(&args.write, ui, |locked_open, id_source| {
        refuse_without_edits(locked_open)?;
        let targets = locked_open.find_entries(&args.targets)?;
        let change = edit_entries(&locked_open.entry_reader(), &targets, action, id_source)
            .map_err(|refusal| locked_open.refusal_failure(refusal))?;
        edit_count = change.entries.len();
        Ok(change.into())
    })?;
    for report in &target_reports {
        report.print(ui);
    }
    let is_edited = exit == Exit::Done && edit_count > 0;
    if is_edited && !shows_change(args, &open) {
        report_effect(action, edit_count, ui);
    }
    Ok(exit)
}

/// Whether the output shows the change: with `-n` or `--json` it is the change itself, and
/// otherwise it may be the changed session, on standard output.
fn shows_change(args: &Args, open: &OpenSession) -> bool {
    let prints_change = args.write.change.dry_run || args.write.change.json;
    prints_change || writes_to_stdout(&args.write, open)
}

/// Returns the text of `--replace`, which is read from standard input for `-`. `None` without the
/// option. Refuses an empty text, and one text for several entries.
fn read_replacement(
    args: &Args,
    session: &Input,
    ui: &mut Ui,
) -> Result<Option<Text<'static>>, Failure> {
    let text = match args.replace.as_deref() {
        None => return Ok(None),
        Some("-") => read_text(Path::new("-"), session, ui)?,
        Some(text) => text.to_owned(),
    };
    if text.trim().is_empty() {
        return Err(Failure::invalid("--replace: the text is empty")
            .with_hint("omit the entry with --omit"));
    }
    if args.targets.len() > 1 {
        return Err(Failure::invalid("--replace: one text for several entries")
            .with_hint("replace them one by one, or omit the others"));
    }
    Ok(Some(Text::from(text)))
}

/// Refuses a session whose agent does not support edits.
fn refuse_without_edits(open: &OpenSession) -> Result<(), Failure> {
    if open.session.agent().constants().applies_context_edits {
        return Ok(());
    }
    let failure = open.input.failure("oh-my-pi does not support edits");
    Err(failure
        .with_hint("append the changed message on a branch instead: `pisess append --at REF^`"))
}

/// Reports what the model sees after `edit_count` entries were edited.
fn report_effect(action: EditAction, edit_count: usize, ui: &mut Ui) {
    let entries = format_count(edit_count, "entry", "entries");
    let result = match action {
        EditAction::Omit => format!("omits {entries}"),
        EditAction::Replace(_) => "has the new text".to_owned(),
        EditAction::Undo => format!("has {entries} as stored"),
    };
    ui.print_status(&format!(
        "the next request {result}; `pisess context` prints what the model sees"
    ));
}

/// The maximum width of the text of a target in a report.
const MAX_TEXT_WIDTH: usize = 100;

/// What is reported of an entry to edit.
struct TargetReport {
    id: String,
    /// The number of older entries on the path that the reference `:/TEXT` fits as well.
    other_matches: usize,
    /// The beginning of the entry's text, for `-n`: so that a wrong entry is noticed before it is
    /// edited.
    text: Option<String>,
}

impl TargetReport {
    /// Reads what is reported of each entry to edit. `open` is the session before the edit, because
    /// afterwards the entries have other texts.
    fn read_all(open: &OpenSession, args: &Args) -> Result<Vec<TargetReport>, Failure> {
        let mut reports = Vec::new();
        // The edit itself reports that this session cannot have edits.
        if !open.session.agent().constants().applies_context_edits {
            return Ok(reports);
        }
        for reference in &args.targets {
            let target = open.find_entry(reference)?;
            // Only the plan for people shows the text. Afterwards, it is too late to notice a wrong
            // entry.
            let prints_plan = args.write.change.dry_run && !args.write.change.json;
            let text = if prints_plan {
                Some(read_text_start(open, target)?)
            } else {
                None
            };
            reports.push(TargetReport {
                id: to_visible(&open.session.id(target).to_string_lossy()),
                other_matches: open.count_other_matches(reference)?,
                text,
            });
        }
        Ok(reports)
    }

    /// Warns if the reference of the entry fits others, too, and with `-n` prints its text.
    fn print(&self, ui: &mut Ui) {
        let id = &self.id;
        if self.other_matches > 0 {
            let others = format_count(self.other_matches, "older entry", "older entries");
            ui.warn(&format!(
                "{id} is the newest entry with this text; {others} on the path also fit (hint: ':1/TEXT' is the first)"
            ));
        }
        if let Some(text) = &self.text {
            ui.print_status(&format!("{id} reads: {text}"));
        }
    }
}

/// Returns the beginning of an entry's text, on one line.
fn read_text_start(open: &OpenSession, target: EntryIx) -> Result<String, Failure> {
    let text = open.entry_reader().with_entry(target, entry_text);
    let text = open.input.map_read_error(text)?;
    let text = text.to_string_lossy();
    Ok(truncate_end(&to_visible_line(&text), MAX_TEXT_WIDTH, "…"))
}
