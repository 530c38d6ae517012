//! Reactions: what the user said to a reply in which a call failed.

use super::budget::LONG_REQUEST;
use super::command_step::CommandStep;
use super::failures::FailedStep;
use super::prose::is_asking;
use super::questions::{begins_as_answer, statement_before_question};
use super::quote::is_narrower;
use super::referents::{follows_on, points_back, shares_word};
use super::tool_calls::ToolHistory;
use super::tool_run::ToolRun;
use super::turns::Turn;
use super::words::{compile_expression, content_words, naming_words};
use foldhash::HashSet;
use regex::Regex;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// What the user said after a reply in which a call failed.
pub(super) enum Reaction<'t> {
    /// A message that called for no work, so it is most likely about the failure.
    Remark(&'t str),
    /// The next request, after a reply that reported the failure.
    Request(&'t str),
}

impl<'t> Reaction<'t> {
    pub fn words(&self) -> &'t str {
        match self {
            Reaction::Remark(words) | Reaction::Request(words) => words,
        }
    }
}

/// The words with which a user reports that what failed works now. "fixed" and "working" may also
/// be what is wanted, or describe a thing ("fixed positions") or a person ("working from home"). So
/// a verb or the start must precede them, and none but a few words may follow them.
const WORKS: &str = r"(?ix)(^|\W)(
    works | work\ (now|again|fine|well) | (do|does|they|both|all)\ work
    | (i|we)\ ((just|now|already)\ )?fixed
    | läuft|geht|klappt|funktioniert|marche|fonctionne|funciona|funziona|работает)(\W|$)
    | ((^|\W)(is|are|was|were|been|have|ve|s|re|now|all|everything)
        \ ((just|now|all|finally|already|again)\ )?|^\W*)
      ( fixed(\W*$
        |\W+(it|that|this|them|the|those|my|our|all|both|now|again|too|by|in|here
          |already|for)(\W|$))
      | working(\W*$
        |\W+(now|again|fine|well|too|here|locally|properly|correctly|as|for\ me)(\W|$)))";

/// The words with which such a report is denied, or with which it is a demand. "make" alone may be
/// the program: "make test works now".
const DENIES: &str = r"(?ix)(^|\W)(not?|never|nothing|don[’']?t|doesn[’']?t|isn[’']?t|won[’']?t
      |still|nicht|nie|kein|noch
    | pas|toujours|non|ancora|todavía|sigue|не|if|when|wenn|si|once
    | please|should|must|shall|would|could|keep|get|want|wants|need|needs|ensure|until|whether|how
      |what|so\ that
    | make\ (it|sure|that|this|them|the|everything|all)
    | bitte|dass|damit|bis|soll|sollte|muss|wie|que|pour|comment|cómo|come|чтобы)(\W|$)|\?";

/// Whether the first sentence of a message reports that something works.
pub(super) fn reports_success(message: &str) -> bool {
    static SUCCESS: LazyLock<Regex> = LazyLock::new(|| compile_expression(WORKS));
    static DENIAL: LazyLock<Regex> = LazyLock::new(|| compile_expression(DENIES));
    let first_sentence = message
        .split(['.', '!', ';', ',', '\n'])
        .next()
        .unwrap_or_default();
    SUCCESS.is_match(first_sentence) && !DENIAL.is_match(first_sentence)
}

impl ToolHistory {
    /// Finds what the user said to the turn in which a step failed, if that most likely concerns
    /// the failure. A question at the end of the message is left out. `None` if the message answers
    /// a question about something else, or is the current request, which is quoted elsewhere.
    pub fn find_reaction<'t>(&self, failure: &FailedStep<'t>) -> Option<Reaction<'t>> {
        let FailedStep { run, step, .. } = *failure;
        let turn = failure.turn?;
        // An answer that called for no work belongs to the turn itself.
        if let Some(nod) = turn.unworked_nod() {
            return Some(Reaction::Remark(nod));
        }

        let next_turn = failure.next_turn()?;
        let words = statement_before_question(&next_turn.request);
        let is_current = next_turn.number == self.turn_number;
        // A command, as `/review`, begins something else.
        let is_command = words.starts_with('/');
        let is_elsewhere = is_current || words.is_empty() || is_command;
        if is_elsewhere || answers_other_question(run, turn, words) {
            return None;
        }
        let calls_for_work = next_turn.call_count > 0;
        if calls_for_work {
            let is_about_failure =
                turn.is_answered() && goes_on_from_failure(run, step, turn, words);
            is_about_failure.then_some(Reaction::Request(words))
        } else {
            is_remark_on(run, words).then_some(Reaction::Remark(words))
        }
    }
}

