//! The order in which entries were written, to mark matches before which the conversation went on
//! at another entry.

use crate::session::read::line_chunks::{LineChunk, read_chunks};
use crate::session::read::whole_lines::find_line_backwards;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::{PageBuffer, ReadAt};
use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;

/// Where an entry continues the conversation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EntryContinuation {
    /// After the entry written before it, or on the branch that an earlier match already moved to.
    #[default]
    Continues,
    /// On another branch.
    Branches {
        /// The id of the entry that it follows; `None` for the root.
        after: Option<Text<'static>>,
    },
}

/// The ids by which an entry is placed in the tree.
#[derive(Clone, Debug)]
struct WrittenEntry {
    id: Text<'static>,
    /// The id of its parent; `None` for a root.
    parent: Option<Text<'static>>,
}

/// The entries that were written since a search, and how far they have been followed.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    /// The entries that are still to be followed, in file order.
    unfollowed: VecDeque<WrittenEntry>,
    /// The id of the entry before these.
    last_id: Option<Text<'static>>,
    /// If the file was replaced: the id of the entry that was last in it before.
    last_before_replacement: Option<Text<'static>>,
    /// Where the last branch began among the entries followed since the last match.
    continuation: EntryContinuation,
}

impl Trail {
    /// Returns a trail that begins after the last entry of a file.
    ///
    /// # Errors
    /// If reading fails.
    pub fn at_end_of(source: &dyn ReadAt) -> io::Result<Trail> {
        let last = find_line_backwards(source, |line| parse_entry(line).map(|entry| entry.id))?;
        Ok(Trail {
            last_id: last,
            ..Trail::default()
        })
    }

    /// Adds the entries that were appended from the offset `from` on, which are still to be
    /// followed. Without an offset, the file was replaced, and all its entries are added.
    ///
    /// # Errors
    /// If reading fails.
    pub fn read_appended(
        mut self,
        source: &dyn ReadAt,
        from: Option<u64>,
        buffer: &mut PageBuffer,
    ) -> io::Result<Trail> {
        // The new file may continue from the same entry, or have another conversation.
        if from.is_none() {
            self.last_before_replacement = self.last_id.take();
        }

        let range = from.unwrap_or(0)..source.len();
        let _: ControlFlow<()> =
            read_chunks(buffer, source, range, |LineChunk { bytes, .. }| {
                for line in bytes.split(|&byte| byte == b'\n') {
                    self.unfollowed.extend(parse_entry(line));
                }
                ControlFlow::Continue(())
            })?;
        Ok(self)
    }

    /// Follows the entries up to the entry with this id, in which the next match is. Returns where
    /// the conversation has branched off since the last match, if it has.
    ///
    /// If no entry has the id, all entries are followed, and the conversation counts as continued.
    pub fn advance_to(&mut self, id: &Text) -> EntryContinuation {
        while let Some(entry) = self.unfollowed.pop_front() {
            let is_of_match = entry.id == *id;
            self.follow_entry(entry);
            if is_of_match {
                // The next match starts anew.
                return std::mem::take(&mut self.continuation);
            }
        }
        EntryContinuation::Continues
    }

    /// Follows all entries that are left.
    pub fn advance_to_end(mut self) -> Trail {
        while let Some(entry) = self.unfollowed.pop_front() {
            self.follow_entry(entry);
        }
        self
    }

    /// Makes an entry the last one. If it is not below the entry written before it, a branch began
    /// at its parent.
    fn follow_entry(&mut self, entry: WrittenEntry) {
        if entry.parent != self.last_id {
            self.continuation = EntryContinuation::Branches {
                after: entry.parent,
            };
        }

        // Up to this entry, a replaced file has entries that were followed before.
        if self.last_before_replacement.as_ref() == Some(&entry.id) {
            self.last_before_replacement = None;
            self.continuation = EntryContinuation::Continues;
        }

        self.last_id = Some(entry.id);
    }
}

/// Parses the ids of an entry; `None` for the header, and for lines that are not entries.
fn parse_entry(line: &[u8]) -> Option<WrittenEntry> {
    let line = Raw::parse(line.trim_ascii()).ok()?;
    if !line.is_object() {
        return None;
    }
    let kind = line.get("type")?;
    if kind.is("session") {
        return None;
    }
    Some(WrittenEntry {
        id: line.get_text("id")?.into_owned(),
        parent: line.get_text("parentId").map(Text::into_owned),
    })
}
