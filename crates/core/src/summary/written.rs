//! What a call writes into a file: the names of the functions, types and sections that it adds.
//!
//! [`read_replacements`] takes the texts from the call. [`choose_written`] chooses lines of them,
//! once the secrets in them are removed: of a secret that spans lines, or follows its name on the
//! next line, one line alone could not be recognized. [`describe_written`] cuts the lines.

use super::budget::RESULT;
use super::cut::string_lines;
use super::quote::{code_span, count_utf16, quote_line};
use crate::session::content::find_members;
use foldhash::HashSet;
use pisess_json::Raw;

/// The maximum number of names.
const MOST_NAMES: usize = 3;

/// A line of more units is not quoted, and its name is not read.
const LONGEST_LINE: usize = 400;

/// A text that a call replaces by another one.
#[derive(Clone, Debug, Default)]
pub(super) struct Replacement {
    /// Empty if nothing is replaced. Of a patch, the lines that stay or are removed.
    pub old: String,
    pub new: String,
}

impl Replacement {
    fn read(old: Option<Raw>, new: Option<Raw>) -> Replacement {
        Replacement {
            old: string_lines(old),
            new: string_lines(new),
        }
    }

    /// Reads one of several edits in a call.
    fn read_edit(edit: Raw) -> Replacement {
        let names = ["oldText", "old_string", "newText", "new_string"];
        let [old, old_string, new, new_string] = find_members(edit, names);
        Replacement::read(old.or(old_string), new.or(new_string))
    }

    fn is_empty(&self) -> bool {
        self.old.is_empty() && self.new.is_empty()
    }

    /// Reads a patch, whose lines begin with a space, `+` or `-`. A line with a space stays: it is
    /// on both sides, so that it does not count as added.
    pub fn read_patch(patch: &str) -> Replacement {
        let mut replacement = Replacement::default();
        for line in patch.lines() {
            if let Some(kept) = line.strip_prefix(' ') {
                push_line(&mut replacement.old, kept);
                push_line(&mut replacement.new, kept);
            } else if let Some(added) = line.strip_prefix('+') {
                push_line(&mut replacement.new, added);
            } else if let Some(removed) = line.strip_prefix('-') {
                push_line(&mut replacement.old, removed);
            }
        }
        replacement
    }
}

fn push_line(text: &mut String, line: &str) {
    text.push_str(line);
    text.push('\n');
}

/// Reads what a call writes into a file, by the names of the arguments of all agents: `oldText` and
/// `newText` (pi), `old_string` and `new_string` (Claude Code), several of them in `edits`, a whole
/// file in `content`, the source of a notebook's cell in `new_source`, or a patch in `input`. A
/// call has one of these forms.
pub(super) fn read_replacements(arguments: Raw) -> Vec<Replacement> {
    // All members are found in one walk, because this is done for each edit of a session.
    let [
        old,
        old_string,
        new,
        new_string,
        edits,
        content,
        new_source,
        input,
    ] = find_members(
        arguments,
        [
            "oldText",
            "old_string",
            "newText",
            "new_string",
            "edits",
            "content",
            "new_source",
            "input",
        ],
    );
    let mut replacements = vec![Replacement::read(old.or(old_string), new.or(new_string))];
    for edit in edits.unwrap_or(Raw::NULL).items() {
        replacements.push(Replacement::read_edit(edit));
    }
    // The old content of a whole file is not in the call.
    replacements.push(Replacement::read(None, content.or(new_source)));
    replacements.push(Replacement::read_patch(&string_lines(input)));

    // The other forms leave empty ones. One that only removes stays: it is not described, but a
    // secret in it may be quoted elsewhere.
    replacements.retain(|replacement| !replacement.is_empty());
    replacements
}

