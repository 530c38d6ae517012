//! The calls that read, write or edit files, and succeeded.

use super::numbered_diff::read_replacements;
use crate::agents::Agent;
use crate::agents::readable::Folders;
use crate::session::Session;
use crate::session::content::{find_members, join_text, member_is};
use crate::session::entry::{EntryIx, Flags, Role};
use crate::session::file_calls::{
    FileAction, FileTool, TextReplacement, called_files, read_all_replacements,
};
use crate::session::paths::{absolute_path, collapse_dots};
use crate::session::read::entry_reader::EntryReader;
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use std::io;

/// A call that read, wrote or edited a file, and succeeded.
#[derive(Clone, Debug)]
pub struct FileOperation {
    /// The entry with the call: a reply, or the result of a tool that made the call itself.
    pub entry: EntryIx,
    /// The result; `None` for a call that a tool made itself, whose result is not stored.
    pub result: Option<EntryIx>,
    /// What the tool did.
    pub action: FileAction,
    /// The absolute path of the file.
    pub path: String,
    /// The index of the call among those of its entry.
    call_index: usize,
}

/// What an operation did to its file.
#[derive(Debug)]
pub enum FileChange {
    /// It wrote all of the file.
    Write(String),
    /// It replaced texts.
    Edit(TextEdits),
    /// It changed lines, and recorded which.
    Recorded(RecordedEdit),
    /// It printed all of the file.
    ReadWhole(String),
    /// It printed some lines of the file.
    ReadPart(ReadPart),
    /// It changed the file, in a way that is not stored in a known form, such as an edit by hashes of
    /// lines whose result records nothing.
    UnknownChange,
    /// What it printed is not stored in a known form.
    UnknownRead,
}

/// The replacements of one call.
#[derive(Debug)]
pub struct TextEdits {
    /// The replacements, in the order of the call.
    pub replacements: Vec<TextReplacement>,
    /// Whether each replacement applies to the text that the one before left, as in Claude Code.
    /// Otherwise, all apply to the text before the call.
    pub is_sequential: bool,
    /// The unified diff that the tool recorded.
    pub patch: Option<String>,
}

/// What oh-my-pi's `edit` recorded of a file that it changed, in any of its modes.
#[derive(Debug)]
pub struct RecordedEdit {
    /// The file before the edit; `None` if it is too long to be recorded.
    pub old_text: Option<String>,
    /// The file after the edit; `None` if it is too long to be recorded.
    pub new_text: Option<String>,
    /// The diff. Each line has a sign, a number, `|` and the text.
    pub diff: String,
}

impl RecordedEdit {
    /// Returns the changed runs of lines, each with what it replaces.
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

/// How the paths in calls are resolved.
#[derive(Clone, Copy)]
pub struct RecordedPaths<'a> {
    /// The directories that they are relative to.
    pub folders: Folders<'a>,
}

impl RecordedPaths<'_> {
    /// Returns the absolute path that a call names. As in pi, `~` is the home directory, and an `@`
    /// at the start does not count.
    pub fn resolve(&self, path: &Text) -> String {
        let named = path.as_bytes();
        let named = named.strip_prefix(b"@").unwrap_or(named);
        let cwd = self.folders.cwd.map(Text::as_bytes);
        let absolute = match (named.strip_prefix(b"~/"), self.folders.home) {
            (Some(below_home), Some(home)) => absolute_path(below_home, Some(home.as_bytes())),
            _ => absolute_path(named, cwd),
        };
        collapse_dots(&String::from_utf8_lossy(&absolute))
    }

    /// Returns the absolute path of the file that a call of the agent names. A read of oh-my-pi may
    /// name lines after it, as in `a.rs:20-40`.
    pub fn resolve_call(&self, agent: &dyn Agent, tool: FileTool, path: Text) -> String {
        match tool.action {
            FileAction::Read => self.resolve(&agent.strip_read_selector(path)),
            FileAction::Write | FileAction::Edit => self.resolve(&path),
        }
    }
}

