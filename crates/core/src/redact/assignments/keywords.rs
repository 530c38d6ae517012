//! Decides from the raw bytes after a keyword whether a line is searched for assignments. The
//! search itself reads decoded text, so it finds the value in its own way.

use super::syntax::{LONGEST_TYPE, ends_value, is_in_type};
use super::{SHORTEST_VALUE, has_digit_or_sign};
use crate::redact::names::is_name_character;

/// The keywords of assignments in the raw bytes of a line. For each, [`may_be_assigned`] checks the
/// bytes that follow. Each name of a secret contains at least one. Some are only a part of a word,
/// so that they match in several spellings.
pub const KEYWORDS: [&str; 44] = [
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
    "_pw",
    "_PW",
    "_Pw",
    "-pw",
    "-PW",
    "-Pw",
    ".pw",
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

/// Keywords of names such as `mailPw` and `smtpPW`, before which is any letter. They are also in
/// any long text in base64, so [`may_be_assigned_after_capitals`] checks the bytes that follow.
pub const CAPITAL_KEYWORDS: [&str; 2] = ["PW", "Pw"];

/// The number of bytes after a keyword that [`may_be_assigned`] checks.
const BYTES_CHECKED: usize = 160;

/// Whether a value may be assigned to the name that contains a keyword, judged by the raw bytes
/// after the keyword. Examples are `_KEY=x9Qd81Lm` and, with escaped quotes, `\": \"x9Qd81Lm`.
///
/// A line is searched for assignments only if this is true for one of its keywords. So it must be
/// true for every secret that [`each_assignment`](super::each_assignment) finds, and may be true
/// for other text.
pub fn may_be_assigned(after_keyword: &[u8]) -> bool {
    !is_plain_prose(after_keyword) && has_likely_value(after_keyword)
}

/// Whether a value may be assigned to the name that contains one of the [`CAPITAL_KEYWORDS`],
/// judged by the raw bytes after the keyword. Unlike [`may_be_assigned`], this is false in base64,
/// where such a short keyword occurs by chance.
pub fn may_be_assigned_after_capitals(after_keyword: &[u8]) -> bool {
    // `Pwd` and `PW2` are other words.
    let continues_word = |byte: &u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    if after_keyword.first().is_some_and(continues_word) {
        return false;
    }
    let near = &after_keyword[..after_keyword.len().min(BYTES_CHECKED)];
    let Some(name_end) = near.iter().position(|&byte| !is_name_character(byte)) else {
        return false;
    };
    // All digits of base64 are characters of names, except two. One of them followed by `=` is an
    // operator, as in `smtpPW += "x9Qd81Lm"`.
    let after_name = &near[name_end..];
    let is_base64 = matches!(after_name, [b'+' | b'/', ..]) && !after_name.starts_with(b"+=");
    !is_base64 && may_be_assigned(after_keyword)
}

/// Whether the first or second word after a keyword may be a value that is assigned. A keyword may
/// end within a name, so the rest of the name comes first: for `TOKEN`, the `_2` of `TOKEN_2=x9Qd`.
fn has_likely_value(after_keyword: &[u8]) -> bool {
    let near = &after_keyword[..after_keyword.len().min(BYTES_CHECKED)];
    let name_rest_len = near
        .iter()
        .take_while(|&&byte| is_name_character(byte))
        .count();
    // Not only the near bytes: there may be much white space before an array, and each level of
    // escapes doubles the backslashes of a line break.
    if begins_array(&after_keyword[name_rest_len..]) {
        return true;
    }
    let Some(first_word) = RawWord::read(&near[name_rest_len..]) else {
        return false;
    };
    if first_word.may_be_secret() {
        return true;
    }
    let Some(after_first) = skip_word_before_value(&first_word) else {
        return false;
    };
    match RawWord::read(after_first) {
        Some(second_word) => second_word.may_be_secret(),
        None => false,
    }
}

/// Returns the bytes after a word that is not a value, but may come before one: the word `value`,
/// as in `name: TOKEN, value: x9Qd81Lm`, or a type, as in `password: str = "x9Qd81Lm"`. `None` for
/// any other word.
fn skip_word_before_value<'t>(word: &RawWord<'t>) -> Option<&'t [u8]> {
    if let Some(after_value) = word.from_word.strip_prefix(b"value") {
        return Some(after_value);
    }
    let may_be_type = word.has_operator && word.word_len <= LONGEST_TYPE;
    if may_be_type {
        Some(word.after_word())
    } else {
        None
    }
}

