//! Outputs of tool calls in a rollout of Codex, and the failures that they report. Codex stores no
//! flag beside an output: what it says is all that the model is told.

use super::content::{ContentBlock, convert_result};
use pisess_json::outline::Outlined;
use pisess_json::text::Text;
use pisess_json::write::Object;
use pisess_json::{Raw, string};
use regex::bytes::Regex;
use std::sync::LazyLock;

/// Matches the lines that Codex puts before the output of a command, up to the line with the exit
/// code, which is the first group. An exit code in the output itself does not match.
static EXIT_CODE_LINE: LazyLock<Regex> = LazyLock::new(|| {
    let pattern = "(?-u)^(?:(?:Command: |Chunk ID: |Wall time: |Total output lines: \
        |Original token count: |Process running with ).*\n)*\
        (?:Exit code: |Process exited with code )(.*)";
    Regex::new(pattern).expect("a constant")
});

/// The output of a call, read from its item.
pub(super) struct CallOutput<'a> {
    pub content: Vec<ContentBlock<'a>>,
    /// The facts beside the output of a command, if it was stored as JSON.
    pub command: Option<CommandFacts>,
}

/// The facts that Codex stored beside the output of a command, until the end of 2025.
#[derive(Clone, Copy)]
pub(super) struct CommandFacts {
    exit_code: f64,
    duration_seconds: f64,
}

impl<'a> CallOutput<'a> {
    /// Reads an output. If it is JSON that consists of the text of a command and of its
    /// [`CommandFacts`], the content is this text, as a person saw it:
    ///
    /// ```text
    /// {"output":"2 tests passed\n","metadata":{"exit_code":0,"duration_seconds":0.2}}
    /// ```
    pub fn read(stored: Option<Outlined<'a>>) -> CallOutput<'a> {
        if let Some(raw_text) = stored.and_then(|value| value.raw().raw_string())
            && may_begin_with(raw_text, "{")
            && let Some(output) = CallOutput::read_json(&string::decode(raw_text))
        {
            return output;
        }
        CallOutput {
            content: convert_result(stored),
            command: None,
        }
    }

    /// Reads an output in JSON; `None` if it is any other text, or has other members.
    fn read_json(json: &Text) -> Option<CallOutput<'a>> {
        let object = Raw::parse(json.as_bytes()).ok()?;
        let metadata = object.get("metadata")?;
        if object.members().count() != 2 || metadata.members().count() != 2 {
            return None;
        }
        let text = object.get_text("output")?.into_owned();
        let command = CommandFacts {
            exit_code: metadata.get("exit_code")?.number()?,
            duration_seconds: metadata.get("duration_seconds")?.number()?,
        };
        Some(CallOutput {
            content: vec![ContentBlock::Text(text)],
            command: Some(command),
        })
    }
}

/// Returns the `details` of a result: its exit code, unless it is 0, and how long the command ran.
/// `None` if neither is known.
pub(super) fn result_details(
    failure: Option<CallFailure>,
    command: Option<CommandFacts>,
) -> Option<Vec<u8>> {
    let exit_code = match failure {
        Some(CallFailure::ExitCode(code)) => Some(code),
        Some(CallFailure::NotDone) | None => None,
    };
    if exit_code.is_none() && command.is_none() {
        return None;
    }
    let details = Object::new()
        .with(exit_code, |details, code| details.number("exitCode", code))
        .with(command, |details, facts| {
            details.number("durationSeconds", facts.duration_seconds)
        });
    Some(details.finish())
}

/// How a tool call failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum CallFailure {
    /// A command ended with this exit code, which is not 0. The code is a float because the JSON
    /// of an output may contain any number.
    ExitCode(f64),
    /// Codex did not carry out the call, or could not finish it.
    NotDone,
}

impl CallFailure {
    fn from_exit_code(code: f64) -> Option<CallFailure> {
        if code == 0.0 {
            None
        } else {
            Some(CallFailure::ExitCode(code))
        }
    }
}

