//! Elements that agents put around the words of a user in a message.
//!
//! pi replaces `/skill:NAME ARGUMENTS` with the instructions of the skill and the arguments, and
//! puts attached files before the words. Claude Code puts the parts of a command into elements:
//!
//! ```text
//! <skill name="release" location="/s/SKILL.md">    <command-message>init</command-message>
//! instructions                                     <command-name>/init</command-name>
//! </skill>                                         <command-args>docs only</command-args>
//!
//! 2.3.0                                            <bash-input>ls</bash-input>
//! ```
//!
//! Other programs put the words into the prompt of a command: see [`CommandPrompt`]. The extensions
//! of editors put a note before the words: `<ide_opened_file>The user opened …</ide_opened_file>`.

use super::command_prompt::CommandPrompt;
use memchr::memmem;

/// The type of the custom message that `import` makes of a command of Claude Code.
pub const CLAUDE_COMMAND: &str = "claude.command";

/// The number of UTF-16 units to read of a message in which such elements precede the words of the
/// user. It is large because the instructions of a skill are often long.
pub const ENVELOPE_UNITS: usize = 64 * 1024;

const SKILL_START: &str = "<skill name=\"";
const SKILL_END: &str = "\n</skill>";
const FILE_START: &str = "<file name=\"";
const FILE_END: &str = "</file>";

/// The elements in which the extension of an editor tells the model what is open or selected.
pub const EDITOR_ELEMENTS: [&str; 2] = ["ide_opened_file", "ide_selection"];

/// The names of the elements in a command of Claude Code.
const COMMAND_MESSAGE: &str = "command-message";
const COMMAND_NAME: &str = "command-name";
const COMMAND_ARGUMENTS: &str = "command-args";
const SHELL_COMMAND: &str = "bash-input";

/// A skill that the user called, as pi expanded the call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct SkillCall<'t> {
    name: &'t str,
    /// What follows the instructions; `None` if the text ends within them.
    arguments: Option<&'t str>,
}

/// The types of the custom messages that `import` makes of the output of a command that Claude Code
/// ran itself, and of a report of a task in the background.
pub const CLAUDE_REPORTS: [&str; 2] = ["claude.output", "claude.notification"];

/// Returns what a message of one of [`CLAUDE_REPORTS`] says, without its elements: the output, or
/// the summary of the task. `None` for any other message.
pub fn reported_text(message: &str) -> Option<&str> {
    let message = message.trim_start();
    if message.starts_with("<task-notification>") {
        return find_element(message, "summary");
    }
    let outputs = [
        "local-command-stdout",
        "local-command-stderr",
        "bash-stdout",
        "bash-stderr",
    ];
    outputs
        .into_iter()
        .filter_map(|name| find_element(message, name))
        .find(|output| !output.trim().is_empty())
}

/// Whether a message may be a command that an agent expanded, judged only by its start.
pub fn may_be_command(start: &[u8]) -> bool {
    let start = start.trim_ascii_start();
    let begins_with_element = [SKILL_START, "<command-", "<bash-input>"]
        .iter()
        .any(|prefix| start.starts_with(prefix.as_bytes()));
    begins_with_element || CommandPrompt::may_begin(start)
}

/// Whether a message may begin with a skill, an attached file or a note of an editor, judged only
/// by its start.
pub fn may_begin_with_element(start: &str) -> bool {
    let start = start.trim_start();
    start.starts_with(SKILL_START)
        || start.starts_with(FILE_START)
        || begins_with_editor_note(start.as_bytes())
}

/// Whether a message begins with a note of an editor, judged only by its start.
pub fn begins_with_editor_note(start: &[u8]) -> bool {
    let Some(after_bracket) = start.trim_ascii_start().strip_prefix(b"<") else {
        return false;
    };
    EDITOR_ELEMENTS
        .iter()
        .any(|name| after_bracket.starts_with(name.as_bytes()))
}

