//! Prunes many sessions: those in directories, of a project, or of all projects.

use super::Args;
use super::alternatives::{Alternatives, find_alternatives};
use super::job::{PruneJob, Task};
use super::report::{KEPT_NOTE, PruneOutcome, PruneReport};
use super::secrets::{KEPT_SECRETS_NOTE, Purge, SecretScope};
use crate::cli::foreign::note_unsearched;
use crate::cli::locate::{Scope, SessionStores, existing_store_roots, resolve_user_folder};
use crate::cli::named::{
    FoundSessions, NEEDS_RECURSION, expand_arguments, is_found_by_name, is_in_subfolder,
    reach_of_change, read_for_list, search_failures,
};
use crate::cli::open::{Input, OpenSession};
use crate::cli::output::{Column, Exit, Failure, Ui, plain_cell};
use crate::cli::period;
use crate::cli::plan::{PlanTable, SESSIONS, path_cell};
use crate::cli::shared_secrets::SharedSecrets;
use crate::cli::status::warn_of_skipped;
use crate::cli::titled::TitlePolicy;
use crate::format::{format_bytes, format_count};
use crate::ops::list::SessionFilter;
use crate::ops::prune::pruned_file;
use pisess_store::{Committed, FoundFile, Reach};
use std::path::Path;

/// The result for a session that was pruned or restored; with `-n`, for one that would be.
struct PrunedSession {
    report: PruneReport,
    committed: Option<Committed>,
    /// The exit code for a failure after the write.
    exit: Exit,
    /// The size of the session, and its size without the pruned parts, in bytes.
    size_before: usize,
    size_after: usize,
    /// With `-n`, the numbers of bytes that other options would remove.
    alternatives: Alternatives,
}

impl PrunedSession {
    /// Whether parts of the session were removed or restored; with `-n`, whether they would be.
    fn would_change(&self) -> bool {
        !self.report.outcome.is_empty()
    }
}

/// Prunes or restores many sessions. All are written before anything is printed, so that a closed
/// pipe does not end the command half done. A failure does not stop the others. A session that was
/// found by a search is skipped if it may be open in an agent.
pub fn prune_sessions(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    refuse_single_options(args)?;
    let filter = session_filter(args, ui)?;
    let FoundSessions {
        files, failures, ..
    } = find_sessions(args, ui)?;
    let mut worst_exit = Exit::Done;
    for failure in &failures {
        worst_exit = worst_exit.max(ui.report_failure(failure));
    }

    let secrets = find_secrets(args, &files, filter, ui)?;
    let pruned = prune_files(&files, args, &secrets, filter, ui);
    warn_of_skipped(&pruned.skipped, ui);
    worst_exit = worst_exit.max(pruned.worst_exit);
    let has_skipped = !pruned.skipped.is_empty();
    // A skipped session may contain a secret, so the command must not succeed.
    if args.takes_secrets() && has_skipped {
        worst_exit = worst_exit.max(Exit::Busy);
    }

    let has_filtered_all = !files.is_empty() && pruned.sessions.is_empty() && !has_skipped;
    if has_filtered_all && worst_exit == Exit::Done {
        ui.print_status("no sessions to prune (hint: omit --older-than and --larger-than)");
    }
    let printed = report_sessions(&pruned.sessions, args, ui);
    if args.all {
        match args.secret_scope() {
            Some(SecretScope::RecognizedAndGiven) => note_unsearched(
                "`pisess redact --check --all --source all` finds their secrets",
                ui,
            ),
            Some(SecretScope::GivenOnly) => note_unsearched(
                "`pisess grep -F TEXT --all --source all` finds TEXT in them",
                ui,
            ),
            None => {}
        }
    }
    worst_exit.or_print_failure(printed)
}

/// Returns the filter of `--older-than` and `--larger-than`.
fn session_filter(args: &Args, ui: &Ui) -> Result<SessionFilter, Failure> {
    let before_ms = match &args.older_than {
        Some(time) => Some(period::parse_time_option("--older-than", time, ui)?.start),
        None => None,
    };
    Ok(SessionFilter {
        before_ms,
        only_empty: false,
        larger_than: args.larger_than,
    })
}

