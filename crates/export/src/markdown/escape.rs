//! Text in which no character has a special meaning in Markdown.

use crate::commonmark::find_address;
use crate::source::Display;

/// Returns text as inline code on one line, or an empty string if the text is blank. The delimiter
/// has more backticks than any run in the text, so the text cannot end the code.
pub fn inline_code(text: &str) -> String {
    let line = text.replace('\n', " ");
    if line.trim().is_empty() {
        return String::new();
    }
    let delimiter = "`".repeat(longest_backtick_run(&line) + 1);
    // A backtick at either end would lengthen the delimiter. Markdown removes one space from both
    // ends, so a space is added on both sides, which is the one removed.
    let needs_padding = line.starts_with(['`', ' ']) || line.ends_with(['`', ' ']);
    let padding = if needs_padding { " " } else { "" };
    format!("{delimiter}{padding}{line}{padding}{delimiter}")
}

fn longest_backtick_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// An entity that is inserted after the `@` of a name and the `#` of a number, so that a forge
/// notifies nobody and links no issue.
pub const ZERO_WIDTH_SPACE: &str = "&#8203;";

/// An entity that replaces a space which Markdown would not display: at the start of a line, or
/// beside another space.
pub const NO_BREAK_SPACE: &str = "&nbsp;";

/// Where a text is written, on which its escapes depend.
#[derive(Clone, Copy, Debug)]
pub struct EscapeContext {
    /// Whether the text begins a line. There, further characters have a meaning, such as `#`.
    pub starts_line: bool,
    /// Where the document is displayed.
    pub display: Display,
}

impl EscapeContext {
    /// Returns the context of a text that follows other text on its line.
    fn within_line(self) -> EscapeContext {
        EscapeContext {
            starts_line: false,
            ..self
        }
    }
}

/// Appends text of one line, escaped as by [`push_escaped`]. Each web address in it becomes a link
/// in angle brackets, and is not escaped: a backslash would become a part of the address.
pub fn push_with_addresses(text: &str, context: EscapeContext, out: &mut String) {
    let mut unwritten = text;
    let mut context = context;
    while let Some(address) = find_address(unwritten) {
        push_escaped(&unwritten[..address.start], context, out);
        out.push('<');
        out.push_str(&unwritten[address.clone()]);
        out.push('>');
        unwritten = &unwritten[address.end..];
        context = context.within_line();
    }
    push_escaped(unwritten, context, out);
}

/// Returns the text escaped as by [`push_escaped`].
pub fn escape_markdown(text: &str, context: EscapeContext) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    push_escaped(text, context, &mut out);
    out
}

/// For each byte, whether [`push_escaped`] must examine it anywhere in a line: the characters that
/// may have a meaning in Markdown, `#` and `@`, which may have one on a forge, and the tab, which
/// is replaced. All other bytes are copied.
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

/// Appends text of one line so that none of its characters has a meaning in Markdown or on a forge:
///
/// - a backslash precedes each character with a meaning in Markdown, and at the start of a line,
///   the character that would begin a block;
/// - a tab becomes a space;
/// - on a forge, [`ZERO_WIDTH_SPACE`] follows the `@` of a name and the `#` of an issue's number,
///   unless they are part of a path.
pub fn push_escaped(text: &str, context: EscapeContext, out: &mut String) {
    let block_mark = if context.starts_line {
        find_block_mark(text)
    } else {
        None
    };
    // The text between two special bytes is copied at once.
    let mut copied_end = 0;
    for (offset, &byte) in text.as_bytes().iter().enumerate() {
        let is_block_mark = block_mark == Some(offset);
        if !IS_SPECIAL[usize::from(byte)] && !is_block_mark {
            continue;
        }
        // A special byte and a block mark are ASCII, so they are whole characters.
        out.push_str(&text[copied_end..offset]);
        copied_end = offset + 1;

        if is_block_mark || has_meaning(text, offset) {
            out.push('\\');
        }
        let shown = if byte == b'\t' { ' ' } else { char::from(byte) };
        out.push(shown);
        if context.display == Display::Forge && acts_on_forge(text, offset) {
            out.push_str(ZERO_WIDTH_SPACE);
        }
    }
    out.push_str(&text[copied_end..]);
}

