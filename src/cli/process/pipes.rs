//! Writes to a command and reads from it at the same time.

#[cfg_attr(unix, path = "pipes/unix.rs")]
#[cfg_attr(windows, path = "pipes/windows.rs")]
mod os;

pub use os::{exchange, is_closed, pause};
