//! Rows for people, where those of the agents are less informative: tool calls with paths relative
//! to the session's directory, summaries without their preamble, skill prompts as the user typed
//! them, forwarded messages without what the chat program puts around the words.
//!
//! Calls are described by the shape of their arguments (a command, a path, a pattern), not by the
//! tool's name, so that the tools of both agents and of extensions read alike. All other rows are
//! those of the agents.

use crate::agents::oh_my_pi::files::BRANCH_PREAMBLE;
use crate::agents::pi::files::BRANCH_SUMMARY_PREAMBLE;
use crate::agents::row::{ROW_UNITS, RowText, forwarded, head, normalize};
use crate::format;
use crate::session::content;
use crate::session::entry::{Kind, Role};
use crate::session::paths;
use crate::session::read::record::{Member, Typed};
use pisess_json::text::{Text, concat, joined};
use pisess_json::{Raw, js};
use std::ops::Range;

/// The number of UTF-16 units to read of a summary, which begins with a preamble.
const SUMMARY_UNITS: usize = 600;

/// A short description of a call.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Call {
    /// The text.
    pub text: Text<'static>,
    /// The range of a path in it, in bytes, which the output may truncate in the middle.
    pub path: Range<usize>,
}

/// The directories that paths are relative to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Folders<'a> {
    /// The working directory of the session.
    pub cwd: Option<&'a Text<'static>>,
    /// The user's home directory.
    pub home: Option<&'a Text<'static>>,
}

/// Returns the row of an entry whose row in the agents' trees is less informative; `None` for all
/// others.
pub fn text<'r>(typed: &Typed<'r>) -> Option<RowText<'r>> {
    let Typed {
        kind, role, record, ..
    } = *typed;
    let entry = Raw::checked(record.bytes);
    match kind {
        Kind::Compaction => {
            let tokens = entry
                .get("tokensBefore")
                .and_then(Raw::number)
                .unwrap_or(0.0);
            let mut body = Text::from(format!("{} tokens", format::tokens(tokens)));
            let words = summary(entry);
            body.push_str(if words.is_empty() { "" } else { " · " });
            body.push(&words);
            Some(RowText::said("compaction", &body))
        }
        Kind::BranchSummary => Some(RowText::said("branch summary", &summary(entry))),
        Kind::CustomMessage
            if entry
                .get("customType")
                .is_some_and(|kind| kind.is("skill-prompt")) =>
        {
            let prompt = entry
                .get("details")?
                .get_text("prompt")
                .filter(|prompt| !prompt.is_blank())?;
            Some(RowText::named(
                "skill-prompt",
                &normalize(prompt.head(ROW_UNITS)),
            ))
        }
        Kind::Message if role == Role::User => Some(RowText::said(
            "user",
            &forwarded(record.message.as_ref()?, typed.blocks)?,
        )),
        Kind::Message if role == Role::ToolResult => {
            let name = record
                .message
                .as_ref()
                .and_then(|message| message.get(Member::ToolName))
                .and_then(Raw::text);
            Some(RowText::role(name.unwrap_or(Text::from("tool"))))
        }
        _ => None,
    }
}

/// Returns the first words of a summary, without the agent's preamble and the first heading.
fn summary(entry: Raw) -> Text<'static> {
    let start = entry
        .get("summary")
        .and_then(|summary| head(summary, SUMMARY_UNITS))
        .unwrap_or_default();
    let text = start.to_string_lossy();
    let mut rest = without_preamble(&text).trim_start();
    while rest.starts_with('#') {
        rest = rest
            .split_once('\n')
            .map_or("", |(_, rest)| rest)
            .trim_start();
    }
    // Up to the next heading.
    rest = rest.split("\n#").next().unwrap_or_default();
    // The line above the request in a built-in summary only says what it is.
    let quotation = rest
        .split_once(":\n> ")
        .filter(|(lead, _)| lead.starts_with("The last request") && !lead.contains('\n'));
    normalize(Text::from(quotation.map_or(rest, |(_, quoted)| quoted))).head(ROW_UNITS)
}

/// Returns a branch summary without what the agents put before it.
pub fn without_preamble(summary: &str) -> &str {
    let preambles = [BRANCH_SUMMARY_PREAMBLE, BRANCH_PREAMBLE];
    preambles
        .iter()
        .find_map(|preamble| summary.strip_prefix(preamble))
        .unwrap_or(summary)
}

