//! A candidate of a completion.

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
