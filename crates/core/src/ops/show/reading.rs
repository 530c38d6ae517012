//! An entry for reading: what it is, what was said or done, and a few facts. All other fields are
//! kept apart, by name.

use super::{EntryPart, push_block, push_named};
use crate::agents::readable::{
    CallDescription, Folders, describe_call, describe_execution, execution_tool,
};
use crate::format::changes::{DiffSign, classify_diff_line, diff_lines};
use crate::format::{format_dated_cost, format_tokens};
use crate::session::content::find_members;
use crate::session::entry::{Kind, Role};
use crate::session::file_calls::{count_replacements, is_replacement_key, read_replacements};
use crate::session::read::record::Respondent;
use crate::session::usage::{CostEstimator, Usage};
use pisess_json::Raw;
use pisess_json::js::number_to_string;
use pisess_json::scan::tokens;
use pisess_json::text::Text;

/// The length in bytes up to which the only argument of a call is in the heading alone.
const SHORT_ARGUMENT_LEN: usize = 100;

/// The length in bytes above which the texts of an edit are not compared but shown one after the
/// other.
const MAX_COMPARED_BYTES: usize = 256 * 1024;

/// What is needed of an entry's surroundings to show it.
#[derive(Clone, Copy, Default)]
pub struct Surroundings<'a> {
    /// The block of the call that a tool result answers.
    pub call: Option<Raw<'a>>,
    /// The directories that paths in headings are relative to.
    pub folders: Folders<'a>,
}

/// An entry for reading.
#[derive(Debug, Default)]
pub struct ShownEntry {
    /// The role of a message, the tool of a result, or the type of another entry.
    pub name: Text<'static>,
    /// What the tool was called with: a command, a path, a pattern.
    pub subject: CallDescription,
    /// The model, the tokens, the cost and other facts, each as a short text.
    pub facts: Vec<String>,
    /// What was said or done.
    pub body: Vec<ShownPart>,
    /// The other fields, in the order of the line.
    pub rest: Vec<EntryPart>,
}

