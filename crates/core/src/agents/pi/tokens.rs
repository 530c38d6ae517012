//! pi's estimate of messages and contexts, in tokens.
//!
//! If a provider has reported a count, it is used. Otherwise, a message has a quarter of its UTF-16
//! units, rounded up, as tokens.

use super::context::{self, Projection, message_bodies};
use super::system;
use crate::agents::agent::{context_build_budget, context_build_cost};
use crate::session::content;
use crate::session::entry::{EntryIx, Kind, Role};
use crate::session::read::entry_reader::{Body, ContextMessage, EntryReader};
use crate::session::read::record::{Block, Content, Member, MessageFacts, scan_message_facts};
use foldhash::{HashMap, HashSet};
use pisess_json::text::Text;
use pisess_json::{Raw, js, string};
use std::io;

/// The size that pi assumes for an image, in UTF-16 units.
const IMAGE_UNITS: u64 = 4800;
/// The number of UTF-16 units that count as one token.
const UNITS_PER_TOKEN: u64 = 4;

/// Estimates the tokens of a message, as [`estimate_scanned`] does.
pub fn estimate_message(message: Raw) -> u64 {
    let mut blocks = Vec::new();
    let facts = scan_message_facts(message, &mut blocks);
    estimate_scanned(&facts, &blocks)
}

/// Estimates the tokens of a message as pi's `estimateTokens` does: the UTF-16 units of its texts
/// and images, divided by `UNITS_PER_TOKEN` and rounded up. The role decides which members count;
/// in an unknown role, none does. `blocks` are the blocks of the message's content.
pub fn estimate_scanned(message: &MessageFacts, blocks: &[Block]) -> u64 {
    let units = match Role::from_string(message.role) {
        Role::System => content_units(message, blocks) + prompt_units(message),
        Role::User | Role::Custom | Role::ToolResult => content_units(message, blocks),
        Role::Assistant => blocks.iter().map(turn_block_units).sum(),
        Role::BashExecution => {
            let output = message.as_raw().get("output");
            content::string_len(message.get(Member::Command)) + content::string_len(output)
        }
        Role::BranchSummary | Role::CompactionSummary => {
            content::string_len(message.as_raw().get("summary"))
        }
        _ => 0,
    };
    units.div_ceil(UNITS_PER_TOKEN)
}

/// Returns the size of a context in tokens (pi's `estimateProjectedContextTokens`).
///
/// If a provider has counted since the last edit or compaction on the path, the result is its last
/// count plus the estimate of the messages after it. A count may be any JavaScript number.
///
/// Otherwise, the result is the estimate of all messages, in which all system messages count as the
/// one system prompt that they are combined into.
pub fn context_tokens(projection: &Projection) -> io::Result<f64> {
    context_tokens_with(projection, |message| {
        message.with_json(projection.reader, MessageSize::from_message)
    })
}

/// Computes [`context_tokens`]. `measure` returns the size of a message: several contexts share
/// messages, so a caller may have the sizes of some of them already.
///
/// ```text
/// user   assistant (the provider counted 900)   result   user
/// └─────────────────── 900 ─────────────────┘ + └ estimates ┘
/// ```
fn context_tokens_with(
    projection: &Projection,
    mut measure: impl FnMut(&ContextMessage) -> io::Result<MessageSize>,
) -> io::Result<f64> {
    let session = projection.reader.session();
    let last_change = projection
        .path
        .iter()
        .rposition(|&ix| changes_context(session.entry(ix).kind));

    // From the last message to the first, until a provider's count is found. It includes all
    // messages before it, so these are not read. This is the estimate of the messages after it.
    let mut trailing_estimate = 0;
    // The same without system messages; needed only if there is no count.
    let mut non_system_estimate = 0;
    for (index, projected) in projection.entries.iter().enumerate().rev() {
        // A count from before the change applies to another context.
        let is_after_change =
            last_change.is_none_or(|last_change| projected.path_index as usize > last_change);
        for message in projection.messages_of(index).iter().rev() {
            let size = measure(message)?;
            if is_after_change && let Some(usage) = size.usage {
                return Ok(usage + trailing_estimate as f64);
            }
            trailing_estimate += size.estimate;
            if context::message_role(session, message) != Role::System {
                non_system_estimate += size.estimate;
            }
        }
    }

    // There is no count, so all messages were estimated.
    let system_estimate = estimate_combined_system(projection)?;
    Ok((non_system_estimate + system_estimate) as f64)
}

