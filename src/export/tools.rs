//! Tool calls for people: a command with its output, a file with its lines, an edit as a diff.
//!
//! A call and its result are two entries. Both are drawn at the result, and the call links there; a call
//! without a result is drawn in its own place.

use super::code::{self, Language, Line};
use super::markup::{Markup, Tag};
use super::source::{Source, cut, decoded};
use super::view_parts::EntryView;
use crate::session::entry::EntryIx;
use crate::session::outcome::Outcome;
use crate::session::paths::below;
use pisess_json::Raw;
use similar::{ChangeTag, TextDiff};
use std::io;

/// The maximum number of characters of a subject in a head line.
const SUBJECT: usize = 400;

/// The length in bytes above which texts are not compared but shown one after the other.
const LONGEST_COMPARED: usize = 512 * 1024;

/// Appends a call in the message that made it.
pub fn call(article: &mut EntryView, source: &Source, ix: EntryIx, block: Raw) {
    let name = block.get("name").and_then(decoded).unwrap_or_default();
    let arguments = block.get("arguments").unwrap_or(Raw::NULL);
    let result = block.get_text("id").and_then(|id| source.result(id.as_bytes(), ix));
    match result.and_then(|result| source.number(result)) {
        Some(result) => article.markup.element_with(Tag::Call, &result.to_string(), |m| {
            m.words(Tag::Name, &cut(&name, 80));
            m.words(Tag::Subject, &cut(&subject(source, &name, arguments), SUBJECT));
        }),
        None => article.markup.element_with(Tag::Tool, "open", |m| {
            // A filter may have left out the result.
            let marks: &[_] = if source.cuts.filter.is_some() { &[] } else { &[(Tag::Mark, "no result")] };
            head(m, source, &name, arguments, marks);
            work(m, source, &name, arguments, Raw::NULL);
        }),
    }
}

/// Appends a result with the call it answers.
pub fn result(article: &mut EntryView, source: &Source, ix: EntryIx, message: Raw) -> io::Result<()> {
    let id = message.get_text("toolCallId").unwrap_or_default();
    article.failed = message.get("isError").is_some_and(Raw::is_truthy);
    source.with_call(id.as_bytes(), ix, &mut |call| {
        let name = message.get("toolName").or(call.get("name")).and_then(decoded);
        let name = name.unwrap_or("tool".into());
        let arguments = call.get("arguments").unwrap_or(Raw::NULL);
        let details = message.get("details").unwrap_or(Raw::NULL);
        answered(article, source, &name, arguments, details, message);
    })
}

fn answered(
    article: &mut EntryView,
    source: &Source,
    name: &str,
    arguments: Raw,
    details: Raw,
    message: Raw,
) {
    let (text, others) = output(message.get("content"));
    let failed = article.failed;
    let outcome = Outcome::of(message, &text);
    let exit = outcome.exit_code().map(|code| format!("exit {code}"));
    let mut marks = Vec::new();
    if failed {
        marks.push((Tag::BadMark, exit.as_deref().unwrap_or("failed")));
    }
    if message.get("prunedAt").is_some() {
        marks.push((Tag::Mark, "shortened by the agent"));
    }
    article.markup.open_with(Tag::Tool, if failed { "failed" } else { "" });
    head(&mut article.markup, source, name, arguments, &marks);
    let is_work = work(&mut article.markup, source, name, arguments, details);
    let path = path(source, arguments);
    match name {
        _ if text.trim().is_empty() && others.is_empty() && !is_work => {
            article.markup.words(Tag::Note, "no output");
        }
        _ if text.trim().is_empty() => {}
        "read" if !failed => {
            let first = arguments.get("offset").and_then(Raw::index).unwrap_or(1).max(1);
            let language = path.as_deref().and_then(Language::of_path);
            beginning(&text, source.cuts.lines, &mut article.markup, |text, m| {
                code::lines(text, first as u64, language, m);
            });
        }
        // The diff shows the change, so the first line of the output suffices.
        "edit" | "write" if !failed && is_work => {
            let first = text.trim().lines().next().unwrap_or_default();
            article.markup.words(Tag::Note, &cut(first, 300));
        }
        "bash" => end(&text, source.cuts.lines, &mut article.markup),
        _ => beginning(&text, source.cuts.lines, &mut article.markup, code::output),
    }
    nested(&mut article.markup, source, message);
    for block in others {
        if block.get("type").is_some_and(|kind| kind.is("image")) {
            article.image(block);
        } else {
            article.json("other content", block);
        }
    }
    article.markup.close();
}

