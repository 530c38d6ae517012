//! What clap's error says about a refused command line.

use super::is_slip;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Returns clap's suggestion for an option or a value, if it is so different from what was typed
/// that the user hardly meant it. The caller then leaves it out of the message.
pub(super) fn unlikely_suggestion(error: &clap::Error) -> Option<String> {
    let typed = context_text(error, ContextKind::InvalidArg)?;
    let suggested = context_text(error, ContextKind::SuggestedArg)?;
    let is_similar = is_slip(
        typed.trim_start_matches('-'),
        suggested.trim_start_matches('-'),
    );
    if is_similar {
        None
    } else {
        Some(suggested.to_owned())
    }
}

pub(super) fn context_text(error: &clap::Error, kind: ContextKind) -> Option<&str> {
    match error.get(kind) {
        Some(ContextValue::String(text)) => Some(text),
        _ => None,
    }
}

pub(super) fn unknown_option(error: &clap::Error) -> Option<&str> {
    match (error.kind(), error.get(ContextKind::InvalidArg)) {
        (ErrorKind::UnknownArgument, Some(ContextValue::String(option))) => Some(option),
        _ => None,
    }
}

/// Whether clap refuses the option `refused` because another argument is also given.
///
/// clap's error has the refused option as a value of its own. The other argument is only in its
/// message, in the form of the usage, as in `the argument '--all' cannot be used with
/// '[SESSION]...'`. `other` is a part of that message.
pub(super) fn is_conflict(error: &clap::Error, refused: &str, other: &str) -> bool {
    error.kind() == ErrorKind::ArgumentConflict
        && context_text(error, ContextKind::InvalidArg) == Some(refused)
        && error.to_string().contains(other)
}

/// Whether clap reports that a required argument is missing. `argument` has the form of the usage,
/// such as `<SESSION>`.
///
/// clap's message has each missing argument on a line of its own. `...` follows an argument that
/// may be repeated:
///
/// ```text
/// error: the following required arguments were not provided:
///   <SESSION>...
///   <REF>
/// ```
pub(super) fn is_missing(error: &clap::Error, argument: &str) -> bool {
    let message = error.to_string();
    let mut lines = message.lines();
    lines.any(|line| line.trim_end_matches("...").trim() == argument)
}
