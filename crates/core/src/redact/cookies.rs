//! Finds the values of cookies: those in `Cookie` and `Set-Cookie` headers that look generated.

use super::resemblance::{is_placeholder, is_random};
use std::ops::Range;

/// The kind of the secrets that this module finds.
pub const KIND: &str = "cookie";

/// The keywords of cookies in the raw bytes of a line, without the first letter, which may be upper
/// or lower case.
pub const KEYWORDS: [&str; 2] = ["ookie", "OOKIE"];

/// The minimum length of a secret value. Shorter values are settings, such as a language.
const SHORTEST_VALUE: usize = 16;

/// The ranges of the name and the value of a cookie in a text.
pub struct Cookie {
    pub name: Range<usize>,
    pub value: Range<usize>,
}

/// Calls `visit` with each cookie whose value is a secret.
///
/// Cookies are pairs `NAME=VALUE`, separated by `;`, as in `Cookie: theme=dark; sid=x9Qd81LmP2`.
/// They follow the word `cookie`, the name of a header or an option, and end at a quote, a
/// backslash or the end of the line.
pub fn each_cookie(text: &[u8], mut visit: impl FnMut(Cookie)) {
    const WORD: &[u8] = b"cookie";

    for word_start in memchr::memmem::find_iter(&text.to_ascii_lowercase(), WORD) {
        let word = word_start..word_start + WORD.len();
        let Some(list) = find_cookie_list(text, word) else {
            continue;
        };
        let mut pair_start = list.start;
        for pair in text[list].split(|&byte| byte == b';') {
            if let Some(cookie) = locate_cookie(pair, pair_start)
                && cookie.is_secret_in(text)
            {
                visit(cookie);
            }
            pair_start += pair.len() + b";".len();
        }
    }
}

/// Returns the range of the pairs that follow the word `cookie`: `theme=dark; sid=x9Qd81LmP2` after
/// that of `Cookie: theme=dark; sid=x9Qd81LmP2`. `None` if the word is not the name of a header or
/// an option.
fn find_cookie_list(text: &[u8], word: Range<usize>) -> Option<Range<usize>> {
    let is_option = text[..word.start].ends_with(b"--");
    let start = header_value_start(text, word.end, is_option)?;
    // A header in a command or in JSON ends at a quote, which may be escaped.
    let len = text[start..]
        .iter()
        .take_while(|byte| !matches!(byte, b'\n' | b'\r' | b'"' | b'\'' | b'\\'))
        .count();
    Some(start..start + len)
}

impl Cookie {
    /// Whether the pair in `text` has the name of a cookie, and a value that looks generated.
    fn is_secret_in(&self, text: &[u8]) -> bool {
        is_cookie_name(&text[self.name.clone()]) && is_generated(&text[self.value.clone()])
    }
}

/// Whether this may be the name of a cookie.
fn is_cookie_name(name: &[u8]) -> bool {
    let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"_-.".contains(byte);
    !name.is_empty() && name.len() <= 60 && name.iter().all(in_name)
}

/// The maximum number of bytes between the word `cookie` and the first pair, such as `s": "`.
const LONGEST_SEPARATOR: usize = 8;

/// Returns the ranges of the name and the value of a pair. `pair_start` is the offset of the pair
/// in the text. White space before the name is left out. `None` for a pair without `=`.
fn locate_cookie(pair: &[u8], pair_start: usize) -> Option<Cookie> {
    let equals = pair.iter().position(|&byte| byte == b'=')?;
    let indent = pair.len() - pair.trim_ascii_start().len();
    Some(Cookie {
        name: pair_start + indent..pair_start + equals,
        value: pair_start + equals + 1..pair_start + pair.len(),
    })
}

/// Returns the offset of the value of a header, as in `Cookie: a=1`, or of an option, as in
/// `--cookie a=1`. The word `cookie` ends at `name_end`. `None` if it has no value: without `:` or
/// `=` after it, or dashes before it, it is a word of ordinary text.
fn header_value_start(text: &[u8], name_end: usize, is_option: bool) -> Option<usize> {
    // `s` is allowed because of the plural `cookies`.
    let separator_len = text[name_end..]
        .iter()
        .take(LONGEST_SEPARATOR)
        .take_while(|byte| matches!(byte, b's' | b'"' | b'\'' | b' ' | b':' | b'='))
        .count();
    let start = name_end + separator_len;
    let has_operator = text[name_end..start]
        .iter()
        .any(|byte| matches!(byte, b':' | b'='));
    if has_operator || is_option {
        Some(start)
    } else {
        None
    }
}

/// Whether the value of a cookie looks generated.
fn is_generated(value: &[u8]) -> bool {
    let value = value.trim_ascii();
    // `$SESSION` is a variable of a shell.
    let is_variable = value.starts_with(b"$");
    value.len() >= SHORTEST_VALUE
        && value.iter().all(u8::is_ascii_graphic)
        && !is_variable
        && !is_placeholder(value)
        && is_random(value)
}

/// The number of bytes after the word `cookie` in which the first pair is searched for.
const BYTES_LOOKED_AT: usize = 200;

/// Whether a cookie may follow the word `cookie`. `rest` are the raw bytes after the word: they
/// must contain a `=`, followed by at least as many bytes as the shortest value has.
pub fn may_follow(rest: &[u8]) -> bool {
    let near = &rest[..rest.len().min(BYTES_LOOKED_AT)];
    match memchr::memchr(b'=', near) {
        Some(equals) => near[equals..].len() > SHORTEST_VALUE,
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_generated_value_is_found() {
        let text = b"Set-Cookie: lang=en; sid=s3Xk29vQmmLw3a8Zk2p; Path=/\nCookie: a=1; csrf=9f8e7d6c5b4a39219f8e\ncookies = 4";
        let mut found = Vec::new();
        each_cookie(text, |cookie| {
            found.push([&text[cookie.name], b"=", &text[cookie.value]].concat());
        });
        assert_eq!(
            found,
            [
                &b"sid=s3Xk29vQmmLw3a8Zk2p"[..],
                b"csrf=9f8e7d6c5b4a39219f8e"
            ]
        );
    }
}
