//! Arranges an entry for reading: a heading, what was said or done, and a few facts. All other
//! fields are listed separately, by name.

use super::{EntryPart, block_parts, format_outline, named_parts, named_value};
use crate::agents::readable::{
    CallDescription, Folders, command_head, describe_call, describe_execution, execution_tool,
};
use crate::format::changes::{DiffSign, classify_diff_line, push_comparison};
use crate::format::{format_request_cost, format_tokens};
use crate::session::content::find_members;
use crate::session::entry::{Kind, Role};
use crate::session::file_calls::{TextReplacement, is_replacement_key, read_complete_edit};
use crate::session::file_patch::FilePatch;
use crate::session::read::record::Respondent;
use crate::session::usage::{CostEstimator, Usage};
use pisess_json::Raw;
use pisess_json::js::number_to_string;
use pisess_json::scan::tokens;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;

/// If the only argument of a call has at most this many bytes, it is shown only in the heading.
const SHORT_ARGUMENT_LEN: usize = 100;

/// Data from outside of an entry that is needed to show it.
#[derive(Clone, Copy, Default)]
pub struct Surroundings<'a> {
    /// The block of the call that a tool result answers.
    pub call: Option<Raw<'a>>,
    /// The directories to which paths in headings are relative.
    pub folders: Folders<'a>,
}

/// An entry, arranged for reading.
#[derive(Debug, Default)]
pub struct ShownEntry {
    /// The role of a message, the tool of a result or execution, or the type of any other entry.
    pub name: Text<'static>,
    /// What the tool worked on, such as a command, a path or a pattern.
    pub subject: CallDescription,
    /// The model, the tokens, the cost and other facts, each as a short text.
    pub facts: Vec<String>,
    /// What was said or done.
    pub body: Vec<ShownPart>,
    /// The other fields, in the order of the line.
    pub rest: Vec<EntryPart>,
}