/// Appends the calls that a tool made itself, folded.
fn nested(markup: &mut Markup, source: &Source, message: Raw) {
    let calls = message.get("nestedCalls").and_then(|nested| nested.get("calls"));
    let calls: Vec<Raw> = calls.into_iter().flat_map(Raw::items).collect();
    if calls.is_empty() {
        return;
    }
    markup.element(Tag::Fold, |m| {
        m.words(
            Tag::Summary,
            &if calls.len() == 1 { "1 call".to_owned() } else { format!("{} calls", calls.len()) },
        );
        m.section(|m| {
            for call in calls {
                let name = call.get("name").and_then(decoded).unwrap_or_default();
                let failed = call.get("isError").is_some_and(Raw::is_truthy);
                let marks: &[(Tag, &str)] = if failed { &[(Tag::BadMark, "failed")] } else { &[] };
                let arguments = call.get("arguments").unwrap_or(Raw::NULL);
                head(m, source, &name, arguments, marks);
                m.divide(usize::MAX, 200);
            }
        });
    });
}

/// Appends the head line of a tool.
fn head(markup: &mut Markup, source: &Source, name: &str, arguments: Raw, marks: &[(Tag, &str)]) {
    markup.element(Tag::ToolHead, |m| {
        m.words(Tag::Name, &cut(name, 80));
        let subject = subject(source, name, arguments);
        if !subject.is_empty() {
            m.words(Tag::Subject, &cut(&subject, SUBJECT));
        }
        marks.iter().for_each(|(tag, mark)| m.words(*tag, mark));
    });
}

/// Returns the subject of a call, on one line.
fn subject(source: &Source, name: &str, arguments: Raw) -> String {
    let text = |key: &str| arguments.get(key).and_then(decoded);
    let subject = match name {
        "bash" => text("command").map(|command| command.lines().next().unwrap_or_default().to_owned()),
        "read" => path(source, arguments).map(|path| {
            let number = |key: &str| arguments.get(key).and_then(Raw::index);
            match (number("offset"), number("limit")) {
                (None, None) => path,
                (from, None) => format!("{path}:{}", from.unwrap_or(1)),
                (from, Some(count)) => {
                    let from = from.unwrap_or(1);
                    format!("{path}:{from}-{}", (from + count).saturating_sub(1))
                }
            }
        }),
        "grep" => {
            let place = path(source, arguments).unwrap_or(".".to_owned());
            text("pattern").map(|pattern| format!("/{pattern}/ in {place}"))
        }
        "find" | "glob" => {
            let place = path(source, arguments).map(|path| format!(" in {path}")).unwrap_or_default();
            text("pattern").map(|pattern| format!("{pattern}{place}"))
        }
        _ => path(source, arguments),
    };
    subject.unwrap_or_else(|| {
        // The first string: usually the subject.
        let first = arguments.members().find_map(|(_, value)| decoded(value));
        first.map(|text| text.lines().next().unwrap_or_default().to_owned()).unwrap_or_default()
    })
}

fn path(source: &Source, arguments: Raw) -> Option<String> {
    let path = ["path", "file_path", "filePath", "file"].iter().find_map(|key| arguments.get(key));
    let path = path.and_then(decoded)?;
    Some(relative(&path, source.session.header.cwd.as_ref().map(|cwd| cwd.to_string_lossy()).as_deref()))
}

/// Returns the path relative to the session's directory.
fn relative(path: &str, cwd: Option<&str>) -> String {
    match cwd.and_then(|cwd| below(path.as_bytes(), cwd.as_bytes())) {
        Some(rest) if !rest.is_empty() => path[path.len() - rest.len()..].to_owned(),
        _ => path.to_owned(),
    }
}

