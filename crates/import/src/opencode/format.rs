//! What is known of OpenCode before its lines are read.

use super::OpenCodeReader;
use super::document::ExportDocument;
use super::parts::created_ms;
use crate::format::{AgentFacts, SourceAuthor, SourceFormat, StoreLayout};
use crate::joined::{JoinedSource, SourceLayout};
use crate::parts::non_empty_text;
use crate::writer::EntryWriter;
use crate::{EarlierImports, Origin, SourceReader};
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::{ReadAt, spool_written};
use std::io;

/// OpenCode.
pub struct OpenCodeFormat;

const FACTS: AgentFacts = AgentFacts {
    name: "opencode",
    display_name: "OpenCode",
    store: StoreLayout {
        variable: "XDG_DATA_HOME",
        below_variable: "opencode",
        below_home: ".local/share/opencode",
        subfolders: &["storage/session"],
    },
    resume_command: ["opencode", "--session"],
};

impl SourceFormat for OpenCodeFormat {
    fn facts(&self) -> &'static AgentFacts {
        &FACTS
    }

    fn writes_line(&self, line: Raw) -> bool {
        session_of(line).is_some()
    }

    fn other_place(&self) -> Option<&'static str> {
        Some(
            "newer versions keep them in a database: `opencode session list` lists those, and `pisess import ID` reads one",
        )
    }

    /// An export is on one line if a program has shortened the JSON. Some versions of OpenCode
    /// wrote the files of the storage on one line.
    fn begins_document(&self, start: &[u8]) -> bool {
        start.starts_with(b"{\"info\":{") || start.starts_with(b"{\"id\":\"ses")
    }

    fn is_document_name(&self, name: &str) -> bool {
        name.starts_with("ses_") && name.ends_with(".json")
    }

    fn is_document(&self, file: &dyn ReadAt) -> io::Result<bool> {
        Ok(ExportDocument::read(file)?.is_some())
    }

    /// Converts a document to lines, in memory or, if they are many, in a temporary file.
    fn open_document(&self, file: &dyn ReadAt) -> io::Result<Option<JoinedSource>> {
        let Some(document) = ExportDocument::read(file)? else {
            return Ok(None);
        };
        let lines = match spool_written(&mut |out| document.write_lines(file, out)) {
            Ok(lines) => lines,
            // A message is not JSON, so OpenCode did not write the document.
            Err(error) if error.kind() == Some(io::ErrorKind::InvalidData) => return Ok(None),
            Err(error) => return Err(io::Error::other(error)),
        };

        let mut source = JoinedSource::single(Box::new(lines));
        source.layout.title = document.title();
        Ok(Some(source))
    }

    /// The first line names the session. In the session of a sub-agent, it also names the session
    /// that started the sub-agent.
    fn session_id(&self, line: Raw) -> Option<String> {
        let session = session_of(line)?;
        let id = non_empty_text(session, "parentID").or_else(|| non_empty_text(session, "id"))?;
        Some(id.into_string_lossy())
    }

    fn author(&self, line: Raw) -> SourceAuthor {
        let Some(session) = session_of(line) else {
            return SourceAuthor::Unknown;
        };
        let is_of_sub_agent = non_empty_text(session, "parentID").is_some();
        match non_empty_text(session, "id") {
            Some(id) if is_of_sub_agent => SourceAuthor::SubAgent(id.into_string_lossy()),
            _ => SourceAuthor::MainAgent,
        }
    }

    fn cwd(&self, line: Raw) -> Option<Text<'static>> {
        non_empty_text(session_of(line)?, "directory").map(Text::into_owned)
    }

    fn time_ms(&self, line: Raw) -> Option<i64> {
        line_time_ms(line)
    }

    fn new_reader<'o>(
        &self,
        _source: &'o dyn ReadAt,
        layout: &SourceLayout,
        _earlier: &EarlierImports,
        writer: EntryWriter<'o>,
    ) -> io::Result<Box<dyn SourceReader<'o> + 'o>> {
        Ok(Box::new(OpenCodeReader::new(layout.title.clone(), writer)))
    }
}

/// Returns the session in the first line of a source; `None` for any other line.
fn session_of(line: Raw<'_>) -> Option<Raw<'_>> {
    line.get(Origin::OpenCode.name())
        .filter(|session| session.is_object())
}

/// Returns the time of a line, in milliseconds since 1970: when the session began, or when the
/// message was completed.
pub(super) fn line_time_ms(line: Raw) -> Option<i64> {
    if let Some(session) = session_of(line) {
        return created_ms(session);
    }
    let info = line.get("info")?;
    let completed = info.get("time").and_then(|time| time.get("completed"));
    crate::parts::parse_time_ms(completed).or_else(|| created_ms(info))
}
