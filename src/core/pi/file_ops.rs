//! The files named by tool calls (pi's `extractFileOpsFromMessage`).

use super::context;
use crate::core::bodies::{Bodies, Message};
use crate::core::content;
use crate::core::entry::Role;
use crate::core::json::Raw;
use crate::core::json::js;
use crate::core::prepare::FileOps;
use crate::core::session::Session;
use crate::core::text::Text;
use memchr::memmem;
use std::io;

/// Adds the files named by a message's calls: those of an assistant message, and those that a tool result
/// records as nested.
///
/// # Errors
/// If a line cannot be read.
pub fn add_message(
    session: &Session,
    message: &Message,
    bodies: &dyn Bodies,
    ops: &mut FileOps,
) -> io::Result<()> {
    match context::role(session, message) {
        Role::Assistant => message.with(bodies, |json| {
            let blocks = json.get("content").into_iter().flat_map(Raw::items);
            blocks.filter(|block| content::is_block(*block, "toolCall")).for_each(|call| add_call(call, ops));
        }),
        // Few results have nested calls, so searching their bytes skips most. The key may be spelled with an
        // escape.
        Role::ToolResult => message.with(bodies, |json| {
            let has = |name: &str| memmem::find(json.bytes(), name.as_bytes()).is_some();
            if !has("nestedCalls") && !has("\\u00") {
                return;
            }
            let calls = json.get("nestedCalls").and_then(|nested| nested.get("calls"));
            calls.into_iter().flat_map(Raw::items).for_each(|call| add_call(call, ops));
        }),
        _ => Ok(()),
    }
}

/// Adds the files in the `details` of a compaction or branch summary entry that pi itself wrote.
pub fn add_details(line: Raw, ops: &mut FileOps) {
    let [from_hook, details] = content::members(line, ["fromHook", "details"]);
    let Some(details) = details.filter(|_| !js::truthy(from_hook)) else { return };
    let [read, modified] = content::members(details, ["readFiles", "modifiedFiles"]);
    texts(read).for_each(|path| ops.read.insert(path));
    texts(modified).for_each(|path| ops.edited.insert(path));
}

fn texts(list: Option<Raw<'_>>) -> impl Iterator<Item = Text<'_>> {
    list.into_iter().flat_map(Raw::items).filter_map(Raw::text)
}

fn add_call(call: Raw, ops: &mut FileOps) {
    let [name, arguments] = content::members(call, ["name", "arguments"]);
    let Some(path) = arguments.and_then(|arguments| arguments.get_text("path")) else { return };
    if path.is_empty() {
        return;
    }
    match name.and_then(Raw::text) {
        Some(name) if name == "read" => ops.read.insert(path),
        Some(name) if name == "write" => ops.written.insert(path),
        Some(name) if name == "edit" => ops.edited.insert(path),
        _ => {}
    }
}
