//! Lists the successful tool calls that read, write or edit files.

use super::numbered_diff::read_replacements;
use super::tool_output::ToolOutput;
use crate::agents::Agent;
use crate::agents::readable::Folders;
use crate::ops::grep::includes_tool;
use crate::session::Session;
use crate::session::content::{find_members, member_is};
use crate::session::entry::{EntryIx, Flags, Role};
use crate::session::file_calls::{
    FileAction, FileTool, TextReplacement, called_files, read_all_replacements,
};
use crate::session::file_patch::{FilePatch, heading_path};
use crate::session::paths::{absolute_path, collapse_dots};
use crate::session::read::entry_reader::EntryReader;
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use std::io;

/// A successful tool call that read, wrote or edited a file. A call with several files is one
/// operation per file.
#[derive(Clone, Debug)]
pub struct FileOperation {
    /// The entry that contains the call: a reply or, for a call that a tool made itself, the result
    /// of that tool.
    pub entry: EntryIx,
    /// The result. `None` for a call that a tool made itself, because its result is not stored.
    pub result: Option<EntryIx>,
    /// Whether the tool read, wrote or edited the file.
    pub action: FileAction,
    /// The absolute path of the file.
    pub path: String,
    /// The path of the file, as the call gives it.
    given_path: String,
    /// The index of the call among the calls of its entry.
    call_index: usize,
}

/// The change that an operation made to its file, or the content that it read.
#[derive(Debug)]
pub enum FileChange {
    /// It wrote this as the whole file.
    Write(String),
    /// It replaced these texts.
    Edit(TextEdits),
    /// It replaced these texts, as a patch of Codex does. Where they were is not known.
    Patched(Vec<TextReplacement>),
    /// It edited the file, and recorded a diff or the new text.
    Recorded(RecordedEdit),
    /// It printed the whole file.
    ReadWhole(String),
    /// It printed some lines of the file.
    ReadPart(ReadPart),
    /// It changed the file, but the change is not stored in a known form. An example is an edit by
    /// line hashes whose result records nothing.
    UnknownChange,
    /// It read the file, but what it printed is not stored in a known form.
    UnknownRead,
}

/// The replacements of one call.
#[derive(Debug)]
pub struct TextEdits {
    /// The replacements, in the order of the call.
    pub replacements: Vec<TextReplacement>,
    /// Whether each replacement applies to the result of the one before, as in Claude Code.
    /// Otherwise, all apply to the text before the call.
    pub is_sequential: bool,
    /// The unified diff that the tool recorded.
    pub patch: Option<String>,
}

/// The texts and the diff that oh-my-pi's `edit` recorded of a file that it changed.
#[derive(Debug)]
pub struct RecordedEdit {
    /// The file before the edit; `None` if it is too long to be recorded.
    pub old_text: Option<String>,
    /// The file after the edit; `None` if it is too long to be recorded.
    pub new_text: Option<String>,
    /// The diff, in which each line has a sign, a number, `|` and the text.
    pub diff: String,
}

impl RecordedEdit {
    /// Returns a replacement for each run of changed lines in the diff.
    pub fn replacements(&self) -> Vec<TextReplacement> {
        read_replacements(&self.diff)
    }
}

/// Lines of a file, as a tool printed them.
#[derive(Debug, PartialEq, Eq)]
pub struct ReadPart {
    /// The number of the first line, from 1.
    pub first_line: usize,
    /// The lines, joined by line feeds.
    pub text: String,
    /// The number of lines of the file, if it is known.
    pub line_count: Option<usize>,
}

/// Resolves the paths in calls to absolute ones.
#[derive(Clone, Copy)]
pub struct RecordedPaths<'a> {
    /// The home and the working directory.
    pub folders: Folders<'a>,
}

impl RecordedPaths<'_> {
    /// Returns the absolute form of a path. As in pi, `~/` is the home directory, and an `@` at the
    /// start is removed.
    pub fn resolve(&self, path: &Text) -> String {
        let written = path.as_bytes();
        let plain = written.strip_prefix(b"@").unwrap_or(written);
        let absolute = if let Some(below_home) = plain.strip_prefix(b"~/")
            && let Some(home) = self.folders.home
        {
            absolute_path(below_home, Some(home.as_bytes()))
        } else {
            absolute_path(plain, self.folders.cwd.map(Text::as_bytes))
        };
        collapse_dots(&String::from_utf8_lossy(&absolute))
    }

    /// Returns the absolute path of the file that a call names. In a read of oh-my-pi, line numbers
    /// may follow the path, as in `a.rs:20-40`; these are removed.
    pub fn resolve_call(&self, agent: &dyn Agent, tool: FileTool, path: Text) -> String {
        match tool.action {
            FileAction::Read => self.resolve(&agent.strip_read_selector(path)),
            FileAction::Write | FileAction::Edit => self.resolve(&path),
        }
    }
}

