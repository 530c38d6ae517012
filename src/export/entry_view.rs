//! Displays an entry: its texts as Markdown, its tool calls by what they do, everything else folded.

use crate::export::commonmark::Breaks;
use crate::export::markup::Tag;
use crate::export::source::{Source, cut, decoded, shown};
use crate::export::tools;
use crate::export::view_parts::{EntryView, prose};
use crate::format::grouped;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::EntryReader as _;
use crate::session::usage::model_name;
use pisess_json::{Raw, js};
use std::io;

/// Returns the article of an entry.
pub fn article(source: &Source, ix: EntryIx) -> io::Result<EntryView> {
    let mut article = EntryView {
        number: source.number(ix).unwrap_or(u32::MAX),
        omits_thinking: source.cuts.thinking,
        usage: source.session.usage_of(ix).copied(),
        ..EntryView::default()
    };
    let line = source.bodies.line(ix)?;
    let line = Raw::checked(line.trim_ascii());
    match source.rendered(ix) {
        Some(rendered) => article.prose(rendered, Breaks::Soft),
        None => article.entry(source, ix, line)?,
    }
    Ok(article)
}

impl EntryView {
    fn entry(&mut self, source: &Source, ix: EntryIx, line: Raw) -> io::Result<()> {
        let entry = source.session.entry(ix);
        match entry.kind {
            Kind::Message => match line.get("message") {
                Some(message) if message.is_object() => self.message(source, ix, entry.role, message)?,
                _ => self.rest("data", line, &[]),
            },
            Kind::CustomMessage => {
                self.content(line.get("content"), Breaks::Soft);
                self.hidden(line);
                self.member(line, "details");
            }
            Kind::Compaction => self.compaction(source, line),
            Kind::BranchSummary => {
                let from = line.get_text("fromId").and_then(|id| source.session.find(&id));
                self.summary(source, "Summary of a branch that was left", from, line);
            }
            Kind::Custom => self.member(line, "data"),
            Kind::ContextEdit => self.edit(source, line),
            Kind::Label => self.label(source, line),
            Kind::SessionInit => {
                self.fold("System prompt", line.get("systemPrompt"));
                self.fold("Task", line.get("task"));
                self.rest("settings", line, &["systemPrompt", "task"]);
            }
            Kind::ModelChange
            | Kind::ThinkingLevelChange
            | Kind::SessionInfo
            | Kind::TitleChange
            | Kind::ModeChange
            | Kind::ServiceTierChange => self.setting(line),
            Kind::ResetBoundary => {
                self.markup.words(Tag::Note, "What comes before is no longer sent to the model.")
            }
            Kind::Usage
            | Kind::ModelUsage
            | Kind::TtsrInjection
            | Kind::CredentialPin
            | Kind::ActiveToolsChange
            | Kind::Leaf
            | Kind::Head
            | Kind::StackSummary
            | Kind::StackPop
            | Kind::Other
            | Kind::Missing => {
                self.rest("data", line, &[]);
            }
        }
        Ok(())
    }

    fn message(&mut self, source: &Source, ix: EntryIx, role: Role, message: Raw) -> io::Result<()> {
        match role {
            Role::User => self.content(message.get("content"), Breaks::Hard),
            Role::Assistant => self.assistant(source, ix, message),
            Role::ToolResult => tools::result(self, source, ix, message)?,
            Role::BashExecution | Role::PythonExecution => tools::execution(self, source, message),
            Role::FileMention => tools::files(self, source, message),
            Role::System | Role::Developer => {
                self.folded("Instructions", message.get("content"));
                self.system(message);
            }
            Role::Custom | Role::HookMessage => {
                self.content(message.get("content"), Breaks::Soft);
                self.hidden(message);
                self.member(message, "details");
            }
            Role::BranchSummary => self.summary(source, "Summary of a branch that was left", None, message),
            Role::CompactionSummary => self.summary(source, "Summary of what came before", None, message),
            Role::Other | Role::Missing => {
                self.content(message.get("content"), Breaks::Soft);
                self.rest("message", message, &["role", "content", "timestamp"]);
            }
        }
        Ok(())
    }

    /// Appends the parts of a system prompt that follow its text: sections and tools, which later messages change.
    fn system(&mut self, message: Raw) {
        for (name, text) in message.get("sections").map(js::entries).unwrap_or_default() {
            let name = cut(&name.to_string_lossy(), 100);
            match decoded(text) {
                Some(text) => self.fold_text(&format!("Section {name}"), &text),
                None => self.markup.words(Tag::Note, &format!("Section {name} removed")),
            }
        }
        for (key, said) in [("toolsAdded", "Tools"), ("toolsRemoved", "Tools removed")] {
            let Some(tools) = message.get(key).filter(|tools| tools.items().next().is_some()) else {
                continue;
            };
            let names = tools.items().filter_map(|tool| tool.get("name").unwrap_or(tool).text());
            let names: Vec<String> = names.map(|name| name.to_string_lossy().into_owned()).collect();
            self.json(&cut(&format!("{said}: {}", names.join(", ")), 300), tools);
        }
    }

