//! What a summary is made from, and how much of it is wanted.

use crate::session::read::entry_reader::ContextMessage;

/// What a summary is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SummarySubject {
    /// The conversation up to a point after which the user made more requests.
    Conversation {
        /// The number of those requests.
        later_requests: usize,
    },
    /// A branch that is left, with nothing after it.
    Branch,
}

impl Default for SummarySubject {
    fn default() -> Self {
        SummarySubject::Conversation { later_requests: 0 }
    }
}

/// How much a summary has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum SummaryExtent {
    /// All that is needed to go on.
    #[default]
    Whole,
    /// What a model easily misses in a long transcript, as a part of its prompt: what the session
    /// is for, wishes, decisions and open failures, of the messages alone. Empty if there are none.
    Facts,
}

/// What a summary is made from.
#[derive(Clone, Copy, Debug)]
pub struct SummaryInput<'a> {
    /// The messages to summarize.
    pub messages: &'a [ContextMessage],
    /// The beginning of a turn whose rest stays in the context.
    pub turn_prefix: &'a [ContextMessage],
    /// The messages that stay in the context after the summary. They are not summarized, but may
    /// settle what failed before.
    pub kept: &'a [ContextMessage],
    /// The previous summary, to be merged.
    pub previous_summary: Option<&'a str>,
    /// What the summary should focus on.
    pub instructions: Option<&'a str>,
    /// What the messages are a part of.
    pub subject: SummarySubject,
    /// How much the summary has.
    pub extent: SummaryExtent,
}
