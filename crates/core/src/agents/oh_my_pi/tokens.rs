//! oh-my-pi's estimate of messages and contexts, without the tokenizer of a model: a quarter of the
//! UTF-8 bytes of each text, rounded up, and a fixed number for each picture.

use crate::agents::pi::tokens::total;
use crate::session::content;
use crate::session::entry::{EntryIx, Role};
use crate::session::read::entry_reader::EntryReader;
use pisess_json::text::Text;
use pisess_json::{Raw, js};
use std::io;

/// Tokens of a picture.
const IMAGE: u64 = 1200;
/// Tokens of a picture of archived text.
const FRAME: u64 = 5024;

/// Returns the tokens of a message (`Tokenizer.countMessage` for an unknown model); 0 for roles
/// that it does not know.
pub fn estimate(message: Raw) -> u64 {
    let names = [
        "role", "content", "summary", "blocks", "images", "command", "output",
    ];
    let [role, content, summary, blocks, images, command, output] =
        content::members(message, names);
    match Role::of(role) {
        Role::BashExecution => text(command) + text(output),
        Role::User | Role::Developer | Role::Custom | Role::HookMessage | Role::ToolResult => {
            let block = |block: Raw| {
                if content::is_block(block, "image") {
                    IMAGE
                } else {
                    text_block(block)
                }
            };
            text(content)
                + content
                    .into_iter()
                    .flat_map(Raw::items)
                    .map(block)
                    .sum::<u64>()
        }
        Role::Assistant => content
            .into_iter()
            .flat_map(Raw::items)
            .map(turn_block)
            .sum(),
        Role::BranchSummary => text(summary),
        Role::CompactionSummary => {
            let block = |block: Raw| {
                if content::is_block(block, "text") {
                    text_block(block)
                } else {
                    FRAME
                }
            };
            let archive = match (blocks.filter(|b| b.is_truthy()), images) {
                (Some(blocks), _) => blocks.items().map(block).sum(),
                (None, images) => images.into_iter().flat_map(Raw::items).count() as u64 * FRAME,
            };
            text(summary) + archive
        }
        _ => 0,
    }
}

/// Returns the tokens of a message in a branch summary: those of a tool result are its text,
/// truncated, without pictures.
pub fn estimate_in_branch(message: Raw) -> u64 {
    if Role::of(message.get("role")) != Role::ToolResult {
        return estimate(message);
    }
    let text = content::joined_text(message.get("content"), "");
    quarter(super::transcript::cut(text).as_bytes().len())
}

/// Returns the tokens of a block of a turn. Signatures count, since they are sent again.
fn turn_block(block: Raw) -> u64 {
    let names = [
        "type",
        "text",
        "thinking",
        "thinkingSignature",
        "name",
        "arguments",
        "data",
        "block",
    ];
    let [
        kind,
        said,
        thinking,
        signature,
        name,
        arguments,
        data,
        server_tool,
    ] = content::members(block, names);
    let json = |value: Option<Raw>| {
        value
            .map_or(Text::from("null"), js::stringify)
            .as_bytes()
            .len()
    };
    match kind.and_then(Raw::text).unwrap_or_default().as_bytes() {
        b"text" => text(said),
        b"thinking" => text(thinking) + text(signature),
        b"toolCall" => text(name) + quarter(json(arguments)),
        b"redactedThinking" => text(data),
        b"anthropicServerTool" => quarter(json(server_tool)),
        _ => 0,
    }
}

fn text_block(block: Raw) -> u64 {
    let [kind, said] = content::members(block, ["type", "text"]);
    if kind.is_some_and(|kind| kind.is("text")) {
        text(said)
    } else {
        0
    }
}

fn text(value: Option<Raw>) -> u64 {
    value
        .and_then(Raw::text)
        .map_or(0, |text| quarter(text.as_bytes().len()))
}

fn quarter(bytes: usize) -> u64 {
    (bytes as u64).div_ceil(4)
}

/// The provider's count at the end of a turn.
#[derive(Clone, Copy, Debug)]
pub struct ContextUsage {
    /// The whole context (`calculateContextTokens`): tokens, any JavaScript number.
    pub context: f64,
    /// The part of it that was sent (`calculatePromptTokens`).
    pub prompt: f64,
}

/// Returns the turn with the provider's last count on the path, among those that neither failed nor
/// were aborted, and the count. Its `context` is what compactions store as `tokensBefore`.
pub fn last_counted(
    path: &[EntryIx],
    reader: &EntryReader,
) -> io::Result<Option<(EntryIx, ContextUsage)>> {
    for &ix in path
        .iter()
        .rev()
        .filter(|&&ix| reader.session().is_message(ix, Role::Assistant))
    {
        let recorded = |line: Raw| ContextUsage::recorded(line.get("message").unwrap_or(Raw::NULL));
        if let Some(usage) = reader.with_entry(ix, recorded)? {
            return Ok(Some((ix, usage)));
        }
    }
    Ok(None)
}

impl ContextUsage {
    /// Returns the count in an assistant message, unless its turn failed.
    pub fn recorded(message: Raw) -> Option<ContextUsage> {
        let [stop_reason, usage] = content::members(message, ["stopReason", "usage"]);
        let failed = stop_reason.is_some_and(|reason| reason.is("aborted") || reason.is("error"));
        usage
            .filter(|usage| !failed && usage.is_truthy())
            .map(ContextUsage::of)
    }

    fn of(usage: Raw) -> Self {
        let names = [
            "contextTokens",
            "input",
            "cacheRead",
            "cacheWrite",
            "orchestration",
        ];
        let [known, input, cache_read, cache_write, orchestration] = content::members(usage, names);
        if known.is_some() {
            let known = at_least_0(js::operand(known));
            return ContextUsage {
                context: known,
                prompt: known,
            };
        }
        let elsewhere = orchestration
            .filter(|given| given.is_truthy())
            .map_or(0.0, |given| {
                let part = |key| {
                    given
                        .get_some(key)
                        .map_or(0.0, |part| js::operand(Some(part)))
                };
                part("input") + part("output") + part("cacheRead")
            });
        let sent = js::operand(input) + js::operand(cache_read) + js::operand(cache_write);
        let context = at_least_0(total(usage) - elsewhere);
        ContextUsage {
            context,
            prompt: if sent > 0.0 { sent } else { context },
        }
    }
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
                estimate(Raw::parse(message.as_bytes()).unwrap()),
                tokens,
                "{message}"
            );
        }
    }

    #[test]
    fn usage_is_taken_as_it_is() {
        let usage = |json: &str| ContextUsage::of(Raw::parse(json.as_bytes()).unwrap());
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
