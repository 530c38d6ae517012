//! The tools that the agents have in common, by their names: a call of one agent becomes a call of
//! another.
//!
//! ```text
//! pi       bash                 read            write           edit
//! Claude   Bash                 Read            Write           Edit, MultiEdit
//! Codex    exec_command         exec_command    apply_patch     apply_patch
//! OpenCode bash                 read            write           edit
//! Gemini   run_shell_command    read_file       write_file      replace
//! ```
//!
//! A call of any other tool, or a call with other arguments, has no counterpart.

use pisess_core::session::content::find_members;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};

/// A call of a tool that several agents have.
#[derive(Debug, PartialEq)]
pub enum CommonCall<'a> {
    /// A command of the shell, with its time limit.
    Shell {
        command: Text<'a>,
        timeout_ms: Option<f64>,
    },
    /// Reading a file, or these lines of it.
    Read {
        path: Text<'a>,
        offset: Option<Raw<'a>>,
        limit: Option<Raw<'a>>,
    },
    /// Writing a file.
    Write { path: Text<'a>, content: Text<'a> },
    /// Replacing texts in a file.
    Edit {
        path: Text<'a>,
        replacements: Vec<Replacement<'a>>,
    },
}

/// A text of a file, and what replaces it.
#[derive(Debug, PartialEq)]
pub struct Replacement<'a> {
    old: Text<'a>,
    new: Text<'a>,
}

/// A call in the form of one agent: the agent's name for the tool, and its arguments as JSON.
pub struct NamedCall {
    pub name: &'static str,
    pub arguments: Vec<u8>,
}

impl NamedCall {
    fn new(name: &'static str, arguments: Object) -> NamedCall {
        NamedCall {
            name,
            arguments: arguments.finish(),
        }
    }
}

/// The keys of the arguments of a shell tool, which differ between the agents.
struct ShellKeys {
    command: &'static str,
    timeout: &'static str,
    /// The unit of the time limit.
    timeout_unit_ms: f64,
}

/// pi counts seconds.
const PI_SHELL: ShellKeys = ShellKeys {
    command: "command",
    timeout: "timeout",
    timeout_unit_ms: 1000.0,
};
/// Claude Code, OpenCode and Gemini CLI count milliseconds.
const USUAL_SHELL: ShellKeys = ShellKeys {
    command: "command",
    timeout: "timeout",
    timeout_unit_ms: 1.0,
};
const CODEX_SHELL: ShellKeys = ShellKeys {
    command: "cmd",
    timeout: "timeout_ms",
    timeout_unit_ms: 1.0,
};
/// Older versions of Codex.
const OLD_CODEX_SHELL: ShellKeys = ShellKeys {
    command: "command",
    timeout: "timeout_ms",
    timeout_unit_ms: 1.0,
};

