//! Statistics of sessions: tokens, cost, messages, tools, time, files.
//!
//! ```text
//!   Session ── collect_stats ──> SessionStats ── EarlierEntries, Totals ──> groups
//!                               a CountedEntry for each message or billed entry
//! ```
//!
//! Sessions are loaded and counted in parallel, independently of each other, and then added up in
//! the order of their files. A fork copies entries, so of several entries with the same id and
//! timestamp in different files, only the first is counted ([`EarlierEntries`]).

mod collector;
mod session_stats;
mod totals;

pub use collector::{CountedAgents, collect_stats, count_loaded};
pub use session_stats::{CountedEntry, SessionStats};
pub use totals::{EarlierEntries, Totals, changed_file};

#[cfg(test)]
mod tests;
