//! Rows of entries, as several commands print them.

pub mod batches;

pub mod entry;
pub mod ids;
pub mod path_links;
