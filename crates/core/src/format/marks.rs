//! Recognizes marks of Markdown in a text that was joined to one line.

use std::borrow::Cow;

/// Whether a word is a mark of a block: a fence with its language, the `#` of a heading, or the
/// rule below the head of a table. A rule must have more than three characters, because a shorter
/// word may be a dash.
pub fn is_block_mark(word: &str) -> bool {
    let is_heading = word.chars().all(|c| c == '#');
    let is_table_rule = word.len() > 3 && word.chars().all(|c| "|-:".contains(c));
    word.starts_with("```") || is_heading || is_table_rule
}

/// Removes the marks `**` of strong emphasis at the start and at the end of a word: `**Fix**` ->
/// `Fix`, `done**.` -> `done.`. Either may be there without the other, because the emphasis may
/// include several words. Marks beside `/`, `*` or `\` stay, because they are part of a glob
/// pattern such as `src/**/*.rs`.
pub fn strip_emphasis(word: &str) -> String {
    let word = match word.strip_prefix("**") {
        Some(emphasized) if emphasized.starts_with(can_border_emphasis) => emphasized,
        _ => word,
    };
    if let Some((emphasized, suffix)) = word.rsplit_once("**") {
        // The punctuation of a sentence may follow the closing mark.
        let is_punctuation = suffix.chars().all(|c| c.is_ascii_punctuation());
        if is_punctuation && emphasized.ends_with(can_border_emphasis) {
            return format!("{emphasized}{suffix}");
        }
    }
    word.to_owned()
}

/// Replaces the links and images in a line by their texts: `see [the docs](https://x.org)` becomes
/// `see the docs`. A link whose end is cut off counts, too.
///
/// Brackets of code stay: those after a name, as in `a[i](x)`, and those before something that is
/// no address.
pub fn strip_links(line: &str) -> Cow<'_, str> {
    if !line.contains("](") {
        return Cow::Borrowed(line);
    }
    let mut plain = String::new();
    let mut rest = line;
    while let Some(end_of_text) = rest.find("](") {
        let before = &rest[..end_of_text];
        let after = &rest[end_of_text + 2..];
        if let Some(start_of_text) = find_link_text(before)
            && let Some(address_len) = address_len(after)
        {
            let words_before = &before[..start_of_text];
            // An image has a `!` before the bracket.
            plain.push_str(words_before.strip_suffix('!').unwrap_or(words_before));
            plain.push_str(&before[start_of_text + 1..]);
            rest = &after[address_len..];
        } else {
            plain.push_str(&rest[..end_of_text + 2]);
            rest = after;
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}

/// Returns the offset of the `[` before the text of a link, which ends with `before`.
fn find_link_text(before: &str) -> Option<usize> {
    let start = before.rfind('[')?;
    let text = &before[start + 1..];
    if text.trim().is_empty() || text.contains(']') || before[..start].ends_with(is_in_name) {
        return None;
    }
    Some(start)
}

fn is_in_name(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | ']' | ')')
}

/// Returns the length of the address with which `after` begins, and of the parenthesis that closes
/// it. `None` if this is no address.
fn address_len(after: &str) -> Option<usize> {
    let mut depth = 0;
    let mut end = None;
    for (offset, c) in after.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            ')' => {
                end = Some(offset);
                break;
            }
            // Stopping at a bracket keeps this linear: the next link begins with one.
            '[' => return None,
            c if c.is_whitespace() => return None,
            _ => {}
        }
    }
    let address = &after[..end.unwrap_or(after.len())];
    if !address.contains(['/', '.', '#', ':']) {
        return None;
    }
    match end {
        Some(end) => Some(end + 1),
        None => Some(after.len()),
    }
}

/// Whether a character beside `**` shows that this `**` is not a part of a glob pattern.
fn can_border_emphasis(c: char) -> bool {
    !matches!(c, '/' | '*' | '\\')
}
