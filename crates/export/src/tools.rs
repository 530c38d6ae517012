//! Tool calls for people: a command with its output, a file with its lines, an edit as a diff.
//!
//! A call and its result are two entries. Both are drawn at the result, and the entry of the call
//! only has a link there. A call without a result is drawn at its own entry.

mod change;
mod output;
mod subject;

use super::code::{self, Language};
use super::markup::{Markup, SectionLimits, Tag};
use super::source::{cut, decode_string};
use super::view_parts::EntryView;
use output::{OutputText, ToolOutput};
use pisess_core::agents::readable::execution_tool;
use pisess_core::format::format_count;
use pisess_core::session::codex_shell::is_codex_shell;
use pisess_core::session::content::{find_members, has_truthy, is_block};
use pisess_core::session::file_patch::FilePatch;
use pisess_core::session::outcome::Outcome;
use pisess_json::Raw;
use pisess_json::text::Text;
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
    /// The patch of Codex that the call applies.
    patch: Option<FilePatch>,
}

impl<'a> ToolCall<'a> {
    /// Reads a call from its block in a reply.
    fn read(block: Raw<'a>) -> ToolCall<'a> {
        let [name, arguments] = find_members(block, ["name", "arguments"]);
        let arguments = arguments.unwrap_or(Raw::NULL);
        ToolCall {
            name: name.and_then(decode_string).unwrap_or_default(),
            arguments,
            patch: FilePatch::read(name, arguments).filter(FilePatch::is_of_codex),
        }
    }

    /// Returns the name for the head line. A shell command that applies a patch is named after the
    /// program that it runs.
    fn shown_name(&self) -> &str {
        let is_shell = is_codex_shell(&Text::from(self.name.as_str()));
        if is_shell && self.patch.is_some() {
            "apply_patch"
        } else {
            &self.name
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
        let call = ToolCall::read(block);
        let subject = self.call_subject(&call);
        match self.find_result_number(block) {
            Some(result_number) => {
                self.push_link_to_result(call.shown_name(), &subject, result_number)
            }
            None => self.push_open_call(&call, &subject),
        }
    }

    /// Returns the number of the entry with the result of a call; `None` if it is not exported.
    fn find_result_number(&self, call_block: Raw) -> Option<u32> {
        let contents = self.source.contents;
        let id = call_block.get_text("id")?;
        let result = contents.nearest_result(id.as_bytes(), self.ix)?;
        contents.entry_number(result)
    }

    /// Appends a link to the result of a call, with the name and the subject of the call.
    fn push_link_to_result(&mut self, name: &str, subject: &str, result_number: u32) {
        let target = result_number.to_string();
        self.markup.push_element_with(Tag::Call, &target, |m| {
            m.push_text_element(Tag::Name, &cut(name, LONGEST_NAME));
            m.push_text_element(Tag::Subject, &cut(subject, LONGEST_SUBJECT));
        });
    }

    /// Appends a call without a result.
    fn push_open_call(&mut self, call: &ToolCall, subject: &str) {
        let mut marks = Vec::new();
        // With a filter, the session may have a result that is left out.
        if self.source.contents.cuts.filter.is_none() {
            marks.push(HeadMark::remark("no result"));
        }
        self.push_tool(ToolState::Open, |view| {
            push_head_line(call.shown_name(), subject, &marks, &mut view.markup);
            let details_of_result = Raw::NULL;
            // Without a result, it is not known whether the call has changed these lines, so they
            // do not count.
            let _changed_lines = view.push_call_details(call, details_of_result);
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
        let has_failed = is_error.is_some_and(Raw::is_truthy);

        let outcome = Outcome::from_result(message, &output.text.shortened());
        let failure_text = match outcome.exit_code() {
            Some(code) => format!("exit {code}"),
            None => "failed".to_owned(),
        };
        let mut marks = Vec::new();
        if has_failed {
            marks.push(HeadMark::failure(&failure_text));
        }
        if pruned_at.is_some() {
            marks.push(HeadMark::remark("shortened by the agent"));
        }

        let mut changed_lines = None;
        self.push_tool(ToolState::of_finished(has_failed), |view| {
            let subject = view.call_subject(&call);
            push_head_line(call.shown_name(), &subject, &marks, &mut view.markup);
            changed_lines = view.push_call_details(&call, details);
            let shows_change = changed_lines.is_some();
            view.push_text_of_result(&call, &output, has_failed, shows_change);
            view.push_nested_calls(message);
            view.push_other_blocks(&output);
        });

        self.facts.commits = output.text.find_commits(call.arguments);
        if has_failed {
            // It has changed nothing.
            self.facts.exit_code = outcome.exit_code().map(str::to_owned);
        } else {
            self.facts.changed_lines = changed_lines.unwrap_or_default();
        }
    }

    /// Appends the text of a result, or a note that there is no output. If the change of a file was
    /// drawn above (`shows_change`), a text that only confirms the change becomes a remark.
    fn push_text_of_result(
        &mut self,
        call: &ToolCall,
        output: &ToolOutput,
        has_failed: bool,
        shows_change: bool,
    ) {
        let confirms_change = shows_change && !has_failed && is_edit_tool(call.shown_name());
        if output.text.is_blank() {
            // A drawn change or an image is enough.
            if output.other_blocks.is_empty() && !shows_change {
                self.markup.push_text_element(Tag::Note, "no output");
            }
        } else if confirms_change {
            self.push_confirmation(&output.text);
        } else {
            self.push_output(call, &output.text, has_failed);
        }
    }

    /// Appends the images of a result, and its other blocks that are not text.
    fn push_other_blocks(&mut self, output: &ToolOutput) {
        for &block in &output.other_blocks {
            if is_block(block, "image") {
                self.push_image(block);
            } else {
                self.push_other_block(block);
            }
        }
    }

    /// Appends the first line of the output of a successful edit, as a remark: it only confirms the
    /// change that was drawn.
    fn push_confirmation(&mut self, output: &OutputText) {
        let text = output.shortened();
        let confirmation = cut(&first_line(text.trim()), LONGEST_REMARK);
        self.markup.push_text_element(Tag::Note, &confirmation);
    }

    /// Appends the element of a tool, with the content that `inside` appends. The page colours the
    /// element by `state`: `open` without a result, `failed`, or empty.
    fn push_tool(&mut self, state: ToolState, inside: impl FnOnce(&mut Self)) {
        self.markup.open_with(Tag::Tool, state.as_str());
        inside(self);
        self.markup.close();
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
        push_head_line(call.shown_name(), &subject, &marks, &mut self.markup);
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
        } else if let Some(exit_text) = &exit_text {
            marks.push(HeadMark::failure(exit_text));
        }
        marks.extend(remarks_on_execution(message));

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
            let first_line = 1;
            self.push_file_lines(&content, first_line, language);
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

/// Returns the remarks on a command that the user ran.
fn remarks_on_execution(message: Raw) -> Vec<HeadMark<'static>> {
    let mut remarks = Vec::new();
    if has_truthy(message, "excludeFromContext") {
        remarks.push(HeadMark::remark("not sent to the model"));
    }
    if has_truthy(message, "truncated") {
        remarks.push(HeadMark::remark("output shortened"));
    }
    remarks
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

/// Whether the tool changes files, under the names that the agents give it.
fn is_edit_tool(name: &str) -> bool {
    matches!(
        name,
        "edit" | "write" | "Edit" | "MultiEdit" | "Write" | "apply_patch"
    )
}
