//! Patches in tool calls: texts that change several files, in the format of Codex or oh-my-pi.

use super::codex_shell::is_codex_shell;
use super::content::find_members;
use memchr::memmem;
use pisess_json::Raw;
use pisess_json::text::Text;

/// The first line of a patch of Codex.
const PATCH_START: &str = "*** Begin Patch";
/// Its last line.
const PATCH_END: &str = "*** End Patch";

/// The patch of a tool call.
#[derive(Debug, PartialEq, Eq)]
pub struct FilePatch {
    /// The lines of the patch.
    pub text: String,
    /// The directory in which Codex ran `apply_patch`: the paths in the headings are relative to
    /// it. Empty if it is the session's directory.
    folder: String,
}

impl FilePatch {
    /// Reads the patch of a call: the `input` of oh-my-pi's `edit` or of Codex's `apply_patch`, or
    /// the patch in a shell command ([`FilePatch::read_in_command`]). `None` if there is none.
    pub fn read(tool_name: Option<Raw>, arguments: Raw) -> Option<FilePatch> {
        let tool_name = tool_name?;
        if tool_name.is("edit") || tool_name.is("apply_patch") {
            return Some(FilePatch {
                text: arguments.get_text("input")?.into_string_lossy(),
                folder: String::new(),
            });
        }
        FilePatch::read_in_command(tool_name, arguments)
    }

    /// Reads the patch that a shell command of Codex passes to `apply_patch`, as an argument or as
    /// a here-document:
    ///
    /// ```text
    /// {"command":["apply_patch","*** Begin Patch\n…"]}
    /// {"command":["bash","-lc","apply_patch <<'EOF'\n*** Begin Patch\n…\nEOF"],"workdir":"/srv"}
    /// {"cmd":"apply_patch <<'EOF'\n*** Begin Patch\n…\nEOF"}
    /// ```
    ///
    /// `None` if the command does anything else, such as a `cd` before the patch.
    pub fn read_in_command(tool_name: Raw, arguments: Raw) -> Option<FilePatch> {
        if !is_codex_shell(&tool_name.text()?) {
            return None;
        }
        // Most commands have no patch, and need not be decoded.
        memmem::find(arguments.bytes(), PATCH_START.as_bytes())?;

        let [command, cmd, workdir] = find_members(arguments, ["command", "cmd", "workdir"]);
        let text = read_patch_in(command.or(cmd)?)?;
        let folder = workdir.and_then(Raw::text).unwrap_or_default();
        Some(FilePatch {
            text,
            folder: if folder == *"." {
                String::new()
            } else {
                folder.into_string_lossy()
            },
        })
    }

    /// Whether the patch is in the format of Codex: a hunk has the lines themselves, each with its
    /// sign.
    pub fn is_of_codex(&self) -> bool {
        self.text.starts_with(PATCH_START)
    }

    /// Returns the paths of the files in the headings, each once. The lines of a file's text begin
    /// with a sign in a patch, so they are not taken for headings.
    pub fn paths(&self) -> Vec<String> {
        let mut paths = Vec::new();
        for line in self.text.lines() {
            let Some(path) = self.heading_path(line) else {
                continue;
            };
            if !path.is_empty() && !paths.contains(&path) {
                paths.push(path);
            }
        }
        paths
    }

    /// Returns the lines about one file: its headings, and the lines after each, up to the heading
    /// of another file. `path` is one of [`FilePatch::paths`].
    pub fn lines_of(&self, path: &str) -> Vec<&str> {
        let mut lines = Vec::new();
        let mut is_of_file = false;
        for line in self.text.lines() {
            if let Some(heading) = self.heading_path(line) {
                is_of_file = heading == path;
            }
            if is_of_file {
                lines.push(line);
            }
        }
        lines
    }

    /// Returns the path in a heading, below the directory of the patch; `None` for any other line.
    fn heading_path(&self, line: &str) -> Option<String> {
        let path = heading_path(line.trim_end())?;
        if path.is_empty() || path.starts_with('/') || self.folder.is_empty() {
            return Some(path.to_owned());
        }
        Some(format!("{}/{path}", self.folder.trim_end_matches('/')))
    }
}

/// Returns the path in a heading of a patch; `None` for any other line. Headings of oh-my-pi are
/// `[PATH#1a2b]` and `MV PATH`. Those of oh-my-pi and Codex are `*** Update File: PATH` and the
/// like.
pub fn heading_path(line: &str) -> Option<&str> {
    if let Some(heading) = line.strip_prefix('[') {
        let heading = heading.strip_suffix(']')?;
        // The tag distinguishes a heading from any other text in brackets.
        let (path, tag) = heading.rsplit_once('#')?;
        let is_tag = tag.len() == 4 && tag.bytes().all(|byte| byte.is_ascii_hexdigit());
        return if is_tag { Some(path) } else { None };
    }
    if let Some(path) = line.strip_prefix("MV ") {
        return Some(path.trim());
    }

    const FILE_OPERATIONS: [&str; 4] = ["Update File", "Add File", "Delete File", "Move to"];
    let heading = line.strip_prefix("*** ")?;
    let (operation, path) = heading.split_once(": ")?;
    if FILE_OPERATIONS.contains(&operation) {
        Some(path.trim())
    } else {
        None
    }
}