/// Whether an array may be assigned to the name. Any item of the array may be the secret, however
/// far behind the name it is. Quotes and white space may be escaped, as in JSON in a string of the
/// line.
///
/// The bracket follows an operator, as in `["name"] = [`, or the word and the second operator of
/// `name: list[str] = [` and `"name", "value": [`.
fn begins_array(after_name: &[u8]) -> bool {
    let after_separator = skip_separator(after_name);
    let has_separator = after_separator.len() < after_name.len();
    if !has_separator {
        return false;
    }
    if after_separator.starts_with(b"[") {
        return true;
    }

    // A type, or the word `value`.
    let Some(after_word) = skip_type_word(after_separator) else {
        return false;
    };
    let after_second = skip_separator(after_word);
    let second_separator = &after_word[..after_word.len() - after_second.len()];
    let has_operator = second_separator.contains(&b'=') || second_separator.contains(&b':');
    has_operator && after_second.starts_with(b"[")
}

/// Returns what follows the word at the start of `text` that may be a type, such as `list[str]`.
/// `None` if there is no such word, or if it is too long for a type: words without an end, such as
/// `token>` repeated, would otherwise take quadratic time.
fn skip_type_word(text: &[u8]) -> Option<&[u8]> {
    let near = &text[..text.len().min(LONGEST_TYPE + 1)];
    let word_len = near.iter().position(|&byte| !is_in_type(byte))?;
    if word_len == 0 {
        return None;
    }
    Some(&text[word_len..])
}

/// Skips closing brackets, operators, quotes, white space, and the escapes of the last two.
fn skip_separator(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    loop {
        rest = match rest {
            [b'\\', b'n' | b'r' | b't', after @ ..] => after,
            [byte, after @ ..] if b"\\\"'` \t\r\n)]:=+?->(,".contains(byte) => after,
            _ => return rest,
        };
    }
}

/// Whether a space, a word of letters and another space follow, as in `session of the agent`. Most
/// keywords in a conversation are such ordinary words, so they are decided before all others.
///
/// [`has_likely_value`] would give the same answer: without an operator, a secret has a digit, a
/// sign, or more letters than a word. It looks beyond the word `value`, so prose with that word is
/// left to it.
fn is_plain_prose(after_keyword: &[u8]) -> bool {
    let [b' ', words @ ..] = after_keyword else {
        return false;
    };
    let Some(word_len) = words.iter().position(|byte| !byte.is_ascii_alphabetic()) else {
        return false;
    };
    let is_ordinary_word = (1..SHORTEST_RANDOM_LETTERS).contains(&word_len);
    let precedes_space = words[word_len] == b' ';
    is_ordinary_word && precedes_space && !words.starts_with(b"value")
}

/// A word in the raw bytes, and what is before it.
struct RawWord<'t> {
    /// Whether there is an operator before the word.
    has_operator: bool,
    /// The word, with the brackets and signs before it. A value may begin with signs, as in
    /// `-x9Qd81Lm`.
    signed_word: &'t [u8],
    /// The bytes from the start of the word on.
    from_word: &'t [u8],
    word_len: usize,
}

impl<'t> RawWord<'t> {
    /// Reads the separator at the start of `rest`, and the word after it. The word ends before a
    /// backslash, white space or a quote. `None` if there is no separator, or if nothing follows.
    fn read(rest: &'t [u8]) -> Option<RawWord<'t>> {
        let separator = Separator::read(rest)?;
        let from_word = &rest[separator.width..];
        let word_len = (0..from_word.len())
            .find(|&at| from_word[at] == b'\\' || ends_value(&from_word[at..]))
            .unwrap_or(from_word.len());
        let signs_start = separator.width - separator.doubtful_len;
        Some(RawWord {
            has_operator: separator.has_operator,
            signed_word: &rest[signs_start..separator.width + word_len],
            from_word,
            word_len,
        })
    }

    fn after_word(&self) -> &'t [u8] {
        &self.from_word[self.word_len..]
    }

