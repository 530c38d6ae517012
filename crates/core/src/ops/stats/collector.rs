//! Counts the entries of a session.

use crate::load::{LoadError, LoadOptions, load};
use crate::ops::prune::Restoration;
use crate::ops::stats::session_stats::{CountedEntry, SessionStats};
use crate::session::Session;
use crate::session::collected::Attribution;
use crate::session::defect::{DamagedLines, FindingKind};
use crate::session::entry::{Entry, EntryIx, Flags, Kind, Role, Slice};
use crate::session::usage::{BilledRequest, SubAgents};
use pisess_store::ReadAt;
use std::iter::Peekable;
use std::ops::Range;
use std::path::Path;

/// Loads a session and counts its entries. `options` must request usage and statistics.
///
/// - `agents` are the path of the file, and the sub-agents whose sessions are counted as well. The
///   usage that a tool result of this session reports for them is left out.
/// - `pruned` restores what was pruned from the session. Of a pruned entry, only its usage counts:
///   it was paid for.
pub fn collect_stats(
    source: &dyn ReadAt,
    options: &LoadOptions,
    agents: Option<(&Path, &SubAgents)>,
    pruned: Option<&Restoration>,
) -> Result<SessionStats, LoadError> {
    let mut session = match pruned {
        Some(pruned) => load(&pruned.restored_file(source), options)?,
        None => load(source, options)?,
    };

    let billed = std::mem::take(&mut session.collected.billed);
    let entries = count_requests_and_messages(&session, billed, agents, pruned);
    let malformed = count_malformed(&session, pruned);
    Ok(SessionStats {
        session,
        entries,
        malformed,
    })
}

/// Counts the entries of a session that is loaded with usage and statistics. No sub-agents are
/// counted elsewhere, and nothing was pruned.
pub fn count_loaded(session: &Session) -> Vec<CountedEntry> {
    let billed = session.collected.billed.clone();
    count_requests_and_messages(session, billed, None, None)
}

/// Counts the entries of a session; `billed` are the requests that they record. The other
/// parameters are those of [`collect_stats`].
fn count_requests_and_messages(
    session: &Session,
    billed: Vec<BilledRequest>,
    agents: Option<(&Path, &SubAgents)>,
    pruned: Option<&Restoration>,
) -> Vec<CountedEntry> {
    let mut counter = Counter::new(session, pruned);
    let mut requests = billed.into_iter().peekable();
    for ix in session.entry_indexes() {
        let request = requests.next_if(|request| request.entry == ix);
        let is_counted_elsewhere = match (&request, agents) {
            (Some(request), Some((path, agents))) => request.is_counted_elsewhere(path, agents),
            _ => false,
        };
        counter.count_entry(ix, request, is_counted_elsewhere);
    }
    counter.entries
}

/// Returns the number of lines below the header that are not JSON, with the first of them; `None`
/// if all are.
///
/// `session` includes what was pruned from it, so its lines have other numbers than in the file.
/// The number of the first is one in the file, unless that line itself was pruned.
fn count_malformed(session: &Session, pruned: Option<&Restoration>) -> Option<DamagedLines> {
    let mut count = 0;
    let mut first = None;
    for problem in &session.problems {
        let is_malformed = matches!(
            problem.kind,
            FindingKind::MalformedLine | FindingKind::FusedLine
        );
        // The agents read over lines before the header.
        if is_malformed && problem.line > session.header.line {
            count += 1;
            if first.is_none() {
                first = Some(problem.line);
            }
        }
    }
    let first = first?;
    let current_line = pruned.and_then(|pruned| pruned.session_line(first));
    Some(DamagedLines {
        count,
        first: current_line.unwrap_or(first),
    })
}

/// Counts the entries of a session, one after the other.
struct Counter<'s> {
    session: &'s Session,
    pruned: Option<&'s Restoration>,
    /// The messages and billed entries so far.
    entries: Vec<CountedEntry>,
    attributions: Peekable<std::slice::Iter<'s, Attribution>>,
    /// The number of tool calls so far.
    next_call: usize,
    turn: TurnState,
    /// The latest time of a message.
    last_ms: i64,
    /// The provider and model of the last reply, to which tool results are attributed.
    provider: Slice,
    model: Slice,
}

