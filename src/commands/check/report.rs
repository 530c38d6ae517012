//! Prints findings as text and as JSON, and derives the exit code.

use crate::cli::options::WriteArgs;
use crate::cli::output::{
    Exit, Failure, Styles, Ui, display_width, push_wrapped_line, to_visible, truncate_end,
    truncate_path,
};
use crate::cli::process::command_line::is_plain_in_shell;
use crate::format::format_count;
use crate::ops::check::{Finding, Severity, describe_lines, group_findings};
use crate::session::paths::abbreviate_home;
use owo_colors::Style;
use pisess_json::text::Text;
use pisess_json::write::Object;
use std::path::{Path, PathBuf};

/// The maximum number of lines about one file that each begin with its path. If there are more
/// lines, the path is printed once, above them.
const MAX_LINES_WITH_PATH: usize = 8;

/// The indentation of a finding's consequence, which is printed on its own line.
const CONSEQUENCE_INDENT: &str = "    ";

/// The minimum width of the message in a row, however wide the rest is.
const LEAST_MESSAGE_COLUMNS: usize = 24;

/// The maximum width of the location at the end of a row. It is truncated because an id may be of
/// any length.
const MAX_LOCATION_COLUMNS: usize = 32;

/// How findings are printed.
#[derive(Clone, Copy, Debug)]
pub struct ReportStyle {
    /// Whether each session has a heading and each finding is a table row, as on a terminal.
    /// Otherwise each line begins with the path, as in the output of a compiler.
    has_headings: bool,
    /// Whether notes are printed. They are always counted.
    prints_notes: bool,
    /// Whether the consequence or the repair of a finding follows its row.
    prints_consequences: bool,
    /// The maximum width of a row; `None` if it is unlimited.
    width: Option<usize>,
}

impl ReportStyle {
    /// Returns the style for a report about `count` sessions.
    pub fn for_sessions(count: usize, is_verbose: bool, ui: &Ui) -> ReportStyle {
        let is_terminal = ui.stdout_is_terminal();
        let is_detailed = is_verbose || !is_terminal;
        ReportStyle {
            has_headings: is_terminal,
            prints_notes: is_detailed && !ui.is_quiet(),
            prints_consequences: is_detailed || count == 1,
            width: ui.row_width(),
        }
    }
}

/// Prints findings and counts them.
pub struct CheckReport<'a> {
    pub(super) write: &'a WriteArgs,
    /// Whether findings that can be repaired count as repaired.
    applies_repairs: bool,
    styles: Styles,
    pub style: ReportStyle,
    /// The number of unrepaired findings of each [`Severity`].
    counts_by_severity: [usize; 3],
    /// The number of unrepaired findings that a repair would resolve.
    repairable_count: usize,
    /// The files with findings that a repair would resolve.
    repairable_paths: Vec<PathBuf>,
    /// The number of findings that were repaired; with `-n`, that would be repaired.
    pub repaired_count: usize,
    /// The number of sessions that were reported.
    session_count: usize,
    pub exit: Exit,
}

