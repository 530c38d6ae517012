//! Inline images in archived text: a reader cannot use their bytes, and providers reject truncated ones, so
//! each data URL is replaced by a short note (`elideDataUrls` of snapcompact, for archives).

use pisess_json::js;
use pisess_json::text::{self, Text, leading_space, utf16_len};

/// Returns the text with every base64 data URL replaced, including a Markdown image or link around it.
pub fn elided(text: &Text) -> Text<'static> {
    let bytes = text.as_bytes();
    if find_ignoring_case(bytes, b";base64,", 0).is_none() {
        return text.borrowed().into_owned();
    }
    let mut out = Vec::with_capacity(bytes.len());
    let (mut cursor, mut from) = (0, 0);
    while let Some(start) = find_ignoring_case(bytes, b"data:", from) {
        let Some(url) = DataUrl::at(bytes, start) else {
            from = start + 1;
            continue;
        };
        let opener = markdown_opener(bytes, start, cursor);
        let wrapped = opener.is_some() && url.closes;
        out.extend_from_slice(&bytes[cursor..opener.unwrap_or(start)]);
        if let (Some(opener), false) = (opener, wrapped) {
            out.extend_from_slice(&bytes[opener..start]);
        }
        let note =
            format!("[data URL omitted: {}, {} base64 chars]", ascii(url.mime), js::number_text(url.chars));
        out.extend_from_slice(note.as_bytes());
        if !wrapped {
            out.extend_from_slice(&bytes[url.payload_end..url.end]);
        }
        cursor = url.end;
        from = url.end;
    }
    out.extend_from_slice(&bytes[cursor..]);
    Text::from_wtf8(out)
}

struct DataUrl<'a> {
    mime: &'a [u8],
    /// The number of base64 characters, including those that an earlier marker replaced.
    chars: f64,
    payload_end: usize,
    /// The offset after a `)` that follows, if one does.
    end: usize,
    closes: bool,
}

impl<'a> DataUrl<'a> {
    /// Returns the data URL whose `data:` is at `start`.
    fn at(bytes: &'a [u8], start: usize) -> Option<Self> {
        let mime_start = start + 5;
        let mut at = media_type_end(bytes, mime_start)?;
        let mime_end = loop {
            if starts_ignoring_case(&bytes[at..], b";base64,") {
                break at;
            }
            at = parameter_end(bytes, at)?;
        };
        let payload = mime_end + 8;
        let plain = payload + count(&bytes[payload..], is_base64);
        let (payload_end, elided) = match Marker::at(bytes, plain) {
            Some(marker) => (marker.end + count(&bytes[marker.end..], is_base64), Some(marker)),
            None => (plain, None),
        };
        let units = utf16_len(&bytes[payload..payload_end]) as f64;
        // The agent counts the characters that an earlier marker replaced only if the marker is in lower case.
        let chars = match elided.filter(|marker| marker.lower_case) {
            Some(marker) => units - utf16_len(&bytes[plain..marker.end]) as f64 + marker.chars,
            None => units,
        };
        let close = payload_end + leading_space(&bytes[payload_end..]);
        let closes = bytes.get(close) == Some(&b')');
        let end = if closes { close + 1 } else { payload_end };
        Some(DataUrl { mime: &bytes[mime_start..mime_end], chars, payload_end, end, closes })
    }
}

/// The marker `[…123ch elided…]`, with the white space around it.
struct Marker {
    end: usize,
    chars: f64,
    lower_case: bool,
}

impl Marker {
    fn at(bytes: &[u8], start: usize) -> Option<Self> {
        let open = start + leading_space(&bytes[start..]);
        let rest = bytes.get(open..)?.strip_prefix(b"[")?;
        let rest = dots(rest)?;
        let digits = count(rest, |byte| byte.is_ascii_digit());
        let chars = std::str::from_utf8(&rest[..digits]).ok()?.parse().ok()?;
        let rest = &rest[digits..];
        let words = b"ch elided";
        let lower_case = rest.starts_with(words);
        let rest = if starts_ignoring_case(rest, words) { &rest[words.len()..] } else { return None };
        let rest = dots(rest)?.strip_prefix(b"]")?;
        let end = bytes.len() - rest.len();
        Some(Marker { end: end + leading_space(&bytes[end..]), chars, lower_case })
    }
}

