//! Which session a source is and who wrote it, from what its lines show.

use crate::parts::{non_empty_text, parse_time_ms};
use crate::{Origin, SubAgent};
use pisess_json::Raw;
use pisess_json::text::Text;
use std::path::Path;
use uuid::Uuid;

/// Which session a source is, where it began and when: each from the first line that shows it. The
/// time of the last line is there, too.
#[derive(Default)]
pub struct SourceIdentity {
    session: Option<String>,
    author: SourceAuthor,
    pub cwd: Option<Text<'static>>,
    pub created_ms: Option<i64>,
    pub last_ms: Option<i64>,
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
    pub fn add_line(&mut self, line: Raw, origin: Origin) {
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
    pub fn add_time(&mut self, line: Raw) {
        let time_ms = parse_time_ms(line.get("timestamp"));
        self.created_ms = self.created_ms.or(time_ms);
        self.last_ms = self.last_ms.max(time_ms);
    }

    /// Returns the id of the source at `path`: of its session, or `SESSION/SUB-AGENT`.
    ///
    /// The id of the session is the name of the file, without its extension, if that is a UUID:
    /// Claude Code names files after the session, and a file that continues another session may
    /// begin with the lines of that one. Otherwise it is the id that the lines show, if they do.
    pub fn source_id(&self, path: &Path) -> String {
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
    pub fn sub_agent(&self) -> Option<SubAgent> {
        let SourceAuthor::SubAgent(id) = &self.author else {
            return None;
        };
        Some(SubAgent {
            session: self.session.clone()?,
            id: id.clone(),
        })
    }
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
