//! What a compaction would summarize, and where it would cut (`prepareCompaction`, with the
//! estimate that the agent uses for an unknown model).
//!
//! ```text
//! C  u  a  t  t  a  t  u  a  t  t  a        the path since the last compaction
//!    └── summarized ──┘└prefix┘└ kept ─     a cut inside the second turn, at its last `a`
//! ```
//!
//! A group is a message at which a cut may be, with the results that follow it. The cut keeps whole
//! groups: as many as fit, at least the last.

use super::message;
use super::{native, tokens};
use crate::agents::prepare::{FirstKept, Preparation};
use crate::session::Session;
use crate::session::content;
use crate::session::entry::{Entry, EntryIx, Kind, Role};
use crate::session::read::entry_reader::{EntryReader, Message};
use pisess_json::Raw;
use std::io;

/// Prepares a compaction at the end of `path`, which keeps what follows `from`; of a number of
/// tokens, fewer if the provider counted more than the estimate.
///
/// Returns `None` if there is nothing to compact: the path ends in a compaction, nothing precedes
/// the cut, or the entry at the cut has no id.
pub fn prepare(
    path: &[EntryIx],
    reader: &EntryReader,
    from: FirstKept,
) -> io::Result<Option<Preparation>> {
    let session = reader.session();
    if ends_compacted(path, reader)? {
        return Ok(None);
    }
    let mut preparation = Preparation::default();
    let start = start(path, reader, &mut preparation)?;
    let said = said(path, start, reader)?;
    let usage = tokens::last_counted(path, reader)?.map(|(_, usage)| usage);
    let scale = scale(usage, &said);
    let (cut, kept) = match from {
        FirstKept::Nothing => (said.len(), None),
        FirstKept::Entry(entry) => {
            let Some(place) = path.iter().position(|&ix| ix == entry) else {
                return Ok(None);
            };
            (said.partition_point(|said| said.place < place), Some(entry))
        }
        FirstKept::Within(tokens) => {
            let cut = choose(&said, session, budget(tokens as f64, scale));
            let Some(first) = said.get(cut) else {
                return Ok(None);
            };
            (cut, Some(first.message.entry))
        }
    };
    // The start of the turn that the cut splits.
    let starts = |said: &Said| starts_turn(session.entry(said.message.entry));
    let splits = said.get(cut).is_some_and(|said| !starts(said));
    let turn_start = said[..cut].iter().rposition(starts).filter(|_| splits);
    let mut messages: Vec<_> = said
        .into_iter()
        .take(cut)
        .map(|said| said.message)
        .collect();
    let prefix = turn_start.map_or(Vec::new(), |start| messages.split_off(start));
    let preparation = Preparation {
        first_kept: kept,
        is_split_turn: turn_start.is_some(),
        tokens_before: usage.map_or(0.0, |usage| usage.context),
        scale,
        messages_to_summarize: messages,
        turn_prefix_messages: prefix,
        ..preparation
    };
    preparation.completed(path, reader)
}

/// Whether the path ends in a compaction. One that a provider replays does not count: it need not
/// cover all messages before it.
fn ends_compacted(path: &[EntryIx], reader: &EntryReader) -> io::Result<bool> {
    let Some(&last) = path
        .last()
        .filter(|&&ix| reader.session().entry(ix).kind == Kind::Compaction)
    else {
        return Ok(false);
    };
    reader.with_entry(last, |line| {
        !content::truthy(line, "providerReplayThroughEntryId")
    })
}

/// Returns how many tokens the provider counted for each estimated one, at least 1.
fn scale(usage: Option<tokens::ContextUsage>, said: &[Said]) -> f64 {
    let estimate: u64 = said.iter().map(|said| said.tokens).sum();
    let ratio = usage
        .filter(|_| estimate > 0)
        .map_or(0.0, |usage| usage.prompt / estimate as f64);
    if ratio.is_finite() {
        ratio.max(1.0)
    } else {
        1.0
    }
}

