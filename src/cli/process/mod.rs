//! Runs other programs in process groups of their own, with input and output through pipes, and
//! ends them after signals.

#[cfg_attr(unix, path = "signals/unix.rs")]
#[cfg_attr(windows, path = "signals/windows.rs")]
pub mod signals;

#[cfg_attr(unix, path = "groups/unix.rs")]
#[cfg_attr(windows, path = "groups/windows.rs")]
pub mod groups;
#[cfg_attr(unix, path = "pipes/unix.rs")]
#[cfg_attr(windows, path = "pipes/windows.rs")]
pub mod pipes;

pub mod command_line;
pub mod run;
