//! Paths as an outline: directories as `# headings/`, a chain of directories with one child as one
//! heading.

use crate::agents::ordered::OrderedMap;
use crate::session::paths::with_slashes;
use pisess_json::text::Text;
use regex::bytes::Regex;
use std::sync::LazyLock;

/// Matches the beginning of a URL.
pub static URL: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i-u)[a-z][a-z0-9+.-]*://").expect("a constant"));

/// A directory: its files and, by their numbers, its subdirectories.
#[derive(Default)]
struct FolderNode<'a> {
    files: OrderedMap<Vec<u8>, &'a Text<'a>>,
    folders: OrderedMap<Vec<u8>, usize>,
}

/// A directory that [`outline_paths`] still has to write.
struct OutlineSection {
    /// The number of its node.
    node: usize,
    /// The depth of its files; its heading has one less.
    depth: usize,
    heading: Option<Vec<u8>>,
}

/// A line of an outline: a heading, or a file.
pub struct OutlineLine<'l, 'a> {
    /// The number of directories around it that have a heading.
    pub depth: usize,
    /// The directories of the heading joined with `/`, or the file's name.
    pub name: &'l [u8],
    /// The path as given; `None` for a heading.
    pub file: Option<&'a Text<'a>>,
}

/// Calls `write_line` with each line of the outline of paths: in each directory its files, then its
/// subdirectories, in order of first occurrence. A path that ends in a slash is a directory; URLs
/// are files at the top.
pub fn outline_paths<'a>(
    paths: impl IntoIterator<Item = &'a Text<'a>>,
    mut write_line: impl FnMut(OutlineLine<'_, 'a>),
) {
    let mut nodes = vec![FolderNode::default()];
    for path in paths {
        add_path(&mut nodes, path);
    }

    // A stack of the directories that remain, the next one on top. The root has no heading.
    let mut remaining = vec![OutlineSection {
        node: 0,
        depth: 0,
        heading: None,
    }];
    while let Some(section) = remaining.pop() {
        if let Some(heading) = &section.heading {
            write_line(OutlineLine {
                depth: section.depth - 1,
                name: heading,
                file: None,
            });
        }
        let folder = &nodes[section.node];
        for (name, path) in folder.files.iter() {
            write_line(OutlineLine {
                depth: section.depth,
                name,
                file: Some(path),
            });
        }
        for (name, &subfolder) in folder.folders.iter().rev() {
            remaining.push(subsection(&nodes, name, subfolder, section.depth + 1));
        }
    }
}

/// Returns the section of a directory. A chain of directories with one child is one section, which
/// has the content of the innermost.
fn subsection(nodes: &[FolderNode], name: &[u8], outermost: usize, depth: usize) -> OutlineSection {
    let mut heading = name.to_vec();
    let mut innermost = outermost;
    while let Some((only_name, &only_folder)) = nodes[innermost].only_folder() {
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

/// Adds a path to the tree, whose root is the first node: its directories, and its file unless the
/// path ends in a slash. Of equal paths, the first is kept. A URL is a file of the root.
fn add_path<'a>(nodes: &mut Vec<FolderNode<'a>>, path: &'a Text<'a>) {
    let slashed = with_slashes(path.as_bytes());
    let is_url = URL.find(&slashed).is_some_and(|url| url.start() == 0);
    if is_url {
        nodes[0].files.or_insert(slashed, path);
        return;
    }

    let is_directory = path.as_bytes().ends_with(b"/");
    let trimmed = slashed.strip_suffix(b"/").unwrap_or(&slashed);
    if trimmed.is_empty() {
        return;
    }
    let mut folder_names: Vec<&[u8]> = trimmed.split(|&byte| byte == b'/').collect();
    let file_name = if is_directory {
        None
    } else {
        folder_names.pop()
    };

    // Down from the root, to the directory of the file. Nodes refer to each other by index.
    let mut current = 0;
    for folder_name in folder_names {
        let next_index = nodes.len();
        let subfolders = &mut nodes[current].folders;
        let subfolder = *subfolders.or_insert(folder_name.to_vec(), next_index);
        let is_new = subfolder == next_index;
        if is_new {
            nodes.push(FolderNode::default());
        }
        current = subfolder;
    }
    if let Some(file_name) = file_name {
        nodes[current].files.or_insert(file_name.to_vec(), path);
    }
}

impl FolderNode<'_> {
    /// Returns the name and number of the only subdirectory; `None` if there are files or several
    /// subdirectories.
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
