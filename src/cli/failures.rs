//! The failures of a command for the errors of the library.

use super::output::{Exit, Failure, FailureKind};
use crate::load::LoadError;
use pisess_store::{Cause, StoreError, is_closed_pipe, plain};
use std::io;

impl Failure {
    /// Returns a failure to write standard output (exit 2). A closed pipe is success.
    pub fn output(error: io::Error) -> Self {
        let exit = if is_closed_pipe(&error) {
            Exit::Done
        } else {
            Exit::Cannot
        };
        Failure::new(
            exit,
            FailureKind::Io,
            format_args!("cannot write standard output: {}", plain(&error)),
        )
    }

    pub fn reading(name: &str, error: io::Error) -> Self {
        Failure::new(
            Exit::Cannot,
            FailureKind::Io,
            format_args!("cannot read {name}: {}", plain(&error)),
        )
        .path(name)
    }

    /// Returns a failure to copy files out of an archive: that of the store in the error, or else
    /// to read the archive.
    pub fn copying(archive: &str, error: io::Error) -> Self {
        error
            .downcast::<StoreError>()
            .map_or_else(|error| Failure::reading(archive, error), Failure::from)
    }

    /// Returns a failure to load a session: the file is not one, or cannot be read.
    pub fn load(name: &str, error: LoadError) -> Self {
        match error {
            LoadError::NotASession { line, what } => {
                let at = line.map(|line| format!(":{}", line.0)).unwrap_or_default();
                let message = format_args!("{name}{at}: {what}");
                let mut failure =
                    Failure::new(Exit::Cannot, FailureKind::Session, message).path(name);
                failure.line = line.map(|line| line.0);
                failure.hint(what.hint())
            }
            LoadError::Io(error) => Failure::reading(name, error),
            LoadError::TooLarge => {
                Failure::cannot(format_args!("cannot read {name}: {error}")).path(name)
            }
        }
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let (exit, kind) = match () {
            () if error.is_closed_stdout() => (Exit::Done, FailureKind::Io),
            () if error.is_written() => (Exit::Written, FailureKind::Io),
            () if error.is_busy() => (Exit::Busy, FailureKind::Busy),
            () => (Exit::Cannot, FailureKind::Io),
        };
        // Only the message is kept: it contains that of its cause, which a chain of errors would
        // repeat.
        let mut failure = Failure::new(exit, kind, &error);
        failure.path = Some(error.path.to_string_lossy().into_owned());
        failure.hint = error.hint().map(str::to_owned);
        failure.is_change = matches!(error.cause, Cause::Changed(_));
        failure.is_missing = error.doing == "read" && error.kind() == Some(io::ErrorKind::NotFound);
        failure
    }
}
