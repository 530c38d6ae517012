//! The output of `stats`: sums by key, or a row for each billed entry.

mod groups;

mod table;

mod entries;

pub use entries::EntryRows;
pub use groups::{By, Groups};
