//! Text in which no character has a special meaning in Markdown.

use crate::commonmark::find_address;

/// Returns text as inline code on one line, or an empty string if the text is blank. The delimiter
/// has more backticks than any run in the text, so the text cannot end the code.
pub fn inline_code(text: &str) -> String {
    let line = text.replace('\n', " ");
    if line.trim().is_empty() {
        return String::new();
    }
    let delimiter = "`".repeat(longest_backtick_run(&line) + 1);
    // A backtick at either end would lengthen the delimiter, and Markdown removes one space from
    // both ends. A further space on both sides is the one that is removed.
    let needs_padding = line.starts_with(['`', ' ']) || line.ends_with(['`', ' ']);
    let padding = if needs_padding { " " } else { "" };
    format!("{delimiter}{padding}{line}{padding}{delimiter}")
}

fn longest_backtick_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// What separates `@` from a name and `#` from a number, so that a forge notifies nobody and links
/// no issue.
pub const ZERO_WIDTH_SPACE: &str = "&#8203;";

/// Appends text of one line as [`push_escaped`] does, except that bare addresses become links in
/// angle brackets. An address is not escaped, because a backslash would become a part of it.
pub fn push_with_addresses(text: &str, starts_line: bool, out: &mut String) {
    let mut unwritten = text;
    let mut is_at_line_start = starts_line;
    while let Some(address) = find_address(unwritten) {
        push_escaped(&unwritten[..address.start], is_at_line_start, out);
        out.push('<');
        out.push_str(&unwritten[address.clone()]);
        out.push('>');
        unwritten = &unwritten[address.end..];
        is_at_line_start = false;
    }
    push_escaped(unwritten, is_at_line_start, out);
}

/// Returns the text escaped as by [`push_escaped`].
pub fn escape_markdown(text: &str, starts_line: bool) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    push_escaped(text, starts_line, &mut out);
    out
}

/// For each byte, whether [`push_escaped`] must look at it wherever in a line it is.
static IS_SPECIAL: [bool; 256] = {
    let special = b"\\`*[]<~|$_&#!@\t";
    let mut table = [false; 256];
    let mut index = 0;
    while index < special.len() {
        table[special[index] as usize] = true;
        index += 1;
    }
    table
};

/// Appends text of one line so that none of its characters has a meaning in Markdown, or on a
/// forge:
///
/// - a character with a meaning in Markdown gets a backslash, as does one that begins a block if
///   the text `starts_line`;
/// - a tab becomes a space;
/// - [`ZERO_WIDTH_SPACE`] follows `@` before a name, and `#` before the number of an issue.
///
/// The bytes between two special ones are copied at once.
pub fn push_escaped(text: &str, starts_line: bool, out: &mut String) {
    let block_mark = if starts_line {
        find_block_mark(text)
    } else {
        None
    };
    let out_start = out.len();
    let mut copied_end = 0;
    for (offset, &byte) in text.as_bytes().iter().enumerate() {
        let is_block_mark = block_mark == Some(offset);
        if !IS_SPECIAL[usize::from(byte)] && !is_block_mark {
            continue;
        }
        // Every special byte is a character of its own, as it is ASCII.
        out.push_str(&text[copied_end..offset]);
        copied_end = offset + 1;

        // The ends of the text are like spaces.
        let before = text[..offset].chars().next_back().unwrap_or(' ');
        let after = text[offset + 1..].chars().next().unwrap_or(' ');
        if is_block_mark || has_meaning(byte, before, after) {
            out.push('\\');
        }
        out.push(if byte == b'\t' { ' ' } else { char::from(byte) });

        let notifies = byte == b'@' && !before.is_alphanumeric() && after.is_alphanumeric();
        // `#1`, and `owner/repository#1`.
        let links_issue = byte == b'#'
            && after.is_ascii_digit()
            && (!before.is_alphanumeric() || last_word(&out[out_start..]).contains('/'));
        if notifies || links_issue {
            out.push_str(ZERO_WIDTH_SPACE);
        }
    }
    out.push_str(&text[copied_end..]);
}

/// Whether a byte has a meaning in Markdown between these characters, wherever in a line it is.
fn has_meaning(byte: u8, before: char, after: char) -> bool {
    match byte {
        b'\\' | b'`' | b'*' | b'[' | b']' | b'<' | b'~' | b'|' | b'$' => true,
        // Within a word, it is no emphasis.
        b'_' => !(before.is_alphanumeric() && after.is_alphanumeric()),
        // An entity, such as `&amp;` or `&#39;`.
        b'&' => after.is_ascii_alphanumeric() || after == '#',
        // An image.
        b'!' => after == '[',
        _ => false,
    }
}

/// Returns the offset of the character that makes the line begin a block: a heading, an item, a
/// quotation, a rule. It is the `.` or `)` after a number, or else the first character that is not
/// white space.
fn find_block_mark(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let digits = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if digits > 0 {
        return match bytes.get(digits) {
            Some(b'.' | b')') => Some(digits),
            _ => None,
        };
    }

    let indent = line.len() - line.trim_start().len();
    match bytes.get(indent) {
        Some(b'#' | b'+' | b'-' | b'=' | b'>' | b':') => Some(indent),
        _ => None,
    }
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
            escape_markdown("@anna, x@y.z, see #151, a/b#2, x#3", true),
            "@&#8203;anna, x@y.z, see #&#8203;151, a/b#&#8203;2, x#3"
        );
        assert_eq!(escape_markdown("#1 @ #x", true), "\\#&#8203;1 @ #x");
    }

    #[test]
    fn block_marks_are_escaped_only_at_the_start_of_a_line() {
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
            assert_eq!(escape_markdown(text, true), wanted);
        }
        assert_eq!(escape_markdown("# 1. - a", false), "# 1. - a");
    }

    #[test]
    fn characters_of_several_bytes_stay_whole() {
        assert_eq!(
            escape_markdown("é_é _é_ 日*本\té&a é& \u{1f600}", true),
            "é_é \\_é\\_ 日\\*本 é\\&a é& \u{1f600}"
        );
    }
}