/// Returns the secrets to take out of each session. With `--secrets`, a secret that is recognized
/// in one of the files that the filter chooses is taken out of all of them. Without it, these are
/// the values that the user gave.
fn find_secrets(
    args: &Args,
    files: &[FoundFile],
    filter: SessionFilter,
    ui: &mut Ui,
) -> Result<SharedSecrets, Failure> {
    let given = args.values.read_values(None, ui)?;
    if !args.secrets {
        return Ok(SharedSecrets::given_only(given));
    }
    let stdout_is = ui.stdout_predicate();
    let open_chosen = |path: &Path| {
        let input = Input::open_path(path, stdout_is).ok()?;
        is_chosen(path, &input, filter).then_some(input)
    };
    Ok(SharedSecrets::recognize_in(files, given, open_chosen, ui))
}

/// The results for many sessions.
struct PrunedFiles {
    sessions: Vec<PrunedSession>,
    /// The failures of the sessions that were skipped, because an agent may have them open.
    skipped: Vec<Failure>,
    /// The worst exit code of a session that failed, in whole or after it was written.
    worst_exit: Exit,
}

/// Prunes or restores the sessions that the filter chooses, one after another, and reports those
/// that fail.
fn prune_files(
    files: &[FoundFile],
    args: &Args,
    secrets: &SharedSecrets,
    filter: SessionFilter,
    ui: &mut Ui,
) -> PrunedFiles {
    let mut pruned = PrunedFiles {
        sessions: Vec::new(),
        skipped: Vec::new(),
        worst_exit: Exit::Done,
    };
    // The progress bar is cleared at the end, before anything is printed.
    let progress = ui.start_progress(files);
    for file in files {
        let result = prune_file(file, args, secrets, filter, ui);
        progress.advance();
        let failure = match result {
            Ok(Some(session)) => {
                pruned.worst_exit = pruned.worst_exit.max(session.exit);
                pruned.sessions.push(session);
                continue;
            }
            Ok(None) => continue,
            Err(failure) => failure,
        };
        if file.is_given {
            pruned.worst_exit = pruned.worst_exit.max(ui.report_failure(&failure));
            continue;
        }
        // A search also finds files that are not sessions, or that no longer exist.
        let is_no_session = failure.is_transcript() || failure.is_missing_file;
        if is_no_session {
            continue;
        }
        if failure.exit() == Exit::Busy {
            pruned.skipped.push(failure);
        } else {
            pruned.worst_exit = pruned.worst_exit.max(ui.report_failure(&failure));
        }
    }
    pruned
}

/// Refuses options that apply to a single session.
fn refuse_single_options(args: &Args) -> Result<(), Failure> {
    let one_session = "give one session by path or name";
    let (option, hint) = if args.write.output.is_some() {
        ("-o", one_session)
    } else if args.branch.is_some() {
        ("--branch", one_session)
    } else if !args.entries.is_empty() {
        let hint = "give one session by path or name, and repeat --entries for further entries";
        ("--entries", hint)
    } else {
        return Ok(());
    };
    let failure = Failure::usage_error(format_args!("{option} applies to one session"));
    Err(failure.with_hint(hint))
}

/// Finds the sessions of `--project`, of all stores (`--all`), or of the arguments. Of a directory
/// among the arguments, subdirectories are included only with `-r`, or with `-n`.
fn find_sessions(args: &Args, ui: &mut Ui) -> Result<FoundSessions, Failure> {
    if let Some(project) = &args.project {
        return Ok(find_project_sessions(project, ui));
    }
    if args.all {
        // Roots of stores are no titles, so the policy has no effect.
        let title_policy = TitlePolicy::SuggestOnly;
        let roots = existing_store_roots(ui);
        return Ok(expand_arguments(&roots, Reach::Visible, title_policy, ui));
    }
    let reach = if args.write.change.dry_run {
        Reach::Visible
    } else {
        reach_of_change(&args.sessions, args.recursive, args.write.change.force, ui)?
    };
    let title_policy = TitlePolicy::for_change(args.is_reversible(), &args.sessions, ui);
    Ok(expand_arguments(&args.sessions, reach, title_policy, ui))
}