fn dots(bytes: &[u8]) -> Option<&[u8]> {
    bytes.strip_prefix("…".as_bytes()).or_else(|| bytes.strip_prefix(b"..."))
}

/// Returns the offset after `type/subtype`.
fn media_type_end(bytes: &[u8], start: usize) -> Option<usize> {
    let part = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'+' | b'-');
    if !bytes.get(start)?.is_ascii_alphabetic() {
        return None;
    }
    let slash = start + count(&bytes[start..], part);
    if bytes.get(slash) != Some(&b'/') {
        return None;
    }
    let subtype = count(&bytes[slash + 1..], part);
    (subtype > 0).then_some(slash + 1 + subtype)
}

/// Returns the offset after `;name=value`.
fn parameter_end(bytes: &[u8], start: usize) -> Option<usize> {
    let token = |at: usize| {
        let len = count(bytes.get(at..)?, |b| b.is_ascii_alphanumeric() || b"_!#$%&'*+.^|~-".contains(&b));
        (len > 0).then_some(at + len)
    };
    if bytes.get(start) != Some(&b';') {
        return None;
    }
    let name = token(start + 1)?;
    if bytes.get(name) != Some(&b'=') {
        return None;
    }
    token(name + 1)
}

/// Returns the offset of a `![label](` or `[label](` that is directly before the URL and does not begin before
/// `cursor`.
fn markdown_opener(bytes: &[u8], url: usize, cursor: usize) -> Option<usize> {
    let before = &bytes[cursor..url];
    let trimmed = text::trim_end(before);
    let label = trimmed.strip_suffix(b"](")?;
    let from = label.iter().rposition(|&byte| byte == b']' || byte == b'\n').map_or(0, |at| at + 1);
    let opener = cursor + from + label[from..].iter().position(|&byte| byte == b'[')?;
    let image = opener > cursor && bytes[opener - 1] == b'!';
    Some(opener - usize::from(image))
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')
}

fn count(bytes: &[u8], is: impl Fn(u8) -> bool) -> usize {
    bytes.iter().take_while(|&&byte| is(byte)).count()
}

fn starts_ignoring_case(bytes: &[u8], word: &[u8]) -> bool {
    bytes.get(..word.len()).is_some_and(|head| head.eq_ignore_ascii_case(word))
}

fn find_ignoring_case(bytes: &[u8], word: &[u8], from: usize) -> Option<usize> {
    let rest = bytes.get(from..)?;
    rest.windows(word.len()).position(|window| window.eq_ignore_ascii_case(word)).map(|at| from + at)
}

fn ascii(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(elided(&Text::from(text)).to_string(), expected);
    }

    #[test]
    fn a_data_url_becomes_a_note() {
        check("a data:image/png;base64,AAAA b", "a [data URL omitted: image/png, 4 base64 chars] b");
        check(
            "x data:image/png;charset=u;base64,",
            "x [data URL omitted: image/png;charset=u, 0 base64 chars]",
        );
        check("no data:image/png;base65,AAAA", "no data:image/png;base65,AAAA");
    }

    #[test]
    fn markdown_around_it_goes_too() {
        check(
            "see ![a [b](data:image/png;base64,AA== ) ok",
            "see [data URL omitted: image/png, 4 base64 chars] ok",
        );
        check("(data:image/png;base64,AAAA)", "([data URL omitted: image/png, 4 base64 chars])");
        check("[x]( data:a/b;base64,AAAA y", "[x]( [data URL omitted: a/b, 4 base64 chars] y");
    }

    #[test]
    fn what_was_elided_before_is_counted() {
        check("DATA:a/b;BASE64,AAAA […96ch elided…] BB", "[data URL omitted: a/b, 102 base64 chars]");
    }
}
