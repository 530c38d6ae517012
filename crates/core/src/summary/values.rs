//! Values: numbers that messages set, and which of them another message replaces.

use super::budget::{LONG_REQUEST, POINT};
use super::counts::{
    UNITS, counts_otherwise, counts_things_otherwise, find_counts, words_and_numbers,
};
use super::questions::is_question;
use super::quote::is_narrower;
use super::turns::Turn;
use super::words::naming_words;
use foldhash::HashSet;

/// The words with which a message finds that a value goes too far.
const EXCESSES: [&str; 6] = ["too", "zu", "trop", "demasiado", "troppo", "слишком"];

/// Whether an answer is little more than a number: "3", "45 min".
pub(super) fn is_value(answer: &str) -> bool {
    /// The most bytes and words of such an answer.
    const LONGEST: usize = 24;
    const MOST_WORDS: usize = 3;

    answer.len() <= LONGEST
        && answer.contains(|c: char| c.is_ascii_digit())
        && words_and_numbers(answer).count() <= MOST_WORDS
}

/// Whether a message is short enough to do little more than set a value, and has a number.
pub(super) fn may_set_value(message: &str) -> bool {
    let has_number = message.contains(|c: char| c.is_ascii_digit());
    has_number && is_narrower(message, LONG_REQUEST) && !is_question(message)
}

/// Whether a message says which color something has, in hexadecimal digits: "81a2be is the link
/// text". A word such as "facade" has no digit, and a commit has seven or more.
pub(super) fn sets_color(message: &str) -> bool {
    const DIGITS: usize = 6;

    let mut words = message.split(|c: char| !c.is_alphanumeric());
    let has_color = words.any(|word| {
        let is_hex = word.len() == DIGITS && word.bytes().all(|byte| byte.is_ascii_hexdigit());
        is_hex && word.contains(|c: char| c.is_ascii_digit())
    });
    has_color && is_narrower(message, POINT) && !is_question(message)
}

/// Words with which a request changes a value, and names nothing.
const CHANGES: [&str; 8] = [
    "change", "increase", "raise", "lower", "reduce", "decrease", "ändere", "setze",
];

/// Whether a later turn replaces the value that an earlier one set. Names are words of at least
/// five letters ([`naming_words`]), but not what is counted, and no units.
///
/// - The turns share a name, and something that both count has another number. Every name of the
///   later request must be in the earlier turn: "3 tests for the gauge" and "5 tests for the clock"
///   are two things.
/// - Or the requests have no name, and count the same thing, which is no unit: "run 3 workers",
///   "run 5 workers".
pub(super) fn replaces_value(later: &Turn, earlier: &Turn) -> bool {
    if !may_set_value(&later.request) || !may_set_value(&earlier.request) {
        return false;
    }
    let later_request = later.request.to_lowercase();
    let earlier_request = earlier.request.to_lowercase();
    if adds_or_removes(&later_request) {
        return false;
    }
    let later_text = lower_text_of(later);
    let earlier_text = lower_text_of(earlier);
    let counts = find_counts(&later_text);
    let earlier_words: HashSet<&str> = naming_words(&earlier_text).collect();

    let own_names = names_in(counting_clauses(&later_request), &counts);
    if own_names.iter().any(|name| !earlier_words.contains(name)) {
        return false;
    }
    let later_names = names_in(&later_text, &counts);
    let shares_name = later_names.iter().any(|name| earlier_words.contains(name));
    if shares_name && counts_otherwise(&later_text, &earlier_text) {
        return true;
    }

    let are_bare = own_names.is_empty() && names_in(&earlier_request, &counts).is_empty();
    are_bare
        && !adds_or_removes(&earlier_request)
        && counts_things_otherwise(&later_request, &earlier_request)
}

/// Returns the names in a text: words that may name something, but neither units, nor what is
/// counted, nor verbs such as "increase". `counts` are numbers with what each counts.
fn names_in<'t>(text: &'t str, counts: &[(&str, &str)]) -> Vec<&'t str> {
    let mut names: Vec<&str> = naming_words(text).collect();
    names.retain(|name| {
        let is_counted = counts.iter().any(|(_number, counted)| counted == name);
        !is_counted && !UNITS.contains(name) && !CHANGES.contains(name)
    });
    names
}

/// Returns the request of a turn and the last words of its reply, in lower case.
fn lower_text_of(turn: &Turn) -> String {
    format!("{} {}", turn.request, turn.last_words()).to_lowercase()
}

/// Whether a request begins with a word by which it adds or removes what it counts: "add 3 tests"
/// and "add 5 tests" make 8.
fn adds_or_removes(lower_request: &str) -> bool {
    const LEADS: [&str; 5] = ["please", "now", "then", "and", "also"];
    const WORDS: [&str; 12] = [
        "add", "append", "create", "delete", "download", "import", "insert", "remove", "rename",
        "send", "upload", "write",
    ];
    let mut words = words_and_numbers(lower_request);
    let first_word = words.find(|word| !LEADS.contains(word));
    first_word.is_some_and(|word| WORDS.contains(&word))
}

