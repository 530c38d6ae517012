//! What the user says through a tool: the answers to the questions of a call, and the words with
//! which a call is refused.

use pisess_json::Raw;

/// What precedes the user's words in the result of a call that the user refused.
const REFUSAL_LEADS: [&str; 2] = [
    "reason for the rejection:",
    "To tell you how to proceed, the user said:",
];

/// The first words of the result of a call that the user refused.
const REFUSAL: &str = "The user doesn't want to proceed with this tool use";

/// The names of the tools that ask the user, of agents and extensions, as letters in lower case. A
/// tool of another name may have a question as well, but its answer is not the user's: DeepWiki's
/// `ask_question` searches documents.
const ASKING_TOOLS: [&str; 8] = [
    "ask",
    "askuser",
    "askuserquestion",
    "askfollowupquestion",
    "question",
    "questions",
    "questionnaire",
    "requestuserinput",
];

/// Whether a tool asks the user, by its name: `AskUserQuestion`, `ask_user`.
pub(super) fn asks_user(tool: &str) -> bool {
    let letters: String = tool.chars().filter(char::is_ascii_alphabetic).collect();
    ASKING_TOOLS.contains(&letters.to_ascii_lowercase().as_str())
}

/// Whether a failed result says that the user refused the call.
pub(super) fn is_refusal(output: &str) -> bool {
    output.starts_with(REFUSAL)
}

/// Returns the words with which the user refused a call, which are in its result. `None` if the
/// user said nothing, or if the result is of another kind.
pub(super) fn words_of_refusal(output: &str) -> Option<&str> {
    if !is_refusal(output) {
        return None;
    }
    for lead in REFUSAL_LEADS {
        if let Some((_, words)) = output.split_once(lead) {
            let words = words.trim();
            return (!words.is_empty()).then_some(words);
        }
    }
    None
}

/// An answer to a question of a call.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct ToolAnswer {
    /// The question or, if the result does not repeat it, its name.
    pub question: String,
    pub answer: String,
}

/// Reads the answers in the result of a call that asked. Three forms are known; of any other, no
/// answer is returned:
///
/// - `"Which map?"="the old one", "How wide?"="3 m"`, after some words;
/// - `{"answers":{"map":{"answers":["the old one"]}}}`;
/// - `Which map? -> the old one`, a line for each question.
pub(super) fn read_answers(output: &str) -> Vec<ToolAnswer> {
    if output.starts_with('{') {
        return read_json_answers(output);
    }
    let quoted = read_quoted_answers(output);
    if !quoted.is_empty() {
        return quoted;
    }
    read_arrow_answers(output)
}

/// Reads answers as Codex stores them. A question has a name (`map_kind`) in place of its text, and
/// may have several answers: `{"answers":{"map_kind":{"answers":["the old one","with names"]}}}`.
fn read_json_answers(output: &str) -> Vec<ToolAnswer> {
    let Ok(result) = Raw::parse(output.as_bytes()) else {
        return Vec::new();
    };
    let mut all = Vec::new();
    for (name, value) in result.get("answers").unwrap_or(Raw::NULL).members() {
        let mut answers = Vec::new();
        for answer in value.get("answers").unwrap_or(Raw::NULL).items() {
            let text = answer.text().unwrap_or_default().into_string_lossy();
            answers.push(text.trim_start_matches("user_note: ").to_owned());
        }
        if answers.is_empty() {
            continue;
        }
        all.push(ToolAnswer {
            question: name.text().into_string_lossy().replace('_', " "),
            answer: without_advice(&answers.join("; ")),
        });
    }
    all
}

/// Reads answers in quotation marks: `"Which map?"="the old one", "How wide?"="3 m"`. They are not
/// escaped, and may have quotation marks in them.
fn read_quoted_answers(output: &str) -> Vec<ToolAnswer> {
    let mut parts = output.split("\"=\"");
    let mut before = parts.next().unwrap_or_default();
    let mut all = Vec::new();
    // Each part is an answer and the next question, so that each is searched once.
    for part in parts {
        let question = before.rsplit_once('"').map_or(before, |(_, text)| text);
        let (answer, rest) = part.split_at(quoted_answer_len(part));
        all.push(ToolAnswer {
            question: question.to_owned(),
            answer: without_advice(answer),
        });
        before = rest;
    }
    all
}

/// Returns the length in bytes of the answer that a text begins with: up to the quotation mark
/// before the next question or the next sentence, or else up to the last quotation mark.
fn quoted_answer_len(text: &str) -> usize {
    for end_mark in ["\", \"", "\". "] {
        if let Some(end) = text.find(end_mark) {
            return end;
        }
    }
    text.rfind('"').unwrap_or(text.len())
}

/// Reads answers in lines of their own: `Which map? -> the old one`.
fn read_arrow_answers(output: &str) -> Vec<ToolAnswer> {
    let mut all = Vec::new();
    for line in output.lines() {
        let Some((question, answer)) = line.split_once(" -> ").or(line.split_once(" → ")) else {
            continue;
        };
        let question = question.trim();
        let answer = answer.trim();
        // Other lines have arrows, too, as those of logs.
        if !question.ends_with(['?', '？']) || answer.is_empty() {
            continue;
        }
        all.push(ToolAnswer {
            question: question.to_owned(),
            answer: without_advice(answer),
        });
    }
    all
}

/// Returns an answer without the mark of the option that the assistant advised.
fn without_advice(answer: &str) -> String {
    answer.replace(" (Recommended)", "")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(question: &str, answer: &str) -> ToolAnswer {
        ToolAnswer {
            question: question.to_owned(),
            answer: answer.to_owned(),
        }
    }

    #[test]
    fn answers_are_read_in_each_form() {
        let map = answer("Which map?", "the old one");
        for (output, expected) in [
            (
                r#"User has answered your questions: "Which map?"="the old one", "How wide?"="3 m (Recommended)". You can go on."#,
                vec![
                    answer("Which map?", "the old one"),
                    answer("How wide?", "3 m"),
                ],
            ),
            (
                r#"{"answers":{"map_kind":{"answers":["the old one","user_note: with names"]},"none":{"answers":[]}}}"#,
                vec![answer("map kind", "the old one; with names")],
            ),
            ("Which map? -> the old one\nx -> y", vec![map]),
            (
                r#"Answered: "Which "old" map?"="a", "Why?"="b"."#,
                vec![answer(" map?", "a"), answer("Why?", "b")],
            ),
            (
                r#"Answered: "Which map?"="the "old" one""#,
                vec![answer("Which map?", r#"the "old" one"#)],
            ),
            ("{\"answers\":", Vec::new()),
            ("not available in this mode", Vec::new()),
        ] {
            assert_eq!(read_answers(output), expected, "{output}");
        }
    }

    #[test]
    fn a_refusal_has_words_or_none() {
        let refusal = |rest: &str| format!("{REFUSAL}. The tool use was rejected. {rest}");
        for (output, words) in [
            (
                refusal("The user provided the following reason for the rejection:  in French"),
                Some("in French"),
            ),
            (
                refusal("To tell you how to proceed, the user said:\nno frames"),
                Some("no frames"),
            ),
            (refusal("STOP what you are doing."), None),
            ("reason for the rejection: x".to_owned(), None),
        ] {
            assert_eq!(words_of_refusal(&output), words);
        }
    }
}
