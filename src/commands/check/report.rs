//! Findings as text and as JSON, and the exit code that follows from them.

use crate::cli::options::WriteArgs;
use crate::cli::output::{Exit, Failure, Styles, Ui, to_visible};
use crate::format::format_count;
use crate::ops::check::{Finding, Severity, describe_lines, group_findings};
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::path::{Path, PathBuf};

/// The maximum number of lines about one file that each begin with its path. If there are more, the
/// path is printed once, above them.
const MAX_LINES_WITH_PATH: usize = 8;

/// The indentation of the consequence of a finding, which is on a line of its own.
const CONSEQUENCE_INDENT: &str = "    ";

/// Prints findings and counts them.
pub struct CheckReport<'a> {
    pub(super) write: &'a WriteArgs,
    /// Whether the findings that can be repaired are.
    applies_repairs: bool,
    styles: Styles,
    /// The number of unrepaired findings of each [`Severity`].
    counts_by_severity: [usize; 3],
    /// The number of unrepaired findings that a repair would resolve.
    repairable_count: usize,
    /// The files with findings that can be repaired.
    repairable_paths: Vec<PathBuf>,
    /// The number of findings that were repaired, or would be with `-n`.
    pub repaired_count: usize,
    /// The number of sessions that were reported.
    session_count: usize,
    pub exit: Exit,
}

impl<'a> CheckReport<'a> {
    /// Returns the report of a check that repairs nothing.
    pub fn new(write: &'a WriteArgs, ui: &Ui) -> Self {
        CheckReport {
            write,
            applies_repairs: false,
            styles: ui.styles,
            counts_by_severity: [0; 3],
            repairable_count: 0,
            repairable_paths: Vec::new(),
            repaired_count: 0,
            session_count: 0,
            exit: Exit::Done,
        }
    }

    /// Returns the report of a repair, or with `-n` of what it would repair.
    pub fn for_repair(write: &'a WriteArgs, ui: &Ui) -> Self {
        CheckReport {
            applies_repairs: true,
            ..CheckReport::new(write, ui)
        }
    }

    /// Reports why a session cannot be checked, and raises the exit code to that of the failure.
    pub fn report_failure(&mut self, failure: &Failure, ui: &mut Ui) {
        self.exit = self.exit.max(ui.report_failure(failure));
    }

    /// Counts the findings about a session and prints them: as JSON, one per finding; as text, one
    /// line per finding in a repair, otherwise one per group of equal findings.
    pub fn report_session(
        &mut self,
        path: &Path,
        findings: &[Finding],
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        self.session_count += 1;
        if findings.iter().any(Finding::is_repairable) {
            self.repairable_paths.push(path.to_owned());
        }
        for finding in findings {
            self.count_finding(finding);
            if self.write.change.json {
                let is_repaired = self.is_resolved(finding) && !self.write.change.dry_run;
                // Without --repair, there is no member `repaired`.
                let repaired = self.applies_repairs.then_some(is_repaired);
                ui.print_json(&finding_json(path, finding, repaired))?;
            }
        }
        if self.write.change.json {
            return Ok(());
        }

        let groups = if self.applies_repairs {
            // Each repaired entry is reported on a separate line.
            findings.iter().map(|finding| vec![finding]).collect()
        } else {
            group_findings(findings)
        };
        let mut line_start = format!("{}:", to_visible(&path.to_string_lossy()));
        if groups.len() > MAX_LINES_WITH_PATH {
            ui.print(&format!("{line_start}\n"))?;
            line_start = "  ".to_owned();
        }
        for group in &groups {
            ui.print(&format!("{line_start}{}", self.format_group(group)))?;
        }
        Ok(())
    }

    /// Whether the repair resolves a finding, or would with `-n`.
    fn is_resolved(&self, finding: &Finding) -> bool {
        self.applies_repairs && finding.is_repairable()
    }

    /// Counts a finding as repaired, or as left. A warning or an error that is left raises the exit
    /// code to [`Exit::Found`]; a note does not.
    pub fn count_finding(&mut self, finding: &Finding) {
        if self.is_resolved(finding) {
            self.repaired_count += 1;
            return;
        }
        self.counts_by_severity[finding.severity as usize] += 1;
        if finding.is_repairable() {
            self.repairable_count += 1;
        }
        if finding.severity > Severity::Note {
            self.exit = self.exit.max(Exit::Found);
        }
    }

    /// Prints the number of findings that a repair resolves, and of those that remain.
    pub fn print_repair_counts(&self, ui: &mut Ui) {
        let verb = if self.write.change.dry_run {
            "to repair"
        } else {
            "repaired"
        };
        ui.print_status(&format!(
            "{} {verb}, {} left",
            self.repaired_count,
            self.counts_by_severity.iter().sum::<usize>()
        ));
    }

