//! Imports sessions of Claude Code and Codex: finds them, and writes what they become.

mod places;
mod run;

pub use self::places::{foreign, found};
pub use self::run::{Done, Importer, Place, Surveyed, converted, places, survey};
