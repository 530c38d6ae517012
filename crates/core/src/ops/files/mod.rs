//! Determines which calls of a session read and wrote which files, and the content that they left.
//!
//! ```text
//! entries ── list_operations ──> FileOperation ── read_change ──> FileChange ──> FileContent
//! ```
//!
//! Only the tools that read, write and edit files are tracked. A change by a shell command is
//! noticed only if a later edit no longer fits, or if a later read shows it.

mod content;
mod difference;
mod fuzzy_lines;
mod known_parts;
mod numbered_diff;
mod operations;
mod patch;
mod text_edits;
mod tool_output;

pub use content::{FileContent, Known};
pub use difference::{FileComparison, FileDifference};
pub use operations::{
    FileChange, FileOperation, ReadPart, RecordedEdit, RecordedPaths, TextEdits, find_command,
    list_operations, read_change,
};
