//! `pisess check`: finds problems in session files, explains their consequences, and repairs them.

use super::input::Input;
use super::places::named;
use super::transaction::{output_or_input, store_options, under_lock};
use crate::core::json::write::Object;
use crate::core::load::Options;
use crate::core::ops::check::{Checkup, Finding, Group, Severity, check, grouped};
use crate::core::store::{self, Attempt, Committed, SessionFile, StoreError};
use crate::core::text::Text;
use crate::core::workers::in_order;
use crate::guide::{Example, Guide};
use crate::options::WriteArgs;
use crate::ui::{Exit, Failure, Styles, Ui, visible};
use std::io;
use std::path::{Path, PathBuf};

/// The examples and exit codes shown after the options in the help, and in the man page.
pub const GUIDE: Guide = Guide {
    verb: "check",
    examples: &[
        Example::new("Check a session", "pisess check session.jsonl"),
        Example::new("Check all sessions below a directory", "pisess check -r sessions"),
        Example::answers_no("Print the findings as JSON", "pisess check --json broken.jsonl"),
        Example::new(
            "Repair a session into another file",
            "pisess check --repair -o mended.jsonl broken.jsonl",
        ),
    ],
    found: Some("a warning or an error was found"),
    writes: true,
    refers: false,
};

/// Check session files, and optionally repair them.
///
/// One finding is printed per line: file, line number, severity, problem, consequence for the agent that opens
/// the session, and whether it can be repaired. An error means that data is lost, an agent hangs or the session
/// does not open; a warning, that the session opens incomplete or is displayed wrongly; a note is informational
/// and does not affect the exit code. For a directory, the *.jsonl files directly in it are checked.
///
/// With --repair, unambiguous repairs are applied: to another file with -o, or in place with --backup. Bytes
/// that are removed are kept beside the file, in FILE.rejected. The exit code is then the one that a check of
/// the repaired file would give.
#[derive(Debug, clap::Args)]
#[command(after_long_help = GUIDE.help())]
pub struct Args {
    /// Session files, directories of them, or - for standard input
    #[arg(required = true, value_name = "SESSION")]
    pub sessions: Vec<PathBuf>,
    /// Recurse into subdirectories
    #[arg(short, long)]
    pub recursive: bool,
    /// Apply unambiguous repairs; requires -o or --backup
    #[arg(long)]
    pub repair: bool,
    /// Repair in place, keeping the old file with SUFFIX appended to its name
    #[arg(long, value_name = "SUFFIX", num_args = 0..=1, require_equals = true, default_missing_value = ".bak", requires = "repair", conflicts_with = "output", help_heading = "Writing")]
    pub backup: Option<String>,
    /// Options for writing.
    #[command(flatten)]
    pub write: WriteArgs,
}

/// Runs the command.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    if args.repair {
        return match &args.sessions[..] {
            [session] => repair(session, args, ui),
            _ => Err(Failure::cannot("--repair takes only one session")),
        };
    }
    if args.write.output.is_some() {
        return Err(
            Failure::cannot("-o requires --repair").hint("to save the findings, redirect standard output")
        );
    }
    let (subjects, workers, is_stdout) = (listed(args, ui), ui.processors(), ui.stdout_is());
    let options = Options { workers: workers / workers.min(subjects.len()).max(1), ..Options::default() };
    let mut report = Report::new(args, ui);
    in_order(
        subjects,
        workers,
        |subject| subject.checked(&options, is_stdout),
        |(path, found)| report.session(&path, found, ui),
    )?;
    report.summary(ui);
    Ok(report.exit)
}

/// A session to check.
struct Subject {
    path: PathBuf,
    /// Standard input is already open; a path that could not be listed has already failed.
    input: Result<Option<Input>, Failure>,
}

