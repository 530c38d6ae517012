//! Choices and corrections: messages that decide unasked, by their words.

use super::budget::{ANSWER, POINT};
use super::deferrals::is_deferral;
use super::prose::{is_list_item, sentences_of_lines};
use super::questions::is_question;
use super::quote::{display_width, first_chars, is_narrower};
use super::referents::{names_nothing, points_back, shares_word};
use super::values::may_set_value;
use super::words::compile_expression;
use regex::Regex;
use std::sync::LazyLock;

/// How a message begins that corrects what was done or said, after at most two words that only lead
/// over: "no, …", "mutable? no. …".
const CORRECTIONS: &str = r"^\W*((hm+|ah|ach|oh|ok|but|sorry|wait|aber|mais)\W+){0,2}(
    (no|nope|nah|non)[,.!]\s
      | ((?-i:[\w’'-])+\ ){0,2}(?-i:[\w’'-])+\?\ (no|nope|nah|nein|non)[,.!]\s
    | no\ (put|make|use|do|move|show|leave|keep|take|wait|sorry|i\ (want|meant))\s | not\s
      | that.{0,5}s\ (not|wrong) | i\ meant\s | make\ (it|that)\s
    | (i|we)\ (really\ )?(do\ not|don[’']?t|did\ not|didn[’']?t)
      \ (want|mean|ask|need\ (a|an|it|that|the|them|these|this|those|to))\s
      | you\ (forgot|missed|misunderstood)\s | ich\ (will|wollte|brauche)\ (kein|nicht)
      | je\ ne\ (veux|voulais)\ pas\s | no\ (quiero|quería|pedí)\s
    | (actually|rather|instead),?\s | (nein|nee|нет)\W | (nicht|doch|eigentlich|lieber)\s
    | ich\ (meinte|sagte|hab\w*\ gesagt)\s | pas\s | en\ fait\W | plutôt\s | mejor\s
      | en\ realidad\W | invece\s
    | 不是 | 不对 | 应该 | いや | 違う | 아니)";

