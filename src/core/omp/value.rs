//! How JavaScript coerces: the agent's templates, sums and tests, on values that need not have the
//! type it expects.

use crate::core::entry::Entry;
use crate::core::json::{Raw, js};
use crate::core::text::Text;

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

/// `String(value)`, as in a template literal; a missing member is `undefined`.
pub fn string(value: Option<Raw>) -> Text<'static> {
    let Some(value) = value else { return Text::from("undefined") };
    if value.is_array() {
        return join(value, ",");
    }
    scalar(value)
}

/// `array.join(separator)`: `null` is empty.
pub fn join(array: Raw, separator: &str) -> Text<'static> {
    let mut out = Text::default();
    for (at, item) in array.items().enumerate() {
        if at > 0 {
            out.push_str(separator);
        }
        if !item.is_null() {
            out.push(&scalar(item));
        }
    }
    out
}

fn scalar(value: Raw) -> Text<'static> {
    match (value.text(), value.number()) {
        (Some(text), _) => text.into_owned(),
        (_, Some(number)) => Text::from(number_text(number)),
        _ if value.is_object() || value.is_array() => Text::from("[object Object]"),
        _ => Text::from_wtf8(value.bytes().to_vec()),
    }
}

/// `String(number)`.
pub fn number_text(number: f64) -> String {
    match number {
        _ if number.is_finite() => js::number(number),
        _ if number.is_nan() => "NaN".to_owned(),
        _ if number > 0.0 => "Infinity".to_owned(),
        _ => "-Infinity".to_owned(),
    }
}

/// A value as an operand of `+` and `>`: missing is `NaN`, `null` is 0.
pub fn number(value: Option<Raw>) -> f64 {
    match value {
        Some(value) if value.is_null() => 0.0,
        Some(value) => value.number().or_else(|| value.bool().map(f64::from)).unwrap_or(f64::NAN),
        None => f64::NAN,
    }
}

/// Whether the member is there and JavaScript takes it for true.
pub fn truthy(object: Raw, key: &str) -> bool {
    object.get(key).is_some_and(Raw::is_truthy)
}

/// Whether the member is the string `text`.
pub fn is(object: Raw, key: &str, text: &str) -> bool {
    object.get(key).is_some_and(|value| value.is(text))
}

/// Whether a value is a number with `bit` set, after JavaScript's conversion to 32 bits.
pub fn has_bit(value: Option<Raw>, bit: u32) -> bool {
    let number = value.and_then(Raw::number).filter(|number| number.is_finite());
    number.is_some_and(|number| number.trunc().rem_euclid(4_294_967_296.0) as u32 & bit != 0)
}

/// The string member, without the white space around it, unless that leaves nothing.
pub fn trimmed(object: Raw, key: &str) -> Option<Text<'static>> {
    let text = object.get_text(key)?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.into_owned())
}

/// Whether a string member is missing, no string, or nothing but white space.
pub fn is_blank(object: Raw, key: &str) -> bool {
    let raw = object.get(key).and_then(Raw::raw_string);
    raw.is_none_or(crate::core::json::string::is_blank)
}

/// JavaScript's `trimEnd`.
pub fn trim_end(text: &[u8]) -> &[u8] {
    let whole = Text::from_wtf8(text);
    let trimmed = whole.trim();
    if trimmed.is_empty() {
        return &text[..0];
    }
    let start = trimmed.as_bytes().as_ptr() as usize - whole.as_bytes().as_ptr() as usize;
    &text[..start + trimmed.as_bytes().len()]
}

/// The bytes at the start that JavaScript's `trimStart` takes off.
pub fn leading_space(text: &[u8]) -> usize {
    let whole = Text::from_wtf8(text);
    let trimmed = whole.trim();
    if trimmed.is_empty() {
        return text.len();
    }
    trimmed.as_bytes().as_ptr() as usize - whole.as_bytes().as_ptr() as usize
}

/// `number.toFixed(1)` of what is not negative: the larger of two that are as near.
pub fn fixed1(number: f64) -> String {
    let exact = format!("{number:.60}");
    let (whole, fraction) = exact.split_once('.').unwrap_or((&exact, "0"));
    let tenths = whole.parse::<u64>().unwrap_or(0) * 10 + u64::from(fraction.as_bytes()[0] - b'0');
    let tenths = tenths + u64::from(fraction.as_bytes().get(1).is_some_and(|&digit| digit >= b'5'));
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// `number.toLocaleString()` of a whole number: thousands apart.
pub fn grouped(number: f64) -> String {
    let digits = number_text(number);
    let (sign, digits) = digits.strip_prefix('-').map_or(("", digits.as_str()), |digits| ("-", digits));
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return format!("{sign}{digits}");
    }
    let mut out = sign.to_owned();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// The time of an entry as its messages carry it: milliseconds, `NaN` where it does not parse.
pub fn time(entry: &Entry) -> f64 {
    if entry.time_ms == Entry::NO_TIME { f64::NAN } else { entry.time_ms as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn raw(json: &str) -> Option<Raw<'_>> {
        Raw::parse(json.as_bytes()).ok()
    }

    #[test]
    fn values_become_strings_as_in_a_template() {
        let cases = [
            ("null", "null"),
            ("true", "true"),
            ("1.0", "1"),
            ("1e400", "Infinity"),
            ("\"a\"", "a"),
            ("[1,null,\"x\"]", "1,,x"),
            ("{}", "[object Object]"),
        ];
        for (json, text) in cases {
            assert_eq!(string(raw(json)), text, "{json}");
        }
        assert_eq!(string(None), "undefined");
    }

    #[test]
    fn numbers_for_people() {
        assert_eq!(fixed1(1.25), "1.3");
        assert_eq!(fixed1(1250.0 / 1000.0), "1.3");
        assert_eq!(fixed1(999.949), "999.9");
        assert_eq!(fixed1(9.96), "10.0");
        assert_eq!(grouped(1234567.0), "1,234,567");
        assert_eq!(grouped(12.0), "12");
    }

    #[test]
    fn space_at_the_end() {
        assert_eq!(trim_end("\u{a0} x \r\u{2028}".as_bytes()), "\u{a0} x".as_bytes());
        assert_eq!(trim_end(b" \t"), b"");
        assert_eq!(leading_space(" \u{3000}x ".as_bytes()), 4);
    }

    #[test]
    fn bits_of_numbers() {
        let value = raw(r#"{"a":67108864,"b":4294967297,"c":"1"}"#).unwrap_or(Raw::NULL);
        assert!(has_bit(value.get("a"), 0x0400_0000));
        assert!(has_bit(value.get("b"), 1));
        assert!(!has_bit(value.get("c"), 1));
    }
}
