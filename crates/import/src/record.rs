//! The record of an import: the last entry that it writes.
//!
//! It is named as that of oh-my-pi's importer, with two members more: `read`, the number of bytes
//! of the source that each import had read, and the SHA-256 of the bytes that the last one had.

use super::{Origin, Survey};
use pisess_core::session::content::members;
use pisess_json::Raw;
use pisess_json::write::{Object, array};
use std::path::Path;

/// The type of the entry.
const TYPE: &str = "foreign_session_import";

/// What was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Record {
    /// The agent that wrote the source.
    pub origin: Origin,
    /// The id of the session there.
    pub id: String,
    /// How many bytes of the source each import had read.
    pub read: Vec<u64>,
    /// The SHA-256 of the bytes that the last one had read.
    pub sha256: String,
}

impl Record {
    /// Returns the record in an entry, if it is one.
    pub fn of(line: &[u8]) -> Option<Record> {
        let [kind, data] = members(Raw::checked(line.trim_ascii()), ["customType", "data"]);
        let data = data.filter(|_| kind.is_some_and(|kind| kind.is(TYPE)))?;
        let [source, id, read, sha256] = members(data, ["source", "sourceId", "read", "sha256"]);
        let source = source?;
        let text = |value: Option<Raw>| Some(value?.text()?.to_string_lossy().into_owned());
        Some(Record {
            origin: [Origin::Claude, Origin::Codex]
                .into_iter()
                .find(|origin| source.is(origin.name()))?,
            id: text(id)?,
            read: read?
                .items()
                .map(|read| Some(read.index()? as u64))
                .collect::<Option<_>>()?,
            sha256: text(sha256)?,
        })
    }
}

/// Returns the members of the entry for a source at `path`, of which the imports had read so many
/// bytes, each.
pub(super) fn members_of(survey: &Survey, read: &[u64], path: &Path) -> Object {
    let data = Object::new()
        .str("source", survey.origin.name())
        .str("sourceId", &survey.id)
        .str("sourcePath", &path.to_string_lossy())
        .text_or_null("sourceCwd", survey.cwd.as_ref())
        .json("read", &array(read.iter().map(u64::to_string)))
        .str("sha256", &survey.sha256);
    Object::new()
        .str("customType", TYPE)
        .json("data", &data.finish())
}
