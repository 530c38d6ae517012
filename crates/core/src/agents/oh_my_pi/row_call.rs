//! The rows of tool calls in oh-my-pi's tree (`#formatToolCall`).

use super::row::{bracketed_row, bracketed_text};
use crate::agents::row::{bash_call_text, unknown_call_text, with_prefix};
use crate::session::paths::with_slashes;
use pisess_json::text::Text;
use pisess_json::{Raw, js};

/// Returns the row of a tool result whose call is known: the tool and its main arguments, as in
/// `[read: ~/a.rs:5-14]`. For a tool that has no row of its own in oh-my-pi, all arguments are
/// shown as JSON.
pub fn call_row(name: &Text, arguments: Raw, home: Option<&Text>) -> Text<'static> {
    /// The arguments that may have the path of a file. The first that is truthy counts.
    const PATH_KEYS: [&str; 2] = ["path", "file_path"];

    let row = match &*name.to_string_lossy() {
        "read" => {
            let path = first_argument(arguments, &PATH_KEYS);
            let mut call = with_prefix(&["read: "], &shorten_home(&path, home));
            call.push_str(&format_line_range(
                arguments.get("offset"),
                arguments.get("limit"),
            ));
            bracketed_text(&call)
        }
        tool @ ("write" | "edit") => {
            let path = first_argument(arguments, &PATH_KEYS);
            bracketed_row(tool, &shorten_home(&path, home))
        }
        "bash" => {
            let command = first_argument(arguments, &["command"]);
            bracketed_text(&bash_call_text(&command))
        }
        "grep" => {
            let pattern = first_argument(arguments, &["pattern"]);
            let scope = search_scope(arguments, ["paths", "path"]);
            let mut call = with_prefix(&["grep: /"], &pattern);
            call.push_str("/ in ");
            call.push(&shorten_home(&scope, home));
            bracketed_text(&call)
        }
        "glob" => {
            let scope = search_scope(arguments, ["path", "paths"]);
            bracketed_row("glob", &shorten_home(&scope, home))
        }
        "ls" => {
            let mut path = first_argument(arguments, &["path"]);
            if path.is_empty() {
                path = Text::from(".");
            }
            bracketed_row("ls", &shorten_home(&path, home))
        }
        _ => bracketed_text(&unknown_call_text(name, arguments)),
    };
    row.text
}

/// Returns the first of these arguments that is truthy in JavaScript, converted as by
/// `String(value)`; empty if none is truthy.
fn first_argument<'a>(arguments: Raw<'a>, keys: &[&str]) -> Text<'a> {
    for key in keys {
        if let Some(value) = arguments.get(key).filter(|value| value.is_truthy()) {
            return js::to_js_string(value);
        }
    }
    Text::default()
}

/// Formats the lines that a `read` returns: as `:5-14` for an offset of 5 and a limit of 10, or as
/// `:5` without a limit; empty without both. `offset` is the first line, 1 by default; `limit` is
/// the number of lines. As in oh-my-pi, an end that is 0 or not a number is left out.
fn format_line_range(offset: Option<Raw>, limit: Option<Raw>) -> String {
    if offset.is_none() && limit.is_none() {
        return String::new();
    }

    // In oh-my-pi, the default applies to `null`, too.
    let offset = offset.filter(|offset| !offset.is_null());
    let start = match offset {
        Some(offset) => js::to_js_string(offset),
        None => Text::from("1"),
    };
    let mut range = format!(":{start}");
    if let Some(limit) = limit {
        let end = js_end_line(offset, limit);
        if end != 0.0 && !end.is_nan() {
            range.push_str(&format!("-{}", js::number_to_string(end)));
        }
    }
    range
}

