//! Completion in shells: the candidates for a word, and the scripts that ask for them.

mod candidates;
mod entries;
pub mod words;

pub use candidates::candidates;

/// A candidate and its description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    pub value: String,
    pub help: Option<String>,
}

impl Candidate {
    pub fn plain(value: impl Into<String>) -> Candidate {
        Candidate { value: value.into(), help: None }
    }
}
