//! What the walk over all branches needs of the bodies, read once and in file order.

use super::prompt::Said;
use crate::core::bodies::{Bodies, Body, Message};
use crate::core::entry::{EntryIx, Kind, Role};
use crate::core::json::Raw;
use crate::core::json::write::Object;
use crate::core::pi::context::{Edit, edited, role, speak};
use crate::core::pi::value::members;
use crate::core::pi::{tokens, with_line};
use crate::core::session::Session;
use std::collections::HashMap;
use std::io;

/// The facts of all entries.
#[derive(Default)]
pub struct Facts {
    /// The estimate of what each entry says, unedited.
    pub estimates: Vec<u64>,
    /// What a provider counted.
    pub usages: HashMap<EntryIx, f64>,
    /// Where a compaction keeps from.
    pub kept: HashMap<EntryIx, EntryIx>,
    /// What system messages say, and checkpoints of compactions.
    pub system: HashMap<EntryIx, Said>,
    /// What an edit changes, and how; `None` as its target is every entry without an id.
    pub edits: HashMap<EntryIx, (Option<EntryIx>, Change)>,
}

/// What an edit makes of the estimate.
#[derive(Clone, Copy)]
pub enum Change {
    /// Nothing is left.
    Omit,
    /// The content is another.
    To(u64),
    /// As if it had never been edited.
    Original,
}

impl Facts {
    /// Of a session.
    ///
    /// # Errors
    /// Where a line cannot be read.
    pub fn read(session: &Session, bodies: &dyn Bodies) -> io::Result<Facts> {
        let mut facts = Facts { estimates: vec![0; session.entries.len()], ..Facts::default() };
        let mut said = Vec::new();
        for ix in session.all() {
            let kind = session.entry(ix).kind;
            match kind {
                Kind::Message | Kind::CustomMessage | Kind::BranchSummary | Kind::Compaction => {
                    speak(session, ix, None, bodies, &mut said)?;
                }
                Kind::ContextEdit => facts.read_edit(session, ix, bodies)?,
                _ => {}
            }
            if kind == Kind::Compaction {
                let kept = with_line(bodies, ix, |line| find(session, line.get("firstKeptEntryId")))?;
                kept.map(|kept| facts.kept.insert(ix, kept));
            }
            for message in said.drain(..) {
                let is_system = role(session, &message) == Role::System;
                let (usage, estimate) = message.with(bodies, |json| {
                    is_system.then(|| facts.system.insert(ix, Said::of(json)));
                    (tokens::usage(json), tokens::estimate(json))
                })?;
                // A compaction's checkpoint counts with the prompt alone.
                let counts = !(is_system && kind == Kind::Compaction);
                facts.estimates[ix.at()] += if counts { estimate } else { 0 };
                usage.map(|usage| facts.usages.insert(ix, usage));
            }
        }
        Ok(facts)
    }

    fn read_edit(&mut self, session: &Session, ix: EntryIx, bodies: &dyn Bodies) -> io::Result<()> {
        let (target, replaces, no_id) = with_line(bodies, ix, |line| {
            let [target, replacement] = members(line, ["targetId", "replacement"]);
            let no_id = target.and_then(Raw::text).is_some_and(|id| id.is_empty());
            (find(session, target), replacement.map(|new| !new.is_null()), no_id)
        })?;
        let change = match (replaces, target) {
            (Some(false), _) => Change::Omit,
            (Some(true), Some(target)) => replaced(session, target, ix, bodies)?,
            (Some(true) | None, _) => Change::Original,
        };
        if no_id || target.is_some() {
            self.edits.insert(ix, (target, change));
        }
        Ok(())
    }
}

/// The estimate of an entry with the content that an edit gives it. Of the entry itself only the role
/// matters; where that takes no other content, it keeps its own.
fn replaced(session: &Session, target: EntryIx, by: EntryIx, bodies: &dyn Bodies) -> io::Result<Change> {
    let entry = session.entry(target);
    let role = match entry.kind {
        Kind::CustomMessage => Role::Custom,
        Kind::Message => entry.role,
        _ => Role::Missing,
    };
    if !matches!(role, Role::User | Role::Assistant | Role::ToolResult | Role::Custom) {
        return Ok(Change::Original);
    }
    let bare = Object::new().str("role", role.name().unwrap_or_default()).finish();
    let message = Message { entry: target, body: Body::Built(bare) };
    match edited(message, Some(Edit::Replace(by)), bodies)? {
        Some(message) => message.with(bodies, tokens::estimate).map(Change::To),
        None => Ok(Change::Omit),
    }
}

fn find(session: &Session, id: Option<Raw>) -> Option<EntryIx> {
    id.and_then(Raw::text).filter(|id| !id.is_empty()).and_then(|id| session.find(&id))
}
