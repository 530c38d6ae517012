//! Decides where a compaction would cut the conversation, and collects what it would summarize
//! (`prepareCompaction`, with the estimate that the agent uses for an unknown model).
//!
//! ```text
//! C  u  a  t  t  a  t  u  a  t  t  a        the path since the last compaction
//!    └── summarized ──┘└prefix┘└ kept ─     a cut inside the second turn, at its last `a`
//! ```
//!
//! C is a compaction, u a message of the user, a a message of the model, t a tool result. A group
//! is a message before which a cut is possible, with the results that follow it. The cut keeps
//! whole groups: as many as fit into a budget, at least the last one.

use super::message;
use super::{native, tokens};
use crate::agents::prepare::{Cut, FirstKept, Preparation};
use crate::session::Session;
use crate::session::content;
use crate::session::entry::{Entry, EntryIx, Kind, Role};
use crate::session::read::entry_reader::{ContextMessage, EntryReader};
use pisess_json::Raw;
use std::io;

/// Prepares a compaction at the end of `path`. `from` decides what the compaction keeps. If the
/// provider counted more tokens than the estimate, [`FirstKept::RecentTokens`] keeps
/// correspondingly fewer estimated tokens.
///
/// Returns `None` if there is nothing to compact: the path ends in a compaction, no cut is
/// possible, nothing precedes the cut, or the entry at the cut has no id.
pub fn prepare_compaction(
    path: &[EntryIx],
    reader: &EntryReader,
    from: FirstKept,
) -> io::Result<Option<Preparation>> {
    let session = reader.session();
    if ends_in_compaction(path, reader)? {
        return Ok(None);
    }

    let mut preparation = Preparation::default();
    // The list of messages starts after the last reset, or where the previous compaction left off.
    let reset = session.last_index_of_kind(path, Kind::ResetBoundary);
    let after_reset = reset.map_or(0, |reset| reset + 1);
    let start = match find_previous_compaction(path, after_reset, session) {
        Some(previous) => {
            let kept_start = reader.with_entry(path[previous], |line| {
                preparation.continue_from(line, session);
                find_kept_start(line, &path[..previous], after_reset, session)
            })?;
            kept_start.unwrap_or(previous + 1)
        }
        None => after_reset,
    };
    let candidates = Candidates::read(path, start, reader)?;
    let usage = tokens::find_last_count(path, reader)?.map(|count| count.usage);
    let token_ratio = candidates.tokens_per_estimate(usage);

    let Some(cut) = candidates.find_cut(from, token_ratio) else {
        return Ok(None);
    };
    let turn_start = candidates.find_split_turn_start(cut.index);
    // The beginning of a divided turn is summarized apart from the history before it.
    let before_cut = candidates.list.into_iter().take(cut.index);
    let mut messages: Vec<_> = before_cut.map(|candidate| candidate.message).collect();
    let turn_prefix = match turn_start {
        Some(turn_start) => messages.split_off(turn_start),
        None => Vec::new(),
    };

    preparation.first_kept = cut.first_kept;
    preparation.is_split_turn = turn_start.is_some();
    preparation.tokens_before = usage.map_or(0.0, |usage| usage.context);
    preparation.token_ratio = token_ratio;
    preparation.messages_to_summarize = messages;
    preparation.turn_prefix_messages = turn_prefix;
    preparation.finish(path, reader)
}

/// Whether the path ends in a compaction. A compaction that a provider replays does not count,
/// because it need not cover all messages before it.
fn ends_in_compaction(path: &[EntryIx], reader: &EntryReader) -> io::Result<bool> {
    let Some(&last) = path.last() else {
        return Ok(false);
    };
    if reader.session().entry(last).kind != Kind::Compaction {
        return Ok(false);
    }
    reader.with_entry(last, |line| {
        !content::has_truthy(line, "providerReplayThroughEntryId")
    })
}

/// Converts a number of tokens to keep into estimated tokens. A ratio over 1 reduces the number,
/// but not below 1.
fn estimate_budget(keep: f64, token_ratio: f64) -> f64 {
    if token_ratio > 1.0 {
        (keep / token_ratio).floor().max(1.0)
    } else {
        keep
    }
}

