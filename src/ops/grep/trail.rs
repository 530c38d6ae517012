//! The order in which entries were written, to mark matches before which the conversation went on at another entry.

use crate::session::read::line_chunks::{ChunkReader, LineChunk};
use crate::session::read::whole_lines::lines_back;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::ReadAt;
use std::collections::VecDeque;
use std::io;
use std::ops::ControlFlow;

/// Where an entry continues the conversation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Turn {
    /// After what was written before it, or what another match before it followed.
    None,
    /// On another branch, after the entry with this id; `None` for the root.
    After(Option<Text<'static>>),
}

/// The ids of the entries that were written since a search, each with that of its parent.
#[derive(Debug, Default)]
pub struct Trail {
    written: VecDeque<(Text<'static>, Option<Text<'static>>)>,
    /// The entry that was written last before these.
    last: Option<Text<'static>>,
    /// The entry that was written last when the file was read before.
    seen: Option<Text<'static>>,
    turn: Option<Option<Text<'static>>>,
}

impl Trail {
    /// Reads the entries from an offset; `seen` is the entry that was written last when the file was read before, and
    /// `is_same` whether it is right before them.
    ///
    /// # Errors
    /// If reading fails.
    pub fn read(
        source: &dyn ReadAt,
        from: u64,
        seen: Option<Text<'static>>,
        is_same: bool,
        reader: &mut ChunkReader,
    ) -> io::Result<Trail> {
        let mut written = VecDeque::new();
        let _: ControlFlow<()> = reader.read(source, from..source.len(), |LineChunk { bytes, .. }| {
            written.extend(bytes.split(|&byte| byte == b'\n').filter_map(entry));
            ControlFlow::Continue(())
        })?;
        let last = seen.clone().filter(|_| is_same);
        Ok(Trail { written, last, seen, turn: None })
    }

    /// Goes on to the entry with this id, and returns where it continues the conversation.
    pub fn turn_at(&mut self, id: &Text) -> Turn {
        while let Some((own, parent)) = self.written.pop_front() {
            if parent != self.last {
                self.turn = Some(parent);
            }
            if Some(&own) == self.seen.as_ref() {
                self.turn = None;
            }
            let is_found = own == *id;
            self.last = Some(own);
            if is_found {
                return self.turn.take().map_or(Turn::None, Turn::After);
            }
        }
        Turn::None
    }

    /// Returns the entry that was written last.
    pub fn end(self) -> Option<Text<'static>> {
        self.written.into_iter().next_back().map(|(id, _)| id).or(self.last)
    }
}

/// Returns the id of the last entry.
///
/// # Errors
/// If reading fails.
pub fn last_entry(source: &dyn ReadAt) -> io::Result<Option<Text<'static>>> {
    lines_back(source, |line| entry(line).map(|(id, _)| id))
}

/// Returns the ids of an entry and its parent; `None` for any other line.
fn entry(line: &[u8]) -> Option<(Text<'static>, Option<Text<'static>>)> {
    let line = Raw::parse(line.trim_ascii()).ok().filter(|line| line.is_object())?;
    if line.get("type").is_none_or(|kind| kind.is("session")) {
        return None;
    }
    let text = |key: &str| line.get_text(key).map(Text::into_owned);
    Some((text("id")?, text("parentId")))
}
