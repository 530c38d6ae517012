//! Draws the ids of entries. The shortest prefix that names an entry is highlighted.

use crate::cli::output::{Cell, RowBuffer, Styles, display_width, to_visible};
use crate::session::Session;
use crate::session::entry::EntryIx;
use crate::session::prefixes::UniquePrefixes;
use owo_colors::Style;
use pisess_json::text::Text;

/// Draws the ids of a session.
pub struct IdPainter<'a> {
    session: &'a Session,
    /// The shortest prefixes; `None` without colour, because nothing can be highlighted then.
    prefixes: Option<UniquePrefixes<'a>>,
    styles: Styles,
}

impl<'a> IdPainter<'a> {
    /// Prepares to draw the ids of a session. Prefixes are computed only if there is colour.
    pub fn new(session: &'a Session, styles: Styles) -> IdPainter<'a> {
        let prefixes = if styles.has_colour() {
            Some(UniquePrefixes::new(session))
        } else {
            None
        };
        IdPainter {
            session,
            prefixes,
            styles,
        }
    }

    /// Draws the id of an entry into a row, padded to `width` columns and followed by two spaces.
    /// The previous part of the row must be finished.
    pub fn draw_id(&self, rows: &mut RowBuffer, ix: EntryIx, width: usize) {
        let id = self.session.id(ix);
        let Some(prefixes) = &self.prefixes else {
            // Without colours, the id and the spaces are a single part.
            rows.push_text(&id);
            rows.pad_part(width);
            rows.push_str("  ");
            return rows.finish_part(Style::new());
        };

        let mut padding = width;
        for (text, style) in split_id(&id, prefixes, &self.styles) {
            rows.push_part(&text, style);
            padding = padding.saturating_sub(display_width(&text));
        }
        rows.push_part(&" ".repeat(padding + 2), Style::new());
    }

    /// Returns the id of an entry as a cell.
    pub fn id_cell(&self, ix: EntryIx) -> Cell {
        self.text_cell(&self.session.id(ix))
    }

    /// Returns an id as a cell. Its prefix is highlighted if the session has an entry with this id.
    pub fn text_cell(&self, id: &Text) -> Cell {
        let prefixes = match &self.prefixes {
            Some(prefixes) if self.session.find_entry(id).is_some() => prefixes,
            _ => return vec![(to_visible(&id.to_string_lossy()), self.styles.dim)],
        };
        split_id(id, prefixes, &self.styles)
    }
}

/// Returns an id in two parts: the shortest prefix that names its entry, and the rest.
pub fn split_id(id: &Text, prefixes: &UniquePrefixes, styles: &Styles) -> Cell {
    let shown = id.to_string_lossy();
    let (prefix, rest) = shown.split_at(prefixes.prefix_len(id));
    vec![
        (to_visible(prefix), styles.id_prefix),
        (to_visible(rest), styles.dim),
    ]
}
