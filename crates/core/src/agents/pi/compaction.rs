//! What a compaction would summarize, and where it would cut (pi's `prepareCompaction`).
//!
//! ```text
//! C  u  a  t  t  a  t  u  a  t  t  a        the projection: a compaction, two turns
//!    └── summarized ──┘└prefix┘└ kept ─     a cut inside the second turn, at its last `a`
//! ```

use super::context::{Projection, role};
use super::tokens;
use crate::agents::prepare::{FirstKept, Preparation};
use crate::session::content;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::{EntryReader, Message};
use foldhash::HashSet;
use pisess_json::Raw;
use std::io;
use std::ops::Range;

/// Prepares a compaction at the end of `path`, which keeps what follows `from`.
///
/// Returns `None` if there is nothing to compact: the path ends in a compaction, nothing precedes
/// the cut, or the entry at the cut has no id.
pub fn prepare(
    path: &[EntryIx],
    reader: &EntryReader,
    from: FirstKept,
) -> io::Result<Option<Preparation>> {
    let session = reader.session();
    if path
        .last()
        .is_some_and(|&ix| session.entry(ix).kind == Kind::Compaction)
    {
        return Ok(None);
    }
    let projection = Projection::of(path, reader)?;
    let previous = projection.previous_compaction();
    let start = previous.map_or(0, |at| at + 1);
    let (cut, kept) = match from {
        FirstKept::Nothing => (projection.entries.len(), None),
        FirstKept::Entry(entry) => {
            let Some(at) = projection.place_of(entry, start) else {
                return Ok(None);
            };
            (at, Some(entry))
        }
        FirstKept::Within(tokens) => {
            let Some(at) = projection.choose(start, tokens)? else {
                return Ok(None);
            };
            (at, Some(projection.entry(at)))
        }
    };
    // The start of the turn that the cut splits.
    let last_start = kept.and_then(|_| {
        (start..=cut)
            .rev()
            .find(|&at| projection.speaks_as(at, starts_turn))
    });
    let turn_start = last_start.filter(|&last_start| last_start < cut);
    let history = projection.messages(start..turn_start.unwrap_or(cut));
    let prefix = projection.messages(turn_start.unwrap_or(cut)..cut);
    let mut preparation = Preparation {
        first_kept: kept,
        is_split_turn: turn_start.is_some(),
        tokens_before: tokens::context(&projection)?,
        scale: 1.0,
        messages_to_summarize: history,
        turn_prefix_messages: prefix,
        ..Preparation::default()
    };
    if let Some(at) = previous {
        reader.with_entry(projection.entry(at), |line| {
            preparation.continue_from(line, session)
        })?;
    }
    preparation.completed(path, reader)
}