/// A part of what was said or done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownPart {
    /// The title of the parts that follow.
    Title(Text<'static>),
    /// A name and a short value.
    Field(Text<'static>, Text<'static>),
    /// Text that people or models wrote.
    Prose(Text<'static>),
    /// Text whose lines are those of a program: an output, a file, arguments.
    Literal(Text<'static>),
    /// Why a request failed.
    Error(Text<'static>),
    /// Lines that begin with the sign of their side.
    Diff(Vec<(DiffSign, String)>),
}

/// Returns an entry for reading. `line` is its line, in version 3 form.
pub fn read_entry(line: Raw, kind: Kind, role: Role, surroundings: Surroundings) -> ShownEntry {
    let mut shown = ShownEntry {
        name: line.get_text("type").unwrap_or_default().into_owned(),
        ..ShownEntry::default()
    };
    for (key, value) in super::decoded_members(line) {
        match (key.as_bytes(), kind) {
            (b"type" | b"id" | b"parentId" | b"timestamp", _) => {}
            (b"message", Kind::Message) if value.is_object() => {
                shown.push_message(value, role, surroundings);
            }
            (b"message", Kind::Message) | (b"customType", Kind::CustomMessage) => {
                shown.push_member(&key, value);
            }
            (b"content", Kind::CustomMessage) => shown.push_content(value),
            (b"summary", Kind::Compaction | Kind::BranchSummary) if value.is_string() => {
                shown.push_prose(value.text().unwrap_or_default());
            }
            (_, Kind::Message | Kind::CustomMessage | Kind::Compaction | Kind::BranchSummary) => {
                shown.push_rest(key, value)
            }
            // The body of a setting, and of an entry of an unknown type, is all its fields.
            _ => shown.push_member(&key, value),
        }
    }
    if kind == Kind::Compaction {
        shown.add_compaction_facts(line);
    }
    shown
}

impl ShownEntry {
    /// Adds the members of a message: each to the heading, the body or the other fields, as its
    /// role requires.
    fn push_message(&mut self, message: Raw, role: Role, surroundings: Surroundings) {
        if let Some(name) = message.get_text("role") {
            self.name = name.into_owned();
        }
        let is_execution = matches!(role, Role::BashExecution | Role::PythonExecution);
        if role == Role::ToolResult {
            self.push_answered_call(message, surroundings);
        }
        // A command that the user ran is shown as the call of a tool is.
        if is_execution {
            self.name = Text::from(execution_tool(message));
            self.subject = describe_execution(message, surroundings.folders);
        }

        for (key, value) in super::decoded_members(message) {
            match key.as_bytes() {
                b"role" | b"timestamp" => {}
                b"content" if role == Role::ToolResult => self.push_output(value),
                b"content" | b"summary" => self.push_content(value),
                b"errorMessage" if value.is_string() => {
                    let text = value.text().unwrap_or_default();
                    self.body.push(ShownPart::Error(text.into_owned()));
                }
                // The heading has it already.
                b"command" | b"code" if is_execution && self.is_subject(value) => {}
                b"command" | b"code" | b"output" if is_execution && value.is_string() => {
                    self.push_literal(value.text().unwrap_or_default());
                }
                _ if has_standard_members(role) => self.push_rest(key, value),
                _ => self.push_member(&key, value),
            }
        }
        self.add_request_facts(message);
    }

    /// Appends the content of a message: a text, or blocks. An edit is shown as its changes.
    fn push_content(&mut self, content: Raw) {
        if let Some(text) = content.text() {
            self.push_prose(text);
            return;
        }
        if !content.is_array() {
            self.push_rest(Text::from("content"), content);
            return;
        }
        for block in content.items() {
            let kind = block.get_text("type").unwrap_or_default();
            if kind == "toolCall" && block.get("arguments").is_some_and(Raw::is_object) {
                let name = block.get_text("name").unwrap_or_default();
                self.push_title(Text::from(format!("calls {name}")));
                self.push_arguments(block);
            } else {
                self.push_other_block(block, ShownPart::Prose);
            }
        }
    }

    /// Appends what a tool printed, with its line breaks. Content that is neither a text nor a list
    /// is added to the other fields.
    fn push_output(&mut self, content: Raw) {
        if let Some(text) = content.text() {
            self.push_literal(text);
            return;
        }
        if !content.is_array() {
            self.push_rest(Text::from("content"), content);
            return;
        }
        for block in content.items() {
            self.push_other_block(block, ShownPart::Literal);
        }
    }

    /// Appends a block that is not shown as a call. `make_text` decides how its text is shown.
    fn push_other_block(&mut self, block: Raw, make_text: fn(Text<'static>) -> ShownPart) {
        let mut parts = Vec::new();
        push_block(block, &mut parts);
        // A body without a title is the text of the block; a body below a title may be JSON.
        let is_thinking = block.get("type").is_some_and(|kind| kind.is("thinking"));
        let is_text = parts.len() == 1 || is_thinking;
        for part in parts {
            match part {
                EntryPart::Body(text) if text.is_blank() => {}
                EntryPart::Body(text) if is_text => self.body.push(make_text(text)),
                part => self.body.push(ShownPart::from(part)),
            }
        }
    }

    /// Appends the call that a tool result answers. Its heading names the tool and what it worked
    /// on; below are the change that it made, or the arguments that are not in the heading.
    fn push_answered_call(&mut self, result: Raw, surroundings: Surroundings) {
        let call = surroundings.call.unwrap_or(Raw::NULL);
        let [call_name, arguments] = find_members(call, ["name", "arguments"]);
        let name = result.get("toolName").or(call_name).and_then(Raw::text);
        if let Some(name) = name {
            self.name = name.into_owned();
        }

        let changes = agent_diff(result);
        if let Some(arguments) = arguments {
            self.subject = describe_call(&self.name, arguments, surroundings.folders);
            if changes.is_empty() && !is_single_short_argument(arguments) {
                self.push_arguments(call);
            }
        }
        if !changes.is_empty() {
            self.body.push(ShownPart::Diff(changes));
        }
    }

    /// Appends the arguments of a call. The texts that an edit replaces are compared; of the other
    /// arguments, each has its name.
    fn push_arguments(&mut self, call: Raw) {
        let arguments = call.get("arguments").unwrap_or(Raw::NULL);
        let replacements = read_replacements(arguments);
        // If this is not an edit, or one of its replacements cannot be read, the arguments are
        // shown as any others.
        if replacements.len() != count_replacements(arguments) {
            let mut parts = Vec::new();
            push_block(call, &mut parts);
            // The first part is the title, which names the tool and the id of the call.
            for part in parts.into_iter().skip(1) {
                self.body.push(ShownPart::from(part));
            }
            return;
        }

        for (key, value) in super::decoded_members(arguments) {
            let key_text = key.to_string_lossy();
            // The heading of a result has the path.
            let is_in_heading =
                !self.subject.path.is_empty() && PATH_ARGUMENTS.contains(&&*key_text);
            if !is_replacement_key(&key_text) && !is_in_heading {
                self.push_member(&key, value);
            }
        }
        let mut lines = Vec::new();
        for replacement in &replacements {
            push_comparison(&replacement.old, &replacement.new, &mut lines);
        }
        self.body.push(ShownPart::Diff(lines));
    }

    /// Whether a text is the subject in the heading, except for white space at its end.
    fn is_subject(&self, value: Raw) -> bool {
        value.text().is_some_and(|text| {
            text.as_bytes().trim_ascii_end() == self.subject.text.as_bytes().trim_ascii_end()
        })
    }

    /// Adds the facts of a request to a model: the model, what the request used, and why the reply
    /// ended, if that is unusual.
    fn add_request_facts(&mut self, message: Raw) {
        let [model, usage, reason] = find_members(message, ["model", "usage", "stopReason"]);
        if let Some(model) = model.and_then(Raw::text) {
            self.facts.push(model.to_string());
        }
        if let Some(mut usage) = usage.and_then(Usage::parse) {
            let respondent = Respondent::of_message(message);
            CostEstimator::default().estimate(&mut usage, respondent, None);
            self.add_usage(&usage);
        }
        if let Some(reason) = reason.and_then(Raw::text)
            && !USUAL_STOP_REASONS.contains(&&*reason.to_string())
        {
            self.facts.push(format!("stopped: {reason}"));
        }
    }

    /// Adds tokens and their cost; a request without tokens has none. The prompt includes what was
    /// read from the provider's cache and written to it.
    fn add_usage(&mut self, usage: &Usage) {
        if usage.total_tokens() <= 0.0 {
            return;
        }
        let prompt = usage.input + usage.cache_read + usage.cache_write;
        let mut tokens = format!("{} in", format_tokens(prompt));
        if usage.cache_read > 0.0 {
            tokens += &format!(" ({} cached)", format_tokens(usage.cache_read));
        }
        tokens += &format!(", {} out", format_tokens(usage.output));
        self.facts.push(tokens);
        if let Some(cost) = usage.cost {
            self.facts.push(format_dated_cost(cost, usage.is_estimated));
        }
    }

    /// Adds what a compaction replaced.
    fn add_compaction_facts(&mut self, entry: Raw) {
        let [tokens, first_kept] = find_members(entry, ["tokensBefore", "firstKeptEntryId"]);
        if let Some(tokens) = tokens.and_then(Raw::number) {
            let tokens = format_tokens(tokens);
            self.facts.push(format!("{tokens} tokens before"));
        }
        if let Some(first_kept) = first_kept.and_then(Raw::text) {
            self.facts.push(format!("keeps {first_kept} and later"));
        }
    }

    fn push_title(&mut self, title: Text<'static>) {
        self.body.push(ShownPart::Title(title));
    }

    fn push_prose(&mut self, text: Text) {
        if !text.is_blank() {
            self.body.push(ShownPart::Prose(text.into_owned()));
        }
    }

    fn push_literal(&mut self, text: Text) {
        if !text.is_blank() {
            self.body.push(ShownPart::Literal(text.into_owned()));
        }
    }

    /// Appends a member to the other fields.
    fn push_rest(&mut self, key: Text, value: Raw) {
        let key = key.into_owned();
        if value.is_string() {
            push_named(key, value, &mut self.rest);
        } else {
            let rounded = round_numbers(value);
            push_named(key, Raw::from_checked(&rounded), &mut self.rest);
        }
    }

    /// Appends a member with its name.
    fn push_member(&mut self, key: &Text, value: Raw) {
        let mut parts = Vec::new();
        push_named(key.as_borrowed().into_owned(), value, &mut parts);
        self.body.extend(parts.into_iter().map(ShownPart::from));
    }
}

/// The reasons to stop for which no fact is shown. `stop` and `toolUse` are usual; the heading
/// shows `error` and `aborted`.
const USUAL_STOP_REASONS: [&str; 4] = ["stop", "toolUse", "error", "aborted"];

/// The arguments of an edit with the path of the file.
const PATH_ARGUMENTS: [&str; 3] = ["path", "file_path", "filePath"];

impl From<EntryPart> for ShownPart {
    fn from(part: EntryPart) -> ShownPart {
        match part {
            EntryPart::Title(title) => ShownPart::Title(title),
            EntryPart::Field(name, value) => ShownPart::Field(name, value),
            EntryPart::Body(text) => ShownPart::Literal(text),
        }
    }
}

/// The length of a number in characters above which it is rounded.
const LONG_NUMBER_LEN: usize = 12;
/// The number of decimal places to which a long fraction is rounded, in scientific notation.
const ROUNDED_DECIMALS: usize = 8;

/// Returns a value with its long fractions rounded. Sums of prices often have such fractions.
fn round_numbers(value: Raw) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.bytes().len());
    for (first, token) in tokens(value.bytes()) {
        let is_number = first == b'-' || first.is_ascii_digit();
        let is_long_fraction = is_number && token.len() > LONG_NUMBER_LEN && token.contains(&b'.');
        let number = if is_long_fraction {
            Raw::from_checked(token).number()
        } else {
            None
        };
        match number {
            Some(number) => {
                // In scientific notation, small and large numbers keep as many digits.
                let rounded = format!("{number:.ROUNDED_DECIMALS$e}");
                let rounded = rounded.parse().unwrap_or(number);
                out.extend_from_slice(number_to_string(rounded).as_bytes());
            }
            None => out.extend_from_slice(token),
        }
    }
    out
}

/// Whether the agents define the members of a message of this role. Its text is then in members
/// that [`ShownEntry::push_message`] has a case for, and any other member is a detail.
///
/// A message of another role comes from an extension or a later version of an agent. Its text may
/// be in any member.
fn has_standard_members(role: Role) -> bool {
    matches!(
        role,
        Role::User
            | Role::Assistant
            | Role::ToolResult
            | Role::BashExecution
            | Role::PythonExecution
    )
}

/// Whether a call has at most one argument, a short text on one line. The heading of the call then
/// has all that the arguments contain.
fn is_single_short_argument(arguments: Raw) -> bool {
    let mut members = arguments.members();
    let Some((_, value)) = members.next() else {
        return true;
    };
    let is_single = members.next().is_none();
    let is_short = value.text().is_some_and(|text| {
        text.as_bytes().len() <= SHORT_ARGUMENT_LEN && !text.as_bytes().contains(&b'\n')
    });
    is_single && is_short
}

/// Returns the diff that the agent stored with a result; empty if it has none. Some agents store
/// only the headers of the hunks, which counts as none.
fn agent_diff(result: Raw) -> Vec<(DiffSign, String)> {
    let details = result.get("details").unwrap_or(Raw::NULL);
    let Some(diff) = details.get_text("diff") else {
        return Vec::new();
    };
    let mut lines = Vec::new();
    let mut has_change = false;
    for line in diff.to_string_lossy().lines() {
        let sign = classify_diff_line(line);
        has_change |= sign != DiffSign::Common;
        lines.push((sign, line.to_owned()));
    }
    if has_change { lines } else { Vec::new() }
}

/// Appends a line diff of two texts. Texts that are too long to compare are appended in full, first
/// all old lines and then all new ones.
fn push_comparison(old: &str, new: &str, lines: &mut Vec<(DiffSign, String)>) {
    if old.len() + new.len() > MAX_COMPARED_BYTES {
        for line in old.lines() {
            lines.push((DiffSign::Removed, format!("-{line}")));
        }
        for line in new.lines() {
            lines.push((DiffSign::Added, format!("+{line}")));
        }
        return;
    }
    for (sign, line) in diff_lines(old, new) {
        let line = line.trim_end_matches(['\n', '\r']);
        lines.push((sign, format!("{}{line}", sign.as_str())));
    }
}
