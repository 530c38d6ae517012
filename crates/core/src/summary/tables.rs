//! Tables in replies: their rows, and which of them a later reply calls out of date.

use super::words::compile_expression;
use regex::Regex;
use std::ops::Range;
use std::sync::LazyLock;

/// Returns the byte range of the rows of an answer's first table; `None` if the answer has no
/// table, or the table has no digit and so reports no values.
pub(super) fn find_value_table(answer: &str) -> Option<Range<usize>> {
    let mut start = None;
    // The byte offset of the line that is read.
    let mut offset = 0;
    for line in answer.split_inclusive('\n') {
        if is_table_row(line) {
            start.get_or_insert(offset);
        } else if start.is_some() {
            break;
        }
        offset += line.len();
    }
    let table = start?..offset;
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
    (earlier|previous|old|früheren?|alten?)\ (tables?|numbers|values|figures|measurements|results
      |tabellen?|zahlen|werte)
    | (tables?|numbers|values|figures|results|ones?|tabellen?|zahlen|werte)
      \ (before|above|from\ before|von\ vorhin|oben)";

/// What is between them: no mark, except for a comma before another verb, as in "The earlier tables
/// were measured on the old disk, and are too high".
const BETWEEN: &str =
    r"([^.,;:\n]|,\ (and|so|und)\ ((it|they|sie)\ )?(is|are|was|were|ist|sind|war|waren)\b)*";

/// With one of these words between them, the values are not out of date, or only perhaps.
const NOT_VOIDING: [&str; 20] = [
    "not", "no", "never", "still", "but", "if", "whether", "would", "could", "may", "might",
    "than", "nicht", "nie", "kein", "keine", "noch", "aber", "wenn", "ob",
];

/// What a reply calls out of date.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OutOfDate {
    Table,
    /// Values, or "the one above".
    Values,
}

/// Finds what earlier values a sentence of a reply calls out of date: "The table before is void.",
/// "The earlier tables are too high." If one sentence calls a table so, others do not matter.
pub(super) fn find_out_of_date(reply: &str) -> Option<OutOfDate> {
    static VOIDING: LazyLock<Regex> = LazyLock::new(|| {
        let words = OUT_OF_DATE.join("|").replace(' ', r"\ ");
        compile_expression(&format!(
            r"(?ix)(?<values>{EARLIER_VALUES})\ (?<between>({BETWEEN}\ )?)(?<word>{words})(\W|$)"
        ))
    });
    // Few replies have these words, and the expression is compiled for them only.
    if !OUT_OF_DATE.iter().any(|words| reply.contains(words)) {
        return None;
    }
    let mut found = None;
    for voiding in VOIDING.captures_iter(reply) {
        let before = &reply[..voiding.get_match().start()];
        let clause_start = before.rsplit(['.', ',', ';', ':', '\n']).next();
        let is_condition = is_supposed(clause_start.unwrap_or_default());
        if is_condition || is_denied(&voiding["between"], &voiding["word"]) {
            continue;
        }
        let is_table = voiding["values"].to_lowercase().contains("tab");
        if is_table {
            return Some(OutOfDate::Table);
        }
        found = Some(OutOfDate::Values);
    }
    found
}

/// Whether the words before values, in their clause, make what follows a condition: "if the old
/// table is wrong".
fn is_supposed(before: &str) -> bool {
    const CONDITIONS: [&str; 6] = ["if", "whether", "not", "wenn", "ob", "nicht"];
    let lower = before.to_lowercase();
    let mut words = lower.split_whitespace();
    words.any(|word| CONDITIONS.contains(&word))
}

