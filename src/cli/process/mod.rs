//! Other programs: started in a group of their own, with input and output through pipes, and ended by signals.

pub mod signals;

pub mod groups;
pub mod pipes;

pub mod run;
