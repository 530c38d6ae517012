//! oh-my-pi's estimate of messages and contexts, without the tokenizer of a model. A text has a
//! quarter of its UTF-8 bytes, rounded up, as tokens. A picture has a fixed number.

use crate::agents::pi::tokens::total_tokens;
use crate::session::content;
use crate::session::entry::{EntryIx, Role};
use crate::session::read::entry_reader::EntryReader;
use crate::session::read::record::{Block, Content, Member, MessageFacts, scan_message_facts};
use pisess_json::text::Text;
use pisess_json::{Raw, js};
use std::io;

/// The number of tokens of a picture.
const IMAGE_TOKENS: u64 = 1200;
/// The number of tokens of a picture of archived text.
const FRAME_TOKENS: u64 = 5024;
/// The number of UTF-8 bytes that count as one token.
const BYTES_PER_TOKEN: u64 = 4;

/// Estimates the tokens of a message, as [`estimate_scanned`] does.
pub fn estimate_message(message: Raw) -> u64 {
    let mut blocks = Vec::new();
    let facts = scan_message_facts(message, &mut blocks);
    estimate_scanned(&facts, &blocks)
}

/// Estimates the tokens of a message as the agent does for an unknown model
/// (`Tokenizer.countMessage`). The role decides which members count; in an unknown role, none does.
/// `blocks` are the blocks of the message's content.
pub fn estimate_scanned(message: &MessageFacts, blocks: &[Block]) -> u64 {
    match Role::from_string(message.role) {
        Role::BashExecution => {
            let output = message.as_raw().get("output");
            text_tokens(message.get(Member::Command)) + text_tokens(output)
        }
        Role::User | Role::Developer | Role::Custom | Role::HookMessage | Role::ToolResult => {
            match message.content {
                Content::Text(text) => byte_tokens(text.text().as_bytes().len()),
                _ => blocks.iter().map(input_block_tokens).sum(),
            }
        }
        Role::Assistant => blocks.iter().map(turn_block_tokens).sum(),
        Role::BranchSummary => text_tokens(message.as_raw().get("summary")),
        Role::CompactionSummary => compaction_tokens(message.as_raw()),
        _ => 0,
    }
}

/// Estimates the tokens of the summary of a compaction and of its archive. The archive is its
/// blocks or, if it has none, its images.
fn compaction_tokens(message: Raw) -> u64 {
    let [summary, blocks, images] = content::find_members(message, ["summary", "blocks", "images"]);
    let archive_tokens: u64 = match blocks.filter(|blocks| blocks.is_truthy()) {
        Some(blocks) => blocks.items().map(archive_block_tokens).sum(),
        None => images.unwrap_or(Raw::NULL).items().count() as u64 * FRAME_TOKENS,
    };
    text_tokens(summary) + archive_tokens
}

/// Estimates the tokens of a block of a message that is not a turn: a text or a picture.
fn input_block_tokens(block: &Block) -> u64 {
    if block.is("image") {
        IMAGE_TOKENS
    } else if block.is("text") {
        text_tokens(block.text)
    } else {
        0
    }
}

/// Estimates the tokens of a block of an archive. A block that is not text counts as a picture.
fn archive_block_tokens(block: Raw) -> u64 {
    let [kind, text] = content::find_members(block, ["type", "text"]);
    if kind.is_some_and(|kind| kind.is("text")) {
        text_tokens(text)
    } else {
        FRAME_TOKENS
    }
}

/// Estimates the tokens of a message in a branch summary. The text of a tool result counts as it is
/// cut for the transcript; its pictures do not count.
pub fn estimate_branch_message(message: Raw) -> u64 {
    if Role::from_member(message.get("role")) != Role::ToolResult {
        return estimate_message(message);
    }
    let text = content::join_text(message.get("content"), "");
    byte_tokens(super::transcript::truncate_result(text).as_bytes().len())
}

/// Estimates the tokens of a block of an assistant message; 0 for an unknown type. Signatures
/// count, because requests contain them again.
fn turn_block_tokens(block: &Block) -> u64 {
    let Some(kind) = block.kind else {
        return 0;
    };
    let object = Raw::from_checked(block.bytes);
    match kind.text().as_bytes() {
        b"text" => text_tokens(block.text),
        b"thinking" => text_tokens(block.thinking) + text_tokens(object.get("thinkingSignature")),
        b"toolCall" => text_tokens(block.name) + json_tokens(block.arguments),
        b"redactedThinking" => text_tokens(object.get("data")),
        b"anthropicServerTool" => json_tokens(object.get("block")),
        _ => 0,
    }
}

/// Estimates the tokens of a string; 0 for any other value.
fn text_tokens(value: Option<Raw>) -> u64 {
    value
        .and_then(Raw::text)
        .map_or(0, |text| byte_tokens(text.as_bytes().len()))
}

/// Estimates the tokens of `JSON.stringify(value)`; without a value, those of `null`.
fn json_tokens(value: Option<Raw>) -> u64 {
    let json = value.map_or(Text::from("null"), js::stringify);
    byte_tokens(json.as_bytes().len())
}

fn byte_tokens(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(BYTES_PER_TOKEN)
}

