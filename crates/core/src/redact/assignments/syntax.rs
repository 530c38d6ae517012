//! Reads the operator and the value after a name: decides where the value begins and ends, not
//! whether it is a secret.

use super::LONGEST_VALUE;
use crate::redact::names::is_name_character;
use std::ops::Range;

/// The text between a name and its value.
pub struct Operator {
    /// The offset of the end, where the value begins.
    pub end: usize,
    /// Whether a value must be in quotes after this operator.
    pub needs_quote: bool,
    /// Whether the operator is one character without white space on either side.
    pub is_compact: bool,
}

impl Operator {
    /// Reads the operator between a name and its value: the `=` of `NAME=value`, the `: ` of
    /// `"name": "value"`, or the space of `--name value`. `None` if there is none.
    ///
    /// A quote or bracket that closes the name, and spaces, may precede the operator. White space
    /// after it is part of it. `is_option` is whether the name is an option of a command line.
    pub fn read(text: &[u8], name: &Range<usize>, is_option: bool) -> Option<Operator> {
        // `"name"`, `name)` and `["name"]` are closed before the operator.
        let closed_end = skip_characters(text, name.end, b"\"'`)]", MOST_CLOSING);
        let is_closed = closed_end > name.end;
        let start = skip_space_before_operator(text, closed_end);
        let is_element = text[..name.start].ends_with(b"<");
        match &text[start..] {
            // Comparisons, and the `::` of a path, assign nothing.
            [b'=' | b'!', b'=' | b'~', ..] => None,
            [b':', b':', ..] => None,

            [b'=', b'>', ..] => Some(Operator::before_any(text, start + 2)),
            [b':' | b'?' | b'+', b'=', ..] => Some(Operator::before_any(text, start + 2)),
            // The default value of a variable: `${TOKEN:-…}`.
            [b':', b'-', ..] => Some(Operator::before_any(text, start + 2)),
            [b'=', ..] => Some(Operator::one_character(text, name, start)),
            [b':', ..] => Some(Operator::colon(text, start)),

            // The text of an XML element, whose name begins after `<`.
            [b'>', ..] if is_element => Some(Operator::one_character(text, name, start)),
            // An argument of a function.
            [b'(', ..] => Some(Operator::before_quote(text, start + 1)),
            // The name is an argument, as in `setenv("TOKEN", "…")`, or the value of a member, as
            // in `{"name": "TOKEN", "value": "…"}`.
            [b',', ..] if is_closed => match read_pair_operator(text, start + 1) {
                Some(pair) => Some(pair),
                None => Some(Operator::before_quote(text, start + 1)),
            },
            // The name is the value of an attribute, as in `<add key="token" value="…"/>`, or only
            // spaces come before the value.
            _ => match read_pair_operator(text, start) {
                Some(pair) => Some(pair),
                None => Operator::read_spaces(text, name, start, is_option),
            },
        }
    }

    /// Reads the spaces between a name and its value, in place of an operator. `None` unless the
    /// name is an option of a command line, or the variable of a command such as `setx`. The value
    /// begins at `start`, which is the end of the name if nothing is between the two.
    fn read_spaces(
        text: &[u8],
        name: &Range<usize>,
        start: usize,
        is_option: bool,
    ) -> Option<Operator> {
        // Not the quote or bracket that closes a name.
        let is_spaced = matches!(text.get(name.end), Some(b' ' | b'\t' | b'\r' | b'\n'));
        let takes_spaced_value = is_option || follows_command(&text[..name.start]);
        if start > name.end && is_spaced && takes_spaced_value {
            Some(Operator::before_any(text, start))
        } else {
            None
        }
    }

    /// Returns the operator `=` or `>` at `start`, after a name.
    fn one_character(text: &[u8], name: &Range<usize>, start: usize) -> Operator {
        let end = skip_space(text, start + 1);
        Operator {
            end,
            needs_quote: false,
            is_compact: start == name.end && end == start + 1,
        }
    }

    /// Returns the operator `:` at `start`. A value on the next line must be in quotes.
    fn colon(text: &[u8], start: usize) -> Operator {
        let end = skip_space(text, start + 1);
        Operator {
            end,
            needs_quote: text[start..end].contains(&b'\n'),
            is_compact: false,
        }
    }