/// The number of UTF-16 units to read of a command, which may begin with a change to the session's
/// directory.
const COMMAND_UNITS: usize = 3 * ROW_UNITS;

/// The number of words to read of a command.
const MOST_WORDS: usize = 100;

/// Returns a description of a tool call.
pub fn call(name: &Text, arguments: Raw, folders: Folders) -> Call {
    // A single walk, because arguments may contain a whole file.
    const NAMES: [&str; 15] = [
        "command",
        "cmd",
        "path",
        "file_path",
        "notebook_path",
        "filePath",
        "file",
        "paths",
        "pattern",
        "query",
        "regex",
        "offset",
        "limit",
        "input",
        "patch",
    ];
    let found = content::members(arguments, NAMES);
    let given = |range: Range<usize>| {
        found[range]
            .iter()
            .flatten()
            .find(|value| value.is_truthy())
            .copied()
    };
    if let Some(command) = given(0..2).and_then(|line| command(line, COMMAND_UNITS)) {
        return whole(normalize(command_in(command, folders)));
    }
    let named = given(2..8).map(|value| all_paths(value, folders));
    let path = named.or_else(|| Some(short(&patched(given(13..15)?)?, folders)));
    if let Some(pattern) = given(8..11).and_then(|pattern| head(pattern, ROW_UNITS)) {
        let slash = if *name == "grep" || *name == "Grep" {
            "/"
        } else {
            ""
        };
        let mut text = concat(&[&slash, &normalize(pattern), &slash]);
        let Some(path) = path.filter(|path| *path != ".") else {
            return whole(text);
        };
        text.push_str(" in ");
        return with_path(text, &path, "");
    }
    match path {
        Some(path) => with_path(Text::default(), &path, &lines(found[11], found[12])),
        None => whole(members(arguments)),
    }
}

/// Returns the beginning of a command line, given as a string, or as an array of words as in Codex:
/// of a shell and its command, the command.
pub fn command(line: Raw, units: usize) -> Option<Text<'static>> {
    let words: Vec<Raw> = line.items().take(MOST_WORDS).collect();
    match *words {
        [] => head(line, units),
        [_, option, line] if option.is("-lc") || option.is("-c") => head(line, units),
        _ => Some(joined(words.into_iter().filter_map(|word| head(word, units)), " ").head(units)),
    }
}

/// Returns the first file that a patch names.
fn patched(patch: Raw) -> Option<Text<'static>> {
    let start = head(patch, COMMAND_UNITS)?;
    let text = start.to_string_lossy();
    let name = text
        .lines()
        .find_map(|line| line.strip_prefix("*** ")?.split_once(" File: "))?
        .1;
    Some(Text::from(name.trim()).into_owned())
}

fn whole(text: Text<'static>) -> Call {
    with_path(text, &Text::default(), "")
}

fn with_path(mut text: Text<'static>, path: &Text, behind: &str) -> Call {
    let start = text.as_bytes().len();
    text.push(path);
    let end = text.as_bytes().len();
    text.push_str(behind);
    text.truncate(ROW_UNITS);
    text.drop_half();
    // If the path itself was truncated, its range is not recorded.
    let path = if text.as_bytes().len() < end {
        0..0
    } else {
        start..end
    };
    Call { text, path }
}

/// Returns one or several paths relative to the session's directory.
fn all_paths(value: Raw, folders: Folders) -> Text<'static> {
    let texts = value
        .text()
        .into_iter()
        .chain(value.items().filter_map(Raw::text));
    joined(texts.map(|path| short(&normalize(path), folders)), ", ")
}

fn short(path: &Text, folders: Folders) -> Text<'static> {
    let below = |folder: Option<&Text<'static>>| {
        paths::below(path.as_bytes(), folder?.as_bytes()).map(<[u8]>::trim_ascii)
    };
    if let Some(rest) = below(folders.cwd) {
        return Text::from_wtf8(if rest.is_empty() {
            b".".to_vec()
        } else {
            rest.to_vec()
        });
    }
    let slash: &[u8] = if paths::is_windows(path.as_bytes()) {
        b"\\"
    } else {
        b"/"
    };
    match below(folders.home) {
        Some(b"") => Text::from("~"),
        Some(rest) => Text::from_wtf8([b"~", slash, rest].concat()),
        None => path.borrowed().into_owned(),
    }
}

