//! Values as JavaScript sees them: `JSON.stringify(JSON.parse(value))`, `String(value)`,
//! `Number(value)`.
//!
//! The agents measure and print tool arguments in the first form, so its length matters. It differs
//! from the JSON in a file: numbers have their shortest spelling, integer-like keys come first, and
//! a repeated key has its first position and its last value. No function here is recursive.

use super::raw::Raw;
use super::scan::{Scanner, tokens};
use super::string;
use crate::text::{Text, join_with};
use std::collections::btree_map::{BTreeMap, Entry};

/// Returns the text of `JSON.stringify(value)`. JavaScript writes integer-like keys first, so the
/// text of `{"b": 1.0, "2": []}` is `{"2":[],"b":1}`.
///
/// The members of an object are first written in the order of the file. At the end of the object,
/// they are sorted.
pub fn stringify(value: Raw) -> Text<'static> {
    let mut out = Vec::new();
    let mut open: Vec<OpenContainer> = Vec::new();
    // Where the last scalar begins in the output.
    let mut scalar_start = 0;
    for (first, token) in tokens(value.bytes()) {
        match first {
            b'{' | b'[' => {
                out.push(first);
                // After the bracket was written: the content starts here.
                open.push(OpenContainer {
                    members: Vec::new(),
                    content_start: out.len(),
                });
            }
            b'}' | b']' => {
                // Before the bracket is written: the members are the end of the output. An array
                // has no members, and stays as it is.
                if let Some(container) = open.pop() {
                    sort_members(&container, &mut out);
                }
                out.push(first);
            }
            b',' => out.push(b','),
            b':' => {
                // The scalar before a colon is a key.
                if let Some(object) = open.last_mut() {
                    object.members.push(Member {
                        start: scalar_start,
                        key_len: out.len() - scalar_start,
                    });
                }
                out.push(b':');
            }
            _ => {
                scalar_start = out.len();
                push_scalar(token, &mut out);
            }
        }
    }
    Text::from_wtf8(out)
}

/// Returns the length of `JSON.stringify(value)` in UTF-16 units.
///
/// It is the sum of the lengths of the tokens, because the order of members does not change it. If
/// a key may be repeated in an object, the sum is too large: the text has only the last value of
/// such a key. Then the whole text is written and measured.
pub fn stringified_utf16_len(value: Raw) -> usize {
    let mut units = 0;
    // The keys of each open object so far, between their quotes.
    let mut open_objects: Vec<Vec<&[u8]>> = Vec::new();
    let mut last_string: &[u8] = b"";
    let mut other_scalar = Vec::new();
    for (first, token) in tokens(value.bytes()) {
        match first {
            b'{' => {
                open_objects.push(Vec::new());
                units += 1;
            }
            b'}' => {
                let keys = open_objects.pop().unwrap_or_default();
                if may_repeat_key(keys) {
                    return stringify(value).utf16_len();
                }
                units += 1;
            }
            b'[' | b']' | b',' => units += 1,
            b':' => {
                // The string before a colon is a key.
                if let Some(keys) = open_objects.last_mut() {
                    keys.push(last_string);
                }
                units += 1;
            }
            b'"' => {
                last_string = Raw::from_checked(token).raw_string().unwrap_or_default();
                units += string::encoded_utf16_len(last_string);
            }
            // A number, `true`, `false` or `null`, which are ASCII.
            _ => {
                other_scalar.clear();
                push_scalar(token, &mut other_scalar);
                units += other_scalar.len();
            }
        }
    }
    units
}

/// Whether two keys of an object may be equal when decoded. Keys are not decoded here: one key with
/// an escape suffices, because it may equal any other.
fn may_repeat_key(mut keys: Vec<&[u8]>) -> bool {
    if keys.iter().any(|key| key.contains(&b'\\')) {
        return true;
    }
    keys.sort_unstable();
    keys.windows(2).any(|pair| pair[0] == pair[1])
}

/// Returns `String(number)`.
pub fn number_to_string(value: f64) -> String {
    if value == 0.0 {
        return "0".to_owned(); // ryu-js writes -0 this way, too, but does not guarantee it.
    }
    ryu_js::Buffer::new().format(value).to_owned()
}

