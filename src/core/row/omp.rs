//! oh-my-pi's rows (its `tree-selector`: `#getEntryDisplayText`, `#getSearchableText`, `#applyFilter`).

use super::{ROW_UNITS, normalize, omp_note};
use crate::core::entry::{Kind, Role};
use crate::core::json::string::{decode, decode_head};
use crate::core::json::{Raw, js};
use crate::core::load::record::{Block, Content, MessageFacts, Record};
use crate::core::text::Text;

const SILENT_ABORT: u32 = 0x0200_0000;
const USER_INTERRUPT: u32 = 0x0400_0000;
const ABORT: u32 = 0x0800_0000;
/// Terminal columns of the note on a turn that was tried again.
const NOTE_COLUMNS: usize = 80;

/// The row of an entry; of a tool result what it says when its call is not found.
pub fn text(kind: Kind, role: Role, record: &Record, blocks: &[Block]) -> Text<'static> {
    let entry = Raw::checked(record.bytes);
    let member = |key: &str| display(entry.get(key));
    match kind {
        Kind::Message => {
            record.message.map_or_else(Text::default, |message| message_text(role, &message, blocks))
        }
        Kind::CustomMessage => custom_message(entry),
        Kind::Compaction => {
            let tokens = crate::core::omp::number(entry.get("tokensBefore"));
            // JavaScript's Math.round takes halves up.
            let thousands = (tokens / 1000.0 + 0.5).floor();
            let thousands = if thousands.is_finite() { js::number(thousands) } else { "NaN".to_owned() };
            Text::from(format!("[compaction: {thousands}k tokens]"))
        }
        Kind::BranchSummary => {
            let summary = entry.get_text("summary").unwrap_or_default();
            joined(&["[branch summary]: "], &normalize(&summary).head(ROW_UNITS))
        }
        Kind::ModelChange => bracketed("model: ", &member("model")),
        Kind::ModelUsage => model_usage(entry),
        Kind::ThinkingLevelChange => {
            let level = entry.get_some("thinkingLevel");
            bracketed("thinking: ", &level.map_or(Text::from("off"), |level| display(Some(level))))
        }
        Kind::Custom => bracketed("custom: ", &member("customType")),
        Kind::Label => {
            let label = entry.get_some("label");
            bracketed("label: ", &label.map_or(Text::from("(cleared)"), |label| display(Some(label))))
        }
        Kind::ServiceTierChange => bracketed("service tier: ", &service_tier(entry)),
        Kind::TitleChange => bracketed("title: ", &normalize(&member("title"))),
        Kind::ModeChange => bracketed("mode: ", &member("mode")),
        Kind::CredentialPin => bracketed("credential pin: ", &member("provider")),
        Kind::Missing => Text::from("[no type]"),
        _ => {
            let name = record.kind.map(|kind| decode(kind.bytes)).unwrap_or_default();
            let spaced = name.as_bytes().iter().map(|&byte| if byte == b'_' { b' ' } else { byte });
            bracketed("", &Text::from_wtf8(spaced.collect::<Vec<_>>()))
        }
    }
}

fn message_text(role: Role, message: &MessageFacts, blocks: &[Block]) -> Text<'static> {
    match role {
        Role::User => joined(&["user: "], &normalize(&message_head(message, blocks))),
        Role::Developer => joined(&["developer: "], &normalize(&message_head(message, blocks))),
        Role::Assistant => joined(&["assistant: "], &assistant_text(message, blocks)),
        Role::ToolResult => {
            let name = message.tool_name.filter(|name| !name.is_null());
            bracketed("", &name.map_or(Text::from("tool"), |name| display(Some(name))))
        }
        Role::BashExecution => {
            let command = message.command.filter(|command| command.is_string());
            joined(&["[bash]: "], &normalize(&command.map(|c| display(Some(c))).unwrap_or_default()))
        }
        _ => bracketed("", &role_name(role, message)),
    }
}

/// The role as the agent has it once older files are migrated.
fn role_name<'a>(role: Role, message: &MessageFacts<'a>) -> Text<'a> {
    let written = || message.role.map_or(Text::from("undefined"), |role| decode(role.bytes));
    role.name().map_or_else(written, Text::from)
}

fn assistant_text(message: &MessageFacts, blocks: &[Block]) -> Text<'static> {
    let recovery = message.retry_recovery.unwrap_or(Raw::NULL);
    let is = |status: &str| recovery.get("status").is_some_and(|given| given.is(status));
    if is("recovered") {
        return omp_note::retried(&recovery.get_text("note").unwrap_or_default(), NOTE_COLUMNS);
    }
    let text = normalize(&message_head(message, blocks));
    if !text.is_empty() {
        return text;
    }
    if let Some(ending) = ending(message).filter(|_| !is("superseded")) {
        return normalize(&ending).head(80);
    }
    let aborted = message.stop_reason.is_some_and(|reason| reason.is("aborted"));
    Text::from(if aborted { "(aborted)" } else { "(no content)" })
}

