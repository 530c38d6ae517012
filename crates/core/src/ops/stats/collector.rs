//! Counts the entries of a session.

use crate::load::{LoadError, Options, load};
use crate::ops::prune::Restore;
use crate::ops::stats::session_stats::{Counted, SessionStats};
use crate::session::collected::Attribution;
use crate::session::defect::FindingKind;
use crate::session::entry::{Entry, Flags, Kind, Role, Slice};
use crate::session::usage::{Billed, SubAgents};
use crate::session::{Problem, Session};
use pisess_store::ReadAt;
use std::path::Path;

/// Loads and counts a session; the options must request usage and statistics. What was pruned from
/// it is read with it: only what it used counts. `agents` are the path of the file, and the
/// sub-agents whose sessions are read as well. The usage that a tool result reports for these is
/// omitted.
pub fn collect(
    source: &dyn ReadAt,
    options: &Options,
    agents: Option<(&Path, &SubAgents)>,
    pruned: Option<&Restore>,
) -> Result<SessionStats, LoadError> {
    let whole = pruned.map(|pruned| pruned.whole(source));
    let source = whole.as_ref().map_or(source, |whole| whole as &dyn ReadAt);
    let mut session = load(source, options)?;
    let billed = std::mem::take(&mut session.collected.billed);
    let is_elsewhere =
        |request: &Billed| agents.is_some_and(|(path, agents)| request.is_elsewhere(path, agents));
    let entries = counted(&session, billed, is_elsewhere, pruned);
    let is_malformed = |problem: &&Problem| {
        problem.line > session.header.line
            && matches!(
                problem.kind,
                FindingKind::MalformedLine | FindingKind::FusedLine
            )
    };
    let mut lines = session
        .problems
        .iter()
        .filter(is_malformed)
        .map(|problem| problem.line);
    let malformed = lines.next().map(|first| {
        let shown = pruned
            .and_then(|pruned| pruned.in_session(first))
            .unwrap_or(first);
        (1 + lines.count() as u32, shown)
    });
    Ok(SessionStats {
        session,
        entries,
        malformed,
    })
}

/// Returns the messages and billed entries of a session, given its requests, and whether one is
/// counted elsewhere.
fn counted(
    session: &Session,
    requests: Vec<Billed>,
    is_elsewhere: impl Fn(&Billed) -> bool,
    pruned: Option<&Restore>,
) -> Vec<Counted> {
    let mut entries = Vec::new();
    let mut billed = requests.into_iter().peekable();
    let mut attributions = session.collected.attributions.iter().peekable();
    let calls = &session.collected.counted_calls;
    // What is waited for, and the latest time of a message.
    let (mut turn, mut last_ms) = (Turn::Over, Entry::NO_TIME);
    // The provider and model of the last reply, to which tool results are attributed.
    let mut model = (Slice::default(), Slice::default());
    let mut called = 0;
    for ix in session.all() {
        let entry = session.entry(ix);
        let request = billed.next_if(|request| request.entry == ix);
        let attribution = attributions.next_if(|by| by.entry == ix);
        let role = (entry.kind == Kind::Message).then_some(entry.role);
        if role.is_none() && request.is_none() {
            if entry.kind == Kind::CustomMessage && attribution.is_some() {
                turn = Turn::after_request(entry.time_ms);
            }
            continue;
        }
        let mut by = attribution
            .copied()
            .unwrap_or_else(|| Attribution::none(ix));
        let is_copy = role == Some(Role::Assistant) && request.is_none();
        let request = request.filter(|request| !is_elsewhere(request));
        match role {
            Some(Role::Assistant) => model = (by.provider, by.model),
            Some(Role::ToolResult) if request.is_none() => (by.provider, by.model) = model,
            _ => {}
        }
        let first = called;
        called += calls[first..]
            .iter()
            .take_while(|call| call.entry == ix)
            .count();
        let began_ms = by
            .began_ms
            .filter(|&began| last_ms != Entry::NO_TIME && began >= last_ms);
        let took_ms = turn.took(entry, is_copy, began_ms, called > first);
        last_ms = role.map_or(last_ms, |_| last_ms.max(entry.time_ms));
        let line = pruned.map_or(Some(entry.line), |pruned| pruned.in_session(entry.line));
        let is_there = line.is_some();
        // Of an entry that was pruned, only what it used counts.
        if is_there || request.is_some() {
            entries.push(Counted {
                by,
                time_ms: entry.time_ms,
                took_ms: if is_there { took_ms } else { 0 },
                is_billed: request.is_some(),
                agents: request.as_ref().and_then(|request| request.agents.clone()),
                usage: request
                    .filter(|_| by.has_usage || !is_there)
                    .map(|request| request.usage),
                role: role.filter(|_| is_there),
                has_failed: is_there
                    && role == Some(Role::ToolResult)
                    && entry.flags.has(Flags::FAILED),
                line,
                calls: if is_there { first..called } else { 0..0 },
            });
        }
    }
    entries
}

/// The maximum number of milliseconds between two entries of a turn that count as work: an hour.
/// What takes longer waited for a user, or for the machine to wake up.
const LONGEST_STEP: i64 = 60 * 60 * 1000;

/// What the conversation is waiting for, with the latest time of what is being done.
#[derive(Clone, Copy)]
enum Turn {
    /// A request.
    Over,
    /// A reply.
    Working(i64),
    /// The results of tool calls.
    Calling(i64),
}

impl Turn {
    fn after_request(time_ms: i64) -> Turn {
        if time_ms == Entry::NO_TIME {
            Turn::Over
        } else {
            Turn::Working(time_ms)
        }
    }

    /// Goes on to the next entry. Returns the time that the agent and its tools worked before it. A
    /// turn lasts from a user message to the first reply that calls no tools. What follows without
    /// a request, as a message that another program appended, or a reply to an extension, took no
    /// longer than its own generation. A step that took hours was idle. `began` is when a reply
    /// began, if it says so and nothing was written since.
    fn took(&mut self, entry: &Entry, is_copy: bool, began: Option<i64>, has_calls: bool) -> i64 {
        let time_ms = entry.time_ms;
        let is_timed = time_ms != Entry::NO_TIME;
        let (next, took) = match (entry.role, *self) {
            _ if is_copy => (Turn::Over, 0),
            (Role::User, _) => (Turn::after_request(time_ms), 0),
            (Role::Assistant | Role::ToolResult, _) if !is_timed => (*self, 0),
            (Role::Assistant, turn) => {
                let began = match turn {
                    Turn::Working(before) => before,
                    _ => began.unwrap_or(time_ms),
                };
                let next = if has_calls {
                    Turn::Calling(time_ms.max(began))
                } else {
                    Turn::Over
                };
                (next, time_ms - began)
            }
            (Role::ToolResult, Turn::Working(before) | Turn::Calling(before)) => {
                (Turn::Working(before.max(time_ms)), time_ms - before)
            }
            _ => (*self, 0),
        };
        *self = next;
        if (0..=LONGEST_STEP).contains(&took) {
            took
        } else {
            0
        }
    }
}
