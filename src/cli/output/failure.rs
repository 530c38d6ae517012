//! The failures of commands, and the table of exit codes.

use crate::format::{escape_json, to_visible};
use pisess_json::write::Object;
use serde::Serialize;
use std::fmt::Display;

/// The result of a command. The variants are ordered from best to worst: the result of a batch is
/// the worst result of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Success, or nothing to do.
    Done,
    /// A negative answer, or something was found.
    Found,
    /// The session is locked, or another process has changed it; this command changed nothing.
    Busy,
    /// A failure; nothing was changed.
    Failed,
    /// The change is written, but a later step failed.
    FailedAfterWrite,
    /// A program that ran in place of pisess ended with this exit code.
    Program(u8),
}

impl Exit {
    /// Returns the exit code of the process. The table is in `--help` and the man pages.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Found => 1,
            Exit::Failed => 2,
            Exit::Busy => 3,
            Exit::FailedAfterWrite => 4,
            Exit::Program(code) => code,
        }
    }

    /// Returns the result of a batch. `self` is the worst result of its parts; `printed` is whether
    /// the results were printed. The worse of the two counts.
    pub fn or_print_failure(self, printed: Result<(), Failure>) -> Result<Exit, Failure> {
        match printed {
            Err(failure) if failure.exit() >= self => Err(failure),
            _ => Ok(self),
        }
    }
}

/// A failure of a command, with its exit code and its message.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    kind: FailureKind,
    error: anyhow::Error,
    pub(crate) path: Option<String>,
    pub(in crate::cli) line: Option<u32>,
    pub(in crate::cli) hint: Option<String>,
    /// Rows to print below the message.
    details: Vec<String>,
    /// Whether another process has changed the session since it was read.
    pub(crate) is_concurrent_change: bool,
    /// Whether the file to read does not exist, or no session has the given name.
    pub(crate) is_missing_file: bool,
}

/// The kind of a failure, which `--json` reports.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum FailureKind {
    Usage,
    Negative,
    /// An argument or input that cannot be used.
    Invalid,
    Reference,
    Session,
    Io,
    /// The session is locked or was changed by another process.
    Busy,
    /// A failure of a command that the user gave, such as a summarizer or a hook.
    Command,
}

impl Failure {
    pub(in crate::cli) fn new(exit: Exit, kind: FailureKind, message: impl Display) -> Self {
        let error = anyhow::anyhow!("{message}");
        Failure {
            exit,
            kind,
            error,
            path: None,
            line: None,
            hint: None,
            details: Vec::new(),
            is_concurrent_change: false,
            is_missing_file: false,
        }
    }

    /// Returns a failure for an argument or input that cannot be used (exit 2).
    pub fn invalid(message: impl Display) -> Self {
        Failure::new(Exit::Failed, FailureKind::Invalid, message)
    }

    /// Returns a failure for an invalid command line (exit 2).
    pub fn usage_error(message: impl Display) -> Self {
        Failure::new(Exit::Failed, FailureKind::Usage, message)
    }

    /// Returns a failure of a command that the user gave, such as a summarizer or a hook (exit 2).
    pub fn command_error(message: impl Display) -> Self {
        Failure::new(Exit::Failed, FailureKind::Command, message)
    }

    /// Returns a negative answer (exit 1).
    pub fn negative(message: impl Display) -> Self {
        Failure::new(Exit::Found, FailureKind::Negative, message)
    }

    /// Returns a failure because another process has locked or changed the session (exit 3).
    pub fn busy(message: impl Display) -> Self {
        Failure::new(Exit::Busy, FailureKind::Busy, message)
    }

    /// Returns the failure for `--json` if standard output has to carry a session.
    pub fn stdout_carries_session() -> Self {
        let failure = Failure::invalid("--json: standard output carries the session");
        failure.with_hint("give a path with -o, or omit --json")
    }

    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Adds rows below the message.
    pub fn with_details(self, details: Vec<String>) -> Self {
        Failure { details, ..self }
    }

    /// Adds the path of the file that the failure concerns.
    pub fn with_path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    pub fn with_line(mut self, line: u32) -> Self {
        self.line = Some(line);
        self
    }

    /// Turns the failure into one of a later step (exit 4). `what` was written before. A closed
    /// pipe on standard output still counts as success.
    pub fn after_writing(self, what: &str) -> Self {
        if self.is_closed_stdout() {
            return self;
        }
        let error = anyhow::anyhow!("{:#}; the change is written: {what}", self.error);
        Failure {
            exit: Exit::FailedAfterWrite,
            error,
            hint: Some("do not repeat the command".to_owned()),
            ..self
        }
    }

    /// Adds `context`, which says what the failure prevented. It precedes the message.
    pub fn with_context(self, context: impl Display) -> Self {
        let error = self.error.context(context.to_string());
        Failure { error, ..self }
    }

    /// Whether the file is not a session, and has the name of a transcript: an extension of pi
    /// records runs of sub-agents in such files. Commands skip those that they find below
    /// directories.
    pub fn is_transcript(&self) -> bool {
        let is_named = self
            .path
            .as_ref()
            .is_some_and(|path| path.ends_with("_transcript.jsonl"));
        self.kind == FailureKind::Session && is_named
    }

    /// Whether the file is not a session.
    pub fn is_not_session(&self) -> bool {
        self.kind == FailureKind::Session
    }

    /// Whether the failure is a closed pipe on standard output.
    pub fn is_closed_stdout(&self) -> bool {
        self.exit == Exit::Done
    }

    /// Returns the message and the hint as one line.
    pub fn to_line(&self) -> String {
        let hint = self
            .hint
            .as_ref()
            .map(|hint| format!(" (hint: {hint})"))
            .unwrap_or_default();
        to_visible(&format!("{:#}{hint}", self.error))
    }

    /// Returns a line for a warning about a file that a search found. If the file is missing, the
    /// hint is omitted: it says to check the path, which the user did not give.
    pub fn to_note(&self) -> String {
        if self.is_missing_file {
            to_visible(&format!("{:#}", self.error))
        } else {
            self.to_line()
        }
    }

    /// Returns the message and the hint as one line, followed by a line for each detail.
    pub fn to_lines(&self) -> String {
        let details = self
            .details
            .iter()
            .map(|detail| format!("\n  {}", to_visible(detail)));
        self.to_line() + &details.collect::<String>()
    }

    /// Returns the failure as a line of JSON.
    pub fn to_json(&self) -> String {
        let details: Vec<_> = self.details.iter().map(|detail| detail.trim()).collect();
        let colon = if details.is_empty() { "" } else { ": " };
        let error = Object::new()
            .json(
                "kind",
                &serde_json::to_vec(&self.kind).expect("a name can be written"),
            )
            .str(
                "message",
                &format!("{:#}{colon}{}", self.error, details.join(", ")),
            )
            .str_or_null("path", self.path.as_deref())
            .number_or_null("line", self.line.map(f64::from))
            .str_or_null("hint", self.hint.as_deref())
            .number("exit", f64::from(self.exit.code()));
        let report = Object::new().json("error", &error.finish()).finish();
        escape_json(&String::from_utf8_lossy(&report))
    }

    pub fn exit(&self) -> Exit {
        self.exit
    }
}
