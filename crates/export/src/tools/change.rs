//! The details of calls: most are changes to files, which are drawn as diffs.

use super::output::OmittedLines;
use super::{LONGEST_SUBJECT, ToolCall, string_member};
use crate::code::{self, Language};
use crate::diff::{self, DiffSource, DiffStyle};
use crate::source::decode_string;
use crate::view_parts::{ChangedLines, EntryView};
use pisess_core::format::changes::{self, DiffSign, classify_diff_line};
use pisess_core::session::file_calls::{TextReplacement, read_replacements};
use pisess_json::Raw;

/// The length of two texts together, in bytes, above which they are not compared, but shown one
/// after the other.
const LONGEST_COMPARED: usize = 512 * 1024;

impl EntryView<'_> {
    /// Appends what the head line of a call does not show. What this is depends on the tool:
    ///
    /// - a command: the whole command if it is long;
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
        match &*call.name {
            "bash" | "Bash" => {
                let command = string_member(arguments, "command").unwrap_or_default();
                let has_several_lines = command.trim_end().contains('\n');
                // The head line has the whole of a shorter command.
                if has_several_lines || command.chars().count() > LONGEST_SUBJECT {
                    let language = Language::from_name("sh");
                    code::push_code_block(&command, "sh", language, &mut self.markup);
                }
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
        if let Some(diff) = details.get("diff").and_then(decode_string) {
            let mut lines = Vec::new();
            for line in diff.lines() {
                lines.push((classify_diff_line(line), line));
            }
            // Some agents store only the headers of the hunks.
            let has_change = lines.iter().any(|(sign, _)| *sign != DiffSign::Common);
            if has_change {
                return Some(self.push_diff(&lines, language, DiffSource::Agent));
            }
        }

        let replacements = read_replacements(arguments);
        if !replacements.is_empty() {
            let mut changed_lines = ChangedLines::default();
            for TextReplacement { old, new, .. } in &replacements {
                let replaced = self.push_comparison(old, new, language);
                changed_lines.added += replaced.added;
                changed_lines.removed += replaced.removed;
            }
            return Some(changed_lines);
        }

        // A single argument is usually the subject in the head line.
        let has_several = arguments.is_object() && arguments.members().nth(1).is_some();
        if has_several {
            self.push_json("arguments", arguments);
        }
        None
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
