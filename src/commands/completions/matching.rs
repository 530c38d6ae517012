//! Candidates, and which of them begin with a word.

use clap_complete::engine::CompletionCandidate;

/// Returns a candidate, with `help` as its description unless that is empty.
pub fn new_candidate(value: &str, help: String) -> CompletionCandidate {
    let candidate = CompletionCandidate::new(value);
    if help.is_empty() {
        candidate
    } else {
        candidate.help(Some(help.into()))
    }
}

pub fn copy_candidate(candidate: &CompletionCandidate) -> CompletionCandidate {
    CompletionCandidate::new(candidate.get_value()).help(candidate.get_help().cloned())
}

/// Whether a candidate begins with the word before the cursor.
pub fn begins_with(candidate: &CompletionCandidate, word: &str) -> bool {
    let value = candidate.get_value().as_encoded_bytes();
    value.starts_with(word.as_bytes())
}

/// Keeps the candidates that begin with the word before the cursor.
pub fn filter_candidates(
    word: &str,
    candidates: impl IntoIterator<Item = CompletionCandidate>,
) -> Vec<CompletionCandidate> {
    let candidates = candidates.into_iter();
    candidates
        .filter(|candidate| begins_with(candidate, word))
        .collect()
}
