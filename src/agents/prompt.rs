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

impl Requests {
    /// Returns what is requested for one part of a compaction, after its transcript.
    pub fn compaction(
        &self,
        segment: Segment,
        previous: Option<&Text>,
        instructions: &Instructions,
    ) -> Text<'static> {
        match (segment, previous.filter(|summary| !summary.is_empty())) {
            (Segment::TurnPrefix, _) => instructions.after(&[&self.turn_prefix]),
            (Segment::History, None) => instructions.after(&[&self.history, &self.sections]),
            (Segment::History, Some(previous)) => concat(&[
                &"<previous-summary>\n",
                &(self.quoted)(previous),
                &"\n</previous-summary>\n\n",
                &instructions.after(&[&self.update, &self.sections]),
            ]),
        }
    }

    /// Returns what is requested for the summary of a branch, after its transcript.
    pub fn branch(&self, instructions: &Instructions) -> Text<'static> {
        instructions.after(&[&self.branch, &self.branch_sections])
    }
}

impl Instructions<'_> {
    /// Returns the built-in instructions with these.
    fn after(&self, built_in: &[&dyn AsRef<[u8]>]) -> Text<'static> {
        match self.text.as_ref().filter(|text| !text.is_empty()) {
            None => concat(built_in),
            Some(text) if self.replace => text.clone().into_owned(),
            Some(text) => concat(&[&concat(built_in), &"\n\nPay particular attention to this: ", text]),
        }
    }
}

/// Writes the parts of a transcript, with a blank line between them.
pub struct TranscriptWriter<'a> {
    out: &'a mut dyn Write,
    begun: bool,
}

impl<'a> TranscriptWriter<'a> {
    /// Returns a writer that has written nothing.
    pub fn new(out: &'a mut dyn Write) -> Self {
        TranscriptWriter { out, begun: false }
    }

    /// Writes a part, with U+FFFD for each lone surrogate.
    pub fn part(&mut self, label: &str, text: &Text) -> io::Result<()> {
        let gap = if std::mem::replace(&mut self.begun, true) { "\n\n" } else { "" };
        write!(self.out, "{gap}{label}{text}")
    }

    /// Writes a part, unless it has no text.
    pub fn part_unless_empty(&mut self, label: &str, text: &Text) -> io::Result<()> {
        if text.is_empty() { Ok(()) } else { self.part(label, text) }
    }
}
