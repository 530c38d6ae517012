//! Reads the header, the name and other facts of a session file without reading all of it.

use crate::load::{LoadError, LoadOptions, load};
use crate::session::Format;
use crate::session::content::{content_text, member_is};
use crate::session::dialect::Dialect;
use crate::session::name::display_name as shown_name;
use crate::session::period::Period;
use crate::session::read::header;
pub use crate::session::read::header::{Preamble, read_preamble as head};
use crate::session::read::whole_lines::last_line;
use memchr::memmem;
use pisess_json::Raw;
use pisess_json::text::Text;
use pisess_store::ReadAt;
use std::io;

/// The number of bytes to search at a time for a name, from the end backwards.
const SEARCH_STEP: usize = 1 << 20;
/// The maximum number of bytes of a line that are read before and after the word `session_info`. A
/// longer line is assumed only to mention the word.
const NAME_LINE: u64 = 64 * 1024;
/// The type of the entries that name a session.
const SESSION_INFO: &[u8] = b"session_info";

/// Returns the name of a session, if it has one. It is in the title line, else in the last
/// `session_info` entry, else in the header. Not every agent reads all of these: see
/// [`crate::session::name`].
pub fn read_name(head: &Preamble, source: &dyn ReadAt) -> io::Result<Option<Text<'static>>> {
    let title_line = head.title_slot.as_deref();
    let header = &head.header.bytes;
    // A title line takes precedence over every other name, so the entries need not be searched.
    if title_line.is_none()
        && let Some(given_name) = last_session_info(source)?
    {
        // oh-my-pi ignores such entries, so the name depends on the agent.
        let agent = agent_at_start(source);
        return Ok(shown_name(None, header, Some(&given_name), agent));
    }
    // Without such an entry, both agents show the same name. So no line is read to find the agent.
    let either_agent = Dialect::Pi;
    Ok(shown_name(title_line, header, None, either_agent))
}

/// Returns the agent to which the entries in the first [`NAME_LINE`] bytes belong; pi if they do
/// not show it, or cannot be read.
fn agent_at_start(source: &dyn ReadAt) -> Dialect {
    let start = source.read_range(0..source.len().min(NAME_LINE)).ok();
    let session = start.and_then(|start| load(&start, &LoadOptions::default()).ok());
    session.map_or(Dialect::Pi, |session| session.dialect)
}

/// Returns a shorter session made of a file: its header, and the whole lines among its last `bytes`
/// bytes.
///
/// Of a session of version 1 that is longer, only the header is returned. Its entries are
/// identified by their index, which would change without the lines in between.
pub fn read_ends(source: &dyn ReadAt, bytes: u64) -> Result<Vec<u8>, LoadError> {
    let preamble = header::read_preamble(source)?;
    let mut ends = source.read_range(0..preamble.end)?;
    let start = source.len().saturating_sub(bytes).max(preamble.end);
    let has_all_lines = start == preamble.end;
    if !has_all_lines && preamble.format == Format::V1 {
        return Ok(ends);
    }
    let tail = source.read_range(start..source.len())?;
    if has_all_lines {
        ends.extend_from_slice(&tail);
    } else if let Some(newline) = memchr::memchr(b'\n', &tail) {
        // The first of these lines may lack its beginning, so it is left out.
        ends.extend_from_slice(&tail[newline + 1..]);
    }
    Ok(ends)
}

/// Returns a title for a session without a name: the start of its conversation. Empty if no message
/// in the first `bytes` bytes makes a title, or if they cannot be read.
pub fn read_opening(source: &dyn ReadAt, bytes: u64) -> Text<'static> {
    let Ok(start) = source.read_range(0..source.len().min(bytes)) else {
        return Text::default();
    };
    // The opening is collected with the other facts for a list. The period does not matter to it.
    let options = LoadOptions {
        list_stats: Some(Period::default()),
        ..LoadOptions::default()
    };
    // A line that is cut off at the end is not valid JSON, and does not count.
    let Ok(session) = load(&start, &options) else {
        return Text::default();
    };
    match session.collected.list_stats.opening {
        Some(opening) => opening.text().clone(),
        None => Text::default(),
    }
}

