//! Finds the tool to which a match belongs: the tool that printed the text, or that is called
//! there.

use crate::agents::readable::{Folders, describe_call, describe_execution, execution_tool};
use crate::agents::row::RowOptions;
use crate::load::{LoadError, LoadOptions, load};
use crate::ops::show::outline_arguments;
use crate::session::file_calls::is_old_text_key;
use crate::session::read::line_chunks::LineChunk;
use crate::session::read::record::{Block, Member, MessageFacts, Record, scan_record_into};
use memchr::memmem::Finder;
use memchr::memrchr;
use pisess_json::text::Text;
use pisess_json::{KeyCache, Raw, Scanner};
use pisess_store::ReadAt;
use std::collections::BTreeSet;
use std::io;

/// The number of bytes before a tool result that are searched for its call. The call is in the last
/// reply, and only the results of other calls are in between.
pub(super) const CALL_WINDOW: u64 = 256 * 1024;

/// A use of a tool.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolUse {
    /// The name of the tool, such as `bash`.
    pub name: Text<'static>,
    /// What the tool works on, such as a command, a path or a pattern; empty if the call is not
    /// found.
    pub subject: Text<'static>,
    /// Whether the match is in the call, not in the output of the tool.
    pub is_call: bool,
    /// The arguments of the call that the output answers, as text. Empty if they are not requested,
    /// or if the call is not found.
    pub arguments: Text<'static>,
}

impl ToolUse {
    /// Returns the use of a tool with these arguments, for a match that is not in the call.
    fn new(name: Text, arguments: Raw, folders: Folders) -> ToolUse {
        ToolUse {
            subject: describe_call(&name, arguments, folders).text,
            name: name.into_owned(),
            ..ToolUse::default()
        }
    }

    /// Returns the use of a tool whose call was not found: its subject is empty.
    fn without_call(name: Text) -> ToolUse {
        ToolUse {
            name: name.into_owned(),
            ..ToolUse::default()
        }
    }

    /// Returns the use of a tool for a match in its call.
    pub(super) fn from_call(call: &Block, folders: Folders) -> ToolUse {
        let name = call.name.and_then(Raw::text).unwrap_or_default();
        let arguments = call.arguments.unwrap_or(Raw::NULL);
        ToolUse {
            is_call: true,
            ..ToolUse::new(name, arguments, folders)
        }
    }

    /// Returns the tool and the command or code of an execution by the user.
    pub(super) fn from_execution(message: &MessageFacts, folders: Folders) -> ToolUse {
        let message = Raw::from_checked(message.bytes);
        ToolUse {
            name: Text::from(execution_tool(message)),
            subject: describe_execution(message, folders).text,
            ..ToolUse::default()
        }
    }
}

/// Whether the name by which a user selects tools includes the tool `name`. The names of pi's tools
/// also include those with which other agents do the same: `bash` includes the `shell` of Codex.
pub fn includes_tool(selected: &str, name: &Text) -> bool {
    let name = name.as_bytes();
    if name == selected.as_bytes() {
        return true;
    }
    let similar_tools: &[&[u8]] = match selected {
        "bash" => &[
            b"Bash",
            b"exec_command",
            b"shell",
            b"shell_command",
            b"local_shell",
            b"run_shell_command",
        ],
        "read" => &[b"Read", b"read_file"],
        "write" => &[b"Write", b"write_file"],
        "edit" => &[b"Edit", b"MultiEdit", b"apply_patch", b"replace"],
        _ => &[],
    };
    similar_tools.contains(&name)
}

/// Returns the names of all tools that a session calls, each once.
pub fn read_tool_names(source: &dyn ReadAt) -> Result<BTreeSet<String>, LoadError> {
    // The names of tools are collected for rows.
    let options = LoadOptions {
        rows: Some(RowOptions {
            home: None,
            readable: true,
        }),
        skip_links: true,
        ..LoadOptions::default()
    };
    let session = load(source, &options)?;
    let mut names = BTreeSet::new();
    for call in &session.collected.tool_calls {
        names.insert(session.text(call.name).to_string_lossy().into_owned());
    }
    Ok(names)
}

/// Returns the call that contains the field of a reply at this path, such as
/// `message.content[2].arguments.command`. `None` if the field is not in a call.
pub(super) fn find_call<'e, 'b>(field: &str, blocks: &'e [Block<'b>]) -> Option<&'e Block<'b>> {
    let (index, _) = field.strip_prefix("message.content[")?.split_once(']')?;
    let index: u32 = index.parse().ok()?;
    blocks
        .iter()
        .find(|block| block.index == index && block.is_call())
}

/// Whether the field of a reply at this path is a text that an edit replaces, such as
/// `message.content[2].arguments.edits[0].oldText`.
pub fn is_replaced_text(field: &str) -> bool {
    let Some(in_content) = field.strip_prefix("message.content[") else {
        return false;
    };
    let Some((_index, argument)) = in_content.split_once("].arguments.") else {
        return false;
    };
    let key = match argument.rsplit_once('.') {
        Some((_parents, key)) => key,
        None => argument,
    };
    is_old_text_key(key)
}

/// The calls on those lines of a chunk that the search has parsed. If there are many matches, most
/// calls are on such a line, and need not be searched for.
#[derive(Debug, Default)]
pub(super) struct KnownCalls<'a> {
    calls: Vec<KnownCall<'a>>,
}

/// The id and the arguments of a tool call.
#[derive(Debug)]
struct KnownCall<'a> {
    /// The id as written, with its quotes.
    id: Raw<'a>,
    arguments: Raw<'a>,
}

