//! Rows for entries, as several commands list them.

use super::input::OpenSession;
use crate::core::bodies::Bodies;
use crate::core::entry::{EntryIx, Kind, Role};
use crate::core::json::write::write_valid;
use crate::core::load::Options;
use crate::core::ops::tree::Drawing;
use crate::core::row::RowOptions;
use crate::core::session::Session;
use crate::core::text::Text;
use crate::ui::{
    Clock, Failure, Glyphs, Rows, Styles, Ui, columns, draw_stretches, pens, push_visible, visible_lines,
};
use owo_colors::Style;
use std::fmt::Write as _;
use std::ops::Range;

/// The most columns that ids take: a UUID fits. A longer one pushes its own row aside.
pub const ID_COLUMNS: usize = 36;

/// Returns how sessions are loaded whose rows are printed.
pub fn row_options(ui: &Ui, searchable: bool, timestamps: bool) -> Options {
    let home = ui.home().map(Text::from);
    Options { rows: Some(RowOptions { home, searchable }), timestamps, ..Options::default() }
}

/// Returns the style of an entry's row.
pub fn row_style(session: &Session, ix: EntryIx, styles: &Styles) -> Style {
    let entry = session.entry(ix);
    match (entry.kind, entry.role) {
        (_, Role::User) => styles.user,
        (_, Role::Assistant) => styles.assistant,
        (Kind::Compaction | Kind::BranchSummary, _) => styles.summary,
        (Kind::CustomMessage, _) => Style::new(),
        _ => styles.dim,
    }
}

/// Prints entries as version 3 stores them, one per line.
pub fn print_stored(open: &OpenSession, entries: &[EntryIx], ui: &mut Ui) -> Result<(), Failure> {
    let (bodies, is_utf8, is_terminal) = (open.bodies(), open.session.is_utf8(), ui.stdout_is_terminal());
    for &ix in entries {
        let mut written = Ok(());
        let mut write = |line: &[u8]| {
            let (line, out) = (line.trim_ascii(), ui.stdout());
            written = match is_terminal {
                true => out.write_all(visible_lines(&String::from_utf8_lossy(line)).as_bytes()),
                false => write_valid(out, line, is_utf8),
            }
            .and_then(|()| out.write_all(b"\n"));
        };
        bodies.with_line(ix, &mut write).map_err(|error| open.input.unreadable(error))?;
        written.map_err(Failure::output)?;
    }
    Ok(())
}

/// Prints a row for each entry: its line, its id, its time, its label, and its text.
pub fn print_rows(drawing: &Drawing, entries: &[EntryIx], ui: &mut Ui) -> Result<(), Failure> {
    let (session, styles) = (drawing.session, ui.styles);
    let line_width = session.entries.last().map_or(1, |last| last.line.0.to_string().len());
    let id_width =
        entries.iter().map(|&ix| session.entry(ix).id.len as usize).max().unwrap_or(0).min(ID_COLUMNS);
    let draw = |rows: &mut Rows, stretch: Range<usize>| {
        for &ix in &entries[stretch] {
            let entry = session.entry(ix);
            rows.begin();
            // Writing to a string cannot fail.
            let _ = write!(rows.part, "{:>line_width$}  ", entry.line.0);
            push_visible(&mut rows.part, &session.id(ix).to_string_lossy());
            let pad = (line_width + 2 + id_width).saturating_sub(columns(&rows.part)) + 2;
            rows.part.extend(std::iter::repeat_n(' ', pad));
            if let Some(clock) = &rows.clock {
                clock.push(&mut rows.part, entry.time_ms);
            }
            rows.part.push_str("  ");
            rows.put_part(styles.dim);
            if let Some(label) = drawing.label(ix) {
                rows.part.push('[');
                push_visible(&mut rows.part, &label.to_string_lossy());
                rows.part.push_str("] ");
                rows.put_part(styles.label);
            }
            push_visible(&mut rows.part, &drawing.text(ix).to_string_lossy());
            rows.put_part(row_style(session, ix, &styles));
            rows.end();
        }
    };
    let pen = Rows::new(ui.width(), Glyphs::UNICODE.ellipsis, Some(Clock::new(ui)));
    let mut pens = pens(pen, entries.len(), ui.processors());
    draw_stretches(&mut pens, entries.len(), &draw, ui.stdout()).map_err(Failure::output)
}