/// Returns the operations on files for which `is_wanted` is true, in the order of their calls.
/// `entries` are those of a path, or all of a session, which was loaded with its file calls and
/// tool calls. Calls that failed, and calls without a result, are left out.
pub fn list_operations(
    reader: &EntryReader,
    entries: &[EntryIx],
    paths: RecordedPaths,
    is_wanted: &dyn Fn(&str) -> bool,
) -> io::Result<Vec<FileOperation>> {
    let session = reader.session();
    let agent = session.agent();
    let mut found: Vec<FileOperation> = Vec::new();
    // The operations whose result was not seen yet, by the ids of their calls.
    let mut unanswered: HashMap<Vec<u8>, Vec<usize>> = HashMap::default();
    for &ix in entries {
        if let Some(call_id) = answered_call_id(session, ix) {
            // A result that failed is the answer to its call, too.
            let answered = unanswered.remove(call_id).unwrap_or_default();
            let has_failed = session.entry(ix).flags.contains(Flags::FAILED);
            if !has_failed {
                for index in answered {
                    found[index].result = Some(ix);
                }
            }
        }

        let calls = session.file_calls(ix).unwrap_or_default();
        let has_wanted_file = calls
            .iter()
            .any(|call| is_wanted(&paths.resolve_call(agent, call.tool, session.text(call.path))));
        if !has_wanted_file {
            continue;
        }
        let calls = reader.with_message(ix, |message| read_calls(message, agent, paths))?;
        let mut answered_by: HashMap<Vec<u8>, Vec<usize>> = HashMap::default();
        for call in calls {
            if !is_wanted(&call.path) {
                continue;
            }
            if let Some(id) = call.id {
                answered_by.entry(id).or_default().push(found.len());
            }
            found.push(FileOperation {
                entry: ix,
                result: None,
                action: call.action,
                path: call.path,
                call_index: call.index,
            });
        }
        // A later call with the same id has taken the place of an earlier one.
        unanswered.extend(answered_by);
    }
    // A call that a tool made itself is stored with its outcome.
    found.retain(|operation| {
        operation.result.is_some() || session.is_message(operation.entry, Role::ToolResult)
    });
    Ok(found)
}

/// Returns the id of the call that an entry answers; `None` if it is not a tool result.
fn answered_call_id(session: &Session, ix: EntryIx) -> Option<&[u8]> {
    if session.entry(ix).role != Role::ToolResult {
        return None;
    }
    let results = &session.collected.tool_results;
    let index = results
        .binary_search_by_key(&ix, |result| result.entry)
        .ok()?;
    let call_id = results[index].text;
    Some(session.bytes(call_id))
}

/// A call, with one of the files that it names.
struct NamedCall {
    /// Its index among the calls of the entry.
    index: usize,
    /// The id that its result has; `None` for a call that a tool made itself.
    id: Option<Vec<u8>>,
    action: FileAction,
    path: String,
}

/// Returns the calls of a message, in their order, one for each file that it names. A call that a
/// tool made itself has a `status`, and is left out unless that is `ok`.
fn read_calls(message: Raw, agent: &dyn Agent, paths: RecordedPaths) -> Vec<NamedCall> {
    let mut calls = Vec::new();
    for (index, call) in stored_calls(message).into_iter().enumerate() {
        let is_nested = call.get("status").is_some();
        if is_nested && !member_is(call, "status", "ok") {
            continue;
        }
        let [id, name, arguments] = find_members(call, ["id", "name", "arguments"]);
        for (tool, path) in called_files(name, arguments) {
            // A nested call has no result of its own.
            let id = if is_nested {
                None
            } else {
                id.and_then(Raw::text)
            };
            calls.push(NamedCall {
                index,
                id: id.map(Text::into_bytes),
                action: tool.action,
                path: paths.resolve_call(agent, tool, path),
            });
        }
    }
    calls
}

/// Returns the calls of a reply, or those that a tool made itself, as its result lists them.
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

/// Reads what an operation did.
pub fn read_change(reader: &EntryReader, operation: &FileOperation) -> io::Result<FileChange> {
    let mut result = match operation.result {
        Some(result) => reader.with_message(result, ToolOutput::read)?,
        None => ToolOutput::default(),
    };
    reader.with_message(operation.entry, |message| {
        let call = stored_calls(message).get(operation.call_index).copied();
        let [name, arguments] = find_members(call.unwrap_or(Raw::NULL), ["name", "arguments"]);
        let name = name.and_then(Raw::text).unwrap_or_default();
        let arguments = arguments.unwrap_or(Raw::NULL);
        let is_of_claude = name.as_bytes().first().is_some_and(u8::is_ascii_uppercase);
        match operation.action {
            FileAction::Write => match arguments.get_text("content") {
                Some(content) => FileChange::Write(content.into_string_lossy()),
                None => FileChange::UnknownChange,
            },
            FileAction::Edit if result.is_repaired => FileChange::UnknownChange,
            FileAction::Edit => {
                if let Some(recorded) = result.take_recorded_edit(&operation.path) {
                    return FileChange::Recorded(recorded);
                }
                match read_all_replacements(arguments) {
                    Some(replacements) => FileChange::Edit(TextEdits {
                        replacements,
                        is_sequential: is_of_claude,
                        patch: result.patch,
                    }),
                    None => FileChange::UnknownChange,
                }
            }
            // Claude Code numbers the lines that it prints.
            FileAction::Read if is_of_claude => FileChange::UnknownRead,
            FileAction::Read => result.read_lines(arguments),
        }
    })
}