/// Finds the stored sessions of a project, given by its directory. Warns if there are none.
fn find_project_sessions(project: &Path, ui: &mut Ui) -> FoundSessions {
    let project = resolve_user_folder(project, ui);
    let found = SessionStores::locate_from(&project, ui).find_sessions(&Scope::CurrentProject);
    // What cannot be read may be a session of the project, so it is a failure.
    let is_strict = true;
    let failures = search_failures(found.problems, is_strict, ui);
    if found.files.is_empty() && failures.is_empty() {
        ui.warn("no sessions of this project (hint: `pisess list --all` lists all projects)");
    }
    FoundSessions {
        files: found.files,
        failures,
        scope: Scope::CurrentProject,
        none_found_note: None,
    }
}

/// Prunes or restores a session; with `-n`, only plans that. Returns `None` if the filter does not
/// choose the session.
fn prune_file(
    file: &FoundFile,
    args: &Args,
    secrets: &SharedSecrets,
    filter: SessionFilter,
    ui: &mut Ui,
) -> Result<Option<PrunedSession>, Failure> {
    let mut input = Input::open_path(&file.path, ui.stdout_predicate())?;
    if !is_chosen(&file.path, &input, filter) {
        return Ok(None);
    }

    input.is_found_by_name = is_found_by_name(&args.sessions, &file.path) && file.is_given;
    let open = OpenSession::from_input(input, args.load_options(), ui)?;
    let target = args.target_path(&open)?;
    let job = PruneJob {
        task: args.task(secrets),
        write: &args.write,
        open: &open,
        side_file: pruned_file(&target),
        target,
        is_named: file.is_given,
        is_purged: args.purge,
    };
    let result = if args.write.change.dry_run {
        plan_job(&job, ui)?
    } else {
        run_job(&job, ui)?
    };
    let JobResult {
        outcome,
        committed,
        exit,
        planned_size,
        alternatives,
    } = result;
    let size_before = open.input.source().len() as usize;
    let size_after = match planned_size {
        Some(planned_size) => planned_size,
        None => size_before.saturating_sub(outcome.bytes),
    };
    Ok(Some(PrunedSession {
        size_before,
        size_after,
        report: job.report(committed.is_some(), outcome),
        committed,
        exit,
        alternatives,
    }))
}

/// What was done with one session, or with `-n`, what would be done.
struct JobResult {
    outcome: PruneOutcome,
    committed: Option<Committed>,
    /// The exit code for a failure after the write.
    exit: Exit,
    /// The size of the session afterwards, if a restoration was planned. After a prune, the session
    /// is smaller by the bytes of the outcome.
    planned_size: Option<usize>,
    /// As [`PrunedSession::alternatives`].
    alternatives: Alternatives,
}

impl JobResult {
    fn new(outcome: PruneOutcome) -> JobResult {
        JobResult {
            outcome,
            committed: None,
            exit: Exit::Done,
            planned_size: None,
            alternatives: Alternatives::default(),
        }
    }
}

/// Plans to prune or restore a session, for `-n`. Fails if the session could not be changed now: it
/// is locked, for example, or in an archive.
fn plan_job(job: &PruneJob, ui: &mut Ui) -> Result<JobResult, Failure> {
    if job.task.is_restore() {
        let planned = job.plan_restore_outcome()?;
        return Ok(JobResult {
            planned_size: Some(planned.size_after as usize),
            ..JobResult::new(planned.outcome)
        });
    }

    job.refuse_in_dry_run()?;
    let plan = job.plan_prune(job.open, ui)?;
    let outcome = job.plan_outcome(&plan, job.open)?;
    let alternatives = find_alternatives(job, outcome.bytes, ui)?;
    Ok(JobResult {
        alternatives,
        ..JobResult::new(outcome)
    })
}

