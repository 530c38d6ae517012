//! Sessions of other agents, converted: Claude Code and Codex.
//!
//! ```text
//! lines of the source ── claude, codex ──> drafts ── writer ──> entries of pi or oh-my-pi
//! ```
//!
//! A reader decides what a line becomes; the writer gives ids, parents and times. Both see one line
//! at a time. What an import writes depends only on the lines that it reads and on where earlier
//! imports ended, so that it can be continued when the source has grown. Lines without a
//! counterpart become custom entries, and what a message has no place for is a member of its entry,
//! named after the source. The last entry of an import records what was read ([`record`]).

mod claude;
mod codex;
pub mod joined;
mod parts;
pub mod record;
mod writer;

pub use joined::{HistoryBase, JoinedSource, RolloutName};
pub use record::ImportRecord;

use joined::SourceLayout;
use parts::{kept_line_members, non_empty_text, parse_time_ms};
use pisess_core::agents::Emit;
use pisess_core::ops::fork::{ForkOptions, build_head_for};
use pisess_core::ops::plan::file_name;
use pisess_core::session::content::find_members;
use pisess_core::session::dialect::Dialect;
use pisess_core::session::entry::Span;
use pisess_core::session::read::line_chunks::{Line, for_each_line, read_chunks};
use pisess_json::Raw;
use pisess_json::scan::Scanner;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_json::time::iso_string;
use pisess_json::write::Object;
use pisess_store::{PageBuffer, ReadAt, copy_range};
use sha2::{Digest, Sha256};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use uuid::Uuid;
use writer::{EntryDraft, EntryWriter};

/// An agent whose sessions can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Origin {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
}

/// Makes entries of the lines of a source.
trait SourceReader<'o> {
    /// Reads a line that is an object.
    fn read_object(&mut self, offset: u64, raw: Raw) -> io::Result<()>;

    /// Adds a custom entry of the line at `offset`, with these members.
    fn add_custom(&mut self, offset: u64, members: Object) -> io::Result<()>;

    /// Adds the record of an import below the leaf, so that it is where the session continues.
    fn add_record(&mut self, draft: EntryDraft) -> io::Result<()>;

    /// Adds the entries that are held back, and gives the writer back.
    fn finish(self: Box<Self>) -> io::Result<EntryWriter<'o>>;
}

/// What a source contains.
#[derive(Clone, Debug)]
pub struct Survey {
    /// Its path.
    pub path: PathBuf,
    /// The agent that wrote it.
    pub origin: Origin,
    /// The id of its session; for a sub-agent `SESSION/SUB-AGENT`.
    pub id: String,
    /// The sub-agent that wrote it, if one did.
    pub sub_agent: Option<SubAgent>,
    /// The working directory.
    pub cwd: Option<Text<'static>>,
    /// The time of its first line, in milliseconds since 1970.
    pub created_ms: i64,
    /// The time of its last line that has one, in milliseconds since 1970.
    pub modified_ms: i64,
    /// The name of the session.
    pub name: Option<Text<'static>>,
    /// The number of its messages.
    pub message_count: usize,
    /// The number of bytes that were read: without a torn last line.
    pub bytes_read: u64,
    /// The SHA-256 of these bytes.
    pub sha256: String,
    /// Whether the last line is torn.
    pub is_torn: bool,
    /// How its files follow one another.
    pub layout: SourceLayout,
    /// The id of the rollout of Codex with the turns before the first line, if it was not found.
    pub missing_base: Option<String>,
}

impl Survey {
    /// Returns the id of the session: its own, or of the session that started it as a sub-agent.
    pub fn session_id(&self) -> &str {
        match &self.sub_agent {
            Some(agent) => &agent.session,
            None => &self.id,
        }
    }
}

/// A sub-agent that wrote a source of its own.
#[derive(Clone, Debug)]
pub struct SubAgent {
    /// The id of the session that started it.
    pub session: String,
    /// Its own id.
    pub id: String,
}