/// Returns `number.toString(36)`: 35 is `z`, and 36 is `10`.
pub fn to_base_36(number: u32) -> String {
    let mut digits_from_last = Vec::new();
    let mut rest = number;
    loop {
        let digit = char::from_digit(rest % 36, 36).expect("less than 36");
        digits_from_last.push(digit);
        rest /= 36;
        if rest == 0 {
            break;
        }
    }
    digits_from_last.into_iter().rev().collect()
}

/// Returns `String(value)`, such as `1,,2,[object Object]` for `[1, null, [2, {}]]`.
pub fn to_js_string(value: Raw<'_>) -> Text<'_> {
    if !value.is_array() {
        return scalar_to_string(value);
    }
    // JavaScript joins the items of an array with commas, and an array in it in the same way: so
    // the brackets of all arrays are dropped. Brackets and commas in an object are not found here:
    // an object is walked over as one item.
    let mut scanner = Scanner::document(value.bytes());
    let mut out = Text::default();
    loop {
        match scanner.peek() {
            // The end of the value.
            0 => return out,
            b'[' | b']' => scanner.seek(scanner.pos() + 1),
            b',' => {
                scanner.seek(scanner.pos() + 1);
                out.push_str(",");
            }
            _ => match scanner.read_value().map(Raw::from_checked) {
                // In an array, `null` is empty.
                Ok(item) if item.is_null() => {}
                Ok(item) => out.push(&scalar_to_string(item)),
                Err(_) => return out,
            },
        }
    }
}

/// Returns `String(value)` of a value that is not an array.
fn scalar_to_string(value: Raw<'_>) -> Text<'_> {
    if let Some(text) = value.text() {
        text
    } else if let Some(number) = value.number() {
        Text::from(number_to_string(number))
    } else if value.is_object() {
        Text::from("[object Object]")
    } else {
        // `true`, `false` and `null` are spelled as in JSON.
        Text::from_wtf8(value.bytes())
    }
}

/// Returns `${value}` in a template: the text of [`to_js_string`], or `undefined` for a missing
/// value.
pub fn interpolate(value: Option<Raw<'_>>) -> Text<'_> {
    value.map_or(Text::from("undefined"), to_js_string)
}

/// Whether a value exists and is truthy.
pub fn is_truthy(value: Option<Raw>) -> bool {
    value.is_some_and(Raw::is_truthy)
}

/// Returns `array.join(separator)`, in which an item that is `null` is empty.
pub fn join_array(array: Raw, separator: &str) -> Text<'static> {
    let mut texts = Vec::new();
    for item in array.items() {
        if item.is_null() {
            texts.push(Text::default());
        } else {
            texts.push(to_js_string(item));
        }
    }
    join_with(texts, separator)
}

/// Returns a value as a numeric operand, as of `+` and `>`: `null` is 0, and a missing value is
/// `NaN`. Strings and objects are `NaN`, too, unlike in JavaScript: no agent writes these there.
pub fn to_operand(value: Option<Raw>) -> f64 {
    let Some(value) = value else {
        return f64::NAN;
    };
    if value.is_null() {
        return 0.0;
    }
    if let Some(number) = value.number() {
        return number;
    }
    match value.bool() {
        Some(truth) => f64::from(truth),
        None => f64::NAN,
    }
}

/// Returns `Number(value)`, which comparisons such as `value < 2` use.
pub fn to_number(value: Raw) -> f64 {
    if let Some(number) = value.number() {
        number
    } else if let Some(truth) = value.bool() {
        f64::from(truth)
    } else if value.is_null() {
        0.0
    } else {
        number_in(&to_js_string(value).trim().to_string_lossy())
    }
}

/// Returns the number that a string represents, as `Number` does; `NaN` if it is not a number. The
/// string must have no white space around it.
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

/// Returns the decimal number that a string represents: 0 if it is empty, `NaN` if it is not a
/// number.
fn decimal_in(text: &str) -> f64 {
    match text {
        "" => return 0.0,
        "Infinity" | "+Infinity" => return f64::INFINITY,
        "-Infinity" => return f64::NEG_INFINITY,
        _ => {}
    }
    // Rust also accepts `inf` and `nan`. The only letter in a number is the `e` of an exponent.
    for byte in text.bytes() {
        if byte.is_ascii_alphabetic() && !matches!(byte, b'e' | b'E') {
            return f64::NAN;
        }
    }
    text.parse().unwrap_or(f64::NAN)
}

/// Whether a value is a number with `bit` set, after JavaScript's conversion to 32 bits.
pub fn has_bit(value: Option<Raw>, bit: u32) -> bool {
    let Some(number) = value.and_then(Raw::number) else {
        return false;
    };
    if !number.is_finite() {
        return false;
    }
    let bits = number.trunc().rem_euclid(TWO_TO_32) as u32;
    bits & bit != 0
}

const TWO_TO_32: f64 = 4_294_967_296.0;

/// Returns `number.toFixed(1)`, such as `2.5` for 2.46. `number` must not be negative. Ties round
/// up.
pub fn to_fixed_1(number: f64) -> String {
    // The second digit after the point decides. With 60 digits, it is not rounded itself: with two,
    // 0.0499 would be `0.05`, and then `0.1`.
    let decimal = format!("{number:.60}");
    let (whole, fraction) = decimal.split_once('.').unwrap_or((&decimal, "0"));
    let digits = fraction.as_bytes();
    let mut tenths = whole.parse::<u64>().unwrap_or(0) * 10 + u64::from(digits[0] - b'0');
    let rounds_up = digits.get(1).is_some_and(|&hundredths| hundredths >= b'5');
    if rounds_up {
        tenths += 1;
    }
    format!("{}.{}", tenths / 10, tenths % 10)
}

/// Returns `number.toLocaleString()` of a whole number: `1,234,567`.
pub fn group_digits(number: f64) -> String {
    let ungrouped = self::number_to_string(number);
    let (sign, digits) = match ungrouped.strip_prefix('-') {
        Some(digits) => ("-", digits),
        None => ("", ungrouped.as_str()),
    };
    // `NaN`, `Infinity`, or a number that JavaScript writes with an exponent.
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return ungrouped;
    }
    let mut out = sign.to_owned();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(',');
        }
        out.push(digit);
    }
    out
}

