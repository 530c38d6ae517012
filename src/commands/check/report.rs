//! Findings as text and as JSON, and the exit code that follows from them.

use crate::cli::options::WriteArgs;
use crate::cli::output::{Exit, Failure, Styles, Ui, visible};
use crate::format::counted;
use crate::ops::check::{Finding, Severity, grouped, lines_of};
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::path::{Path, PathBuf};

/// The maximum number of lines about one file that each begin with its path. If there are more, the
/// path is printed once, above them.
const MOST_LINES_WITH_PATH: usize = 8;

/// Prints findings and counts them.
pub struct Report<'a> {
    pub(super) write: &'a WriteArgs,
    /// Whether the findings that can be repaired are.
    repairs: bool,
    styles: Styles,
    /// The number of unrepaired findings of each [`Severity`].
    counts: [usize; 3],
    /// The number of unrepaired findings that a repair would resolve.
    repairable: usize,
    /// The files with findings that can be repaired.
    damaged: Vec<PathBuf>,
    /// The number of findings that were repaired, or would be with `-n`.
    pub repaired: usize,
    /// The number of sessions that were reported.
    files: usize,
    pub exit: Exit,
}

impl<'a> Report<'a> {
    pub fn new(write: &'a WriteArgs, repairs: bool, ui: &Ui) -> Self {
        Report {
            write,
            repairs,
            styles: ui.styles,
            counts: [0; 3],
            repairable: 0,
            damaged: Vec::new(),
            repaired: 0,
            files: 0,
            exit: Exit::Done,
        }
    }

    /// Reports why a session cannot be checked. The others are.
    pub fn failure(&mut self, failure: &Failure, ui: &mut Ui) {
        self.exit = self.exit.max(ui.report(failure));
    }

    /// Counts the findings about a session and prints them: as JSON, one per finding; as text, one
    /// line per finding in a repair, otherwise one per group of equal findings.
    pub fn session(
        &mut self,
        path: &Path,
        findings: &[Finding],
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        self.files += 1;
        if findings.iter().any(Finding::is_repairable) {
            self.damaged.push(path.to_owned());
        }
        for finding in findings {
            let is_resolved = self.count(finding);
            if self.write.change.json {
                let is_repaired = is_resolved && !self.write.change.dry_run;
                // Without --repair, there is no member `repaired`.
                let repaired = self.repairs.then_some(is_repaired);
                ui.print_json(&row(path, finding, repaired))?;
            }
        }
        if self.write.change.json {
            return Ok(());
        }

        let groups = if self.repairs {
            // Each repaired entry is reported on a separate line.
            findings.iter().map(|finding| vec![finding]).collect()
        } else {
            grouped(findings)
        };
        let mut line_start = format!("{}:", visible(&path.to_string_lossy()));
        if groups.len() > MOST_LINES_WITH_PATH {
            ui.print(&format!("{line_start}\n"))?;
            line_start = "  ".to_owned();
        }
        for group in &groups {
            ui.print(&format!("{line_start}{}", self.line(group)))?;
        }
        Ok(())
    }

    /// Counts a finding; returns whether the repair resolves it. An unresolved warning or error sets
    /// the exit code; a note does not.
    pub fn count(&mut self, finding: &Finding) -> bool {
        if self.repairs && finding.is_repairable() {
            self.repaired += 1;
            return true;
        }
        self.counts[finding.severity as usize] += 1;
        self.repairable += usize::from(finding.is_repairable());
        if finding.severity > Severity::Note {
            self.exit = self.exit.max(Exit::Found);
        }
        false
    }

    /// Prints the number of findings that a repair resolves, and of those that remain.
    pub fn repairs(&self, ui: &mut Ui) {
        let done = if self.write.change.dry_run {
            "to repair"
        } else {
            "repaired"
        };
        ui.status(&format!(
            "{} {done}, {} left",
            self.repaired,
            self.counts.iter().sum::<usize>()
        ));
    }

