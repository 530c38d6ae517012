//! The files of a summary: found in tool calls (pi's `extractFileOpsFromMessage`), stored in `details`, listed below the
//! text; and the preamble of a branch summary.

use super::context;
use crate::agents::prepare::{FileLists, FileOps};
use crate::session::content;
use crate::session::entry::Role;
use crate::session::file_calls::file_of;
use crate::session::read::entry_reader::{EntryReader, Message};
use pisess_json::Raw;
use pisess_json::text::Text;
use std::io;

/// The preamble of a branch summary.
pub const BRANCH_SUMMARY_PREAMBLE: &str = "The user explored a different conversation branch before returning here.\nSummary of that exploration:\n\n";

/// Appends the files that were read and modified (pi's `formatFileOperations`); nothing if there are none.
pub fn append(summary: &mut Text, files: &FileLists) {
    let lists = [("read-files", &files.read_files), ("modified-files", &files.modified_files)];
    for (tag, paths) in lists.into_iter().filter(|(_, paths)| !paths.is_empty()) {
        summary.push_all(&[&"\n\n<", &tag, &">"]);
        paths.iter().for_each(|path| summary.push_all(&[&"\n", path]));
        summary.push_all(&[&"\n</", &tag, &">"]);
    }
}

/// Adds the files named by a message's calls: those of an assistant message, and those that a tool result
/// records as nested.
pub fn add_message(message: &Message, bodies: &EntryReader, ops: &mut FileOps) -> io::Result<()> {
    let session = bodies.session();
    let role = context::role(session, message);
    if !matches!(role, Role::Assistant | Role::ToolResult) {
        return Ok(());
    }
    if let Some(calls) = message.file_calls(session) {
        calls.iter().for_each(|call| ops.add(call.tool, session.text(call.path)));
        return Ok(());
    }
    message.with(bodies, |json| match role {
        Role::Assistant => {
            let calls = content::blocks_of(json.get("content").unwrap_or(Raw::NULL), "toolCall");
            calls.for_each(|call| add_call(call, ops));
        }
        _ => {
            let calls = json.get("nestedCalls").and_then(|nested| nested.get("calls"));
            calls.into_iter().flat_map(Raw::items).for_each(|call| add_call(call, ops));
        }
    })
}

/// Adds the files in the `details` of a compaction or branch summary entry that pi itself wrote.
pub fn add_details(line: Raw, ops: &mut FileOps) {
    ops.add_details(line, "fromHook", |path| path.borrowed().into_owned());
}

fn add_call(call: Raw, ops: &mut FileOps) {
    let [name, arguments] = content::members(call, ["name", "arguments"]);
    if let Some((tool, path)) = file_of(name, arguments) {
        ops.add(tool, path);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::pi::testing::*;
    use crate::load::Options;
    use crate::session::read::entry_reader::Body;

    fn files(sample: &Sample) -> [Vec<String>; 3] {
        let mut ops = FileOps::default();
        for entry in sample.path() {
            let message = Message { entry, body: Body::Stored };
            add_message(&message, &sample.bodies(), &mut ops).unwrap();
        }
        [ops.read, ops.written, ops.edited].map(|paths| paths.iter().map(Text::to_string).collect())
    }

    #[test]
    fn files_found_while_loading_are_those_in_the_messages() {
        let call = |name: &str, path: &str| {
            format!(r#"{{"type":"toolCall","name":"{name}","arguments":{{"path":"old","path":"{path}"}}}}"#)
        };
        let assistant = [call("read", "a"), call("edit", ""), call("\\u0065dit", "b\\n"), call("ls", "c")];
        let other = r#"{"type":"text","name":"read","arguments":{"path":"d"}},null,7"#;
        let nested = [call("write", "e"), call("read", "a")].join(",");
        let entries = [
            says("user", &format!(r#""content":[{}]"#, call("read", "f"))),
            says("assistant", &format!(r#""content":"","content":[{},{other}]"#, assistant.join(","))),
            says("toolResult", &format!(r#""content":[],"nested\u0043alls":{{"calls":[{nested}]}}"#)),
            says("assistant", &format!(r#""content":[{}],"content":"text""#, call("read", "g"))),
            says("assistant", ""),
        ];
        let sample = chain(&entries);
        assert!(sample.session.file_calls(sample.path()[1]).is_none());
        let expected = [vec!["a"], vec!["e"], vec!["b\n"]];
        assert_eq!(files(&sample), expected);
        let sample = sample.loaded(&Options { file_calls: true, ..Options::default() });
        assert_eq!(sample.session.file_calls(sample.path()[2]).unwrap().len(), 2);
        assert_eq!(files(&sample), expected);
    }

    #[test]
    fn lists_follow_the_summary() {
        let mut summary = Text::from("S");
        append(&mut summary, &FileLists::default());
        assert_eq!(summary, "S");
        let paths = |names: &[&'static str]| names.iter().copied().map(Text::from).collect();
        let files = FileLists { read_files: paths(&["a", "b"]), modified_files: paths(&["c"]) };
        append(&mut summary, &files);
        assert_eq!(
            summary,
            "S\n\n<read-files>\na\nb\n</read-files>\n\n<modified-files>\nc\n</modified-files>"
        );
    }
}