    /// Returns an operator whose characters end at `end`, after which any value may follow.
    fn before_any(text: &[u8], end: usize) -> Operator {
        Operator {
            end: skip_space(text, end),
            needs_quote: false,
            is_compact: false,
        }
    }

    /// Returns an operator whose characters end at `end`, after which a value must be in quotes.
    fn before_quote(text: &[u8], end: usize) -> Operator {
        Operator {
            end: skip_space(text, end),
            needs_quote: true,
            is_compact: false,
        }
    }
}

/// Returns the offset of the operator after a name that ends at `name_end`. Settings are often
/// aligned, and a formatter breaks a long line before its `=`, so `=` may be further away than
/// other operators, or on the next line.
fn skip_space_before_operator(text: &[u8], name_end: usize) -> usize {
    let distant = skip_space(text, name_end);
    if text.get(distant) == Some(&b'=') {
        distant
    } else {
        skip_characters(text, name_end, b" \t", MOST_SPACES)
    }
}

/// Reads the operator in a pair of members where the name of the secret is itself a value: `name:
/// TOKEN, value: …` or `<add key="token" value="…"/>`. It is the `:` or `=` after the word `value`,
/// which must follow at `offset` or after white space, perhaps in quotes. Otherwise `None`.
fn read_pair_operator(text: &[u8], offset: usize) -> Option<Operator> {
    let word_start = skip_space(text, offset);
    let unquoted_start = skip_characters(text, word_start, b"\"'", 1);
    let after_word = text.get(unquoted_start..)?.strip_prefix(b"value")?;
    let word_end = skip_characters(text, text.len() - after_word.len(), b"\"'", 1);
    let operator_start = skip_characters(text, word_end, b" \t", 4);
    match text.get(operator_start) {
        Some(b':' | b'=') => Some(Operator::before_any(text, operator_start + 1)),
        _ => None,
    }
}

/// The maximum number of quotes and brackets that close a name, such as the `"]` of `["name"]`,
/// with some reserve.
const MOST_CLOSING: usize = 3;

/// The maximum number of spaces between a name and an operator other than `=`.
const MOST_SPACES: usize = 20;

/// Whether the text before a name ends with a command that sets a variable, as in `ENV NAME value`
/// or `set -gx NAME value`.
fn follows_command(before: &[u8]) -> bool {
    const COMMANDS: [&[u8]; 6] = [
        b"ENV ",
        b"set -x ",
        b"set -gx ",
        b"set -Ux ",
        b"setx ",
        b"setenv ",
    ];
    COMMANDS.iter().any(|command| before.ends_with(command))
}

/// The maximum length of the type in a declaration, in bytes.
pub const LONGEST_TYPE: usize = 30;

/// Returns the offset of the value after an operator that ends at `start`. In a declaration such as
/// `password: str = "…"`, the word after the operator is a type, and the value comes after `= `.
/// Otherwise returns `start`.
pub fn skip_type(text: &[u8], start: usize) -> usize {
    let near = &text[start..text.len().min(start + LONGEST_TYPE + 1)];
    let type_len = near.iter().take_while(|&&byte| is_in_type(byte)).count();
    if type_len == 0 || type_len > LONGEST_TYPE {
        return start;
    }

    // Formatted code has one space on each side of the `=`. Another one is allowed before it.
    let type_end = start + type_len;
    let equals = skip_characters(text, type_end, b" ", 2);
    let has_space_before = equals > type_end;
    if has_space_before && text[equals..].starts_with(b"= ") {
        equals + b"= ".len()
    } else {
        start
    }
}

/// Whether a byte may be in the type of a declaration, such as `list[str]`.
pub fn is_in_type(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || b"<>[]&?.".contains(&byte)
}

/// A value after an operator.
pub struct WrittenValue {
    /// The range of the value in the text, without quotes.
    pub range: Range<usize>,
    pub is_quoted: bool,
}

