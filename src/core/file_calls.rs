//! Calls of the tools that read or change a file.

use super::entry::{EntryIx, Slice};
use super::json::Raw;
use super::text::Text;

/// A tool of the agents that takes the path of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileTool {
    /// `read`.
    Read,
    /// `write`.
    Write,
    /// `edit`.
    Edit,
}

impl FileTool {
    fn named(name: &Text) -> Option<Self> {
        match name.as_bytes() {
            b"read" => Some(FileTool::Read),
            b"write" => Some(FileTool::Write),
            b"edit" => Some(FileTool::Edit),
            _ => None,
        }
    }
}

/// A call that names a file, recorded if file calls were requested.
#[derive(Clone, Copy, Debug)]
pub struct FileCall {
    /// The entry with the call: an assistant message, or a tool result with nested calls.
    pub entry: EntryIx,
    /// The tool.
    pub tool: FileTool,
    /// The path, as the call gives it.
    pub path: Slice,
}

/// Returns the tool and the path of a call with this `name` and these `arguments`, if it names a file.
pub fn file_of<'a>(name: Option<Raw>, arguments: Option<Raw<'a>>) -> Option<(FileTool, Text<'a>)> {
    let tool = FileTool::named(&name?.text()?)?;
    let path = arguments?.get_text("path").filter(|path| !path.is_empty())?;
    Some((tool, path))
}
