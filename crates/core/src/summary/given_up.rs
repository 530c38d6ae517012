//! Giving up: which failures need no repair, because the user does without what failed, or has it
//! done in another way.

use super::budget::{POINT, REMARK};
use super::command_step::CommandStep;
use super::prose::is_asking;
use super::quote::{display_width, first_chars};
use super::reactions::WORDS_OF_OUTPUTS;
use super::referents::shares_word;
use super::reported_failures::reports_open_failure;
use super::tool_run::ToolRun;
use super::turns::Turn;
use super::words::{compile_expression, naming_words};
use foldhash::HashSet;
use regex::Regex;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// The words with which a user gives up what failed.
const GIVES_UP: &str = r"(?ix)(^|\W)(drop|skip|forget|scrap|ditch|abandon|give\ up|never\ ?mind
      |no\ need
    | (don[’']?t|do\ not)\ need | (leave|keep)\ (it|that|this|them)\ out | without\ (it|that|them)
    | vergiss | weglassen | lassen?\ wir | brauchen\ wir\ nicht | laisse\ tomber | abandonne
      | olvida)(\W|$)";

/// The words with which a user has something done in another way.
const REPLACES: &str = r"(?ix)(^|\W)(instead|stattdessen|à\ la\ place|en\ su\ lugar)(\W|$)";

/// The words with which a user has what failed repaired, or something not done: "fix it instead",
/// "instead of only explaining it". In "plain lines instead of smooth ones", something else is
/// done.
const REPAIRS: &str = r"(?ix)(^|\W)(fix|fixes|fixing|repair|repairing|solve|solving|mend|mending
      |instead\ of\ ((only|just)\ )?[a-z]+ing
    | reparier|repariere|repariert|reparieren|behebe|beheben|corrige|corriger|répare|réparer
      |arregla)(\W|$)";

static GIVE_UP: LazyLock<Regex> = LazyLock::new(|| compile_expression(GIVES_UP));
static REPAIR: LazyLock<Regex> = LazyLock::new(|| compile_expression(REPAIRS));
static WITHOUT: LazyLock<Regex> = LazyLock::new(|| compile_expression(DOES_WITHOUT));

/// Whether a message gives up what failed, or has it done in another way.
fn gives_up(message: &str) -> bool {
    static REPLACE: LazyLock<Regex> = LazyLock::new(|| compile_expression(REPLACES));
    gives_up_in(message) || REPLACE.is_match(message) && !REPAIR.is_match(message)
}

/// Whether the user gave up what failed in a turn: "drop it, then". This is in an answer to the
/// turn's reply that called for no work, or in the next request. That must be answered: until then,
/// the failure may still be what is worked on.
pub(super) fn is_given_up(turn: &Turn, next_turn: Option<&Turn>) -> bool {
    if !turn.is_replied_to() {
        return false;
    }
    let Some(message) = message_after_reply(turn, next_turn) else {
        return false;
    };
    // A long message that shares no word with the reply is about something new.
    let is_short = display_width(message) < REMARK;
    let reacts_to_reply = is_short || shares_word(turn.last_words(), message);
    reacts_to_reply && gives_up(message)
}

/// Returns what the user said after the reply of a turn: an answer that called for no work, or else
/// the next request, if that is answered.
fn message_after_reply<'t>(turn: &'t Turn, next_turn: Option<&'t Turn>) -> Option<&'t str> {
    if let Some(nod) = turn.unworked_nod() {
        return Some(nod);
    }
    let next_turn = next_turn?;
    if !next_turn.is_answered() {
        return None;
    }
    Some(first_chars(&next_turn.request, POINT))
}

/// The words with which a reply says that the work does without something.
const DOES_WITHOUT: &str = r"(?ix)(^|\W)(dropped|left\ out|excluded|skipped|gave\ up|given\ up
      |unsupported|not\ supported|out\ of\ scope|no\ longer\ (needed|used|supported)|does\ without
    | weggelassen|ausgelassen|verworfen|abandonné\w*|écarté\w*|descartad\w*)(\W|$)";

