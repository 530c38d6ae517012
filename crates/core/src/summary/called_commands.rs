//! Commands that a user called, and whose prompt Claude Code then gave to the model. They are
//! requests, but `import` does not store them as messages of the user.
//!
//! ```text
//! <command-message>chart</command-message>
//! <command-name>/chart</command-name>          ──  /chart north
//! <command-args>north</command-args>
//! ```
//!
//! Commands to the agent itself, as `/model`, begin with their name.

use super::budget::POINT;
use super::one_line::one_line;
use crate::session::command_prompt::DESCRIPTION_START;

/// Reads the command that a user called from the elements that Claude Code stored. `None` for a
/// command to the agent itself.
pub(super) fn read_called_command(elements: &str) -> Option<String> {
    if !elements.starts_with("<command-message>") {
        return None;
    }
    let name = read_element(elements, "command-name")?;
    let arguments = read_element(elements, "command-args").unwrap_or_default();
    Some(format!("{name} {arguments}").trim().to_owned())
}

/// Describes in brackets what a command does, by the first line of its prompt that is neither a
/// heading, nor in front matter or a fenced block, nor the `called` command's own arguments:
/// `[command: Draw the chart of a harbour.]` `None` if there is no such line.
pub(super) fn describe_prompt(prompt: &str, called: &str) -> Option<String> {
    let mut is_fenced = false;
    for line in without_front_matter(prompt).lines() {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            is_fenced = !is_fenced;
            continue;
        }
        let is_text = line.starts_with(char::is_alphanumeric) || line.starts_with("**");
        if is_text && !is_fenced && !called.contains(line) {
            return Some(format!("{DESCRIPTION_START}{}]", one_line(line, POINT)));
        }
    }
    None
}

/// Returns the prompt of a command without the fields between two lines `---` at its start.
fn without_front_matter(prompt: &str) -> &str {
    let fields = prompt.trim_start().strip_prefix("---\n");
    match fields.and_then(|fields| fields.split_once("\n---\n")) {
        Some((_fields, text)) => text,
        None => prompt,
    }
}

/// Returns the text of the first element with a name.
fn read_element<'e>(elements: &'e str, name: &str) -> Option<&'e str> {
    let (_, from_text) = elements.split_once(&format!("<{name}>"))?;
    let (text, _) = from_text.split_once(&format!("</{name}>"))?;
    Some(text.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_prompt_is_described_by_its_first_line_of_text() {
        for (prompt, expected) in [
            (
                "# Chart\r\n\r\nDraw the chart.\r\nPrint it.",
                Some("[command: Draw the chart.]"),
            ),
            (
                "$ARGUMENTS\n\nfor each pier, draw it",
                Some("[command: for each pier, draw it]"),
            ),
            ("north\n\nDraw it.", Some("[command: Draw it.]")),
            (
                "---\ndescription: for charts\n---\n```sh\nrm -rf x\n```\nDraw it.",
                Some("[command: Draw it.]"),
            ),
            ("# Chart\n- a\n```\n", None),
            ("", None),
        ] {
            let described = describe_prompt(prompt, "/chart north");
            assert_eq!(described.as_deref(), expected, "{prompt}");
        }
    }

    #[test]
    fn a_command_with_a_prompt_is_called_with_its_arguments() {
        for (elements, expected) in [
            (
                "<command-message>chart is running…</command-message>\n<command-name>/chart</command-name>\n<command-args>north\nwith piers</command-args>",
                Some("/chart north\nwith piers"),
            ),
            (
                "<command-message>slot</command-message>\n<command-name>/slot</command-name>",
                Some("/slot"),
            ),
            (
                "<command-name>/model</command-name>\n<command-message>model</command-message>",
                None,
            ),
            ("<command-message>slot</command-message>", None),
            ("<bash-input>ls</bash-input>", None),
            ("", None),
        ] {
            assert_eq!(
                read_called_command(elements).as_deref(),
                expected,
                "{elements}"
            );
        }
    }
}
