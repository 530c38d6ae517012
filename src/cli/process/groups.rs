//! The shell that runs a command, and the group of processes that the command starts.

#[cfg_attr(unix, path = "groups/unix.rs")]
#[cfg_attr(windows, path = "groups/windows.rs")]
mod os;

pub use os::{Group, command};
