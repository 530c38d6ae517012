//! Tool calls for people: a command with its output, a file with its lines, an edit as a diff.
//!
//! A call and its result are two entries. Both are drawn at the result, and the entry of the call
//! only has a link there. A call without a result is drawn at its own entry.

use super::code::{self, Language};
use super::commits::{Commit, find_commits};
use super::diff::{self, DiffSource, DiffStyle};
use super::markup::{Markup, SectionLimits, Tag};
use super::source::{cut, decode_string};
use super::view_parts::{ChangedLines, EntryView, LONGEST_TEXT};
use pisess_core::agents::readable::{self, execution_tool};
use pisess_core::format::changes::{self, DiffSign, classify_diff_line};
use pisess_core::format::format_count;
use pisess_core::session::content::{find_members, has_truthy, is_block, join_text};
use pisess_core::session::file_calls::{TextReplacement, read_replacements};
use pisess_core::session::outcome::Outcome;
use pisess_core::session::paths::strip_folder;
use pisess_json::Raw;
use pisess_json::string::decode;
use std::borrow::Cow;
use std::io;

/// The maximum number of characters of a tool's name in a head line.
const LONGEST_NAME: usize = 80;

/// The maximum number of characters of a subject in a head line.
const LONGEST_SUBJECT: usize = 400;

/// The maximum number of characters of an output that only confirms a change, and is shown as a
/// remark below it.
const LONGEST_REMARK: usize = 300;

/// The maximum number of characters of the agent's reason for leaving out the content of a file.
const LONGEST_REASON: usize = 100;

/// The length of two texts together, in bytes, above which they are not compared, but shown one
/// after the other.
const LONGEST_COMPARED: usize = 512 * 1024;

/// The size at which a section of nested calls is full. Head lines are short, so that only the
/// number of elements is limited.
const FULL_OF_NESTED_CALLS: SectionLimits = SectionLimits {
    bytes: usize::MAX,
    elements: 200,
};

/// A remark after the subject in a head line.
struct HeadMark<'t> {
    tag: Tag,
    text: &'t str,
}

impl<'t> HeadMark<'t> {
    fn remark(text: &'t str) -> Self {
        HeadMark {
            tag: Tag::Mark,
            text,
        }
    }

    fn failure(text: &'t str) -> Self {
        HeadMark {
            tag: Tag::BadMark,
            text,
        }
    }
}

/// A call of a tool.
struct ToolCall<'a> {
    /// The agent's name for the tool; empty if it is missing.
    name: String,
    arguments: Raw<'a>,
}

impl<'a> ToolCall<'a> {
    /// Reads a call from its block in a reply.
    fn read(block: Raw<'a>) -> ToolCall<'a> {
        let [name, arguments] = find_members(block, ["name", "arguments"]);
        ToolCall {
            name: name.and_then(decode_string).unwrap_or_default(),
            arguments: arguments.unwrap_or(Raw::NULL),
        }
    }

    /// Whether the tool runs a command in a shell.
    fn is_bash(&self) -> bool {
        matches!(&*self.name, "bash" | "Bash")
    }
}

impl EntryView<'_> {
    /// Appends a call in the message that made it: a link to its result, or the call itself if the
    /// export has no result.
    pub fn push_call(&mut self, block: Raw) {
        let contents = self.source.contents;
        let call = ToolCall::read(block);
        let subject = self.call_subject(&call);

        if let Some(id) = block.get_text("id")
            && let Some(result) = contents.nearest_result(id.as_bytes(), self.ix)
            && let Some(result_number) = contents.entry_number(result)
        {
            self.markup
                .push_element_with(Tag::Call, &result_number.to_string(), |m| {
                    m.push_text_element(Tag::Name, &cut(&call.name, LONGEST_NAME));
                    m.push_text_element(Tag::Subject, &cut(&subject, LONGEST_SUBJECT));
                });
            return;
        }

        self.push_tool(ToolState::Open, |view| {
            let mut marks = Vec::new();
            // With a filter, the session may have a result that is left out.
            if contents.cuts.filter.is_none() {
                marks.push(HeadMark::remark("no result"));
            }
            push_head_line(&call.name, &subject, &marks, &mut view.markup);
            let details_of_result = Raw::NULL;
            // Without a result, it is not known whether the call has changed these lines, so they
            // do not count.
            let _changed_lines = view.push_call_details(&call, details_of_result);
        });
    }