impl<'a> CheckReport<'a> {
    /// Returns the report of a check that repairs nothing.
    pub fn new(write: &'a WriteArgs, ui: &Ui) -> Self {
        // The caller sets the style for several sessions.
        let session_count = 1;
        let is_verbose = false;
        CheckReport {
            write,
            applies_repairs: false,
            styles: ui.styles,
            style: ReportStyle::for_sessions(session_count, is_verbose, ui),
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
        let session_count = 1;
        // Notes are printed, because they are among the findings "left" that the last line counts.
        let is_verbose = true;
        CheckReport {
            applies_repairs: true,
            style: ReportStyle::for_sessions(session_count, is_verbose, ui),
            ..CheckReport::new(write, ui)
        }
    }

    /// Reports why a session cannot be checked, and raises the exit code to the exit code of the
    /// failure.
    pub fn report_failure(&mut self, failure: &Failure, ui: &mut Ui) {
        self.exit = self.exit.max(ui.report_failure(failure));
    }

    /// Counts the findings about a session and prints them: as JSON, or as text for people.
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
        }
        if !self.write.change.json {
            return self.print_findings(path, findings, ui);
        }
        for finding in findings {
            let is_repaired = self.is_resolved(finding) && !self.write.change.dry_run;
            // Without --repair, there is no member `repaired`.
            let repaired = if self.applies_repairs {
                Some(is_repaired)
            } else {
                None
            };
            ui.print_json(&finding_json(path, finding, repaired))?;
        }
        Ok(())
    }

    /// Prints the findings about a session as text. The path of the session precedes each line; of
    /// many lines, it is only printed above the first.
    fn print_findings(
        &self,
        path: &Path,
        findings: &[Finding],
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let groups = self.shown_groups(findings);
        if self.style.has_headings {
            return self.print_rows(path, &groups, ui);
        }
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

    /// Returns the findings to print. Equal findings are a group, which shares a line, except in a
    /// repair, where each has its own. Notes are left out unless they are requested.
    fn shown_groups<'f>(&self, findings: &'f [Finding]) -> Vec<Vec<&'f Finding>> {
        let mut groups = if self.applies_repairs {
            findings.iter().map(|finding| vec![finding]).collect()
        } else {
            group_findings(findings)
        };
        if !self.style.prints_notes {
            groups.retain(|group| self.is_resolved(group[0]) || group[0].severity > Severity::Note);
        }
        groups
    }

    /// Prints the path of a session as a heading, and a row for each group of equal findings.
    fn print_rows(
        &self,
        path: &Path,
        groups: &[Vec<&Finding>],
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        if groups.is_empty() {
            return Ok(());
        }
        let mut heading = to_visible(&abbreviate_home(
            &path.to_string_lossy(),
            ui.home().as_deref(),
        ));
        if let Some(width) = self.style.width {
            heading = truncate_path(&heading, 0..heading.len(), width, "…");
        }
        ui.print(&format!("{}\n", self.styles.bold.style(heading)))?;

        let last_line = groups.iter().map(|group| group[0].line.0).max();
        let line_digits = last_line.unwrap_or_default().to_string().len();
        for group in groups {
            ui.print(&self.format_row(group, line_digits))?;
        }
        Ok(())
    }

    /// Returns the row of a group of equal findings, such as `  12  warning*  an unknown entry
    /// type`: the line of the first one, in `line_digits` columns; the label, which is the severity
    /// and a mark if the findings can be repaired; and the message. With `-v`, or for a single
    /// session, the message is wrapped, and its consequence follows; otherwise it is truncated to
    /// fit.
    fn format_row(&self, group: &[&Finding], line_digits: usize) -> String {
        let parts = self.group_parts(group);
        let mark = if parts.repairable.is_empty() {
            ""
        } else {
            REPAIRABLE_MARK
        };
        let label_columns = self.label_columns();
        let label = format!("{}{mark}", parts.label);
        let line = group[0].line.0;
        let start = format!("  {line:>line_digits$}  ");
        let indent = display_width(&start) + label_columns + "  ".len();
        // Padded before it is styled, because the escape sequences of a style count as characters.
        let styled_label = parts.style.style(format!("{label:<label_columns$}"));
        let message = if self.style.prints_consequences {
            self.format_wrapped(&parts, indent)
        } else {
            self.format_truncated(parts, indent)
        };
        format!("{start}{styled_label}  {message}")
    }

    /// Returns the width of the column of labels: that of the longest one.
    fn label_columns(&self) -> usize {
        if self.applies_repairs {
            "to repair".len()
        } else {
            "warning".len() + REPAIRABLE_MARK.len()
        }
    }

    /// Returns the message and the location on one line, truncated to fit, and each excerpt on a
    /// line below it. The message begins after `indent` columns, the other lines are indented.
    fn format_truncated(&self, parts: GroupParts, indent: usize) -> String {
        let location = truncate_end(&parts.location, MAX_LOCATION_COLUMNS, "…");
        let mut message = parts.message;
        if let Some(width) = self.style.width {
            let used = indent + display_width(&location);
            let room = width.saturating_sub(used).max(LEAST_MESSAGE_COLUMNS);
            message = truncate_end(&message, room, "…");
        }
        let mut lines = format!("{message}{}\n", self.styles.dim.style(location));
        let room = match self.style.width {
            Some(width) => width.saturating_sub(indent),
            None => usize::MAX,
        };
        for excerpt in &parts.excerpts {
            let excerpt = truncate_end(excerpt, room, "…");
            lines += &format!("{:indent$}{}\n", "", self.styles.dim.style(excerpt));
        }
        lines
    }

    /// Returns the message and the location, wrapped, and each detail on lines below it. The
    /// message begins after `indent` columns, the other lines are indented.
    fn format_wrapped(&self, parts: &GroupParts, indent: usize) -> String {
        let width = self.style.width;
        let message = format!("{}{}", parts.message, parts.location);
        let mut wrapped = String::new();
        push_wrapped_line(&mut wrapped, &message, indent, width, Style::new());
        // The first line of the message continues the line with the severity, so it needs no
        // indentation.
        let mut lines = wrapped.trim_start().to_owned();
        for detail in parts.details() {
            push_wrapped_line(&mut lines, detail, indent, width, self.styles.dim);
        }
        lines
    }

    /// Whether the repair resolves a finding; with `-n`, whether it would.
    fn is_resolved(&self, finding: &Finding) -> bool {
        self.applies_repairs && finding.is_repairable()
    }

    /// Counts a finding as repaired or as left. A warning or an error that is left raises the exit
    /// code to [`Exit::Found`]. A note does not.
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

    /// Prints the number of findings that were repaired, and of those that are left.
    pub fn print_repair_counts(&self, ui: &mut Ui) -> Result<(), Failure> {
        let verb = if self.write.change.dry_run {
            "to repair"
        } else {
            "repaired"
        };
        // Flushed first, so that the findings precede the counts where both streams are one.
        ui.flush()?;
        ui.print_status(&format!(
            "{} {verb}, {} left",
            self.repaired_count,
            self.counts_by_severity.iter().sum::<usize>()
        ));
        Ok(())
    }

    /// Returns the lines about a group of equal findings, which is not empty. The first line is
    /// `line: severity: message (entry id) [repairable]`; the consequence is indented below it.
    ///
    /// The line and the message belong to the first finding. If the group has several lines, the
    /// list of lines replaces the entry. If the repair resolves the finding, `repaired` (with `-n`,
    /// `to repair`) replaces the severity, and the fix replaces the consequence.
    pub fn format_group(&self, group: &[&Finding]) -> String {
        let parts = self.group_parts(group);
        let mut text = format!(
            "{}: {}: {}{}{}\n",
            group[0].line.0,
            parts.style.style(parts.label),
            parts.message,
            parts.location,
            parts.repairable,
        );
        for detail in parts.details() {
            text += &format!("{CONSEQUENCE_INDENT}{detail}\n");
        }
        text
    }

    /// Returns the texts that describe a group of equal findings, which is not empty.
    fn group_parts(&self, group: &[&Finding]) -> GroupParts {
        let finding = group[0];
        let is_resolved = self.is_resolved(finding);
        let is_repairable = finding.fix.is_some() && !is_resolved;
        let consequence_or_fix = match &finding.fix {
            Some(fix) if is_resolved => fix,
            _ => finding.consequence,
        };
        GroupParts {
            label: self.label(finding),
            style: self.label_style(finding),
            message: to_visible(&shorten(&Text::from(finding.message.as_str()))),
            location: describe_location(group),
            repairable: if is_repairable { " [repairable]" } else { "" },
            consequence_or_fix: to_visible(consequence_or_fix),
            excerpts: describe_excerpts(group),
        }
    }

    /// Returns the severity of a finding; of one that the repair resolves, what becomes of it.
    fn label(&self, finding: &Finding) -> &'static str {
        if !self.is_resolved(finding) {
            return finding.severity.name();
        }
        if self.write.change.dry_run {
            "to repair"
        } else {
            "repaired"
        }
    }

    fn label_style(&self, finding: &Finding) -> Style {
        if self.is_resolved(finding) {
            // The finding is no longer bad, so it has the same colour whatever its severity.
            return self.styles.assistant;
        }
        match finding.severity {
            Severity::Error => self.styles.error,
            Severity::Warning => self.styles.label,
            Severity::Note => self.styles.dim,
        }
    }

    /// Returns the arguments that a hint suggests for `pisess check --repair`. `given_sessions` are
    /// the arguments of this command.
    ///
    /// If only one session was checked, the hint repairs it into another file. If several were
    /// checked and only one has repairable findings, the hint repairs that one in place.
    fn repair_arguments(&self, given_sessions: &[PathBuf]) -> String {
        let is_only_session = self.session_count == 1;
        if is_only_session && let [session] = given_sessions {
            return format!("-o FILE {}", session_argument(session));
        }
        if !is_only_session && let [session] = &self.repairable_paths[..] {
            return format!("--backup {}", session_argument(session));
        }
        "--backup SESSION...".to_owned()
    }

    /// Prints how many sessions were checked, how many findings they have, and the command that
    /// repairs them.
    pub fn print_summary(&self, sessions: &[PathBuf], ui: &mut Ui) -> Result<(), Failure> {
        if self.session_count == 0 {
            return Ok(());
        }
        let session_count = format_count(self.session_count, "session", "sessions");
        let mut summary = format!("{session_count} checked: {}", self.describe_counts());
        if self.repairable_count > 0 {
            summary += &format!("; {} repairable", self.repairable_count);
            if self.style.has_headings {
                summary += &format!(", marked {REPAIRABLE_MARK}");
            }
            let arguments = self.repair_arguments(sessions);
            summary += &format!(" (hint: pisess check --repair {arguments})");
        }
        // Flushed first, so that the findings precede the counts where both streams are one.
        ui.flush()?;
        ui.print_status(&summary);
        Ok(())
    }

    /// Returns the numbers of findings for people: `1 error, 0 warnings, 2 notes`. Points to the
    /// option that lists notes if they are not printed.
    fn describe_counts(&self) -> String {
        let [notes, warnings, errors] = self.counts_by_severity;
        if notes + warnings + errors == 0 {
            return "no problems".to_owned();
        }
        let mut counts = format!(
            "{}, {}, {}",
            format_count(errors, "error", "errors"),
            format_count(warnings, "warning", "warnings"),
            format_count(notes, "note", "notes"),
        );
        if notes > 0 && !self.style.prints_notes && !self.write.change.json {
            counts += " (-v lists notes)";
        }
        counts
    }
}