/// Prunes or restores a session. Reports if SESSION.pruned cannot be removed after a restoration.
fn run_job(job: &PruneJob, ui: &mut Ui) -> Result<JobResult, Failure> {
    if !job.task.is_restore() {
        let (committed, outcome) = job.prune_session(ui)?;
        return Ok(JobResult {
            committed,
            ..JobResult::new(outcome)
        });
    }

    let restored = job.restore_session()?;
    let is_written = restored.committed.is_some();
    let exit = match restored.removal_error {
        Some(error) => job.report_unremoved(error, is_written, ui),
        None => Exit::Done,
    };
    Ok(JobResult {
        committed: restored.committed,
        exit,
        ..JobResult::new(restored.outcome)
    })
}

/// Whether the filter chooses a session. The session is read only if `--older-than` is given.
fn is_chosen(path: &Path, input: &Input, filter: SessionFilter) -> bool {
    let bytes = input.unredacted_source().len();
    if let Some(larger_than) = filter.larger_than
        && bytes <= larger_than
    {
        return false;
    }
    if filter.before_ms.is_none() {
        return true;
    }
    match read_for_list(path) {
        Some(listed) => filter.accepts(listed.selection_facts()),
        // It is chosen, so that opening it reports why it cannot be read.
        None => true,
    }
}

/// Prints a line for each session that was pruned or restored, and a total. With `-n`, prints a
/// table. Warnings of all commits come first.
///
/// A failure to print does not undo what was written: the failure then names the number of sessions
/// that were written.
fn report_sessions(sessions: &[PrunedSession], args: &Args, ui: &mut Ui) -> Result<(), Failure> {
    if args.write.change.dry_run {
        return print_plan(sessions, args, ui);
    }
    for session in sessions {
        if let Some(committed) = &session.committed {
            ui.report_commit_warnings(committed);
        }
    }
    let written_count = sessions
        .iter()
        .filter(|session| session.committed.is_some())
        .count();
    if written_count == 0 {
        return print_results(sessions, args, ui);
    }
    ui.print_after_write(&count_sessions(written_count), |ui| {
        print_results(sessions, args, ui)
    })
}

/// Prints a line for each session, and on standard error how many were changed, and where what was
/// pruned from them is.
fn print_results(sessions: &[PrunedSession], args: &Args, ui: &mut Ui) -> Result<(), Failure> {
    let mut changed_count = 0;
    let mut bytes = 0;
    for session in sessions {
        session.report.print(args.write.change.json, ui)?;
        if session.committed.is_some() {
            changed_count += 1;
        }
        bytes += session.report.outcome.bytes;
    }
    if sessions.is_empty() {
        return Ok(());
    }
    let part = part_of_all(changed_count, sessions.len());
    if args.restore {
        ui.print_status(&format!("{part} restored"));
        return Ok(());
    }
    ui.print_status(&format!("{part} pruned, {}", format_bytes(bytes)));
    // A purge keeps nothing.
    let has_kept_parts = changed_count > 0 && !args.purge;
    if has_kept_parts && !args.write.change.json {
        ui.print_status(kept_note(args));
    }
    Ok(())
}

/// Returns the note that what was pruned is kept in files beside the sessions.
fn kept_note(args: &Args) -> &'static str {
    if args.takes_secrets() {
        KEPT_SECRETS_NOTE
    } else {
        KEPT_NOTE
    }
}

/// Returns a number of sessions out of all sessions: `2 of 40 sessions`.
fn part_of_all(count: usize, all_count: usize) -> String {
    format!("{count} of {}", count_sessions(all_count))
}

/// Returns a number of sessions with its noun: `1 session`, `40 sessions`.
fn count_sessions(count: usize) -> String {
    format_count(count, "session", "sessions")
}

