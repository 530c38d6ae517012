//! Decides whether a match of an expression is a secret or only resembles one.
//!
//! False positives cost trust, because people stop reading the reports. So code that only refers to
//! secrets (`token === expected`, `API_KEY=$KEY`, `sk-ant-...`) must not match.

use super::PLACEHOLDER_START;
use super::base64_digits::is_padded_base64_digit;
use uuid::Uuid;
use uuid::fmt::Hyphenated;

/// Whether a text is random like a key: it has digits and letters, or an order of letters that no
/// word or identifier has. The characters must vary, and must not be made up for an example.
pub fn is_random(secret: &[u8]) -> bool {
    let has_digit = secret.iter().any(u8::is_ascii_digit);
    let has_letter = secret.iter().any(u8::is_ascii_alphabetic);
    (has_digit && has_letter || is_scrambled(secret) || is_unpronounceable(secret))
        && is_mixed(secret)
        && !is_filler(secret)
}

/// Whether the text after the prefix of a key is random, not an identifier such as
/// `updateHandlerForDevice2` after `fw_`, which consists mostly of lower-case letters.
pub fn is_randomly_drawn(rest: &[u8]) -> bool {
    let digits = rest.iter().filter(|byte| byte.is_ascii_digit()).count();
    let small_letters = rest.iter().filter(|byte| byte.is_ascii_lowercase()).count();
    // Fewer than three quarters are lower-case letters.
    let is_drawn = digits > 3 || small_letters * 4 < rest.len() * 3;
    is_drawn && is_mixed(rest)
}

/// Whether a text consists of at least 16 letters and digits, with capitals where no identifier has
/// them, as in `IcXmIMMGKBqZyISosUxg`. There must be two runs of several capitals, as in
/// `getURLFromXML`, but also a single lower-case letter between capitals or at an end.
fn is_scrambled(secret: &[u8]) -> bool {
    if secret.len() < 16 || !secret.iter().all(u8::is_ascii_alphanumeric) {
        return false;
    }
    let mut capital_run_count = 0;
    let mut has_single_letter = false;
    // A run consists of capitals only, or of lower-case letters and digits only.
    for run in secret.chunk_by(|a, b| a.is_ascii_uppercase() == b.is_ascii_uppercase()) {
        if run.len() > 1 && run[0].is_ascii_uppercase() {
            capital_run_count += 1;
        }
        if matches!(run, [b'a'..=b'z']) {
            has_single_letter = true;
        }
    }
    capital_run_count > 1 && has_single_letter
}

/// Whether a text consists of at least 16 letters, with more consonants in a row than in any word.
/// This is six, or five in a text of fewer than 40 letters.
fn is_unpronounceable(secret: &[u8]) -> bool {
    let is_vowel = |byte: &u8| b"aeiouyAEIOUY".contains(byte);
    let longest = secret.split(is_vowel).map(<[u8]>::len).max();
    secret.len() >= 16
        && secret.iter().all(u8::is_ascii_alphabetic)
        && longest.is_some_and(|row| row >= 6 || row == 5 && secret.len() < 40)
}

/// Whether the characters of a text vary, unlike those of the examples `xxxxxxxx`, `abcdefgh` and
/// `000123456`.
///
/// The number of different characters must be at least a quarter of the length; 6 for a short text,
/// and 12 are enough for a long one. There must be no eight characters in a row that are equal or
/// count up.
pub fn is_mixed(secret: &[u8]) -> bool {
    const SHORTEST_ROW_OF_EXAMPLE: usize = 8;

    let mut occurs = [false; 256];
    for &byte in secret {
        occurs[usize::from(byte)] = true;
    }
    let distinct_count = occurs.iter().filter(|&&occurs| occurs).count();
    // A hexadecimal key has no more than 16 different characters, so 12 must be enough.
    let least_distinct = (secret.len() / 4).clamp(6, 12);
    if distinct_count < least_distinct {
        return false;
    }

    // One row may both repeat a character and count up, as in `000123456`.
    let rows = secret.chunk_by(|a, b| b == a || b.wrapping_sub(*a) == 1);
    let longest_row = rows.map(<[u8]>::len).max().unwrap_or(0);
    longest_row < SHORTEST_ROW_OF_EXAMPLE && !is_placeholder(secret)
}