/// The session to be made of a source.
#[derive(Clone, Debug)]
pub struct ImportTarget<'a> {
    /// The agent.
    pub agent: Dialect,
    /// The id of the session.
    pub id: &'a str,
    /// The path of the source, for the record.
    pub source_path: &'a Path,
    /// The imports of the source so far, which the session contains.
    pub earlier: &'a EarlierImports,
}

/// The earlier imports of a source. An import repeats what they decided, so that the entries that
/// are there keep their ids and parents.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EarlierImports {
    /// How many bytes of the source each had read, oldest first.
    pub ends: Vec<u64>,
    /// The offset from which the lines of a response become one message. Before it, each line is a
    /// message, because a version of pisess imported them which did not merge them.
    pub merged_from: u64,
}

/// The number of lines in which to look for the agent's name.
const LINES_TO_DETECT: usize = 100;

impl Origin {
    /// The name that options, ids and types of entries have.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Claude => "claude",
            Origin::Codex => "codex",
        }
    }

    /// The name for people.
    pub fn display_name(self) -> &'static str {
        match self {
            Origin::Claude => "Claude Code",
            Origin::Codex => "Codex",
        }
    }

    /// Finds out which agent wrote a file, from the first of its lines that shows it. `None` if a
    /// line shows that neither did, or if none of the first 100 lines shows it.
    pub fn detect(source: &dyn ReadAt) -> io::Result<Option<Origin>> {
        let mut lines_left = LINES_TO_DETECT;
        let mut buffer = PageBuffer::default();
        let flow = read_chunks(&mut buffer, source, 0..source.len(), |chunk| {
            for line in chunk.lines() {
                lines_left -= 1;
                let origin = match Raw::parse(line.bytes) {
                    Ok(line) => detect_line_origin(line),
                    Err(_) => LineOrigin::Unclear,
                };
                match origin {
                    LineOrigin::Known(origin) => return ControlFlow::Break(Some(origin)),
                    LineOrigin::Other => return ControlFlow::Break(None),
                    LineOrigin::Unclear if lines_left == 0 => return ControlFlow::Break(None),
                    LineOrigin::Unclear => {}
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(flow.break_value().flatten())
    }

    /// Makes the reader for the lines of a source. `earlier` are the imports of the source so far.
    fn new_reader<'o>(
        self,
        source: &dyn ReadAt,
        layout: &SourceLayout,
        earlier: &EarlierImports,
        writer: EntryWriter<'o>,
    ) -> io::Result<Box<dyn SourceReader<'o> + 'o>> {
        match self {
            Origin::Claude => Ok(Box::new(claude::ClaudeReader::new(
                writer,
                earlier.merged_from,
            ))),
            Origin::Codex => Ok(Box::new(codex::CodexReader::new(
                source, layout, earlier, writer,
            )?)),
        }
    }
}

/// What a line shows about the agent that wrote its file.
enum LineOrigin {
    Known(Origin),
    /// Neither agent writes such lines: pi and oh-my-pi do.
    Other,
    Unclear,
}

/// Finds out which agent writes lines with the members that this line has. The order of the
/// questions matters: the header of pi is ruled out first, and the lines of Codex's old files are
/// recognized last, partly by what they lack.
fn detect_line_origin(line: Raw) -> LineOrigin {
    let names = [
        "type",
        "sessionId",
        "uuid",
        "payload",
        "leafUuid",
        "timestamp",
        "record_type",
    ];
    let [
        line_type,
        session_id,
        uuid,
        payload,
        leaf_uuid,
        timestamp,
        record_type,
    ] = find_members(line, names);
    let is_type = |name: &str| line_type.is_some_and(|line_type| line_type.is(name));
    let is_string = |value: Option<Raw>| value.is_some_and(Raw::is_string);

    // The header of pi and oh-my-pi, and oh-my-pi's title line.
    if is_type("session") || is_type("title") {
        return LineOrigin::Other;
    }

    // Every line of Codex since September 2025.
    if is_string(line_type) && payload.is_some_and(Raw::is_object) {
        return LineOrigin::Known(Origin::Codex);
    }

    // Most lines of Claude Code, and those without an id of a session.
    if is_string(line_type) && is_string(session_id) {
        return LineOrigin::Known(Origin::Claude);
    }
    if is_type("summary") && is_string(leaf_uuid) || is_type("file-history-snapshot") {
        return LineOrigin::Known(Origin::Claude);
    }

    // The first lines of Codex's files before September 2025.
    let is_old_header =
        line_type.is_none() && uuid.is_none() && is_string(timestamp) && is_string(line.get("id"));
    if is_string(record_type) || is_old_header {
        return LineOrigin::Known(Origin::Codex);
    }
    LineOrigin::Unclear
}

/// Reads the whole source at `path` without writing anything, and summarizes it.
pub fn survey_source(source: &JoinedSource, origin: Origin, path: &Path) -> io::Result<Survey> {
    let layout = &source.layout;
    let mut identity = SourceIdentity::default();
    let mut reader = origin.new_reader(
        source,
        layout,
        &EarlierImports::default(),
        EntryWriter::default(),
    )?;
    let extent = for_each_object(source, source.len(), |line, raw| {
        if let Some(raw) = raw {
            identity.add_time(raw);
            if line.span.start >= layout.own_start {
                identity.add_line(raw, origin);
            }
        }
        read_line(reader.as_mut(), origin, &line, raw)
    })?;
    let writer = reader.finish()?;

    Ok(Survey {
        path: path.to_owned(),
        origin,
        id: identity.source_id(path),
        sub_agent: identity.sub_agent(),
        cwd: identity.cwd,
        created_ms: identity.created_ms.unwrap_or_default(),
        modified_ms: identity.last_ms.unwrap_or_default(),
        name: writer.name,
        message_count: writer.message_count,
        bytes_read: extent.bytes_read,
        sha256: sha256_hex(source, extent.bytes_read)?,
        is_torn: extent.is_torn,
        layout: layout.clone(),
        // The first file of the source is the one whose base is not in it.
        missing_base: match origin {
            Origin::Claude => None,
            Origin::Codex => HistoryBase::read(source)?.map(|base| base.rollout),
        },
    })
}

/// Which session a source is, where it began and when: each from the first line that shows it. The
/// time of the last line is there, too.
#[derive(Default)]
struct SourceIdentity {
    session: Option<String>,
    author: SourceAuthor,
    cwd: Option<Text<'static>>,
    created_ms: Option<i64>,
    last_ms: Option<i64>,
}

/// Who wrote a source, so far as its lines show.
#[derive(Default)]
enum SourceAuthor {
    #[default]
    Unknown,
    MainAgent,
    /// A sub-agent, with its id.
    SubAgent(String),
}

impl SourceIdentity {
    /// Takes from a line what the lines before it did not show.
    fn add_line(&mut self, line: Raw, origin: Origin) {
        if self.session.is_none() {
            self.session = session_id_in(line, origin);
            if let Some(agent) = find_codex_agent(line, origin) {
                self.session = Some(agent.session);
                self.author = SourceAuthor::SubAgent(agent.id);
            }
        }
        if matches!(self.author, SourceAuthor::Unknown) {
            self.author = detect_author(line, origin);
        }
        if self.cwd.is_none() {
            self.cwd = find_cwd(line, origin);
        }
    }

    /// Takes the time of a line, also of one that a fork has from another session.
    fn add_time(&mut self, line: Raw) {
        let time_ms = parse_time_ms(line.get("timestamp"));
        self.created_ms = self.created_ms.or(time_ms);
        self.last_ms = self.last_ms.max(time_ms);
    }

    /// Returns the id of the source at `path`: of its session, or `SESSION/SUB-AGENT`.
    ///
    /// The id of the session is the name of the file, without its extension, if that is a UUID:
    /// Claude Code names files after the session, and a file that continues another session may
    /// begin with the lines of that one. Otherwise it is the id that the lines show, if they do.
    fn source_id(&self, path: &Path) -> String {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if let SourceAuthor::SubAgent(agent) = &self.author {
            let session = self.session.as_deref().unwrap_or(&stem);
            return format!("{session}/{agent}");
        }
        match &self.session {
            Some(session) if Uuid::try_parse(&stem).is_err() => session.clone(),
            _ => stem.into_owned(),
        }
    }

    /// Returns the sub-agent that wrote the source, if one did and its session is known.
    fn sub_agent(&self) -> Option<SubAgent> {
        let SourceAuthor::SubAgent(id) = &self.author else {
            return None;
        };
        Some(SubAgent {
            session: self.session.clone()?,
            id: id.clone(),
        })
    }
}

/// The SHA-256 of the first `len` bytes of a source, in hexadecimal digits.
pub fn sha256_hex(source: &dyn ReadAt, len: u64) -> io::Result<String> {
    let mut hash = Sha256::new();
    copy_range(source, 0..len, &mut hash)?;
    let digits = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(digits)
}

impl Survey {
    /// Derives the id of the session that a source becomes. `copy` is 0, unless sessions made of it
    /// before were continued by an agent.
    pub fn derive_session_id(&self, agent: Dialect, copy: u32) -> String {
        derive_session_id(self.origin, &self.id, agent, copy)
    }

    /// Derives the id of the session made of the one that started the sub-agent.
    pub fn derive_owner_id(&self, agent: Dialect, copy: u32) -> Option<String> {
        let sub_agent = self.sub_agent.as_ref()?;
        Some(derive_session_id(
            self.origin,
            &sub_agent.session,
            agent,
            copy,
        ))
    }

    /// The name that the file of the session `id`, made of this source, gets.
    pub fn file_name(&self, id: &str) -> String {
        file_name(&iso_string(self.created_ms), id)
    }
}

fn derive_session_id(origin: Origin, id: &str, agent: Dialect, copy: u32) -> String {
    let name = format!(
        "{}:{id}:{}:{copy}",
        origin.name(),
        agent.agent().constants().name
    );
    Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()).to_string()
}

/// Writes the whole session that a source becomes: its head, then its entries. Returns the number
/// of its entries. `cwd` is its working directory.
pub fn write_converted_session(
    source: &dyn ReadAt,
    survey: &Survey,
    target: &ImportTarget,
    cwd: &Text,
    out: &mut dyn Write,
) -> io::Result<usize> {
    // The name becomes the title, as one that the user has set.
    let name = survey.name.as_ref().map(encode_to_vec);
    let title = name.as_deref().map(Raw::from_checked);
    let title_source = title.map(|_| Raw::from_checked(b"\"user\""));
    let options = ForkOptions {
        session_id: target.id.to_owned(),
        source: None,
        cwd: Some(cwd.as_borrowed()),
    };
    let created = iso_string(survey.created_ms);
    let head = build_head_for(
        target.agent.agent(),
        title,
        title_source,
        Raw::NULL,
        &options,
        &created,
    );
    for line in &head {
        out.write_all(line)?;
        out.write_all(b"\n")?;
    }

    let mut entry_count = 0;
    let mut write_entry = |line: &[u8]| {
        entry_count += 1;
        out.write_all(line)?;
        out.write_all(b"\n")
    };
    emit_new_entries(source, survey, target, &mut write_entry)?;
    Ok(entry_count)
}

/// Calls `emit` with the line of each entry that earlier imports of the source have not written:
/// with all, if there were none. The last one is the record of this import.
///
/// The source is read from its start, because ids and parents depend on the lines before. Lines
/// beyond [`Survey::bytes_read`] become no entries, even if the source has grown since.
pub fn emit_new_entries(
    source: &dyn ReadAt,
    survey: &Survey,
    target: &ImportTarget,
    emit: &mut Emit,
) -> io::Result<()> {
    let writer = EntryWriter::new(
        target.agent,
        target.id,
        target.earlier.ends.len(),
        survey.created_ms,
        emit,
    );
    let mut reader = survey
        .origin
        .new_reader(source, &survey.layout, target.earlier, writer)?;

    let mut import_ends = target.earlier.ends.clone();
    import_ends.push(survey.bytes_read);
    let mut records = ImportRecords {
        survey,
        target,
        import_ends,
        added_count: 0,
    };
    for_each_object(source, survey.bytes_read, |line, raw| {
        records.add_records_before(line.span.start, reader.as_mut())?;
        read_line(reader.as_mut(), survey.origin, &line, raw)
    })?;
    // The record of this import, whose end is that of the source.
    records.add_records_before(u64::MAX, reader.as_mut())
}

/// The records of all imports of a source, this one last. The earlier ones are laid out again, so
/// that what follows them gets the same parents and ids.
struct ImportRecords<'a> {
    survey: &'a Survey,
    target: &'a ImportTarget<'a>,
    /// The offset at which each import ended.
    import_ends: Vec<u64>,
    /// How many of the records have been added.
    added_count: usize,
}

