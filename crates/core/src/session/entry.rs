//! The part of an entry that stays in memory: its envelope (id, parent, time, type and role), a few
//! facts about its body, and the location of its line.
//!
//! There is one [`Entry`] for each record of a file except the header. A record is a line that is
//! valid JSON. Bodies, which are the rest of the lines, stay in the file. Strings that are needed
//! often are stored in one buffer, the arena, and referred to by [`Slice`]s. So memory grows with
//! the number of entries and not with their bytes.

mod kind;

pub use kind::{Kind, KindClass, ReferenceTarget, Role, TreeVisibility};

use crate::session::collected::{PrecedingCounts, Renumber};
use std::num::NonZeroU32;
use std::ops::Range;

/// The index of an entry in its session, in file order, from 0. The stored number is greater by 1,
/// so that an `Option` of it takes no more memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryIx(NonZeroU32);

impl EntryIx {
    /// Returns the index `at`, which is less than `u32::MAX`: sessions with more entries are not
    /// loaded.
    pub fn new(at: usize) -> Self {
        EntryIx(NonZeroU32::MIN.saturating_add(at as u32))
    }

    /// Returns the index as a `usize`.
    pub fn index(self) -> usize {
        self.0.get() as usize - 1
    }

    /// Returns the index that is greater by `count`.
    pub fn offset_by(self, count: u32) -> Self {
        EntryIx(self.0.saturating_add(count))
    }

    /// Returns the index of the previous entry of the file; `None` for the first.
    pub fn previous(self) -> Option<EntryIx> {
        NonZeroU32::new(self.0.get() - 1).map(EntryIx)
    }
}

/// The number of a physical line in its file, counted from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LineNo(pub u32);

impl LineNo {
    /// Converts the number of a line of a converted session into the number of the line in the
    /// original file that it was made from. `original_lines` are those of
    /// [`ReadAt::original_lines`](pisess_store::ReadAt); without them, the number stays the same.
    pub fn in_original(self, original_lines: Option<&[u32]>) -> LineNo {
        let Some(lines) = original_lines else {
            return self;
        };
        let index = (self.0 as usize).saturating_sub(1);
        lines.get(index).map_or(self, |&line| LineNo(line))
    }
}

/// A range of bytes in the file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The offset of the first byte.
    pub start: u64,
    /// The length in bytes, without the newline.
    pub len: u64,
}

impl Span {
    /// Returns the offset after the last byte.
    pub fn end(self) -> u64 {
        self.start + self.len
    }

    /// Returns the span as a range of the file.
    pub fn range(self) -> Range<u64> {
        self.start..self.end()
    }
}

/// A string in the arena of a session.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Slice {
    /// The offset in the arena.
    pub start: u32,
    /// The length in bytes.
    pub len: u32,
}

impl Slice {
    /// Appends a string to an arena, and returns its position there.
    pub fn append(bytes: &[u8], arena: &mut Vec<u8>) -> Slice {
        let start = arena.len() as u32;
        arena.extend_from_slice(bytes);
        Slice {
            start,
            len: bytes.len() as u32,
        }
    }

    /// Returns the slice as a range of the arena.
    pub fn range(self) -> Range<usize> {
        self.start as usize..(self.start + self.len) as usize
    }

    /// Whether the string is empty, or was not kept.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// The `customType` of the mark of a move of the leaf.
pub const MOVE_MARK_TYPE: &str = "pisess.switch";

/// Facts about the body or the links of an entry, recorded while loading so that the line need not
/// be read again.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Flags(u16);

impl Flags {
    /// `message.content` is missing or `null`.
    pub const NO_CONTENT: Flags = Flags(1);
    /// An assistant message that has no text, and ended neither in an error nor early: the agents'
    /// trees show it only if it is the leaf.
    pub const SILENT: Flags = Flags(2);
    /// Treated by the agent as a request of the user: a user message; in oh-my-pi, also a skill or
    /// collaboration prompt attributed to the user.
    pub const USER_REQUEST: Flags = Flags(4);
    /// The parents of the entry form a cycle that includes it; the cycle is cut at its first entry
    /// in the file.
    pub const IN_CYCLE: Flags = Flags(8);
    /// A later entry has the same id and takes precedence.
    pub const SUPERSEDED: Flags = Flags(16);
    /// The entry has no `parentId` at all.
    pub const NO_PARENT_KEY: Flags = Flags(32);

