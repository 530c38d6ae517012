//! Findings as text and as JSON, and the exit code that follows from them.

use crate::cli::options::WriteArgs;
use crate::cli::output::{Exit, Failure, Styles, Ui, visible};
use crate::format::counted;
use crate::ops::check::{Finding, Severity, grouped, lines_of};
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::path::{Path, PathBuf};

/// The maximum number of lines about one file that each contain its path.
const MANY: usize = 8;

/// Prints findings and counts them.
pub struct Report<'a> {
    pub(super) write: &'a WriteArgs,
    /// Whether the findings that can be repaired are.
    repairs: bool,
    styles: Styles,
    counts: [usize; 3],
    repairable: usize,
    /// The files with findings that can be repaired.
    damaged: Vec<PathBuf>,
    pub repaired: usize,
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
            let is_done = self.count(finding);
            if self.write.change.json {
                let repaired = self
                    .repairs
                    .then_some(is_done && !self.write.change.dry_run);
                ui.print_json(&row(path, finding, repaired))?;
            }
        }
        let groups = match (self.write.change.json, self.repairs) {
            (true, _) => Vec::new(),
            // Each repaired entry is reported on a separate line.
            (false, true) => findings.iter().map(|finding| vec![finding]).collect(),
            (false, false) => grouped(findings),
        };
        let mut at = format!("{}:", visible(&path.to_string_lossy()));
        if groups.len() > MANY {
            ui.print(&format!("{at}\n"))?;
            at = "  ".to_owned();
        }
        groups
            .iter()
            .try_for_each(|group| ui.print(&format!("{at}{}", self.line(group))))
    }

    /// Counts a finding; returns whether the repair resolves it.
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

    /// Returns a finding as text: `line: severity: what (entry id) — consequence [repairable]`
    pub fn line(&self, group: &[&Finding]) -> String {
        let finding = group[0];
        let is_done = self.repairs && finding.is_repairable();
        let style = match finding.severity {
            _ if is_done => self.styles.assistant,
            Severity::Error => self.styles.error,
            Severity::Warning => self.styles.label,
            Severity::Note => self.styles.dim,
        };
        let severity = match (is_done, self.write.change.dry_run) {
            (true, false) => "repaired",
            (true, true) => "to repair",
            (false, _) => finding.severity.name(),
        };
        let entry = match (lines_of(group), &finding.entry) {
            (Some(lines), _) => format!(" ({lines})"),
            (None, Some(id)) => format!(" (entry {})", visible(&short(id))),
            (None, None) => String::new(),
        };
        let rest = match &finding.fix {
            Some(fix) if is_done => format!(" — {fix}"),
            Some(_) => format!("{} [repairable]", dashed(finding.consequence)),
            None => dashed(finding.consequence),
        };
        format!(
            "{}: {}: {}{entry}{}\n",
            finding.line.0,
            style.style(severity),
            visible(&short(&Text::from(finding.message.as_str()))),
            visible(&rest)
        )
    }

    /// Returns the arguments for a repair: of a session that was named to another file, of those
    /// that were found in place.
    fn how_to_repair(&self, sessions: &[PathBuf]) -> String {
        let is_plain = |c: char| c.is_alphanumeric() || "/._-~+,:@".contains(c);
        let sessions = if self.files == 1 {
            sessions
        } else {
            &self.damaged
        };
        match sessions {
            [path] => {
                let path = path.to_string_lossy();
                let option = if self.files == 1 {
                    "-o FILE"
                } else {
                    "--backup"
                };
                format!(
                    "{option} {}",
                    if path.chars().all(is_plain) {
                        &path
                    } else {
                        "SESSION"
                    }
                )
            }
            _ => "--backup SESSION...".to_owned(),
        }
    }

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

fn dashed(consequence: &str) -> String {
    if consequence.is_empty() {
        String::new()
    } else {
        format!(" — {consequence}")
    }
}

/// Returns the start of an id or message; the whole may be as long as a line.
fn short(text: &Text) -> String {
    let head = text.head_whole(200);
    let mark = if head.utf16_len() < text.utf16_len() {
        "…"
    } else {
        ""
    };
    format!("{head}{mark}")
}

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
