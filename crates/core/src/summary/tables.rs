//! Tables in replies: their rows, and which of them a later reply calls out of date.

use super::words::compile_expression;
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// Returns the byte range of the rows of an answer's first table; `None` if the answer has no
/// table, or the table has no digit and so reports no values.
pub(super) fn find_value_table(answer: &str) -> Option<Range<usize>> {
    let mut start = None;
    let mut end = 0;
    for line in answer.split_inclusive('\n') {
        let line_start = end;
        if is_table_row(line) {
            start.get_or_insert(line_start);
        } else if start.is_some() {
            break;
        }
        end += line.len();
    }
    let table = start?..end;
    let has_value = answer[table.clone()].contains(|c: char| c.is_ascii_digit());
    has_value.then_some(table)
}

/// What replaces a table that a later reply calls out of date.
pub(super) const VOID_TABLE: &str = "(a table that is out of date)\n";

/// The words that call values out of date.
const OUT_OF_DATE: [&str; 18] = [
    "void",
    "obsolete",
    "outdated",
    "invalid",
    "wrong",
    "superseded",
    "too high",
    "too low",
    "artefact",
    "artefacts",
    "artifact",
    "artifacts",
    "veraltet",
    "ungültig",
    "hinfällig",
    "zu hoch",
    "zu niedrig",
    "falsch",
];

/// What is called so: earlier values, or a table or values before.
const EARLIER_VALUES: &str = r"
    (earlier|previous|old|früheren?|alten?)\ (tables?|numbers|values|figures|measurements|results|tabellen?|zahlen|werte)
    | (tables?|numbers|values|figures|results|ones?|tabellen?|zahlen|werte)\ (before|above|from\ before|von\ vorhin|oben)";

/// Whether a sentence of a reply calls earlier values out of date: "The table before is void.",
/// "The earlier tables are too high."
pub(super) fn voids_earlier_values(reply: &str) -> bool {
    static VOIDING: LazyLock<Regex> = LazyLock::new(|| {
        let words = OUT_OF_DATE.join("|").replace(' ', r"\ ");
        compile_expression(&format!(
            r"(?ix)({EARLIER_VALUES})\ ([^.\n]*\ )?({words})(\W|$)"
        ))
    });
    // Few replies have these words, and the expression is compiled for them only.
    let may_void = OUT_OF_DATE.iter().any(|words| reply.contains(words));
    may_void && VOIDING.is_match(reply)
}

/// Whether two tables have a row with the same first cell.
pub(super) fn shares_row(table: &str, other: &str) -> bool {
    let labels: Vec<&str> = row_labels(table).collect();
    row_labels(other).any(|label| labels.contains(&label))
}

/// Iterates over the first cells of the rows below the head of a table.
fn row_labels(table: &str) -> impl Iterator<Item = &str> {
    /// The names of the columns, and the line below them.
    const HEAD_LINES: usize = 2;

    let rows = table.lines().skip(HEAD_LINES);
    rows.map(|row| {
        row.trim_matches(['|', ' '])
            .split('|')
            .next()
            .unwrap_or_default()
            .trim()
    })
    .filter(|label| !label.is_empty())
}

/// Whether a line is the one between the head and the rows of a table: `| --- | :-: |`.
pub(super) fn is_table_rule(line: &str) -> bool {
    is_table_row(line) && line.contains("--") && line.chars().all(|c| "|-: ".contains(c))
}

/// Whether a line is a row of a table in Markdown.
pub(super) fn is_table_row(line: &str) -> bool {
    let row = line.trim();
    row.len() > 1 && row.starts_with('|') && row.ends_with('|')
}

/// Returns a row of a table without the bars at its ends, and any other line as it is.
pub(super) fn strip_outer_bars(line: &str) -> &str {
    if !is_table_row(line) {
        return line;
    }
    let inner = line.trim_start_matches('|').trim_end_matches('|');
    inner.trim()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_voids_earlier_values_in_one_sentence() {
        for (reply, is_voiding) in [
            ("The one above is void.", true),
            (
                "The earlier tables were measured on the old disk, and are too high.",
                true,
            ),
            ("Die alten Werte sind hinfällig.", true),
            ("The earlier tables stay. The new limit is too high.", false),
            ("The new table is wrong.", false),
        ] {
            assert_eq!(voids_earlier_values(reply), is_voiding, "{reply}");
        }
    }
}