/// Returns the failure of a call, given its output: by the exit code beside the output or, without
/// one, by what the output says. `None` if there is none.
pub(super) fn failure_of(
    content: &[ContentBlock],
    command: Option<CommandFacts>,
) -> Option<CallFailure> {
    match command {
        Some(facts) => CallFailure::from_exit_code(facts.exit_code),
        None => find_reported_failure(content),
    }
}

/// Returns the failure that the content of a result reports; `None` if it reports none.
fn find_reported_failure(content: &[ContentBlock]) -> Option<CallFailure> {
    // Most outputs report nothing. Their first bytes show this before anything is decoded.
    let first_text = content
        .iter()
        .filter_map(ContentBlock::undecoded_text)
        .find(|text| !text.is_empty())?;
    let may_report = EXIT_CODE_PREFIXES
        .iter()
        .chain(&NOT_DONE_PREFIXES)
        .any(|prefix| may_begin_with(first_text, prefix));
    if !may_report {
        return None;
    }

    let mut output = Text::default();
    for text in content.iter().filter_map(ContentBlock::text) {
        output.push(&text);
    }
    if NOT_DONE_PREFIXES
        .iter()
        .any(|prefix| output.as_bytes().starts_with(prefix.as_bytes()))
    {
        return Some(CallFailure::NotDone);
    }
    parse_exit_code(&output).and_then(CallFailure::from_exit_code)
}

/// The first bytes of an output with an exit code. An output is JSON, which begins with `{`, or
/// text, whose first line is one of those that [`EXIT_CODE_LINE`] matches (see
/// [`parse_exit_code`]).
const EXIT_CODE_PREFIXES: [&str; 9] = [
    "{",
    "Command: ",
    "Chunk ID: ",
    "Wall time: ",
    "Total output lines: ",
    "Original token count: ",
    "Process running with ",
    "Exit code: ",
    "Process exited with code ",
];

/// The first bytes of the messages that Codex gives to the model in place of an output, if it did
/// not carry out a call: the sandbox or the user refused it, the arguments or the patch were wrong,
/// or the program could not be started. The output of a command never begins so, because the lines
/// of [`EXIT_CODE_PREFIXES`] precede it.
const NOT_DONE_PREFIXES: [&str; 13] = [
    "aborted by user",
    "apply_patch verification failed: ",
    // Of the program `apply_patch`, in versions of 2025.
    "error: Failed to find expected lines in ",
    "error: invalid hunk at line ",
    "exec command rejected by user",
    "exec_command failed",
    "execution error: ",
    // `failed in sandbox: …` and `failed in sandbox LinuxSeccomp with execution error: …`
    "failed in sandbox",
    "failed to parse function arguments: ",
    "patch rejected by user",
    "unsupported call: ",
    "unsupported custom tool call: ",
    "write_stdin failed: ",
];

/// Whether an output may begin with a prefix. `first_text` is the first text of the output; more
/// texts may follow, so it may be shorter than the prefix. It is compared up to its first escape,
/// because an escape may be any character:
///
/// ```text
/// Chunk ID: 7     begins with `Chunk ID: `
/// Chunk           may begin with it: the next text may be ` ID: 7`
/// Chu\u006ek      may begin with it
/// Churn           does not
/// ```
fn may_begin_with(first_text: &[u8], prefix: &str) -> bool {
    for (byte, wanted) in first_text.iter().zip(prefix.as_bytes()) {
        if *byte == b'\\' {
            return true;
        }
        if byte != wanted {
            return false;
        }
    }
    true
}

