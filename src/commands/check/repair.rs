//! `--repair`: writes the repaired session, and beside it the bytes that were removed from it.

use super::Args;
use super::checkup::check_input;
use super::cwd::CwdSources;
use super::report::CheckReport;
use crate::cli::named::{
    FoundSessions, NEEDS_RECURSION, expand_arguments, is_found_by_name, is_in_subfolder,
    reach_of_change,
};
use crate::cli::open::Input;
use crate::cli::output::{Column, Exit, Failure, Ui, plain_cell, to_visible};
use crate::cli::plan::{PlanTable, SESSIONS, path_cell};
use crate::cli::process::command_line::quote_word;
use crate::cli::titled::TitlePolicy;
use crate::cli::transaction::{
    AttemptResult, ChangeAttempt, attempt_under_lock, copy_failure, refuse_in_dry_run,
    refuse_output_in_dry_run,
};
use crate::format::format_bytes;
use crate::ops::check::{Checkup, Finding};
use crate::ops::plan::Action;
use pisess_store::{
    self as store, Attempt, Committed, CompanionFile, Fill, IfExists, Reach, SessionFile,
    StoreError, with_suffix,
};
use std::io;
use std::path::{Path, PathBuf};

/// Repairs one session into another file (`-o`), or any number of sessions in place. With `-n`,
/// only reports the repairs.
pub fn repair_sessions(args: &Args, cwd: &CwdSources, ui: &mut Ui) -> Result<Exit, Failure> {
    let repairer = Repairer {
        backup_suffix: args.backup.as_deref(),
        cwd,
        report: CheckReport::for_repair(&args.write, ui),
        plan: repair_plan_table(),
    };
    let stdin = Path::new("-");
    let has_stream = args.sessions.iter().any(|session| session == stdin);
    if has_stream || args.write.output.is_some() {
        repairer.repair_only_session(args, ui)
    } else {
        repairer.repair_all_in_place(args, ui)
    }
}

/// Returns the command that repairs the same sessions in place, for a hint.
fn in_place_command(args: &Args) -> String {
    let mut command = "pisess check --repair --backup".to_owned();
    if args.recursive {
        command += " -r";
    }
    for session in &args.sessions {
        command += " ";
        command += &quote_word(session.as_os_str());
    }
    command
}

/// Returns an empty table for the plan of `-n`.
fn repair_plan_table() -> PlanTable {
    let columns = [
        Column::number("repairs"),
        Column::number("removed"),
        Column::text("session"),
    ];
    PlanTable::new(&columns, SESSIONS)
}

/// The outcome of repairing files and directories.
struct FolderRepairs {
    /// Whether no session was found. If so, that has been reported already.
    found_none: bool,
    /// Whether a session with repairs is in a subdirectory of a given directory.
    needs_recursion: bool,
}

/// A repair of one or more sessions.
struct Repairer<'a> {
    /// The suffix for the name of the backup; `None` without `--backup`.
    backup_suffix: Option<&'a str>,
    cwd: &'a CwdSources,
    report: CheckReport<'a>,
    /// With `-n`, the sessions that would be written.
    plan: PlanTable,
}

