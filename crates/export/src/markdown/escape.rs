//! Text in which no character has a special meaning in Markdown.

use crate::commonmark::address_in;

/// Returns text as inline code.
pub fn code(text: &str) -> String {
    let line = text.replace('\n', " ");
    let fence = "`".repeat(longest_run(&line) + 1);
    // A backtick at either end would lengthen the fence. A space on both sides prevents that;
    // Markdown removes both.
    let pad = if line.starts_with(['`', ' ']) || line.ends_with(['`', ' ']) {
        " "
    } else {
        ""
    };
    if line.trim().is_empty() {
        String::new()
    } else {
        format!("{fence}{pad}{line}{pad}{fence}")
    }
}

/// Returns the length of the longest run of backticks.
fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// What separates `@` from a name and `#` from a number, so that a forge notifies nobody and links
/// no issue.
pub const APART: &str = "&#8203;";

/// Appends the text as [`escaped`] does, with bare addresses as links: in them, a backslash would
/// be a part.
pub fn push_with_addresses(text: &str, starts_line: bool, out: &mut String) {
    let mut rest = text;
    let mut starts_line = starts_line;
    while let Some(range) = address_in(rest) {
        push_escaped(&rest[..range.start], starts_line, out);
        out.push('<');
        out.push_str(&rest[range.clone()]);
        out.push('>');
        rest = &rest[range.end..];
        starts_line = false;
    }
    push_escaped(rest, starts_line, out);
}

/// Returns the text with a backslash before every character that has a meaning in Markdown, or on a
/// forge.
pub fn escaped(text: &str, starts_line: bool) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    push_escaped(text, starts_line, &mut out);
    out
}

/// Whether a byte may need a backslash, or something else, wherever in a line it is.
static IS_SPECIAL: [bool; 256] = {
    let special = b"\\`*[]<~|$_&#!@\t";
    let mut table = [false; 256];
    let mut at = 0;
    while at < special.len() {
        table[special[at] as usize] = true;
        at += 1;
    }
    table
};

/// Appends the text as [`escaped`] does. What lies between two special bytes is copied at once.
pub fn push_escaped(text: &str, starts_line: bool, out: &mut String) {
    let block_mark = if starts_line { block_mark(text) } else { None };
    let start = out.len();
    let mut copied = 0;
    for (at, &byte) in text.as_bytes().iter().enumerate() {
        let is_block_mark = block_mark == Some(at);
        if !IS_SPECIAL[usize::from(byte)] && !is_block_mark {
            continue;
        }
        out.push_str(&text[copied..at]);
        copied = at + 1;

        let before = text[..at].chars().next_back().unwrap_or(' ');
        let after = text[at + 1..].chars().next().unwrap_or(' ');
        let acts = match byte {
            b'\\' | b'`' | b'*' | b'[' | b']' | b'<' | b'~' | b'|' | b'$' => true,
            b'_' => !(before.is_alphanumeric() && after.is_alphanumeric()),
            b'&' => after.is_ascii_alphanumeric() || after == '#',
            b'!' => after == '[',
            _ => is_block_mark,
        };
        if acts {
            out.push('\\');
        }
        out.push(if byte == b'\t' { ' ' } else { char::from(byte) });

        let notifies = byte == b'@' && !before.is_alphanumeric() && after.is_alphanumeric();
        // `#1`, and `owner/repository#1`.
        let is_issue = byte == b'#'
            && after.is_ascii_digit()
            && (!before.is_alphanumeric() || last_word(&out[start..]).contains('/'));
        if notifies || is_issue {
            out.push_str(APART);
        }
    }
    out.push_str(&text[copied..]);
}

/// Returns the offset of the character that makes the line begin a block: a heading, an item, a
/// quotation, a rule. There is at most one.
fn block_mark(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let digits = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if digits > 0 {
        let ends_number = bytes.get(digits).is_some_and(|byte| b".)".contains(byte));
        return ends_number.then_some(digits);
    }
    let first = line.len() - line.trim_start().len();
    let begins_block = bytes
        .get(first)
        .is_some_and(|byte| b"#+-=>:".contains(byte));
    begins_block.then_some(first)
}

fn last_word(text: &str) -> &str {
    text.rsplit(' ').next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_kept_as_they_are() {
        for (text, wanted) in [
            (
                "see https://h/p?a=1&b=2_x*~y.",
                "see <https://h/p?a=1&b=2_x*~y>.",
            ),
            (
                "(https://h/a(b)) http://[x",
                "(<https://h/a(b)>) <http://[x>",
            ),
            ("xhttps://h https:// *", "xhttps://h https:// \\*"),
            ("https://a|https://b<c", "<https://a>\\|<https://b>\\<c"),
        ] {
            let mut out = String::new();
            push_with_addresses(text, false, &mut out);
            assert_eq!(out, wanted);
        }
    }

    #[test]
    fn nobody_is_notified() {
        assert_eq!(
            escaped("@anna, x@y.z, see #151, a/b#2, x#3", true),
            "@&#8203;anna, x@y.z, see #&#8203;151, a/b#&#8203;2, x#3"
        );
        assert_eq!(escaped("#1 @ #x", true), "\\#&#8203;1 @ #x");
    }

    #[test]
    fn what_begins_a_block_acts_only_at_the_start_of_a_line() {
        for (text, wanted) in [
            ("# a # b", "\\# a # b"),
            ("  - a - b", "  \\- a - b"),
            ("12. a 1. b", "12\\. a 1. b"),
            ("1) a)", "1\\) a)"),
            (" 1. a", " 1. a"),
            (". a", ". a"),
            ("é- +", "é- +"),
            ("\u{a0}> a > b", "\u{a0}\\> a > b"),
            ("---", "\\---"),
        ] {
            assert_eq!(escaped(text, true), wanted);
        }
        assert_eq!(escaped("# 1. - a", false), "# 1. - a");
    }

    #[test]
    fn characters_of_several_bytes_stay_whole() {
        assert_eq!(
            escaped("é_é _é_ 日*本\té&a é& \u{1f600}", true),
            "é_é \\_é\\_ 日\\*本 é\\&a é& \u{1f600}"
        );
    }
}
