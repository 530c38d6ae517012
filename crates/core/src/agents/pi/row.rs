//! The rows of pi's tree (its `tree-selector`: `getEntryDisplayText`, `getSearchableText`,
//! `formatToolCall`).

use crate::agents::row::{
    BracketEnd, NamedValue, ROW_UNITS, RowText, bash_call_text, message_head, named_value,
    normalize_spaces, push_text_heads, push_text_row, role_name, round_to_thousands, string_head,
    unknown_call_text, with_prefix,
};
use crate::session::column::RowShape;
use crate::session::content::blocks_of_type;
use crate::session::dialect::Dialect;
use crate::session::entry::{Kind, Role};
use crate::session::read::record::{Block, Member, MessageFacts, ParsedEntry, Record};
use pisess_json::text::{Text, join_with};
use pisess_json::{Raw, js};

/// Returns the row of an entry in pi's tree, if the entry is not a message. For most types, it is
/// `[name: value]`.
pub fn entry_row(kind: Kind, record: &Record) -> RowText<'static> {
    let entry = Raw::from_checked(record.bytes);
    match kind {
        Kind::CustomMessage => {
            let mut row = bracketed_text(&display_member(entry, "customType"));
            row.push_body(&normalize_spaces(member_head(entry, "content")));
            row
        }
        Kind::Compaction => compaction_row(entry),
        Kind::BranchSummary => RowText::with_bracketed_role(
            "branch summary",
            &normalize_spaces(member_head(entry, "summary")),
        ),
        Kind::ContextEdit => {
            let role = if omits_target(entry) {
                "context omit"
            } else {
                "context replace"
            };
            bracketed_row(role, &display_member(entry, "targetId"))
        }
        // pi draws an empty row for an entry without a type; a name is more useful.
        Kind::Missing => bracketed_text(&Text::from("no type")),
        _ => {
            let Some(named) = named_value(Dialect::Pi, kind, entry) else {
                return bracketed_text(&display_member(entry, "type"));
            };
            let value = match named.value {
                Some(value) => display_value(value),
                None => Text::from(named.placeholder),
            };
            bracketed_row(named.name, &value)
        }
    }
}

/// Returns the row of a compaction: the size of the context before it, in thousands of tokens.
fn compaction_row(entry: Raw) -> RowText<'static> {
    let tokens = entry
        .get("tokensBefore")
        .and_then(Raw::number)
        .unwrap_or(0.0);
    let thousands = js::number_to_string(round_to_thousands(tokens));
    bracketed_row("compaction", &Text::from(format!("{thousands}k tokens")))
}

/// Whether a `context_edit` entry omits its target, rather than replacing the content.
fn omits_target(context_edit: Raw) -> bool {
    context_edit.get("replacement").is_some_and(Raw::is_null)
}

/// Returns the start of a member in the form in which a row shows it. A missing member is shown as
/// `undefined`, as in JavaScript.
fn display_member(entry: Raw, key: &str) -> Text<'static> {
    match entry.get(key) {
        Some(value) => display_value(value),
        None => Text::from("undefined"),
    }
}

/// Returns the first [`ROW_UNITS`] UTF-16 units of a member's text; empty if the member is missing.
fn member_head(entry: Raw, key: &str) -> Text<'static> {
    entry.get(key).map(content_head).unwrap_or_default()
}

/// Appends the row of a message to a buffer of rows. Returns its shape: where its role ends, and
/// how it is separated from the text.
///
/// A tool result gets a row with the name of its tool. When a tree is drawn, this row is shown only
/// if the call of the result is not found. Otherwise, the row of the call is shown in its place.
pub fn push_message_row(
    role: Role,
    message: &MessageFacts,
    blocks: &[Block],
    rows: &mut Vec<u8>,
) -> RowShape {
    match role {
        Role::User => push_text_row("user", message, blocks, rows).shape,
        Role::Assistant => {
            let row = push_text_row("assistant", message, blocks, rows);
            if !row.has_text {
                rows.extend_from_slice(turn_end_text(message).as_bytes());
            }
            row.shape
        }
        Role::ToolResult => {
            let name = match message.get(Member::ToolName) {
                Some(name) if !name.is_null() => display_value(name),
                _ => Text::from("tool"),
            };
            bracketed_text(&name).append_to(rows)
        }
        Role::BashExecution => {
            let command = match message.get(Member::Command) {
                Some(command) => normalize_spaces(content_head(command)),
                None => Text::default(),
            };
            RowText::with_bracketed_role("bash", &command).append_to(rows)
        }
        _ => bracketed_text(&role_name(role, message)).append_to(rows),
    }
}

