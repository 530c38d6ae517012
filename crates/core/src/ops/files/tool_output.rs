//! Reads the output of the tools that read and edit files, and the details that they recorded.

use super::operations::{FileChange, ReadPart, RecordedEdit};
use crate::session::content::{find_members, join_text, member_is};
use crate::session::paths::collapse_dots;
use pisess_json::Raw;

/// The output of a tool, and the details that it recorded.
#[derive(Default)]
pub struct ToolOutput {
    text: String,
    /// Whether the output is one text, without an image.
    is_one_text: bool,
    is_truncated: bool,
    /// The unified diff that pi's `edit` recorded.
    pub patch: Option<String>,
    /// The files that oh-my-pi's `edit` changed, as it recorded them.
    recorded_edits: Vec<RecordedFile>,
    /// Whether oh-my-pi changed the file again after the edit, to repair its syntax.
    pub is_repaired: bool,
    /// The lines that oh-my-pi's `read` printed, without their line numbers.
    displayed: Option<ReadPart>,
}

/// A file that an edit changed, as the tool recorded it.
struct RecordedFile {
    /// The absolute path of the file after the edit, as it was then.
    path: String,
    /// Whether the edit moved the file to this path.
    is_renamed: bool,
    edit: RecordedEdit,
}

/// The notice by which oh-my-pi replaces the end of a long text.
const CUT_NOTICE: &str = "[Session persistence truncated large content]";

/// A part of the notice that oh-my-pi changed a file again to repair its syntax.
const REPAIR_NOTICE: &str = "an automatic syntax repair (";

/// Whether the content of a message is a string, or one block of text.
fn is_one_text(content: Raw) -> bool {
    let mut blocks = content.items();
    let Some(first_block) = blocks.next() else {
        return content.is_string();
    };
    let has_more_blocks = blocks.next().is_some();
    !has_more_blocks && member_is(first_block, "type", "text")
}

impl ToolOutput {
    /// Reads the output of a tool, and the `details` that it recorded, from the message of a
    /// result.
    pub fn read(message: Raw) -> ToolOutput {
        let content = message.get("content").unwrap_or(Raw::NULL);
        let details = message.get("details").unwrap_or(Raw::NULL);
        let truncation = details.get("truncation").unwrap_or(Raw::NULL);
        let text = join_text(Some(content), "").into_string_lossy();
        ToolOutput {
            recorded_edits: read_recorded_edits(details),
            is_repaired: text.contains(REPAIR_NOTICE),
            displayed: read_displayed(details),
            text,
            is_one_text: is_one_text(content),
            is_truncated: truncation.is_object(),
            patch: read_patch(details),
        }
    }

    /// Removes and returns the recorded edit of a file. If no path fits, but only one edit was
    /// recorded, that edit is returned, because the working directory of a moved session may differ
    /// from the recorded path. An edit that moved its file is not returned in this way.
    pub fn take_recorded_edit(&mut self, path: &str) -> Option<RecordedEdit> {
        let files = &mut self.recorded_edits;
        let index = match files.iter().position(|file| file.path == path) {
            Some(index) => index,
            None if files.len() == 1 && !files[0].is_renamed => 0,
            None => return None,
        };
        Some(files.swap_remove(index).edit)
    }

    /// Returns the lines of a file that `read` printed, without the notice that there are more
    /// lines. `arguments` are the arguments of the call: `offset` is the number of the first line,
    /// from 1.
    pub fn read_lines(self, arguments: Raw) -> FileChange {
        // oh-my-pi also stores the printed lines in the details, without a notice.
        if let Some(displayed) = self.displayed {
            return displayed.into_change();
        }
        // An image, or a text beside other blocks, is not the text of a file.
        if !self.is_one_text {
            return FileChange::UnknownRead;
        }

        let offset = arguments.get("offset").and_then(Raw::number).unwrap_or(1.0);
        let first_line = if offset >= 1.0 { offset as usize } else { 1 };
        // Only a read that was cut, by its limit or by the tool, ends in a notice. In any other
        // read, a text that looks like a notice is a part of the file.
        let has_limit = arguments.get("limit").and_then(Raw::number).is_some();
        let may_have_notice = self.is_truncated || has_limit;
        if may_have_notice && let Some(notice) = split_notice(&self.text) {
            return FileChange::ReadPart(ReadPart {
                first_line,
                text: notice.text_before.to_owned(),
                line_count: notice.line_count,
            });
        }
        if self.is_truncated {
            // Without a notice in a known form, it is not known what was cut off.
            return FileChange::UnknownRead;
        }
        read_up_to_end(first_line, self.text)
    }
}

