//! Values as JavaScript sees them: `JSON.stringify(JSON.parse(value))`, `String(value)`,
//! `Number(value)`.
//!
//! The agents measure and print tool arguments in the first form, so its length matters. Numbers
//! get their shortest spelling; integer-like keys come first; a repeated key keeps its first
//! position and gets its last value. Nothing here recurses.

use super::raw::Raw;
use super::scan::{Scanner, tokens};
use super::string;
use crate::text::{Text, joined};

/// Returns the text of `JSON.stringify(value)`.
pub fn stringify(value: Raw) -> Text<'static> {
    let (mut out, mut open) = (Vec::new(), Vec::new());
    let mut before = b' ';
    for (first, token) in tokens(value.bytes()) {
        match first {
            b'{' | b'[' => {
                out.push(first);
                open.push(Open {
                    is_object: first == b'{',
                    members: Vec::new(),
                    start: out.len(),
                });
            }
            b'}' | b']' => {
                open.pop()
                    .iter()
                    .for_each(|container| sort_members(container, &mut out));
                out.push(first);
            }
            b',' | b':' => out.push(first),
            _ => {
                let start = out.len();
                push_scalar(token, &mut out);
                // After a brace or comma, it is a key, or an item of an array.
                if let Some(Open {
                    is_object: true,
                    members,
                    ..
                }) = open.last_mut()
                    && matches!(before, b'{' | b',')
                {
                    members.push((start, out.len() - start));
                }
            }
        }
        before = first;
    }
    Text::from_wtf8(out)
}

/// Returns `String(number)`.
pub fn number(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned(); // ryu-js writes -0 this way, too, but does not guarantee it.
    }
    ryu_js::Buffer::new().format(value).to_owned()
}

