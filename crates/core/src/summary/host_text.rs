//! What the program around an agent adds to the messages of its user: which file is open, what is
//! selected, reminders to the model, files that are attached. None of it is the user's.

use super::pasted_terminal::fold_terminal_output;
use super::stack_traces::fold_stack_traces;
use super::words::compile_expression;
use crate::session::command_prompt::{CommandPrompt, DESCRIPTION_START};
use crate::session::forwarded;
use crate::session::read::record::Block;
use regex::Regex;
use std::borrow::Cow;
use std::sync::LazyLock;

/// The names of the elements that such programs write.
const ELEMENTS: [&str; 7] = [
    "system-reminder",
    "system_reminder",
    "environment_context",
    "environment_details",
    "user-prompt-submit-hook",
    "task-notification",
    "command-message",
];
/// How other names of such elements begin.
const ELEMENT_STARTS: [&str; 2] = ["ide_", "local-command-"];

/// How a message begins in which an editor puts what is open in it before the request, and the
/// heading above that: `## My request for Codex:`.
const EDITOR_START: &str = "# Context";
const REQUEST_HEADING: &str = "\n## My request for ";

/// Returns what the user wrote of a request, without what a chat program or an editor added. The
/// prompt of a slash command is shortened to its argument, and the content of files and skills that
/// pi put into it to `[…]`. An image without a text becomes `[image]`.
pub(super) fn request_words(text: &str, blocks: &[Block]) -> String {
    let has_image = blocks.iter().any(|block| block.is("image"));
    if text.is_empty() && has_image {
        return "[image]".to_owned();
    }
    let words = match forwarded::user_words(text.as_bytes()) {
        Some(words_in_forward) => String::from_utf8_lossy(words_in_forward),
        None => Cow::Borrowed(strip_host_text(text)),
    };
    let words = shorten_command_prompt(&words);
    let words = fold_terminal_output(&words);
    let words = fold_stack_traces(&words);
    shorten_attachments(&words).into_owned()
}

/// Shortens the prompt of a slash command to its argument and, below that, a description of the
/// command. Any other request is returned as it is.
///
/// ```text
/// the piers
///
/// [command: Read the plan; Draw]
/// ```
fn shorten_command_prompt(request: &str) -> Cow<'_, str> {
    let Some(prompt) = CommandPrompt::read(request) else {
        return Cow::Borrowed(request);
    };
    let description = prompt.describe();
    if prompt.argument.is_empty() {
        return Cow::Owned(description);
    }
    Cow::Owned(format!("{}\n\n{description}", prompt.argument))
}

/// Returns the argument of a prompt that [`request_words`] has shortened. Any other request, and a
/// description alone, is returned as it is.
pub(super) fn without_description(request: &str) -> &str {
    let between = format!("\n\n{DESCRIPTION_START}");
    match request.rsplit_once(&between) {
        Some((argument, description)) if description.ends_with(']') => argument,
        _ => request,
    }
}

/// Replaces the content of each file and skill that pi put into a request: `<file
/// name="a.md">many lines</file>` becomes `<file name="a.md">[…]</file>`.
fn shorten_attachments(request: &str) -> Cow<'_, str> {
    static ATTACHMENT: LazyLock<Regex> = LazyLock::new(|| {
        compile_expression(
            r#"(?s)(?<opening_tag><(?:file|skill) name="[^>]*>).*?(?<closing_tag></(?:file|skill)>)"#,
        )
    });
    ATTACHMENT.replace_all(request, "${opening_tag}[…]${closing_tag}")
}

/// Returns the text of a message without the elements that a program added before and after the
/// user's words, as in `<ide_opened_file>…</ide_opened_file>`. A message of nothing else is
/// returned as it is.
fn strip_host_text(message: &str) -> &str {
    let mut text = message.trim();
    if let Some(request) = request_below_heading(text) {
        text = request.trim();
    }
    while let Some(rest) = strip_first_element(text) {
        text = rest.trim_start();
    }
    while let Some(rest) = strip_last_element(text) {
        text = rest.trim_end();
    }
    if text.is_empty() { message } else { text }
}

