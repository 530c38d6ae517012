//! Recognizes marks of Markdown in a text that was joined to one line.

use std::borrow::Cow;
use std::ops::Range;

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
/// `see the docs`, and `[![build](b.svg)](https://ci.org)` becomes `build`. A link whose end is cut
/// off counts, too.
///
/// Brackets of code stay: those after a name, as in `a[i](x)`, and those before something that is
/// no address, as in `map [key](list.len)`.
pub fn strip_links(line: &str) -> Cow<'_, str> {
    if !line.contains("](") {
        return Cow::Borrowed(line);
    }
    let mut plain = String::new();
    let mut kept_start = 0;
    for mark in find_link_marks(line) {
        plain.push_str(&line[kept_start..mark.start]);
        kept_start = mark.end;
    }
    plain.push_str(&line[kept_start..]);
    Cow::Owned(plain)
}

/// Returns the ranges of the marks of links and images in a line, in order: of `[`, or `![` for an
/// image, before the text, and of `](https://x.org)` after it. The text of a link may be another
/// link or an image.
fn find_link_marks(line: &str) -> Vec<Range<usize>> {
    let mut open_brackets = Vec::new();
    let mut marks: Vec<Range<usize>> = Vec::new();
    let mut searched_end = 0;
    while let Some(distance) = line[searched_end..].find(['[', ']']) {
        let bracket = searched_end + distance;
        searched_end = bracket + 1;
        if line[bracket..].starts_with('[') {
            open_brackets.push(bracket);
            continue;
        }
        let Some(open_bracket) = open_brackets.pop() else {
            continue; // A closing bracket of no text.
        };
        let Some(target_len) = measure_target(&line[searched_end..]) else {
            continue; // A bracket of text or code.
        };

        let text_start = open_bracket + 1;
        let has_text = !line[text_start..bracket].trim().is_empty();
        let before = &line[..open_bracket];
        let follows_mark = marks.last().is_some_and(|mark| mark.end == open_bracket);
        if !has_text || is_index_bracket(before, follows_mark) {
            continue;
        }

        let opening_mark = if before.ends_with('!') { "![" } else { "[" };
        let target_end = searched_end + target_len;
        marks.push(text_start - opening_mark.len()..text_start);
        marks.push(bracket..target_end);
        searched_end = target_end;
    }
    // The opening mark of an outer link was found after the marks of the link in its text.
    marks.sort_by_key(|mark| mark.start);
    marks
}

/// Whether a bracket opens an index, as in `a[i]`, and not the text of a link. `before` is the line
/// up to the bracket. Only a bracket right after another link may open a link although a `)` is
/// before it: `[a](https://x.org)[b](https://y.org)`.
fn is_index_bracket(before: &str, follows_link: bool) -> bool {
    before.ends_with(can_precede_index) && !follows_link
}

/// Whether a character may precede the bracket of an index: `a[i]`, `a[i][k]` and `f(x)[i]`.
fn can_precede_index(c: char) -> bool {
    c.is_alphanumeric() || matches!(c, '_' | ']' | ')')
}

/// Returns the length of the target of a link, with its parentheses: `(https://x.org "The docs")`
/// or `(<https://x.org>)`. `None` if `after_text` does not begin with a target.
fn measure_target(after_text: &str) -> Option<usize> {
    let target = after_text.strip_prefix('(')?;
    let (address, after_address) = split_address(target)?;
    if !is_address(address) {
        return None;
    }
    let rest = skip_link_title(after_address.trim_start())?;
    // Without a parenthesis, the link is cut off.
    if rest.is_empty() {
        return Some(after_text.len());
    }
    let after_target = rest.strip_prefix(')')?;
    Some(after_text.len() - after_target.len())
}

/// Divides a target into its address and what follows: `https://x.org "The docs")` after
/// `https://x.org`. An address with spaces is in angle brackets, which are left out. `None` if the
/// address has no end.
fn split_address(target: &str) -> Option<(&str, &str)> {
    let Some(enclosed) = target.strip_prefix('<') else {
        return Some(target.split_at(address_len(target)?));
    };
    // To search for `>` alone would read to the end of the line for each of many `<`.
    let end = enclosed.find(['<', '>'])?;
    let after_address = enclosed[end..].strip_prefix('>')?;
    Some((&enclosed[..end], after_address))
}

/// Returns the length of the address with which `target` begins: up to white space, or to the
/// parenthesis that closes the target, as in `wiki/Ferry_(ship) "title")`. `None` if a bracket is
/// in it.
fn address_len(target: &str) -> Option<usize> {
    // The number of parentheses that were opened in the address.
    let mut depth = 0;
    for (offset, c) in target.char_indices() {
        match c {
            '(' => depth += 1,
            ')' if depth > 0 => depth -= 1,
            ')' => return Some(offset),
            // Stopping at a bracket keeps this linear: the next link begins with one.
            '[' | ']' => return None,
            c if c.is_whitespace() => return Some(offset),
            _ => {}
        }
    }
    Some(target.len())
}

/// Skips the title of a link, which is in quotes, and may be cut off. `None` if there is something
/// else than a title or the end of the target.
fn skip_link_title(after_address: &str) -> Option<&str> {
    if after_address.is_empty() || after_address.starts_with(')') {
        return Some(after_address);
    }
    let quote = after_address.chars().next()?;
    if !matches!(quote, '"' | '\'') {
        return None;
    }
    let title_and_rest = &after_address[quote.len_utf8()..];
    match title_and_rest.split_once(quote) {
        Some((_title, after_title)) => Some(after_title.trim_start()),
        None => Some(""), // The title is cut off.
    }
}

/// Whether a text in parentheses is an address, and not code such as `list.len`: it has a `/` or
/// `#`, or is the name of a file.
fn is_address(text: &str) -> bool {
    if text.contains(['/', '#']) || text.starts_with("mailto:") {
        return true;
    }
    match text.rsplit_once('.') {
        Some((_, extension)) => LINKED_EXTENSIONS.contains(&extension),
        None => false,
    }
}

/// The extensions of files to which people link.
const LINKED_EXTENSIONS: [&str; 28] = [
    "md", "txt", "rst", "html", "htm", "pdf", "png", "jpg", "jpeg", "gif", "svg", "webp", "rs",
    "py", "js", "ts", "go", "java", "c", "h", "cpp", "sh", "css", "json", "toml", "yaml", "yml",
    "csv",
];

/// Whether a character beside `**` shows that this `**` is not a part of a glob pattern.
fn can_border_emphasis(c: char) -> bool {
    !matches!(c, '/' | '*' | '\\')
}