/// Returns the part of a request in which what it counts is named: its clauses up to that of its
/// first number, and one after it that restricts it. In "the timeout to 45 seconds, users
/// complained", the end gives a reason; in "45 seconds, for the lamp", it names the thing.
fn counting_clauses(request: &str) -> &str {
    const RESTRICTIONS: [&str; 8] = ["for", "of", "in", "on", "at", "für", "pour", "para"];

    let Some(number_start) = request.find(|c: char| c.is_ascii_digit()) else {
        return request;
    };
    for (mark_start, mark) in request.match_indices([',', ';', '.']) {
        let after_mark = &request[mark_start + mark.len()..];
        // The dot of `2.5` ends no clause.
        let ends_clause = after_mark.starts_with(' ');
        if mark_start < number_start || !ends_clause {
            continue;
        }
        let next_word = after_mark.split_whitespace().next().unwrap_or_default();
        if !RESTRICTIONS.contains(&next_word) {
            return &request[..mark_start];
        }
    }
    request
}

/// Whether a message repeats a number and, within a few words, finds it too small or too large: "45
/// min is too short". `words` are those of the message, in lower case.
pub(super) fn is_found_excessive(number: &str, words: &[&str]) -> bool {
    /// The number of words after the number in which "too" is looked for.
    const WORDS_AFTER_NUMBER: usize = 4;

    let Some(number) = words_and_numbers(number).next() else {
        return false;
    };
    let Some(index) = words.iter().position(|word| *word == number) else {
        return false;
    };
    let after_number = &words[index + 1..];
    for (offset, word) in after_number.iter().take(WORDS_AFTER_NUMBER).enumerate() {
        let next_word = after_number.get(offset + 1);
        if EXCESSES.contains(word) && means_excess(word, next_word.copied()) {
            return true;
        }
    }
    false
}

/// Whether a word of [`EXCESSES`] has that meaning before the next word: not "too" at the end,
/// which means "also", nor "zu" before an article, where it means "to".
fn means_excess(word: &str, next_word: Option<&str>) -> bool {
    const ARTICLES: [&str; 9] = [
        "der", "die", "das", "dem", "den", "einem", "einer", "einen", "diesem",
    ];
    match (word, next_word) {
        ("too" | "zu", None) => false,
        ("too", Some(next)) => next != "please",
        ("zu", Some(next)) => !ARTICLES.contains(&next),
        _ => true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_is_replaced_by_another_of_the_same_thing() {
        let turn = |request: &str, reply: &str| {
            let mut turn = Turn::from_message(1, String::new(), request);
            turn.remarks.push(reply.to_owned());
            turn
        };
        let earlier = turn("the lamp: count 12 kWh a night", "12 kWh for each night.");
        for (request, reply, is_replaced) in [
            ("sorry, it is 18 kWh", "18 kWh for each night now.", true),
            ("a night has 12 kWh and a day 9", "12 kWh by night.", false),
            ("the horn: 3 kWh", "3 kWh for the horn.", false),
            ("is it 18 kWh?", "No, 12 kWh for each night.", false),
        ] {
            let later = turn(request, reply);
            assert_eq!(replaces_value(&later, &earlier), is_replaced, "{request}");
        }
        for (earlier, later, is_replaced) in [
            (
                turn("Add 3 tests for the harbour gauge.", "Added 3 tests."),
                turn("Add 5 tests for the pier clock.", "Added 5 tests."),
                false,
            ),
            (
                turn("Delete the 40 rows of April.", "Deleted 40 rows of April."),
                turn("Delete the 12 rows of March.", "Deleted 12 rows of March."),
                false,
            ),
            (
                turn("Add 3 tests for the harbour gauge.", "Added 3 tests."),
                turn("change that to 5 tests for the gauge", "It has 5 tests."),
                true,
            ),
            (
                turn("run 3 workers", "3 of them run."),
                turn("run 5 workers", "5 of them run."),
                true,
            ),
            (
                turn("the timeout: 30 seconds", "It is 30 seconds."),
                turn(
                    "the timeout to 45 seconds, users complained",
                    "It is 45 seconds.",
                ),
                true,
            ),
            (
                turn("the timeout: 30 seconds", "It is 30 seconds."),
                turn("45 seconds, for the lantern", "It is 45 seconds."),
                false,
            ),
            (
                turn("run 3 workers for the harbour", "3 of them run."),
                turn("run 5 workers", "5 of them run."),
                false,
            ),
            (
                turn("add 3 tests", "They are added."),
                turn("add 5 tests", "They are added."),
                false,
            ),
            (
                turn("wait 30 seconds", "Done."),
                turn("wait 45 seconds", "Done."),
                false,
            ),
        ] {
            let request = &later.request;
            assert_eq!(replaces_value(&later, &earlier), is_replaced, "{request}");
        }
    }

    #[test]
    fn a_number_is_excessive_only_before_a_word_that_says_how() {
        for (message, is_expected) in [
            ("3 is too loose", true),
            ("3 zu kurz", true),
            ("3 es demasiado", true),
            ("make it 3 harbours too", false),
            ("use 3 icons too please", false),
            ("nimm die 3 karten zu der sammlung hinzu", false),
        ] {
            let words: Vec<&str> = message.split_whitespace().collect();
            assert_eq!(is_found_excessive("3", &words), is_expected, "{message}");
        }
    }
}