/// Whether the write of the last line was interrupted: the line has no newline, and is not valid
/// JSON.
pub fn is_torn(source: &dyn ReadAt) -> io::Result<bool> {
    let last = last_line(source, source.len())?;
    let line = last.bytes.trim_ascii();
    Ok(!line.is_empty() && Raw::parse(line).is_err())
}

/// Whether a session has no name and no turn, so that oh-my-pi does not continue it.
///
/// A turn is an answer, or a question with text. A file of more than a megabyte is assumed to have
/// one, and is not searched. A file that cannot be read does not count as blank.
pub fn is_blank(head: &Preamble, source: &dyn ReadAt) -> bool {
    if source.len() > SEARCH_STEP as u64 {
        return false;
    }
    let Ok(bytes) = source.read_range(0..source.len()) else {
        return false;
    };
    let has_turn = bytes.split(|&byte| byte == b'\n').any(is_turn);
    !has_turn && matches!(read_name(head, source), Ok(None))
}

/// Whether a line is an entry with an answer, or with a question that has text.
fn is_turn(line: &[u8]) -> bool {
    let Ok(entry) = Raw::parse(line) else {
        return false;
    };
    let Some(message) = entry.get("message") else {
        return false;
    };
    let Some(role) = message.get_text("role") else {
        return false;
    };
    match role.as_bytes() {
        b"assistant" | b"toolResult" => true,
        b"user" | b"developer" => !content_text(message.get("content"), " ").is_blank(),
        _ => false,
    }
}

/// Returns the name in the last `session_info` entry of a source; empty if that entry has none.
/// `None` if there is no such entry.
///
/// Most files have no such entry, so the bytes of the word are searched for, which is much faster
/// than parsing. The search goes backwards in steps of [`SEARCH_STEP`] bytes.
fn last_session_info(source: &dyn ReadAt) -> io::Result<Option<Text<'static>>> {
    let finder = memmem::FinderRev::new(SESSION_INFO);
    // The steps overlap, so that a word that crosses their border is found.
    let overlap = SESSION_INFO.len() as u64 - 1;
    let mut buffer = Vec::new();
    let mut step_end = source.len();
    loop {
        let step_start = step_end.saturating_sub(SEARCH_STEP as u64);
        buffer.resize((step_end - step_start) as usize, 0);
        source.read_exact_at(&mut buffer, step_start)?;
        if let Some(name) = find_name_in_step(source, step_start, &buffer, &finder)? {
            return Ok(Some(name));
        }
        if step_start == 0 {
            return Ok(None);
        }
        step_end = step_start + overlap;
    }
}

/// Returns the name in the last `session_info` entry that has its word in `step`. These are the
/// bytes of the source from `step_start` on. `finder` finds the word.
fn find_name_in_step(
    source: &dyn ReadAt,
    step_start: u64,
    step: &[u8],
    finder: &memmem::FinderRev,
) -> io::Result<Option<Text<'static>>> {
    let mut unsearched = step;
    while let Some(word_start) = finder.rfind(unsearched) {
        let line = read_line_around(source, step_start + word_start as u64)?;
        if let Some(name) = line.name {
            return Ok(Some(name));
        }
        // The line only mentions the word, perhaps several times, so the search goes on before the
        // line. If it begins before the step, nothing of the step is left.
        let line_start_in_step = line.start.saturating_sub(step_start) as usize;
        unsearched = &step[..line_start_in_step];
    }
    Ok(None)
}

/// A line that contains [`SESSION_INFO`].
struct SessionInfoLine {
    /// The offset at which the line begins. If the line is too long, any offset within it.
    start: u64,
    /// If the line is a `session_info` entry: the name in it, empty if it has none.
    name: Option<Text<'static>>,
}

