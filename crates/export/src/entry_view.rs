//! Displays an entry: its texts as Markdown, its tool calls by what they do, everything else
//! folded.

use crate::markup::{Markup, Tag};
use crate::row_text::readable_row;
use crate::source::{ContentsReader, cut, decode_string, string_or_json};
use crate::typed::Author;
use crate::view_parts::{ENVELOPE_KEYS, EditFact, EntryView, push_prose};
use pisess_core::agents::oh_my_pi::message::{is_user_skill, skill_draft};
use pisess_core::agents::readable::first_section;
use pisess_core::format::group_digits;
use pisess_core::session::content::{self, find_members};
use pisess_core::session::entry::{EntryIx, Kind, Role};
use pisess_core::session::envelope::CLAUDE_COMMAND;
use pisess_core::session::usage::model_name;
use pisess_json::{Raw, js};
use std::io;

/// The maximum number of characters of a label or of the value of a setting.
const LONGEST_VALUE: usize = 200;

/// The maximum number of characters of the name of a section in a system prompt.
const LONGEST_SECTION_NAME: usize = 100;

/// The maximum number of characters of a title with the names of tools.
const LONGEST_TOOLS_TITLE: usize = 300;

/// The maximum number of characters of the goal in the title of a summary.
const LONGEST_GOAL: usize = 160;

/// The maximum number of characters of the error that ended a turn.
const LONGEST_ERROR: usize = 2000;

/// Draws an entry into `markup`, which must be empty. If a renderer, a command of the user, has
/// made Markdown of the entry, the Markdown is drawn in place of the entry's content.
pub fn draw_entry<'s>(
    source: &'s ContentsReader<'s>,
    ix: EntryIx,
    markup: Markup,
) -> io::Result<EntryView<'s>> {
    let mut view = EntryView::new(source, ix, markup);
    match source.contents.rendered.get(&ix) {
        Some(rendered) => view.push_prose(rendered, Author::Program),
        // The outer result is that of reading the entry, the inner one that of drawing it.
        None => source
            .reader
            .with_entry(ix, |line| view.push_entry(line))??,
    }
    Ok(view)
}

