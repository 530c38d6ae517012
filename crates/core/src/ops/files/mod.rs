//! What the tool calls of a session did to files: who read and wrote which, and the content that
//! they left.
//!
//! ```text
//! entries ── list_operations ──> FileOperation ── read_change ──> FileChange ──> FileContent
//! ```
//!
//! Only the tools that read, write and edit files are followed. What a command changed is seen only
//! where a later edit no longer fits, or a later read shows it.

mod content;
mod difference;
mod fuzzy_lines;
mod numbered_diff;
mod operations;
mod patch;
mod text_edits;
mod tool_output;

pub use content::{FileContent, Known};
pub use difference::{FileComparison, FileDifference};
pub use operations::{
    FileChange, FileOperation, ReadPart, RecordedEdit, RecordedPaths, TextEdits, list_operations,
    read_change,
};
