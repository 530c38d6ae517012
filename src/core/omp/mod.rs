//! oh-my-pi's answers: what its model sees of a path, how it cuts and summarises, what its tree says.
//!
//! The reference is the running agent (18.2.3). Where a module follows one of its functions, it names
//! it.

pub mod context;
mod settings;
pub mod shapes;

mod repair;

mod archive;
mod data_url;
mod notes;

pub mod llm;
pub mod transcript;

mod notice;

pub mod tokens;

pub mod branch;
pub mod compaction;

pub mod files;
mod path_tree;
pub mod prompt;

pub mod message;
mod template;
pub mod title;
