//! The estimate of a context's size, where the count that the session reports cannot be right.
//!
//! An agent takes the last count of the provider as it is. Some providers report next to nothing,
//! so that a conversation of 300 messages has "789 tokens". A count from before a `prune` includes
//! the pruned payloads.

use crate::agents::{context_build_budget, context_build_cost};
use crate::ops::prune::Restoration;
use crate::session::Session;
use crate::session::entry::{EntryIx, Flags, Role};
use crate::session::read::entry_reader::{ContextMessage, EntryReader};
use foldhash::HashMap;
use std::io;

/// A count is implausible if the estimate is at least this many times as large. Estimates of dense
/// text, and of thinking that a provider drops, are up to about twice the count.
const IMPLAUSIBLE_RATIO: f64 = 4.0;

/// The agents estimate a quarter of a token per UTF-16 unit, which takes at least a byte.
const MIN_BYTES_PER_TOKEN: f64 = 4.0;

/// Returns the sum of the agent's estimates of messages, in tokens.
pub fn estimate_messages(messages: &[ContextMessage], reader: &EntryReader) -> io::Result<f64> {
    let agent = reader.session().agent();
    let mut tokens = 0;
    for message in messages {
        tokens += message.with_json(reader, |json| agent.estimate_message(json))?;
    }
    Ok(tokens as f64)
}

/// What was pruned of the payloads that a model saw.
pub struct PrunedPayloads {
    /// Of each entry, whether a payload was pruned from it.
    is_pruned: Vec<bool>,
    /// When that was, in milliseconds since 1970.
    pruned_ms: i64,
}

impl PrunedPayloads {
    /// Returns `None` if nothing was pruned, or at an unknown time.
    pub fn new(pruned: Option<&Restoration>, session: &Session) -> Option<PrunedPayloads> {
        let pruned = pruned?;
        let mut is_pruned = vec![false; session.entries.len()];
        for id in pruned.ids_without_payload() {
            if let Some(ix) = session.find_entry(id) {
                is_pruned[ix.index()] = true;
            }
        }
        Some(PrunedPayloads {
            is_pruned,
            pruned_ms: pruned.written_ms?,
        })
    }

    /// Whether a payload was pruned from the path after its last reply, which has the count of the
    /// provider. The count then includes payloads that are no longer in the context.
    pub fn are_newer_than_count(&self, path: &[EntryIx], session: &Session) -> bool {
        let Some(counted_reply) = last_counted_reply(path, session) else {
            return false;
        };
        session.entry(counted_reply).time_ms < self.pruned_ms
            && path.iter().any(|ix| self.is_pruned[ix.index()])
    }
}

/// Returns the last reply on a path with the count of a provider. A reply that failed or was
/// aborted has none.
fn last_counted_reply(path: &[EntryIx], session: &Session) -> Option<EntryIx> {
    for &ix in path.iter().rev() {
        let flags = session.entry(ix).flags;
        let is_complete = !flags.contains(Flags::FAILED) && !flags.contains(Flags::ABORTED);
        if session.is_message(ix, Role::Assistant) && is_complete {
            return Some(ix);
        }
    }
    None
}

/// Returns the agent's estimate of the whole context at the end of `path`, or `None` if the count
/// is right or there is none. A count is wrong if it is implausible, or older than a prune of the
/// path. `counted` is what [`Agent::estimate_context`] returns there.
///
/// Nothing is read if the lines are too short for an implausible count, as in almost all sessions.
/// Images, whose estimate does not depend on their bytes, may then be missed.
///
/// [`Agent::estimate_context`]: crate::agents::Agent::estimate_context
pub fn estimate_if_wrong(
    counted: f64,
    path: &[EntryIx],
    pruned: Option<&PrunedPayloads>,
    reader: &EntryReader,
) -> io::Result<Option<f64>> {
    Ok(check_count(counted, path, pruned, reader)?.estimate)
}

/// Returns [`estimate_if_wrong`] for each tip that has one; `counted` has the counts. In a
/// session with very many branches, the tips beyond a budget are left out.
pub fn estimate_wrong_counts(
    tips: &[EntryIx],
    counted: &HashMap<EntryIx, f64>,
    pruned: Option<&PrunedPayloads>,
    reader: &EntryReader,
) -> io::Result<HashMap<EntryIx, f64>> {
    let session = reader.session();
    let mut estimates = HashMap::default();
    let mut budget = context_build_budget(session.entries.len());
    for &tip in tips {
        let Some(&count) = counted.get(&tip) else {
            continue;
        };
        if budget == 0 {
            break;
        }
        // Each context takes as long as its path is, which may be the whole file for every tip.
        let path = session.path(Some(tip));
        let checked = check_count(count, &path, pruned, reader)?;
        budget = budget.saturating_sub(context_build_cost(checked.built_messages, path.len()));
        if let Some(estimate) = checked.estimate {
            estimates.insert(tip, estimate);
        }
    }
    Ok(estimates)
}

/// The result of comparing a count with the agent's estimate.
struct CheckedCount {
    /// The estimate, in tokens; `None` if the count is right or there is none.
    estimate: Option<f64>,
    /// The number of messages of the context that was built for this; 0 if the length of the lines
    /// sufficed.
    built_messages: usize,
}

/// Checks a count as [`estimate_if_wrong`] does. Also returns how many messages were built for
/// this, because a caller may have a budget for that.
fn check_count(
    counted: f64,
    path: &[EntryIx],
    pruned: Option<&PrunedPayloads>,
    reader: &EntryReader,
) -> io::Result<CheckedCount> {
    let mut checked = CheckedCount {
        estimate: None,
        built_messages: 0,
    };
    if counted.is_nan() || counted <= 0.0 {
        return Ok(checked);
    }
    let session = reader.session();
    // A count from before a prune includes what was pruned.
    let is_too_old = pruned.is_some_and(|pruned| pruned.are_newer_than_count(path, session));
    // Below this estimate, the count is plausible. Few bytes cannot have so many tokens.
    let least_estimate = counted * IMPLAUSIBLE_RATIO;
    let can_be_implausible = |bytes: u64| bytes as f64 >= least_estimate * MIN_BYTES_PER_TOKEN;

    // The cheapest check first: the lengths of the lines are known.
    let path_bytes: u64 = path.iter().map(|&ix| session.entry(ix).span.len).sum();
    if !is_too_old && !can_be_implausible(path_bytes) {
        return Ok(checked);
    }

    // Of a long path, a compaction leaves out most, so the context may still be short.
    let messages = session.agent().build_context(path, reader)?.messages;
    checked.built_messages = messages.len();
    let context_bytes: u64 = messages
        .iter()
        .map(|message| session.entry(message.entry).span.len)
        .sum();
    if !is_too_old && !can_be_implausible(context_bytes) {
        return Ok(checked);
    }

    let estimate = estimate_messages(&messages, reader)?;
    if is_too_old || estimate >= least_estimate {
        checked.estimate = Some(estimate);
    }
    Ok(checked)
}