/// The words in the same sentence that deny it, or speak of what failed ("HEIC fails, and was not
/// dropped").
const DENIES: &str = r"(?ix)(^|\W)(not|never|no|cannot|nothing|still|nicht|nie|kein\w*|noch|pas|jamais
      |nunca)(\W|$) | n[’']t(\W|$) | fail | error | crash | broken | fehl | échou | falla";

/// A number of tests, as a test tool reports it: "2 skipped", "skipped: 2".
const COUNTS_TESTS: &str = r"(?ix)\d\ (tests?\ )?((are|were)\ )?(skipped|excluded|dropped|unsupported)
    | skipped:?\ \d";

/// The words with which a user wants something kept: "don't forget HEIC".
const KEEPS: &str = r"(?ix)(n[’']?t|\Wnot|never|nicht|pas)\ (\w+\ )?(drop|skip|forget|scrap|ditch
      |abandon|give\ up|leave|vergiss|vergessen|weglassen|olvides)(\W|$)";

/// Whether a sentence of a reply says that the work does without something, and nothing else of it.
fn does_without(sentence: &str) -> bool {
    static DENIAL: LazyLock<Regex> = LazyLock::new(|| compile_expression(DENIES));
    static COUNT: LazyLock<Regex> = LazyLock::new(|| compile_expression(COUNTS_TESTS));
    if !WITHOUT.is_match(sentence) || COUNT.is_match(sentence) {
        return false;
    }
    // "not supported" says it, too.
    let other_words = WITHOUT.replace_all(sentence, " ");
    !DENIAL.is_match(&other_words)
}

/// Whether a sentence of the user gives something up.
pub(super) fn gives_up_in(sentence: &str) -> bool {
    static KEEP: LazyLock<Regex> = LazyLock::new(|| compile_expression(KEEPS));
    GIVE_UP.is_match(sentence) && !KEEP.is_match(sentence)
}

/// Whether one of the answered `turns` does without what failed, and names it: "skip HEIC, nobody
/// has that". The first of the turns is that of the failed run.
pub(super) fn is_given_up_by_name<'t>(
    run: &ToolRun,
    step: &CommandStep,
    turns: impl Iterator<Item = &'t Turn>,
) -> bool {
    // Few turns give something up, so the names are collected when one does.
    let mut names_of_failed = None;
    for turn in turns.filter(|turn| turn.is_answered()) {
        let sentences = sentences_giving_up(turn, run, step);
        if sentences.is_empty() {
            continue;
        }
        let names = names_of_failed.get_or_insert_with(|| names_of_failure(run, step));
        if sentences.iter().any(|sentence| has_name(sentence, names)) {
            return true;
        }
    }
    false
}

/// Returns the sentences of a turn that do without something: the user gives it up ("skip HEIC"),
/// or the reply says so ("CentOS 7 is left out"), unless the reply reports that the failed step
/// still fails.
fn sentences_giving_up<'t>(turn: &'t Turn, run: &ToolRun, step: &CommandStep) -> Vec<&'t str> {
    let mut sentences = Vec::new();
    let request = first_chars(&turn.request, POINT);
    // The request of the run's own turn came before the failure.
    let is_later_request = turn.number != run.turn_number;
    if is_later_request && GIVE_UP.is_match(request) && !REPAIR.is_match(request) {
        sentences.extend(sentences_with(request, gives_up_in));
    }
    let reply = turn.last_words();
    if WITHOUT.is_match(reply) && !reports_open_failure(reply, step) {
        sentences.extend(sentences_with(reply, does_without));
    }
    sentences
}

/// Returns the sentences of a text that say something, and do not ask for it.
fn sentences_with(text: &str, says_so: impl Fn(&str) -> bool) -> impl Iterator<Item = &str> {
    let sentences = text.lines().flat_map(str::unicode_sentences);
    sentences.filter(move |sentence| says_so(sentence) && !is_asking(sentence))
}

/// Collects the words that name what failed, in lower case: of the command, and of the output.
fn names_of_failure(run: &ToolRun, step: &CommandStep) -> HashSet<String> {
    let arguments = step.words.get(1..).unwrap_or_default().join(" ");
    let text = format!("{arguments}\n{}", run.output);
    let mut names = HashSet::default();
    for word in naming_words(&text.to_lowercase()) {
        if !WORDS_OF_OUTPUTS.contains(&word) {
            names.insert(word.to_owned());
        }
    }
    // Words in capitals name something even if they are too short for other names: `HEIC`.
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let capital_count = word.bytes().filter(u8::is_ascii_uppercase).count();
        if capital_count >= LEAST_CAPITALS {
            names.insert(word.to_lowercase());
        }
    }
    names
}

/// A word with this many capitals is a name.
const LEAST_CAPITALS: usize = 3;

fn has_name(sentence: &str, names: &HashSet<String>) -> bool {
    let lower = sentence.to_lowercase();
    lower
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| names.contains(word))
}
