//! What one session counts for in statistics.

use crate::session::Session;
use crate::session::collected::{Attribution, CountedCall};
use crate::session::defect::DamagedLines;
use crate::session::entry::{LineNo, Role, Slice};
use crate::session::usage::{Usage, model_name};
use std::borrow::Cow;
use std::ops::Range;

/// A session, and what is counted of it.
#[derive(Debug)]
pub struct SessionStats {
    /// The session, with what was pruned from it.
    pub session: Session,
    /// Its messages and billed entries, in file order.
    pub entries: Vec<CountedEntry>,
    /// The lines that are not JSON; `None` if there are none.
    pub malformed: Option<DamagedLines>,
}

/// An entry that is counted.
#[derive(Clone, Debug)]
pub struct CountedEntry {
    /// The entry, its model and its tool. The model of a tool result without usage of its own is
    /// that of the call.
    pub attribution: Attribution,
    /// Its time; [`NO_TIME`](crate::session::entry::Entry::NO_TIME) if it has none.
    pub time_ms: i64,
    /// The milliseconds since the previous entry of its turn; 0 outside of a turn.
    pub took_ms: i64,
    /// Whether it counts as a request to a model. A message that is earlier in the file as well, as
    /// after `pisess pick`, does not: it was paid for once.
    pub is_billed: bool,
    /// Its tokens and cost, if it has any.
    pub usage: Option<Usage>,
    /// If `usage` is the sum that a tool result reports for sub-agents, which may have their own
    /// sessions: the ends of the paths of these sessions, as far as it names them.
    pub agents: Option<Box<[String]>>,
    /// The role of its message; `None` for an entry that is not a message but is billed.
    pub role: Option<Role>,
    /// Whether it is the result of a tool that failed.
    pub has_failed: bool,
    /// Its physical line; `None` if it was pruned.
    pub line: Option<LineNo>,
    /// The range of its tool calls in `Collected::counted_calls`.
    pub(super) calls: Range<usize>,
}

impl CountedEntry {
    /// Returns the tool calls of this entry of `session`.
    pub fn calls_in<'s>(&self, session: &'s Session) -> &'s [CountedCall] {
        &session.collected.counted_calls[self.calls.clone()]
    }

    /// Returns the number of tool calls of this entry of `session`.
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

    /// Returns the model of an entry, with its provider.
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
