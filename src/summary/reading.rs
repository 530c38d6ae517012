//! Which messages of a summary are read, and in which parts.

use super::budget::{PART, RECENT};
use super::message::{self, Kind, Message};
use crate::session::Session;
use crate::session::entry::Role;
use crate::session::read::entry_reader::{self, EntryReader};
use std::io;
use std::ops::Range;

/// The messages of a summary, by number.
pub(super) struct Reading<'a> {
    pub session: &'a Session,
    pub messages: Vec<&'a entry_reader::Message>,
}

impl Reading<'_> {
    /// Returns what an old message is if it is only counted: the result of a call, or a reply with calls.
    fn counted(&self, at: usize) -> Option<Kind> {
        let is = |at: usize, role| {
            self.messages.get(at).is_some_and(|message| self.session.is_message(message.entry, role))
        };
        let is_result = is(at, Role::ToolResult);
        let is_old = at + RECENT < self.messages.len();
        let is_counted = is_old && (is_result || is(at, Role::Assistant) && is(at + 1, Role::ToolResult));
        is_counted.then_some(if is_result { Kind::OldResult } else { Kind::OldCalls })
    }

    /// Returns ranges of message numbers, each read by one thread at once.
    pub fn parts(&self) -> Vec<Range<usize>> {
        let (mut parts, mut start, mut bytes) = (Vec::new(), 0, 0);
        for (at, message) in self.messages.iter().enumerate() {
            bytes += if self.counted(at).is_none() { self.session.entry(message.entry).span.len } else { 0 };
            if bytes >= PART {
                parts.push(start..at + 1);
                (start, bytes) = (at + 1, 0);
            }
        }
        parts.push(start..self.messages.len());
        parts
    }

    /// Reads the messages of a part.
    ///
    /// # Errors
    /// If a line cannot be read.
    pub fn read(&self, part: Range<usize>, bodies: &dyn EntryReader) -> io::Result<Vec<Message>> {
        part.map(|at| match self.counted(at) {
            Some(kind) => Ok(Message { kind, ..Message::default() }),
            None => self.messages[at].with(bodies, message::read),
        })
        .collect()
    }
}
