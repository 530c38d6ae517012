//! What the user puts off of a turn. A failure that is put off blocks nothing: it is a decision.

use super::budget::OLDEST;
use super::deferrals::is_deferral;
use super::quote::quote_line;
use super::sections::PUT_OFF_LEAD;
use super::tool_calls::describe_call;
use super::tool_run::ToolRun;
use super::turns::Turn;
use super::words::compile_expression;
use regex::Regex;
use std::sync::LazyLock;

/// The words with which the user will do something, or has to think first.
const PROMISES: &str = r"(?ix)(^|\W)(
    i[’']?ll | i\ will | i[’']?m\ (going|off) | i\ (need|have|must|got)\ to
      | i\ (ask|sort|fix|check|do) | let\ me
    | ich\ (mach|mache|frag|frage|muss|schau|schaue|kümmer|kümmere|werde|hole|bringe)
    | (mach|frag|schau|hol)e?\ ich | je\ (vais|demande|dois|regarde) | voy\ a | tengo\ que
      | lo\ hago
    )(\W|$)
    | 我来 | 我去 | 我会 | 我先 | سأ";

/// The words with which the assistant asks the user to do something.
const PLEAS: &str = r"(?ix)(^|\W)(
    (can|could|would|will)\ you | you\ (can|could|would|need\ to|have\ to|must)
    | (kannst|könntest|magst)\ du | (können|könnten|würden)\ sie | (peux|pourrais)-tu
      | (pouvez|pourriez)-vous
    | puedes | podrías | puede\ usted | puoi | potresti | можешь | можете
    )(\W|$)
    | 请你 | 请您 | 你能 | 您能 | 你可以 | هل\ يمكنك";

/// Whether the user puts off what a turn reports. If the assistant asked for something that only
/// the user can do, or the user promises to do something, the work waits for that instead.
pub(super) fn is_put_off(turn: &Turn, message: &str) -> bool {
    static PROMISE: LazyLock<Regex> = LazyLock::new(|| compile_expression(PROMISES));
    static PLEA: LazyLock<Regex> = LazyLock::new(|| compile_expression(PLEAS));
    if !is_deferral(message) || PROMISE.is_match(message) {
        return false;
    }
    let proposal = turn.proposal_before_answer();
    !proposal.is_some_and(|proposal| PLEA.is_match(proposal.sentence()))
}

/// A failure that the user put off.
pub(super) struct PutOffFailure {
    /// What the user said, quoted.
    words: String,
    /// What failed, and how.
    description: String,
}

impl PutOffFailure {
    pub fn new(run: &ToolRun, words: &str) -> PutOffFailure {
        let mut description = format!("{}: {}", describe_call(&run.call), run.describe_outcome());
        if !run.output.is_empty() {
            description.push_str(&format!(": {}", quote_line(&run.output, OLDEST)));
        }
        PutOffFailure {
            words: quote_line(words, OLDEST),
            description,
        }
    }

    /// Adds it to the decision that quotes the user's words or, without one, as a decision.
    pub fn add_to(&self, decisions: &mut Vec<String>) {
        let deferral = format!("{PUT_OFF_LEAD}: {}", self.words);
        let answer = format!("the user answered {}", self.words);
        let failure = format!("; what failed: {}", self.description);
        for decision in decisions.iter_mut().rev() {
            if decision.starts_with(&deferral) || decision.contains(&answer) {
                decision.push_str(&failure);
                return;
            }
        }
        decisions.push(format!("{deferral}{failure}"));
    }
}
