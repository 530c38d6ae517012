//! pi's rows (its `tree-selector`: `getEntryDisplayText`, `getSearchableText`, `formatToolCall`).

use crate::agents::row::{
    NamedValue, ROW_UNITS, RowText, bash_call, head, message_head, named_value, normalize,
    other_call, prefixed, push_text_or, push_texts, role_name,
};
use crate::session::column::Parts;
use crate::session::content::blocks_of;
use crate::session::dialect::Dialect;
use crate::session::entry::{Kind, Role};
use crate::session::read::record::{Block, Member, MessageFacts, Record, Typed};
use pisess_json::text::{Text, joined};
use pisess_json::{Raw, js};

/// Returns the row of an entry that is not a message.
pub fn entry_row(kind: Kind, record: &Record) -> RowText<'static> {
    let entry = Raw::checked(record.bytes);
    let member = |key: &str| {
        entry
            .get(key)
            .map(display)
            .unwrap_or_else(|| Text::from("undefined"))
    };
    match kind {
        Kind::CustomMessage => {
            let content = entry.get("content").map(content_head).unwrap_or_default();
            let mut row = bracketed("", &member("customType"));
            row.push_body(&normalize(content));
            row
        }
        Kind::Compaction => {
            let tokens = entry
                .get("tokensBefore")
                .and_then(Raw::number)
                .unwrap_or(0.0);
            // JavaScript's Math.round rounds halves up.
            let thousands = js::number((tokens / 1000.0 + 0.5).floor());
            bracketed("compaction", &Text::from(format!("{thousands}k tokens")))
        }
        Kind::BranchSummary => {
            let summary = entry.get("summary").map(content_head).unwrap_or_default();
            RowText::named("branch summary", &normalize(summary))
        }
        Kind::ContextEdit => {
            let omits = entry.get("replacement").is_some_and(Raw::is_null);
            bracketed(
                if omits {
                    "context omit"
                } else {
                    "context replace"
                },
                &member("targetId"),
            )
        }
        // pi draws an empty row here; a name is more useful.
        Kind::Missing => bracketed("", &Text::from("no type")),
        _ => match named_value(Dialect::Pi, kind, entry) {
            Some(NamedValue {
                name,
                value,
                missing,
            }) => bracketed(name, &value.map_or(Text::from(missing), display)),
            None => bracketed("", &member("type")),
        },
    }
}

/// Appends the row of a message; for a tool result, its row if its call is not found.
pub fn push_message(
    role: Role,
    message: &MessageFacts,
    blocks: &[Block],
    row: &mut Vec<u8>,
) -> Parts {
    let text = match role {
        Role::User => return push_text_or("user", message, blocks, row, Text::default),
        Role::Assistant => {
            return push_text_or("assistant", message, blocks, row, || without_text(message));
        }
        Role::ToolResult => bracketed(
            "",
            &message
                .get(Member::ToolName)
                .filter(|name| !name.is_null())
                .map_or(Text::from("tool"), display),
        ),
        Role::BashExecution => RowText::named(
            "bash",
            &normalize(
                message
                    .get(Member::Command)
                    .map(content_head)
                    .unwrap_or_default(),
            ),
        ),
        _ => bracketed("", &role_name(role, message)),
    };
    text.append_to(row)
}

/// Returns what is shown for an assistant message without text.
fn without_text(message: &MessageFacts) -> Text<'static> {
    if message
        .get(Member::StopReason)
        .is_some_and(|reason| reason.is("aborted"))
    {
        return Text::from("(aborted)");
    }
    match message
        .get(Member::ErrorMessage)
        .filter(|error| error.is_truthy())
    {
        Some(error) => normalize(content_head(error)).head(80),
        None => Text::from("(no content)"),
    }
}

/// Returns the text for searching, without the label.
pub fn searchable(typed: &Typed) -> Text<'static> {
    let Typed {
        kind,
        role,
        record,
        blocks,
    } = *typed;
    let entry = Raw::checked(record.bytes);
    let member = |key: &str| {
        entry
            .get(key)
            .filter(|value| !value.is_null())
            .map(display)
            .unwrap_or_default()
    };
    let parts: Vec<Text> = match kind {
        Kind::Message => {
            let Some(message) = record.message else {
                return Text::default();
            };
            let (role, head) = (
                role_name(role, &message),
                message_head(&message, blocks, ROW_UNITS),
            );
            let command = message
                .get(Member::Command)
                .filter(|_| role == "bashExecution")
                .map(content_head);
            [Some(role), Some(head), command]
                .into_iter()
                .flatten()
                .collect()
        }
        Kind::CustomMessage => {
            vec![
                member("customType"),
                entry.get("content").map(content_head).unwrap_or_default(),
            ]
        }
        Kind::Compaction => vec![Text::from("compaction")],
        Kind::BranchSummary => {
            vec![
                Text::from("branch summary"),
                entry.get("summary").map(content_head).unwrap_or_default(),
            ]
        }
        Kind::ContextEdit => {
            let omits = entry.get("replacement").is_some_and(Raw::is_null);
            let change = Text::from(if omits { "omit" } else { "replace" });
            vec![Text::from("context edit"), change, member("targetId")]
        }
        _ => named_value(Dialect::Pi, kind, entry).map_or(
            Vec::new(),
            |NamedValue { name, value, .. }| {
                let given = value.filter(|value| !value.is_null());
                vec![Text::from(name), given.map(display).unwrap_or_default()]
            },
        ),
    };
    joined(parts, " ")
}

