//! Where the text of a summary comes from: given, a command, or the built-in extract.

use super::hook::{Answer, HookArgs, HookSummary};
use super::input::{Input, read_text};
use super::shell::{Shell, UNTOUCHED};
use crate::core::agent::Prompt;
use crate::core::bodies::{Bodies, Message};
use crate::core::ops::summary::Summary;
use crate::core::summary::{Extract, Kind, Material};
use crate::core::text::Text;
use crate::ui::{Failure, Ui};
use clap::Args;
use std::io;
use std::path::PathBuf;

/// The summary options.
#[derive(Args, Clone, Debug)]
pub struct SummaryArgs {
    /// The summary, stored as it is
    #[arg(long, value_name = "TEXT", conflicts_with_all = ["summary_file", "summarizer"], help_heading = "Summary")]
    pub summary: Option<String>,
    /// A file that holds the summary; - is standard input
    #[arg(long, value_name = "FILE", conflicts_with = "summarizer", help_heading = "Summary")]
    pub summary_file: Option<PathBuf>,
    /// A shell command that reads the prompt and prints the summary
    #[arg(long, value_name = "CMD", help_heading = "Summary")]
    pub summarizer: Option<String>,
    /// What the summary should pay attention to
    #[arg(long, value_name = "TEXT", help_heading = "Summary")]
    pub instructions: Option<String>,
    /// Tell the summarizer these instructions instead of the agent's
    #[arg(long, requires = "instructions", help_heading = "Summary")]
    pub replace_instructions: bool,
    /// Print what would be summarised, as JSON, and write nothing
    #[arg(long, conflicts_with = "prompt", help_heading = "Summary")]
    pub prepare: bool,
    /// Print what a summarizer would be told, and write nothing
    #[arg(long, help_heading = "Summary")]
    pub prompt: bool,
    /// Who is asked before, and told afterwards.
    #[command(flatten)]
    pub hook: HookArgs,
}

/// One summary to be made: its messages, and what goes before.
pub struct Wanted<'a> {
    /// What for.
    pub kind: Kind,
    /// Messages to summarise.
    pub messages: &'a [Message],
    /// The beginning of a turn that is cut.
    pub turn_prefix: &'a [Message],
    /// The summary before this one.
    pub previous: Option<&'a Text<'static>>,
}

/// Text for a summary, and whether it is stored as it is.
pub enum Source {
    /// From the person: no preamble, no files.
    Given(Text<'static>),
    /// From a hook: as it is, and the agents note where it is from.
    Hooked(HookSummary),
    /// From a command or the extract: the agent's preamble and files go around it.
    Made(Text<'static>),
}

impl Source {
    /// The summary to be stored: `details` are the agent's, `around` puts its preamble and files.
    pub fn stored(self, details: Vec<u8>, around: impl FnOnce(Text<'static>) -> Text<'static>) -> Summary {
        match self {
            Source::Given(text) => Summary { text, details, usage: None, from_hook: false },
            Source::Hooked(HookSummary { text, details: own, usage }) => {
                Summary { text, details: own.unwrap_or(details), usage, from_hook: true }
            }
            Source::Made(text) => Summary { text: around(text), details, usage: None, from_hook: false },
        }
    }
}

impl SummaryArgs {
    /// What is given, if it is. Read before anything is locked.
    pub fn given(&self, session: &Input, ui: &mut Ui) -> Result<Option<String>, Failure> {
        let text = match (&self.summary, &self.summary_file) {
            (Some(text), _) => text.clone(),
            (None, None) => return Ok(None),
            (None, Some(path)) => read_text(path, session, ui)?,
        };
        if text.trim().is_empty() {
            return Err(
                Failure::cannot("the summary is empty").hint("leave the option out for the built-in summary")
            );
        }
        Ok(Some(text))
    }

    /// Whether its text is given.
    pub fn is_given(&self) -> bool {
        self.summary.is_some() || self.summary_file.is_some()
    }

    /// Whether an option speaks of a summary that none would need who wants none.
    pub fn is_asked_for(&self) -> bool {
        self.is_given() || self.summarizer.is_some() || self.instructions.is_some() || self.prompt
    }

    /// Takes over what a hook says of the instructions.
    pub fn follow(&mut self, answer: &Answer) {
        if answer.instructions.is_some() {
            self.instructions.clone_from(&answer.instructions);
        }
        self.replace_instructions = answer.replace_instructions.unwrap_or(self.replace_instructions);
    }

    /// The instructions for a prompt.
    pub fn prompt_of<'a>(&'a self) -> Prompt<'a> {
        Prompt { text: self.instructions.as_deref().map(Text::from), replace: self.replace_instructions }
    }

    /// The summarizer, if one is given.
    pub fn shell<'a>(&'a self, input: &'a Input) -> Option<Shell<'a>> {
        let command = self.summarizer.as_deref()?;
        let timeout = self.hook.timeout();
        let hint = "--prompt prints what it is told, to try it by hand";
        Some(Shell {
            session: &input.name,
            option: "--summarizer",
            command,
            timeout,
            outcome: UNTOUCHED,
            hint,
        })
    }

    /// Asks the summarizer for one text.
    pub fn ask(&self, shell: &Shell, prompt: Vec<u8>, ui: &Ui) -> Result<Text<'static>, Failure> {
        let _waiting = ui.spinner("waiting for the summarizer");
        let answer = shell.run(prompt)?;
        let answer = String::from_utf8_lossy(&answer);
        if answer.trim().is_empty() {
            return Err(shell.failed("it printed nothing"));
        }
        Ok(Text::from(answer.trim().to_owned()))
    }
}

/// The built-in extract.
///
/// # Errors
/// Where a line cannot be read.
pub fn extract(
    wanted: &Wanted,
    instructions: Option<&str>,
    bodies: &dyn Bodies,
) -> io::Result<Text<'static>> {
    let previous = wanted.previous.map(Text::to_string_lossy);
    let mut extract =
        Extract::new(Material { kind: wanted.kind, previous_summary: previous.as_deref(), instructions });
    for message in wanted.messages {
        message.with(bodies, |json| extract.add(json))?;
    }
    if !wanted.turn_prefix.is_empty() {
        extract.split_turn();
        for message in wanted.turn_prefix {
            message.with(bodies, |json| extract.add(json))?;
        }
    }
    Ok(Text::from(extract.finish()))
}
