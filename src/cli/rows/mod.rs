//! Rows of entries, which several commands print.

pub mod batches;

pub mod entry;
pub mod ids;
pub mod path_links;