impl<'s> Counter<'s> {
    /// Returns a counter before the first entry. Entries are counted in file order, which
    /// attributions and tool calls have as well.
    fn new(session: &'s Session, pruned: Option<&'s Restoration>) -> Self {
        Counter {
            session,
            pruned,
            entries: Vec::new(),
            attributions: session.collected.attributions.iter().peekable(),
            next_call: 0,
            turn: TurnState::Idle,
            last_ms: Entry::NO_TIME,
            provider: Slice::default(),
            model: Slice::default(),
        }
    }

    /// Counts the next entry, given the request that it records. If `is_counted_elsewhere` is set,
    /// the usage of the request counts with another session.
    fn count_entry(
        &mut self,
        ix: EntryIx,
        request: Option<BilledRequest>,
        is_counted_elsewhere: bool,
    ) {
        let entry = self.session.entry(ix);
        let attribution = self
            .attributions
            .next_if(|attribution| attribution.entry == ix)
            .copied();
        let role = if entry.kind == Kind::Message {
            Some(entry.role)
        } else {
            None
        };
        if role.is_none() && request.is_none() {
            // Such a custom message is a request of the user, which begins a turn.
            if entry.kind == Kind::CustomMessage && attribution.is_some() {
                self.turn = TurnState::after_request(entry.time_ms);
            }
            return;
        }

        // A copy of a reply that is earlier in the file has no request of its own.
        let is_copy = role == Some(Role::Assistant) && request.is_none();
        let request = if is_counted_elsewhere { None } else { request };
        let mut attribution = attribution.unwrap_or_else(|| Attribution::empty(ix));
        if role == Some(Role::Assistant) {
            self.provider = attribution.provider;
            self.model = attribution.model;
        } else if role == Some(Role::ToolResult) && request.is_none() {
            attribution.provider = self.provider;
            attribution.model = self.model;
        }

        let calls = self.take_calls(ix);
        let took_ms = self.turn.advance_to(&TurnEntry {
            role: entry.role,
            time_ms: entry.time_ms,
            is_copy,
            began_ms: self.began_since_last_message(&attribution),
            has_calls: !calls.is_empty(),
        });
        if role.is_some() {
            self.last_ms = self.last_ms.max(entry.time_ms);
        }

        let line = match self.pruned {
            Some(pruned) => pruned.session_line(entry.line),
            None => Some(entry.line),
        };
        if line.is_none() {
            self.add_pruned(attribution, entry.time_ms, request);
            return;
        }
        self.entries.push(CountedEntry {
            attribution,
            time_ms: entry.time_ms,
            took_ms,
            is_billed: request.is_some(),
            agents: request
                .as_ref()
                .and_then(|request| request.reported_ends.clone()),
            usage: match request {
                Some(request) if attribution.has_usage => Some(request.usage),
                _ => None,
            },
            role,
            has_failed: role == Some(Role::ToolResult) && entry.flags.contains(Flags::FAILED),
            line,
            calls,
        });
    }

    /// Returns when a reply began, unless a message was written since then.
    fn began_since_last_message(&self, attribution: &Attribution) -> Option<i64> {
        let began_ms = attribution.began_ms?;
        let is_since_last = self.last_ms != Entry::NO_TIME && began_ms >= self.last_ms;
        if is_since_last { Some(began_ms) } else { None }
    }

    /// Counts an entry that was pruned: only what it used, if it was billed.
    fn add_pruned(
        &mut self,
        attribution: Attribution,
        time_ms: i64,
        request: Option<BilledRequest>,
    ) {
        let Some(request) = request else {
            return;
        };
        self.entries.push(CountedEntry {
            attribution,
            time_ms,
            took_ms: 0,
            is_billed: true,
            agents: request.reported_ends,
            usage: Some(request.usage),
            role: None,
            has_failed: false,
            line: None,
            calls: 0..0,
        });
    }