/// Estimates the one message into which all system messages of a context are combined for the
/// model. It may be smaller than all of them: a later one can replace a tool of an earlier one.
fn estimate_combined_system(projection: &Projection) -> io::Result<u64> {
    let Some(system) = system::combine_system_messages(projection)? else {
        return Ok(0);
    };
    // The time in the message does not matter for its size.
    let message = system.to_message(b"0");
    Ok(estimate_message(Raw::from_checked(&message)))
}

/// Whether an entry of this type can change the context before it. Then earlier counts of a
/// provider no longer apply.
fn changes_context(kind: Kind) -> bool {
    matches!(kind, Kind::ContextEdit | Kind::Compaction)
}

/// The size of a message.
#[derive(Clone, Copy, Default)]
struct MessageSize {
    /// The number of tokens that the provider counted for the context up to the message; `None` if
    /// there is no such count.
    usage: Option<f64>,
    /// The estimate of the message alone, in tokens.
    estimate: u64,
}

impl MessageSize {
    fn from_message(message: Raw) -> Self {
        let mut blocks = Vec::new();
        let facts = scan_message_facts(message, &mut blocks);
        MessageSize {
            usage: provider_usage(&facts),
            estimate: estimate_scanned(&facts, &blocks),
        }
    }
}

/// Returns how many tokens the provider counted for the context up to and including an assistant
/// message. `None` if the turn failed or was aborted, or if the count is 0.
fn provider_usage(message: &MessageFacts) -> Option<f64> {
    let is_turn = Role::from_string(message.role) == Role::Assistant;
    let is_incomplete = message
        .get(Member::StopReason)
        .is_some_and(|reason| reason.is("aborted") || reason.is("error"));
    if !is_turn || is_incomplete {
        return None;
    }

    let tokens = total_tokens(message.get(Member::Usage)?);
    if tokens > 0.0 { Some(tokens) } else { None }
}

/// Returns the total of a provider's count in tokens, as both agents compute it: `totalTokens` or,
/// if that is missing or 0, the sum of the parts. Each may be any JavaScript number, and so may the
/// total.
pub fn total_tokens(usage: Raw) -> f64 {
    let names = ["totalTokens", "input", "output", "cacheRead", "cacheWrite"];
    let [total, input, output, cache_read, cache_write] = content::find_members(usage, names);
    match total.filter(|total| total.is_truthy()) {
        Some(total) => js::to_operand(Some(total)),
        None => {
            js::to_operand(input)
                + js::to_operand(output)
                + js::to_operand(cache_read)
                + js::to_operand(cache_write)
        }
    }
}

/// Returns the size of a message's content in UTF-16 units: of the string, or of its text blocks,
/// and of its image blocks at the size that pi assumes.
fn content_units(message: &MessageFacts, blocks: &[Block]) -> u64 {
    if let Content::Text(text) = message.content {
        return string::utf16_len(text.bytes) as u64;
    }
    let mut units = 0;
    for block in blocks {
        if block.is("text") {
            units += content::string_len(block.text);
        } else if block.is("image") {
            units += IMAGE_UNITS;
        }
    }
    units
}

/// Returns the size of a system message besides its content, in UTF-16 units: of the sections of
/// the prompt that are strings, and of the tools that it adds, as JSON.
fn prompt_units(message: &MessageFacts) -> u64 {
    let [sections, tools] = content::find_members(message.as_raw(), ["sections", "toolsAdded"]);
    let mut units = 0;
    for (_, section) in sections.map(js::object_entries).unwrap_or_default() {
        units += content::string_len(Some(section));
    }
    if let Some(tools) = tools.filter(|tools| tools.is_truthy()) {
        units += json_units(tools);
    }
    units
}

