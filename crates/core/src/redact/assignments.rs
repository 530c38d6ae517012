//! Finds values that are assigned to names of secrets: `API_KEY=…`, `"password": "…"`, `--token …`,
//! `X-Auth-Key: …`.
//!
//! The same rules apply to programs, settings, headers and command lines. There are three parts:
//! the name (`names.rs`), the operator and the value (this module), and the form of the value
//! (`resemblance.rs`). Each part is checked leniently; a secret must pass all three checks.

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
    /// The range of the name in the text, without the dashes of an option.
    pub name: Range<usize>,
    /// The range of the secret in the text, without quotes.
    pub value: Range<usize>,
}

/// The kinds of secrets that this module finds.
pub const KINDS: [&str; 3] = ["assigned-password", "assigned-secret", "url-parameter"];

/// The words of which a name of a secret contains at least one.
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
/// of the `STEMS` are considered.
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

/// Returns the kind of secret in the value of a JSON member, judged by the key and the value;
/// `None` if the value is not a secret. Both are as written in the line, without quotes.
pub fn kind_of_member(key: &[u8], value: &[u8]) -> Option<&'static str> {
    // The same limits as for a value in text: see `read_value`.
    let has_space = value.iter().any(u8::is_ascii_whitespace);
    let has_escape = value.contains(&b'\\');
    if value.len() > LONGEST_VALUE || has_space || has_escape {
        return None;
    }

    // An assignment has ranges of one text, so the key and the value are joined.
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

/// The maximum number of bytes of a name before, and after, its stem.
const LONGEST_NAME: usize = 80;

/// The maximum length of a value in bytes.
const LONGEST_VALUE: usize = 4000;

/// Returns the range of the name that contains a stem. In undecoded JSON, the letter of an escape
/// may precede the name, as in `\npassword`; it is not part of the name.
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

/// A name and a value that is assigned to it.
struct Assignment {
    /// The range of the name in the text, without the dashes of an option.
    name: Range<usize>,
    /// The range of the value in the text, without quotes.
    value: Range<usize>,
    /// Whether the value is in quotes.
    is_quoted: bool,
    /// Whether the operator is one character without white space around it: `=`, as in a shell, or
    /// the `>` of an XML element.
    is_compact: bool,
    /// Whether the name is an option of a command line, preceded by dashes.
    is_option: bool,
}

/// A value after an operator.
struct WrittenValue {
    /// The range of the value in the text, without quotes.
    range: Range<usize>,
    is_quoted: bool,
}

/// The text between a name and its value.
struct Operator {
    /// The offset of the end, where the value begins.
    end: usize,
    /// Whether a value must be in quotes after this operator.
    needs_quote: bool,
    /// Whether the operator is one character without white space on either side.
    is_compact: bool,
}