    /// Whether the word may be a secret, not a word of a language.
    ///
    /// In ordinary text, a word such as `token` is followed by another word. So without an
    /// operator, a secret must have a digit or a sign, as in `Murmel*tier!`. After an operator, it
    /// must have a character that is not a letter, as in `x9Qd81Lm`. Letters alone must include
    /// several capitals, as in `rBtlxyMEMUdsmIPT`.
    fn may_be_secret(&self) -> bool {
        let word = self.signed_word;
        // The escape `\u00e9` ends the word, but encodes a character of the value.
        if begins_with_numbered_escape(self.after_word()) {
            return true;
        }
        if word.len() < SHORTEST_VALUE {
            return false;
        }
        if !self.has_operator {
            return has_digit_or_sign(word) || is_of_random_letters(word);
        }

        // In code, `;`, `,` or a closing bracket may follow a word, as in `token: string;`, so
        // these do not count.
        let end = word.iter().rposition(|byte| !b";,)]}".contains(byte));
        let trimmed = &word[..end.map_or(0, |last| last + 1)];
        let has_only_letters = trimmed.iter().all(u8::is_ascii_alphabetic);
        !has_only_letters || is_of_random_letters(word)
    }
}

/// Whether a word of letters may be random: it has more capitals than the names of types and
/// functions.
fn is_of_random_letters(word: &[u8]) -> bool {
    let capitals = word.iter().filter(|byte| byte.is_ascii_uppercase()).count();
    word.len() >= SHORTEST_RANDOM_LETTERS && capitals > MOST_CAPITALS
}

/// The minimum length of a value that has only letters.
const SHORTEST_RANDOM_LETTERS: usize = 16;

/// The maximum number of capitals in the name of a type or function.
const MOST_CAPITALS: usize = 2;

/// The raw bytes between a name and a word after it: the `: "-` of `token: "-x9Qd"`.
struct Separator {
    /// The number of bytes.
    width: usize,
    /// Whether the bytes contain an operator, such as `:`.
    has_operator: bool,
    /// How many of the last bytes may be the beginning of the value instead, such as the `-` in the
    /// example: a password may begin with it.
    doubtful_len: usize,
}

impl Separator {
    /// Reads the quotes, brackets, white space and operators at the start of `rest`, the raw bytes
    /// after a name. Quotes and white space may be escaped, as in JSON. `None` if there are none,
    /// or if nothing follows.
    ///
    /// ```text
    /// rest          separator   operator   doubtful
    /// : "x9Qd"      : "         yes
    /// : "-x9Qd"     : "-        yes        -
    /// (x9Qd)        (           yes        (
    /// ```
    fn read(rest: &[u8]) -> Option<Separator> {
        let mut width = 0;
        let mut has_operator = false;
        let mut doubtful_len = 0;
        while let Some(byte) = rest.get(width) {
            match byte {
                // No value begins with one of these, so what is before them is not doubtful.
                b':' | b'=' => {
                    has_operator = true;
                    doubtful_len = 0;
                }
                b'"' | b'\'' | b'`' | b' ' | b'\t' | b'\r' | b'\n' => doubtful_len = 0,
                // An operator, or the beginning of a value.
                b'(' | b',' | b'>' => {
                    has_operator = true;
                    doubtful_len += 1;
                }
                // The end of an index or a call, or the beginning of a value.
                b')' | b']' | b'?' | b'+' | b'-' => doubtful_len += 1,
                b'\\' => {
                    doubtful_len = 0;
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
            doubtful_len,
        })
    }
}

/// Whether the bytes begin with an escape such as `\u00e9`, on any level of escapes.
fn begins_with_numbered_escape(bytes: &[u8]) -> bool {
    let backslashes = bytes.iter().take_while(|&&byte| byte == b'\\').count();
    backslashes > 0 && bytes.get(backslashes) == Some(&b'u')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_prose_has_no_likely_value() {
        let prose = [" of the agent", " x y", " Zq of 9"];
        // Not decided as prose, but without a likely value, too.
        let undecided = ["  two spaces"];
        let not_prose = [
            "=x9Qd81Lm",
            " x9Qd81Lm ",
            " value: x9Qd81Lm",
            " values of x9Qd81Lm",
            ": word ",
            " word",
            " word\\n",
            " ",
            "",
        ];
        let is_prose = |text: &str| is_plain_prose(text.as_bytes());
        assert!(prose.iter().all(|text| is_prose(text)));
        assert!(!undecided.iter().any(|text| is_prose(text)));
        assert!(!not_prose.iter().any(|text| is_prose(text)));
        for text in prose.iter().chain(&undecided) {
            assert!(!has_likely_value(text.as_bytes()), "{text}");
        }
    }
}