/// Returns `Object.entries(value)`. Integer-like keys come first, in numeric order. A repeated key
/// has its first position and its last value.
pub fn object_entries(value: Raw<'_>) -> Vec<(Text<'_>, Raw<'_>)> {
    let mut keys = Vec::new();
    let mut values = Vec::new();
    for (key, member_value) in value.members() {
        keys.push(string::decode(key.bytes));
        values.push(member_value);
    }
    let key_bytes: Vec<&[u8]> = keys.iter().map(|key| key.as_bytes()).collect();
    // In the order of JavaScript.
    find_properties(&key_bytes)
        .into_iter()
        .map(|property| (keys[property.first].clone(), values[property.last]))
        .collect()
}

/// A container being written.
struct OpenContainer {
    /// The members of an object so far; empty for an array.
    members: Vec<Member>,
    /// The offset in the output of its content, which begins after its opening bracket.
    content_start: usize,
}

/// A member in the output of [`stringify`].
struct Member {
    /// The offset of its key.
    start: usize,
    /// The length of its key in bytes, with the quotes.
    key_len: usize,
}

/// Appends a string, number, `true`, `false` or `null` as `JSON.stringify` writes it. A number that
/// is not finite becomes `null`.
fn push_scalar(bytes: &[u8], out: &mut Vec<u8>) {
    let value = Raw::from_checked(bytes);
    if let Some(text) = value.text() {
        string::encode(&text, out);
        return;
    }
    match value.number() {
        Some(number) if number.is_finite() => {
            out.extend_from_slice(number_to_string(number).as_bytes());
        }
        Some(_) => out.extend_from_slice(b"null"),
        // `true`, `false` or `null`.
        None => out.extend_from_slice(bytes),
    }
}

/// Sorts the members of a container into JavaScript's order, in the output. The members must be the
/// end of the output: its closing bracket is not written yet.
fn sort_members(container: &OpenContainer, out: &mut Vec<u8>) {
    let members = &container.members;
    let mut keys: Vec<&[u8]> = Vec::with_capacity(members.len());
    for Member { start, key_len } in members {
        let quoted_key = &out[*start..start + key_len];
        // Without the quotes.
        keys.push(&quoted_key[1..quoted_key.len() - 1]);
    }
    let properties = find_properties(&keys);
    let has_repeated_key = properties.len() < members.len();
    let is_sorted = properties.is_sorted_by_key(|property| property.first);
    if is_sorted && !has_repeated_key {
        return;
    }

    let mut sorted = Vec::new();
    for (index, property) in properties.iter().enumerate() {
        if index > 0 {
            sorted.push(b',');
        }
        let start = members[property.last].start;
        let end = match members.get(property.last + 1) {
            // Without the comma between the two: there is no white space in the output.
            Some(next) => next.start - ",".len(),
            None => out.len(),
        };
        sorted.extend_from_slice(&out[start..end]);
    }
    out.truncate(container.content_start);
    out.extend_from_slice(&sorted);
}

