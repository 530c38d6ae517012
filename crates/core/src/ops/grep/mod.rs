//! Full-text search: finds the entries that match a pattern, and their first match.
//!
//! ```text
//!   chunk ── Prefilter ──> line that may match ── fields ──> decoded text ── Pattern ──> Match
//! ```
//!
//! The prefilter searches raw bytes and rejects almost every line. Lines that pass are parsed, and
//! their texts are decoded one by one, up to the first that matches.

mod active_path;
mod around;
mod call_events;
mod entry_search;
mod ids;
mod line_counter;
mod pattern;
mod query;
mod search;
mod tool;
mod trail;

pub use around::{EntriesAround, NearbyEntry, entries_around_matches};
pub use entry_search::{read_searched_text, read_whole_text};
pub use ids::SessionIds;
pub use pattern::{Pattern, PatternOptions};
pub use query::{
    EntryFilter, Match, MatchDetails, MatchTexts, Query, TextOptions, ToolOptions, searchable_roles,
};
pub use search::{ResumePoint, SearchOutcome, search_file};
pub use tool::{ToolUse, includes_tool, is_replaced_text, read_tool_names};
pub use trail::{EntryContinuation, Trail};

#[cfg(test)]
mod tests;
