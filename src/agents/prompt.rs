//! The prompts of summaries: the transcript in tags, a previous summary, the request, instructions.
//!
//! The wording of each agent is in [`crate::agents::pi::prompt`] and [`crate::agents::oh_my_pi::prompt`].

use super::prepare::Preparation;
use pisess_json::text::{Text, concat};
use std::io::{self, Write};

/// Instructions added by the user.
#[derive(Clone, Debug, Default)]
pub struct Instructions<'a> {
    /// Their text.
    pub text: Option<Text<'a>>,
    /// Whether they replace the built-in ones.
    pub replace: bool,
}

/// A summary that a compaction needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Segment {
    /// The summary of everything before the turn that is split.
    History,
    /// The summary of the beginning of that turn.
    TurnPrefix,
}

/// Returns the summaries to request, in this order; [`merge`] joins them.
pub fn segments(preparation: &Preparation) -> &'static [Segment] {
    let history = !preparation.messages_to_summarize.is_empty();
    match (history, !preparation.turn_prefix_messages.is_empty()) {
        (true, true) => &[Segment::History, Segment::TurnPrefix],
        (false, true) => &[Segment::TurnPrefix],
        (_, false) => &[Segment::History],
    }
}

/// Joins the summaries of a compaction as both agents do: the history (if it is empty, the previous summary),
/// a separator, and the split turn. Without a split turn, returns the history alone.
pub fn merge(preparation: &Preparation, history: Option<Text>, turn_prefix: Option<Text>) -> Text<'static> {
    let previous = || preparation.previous_summary.clone().unwrap_or(Text::from("No prior history."));
    let Some(turn_prefix) = turn_prefix else {
        return history.map_or_else(Text::default, Text::into_owned);
    };
    let summary = history.map_or_else(previous, Text::into_owned);
    concat(&[&summary, &"\n\n---\n\n**Turn Context (split turn):**\n\n", &turn_prefix])
}

/// The requests of an agent. A summarizer that reads standard input has no system prompt, so they include what
/// the agent's system prompt would.
#[derive(Debug)]
pub struct Requests {
    /// For a summary of the history.
    pub history: &'static str,
    /// For one that continues the previous summary.
    pub update: &'static str,
    /// The sections that both of these require.
    pub sections: &'static str,
    /// For a summary of the beginning of a split turn.
    pub turn_prefix: &'static str,
    /// For a summary of a branch.
    pub branch: &'static str,
    /// The sections that it requires.
    pub branch_sections: &'static str,
    /// Returns the previous summary in the form in which it is quoted.
    pub quoted: fn(&Text) -> Text<'static>,
}

/// Writes messages as text.
pub type Transcript<'a> = dyn Fn(&mut dyn Write) -> io::Result<()> + 'a;

impl Requests {
    /// Writes the prompt for one part of a compaction, from the `transcript` of that part.
    ///
    /// # Errors
    /// If an entry cannot be read, or writing fails.
    pub fn compaction(
        &self,
        segment: Segment,
        transcript: &Transcript,
        previous: Option<&Text>,
        instructions: &Instructions,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        conversation(transcript, out)?;
        match (segment, previous.filter(|summary| !summary.is_empty())) {
            (Segment::TurnPrefix, _) => ask(&[self.turn_prefix], instructions, out),
            (Segment::History, None) => ask(&[self.history, self.sections], instructions, out),
            (Segment::History, Some(previous)) => {
                let previous = (self.quoted)(previous);
                write!(out, "<previous-summary>\n{previous}\n</previous-summary>\n\n")?;
                ask(&[self.update, self.sections], instructions, out)
            }
        }
    }

    /// Writes the prompt for the summary of a branch, from its `transcript`.
    ///
    /// # Errors
    /// If an entry cannot be read, or writing fails.
    pub fn branch(
        &self,
        transcript: &Transcript,
        instructions: &Instructions,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        conversation(transcript, out)?;
        ask(&[self.branch, self.branch_sections], instructions, out)
    }
}

fn conversation(transcript: &Transcript, out: &mut dyn Write) -> io::Result<()> {
    out.write_all(b"<conversation>\n")?;
    transcript(out)?;
    out.write_all(b"\n</conversation>\n\n")
}

fn ask(built_in: &[&str], instructions: &Instructions, out: &mut dyn Write) -> io::Result<()> {
    let text = instructions.text.as_ref().filter(|text| !text.is_empty());
    match text {
        Some(text) if instructions.replace => return write!(out, "{text}"),
        _ => built_in.iter().try_for_each(|words| out.write_all(words.as_bytes()))?,
    }
    match text {
        Some(text) => write!(out, "\n\nPay particular attention to this: {text}"),
        None => Ok(()),
    }
}
