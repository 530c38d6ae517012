//! The subjects of calls: what a tool works on, as the head line shows it.

use super::{ToolCall, first_line, string_member};
use crate::code::Language;
use crate::source::decode_string;
use crate::view_parts::EntryView;
use pisess_core::agents::readable;
use pisess_core::session::content::find_members;
use pisess_core::session::file_patch::FilePatch;
use pisess_core::session::paths::strip_folder;
use pisess_json::Raw;

impl EntryView<'_> {
    /// Returns the subject of a call, on one line: the command, file or pattern that the tool works
    /// on. Agents have different names for the same tool, as in `bash`, `Bash` and `shell`.
    ///
    /// The subject of an unknown tool is the path in its arguments. If the expected argument is
    /// missing, the subject is the first argument that is a string; without one, it is empty.
    pub(super) fn call_subject(&self, call: &ToolCall) -> String {
        let arguments = call.arguments;
        if let Some(patch) = &call.patch {
            return self.patch_subject(patch);
        }
        let subject = match &*call.name {
            "bash" | "Bash" => string_member(arguments, "command").map(|text| first_line(&text)),
            "shell" | "local_shell" | "shell_command" | "exec_command" => {
                codex_command(arguments).map(|command| first_line(&command))
            }
            "read" => self.read_subject(arguments),
            "grep" | "Grep" => self.grep_subject(arguments),
            "find" | "glob" | "Glob" => self.glob_subject(arguments),
            _ => self.path_argument(arguments),
        };
        if let Some(subject) = subject {
            return subject;
        }

        for (_, value) in arguments.members() {
            if let Some(text) = decode_string(value) {
                return first_line(&text);
            }
        }
        String::new()
    }

    /// Returns the expression that a call searches for, and where: `/PATTERN/ in PATH`.
    fn grep_subject(&self, arguments: Raw) -> Option<String> {
        let pattern = string_member(arguments, "pattern")?;
        let path = self.path_argument(arguments).unwrap_or(".".to_owned());
        Some(format!("/{pattern}/ in {path}"))
    }

    /// Returns the pattern for the names of files, and where they are searched for:
    /// `PATTERN in PATH`, or only the pattern.
    fn glob_subject(&self, arguments: Raw) -> Option<String> {
        let pattern = string_member(arguments, "pattern")?;
        match self.path_argument(arguments) {
            Some(path) => Some(format!("{pattern} in {path}")),
            None => Some(pattern),
        }
    }

    /// Returns the file that a call reads, with the range of lines if it is limited:
    /// `PATH:FIRST-LAST`, `PATH:FIRST` if the range reaches to the end, or `PATH:FIRST, 0 lines`.
    fn read_subject(&self, arguments: Raw) -> Option<String> {
        let path = self.path_argument(arguments)?;
        // The number of the first line, from 1, and how many lines are read.
        let offset = arguments.get("offset").and_then(Raw::as_index);
        let limit = arguments.get("limit").and_then(Raw::as_index);

        let first = offset.unwrap_or(1);
        if limit == Some(0) {
            Some(format!("{path}:{first}, 0 lines"))
        } else if let Some(line_count) = limit {
            let last = first + line_count - 1;
            Some(format!("{path}:{first}-{last}"))
        } else if offset.is_some() {
            Some(format!("{path}:{first}"))
        } else {
            Some(path)
        }
    }

    /// Returns the path in the arguments of a call, under any of the keys that the agents' tools
    /// use. A path in the working directory of the session becomes relative to that directory.
    pub(super) fn path_argument(&self, arguments: Raw) -> Option<String> {
        const PATH_KEYS: [&str; 5] = ["path", "file_path", "notebook_path", "filePath", "file"];

        let argument = PATH_KEYS.iter().find_map(|key| arguments.get(key))?;
        Some(self.shorten_path(decode_string(argument)?))
    }

    /// Returns a path relative to the working directory of the session, if it is below that.
    fn shorten_path(&self, path: String) -> String {
        let Some(cwd) = &self.source.contents.session.header.cwd else {
            return path;
        };
        match strip_folder(path.as_bytes(), cwd.to_string_lossy().as_bytes()) {
            Some(relative) if !relative.is_empty() => {
                // `relative` is a suffix of the bytes of `path`, and begins after a separator.
                let relative_start = path.len() - relative.len();
                path[relative_start..].to_owned()
            }
            _ => path,
        }
    }

    /// Returns the files that a patch changes: `src/a.rs, src/b.rs`.
    fn patch_subject(&self, patch: &FilePatch) -> String {
        let paths = patch.paths().into_iter();
        let shown: Vec<String> = paths.map(|path| self.shorten_path(path)).collect();
        shown.join(", ")
    }

    /// Returns the language of the file that a call names, if it is known.
    pub(super) fn file_language(&self, arguments: Raw) -> Option<&'static Language> {
        let path = self.path_argument(arguments)?;
        Language::from_path(&path)
    }
}

/// Returns the command in the arguments of a shell tool of Codex: a string, or a list of words.
pub(super) fn codex_command(arguments: Raw) -> Option<String> {
    let [command, cmd] = find_members(arguments, ["command", "cmd"]);
    let command = readable::command_head(command.or(cmd)?, usize::MAX)?;
    Some(command.into_string_lossy())
}
