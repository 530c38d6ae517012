//! Puts back values: pruned parts of lines that stayed, or of entries that are put back as well.

use super::Fate;
use super::lines::{RestoredLine, RestoredLines, ValueEdit};
use crate::ops::prune::payload::find_at_path;
use crate::ops::prune::side::{PrunedRecord, WHOLE_LINE};
use crate::session::entry::Span;
use pisess_json::{Raw, js, range_in};
use std::io;

/// A value in the place from which a payload was pruned.
enum ComparedValue {
    /// The placeholder: the payload can be put back.
    Placeholder,
    /// The payload itself, which was put back before.
    Payload,
    /// Another value, or none: the payload has no place here.
    Other,
}

impl<'a> RestoredLines<'a> {
    /// Puts the value of a record back in place of its placeholder, which is JSON, and returns the
    /// fate of the record. The lines stay as they are: `edits` gets the replacement.
    ///
    /// The placeholder may be in a line of the session, or in the line of a removed entry that was
    /// put back before.
    pub fn put_value_back(
        &mut self,
        record: &'a PrunedRecord,
        field: &'a str,
        placeholder: &[u8],
    ) -> io::Result<Fate> {
        let placeholder = Raw::from_checked(placeholder);
        let mut fate = Fate::Lost;
        for index in self.candidate_lines(record) {
            let line = self.lines[index];
            match self.compare_in_line(line, record, field, placeholder)? {
                ComparedValue::Placeholder => {
                    let edits = self.edits.entry(line.key()).or_default();
                    edits.push(ValueEdit {
                        field,
                        payload: record.spans.payload,
                    });
                    return Ok(Fate::Restored);
                }
                // The other candidate may still have the placeholder, so the search goes on.
                ComparedValue::Payload => fate = Fate::Present,
                ComparedValue::Other => {}
            }
        }
        Ok(fate)
    }

    /// Puts a malformed line back in place of the line with placeholders, which has this length and
    /// checksum. It has no id, so it is found by its number only.
    pub fn put_malformed_line_back(
        &mut self,
        record: &'a PrunedRecord,
        redacted_len: u64,
        redacted_crc: u32,
    ) -> io::Result<Fate> {
        let index = (record.line.0 as usize).checked_sub(1);
        let Some(&line) = index.and_then(|index| self.lines.get(index)) else {
            return Ok(Fate::Lost);
        };
        let bytes = self.read_current_line(line)?;
        let is_redacted =
            bytes.len() as u64 == redacted_len && crc32fast::hash(&bytes) == redacted_crc;
        if is_redacted {
            let edits = self.edits.entry(line.key()).or_default();
            edits.push(ValueEdit {
                field: WHOLE_LINE,
                payload: record.spans.payload,
            });
            return Ok(Fate::Restored);
        }
        if bytes == self.pruned.read_range(record.spans.payload.range())? {
            return Ok(Fate::Present);
        }
        Ok(Fate::Lost)
    }

    /// Compares the current value at the path `field` of a line with the placeholder of a record,
    /// and with the payload that the placeholder has replaced.
    ///
    /// The current value may be what a later operation pruned: that one was undone before this.
    fn compare_in_line(
        &self,
        line: RestoredLine,
        record: &PrunedRecord,
        field: &str,
        placeholder: Raw,
    ) -> io::Result<ComparedValue> {
        // A later operation has pruned a value that contains this one, or a part of it.
        if self.has_nested_edit(line, field) {
            let bytes = self.read_current_line(line)?;
            let current_line = Raw::parse(bytes.trim_ascii())?;
            return self.compare_at_path(current_line, record, field, placeholder);
        }
        // A later operation has pruned the same path. What was put back for it is the current
        // value: possibly the placeholder of this operation.
        if let Some(later_payload) = self.last_payload(line, field) {
            let bytes = self.pruned.read_range(later_payload.range())?;
            let current_value = Raw::parse(bytes.trim_ascii())?;
            return self.compare_value(current_value, record, placeholder);
        }

        let bytes = self.read_line(line)?;
        let stored_line = Raw::parse(bytes.trim_ascii())?;
        if !may_be_line_of(stored_line, record) {
            return Ok(ComparedValue::Other);
        }
        self.compare_at_path(stored_line, record, field, placeholder)
    }

    /// Does what [`compare_value`](Self::compare_value) does, for the value at a path of a line.
    fn compare_at_path(
        &self,
        line: Raw,
        record: &PrunedRecord,
        field: &str,
        placeholder: Raw,
    ) -> io::Result<ComparedValue> {
        match find_at_path(line, field) {
            Some(value) => self.compare_value(value, record, placeholder),
            None => Ok(ComparedValue::Other),
        }
    }

