//! Replaces data URLs in archived text by short notes (`elideDataUrls` of snapcompact, for
//! archives): a reader cannot use the bytes of an image, and providers reject truncated images.

use memchr::memmem;
use pisess_json::js;
use pisess_json::text::{JS_SPACE, Text, utf16_len};
use regex::bytes::{Captures, Regex};
use std::sync::LazyLock;

/// Matches a data URL and a `)` that follows it (`DATA_URL_ATOM`). An earlier version may have
/// truncated the payload, and left a marker in it.
static DATA_URL: LazyLock<Regex> = LazyLock::new(|| {
    let token = r"[\w!#$%&'*+.^|~-]+";
    let marker = r"\[(?:…|\.{3})(?<elided>\d+)ch elided(?:…|\.{3})\]";
    let media_type = format!(r"[a-z][\w.+-]*/[\w.+-]+(?:;{token}={token})*");
    let payload = format!("[a-z0-9+/=]*(?:(?<marker>{JS_SPACE}*{marker}{JS_SPACE}*)[a-z0-9+/=]*)?");
    let url =
        format!(r"data:(?<type>{media_type});base64,(?<payload>{payload})(?<close>{JS_SPACE}*\))?");
    Regex::new(&format!("(?i-u){url}")).expect("a constant")
});

/// Matches `![label](` or `[label](` at the end of a text.
static MARKDOWN_OPENER_AT_END: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(r"(?-u)!?\[[^\]\n]*\]\({JS_SPACE}*$")).expect("a constant")
});

/// Returns the text with a note in place of every base64 data URL. A Markdown image or link around
/// the URL is replaced, too:
///
/// ```text
/// see ![a](data:image/png;base64,AAAA) ok
/// see [data URL omitted: image/png, 4 base64 chars] ok
/// ```
pub fn elide_data_urls(text: &Text) -> Text<'static> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut copied_to = 0;
    for data_url in DATA_URL.captures_iter(bytes) {
        let before = &bytes[copied_to..data_url.get_match().start()];
        copied_to = data_url.get_match().end();
        let note = omission_note(&data_url);

        // The match includes a `)` after the URL, if there is one.
        let Some(close) = data_url.name("close") else {
            out.extend_from_slice(before);
            out.extend_from_slice(note.as_bytes());
            continue;
        };
        if let Some(opener) = MARKDOWN_OPENER_AT_END.find(before) {
            // A link or an image: its opener and its `)` are left out, too.
            out.extend_from_slice(&before[..opener.start()]);
            out.extend_from_slice(note.as_bytes());
        } else {
            out.extend_from_slice(before);
            out.extend_from_slice(note.as_bytes());
            out.extend_from_slice(close.as_bytes());
        }
    }
    out.extend_from_slice(&bytes[copied_to..]);
    Text::from_wtf8(out)
}

/// Returns the note that replaces a matched [`DATA_URL`].
fn omission_note(data_url: &Captures) -> String {
    let media_type = String::from_utf8_lossy(&data_url["type"]);
    let chars = js::number_to_string(original_payload_len(data_url));
    format!("[data URL omitted: {media_type}, {chars} base64 chars]")
}

/// Returns the number of base64 characters that a matched [`DATA_URL`] had before any were elided.
///
/// An earlier version may have replaced some of them by a marker with their number. So the payload
/// `AAAA […96ch elided…] BB` had 102 characters: 4, 96 and 2.
fn original_payload_len(data_url: &Captures) -> f64 {
    // In UTF-16 units, as the agent counts.
    let payload_len = utf16_len(&data_url["payload"]) as f64;
    let Some(marker) = data_url.name("marker") else {
        return payload_len;
    };
    // The pattern ignores case, but the agent reads the number only from a marker in small letters.
    // It counts any other marker like the characters around it.
    let is_lower_case = memmem::find(marker.as_bytes(), b"ch elided").is_some();
    if !is_lower_case {
        return payload_len;
    }

    // The marker includes the white space around it.
    let marker_len = utf16_len(marker.as_bytes()) as f64;
    // A number of JavaScript: it is inexact or infinite if it has very many digits.
    let elided_len: f64 = String::from_utf8_lossy(&data_url["elided"])
        .parse()
        .expect("the group matches digits only");
    // The order of the operations matters: the sum of inexact numbers must be the agent's.
    payload_len + (elided_len - marker_len)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: &str) {
        assert_eq!(elide_data_urls(&Text::from(text)).to_string(), expected);
    }

    #[test]
    fn a_data_url_becomes_a_note() {
        check(
            "a data:image/png;base64,AAAA b",
            "a [data URL omitted: image/png, 4 base64 chars] b",
        );
        check(
            "x data:image/png;charset=u;base64,",
            "x [data URL omitted: image/png;charset=u, 0 base64 chars]",
        );
        check(
            "no data:image/png;base65,AAAA",
            "no data:image/png;base65,AAAA",
        );
    }

    #[test]
    fn markdown_around_it_goes_too() {
        check(
            "see ![a [b](data:image/png;base64,AA== ) ok",
            "see [data URL omitted: image/png, 4 base64 chars] ok",
        );
        check(
            "(data:image/png;base64,AAAA)",
            "([data URL omitted: image/png, 4 base64 chars])",
        );
        check(
            "[x]( data:a/b;base64,AAAA y",
            "[x]( [data URL omitted: a/b, 4 base64 chars] y",
        );
    }

    #[test]
    fn data_url_omission_counts_characters_elided_before() {
        check(
            "DATA:a/b;BASE64,AAAA […96ch elided…] BB",
            "[data URL omitted: a/b, 102 base64 chars]",
        );
    }
}
