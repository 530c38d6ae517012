//! Nods: sentences of a request that only praise or go on. They take space in a quotation, and ask
//! for nothing.

use unicode_segmentation::UnicodeSegmentation;

/// The words of requests that only praise or go on: "looks good, next one".
const NOD_WORDS: &str = " ok okay yes yay good great nice fine cool perfect awesome lovely thanks \
    thank you very so much looks works that this is it then now and next one go on ahead continue \
    gut super prima toll danke passt sieht aus ja weiter das nächste bien parfait merci suivant \
    genial gracias sigue ";

/// Whether a request, or a sentence of one, says nothing but [`NOD_WORDS`].
pub(super) fn is_nod(request: &str) -> bool {
    let lower = request.to_lowercase();
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    words.all(|word| word.is_empty() || NOD_WORDS.contains(&format!(" {word} ")))
}

/// Returns a request without the nods that it begins with: "good. now the legend" becomes "now the
/// legend". One that is all nods is returned whole.
pub(super) fn strip_nods(request: &str) -> &str {
    let mut start = 0;
    for sentence in request.split_sentence_bounds() {
        for part in sentence.split_inclusive(". ") {
            if !is_nod(part) {
                return &request[start..];
            }
            start += part.len();
        }
    }
    request
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_is_quoted_from_where_it_asks() {
        for (request, expected) in [
            ("good. now the legend", "now the legend"),
            (
                "Perfect! Thanks. Then the piers: two of them.",
                "Then the piers: two of them.",
            ),
            ("looks good", "looks good"),
            ("ok the second one", "ok the second one"),
        ] {
            assert_eq!(strip_nods(request), expected);
        }
    }
}
