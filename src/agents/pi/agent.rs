//! pi as an [`Agent`].

use crate::agents::pi::row;
use crate::agents::pi::{
    branch, compaction, context, defects, files, llm, prompt, system, tips, tokens, transcript,
};
use crate::agents::prepare::{BRANCH_BUDGET, FileLists, FileOps, FirstKept, Preparation};
use crate::agents::row::search::Query;
use crate::agents::{Agent, Constants, WirePolicy};
use crate::session::column::Parts;
use crate::session::content;
use crate::session::defect::{FindingKind, Severity};
use crate::session::entry::{Entry, EntryIx, Kind, Role};
use crate::session::read::entry_reader::{Context, EntryReader, Message};
use crate::session::read::record::{Block, MessageFacts, Typed};
use crate::session::tree::Tree;
use crate::session::{Format, Session};
use foldhash::HashMap;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::io::{self, Write};

/// pi (`@earendil-works/pi-coding-agent`).
#[derive(Clone, Copy, Debug)]
pub struct Pi;

static CONSTANTS: Constants = Constants {
    name: "pi",
    follows_edits: true,
    has_title_line: false,
    keeps_label_times: true,
    summarizes_from_start: false,
    hook_key: "fromHook",
    stores_usage: true,
    attribution: None,
    branch_preamble: files::BRANCH_SUMMARY_PREAMBLE,
    requests: prompt::REQUESTS,
    wire_policy: WirePolicy {
        drops_foreign_thinking: true,
        half_pair: "",
        drops_failed: true,
        drops_cut_thoughts: false,
        rescues_results: false,
        shares_signatures: false,
        drops_unsigned: false,
    },
};

impl Agent for Pi {
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
        row::tool_call(name, arguments, home)
    }

    fn is_silent(&self, message: &MessageFacts, blocks: &[Block]) -> bool {
        row::is_silent(message, blocks)
    }

    fn is_user_request(&self, typed: &Typed) -> bool {
        typed.kind == Kind::Message && typed.role == Role::User && typed.record.message.is_some()
    }

    fn edits_custom_message(&self, _: &Entry) -> bool {
        true
    }

    fn backdates(&self, _: Kind) -> bool {
        false
    }

    fn stored_name(&self, given: &str) -> Text<'static> {
        let parts: Vec<_> = given.split(['\r', '\n']).filter(|part| !part.is_empty()).collect();
        Text::from(parts.join(" ")).trim().into_owned()
    }

    fn name_entry(&self, name: &Text, _: Option<&Text>) -> Object {
        Object::new().str("type", "session_info").text("name", name)
    }

    fn title_line(&self, _: &Text, _: &str) -> Option<Vec<u8>> {
        None
    }

    fn model_entry(&self, provider: &Text, model: &Text) -> Object {
        Object::new().str("type", "model_change").text("provider", provider).text("modelId", model)
    }

    fn thinking_entry(&self, level: &Text) -> Object {
        Object::new().str("type", "thinking_level_change").text("thinkingLevel", level)
    }

    fn weight(&self, kind: FindingKind, format: Format, grave: bool) -> (Severity, &'static str) {
        defects::weight(kind, format, grave)
    }

    fn fuzzy_search(&self, _: &str) -> Option<Query> {
        None
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
        messages.iter().try_for_each(|message| {
            message.with(bodies, |json| llm::convert(json).map_or(Ok(()), |json| emit(&json)))?
        })
    }

    fn transcript(
        &self,
        _: &Session,
        messages: &[Message],
        bodies: &dyn EntryReader,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        transcript::write(messages, bodies, out)
    }

    fn tokens(&self, session: &Session, path: &[EntryIx], bodies: &dyn EntryReader) -> io::Result<f64> {
        tokens::context(session, path, &context::projection(session, path, bodies)?, bodies)
    }

    fn message_tokens(&self, message: Raw) -> u64 {
        tokens::estimate(message)
    }

    fn sizes(
        &self,
        session: &Session,
        tree: &Tree,
        tips: &[EntryIx],
        bodies: &dyn EntryReader,
    ) -> io::Result<HashMap<EntryIx, f64>> {
        tips::sizes(session, tree, tips, bodies)
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

    fn checkpoint(
        &self,
        session: &Session,
        path: &[EntryIx],
        bodies: &dyn EntryReader,
    ) -> io::Result<Option<Vec<u8>>> {
        system::checkpoint(session, path, bodies, 0)
    }

    fn files(&self, ops: &FileOps) -> FileLists {
        ops.lists()
    }

    fn compaction_text(&self, mut summary: Text<'static>, ops: &FileOps) -> Text<'static> {
        files::append(&mut summary, &self.files(ops));
        summary
    }

    fn draft_text(&self, _: &Session, bodies: &dyn EntryReader, ix: EntryIx) -> io::Result<Text<'static>> {
        Ok(content::entry_text(Raw::checked(bodies.line(ix)?.trim_ascii())))
    }

    fn previous_summary(
        &self,
        preparation: &Preparation,
        _: &dyn EntryReader,
    ) -> io::Result<Option<Text<'static>>> {
        Ok(preparation.previous_summary.clone())
    }
}