    /// Returns a group of equal findings, at least one: `line: severity: message (entry id)
    /// [repairable]`, and below it, indented, the consequence. The line and the message are those
    /// of the first finding. If the group has several lines, they are listed in place of the entry.
    /// If the repair resolves the finding, `repaired` replaces the severity (with `-n`, `to repair`
    /// does), and the fix replaces the consequence.
    pub fn format_group(&self, group: &[&Finding]) -> String {
        let finding = group[0];
        let is_resolved = self.is_resolved(finding);
        let (label, style) = if is_resolved {
            let label = if self.write.change.dry_run {
                "to repair"
            } else {
                "repaired"
            };
            (label, self.styles.assistant)
        } else {
            let style = match finding.severity {
                Severity::Error => self.styles.error,
                Severity::Warning => self.styles.label,
                Severity::Note => self.styles.dim,
            };
            (finding.severity.name(), style)
        };
        let location = match (describe_lines(group), &finding.entry_id) {
            (Some(lines), _) => format!(" ({lines})"),
            (None, Some(id)) => format!(" (entry {})", to_visible(&shorten(id))),
            (None, None) => String::new(),
        };
        let repairable = if finding.fix.is_some() && !is_resolved {
            " [repairable]"
        } else {
            ""
        };
        let mut text = format!(
            "{}: {}: {}{location}{repairable}\n",
            finding.line.0,
            style.style(label),
            to_visible(&shorten(&Text::from(finding.message.as_str()))),
        );
        let consequence_or_fix = match &finding.fix {
            Some(fix) if is_resolved => fix,
            _ => finding.consequence,
        };
        if !consequence_or_fix.is_empty() {
            text += &format!("{CONSEQUENCE_INDENT}{}\n", to_visible(consequence_or_fix));
        }
        text
    }

    /// Returns the arguments that a hint suggests for `pisess check --repair`. `given_sessions` are
    /// the arguments of this command.
    ///
    /// The only session that was checked is repaired into another file. Among several, the only
    /// one with repairable findings is repaired in place.
    fn repair_arguments(&self, given_sessions: &[PathBuf]) -> String {
        let is_only_session = self.session_count == 1;
        let (option, sessions) = if is_only_session {
            ("-o FILE", given_sessions)
        } else {
            ("--backup", &self.repairable_paths[..])
        };
        let [path] = sessions else {
            return "--backup SESSION...".to_owned();
        };

        let path = path.to_string_lossy();
        // A path that a shell might not take literally is replaced by a placeholder.
        let argument = if path.chars().all(is_plain_in_shell) {
            &*path
        } else {
            "SESSION"
        };
        format!("{option} {argument}")
    }

    /// Prints the number of sessions and of their findings, and how to repair those that can be.
    pub fn print_summary(&self, sessions: &[PathBuf], ui: &mut Ui) -> Result<(), Failure> {
        if self.session_count == 0 {
            return Ok(());
        }
        let [notes, warnings, errors] = self.counts_by_severity;
        let counts = match notes + warnings + errors {
            0 => "no problems".to_owned(),
            _ => [
                format_count(errors, "error", "errors"),
                format_count(warnings, "warning", "warnings"),
                format_count(notes, "note", "notes"),
            ]
            .join(", "),
        };
        let hint = match self.repairable_count {
            0 => String::new(),
            count => format!(
                "; {count} repairable (hint: pisess check --repair {})",
                self.repair_arguments(sessions)
            ),
        };
        // The findings come first, also where both streams are one.
        ui.flush()?;
        ui.print_status(&format!(
            "{} checked: {counts}{hint}",
            format_count(self.session_count, "session", "sessions")
        ));
        Ok(())
    }
}

/// Whether a character may be part of a path in a suggested command.
fn is_plain_in_shell(c: char) -> bool {
    c.is_alphanumeric() || "/._-~+,:@".contains(c)
}

/// The maximum length of an id or message in a finding, in UTF-16 units.
const MAX_UNITS: usize = 200;

/// Truncates an id or a message to [`MAX_UNITS`], with an ellipsis: it may be as long as a line of
/// a session.
fn shorten(text: &Text) -> String {
    let head = text.head_whole(MAX_UNITS);
    let ellipsis = if head.utf16_len() < text.utf16_len() {
        "…"
    } else {
        ""
    };
    format!("{head}{ellipsis}")
}

/// Returns a finding as JSON. Without `--repair`, `repaired` is `None`, and there is no such
/// member.
fn finding_json(path: &Path, finding: &Finding, repaired: Option<bool>) -> Vec<u8> {
    Object::new()
        .str("path", &path.to_string_lossy())
        .number("line", f64::from(finding.line.0))
        .text_or_null("id", finding.entry_id.as_ref())
        .str("severity", finding.severity.name())
        .str("kind", finding.kind.name())
        .str("message", &finding.message)
        .str("consequence", finding.consequence)
        .bool("repairable", finding.is_repairable())
        .str_or_null("fix", finding.fix.as_deref())
        .with(repaired, |row, repaired| row.bool("repaired", repaired))
        .finish()
}
