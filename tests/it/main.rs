//! The integration tests: one binary, with a module for each command and for each topic common to
//! all. Clock, ids, width and environment are fixed in [`sandbox`].

mod agreement;
mod append;
mod archive;
mod atif;
mod blame;
mod blobs;
mod branches;
mod check;
#[cfg(target_os = "linux")]
mod choose;
mod compact;
mod complete;
mod completions;
mod context;
mod convert;
mod diff;
#[cfg(target_os = "linux")]
mod documents;
mod edit;
mod empty;
mod errors;
mod every;
mod export;
#[cfg(unix)]
mod external;
#[cfg(target_os = "linux")]
mod faults;
#[cfg(target_os = "linux")]
mod follow;
mod fork;
mod fuzz;
mod generated;
mod grep;
mod hazards;
mod help;
mod hook;
mod hostile;
mod import;
mod in_place;
mod join;
mod kinds;
mod label;
mod list;
mod merge;
mod migrate;
mod names;
mod opencode;
mod others;
mod path;
mod pick;
mod pipes;
mod planted;
mod pop;
mod properties;
mod prune;
mod prune_branch;
mod prune_compacted;
mod prune_many;
mod prune_secrets;
#[cfg(target_os = "linux")]
mod pty;
mod ranges;
mod rates;
mod redact;
mod references;
mod relocate;
mod renderer;
#[cfg(target_os = "linux")]
mod reports;
mod resume;
mod sandbox;
mod sessions;
mod show;
#[cfg(target_os = "linux")]
mod signals;
mod stats;
mod store;
mod summaries;
mod summarize;
mod switch;
mod terminal;
mod tidy;
mod tree;
mod undo;
mod writing;
