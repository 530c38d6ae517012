//! Computes from a path what pi 1.6.0 computes, without running pi.
//!
//! - [`context`] is its `buildSessionContext`: the messages for the model, and the settings in
//!   effect. [`edits`] change what it contains.
//! - [`llm`] converts messages for a model; [`transcript`] writes messages as text.
//! - [`tokens`] estimates sizes; [`system`] is the system prompt in effect.
//! - [`compaction`] and [`branch`] choose the input of a summary, [`prompt`] requests the summary,
//!   [`files`] completes it.
//!
//! pi throws on some values, such as a message that is `null` or a tool call without arguments.
//! Here, such a value counts as missing, and the rest of the result is unaffected.

pub mod context;
pub mod defects;
pub mod edits;

pub mod llm;
pub mod transcript;

pub mod system;
pub mod tokens;

pub mod branch;
pub mod compaction;

pub mod files;
pub mod prompt;

pub mod row;

pub mod agent;

#[cfg(test)]
pub(crate) mod testing;
