//! Referents: what the words of a user refer to. Alone, "make it 150" says nothing.

use super::budget::{LONG_REQUEST, OLDEST, REFERENT, SHORT_REPLY};
use super::choices::is_correction;
use super::prose::prose_lines;
use super::quote::{count_utf16, is_narrower, quote_line, strip_transitions};
use super::turns::Turn;
use super::words::{compile_expression, content_words, naming_words};
use foldhash::HashSet;
use regex::Regex;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// Pointers: words that stand for something that was named before.
const POINTERS: &str = r"(?ix)(^|(?-i:[^\w'’]))(it|its|that|this|these|those|them|they|their|theirs
      |ours|both
    | the\ (first|second|third|last|other|others|former|latter|same)|another\ one
    | sie|dies\w*|beide\w*|ihn|ihm|davon|damit|dazu|darin|dafür|den\ (ersten|zweiten)
      |die\ (erste|zweite|andere\w*)
    | ça|cela|celui|celle|ceux|les\ deux|l[’']autre|eso|esto|esos?|esas?|los\ dos|questo|quello
      |entrambi|это|их
    )(\W|$) | 这 | 那 | 它 | これ | それ | あれ";

/// Words with which a message goes on from what was said before.
const SEQUELS: &str =
    r"(?ix)(^|\W)(then|again|instead|dann|wieder|stattdessen|alors|entonces|allora)(\W|$)";

/// With this many words of content before it in its sentence, a pointer most likely stands for
/// something that these name: "don't touch the tables, Margaret edits those". In an earlier
/// sentence, one is enough.
const NAMED_BEFORE: usize = 2;

/// A reply, or a sentence of one, of fewer columns is quoted with the request before it: `0.2 s, 4
/// px.`
const SHORT_REFERENT: usize = 40;

/// Whether a text has a word that most likely stands for something outside of it, as in "make it
/// 150". In "don't touch the tables, Margaret edits those", names before the word are what it
/// stands for. Only the first such word is tested, because those after it have more names before
/// them.
pub(super) fn points_back(text: &str) -> bool {
    let Some(pointer_start) = find_pointer(text) else {
        return false;
    };
    let before = text[..pointer_start].to_lowercase();
    let (earlier_sentences, own_sentence) = match before.rfind(". ") {
        Some(stop) => before.split_at(stop + 1),
        None => ("", &*before),
    };
    let is_named_earlier = naming_words(earlier_sentences).next().is_some();
    let is_named_before = naming_words(own_sentence).count() >= NAMED_BEFORE;
    !is_named_earlier && !is_named_before
}

/// Whether a text has a word such as "it", whatever stands before it.
pub(super) fn has_pointer(text: &str) -> bool {
    find_pointer(text).is_some()
}

/// Returns the byte offset of the first pointer in a text. A word in quotation marks is none: it is
/// itself what is meant.
fn find_pointer(text: &str) -> Option<usize> {
    static POINTER: LazyLock<Regex> = LazyLock::new(|| compile_expression(POINTERS));
    let mut pointers = POINTER.find_iter(text);
    let pointer = pointers.find(|pointer| !pointer.as_str().starts_with(['"', '“', '„', '«']))?;
    Some(pointer.start())
}

/// Whether a text goes on from what was said before, points back to it, or names nothing itself.
pub(super) fn follows_on(text: &str) -> bool {
    points_back(text) || is_sequel(text) || names_nothing(text)
}

/// Whether a text has no word that may name something, and no code or number, which do so: "ok,
/// stay with the old one".
pub(super) fn names_nothing(text: &str) -> bool {
    let has_value = text.contains(|c: char| c.is_ascii_digit() || "`./_".contains(c));
    !has_value && naming_words(&text.to_lowercase()).next().is_none()
}

/// Whether a text goes on from what was said before, by a word such as "then" or "instead".
pub(super) fn is_sequel(text: &str) -> bool {
    static SEQUEL: LazyLock<Regex> = LazyLock::new(|| compile_expression(SEQUELS));
    SEQUEL.is_match(text)
}

