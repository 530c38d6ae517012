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

use super::budget::{FOUND_OUTPUT, LONG_REQUEST};
use super::fitting::join_fitting;
use super::one_line::{cut_line, one_line};
use super::quote::{first_chars, is_narrower, quote_line};
use foldhash::HashMap;
use std::cmp::Reverse;

/// An outline of the output of a call that looked.
#[derive(Debug, Default)]
pub(super) struct Finding {
    /// Empty if nothing is quoted.
    pub text: String,
    /// Whether it outlines a document, or what a folder holds: facts for the whole of the work.
    pub is_outline: bool,
}

impl Finding {
    /// Reads the outline of an output. It is empty if the output has no words, or is code: the path
    /// of a file of code says more than its first lines.
    pub fn read(output: &str) -> Finding {
        let mut lines = Vec::new();
        for line in first_chars(output, READ_CHARS).lines() {
            let line = strip_line_number(line);
            if line.contains(char::is_alphanumeric) || line.starts_with("```") {
                lines.push(line);
            }
        }
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
        if lines.is_empty() || is_code(&lines) {
            return Finding::default();
        }
        Finding {
            text: quote_line(&first_and_sentences(&lines).join("\n"), FOUND_OUTPUT),
            is_outline: false,
        }
    }
}

/// Whether a line is only a remark of the agent in brackets: `(no output)`.
fn is_remark(line: &str) -> bool {
    let line = line.trim();
    line.starts_with(['(', '[']) && line.ends_with([')', ']'])
}

/// Returns the first line, which may be a title, and the lines with sentences, which a page of the
/// web has below its links. All lines if none has a sentence.
fn first_and_sentences<'l>(lines: &[&'l str]) -> Vec<&'l str> {
    let mut picked = lines[..1].to_vec();
    picked.extend(lines[1..].iter().filter(|line| has_sentence(line)));
    if picked.len() == 1 {
        return lines.to_vec();
    }
    picked
}

fn has_sentence(line: &str) -> bool {
    let is_long = !is_narrower(line, LONG_REQUEST);
    let ends = line.ends_with('.') || line.contains(". ");
    is_long && ends && !line.contains("://")
}

/// The number of first lines by which code is recognized, and the least number of them.
const FIRST_LINES: usize = 16;
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

/// The number of characters of an output that are read, except to count paths.
const READ_CHARS: usize = 6_000;

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

/// A document has this many headings.
const LEAST_HEADINGS: usize = 2;

/// Quotes the headings of a document, with its first line of text after the title: `Tides: Tables
/// for the harbour. / Sources / Format`. `None` if it has fewer than [`LEAST_HEADINGS`].
fn outline_document(lines: &[&str]) -> Option<String> {
    let mut headings = Vec::new();
    let mut first_text = None;
    let mut is_fenced = false;
    for line in lines {
        if line.starts_with("```") {
            is_fenced = !is_fenced;
        }
        if is_fenced {
            continue;
        }
        if is_heading(line) {
            headings.push(line.trim_start_matches('#').trim());
        } else if first_text.is_none() && !headings.is_empty() {
            first_text = Some(*line);
        }
    }
    if headings.len() < LEAST_HEADINGS {
        return None;
    }
    let title = headings[0];
    let others = headings[1..].join(" / ");
    let outline = match first_text {
        Some(text) => format!("{title}: {} / {others}", cut_line(text, FOUND_OUTPUT / 2)),
        None => format!("{title} / {others}"),
    };
    Some(quote_line(&outline, FOUND_OUTPUT))
}

/// Whether a line is a heading of Markdown: up to four `#` at its start, a space and a text. A
/// comment in a script of a shell ends like a sentence.
fn is_heading(line: &str) -> bool {
    let text = line.trim_start_matches('#');
    let level = line.len() - text.len();
    (1..=4).contains(&level) && text.starts_with(' ') && !text.ends_with(['.', ';', ',', '-'])
}

/// A list of this many paths is counted by folder. Fewer are quoted.
const LEAST_PATHS: usize = 12;
/// The number of lines that are read of such a list.
const MOST_PATHS: usize = 5_000;

