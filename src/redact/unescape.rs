//! Text with its escapes decoded, mapped to the bytes it came from.
//!
//! A secret may be written with escapes (`\u0073k-ant-…`), once by the line's own JSON, once more
//! by JSON inside a string, and so on. The decoded text is matched, and the original bytes are
//! replaced. A placeholder contains no quote and no backslash, so it is valid at any depth.

use pisess_json::string::escape;
use pisess_json::text::push_code_point;
use std::borrow::Cow;
use std::ops::Range;

/// The maximum number of levels of JSON nested in JSON strings.
const LEVELS: usize = 6;

/// Returns the bytes of a string as they are, and with their escapes decoded, level by level.
pub(super) fn levels(raw: &[u8]) -> impl Iterator<Item = Spoken<'_>> {
    std::iter::successors(Some(Spoken::plain(raw)), |spoken| spoken.unescaped()).take(LEVELS)
}

/// A decoded text, and where each byte of it came from.
#[derive(Debug)]
pub struct Spoken<'a> {
    /// The text, UTF-8 except for lone surrogates and bytes that were not UTF-8 before.
    pub text: Cow<'a, [u8]>,
    /// The runs of each level of escapes that was decoded.
    levels: Vec<Vec<Run>>,
}

/// Bytes of a text that come from consecutive bytes of the text before, or all from one escape.
#[derive(Clone, Copy, Debug)]
struct Run {
    /// Its offset in the text.
    text: usize,
    /// Where it came from.
    source: usize,
    is_escape: bool,
}

impl<'a> Spoken<'a> {
    /// Returns the bytes unchanged.
    pub fn plain(bytes: &'a [u8]) -> Self {
        Spoken {
            text: Cow::Borrowed(bytes),
            levels: Vec::new(),
        }
    }

    /// Decodes one level of escapes; `None` if there is none left.
    pub fn unescaped(&self) -> Option<Spoken<'static>> {
        let bytes = &*self.text;
        memchr::memchr(b'\\', bytes)?;
        let mut text = Vec::with_capacity(bytes.len());
        let mut runs = vec![Run {
            text: 0,
            source: 0,
            is_escape: false,
        }];
        let mut at = 0;
        while let Some(backslash) = memchr::memchr(b'\\', &bytes[at..]) {
            text.extend_from_slice(&bytes[at..at + backslash]);
            at += backslash;
            let Some((code_point, width)) = escape(&bytes[at..]) else {
                text.push(b'\\');
                at += 1;
                continue;
            };
            runs.push(Run {
                text: text.len(),
                source: at,
                is_escape: true,
            });
            push_code_point(&mut text, code_point);
            at += width;
            runs.push(Run {
                text: text.len(),
                source: at,
                is_escape: false,
            });
        }
        text.extend_from_slice(&bytes[at..]);
        let levels = || self.levels.iter().cloned().chain([runs]).collect();
        (text.len() < bytes.len()).then(|| Spoken {
            text: Cow::Owned(text),
            levels: levels(),
        })
    }

    /// Returns the bytes of the source for a range of the text.
    pub fn source(&self, range: Range<usize>) -> Range<usize> {
        self.offset(range.start)..self.offset(range.end)
    }

    fn offset(&self, at: usize) -> usize {
        self.levels.iter().rev().fold(at, |at, runs| {
            let run = runs[runs.partition_point(|run| run.text <= at) - 1];
            run.source + if run.is_escape { 0 } else { at - run.text }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_lead_back_through_all_levels() {
        let source = br#"a \"k\": \\u0073k-1 \u00e9 z"#;
        let once = Spoken::plain(source).unescaped().unwrap();
        assert_eq!(&*once.text, "a \"k\": \\u0073k-1 é z".as_bytes());
        let twice = once.unescaped().unwrap();
        assert_eq!(&*twice.text, "a \"k\": sk-1 é z".as_bytes());
        let start = twice
            .text
            .windows(4)
            .position(|four| four == b"sk-1")
            .unwrap();
        assert_eq!(&source[twice.source(start..start + 4)], br"\\u0073k-1");
        assert!(twice.unescaped().is_none());
        assert!(Spoken::plain(b"C:\\Users").unescaped().is_none());
    }
}