/// Returns the sessions to check; a directory is replaced by the sessions in it.
fn listed(args: &Args, ui: &mut Ui) -> Vec<Subject> {
    let mut subjects = Vec::new();
    for path in &args.sessions {
        let failed = |error: StoreError| Subject { path: path.clone(), input: Err(error.into()) };
        if path == Path::new("-") {
            subjects.push(Subject { path: path.clone(), input: Input::open(path, ui).map(Some) });
            continue;
        }
        let named = match named(path, ui) {
            Ok(named) => named.path,
            Err(failure) => {
                subjects.push(Subject { path: path.clone(), input: Err(failure) });
                continue;
            }
        };
        match store::list_sessions(&named, args.recursive) {
            Ok(listing) => {
                let found = listing.sessions.into_iter().map(|path| Subject { path, input: Ok(None) });
                subjects.extend(listing.problems.into_iter().map(failed).chain(found));
            }
            Err(error) => subjects.push(failed(error)),
        }
    }
    subjects
}

impl Subject {
    fn checked(
        self,
        options: &Options,
        is_stdout: &dyn Fn(&SessionFile) -> bool,
    ) -> (PathBuf, Result<Vec<Finding>, Failure>) {
        let opened =
            self.input.and_then(|input| input.map_or_else(|| Input::open_path(&self.path, is_stdout), Ok));
        let found = opened.and_then(|input| Ok(checked(&input, options)?.into_findings()));
        (self.path, found)
    }
}

/// The findings so far.
struct Report<'a> {
    args: &'a Args,
    styles: Styles,
    counts: [usize; 3],
    repairable: usize,
    files: usize,
    exit: Exit,
}

impl<'a> Report<'a> {
    fn new(args: &'a Args, ui: &Ui) -> Self {
        Report { args, styles: ui.styles, counts: [0; 3], repairable: 0, files: 0, exit: Exit::Done }
    }

    /// Reports one file. An error in reading it does not stop the others; an error on standard output does.
    fn session(
        &mut self,
        path: &Path,
        found: Result<Vec<Finding>, Failure>,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        match found {
            Ok(findings) => {
                self.files += 1;
                self.findings(path, &findings, ui)
            }
            Err(failure) => {
                self.exit = self.exit.max(ui.report(&failure));
                Ok(())
            }
        }
    }

    fn findings(&mut self, path: &Path, findings: &[Finding], ui: &mut Ui) -> Result<(), Failure> {
        for finding in findings {
            let is_done = self.count(finding);
            if self.args.write.json {
                let repaired = self.args.repair.then_some(is_done && !self.args.write.dry_run);
                ui.print_json(&row(path, finding, repaired))?;
            }
        }
        let groups = match (self.args.write.json, self.args.repair) {
            (true, _) => Vec::new(),
            // Each repaired entry is reported on a separate line.
            (false, true) => findings.iter().map(Group::of).collect(),
            (false, false) => grouped(findings),
        };
        groups.iter().try_for_each(|group| ui.print(&self.line(path, group)))
    }

    /// Counts a finding; returns whether the repair resolves it.
    fn count(&mut self, finding: &Finding) -> bool {
        if self.args.repair && finding.is_repairable() {
            return true;
        }
        self.counts[finding.severity as usize] += 1;
        self.repairable += usize::from(finding.is_repairable());
        if finding.severity > Severity::Note {
            self.exit = self.exit.max(Exit::Found);
        }
        false
    }

    /// `file:line: severity: what (entry id) — consequence [repairable]`
    fn line(&self, path: &Path, group: &Group) -> String {
        let finding = group.first();
        let is_done = self.args.repair && finding.is_repairable();
        let style = match finding.severity {
            _ if is_done => self.styles.assistant,
            Severity::Error => self.styles.error,
            Severity::Warning => self.styles.label,
            Severity::Note => self.styles.dim,
        };
        let severity = match (is_done, self.args.write.dry_run) {
            (true, false) => "repaired",
            (true, true) => "to repair",
            (false, _) => finding.severity.name(),
        };
        let entry = match (group.lines(), &finding.entry) {
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
            "{}:{}: {}: {}{entry}{}\n",
            visible(&path.to_string_lossy()),
            finding.line.0,
            style.style(severity),
            visible(&short(&Text::from(finding.message.as_str()))),
            visible(&rest)
        )
    }

    /// Returns the arguments for a repair: of a single session to another file, of several in place.
    fn how_to_repair(&self) -> String {
        let is_plain = |c: char| c.is_alphanumeric() || "/._-~+,:@".contains(c);
        match &self.args.sessions[..] {
            [path] if self.files == 1 => {
                let path = path.to_string_lossy();
                format!("-o FILE {}", if path.chars().all(is_plain) { &path } else { "SESSION" })
            }
            _ => "--backup SESSION...".to_owned(),
        }
    }

