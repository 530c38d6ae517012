//! Hits: places in decoded texts.

use crate::session::search::{Hit, Snippet, SnippetSize};
use pisess_json::text::{Text, utf16_len};
use std::ops::Range;

/// A hit whose position is not requested.
pub(super) fn nowhere() -> Hit {
    Hit { field: String::new(), range: 0..0, snippet: Snippet { text: String::new(), hit: 0..0 } }
}

/// Returns the hit at a place of a text.
pub(super) fn hit_at(field: String, text: &Text, place: Range<usize>, size: SnippetSize) -> Hit {
    // Lone surrogates become U+FFFD, which has as many bytes, so positions stay the same.
    let shown = text.to_string_lossy();
    let place = whole_characters(&shown, place);
    let start = utf16_len(&text.as_bytes()[..place.start]);
    let end = start + utf16_len(&text.as_bytes()[place.clone()]);
    let snippet = Snippet::around(&shown, place, size);
    Hit { field, range: start..end, snippet }
}

/// Returns the range extended to whole characters; `(?-u)` and empty matches can split them.
fn whole_characters(text: &str, range: Range<usize>) -> Range<usize> {
    let (mut start, mut end) = (range.start, range.end);
    while !text.is_char_boundary(start) {
        start -= 1;
    }
    while !text.is_char_boundary(end) {
        end += 1;
    }
    start..end
}
