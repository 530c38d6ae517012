//! Causes: what the assistant found to be behind a failure or a surprise. Who goes on without it
//! searches again, or mends what was not broken.
//!
//! ```text
//! The root cause is the port: the chart server listens on 4317.   in any remark
//! The error was because no chart was loaded.                      in an answer
//! ## Root cause                                                   names what is below it
//! ```
//!
//! A guess ("may be caused by") is no cause, and a reply that the next message corrects has none.

use super::budget::{MAX_HELD, POINT};
use super::fitting::keep_newest;
use super::prose::is_asking;
use super::quote::{is_narrower, quote_line, strip_marks};
use super::sections::CAUSE_LEAD;
use super::turns::Turn;
use super::words::compile_expression;
use regex::Regex;
use std::sync::LazyLock;
use unicode_segmentation::UnicodeSegmentation;

/// The words with which a sentence states a cause, also in a remark on the way.
const STATES: &str = r"(?ix)(^|\W)root\ cause\b[^.?]*(\W(is|was)\W|:|—)
    | (^|\W)(real|actual|underlying|true|main)\ (cause|culprit|reason)\b[^.?]*\W(is|was)\W
    | (^|\W)the\ (cause|culprit)\b[^.?]*\W(is|was)\W | \W(is|was|were)\ caused\ by\W
    | (^|\W)die\ ursache\b[^.?]*\W(ist|war)\W | (^|\W)(lag|liegt)\ daran,
    | (^|\W)la\ (causa|cause)\b[^.?]*\W(es|era|fue|est|était|è)\W
    | (^|\W)a\ causa\b[^.?]*\W(é|era|foi)\W | (^|\W)причина\W
    | (根本)?原因(は|是|在于|为|:|：) | 根因(は|是|在于|为|:|：) | 主因(は|是|:|：) | が原因 | が主因
    | 问题(出在|在于) | 원인(은|이|:|입니다) | สาเหตุ(คือ|มาจาก|:)";

/// The words with which a sentence of an answer states a cause. On the way, they describe what is
/// looked at: "The issue is that the test fails".
const EXPLAINS: &str = r"(?ix)
      (^|\W)the\ (issue|problem|error|bug|failure|crash)\W[^.?]*\W?((is|was)\ (that|because|due\ to)|comes?\ from|came\ from|lies\ in)\W
    | (^|\W)(it|this|that|which)\ (happen(s|ed)|fail(s|ed)|broke|crashe[sd])\ because\W
    | (^|\W)turned\ out\ (to\ be|that)\W
    | (^|\W)das\ problem\W[^.?]*\W?(ist|war),\ (dass|weil)\W
    | (^|\W)(el|o)\ problema\ (es|era|é)\ que\W | (^|\W)le\ problème\ (est|était|vient|venait)\W";

/// The words of a guess or of a search.
const GUESSES: &str = r"(?ix)(^|\W)(if|might|may|maybe|perhaps|probably|likely|possibl[ey]|could|would
      |whether|suspect|find|check|see|verify|identify|investigate|not|unclear|unknown|seems?
      |appears?|assum(e|ed|ing|ption)|hypothes[ei]s|unless|vielleicht|vermutlich|wohl|könnte
      |quizás|podría|talvez|peut-être|возможно)(\W|$)
    | 可能 | なら | 候補 | 也许 | かも | 아마 | 수\ 있 | 확인 | อาจ";

