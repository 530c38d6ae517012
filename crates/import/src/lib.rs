//! Sessions of other agents, converted: Claude Code and Codex.
//!
//! ```text
//! lines of the source ── claude, codex ──> drafts ── writer ──> entries of pi, or converted for oh-my-pi
//! ```
//!
//! A reader decides what a line becomes; the writer gives ids, parents and times. Both see one line
//! at a time, and what a line becomes depends only on the lines before it, so that an import can be
//! continued when the source has grown. Lines without a counterpart become custom entries, and what
//! a message has no place for is a member of its entry, named after the source. The last entry of
//! an import records what was read ([`record`]).

mod claude;
mod codex;
mod parts;
pub mod record;
mod writer;

pub use record::Record;

use parts::{text, time};
use pisess_core::agents::Emit;
use pisess_core::ops::fork::{ForkOptions, head_for};
use pisess_core::ops::plan::file_name;
use pisess_core::session::content::members;
use pisess_core::session::dialect::Dialect;
use pisess_core::session::read::line_chunks::{Line, each_line, read_chunks};
use pisess_json::Raw;
use pisess_json::string::encoded;
use pisess_json::text::Text;
use pisess_json::time::iso_string;
use pisess_json::write::Object;
use pisess_store::{PageBuffer, ReadAt, copy_range};
use sha2::{Digest, Sha256};
use std::io::{self, Write};
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use uuid::Uuid;
use writer::{Draft, Writer};

/// An agent whose sessions can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub enum Origin {
    /// Claude Code
    Claude,
    /// Codex
    Codex,
}

/// Makes entries of the lines of a source.
trait Reader<'o> {
    /// Reads a line that is an object.
    fn line(&mut self, offset: u64, raw: Raw) -> io::Result<()>;

    /// Adds a custom entry of the line at `offset`, with these members.
    fn custom(&mut self, offset: u64, members: Object) -> io::Result<()>;

    /// Adds the record of an import below the leaf, so that it is where the session continues.
    fn record(&mut self, draft: Draft) -> io::Result<()>;

    /// Adds what is held, and returns the writer.
    fn end(self: Box<Self>) -> io::Result<Writer<'o>>;
}

/// What a source contains.
#[derive(Clone, Debug)]
pub struct Survey {
    /// Its path.
    pub path: PathBuf,
    /// The agent that wrote it.
    pub origin: Origin,
    /// The id of its session.
    pub id: String,
    /// If a sub-agent wrote it: the id of the session that started it, and the sub-agent's own.
    pub sub_agent: Option<(String, String)>,
    /// The working directory.
    pub cwd: Option<Text<'static>>,
    /// The time of its first line, in milliseconds since 1970.
    pub created_ms: i64,
    /// The name of the session.
    pub name: Option<Text<'static>>,
    /// The number of its messages.
    pub messages: usize,
    /// The number of bytes that were read: without a torn last line.
    pub read: u64,
    /// Their SHA-256.
    pub sha256: String,
    /// Whether the last line is torn.
    pub is_torn: bool,
}

/// The session to be made of a source.
#[derive(Clone, Debug)]
pub struct Target<'a> {
    /// The agent.
    pub agent: Dialect,
    /// The id of the session.
    pub id: &'a str,
    /// The path of the source, for the record.
    pub source: &'a Path,
    /// How many bytes earlier imports had read, each.
    pub earlier: &'a [u64],
}

impl Origin {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            Origin::Claude => "claude",
            Origin::Codex => "codex",
        }
    }

    /// Returns the agent that wrote a file; `None` if neither did.
    pub fn of(source: &dyn ReadAt) -> io::Result<Option<Origin>> {
        let mut left = LOOKED_AT;
        let found = read_chunks(
            &mut PageBuffer::default(),
            source,
            0..source.len(),
            |chunk| {
                chunk.lines().try_for_each(|line| {
                    left -= 1;
                    match Raw::parse(line.bytes).ok().and_then(origin_of) {
                        Some(origin) => ControlFlow::Break(origin),
                        None if left == 0 => ControlFlow::Break(None),
                        None => ControlFlow::Continue(()),
                    }
                })
            },
        );
        Ok(found?.break_value().flatten())
    }

    fn reader<'o>(
        self,
        source: &dyn ReadAt,
        earlier: &[u64],
        writer: Writer<'o>,
    ) -> io::Result<Box<dyn Reader<'o> + 'o>> {
        match self {
            Origin::Claude => Ok(Box::new(claude::Claude::new(writer))),
            Origin::Codex => Ok(Box::new(codex::Codex::new(source, earlier, writer)?)),
        }
    }
}

/// The number of lines in which to look for the agent's name.
const LOOKED_AT: usize = 100;