/// Whether the byte at an offset has a meaning in Markdown anywhere in a line. This may depend on
/// the characters around it; the ends of the text are like spaces.
fn has_meaning(text: &str, offset: usize) -> bool {
    let before = text[..offset].chars().next_back().unwrap_or(' ');
    let after = text[offset + 1..].chars().next().unwrap_or(' ');
    match text.as_bytes()[offset] {
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

/// Whether a forge would notify somebody, or link an issue, because of the byte at an offset.
fn acts_on_forge(text: &str, offset: usize) -> bool {
    match text.as_bytes()[offset] {
        b'@' => notifies(text, offset),
        b'#' => links_issue(text, offset),
        _ => false,
    }
}

/// Returns the offset of the character that makes the line begin a block: the `.` or `)` after a
/// number, which begins an item, or a mark after the indentation. `None` if the line begins no
/// block.
///
/// Marks that are escaped anywhere in a line, such as `*` and `|`, are not searched for.
///
/// ```text
/// # title      0
/// 12. item     2
///   - item     2
/// a - b        none
/// ```
fn find_block_mark(line: &str) -> Option<usize> {
    let bytes = line.as_bytes();
    let digit_count = bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count();
    if digit_count > 0 {
        return match bytes.get(digit_count) {
            Some(b'.' | b')') => Some(digit_count),
            _ => None,
        };
    }

    let indent = line.len() - line.trim_start().len();
    match bytes.get(indent) {
        // A heading, an item or a quotation. `---` and `===` below a line make it a heading, and
        // `:--` begins the row of rules of a table.
        Some(b'#' | b'+' | b'-' | b'>' | b'=' | b':') => Some(indent),
        _ => None,
    }
}

/// Whether a forge would notify the person or team whose name follows the `@` at offset `at`. A
/// path, such as `node_modules/@types`, `@src/main.rs` or `@README.md`, notifies nobody.
fn notifies(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back().unwrap_or(' ');
    let name = first_word(&text[at + 1..]);
    let begins_name = name.starts_with(char::is_alphanumeric);
    begins_name && !before.is_alphanumeric() && !is_separator(before) && !is_path(name)
}

/// Whether the number after the `#` at offset `at` is the number of an issue: `#1`, or
/// `owner/repository#1`. In a longer path, such as `docs/guide/page.html#1`, it is not.
fn links_issue(text: &str, at: usize) -> bool {
    let word_before = last_word(&text[..at]);
    let begins_number = text[at + 1..].starts_with(|c: char| c.is_ascii_digit());
    if !begins_number || word_before.ends_with(is_separator) {
        return false;
    }
    let follows_word = word_before.ends_with(char::is_alphanumeric);
    !follows_word || word_before.matches(is_separator).count() == 1
}

/// Whether the word after an `@` is a path: it has an extension or several directories, or ends in
/// a separator. `org/team` is a team.
fn is_path(word: &str) -> bool {
    if word.matches(is_separator).count() > 1 || word.ends_with(is_separator) {
        return true;
    }
    match word.rsplit_once('.') {
        Some((_, extension)) => extension.starts_with(|c: char| c.is_ascii_alphanumeric()),
        None => false,
    }
}

fn is_separator(c: char) -> bool {
    matches!(c, '/' | '\\')
}

/// The maximum number of bytes of a word that are examined. Without a limit, a long line without
/// spaces would be read again for each `@` and `#` in it.
const LONGEST_WORD: usize = 256;

/// Returns the word with which a text begins, up to [`LONGEST_WORD`] bytes; empty if it begins with
/// a space or a bracket.
fn first_word(text: &str) -> &str {
    let mut end = LONGEST_WORD.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let text = &text[..end];
    text.split(ends_word).next().unwrap_or_default()
}

/// Returns the word with which a text ends, at most its last [`LONGEST_WORD`] bytes.
fn last_word(text: &str) -> &str {
    let mut start = text.len().saturating_sub(LONGEST_WORD);
    while !text.is_char_boundary(start) {
        start += 1;
    }
    let text = &text[start..];
    text.rsplit(ends_word).next().unwrap_or_default()
}

fn ends_word(c: char) -> bool {
    c.is_whitespace()
        || matches!(
            c,
            ',' | ';' | ':' | '(' | ')' | '[' | ']' | '"' | '\'' | '<' | '>'
        )
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE_START: EscapeContext = EscapeContext {
        starts_line: true,
        display: Display::Forge,
    };
    const WITHIN_LINE: EscapeContext = EscapeContext {
        starts_line: false,
        display: Display::Forge,
    };
    const IN_TERMINAL: EscapeContext = EscapeContext {
        starts_line: false,
        display: Display::Terminal,
    };

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
            push_with_addresses(text, WITHIN_LINE, &mut out);
            assert_eq!(out, wanted);
        }
    }

    #[test]
    fn nobody_is_notified() {
        assert_eq!(
            escape_markdown("@anna, x@y.z, see #151, a/b#2, x#3", LINE_START),
            "@&#8203;anna, x@y.z, see #&#8203;151, a/b#&#8203;2, x#3"
        );
        assert_eq!(escape_markdown("#1 @ #x", LINE_START), "\\#&#8203;1 @ #x");
    }

    #[test]
    fn paths_and_terminals_have_no_invisible_spaces() {
        for path in [
            "node_modules/@types/node/index.d.ts",
            "@src/main.rs and @README.md, @a/b/c",
            "docs/guide/page.html#1",
            "/tmp/#1#",
            "x@y.z",
        ] {
            let escaped = escape_markdown(path, WITHIN_LINE);
            assert!(!escaped.contains(ZERO_WIDTH_SPACE), "{escaped}");
        }
        for name in ["@anna.", "@org/team", "(@anna)", "a/b#2", "see #151."] {
            let escaped = escape_markdown(name, WITHIN_LINE);
            assert!(escaped.contains(ZERO_WIDTH_SPACE), "{escaped}");
            assert_eq!(escape_markdown(name, IN_TERMINAL), name);
        }
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
            assert_eq!(escape_markdown(text, LINE_START), wanted);
        }
        assert_eq!(escape_markdown("# 1. - a", WITHIN_LINE), "# 1. - a");
    }

    #[test]
    fn characters_of_several_bytes_stay_whole() {
        assert_eq!(
            escape_markdown("é_é _é_ 日*本\té&a é& \u{1f600}", LINE_START),
            "é_é \\_é\\_ 日\\*本 é\\&a é& \u{1f600}"
        );
    }
}
