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
        Shell::chosen(
            &input.name,
            self.hook.as_ref(),
            ["--hook", HOOK],
            self.timeout,
            "--hook 'cat >&2' prints what it receives",
            ui,
        )
    }
}

impl Shell {
    /// Runs a hook before an operation and returns its reply; an output that is empty or `null` is
    /// an empty reply. If the hook cancels, fails with exit code 1.
    pub fn ask(&self, event: Object, open: &OpenSession, ui: &Ui) -> Result<Answer, Failure> {
        let file = open.input.file();
        let event = HookEvent::of(self.clone(), event, open);
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
        let cancels = flag(answer, "cancel").map_err(|what| self.failed(&what))?;
        if cancels == Some(true) {
            return Err(Failure::no(
                "the hook cancelled the operation; nothing was written",
            ));
        }
        parse_answer(answer).map_err(|what| self.failed(&what))
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
        HookEvent {
            hook,
            event,
            id: session.header.id.clone(),
            cwd: session.header.cwd.clone(),
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

/// Reads a reply.
///
/// # Errors
/// What is wrong with it, for [`Shell::failed`].
fn parse_answer(answer: Raw) -> Result<Answer, String> {
    // pi expects the reply for a compaction in `compaction`, and that for a branch in `summary`.
    let compaction = member(answer, "compaction", object_bytes, "not an object")?;
    let parts = match &compaction {
        Some(compaction) => Raw::checked(compaction),
        None => answer,
    };
    Ok(Answer {
        summary: parse_summary(parts)?,
        first_kept: text(parts, "firstKeptEntryId")?,
        tokens_before: member(parts, "tokensBefore", whole_number, "not a whole number")?,
        instructions: text(answer, "customInstructions")?.map(|text| text.to_string()),
        replace_instructions: flag(answer, "replaceInstructions")?,
        label: text(answer, "label")?,
        messages: messages_in(answer)?,
    })
}

/// Returns the bytes of a value if it is an object.
fn object_bytes(value: Raw) -> Option<Vec<u8>> {
    value.is_object().then(|| value.bytes().to_vec())
}

/// Returns a number if it is an integer of 0 or more.
fn whole_number(value: Raw) -> Option<f64> {
    let number = value.number()?;
    let is_whole = number >= 0.0 && number.fract() == 0.0;
    is_whole.then_some(number)
}

/// Reads the member `summary`: either an object that contains the text with its `usage` and
/// `details`, or the text alone, beside which these are members of `parts`.
fn parse_summary(parts: Raw) -> Result<Option<Summary>, String> {
    let Some(summary) = parts.get_some("summary") else {
        return Ok(None);
    };
    let (text, container) = if summary.is_string() {
        (summary.text(), parts)
    } else {
        (summary.get_text("summary"), summary)
    };
    let text = text.ok_or("its `summary` has no text")?;
    if text.is_blank() {
        return Err("its summary is empty".to_owned());
    }
    let usage = member(container, "usage", object_bytes, "not an object")?;
    let details = match container.get_some("details") {
        Some(details) => details.bytes().to_vec(),
        None => Vec::new(),
    };
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

/// Returns a member of a reply, as `read` reads it; `None` if it is missing or `null`. If `read`
/// returns `None`, the error is that the member is `what`, such as "not a string".
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
        parse_answer(Raw::parse(json.as_bytes()).unwrap())
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