impl ImportRecords<'_> {
    /// Adds the records of the imports that ended at `offset` or before it.
    fn add_records_before(&mut self, offset: u64, reader: &mut dyn SourceReader) -> io::Result<()> {
        while let Some(&end) = self.import_ends.get(self.added_count) {
            if end > offset {
                break;
            }
            self.added_count += 1;
            let ends_so_far = &self.import_ends[..self.added_count];
            let source_path = self.target.source_path;
            reader.add_record(EntryDraft {
                // That of the last byte that was read, so that the record belongs to its import.
                offset: end.saturating_sub(1),
                time_ms: self.survey.created_ms,
                kind: "custom",
                members: record::build_record_members(
                    self.survey,
                    ends_so_far,
                    self.target.earlier.merged_from,
                    source_path,
                ),
            })?;
        }
        Ok(())
    }
}

/// Reads a line; one that is not an object is kept as text.
fn read_line(
    reader: &mut dyn SourceReader,
    origin: Origin,
    line: &Line,
    raw: Option<Raw>,
) -> io::Result<()> {
    if let Some(raw) = raw {
        return reader.read_object(line.span.start, raw);
    }
    let text = Text::from(String::from_utf8_lossy(line.bytes).into_owned());
    let members = kept_line_members(origin.name(), "malformed", &encode_to_vec(&text));
    reader.add_custom(line.span.start, members)
}