    /// Prints the number of findings.
    fn summary(&self, ui: &mut Ui) {
        if self.files == 0 {
            return;
        }
        let [notes, warnings, errors] = self.counts;
        let counted = |n: usize, one: &str| format!("{n} {one}{}", if n == 1 { "" } else { "s" });
        let found = match notes + warnings + errors {
            0 => "no problems".to_owned(),
            _ => format!(
                "{}, {}, {}",
                counted(errors, "error"),
                counted(warnings, "warning"),
                counted(notes, "note")
            ),
        };
        let hint = match self.repairable {
            0 => String::new(),
            n => format!("; {n} repairable (hint: pisess check --repair {})", self.how_to_repair()),
        };
        ui.status(&format!("{} checked: {found}{hint}", counted(self.files, "session")));
    }
}

fn dashed(consequence: &str) -> String {
    if consequence.is_empty() { String::new() } else { format!(" — {consequence}") }
}

/// Returns the start of an id or message; the whole may be as long as a line.
fn short(text: &Text) -> String {
    let head = text.head_whole(200);
    let mark = if head.utf16_len() < text.utf16_len() { "…" } else { "" };
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
        .text_or_null("fix", finding.fix.as_deref().map(Text::from).as_ref())
        .with(repaired, |row, repaired| row.bool("repaired", repaired))
        .finish()
}

/// Repairs one session.
fn repair(path: &Path, args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    if args.write.output.is_none() && args.backup.is_none() && !args.write.dry_run && path != Path::new("-") {
        return Err(Failure::cannot("--repair requires -o or --backup")
            .hint("give a new file with -o FILE, or --backup to repair in place"));
    }
    if path.is_dir() {
        let what = format_args!("{}: --repair takes only one session, not a directory", path.display());
        return Err(Failure::cannot(what));
    }
    let input = Input::open(path, ui)?;
    // Files beside it are named after the file itself, not after the name by which it was found.
    let path = input.file().map_or(path, SessionFile::path);
    let options = Options { workers: ui.processors(), ..Options::default() };
    let checkup = checked(&input, &options)?;
    let repair = Repair { path, args, input: &input };
    if args.write.dry_run {
        return repair.report(checkup.findings(), ui);
    }
    match (&args.write.output, input.file()) {
        (Some(output), _) if output != Path::new("-") => {
            let create = |fill: &mut Fill| {
                store::create(output, input.file(), args.write.force, fill).map(Attempt::Done)
            };
            let (attempt, rejected) = repair.write_both(&checkup, output, create)?;
            repair.done(checkup.findings(), Some((attempt.done()?, rejected)), ui)
        }
        (None, Some(_)) if args.backup.is_some() => repair.in_place(&checkup, &options, ui),
        _ => repair.to_stdout(&checkup, ui),
    }
}

fn checked<'a>(input: &'a Input, options: &Options) -> Result<Checkup<'a>, Failure> {
    check(input.source(), options).map_err(|error| Failure::load(&input.name, error))
}

/// Writes the content of a session file.
type Fill<'a> = dyn FnMut(&mut dyn io::Write) -> io::Result<()> + 'a;

/// The repaired session, and the file of removed bytes, if any.
type Written = (Committed, Option<Committed>);

/// The repair of one session.
struct Repair<'a> {
    path: &'a Path,
    args: &'a Args,
    input: &'a Input,
}

