//! Tool calls for people: a command with its output, a file with its lines, an edit as a diff.
//!
//! A call and its result are two entries. Both are drawn at the result, and the call links there; a
//! call without a result is drawn in its own place.

use super::code::{self, Language};
use super::markup::{Markup, Tag};
use super::source::{cut, decoded};
use super::view_parts::EntryView;
use pisess_core::agents::readable;
use pisess_core::format::changes::{self, Sign};
use pisess_core::format::counted;
use pisess_core::session::content::{is_block, joined_text, members, truthy};
use pisess_core::session::outcome::Outcome;
use pisess_core::session::paths::below;
use pisess_json::Raw;
use std::io;

/// The maximum number of characters of a subject in a head line.
const SUBJECT: usize = 400;

/// The length in bytes above which texts are not compared but shown one after the other.
const LONGEST_COMPARED: usize = 512 * 1024;

impl EntryView<'_> {
    /// Appends a call in the message that made it.
    pub fn call(&mut self, block: Raw) {
        let name = block.get("name").and_then(decoded).unwrap_or_default();
        let arguments = block.get("arguments").unwrap_or(Raw::NULL);
        let subject = self.subject(&name, arguments);
        let result = block
            .get_text("id")
            .and_then(|id| self.source.contents.result(id.as_bytes(), self.ix));
        if let Some(result) = result.and_then(|result| self.source.contents.number(result)) {
            return self
                .markup
                .element_with(Tag::Call, &result.to_string(), |m| {
                    m.words(Tag::Name, &cut(&name, 80));
                    m.words(Tag::Subject, &cut(&subject, SUBJECT));
                });
        }
        // A filter may have left out the result.
        let marks: &[_] = if self.source.contents.cuts.filter.is_some() {
            &[]
        } else {
            &[(Tag::Mark, "no result")]
        };
        self.markup.open_with(Tag::Tool, "open");
        self.head(&name, &subject, marks);
        self.work(&name, arguments, Raw::NULL);
        self.markup.close();
    }

    /// Appends a result with the call it answers.
    pub fn result(&mut self, message: Raw) -> io::Result<()> {
        let (id, source) = (
            message.get_text("toolCallId").unwrap_or_default(),
            self.source,
        );
        source.with_call(id.as_bytes(), self.ix, |call| self.answered(call, message))
    }

    fn answered(&mut self, call: Raw, message: Raw) {
        let names = ["toolName", "content", "isError", "prunedAt", "details"];
        let [name, content, is_error, pruned_at, details] = members(message, names);
        let [own_name, arguments] = members(call, ["name", "arguments"]);
        let name = name.or(own_name).and_then(decoded);
        let name = name.unwrap_or("tool".into());
        let arguments = arguments.unwrap_or(Raw::NULL);
        let (text, others) = output(content);
        let failed = is_error.is_some_and(Raw::is_truthy);
        let outcome = Outcome::of(message, &text);
        let exit = outcome.exit_code().map(|code| format!("exit {code}"));
        let mut marks = Vec::new();
        if failed {
            marks.push((Tag::BadMark, exit.as_deref().unwrap_or("failed")));
        }
        if pruned_at.is_some() {
            marks.push((Tag::Mark, "shortened by the agent"));
        }
        self.markup
            .open_with(Tag::Tool, if failed { "failed" } else { "" });
        self.head(&name, &self.subject(&name, arguments), &marks);
        let is_work = self.work(&name, arguments, details.unwrap_or(Raw::NULL));
        match &*name {
            _ if text.trim().is_empty() && others.is_empty() && !is_work => {
                self.markup.words(Tag::Note, "no output");
            }
            _ if text.trim().is_empty() => {}
            "read" if !failed => {
                let first = arguments
                    .get("offset")
                    .and_then(Raw::index)
                    .unwrap_or(1)
                    .max(1);
                let language = self.path(arguments).as_deref().and_then(Language::of_path);
                self.beginning(&text, |text, m| {
                    code::lines(text, first as u64, language, m)
                });
            }
            // The diff shows the change, so the first line of the output suffices.
            "edit" | "write" | "Edit" | "MultiEdit" | "Write" if !failed && is_work => {
                let first = text.trim().lines().next().unwrap_or_default();
                self.markup.words(Tag::Note, &cut(first, 300));
            }
            "bash" | "Bash" => self.end(&text),
            _ => self.beginning(&text, code::output),
        }
        self.nested(message);
        for block in others {
            if is_block(block, "image") {
                self.image(block);
            } else {
                self.json("other content", block);
            }
        }
        self.markup.close();
    }

    /// Appends the calls that a tool made itself, folded.
    fn nested(&mut self, message: Raw) {
        let calls = message
            .get("nestedCalls")
            .and_then(|nested| nested.get("calls"));
        let calls: Vec<Raw> = calls.into_iter().flat_map(Raw::items).collect();
        if calls.is_empty() {
            return;
        }
        self.markup.open(Tag::Fold);
        self.markup
            .words(Tag::Summary, &counted(calls.len(), "call", "calls"));
        self.markup.begin();
        for call in calls {
            let name = call.get("name").and_then(decoded).unwrap_or_default();
            let failed = call.get("isError").is_some_and(Raw::is_truthy);
            let marks: &[(Tag, &str)] = if failed {
                &[(Tag::BadMark, "failed")]
            } else {
                &[]
            };
            let arguments = call.get("arguments").unwrap_or(Raw::NULL);
            self.head(&name, &self.subject(&name, arguments), marks);
            self.markup.divide(usize::MAX, 200);
        }
        self.markup.end();
        self.markup.close();
    }

    /// Appends the head line of a tool.
    fn head(&mut self, name: &str, subject: &str, marks: &[(Tag, &str)]) {
        self.markup.element(Tag::ToolHead, |m| {
            m.words(Tag::Name, &cut(name, 80));
            if !subject.is_empty() {
                m.words(Tag::Subject, &cut(subject, SUBJECT));
            }
            marks.iter().for_each(|(tag, mark)| m.words(*tag, mark));
        });
    }

    /// Returns the subject of a call, on one line.
    fn subject(&self, name: &str, arguments: Raw) -> String {
        let text = |key: &str| arguments.get(key).and_then(decoded);
        let path = || self.path(arguments);
        let subject = match name {
            "bash" | "Bash" => text("command").map(|command| first_line(&command)),
            // Codex has the words of a command.
            "shell" | "local_shell" => {
                let command = arguments
                    .get("command")
                    .and_then(|line| readable::command_head(line, SUBJECT));
                command.map(|command| first_line(&command.to_string_lossy()))
            }
            "read" => path().map(|path| {
                let number = |key: &str| arguments.get(key).and_then(Raw::index);
                let from = number("offset").unwrap_or(1);
                match number("limit") {
                    None if number("offset").is_none() => path,
                    None => format!("{path}:{from}"),
                    Some(count) => format!("{path}:{from}-{}", (from + count).saturating_sub(1)),
                }
            }),
            "grep" | "Grep" => {
                let place = path().unwrap_or(".".to_owned());
                text("pattern").map(|pattern| format!("/{pattern}/ in {place}"))
            }
            "find" | "glob" | "Glob" => {
                let place = path().map(|path| format!(" in {path}")).unwrap_or_default();
                text("pattern").map(|pattern| format!("{pattern}{place}"))
            }
            _ => path(),
        };
        // The first string is usually the subject.
        let first = || arguments.members().find_map(|(_, value)| decoded(value));
        subject
            .or_else(|| first().map(|text| first_line(&text)))
            .unwrap_or_default()
    }

    /// Returns the path that arguments name, relative to the session's directory.
    fn path(&self, arguments: Raw) -> Option<String> {
        let path = ["path", "file_path", "notebook_path", "filePath", "file"]
            .iter()
            .find_map(|key| arguments.get(key));
        let path = path.and_then(decoded)?;
        let cwd = self
            .source
            .contents
            .session
            .header
            .cwd
            .as_ref()
            .map(|cwd| cwd.to_string_lossy());
        match cwd
            .as_deref()
            .and_then(|cwd| below(path.as_bytes(), cwd.as_bytes()))
        {
            Some(rest) if !rest.is_empty() => Some(path[path.len() - rest.len()..].to_owned()),
            _ => Some(path),
        }
    }

    /// Appends what the head line does not show of a call. Returns whether it shows a change to a
    /// file.
    fn work(&mut self, name: &str, arguments: Raw, details: Raw) -> bool {
        let text = |key: &str| arguments.get(key).and_then(decoded);
        match name {
            "bash" | "Bash" => {
                let command = text("command").unwrap_or_default();
                if command.trim_end().contains('\n') || command.chars().count() > SUBJECT {
                    code::block(&command, "sh", Language::named("sh"), &mut self.markup);
                }
                return false;
            }
            "read" | "ls" | "grep" | "find" | "glob" | "Read" | "LS" | "Grep" | "Glob" => {
                return false;
            }
            "write" | "Write" => {
                if let Some(content) = text("content") {
                    let language = self
                        .path(arguments)
                        .and_then(|path| Language::of_path(&path));
                    self.beginning(&content, |text, m| code::lines(text, 1, language, m));
                    return true;
                }
            }
            _ => {}
        }
        // Some agents store only the headers of the hunks.
        let changes = |diff: &str| {
            diff.lines()
                .any(|line| line_of_diff(line).0 != Sign::Common)
        };
        let diff = details
            .get("diff")
            .and_then(decoded)
            .filter(|diff| changes(diff));
        if let Some(diff) = diff {
            self.changes(diff.lines().map(line_of_diff).collect());
            return true;
        }
        let pairs = replacements(arguments);
        pairs.iter().for_each(|(old, new)| self.compared(old, new));
        if pairs.is_empty() && arguments.is_object() && arguments.members().nth(1).is_some() {
            self.json("arguments", arguments);
        }
        !pairs.is_empty()
    }

    fn compared(&mut self, old: &str, new: &str) {
        if old.len() + new.len() > LONGEST_COMPARED {
            let lines = old.lines().map(|line| (Sign::Removed, line));
            return self.changes(
                lines
                    .chain(new.lines().map(|line| (Sign::Added, line)))
                    .collect(),
            );
        }
        let lines = changes::lines(old, new);
        let signed: Vec<_> = lines
            .iter()
            .map(|(sign, line)| {
                (
                    *sign,
                    format!("{}{}", sign.as_str(), line.trim_end_matches(['\n', '\r'])),
                )
            })
            .collect();
        self.changes(
            signed
                .iter()
                .map(|(side, text)| (*side, text.as_str()))
                .collect(),
        );
    }

    /// Appends the first lines of a diff.
    fn changes(&mut self, mut lines: Vec<(Sign, &str)>) {
        let all = lines.len();
        lines.truncate(self.shown(all));
        if !lines.is_empty() {
            code::diff(&lines, &mut self.markup);
        }
        self.omitted(all, "more ");
    }

    /// Appends the first lines of a text by `write`.
    fn beginning(&mut self, text: &str, write: impl FnOnce(&str, &mut Markup)) {
        let all = text.lines().count();
        let shown = self.shown(all);
        let kept: usize = text.split_inclusive('\n').take(shown).map(str::len).sum();
        if shown > 0 {
            write(&text[..kept], &mut self.markup);
        }
        self.omitted(all, "more ");
    }

    /// Appends the last lines of what a command printed: its result is there.
    fn end(&mut self, text: &str) {
        let all = text.lines().count();
        let shown = self.shown(all);
        self.omitted(all, "earlier ");
        let left: usize = text
            .split_inclusive('\n')
            .take(all - shown)
            .map(str::len)
            .sum();
        if shown > 0 {
            code::output(&text[left..], &mut self.markup);
        }
    }

    /// Returns how many of these lines are shown.
    fn shown(&self, all: usize) -> usize {
        all.min(self.source.contents.cuts.lines.unwrap_or(all))
    }

    /// Appends how many of these lines are left out, if any.
    fn omitted(&mut self, all: usize, which: &str) {
        let shown = self.shown(all);
        let which = if shown == 0 { "" } else { which };
        if all > shown {
            let (one, many) = (format!("{which}line"), format!("{which}lines"));
            self.markup
                .words(Tag::Note, &counted(all - shown, &one, &many));
        }
    }

    /// Appends a command or code that the user ran.
    pub fn execution(&mut self, message: Raw) {
        let text = |key: &str| message.get(key).and_then(decoded).unwrap_or_default();
        let (name, language, ran) = if message.get("command").is_some() {
            ("bash", "sh", text("command"))
        } else {
            ("python", "py", text("code"))
        };
        let outcome = Outcome::of(message, "");
        let exit = outcome.exit_code().map(|code| format!("exit {code}"));
        let mark = if outcome == Outcome::Stopped {
            Some("cancelled")
        } else {
            exit.as_deref()
        };
        let mut marks: Vec<_> = mark.map(|mark| (Tag::BadMark, mark)).into_iter().collect();
        for (key, mark) in [
            ("excludeFromContext", "not sent to the model"),
            ("truncated", "output shortened"),
        ] {
            marks.extend(truthy(message, key).then_some((Tag::Mark, mark)));
        }
        self.markup.open_with(
            Tag::Tool,
            if outcome == Outcome::Passed {
                ""
            } else {
                "failed"
            },
        );
        self.head(name, &first_line(&ran), &marks);
        if ran.trim_end().contains('\n') {
            code::block(&ran, language, Language::named(language), &mut self.markup);
        }
        match text("output") {
            output if output.trim().is_empty() => self.markup.words(Tag::Note, "no output"),
            output => self.end(&output),
        }
        self.markup.close();
    }

    /// Appends files that the user mentioned.
    pub fn files(&mut self, message: Raw) {
        for file in message.get("files").into_iter().flat_map(Raw::items) {
            let path = self.path(file).unwrap_or_default();
            self.markup.open_with(Tag::Tool, "");
            self.head("file", &path, &[]);
            if let Some(reason) = file.get("skippedReason").and_then(decoded) {
                self.markup
                    .words(Tag::Note, &format!("left out: {}", cut(&reason, 100)));
            }
            if let Some(content) = file
                .get("content")
                .and_then(decoded)
                .filter(|text| !text.is_empty())
            {
                let language = Language::of_path(&path);
                self.beginning(&content, |text, m| code::lines(text, 1, language, m));
            }
            if let Some(image) = file.get("image").filter(|image| image.is_object()) {
                self.image(image);
            }
            self.markup.close();
        }
    }
}