/// Whether a text has a digit and at least eight different characters. For shapes with the check
/// `varied`.
pub fn is_varied(rest: &[u8]) -> bool {
    let mut kinds = rest.to_vec();
    kinds.sort_unstable();
    kinds.dedup();
    kinds.len() >= 8 && rest.iter().any(u8::is_ascii_digit) && !is_placeholder(rest)
}

/// Whether the text between a colon and `@` in a URL is a password, as in `//user:password@host`.
/// In `http://localhost:80,me@example.org`, it is a port and the start of an e-mail address
/// instead.
pub fn is_url_password(secret: &[u8]) -> bool {
    let digit_count = secret
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    let is_number_cut_off = match secret.get(digit_count) {
        Some(byte) => b"`<>,;|&(){}?#".contains(byte),
        // A password may consist of digits only.
        None => false,
    };
    // A port has up to five digits.
    let begins_with_port = (1..=5).contains(&digit_count) && is_number_cut_off;
    !begins_with_port && is_password(secret)
}

/// Whether a text is a password: not a placeholder or a reference, and not only punctuation.
pub fn is_password(secret: &[u8]) -> bool {
    !is_placeholder(secret)
        && !is_reference(secret)
        && secret.iter().any(|byte| byte.is_ascii_alphanumeric())
}

/// Whether the value of a name such as `API_KEY` is a secret, not a variable, a placeholder, a
/// time, or an ordinary word or identifier.
///
/// A UUID, random bytes in base64 and letters in a random order are secrets. Any other value must
/// vary, and have at least two letters and two digits, as in `prod-foobar-secret-42`. It must not
/// be a path, a list of names or an address.
pub fn is_assigned_secret(secret: &[u8]) -> bool {
    let is_example = is_placeholder(secret) || is_filler(secret);
    if is_example || is_reference(secret) || begins_with_time(secret) {
        return false;
    }

    let has_random_order = is_scrambled(secret) && is_mixed(secret);
    if is_uuid(secret) || is_random_base64(secret) || has_random_order {
        return true;
    }

    let is_path = secret.starts_with(b"/");
    has_letters_and_digits(secret) && !is_path && !is_list_or_address(secret) && is_mixed(secret)
}

/// Whether a text has at least two letters and two digits. An ordinary identifier often has one
/// digit, as `utf8` does, and a number one letter, as `30s` does.
fn has_letters_and_digits(text: &[u8]) -> bool {
    let digits = text.iter().filter(|byte| byte.is_ascii_digit()).count();
    let letters = text
        .iter()
        .filter(|byte| byte.is_ascii_alphabetic())
        .count();
    digits >= 2 && letters >= 2
}

/// Whether a text is a list of names or an address, such as `api.eu-west-12.example.com`: it has
/// more than three words, and no signs at random places.
fn is_list_or_address(text: &[u8]) -> bool {
    // Parts of one or two characters, such as `v1`, are in secrets as well. They do not count.
    let words = text
        .split(|byte| !byte.is_ascii_alphanumeric())
        .filter(|word| word.len() > 2)
        .count();
    words > 3 && !has_random_signs(text)
}

/// Whether a text looks like the output of a password manager, such as `tXX6*KBAUJwpps`. It must
/// have at least 12 characters, among them a capital, a lower-case letter, a digit and a sign, and
/// the class must change at a third of the characters.
pub fn is_generated_password(secret: &[u8]) -> bool {
    // Without `-`, `_`, `.` and others that are usual in names.
    const SIGNS: &[u8] = b"!#$%&*+=?@^~";
    const SHORTEST_GENERATED: usize = 12;

    let has_all_classes = secret.iter().any(u8::is_ascii_uppercase)
        && secret.iter().any(u8::is_ascii_lowercase)
        && secret.iter().any(u8::is_ascii_digit)
        && secret.iter().any(|byte| SIGNS.contains(byte));
    let is_allowed = |byte: &u8| byte.is_ascii_alphanumeric() || SIGNS.contains(byte);
    secret.len() >= SHORTEST_GENERATED
        && has_all_classes
        && secret.iter().all(is_allowed)
        && changes_class_at_a_third(secret)
        && is_password(secret)
}

