//! pi's answers: what pi 1.5 would make of a path, computed without pi.
//!
//! - [`context`] is its `buildSessionContext`: the messages for the model, and the settings in force.
//! - [`llm`] turns a message into one that a model knows; [`transcript`] writes messages as text.
//! - [`tokens`] estimates sizes; [`system`] is the system prompt in force.
//! - [`compaction`] and [`branch`] choose what a summary is made from, [`file_ops`] finds the files in
//!   it, [`prompt`] asks for the summary, [`files`] ends it.
//!
//! pi trusts its files and throws on some shapes (a message that is `null`, a tool call without
//! arguments); here such a value counts as missing, and the rest of the answer stands.

pub mod context;
pub mod shapes;

pub mod llm;
pub mod transcript;

pub mod system;
pub mod tips;
pub mod tokens;

pub mod branch;
pub mod compaction;
pub mod file_ops;

pub mod files;
pub mod prompt;

#[cfg(test)]
pub(in crate::core) mod testing;

use super::bodies::Bodies;
use super::entry::EntryIx;
use super::json::Raw;
use std::io;

/// Calls `see` with the object on an entry's line.
fn with_line<T>(bodies: &dyn Bodies, ix: EntryIx, see: impl FnOnce(Raw) -> T) -> io::Result<T> {
    let line = bodies.line(ix)?;
    Ok(see(Raw::checked(line.trim_ascii())))
}
