//! The output of `stats`: sums by key, or a row for each billed entry.

mod groups;

mod table;

pub mod entries;

pub use groups::{By, Groups};