/// What a cut is chosen from; positions are indexes among the entries of the projection.
impl Projection<'_> {
    fn entry(&self, at: usize) -> EntryIx {
        self.path[self.entries[at].place as usize]
    }

    fn kind(&self, at: usize) -> Kind {
        self.reader.session().entry(self.entry(at)).kind
    }

    /// Whether the entry at an index is not a compaction, and has a message in a role that `wanted`
    /// accepts.
    fn speaks_as(&self, at: usize, wanted: fn(Role) -> bool) -> bool {
        let messages = self.messages_of(at);
        self.kind(at) != Kind::Compaction
            && messages
                .iter()
                .any(|message| wanted(role(self.reader.session(), message)))
    }

    fn is_silent(&self, at: usize) -> bool {
        self.messages_of(at).is_empty()
    }

    /// Whether an edit removed the entry's message.
    fn is_omitted(&self, at: usize) -> bool {
        let entry = self.entries[at];
        entry.visible && self.is_silent(at)
    }

    /// Returns the messages of these entries, without system messages: their state is in the
    /// checkpoint.
    fn messages(&self, places: Range<usize>) -> Vec<Message> {
        let mut messages = Vec::with_capacity(places.len());
        for at in places.filter(|&at| self.kind(at) != Kind::Compaction) {
            let all = self.messages_of(at).iter();
            messages.extend(
                all.filter(|message| role(self.reader.session(), message) != Role::System)
                    .cloned(),
            );
        }
        messages
    }

    /// Returns the compaction in effect, unless it was edited away.
    fn previous_compaction(&self) -> Option<usize> {
        (0..self.entries.len()).find(|&at| self.kind(at) == Kind::Compaction && !self.is_silent(at))
    }

    /// Returns the index, from `start` on, of an entry of the path, or else of the first one after
    /// it.
    fn place_of(&self, entry: EntryIx, start: usize) -> Option<usize> {
        let wanted = self.path.iter().position(|&ix| ix == entry)?;
        let follows = |at: usize| self.entries[at].place as usize >= wanted;
        // A compaction at the start of the projection precedes what it keeps of the path.
        let least = usize::from(!self.entries.is_empty() && self.kind(0) == Kind::Compaction);
        (start.max(least)..self.entries.len()).find(|&at| follows(at))
    }

    /// Returns pi's choice: back from the end until `keep` tokens are reached, then forward to the
    /// next entry at which a cut may be, and back over entries without messages.
    fn choose(&self, start: usize, keep: u64) -> io::Result<Option<usize>> {
        let may_be_cut = |&at: &usize| self.speaks_as(at, may_be_cut);
        let Some(last) = (start..self.entries.len()).rfind(may_be_cut) else {
            return Ok(None);
        };
        let overflow = self.overflow(start, keep)?;
        let mut at = (overflow.unwrap_or(start)..self.entries.len())
            .find(may_be_cut)
            .unwrap_or(last);
        if overflow.is_some() && self.ends_in_failed_attempt(at + 1)? {
            at += 1;
        }
        while at > start && self.kind(at - 1) != Kind::Compaction && self.is_silent(at - 1) {
            at -= 1;
        }
        Ok(Some(at))
    }

    /// Returns the index at which the messages, added up from the end, reach `keep` tokens.
    fn overflow(&self, start: usize, keep: u64) -> io::Result<Option<usize>> {
        let mut total = 0;
        for at in (start..self.entries.len()).rev() {
            let mut tokens = 0;
            for message in self.messages_of(at) {
                tokens += message.with(self.reader, tokens::estimate)?;
            }
            total += tokens;
            if tokens > 0 && total >= keep {
                return Ok(Some(at));
            }
        }
        Ok(None)
    }

    /// Whether the part from `from` on is a failed attempt that was undone: all of it was omitted,
    /// including a response, and no edit in it gives new content to an entry outside.
    fn ends_in_failed_attempt(&self, from: usize) -> io::Result<bool> {
        let closed = (from..self.entries.len()).all(|at| {
            let entry = self.entries[at];
            self.kind(at) != Kind::Compaction && (!entry.visible || self.is_silent(at))
        });
        let answer = |at: usize| {
            self.reader
                .session()
                .is_message(self.entry(at), Role::Assistant)
        };
        if !closed || !(from..self.entries.len()).any(|at| answer(at) && self.is_omitted(at)) {
            return Ok(false);
        }
        let omitted = (from..self.entries.len()).filter(|&at| self.is_omitted(at));
        let omitted: HashSet<_> = omitted
            .map(|at| self.reader.session().id(self.entry(at)))
            .collect();
        for at in (from..self.entries.len()).filter(|&at| self.kind(at) == Kind::ContextEdit) {
            let replaces = self.reader.with_entry(self.entry(at), |line| {
                let [target, replacement] = content::members(line, ["targetId", "replacement"]);
                let known = target
                    .and_then(Raw::text)
                    .is_some_and(|target| omitted.contains(&target));
                !replacement.is_some_and(Raw::is_null) && !known
            })?;
            if replaces {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

fn may_be_cut(role: Role) -> bool {
    role == Role::Assistant || starts_turn(role)
}

fn starts_turn(role: Role) -> bool {
    matches!(
        role,
        Role::User
            | Role::BashExecution
            | Role::Custom
            | Role::BranchSummary
            | Role::CompactionSummary
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::pi::testing::*;

    /// Returns a text of that many tokens.
    fn long(tokens: usize) -> String {
        "x".repeat(tokens * 4)
    }

    fn two_turns() -> [String; 7] {
        [
            user("abcd"),
            call("read", "a.rs"),
            result(&long(9)),
            user("abcd"),
            call("write", "b.rs"),
            result(&long(9)),
            assistant("abcd"),
        ]
    }

    #[test]
    fn the_cut_is_the_first_place_behind_the_budget() {
        let made = chain(&two_turns());
        assert_eq!(made.cut(1, None), "e0 e1 e2 | e3 e4 e5 | e6");
        let lists = made
            .prepared(1, None)
            .unwrap()
            .file_ops
            .lists(&made.session);
        assert_eq!(
            (lists.read_files, lists.modified_files),
            (vec!["a.rs".into()], vec!["b.rs".into()])
        );
        // If the budget is reached at a tool result, the cut is at the next entry that is not a
        // tool result.
        assert_eq!(made.cut(5, None), "e0 e1 e2 | e3 e4 e5 | e6");
        assert_eq!(made.cut(16, None), "e0 e1 e2 | e3");
        assert_eq!(made.cut(1000, None), "nothing");
    }

    #[test]
    fn the_caller_may_choose_the_cut() {
        let made = chain(&two_turns());
        assert_eq!(made.cut(0, Some("e4")), "e0 e1 e2 | e3 | e4");
        assert_eq!(made.cut(0, Some("none")), "e0 e1 e2 e3 e4 e5 e6 | none");
        assert_eq!(made.cut(0, Some("e0")), "nothing");
    }

    #[test]
    fn a_second_compaction_goes_on_from_the_first() {
        let details = r#","details":{"readFiles":["old"],"modifiedFiles":["new"]}"#;
        let mut entries = vec![user("a"), user("b"), compacted("e1", details)];
        assert_eq!(chain(&entries).cut(0, None), "nothing");
        entries.extend([says("system", r#""content":"s""#), user("c"), user("d")]);
        let made = chain(&entries);
        assert_eq!(made.cut(1, None), "e1 e4 | e5");
        let prepared = made.prepared(1, None).unwrap();
        assert_eq!(prepared.previous_summary, Some("S".into()));
        assert_eq!(prepared.previous_compactions, [EntryIx::new(2)]);
        assert!(prepared.file_ops.edited.keys().eq(["new"]));
        // Before an entry that an earlier compaction summarized, there is nothing left to
        // summarize.
        assert_eq!(made.cut(0, Some("e0")), "nothing");
        // If the compaction itself is given, the cut is after the entries that it keeps.
        assert_eq!(made.cut(0, Some("e2")), " | e1 | e2");
        let hooked = [
            user("a"),
            compacted("e0", &format!("{details},\"fromHook\":true")),
            user("b"),
        ];
        assert!(
            chain(&hooked)
                .prepared(1, None)
                .unwrap()
                .file_ops
                .edited
                .is_empty()
        );
    }

    #[test]
    fn metadata_before_the_cut_is_kept() {
        let model = r#""type":"model_change","provider":"p","modelId":"m""#.to_owned();
        let entries = [user("a"), assistant("b"), model.clone(), model, user("c")];
        // pi looks for the start of a turn in the metadata before the cut, so it considers the turn
        // split.
        assert_eq!(chain(&entries).cut(1, None), " | e0 e1 | e2");
    }

    #[test]
    fn an_attempt_that_was_taken_back_goes_with_what_is_summarised() {
        let mut entries = vec![
            user("a"),
            user(&long(5)),
            assistant("failed"),
            edit("e2", "null"),
        ];
        assert_eq!(chain(&entries).cut(5, None), "e0 | e1 | e2");
        entries.push(edit("e0", r#"{"content":"b"}"#));
        assert_eq!(chain(&entries).cut(5, None), "e0 | e1");
    }
}
