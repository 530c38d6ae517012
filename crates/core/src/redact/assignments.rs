//! Values assigned to the names of secrets: `API_KEY=…`, `"password": "…"`, `--token …`,
//! `X-Auth-Key: …`.
//!
//! There is one mechanism for programs, settings, headers and command lines. Its parts are the name
//! (`names.rs`), the operator and the value (here), and the judgement of the value
//! (`resemblance.rs`). Each part is lenient; only all of them together make a secret.

use super::expressions::{is_chain, is_code, is_identifier, is_login, looks_like_path};
use super::names::{self, Class, is_name_character};
use super::resemblance::{assigned, passphrase, random};
use aho_corasick::AhoCorasick;
use std::ops::Range;
use std::sync::LazyLock;

/// A secret that was assigned to a name.
pub struct Assigned {
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

static STEM: LazyLock<AhoCorasick> = LazyLock::new(|| {
    AhoCorasick::builder()
        .ascii_case_insensitive(true)
        .build(STEMS)
        .expect("a few short literals")
});

/// Calls `found` with each secret that is assigned to a name in a text.
pub fn each_assignment(text: &[u8], mut found: impl FnMut(Assigned)) {
    let mut searched = 0;
    for stem in STEM.find_iter(text) {
        if stem.start() < searched {
            continue;
        }
        let name = name_around(text, stem.range());
        searched = name.end;
        let Some(assignment) = Assignment::read(text, name) else {
            continue;
        };
        if let Some(mut kind) = assignment.kind(text) {
            let before = text[..assignment.name.start].last();
            if matches!(before, Some(b'?' | b'&')) {
                kind = "url-parameter";
            }
            found(Assigned {
                kind,
                name: assignment.name,
                value: assignment.value,
            });
        }
    }
}

/// Returns the kind of the secret that a member of a JSON object is, by its key and its value.
pub fn kind_of_member(key: &[u8], value: &[u8]) -> Option<&'static str> {
    let is_short = value.len() <= LONGEST_VALUE;
    let has_space = value.iter().any(u8::is_ascii_whitespace);
    if !is_short || has_space || value.contains(&b'\\') {
        return None;
    }
    let text = [key, value].concat();
    let member = Assignment {
        name: 0..key.len(),
        value: key.len()..text.len(),
        is_quoted: true,
        is_compact: false,
        is_option: false,
    };
    member.kind(&text)
}

/// The maximum length of a name.
const LONGEST_NAME: usize = 80;

/// The maximum length of a value.
const LONGEST_VALUE: usize = 4000;

/// Returns the range of the name that contains a stem.
fn name_around(text: &[u8], stem: Range<usize>) -> Range<usize> {
    let before = &text[stem.start.saturating_sub(LONGEST_NAME)..stem.start];
    let after = &text[stem.end..text.len().min(stem.end + LONGEST_NAME)];
    let in_name = |byte: &&u8| is_name_character(**byte);
    let start = stem.start - before.iter().rev().take_while(in_name).count();
    let end = stem.end + after.iter().take_while(in_name).count();
    start..end
}

/// A name, an operator and a value.
struct Assignment {
    name: Range<usize>,
    value: Range<usize>,
    is_quoted: bool,
    /// Whether the operator is `=` without white space, as in a shell.
    is_compact: bool,
    is_option: bool,
}

/// What is between a name and its value.
struct Operator {
    /// Its end, where the value begins.
    end: usize,
    /// Whether only a value in quotes may follow.
    needs_quote: bool,
    is_compact: bool,
}

