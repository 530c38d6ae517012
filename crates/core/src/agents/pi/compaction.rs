//! Decides where a compaction would cut the conversation, and collects what it would summarize
//! (pi's `prepareCompaction`).
//!
//! ```text
//! C  u  a  t  t  a  t  u  a  t  t  a        the projection: a compaction, two turns
//!    └── summarized ──┘└prefix┘└ kept ─     a cut inside the second turn, at its last `a`
//! ```
//!
//! C is a compaction, u a message of the user, a a message of the model, t a tool result.

use super::context::{Projection, message_role};
use super::tokens;
use crate::agents::prepare::{Cut, FirstKept, Preparation};
use crate::session::content;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::{ContextMessage, EntryReader};
use foldhash::HashSet;
use pisess_json::Raw;
use pisess_json::text::Text;
use std::io;
use std::ops::Range;

/// Collects the messages that a compaction at the end of `path` would summarize. `from` says which
/// entry is the first one that the compaction keeps.
///
/// Returns `None` if there is nothing to compact: the path ends in a compaction, no cut is
/// possible, nothing precedes the cut, or the entry at the cut has no id.
pub fn prepare_compaction(
    path: &[EntryIx],
    reader: &EntryReader,
    from: FirstKept,
) -> io::Result<Option<Preparation>> {
    let session = reader.session();
    if let Some(&last) = path.last()
        && session.entry(last).kind == Kind::Compaction
    {
        // Nothing was added since.
        return Ok(None);
    }

    let projection = Projection::from_path(path, reader)?;
    let previous = projection.find_previous_compaction();
    // The summary of the previous compaction is passed on as a summary, not as a message.
    let start = previous.map_or(0, |index| index + 1);
    let Some(cut) = projection.find_cut(from, start)? else {
        return Ok(None);
    };

    // A turn is a request of the user and all messages up to the next. If the cut is within one,
    // its beginning (the prefix) is summarized apart from the history before it.
    let split_turn_start = projection.find_split_turn_start(start, &cut);
    let history_end = split_turn_start.unwrap_or(cut.index);
    let mut preparation = Preparation {
        first_kept: cut.first_kept,
        is_split_turn: split_turn_start.is_some(),
        tokens_before: tokens::context_tokens(&projection)?,
        token_ratio: 1.0,
        messages_to_summarize: projection.messages_to_summarize(start..history_end),
        turn_prefix_messages: projection.messages_to_summarize(history_end..cut.index),
        ..Preparation::default()
    };
    if let Some(previous) = previous {
        reader.with_entry(projection.entry_at(previous), |line| {
            preparation.continue_from(line, session)
        })?;
    }
    preparation.finish(path, reader)
}