/// What a tool printed and recorded.
#[derive(Default)]
struct ToolOutput {
    text: String,
    /// Whether it is one text block, without an image.
    is_one_text: bool,
    is_truncated: bool,
    patch: Option<String>,
    /// What oh-my-pi's `edit` recorded, with the path of each file.
    recorded_edits: Vec<RecordedFile>,
    /// Whether oh-my-pi changed the file again after its edit, to repair the syntax.
    is_repaired: bool,
    /// The lines that oh-my-pi's `read` printed, without the numbers that it printed before them.
    displayed: Option<ReadPart>,
}

/// A file that one edit changed.
struct RecordedFile {
    /// Its absolute path at that time, after the edit.
    path: String,
    /// Whether the edit gave it this path.
    is_renamed: bool,
    edit: RecordedEdit,
}

/// The notice in place of the end of a text that oh-my-pi does not store.
const CUT_NOTICE: &str = "[Session persistence truncated large content]";

/// The words with which oh-my-pi reports such a repair.
const REPAIR_NOTICE: &str = "an automatic syntax repair (";

impl ToolOutput {
    /// Reads the output from the message of a result.
    fn read(message: Raw) -> ToolOutput {
        let content = message.get("content").unwrap_or(Raw::NULL);
        let details = message.get("details").unwrap_or(Raw::NULL);
        let truncation = details.get("truncation").unwrap_or(Raw::NULL);
        let mut blocks = content.items();
        let is_one_text = match (blocks.next(), blocks.next()) {
            (None, _) => content.is_string(),
            (Some(only_block), None) => member_is(only_block, "type", "text"),
            (Some(_), Some(_)) => false,
        };
        let text = join_text(Some(content), "").into_string_lossy();
        ToolOutput {
            recorded_edits: read_recorded_edits(details),
            is_repaired: text.contains(REPAIR_NOTICE),
            displayed: read_displayed(details),
            text,
            is_one_text,
            is_truncated: truncation.is_object(),
            patch: details.get_text("patch").map(Text::into_string_lossy),
        }
    }

    /// Takes what was recorded of a file. A session that was moved may have another directory now:
    /// the only edit is that of the file in any case, unless it gave the file a new name.
    fn take_recorded_edit(&mut self, path: &str) -> Option<RecordedEdit> {
        let files = &mut self.recorded_edits;
        let index = match files.iter().position(|file| file.path == path) {
            Some(index) => index,
            None if files.len() == 1 && !files[0].is_renamed => 0,
            None => return None,
        };
        Some(files.swap_remove(index).edit)
    }

    /// Returns the lines of a file that `read` printed, without the notice that more follow.
    fn read_lines(self, arguments: Raw) -> FileChange {
        if let Some(displayed) = self.displayed {
            let is_whole = displayed.first_line == 1
                && displayed.line_count == Some(displayed.text.split('\n').count());
            if is_whole {
                return FileChange::ReadWhole(displayed.text);
            }
            return FileChange::ReadPart(displayed);
        }
        if !self.is_one_text {
            return FileChange::UnknownRead;
        }
        let offset = arguments.get("offset").and_then(Raw::number).unwrap_or(1.0);
        let first_line = if offset >= 1.0 { offset as usize } else { 1 };
        let has_limit = arguments.get("limit").and_then(Raw::number).is_some();
        let notice = if self.is_truncated || has_limit {
            split_notice(&self.text)
        } else {
            None
        };
        let Some(notice) = notice else {
            if self.is_truncated {
                return FileChange::UnknownRead;
            }
            if first_line == 1 {
                return FileChange::ReadWhole(self.text);
            }
            let printed_count = self.text.split('\n').count();
            return FileChange::ReadPart(ReadPart {
                first_line,
                line_count: Some(first_line - 1 + printed_count),
                text: self.text,
            });
        };
        FileChange::ReadPart(ReadPart {
            first_line,
            text: notice.text_before.to_owned(),
            line_count: notice.line_count,
        })
    }
}