impl EntryView<'_> {
    /// Appends the content of an entry by its kind. `line` is the JSON of the entry. An entry of an
    /// unknown kind, or one without the message that its kind requires, is shown as JSON.
    fn push_entry(&mut self, line: Raw) -> io::Result<()> {
        let entry = self.source.contents.session.entry(self.ix);
        match entry.kind {
            Kind::Message => match line.get("message") {
                Some(message) if message.is_object() => self.push_message(entry.role, message)?,
                _ => self.push_unless_known("data", line, &[]),
            },
            Kind::CustomMessage => self.push_custom_message(line),
            Kind::Compaction => self.push_compaction(line),
            Kind::BranchSummary => {
                let branch_leaf = self.find_member_entry(line, "fromId");
                self.push_summary(&branch_title(line), branch_leaf, line);
            }
            Kind::Custom => self.push_member(line, "data"),
            Kind::ContextEdit => self.push_context_edit(line),
            Kind::Label => self.push_label(line),
            Kind::SessionInit => self.push_session_init(line),
            Kind::ResetBoundary => self.markup.push_text_element(
                Tag::Note,
                "What comes before is no longer sent to the model.",
            ),
            // A list of tools does not fit on the line of a setting.
            kind if is_setting(kind) && kind != Kind::ActiveToolsChange => self.push_setting(line),
            _ => self.push_unless_known("data", line, &[]),
        }
        Ok(())
    }

    /// Appends the system prompt and the task of a sub-agent, each folded, and the whole entry as
    /// JSON if it has other members.
    fn push_session_init(&mut self, line: Raw) {
        if let Some(prompt) = line.get("systemPrompt").and_then(decode_string) {
            self.push_folded_text("System prompt", &prompt);
        }
        if let Some(task) = line.get("task").and_then(decode_string) {
            self.push_folded_text("Task", &task);
        }
        self.push_unless_known("settings", line, &["systemPrompt", "task"]);
    }

    /// Appends a message of an extension, and the details that the extension keeps with it.
    /// `object` is an entry or a message.
    fn push_custom_message(&mut self, object: Raw) {
        let content = object.get("content");
        if is_user_skill(object)
            && let Some(typed) = skill_draft(object)
        {
            // The user typed only the command that invoked the skill.
            self.push_prose(&typed.to_string_lossy(), Author::User);
            self.push_folded_content("Skill", content);
        } else if content::member_is(object, "customType", CLAUDE_COMMAND) {
            // A command that was imported from Claude Code: the user typed it.
            self.push_content(content, Author::User);
        } else {
            self.push_content(content, Author::Program);
        }
        self.push_hidden_note();
        self.push_member(object, "details");
    }

    /// Appends a message by its role. Of a message with an unknown role, the content is shown, and
    /// the whole message as JSON if it has further members.
    fn push_message(&mut self, role: Role, message: Raw) -> io::Result<()> {
        match role {
            Role::User => {
                // oh-my-pi: a message that no person typed.
                let author = if content::has_truthy(message, "synthetic") {
                    Author::Program
                } else {
                    Author::User
                };
                self.push_content(message.get("content"), author);
            }
            Role::Assistant => self.push_reply(message),
            Role::ToolResult => self.push_result(message)?,
            Role::BashExecution | Role::PythonExecution => self.push_execution(message),
            Role::FileMention => self.push_files(message),
            Role::System | Role::Developer => {
                self.push_folded_content("Instructions", message.get("content"));
                self.push_system_members(message);
            }
            Role::Custom | Role::HookMessage => self.push_custom_message(message),
            Role::BranchSummary => self.push_summary(&branch_title(message), None, message),
            Role::CompactionSummary => {
                self.push_summary("Summary of what came before", None, message)
            }
            Role::Other | Role::Missing => {
                self.push_content(message.get("content"), Author::Program);
                self.push_unless_known("message", message, &["role", "content", "timestamp"]);
            }
        }
        Ok(())
    }

    /// Appends the parts of a system prompt that follow its text: its named sections, and the tools
    /// that it adds and removes. A section whose value is not a string means that the section of
    /// that name is removed.
    fn push_system_members(&mut self, message: Raw) {
        let sections = message
            .get("sections")
            .map(js::object_entries)
            .unwrap_or_default();
        for (name, text) in sections {
            let name = cut(&name.to_string_lossy(), LONGEST_SECTION_NAME);
            match decode_string(text) {
                Some(text) => self.push_folded_text(&format!("Section {name}"), &text),
                None => self
                    .markup
                    .push_text_element(Tag::Note, &format!("Section {name} removed")),
            }
        }
        self.push_tools("Tools", message.get("toolsAdded"));
        self.push_tools("Tools removed", message.get("toolsRemoved"));
    }

    /// Appends a list of tools as JSON, folded, with their names in the title; nothing if the list
    /// is empty. A tool that is added is an object, and one that is removed only a name.
    fn push_tools(&mut self, title: &str, tools: Option<Raw>) {
        let tools = tools.unwrap_or(Raw::NULL);
        if tools.items().next().is_none() {
            return;
        }
        let mut names = Vec::new();
        for tool in tools.items() {
            names.extend(decode_string(tool.get("name").unwrap_or(tool)));
        }
        let title = format!("{title}: {}", names.join(", "));
        self.push_json(&cut(&title, LONGEST_TOOLS_TITLE), tools);
    }

    /// Appends a reply, and how it ended if it did not end normally. Its model becomes a fact of
    /// the entry, which the page shows beside it.
    fn push_reply(&mut self, message: Raw) {
        let names = ["content", "provider", "model", "responseModel"];
        let [content, provider, requested_model, response_model] = find_members(message, names);
        let provider = provider.and_then(decode_string);
        // A provider may answer with another model than the requested one.
        let mut model = response_model.and_then(decode_string);
        if model.is_none() {
            model = requested_model.and_then(decode_string);
        }
        self.facts.model = model_name(provider.as_deref(), model.as_deref());
        self.push_content(content, Author::Program);
        self.push_ending(message);
    }

    /// Appends how a reply ended, unless it ended normally. A reply with an error message has
    /// failed, even if its stop reason is unknown.
    fn push_ending(&mut self, message: Raw) {
        let [reason, error] = find_members(message, ["stopReason", "errorMessage"]);
        let reason = reason.and_then(decode_string).unwrap_or_default();
        let error = error.and_then(decode_string);
        let ending = match &*reason {
            "aborted" => "Stopped by the user",
            "error" => "Failed",
            "length" => "Cut short: the answer reached its limit",
            _ => {
                if error.is_none() {
                    return;
                }
                "Failed"
            }
        };
        self.markup.push_element(Tag::Alert, |m| {
            m.push_text(ending);
            if let Some(error) = error
                && !error.trim().is_empty()
            {
                m.push_text(": ");
                m.push_text(&cut(&error, LONGEST_ERROR));
            }
        });
    }

    /// Appends a compaction: its size in the title, its summary, and a link to the first entry that
    /// it kept, if it kept any.
    fn push_compaction(&mut self, line: Raw) {
        let tokens = line.get("tokensBefore").and_then(Raw::number);
        let title = match tokens {
            Some(tokens) if tokens.is_finite() => {
                format!("Compacted at {} tokens", group_digits(tokens))
            }
            _ => "Compacted".to_owned(),
        };
        self.push_summary(&title, None, line);
        // A compaction that keeps nothing names itself.
        if let Some(kept) = self.find_member_entry(line, "firstKeptEntryId")
            && self.find_member_entry(line, "id") != Some(kept)
        {
            self.push_entry_link("The model kept what follows from ", kept);
        }
    }

    /// Returns the entry whose id is the value of the member `key`. `None` if there is no such
    /// entry.
    fn find_member_entry(&self, line: Raw, key: &str) -> Option<EntryIx> {
        let id = line.get_text(key)?;
        self.source.contents.session.find_entry(&id)
    }

    /// Appends the summary of an entry or a message, folded under `title`. `branch_leaf` is the
    /// leaf of the summarized branch; a link leads there.
    fn push_summary(&mut self, title: &str, branch_leaf: Option<EntryIx>, object: Raw) {
        let summary = object
            .get("summary")
            .and_then(decode_string)
            .unwrap_or_default();
        self.keep_source(summary.trim());
        self.markup.push_fold("divider", title, |m| {
            push_prose(&summary, Author::Program, m)
        });
        if let Some(branch_leaf) = branch_leaf {
            self.push_entry_link("It ended at ", branch_leaf);
        }
    }

    /// Appends a note that ends with a link to an entry; nothing if the entry is not exported.
    fn push_entry_link(&mut self, text_before: &str, target: EntryIx) {
        let Some(number) = self.source.contents.entry_number(target) else {
            return;
        };
        let id = self.source.contents.entry_id(target);
        self.markup.push_element(Tag::Note, |m| {
            m.push_text(text_before);
            m.push_element_with(Tag::Entry, &number.to_string(), |m| m.push_text(&id));
        });
    }

    /// Appends a change of what the model sees of another entry, the target: a note with a link to
    /// the target, and the content that replaces its own. The change becomes a fact of this entry,
    /// unless the entry undoes an earlier change.
    ///
    /// If the target is not exported, there is neither a link nor a fact.
    fn push_context_edit(&mut self, line: Raw) {
        let edit = ContextEdit::read(line);
        if let Some(target) = self.find_member_entry(line, "targetId") {
            self.push_entry_link(edit.text_before_target(), target);
            let target_number = self.source.contents.entry_number(target);
            self.facts.edit = target_number.and_then(|number| edit.fact(number));
        }
        if let ContextEdit::Replaces(content) = edit {
            self.push_content(content, Author::Program);
        }
    }

    /// Appends a note that a label was set on an entry, with a link to that entry. A label without
    /// a name means that the label was cleared.
    fn push_label(&mut self, line: Raw) {
        let text_before = match line.get("label").and_then(decode_string) {
            Some(name) if !name.is_empty() => format!("Label “{}” on ", cut(&name, LONGEST_VALUE)),
            _ => "Label cleared of ".to_owned(),
        };
        match self.find_member_entry(line, "targetId") {
            // Appends nothing if the entry is not exported.
            Some(target) => self.push_entry_link(&text_before, target),
            None => {
                let note = format!("{text_before}an entry that is not here");
                self.markup.push_text_element(Tag::Note, &note);
            }
        }
    }

    /// Appends a change of a setting: its members on one line, as in `provider: a · modelId: b`.
    /// The members that every entry has, such as `id` and `timestamp`, and values of `null` are
    /// left out.
    fn push_setting(&mut self, line: Raw) {
        let mut values = Vec::new();
        for (key, value) in line.members() {
            let is_envelope = ENVELOPE_KEYS.iter().any(|name| key.is(name));
            if is_envelope || value.is_null() {
                continue;
            }
            let value = cut(&string_or_json(value), LONGEST_VALUE);
            values.push(format!("{}: {value}", key.text()));
        }
        self.markup
            .push_text_element(Tag::Note, &values.join(" · "));
    }
}