/// Returns the range of lines read from a file, as `:from-to`.
fn lines(offset: Option<Raw>, limit: Option<Raw>) -> String {
    let number = |value: Option<Raw>| value.and_then(Raw::number).filter(|number| *number >= 1.0);
    match (number(offset), number(limit)) {
        (None, None) => String::new(),
        (Some(from), None) => format!(":{}", js::number(from)),
        (given, Some(count)) => {
            let from = given.unwrap_or(1.0);
            format!(":{}-{}", js::number(from), js::number(from + count - 1.0))
        }
    }
}

/// Returns a command without a leading `cd` to the session's directory; a `cd` to a subdirectory is
/// kept, with the relative path.
fn command_in<'a>(command: Text<'a>, folders: Folders) -> Text<'a> {
    let trimmed = command.trim();
    let changed = trimmed
        .as_bytes()
        .strip_prefix(b"cd ")
        .and_then(|rest| split_folder(rest.trim_ascii_start()));
    let Some((folder, rest)) = changed else {
        return command;
    };
    let shown = short(&Text::from_wtf8(folder), folders);
    if shown == "." {
        return Text::from_wtf8(rest.to_vec());
    }
    if shown.as_bytes() == folder {
        return command;
    }
    concat(&[&"cd ", &shown, &" && ", &rest])
}

/// Returns the directory of a leading `cd`, and the command after `&&`.
fn split_folder(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let (folder, rest) = match text.first()? {
        quote @ (b'"' | b'\'') => {
            let end = memchr::memchr(*quote, &text[1..])? + 1;
            (&text[1..end], &text[end + 1..])
        }
        _ => text.split_at(
            text.iter()
                .position(|byte| byte.is_ascii_whitespace() || matches!(byte, b'&' | b';'))?,
        ),
    };
    let command = rest
        .trim_ascii_start()
        .strip_prefix(b"&&")?
        .trim_ascii_start();
    let folder = if folder.len() > 1 {
        folder.strip_suffix(b"/").unwrap_or(folder)
    } else {
        folder
    };
    Some((folder, command))
}