/// Finds the last compaction, and returns its index on the path; `None` if there is none, or if a
/// reset follows it. `after_reset` is the index of the entry after the last reset; 0 without one.
fn find_previous_compaction(
    path: &[EntryIx],
    after_reset: usize,
    session: &Session,
) -> Option<usize> {
    let compaction = session.last_index_of_kind(path, Kind::Compaction)?;
    // A reset clears the context, and with it the summary.
    let is_in_effect = compaction >= after_reset;
    if is_in_effect { Some(compaction) } else { None }
}

/// Returns the index of the first entry that the previous compaction kept, which the next one may
/// summarize; `None` if its summary covers all of `above`, the path before that compaction.
///
/// `line` is the line of the previous compaction. `after_reset` is the index of the entry after the
/// last reset, with which the user clears the context.
fn find_kept_start(
    line: Raw,
    above: &[EntryIx],
    after_reset: usize,
    session: &Session,
) -> Option<usize> {
    let index_of_member = |key: &str| session.index_on_path(above, &line.get_text(key)?);
    match SummaryKind::of_compaction(line) {
        // The history also covers the entries that the compaction names as kept. What follows it,
        // but precedes the reset, was cleared.
        SummaryKind::OpenAiHistory => {
            let last_covered = index_of_member("providerReplayThroughEntryId")?;
            Some(after_reset.max(last_covered + 1))
        }
        // Unlike the other two, this is not compared with the reset.
        SummaryKind::AnthropicSnapshot => {
            let last_covered = index_of_member("providerReplayThroughEntryId")?;
            Some(last_covered + 1)
        }
        SummaryKind::Text => {
            let first_kept = index_of_member("firstKeptEntryId")?;
            let is_cleared = first_kept < after_reset;
            if is_cleared { None } else { Some(first_kept) }
        }
    }
}

/// What represents the entries that a compaction has covered.
enum SummaryKind {
    /// The history that OpenAI returned for them, which is replayed to it.
    OpenAiHistory,
    /// A snapshot that Anthropic wrote of them.
    AnthropicSnapshot,
    /// A summary as text. The compaction names the first entry that it keeps.
    Text,
}

impl SummaryKind {
    /// Returns the kind of the compaction on a line. OpenAI's history has precedence.
    fn of_compaction(line: Raw) -> SummaryKind {
        let preserved = line.get("preserveData").unwrap_or(Raw::NULL);
        if has_provider_history(preserved) {
            SummaryKind::OpenAiHistory
        } else if native::last_covered_id(line).is_some() {
            SummaryKind::AnthropicSnapshot
        } else {
            SummaryKind::Text
        }
    }
}

/// Whether a compaction contains the history that OpenAI returned for it, which later requests
/// replay. `preserved` is its `preserveData`. Beside the list `replacementHistory`, one of these
/// must be stored:
///
/// - the name of the provider;
/// - an item of the type `compaction` with encrypted content;
/// - an item of the type `compaction_summary`.
fn has_provider_history(preserved: Raw) -> bool {
    let Some(remote) = preserved.get("openaiRemoteCompaction") else {
        return false;
    };
    let names = ["provider", "replacementHistory", "compactionItem"];
    let [provider, history, item] = content::find_members(remote, names);
    if !history.is_some_and(Raw::is_array) {
        return false;
    }

    let provider = provider.and_then(Raw::text);
    let names_provider = provider.is_some_and(|provider| !provider.is_empty());
    let item = item.unwrap_or(Raw::NULL);
    let has_encrypted_item = content::member_is(item, "type", "compaction")
        && item.get("encrypted_content").is_some_and(Raw::is_string);
    let has_summary_item = content::member_is(item, "type", "compaction_summary");
    names_provider || has_encrypted_item || has_summary_item
}

/// A message that the compaction may summarize or keep.
struct Candidate {
    message: ContextMessage,
    /// The estimate of the message, in tokens.
    tokens: u64,
    /// The index of the message's entry on the path.
    path_index: usize,
}

/// The messages that the next compaction may summarize or keep.
struct Candidates<'a> {
    session: &'a Session,
    path: &'a [EntryIx],
    /// In the order of the path.
    list: Vec<Candidate>,
}