    fn assistant(&mut self, source: &Source, ix: EntryIx, message: Raw) {
        let part = |key| message.get(key).and_then(decoded);
        let model = part("responseModel").or_else(|| part("model"));
        self.model = model_name(part("provider").as_deref(), model.as_deref());
        match message.get("content") {
            Some(content) if content.is_array() => {
                for block in content.items() {
                    match block.get("type").and_then(Raw::text).unwrap_or_default().as_bytes() {
                        b"toolCall" if source.cuts.tools => {}
                        b"toolCall" => tools::call(self, source, ix, block),
                        _ => self.block(block, Breaks::Soft),
                    }
                }
            }
            content => self.content(content, Breaks::Soft),
        }
        self.ending(message);
    }

    /// Appends how the turn ended, unless it ended normally.
    fn ending(&mut self, message: Raw) {
        let reason = message.get("stopReason").and_then(decoded).unwrap_or_default();
        let error = message.get("errorMessage").and_then(decoded);
        let said = match &*reason {
            "aborted" => "Stopped by the user",
            "error" => "Failed",
            "length" => "Cut short: the answer reached its limit",
            _ if error.is_some() => "Failed",
            _ => return,
        };
        self.failed = true;
        self.markup.element(Tag::Alert, |m| {
            m.text(said);
            if let Some(error) = error.filter(|error| !error.trim().is_empty()) {
                m.text(": ");
                m.text(&cut(&error, 2000));
            }
        });
    }

    fn compaction(&mut self, source: &Source, line: Raw) {
        let tokens = line.get("tokensBefore").and_then(Raw::number).filter(|tokens| tokens.is_finite());
        let title = match tokens {
            Some(tokens) => format!("Compacted at {} tokens", grouped(tokens)),
            None => "Compacted".to_owned(),
        };
        let kept = line.get_text("firstKeptEntryId").and_then(|id| source.session.find(&id));
        self.summary(source, &title, None, line);
        if let Some(kept) =
            kept.filter(|kept| Some(*kept) != line.get_text("id").and_then(|id| source.session.find(&id)))
        {
            self.entry_link(source, "The model kept what follows from ", kept);
        }
    }

    fn summary(&mut self, source: &Source, title: &str, from: Option<EntryIx>, line: Raw) {
        let summary = line.get("summary").and_then(decoded).unwrap_or_default();
        self.source.push_str(summary.trim());
        self.markup.element_with(Tag::Fold, "divider", |m| {
            m.words(Tag::Summary, title);
            m.section(|m| prose(&summary, Breaks::Soft, m));
        });
        if let Some(from) = from {
            self.entry_link(source, "It ended at ", from);
        }
    }

    fn entry_link(&mut self, source: &Source, before: &str, to: EntryIx) {
        let Some(number) = source.number(to) else { return };
        self.markup.element(Tag::Note, |m| {
            m.text(before);
            m.element_with(Tag::Entry, &number.to_string(), |m| m.text(&source.id(to)));
        });
    }

    fn edit(&mut self, source: &Source, line: Raw) {
        let target = line.get_text("targetId").and_then(|id| source.session.find(&id));
        let replacement = line.get("replacement");
        let omits = replacement.is_some_and(Raw::is_null);
        self.edits = target
            .and_then(|target| source.number(target))
            .filter(|_| replacement.is_some())
            .map(|target| (target, omits));
        if let Some(target) = target {
            let said = if omits {
                "From here on the model no longer sees "
            } else {
                "From here on the model sees other content of "
            };
            self.entry_link(source, said, target);
        }
        self.content(replacement.and_then(|new| new.get("content")), Breaks::Soft);
    }

    fn label(&mut self, source: &Source, line: Raw) {
        let target = line.get_text("targetId").and_then(|id| source.session.find(&id));
        let name = line.get("label").and_then(decoded).filter(|name| !name.is_empty());
        let said = match &name {
            Some(name) => format!("Label “{}” on ", cut(name, 200)),
            None => "Label cleared of ".to_owned(),
        };
        match target {
            Some(target) => self.entry_link(source, &said, target),
            None => self.markup.words(Tag::Note, &format!("{said}an entry that is not here")),
        }
    }

    /// Appends a change of a setting, its values on one line.
    fn setting(&mut self, line: Raw) {
        self.markup.element(Tag::Note, |m| {
            let mut first = true;
            for (key, value) in line.members() {
                let key = pisess_json::string::decode(key.bytes);
                if matches!(key.as_bytes(), b"type" | b"id" | b"parentId" | b"timestamp") || value.is_null() {
                    continue;
                }
                m.text(if first { "" } else { " · " });
                first = false;
                m.text(&format!("{}: ", key.to_string_lossy()));
                m.text(&cut(&shown(value), 200));
            }
        });
    }
}