/// Returns the size of a block of an assistant message, in UTF-16 units. A call counts as the
/// tool's name and the arguments as JSON.
fn turn_block_units(block: &Block) -> u64 {
    if block.is("text") {
        content::string_len(block.text)
    } else if block.is("thinking") {
        content::string_len(block.thinking)
    } else if block.is_call() {
        content::string_len(block.name) + block.arguments.map_or(0, json_units)
    } else {
        0
    }
}

fn json_units(value: Raw) -> u64 {
    js::stringified_utf16_len(value) as u64
}

/// Returns the size of the context at each of `tips`, the ends of branches, in tokens.
///
/// For most tips, a `CountWalk` finds the size, which reads each entry at most once for all tips.
/// For the others, the context is built, which takes longer. So all such tips of a session share a
/// budget. Once it is used up, they are missing in the result.
pub fn context_sizes(tips: &[EntryIx], reader: &EntryReader) -> io::Result<HashMap<EntryIx, f64>> {
    let session = reader.session();
    let mut walk = CountWalk {
        reader,
        edited_ids: edited_ids(reader)?,
        counts: HashMap::default(),
        sizes: HashMap::default(),
    };
    let mut sizes = HashMap::with_capacity_and_hasher(tips.len(), Default::default());
    let mut budget = context_build_budget(session.entries.len());
    for &tip in tips {
        if let Some(count) = walk.count_context(tip)? {
            sizes.insert(tip, count.usage + count.trailing as f64);
            continue;
        }
        if budget == 0 {
            // The size at this tip remains unknown. The walk may still find the sizes at later
            // tips.
            continue;
        }

        let path = session.path(Some(tip));
        let projection = Projection::from_path(&path, reader)?;
        budget = budget.saturating_sub(context_build_cost(projection.entries.len(), path.len()));
        // The walk remembers the sizes of messages, which the contexts of several tips share.
        let size = context_tokens_with(&projection, |message| walk.measure_message(message))?;
        sizes.insert(tip, size);
    }
    Ok(sizes)
}

/// Returns the ids of the entries that are edited anywhere in the session.
fn edited_ids(reader: &EntryReader) -> io::Result<HashSet<Text<'static>>> {
    let session = reader.session();
    let mut ids = HashSet::default();
    for ix in session.entry_indexes() {
        if session.entry(ix).kind == Kind::ContextEdit {
            let target =
                reader.with_entry(ix, |line| line.get_text("targetId").map(Text::into_owned))?;
            ids.extend(target);
        }
    }
    Ok(ids)
}

/// The size of the context at an entry.
#[derive(Clone, Copy, Default)]
struct ContextCount {
    /// The nearest count of a provider above the entry, in tokens; 0 if there is none up to the
    /// root.
    usage: f64,
    /// The estimate of the messages after that count, in tokens; without a count, of all messages
    /// from the root on.
    trailing: u64,
}

impl ContextCount {
    /// Returns the size of the context at a child entry, whose message is added. `None` if the
    /// child's context has to be built: without a count, all system messages together count as one.
    fn add_child(self, child: MessageSize, is_system: bool) -> Option<Self> {
        if self.usage <= 0.0 && is_system {
            return None;
        }
        Some(ContextCount {
            usage: self.usage,
            trailing: self.trailing + child.estimate,
        })
    }
}

/// The entries at the end of a path at which the size of the context is not known yet.
struct UncountedEntries {
    /// The size at the entry above them; `None` if the context there has to be built.
    above: Option<ContextCount>,
    /// The entries, each with the size of its message, from the tip upwards.
    from_tip: Vec<(EntryIx, MessageSize)>,
}

/// Finds the sizes of contexts by walks from tips towards the root. Keeps what was read and found
/// for later walks.
struct CountWalk<'a> {
    reader: &'a EntryReader<'a>,
    /// The ids of the entries that are edited anywhere in the session.
    edited_ids: HashSet<Text<'static>>,
    /// The sizes at the entries that were visited; `None` where the context has to be built.
    counts: HashMap<EntryIx, Option<ContextCount>>,
    /// The sizes of stored messages.
    sizes: HashMap<EntryIx, MessageSize>,
}