/// Returns what the row of an assistant message without text shows: `(aborted)`, the error message,
/// or `(no content)`.
fn turn_end_text(message: &MessageFacts) -> Text<'static> {
    /// The maximum length of the error message, in UTF-16 units.
    const ERROR_UNITS: usize = 80;

    let stop_reason = message.get(Member::StopReason);
    if stop_reason.is_some_and(|reason| reason.is("aborted")) {
        return Text::from("(aborted)");
    }
    match message.get(Member::ErrorMessage) {
        Some(error) if error.is_truthy() => normalize_spaces(content_head(error)).head(ERROR_UNITS),
        _ => Text::from("(no content)"),
    }
}

/// Returns the text of an entry in which pi's search looks, without its label. Its parts depend on
/// the type of the entry, and are joined with spaces. An empty part adds a space, too, as in pi.
pub fn search_text(parsed: &ParsedEntry) -> Text<'static> {
    let entry = Raw::from_checked(parsed.record.bytes);
    let parts: Vec<Text> = match parsed.kind {
        Kind::Message => message_search_parts(parsed),
        Kind::CustomMessage => {
            let custom_type = entry.get_some("customType").map(display_value);
            vec![
                custom_type.unwrap_or_default(),
                member_head(entry, "content"),
            ]
        }
        Kind::Compaction => vec![Text::from("compaction")],
        Kind::BranchSummary => {
            vec![Text::from("branch summary"), member_head(entry, "summary")]
        }
        Kind::ContextEdit => {
            let change = if omits_target(entry) {
                "omit"
            } else {
                "replace"
            };
            let target = entry.get_some("targetId").map(display_value);
            vec![
                Text::from("context edit"),
                Text::from(change),
                target.unwrap_or_default(),
            ]
        }
        kind => match named_value(Dialect::Pi, kind, entry) {
            Some(NamedValue { name, value, .. }) => {
                let text = match value {
                    Some(value) if !value.is_null() => display_value(value),
                    _ => Text::default(),
                };
                vec![Text::from(name), text]
            }
            None => Vec::new(),
        },
    };
    join_with(parts, " ")
}

/// Returns the texts of a message in which pi's search looks, in its order: the role, the start of
/// the text and, if the message is a `bashExecution`, the command that the user ran. A message that
/// is missing has none.
fn message_search_parts<'r>(parsed: &ParsedEntry<'r>) -> Vec<Text<'r>> {
    let Some(message) = parsed.record.message else {
        return Vec::new();
    };
    let role = role_name(parsed.role, &message);
    let is_bash = role == "bashExecution";
    let mut parts = vec![role, message_head(&message, parsed.blocks, ROW_UNITS)];
    if is_bash && let Some(command) = message.get(Member::Command) {
        parts.push(content_head(command));
    }
    parts
}

/// Returns the row of a tool result whose call is known: the tool and its main arguments, as in
/// `[read: ~/a.rs:5-14]`. For a tool that has no row of its own in pi, all arguments are shown as
/// JSON.
pub fn call_row(name: &Text, arguments: Raw, home: Option<&Text>) -> Text<'static> {
    /// The arguments that may have the path of a file. The first that is truthy counts.
    const PATH_KEYS: [&str; 2] = ["path", "file_path"];

    let row = match &*name.to_string_lossy() {
        "read" => {
            let path = path_argument(arguments, &PATH_KEYS, "", home);
            let mut call = with_prefix(&["read: "], &path);
            let range =
                format_line_range(arguments.get_some("offset"), arguments.get_some("limit"));
            call.push_str(&range.unwrap_or_default());
            bracketed_text(&call)
        }
        tool @ ("write" | "edit") => {
            bracketed_row(tool, &path_argument(arguments, &PATH_KEYS, "", home))
        }
        "bash" => {
            let command = first_argument(arguments, &["command"]);
            bracketed_text(&bash_call_text(&command))
        }
        "grep" => {
            let pattern = first_argument(arguments, &["pattern"]);
            let path = path_argument(arguments, &["path"], ".", home);
            search_row("grep: /", &pattern, "/ in ", &path)
        }
        "find" => {
            let pattern = first_argument(arguments, &["pattern"]);
            let path = path_argument(arguments, &["path"], ".", home);
            search_row("find: ", &pattern, " in ", &path)
        }
        "ls" => bracketed_row("ls", &path_argument(arguments, &["path"], ".", home)),
        _ => bracketed_text(&unknown_call_text(name, arguments)),
    };
    row.text
}

/// Returns the first of these arguments that is truthy in JavaScript; empty if none is.
fn first_argument(arguments: Raw, keys: &[&str]) -> Text<'static> {
    for key in keys {
        if let Some(value) = arguments.get(key).filter(|value| value.is_truthy()) {
            return display_value(value);
        }
    }
    Text::default()
}

