//! Finds values that are assigned to names of secrets: `API_KEY=…`, `"password": "…"`, `--token …`,
//! `X-Auth-Key: …`.
//!
//! The same rules apply to programs, settings, headers and command lines. There are four parts:
//!
//! - the name (`names.rs`),
//! - the operator and the range of the value (`syntax.rs`),
//! - the decision whether this value of this name is a secret (this module),
//! - the form of a secret, which the decision needs (`resemblance.rs`).
//!
//! Each part is checked leniently; a secret must pass all checks. `keywords.rs` decides which lines
//! are searched at all.

mod keywords;
mod syntax;
mod validation;

use super::expressions::{
    is_absolute_path, is_code, is_encoded_login, is_identifier, is_member_chain,
    is_random_expression, looks_like_path,
};
use super::names::{self, NameClass, is_name_character};
use super::resemblance::{
    alternates_classes, is_assigned_secret, is_generated_password, is_passphrase, is_random,
};
use aho_corasick::AhoCorasick;
pub use keywords::{CAPITAL_KEYWORDS, KEYWORDS, may_be_assigned, may_be_assigned_after_capitals};
use std::ops::Range;
use std::sync::LazyLock;
use syntax::{Operator, WrittenValue};

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
    "pw",
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

        for assignment in Assignment::read_all(text, name) {
            if let Some(kind) = assignment.kind_in_text() {
                visit(AssignedSecret {
                    kind,
                    name: assignment.name_range,
                    value: assignment.value_range,
                });
            }
        }
    }
}

/// Returns the kind of secret in the value of a JSON member, judged by the key and the value;
/// `None` if the value is not a secret. The key has no escapes. The value is as written in the
/// line, without quotes.
pub fn kind_of_member(key: &[u8], value: &[u8]) -> Option<&'static str> {
    // The same limits as for a value in text: see `WrittenValue::read`.
    let has_space = value.iter().any(u8::is_ascii_whitespace);
    let has_escape = value.contains(&b'\\');
    if value.len() > LONGEST_VALUE || has_space || has_escape {
        return None;
    }

    // An assignment has ranges of one text, so the key and the value are joined.
    let text = [key, value].concat();
    let member = Assignment {
        text: &text,
        name_range: 0..key.len(),
        value_range: key.len()..text.len(),
        is_quoted: true,
        is_compact: false,
        is_option: false,
    };
    member.secret_kind()
}

/// The maximum number of bytes of a name before, and after, its stem.
const LONGEST_NAME: usize = 80;

/// The minimum length of a secret, in bytes.
const SHORTEST_VALUE: usize = 6;

/// The maximum length of a value in bytes.
const LONGEST_VALUE: usize = 4000;

/// Returns the range of the name that contains a stem: for the stem `token`, of `my_token_2` in
/// `set my_token_2=…`. A name that is longer than [`LONGEST_NAME`] on one side of the stem is cut.
fn name_range_around(text: &[u8], stem: Range<usize>) -> Range<usize> {
    let before = &text[stem.start.saturating_sub(LONGEST_NAME)..stem.start];
    let after = &text[stem.end..text.len().min(stem.end + LONGEST_NAME)];
    let in_name = |byte: &&u8| is_name_character(**byte);
    let start = stem.start - before.iter().rev().take_while(in_name).count();
    let end = stem.end + after.iter().take_while(in_name).count();

    // In JSON that is not decoded, the letter of an escape may precede the name, as in
    // `\npassword`. It is not part of the name.
    let follows_backslash = text[..start].ends_with(b"\\");
    let is_escape_letter = follows_backslash && matches!(text[start], b'n' | b'r' | b't');
    if is_escape_letter && start < stem.start {
        start + 1..end
    } else {
        start..end
    }
}

/// Whether a name that ends in `.pw` is a host of that domain: before a port, as in
/// `example.pw:8080`, or before a path if a user or a scheme precedes it, as in
/// `git@example.pw:team/site`. `mail.pw: x9Qd81Lm` and `mail.pw:/x9Qd81Lm` are passwords.
fn is_host(text: &[u8], name: &Range<usize>) -> bool {
    if !text[name.clone()].to_ascii_lowercase().ends_with(b".pw") {
        return false;
    }
    let Some(after_colon) = text[name.end..].strip_prefix(b":") else {
        return false;
    };
    if begins_with_port(after_colon) {
        return true;
    }
    let before_name = &text[..name.start];
    let is_address = before_name.ends_with(b"@") || before_name.ends_with(b"://");
    is_address && begins_with_folder(after_colon)
}

