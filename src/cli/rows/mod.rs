//! Rows of entries, sessions, labels and differences, as several commands print them.

pub mod batches;

pub mod entry;
pub mod hits;
pub mod hunk;

pub mod list;
pub mod tree;