/// Returns what is below the heading of an editor. `None` if no editor wrote the message.
fn request_below_heading(message: &str) -> Option<&str> {
    if !message.starts_with(EDITOR_START) {
        return None;
    }
    let (_, from_name) = message.split_once(REQUEST_HEADING)?;
    let (name, request) = from_name.split_once('\n')?;
    name.trim_end().ends_with(':').then_some(request)
}

/// Returns what follows the element that a text begins with: `draw it` in
/// `<ide_selection>x</ide_selection>draw it`. `None` if no program writes such an element.
fn strip_first_element(text: &str) -> Option<&str> {
    let name = element_name(text.strip_prefix('<')?)?;
    let closing_tag = format!("</{name}>");
    let (_, rest) = text.split_once(&closing_tag)?;
    Some(rest)
}

/// Returns what precedes the element that a text ends with. `None` if no program writes such an
/// element.
fn strip_last_element(text: &str) -> Option<&str> {
    let before_bracket = text.strip_suffix('>')?;
    let (before_closing_tag, closed_name) = before_bracket.rsplit_once("</")?;
    let name = element_name(closed_name)?;
    let is_whole_tag = closed_name == name;
    if !is_whole_tag {
        return None;
    }
    let opening_tag = format!("<{name}>");
    let (before_element, _content) = before_closing_tag.rsplit_once(&opening_tag)?;
    Some(before_element)
}

/// Returns the name at the start of a tag without its bracket, `ide_selection` in `ide_selection
/// a="b">`, if a program writes elements of this name.
fn element_name(tag: &str) -> Option<&str> {
    let is_in_name = |c: char| c.is_ascii_alphanumeric() || "-_".contains(c);
    let name = tag.split(|c| !is_in_name(c)).next()?;
    let is_of_program =
        ELEMENTS.contains(&name) || ELEMENT_STARTS.iter().any(|start| name.starts_with(start));
    is_of_program.then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_elements_of_programs_around_the_words_are_stripped() {
        for (message, words) in [
            (
                "<ide_opened_file>a.md is open</ide_opened_file>\ndraw it",
                "draw it",
            ),
            (
                "<ide_selection>x</ide_selection>\n<ide_opened_file>y</ide_opened_file>draw",
                "draw",
            ),
            (
                "draw it\n<system-reminder>\nbe brief\n</system-reminder>",
                "draw it",
            ),
            (
                "<ide_opened_file>a.md</ide_opened_file>",
                "<ide_opened_file>a.md</ide_opened_file>",
            ),
            ("<ide_opened_file>not closed", "<ide_opened_file>not closed"),
            ("<b>draw</b> it", "<b>draw</b> it"),
            ("<environment_context>a</environment_context>draw", "draw"),
            (
                "<environment_map>a</environment_map> is wrong",
                "<environment_map>a</environment_map> is wrong",
            ),
            (
                "draw it\n\n## My request for names:\nin French",
                "draw it\n\n## My request for names:\nin French",
            ),
            (
                "# Context\n\n## My request for names\nin French",
                "# Context\n\n## My request for names\nin French",
            ),
            (
                "# Context\n- a.md\n\n## My request for Codex:\ndraw it\n",
                "draw it",
            ),
            ("", ""),
            ("<", "<"),
            ("a </>", "a </>"),
        ] {
            assert_eq!(strip_host_text(message), words);
        }
    }

    #[test]
    fn attached_bodies_leave_a_request() {
        let text = "<file name=\"a.md\">\nx\n</file>\n<file name=\"b\">y</file>\nSum it up.";
        let short = "<file name=\"a.md\">[…]</file>\n<file name=\"b\">[…]</file>\nSum it up.";
        assert_eq!(request_words(text, &[]), short);
        let skill = "<skill name=\"s\" location=\"/s\">x\ny</skill>\n\nfor the login page";
        assert!(request_words(skill, &[]).ends_with(">[…]</skill>\n\nfor the login page"));
        for odd in [
            "<file name=\"",
            "<file name=\"a\">",
            "</file><file name=\"",
            "<file name=\"</file>",
        ] {
            assert_eq!(request_words(odd, &[]), odd);
        }
    }
}
