//! The record of an import: the last entry that it writes.
//!
//! The entry has the name of the record that oh-my-pi's importer writes, and three more members:
//!
//! - `read` is a list: for each import so far, the number of bytes of the source that it had read.
//! - `sha256` is the SHA-256 of the bytes that the last import had read.
//! - `mergedFrom` is the offset from which the lines of a response are one message. Records without
//!   it are from versions that did not merge lines.

use super::{EarlierImports, Origin, SourceHead};
use pisess_core::session::content::find_members;
use pisess_json::Raw;
use pisess_json::write::{Object, array};
use std::path::Path;

/// The type of the entry.
const TYPE: &str = "foreign_session_import";

/// What was imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportRecord {
    /// The agent that wrote the source.
    pub origin: Origin,
    /// The id of the session in the source.
    pub id: String,
    /// The path of the source at the last import; empty if it is not recorded.
    pub source_path: String,
    /// The imports of the source up to this record.
    pub imports: EarlierImports,
    /// The SHA-256 of the bytes that the last of these imports had read.
    pub sha256: String,
}

impl ImportRecord {
    /// Reads the record of an import from the line of an entry:
    ///
    /// ```text
    /// {"type":"custom","customType":"foreign_session_import","data":{"source":"claude",
    ///     "sourceId":"…","sourcePath":"…","read":[1204,2310],"mergedFrom":0,"sha256":"…"}, …}
    /// ```
    ///
    /// `None` if the entry is not such a record, or lacks a member.
    pub fn parse(line: &[u8]) -> Option<ImportRecord> {
        let entry = Raw::from_checked(line.trim_ascii());
        let [custom_type, data] = find_members(entry, ["customType", "data"]);
        if !custom_type.is_some_and(|custom_type| custom_type.is(TYPE)) {
            return None;
        }

        let names = [
            "source",
            "sourceId",
            "sourcePath",
            "read",
            "mergedFrom",
            "sha256",
        ];
        let [source, id, source_path, read, merged_from, sha256] = find_members(data?, names);
        let source = source?;
        let mut origins = Origin::all().iter().copied();
        let origin = origins.find(|origin| source.is(origin.name()))?;
        let id = id?.text()?.into_string_lossy();

        let source_path = source_path.and_then(Raw::text).unwrap_or_default();
        Some(ImportRecord {
            origin,
            id,
            source_path: source_path.into_string_lossy(),
            imports: parse_imports(read?, merged_from)?,
            sha256: sha256?.text()?.into_string_lossy(),
        })
    }
}

/// Reads the imports up to a record from its members `read` and `mergedFrom`. `None` if one has
/// something else than numbers.
fn parse_imports(read: Raw, merged_from: Option<Raw>) -> Option<EarlierImports> {
    let mut ends = Vec::new();
    for bytes_read in read.items() {
        ends.push(bytes_read.as_index()? as u64);
    }
    let merged_from = match merged_from {
        Some(offset) => offset.as_index()? as u64,
        // A version that did not merge the lines of a response wrote the record. So merging begins
        // only where that import ended.
        None => ends.last().copied().unwrap_or(0),
    };
    Some(EarlierImports { ends, merged_from })
}

/// Builds the members of the record of an import, from which a later import learns where to go on.
///
/// `read_by_import` has the number of bytes of the source that each import had read; the import of
/// this record is the last one. `sha256` is the hash of all bytes that were read. `merged_from` is
/// the offset from which the lines of a response are one message.
pub(super) fn build_record_members(
    source: &SourceHead,
    sha256: &str,
    read_by_import: &[u64],
    merged_from: u64,
    source_path: &Path,
) -> Object {
    let data = Object::new()
        .str("source", source.origin.name())
        .str("sourceId", &source.id)
        .str("sourcePath", &source_path.to_string_lossy())
        .text_or_null("sourceCwd", source.cwd.as_ref())
        .json("read", &array(read_by_import.iter().map(u64::to_string)))
        .number("mergedFrom", merged_from as f64)
        .str("sha256", sha256);
    Object::new()
        .str("customType", TYPE)
        .json("data", &data.finish())
}
