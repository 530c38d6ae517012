//! The texts that pi puts around a summary: the preamble of a branch summary before it, and the
//! lists of files after it.

use crate::agents::prepare::FileLists;
use foldhash::HashMap;
use pisess_json::text::Text;

/// The text before a branch summary.
pub const BRANCH_SUMMARY_PREAMBLE: &str = "The user explored a different conversation branch before returning here.\nSummary of that exploration:\n\n";

/// Appends the files that were read and the files that were modified, each as a list in a tag:
/// `<read-files>` and `<modified-files>` (pi's `formatFileOperations`). An empty list is left out.
pub fn append_file_list(mut summary: Text<'static>, files: &FileLists) -> Text<'static> {
    let lists = [
        ("read-files", &files.read_files),
        ("modified-files", &files.modified_files),
    ];
    for (tag, paths) in lists {
        if paths.is_empty() {
            continue;
        }
        summary.push_all(&[&"\n\n<", &tag, &">"]);
        for path in paths {
            summary.push_all(&[&"\n", path]);
        }
        summary.push_all(&[&"\n</", &tag, &">"]);
    }
    summary
}

/// Appends the lists of [`append_file_list`]. If many files were modified, the files of a directory
/// share a line: `src/{main.rs,map.rs}`.
pub fn append_grouped_file_list(summary: Text<'static>, files: &FileLists) -> Text<'static> {
    let grouped = FileLists {
        modified_files: group_by_directory(&files.modified_files),
        ..files.clone()
    };
    append_file_list(summary, &grouped)
}

/// The greatest number of files with a line each.
const MOST_LINES: usize = 10;

/// The files of a directory.
struct Directory<'p> {
    /// Its path, with the separator at its end; empty for files in none.
    path: &'p [u8],
    names: Vec<&'p [u8]>,
}

impl Directory<'_> {
    /// Returns all files of the directory as one path: `src/{main.rs,map.rs}`. The path of a single
    /// file has no braces.
    fn joined_path(&self) -> Text<'static> {
        if let [only_name] = self.names[..] {
            return Text::from_wtf8([self.path, only_name].concat());
        }
        let names = self.names.join(&b","[..]);
        Text::from_wtf8([self.path, b"{", &names, b"}"].concat())
    }
}

/// Returns one path for all files of a directory, in the order of the first file of each directory.
/// If there are at most [`MOST_LINES`] paths, returns these.
fn group_by_directory(paths: &[Text<'static>]) -> Vec<Text<'static>> {
    if paths.len() <= MOST_LINES {
        return paths.to_vec();
    }
    let mut directories: Vec<Directory> = Vec::new();
    let mut index_by_path: HashMap<&[u8], usize> = HashMap::default();
    for path in paths {
        let (directory, name) = split_directory(path.as_bytes());
        // Files in no directory are not grouped: `{a,b}` would not say where they are.
        let is_grouped = !directory.is_empty();
        if is_grouped && let Some(&index) = index_by_path.get(directory) {
            directories[index].names.push(name);
            continue;
        }
        index_by_path.insert(directory, directories.len());
        directories.push(Directory {
            path: directory,
            names: vec![name],
        });
    }
    directories.iter().map(Directory::joined_path).collect()
}

/// Splits a path after its last separator: `src/map.rs` into `src/` and `map.rs`. The directory of
/// a path without separators is empty.
fn split_directory(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| b"/\\".contains(byte)) {
        Some(separator) => path.split_at(separator + 1),
        None => (b"", path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_files_are_grouped_by_directory() {
        let few = [Text::from("a/b"), Text::from("a/c")];
        assert_eq!(group_by_directory(&few), few);

        let mut many: Vec<Text<'static>> = Vec::new();
        for name in [
            "README.md",
            "src/a.rs",
            "src/map/x.rs",
            "src/z.rs",
            "w\\u.rs",
            "w\\v.rs",
        ] {
            many.push(Text::from(name));
        }
        for number in 0..5 {
            many.push(Text::from(format!("tests/{number}.rs")));
        }
        let grouped = group_by_directory(&many);
        let lines: Vec<_> = grouped.iter().map(Text::to_string_lossy).collect();
        assert_eq!(
            lines,
            [
                "README.md",
                "src/{a.rs,z.rs}",
                "src/map/x.rs",
                "w\\{u.rs,v.rs}",
                "tests/{0.rs,1.rs,2.rs,3.rs,4.rs}",
            ]
        );
    }
}
