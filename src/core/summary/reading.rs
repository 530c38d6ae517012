//! Which messages of a summary are read, and in which parts.

use super::budget::{PART, RECENT};
use super::message::{self, Message};
use crate::core::bodies::{self, Bodies};
use crate::core::entry::Role;
use crate::core::session::Session;
use std::io;
use std::ops::Range;

/// The messages of a summary, by number.
pub(super) struct Reading<'a> {
    pub session: &'a Session,
    pub messages: Vec<&'a bodies::Message>,
}

/// How a message is used.
pub(super) enum Use {
    /// Read in full.
    Read,
    /// Only counted: an old result of a call.
    Result,
    /// Only counted: an old reply with calls.
    Calls,
}

impl Reading<'_> {
    /// Returns how a message is used. This depends on its position, its role, and the role of the next message.
    pub fn of(&self, at: usize) -> Use {
        let is = |at: usize, role| {
            self.messages.get(at).is_some_and(|message| self.session.is_message(message.entry, role))
        };
        if at + RECENT >= self.messages.len() {
            Use::Read
        } else if is(at, Role::ToolResult) {
            Use::Result
        } else if is(at, Role::Assistant) && is(at + 1, Role::ToolResult) {
            Use::Calls
        } else {
            Use::Read
        }
    }

    /// Returns ranges of message numbers, each read by one thread at once.
    pub fn parts(&self) -> Vec<Range<usize>> {
        let (mut parts, mut start, mut bytes) = (Vec::new(), 0, 0);
        for (at, message) in self.messages.iter().enumerate() {
            if let Use::Read = self.of(at) {
                bytes += self.session.entry(message.entry).span.len;
            }
            if bytes >= PART {
                parts.push(start..at + 1);
                (start, bytes) = (at + 1, 0);
            }
        }
        parts.push(start..self.messages.len());
        parts
    }

    /// Reads those messages of a part that are to be read.
    ///
    /// # Errors
    /// If a line cannot be read.
    pub fn read(&self, part: Range<usize>, bodies: &dyn Bodies) -> io::Result<Vec<Message>> {
        let read = part.filter(|&at| matches!(self.of(at), Use::Read));
        read.map(|at| self.messages[at].with(bodies, message::read)).collect()
    }
}
