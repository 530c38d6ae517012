//! Recognizes values without quotes that are code, paths, or logins in base64.

use super::resemblance::{alternates_classes, is_mixed};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;

/// Whether a value is code: a call such as `readToken(x)`, an index such as `keys[2]`, or a module
/// path such as `auth::Token1`. A value that begins with a bracket or an operator, or contains
/// `->`, is code, too.
pub fn is_code(value: &[u8]) -> bool {
    if value.first().is_some_and(|byte| b"([{<!|&".contains(byte)) {
        return true;
    }
    let has = |sign: &[u8]| memchr::memmem::find(value, sign).is_some();
    if has(b"::") || has(b"->") {
        return true;
    }
    // A call or an index: a name that ends with a letter or digit, and an opening bracket.
    let name_len = value
        .iter()
        .take_while(|byte| byte.is_ascii_alphanumeric() || b"_.:".contains(byte))
        .count();
    let (name, after_name) = value.split_at(name_len);
    let has_name = name.last().is_some_and(u8::is_ascii_alphanumeric);
    has_name && matches!(after_name, [b'(' | b'[' | b'<', ..])
}

/// Whether a value is a chain of identifiers, such as `config.auth.token2`.
pub fn is_member_chain(value: &[u8]) -> bool {
    value.contains(&b'.')
        && value.split(|&byte| byte == b'.').all(|part| {
            begins_with_name_character(part) && part.split(|&byte| byte == b'_').all(is_word)
        })
}

/// Whether a value is an identifier of several words, such as `__u32` and `user_12_order_7`, or a
/// hexadecimal number of at most 16 digits.
pub fn is_identifier(value: &[u8]) -> bool {
    let has_words = value.contains(&b'_') && begins_with_name_character(value);
    let is_number = value.starts_with(b"0x") && value.len() <= 18;
    is_number || has_words && value.split(|&byte| byte == b'_').all(is_word)
}

fn begins_with_name_character(text: &[u8]) -> bool {
    text.first()
        .is_some_and(|byte| byte.is_ascii_alphabetic() || *byte == b'_')
}