impl WrittenValue {
    /// Reads the value that begins at an offset: `x9Qd` of `x9Qd, …`, and of `"x9Qd"`. `None` at
    /// the end of the text, and for quotes that contain white space or an escape, or are not
    /// closed. A value without quotes may be empty.
    pub fn read(text: &[u8], offset: usize) -> Option<WrittenValue> {
        // A string may have a prefix in Python (`b"…"`) and in a shell (`$'…'`).
        let has_prefix = matches!(
            text.get(offset..),
            Some([b'b' | b'f' | b'r' | b'u' | b'$', b'"' | b'\'', ..])
        );
        let start = if has_prefix { offset + 1 } else { offset };

        // A longer value is not a secret, so it is not read to its end.
        let near = &text[start..text.len().min(start + LONGEST_VALUE)];
        let (&first, after_first) = near.split_first()?;
        if matches!(first, b'"' | b'\'' | b'`') {
            let content_start = start + 1;
            let content_len = quoted_len(after_first, first)?;
            return Some(WrittenValue {
                range: content_start..content_start + content_len,
                is_quoted: true,
            });
        }
        Some(WrittenValue {
            range: start..start + unquoted_len(near),
            is_quoted: false,
        })
    }
}

/// The maximum depth of objects in an array, and of arrays, each counted apart; reading stops at a
/// deeper one. The array of each key is read from its own start, so nested arrays are read again:
/// without a limit, `"api_key":[{` or `"api_key",["a",` repeated would take quadratic time.
const MOST_NESTED: usize = 8;

/// Returns the ranges between the quotes of the strings in an array, and in the arrays in it, given
/// the offset after its opening bracket. Strings with white space or an escape, or that are too
/// long ([`WrittenValue::read`]), are skipped, and so are other items. The strings in an object are
/// skipped, too: its keys are names of their own, with their own values.
///
/// The reading ends at a string that is not closed, and after an item that neither a comma nor the
/// end follows: the rest is code or prose. What was found before is returned. So
/// `["x9Qd" if live else "k3"]` gives `x9Qd`, and `[row["x9Qd"]]` nothing, because its item is
/// `row`. The reading also ends where the bracket opens a class of characters, as in
/// `['"](x9Qd)['"]`: see [`is_between_classes`].
pub fn strings_of_array(text: &[u8], array_start: usize) -> Vec<Range<usize>> {
    let mut reader = ArrayReader {
        text,
        offset: array_start,
        array_depth: 1,
        object_depth: 0,
        is_item_due: true,
        strings: Vec::new(),
    };
    while reader.array_depth > 0 {
        let goes_on = reader.read_next();
        if !goes_on {
            break;
        }
    }
    reader.strings
}

/// A position in an array, whose strings are collected. Each function that reads returns whether
/// the reading goes on.
struct ArrayReader<'t> {
    text: &'t [u8],
    /// The offset of what is read next.
    offset: usize,
    /// The number of arrays around the position.
    array_depth: usize,
    /// The number of objects around the position.
    object_depth: usize,
    /// Whether an item may come next, because none was read since the last comma or bracket.
    is_item_due: bool,
    /// The ranges of the strings so far.
    strings: Vec<Range<usize>>,
}

