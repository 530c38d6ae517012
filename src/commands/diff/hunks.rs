//! A unified diff for people, coloured, with differing words highlighted.

use crate::cli::output::{Failure, Styles, Ui, styled, visible};
use crate::format::changes::{LinePart, MarkedLines, Sign, mark_changed_words};
use crate::format::counted;
use crate::ops::diff::context::Hunk;
use owo_colors::Style;
use std::ops::Range;

/// The size in bytes above which the words of a change are not compared.
const LONGEST: usize = 256 * 1024;

/// Prints hunks after a header with the names of both sides.
pub fn print_hunks(hunks: &[Hunk], names: [&str; 2], ui: &mut Ui) -> Result<(), Failure> {
    if hunks.is_empty() {
        return Ok(());
    }
    let styles = ui.styles;
    for heading in [format!("--- {}", names[0]), format!("+++ {}", names[1])] {
        ui.print(&(styled(&heading, styles.bold) + "\n"))?;
    }
    for hunk in hunks {
        let heading = format!("@@ -{} +{} @@", range(&hunk.left), range(&hunk.right));
        let mut out = styled(&heading, styles.active) + "\n";
        for block in hunk
            .lines
            .chunk_by(|(one, _), (next, _)| (*one == Sign::Common) == (*next == Sign::Common))
        {
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
        counted(
            lines.clone().filter(|(line, _)| *line == tag).count(),
            "line",
            "lines",
        )
    };
    format!("{} (-), {} (+)\n", count(Sign::Removed), count(Sign::Added))
}

/// Returns a range of lines as in a unified diff: counted from 1; for an empty range, the line
/// before it.
fn range(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

/// Appends common lines, or a change. In colour, the words of a change that has lines on both sides
/// are compared.
fn push_block(block: &[(Sign, String)], styles: &Styles, out: &mut String) {
    if let Some(marked) = compare_words(block, styles) {
        for line in &marked.old {
            push_line(Sign::Removed, line, styles, out);
        }
        for line in &marked.new {
            push_line(Sign::Added, line, styles, out);
        }
        return;
    }
    for (sign, text) in block {
        let whole = LinePart {
            is_changed: false,
            text,
        };
        push_line(*sign, &[whole], styles, out);
    }
}

/// Returns the removed and the added lines of a change with the words marked that differ; `None` if
/// they are not to be compared, or have too little in common.
fn compare_words<'b>(block: &'b [(Sign, String)], styles: &Styles) -> Option<MarkedLines<'b>> {
    let lines_with = |wanted: Sign| -> Vec<&str> {
        let lines = block.iter().filter(|(sign, _)| *sign == wanted);
        lines.map(|(_, text)| &**text).collect()
    };
    let removed = lines_with(Sign::Removed);
    let added = lines_with(Sign::Added);
    if removed.is_empty() || added.is_empty() || styles.added.is_plain() {
        return None;
    }
    let bytes: usize = block.iter().map(|(_, text)| text.len()).sum();
    if bytes > LONGEST {
        return None;
    }
    mark_changed_words(&removed, &added)
}

/// Appends a line given in parts, some of which are highlighted.
fn push_line(sign: Sign, parts: &[LinePart], styles: &Styles, out: &mut String) {
    let style = match sign {
        Sign::Common => Style::new(),
        Sign::Removed => styles.removed,
        Sign::Added => styles.added,
    };
    *out += &styled(sign.as_str(), style);
    for part in parts {
        let part_style = if part.is_changed {
            style.reversed()
        } else {
            style
        };
        *out += &styled(&visible(part.text), part_style);
    }
    out.push('\n');
}
