//! Text in which no character has a special meaning in Markdown.

use crate::export::commonmark::address_in;

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

/// Returns the text as [`escaped`] does, with bare addresses as links: in them, a backslash would
/// be a part.
pub fn with_addresses(text: &str, starts_line: bool) -> String {
    let (mut out, mut rest, mut starts_line) =
        (String::with_capacity(text.len() + 8), text, starts_line);
    while let Some(range) = address_in(rest) {
        out += &escaped(&rest[..range.start], starts_line);
        out.extend(["<", &rest[range.clone()], ">"]);
        (rest, starts_line) = (&rest[range.end..], false);
    }
    out + &escaped(rest, starts_line)
}

/// Returns the text with a backslash before every character that has a meaning in Markdown, or on a
/// forge.
pub fn escaped(text: &str, starts_line: bool) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    let mut before = if starts_line { '\n' } else { ' ' };
    let mut rest = text.chars().peekable();
    let mut only_digits = starts_line;
    while let Some(c) = rest.next() {
        let after = rest.peek().copied().unwrap_or(' ');
        let at_start = out.trim().is_empty() && starts_line;
        let acts = match c {
            '\\' | '`' | '*' | '[' | ']' | '<' | '~' | '|' | '$' => true,
            '_' => !(before.is_alphanumeric() && after.is_alphanumeric()),
            '&' => after.is_ascii_alphanumeric() || after == '#',
            '#' | '+' | '-' | '=' | '>' | ':' => at_start,
            '.' | ')' => only_digits && !out.is_empty(),
            '!' => after == '[',
            _ => false,
        };
        only_digits &= c.is_ascii_digit();
        if acts {
            out.push('\\');
        }
        out.push(if c == '\t' { ' ' } else { c });
        let notifies = c == '@' && !before.is_alphanumeric() && after.is_alphanumeric();
        // `#1`, and `owner/repository#1`.
        let names_repository = || {
            out.rsplit(' ')
                .next()
                .is_some_and(|word| word.contains('/'))
        };
        let is_issue =
            c == '#' && after.is_ascii_digit() && (!before.is_alphanumeric() || names_repository());
        if notifies || is_issue {
            out.push_str(APART);
        }
        before = c;
    }
    out
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
            assert_eq!(with_addresses(text, false), wanted);
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
}
