//! Imports sessions of Claude Code and Codex: finds them, and writes what they become.

mod destinations;
mod places;
mod run;

pub use self::destinations::{Destination, destinations};
pub use self::places::{converted, foreign, found, survey};
pub use self::run::{Done, Importer};
