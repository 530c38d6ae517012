//! Outlines of outputs: what is quoted of what a call found. The first line of an output says
//! little, so its form decides.
//!
//! ```text
//! a document      Tide tables: … / Sources / Format
//! paths           214 paths: src 120, tests 61, docs 20
//! a folder        holds charts, README.md
//! code            nothing: its path is enough
//! anything else   origin https://example.org/tide.git (fetch) / origin …
//! ```

use super::budget::{FOUND_DOCUMENT, FOUND_OUTPUT, LONG_REQUEST};
use super::fitting::join_fitting;
use super::one_line::{cut_line, one_line};
use super::path_lists::count_paths;
use super::quote::{first_chars, is_narrower, quote_line};

/// An outline of the output of a call that looked.
#[derive(Debug, Default)]
pub(super) struct Finding {
    /// Empty if nothing is quoted.
    pub text: String,
    /// Whether it outlines a document, or what a folder holds: facts for the whole of the work.
    pub is_outline: bool,
}

impl Finding {
    /// Reads the outline of an output. It is empty if the output has no words, or is code.
    pub fn read(output: &str) -> Finding {
        let lines = read_lines(first_chars(output, READ_CHARS));
        if let [line] = lines[..]
            && is_remark(line)
        {
            return Finding::default();
        }

        let outline = count_paths(output)
            .or_else(|| list_names(&lines))
            .or_else(|| outline_document(&lines));
        if let Some(text) = outline {
            return Finding {
                text,
                is_outline: true,
            };
        }

        // The path of a file of code says more than its first lines.
        if lines.is_empty() || is_code(&lines) {
            return Finding::default();
        }
        let quoted_lines = pick_title_and_sentences(&lines);
        Finding {
            text: quote_line(&quoted_lines.join("\n"), FOUND_OUTPUT),
            is_outline: false,
        }
    }
}

/// The number of characters of an output that are read, except to count paths.
const READ_CHARS: usize = 6_000;

/// Returns the lines with words of an output, without line numbers. The fences of code are
/// returned, too, because what is between them outlines nothing.
fn read_lines(output: &str) -> Vec<&str> {
    let mut lines = Vec::new();
    for line in output.lines() {
        let text = strip_line_number(line);
        if text.contains(char::is_alphanumeric) || text.starts_with("```") {
            lines.push(text);
        }
    }
    lines
}

/// Returns a line without the number that a tool which reads files puts before it: `  12→text`,
/// `12<tab>text`.
fn strip_line_number(line: &str) -> &str {
    let text = line.trim_start();
    let after_digits = text.trim_start_matches(|c: char| c.is_ascii_digit());
    if after_digits.len() == text.len() {
        return line;
    }
    match after_digits.strip_prefix(['→', '\t']) {
        Some(rest) => rest,
        None => line,
    }
}

/// Whether a line is only a remark of the agent: in brackets, as `(no output)`, or what Claude Code
/// reports of a search that found nothing.
fn is_remark(line: &str) -> bool {
    const NOTHING_FOUND: [&str; 2] = ["No files found", "No matches found"];
    let line = line.trim();
    let is_in_brackets = line.starts_with(['(', '[']) && line.ends_with([')', ']']);
    is_in_brackets || NOTHING_FOUND.contains(&line)
}

/// Returns the first line, which may be a title, and the lines with sentences, which a page of the
/// web has below its links. Returns all lines if none of the others has a sentence.
fn pick_title_and_sentences<'l>(lines: &[&'l str]) -> Vec<&'l str> {
    let Some((&title, others)) = lines.split_first() else {
        return Vec::new();
    };
    let mut picked = vec![title];
    for &line in others {
        if has_sentence(line) {
            picked.push(line);
        }
    }
    let has_sentences = picked.len() > 1;
    if has_sentences {
        picked
    } else {
        lines.to_vec()
    }
}

/// Whether a long line has the end of a sentence, and no address of a page, as links have it.
fn has_sentence(line: &str) -> bool {
    let is_long = !is_narrower(line, LONG_REQUEST);
    let has_end = line.ends_with('.') || line.contains(". ");
    is_long && has_end && !line.contains("://")
}

/// The number of first lines by which code is recognized.
const FIRST_LINES: usize = 16;
/// An output with fewer lines is not taken for code.
const LEAST_LINES: usize = 3;

/// Whether at least half of the first lines have the form of code or markup.
fn is_code(lines: &[&str]) -> bool {
    let first_lines = &lines[..lines.len().min(FIRST_LINES)];
    let code_count = first_lines.iter().filter(|line| is_code_line(line)).count();
    first_lines.len() >= LEAST_LINES && 2 * code_count >= first_lines.len()
}

/// Whether a line is indented, begins with an import, a comment or a tag, or ends with a mark of a
/// grammar.
fn is_code_line(line: &str) -> bool {
    const STARTS: [&str; 12] = [
        "import ", "from ", "use ", "using ", "package ", "#include", "//", "/*", "* ", "\"\"\"",
        "@", "<",
    ];
    const ENDS: [char; 8] = ['{', '}', ';', '(', ')', ',', '>', ':'];

    let text = line.trim();
    let is_indented = line.starts_with("    ") || line.starts_with('\t');
    is_indented || STARTS.iter().any(|start| text.starts_with(start)) || text.ends_with(ENDS)
}

/// A document has this many headings.
const LEAST_HEADINGS: usize = 2;

/// The headings of a document.
#[derive(Default)]
struct Headings<'l> {
    texts: Vec<&'l str>,
    /// What the document is about: its description above the first heading, as skills have it, or
    /// the first line below that is no heading.
    first_line: Option<&'l str>,
}

