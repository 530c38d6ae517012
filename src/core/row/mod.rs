//! What the row of an entry says: its text in the agents' trees.
//!
//! Rows are made during the one pass over the file, from places in the line; at most
//! [`ROW_UNITS`] of a text are decoded.

pub mod pi;

pub mod omp;
pub mod omp_call;
mod omp_note;

pub mod readable;

pub mod search;
mod word;

use super::text::Text;

/// UTF-16 units of a content that a row shows, as in both agents.
pub const ROW_UNITS: usize = 200;

/// What rows depend on beside the entry.
#[derive(Clone, Debug, Default)]
pub struct RowOptions {
    /// The person's home directory, written `~` in tool calls.
    pub home: Option<Text<'static>>,
    /// How the rows read.
    pub form: Form,
    /// Whether the text that a search looks through is wanted as well.
    pub searchable: bool,
}

/// How rows read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// As in the agent's tree.
    #[default]
    Agent,
    /// For people: see [`readable`].
    Readable,
}

/// The agents' `normalize`: newlines and tabs become spaces, and both ends are trimmed.
pub fn normalize(text: &Text) -> Text<'static> {
    let mut bytes = text.trim().into_bytes();
    for byte in &mut bytes {
        if matches!(byte, b'\n' | b'\t') {
            *byte = b' ';
        }
    }
    // Newlines and tabs at the ends were trimmed as such: the order makes no difference.
    Text::from_wtf8(bytes)
}