/// Returns the row of the result of a known tool call.
pub fn tool_call(name: &Text, arguments: Raw, home: Option<&Text>) -> Text<'static> {
    let argument = |keys: &[&str]| {
        let found = keys
            .iter()
            .filter_map(|key| arguments.get(key))
            .find(|value| value.is_truthy());
        found.map(display).unwrap_or_default()
    };
    let path = |keys: &[&str], default: &'static str| {
        let path = argument(keys);
        short_path(
            if path.is_empty() {
                Text::from(default)
            } else {
                path
            },
            home,
        )
    };
    let row = match &*name.to_string_lossy() {
        "read" => {
            let mut row = prefixed(&["read: "], &path(&["path", "file_path"], ""));
            let range = line_range(arguments.get_some("offset"), arguments.get_some("limit"));
            row.push_str(&range.unwrap_or_default());
            bracketed("", &row)
        }
        tool @ ("write" | "edit") => bracketed(tool, &path(&["path", "file_path"], "")),
        "bash" => bracketed("", &bash_call(&argument(&["command"]))),
        "grep" => {
            let pattern = argument(&["pattern"]);
            searched("grep: /", &pattern, "/ in ", &path(&["path"], "."))
        }
        "find" => {
            let pattern = argument(&["pattern"]);
            searched("find: ", &pattern, " in ", &path(&["path"], "."))
        }
        "ls" => bracketed("ls", &path(&["path"], ".")),
        _ => bracketed("", &other_call(name, arguments)),
    };
    row.text
}

/// Returns the row of a search: the pattern, and where it is searched for.
fn searched(before: &str, pattern: &Text, between: &str, place: &Text) -> RowText<'static> {
    let mut row = prefixed(&[before], pattern);
    if pattern.utf16_len() < ROW_UNITS {
        row.push_str(between);
        row.push(place);
    }
    bracketed("", &row)
}

/// Returns `:from-to` as pi's `formatReadLineRange` does; `None` if there is no value, or one is
/// not a number.
fn line_range(offset: Option<Raw>, limit: Option<Raw>) -> Option<String> {
    let number = |given: Raw| {
        let text = given
            .text()
            .map(|text| text.trim().to_string_lossy().into_owned());
        let number = text.map_or_else(|| given.number(), |text| text.parse().ok());
        number.filter(|number: &f64| number.is_finite())
    };
    offset.or(limit)?;
    let start = offset.map_or(Some(1.0), number)?;
    let end = limit.map_or(Some(0.0), |limit| Some(start + number(limit)? - 1.0))?;
    let end = if end == 0.0 {
        String::new()
    } else {
        format!("-{}", js::number(end))
    };
    Some(format!(":{}{end}", js::number(start)))
}

/// Returns the path with the home directory written `~`.
pub fn short_path<'a>(path: Text<'a>, home: Option<&Text>) -> Text<'a> {
    let Some(home) = home.filter(|home| home.as_bytes().len() > 1) else {
        return path;
    };
    let above = home
        .as_bytes()
        .strip_suffix(b"/")
        .unwrap_or(home.as_bytes());
    match path.as_bytes().strip_prefix(above) {
        Some(b"" | b"/") => Text::from("~"),
        Some(rest) if rest.starts_with(b"/") => {
            let mut short = Text::from("~");
            short.push(&Text::from_wtf8(rest));
            short.into_owned()
        }
        _ => path,
    }
}

/// Returns the first [`ROW_UNITS`] of content: a string, or an array of blocks.
fn content_head(content: Raw) -> Text<'static> {
    head(content, ROW_UNITS).unwrap_or_else(|| {
        let mut out = Vec::new();
        let texts = blocks_of(content, "text").filter_map(|block| block.get("text"));
        push_texts(texts, ROW_UNITS, &mut out);
        Text::from_wtf8(out)
    })
}

/// Returns a string, or `JSON.stringify(value)` of any other value, truncated to a row's length.
fn display(value: Raw) -> Text<'static> {
    head(value, ROW_UNITS).unwrap_or_else(|| js::stringify(value).head(ROW_UNITS))
}

/// Returns a row in brackets; a truncated text gets no closing bracket.
fn bracketed(role: &str, text: &Text) -> RowText<'static> {
    RowText::bracketed(
        role,
        text,
        if text.utf16_len() < ROW_UNITS {
            "]"
        } else {
            ""
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tool_calls_read_as_in_pi() {
        let long = format!(r#"{{"command":"  echo\n{}"}}"#, "x".repeat(60));
        let cut = format!("[bash: echo {}...]", "x".repeat(45));
        for (name, arguments, home, row) in [
            (
                "read",
                r#"{"path":"/home/u/x.ts","offset":5,"limit":10}"#,
                "/home/u",
                "[read: ~/x.ts:5-14]",
            ),
            (
                "read",
                r#"{"file_path":"/home/user","offset":5}"#,
                "/home/u",
                "[read: /home/user:5]",
            ),
            ("read", r#"{"path":"a","limit":null}"#, "/", "[read: a]"),
            ("read", r#"{"path":"a","limit":"x"}"#, "/", "[read: a]"),
            ("bash", &long, "/", &cut),
            ("grep", r#"{"pattern":"a b"}"#, "/", "[grep: /a b/ in .]"),
            (
                "other",
                r#"{"2":1,"b":"0123456789012345678901234567890123456789"}"#,
                "/",
                r#"[other: {"2":1,"b":"0123456789012345678901234567...]"#,
            ),
        ] {
            let parsed = Raw::parse(arguments.as_bytes()).unwrap();
            assert_eq!(
                tool_call(&Text::from(name), parsed, Some(&Text::from(home))),
                row,
                "{arguments}"
            );
        }
    }
}
