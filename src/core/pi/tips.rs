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
//! that stand twice on a path, are left to the exact answer for the entries below.

use super::context::{self, Edit, edited, speak};
use super::value::members;
use super::{system, tokens, with_line};
use crate::core::bodies::{Bodies, Body, Message};
use crate::core::entry::{EntryIx, Flags, Kind, Role};
use crate::core::json::Raw;
use crate::core::json::write::Object;
use crate::core::session::Session;
use crate::core::tree::Tree;
use std::collections::HashMap;
use std::io;

/// The size at each of `tips`, in tokens.
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
    let mut sizes: HashMap<EntryIx, f64> = tips.iter().map(|&tip| (tip, 0.0)).collect();
    let mut walk = Walk::new(session, bodies, &facts);
    let mut steps: Vec<Step> = tree.roots().iter().rev().map(|&ix| Step::Down(ix)).collect();
    while let Some(step) = steps.pop() {
        match step {
            Step::Up => walk.leave(),
            Step::Down(ix) => {
                walk.enter(ix)?;
                if let Some(size) = sizes.get_mut(&ix) {
                    *size = walk.size()?;
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

/// What the walk needs of the bodies.
#[derive(Default)]
struct Facts {
    /// The estimate of what each entry says, unedited.
    estimates: Vec<u64>,
    /// What a provider counted.
    usages: HashMap<EntryIx, f64>,
    /// Where a compaction keeps from.
    kept: HashMap<EntryIx, EntryIx>,
    /// What an edit changes, and how; `None` as its target is every entry without an id.
    edits: HashMap<EntryIx, (Option<EntryIx>, Option<Edit>)>,
}

impl Facts {
    /// Read in file order.
    fn read(session: &Session, bodies: &dyn Bodies) -> io::Result<Facts> {
        let mut facts = Facts { estimates: vec![0; session.entries.len()], ..Facts::default() };
        let mut said = Vec::new();
        for ix in session.all() {
            match session.entry(ix).kind {
                Kind::Message | Kind::CustomMessage | Kind::BranchSummary => {
                    speak(session, ix, None, bodies, &mut said)?;
                }
                Kind::Compaction => {
                    speak(session, ix, None, bodies, &mut said)?;
                    // Its checkpoint is replayed with the system messages.
                    said.drain(..said.len().saturating_sub(1));
                    let kept = with_line(bodies, ix, |line| find(session, line.get("firstKeptEntryId")))?;
                    kept.map(|kept| facts.kept.insert(ix, kept));
                }
                Kind::ContextEdit => facts.read_edit(session, ix, bodies)?,
                _ => {}
            }
            for message in said.drain(..) {
                let (usage, estimate) =
                    message.with(bodies, |json| (tokens::usage(json), tokens::estimate(json)))?;
                facts.estimates[ix.at()] += estimate;
                usage.map(|usage| facts.usages.insert(ix, usage));
            }
        }
        Ok(facts)
    }

    fn read_edit(&mut self, session: &Session, ix: EntryIx, bodies: &dyn Bodies) -> io::Result<()> {
        with_line(bodies, ix, |line| {
            let [target, replacement] = members(line, ["targetId", "replacement"]);
            let edit = replacement.map(|new| if new.is_null() { Edit::Omit } else { Edit::Replace(ix) });
            let no_id = target.and_then(Raw::text).is_some_and(|id| id.is_empty());
            let target = find(session, target);
            if no_id || target.is_some() {
                self.edits.insert(ix, (target, edit));
            }
        })
    }
}

fn find(session: &Session, id: Option<Raw>) -> Option<EntryIx> {
    id.and_then(Raw::text).filter(|id| !id.is_empty()).and_then(|id| session.find(&id))
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
    /// The place of the first system message in force among [`Walk::systems`].
    first_system: usize,
    /// Whether the sums do not tell the size.
    exact: bool,
}

/// An entry of the path, and what to undo behind it.
struct Passed {
    entry: EntryIx,
    end: End,
    edited: Edited,
    systems: usize,
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
    /// System messages, and compactions for their checkpoints.
    systems: Vec<EntryIx>,
    /// Edits of entries that are not on the path, by what they name.
    ahead: HashMap<EntryIx, u32>,
    /// The size of the prompt, by the last of the system messages that make it.
    prompts: HashMap<EntryIx, u64>,
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
            systems: Vec::new(),
            ahead: HashMap::new(),
            prompts: HashMap::new(),
        }
    }

    fn place(&self, ix: EntryIx) -> Option<usize> {
        let place = self.places[ix.at()] as usize;
        self.path.get(place).is_some_and(|passed| passed.entry == ix).then_some(place)
    }

    fn enter(&mut self, ix: EntryIx) -> io::Result<()> {
        let (session, facts, place) = (self.session, self.facts, self.path.len());
        let (entry, estimate) = (session.entry(ix), facts.estimates[ix.at()]);
        let mut end = self.path.last().map(|passed| passed.end).unwrap_or_default();
        let (mut edited, systems) = (Edited::Nothing, self.systems.len());
        let is_system = session.is_message(ix, Role::System);
        end.exact |=
            entry.flags.has(Flags::SUPERSEDED) || self.ahead.get(&ix).is_some_and(|&edits| edits > 0);
        match entry.kind {
            Kind::Compaction => {
                let kept = facts.kept.get(&ix).and_then(|&kept| self.place(kept));
                end.counted = None;
                end.compaction = Some(ix);
                end.kept_from = kept.unwrap_or(place);
                end.first_system = systems;
                self.systems.push(ix);
            }
            Kind::ContextEdit => {
                end.counted = None;
                edited = self.edit(ix, &mut end)?;
            }
            _ => {
                if is_system {
                    self.systems.push(ix);
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
        self.path.push(Passed { entry: ix, end, edited, systems });
        Ok(())
    }

    /// Changes the estimate of what the edit names.
    fn edit(&mut self, ix: EntryIx, end: &mut End) -> io::Result<Edited> {
        let Some(&(target, edit)) = self.facts.edits.get(&ix) else { return Ok(Edited::Nothing) };
        let is_beyond =
            |target| self.session.is_message(target, Role::System) || end.compaction == Some(target);
        let Some(target) = target.filter(|&target| self.place(target).is_none() || !is_beyond(target)) else {
            end.exact = true;
            return Ok(Edited::Nothing);
        };
        let Some(place) = self.place(target) else {
            *self.ahead.entry(target).or_default() += 1;
            return Ok(Edited::Ahead(target));
        };
        let estimate = match edit {
            _ if self.session.entry(target).kind == Kind::Compaction => 0,
            None => self.facts.estimates[target.at()],
            Some(Edit::Omit) => 0,
            Some(edit) => self.replaced(target, edit)?,
        };
        Ok(Edited::Place(place, self.sums.set(place, estimate)))
    }

    /// The estimate of an entry with the content that an edit gives it. Of the entry itself only the
    /// role matters.
    fn replaced(&self, target: EntryIx, edit: Edit) -> io::Result<u64> {
        let entry = self.session.entry(target);
        let role = match entry.kind {
            Kind::CustomMessage => Role::Custom,
            Kind::Message => entry.role,
            _ => Role::Missing,
        };
        match role {
            Role::User | Role::Assistant | Role::ToolResult | Role::Custom => {
                let bare = Object::new().str("role", role.name().unwrap_or_default()).finish();
                let message = Message { entry: target, body: Body::Built(bare) };
                let message = edited(message, Some(edit), self.bodies)?;
                message.map_or(Ok(0), |message| message.with(self.bodies, tokens::estimate))
            }
            _ => Ok(self.facts.estimates[target.at()]),
        }
    }

    fn leave(&mut self) {
        let Some(passed) = self.path.pop() else { return };
        self.sums.pop();
        self.systems.truncate(passed.systems);
        match passed.edited {
            Edited::Nothing => {}
            Edited::Place(place, before) => drop(self.sums.set(place, before)),
            Edited::Ahead(target) => drop(self.ahead.entry(target).and_modify(|edits| *edits -= 1)),
        }
    }

    /// The size at the end of the path.
    fn size(&mut self) -> io::Result<f64> {
        let end = self.path.last().map(|passed| passed.end).unwrap_or_default();
        if end.exact {
            let path: Vec<_> = self.path.iter().map(|passed| passed.entry).collect();
            let projection = context::projection(self.session, &path, self.bodies)?;
            return tokens::context(self.session, &path, &projection, self.bodies);
        }
        if let Some((usage, since)) = end.counted {
            return Ok(usage + since as f64);
        }
        let compaction = end.compaction.map_or(0, |ix| self.facts.estimates[ix.at()]);
        Ok((self.prompt(&end)? + compaction + self.sums.from(end.kept_from)) as f64)
    }

    /// The size of the system prompt in force.
    fn prompt(&mut self, end: &End) -> io::Result<u64> {
        let Some(&last) = self.systems[end.first_system..].last() else { return Ok(0) };
        if let Some(&known) = self.prompts.get(&last) {
            return Ok(known);
        }
        let mut said = Vec::new();
        for &ix in &self.systems[end.first_system..] {
            speak(self.session, ix, None, self.bodies, &mut said)?;
        }
        let system = system::current(self.session, &said, self.bodies)?;
        let size = system.map_or(0, |system| tokens::estimate(Raw::checked(&system.message(b"0"))));
        self.prompts.insert(last, size);
        Ok(size)
    }
}

/// Numbers in a row with the sums of its tails (a Fenwick tree): each step takes a time that grows
/// with the logarithm of their count.
#[derive(Default)]
struct Sums {
    numbers: Vec<u64>,
    /// `tree[at]` is the sum of the numbers in the stretch that ends with place `at`.
    tree: Vec<u64>,
}

impl Sums {
    /// Places in the stretch that ends with place `at`.
    fn stretch(at: usize) -> usize {
        1 << (at + 1).trailing_zeros()
    }

    fn push(&mut self, number: u64) {
        let at = self.numbers.len();
        self.numbers.push(number);
        self.tree.push(number + self.up_to(at) - self.up_to(at + 1 - Sums::stretch(at)));
    }

    fn pop(&mut self) {
        self.numbers.pop();
        self.tree.pop();
    }

    /// Replaces a number; the one before.
    fn set(&mut self, place: usize, number: u64) -> u64 {
        let before = std::mem::replace(&mut self.numbers[place], number);
        let mut at = place;
        while let Some(sum) = self.tree.get_mut(at) {
            *sum = *sum + number - before;
            at += Sums::stretch(at);
        }
        before
    }

    /// The sum of the numbers before a place.
    fn up_to(&self, mut place: usize) -> u64 {
        let mut sum = 0;
        while place > 0 {
            sum += self.tree[place - 1];
            place -= Sums::stretch(place - 1);
        }
        sum
    }

    /// The sum of the numbers from a place on.
    fn from(&self, place: usize) -> u64 {
        self.up_to(self.numbers.len()) - self.up_to(place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_are_those_of_the_numbers() {
        let (mut sums, mut plain) = (Sums::default(), Vec::<u64>::new());
        for step in 0..2000_u64 {
            match step * 7919 % 10 {
                0..=5 => {
                    sums.push(step);
                    plain.push(step);
                }
                6 | 7 if !plain.is_empty() => {
                    let at = (step * 31) as usize % plain.len();
                    assert_eq!(sums.set(at, step), std::mem::replace(&mut plain[at], step));
                }
                _ => {
                    sums.pop();
                    plain.pop();
                }
            }
            let at = (step * 17) as usize % (plain.len() + 1);
            assert_eq!(sums.from(at), plain[at..].iter().sum::<u64>(), "step {step}");
        }
    }
}
