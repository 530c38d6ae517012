//! The labels in effect. As in both agents, the last `label` entry in the file for a target counts,
//! on whatever branch it is.

use super::collected::LabelChange;
use super::entry::EntryIx;
use crate::session::Session;
use foldhash::HashMap;
use pisess_json::text::Text;

/// The labels in effect.
#[derive(Debug)]
pub struct Labels<'a> {
    session: &'a Session,
    /// The label entries in effect, in the order of a JavaScript `Map`: a target keeps the position
    /// of its first label until it is cleared. A cleared label leaves `None`.
    order: Vec<Option<&'a LabelChange>>,
    /// For the id of each target, its index in `order`. Ids and not entries, because the target may
    /// be missing from the file.
    order_index: HashMap<&'a [u8], usize>,
}

impl<'a> Labels<'a> {
    /// Returns the labels in effect at the end of a session's file. As in the agents, a label that
    /// is changed keeps its place in the order. A label that is cleared and set again comes last.
    pub fn new(session: &'a Session) -> Self {
        let mut labels = Labels {
            session,
            order: Vec::new(),
            order_index: HashMap::default(),
        };
        for change in &session.collected.labels {
            let target = session.bytes(change.target);
            if change.name.is_empty() {
                labels.clear(target);
            } else {
                labels.set(target, change);
            }
        }
        labels
    }

    /// Sets the label of the entry with the id `target`.
    fn set(&mut self, target: &'a [u8], change: &'a LabelChange) {
        if let Some(&index) = self.order_index.get(target) {
            self.order[index] = Some(change);
        } else {
            self.order_index.insert(target, self.order.len());
            self.order.push(Some(change));
        }
    }

    /// Clears the label of the entry with the id `target`. Its place in the order stays empty, so
    /// that the indexes of other entries remain valid.
    fn clear(&mut self, target: &[u8]) {
        if let Some(index) = self.order_index.remove(target) {
            self.order[index] = None;
        }
    }

    /// Returns the `label` entry that gives an entry its label; `None` if the entry has no label.
    pub fn label_change(&self, ix: EntryIx) -> Option<&'a LabelChange> {
        let id = self.session.entry(ix).id;
        if id.is_empty() {
            return None;
        }
        let index = *self.order_index.get(self.session.bytes(id))?;
        self.order[index]
    }

    /// Returns the label of an entry; `None` if it has none.
    pub fn get(&self, ix: EntryIx) -> Option<Text<'a>> {
        self.label_change(ix)
            .map(|change| self.session.text(change.name))
    }

    /// Returns all labels in effect, in the agents' order, including those of missing entries.
    pub fn changes(&self) -> impl Iterator<Item = &'a LabelChange> {
        self.order.iter().flatten().copied()
    }

    /// Returns the labelled entries with their label entries, in the agents' order.
    pub fn iter(&self) -> impl Iterator<Item = (EntryIx, &'a LabelChange)> {
        self.changes().filter_map(|change| {
            let target = self.session.find_entry(&self.session.text(change.target))?;
            Some((target, change))
        })
    }

    /// Returns the entries that have this label.
    pub fn entries_with_label(&self, name: &Text) -> Vec<EntryIx> {
        let mut targets = Vec::new();
        for (target, change) in self.iter() {
            if self.session.text(change.name) == *name {
                targets.push(target);
            }
        }
        targets
    }
}