/// Methods that choose a cut. An index is one of [`Projection::entries`].
impl Projection<'_> {
    /// Returns the entry of the session at an index.
    fn entry_at(&self, index: usize) -> EntryIx {
        self.path[self.entries[index].path_index as usize]
    }

    fn kind_at(&self, index: usize) -> Kind {
        self.reader.session().entry(self.entry_at(index)).kind
    }

    /// Whether the entry at an index has a message in a role that `is_wanted` accepts. Never true
    /// of a compaction, because no cut is possible and no turn starts there.
    fn has_message_in_role(&self, index: usize, is_wanted: fn(Role) -> bool) -> bool {
        if self.kind_at(index) == Kind::Compaction {
            return false;
        }
        let session = self.reader.session();
        self.messages_of(index)
            .iter()
            .any(|message| is_wanted(message_role(session, message)))
    }

    /// Whether the entry at an index contributes no message, perhaps because an edit removed it.
    fn has_no_message(&self, index: usize) -> bool {
        self.messages_of(index).is_empty()
    }

    /// Whether an edit removed the messages of the entry at an index.
    fn is_omitted(&self, index: usize) -> bool {
        self.entries[index].has_model_messages && self.has_no_message(index)
    }

    /// Returns the messages of the entries in `range` that a summary replaces: all but summaries of
    /// earlier compactions, which are passed on as summaries, and system messages, which a
    /// compaction stores as a whole in its checkpoint.
    fn messages_to_summarize(&self, range: Range<usize>) -> Vec<ContextMessage> {
        let session = self.reader.session();
        let mut messages = Vec::with_capacity(range.len());
        for index in range {
            if self.kind_at(index) == Kind::Compaction {
                continue;
            }
            for message in self.messages_of(index) {
                if message_role(session, message) != Role::System {
                    messages.push(message.clone());
                }
            }
        }
        messages
    }

    /// Finds the index of the compaction in effect; `None` if there is none, or if an edit removed
    /// it.
    fn find_previous_compaction(&self) -> Option<usize> {
        (0..self.entries.len())
            .find(|&index| self.kind_at(index) == Kind::Compaction && !self.has_no_message(index))
    }

    /// Finds the cut that `from` asks for, among the entries in effect from the index `start` on.
    /// `None` if no entry is a possible cut, or if neither the chosen entry nor any after it is in
    /// effect.
    fn find_cut(&self, from: FirstKept, start: usize) -> io::Result<Option<Cut>> {
        let cut = match from {
            FirstKept::Nothing => Cut {
                index: self.entries.len(),
                first_kept: None,
            },
            FirstKept::Entry(entry) => {
                let Some(index) = self.find_index(entry, start) else {
                    return Ok(None);
                };
                Cut {
                    index,
                    first_kept: Some(entry),
                }
            }
            FirstKept::RecentTokens(tokens) => {
                let Some(index) = self.choose_cut(start, tokens)? else {
                    return Ok(None);
                };
                Cut {
                    index,
                    first_kept: Some(self.entry_at(index)),
                }
            }
        };
        Ok(Some(cut))
    }

    /// Returns the index of an entry of the path or, if the projection does not have it, of the
    /// first one after it. Only indexes from `start` on count.
    fn find_index(&self, entry: EntryIx, start: usize) -> Option<usize> {
        let wanted = self.path.iter().position(|&ix| ix == entry)?;
        // The projection may begin with a compaction, although the entries after it precede it on
        // the path. So the compaction's own index on the path is not compared.
        let begins_with_compaction =
            !self.entries.is_empty() && self.kind_at(0) == Kind::Compaction;
        let start = start.max(usize::from(begins_with_compaction));
        (start..self.entries.len()).find(|&index| self.entries[index].path_index as usize >= wanted)
    }

    /// Finds the start of the turn that a cut divides. `None` if the cut is between turns, or if
    /// nothing is kept after it. The search ends at `start`.
    fn find_split_turn_start(&self, start: usize, cut: &Cut) -> Option<usize> {
        let keeps_any = cut.first_kept.is_some();
        if !keeps_any {
            return None;
        }
        let last_start = (start..=cut.index)
            .rev()
            .find(|&index| self.has_message_in_role(index, starts_turn))?;
        if last_start < cut.index {
            Some(last_start)
        } else {
            None
        }
    }

    /// Chooses the cut so that about `keep` tokens are kept, as pi does. The cut is at the index
    /// `start` or later; `None` if none is possible there.
    ///
    /// 1. Back from the end of the path until `keep` tokens are reached.
    /// 2. Forward to the next entry before which a cut is possible.
    /// 3. One entry forward, if `keep` tokens are reached, and only a failed attempt that was
    ///    undone follows that entry. So the entry is summarized, too.
    /// 4. Back over entries without messages, such as a change of the model. They are kept with
    ///    what follows them.
    fn choose_cut(&self, start: usize, keep: u64) -> io::Result<Option<usize>> {
        let end = self.entries.len();
        let is_possible_cut = |&index: &usize| self.has_message_in_role(index, can_cut_before);
        let Some(last_possible_cut) = (start..end).rfind(is_possible_cut) else {
            return Ok(None);
        };

        let budget_index = self.find_budget_index(start, keep)?;
        let search_start = budget_index.unwrap_or(start);
        // If no cut is possible after that, the last possible one is used, although it keeps more
        // tokens.
        let mut cut = (search_start..end)
            .find(is_possible_cut)
            .unwrap_or(last_possible_cut);

        // `cut` is the index of an entry, so `cut + 1` is at most the end, from which on there is
        // no attempt.
        if budget_index.is_some() && self.is_failed_attempt(cut + 1)? {
            cut += 1;
        }
        while cut > start
            && self.kind_at(cut - 1) != Kind::Compaction
            && self.has_no_message(cut - 1)
        {
            cut -= 1;
        }
        Ok(Some(cut))
    }

    /// Finds the last index from which on the messages have at least `keep` tokens, by their
    /// estimates. `None` if all messages from `start` on have fewer.
    fn find_budget_index(&self, start: usize, keep: u64) -> io::Result<Option<usize>> {
        let mut total = 0;
        for index in (start..self.entries.len()).rev() {
            let mut tokens = 0;
            for message in self.messages_of(index) {
                tokens += message.with_json(self.reader, tokens::estimate_message)?;
            }
            total += tokens;
            // As in pi, the entry has tokens, even if `keep` is 0.
            if tokens > 0 && total >= keep {
                return Ok(Some(index));
            }
        }
        Ok(None)
    }

    /// Whether the entries from `start` on are a failed attempt at an answer that was undone: edits
    /// omit all messages of the attempt, at least one of which is a response. If an edit in the
    /// attempt replaces the content of an entry before it, the attempt still has an effect, so it
    /// does not count.
    fn is_failed_attempt(&self, start: usize) -> io::Result<bool> {
        let attempt = start..self.entries.len();
        let Some(omitted_ids) = self.ids_if_all_omitted(attempt.clone()) else {
            return Ok(false);
        };
        for index in attempt {
            if self.kind_at(index) == Kind::ContextEdit
                && self.replaces_outside(index, &omitted_ids)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Returns the ids of the entries in `range` that have messages, if edits omit all of these
    /// messages. `None` if one is not omitted, if none of them is a response, or if a compaction is
    /// in the range.
    fn ids_if_all_omitted(&self, range: Range<usize>) -> Option<HashSet<Text<'_>>> {
        let session = self.reader.session();
        let mut omitted_ids = HashSet::default();
        let mut omits_response = false;
        for index in range {
            if self.kind_at(index) == Kind::Compaction {
                return None;
            }
            if !self.entries[index].has_model_messages {
                continue;
            }
            if !self.is_omitted(index) {
                return None;
            }
            let entry = self.entry_at(index);
            omitted_ids.insert(session.id(entry));
            omits_response |= session.is_message(entry, Role::Assistant);
        }
        if omits_response {
            Some(omitted_ids)
        } else {
            None
        }
    }

    /// Whether the edit at an index replaces the content of an entry that is not in `inside`, which
    /// has ids. An edit that omits its target replaces nothing.
    fn replaces_outside(&self, index: usize, inside: &HashSet<Text>) -> io::Result<bool> {
        self.reader.with_entry(self.entry_at(index), |line| {
            let [target, replacement] = content::find_members(line, ["targetId", "replacement"]);
            let omits = replacement.is_some_and(Raw::is_null);
            let target = target.and_then(Raw::text);
            let is_inside = target.is_some_and(|target| inside.contains(&target));
            !omits && !is_inside
        })
    }
}

/// Whether a cut is possible before a message in this role.
fn can_cut_before(role: Role) -> bool {
    role == Role::Assistant || starts_turn(role)
}

/// Whether a message in this role begins a turn: one that the user or an extension caused, or a
/// summary.
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
            .file_lists(&made.session);
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
