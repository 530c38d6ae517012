//! Completion in shells: the candidates for a word, and the scripts that ask for them.

mod candidates;
mod entries;
pub mod words;

pub use candidates::candidates;

/// A candidate and its description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The word.
    pub value: String,
    /// Its description.
    pub help: Option<String>,
}

impl Candidate {
    /// Returns a candidate without a description.
    pub fn plain(value: impl Into<String>) -> Candidate {
        Candidate { value: value.into(), help: None }
    }
}
