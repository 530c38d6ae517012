//! Finds out which agent wrote a file.

use crate::Origin;
use crate::joined::JoinedSource;
use crate::lines::find_in_first_line;
use pisess_core::session::read::line_chunks::read_chunks;
use pisess_json::Raw;
use pisess_store::{PageBuffer, ReadAt};
use std::ffi::OsStr;
use std::io;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

/// The number of lines at the start of a file by which its agent is recognized.
const LINES_TO_DETECT: usize = 100;

impl Origin {
    /// Returns the agent that wrote a file, by the first line that shows it. `None` if a line
    /// before is the header of pi or oh-my-pi, or if none of the first 100 lines shows an agent.
    ///
    /// A file that is a single object over several lines is read to its end.
    pub fn detect(source: &dyn ReadAt) -> io::Result<Option<Origin>> {
        if begins_document(source)? {
            return detect_document_origin(source);
        }
        let mut lines_left = LINES_TO_DETECT;
        let mut buffer = PageBuffer::default();
        let flow = read_chunks(&mut buffer, source, 0..source.len(), |chunk| {
            for line in chunk.lines() {
                detect_in_line(line.bytes)?;
                lines_left -= 1;
                if lines_left == 0 {
                    return ControlFlow::Break(None);
                }
            }
            ControlFlow::Continue(())
        })?;
        Ok(flow.break_value().flatten())
    }
}

/// Decides by a line which agent wrote a file: breaks with the agent, or with `None` if pi or
/// oh-my-pi did. Continues if the line does not show it.
fn detect_in_line(bytes: &[u8]) -> ControlFlow<Option<Origin>> {
    // A line that is not JSON shows nothing: the last one of a file may be torn.
    let Ok(line) = Raw::parse(bytes) else {
        return ControlFlow::Continue(());
    };
    // Decided first, because a session that was imported may have lines of the agent in its
    // entries.
    if is_header_of_pi(line) {
        return ControlFlow::Break(None);
    }
    match detect_line_origin(line) {
        Some(origin) => ControlFlow::Break(Some(origin)),
        None => ControlFlow::Continue(()),
    }
}

/// Whether a line is the header of pi or oh-my-pi, or oh-my-pi's title line.
fn is_header_of_pi(line: Raw) -> bool {
    let line_type = line.get("type");
    line_type.is_some_and(|line_type| line_type.is("session") || line_type.is("title"))
}

/// Returns the first agent that writes such a line; `None` if no agent does.
fn detect_line_origin(line: Raw) -> Option<Origin> {
    let mut origins = Origin::all().iter().copied();
    origins.find(|origin| origin.format().writes_line(line))
}

/// Returns the agent that wrote a file which is a single JSON object; `None` if no agent did.
fn detect_document_origin(file: &dyn ReadAt) -> io::Result<Option<Origin>> {
    for &origin in Origin::all() {
        if origin.format().is_document(file)? {
            return Ok(Some(origin));
        }
    }
    let bytes = file.read_range(0..file.len())?;
    Ok(convert_document(&bytes).map(|(origin, _)| origin))
}

/// Converts a file that is a single JSON object to lines, in the way of the agent that wrote it.
/// `None` if it is not a single object, or if no agent wrote it.
pub fn read_document(file: &dyn ReadAt) -> io::Result<Option<JoinedSource>> {
    if !begins_document(file)? {
        return Ok(None);
    }
    // The agents whose files may be too long for the memory read them in pieces. The others get
    // the whole file, so they come last.
    for &origin in Origin::all() {
        if let Some(source) = origin.format().open_document(file)? {
            return Ok(Some(source));
        }
    }
    let bytes = file.read_range(0..file.len())?;
    let converted = convert_document(&bytes);
    Ok(converted.map(|(_, lines)| JoinedSource::single(Box::new(lines))))
}

/// The number of bytes at the start of a file by which a single object is recognized.
const START_TO_DETECT: u64 = 64;

/// Whether the start of a file shows that the file is a single object. In a file with a session,
/// each line is a whole object. So a first line that is only `{` shows a single object; other
/// starts are recognized by the agents.
fn begins_document(source: &dyn ReadAt) -> io::Result<bool> {
    let start_len = source.len().min(START_TO_DETECT);
    let start = source.read_range(0..start_len)?;
    if start.starts_with(b"{\n") || start.starts_with(b"{\r") {
        return Ok(true);
    }
    let mut origins = Origin::all().iter();
    Ok(origins.any(|origin| origin.format().begins_document(&start)))
}

/// Returns the agent that wrote a document, and its lines.
fn convert_document(document: &[u8]) -> Option<(Origin, Vec<u8>)> {
    let document = Raw::parse(document).ok()?;
    for &origin in Origin::all() {
        if let Some(lines) = origin.format().document_lines(document) {
            return Some((origin, lines));
        }
    }
    None
}

/// Returns the directory with the sub-agents of the session in a file; `None` if no agent wrote the
/// file, or its sub-agents have no directory of their own.
pub fn sub_agent_folder(source: &dyn ReadAt, path: &Path) -> io::Result<Option<PathBuf>> {
    let Some(origin) = Origin::detect(source)? else {
        return Ok(None);
    };
    let id_in_first_line = find_in_first_line(source, |line| origin.format().session_id(line))?;
    let session_id = id_in_first_line.unwrap_or_else(|| id_in_file_name(path));
    Ok(origin.format().sub_agent_folder(path, &session_id))
}

/// Returns the id of a session from the name of its file. If the name has only the start of the id,
/// returns the start.
pub fn id_in_file_name(path: &Path) -> String {
    for origin in Origin::all() {
        if let Some(id) = origin.format().id_in_file_name(path) {
            return id;
        }
    }
    let stem = path.file_stem().unwrap_or_default();
    stem.to_string_lossy().into_owned()
}

/// Whether a file is a session, by its name. Only names that do not end in `.jsonl` are recognized.
pub fn is_document_name(name: &OsStr) -> bool {
    let Some(name) = name.to_str() else {
        return false;
    };
    let mut origins = Origin::all().iter();
    origins.any(|origin| origin.format().is_document_name(name))
}

/// Whether the name of a file contains the whole id of its session. `true` also for a file that is
/// not a session.
pub fn has_id_in_file_name(path: &Path) -> bool {
    let mut origins = Origin::all().iter();
    origins.all(|origin| origin.format().has_id_in_file_name(path))
}

/// Whether a file, by its name, is a log that only repeats the conversation of a session. Such a
/// log is neither listed nor imported.
pub fn is_internal_log(path: &Path) -> bool {
    let stem = path.file_stem().unwrap_or_default().to_string_lossy();
    let mut origins = Origin::all().iter();
    origins.any(|origin| origin.format().is_internal_log(&stem))
}