/// Appends what the head line does not show of a call. Returns whether it shows a change to a file.
fn work(markup: &mut Markup, source: &Source, name: &str, arguments: Raw, details: Raw) -> bool {
    let text = |key: &str| arguments.get(key).and_then(decoded);
    match name {
        "bash" => {
            let command = text("command").unwrap_or_default();
            if command.trim_end().contains('\n') || command.chars().count() > SUBJECT {
                code::block(&command, "sh", Language::named("sh"), markup);
            }
            return false;
        }
        "read" | "ls" | "grep" | "find" | "glob" => return false,
        "write" => {
            if let Some(content) = text("content") {
                let language = path(source, arguments).and_then(|path| Language::of_path(&path));
                beginning(&content, source.cuts.lines, markup, |text, m| code::lines(text, 1, language, m));
                return true;
            }
        }
        _ => {}
    }
    // Some agents store only the headers of the hunks.
    let changes = |diff: &str| diff.lines().any(|line| line_of_diff(line).0 != Line::Both);
    let diff = details.get("diff").and_then(decoded).filter(|diff| changes(diff));
    if let Some(diff) = diff {
        changes_of(diff.lines().map(line_of_diff).collect(), source.cuts.lines, markup);
        return true;
    }
    let pairs = replacements(arguments);
    if !pairs.is_empty() {
        pairs.iter().for_each(|(old, new)| compared(old, new, source.cuts.lines, markup));
        return true;
    }
    if arguments.is_object() && arguments.members().nth(1).is_some() {
        let shown = pisess_json::pretty::pretty(arguments);
        let shown = String::from_utf8_lossy(&shown).into_owned();
        markup.element_with(Tag::Fold, "data", |m| {
            m.words(Tag::Summary, "arguments");
            m.section(|m| code::block(&shown, "json", Language::named("json"), m));
        });
    }
    false
}

fn line_of_diff(line: &str) -> (Line, &str) {
    match line.as_bytes().first() {
        Some(b'+') if !line.starts_with("+++") => (Line::Added, line),
        Some(b'-') if !line.starts_with("---") => (Line::Removed, line),
        _ => (Line::Both, line),
    }
}

/// Returns the old and new texts of an edit, by the names that agents use for them.
fn replacements(arguments: Raw) -> Vec<(String, String)> {
    let pair = |object: Raw| {
        let text = |keys: &[&str]| keys.iter().find_map(|key| object.get(key)).and_then(decoded);
        Some((text(&["oldText", "old_text", "old_string"])?, text(&["newText", "new_text", "new_string"])?))
    };
    match arguments.get("edits").filter(|edits| edits.is_array()) {
        Some(edits) => edits.items().filter_map(pair).collect(),
        None => pair(arguments).into_iter().collect(),
    }
}

fn compared(old: &str, new: &str, most: Option<usize>, markup: &mut Markup) {
    if old.len() + new.len() > LONGEST_COMPARED {
        let lines = old.lines().map(|line| (Line::Removed, line));
        return changes_of(lines.chain(new.lines().map(|line| (Line::Added, line))).collect(), most, markup);
    }
    let diff = TextDiff::from_lines(old, new);
    let marked: Vec<(Line, String)> = diff
        .iter_all_changes()
        .map(|change| {
            let (line, sign) = match change.tag() {
                ChangeTag::Equal => (Line::Both, ' '),
                ChangeTag::Insert => (Line::Added, '+'),
                ChangeTag::Delete => (Line::Removed, '-'),
            };
            (line, format!("{sign}{}", change.value().trim_end_matches(['\n', '\r'])))
        })
        .collect();
    changes_of(marked.iter().map(|(line, text)| (*line, text.as_str())).collect(), most, markup);
}

/// Appends the first `most` lines of a diff.
fn changes_of(mut lines: Vec<(Line, &str)>, most: Option<usize>, markup: &mut Markup) {
    let all = lines.len();
    lines.truncate(most.unwrap_or(all));
    if !lines.is_empty() {
        code::diff(lines.iter().copied(), markup);
    }
    omitted(all - lines.len(), if lines.is_empty() { "" } else { "more " }, markup);
}

/// Appends the first `most` lines of a text by `write`.
fn beginning(text: &str, most: Option<usize>, markup: &mut Markup, write: impl FnOnce(&str, &mut Markup)) {
    let all = text.lines().count();
    let shown = all.min(most.unwrap_or(all));
    let kept: usize = text.split_inclusive('\n').take(shown).map(str::len).sum();
    if shown > 0 {
        write(&text[..kept], markup);
    }
    omitted(all - shown, if shown == 0 { "" } else { "more " }, markup);
}

