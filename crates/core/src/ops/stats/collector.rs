//! Collects the data of a session's entries for statistics.

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

/// The sub-agents whose sessions are counted together with a session, so that the usage that the
/// session reports for them must be left out.
#[derive(Clone, Copy)]
pub struct CountedAgents<'a> {
    /// The path of the file of the session.
    pub session_path: &'a Path,
    /// The sub-agents.
    pub agents: &'a SubAgents,
}

/// Loads a session and counts its entries. `options` must request usage and statistics.
///
/// - `counted_agents` are sub-agents whose sessions are counted as well. The usage that tool
///   results of this session report for them is left out.
/// - `pruned` restores the content that was pruned from the session. Only the usage of a pruned
///   entry is counted, because it was paid for.
pub fn collect_stats(
    source: &dyn ReadAt,
    options: &LoadOptions,
    counted_agents: Option<CountedAgents>,
    pruned: Option<&Restoration>,
) -> Result<SessionStats, LoadError> {
    let mut session = match pruned {
        Some(pruned) => load(&pruned.restored_file(source), options)?,
        None => load(source, options)?,
    };

    let billed = std::mem::take(&mut session.collected.billed);
    let entries = count_requests_and_messages(&session, billed, counted_agents, pruned);
    let malformed = count_malformed(&session, pruned);
    Ok(SessionStats {
        session,
        entries,
        malformed,
    })
}

/// Counts the entries of a session that was loaded with usage and statistics. Ignores pruned
/// content, and includes the usage that is reported for sub-agents.
pub fn count_loaded(session: &Session) -> Vec<CountedEntry> {
    let billed = session.collected.billed.clone();
    count_requests_and_messages(session, billed, None, None)
}

/// Counts the entries of a session. `billed` are the requests to a model that the entries record,
/// at most one for each entry and in file order. For `counted_agents` and `pruned`, see
/// [`collect_stats`].
fn count_requests_and_messages(
    session: &Session,
    billed: Vec<BilledRequest>,
    counted_agents: Option<CountedAgents>,
    pruned: Option<&Restoration>,
) -> Vec<CountedEntry> {
    let mut counter = Counter::new(session, pruned);
    let mut requests = billed.into_iter().peekable();
    for ix in session.entry_indexes() {
        let request = requests.next_if(|request| request.entry == ix);
        counter.count_entry(ix, Billing::of_request(request, counted_agents));
    }
    debug_assert!(requests.next().is_none(), "requests are in file order");
    counter.entries
}

/// Whether an entry records a request to a model, and where its usage is counted.
enum Billing {
    /// The entry records no request.
    NotBilled,
    /// The entry records this request.
    Billed(BilledRequest),
    /// The entry records a request whose usage is counted with the session of a sub-agent.
    BilledElsewhere,
}

impl Billing {
    /// Returns the billing of an entry that records `request`. A request that a sub-agent made is
    /// billed elsewhere if it is one of `counted_agents`.
    fn of_request(
        request: Option<BilledRequest>,
        counted_agents: Option<CountedAgents>,
    ) -> Billing {
        let Some(request) = request else {
            return Billing::NotBilled;
        };
        if let Some(counted) = counted_agents
            && request.is_counted_elsewhere(counted.session_path, counted.agents)
        {
            return Billing::BilledElsewhere;
        }
        Billing::Billed(request)
    }
}

/// Returns the number of lines below the header that are not JSON, or not exactly one value, and
/// the first of these lines; `None` if there are none.
///
/// If `session` was restored with `pruned`, its line numbers differ from the numbers in the file.
/// The number of the first line is converted to that in the file.
fn count_malformed(session: &Session, pruned: Option<&Restoration>) -> Option<DamagedLines> {
    let mut count = 0;
    let mut first = None;
    for problem in &session.problems {
        let is_malformed = matches!(
            problem.kind,
            FindingKind::MalformedLine | FindingKind::FusedLine
        );
        // The agents ignore lines before the header.
        if is_malformed && problem.line > session.header.line {
            count += 1;
            first = first.or(Some(problem.line));
        }
    }
    let first = first?;
    let line_in_file = match pruned {
        // Only entries are pruned, so a malformed line is still in the file.
        Some(pruned) => pruned.session_line(first).unwrap_or(first),
        None => first,
    };
    Some(DamagedLines {
        count,
        first: line_in_file,
    })
}

/// The state of counting the entries of a session, one after the other.
struct Counter<'s> {
    session: &'s Session,
    pruned: Option<&'s Restoration>,
    /// The messages and billed entries that were counted so far.
    entries: Vec<CountedEntry>,
    attributions: Peekable<std::slice::Iter<'s, Attribution>>,
    /// The index of the next tool call in `Collected::counted_calls`.
    next_call: usize,
    turn: TurnState,
    /// The latest time of a message so far.
    last_ms: i64,
    /// The provider of the last reply, to which tool results are attributed.
    provider: Slice,
    /// The model of the last reply.
    model: Slice,
}

impl<'s> Counter<'s> {
    /// Returns a counter that has counted nothing. Entries must be counted in file order: their
    /// attributions (the provider, the model and the tool of each) and their tool calls are taken
    /// in this order.
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