/// Quotes what a message after a turn refers to, in a form to be appended to a quotation of the
/// message:
///
/// - ` (after "The map has 4 islands.")`: the reply or, of a long one, the sentence that best fits
///   the message;
/// - ` (after "how fast?": "0.2 s.")`: a short reply or sentence with its request.
///
/// Returns an empty text if there is no reply, or it only announces what comes next.
pub(super) fn quote_referent(turn: &Turn, message: &str, max: usize) -> String {
    let reply = strip_transitions(turn.last_words());
    if reply.is_empty() {
        return String::new();
    }
    // A quotation may be longer than `max` by a fifth, too, to end with a clause.
    let longest = max + max / 5;
    let said = if count_utf16(reply) <= longest {
        reply
    } else {
        find_relevant_sentence(reply, message)
    };
    let quotation = quote_line(said, max);
    if turn.request.is_empty() || !is_narrower(said, SHORT_REFERENT) {
        return format!(" (after {quotation})");
    }
    // The request takes what the reply leaves, but at least half.
    let request_max = max - count_utf16(said).min(max / 2);
    let request = turn.quote_request(request_max);
    format!(" (after {request}: {quotation})")
}

/// Whether a reply has a word of content of the message.
pub(super) fn shares_word(reply: &str, message: &str) -> bool {
    let reply = reply.to_lowercase();
    let message = message.to_lowercase();
    let said: HashSet<&str> = content_words(&message).collect();
    content_words(&reply).any(|word| said.contains(word))
}

/// Returns the last sentence of a reply that shares a word of content with the message. Without
/// one, this is the first sentence, which says what was done, or the last one if the message is a
/// correction ("no! keep it"): the user objects to what was read last.
fn find_relevant_sentence<'r>(reply: &'r str, message: &str) -> &'r str {
    let mut sentences = Vec::new();
    for line in prose_lines(reply) {
        sentences.extend(line.unicode_sentences());
    }

    let sharing = sentences
        .iter()
        .rfind(|sentence| shares_word(sentence, message));
    let relevant = if sharing.is_some() {
        sharing
    } else if is_correction(message) {
        // The division into sentences also ends one at a mark in a code span, as in `x.rs`? The
        // rest then begins with the mark, and is no whole sentence.
        sentences
            .iter()
            .rfind(|sentence| sentence.starts_with(char::is_alphanumeric))
    } else {
        sentences.first()
    };
    relevant.map_or(reply, |sentence| sentence.trim())
}

/// What a decision refers to, in the form of [`quote_referent`], as quotations of two lengths. Both
/// are empty if the decision needs none.
#[derive(Default)]
pub(super) struct ReferentQuotes {
    /// For the text of a decision that is new.
    pub full: String,
    /// For the shorter text that the decision has later.
    pub short: String,
}

/// Quotes from a turn what the `message` of a decision refers to.
pub(super) fn quote_referents(turn: &Turn, message: &str) -> ReferentQuotes {
    ReferentQuotes {
        full: quote_referent(turn, message, REFERENT),
        short: quote_referent(turn, message, OLDEST),
    }
}

/// Quotes what a correction (`message`) is about, from the turn that it corrects:
///
/// - the reply, if the message has a word of it, or a word such as "it" that stands for something
///   in it: "no, make it blue";
/// - the request, if the message is short and has neither: "no, as 8 like gcc" names nothing, and
///   the reply is out of date, so that only the request says what this is about;
/// - nothing, if the message is long, because it names what it corrects.
pub(super) fn quote_corrected(turn: &Turn, message: &str) -> ReferentQuotes {
    let is_about_reply = points_back(message) || shares_word(turn.last_words(), message);
    if is_about_reply {
        return quote_referents(turn, message);
    }
    if is_narrower(message, LONG_REQUEST) {
        return quote_request_of(turn);
    }
    ReferentQuotes::default()
}

/// Quotes the request of the turn that a message is about, as in ` (on "align the table")`.
/// Empty if the request is too short to say what that is.
pub(super) fn quote_request_of(turn: &Turn) -> ReferentQuotes {
    if is_narrower(&turn.request, SHORT_REPLY) {
        return ReferentQuotes::default();
    }
    ReferentQuotes {
        full: format!(" (on {})", turn.quote_request(REFERENT)),
        short: format!(" (on {})", turn.quote_request(OLDEST)),
    }
}