/// Returns the operations on files for whose path `is_wanted` is true, in the order of their calls.
/// Calls that failed or have no result are left out. `entries` are the entries of a path or of the
/// whole session, which must have been loaded with file calls and tool calls.
pub fn list_operations(
    reader: &EntryReader,
    entries: &[EntryIx],
    paths: RecordedPaths,
    is_wanted: &dyn Fn(&str) -> bool,
) -> io::Result<Vec<FileOperation>> {
    let session = reader.session();
    let mut list = OperationList::default();
    for &ix in entries {
        // The result comes first: if the entry also makes calls, it does not answer these.
        if let Some(call_id) = answered_call_id(session, ix) {
            let has_failed = session.entry(ix).flags.contains(Flags::FAILED);
            list.add_result(ix, call_id, has_failed);
        }
        list.add_calls(ix, read_wanted_calls(reader, ix, paths, is_wanted)?);
    }

    // A call in a tool result was made by that tool. It has no result of its own, but is known to
    // have succeeded: `read_calls` leaves out the others.
    let mut successful = list.operations;
    successful.retain(|operation| {
        operation.result.is_some() || session.is_message(operation.entry, Role::ToolResult)
    });
    Ok(successful)
}

/// Returns the calls of an entry on files for whose path `is_wanted` is true. The paths were
/// collected when the session was loaded, so most lines are not read.
fn read_wanted_calls(
    reader: &EntryReader,
    ix: EntryIx,
    paths: RecordedPaths,
    is_wanted: &dyn Fn(&str) -> bool,
) -> io::Result<Vec<CallWithFile>> {
    let session = reader.session();
    let agent = session.agent();
    let file_calls = session.file_calls(ix).unwrap_or_default();
    let has_wanted_file = file_calls
        .iter()
        .any(|call| is_wanted(&paths.resolve_call(agent, call.tool, session.text(call.path))));
    if !has_wanted_file {
        return Ok(Vec::new());
    }
    let mut calls = reader.with_message(ix, |message| read_calls(message, agent, paths))?;
    calls.retain(|call| is_wanted(&call.path));
    Ok(calls)
}

/// The operations in the order of their calls, to which results are assigned as they are found.
#[derive(Default)]
struct OperationList {
    operations: Vec<FileOperation>,
    /// The indexes of the operations without a result so far, by call id. A call with several files
    /// has several operations.
    unanswered: HashMap<Vec<u8>, Vec<usize>>,
}

impl OperationList {
    /// Assigns a result to the operations of its call. If the call failed, its operations get no
    /// result, and no later result with the same id is assigned to them.
    fn add_result(&mut self, result: EntryIx, call_id: &[u8], has_failed: bool) {
        let answered = self.unanswered.remove(call_id).unwrap_or_default();
        if has_failed {
            return;
        }
        for index in answered {
            self.operations[index].result = Some(result);
        }
    }

    /// Adds the calls of one entry, which [`Self::add_result`] may answer later. If an earlier
    /// entry has an unanswered call with the same id, that call never gets a result: the next
    /// result with this id belongs to the new call.
    fn add_calls(&mut self, entry: EntryIx, calls: Vec<CallWithFile>) {
        // A call with several files is several operations with the same id.
        let mut indexes_by_id: HashMap<Vec<u8>, Vec<usize>> = HashMap::default();
        for call in calls {
            if let Some(id) = call.id {
                let index = self.operations.len();
                indexes_by_id.entry(id).or_default().push(index);
            }
            self.operations.push(FileOperation {
                entry,
                result: None,
                action: call.action,
                path: call.path,
                given_path: call.given_path,
                call_index: call.index,
            });
        }
        // Replaces the calls of an earlier entry that have the same id.
        self.unanswered.extend(indexes_by_id);
    }
}

