//! Finds the placeholders of an earlier redaction in a text, such as `[REDACTED:github-pat#1]`.

use super::{PLACEHOLDER_START, Placeholder};
use std::ops::Range;

/// The maximum length of a placeholder in bytes: its closing bracket is searched for in this range.
const LONGEST_PLACEHOLDER: usize = 80;

/// Returns the ranges of the placeholders in a text. A placeholder without its closing bracket,
/// because it was cut off, gets the maximum length.
pub(super) fn ranges_in(text: &[u8]) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    for start in memchr::memmem::find_iter(text, PLACEHOLDER_START.as_bytes()) {
        let near = &text[start..text.len().min(start + LONGEST_PLACEHOLDER)];
        let width = match memchr::memchr(b']', near) {
            Some(bracket) => bracket + 1,
            None => near.len(),
        };
        ranges.push(start..start + width);
    }
    ranges
}

/// Returns the placeholders in a line, without those that were cut off.
pub(super) fn read_all(line: &[u8]) -> Vec<Placeholder> {
    let mut placeholders = Vec::new();
    for start in memchr::memmem::find_iter(line, PLACEHOLDER_START.as_bytes()) {
        if let Some(placeholder) = read_placeholder(&line[start + PLACEHOLDER_START.len()..]) {
            placeholders.push(placeholder);
        }
    }
    placeholders
}

/// Parses a placeholder from the bytes after [`PLACEHOLDER_START`], such as `github-pat#1]`; `None`
/// if they have another form.
fn read_placeholder(after_start: &[u8]) -> Option<Placeholder> {
    let near = &after_start[..after_start.len().min(LONGEST_PLACEHOLDER)];
    let bracket = memchr::memchr(b']', near)?;
    let content = std::str::from_utf8(&near[..bracket]).ok()?;
    let (kind, number) = content.rsplit_once('#')?;
    Some(Placeholder {
        number: number.parse().ok()?,
        kind: kind.to_owned(),
    })
}
