//! `pisess label`: sets, clears and lists labels.

use crate::cli::guide::{Example, Guide};
use crate::cli::navigation::is_change_reported;
use crate::cli::open::{OpenSession, parse_label};
use crate::cli::options::WriteArgs;
use crate::cli::output::{Clock, Column, Exit, Failure, Table, Ui, to_visible};
use crate::cli::rows::entry::{describe_entry_alone, row_cell, row_options_for};
use crate::cli::rows::ids::IdPainter;
use crate::load::LoadOptions;
use crate::ops::label::{label, move_label};
use crate::ops::tree::{TreeView, view_without_layout};
use crate::session::Session;
use crate::session::collected::LabelChange;
use crate::session::entry::{Entry, EntryIx};
use crate::session::labels::Labels;
use crate::session::reference::{CURRENT_REFERENCE, Position, is_text_reference};
use pisess_json::text::Text;
use pisess_json::time::parse_js_date;
use pisess_json::write::Object;
use std::path::PathBuf;

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Label the last entry of the conversation",
        "pisess label session.jsonl @ done",
    ),
    Example::new(
        "Label the last user message",
        "pisess label session.jsonl '@^{user}' asked",
    ),
    Example::new(
        "Label the newest entry with these words",
        "pisess label session.jsonl ':/negative' cause",
    ),
    Example::new(
        "Move a label to another entry",
        "pisess label --move session.jsonl '@^{user}' green",
    ),
    Example::new("List the labels in effect", "pisess label session.jsonl"),
    Example::new(
        "Clear a label",
        "pisess label --clear session.jsonl label:done",
    ),
]);

/// Set, clear or list labels.
///
/// With NAME, sets the label of REF; other commands then accept the label as a reference. Without
/// NAME, lists all labels in effect, or with REF only the label of REF. If REF has the label
/// already, nothing changes.
///
/// As in both agents, a label is stored as a new entry under the leaf, and becomes the leaf. But
/// `@` still names the entry before it, so a second label at `@` replaces the first. An entry has
/// at most one label: the last one set in the file, on any branch. If another entry has the label,
/// NAME is refused unless --move is given. A label in the form of a reference (such as `@`, `root`,
/// `:12`, or `done^`) is refused.
///
/// Prints the id of the label; reports on stderr which entry it labels. To name the session itself,
/// use `pisess append --name`.
#[derive(Debug, clap::Args)]
#[command(override_usage = concat!(
    "pisess label [OPTIONS] <SESSION> <REF> <NAME>\n",
    "       pisess label [OPTIONS] --clear <SESSION> <REF>\n",
    "       pisess label [OPTIONS] <SESSION> [REF]",
))]
pub struct Args {
    /// The session: a path, a name such as `last`, or - for standard input
    pub session: PathBuf,
    /// Entry to label
    #[arg(value_name = "REF")]
    pub target: Option<String>,
    /// Label to set
    #[arg(requires = "target", conflicts_with = "clear")]
    pub name: Option<String>,
    /// Clear the label of REF
    #[arg(long, requires = "target")]
    pub clear: bool,
    /// Move the label from the entry that has it
    #[arg(long = "move", requires = "name")]
    pub moves: bool,
    /// Accepted, because `git tag` has it: labels are listed in any case without NAME.
    #[arg(short, long, hide = true, conflicts_with_all = ["name", "clear"])]
    pub list: bool,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Sets, moves or clears the label of an entry. Without a name and `--clear`, lists labels.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    if args.name.is_none() && !args.clear {
        return list_labels(args, ui);
    }
    let name = args.name.as_deref().map(parse_label).transpose()?;
    change_label(args, name.as_ref(), ui)
}

/// The entry whose label is changed.
struct LabelledEntry {
    id: Text<'static>,
    /// The label that it had before.
    old_label: Option<Text<'static>>,
}

/// Sets or moves the label `name`. Without a name, clears the label of the entry.
fn change_label(args: &Args, name: Option<&Text>, ui: &mut Ui) -> Result<Exit, Failure> {
    let mut open = OpenSession::open_to_change(&args.session, LoadOptions::default(), ui)?;
    let reference = args.target.as_deref().unwrap_or(CURRENT_REFERENCE);
    // Found again if the session grows before the commit.
    let mut labelled = None;
    let exit = open.apply_change(&args.write, ui, |locked_open, id_source| {
        let session = &locked_open.session;
        let target = locked_open.find_entry(reference)?;
        locked_open.check_referable(target, "have a label")?;
        labelled = Some(LabelledEntry {
            id: session.id(target).into_owned(),
            old_label: Labels::new(session).get(target).map(Text::into_owned),
        });
        let change = match name {
            Some(name) if args.moves => move_label(session, target, name, id_source),
            _ => label(session, target, name, id_source),
        };
        let change = change.map_err(|refusal| locked_open.refusal_failure(refusal))?;
        Ok(change.into())
    })?;

    let Some(LabelledEntry { id, old_label }) = labelled else {
        return Ok(exit);
    };
    // Several entries may contain a text, so the one that was chosen is reported in any case.
    if is_text_reference(reference) || is_change_reported(&args.write, &open) {
        report_labelled(&mut open, &id, ui);
    }
    // An entry has at most one label, so a new one replaces it.
    if let (Some(old), Some(new)) = (old_label, name)
        && old != *new
    {
        report_replaced(&old, args.write.change.dry_run, ui);
    }
    Ok(exit)
}

