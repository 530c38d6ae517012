//! Statistics of sessions: tokens, cost, messages, tools, time, files.
//!
//! ```text
//!   lines ── collect ──> EntryStats (a Counted for each message or billed entry) ── copies, Totals ──> groups
//! ```
//!
//! Files are harvested in parallel, independently of each other; the harvests are then added up in the order
//! of the files. A fork copies entries: of entries with the same id and timestamp in several files, only the
//! first counts ([`copies`]).

mod collector;
mod entry_stats;
mod interned;
mod prices;
mod totals;

pub use collector::collect;
pub use entry_stats::{Call, Counted, EntryStats, StatsOptions, TouchedFile};
pub use interned::Name;
pub use prices::Prices;
pub use totals::{Totals, copies};

#[cfg(test)]
mod tests;
