//! The order in which entries were written, to mark matches before which the conversation went on
//! at another entry.

use crate::session::read::line_chunks::{LineChunk, read_chunks};
use crate::session::read::whole_lines::lines_back;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::{PageBuffer, ReadAt};
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

/// The entries that were written since a search: their ids, and those of their parents.
#[derive(Clone, Debug, Default)]
pub struct Trail {
    written: VecDeque<(Text<'static>, Option<Text<'static>>)>,
    /// The entry before these.
    last: Option<Text<'static>>,
    /// The entry that was written last when the file was read before, if it was replaced since.
    seen: Option<Text<'static>>,
    /// Where the conversation went on since the last match.
    turn: Option<Option<Text<'static>>>,
}

impl Trail {
    /// Begins after the last entry.
    ///
    /// # Errors
    /// If reading fails.
    pub fn after(source: &dyn ReadAt) -> io::Result<Trail> {
        let last = lines_back(source, |line| entry(line).map(|(id, _)| id))?;
        Ok(Trail {
            last,
            ..Trail::default()
        })
    }

    /// Reads the entries that were appended from an offset; without one, the file was replaced.
    ///
    /// # Errors
    /// If reading fails.
    pub fn read(
        mut self,
        source: &dyn ReadAt,
        from: Option<u64>,
        buffer: &mut PageBuffer,
    ) -> io::Result<Trail> {
        if from.is_none() {
            self.seen = self.last.take();
        }
        let range = from.unwrap_or(0)..source.len();
        let _: ControlFlow<()> =
            read_chunks(buffer, source, range, |LineChunk { bytes, .. }| {
                self.written
                    .extend(bytes.split(|&byte| byte == b'\n').filter_map(entry));
                ControlFlow::Continue(())
            })?;
        Ok(self)
    }

    /// Goes on to the entry with this id, and returns where it continues the conversation.
    pub fn turn_at(&mut self, id: &Text) -> Turn {
        let is_found = |own: &Text| own == id;
        if self.pass(is_found) {
            self.turn.take().map_or(Turn::None, Turn::After)
        } else {
            Turn::None
        }
    }

    /// Goes on to the end.
    pub fn end(mut self) -> Trail {
        self.pass(|_| false);
        self
    }

    /// Passes entries up to one that is searched for. Returns whether there is one.
    fn pass(&mut self, is_found: impl Fn(&Text) -> bool) -> bool {
        while let Some((own, parent)) = self.written.pop_front() {
            if parent != self.last {
                self.turn = Some(parent);
            }
            if Some(&own) == self.seen.as_ref() {
                (self.seen, self.turn) = (None, None);
            }
            let ends = is_found(&own);
            self.last = Some(own);
            if ends {
                return true;
            }
        }
        false
    }
}

/// Returns the ids of an entry and its parent; `None` for any other line.
fn entry(line: &[u8]) -> Option<(Text<'static>, Option<Text<'static>>)> {
    let line = Raw::parse(line.trim_ascii())
        .ok()
        .filter(|line| line.is_object())?;
    if line.get("type").is_none_or(|kind| kind.is("session")) {
        return None;
    }
    let text = |key: &str| line.get_text(key).map(Text::into_owned);
    Some((text("id")?, text("parentId")))
}
