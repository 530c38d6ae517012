//! Follows the entries as they are written, to mark matches before which the conversation moved to
//! another branch.

use crate::session::read::line_chunks::{LineChunk, read_chunks};
use crate::session::read::whole_lines::find_line_backwards;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::{PageBuffer, ReadAt};
use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;

/// How the entry of a match continues the conversation since the match before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum EntryContinuation {
    /// On the same branch: each entry since the last match is a child of the one before.
    #[default]
    Continues,
    /// On another branch, to which the conversation moved since the last match.
    Branches {
        /// The id of the entry at which the branch begins; `None` for the root.
        after: Option<Text<'static>>,
    },
}

/// The id and the parent id of an entry.
#[derive(Clone, Debug)]
struct WrittenEntry {
    id: Text<'static>,
    /// The parent id; `None` for a root.
    parent: Option<Text<'static>>,
}

/// The entries that were written since the last search, and the state of following them.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    /// The entries that are still to be followed, in file order.
    unfollowed: VecDeque<WrittenEntry>,
    /// The id of the entry that was followed last.
    last_id: Option<Text<'static>>,
    /// If the file was replaced: the id of the last entry of the old file, until an entry with this
    /// id is followed in the new one.
    last_before_replacement: Option<Text<'static>>,
    /// The last change of branches since the last match.
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

    /// Reads the entries from the offset `from` on, which were appended since the file was last
    /// read. [`Trail::advance_to`] then follows them.
    ///
    /// `source` must end with a whole line: a part of an entry would not be read, and its rest
    /// would not be read later.
    ///
    /// # Errors
    /// If reading fails.
    pub fn read_appended(
        &mut self,
        source: &dyn ReadAt,
        from: u64,
        buffer: &mut PageBuffer,
    ) -> io::Result<()> {
        let unfollowed = &mut self.unfollowed;
        let range = from..source.len();
        // Never breaks: all lines are read.
        let _: ControlFlow<()> =
            read_chunks(buffer, source, range, |LineChunk { bytes, .. }| {
                for line in bytes.split(|&byte| byte == b'\n') {
                    unfollowed.extend(parse_entry(line));
                }
                ControlFlow::Continue(())
            })?;
        Ok(())
    }

    /// Reads all entries of a file that replaced the one that was read before. `source` must end
    /// with a whole line.
    ///
    /// The new file may begin with the entries of the old one. `Trail::follow_entry` recognizes the
    /// last of these by its id, so that the branches before it are not reported again.
    ///
    /// # Errors
    /// If reading fails.
    pub fn read_replacement(
        &mut self,
        source: &dyn ReadAt,
        buffer: &mut PageBuffer,
    ) -> io::Result<()> {
        // The new file is followed from its start, where there is no last entry.
        self.last_before_replacement = self.last_id.take();
        self.read_appended(source, 0, buffer)
    }

    /// Follows the entries up to and including the entry of the next match, which has this id.
    /// Returns how the conversation has continued since the last match.
    ///
    /// If no entry has the id, all entries are followed, and the result is
    /// [`EntryContinuation::Continues`].
    pub fn advance_to(&mut self, id: &Text) -> EntryContinuation {
        while let Some(entry) = self.unfollowed.pop_front() {
            let is_of_match = entry.id == *id;
            self.follow_entry(entry);
            if is_of_match {
                // `take` resets the state for the next match.
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

    /// Advances past the next entry in the file. If it is not a child of the entry before, the
    /// conversation moved to another branch, which begins at the entry's parent. This is stored in
    /// `continuation`, for the next match to report, until another branch begins.
    fn follow_entry(&mut self, entry: WrittenEntry) {
        let is_child_of_last = entry.parent == self.last_id;
        if !is_child_of_last {
            self.continuation = EntryContinuation::Branches {
                after: entry.parent,
            };
        }

        // The file was replaced, and this is the entry that was followed last in the old file. So
        // the branches up to here were reported before.
        let was_last_before = self.last_before_replacement.as_ref() == Some(&entry.id);
        if was_last_before {
            self.last_before_replacement = None;
            self.continuation = EntryContinuation::Continues;
        }

        self.last_id = Some(entry.id);
    }
}

/// Reads the id and the parent id from the line of an entry. `None` for the header, and for a line
/// that is not an entry or has no id.
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
