//! The tool behind a match: what printed the text, or what is called there.

use crate::agents::readable::{Folders, describe_call, describe_execution, execution_tool};
use crate::session::read::line_chunks::LineChunk;
use crate::session::read::record::{Block, Member, MessageFacts, scan_record};
use memchr::{memchr, memmem, memrchr};
use pisess_json::text::Text;
use pisess_json::{Raw, Scanner};
use pisess_store::ReadAt;
use std::io;

/// The number of bytes before a result in which its call is looked for. A call is in the message
/// before, and only the results of other calls are between them.
const CALL_WINDOW: u64 = 256 * 1024;

/// A tool, and what it works on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToolUse {
    /// Its name: `bash`.
    pub name: Text<'static>,
    /// The command, the path or the pattern; empty if the call is not found.
    pub subject: Text<'static>,
    /// Whether the match is in the call, and not in what the tool printed.
    pub is_call: bool,
}

impl ToolUse {
    fn new(name: Text, arguments: Raw, folders: Folders) -> ToolUse {
        ToolUse {
            subject: describe_call(&name, arguments, folders).text,
            name: name.into_owned(),
            is_call: false,
        }
    }

    /// Returns the call in which a field of a reply is; `None` for its other fields. `field` is the
    /// path of the field.
    pub(super) fn of_call(field: &str, blocks: &[Block], folders: Folders) -> Option<ToolUse> {
        let (index, _) = field.strip_prefix("message.content[")?.split_once(']')?;
        let index: u32 = index.parse().ok()?;
        let block = blocks.iter().find(|block| block.index == index)?;
        if !block.is_call() {
            return None;
        }
        let name = block.name.and_then(Raw::text).unwrap_or_default();
        let arguments = block.arguments.unwrap_or(Raw::NULL);
        Some(ToolUse {
            is_call: true,
            ..ToolUse::new(name, arguments, folders)
        })
    }

    /// Returns the command or code that the user ran.
    pub(super) fn of_execution(message: &MessageFacts, folders: Folders) -> ToolUse {
        let message = Raw::from_checked(message.bytes);
        ToolUse {
            name: Text::from(execution_tool(message)),
            subject: describe_execution(message, folders).text,
            is_call: false,
        }
    }

    /// Returns the tool of a result, and what its call says. The call is looked for before the
    /// result, which is on the line that starts at the offset `start` in a chunk.
    pub(super) fn of_result(
        source: &dyn ReadAt,
        result: &MessageFacts,
        chunk: LineChunk,
        start: usize,
        folders: Folders,
    ) -> io::Result<ToolUse> {
        let name = Raw::from_checked(result.bytes).get_text("toolName");
        let name = name.unwrap_or(Text::from("tool")).into_owned();
        let named = ToolUse {
            name: name.clone(),
            ..ToolUse::default()
        };
        let Some(call_id) = result.get(Member::ToolCallId).filter(|id| id.is_string()) else {
            return Ok(named);
        };

        let line_offset = chunk.start + start as u64;
        let window_start = line_offset.saturating_sub(CALL_WINDOW);
        let start_in_chunk = window_start.saturating_sub(chunk.start) as usize;
        let in_chunk = &chunk.bytes[start_in_chunk..start];
        if let Some(found) = find_call_before(in_chunk, call_id, &name, folders) {
            return Ok(found);
        }
        if window_start >= chunk.start {
            return Ok(named);
        }
        let mut before_chunk = vec![0; (chunk.start - window_start) as usize];
        source.read_exact_at(&mut before_chunk, window_start)?;
        Ok(find_call_before(&before_chunk, call_id, &name, folders).unwrap_or(named))
    }
}

/// Returns the last call with this id in whole lines. The first line may be cut, and then has no
/// call. `call_id` is the id as the result has it.
fn find_call_before(lines: &[u8], call_id: Raw, name: &Text, folders: Folders) -> Option<ToolUse> {
    let mut end = lines.len();
    let mut blocks = Vec::new();
    while let Some(found) = memmem::rfind(&lines[..end], call_id.bytes()) {
        let line_start = memrchr(b'\n', &lines[..found]).map_or(0, |newline| newline + 1);
        let line_end = memchr(b'\n', &lines[found..]).map_or(lines.len(), |len| found + len);
        end = line_start;
        // One walk validates the line and collects the blocks of its message.
        let mut scanner = Scanner::new(&lines[line_start..line_end]);
        let is_entry = scan_record(&mut scanner, &mut blocks).is_ok() && scanner.at_end();
        if !is_entry {
            continue;
        }
        for block in &blocks {
            let has_id = block.id.is_some_and(|id| id.bytes() == call_id.bytes());
            if block.is_call() && has_id {
                let arguments = block.arguments.unwrap_or(Raw::NULL);
                return Some(ToolUse::new(name.as_borrowed(), arguments, folders));
            }
        }
    }
    None
}