/// Returns the exit code of a command from one of the two forms of its output; `None` if it has
/// none:
///
/// ```text
/// {"output":"…","metadata":{"exit_code":1}}
///
/// Wall time: 2 seconds
/// Process exited with code 1
/// …
/// ```
fn parse_exit_code(output: &Text) -> Option<f64> {
    let bytes = output.as_bytes();
    if bytes.first() == Some(&b'{') {
        let metadata = Raw::parse(bytes).ok()?.get("metadata")?;
        return metadata.get("exit_code")?.number();
    }

    let code = EXIT_CODE_LINE.captures(bytes)?.get(1)?;
    let code = std::str::from_utf8(code.as_bytes()).ok()?;
    // The line may end in CRLF.
    code.trim_end().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use pisess_json::string::encode_to_vec;

    /// Checks the failure of an output that is stored as it is, with escapes, and in two texts.
    fn assert_failure(output: &str, expected: Option<CallFailure>) {
        let stored = encode_to_vec(&Text::from(output));
        let block = ContentBlock::StoredText(&stored[1..stored.len() - 1]);
        assert_eq!(find_reported_failure(&[block]), expected, "{output}");

        let escapes: String = output
            .bytes()
            .map(|byte| format!("\\u{byte:04x}"))
            .collect();
        let block = ContentBlock::StoredText(escapes.as_bytes());
        assert_eq!(find_reported_failure(&[block]), expected, "{output}");

        for cut in 0..output.len() {
            let (start, end) = output.split_at(cut);
            let blocks = [start, end].map(|text| ContentBlock::Text(Text::from(text)));
            assert_eq!(find_reported_failure(&blocks), expected, "{start}|{end}");
        }
    }

    #[test]
    fn an_exit_code_is_before_the_output_or_in_the_metadata() {
        let cases = [
            ("Exit code: 2\nOutput:\nno", 2.0),
            ("Exit code: 137", 137.0),
            ("Exit code: 1\r\nWall time: 0.2 seconds\nOutput:\n", 1.0),
            (
                "Wall time: 1 seconds\nExit code: -1\nTotal output lines: 9\nOutput:\n",
                -1.0,
            ),
            (
                "Chunk ID: a\nWall time: 0.1 seconds\nProcess exited with code 3\nOutput:\n",
                3.0,
            ),
            (
                "Command: /bin/zsh -lc pwd\nChunk ID: a\nProcess exited with code 4\nOutput:\n",
                4.0,
            ),
            (
                r#"{"output":"no\n","metadata":{"exit_code":2,"duration_seconds":0.1}}"#,
                2.0,
            ),
        ];
        for (output, code) in cases {
            assert_failure(output, Some(CallFailure::ExitCode(code)));
        }
    }

    #[test]
    fn an_output_in_json_is_its_text_and_what_stands_beside_it() {
        let read = |json: &str| CallOutput::read_json(&Text::from(json));
        let output =
            read(r#"{"output":"no\n\u00e9","metadata":{"exit_code":2,"duration_seconds":0.25}}"#);
        let output = output.unwrap();
        assert_eq!(output.content[0].text().unwrap(), *"no\né");
        let failure = failure_of(&output.content, output.command);
        assert_eq!(failure, Some(CallFailure::ExitCode(2.0)));
        assert_eq!(
            result_details(failure, output.command).unwrap(),
            br#"{"exitCode":2,"durationSeconds":0.25}"#
        );

        for other in [
            r#"{"output":"no","metadata":{"exit_code":2}}"#,
            r#"{"output":"no","metadata":{"exit_code":2,"duration_seconds":1},"id":7}"#,
            r#"{"output":["no"],"metadata":{"exit_code":2,"duration_seconds":1}}"#,
            "{cut off",
        ] {
            assert!(read(other).is_none(), "{other}");
        }
    }

    #[test]
    fn a_call_that_was_not_carried_out_failed() {
        for output in [
            "apply_patch verification failed: invalid hunk at line 3",
            "failed in sandbox LinuxSeccomp with execution error: sandbox denied exec error, exit code: 2",
            "failed in sandbox: cannot set privileged capabilities",
            "exec_command failed for `ls`: CreateProcess",
            "error: Failed to find expected lines in /srv/kites/src/line.rs:\n    let",
            "aborted by user after 3.1s",
        ] {
            assert_failure(output, Some(CallFailure::NotDone));
        }
    }

    #[test]
    fn an_output_that_only_mentions_a_failure_is_none() {
        for output in [
            "",
            "Exit code: 0\nOutput:\n",
            r#"{"output":"Exit code: 2"}"#,
            "Output:\nExit code: 2",
            "The log says:\nExit code: 2",
            "Chunk ID: a\nWall time: 9 seconds\nProcess running with session ID 7\nOutput:\n",
            "Exit code: 0\nOutput:\nfailed in sandbox",
            "error: no such key",
        ] {
            assert_failure(output, None);
        }
    }
}
