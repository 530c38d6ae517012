//! The output of `stats`: sums by key, or a row for each billed entry.

mod rows;

mod table;

mod entries;
mod groups;

pub use entries::EntryRows;
pub use groups::Groups;
pub use rows::By;
