//! The size of oh-my-pi's context, at one entry and at many.

use super::tokens::ContextUsage;
use super::{context, tokens};
use crate::agents::agent::{context_build_budget, context_build_cost};
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::{ContextMessage, EntryReader};
use foldhash::HashMap;
use std::io;

/// Returns the size of the context at the end of `path`: the provider's last count, or 0. If a
/// compaction follows the count, the size is an estimate of the messages that remain
/// (`getContextUsage`).
pub fn context_size(path: &[EntryIx], reader: &EntryReader) -> io::Result<f64> {
    let compacted = reader.session().last_index_of_kind(path, Kind::Compaction);
    match tokens::find_last_count(&path[compacted.map_or(0, |at| at + 1)..], reader)? {
        Some((_, usage)) => Ok(usage.context),
        None if compacted.is_some() => {
            estimate_messages(&context::build_context(path, reader)?.messages, reader)
        }
        None => Ok(0.0),
    }
}

fn estimate_messages(messages: &[ContextMessage], reader: &EntryReader) -> io::Result<f64> {
    let tokens = messages
        .iter()
        .map(|message| message.with_json(reader, tokens::estimate_message));
    Ok(tokens.sum::<io::Result<u64>>()? as f64)
}

/// Returns the size at each of `tips`, and at the entries that were read to find it; each entry is
/// read once.
///
/// Below a compaction without a count, the context of each tip is built. A tip is left out if its
/// context would have to be built after the build budget is used up.
pub fn context_sizes(tips: &[EntryIx], reader: &EntryReader) -> io::Result<HashMap<EntryIx, f64>> {
    let session = reader.session();
    let mut sizes: HashMap<EntryIx, f64> = HashMap::default();
    // An estimate applies to its tip only, not to the tips below it: each message between them
    // counts.
    let mut estimates: HashMap<EntryIx, f64> = HashMap::default();
    let mut budget = context_build_budget(session.entries.len());
    'tips: for &tip in tips {
        let mut size = None;
        let mut visited = Vec::new();
        for ix in session.ancestors(Some(tip)) {
            if session.entry(ix).kind == Kind::Compaction {
                if budget > 0 {
                    let path = session.path(Some(tip));
                    let messages = context::build_context(&path, reader)?.messages;
                    budget = budget.saturating_sub(context_build_cost(messages.len(), path.len()));
                    estimates.insert(tip, estimate_messages(&messages, reader)?);
                }
                continue 'tips;
            }

            size = sizes.get(&ix).copied();
            if size.is_none() && session.is_message(ix, Role::Assistant) {
                let usage = reader.with_message(ix, ContextUsage::from_turn)?;
                size = usage.map(|usage| usage.context);
            }
            visited.push(ix);
            if size.is_some() {
                break;
            }
        }

        // Without any count up to the root, the size is 0.
        for ix in visited {
            sizes.insert(ix, size.unwrap_or(0.0));
        }
    }
    sizes.extend(estimates);
    Ok(sizes)
}
