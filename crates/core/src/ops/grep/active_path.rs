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
    /// Completes a match with what only the loaded session shows, as far as the query requests it:
    /// the entry that a label entry labels, the place of the match in the tree, and its id.
    ///
    /// Returns `None` if the match is not wanted: see [`Self::add_place_if_wanted`].
    pub(super) fn complete_if_wanted(
        &mut self,
        source: &dyn ReadAt,
        query: &Query,
        preamble: &Preamble,
        found: Match,
    ) -> Result<Option<Match>, LoadError> {
        let Some(mut wanted) = self.add_place_if_wanted(source, query, preamble.format, found)?
        else {
            return Ok(None);
        };
        // The text of a label is only a name. With whole texts, the labelled entry is shown, too.
        if query.details.texts.whole
            && let Some(target) = &wanted.label_target
        {
            let session = &self.load_path(source)?.session;
            let labelled = read_labelled(session, source, query, preamble, target)?;
            wanted.labelled = labelled.map(Box::new);
        }
        Ok(Some(wanted))
    }

    /// Sets whether the entry of a match is on the path to the leaf (the active path, which the
    /// conversation continues), and the id of an entry of version 1, which has no stored id. The
    /// session is loaded only if the query requests one of these.
    ///
    /// Returns `None` if the match is not wanted: its entry is not on the path to the leaf, and
    /// only this path is searched; or it has no entry, as a match in the title, but needs one.
    fn add_place_if_wanted(
        &mut self,
        source: &dyn ReadAt,
        query: &Query,
        format: Format,
        mut found: Match,
    ) -> Result<Option<Match>, LoadError> {
        let only_active = query.entries.only_active;
        // The id of a match is printed with its snippet.
        let lacks_id = format == Format::V1 && query.details.snippets.is_some();
        let needs_entry = only_active || lacks_id;
        if !needs_entry && !query.details.reports_active {
            return Ok(Some(found));
        }

        let path = self.load_path(source)?;
        let Some(ix) = path.session.entry_on_line(found.line) else {
            return Ok(if needs_entry { None } else { Some(found) });
        };
        let is_active = path.is_active[ix.index()];
        if only_active && !is_active {
            return Ok(None);
        }
        found.is_active = Some(is_active);
        if needs_entry {
            // Loading gives an entry of version 1 the id that migration would give it.
            found.id = path.session.id(ix).into_owned();
        }
        Ok(Some(found))
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
    let Some(any_text) = query_for_any_text(query) else {
        return Ok(None);
    };
    let entry = session.entry(ix);
    let found = search_one_line(source, &any_text, preamble, entry.span.range())?;
    Ok(found.map(|found| Match {
        line: entry.line,
        ..found
    }))
}

/// Returns a query that any entry with text matches, and that requests the details that `query`
/// requests of a match. The place in the tree is not one of them: only the match itself has it.
fn query_for_any_text(query: &Query) -> Option<Query> {
    // The empty pattern matches every text. It is valid, so this is never `None`.
    let empty_pattern = Pattern::new(&[String::new()], PatternOptions::default()).ok()?;
    Some(Query {
        pattern: empty_pattern,
        inverted: false,
        entries: EntryFilter::default(),
        scope: query.scope,
        details: MatchDetails {
            reports_active: false,
            ..query.details.clone()
        },
        is_only_reader: query.is_only_reader,
    })
}
