//! The shell that runs a command, and the group of processes that the command starts.

#[cfg_attr(unix, path = "group/unix.rs")]
#[cfg_attr(windows, path = "group/windows.rs")]
mod os;

pub use os::{Group, command};
