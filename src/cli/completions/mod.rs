//! Completion in shells: the candidates for a word, and the scripts that ask for them.

mod candidates;
pub mod words;

pub use candidates::{Candidate, candidates};