/// Whether a message that called for no work is most likely about a failed run. A long one may be
/// about anything: it was sent in a row of others.
fn is_remark_on(run: &ToolRun, message: &str) -> bool {
    if is_narrower(message, LONG_REQUEST) || points_back(message) || begins_as_answer(message) {
        return true;
    }
    !message.contains('\n') && may_be_about(run, message)
}

/// Whether a message that called for work is most likely about a failed run of the turn before. It
/// may be about anything, unless the reply before it reported the failure for certain; or may have,
/// and the message goes on from that.
fn goes_on_from_failure(run: &ToolRun, step: &CommandStep, turn: &Turn, message: &str) -> bool {
    let reply = turn.last_words();
    if reports_failure_of(step, reply) {
        return true;
    }
    let goes_on = points_back(message) || is_about(run, message) || begins_as_answer(message);
    goes_on && is_about(run, reply)
}

/// Whether a message answers a question at the end of a reply that has nothing to do with a failed
/// run. A question that names nothing, such as "Can you make one?", is about what was said before.
fn answers_other_question(run: &ToolRun, turn: &Turn, message: &str) -> bool {
    let Some(proposal) = turn.proposal() else {
        return false;
    };
    let question = proposal.sentence();
    is_asking(question)
        && proposal.is_answered_by(message)
        && !follows_on(question)
        && !may_be_about(run, question)
}

/// Whether a text may be about a failed run: it is about it, or has a single word of its output.
pub(super) fn may_be_about(run: &ToolRun, text: &str) -> bool {
    is_about(run, text) || shares_word(&run.output, text)
}

/// Whether a text names the step of a run that failed, or its program, or has [`SHARED_WORDS`]
/// words of its output, or the only one, or a path of it. A single word such as "tests" or "error"
/// is in most replies.
pub(super) fn is_about(run: &ToolRun, text: &str) -> bool {
    let is_named = run
        .failed_step()
        .is_some_and(|step| step.is_named_in(text) || step.is_distinct_program_named_in(text));
    is_named || shares_words(&run.output, text)
}

