//! `--hook CMD`: one JSON event on standard input, one JSON answer on standard output.
//!
//! Events and answers have the fields of the agents' own (`session_before_compact`,
//! `session_before_tree`, `context`). No output, `null` and `{}` mean: go on.

use super::failure::Failure;
use super::shell::Shell;
use crate::core::json::Raw;
use crate::core::text::Text;
use std::time::Duration;

/// What a hook answered.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// A summary, and its `details` as JSON where it gives some.
    pub summary: Option<(Text<'static>, Option<Vec<u8>>)>,
    /// Where the kept part begins: an entry's id.
    pub first_kept: Option<Text<'static>>,
    /// Other instructions for the summary.
    pub instructions: Option<String>,
    /// Whether they stand alone.
    pub replace_instructions: Option<bool>,
    /// A name for the summary.
    pub label: Option<Text<'static>>,
    /// Other messages, as JSON.
    pub messages: Option<Vec<u8>>,
}

/// Asks a hook. Its cancelling is an answer, too: exit 1.
pub fn ask(command: &str, timeout: f64, event: Vec<u8>) -> Result<Answer, Failure> {
    let shell = Shell { option: "--hook", command, timeout: Duration::from_secs_f64(timeout) };
    let output = shell.run(event)?;
    if output.trim_ascii().is_empty() {
        return Ok(Answer::default());
    }
    let answer = Raw::parse(&output).map_err(|_| shell.failed("its answer is no JSON"))?;
    if answer.is_null() {
        return Ok(Answer::default());
    }
    if !answer.is_object() {
        return Err(shell.failed("its answer is no JSON object"));
    }
    if answer.get("cancel").is_some_and(Raw::is_truthy) {
        return Err(Failure::no("the hook said cancel; nothing was written"));
    }
    read(answer).map_err(|what| shell.failed(what))
}

fn read(answer: Raw) -> Result<Answer, &'static str> {
    // pi puts a compaction's answer into `compaction`, a branch's into `summary`.
    let parts = answer.get_some("compaction").unwrap_or(answer);
    let summary = match parts.get_some("summary") {
        None => None,
        Some(text) if text.is_string() => Some((text, parts.get_some("details"))),
        Some(object) => {
            let text = object.get_some("summary").filter(|text| text.is_string());
            Some((text.ok_or("its `summary` holds no text")?, object.get_some("details")))
        }
    };
    let summary = match summary.map(|(text, details)| (text.text().unwrap_or_default(), details)) {
        Some((text, _)) if text.is_blank() => return Err("its summary is empty"),
        other => other.map(|(text, details)| (text.into_owned(), details.map(|json| json.bytes().to_vec()))),
    };
    let text = |from: Raw<'_>, key: &str, error| match from.get_some(key) {
        Some(value) => value.text().map(|text| Some(text.into_owned())).ok_or(error),
        None => Ok(None),
    };
    let messages = answer.get_some("messages");
    if messages.is_some_and(|messages| !messages.is_array() || !messages.items().all(Raw::is_object)) {
        return Err("its `messages` is no array of objects");
    }
    let instructions = text(answer, "customInstructions", "its `customInstructions` is no text")?;
    Ok(Answer {
        summary,
        first_kept: text(parts, "firstKeptEntryId", "its `firstKeptEntryId` is no text")?,
        instructions: instructions.map(|text| text.to_string()),
        replace_instructions: answer.get("replaceInstructions").and_then(Raw::bool),
        label: text(answer, "label", "its `label` is no text")?,
        messages: messages.map(|messages| messages.bytes().to_vec()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(json: &str) -> Result<Answer, String> {
        ask("cat", 20.0, json.as_bytes().to_vec()).map_err(|failure| failure.line())
    }

    #[test]
    fn answers_of_both_shapes_are_understood() {
        assert_eq!(answer(""), Ok(Answer::default()));
        assert_eq!(answer(" null\n"), Ok(Answer::default()));
        let summary = Some((Text::from("S"), Some(b"[1]".to_vec())));
        for json in [
            r#"{"summary":"S","details":[1],"firstKeptEntryId":"a"}"#,
            r#"{"compaction":{"summary":"S","details":[1],"firstKeptEntryId":"a"}}"#,
            r#"{"summary":{"summary":"S","details":[1]},"firstKeptEntryId":"a"}"#,
        ] {
            let expected =
                Answer { summary: summary.clone(), first_kept: Some(Text::from("a")), ..Answer::default() };
            assert_eq!(answer(json), Ok(expected), "{json}");
        }
    }

    #[test]
    fn nonsense_is_an_error() {
        for json in [
            "x",
            "[]",
            "5",
            r#"{"summary":5}"#,
            r#"{"summary":" "}"#,
            r#"{"messages":[1]}"#,
            r#"{"label":1}"#,
        ] {
            assert!(answer(json).unwrap_err().contains("nothing was written"), "{json}");
        }
        assert!(answer(r#"{"cancel":true}"#).unwrap_err().contains("cancel"));
    }
}