/// Returns the unified diff that an edit recorded. The member `patch` is always a unified diff. The
/// member `diff` is mostly a diff for the screen, but a unified one for some tools.
fn read_patch(details: Raw) -> Option<String> {
    if let Some(patch) = details.get_text("patch") {
        return Some(patch.into_string_lossy());
    }
    let diff = details.get_text("diff")?.into_string_lossy();
    if diff.starts_with("--- ") {
        Some(diff)
    } else {
        None
    }
}

/// Reads what oh-my-pi's `edit` recorded of each file that it changed. Files that were deleted are
/// left out, and also files that were moved without a recorded new text.
fn read_recorded_edits(details: Raw) -> Vec<RecordedFile> {
    let mut files = Vec::from_iter(details.get("perFileResults").unwrap_or(Raw::NULL).items());
    if files.is_empty() {
        files.push(details);
    }
    files.into_iter().filter_map(read_recorded_file).collect()
}

impl ReadPart {
    /// Returns the lines as the result of a read: as the whole file if they are all of its lines.
    fn into_change(self) -> FileChange {
        let printed_count = self.text.split('\n').count();
        let is_whole = self.first_line == 1 && self.line_count == Some(printed_count);
        if is_whole {
            FileChange::ReadWhole(self.text)
        } else {
            FileChange::ReadPart(self)
        }
    }
}

/// Returns the read of the lines of a file from `first_line` on (from 1), up to the last.
fn read_up_to_end(first_line: usize, text: String) -> FileChange {
    if first_line == 1 {
        return FileChange::ReadWhole(text);
    }
    let printed_count = text.split('\n').count();
    FileChange::ReadPart(ReadPart {
        first_line,
        line_count: Some(first_line - 1 + printed_count),
        text,
    })
}

/// Reads what oh-my-pi's `edit` recorded of one file. `None` if members are missing, if the file
/// was deleted, or if it was moved and its new text is not recorded.
fn read_recorded_file(file: Raw) -> Option<RecordedFile> {
    // In one walk, because the texts may be long.
    let [path, diff, old_text, new_text, operation, move_to] =
        find_members(file, ["path", "diff", "oldText", "newText", "op", "move"]);
    let path = path.and_then(Raw::text)?;
    let diff = diff.and_then(Raw::text)?;
    if operation.is_some_and(|operation| operation.is("delete")) {
        return None;
    }

    let is_renamed = move_to.is_some();
    let new_text = new_text.and_then(read_whole_text);
    if is_renamed && new_text.is_none() {
        // The diff alone is of no use: it applies to the text at the old path.
        return None;
    }
    // The old text of a moved file was the text at another path.
    let old_text = if is_renamed {
        None
    } else {
        old_text.and_then(read_whole_text)
    };
    Some(RecordedFile {
        path: collapse_dots(&path.to_string_lossy()),
        is_renamed,
        edit: RecordedEdit {
            old_text,
            new_text,
            diff: diff.into_string_lossy(),
        },
    })
}

/// Returns a recorded text; `None` if oh-my-pi cut off its end.
fn read_whole_text(value: Raw) -> Option<String> {
    let text = value.text()?.into_string_lossy();
    if text.ends_with(CUT_NOTICE) {
        None
    } else {
        Some(text)
    }
}