impl Repairer<'_> {
    /// Repairs a session that is read from standard input, or whose repaired copy is the file of
    /// `-o`. Refuses several sessions.
    fn repair_only_session(mut self, args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
        let [session] = &args.sessions[..] else {
            let failure = Failure::invalid("--repair with -o or - takes only one session");
            return Err(failure.with_hint("--backup repairs any number of sessions in place"));
        };
        let input = Input::open_unconverted(session, ui)?;
        self.repair_session(&input, ui)?;
        self.finish(ui)
    }

    /// Repairs the given sessions, and those in the given directories, in place. This requires
    /// `--backup`, unless nothing is written because of `-n`.
    fn repair_all_in_place(mut self, args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
        if args.backup.is_none() && !args.write.change.dry_run {
            let command = in_place_command(args);
            let failure = Failure::invalid("--repair requires -o or --backup");
            return Err(failure.with_hint(format!(
                "`{command}` keeps the old file beside the session; -o FILE writes a new file instead"
            )));
        }

        let FolderRepairs {
            found_none,
            needs_recursion,
        } = self.repair_files_and_folders(args, ui)?;
        // That none was found is reported already. A count of repairs would contradict it.
        if found_none {
            return Ok(self.report.exit);
        }
        let exit = self.finish(ui)?;
        if needs_recursion && !args.recursive {
            ui.warn(NEEDS_RECURSION);
        }
        Ok(exit)
    }

    /// Prints the plan and the number of repairs, and returns the exit code.
    fn finish(self, ui: &mut Ui) -> Result<Exit, Failure> {
        self.plan.print(ui)?;
        self.report.print_repair_counts(ui)?;
        Ok(self.report.exit)
    }

    /// Repairs the given sessions, and those in the given directories. If there is only one
    /// session, its failure is returned. Among several, a failure is reported, and the others are
    /// repaired.
    fn repair_files_and_folders(
        &mut self,
        args: &Args,
        ui: &mut Ui,
    ) -> Result<FolderRepairs, Failure> {
        let FoundSessions {
            files,
            mut failures,
            ..
        } = find_files(args, ui)?;
        let is_only_one = files.len() + failures.len() == 1;
        if is_only_one && let Some(failure) = failures.pop() {
            return Err(failure);
        }
        for failure in &failures {
            self.report.report_failure(failure, ui);
        }

        let mut outcome = FolderRepairs {
            found_none: files.is_empty() && failures.is_empty(),
            needs_recursion: false,
        };
        for file in files {
            let count_before = self.report.repaired_count;
            let result = self.repair_file(&file.path, args, ui);
            let has_repairs = self.report.repaired_count > count_before;
            outcome.needs_recursion |= has_repairs && is_in_subfolder(&args.sessions, &file.path);

            let Err(failure) = result else {
                continue;
            };
            // A directory of sessions may also have the transcripts of sub-agents.
            let is_other_file = failure.is_transcript() && !file.is_given;
            if is_other_file {
                continue;
            }
            if is_only_one {
                return Err(failure);
            }
            self.report.report_failure(&failure, ui);
        }
        Ok(outcome)
    }

    /// Repairs the session in a file that an argument names, or that is in a given directory.
    fn repair_file(&mut self, path: &Path, args: &Args, ui: &mut Ui) -> Result<(), Failure> {
        let mut input = Input::open_path(path, ui.stdout_predicate())?;
        input.is_found_by_name = is_found_by_name(&args.sessions, path);
        self.repair_session(&input, ui)
    }

    /// Repairs a session into the file of `-o`, or in place. Writes to standard output if `-o` is
    /// `-`, or if the session is a stream and there is no `-o`. With `-n`, only reports the
    /// findings.
    fn repair_session(&mut self, input: &Input, ui: &mut Ui) -> Result<(), Failure> {
        let checkup = check_input(input, ui.processor_count(), self.cwd)?;
        let write = self.report.write;
        if write.change.dry_run {
            self.refuse_in_dry_run(input, &checkup)?;
            self.report
                .report_session(session_path(input), &checkup.findings, ui)?;
            return self.plan_repair(input, &checkup, ui);
        }
        match &write.output {
            Some(output) if output == Path::new("-") => self.repair_to_stdout(input, &checkup, ui),
            Some(output) => self.repair_elsewhere(input, &checkup, output, ui),
            None if input.file().is_some() => self.repair_in_place(input, &checkup, ui),
            // A stream has no place.
            None => self.repair_to_stdout(input, &checkup, ui),
        }
    }

    /// Adds a row for a session to the plan of `-n`, if the session has repairs. With `--json`
    /// there is no such table, because the findings themselves are the plan.
    fn plan_repair(
        &mut self,
        input: &Input,
        checkup: &Checkup,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        if self.report.write.change.json || !checkup.is_repairable() {
            return Ok(());
        }
        let repairable = checkup
            .findings
            .iter()
            .filter(|finding| finding.is_repairable());
        let repair_count = repairable.count();
        let cells = vec![
            plain_cell(repair_count.to_string()),
            plain_cell(format_bytes(count_removed_bytes(checkup))),
            path_cell(session_path(input), ui),
        ];
        self.plan.add_row(input.source().len() as usize, cells, ui)
    }

    /// With `-n`, fails if the real run would be refused.
    fn refuse_in_dry_run(&self, input: &Input, checkup: &Checkup) -> Result<(), Failure> {
        let change = &self.report.write.change;
        if let Some(output) = &self.report.write.output {
            return refuse_output_in_dry_run(output, input, change.force);
        }
        // A stream is printed repaired, and a session without repairs is not written.
        let is_rewritten = input.file().is_some() && checkup.is_repairable();
        if !is_rewritten {
            return Ok(());
        }
        let options = change.write_options(checkup.session.dialect);
        refuse_in_dry_run(input, Action::Rewrite, &options)
    }

    /// Writes the repaired session to another file.
    fn repair_elsewhere(
        &mut self,
        input: &Input,
        checkup: &Checkup,
        output: &Path,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let force = self.report.write.change.force;
        let create = |fill: &mut Fill| {
            let committed = store::create(output, input.protected_file(), force, fill)?;
            Ok(Attempt::Done(committed))
        };
        let (session_attempt, rejected) = write_with_rejected(input, checkup, output, create)?;
        let commits = Commits {
            session: session_attempt.done()?,
            rejected,
        };
        self.report_repair(input, &checkup.findings, Some(commits), ui)
    }

    /// Repairs a session under its lock. If the session has grown since it was checked, checks it
    /// again.
    fn repair_in_place(
        &mut self,
        input: &Input,
        checkup: &Checkup,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        if !checkup.is_repairable() {
            let no_commits = None;
            return self.report_repair(input, &checkup.findings, no_commits, ui);
        }

        let change = &self.report.write.change;
        let options = change.write_options(checkup.session.dialect);
        let workers = ui.processor_count();
        let mut repair = |grown_input: Option<Input>, locked: store::Locked| match grown_input {
            // The session is as it was when it was checked.
            None => self.repair_locked(input, checkup, locked),
            // Lines were appended since. The path is the same, so `input` still names the session.
            Some(grown_input) => {
                let checked_again = check_input(&grown_input, workers, self.cwd)?;
                self.repair_locked(input, &checked_again, locked)
            }
        };
        // Calls `repair` again if the session grows before the commit.
        let (committed, repaired) = attempt_under_lock(input, &options, &mut repair)?;
        let commits = committed.map(|session| Commits {
            session,
            rejected: repaired.rejected,
        });
        self.report_repair(input, &repaired.findings, commits, ui)
    }

    /// Repairs a locked session in its own file. `checkup` has the findings about the session as it
    /// is now. They are returned, with the file of the bytes that the repair removed.
    fn repair_locked(
        &self,
        input: &Input,
        checkup: &Checkup,
        locked: store::Locked,
    ) -> AttemptResult<LockedRepair> {
        let findings = checkup.findings.clone();
        // Another process may have repaired the session before this one had the lock.
        if !checkup.is_repairable() {
            let rejected = None;
            let unchanged = LockedRepair { findings, rejected };
            return Ok(ChangeAttempt::nothing_to_do(unchanged));
        }

        let path = session_path(input);
        let backup = self.backup_path(path);
        // Agents do not use the lock, so an agent may append during the repair. The appended bytes
        // are copied.
        let locked = locked.carrying_growth();
        let replace_session = |fill: &mut Fill| locked.rewrite(backup.as_deref(), fill);
        let (commit, rejected) = write_with_rejected(input, checkup, path, replace_session)?;
        Ok(ChangeAttempt::with_commit(
            commit,
            LockedRepair { findings, rejected },
        ))
    }

    /// Prints the repaired session on standard output, and the findings on standard error. Refuses
    /// this if bytes would be removed, because no file can keep them. Also refuses `--json`, whose
    /// output would be on standard output, too.
    fn repair_to_stdout(
        &mut self,
        input: &Input,
        checkup: &Checkup,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        if self.report.write.change.json {
            return Err(Failure::stdout_carries_session());
        }
        if !checkup.rejected_spans().is_empty() {
            return Err(Failure::invalid(
                "--repair: removed bytes cannot be kept beside standard output",
            )
            .with_hint("give a path with -o"));
        }

        checkup
            .write_repaired(ui.stdout())
            .map_err(|error| copy_failure(input, error))?;
        for finding in &checkup.findings {
            self.report.count_finding(finding);
            let path = to_visible(&session_path(input).to_string_lossy());
            ui.print_to_stderr(&format!("{path}:{}", self.report.format_group(&[finding])));
        }
        Ok(())
    }

    /// Reports a repair: first the findings, the resolved and the remaining ones; then what was
    /// removed from the session. `commits` is `None` if nothing was written: then there are only
    /// findings.
    ///
    /// A failure here does not undo what was written (rule 7 of the store).
    fn report_repair(
        &mut self,
        input: &Input,
        findings: &[Finding],
        commits: Option<Commits>,
        ui: &mut Ui,
    ) -> Result<(), Failure> {
        let path = session_path(input);
        let Some(commits) = commits else {
            return self.report.report_session(path, findings, ui);
        };

        ui.report_commit_warnings(&commits.session);
        // The user knows the path after `-o`, but maybe not the path of a session given by name.
        if self.is_in_place() {
            input.report_path(ui);
        }
        let written = to_visible(&commits.session.path.to_string_lossy());
        ui.print_after_write(&written, |ui| {
            self.report.report_session(path, findings, ui)
        })?;

        if let Some(rejected) = &commits.rejected {
            ui.report_commit_warnings(&rejected.committed);
        }
        let mut summary = describe_removed(commits.rejected.as_ref());
        if let Some(backup) = self.backup_path(path) {
            summary += &format!("; the old file is {}", backup.display());
        }
        ui.print_status(&summary);
        Ok(())
    }

    /// Whether the session's own file is written, and not the file of `-o`.
    fn is_in_place(&self) -> bool {
        self.report.write.output.is_none()
    }

    /// Returns the path of the backup, which keeps the old session; `None` if there is no backup,
    /// because the repaired session is written to another file.
    fn backup_path(&self, session: &Path) -> Option<PathBuf> {
        let suffix = self.backup_suffix?;
        if self.is_in_place() {
            Some(with_suffix(session, suffix))
        } else {
            None
        }
    }
}

