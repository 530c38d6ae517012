//! The size of the context at many entries at once: the result of [`super::tokens::context`] for each, with
//! every body read once and in file order.
//!
//! ```text
//! path:      a  b  C1  c  d  e  C2  f  g       C2 keeps from c
//! estimate:  4  9  0   2  2  7  0   5  3
//! sum:       4  13 13  15 17 24 24  29 32      size = C2's own + 32 - the 13 before c
//! ```
//!
//! If a provider has counted since the last change, its count is used. Otherwise the size is computed from the
//! sums. The effect of edits and system messages depends on the whole path, so the sizes of tips below them are
//! computed separately, up to a limit in proportion to the file.

use super::context::{projection, role, speak};
use super::{tokens, with_line};
use crate::core::bodies::Bodies;
use crate::core::entry::{EntryIx, Kind, Role};
use crate::core::session::Session;
use crate::core::tree::{Ancestry, Tree};
use std::collections::{HashMap, HashSet};
use std::io;

/// Limits the total length of the paths for which sizes are computed separately: a multiple of the entries of the
/// session, plus a constant, so that small sessions get all sizes.
const SINGLE: (usize, usize) = (32, 100_000);

/// Returns the size at each of `tips`, in tokens, except those that would take too long.
///
/// # Errors
/// If a line cannot be read.
pub fn sizes(
    session: &Session,
    tree: &Tree,
    tips: &[EntryIx],
    bodies: &dyn Bodies,
) -> io::Result<HashMap<EntryIx, f64>> {
    let states = states(session, tree, bodies)?;
    let mut budget = SINGLE.0 * session.entries.len() + SINGLE.1;
    let mut sizes = HashMap::with_capacity(tips.len());
    for &tip in tips {
        let state = &states[tip.at()];
        let size = match state.counted {
            Some((usage, since)) => usage + since as f64,
            None if !state.is_single => (state.own + state.sum - state.before) as f64,
            None => {
                let Some(left) = budget.checked_sub(state.depth as usize) else { continue };
                budget = left;
                let path = session.path(Some(tip));
                let projection = projection(session, &path, bodies)?;
                tokens::context(session, &path, &projection, bodies)?
            }
        };
        sizes.insert(tip, size);
    }
    Ok(sizes)
}

/// The sums over the path to an entry.
#[derive(Clone, Copy, Default)]
struct State {
    depth: u32,
    /// The provider's count since the context last changed, and the estimate of what follows.
    counted: Option<(f64, u64)>,
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

fn states(session: &Session, tree: &Tree, bodies: &dyn Bodies) -> io::Result<Vec<State>> {
    let steps = session.all().map(|ix| step(session, ix, bodies)).collect::<io::Result<Vec<_>>>()?;
    let is_edit = |ix: &EntryIx| session.entry(*ix).kind == Kind::ContextEdit;
    let edited: HashSet<_> = session.all().filter(is_edit).filter_map(|ix| steps[ix.at()].target).collect();
    let is_edited = |ix| session.find(&session.id(ix)).is_some_and(|ix| edited.contains(&ix));
    let ancestry = Ancestry::new(session);
    let mut states = vec![State::default(); session.entries.len()];
    for ix in tree.walk(&vec![false; session.entries.len()]) {
        let (entry, step) = (session.entry(ix), &steps[ix.at()]);
        let mut state = entry.parent.map_or_else(State::default, |parent| states[parent.at()]);
        state.depth += 1;
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
                state.counted = match step.usage {
                    Some(usage) => Some((usage, 0)),
                    None => state.counted.map(|(usage, since)| (usage, since + step.estimate)),
                };
            }
        }
        states[ix.at()] = state;
    }
    Ok(states)
}

fn step(session: &Session, ix: EntryIx, bodies: &dyn Bodies) -> io::Result<Step> {
    let (mut step, mut messages) = (Step::default(), Vec::new());
    let kind = session.entry(ix).kind;
    let name = match kind {
        Kind::Compaction => Some("firstKeptEntryId"),
        Kind::ContextEdit => Some("targetId"),
        _ => None,
    };
    if let Some(name) = name {
        step.target = with_line(bodies, ix, |line| {
            let id = line.get_text(name).filter(|id| !id.is_empty());
            id.and_then(|id| session.find(&id))
        })?;
    }
    if kind != Kind::ContextEdit {
        speak(session, ix, None, bodies, &mut messages)?;
    }
    for message in &messages {
        let is_system = role(session, message) == Role::System;
        step.is_system |= is_system;
        let (usage, estimate) = message.with(bodies, |json| (tokens::usage(json), tokens::estimate(json)))?;
        step.usage = step.usage.or(usage);
        step.estimate += if is_system && kind == Kind::Compaction { 0 } else { estimate };
    }
    Ok(step)
}