/// Whether a text of at least 20 characters has signs at random places, as in the keys that Django
/// generates: `df03==unk6q5db_tt^o7rlben`. The class of characters must change more often than in a
/// list. Other signs, as in a pattern or an address, rule this out.
fn has_random_signs(secret: &[u8]) -> bool {
    const SIGNS: &[u8] = b"!@#$%^&*()=+";
    const SHORTEST_KEY: usize = 20;
    let is_key_character =
        |byte: &u8| byte.is_ascii_alphanumeric() || SIGNS.contains(byte) || is_separator(byte);
    secret.len() >= SHORTEST_KEY
        && secret.iter().all(is_key_character)
        && secret.iter().any(|byte| SIGNS.contains(byte))
        && changes_class_at_a_third(secret)
}

/// Whether the value of a name such as `PASSWORD` is a password, not a variable, a placeholder, or
/// a word of letters only.
pub fn is_passphrase(secret: &[u8]) -> bool {
    let is_word = |byte: &u8| byte.is_ascii_alphabetic();
    is_password(secret) && secret.iter().any(is_word) && !secret.iter().all(is_word)
}

fn is_uuid(secret: &[u8]) -> bool {
    secret.len() == Hyphenated::LENGTH && Uuid::try_parse_ascii(secret).is_ok() && is_mixed(secret)
}

/// Whether a text begins with a time as in JSON: a date, the hour and a colon, as in
/// `2026-01-31T12:`, and something after these.
fn begins_with_time(secret: &[u8]) -> bool {
    // `0` stands for any digit.
    let form = b"0000-00-00T00:";
    let matches_form = form
        .iter()
        .zip(secret)
        .all(|(&expected, byte)| match expected {
            b'0' => byte.is_ascii_digit(),
            _ => *byte == expected,
        });
    secret.len() > form.len() && matches_form
}

/// Whether a text is random bytes in base64, with any number of `/` and `+`, or random characters
/// that need no encoding in a URL. It must have at least 16 characters.
///
/// `-`, `_`, `.` and `~` may be digits, or separate the words of a name. So at least one part
/// between them must be longer than most words, and they do not count as changes of class.
fn is_random_base64(secret: &[u8]) -> bool {
    const SHORTEST: usize = 16;
    const SHORTEST_LONG_PART: usize = 10;

    let has_digit_or_sign = secret
        .iter()
        .any(|byte| byte.is_ascii_digit() || matches!(byte, b'+' | b'/' | b'='));
    let has_long_part = secret
        .split(is_separator)
        .any(|part| part.len() >= SHORTEST_LONG_PART);
    if secret.len() < SHORTEST || !has_digit_or_sign || !has_long_part {
        return false;
    }

    let mut without_separators = secret.to_vec();
    without_separators.retain(|byte| !is_separator(byte));
    without_separators.iter().all(is_padded_base64_digit)
        && alternates_classes(&without_separators)
        && is_mixed(secret)
}

/// Whether a character separates words. These characters need no encoding in a URL.
fn is_separator(byte: &u8) -> bool {
    matches!(byte, b'-' | b'_' | b'.' | b'~')
}

/// Whether the class of characters changes at a third of the characters, which is more often than
/// in a list. [`alternates_classes`] requires more changes.
fn changes_class_at_a_third(secret: &[u8]) -> bool {
    count_turns(secret) * 3 >= secret.len()
}

/// Whether the class of characters (capitals, lower-case letters, digits, others) changes at two
/// fifths of the characters, which is more often than in a path or an identifier.
pub fn alternates_classes(secret: &[u8]) -> bool {
    count_turns(secret) * 5 >= secret.len() * 2
}