/// What is said of a turn that did not end well (`resolveAssistantErrorPresentation`).
fn ending(message: &MessageFacts) -> Option<Text<'static>> {
    let error = message.error_message.filter(|error| error.is_truthy());
    let says = |text: &str| error.is_some_and(|error| error.is(text));
    let bit = |bit| crate::core::omp::has_bit(message.error_id, bit);
    let silent = bit(SILENT_ABORT) || says("__omp.silent_abort__");
    let told = !silent && !bit(USER_INTERRUPT) && !says("Interrupted by user");
    let stopped = |reason: &str| message.stop_reason.is_some_and(|given| given.is(reason));
    if stopped("aborted") {
        let reason = error.filter(|_| !bit(ABORT) && !says("Request was aborted"));
        return told.then(|| reason.map_or(Text::from("Operation aborted"), |reason| display(Some(reason))));
    }
    if stopped("error") {
        return Some(error.map_or(Text::from("Error"), |error| display(Some(error))));
    }
    error.filter(|_| told).map(|error| display(Some(error)))
}

fn custom_message(entry: Raw) -> Text<'static> {
    if entry.get("customType").is_some_and(|kind| kind.is("advisor")) {
        let advice = omp_note::Advice::of(entry);
        let mut row = Text::from("advisor");
        if !advice.qualifier.is_empty() {
            row = joined(&["advisor ("], &advice.qualifier);
            row.push_str(")");
        }
        row.push_str(": ");
        row.push(&normalize(&advice.text).head(ROW_UNITS));
        return row;
    }
    let content = whole_text(entry.get("content"));
    let mut row = bracketed("", &display(entry.get("customType")));
    row.push_str(": ");
    row.push(&normalize(&omp_note::unwrapped(&content)).head(ROW_UNITS));
    row
}

fn model_usage(entry: Raw) -> Text<'static> {
    let field = |key: &str| omp_note::field(&entry.get_text(key).unwrap_or_default());
    let mut row = joined(&["[model usage: "], &field("purpose"));
    row.push_str(" ");
    let role = field("role");
    if !role.is_empty() {
        row.push(&role);
        row.push_str(" ");
    }
    row.push(&field("provider"));
    row.push_str("/");
    row.push(&field("model"));
    row.push_str("]");
    row
}

fn service_tier(entry: Raw) -> Text<'static> {
    let pair = |(mut family, tier): (Text<'static>, Text)| {
        family.push_str(":");
        family.push(&tier);
        family
    };
    match entry.get("serviceTier").filter(|tier| tier.is_truthy()) {
        Some(tier) => spaced(tiers(tier).into_iter().map(pair)),
        None => Text::from("(default)"),
    }
}

/// The tier of each provider family. The older single word is taken apart letter by letter.
fn tiers(tier: Raw) -> Vec<(Text<'static>, Text<'static>)> {
    if let Some(word) = tier.text() {
        let letters = word.to_string_lossy().into_owned();
        let letters = letters.chars().enumerate();
        return letters.map(|(at, c)| (Text::from(at.to_string()), Text::from(c.to_string()))).collect();
    }
    js::entries(tier).into_iter().map(|(family, tier)| (family.into_owned(), display(Some(tier)))).collect()
}

/// Whether the tree hides the message unless it is the leaf: an assistant's without text, dots aside,
/// that ended neither in an error nor early.
pub fn is_silent(message: &MessageFacts, blocks: &[Block]) -> bool {
    let has_text = match message.content {
        Content::Text(text) => omp_note::says_something(text.bytes),
        Content::Blocks => blocks
            .iter()
            .filter_map(text_of)
            .any(|text| text.raw_string().is_some_and(omp_note::says_something)),
        Content::None | Content::Odd => false,
    };
    let ended_well = message
        .stop_reason
        .is_none_or(|reason| !reason.is_truthy() || reason.is("stop") || reason.is("toolUse"));
    !has_text && ended_well
}

/// Whether the entry is a request of the person, to the filter `user-only` and to navigation.
pub fn is_user_request(kind: Kind, role: Role, record: &Record) -> bool {
    crate::core::omp::message::is_user_request(Raw::checked(record.bytes), kind, role)
}

