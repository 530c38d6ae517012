//! Deferrals: what the user puts off. A failure that is put off blocks nothing: it is a decision.

use super::budget::{LONG_REQUEST, OLDEST};
use super::quote::{is_narrower, quote_line};
use super::sections::PUT_OFF_LEAD;
use super::tool_calls::describe_call;
use super::tool_run::ToolRun;
use super::turns::Turn;
use super::words::compile_expression;
use regex::Regex;
use std::sync::LazyLock;

/// The words with which a clause puts something off. They have spaces at both ends, so that no part
/// of a longer word is found.
const DEFERRALS: [&str; 27] = [
    " maybe later ",
    " perhaps later ",
    " not now ",
    " not today ",
    " another time ",
    " other time ",
    " another day ",
    " can wait ",
    " no rush ",
    " no hurry ",
    " leave it for ",
    " leave it until ",
    " leave it as it is ",
    " leave it as is ",
    " leave that for ",
    " leave this for ",
    " leave that as it is ",
    " leave that as is ",
    " nicht jetzt ",
    " erstmal nicht ",
    " erst mal nicht ",
    " vorerst nicht ",
    " ein andermal ",
    " hat zeit ",
    " pas maintenant ",
    " ahora no ",
    " не сейчас ",
];

/// The words with which a clause puts something off, or leaves it as it is, if nothing follows:
/// "the later one" and "leave it at 15" choose.
const LAST_WORDS: [&str; 22] = [
    " later ",
    " later maybe ",
    " later please ",
    " later on ",
    " later then ",
    " leave it ",
    " leave that ",
    " leave this ",
    " leave them ",
    " ignore it ",
    " ignore that ",
    " skip it ",
    " skip that ",
    " park it ",
    " lass es ",
    " lass das ",
    " lass sie ",
    " laisse ça ",
    " laisse comme ça ",
    " luego ",
    " déjalo ",
    " потом ",
];

/// The words with which a clause puts something off if it has little else: "the test is not yet
/// green" reports a state, and "eine Stunde später fahren" changes a time.
const SHORT_DEFERRALS: [&str; 6] = [
    " not yet ",
    " später ",
    " plus tard ",
    " más tarde ",
    " più tardi ",
    " позже ",
];

/// The maximum number of words in a clause with one of these.
const SHORT_CLAUSE: usize = 3;

/// The same in scripts without spaces between words, and in Arabic, whose words take prefixes.
const UNSPACED_DEFERRALS: [&str; 13] = [
    "以后再",
    "稍后",
    "回头再",
    "先不",
    "暂时不",
    "先放着",
    "後で",
    "あとで",
    "나중에",
    "لاحقا",
    "لاحقًا",
    "ليس الآن",
    "فيما بعد",
];

/// The words with which the user will do something, or has to think first.
const PROMISES: &str = r"(?ix)(^|\W)(
    i[’']?ll | i\ will | i[’']?m\ (going|off) | i\ (need|have|must|got)\ to | i\ (ask|sort|fix|check|do) | let\ me
    | ich\ (mach|mache|frag|frage|muss|schau|schaue|kümmer|kümmere|werde|hole|bringe)
    | (mach|frag|schau|hol)e?\ ich | je\ (vais|demande|dois|regarde) | voy\ a | tengo\ que | lo\ hago
    )(\W|$)
    | 我来 | 我去 | 我会 | 我先 | سأ";

/// The words with which the assistant asks the user to do something.
const PLEAS: &str = r"(?ix)(^|\W)(
    (can|could|would|will)\ you | you\ (can|could|would|need\ to|have\ to|must)
    | (kannst|könntest|magst)\ du | (können|könnten|würden)\ sie | (peux|pourrais)-tu | (pouvez|pourriez)-vous
    | puedes | podrías | puede\ usted | puoi | potresti | можешь | можете
    )(\W|$)
    | 请你 | 请您 | 你能 | 您能 | 你可以 | هل\ يمكنك";

/// Whether a short message postpones what it answers: "hm, later maybe", "not now". Words are
/// compared one by one, because a regular expression would have to be compiled for almost every
/// session.
pub(super) fn is_deferral(message: &str) -> bool {
    if !is_narrower(message, LONG_REQUEST) {
        return false;
    }
    let lower = message.to_lowercase();
    if UNSPACED_DEFERRALS.iter().any(|words| lower.contains(words)) {
        return true;
    }
    lower
        .split([',', '.', ';', '!', '?'])
        .any(is_deferring_clause)
}

/// Whether a clause in lower case has the words of a deferral.
fn is_deferring_clause(clause: &str) -> bool {
    let words: Vec<&str> = clause.split_whitespace().collect();
    let spaced = format!(" {} ", words.join(" "));
    if DEFERRALS.iter().any(|phrase| spaced.contains(phrase)) {
        return true;
    }
    let has_last_words = LAST_WORDS.iter().any(|phrase| spaced.ends_with(phrase));
    if has_last_words && !compares_times(&words) {
        return true;
    }
    let has_short_words = SHORT_DEFERRALS.iter().any(|phrase| spaced.contains(phrase));
    // "not yet fixed" reports a state.
    let is_state = spaced.contains(" not yet ") && !spaced.ends_with(" not yet ");
    words.len() <= SHORT_CLAUSE && has_short_words && !is_state
}

/// Whether "later" at the end of a clause compares times: "a second later", "it starts later". In
/// "draw the harbours later", an article shows that the word before it is no verb.
fn compares_times(words: &[&str]) -> bool {
    const TIMES: [&str; 8] = [
        "second", "minute", "hour", "day", "week", "month", "year", "bit",
    ];
    const BEFORE_NOUNS: [&str; 8] = ["the", "these", "those", "all", "my", "our", "your", "other"];

    let [.., before_last, last, "later"] = words else {
        return false;
    };
    let may_be_verb = last.ends_with('s') && *last != "this" && !BEFORE_NOUNS.contains(before_last);
    may_be_verb || TIMES.contains(last)
}

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
        let quoting = decisions
            .iter_mut()
            .rfind(|known| known.starts_with(&deferral) || known.contains(&answer));
        match quoting {
            Some(decision) => decision.push_str(&format!("; what failed: {}", self.description)),
            None => decisions.push(format!("{deferral}; what failed: {}", self.description)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deferral_is_told_from_a_choice() {
        for (message, is_expected) in [
            ("later", true),
            ("hm, later maybe. the map does not need it", true),
            ("not now", true),
            ("leave it, the captain has the key", true),
            ("erstmal nicht", true),
            ("以后再说", true),
            ("لاحقا", true),
            ("no, not yet", true),
            ("hm, vielleicht später", true),
            ("plus tard", true),
            ("leave it as it is for now", true),
            ("let's do this later", true),
            ("draw the harbours later", true),
            ("make test is not yet green, go on", false),
            ("still red, not yet fixed", false),
            ("the export should not yet contain the harbours", false),
            ("Lass die Fähre eine Stunde später fahren.", false),
            ("leave it as a list, but sort it by name", false),
            (
                "make test fails a second later on CI, too: starts later",
                false,
            ),
            ("it leaves an hour later", false),
            ("then leave it at 15", false),
            ("take the later one", false),
            ("wait until the ink is dry", false),
            ("now the harbours", false),
        ] {
            assert_eq!(is_deferral(message), is_expected, "{message}");
        }
    }
}