    /// oh-my-pi: a skill prompt; only those attributed to the user are requests.
    pub const SKILL_PROMPT: Flags = Flags(64);

    /// The entry has no `id` at all.
    pub const NO_ID_KEY: Flags = Flags(128);

    /// A turn, tool call or command that ended with an error.
    pub const FAILED: Flags = Flags(256);

    /// A turn or command that the user aborted.
    pub const ABORTED: Flags = Flags(512);

    /// There is white space around the value on the line, such as a carriage return.
    pub const PADDED: Flags = Flags(1024);

    /// A message of an extension that the agent does not show: its `display` is `false`.
    pub const HIDDEN: Flags = Flags(2048);

    /// The content has an image.
    pub const IMAGES: Flags = Flags(4096);
    /// An assistant message that has text and ended normally: neither in an error, nor early, nor
    /// to call tools.
    pub const ANSWER: Flags = Flags(16384);
    /// The mark of a move of the leaf: a custom entry of the type [`MOVE_MARK_TYPE`].
    pub const MOVE_MARK: Flags = Flags(8192);

    /// Whether all of `other` are set.
    pub fn contains(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Sets all of `other` if the condition holds. Never clears a flag.
    pub fn insert_if(&mut self, other: Flags, condition: bool) {
        self.0 |= if condition { other.0 } else { 0 };
    }
}

/// The ending of a turn, a tool or a command that did not end normally.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ending {
    /// It failed.
    Failed,
    /// The user aborted it.
    Aborted,
}

/// An entry, without its body.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// The location of its line.
    pub span: Span,
    /// The `timestamp` in milliseconds since 1970; [`Entry::NO_TIME`] if it does not parse.
    pub time_ms: i64,
    /// The id; empty if the line has no string `id`.
    pub id: Slice,
    /// The parent in the tree, after cutting cycles; `None` for a root.
    pub parent: Option<EntryIx>,
    /// The line number.
    pub line: LineNo,
    /// The index among the records of the file (the lines that parse), where the header is 0.
    pub record: u32,
    /// The type.
    pub kind: Kind,
    /// The role of its message.
    pub role: Role,
    /// Facts about its body.
    pub flags: Flags,
}

impl Renumber for Entry {
    /// Turns an entry of a part of the file into one of the whole file: numbers that count from the
    /// start of the part are raised by what precedes the part.
    fn renumber(&mut self, preceding: PrecedingCounts) {
        let Entry {
            id,
            parent,
            line,
            record,
            // The span is an offset in the whole file already.
            span: _,
            time_ms: _,
            kind: _,
            role: _,
            flags: _,
        } = self;
        id.renumber(preceding);
        parent.renumber(preceding);
        line.renumber(preceding);
        *record += preceding.records;
    }
}

impl Entry {
    /// The [`Entry::time_ms`] of a timestamp that does not parse; `NaN` in JavaScript.
    pub const NO_TIME: i64 = i64::MIN;

    /// Returns the time as a JavaScript `Date` has it: milliseconds since 1970, or `NaN` if the
    /// timestamp does not parse.
    pub fn js_time(&self) -> f64 {
        if self.time_ms == Entry::NO_TIME {
            f64::NAN
        } else {
            self.time_ms as f64
        }
    }

    /// Returns the ending of the entry; `None` if it was normal.
    pub fn ending(&self) -> Option<Ending> {
        if self.flags.contains(Flags::FAILED) {
            Some(Ending::Failed)
        } else if self.flags.contains(Flags::ABORTED) {
            Some(Ending::Aborted)
        } else {
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_stays_small() {
        assert!(size_of::<Entry>() <= 48, "{}", size_of::<Entry>());
    }
}
