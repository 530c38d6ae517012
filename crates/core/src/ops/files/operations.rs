//! The calls that read, write or edit files, and succeeded.

use crate::agents::readable::Folders;
use crate::session::Session;
use crate::session::content::{find_members, join_text, member_is};
use crate::session::entry::{EntryIx, Flags, Role};
use crate::session::file_calls::{FileAction, TextReplacement, called_file, read_all_replacements};
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
    /// It printed all of the file.
    ReadWhole(String),
    /// It printed some lines of the file.
    ReadPart(ReadPart),
    /// It changed the file, in a way that is not stored in a known form, such as the edits by hashes
    /// of lines and the patches of oh-my-pi.
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
    let mut found: Vec<FileOperation> = Vec::new();
    // The operations whose result was not seen yet, by the ids of their calls.
    let mut unanswered: HashMap<Vec<u8>, usize> = HashMap::default();
    for &ix in entries {
        if let Some(call_id) = answered_call_id(session, ix) {
            // A result that failed is the answer to its call, too.
            let answered = unanswered.remove(call_id);
            let has_failed = session.entry(ix).flags.contains(Flags::FAILED);
            if let Some(index) = answered
                && !has_failed
            {
                found[index].result = Some(ix);
            }
        }

        let calls = session.file_calls(ix).unwrap_or_default();
        let has_wanted_file = calls
            .iter()
            .any(|call| is_wanted(&paths.resolve(&session.text(call.path))));
        if !has_wanted_file {
            continue;
        }
        let calls = reader.with_message(ix, |message| read_calls(message, paths))?;
        for (call_index, call) in calls.into_iter().enumerate() {
            let Some(call) = call else {
                continue;
            };
            if !is_wanted(&call.path) {
                continue;
            }
            if let Some(id) = call.id {
                unanswered.insert(id, found.len());
            }
            found.push(FileOperation {
                entry: ix,
                result: None,
                action: call.action,
                path: call.path,
                call_index,
            });
        }
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

/// A call that names a file.
struct NamedCall {
    /// The id that its result has; `None` for a call that a tool made itself.
    id: Option<Vec<u8>>,
    action: FileAction,
    path: String,
}

/// Returns the calls of a message, in their order. A call is `None` if it names no file, or if a
/// tool made it and it failed.
fn read_calls(message: Raw, paths: RecordedPaths) -> Vec<Option<NamedCall>> {
    let mut calls = Vec::new();
    for call in stored_calls(message) {
        calls.push(read_call(call, paths));
    }
    calls
}

/// Reads a call; `None` as for [`read_calls`]. A call that a tool made itself has a `status`, and
/// counts as having succeeded with `ok`.
fn read_call(call: Raw, paths: RecordedPaths) -> Option<NamedCall> {
    let is_nested = call.get("status").is_some();
    if is_nested && !member_is(call, "status", "ok") {
        return None;
    }
    let [id, name, arguments] = find_members(call, ["id", "name", "arguments"]);
    let (tool, path) = called_file(name, arguments)?;
    // A nested call has no result of its own.
    let id = if is_nested {
        None
    } else {
        id.and_then(Raw::text)
    };
    Some(NamedCall {
        id: id.map(Text::into_bytes),
        action: tool.action,
        path: paths.resolve(&path),
    })
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
    let result = match operation.result {
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
            FileAction::Edit => match read_all_replacements(arguments) {
                Some(replacements) => FileChange::Edit(TextEdits {
                    replacements,
                    is_sequential: is_of_claude,
                    patch: result.patch,
                }),
                None => FileChange::UnknownChange,
            },
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
}

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
        ToolOutput {
            text: join_text(Some(content), "").into_string_lossy(),
            is_one_text,
            is_truncated: truncation.is_object(),
            patch: details.get_text("patch").map(Text::into_string_lossy),
        }
    }

    /// Returns the lines of a file that `read` printed, without the notice that more follow.
    fn read_lines(self, arguments: Raw) -> FileChange {
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
