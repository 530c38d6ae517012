//! Estimates the size of a context where the token count in the session cannot be right.
//!
//! An agent trusts the last count of the provider. Some providers report far too little, such as
//! 789 tokens for a conversation of 300 messages. A count from before a `prune` is too large,
//! because it includes the pruned payloads.

use crate::agents::{context_build_budget, context_build_cost};
use crate::ops::prune::Restoration;
use crate::session::Session;
use crate::session::entry::{EntryIx, Flags, Kind, Role};
use crate::session::read::entry_reader::{Body, ContextMessage, EntryReader};
use foldhash::HashMap;
use std::io;

/// A count is implausible if the estimate is at least this many times as large. Estimates of dense
/// text, and of thinking that a provider drops, are up to about twice the count.
const IMPLAUSIBLE_RATIO: f64 = 4.0;

/// The agents estimate one token per four UTF-16 units, each of which takes at least one byte.
const MIN_BYTES_PER_TOKEN: f64 = 4.0;

/// Returns the sum of the agent's estimates of messages, in tokens.
pub fn estimate_messages(messages: &[ContextMessage], reader: &EntryReader) -> io::Result<f64> {
    MessageEstimates::default().sum(messages, reader)
}

/// The agent's estimates of messages, in tokens. Each stored message is read once, even if it is in
/// the contexts of several branches, as the messages above a branch point are.
#[derive(Default)]
struct MessageEstimates {
    /// By entry with a stored message that was read.
    of_stored: HashMap<EntryIx, u64>,
}

impl MessageEstimates {
    /// Returns the sum of the estimates of messages.
    fn sum(&mut self, messages: &[ContextMessage], reader: &EntryReader) -> io::Result<f64> {
        let mut tokens = 0;
        for message in messages {
            tokens += self.estimate(message, reader)?;
        }
        Ok(tokens as f64)
    }

    /// Returns the estimate of one message, in tokens. The estimate of a stored message is kept. A
    /// message that was built for the context is estimated each time: after an edit, for example,
    /// it may differ from branch to branch.
    fn estimate(&mut self, message: &ContextMessage, reader: &EntryReader) -> io::Result<u64> {
        let is_stored = matches!(message.body, Body::Stored);
        if is_stored && let Some(&known) = self.of_stored.get(&message.entry) {
            return Ok(known);
        }

        let agent = reader.session().agent();
        let tokens = message.with_json(reader, |json| agent.estimate_message(json))?;
        if is_stored {
            self.of_stored.insert(message.entry, tokens);
        }
        Ok(tokens)
    }
}

/// The entries from which `prune` has moved payloads (images, results) that a model had seen.
pub struct PrunedPayloads {
    /// By entry: whether a payload was pruned from it.
    is_pruned: Vec<bool>,
    /// The time of the prune, in milliseconds since 1970.
    pruned_ms: i64,
}

impl PrunedPayloads {
    /// Finds the entries that lack a payload that `pruned`, the file beside the session, still has.
    /// `None` if nothing was pruned, or if the time of the prune is unknown: then no token count is
    /// known to be older.
    pub fn new(pruned: Option<&Restoration>, session: &Session) -> Option<PrunedPayloads> {
        let pruned = pruned?;
        let pruned_ms = pruned.written_ms?;

        let mut is_pruned = vec![false; session.entries.len()];
        for id in pruned.ids_without_payload() {
            if let Some(ix) = session.find_entry(id) {
                is_pruned[ix.index()] = true;
            }
        }
        Some(PrunedPayloads {
            is_pruned,
            pruned_ms,
        })
    }

    /// Whether a payload was pruned from the path after the provider counted the tokens of its last
    /// reply. That count then includes payloads that are no longer in the context. False if the
    /// agent does not use the count.
    pub fn are_newer_than_count(&self, path: &[EntryIx], session: &Session) -> bool {
        let Some(counted_reply) = last_counted_reply(path, session) else {
            return false;
        };
        session.entry(counted_reply).time_ms < self.pruned_ms
            && path.iter().any(|ix| self.is_pruned[ix.index()])
            && !is_changed_after(counted_reply, path, session)
    }
}

/// Returns the last reply on a path that has a token count of the provider. A reply that failed or
/// was aborted has no count.
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

/// Whether an edit or a compaction follows an entry of a path. pi then does not use a count of the
/// provider from that entry, but estimates the messages. False for the other agent, which always
/// uses the count.
fn is_changed_after(ix: EntryIx, path: &[EntryIx], session: &Session) -> bool {
    if !session.agent().constants().applies_context_edits {
        return false;
    }
    for &later in path.iter().rev() {
        if later == ix {
            break;
        }
        let kind = session.entry(later).kind;
        if matches!(kind, Kind::ContextEdit | Kind::Compaction) {
            return true;
        }
    }
    false
}

/// Returns the tokens of the system prompt and the tools, which pi's estimate of a context leaves
/// out. pi estimates the messages alone if an edit or a compaction follows the provider's last
/// count. That count included the prompt and the tools, so they are what it had beyond the
/// estimates of its messages.
///
/// `None` if the agent still uses the provider's count, or if the estimates were larger than it.
/// Also `None` if payloads were pruned after the count: the count includes them, and the estimates
/// do not.
pub fn estimate_unrecorded_part(
    path: &[EntryIx],
    pruned: Option<&PrunedPayloads>,
    reader: &EntryReader,
) -> io::Result<Option<f64>> {
    let session = reader.session();
    let agent = session.agent();
    let Some(counted_reply) = last_counted_reply(path, session) else {
        return Ok(None);
    };
    if !is_changed_after(counted_reply, path, session) {
        return Ok(None);
    }
    let counted_path = session.path(Some(counted_reply));
    if pruned.is_some_and(|pruned| pruned.are_newer_than_count(&counted_path, session)) {
        return Ok(None);
    }

    let counted = agent.estimate_context(&counted_path, reader)?;
    let context = agent.build_context(&counted_path, reader)?;
    let unrecorded = counted - estimate_messages(&context.messages, reader)?;
    if unrecorded > 0.0 {
        Ok(Some(unrecorded))
    } else {
        Ok(None)
    }
}

