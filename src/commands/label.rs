//! `pisess label`: sets, clears and lists labels.

use crate::cli::guide::{Example, Guide};
use crate::cli::open::{OpenSession, label_name};
use crate::cli::options::WriteArgs;
use crate::cli::output::{Clock, Column, Exit, Failure, Table, Ui, visible};
use crate::cli::rows::entry::{row_options_of, said};
use crate::load::Options;
use crate::ops::label::{label, move_label};
use crate::ops::tree::{Drawing, rows};
use crate::session::Session;
use crate::session::collected::LabelChange;
use crate::session::entry::Entry;
use crate::session::labels::Labels;
use crate::session::reference::{LEAF, Position};
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
        "Move a label to another entry",
        "pisess label --move session.jsonl '@^{user}' green",
    ),
    Example::new("List the labels in effect", "pisess label session.jsonl"),
    Example::new(
        "Clear a label",
        "pisess label --clear session.jsonl label:done",
    ),
])
.of_conversation();

/// Set, clear or list labels.
///
/// With NAME, labels REF; other commands then accept the label as a reference. Without NAME, lists
/// the labels in effect: all of them, or that of REF. If REF has the label already, nothing
/// changes.
///
/// Because `@` is the last entry of the conversation, labelling it twice labels the same entry. A
/// label that is already on another entry is refused unless --move is given. A label in the form of
/// a reference (such as `@`, `root`, `:12`, or `done^`) is refused.
///
/// To name the session itself, use `pisess append --name`.
///
/// As in both agents, a label is stored as a new entry under the leaf and becomes the leaf. An
/// entry has at most one label: the last one set for it in the file, on whichever branch.
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

pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    if args.name.is_none() && !args.clear {
        return list(args, ui);
    }
    let name = args.name.as_deref().map(label_name).transpose()?;
    let open = OpenSession::open(&args.session, Options::default(), ui)?;
    open.change(&args.write, ui, |now, fresh| {
        let target = now.entry(args.target.as_deref().unwrap_or(LEAF))?;
        now.refer(target, "have a label")?;
        let change = match &name {
            Some(name) if args.moves => move_label(&now.session, target, name, fresh),
            name => label(&now.session, target, name.as_ref(), fresh),
        };
        Ok(change.map_err(|refusal| now.refused(refusal))?.into())
    })
}

/// Lists the labels in effect: all of them, or that of one entry.
fn list(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let mut open = OpenSession::open(&args.session, Options::default(), ui)?;
    let only = match args.target.as_deref() {
        Some(reference) => Some(open.resolve_entry(reference).map_err(|failure| {
            failure.hint(format!(
                "to set a label, give REF, too: `@ {reference}` labels the last entry"
            ))
        })?),
        None => None,
    };

    // Only the labelled rows are shown.
    let mut targets: Vec<_> = meant_changes(&open.session, only)
        .iter()
        .filter_map(|change| labelled(&open.session, change))
        .collect();
    targets.sort_unstable();
    targets.dedup();
    open.add_rows(&targets, row_options_of(args.write.change.json, ui))?;

    let session = &open.session;
    let changes = meant_changes(session, only);
    let drawing = rows(session, session.leaf);
    if args.write.change.json {
        for change in &changes {
            ui.print_json(&json(&drawing, change))?;
        }
    } else {
        print(&drawing, &changes, ui)?;
    }
    Ok(Exit::Done)
}

/// Returns the labels in effect; if an entry is given, only its label.
fn meant_changes(session: &Session, only: Option<Position>) -> Vec<LabelChange> {
    let is_meant = |change: &&LabelChange| {
        only.is_none_or(|only| only.is_some() && only == labelled(session, change))
    };
    Labels::new(session)
        .changes()
        .filter(is_meant)
        .copied()
        .collect()
}

/// Returns the labelled entry; `None` if it is not in the file.
fn labelled(session: &Session, change: &LabelChange) -> Position {
    session.find(&session.text(change.target))
}

fn json(drawing: &Drawing, change: &LabelChange) -> Vec<u8> {
    let session = drawing.session;
    let text = labelled(session, change).map_or_else(Text::default, |target| drawing.text(target));
    Object::new()
        .text("id", &session.text(change.target))
        .text("label", &session.text(change.name))
        .text("timestamp", &session.text(change.timestamp))
        .text("text", &text)
        .finish()
}

fn print(drawing: &Drawing, changes: &[LabelChange], ui: &mut Ui) -> Result<(), Failure> {
    let session = drawing.session;
    let clock = Clock::new(ui);
    let styles = ui.styles;
    let shown = |slice| visible(&session.text(slice).to_string_lossy());
    let whole = Column::text("");
    let cut = Column::text("").cut();
    let mut table = Table::new([cut, whole, whole, cut]);
    for change in changes {
        let time_ms = parse_js_date(session.text(change.timestamp).as_bytes());
        let time = clock.text(time_ms.unwrap_or(Entry::NO_TIME));
        let target_row = match labelled(session, change) {
            Some(target) => said(&drawing.row(target), &styles),
            None => Vec::new(),
        };
        table.row(vec![
            vec![(shown(change.name), styles.label)],
            vec![(shown(change.target), styles.dim)],
            vec![(time, styles.dim)],
            target_row,
        ]);
    }
    table.print(ui)
}