/// Returns the agent that wrote a line; `None` if the line does not show it, and `Some(None)` if it
/// shows that neither did.
fn origin_of(line: Raw) -> Option<Option<Origin>> {
    let names = [
        "type",
        "sessionId",
        "uuid",
        "payload",
        "leafUuid",
        "timestamp",
        "record_type",
    ];
    let [kind, session, uuid, payload, leaf, timestamp, record] = members(line, names);
    let is = |name: &str| kind.is_some_and(|kind| kind.is(name));
    let is_text = |value: Option<Raw>| value.is_some_and(Raw::is_string);
    match () {
        () if is("session") || is("title") => Some(None),
        () if payload.is_some_and(Raw::is_object) && is_text(kind) => Some(Some(Origin::Codex)),
        () if is_text(session) && is_text(kind) => Some(Some(Origin::Claude)),
        () if is("summary") && is_text(leaf) || is("file-history-snapshot") => {
            Some(Some(Origin::Claude))
        }
        // The first lines of Codex's files before September 2025.
        () if is_text(record) => Some(Some(Origin::Codex)),
        () if kind.is_none() && uuid.is_none() && is_text(timestamp) && is_text(line.get("id")) => {
            Some(Some(Origin::Codex))
        }
        () => None,
    }
}

/// Reads the source at `path`, and returns what it contains.
pub fn survey(source: &dyn ReadAt, origin: Origin, path: &Path) -> io::Result<Survey> {
    // What the first line shows that shows it.
    let (mut session, mut sub_agent, mut cwd, mut created_ms) = (None, None, None, None);
    let mut reader = origin.reader(source, &[], Writer::default())?;
    let (read, is_torn) = each_value(source, source.len(), |line, raw| {
        if let Some(raw) = raw {
            session = session.take().or_else(|| session_of(raw, origin));
            sub_agent = sub_agent.take().or_else(|| sub_agent_of(raw, origin));
            cwd = cwd.take().or_else(|| cwd_of(raw, origin));
            created_ms = created_ms.or_else(|| time(raw.get("timestamp")));
        }
        read_line(reader.as_mut(), origin, &line, raw)
    })?;
    let Writer { name, messages, .. } = reader.end()?;
    let (stem, sub_agent) = (
        path.file_stem().unwrap_or_default().to_string_lossy(),
        sub_agent.flatten(),
    );
    // Claude Code names files after the session, and a file that continues another session may
    // begin with the lines of that one.
    let id = match (&sub_agent, &session) {
        (Some(agent), session) => format!("{}/{agent}", session.as_deref().unwrap_or(&stem)),
        (None, Some(session)) if Uuid::try_parse(&stem).is_err() => session.clone(),
        (None, _) => stem.into_owned(),
    };
    Ok(Survey {
        path: path.to_owned(),
        origin,
        id,
        sub_agent: session.zip(sub_agent),
        cwd,
        created_ms: created_ms.unwrap_or_default(),
        name,
        messages,
        read,
        sha256: digest(source, read)?,
        is_torn,
    })
}

/// Returns the SHA-256 of the first bytes of a source.
pub fn digest(source: &dyn ReadAt, len: u64) -> io::Result<String> {
    let mut hash = Sha256::new();
    copy_range(source, 0..len, &mut hash)?;
    Ok(hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect())
}

impl Survey {
    /// Returns the id of the session that a source becomes. `copy` is 0, unless sessions made of it
    /// before were continued by an agent.
    pub fn session_id(&self, agent: Dialect, copy: u32) -> String {
        session_id(self.origin, &self.id, agent, copy)
    }

    /// Returns the id of the session made of the one that started the sub-agent.
    pub fn owner_id(&self, agent: Dialect, copy: u32) -> Option<String> {
        self.sub_agent
            .as_ref()
            .map(|(session, _)| session_id(self.origin, session, agent, copy))
    }

    /// Returns the name of the file of a session that a source becomes.
    pub fn file_name(&self, id: &str) -> String {
        file_name(&iso_string(self.created_ms), id)
    }
}

fn session_id(origin: Origin, id: &str, agent: Dialect, copy: u32) -> String {
    let name = format!(
        "{}:{id}:{}:{copy}",
        origin.name(),
        agent.agent().constants().name
    );
    Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()).to_string()
}

/// Writes the whole session that a source becomes, and returns the number of its entries. `cwd` is
/// its working directory.
pub fn write(
    source: &dyn ReadAt,
    survey: &Survey,
    target: &Target,
    cwd: &Text,
    out: &mut dyn Write,
) -> io::Result<usize> {
    let name = survey.name.as_ref().map(encoded);
    let title = name.as_deref().map(Raw::checked);
    let title_source = title.map(|_| Raw::checked(b"\"user\""));
    let options = ForkOptions {
        session_id: target.id.to_owned(),
        source: None,
        cwd: Some(cwd.borrowed()),
    };
    let created = iso_string(survey.created_ms);
    let head = head_for(
        target.agent.agent(),
        title,
        title_source,
        Raw::NULL,
        &options,
        &created,
    );
    let mut lines = 0;
    let mut take = |line: &[u8]| {
        lines += 1;
        out.write_all(line)?;
        out.write_all(b"\n")
    };
    head.iter().try_for_each(|line| take(line))?;
    convert(source, survey, target, &mut take)?;
    Ok(lines - head.len())
}