/// Returns the id of the call that an entry answers; `None` if it is not a tool result.
fn answered_call_id(session: &Session, ix: EntryIx) -> Option<&[u8]> {
    if session.entry(ix).role != Role::ToolResult {
        return None;
    }
    // Results are collected in file order, each with the id of its call as its text.
    let results = &session.collected.tool_results;
    let index = results
        .binary_search_by_key(&ix, |result| result.entry)
        .ok()?;
    let call_id = results[index].text;
    Some(session.bytes(call_id))
}

/// A call on one file. A call that names several files is several of these.
struct CallWithFile {
    /// The index of the call among the calls of the entry.
    index: usize,
    /// The call id, by which the result is found; `None` for a call that a tool made itself.
    id: Option<Vec<u8>>,
    action: FileAction,
    path: String,
    /// The path, as the call gives it.
    given_path: String,
}

/// Returns the calls of a message that read or change files, with one element per file. A call that
/// a tool made itself (a nested call) has a `status`, and is left out unless this is `ok`.
fn read_calls(message: Raw, agent: &dyn Agent, paths: RecordedPaths) -> Vec<CallWithFile> {
    let mut calls = Vec::new();
    for (index, call) in stored_calls(message).into_iter().enumerate() {
        let is_nested = call.get("status").is_some();
        if is_nested && !member_is(call, "status", "ok") {
            continue;
        }
        let [own_id, name, arguments] = find_members(call, ["id", "name", "arguments"]);
        // A nested call has no result of its own.
        let result_id = if is_nested { None } else { own_id };
        for file in called_files(name, arguments) {
            calls.push(CallWithFile {
                index,
                id: result_id.and_then(Raw::text).map(Text::into_bytes),
                action: file.tool.action,
                given_path: file.path.to_string_lossy().into_owned(),
                path: paths.resolve_call(agent, file.tool, file.path),
            });
        }
    }
    calls
}

