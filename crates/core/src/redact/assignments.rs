//! Values assigned to the names of secrets: `API_KEY=…`, `"password": "…"`, `--token …`,
//! `X-Auth-Key: …`.
//!
//! There is one mechanism for programs, settings, headers and command lines. Its parts are the name
//! (`names.rs`), the operator and the value (here), and the judgement of the value
//! (`resemblance.rs`). Each part is lenient; only all of them together make a secret.

use super::expressions::{
    is_absolute_path, is_code, is_encoded_login, is_identifier, is_member_chain,
    is_random_expression, looks_like_path,
};
use super::names::{self, NameClass, is_name_character};
use super::resemblance::{
    alternates_classes, is_assigned_secret, is_generated_password, is_passphrase, is_random,
};
use aho_corasick::AhoCorasick;
use std::ops::Range;
use std::sync::LazyLock;

/// A secret that was assigned to a name.
pub struct AssignedSecret {
    pub kind: &'static str,
    /// The range of its name, without the dashes of an option.
    pub name: Range<usize>,
    /// The range of the secret.
    pub value: Range<usize>,
}

/// The kinds of secrets that are assigned.
pub const KINDS: [&str; 3] = ["assigned-password", "assigned-secret", "url-parameter"];

/// The words that names of secrets contain.
const STEMS: [&str; 9] = [
    "pass",
    "pwd",
    "secret",
    "token",
    "key",
    "auth",
    "credential",
    "session",
    "sessid",
];

static STEM_FINDER: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(STEMS)
        .expect("a few short literals")
});

/// Calls `visit` with each secret that is assigned to a name in a text. Only names that contain one
/// of [`STEMS`] are looked at, each once.
pub fn each_assignment(text: &[u8], mut visit: impl FnMut(AssignedSecret)) {
    let mut last_name_end = 0;
    for stem in STEM_FINDER.find_iter(text) {
        // A name may contain several stems.
        if stem.start() < last_name_end {
            continue;
        }
        let name = name_range_around(text, stem.range());
        last_name_end = name.end;

        let Some(assignment) = Assignment::read(text, name) else {
            continue;
        };
        // `?token=…` and `&token=…` are in the address of a request.
        let before_name = &text[..assignment.name.start];
        let is_parameter = before_name.ends_with(b"?")
            || before_name.ends_with(b"&")
            || before_name.ends_with(b"&amp;");
        let kind = if is_parameter && assignment.is_key_parameter(text) {
            "url-parameter"
        } else {
            match assignment.secret_kind(text) {
                Some(_) if is_parameter => "url-parameter",
                Some(kind_by_name) => kind_by_name,
                None => continue,
            }
        };
        visit(AssignedSecret {
            kind,
            name: assignment.name,
            value: assignment.value,
        });
    }
}

/// Returns the kind of secret that the value of a member of a JSON object is, given its key; `None`
/// if it is no secret. Key and value are as they are written in the line.
pub fn kind_of_member(key: &[u8], value: &[u8]) -> Option<&'static str> {
    // The same limits as for a value in text: see `read_value`.
    let has_space = value.iter().any(u8::is_ascii_whitespace);
    let has_escape = value.contains(&b'\\');
    if value.len() > LONGEST_VALUE || has_space || has_escape {
        return None;
    }

    // An assignment refers to its name and its value by ranges of one text.
    let text = [key, value].concat();
    let member = Assignment {
        name: 0..key.len(),
        value: key.len()..text.len(),
        is_quoted: true,
        is_compact: false,
        is_option: false,
    };
    member.secret_kind(&text)
}

/// The maximum length of a name.
const LONGEST_NAME: usize = 80;

/// The maximum length of a value.
const LONGEST_VALUE: usize = 4000;

/// Returns the range of the name that contains a stem. On the first level of a line, the letter of an
/// escape may be before the name, as in `\npassword`.
fn name_range_around(text: &[u8], stem: Range<usize>) -> Range<usize> {
    let before = &text[stem.start.saturating_sub(LONGEST_NAME)..stem.start];
    let after = &text[stem.end..text.len().min(stem.end + LONGEST_NAME)];
    let in_name = |byte: &&u8| is_name_character(**byte);
    let mut start = stem.start - before.iter().rev().take_while(in_name).count();
    let end = stem.end + after.iter().take_while(in_name).count();
    let follows_backslash = text[..start].ends_with(b"\\");
    if follows_backslash && start < stem.start && matches!(text[start], b'n' | b'r' | b't') {
        start += 1;
    }
    start..end
}

