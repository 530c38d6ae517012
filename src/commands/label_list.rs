//! The labels in effect, as rows.

use super::entry_rows::row_options;
use super::input::OpenSession;
use crate::core::json::write::Object;
use crate::core::labels::Labels;
use crate::core::ops::label::labelled_at_leaf;
use crate::core::ops::tree::{Drawing, rows};
use crate::core::session::{LabelChange, Session};
use crate::core::text::Text;
use crate::core::time::parse_js_date;
use crate::ui::{Clock, Exit, Failure, Ui, fitted, visible};
use comfy_table::{ContentArrangement, Table, TableStyle};
use std::path::Path;

/// What to list.
pub struct Listing<'a> {
    /// The session.
    pub session: &'a Path,
    /// Only the label of this entry.
    pub target: Option<&'a str>,
    /// As JSON.
    pub json: bool,
}

/// The labels that are listed, with what they label.
struct Labelled<'a> {
    session: &'a Session,
    drawing: Drawing<'a>,
    changes: Vec<LabelChange>,
}

/// Lists labels in effect: all, or that of one entry.
pub fn list(listing: &Listing, ui: &mut Ui) -> Result<Exit, Failure> {
    let open = OpenSession::open(listing.session, row_options(ui, false, false), ui)?;
    let session = &open.session;
    let meant = |reference| match reference {
        "@" => Ok(labelled_at_leaf(session)),
        other => open.resolve(other),
    };
    let only = listing.target.map(meant).transpose()?;
    let labels = Labels::new(session);
    let of = |change: &LabelChange| session.find(&session.text(change.target));
    let is_meant = |change: &&LabelChange| only.is_none_or(|only| only.is_some() && only == of(change));
    let changes = labels.changes().filter(is_meant).cloned().collect();
    let labelled = Labelled { session, drawing: rows(session, session.leaf), changes };
    match listing.json {
        true => labelled.changes.iter().try_for_each(|change| ui.print_json(&labelled.json(change)))?,
        false => labelled.print(ui)?,
    }
    Ok(Exit::Done)
}

impl Labelled<'_> {
    /// Returns the row of the entry that is labelled, which need not be in the file.
    fn text(&self, change: &LabelChange) -> Text<'_> {
        let target = self.session.find(&self.session.text(change.target));
        target.map_or_else(Text::default, |target| self.drawing.text(target))
    }

    fn json(&self, change: &LabelChange) -> Vec<u8> {
        Object::new()
            .text("id", &self.session.text(change.target))
            .text("label", &self.session.text(change.name))
            .text("timestamp", &self.session.text(change.timestamp))
            .text("text", &self.text(change))
            .finish()
    }

    fn print(&self, ui: &mut Ui) -> Result<(), Failure> {
        let clock = Clock::new(ui);
        let mut table = Table::new();
        table.load_style(TableStyle::new()).set_content_arrangement(ContentArrangement::Disabled);
        let width = ui.width();
        for change in &self.changes {
            let time = parse_js_date(self.session.text(change.timestamp).as_bytes());
            let room = width.map_or(usize::MAX, |width| width.saturating_sub(48).max(16));
            table.add_row([
                visible(&self.session.text(change.name).to_string_lossy()),
                visible(&self.session.text(change.target).to_string_lossy()),
                clock.text(time.unwrap_or(i64::MIN)),
                fitted(&visible(&self.text(change).to_string_lossy()), room, "…"),
            ]);
        }
        if self.changes.is_empty() {
            return Ok(());
        }
        for line in table.lines() {
            ui.print(&format!("{}\n", fitted(line.trim(), width.unwrap_or(usize::MAX), "…")))?;
        }
        Ok(())
    }
}