/// Returns a better number of tokens for the context at the end of `path` if `counted` is wrong:
/// the agent's estimate of all its messages. `counted` is the result of
/// [`crate::agents::Agent::estimate_context`] for the same path.
///
/// A count is wrong in two cases:
/// - It is implausibly small: the estimate is at least `IMPLAUSIBLE_RATIO` times as large.
/// - It is older than a prune of the path, so it includes the pruned payloads.
///
/// In any other case, the result is `None`. A count of 0, or a negative one, is a missing count: it
/// is not wrong.
///
/// Almost always, the lengths of the lines show that the estimate cannot be so large, and nothing
/// is read. A context of short lines with images may then keep a wrong count, because the estimate
/// of an image does not depend on its length.
pub fn estimate_if_wrong(
    counted: f64,
    path: &[EntryIx],
    pruned: Option<&PrunedPayloads>,
    reader: &EntryReader,
) -> io::Result<Option<f64>> {
    let mut message_estimates = MessageEstimates::default();
    let checked = check_count(counted, path, pruned, &mut message_estimates, reader)?;
    Ok(checked.estimate)
}

/// Returns the estimate of [`estimate_if_wrong`] for each tip (last entry of a branch) whose count
/// is wrong. `counted` has the counts by tip. In a session with very many branches, only the first
/// tips are checked: building the context of each would take too long.
pub fn estimate_wrong_counts(
    tips: &[EntryIx],
    counted: &HashMap<EntryIx, f64>,
    pruned: Option<&PrunedPayloads>,
    reader: &EntryReader,
) -> io::Result<HashMap<EntryIx, f64>> {
    let session = reader.session();
    let mut estimates = HashMap::default();
    let mut message_estimates = MessageEstimates::default();
    // Each context takes from the budget in proportion to its path, which may be the whole file.
    let mut budget = context_build_budget(session.entries.len());
    for &tip in tips {
        let Some(&count) = counted.get(&tip) else {
            continue;
        };
        if budget == 0 {
            break;
        }
        let path = session.path(Some(tip));
        let checked = check_count(count, &path, pruned, &mut message_estimates, reader)?;
        budget = budget.saturating_sub(context_build_cost(checked.built_messages, path.len()));
        if let Some(estimate) = checked.estimate {
            estimates.insert(tip, estimate);
        }
    }
    Ok(estimates)
}

/// The result of comparing a count with the agent's estimate.
struct CheckedCount {
    /// The estimate, in tokens; `None` if the count is not wrong, or not positive.
    estimate: Option<f64>,
    /// The number of messages of the context that was built for the check; 0 if the lengths of the
    /// lines sufficed.
    built_messages: usize,
}

impl CheckedCount {
    /// Returns the result for a count that is wrong.
    fn with_estimate(estimate: f64, built_messages: usize) -> CheckedCount {
        CheckedCount {
            estimate: Some(estimate),
            built_messages,
        }
    }

    /// Returns the result for a count that is not wrong, or not positive.
    fn without_estimate(built_messages: usize) -> CheckedCount {
        CheckedCount {
            estimate: None,
            built_messages,
        }
    }
}

/// Compares a count with the agent's estimate, by the rules of [`estimate_if_wrong`]. Cheap checks
/// come first: as long as the lengths of lines show that the count is plausible, no line is read.
fn check_count(
    counted: f64,
    path: &[EntryIx],
    pruned: Option<&PrunedPayloads>,
    message_estimates: &mut MessageEstimates,
    reader: &EntryReader,
) -> io::Result<CheckedCount> {
    // A count of 0, or a negative one, is a missing count: it is not wrong.
    let is_missing = counted.is_nan() || counted <= 0.0;
    if is_missing {
        return Ok(CheckedCount::without_estimate(0));
    }
    let session = reader.session();
    let agent = session.agent();
    // A count from before a prune includes the pruned payloads, so it is wrong in any case.
    let is_too_old = pruned.is_some_and(|pruned| pruned.are_newer_than_count(path, session));

    // The count is implausible if the estimate is at least this. Each estimated token has at least
    // `MIN_BYTES_PER_TOKEN` bytes, so fewer bytes than this cannot have such an estimate.
    let least_implausible = counted * IMPLAUSIBLE_RATIO;
    let least_bytes = least_implausible * MIN_BYTES_PER_TOKEN;
    let path_bytes = line_bytes(session, path.iter().copied());
    if !is_too_old && path_bytes < least_bytes {
        return Ok(CheckedCount::without_estimate(0));
    }

    // A compaction leaves out most of a long path, so the context may still be short.
    let messages = agent.build_context(path, reader)?.messages;
    let context_bytes = line_bytes(session, messages.iter().map(|message| message.entry));
    if !is_too_old && context_bytes < least_bytes {
        return Ok(CheckedCount::without_estimate(messages.len()));
    }

    let estimate = message_estimates.sum(&messages, reader)?;
    if is_too_old || estimate >= least_implausible {
        Ok(CheckedCount::with_estimate(estimate, messages.len()))
    } else {
        Ok(CheckedCount::without_estimate(messages.len()))
    }
}

/// Returns the length in bytes of the lines of entries, as stored in the file.
fn line_bytes(session: &Session, entries: impl Iterator<Item = EntryIx>) -> f64 {
    let bytes: u64 = entries.map(|ix| session.entry(ix).span.len).sum();
    bytes as f64
}
