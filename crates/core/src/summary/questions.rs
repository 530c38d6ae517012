//! Questions, offers and answers, recognized by their words and question marks.

use super::prose::{ends_in_question, is_asking, split_at_full_stops};
use super::words::compile_expression;
use regex::Regex;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// The words with which a message answers a question. `ne`, the German "nope", begins sentences in
/// French: "ne touche pas aux cartes".
const ANSWERS: &str = r"(?ix)^\W*((hm+|oh|ah|ach|well|na)\W+)?((yes|yep|yeah|no|nope|ok|okay|sure
      |go|do|please|both|neither|none|all|ja|nein|nö|nee|oui|non|s[ií]|não|да|нет|是|不|好|对|可以|はい|いいえ
      |네|아니|نعم|لا)([^\p{L}]|$)|ne\s*([,.!]|$))";

/// The words with which a message asks, with or without a question mark.
const QUESTION_WORDS: &str = r"(?ix)^\W*((so|and|but|ok|hm+|und|et),?\ )?(
    what|what[’']?s|why|how|how[’']?s|which|who|(can|could|should|shall)(n?[’']?t)?\ (we|you|i)
      |is\ (it|there)|are\ there
    |was|wie|warum|wieso|welche\w*|wer|kann(st)?\ (man|du|ich)|können\ wir|pourquoi|comment|combien
      |quel\w*|est-ce)(\W|$)";

/// The words with which a sentence offers to do something, or names what could be done.
const OFFERS: &str = r"(?ix)(^|\W)(
    (i|we|you)\ (can|could|would) | (i|we)[’']d | (would|could)\ be | either
    | (ich|wir)\ (kann|könnte|würde|können|könnten|würden) | (man|du|sie)\ (kann|kannst|könnte)
    | (je|tu|on)\ (peux|peut|pourrais|pourrait) | (puedo|podría|podemos|posso|potrei))(\W|$)";

/// The words between two alternatives.
const ALTERNATIVES: &str =
    r"(?i)\W(or|oder|ou( bien)?|o|или|или же)\W|还是|或者|または|それとも|또는";

/// How a sentence proposes, the clearest way last.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum ProposalKind {
    /// A statement: advice if it answers the user's own question. Otherwise only an answer to a
    /// tool, whose question may have this form, decides on it.
    Statement,
    /// What could be done; or two ways, without the words of an offer.
    Offer,
    /// Two ways, with the words of an offer.
    Choice,
    Question,
}

/// Recognizes how a sentence proposes something: "Shall I?" is a question, "I can use A or B." a
/// choice, "I can add it." an offer, and anything else a statement.
pub(super) fn classify_sentence(sentence: &str) -> ProposalKind {
    static OFFER: LazyLock<Regex> = LazyLock::new(|| compile_expression(OFFERS));
    static ALTERNATIVE: LazyLock<Regex> = LazyLock::new(|| compile_expression(ALTERNATIVES));
    // In a sentence that ends within a code span, the mark is part of the code.
    let ends_in_code = sentence.matches('`').count() % 2 == 1;
    if is_asking(sentence) && !ends_in_code {
        return ProposalKind::Question;
    }
    match (OFFER.is_match(sentence), ALTERNATIVE.is_match(sentence)) {
        (true, true) => ProposalKind::Choice,
        (true, false) | (false, true) => ProposalKind::Offer,
        (false, false) => ProposalKind::Statement,
    }
}

/// Whether a message asks, by its end or its first words.
pub(super) fn is_question(message: &str) -> bool {
    static QUESTION: LazyLock<Regex> = LazyLock::new(|| compile_expression(QUESTION_WORDS));
    ends_in_question(message) || QUESTION.is_match(message) || asks_without_mark(message)
}

