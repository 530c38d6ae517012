//! oh-my-pi's rows of tool calls (`#formatToolCall`).

use super::row::bracketed;
use crate::agents::row::{bash_call, other_call, prefixed};
use crate::session::paths::with_slashes;
use pisess_json::text::Text;
use pisess_json::{Raw, js};

/// Returns the row of a tool result whose call is known.
pub fn tool_call(name: &Text, arguments: Raw, home: Option<&Text>) -> Text<'static> {
    let argument = |keys: &[&str]| {
        let found = keys
            .iter()
            .filter_map(|key| arguments.get(key))
            .find(|value| value.is_truthy());
        found.map(|value| js::string(value)).unwrap_or_default()
    };
    let row = match &*name.to_string_lossy() {
        "read" => {
            let mut row = prefixed(
                &["read: "],
                &short_path(&argument(&["path", "file_path"]), home),
            );
            row.push_str(&line_range(arguments.get("offset"), arguments.get("limit")));
            bracketed("", &row)
        }
        tool @ ("write" | "edit") => {
            bracketed(tool, &short_path(&argument(&["path", "file_path"]), home))
        }
        "bash" => bracketed("", &bash_call(&argument(&["command"]))),
        "grep" => {
            let mut row = prefixed(&["grep: /"], &argument(&["pattern"]));
            row.push_str("/ in ");
            row.push(&short_path(&scope(arguments, ["paths", "path"]), home));
            bracketed("", &row)
        }
        "glob" => bracketed(
            "glob",
            &short_path(&scope(arguments, ["path", "paths"]), home),
        ),
        "ls" => {
            let path = argument(&["path"]);
            bracketed(
                "ls",
                &short_path(
                    &if path.is_empty() {
                        Text::from(".")
                    } else {
                        path
                    },
                    home,
                ),
            )
        }
        _ => bracketed("", &other_call(name, arguments)),
    };
    row.text
}

/// Returns `:from-to`; an end of 0 is omitted.
fn line_range(offset: Option<Raw>, limit: Option<Raw>) -> String {
    if offset.is_none() && limit.is_none() {
        return String::new();
    }
    let given = offset.filter(|offset| !offset.is_null());
    let start = given.map_or(Text::from("1"), |offset| js::string(offset));
    let end = |limit: Raw| {
        let both_numbers = given.is_none_or(|offset| !offset.is_string()) && !limit.is_string();
        if both_numbers {
            return given.map_or(1.0, |offset| js::operand(Some(offset)))
                + js::operand(Some(limit))
                - 1.0;
        }
        // `+` concatenates if one side is a string.
        let mut text = start.clone();
        text.push(&js::string(limit));
        text.trim()
            .to_string_lossy()
            .parse::<f64>()
            .unwrap_or(f64::NAN)
            - 1.0
    };
    match limit.map(end).filter(|end| *end != 0.0 && !end.is_nan()) {
        Some(end) => format!(":{start}-{}", js::number(end)),
        None => format!(":{start}"),
    }
}

/// Returns the directories of a search: a string, a string that contains a JSON array, or an array.
fn scope(arguments: Raw, [first, second]: [&str; 2]) -> Text<'static> {
    let usable = |key: &str| {
        let lists = key == "paths";
        arguments
            .get(key)
            .filter(|value| value.is_string() || (lists && value.is_array()))
    };
    let Some(given) = usable(first).or_else(|| usable(second)) else {
        return Text::from(".");
    };
    let text = given.text().unwrap_or_default();
    let trimmed = text.trim();
    let encoded = Raw::parse(trimmed.as_bytes()).ok();
    let encoded = encoded.filter(|list| list.is_array() && list.items().all(Raw::is_string));
    match encoded.or(Some(given).filter(|given| given.is_array())) {
        None => text.borrowed().into_owned(),
        Some(list) if list.items().next().is_none() => Text::from("."),
        Some(list) => js::join(list, ", "),
    }
}

/// Returns the path with the home directory written `~`.
fn short_path(path: &Text, home: Option<&Text>) -> Text<'static> {
    let below = |home: &Text| path.as_bytes().strip_prefix(home.as_bytes());
    match home.filter(|home| !home.is_empty()).and_then(below) {
        Some(rest) if matches!(rest.first(), None | Some(b'/' | b'\\')) => {
            prefixed(&["~"], &Text::from_wtf8(with_slashes(rest)))
        }
        _ => path.borrowed().into_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn call(name: &str, arguments: &str) -> String {
        let arguments = Raw::parse(arguments.as_bytes()).unwrap();
        tool_call(&Text::from(name), arguments, Some(&Text::from("/home/u"))).to_string()
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
