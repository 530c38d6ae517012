//! Statistics of sessions: tokens, cost, messages, tools, time, files.
//!
//! ```text
//!   lines ── harvest ──> Harvest (a Counted for each message or billed entry) ── Seen, Totals ──> groups
//! ```
//!
//! Files are harvested independently, several at once; the harvests are then added up in the order of the
//! files. A fork copies entries: of entries with the same id and timestamp in several files, only the first
//! counts ([`Seen`]).
//!
//! Usage is counted wherever a file stores it, as in pi's `/session`: on assistant messages and tool results,
//! on compactions and branch summaries, on separate entries. Nothing is estimated: a billed entry without a
//! cost is counted as unpriced.

mod harvest;
mod harvester;
mod interned;
mod scan;
mod totals;

pub use harvest::{Call, Counted, Harvest, HarvestOptions, Role};
pub use harvester::harvest;
pub use scan::Usage;
pub use totals::{Seen, Totals};

#[cfg(test)]
mod tests;