/// How much of a source was read.
struct ReadExtent {
    /// The number of bytes, without a torn last line.
    bytes_read: u64,
    /// Whether the last line is torn: it has no newline and is not JSON.
    is_torn: bool,
}

/// Calls `visit` with each line that begins in the first `len` bytes and is neither blank nor torn,
/// and with the value of the line if that is an object. Returns how much was read: the next import
/// adds what follows.
fn for_each_object(
    source: &dyn ReadAt,
    len: u64,
    mut visit: impl FnMut(Line, Option<Raw>) -> io::Result<()>,
) -> io::Result<ReadExtent> {
    let mut extent = ReadExtent {
        bytes_read: 0,
        is_torn: false,
    };
    for_each_line(source, 0..len, |line| {
        let line_end = line.span.end() + u64::from(line.has_newline);
        let values = split_values(&line);
        let is_blank = line.bytes.trim_ascii().is_empty();
        // A torn line does not count as read, so the next import reads it.
        if values.is_empty() && !line.has_newline && !is_blank {
            extent.is_torn = true;
            return Ok(());
        }
        if values.is_empty() && !is_blank {
            visit(line, None)?;
        }
        for (value_line, value) in values {
            visit(value_line, Some(value).filter(|value| value.is_object()))?;
        }
        extent.bytes_read = line_end;
        Ok::<(), io::Error>(())
    })?;
    Ok(extent)
}