/// Hands on the lines that come after those of earlier imports: all entries, if there were none.
/// The last one is the record of the import.
pub fn convert(
    source: &dyn ReadAt,
    survey: &Survey,
    target: &Target,
    take: &mut Emit,
) -> io::Result<()> {
    let since = target.earlier.last().copied().unwrap_or(0);
    let writer = Writer::new(target.agent, target.id, (since, survey.created_ms), take);
    let mut reader = survey.origin.reader(source, target.earlier, writer)?;
    let ends: Vec<_> = target
        .earlier
        .iter()
        .copied()
        .chain([survey.read])
        .collect();
    let mut recorded = 0;
    let mut record = |reader: &mut dyn Reader, offset: u64| {
        while let Some(&read) = ends.get(recorded).filter(|read| **read <= offset) {
            recorded += 1;
            let members = record::members_of(survey, &ends[..recorded], target.source);
            let (offset, time_ms) = (read.saturating_sub(1), survey.created_ms);
            reader.record(Draft {
                offset,
                time_ms,
                kind: "custom",
                members,
            })?;
        }
        Ok(())
    };
    each_value(source, survey.read, |line, raw| {
        record(reader.as_mut(), line.span.start)?;
        read_line(reader.as_mut(), survey.origin, &line, raw)
    })?;
    record(reader.as_mut(), u64::MAX)
}

/// Reads a line; one that is no object is kept as it is.
fn read_line(
    reader: &mut dyn Reader,
    origin: Origin,
    line: &Line,
    raw: Option<Raw>,
) -> io::Result<()> {
    if let Some(raw) = raw {
        return reader.line(line.span.start, raw);
    }
    let text = Text::from(String::from_utf8_lossy(line.bytes).into_owned());
    reader.custom(
        line.span.start,
        parts::kept(origin.name(), "malformed", &encoded(&text)),
    )
}

/// Calls `take` with each line that begins in the first `len` bytes and is not blank, with its
/// value if that is an object. Returns how many bytes were read, and whether the last line is torn,
/// which is then not among them.
fn each_value(
    source: &dyn ReadAt,
    len: u64,
    mut take: impl FnMut(Line, Option<Raw>) -> io::Result<()>,
) -> io::Result<(u64, bool)> {
    let (mut read, mut is_torn) = (0, false);
    each_line(source, 0..len, |line| {
        let value = Raw::parse(line.bytes).ok();
        let is_blank = line.bytes.trim_ascii().is_empty();
        if value.is_none() && !line.newline && !is_blank {
            is_torn = true;
            return Ok(());
        }
        if !is_blank {
            take(line, value.filter(|value| value.is_object()))?;
        }
        read = line.span.end() + u64::from(line.newline);
        Ok::<(), io::Error>(())
    })?;
    Ok((read, is_torn))
}

/// Returns the id of the session that a line names.
fn session_of(line: Raw, origin: Origin) -> Option<String> {
    let id = match origin {
        Origin::Claude => text(line, "sessionId"),
        Origin::Codex if line.get("type").is_none_or(|kind| kind.is("session_meta")) => {
            text(line.get("payload").unwrap_or(line), "id")
        }
        Origin::Codex => None,
    };
    id.map(Text::into_string_lossy)
}

/// Returns the sub-agent whose line it is. `None` if the line does not show whether one wrote the
/// file: the first one of the tree of Claude Code does.
fn sub_agent_of(line: Raw, origin: Origin) -> Option<Option<String>> {
    let is_side = || line.get("isSidechain").and_then(Raw::bool) == Some(true);
    let agent = || {
        text(line, "agentId")
            .filter(|_| is_side())
            .map(Text::into_string_lossy)
    };
    (origin == Origin::Claude && line.get("uuid").is_some()).then(agent)
}

/// Returns the working directory that a line names.
fn cwd_of(line: Raw, origin: Origin) -> Option<Text<'static>> {
    match origin {
        Origin::Claude => text(line, "cwd").map(Text::into_owned),
        Origin::Codex => {
            let payload = line.get("payload").unwrap_or(line);
            let said = || {
                payload
                    .get("content")?
                    .items()
                    .next()?
                    .get_text("text")
                    .and_then(cwd_in)
            };
            text(payload, "cwd").map(Text::into_owned).or_else(said)
        }
    }
}

/// Returns the working directory in what Codex tells the model about its environment: old files
/// have it only there.
fn cwd_in(text: Text) -> Option<Text<'static>> {
    let whole = text.to_string_lossy();
    let context = whole.trim_start().strip_prefix("<environment_context>")?;
    let after = |start: &str| context.split_once(start).map(|(_, rest)| rest);
    let rest = after("Current working directory: ").or_else(|| after("<cwd>"))?;
    let cwd = rest.split(['\n', '<']).next()?.trim();
    (!cwd.is_empty()).then(|| Text::from(cwd.to_owned()))
}
