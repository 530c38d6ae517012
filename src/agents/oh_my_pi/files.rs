//! The files of a summary: found in tool calls, stored in `details`, listed below the text.

use super::path_tree::outline;
use super::template;
use crate::agents::prepare::{FileLists, FileOps, Paths};
use crate::session::content;
use crate::session::entry::Role;
use crate::session::file_calls::{FileAct, FileTool, file_of};
use crate::session::read::entry_reader::{Body, EntryReader, Message};
use pisess_json::Raw;
use pisess_json::text::{self, Text, concat, joined};
use std::io;

/// The number of files listed below a summary.
const LISTED: usize = 20;

pub use template::BRANCH_PREAMBLE;

/// Adds the files named by the calls of a message (`extractFileOpsFromMessage`).
pub fn add_message(message: &Message, bodies: &dyn EntryReader, ops: &mut FileOps) -> io::Result<()> {
    let session = bodies.session();
    let stored = matches!(message.body, Body::Stored);
    if stored && session.entry(message.entry).role != Role::Assistant {
        return Ok(());
    }
    if let Some(calls) = message.file_calls(session) {
        calls.iter().for_each(|call| add(call.tool, session.text(call.path), ops));
        return Ok(());
    }
    message.with(bodies, |raw| {
        let [role, content] = content::members(raw, ["role", "content"]);
        if role.is_some_and(|role| role.is("assistant")) {
            content.into_iter().flat_map(Raw::items).for_each(|block| add_call(block, ops));
        }
    })
}

fn add_call(block: Raw, ops: &mut FileOps) {
    let [kind, name, arguments] = content::members(block, ["type", "name", "arguments"]);
    if let Some((tool, path)) =
        file_of(name, arguments).filter(|_| kind.is_some_and(|kind| kind.is("toolCall")))
    {
        add(tool, path, ops);
    }
}

/// Adds a file, unless its path is a URL.
fn add(tool: FileTool, path: Text, ops: &mut FileOps) {
    match tool.act {
        _ if is_url(&path) => {}
        FileAct::Read => ops.add(tool, without_selector(&path)),
        FileAct::Write | FileAct::Edit => ops.add(tool, path),
    }
}

/// Adds the files in the `details` of a summary that the agent itself wrote.
pub fn add_details(line: Raw, ops: &mut FileOps) {
    ops.add_details(line, "fromExtension", |path| without_selector(path).into_owned());
}

/// Returns the `details` of a new summary (`computeFileLists`): without URLs; a file that was changed is not
/// listed as read.
pub fn lists(ops: &FileOps) -> FileLists {
    let mut lists = ops.lists();
    for paths in [&mut lists.read_files, &mut lists.modified_files] {
        paths.retain(|path| !is_url(path));
    }
    lists
}

/// Returns the summary followed by its list of files, which replaces any list it had
/// (`upsertFileOperations`). `read` are all files that were read, whether changed or not.
pub fn append(summary: &Text, files: &FileLists, read: &Paths) -> Text<'static> {
    let bare = without_lists(summary);
    let list = listed(files, read);
    match (bare.is_empty(), list.is_empty()) {
        (_, true) => bare,
        (true, _) => list,
        _ => concat(&[&bare, &"\n\n", &list]),
    }
}

/// Returns the files as an outline in its tag; empty if there are none.
fn listed(files: &FileLists, read: &Paths) -> Text<'static> {
    let mut all: Vec<&Text> = files.read_files.iter().chain(&files.modified_files).collect();
    all.sort_by(|a, b| a.cmp_utf16(b));
    all.dedup();
    if all.is_empty() {
        return Text::default();
    }
    let mode = |file: &Text| match (files.modified_files.iter().any(|path| path == file), read.contains(file))
    {
        (false, _) => " (Read)",
        (true, true) => " (RW)",
        (true, false) => " (Write)",
    };
    let lines = outline(all.iter().copied().take(LISTED)).into_iter().map(|line| match line.file {
        None => concat(&[&"#".repeat(line.depth + 1), &" ", &line.name, &"/"]),
        Some(file) => concat(&[&line.name, &mode(file)]),
    });
    let mut tree = joined(lines, "\n");
    if let more @ 1.. = all.len().saturating_sub(LISTED) {
        tree.push_str(&format!("\n[…{more} files elided…]"));
    }
    if tree.is_empty() { tree } else { template::files(&tree) }
}

/// Returns the text without lists added by this agent or an older version, and without trailing white space.
fn without_lists(summary: &Text) -> Text<'static> {
    let mut text = summary.as_bytes().to_vec();
    for (open, close) in [
        ("<files>", "</files>"),
        ("<read-files>", "</read-files>"),
        ("<modified-files>", "</modified-files>"),
    ] {
        text = without_tag(&text, open.as_bytes(), close.as_bytes());
    }
    Text::from_wtf8(text::trim_end(&text).to_vec())
}

