//! The size of oh-my-pi's context in tokens, at one entry or at many.

use super::tokens::ContextUsage;
use super::{context, tokens};
use crate::agents::agent::{context_build_budget, context_build_cost};
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::{ContextMessage, EntryReader};
use foldhash::HashMap;
use std::io;

/// Returns the size of the context at the end of `path` in tokens, as `getContextUsage` does. It is
/// the provider's last count since the last compaction. Without such a count, it is an estimate of
/// all messages of the context if there is a compaction, and 0 otherwise.
pub fn context_size(path: &[EntryIx], reader: &EntryReader) -> io::Result<f64> {
    let compaction = reader.session().last_index_of_kind(path, Kind::Compaction);
    let after_compaction = compaction.map_or(0, |index| index + 1);
    if let Some(count) = tokens::find_last_count(&path[after_compaction..], reader)? {
        return Ok(count.usage.context);
    }
    if compaction.is_none() {
        return Ok(0.0);
    }
    estimate_messages(&context::build_context(path, reader)?.messages, reader)
}

/// Returns the sum of the estimates of messages, in tokens.
fn estimate_messages(messages: &[ContextMessage], reader: &EntryReader) -> io::Result<f64> {
    let tokens = messages
        .iter()
        .map(|message| message.with_json(reader, tokens::estimate_message));
    Ok(tokens.sum::<io::Result<u64>>()? as f64)
}

/// Returns the size of the context, in tokens, at each of `tips`, the ends of branches: the last
/// count by a provider above the tip. The result also has the sizes at the entries between a tip
/// and that count. For all tips together, each entry is read once.
///
/// If a compaction is nearer to a tip than any count, the tip's context is built and estimated,
/// which takes long. So all such tips of a session share a budget. Once it is used up, they are
/// missing in the result.
pub fn context_sizes(tips: &[EntryIx], reader: &EntryReader) -> io::Result<HashMap<EntryIx, f64>> {
    let session = reader.session();
    let mut sizes: HashMap<EntryIx, f64> = HashMap::default();
    // An estimate is the size at its tip only, and not at the entries above it. So it is kept apart
    // from the counted sizes, which the walks of other tips reuse.
    let mut estimates: HashMap<EntryIx, f64> = HashMap::default();
    let mut budget = context_build_budget(session.entries.len());
    for &tip in tips {
        if let Some(counted) = find_counted_size(tip, reader, &sizes)? {
            for ix in counted.entries {
                sizes.insert(ix, counted.size);
            }
            continue;
        }
        if budget == 0 {
            continue; // The size at this tip remains unknown.
        }

        let path = session.path(Some(tip));
        let messages = context::build_context(&path, reader)?.messages;
        budget = budget.saturating_sub(context_build_cost(messages.len(), path.len()));
        estimates.insert(tip, estimate_messages(&messages, reader)?);
    }
    sizes.extend(estimates);
    Ok(sizes)
}

/// A size of the context that is the same at several entries, up to the end of a branch.
struct CountedSize {
    /// In tokens.
    size: f64,
    /// The entries from the end of the branch up to the one at which the size is known.
    entries: Vec<EntryIx>,
}

/// Finds the size of the context at `tip`: the nearest count by a provider at or above `tip`, or 0
/// if there is none up to the root. `None` if a compaction is nearer than any count.
///
/// `known_sizes` are the sizes that were found for other tips, whose branches may share entries
/// with this one. The walk upwards ends where it meets them.
fn find_counted_size(
    tip: EntryIx,
    reader: &EntryReader,
    known_sizes: &HashMap<EntryIx, f64>,
) -> io::Result<Option<CountedSize>> {
    let session = reader.session();
    let mut entries = Vec::new();
    for ix in session.ancestors(Some(tip)) {
        if session.entry(ix).kind == Kind::Compaction {
            return Ok(None);
        }
        entries.push(ix);

        if let Some(&size) = known_sizes.get(&ix) {
            return Ok(Some(CountedSize { size, entries }));
        }
        if session.is_message(ix, Role::Assistant)
            && let Some(usage) = reader.with_message(ix, ContextUsage::from_turn)?
        {
            let size = usage.context;
            return Ok(Some(CountedSize { size, entries }));
        }
    }
    Ok(Some(CountedSize { size: 0.0, entries }))
}