impl Assignment {
    /// Reads the operator and the value after a name. `None` if nothing is assigned to the name.
    /// The name may begin with the dashes of an option.
    fn read(text: &[u8], dashed_name: Range<usize>) -> Option<Assignment> {
        let dashes = text[dashed_name.clone()]
            .iter()
            .take_while(|&&byte| byte == b'-')
            .count();
        let name = dashed_name.start + dashes..dashed_name.end;
        let is_option = dashes > 0;

        let operator = Operator::read(text, &name, is_option)?;
        let mut value = read_value(text, operator.end)?;

        // In a declaration such as `password: str = "…"`, a type follows the colon, and the value
        // comes after the type.
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

    /// Returns the kind of the secret; `None` if the value is not a secret.
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

        // The less the name suggests a secret, the more random the value must be.
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

    /// Whether this is `key=…` with a long random value. To be called only for a parameter of a
    /// request, where this is the key of an API: in other places, `key` may be the name of
    /// anything.
    fn is_key_parameter(&self, text: &[u8]) -> bool {
        let value = &text[self.value.clone()];
        &text[self.name.clone()] == b"key"
            && value.len() >= SHORTEST_SESSION
            && value.iter().all(u8::is_ascii_alphanumeric)
            && alternates_classes(value)
            && is_random(value)
    }

    /// Whether the value of a name such as `password` is a password, not a word of ordinary text.
    fn is_password(&self, text: &[u8]) -> bool {
        let value = &text[self.value.clone()];
        // Prose and code contain `password: required`. So a value of letters only counts as a
        // password only in `PASSWORD=…`.
        let is_strong = self.is_shell_variable(text) || has_digit_or_sign(value);
        value.len() >= SHORTEST_VALUE
            && is_strong
            && is_passphrase(value)
            && !looks_like_path(value)
    }

    /// Whether the value of a name such as `api_key` is a generated key or token.
    fn is_key_or_token(&self, text: &[u8]) -> bool {
        let value = &text[self.value.clone()];
        // A shell variable or an option is certainly followed by a value, so even a short one
        // counts.
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

    /// Whether the value of a name such as `session` is the secret of a browser session, not the id
    /// of a session in a log.
    fn is_browser_session(&self, text: &[u8]) -> bool {
        // Logs write an id after a colon or white space: `session: 1234`.
        if !self.is_compact {
            return false;
        }
        let value = &text[self.value.clone()];
        // A UUID has dashes and 36 characters.
        let is_id = value.contains(&b'-') && value.len() < SHORTEST_DASHED_SESSION;
        !is_id && value.len() >= SHORTEST_SESSION && is_random(value)
    }

    /// Whether this looks like a shell variable: the name has no lower-case letters, and the
    /// operator is one character without white space.
    fn is_shell_variable(&self, text: &[u8]) -> bool {
        let name = &text[self.name.clone()];
        self.is_compact && !name.iter().any(u8::is_ascii_lowercase)
    }
}

/// The minimum length of a key or token that is not assigned to a shell variable or an option.
const SHORTEST_LOOSE_SECRET: usize = 8;

/// The minimum length of the value of a browser session.
const SHORTEST_SESSION: usize = 20;

/// The minimum length of the value of a browser session that contains a dash: longer than a UUID.
const SHORTEST_DASHED_SESSION: usize = 40;

/// Whether a value has a digit, or a character that is usual neither in words nor in paths.
fn has_digit_or_sign(value: &[u8]) -> bool {
    value
        .iter()
        .any(|byte| byte.is_ascii_digit() || b"!@#$%^&*+=?~|<>".contains(byte))
}

impl Operator {
    /// Reads the operator after a name. A quote or bracket that closes the name, and spaces, may
    /// precede it. `None` if there is no operator.
    ///
    /// `is_option` is whether the name is an option of a command line. Its value may follow after a
    /// space only; the operator then has no characters.
    fn read(text: &[u8], name: &Range<usize>, is_option: bool) -> Option<Operator> {
        // `"name"`, `name)` and `["name"]` are closed before the operator.
        let closed_end = skip_characters(text, name.end, b"\"'`)]", 3);
        let is_closed = closed_end > name.end;
        let start = skip_characters(text, closed_end, b" \t", 20);
        let is_apart = start > name.end;
        let is_element = text[..name.start].ends_with(b"<");
        match &text[start..] {
            // Comparisons, and the `::` of a path, assign nothing.
            [b'=' | b'!', b'=' | b'~', ..] => None,
            [b':', b':', ..] => None,

            [b'=', b'>', ..] => Some(Operator::with_width(text, start, 2, is_apart)),
            [b':' | b'?' | b'+', b'=', ..] => Some(Operator::with_width(text, start, 2, is_apart)),
            // The default value of a variable: `${TOKEN:-…}`.
            [b':', b'-', ..] => Some(Operator::with_width(text, start, 2, is_apart)),
            [b'=', ..] => Some(Operator::with_width(text, start, 1, is_apart)),

            // A value on the next line must be in quotes.
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
            // The name is the value of an argument, item or member. The secret is the next one, in
            // quotes, or the value of a member `value`.
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
                // Only spaces separate an option, or the variable of a command, from its value.
                let is_spaced = is_apart && !is_closed;
                if is_spaced && (is_option || follows_command(&text[..name.start])) {
                    return Some(Operator::with_width(text, start, 0, is_apart));
                }
                None
            }
        }
    }

    /// Returns the operator of `width` bytes at `start`, including the white space after it.
    /// `is_apart` is whether there is anything between the name and the operator.
    fn with_width(text: &[u8], start: usize, width: usize, is_apart: bool) -> Operator {
        let end = skip_space(text, start + width);
        Operator {
            end,
            needs_quote: false,
            is_compact: !is_apart && end == start + 1,
        }
    }

    /// Returns an operator that ends at `end`, after which a value must be in quotes.
    fn before_quote(end: usize) -> Operator {
        Operator {
            end,
            needs_quote: true,
            is_compact: false,
        }
    }
}

/// Whether a value without quotes is probably source code: an expression or an identifier. `class`
/// is the class of the name.
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
    // A password may have the form of an identifier, except one that begins like `__u32` or
    // `0x746f6b6e`. A key or a token is random, which no identifier is.
    class != NameClass::Password || value[0] == b'_' || value[0] == b'0'
}

