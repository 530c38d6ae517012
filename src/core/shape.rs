//! The fields of entries and messages: a language for the tables of what an agent requires.

/// The kind of value that a field takes.
#[derive(Clone, Copy, Debug)]
pub enum Want {
    /// Text.
    Text,
    /// A text, or `null`.
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
    /// The tokens of a turn and what they cost.
    Usage,
    /// How a turn ended.
    StopReason,
    /// `null`, or an object with new content.
    Replacement,
}

/// A field, what it takes, and whether it must be there.
pub type FieldShape = (&'static str, Want, bool);

/// A type or role, and its fields.
pub type Shape = (&'static str, &'static [FieldShape]);

/// Returns a field that must be there.
pub const fn need(name: &'static str, want: Want) -> FieldShape {
    (name, want, true)
}

/// Returns a field that may be missing.
pub const fn may(name: &'static str, want: Want) -> FieldShape {
    (name, want, false)
}

/// What one agent writes and the other does not.
#[derive(Debug)]
pub struct Shapes {
    /// Entries, by type.
    pub entries: &'static [Shape],
    /// Messages, by role.
    pub messages: &'static [Shape],
    /// Messages that occur in a context and in no entry, by role.
    pub context_only: &'static [Shape],
    /// Content blocks, by type.
    pub blocks: &'static [Shape],
}
