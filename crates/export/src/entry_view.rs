//! Displays an entry: its texts as Markdown, its tool calls by what they do, everything else
//! folded.

use crate::commonmark::Author;
use crate::markup::Tag;
use crate::source::{ContentsReader, cut, decode_string, string_or_json};
use crate::view_parts::{ENVELOPE_KEYS, EditFact, EntryView, push_prose};
use pisess_core::format::group_digits;
use pisess_core::session::content::find_members;
use pisess_core::session::entry::{EntryIx, Kind, Role};
use pisess_core::session::usage::model_name;
use pisess_json::{Raw, js};
use std::io;

/// Draws an entry: the Markdown that a renderer made of it, or else its own content.
pub fn draw_entry<'s>(source: &'s ContentsReader<'s>, ix: EntryIx) -> io::Result<EntryView<'s>> {
    let mut view = EntryView::new(source, ix);
    match source.contents.rendered.get(&ix) {
        Some(rendered) => view.push_prose(rendered, Author::Program),
        None => source
            .reader
            .with_entry(ix, |line| view.push_entry(line))??,
    }
    Ok(view)
}

impl EntryView<'_> {
    fn push_entry(&mut self, line: Raw) -> io::Result<()> {
        let entry = self.source.contents.session.entry(self.ix);
        match entry.kind {
            Kind::Message => match line.get("message") {
                Some(message) if message.is_object() => self.push_message(entry.role, message)?,
                _ => self.push_unless_known("data", line, &[]),
            },
            Kind::CustomMessage => {
                self.push_content(line.get("content"), Author::Program);
                self.push_hidden_note();
                self.push_member(line, "details");
            }
            Kind::Compaction => self.push_compaction(line),
            Kind::BranchSummary => {
                let branch_leaf = self.find_member_entry(line, "fromId");
                self.push_summary("Summary of a branch that was left", branch_leaf, line);
            }
            Kind::Custom => self.push_member(line, "data"),
            Kind::ContextEdit => self.push_context_edit(line),
            Kind::Label => self.push_label(line),
            Kind::SessionInit => {
                for (title, key) in [("System prompt", "systemPrompt"), ("Task", "task")] {
                    if let Some(text) = line.get(key).and_then(decode_string) {
                        self.push_folded_text(title, &text);
                    }
                }
                self.push_unless_known("settings", line, &["systemPrompt", "task"]);
            }
            Kind::ResetBoundary => self.markup.push_text_element(
                Tag::Note,
                "What comes before is no longer sent to the model.",
            ),
            // A list of tools does not fit on the line of a setting.
            kind if kind.schema().letter == 'n' && kind != Kind::ActiveToolsChange => {
                self.push_setting(line)
            }
            _ => self.push_unless_known("data", line, &[]),
        }
        Ok(())
    }

    fn push_message(&mut self, role: Role, message: Raw) -> io::Result<()> {
        match role {
            Role::User => self.push_content(message.get("content"), Author::User),
            Role::Assistant => self.push_reply(message),
            Role::ToolResult => self.push_result(message)?,
            Role::BashExecution | Role::PythonExecution => self.push_execution(message),
            Role::FileMention => self.push_files(message),
            Role::System | Role::Developer => {
                self.push_folded_content("Instructions", message.get("content"));
                self.push_system_members(message);
            }
            Role::Custom | Role::HookMessage => {
                self.push_content(message.get("content"), Author::Program);
                self.push_hidden_note();
                self.push_member(message, "details");
            }
            Role::BranchSummary => {
                self.push_summary("Summary of a branch that was left", None, message)
            }
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

    /// Appends the parts of a system prompt that follow its text: sections and tools, which later
    /// messages change.
    fn push_system_members(&mut self, message: Raw) {
        for (name, text) in message
            .get("sections")
            .map(js::object_entries)
            .unwrap_or_default()
        {
            let name = cut(&name.to_string_lossy(), 100);
            match decode_string(text) {
                Some(text) => self.push_folded_text(&format!("Section {name}"), &text),
                None => self
                    .markup
                    .push_text_element(Tag::Note, &format!("Section {name} removed")),
            }
        }
        for (key, title) in [("toolsAdded", "Tools"), ("toolsRemoved", "Tools removed")] {
            let tools = message.get(key).unwrap_or(Raw::NULL);
            if tools.items().next().is_none() {
                continue;
            }
            // Tools that are added are objects; of those that are removed there are the names.
            let names: Vec<String> = tools
                .items()
                .filter_map(|tool| decode_string(tool.get("name").unwrap_or(tool)))
                .collect();
            let title = format!("{title}: {}", names.join(", "));
            self.push_json(&cut(&title, 300), tools);
        }
    }

    fn push_reply(&mut self, message: Raw) {
        let names = ["content", "provider", "model", "responseModel"];
        let [content, provider, model, response_model] = find_members(message, names);
        let provider = provider.and_then(decode_string);
        let model = response_model
            .and_then(decode_string)
            .or_else(|| model.and_then(decode_string));
        self.facts.model = model_name(provider.as_deref(), model.as_deref());
        self.push_content(content, Author::Program);
        self.push_ending(message);
    }

    /// Appends how the turn ended, unless it ended normally.
    fn push_ending(&mut self, message: Raw) {
        let [reason, error] = find_members(message, ["stopReason", "errorMessage"]);
        let reason = reason.and_then(decode_string).unwrap_or_default();
        let error = error.and_then(decode_string);
        let ending = match &*reason {
            "aborted" => "Stopped by the user",
            "error" => "Failed",
            "length" => "Cut short: the answer reached its limit",
            _ if error.is_some() => "Failed",
            _ => return,
        };
        self.markup.push_element(Tag::Alert, |m| {
            m.push_text(ending);
            if let Some(error) = error
                && !error.trim().is_empty()
            {
                m.push_text(": ");
                m.push_text(&cut(&error, 2000));
            }
        });
    }

    fn push_compaction(&mut self, line: Raw) {
        let tokens = line
            .get("tokensBefore")
            .and_then(Raw::number)
            .filter(|tokens| tokens.is_finite());
        let title = match tokens {
            Some(tokens) => format!("Compacted at {} tokens", group_digits(tokens)),
            None => "Compacted".to_owned(),
        };
        self.push_summary(&title, None, line);
        // A compaction that keeps nothing names itself.
        if let Some(kept) = self.find_member_entry(line, "firstKeptEntryId")
            && self.find_member_entry(line, "id") != Some(kept)
        {
            self.push_entry_link("The model kept what follows from ", kept);
        }
    }

    /// The entry whose id is the member `key`.
    fn find_member_entry(&self, line: Raw, key: &str) -> Option<EntryIx> {
        let id = line.get_text(key)?;
        self.source.contents.session.find_entry(&id)
    }

    fn push_summary(&mut self, title: &str, from: Option<EntryIx>, line: Raw) {
        let summary = line
            .get("summary")
            .and_then(decode_string)
            .unwrap_or_default();
        self.keep_source(summary.trim());
        self.markup.push_fold("divider", title, |m| {
            push_prose(&summary, Author::Program, m)
        });
        if let Some(from) = from {
            self.push_entry_link("It ended at ", from);
        }
    }

    fn push_entry_link(&mut self, before: &str, to: EntryIx) {
        let Some(number) = self.source.contents.entry_number(to) else {
            return;
        };
        let id = self.source.contents.entry_id(to);
        self.markup.push_element(Tag::Note, |m| {
            m.push_text(before);
            m.push_element_with(Tag::Entry, &number.to_string(), |m| m.push_text(&id));
        });
    }

    /// Appends a change of what the model sees of another entry: other content, or `null` for none.
    fn push_context_edit(&mut self, line: Raw) {
        let target = self.find_member_entry(line, "targetId");
        let replacement = line.get("replacement");
        let omits = replacement.is_some_and(Raw::is_null);
        if let Some(target) = target {
            let number = self.source.contents.entry_number(target);
            if let Some(target) = number
                && replacement.is_some()
            {
                self.facts.edit = Some(EditFact { target, omits });
            }
            let before = if omits {
                "From here on the model no longer sees "
            } else {
                "From here on the model sees other content of "
            };
            self.push_entry_link(before, target);
        }
        let content = replacement.and_then(|replacement| replacement.get("content"));
        self.push_content(content, Author::Program);
    }

    fn push_label(&mut self, line: Raw) {
        let target = self.find_member_entry(line, "targetId");
        let before = match line.get("label").and_then(decode_string) {
            Some(name) if !name.is_empty() => format!("Label “{}” on ", cut(&name, 200)),
            _ => "Label cleared of ".to_owned(),
        };
        match target {
            Some(target) => self.push_entry_link(&before, target),
            None => self
                .markup
                .push_text_element(Tag::Note, &format!("{before}an entry that is not here")),
        }
    }

    /// Appends a change of a setting, its values on one line.
    fn push_setting(&mut self, line: Raw) {
        let mut values = Vec::new();
        for (key, value) in line.members() {
            let is_setting = !ENVELOPE_KEYS.iter().any(|name| key.is(name));
            if is_setting && !value.is_null() {
                values.push(format!(
                    "{}: {}",
                    key.text(),
                    cut(&string_or_json(value), 200)
                ));
            }
        }
        self.markup
            .push_text_element(Tag::Note, &values.join(" · "));
    }
}