impl Assignment {
    /// Reads the operator and the value after a name.
    fn read(text: &[u8], mut name: Range<usize>) -> Option<Assignment> {
        let dashes = text[name.clone()]
            .iter()
            .take_while(|&&byte| byte == b'-')
            .count();
        name.start += dashes;
        let is_option = dashes > 0;

        let operator = Operator::read(text, &name, is_option)?;
        let (mut value, mut is_quoted) = value_at(text, operator.end)?;

        // A declaration with a type: `password: str = "…"`.
        if !is_quoted && let Some(equals) = equals_after_type(text, &value) {
            (value, is_quoted) = value_at(text, equals)?;
        }
        if operator.needs_quote && !is_quoted {
            return None;
        }
        Some(Assignment {
            name,
            value,
            is_quoted,
            is_compact: operator.is_compact,
            is_option,
        })
    }

    /// Returns the kind of the secret, if the value is one.
    fn kind(&self, text: &[u8]) -> Option<&'static str> {
        let name = &text[self.name.clone()];
        let value = &text[self.value.clone()];
        if !names::may_be_secret(value) {
            return None;
        }
        let class = names::class_of(name)?;
        let is_variable = self.is_compact && !name.iter().any(u8::is_ascii_lowercase);
        let is_loose = !self.is_quoted && !is_variable;
        if is_loose && (is_code(value) || is_chain(value)) {
            return None;
        }
        if is_loose
            && is_identifier(value)
            && (class != Class::Password || value[0] == b'_' || value[0] == b'0')
        {
            return None;
        }

        match class {
            Class::Password => {
                let is_strong = is_variable || has_digit_or_sign(value);
                let is_secret = value.len() >= 6 && is_strong && passphrase(value);
                (is_secret && !looks_like_path(value)).then_some("assigned-password")
            }
            Class::Secret => {
                let shortest = if is_variable || self.is_option { 6 } else { 8 };
                let is_secret = value.len() >= shortest && assigned(value);
                let is_id = names::is_id_in(text, value);
                (is_secret && !is_id).then_some("assigned-secret")
            }
            Class::Login => is_login(value).then_some("assigned-secret"),
            Class::Session => {
                let is_id = !self.is_compact || value.contains(&b'-') && value.len() < 40;
                (!is_id && value.len() >= 20 && random(value)).then_some("assigned-secret")
            }
        }
    }
}

/// Whether there is a digit, or a character that neither words nor paths have.
fn has_digit_or_sign(value: &[u8]) -> bool {
    value
        .iter()
        .any(|byte| byte.is_ascii_digit() || b"!@#$%^&*+=?~|<>".contains(byte))
}

impl Operator {
    fn read(text: &[u8], name: &Range<usize>, is_option: bool) -> Option<Operator> {
        let closed = skip(text, name.end, b"\"'`)]", 3);
        let is_closed = closed > name.end;
        let at = skip(text, closed, b" \t", 20);
        let rest = &text[at..];
        let operator = |width: usize| {
            let end = skip_space(text, at + width);
            Some(Operator {
                end,
                needs_quote: false,
                is_compact: at == name.end && end == at + 1,
            })
        };
        let with_quote = |end| {
            Some(Operator {
                end,
                needs_quote: true,
                is_compact: false,
            })
        };

        let is_element = name.start > 0 && text[name.start - 1] == b'<';
        match rest {
            [b'=' | b'!', b'=' | b'~', ..] => None,
            [b':', b':', ..] => None,
            [b'=', b'>', ..] => operator(2),
            [b':' | b'?' | b'+', b'=', ..] => operator(2),
            // The default value of a variable: `${TOKEN:-…}`.
            [b':', b'-', ..] => operator(2),
            [b'=', ..] => operator(1),
            // A value that follows on the next line is in quotes.
            [b':', ..] => {
                let end = skip_space(text, at + 1);
                let is_on_line = !text[at..end].contains(&b'\n');
                Some(Operator {
                    end,
                    needs_quote: !is_on_line,
                    is_compact: false,
                })
            }
            [b'>', ..] if is_element => operator(1),
            [b'(', ..] => with_quote(skip_space(text, at + 1)),
            [b',', ..] if is_closed => {
                let end = skip_space(text, at + 1);
                value_of_pair(text, end).or_else(|| with_quote(end))
            }
            _ => {
                if let Some(pair) = value_of_pair(text, skip_space(text, at)) {
                    return Some(pair);
                }
                let is_spaced = at > name.end && !is_closed;
                if is_spaced && (is_option || follows_command(&text[..name.start])) {
                    return operator(0);
                }
                None
            }
        }
    }
}