/// Returns the words of the user in a message: what follows the skills, attached files and notes of
/// an editor at its start. Empty if a skill or file has no end, because the message was cut. A
/// message of notes alone is returned from the last note on.
pub fn skip_elements(message: &str) -> &str {
    let mut rest = message;
    while let Some(after) = skip_element(rest) {
        rest = after;
    }
    rest
}

/// Returns what follows the skill, attached file or note of an editor at the start of a text; empty
/// if a skill or file has no end. `None` if the text begins with none of them.
fn skip_element(text: &str) -> Option<&str> {
    if let Some(call) = read_skill_call(text) {
        return Some(call.arguments.unwrap_or_default());
    }
    if begins_with_editor_note(text.as_bytes()) {
        return skip_editor_note(text.trim_start());
    }
    let file = text.trim_start().strip_prefix(FILE_START)?;
    let after_file = file.split_once(FILE_END).map(|(_, after)| after);
    Some(after_file.unwrap_or_default())
}

/// Returns what follows the note of an editor at the start of a text. `None` if nothing follows:
/// then the note is all that is known of the message.
fn skip_editor_note(text: &str) -> Option<&str> {
    for name in EDITOR_ELEMENTS {
        if element_at_start(text, name).is_none() {
            continue;
        }
        let (_, words) = text.split_once(&format!("</{name}>"))?;
        return if words.trim().is_empty() {
            None
        } else {
            Some(words)
        };
    }
    None
}

/// Returns the name of the skill with which a message begins; `None` if it begins with none.
pub fn called_skill(message: &str) -> Option<&str> {
    Some(read_skill_call(message)?.name)
}

/// Returns the command that the user typed, such as `/init docs only`, given the message that an
/// agent made of it. Of a [`CommandPrompt`], returns its words. `None` for any other message.
/// `None` also if the message was cut within the instructions of a skill, so that the arguments are
/// unknown.
pub fn typed_command(message: &str) -> Option<String> {
    if let Some(call) = read_skill_call(message) {
        return Some(format_skill_call(call.name, call.arguments?));
    }
    typed_in_prompt(message)
}

/// Returns the command that the user typed, given only the start of the message. The arguments of a
/// skill come after its instructions. If the start ends before them, the skill is returned without
/// arguments, unlike by [`typed_command`].
pub fn typed_command_of_start(start: &str) -> Option<String> {
    if let Some(call) = read_skill_call(start) {
        return Some(format_skill_call(
            call.name,
            call.arguments.unwrap_or_default(),
        ));
    }
    typed_in_prompt(start)
}

/// Returns what the user typed in a message that is the prompt of a command, or has a command in
/// elements. `None` for any other message.
fn typed_in_prompt(message: &str) -> Option<String> {
    match CommandPrompt::read(message) {
        Some(prompt) => Some(prompt.words()),
        None => typed_in_elements(message),
    }
}

/// Reads the skill at the start of a message: its name in the first tag, and its arguments after
/// the end tag. `None` if the message begins with no skill.
fn read_skill_call(message: &str) -> Option<SkillCall<'_>> {
    let attribute = message.trim_start().strip_prefix(SKILL_START)?;
    let (name, after_name) = attribute.split_once('"')?;
    let end = memmem::find(after_name.as_bytes(), SKILL_END.as_bytes());
    Some(SkillCall {
        name,
        arguments: end.map(|end| after_name[end + SKILL_END.len()..].trim()),
    })
}

fn format_skill_call(name: &str, arguments: &str) -> String {
    format!("/skill:{name} {arguments}").trim_end().to_owned()
}

/// Returns the command in a message that Claude Code has put into elements: `/name arguments` for
/// `<command-name>/name</command-name>` and the like, or `! ` and a shell command. `None` for any
/// other message.
fn typed_in_elements(message: &str) -> Option<String> {
    let message = message.trim_start();
    if let Some(command) = element_at_start(message, SHELL_COMMAND) {
        return Some(format!("! {}", command.trim()));
    }

    // Either element may be the first.
    let begins_command = element_at_start(message, COMMAND_MESSAGE).is_some()
        || element_at_start(message, COMMAND_NAME).is_some();
    if !begins_command {
        return None;
    }
    let name = find_element(message, COMMAND_NAME)?.trim();
    let arguments = find_element(message, COMMAND_ARGUMENTS).unwrap_or_default();
    if name.is_empty() {
        return None;
    }
    let slash = if name.starts_with('/') { "" } else { "/" };
    let command = format!("{slash}{name} {}", arguments.trim());
    Some(command.trim_end().to_owned())
}

