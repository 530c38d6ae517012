//! The files that tool calls name.

use super::fragment::Fragment;
use crate::session::content::find_members;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::file_calls::{FileCall, called_files};
use crate::session::read::record::{Member, ParsedEntry};
use pisess_json::Raw;

impl Fragment {
    /// Stores the tool calls of an entry that name a file. An assistant message has calls among its
    /// content blocks. A tool may make calls itself, such as a script that reads files: its result
    /// lists them.
    pub fn keep_file_calls(&mut self, entry: EntryIx, parsed: &ParsedEntry) {
        // Set even if no call follows: `None` means that calls were not requested.
        self.collected.file_calls.get_or_insert_default();
        match (parsed.kind, parsed.role) {
            (Kind::Message, Role::Assistant) => {
                for call in parsed.blocks.iter().filter(|block| block.is_call()) {
                    self.keep_file_call(entry, call.name, call.arguments);
                }
            }
            (Kind::Message, Role::ToolResult) => {
                for call in nested_calls(parsed).items() {
                    let [name, arguments] = find_members(call, ["name", "arguments"]);
                    self.keep_file_call(entry, name, arguments);
                }
            }
            _ => {}
        }
    }

    /// Stores a tool call once for each file that it names; nothing for a call that names none.
    /// oh-my-pi's `edit` can name several.
    fn keep_file_call(&mut self, entry: EntryIx, name: Option<Raw>, arguments: Option<Raw>) {
        for file in called_files(name, arguments) {
            let path = self.keep_text(&file.path);
            let calls = self.collected.file_calls.get_or_insert_default();
            calls.push(FileCall {
                entry,
                tool: file.tool,
                path,
            });
        }
    }
}

/// Returns the calls that a tool made itself, as its result lists them; `null` if there are none.
fn nested_calls<'r>(parsed: &ParsedEntry<'r>) -> Raw<'r> {
    let message = parsed.record.message.as_ref();
    let nested = message.and_then(|message| message.get(Member::NestedCalls));
    let calls = nested.and_then(|nested| nested.get("calls"));
    calls.unwrap_or(Raw::NULL)
}
