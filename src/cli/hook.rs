//! `--hook CMD`, or `PISESS_HOOK`: a command that gets one JSON event on standard input, and prints
//! one JSON reply on standard output.
//!
//! Events and replies have the fields of the agents' own: before an operation
//! `session_before_compact`, `session_before_tree`, `session_before_fork` and `context`; after it
//! `session_compact`, `session_tree` and `session_branch`. `ctx` has the data that the agents pass
//! to a handler as its second argument. No output, `null` and `{}` all mean to continue. See
//! `docs/hooks.md`.

use super::open::{Input, OpenSession};
use crate::cli::options;
use crate::cli::output::{Failure, Ui};
use crate::cli::process::run::{CommandNames, HOOK_VARIABLE, ShellCommand};
use crate::ops::summary::Summary;
use crate::session::entry::EntryIx;
use crate::session::read::entry_reader::{ContextMessage, EntryReader};
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
    #[arg(long, value_name = "SECONDS", default_value = "300", value_parser = options::parse_seconds, help_heading = "Hook")]
    pub timeout: Duration,
}

impl HookArgs {
    /// Returns the hook given by the option, else by the environment. `None` if there is neither,
    /// or if the command is empty.
    pub fn hook_command(&self, input: &Input, ui: &Ui) -> Option<ShellCommand> {
        ShellCommand::from_option_or_env(
            &input.name,
            self.hook.as_ref(),
            CommandNames {
                option: "--hook",
                variable: HOOK_VARIABLE,
            },
            self.timeout,
            "--hook 'cat >&2' prints what it receives",
            ui,
        )
    }
}

impl ShellCommand {
    /// Runs the hook before an operation, and returns its reply. Output that is empty or `null` is
    /// an empty reply. If the hook cancels the operation, fails with exit code 1.
    pub fn ask_hook(
        &self,
        event: Object,
        open: &OpenSession,
        ui: &Ui,
    ) -> Result<HookAnswer, Failure> {
        let file = open.input.file();
        let event = HookEvent::from_session(self.clone(), event, open);
        let _waiting = ui.start_spinner("waiting for the hook");
        let output = self.run(event.into_line(file.map(SessionFile::resolved)))?;
        if output.trim_ascii().is_empty() {
            return Ok(HookAnswer::default());
        }
        let answer = Raw::parse(&output).map_err(|_| self.failure("its reply is not JSON"))?;
        if answer.is_null() {
            return Ok(HookAnswer::default());
        }
        if !answer.is_object() {
            return Err(self.failure("its reply is not a JSON object"));
        }
        let cancels = parse_flag(answer, "cancel").map_err(|what| self.failure(&what))?;
        if cancels == Some(true) {
            return Err(Failure::negative(
                "the hook cancelled the operation; nothing was written",
            ));
        }
        parse_answer(answer).map_err(|what| self.failure(&what))
    }
}

/// An event for a hook, with the data that the agents pass to a handler beside it: the id of the
/// session, its directory and its leaf. For an event about a change, these are the values after the
/// change.
#[derive(Clone, Debug)]
pub struct HookEvent {
    pub hook: ShellCommand,
    pub event: Object,
    pub session_id: Text<'static>,
    pub cwd: Option<Text<'static>>,
    pub leaf_id: Option<Text<'static>>,
}

impl HookEvent {
    /// Returns an event about the session as it was read.
    pub fn from_session(hook: ShellCommand, event: Object, open: &OpenSession) -> HookEvent {
        let session = &open.session;
        HookEvent {
            hook,
            event,
            session_id: session.header.id.clone(),
            cwd: session.header.cwd.clone(),
            leaf_id: session.leaf.map(|leaf| session.id(leaf).into_owned()),
        }
    }

    /// Runs the hook after a change, and ignores its output. `file` has the change; `None` if the
    /// change was written to a stream.
    pub fn notify(self, file: Option<&Path>, ui: &Ui) -> Result<(), Failure> {
        let _waiting = ui.start_spinner("waiting for the hook");
        let hook = ShellCommand {
            failure_outcome: "",
            ..self.hook.clone()
        };
        hook.run(self.into_line(file)).map(|_| ())
    }

    /// Returns the line for the hook: the event, with the data about the session in `ctx`.
    fn into_line(self, file: Option<&Path>) -> Vec<u8> {
        let path = file.map(|file| Text::from(file.to_string_lossy().into_owned()));
        let ctx = Object::new()
            .text_or_null("cwd", self.cwd.as_ref())
            .text_or_null("sessionFile", path.as_ref())
            .text("sessionId", &self.session_id)
            .text_or_null("leafId", self.leaf_id.as_ref());
        let mut line = self.event.json("ctx", &ctx.finish()).finish();
        line.push(b'\n');
        line
    }
}