/// Whether a message in Chinese, Japanese or Korean has a word that asks, or ends as a question
/// does. Both are looked for without an expression, which would be matched at each character.
fn asks_without_mark(message: &str) -> bool {
    const WORDS: [&str; 6] = ["如何", "怎么", "怎麼", "怎样", "为什么", "為什麼"];
    const ENDS: [&str; 12] = [
        "吗",
        "嗎",
        "呢",
        "ですか",
        "ますか",
        "뭐임",
        "뭐야",
        "뭔데",
        "뭐지",
        "인가요",
        "나요",
        "까요",
    ];
    if message.is_ascii() {
        return false;
    }
    let text = message.trim_end_matches(|c: char| !c.is_alphanumeric());
    WORDS.iter().any(|word| text.contains(word)) || ENDS.iter().any(|end| text.ends_with(end))
}

/// Returns what a message says before its first question: "by month" in "by month. and which key?"
/// Returns the whole message if it is no question, and an empty text if it begins with one.
pub(super) fn statement_before_question(message: &str) -> &str {
    if !is_question(message) {
        return message;
    }
    let sentences = message.split_sentence_bounds();
    for part in sentences.flat_map(split_at_full_stops) {
        if is_question(part) {
            // A part is a slice of the message, so it is found: where it is, or where the same
            // words are before, which ask, too.
            let start = message.find(part).unwrap_or_default();
            return message[..start].trim();
        }
    }
    message
}

/// How a question begins that asks for leave to go on: "Want me to draw it?"
const LEAVES: &str = r"(?ix)^\W*(want\ me|shall\ i|should\ i|do\ you\ want\ me|would\ you\ like\ me
      |may\ i|can\ i
    | proceed|continue|go\ ahead|ready|approve|soll\ ich|darf\ ich|willst\ du,?\ dass
      |dois-je|veux-tu\ que)(\W|$)";

/// Whether a question asks for leave to go on.
pub(super) fn asks_leave(question: &str) -> bool {
    static LEAVE: LazyLock<Regex> = LazyLock::new(|| compile_expression(LEAVES));
    LEAVE.is_match(question)
}

/// A message of fewer words may answer a question that asks for leave, whatever the words are.
const REQUEST_WORDS: usize = 5;

/// Whether a message after a question that asks for leave requests something else: it has at least
/// [`REQUEST_WORDS`] words, and does not begin as an answer.
pub(super) fn requests_other_work(message: &str) -> bool {
    !begins_as_answer(message) && message.split_whitespace().count() >= REQUEST_WORDS
}

/// The words that ask for one of several things.
const WHICH: [&str; 17] = [
    "which",
    "welche",
    "welchen",
    "welcher",
    "welches",
    "quel",
    "quelle",
    "quels",
    "quelles",
    "lequel",
    "laquelle",
    "cuál",
    "cuáles",
    "quale",
    "quali",
    "какой",
    "какие",
];

/// Whether a question begins with a word that asks for one of several things.
pub(super) fn asks_which(question: &str) -> bool {
    /// The words of scripts that have no space after them.
    const UNSPACED: [&str; 4] = ["哪", "どれ", "どちら", "어느"];

    let lower = question.to_lowercase();
    if UNSPACED.iter().any(|word| lower.starts_with(word)) {
        return true;
    }
    let mut words = lower.split(|c: char| !c.is_alphanumeric());
    let first_word = words.find(|word| !word.is_empty());
    first_word.is_some_and(|word| WHICH.contains(&word))
}

/// Whether a message begins with a word that answers a question.
pub(super) fn begins_as_answer(message: &str) -> bool {
    static ANSWER: LazyLock<Regex> = LazyLock::new(|| compile_expression(ANSWERS));
    ANSWER.is_match(message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_needs_no_mark() {
        for (message, asks) in [
            ("how wide is it", true),
            ("what is the difference ?!", true),
            ("技能在命令行要如何使用", true),
            ("这是你画的吗", true),
            ("작업중이던 브랜치는뭐임", true),
            ("no. draw it!", false),
            ("我想要安装地图", false),
            ("한번 더 리뷰하고 머지", false),
            ("", false),
        ] {
            assert_eq!(is_question(message), asks, "{message}");
        }
    }
}