/// What a search looks through, without the label.
pub fn searchable(kind: Kind, role: Role, record: &Record, blocks: &[Block]) -> Text<'static> {
    let entry = Raw::checked(record.bytes);
    let member = |key: &str| entry.get_some(key).map(|value| display(Some(value))).unwrap_or_default();
    let named = |name: &'static str, key: &str| vec![Text::from(name), member(key)];
    let parts: Vec<Text> = match kind {
        Kind::Message => {
            let Some(message) = record.message else { return Text::default() };
            let command = message.command.filter(|_| role == Role::BashExecution).and_then(Raw::text);
            vec![role_name(role, &message), message_head(&message, blocks), command.unwrap_or_default()]
        }
        Kind::CustomMessage if entry.get("customType").is_some_and(|kind| kind.is("advisor")) => {
            let advice = omp_note::Advice::of(entry);
            vec![Text::from("advisor"), advice.qualifier, advice.text]
        }
        Kind::CustomMessage => {
            let content = omp_note::unwrapped(&whole_text(entry.get("content"))).head(ROW_UNITS);
            vec![member("customType"), content]
        }
        Kind::Compaction => vec![Text::from("compaction")],
        Kind::BranchSummary => {
            vec![Text::from("branch summary"), entry.get_text("summary").unwrap_or_default()]
        }
        Kind::ModelChange => named("model", "model"),
        Kind::ModelUsage => {
            let fields = ["purpose", "role", "provider", "model"];
            let fields = fields.map(|key| omp_note::field(&entry.get_text(key).unwrap_or_default()));
            std::iter::once(Text::from("model usage")).chain(fields).collect()
        }
        Kind::ThinkingLevelChange => {
            let level = entry.get_some("thinkingLevel").map(|level| display(Some(level)));
            vec![Text::from("thinking"), level.unwrap_or(Text::from("off"))]
        }
        Kind::Custom => named("custom", "customType"),
        Kind::Label => named("label", "label"),
        Kind::ServiceTierChange => {
            let tiers = entry.get("serviceTier").map(tiers).unwrap_or_default();
            let tiers = tiers.into_iter().filter(|(_, tier)| !tier.is_empty());
            let tiers = tiers.flat_map(|(family, tier)| [family, tier]);
            std::iter::once(Text::from("service tier")).chain(tiers).collect()
        }
        Kind::TitleChange => named("title", "title"),
        Kind::ModeChange => named("mode", "mode"),
        Kind::CredentialPin => named("credential pin", "provider"),
        Kind::TtsrInjection => {
            let rules =
                entry.get("injectedRules").into_iter().flat_map(Raw::items).map(|rule| display(Some(rule)));
            std::iter::once(Text::from("ttsr injection")).chain(rules).collect()
        }
        Kind::ResetBoundary => vec![Text::from("reset boundary")],
        Kind::SessionInit => vec![Text::from("session init")],
        _ => Vec::new(),
    };
    spaced(parts)
}

/// The first [`ROW_UNITS`] of a message's text: its text blocks one behind the other.
fn message_head(message: &MessageFacts, blocks: &[Block]) -> Text<'static> {
    let mut out = Vec::with_capacity(2 * ROW_UNITS);
    match message.content {
        Content::Text(text) => {
            decode_head(text.bytes, ROW_UNITS, &mut out);
        }
        Content::Blocks => {
            let mut left = ROW_UNITS;
            for raw in blocks.iter().filter_map(text_of).filter_map(Raw::raw_string) {
                if left == 0 {
                    break;
                }
                left = decode_head(raw, left, &mut out);
            }
        }
        Content::None | Content::Odd => {}
    }
    Text::from_wtf8(out)
}

/// All text of a content: a string, or its text blocks one behind the other.
fn whole_text(content: Option<Raw>) -> Text<'static> {
    crate::core::omp::message::joined_text(content, "")
}

fn text_of<'a>(block: &Block<'a>) -> Option<Raw<'a>> {
    block.text.filter(|_| block.kind.is_some_and(|kind| kind.is("text")))
}

/// `String(value)`, cut to a row's length.
pub(super) fn display(value: Option<Raw>) -> Text<'static> {
    match value.and_then(Raw::raw_string) {
        Some(raw) => {
            let mut out = Vec::new();
            decode_head(raw, ROW_UNITS, &mut out);
            Text::from_wtf8(out)
        }
        None => crate::core::omp::string(value).head(ROW_UNITS),
    }
}

pub(super) fn joined(prefix: &[&str], text: &Text) -> Text<'static> {
    let length = prefix.iter().map(|part| part.len()).sum::<usize>() + text.as_bytes().len();
    // Room for a closing bracket, too.
    let mut row = Vec::with_capacity(length + 1);
    prefix.iter().for_each(|part| row.extend_from_slice(part.as_bytes()));
    let mut row = Text::from_wtf8(row);
    row.push(text);
    row
}

pub(super) fn bracketed(prefix: &str, text: &Text) -> Text<'static> {
    let mut row = joined(&["[", prefix], text);
    row.push_str("]");
    row
}

fn spaced<'a>(parts: impl IntoIterator<Item = Text<'a>>) -> Text<'static> {
    let mut text = Text::default();
    for (at, part) in parts.into_iter().enumerate() {
        text.push_str(if at == 0 { "" } else { " " });
        text.push(&part);
    }
    text
}