/// Returns the path of a session as an argument in a hint. A path that a shell might not take
/// literally is replaced by a placeholder.
fn session_argument(session: &Path) -> String {
    let path = session.to_string_lossy();
    if path.chars().all(is_plain_in_shell) {
        path.into_owned()
    } else {
        "SESSION".to_owned()
    }
}

/// Returns the lines of a group if there are several, else the entry of the finding, as in ` (entry
/// 5c07d14b)`. Empty if neither is known.
fn describe_location(group: &[&Finding]) -> String {
    if let Some(lines) = describe_lines(group) {
        return format!(" ({lines})");
    }
    match &group[0].entry_id {
        Some(id) => format!(" (entry {})", to_visible(&shorten(id))),
        None => String::new(),
    }
}

/// Returns what can be read of the first [`MAX_EXCERPTS`] lines of a group that are no entries,
/// each after the words that say so. Empty for other findings.
fn describe_excerpts(group: &[&Finding]) -> Vec<String> {
    let is_one_line = describe_lines(group).is_none();
    let mut excerpts = Vec::new();
    for finding in group {
        if excerpts.len() == MAX_EXCERPTS {
            break;
        }
        if finding.excerpt.is_empty() {
            continue;
        }
        let line = if is_one_line {
            "the line".to_owned()
        } else {
            format!("line {}", finding.line.0)
        };
        excerpts.push(format!("{line} has: {}", to_visible(&finding.excerpt)));
    }
    excerpts
}