/// Prints a row for each session that would be pruned or restored, with its removed parts, and a
/// total. With JSON, sessions without a change have a row, too.
fn print_plan(sessions: &[PrunedSession], args: &Args, ui: &mut Ui) -> Result<(), Failure> {
    let columns = [
        Column::text("session").allow_shrink(),
        Column::text("parts"),
        Column::text("session size"),
    ];
    let mut table = PlanTable::new(&columns, SESSIONS);
    let mut totals = PlanTotals::default();
    for session in sessions {
        report_remaining_secrets(session, args, ui);
        totals.add(session);
        if args.write.change.json {
            ui.print_json(&session.report.to_json(true))?;
        } else if session.would_change() {
            let outcome = &session.report.outcome;
            let cells = vec![
                path_cell(&session.report.target, ui),
                plain_cell(outcome.describe()),
                plain_cell(describe_sizes(session.size_before, session.size_after)),
            ];
            table.add_row(outcome.bytes, cells, ui)?;
        }
    }
    table.print(ui)?;
    if sessions.is_empty() {
        return Ok(());
    }

    let summary = totals.describe(args.restore);
    if args.write.change.json {
        ui.print_status(&summary);
    } else {
        ui.print(&(summary + "\n"))?;
    }
    let removed_bytes = totals.size_before - totals.size_after;
    totals
        .alternatives
        .report(totals.size_before, removed_bytes, ui);
    warn_of_subfolders(sessions, args, ui);
    Ok(())
}

/// Reports the secrets that would stay in a session, because they cannot be taken out.
fn report_remaining_secrets(session: &PrunedSession, args: &Args, ui: &mut Ui) {
    let purge = if args.purge {
        Purge::Planned
    } else {
        Purge::NotRequested
    };
    let target = session.report.target.to_string_lossy();
    let secrets = &session.report.outcome.secrets;
    secrets.report_remaining(&target, purge, ui);
}

/// Warns if a planned session is in a subdirectory of an argument: the command without `-n` prunes
/// it only with `-r`.
fn warn_of_subfolders(sessions: &[PrunedSession], args: &Args, ui: &mut Ui) {
    if args.recursive {
        return;
    }
    let needs_recursion = sessions.iter().any(|session| {
        session.would_change() && is_in_subfolder(&args.sessions, &session.report.target)
    });
    if needs_recursion {
        ui.warn(NEEDS_RECURSION);
    }
}

/// The sums of a plan for many sessions.
#[derive(Default)]
struct PlanTotals {
    session_count: usize,
    /// The number of sessions that would change.
    changed_count: usize,
    /// The size of all sessions, and their size after the change, in bytes.
    size_before: usize,
    size_after: usize,
    /// The numbers of bytes that other options would remove.
    alternatives: Alternatives,
}

impl PlanTotals {
    fn add(&mut self, session: &PrunedSession) {
        self.session_count += 1;
        if session.would_change() {
            self.changed_count += 1;
        }
        self.size_before += session.size_before;
        self.size_after += session.size_after;
        self.alternatives.add(&session.alternatives);
    }

    /// Returns the sums in words, such as `2 of 40 sessions would be pruned; 4.2 MB to 1.1 MB`.
    fn describe(&self, is_restore: bool) -> String {
        let part = part_of_all(self.changed_count, self.session_count);
        if is_restore {
            format!("{part} would be restored")
        } else if self.changed_count == 0 {
            let sessions = count_sessions(self.session_count);
            format!("nothing would be removed from {sessions}")
        } else {
            let sizes = describe_sizes(self.size_before, self.size_after);
            format!("{part} would be pruned; {sizes}")
        }
    }
}

/// Returns the sizes of sessions before and after a change: `4.2 MB to 1.1 MB`.
fn describe_sizes(before: usize, after: usize) -> String {
    format!("{} to {}", format_bytes(before), format_bytes(after))
}

impl Task<'_> {
    fn is_restore(&self) -> bool {
        matches!(self, Task::Restore)
    }
}
