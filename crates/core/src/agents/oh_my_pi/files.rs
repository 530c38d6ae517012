//! The list of files below a summary: which paths are in it, and how they are written.

use super::path_tree::{OutlineLine, URL, outline_paths};
use super::template;
use crate::agents::ordered::OrderedMap;
use crate::agents::prepare::FileLists;
use pisess_json::text::{JS_SPACE, Text, concat_texts, join_with, trim_end};
use regex::bytes::Regex;
use std::sync::LazyLock;

/// The maximum number of files listed below a summary.
const MAX_LISTED_FILES: usize = 20;

pub use template::BRANCH_PREAMBLE;

/// Matches a path with a selection of lines at its end, as the read tool accepts it: `:50-200`,
/// `:raw`, `:1-50:raw` (`splitReadSelector`).
static SELECTION: LazyLock<Regex> = LazyLock::new(|| {
    let range = r"L?\d+(?:(?:[-+]|\.\.)L?\d+|-|\.\.)?";
    let ranges = format!("{range}(?:,{range})*");
    let selector = format!("raw:{ranges}|{ranges}:raw|{ranges}|raw|conflicts");
    Regex::new(&format!("(?is-u)^(?<path>.+?):(?:{selector})$")).expect("a constant")
});

/// Returns a summary followed by a list of files, in place of any list that it had (the agent's
/// `upsertFileOperations`). `files` are the files to list. `read` are all files that were read: a
/// changed file that was also read has another mark.
pub fn append_file_list(
    summary: Text<'static>,
    files: &FileLists,
    read: &OrderedMap<Text>,
) -> Text<'static> {
    let bare_summary = strip_file_lists(&summary);
    let list = format_file_list(files, read);
    if list.is_empty() {
        bare_summary
    } else if bare_summary.is_empty() {
        list
    } else {
        concat_texts(&[&bare_summary, &"\n\n", &list])
    }
}

/// Returns the files as an outline of directories in a tag; empty if there are none. A mark after
/// each file shows how it was used. At most [`MAX_LISTED_FILES`] are listed, the first ones when
/// sorted as JavaScript sorts strings; a last line counts the rest.
fn format_file_list(files: &FileLists, read: &OrderedMap<Text>) -> Text<'static> {
    let mut paths: Vec<&Text> = files
        .read_files
        .iter()
        .chain(&files.modified_files)
        .collect();
    paths.sort_by(|a, b| a.cmp_utf16(b));
    paths.dedup();
    if paths.is_empty() {
        return Text::default();
    }

    let mut lines = Vec::new();
    let listed = paths.iter().copied().take(MAX_LISTED_FILES);
    outline_paths(listed, |OutlineLine { depth, name, file }| {
        lines.push(match file {
            None => concat_texts(&[&"#".repeat(depth + 1), &" ", &name, &"/"]),
            Some(file) => concat_texts(&[&name, &access_mark(file, files, read)]),
        });
    });
    let mut tree = join_with(lines, "\n");
    if paths.len() > MAX_LISTED_FILES {
        let elided = paths.len() - MAX_LISTED_FILES;
        tree.push_str(&format!("\n[…{elided} files elided…]"));
    }
    // The path `/` alone has no line.
    if tree.is_empty() {
        return tree;
    }
    template::wrap_file_list(&tree)
}

/// Returns the mark of a listed file: whether it was only read, only written, or both.
fn access_mark(file: &Text, files: &FileLists, read: &OrderedMap<Text>) -> &'static str {
    let is_modified = files.modified_files.iter().any(|path| path == file);
    if !is_modified {
        " (Read)"
    } else if read.get(file).is_some() {
        " (RW)"
    } else {
        " (Write)"
    }
}

/// Returns a summary without lists of files, which are in a tag: `<files>` or, from an older
/// version, `<read-files>` and `<modified-files>`. White space at the end is removed, too.
fn strip_file_lists(summary: &Text) -> Text<'static> {
    static LISTS: LazyLock<[Regex; 3]> = LazyLock::new(|| {
        ["files", "read-files", "modified-files"].map(|tag| {
            let list = format!("(?s-u)<{tag}>.*?</{tag}>{JS_SPACE}*");
            Regex::new(&list).expect("a constant")
        })
    });
    let mut text = summary.as_bytes().to_vec();
    for list in LISTS.iter() {
        text = list.replace_all(&text, b"").into_owned();
    }
    Text::from_wtf8(trim_end(&text).to_vec())
}

/// Whether a path contains the start of a URL, `scheme://`, at any position.
pub fn contains_url(path: &Text) -> bool {
    URL.is_match(path.as_bytes())
}

/// Returns a path without a selection of lines at its end: `a.rs` for `a.rs:50-200`.
pub fn strip_selector(path: Text) -> Text {
    // Most paths have no colon. To look for one is faster than to try the expression.
    if !path.as_bytes().contains(&b':') {
        return path;
    }
    let bare_path = SELECTION
        .captures(path.as_bytes())
        .and_then(|captures| captures.name("path"));
    match bare_path {
        Some(bare_path) => path.slice(bare_path.range()),
        None => path,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::pi::testing::chain;
    use crate::agents::prepare::FileOps;

    #[test]
    fn selectors_come_off() {
        for path in [
            "a.ts:50",
            "a.ts:50-200",
            "a.ts:5-16,960-973",
            "a.ts:RAW",
            "a.ts:raw:1-50",
            "a.ts:1-50:raw",
            "a.ts:L5..L9",
            "a.ts:5-",
            "a.ts:50+10",
            "a.ts:conflicts",
        ] {
            assert_eq!(strip_selector(Text::from(path)), "a.ts", "{path}");
        }
        for path in [
            "a.ts:",
            ":50",
            "a.ts:x",
            "a.ts:5+",
            "a.ts:5,",
            "a.ts:raw:raw2",
            "C:a",
        ] {
            assert_eq!(strip_selector(Text::from(path)), path, "{path}");
        }
        assert_eq!(strip_selector(Text::from("a:raw:raw")), "a:raw");
    }

    #[test]
    fn urls_are_no_files() {
        for (path, url) in [
            ("a://b", true),
            ("file.ts:conflict://1", true),
            ("a/b:c", false),
            ("://x", false),
            ("1://", false),
            ("é-a1://", true),
        ] {
            assert_eq!(contains_url(&Text::from(path)), url, "{path}");
        }
    }

    #[test]
    fn the_list_takes_the_place_of_older_ones() {
        let mut ops = FileOps::default();
        ops.read.set("src/a.ts".into(), ());
        ops.read.set("src/b.ts".into(), ());
        ops.edited.set("src/b.ts".into(), ());
        ops.written.set("c.ts".into(), ());
        ops.edited.set("a://b".into(), ());
        let session = chain(&[]).of_oh_my_pi().session;
        let summary =
            Text::from("S\n<files>\nold\n</files>\n\n<read-files>\nx\n</read-files> end \n");
        assert_eq!(
            ops.append_to_summary(summary.clone(), &session),
            "S\nend\n\n<files>\nc.ts (Write)\n# src/\na.ts (Read)\nb.ts (RW)\n</files>"
        );
        assert_eq!(
            append_file_list(summary, &FileLists::default(), &ops.read),
            "S\nend"
        );
    }
}
