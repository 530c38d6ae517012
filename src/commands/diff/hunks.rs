//! A unified diff for people, coloured, with differing words highlighted.

use crate::cli::output::{Failure, Styles, Ui, styled, visible};
use crate::format::changes::{Sign, marked};
use crate::format::counted;
use crate::ops::diff::context::Hunk;
use owo_colors::Style;
use std::ops::Range;

/// The size in bytes above which the words of a change are not compared.
const LONGEST: usize = 256 * 1024;

/// Prints hunks after a header with the names of both sides.
pub fn print_hunks(hunks: &[Hunk], names: [&str; 2], ui: &mut Ui) -> Result<(), Failure> {
    let styles = ui.styles;
    let headings = [format!("--- {}", names[0]), format!("+++ {}", names[1])];
    for heading in headings.iter().filter(|_| !hunks.is_empty()) {
        ui.print(&(styled(heading, styles.bold) + "\n"))?;
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
    let of = |side| {
        block
            .iter()
            .filter(move |(line, _)| *line == side)
            .map(|(_, text)| &**text)
            .collect::<Vec<_>>()
    };
    let [removed, added] = [Sign::Removed, Sign::Added].map(of);
    let bytes: usize = block.iter().map(|(_, text)| text.len()).sum();
    let is_compared =
        !removed.is_empty() && !added.is_empty() && !styles.added.is_plain() && bytes <= LONGEST;
    match is_compared.then(|| marked(&removed, &added)).flatten() {
        Some([removed, added]) => {
            removed
                .iter()
                .for_each(|line| push_line(Sign::Removed, line, styles, out));
            added
                .iter()
                .for_each(|line| push_line(Sign::Added, line, styles, out));
        }
        None => block
            .iter()
            .for_each(|(side, text)| push_line(*side, &[(false, text)], styles, out)),
    }
}

/// Appends a line given in parts, some of which are highlighted.
fn push_line(sign: Sign, parts: &[(bool, &str)], styles: &Styles, out: &mut String) {
    let style = match sign {
        Sign::Common => Style::new(),
        Sign::Removed => styles.removed,
        Sign::Added => styles.added,
    };
    *out += &styled(sign.as_str(), style);
    for (is_marked, part) in parts {
        *out += &styled(
            &visible(part),
            if *is_marked { style.reversed() } else { style },
        );
    }
    out.push('\n');
}
