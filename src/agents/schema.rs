//! Types for tables of the fields that an agent expects in entries and messages.

/// The kind of value that a field takes.
#[derive(Clone, Copy, Debug)]
pub enum Want {
    /// Text.
    Text,
    /// Text, or `null`.
    TextOrNull,
    /// A number.
    Number,
    /// `true` or `false`.
    Bool,
    /// An object.
    Object,
    /// An array.
    Array,
    /// Text, or an array of blocks.
    Content,
    /// An array of blocks.
    Blocks,
    /// The tokens and cost of a turn.
    Usage,
    /// How a turn ended.
    StopReason,
    /// `null`, or an object with new content.
    Replacement,
}

/// A field, the kind of its value, and whether it is required.
pub type FieldShape = (&'static str, Want, bool);

/// A type or role, and its fields.
pub type Shape = (&'static str, &'static [FieldShape]);

/// Returns a required field.
pub const fn need(name: &'static str, want: Want) -> FieldShape {
    (name, want, true)
}

/// Returns an optional field.
pub const fn may(name: &'static str, want: Want) -> FieldShape {
    (name, want, false)
}

/// The tables of entries, messages and blocks that only one agent writes.
#[derive(Debug)]
pub struct Shapes {
    /// Entries, by type.
    pub entries: &'static [Shape],
    /// Messages, by role.
    pub messages: &'static [Shape],
    /// Messages that occur in a context but not in entries, by role.
    pub context_only: &'static [Shape],
    /// Content blocks, by type.
    pub blocks: &'static [Shape],
}
