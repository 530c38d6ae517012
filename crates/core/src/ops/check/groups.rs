//! Groups the same finding on many entries into one line, for people.

use super::Finding;
use foldhash::HashMap;

/// The minimum number of equal findings to group.
const MANY: usize = 3;

/// The maximum number of line ranges to list.
const MOST_RANGES: usize = 8;

/// Groups equal findings at the position of the first; too few to group stay separate.
pub fn grouped(findings: &[Finding]) -> Vec<Vec<&Finding>> {
    let mut groups: Vec<Vec<&Finding>> = Vec::new();
    let mut known = HashMap::default();
    for finding in findings {
        let says = (
            finding.kind,
            finding.severity,
            &finding.message,
            finding.consequence,
            finding.is_repairable(),
        );
        let at = *known.entry(says).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(group) => group.push(finding),
            None => groups.push(vec![finding]),
        }
    }
    let (many, few): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| group.len() >= MANY);
    let alone = few.into_iter().flatten().map(|finding| vec![finding]);
    let mut groups: Vec<_> = many.into_iter().chain(alone).collect();
    groups.sort_by_key(|group| (group[0].line, group[0].kind));
    groups
}

/// Returns the number of equal findings and their lines, such as `12 entries, lines 2-13`; `None`
/// if there are too few to group.
pub fn lines_of(findings: &[&Finding]) -> Option<String> {
    if findings.len() < MANY {
        return None;
    }
    let runs: Vec<_> = findings
        .chunk_by(|one, next| next.line.0 <= one.line.0 + 1)
        .collect();
    let shown = |run: &&[&Finding]| match (run[0].line.0, run[run.len() - 1].line.0) {
        (first, last) if first == last => first.to_string(),
        (first, last) => format!("{first}-{last}"),
    };
    let lines: Vec<_> = runs.iter().take(MOST_RANGES).map(shown).collect();
    let more = if runs.len() > MOST_RANGES {
        ", …"
    } else {
        ""
    };
    Some(format!(
        "{} entries, lines {}{more}",
        findings.len(),
        lines.join(", ")
    ))
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
                lines_of(group).unwrap_or_default()
            )
        };
        grouped(findings).iter().map(shown).collect()
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