    /// Appends a result with the call that it answers. `message` is the result.
    pub fn push_result(&mut self, message: Raw) -> io::Result<()> {
        let id = message.get_text("toolCallId").unwrap_or_default();
        let source = self.source;
        source.with_call(id.as_bytes(), self.ix, |call| {
            self.push_call_with_result(call, message);
        })
    }

    /// Appends a call with its result: the head line, the details of the call, the output, the
    /// calls that the tool made itself, then images and other content of the result.
    ///
    /// `message` is the result. `call_block` is the block of its call, or `null` if there is none.
    fn push_call_with_result(&mut self, call_block: Raw, message: Raw) {
        let names = ["toolName", "content", "isError", "prunedAt", "details"];
        let [result_name, content, is_error, pruned_at, details] = find_members(message, names);
        let mut call = ToolCall::read(call_block);
        let name = result_name.or(call_block.get("name"));
        call.name = name.and_then(decode_string).unwrap_or("tool".to_owned());
        let details = details.unwrap_or(Raw::NULL);
        let output = ToolOutput::new(content, self.source.contents.cuts.max_lines);
        let failed = is_error.is_some_and(Raw::is_truthy);

        let outcome = Outcome::from_result(message, &output.text.shortened());
        let failure_text = match outcome.exit_code() {
            Some(code) => format!("exit {code}"),
            None => "failed".to_owned(),
        };
        let mut marks = Vec::new();
        if failed {
            marks.push(HeadMark::failure(&failure_text));
        }
        if pruned_at.is_some() {
            marks.push(HeadMark::remark("shortened by the agent"));
        }

        let mut changed_lines = None;
        self.push_tool(ToolState::of_finished(failed), |view| {
            let subject = view.call_subject(&call);
            push_head_line(&call.name, &subject, &marks, &mut view.markup);

            changed_lines = view.push_call_details(&call, details);
            let shows_change = changed_lines.is_some();
            if output.text.is_blank() {
                // A drawn change or an image is enough.
                if output.other_blocks.is_empty() && !shows_change {
                    view.markup.push_text_element(Tag::Note, "no output");
                }
            } else if shows_change && !failed && is_edit_tool(&call.name) {
                // The output of a successful edit only confirms the change that was drawn.
                let text = output.text.shortened();
                let confirmation = cut(&first_line(text.trim()), LONGEST_REMARK);
                view.markup.push_text_element(Tag::Note, &confirmation);
            } else {
                view.push_output(&call, &output.text, failed);
            }

            view.push_nested_calls(message);
            for block in output.other_blocks {
                if is_block(block, "image") {
                    view.push_image(block);
                } else {
                    view.push_json("other content", block);
                }
            }
        });

        self.facts.commits = output.text.find_commits(call.arguments);
        if failed {
            // It has changed nothing.
            self.facts.exit_code = outcome.exit_code().map(str::to_owned);
        } else {
            self.facts.changed_lines = changed_lines.unwrap_or_default();
        }
    }

    /// Appends the element of a tool, with the content that `inside` appends. The page colours the
    /// element by `state`: `open` without a result, `failed`, or empty.
    fn push_tool(&mut self, state: ToolState, inside: impl FnOnce(&mut Self)) {
        self.markup.open_with(Tag::Tool, state.as_str());
        inside(self);
        self.markup.close();
    }

    /// Appends the output of a tool. If the export limits its lines, the last lines of a command
    /// are shown, and the first lines of any other tool.
    fn push_output(&mut self, call: &ToolCall, output: &OutputText, has_failed: bool) {
        // Not for `Read` of Claude Code, which writes the numbers into its output. The output of a
        // `read` that failed is a message.
        let is_part_of_file = call.name == "read" && !has_failed;
        if is_part_of_file {
            return self.push_read_lines(call.arguments, output);
        }
        match output {
            OutputText::Whole(text) if call.is_bash() => self.push_last_lines(text),
            OutputText::Whole(text) => self.push_first_lines(text, code::push_output),
            // The export does not limit lines: see `ToolOutput::new`.
            OutputText::Long(string) => code::push_json_output(string, &mut self.markup),
        }
    }