/// Computes the last line of a `read`, `(offset ?? 1) + limit - 1`, as JavaScript does: its `+`
/// concatenates if one side is a string, so that `"5" + 10 - 1` is 509. The result may be NaN.
fn js_end_line(offset: Option<Raw>, limit: Raw) -> f64 {
    let is_concatenated = offset.is_some_and(Raw::is_string) || limit.is_string();
    if is_concatenated {
        let mut digits = match offset {
            Some(offset) => js::to_js_string(offset),
            None => Text::from("1"),
        };
        digits.push(&js::to_js_string(limit));
        let digits = digits.trim().to_string_lossy().into_owned();
        return digits.parse::<f64>().unwrap_or(f64::NAN) - 1.0;
    }

    let first_line = match offset {
        Some(offset) => js::to_operand(Some(offset)),
        None => 1.0,
    };
    first_line + js::to_operand(Some(limit)) - 1.0
}

/// Returns the directories of a search, joined by commas; `.` if there are none. Of the two
/// arguments that may name them, the first counts that has a usable form (see [`scope_argument`]).
fn search_scope(arguments: Raw, [first, second]: [&str; 2]) -> Text<'static> {
    let scope = scope_argument(arguments, first).or_else(|| scope_argument(arguments, second));
    let Some(scope) = scope else {
        return Text::from(".");
    };
    if scope.is_array() {
        return join_directories(scope);
    }

    // Some models write a list as a string: `"[\"src\"]"`.
    let text = scope.text().unwrap_or_default();
    let trimmed = text.trim();
    match Raw::parse(trimmed.as_bytes()) {
        Ok(list) if list.is_array() && list.items().all(Raw::is_string) => join_directories(list),
        _ => text.as_borrowed().into_owned(),
    }
}

/// Returns the argument `key` if it is a string or, under the key `paths`, an array.
fn scope_argument<'a>(arguments: Raw<'a>, key: &str) -> Option<Raw<'a>> {
    let value = arguments.get(key)?;
    let is_usable = value.is_string() || (key == "paths" && value.is_array());
    if is_usable { Some(value) } else { None }
}

/// Returns the directories in a list, joined by commas; `.` if there are none.
fn join_directories(list: Raw) -> Text<'static> {
    if list.items().next().is_none() {
        return Text::from(".");
    }
    js::join_array(list, ", ")
}

/// Returns a path with `~` in place of the home directory. Below `~`, backslashes become slashes.
fn shorten_home(path: &Text, home: Option<&Text>) -> Text<'static> {
    let Some(home) = home.filter(|home| !home.is_empty()) else {
        return path.as_borrowed().into_owned();
    };
    match path.as_bytes().strip_prefix(home.as_bytes()) {
        Some(below) if matches!(below.first(), None | Some(b'/' | b'\\')) => {
            with_prefix(&["~"], &Text::from_wtf8(with_slashes(below)))
        }
        _ => path.as_borrowed().into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: &str) -> String {
        let arguments = Raw::parse(arguments.as_bytes()).unwrap();
        call_row(&Text::from(name), arguments, Some(&Text::from("/home/u"))).to_string()
    }

    #[test]
    fn tool_calls_read_as_in_oh_my_pi() {
        assert_eq!(
            call("read", r#"{"path":"/home/u/x.ts","offset":5,"limit":10}"#),
            "[read: ~/x.ts:5-14]"
        );
        assert_eq!(
            call("read", r#"{"path":"/home/user","offset":5}"#),
            "[read: /home/user:5]"
        );
        assert_eq!(call("read", r#"{"path":"a","limit":null}"#), "[read: a:1]");
        assert_eq!(
            call("grep", r#"{"pattern":"x","paths":["a","b"]}"#),
            "[grep: /x/ in a, b]"
        );
        assert_eq!(
            call("grep", r#"{"pattern":"x","path":"[\"a\"]"}"#),
            "[grep: /x/ in a]"
        );
        assert_eq!(call("glob", r#"{"paths":[]}"#), "[glob: .]");
        assert_eq!(call("ls", "{}"), "[ls: .]");
        assert_eq!(
            call("other", r#"{"2":1,"1":2}"#),
            r#"[other: {"1":2,"2":1}]"#
        );
    }
}