/// The words with which a reply says that something else was used in place of what is missing.
const USED_INSTEAD: &str = r"(?ix)(^|\W)((so|therefore|hence|thus)\ (i|we)(\W|$)|instead
      |(daher|deshalb|darum|also)\ \w+\ (ich|wir)|stattdessen
    |(donc|alors)\ (je|j[’']|nous)|à\ la\ place|(así\ que|por\ eso)\ \w+|en\ su\ lugar)";

/// Whether a sentence of a text names the missing program of a step, and what was used in its
/// place.
pub(super) fn reports_replacement_of(step: &CommandStep, text: &str) -> bool {
    static REPLACEMENT: LazyLock<Regex> = LazyLock::new(|| compile_expression(USED_INSTEAD));
    text.lines()
        .flat_map(str::unicode_sentences)
        .any(|sentence| step.is_program_named_in(sentence) && REPLACEMENT.is_match(sentence))
}

/// The least number of words of an output in a text that is about it.
const SHARED_WORDS: usize = 2;

/// Whether a text has [`SHARED_WORDS`] words of content of an output, or the only one that the
/// output has. If it has fewer, a path of the output must be in the text, too.
fn shares_words(output: &str, text: &str) -> bool {
    let lower_output = output.to_lowercase();
    let reported: HashSet<&str> = content_words(&lower_output).collect();
    let lower_text = text.to_lowercase();
    let said: HashSet<&str> = content_words(&lower_text).collect();

    let shared_count = reported.intersection(&said).count();
    if shared_count == 0 {
        return false;
    }
    if shared_count >= SHARED_WORDS || shared_count == reported.len() {
        return true;
    }
    paths_in(&lower_output).any(|path| lower_text.contains(path))
}

/// Iterates over the paths and names of files in an output, without line numbers.
fn paths_in(output: &str) -> impl Iterator<Item = &str> {
    let words = output.split(|c: char| c.is_whitespace() || ":'\"`()[],".contains(c));
    words.filter(|word| word.len() >= SHORTEST_PATH && word.contains('/') && word.contains('.'))
}

/// A shorter path may be in any text.
const SHORTEST_PATH: usize = 6;

/// The words with which a reply speaks of a failure, besides those of outputs.
const SPEAKS_OF_FAILURE: &str = r"(?ix)(^|\W)((not|no|cannot|without|still|missing|missed|blocked
      |refused|red|broken|wrong|open|denied
      |nicht|rot|offen|noch|pas|sans|erreur|sin)(\W|$)
    |fail|error|crash|kein|fehl|n[’']\w|manque|échou|falta|falla) | \wn[’']t(\W|$)";

/// Whether a sentence of a text names a failed step, and speaks of a failure: "the test in tide.py
/// still fails", but not "Both charts are in out/tide.pdf".
pub(super) fn reports_failure_of(step: &CommandStep, text: &str) -> bool {
    let mut sentences = text.lines().flat_map(str::unicode_sentences);
    sentences.any(|sentence| step.is_named_in(sentence) && speaks_of_failure(sentence))
}

/// Whether a sentence of a text speaks of a failure, whichever it is.
pub(super) fn speaks_of_any_failure(text: &str) -> bool {
    let mut sentences = text.lines().flat_map(str::unicode_sentences);
    sentences.any(speaks_of_failure)
}

/// The words with which a reply says what the assistant did in another way, after what failed:
/// "it doesn't work there; I copied the files over ssh".
const DONE_OTHERWISE: &str = r"(?ix)[,;:.)–—]\ ((and|so|but)\ )?
    (i|we)([’']ve|\ have)?\ ((just|simply|now)\ )?
    (copied|used|took|wrote|built|moved|installed|replaced|switched)\W";

/// Words that most outputs of failures have, whatever failed.
pub(super) const WORDS_OF_OUTPUTS: [&str; 14] = [
    "build",
    "command",
    "completed",
    "error",
    "errors",
    "exited",
    "failed",
    "failure",
    "failures",
    "found",
    "passed",
    "tests",
    "warning",
    "warnings",
];

/// Whether a sentence of a text has a word of the output of a failed run that says what failed, and
/// speaks of a failure that is open: "the key is not valid". It is not if the same line says what
/// was done instead.
pub(super) fn explains_open_failure_of(run: &ToolRun, text: &str) -> bool {
    let lower_output = run.output.to_lowercase();
    let reported: HashSet<&str> = naming_words(&lower_output)
        .filter(|word| !WORDS_OF_OUTPUTS.contains(word))
        .collect();
    if reported.is_empty() {
        return false;
    }
    let explains = |sentence: &str| {
        let lower = sentence.to_lowercase();
        let names_failure = naming_words(&lower).any(|word| reported.contains(word));
        names_failure && speaks_of_failure(sentence)
    };
    for line in text.lines() {
        if line.unicode_sentences().any(explains) && !says_what_was_done(line) {
            return true;
        }
    }
    false
}

/// Whether a line of a text is about a failed run, and says what was done instead.
pub(super) fn is_got_round(run: &ToolRun, text: &str) -> bool {
    text.lines()
        .any(|line| says_what_was_done(line) && is_about(run, line))
}

fn says_what_was_done(line: &str) -> bool {
    static OTHERWISE: LazyLock<Regex> = LazyLock::new(|| compile_expression(DONE_OTHERWISE));
    OTHERWISE.is_match(line)
}

fn speaks_of_failure(sentence: &str) -> bool {
    static FAILURE: LazyLock<Regex> = LazyLock::new(|| compile_expression(SPEAKS_OF_FAILURE));
    FAILURE.is_match(sentence) || has_other_letters(sentence)
}

/// Whether a sentence has letters of a script whose words are not in the list.
fn has_other_letters(sentence: &str) -> bool {
    const LAST_LATIN_LETTER: char = '\u{24f}';
    sentence
        .chars()
        .any(|c| c > LAST_LATIN_LETTER && c.is_alphabetic())
}

/// The number of answered turns without a word on a failure after which it is most likely over.
const TURNS_PASSED_OVER: usize = 2;

/// Whether so many later turns were answered, and nobody spoke of the failure of a run in them.
pub(super) fn is_passed_over<'t>(
    run: &ToolRun,
    step: &CommandStep,
    later_turns: impl Iterator<Item = &'t Turn>,
) -> bool {
    let mut answered_count = 0;
    for turn in later_turns {
        for text in [turn.last_words(), &turn.request] {
            if reports_failure_of(step, text) || shares_words(&run.output, text) {
                return false;
            }
        }
        if turn.is_replied_to() {
            answered_count += 1;
        }
    }
    answered_count >= TURNS_PASSED_OVER
}