impl<'l> Headings<'l> {
    /// Reads the headings among lines. A `#` between fences of code begins a comment.
    fn read(lines: &[&'l str]) -> Headings<'l> {
        let mut headings = Headings::default();
        let mut is_fenced = false;
        for &line in lines {
            if line.starts_with("```") {
                is_fenced = !is_fenced;
                continue;
            }
            if is_fenced {
                continue;
            }
            if is_heading(line) {
                headings.texts.push(line.trim_start_matches('#').trim());
            } else if let Some(description) = line.strip_prefix("description: ")
                && headings.texts.is_empty()
            {
                headings.first_line = Some(description);
            } else if !headings.texts.is_empty() {
                headings.first_line.get_or_insert(line);
            }
        }
        headings
    }
}

/// Quotes the headings of a document, with its first line of text after the title: `Tides: Tables
/// for the harbour. / Sources / Format`. `None` if it has fewer than [`LEAST_HEADINGS`].
fn outline_document(lines: &[&str]) -> Option<String> {
    let headings = Headings::read(lines);
    if headings.texts.len() < LEAST_HEADINGS {
        return None;
    }
    let (title, others) = headings.texts.split_first()?;
    let others = others.join(" / ");
    let outline = match headings.first_line {
        Some(line) => format!("{title}: {} / {others}", cut_line(line, FOUND_DOCUMENT / 2)),
        None => format!("{title} / {others}"),
    };
    Some(quote_line(&outline, FOUND_DOCUMENT))
}

/// Whether a line is a heading of Markdown: up to four `#` at its start, a space and a text. A
/// comment in a script of a shell ends like a sentence.
fn is_heading(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    (1..=4).contains(&level) && text.starts_with(' ') && !text.ends_with(['.', ';', ',', '-'])
}

/// Joins as many names as fit, on one line without anything that acts on a terminal or ends the
/// summary.
pub(super) fn list_fitting(lead: &str, names: &[String]) -> Option<String> {
    let line = join_fitting(lead, names, FOUND_OUTPUT)?;
    Some(one_line(&line, 2 * FOUND_OUTPUT))
}

/// Lists the names in the listing of a folder, as `ls -l` and PowerShell print it. `None` if fewer
/// than half of the lines are of such a listing.
fn list_names(lines: &[&str]) -> Option<String> {
    let mut file_count = 0;
    let mut names = Vec::new();
    for line in lines {
        let Some(name) = name_after_mode(line) else {
            continue;
        };
        file_count += 1;
        // `ls -la` lists the folder itself and its parent.
        if ![".", ".."].contains(&name) {
            names.push(name.to_owned());
        }
    }
    if file_count < LEAST_FILES || 2 * file_count < lines.len() {
        return None;
    }
    list_fitting("holds ", &names)
}

/// Returns the name in a line of a listing that begins with the mode of a file: `charts` for
/// `drwxr-xr-x 2 ada ada 4096 May 4 2:44 charts`. Of a name with spaces, the last word.
fn name_after_mode(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let mode = words.next()?;
    let name = words.next_back()?;
    is_mode(mode).then_some(name)
}

/// A listing of fewer files is quoted like any other output.
const LEAST_FILES: usize = 2;

/// Whether a word is the mode of a file: `drwxr-xr-x` of `ls -l`, `-a----` of PowerShell.
fn is_mode(word: &str) -> bool {
    let is_flag = |c: char| "-dlrwxahstST@+.".contains(c);
    word.len() >= 5 && word.chars().all(is_flag) && word.starts_with(['-', 'd', 'l'])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(output: &str) -> String {
        Finding::read(output).text
    }

    #[test]
    fn an_output_is_outlined_by_its_form() {
        for (output, expected) in [
            (
                "---\nname: tides\n---\n# Tides\n\nTables for the harbour.\n\n```\n# no heading\n```\n## Sources\n## Format\n",
                r#""Tides: Tables for the harbour. / Sources / Format""#,
            ),
            (
                "---\nname: tides\ndescription: Draws the tides of a harbour.\n---\n# Tides\n\nFirst of all: ask.\n## Sources\n",
                r#""Tides: Draws the tides of a harbour. / Sources""#,
            ),
            (
                "# Tides\n```\nmake\n```\n## Sources\n",
                r#""Tides / Sources""#,
            ),
            (
                "total 8\ndrwxr-xr-x 2 ada ada 4096 May  4 02:44 charts\n-rw-r--r-- 1 ada ada   12 May  4 02:44 map.md",
                "holds charts, map.md",
            ),
            (
                "Mode   LastWriteTime  Length Name\n----   -------------  ------ ----\n-a---- 5/4/2026 2:44 AM 2956 map.sh\nd----- 5/4/2026 2:44 AM      charts",
                "holds map.sh, charts",
            ),
            (
                "origin\thttps://example.org/map.git (fetch)",
                r#""origin https://example.org/map.git (fetch)""#,
            ),
            (
                "Charts\nhttps://example.org/charts\n12,000 chars\nThe charts of the bay show every pier that was built before 1990.",
                r#""Charts / The charts of the bay show every pier that was built before 1990.""#,
            ),
            ("(no output)", ""),
            ("No files found", ""),
            ("", ""),
            ("import a\nimport b\nx = 1", ""),
            (
                "     1→use a;\n     2→\n     3→fn low() {\n     4→    1",
                "",
            ),
        ] {
            assert_eq!(read(output), expected, "{output}");
        }
    }
}
