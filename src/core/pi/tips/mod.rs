//! The size of the context at many entries at once: what [`super::tokens::context`] says of each, in
//! one walk over the tree and with every body read once.
//!
//! ```text
//! path:      a  b  C1  c  d  e  C2  f  g       C2 keeps from c
//! place:     0  1  2   3  4  5  6   7  8
//! estimate:  4  9  0   2  2  7  0   5  3       size = C2's own + the sum from place 3 on
//! ```
//!
//! The walk keeps the estimates of the path in a tree of sums, so that a compaction finds the size of
//! what it keeps and an edit changes one place; on the way back every step is undone. What an edit
//! may do beyond that (name what comes behind it, a system message, the compaction in force), and ids
//! that stand twice on a path, are left to the exact answer for the entries below: for as many as are
//! had in a time that grows with the file.

mod facts;
mod prompt;
mod sums;

use super::{context, tokens};
use crate::core::bodies::Bodies;
use crate::core::entry::{EntryIx, Flags, Kind, Role};
use crate::core::session::Session;
use crate::core::tree::Tree;
use facts::{Change, Facts};
use prompt::{Prompt, Undo};
use std::collections::{HashMap, HashSet};
use std::io;
use sums::Sums;

/// Entries that exact answers may read: so many times those of the session, and some more, so that a
/// small one has all.
const EXACT: (usize, usize) = (32, 100_000);

/// The size at each of `tips`, in tokens; of those that would take too long, none.
///
/// # Errors
/// Where a line cannot be read.
pub fn sizes(
    session: &Session,
    tree: &Tree,
    tips: &[EntryIx],
    bodies: &dyn Bodies,
) -> io::Result<HashMap<EntryIx, f64>> {
    let facts = Facts::read(session, bodies)?;
    let mut sizes = HashMap::with_capacity(tips.len());
    let tips: HashSet<EntryIx> = tips.iter().copied().collect();
    let mut walk = Walk::new(session, bodies, &facts);
    let mut steps: Vec<Step> = tree.roots().iter().rev().map(|&ix| Step::Down(ix)).collect();
    while let Some(step) = steps.pop() {
        match step {
            Step::Up => walk.leave(),
            Step::Down(ix) => {
                walk.enter(ix);
                if tips.contains(&ix)
                    && let Some(size) = walk.size()?
                {
                    sizes.insert(ix, size);
                }
                steps.push(Step::Up);
                steps.extend(tree.children(ix).iter().rev().map(|&child| Step::Down(child)));
            }
        }
    }
    Ok(sizes)
}

enum Step {
    Down(EntryIx),
    Up,
}

/// What is known at the end of a path, beside the estimates on it.
#[derive(Clone, Copy, Default)]
struct End {
    /// What a provider counted since the context changed last, and the estimate of what follows.
    counted: Option<(f64, u64)>,
    /// The compaction in force.
    compaction: Option<EntryIx>,
    /// The place from which on entries are in force.
    kept_from: usize,
    /// Whether the sums do not tell the size.
    exact: bool,
}

/// An entry of the path, and what to undo behind it.
struct Passed {
    entry: EntryIx,
    end: End,
    edited: Edited,
    prompt: Undo,
}

/// What an edit has done.
#[derive(Clone, Copy)]
enum Edited {
    Nothing,
    /// Changed the estimate of a place, which was this before.
    Place(usize, u64),
    /// Waits for an entry that is not on the path.
    Ahead(EntryIx),
}

struct Walk<'a> {
    session: &'a Session,
    bodies: &'a dyn Bodies,
    facts: &'a Facts,
    path: Vec<Passed>,
    /// The place of each entry that is on the path.
    places: Vec<u32>,
    sums: Sums,
    /// The system prompt in force.
    prompt: Prompt,
    /// Edits of entries that are not on the path, by what they name.
    ahead: HashMap<EntryIx, u32>,
    /// Entries that exact answers may still read.
    budget: usize,
}

impl<'a> Walk<'a> {
    fn new(session: &'a Session, bodies: &'a dyn Bodies, facts: &'a Facts) -> Self {
        Walk {
            session,
            bodies,
            facts,
            path: Vec::new(),
            places: vec![u32::MAX; session.entries.len()],
            sums: Sums::default(),
            prompt: Prompt::default(),
            ahead: HashMap::new(),
            budget: EXACT.0 * session.entries.len() + EXACT.1,
        }
    }