/// Returns the values of a line, each with its part of the line; none if the line is not JSON as a
/// whole. There are several where two processes wrote at the same time, and a newline was lost.
fn split_values<'b>(line: &Line<'b>) -> Vec<(Line<'b>, Raw<'b>)> {
    if let Ok(value) = Raw::parse(line.bytes) {
        return vec![(*line, value)];
    }
    let mut values = Vec::new();
    let mut scanner = Scanner::document(line.bytes);
    while !scanner.at_end() {
        let Ok(bytes) = scanner.read_value() else {
            return Vec::new();
        };
        let start = scanner.pos() - bytes.len();
        let part = Line {
            span: Span {
                start: line.span.start + start as u64,
                len: bytes.len() as u64,
            },
            bytes,
            has_newline: line.has_newline,
        };
        values.push((part, Raw::from_checked(bytes)));
    }
    values
}

/// The id of the session, if the line names it: any line of Claude Code, and in Codex the line of
/// the type `session_meta`. Old files of Codex begin with the payload of that line alone.
fn session_id_in(line: Raw, origin: Origin) -> Option<String> {
    let id = match origin {
        Origin::Claude => non_empty_text(line, "sessionId")?,
        Origin::Codex => {
            let line_type = line.get("type");
            if line_type.is_some_and(|line_type| !line_type.is("session_meta")) {
                return None;
            }
            let payload = line.get("payload").unwrap_or(line);
            non_empty_text(payload, "id")?
        }
    };
    Some(id.into_string_lossy())
}

