//! The implementation of [`Agent`] for oh-my-pi.

use super::{
    archive, branch, compaction, context, defects, files, llm, message, prompt, row, row_call,
    row_note, sizes, tokens, transcript,
};
use crate::agents::agent::{Agent, AgentConstants, Emit};
use crate::agents::oh_my_pi::title::title_line;
use crate::agents::ordered::Ordered;
use crate::agents::pi;
use crate::agents::prepare::{Budget, FileLists, FileOps, FirstKept, Preparation};
use crate::agents::row::RowText;
use crate::agents::row::search::query;
use crate::session::Format;
use crate::session::column::Parts;
use crate::session::defect::{FindingKind, Severity};
use crate::session::entry::{Entry, EntryIx, Flags, Kind, Role};
use crate::session::read::entry_reader::{Context, EntryReader, Message};
use crate::session::read::record::{Block, MessageFacts, Record, Typed};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::string::encoded;
use pisess_json::text::{Text, concat};
use pisess_json::write::Object;
use std::io::{self, Write};

/// The source of a title that a user gave.
const USER_SOURCE: &str = "user";

/// oh-my-pi (`@oh-my-pi/pi-coding-agent`).
#[derive(Debug)]
pub struct OhMyPi;

static CONSTANTS: AgentConstants = AgentConstants {
    name: "oh-my-pi",
    program: "omp",
    has_title_line: true,
    keeps_label_times: false,
    attribution: Some("agent"),
    follows_edits: false,
    summarizes_from_start: true,
    hook_key: "fromExtension",
    stores_usage: false,
    branch_preamble: files::BRANCH_PREAMBLE,
    requests: prompt::REQUESTS,
    lists_nested_calls: false,
    drops_foreign_thinking: false,
    half_pair: "\u{fffd}",
    drops_failed: false,
    drops_cut_thoughts: true,
    rescues_results: true,
    shares_signatures: true,
    drops_unsigned: true,
};

impl Agent for OhMyPi {
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
        row_call::tool_call(name, arguments, home)
    }

    fn search_text(&self, typed: &Typed) -> Text<'static> {
        row::searchable(typed)
    }

    fn parse_fuzzy_query(&self, typed: &str) -> Option<Vec<Vec<u16>>> {
        Some(query(typed))
    }

    fn says_something(&self, text: &[u8]) -> bool {
        row_note::says_something(text)
    }

    fn is_user_request(&self, typed: &Typed) -> bool {
        message::is_user_request(Raw::checked(typed.record.bytes), typed.kind, typed.role)
    }

    fn edits_custom_message(&self, entry: &Entry) -> bool {
        !entry.flags.has(Flags::SKILL_PROMPT)
    }

    fn draft_text(&self, reader: &EntryReader, ix: EntryIx) -> io::Result<Text<'static>> {
        message::draft_text(reader, ix)
    }

    fn may_predate_parent(&self, kind: Kind) -> bool {
        // A custom message gets the time of the event that triggered it.
        kind == Kind::CustomMessage
    }

    fn weigh_defect(
        &self,
        kind: FindingKind,
        _format: Format,
        grave: bool,
    ) -> (Severity, &'static str) {
        match defects::weight(kind, grave) {
            Some(weight) => weight,
            None => pi::defects::weight(kind, Format::V3, grave),
        }
    }

    fn normalize_name(&self, given: &str) -> Text<'static> {
        let spaced = given.replace(char::is_control, " ");
        let words: Vec<_> = spaced.split(' ').filter(|word| !word.is_empty()).collect();
        Text::from(words.join(" ")).trim().into_owned()
    }

    fn name_entry(&self, name: &Text, previous: Option<&Text>) -> Object {
        Object::new()
            .str("type", "title_change")
            .text("title", name)
            .str("source", USER_SOURCE)
            .with(previous, |entry, previous| {
                entry.text("previousTitle", previous)
            })
    }

    fn title_line(&self, name: &Text, timestamp: &str) -> Option<Vec<u8>> {
        let title = encoded(name);
        let user_source = encoded(&Text::from(USER_SOURCE));
        // Without a source, the agent may give the session a name again.
        let source = if name.is_empty() {
            None
        } else {
            Some(Raw::checked(&user_source))
        };

        let timestamp = Text::from(timestamp);
        Some(title_line(Some(Raw::checked(&title)), source, &timestamp))
    }

    fn model_entry(&self, provider: &Text, model: &Text) -> Object {
        Object::new()
            .str("type", "model_change")
            .text("model", &concat(&[provider, &"/", model]))
            .str("role", "default")
            .bool("resolvedModelIsFallback", false)
    }

    fn thinking_entry(&self, level: &Text) -> Object {
        Object::new()
            .str("type", "thinking_level_change")
            .text("thinkingLevel", level)
            .text("configured", level)
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
        llm::convert(messages, reader, emit)
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
        sizes::size(path, reader)
    }

    fn estimate_contexts(
        &self,
        tips: &[EntryIx],
        reader: &EntryReader,
    ) -> io::Result<HashMap<EntryIx, f64>> {
        sizes::sizes(tips, reader)
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
        _path: &[EntryIx],
        _reader: &EntryReader,
    ) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn archived_text(&self, compaction: Raw) -> Option<Text<'static>> {
        archive::source_text(compaction)
    }

    fn lists_path(&self, path: &Text) -> bool {
        !files::is_url(path)
    }

    fn read_path<'a>(&self, path: Text<'a>) -> Text<'a> {
        files::without_selector(path)
    }

    fn append_files(
        &self,
        summary: Text<'static>,
        files: &FileLists,
        read: &Ordered<Text>,
    ) -> Text<'static> {
        files::append(summary, files, read)
    }
}