/// The words of a sentence about a cause that does not say what it is: it is another one, it was
/// analysed, or it is the reason for a choice.
const OTHER_STATEMENTS: &str = r"(?ix)^\W*(no|none|neither)\W
    | \W(cause|culprit|reason)\ (isn|wasn)['’]t\W | ruled\ out
    | \W(cause|failure)\ (analysis|report)
    | \Wreason\ (for\ (choosing|picking|preferring|using)|(I|we)\ (chose|picked|prefer|use))\W";

/// Words, or parts of them, of which each sentence that states a cause has one, and each name of
/// what is below it. Without them, as in most remarks, the expressions are not even compiled.
const STEMS: [&str; 22] = [
    " cause",
    "Cause",
    "culprit",
    " reason",
    "because",
    "due to",
    "urned out",
    "came from",
    "comes from",
    "lies in",
    "is that",
    "was that",
    "rsache",
    "daran",
    "Das Problem",
    "causa",
    "problem",
    "причин",
    "因",
    "问题",
    "원인",
    "สาเหตุ",
];

/// The names of a section or a line below which a cause is stated.
const NAMES: [&str; 8] = [
    "root cause",
    "cause",
    "ursache",
    "causa raíz",
    "causa",
    "原因",
    "根本原因",
    "원인",
];
/// A name of more columns is a sentence.
const LONGEST_NAME: usize = 40;
/// A sentence of fewer columns says too little.
const SHORTEST_CAUSE: usize = 30;
/// The number of newest causes that are listed.
const MOST_LISTED: usize = 3;

/// The causes that the assistant found, oldest first.
#[derive(Default)]
pub(super) struct Causes(Vec<Cause>);

struct Cause {
    text: String,
    turn_number: usize,
}

impl Causes {
    /// Adds the first cause in each remark of a turn.
    pub fn add_turn(&mut self, turn: &Turn) {
        for (index, remark) in turn.remarks.iter().enumerate() {
            let is_answer = turn.is_replied_to() && index + 1 == turn.remarks.len();
            let Some(text) = find_cause(remark, is_answer) else {
                continue;
            };
            self.0.retain(|known| known.text != text);
            self.0.push(Cause {
                text: text.to_owned(),
                turn_number: turn.number,
            });
        }
        let excess = self.0.len().saturating_sub(MAX_HELD);
        self.0.drain(..excess);
    }

    /// Drops the causes of a turn, whose reply was corrected.
    pub fn drop_of_turn(&mut self, turn_number: usize) {
        self.0.retain(|cause| cause.turn_number != turn_number);
    }

    /// Lists the newest causes, oldest first and in at most `max` UTF-16 units, but not those that
    /// are in a text which the summary quotes as well.
    pub fn describe(&self, max: usize, quoted_texts: &[&str]) -> Vec<String> {
        let mut points = Vec::new();
        for cause in &self.0 {
            let quotation = quote_line(&cause.text, POINT);
            let words = quotation.trim_matches(['"', '…']);
            if quoted_texts.iter().any(|text| text.contains(words)) {
                continue;
            }
            points.push(format!("{CAUSE_LEAD}{quotation}"));
        }
        let excess = points.len().saturating_sub(MOST_LISTED);
        keep_newest(points.split_off(excess), max)
    }
}

/// Finds the first sentence of a remark that states a cause: what follows it mostly explains it.
/// `None` if there is none.
fn find_cause(remark: &str, is_answer: bool) -> Option<&str> {
    static STATEMENT: LazyLock<Regex> = LazyLock::new(|| compile_expression(STATES));
    static EXPLANATION: LazyLock<Regex> = LazyLock::new(|| compile_expression(EXPLAINS));

    if !STEMS.iter().any(|stem| remark.contains(stem)) {
        return None;
    }
    let states_cause =
        |text: &str| STATEMENT.is_match(text) || is_answer && EXPLANATION.is_match(text);

    let mut is_below_name = false;
    let mut is_fenced = false;
    // Headings are no prose, so the lines of prose alone would not do.
    for line in remark.lines() {
        if line.trim().is_empty() {
            continue;
        }
        let is_fence = line.trim_start().starts_with("```");
        if is_fence {
            is_fenced = !is_fenced;
        }
        let is_quotation = line.starts_with(['`', '>', '|', '\t']);
        if is_fence || is_fenced || is_quotation {
            // The prose below it is about the quotation.
            is_below_name = false;
            continue;
        }
        // A section without text has no cause.
        is_below_name &= !line.starts_with('#');
        // Most lines state none, and dividing them into sentences takes long.
        if is_below_name || states_cause(line) {
            for sentence in line.unicode_sentences() {
                if (is_below_name || states_cause(sentence)) && is_quotable(sentence) {
                    return Some(strip_marks(sentence.trim()));
                }
            }
        }
        is_below_name = names_cause(line);
    }
    None
}

/// Whether a line is only a name of what is below it: `## Root cause`, `**Cause:**`.
fn names_cause(line: &str) -> bool {
    let text = line.trim();
    let is_name = text.starts_with(['#', '*']) || text.ends_with([':', '：']);
    if !is_name || !is_narrower(text, LONGEST_NAME) {
        return false;
    }
    let name = text.trim_matches(|c: char| !c.is_alphanumeric());
    NAMES.contains(&&*name.to_lowercase())
}

/// Whether a sentence is long enough to say what the cause is, and neither asks nor guesses.
fn is_quotable(sentence: &str) -> bool {
    static GUESS: LazyLock<Regex> = LazyLock::new(|| compile_expression(GUESSES));
    static OTHER: LazyLock<Regex> = LazyLock::new(|| compile_expression(OTHER_STATEMENTS));

    let text = sentence.trim();
    let announces = text.ends_with([':', '：']);
    if announces || is_asking(text) || is_narrower(text, SHORTEST_CAUSE) {
        return false;
    }
    !GUESS.is_match(text) && !OTHER.is_match(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cause_is_found_by_the_words_that_state_it() {
        let port = "The root cause is the port: the server listens on 4317.";
        let chart = "The error was because no chart was loaded by the server.";
        for (remark, is_answer, expected) in [
            (port, false, Some(port)),
            (chart, true, Some(chart)),
            (chart, false, None),
            (
                "Fixed.\n\n## Root cause\n\nThe server listens on port 4317. I changed it.",
                false,
                Some("The server listens on port 4317."),
            ),
            (
                "原因は `Origin` ではなく `permessage-deflate` です。",
                false,
                Some("原因は `Origin` ではなく `permessage-deflate` です。"),
            ),
            (
                "- The crash was caused by a frame that is too wide.",
                false,
                Some("The crash was caused by a frame that is too wide."),
            ),
            (
                "The crash may be caused by a frame that is too wide.",
                true,
                None,
            ),
            ("The cause is the frame.", true, None),
            (
                "The root cause is the port on which the server listens.",
                false,
                Some("The root cause is the port on which the server listens."),
            ),
            (
                "Die Ursache ist der Port, auf dem der Server wartet.",
                false,
                Some("Die Ursache ist der Port, auf dem der Server wartet."),
            ),
            (
                "The root cause is unclear, because the log of the server is empty.",
                true,
                None,
            ),
            (
                "The root cause isn't the port: the server listens on 4317.",
                true,
                None,
            ),
            (
                "No failure was caused by the change of the chart server.",
                true,
                None,
            ),
            (
                "The root cause analysis was requested by the harbour master.",
                true,
                None,
            ),
            (
                "The main reason for choosing SQLite over Postgres is its size.",
                true,
                None,
            ),
            (
                "## Root cause\n```\nport 4317\n```\nI have pushed the branch of the chart.",
                true,
                None,
            ),
            (
                "## Root cause\n\n## What I changed in the chart server of the harbour",
                true,
                None,
            ),
            (
                "Is it clear that the root cause is the frame of the map?",
                true,
                None,
            ),
            (
                "Now I look for what the root cause is, to verify the map:",
                true,
                None,
            ),
            (
                "```\nthe root cause is the frame of this old map\n```",
                true,
                None,
            ),
            ("", true, None),
        ] {
            assert_eq!(find_cause(remark, is_answer), expected, "{remark}");
        }
    }
}