/// Returns the patch in a command: a string, or an array of words.
fn read_patch_in(command: Raw) -> Option<String> {
    let words: Vec<Text> = command.items().filter_map(Raw::text).collect();
    match &words[..] {
        [program, patch] if *program == *"apply_patch" => {
            let patch = patch.to_string_lossy();
            patch.starts_with(PATCH_START).then(|| patch.into_owned())
        }
        [_shell, option, script] if *option == *"-lc" || *option == *"-c" => {
            read_patch_in_script(&script.to_string_lossy())
        }
        // A string has no items.
        [] => read_patch_in_script(&command.text()?.to_string_lossy()),
        _ => None,
    }
}

/// Returns the patch in a script that consists of `apply_patch` and its here-document. Codex also
/// accepts a here-document without its last line.
fn read_patch_in_script(script: &str) -> Option<String> {
    let (first_line, document) = script.trim_start().split_once('\n')?;
    let redirection = first_line.strip_prefix("apply_patch")?.trim_start();
    if !redirection.starts_with("<<") || !document.starts_with(PATCH_START) {
        return None;
    }

    let mut patch = String::new();
    for line in document.lines() {
        patch.push_str(line);
        patch.push('\n');
        if line.trim_end() == PATCH_END {
            break;
        }
    }
    Some(patch)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(tool_name: &str, arguments: &str) -> Option<FilePatch> {
        let name = format!("\"{tool_name}\"");
        FilePatch::read(
            Some(Raw::parse(name.as_bytes()).unwrap()),
            Raw::parse(arguments.as_bytes()).unwrap(),
        )
    }

    #[test]
    fn a_patch_in_a_shell_command_is_read() {
        const PATCH: &str = r"*** Begin Patch\n*** Update File: a.rs\n-x\n+y\n*** End Patch";
        for (tool, arguments) in [
            (
                "shell",
                format!(r#"{{"command":["apply_patch","{PATCH}"]}}"#),
            ),
            (
                "shell",
                format!(r#"{{"command":["bash","-lc","apply_patch << 'EOF'\n{PATCH}\nEOF"]}}"#),
            ),
            // Without the end of the here-document.
            (
                "shell",
                format!(
                    r#"{{"command":["bash","-lc","apply_patch <<'EOF'\n{PATCH}"],"workdir":"."}}"#
                ),
            ),
            (
                "exec_command",
                format!(r#"{{"cmd":"apply_patch <<EOF\n{PATCH}\nEOF\n"}}"#),
            ),
            ("apply_patch", format!(r#"{{"input":"{PATCH}"}}"#)),
        ] {
            let patch = read(tool, &arguments).unwrap_or_else(|| panic!("{arguments}"));
            assert_eq!(patch.paths(), ["a.rs"], "{arguments}");
            assert_eq!(
                patch.lines_of("a.rs"),
                ["*** Update File: a.rs", "-x", "+y", "*** End Patch"],
                "{arguments}"
            );
        }
    }

    #[test]
    fn paths_begin_in_the_directory_of_the_command() {
        let patch = read(
            "shell",
            r#"{"command":["apply_patch","*** Begin Patch\n*** Add File: a.rs\n+x\n*** Delete File: /srv/b.rs"],"workdir":"/srv/kites/"}"#,
        );
        let patch = patch.unwrap();
        assert_eq!(patch.paths(), ["/srv/kites/a.rs", "/srv/b.rs"]);
        assert_eq!(patch.lines_of("/srv/kites/a.rs").len(), 2);
    }

    #[test]
    fn other_commands_have_no_patch() {
        for (tool, arguments) in [
            ("shell", r#"{"command":["bash","-lc","cat a.patch"]}"#),
            // The directory is not known from the arguments alone.
            (
                "shell",
                r#"{"command":["bash","-lc","cd x && apply_patch <<EOF\n*** Begin Patch\nEOF"]}"#,
            ),
            (
                "shell",
                r#"{"command":["bash","-lc","cat > a.patch <<EOF\n*** Begin Patch\nEOF"]}"#,
            ),
            (
                "bash",
                r#"{"command":"apply_patch <<EOF\n*** Begin Patch\n*** End Patch\nEOF"}"#,
            ),
            ("shell", r#"{"command":7,"note":"*** Begin Patch"}"#),
        ] {
            assert_eq!(read(tool, arguments), None, "{arguments}");
        }
    }
}
