//! Which session a source is and who wrote it, from what its lines show.

use crate::format::SourceAuthor;
use crate::{Origin, SubAgent};
use pisess_json::Raw;
use pisess_json::text::Text;
use std::path::Path;
use uuid::Uuid;

/// Which session a source is, who wrote it, where and when. Each is taken from the first line that
/// shows it, except `last_ms`, which is the latest time of all lines.
#[derive(Default)]
pub struct SourceIdentity {
    session: Option<String>,
    author: SourceAuthor,
    pub cwd: Option<Text<'static>>,
    pub created_ms: Option<i64>,
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

    /// Takes the session, the author and the working directory from a line, as far as no line
    /// before it has shown them.
    pub fn add_line(&mut self, line: Raw, origin: Origin) {
        let format = origin.format();
        if self.session.is_none() {
            self.session = format.session_id(line);
        }
        if matches!(self.author, SourceAuthor::Unknown) {
            self.author = format.author(line);
        }
        if self.cwd.is_none() {
            self.cwd = format.cwd(line);
        }
    }

    /// Takes the time of a line. The caller also passes lines that a fork has from another session.
    pub fn add_time(&mut self, line: Raw, origin: Origin) {
        let time_ms = origin.format().time_ms(line);
        self.created_ms = self.created_ms.or(time_ms);
        self.last_ms = self.last_ms.max(time_ms);
    }

    /// Returns the id of the source at `path`: the id of its session, or `SESSION/SUB-AGENT`.
    ///
    /// If the name of the file without its extension is a UUID, it is the id of the session: Claude
    /// Code names files after the session, and a file that continues another session may begin with
    /// lines of that one. Otherwise the lines show the id; if they do not, it is the name.
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
