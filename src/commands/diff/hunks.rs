//! A unified diff for people, coloured, with differing words highlighted.

use crate::cli::output::{Failure, Styles, Ui, apply_style, to_visible};
use crate::format::changes::{DiffSign, LinePart, MarkedLines, hunk_heading, mark_changed_words};
use crate::format::format_count;
use crate::ops::diff::context::Hunk;
use owo_colors::Style;

/// The size of a change, in bytes, above which its words are not compared.
const MAX_COMPARED_BYTES: usize = 256 * 1024;

/// Prints hunks after a header with the names of both sides.
pub fn print_hunks(hunks: &[Hunk], names: [&str; 2], ui: &mut Ui) -> Result<(), Failure> {
    if hunks.is_empty() {
        return Ok(());
    }
    let styles = ui.styles;
    let [left_name, right_name] = names;
    for heading in [format!("--- {left_name}"), format!("+++ {right_name}")] {
        ui.print(&(apply_style(&heading, styles.bold) + "\n"))?;
    }
    for hunk in hunks {
        let heading = hunk_heading(&hunk.left, &hunk.right);
        let mut out = apply_style(&heading, styles.active) + "\n";
        for block in hunk.lines.chunk_by(are_in_one_block) {
            push_block(block, &styles, &mut out);
        }
        ui.print(&out)?;
    }
    Ok(())
}

/// Whether two adjacent lines of a hunk are in the same block: a run of common lines, or a change,
/// which has removed and added lines.
fn are_in_one_block((sign, _): &(DiffSign, String), (next_sign, _): &(DiffSign, String)) -> bool {
    let is_common = *sign == DiffSign::Common;
    let is_next_common = *next_sign == DiffSign::Common;
    is_common == is_next_common
}

/// Returns the numbers of removed and of added lines, as one line.
pub fn line_stat(hunks: &[Hunk]) -> String {
    let mut removed = 0;
    let mut added = 0;
    for (sign, _) in hunks.iter().flat_map(|hunk| &hunk.lines) {
        match sign {
            DiffSign::Common => {}
            DiffSign::Removed => removed += 1,
            DiffSign::Added => added += 1,
        }
    }
    format!(
        "{} (-), {} (+)\n",
        format_count(removed, "line", "lines"),
        format_count(added, "line", "lines")
    )
}

/// Appends a block: a run of common lines, or a change. In a change that has both removed and added
/// lines, the words that differ are highlighted, if the output has colour.
fn push_block(block: &[(DiffSign, String)], styles: &Styles, out: &mut String) {
    if let Some(marked) = compare_words(block, styles) {
        for line in &marked.old {
            push_line(DiffSign::Removed, line, styles, out);
        }
        for line in &marked.new {
            push_line(DiffSign::Added, line, styles, out);
        }
        return;
    }
    for (sign, text) in block {
        let whole_line = LinePart {
            is_changed: false,
            text,
        };
        push_line(*sign, &[whole_line], styles, out);
    }
}

/// Returns the removed and the added lines of a change, with the differing words marked.
///
/// `None` if nothing is to be highlighted: there is no colour, lines were only removed or only
/// added, the change is larger than [`MAX_COMPARED_BYTES`], or its lines have too little in common.
fn compare_words<'b>(block: &'b [(DiffSign, String)], styles: &Styles) -> Option<MarkedLines<'b>> {
    let has_colour = !styles.added.is_plain();
    if !has_colour {
        return None;
    }

    let mut removed: Vec<&str> = Vec::new();
    let mut added: Vec<&str> = Vec::new();
    let mut bytes = 0;
    for (sign, text) in block {
        match sign {
            // A block with a common line has only such lines.
            DiffSign::Common => return None,
            DiffSign::Removed => removed.push(text),
            DiffSign::Added => added.push(text),
        }
        bytes += text.len();
    }
    if removed.is_empty() || added.is_empty() || bytes > MAX_COMPARED_BYTES {
        return None;
    }
    mark_changed_words(&removed, &added)
}

/// Appends a line, whose changed parts are highlighted.
fn push_line(sign: DiffSign, parts: &[LinePart], styles: &Styles, out: &mut String) {
    let style = match sign {
        DiffSign::Common => Style::new(),
        DiffSign::Removed => styles.removed,
        DiffSign::Added => styles.added,
    };
    *out += &apply_style(sign.as_str(), style);
    for part in parts {
        let part_style = if part.is_changed {
            style.reversed()
        } else {
            style
        };
        *out += &apply_style(&to_visible(part.text), part_style);
    }
    out.push('\n');
}