/// Reads the line that contains [`SESSION_INFO`] at the offset `word_start`. A line that begins
/// more than [`NAME_LINE`] bytes before the word is not read: it is assumed only to mention the
/// word.
fn read_line_around(source: &dyn ReadAt, word_start: u64) -> io::Result<SessionInfoLine> {
    // As many bytes before the word as after it, where the file has them.
    let read_start = word_start.saturating_sub(NAME_LINE);
    let read_end = source.len().min(read_start + 2 * NAME_LINE);
    let bytes = source.read_range(read_start..read_end)?;
    let (before_word, from_word) = bytes.split_at((word_start - read_start) as usize);

    let newline_before = memchr::memrchr(b'\n', before_word);
    let is_too_long = newline_before.is_none() && read_start > 0;
    if is_too_long {
        return Ok(SessionInfoLine {
            start: read_start,
            name: None,
        });
    }
    // Without a newline before it, the line is the first of the file.
    let line_start = newline_before.map_or(0, |newline| newline + 1);
    let line_end = match memchr::memchr(b'\n', from_word) {
        Some(newline) => before_word.len() + newline,
        None => bytes.len(),
    };
    Ok(SessionInfoLine {
        start: read_start + line_start as u64,
        name: name_in_session_info(&bytes[line_start..line_end]),
    })
}

/// Returns the name in a `session_info` entry, empty if it has none; `None` for any other line, and
/// for a line whose end was not read, which does not parse.
fn name_in_session_info(line: &[u8]) -> Option<Text<'static>> {
    let entry = Raw::parse(line).ok()?;
    if !member_is(entry, "type", "session_info") {
        return None;
    }
    let name = entry.get_text("name").unwrap_or_default();
    Some(name.into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn session(lines: &[String]) -> Vec<u8> {
        let header = r#"{"type":"session","version":3,"id":"s","cwd":"/","title":"of the header"}"#;
        std::iter::once(header)
            .chain(lines.iter().map(|line| &**line))
            .map(|line| format!("{line}\n"))
            .collect::<String>()
            .into_bytes()
    }

    fn info(name: &str) -> String {
        format!(r#"{{"type":"session_info","id":"a","name":"{name}"}}"#)
    }

    fn named(lines: &[String]) -> Option<String> {
        let source = session(lines);
        let head = header::read_preamble(&source).unwrap();
        read_name(&head, &source)
            .unwrap()
            .map(|name| name.to_string())
    }

    #[test]
    fn the_last_session_info_names_it() {
        assert_eq!(named(&[]).as_deref(), Some("of the header"));
        assert_eq!(named(&[info("one"), info(" two ")]).as_deref(), Some("two"));
        assert_eq!(named(&[info("one"), info("")]), None);
        // Lines of every length that mention it.
        let mention = |count: usize| {
            format!(
                r#"{{"type":"custom","data":"{}"}}"#,
                "session_info ".repeat(count)
            )
        };
        for count in [1, 10, 5_000, 50_000, 500_000] {
            let lines = [
                info("one"),
                mention(count),
                info("two"),
                mention(count),
                mention(1),
            ];
            assert_eq!(named(&lines).as_deref(), Some("two"), "{count}");
        }
    }

    #[test]
    fn a_word_across_two_steps_is_found() {
        for back in 0..40 {
            let filler = "x".repeat(SEARCH_STEP - back);
            let lines = [
                info("one"),
                format!(r#"{{"type":"custom","data":"{filler}"}}"#),
            ];
            assert_eq!(named(&lines).as_deref(), Some("one"), "{back}");
        }
    }

    #[test]
    fn ends_are_whole_lines() {
        let lines: Vec<_> = (0..100).map(|at| info(&format!("{at}"))).collect();
        let source = session(&lines);
        let ends = String::from_utf8(read_ends(&source, 100).unwrap()).unwrap();
        assert_eq!(ends.lines().count(), 3, "{ends}");
        assert!(ends.starts_with("{\"type\":\"session\"") && ends.ends_with("\"99\"}\n"));
        assert_eq!(super::read_ends(&source, u64::MAX).unwrap(), source);
    }
}