/// A property of an object whose members may repeat a key.
struct Property {
    /// The index of the first member with its key, which decides its position.
    first: usize,
    /// The index of the last member with its key, which has its value.
    last: usize,
}

/// Returns the properties of an object in JavaScript's order. `keys` are the decoded keys of its
/// members, in the order of the file.
fn find_properties(keys: &[&[u8]]) -> Vec<Property> {
    // For each key, the index of its property in `properties`.
    let mut property_of_key: BTreeMap<&[u8], usize> = BTreeMap::new();
    let mut properties: Vec<Property> = Vec::with_capacity(keys.len());
    for (member, key) in keys.iter().enumerate() {
        match property_of_key.entry(key) {
            Entry::Occupied(known) => properties[*known.get()].last = member,
            Entry::Vacant(unknown) => {
                unknown.insert(properties.len());
                properties.push(Property {
                    first: member,
                    last: member,
                });
            }
        }
    }
    // Integer-like keys are less than `u32::MAX`, so any other key comes after them. The sort is
    // stable: the other keys keep their order.
    properties.sort_by_key(|property| array_index(keys[property.first]).unwrap_or(u32::MAX));
    properties
}

/// Returns the value of an integer-like key: an integer of at most 2^32 - 2 without a leading zero.
/// `None` for any other key. JavaScript sorts integer-like keys before all others.
fn array_index(key: &[u8]) -> Option<u32> {
    let has_leading_zero = key.starts_with(b"0") && key != b"0";
    if has_leading_zero || !key.iter().all(u8::is_ascii_digit) {
        return None;
    }
    // An empty key, or a number of more than 32 bits, does not parse.
    let index: u32 = std::str::from_utf8(key).ok()?.parse().ok()?;
    if index == u32::MAX {
        return None;
    }
    Some(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the text of `JSON.stringify`, whose length must also be found without it.
    fn js(text: &str) -> String {
        let value = Raw::parse(text.as_bytes()).unwrap();
        let written = stringify(value);
        assert_eq!(stringified_utf16_len(value), written.utf16_len(), "{text}");
        written.to_string()
    }

    #[test]
    fn base_36_has_digits_and_small_letters() {
        for (number, expected) in [(0, "0"), (35, "z"), (36, "10"), (u32::MAX, "1z141z3")] {
            assert_eq!(to_base_36(number), expected);
        }
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
        assert_eq!(
            js(r#"[{"b":{"\u0061":1,"a":2}},{}]"#),
            r#"[{"b":{"a":2}},{}]"#
        );
        assert_eq!(
            js(r#"["\u001f\u0022\b\u00e9é😀\ud83d\ude00\ude00",{"k\n":true}]"#),
            r#"["\u001f\"\béé😀😀\ude00",{"k\n":true}]"#
        );
    }

    #[test]
    fn the_length_counts_invalid_bytes_as_replacement_characters() {
        let value = Raw::from_checked(b"[\"a\xff\\n\"]");
        assert_eq!(stringify(value).utf16_len(), 8);
        assert_eq!(stringified_utf16_len(value), 8);
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
            assert_eq!(
                to_js_string(Raw::parse(json.as_bytes()).unwrap()),
                text,
                "{json}"
            );
        }
        let deep = format!("{}1{}", "[".repeat(100_000), "]".repeat(100_000));
        assert_eq!(to_js_string(Raw::from_checked(deep.as_bytes())), "1");
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
        assert_eq!(to_fixed_1(1.25), "1.3");
        assert_eq!(to_fixed_1(1250.0 / 1000.0), "1.3");
        assert_eq!(to_fixed_1(999.949), "999.9");
        assert_eq!(to_fixed_1(9.96), "10.0");
        assert_eq!(group_digits(1234567.0), "1,234,567");
        assert_eq!(group_digits(12.0), "12");
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
        let entries: Vec<_> = object_entries(value)
            .into_iter()
            .map(|(k, v)| format!("{k}={}", v.bytes()[0] as char))
            .collect();
        assert_eq!(entries, ["0=2", "b=3"]);
    }
}
