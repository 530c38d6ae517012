//! pisess: reads, searches, rewinds and shares the conversations that pi and oh-my-pi save.
//!
//! The files are JSONL: a header line, then entries that form a tree by `id` and `parentId`. The
//! library loads a session ([`load`]) from anything that can be read by position, and returns plans
//! for changes ([`ops`]); [`run`] is the whole command line as a function of its inputs.
//!
//! ```
//! use pisess::load::{LoadOptions, load};
//!
//! let file = concat!(
//!     r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/"}"#, "\n",
//!     r#"{"type":"message","id":"aaaa1111","parentId":null,"message":{"role":"user","content":"hi"}}"#, "\n",
//! );
//! let session = load(&file.as_bytes().to_vec(), &LoadOptions::default())?;
//! assert_eq!(session.id(session.leaf.unwrap()), "aaaa1111");
//! # Ok::<(), pisess::load::LoadError>(())
//! ```

pub use pisess_core::{agents, format, load, ops, redact, session, summary};
pub use pisess_export as export;
pub use pisess_import as import;
pub use pisess_json as json;
pub use pisess_store as store;

pub mod world;

mod cli;
mod commands;

pub use cli::guide;
pub use commands::{build_cli, command_groups, command_guides, run};
