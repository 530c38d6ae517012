//! The messages of the commits in a command line.

use super::command_step::CommandStep;
use super::shell::OPERATORS;
use std::ops::Range;

/// Returns the first line of the message of each `git commit` in a command line, as far as it is in
/// quotes after `-m` or `--message`. It may be a here-document: `-m "$(cat <<'EOF'`.
///
/// What is in quotes, in a here-document or in a comment is no command: `echo "git commit -m x"`.
pub(super) fn find_commit_messages(line: &str) -> Vec<&str> {
    let code = mask_quoted(line);
    let mut messages = Vec::new();
    let mut start = 0;
    for part in code.split_inclusive(OPERATORS) {
        let step = CommandStep::parse(part.trim_end_matches(OPERATORS));
        if step.is_some_and(|step| step.is_one_of("git-commit"))
            && let Some(value) = find_message_value(part)
            && let Some(message) = read_message(&line[start + value..])
        {
            messages.push(message);
        }
        start += part.len();
    }
    messages
}

/// Returns the offset of the value of the first `-m` or `--message` in a step.
fn find_message_value(step: &str) -> Option<usize> {
    let mut is_value = false;
    let mut start = 0;
    for word in step.split_inclusive([' ', '\t']) {
        let option = word.trim_end();
        if is_value && !option.is_empty() {
            return Some(start);
        }
        if let Some(value) = option.strip_prefix("--message") {
            let is_joined = value.starts_with('=');
            if is_joined {
                return Some(start + "--message=".len());
            }
            is_value = value.is_empty();
        } else if option.starts_with('-')
            && !option.starts_with("--")
            && let Some(letter) = option.find(['m', '_'])
            && option[letter..].starts_with('m')
        {
            let value = letter + 1;
            if value < option.len() {
                return Some(start + value);
            }
            is_value = true;
        }
        start += word.len();
    }
    None
}

/// Returns the first line of a message that begins with its quote; `None` if it has none.
fn read_message(value: &str) -> Option<&str> {
    let quote = *value.as_bytes().first()?;
    if !is_quote(quote) {
        return None;
    }
    let content = &value[1..];
    let text = if content.starts_with(DOCUMENT_IN_QUOTES) {
        content.split_once('\n')?.1
    } else {
        &content[..find_quote(content.as_bytes(), quote)]
    };
    text.lines().map(str::trim).find(|line| !line.is_empty())
}

/// Returns a command line of the same length, in which everything that is no code is replaced by
/// `_`: quoted text, escaped characters, comments and here-documents. `echo "a" # b` becomes
/// `echo ___ ___`.
fn mask_quoted(line: &str) -> String {
    let mut code = line.as_bytes().to_vec();
    let mut at = 0;
    while at < code.len() {
        let rest = &code[at..];
        if let Some(document) = find_here_document(rest) {
            code[at + document.start..at + document.end].fill(b'_');
            // Between `<<EOF` and the document is the rest of its line, which is code.
            at += 1;
            continue;
        }
        let begins_word = at == 0 || b" \t\n;|&(".contains(&code[at - 1]);
        let masked_len = literal_len(rest, begins_word);
        code[at..at + masked_len].fill(b'_');
        let is_code = masked_len == 0;
        at += if is_code { 1 } else { masked_len };
    }
    // Only whole characters were replaced.
    String::from_utf8(code).unwrap_or_default()
}

/// Returns the number of bytes at the start of `rest` that are no code: a quoted text with its
/// quotes, an escaped character, or a comment. 0 if `rest` begins with code.
fn literal_len(rest: &[u8], begins_word: bool) -> usize {
    match rest {
        [quote, content @ ..] if is_quote(*quote) => {
            let len_with_quotes = 1 + find_quote(content, *quote) + 1;
            // The closing quote may be missing.
            len_with_quotes.min(rest.len())
        }
        [b'\\', next, ..] if next.is_ascii() => 2,
        [b'#', ..] if begins_word => line_len(rest),
        _ => 0,
    }
}

fn is_quote(byte: u8) -> bool {
    matches!(byte, b'"' | b'\'')
}

/// What begins a here-document in double quotes.
const DOCUMENT_IN_QUOTES: &str = "$(cat <<";

/// Returns the offset of the quote that closes a text, or its length if there is none. A
/// here-document at the start of the text may have quotes.
fn find_quote(text: &[u8], quote: u8) -> usize {
    let operator = DOCUMENT_IN_QUOTES.len() - b"<<".len();
    let mut at = 0;
    if quote == b'"'
        && text.starts_with(DOCUMENT_IN_QUOTES.as_bytes())
        && let Some(document) = find_here_document(&text[operator..])
    {
        at = operator + document.end;
    }
    while at < text.len() && text[at] != quote {
        let is_escape = quote == b'"' && text[at] == b'\\';
        at += if is_escape { 2 } else { 1 };
    }
    at.min(text.len())
}

/// Returns the range of the lines of a here-document, with the last one, if an operator such as
/// `<<EOF` or `<<-'EOF'` is at the start of `rest`.
fn find_here_document(rest: &[u8]) -> Option<Range<usize>> {
    let operand = rest.strip_prefix(b"<<")?;
    let operand = operand
        .strip_prefix(b"-")
        .unwrap_or(operand)
        .trim_ascii_start();
    let operand = match operand {
        [quote, unquoted @ ..] if is_quote(*quote) => unquoted,
        _ => operand,
    };
    let is_in_name = |byte: &&u8| byte.is_ascii_alphanumeric() || **byte == b'_';
    let name = &operand[..operand.iter().take_while(is_in_name).count()];
    if name.is_empty() {
        return None;
    }

    let start = line_len(rest) + 1;
    let mut end = start;
    while end < rest.len() {
        let line = &rest[end..][..line_len(&rest[end..])];
        end += line.len();
        if line.trim_ascii() == name {
            return Some(start..end);
        }
        // The line break.
        end += 1;
    }
    None
}

/// Returns the length of the first line.
fn line_len(text: &[u8]) -> usize {
    memchr::memchr(b'\n', text).unwrap_or(text.len())
}