/// Returns the operator of a name that is itself a value, as in `name: TOKEN, value: …` and
/// `<add key="token" value="…"/>`: what follows the word `value`.
fn value_of_pair(text: &[u8], at: usize) -> Option<Operator> {
    let word = skip(text, at, b"\"'", 1);
    let after = text.get(word..)?.strip_prefix(b"value")?;
    let closed = skip(text, text.len() - after.len(), b"\"'", 1);
    let colon = skip(text, closed, b" \t", 4);
    matches!(text.get(colon), Some(b':' | b'=')).then(|| Operator {
        end: skip_space(text, colon + 1),
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

/// Returns where the value begins if a range is the type in a declaration: after the `=`.
fn equals_after_type(text: &[u8], range: &Range<usize>) -> Option<usize> {
    let is_type = |byte: &u8| byte.is_ascii_alphabetic() || b"<>[]&?.".contains(byte);
    let word = &text[range.clone()];
    let equals = skip(text, range.end, b" ", 2);
    let is_declared = word.len() <= 30
        && word.iter().all(is_type)
        && equals > range.end
        && text[equals..].starts_with(b"= ");
    is_declared.then_some(equals + 2)
}

/// Returns the range of the value that begins at an offset, and whether it is in quotes.
fn value_at(text: &[u8], mut at: usize) -> Option<(Range<usize>, bool)> {
    // The prefix of a string in Python and in a shell.
    let is_prefixed = matches!(text.get(at), Some(b'b' | b'f' | b'r' | b'u' | b'$'))
        && matches!(text.get(at + 1), Some(b'"' | b'\''));
    at += usize::from(is_prefixed);

    let rest = &text[at..text.len().min(at + LONGEST_VALUE)];
    match rest.first()? {
        quote @ (b'"' | b'\'' | b'`') => {
            let start = at + 1;
            // An escape is decoded on the next level, where the value is whole.
            let width = (0..rest.len() - 1).find(|&at| {
                let next = rest[at + 1];
                next == *quote || next.is_ascii_whitespace() || is_escape(&rest[at + 1..])
            })?;
            (rest[1 + width] == *quote).then_some((start..start + width, true))
        }
        _ => {
            let width = (0..rest.len()).find(|&at| ends_value(&rest[at..]));
            let value = without_what_follows(&rest[..width.unwrap_or(rest.len())]);
            Some((at..at + value.len(), false))
        }
    }
}

/// Whether a value without quotes ends before these bytes: at white space or a quote, which may be
/// escaped.
fn ends_value(rest: &[u8]) -> bool {
    match rest.first() {
        Some(byte) => is_escape(rest) || byte.is_ascii_whitespace() || b"\"'`".contains(byte),
        None => true,
    }
}

/// Whether an escape of JSON follows.
fn is_escape(rest: &[u8]) -> bool {
    matches!(rest, [b'\\', next, ..] if b"nrtu\"'".contains(next))
}

/// Returns a value without quotes up to where something else begins: another assignment after `&`,
/// `;` or `,`, the tag that closes an element, or punctuation at its end.
fn without_what_follows(run: &[u8]) -> &[u8] {
    let mut value = run;
    for (at, byte) in run.iter().enumerate() {
        let is_end = match byte {
            b'&' | b';' | b',' => begins_assignment(&run[at + 1..]),
            b'<' => run[at + 1..].starts_with(b"/"),
            _ => false,
        };
        if is_end {
            value = &run[..at];
            break;
        }
    }
    while let [
        rest @ ..,
        b';' | b',' | b')' | b'}' | b']' | b'|' | b'\\' | b'>' | b'.',
    ] = value
    {
        // A bracket that the value opens belongs to it.
        let opening = match value.last() {
            Some(b')') => b'(',
            Some(b'}') => b'{',
            Some(b']') => b'[',
            Some(b'>') => b'<',
            _ => 0,
        };
        if rest.contains(&opening) {
            break;
        }
        value = rest;
    }
    value
}

/// Whether a name and an operator follow.
fn begins_assignment(rest: &[u8]) -> bool {
    let width = rest
        .iter()
        .take_while(|&&byte| is_name_character(byte))
        .count();
    width > 0 && matches!(rest.get(width), Some(b'=' | b':'))
}

/// Returns the offset after some of these characters, at most `most` of them.
fn skip(text: &[u8], at: usize, characters: &[u8], most: usize) -> usize {
    let rest = &text[at..text.len().min(at + most)];
    let width = rest
        .iter()
        .take_while(|&&byte| characters.contains(&byte))
        .count();
    at + width
}

/// Returns the offset after white space, which may have line breaks.
fn skip_space(text: &[u8], at: usize) -> usize {
    skip(text, at, b" \t\r\n", 60)
}

/// The words in the raw bytes of a line whose following bytes show whether a value may be assigned.
pub const KEYWORDS: [&str; 32] = [
    "PASS",
    "Pass",
    "passw",
    "passphrase",
    "passcode",
    "_pass",
    "-pass",
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

/// Whether a value may be assigned to the name that ends with a keyword, judged from the raw bytes
/// after it, in which quotes and line breaks may be escaped.
pub fn may_be_assigned(rest: &[u8]) -> bool {
    let rest = &rest[..rest.len().min(160)];
    let width = rest
        .iter()
        .take_while(|&&byte| is_name_character(byte))
        .count();
    let mut rest = &rest[width..];

    // The value, or a type or `value` before it.
    for _ in 0..2 {
        let Some((value_start, has_operator)) = after_operator(rest) else {
            return false;
        };
        rest = &rest[value_start..];
        let is_end = |byte: &u8| byte.is_ascii_whitespace() || b"\"'`\\".contains(byte);
        let width = rest.iter().position(is_end).unwrap_or(rest.len());
        if is_plausible(&rest[..width], has_operator) {
            return true;
        }
        if let Some(after) = rest.strip_prefix(b"value") {
            rest = after;
        } else if has_operator && width <= 30 {
            rest = &rest[width..];
        } else {
            return false;
        }
    }
    false
}

/// Returns the number of bytes before a value, and whether an operator is among them.
fn after_operator(rest: &[u8]) -> Option<(usize, bool)> {
    let mut has_operator = false;
    let mut at = 0;
    while let Some(byte) = rest.get(at) {
        match byte {
            b':' | b'=' | b'(' | b',' | b'>' => has_operator = true,
            b'"' | b'\'' | b'`' | b')' | b']' | b'?' | b'+' | b'-' => {}
            b' ' | b'\t' | b'\r' | b'\n' => {}
            b'\\' => {
                let is_space = matches!(rest.get(at + 1), Some(b'n' | b't' | b'r'));
                at += usize::from(is_space);
            }
            _ => break,
        }
        at += 1;
    }
    (at > 0 && at < rest.len()).then_some((at, has_operator))
}

/// Whether a run of characters may be a secret: it is no word.
fn is_plausible(run: &[u8], has_operator: bool) -> bool {
    if run.len() < 6 {
        return false;
    }
    if run.iter().any(u8::is_ascii_digit) {
        return true;
    }
    let is_sign = |byte: &u8| b"!@#$%^&*+/=?~|<>-_.:".contains(byte);
    let capitals = run.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    has_operator && (run.iter().any(is_sign) || run.len() >= 16 && capitals > 2)
}
