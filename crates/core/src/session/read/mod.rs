//! Reads the lines of a session: in order through one buffer, at random by offset and length, or
//! only the beginning and the end.

pub mod line_chunks;
pub mod whole_lines;

pub mod record;

pub mod batches;

pub mod entry_reader;

pub(crate) mod header;
