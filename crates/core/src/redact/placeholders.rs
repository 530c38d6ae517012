//! Finds the placeholders of an earlier redaction in a text, such as `[REDACTED:github-pat#1]`.

use super::PLACEHOLDER_START;
use foldhash::HashSet;
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::Arc;

/// A placeholder that a line contains before it is redacted, such as `[REDACTED:github-pat#1]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Placeholder {
    /// The kind, such as `github-pat`. It may be any text, because another version of pisess may
    /// have written the placeholder.
    pub kind: Arc<str>,
    /// The number, such as 1.
    pub number: usize,
}

/// A set of placeholders.
#[derive(Debug, Default)]
pub(super) struct PlaceholderSet {
    numbers_by_kind: BTreeMap<Arc<str>, HashSet<usize>>,
}

impl PlaceholderSet {
    pub fn insert(&mut self, placeholder: &Placeholder) {
        let numbers = self.numbers_by_kind.entry(placeholder.kind.clone());
        numbers.or_default().insert(placeholder.number);
    }

    /// Whether the placeholder with this kind and number is in the set.
    pub fn contains(&self, kind: &str, number: usize) -> bool {
        match self.numbers_by_kind.get(kind) {
            Some(numbers) => numbers.contains(&number),
            None => false,
        }
    }
}

/// The maximum length of a placeholder in bytes: its closing bracket is searched for in this range.
const LONGEST_PLACEHOLDER: usize = 80;

/// Returns the ranges of the placeholders in a text, such as 4 to 20 in `PIN=[REDACTED:env#1]`. A
/// placeholder without its closing bracket, because it was cut off, gets the maximum length.
pub(super) fn find_ranges(text: &[u8]) -> Vec<Range<usize>> {
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

/// Returns the placeholders in a line. A placeholder that was cut off has no number, and is left
/// out.
pub(super) fn read_all(line: &[u8]) -> Vec<Placeholder> {
    let mut placeholders: Vec<Placeholder> = Vec::new();
    for start in memchr::memmem::find_iter(line, PLACEHOLDER_START.as_bytes()) {
        let Some((kind, number)) = read_placeholder(&line[start + PLACEHOLDER_START.len()..])
        else {
            continue;
        };
        // Tens of thousands in a row may have the same kind, which they share.
        let kind = match placeholders.last() {
            Some(last) if &*last.kind == kind => last.kind.clone(),
            _ => kind.into(),
        };
        placeholders.push(Placeholder { kind, number });
    }
    placeholders.shrink_to_fit();
    placeholders
}

/// Parses a placeholder from the bytes after [`PLACEHOLDER_START`], such as `github-pat#1]`, into
/// its kind and its number; `None` if the bytes have another form.
fn read_placeholder(after_start: &[u8]) -> Option<(&str, usize)> {
    let near = &after_start[..after_start.len().min(LONGEST_PLACEHOLDER)];
    let bracket = memchr::memchr(b']', near)?;
    let content = std::str::from_utf8(&near[..bracket]).ok()?;
    let (kind, number) = content.rsplit_once('#')?;
    Some((kind, number.parse().ok()?))
}