    /// Returns a group of equal findings as one line: `line: severity: message (entry id) —
    /// consequence [repairable]`. The line and the message are those of the first finding. If the
    /// group has several lines, they are listed in place of the entry. If the repair resolves the
    /// finding, the line says so, and ends in the fix.
    pub fn line(&self, group: &[&Finding]) -> String {
        let finding = group[0];
        let is_resolved = self.repairs && finding.is_repairable();
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
        let place = match (lines_of(group), &finding.entry) {
            (Some(lines), _) => format!(" ({lines})"),
            (None, Some(id)) => format!(" (entry {})", visible(&short(id))),
            (None, None) => String::new(),
        };
        let effect = match &finding.fix {
            Some(fix) if is_resolved => format!(" — {fix}"),
            Some(_) => format!("{} [repairable]", dashed(finding.consequence)),
            None => dashed(finding.consequence),
        };
        format!(
            "{}: {}: {}{place}{}\n",
            finding.line.0,
            style.style(label),
            visible(&short(&Text::from(finding.message.as_str()))),
            visible(&effect)
        )
    }

    /// Returns the arguments for a repair: of a session that was named to another file, of those
    /// that were found in place.
    fn how_to_repair(&self, sessions: &[PathBuf]) -> String {
        let sessions = if self.files == 1 {
            sessions
        } else {
            &self.damaged
        };
        let [path] = sessions else {
            return "--backup SESSION...".to_owned();
        };

        let option = if self.files == 1 {
            "-o FILE"
        } else {
            "--backup"
        };
        let path = path.to_string_lossy();
        // A path with other characters is replaced by a placeholder.
        let argument = if path.chars().all(is_plain) {
            &*path
        } else {
            "SESSION"
        };
        format!("{option} {argument}")
    }

    /// Prints the number of sessions and of their findings, and how to repair those that can be.
    pub fn summary(&self, sessions: &[PathBuf], ui: &mut Ui) -> Result<(), Failure> {
        if self.files == 0 {
            return Ok(());
        }
        let [notes, warnings, errors] = self.counts;
        let found = match notes + warnings + errors {
            0 => "no problems".to_owned(),
            _ => [
                counted(errors, "error", "errors"),
                counted(warnings, "warning", "warnings"),
                counted(notes, "note", "notes"),
            ]
            .join(", "),
        };
        let hint = match self.repairable {
            0 => String::new(),
            n => format!(
                "; {n} repairable (hint: pisess check --repair {})",
                self.how_to_repair(sessions)
            ),
        };
        // The findings come first, also where both streams are one.
        ui.flush()?;
        ui.status(&format!(
            "{} checked: {found}{hint}",
            counted(self.files, "session", "sessions")
        ));
        Ok(())
    }
}

/// Whether a character may be part of a path in a suggested command.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "/._-~+,:@".contains(c)
}

/// Returns a consequence after a dash; nothing if there is none.
fn dashed(consequence: &str) -> String {
    if consequence.is_empty() {
        String::new()
    } else {
        format!(" — {consequence}")
    }
}

/// The maximum length of an id or message in a finding, in UTF-16 units.
const MOST_UNITS: usize = 200;

/// Returns the start of an id or message, and an ellipsis if that is not the whole. The whole may be
/// as long as a line of a session.
fn short(text: &Text) -> String {
    let head = text.head_whole(MOST_UNITS);
    let mark = if head.utf16_len() < text.utf16_len() {
        "…"
    } else {
        ""
    };
    format!("{head}{mark}")
}

/// Returns a finding as JSON. `repaired` is `None` without `--repair`.
fn row(path: &Path, finding: &Finding, repaired: Option<bool>) -> Vec<u8> {
    Object::new()
        .str("path", &path.to_string_lossy())
        .number("line", f64::from(finding.line.0))
        .text_or_null("id", finding.entry.as_ref())
        .str("severity", finding.severity.name())
        .str("kind", finding.kind.name())
        .str("message", &finding.message)
        .str("consequence", finding.consequence)
        .bool("repairable", finding.is_repairable())
        .str_or_null("fix", finding.fix.as_deref())
        .with(repaired, |row, repaired| row.bool("repaired", repaired))
        .finish()
}