impl<'a> Candidates<'a> {
    /// Reads the messages of the path from the index `start` on, except summaries of compactions.
    fn read(path: &'a [EntryIx], start: usize, reader: &'a EntryReader) -> io::Result<Self> {
        let session = reader.session();
        let mut list = Vec::new();
        for (path_index, &ix) in path.iter().enumerate().skip(start) {
            let entry = session.entry(ix);
            // The previous summary is not summarized again: the new one is asked to continue it.
            if entry.kind == Kind::Compaction {
                continue;
            }
            let Some(body) =
                reader.with_entry(ix, |line| message::body_for_summary(line, entry))?
            else {
                continue;
            };
            let message = ContextMessage { entry: ix, body };
            let tokens = message.with_json(reader, tokens::estimate_message)?;
            list.push(Candidate {
                message,
                tokens,
                path_index,
            });
        }
        Ok(Candidates {
            session,
            path,
            list,
        })
    }

    /// Returns by which factor the provider counted more tokens for the context than the estimates
    /// of its messages add up to. At least 1, because the agent corrects an estimate only upwards;
    /// also 1 if there is no count or no message.
    fn tokens_per_estimate(&self, usage: Option<tokens::ContextUsage>) -> f64 {
        let Some(usage) = usage else {
            return 1.0;
        };
        let estimated_tokens: u64 = self.list.iter().map(|candidate| candidate.tokens).sum();
        if estimated_tokens == 0 {
            return 1.0;
        }
        let ratio = usage.prompt / estimated_tokens as f64;
        // The count is from the file, and may be any JavaScript number, also NaN or infinite.
        if ratio.is_finite() {
            ratio.max(1.0)
        } else {
            1.0
        }
    }

    /// Finds the cut that `from` asks for. `token_ratio` is the result of
    /// [`tokens_per_estimate`](Self::tokens_per_estimate).
    ///
    /// `None` if the entry that `from` names is not on the path. Also `None` if recent messages are
    /// to be kept, but there are no candidates.
    fn find_cut(&self, from: FirstKept, token_ratio: f64) -> Option<Cut> {
        match from {
            FirstKept::Nothing => Some(Cut {
                index: self.list.len(),
                first_kept: None,
            }),
            FirstKept::Entry(entry) => {
                let path_index = self.path.iter().position(|&ix| ix == entry)?;
                let is_before = |candidate: &Candidate| candidate.path_index < path_index;
                Some(Cut {
                    // The first candidate at the entry or after it: the entry may have no message.
                    index: self.list.partition_point(is_before),
                    first_kept: Some(entry),
                })
            }
            FirstKept::RecentTokens(tokens) => {
                let budget = estimate_budget(tokens as f64, token_ratio);
                let index = self.find_budget_cut(budget);
                Some(Cut {
                    index,
                    first_kept: Some(self.list.get(index)?.message.entry),
                })
            }
        }
    }

    /// Returns the index of the first message to keep, so that as many messages as possible are
    /// kept within the budget, in estimated tokens. A cut is only possible between groups: a
    /// message before which [`can_cut_before`] allows a cut, and the messages after it up to the
    /// next such message.
    ///
    /// The last group is kept even if it does not fit. Without any group, everything is kept.
    fn find_budget_cut(&self, budget: f64) -> usize {
        let mut chosen_cut = None;
        let mut kept_tokens = 0;
        // From the newest message, to keep one more group each time.
        for (index, candidate) in self.list.iter().enumerate().rev() {
            kept_tokens += candidate.tokens;
            if !can_cut_before(self.session.entry(candidate.message.entry)) {
                // A cut here would separate, for example, a result from its call. The group begins
                // earlier.
                continue;
            }
            let fits = kept_tokens as f64 <= budget;
            let is_last_group = chosen_cut.is_none();
            if fits || is_last_group {
                chosen_cut = Some(index);
            }
            if !fits {
                break;
            }
        }
        chosen_cut.unwrap_or(0)
    }

