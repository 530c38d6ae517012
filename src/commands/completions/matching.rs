//! Candidates, and which of them begin with a word.

use clap_complete::engine::CompletionCandidate;

/// Returns a candidate with a description, unless that is empty.
pub fn described(value: &str, help: String) -> CompletionCandidate {
    CompletionCandidate::new(value).help(Some(help).filter(|help| !help.is_empty()).map(Into::into))
}

pub fn copied(candidate: &CompletionCandidate) -> CompletionCandidate {
    CompletionCandidate::new(candidate.get_value()).help(candidate.get_help().cloned())
}

/// Returns those candidates that begin with a word.
pub fn begun(
    word: &str,
    found: impl IntoIterator<Item = CompletionCandidate>,
) -> impl Iterator<Item = CompletionCandidate> {
    let begins = |found: &CompletionCandidate| {
        found
            .get_value()
            .as_encoded_bytes()
            .starts_with(word.as_bytes())
    };
    found.into_iter().filter(begins)
}
