//! Texts on one line: joined, and cut at the end of a clause.

use super::quote::{clip, count_utf16, first_chars, sanitize, strip_marks};
use super::tables::{is_table_rule, strip_outer_bars};

/// Returns the text on one line of at most `max` units, without list marks at its start. Its lines
/// are separated by ` / `; empty lines and the fences of code are left out.
pub(super) fn one_line(text: &str, max: usize) -> String {
    clip(strip_marks(&join_lines(text, max)), max)
}

/// Returns a text on one line of about `max` UTF-16 units, without list marks at its start. It is
/// cut at the end of a clause if one is near `max`, because half a condition or half a value
/// misleads. So the line may be longer than `max` by a fifth.
pub(super) fn cut_line(text: &str, max: usize) -> String {
    let line = join_lines(text, max);
    let line = strip_marks(&line);
    if count_utf16(line) <= max {
        return line.to_owned();
    }
    match find_clause_end(line, max) {
        Some(end) if end == line.len() => line.to_owned(),
        Some(end) => format!("{}…", line[..end].trim_end_matches([',', ';', ':', '，'])),
        None => clip(line, max),
    }
}

/// Returns the byte offset at which to cut a line to about `max` UTF-16 units. This is the first
/// that exists of these:
///
/// - the end of a clause, at most a fifth beyond `max`;
/// - the end of the line, at most a fifth beyond `max`;
/// - the end of the last clause, at most a quarter before `max`.
///
/// `None` if there is none of them. Within code spans, no clause ends. The ` / ` between two lines
/// of the text ends a clause, so that a table is cut between its rows.
fn find_clause_end(line: &str, max: usize) -> Option<usize> {
    let longest = max + max / 5;
    let shortest = max - max / 4;
    let mut last_end_before_max = None;
    // The size of the line up to and including `c`.
    let mut size = 0;
    let mut is_code = false;
    for (start, c) in line.char_indices() {
        size += c.len_utf16();
        if size > longest {
            return last_end_before_max;
        }
        if c == '`' {
            is_code = !is_code;
        }
        if is_code || size < shortest {
            continue;
        }
        let Some(clause_end) = clause_end_at(line, start, c) else {
            continue;
        };
        if size > max {
            return Some(clause_end);
        }
        last_end_before_max = Some(clause_end);
    }
    Some(line.len())
}

/// Returns the byte offset at which a clause ends, if `c`, the character at `start`, ends one. The
/// clause includes its mark, but not the separator of two lines. The dot of `2.5` ends no clause.
fn clause_end_at(line: &str, start: usize, c: char) -> Option<usize> {
    if line[start..].starts_with(LINE_SEPARATOR) {
        return Some(start);
    }
    let mark_end = start + c.len_utf8();
    let is_mark = match c {
        '.' | '!' | '?' | ';' | ':' | ',' => {
            let next = line[mark_end..].chars().next();
            next.is_none_or(char::is_whitespace)
        }
        '。' | '！' | '？' | '；' | '，' | '、' => true,
        _ => false,
    };
    is_mark.then_some(mark_end)
}

/// What is between the lines of a text that is quoted on one line.
const LINE_SEPARATOR: &str = " / ";

/// Joins the lines of a text by ` / `, as many as can matter for `max` UTF-16 units. Fences of code
/// are left out. A table loses its outer bars and its row of dashes:
///
/// `| disk | MB/s |` above `|---|---|` and `| 1 | 112 |` becomes `disk | MB/s / 1 | 112`.
fn join_lines(text: &str, max: usize) -> String {
    /// The number of characters to read for each unit. Most of them may be in escape sequences and
    /// white space, which take no space in a quotation.
    const CHARS_PER_UNIT: usize = 16;

    // Most texts are far longer than what is quoted of them.
    let start = first_chars(text, CHARS_PER_UNIT * max);
    let mut lines = Vec::new();
    for line in sanitize(start).lines() {
        let words: Vec<_> = line.split_whitespace().collect();
        let line = words.join(" ");
        if line.starts_with("```") || is_table_rule(&line) {
            continue;
        }
        let shown = strip_outer_bars(&line);
        if !shown.is_empty() {
            lines.push(shown.to_owned());
        }
    }
    lines.join(LINE_SEPARATOR)
}