/// A name, an operator and a value.
struct Assignment {
    /// The range of the name in the text, without the dashes of an option.
    name: Range<usize>,
    /// The range of the value in the text, without quotes.
    value: Range<usize>,
    /// Whether the value is in quotes.
    is_quoted: bool,
    /// Whether the operator is one character without white space: `=`, as in a shell, or the `>`
    /// of an XML element.
    is_compact: bool,
    /// Whether the name is an option of a command line: dashes precede it.
    is_option: bool,
}

/// A value as it is written after an operator.
struct WrittenValue {
    /// Its range in the text, without quotes.
    range: Range<usize>,
    is_quoted: bool,
}

/// What is between a name and its value.
struct Operator {
    /// Its end, where the value begins.
    end: usize,
    /// Whether only a value in quotes may follow.
    needs_quote: bool,
    /// Whether it is one character without white space on either side.
    is_compact: bool,
}

impl Assignment {
    /// Reads the operator and the value after a name, which may begin with the dashes of an option.
    /// `None` if nothing is assigned to the name.
    fn read(text: &[u8], dashed_name: Range<usize>) -> Option<Assignment> {
        let dashes = text[dashed_name.clone()]
            .iter()
            .take_while(|&&byte| byte == b'-')
            .count();
        let name = dashed_name.start + dashes..dashed_name.end;
        let is_option = dashes > 0;

        let operator = Operator::read(text, &name, is_option)?;
        let mut value = read_value(text, operator.end)?;

        // In a declaration such as `password: str = "…"`, what follows the colon is a type, and the
        // value comes after it.
        if !value.is_quoted
            && let Some(value_start) = value_start_after_type(text, &value.range)
        {
            value = read_value(text, value_start)?;
        }
        if operator.needs_quote && !value.is_quoted {
            return None;
        }
        Some(Assignment {
            name,
            value: value.range,
            is_quoted: value.is_quoted,
            is_compact: operator.is_compact,
            is_option,
        })
    }

    /// Returns the kind of the secret; `None` if the value is no secret.
    fn secret_kind(&self, text: &[u8]) -> Option<&'static str> {
        let name = &text[self.name.clone()];
        let value = &text[self.value.clone()];
        if !names::may_be_secret(value) {
            return None;
        }
        let class = names::classify_name(name)?;

        // `token = readToken(x)` is source code. `TOKEN=readToken` is a line of a shell, in which
        // the text itself is the value.
        let may_be_code = !self.is_quoted && !self.is_shell_variable(text);
        if may_be_code && resembles_code(value, class) {
            return None;
        }

        // The less a name promises, the more random the value must be.
        let is_secret = match class {
            NameClass::Password => self.is_password(text),
            NameClass::Secret => self.is_key_or_token(text),
            NameClass::Login => is_encoded_login(value),
            NameClass::Session => self.is_browser_session(text),
        };
        if !is_secret {
            return None;
        }
        match class {
            NameClass::Password => Some("assigned-password"),
            NameClass::Secret | NameClass::Login | NameClass::Session => Some("assigned-secret"),
        }
    }

    /// Whether this is `key=…` with a long random value: as the parameter of a request, the key of an
    /// API. Elsewhere, `key` names anything.
    fn is_key_parameter(&self, text: &[u8]) -> bool {
        let value = &text[self.value.clone()];
        &text[self.name.clone()] == b"key"
            && value.len() >= SHORTEST_SESSION
            && value.iter().all(u8::is_ascii_alphanumeric)
            && alternates_classes(value)
            && is_random(value)
    }

    /// Whether the value of a name such as `password` is one, not a word of ordinary text.
    fn is_password(&self, text: &[u8]) -> bool {
        let value = &text[self.value.clone()];
        // Prose and code say `password: required`. Only in `PASSWORD=…` may letters alone be one.
        let is_strong = self.is_shell_variable(text) || has_digit_or_sign(value);
        value.len() >= SHORTEST_VALUE
            && is_strong
            && is_passphrase(value)
            && !looks_like_path(value)
    }

    /// Whether the value of a name such as `api_key` is a generated key or token.
    fn is_key_or_token(&self, text: &[u8]) -> bool {
        let value = &text[self.value.clone()];
        // A variable of a shell or an option is meant for a value, so a short one suffices.
        let shortest = if self.is_shell_variable(text) || self.is_option {
            SHORTEST_VALUE
        } else {
            SHORTEST_LOOSE_SECRET
        };
        let is_secret = is_assigned_secret(value) || self.is_quoted && is_generated_password(value);
        value.len() >= shortest
            && is_secret
            && !is_absolute_path(value)
            && !names::is_id_in(text, value)
    }

    /// Whether the value of a name such as `session` lets a browser in, and does not only identify a
    /// session in a log.
    fn is_browser_session(&self, text: &[u8]) -> bool {
        // A log writes an id after a colon or white space: `session: 1234`.
        if !self.is_compact {
            return false;
        }
        let value = &text[self.value.clone()];
        // An id such as a UUID, which has 36 characters.
        let is_id = value.contains(&b'-') && value.len() < SHORTEST_DASHED_SESSION;
        !is_id && value.len() >= SHORTEST_SESSION && is_random(value)
    }

    /// Whether this looks like a variable of a shell: the name has no small letters, and the
    /// operator is one character without white space.
    fn is_shell_variable(&self, text: &[u8]) -> bool {
        let name = &text[self.name.clone()];
        self.is_compact && !name.iter().any(u8::is_ascii_lowercase)
    }
}

