//! What oh-my-pi computes from a path: the context of its model, compactions and summaries, and the
//! text for its editor.
//!
//! The reference is the running agent (18.2.3) and, for native snapshots, the source of 18.3.4.
//! Modules name the functions that they reproduce.

pub mod context;
pub mod defects;
mod settings;

mod repair;

mod archive;
mod data_url;
pub mod native;
mod notes;

pub mod llm;
pub mod transcript;

mod notice;

mod sizes;
pub mod tokens;

pub mod branch;
pub mod compaction;

pub mod files;
mod path_tree;
pub mod prompt;

pub mod message;
mod template;
pub mod title;

pub mod row;
pub mod row_call;
mod row_note;

pub mod agent;
