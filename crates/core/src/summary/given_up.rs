//! Giving up: which failures need no repair, because the user does without what failed, or has it
//! done in another way.

use super::budget::{POINT, REMARK};
use super::command_step::CommandStep;
use super::prose::is_asking;
use super::quote::{display_width, first_chars};
use super::reactions::WORDS_OF_OUTPUTS;
use super::referents::shares_word;
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

/// Whether a message gives up what failed, or has it done in another way.
fn gives_up(message: &str) -> bool {
    static GIVE_UP: LazyLock<Regex> = LazyLock::new(|| compile_expression(GIVES_UP));
    static REPLACE: LazyLock<Regex> = LazyLock::new(|| compile_expression(REPLACES));
    static REPAIR: LazyLock<Regex> = LazyLock::new(|| compile_expression(REPAIRS));
    GIVE_UP.is_match(message) || REPLACE.is_match(message) && !REPAIR.is_match(message)
}

/// Whether the user gave up what failed in a turn: "drop it, then". This is in an answer to the
/// turn's reply that called for no work, or in the next request. That must be answered: until then,
/// the failure may still be what is worked on.
pub(super) fn is_given_up(turn: &Turn, next_turn: Option<&Turn>) -> bool {
    if !turn.is_replied_to() {
        return false;
    }
    let message = if let Some(nod) = turn.unworked_nod() {
        nod
    } else if let Some(next_turn) = next_turn
        && next_turn.is_answered()
    {
        first_chars(&next_turn.request, POINT)
    } else {
        return false;
    };
    // Any other message is about something new.
    let reacts_to_reply =
        display_width(message) < REMARK || shares_word(turn.last_words(), message);
    reacts_to_reply && gives_up(message)
}

/// The words with which a reply says that the work does without something.
const DOES_WITHOUT: &str = r"(?ix)(^|\W)(dropped|left\ out|excluded|skipped|gave\ up|given\ up|unsupported
      |not\ supported|out\ of\ scope|no\ longer\ (needed|used|supported)|does\ without
    | weggelassen|ausgelassen|verworfen|abandonné\w*|écarté\w*|descartad\w*)(\W|$)";

/// Whether one of some answered turns, of which the first is that of a failed run, does without
/// what failed, and names it: the user gives it up ("skip HEIC, nobody has that"), or the reply says so ("CentOS
/// 7 is left out").
pub(super) fn is_given_up_by_name<'t>(
    run: &ToolRun,
    step: &CommandStep,
    turns: impl Iterator<Item = &'t Turn>,
) -> bool {
    static WITHOUT: LazyLock<Regex> = LazyLock::new(|| compile_expression(DOES_WITHOUT));
    static GIVE_UP: LazyLock<Regex> = LazyLock::new(|| compile_expression(GIVES_UP));
    static REPAIR: LazyLock<Regex> = LazyLock::new(|| compile_expression(REPAIRS));
    let mut names = None;
    for turn in turns.filter(|turn| turn.is_answered()) {
        // The request of the turn itself came before the failure.
        let request = if turn.number == run.turn_number {
            ""
        } else {
            first_chars(&turn.request, POINT)
        };
        let gives_up = GIVE_UP.is_match(request) && !REPAIR.is_match(request);
        let reply = turn.last_words();
        let does_without = WITHOUT.is_match(reply);
        if !gives_up && !does_without {
            continue;
        }
        let names = names.get_or_insert_with(|| names_of_failure(run, step));
        let says_so = |text: &str, words: &Regex| {
            let mut sentences = text.lines().flat_map(str::unicode_sentences);
            sentences.any(|one| words.is_match(one) && !is_asking(one) && has_name(one, names))
        };
        if gives_up && says_so(request, &GIVE_UP) || does_without && says_so(reply, &WITHOUT) {
            return true;
        }
    }
    false
}

/// Collects the words that name what failed, in lower case: of the command, and of the output.
fn names_of_failure(run: &ToolRun, step: &CommandStep) -> HashSet<String> {
    let arguments: Vec<&str> = step.words.iter().skip(1).map(String::as_str).collect();
    let text = format!("{}\n{}", arguments.join(" "), run.output);
    let mut names = HashSet::default();
    for word in naming_words(&text.to_lowercase()) {
        if !WORDS_OF_OUTPUTS.contains(&word) {
            names.insert(word.to_owned());
        }
    }
    // A short name is one of capitals, or has a digit: `HEIC`, `el7`.
    for word in text.split(|c: char| !c.is_alphanumeric()) {
        let is_name = word.bytes().filter(u8::is_ascii_uppercase).count() >= SHORT_NAME;
        if is_name && word.len() >= SHORT_NAME {
            names.insert(word.to_lowercase());
        }
    }
    names
}

/// The least number of capitals in a short name.
const SHORT_NAME: usize = 3;

fn has_name(sentence: &str, names: &HashSet<String>) -> bool {
    let lower = sentence.to_lowercase();
    lower
        .split(|c: char| !c.is_alphanumeric() && c != '_')
        .any(|word| names.contains(word))
}