/// The minimum length of the value of a key or token, unless it is that of a variable or an option.
const SHORTEST_LOOSE_SECRET: usize = 8;

/// The minimum length of the session of a browser.
const SHORTEST_SESSION: usize = 20;

/// The minimum length of the value of a session that contains a dash.
const SHORTEST_DASHED_SESSION: usize = 40;

/// Whether there is a digit, or a character that neither words nor paths have.
fn has_digit_or_sign(value: &[u8]) -> bool {
    value
        .iter()
        .any(|byte| byte.is_ascii_digit() || b"!@#$%^&*+=?~|<>".contains(byte))
}

impl Operator {
    /// Reads the operator after a name. Before it may be what closes the name, such as a quote or a
    /// bracket, and then spaces. `None` if nothing is assigned to the name there.
    ///
    /// `is_option` is whether the name is an option of a command line, whose value may follow
    /// without an operator.
    fn read(text: &[u8], name: &Range<usize>, is_option: bool) -> Option<Operator> {
        // `"name"`, `name)` and `["name"]` are closed before the operator.
        let closed_end = skip_characters(text, name.end, b"\"'`)]", 3);
        let is_closed = closed_end > name.end;
        let start = skip_characters(text, closed_end, b" \t", 20);
        let is_apart = start > name.end;
        let is_element = text[..name.start].ends_with(b"<");
        match &text[start..] {
            // Comparisons, and the path of a module.
            [b'=' | b'!', b'=' | b'~', ..] => None,
            [b':', b':', ..] => None,

            [b'=', b'>', ..] => Some(Operator::with_width(text, start, 2, is_apart)),
            [b':' | b'?' | b'+', b'=', ..] => Some(Operator::with_width(text, start, 2, is_apart)),
            // The default value of a variable: `${TOKEN:-…}`.
            [b':', b'-', ..] => Some(Operator::with_width(text, start, 2, is_apart)),
            [b'=', ..] => Some(Operator::with_width(text, start, 1, is_apart)),

            // A value that follows on the next line is in quotes.
            [b':', ..] => {
                let end = skip_space(text, start + 1);
                let is_on_line = !text[start..end].contains(&b'\n');
                Some(Operator {
                    end,
                    needs_quote: !is_on_line,
                    is_compact: false,
                })
            }

            // The text of an XML element, whose name begins after `<`.
            [b'>', ..] if is_element => Some(Operator::with_width(text, start, 1, is_apart)),
            // An argument in quotes.
            [b'(', ..] => Some(Operator::before_quote(skip_space(text, start + 1))),
            // The next argument, item or member: the value itself in quotes, or the member `value`.
            [b',', ..] if is_closed => {
                let next = skip_space(text, start + 1);
                match read_pair_operator(text, next) {
                    Some(pair) => Some(pair),
                    None => Some(Operator::before_quote(next)),
                }
            }

            _ => {
                if let Some(pair) = read_pair_operator(text, skip_space(text, start)) {
                    return Some(pair);
                }
                // Only spaces are between an option or the variable of a command and its value.
                let is_spaced = is_apart && !is_closed;
                if is_spaced && (is_option || follows_command(&text[..name.start])) {
                    return Some(Operator::with_width(text, start, 0, is_apart));
                }
                None
            }
        }
    }

