//! The estimate of a context's size, where the count that the session reports cannot be right.
//!
//! An agent takes the last count of the provider as it is. Some providers report next to nothing,
//! so that a conversation of 300 messages has "789 tokens".

use crate::agents::{context_build_budget, context_build_cost};
use crate::session::entry::EntryIx;
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

/// Returns the agent's estimate of the whole context at the end of `path`, or `None` if the count
/// is plausible or there is none. `counted` is what [`Agent::estimate_context`] returns there.
///
/// Nothing is read if the lines are too short for such an estimate, as in almost all sessions.
/// Images, whose estimate does not depend on their bytes, may then be missed.
///
/// [`Agent::estimate_context`]: crate::agents::Agent::estimate_context
pub fn estimate_if_implausible(
    counted: f64,
    path: &[EntryIx],
    reader: &EntryReader,
) -> io::Result<Option<f64>> {
    Ok(check_count(counted, path, reader)?.estimate)
}

/// Returns [`estimate_if_implausible`] for each tip that has one; `counted` has the counts. In a
/// session with very many branches, the tips beyond a budget are left out.
pub fn estimate_implausible(
    tips: &[EntryIx],
    counted: &HashMap<EntryIx, f64>,
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
        let path = session.path(Some(tip));
        let checked = check_count(count, &path, reader)?;
        budget = budget.saturating_sub(context_build_cost(checked.built_messages, path.len()));
        if let Some(estimate) = checked.estimate {
            estimates.insert(tip, estimate);
        }
    }
    Ok(estimates)
}

/// The result of comparing a count with the agent's estimate.
struct CheckedCount {
    /// The estimate, in tokens; `None` if the count is plausible or there is none.
    estimate: Option<f64>,
    /// The number of messages of the context that was built for this; 0 if the length of the lines
    /// sufficed.
    built_messages: usize,
}

/// Checks a count as [`estimate_if_implausible`] does.
fn check_count(counted: f64, path: &[EntryIx], reader: &EntryReader) -> io::Result<CheckedCount> {
    let mut checked = CheckedCount {
        estimate: None,
        built_messages: 0,
    };
    if counted.is_nan() || counted <= 0.0 {
        return Ok(checked);
    }
    let session = reader.session();
    let least_estimate = counted * IMPLAUSIBLE_RATIO;
    let min_bytes = least_estimate * MIN_BYTES_PER_TOKEN;

    let path_bytes: u64 = path.iter().map(|&ix| session.entry(ix).span.len).sum();
    if (path_bytes as f64) < min_bytes {
        return Ok(checked);
    }

    // A compaction leaves out most of a long path.
    let messages = session.agent().build_context(path, reader)?.messages;
    checked.built_messages = messages.len();
    let context_bytes: u64 = messages
        .iter()
        .map(|message| session.entry(message.entry).span.len)
        .sum();
    if (context_bytes as f64) < min_bytes {
        return Ok(checked);
    }

    let estimate = estimate_messages(&messages, reader)?;
    if estimate >= least_estimate {
        checked.estimate = Some(estimate);
    }
    Ok(checked)
}
