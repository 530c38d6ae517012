//! Limits a search to the path to the leaf.

use super::query::{Match, Query};
use crate::load::{LoadError, LoadOptions, load};
use crate::session::tree::active_mask;
use crate::session::{Format, Session};
use pisess_store::ReadAt;

/// The session of a search for matches on the path to the leaf, loaded when the first match needs
/// it.
#[derive(Default)]
pub(super) struct ActivePath {
    loaded: Option<LoadedPath>,
}

struct LoadedPath {
    session: Session,
    /// By entry: whether it is on the path to the leaf.
    is_active: Vec<bool>,
}

impl ActivePath {
    /// Returns a match to report; `None` if only the path to the leaf is searched, and the entry of
    /// the match is not on that path.
    ///
    /// Loads the session for this when a match first needs it, and then gives each match the id
    /// that its entry has there, and whether it is on that path.
    pub(super) fn keep_on_path(
        &mut self,
        source: &dyn ReadAt,
        query: &Query,
        format: Format,
        found: Match,
    ) -> Result<Option<Match>, LoadError> {
        // Entries of version 1 have the ids that migration gives them.
        let needs_id = query.details.snippets.is_some() && format == Format::V1;
        if !query.entries.only_active && !query.details.reports_active && !needs_id {
            return Ok(Some(found));
        }

        let path = self.load_path(source)?;
        let Some(ix) = path.session.entry_on_line(found.line) else {
            // Only entries of the tree are on a path, or get an id.
            let needs_entry = query.entries.only_active || needs_id;
            return Ok(if needs_entry { None } else { Some(found) });
        };
        let is_active = path.is_active[ix.index()];
        if query.entries.only_active && !is_active {
            return Ok(None);
        }
        let mut kept = found;
        kept.is_active = Some(is_active);
        if query.entries.only_active || needs_id {
            kept.id = path.session.id(ix).into_owned();
        }
        Ok(Some(kept))
    }

    /// Returns the loaded session. It is loaded once: few searches need it.
    fn load_path(&mut self, source: &dyn ReadAt) -> Result<&LoadedPath, LoadError> {
        match &mut self.loaded {
            Some(loaded) => Ok(loaded),
            empty => {
                let session = load(source, &LoadOptions::default())?;
                let is_active = active_mask(&session, session.leaf);
                Ok(empty.insert(LoadedPath { session, is_active }))
            }
        }
    }
}
