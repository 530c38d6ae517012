//! The messages of the commits in a command line.

use super::command_step::CommandStep;
use super::shell::OPERATORS;
use std::ops::Range;

/// The quotes of a shell.
const QUOTES: [char; 2] = ['"', '\''];

/// Returns the first line of the message of each `git commit` in a command line, as far as it is in
/// quotes after `-m` or `--message`. It may be a here-document: `-m "$(cat <<'EOF'`.
///
/// What is in quotes, in a here-document or in a comment is no command: `echo "git commit -m x"`.
pub(super) fn find_commit_messages(line: &str) -> Vec<&str> {
    let masked = mask_non_code(line);
    let mut messages = Vec::new();
    let mut part_start = 0;
    for part in masked.split_inclusive(OPERATORS) {
        let step = part.trim_end_matches(OPERATORS);
        // An offset in the masked line is also one in the line.
        if is_commit(step)
            && let Some(value_offset) = find_message_value(step)
            && let Some(message) = read_message(&line[part_start + value_offset..])
        {
            messages.push(message);
        }
        part_start += part.len();
    }
    messages
}

fn is_commit(step: &str) -> bool {
    CommandStep::parse(step).is_some_and(|step| step.is_one_of("git-commit"))
}

/// Returns the offset of the value of the first `-m` or `--message` in a masked step. It is 14 in
/// `git commit -m _____`.
fn find_message_value(step: &str) -> Option<usize> {
    let mut words = words_with_offsets(step).into_iter();
    while let Some((word_start, word)) = words.next() {
        match read_message_option(word) {
            Some(OptionValue::InWord(value_offset)) => return Some(word_start + value_offset),
            Some(OptionValue::NextWord) => return words.next().map(|(start, _)| start),
            None => {}
        }
    }
    None
}

/// Returns the words of a step, each with its offset.
fn words_with_offsets(step: &str) -> Vec<(usize, &str)> {
    let mut words = Vec::new();
    let mut offset = 0;
    for word_and_space in step.split_inclusive(char::is_whitespace) {
        let word = word_and_space.trim_end();
        if !word.is_empty() {
            words.push((offset, word));
        }
        offset += word_and_space.len();
    }
    words
}

/// Where the value of an option is.
enum OptionValue {
    /// In the word of the option, at this offset: `--message=_____`, `-m_____`.
    InWord(usize),
    NextWord,
}

/// Returns where the message is if a masked word is `-m`, alone or behind other letters as in
/// `-qm`, or `--message`. `None` for any other word.
fn read_message_option(word: &str) -> Option<OptionValue> {
    if word == "--message" {
        return Some(OptionValue::NextWord);
    }
    if word.starts_with("--message=") {
        return Some(OptionValue::InWord("--message=".len()));
    }
    if !word.starts_with('-') || word.starts_with("--") {
        return None;
    }

    // The letters end where a masked quotation begins: in `-S_____m`, `m` is a part of the value of
    // `-S`, and no option.
    let letters = word.split('_').next()?;
    let value_offset = letters.find('m')? + 1;
    if value_offset == word.len() {
        Some(OptionValue::NextWord)
    } else {
        Some(OptionValue::InWord(value_offset))
    }
}

/// Returns the first line of a message that `value` begins with, in quotes. `None` if there are no
/// quotes, or the message is empty.
fn read_message(value: &str) -> Option<&str> {
    let content = value.strip_prefix(QUOTES)?;
    let is_here_document = content
        .strip_prefix(CAT)
        .is_some_and(|rest| rest.starts_with("<<"));
    let text = if is_here_document {
        let (_operator_line, document) = content.split_once('\n')?;
        document
    } else {
        read_quoted(value)?
    };
    text.lines().map(str::trim).find(|line| !line.is_empty())
}

/// Returns a copy of a command line with `_` in place of each byte that the shell does not read as
/// code: quotations with their quotes, escaped characters, comments and here-documents. So no
/// command is found in these:
///
/// ```text
/// echo "git commit" && git commit -m 'Fix it' # done
/// echo ____________ && git commit -m ________ ______
/// ```
///
/// The copy has the same length, so an offset in it is also one in the line.
fn mask_non_code(line: &str) -> String {
    /// The characters with which a text that is not code, or the operator of a here-document,
    /// begins.
    const BEGINNINGS: [char; 5] = ['"', '\'', '\\', '#', '<'];

    let mut masked = line.to_owned();
    let mut search_start = 0;
    while let Some(distance) = masked[search_start..].find(BEGINNINGS) {
        let start = search_start + distance;
        if let Some(range) = find_non_code(&masked, start) {
            let mask = "_".repeat(range.len());
            masked.replace_range(range, &mask);
        }
        // The search does not continue at the end of the range: between the operator of a
        // here-document and the document, there is code. What was masked has no more beginnings.
        search_start = start + 1;
    }
    masked
}

