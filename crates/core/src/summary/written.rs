//! What a call writes into a file: the names of the functions, types and sections that it adds.

use super::budget::{MAX_READ_UNITS, RESULT};
use super::quote::{code_span, count_utf16, quote_line};
use crate::session::content::find_members;
use crate::session::file_calls::read_replacements;
use foldhash::HashSet;
use pisess_json::Raw;

/// The maximum number of names.
const MOST_NAMES: usize = 3;

/// The number of lines of a replacement that are read.
const MOST_LINES: usize = 200;

/// A line of more units is not quoted: a secret in it could be cut, and then not be recognized.
const LONGEST_LINE: usize = 160;

/// Describes what a call writes into the file at `path`, by the first names that it adds or, if
/// there are none, the first line. Empty if it writes nothing that can be quoted.
pub(super) fn describe_written(arguments: Raw, path: &str) -> String {
    let replacements = read_replacements(arguments);
    let mut added = Vec::new();
    for replacement in &replacements {
        let old_lines: HashSet<&str> = replacement.old.lines().collect();
        let new_lines = replacement.new.lines().take(MOST_LINES);
        added.extend(new_lines.filter(|line| !old_lines.contains(line)));
    }
    let [content, source, patch] = find_members(arguments, ["content", "new_source", "input"]);
    let text = content.or(source).or(patch).and_then(Raw::text);
    let text = text.unwrap_or_default().head_whole(MAX_READ_UNITS);
    let text = text.into_string_lossy();
    if replacements.is_empty() && patch.is_some() {
        added.extend(text.lines().filter_map(|line| line.strip_prefix('+')));
    } else if replacements.is_empty() {
        added.extend(text.lines());
    }

    let names = added.iter().filter_map(|line| find_name(line, path));
    let spans: Vec<String> = names
        .take(MOST_NAMES)
        .map(|name| code_span(name, RESULT))
        .collect();
    if !spans.is_empty() {
        return spans.join(", ");
    }
    let mut lines = added.iter().map(|line| line.trim());
    match lines.find(|line| line.contains(char::is_alphanumeric)) {
        Some(line) if count_utf16(line) <= LONGEST_LINE => quote_line(line, RESULT),
        _ => String::new(),
    }
}

/// Returns the name that a line declares: a heading, as the kind of the file writes it, or what is
/// before the parameters or the body of a declaration.
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

/// Returns the declaration of a line of code, up to its parameters or its body.
fn find_declaration(line: &str) -> Option<&str> {
    let mut words = line.split_whitespace();
    let keyword = words.find(|word| !MODIFIERS.contains(word))?;
    if !KEYWORDS.contains(&keyword) {
        return None;
    }
    let name = words.next()?;
    if !name.starts_with(|c: char| c.is_alphabetic() || "_(<".contains(c)) {
        return None;
    }
    // In Go, the receiver precedes the name.
    let name_start = if name.starts_with('(') {
        line.find(')')? + 1
    } else {
        line.find(name)?
    };
    let length = line[name_start..].find(['(', '{', ':', '=', ';']);
    let end = length.map_or(line.len(), |length| name_start + length);
    Some(line[..end].trim())
}

#[cfg(test)]
mod tests {
    use super::*;

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
            assert_eq!(describe_written(arguments, path), expected, "{path}");
        }
        let patch = r#"{"input":"*** Update File: a.rs\n@@\n-fn low() {\n+fn low_water() {\n"}"#;
        let arguments = Raw::parse(patch.as_bytes()).unwrap();
        assert_eq!(describe_written(arguments, "a.rs"), "`fn low_water`");
    }
}
