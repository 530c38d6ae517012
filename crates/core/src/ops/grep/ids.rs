//! Reads the ids of a session that is searched without being loaded.

use crate::session::read::line_chunks::for_each_line;
use crate::session::read::record::scan_record;
use memchr::{memchr, memrchr};
use pisess_json::Scanner;
use pisess_store::ReadAt;
use std::io;

/// The number of bytes at the start of a line that are searched for an id without parsing.
const HEAD_LEN: usize = 96;

/// The ids of the entries of a file, in file order.
#[derive(Debug, Default)]
pub struct SessionIds {
    bytes: Vec<u8>,
    /// The offset in `bytes` at which each id ends.
    ends: Vec<usize>,
}

impl SessionIds {
    /// Reads the ids of all entries. Ids with escapes are decoded.
    ///
    /// # Errors
    /// If reading fails.
    pub fn read(source: &dyn ReadAt) -> io::Result<SessionIds> {
        let mut ids = SessionIds::default();
        for_each_line(source, 0..source.len(), |line| {
            ids.add_line(line.bytes);
            io::Result::Ok(())
        })?;
        Ok(ids)
    }

    /// Returns the ids in file order.
    pub fn iter(&self) -> impl Iterator<Item = &[u8]> {
        let starts = std::iter::once(&0).chain(&self.ends);
        starts
            .zip(&self.ends)
            .map(|(&start, &end)| &self.bytes[start..end])
    }

    /// Adds the id of the entry on a line, if there is one. The agents write the id at the start of
    /// the line or, in a migration, at its end. Only a line of another form is parsed, which takes
    /// longer.
    fn add_line(&mut self, line: &[u8]) {
        if let Some(id) = find_id_at_start(line).or_else(|| find_id_at_end(line)) {
            self.add(id);
            return;
        }

        // The line may be a header, malformed, or written by another program.
        let mut scanner = Scanner::new(line);
        let mut blocks = Vec::new();
        let Ok(record) = scan_record(&mut scanner, &mut blocks) else {
            return;
        };
        let is_one_value = scanner.at_end();
        let is_header = record.kind.is_some_and(|kind| kind.is("session"));
        if is_one_value
            && !is_header
            && let Some(id) = record.id
        {
            self.add(id.text().as_bytes());
        }
    }

    fn add(&mut self, id: &[u8]) {
        self.bytes.extend_from_slice(id);
        self.ends.push(self.bytes.len());
    }
}

/// Returns the id of an entry whose line begins with the type and the id, as the agents write it:
/// `{"type":"message","id":"1a2b3c4d",…` -> `1a2b3c4d`. `None` for any other line, for an id with
/// escapes, and for the header.
fn find_id_at_start(line: &[u8]) -> Option<&[u8]> {
    // A line may be very long, so a quote that is missing is not searched for in all of it.
    let head = &line[..line.len().min(HEAD_LEN)];
    let from_type = head.strip_prefix(b"{\"type\":\"")?;
    let type_len = memchr(b'"', from_type)?;
    let from_id = from_type[type_len..].strip_prefix(b"\",\"id\":\"")?;
    let id_len = memchr(b'"', from_id)?;
    let id = &from_id[..id_len];
    let is_header = &from_type[..type_len] == b"session";
    if is_header || id.contains(&b'\\') {
        None
    } else {
        Some(id)
    }
}

/// Returns the id of an entry whose line ends with `,"id":"…","parentId":"…"}`, as after a
/// migration; the parent may be `null`. `None` for any other line.
///
/// The line is not parsed, but read from its end. Nothing within a string or an inner object is
/// taken for the id: the last brace closes the entry, so the members directly before it are members
/// of the entry. A text that looks like these members would have `\"` for each quote, and is
/// rejected by [`strip_plain_string`].
fn find_id_at_end(line: &[u8]) -> Option<&[u8]> {
    let members = line.trim_ascii_end().strip_suffix(b"}")?;
    let up_to_parent_key = match members.strip_suffix(b"null") {
        Some(before_null) => before_null,
        None => {
            let (before_parent, _parent) = strip_plain_string(members)?;
            before_parent
        }
    };
    let up_to_id = up_to_parent_key.strip_suffix(b",\"parentId\":")?;
    let (up_to_id_key, id) = strip_plain_string(up_to_id)?;
    if up_to_id_key.ends_with(b",\"id\":") {
        Some(id)
    } else {
        None
    }
}

/// Splits a JSON string off the end of a line. Returns the bytes before the opening quote, and the
/// bytes between the quotes. `None` if the line does not end with a string, or if the string has an
/// escape.
fn strip_plain_string(line: &[u8]) -> Option<(&[u8], &[u8])> {
    let line = line.strip_suffix(b"\"")?;
    let quote = memrchr(b'"', line)?;
    let text = &line[quote + 1..];
    if text.contains(&b'\\') {
        None
    } else {
        Some((&line[..quote], text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_read_however_lines_are_written() {
        let lines = concat!(
            "{\"type\":\"session\",\"id\":\"header\"}\n",
            "{\"type\":\"message\",\"id\":\"abcd1234\",\"parentId\":null}\n",
            "\n{ \"id\" : \"spaced\", \"type\" : \"label\" }\n",
            "{\"type\":\"label\",\"id\":\"\\u0061b\"}\n",
            "{\"type\":\"label\",\"targetId\":\"none\"}\nbroken\n",
            "{\"type\":\"odd\",\"data\":{\"id\":\"inner\"},\"id\":\"outer\"}\n",
            "{\"type\":\"message\",\"message\":{},\"id\":\"last0001\",\"parentId\":null}\n",
            "{\"type\":\"message\",\"message\":{},\"id\":\"last0002\",\"parentId\":\"last0001\"}\n",
            "{\"type\":\"odd\",\"id\":\"first\",\"data\":{\"id\":\"inner\",\"parentId\":null},\"x\":1}\n",
            "{\"id\":\"text\",\"type\":\"odd\",\"x\":\",\\\"id\\\":\\\"no\\\",\\\"parentId\\\":\\\"no\"}",
        );
        let ids = SessionIds::read(&lines.as_bytes().to_vec()).unwrap();
        let ids: Vec<_> = ids.iter().map(String::from_utf8_lossy).collect();
        assert_eq!(
            ids,
            [
                "abcd1234", "spaced", "ab", "outer", "last0001", "last0002", "first", "text"
            ]
        );
    }
}
