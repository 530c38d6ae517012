//! pisess: a shell toolbox for the session files of the pi coding agents.

pub mod core;
