//! The table of oh-my-pi.

use super::{
    archive, branch, compaction, context, defects, files, llm, message, prompt, row, row_call,
    row_note, sizes, tokens, transcript,
};
use crate::agents::agent::Agent;
use crate::agents::oh_my_pi::title::title_line;
use crate::agents::pi;
use crate::agents::row::search::query;
use crate::session::Format;
use crate::session::entry::{Flags, Kind};
use pisess_json::Raw;
use pisess_json::string::encoded;
use pisess_json::text::{Text, concat};
use pisess_json::write::Object;

/// The source of a title that a user gave.
const USER: &str = "user";

/// oh-my-pi (`@oh-my-pi/pi-coding-agent`).
pub static OH_MY_PI: Agent = Agent {
    name: "oh-my-pi",
    program: "omp",
    follows_edits: false,
    has_title_line: true,
    keeps_label_times: false,
    summarizes_from_start: true,
    hook_key: "fromExtension",
    stores_usage: false,
    attribution: Some("agent"),
    branch_preamble: files::BRANCH_PREAMBLE,
    requests: prompt::REQUESTS,
    drops_foreign_thinking: false,
    half_pair: "\u{fffd}",
    drops_failed: false,
    drops_cut_thoughts: true,
    rescues_results: true,
    shares_signatures: true,
    drops_unsigned: true,
    push_message: row::push_message,
    entry_row: row::entry_row,
    searchable: row::searchable,
    call_row: row_call::tool_call,
    says_something: row_note::says_something,
    is_user_request: |typed| {
        message::is_user_request(Raw::checked(typed.record.bytes), typed.kind, typed.role)
    },
    edits_custom_message: |entry| !entry.flags.has(Flags::SKILL_PROMPT),
    // A custom message gets the time of the event that triggered it.
    backdates: |kind| kind == Kind::CustomMessage,
    stored_name: |given| {
        let spaced = given.replace(char::is_control, " ");
        let words: Vec<_> = spaced.split(' ').filter(|word| !word.is_empty()).collect();
        Text::from(words.join(" ")).trim().into_owned()
    },
    name_entry: |name, previous| {
        Object::new()
            .str("type", "title_change")
            .text("title", name)
            .str("source", USER)
            .with(previous, |entry, previous| {
                entry.text("previousTitle", previous)
            })
    },
    title_line: |name, timestamp| {
        let (title, source) = (encoded(name), encoded(&Text::from(USER)));
        // Without a name, the agent may give the session one again.
        let source = Some(Raw::checked(&source)).filter(|_| !name.is_empty());
        Some(title_line(
            Some(Raw::checked(&title)),
            source,
            &Text::from(timestamp),
        ))
    },
    model_entry: |provider, model| {
        let entry = Object::new().str("type", "model_change");
        entry
            .text("model", &concat(&[provider, &"/", model]))
            .str("role", "default")
            .bool("resolvedModelIsFallback", false)
    },
    thinking_entry: |level| {
        let entry = Object::new().str("type", "thinking_level_change");
        entry.text("thinkingLevel", level).text("configured", level)
    },
    weight: |kind, _, grave| {
        defects::weight(kind, grave).unwrap_or_else(|| pi::defects::weight(kind, Format::V3, grave))
    },
    fuzzy_search: |typed| Some(query(typed)),
    context: context::build,
    for_model: llm::convert,
    transcript: transcript::write,
    tokens: sizes::size,
    message_tokens: tokens::estimate,
    sizes: sizes::sizes,
    prepare_compaction: compaction::prepare,
    used_above: context::used_above,
    prepare_branch: branch::prepare,
    checkpoint: |_, _| Ok(None),
    lists_nested_calls: false,
    lists_path: |path| !files::is_url(path),
    read_path: files::without_selector,
    with_files: files::append,
    draft_text: message::draft_text,
    archived_text: archive::source_text,
};