/// Finds the sessions to repair: at the given paths, and in the given directories. With `-n`,
/// subdirectories are included even without `-r`.
fn find_files(args: &Args, ui: &mut Ui) -> Result<FoundSessions, Failure> {
    let change = &args.write.change;
    let reach = if change.dry_run {
        Reach::Visible
    } else {
        reach_of_change(&args.sessions, args.recursive, change.force, ui)?
    };
    // Without -n, `--backup` keeps the old file.
    let is_reversible = true;
    let title_policy = TitlePolicy::for_change(is_reversible, &args.sessions, ui);
    Ok(expand_arguments(&args.sessions, reach, title_policy, ui))
}

/// The result of a repair that is done while the session is locked.
struct LockedRepair {
    findings: Vec<Finding>,
    /// The file of removed bytes, if there are any.
    rejected: Option<RejectedFile>,
}

/// The files that a repair committed.
struct Commits {
    session: Committed,
    /// The file of removed bytes, if there are any.
    rejected: Option<RejectedFile>,
}

/// The file that keeps the bytes that a repair removed.
struct RejectedFile {
    committed: Committed,
    /// The number of bytes removed from the session. The file is larger: a line break follows each
    /// part.
    removed_bytes: usize,
}

/// Returns a sentence that names the file with the bytes that a repair removed.
fn describe_removed(rejected: Option<&RejectedFile>) -> String {
    let Some(rejected) = rejected else {
        return "nothing was removed from the session".to_owned();
    };
    format!(
        "{} that are no longer in the session are kept in {}; everything else is still there",
        format_bytes(rejected.removed_bytes),
        rejected.committed.path.display()
    )
}