/// Returns entries as a JSON array. Each is as it is stored or, in an older format, as after a
/// migration.
pub fn entries_json(entries: &[EntryIx], reader: &EntryReader) -> io::Result<Vec<u8>> {
    let lines = entries
        .iter()
        .map(|&ix| Ok(reader.read_line(ix)?.trim_ascii().to_vec()));
    Ok(array(lines.collect::<io::Result<Vec<_>>>()?))
}

/// Returns messages as JSON.
pub fn messages_json(messages: &[ContextMessage], reader: &EntryReader) -> io::Result<Vec<u8>> {
    let json = messages
        .iter()
        .map(|message| message.with_json(reader, |json| json.bytes().to_vec()));
    Ok(array(json.collect::<io::Result<Vec<_>>>()?))
}

/// The reply of a hook.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HookAnswer {
    /// The summary. If it has no `details`, it gets the agent's.
    pub summary: Option<Summary>,
    /// The id of the first entry to keep.
    pub first_kept: Option<Text<'static>>,
    /// The size of the context before the compaction. It replaces the computed size.
    pub tokens_before: Option<f64>,
    pub instructions: Option<String>,
    /// Whether `instructions` replace the agent's own; otherwise they are added.
    pub replace_instructions: Option<bool>,
    pub label: Option<Text<'static>>,
    /// The messages that replace those of the context, as JSON.
    pub messages: Option<Vec<u8>>,
}

/// Parses a reply.
///
/// # Errors
/// A description of the problem, for [`ShellCommand::failure`].
fn parse_answer(answer: Raw) -> Result<HookAnswer, String> {
    // In pi, the reply for a compaction is in `compaction`, and the reply for a branch in
    // `summary`.
    let compaction = parse_member(answer, "compaction", object_bytes, "not an object")?;
    let parts = match &compaction {
        Some(compaction) => Raw::from_checked(compaction),
        None => answer,
    };
    Ok(HookAnswer {
        summary: parse_summary(parts)?,
        first_kept: parse_text(parts, "firstKeptEntryId")?,
        tokens_before: parse_member(parts, "tokensBefore", whole_number, "not a whole number")?,
        instructions: parse_text(answer, "customInstructions")?.map(|text| text.to_string()),
        replace_instructions: parse_flag(answer, "replaceInstructions")?,
        label: parse_text(answer, "label")?,
        messages: parse_messages(answer)?,
    })
}

/// Returns the bytes of a JSON object; `None` for any other value.
fn object_bytes(value: Raw) -> Option<Vec<u8>> {
    if value.is_object() {
        Some(value.bytes().to_vec())
    } else {
        None
    }
}

/// Returns the bytes of a JSON array of objects; `None` for any other value.
fn object_list_bytes(value: Raw) -> Option<Vec<u8>> {
    if value.is_array() && value.items().all(Raw::is_object) {
        Some(value.bytes().to_vec())
    } else {
        None
    }
}

/// Returns a number that is an integer of 0 or more; `None` for any other value.
fn whole_number(value: Raw) -> Option<f64> {
    let number = value.number()?;
    let is_whole = number >= 0.0 && number.fract() == 0.0;
    if is_whole { Some(number) } else { None }
}

/// Parses the member `summary` of `parts`. It is either an object, with the text, `usage` and
/// `details`; or the text alone, and then the other two are members of `parts`:
///
/// ```text
/// {"summary":{"summary":"TEXT","details":{…}}}
/// {"summary":"TEXT","details":{…}}
/// ```
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
    let usage = parse_member(container, "usage", object_bytes, "not an object")?;
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

/// Parses the member `messages`, which replaces the context that a model would get. Each message
/// must be an object with a `role`. Nothing else is checked.
fn parse_messages(answer: Raw) -> Result<Option<Vec<u8>>, String> {
    let messages = parse_member(
        answer,
        "messages",
        object_list_bytes,
        "not an array of objects",
    )?;
    let Some(messages) = messages else {
        return Ok(None);
    };

    for message in Raw::from_checked(&messages).items() {
        if message.get_text("role").is_none() {
            return Err("one of its `messages` has no `role`".to_owned());
        }
    }
    Ok(Some(messages))
}

/// Returns the member `key` if it is a string; `None` if it is missing or `null`.
fn parse_text(from: Raw, key: &str) -> Result<Option<Text<'static>>, String> {
    parse_member(
        from,
        key,
        |value| value.text().map(Text::into_owned),
        "not a string",
    )
}

/// Returns the member `key` if it is `true` or `false`; `None` if it is missing or `null`.
fn parse_flag(from: Raw, key: &str) -> Result<Option<bool>, String> {
    parse_member(from, key, |value| value.bool(), "neither true nor false")
}

/// Returns the member `key` of a reply, parsed by `read`; `None` if the member is missing or
/// `null`. If `read` returns `None`, the error is that the member is `what`, for example "not a
/// string".
fn parse_member<'r, T>(
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

    fn answer(json: &str) -> Result<HookAnswer, String> {
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
            let expected = HookAnswer {
                summary: summary.clone(),
                first_kept: Some(Text::from("a")),
                ..HookAnswer::default()
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
