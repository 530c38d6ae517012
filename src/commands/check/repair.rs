//! `--repair`: writes the repaired session, and the bytes that were removed beside it.

use super::checkup::check_input;
use super::cwd::CwdSources;
use super::report::CheckReport;
use crate::cli::named::{
    FoundSessions, NEEDS_RECURSION, expand_arguments, is_found_by_name, is_in_subfolder,
    reach_of_change,
};
use crate::cli::open::Input;
use crate::cli::options::WriteArgs;
use crate::cli::output::{Exit, Failure, Ui, to_visible};
use crate::cli::transaction::{attempt_under_lock, copy_failure};
use crate::ops::check::{Checkup, Finding};
use pisess_store::{
    self as store, Attempt, Beside, Committed, Fill, Reach, SessionFile, StoreError, with_suffix,
};
use std::io;
use std::path::{Path, PathBuf};

/// Repairs one session into another file (`-o`), or any number of sessions in place. `backup` is
/// the suffix for the name of the old file, if it is kept. With `-n`, only reports what would be
/// repaired.
pub fn repair_sessions(
    sessions: &[PathBuf],
    recursive: bool,
    backup: Option<&str>,
    cwd: &CwdSources,
    write: &WriteArgs,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let mut report = CheckReport::new(write, true, ui);
    let has_stream = sessions.iter().any(|session| session == Path::new("-"));
    if has_stream || write.output.is_some() {
        let [session] = sessions else {
            return Err(
                Failure::invalid("--repair with -o or - takes only one session")
                    .with_hint("--backup repairs any number of sessions in place"),
            );
        };
        let input = Input::open(session, ui)?;
        repair_session(&input, backup, cwd, &mut report, ui)?;
        report.print_repair_counts(ui);
        return Ok(report.exit);
    }
    if backup.is_none() && !write.change.dry_run {
        return Err(Failure::invalid("--repair requires -o or --backup")
            .with_hint("give a new file with -o FILE, or --backup to repair in place"));
    }

    let reach = if write.change.dry_run {
        Reach::Visible
    } else {
        reach_of_change(sessions, recursive, write.change.force, ui)?
    };
    let FoundSessions {
        files,
        mut failures,
        ..
    } = expand_arguments(sessions, reach, ui);
    // The failure of a single session is that of the command; others are reported on the way.
    let is_one = files.len() + failures.len() == 1;
    if let Some(failure) = failures.pop_if(|_| is_one) {
        return Err(failure);
    }
    for failure in &failures {
        report.report_failure(failure, ui);
    }

    let mut needs_recursion = false;
    for file in files {
        let repaired_before = report.repaired_count;
        let input = Input::open_path(&file.path, ui.stdout_predicate());
        let result = input.and_then(|mut input| {
            input.is_found_by_name = is_found_by_name(sessions, &file.path);
            repair_session(&input, backup, cwd, &mut report, ui)
        });
        match result {
            Ok(()) => {}
            Err(failure) if failure.is_transcript() && !file.named => {}
            Err(failure) if is_one => return Err(failure),
            Err(failure) => report.report_failure(&failure, ui),
        }
        let has_repairs = report.repaired_count > repaired_before;
        needs_recursion |= has_repairs && is_in_subfolder(sessions, &file.path);
    }
    report.print_repair_counts(ui);
    if needs_recursion && !recursive {
        ui.warn(NEEDS_RECURSION);
    }
    Ok(report.exit)
}

/// Repairs a session into the file of `-o`, or in place; to standard output if that is `-`, or if
/// the session is a stream. With `-n`, only reports the findings.
fn repair_session(
    input: &Input,
    backup: Option<&str>,
    cwd: &CwdSources,
    report: &mut CheckReport,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let checkup = check_input(input, ui.processor_count(), cwd)?;
    let write = report.write;
    if write.change.dry_run {
        return report.report_session(session_path(input), &checkup.findings, ui);
    }
    match (&write.output, input.file()) {
        (Some(output), _) if output != Path::new("-") => {
            repair_elsewhere(input, &checkup, output, report, ui)
        }
        (None, Some(_)) => repair_in_place(input, &checkup, backup, cwd, report, ui),
        _ => repair_to_stdout(input, &checkup, report, ui),
    }
}

/// Writes the repaired session to another file.
fn repair_elsewhere(
    input: &Input,
    checkup: &Checkup,
    output: &Path,
    report: &mut CheckReport,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let force = report.write.change.force;
    let create = |fill: &mut Fill| {
        let committed = store::create(output, input.file(), force, fill)?;
        Ok(Attempt::Done(committed))
    };
    let (session_attempt, rejected) = write_with_rejected(input, checkup, output, create)?;
    let commits = Commits {
        session: session_attempt.done()?,
        rejected,
    };
    report_repair(input, &checkup.findings, Some(commits), report, ui)
}

/// The commits of a repair.
struct Commits {
    session: Committed,
    /// That of the file of removed bytes, if there are any.
    rejected: Option<Committed>,
}

/// Returns the path of its file: files beside it are named after that, even if the argument was a
/// session name.
fn session_path(input: &Input) -> &Path {
    input.file().map_or(Path::new("-"), SessionFile::path)
}

