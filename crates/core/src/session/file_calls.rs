//! Calls of the tools that read or change a file.

use super::entry::{EntryIx, Slice};
use pisess_json::Raw;
use pisess_json::text::Text;

/// A tool of the agents that takes the path of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileTool {
    /// What it does.
    pub action: FileAction,
    /// Whether the call has the path in `file_path`, as models write that were trained with other
    /// tools, or the tool is one of Claude Code, in an imported session. The agents do not list its
    /// file.
    pub is_unlisted: bool,
}

/// What a tool does with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAction {
    /// `read`; of Claude Code, `Read`.
    Read,
    /// `write`, `Write`.
    Write,
    /// `edit`, `Edit`, `MultiEdit`, `NotebookEdit`.
    Edit,
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

/// Returns the tool and the path of a call with this `name` and these `arguments`; `None` if it is
/// not a call of a [`FileTool`], or names no file. The path is in `path`, `file_path` or
/// `notebook_path`.
pub fn called_file<'a>(
    name: Option<Raw>,
    arguments: Option<Raw<'a>>,
) -> Option<(FileTool, Text<'a>)> {
    let name = name?.text()?;
    let action = match name.as_bytes() {
        b"read" | b"Read" => FileAction::Read,
        b"write" | b"Write" => FileAction::Write,
        b"edit" | b"Edit" | b"MultiEdit" | b"NotebookEdit" => FileAction::Edit,
        _ => return None,
    };
    let arguments = arguments?;

    // The tools of the agents have names in lower case, those of Claude Code do not.
    let mut is_unlisted = !name.as_bytes()[0].is_ascii_lowercase();
    let mut path = nonempty_text(arguments, "path");
    if path.is_none() {
        is_unlisted = true;
        path = nonempty_text(arguments, "file_path")
            .or_else(|| nonempty_text(arguments, "notebook_path"));
    }
    let tool = FileTool {
        action,
        is_unlisted,
    };
    Some((tool, path?))
}

/// A text that an edit replaces.
pub struct TextReplacement {
    /// The text before the edit.
    pub old: String,
    /// The text after it.
    pub new: String,
}

/// Returns the replacements of an edit: a list of them, or one in the arguments themselves.
pub fn read_replacements(arguments: Raw) -> Vec<TextReplacement> {
    if let Some(edits) = arguments.get("edits")
        && edits.is_array()
    {
        return edits.items().filter_map(read_replacement).collect();
    }
    Vec::from_iter(read_replacement(arguments))
}

/// Reads a replacement, by the names that agents use for its texts. `None` if it does not have
/// both.
fn read_replacement(object: Raw) -> Option<TextReplacement> {
    let old_keys = ["oldText", "old_text", "old_string"];
    let old = old_keys.iter().find_map(|key| object.get(key))?;
    let new_keys = ["newText", "new_text", "new_string"];
    let new = new_keys.iter().find_map(|key| object.get(key))?;
    Some(TextReplacement {
        old: old.text()?.into_string_lossy(),
        new: new.text()?.into_string_lossy(),
    })
}

fn nonempty_text<'a>(arguments: Raw<'a>, key: &str) -> Option<Text<'a>> {
    arguments.get_text(key).filter(|text| !text.is_empty())
}