/// Returns the range of the text that begins at an offset of a command line, and that the shell does
/// not read as code. `None` if the character there begins none. For `<<EOF`, this is the
/// here-document, which begins on the next line: the rest of the line of the operator is code.
fn find_non_code(line: &str, start: usize) -> Option<Range<usize>> {
    let (before, rest) = line.split_at(start);
    match rest.chars().next()? {
        '"' | '\'' => {
            let len_with_quotes = 1 + read_quoted(rest)?.len() + 1;
            // The closing quote may be missing.
            let end = line.len().min(start + len_with_quotes);
            Some(start..end)
        }
        '\\' => {
            let escaped = rest[1..].chars().next()?;
            Some(start..start + 1 + escaped.len_utf8())
        }
        // Within a word, as in `a#b`, it begins no comment.
        '#' if before.is_empty() || before.ends_with([' ', '\t', '\n', ';', '|', '&', '(']) => {
            let comment = rest.split('\n').next()?;
            Some(start..start + comment.len())
        }
        '<' => {
            let document = find_here_document(rest)?;
            Some(start + document.start..start + document.end)
        }
        _ => None,
    }
}

/// Returns the text in the quotes at the start of `rest`: `a` in `"a" b`. Without a closing quote,
/// it is all that follows. `None` if `rest` does not begin with a quote.
fn read_quoted(rest: &str) -> Option<&str> {
    let quote = rest.chars().next()?;
    let content = rest.strip_prefix(QUOTES)?;
    // Only in double quotes, the shell reads commands and escaped characters.
    let is_double = quote == '"';
    let searched_from = if is_double {
        inner_document_len(content)
    } else {
        0
    };

    let mut is_escaped = false;
    for (offset, c) in content[searched_from..].char_indices() {
        if c == quote && !is_escaped {
            return Some(&content[..searched_from + offset]);
        }
        is_escaped = is_double && c == '\\' && !is_escaped;
    }
    Some(content)
}

/// The command with which a here-document becomes a quoted text: `"$(cat <<'EOF'`.
const CAT: &str = "$(cat ";

/// Returns the length of a quoted text up to the end of the here-document that it begins with; 0 if
/// there is none. Quotes in the document do not close the text.
fn inner_document_len(content: &str) -> usize {
    match content.strip_prefix(CAT).and_then(find_here_document) {
        Some(document) => CAT.len() + document.end,
        None => 0,
    }
}

/// Returns the range of the lines of a here-document, with the last one, which is its delimiter, if
/// its operator is at the start of `rest`. `None` if no line is the delimiter: then `<<` is most
/// likely a shift, as in `$((1 << n))`.
fn find_here_document(rest: &str) -> Option<Range<usize>> {
    let delimiter = read_delimiter(rest)?;
    let document_start = rest.find('\n')? + 1;
    let mut line_start = document_start;
    for line in rest[document_start..].split('\n') {
        let line_end = line_start + line.len();
        if line.trim_ascii() == delimiter {
            return Some(document_start..line_end);
        }
        line_start = line_end + "\n".len();
    }
    None
}

/// Returns the delimiter of a here-document, the word that ends it, if its operator is at the start
/// of `rest`: `EOF` in `<<EOF`, `<<- EOF` and `<<'EOF'`.
fn read_delimiter(rest: &str) -> Option<&str> {
    let operand = rest.strip_prefix("<<")?;
    let operand = operand
        .strip_prefix('-')
        .unwrap_or(operand)
        .trim_ascii_start();
    let unquoted = operand.strip_prefix(QUOTES).unwrap_or(operand);

    let is_in_delimiter = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let rest_of_line = unquoted.trim_start_matches(is_in_delimiter);
    let delimiter = &unquoted[..unquoted.len() - rest_of_line.len()];
    if delimiter.is_empty() {
        return None;
    }
    Some(delimiter)
}
