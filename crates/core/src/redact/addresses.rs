//! Finds e-mail addresses. They are not secrets, so they are kept, but they are reported.

use std::collections::BTreeSet;

/// Adds the e-mail addresses in a text, or in lines of JSON, to `addresses`, in lower case.
///
/// Logins are left out: `git@host:path`, as in git addresses over ssh, and the `//user@host` and
/// `//user:password@host` of a URL.
pub fn collect_emails(bytes: &[u8], addresses: &mut BTreeSet<Vec<u8>>) {
    for at_sign in memchr::memchr_iter(b'@', bytes) {
        let start = find_local_part_start(&bytes[..at_sign]);
        let host_start = at_sign + 1;
        let end = host_start + host_len(&bytes[host_start..]);
        let has_local_part = start < at_sign;
        if !has_local_part || !is_domain(&bytes[host_start..end]) {
            continue;
        }

        let before_address = &bytes[..start];
        let after_address = &bytes[end..];
        let is_login_in_url = before_address.ends_with(b"/") || before_address.ends_with(b":");
        let is_login = is_login_in_url || after_address.starts_with(b":");
        if !is_login {
            addresses.insert(bytes[start..end].to_ascii_lowercase());
        }
    }
}

/// Returns the offset in `before_at` of the local part of an address, the `me` of `me@example.org`.
/// It ends with the text. If there is none, returns the length of the text.
fn find_local_part_start(before_at: &[u8]) -> usize {
    let start = match before_at
        .iter()
        .rposition(|&byte| !is_local_part_byte(byte))
    {
        Some(last_outside) => last_outside + 1,
        None => 0,
    };
    // The letter of an escape, as in `\nme@example.org`, is not part of the address.
    let follows_backslash = before_at[..start].ends_with(b"\\");
    if follows_backslash && start < before_at.len() {
        start + 1
    } else {
        start
    }
}

/// Returns the length of the host at the start of `after_at`, the text after an `@`. The dot at the
/// end of a sentence is not part of the host.
fn host_len(after_at: &[u8]) -> usize {
    let len = after_at
        .iter()
        .take_while(|&&byte| is_host_byte(byte))
        .count();
    if after_at[..len].ends_with(b".") {
        len - 1
    } else {
        len
    }
}

fn is_local_part_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._%+-".contains(&byte)
}

fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".-".contains(&byte)
}

/// Whether the text after an `@` is the host of an e-mail address, such as `example.org`. The
/// version in `package@2.0.1` and the scale in `icon@2x.png` are not hosts.
fn is_domain(host: &[u8]) -> bool {
    let labels: Vec<&[u8]> = host.split(|&byte| byte == b'.').collect();
    let has_empty_label = labels.iter().any(|label| label.is_empty());
    if labels.len() < 2 || has_empty_label {
        return false;
    }

    // The scale of an icon: `2x`.
    let first_label = labels[0];
    let is_icon_scale = first_label.len() < 3 && first_label[0].is_ascii_digit();
    // A top-level domain has only letters, and the last part of a version has a digit.
    let last_label = labels[labels.len() - 1];
    let is_top_domain = last_label.len() > 1 && last_label.iter().all(u8::is_ascii_alphabetic);
    is_top_domain && !is_icon_scale
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_those_of_people() {
        let text = br#"{"a":"Me@example.org, \nyou@a-b.example.com.","b":"<me@example.org>"}
            git@github.com:me/it https://me@example.org/x npm i it@1.2.3 icon@2x.png @scope/it a@b @.x me@..org
            \\@example.org \n@example.org"#;
        let mut found = BTreeSet::new();
        collect_emails(text, &mut found);
        let found: Vec<_> = found
            .iter()
            .map(|address| String::from_utf8_lossy(address))
            .collect();
        assert_eq!(found, ["me@example.org", "you@a-b.example.com"]);
    }
}
