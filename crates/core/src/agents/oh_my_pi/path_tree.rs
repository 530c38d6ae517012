//! Writes paths as an outline. Directories are `# headings/`. A chain of directories in which each
//! is the only child becomes one heading.

use crate::agents::ordered::OrderedMap;
use crate::session::paths::with_slashes;
use pisess_json::text::Text;
use regex::bytes::Regex;
use std::sync::LazyLock;

/// Matches the beginning of a URL.
pub static URL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i-u)[a-z][a-z0-9+.-]*://").expect("a constant"));

/// A line of an outline: a heading, or a file.
pub struct OutlineLine<'l, 'a> {
    /// The number of directories around it that have a heading.
    pub depth: usize,
    /// The name of the file; for a heading, the names of its directories, joined with `/`.
    pub name: &'l [u8],
    /// The path as given; `None` for a heading.
    pub file: Option<&'a Text<'a>>,
}

/// Calls `write_line` with each line of an outline of paths: a heading for each directory, and a
/// line for each file. In a directory, its files come before its subdirectories, both in order of
/// first occurrence. A path that ends in a slash is a directory. A URL is a file outside of any
/// directory.
///
/// ```text
/// paths             outline
/// src/a.rs          e.txt
/// src/b/c/d.rs      # src/
/// e.txt             a.rs
///                   ## b/c/
///                   d.rs
/// ```
pub fn outline_paths<'a>(
    paths: impl IntoIterator<Item = &'a Text<'a>>,
    mut write_line: impl FnMut(OutlineLine<'_, 'a>),
) {
    let mut tree = FolderTree::new();
    for path in paths {
        tree.add_path(path);
    }

    // A stack of the directories that remain, with the next one on top. The root has no heading.
    let mut remaining = vec![OutlineSection {
        node: FolderTree::ROOT,
        depth: 0,
        heading: None,
    }];
    while let Some(section) = remaining.pop() {
        if let Some(heading) = &section.heading {
            // A directory with a heading is below the root, so its files have a depth of 1 or more.
            write_line(OutlineLine {
                depth: section.depth - 1,
                name: heading,
                file: None,
            });
        }
        let folder = &tree.nodes[section.node];
        for (name, path) in folder.files.iter() {
            write_line(OutlineLine {
                depth: section.depth,
                name,
                file: Some(path),
            });
        }
        // In reverse, so that the first subdirectory is on top.
        for (name, &subfolder) in folder.folders.iter().rev() {
            remaining.push(tree.section_of(subfolder, name, section.depth + 1));
        }
    }
}

/// A directory that is still to be written, with all that is in it.
struct OutlineSection {
    /// The index of its node.
    node: usize,
    /// The depth of its files; its heading has one less.
    depth: usize,
    heading: Option<Vec<u8>>,
}

/// The directories of some paths. They refer to each other by index.
struct FolderTree<'a> {
    /// The first one is the root.
    nodes: Vec<FolderNode<'a>>,
}

/// A directory: its files by name, and the index of the node of each subdirectory by name.
#[derive(Default)]
struct FolderNode<'a> {
    files: OrderedMap<Vec<u8>, &'a Text<'a>>,
    folders: OrderedMap<Vec<u8>, usize>,
}

impl<'a> FolderTree<'a> {
    /// The index of the root.
    const ROOT: usize = 0;

    fn new() -> Self {
        FolderTree {
            nodes: vec![FolderNode::default()],
        }
    }

    /// Adds the directories of a path, and its file unless the path ends in a slash. If a path
    /// occurs twice, the first is kept. A URL is a file of the root.
    fn add_path(&mut self, path: &'a Text<'a>) {
        let slashed = with_slashes(path.as_bytes());
        let is_url = URL.find(&slashed).is_some_and(|url| url.start() == 0);
        if is_url {
            self.nodes[Self::ROOT].files.or_insert(slashed, path);
            return;
        }

        let is_directory = path.as_bytes().ends_with(b"/");
        let trimmed = slashed.strip_suffix(b"/").unwrap_or(&slashed);
        // The path `/` is the root itself.
        if trimmed.is_empty() {
            return;
        }
        let mut folder_names: Vec<&[u8]> = trimmed.split(|&byte| byte == b'/').collect();
        let file_name = if is_directory {
            None
        } else {
            folder_names.pop()
        };

        let mut folder = Self::ROOT;
        for folder_name in folder_names {
            folder = self.subfolder_or_insert(folder, folder_name);
        }
        if let Some(file_name) = file_name {
            self.nodes[folder].files.or_insert(file_name.to_vec(), path);
        }
    }

    /// Returns the index of the subdirectory with this name, which is added if it is new.
    fn subfolder_or_insert(&mut self, folder: usize, name: &[u8]) -> usize {
        let index_if_new = self.nodes.len();
        let subfolders = &mut self.nodes[folder].folders;
        let index = *subfolders.or_insert(name.to_vec(), index_if_new);
        if index == index_if_new {
            self.nodes.push(FolderNode::default());
        }
        index
    }

    /// Returns the section for the directory `outermost`, which has this name. A chain of
    /// directories in which each contains only the next becomes one section: `a`, with nothing but
    /// `b`, is under the heading `a/b`.
    fn section_of(&self, outermost: usize, name: &[u8], depth: usize) -> OutlineSection {
        let mut heading = name.to_vec();
        let mut innermost = outermost;
        while let Some((only_name, &only_folder)) = self.nodes[innermost].only_folder() {
            heading.push(b'/');
            heading.extend_from_slice(only_name);
            innermost = only_folder;
        }
        OutlineSection {
            node: innermost,
            depth,
            heading: Some(heading),
        }
    }
}

impl FolderNode<'_> {
    /// Returns the name of the only subdirectory and the index of its node; `None` if the directory
    /// contains files, or not exactly one subdirectory.
    fn only_folder(&self) -> Option<(&Vec<u8>, &usize)> {
        let mut folders = self.folders.iter();
        let only = folders.next()?;
        let is_alone = self.files.is_empty() && folders.next().is_none();
        if is_alone { Some(only) } else { None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(paths: &[&'static str]) -> Vec<String> {
        let paths: Vec<_> = paths.iter().map(|&path| Text::from(path)).collect();
        let mut lines = Vec::new();
        outline_paths(&paths, |line| {
            let name = std::str::from_utf8(line.name).unwrap();
            lines.push(if line.file.is_some() {
                name.to_owned()
            } else {
                format!("{} {name}/", "#".repeat(line.depth + 1))
            });
        });
        lines
    }

    #[test]
    fn chains_of_folders_are_one_heading() {
        assert_eq!(
            drawn(&["/a/b/c.ts", "/a/b/d/e.ts", "/a/b/d/e.ts"]),
            ["# /a/b/", "c.ts", "## d/", "e.ts"]
        );
        assert_eq!(
            drawn(&["x.ts", "a/y.ts", "b/"]),
            ["x.ts", "# a/", "y.ts", "# b/"]
        );
        assert_eq!(
            drawn(&["https://h/p", "a\\b.ts", "/"]),
            ["https://h/p", "# a/", "b.ts"]
        );
    }

    #[test]
    fn depth_costs_no_stack() {
        let deep = Text::from(format!("{}x", "a/".repeat(100_000)));
        let wide = Text::from(format!("{}y/z", "a/".repeat(50_000)));
        let mut lines = 0;
        outline_paths([&deep, &wide], |_| lines += 1);
        assert_eq!(lines, 5);
    }
}