/// Reads what oh-my-pi's `edit` recorded of each file that it changed. A file that was deleted or got
/// a new name has no text any more, and none of it is recorded.
fn read_recorded_edits(details: Raw) -> Vec<RecordedFile> {
    let mut files = Vec::from_iter(details.get("perFileResults").unwrap_or(Raw::NULL).items());
    if files.is_empty() {
        files.push(details);
    }
    let mut recorded = Vec::new();
    for file in files {
        let [path, diff, old_text, new_text, operation, move_to] =
            find_members(file, ["path", "diff", "oldText", "newText", "op", "move"]);
        let (Some(path), Some(diff)) = (path.and_then(Raw::text), diff.and_then(Raw::text)) else {
            continue;
        };
        if operation.is_some_and(|operation| operation.is("delete")) {
            continue;
        }
        let new_text = new_text.and_then(Raw::text).map(Text::into_string_lossy);
        let new_text = new_text.filter(|text| !text.ends_with(CUT_NOTICE));
        let is_renamed = move_to.is_some();
        if is_renamed && new_text.is_none() {
            // The diff is of the text that the file had under its old name.
            continue;
        }
        // The old text of a file with a new name was that of another path.
        let old_text = old_text.filter(|_| !is_renamed).and_then(Raw::text);
        let old_text = old_text.map(Text::into_string_lossy);
        let old_text = old_text.filter(|text| !text.ends_with(CUT_NOTICE));
        recorded.push(RecordedFile {
            path: collapse_dots(&path.to_string_lossy()),
            is_renamed,
            edit: RecordedEdit {
                old_text,
                new_text,
                diff: diff.into_string_lossy(),
            },
        });
    }
    recorded
}

/// Reads the lines that oh-my-pi's `read` printed. The last line feed of the file is not among them:
/// its size says whether there is one. `None` if lines are left out between them.
fn read_displayed(details: Raw) -> Option<ReadPart> {
    let displayed = details.get("displayContent")?;
    let text = displayed.get_text("text")?.into_string_lossy();
    let first_line = displayed.get("startLine")?.number()? as usize;
    let printed_count = text.split('\n').count();
    let mut next_line = first_line;
    for number in displayed.get("lineNumbers")?.items() {
        if number.number() != Some(next_line as f64) {
            return None;
        }
        next_line += 1;
    }
    if first_line == 0 || next_line - first_line != printed_count || text.ends_with(CUT_NOTICE) {
        return None;
    }

    let line_count = details.get("totalLines").and_then(Raw::number);
    let file_size = details.get("fileSize").and_then(Raw::number);
    let is_whole = first_line == 1 && line_count == Some(printed_count as f64);
    if is_whole && file_size == Some(text.len() as f64 + 1.0) {
        return Some(ReadPart {
            first_line,
            text: text + "\n",
            line_count: Some(printed_count + 1),
        });
    }
    let is_complete = is_whole && file_size == Some(text.len() as f64);
    Some(ReadPart {
        first_line,
        text,
        // The number of lines says nothing about the last line feed, which begins one more here.
        line_count: is_complete.then_some(printed_count),
    })
}

/// The notice at the end of printed lines that the file has more.
struct MoreNotice<'a> {
    text_before: &'a str,
    /// The number of lines of the file.
    line_count: Option<usize>,
}

/// Splits the notice from the end of what `read` printed: `[Showing lines 1-20 of 90. …]`, or
/// `[70 more lines in file. Use offset=21 to continue.]`.
fn split_notice(text: &str) -> Option<MoreNotice<'_>> {
    let (text_before, notice) = text.rsplit_once("\n\n[")?;
    if !notice.ends_with("to continue.]") {
        return None;
    }
    let line_count = if notice.starts_with("Showing lines ") {
        number_after(notice, " of ")
    } else {
        let more = number_after(notice, "");
        let next_line = number_after(notice, "offset=");
        match (more, next_line) {
            (Some(more), Some(next_line)) => Some((next_line + more).saturating_sub(1)),
            _ => None,
        }
    };
    Some(MoreNotice {
        text_before,
        line_count,
    })
}

/// Returns the number that follows a word in a text.
fn number_after(text: &str, word: &str) -> Option<usize> {
    let (_, after_word) = text.split_once(word)?;
    let digits = after_word.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_are_not_part_of_the_file() {
        for (text, line_count) in [
            (
                "a\nb\n\n[Showing lines 1-2 of 90. Use offset=3 to continue.]",
                90,
            ),
            (
                "a\nb\n\n[88 more lines in file. Use offset=3 to continue.]",
                90,
            ),
        ] {
            let notice = split_notice(text).unwrap();
            assert_eq!(notice.text_before, "a\nb");
            assert_eq!(notice.line_count, Some(line_count));
        }
        assert!(split_notice("a\n\n[b]").is_none());
    }
}
