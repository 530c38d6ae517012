//! A command line that clap refused.

use super::is_slip;
use clap::error::{ContextKind, ContextValue, ErrorKind};
use std::ffi::OsString;

/// A refused command line, and clap's reason.
pub(super) struct Refusal<'a> {
    pub error: &'a clap::Error,
    /// The command line. The first argument is the program.
    pub args: &'a [OsString],
    /// The given command; `None` if the command line has none.
    pub command: Option<&'a clap::Command>,
}

impl<'a> Refusal<'a> {
    /// Returns the name of the given command. Without a command, it is empty.
    pub fn command_name(&self) -> &'a str {
        self.command.map_or("", clap::Command::get_name)
    }

    /// Returns the value that the refused argument has, if clap does not accept that value.
    pub fn invalid_value(&self) -> Option<&'a str> {
        if self.error.kind() == ErrorKind::InvalidValue {
            self.context_text(ContextKind::InvalidValue)
        } else {
            None
        }
    }

    /// Returns the option that the command does not have, or the argument that is one too many:
    /// clap reports both in the same way.
    pub fn unknown_argument(&self) -> Option<&'a str> {
        if self.error.kind() == ErrorKind::UnknownArgument {
            self.context_text(ContextKind::InvalidArg)
        } else {
            None
        }
    }

    /// Returns clap's suggestion for a refused option.
    pub fn suggestion(&self) -> Option<&'a str> {
        self.context_text(ContextKind::SuggestedArg)
    }

    /// Returns clap's suggestion if it is so different from the refused option that the user hardly
    /// meant it. The message then leaves the suggestion out.
    pub fn unlikely_suggestion(&self) -> Option<&'a str> {
        let typed = self.context_text(ContextKind::InvalidArg)?;
        let suggestion = self.suggestion()?;
        let is_similar = is_slip(
            typed.trim_start_matches('-'),
            suggestion.trim_start_matches('-'),
        );
        if is_similar { None } else { Some(suggestion) }
    }

    /// Whether clap refuses the option `refused` because another argument is also given.
    ///
    /// clap's error has the refused option as a value of its own. The other argument is only in its
    /// message, in the form of the usage, as in `the argument '--all' cannot be used with
    /// '[SESSION]...'`. `other` is a part of that message.
    pub fn is_conflict(&self, refused: &str, other: &str) -> bool {
        self.error.kind() == ErrorKind::ArgumentConflict
            && self.context_text(ContextKind::InvalidArg) == Some(refused)
            && self.error.to_string().contains(other)
    }

    /// Whether clap refuses two arguments together. Either may be the refused one, as in `the
    /// argument '--branches' cannot be used with '[REF]'`. Both are parts of that message.
    pub fn is_conflict_between(&self, first: &str, second: &str) -> bool {
        if self.error.kind() != ErrorKind::ArgumentConflict {
            return false;
        }
        let message = self.error.to_string();
        message.contains(first) && message.contains(second)
    }

    /// Whether clap reports that a required argument is missing. `argument` has the form of the
    /// usage, such as `<SESSION>`.
    ///
    /// clap's message has each missing argument on a line of its own. `...` follows an argument
    /// that may be repeated:
    ///
    /// ```text
    /// error: the following required arguments were not provided:
    ///   <SESSION>...
    ///   <REF>
    /// ```
    pub fn is_missing(&self, argument: &str) -> bool {
        let message = self.error.to_string();
        let mut lines = message.lines();
        lines.any(|line| line.trim_end_matches("...").trim() == argument)
    }

    /// Whether the command line has this word.
    pub fn has_word(&self, word: &str) -> bool {
        self.args.iter().any(|arg| arg == word)
    }

    /// Returns a text that clap's error has beside its message.
    fn context_text(&self, kind: ContextKind) -> Option<&'a str> {
        match self.error.get(kind) {
            Some(ContextValue::String(text)) => Some(text),
            _ => None,
        }
    }
}