/// Returns arguments of no known shape: the value if there is one argument, else `key=value` for
/// each.
fn members(arguments: Raw) -> Text<'static> {
    let mut text = Text::default().into_owned();
    let count = arguments.members().take(2).count();
    for (key, value) in arguments.members() {
        if text.utf16_len() > ROW_UNITS {
            break;
        }
        text.push_str(if text.is_empty() { "" } else { " " });
        if count > 1 {
            text.push(&pisess_json::string::decode(key.bytes));
            text.push_str("=");
        }
        match head(value, ROW_UNITS) {
            Some(head) => text.push(&normalize(head)),
            None => text.push(&js::stringify(value).head(ROW_UNITS)),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::read::record::Record;

    fn shown(name: &str, arguments: &str) -> String {
        let (cwd, home) = (Text::from("/home/u/code/x"), Text::from("/home/u"));
        let arguments = Raw::parse(arguments.as_bytes()).unwrap();
        let call = call(
            &Text::from(name),
            arguments,
            Folders {
                cwd: Some(&cwd),
                home: Some(&home),
            },
        );
        let (text, path) = (call.text.to_string(), call.path);
        format!(
            "{}<{}>{}",
            &text[..path.start],
            &text[path.clone()],
            &text[path.end..]
        )
        .replace("<>", "")
    }

    #[test]
    fn calls_read_from_the_folder_of_the_session() {
        let cases = [
            (
                "read",
                r#"{"path":"/home/u/code/x/src/a.rs","offset":5,"limit":10}"#,
                "<src/a.rs>:5-14",
            ),
            ("read", r#"{"file_path":"/home/u/b","offset":5}"#, "<~/b>:5"),
            (
                "read",
                r#"{"path":"/home/u/code/xy","limit":3}"#,
                "<~/code/xy>:1-3",
            ),
            ("ls", r#"{"path":"/home/u/code/x"}"#, "<.>"),
            ("ls", "{}", ""),
            (
                "grep",
                r#"{"pattern":"a b","path":"/home/u/code/x/src/"}"#,
                "/a b/ in <src/>",
            ),
            ("grep", r#"{"pattern":"a b","path":"."}"#, "/a b/"),
            (
                "find",
                r#"{"pattern":"*.rs","paths":["/tmp","/home/u/code/x/t"]}"#,
                "*.rs in </tmp, t>",
            ),
            (
                "bash",
                r#"{"command":"cd /home/u/code/x && cargo test"}"#,
                "cargo test",
            ),
            (
                "bash",
                r#"{"command":"cd \"/home/u/code/x/\" && a &&\n b"}"#,
                "a &&  b",
            ),
            (
                "bash",
                r#"{"command":"cd /home/u/code/x/sub&&ls"}"#,
                "cd sub && ls",
            ),
            ("bash", r#"{"command":"cd /var; ls"}"#, "cd /var; ls"),
            (
                "bash",
                r#"{"command":"cd /home/u/code/x"}"#,
                "cd /home/u/code/x",
            ),
            (
                "shell",
                r#"{"command":["bash","-lc","cd /home/u/code/x && make test"],"workdir":"/"}"#,
                "make test",
            ),
            ("shell", r#"{"command":["cat","a b",1]}"#, "cat a b"),
            ("shell", r#"{"command":[],"n":1}"#, "command=[] n=1"),
            (
                "NotebookEdit",
                r#"{"notebook_path":"/home/u/code/x/a.ipynb"}"#,
                "<a.ipynb>",
            ),
            (
                "edit",
                r#"{"input":"*** Begin Patch\n*** Update File: /home/u/code/x/a.rs\n@@"}"#,
                "<a.rs>",
            ),
            ("web", r#"{"q":"x y"}"#, "x y"),
            (
                "web",
                r#"{"q":"x","n":3,"o":{"a":[1]}}"#,
                r#"q=x n=3 o={"a":[1]}"#,
            ),
        ];
        for (name, arguments, expected) in cases {
            assert_eq!(shown(name, arguments), expected, "{arguments}");
        }
        let long = format!(r#"{{"path":"/{}"}}"#, "x".repeat(300));
        assert_eq!(shown("read", &long), format!("/{}", "x".repeat(199)));
    }

    #[test]
    fn paths_of_windows_are_shortened_on_any_system() {
        let (cwd, home) = (Text::from(r"C:\Users\u\x"), Text::from(r"C:\Users\u"));
        for (arguments, expected) in [
            (r#"{"path":"C:\\Users\\u\\x\\src\\a.rs"}"#, r"src\a.rs"),
            (r#"{"path":"c:/users/u/x/src/a.rs"}"#, "src/a.rs"),
            (r#"{"path":"C:\\Users\\u\\y"}"#, r"~\y"),
            (r#"{"path":"D:\\x"}"#, r"D:\x"),
            (r#"{"path":"/Users/u/x/a"}"#, "/Users/u/x/a"),
            (r#"{"command":"cd \"C:\\Users\\u\\x\" && ls"}"#, "ls"),
        ] {
            let raw = Raw::parse(arguments.as_bytes()).unwrap();
            let folders = Folders {
                cwd: Some(&cwd),
                home: Some(&home),
            };
            assert_eq!(
                call(&Text::from("read"), raw, folders).text.to_string(),
                expected,
                "{arguments}"
            );
        }
    }

    #[test]
    fn summaries_begin_with_what_they_say() {
        let row = |line: &str| {
            let kind = Raw::parse(line.as_bytes())
                .unwrap()
                .get_text("type")
                .unwrap();
            let record = Record {
                bytes: line.as_bytes(),
                ..Record::default()
            };
            let kind = Kind::named(kind.as_bytes());
            text(&Typed {
                kind,
                role: Role::Missing,
                record: &record,
                blocks: &[],
            })
            .unwrap()
            .text
            .to_string()
        };
        let json = pisess_json::string::encoded(&Text::from(BRANCH_SUMMARY_PREAMBLE));
        let preamble = std::str::from_utf8(&json).unwrap().trim_matches('"');
        let branch =
            format!(r#"{{"type":"branch_summary","summary":"{preamble}## Goal\nMake it\nright"}}"#);
        assert_eq!(row(&branch), "branch summary: Make it right");
        let quotation = branch.replace("Make it", "The last request (entry x):\\n> Make it");
        assert_eq!(row(&quotation), "branch summary: Make it right");
        assert_eq!(
            row(r###"{"type":"compaction","summary":"# A\n\n## B\n- c","tokensBefore":1500}"###),
            "compaction: 1.5k tokens · - c"
        );
        assert_eq!(
            row(r#"{"type":"compaction","tokensBefore":200}"#),
            "compaction: 200 tokens"
        );
        assert_eq!(
            row(
                r#"{"type":"custom_message","customType":"skill-prompt","content":"c","details":{"prompt":"do\nit"}}"#
            ),
            "[skill-prompt]: do it"
        );
    }
}
