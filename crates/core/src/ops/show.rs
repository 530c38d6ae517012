//! Formats a whole entry for people: its texts, and its other fields by name.

mod compaction;
mod reading;

pub use compaction::compaction_facts;
pub use reading::{ShownEntry, ShownPart, Surroundings, outline_arguments, read_entry};

use crate::format::format_bytes;
use pisess_json::pretty::pretty;
use pisess_json::text::Text;
use pisess_json::{Raw, string};

/// A part of an entry as displayed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EntryPart {
    /// The title of the parts that follow.
    Title(Text<'static>),
    /// A name and a short value.
    Field(Text<'static>, Text<'static>),
    /// A text, or a value formatted over several lines.
    Body(Text<'static>),
}

/// The maximum length in bytes of a string that is printed beside its name.
const SHORT_STRING_LEN: usize = 100;

/// Returns the members of an object with decoded keys, in file order and including duplicates.
fn decoded_members(object: Raw<'_>) -> impl Iterator<Item = (Text<'_>, Raw<'_>)> {
    object
        .members()
        .map(|(key, value)| (string::decode(key.bytes), value))
}

/// Formats a value with its name. A short string of one line, and JSON of one line, are placed
/// beside the name (`cwd: /src`); anything else below it.
fn named_value(name: Text<'static>, value: Raw) -> Vec<EntryPart> {
    let Some(text) = value.text() else {
        return named_json(name, value);
    };
    let is_short = text.as_bytes().len() <= SHORT_STRING_LEN && !text.as_bytes().contains(&b'\n');
    let text = text.into_owned();
    if is_short {
        vec![EntryPart::Field(name, text)]
    } else {
        vec![EntryPart::Title(name), EntryPart::Body(text)]
    }
}

/// Formats a value as JSON with its name. JSON of one line is placed beside the name; anything else
/// below it.
fn named_json(name: Text<'static>, value: Raw) -> Vec<EntryPart> {
    let json = pretty(value);
    let json = Text::from(String::from_utf8_lossy(&json).into_owned());
    let is_one_line = !json.as_bytes().contains(&b'\n');
    if is_one_line {
        vec![EntryPart::Field(name, json)]
    } else {
        vec![EntryPart::Title(name), EntryPart::Body(json)]
    }
}

/// Returns the members of an object as named parts, except those with a key in `omitted`.
pub(super) fn named_parts(object: Raw, omitted: &[&str]) -> Vec<EntryPart> {
    let mut parts = Vec::new();
    for (key, value) in decoded_members(object) {
        let is_omitted = omitted.iter().any(|omitted_key| key == **omitted_key);
        if !is_omitted {
            parts.append(&mut named_value(key.into_owned(), value));
        }
    }
    parts
}

/// Formats a block of a message's content: a text unchanged, thinking with a title, a tool call
/// with its arguments by name, and an image as a description. Any other block is formatted as JSON,
/// and so is one that lacks the text that its type requires.
pub(super) fn block_parts(block: Raw) -> Vec<EntryPart> {
    let kind = block.get_text("type").unwrap_or_default().into_owned();
    if kind == "text"
        && let Some(text) = block.get_text("text")
    {
        return vec![EntryPart::Body(text.into_owned())];
    }
    if kind == "thinking"
        && let Some(thinking) = block.get_text("thinking")
    {
        return vec![
            EntryPart::Title(kind),
            EntryPart::Body(thinking.into_owned()),
        ];
    }
    if kind == "toolCall" {
        return tool_call_parts(block);
    }
    if kind == "image" {
        return vec![EntryPart::Field(kind, describe_image(block))];
    }

    let name = if kind.is_empty() {
        Text::from("block")
    } else {
        kind
    };
    named_json(name, block)
}

/// Returns the type and size of an image, such as `image/png, 12 KB of base64`.
fn describe_image(block: Raw) -> Text<'static> {
    let data = block.get("data").and_then(Raw::raw_string);
    let length = data.map_or(0, <[u8]>::len);
    let mime_type = block.get_text("mimeType").unwrap_or_default();
    let mime_type = mime_type.to_string_lossy();
    Text::from(format!("{mime_type}, {} of base64", format_bytes(length)))
}

/// Formats a tool call: its name and id as the title, then its arguments as one text. Arguments of
/// several lines, such as the content of a file to write, are not JSON-escaped in this text.
fn tool_call_parts(call: Raw) -> Vec<EntryPart> {
    let mut title = Text::from("toolCall").into_owned();
    for key in ["name", "id"] {
        if let Some(text) = call.get_text(key) {
            title.push_str(" ");
            title.push(&text);
        }
    }
    let mut parts = vec![EntryPart::Title(title)];
    let Some(arguments) = call.get("arguments") else {
        return parts;
    };
    if arguments.is_object() {
        let outline = format_outline(&named_parts(arguments, &[]));
        parts.push(EntryPart::Body(outline));
    } else {
        // The model did not follow the schema of the tool.
        parts.append(&mut named_json(Text::from("arguments"), arguments));
    }
    parts
}

