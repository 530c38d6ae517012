//! Sentences with which the assistant settles something itself: a method, a library, what it leaves
//! out.

use super::budget::POINT;
use super::choice_words::{
    BEGINS, CONDITIONS, DOES, REASONS, REASONS_OF_WORK, REPLACES, SETTLES, SETTLES_NOTHING,
    WITHDRAWS,
};
use super::prose::{is_asking, prose_lines};
use super::quote::{count_utf16, is_narrower};
use super::referents::{names_nothing, points_back};
use super::words::{compile_expression, naming_words};
use foldhash::HashSet;
use regex::Regex;
use std::borrow::Cow;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// A sentence of fewer columns is quoted with the one before it, which says what it is about.
const SHORT_CHOICE: usize = 60;

/// The rating of a choice that settles something for certain, and gives the reason.
const CERTAIN: usize = 4;

/// A choice of the assistant.
pub(super) struct OwnChoice {
    pub text: String,
    /// The words that name what it is about.
    pub words: HashSet<Box<str>>,
    /// The number of the turn in which it was made.
    pub turn_number: usize,
    /// How much it says: whether it settles something for certain, why, and what.
    pub rating: usize,
    /// Whether it replaces or withdraws the one before it, if that is about the same.
    pub is_reversal: bool,
    /// Whether it says only what is over: "I take the line back."
    pub is_withdrawal: bool,
}

static SETTLE: LazyLock<Regex> = LazyLock::new(|| compile_expression(SETTLES));
static BEGINNING: LazyLock<Regex> = LazyLock::new(|| compile_expression(BEGINS));
static WITHDRAWAL: LazyLock<Regex> = LazyLock::new(|| compile_expression(WITHDRAWS));
static REASON: LazyLock<Regex> = LazyLock::new(|| compile_expression(REASONS));
static DO: LazyLock<Regex> = LazyLock::new(|| compile_expression(DOES));

/// Words of which each choice has one: its subject, its first word, or what follows "let me".
/// Without them, as in most short remarks, the expressions are not even compiled.
const LEAD_WORDS: [&str; 49] = [
    "i",
    "we",
    "leave",
    "stick",
    "stay",
    "go",
    "switch",
    "drop",
    "use",
    "ich",
    "je",
    "j",
    "quedo",
    "elijo",
    "mantengo",
    "dejo",
    "prefiero",
    "opto",
    "uso",
    "utilizo",
    "pongo",
    "cambio",
    "keep",
    "keeping",
    "decided",
    "chose",
    "choosing",
    "going",
    "sticking",
    "staying",
    "switching",
    "switched",
    "dropping",
    "dropped",
    "instead",
    "new",
    "stattdessen",
    "take",
    "took",
    "revert",
    "reverted",
    "undid",
    "swapped",
    "replaced",
    "used",
    "uses",
    "swapping",
    "swap",
    "went",
];

fn has_lead_word(line: &str) -> bool {
    line.split(|c: char| !c.is_alphanumeric()).any(|word| {
        LEAD_WORDS
            .iter()
            .any(|lead| word.eq_ignore_ascii_case(lead))
    })
}

/// The words of reasons for which the answers of short turns are searched, in lower case.
const CLEAR_REASONS: [&str; 14] = [
    "because",
    "since",
    "instead",
    "rather than",
    "otherwise",
    "so that",
    "due to",
    "avoids",
    "weil",
    "sonst",
    "statt",
    "parce que",
    "sinon",
    "porque",
];

/// Finds the sentences of an answer in which the assistant settles something for certain, and gives
/// the reason in plain words. Most answers have no such line, and no expression is compiled for
/// them.
pub(super) fn find_certain_choices(answer: &str) -> Vec<OwnChoice> {
    let mut choices = Vec::new();
    for line in prose_lines(answer) {
        if !has_lead_word(line) {
            continue;
        }
        let lower = line.to_lowercase();
        if CLEAR_REASONS.iter().any(|reason| lower.contains(reason)) {
            choices.extend(find_choices(line));
        }
    }
    choices.retain(|choice| choice.rating >= CERTAIN);
    choices
}

/// Whether a text has a verb that settles or withdraws something.
fn settles(text: &str) -> bool {
    SETTLE.is_match(text) || WITHDRAWAL.is_match(text)
}

/// Whether a sentence begins with words that settle something.
fn begins_as_choice(sentence: &str) -> bool {
    let is_in_word = |c: char| c.is_alphanumeric() || c == '_';
    BEGINNING
        .find(sentence)
        .is_some_and(|words| !sentence[..words.start()].contains(is_in_word))
}

/// Finds the sentences of a remark in which the assistant settles something. One that is short or
/// points back is quoted with the sentence before it.
pub(super) fn find_choices(remark: &str) -> Vec<OwnChoice> {
    let mut choices = Vec::new();
    for line in prose_lines(remark) {
        // Most lines settle nothing, and dividing them into sentences takes long.
        if !may_choose(line) {
            continue;
        }
        let mut before = "";
        for sentence in line.unicode_sentences() {
            // Emphasis that ends after the sentence before begins this one.
            let sentence = sentence.trim().trim_start_matches("** ");
            if let Some(choice) = OwnChoice::read(before, sentence) {
                choices.push(choice);
                before = "";
            } else {
                before = sentence;
            }
        }
    }
    choices
}

