//! Text in which no character has a special meaning in Markdown.

/// Returns text as inline code.
pub fn code(text: &str) -> String {
    let text = text.replace('\n', " ");
    let fence = "`".repeat(longest_run(&text) + 1);
    // A backtick at either end would lengthen the fence. A space on both sides prevents that; Markdown removes both.
    let pad = if text.starts_with(['`', ' ']) || text.ends_with(['`', ' ']) { " " } else { "" };
    if text.trim().is_empty() { String::new() } else { format!("{fence}{pad}{text}{pad}{fence}") }
}

/// Returns the length of the longest run of backticks.
pub fn longest_run(text: &str) -> usize {
    text.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

/// Returns the text with a backslash before every character that has a meaning in Markdown, or on a forge.
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
        before = c;
    }
    out
}