/// Chooses from what a call adds to the file at `path` the lines that describe it best: those that
/// declare the first [`MOST_NAMES`] functions, types or sections or, if there are none, the first
/// line with a word. Empty if nothing is added, or the lines are too long to quote.
///
/// The secrets in `replacements` were removed before: one line alone of a secret could not be
/// recognized.
pub(super) fn choose_written(replacements: &[Replacement], path: &str) -> String {
    let added = added_lines(replacements);
    let declarations = first_declarations(&added, path);
    if !declarations.is_empty() {
        return declarations.join("\n");
    }
    first_line_with_word(&added).to_owned()
}

/// Returns the first [`MOST_NAMES`] lines that declare a function, type or section of the file at
/// `path`. Lines that are too long to quote are skipped.
fn first_declarations<'l>(lines: &[&'l str], path: &str) -> Vec<&'l str> {
    let mut declarations = Vec::new();
    for line in lines {
        if find_name(line, path).is_some() && is_quotable(line) {
            declarations.push(line.trim());
        }
        if declarations.len() == MOST_NAMES {
            break;
        }
    }
    declarations
}

/// Returns the first line with a letter or digit, which skips lines such as `{`. Empty if there is
/// none, or if that line is too long to quote: a later one would not be the beginning.
fn first_line_with_word<'l>(lines: &[&'l str]) -> &'l str {
    for line in lines {
        if !line.contains(char::is_alphanumeric) {
            continue;
        }
        if is_quotable(line) {
            return line.trim();
        }
        break;
    }
    ""
}

/// Returns the lines of the new texts that are not in the text that each replaces.
fn added_lines(replacements: &[Replacement]) -> Vec<&str> {
    let mut added = Vec::new();
    for Replacement { old, new } in replacements {
        let old_lines: HashSet<&str> = old.lines().collect();
        added.extend(new.lines().filter(|line| !old_lines.contains(line)));
    }
    added
}

fn is_quotable(line: &str) -> bool {
    count_utf16(line) <= LONGEST_LINE
}

/// Describes the lines that [`choose_written`] returned for the file at `path`: by the names that
/// they declare (`` `fn low`, `fn high` ``) or, without such names, by a quotation.
pub(super) fn describe_written(lines: &str, path: &str) -> String {
    if lines.is_empty() {
        return String::new();
    }
    let names = lines.lines().filter_map(|line| find_name(line, path));
    let spans: Vec<String> = names.map(|name| code_span(name, RESULT)).collect();
    if spans.is_empty() {
        return quote_line(lines, RESULT);
    }
    spans.join(", ")
}

/// Returns the name that a line of the file at `path` declares. Files of text have headings, which
/// are returned whole (`## Tides`); in other files, the name is the start of a declaration (`pub fn
/// low`).
fn find_name<'l>(line: &'l str, path: &str) -> Option<&'l str> {
    let line = line.trim();
    let extension = path.rsplit('.').next().unwrap_or_default();
    let heading_starts: &[&str] = match extension {
        "md" | "mdx" | "markdown" | "txt" => &["# ", "## ", "### ", "#### "],
        "adoc" => &["= ", "== ", "=== "],
        "tex" => &["\\chapter", "\\section", "\\subsection"],
        "html" | "htm" => &["<h1", "<h2", "<h3"],
        "toml" | "ini" | "cfg" => &["["],
        _ => return find_declaration(line),
    };
    let is_heading = heading_starts.iter().any(|start| line.starts_with(start));
    is_heading.then_some(line)
}

/// The words before the name of what is declared.
const KEYWORDS: [&str; 16] = [
    "fn",
    "def",
    "func",
    "function",
    "fun",
    "sub",
    "class",
    "struct",
    "enum",
    "trait",
    "impl",
    "interface",
    "type",
    "mod",
    "module",
    "namespace",
];

/// The words that may precede these.
const MODIFIERS: [&str; 14] = [
    "pub",
    "pub(crate)",
    "pub(super)",
    "export",
    "default",
    "async",
    "static",
    "public",
    "private",
    "protected",
    "abstract",
    "final",
    "unsafe",
    "const",
];