impl<'a> CommonCall<'a> {
    /// Reads a call of any agent: the name of its tool shows the agent. `None` if the tool has no
    /// counterpart in the other agents, or if a required argument is missing.
    pub fn read(name: &Text, arguments: Raw<'a>) -> Option<CommonCall<'a>> {
        match name.as_bytes() {
            b"bash" => {
                // pi and OpenCode have the same name. Only OpenCode's tool requires a description.
                let is_of_pi = arguments.get("description").is_none();
                let keys = if is_of_pi { &PI_SHELL } else { &USUAL_SHELL };
                read_command(arguments, keys)
            }
            b"Bash" => read_command(arguments, &USUAL_SHELL),
            b"exec_command" => read_command(arguments, &CODEX_SHELL),
            b"shell" | b"shell_command" => read_command(arguments, &OLD_CODEX_SHELL),
            b"run_shell_command" => {
                // A command in another directory has no counterpart.
                let has_directory = arguments.get("dir_path").is_some();
                if has_directory {
                    return None;
                }
                read_command(arguments, &USUAL_SHELL)
            }
            b"read" | b"Read" => {
                let [offset, limit] = find_members(arguments, ["offset", "limit"]);
                Some(CommonCall::Read {
                    path: read_path(arguments)?,
                    offset,
                    limit,
                })
            }
            b"read_file" => {
                // Gemini CLI numbers the lines in another way than the other agents.
                let reads_whole_file = arguments.members().count() == 1;
                if !reads_whole_file {
                    return None;
                }
                Some(CommonCall::Read {
                    path: read_path(arguments)?,
                    offset: None,
                    limit: None,
                })
            }
            b"write" | b"Write" | b"write_file" => Some(CommonCall::Write {
                path: read_path(arguments)?,
                content: arguments.get_text("content")?,
            }),
            b"edit" | b"Edit" | b"MultiEdit" | b"replace" => Some(CommonCall::Edit {
                path: read_path(arguments)?,
                replacements: read_replacements(arguments)?,
            }),
            _ => None,
        }
    }

    /// Returns the call in the form of Claude Code. Several replacements become one `MultiEdit`,
    /// because `Edit` has only one.
    pub fn for_claude(&self) -> NamedCall {
        match self {
            CommonCall::Shell {
                command,
                timeout_ms,
            } => {
                let mut arguments = Object::new().text("command", command);
                if let Some(timeout_ms) = timeout_ms {
                    arguments = arguments.number("timeout", *timeout_ms);
                }
                NamedCall::new("Bash", arguments)
            }
            CommonCall::Read {
                path,
                offset,
                limit,
            } => {
                let mut arguments = Object::new().text("file_path", path);
                if let Some(offset) = offset {
                    arguments = arguments.raw("offset", *offset);
                }
                if let Some(limit) = limit {
                    arguments = arguments.raw("limit", *limit);
                }
                NamedCall::new("Read", arguments)
            }
            CommonCall::Write { path, content } => {
                let arguments = Object::new().text("file_path", path);
                NamedCall::new("Write", arguments.text("content", content))
            }
            CommonCall::Edit { path, replacements } => edit_for_claude(path, replacements),
        }
    }

    /// Returns the shell command with which Codex does the same. Codex has no tool that reads
    /// files, and reads them in the shell. `None` for a call that changes a file.
    pub fn command_for_codex(&self) -> Option<Text<'static>> {
        match self {
            CommonCall::Shell { command, .. } => Some(command.clone().into_owned()),
            CommonCall::Read {
                path,
                offset,
                limit,
            } => {
                // Lines are numbered from 1.
                let first_line = offset.and_then(Raw::as_index).unwrap_or(1).max(1);
                let line_count = limit.and_then(Raw::as_index);
                let command = shell_command_to_read(path, first_line, line_count);
                Some(Text::from(command))
            }
            CommonCall::Write { .. } | CommonCall::Edit { .. } => None,
        }
    }

    /// Returns the patch with which Codex changes a file in the same way:
    ///
    /// ```text
    /// *** Begin Patch
    /// *** Update File: src/main.rs
    /// @@
    /// -old line
    /// +new line
    /// *** End Patch
    /// ```
    ///
    /// `None` if the call changes no file, or if the path has a line break.
    pub fn patch_for_codex(&self) -> Option<Text<'static>> {
        let (CommonCall::Write { path, .. } | CommonCall::Edit { path, .. }) = self else {
            return None;
        };
        // The rest of the path would be another line of the patch.
        if path.to_string_lossy().contains(['\n', '\r']) {
            return None;
        }

        let mut patch = Text::from("*** Begin Patch\n".to_owned());
        if let CommonCall::Write { content, .. } = self {
            patch.push_all(&[&"*** Add File: ", path, &"\n"]);
            push_patch_lines(&mut patch, "+", content);
        }
        if let CommonCall::Edit { replacements, .. } = self {
            patch.push_all(&[&"*** Update File: ", path, &"\n"]);
            for Replacement { old, new } in replacements {
                patch.push_str("@@\n");
                push_patch_lines(&mut patch, "-", old);
                push_patch_lines(&mut patch, "+", new);
            }
        }
        patch.push_str("*** End Patch");
        Some(patch)
    }
}