/// The number of tokens that a provider counted for a turn.
#[derive(Clone, Copy, Debug)]
pub struct ContextUsage {
    /// The tokens of the whole context after the turn (`calculateContextTokens`). May be any
    /// JavaScript number.
    pub context: f64,
    /// The tokens that were sent (`calculatePromptTokens`).
    pub prompt: f64,
}

/// The last count by a provider on a path.
#[derive(Clone, Copy, Debug)]
pub struct LastCount {
    /// The turn that has the count.
    pub turn: EntryIx,
    /// The count. Its `context` is what compactions store as `tokensBefore`.
    pub usage: ContextUsage,
}

/// Finds the last assistant message on the path that has a provider's count of tokens. A turn that
/// failed or was aborted has none.
pub fn find_last_count(path: &[EntryIx], reader: &EntryReader) -> io::Result<Option<LastCount>> {
    for &ix in path.iter().rev() {
        if !reader.session().is_message(ix, Role::Assistant) {
            continue;
        }
        let usage = reader.with_entry(ix, |line| {
            ContextUsage::from_turn(line.get("message").unwrap_or(Raw::NULL))
        })?;
        if let Some(usage) = usage {
            return Ok(Some(LastCount { turn: ix, usage }));
        }
    }
    Ok(None)
}

impl ContextUsage {
    /// Returns the provider's count in an assistant message; `None` if the turn has none, failed,
    /// or was aborted.
    pub fn from_turn(message: Raw) -> Option<ContextUsage> {
        let [stop_reason, usage] = content::find_members(message, ["stopReason", "usage"]);
        if stop_reason.is_some_and(|reason| reason.is("aborted") || reason.is("error")) {
            return None;
        }
        let usage = usage.filter(|usage| usage.is_truthy())?;
        Some(ContextUsage::from_usage(usage))
    }

    /// Reads a provider's count from the `usage` of a turn.
    ///
    /// A `contextTokens` is both the context and the prompt, but at least 0. Otherwise, the context
    /// is the total without the tokens of `orchestration`, and the prompt is the input with its
    /// cached parts. If that is 0, the context counts as the prompt.
    fn from_usage(usage: Raw) -> Self {
        let names = [
            "contextTokens",
            "input",
            "cacheRead",
            "cacheWrite",
            "orchestration",
        ];
        let [
            context_tokens,
            input,
            cache_read,
            cache_write,
            orchestration,
        ] = content::find_members(usage, names);
        if context_tokens.is_some() {
            let tokens = at_least_0(js::to_operand(context_tokens));
            return ContextUsage {
                context: tokens,
                prompt: tokens,
            };
        }

        // These tokens are in the total, but were not in the context of the session.
        let orchestration_tokens = sum_orchestration(orchestration.unwrap_or(Raw::NULL));
        let context = at_least_0(total_tokens(usage) - orchestration_tokens);
        let prompt =
            js::to_operand(input) + js::to_operand(cache_read) + js::to_operand(cache_write);
        ContextUsage {
            context,
            prompt: if prompt > 0.0 { prompt } else { context },
        }
    }
}

/// Returns the sum of the tokens in the member `orchestration` of a count; 0 if it is no object.
fn sum_orchestration(orchestration: Raw) -> f64 {
    let mut sum = 0.0;
    for key in ["input", "output", "cacheRead"] {
        if let Some(tokens) = orchestration.get_some(key) {
            sum += js::to_operand(Some(tokens));
        }
    }
    sum
}

/// Returns `Math.max(0, value)`, which keeps `NaN`.
fn at_least_0(value: f64) -> f64 {
    if value < 0.0 { 0.0 } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_piece_is_rounded_up() {
        for (message, tokens) in [
            (r#"{"role":"user","content":"12345"}"#, 2),
            (
                r#"{"role":"user","content":[{"type":"text","text":"é"},{"type":"image"}]}"#,
                1201,
            ),
            (
                r#"{"role":"assistant","content":[{"type":"thinking","thinking":"a","thinkingSignature":"b"},{"type":"toolCall","name":"c","arguments":{}}]}"#,
                4,
            ),
            (
                r#"{"role":"compactionSummary","summary":"a","blocks":[{"type":"image"}]}"#,
                5025,
            ),
            (r#"{"role":"pythonExecution","code":"a"}"#, 0),
        ] {
            assert_eq!(
                estimate_message(Raw::parse(message.as_bytes()).unwrap()),
                tokens,
                "{message}"
            );
        }
    }

    #[test]
    fn usage_is_taken_as_it_is() {
        let usage = |json: &str| ContextUsage::from_usage(Raw::parse(json.as_bytes()).unwrap());
        let counted =
            usage(r#"{"input":1,"output":2,"cacheRead":3,"cacheWrite":4,"totalTokens":0}"#);
        assert_eq!((counted.context, counted.prompt), (10.0, 8.0));
        assert_eq!(
            usage(r#"{"contextTokens":-5,"totalTokens":9}"#).context,
            0.0
        );
        assert_eq!(
            usage(r#"{"totalTokens":9,"orchestration":{"input":4}}"#).context,
            5.0
        );
        assert!(usage("{}").context.is_nan());
    }
}