/// Appends the last `most` lines of what a command printed: its result is there.
fn end(text: &str, most: Option<usize>, markup: &mut Markup) {
    let all = text.lines().count();
    let shown = all.min(most.unwrap_or(all));
    omitted(all - shown, if shown == 0 { "" } else { "earlier " }, markup);
    let left: usize = text.split_inclusive('\n').take(all - shown).map(str::len).sum();
    if shown > 0 {
        code::output(&text[left..], markup);
    }
}

/// Appends how many lines are left out, if any.
fn omitted(lines: usize, which: &str, markup: &mut Markup) {
    match lines {
        0 => {}
        1 => markup.words(Tag::Note, &format!("1 {which}line")),
        _ => markup.words(Tag::Note, &format!("{lines} {which}lines")),
    }
}

/// Returns the text of a result, and its blocks that are not text.
fn output<'t>(content: Option<Raw<'t>>) -> (String, Vec<Raw<'t>>) {
    let Some(content) = content else { return Default::default() };
    if let Some(text) = decoded(content) {
        return (text, Vec::new());
    }
    let (mut all, mut others) = (String::new(), Vec::new());
    for block in content.items() {
        match block.get("text").filter(|_| block.get("type").is_some_and(|kind| kind.is("text"))) {
            Some(text) => all += &decoded(text).unwrap_or_default(),
            None => others.push(block),
        }
    }
    (all, others)
}

/// Appends a command or code that the user ran.
pub fn execution(article: &mut EntryView, source: &Source, message: Raw) {
    let text = |key: &str| message.get(key).and_then(decoded).unwrap_or_default();
    let (name, language, ran) = if message.get("command").is_some() {
        ("bash", "sh", text("command"))
    } else {
        ("python", "py", text("code"))
    };
    let outcome = Outcome::of(message, "");
    article.failed = outcome != Outcome::Passed;
    let exit = outcome.exit_code().map(|code| format!("exit {code}"));
    let mark = if outcome == Outcome::Stopped { Some("cancelled") } else { exit.as_deref() };
    article.markup.open_with(Tag::Tool, if article.failed { "failed" } else { "" });
    article.markup.element(Tag::ToolHead, |m| {
        m.words(Tag::Name, name);
        m.words(Tag::Subject, &cut(ran.lines().next().unwrap_or_default(), SUBJECT));
        mark.iter().for_each(|mark| m.words(Tag::BadMark, mark));
        if message.get("excludeFromContext").is_some_and(Raw::is_truthy) {
            m.words(Tag::Mark, "not sent to the model");
        }
        if message.get("truncated").is_some_and(Raw::is_truthy) {
            m.words(Tag::Mark, "output shortened");
        }
    });
    if ran.trim_end().contains('\n') {
        code::block(&ran, language, Language::named(language), &mut article.markup);
    }
    match text("output") {
        output if output.trim().is_empty() => article.markup.words(Tag::Note, "no output"),
        output => end(&output, source.cuts.lines, &mut article.markup),
    }
    article.markup.close();
}

/// Appends files that the user mentioned.
pub fn files(article: &mut EntryView, source: &Source, message: Raw) {
    for file in message.get("files").into_iter().flat_map(Raw::items) {
        let path = path(source, file).unwrap_or_default();
        article.markup.open_with(Tag::Tool, "");
        article.markup.element(Tag::ToolHead, |m| {
            m.words(Tag::Name, "file");
            m.words(Tag::Subject, &cut(&path, SUBJECT));
        });
        if let Some(reason) = file.get("skippedReason").and_then(decoded) {
            article.markup.words(Tag::Note, &format!("left out: {}", cut(&reason, 100)));
        }
        if let Some(content) = file.get("content").and_then(decoded).filter(|text| !text.is_empty()) {
            let language = Language::of_path(&path);
            beginning(&content, source.cuts.lines, &mut article.markup, |text, m| {
                code::lines(text, 1, language, m)
            });
        }
        if let Some(image) = file.get("image").filter(|image| image.is_object()) {
            article.image(image);
        }
        article.markup.close();
    }
}
