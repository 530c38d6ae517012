//! Writes to a command and reads from it at the same time.

#[cfg_attr(unix, path = "pipes/unix.rs")]
#[cfg_attr(windows, path = "pipes/windows.rs")]
mod os;

pub use os::{exchange, is_closed, pause};

/// The result of an exchange.
pub enum Reply {
    /// The whole output of the command.
    Output(Vec<u8>),
    /// The command printed too much.
    TooMuch,
    /// The command exceeded the time limit.
    TooSlow,
    /// A signal ends pisess.
    Interrupted,
}