/// Whether a text begins with a port, not with a password such as `8080x9Qd` or `1234!x9`.
fn begins_with_port(text: &[u8]) -> bool {
    /// The number of digits of the highest port, 65535.
    const MOST_DIGITS: usize = 5;

    let digit_count = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if !(1..=MOST_DIGITS).contains(&digit_count) {
        return false;
    }
    match text.get(digit_count) {
        None => true,
        Some(next) => next.is_ascii_whitespace() || b"/\"'`),;]>\\".contains(next),
    }
}

/// Whether a text begins with the first folder of a path: `/`, or a name and `/`.
fn begins_with_folder(text: &[u8]) -> bool {
    let name_len = text
        .iter()
        .take_while(|&&byte| is_name_character(byte))
        .count();
    text.get(name_len) == Some(&b'/')
}

/// A name in a text, and a value that is assigned to it.
struct Assignment<'t> {
    text: &'t [u8],
    /// The range of the name in the text, without the dashes of an option.
    name_range: Range<usize>,
    /// The range of the value in the text, without quotes.
    value_range: Range<usize>,
    /// Whether the value is in quotes.
    is_quoted: bool,
    /// Whether the operator is one character without white space around it: `=`, as in a shell, or
    /// the `>` of an XML element.
    is_compact: bool,
    /// Whether the name is an option of a command line, preceded by dashes.
    is_option: bool,
}

impl<'t> Assignment<'t> {
    /// Reads the assignments to a name: one for any value, and one for each string of an array.
    /// Empty if nothing is assigned. The name may begin with the dashes of an option.
    fn read_all(text: &'t [u8], dashed_name: Range<usize>) -> Vec<Assignment<'t>> {
        let dash_count = text[dashed_name.clone()]
            .iter()
            .take_while(|&&byte| byte == b'-')
            .count();
        let name_range = dashed_name.start + dash_count..dashed_name.end;
        let is_option = dash_count > 0;
        if is_host(text, &name_range) {
            return Vec::new();
        }
        let Some(operator) = Operator::read(text, &name_range, is_option) else {
            return Vec::new();
        };
        let value_start = syntax::skip_type(text, operator.end);

        let mut assignments = Vec::new();
        if let Some(value) = WrittenValue::read(text, value_start) {
            let assignment = Assignment {
                text,
                name_range: name_range.clone(),
                value_range: value.range,
                is_quoted: value.is_quoted,
                is_compact: operator.is_compact,
                is_option,
            };
            let may_lack_quotes = !operator.needs_quote && !assignment.is_usage(value_start);
            if assignment.is_quoted || may_lack_quotes {
                assignments.push(assignment);
            }
        }
        // Even if a value was found: a value without quotes may begin with the bracket.
        if text.get(value_start) == Some(&b'[') {
            let mut items = Assignment::read_items(text, name_range, value_start + 1);
            assignments.append(&mut items);
        }
        assignments
    }

    /// Reads the assignments of the strings of an array to its name, except rules of validation.
    /// `array_start` is the offset after the opening bracket.
    fn read_items(
        text: &'t [u8],
        name_range: Range<usize>,
        array_start: usize,
    ) -> Vec<Assignment<'t>> {
        let ranges = syntax::strings_of_array(text, array_start);
        let strings: Vec<&[u8]> = ranges.iter().map(|range| &text[range.clone()]).collect();
        let are_rules = validation::include_rule_without_value(&strings);

        let mut assignments = Vec::new();
        for value_range in ranges {
            if validation::is_rule(&text[value_range.clone()], are_rules) {
                continue;
            }
            assignments.push(Assignment {
                text,
                name_range: name_range.clone(),
                value_range,
                is_quoted: true,
                is_compact: false,
                is_option: false,
            });
        }
        assignments
    }

    /// Whether this is no assignment, but part of the usage of a command, such as
    /// `--password string|env`. `value_start` is the end of the text between the name and the
    /// value, before the quote of a value in quotes.
    fn is_usage(&self, value_start: usize) -> bool {
        let between = &self.text[self.name_range.end..value_start];
        self.is_option && is_usage_of_option(between, self.value())
    }

