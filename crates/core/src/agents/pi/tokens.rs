//! pi's estimate of messages and contexts.
//!
//! An estimate is a quarter of the UTF-16 units, rounded up for each message, unless the provider
//! has reported a count.

use super::context::{self, Projection, speak};
use super::system;
use crate::agents::agent::{build_budget, build_cost};
use crate::session::content;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::{Body, EntryReader, Message};
use foldhash::{HashMap, HashSet};
use pisess_json::text::Text;
use pisess_json::{Raw, js};
use std::collections::hash_map::Entry;
use std::io;

/// The size that pi assumes for an image, in UTF-16 units.
const IMAGE_UNITS: u64 = 4800;
const UNITS_PER_TOKEN: u64 = 4;

/// Returns the tokens of a message (pi's `estimateTokens`); 0 for roles pi does not know.
pub fn estimate(message: Raw) -> u64 {
    let names = [
        "role",
        "content",
        "sections",
        "toolsAdded",
        "command",
        "output",
        "summary",
    ];
    let [role, content, sections, tools, command, output, summary] =
        content::members(message, names);
    let role = Role::of(role);
    let units = match role {
        Role::System => {
            let texts = sections.map(js::entries).unwrap_or_default();
            let units: u64 = texts
                .into_iter()
                .map(|(_, text)| content::length(Some(text)))
                .sum();
            content_units(content)
                + units
                + tools
                    .filter(|tools| tools.is_truthy())
                    .map_or(0, json_units)
        }
        Role::User | Role::Custom | Role::ToolResult => content_units(content),
        Role::Assistant => content.map_or(0, turn_units),
        Role::BashExecution => content::length(command) + content::length(output),
        Role::BranchSummary | Role::CompactionSummary => content::length(summary),
        _ => 0,
    };
    units.div_ceil(UNITS_PER_TOKEN)
}

/// Returns the tokens of a context (pi's `estimateProjectedContextTokens`). A provider's count is
/// used until an edit or a compaction changes the context before it; it may be any JavaScript
/// number.
pub fn context(projection: &Projection) -> io::Result<f64> {
    context_by(projection, |message| {
        message.with(projection.reader, count_and_estimate)
    })
}

/// Returns the same, given what `measure` returns for each message.
fn context_by(
    projection: &Projection,
    mut measure: impl FnMut(&Message) -> io::Result<Measure>,
) -> io::Result<f64> {
    let session = projection.reader.session();
    let changes =
        |&ix: &EntryIx| matches!(session.entry(ix).kind, Kind::ContextEdit | Kind::Compaction);
    let changed = projection.path.iter().rposition(changes);
    // The estimate of what follows a count, and that of the whole context, in which the prompt in
    // effect counts once.
    let (mut trailing, mut whole) = (0, 0);
    for (index, projected) in projection.entries.iter().enumerate().rev() {
        let is_valid = changed.is_none_or(|changed| projected.place as usize > changed);
        for message in projection.messages_of(index).iter().rev() {
            let (usage, tokens) = measure(message)?;
            if let Some(usage) = usage.filter(|_| is_valid) {
                return Ok(usage + trailing as f64);
            }
            trailing += tokens;
            whole += if context::role(session, message) == Role::System {
                0
            } else {
                tokens
            };
        }
    }
    let system = system::current(projection)?;
    Ok((whole + system.map_or(0, |system| estimate(Raw::checked(&system.message(b"0"))))) as f64)
}

/// A provider's count of the context up to a message, and the estimate of the message.
type Measure = (Option<f64>, u64);

fn count_and_estimate(message: Raw) -> Measure {
    (usage(message), estimate(message))
}

/// Returns the provider's count for a response that was completed.
fn usage(message: Raw) -> Option<f64> {
    let [role, stop_reason, usage] = content::members(message, ["role", "stopReason", "usage"]);
    let is = |value: Option<Raw>, text| value.is_some_and(|value| value.is(text));
    if !is(role, "assistant") || is(stop_reason, "aborted") || is(stop_reason, "error") {
        return None;
    }
    let tokens = total(usage?);
    (tokens > 0.0).then_some(tokens)
}