impl ArrayReader<'_> {
    /// Reads a string, a number, a word, or a single sign.
    fn read_next(&mut self) -> bool {
        let Some(&byte) = self.text.get(self.offset) else {
            return false;
        };
        let is_in_object = self.object_depth > 0;
        if (is_in_object || self.is_item_due)
            && let Some(quote) = opening_quote(self.text, self.offset)
        {
            return self.read_string(quote);
        }
        if matches!(byte, b' ' | b'\t' | b'\r' | b'\n') {
            self.offset += 1;
            return true;
        }
        if byte == b',' {
            self.is_item_due = true;
            self.offset += 1;
            return true;
        }
        if is_in_object {
            self.read_in_object(byte)
        } else {
            self.read_in_array(byte)
        }
    }

    /// Reads the string whose opening quote is at the offset `quote`. It is added, unless an object
    /// contains it.
    fn read_string(&mut self, quote: usize) -> bool {
        let Some(string_end) = end_of_string(self.text, quote) else {
            return false;
        };
        let is_in_object = self.object_depth > 0;
        if !is_in_object {
            let content = &self.text[quote + 1..string_end - 1];
            if is_between_classes(content, &self.text[string_end..]) {
                return false;
            }
            if let Some(value) = WrittenValue::read(self.text, self.offset) {
                self.strings.push(value.range);
            }
        }
        self.is_item_due = false;
        self.offset = skip_method_calls(self.text, string_end);
        true
    }

    /// Reads a word, or the sign `byte`, in an object. Arrays in it are not counted, because
    /// nothing of an object is added.
    fn read_in_object(&mut self, byte: u8) -> bool {
        match byte {
            b'}' => {
                self.object_depth -= 1;
                self.is_item_due = false;
            }
            b'{' if self.object_depth < MOST_NESTED => self.object_depth += 1,
            b'[' | b']' | b':' | b'=' => {}
            _ => return self.read_word(),
        }
        self.offset += 1;
        true
    }

    /// Reads a word, or the sign `byte`, in an array, but not in an object.
    fn read_in_array(&mut self, byte: u8) -> bool {
        match byte {
            b']' => {
                self.array_depth -= 1;
                self.is_item_due = false;
            }
            // Neither a comma nor the end follows an item.
            _ if !self.is_item_due => return false,
            b'[' if self.array_depth < MOST_NESTED => self.array_depth += 1,
            b'{' => self.object_depth += 1,
            _ => return self.read_word(),
        }
        self.offset += 1;
        true
    }

    /// Reads a number or a word. Any other sign, such as a bracket that is too deep, ends the
    /// reading.
    fn read_word(&mut self) -> bool {
        let word_len = self.text[self.offset..]
            .iter()
            .take_while(|&&byte| is_in_scalar(byte))
            .count();
        self.offset += word_len;
        self.is_item_due = false;
        word_len > 0
    }
}

/// The maximum length of the name of a method, in bytes.
const LONGEST_METHOD: usize = 40;

/// Returns the offset of the quote of the string that begins at an offset, perhaps after a prefix:
/// `"…"`, or `b"…"` in Python.
fn opening_quote(text: &[u8], start: usize) -> Option<usize> {
    match text[start..] {
        [b'"' | b'\'', ..] => Some(start),
        [b'b' | b'f' | b'r' | b'u', b'"' | b'\'', ..] => Some(start + 1),
        _ => None,
    }
}

/// Skips the calls of methods without arguments after a string: the `.to_string()` of
/// `"x9Qd".to_string()`.
fn skip_method_calls(text: &[u8], string_end: usize) -> usize {
    let mut end = string_end;
    while text.get(end) == Some(&b'.') {
        let name = text[end + 1..].iter().take(LONGEST_METHOD);
        let name_len = name.take_while(|&&byte| is_in_scalar(byte)).count();
        let name_end = end + 1 + name_len;
        if !text[name_end..].starts_with(b"()") {
            break;
        }
        end = name_end + b"()".len();
    }
    end
}

