//! The operations: each takes a session and gives a plan, or says why not.

pub mod append;
pub mod branches;
pub mod check;
pub mod edit;
pub mod fork;
pub mod label;
pub mod navigate;
pub mod pick;
pub mod redact;
pub mod show;
pub mod summary;
pub mod switch;
pub mod tree;

use super::session::Session;
use super::text::Text;

/// The clock and the id source, handed in: the core has neither.
pub struct Stamp<'a> {
    /// Milliseconds since 1970.
    pub now_ms: i64,
    /// Gives candidates for entry ids, 8 hex digits each.
    pub candidates: &'a mut dyn FnMut() -> String,
}

impl Stamp<'_> {
    /// The time as the agents write it.
    pub fn timestamp(&self) -> String {
        super::time::iso_string(self.now_ms)
    }

    /// An id that no entry of the session has, nor one of `others`.
    pub fn entry_id(&mut self, session: &Session, others: &[String]) -> String {
        self.free_id(session, |id| others.iter().any(|other| other == id))
    }

    /// An id that no entry of the session has, and that is not taken otherwise.
    pub fn free_id(&mut self, session: &Session, is_taken: impl Fn(&str) -> bool) -> String {
        loop {
            let id = (self.candidates)();
            if session.find(&Text::from(id.as_str())).is_none() && !is_taken(&id) {
                return id;
            }
        }
    }
}

/// The id of a parent: that of the leaf, or none before the first entry.
pub fn parent_id(session: &Session, parent: super::reference::Position) -> Option<Text<'_>> {
    parent.map(|ix| session.id(ix))
}