/// Whether a password without quotes only looks like an expression, because its characters are
/// random. Examples are `sbDR80(MmCUI5K`, a call without a closing bracket, and the chain
/// `boBz8A.ZOc5T`.
pub fn is_random_expression(value: &[u8]) -> bool {
    let is_whole_call = value.ends_with(b")") || value.ends_with(b"]") || value.ends_with(b">");
    let mut parts = value.split(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
    !is_whole_call && parts.any(is_random_part)
}

/// Whether a part of an expression is random: it has a digit before a letter, as in `Xk29v`.
/// Names have their digits at the end, as in `user2`, except those with one of a few words.
fn is_random_part(part: &[u8]) -> bool {
    /// Parts of names such as `sha256sum` and `b64decode`, which have a digit before a letter.
    const WORDS: [&[u8]; 9] = [
        b"2fa", b"64", b"e2e", b"md5", b"oauth", b"s3", b"sha", b"utf", b"x509",
    ];
    // So that `X_509` counts as `x509`.
    let mut letters_and_digits = part.to_ascii_lowercase();
    letters_and_digits.retain(|byte| *byte != b'_');
    let has_word = WORDS
        .iter()
        .any(|word| memchr::memmem::find(&letters_and_digits, word).is_some());
    let has_inner_digit = part
        .windows(2)
        .any(|pair| pair[0].is_ascii_digit() && pair[1].is_ascii_alphabetic());
    has_inner_digit && !has_word
}

/// Whether a part of an identifier is a word or a number, not random characters.
fn is_word(part: &[u8]) -> bool {
    part.iter().all(u8::is_ascii_alphanumeric) && (part.len() < 8 || !alternates_classes(part))
}

/// Whether a value is the path of a file: it begins like a path, and has several parts, as in
/// `/run/secrets`. After a drive such as `C:\`, one part is enough.
pub fn looks_like_path(value: &[u8]) -> bool {
    let begins_with_drive =
        matches!(value, [letter, b':', b'\\' | b'/', ..] if letter.is_ascii_alphabetic());
    if begins_with_drive {
        return true;
    }
    let begins_as_path = [&b"/"[..], b"./", b"../", b"~/"]
        .iter()
        .any(|start| value.starts_with(start));
    // Base64 may begin with the digit `/`, and another `/` may follow after a digit or two.
    let part_count = value
        .split(|&byte| byte == b'/')
        .filter(|part| part.len() > 1)
        .count();
    begins_as_path && part_count > 1
}

/// Whether a value is the absolute path of a file, such as `/home/bob/.ssh`, not random bytes in
/// base64, which may also begin with `/`. The first two parts of a path are words.
pub fn is_absolute_path(value: &[u8]) -> bool {
    let Some(from_root) = value.strip_prefix(b"/") else {
        return false;
    };
    let mut parts = from_root.split(|&byte| byte == b'/');
    let is_first_word = parts.next().is_some_and(is_file_name);
    let is_second_word = parts.next().is_some_and(is_file_name);
    is_first_word && is_second_word
}

/// Whether a part of a path is a word, not random digits of base64.
fn is_file_name(part: &[u8]) -> bool {
    let in_name = |byte: &u8| byte.is_ascii_alphanumeric() || b"._-".contains(byte);
    part.len() > 1 && part.iter().all(in_name) && !alternates_classes(part)
}

/// Whether a value is the base64 of `user:password`, as after `Authorization: Basic`, or of a
/// random secret. For a random secret, the value must have at least 20 characters.
pub fn is_encoded_login(value: &[u8]) -> bool {
    let mut digits = value.trim_ascii_end();
    while let Some(without_padding) = digits.strip_suffix(b"=") {
        digits = without_padding;
    }
    let Ok(decoded) = STANDARD_NO_PAD.decode(digits) else {
        return false;
    };
    if is_login(&decoded) {
        return true;
    }

    // Otherwise, the value may encode a random secret.
    value.len() >= 20 && alternates_classes(digits) && is_mixed(digits)
}

/// Whether decoded bytes are a text of the form `user:password`. A shorter password than three
/// characters occurs only by chance.
fn is_login(decoded: &[u8]) -> bool {
    let is_text = decoded.iter().all(|byte| (0x20..0x7f).contains(byte));
    match decoded.iter().position(|&byte| byte == b':') {
        Some(colon) => {
            let user = &decoded[..colon];
            let password = &decoded[colon + 1..];
            is_text && !user.is_empty() && password.len() >= 3
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_told_from_random_characters() {
        for code in [
            "readToken(x)",
            "keys[2]",
            "auth::Token1",
            "Vec<u8>",
            "(a,b)",
            "[u8;",
            "self.api.key(2)",
        ] {
            assert!(is_code(code.as_bytes()), "{code}");
        }
        for secret in ["Xk29vQ!mmLw3", "p@ss;w0rd", "9f8e7d6c5b4a3921"] {
            assert!(!is_code(secret.as_bytes()), "{secret}");
        }
        for password in ["sbDR80(MmCUI5K", "boBz8A.ZOc5T", "Xk29vQ<mmLw3"] {
            assert!(is_random_expression(password.as_bytes()), "{password}");
        }
        for code in [
            "config.auth.token2",
            "hash.sha256sum",
            "read(user2",
            "keys[x2y]",
        ] {
            assert!(!is_random_expression(code.as_bytes()), "{code}");
        }
        assert!(is_member_chain(b"config.auth.token2"));
        assert!(is_identifier(b"_bindgen_ty_30") && is_identifier(b"0x746f6b6e"));
        assert!(!is_identifier(b"9f8e7d6c5b4a3921") && !is_identifier(b"ab_Xk29vQmmLw3a"));
        assert!(!is_member_chain(b"eyJhbGciOi2.eyJzdWIiOi5x.Xk29vQmmLw3"));
        assert!(is_absolute_path(b"/home/bob/.ssh/id_uvjf4v"));
        assert!(!is_absolute_path(b"/Xk29vQ/a8Zk2p+s3Xk29vQmmLw3a8Zk2p=="));
        assert!(looks_like_path(b"/run/secrets/db2") && !looks_like_path(b"/Xk29vQ"));
        assert!(
            is_encoded_login(b"YWRtaW46czNjcjN0")
                && !is_encoded_login(b"basic")
                && !is_encoded_login(b"required")
        );
    }
}
