//! The integration tests: one binary, with a module for each command and for each topic common to all. Clock, ids,
//! width and environment are fixed in [`sandbox`].

mod sandbox;

mod append;
mod archive;
mod atif;
mod branches;
mod check;
mod compact;
mod completions;
mod context;
mod convert;
mod diff;
mod edit;
mod export;
mod fork;
mod label;
mod list;
mod merge;
mod migrate;
mod path;
mod pick;
mod pop;
mod prune;
mod prune_branch;
mod prune_compacted;
mod redact;
mod relocate;
mod show;
mod summaries;
mod summarize;
mod switch;
mod tree;
mod undo;

#[cfg(unix)]
mod external;
mod hook;
mod kinds;
mod names;
mod references;
mod renderer;
mod sessions;

mod agreement;
mod errors;
mod every;
mod fuzz;
mod grep;
mod hazards;
mod hostile;
mod import;
mod others;
mod pipes;
mod planted;
mod properties;
#[cfg(target_os = "linux")]
mod reports;
mod terminal;
mod writing;

mod complete;
#[cfg(target_os = "linux")]
mod documents;
#[cfg(target_os = "linux")]
mod follow;
mod generated;
#[cfg(target_os = "linux")]
mod pty;
#[cfg(target_os = "linux")]
mod signals;
mod tidy;

mod stats;
mod store;
