//! Which session a source is and who wrote it, from what its lines show.

use crate::Origin;
use crate::format::SourceAuthor;
use crate::joined::{JoinedSource, SourceLayout};
use crate::lines::split_values;
use pisess_core::ops::plan::file_name;
use pisess_core::session::dialect::Dialect;
use pisess_core::session::read::line_chunks::{Line, read_chunks};
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::time::iso_string;
use pisess_store::{PageBuffer, ReadAt as _};
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use uuid::Uuid;

/// Which session a source is, who wrote it, where and when.
#[derive(Clone, Debug)]
pub struct SourceHead {
    /// The path of the source.
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
    /// How its files follow one another.
    pub layout: SourceLayout,
}

/// A sub-agent that wrote a source of its own.
#[derive(Clone, Debug)]
pub struct SubAgent {
    /// The id of the session that started it.
    pub session: String,
    /// Its own id.
    pub id: String,
}

impl SourceHead {
    /// Reads which session the source at `path` is: its id, its author, its working directory and
    /// its time. Reading ends with the line that shows the last of these, usually after a few
    /// lines. A source that lacks one of them is read to its end.
    pub fn read(source: &JoinedSource, origin: Origin, path: &Path) -> io::Result<SourceHead> {
        let mut identity = SourceIdentity::of_path(path, origin);
        let mut buffer = PageBuffer::default();
        // Whether the reading ended early or at the end of the source, what was found counts.
        let _ = read_chunks(&mut buffer, source, 0..source.len(), |chunk| {
            for line in chunk.lines() {
                for (value_line, value) in split_values(&line) {
                    if value.is_object() {
                        identity.add_line(&value_line, value, origin, &source.layout);
                    }
                }
                if identity.is_complete() {
                    return ControlFlow::Break(());
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(identity.into_head(path, origin, &source.layout))
    }

    /// Returns the id of the session. For a sub-agent, this is the id of the session that started
    /// it.
    pub fn session_id(&self) -> &str {
        match &self.sub_agent {
            Some(agent) => &agent.session,
            None => &self.id,
        }
    }

    /// Derives the id of the session that a source becomes: the same source always becomes a
    /// session with the same id. `copy` is 0, unless an agent has continued the session made
    /// before; then the source becomes another session, with another number.
    pub fn derive_session_id(&self, agent: Dialect, copy: u32) -> String {
        derive_session_id(self.origin, &self.id, agent, copy)
    }

    /// Derives the id of the session that is made of the session which started the sub-agent.
    /// `None` if a sub-agent did not write the source.
    pub fn derive_owner_id(&self, agent: Dialect, copy: u32) -> Option<String> {
        let sub_agent = self.sub_agent.as_ref()?;
        Some(derive_session_id(
            self.origin,
            &sub_agent.session,
            agent,
            copy,
        ))
    }

    /// Returns the name of the file for the session that is made of this source. `id` is the id of
    /// that session.
    pub fn file_name(&self, id: &str) -> String {
        file_name(&iso_string(self.created_ms), id)
    }
}

/// Derives the id of a session from the id of its source, so that a later import finds the session.
fn derive_session_id(origin: Origin, id: &str, agent: Dialect, copy: u32) -> String {
    let name = format!(
        "{}:{id}:{}:{copy}",
        origin.name(),
        agent.agent().constants().name
    );
    Uuid::new_v5(&Uuid::NAMESPACE_OID, name.as_bytes()).to_string()
}

/// What the lines of a source have shown so far. Each fact is taken from the first line that shows
/// it, except `last_ms`, which is the latest time of all lines.
#[derive(Default)]
pub struct SourceIdentity {
    session: Option<String>,
    author: SourceAuthor,
    cwd: Option<Text<'static>>,
    created_ms: Option<i64>,
    pub last_ms: Option<i64>,
}

impl SourceIdentity {
    /// Begins with what the path of a source shows: nothing, except for files of some sub-agents.
    pub fn of_path(path: &Path, origin: Origin) -> SourceIdentity {
        let Some(sub_agent) = origin.format().sub_agent_of_path(path) else {
            return SourceIdentity::default();
        };
        SourceIdentity {
            session: Some(sub_agent.session),
            author: SourceAuthor::SubAgent(sub_agent.id),
            ..SourceIdentity::default()
        }
    }

    /// Adds what a line shows, as far as no earlier line has shown it. `value` is the object in the
    /// line.
    pub fn add_line(&mut self, line: &Line, value: Raw, origin: Origin, layout: &SourceLayout) {
        let format = origin.format();
        let time_ms = format.time_ms(value);
        self.created_ms = self.created_ms.or(time_ms);
        self.last_ms = self.last_ms.max(time_ms);
        // A fork begins with lines of the session from which it was forked. They show that session,
        // and not this one.
        if line.span.start < layout.own_start {
            return;
        }

        if self.session.is_none() {
            self.session = format.session_id(value);
        }
        if matches!(self.author, SourceAuthor::Unknown) {
            self.author = format.author(value);
        }
        if self.cwd.is_none() {
            self.cwd = format.cwd(value);
        }
    }

    /// Whether no further line can change the head of the source.
    fn is_complete(&self) -> bool {
        let has_author = !matches!(self.author, SourceAuthor::Unknown);
        self.session.is_some() && has_author && self.cwd.is_some() && self.created_ms.is_some()
    }

    /// Returns the head of the source at `path`.
    pub fn into_head(self, path: &Path, origin: Origin, layout: &SourceLayout) -> SourceHead {
        SourceHead {
            path: path.to_owned(),
            origin,
            id: self.source_id(path),
            sub_agent: self.sub_agent(),
            cwd: self.cwd,
            created_ms: self.created_ms.unwrap_or_default(),
            layout: layout.clone(),
        }
    }

    /// Returns the id of the source at `path`: the id of its session, or `SESSION/SUB-AGENT`.
    ///
    /// If the name of the file without its extension is a UUID, it is the id of the session: Claude
    /// Code names files after the session, and a file that continues another session may begin with
    /// lines of that one. Otherwise the lines show the id; if they do not, it is the name.
    fn source_id(&self, path: &Path) -> String {
        let stem = path.file_stem().unwrap_or_default().to_string_lossy();
        if let SourceAuthor::SubAgent(agent) = &self.author {
            let session = self.session.as_deref().unwrap_or(&stem);
            return format!("{session}/{agent}");
        }
        let is_named_after_session = Uuid::try_parse(&stem).is_ok();
        match &self.session {
            Some(session) if !is_named_after_session => session.clone(),
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