/// Returns the content of the element `name`, if the text begins with it.
fn element_at_start<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    if text.starts_with(&format!("<{name}>")) {
        find_element(text, name)
    } else {
        None
    }
}

/// Returns the content of the first element `name` in the text.
fn find_element<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let (_, content) = text.split_once(&format!("<{name}>"))?;
    let (content, _) = content.split_once(&format!("</{name}>"))?;
    Some(content)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_what_was_typed() {
        for (message, typed) in [
            (
                "<skill name=\"tidy\" location=\"/s\">\nBe </skill> tidy.\n</skill>\n\nthe kitchen\nand hall",
                "/skill:tidy the kitchen\nand hall",
            ),
            ("<skill name=\"tidy\">\nBe tidy.\n</skill>", "/skill:tidy"),
            (
                "<command-message>init</command-message>\n<command-name>/init</command-name>\n<command-args>docs only</command-args>",
                "/init docs only",
            ),
            (
                "<command-name>model</command-name>\n<command-message>model</command-message>\n<command-args></command-args>",
                "/model",
            ),
            ("<bash-input>ls -l</bash-input>", "! ls -l"),
            (
                "## User Input\n\n```text\nthe piers\n```\n\nYou **MUST** consider the user input.\n\nDraw.",
                "the piers",
            ),
        ] {
            assert!(may_be_command(message.as_bytes()), "{message}");
            assert_eq!(typed_command(message).as_deref(), Some(typed));
            assert_eq!(typed_command_of_start(message).as_deref(), Some(typed));
        }
    }

    #[test]
    fn a_report_is_its_text() {
        for (message, text) in [
            (
                "<task-notification>\n<task-id>b1</task-id>\n<summary>The build failed</summary>\n</task-notification>",
                Some("The build failed"),
            ),
            (
                "<local-command-stdout>Set model</local-command-stdout>",
                Some("Set model"),
            ),
            (
                "<bash-stdout></bash-stdout><bash-stderr>no such file</bash-stderr>",
                Some("no such file"),
            ),
            ("<local-command-stdout></local-command-stdout>", None),
            ("no element", None),
        ] {
            assert_eq!(reported_text(message), text, "{message}");
        }
    }

    #[test]
    fn a_note_of_an_editor_precedes_the_words() {
        let opened = "<ide_opened_file>The user opened a.md.</ide_opened_file>";
        let selected = "<ide_selection>The user selected\nlines 1 to 7.</ide_selection>";
        for (message, words) in [
            (format!("{opened} draw it"), " draw it"),
            (format!("{selected}\n{opened}\ndraw it"), "\ndraw it"),
            (format!("{opened}\n"), &*format!("{opened}\n")),
            ("<ide_opened_file>cut".to_owned(), "<ide_opened_file>cut"),
        ] {
            assert!(may_begin_with_element(&message), "{message}");
            assert_eq!(skip_elements(&message), words, "{message}");
        }
        assert_eq!(skip_elements("see <ide_selection>"), "see <ide_selection>");
    }

    #[test]
    fn other_messages_are_no_commands() {
        for message in [
            "",
            "<skills>",
            "look at <skill name=\"x\">\n</skill>",
            "<command-name>",
            "<command-name></command-name>",
            "<command-message>x</command-message>",
            "<bash-inputs>\n<bash-input>ls</bash-input>",
            "<plan>\n</plan>",
        ] {
            assert_eq!(typed_command(message), None, "{message}");
        }
        let cut = "<skill name=\"tidy\">\nBe ti";
        assert_eq!(typed_command(cut), None);
        assert_eq!(typed_command_of_start(cut).as_deref(), Some("/skill:tidy"));
    }
}