    /// Appends the lines that a `read` returned, numbered as in the file.
    fn push_read_lines(&mut self, arguments: Raw, output: &OutputText) {
        let first_line = first_line_number(arguments);
        let path = self.path_argument(arguments);
        let language = path.as_deref().and_then(Language::from_path);
        match output {
            OutputText::Whole(text) => self.push_first_lines(text, |text, m| {
                code::push_numbered_lines(text, first_line, language, m);
            }),
            OutputText::Long(string) => {
                code::push_json_numbered_lines(string, first_line, language, &mut self.markup);
            }
        }
    }

    /// Appends the calls that a tool made itself: a head line for each, folded under the number of
    /// calls. The calls are in the member `nestedCalls` of `message`, the result of the tool.
    fn push_nested_calls(&mut self, message: Raw) {
        let nested = message.get("nestedCalls").unwrap_or(Raw::NULL);
        let calls = nested.get("calls").unwrap_or(Raw::NULL);
        let count = calls.items().count();
        if count == 0 {
            return;
        }

        self.markup.open(Tag::Fold);
        self.markup
            .push_text_element(Tag::Summary, &format_count(count, "call", "calls"));
        self.push_section(|view| {
            for call in calls.items() {
                view.push_nested_call(call);
                view.markup.divide_if_full(FULL_OF_NESTED_CALLS);
            }
        });
        self.markup.close();
    }

    /// Appends the head line of a call that a tool made.
    fn push_nested_call(&mut self, block: Raw) {
        let mut marks = Vec::new();
        if block.get("isError").is_some_and(Raw::is_truthy) {
            marks.push(HeadMark::failure("failed"));
        }
        let call = ToolCall::read(block);
        let subject = self.call_subject(&call);
        push_head_line(&call.name, &subject, &marks, &mut self.markup);
    }

