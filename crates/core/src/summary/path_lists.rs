//! Lists of paths in outputs, counted by folder.

use super::outlines::list_fitting;
use foldhash::HashMap;
use std::cmp::Reverse;

/// The separators of Unix and of Windows.
const SEPARATORS: [char; 2] = ['/', '\\'];

/// A list of this many paths is counted by folder. Fewer are quoted.
const LEAST_PATHS: usize = 12;
/// The number of lines that are read of such a list.
const MOST_PATHS: usize = 5_000;

/// Counts a list of paths by their first folder: `214 paths: src 120, tests 61, README.md`. The
/// folder that all are in is named once. `None` if the output is no such list.
pub(super) fn count_paths(output: &str) -> Option<String> {
    let paths = read_paths(output)?;
    let common = common_folder(&paths);
    let paths_below = paths.iter().filter_map(|path| path.strip_prefix(common));
    let mut names = Vec::new();
    for count in count_by_folder(paths_below) {
        names.push(count.describe());
    }

    let path_count = paths.len();
    let lead = if common.is_empty() {
        format!("{path_count} paths: ")
    } else {
        format!("{path_count} paths in {common}: ")
    };
    list_fitting(&lead, &names)
}

/// Returns the paths in an output, one in each line. `None` if there are fewer than
/// [`LEAST_PATHS`], or one of the first two lines or of ten others is no path.
fn read_paths(output: &str) -> Option<Vec<&str>> {
    let mut line_count = 0;
    let mut paths = Vec::new();
    let lines = output.lines().map(str::trim);
    for line in lines.filter(|line| !line.is_empty()).take(MOST_PATHS) {
        line_count += 1;
        if is_path(line) {
            paths.push(line);
        } else if line_count <= 2 {
            // Most outputs are no lists, and need not be read any further.
            return None;
        }
    }
    let are_most_paths = 10 * paths.len() >= 9 * line_count;
    let is_list = paths.len() >= LEAST_PATHS && are_most_paths;
    is_list.then_some(paths)
}

/// The number of listed paths in a folder, or of a file outside of folders: 1.
struct FolderCount<'p> {
    /// The name of the folder or the file.
    name: &'p str,
    path_count: usize,
}

impl FolderCount<'_> {
    /// Describes the count: `src 120`, or `README.md` for a single path.
    fn describe(&self) -> String {
        if self.path_count == 1 {
            return self.name.to_owned();
        }
        format!("{} {}", self.name, self.path_count)
    }
}

/// Counts paths by their first folder. The folder with the most paths comes first and, of equals,
/// the first of the list.
fn count_by_folder<'p>(paths: impl Iterator<Item = &'p str>) -> Vec<FolderCount<'p>> {
    let mut counts: Vec<FolderCount> = Vec::new();
    let mut index_by_name: HashMap<&str, usize> = HashMap::default();
    for path in paths {
        let name = path.split(SEPARATORS).next().unwrap_or_default();
        let index = *index_by_name.entry(name).or_insert(counts.len());
        let is_new = index == counts.len();
        if is_new {
            counts.push(FolderCount {
                name,
                path_count: 0,
            });
        }
        counts[index].path_count += 1;
    }
    // The sort is stable, so equals stay in the order of the list.
    counts.sort_by_key(|count| Reverse(count.path_count));
    counts
}

/// Returns the innermost folder that all paths are in, with its separator: `src/` for `src/a/b.rs`
/// and `src/c.rs`. Empty if there is none.
fn common_folder<'p>(paths: &[&'p str]) -> &'p str {
    let mut common = folder_of(paths.first().copied().unwrap_or_default());
    for path in paths {
        while !path.starts_with(common) {
            let without_separator = common.strip_suffix(SEPARATORS).unwrap_or_default();
            common = folder_of(without_separator);
        }
    }
    common
}

/// Returns the folder of a path, with its separator: `src/a/` for `src/a/b.rs`. Empty if the path
/// is a bare name.
fn folder_of(path: &str) -> &str {
    let name = path.rsplit(SEPARATORS).next().unwrap_or_default();
    &path[..path.len() - name.len()]
}

/// Whether a line is most likely a path: one word, with a separator or the ending of a file.
/// `src/a.rs:12:use` is a match of a search and no path, for its colons.
fn is_path(line: &str) -> bool {
    const MARKS_OF_TEXT: [char; 10] = ['(', ')', ':', ',', ';', '=', '"', '|', '<', '>'];

    let is_word = !line.contains(char::is_whitespace);
    let has_form = line.contains(SEPARATORS) || line.contains('.');
    if !is_word || !has_form {
        return false;
    }
    // The second character of `C:\map` is a colon.
    let begins_with_drive = line.get(1..2) == Some(":");
    begins_with_drive || !line.contains(MARKS_OF_TEXT)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_counted_by_folder() {
        let mut output = String::new();
        for number in 0..20 {
            output.push_str(&format!("./src/a{number}.rs\n"));
        }
        output.push_str("./README.md\n");
        assert_eq!(
            count_paths(&output).unwrap(),
            "21 paths in ./: src 20, README.md"
        );
        let windows = output.replace("./", "C:\\map\\").replace('/', "\\");
        assert_eq!(
            count_paths(&windows).unwrap(),
            "21 paths in C:\\map\\: src 20, README.md"
        );
    }
}