fn first_line(text: &str) -> String {
    text.lines().next().unwrap_or_default().to_owned()
}

fn line_of_diff(line: &str) -> (Sign, &str) {
    match line.as_bytes().first() {
        Some(b'+') if !line.starts_with("+++") => (Sign::Added, line),
        Some(b'-') if !line.starts_with("---") => (Sign::Removed, line),
        _ => (Sign::Common, line),
    }
}

/// Returns the old and new texts of an edit, by the names that agents use for them.
fn replacements(arguments: Raw) -> Vec<(String, String)> {
    let pair = |object: Raw| {
        let text = |keys: &[&str]| {
            keys.iter()
                .find_map(|key| object.get(key))
                .and_then(decoded)
        };
        Some((
            text(&["oldText", "old_text", "old_string"])?,
            text(&["newText", "new_text", "new_string"])?,
        ))
    };
    match arguments.get("edits").filter(|edits| edits.is_array()) {
        Some(edits) => edits.items().filter_map(pair).collect(),
        None => pair(arguments).into_iter().collect(),
    }
}

/// Returns the text of a result, and its blocks that are not text.
fn output<'t>(content: Option<Raw<'t>>) -> (String, Vec<Raw<'t>>) {
    let is_text = |block: &Raw| is_block(*block, "text") && block.get("text").is_some();
    let others = content
        .into_iter()
        .flat_map(Raw::items)
        .filter(|block| !is_text(block));
    (
        joined_text(content, "").into_string_lossy(),
        others.collect(),
    )
}