/// Whether a line has words that may settle something. The lead word is tested first, because the
/// search for it compiles no expression.
fn may_choose(line: &str) -> bool {
    has_lead_word(line) && (settles(line) || BEGINNING.is_match(line) || DO.is_match(line))
}

impl OwnChoice {
    /// Reads the choice in a sentence, with the sentence before it if it needs that: it is short,
    /// points back, or gives no reason. `None` if it makes none, or says too little of it.
    fn read(before: &str, sentence: &str) -> Option<OwnChoice> {
        static REPLACEMENT: LazyLock<Regex> = LazyLock::new(|| compile_expression(REPLACES));

        let settling = Settling::read(sentence)?;
        let names_value = sentence.contains(|c: char| c == '`' || c.is_ascii_digit());
        if !names_value && names_nothing(sentence) {
            return None;
        }

        let is_short = is_narrower(sentence, SHORT_CHOICE);
        let points_back = points_back(sentence);
        let with_context = join_sentences(before, sentence);
        // "I left it alone": without the sentence before, nobody knows what.
        if points_back && !names_value && with_context.is_none() {
            return None;
        }
        let needs_context = is_short || points_back || !settling.has_reason;
        let text = match with_context {
            Some(text) if needs_context => text,
            _ => sentence.to_owned(),
        };

        let gives_reason = settling.has_reason || REASON.is_match(&text);
        let withdraws = WITHDRAWAL.is_match(sentence);
        // "I leave the notes where you find them." says next to nothing.
        if !gives_reason && !names_value && !withdraws {
            return None;
        }
        Some(OwnChoice {
            words: naming_words(&text.to_lowercase()).map(Box::from).collect(),
            text,
            turn_number: 0,
            rating: rate(settling.is_certain, gives_reason, names_value),
            is_reversal: withdraws || REPLACEMENT.is_match(sentence),
            is_withdrawal: withdraws && is_short && !has_second_part(sentence),
        })
    }
}

/// Joins a sentence to the one before it. `None` if there is none before it, or if they are too
/// long for a point.
fn join_sentences(before: &str, sentence: &str) -> Option<String> {
    let has_room = count_utf16(before) + count_utf16(sentence) < POINT;
    if before.is_empty() || !has_room {
        return None;
    }
    Some(format!("{before} {sentence}"))
}

/// Rates how much a choice says. A verb that certainly settles something and a reason weigh twice
/// as much as a value, so that both together are [`CERTAIN`].
fn rate(is_certain: bool, gives_reason: bool, names_value: bool) -> usize {
    2 * usize::from(is_certain) + 2 * usize::from(gives_reason) + usize::from(names_value)
}

/// How a sentence settles something.
struct Settling {
    /// Whether its verb settles something by itself, as in "I keep the lock". Otherwise, its verb
    /// describes work, as in "I store dates as text", and it gives the reason.
    is_certain: bool,
    has_reason: bool,
}

impl Settling {
    /// Reads how a sentence settles something. `None` if it settles nothing.
    fn read(sentence: &str) -> Option<Settling> {
        static REASON_OF_WORK: LazyLock<Regex> =
            LazyLock::new(|| compile_expression(REASONS_OF_WORK));
        static NOTHING: LazyLock<Regex> = LazyLock::new(|| compile_expression(SETTLES_NOTHING));
        static CONDITION: LazyLock<Regex> = LazyLock::new(|| compile_expression(CONDITIONS));

        let is_announcement = sentence.ends_with(':');
        if is_announcement || is_asking(sentence) {
            return None;
        }
        let own_words = blank_quotations(sentence);
        // The verb of a condition settles nothing. A mark replaces the condition, so that what
        // follows it is not taken for the beginning of the sentence.
        let without_conditions = CONDITION.replace_all(&own_words, "_");
        let is_certain = settles(&without_conditions) || begins_as_choice(&without_conditions);
        let is_work_with_reason =
            || DO.is_match(&without_conditions) && REASON_OF_WORK.is_match(&own_words);
        if !is_certain && !is_work_with_reason() {
            return None;
        }
        // "I could keep the lock" leaves it open.
        if NOTHING.is_match(&own_words) {
            return None;
        }
        Some(Settling {
            is_certain,
            has_reason: REASON.is_match(&own_words),
        })
    }
}

/// Returns a sentence with spaces in place of its quotations, which are what others said: `I keep
/// "small" here` becomes `I keep         here`.
fn blank_quotations(sentence: &str) -> Cow<'_, str> {
    if !sentence.contains(['"', '“']) {
        return Cow::Borrowed(sentence);
    }
    let mut own_words = String::with_capacity(sentence.len());
    let mut is_quoted = false;
    for c in sentence.chars() {
        let is_mark = ['"', '“', '”'].contains(&c);
        // The straight mark both opens and closes a quotation.
        match c {
            '"' => is_quoted = !is_quoted,
            '“' => is_quoted = true,
            '”' => is_quoted = false,
            _ => {}
        }
        own_words.push(if is_quoted || is_mark { ' ' } else { c });
    }
    Cow::Owned(own_words)
}

/// Whether a sentence goes on after a clause: "I take it back and set the limit only there".
fn has_second_part(sentence: &str) -> bool {
    let marks = [", ", "; ", ": ", " and ", " und ", " et ", " y "];
    marks.iter().any(|mark| sentence.contains(mark))
}
