//! Signals that end pisess while it waits for a command: the command is terminated first.
//!
//! A command runs in its own process group, so that all of it can be terminated at once; Ctrl-C in the
//! terminal does not reach it. At all other times the default actions apply.

#[cfg_attr(unix, path = "signals/unix.rs")]
#[cfg_attr(windows, path = "signals/windows.rs")]
mod os;

pub use os::Waiting;
