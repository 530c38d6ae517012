//! The implementation of [`Agent`] for pi.

use crate::agents::agent::{Agent, AgentConstants, Emit};
use crate::agents::ordered::OrderedMap;
use crate::agents::pi::row;
use crate::agents::pi::{
    branch, compaction, context, defects, files, llm, prompt, system, tokens, transcript,
};
use crate::agents::prepare::{BranchBudget, FileLists, FileOps, FirstKept, Preparation};
use crate::agents::row::RowText;
use crate::session::Format;
use crate::session::column::RowShape;
use crate::session::content;
use crate::session::defect::{Assessment, FindingKind};
use crate::session::entry::{Entry, EntryIx, Kind, Role};
use crate::session::read::entry_reader::{Context, ContextMessage, EntryReader};
use crate::session::read::record::{Block, MessageFacts, ParsedEntry, Record};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::string::is_blank;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::io::{self, Write};

/// pi (`@earendil-works/pi-coding-agent`).
#[derive(Debug)]
pub struct Pi;

static CONSTANTS: AgentConstants = AgentConstants {
    name: "pi",
    program: "pi",
    has_title_line: false,
    keeps_label_times: true,
    attribution: None,
    applies_context_edits: true,
    from_id_is_branch_start: false,
    hook_key: "fromHook",
    stores_usage: true,
    branch_preamble: files::BRANCH_SUMMARY_PREAMBLE,
    requests: prompt::REQUESTS,
    lists_nested_calls: true,
    drops_foreign_thinking: true,
    surrogate_replacement: "",
    drops_failed_turns: true,
    drops_interrupted_thinking: false,
    moves_late_results: false,
    shares_thinking_signatures: false,
    drops_unsigned_thinking: false,
    empty_failure_text: None,
};

impl Agent for Pi {
    fn constants(&self) -> &'static AgentConstants {
        &CONSTANTS
    }

    fn push_message_row(
        &self,
        role: Role,
        message: &MessageFacts,
        blocks: &[Block],
        rows: &mut Vec<u8>,
    ) -> RowShape {
        row::push_message_row(role, message, blocks, rows)
    }

    fn entry_row(&self, kind: Kind, record: &Record) -> RowText<'static> {
        row::entry_row(kind, record)
    }

    fn call_row(&self, name: &Text, arguments: Raw, home: Option<&Text>) -> Text<'static> {
        row::call_row(name, arguments, home)
    }

    fn search_text(&self, parsed: &ParsedEntry) -> Text<'static> {
        row::search_text(parsed)
    }

    fn has_fuzzy_search(&self) -> bool {
        false
    }

    fn is_visible_text(&self, text: &[u8]) -> bool {
        !is_blank(text)
    }

    fn is_user_request(&self, parsed: &ParsedEntry) -> bool {
        parsed.kind == Kind::Message && parsed.role == Role::User && parsed.record.message.is_some()
    }

    fn drafts_custom_message(&self, _entry: &Entry) -> bool {
        true
    }

    fn draft_text(&self, reader: &EntryReader, ix: EntryIx) -> io::Result<Text<'static>> {
        reader.with_entry(ix, content::entry_text)
    }

    fn may_predate_parent(&self, _kind: Kind) -> bool {
        false
    }

    fn assess_defect(&self, kind: FindingKind, format: Format, is_worst_case: bool) -> Assessment {
        defects::assess_defect(kind, format, is_worst_case)
    }

    /// As pi does, replaces each run of line ends by a space, and trims the name.
    fn normalize_name(&self, given: &str) -> Text<'static> {
        let parts: Vec<_> = given
            .split(['\r', '\n'])
            .filter(|part| !part.is_empty())
            .collect();
        Text::from(parts.join(" ")).trim().into_owned()
    }

    fn new_name_entry(&self, name: &Text, _previous: Option<&Text>) -> Object {
        Object::new().str("type", "session_info").text("name", name)
    }

    fn title_line(&self, _name: &Text, _timestamp: &str) -> Option<Vec<u8>> {
        None
    }

    fn new_model_entry(&self, provider: &Text, model: &Text) -> Object {
        Object::new()
            .str("type", "model_change")
            .text("provider", provider)
            .text("modelId", model)
    }

    fn new_thinking_entry(&self, level: &Text) -> Object {
        Object::new()
            .str("type", "thinking_level_change")
            .text("thinkingLevel", level)
    }

    fn build_context(&self, path: &[EntryIx], reader: &EntryReader) -> io::Result<Context> {
        context::build_context(path, reader)
    }

    fn convert_for_model(
        &self,
        messages: &[ContextMessage],
        reader: &EntryReader,
        emit: &mut Emit,
    ) -> io::Result<()> {
        llm::convert_messages(messages, reader, emit)
    }

    fn write_transcript(
        &self,
        messages: &[ContextMessage],
        reader: &EntryReader,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        transcript::write_transcript(messages, reader, out)
    }

    fn estimate_scanned(&self, message: &MessageFacts, blocks: &[Block]) -> u64 {
        tokens::estimate_scanned(message, blocks)
    }

    fn estimate_context(&self, path: &[EntryIx], reader: &EntryReader) -> io::Result<f64> {
        let projection = context::Projection::from_path(path, reader)?;
        tokens::context_tokens(&projection)
    }

    fn estimate_contexts(
        &self,
        tips: &[EntryIx],
        reader: &EntryReader,
    ) -> io::Result<HashMap<EntryIx, f64>> {
        tokens::context_sizes(tips, reader)
    }

    fn prepare_compaction(
        &self,
        path: &[EntryIx],
        reader: &EntryReader,
        from: FirstKept,
    ) -> io::Result<Option<Preparation>> {
        compaction::prepare_compaction(path, reader, from)
    }

    fn ancestors_in_use(&self, path: &[EntryIx], reader: &EntryReader) -> io::Result<Vec<EntryIx>> {
        context::ancestors_in_use(path, reader)
    }

    fn prepare_branch_summary(
        &self,
        entries: &[EntryIx],
        reader: &EntryReader,
        budget: BranchBudget,
    ) -> io::Result<(Vec<ContextMessage>, FileOps)> {
        branch::prepare_branch_summary(entries, reader, budget)
    }

    fn system_checkpoint(
        &self,
        path: &[EntryIx],
        reader: &EntryReader,
    ) -> io::Result<Option<Vec<u8>>> {
        system::build_checkpoint(path, reader)
    }

    fn archived_text(&self, _compaction: Raw) -> Option<Text<'static>> {
        None
    }

    fn lists_path(&self, _path: &Text) -> bool {
        true
    }

    fn strip_read_selector<'a>(&self, path: Text<'a>) -> Text<'a> {
        path
    }

    fn append_file_list(
        &self,
        summary: Text<'static>,
        files: &FileLists,
        _read: &OrderedMap<Text>,
    ) -> Text<'static> {
        files::append_file_list(summary, files)
    }

    fn append_brief_file_list(
        &self,
        summary: Text<'static>,
        files: &FileLists,
        _read: &OrderedMap<Text>,
    ) -> Text<'static> {
        files::append_grouped_file_list(summary, files)
    }
}