/// How an entry changes what the model sees of another entry.
enum ContextEdit<'a> {
    /// The model no longer sees the other entry.
    Omits,
    /// The model sees this content in place of the entry's own.
    Replaces(Option<Raw<'a>>),
    /// The model sees the entry's own content again.
    Undoes,
}

impl<'a> ContextEdit<'a> {
    /// Reads the member `replacement`: `null`, an object with the content, or missing.
    fn read(line: Raw<'a>) -> ContextEdit<'a> {
        match line.get("replacement") {
            None => ContextEdit::Undoes,
            Some(replacement) if replacement.is_null() => ContextEdit::Omits,
            Some(replacement) => ContextEdit::Replaces(replacement.get("content")),
        }
    }

    /// Returns the note on the change, up to the link to the other entry.
    fn text_before_target(&self) -> &'static str {
        match self {
            ContextEdit::Omits => "From here on the model no longer sees ",
            // The entry's own content also differs from what the model saw before.
            ContextEdit::Replaces(_) | ContextEdit::Undoes => {
                "From here on the model sees other content of "
            }
        }
    }

    /// Returns the fact for the page; `None` for a change that undoes another one. `target` is the
    /// number of the other entry.
    fn fact(&self, target: u32) -> Option<EditFact> {
        let omits = match self {
            ContextEdit::Omits => true,
            ContextEdit::Replaces(_) => false,
            ContextEdit::Undoes => return None,
        };
        Some(EditFact { target, omits })
    }
}

/// Returns the title of a branch's summary, which has the first line of the goal that the summary
/// names: `Branch left: Write the parser`.
fn branch_title(object: Raw) -> String {
    let summary = object.get("summary").and_then(decode_string);
    let goal = first_section(summary.as_deref().unwrap_or_default())
        .lines()
        .find(|line| !line.trim().is_empty());
    match goal {
        Some(goal) => {
            let goal = readable_row(goal.trim(), Author::Program);
            format!("Branch left: {}", cut(&goal, LONGEST_GOAL))
        }
        None => "Branch left".to_owned(),
    }
}

/// Whether entries of this kind change a setting, such as the model.
fn is_setting(kind: Kind) -> bool {
    // All settings have this letter on a page.
    kind.schema().letter == 'n'
}
