//! What a source contains, found without writing anything.

use crate::Origin;
use crate::convert::EarlierImports;
use crate::identity::SourceIdentity;
use crate::joined::{JoinedSource, SourceLayout};
use crate::lines::{for_each_object, read_line};
use crate::writer::EntryWriter;
use pisess_core::ops::plan::file_name;
use pisess_core::session::dialect::Dialect;
use pisess_json::text::Text;
use pisess_json::time::iso_string;
use pisess_store::{ReadAt, copy_range};
use sha2::{Digest, Sha256};
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};
use uuid::Uuid;

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
    /// The number of bytes that were read. A torn last line does not count.
    pub bytes_read: u64,
    /// The SHA-256 of these bytes.
    pub sha256: String,
    /// Whether the last line is torn.
    pub is_torn: bool,
    /// How its files follow one another.
    pub layout: SourceLayout,
    /// The id of the file with the turns before the first line, if it was not found.
    pub missing_base: Option<String>,
}

impl Survey {
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

/// A sub-agent that wrote a source of its own.
#[derive(Clone, Debug)]
pub struct SubAgent {
    /// The id of the session that started it.
    pub session: String,
    /// Its own id.
    pub id: String,
}

/// Reads the whole source at `path` without writing anything, and summarizes it.
pub fn survey_source(source: &JoinedSource, origin: Origin, path: &Path) -> io::Result<Survey> {
    let layout = &source.layout;
    let mut identity = SourceIdentity::of_path(path, origin);
    // The default writer only lays out entries. It finds the name, and counts the messages.
    let mut reader = origin.format().new_reader(
        source,
        layout,
        &EarlierImports::default(),
        EntryWriter::default(),
    )?;
    let extent = for_each_object(source, source.len(), |line, raw| {
        if let Some(raw) = raw {
            identity.add_time(raw, origin);
            // Lines before this were written for another session, so they do not show this one.
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
        sha256: sha256_hex(source, 0..extent.bytes_read)?,
        is_torn: extent.is_torn,
        layout: layout.clone(),
        missing_base: origin.format().base_file_id(source)?,
    })
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

/// Returns the SHA-256 of a range of a source, in hexadecimal digits.
pub fn sha256_hex(source: &dyn ReadAt, range: Range<u64>) -> io::Result<String> {
    let mut hash = Sha256::new();
    copy_range(source, range, &mut hash)?;
    let digits = hash
        .finalize()
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    Ok(digits)
}