/// Appends the lines of a text to a patch, each with `mark` before it, which is `+` or `-`.
fn push_patch_lines(patch: &mut Text, mark: &str, text: &Text) {
    let text = text.to_string_lossy();
    for line in text.lines() {
        patch.push_str(mark);
        patch.push_str(line);
        patch.push_str("\n");
    }
}

/// Returns a shell command that prints a file from `first_line` on, or `line_count` lines of it:
///
/// ```text
/// from line 1               cat 'a'
/// from line 5               sed -n '5,$p' 'a'
/// from line 5, 3 lines      sed -n '5,7p' 'a'
/// no lines                  head -n 0 'a'
/// ```
fn shell_command_to_read(path: &Text, first_line: usize, line_count: Option<usize>) -> String {
    let path = quote_for_shell(path);
    // For a range that ends before it begins, `sed` prints one line.
    if line_count == Some(0) {
        return format!("head -n 0 {path}");
    }
    if let Some(line_count) = line_count {
        let last_line = first_line + line_count - 1;
        return format!("sed -n '{first_line},{last_line}p' {path}");
    }
    if first_line > 1 {
        return format!("sed -n '{first_line},$p' {path}");
    }
    format!("cat {path}")
}

/// Returns a path in single quotes. A quote in it becomes `'\''`: the string ends, an escaped quote
/// follows, and another string begins.
fn quote_for_shell(path: &Text) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

impl Replacement<'_> {
    fn add_for_claude(&self, arguments: Object) -> Object {
        arguments
            .text("old_string", &self.old)
            .text("new_string", &self.new)
    }
}

/// Reads a call of a shell tool whose arguments have these `keys`. The command is a string, or a
/// list of words such as `["bash", "-lc", "ls"]`, which old versions of Codex wrote. `None` if the
/// command is missing, or if the list is not a script for a shell.
fn read_command<'a>(arguments: Raw<'a>, keys: &ShellKeys) -> Option<CommonCall<'a>> {
    let value = arguments.get(keys.command)?;
    let command = match value.text() {
        Some(text) => text,
        None => find_script(value)?,
    };
    let timeout = arguments.get(keys.timeout).and_then(Raw::number);
    Some(CommonCall::Shell {
        command,
        timeout_ms: timeout.map(|timeout| timeout * keys.timeout_unit_ms),
    })
}

/// Returns the script in a list of words that runs a shell: `ls` in `["bash", "-lc", "ls"]`. `None`
/// for any other list.
fn find_script(list: Raw) -> Option<Text> {
    let words: Vec<_> = list.items().filter_map(Raw::text).collect();
    let [_shell, option, script] = &words[..] else {
        return None;
    };
    if *option != "-lc" && *option != "-c" {
        return None;
    }
    Some(script.clone())
}