/// Counts a list of paths by their first folder: `214 paths: src 120, tests 61, README.md`. The
/// folder that all are in is named once. `None` if the output is no such list.
fn count_paths(output: &str) -> Option<String> {
    let paths = read_paths(output)?;
    let common_len = common_folder_len(&paths);
    let mut counts: HashMap<&str, usize> = HashMap::default();
    // In the order of the output.
    let mut folders = Vec::new();
    for path in &paths {
        let below_common = &path[common_len..];
        let folder = below_common.split(SEPARATORS).next().unwrap_or_default();
        let count = counts.entry(folder).or_default();
        if *count == 0 {
            folders.push(folder);
        }
        *count += 1;
    }
    // A stable sort: of equals, the first stays first.
    folders.sort_by_key(|folder| Reverse(counts[folder]));

    let mut names = Vec::new();
    for folder in folders {
        names.push(match counts[folder] {
            1 => folder.to_owned(),
            count => format!("{folder} {count}"),
        });
    }
    let count = paths.len();
    let lead = match &paths[0][..common_len] {
        "" => format!("{count} paths: "),
        common => format!("{count} paths in {common}: "),
    };
    list_fitting(&lead, &names)
}

/// Returns the paths in an output, one in each line. `None` if there are fewer than
/// [`LEAST_PATHS`], or one of the first two lines or of ten others is no path.
fn read_paths(output: &str) -> Option<Vec<&str>> {
    let lines = output.lines().map(str::trim);
    let mut lines = lines.filter(|line| !line.is_empty());
    // Most outputs are no lists, and need not be read any further.
    if !lines.clone().take(2).all(is_path) {
        return None;
    }
    let mut line_count = 0;
    let mut paths = Vec::new();
    for line in lines.by_ref().take(MOST_PATHS) {
        line_count += 1;
        if is_path(line) {
            paths.push(line);
        }
    }
    let is_list = paths.len() >= LEAST_PATHS && 10 * paths.len() >= 9 * line_count;
    is_list.then_some(paths)
}

/// Joins as many names as fit, on one line without anything that acts on a terminal or ends the
/// summary.
fn list_fitting(lead: &str, names: &[String]) -> Option<String> {
    let line = join_fitting(lead, names, FOUND_OUTPUT)?;
    Some(one_line(&line, 2 * FOUND_OUTPUT))
}

const SEPARATORS: [char; 2] = ['/', '\\'];

/// Returns the length of the folder that all paths begin with, with its separator.
fn common_folder_len(paths: &[&str]) -> usize {
    let first = paths[0];
    let mut common_len = first.rfind(SEPARATORS).map_or(0, |end| end + 1);
    for path in paths {
        while !path.starts_with(&first[..common_len]) {
            let shorter = first[..common_len - 1].rfind(SEPARATORS);
            common_len = shorter.map_or(0, |end| end + 1);
        }
    }
    common_len
}

/// Whether a line is most likely a path: one word, with a separator or the ending of a file.
fn is_path(line: &str) -> bool {
    let is_word = !line.contains(char::is_whitespace);
    let has_form = line.contains(['/', '\\']) || line.contains('.');
    let has_other_marks = line.contains(['(', ')', ':', ',', ';', '=', '"', '|', '<', '>']);
    let is_windows_path = line.as_bytes().get(1) == Some(&b':');
    is_word && has_form && (!has_other_marks || is_windows_path)
}

/// Lists the names in the listing of a folder with the mode of each file in its first column, as
/// `ls -l` and PowerShell print it: `drwxr-xr-x 2 ada ada 4096 May 4 2:44 charts`. `None` if fewer
/// than half of the lines have a mode.
fn list_names(lines: &[&str]) -> Option<String> {
    let mut mode_count = 0;
    let mut names = Vec::new();
    for line in lines {
        let mut words = line.split_whitespace();
        let has_mode = words.next().is_some_and(is_mode);
        if has_mode && let Some(name) = words.next_back() {
            mode_count += 1;
            if ![".", ".."].contains(&name) {
                names.push(name.to_owned());
            }
        }
    }
    if mode_count < LEAST_MODES || 2 * mode_count < lines.len() {
        return None;
    }
    list_fitting("holds ", &names)
}

/// A listing of fewer files is quoted like any other output.
const LEAST_MODES: usize = 2;

/// Whether a word is the mode of a file: `drwxr-xr-x`, `-a----`.
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

    #[test]
    fn paths_are_counted_by_folder() {
        let mut output = String::new();
        for number in 0..20 {
            output.push_str(&format!("./src/a{number}.rs\n"));
        }
        output.push_str("./README.md\n");
        assert_eq!(read(&output), "21 paths in ./: src 20, README.md");
        let windows = output.replace("./", "C:\\map\\").replace('/', "\\");
        assert_eq!(read(&windows), "21 paths in C:\\map\\: src 20, README.md");
    }
}
