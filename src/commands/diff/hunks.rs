//! A unified diff for people, coloured, with differing words highlighted.

use crate::cli::output::{Failure, Styles, Ui, apply_style, to_visible};
use crate::format::changes::{DiffSign, LinePart, MarkedLines, mark_changed_words};
use crate::format::format_count;
use crate::ops::diff::context::Hunk;
use owo_colors::Style;
use std::ops::Range;

/// The size in bytes above which the words of a change are not compared.
const MAX_COMPARED_BYTES: usize = 256 * 1024;

/// Prints hunks after a header with the names of both sides.
pub fn print_hunks(hunks: &[Hunk], names: [&str; 2], ui: &mut Ui) -> Result<(), Failure> {
    if hunks.is_empty() {
        return Ok(());
    }
    let styles = ui.styles;
    for heading in [format!("--- {}", names[0]), format!("+++ {}", names[1])] {
        ui.print(&(apply_style(&heading, styles.bold) + "\n"))?;
    }
    for hunk in hunks {
        let heading = format!(
            "@@ -{} +{} @@",
            format_range(&hunk.left),
            format_range(&hunk.right)
        );
        let mut out = apply_style(&heading, styles.active) + "\n";
        for block in hunk.lines.chunk_by(|(one, _), (next, _)| {
            (*one == DiffSign::Common) == (*next == DiffSign::Common)
        }) {
            push_block(block, &styles, &mut out);
        }
        ui.print(&out)?;
    }
    Ok(())
}

/// Returns the number of differing lines, as one line.
pub fn line_stat(hunks: &[Hunk]) -> String {
    let lines = hunks.iter().flat_map(|hunk| &hunk.lines);
    let count = |tag| {
        format_count(
            lines.clone().filter(|(line, _)| *line == tag).count(),
            "line",
            "lines",
        )
    };
    format!(
        "{} (-), {} (+)\n",
        count(DiffSign::Removed),
        count(DiffSign::Added)
    )
}

/// Returns a range of lines as in a unified diff: counted from 1; for an empty range, the line
/// before it.
fn format_range(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

/// Appends common lines, or a change. In colour, the words of a change that has lines on both sides
/// are compared.
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

/// Returns the removed and the added lines of a change with the words marked that differ; `None` if
/// they are not to be compared, or have too little in common.
fn compare_words<'b>(block: &'b [(DiffSign, String)], styles: &Styles) -> Option<MarkedLines<'b>> {
    let lines_with = |wanted: DiffSign| -> Vec<&str> {
        let lines = block.iter().filter(|(sign, _)| *sign == wanted);
        lines.map(|(_, text)| &**text).collect()
    };
    let removed = lines_with(DiffSign::Removed);
    let added = lines_with(DiffSign::Added);
    if removed.is_empty() || added.is_empty() || styles.added.is_plain() {
        return None;
    }
    let bytes: usize = block.iter().map(|(_, text)| text.len()).sum();
    if bytes > MAX_COMPARED_BYTES {
        return None;
    }
    mark_changed_words(&removed, &added)
}

/// Appends a line given in parts, some of which are highlighted.
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