fn without_tag(text: &[u8], open: &[u8], close: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = memchr::memmem::find(rest, open) {
        let Some(end) = memchr::memmem::find(&rest[start + open.len()..], close) else { break };
        out.extend_from_slice(&rest[..start]);
        let behind = &rest[start + open.len() + end + close.len()..];
        rest = &behind[text::leading_space(behind)..];
    }
    out.extend_from_slice(rest);
    out
}

/// Whether a path contains `scheme://`, at any position.
fn is_url(path: &Text) -> bool {
    let bytes = path.as_bytes();
    memchr::memmem::find_iter(bytes, b"://").any(|colon| {
        let scheme = bytes[..colon].iter().rev();
        let scheme = scheme.take_while(|b| b.is_ascii_alphanumeric() || matches!(b, b'+' | b'.' | b'-'));
        scheme.into_iter().any(u8::is_ascii_alphabetic)
    })
}

/// Returns a path without the suffix that the read tool interprets as a selection: `:50-200`, `:raw`,
/// `:1-50:raw`.
fn without_selector<'a>(path: &'a Text) -> Text<'a> {
    let bytes = path.as_bytes();
    let split = |bytes: &'a [u8]| {
        let colon = bytes.iter().rposition(|&byte| byte == b':').filter(|&colon| colon > 0)?;
        Some((&bytes[..colon], &bytes[colon + 1..]))
    };
    let Some((base, selector)) = split(bytes).filter(|(_, selector)| is_selector(selector)) else {
        return path.borrowed();
    };
    let compound = split(base).filter(|(_, inner)| {
        (is_raw(inner) && is_ranges(selector)) || (is_ranges(inner) && is_raw(selector))
    });
    Text::from_wtf8(compound.map_or(base, |(base, _)| base))
}

fn is_selector(text: &[u8]) -> bool {
    is_ranges(text) || is_raw(text) || text.eq_ignore_ascii_case(b"conflicts")
}

fn is_raw(text: &[u8]) -> bool {
    text.eq_ignore_ascii_case(b"raw")
}

/// Whether it is `50`, `50-`, `50-200`, `L5..L9`, `50+10`, or several separated by commas.
fn is_ranges(text: &[u8]) -> bool {
    text.split(|&byte| byte == b',').all(is_range)
}

fn is_range(text: &[u8]) -> bool {
    let Some(rest) = line_number(text) else { return false };
    let second = rest.strip_prefix(b"..").or_else(|| rest.strip_prefix(b"-"));
    match second.or_else(|| rest.strip_prefix(b"+")) {
        None => rest.is_empty(),
        Some(b"") => second.is_some(),
        Some(end) => line_number(end).is_some_and(<[u8]>::is_empty),
    }
}

/// Returns the rest after `12` or `L12`.
fn line_number(text: &[u8]) -> Option<&[u8]> {
    let digits = text.strip_prefix(b"L").or_else(|| text.strip_prefix(b"l")).unwrap_or(text);
    let length = digits.iter().take_while(|byte| byte.is_ascii_digit()).count();
    (length > 0).then(|| &digits[length..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors_come_off() {
        for path in [
            "a.ts:50",
            "a.ts:50-200",
            "a.ts:5-16,960-973",
            "a.ts:RAW",
            "a.ts:raw:1-50",
            "a.ts:1-50:raw",
            "a.ts:L5..L9",
            "a.ts:5-",
            "a.ts:50+10",
            "a.ts:conflicts",
        ] {
            assert_eq!(without_selector(&Text::from(path)), "a.ts", "{path}");
        }
        for path in ["a.ts:", ":50", "a.ts:x", "a.ts:5+", "a.ts:5,", "a.ts:raw:raw2", "C:a"] {
            assert_eq!(without_selector(&Text::from(path)), path, "{path}");
        }
        assert_eq!(without_selector(&Text::from("a:raw:raw")), "a:raw");
    }

    #[test]
    fn urls_are_no_files() {
        for (path, url) in [
            ("a://b", true),
            ("file.ts:conflict://1", true),
            ("a/b:c", false),
            ("://x", false),
            ("1://", false),
            ("é-a1://", true),
        ] {
            assert_eq!(is_url(&Text::from(path)), url, "{path}");
        }
    }

    #[test]
    fn the_list_takes_the_place_of_older_ones() {
        let mut ops = FileOps::default();
        ops.read.insert("src/a.ts".into());
        ops.read.insert("src/b.ts".into());
        ops.edited.insert("src/b.ts".into());
        ops.written.insert("c.ts".into());
        let summary = Text::from("S\n<files>\nold\n</files>\n\n<read-files>\nx\n</read-files> end \n");
        assert_eq!(
            append(&summary, &lists(&ops), &ops.read),
            "S\nend\n\n<files>\nc.ts (Write)\n# src/\na.ts (Read)\nb.ts (RW)\n</files>"
        );
        assert_eq!(append(&summary, &FileLists::default(), &ops.read), "S\nend");
    }
}