/// Reports which entry got a label, or lost it. The label is written or planned, so a failure to
/// describe the entry is not one of the command.
fn report_labelled(open: &mut OpenSession, id: &Text, ui: &mut Ui) {
    let Some(ix) = open.session.find_entry(id) else {
        return;
    };
    if let Ok(entry) = describe_entry_alone(open, ix, ui) {
        ui.print_status(&format!("the entry is {entry}"));
    }
}

/// Reports the label that the new one replaces.
fn report_replaced(old: &Text, is_dry_run: bool, ui: &mut Ui) {
    let verb = if is_dry_run {
        "would replace"
    } else {
        "replaced"
    };
    let old = to_visible(&old.to_string_lossy());
    ui.print_status(&format!("{verb} the label {old}"));
}

/// Lists the labels in effect, as JSON or as rows: all labels, or the label of one entry. If that
/// entry is not found, the argument may have been meant as a new label: then the hint says how to
/// set it.
fn list_labels(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let mut open = OpenSession::open_to_change(&args.session, LoadOptions::default(), ui)?;
    let filter = match args.target.as_deref() {
        Some(reference) => {
            let position = open.resolve_position(reference).map_err(|failure| {
                failure.with_hint(format!(
                    "to set a label, give REF, too: `@ {reference}` labels the last entry"
                ))
            })?;
            LabelFilter::At(position)
        }
        None => LabelFilter::All,
    };
    let json = args.write.change.json;
    let labelled_entries = list_labelled_entries(&open.session, filter);
    open.add_rows(&labelled_entries, row_options_for(json, ui))?;

    let session = &open.session;
    let changes = labels_in_effect(session, filter);
    let drawing = view_without_layout(session, session.leaf);
    if json {
        for change in &changes {
            ui.print_json(&label_json(&drawing, change))?;
        }
    } else {
        print_labels(&drawing, &changes, ui)?;
    }
    if changes.is_empty() {
        let what = match filter {
            LabelFilter::All => "no entry has a label",
            LabelFilter::At(_) => "the entry has no label",
        };
        ui.warn(&format!(
            "{what} (hint: `pisess label SESSION REF NAME` sets one)"
        ));
    }
    Ok(Exit::Done)
}

/// Returns the entries whose labels are listed, in file order and each once: only their rows are
/// loaded.
fn list_labelled_entries(session: &Session, filter: LabelFilter) -> Vec<EntryIx> {
    let mut entries = Vec::new();
    for change in labels_in_effect(session, filter) {
        entries.extend(labelled_entry(session, &change));
    }
    entries.sort_unstable();
    entries.dedup();
    entries
}

/// The labels to list.
#[derive(Clone, Copy)]
enum LabelFilter {
    All,
    /// The label of the entry at this position. The root has none.
    At(Position),
}

/// Returns the selected labels, each as the change that set it.
fn labels_in_effect(session: &Session, filter: LabelFilter) -> Vec<LabelChange> {
    let mut changes = Vec::new();
    for change in Labels::new(session).changes() {
        let is_selected = match filter {
            LabelFilter::All => true,
            LabelFilter::At(Position::Root) => false,
            LabelFilter::At(Position::Entry(ix)) => labelled_entry(session, change) == Some(ix),
        };
        if is_selected {
            changes.push(*change);
        }
    }
    changes
}

/// Returns the entry that a change labels; `None` if the entry is not in the file.
fn labelled_entry(session: &Session, change: &LabelChange) -> Option<EntryIx> {
    session.find_entry(&session.text(change.target))
}

/// Returns a label as JSON, with the text of the labelled entry. The text is empty if the entry is
/// not in the file.
fn label_json(drawing: &TreeView, change: &LabelChange) -> Vec<u8> {
    let session = drawing.session;
    let text = labelled_entry(session, change)
        .map_or_else(Text::default, |target| drawing.row_text(target));
    Object::new()
        .text("id", &session.text(change.target))
        .text("label", &session.text(change.name))
        .text("timestamp", &session.text(change.timestamp))
        .text("text", &text)
        .finish()
}

/// Prints a row for each label: its name, the id of the entry, the time at which it was set, and
/// the entry as in `tree`. Name and entry are truncated to the width of the terminal.
fn print_labels(drawing: &TreeView, changes: &[LabelChange], ui: &mut Ui) -> Result<(), Failure> {
    let session = drawing.session;
    let clock = Clock::new(ui);
    let styles = ui.styles;
    let ids = IdPainter::new(session, styles);
    let visible = |slice| to_visible(&session.text(slice).to_string_lossy());
    let mut table = Table::new([
        Column::text("").allow_shrink(),
        Column::text(""),
        Column::text(""),
        Column::text("").allow_shrink(),
    ]);
    for change in changes {
        let time_ms = parse_js_date(session.text(change.timestamp).as_bytes());
        let time = clock.format_time(time_ms.unwrap_or(Entry::NO_TIME));
        let target_row = match labelled_entry(session, change) {
            Some(target) => row_cell(&drawing.row(target), &styles),
            None => Vec::new(),
        };
        table.add_row(vec![
            vec![(visible(change.name), styles.label)],
            ids.text_cell(&session.text(change.target)),
            vec![(time, styles.dim)],
            target_row,
        ]);
    }
    table.print(ui)
}
