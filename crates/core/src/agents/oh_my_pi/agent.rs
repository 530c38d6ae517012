//! The implementation of [`Agent`] for oh-my-pi.

use super::{
    archive, branch, compaction, context, defects, files, llm, message, prompt, row, row_call,
    row_note, sizes, tokens, transcript,
};
use crate::agents::agent::{Agent, AgentConstants, Emit};
use crate::agents::oh_my_pi::title;
use crate::agents::ordered::OrderedMap;
use crate::agents::pi;
use crate::agents::prepare::{BranchBudget, FileLists, FileOps, FirstKept, Preparation};
use crate::agents::row::RowText;
use crate::session::Format;
use crate::session::column::RowShape;
use crate::session::defect::{Assessment, FindingKind};
use crate::session::entry::{Entry, EntryIx, Flags, Kind, Role};
use crate::session::read::entry_reader::{Context, ContextMessage, EntryReader};
use crate::session::read::record::{Block, MessageFacts, ParsedEntry, Record};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::string::encode_to_vec;
use pisess_json::text::{Text, concat_texts};
use pisess_json::write::Object;
use std::io::{self, Write};

/// The `source` of a title that a user gave.
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
    applies_context_edits: false,
    from_id_is_branch_start: true,
    hook_key: "fromExtension",
    stores_usage: false,
    branch_preamble: files::BRANCH_PREAMBLE,
    requests: prompt::REQUESTS,
    lists_nested_calls: false,
    drops_foreign_thinking: false,
    surrogate_replacement: "\u{fffd}",
    drops_failed_turns: false,
    drops_interrupted_thinking: true,
    moves_late_results: true,
    shares_thinking_signatures: true,
    drops_unsigned_thinking: true,
    empty_failure_text: Some("Tool failed with no output."),
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
        rows: &mut Vec<u8>,
    ) -> RowShape {
        row::push_message_row(role, message, blocks, rows)
    }

    fn entry_row(&self, kind: Kind, record: &Record) -> RowText<'static> {
        row::entry_row(kind, record)
    }

    fn call_row(&self, name: &Text, arguments: Raw, home: Option<&Text>) -> Text<'static> {
        row_call::call_row(name, arguments, home)
    }

    fn search_text(&self, parsed: &ParsedEntry) -> Text<'static> {
        row::search_text(parsed)
    }

    fn has_fuzzy_search(&self) -> bool {
        true
    }

    fn is_visible_text(&self, text: &[u8]) -> bool {
        row_note::is_visible_text(text)
    }

    fn is_user_request(&self, parsed: &ParsedEntry) -> bool {
        message::is_user_request(
            Raw::from_checked(parsed.record.bytes),
            parsed.kind,
            parsed.role,
        )
    }

    fn drafts_custom_message(&self, entry: &Entry) -> bool {
        !entry.flags.contains(Flags::SKILL_PROMPT)
    }

    fn draft_text(&self, reader: &EntryReader, ix: EntryIx) -> io::Result<Text<'static>> {
        message::draft_text(reader, ix)
    }

    fn may_predate_parent(&self, kind: Kind) -> bool {
        // A custom message gets the time of the event that triggered it.
        kind == Kind::CustomMessage
    }

    /// Returns how bad a defect is in oh-my-pi, and its consequence for the user.
    fn assess_defect(&self, kind: FindingKind, _format: Format, is_worst_case: bool) -> Assessment {
        // For any other defect, the consequence is that in pi. It is taken for the current format:
        // pi's consequences for older formats do not apply to oh-my-pi.
        match defects::assess_defect(kind, is_worst_case) {
            Some(assessment) => assessment,
            None => pi::defects::assess_defect(kind, Format::V3, is_worst_case),
        }
    }

    /// As oh-my-pi does, replaces control characters by spaces, and each run of spaces by one.
    fn normalize_name(&self, given: &str) -> Text<'static> {
        let spaced = given.replace(char::is_control, " ");
        let words: Vec<_> = spaced.split(' ').filter(|word| !word.is_empty()).collect();
        Text::from(words.join(" ")).trim().into_owned()
    }

    fn new_name_entry(&self, name: &Text, previous: Option<&Text>) -> Object {
        Object::new()
            .str("type", "title_change")
            .text("title", name)
            .str("source", USER_SOURCE)
            .with(previous, |entry, previous| {
                entry.text("previousTitle", previous)
            })
    }

    /// Returns the title line of oh-my-pi, with the user as the source of the title.
    fn title_line(&self, name: &Text, timestamp: &str) -> Option<Vec<u8>> {
        let title = encode_to_vec(name);
        let user_source = encode_to_vec(&Text::from(USER_SOURCE));
        // An empty name clears the title. Without a source, the agent may name the session again.
        let source = if name.is_empty() {
            None
        } else {
            Some(Raw::from_checked(&user_source))
        };

        let timestamp = Text::from(timestamp);
        Some(title::title_line(
            Some(Raw::from_checked(&title)),
            source,
            &timestamp,
        ))
    }

    fn new_model_entry(&self, provider: &Text, model: &Text) -> Object {
        Object::new()
            .str("type", "model_change")
            .text("model", &concat_texts(&[provider, &"/", model]))
            .str("role", "default")
            .bool("resolvedModelIsFallback", false)
    }

    fn new_thinking_entry(&self, level: &Text) -> Object {
        Object::new()
            .str("type", "thinking_level_change")
            .text("thinkingLevel", level)
            .text("configured", level)
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
        sizes::context_size(path, reader)
    }

    fn estimate_contexts(
        &self,
        tips: &[EntryIx],
        reader: &EntryReader,
    ) -> io::Result<HashMap<EntryIx, f64>> {
        sizes::context_sizes(tips, reader)
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
        _path: &[EntryIx],
        _reader: &EntryReader,
    ) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn archived_text(&self, compaction: Raw) -> Option<Text<'static>> {
        archive::source_text(compaction)
    }

    fn lists_path(&self, path: &Text) -> bool {
        !files::contains_url(path)
    }

    fn strip_read_selector<'a>(&self, path: Text<'a>) -> Text<'a> {
        files::strip_selector(path)
    }

    fn append_file_list(
        &self,
        summary: Text<'static>,
        files: &FileLists,
        read: &OrderedMap<Text>,
    ) -> Text<'static> {
        files::append_file_list(summary, files, read)
    }
}