/// Returns `String(value)`.
pub fn string(value: Raw<'_>) -> Text<'_> {
    if !value.is_array() {
        return scalar(value);
    }
    // Arrays are joined with commas at every depth, so only the brackets are dropped.
    let mut scanner = Scanner::document(value.bytes());
    let mut out = Text::default();
    loop {
        match scanner.peek() {
            0 => return out,
            b'[' | b']' => scanner.seek(scanner.pos() + 1),
            b',' => {
                scanner.seek(scanner.pos() + 1);
                out.push_str(",");
            }
            _ => match scanner.value().map(Raw::checked) {
                Ok(item) if item.is_null() => {}
                Ok(item) => out.push(&scalar(item)),
                Err(_) => return out,
            },
        }
    }
}

fn scalar(value: Raw<'_>) -> Text<'_> {
    match (value.text(), value.number()) {
        (Some(text), _) => text,
        (_, Some(value)) => Text::from(number(value)),
        _ if value.is_object() => Text::from("[object Object]"),
        _ => Text::from_wtf8(value.bytes()),
    }
}

/// Returns `${value}` in a template: as [`string()`], and `undefined` for a missing value.
pub fn template(value: Option<Raw<'_>>) -> Text<'_> {
    value.map_or(Text::from("undefined"), string)
}

/// Whether a value exists and is truthy.
pub fn truthy(value: Option<Raw>) -> bool {
    value.is_some_and(Raw::is_truthy)
}

/// Returns `array.join(separator)`, in which an item that is `null` is empty.
pub fn join(array: Raw, separator: &str) -> Text<'static> {
    joined(
        array.items().map(|item| {
            if item.is_null() {
                Text::default()
            } else {
                string(item)
            }
        }),
        separator,
    )
}

/// Returns a value as an operand of `+` and `>`: a missing value is `NaN`, `null` is 0. Strings and
/// objects, which no agent writes there, are `NaN`.
pub fn operand(value: Option<Raw>) -> f64 {
    let number = |value: Raw| value.number().or(value.bool().map(f64::from));
    match value {
        Some(value) if value.is_null() => 0.0,
        Some(value) => number(value).unwrap_or(f64::NAN),
        None => f64::NAN,
    }
}

/// Returns `Number(value)`, which comparisons such as `value < 2` use.
pub fn to_number(value: Raw) -> f64 {
    match (value.number(), value.bool()) {
        (Some(number), _) => number,
        (_, Some(bool)) => f64::from(bool),
        _ if value.is_null() => 0.0,
        _ => number_in(&string(value).trim().to_string_lossy()),
    }
}

/// Returns the number that a string without surrounding white space represents, as `Number` does.
fn number_in(text: &str) -> f64 {
    let radix = match text.get(..2) {
        Some("0x" | "0X") => 16,
        Some("0o" | "0O") => 8,
        Some("0b" | "0B") => 2,
        _ => return decimal_in(text),
    };
    let digits = &text[2..];
    if digits.is_empty() {
        return f64::NAN;
    }
    let mut number = 0.0;
    for digit in digits.chars() {
        let Some(digit) = digit.to_digit(radix) else {
            return f64::NAN;
        };
        number = number * f64::from(radix) + f64::from(digit);
    }
    number
}

fn decimal_in(text: &str) -> f64 {
    match text {
        "" => return 0.0,
        "Infinity" | "+Infinity" => return f64::INFINITY,
        "-Infinity" => return f64::NEG_INFINITY,
        _ => {}
    }
    // Rust also accepts `inf` and `nan`.
    let is_word = |byte: u8| byte.is_ascii_alphabetic() && !matches!(byte, b'e' | b'E');
    if text.bytes().any(is_word) {
        return f64::NAN;
    }
    text.parse().unwrap_or(f64::NAN)
}

/// Whether a value is a number with `bit` set, after JavaScript's conversion to 32 bits.
pub fn has_bit(value: Option<Raw>, bit: u32) -> bool {
    let number = value
        .and_then(Raw::number)
        .filter(|number| number.is_finite());
    number.is_some_and(|number| number.trunc().rem_euclid(4_294_967_296.0) as u32 & bit != 0)
}

/// Returns `number.toFixed(1)` of a number that is not negative; ties round up.
pub fn fixed1(number: f64) -> String {
    let exact = format!("{number:.60}");
    let (whole, fraction) = exact.split_once('.').unwrap_or((&exact, "0"));
    let mut tenths =
        whole.parse::<u64>().unwrap_or(0) * 10 + u64::from(fraction.as_bytes()[0] - b'0');
    tenths += u64::from(
        fraction
            .as_bytes()
            .get(1)
            .is_some_and(|&digit| digit >= b'5'),
    );
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// Returns `number.toLocaleString()` of a whole number: with separated thousands.
pub fn grouped(number: f64) -> String {
    let digits = self::number(number);
    let (sign, digits) = digits
        .strip_prefix('-')
        .map_or(("", digits.as_str()), |digits| ("-", digits));
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

/// Returns `Object.entries(value)`: integer-like keys first, in numeric order; a repeated key at
/// its first position with its last value.
pub fn entries(value: Raw<'_>) -> Vec<(Text<'_>, Raw<'_>)> {
    let members: Vec<_> = value
        .members()
        .map(|(key, value)| (string::decode(key.bytes), value))
        .collect();
    let keys: Vec<_> = members.iter().map(|(key, _)| key.as_bytes()).collect();
    properties(&keys)
        .into_iter()
        .map(|(key, value)| (members[key].0.clone(), members[value].1))
        .collect()
}

/// A container being written.
struct Open {
    is_object: bool,
    /// Where each member of an object starts in the output, and the length of its key there.
    members: Vec<(usize, usize)>,
    start: usize,
}

fn push_scalar(bytes: &[u8], out: &mut Vec<u8>) {
    let value = Raw::checked(bytes);
    match (value.text(), value.number()) {
        (Some(text), _) => string::encode(&text, out),
        (_, Some(n)) if n.is_finite() => out.extend_from_slice(number(n).as_bytes()),
        (_, Some(_)) => out.extend_from_slice(b"null"),
        _ => out.extend_from_slice(bytes),
    }
}

/// Sorts the members of a container, with which the output ends, into JavaScript's order, if
/// necessary.
fn sort_members(container: &Open, out: &mut Vec<u8>) {
    let Open { members, start, .. } = container;
    let keys: Vec<_> = members
        .iter()
        .map(|&(start, len)| &out[start + 1..start + len - 1])
        .collect();
    let order = properties(&keys);
    if order
        .iter()
        .enumerate()
        .all(|(at, &(key, value))| at == key && key == value)
        && order.len() == keys.len()
    {
        return;
    }
    let member = |at: usize| {
        let end = members
            .get(at + 1)
            .map_or(out.len(), |&(start, _)| start - 1);
        &out[members[at].0..end]
    };
    let body = order
        .iter()
        .map(|&(_, value)| member(value))
        .collect::<Vec<_>>()
        .join(&b',');
    out.truncate(*start);
    out.extend_from_slice(&body);
}

/// Returns the properties in JavaScript's order, each as two indexes: of the first member with its
/// key, and of the member with its value.
fn properties(keys: &[&[u8]]) -> Vec<(usize, usize)> {
    let mut by_key = std::collections::BTreeMap::new();
    let mut order: Vec<(usize, usize)> = Vec::with_capacity(keys.len());
    for (at, key) in keys.iter().enumerate() {
        let place = *by_key.entry(key).or_insert_with(|| {
            order.push((at, at));
            order.len() - 1
        });
        order[place].1 = at;
    }
    order.sort_by_key(|&(key, _)| array_index(keys[key]).unwrap_or(u32::MAX));
    order
}

/// Returns the value of an integer-like key, which JavaScript sorts before all other keys.
fn array_index(key: &[u8]) -> Option<u32> {
    let canonical = key == b"0" || (key.first()? != &b'0' && key.iter().all(u8::is_ascii_digit));
    if !canonical {
        return None;
    }
    std::str::from_utf8(key)
        .ok()?
        .parse()
        .ok()
        .filter(|&index| index < u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn js(text: &str) -> String {
        stringify(Raw::parse(text.as_bytes()).unwrap()).to_string()
    }

    #[test]
    fn it_writes_what_javascript_writes() {
        assert_eq!(
            js(r#" { "a" : [ 1.0 , -0, 1e400, 1e21, 0.1e-6, 12345678901234567890 ] } "#),
            r#"{"a":[1,0,null,1e+21,1e-7,12345678901234567000]}"#
        );
        assert_eq!(
            js(r#"{"b":1,"2":{},"1":[],"b":{"c":[]},"01":3}"#),
            r#"{"1":[],"2":{},"b":{"c":[]},"01":3}"#
        );
        assert_eq!(js(r#""\u0041\/\ud83d\n""#), r#""A/\ud83d\n""#);
        assert_eq!(js("[[],[{}],{}]"), "[[],[{}],{}]");
        assert_eq!(js(r#"{"a":1,"a":2}"#), r#"{"a":2}"#);
    }

    #[test]
    fn depth_costs_no_stack_and_no_time() {
        let deep = format!("{}1{}", r#"{"a":["#.repeat(100_000), "]}".repeat(100_000));
        assert_eq!(js(&deep), deep);
    }

    #[test]
    fn values_become_strings() {
        for (json, text) in [
            ("null", "null"),
            ("true", "true"),
            ("1.0", "1"),
            ("1e400", "Infinity"),
            ("\"a\"", "a"),
            ("[1, null, \"x\", [ ], [[2], 3]]", "1,,x,,2,3"),
            ("[null,null]", ","),
            ("[{\"a\":[]}]", "[object Object]"),
            ("{}", "[object Object]"),
        ] {
            assert_eq!(string(Raw::parse(json.as_bytes()).unwrap()), text, "{json}");
        }
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(string(Raw::checked(deep.as_bytes())), "1");
    }

    #[test]
    fn values_become_numbers() {
        for (json, number) in [
            ("2.5", 2.5),
            ("true", 1.0),
            ("false", 0.0),
            ("null", 0.0),
            ("\"\"", 0.0),
            ("\" \\n\\ufeff2\\u00a0\"", 2.0),
            ("\"1.0\"", 1.0),
            ("\"1.\"", 1.0),
            ("\".5\"", 0.5),
            ("\"+1e1\"", 10.0),
            ("\"0x1F\"", 31.0),
            ("\"0b11\"", 3.0),
            ("\"0O7\"", 7.0),
            ("\"-Infinity\"", f64::NEG_INFINITY),
            ("[]", 0.0),
            ("[[\"2\"]]", 2.0),
            ("[null]", 0.0),
        ] {
            assert_eq!(
                to_number(Raw::parse(json.as_bytes()).unwrap()),
                number,
                "{json}"
            );
        }
        let spoiled = [
            "\"1 2\"", "\"1,5\"", "\"v1\"", "\"nan\"", "\"inf\"", "\"0x\"", "\"-0x1\"", "\"0b2\"",
            "\".\"", "\"1_0\"", "[1,2]", "{}", "[{}]", "[true]",
        ];
        for json in spoiled {
            assert!(
                to_number(Raw::parse(json.as_bytes()).unwrap()).is_nan(),
                "{json}"
            );
        }
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
    fn bits_of_numbers() {
        let value = Raw::parse(br#"{"a":67108864,"b":4294967297,"c":"1"}"#).unwrap();
        assert!(has_bit(value.get("a"), 0x0400_0000));
        assert!(has_bit(value.get("b"), 1));
        assert!(!has_bit(value.get("c"), 1));
    }

    #[test]
    fn entries_are_object_entries() {
        let value = Raw::parse(br#"{"b":1,"0":2,"b":3}"#).unwrap();
        let entries: Vec<_> = entries(value)
            .into_iter()
            .map(|(k, v)| format!("{k}={}", v.bytes()[0] as char))
            .collect();
        assert_eq!(entries, ["0=2", "b=3"]);
    }
}
