//! A unified diff for people, coloured, with differing words highlighted.

use crate::cli::output::{Failure, Styles, Ui, styled, visible};
use crate::format::counted;
use crate::ops::diff::context::Hunk;
use owo_colors::Style;
use similar::{ChangeTag, TextDiff};
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
        let is_change = |tag: ChangeTag| tag != ChangeTag::Equal;
        for block in hunk.lines.chunk_by(|(one, _), (next, _)| is_change(*one) == is_change(*next)) {
            push_block(block, &styles, &mut out);
        }
        ui.print(&out)?;
    }
    Ok(())
}

/// Returns the number of differing lines, as one line.
pub fn line_stat(hunks: &[Hunk]) -> String {
    let lines = hunks.iter().flat_map(|hunk| &hunk.lines);
    let count = |tag| counted(lines.clone().filter(|(line, _)| *line == tag).count(), "line", "lines");
    format!("{} (-), {} (+)\n", count(ChangeTag::Delete), count(ChangeTag::Insert))
}

/// Returns a range of lines as in a unified diff: counted from 1; for an empty range, the line before it.
fn range(lines: &Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

/// Appends common lines, or a change. In colour, the words of a change that has lines on both sides are
/// compared.
fn push_block(block: &[(ChangeTag, String)], styles: &Styles, out: &mut String) {
    let of = |tag| block.iter().filter(move |(line, _)| *line == tag).map(|(_, text)| &**text);
    let (removed, added): (Vec<_>, Vec<_>) =
        (of(ChangeTag::Delete).collect(), of(ChangeTag::Insert).collect());
    let bytes: usize = block.iter().map(|(_, text)| text.len()).sum();
    let has_both = !removed.is_empty() && !added.is_empty();
    if !has_both || styles.added.is_plain() || bytes > LONGEST {
        block.iter().for_each(|(tag, text)| push_line(*tag, [(false, &**text)].into_iter(), styles, out));
        return;
    }
    let diff = TextDiff::from_slices(&removed, &added);
    // Without the default deadline, so that the result does not depend on the speed of the machine.
    for change in diff.ops().iter().flat_map(|op| diff.iter_inline_changes_deadline(op, None)) {
        push_line(change.tag(), change.values().iter().copied(), styles, out);
    }
}

/// Appends a line given in parts, some of which are highlighted.
fn push_line<'a>(
    tag: ChangeTag,
    parts: impl Iterator<Item = (bool, &'a str)>,
    styles: &Styles,
    out: &mut String,
) {
    let (sign, style) = match tag {
        ChangeTag::Equal => (" ", Style::new()),
        ChangeTag::Delete => ("-", styles.removed),
        ChangeTag::Insert => ("+", styles.added),
    };
    *out += &styled(sign, style);
    for (is_marked, part) in parts {
        *out += &styled(&visible(part), if is_marked { style.reversed() } else { style });
    }
    out.push('\n');
}