/// A part of the body of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ShownPart {
    /// The title of the parts that follow.
    Title(Text<'static>),
    /// A name and a short value.
    Field(Text<'static>, Text<'static>),
    /// Text that people or models wrote.
    Prose(Text<'static>),
    /// Text whose line breaks matter: an output, a file, arguments.
    Literal(Text<'static>),
    /// The reason why a request failed.
    Error(Text<'static>),
    /// The lines of a diff, including their signs.
    Diff(Vec<(DiffSign, String)>),
}

/// Arranges an entry for reading: each member of its line goes to the heading, to the body, which
/// is what was said or done, or to the other fields. `line` is the line of the entry, migrated to
/// version 3.
pub fn read_entry(line: Raw, kind: Kind, role: Role, surroundings: Surroundings) -> ShownEntry {
    let mut shown = ShownEntry {
        name: line.get_text("type").unwrap_or_default().into_owned(),
        ..ShownEntry::default()
    };
    for (key, value) in super::decoded_members(line) {
        let is_in_heading = matches!(key.as_bytes(), b"type" | b"id" | b"parentId" | b"timestamp");
        if is_in_heading {
            continue;
        }
        if kind == Kind::Message && key == *"message" && value.is_object() {
            shown.push_message(value, role, surroundings);
        } else {
            shown.push_entry_member(key, value, kind);
        }
    }
    if kind == Kind::Compaction {
        shown.add_compaction_facts(line);
    }
    shown
}

impl ShownEntry {
    /// Adds a member of an entry of this type where it is shown: in the body, with its name unless
    /// it is what was said, or among the other fields.
    fn push_entry_member(&mut self, key: Text, value: Raw, kind: Kind) {
        match (kind, key.as_bytes()) {
            // It is not an object, so it is shown as it is.
            (Kind::Message, b"message") => self.push_member(&key, value),
            (Kind::CustomMessage, b"customType") => self.push_member(&key, value),
            (Kind::CustomMessage, b"content") => self.push_content(value),
            (Kind::Compaction | Kind::BranchSummary, b"summary") if value.is_string() => {
                self.push_prose(value.text().unwrap_or_default());
            }
            (Kind::Message | Kind::CustomMessage | Kind::Compaction | Kind::BranchSummary, _) => {
                self.push_rest(key, value)
            }
            // For a setting, and for an entry of an unknown type, all fields are the body.
            _ => self.push_member(&key, value),
        }
    }

    /// Arranges a message: sets the name of the heading (such as `bash`) and its subject (what a
    /// tool worked on), and adds the members of the message to the body or to the other fields.
    fn push_message(&mut self, message: Raw, role: Role, surroundings: Surroundings) {
        if let Some(name) = message.get_text("role") {
            self.name = name.into_owned();
        }
        if role == Role::ToolResult {
            self.set_heading_and_push_call(message, surroundings);
        }
        // A command that the user ran is shown like a tool call.
        if is_execution(role) {
            self.name = Text::from(execution_tool(message));
            self.subject = describe_execution(message, surroundings.folders);
        }

        // The heading is complete: members that it shows are left out.
        for (key, value) in super::decoded_members(message) {
            self.push_message_member(key, value, role);
        }
        self.add_request_facts(message);
    }

    /// Adds a member of a message where it is shown:
    ///
    /// - in the body, if it is what was said or done
    /// - nowhere, if the heading shows it; so `subject` must be set before this is called
    /// - among the other fields, if the agents define the members of this role
    /// - in the body with its name, if they do not: it may be what was said
    fn push_message_member(&mut self, key: Text, value: Raw, role: Role) {
        match key.as_bytes() {
            // The heading shows both.
            b"role" | b"timestamp" => {}
            b"content" if role == Role::ToolResult => self.push_output(value),
            b"content" | b"summary" => self.push_content(value),
            b"errorMessage" if value.is_string() => {
                let text = value.text().unwrap_or_default();
                self.body.push(ShownPart::Error(text.into_owned()));
            }
            // The heading may show a command or code as its subject.
            b"command" | b"code" if is_execution(role) && self.is_subject(value) => {}
            b"command" | b"code" | b"output" if is_execution(role) && value.is_string() => {
                self.push_literal(value.text().unwrap_or_default());
            }
            _ if has_standard_members(role) => self.push_rest(key, value),
            _ => self.push_member(&key, value),
        }
    }

    /// Appends the content of a message to the body. The content is a text, or an array of blocks:
    /// texts, images, calls of tools. Content of any other type is added to the other fields.
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
            let has_arguments = block.get("arguments").is_some_and(Raw::is_object);
            if kind == "toolCall" && has_arguments {
                let name = block.get_text("name").unwrap_or_default();
                self.push_title(Text::from(format!("calls {name}")));
                self.push_arguments(block);
            } else {
                // Unlike the output of a tool, the text of a message is prose.
                self.push_other_block(block, ShownPart::Prose);
            }
        }
    }

    /// Appends the output of a tool, whose line breaks are kept. Content that is neither a text nor
    /// an array is added to the other fields.
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

    /// Appends a block that is not a tool call. `make_text` makes the part for its text, if it has
    /// one: [`ShownPart::Prose`] or [`ShownPart::Literal`]. JSON is always literal.
    fn push_other_block(&mut self, block: Raw, make_text: fn(Text<'static>) -> ShownPart) {
        let parts = block_parts(block);
        // `block_parts` returns the body of a text alone, and the body of thinking after a title.
        // The body of any other block is JSON.
        let is_thinking = block.get("type").is_some_and(|kind| kind.is("thinking"));
        let has_text_as_body = parts.len() == 1 || is_thinking;
        for part in parts {
            match part {
                EntryPart::Body(body) if body.is_blank() => {}
                EntryPart::Body(text) if has_text_as_body => self.body.push(make_text(text)),
                other => self.body.push(ShownPart::from(other)),
            }
        }
    }

    /// Shows the call that a tool result answers, which is in `surroundings`. Sets `name` to the
    /// tool and `subject` to what it worked on, for the heading. The body gets the diff that the
    /// agent stored with the result or, without one, the arguments that are not in the heading.
    fn set_heading_and_push_call(&mut self, result: Raw, surroundings: Surroundings) {
        let call = surroundings.call.unwrap_or(Raw::NULL);
        let [call_name, arguments] = find_members(call, ["name", "arguments"]);
        // If the tool is not known, the name stays the role of the message.
        let tool_name = result.get("toolName").or(call_name).and_then(Raw::text);
        if let Some(tool_name) = tool_name {
            self.name = tool_name.into_owned();
        }

        let stored_diff = stored_diff_lines(result);
        if let Some(arguments) = arguments {
            self.subject = describe_call(&self.name, arguments, surroundings.folders);
            // The subject must be set: it decides which arguments are in the heading already.
            if stored_diff.is_empty() && !is_single_short_argument(arguments) {
                self.push_arguments(call);
            }
        }
        if !stored_diff.is_empty() {
            self.body.push(ShownPart::Diff(stored_diff));
        }
    }

    /// Appends the arguments of a call to the body, each with its name. An edit of a file, and a
    /// patch of Codex, are shown as a diff. A path or command that the heading shows is left out.
    fn push_arguments(&mut self, call: Raw) {
        let [name, arguments] = find_members(call, ["name", "arguments"]);
        let arguments = arguments.unwrap_or(Raw::NULL);
        if let Some(patch) = FilePatch::read(name, arguments)
            && patch.is_of_codex()
        {
            let lines = patch.text.lines();
            let signed = lines.map(|line| (classify_diff_line(line), line.to_owned()));
            self.body.push(ShownPart::Diff(signed.collect()));
            return;
        }
        if let Some(replacements) = read_complete_edit(arguments) {
            self.push_edit(arguments, &replacements);
            return;
        }
        if arguments.get("command").is_some_and(Raw::is_array) {
            self.push_command_call(arguments);
            return;
        }
        // The first part, a title with the tool and the id of the call, is left out.
        for part in block_parts(call).into_iter().skip(1) {
            self.body.push(ShownPart::from(part));
        }
    }

    /// Appends the arguments of a call of Codex whose command is a list of words, such as
    /// `["bash","-lc","make"]`: the command as a text, unless the heading has the whole of it.
    fn push_command_call(&mut self, arguments: Raw) {
        for (key, value) in super::decoded_members(arguments) {
            let command = if key == *"command" {
                command_head(value, usize::MAX)
            } else {
                None
            };
            let Some(command) = command else {
                self.push_member(&key, value);
                continue;
            };
            let stored = encode_to_vec(&command);
            let command = Raw::from_checked(&stored);
            if !self.is_subject(command) {
                self.push_member(&key, command);
            }
        }
    }

    /// Appends the arguments of an edit of a file to the body: its `replacements` as a diff, the
    /// others by name. A path that the heading shows is left out.
    fn push_edit(&mut self, arguments: Raw, replacements: &[TextReplacement]) {
        let has_path_in_heading = !self.subject.path.is_empty();
        for (key, value) in super::decoded_members(arguments) {
            let name = key.to_string_lossy();
            let is_in_heading = has_path_in_heading && PATH_ARGUMENTS.contains(&&*name);
            let is_in_diff = is_replacement_key(&name);
            if !is_in_heading && !is_in_diff {
                self.push_member(&key, value);
            }
        }
        self.body.push(ShownPart::Diff(diff_of_edit(replacements)));
    }

    /// Whether a text equals the subject in the heading; white space at the end is ignored.
    fn is_subject(&self, value: Raw) -> bool {
        value.text().is_some_and(|text| {
            text.as_bytes().trim_ascii_end() == self.subject.text.as_bytes().trim_ascii_end()
        })
    }

    /// Adds the facts of a request to a model: the model, the tokens and the cost, and the stop
    /// reason if it is unusual.
    fn add_request_facts(&mut self, message: Raw) {
        let [model, usage, stop_reason] = find_members(message, ["model", "usage", "stopReason"]);
        if let Some(model) = model.and_then(Raw::text) {
            self.facts.push(model.to_string());
        }
        if let Some(mut usage) = usage.and_then(Usage::parse) {
            // A missing cost is estimated from the prices that pisess contains.
            let respondent = Respondent::of_message(message);
            let own_prices = None;
            CostEstimator::default().set_missing_cost(&mut usage, respondent, own_prices);
            self.add_usage(&usage);
        }
        if let Some(stop_reason) = stop_reason.and_then(Raw::text) {
            let stop_reason = stop_reason.to_string();
            let is_usual = USUAL_STOP_REASONS.contains(&stop_reason.as_str());
            if !is_usual {
                self.facts.push(format!("stopped: {stop_reason}"));
            }
        }
    }

    /// Adds the tokens and the cost, unless there are no tokens. The number of prompt tokens
    /// includes those that were read from, or written to, the provider's cache.
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
            self.facts
                .push(format_request_cost(cost, usage.is_estimated));
        }
    }

    /// Adds the size of the context before a compaction, and the first kept entry.
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
            self.rest.append(&mut named_value(key, value));
        } else {
            let rounded = round_numbers(value);
            let mut parts = named_value(key, Raw::from_checked(&rounded));
            self.rest.append(&mut parts);
        }
    }

    /// Appends a member with its name.
    fn push_member(&mut self, key: &Text, value: Raw) {
        let parts = named_value(key.as_borrowed().into_owned(), value);
        self.body.extend(parts.into_iter().map(ShownPart::from));
    }
}