    /// Finds the start of the turn that a cut before the message at `cut` divides. `None` if the
    /// cut is between turns.
    fn find_split_turn_start(&self, cut: usize) -> Option<usize> {
        let starts =
            |candidate: &Candidate| starts_turn(self.session.entry(candidate.message.entry));
        let first_kept = self.list.get(cut)?;
        if starts(first_kept) {
            return None;
        }
        self.list[..cut].iter().rposition(starts)
    }
}

/// Whether an entry begins a turn: a message or a command of the user, a `custom_message`, or a
/// branch summary.
fn starts_turn(entry: &Entry) -> bool {
    matches!(
        (entry.kind, entry.role),
        (Kind::BranchSummary | Kind::CustomMessage, _)
            | (Kind::Message, Role::User | Role::BashExecution)
    )
}

/// Whether a cut is possible before an entry. A cut may be at the start of a turn or, inside a
/// turn, before a message of the model or a hook, or before a summary. It cannot be before a tool
/// result, which must follow its call.
fn can_cut_before(entry: &Entry) -> bool {
    let is_inside_turn = matches!(
        entry.role,
        Role::Assistant | Role::HookMessage | Role::BranchSummary | Role::CompactionSummary
    );
    starts_turn(entry) || entry.kind == Kind::Message && is_inside_turn
}

#[cfg(test)]
mod tests {
    use crate::agents::pi::testing::{self, Sample, assistant, call, compacted, result, user};

    fn chain(entries: &[String]) -> Sample {
        testing::chain(entries).of_oh_my_pi()
    }

    fn turns() -> Sample {
        chain(&[
            user("a"),
            assistant("b"),
            user("c"),
            call("read", "src/x.ts:1-5"),
            result("dddd"),
            assistant("e"),
        ])
    }

    #[test]
    fn whole_groups_are_kept_as_far_as_they_fit() {
        let made = turns();
        assert_eq!(made.cut(1, None), "e0 e1 | e2 e3 e4 | e5");
        let read = made.prepared(1, None).unwrap().file_ops.read;
        assert!(read.keys().eq(["src/x.ts"]));
        assert_eq!(made.cut(10, None), "e0 e1 | e2");
        assert_eq!(made.cut(20_000, None), "nothing");
    }

    #[test]
    fn the_cut_may_be_given() {
        let made = turns();
        assert_eq!(made.cut(1, Some("e2")), "e0 e1 | e2");
        assert_eq!(made.cut(1, Some("e3")), "e0 e1 | e2 | e3");
        assert_eq!(made.cut(1, Some("none")), "e0 e1 e2 e3 e4 e5 | none");
        assert_eq!(made.cut(1, Some("e0")), "nothing");
    }

    #[test]
    fn compaction_includes_what_the_last_one_kept() {
        let files = r#","details":{"readFiles":["r:raw"],"modifiedFiles":["m"]}"#;
        let made = chain(&[
            user("a"),
            user("b"),
            compacted("e1", files),
            user("c"),
            user("d"),
        ]);
        assert_eq!(made.cut(1, None), "e1 e3 | e4");
        let preparation = made.prepared(1, None).unwrap();
        assert_eq!(preparation.previous_summary.unwrap(), "S");
        assert!(preparation.file_ops.read.keys().eq(["r"]));
        assert!(preparation.file_ops.edited.keys().eq(["m"]));
        assert_eq!(
            chain(&[user("a"), compacted("e0", "")]).cut(1, None),
            "nothing"
        );
    }

    #[test]
    fn compaction_includes_what_a_native_snapshot_does_not_cover() {
        let through = r#","providerReplayThroughEntryId":"e0""#;
        let made = chain(&[
            user("a"),
            user("b"),
            compacted("", through),
            user("c"),
            user("d"),
        ]);
        assert_eq!(made.cut(1, None), "e1 e3 | e4");
    }

    #[test]
    fn a_reset_ends_what_is_behind_it() {
        let reset = r#""type":"reset_boundary""#.to_owned();
        let made = chain(&[user("a"), compacted("e0", ""), reset, user("b"), user("c")]);
        assert_eq!(made.cut(1, None), "e3 | e4");
        assert_eq!(made.prepared(1, None).unwrap().previous_summary, None);
    }
}
