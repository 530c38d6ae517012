//! The lines of a source, one value at a time.

use crate::parts::kept_line_members;
use crate::{Origin, SourceReader};
use pisess_core::session::entry::Span;
use pisess_core::session::read::line_chunks::{Line, for_each_line};
use pisess_json::Raw;
use pisess_json::outline::{Outline, Outlined};
use pisess_json::scan::Scanner;
use pisess_json::string::encode_to_vec;
use pisess_json::text::Text;
use pisess_store::ReadAt;
use std::io;

/// Converts a line to entries. `reader` is the reader of the agent's format: it gets the object in
/// the line, and adds the entries to its session.
///
/// A line without an object (`None`) is kept as text, in a custom entry. `{"type":"us` becomes:
///
/// ```text
/// {"type":"custom",…,"customType":"claude.malformed","data":"{\"type\":\"us"}
/// ```
pub fn convert_line(
    reader: &mut dyn SourceReader,
    origin: Origin,
    line: &Line,
    object: Option<Outlined>,
) -> io::Result<()> {
    let offset = line.span.start;
    if let Some(object) = object {
        return reader.read_object(offset, object);
    }
    // Bytes that are not UTF-8 become replacement characters.
    let text = String::from_utf8_lossy(line.bytes).into_owned();
    let json_text = encode_to_vec(&Text::from(text));
    let members = kept_line_members(origin.name(), "malformed", &json_text);
    reader.add_custom(offset, members)
}

/// How much of a source was read.
#[derive(Debug, Default)]
pub struct ReadExtent {
    /// The number of bytes up to the end of the last line that was read. A torn line does not
    /// count.
    pub bytes_read: u64,
    /// Whether the last line is torn: it has no newline and is not JSON.
    pub is_torn: bool,
    /// The offset of each physical line, in order; `None` if they are not needed.
    pub line_starts: Option<Vec<u64>>,
}

impl ReadExtent {
    /// Returns the extent before anything is read. The offsets of lines will be recorded.
    pub fn with_line_starts() -> ReadExtent {
        ReadExtent {
            line_starts: Some(Vec::new()),
            ..ReadExtent::default()
        }
    }

    /// Records the offset of a physical line, if the offsets are needed.
    pub fn record_line_start(&mut self, offset: u64) {
        if let Some(line_starts) = &mut self.line_starts {
            line_starts.push(offset);
        }
    }
}

/// Calls `visit` with each line that begins in the first `len` bytes, and with the value of the
/// line if that is an object. Blank lines and a torn last line are skipped.
///
/// Adds to `extent` how much was read. The next import reads what follows.
pub fn for_each_object(
    source: &dyn ReadAt,
    len: u64,
    extent: &mut ReadExtent,
    mut visit: impl FnMut(Line, Option<Outlined>) -> io::Result<()>,
) -> io::Result<()> {
    let mut outline = Outline::default();
    for_each_line(source, 0..len, |line| {
        extent.record_line_start(line.span.start);
        let end = line.span.end() + u64::from(line.has_newline);

        // Almost every line is exactly one value.
        outline.clear();
        if let Ok(outlined) = outline.add_line(line.bytes) {
            extent.bytes_read = end;
            return visit(line, object_or_none(outline.value(&outlined, line.bytes)));
        }

        let values = split_values(&line);
        if is_torn(&line, &values) {
            extent.is_torn = true;
            return Ok(());
        }
        extent.bytes_read = end;
        visit_values(&line, values, &mut visit)
    })
}

/// Returns what `find` returns for the object in the first line of a source. If the line has
/// several objects, the first for which `find` returns something counts.
pub fn find_in_first_line<T>(
    source: &dyn ReadAt,
    mut find: impl FnMut(Raw) -> Option<T>,
) -> io::Result<Option<T>> {
    let mut found = None;
    let mut extent = ReadExtent::default();
    // A length of 1 selects the lines that begin in the first byte: the first line, as a whole.
    let first_byte = source.len().min(1);
    for_each_object(source, first_byte, &mut extent, |_, object| {
        if found.is_none() {
            found = object.and_then(|object| find(object.raw()));
        }
        Ok(())
    })?;
    Ok(found)
}

/// Whether a line with these values is torn. Such a line does not count as read, so the next import
/// reads it.
pub fn is_torn(line: &Line, values: &[(Line, Raw)]) -> bool {
    values.is_empty() && !line.has_newline && !is_blank(line)
}

fn is_blank(line: &Line) -> bool {
    line.bytes.trim_ascii().is_empty()
}

/// Calls `visit` with each of the `values` of a line. A line without a value is not JSON: it is
/// passed on without an object, unless it is blank.
pub fn visit_values<'b>(
    line: &Line<'b>,
    values: Vec<(Line<'b>, Raw<'b>)>,
    visit: &mut impl FnMut(Line, Option<Outlined>) -> io::Result<()>,
) -> io::Result<()> {
    if values.is_empty() && !is_blank(line) {
        visit(*line, None)?;
    }
    for (value_line, value) in values {
        visit(value_line, object_or_none(Outlined::from(value)))?;
    }
    Ok(())
}

/// Returns a value if it is an object.
pub fn object_or_none(value: Outlined<'_>) -> Option<Outlined<'_>> {
    if value.raw().is_object() {
        Some(value)
    } else {
        None
    }
}

/// Returns the JSON values of a line, each with its part of the line. Returns no value if any part
/// of the line is not JSON.
///
/// A line has several values if two processes wrote at the same time, and a newline was lost:
/// `{"a":1}{"b":2}` is returned as two lines, the second one at the offset of its brace.
pub fn split_values<'b>(line: &Line<'b>) -> Vec<(Line<'b>, Raw<'b>)> {
    if let Ok(value) = Raw::parse(line.bytes) {
        return vec![(*line, value)];
    }
    let mut values = Vec::new();
    let mut scanner = Scanner::document(line.bytes);
    while !scanner.at_end() {
        let Ok(bytes) = scanner.read_value() else {
            return Vec::new();
        };
        // The scanner is now directly behind the value.
        let start_in_line = scanner.pos() - bytes.len();
        let value_line = Line {
            span: Span {
                start: line.span.start + start_in_line as u64,
                len: bytes.len() as u64,
            },
            bytes,
            has_newline: line.has_newline,
        };
        values.push((value_line, Raw::from_checked(bytes)));
    }
    values
}