/// Returns the total of a provider's count, as both agents compute it: any JavaScript number.
pub fn total(usage: Raw) -> f64 {
    let names = ["totalTokens", "input", "output", "cacheRead", "cacheWrite"];
    let [total, input, output, cache_read, cache_write] = content::members(usage, names);
    match total.filter(|total| total.is_truthy()) {
        Some(total) => js::operand(Some(total)),
        None => {
            js::operand(input)
                + js::operand(output)
                + js::operand(cache_read)
                + js::operand(cache_write)
        }
    }
}

/// Returns the size of a string, or of text and image blocks.
fn content_units(content: Option<Raw>) -> u64 {
    let Some(content) = content else {
        return 0;
    };
    let mut units = content::length(Some(content));
    content::each_item_members(content, ["type", "text"], |[kind, text]| {
        let Some(kind) = kind else {
            return;
        };
        if kind.is("text") {
            units += content::length(text);
        } else if kind.is("image") {
            units += IMAGE_UNITS;
        }
    });
    units
}

/// Returns the size of the blocks of an assistant message.
fn turn_units(content: Raw) -> u64 {
    let names = ["type", "text", "thinking", "name", "arguments"];
    let mut units = 0;
    content::each_item_members(content, names, |[kind, text, thinking, name, arguments]| {
        let Some(kind) = kind else {
            return;
        };
        if kind.is("text") {
            units += content::length(text);
        } else if kind.is("thinking") {
            units += content::length(thinking);
        } else if kind.is("toolCall") {
            units += content::length(name) + arguments.map_or(0, json_units);
        }
    });
    units
}

fn json_units(value: Raw) -> u64 {
    js::stringify(value).utf16_len() as u64
}

/// Returns the size of the context at each of `tips`, in tokens, except those that would take too
/// long.
///
/// If a provider has counted since the last change, its count is used: usually the tip is the
/// response that it counted, and only the tips are read. A path without a count, change and system
/// message is summed up from its root. In both cases each entry is read once. For other tips, the
/// size is computed for the path.
pub fn sizes(tips: &[EntryIx], reader: &EntryReader) -> io::Result<HashMap<EntryIx, f64>> {
    let session = reader.session();
    let mut walk = Walk {
        reader,
        edited: edited(reader)?,
        counts: HashMap::default(),
        measures: HashMap::default(),
    };
    let mut sizes = HashMap::with_capacity_and_hasher(tips.len(), Default::default());
    let mut budget = build_budget(session.entries.len());
    for &tip in tips {
        let size = match walk.count_at(tip)? {
            Some((usage, since)) => usage + since as f64,
            None if budget == 0 => continue,
            None => {
                let path = session.path(Some(tip));
                let projection = Projection::of(&path, reader)?;
                budget = budget.saturating_sub(build_cost(projection.entries.len(), path.len()));
                context_by(&projection, |message| walk.measure(message))?
            }
        };
        sizes.insert(tip, size);
    }
    Ok(sizes)
}

/// Returns the ids of the entries that edits change.
fn edited(reader: &EntryReader) -> io::Result<HashSet<Text<'static>>> {
    let session = reader.session();
    let edits = session
        .all()
        .filter(|&ix| session.entry(ix).kind == Kind::ContextEdit);
    let target = |ix| {
        reader
            .with_entry(ix, |line| line.get_text("targetId").map(Text::into_owned))
            .transpose()
    };
    edits.filter_map(target).collect()
}

/// A provider's count, or 0 at the root, and the estimate of what follows.
type Count = (f64, u64);

/// What was read on the way up from tips.
struct Walk<'a> {
    reader: &'a EntryReader<'a>,
    edited: HashSet<Text<'static>>,
    /// The counts at the entries read so far, which are not read again.
    counts: HashMap<EntryIx, Option<Count>>,
    /// The counts and estimates of stored messages.
    measures: HashMap<EntryIx, Measure>,
}