/// Returns the number of characters that have another class than the character before: 3 in `aB7c`.
fn count_turns(secret: &[u8]) -> usize {
    secret
        .windows(2)
        .filter(|pair| character_class(pair[0]) != character_class(pair[1]))
        .count()
}

/// Whether the class of characters changes as in [`alternates_classes`], and some characters are
/// capitals. The second condition excludes UUIDs: Codex names its files by the time and a UUID,
/// such as `…T14-00-33-01a208b5-3bf9-7104-85ac-f98ac81eb0f0`.
pub fn alternates_with_capitals(secret: &[u8]) -> bool {
    secret.iter().any(u8::is_ascii_uppercase) && alternates_classes(secret)
}

/// The classes of characters between which a random text changes often.
#[derive(PartialEq, Eq)]
enum CharacterClass {
    SmallLetter,
    Capital,
    Digit,
    Other,
}

fn character_class(byte: u8) -> CharacterClass {
    match byte {
        b'a'..=b'z' => CharacterClass::SmallLetter,
        b'A'..=b'Z' => CharacterClass::Capital,
        b'0'..=b'9' => CharacterClass::Digit,
        _ => CharacterClass::Other,
    }
}

/// Whether the value of a variable in a dotenv file is a common setting, or refers to another
/// value. Such values are not removed: removing `production` from a conversation would hide nothing
/// and damage much.
pub fn is_common_setting(value: &[u8]) -> bool {
    const SETTINGS: &str =
        "production development staging default enabled disabled localhost 127.0.0.1 0.0.0.0";
    SETTINGS
        .split(' ')
        .any(|setting| value.eq_ignore_ascii_case(setting.as_bytes()))
        || is_reference(value)
}

/// Whether a text refers to a value that is stored elsewhere, such as `$NAME`, `process.env.NAME`
/// and `./token.txt`, or is a pattern such as `.*`.
pub fn is_reference(secret: &[u8]) -> bool {
    const STARTS: [&str; 13] = [
        "$", "{", "#{", "process.", "os.", "env.", "import.", "self.", "this.", "./", "../", "~/",
        ".*",
    ];
    if memchr::memmem::find(secret, b"${").is_some() {
        return true;
    }
    if secret.starts_with(b"%") {
        // `%s`, `%NAME%` and `%(name)s`, but not a password that begins with `%`.
        let is_short_format = secret.len() <= 3;
        let ends_with_sign = secret.ends_with(b"%");
        let has_name_in_brackets = matches!(secret, [_, b'(' | b'{' | b'[' | b'%', ..]);
        return is_short_format || ends_with_sign || has_name_in_brackets;
    }
    STARTS
        .iter()
        .any(|start| secret.starts_with(start.as_bytes()))
}

/// Words that people write in place of a secret.
const PLACEHOLDERS: [&str; 25] = [
    "api",
    "apikey",
    "change",
    "changeme",
    "dummy",
    "example",
    "here",
    "insert",
    "key",
    "my",
    "none",
    "null",
    "pass",
    "passwd",
    "password",
    "placeholder",
    "redacted",
    "sample",
    "secret",
    "the",
    "todo",
    "token",
    "undefined",
    "user",
    "your",
];

/// Whether a text is made up for an example or a test, such as `test-key-12345`: each of its words
/// and numbers is filler, as [`is_filler_part`] decides. Other characters are ignored.
fn is_filler(secret: &[u8]) -> bool {
    // The parts are words of letters, numbers, and single other characters.
    let mut parts = secret.chunk_by(|a, b| {
        a.is_ascii_digit() == b.is_ascii_digit()
            && a.is_ascii_alphanumeric()
            && b.is_ascii_alphanumeric()
    });
    parts.all(|part| !part[0].is_ascii_alphanumeric() || is_filler_part(part))
}

/// Whether a word is in [`PLACEHOLDERS`] or in a list of others, or whether a number counts up from
/// 1, as `12345`.
fn is_filler_part(part: &[u8]) -> bool {
    const WORDS: [&str; 11] = [
        "abc",
        "auth",
        "authentication",
        "def",
        "demo",
        "fake",
        "for",
        "mock",
        "sk",
        "test",
        "tests",
    ];

    let counts_up = b"1234567890".starts_with(part);
    let is_known = WORDS
        .iter()
        .any(|word| part.eq_ignore_ascii_case(word.as_bytes()));
    counts_up || is_known || is_placeholder_word(part)
}

