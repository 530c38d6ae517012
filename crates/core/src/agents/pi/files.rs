//! The texts that pi puts around a summary: the preamble of a branch summary before it, and the
//! lists of files after it.

use crate::agents::prepare::FileLists;
use pisess_json::text::Text;

/// The text before a branch summary.
pub const BRANCH_SUMMARY_PREAMBLE: &str = "The user explored a different conversation branch before returning here.\nSummary of that exploration:\n\n";

/// Appends the files that were read and those that were modified, each as a list in a tag:
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