impl Walk<'_> {
    /// Returns the nearest count above `tip`, unless a compaction, an edit or an edited entry is
    /// nearer: an edit can change what precedes or follows it. The root is a count, too, unless a
    /// system message is nearer: together, those count once.
    fn count_at(&mut self, tip: EntryIx) -> io::Result<Option<Count>> {
        let session = self.reader.session();
        let (mut counted, mut below) = (Some((0.0, 0)), Vec::new());
        for ix in session.upwards(Some(tip)) {
            if let Some(&count) = self.counts.get(&ix) {
                counted = count;
                break;
            }
            let is_change = matches!(session.entry(ix).kind, Kind::Compaction | Kind::ContextEdit)
                || !self.edited.is_empty() && self.edited.contains(&session.id(ix));
            if is_change {
                self.counts.insert(ix, None);
                counted = None;
                break;
            }
            let mut messages = Vec::new();
            speak(ix, None, self.reader, &mut messages)?;
            let read = messages
                .first()
                .map(|message| self.measure(message))
                .transpose()?;
            let (usage, estimate) = read.unwrap_or_default();
            below.push((ix, usage, estimate));
            if usage.is_some() {
                break;
            }
        }
        for (ix, usage, estimate) in below.into_iter().rev() {
            let holds = |(usage, _): &Count| *usage > 0.0 || !session.is_message(ix, Role::System);
            let sum = counted
                .filter(holds)
                .map(|(usage, since)| (usage, since + estimate));
            counted = usage.map(|usage| (usage, 0)).or(sum);
            self.counts.insert(ix, counted);
        }
        Ok(counted)
    }

    fn measure(&mut self, message: &Message) -> io::Result<Measure> {
        // Only a stored message is the same on all paths.
        match (&message.body, self.measures.entry(message.entry)) {
            (Body::Stored, Entry::Occupied(known)) => Ok(*known.get()),
            (Body::Stored, Entry::Vacant(new)) => {
                Ok(*new.insert(message.with(self.reader, count_and_estimate)?))
            }
            (Body::Built(_), _) => message.with(self.reader, count_and_estimate),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::pi::testing::*;

    #[test]
    fn a_token_is_four_units() {
        for (message, tokens) in [
            (r#"{"role":"user","content":"a😀bc"}"#, 2),
            (
                r#"{"role":"toolResult","content":[{"type":"image"},{"type":"text","text":"a"}]}"#,
                1201,
            ),
            (
                r#"{"role":"assistant","content":[{"type":"thinking","thinking":"abcd"},{"type":"toolCall","name":"ab","arguments":{"a":1.0}}]}"#,
                4,
            ),
            (
                r#"{"role":"system","content":"ab","sections":{"x":"cd","y":null},"toolsAdded":[1]}"#,
                2,
            ),
            (
                r#"{"role":"bashExecution","command":"ab","output":"cde"}"#,
                2,
            ),
            (r#"{"role":"developer","content":"abcd"}"#, 0),
        ] {
            assert_eq!(
                estimate(Raw::parse(message.as_bytes()).unwrap()),
                tokens,
                "{message}"
            );
        }
    }

    fn of_context(entries: &[String]) -> f64 {
        let made = chain(entries);
        super::context(&Projection::of(&made.path(), &made.reader()).unwrap()).unwrap()
    }

    fn counted(usage: &str, stop_reason: &str) -> String {
        says(
            "assistant",
            &format!(r#""content":[],"usage":{usage},"stopReason":"{stop_reason}""#),
        )
    }

    #[test]
    fn what_the_provider_counted_is_believed() {
        let total = r#"{"totalTokens":100}"#;
        assert_eq!(of_context(&[counted(total, "stop"), user("abcd")]), 101.0);
        let parts = r#"{"totalTokens":0,"input":1,"output":2,"cacheRead":3,"cacheWrite":null}"#;
        assert_eq!(of_context(&[counted(parts, "stop")]), 6.0);
        for (usage, stop_reason) in [
            (total, "error"),
            (total, "aborted"),
            (r#"{"input":5}"#, "stop"),
        ] {
            assert_eq!(
                of_context(&[user("abcd"), counted(usage, stop_reason)]),
                1.0
            );
        }
    }

    #[test]
    fn an_edit_or_a_compaction_makes_it_stale() {
        let count = counted(r#"{"totalTokens":100}"#, "stop");
        assert_eq!(
            of_context(&[user("abcd"), count.clone(), edit("e9", "null")]),
            1.0
        );
        assert_eq!(
            of_context(&[user("abcd"), count.clone(), compacted("e0", "")]),
            2.0
        );
        assert_eq!(of_context(&[edit("e9", "null"), count]), 100.0);
    }

    #[test]
    fn system_messages_count_as_the_prompt_in_force() {
        let set = |text: &str| {
            says(
                "system",
                &format!(r#""content":"","sections":{{"a":"{text}"}},"timestamp":1"#),
            )
        };
        assert_eq!(
            of_context(&[set("12345678"), set("1234"), user("abcd")]),
            2.0
        );
    }
}
