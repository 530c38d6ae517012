//! Archived sessions: the files that belong to a session by their names in an archive, and what a
//! list shows of them.
//!
//! The files of an archive are `session`; `pruned`, which `prune` keeps beside it; `folder/…`, the
//! files of its sub-agents; and `blob/HASH`, payloads that oh-my-pi keeps outside of it. No name is
//! a path, so an archive cannot make pisess write to any other place; and a blob is restored only
//! if its content has its hash. The format of the file is described in
//! `crates/store/src/archive.rs`.

use crate::load::names::SessionCandidate;
use crate::load::{LoadError, read_header};
use crate::ops::Refusal;
use crate::ops::list::ListedSession;
use crate::ops::prune::pruned_file;
use crate::session::Header;
use crate::session::blobs::{blob_hashes, has_hash, is_blob_hash};
use crate::session::read::line_chunks::for_each_line;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_json::time::{iso_string, parse_js_date};
use pisess_json::write::Object;
use pisess_store::{FileBelow, Glance, ReadAt, StoreError, copy_range};
use sha2::{Digest, Sha256};
use std::collections::BTreeSet;
use std::io::{self, Read};
use std::path::{Component, Path, PathBuf};

/// The name of the session file in its archive.
pub const SESSION: &str = "session";
/// The name, in an archive, of the file with the content that was pruned from the session.
pub const PRUNED: &str = "pruned";
/// The prefix of the archive names of files in the session's directory.
const FOLDER: &str = "folder/";
/// The prefix of the archive names of blobs.
const BLOB: &str = "blob/";

/// A file that is archived with a session.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Companion {
    /// The name of the file in an archive.
    pub name: String,
    /// The path of the file on disk.
    pub path: PathBuf,
}

impl Companion {
    /// Whether the file may be a session of a sub-agent, by its name.
    pub fn is_session(&self) -> bool {
        self.name.starts_with(FOLDER) && self.name.ends_with(".jsonl")
    }
}

/// Returns the directory in which oh-my-pi keeps the files of a session, including those of its
/// sub-agents: the session's path without its extension. `None` if the path has no extension.
pub fn session_folder(session: &Path) -> Option<PathBuf> {
    let folder = session.with_extension("");
    if folder == session {
        return None;
    }
    Some(folder)
}

/// Returns the files that are kept beside a session and move with it: the file with its pruned
/// payloads, and the files in its directory.
///
/// # Errors
/// If one of them cannot be examined, or cannot be archived: it is behind a symbolic link, a FIFO
/// or a device, or its name cannot be recorded.
pub fn find_companions(session: &Path) -> Result<Vec<Companion>, Refusal> {
    let mut companions = Vec::new();
    let pruned = pruned_file(session);
    if pisess_store::own_file(&pruned).map_err(refuse_unreadable)? {
        companions.push(Companion {
            name: PRUNED.to_owned(),
            path: pruned,
        });
    }
    let Some(folder) = session_folder(session) else {
        return Ok(companions);
    };
    // The archive replaces these files on the disk, so a file that it could not restore is refused.
    for file in pisess_store::own_files_below(&folder).map_err(refuse_unreadable)? {
        let FileBelow { path, is_regular } = file;
        if !is_regular {
            return Err(Refusal::new(format!(
                "{} is not a regular file",
                path.display()
            )));
        }
        let Some(name) = restorable_name(session, &folder, &path) else {
            return Err(Refusal::new(format!(
                "the name of {} cannot be recorded",
                path.display()
            )));
        };
        companions.push(Companion { name, path });
    }
    Ok(companions)
}

/// Converts an error of the store to the refusal to archive the session.
fn refuse_unreadable(error: StoreError) -> Refusal {
    Refusal::new(error.to_string())
}

/// Returns the archive name of a file below a session's directory. `None` if unpacking that name
/// would not lead back to `path`.
fn restorable_name(session: &Path, folder: &Path, path: &Path) -> Option<String> {
    let name = archive_name(folder, path)?;
    let no_blobs = None;
    let restored = restore_path(&name, session, no_blobs)?;
    if restored == path { Some(name) } else { None }
}

/// Returns the archive name of a file below a session's directory, such as `folder/a/b.jsonl`.
/// `None` if the path is not UTF-8.
fn archive_name(folder: &Path, path: &Path) -> Option<String> {
    let mut parts = Vec::new();
    for part in path.strip_prefix(folder).ok()?.components() {
        parts.push(part.as_os_str().to_str()?);
    }
    Some(format!("{FOLDER}{}", parts.join("/")))
}