impl Repair<'_> {
    fn in_place(&self, checkup: &Checkup, options: &Options, ui: &mut Ui) -> Result<Exit, Failure> {
        if !checkup.is_repairable() {
            return self.done(checkup.findings(), None, ui);
        }
        let backup = self.args.backup.as_ref().map(|suffix| with_suffix(self.path, suffix));
        let store_options = store_options(&self.args.write, checkup.session());
        let mut attempt = |grown: Option<Input>, locked: store::Locked| {
            let grown = grown.as_ref().map(|input| checked(input, options)).transpose()?;
            let checkup = grown.as_ref().unwrap_or(checkup);
            if !checkup.is_repairable() {
                return Ok((None, (checkup.findings().to_vec(), None)));
            }
            let rewrite = |fill: &mut Fill| locked.rewrite(backup.as_deref(), fill);
            let (attempt, rejected) = self.write_both(checkup, self.path, rewrite)?;
            Ok((Some(attempt), (checkup.findings().to_vec(), rejected)))
        };
        let (committed, (findings, rejected)) = under_lock(self.input, &store_options, &mut attempt)?;
        self.done(&findings, committed.map(|committed| (committed, rejected)), ui)
    }

    fn to_stdout(&self, checkup: &Checkup, ui: &mut Ui) -> Result<Exit, Failure> {
        if self.args.write.json {
            return Err(Failure::cannot("--json: standard output carries the session")
                .hint("give a path with -o, or omit --json"));
        }
        if !checkup.rejected().is_empty() {
            return Err(Failure::cannot("--repair: removed bytes cannot be kept beside standard output")
                .hint("give a path with -o"));
        }
        checkup.write_repaired(ui.stdout()).map_err(|error| output_or_input(self.input, error))?;
        // Standard output carries the session, so the findings go to standard error.
        let mut report = Report::new(self.args, ui);
        for finding in checkup.findings() {
            report.count(finding);
            ui.print_aside(&report.line(self.path, &Group::of(finding)));
        }
        Ok(report.exit)
    }

    /// Writes the repaired session, and beside it the removed bytes: these are on disk before the session
    /// is in place (rule 6), and are deleted again if the session could not be written (rule 7).
    fn write_both(
        &self,
        checkup: &Checkup,
        output: &Path,
        write: impl FnOnce(&mut Fill) -> Result<Attempt, StoreError>,
    ) -> Result<(Attempt, Option<Committed>), StoreError> {
        let mut rejected = None;
        let written = write(&mut |out| {
            checkup.write_repaired(out)?;
            if !checkup.rejected().is_empty() {
                rejected = Some(self.write_rejected(checkup, output).map_err(io::Error::other)?);
            }
            Ok(())
        });
        match (written, rejected) {
            (Ok(Attempt::Done(committed)), rejected) => Ok((Attempt::Done(committed), rejected)),
            (unwritten, rejected) => {
                rejected.iter().for_each(store::take_back);
                unwritten.map(|grown| (grown, None))
            }
        }
    }

    /// Writes the removed bytes to the first file name that is free.
    fn write_rejected(&self, checkup: &Checkup, output: &Path) -> Result<Committed, StoreError> {
        let mut number = 0;
        loop {
            let suffix = if number == 0 { ".rejected".to_owned() } else { format!(".rejected.{number}") };
            let beside = with_suffix(output, &suffix);
            match store::create(&beside, self.input.file(), false, &mut |out| checkup.write_rejected(out)) {
                Err(StoreError::Exists { .. }) => number += 1,
                made => return made,
            }
        }
    }

    /// Reports the repair. A failure here does not affect what is written (rule 7).
    fn done(&self, findings: &[Finding], written: Option<Written>, ui: &mut Ui) -> Result<Exit, Failure> {
        let Some((committed, rejected)) = written else { return self.report(findings, ui) };
        ui.warn_of(&committed);
        if self.args.write.output.is_none() {
            self.input.report_path(ui);
        }
        let file = visible(&committed.path.to_string_lossy());
        let printed = self.report(findings, ui).and_then(|exit| ui.flush().map(|()| exit));
        let exit = printed.map_err(|failure| failure.after_writing(&file))?;
        if let Some(rejected) = rejected {
            ui.warn_of(&rejected);
            ui.status(&format!("removed bytes are in {}", rejected.path.to_string_lossy()));
        }
        Ok(exit)
    }

    /// Prints the findings that were (or would be) repaired, and those that remain; the exit code is that of
    /// a check of the result.
    fn report(&self, findings: &[Finding], ui: &mut Ui) -> Result<Exit, Failure> {
        let mut report = Report { files: 1, ..Report::new(self.args, ui) };
        report.findings(self.path, findings, ui)?;
        let repaired = findings.iter().filter(|finding| finding.is_repairable()).count();
        let left = findings.len() - repaired;
        let done = if self.args.write.dry_run { "to repair" } else { "repaired" };
        ui.status(&format!("{repaired} {done}, {left} left"));
        Ok(report.exit)
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