/// Returns the number of bytes that a repair removes from the session.
fn count_removed_bytes(checkup: &Checkup) -> usize {
    let mut removed_bytes = 0;
    for span in checkup.rejected_spans() {
        removed_bytes += span.len as usize;
    }
    removed_bytes
}

/// Returns the path of a session's file; `-` for a stream. The backup and the file of removed bytes
/// are named after this path, even if the argument was a session name.
fn session_path(input: &Input) -> &Path {
    input.file().map_or(Path::new("-"), SessionFile::path)
}

/// Writes the repaired session, and the bytes that the repair removes from it to another file
/// beside `output`, so that nothing is lost.
///
/// `write_session` is a function of the store, which creates or replaces the session. It calls
/// `fill` with a temporary file, and renames that into place afterwards. So `fill` also writes the
/// file of removed bytes: it is then on disk before they disappear from the session.
fn write_with_rejected(
    input: &Input,
    checkup: &Checkup,
    output: &Path,
    write_session: impl FnOnce(&mut Fill) -> Result<Attempt, StoreError>,
) -> Result<(Attempt, Option<RejectedFile>), StoreError> {
    let mut removed_file: Option<CompanionFile> = None;
    let mut fill = |out: &mut dyn io::Write| {
        checkup.write_repaired(out)?;
        if !checkup.rejected_spans().is_empty() {
            let created = write_rejected(input, checkup, output).map_err(io::Error::other)?;
            removed_file = Some(created);
        }
        Ok(())
    };
    let attempt = write_session(&mut fill)?;

    // Unless it is kept, the file of removed bytes is deleted here: if the session has grown, it is
    // not in place, and will be checked again.
    let is_in_place = matches!(attempt, Attempt::Done(_));
    let mut rejected = None;
    if is_in_place && let Some(file) = removed_file {
        rejected = Some(RejectedFile {
            committed: file.keep(),
            removed_bytes: count_removed_bytes(checkup),
        });
    }
    Ok((attempt, rejected))
}

