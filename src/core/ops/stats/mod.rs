//! What sessions took: tokens, cost, messages, tools, time, files.
//!
//! ```text
//!   lines ── harvest ──> Harvest (a Counted for each message or billed entry) ── Seen, Totals ──> groups
//! ```
//!
//! Harvesting one file needs nothing of the others, so many are read at once; the harvests are then
//! added up in the order of the files. A fork copies entries: of entries with the same id and
//! timestamp in several files, the first counts ([`Seen`]).
//!
//! Usage is counted where a file holds it, as pi's `/session` does: on assistant messages and tool
//! results, on compactions and branch summaries, on entries of their own. Nothing is estimated: a
//! billed entry without a cost is counted as unpriced.

mod harvest;
mod scan;
mod totals;

pub use harvest::{Call, Counted, Harvest, HarvestOptions, Role, harvest};
pub use scan::Usage;
pub use totals::{Seen, Totals};

#[cfg(test)]
mod tests;
