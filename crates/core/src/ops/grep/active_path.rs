//! Limits a search to the path to the leaf.

use super::pattern::{Pattern, PatternOptions};
use super::query::{EntryFilter, Match, MatchDetails, Query};
use super::search::search_one_line;
use crate::load::{LoadError, LoadOptions, load};
use crate::session::read::header::Preamble;
use crate::session::tree::active_mask;
use crate::session::{Format, Session};
use pisess_json::text::Text;
use pisess_store::ReadAt;

/// The path to the leaf of the searched session. The session is loaded when the first match needs
/// it, because most searched files have no match.
#[derive(Default)]
pub(super) struct ActivePath {
    loaded: Option<LoadedPath>,
}

/// The loaded session, and the entries on its active path.
struct LoadedPath {
    session: Session,
    /// By entry: whether it is on the path to the leaf.
    is_active: Vec<bool>,
}

impl ActivePath {
    /// Completes a match with what only the loaded session shows: whether its entry is on the path
    /// to the leaf (the active path, which the conversation continues); in a session of version 1,
    /// the id of the entry; and the entry that a label entry labels. The session is loaded only if
    /// one of these is needed.
    ///
    /// Returns `None` if the match is not wanted: only the path to the leaf is searched, and the
    /// entry is not on that path; or the match has no entry, but needs one.
    pub(super) fn complete_if_wanted(
        &mut self,
        source: &dyn ReadAt,
        query: &Query,
        preamble: &Preamble,
        mut found: Match,
    ) -> Result<Option<Match>, LoadError> {
        if query.details.texts.whole
            && let Some(target) = &found.label_target
        {
            let session = &self.load_path(source)?.session;
            found.labelled = read_labelled(session, source, query, preamble, target)?.map(Box::new);
        }

        let only_active = query.entries.only_active;
        // Entries of version 1 have no stored ids: they get the ids that migration gives them.
        let lacks_id = query.details.snippets.is_some() && preamble.format == Format::V1;
        let needs_entry = only_active || lacks_id;
        if !needs_entry && !query.details.reports_active {
            return Ok(Some(found));
        }

        let path = self.load_path(source)?;
        let Some(ix) = path.session.entry_on_line(found.line) else {
            // A match without an entry, such as one in the title, is on no path and gets no id.
            return Ok(if needs_entry { None } else { Some(found) });
        };
        let is_active = path.is_active[ix.index()];
        if only_active && !is_active {
            return Ok(None);
        }
        let mut completed = found;
        completed.is_active = Some(is_active);
        if needs_entry {
            completed.id = path.session.id(ix).into_owned();
        }
        Ok(Some(completed))
    }

    /// Returns the session and its path, which are loaded at the first call.
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

/// Returns the entry with the id `target`, which a label entry labels, in the form of a match with
/// the details that `query` requests. `None` if there is no such entry, or if it has no text.
fn read_labelled(
    session: &Session,
    source: &dyn ReadAt,
    query: &Query,
    preamble: &Preamble,
    target: &Text,
) -> Result<Option<Match>, LoadError> {
    let Some(ix) = session.find_entry(target) else {
        return Ok(None);
    };
    let every_text = Pattern::new(&[String::new()], PatternOptions::default());
    let Ok(pattern) = every_text else {
        return Ok(None);
    };
    let any_text = Query {
        pattern,
        inverted: false,
        entries: EntryFilter::default(),
        scope: query.scope,
        details: MatchDetails {
            reports_active: false,
            ..query.details.clone()
        },
        is_only_reader: query.is_only_reader,
    };
    let entry = session.entry(ix);
    let found = search_one_line(source, &any_text, preamble, entry.span.range())?;
    Ok(found.map(|found| Match {
        line: entry.line,
        ..found
    }))
}
