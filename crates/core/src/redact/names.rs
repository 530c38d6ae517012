//! Distinguishes names of secrets from names of settings, counts and documents, by their last
//! words.

use super::resemblance::{is_placeholder, is_reference};

/// The kind of value that a name suggests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NameClass {
    /// A password, which a person may have made up.
    Password,
    /// A generated key or token.
    Secret,
    /// A user name and a password, in base64.
    Login,
    /// A session of a browser, which is a secret only if it is long and random.
    Session,
}

/// Whether a byte may be part of a name.
pub fn is_name_character(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-' | b'.')
}

/// Words at the end of a name that are ignored, as in `SECRET_KEY_BASE`, the key of Rails.
const SUFFIXES: &str = "base prod production dev development staging test old new v1 v2 v3 b64 \
    base64 raw str string value plain plaintext default current main backup live local";

/// Words before `token` with which the name is that of a document, a position in a list, or a piece
/// of text, not of a secret.
const NO_SECRET_TOKENS: &str = "app base block bos calendar cancel cancellation change comment \
    completion continuation cursor delta doc docs document docx drive end eos file folder first \
    image input item last list max media min minute next node num obj object output pad page \
    pagination parent prev previous prompt record resume root row sheet skip slide space special \
    spreadsheet start stop sync table task thread total unk view whiteboard wiki xsec";

/// Words before `key` with which the name identifies something, and is not that of a secret.
const NO_SECRET_KEYS: &str = "any bucket cache column composite config data dict dictionary \
    document entry event file foreign global group hash host idempotency image index issue item \
    jira job json keyboard label last list lookup map material message meta next node object \
    option order parent partition press primary project pub public publishable query react record \
    redis reference registry row s3 schema session sheet shortcut site sort state storage table \
    tag target template the topic translation type unique";

/// Words before `key` with which the name is that of a secret, even in lower case.
const SECRET_KEYS: &str = "access account admin api app auth client crypto decryption deploy \
    encryption enc function hmac jwt license master preshared private secret service shared sign \
    signing storage subscription user webhook x";

/// Suffixes of words for passwords.
const PASSWORDS: [&str; 9] = [
    "password",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "sshpass",
    "pgpass",
    "storepass",
    "keypass",
];

/// Suffixes of words for secret keys. The word before does not matter.
const KEYS: [&str; 6] = [
    "apikey",
    "accesskey",
    "secretkey",
    "authkey",
    "privatekey",
    "masterkey",
];

/// Classifies the name of a variable, a field, an option or a header by the value that it suggests;
/// `None` if it is not the name of a secret.
///
/// Numbers and words such as `production` at the end are ignored. Then the last word decides; for
/// `token` and `key`, also the word before.
pub fn classify_name(name: &[u8]) -> Option<NameClass> {
    let words = split_words(name);
    let suffixes = words
        .iter()
        .rev()
        .take_while(|word| is_suffix(word))
        .count();
    let (last, before) = words[..words.len() - suffixes].split_last()?;
    let before_last = before.last().map_or("", String::as_str);
    let is_variable = !name.iter().any(u8::is_ascii_lowercase);

    if ends_with_any(last, &PASSWORDS) {
        return Some(NameClass::Password);
    }
    // `pass` and `pw` alone have too many other meanings.
    if (last == "pass" || last == "pw") && !before.is_empty() {
        return Some(NameClass::Password);
    }
    if ends_with_any(last, &["secret", "credential", "credentials"]) {
        return Some(NameClass::Secret);
    }
    if last.ends_with("token") && is_secret_token(before_last, is_variable) {
        return Some(NameClass::Secret);
    }
    if ends_with_any(last, &KEYS) {
        return Some(NameClass::Secret);
    }
    let is_header = name.contains(&b'-') && !before.is_empty();
    // The name of the private key in a configuration of kubectl.
    if name.ends_with(b"client-key-data") {
        return Some(NameClass::Secret);
    }
    if last == "key" && is_secret_key(before_last, is_variable || is_header) {
        return Some(NameClass::Secret);
    }
    // `REDISCLI_AUTH`, the variable of `redis-cli`, has a password.
    if last == "auth" && before_last == "rediscli" {
        return Some(NameClass::Password);
    }
    if last == "auth" {
        return Some(NameClass::Login);
    }
    if ends_with_any(last, &["session", "sessid", "sessionid"]) {
        return Some(NameClass::Session);
    }
    None
}

/// Whether `token` after this word is the name of a secret. `APP_TOKEN`, an environment variable,
/// is a secret; `app_token`, in a request, identifies a document.
fn is_secret_token(word_before: &str, is_variable: bool) -> bool {
    let is_secret_app = is_variable && word_before == "app";
    is_secret_app || !is_among(word_before, NO_SECRET_TOKENS)
}

/// Whether `key` after this word is the name of a secret. In variables in capitals and in headers
/// (`API_KEY`, `x-api-key`), it is unless the word is in [`NO_SECRET_KEYS`]. In other names
/// (`apiKey`, `api_key`), it is only if the word is in [`SECRET_KEYS`].
fn is_secret_key(word_before: &str, is_variable_or_header: bool) -> bool {
    if is_variable_or_header {
        // In variables and headers, the key of a storage is a secret, such as `AZURE_STORAGE_KEY`.
        word_before == "storage" || !is_among(word_before, NO_SECRET_KEYS)
    } else {
        is_among(word_before, SECRET_KEYS)
    }
}