    /// Returns the operator of `width` bytes at `start`, and the white space after it. `is_apart`
    /// is whether anything is between it and the name.
    fn with_width(text: &[u8], start: usize, width: usize, is_apart: bool) -> Operator {
        let end = skip_space(text, start + width);
        Operator {
            end,
            needs_quote: false,
            is_compact: !is_apart && end == start + 1,
        }
    }

    /// Returns an operator that assigns only a value in quotes.
    fn before_quote(end: usize) -> Operator {
        Operator {
            end,
            needs_quote: true,
            is_compact: false,
        }
    }
}

/// Whether a value without quotes is probably source code, given the class of the name that it is
/// assigned to: an expression or an identifier.
fn resembles_code(value: &[u8], class: NameClass) -> bool {
    if class == NameClass::Password && is_random_expression(value) {
        return false;
    }
    if is_code(value) || is_member_chain(value) {
        return true;
    }
    if !is_identifier(value) {
        return false;
    }
    // A password may have the form of an identifier, unless it begins as `__u32` and `0x746f6b6e`
    // do. A key or a token is random, which no identifier is.
    class != NameClass::Password || value[0] == b'_' || value[0] == b'0'
}

/// Returns the operator of a name that is itself a value, as in `name: TOKEN, value: …` and
/// `<add key="token" value="…"/>`: what follows the word `value`, which must be at `word_start`,
/// perhaps in quotes.
fn read_pair_operator(text: &[u8], word_start: usize) -> Option<Operator> {
    let unquoted_start = skip_characters(text, word_start, b"\"'", 1);
    let after_word = text.get(unquoted_start..)?.strip_prefix(b"value")?;
    let word_end = skip_characters(text, text.len() - after_word.len(), b"\"'", 1);
    let operator_start = skip_characters(text, word_end, b" \t", 4);
    if !matches!(text.get(operator_start), Some(b':' | b'=')) {
        return None;
    }
    Some(Operator {
        end: skip_space(text, operator_start + 1),
        needs_quote: false,
        is_compact: false,
    })
}

/// Whether a name follows a command that sets a variable: `ENV NAME value`, `set -gx NAME value`.
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

/// The maximum length of the type in a declaration.
const LONGEST_TYPE: usize = 30;

/// If a range is the type in a declaration, as in `password: str = "…"`, returns the offset of the
/// value, which is after `= `.
fn value_start_after_type(text: &[u8], range: &Range<usize>) -> Option<usize> {
    let word = &text[range.clone()];
    let is_type = word.len() <= LONGEST_TYPE
        && word
            .iter()
            .all(|byte| byte.is_ascii_alphabetic() || b"<>[]&?.".contains(byte));
    let equals = skip_characters(text, range.end, b" ", 2);
    if is_type && equals > range.end && text[equals..].starts_with(b"= ") {
        Some(equals + 2)
    } else {
        None
    }
}

/// Reads the value that begins at an offset. `None` at the end of the text, and for a value in
/// quotes that [`quoted_len`] refuses. A value without quotes may be empty.
fn read_value(text: &[u8], offset: usize) -> Option<WrittenValue> {
    let mut start = offset;
    // A string may have a prefix in Python (`b"…"`) and in a shell (`$'…'`).
    let has_prefix = matches!(
        text.get(offset..),
        Some([b'b' | b'f' | b'r' | b'u' | b'$', b'"' | b'\'', ..])
    );
    if has_prefix {
        start += 1;
    }

    // What is longer is no secret, and need not be read to its end.
    let near = &text[start..text.len().min(start + LONGEST_VALUE)];
    let first = *near.first()?;
    if matches!(first, b'"' | b'\'' | b'`') {
        let content_start = start + 1;
        let content_len = quoted_len(&near[1..], first)?;
        return Some(WrittenValue {
            range: content_start..content_start + content_len,
            is_quoted: true,
        });
    }

    let run_len = (0..near.len()).find(|&at| ends_value(&near[at..]));
    let value = trim_unquoted_value(&near[..run_len.unwrap_or(near.len())]);
    Some(WrittenValue {
        range: start..start + value.len(),
        is_quoted: false,
    })
}

/// Returns the number of bytes before the quote that ends a value. `None` if white space or an
/// escape comes first, or the quote is missing.
fn quoted_len(content: &[u8], quote: u8) -> Option<usize> {
    for (offset, &byte) in content.iter().enumerate() {
        if byte == quote {
            return Some(offset);
        }
        // An escape is decoded on the next level, where the value is whole.
        if byte.is_ascii_whitespace() || begins_with_escape(&content[offset..]) {
            return None;
        }
    }
    None
}