    /// Counts the next entry: adds it to `entries` if it is a message or a billed entry, and
    /// advances the turn.
    fn count_entry(&mut self, ix: EntryIx, billing: Billing) {
        let entry = self.session.entry(ix);
        // Taken even if the entry is not counted, so that the one of the next entry is at the
        // front.
        let recorded_attribution = self
            .attributions
            .next_if(|attribution| attribution.entry == ix)
            .copied();
        let role = if entry.kind == Kind::Message {
            Some(entry.role)
        } else {
            None
        };
        let is_not_billed = matches!(billing, Billing::NotBilled);
        if role.is_none() && is_not_billed {
            // A custom message with an attribution is a request of the user, so it begins a turn.
            if entry.kind == Kind::CustomMessage && recorded_attribution.is_some() {
                self.turn = TurnState::after_request(entry.time_ms);
            }
            return;
        }

        let request = match billing {
            Billing::Billed(request) => Some(request),
            Billing::NotBilled | Billing::BilledElsewhere => None,
        };
        let mut attribution = recorded_attribution.unwrap_or_else(|| Attribution::empty(ix));
        if role == Some(Role::Assistant) {
            self.provider = attribution.provider;
            self.model = attribution.model;
        } else if role == Some(Role::ToolResult) && request.is_none() {
            // The result belongs to the model that called the tool.
            attribution.provider = self.provider;
            attribution.model = self.model;
        }

        let calls = self.take_calls(ix);
        let took_ms = self.turn.advance_to(&TurnEntry {
            role: entry.role,
            time_ms: entry.time_ms,
            // Each reply is billed, except a copy of an earlier reply in the file.
            is_copy: role == Some(Role::Assistant) && is_not_billed,
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
            self.count_pruned_usage(attribution, entry.time_ms, request);
            return;
        }
        let mut counted = CountedEntry {
            attribution,
            time_ms: entry.time_ms,
            took_ms,
            is_billed: false,
            agents: None,
            usage: None,
            role,
            has_failed: role == Some(Role::ToolResult) && entry.flags.contains(Flags::FAILED),
            line,
            calls,
        };
        if let Some(request) = request {
            counted.is_billed = true;
            counted.agents = request.reported_ends;
            if attribution.has_usage {
                counted.usage = Some(request.usage);
            }
        }
        self.entries.push(counted);
    }

    /// Returns the time at which a reply began; `None` if it is not recorded, or if a message was
    /// written after it.
    fn began_since_last_message(&self, attribution: &Attribution) -> Option<i64> {
        let began_ms = attribution.began_ms?;
        let is_since_last = self.last_ms != Entry::NO_TIME && began_ms >= self.last_ms;
        if is_since_last { Some(began_ms) } else { None }
    }

    /// Counts the usage of an entry that was pruned from the session, if it was billed, because it
    /// was paid for. Nothing else of it is counted.
    fn count_pruned_usage(
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

    /// Takes the tool calls of an entry, which are the next in `Collected::counted_calls`. Returns
    /// their range there.
    ///
    /// Must be called for every entry with calls, in file order: the calls of an entry that is left
    /// out would remain the next ones, and no later entry would get its own.
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

/// The maximum time between two entries of a turn that counts as work: an hour, in milliseconds. A
/// longer time was spent waiting for a user, or while the machine slept.
const LONGEST_STEP_MS: i64 = 60 * 60 * 1000;

/// What the conversation is waiting for. The number is the time from which on the model or the
/// tools have been working, in milliseconds since 1970.
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
    /// The time of the entry, in milliseconds since 1970; [`Entry::NO_TIME`] if it has none.
    time_ms: i64,
    /// Whether the entry is a copy of an earlier reply in the file.
    is_copy: bool,
    /// See [`Counter::began_since_last_message`].
    began_ms: Option<i64>,
    /// Whether the reply calls tools.
    has_calls: bool,
}

impl TurnState {
    /// Returns the state after a request of the user. If the request has no time, its turn is not
    /// measured.
    fn after_request(time_ms: i64) -> TurnState {
        if time_ms == Entry::NO_TIME {
            TurnState::Idle
        } else {
            TurnState::Replying(time_ms)
        }
    }

    /// Advances the state past an entry. Returns the milliseconds for which the model or the tools
    /// worked before the entry; 0 if the entry does not continue a turn, or after too long a pause.
    ///
    /// A turn is the work on a request: it lasts from a user message to the first reply that calls
    /// no tools. A copied reply also ends a turn, because its work was counted with the original.
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

        // A longer step is a pause. If the clock was set back, a step is negative. In both cases,
        // the turn goes on, but this step is not counted.
        let was_working = (0..=LONGEST_STEP_MS).contains(&took_ms);
        if was_working { took_ms } else { 0 }
    }

    /// Advances the state past a reply, to its tools or to the end of the turn. Returns the
    /// milliseconds since the entry before it in the turn, which are negative if the clock was set
    /// back.
    ///
    /// A reply that was not expected counts from the time at which it began: another program has
    /// appended it, or an extension has made the request.
    fn advance_to_reply(&mut self, reply: &TurnEntry) -> i64 {
        let since_ms = match *self {
            TurnState::Replying(since_ms) => since_ms,
            TurnState::Idle | TurnState::RunningTools(_) => reply.began_ms.unwrap_or(reply.time_ms),
        };
        *self = if reply.has_calls {
            // The state never goes back in time, even if the clock did.
            TurnState::RunningTools(reply.time_ms.max(since_ms))
        } else {
            TurnState::Idle
        };
        reply.time_ms - since_ms
    }

    /// Advances the state past a tool result: the next reply is expected from then on. Returns the
    /// milliseconds since the entry before it in the turn, which are negative if the clock was set
    /// back; 0 if no turn has begun.
    ///
    /// If a reply called several tools, each result counts from the one before it.
    fn advance_to_result(&mut self, time_ms: i64) -> i64 {
        match *self {
            TurnState::Replying(since_ms) | TurnState::RunningTools(since_ms) => {
                // The state never goes back in time, even if the clock did.
                *self = TurnState::Replying(since_ms.max(time_ms));
                time_ms - since_ms
            }
            TurnState::Idle => 0,
        }
    }
}