/// A message that laments what it hears, and corrects nothing: "oh no. ok." What else follows is
/// what is to be done instead: "oh no! make the top the north".
const LAMENTS: &str = r"(?ix)^\W*(oh|ah|ach)\W+(no+|nein|non)\s*[.!…]+\W*
    ($|(ok|okay|well|fine|sorry|damn|too\ bad|schade|na\ gut
      |(that['’]?s|that\ is)\ (sad|bad|terrible|a\ (pity|shame)))(\W|$))";

/// Whether a message corrects what the assistant did or said.
pub(super) fn is_correction(message: &str) -> bool {
    static LAMENT: LazyLock<Regex> = LazyLock::new(|| compile_expression(LAMENTS));
    static CORRECTION: LazyLock<Regex> =
        LazyLock::new(|| compile_expression(&format!("(?ix) {CORRECTIONS}")));
    let corrects = CORRECTION.is_match(message) || repeats_itself(message);
    corrects && !LAMENT.is_match(message)
}

/// Whether the start of a message reminds of what was said before: "below the harbour. i said
/// south", "as i said, the top". Within a sentence, such words praise: "exactly what i asked for".
fn repeats_itself(message: &str) -> bool {
    /// The reminder must be within this many characters.
    const START: usize = 52;
    const COMPARISONS: [&str; 5] = ["what", "as", "like", "exactly", "just"];
    const LEADS: [&str; 9] = ["but", "and", "well", "so", "no", "hm", "hmm", "ok", "again"];

    let first_line = message.lines().next().unwrap_or_default();
    let start = first_chars(first_line, START).to_lowercase();
    let words: Vec<&str> = words_and_contractions(&start).collect();
    let mut indexes = 0..words.len();
    let Some(reminder_start) = indexes.find(|&index| begins_with_reminder(&words[index..])) else {
        return false;
    };
    match &words[..reminder_start] {
        // "and as i said", "not what i asked for"
        [words_before @ .., comparison] if COMPARISONS.contains(comparison) => {
            let begins_message = words_before.iter().all(|word| LEADS.contains(word));
            begins_message || words_before.iter().any(|word| is_negation(word))
        }
        _ => true,
    }
}

fn begins_with_reminder(words: &[&str]) -> bool {
    matches!(
        words,
        ["i", "said", ..] | ["i", "told", "you", ..] | ["i", "asked", "for", ..]
    )
}

fn is_negation(word: &str) -> bool {
    const NEGATIONS: [&str; 8] = [
        "not", "never", "no", "isnt", "wasnt", "nicht", "kein", "keine",
    ];
    NEGATIONS.contains(&word) || word.ends_with("n't") || word.ends_with("n’t")
}

/// Iterates over the words of a text in lower case: "don't" is one.
fn words_and_contractions(lower: &str) -> impl Iterator<Item = &str> {
    lower
        .split(|c: char| !c.is_alphanumeric() && !"'’".contains(c))
        .filter(|word| !word.is_empty())
}

/// Whether a message doubts what the reply before it says, with "hm" and a word of it: "hm gcc
/// ignores unknown names". A question, "hm, later", praise, and what comes next do not.
pub(super) fn doubts_reply(message: &str, reply: &str) -> bool {
    let lower = message.trim_start().to_lowercase();
    let after_hm = lower.trim_start_matches('h').trim_start_matches('m');
    // "hmm" is the same, but not "hms".
    let begins_with_hm = lower.starts_with("hm") && !after_hm.starts_with(char::is_alphanumeric);
    if !begins_with_hm || is_question(message) || is_deferral(message) {
        return false;
    }
    !praises_or_goes_on(after_hm) && shares_word(reply, message)
}

/// Whether the first clause of a message says what comes next ("the harbours next"), or praises
/// ("the harbours look good"), and nothing in the message limits that.
fn praises_or_goes_on(lower: &str) -> bool {
    const PRAISE: [&str; 20] = [
        "awesome", "better", "cool", "fine", "good", "great", "lovely", "nice", "ok", "okay",
        "perfect", "right", "thanks", "true", "yes", "gut", "schön", "super", "passt", "stimmt",
    ];
    const NEXT: [&str; 7] = ["next", "now", "then", "jetzt", "dann", "nächstes", "weiter"];
    const LIMITS: [&str; 7] = ["but", "though", "too", "aber", "zu", "mais", "pero"];

    let text = lower.trim_start_matches(|c: char| !c.is_alphanumeric());
    let first_clause = text.split([',', '.', ';', ':', '!', '\n']).next();
    let first_clause = first_clause.unwrap_or_default();
    if has_word_of(first_clause, &NEXT) {
        return true;
    }
    if !has_word_of(first_clause, &PRAISE) {
        return false;
    }
    let is_limited = has_word_of(text, &LIMITS) || words_and_contractions(text).any(is_negation);
    !is_limited
}

fn has_word_of(text: &str, list: &[&str]) -> bool {
    words_and_contractions(text).any(|word| list.contains(&word))
}

/// The words with which people choose one thing over another, or say what something is to be.
pub(super) const CHOICES: &str = r"(?ix) (^|\W)(
    instead | after\ all | rather\ than | should\ (be|stay|only|not) | stays? | stick\ (with|to)
      | (go|going)\ with
    | (we|i)(\ will|[’']?ll)?\ (use|take|keep|drop) | (i|i[’']d|we[’']d)\ prefer
    | let[’']?s\ (use|take|keep|drop|leave|call|not)
    | make\ (it|them|that) | set\ (it|this|that|them|\S+\ to) | switch\ (back\ )?to
    | (remove|undo|revert|drop|kill|scrap)\ (it|that|this|them)
      | (throw|take|rip)\ (it|that|this|them)\ (out|away) | never\ ?mind
    | is\ (enough|plenty) | no\ need | but\ (only|without|not) | only\ (if|when|for|from|in|on)
      | not\ (as|in|on)
    | becomes? | for\ now | erst\ ?mal | vorerst | pour\ l[’']instant | por\ ahora
    | statt | stattdessen | lieber | plutôt | au\ lieu | en\ vez | piuttosto | вместо
    )(\W|$)
    | (^|[,.;:]\ )((and|but|then|ok|pls|please)\ )?(use|pick|skip|nimm|utilise|usa)\s
    | ,\ (not|nicht|pas)\ \w";

/// The words with which people take what follows from a reply: "parallel then". They lead over to
/// the next request as well: "then the signs".
pub(super) const CONSEQUENCES: &str = r"(?ix) \w\ then([,.!]|$) | ^\W*(then|dann|alors|entonces)\s";

/// What begins like a choice, and only hopes.
const NO_CHOICES: &str = r"(?i)should be (good|fine|ok|okay|able|easy|enough)\b";

/// A choice takes at least this many columns: `make it 150`.
const SHORTEST_CHOICE: usize = 8;

/// Finds the sentences of prose in which the user chooses unasked: "make it 150", "rather the old
/// map". A question is no choice, and neither is a hope ("should be fine"). A sentence with a word
/// such as "then" only chooses if it is about what is `open`: the reply before the message, and
/// what the user refused.
pub(super) fn find_choices(prose: &[&str], open: &str) -> Vec<String> {
    static CHOICE: LazyLock<Regex> = LazyLock::new(|| compile_expression(CHOICES));
    static CONSEQUENCE: LazyLock<Regex> = LazyLock::new(|| compile_expression(CONSEQUENCES));
    static NO_CHOICE: LazyLock<Regex> = LazyLock::new(|| compile_expression(NO_CHOICES));
    static MAY_CHOOSE: LazyLock<Regex> =
        LazyLock::new(|| compile_expression(&format!("({CHOICES})|({CONSEQUENCES})")));
    let mut sentences = Vec::new();
    for sentence in sentences_of_lines(prose, &MAY_CHOOSE) {
        let is_quotable = (SHORTEST_CHOICE..POINT).contains(&display_width(sentence));
        let is_hope = NO_CHOICE.is_match(sentence);
        if !is_quotable || is_hope || is_question(sentence) {
            continue;
        }
        let is_consequence = CONSEQUENCE.is_match(sentence) && is_about(sentence, open);
        if is_consequence || CHOICE.is_match(sentence) {
            sentences.push(sentence.to_owned());
        }
    }
    sentences
}

/// A list of orders has so many at most.
const MOST_ORDERS: usize = 8;

/// Whether a message is a list of a few short items, and nothing else: orders, most likely.
pub(super) fn is_list_of_orders(message: &str) -> bool {
    let lines = message.lines().filter(|line| !line.trim().is_empty());
    let item_count = lines.clone().count();
    (2..=MOST_ORDERS).contains(&item_count)
        && lines.into_iter().all(is_list_item)
        && is_narrower(message, 2 * ANSWER)
}

/// Whether a sentence is about what is open: it has a word of it, sets a value ("50 from the top
/// then"), or says little by itself, as "then do it" and "let's survey them then".
fn is_about(sentence: &str, open: &str) -> bool {
    shares_word(open, sentence)
        || may_set_value(sentence)
        || points_back(sentence)
        || names_nothing(sentence)
}
