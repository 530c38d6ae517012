//! The files that tool calls name.

use super::fragment::Fragment;
use crate::session::content::find_members;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::file_calls::{FileCall, called_file};
use crate::session::read::record::{Member, TypedRecord};
use pisess_json::Raw;

impl Fragment {
    /// Stores the calls of an assistant message, or nested in a tool result, that name a file.
    pub fn keep_file_calls(&mut self, entry: EntryIx, typed: &TypedRecord) {
        // Set even if no call follows: `None` means that calls were not requested.
        let mut kept = self.collected.file_calls.take().unwrap_or_default();
        match (typed.kind, typed.role) {
            (Kind::Message, Role::Assistant) => {
                for call in typed.blocks.iter().filter(|block| block.is_call()) {
                    if let Some(call) = self.keep_path_of_call(entry, call.name, call.arguments) {
                        kept.push(call);
                    }
                }
            }
            (Kind::Message, Role::ToolResult) => {
                for call in nested_calls(typed).items() {
                    let [name, arguments] = find_members(call, ["name", "arguments"]);
                    if let Some(call) = self.keep_path_of_call(entry, name, arguments) {
                        kept.push(call);
                    }
                }
            }
            _ => {}
        }
        self.collected.file_calls = Some(kept);
    }

    /// Stores the path of a call in the arena, if the call names a file.
    fn keep_path_of_call(
        &mut self,
        entry: EntryIx,
        name: Option<Raw>,
        arguments: Option<Raw>,
    ) -> Option<FileCall> {
        let (tool, path) = called_file(name, arguments)?;
        let path = self.keep_text(&path);
        Some(FileCall { entry, tool, path })
    }
}

/// Returns the calls that a tool made itself, as its result lists them; `null` if there are none.
fn nested_calls<'r>(typed: &TypedRecord<'r>) -> Raw<'r> {
    let message = typed.record.message.as_ref();
    let nested = message.and_then(|message| message.get(Member::NestedCalls));
    let calls = nested.and_then(|nested| nested.get("calls"));
    calls.unwrap_or(Raw::NULL)
}
