//! The details of calls: most are changes to files, which are drawn as diffs.

use super::output::OmittedLines;
use super::subject::codex_command;
use super::{LONGEST_SUBJECT, ToolCall, string_member};
use crate::code::{self, Language};
use crate::diff::{self, DiffSource, DiffStyle};
use crate::markup::Tag;
use crate::source::decode_string;
use crate::view_parts::{ChangedLines, EntryView};
use pisess_core::format::changes::{self, DiffSign, classify_diff_line};
use pisess_core::session::file_calls::{TextReplacement, read_replacements};
use pisess_core::session::file_patch::{FilePatch, heading_path};
use pisess_json::Raw;

/// The length of two texts together, in bytes, above which they are not compared, but shown one
/// after the other.
const LONGEST_COMPARED: usize = 512 * 1024;

impl EntryView<'_> {
    /// Appends what the head line of a call does not show. What this is depends on the tool:
    ///
    /// - a command: the whole command if it is long;
    /// - a patch of Codex, as a tool or as a command: the changes of its files;
    /// - a tool that only reads: nothing;
    /// - a tool that writes a file: the content of the file;
    /// - any other tool: the change that it made to a file, or else its arguments as JSON.
    ///
    /// Agents name the same tool in lower case or with a capital letter.
    ///
    /// Returns the lines of the change that was drawn; `None` if none was.
    pub(super) fn push_call_details(
        &mut self,
        call: &ToolCall,
        details: Raw,
    ) -> Option<ChangedLines> {
        let arguments = call.arguments;
        if let Some(patch) = &call.patch {
            return Some(self.push_patch(patch));
        }
        match &*call.name {
            "bash" | "Bash" => {
                self.push_long_command(&string_member(arguments, "command").unwrap_or_default());
                None
            }
            "shell" | "local_shell" | "shell_command" | "exec_command" => {
                self.push_long_command(&codex_command(arguments).unwrap_or_default());
                None
            }
            "read" | "ls" | "grep" | "find" | "glob" | "Read" | "LS" | "Grep" | "Glob" => None,
            "write" | "Write" => match string_member(arguments, "content") {
                Some(content) => Some(self.push_new_content(arguments, &content)),
                None => self.push_change_or_arguments(arguments, details),
            },
            _ => self.push_change_or_arguments(arguments, details),
        }
    }

    /// Appends a command that the head line does not have as a whole: one of several lines, or of
    /// more characters than a subject.
    fn push_long_command(&mut self, command: &str) {
        let has_several_lines = command.trim_end().contains('\n');
        if has_several_lines || command.chars().count() > LONGEST_SUBJECT {
            let language = Language::from_name("sh");
            code::push_code_block(command, "sh", language, &mut self.markup);
        }
    }

    /// Appends a patch of Codex: the change of each file as a diff, below its headings. If the only
    /// heading names a file that is updated, the head line is enough.
    fn push_patch(&mut self, patch: &FilePatch) -> ChangedLines {
        let paths = patch.paths();
        let mut changed_lines = ChangedLines::default();
        for path in &paths {
            let mut diff_lines = Vec::new();
            for line in patch.lines_of(path) {
                let Some(heading) = line.strip_prefix("*** ") else {
                    diff_lines.push((classify_diff_line(line), line));
                    continue;
                };
                let is_update = heading.starts_with("Update File: ");
                let is_known = paths.len() == 1 && is_update;
                if heading_path(line.trim_end()).is_some() && !is_known {
                    self.markup.push_text_element(Tag::Note, heading);
                }
            }
            if diff_lines.is_empty() {
                continue;
            }
            let language = Language::from_path(path);
            let changed = self.push_diff(&diff_lines, language, DiffSource::Export);
            changed_lines.added += changed.added;
            changed_lines.removed += changed.removed;
        }
        changed_lines
    }

    /// Appends the content that a call wrote to a file. All its lines count as added.
    fn push_new_content(&mut self, arguments: Raw, content: &str) -> ChangedLines {
        let first_line = 1;
        self.push_file_lines(content, first_line, self.file_language(arguments));
        ChangedLines {
            added: content.lines().count(),
            removed: 0,
        }
    }

    /// Appends the change that a call made to a file: the agent's diff in `details`, or else the
    /// texts that the arguments replace. If there is no change, appends the arguments as JSON,
    /// unless there is only one.
    ///
    /// Returns the lines of the change; `None` if there is none.
    fn push_change_or_arguments(&mut self, arguments: Raw, details: Raw) -> Option<ChangedLines> {
        let language = self.file_language(arguments);
        if let Some(changed_lines) = self.push_agent_diff(details, language) {
            return Some(changed_lines);
        }
        if let Some(changed_lines) = self.push_replacements(arguments, language) {
            return Some(changed_lines);
        }

        // A single argument is usually the subject in the head line.
        let has_several = arguments.is_object() && arguments.members().nth(1).is_some();
        if has_several {
            self.push_json("arguments", arguments);
        }
        None
    }

    /// Appends the diff that the agent stored in the `details` of a result. Returns `None` if there
    /// is none, or if it changes nothing: some agents store only the headers of the hunks.
    fn push_agent_diff(
        &mut self,
        details: Raw,
        language: Option<&'static Language>,
    ) -> Option<ChangedLines> {
        let diff = details.get("diff").and_then(decode_string)?;
        let mut lines = Vec::new();
        for line in diff.lines() {
            lines.push((classify_diff_line(line), line));
        }
        let has_change = lines.iter().any(|(sign, _)| *sign != DiffSign::Common);
        if !has_change {
            return None;
        }
        Some(self.push_diff(&lines, language, DiffSource::Agent))
    }

    /// Appends a diff for each text that the arguments of a call replace, and returns the sum of
    /// the changed lines. `None` if the arguments replace no text.
    fn push_replacements(
        &mut self,
        arguments: Raw,
        language: Option<&'static Language>,
    ) -> Option<ChangedLines> {
        let replacements = read_replacements(arguments);
        if replacements.is_empty() {
            return None;
        }
        let mut sum = ChangedLines::default();
        for TextReplacement { old, new, .. } in &replacements {
            let replaced = self.push_comparison(old, new, language);
            sum.added += replaced.added;
            sum.removed += replaced.removed;
        }
        Some(sum)
    }

    /// Appends the difference between two texts as a diff, and returns its changed lines. If the
    /// texts are too long to compare, all lines of `old` are removed lines, followed by all lines
    /// of `new` as added lines.
    fn push_comparison(
        &mut self,
        old: &str,
        new: &str,
        language: Option<&'static Language>,
    ) -> ChangedLines {
        if old.len() + new.len() > LONGEST_COMPARED {
            let removed = old.lines().map(|line| (DiffSign::Removed, line));
            let added = new.lines().map(|line| (DiffSign::Added, line));
            let lines: Vec<_> = removed.chain(added).collect();
            return self.push_diff(&lines, language, DiffSource::Export);
        }

        // The lines of a diff begin with their sign, as in a diff of an agent.
        let mut signed_lines = Vec::new();
        for (sign, line) in changes::diff_lines(old, new) {
            let line = line.trim_end_matches(['\n', '\r']);
            signed_lines.push((sign, format!("{}{line}", sign.as_str())));
        }
        let mut lines = Vec::new();
        for (sign, line) in &signed_lines {
            lines.push((*sign, line.as_str()));
        }
        self.push_diff(&lines, language, DiffSource::Export)
    }

    /// Appends a diff, and returns its changed lines. If the export limits lines, only the first
    /// ones are shown, but the changes in all lines are counted.
    fn push_diff(
        &mut self,
        lines: &[(DiffSign, &str)],
        language: Option<&'static Language>,
        source: DiffSource,
    ) -> ChangedLines {
        let style = DiffStyle {
            shown_count: self.shown_line_count(lines.len()),
            language,
            source,
        };
        if style.shown_count > 0 {
            diff::push_diff(lines, style, &mut self.markup);
        }
        self.push_omitted_count(lines.len(), OmittedLines::After);
        ChangedLines::count(lines)
    }
}