impl<'a> KnownCalls<'a> {
    /// Adds the calls of a message.
    pub(super) fn add_calls(&mut self, blocks: &[Block<'a>]) {
        for block in blocks {
            if block.is_call()
                && let Some(id) = block.id
            {
                let arguments = block.arguments.unwrap_or(Raw::NULL);
                self.calls.push(KnownCall { id, arguments });
            }
        }
    }

    /// Returns the arguments of the last call with this id.
    fn find_arguments(&self, id: Raw) -> Option<Raw<'a>> {
        let mut newest_first = self.calls.iter().rev();
        let call = newest_first.find(|call| call.id.bytes() == id.bytes())?;
        Some(call.arguments)
    }
}

/// A line in a chunk. `start` is the offset of its first byte in the chunk; its end is not known.
#[derive(Clone, Copy)]
pub(super) struct ChunkLine<'b> {
    pub chunk: LineChunk<'b>,
    pub start: usize,
}

/// Finds the calls of tool results.
pub(super) struct CallSearch<'a> {
    pub source: &'a dyn ReadAt,
    pub keys: &'a mut KeyCache<Member>,
    pub folders: Folders<'a>,
    /// Whether the arguments of a call are returned.
    pub keeps_arguments: bool,
}

impl CallSearch<'_> {
    /// Returns the tool of a result, and what it worked on, which only its call shows. The call is
    /// searched for in `calls`, and then within [`CALL_WINDOW`] bytes before `line`, the line of
    /// the result. If it is not found, only the name of the tool is returned.
    pub(super) fn find_tool(
        &mut self,
        result: &MessageFacts,
        calls: &KnownCalls,
        line: ChunkLine,
    ) -> io::Result<ToolUse> {
        let name = result.get(Member::ToolName).and_then(Raw::text);
        let name = name.unwrap_or(Text::from("tool"));
        let Some(call_id) = result.get(Member::ToolCallId).filter(|id| id.is_string()) else {
            return Ok(ToolUse::without_call(name));
        };
        if let Some(arguments) = calls.find_arguments(call_id) {
            return Ok(self.tool_of_call(name, arguments));
        }
        match self.find_call_in_window(line, call_id, &name)? {
            Some(found) => Ok(found),
            None => Ok(ToolUse::without_call(name)),
        }
    }

    /// Searches for the call with this id within [`CALL_WINDOW`] bytes before a line. The part of
    /// the window in the chunk, which is in memory, is searched first. A chunk begins with a line,
    /// so no line is in both parts.
    fn find_call_in_window(
        &mut self,
        line: ChunkLine,
        call_id: Raw,
        name: &Text,
    ) -> io::Result<Option<ToolUse>> {
        let ChunkLine { chunk, start } = line;
        let line_offset = chunk.start + start as u64;
        let window_start = line_offset.saturating_sub(CALL_WINDOW);
        let start_in_chunk = window_start.saturating_sub(chunk.start) as usize;
        let in_chunk = &chunk.bytes[start_in_chunk..start];
        if let Some(found) = self.find_call_before(in_chunk, call_id, name) {
            return Ok(Some(found));
        }
        if window_start >= chunk.start {
            return Ok(None);
        }
        let before_chunk = self.source.read_range(window_start..chunk.start)?;
        Ok(self.find_call_before(&before_chunk, call_id, name))
    }

    /// Returns the tool of a result whose call has these arguments.
    fn tool_of_call(&self, name: Text, arguments: Raw) -> ToolUse {
        let mut tool = ToolUse::new(name, arguments, self.folders);
        if self.keeps_arguments {
            tool.arguments = outline_arguments(arguments);
        }
        tool
    }

    /// Returns the tool of the last call with this id in `lines`, which end with a newline. `name`
    /// is its name. `call_id` is the id as written in the result, with its quotes: the agents write
    /// it in the same way in the call, so its bytes are searched for.
    ///
    /// If the first line lacks its beginning, it is not JSON, and no call is found in it.
    fn find_call_before(&mut self, lines: &[u8], call_id: Raw, name: &Text) -> Option<ToolUse> {
        let finder = Finder::new(call_id.bytes());
        // The call is usually on one of the last lines, so lines are searched from the last one.
        let mut unsearched = lines;
        while let Some(whole_lines) = unsearched.strip_suffix(b"\n") {
            let line_start = memrchr(b'\n', whole_lines).map_or(0, |newline| newline + 1);
            let line = &whole_lines[line_start..];
            unsearched = &lines[..line_start];
            if finder.find(line).is_none() {
                continue;
            }
            if let Some(found) = self.find_call_on_line(line, call_id, name) {
                return Some(found);
            }
        }
        None
    }

    /// Returns the tool of the call with this id on a line; `None` if the line is not an entry with
    /// this call.
    fn find_call_on_line(&mut self, line: &[u8], call_id: Raw, name: &Text) -> Option<ToolUse> {
        // One scan validates the line and collects the blocks of its message.
        let mut scanner = Scanner::new(line);
        let mut record = Record::default();
        let mut blocks = Vec::new();
        let scanned = scan_record_into(&mut scanner, self.keys, &mut record, &mut blocks);
        if scanned.is_err() || !scanner.at_end() {
            return None;
        }
        let mut calls = KnownCalls::default();
        calls.add_calls(&blocks);
        let arguments = calls.find_arguments(call_id)?;
        Some(self.tool_of_call(name.as_borrowed(), arguments))
    }
}
