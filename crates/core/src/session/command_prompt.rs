//! Prompts of slash commands, of which only the argument is the user's.
//!
//! The agents store such a prompt as a message of the user. Only prompts of a known form can be
//! told from what a person typed. GitHub's Spec Kit has this form, for many agents:
//!
//! ````text
//! ## User Input
//!
//! ```text
//! draw the piers                               the argument
//! ```
//!
//! You **MUST** consider the user input …
//!
//! 1. **Read the plan**: …                      the instructions
//! 2. Draw. …
//! ````

use pisess_json::text::Text;

/// How a prompt begins, up to the argument.
const START: &str = "## User Input\n\n```text\n";

/// How a prompt continues after the argument.
const AFTER_ARGUMENT: &str = "\n```\n\nYou **MUST** consider the user input";

/// The maximum number of steps in a description.
const MOST_STEPS: usize = 10;

/// The maximum number of UTF-16 units for the name of a step.
const STEP_UNITS: usize = 60;

/// The maximum number of UTF-16 units for a first line that describes a command.
const LINE_UNITS: usize = 200;

/// The prompt of a slash command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandPrompt<'t> {
    /// What the user typed after the command; empty if it was called without an argument.
    pub argument: &'t str,
    /// What the command tells the model.
    pub instructions: &'t str,
}

impl<'t> CommandPrompt<'t> {
    /// Whether a message may be the prompt of a command, judged only by its start.
    pub fn may_begin(start: &[u8]) -> bool {
        start.trim_ascii_start().starts_with(START.as_bytes())
    }

    /// Reads a message; `None` if it is no prompt of a command.
    pub fn read(message: &'t str) -> Option<CommandPrompt<'t>> {
        let from_argument = message.trim_start().strip_prefix(START)?;
        let (argument, from_sentence) = from_argument.split_once(AFTER_ARGUMENT)?;
        let (_rest_of_sentence, instructions) = from_sentence.split_once('\n')?;
        Some(CommandPrompt {
            argument: argument.trim(),
            instructions: instructions.trim(),
        })
    }

    /// Returns what the user typed or, without an argument, what the command does: `[command: Read
    /// the plan; Draw]`.
    pub fn words(&self) -> String {
        if self.argument.is_empty() {
            self.describe()
        } else {
            self.argument.to_owned()
        }
    }

    /// Describes on one line what the command does, in brackets: by the names of its steps, which
    /// are the numbered items outside of other items. Without steps, the first line of the
    /// instructions below their headings describes it.
    pub fn describe(&self) -> String {
        let steps = self.instructions.lines().filter_map(strip_number);
        let names: Vec<String> = steps.take(MOST_STEPS).map(name_step).collect();
        let description = if names.is_empty() {
            shorten(self.first_line(), LINE_UNITS)
        } else {
            names.join("; ")
        };
        format!("{DESCRIPTION_START}{description}]")
    }

    /// Returns the first line of the instructions that is no heading; empty if there is none.
    fn first_line(&self) -> &'t str {
        let mut lines = self.instructions.lines().map(str::trim);
        let first_line = lines.find(|line| !line.is_empty() && !line.starts_with('#'));
        first_line.unwrap_or_default()
    }
}

/// How a description begins.
pub const DESCRIPTION_START: &str = "[command: ";

/// Returns a numbered item at the start of a line without its number: `Draw` for `2. Draw`.
fn strip_number(line: &str) -> Option<&str> {
    let (number, item) = line.split_once(". ")?;
    let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then_some(item)
}

/// Returns the name of a step, `Read the plan` for `**Read the plan**: all of it`. A step without a
/// name is named by its first words, up to a colon or the end of the sentence.
fn name_step(step: &str) -> String {
    let bold = step
        .strip_prefix("**")
        .and_then(|name| name.split_once("**"));
    let name = match bold {
        Some((name, _rest)) => name,
        None => step.split([':', '.']).next().unwrap_or_default(),
    };
    shorten(name.trim(), STEP_UNITS)
}

/// Returns a text of at most `units` UTF-16 units. A longer one is cut, and ends with `…`.
fn shorten(text: &str, units: usize) -> String {
    let text = Text::from(text);
    if text.utf16_len() <= units {
        return text.into_string_lossy();
    }
    let head = text.head_whole(units - 1).into_string_lossy();
    format!("{}…", head.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STEPS: &str = "## Outline\n\nIt draws.\n\n1. **Read the plan**: all of it.\n   - 1. its heads\n\
        2. Draw:\n   must be blue\n\nNote: 3. colours.";

    fn prompt(argument: &str, instructions: &str) -> String {
        format!(
            "\n## User Input\n\n```text\n{argument}\n```\n\n\
             You **MUST** consider the user input before proceeding (if not empty).\n\n{instructions}\n"
        )
    }

    #[test]
    fn a_prompt_has_an_argument_and_instructions() {
        for argument in ["draw the piers", "", "keep\n```text\nx\n```"] {
            let message = prompt(argument, STEPS);
            assert!(CommandPrompt::may_begin(message.as_bytes()));
            let instructions = STEPS;
            let read = CommandPrompt::read(&message);
            assert_eq!(
                read,
                Some(CommandPrompt {
                    argument,
                    instructions
                })
            );
        }
    }

    #[test]
    fn a_command_is_described_by_its_steps_or_its_first_line() {
        let message = prompt("", STEPS);
        let words = CommandPrompt::read(&message).unwrap().words();
        assert_eq!(words, "[command: Read the plan; Draw]");

        let message = prompt("", "## Outline\n\nGoal: draw it.\nAll.");
        let words = CommandPrompt::read(&message).unwrap().words();
        assert_eq!(words, "[command: Goal: draw it.]");

        let message = prompt("the piers", STEPS);
        let words = CommandPrompt::read(&message).unwrap().words();
        assert_eq!(words, "the piers");
    }

    #[test]
    fn other_messages_are_no_prompts() {
        for message in [
            "",
            "draw it",
            "## User Input\n\n```text\nx\n```\n\nDraw it.",
            "## User Input\n\n```text\nx",
            "See:\n## User Input\n\n```text\nx\n```\n\nYou **MUST** consider the user input.\n",
        ] {
            assert_eq!(CommandPrompt::read(message), None, "{message}");
        }
    }
}