/// Whether a text stands for a secret: filler such as `xxx`, only words as in `your-api-key`, a
/// placeholder of pisess, or a text with three dots. An empty text counts, too.
pub fn is_placeholder(secret: &[u8]) -> bool {
    // Such as `sk-...`, or a secret that another program has shortened.
    let has_dots = memchr::memmem::find(secret, b"...").is_some();
    if has_dots || secret.starts_with(PLACEHOLDER_START.as_bytes()) {
        return true;
    }

    let first = secret.first().copied().unwrap_or(0);
    let is_one_character = secret.iter().all(|&byte| byte == first);
    let is_row_of_filler = secret
        .iter()
        .all(|byte| matches!(byte, b'x' | b'X' | b'*' | b'-' | b'.'));
    if is_one_character || is_row_of_filler {
        return true;
    }

    // For an empty text, which has no words, `all` is true.
    let mut words = secret
        .split(|byte| !byte.is_ascii_alphanumeric())
        .filter(|word| !word.is_empty());
    words.all(is_placeholder_word)
}

/// Whether a word is one of [`PLACEHOLDERS`], in any case.
fn is_placeholder_word(word: &[u8]) -> bool {
    PLACEHOLDERS
        .iter()
        .any(|known| word.eq_ignore_ascii_case(known.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_uuid_has_no_capitals() {
        let file_name = b"00-33-01a208b5-3bf9-7104-85ac-f98ac81eb0f0";
        assert!(alternates_classes(file_name));
        assert!(!alternates_with_capitals(file_name));
        assert!(alternates_with_capitals(
            b"00OOigW1AIDpUSYd1FzPNcWilyJfmdnkH4ZWCQneVY"
        ));
    }

    #[test]
    fn words_for_secrets_are_none() {
        for text in [
            "password",
            "your-api-key-here",
            "$API_KEY",
            "${token}",
            "xxxxxxxxxxxx",
            "***",
            "process.env.KEY",
            "sk-ant-...",
            "[REDACTED:env#1]",
            "%DB_PASS%",
            "%(token)s",
            "%s",
        ] {
            assert!(!is_password(text.as_bytes()), "{text}");
            assert!(!is_assigned_secret(text.as_bytes()), "{text}");
        }
        for text in [
            "userToken",
            "expectedValue",
            "max_tokens_per_request_2024_v1_a",
            "1234567890",
            "getURLFromXMLDocument",
            "GetUserByIdOrByKey",
            ".*/PASSWORD=xxx/",
        ] {
            assert!(!is_assigned_secret(text.as_bytes()), "{text}");
        }
        for text in [
            "name=value1&size=large2&colour=yellow",
            "(first1)+(second2)+(third)+(fourth)",
        ] {
            assert!(!is_assigned_secret(text.as_bytes()), "{text}");
        }
        assert!(is_assigned_secret(
            b"df03==unk6q5db_tt^o7rlben1248e+sax=c9toqws5%0ru9jp"
        ));
        assert!(is_generated_password(b"tXX6*KBAUJwpps"));
        assert!(
            !is_generated_password(b"getUser_byId2") && !is_generated_password(b"$API_KEY2a+x")
        );
        assert!(is_assigned_secret(b"rBtlxy9MEMUdsmIPTmhHtsss"));
        assert!(is_assigned_secret(b"IcXmIMMGKBqZyISosUxgToqhEAzNxIwK"));
        assert!(is_password(b"prod-foobar-secret"));
        assert!(is_password(b"hunter2"));
        assert!(is_password(b"%4uZnwl8vFq") && is_password(b"%41Znwl8vFq"));
        assert!(is_assigned_secret(b"prod-foobar-secret-42"));
        assert!(is_assigned_secret(b"9f8e7d6c5b4a3921"));
    }
}
