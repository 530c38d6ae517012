//! Which session a source is and who wrote it, from what its lines show.

use crate::format::SourceAuthor;
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

impl SourceIdentity {
    /// Begins with what the path of a source shows.
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

    /// Takes from a line what the lines before it did not show.
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

    /// Takes the time of a line, also of one that a fork has from another session.
    pub fn add_time(&mut self, line: Raw, origin: Origin) {
        let time_ms = origin.format().time_ms(line);
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