/// The highest number that is tried in the name of a file of removed bytes.
const MAX_REJECTED_NUMBER: u32 = 1000;

/// Writes the removed bytes to the first free path of `OUTPUT.rejected`, `OUTPUT.rejected.1` and so
/// on. A path also counts as free if its file has the same bytes: a killed run left it.
fn write_rejected(
    input: &Input,
    checkup: &Checkup,
    output: &Path,
) -> Result<CompanionFile, StoreError> {
    let mut number = 0;
    loop {
        let suffix = match number {
            0 => ".rejected".to_owned(),
            _ => format!(".rejected.{number}"),
        };
        let error = match create_rejected(input, checkup, &with_suffix(output, &suffix)) {
            Ok(file) => return Ok(file),
            Err(error) => error,
        };
        let is_path_taken = error.kind() == Some(io::ErrorKind::AlreadyExists);
        if !is_path_taken || number == MAX_REJECTED_NUMBER {
            return Err(error);
        }
        number += 1;
    }
}

/// Writes the removed bytes to a new file, or accepts a file that has the same bytes.
fn create_rejected(
    input: &Input,
    checkup: &Checkup,
    path: &Path,
) -> Result<CompanionFile, StoreError> {
    let mut write = |out: &mut dyn io::Write| checkup.write_rejected(out);
    store::create_beside(path, input.protected_file(), IfExists::Refuse, &mut write)
}
