//! The size of the context at many entries at once: the result of [`super::tokens::context`] for each.
//!
//! If a provider has counted since the last change, its count is used: usually the tip is the response that it counted,
//! and only the tips are read. Otherwise every entry is read, once and in file order, and the size is computed from sums:
//!
//! ```text
//! path:      a  b  C1  c  d  e  C2  f  g       C2 keeps from c
//! estimate:  4  9  0   2  2  7  0   5  3
//! sum:       4  13 13  15 17 24 24  29 32      size = C2's own + 32 - the 13 before c
//! ```
//!
//! The effect of edits and system messages depends on the whole path, so the sizes of tips below them are
//! computed separately, up to a limit in proportion to the file.

use super::context::{Projection, role, speak};
use super::tokens;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::EntryReader;
use crate::session::tree::{Ancestry, Tree};
use foldhash::{HashMap, HashSet};
use std::io;

/// Limits the total length of the paths for which sizes are computed separately: a multiple of the entries of the
/// session, plus a constant, so that small sessions get all sizes.
const SINGLE: (usize, usize) = (32, 100_000);

/// Returns the size at each of `tips`, in tokens, except those that would take too long.
pub fn sizes(tree: &Tree, tips: &[EntryIx], reader: &EntryReader) -> io::Result<HashMap<EntryIx, f64>> {
    let session = reader.session();
    let mut sizes = HashMap::with_capacity_and_hasher(tips.len(), Default::default());
    let mut counts = HashMap::default();
    // An edit can change what precedes it, so a count is valid only on some of the paths that contain it.
    let has_edits = session.has(Kind::ContextEdit);
    for &tip in if has_edits { &[] } else { tips } {
        match count_at(tip, reader, &mut counts)? {
            Some((usage, since)) => sizes.insert(tip, usage + since as f64),
            None => break,
        };
    }
    if sizes.len() == tips.len() {
        return Ok(sizes);
    }
    let states = states(tree, reader)?;
    let mut budget = SINGLE.0 * session.entries.len() + SINGLE.1;
    for &tip in tips {
        let state = &states[tip.at()];
        let size = match state.counted {
            Some((usage, since)) => usage + since as f64,
            None if !state.is_single => (state.own + state.sum - state.before) as f64,
            None => {
                let Some(left) = budget.checked_sub(state.entries as usize) else { continue };
                budget = left;
                let path = session.path(Some(tip));
                tokens::context(&Projection::of(&path, reader)?)?
            }
        };
        sizes.insert(tip, size);
    }
    Ok(sizes)
}

/// A provider's count, and the estimate of what follows the counted response.
type Count = (f64, u64);

/// Returns the nearest count above `tip` in a session without edits. `known` are the counts at the entries read so far, which
/// are not read again: `None` where there is none since the last compaction.
fn count_at(
    tip: EntryIx,
    reader: &EntryReader,
    known: &mut HashMap<EntryIx, Option<Count>>,
) -> io::Result<Option<Count>> {
    let session = reader.session();
    let (mut counted, mut below) = (None, Vec::new());
    for ix in session.upwards(Some(tip)) {
        if let Some(&count) = known.get(&ix) {
            counted = count;
            break;
        }
        let is_compaction = session.entry(ix).kind == Kind::Compaction;
        let step = if is_compaction { Step::default() } else { step(ix, reader)? };
        below.push((ix, step));
        if is_compaction || step.usage.is_some() {
            break;
        }
    }
    for (ix, step) in below.into_iter().rev() {
        counted = step.counted(counted);
        known.insert(ix, counted);
    }
    Ok(counted)
}

/// The sums over the path to an entry.
#[derive(Clone, Copy, Default)]
struct State {
    /// The length of the path.
    entries: u32,
    /// The provider's count since the context last changed, and the estimate of what follows.
    counted: Option<Count>,
    /// The estimates of the path, without system messages and compactions.
    sum: u64,
    /// The part of the sum before the entries that the compaction in effect keeps.
    before: u64,
    /// The estimate of the compaction in effect.
    own: u64,
    /// Whether the size cannot be computed from the sums.
    is_single: bool,
}

/// The contribution of an entry to the sums.
#[derive(Clone, Copy, Default)]
struct Step {
    usage: Option<f64>,
    estimate: u64,
    /// Whether it is a system message, or a compaction that carries one.
    is_system: bool,
    /// The entry that a compaction keeps from, or that an edit changes.
    target: Option<EntryIx>,
}

impl Step {
    /// Returns the count after an entry, given the one before it.
    fn counted(&self, before: Option<Count>) -> Option<Count> {
        match self.usage {
            Some(usage) => Some((usage, 0)),
            None => before.map(|(usage, since)| (usage, since + self.estimate)),
        }
    }
}

fn states(tree: &Tree, reader: &EntryReader) -> io::Result<Vec<State>> {
    let session = reader.session();
    let steps = session.all().map(|ix| step(ix, reader)).collect::<io::Result<Vec<_>>>()?;
    let is_edit = |ix: &EntryIx| session.entry(*ix).kind == Kind::ContextEdit;
    let edited: HashSet<_> = session.all().filter(is_edit).filter_map(|ix| steps[ix.at()].target).collect();
    let is_edited = |ix| session.find(&session.id(ix)).is_some_and(|ix| edited.contains(&ix));
    let ancestry = Ancestry::new(session);
    let mut states = vec![State::default(); session.entries.len()];
    for ix in tree.walk(&[]) {
        let (entry, step) = (session.entry(ix), &steps[ix.at()]);
        let mut state = entry.parent.map_or_else(State::default, |parent| states[parent.at()]);
        state.entries += 1;
        state.is_single |= step.is_system || entry.kind == Kind::ContextEdit;
        match entry.kind {
            Kind::Compaction => {
                let above = |&kept: &EntryIx| kept != ix && ancestry.is_above(kept, ix);
                let kept = step.target.filter(above).map(|kept| session.entry(kept).parent);
                let sum_at = |parent: Option<EntryIx>| parent.map_or(0, |ix| states[ix.at()].sum);
                (state.counted, state.own) = (None, step.estimate);
                state.before = kept.map_or(state.sum, sum_at);
            }
            Kind::ContextEdit => state.counted = None,
            // An edit may precede the entry that it changes.
            _ if state.is_single && is_edited(ix) => state.counted = None,
            _ => {
                state.sum += if step.is_system { 0 } else { step.estimate };
                state.counted = step.counted(state.counted);
            }
        }
        states[ix.at()] = state;
    }
    Ok(states)
}

fn step(ix: EntryIx, reader: &EntryReader) -> io::Result<Step> {
    let session = reader.session();
    let (mut step, mut messages) = (Step::default(), Vec::new());
    let kind = session.entry(ix).kind;
    let name = match kind {
        Kind::Compaction => Some("firstKeptEntryId"),
        Kind::ContextEdit => Some("targetId"),
        _ => None,
    };
    if let Some(name) = name {
        step.target = reader.with_entry(ix, |line| {
            let id = line.get_text(name).filter(|id| !id.is_empty());
            id.and_then(|id| session.find(&id))
        })?;
    }
    if kind != Kind::ContextEdit {
        speak(ix, None, reader, &mut messages)?;
    }
    for message in &messages {
        let is_system = role(session, message) == Role::System;
        step.is_system |= is_system;
        let (usage, estimate) = message.with(reader, |json| (tokens::usage(json), tokens::estimate(json)))?;
        step.usage = step.usage.or(usage);
        step.estimate += if is_system && kind == Kind::Compaction { 0 } else { estimate };
    }
    Ok(step)
}
