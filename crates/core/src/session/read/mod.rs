//! Reads the lines of a session: all in order, single ones by their location, or only those at the
//! beginning and the end.

pub mod line_chunks;
pub mod whole_lines;

pub mod record;

pub mod batches;

pub mod entry_reader;

pub(crate) mod header;
