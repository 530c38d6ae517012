//! The integration tests: one binary, a module per command, and one for each thing that concerns
//! them all. Clock, ids, width and environment are fixed in [`sandbox`].

mod sandbox;

mod branches;
mod check;
mod compact;
mod context;
mod fork;
mod label;
mod migrate;
mod path;
mod pop;
mod show;
mod summarize;
mod switch;
mod tree;

mod hook;
mod references;

mod errors;
mod fuzz;
mod hazards;
mod hostile;
mod pipes;
mod properties;
mod terminal;
mod writing;

#[cfg(target_os = "linux")]
mod documents;
mod generated;
mod tidy;

mod store;
