//! Full-text search: finds the entries that match a pattern, and where.
//!
//! ```text
//!   chunk ── Prefilter ──> line that may match ── fields ──> decoded text ── Pattern ──> Match
//! ```
//!
//! The prefilter searches raw bytes and rejects almost every line. Lines that pass are parsed, and
//! their texts are decoded one by one, up to the first that matches.

mod around;
mod ids;
mod pattern;
mod search;
mod tool;
mod trail;

pub use around::{NearbyEntry, entries_around_matches};
pub use ids::SessionIds;
pub use pattern::{Pattern, PatternOptions};
pub use search::{
    Match, MatchTexts, Query, ResumePoint, SearchOutcome, TextOptions, ToolOptions, search_file,
    searchable_roles,
};
pub use tool::ToolUse;
pub use trail::{EntryContinuation, Trail};

#[cfg(test)]
mod tests;