/// Whether a value without quotes ends before these bytes: at white space or a quote, which may be
/// escaped. A backtick between two letters or digits is a part of the value; one that closes code
/// in Markdown is not followed by either.
fn ends_value(rest: &[u8]) -> bool {
    match rest {
        [] => true,
        [b'`', next, ..] => !next.is_ascii_alphanumeric(),
        [byte, ..] => {
            begins_with_escape(rest) || byte.is_ascii_whitespace() || b"\"'`".contains(byte)
        }
    }
}

/// Whether an escape of JSON follows.
fn begins_with_escape(rest: &[u8]) -> bool {
    matches!(rest, [b'\\', next, ..] if b"nrtu\"'".contains(next))
}

/// Returns a value without quotes up to where something else begins: another assignment after `&`,
/// `;` or `,`, the tag that closes an element, or punctuation at its end.
fn trim_unquoted_value(run: &[u8]) -> &[u8] {
    for (offset, byte) in run.iter().enumerate() {
        let after = &run[offset + 1..];
        let is_end = match byte {
            b'&' | b';' | b',' => begins_assignment(after),
            b'<' => after.starts_with(b"/"),
            _ => false,
        };
        if is_end {
            return trim_punctuation(&run[..offset]);
        }
    }
    trim_punctuation(run)
}

/// Returns a value without the punctuation of the text around it, which follows the value without a
/// space: the dot of a sentence, the bracket of a call.
fn trim_punctuation(value: &[u8]) -> &[u8] {
    let mut trimmed = value;
    while let Some((last, before)) = trimmed.split_last() {
        if !b";,.|\\)}]>".contains(last) {
            break;
        }
        let opening_bracket = match last {
            b')' => Some(b'('),
            b'}' => Some(b'{'),
            b']' => Some(b'['),
            b'>' => Some(b'<'),
            _ => None,
        };
        // A bracket that the value itself opens belongs to it.
        if opening_bracket.is_some_and(|opening| before.contains(&opening)) {
            break;
        }
        trimmed = before;
    }
    trimmed
}

/// Whether a name and an operator follow.
fn begins_assignment(rest: &[u8]) -> bool {
    let width = rest
        .iter()
        .take_while(|&&byte| is_name_character(byte))
        .count();
    width > 0 && matches!(rest.get(width), Some(b'=' | b':'))
}

/// Returns the offset after as many of these characters as are at `start`, but at most `most`.
fn skip_characters(text: &[u8], start: usize, characters: &[u8], most: usize) -> usize {
    let near = &text[start..text.len().min(start + most)];
    let width = near
        .iter()
        .take_while(|&&byte| characters.contains(&byte))
        .count();
    start + width
}

/// Returns the offset after white space, which may have line breaks.
fn skip_space(text: &[u8], at: usize) -> usize {
    skip_characters(text, at, b" \t\r\n", 60)
}

/// The words in the raw bytes of a line whose following bytes show whether a value may be assigned.
pub const KEYWORDS: [&str; 37] = [
    "?key",
    "&key",
    ";key",
    "PASS",
    "Pass",
    "passw",
    "passphrase",
    "passcode",
    "_pass",
    "-pass",
    "epass",
    "ypass",
    "pwd",
    "Pwd",
    "PWD",
    "secret",
    "Secret",
    "SECRET",
    "token",
    "Token",
    "TOKEN",
    "KEY",
    "_key",
    "-key",
    "Key",
    "pikey",
    "thkey",
    "tekey",
    "erkey",
    "sskey",
    "etkey",
    "auth",
    "AUTH",
    "redential",
    "REDENTIAL",
    "session",
    "SESS",
];

/// The length of the shortest value that is a secret, in bytes.
const SHORTEST_VALUE: usize = 6;

/// The maximum number of words after a name of which one may be its value: the value itself, or a
/// type or `value` and then the value.
const MOST_WORDS: usize = 2;

/// The number of bytes after a keyword in which [`may_be_assigned`] looks for a value.
const BYTES_LOOKED_AT: usize = 160;

