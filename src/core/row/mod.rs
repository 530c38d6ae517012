//! The text of an entry's row in the agents' trees.
//!
//! Rows are built while the file is loaded, from positions in the line; at most [`ROW_UNITS`] of a text are
//! decoded.

pub mod pi;

pub mod omp;
pub mod omp_call;
mod omp_note;

pub mod readable;

pub mod search;
mod word;

use super::text::Text;

/// The maximum number of UTF-16 units of content in a row, as in both agents.
pub const ROW_UNITS: usize = 200;

/// The options that rows depend on.
#[derive(Clone, Debug, Default)]
pub struct RowOptions {
    /// The user's home directory, written `~` in tool calls.
    pub home: Option<Text<'static>>,
    /// The form of the rows.
    pub form: Form,
    /// Whether the text for searching is needed as well.
    pub searchable: bool,
}

/// The form of rows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// As in the agent's tree.
    #[default]
    Agent,
    /// Readable: see [`readable`].
    Readable,
}

/// Does what the agents' `normalize` does: newlines and tabs become spaces, and both ends are trimmed.
pub fn normalize(text: &Text) -> Text<'static> {
    let mut bytes = text.trim().into_bytes();
    for byte in &mut bytes {
        // An unconditional write, so that the compiler can vectorize the loop.
        *byte = if matches!(byte, b'\n' | b'\t') { b' ' } else { *byte };
    }
    // Trimming after the replacement would give the same result.
    Text::from_wtf8(bytes)
}
