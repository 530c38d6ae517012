//! The places at which a file of the source goes back to an earlier one (see
//! [`joined`](crate::joined)).

use super::{CodexReader, TurnStart};
use crate::joined::Junction;
use crate::writer::NodeIx;
use pisess_json::text::Text;
use std::cmp::Reverse;
use std::io;

/// The state of the reader at an offset to which a later file of the source goes back.
pub(super) struct Bookmark {
    offset: u64,
    leaf: Option<NodeIx>,
    turns_on_path: Vec<TurnStart>,
    last_user_text: Option<usize>,
    model: Text<'static>,
    thinking_level: Option<Text<'static>>,
}

impl CodexReader<'_> {
    /// Prepares for the line at `offset`. If it is the first line of a file that continues at an
    /// earlier place of the source, the conversation goes back to there.
    pub(super) fn pass_junctions(&mut self, offset: u64) -> io::Result<()> {
        // First, because a later file may go back to the state before this junction.
        self.add_bookmarks(offset)?;
        while let Some(junction) = self
            .unreached_junctions
            .pop_if(|junction| junction.at <= offset)
        {
            self.release_reply()?;
            // A file begins with a turn, so calls before it get no result any more.
            self.open_calls.clear();
            let skips_lines = junction.back_to < junction.at;
            if skips_lines {
                self.go_back_to(junction.back_to);
            }
        }
        Ok(())
    }

    /// Stores the current state for each place up to `offset` to which a later file goes back. The
    /// caller has read all lines before `offset`, and none after it.
    fn add_bookmarks(&mut self, offset: u64) -> io::Result<()> {
        while let Some(back_to) = self.unread_places.pop_if(|place| *place <= offset) {
            self.release_reply()?;
            self.bookmarks.push(Bookmark {
                offset: back_to,
                leaf: self.leaf,
                turns_on_path: self.turns_on_path.clone(),
                last_user_text: self.history.last_user_text,
                model: self.model.clone(),
                thinking_level: self.thinking_level.clone(),
            });
        }

        Ok(())
    }

    /// Restores the state that [`add_bookmarks`](Self::add_bookmarks) stored for the place at
    /// `offset`. If none is stored, the conversation continues where it is.
    fn go_back_to(&mut self, offset: u64) {
        // The bookmarks are in the order of their offsets.
        let found = self
            .bookmarks
            .binary_search_by_key(&offset, |bookmark| bookmark.offset);
        let Ok(index) = found else {
            return;
        };

        let bookmark = &self.bookmarks[index];
        self.leaf = bookmark.leaf;
        self.turns_on_path.clone_from(&bookmark.turns_on_path);
        self.history.last_user_text = bookmark.last_user_text;
        self.model.clone_from(&bookmark.model);
        self.thinking_level.clone_from(&bookmark.thinking_level);
    }
}

/// Returns the offsets to which junctions go back, each once. The first one is last, because the
/// reader takes them from the end.
pub(super) fn places_of_junctions(junctions: &[Junction]) -> Vec<u64> {
    let mut places: Vec<u64> = junctions.iter().map(|junction| junction.back_to).collect();
    places.sort_by_key(|&place| Reverse(place));
    places.dedup();
    places
}