/// Whether a value may be assigned to the name that contains a keyword, judged by the raw bytes
/// after the keyword: `_KEY=x9Qd81Lm`, or `\": \"x9Qd81Lm` with the quotes escaped.
///
/// A line is searched for assignments only if this is true for one of its keywords. So it must be
/// true for every secret that [`each_assignment`] finds, and may be true for other text.
pub fn may_be_assigned(after_keyword: &[u8]) -> bool {
    let near = &after_keyword[..after_keyword.len().min(BYTES_LOOKED_AT)];
    let name_rest_len = near
        .iter()
        .take_while(|&&byte| is_name_character(byte))
        .count();
    let mut rest = &near[name_rest_len..];

    // The value is the first word after the name, or the second, after a type or `value`:
    // `password: str = "…"`, `name: TOKEN, value: …`.
    for _ in 0..MOST_WORDS {
        let Some(separator) = Separator::read(rest) else {
            return false;
        };
        let from_word = &rest[separator.width..];
        let word_len = (0..from_word.len())
            .find(|&at| from_word[at] == b'\\' || ends_value(&from_word[at..]))
            .unwrap_or(from_word.len());

        // A value may begin with a sign, which the separator has read as its own: `-x9Qd81Lm`.
        let value_start = separator.width - separator.signs_at_end;
        let (value, after_value) = rest.split_at(separator.width + word_len);
        if is_plausible_secret(&value[value_start..], after_value, separator.has_operator) {
            return true;
        }

        if let Some(after_value_word) = from_word.strip_prefix(b"value") {
            rest = after_value_word;
        } else if separator.has_operator && word_len <= LONGEST_TYPE {
            rest = after_value;
        } else {
            return false;
        }
    }
    false
}

/// The raw bytes between a name and a value, such as `\": \"`.
struct Separator {
    /// Their number.
    width: usize,
    /// Whether the character of an operator is among them.
    has_operator: bool,
    /// The number of brackets and signs at their end, with which the value may begin.
    signs_at_end: usize,
}

impl Separator {
    /// Reads the quotes, brackets, white space and operators at the start of `rest`, in which JSON
    /// may have escaped quotes and white space. `None` if there are none, or no value follows them.
    fn read(rest: &[u8]) -> Option<Separator> {
        let mut width = 0;
        let mut has_operator = false;
        let mut signs_at_end = 0;
        while let Some(byte) = rest.get(width) {
            match byte {
                // No value begins with these.
                b':' | b'=' => {
                    has_operator = true;
                    signs_at_end = 0;
                }
                b'"' | b'\'' | b'`' | b' ' | b'\t' | b'\r' | b'\n' => signs_at_end = 0,
                // A password may begin with any of these.
                b'(' | b',' | b'>' => {
                    has_operator = true;
                    signs_at_end += 1;
                }
                b')' | b']' | b'?' | b'+' | b'-' => signs_at_end += 1,
                b'\\' => {
                    signs_at_end = 0;
                    // The letter of `\n` is part of the escape. The quote of `\"` is a separator by
                    // itself, and so is the second backslash of `\\`.
                    if matches!(rest.get(width + 1), Some(b'n' | b't' | b'r')) {
                        width += 1;
                    }
                }
                _ => break,
            }
            width += 1;
        }
        if width == 0 || width >= rest.len() {
            return None;
        }
        Some(Separator {
            width,
            has_operator,
            signs_at_end,
        })
    }
}

/// Whether a run of characters may be a secret, and not a word. `after_run` begins with the white
/// space, quote or backslash that ends the run.
///
/// In ordinary text, a word such as `token` is followed by a word. So without an operator, the run
/// must have a digit; after an operator, a character other than a letter, which a value such as
/// `PASSWORD=…` need not have more of.
fn is_plausible_secret(run: &[u8], after_run: &[u8], has_operator: bool) -> bool {
    let has_digit = run.iter().any(u8::is_ascii_digit);
    if !has_operator {
        return has_digit && run.len() >= SHORTEST_VALUE;
    }
    // The escape `\u00e9` ends the run, but stands for a character of the value.
    if continues_with_numbered_escape(after_run) {
        return true;
    }
    if run.len() < SHORTEST_VALUE {
        return false;
    }

    // What ends a statement or closes a bracket follows words of code, too: `token: string;`.
    let end = run.iter().rposition(|byte| !b";,)]}".contains(byte));
    let word = &run[..end.map_or(0, |last| last + 1)];
    let has_only_letters = word.iter().all(u8::is_ascii_alphabetic);
    if !has_only_letters {
        return true;
    }
    // Random letters have more capitals than the names of types and functions.
    let capitals = run.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    run.len() >= 16 && capitals > 2
}

/// Whether an escape such as `\u00e9` follows, on any level of escapes.
fn continues_with_numbered_escape(after_run: &[u8]) -> bool {
    let backslashes = after_run.iter().take_while(|&&byte| byte == b'\\').count();
    backslashes > 0 && after_run.get(backslashes) == Some(&b'u')
}