/// Whether the words between values and a word that calls something out of date deny that, or the
/// word belongs to another thing: "the earlier values come from the wrong file".
fn is_denied(between: &str, word: &str) -> bool {
    const ARTICLES: [&str; 9] = [
        "the", "a", "an", "this", "that", "der", "die", "das", "eine",
    ];

    let lower = between.to_lowercase();
    for denying in lower.split(|c: char| !c.is_alphanumeric() && !"'’".contains(c)) {
        let is_negated_verb = denying.ends_with("n't") || denying.ends_with("n’t");
        if is_negated_verb || NOT_VOIDING.contains(&denying) {
            return true;
        }
    }
    // Before "artefact", a noun, an article is its own. Before an adjective, it begins the name of
    // another thing.
    let is_noun = word.to_lowercase().starts_with("art");
    let word_before = lower.split_whitespace().next_back().unwrap_or_default();
    !is_noun && ARTICLES.contains(&word_before)
}

/// Whether a table lists what an `earlier` one does: both have the same first column, and a row
/// with the same first cell. Rows of totals are in tables of any kind.
pub(super) fn lists_same(table: &str, earlier: &str) -> bool {
    let labels: Vec<String> = row_labels(table);
    first_cell(table) == first_cell(earlier)
        && row_labels(earlier)
            .iter()
            .any(|label| labels.contains(label))
}

/// Labels of rows that sum up others.
const TOTALS: [&str; 16] = [
    "total",
    "totals",
    "sum",
    "average",
    "avg",
    "mean",
    "median",
    "all",
    "overall",
    "gesamt",
    "summe",
    "mittel",
    "mittelwert",
    "durchschnitt",
    "somme",
    "moyenne",
];

/// Returns the first cells of the rows below the head of a table, in lower case, without those of
/// totals.
fn row_labels(table: &str) -> Vec<String> {
    /// The names of the columns, and the line below them.
    const HEAD_LINES: usize = 2;

    let mut labels = Vec::new();
    for row in table.lines().skip(HEAD_LINES) {
        let label = first_cell(row);
        if !label.is_empty() && !TOTALS.contains(&&*label) {
            labels.push(label);
        }
    }
    labels
}

/// Returns the first cell of a table or row, in lower case and without marks.
fn first_cell(rows: &str) -> String {
    let cells = rows.trim_start_matches(['|', ' ']);
    let cell = cells.split(['|', '\n']).next().unwrap_or_default();
    cell.trim_matches(['*', '_', ' ', ':']).to_lowercase()
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
        for (reply, out_of_date) in [
            ("The one above is void.", Some(OutOfDate::Values)),
            (
                "The earlier tables were measured on the old disk, and are too high.",
                Some(OutOfDate::Table),
            ),
            ("Die alten Werte sind hinfällig.", Some(OutOfDate::Values)),
            (
                "The table above is an artefact of the cache.",
                Some(OutOfDate::Table),
            ),
            ("The earlier tables stay. The new limit is too high.", None),
            (
                "The old values are wrong. The table above is void.",
                Some(OutOfDate::Table),
            ),
            ("The new table is wrong.", None),
            ("The log agrees: the earlier numbers are not wrong.", None),
            (
                "The earlier values still hold, but the old limit was wrong",
                None,
            ),
            (
                "I removed the old results from the cache, which were invalid",
                None,
            ),
            ("The earlier values come from the wrong file.", None),
            ("If the old table is wrong, I measure again.", None),
        ] {
            assert_eq!(find_out_of_date(reply), out_of_date, "{reply}");
        }
    }

    #[test]
    fn tables_list_the_same_if_they_share_more_than_a_total() {
        let table = |head: &str, rows: &[&str]| {
            let mut text = format!("| {head} | MB/s |\n|---|---:|\n");
            for row in rows {
                text.push_str(&format!("| {row} | 12 |\n"));
            }
            text
        };
        let disks = table("disk", &["north", "**total**"]);
        assert!(lists_same(&disks, &table("Disk", &["**North**", "south"])));
        assert!(!lists_same(&disks, &table("disk", &["south", "total"])));
        assert!(!lists_same(&disks, &table("cable", &["north", "total"])));
    }
}