/// Returns the declaration in a line of code, without its parameters and its body: `pub fn low` of
/// `pub fn low(at: Time) -> u8 {`. In Go, a receiver is kept: `func (t *Tide) Low`.
fn find_declaration(line: &str) -> Option<&str> {
    let mut rest = line;
    let keyword = loop {
        let (word, after_word) = split_word(rest)?;
        rest = after_word;
        if !MODIFIERS.contains(&word) {
            break word;
        }
    };
    if !KEYWORDS.contains(&keyword) {
        return None;
    }

    let name = rest.trim_start();
    if !name.starts_with(|c: char| c.is_alphabetic() || "_(<".contains(c)) {
        return None;
    }
    let receiver_len = if name.starts_with('(') {
        // The name is behind the receiver, whose parentheses are not those of the parameters.
        name.find(')')? + 1
    } else {
        0
    };
    let name_start = line.len() - name.len() + receiver_len;
    let from_name = &line[name_start..];
    let name_end = from_name.find(['(', '{', ':', '=', ';']);
    let name_len = name_end.unwrap_or(from_name.len());
    Some(line[..name_start + name_len].trim())
}

/// Returns the first word of a text, and what follows it. `None` if there is no word.
fn split_word(text: &str) -> Option<(&str, &str)> {
    let text = text.trim_start();
    if text.is_empty() {
        return None;
    }
    let word_len = text.find(char::is_whitespace).unwrap_or(text.len());
    Some(text.split_at(word_len))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The name may also be a part of a word before it.
    #[test]
    fn a_declaration_ends_with_its_whole_name() {
        for (line, expected) in [
            ("pub(crate) struct p {", "pub(crate) struct p"),
            ("pub(super) type u = u8;", "pub(super) type u"),
            ("func (t *T) t() {", "func (t *T) t"),
            (
                "export  default function f() {",
                "export  default function f",
            ),
        ] {
            assert_eq!(find_declaration(line), Some(expected), "{line}");
        }
        for line in ["", "pub", "fn", "pub fn 1", "let a = 1"] {
            assert_eq!(find_declaration(line), None, "{line}");
        }
    }

    #[test]
    fn what_a_call_writes_is_named_by_declarations_headings_or_its_first_line() {
        for (path, arguments, expected) in [
            (
                "a.rs",
                r#"{"oldText":"fn low() {\n    3","newText":"fn low() {\n    4\n}\n\npub fn high(at: Time) -> u8 {\n    5"}"#,
                "`pub fn high`",
            ),
            (
                "a.py",
                r##"{"content":"# Tides.\nimport csv\n\nclass Tide(Base):\n    def low(self):\n        pass\n"}"##,
                "`class Tide`, `def low`",
            ),
            (
                "a.go",
                r#"{"old_string":"x","new_string":"func (t *Tide) Low(at int) error {"}"#,
                "`func (t *Tide) Low`",
            ),
            (
                "a.md",
                r###"{"content":"# Tides\n\nThe type of the tide.\n\n## Low water\n"}"###,
                "`Tides`, `Low water`",
            ),
            (
                "a.csv",
                r#"{"edits":[{"oldText":"a,1","newText":"a,1\nb,2"},{"oldText":"c","newText":"d"}]}"#,
                "\"b,2\"",
            ),
            ("a.ts", r#"{"oldText":"low()","newText":""}"#, ""),
            ("a.ts", r#"{"path":"a.ts"}"#, ""),
        ] {
            let arguments = Raw::parse(arguments.as_bytes()).unwrap();
            let lines = choose_written(&read_replacements(arguments), path);
            assert_eq!(describe_written(&lines, path), expected, "{path}");
        }
        let patch = r#"{"input":"*** Update File: a.rs\n@@\n-fn low() {\n+fn low_water() {\n"}"#;
        let arguments = Raw::parse(patch.as_bytes()).unwrap();
        let lines = choose_written(&read_replacements(arguments), "a.rs");
        assert_eq!(describe_written(&lines, "a.rs"), "`fn low_water`");
    }
}
