//! Lists the labels in effect.

use super::entry_rows::{row_options, tone_style};
use super::input::OpenSession;
use crate::core::entry::{Entry, EntryIx};
use crate::core::json::write::Object;
use crate::core::labels::Labels;
use crate::core::load::Options;
use crate::core::ops::label::labelled_at_leaf;
use crate::core::ops::tree::{Drawing, rows};
use crate::core::reference::Position;
use crate::core::row::Form;
use crate::core::session::{LabelChange, Session};
use crate::core::text::Text;
use crate::core::time::parse_js_date;
use crate::ui::{Cell, Clock, Column, Exit, Failure, Styles, Table, Ui, visible};
use owo_colors::Style;
use std::path::Path;

/// The parameters of the list.
pub struct LabelQuery<'a> {
    /// The session.
    pub session: &'a Path,
    /// The entry to which the list is limited.
    pub target: Option<&'a str>,
    /// Whether to print JSON.
    pub json: bool,
}

/// The labels to list, with the entries they label.
struct Labelled<'a> {
    session: &'a Session,
    drawing: Drawing<'a>,
    changes: Vec<LabelChange>,
}

/// Lists the labels in effect: all of them, or that of one entry.
pub fn list(listing: &LabelQuery, ui: &mut Ui) -> Result<Exit, Failure> {
    let form = if listing.json { Form::Agent } else { Form::Readable };
    let mut open = OpenSession::open(listing.session, Options::default(), ui)?;
    let meant = |reference| match reference {
        "@" => Ok(labelled_at_leaf(&open.session)),
        other => open.resolve(other),
    };
    let only = listing.target.map(meant).transpose()?;
    // Only the labelled rows are shown.
    let mut targets: Vec<_> = meant_changes(&open.session, only)
        .iter()
        .filter_map(|change| target(&open.session, change))
        .collect();
    targets.sort_unstable();
    targets.dedup();
    open.add_rows(&targets, row_options(ui, form))?;
    let session = &open.session;
    let changes = meant_changes(session, only);
    let labelled = Labelled { session, drawing: rows(session, session.leaf), changes };
    match listing.json {
        true => labelled.changes.iter().try_for_each(|change| ui.print_json(&labelled.json(change)))?,
        false => labelled.print(ui)?,
    }
    Ok(Exit::Done)
}

/// Returns the labels in effect; if an entry is given, only its label.
fn meant_changes(session: &Session, only: Option<Position>) -> Vec<LabelChange> {
    let is_meant =
        |change: &&LabelChange| only.is_none_or(|only| only.is_some() && only == target(session, change));
    Labels::new(session).changes().filter(is_meant).copied().collect()
}

/// Returns the labelled entry; `None` if it is not in the file.
fn target(session: &Session, change: &LabelChange) -> Position {
    session.find(&session.text(change.target))
}

impl Labelled<'_> {
    fn json(&self, change: &LabelChange) -> Vec<u8> {
        let text =
            target(self.session, change).map_or_else(Text::default, |target| self.drawing.text(target));
        Object::new()
            .text("id", &self.session.text(change.target))
            .text("label", &self.session.text(change.name))
            .text("timestamp", &self.session.text(change.timestamp))
            .text("text", &text)
            .finish()
    }

    fn print(&self, ui: &mut Ui) -> Result<(), Failure> {
        let (clock, styles) = (Clock::new(ui), ui.styles);
        let shown = |slice| visible(&self.session.text(slice).to_string_lossy());
        let [id, time] = [Column::text(""); 2];
        let mut table = Table::new([Column::text("").cut(), id, time, Column::text("").cut()]);
        for change in &self.changes {
            let time = parse_js_date(self.session.text(change.timestamp).as_bytes());
            table.row(vec![
                vec![(shown(change.name), styles.label)],
                vec![(shown(change.target), styles.dim)],
                vec![(clock.text(time.unwrap_or(Entry::NO_TIME)), styles.dim)],
                target(self.session, change).map(|target| self.said(target, &styles)).unwrap_or_default(),
            ]);
        }
        table.print(ui)
    }

    /// Returns the text of an entry.
    fn said(&self, ix: EntryIx, styles: &Styles) -> Cell {
        let row = self.drawing.row(ix);
        let colon = if row.body.is_empty() { "" } else { ": " };
        let role = visible(&format!("{}{colon}", row.role));
        vec![(role, tone_style(row.tone, styles)), (visible(&row.body.to_string_lossy()), Style::new())]
    }
}
