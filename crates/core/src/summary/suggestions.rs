//! Suggestions: messages with which a user proposes what the assistant then works on: "how about
//! one sheet for each harbour?" They have the form of a question, and decide all the same.

use super::prose::prose_of_user;
use super::turns::Turn;
use unicode_segmentation::UnicodeSegmentation;

/// How a suggestion begins.
const STARTS: [&str; 20] = [
    "how about ",
    "what about ",
    "what if we ",
    "should we ",
    "shouldn't we ",
    "can we ",
    "can't we ",
    "could we ",
    "why don't we ",
    "why not ",
    "maybe we should ",
    "maybe we can ",
    "would it be better ",
    "wie wäre ",
    "sollen wir ",
    "sollten wir ",
    "können wir ",
    "et si on ",
    "on pourrait ",
    "podríamos ",
];

/// Words that may precede it.
const LEADS: [&str; 10] = [
    "and ", "also ", "but ", "hm ", "hmm ", "ok ", "ok, ", "okay ", "so ", "or ",
];

/// How a reply begins that does not take up a suggestion.
const REFUSALS: [&str; 7] = ["no,", "no ", "no.", "not really", "i'd not", "nein", "non,"];

/// Words of the first sentence of such a reply.
const REFUSING_WORDS: [&str; 5] = [
    "advise against",
    "would not",
    "wouldn't",
    "shouldn't",
    "left it as",
];

/// Returns the suggestion with which the request of an ended turn begins, if work followed it and
/// the reply does not refuse it. A message with pasted text, or with a second question, suggests
/// nothing: "why not blue? is there a reason?"
pub(super) fn find_suggestion(turn: &Turn) -> Option<&str> {
    if !turn.is_answered() || turn.call_count == 0 {
        return None;
    }
    let request = turn.request.trim();
    let first_line = request.lines().next()?;
    if !suggests(first_line) || prose_of_user(request).is_empty() {
        return None;
    }
    let has_second_question = request.matches('?').count() > 1;
    let is_suggestion = !has_second_question && !refuses(turn.last_words());
    is_suggestion.then_some(request)
}

/// Whether a reply refuses a suggestion.
fn refuses(reply: &str) -> bool {
    let first_sentence = reply
        .trim_start()
        .unicode_sentences()
        .next()
        .unwrap_or_default();
    let lower = first_sentence.to_lowercase().replace('’', "'");
    REFUSALS.iter().any(|start| lower.starts_with(start))
        || REFUSING_WORDS.iter().any(|words| lower.contains(words))
}

/// Whether a line begins as a suggestion does: "Hm how about", "ok can we".
fn suggests(line: &str) -> bool {
    let lower = line.to_lowercase().replace('’', "'");
    let mut suggestion = lower.trim_start();
    for lead in LEADS {
        suggestion = suggestion.strip_prefix(lead).unwrap_or(suggestion);
    }
    STARTS.iter().any(|start| suggestion.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_refuses_in_its_first_sentence() {
        for reply in [
            "No, the printer cuts it.",
            "I would advise against it: the printer cuts it.",
            "That wouldn’t fit.\nIt is too wide.",
            "Looked at the frame; I left it as it is.",
        ] {
            assert!(refuses(reply), "{reply}");
        }
        for reply in ["Drawn. It would not fit otherwise.", "Now in blue.", ""] {
            assert!(!refuses(reply), "{reply}");
        }
    }

    #[test]
    fn a_suggestion_is_recognized_by_its_start() {
        for message in [
            "how about one sheet for each harbour?",
            "Hm what about blue",
            "also can't we drop the frame?",
            "ok can we draw it in ink?",
            "Sollen wir das Blatt teilen?",
        ] {
            assert!(suggests(message), "{message}");
        }
        for message in ["can you draw it?", "what is it about?", "draw it", ""] {
            assert!(!suggests(message), "{message}");
        }
    }
}