/// Formats parts as one text: a field as its name and value on one line, a title as a name with the
/// lines of its body indented below. For example:
///
/// ```text
/// path: src/main.rs
/// content
///     fn main() {
///     }
/// ```
///
/// A body follows each title, so a title has no newline of its own: the lines of a body each begin
/// with one.
fn format_outline(parts: &[EntryPart]) -> Text<'static> {
    let mut out = Text::default().into_owned();
    for part in parts {
        match part {
            EntryPart::Title(name) => out.push(name),
            EntryPart::Field(name, value) => {
                out.push(name);
                out.push_str(": ");
                out.push(value);
                out.push_str("\n");
            }
            EntryPart::Body(text) => {
                push_indented_lines(text, &mut out);
                out.push_str("\n");
            }
        }
    }
    out
}

/// Appends the lines of a text, each after a newline. Lines that are not empty are indented. A
/// newline at the end of the text does not begin another line.
fn push_indented_lines(text: &Text, out: &mut Text<'static>) {
    let bytes = text.as_bytes();
    let lines = bytes.strip_suffix(b"\n").unwrap_or(bytes);
    for line in lines.split(|&byte| byte == b'\n') {
        out.push_str("\n");
        if !line.is_empty() {
            out.push_str("    ");
        }
        out.push(&Text::from_wtf8(line));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::session::entry::{Kind, Role};

    /// The body, and after a line the rest.
    fn shown(line: &str) -> String {
        let line = Raw::parse(line.as_bytes()).unwrap();
        let kind = Kind::from_member(line.get("type"));
        let message = line.get("message").unwrap_or(Raw::NULL);
        let role = Role::from_member(message.get("role"));
        let entry = read_entry(line, kind, role, Surroundings::default());
        let mut out = String::new();
        for part in &entry.body {
            out += &match part {
                ShownPart::Title(title) => format!("<{title}>\n"),
                ShownPart::Field(name, value) => format!("{name}={value}\n"),
                ShownPart::Prose(text) => format!("|{text}|\n"),
                ShownPart::Literal(text) => format!("`{text}`\n"),
                ShownPart::Error(text) => format!("!{text}\n"),
                ShownPart::Diff(lines) => {
                    lines.iter().map(|(_, line)| format!("{line}\n")).collect()
                }
            };
        }
        for part in &entry.rest {
            out += &format!("rest {part}\n");
        }
        out
    }

    impl std::fmt::Display for EntryPart {
        fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            match self {
                EntryPart::Title(title) => write!(f, "<{title}>"),
                EntryPart::Field(name, value) => write!(f, "{name}={value}"),
                EntryPart::Body(text) => write!(f, "|{text}|"),
            }
        }
    }

    #[test]
    fn texts_in_full_and_the_rest_by_name() {
        assert_eq!(
            shown(
                r#"{"type":"message","id":"a","message":{"role":"user","content":"a\nb","timestamp":1,"x":null},"more":[1]}"#
            ),
            "|a\nb|\nrest x=null\nrest more=[1]\n"
        );
        assert_eq!(
            shown(
                r#"{"type":"message","message":{"role":"assistant","content":[{"type":"thinking","thinking":"t","thinkingSignature":"s"},{"type":"text","text":"x"},{"type":"image","data":"abcd","mimeType":"image/png"},{"type":"odd","a":1},5]}}"#
            ),
            "<thinking>\n|t|\n|x|\nimage=image/png, 4 B of base64\nodd={\"type\": \"odd\", \"a\": 1}\nblock=5\n"
        );
        assert_eq!(
            shown(r#"{"type":"message","id":"a","message":"none"}"#),
            "message=none\n"
        );
        let long = "x".repeat(101);
        assert_eq!(
            shown(&format!(
                r#"{{"type":"odd","note":"{long}","summary":"s"}}"#
            )),
            format!("<note>\n`{long}`\nsummary=s\n")
        );
    }

    #[test]
    fn an_output_that_is_not_a_list_is_among_the_other_fields() {
        assert_eq!(
            shown(
                r#"{"type":"message","message":{"role":"toolResult","toolName":"t","content":{"a":1}}}"#
            ),
            "rest toolName=t\nrest content={\"a\": 1}\n"
        );
    }

    #[test]
    fn a_tool_call_is_one_text() {
        assert_eq!(
            shown(
                r#"{"type":"message","message":{"role":"assistant","content":[{"type":"toolCall","id":"c","name":"write","arguments":{"path":"p","content":"a\n b"}},{"type":"toolCall","arguments":7}]}}"#
            ),
            "<calls write>\n`path: p\ncontent\n    a\n     b\n`\n<toolCall>\narguments=7\n"
        );
    }
}