    fn place(&self, ix: EntryIx) -> Option<usize> {
        let place = self.places[ix.at()] as usize;
        self.path.get(place).is_some_and(|passed| passed.entry == ix).then_some(place)
    }

    fn enter(&mut self, ix: EntryIx) {
        let (session, facts, place) = (self.session, self.facts, self.path.len());
        let (entry, estimate) = (session.entry(ix), facts.estimates[ix.at()]);
        let mut end = self.path.last().map(|passed| passed.end).unwrap_or_default();
        let (mut edited, mut prompt) = (Edited::Nothing, Undo::Nothing);
        let is_system = session.is_message(ix, Role::System);
        end.exact |=
            entry.flags.has(Flags::SUPERSEDED) || self.ahead.get(&ix).is_some_and(|&edits| edits > 0);
        match entry.kind {
            Kind::Compaction => {
                let kept = facts.kept.get(&ix).and_then(|&kept| self.place(kept));
                end.counted = None;
                end.compaction = Some(ix);
                end.kept_from = kept.unwrap_or(place);
                prompt = self.prompt.begin(facts.system.get(&ix));
            }
            Kind::ContextEdit => {
                end.counted = None;
                edited = self.edit(ix, &mut end);
            }
            _ => {
                if let Some(said) = facts.system.get(&ix) {
                    prompt = self.prompt.replay(said);
                }
                end.counted = match facts.usages.get(&ix) {
                    Some(&usage) => Some((usage, 0)),
                    None => end.counted.map(|(usage, since)| (usage, since + estimate)),
                };
            }
        }
        // System messages count together, a compaction only while it is the last.
        self.sums.push(if is_system || entry.kind == Kind::Compaction { 0 } else { estimate });
        self.places[ix.at()] = place as u32;
        self.path.push(Passed { entry: ix, end, edited, prompt });
    }

    /// Changes the estimate of what the edit names.
    fn edit(&mut self, ix: EntryIx, end: &mut End) -> Edited {
        let Some(&(target, change)) = self.facts.edits.get(&ix) else { return Edited::Nothing };
        let Some(target) = target else {
            end.exact = true;
            return Edited::Nothing;
        };
        let Some(place) = self.place(target) else {
            *self.ahead.entry(target).or_default() += 1;
            return Edited::Ahead(target);
        };
        let is_system = self.session.is_message(target, Role::System);
        let estimate = match change {
            _ if is_system || self.session.entry(target).kind == Kind::Compaction => {
                end.exact |= matches!(change, Change::Omit) && (is_system || end.compaction == Some(target));
                return Edited::Nothing;
            }
            Change::Omit => 0,
            Change::To(estimate) => estimate,
            Change::Original => self.facts.estimates[target.at()],
        };
        Edited::Place(place, self.sums.set(place, estimate))
    }

    fn leave(&mut self) {
        let Some(passed) = self.path.pop() else { return };
        self.sums.pop();
        self.prompt.undo(passed.prompt);
        match passed.edited {
            Edited::Nothing => {}
            Edited::Place(place, before) => drop(self.sums.set(place, before)),
            Edited::Ahead(target) => drop(self.ahead.entry(target).and_modify(|edits| *edits -= 1)),
        }
    }

    /// The size at the end of the path, unless it would take too long.
    fn size(&mut self) -> io::Result<Option<f64>> {
        let end = self.path.last().map(|passed| passed.end).unwrap_or_default();
        if end.exact {
            let Some(left) = self.budget.checked_sub(self.path.len()) else { return Ok(None) };
            self.budget = left;
            let path: Vec<_> = self.path.iter().map(|passed| passed.entry).collect();
            let projection = context::projection(self.session, &path, self.bodies)?;
            return tokens::context(self.session, &path, &projection, self.bodies).map(Some);
        }
        if let Some((usage, since)) = end.counted {
            return Ok(Some(usage + since as f64));
        }
        let compaction = end.compaction.map_or(0, |ix| self.facts.estimates[ix.at()]);
        Ok(Some((self.prompt.tokens() + compaction + self.sums.from(end.kept_from)) as f64))
    }
}
