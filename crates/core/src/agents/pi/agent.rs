//! The implementation of [`Agent`] for pi.

use crate::agents::agent::{Agent, AgentConstants, Emit};
use crate::agents::ordered::Ordered;
use crate::agents::pi::row;
use crate::agents::pi::{
    branch, compaction, context, defects, files, llm, prompt, system, tokens, transcript,
};
use crate::agents::prepare::{Budget, FileLists, FileOps, FirstKept, Preparation};
use crate::agents::row::RowText;
use crate::session::Format;
use crate::session::column::Parts;
use crate::session::content;
use crate::session::defect::{FindingKind, Severity};
use crate::session::entry::{Entry, EntryIx, Kind, Role};
use crate::session::read::entry_reader::{Context, EntryReader, Message};
use crate::session::read::record::{Block, MessageFacts, Record, Typed};
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
    follows_edits: true,
    summarizes_from_start: false,
    hook_key: "fromHook",
    stores_usage: true,
    branch_preamble: files::BRANCH_SUMMARY_PREAMBLE,
    requests: prompt::REQUESTS,
    lists_nested_calls: true,
    drops_foreign_thinking: true,
    half_pair: "",
    drops_failed: true,
    drops_cut_thoughts: false,
    rescues_results: false,
    shares_signatures: false,
    drops_unsigned: false,
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
        row: &mut Vec<u8>,
    ) -> Parts {
        row::push_message(role, message, blocks, row)
    }

    fn entry_row(&self, kind: Kind, record: &Record) -> RowText<'static> {
        row::entry_row(kind, record)
    }

    fn call_row(&self, name: &Text, arguments: Raw, home: Option<&Text>) -> Text<'static> {
        row::tool_call(name, arguments, home)
    }

    fn search_text(&self, typed: &Typed) -> Text<'static> {
        row::searchable(typed)
    }

    fn parse_fuzzy_query(&self, _typed: &str) -> Option<Vec<Vec<u16>>> {
        None
    }

    fn says_something(&self, text: &[u8]) -> bool {
        !is_blank(text)
    }

    fn is_user_request(&self, typed: &Typed) -> bool {
        typed.kind == Kind::Message && typed.role == Role::User && typed.record.message.is_some()
    }

    fn edits_custom_message(&self, _entry: &Entry) -> bool {
        true
    }

    fn draft_text(&self, reader: &EntryReader, ix: EntryIx) -> io::Result<Text<'static>> {
        reader.with_entry(ix, content::entry_text)
    }

    fn may_predate_parent(&self, _kind: Kind) -> bool {
        false
    }

    fn weigh_defect(
        &self,
        kind: FindingKind,
        format: Format,
        grave: bool,
    ) -> (Severity, &'static str) {
        defects::weight(kind, format, grave)
    }

    fn normalize_name(&self, given: &str) -> Text<'static> {
        let parts: Vec<_> = given
            .split(['\r', '\n'])
            .filter(|part| !part.is_empty())
            .collect();
        Text::from(parts.join(" ")).trim().into_owned()
    }

    fn name_entry(&self, name: &Text, _previous: Option<&Text>) -> Object {
        Object::new().str("type", "session_info").text("name", name)
    }

    fn title_line(&self, _name: &Text, _timestamp: &str) -> Option<Vec<u8>> {
        None
    }

    fn model_entry(&self, provider: &Text, model: &Text) -> Object {
        Object::new()
            .str("type", "model_change")
            .text("provider", provider)
            .text("modelId", model)
    }

    fn thinking_entry(&self, level: &Text) -> Object {
        Object::new()
            .str("type", "thinking_level_change")
            .text("thinkingLevel", level)
    }

    fn build_context(&self, path: &[EntryIx], reader: &EntryReader) -> io::Result<Context> {
        context::build(path, reader)
    }

    fn convert_for_model(
        &self,
        messages: &[Message],
        reader: &EntryReader,
        emit: &mut Emit,
    ) -> io::Result<()> {
        llm::convert_all(messages, reader, emit)
    }

    fn write_transcript(
        &self,
        messages: &[Message],
        reader: &EntryReader,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        transcript::write(messages, reader, out)
    }

    fn estimate_message(&self, message: Raw) -> u64 {
        tokens::estimate(message)
    }

    fn estimate_context(&self, path: &[EntryIx], reader: &EntryReader) -> io::Result<f64> {
        let projection = context::Projection::of(path, reader)?;
        tokens::context(&projection)
    }

    fn estimate_contexts(
        &self,
        tips: &[EntryIx],
        reader: &EntryReader,
    ) -> io::Result<HashMap<EntryIx, f64>> {
        tokens::sizes(tips, reader)
    }

    fn prepare_compaction(
        &self,
        path: &[EntryIx],
        reader: &EntryReader,
        from: FirstKept,
    ) -> io::Result<Option<Preparation>> {
        compaction::prepare(path, reader, from)
    }

    fn entries_used_above(
        &self,
        path: &[EntryIx],
        reader: &EntryReader,
    ) -> io::Result<Vec<EntryIx>> {
        context::used_above(path, reader)
    }

    fn prepare_branch(
        &self,
        entries: &[EntryIx],
        reader: &EntryReader,
        budget: Budget,
    ) -> io::Result<(Vec<Message>, FileOps)> {
        branch::prepare(entries, reader, budget)
    }

    fn system_checkpoint(
        &self,
        path: &[EntryIx],
        reader: &EntryReader,
    ) -> io::Result<Option<Vec<u8>>> {
        system::checkpoint(path, reader)
    }

    fn archived_text(&self, _compaction: Raw) -> Option<Text<'static>> {
        None
    }

    fn lists_path(&self, _path: &Text) -> bool {
        true
    }

    fn read_path<'a>(&self, path: Text<'a>) -> Text<'a> {
        path
    }

    fn append_files(
        &self,
        summary: Text<'static>,
        files: &FileLists,
        _read: &Ordered<Text>,
    ) -> Text<'static> {
        files::append(summary, files)
    }
}