/// Returns the sub-agent that wrote a source, if the line with the id of a session of Codex names
/// one. The `session_id` of a sub-agent is that of the session at the top; older versions name only
/// the thread that started it.
fn find_codex_agent(line: Raw, origin: Origin) -> Option<SubAgent> {
    if origin != Origin::Codex || !line.get("type")?.is("session_meta") {
        return None;
    }
    let payload = line.get("payload")?;
    let spawn = payload
        .get("source")?
        .get("subagent")?
        .get("thread_spawn")?;
    let id = non_empty_text(payload, "id")?;
    let top = non_empty_text(payload, "session_id").filter(|top| *top != id);
    let session = top.or_else(|| non_empty_text(spawn, "parent_thread_id"))?;
    Some(SubAgent {
        session: session.into_string_lossy(),
        id: id.into_string_lossy(),
    })
}

/// Who wrote the file of a line. Only the lines of Claude Code's tree show it, which have a `uuid`.
fn detect_author(line: Raw, origin: Origin) -> SourceAuthor {
    if origin != Origin::Claude || line.get("uuid").is_none() {
        return SourceAuthor::Unknown;
    }
    let is_sidechain = line.get("isSidechain").and_then(Raw::bool) == Some(true);
    match non_empty_text(line, "agentId") {
        Some(id) if is_sidechain => SourceAuthor::SubAgent(id.into_string_lossy()),
        _ => SourceAuthor::MainAgent,
    }
}

/// The working directory, if the line names it: as a member of the line or of its payload, or in
/// the text of a message of Codex.
fn find_cwd(line: Raw, origin: Origin) -> Option<Text<'static>> {
    match origin {
        Origin::Claude => non_empty_text(line, "cwd").map(Text::into_owned),
        Origin::Codex => {
            let payload = line.get("payload").unwrap_or(line);
            if let Some(cwd) = non_empty_text(payload, "cwd") {
                return Some(cwd.into_owned());
            }
            let first_block = payload.get("content")?.items().next()?;
            find_cwd_in_context(first_block.get_text("text")?)
        }
    }
}

/// Finds the working directory in the message by which Codex describes its environment to the
/// model: old files have it only there.
fn find_cwd_in_context(message: Text) -> Option<Text<'static>> {
    let message = message.to_string_lossy();
    let context = message.trim_start().strip_prefix("<environment_context>")?;
    let (_, from_cwd) = context
        .split_once("Current working directory: ")
        .or_else(|| context.split_once("<cwd>"))?;
    // It ends with its line, or with `</cwd>`.
    let cwd = from_cwd.split(['\n', '<']).next()?.trim();
    if cwd.is_empty() {
        None
    } else {
        Some(Text::from(cwd.to_owned()))
    }
}
