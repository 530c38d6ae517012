//! One error type, one exit-code table, one printer.

use super::visible::visible;
use crate::cli::Talk;
use crate::core::load::{LoadError, WrongFile};
use crate::core::reference::ReferenceError;
use crate::core::store::{Plain, StoreError};
use crate::world::World;
use std::fmt::Display;
use std::io;

/// How a command ended. The table is told in `--help` and the man pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Done, or already so.
    Done,
    /// The answer is no, or something was found.
    Found,
    /// Another process is in the way.
    Busy,
    /// It cannot be done.
    Cannot,
}

impl Exit {
    /// The process's exit code. The order of the variants is the order of a batch: the worst wins.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Found => 1,
            Exit::Cannot => 2,
            Exit::Busy => 3,
        }
    }
}

/// Why a command could not do its work.
#[derive(Debug)]
pub struct Failure {
    exit: Exit,
    error: anyhow::Error,
    hint: Option<String>,
}

impl Failure {
    /// It cannot be done (exit 2).
    pub fn cannot(message: impl Display) -> Self {
        Failure { exit: Exit::Cannot, error: anyhow::anyhow!("{message}"), hint: None }
    }

    /// The answer is no (exit 1).
    pub fn no(message: impl Display) -> Self {
        Failure { exit: Exit::Found, ..Self::cannot(message) }
    }

    /// Another process is in the way (exit 3).
    pub fn busy(message: impl Display) -> Self {
        Failure { exit: Exit::Busy, ..Self::cannot(message) }
    }

    /// Standard output cannot be written. A reader that went away is success.
    pub fn output(error: io::Error) -> Self {
        let exit = if error.kind() == io::ErrorKind::BrokenPipe { Exit::Done } else { Exit::Cannot };
        Failure { exit, error: anyhow::anyhow!("write standard output: {}", Plain(&error)), hint: None }
    }

    /// Reading a session failed.
    pub fn reading(name: &str, error: io::Error) -> Self {
        Failure::cannot(format_args!("read {name}: {}", Plain(&error)))
    }

    /// A file is no session, or cannot be read.
    pub fn load(name: &str, error: LoadError) -> Self {
        match error {
            LoadError::NotASession { line, what } => {
                let at = line.map(|line| format!(":{}", line.0)).unwrap_or_default();
                Failure::cannot(format_args!("{name}{at}: {what}")).hint(what.hint())
            }
            LoadError::Io(error) => Failure::reading(name, error),
            LoadError::TooLarge => Failure::cannot(format_args!("read {name}: {error}")),
        }
    }

    /// A reference names nothing.
    pub fn reference(name: &str, error: &ReferenceError) -> Self {
        Failure::cannot(format_args!("{name}: {error}")).hint(error.hint())
    }

    /// With what the person may try.
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// Whether standard output's reader went away.
    fn is_silent(&self) -> bool {
        self.exit == Exit::Done
    }

    /// The message and the hint on one line.
    pub fn line(&self) -> String {
        let hint = self.hint.as_ref().map(|hint| format!(" (hint: {hint})")).unwrap_or_default();
        visible(&format!("{:#}{hint}", self.error))
    }

    /// The exit it leads to.
    pub fn exit(&self) -> Exit {
        self.exit
    }

    /// Tells it on standard error.
    pub fn report(&self, world: &mut World) -> Exit {
        if !self.is_silent() {
            // There is no one left to tell when this fails.
            let _ = writeln!(world.stderr, "pisess: {}", self.line());
        }
        self.exit
    }
}

/// A note on standard error, unless talk is not wanted: it was done all the same.
pub fn note(what: &str, talk: &Talk, world: &mut World) {
    if !talk.quiet {
        let _ = writeln!(world.stderr, "pisess: note: {}", visible(what));
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let exit = match () {
            () if error.is_broken_pipe() => Exit::Done,
            () if error.is_busy() => Exit::Busy,
            () => Exit::Cannot,
        };
        let hint = error.hint().map(str::to_owned);
        // The message says what the system said; as the cause it would be said twice.
        Failure { exit, error: anyhow::anyhow!("{error}"), hint }
    }
}

impl From<WrongFile> for Failure {
    fn from(what: WrongFile) -> Self {
        Failure::cannot(&what).hint(what.hint())
    }
}
