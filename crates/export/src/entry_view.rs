//! Displays an entry: its texts as Markdown, its tool calls by what they do, everything else
//! folded.

use crate::commonmark::Author;
use crate::markup::Tag;
use crate::source::{Source, cut, decoded, shown};
use crate::view_parts::{ENVELOPE, EntryView, prose};
use pisess_core::format::grouped;
use pisess_core::session::content::members;
use pisess_core::session::entry::{EntryIx, Kind, Role};
use pisess_core::session::usage::model_name;
use pisess_json::scan::RawString;
use pisess_json::{Raw, js};
use std::io;

/// Returns the view of an entry.
pub fn entry_view<'s>(source: &'s Source<'s>, ix: EntryIx) -> io::Result<EntryView<'s>> {
    let mut view = EntryView::new(source, ix);
    match source.contents.rendered.get(&ix) {
        Some(rendered) => view.prose(rendered, Author::Program),
        None => source.reader.with_entry(ix, |line| view.entry(line))??,
    }
    Ok(view)
}

impl EntryView<'_> {
    fn entry(&mut self, line: Raw) -> io::Result<()> {
        let entry = self.source.contents.session.entry(self.ix);
        match entry.kind {
            Kind::Message => match line.get("message") {
                Some(message) if message.is_object() => self.message(entry.role, message)?,
                _ => self.rest("data", line, &[]),
            },
            Kind::CustomMessage => {
                self.content(line.get("content"), Author::Program);
                self.hidden();
                self.member(line, "details");
            }
            Kind::Compaction => self.compaction(line),
            Kind::BranchSummary => {
                self.summary(
                    "Summary of a branch that was left",
                    self.named(line, "fromId"),
                    line,
                );
            }
            Kind::Custom => self.member(line, "data"),
            Kind::ContextEdit => self.edit(line),
            Kind::Label => self.label(line),
            Kind::SessionInit => {
                for (title, key) in [("System prompt", "systemPrompt"), ("Task", "task")] {
                    self.fold(title, &line.get(key).and_then(decoded).unwrap_or_default());
                }
                self.rest("settings", line, &["systemPrompt", "task"]);
            }
            Kind::ResetBoundary => self.markup.words(
                Tag::Note,
                "What comes before is no longer sent to the model.",
            ),
            // A list of tools does not fit on the line of a setting.
            kind if kind.schema().letter == 'n' && kind != Kind::ActiveToolsChange => {
                self.setting(line)
            }
            _ => self.rest("data", line, &[]),
        }
        Ok(())
    }

    fn message(&mut self, role: Role, message: Raw) -> io::Result<()> {
        match role {
            Role::User => self.content(message.get("content"), Author::User),
            Role::Assistant => self.assistant(message),
            Role::ToolResult => self.result(message)?,
            Role::BashExecution | Role::PythonExecution => self.execution(message),
            Role::FileMention => self.files(message),
            Role::System | Role::Developer => {
                self.folded("Instructions", message.get("content"));
                self.system(message);
            }
            Role::Custom | Role::HookMessage => {
                self.content(message.get("content"), Author::Program);
                self.hidden();
                self.member(message, "details");
            }
            Role::BranchSummary => self.summary("Summary of a branch that was left", None, message),
            Role::CompactionSummary => self.summary("Summary of what came before", None, message),
            Role::Other | Role::Missing => {
                self.content(message.get("content"), Author::Program);
                self.rest("message", message, &["role", "content", "timestamp"]);
            }
        }
        Ok(())
    }

    /// Appends the parts of a system prompt that follow its text: sections and tools, which later
    /// messages change.
    fn system(&mut self, message: Raw) {
        for (name, text) in message.get("sections").map(js::entries).unwrap_or_default() {
            let name = cut(&name.to_string_lossy(), 100);
            match decoded(text) {
                Some(text) => self.fold(&format!("Section {name}"), &text),
                None => self
                    .markup
                    .words(Tag::Note, &format!("Section {name} removed")),
            }
        }
        for (key, said) in [("toolsAdded", "Tools"), ("toolsRemoved", "Tools removed")] {
            let Some(tools) = message
                .get(key)
                .filter(|tools| tools.items().next().is_some())
            else {
                continue;
            };
            let names = tools
                .items()
                .filter_map(|tool| tool.get("name").unwrap_or(tool).text());
            let names: Vec<String> = names
                .map(|name| name.to_string_lossy().into_owned())
                .collect();
            self.json(&cut(&format!("{said}: {}", names.join(", ")), 300), tools);
        }
    }

    fn assistant(&mut self, message: Raw) {
        let names = ["content", "provider", "model", "responseModel"];
        let [content, provider, model, response_model] = members(message, names);
        let provider = provider.and_then(decoded);
        let model = response_model
            .and_then(decoded)
            .or_else(|| model.and_then(decoded));
        self.facts.model = model_name(provider.as_deref(), model.as_deref());
        self.content(content, Author::Program);
        self.ending(message);
    }

    /// Appends how the turn ended, unless it ended normally.
    fn ending(&mut self, message: Raw) {
        let [reason, error] = members(message, ["stopReason", "errorMessage"]);
        let reason = reason.and_then(decoded).unwrap_or_default();
        let error = error.and_then(decoded);
        let said = match &*reason {
            "aborted" => "Stopped by the user",
            "error" => "Failed",
            "length" => "Cut short: the answer reached its limit",
            _ if error.is_some() => "Failed",
            _ => return,
        };
        self.markup.element(Tag::Alert, |m| {
            m.text(said);
            if let Some(error) = error.filter(|error| !error.trim().is_empty()) {
                m.text(": ");
                m.text(&cut(&error, 2000));
            }
        });
    }

    fn compaction(&mut self, line: Raw) {
        let tokens = line
            .get("tokensBefore")
            .and_then(Raw::number)
            .filter(|tokens| tokens.is_finite());
        let title = match tokens {
            Some(tokens) => format!("Compacted at {} tokens", grouped(tokens)),
            None => "Compacted".to_owned(),
        };
        self.summary(&title, None, line);
        let kept = self.named(line, "firstKeptEntryId");
        if let Some(kept) = kept.filter(|kept| Some(*kept) != self.named(line, "id")) {
            self.entry_link("The model kept what follows from ", kept);
        }
    }

    /// Returns the entry whose id is this member.
    fn named(&self, line: Raw, key: &str) -> Option<EntryIx> {
        line.get_text(key)
            .and_then(|id| self.source.contents.session.find(&id))
    }

    fn summary(&mut self, title: &str, from: Option<EntryIx>, line: Raw) {
        let summary = line.get("summary").and_then(decoded).unwrap_or_default();
        self.keep_source(summary.trim());
        self.markup
            .fold("divider", title, |m| prose(&summary, Author::Program, m));
        if let Some(from) = from {
            self.entry_link("It ended at ", from);
        }
    }

    fn entry_link(&mut self, before: &str, to: EntryIx) {
        let Some(number) = self.source.contents.number(to) else {
            return;
        };
        let id = self.source.contents.id(to);
        self.markup.element(Tag::Note, |m| {
            m.text(before);
            m.element_with(Tag::Entry, &number.to_string(), |m| m.text(&id));
        });
    }

    fn edit(&mut self, line: Raw) {
        let target = self.named(line, "targetId");
        let replacement = line.get("replacement");
        let omits = replacement.is_some_and(Raw::is_null);
        self.facts.edits = target
            .and_then(|target| self.source.contents.number(target))
            .filter(|_| replacement.is_some())
            .map(|target| (target, omits));
        if let Some(target) = target {
            let said = if omits {
                "From here on the model no longer sees "
            } else {
                "From here on the model sees other content of "
            };
            self.entry_link(said, target);
        }
        self.content(
            replacement.and_then(|new| new.get("content")),
            Author::Program,
        );
    }

    fn label(&mut self, line: Raw) {
        let target = self.named(line, "targetId");
        let name = line
            .get("label")
            .and_then(decoded)
            .filter(|name| !name.is_empty());
        let said = match &name {
            Some(name) => format!("Label “{}” on ", cut(name, 200)),
            None => "Label cleared of ".to_owned(),
        };
        match target {
            Some(target) => self.entry_link(&said, target),
            None => self
                .markup
                .words(Tag::Note, &format!("{said}an entry that is not here")),
        }
    }

    /// Appends a change of a setting, its values on one line.
    fn setting(&mut self, line: Raw) {
        let is_setting = |key: RawString| !ENVELOPE.iter().any(|name| key.is(name));
        let values = line
            .members()
            .filter(|(key, value)| is_setting(*key) && !value.is_null());
        let values =
            values.map(|(key, value)| format!("{}: {}", key.text(), cut(&shown(value), 200)));
        self.markup
            .words(Tag::Note, &values.collect::<Vec<_>>().join(" · "));
    }
}
