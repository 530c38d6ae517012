//! Full-text search: which entries hold a pattern, and where.
//!
//! ```text
//!   stretch ── Sieve ──> line that may match ── fields ──> decoded text ── Pattern ──> Match
//! ```
//!
//! Almost every line ends at the sieve, which looks at raw bytes. A line that passes is parsed, and
//! the texts of its entry are decoded one by one until the first that matches.

mod pattern;
mod search;
mod sieve;

pub use pattern::{BadPattern, Pattern, PatternOptions};
pub use search::{Match, Query, Searched, TITLE, search};
pub use sieve::Sieve;

#[cfg(test)]
mod tests;
