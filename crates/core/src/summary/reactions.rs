//! Reactions: what the user said to a reply in which a call failed.

use super::prose::is_asking;
use super::questions::statement_before_question;
use super::referents::{follows_on, shares_word};
use super::tool_calls::ToolHistory;
use super::tool_run::ToolRun;
use super::turns::Turn;
use super::words::compile_expression;
use regex::Regex;
use std::sync::LazyLock;

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
    | ((^|\W)(is|are|was|were|been|have|ve|s|re|now|all|everything)\ ((just|now|all|finally|already|again)\ )?|^\W*)
      ( fixed(\W*$|\W+(it|that|this|them|the|those|my|our|all|both|now|again|too|by|in|here|already|for)(\W|$))
      | working(\W*$|\W+(now|again|fine|well|too|here|locally|properly|correctly|as|for\ me)(\W|$)))";

/// The words with which such a report is denied, or with which it is a demand. "make" alone may be
/// the program: "make test works now".
const DENIES: &str = r"(?ix)(^|\W)(not?|never|nothing|don[’']?t|doesn[’']?t|isn[’']?t|won[’']?t|still|nicht|nie|kein|noch
    | pas|toujours|non|ancora|todavía|sigue|не|if|when|wenn|si|once
    | please|should|must|shall|would|could|keep|get|want|wants|need|needs|ensure|until|whether|how|what|so\ that
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
    /// Finds what the user said to a turn in which a run failed, if that most likely concerns the
    /// failure. A question at the end of the message is left out. `None` if the message answers a
    /// question about something else, or is the current request, which is quoted elsewhere.
    pub fn find_reaction<'t>(
        &self,
        run: &ToolRun,
        turn: &'t Turn,
        next_turn: Option<&'t Turn>,
    ) -> Option<Reaction<'t>> {
        // An answer that called for no work belongs to the turn itself.
        if let Some(nod) = turn.unworked_nod() {
            return Some(Reaction::Remark(nod));
        }
        let next_turn = next_turn?;
        let words = statement_before_question(&next_turn.request);
        let is_current = next_turn.number == self.turn_number;
        if is_current || words.is_empty() || answers_other_question(run, turn, words) {
            return None;
        }
        if next_turn.call_count == 0 {
            return Some(Reaction::Remark(words));
        }
        // A request that called for work may be about anything, unless the reply before it reported
        // the failure.
        let is_reported = turn.is_answered() && is_about(run, turn.last_words());
        is_reported.then_some(Reaction::Request(words))
    }
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
        && !is_about(run, question)
}

/// Whether a text names the step of a run that failed, or has a word of its output.
pub(super) fn is_about(run: &ToolRun, text: &str) -> bool {
    let is_named = run.failed_step().is_some_and(|step| step.is_named_in(text));
    is_named || shares_word(&run.output, text)
}
