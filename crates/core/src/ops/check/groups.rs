//! Groups findings that many entries have in common, so that each group can be printed as one line.

use super::Finding;
use foldhash::HashMap;

/// The minimum number of equal findings that are printed as one line.
const MIN_GROUP: usize = 3;

/// The maximum number of line ranges that are listed before `…`.
const MAX_RANGES: usize = 8;

/// Groups equal findings: those that differ only in line, entry, excerpt and fix text. Fewer than
/// `MIN_GROUP` equal findings are not worth a group, so each gets a group of its own. The groups
/// are ordered by the line and kind of their first finding.
pub fn group_findings(findings: &[Finding]) -> Vec<Vec<&Finding>> {
    let mut groups = Vec::new();
    let mut separate = Vec::new();
    for equal in collect_equal(findings) {
        if equal.len() >= MIN_GROUP {
            groups.push(equal);
        } else {
            separate.extend(equal.into_iter().map(|finding| vec![finding]));
        }
    }
    // The sort is stable: if a group and a separate finding have the same line and kind, the group
    // comes first.
    groups.append(&mut separate);
    groups.sort_by_key(|group| (group[0].line, group[0].kind));
    groups
}

/// Returns the equal findings together, in the order of the first of each.
fn collect_equal(findings: &[Finding]) -> Vec<Vec<&Finding>> {
    let mut equal_findings: Vec<Vec<&Finding>> = Vec::new();
    // The index in `equal_findings` of the findings with each key.
    let mut index_by_key: HashMap<_, usize> = HashMap::default();
    for finding in findings {
        let key = (
            finding.kind,
            finding.severity,
            &finding.message,
            finding.consequence,
            finding.is_repairable(),
        );
        match index_by_key.get(&key) {
            Some(&index) => equal_findings[index].push(finding),
            None => {
                index_by_key.insert(key, equal_findings.len());
                equal_findings.push(vec![finding]);
            }
        }
    }
    equal_findings
}

/// Returns the number of equal findings and their lines, such as `12 entries, lines 2-13`; `None`
/// for fewer than `MIN_GROUP` findings, which are printed one by one. The findings are in the order
/// of their lines.
pub fn describe_lines(findings: &[&Finding]) -> Option<String> {
    if findings.len() < MIN_GROUP {
        return None;
    }

    // A run of findings on the same or adjacent lines is printed as a range.
    let runs: Vec<_> = findings
        .chunk_by(|one, next| next.line.0 <= one.line.0 + 1)
        .collect();
    let mut ranges = Vec::new();
    for run in runs.iter().take(MAX_RANGES) {
        let first = run[0].line.0;
        let last = run[run.len() - 1].line.0;
        if first == last {
            ranges.push(first.to_string());
        } else {
            ranges.push(format!("{first}-{last}"));
        }
    }
    if runs.len() > MAX_RANGES {
        ranges.push("…".to_owned());
    }

    let count = findings.len();
    Some(format!("{count} entries, lines {}", ranges.join(", ")))
}

#[cfg(test)]
mod tests {
    use super::super::FindingKind;
    use super::*;
    use crate::session::entry::LineNo;

    fn finding(line: u32, message: &str) -> Finding {
        Finding::new(LineNo(line), FindingKind::NoContent, message)
    }

    fn shown(findings: &[Finding]) -> Vec<String> {
        let shown = |group: &Vec<&Finding>| {
            format!(
                "{}:{} {}",
                group[0].line.0,
                group[0].message,
                describe_lines(group).unwrap_or_default()
            )
        };
        group_findings(findings).iter().map(shown).collect()
    }

    #[test]
    fn many_are_one_line_at_the_place_of_the_first() {
        let mut findings: Vec<_> = (2..14).map(|line| finding(line, "a")).collect();
        findings.insert(1, finding(3, "b"));
        findings.insert(9, finding(10, "b"));
        findings.push(finding(20, "a"));
        assert_eq!(
            shown(&findings),
            ["2:a 13 entries, lines 2-13, 20", "3:b ", "10:b "]
        );
        let apart: Vec<_> = (0..20).map(|at| finding(2 * at, "a")).collect();
        assert_eq!(
            shown(&apart),
            ["0:a 20 entries, lines 0, 2, 4, 6, 8, 10, 12, 14, …"]
        );
        assert_eq!(shown(&[]), [""; 0]);
    }
}