/// Returns the tool calls of a reply or, for a tool result, the calls that the tool made itself. An
/// operation refers to its call by the index in this list.
fn stored_calls(message: Raw<'_>) -> Vec<Raw<'_>> {
    if let Some(nested) = message.get("nestedCalls") {
        let calls = nested.get("calls").unwrap_or(Raw::NULL);
        return calls.items().collect();
    }
    let mut calls = Vec::new();
    for block in message.get("content").unwrap_or(Raw::NULL).items() {
        if member_is(block, "type", "toolCall") {
            calls.push(block);
        }
    }
    calls
}

/// Returns the first of `entries` in which a shell command is called, or was run by the user. Such
/// a command may change any file. The session must have been loaded with tool calls.
pub fn find_command(reader: &EntryReader, entries: &[EntryIx]) -> io::Result<Option<EntryIx>> {
    let session = reader.session();
    for &ix in entries {
        let has_command = match session.entry(ix).role {
            Role::BashExecution | Role::PythonExecution => true,
            // The names of tools are not collected. Most lines have no call, and are not read.
            Role::Assistant if session.collected.tool_calls_of(ix).is_empty() => false,
            Role::Assistant => reader.with_message(ix, calls_command)?,
            _ => false,
        };
        if has_command {
            return Ok(Some(ix));
        }
    }
    Ok(None)
}

/// Whether a call in a message runs a shell command that may change any file. A patch only changes
/// the files that it names.
fn calls_command(message: Raw) -> bool {
    stored_calls(message).into_iter().any(|call| {
        let [name, arguments] = find_members(call, ["name", "arguments"]);
        let tool = name.and_then(Raw::text).unwrap_or_default();
        includes_tool("bash", &tool)
            && FilePatch::read(name, arguments.unwrap_or(Raw::NULL)).is_none()
    })
}

/// Reads what an operation wrote, replaced or read, from the arguments of its call and the output
/// of the tool. The agents differ in both, and are told apart by the tool's name and its arguments.
pub fn read_change(reader: &EntryReader, operation: &FileOperation) -> io::Result<FileChange> {
    let output = match operation.result {
        Some(result) => reader.with_message(result, ToolOutput::read)?,
        None => ToolOutput::default(),
    };
    reader.with_message(operation.entry, |message| {
        let calls = stored_calls(message);
        let call = calls.get(operation.call_index).copied();
        change_of_call(call.unwrap_or(Raw::NULL), output, operation)
    })
}

/// Returns what an operation wrote, replaced or read, given its call and the output of the tool.
fn change_of_call(call: Raw, output: ToolOutput, operation: &FileOperation) -> FileChange {
    let [tool_name, arguments] = find_members(call, ["name", "arguments"]);
    let name = tool_name.and_then(Raw::text).unwrap_or_default();
    let arguments = arguments.unwrap_or(Raw::NULL);

    // Claude Code's tools have names such as `Edit`, and those of the others such as `edit`.
    let is_of_claude = name.as_bytes().first().is_some_and(u8::is_ascii_uppercase);
    // OpenCode's tools have the same names as pi's, but different arguments.
    let is_of_opencode = arguments.get("filePath").is_some();
    match operation.action {
        FileAction::Write => match arguments.get_text("content") {
            Some(content) => FileChange::Write(content.into_string_lossy()),
            None => FileChange::UnknownChange,
        },
        FileAction::Edit => {
            // See `TextEdits::is_sequential`.
            let is_sequential = is_of_claude || is_of_opencode;
            read_edit(tool_name, arguments, output, operation, is_sequential)
        }
        // The other agents print more than the text, such as numbers of lines.
        FileAction::Read if is_of_opencode || name != *"read" => FileChange::UnknownRead,
        FileAction::Read => output.read_lines(arguments),
    }
}

/// Returns the change that an edit made to the file of `operation`: as the tool recorded it or,
/// failing that, the replacements in its arguments. For `is_sequential`, see [`TextEdits`].
fn read_edit(
    tool_name: Option<Raw>,
    arguments: Raw,
    mut output: ToolOutput,
    operation: &FileOperation,
    is_sequential: bool,
) -> FileChange {
    // After the edit, oh-my-pi changed the file again to repair its syntax, and did not record how.
    if output.is_repaired {
        return FileChange::UnknownChange;
    }
    if let Some(recorded) = output.take_recorded_edit(&operation.path) {
        return FileChange::Recorded(recorded);
    }
    match read_all_replacements(arguments) {
        Some(replacements) => FileChange::Edit(TextEdits {
            replacements,
            is_sequential,
            patch: output.patch,
        }),
        None => match FilePatch::read(tool_name, arguments) {
            Some(patch) => read_patch(&patch, &operation.given_path),
            None => FileChange::UnknownChange,
        },
    }
}

/// Returns what a patch of Codex did to the file whose headings have the path `given_path`. Another
/// file may have a path that ends like it: `utils.rs` and `src/utils.rs`. Lines without a sign
/// begin with a space:
///
/// ```text
/// *** Begin Patch
/// *** Update File: src/clock.rs
/// @@ fn wait
///  let now = clock();
/// -sleep(now);
/// +wait(now);
/// *** End Patch
/// ```
fn read_patch(patch: &FilePatch, given_path: &str) -> FileChange {
    if !patch.is_of_codex() {
        return FileChange::UnknownChange;
    }
    let lines = patch.lines_of(given_path);
    // A file that the patch also deletes or updates is not known to have only the added lines.
    let mut headings = lines.iter().filter(|line| is_heading(line));
    let is_only_added = headings.all(|heading| heading.starts_with("*** Add File: "));

    let mut replacements = read_patch_replacements(&lines);
    if is_only_added && let [created] = &mut replacements[..] {
        return FileChange::Write(std::mem::take(&mut created.new));
    }
    if replacements.is_empty() {
        return FileChange::UnknownChange;
    }
    FileChange::Patched(replacements)
}

/// Returns the replacements in the lines of a patch about one file, without those that change
/// nothing. Each begins after a separator, such as a heading (`***`) or the place of a hunk (`@@`).
fn read_patch_replacements(lines: &[&str]) -> Vec<TextReplacement> {
    let is_separator =
        |line: &&str| line.starts_with("***") || line.starts_with("@@") || is_heading(line);
    let mut replacements = Vec::new();
    for hunk in lines.split(is_separator) {
        let mut replacement = TextReplacement::default();
        for line in hunk {
            add_patch_line(&mut replacement, line);
        }
        if replacement.old != replacement.new {
            replacements.push(replacement);
        }
    }
    replacements
}

/// Whether a line of a patch is a heading with the path of a file.
fn is_heading(line: &str) -> bool {
    heading_path(line.trim_end()).is_some()
}

/// Adds a line of a patch, which begins with its sign, to the texts before and after the change.
fn add_patch_line(replacement: &mut TextReplacement, line: &str) {
    let content = line.get(1..).unwrap_or_default();
    if !line.starts_with('+') {
        replacement.old += content;
        replacement.old.push('\n');
    }
    if !line.starts_with('-') {
        replacement.new += content;
        replacement.new.push('\n');
    }
}