/// Whether the content of a string is what is between two quotes of a regular expression, which are
/// in classes of characters: the `](x9Qd)[` of `["](x9Qd)["]`, or the `"](x9Qd)[^` of
/// `['"](x9Qd)[^'"]`. The `]` closes the first class. `after` are the bytes after the string.
///
/// A password may begin with `]`, or have one and end in `[`. But it rarely does both or has
/// brackets of other kinds, and an item of an array is followed by a comma or the end.
fn is_between_classes(content: &[u8], after: &[u8]) -> bool {
    let begins_after_class = content.starts_with(b"]");
    let ends_in_class = content.ends_with(b"[") || content.ends_with(b"[^");
    if begins_after_class && ends_in_class {
        return true;
    }
    let closes_class = begins_after_class || ends_in_class && content.contains(&b']');
    if !closes_class {
        return false;
    }
    // With only one of the two, a second sign is needed.
    let has_other_syntax = content.iter().any(|byte| br"({\".contains(byte));
    let is_item = matches!(after[skip_space(after, 0)..], [b',' | b']', ..]);
    has_other_syntax || !is_item
}

/// Whether a byte may be in a number or a word, such as `-1.5e3`, `null` and `False`.
fn is_in_scalar(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+-._".contains(&byte)
}

/// Returns the offset after the string that begins with the quote at `start`; `None` if it is not
/// closed.
fn end_of_string(text: &[u8], start: usize) -> Option<usize> {
    let quote = text[start];
    let mut at = start + 1;
    loop {
        match *text.get(at)? {
            byte if byte == quote => return Some(at + 1),
            b'\\' => at += 2,
            _ => at += 1,
        }
    }
}

/// Returns the length of a value in quotes. `content` begins after the opening quote. `None` if
/// white space or an escape comes before the closing quote, or if that is missing.
fn quoted_len(content: &[u8], quote: u8) -> Option<usize> {
    for (offset, &byte) in content.iter().enumerate() {
        if byte == quote {
            return Some(offset);
        }
        // A value with an escape is found when the next level of escapes is decoded.
        if byte.is_ascii_whitespace() || begins_with_escape(&content[offset..]) {
            return None;
        }
    }
    None
}

/// Whether a value without quotes ends before these bytes, because they begin with white space or a
/// quote, perhaps escaped. A backtick before a letter or digit is a part of the value: one that
/// closes code in Markdown is followed by neither.
pub fn ends_value(rest: &[u8]) -> bool {
    match rest {
        [] => true,
        [b'`', next, ..] => !next.is_ascii_alphanumeric(),
        [byte, ..] => {
            begins_with_escape(rest) || byte.is_ascii_whitespace() || b"\"'`".contains(byte)
        }
    }
}

/// Whether these bytes begin with a JSON escape that ends a value: of white space, of a quote, or
/// by number.
fn begins_with_escape(rest: &[u8]) -> bool {
    matches!(rest, [b'\\', next, ..] if b"nrtu\"'".contains(next))
}

/// Returns the length of the value without quotes that the text begins with, up to a space, for
/// example. Without a value, it is 0.
fn unquoted_len(text: &[u8]) -> usize {
    let run_len = (0..text.len()).find(|&offset| ends_value(&text[offset..]));
    let run = &text[..run_len.unwrap_or(text.len())];
    trim_unquoted_value(run).len()
}

/// Cuts a value without quotes where something else begins: another assignment after `&`, `;` or
/// `,`, or the closing tag of an element. Then removes punctuation at its end.
///
/// So all that is left of `x9Qd&size=2`, `x9Qd</token>` and `x9Qd);` is `x9Qd`.
fn trim_unquoted_value(run: &[u8]) -> &[u8] {
    for (offset, byte) in run.iter().enumerate() {
        let after = &run[offset + 1..];
        let begins_other = match byte {
            b'&' | b';' | b',' => begins_assignment(after),
            b'<' => after.starts_with(b"/"),
            _ => false,
        };
        if begins_other {
            return trim_punctuation(&run[..offset]);
        }
    }
    trim_punctuation(run)
}

/// Removes the punctuation at the end of a value that belongs to the text around it, such as the
/// dot of a sentence or the bracket of a call: `x9Qd).` becomes `x9Qd`, but `x9(Qd)` stays.
fn trim_punctuation(value: &[u8]) -> &[u8] {
    let mut trimmed = value;
    while let Some((&last, before)) = trimmed.split_last()
        && is_outer_punctuation(before, last)
    {
        trimmed = before;
    }
    trimmed
}

/// Whether the last character of a value belongs to the text around the value. A closing bracket
/// belongs to the value if the opening one is in `before`, the value without the character.
fn is_outer_punctuation(before: &[u8], last: u8) -> bool {
    match last {
        b';' | b',' | b'.' | b'|' | b'\\' => true,
        b')' => !before.contains(&b'('),
        b'}' => !before.contains(&b'{'),
        b']' => !before.contains(&b'['),
        b'>' => !before.contains(&b'<'),
        _ => false,
    }
}

/// Whether these bytes begin with a name and an operator.
fn begins_assignment(rest: &[u8]) -> bool {
    let width = rest
        .iter()
        .take_while(|&&byte| is_name_character(byte))
        .count();
    width > 0 && matches!(rest.get(width), Some(b'=' | b':'))
}

/// Skips up to `most` of these characters at `start`, and returns the offset after them.
fn skip_characters(text: &[u8], start: usize, characters: &[u8], most: usize) -> usize {
    let near = &text[start..text.len().min(start + most)];
    let width = near
        .iter()
        .take_while(|&&byte| characters.contains(&byte))
        .count();
    start + width
}

/// Skips white space, including line breaks, and returns the offset after it.
fn skip_space(text: &[u8], at: usize) -> usize {
    skip_characters(text, at, b" \t\r\n", 60)
}
