//! Calls of the tools that read or change a file.

use super::collected::renumber;
use super::entry::{EntryIx, Slice};
use super::file_patch::FilePatch;
use pisess_json::Raw;
use pisess_json::text::Text;

/// A tool of the agents that takes the path of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FileTool {
    /// What it does.
    pub action: FileAction,
    /// Whether the agents leave the file out of the lists that they write with a compaction. They
    /// do so in two cases. Either the call has the path in another argument than `path`, such as
    /// `file_path`, as models do that were trained with other tools. Or the tool is one of another
    /// agent, in an imported session.
    pub is_unlisted: bool,
}

/// What a tool does with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileAction {
    /// `read`; of Claude Code, `Read`; of Gemini CLI, `read_file`.
    Read,
    /// `write`, `Write`, `write_file`.
    Write,
    /// `edit`, `Edit`, `MultiEdit`, `NotebookEdit`, `replace`; of Codex, `apply_patch` as a tool or
    /// as the command of a shell.
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
renumber!(FileCall { entry, path } keeps { tool });

/// A file that a tool call names.
#[derive(Clone, Debug, PartialEq)]
pub struct CalledFile<'a> {
    /// The tool that was called.
    pub tool: FileTool,
    /// The path, as the call gives it.
    pub path: Text<'a>,
}

/// Returns the file that a tool call reads or changes, given the tool's `name` and the `arguments`.
/// `None` if the tool is not a [`FileTool`], or the call names no file.
pub fn called_file<'a>(name: Option<Raw>, arguments: Option<Raw<'a>>) -> Option<CalledFile<'a>> {
    let name = name?.text()?;
    let action = match name.as_bytes() {
        b"read" | b"Read" | b"read_file" => FileAction::Read,
        b"write" | b"Write" | b"write_file" => FileAction::Write,
        b"edit" | b"Edit" | b"MultiEdit" | b"NotebookEdit" | b"replace" => FileAction::Edit,
        _ => return None,
    };
    let arguments = arguments?;

    // The tools of pi and oh-my-pi have names in lower case, and the argument `path`. Those of
    // Claude Code and of other agents differ in one or both, and are missing in the lists of files
    // that pi and oh-my-pi write.
    let has_name_of_agents = name.as_bytes()[0].is_ascii_lowercase();
    let path_of_agents = nonempty_text(arguments, "path");
    let tool = FileTool {
        action,
        is_unlisted: !has_name_of_agents || path_of_agents.is_none(),
    };
    let path = path_of_agents
        .or_else(|| nonempty_text(arguments, "file_path"))
        .or_else(|| nonempty_text(arguments, "filePath"))
        .or_else(|| nonempty_text(arguments, "notebook_path"));
    Some(CalledFile { tool, path: path? })
}

/// Returns all files that a call names, with the new names of files that it moves:
///
/// - the file of [`called_file`];
/// - the files in the headings of a patch ([`FilePatch`]);
/// - in the `edits` of oh-my-pi, the new names of files.
pub fn called_files<'a>(name: Option<Raw>, arguments: Option<Raw<'a>>) -> Vec<CalledFile<'a>> {
    let mut found = Vec::from_iter(called_file(name, arguments));
    let arguments = arguments.unwrap_or(Raw::NULL);
    let tool = FileTool {
        action: FileAction::Edit,
        is_unlisted: true,
    };
    if let Some(patch) = FilePatch::read(name, arguments) {
        for path in patch.paths() {
            let path = Text::from(path);
            found.push(CalledFile { tool, path });
        }
    }

    let may_rename = name.is_some_and(|name| name.is("edit"));
    if !may_rename {
        return found;
    }
    for path in new_names(arguments) {
        // A call counts once for each file.
        let is_known = found.iter().any(|file| file.path == path);
        if !is_known {
            found.push(CalledFile { tool, path });
        }
    }
    found
}