    /// Moves past the tool calls of an entry, which are the next ones, and returns their range in
    /// `Collected::counted_calls`.
    fn take_calls(&mut self, ix: EntryIx) -> Range<usize> {
        let start = self.next_call;
        let calls = &self.session.collected.counted_calls;
        while calls
            .get(self.next_call)
            .is_some_and(|call| call.entry == ix)
        {
            self.next_call += 1;
        }
        start..self.next_call
    }
}

/// The maximum time between two entries of a turn that counts as work, in milliseconds: an hour. A
/// longer pause was spent waiting for a user, or for the machine to wake up.
const LONGEST_STEP_MS: i64 = 60 * 60 * 1000;

/// What the conversation is waiting for, with the time since when the agent or its tools have been
/// working, in milliseconds since 1970.
#[derive(Clone, Copy)]
enum TurnState {
    /// A request.
    Idle,
    /// A reply.
    Replying(i64),
    /// The results of tool calls.
    RunningTools(i64),
}

/// An entry that continues a turn.
struct TurnEntry {
    role: Role,
    /// Its time, in milliseconds since 1970; [`Entry::NO_TIME`] if it has none.
    time_ms: i64,
    /// Whether it is a copy of a reply that is earlier in the file.
    is_copy: bool,
    /// When the reply began, if it has that time and no message was written since.
    began_ms: Option<i64>,
    /// Whether the reply calls tools.
    has_calls: bool,
}

impl TurnState {
    /// Returns the state after a request of the user. Without a time, no turn is measured.
    fn after_request(time_ms: i64) -> TurnState {
        if time_ms == Entry::NO_TIME {
            TurnState::Idle
        } else {
            TurnState::Replying(time_ms)
        }
    }

    /// Advances the state past an entry. Returns the milliseconds that the agent and its tools
    /// worked before the entry; 0 if it does not continue a turn, or after too long a pause.
    ///
    /// A turn lasts from a user message to the first reply that calls no tools. A copied reply ends
    /// a turn, too: its work was counted with the original.
    fn advance_to(&mut self, entry: &TurnEntry) -> i64 {
        if entry.is_copy {
            *self = TurnState::Idle;
            return 0;
        }

        let is_timed = entry.time_ms != Entry::NO_TIME;
        let took_ms = match entry.role {
            Role::User => {
                *self = TurnState::after_request(entry.time_ms);
                0
            }
            Role::Assistant if is_timed => self.advance_to_reply(entry),
            Role::ToolResult if is_timed => self.advance_to_result(entry.time_ms),
            _ => 0,
        };

        // A longer step is a pause, as of a machine that slept. A clock that was set back makes a step
        // negative.
        let was_working = (0..=LONGEST_STEP_MS).contains(&took_ms);
        if was_working { took_ms } else { 0 }
    }

    /// Advances the state past a reply, and returns the milliseconds since the entry before it in
    /// the turn. A reply that follows no request took only the time of its own generation: another
    /// program appended it, or it answers an extension.
    fn advance_to_reply(&mut self, reply: &TurnEntry) -> i64 {
        let began_ms = match *self {
            TurnState::Replying(since_ms) => since_ms,
            TurnState::Idle | TurnState::RunningTools(_) => reply.began_ms.unwrap_or(reply.time_ms),
        };
        *self = if reply.has_calls {
            TurnState::RunningTools(reply.time_ms.max(began_ms))
        } else {
            TurnState::Idle
        };
        reply.time_ms - began_ms
    }

    /// Advances the state past a tool result, and returns the milliseconds since the entry before
    /// it in the turn; 0 outside of a turn.
    fn advance_to_result(&mut self, time_ms: i64) -> i64 {
        match *self {
            TurnState::Replying(since_ms) | TurnState::RunningTools(since_ms) => {
                // The state never goes back in time, even if a result is older than what precedes
                // it.
                *self = TurnState::Replying(since_ms.max(time_ms));
                time_ms - since_ms
            }
            TurnState::Idle => 0,
        }
    }
}
