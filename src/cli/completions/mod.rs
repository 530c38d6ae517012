//! Completion in shells: the candidates for a word, and the scripts that ask for them.

mod candidate;
mod candidates;
mod entries;
pub mod words;

pub use candidate::Candidate;
pub use candidates::candidates;
