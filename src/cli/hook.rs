//! `--hook CMD`, or `PISESS_HOOK`: one JSON event on standard input, one JSON reply on standard
//! output.
//!
//! Events and replies have the fields of the agents' own (`session_before_compact`,
//! `session_before_tree`, `session_before_fork` and `context` before an operation;
//! `session_compact`, `session_tree` and `session_branch` after it). `ctx` contains the data that
//! the agents pass to a handler as its second argument. No output, `null` and `{}` all mean to
//! continue. See `docs/hooks.md`.

use super::open::{Input, OpenSession};
use crate::cli::options;
use crate::cli::output::{Failure, Ui};
use crate::cli::process::run::{HOOK, Shell};
use crate::ops::summary::Summary;
use crate::session::entry::EntryIx;
use crate::session::read::entry_reader::{EntryReader, Message};
use clap::Args;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::{Object, array};
use pisess_store::SessionFile;
use std::io;
use std::path::Path;
use std::time::Duration;

#[derive(Args, Clone, Debug)]
pub struct HookArgs {
    /// Command that receives events as JSON on stdin and may reply; overrides PISESS_HOOK ('' for
    /// no hook)
    #[arg(long, value_name = "CMD", help_heading = "Hook")]
    pub hook: Option<String>,
    /// Time limit for each CMD
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = options::seconds, help_heading = "Hook")]
    pub timeout: Duration,
}

impl HookArgs {
    /// Returns the hook: that of the option, else that of the environment. An empty command is no
    /// hook.
    pub fn hook(&self, input: &Input, ui: &Ui) -> Option<Shell> {
        let (names, hint) = (["--hook", HOOK], "--hook 'cat >&2' prints what it receives");
        Shell::chosen(
            &input.name,
            self.hook.as_ref(),
            names,
            self.timeout,
            hint,
            ui,
        )
    }
}

impl Shell {
    /// Runs a hook before an operation and returns its reply. If the hook cancels, fails with exit
    /// code 1.
    pub fn ask(&self, event: Object, open: &OpenSession, ui: &Ui) -> Result<Answer, Failure> {
        let (file, event) = (open.input.file(), HookEvent::of(self.clone(), event, open));
        let _waiting = ui.spinner("waiting for the hook");
        let output = self.run(event.line(file.map(SessionFile::resolved)))?;
        if output.trim_ascii().is_empty() {
            return Ok(Answer::default());
        }
        let answer = Raw::parse(&output).map_err(|_| self.failed("its reply is not JSON"))?;
        if answer.is_null() {
            return Ok(Answer::default());
        }
        if !answer.is_object() {
            return Err(self.failed("its reply is not a JSON object"));
        }
        if flag(answer, "cancel").map_err(|what| self.failed(&what))? == Some(true) {
            return Err(Failure::no(
                "the hook cancelled the operation; nothing was written",
            ));
        }
        read(answer).map_err(|what| self.failed(&what))
    }
}

/// An event for a hook, and what the agents pass to a handler beside it: the id of the session, its
/// directory and its leaf. If the event notifies of a change, these are those after it.
#[derive(Clone, Debug)]
pub struct HookEvent {
    pub hook: Shell,
    pub event: Object,
    pub id: Text<'static>,
    pub cwd: Option<Text<'static>>,
    pub leaf: Option<Text<'static>>,
}

impl HookEvent {
    /// Returns an event about a session as it was read.
    pub fn of(hook: Shell, event: Object, open: &OpenSession) -> HookEvent {
        let session = &open.session;
        let (id, cwd) = (session.header.id.clone(), session.header.cwd.clone());
        HookEvent {
            hook,
            event,
            id,
            cwd,
            leaf: session.leaf.map(|leaf| session.id(leaf).into_owned()),
        }
    }

    /// Runs the hook and ignores its output. The change is in `file`, unless it was written to a
    /// stream.
    pub fn send(self, file: Option<&Path>, ui: &Ui) -> Result<(), Failure> {
        let _waiting = ui.spinner("waiting for the hook");
        let hook = Shell {
            outcome: "",
            ..self.hook.clone()
        };
        hook.run(self.line(file)).map(|_| ())
    }

    /// Returns the line for the hook: the event, with the data that the agents pass to a handler as
    /// its second argument.
    fn line(self, file: Option<&Path>) -> Vec<u8> {
        let path = file.map(|file| Text::from(file.to_string_lossy().into_owned()));
        let ctx = Object::new()
            .text_or_null("cwd", self.cwd.as_ref())
            .text_or_null("sessionFile", path.as_ref())
            .text("sessionId", &self.id)
            .text_or_null("leafId", self.leaf.as_ref());
        let mut line = self.event.json("ctx", &ctx.finish()).finish();
        line.push(b'\n');
        line
    }
}

/// Returns entries as they are stored, or would be after a migration.
pub fn entries(entries: &[EntryIx], reader: &EntryReader) -> io::Result<Vec<u8>> {
    let lines = entries
        .iter()
        .map(|&ix| Ok(reader.line(ix)?.trim_ascii().to_vec()));
    Ok(array(lines.collect::<io::Result<Vec<_>>>()?))
}

/// Returns messages as JSON.
pub fn messages(messages: &[Message], reader: &EntryReader) -> io::Result<Vec<u8>> {
    let json = messages
        .iter()
        .map(|message| message.with(reader, |json| json.bytes().to_vec()));
    Ok(array(json.collect::<io::Result<Vec<_>>>()?))
}