/// The highest number in the name of a file of removed bytes.
const MAX_REJECTED_NUMBER: u32 = 1000;

/// Repairs a session under its lock. If it has grown since it was checked, it is checked again.
fn repair_in_place(
    input: &Input,
    checkup: &Checkup,
    backup: Option<&str>,
    cwd: &CwdSources,
    report: &mut CheckReport,
    ui: &mut Ui,
) -> Result<(), Failure> {
    if !checkup.is_repairable() {
        return report_repair(input, &checkup.findings, None, report, ui);
    }

    let backup = backup.map(|suffix| with_suffix(session_path(input), suffix));
    let options = report.write.change.write_options(checkup.session.dialect);
    let workers = ui.processor_count();
    let mut attempt = |grown: Option<Input>, locked: store::Locked| {
        // A session that has grown is checked again.
        let checked_again = match &grown {
            Some(input) => Some(check_input(input, workers, cwd)?),
            None => None,
        };
        let checkup = checked_again.as_ref().unwrap_or(checkup);
        if !checkup.is_repairable() {
            return Ok((None, (checkup.findings.clone(), None)));
        }
        let rewrite = |fill: &mut Fill| locked.carrying_growth().rewrite(backup.as_deref(), fill);
        let (attempt, rejected) =
            write_with_rejected(input, checkup, session_path(input), rewrite)?;
        Ok((Some(attempt), (checkup.findings.clone(), rejected)))
    };
    let (committed, (findings, rejected)) = attempt_under_lock(input, &options, &mut attempt)?;
    let commits = committed.map(|session| Commits { session, rejected });
    report_repair(input, &findings, commits, report, ui)
}

/// Prints the repaired session. Fails if bytes would be removed, as no file can keep them, and if a
/// JSON report was requested.
fn repair_to_stdout(
    input: &Input,
    checkup: &Checkup,
    report: &mut CheckReport,
    ui: &mut Ui,
) -> Result<(), Failure> {
    if report.write.change.json {
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
    // Standard output carries the session, so the findings go to standard error.
    for finding in &checkup.findings {
        report.count_finding(finding);
        let path = to_visible(&session_path(input).to_string_lossy());
        ui.print_to_stderr(&format!("{path}:{}", report.format_group(&[finding])));
    }
    Ok(())
}

/// Writes the repaired session, and beside it the removed bytes: these are on disk before the
/// session is in place, and are deleted again if the session could not be written (rules 6 and 7 of
/// the store).
fn write_with_rejected(
    input: &Input,
    checkup: &Checkup,
    output: &Path,
    write_session: impl FnOnce(&mut Fill) -> Result<Attempt, StoreError>,
) -> Result<(Attempt, Option<Committed>), StoreError> {
    let mut rejected = None;
    let attempted = write_session(&mut |out| {
        checkup.write_repaired(out)?;
        if !checkup.rejected_spans().is_empty() {
            rejected = Some(write_rejected(input, checkup, output).map_err(io::Error::other)?);
        }
        Ok(())
    });
    match attempted? {
        Attempt::Done(committed) => {
            let rejected = rejected.map(Beside::keep);
            Ok((Attempt::Done(committed), rejected))
        }
        // The session has grown. Dropping `rejected` undoes its file.
        stale => Ok((stale, None)),
    }
}

/// Writes the removed bytes to the first file name that is free, or that a killed run gave to the
/// same bytes.
fn write_rejected(input: &Input, checkup: &Checkup, output: &Path) -> Result<Beside, StoreError> {
    let is_taken = |error: &StoreError| error.kind() == Some(io::ErrorKind::AlreadyExists);
    let mut number = 0;
    loop {
        let suffix = if number == 0 {
            ".rejected".to_owned()
        } else {
            format!(".rejected.{number}")
        };
        let rejected_path = with_suffix(output, &suffix);
        let mut write = |out: &mut dyn io::Write| checkup.write_rejected(out);
        let created = store::create_beside(&rejected_path, input.file(), false, &mut write);
        match created {
            Err(error) if is_taken(&error) && number < MAX_REJECTED_NUMBER => number += 1,
            _ => return created,
        }
    }
}

/// Reports the findings of a repair: those that were resolved, and those that remain. `commits` is
/// `None` if nothing was written. A failure here does not affect what is written (rule 7 of the
/// store).
fn report_repair(
    input: &Input,
    findings: &[Finding],
    commits: Option<Commits>,
    report: &mut CheckReport,
    ui: &mut Ui,
) -> Result<(), Failure> {
    let Some(commits) = commits else {
        return report.report_session(session_path(input), findings, ui);
    };
    ui.report_commit_warnings(&commits.session);
    if report.write.output.is_none() {
        input.report_path(ui);
    }
    let file = to_visible(&commits.session.path.to_string_lossy());
    ui.print_after_write(&file, |ui| {
        report.report_session(session_path(input), findings, ui)
    })?;
    if let Some(rejected) = commits.rejected {
        ui.report_commit_warnings(&rejected);
        ui.print_status(&format!(
            "removed bytes are in {}",
            rejected.path.to_string_lossy()
        ));
    }
    Ok(())
}
