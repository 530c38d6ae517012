//! Values as JavaScript's operators see them.

use crate::core::json::{Raw, js, string};
use crate::core::text::{Text, utf16_len};

/// Several members of an object in one walk; of duplicates the last.
pub fn members<'a, const N: usize>(object: Raw<'a>, names: [&str; N]) -> [Option<Raw<'a>>; N] {
    let mut found = [None; N];
    for (key, value) in object.members() {
        if let Some(at) = names.iter().position(|name| key.is(name)) {
            found[at] = Some(value);
        }
    }
    found
}

/// Whether a member is there and taken for true.
pub fn truthy(value: Option<Raw>) -> bool {
    value.is_some_and(Raw::is_truthy)
}

/// `${value}` in a template. Objects and arrays, which no agent writes where this is asked, are
/// spelled as JSON.
pub fn template(value: Option<Raw<'_>>) -> Text<'_> {
    let Some(value) = value else { return Text::from("undefined") };
    match (value.text(), value.number()) {
        (Some(text), _) => text,
        (None, Some(number)) if number.is_infinite() => {
            Text::from(if number > 0.0 { "Infinity" } else { "-Infinity" })
        }
        _ => js::stringify(value),
    }
}

/// `value.length` of a string in UTF-16 units, without decoding it; 0 of anything else.
pub fn length(value: Option<Raw>) -> u64 {
    let Some(raw) = value.and_then(Raw::raw_string) else { return 0 };
    if std::str::from_utf8(raw).is_err() {
        return string::decode(raw).utf16_len() as u64;
    }
    let (mut units, mut rest) = (0, raw);
    while let Some(plain) = memchr::memchr(b'\\', rest) {
        // Each escape is one unit: a pair of surrogates is written as two of them.
        units += utf16_len(&rest[..plain]) + 1;
        let width = if rest.get(plain + 1) == Some(&b'u') { 6 } else { 2 };
        rest = rest.get(plain + width..).unwrap_or_default();
    }
    (units + utf16_len(rest)) as u64
}

/// `+value` where it is added up: what is missing spoils the sum.
pub fn addend(value: Option<Raw>) -> f64 {
    match value {
        Some(value) if value.is_null() => 0.0,
        Some(value) => value.number().or(value.bool().map(f64::from)).unwrap_or(f64::NAN),
        None => f64::NAN,
    }
}

/// The text of a message's content (pi-ai's `contentText`): a string itself, of blocks the text ones,
/// joined.
pub fn content_text<'a>(content: Option<Raw<'a>>, separator: &str) -> Text<'a> {
    let Some(content) = content else { return Text::default() };
    if let Some(text) = content.text() {
        return text;
    }
    let mut joined = Text::default();
    for (at, block) in text_blocks(content).enumerate() {
        if at > 0 {
            joined.push_str(separator);
        }
        if let Some(text) = block.get_some("text") {
            joined.push(&template(Some(text)));
        }
    }
    joined
}

/// The blocks of type `text`.
pub fn text_blocks(content: Raw<'_>) -> impl Iterator<Item = Raw<'_>> {
    content.items().filter(|block| is_type(*block, "text"))
}

/// Whether the value is an object whose `type` is `name`.
pub fn is_type(block: Raw, name: &str) -> bool {
    block.get("type").is_some_and(|kind| kind.is(name))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Option<Raw<'_>> {
        Some(Raw::parse(json.as_bytes()).unwrap())
    }

    #[test]
    fn lengths_are_utf16_units_of_the_decoded_string() {
        for json in [r#""""#, r#""a\n\u0041é😀""#, r#""\ud83d\ude00\ud83d""#, r#""\\u0041\"""#] {
            let value = raw(json);
            assert_eq!(length(value), value.unwrap().text().unwrap().utf16_len() as u64, "{json}");
        }
        assert_eq!(length(Some(Raw::checked(b"\"a\xff\xe2\x82\""))), 3);
        assert_eq!(length(raw("[1,2]")), 0);
    }

    #[test]
    fn templates_are_javascripts() {
        assert_eq!(template(None), "undefined");
        assert_eq!(template(raw("1.0")), "1");
        assert_eq!(template(raw("-1e999")), "-Infinity");
        assert_eq!(template(raw("null")), "null");
        assert_eq!(template(raw(r#""\ud83d\ude00""#)), "😀");
    }

    #[test]
    fn content_is_its_text_blocks() {
        let blocks = raw(
            r#"[{"type":"text","text":"a"},{"type":"image"},null,{"type":"text"},{"type":"text","text":"b"}]"#,
        );
        assert_eq!(content_text(blocks, "\n"), "a\n\nb");
        assert_eq!(content_text(raw(r#""plain""#), "\n"), "plain");
        assert_eq!(content_text(raw("5"), "\n"), "");
    }
}
