//! A notation for tables of the fields that an agent requires in entries, messages and blocks.

use crate::session::dialect::Dialect;

/// The type of value that a field takes.
#[derive(Clone, Copy, Debug)]
pub enum FieldType {
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

/// Whether a field is required.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// The agent reads the field without checking that it exists.
    Always,
    /// The agent writes the field into every new entry, but also accepts entries without it. A
    /// missing field counts as `false`, or is only compared with other values.
    WhenNew,
    /// The field may be missing.
    Never,
}

/// A field of an entry, a message or a block.
#[derive(Clone, Copy, Debug)]
pub struct FieldSchema {
    /// The name.
    pub name: &'static str,
    /// The type of its value.
    pub field_type: FieldType,
    /// Whether the field is required.
    pub requirement: Requirement,
}

/// Returns a required field.
pub const fn required(name: &'static str, field_type: FieldType) -> FieldSchema {
    FieldSchema {
        name,
        field_type,
        requirement: Requirement::Always,
    }
}

/// Returns a field that is required only of new entries.
pub const fn required_when_new(name: &'static str, field_type: FieldType) -> FieldSchema {
    FieldSchema {
        name,
        field_type,
        requirement: Requirement::WhenNew,
    }
}

/// Returns an optional field.
pub const fn optional(name: &'static str, field_type: FieldType) -> FieldSchema {
    FieldSchema {
        name,
        field_type,
        requirement: Requirement::Never,
    }
}

/// The agents that write an entry, message or block, and the fields that each of them requires.
/// Optional fields are listed only if a value of the wrong type would break the agent.
#[derive(Clone, Copy, Debug)]
pub struct Fields {
    pi: Option<&'static [FieldSchema]>,
    omp: Option<&'static [FieldSchema]>,
}

impl Fields {
    /// Neither agent writes it.
    pub const NEITHER: Fields = Fields {
        pi: None,
        omp: None,
    };

    /// Both agents write it, with the same fields.
    pub const fn both(fields: &'static [FieldSchema]) -> Fields {
        Fields {
            pi: Some(fields),
            omp: Some(fields),
        }
    }

    /// Both agents write it, with different fields.
    pub const fn per_agent(pi: &'static [FieldSchema], omp: &'static [FieldSchema]) -> Fields {
        Fields {
            pi: Some(pi),
            omp: Some(omp),
        }
    }

    /// Only pi writes it.
    pub const fn pi(fields: &'static [FieldSchema]) -> Fields {
        Fields {
            pi: Some(fields),
            omp: None,
        }
    }

    /// Only oh-my-pi writes it.
    pub const fn omp(fields: &'static [FieldSchema]) -> Fields {
        Fields {
            pi: None,
            omp: Some(fields),
        }
    }

    /// Returns the fields for an agent; `None` if the agent does not write such entries.
    pub fn for_agent(&self, dialect: Dialect) -> Option<&'static [FieldSchema]> {
        match dialect {
            Dialect::Pi => self.pi,
            Dialect::OhMyPi => self.omp,
        }
    }

    /// Returns the agent that writes such entries; `None` if both or neither do.
    pub fn only_writer(&self) -> Option<Dialect> {
        match (self.pi, self.omp) {
            (Some(_), None) => Some(Dialect::Pi),
            (None, Some(_)) => Some(Dialect::OhMyPi),
            _ => None,
        }
    }
}
