//! Converts errors of the library into failures of a command.

use super::output::{Exit, Failure, FailureKind};
use crate::load::LoadError;
use pisess_store::{Action, Cause, StoreError, is_closed_pipe, plain};
use std::io;

impl Failure {
    /// Returns the failure to write standard output (exit 2). A closed pipe counts as success.
    pub fn from_stdout_error(error: io::Error) -> Self {
        let exit = if is_closed_pipe(&error) {
            Exit::Done
        } else {
            Exit::Failed
        };
        Failure::new(
            exit,
            FailureKind::Io,
            format_args!("cannot write standard output: {}", plain(&error)),
        )
    }

    /// Returns the failure to read something. An error of the store keeps its own failure.
    pub fn from_read_error(name: &str, error: io::Error) -> Self {
        let error = match error.downcast::<StoreError>() {
            Ok(error) => return Failure::from(error),
            Err(error) => error,
        };
        Failure::new(
            Exit::Failed,
            FailureKind::Io,
            format_args!("cannot read {name}: {}", plain(&error)),
        )
        .with_path(name)
    }

    /// Returns the failure to load a session: the file is not a session, or it cannot be read.
    pub fn from_load_error(name: &str, error: LoadError) -> Self {
        match error {
            LoadError::NotASession { line, what } => {
                let at = line.map(|line| format!(":{}", line.0)).unwrap_or_default();
                let message = format_args!("{name}{at}: {what}");
                let mut failure =
                    Failure::new(Exit::Failed, FailureKind::Session, message).with_path(name);
                failure.line = line.map(|line| line.0);
                failure.with_hint(what.hint())
            }
            LoadError::Io(error) => Failure::from_read_error(name, error),
            LoadError::TooLarge => {
                Failure::invalid(format_args!("cannot read {name}: {error}")).with_path(name)
            }
        }
    }
}

impl From<StoreError> for Failure {
    /// Returns the failure of a write or a read. Exit code 4 means that the change is written, and
    /// that only a later step failed.
    fn from(error: StoreError) -> Self {
        let (exit, kind) = if error.is_closed_stdout() {
            (Exit::Done, FailureKind::Io)
        } else if error.is_written() {
            (Exit::FailedAfterWrite, FailureKind::Io)
        } else if error.is_busy() {
            (Exit::Busy, FailureKind::Busy)
        } else {
            (Exit::Failed, FailureKind::Io)
        };
        // Only the message is kept. It already contains the message of the cause, which a chain of
        // errors would repeat.
        let mut failure = Failure::new(exit, kind, &error);
        failure.path = Some(error.path.to_string_lossy().into_owned());
        failure.hint = error.hint().map(str::to_owned);
        failure.is_concurrent_change = matches!(error.cause, Cause::Changed(_));
        failure.is_missing_file =
            error.action == Action::Read && error.kind() == Some(io::ErrorKind::NotFound);
        failure
    }
}