    /// Returns the subject of a call, on one line: the command, file or pattern that the tool works
    /// on. Agents have different names for the same tool, as in `bash`, `Bash` and `shell`.
    ///
    /// The subject of an unknown tool is the path in its arguments. If the expected argument is
    /// missing, the subject is the first argument that is a string; without one, it is empty.
    fn call_subject(&self, call: &ToolCall) -> String {
        let arguments = call.arguments;
        let subject = match &*call.name {
            "bash" | "Bash" => string_member(arguments, "command").map(|text| first_line(&text)),
            "shell" | "local_shell" => shell_subject(arguments),
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
    /// `PATH:FIRST-LAST`, or `PATH:FIRST` if the range reaches to the end.
    fn read_subject(&self, arguments: Raw) -> Option<String> {
        let path = self.path_argument(arguments)?;
        // The number of the first line, from 1, and how many lines are read.
        let offset = arguments.get("offset").and_then(Raw::as_index);
        let limit = arguments.get("limit").and_then(Raw::as_index);

        let first = offset.unwrap_or(1);
        if let Some(line_count) = limit {
            // The model may have written 0 for both.
            let last = (first + line_count).saturating_sub(1);
            Some(format!("{path}:{first}-{last}"))
        } else if offset.is_some() {
            Some(format!("{path}:{first}"))
        } else {
            Some(path)
        }
    }

    /// Returns the path in the arguments of a call, under any of the keys that the agents' tools
    /// use. A path in the working directory of the session becomes relative to that directory.
    fn path_argument(&self, arguments: Raw) -> Option<String> {
        const PATH_KEYS: [&str; 5] = ["path", "file_path", "notebook_path", "filePath", "file"];

        let argument = PATH_KEYS.iter().find_map(|key| arguments.get(key))?;
        let path = decode_string(argument)?;
        let Some(cwd) = &self.source.contents.session.header.cwd else {
            return Some(path);
        };
        match strip_folder(path.as_bytes(), cwd.to_string_lossy().as_bytes()) {
            Some(relative) if !relative.is_empty() => {
                // `relative` is a suffix of the bytes of `path`, and begins after a separator.
                let relative_start = path.len() - relative.len();
                Some(path[relative_start..].to_owned())
            }
            _ => Some(path),
        }
    }

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
    fn push_call_details(&mut self, call: &ToolCall, details: Raw) -> Option<ChangedLines> {
        let arguments = call.arguments;
        match &*call.name {
            "bash" | "Bash" => {
                let command = string_member(arguments, "command").unwrap_or_default();
                if command.trim_end().contains('\n') || command.chars().count() > LONGEST_SUBJECT {
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
        let path = self.path_argument(arguments);
        let language = path.and_then(|path| Language::from_path(&path));
        let first_line = 1;
        self.push_first_lines(content, |text, m| {
            code::push_numbered_lines(text, first_line, language, m)
        });
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
        let path = self.path_argument(arguments);
        let language = path.and_then(|path| Language::from_path(&path));
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
            let mut lines = Vec::new();
            for line in old.lines() {
                lines.push((DiffSign::Removed, line));
            }
            for line in new.lines() {
                lines.push((DiffSign::Added, line));
            }
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

    /// Calls `write` with a text, to append it. If the export limits lines, the text is cut to its
    /// first lines, and a note after them has the number of lines that are left out.
    fn push_first_lines(&mut self, text: &str, write: impl FnOnce(&str, &mut Markup)) {
        let count = text.lines().count();
        let shown_count = self.shown_line_count(count);
        if shown_count > 0 {
            let shown_end = offset_of_line(text, shown_count);
            write(&text[..shown_end], &mut self.markup);
        }
        self.push_omitted_count(count, OmittedLines::After);
    }

    /// Appends the output of a command. If the export limits lines, only the last ones are shown,
    /// because the outcome of a command is at its end. A note before them has the number of lines
    /// that are left out.
    fn push_last_lines(&mut self, text: &str) {
        let count = text.lines().count();
        let shown_count = self.shown_line_count(count);
        self.push_omitted_count(count, OmittedLines::Before);
        if shown_count > 0 {
            let shown_start = offset_of_line(text, count - shown_count);
            code::push_output(&text[shown_start..], &mut self.markup);
        }
    }

    /// Returns how many of `count` lines the export shows: all, or as many as the cuts allow.
    fn shown_line_count(&self, count: usize) -> usize {
        count.min(self.source.contents.cuts.max_lines.unwrap_or(count))
    }

    /// Appends a note with how many of `count` lines the cuts leave out; nothing if they leave out
    /// none. `omitted` is where these lines are.
    fn push_omitted_count(&mut self, count: usize, omitted: OmittedLines) {
        let shown_count = self.shown_line_count(count);
        let omitted_count = count - shown_count;
        if omitted_count == 0 {
            return;
        }
        // If no line is shown, the omitted ones are neither before nor after others.
        let note = if shown_count == 0 {
            format_count(omitted_count, "line", "lines")
        } else {
            match omitted {
                OmittedLines::Before => {
                    format_count(omitted_count, "earlier line", "earlier lines")
                }
                OmittedLines::After => format_count(omitted_count, "more line", "more lines"),
            }
        };
        self.markup.push_text_element(Tag::Note, &note);
    }

    /// Appends a shell command or Python code that the user ran, with its output. The first line is
    /// the subject of the head line; more lines follow as a block of code.
    pub fn push_execution(&mut self, message: Raw) {
        let name = execution_tool(message);
        let language = if name == "bash" { "sh" } else { "py" };
        let code = string_member(message, "command")
            .or_else(|| string_member(message, "code"))
            .unwrap_or_default();
        let output = string_member(message, "output").unwrap_or_default();

        // The members of the message have the outcome. The agent adds no line on it to the output,
        // so the output is not passed here.
        let no_output = "";
        let outcome = Outcome::from_result(message, no_output);
        let exit_text = outcome.exit_code().map(|code| format!("exit {code}"));
        let mut marks = Vec::new();
        if outcome == Outcome::Stopped {
            marks.push(HeadMark::failure("cancelled"));
        } else if let Some(exit) = &exit_text {
            marks.push(HeadMark::failure(exit));
        }
        if has_truthy(message, "excludeFromContext") {
            marks.push(HeadMark::remark("not sent to the model"));
        }
        if has_truthy(message, "truncated") {
            marks.push(HeadMark::remark("output shortened"));
        }

        // A command that was cancelled counts as failed, too.
        let state = ToolState::of_finished(outcome != Outcome::Passed);
        self.push_tool(state, |view| {
            push_head_line(name, &first_line(&code), &marks, &mut view.markup);
            let has_several_lines = code.trim_end().contains('\n');
            if has_several_lines {
                let highlighting = Language::from_name(language);
                code::push_code_block(&code, language, highlighting, &mut view.markup);
            }
            if output.trim().is_empty() {
                view.markup.push_text_element(Tag::Note, "no output");
            } else {
                view.push_last_lines(&output);
            }
        });
    }

    /// Appends files that the user mentioned.
    pub fn push_files(&mut self, message: Raw) {
        for file in message.get("files").unwrap_or(Raw::NULL).items() {
            self.push_tool(ToolState::Passed, |view| view.push_file(file));
        }
    }

    /// Appends a file that the user mentioned: its path, then what the agent stored of it. This may
    /// be the reason why its content was left out, its lines, or its image.
    fn push_file(&mut self, file: Raw) {
        let path = self.path_argument(file).unwrap_or_default();
        push_head_line("file", &path, &[], &mut self.markup);
        if let Some(reason) = string_member(file, "skippedReason") {
            let reason = cut(&reason, LONGEST_REASON);
            self.markup
                .push_text_element(Tag::Note, &format!("left out: {reason}"));
        }
        if let Some(content) = string_member(file, "content")
            && !content.is_empty()
        {
            let language = Language::from_path(&path);
            self.push_first_lines(&content, |text, m| {
                code::push_numbered_lines(text, 1, language, m)
            });
        }
        if let Some(image) = file.get("image")
            && image.is_object()
        {
            self.push_image(image);
        }
    }
}

/// The state of a tool call, which the page shows by a colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ToolState {
    /// The tool did what was asked for.
    Passed,
    /// The tool failed, or was stopped.
    Failed,
    /// The call has no result.
    Open,
}

impl ToolState {
    /// Returns the state of a call that has a result.
    fn of_finished(has_failed: bool) -> ToolState {
        if has_failed {
            ToolState::Failed
        } else {
            ToolState::Passed
        }
    }

    /// Returns the value of [`Tag::Tool`]: the class of the element on the page.
    fn as_str(self) -> &'static str {
        match self {
            ToolState::Passed => "",
            ToolState::Failed => "failed",
            ToolState::Open => "open",
        }
    }
}

/// Where lines are left out of a text that is shown in part.
#[derive(Clone, Copy)]
enum OmittedLines {
    /// Before the lines that are shown.
    Before,
    /// After them.
    After,
}

/// Appends the head line of a tool: its name, its subject if it has one, and its marks.
fn push_head_line(name: &str, subject: &str, marks: &[HeadMark], markup: &mut Markup) {
    markup.push_element(Tag::ToolHead, |m| {
        m.push_text_element(Tag::Name, &cut(name, LONGEST_NAME));
        if !subject.is_empty() {
            m.push_text_element(Tag::Subject, &cut(subject, LONGEST_SUBJECT));
        }
        for mark in marks {
            m.push_text_element(mark.tag, mark.text);
        }
    });
}

/// Returns the text of the member `key`; `None` if it is missing, or not a string.
fn string_member(object: Raw, key: &str) -> Option<String> {
    object.get(key).and_then(decode_string)
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

/// Returns the offset behind the first `count` lines of a text.
fn offset_of_line(text: &str, count: usize) -> usize {
    text.split_inclusive('\n').take(count).map(str::len).sum()
}

/// Returns the first line of a command of Codex, whose arguments have the command as a list of
/// words.
fn shell_subject(arguments: Raw) -> Option<String> {
    let command = readable::command_head(arguments.get("command")?, LONGEST_SUBJECT)?;
    Some(first_line(&command.to_string_lossy()))
}

/// Whether the tool changes files, under the names that the agents give it.
fn is_edit_tool(name: &str) -> bool {
    matches!(name, "edit" | "write" | "Edit" | "MultiEdit" | "Write")
}

/// Returns the number of the first line that a call of `read` asked for, from 1. An offset of 0
/// means the same.
fn first_line_number(arguments: Raw) -> u64 {
    let offset = arguments.get("offset").and_then(Raw::as_index);
    offset.unwrap_or(1).max(1) as u64
}

/// The content of a result.
struct ToolOutput<'t> {
    /// Its texts, joined without a separator.
    text: OutputText<'t>,
    /// Its blocks that are not text.
    other_blocks: Vec<Raw<'t>>,
}

impl<'t> ToolOutput<'t> {
    /// Divides the content of a result, which is a string or blocks, into text and other blocks. A
    /// block of the type `text` that has no text is one of the other blocks. `max_lines` is how
    /// many lines the export shows, if it limits them.
    fn new(content: Option<Raw<'t>>, max_lines: Option<usize>) -> Self {
        let mut texts = Vec::new();
        let mut other_blocks = Vec::new();
        for block in content.unwrap_or(Raw::NULL).items() {
            match block.get("text") {
                Some(text) if is_block(block, "text") => texts.push(text),
                _ => other_blocks.push(block),
            }
        }

        // Only a text that is a single string of the file can be decoded in parts. Without blocks
        // of text, the content itself may be that string.
        let only_string = match *texts {
            [] => content.and_then(Raw::raw_string),
            [text] => text.raw_string(),
            _ => None,
        };
        // If the export limits the lines, few of them are shown, so the text is decoded as a whole,
        // and its lines are counted.
        let text = match only_string {
            Some(string) if string.len() > LONGEST_TEXT && max_lines.is_none() => {
                OutputText::Long(string)
            }
            _ => OutputText::Whole(join_text(content, "").into_string_lossy()),
        };
        ToolOutput { text, other_blocks }
    }
}

/// The text of a result.
enum OutputText<'t> {
    /// All of it.
    Whole(String),
    /// The bytes between the quotes of a string of more than [`LONGEST_TEXT`] bytes. Decoded as a
    /// whole, it would be in memory three times: as a line, as text and as markup.
    Long(&'t [u8]),
}

impl OutputText<'_> {
    /// Returns the text. A long one is shortened to its beginning and its end, because agents
    /// report at the end how a call ended: to its first part and its last two, of which the very
    /// last may be no more than a line.
    fn shortened(&self) -> Cow<'_, str> {
        let string = match self {
            OutputText::Whole(text) => return Cow::Borrowed(text),
            OutputText::Long(string) => string,
        };
        let parts: Vec<&[u8]> = code::string_parts(string).collect();
        let first_of_end = parts.len().saturating_sub(2);
        let mut shortened = String::new();
        for (index, part) in parts.iter().enumerate() {
            if index == 0 || index >= first_of_end {
                shortened.push_str(&decode(part).to_string_lossy());
            }
        }
        Cow::Owned(shortened)
    }

    /// Whether it has nothing but whitespace. A long text counts as shown.
    fn is_blank(&self) -> bool {
        match self {
            OutputText::Whole(text) => text.trim().is_empty(),
            OutputText::Long(_) => false,
        }
    }

    /// Returns the commits that the call made, as [`find_commits`] reads them from the output.
    fn find_commits(&self, arguments: Raw) -> Vec<Commit> {
        match self {
            OutputText::Whole(text) => find_commits(arguments, [text]),
            OutputText::Long(string) => find_commits(arguments, code::decoded_parts(string)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_output_has_its_ends_and_all_its_commits() {
        let filler = r"nothing to see here\n".repeat(LONGEST_TEXT / 20);
        let commit = r"[main 1a2b3c4] sails: sew the hem\n";
        let json = format!(
            r#"[{{"type":"text","text":"begun\n{filler}{commit}{filler}Command exited with code 3"}}]"#
        );
        let content = Raw::parse(json.as_bytes()).unwrap();
        let arguments = Raw::parse(br#"{"command":"git commit -m x"}"#).unwrap();

        let text = ToolOutput::new(Some(content), None).text;
        assert!(matches!(text, OutputText::Long(_)));
        let shortened = text.shortened();
        assert!(shortened.starts_with("begun\n"));
        assert!(shortened.ends_with("\nCommand exited with code 3"));
        assert!(shortened.len() < LONGEST_TEXT, "{}", shortened.len());
        assert_eq!(text.find_commits(arguments).len(), 1);

        let limited = ToolOutput::new(Some(content), Some(10)).text;
        assert!(matches!(limited, OutputText::Whole(_)));
        assert_eq!(
            limited.find_commits(arguments),
            text.find_commits(arguments)
        );
    }
}
