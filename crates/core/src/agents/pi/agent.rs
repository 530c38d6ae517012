//! The table of pi.

use crate::agents::agent::Agent;
use crate::agents::pi::row;
use crate::agents::pi::{
    branch, compaction, context, defects, files, llm, prompt, system, tokens, transcript,
};
use crate::session::content;
use crate::session::entry::{Kind, Role};
use pisess_json::string::is_blank;
use pisess_json::text::Text;
use pisess_json::write::Object;

/// pi (`@earendil-works/pi-coding-agent`).
pub static PI: Agent = Agent {
    name: "pi",
    program: "pi",
    follows_edits: true,
    has_title_line: false,
    keeps_label_times: true,
    summarizes_from_start: false,
    hook_key: "fromHook",
    stores_usage: true,
    attribution: None,
    branch_preamble: files::BRANCH_SUMMARY_PREAMBLE,
    requests: prompt::REQUESTS,
    drops_foreign_thinking: true,
    half_pair: "",
    drops_failed: true,
    drops_cut_thoughts: false,
    rescues_results: false,
    shares_signatures: false,
    drops_unsigned: false,
    push_message: row::push_message,
    entry_row: row::entry_row,
    searchable: row::searchable,
    call_row: row::tool_call,
    says_something: |text| !is_blank(text),
    is_user_request: |typed| {
        typed.kind == Kind::Message && typed.role == Role::User && typed.record.message.is_some()
    },
    edits_custom_message: |_| true,
    backdates: |_| false,
    stored_name: |given| {
        let parts: Vec<_> = given
            .split(['\r', '\n'])
            .filter(|part| !part.is_empty())
            .collect();
        Text::from(parts.join(" ")).trim().into_owned()
    },
    name_entry: |name, _| Object::new().str("type", "session_info").text("name", name),
    title_line: |_, _| None,
    model_entry: |provider, model| {
        Object::new()
            .str("type", "model_change")
            .text("provider", provider)
            .text("modelId", model)
    },
    thinking_entry: |level| {
        Object::new()
            .str("type", "thinking_level_change")
            .text("thinkingLevel", level)
    },
    weight: defects::weight,
    fuzzy_search: |_| None,
    context: context::build,
    for_model: llm::convert_all,
    transcript: transcript::write,
    tokens: |path, reader| tokens::context(&context::Projection::of(path, reader)?),
    message_tokens: tokens::estimate,
    sizes: tokens::sizes,
    prepare_compaction: compaction::prepare,
    used_above: context::used_above,
    prepare_branch: branch::prepare,
    checkpoint: system::checkpoint,
    lists_nested_calls: true,
    lists_path: |_| true,
    read_path: |path| path,
    with_files: |summary, files, _| files::append(summary, files),
    draft_text: |reader, ix| reader.with_entry(ix, content::entry_text),
    archived_text: |_| None,
};
