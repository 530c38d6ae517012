//! Finds e-mail addresses. They are not secrets, so they are kept, but they are reported.

use std::collections::BTreeSet;

/// Adds the e-mail addresses in a text, or in lines of JSON, to `addresses`, in lower case.
///
/// `user@host:path`, as in git addresses over ssh, and `//user@host` are logins, not e-mail
/// addresses.
pub fn collect_emails(bytes: &[u8], addresses: &mut BTreeSet<Vec<u8>>) {
    for at_sign in memchr::memchr_iter(b'@', bytes) {
        let before = &bytes[..at_sign];
        let after = &bytes[at_sign + 1..];
        let mut start = match before.iter().rposition(|&byte| !is_local_part_byte(byte)) {
            Some(last_outside) => last_outside + 1,
            None => 0,
        };
        // The second character of an escape, as in `\nme@example.org`, is not part of the address.
        if start > 0 && before[start - 1] == b'\\' {
            start += 1;
        }
        // Before the `@`, there is nothing, or only the second character of an escape.
        if start >= at_sign {
            continue;
        }

        let host_len = after.iter().take_while(|&&byte| is_host_byte(byte)).count();
        let mut host = after[..host_len].trim_ascii_end();
        // The dot at the end of a sentence is not part of the host.
        if let Some(without_dot) = host.strip_suffix(b".") {
            host = without_dot;
        }

        let previous = before[..start].last();
        let next = after.get(host.len());
        let is_login = next == Some(&b':') || matches!(previous, Some(b'/' | b':'));
        if !is_login && is_domain(host) {
            let address = [&before[start..], b"@", host].concat();
            addresses.insert(address.to_ascii_lowercase());
        }
    }
}

fn is_local_part_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"._%+-".contains(&byte)
}

fn is_host_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b".-".contains(&byte)
}

/// Whether the text after an `@` is the host of an e-mail address, such as `example.org`. In
/// `package@2.0.1` and `icon@2x.png`, it is not.
fn is_domain(host: &[u8]) -> bool {
    let labels: Vec<&[u8]> = host.split(|&byte| byte == b'.').collect();
    if labels.len() < 2 || labels.contains(&&b""[..]) {
        return false;
    }

    let first_label = labels[0];
    let is_picture_scale = first_label.len() < 3 && first_label[0].is_ascii_digit();
    // A top-level domain such as `org`, which the last number of a version is not.
    let top_label = labels[labels.len() - 1];
    let is_top_domain = top_label.len() > 1 && top_label.iter().all(u8::is_ascii_alphabetic);
    is_top_domain && !is_picture_scale
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