    fn name(&self) -> &'t [u8] {
        &self.text[self.name_range.clone()]
    }

    fn value(&self) -> &'t [u8] {
        &self.text[self.value_range.clone()]
    }

    /// Returns the kind of the secret in a text in which URLs may occur; `None` if the value is not
    /// a secret.
    fn kind_in_text(&self) -> Option<&'static str> {
        let kind = self.secret_kind();
        if !self.is_url_parameter() {
            return kind;
        }
        if kind.is_some() || self.is_key_of_api() {
            Some("url-parameter")
        } else {
            None
        }
    }

    /// Whether the name is a parameter in the address of a request: `?token=…` or `&token=…`.
    fn is_url_parameter(&self) -> bool {
        let before_name = &self.text[..self.name_range.start];
        before_name.ends_with(b"?")
            || before_name.ends_with(b"&")
            || before_name.ends_with(b"&amp;")
    }

    /// Whether this is `key=…` with a long random value. To be called only for a parameter of a
    /// request, where this is the key of an API: in other places, `key` may be the name of
    /// anything.
    fn is_key_of_api(&self) -> bool {
        let value = self.value();
        self.name() == b"key"
            && value.len() >= SHORTEST_SESSION
            && value.iter().all(u8::is_ascii_alphanumeric)
            && alternates_classes(value)
            && is_random(value)
    }

    /// Returns the kind of the secret, judged by the name and the value; `None` if the value is not
    /// a secret.
    fn secret_kind(&self) -> Option<&'static str> {
        let value = self.value();
        if !names::may_be_secret(value) {
            return None;
        }
        let class = names::classify_name(self.name())?;

        // `token = readToken(x)` is source code. `TOKEN=readToken` is a line of a shell, in which
        // the text itself is the value.
        let may_be_code = !self.is_quoted && !self.is_shell_variable();
        if may_be_code && resembles_code(value, class) {
            return None;
        }

        // The less the name suggests a secret, the more random the value must be.
        let is_secret = match class {
            NameClass::Password => self.is_password(),
            NameClass::Secret => self.is_key_or_token(),
            NameClass::Login => is_encoded_login(value),
            NameClass::Session => self.is_browser_session(),
        };
        if !is_secret {
            None
        } else if class == NameClass::Password {
            Some("assigned-password")
        } else {
            Some("assigned-secret")
        }
    }

    /// Whether the value of a name such as `password` is a password, not a word of ordinary text.
    fn is_password(&self) -> bool {
        let value = self.value();
        if value.len() < SHORTEST_VALUE {
            return false;
        }
        // Prose and code contain `password: required`. So a word is a password only after a shell
        // variable, as in `PASSWORD=…`.
        if !self.is_shell_variable() && !has_digit_or_sign(value) {
            return false;
        }
        // Such as `'password' => 'required|min:8'`.
        if self.is_quoted && validation::is_rule_list(value) {
            return false;
        }
        is_passphrase(value) && !looks_like_path(value)
    }

    /// Whether the value of a name such as `api_key` is a generated key or token.
    fn is_key_or_token(&self) -> bool {
        let value = self.value();
        // A shell variable or an option is certainly followed by a value, so even a short one
        // counts.
        let shortest = if self.is_shell_variable() || self.is_option {
            SHORTEST_VALUE
        } else {
            SHORTEST_LOOSE_SECRET
        };
        // Without quotes, the signs of a generated password may be operators of code.
        let is_quoted_password = self.is_quoted && is_generated_password(value);
        let is_generated = is_assigned_secret(value) || is_quoted_password;
        value.len() >= shortest
            && is_generated
            && !is_absolute_path(value)
            && !names::is_id_in(self.text, value)
    }

    /// Whether the value of a name such as `session` is the secret of a browser session, not the id
    /// of a session in a log.
    fn is_browser_session(&self) -> bool {
        // Logs write an id after a colon or white space: `session: 1234`.
        if !self.is_compact {
            return false;
        }
        let value = self.value();
        // A UUID has dashes and 36 characters.
        let is_id = value.contains(&b'-') && value.len() < SHORTEST_DASHED_SESSION;
        !is_id && value.len() >= SHORTEST_SESSION && is_random(value)
    }

    /// Whether this looks like a shell variable: the name has no lower-case letters, and the
    /// operator is one character without white space.
    fn is_shell_variable(&self) -> bool {
        self.is_compact && !self.name().iter().any(u8::is_ascii_lowercase)
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

/// Whether a value after an option is not the value, but a choice of words in the usage of the
/// command, as in `--password string|env`. `between` is the text between the option and the value:
/// in a usage, it has only spaces.
fn is_usage_of_option(between: &[u8], value: &[u8]) -> bool {
    between.iter().all(u8::is_ascii_whitespace) && is_choice(value)
}

/// Whether a value without quotes is a choice of words in the usage of a command: the `string|env`
/// of `--password string|env`. In a shell, `|` would end the value.
fn is_choice(value: &[u8]) -> bool {
    let mut words = value.split(|&byte| byte == b'|');
    let are_words = words.all(|word| !word.is_empty() && word.iter().all(u8::is_ascii_alphabetic));
    are_words && value.contains(&b'|')
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
    // A key or a token is random, which no identifier is. But a password may have the form of an
    // identifier, such as `summer_2024`. It rarely begins like the C type `__u32` or the number
    // `0x746f`.
    let begins_like_type_or_number = value.starts_with(b"_") || value.starts_with(b"0");
    class != NameClass::Password || begins_like_type_or_number
}
