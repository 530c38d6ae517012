//! The error type and the table of exit codes.

use crate::format::{escape_json, to_visible};
use pisess_json::write::Object;
use serde::Serialize;
use std::fmt::Display;

/// How a command ended, from best to worst: a batch ends as the worst of its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Success, or nothing to do.
    Done,
    /// A negative answer, or something was found.
    Found,
    /// The session is locked or was changed by another process; nothing was changed.
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

    /// Returns how a batch ends whose worst part ended like this, given whether the results were
    /// printed.
    pub fn or_print_failure(self, printed: Result<(), Failure>) -> Result<Exit, Failure> {
        match printed {
            Err(failure) if failure.exit() >= self => Err(failure),
            _ => Ok(self),
        }
    }
}

/// Why a command failed.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    kind: FailureKind,
    error: anyhow::Error,
    pub(crate) path: Option<String>,
    pub(in crate::cli) line: Option<u32>,
    pub(in crate::cli) hint: Option<String>,
    /// Rows below the message.
    details: Vec<String>,
    /// Whether the session was changed since it was read.
    pub(crate) is_concurrent_change: bool,
    /// Whether the file to be read does not exist, or no session has the name that was given.
    pub(crate) is_missing_file: bool,
}

/// The kind of failure, for programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::cli) enum FailureKind {
    Usage,
    Negative,
    /// An argument or input cannot be used.
    Invalid,
    Reference,
    Session,
    Io,
    /// The session is locked or was changed by another process.
    Busy,
    /// A summarizer or a hook failed.
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

    /// Returns a failure for an unusable argument or input (exit 2).
    pub fn invalid(message: impl Display) -> Self {
        Failure::new(Exit::Failed, FailureKind::Invalid, message)
    }

    /// Returns a failure for an invalid command line (exit 2).
    pub fn usage_error(message: impl Display) -> Self {
        Failure::new(Exit::Failed, FailureKind::Usage, message)
    }

    /// Returns a failure of a summarizer or a hook (exit 2).
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

    /// Returns the failure for a report on standard output, which carries a session.
    pub fn stdout_carries_session() -> Self {
        let failure = Failure::invalid("--json: standard output carries the session");
        failure.with_hint("give a path with -o, or omit --json")
    }

    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Returns the failure with rows below its message.
    pub fn with_details(self, details: Vec<String>) -> Self {
        Failure { details, ..self }
    }

    /// Returns the failure with the path of the file it concerns.
    pub fn with_path(mut self, path: impl Into<String>) -> Self {
        self.path = Some(path.into());
        self
    }

    pub fn with_line(mut self, line: u32) -> Self {
        self.line = Some(line);
        self
    }

    /// Returns the failure as that of a later step (exit 4), after `what` was written. A closed
    /// pipe on standard output is still success.
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

    /// Returns the failure as the cause of another one: `context` says what it prevented, and is
    /// printed before it.
    pub fn with_context(self, context: impl Display) -> Self {
        let error = self.error.context(context.to_string());
        Failure { error, ..self }
    }

    /// Whether a file is not a session, but by its name what an extension of pi records about a
    /// sub-agent. A command that finds one below a directory ignores it.
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

    /// Returns the message and the hint on one line.
    pub fn to_line(&self) -> String {
        let hint = self
            .hint
            .as_ref()
            .map(|hint| format!(" (hint: {hint})"))
            .unwrap_or_default();
        to_visible(&format!("{:#}{hint}", self.error))
    }

    /// Returns the line of a note on a file that was found below a directory. If the file is
    /// missing, the hint to check the path is omitted, because the user did not give this path.
    pub fn to_note(&self) -> String {
        if self.is_missing_file {
            to_visible(&format!("{:#}", self.error))
        } else {
            self.to_line()
        }
    }

    /// Returns the message and the hint, and a line for each detail.
    pub fn to_lines(&self) -> String {
        let details = self
            .details
            .iter()
            .map(|detail| format!("\n  {}", to_visible(detail)));
        self.to_line() + &details.collect::<String>()
    }

    /// Returns the failure as JSON, on one line.
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
