//! The size of oh-my-pi's context, at one entry and at many.

use super::tokens::ContextUsage;
use super::{context, tokens};
use crate::agents::agent::{build_budget, build_cost};
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::{EntryReader, Message};
use foldhash::HashMap;
use std::io;

/// Returns the size of the context at the end of `path`: the provider's last count, or 0. If a
/// compaction follows the count, the size is an estimate of the messages that remain
/// (`getContextUsage`).
pub fn size(path: &[EntryIx], reader: &EntryReader) -> io::Result<f64> {
    let compacted = reader.session().last_on(path, Kind::Compaction);
    match tokens::last_counted(&path[compacted.map_or(0, |at| at + 1)..], reader)? {
        Some((_, usage)) => Ok(usage.context),
        None if compacted.is_some() => estimate(&context::build(path, reader)?.messages, reader),
        None => Ok(0.0),
    }
}

fn estimate(messages: &[Message], reader: &EntryReader) -> io::Result<f64> {
    let tokens = messages
        .iter()
        .map(|message| message.with(reader, tokens::estimate));
    Ok(tokens.sum::<io::Result<u64>>()? as f64)
}

/// Returns the size at each of `tips`, and at the entries that were read to find it; each entry is
/// read once.
///
/// Below a compaction without a count, the context of each tip is built. A tip is left out if its
/// context would have to be built after the build budget is used up.
pub fn sizes(tips: &[EntryIx], reader: &EntryReader) -> io::Result<HashMap<EntryIx, f64>> {
    let session = reader.session();
    let mut sizes: HashMap<EntryIx, f64> = HashMap::default();
    // An estimate applies to its tip only, not to the tips below it: each message between them
    // counts.
    let mut estimates: HashMap<EntryIx, f64> = HashMap::default();
    let mut budget = build_budget(session.entries.len());
    'tips: for &tip in tips {
        let mut size = None;
        let mut visited = Vec::new();
        for ix in session.upwards(Some(tip)) {
            if session.entry(ix).kind == Kind::Compaction {
                if budget > 0 {
                    let path = session.path(Some(tip));
                    let messages = context::build(&path, reader)?.messages;
                    budget = budget.saturating_sub(build_cost(messages.len(), path.len()));
                    estimates.insert(tip, estimate(&messages, reader)?);
                }
                continue 'tips;
            }

            size = sizes.get(&ix).copied();
            if size.is_none() && session.is_message(ix, Role::Assistant) {
                let usage = reader.with_message(ix, ContextUsage::recorded)?;
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
