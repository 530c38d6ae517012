//! The files that tool calls name.

use super::fragment::Fragment;
use crate::session::content::members;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::file_calls::{FileCall, file_of};
use crate::session::read::record::{Member, Typed};
use pisess_json::Raw;

impl Fragment {
    /// Stores the calls of an assistant message, or nested in a tool result, that name a file.
    pub fn keep_file_calls(&mut self, entry: EntryIx, typed: &Typed) {
        let mut calls = self.collected.file_calls.take().unwrap_or_default();
        let mut keep = |name, arguments| {
            if let Some((tool, path)) = file_of(name, arguments) {
                calls.push(FileCall {
                    entry,
                    tool,
                    path: self.keep(&path),
                });
            }
        };
        match (typed.kind, typed.role) {
            (Kind::Message, Role::Assistant) => {
                let calls = typed.blocks.iter().filter(|block| block.is_call());
                calls.for_each(|call| keep(call.name, call.arguments));
            }
            (Kind::Message, Role::ToolResult) => {
                let nested = typed
                    .record
                    .message
                    .as_ref()
                    .and_then(|message| message.get(Member::NestedCalls));
                let calls = nested
                    .and_then(|nested| nested.get("calls"))
                    .unwrap_or(Raw::NULL);
                for call in calls.items() {
                    let [name, arguments] = members(call, ["name", "arguments"]);
                    keep(name, arguments);
                }
            }
            _ => {}
        }
        self.collected.file_calls = Some(calls);
    }
}
