//! Imports sessions of Claude Code and Codex: finds them, and writes what they become.

mod places;
mod run;
mod targets;

pub use self::places::{converted, foreign, found, survey};
pub use self::run::{Done, Importer};
pub use self::targets::{Place, places};