/// Reads the operator in a pair of members where the name of the secret is itself a value: `name:
/// TOKEN, value: …` or `<add key="token" value="…"/>`. The word `value`, perhaps in quotes, must be
/// at `word_start`; the operator after it is returned.
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
const LONGEST_TYPE: usize = 30;

/// If `range` is the type in a declaration such as `password: str = "…"`, returns the offset of the
/// value, after `= `. Otherwise `None`.
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

/// Reads the value that begins at an offset. `None` at the end of the text, and for quotes that
/// contain white space or an escape, or are not closed. A value without quotes may be empty.
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

    // A longer value is not a secret, so it is not read to its end.
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
fn ends_value(rest: &[u8]) -> bool {
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

/// Cuts a value without quotes where something else begins: another assignment after `&`, `;` or
/// `,`, or the closing tag of an element. Then removes punctuation at its end.
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

/// Removes the punctuation at the end of a value that belongs to the text around it, such as the
/// dot of a sentence or the bracket of a call.
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
        // A closing bracket stays if the value contains the opening one.
        if opening_bracket.is_some_and(|opening| before.contains(&opening)) {
            break;
        }
        trimmed = before;
    }
    trimmed
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

/// The keywords of assignments in the raw bytes of a line. For each, [`may_be_assigned`] checks the
/// bytes that follow. Each name of a secret contains at least one. Some are only a part of a word,
/// so that they match in several spellings.
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

/// The minimum length of a secret, in bytes.
const SHORTEST_VALUE: usize = 6;

/// The number of words after a name that are checked. The value is the first word, or the second,
/// after a type or the word `value`.
const MOST_WORDS: usize = 2;

/// The number of bytes after a keyword that [`may_be_assigned`] checks.
const BYTES_LOOKED_AT: usize = 160;

/// Whether a value may be assigned to the name that contains a keyword, judged by the raw bytes
/// after the keyword. Examples are `_KEY=x9Qd81Lm` and, with escaped quotes, `\": \"x9Qd81Lm`.
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

        // A value may begin with signs, as in `-x9Qd81Lm`, which were read as part of the
        // separator.
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

/// The raw bytes between a name and a word after it, such as `\": \"`.
struct Separator {
    /// The number of bytes.
    width: usize,
    /// Whether the bytes contain an operator.
    has_operator: bool,
    /// The number of brackets and signs at the end, which may belong to the value instead.
    signs_at_end: usize,
}

impl Separator {
    /// Reads the quotes, brackets, white space and operators at the start of `rest`. Quotes and
    /// white space may be escaped, as in JSON. `None` if there are none, or if nothing follows.
    fn read(rest: &[u8]) -> Option<Separator> {
        let mut width = 0;
        let mut has_operator = false;
        let mut signs_at_end = 0;
        while let Some(byte) = rest.get(width) {
            match byte {
                // A value never begins with these.
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

/// Whether a run of characters may be a secret, not a word. `after_run` is the text after the run,
/// which begins with white space, a quote or a backslash.
///
/// In ordinary text, a word such as `token` is followed by another word. So without an operator,
/// the run must have a digit. After an operator, it must have any character other than a letter, or
/// have several capitals.
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

    // In code, `;`, `,` or a closing bracket may follow a word, as in `token: string;`, so these do
    // not count.
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
