//! oh-my-pi as an [`Agent`].

use super::{row, row_call};
use crate::agents::oh_my_pi::title::title_line;
use crate::agents::oh_my_pi::{
    branch, compaction, context, defects, files, llm, message, prompt, sizes, tokens, transcript,
};
use crate::agents::prepare::{BRANCH_BUDGET, FileLists, FileOps, FirstKept, Preparation};
use crate::agents::row::search::Query;
use crate::agents::{Agent, Constants, Pi, WirePolicy};
use crate::session::column::Parts;
use crate::session::content;
use crate::session::defect::{FindingKind, Severity};
use crate::session::entry::{Entry, EntryIx, Flags, Kind};
use crate::session::read::entry_reader::{Context, EntryReader, Message};
use crate::session::read::record::{Block, MessageFacts, Typed};
use crate::session::tree::Tree;
use crate::session::{Format, Session};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::string::encoded;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::io::{self, Write};

/// The source of a title that a user gave.
const USER: &str = "user";

/// oh-my-pi (`@oh-my-pi/pi-coding-agent`).
#[derive(Clone, Copy, Debug)]
pub struct OhMyPi;

static CONSTANTS: Constants = Constants {
    name: "oh-my-pi",
    follows_edits: false,
    has_title_line: true,
    keeps_label_times: false,
    summarizes_from_start: true,
    hook_key: "fromExtension",
    stores_usage: false,
    attribution: Some("agent"),
    branch_preamble: files::BRANCH_PREAMBLE,
    requests: prompt::REQUESTS,
    wire_policy: WirePolicy {
        drops_foreign_thinking: false,
        half_pair: "\u{fffd}",
        drops_failed: false,
        drops_cut_thoughts: true,
        rescues_results: true,
        shares_signatures: true,
        drops_unsigned: true,
    },
};

impl Agent for OhMyPi {
    fn constants(&self) -> &'static Constants {
        &CONSTANTS
    }

    fn push_row(&self, typed: &Typed, row: &mut Vec<u8>) -> Parts {
        row::push_row(typed, row)
    }

    fn searchable(&self, typed: &Typed) -> Text<'static> {
        row::searchable(typed)
    }

    fn call_row(&self, name: &Text, arguments: Raw, home: Option<&Text>) -> Text<'static> {
        row_call::tool_call(name, arguments, home)
    }

    fn is_silent(&self, message: &MessageFacts, blocks: &[Block]) -> bool {
        row::is_silent(message, blocks)
    }

    fn is_user_request(&self, typed: &Typed) -> bool {
        row::is_user_request(typed)
    }

    fn edits_custom_message(&self, entry: &Entry) -> bool {
        !entry.flags.has(Flags::SKILL_PROMPT)
    }

    fn backdates(&self, kind: Kind) -> bool {
        // A custom message gets the time of the event that triggered it.
        kind == Kind::CustomMessage
    }

    fn stored_name(&self, given: &str) -> Text<'static> {
        let spaced = given.replace(char::is_control, " ");
        let words: Vec<_> = spaced.split(' ').filter(|word| !word.is_empty()).collect();
        Text::from(words.join(" ")).trim().into_owned()
    }

    fn name_entry(&self, name: &Text, previous: Option<&Text>) -> Object {
        Object::new()
            .str("type", "title_change")
            .text("title", name)
            .str("source", USER)
            .with(previous, |entry, previous| entry.text("previousTitle", previous))
    }

    fn title_line(&self, name: &Text, timestamp: &str) -> Option<Vec<u8>> {
        let (title, source) = (encoded(name), encoded(&Text::from(USER)));
        // Without a name, the agent may give the session one again.
        let source = Some(Raw::checked(&source)).filter(|_| !name.is_empty());
        Some(title_line(Some(Raw::checked(&title)), source, &Text::from(timestamp)))
    }

    fn model_entry(&self, provider: &Text, model: &Text) -> Object {
        let mut whole = provider.clone().into_owned();
        whole.push_str("/");
        whole.push(model);
        Object::new()
            .str("type", "model_change")
            .text("model", &whole)
            .str("role", "default")
            .bool("resolvedModelIsFallback", false)
    }

    fn thinking_entry(&self, level: &Text) -> Object {
        let entry = Object::new().str("type", "thinking_level_change");
        entry.text("thinkingLevel", level).text("configured", level)
    }

    fn weight(&self, kind: FindingKind, _: Format, grave: bool) -> (Severity, &'static str) {
        defects::weight(kind, grave).unwrap_or_else(|| Pi.weight(kind, Format::V3, grave))
    }

    fn fuzzy_search(&self, typed: &str) -> Option<Query> {
        Some(Query::new(typed))
    }

    fn context(&self, session: &Session, path: &[EntryIx], bodies: &dyn EntryReader) -> io::Result<Context> {
        context::build(session, path, bodies)
    }

    fn for_model(
        &self,
        messages: &[Message],
        bodies: &dyn EntryReader,
        emit: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        llm::convert(messages, bodies, emit)
    }

    fn transcript(
        &self,
        session: &Session,
        messages: &[Message],
        bodies: &dyn EntryReader,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        transcript::write(session, messages, bodies, out)
    }

    fn tokens(&self, session: &Session, path: &[EntryIx], bodies: &dyn EntryReader) -> io::Result<f64> {
        sizes::size(session, path, bodies)
    }

    fn message_tokens(&self, message: Raw) -> u64 {
        tokens::estimate(message)
    }

    fn sizes(
        &self,
        session: &Session,
        _: &Tree,
        tips: &[EntryIx],
        bodies: &dyn EntryReader,
    ) -> io::Result<HashMap<EntryIx, f64>> {
        sizes::sizes(session, tips, bodies)
    }

    fn prepare_compaction(
        &self,
        session: &Session,
        path: &[EntryIx],
        bodies: &dyn EntryReader,
        keep_recent_tokens: u64,
        first_kept: Option<FirstKept>,
    ) -> io::Result<Option<Preparation>> {
        compaction::prepare(session, path, bodies, keep_recent_tokens, first_kept)
    }

    fn used_above(
        &self,
        session: &Session,
        path: &[EntryIx],
        bodies: &dyn EntryReader,
    ) -> io::Result<Vec<EntryIx>> {
        context::used_above(session, path, bodies)
    }

    fn prepare_branch(
        &self,
        session: &Session,
        entries: &[EntryIx],
        bodies: &dyn EntryReader,
    ) -> io::Result<(Vec<Message>, FileOps)> {
        branch::prepare(session, entries, bodies, BRANCH_BUDGET)
    }

    fn checkpoint(&self, _: &Session, _: &[EntryIx], _: &dyn EntryReader) -> io::Result<Option<Vec<u8>>> {
        Ok(None)
    }

    fn files(&self, ops: &FileOps) -> FileLists {
        files::lists(ops)
    }

    fn compaction_text(&self, summary: Text<'static>, ops: &FileOps) -> Text<'static> {
        files::append(&summary, &self.files(ops), &ops.read)
    }

    fn draft_text(
        &self,
        session: &Session,
        bodies: &dyn EntryReader,
        ix: EntryIx,
    ) -> io::Result<Text<'static>> {
        let (line, entry) = (bodies.line(ix)?, session.entry(ix));
        let line = Raw::checked(line.trim_ascii());
        Ok(message::editor_text(line, entry.kind, entry.role).unwrap_or_else(|| content::entry_text(line)))
    }

    fn previous_summary(
        &self,
        preparation: &Preparation,
        bodies: &dyn EntryReader,
    ) -> io::Result<Option<Text<'static>>> {
        prompt::previous_summary(preparation, bodies).map(Some)
    }
}