/// Reads the lines of a file that oh-my-pi's `read` printed; `None` if lines between them are
/// missing. If all lines of the file were printed, their number is set.
///
/// The tool does not print a line feed at the end of the file: only `fileSize`, in bytes, shows
/// whether there is one. If so, the empty text after it counts as another line here, unlike in
/// `totalLines`: `"a\n"` has two lines.
fn read_displayed(details: Raw) -> Option<ReadPart> {
    let PrintedLines {
        first_line,
        mut text,
        count,
    } = read_printed_lines(details.get("displayContent")?)?;
    let total_lines = details.get("totalLines").and_then(Raw::number);
    let file_size = details.get("fileSize").and_then(Raw::number);

    let mut line_count = None;
    let prints_all_lines = first_line == 1 && total_lines == Some(count as f64);
    if prints_all_lines {
        let printed_size = text.len() as f64;
        if file_size == Some(printed_size) {
            line_count = Some(count);
        } else if file_size == Some(printed_size + 1.0) {
            // The one byte that was not printed is the line feed at the end.
            text.push('\n');
            line_count = Some(count + 1);
        }
    }
    Some(ReadPart {
        first_line,
        text,
        line_count,
    })
}

/// Consecutive lines of a file that a tool printed.
struct PrintedLines {
    /// The number of the first line, from 1.
    first_line: usize,
    /// The lines, without a line feed after the last.
    text: String,
    /// The number of lines.
    count: usize,
}

/// Reads the lines that oh-my-pi's `read` printed; `None` if lines between them are missing, or if
/// their end was cut off.
fn read_printed_lines(displayed: Raw) -> Option<PrintedLines> {
    let text = displayed.get_text("text")?.into_string_lossy();
    let first_line = displayed.get("startLine")?.number()? as usize;
    let count = text.split('\n').count();
    // There must be one number per printed line, and the numbers must be consecutive. Otherwise,
    // lines between the printed ones are missing.
    let mut next_line = first_line;
    for number in displayed.get("lineNumbers")?.items() {
        if number.number() != Some(next_line as f64) {
            return None;
        }
        next_line += 1;
    }
    let number_count = next_line - first_line;
    // Lines are numbered from 1.
    if first_line == 0 || number_count != count || text.ends_with(CUT_NOTICE) {
        return None;
    }
    Some(PrintedLines {
        first_line,
        text,
        count,
    })
}

/// The text that `read` printed, split at the notice that the file has more lines.
struct MoreNotice<'a> {
    text_before: &'a str,
    /// The number of lines of the file.
    line_count: Option<usize>,
}

/// Splits the notice from the end of a text that `read` printed. `None` if there is no notice. It
/// has one of these forms, both of a file of 90 lines:
///
/// ```text
/// [Showing lines 1-20 of 90. … to continue.]
/// [70 more lines in file. Use offset=21 to continue.]
/// ```
fn split_notice(text: &str) -> Option<MoreNotice<'_>> {
    let (text_before, notice) = text.rsplit_once("\n\n[")?;
    if !notice.ends_with("to continue.]") {
        return None;
    }
    let line_count = if notice.starts_with("Showing lines ") {
        number_after(notice, " of ")
    } else {
        line_count_of_offset_notice(notice)
    };
    Some(MoreNotice {
        text_before,
        line_count,
    })
}

/// Returns the number of lines of a file from a notice such as `70 more lines in file. Use
/// offset=21 to continue.]`.
fn line_count_of_offset_notice(notice: &str) -> Option<usize> {
    let hidden_count = leading_number(notice)?;
    let first_hidden_line = number_after(notice, "offset=")?;
    Some((first_hidden_line + hidden_count).saturating_sub(1))
}

/// Returns the number directly after the first occurrence of `word` in a text.
fn number_after(text: &str, word: &str) -> Option<usize> {
    let (_, after_word) = text.split_once(word)?;
    leading_number(after_word)
}

/// Returns the number at the start of a text, such as 70 for `70 more lines`.
fn leading_number(text: &str) -> Option<usize> {
    let digits = text.split(|c: char| !c.is_ascii_digit()).next()?;
    digits.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_are_not_part_of_the_file() {
        for (text, line_count) in [
            (
                "a\nb\n\n[Showing lines 1-2 of 90. Use offset=3 to continue.]",
                90,
            ),
            (
                "a\nb\n\n[88 more lines in file. Use offset=3 to continue.]",
                90,
            ),
        ] {
            let notice = split_notice(text).unwrap();
            assert_eq!(notice.text_before, "a\nb");
            assert_eq!(notice.line_count, Some(line_count));
        }
        assert!(split_notice("a\n\n[b]").is_none());
    }
}