/// Returns the number of estimated tokens to keep.
fn budget(keep: f64, scale: f64) -> f64 {
    if scale > 1.0 {
        (keep / scale).floor().max(1.0)
    } else {
        keep
    }
}

/// Returns the index on the path of the part to be summarized: after the last reset, starting with
/// the entries that the last compaction kept, from which `preparation` continues.
fn start(
    path: &[EntryIx],
    reader: &EntryReader,
    preparation: &mut Preparation,
) -> io::Result<usize> {
    let session = reader.session();
    let last = |kind| session.last_on(path, kind);
    let reset = last(Kind::ResetBoundary).map_or(0, |at| at + 1);
    let Some(previous) = last(Kind::Compaction).filter(|&at| at >= reset) else {
        return Ok(reset);
    };
    reader.with_entry(path[previous], |line| {
        preparation.continue_from(line, session);
        let place = |key| session.place_on(&path[..previous], &line.get_text(key)?);
        let through = place("providerReplayThroughEntryId").map(|through| through + 1);
        let start = if is_replayed(line.get("preserveData").unwrap_or(Raw::NULL)) {
            // The provider has everything that was kept; only what was appended since then is new.
            through.map(|through| reset.max(through))
        } else {
            let kept = place("firstKeptEntryId").filter(|&kept| kept >= reset);
            kept.or(through.filter(|_| native::through(line).is_some()))
        };
        start.unwrap_or(previous + 1)
    })
}

/// Whether a compaction carries its history as returned by OpenAI, in either of its forms.
fn is_replayed(preserved: Raw) -> bool {
    let Some(remote) = preserved.get("openaiRemoteCompaction") else {
        return false;
    };
    let names = ["provider", "replacementHistory", "compactionItem"];
    let [provider, history, item] = content::members(remote, names);
    let item = item.unwrap_or(Raw::NULL);
    let classic = content::is(item, "type", "compaction")
        && item.get("encrypted_content").is_some_and(Raw::is_string);
    let named = provider
        .and_then(Raw::text)
        .is_some_and(|provider| !provider.is_empty());
    history.is_some_and(Raw::is_array)
        && (named || classic || content::is(item, "type", "compaction_summary"))
}

/// A message before or after which the cut is.
struct Said {
    message: Message,
    tokens: u64,
    /// The index of its entry on the path.
    place: usize,
}

/// Returns the messages of a path from this index on.
fn said(path: &[EntryIx], start: usize, reader: &EntryReader) -> io::Result<Vec<Said>> {
    let session = reader.session();
    let mut said = Vec::new();
    for (place, &entry) in path.iter().enumerate().skip(start) {
        if session.entry(entry).kind == Kind::Compaction {
            continue;
        }
        let body = reader.with_entry(entry, |line| message::plain(line, session.entry(entry)))?;
        let Some(body) = body else { continue };
        let message = Message { entry, body };
        let tokens = message.with(reader, tokens::estimate)?;
        said.push(Said {
            message,
            tokens,
            place,
        });
    }
    Ok(said)
}

/// Returns the index of the first message that the agent would keep.
fn choose(said: &[Said], session: &Session, budget: f64) -> usize {
    let may_be_cut = |said: &Said| may_be_cut(session.entry(said.message.entry));
    let mut cut = said.iter().rposition(may_be_cut);
    let mut kept = 0;
    for (at, here) in said.iter().enumerate().rev() {
        kept += here.tokens;
        if may_be_cut(here) {
            if kept as f64 > budget {
                break;
            }
            cut = Some(at);
        }
    }
    cut.unwrap_or(0)
}

fn starts_turn(entry: &Entry) -> bool {
    matches!(
        (entry.kind, entry.role),
        (Kind::BranchSummary | Kind::CustomMessage, _)
            | (Kind::Message, Role::User | Role::BashExecution)
    )
}

fn may_be_cut(entry: &Entry) -> bool {
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
    fn what_the_last_compaction_kept_is_summarized_with_it() {
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
    fn what_a_native_snapshot_does_not_cover_is_summarized_next() {
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