/// The reply of a hook.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Answer {
    /// A summary without `details` gets those of the agent.
    pub summary: Option<Summary>,
    /// The id of the first entry to keep.
    pub first_kept: Option<Text<'static>>,
    /// The size of the context before the compaction, in place of the computed one.
    pub tokens_before: Option<f64>,
    pub instructions: Option<String>,
    /// Whether the instructions replace the agent's own.
    pub replace_instructions: Option<bool>,
    pub label: Option<Text<'static>>,
    /// The messages to use instead, as JSON.
    pub messages: Option<Vec<u8>>,
}

fn read(answer: Raw) -> Result<Answer, String> {
    // pi expects the reply for a compaction in `compaction`, and that for a branch in `summary`.
    let read_object = |value: Raw<'_>| value.is_object().then(|| value.bytes().to_vec());
    let compaction = member(answer, "compaction", read_object, "not an object")?;
    let parts = compaction.as_deref().map_or(answer, Raw::checked);
    let read_count = |value: Raw<'_>| {
        let count = value.number()?;
        (count >= 0.0 && count.fract() == 0.0).then_some(count)
    };
    Ok(Answer {
        summary: summary(parts)?,
        first_kept: text(parts, "firstKeptEntryId")?,
        tokens_before: member(parts, "tokensBefore", read_count, "not a whole number")?,
        instructions: text(answer, "customInstructions")?.map(|text| text.to_string()),
        replace_instructions: flag(answer, "replaceInstructions")?,
        label: text(answer, "label")?,
        messages: messages_in(answer)?,
    })
}

fn summary(parts: Raw) -> Result<Option<Summary>, String> {
    let Some(summary) = parts.get_some("summary") else {
        return Ok(None);
    };
    let (text, beside) = if summary.is_string() {
        (summary.text(), parts)
    } else {
        (summary.get_text("summary"), summary)
    };
    let text = text.ok_or("its `summary` has no text")?;
    if text.is_blank() {
        return Err("its summary is empty".to_owned());
    }
    let json = |value: Raw| value.bytes().to_vec();
    let usage = member(
        beside,
        "usage",
        |usage| usage.is_object().then(|| json(usage)),
        "not an object",
    )?;
    let details = beside.get_some("details").map(json).unwrap_or_default();
    Ok(Some(Summary {
        text: text.into_owned(),
        details,
        usage,
        from_hook: true,
    }))
}

/// Reads the messages in place of those that would be sent.
fn messages_in(answer: Raw) -> Result<Option<Vec<u8>>, String> {
    let read_objects = |value: Raw<'_>| {
        let is_list = value.is_array() && value.items().all(Raw::is_object);
        is_list.then(|| value.bytes().to_vec())
    };
    let Some(messages) = member(answer, "messages", read_objects, "not an array of objects")?
    else {
        return Ok(None);
    };
    for message in Raw::checked(&messages).items() {
        if message.get_text("role").is_none() {
            return Err("one of its `messages` has no `role`".to_owned());
        }
    }
    Ok(Some(messages))
}

fn text(from: Raw, key: &str) -> Result<Option<Text<'static>>, String> {
    member(
        from,
        key,
        |value| value.text().map(Text::into_owned),
        "not a string",
    )
}

fn flag(from: Raw, key: &str) -> Result<Option<bool>, String> {
    member(from, key, |value| value.bool(), "neither true nor false")
}

/// Returns a member of a reply. If `read` returns nothing, it is `what`, such as "not a string".
fn member<'r, T>(
    from: Raw<'r>,
    key: &str,
    read: impl FnOnce(Raw<'r>) -> Option<T>,
    what: &str,
) -> Result<Option<T>, String> {
    let Some(value) = from.get_some(key) else {
        return Ok(None);
    };
    read(value)
        .map(Some)
        .ok_or_else(|| format!("its `{key}` is {what}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(json: &str) -> Result<Answer, String> {
        read(Raw::parse(json.as_bytes()).unwrap())
    }

    #[test]
    fn answers_of_both_shapes_are_understood() {
        let (details, usage) = (b"[1]".to_vec(), Some(b"{}".to_vec()));
        let summary = Some(Summary {
            text: Text::from("S"),
            details,
            usage,
            from_hook: true,
        });
        for json in [
            r#"{"summary":"S","details":[1],"usage":{},"firstKeptEntryId":"a"}"#,
            r#"{"compaction":{"summary":"S","details":[1],"usage":{},"firstKeptEntryId":"a"}}"#,
            r#"{"summary":{"summary":"S","details":[1],"usage":{}},"firstKeptEntryId":"a","cancel":false}"#,
        ] {
            let expected = Answer {
                summary: summary.clone(),
                first_kept: Some(Text::from("a")),
                ..Answer::default()
            };
            assert_eq!(answer(json), Ok(expected), "{json}");
        }
    }

    #[test]
    fn nonsense_is_an_error() {
        for json in [
            r#"{"summary":5}"#,
            r#"{"summary":" "}"#,
            r#"{"summary":"s","usage":1}"#,
            r#"{"compaction":"s"}"#,
            r#"{"tokensBefore":"many"}"#,
            r#"{"tokensBefore":-1}"#,
            r#"{"tokensBefore":1.5}"#,
            r#"{"messages":[1]}"#,
            r#"{"messages":[{"content":"no role"}]}"#,
            r#"{"label":1}"#,
            r#"{"customInstructions":[]}"#,
            r#"{"replaceInstructions":"yes"}"#,
        ] {
            assert!(answer(json).is_err(), "{json}");
        }
    }
}