/// Returns the hashes of the blobs that a session refers to.
pub fn find_blob_hashes(source: &dyn ReadAt) -> io::Result<BTreeSet<String>> {
    let mut hashes = BTreeSet::new();
    for_each_line(source, 0..source.len(), |line| {
        hashes.extend(blob_hashes(line.bytes).map(str::to_owned));
        Ok::<(), io::Error>(())
    })?;
    Ok(hashes)
}

/// Returns those blobs (payloads of oh-my-pi in files named after their hashes) that exist in a
/// directory. A file whose content has another hash is left out, because it would not be restored.
/// It is not lost: archiving leaves all blobs in their directory.
pub fn find_existing_blobs(
    hashes: BTreeSet<String>,
    blob_folder: &Path,
) -> io::Result<Vec<Companion>> {
    let mut blobs = Vec::new();
    for hash in hashes {
        let path = blob_folder.join(&hash);
        let file = match Glance::open(&path) {
            Ok(file) => file,
            // The session may refer to a blob that its agent has deleted.
            Err(error) if error.kind() == Some(io::ErrorKind::NotFound) => continue,
            Err(error) => return Err(io::Error::other(error)),
        };
        let mut hasher = Sha256::new();
        copy_range(&file, 0..file.len(), &mut hasher)?;
        if has_hash(hasher, &hash) {
            blobs.push(Companion {
                name: format!("{BLOB}{hash}"),
                path,
            });
        }
    }
    Ok(blobs)
}

/// Whether the content of a blob in an archive has the hash in its name. Reads all of the content.
pub fn is_blob_content(name: &str, content: &mut dyn Read) -> io::Result<bool> {
    let mut hasher = Sha256::new();
    io::copy(content, &mut hasher)?;
    Ok(name
        .strip_prefix(BLOB)
        .is_some_and(|hash| has_hash(hasher, hash)))
}

/// Whether an archive name is that of a blob, which several sessions may share.
pub fn is_blob(name: &str) -> bool {
    name.starts_with(BLOB)
}

/// Returns the path to which a file of an archive is restored, by its name in the archive:
/// `session` to the path of the session, `pruned` and `folder/…` beside it, and `blob/HASH` to the
/// directory `blobs`.
///
/// `None` for a blob if there is no such directory, and for all other names: an archive may come
/// from anywhere, so it must not choose where files are written.
pub fn restore_path(name: &str, session: &Path, blobs: Option<&Path>) -> Option<PathBuf> {
    // No agent writes such a name, and it could garble the terminal on which it is printed.
    if name.contains(char::is_control) {
        return None;
    }
    if let Some(hash) = name.strip_prefix(BLOB) {
        if !is_blob_hash(hash) {
            return None;
        }
        return Some(blobs?.join(hash));
    }
    match name {
        SESSION => Some(session.to_owned()),
        PRUNED => Some(pruned_file(session)),
        _ => restore_path_in_folder(name.strip_prefix(FOLDER)?, session),
    }
}

/// Returns the path to which the file with the archive name `folder/NAME` is restored.
///
/// `None` if `name` is not a plain path below the session's directory. Names that are empty or
/// absolute, that have a part such as `..` or a backslash, or that end with a slash, are not plain.
fn restore_path_in_folder(name: &str, session: &Path) -> Option<PathBuf> {
    let path = Path::new(name);
    let has_only_names = path
        .components()
        .all(|part| matches!(part, Component::Normal(_)));
    // An empty path has no parts, and no name.
    let is_empty = path.file_name().is_none();
    let is_plain = has_only_names && !is_empty && !name.ends_with('/') && !name.contains('\\');
    if !is_plain {
        return None;
    }
    Some(session_folder(session)?.join(path))
}

/// What a list shows of an archived session.
#[derive(Debug)]
pub struct ArchiveFacts {
    /// Its header.
    pub header: Header,
    /// The name of its agent.
    pub agent: String,
    /// Its name.
    pub name: Option<Text<'static>>,
    /// Its name or the title taken from its messages.
    pub title: Text<'static>,
    /// The time of its newest message, in milliseconds since 1970.
    pub modified_ms: i64,
    /// The number of its messages.
    pub message_count: u32,
    /// Whether it has no user message.
    pub is_empty: bool,
}