/// Returns the path of a file by the keys of any agent.
fn read_path(arguments: Raw<'_>) -> Option<Text<'_>> {
    // The keys of pi; of Claude Code and Gemini CLI; of OpenCode.
    first_text(arguments, ["path", "file_path", "filePath"])
}

/// Reads the replacements of an edit: the list `edits`, or without it, the one replacement whose
/// members are beside the path. `None` if there is none, or if one lacks a member.
fn read_replacements(arguments: Raw<'_>) -> Option<Vec<Replacement<'_>>> {
    let Some(edits) = arguments.get("edits") else {
        return Some(vec![read_replacement(arguments)?]);
    };
    let mut replacements = Vec::new();
    for edit in edits.items() {
        replacements.push(read_replacement(edit)?);
    }
    if replacements.is_empty() {
        return None;
    }
    Some(replacements)
}

/// Returns the replacements in a file as a call of Claude Code.
fn edit_for_claude(path: &Text, replacements: &[Replacement]) -> NamedCall {
    let arguments = Object::new().text("file_path", path);
    if let [only] = replacements {
        return NamedCall::new("Edit", only.add_for_claude(arguments));
    }
    let mut edits = Vec::new();
    for replacement in replacements {
        edits.push(replacement.add_for_claude(Object::new()).finish());
    }
    NamedCall::new("MultiEdit", arguments.json("edits", &array(edits)))
}

/// Reads a replacement by the keys of any agent. `None` if the old or the new text is missing.
fn read_replacement(edit: Raw<'_>) -> Option<Replacement<'_>> {
    // The keys of pi; of Claude Code and Gemini CLI; of OpenCode.
    Some(Replacement {
        old: first_text(edit, ["oldText", "old_string", "oldString"])?,
        new: first_text(edit, ["newText", "new_string", "newString"])?,
    })
}

/// Returns the first of the members with these keys that is a string.
fn first_text<'a>(object: Raw<'a>, keys: [&str; 3]) -> Option<Text<'a>> {
    keys.iter().find_map(|key| object.get_text(key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn codex(name: &str, arguments: &str) -> Option<String> {
        let arguments = Raw::parse(arguments.as_bytes()).unwrap();
        let call = CommonCall::read(&Text::from(name), arguments)?;
        let text = call.command_for_codex().or_else(|| call.patch_for_codex());
        text.map(|text| text.to_string())
    }

    #[test]
    fn calls_of_all_agents_as_codex_makes_them() {
        for (name, arguments, expected) in [
            ("bash", r#"{"command":"ls"}"#, Some("ls")),
            ("Bash", r#"{"command":"ls","description":"d"}"#, Some("ls")),
            (
                "shell",
                r#"{"command":["bash","-lc","ls | wc"]}"#,
                Some("ls | wc"),
            ),
            ("shell", r#"{"command":["ls","-l"]}"#, None),
            ("read", r#"{"path":"it's"}"#, Some(r"cat 'it'\''s'")),
            (
                "Read",
                r#"{"file_path":"a","offset":3}"#,
                Some("sed -n '3,$p' 'a'"),
            ),
            (
                "read",
                r#"{"path":"a","offset":3,"limit":2}"#,
                Some("sed -n '3,4p' 'a'"),
            ),
            ("read", r#"{"path":"a","limit":0}"#, Some("head -n 0 'a'")),
            (
                "read",
                r#"{"path":"a","offset":3,"limit":0}"#,
                Some("head -n 0 'a'"),
            ),
            (
                "write",
                r#"{"path":"a","content":"x\ny\n"}"#,
                Some("*** Begin Patch\n*** Add File: a\n+x\n+y\n*** End Patch"),
            ),
            (
                "MultiEdit",
                r#"{"file_path":"a","edits":[{"old_string":"x","new_string":""},{"old_string":"y","new_string":"z"}]}"#,
                Some("*** Begin Patch\n*** Update File: a\n@@\n-x\n@@\n-y\n+z\n*** End Patch"),
            ),
            (
                "edit",
                r#"{"filePath":"a","oldString":"x","newString":"y"}"#,
                Some("*** Begin Patch\n*** Update File: a\n@@\n-x\n+y\n*** End Patch"),
            ),
            ("run_shell_command", r#"{"command":"ls"}"#, Some("ls")),
            (
                "run_shell_command",
                r#"{"command":"ls","dir_path":"a"}"#,
                None,
            ),
            ("read_file", r#"{"file_path":"a"}"#, Some("cat 'a'")),
            ("read_file", r#"{"file_path":"a","start_line":3}"#, None),
            (
                "replace",
                r#"{"file_path":"a","instruction":"i","old_string":"x","new_string":"z"}"#,
                Some("*** Begin Patch\n*** Update File: a\n@@\n-x\n+z\n*** End Patch"),
            ),
            ("edit", r#"{"path":"a","edits":[]}"#, None),
            ("write", r#"{"path":"a"}"#, None),
            ("todo", r#"{"path":"a"}"#, None),
        ] {
            assert_eq!(
                codex(name, arguments).as_deref(),
                expected,
                "{name} {arguments}"
            );
        }
    }
}