/// The maximum number of damaged lines of a group whose texts are printed.
const MAX_EXCERPTS: usize = 3;

/// Follows the severity of a finding that can be repaired.
const REPAIRABLE_MARK: &str = "*";

/// The texts that describe a group of equal findings.
struct GroupParts {
    /// The severity; `repaired` or `to repair` if the repair resolves the findings.
    label: &'static str,
    style: Style,
    message: String,
    /// The lines, or the entry, of the findings in parentheses, preceded by a space.
    location: String,
    repairable: &'static str,
    consequence_or_fix: String,
    /// The readable texts of damaged lines, which are no entries; empty for other findings.
    excerpts: Vec<String>,
}

impl GroupParts {
    /// Returns the texts of the indented lines below the message.
    fn details(&self) -> impl Iterator<Item = &String> {
        let consequence_or_fix = Some(&self.consequence_or_fix).filter(|text| !text.is_empty());
        consequence_or_fix.into_iter().chain(&self.excerpts)
    }
}

/// The maximum length of an id or message in a finding, in UTF-16 units.
const MAX_UNITS: usize = 200;

/// Truncates an id or a message to [`MAX_UNITS`], adding an ellipsis. Either may be as long as a
/// whole line of a session.
fn shorten(text: &Text) -> String {
    let head = text.head_whole(MAX_UNITS);
    let ellipsis = if head.utf16_len() < text.utf16_len() {
        "…"
    } else {
        ""
    };
    format!("{head}{ellipsis}")
}

/// Returns a finding as JSON. The member `repaired` is left out if `repaired` is `None`, as without
/// `--repair`.
fn finding_json(path: &Path, finding: &Finding, repaired: Option<bool>) -> Vec<u8> {
    let excerpt = Some(finding.excerpt.as_str()).filter(|excerpt| !excerpt.is_empty());
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
        .str_or_null("excerpt", excerpt)
        .with(repaired, |row, repaired| row.bool("repaired", repaired))
        .finish()
}