/// Returns the arguments of a tool call as text, each with its name. The old and the new text of an
/// edit are shown as a diff.
pub fn outline_arguments(arguments: Raw) -> Text<'static> {
    if !arguments.is_object() {
        return Text::from(String::from_utf8_lossy(arguments.bytes()).into_owned());
    }
    let Some(replacements) = read_complete_edit(arguments) else {
        return format_outline(&named_parts(arguments, &[]));
    };

    let mut other_parts = Vec::new();
    for (key, value) in super::decoded_members(arguments) {
        if !is_replacement_key(&key.to_string_lossy()) {
            other_parts.append(&mut named_value(key.into_owned(), value));
        }
    }
    let mut outline = format_outline(&other_parts);
    for (_sign, line) in diff_of_edit(&replacements) {
        outline.push_str(&line);
        outline.push_str("\n");
    }
    outline
}

/// Returns the lines of the replacements of an edit as a diff, one after the other. Each line
/// begins with its sign: `-old`.
fn diff_of_edit(replacements: &[TextReplacement]) -> Vec<(DiffSign, String)> {
    let mut lines = Vec::new();
    for replacement in replacements {
        push_comparison(&replacement.old, &replacement.new, &mut lines);
    }
    lines
}

/// The stop reasons that are not shown as a fact. `stop` and `toolUse` are usual, and the heading
/// shows `error` and `aborted`.
const USUAL_STOP_REASONS: [&str; 4] = ["stop", "toolUse", "error", "aborted"];