/// Returns the new names that the `edits` of oh-my-pi give to files.
fn new_names(arguments: Raw<'_>) -> Vec<Text<'_>> {
    let mut names = Vec::new();
    if let Some(edits) = replacement_list(arguments) {
        for edit in edits.items() {
            names.extend(nonempty_text(edit, "rename"));
        }
    }
    names
}

/// The argument of an edit that has a list of replacements.
const REPLACEMENTS_KEY: &str = "edits";
/// The arguments in which agents put the text that an edit replaces.
const OLD_TEXT_KEYS: [&str; 4] = ["oldText", "old_text", "old_string", "oldString"];
/// The arguments in which agents put the new text.
const NEW_TEXT_KEYS: [&str; 4] = ["newText", "new_text", "new_string", "newString"];

/// Whether the argument with this key is a text that an edit replaces.
pub fn is_old_text_key(key: &str) -> bool {
    OLD_TEXT_KEYS.contains(&key)
}

/// A text that an edit replaces.
#[derive(Debug, Default)]
pub struct TextReplacement {
    /// The text before the edit.
    pub old: String,
    /// The text after it.
    pub new: String,
    /// Whether every occurrence is replaced, as an edit of Claude Code or OpenCode can request.
    pub replaces_all: bool,
}

/// Returns the replacements of an edit: the ones in its list or, without a list, the one in the
/// arguments themselves. Replacements that cannot be read are left out.
pub fn read_replacements(arguments: Raw) -> Vec<TextReplacement> {
    if let Some(edits) = replacement_list(arguments) {
        return edits.items().filter_map(read_replacement).collect();
    }
    Vec::from_iter(read_replacement(arguments))
}

/// Returns all replacements of an edit, in the forms that pi accepts: `edits` is a list, one
/// object, or a string with the JSON of either. Another replacement may be in the arguments
/// themselves.
///
/// `None` if there is no replacement, or one in `edits` cannot be read.
pub fn read_all_replacements(arguments: Raw) -> Option<Vec<TextReplacement>> {
    let stored = arguments.get(REPLACEMENTS_KEY).unwrap_or(Raw::NULL);
    // Some models write the list as a string.
    let json_in_string = stored.text().map(Text::into_string_lossy);
    let edits = match &json_in_string {
        Some(json) => Raw::parse(json.as_bytes()).ok()?,
        None => stored,
    };

    let mut replacements = Vec::new();
    if edits.is_object() {
        replacements.push(read_replacement(edits)?);
    }
    if edits.is_array() {
        for edit in edits.items() {
            replacements.push(read_replacement(edit)?);
        }
    }
    replacements.extend(read_replacement(arguments));
    if replacements.is_empty() {
        None
    } else {
        Some(replacements)
    }
}

/// Returns the replacements of an edit, as [`read_replacements`] does, but only if all of them can
/// be read. `None` if one cannot, or if the call is not an edit: if it has neither a list of
/// replacements nor the two texts of one.
pub fn read_complete_edit(arguments: Raw) -> Option<Vec<TextReplacement>> {
    let Some(list) = replacement_list(arguments) else {
        let only_replacement = read_replacement(arguments)?;
        return Some(vec![only_replacement]);
    };
    let mut replacements = Vec::new();
    for item in list.items() {
        replacements.push(read_replacement(item)?);
    }
    Some(replacements)
}

/// Whether an argument of an edit is one of those that [`read_replacements`] reads.
pub fn is_replacement_key(key: &str) -> bool {
    key == REPLACEMENTS_KEY || OLD_TEXT_KEYS.contains(&key) || NEW_TEXT_KEYS.contains(&key)
}

/// Returns the list of replacements of an edit; `None` if there is no list.
fn replacement_list(arguments: Raw<'_>) -> Option<Raw<'_>> {
    arguments
        .get(REPLACEMENTS_KEY)
        .filter(|edits| edits.is_array())
}

/// Reads a replacement; `None` if it does not have both texts.
fn read_replacement(object: Raw) -> Option<TextReplacement> {
    let old = OLD_TEXT_KEYS.iter().find_map(|key| object.get(key))?;
    let new = NEW_TEXT_KEYS.iter().find_map(|key| object.get(key))?;
    let is_set = |key: &str| object.get(key).and_then(Raw::bool) == Some(true);
    Some(TextReplacement {
        old: old.text()?.into_string_lossy(),
        new: new.text()?.into_string_lossy(),
        replaces_all: is_set("replace_all") || is_set("replaceAll"),
    })
}

fn nonempty_text<'a>(arguments: Raw<'a>, key: &str) -> Option<Text<'a>> {
    arguments.get_text(key).filter(|text| !text.is_empty())
}
