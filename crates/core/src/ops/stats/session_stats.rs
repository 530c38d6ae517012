//! The data of one session for statistics.

use crate::session::Session;
use crate::session::collected::{Attribution, CountedCall};
use crate::session::defect::DamagedLines;
use crate::session::entry::{LineNo, Role, Slice};
use crate::session::usage::{Usage, model_name};
use std::borrow::Cow;
use std::ops::Range;

/// A session, and its counted entries.
#[derive(Debug)]
pub struct SessionStats {
    /// The session, with its pruned content restored.
    pub session: Session,
    /// The messages and billed entries, in file order.
    pub entries: Vec<CountedEntry>,
    /// The lines that are not JSON; `None` if there are none.
    pub malformed: Option<DamagedLines>,
}

/// A counted entry: a message or a billed entry.
#[derive(Clone, Debug)]
pub struct CountedEntry {
    /// The entry, its model and its tool. A tool result without usage of its own has the model of
    /// the last reply.
    pub attribution: Attribution,
    /// The time of the entry, in milliseconds since 1970;
    /// [`NO_TIME`](crate::session::entry::Entry::NO_TIME) if it has none.
    pub time_ms: i64,
    /// The milliseconds of work since the previous entry of the turn; 0 outside of a turn.
    pub took_ms: i64,
    /// Whether the entry counts as a request to a model. A copy of an earlier message in the file,
    /// as `pisess pick` makes it, does not, because it was paid for only once.
    pub is_billed: bool,
    /// The tokens and the cost, if the entry has any.
    pub usage: Option<Usage>,
    /// The path suffixes of the sessions of sub-agents, as far as they are recorded. Only for a
    /// tool result whose `usage` is the sum that it reports for these sub-agents.
    pub agents: Option<Box<[String]>>,
    /// The role of the message; `None` for a billed entry that is not a message.
    pub role: Option<Role>,
    /// Whether the entry is the result of a tool that failed.
    pub has_failed: bool,
    /// The physical line; `None` if the entry was pruned.
    pub line: Option<LineNo>,
    /// The range of the entry's tool calls in `Collected::counted_calls`.
    pub(super) calls: Range<usize>,
}

impl CountedEntry {
    /// Returns the tool calls of this entry of `session`.
    pub fn calls_in<'s>(&self, session: &'s Session) -> &'s [CountedCall] {
        &session.collected.counted_calls[self.calls.clone()]
    }

    /// Returns the number of tool calls of this entry of `session`. A call that names several files
    /// counts once.
    pub fn call_count(&self, session: &Session) -> usize {
        let calls = self.calls_in(session).iter();
        calls.filter(|call| !call.is_further_file).count()
    }
}

impl SessionStats {
    /// Returns the tool calls of an entry.
    pub fn calls(&self, entry: &CountedEntry) -> &[CountedCall] {
        entry.calls_in(&self.session)
    }

    /// Returns the name of a model, a provider or a tool; `None` if it is empty.
    pub fn attribution_name(&self, name: Slice) -> Option<Cow<'_, str>> {
        decode_name(&self.session, name)
    }

    /// Returns the model of an entry with its provider, such as `anthropic/claude-opus-4-5`.
    pub fn model(&self, entry: &CountedEntry) -> Option<String> {
        let provider = self.attribution_name(entry.attribution.provider);
        let model = self.attribution_name(entry.attribution.model);
        model_name(provider.as_deref(), model.as_deref())
    }
}

fn decode_name(session: &Session, name: Slice) -> Option<Cow<'_, str>> {
    let bytes = session.bytes(name);
    if bytes.is_empty() {
        return None;
    }
    Some(String::from_utf8_lossy(bytes))
}