/// The names of the argument with the path of the file, in the tools of different agents.
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

/// A fraction with more characters than this is rounded.
const LONG_NUMBER_LEN: usize = 12;
/// The number of decimal places, in scientific notation, to which a long fraction is rounded.
const ROUNDED_DECIMALS: usize = 8;

/// Rounds the long fractions in a value, such as `0.30000000000000004`. Sums of prices often have
/// them.
fn round_numbers(value: Raw) -> Vec<u8> {
    let mut out = Vec::with_capacity(value.bytes().len());
    for (first, token) in tokens(value.bytes()) {
        let is_number = first == b'-' || first.is_ascii_digit();
        let rounded = if is_number {
            round_fraction(token)
        } else {
            None
        };
        match rounded {
            Some(rounded) => out.extend_from_slice(rounded.as_bytes()),
            None => out.extend_from_slice(token),
        }
    }
    out
}

/// Rounds a number with a long fraction; `None` for any other number, which stays as it is.
fn round_fraction(number: &[u8]) -> Option<String> {
    let is_long_fraction = number.len() > LONG_NUMBER_LEN && number.contains(&b'.');
    if !is_long_fraction {
        return None;
    }
    let value = Raw::from_checked(number).number()?;
    // In scientific notation, small and large numbers keep the same number of digits.
    let rounded = format!("{value:.ROUNDED_DECIMALS$e}");
    Some(number_to_string(rounded.parse().unwrap_or(value)))
}

/// Whether a message with this role is a command that the user ran, with its output.
fn is_execution(role: Role) -> bool {
    matches!(role, Role::BashExecution | Role::PythonExecution)
}

/// Whether the agents define the members of a message with this role. If so, all texts are in
/// members that `ShownEntry::push_message_member` handles by name, and any other member is a
/// detail.
///
/// A message with any other role comes from an extension or a later version of an agent, and may
/// have its text in any member.
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

/// Whether a call has no argument, or only a short text of one line. The heading then shows all of
/// the arguments.
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

/// Returns the lines of the diff that the agent stored with a result; empty if there is none. Some
/// agents store only the headers of the hunks; such a diff without changed lines counts as none.
fn stored_diff_lines(result: Raw) -> Vec<(DiffSign, String)> {
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