/// Whether a word at the end of a name is ignored: it is a number, or one of [`SUFFIXES`].
fn is_suffix(word: &str) -> bool {
    word.bytes().all(|byte| byte.is_ascii_digit()) || is_among(word, SUFFIXES)
}

fn ends_with_any(word: &str, ends: &[&str]) -> bool {
    ends.iter().any(|end| word.ends_with(end))
}

/// Splits a name into words in lower case: `apiKey`, `API_KEY` and `api-key` are all `api` and
/// `key`. A word consists of letters and digits, and a capital may begin another word.
pub fn split_words(name: &[u8]) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    for (index, &byte) in name.iter().enumerate() {
        let is_separator = !byte.is_ascii_alphanumeric();
        let ends_word = is_separator || begins_word(name, index);
        if ends_word && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if !is_separator {
            word.push(char::from(byte.to_ascii_lowercase()));
        }
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

/// Whether the byte at `index` is a capital that begins a word: the `K` of `apiKey`, after a
/// lower-case letter, and of `APIKey`, before one.
fn begins_word(name: &[u8], index: usize) -> bool {
    if !name[index].is_ascii_uppercase() {
        return false;
    }
    // At both ends of the name, a missing neighbour is treated like `_`, which separates words.
    let previous = if index == 0 { b'_' } else { name[index - 1] };
    let next = *name.get(index + 1).unwrap_or(&b'_');
    let follows_small = previous.is_ascii_lowercase() || previous.is_ascii_digit();
    let is_last_capital = previous.is_ascii_uppercase() && next.is_ascii_lowercase();
    follows_small || is_last_capital
}

fn is_among(word: &str, words: &str) -> bool {
    words.split_ascii_whitespace().any(|known| known == word)
}

/// Whether a value may be a secret itself, not a reference to one, its hash, or its encrypted form.
pub fn may_be_secret(value: &[u8]) -> bool {
    const PREFIXES_OF_OTHERS: [&[u8]; 8] = [
        // References: to a resource of AWS, and to a secret in HashiCorp Vault and Google Cloud.
        b"arn:",
        b"vault:",
        b"projects/",
        // Values encrypted by SOPS, by Jasypt, and by the key service of AWS.
        b"ENC[",
        b"ENC(",
        b"AQICAH",
        // Hashes, as in lock files.
        b"sha256:",
        b"sha512-",
    ];
    let is_reference_or_hash = PREFIXES_OF_OTHERS
        .iter()
        .any(|prefix| value.starts_with(prefix));
    // Examples are `<token>` in a document, and `[A-Z0-9]+` in a regular expression.
    let is_tag = value.starts_with(b"<") && value.contains(&b'>');
    let is_pattern = value.starts_with(b"[") && value.contains(&b']');
    let is_address = memchr::memmem::find(value, b"://").is_some();
    !is_reference_or_hash
        && !is_tag
        && !is_pattern
        && !is_address
        && !is_placeholder(value)
        && !is_reference(value)
}

/// Whether a text uses a value as an id: as a part of the path of an address, as in
/// `https://example.org/doc/VALUE`. An address is a URL, or begins with `/open-apis/`, as the
/// requests of Feishu, in which a `token` is the id of a document.
pub fn is_id_in(text: &[u8], value: &[u8]) -> bool {
    for offset in memchr::memmem::find_iter(text, value) {
        let before = &text[..offset];
        if !before.ends_with(b"/") {
            continue;
        }
        // The address begins after white space, a quote or a bracket, or with the text.
        let separator = before
            .iter()
            .rposition(|byte| byte.is_ascii_whitespace() || b"\"'<(`".contains(byte));
        let address = match separator {
            Some(separator) => &before[separator + 1..],
            None => before,
        };
        let is_url = memchr::memmem::find(address, b"://").is_some();
        if is_url || address.starts_with(b"/open-apis/") {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_words_of_a_name_decide() {
        for name in [
            "API_KEY",
            "apiKey",
            "APIKey",
            "x-api-key",
            "X-Auth-Key",
            "secret_key",
            "OPENAI_KEY",
            "AWS_SECRET_ACCESS_KEY",
            "token",
            "GITHUB_TOKEN_2",
            "accessToken",
            "client_secret",
            "APP_TOKEN",
            "AZURE_STORAGE_KEY",
            "authtoken",
            "aws_session_token",
            "STRIPE_SECRET_PROD",
            "SECRET_KEY_BASE",
            "client-key-data",
            "PresharedKey",
            "secret_key_base",
        ] {
            assert_eq!(
                classify_name(name.as_bytes()),
                Some(NameClass::Secret),
                "{name}"
            );
        }
        for name in [
            "password",
            "MYSQL_ROOT_PASSWORD",
            "spring.datasource.password",
            "dbPass",
            "PGPASSWORD",
            "DB_PWD",
            "REDISCLI_AUTH",
        ] {
            assert_eq!(
                classify_name(name.as_bytes()),
                Some(NameClass::Password),
                "{name}"
            );
        }
        for name in [
            "doc_token",
            "app_token",
            "block_id",
            "xsec_token",
            "nextPageToken",
            "max_tokens",
            "TOKEN_LIMIT",
            "token_type",
            "CACHE_KEY",
            "primary_key",
            "sortKey",
            "key",
            "public_key",
            "secret_name",
            "password_file",
            "KEYWORDS",
            "OPENAI_API_BASE",
            "knowledge_base",
            "pass",
            "monkey",
            "author",
            "tokenizer",
        ] {
            assert_eq!(classify_name(name.as_bytes()), None, "{name}");
        }
    }
}