impl CountWalk<'_> {
    /// Returns the size of the context at `tip`: the nearest count of a provider on its path, plus
    /// the estimate of the messages after it. Without a count, all messages from the root on are
    /// added up. The sizes at visited entries are kept for later walks.
    ///
    /// `None` if the context has to be built to find its size:
    ///
    /// - A compaction, an edit or an edited entry is nearer than the count. Then the messages of
    ///   the entries are not those of the context.
    /// - There is no count, and a system message is on the path. All system messages are combined
    ///   into one.
    fn count_context(&mut self, tip: EntryIx) -> io::Result<Option<ContextCount>> {
        let session = self.reader.session();

        let UncountedEntries { above, from_tip } = self.walk_up(tip)?;

        // Walk down again, and add up the messages. Where the context has to be built, the count is
        // `None`, and so are the counts below, up to the next count of a provider.
        let mut count = above;
        for (ix, size) in from_tip.into_iter().rev() {
            count = match (size.usage, count) {
                (Some(usage), _) => Some(ContextCount { usage, trailing: 0 }),
                (None, Some(above)) => {
                    let is_system = session.is_message(ix, Role::System);
                    above.add_child(size, is_system)
                }
                (None, None) => None,
            };
            self.counts.insert(ix, count);
        }
        Ok(count)
    }

    /// Walks up from a tip until the size at an entry is known: from an earlier walk, because a
    /// provider counted there, or because the context has to be built. Measures the messages on the
    /// way.
    fn walk_up(&mut self, tip: EntryIx) -> io::Result<UncountedEntries> {
        let session = self.reader.session();
        let mut from_tip = Vec::new();
        for ix in session.ancestors(Some(tip)) {
            if let Some(&above) = self.counts.get(&ix) {
                return Ok(UncountedEntries { above, from_tip });
            }
            if self.is_or_has_change(ix) {
                let above = None;
                self.counts.insert(ix, above);
                return Ok(UncountedEntries { above, from_tip });
            }
            let size = self.measure_entry(ix)?;
            from_tip.push((ix, size));
            if size.usage.is_some() {
                break;
            }
        }
        // Above a count of a provider, the size is not needed. Above the root, it is 0.
        Ok(UncountedEntries {
            above: Some(ContextCount::default()),
            from_tip,
        })
    }

    /// Whether an entry can change the context before it, or is edited anywhere in the session.
    fn is_or_has_change(&self, ix: EntryIx) -> bool {
        let session = self.reader.session();
        changes_context(session.entry(ix).kind)
            || !self.edited_ids.is_empty() && self.edited_ids.contains(&session.id(ix))
    }

    /// Measures the message of an entry. The entry is not a compaction, which may have two
    /// messages.
    fn measure_entry(&mut self, ix: EntryIx) -> io::Result<MessageSize> {
        match message_bodies(ix, self.reader)?.message {
            Some(body) => self.measure_message(&ContextMessage { entry: ix, body }),
            None => Ok(MessageSize::default()),
        }
    }

    /// Measures a message. The size of a stored message is kept; a built one may be different on
    /// another path.
    fn measure_message(&mut self, message: &ContextMessage) -> io::Result<MessageSize> {
        if matches!(message.body, Body::Built(_)) {
            return message.with_json(self.reader, MessageSize::from_message);
        }
        if let Some(&known) = self.sizes.get(&message.entry) {
            return Ok(known);
        }
        let size = message.with_json(self.reader, MessageSize::from_message)?;
        self.sizes.insert(message.entry, size);
        Ok(size)
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
                estimate_message(Raw::parse(message.as_bytes()).unwrap()),
                tokens,
                "{message}"
            );
        }
    }

    fn of_context(entries: &[String]) -> f64 {
        let made = chain(entries);
        super::context_tokens(&Projection::from_path(&made.path(), &made.reader()).unwrap())
            .unwrap()
    }

    fn counted(usage: &str, stop_reason: &str) -> String {
        says(
            "assistant",
            &format!(r#""content":[],"usage":{usage},"stopReason":"{stop_reason}""#),
        )
    }

    #[test]
    fn context_tokens_use_the_count_of_the_provider() {
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