impl ArchiveFacts {
    /// Returns the path, id and name of the archive at this path, by which a reference may name it.
    pub fn into_known(self, path: PathBuf) -> SessionCandidate {
        let id = self.header.id.to_string_lossy().into_owned();
        SessionCandidate {
            path,
            id,
            name: self.name.map(|name| name.to_string_lossy().into_owned()),
        }
    }

    /// Returns the facts of a session as one line of JSON, followed by the lines of its file up to
    /// and including the header. [`ArchiveFacts::decode`] reads the result.
    pub fn encode(
        listed: &ListedSession,
        source: &dyn ReadAt,
        header: &Header,
    ) -> io::Result<Vec<u8>> {
        let mut encoded = Object::new()
            .str("agent", listed.agent.agent().constants().name)
            .text_or_null("name", listed.name.as_ref())
            .text("title", &listed.title())
            .str("modified", &iso_string(listed.modified_ms))
            .number("messageCount", f64::from(listed.message_count))
            .bool("empty", listed.is_empty)
            .finish();
        encoded.push(b'\n');

        // The lines are copied unchanged, so that `decode` can read the header as in any session.
        let copy_start = encoded.len();
        let copy_len = header.span.end() as usize;
        pisess_store::resize(&mut encoded, copy_start + copy_len)?;
        source.read_exact_at(&mut encoded[copy_start..], 0)?;
        encoded.push(b'\n');
        Ok(encoded)
    }

    /// Reads what [`ArchiveFacts::encode`] returned. A missing text is read as empty, and a missing
    /// number of messages as 0. Earlier versions did not record whether a session is empty: such a
    /// session counts as empty if it has no messages.
    ///
    /// # Errors
    /// If there is no line of facts, no valid time, or no header.
    pub fn decode(encoded: &[u8]) -> Result<ArchiveFacts, LoadError> {
        // The archive may be damaged, or written by another program.
        let facts_end = memchr::memchr(b'\n', encoded).ok_or_else(damaged_title)?;
        let facts = Raw::parse(&encoded[..facts_end]).map_err(|_| damaged_title())?;
        let session_lines = encoded[facts_end + 1..].to_vec();
        let header = read_header(&session_lines)?;

        let modified = facts.get_text("modified").ok_or_else(damaged_title)?;
        let modified_ms = parse_js_date(modified.as_bytes()).ok_or_else(damaged_title)?;
        let agent = facts.get_text("agent").unwrap_or_default();
        let name = facts.get_text("name");
        let title = facts.get_text("title").unwrap_or_default();

        let recorded_count = facts.get("messageCount").and_then(Raw::number);
        let message_count = recorded_count.unwrap_or(0.0);
        let is_empty = match facts.get("empty").and_then(Raw::bool) {
            Some(recorded) => recorded,
            None => message_count == 0.0,
        };
        Ok(ArchiveFacts {
            header,
            agent: agent.into_string_lossy(),
            name: name.map(Text::into_owned),
            title: title.into_owned(),
            modified_ms,
            message_count: message_count as u32,
            is_empty,
        })
    }
}

fn damaged_title() -> LoadError {
    LoadError::Io(io::Error::new(
        io::ErrorKind::InvalidData,
        "the archive is damaged: it has no title",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_name_leads_elsewhere() {
        let place = |name: &str| restore_path(name, Path::new("/p/s.jsonl"), Some(Path::new("/b")));
        let hash = "a".repeat(64);
        for (name, path) in [
            ("session", "/p/s.jsonl"),
            ("pruned", "/p/s.jsonl.pruned"),
            ("folder/scout.jsonl", "/p/s/scout.jsonl"),
            ("folder/scout/x.md", "/p/s/scout/x.md"),
            (&format!("blob/{hash}"), &format!("/b/{hash}")),
        ] {
            assert_eq!(place(name).as_deref(), Some(Path::new(path)), "{name}");
        }
        for name in [
            "",
            "x",
            "folder/",
            "folder",
            "folder/..",
            "folder/../../x",
            "folder//etc/x",
            "folder/a/",
            "blob/..",
            "/x",
            "folder/a\nb",
            "folder/a\u{1b}[2Jb",
            "folder/a\u{85}b",
            "folder/a\0",
        ] {
            assert_eq!(place(name), None, "{name}");
        }
        assert_eq!(
            restore_path(&format!("blob/{hash}"), Path::new("/p/s.jsonl"), None),
            None
        );
    }
}