/// Returns the first of the arguments with these `keys` that is truthy in JavaScript, as a path,
/// with `~` for the home directory; `default` if none is.
fn path_argument(
    arguments: Raw,
    keys: &[&str],
    default: &'static str,
    home: Option<&Text>,
) -> Text<'static> {
    let mut path = first_argument(arguments, keys);
    if path.is_empty() {
        path = Text::from(default);
    }
    shorten_home(path, home)
}

/// Returns the row of a search: the pattern, then the searched path. If the pattern fills the row,
/// the path is left out, because it would be cut off anyway.
fn search_row(before: &str, pattern: &Text, between: &str, path: &Text) -> RowText<'static> {
    let mut row = with_prefix(&[before], pattern);
    if pattern.utf16_len() < ROW_UNITS {
        row.push_str(between);
        row.push(path);
    }
    bracketed_text(&row)
}

/// Formats the lines that a `read` returns, as pi's `formatReadLineRange` does: as `:5-14` for an
/// offset of 5 and a limit of 10, or as `:5` without a limit. `offset` is the first line, 1 by
/// default; `limit` is the number of lines.
///
/// `None` if neither is given, or if one is not a number.
fn format_line_range(offset: Option<Raw>, limit: Option<Raw>) -> Option<String> {
    if offset.is_none() && limit.is_none() {
        return None;
    }

    let start = match offset {
        Some(offset) => finite_number(offset)?,
        None => 1.0,
    };
    let mut range = format!(":{}", js::number_to_string(start));
    if let Some(limit) = limit {
        let end = start + finite_number(limit)? - 1.0;
        // As in pi, an end of 0 is left out.
        if end != 0.0 {
            range.push_str(&format!("-{}", js::number_to_string(end)));
        }
    }
    Some(range)
}

/// Returns the value of a number, or of a string that contains a number. `None` if the number is
/// not finite, and for any other value.
fn finite_number(value: Raw) -> Option<f64> {
    let number: f64 = match value.text() {
        Some(text) => text.trim().to_string_lossy().parse().ok()?,
        None => value.number()?,
    };
    if number.is_finite() {
        Some(number)
    } else {
        None
    }
}

/// Returns a path with `~` in place of the home directory. A home directory of one byte, such as
/// `/`, is not replaced, because nearly every path is below it.
pub fn shorten_home<'a>(path: Text<'a>, home: Option<&Text>) -> Text<'a> {
    let Some(home) = home.filter(|home| home.as_bytes().len() > 1) else {
        return path;
    };
    let home = home.as_bytes();
    let bare_home = home.strip_suffix(b"/").unwrap_or(home);
    match path.as_bytes().strip_prefix(bare_home) {
        Some(b"" | b"/") => Text::from("~"),
        // A path that continues with another byte than `/` is not in the home directory, such as
        // `/home/user2`.
        Some(below) if below.starts_with(b"/") => {
            let mut short = Text::from("~");
            short.push(&Text::from_wtf8(below));
            short.into_owned()
        }
        _ => path,
    }
}

/// Returns the first [`ROW_UNITS`] UTF-16 units of content, which is a string or an array of
/// blocks.
fn content_head(content: Raw) -> Text<'static> {
    string_head(content, ROW_UNITS).unwrap_or_else(|| {
        let mut out = Vec::new();
        let texts = blocks_of_type(content, "text").filter_map(|block| block.get("text"));
        push_text_heads(texts, ROW_UNITS, &mut out);
        Text::from_wtf8(out)
    })
}

/// Returns a string, or any other value as `JSON.stringify` writes it. The result is cut to
/// [`ROW_UNITS`] UTF-16 units.
fn display_value(value: Raw) -> Text<'static> {
    string_head(value, ROW_UNITS).unwrap_or_else(|| js::stringify(value).head(ROW_UNITS))
}

/// Returns a row `[text]`, which may be cut like that of [`bracketed_row`].
fn bracketed_text(text: &Text) -> RowText<'static> {
    bracketed_row("", text)
}

/// Returns a row `[role: text]`, or `[text]` if `role` is empty. A text of the maximum length
/// counts as cut, and gets no closing bracket.
fn bracketed_row(role: &str, text: &Text) -> RowText<'static> {
    let end = if text.utf16_len() < ROW_UNITS {
        BracketEnd::Closed
    } else {
        BracketEnd::Cut("")
    };
    RowText::bracketed(role, text, end)
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
                call_row(&Text::from(name), parsed, Some(&Text::from(home))),
                row,
                "{arguments}"
            );
        }
    }
}