    /// Compares a value with the placeholder of a record, and with the payload that it has
    /// replaced. A value that equals both counts as the placeholder.
    fn compare_value(
        &self,
        value: Raw,
        record: &PrunedRecord,
        placeholder: Raw,
    ) -> io::Result<ComparedValue> {
        if is_placeholder(value, placeholder) {
            Ok(ComparedValue::Placeholder)
        } else if self.is_payload(value, record)? {
            Ok(ComparedValue::Payload)
        } else {
            Ok(ComparedValue::Other)
        }
    }

    /// Returns the location, in the pruned file, of the value that was last put back at a path of a
    /// line; `None` if there is none.
    fn last_payload(&self, line: RestoredLine, field: &str) -> Option<Span> {
        let edits = self.edits.get(&line.key())?;
        let last_edit = edits.iter().rfind(|edit| edit.field == field)?;
        Some(last_edit.payload)
    }

    /// Whether a value was put back in a line that contains the value at this path, or is in it.
    fn has_nested_edit(&self, line: RestoredLine, field: &str) -> bool {
        let Some(edits) = self.edits.get(&line.key()) else {
            return false;
        };
        edits
            .iter()
            .any(|edit| is_path_above(edit.field, field) || is_path_above(field, edit.field))
    }

    /// Returns the bytes of a line after the values that were put back so far.
    pub fn read_current_line(&self, line: RestoredLine) -> io::Result<Vec<u8>> {
        let mut bytes = self.read_line(line)?;
        let Some(edits) = self.edits.get(&line.key()) else {
            return Ok(bytes);
        };
        // In the order in which they were put back: the place of a value may be in another one.
        for edit in edits {
            let payload = self.pruned.read_range(edit.payload.range())?;
            let range = match Raw::parse(bytes.trim_ascii()) {
                Ok(root) => match find_at_path(root, edit.field) {
                    Some(value) => range_in(value.bytes(), &bytes),
                    None => continue,
                },
                // A malformed line is put back as a whole.
                Err(_) => 0..bytes.len(),
            };
            bytes.splice(range, payload);
        }
        Ok(bytes)
    }

    /// Whether the values of a line must be put back one after another: one of them is in another,
    /// or is the whole line.
    pub fn has_nested_edits(&self, line: RestoredLine) -> bool {
        let Some(edits) = self.edits.get(&line.key()) else {
            return false;
        };
        edits
            .iter()
            .any(|edit| edit.field == WHOLE_LINE || self.has_nested_edit(line, edit.field))
    }

    /// Whether a value equals the payload of a record, byte for byte.
    fn is_payload(&self, value: Raw, record: &PrunedRecord) -> io::Result<bool> {
        let payload = record.spans.payload;
        Ok(value.bytes().len() as u64 == payload.len
            && value.bytes() == self.pruned.read_range(payload.range())?)
    }

    /// Returns the indexes of the lines that a pruned value may belong to: the line with the
    /// original number, and the line of the entry with the recorded id. They differ if lines were
    /// added or removed since.
    fn candidate_lines(&self, record: &PrunedRecord) -> Vec<usize> {
        let mut candidates = Vec::new();
        if let Some(index) = (record.line.0 as usize).checked_sub(1)
            && index < self.lines.len()
        {
            candidates.push(index);
        }
        if let Some(index) = self.find_entry_line(&record.id)
            && !candidates.contains(&index)
        {
            candidates.push(index);
        }
        candidates
    }
}

/// Whether the value at a path contains the value at another path: `message.content[1]` is above
/// `message.content[1].text`. The path of the whole line is above all others.
pub(super) fn is_path_above(path: &str, other: &str) -> bool {
    if path == WHOLE_LINE {
        return other != WHOLE_LINE;
    }
    match other.strip_prefix(path) {
        Some(rest) => rest.starts_with(['.', '[']),
        None => false,
    }
}

/// Whether a line may be the line of a record: the ids are equal, or one of them is missing, as in
/// older formats.
fn may_be_line_of(line: Raw, record: &PrunedRecord) -> bool {
    record.id.is_empty() || line.get_text("id").is_none_or(|id| id == record.id)
}

/// Whether a value is this placeholder. The formatting may differ, because an agent may have
/// rewritten the file.
fn is_placeholder(value: Raw, placeholder: Raw) -> bool {
    /// A value more than this many times as long as the placeholder is not compared, and counts as
    /// different.
    const MAX_LENGTH_RATIO: usize = 8;

    value.bytes().len() <= MAX_LENGTH_RATIO * placeholder.bytes().len()
        && js::stringify(value) == js::stringify(placeholder)
}
