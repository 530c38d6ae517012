//! Groups the same finding on many entries into one line, for people.

use super::Finding;
use crate::session::entry::LineNo;
use foldhash::HashMap;
use std::fmt::Write as _;

/// The minimum number of equal findings to group.
const MANY: usize = 3;

/// The maximum number of line ranges to list.
const STRETCHES: usize = 8;

/// Equal findings.
#[derive(Debug)]
pub struct Group<'a> {
    /// The findings, by line; never empty.
    pub findings: Vec<&'a Finding>,
}

impl<'a> Group<'a> {
    /// Returns a group of one finding.
    pub fn of(finding: &'a Finding) -> Self {
        Group { findings: vec![finding] }
    }

    /// Returns the first of them, which represents all.
    pub fn first(&self) -> &Finding {
        self.findings[0]
    }

    /// Returns the number of findings and their lines, such as `12 entries, lines 2-13`; `None` if there are
    /// too few to group.
    pub fn lines(&self) -> Option<String> {
        if self.findings.len() < MANY {
            return None;
        }
        let mut text = format!("{} entries, lines ", self.findings.len());
        let stretches = stretches(self.findings.iter().map(|finding| finding.line));
        for (at, &(first, last)) in stretches.iter().take(STRETCHES).enumerate() {
            text.push_str(if at == 0 { "" } else { ", " });
            // Writing to a string cannot fail.
            let _ = if first == last {
                write!(text, "{}", first.0)
            } else {
                write!(text, "{}-{}", first.0, last.0)
            };
        }
        text.push_str(if stretches.len() > STRETCHES { ", …" } else { "" });
        Some(text)
    }
}

/// Groups equal findings at the position of the first; too few to group stay separate.
pub fn grouped(findings: &[Finding]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    let mut known = HashMap::default();
    for finding in findings {
        let says =
            (finding.kind, finding.severity, &finding.message, finding.consequence, finding.is_repairable());
        let at = *known.entry(says).or_insert(groups.len());
        match groups.get_mut(at) {
            Some(group) => group.findings.push(finding),
            None => groups.push(Group { findings: vec![finding] }),
        }
    }
    let (many, few): (Vec<_>, Vec<_>) = groups.into_iter().partition(|group| group.findings.len() >= MANY);
    let alone =
        few.into_iter().flat_map(|group| group.findings).map(|finding| Group { findings: vec![finding] });
    let mut groups: Vec<_> = many.into_iter().chain(alone).collect();
    groups.sort_by_key(|group| (group.first().line, group.first().kind));
    groups
}

/// Returns runs of consecutive lines, each as its first and last; `lines` must be in order.
fn stretches(lines: impl Iterator<Item = LineNo>) -> Vec<(LineNo, LineNo)> {
    let mut stretches: Vec<(LineNo, LineNo)> = Vec::new();
    for line in lines {
        match stretches.last_mut() {
            Some((_, last)) if line.0 <= last.0 + 1 => *last = line,
            _ => stretches.push((line, line)),
        }
    }
    stretches
}

#[cfg(test)]
mod tests {
    use super::super::{FindingKind, Severity};
    use super::*;

    fn finding(line: u32, message: &str) -> Finding {
        Finding {
            line: LineNo(line),
            entry: None,
            kind: FindingKind::NoContent,
            severity: Severity::Note,
            message: message.to_owned(),
            consequence: "",
            fix: None,
        }
    }

    fn shown(findings: &[Finding]) -> Vec<String> {
        let shown = |group: &Group| {
            let first = group.first();
            format!("{}:{} {}", first.line.0, first.message, group.lines().unwrap_or_default())
        };
        grouped(findings).iter().map(shown).collect()
    }

    #[test]
    fn many_are_one_line_at_the_place_of_the_first() {
        let mut findings: Vec<_> = (2..14).map(|line| finding(line, "a")).collect();
        findings.insert(1, finding(3, "b"));
        findings.insert(9, finding(10, "b"));
        findings.push(finding(20, "a"));
        assert_eq!(shown(&findings), ["2:a 13 entries, lines 2-13, 20", "3:b ", "10:b "]);
        let apart: Vec<_> = (0..20).map(|at| finding(2 * at, "a")).collect();
        assert_eq!(shown(&apart), ["0:a 20 entries, lines 0, 2, 4, 6, 8, 10, 12, 14, …"]);
        assert_eq!(shown(&[]), [""; 0]);
    }
}
