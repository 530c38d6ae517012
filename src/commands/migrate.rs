//! `pisess migrate`: migrates session files to version 3.

use crate::cli::foreign::load_failure;
use crate::cli::guide::{Example, Guide};
use crate::cli::locate::existing_store_roots;
use crate::cli::named::{
    FoundSessions, NEEDS_RECURSION, expand_arguments, expand_arguments_to_report, is_found_by_name,
    is_in_subfolder, reach_of_change,
};
use crate::cli::open::OpenSession;
use crate::cli::options::WriteArgs;
use crate::cli::output::{Column, Exit, Failure, Table, Ui, plain_cell, to_visible};
use crate::cli::plan::{PlanTable, SESSIONS, path_cell};
use crate::cli::status::Status;
use crate::cli::titled::TitlePolicy;
use crate::cli::transaction::refuse_output_in_dry_run;
use crate::format::format_count;
use crate::load::{LoadOptions, load};
use crate::ops::plan::{Change, copy_all};
use crate::session::{Format, Session};
use pisess_json::write::Object;
use pisess_store::{self as store, Batch, Committed, FoundFile, Reach, SessionFile};
use std::path::{Path, PathBuf};
use std::time::Instant;

pub const GUIDE: Guide = Guide::new(&[
    Example::new(
        "Migrate one file, keeping the old one as old.jsonl.bak",
        "pisess migrate --backup old.jsonl",
    ),
    Example::new(
        "Migrate every session below a directory, with a table at the end",
        "pisess migrate -r sessions",
    ),
    Example::answers_no(
        "Check whether a file needs migration (exit 1), changing nothing",
        "pisess migrate --check old.jsonl",
    ),
    Example::new(
        "Migrate in a pipe",
        "pisess migrate - < old.jsonl > new.jsonl",
    ),
])
.with_found("with --check: some files need migration");

/// Migrate old session files to version 3.
///
/// Converts files in version 1, version 2 or the draft tree format to version 3, which both agents
/// read. The draft tree format was a proposal that preceded version 2. Only lines that differ in
/// version 3 are changed; all others are copied byte for byte. A version 3 file is not changed. Old
/// entries get the same ids every time.
///
/// Given a directory, migrates the *.jsonl files directly in it; -r includes its subdirectories,
/// except hidden ones. --check and -n, which write nothing, always include subdirectories. With -r,
/// the root directory, a home directory and directories above an agent's store are refused without
/// --force.
///
/// Several files are migrated in parallel. The changed ones are listed, followed by a table of the
/// results. A file that cannot be migrated does not stop the others. Other commands read old files
/// without migrating them; a command that changes an old file migrates it in the same write.
#[derive(Debug, clap::Args)]
#[command(override_usage = concat!(
    "pisess migrate [OPTIONS] <SESSION>...\n",
    "       pisess migrate [OPTIONS] --check --all",
))]
pub struct Args {
    /// Session files, directories of them, or - for standard input
    #[arg(required_unless_present = "all", value_name = "SESSION")]
    pub sessions: Vec<PathBuf>,
    /// Include the sessions of all projects (with --check or -n)
    #[arg(short, long, conflicts_with_all = ["sessions", "output", "backup"])]
    pub all: bool,
    /// Change nothing; report what there is to do, and exit 1 if there is anything
    #[arg(long, conflicts_with_all = ["output", "backup"])]
    pub check: bool,
    /// Keep the old file, with SUFFIX appended to its name
    #[arg(long, value_name = "SUFFIX", num_args = 0..=1, require_equals = true, default_missing_value = ".bak", help_heading = "Writing")]
    pub backup: Option<String>,
    /// Include subdirectories (--check and -n always read them)
    #[arg(short, long)]
    pub recursive: bool,
    #[command(flatten)]
    pub write: WriteArgs,
}

/// The outcome for one file.
struct MigrationOutcome {
    path: PathBuf,
    old_file: Result<OldFile, Failure>,
    status: Status,
    committed: Option<Committed>,
}

/// The facts about a file before its migration.
struct OldFile {
    version: &'static str,
    entries: usize,
    bytes: usize,
}

impl Args {
    fn writes_files(&self) -> bool {
        !self.check && !self.write.change.dry_run
    }
}

/// Migrates one session to another file or to standard output, or several files in place.
pub fn run(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let has_output = args.write.output.is_some();
    if let [session] = &args.sessions[..]
        && (session == Path::new("-") || has_output)
    {
        return migrate_elsewhere(session, args, ui);
    }
    let has_stdin = args
        .sessions
        .iter()
        .any(|session| session == Path::new("-"));
    if has_stdin {
        return Err(
            Failure::invalid("standard input cannot be combined with paths")
                .with_hint("give - alone"),
        );
    }
    if has_output {
        return Err(Failure::invalid("-o takes only one session")
            .with_hint("without -o, each file is migrated in place"));
    }
    if args.all && args.writes_files() {
        return Err(Failure::usage_error("--all requires --check or -n")
            .with_hint("to migrate the sessions in a directory, give it with -r"));
    }
    migrate_in_place(args, ui)
}

/// Migrates the given files, and those in the given directories. With `--check` or `-n`, only
/// reports which of them need it: then subdirectories are searched even without `-r`.
fn migrate_in_place(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let sessions = if args.all {
        &existing_store_roots(ui)
    } else {
        &args.sessions
    };
    let FoundSessions {
        files,
        mut failures,
        ..
    } = find_files(sessions, args, ui)?;
    // For a single argument, a failure to find it is the failure of the command.
    if sessions.len() == 1
        && files.is_empty()
        && let Some(failure) = failures.pop()
    {
        return Err(failure);
    }

    let mut outcomes = Vec::new();
    // An argument was not found, or a directory could not be searched.
    for failure in failures {
        let path = PathBuf::from(failure.path.clone().unwrap_or_default());
        outcomes.push(MigrationOutcome::from_failure(&path, failure));
    }
    // Only once the batch is finished do all migrations survive a power failure.
    let batch = Batch::default();
    outcomes.extend(migrate_all(files, args, &batch, ui));
    for warning in batch.finish() {
        ui.warn(&warning.to_string());
    }

    let exit = report_outcomes(&outcomes, args, ui)?;
    if !args.writes_files() && !args.recursive && needs_recursion(sessions, &outcomes) {
        ui.warn(NEEDS_RECURSION);
    }
    Ok(exit)
}

/// Whether a file that needs the migration is in a subdirectory of the given directories. Without
/// `-r`, the migration would not reach it.
fn needs_recursion(sessions: &[PathBuf], outcomes: &[MigrationOutcome]) -> bool {
    outcomes.iter().any(|outcome| {
        outcome.status == Status::Outdated && is_in_subfolder(sessions, &outcome.path)
    })
}

/// Finds the files to migrate, or to report on. Only a command that writes refuses to search
/// directories that are too high, and subdirectories without `-r`.
fn find_files(sessions: &[PathBuf], args: &Args, ui: &mut Ui) -> Result<FoundSessions, Failure> {
    // A migration cannot be taken back without the old file.
    let is_reversible = args.backup.is_some();
    let title_policy = TitlePolicy::for_change(is_reversible, &args.sessions, ui);
    if args.writes_files() {
        let force = args.write.change.force;
        let reach = reach_of_change(&args.sessions, args.recursive, force, ui)?;
        return Ok(expand_arguments(sessions, reach, title_policy, ui));
    }
    if args.check {
        return Ok(expand_arguments_to_report(sessions, ui));
    }
    // With -n, the name of a project is refused, as without it.
    Ok(expand_arguments(sessions, Reach::Visible, title_policy, ui))
}

/// Migrates one session to another file, or without `-o` to standard output. With `--check` or
/// `-n`, only reports whether the session needs it.
fn migrate_elsewhere(path: &Path, args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    refuse_folder_and_backup(path, args)?;
    let open = OpenSession::open_to_change(path, LoadOptions::default(), ui)?;
    let loaded = &open.session;
    let source = open.input.source();
    let force = args.write.change.force;
    if !args.writes_files() {
        if args.write.change.dry_run
            && let Some(output) = &args.write.output
        {
            refuse_output_in_dry_run(output, &open.input, force)?;
        }
        let outcome = MigrationOutcome::from_session(path, loaded, status_of_unchanged(loaded));
        return report_outcomes(&[outcome], args, ui);
    }

    let mut fill = |out: &mut dyn std::io::Write| match loaded.format {
        // Version 3 is copied byte for byte.
        Format::V3 => copy_all(source, out),
        // A change is always written in version 3, even if it is empty.
        _ => Change::default().write(loaded, source, out),
    };
    let output = args.write.output.as_deref().unwrap_or(Path::new("-"));
    open.write_output(output, force, &mut fill, ui)?;
    Ok(Exit::Done)
}

/// Refuses a directory, and `--backup`: both apply to a migration in place.
fn refuse_folder_and_backup(path: &Path, args: &Args) -> Result<(), Failure> {
    if path.is_dir() {
        let name = to_visible(&path.to_string_lossy());
        let what = format_args!("-o takes only one session, and {name} is a directory");
        return Err(Failure::invalid(what).with_hint(
            "without -o, the files in it are migrated in place; --backup keeps the old ones",
        ));
    }
    if args.backup.is_some() {
        let what = "--backup has no effect: the session itself is not changed";
        return Err(Failure::invalid(what).with_hint("--backup applies to a migration in place"));
    }
    Ok(())
}

/// Migrates files on all processors, and returns the outcomes in the order of the files. A
/// sub-agent transcript has no outcome, unless its own path was given.
fn migrate_all(
    files: Vec<FoundFile>,
    args: &Args,
    batch: &Batch,
    ui: &mut Ui,
) -> Vec<MigrationOutcome> {
    // If there are fewer files than processors, several processors read each file.
    let file_count = files.len().max(1);
    let files_at_once = file_count.min(ui.processor_count());
    let options = LoadOptions {
        workers: ui.processor_count() / files_at_once,
        ..LoadOptions::default()
    };
    let work = |file: FoundFile| match migrate_with_retries(&file.path, args, batch, &options) {
        Ok(outcome) => Some(outcome),
        Err(failure) if failure.is_transcript() && !file.is_given => None,
        Err(failure) => Some(MigrationOutcome::from_failure(&file.path, failure)),
    };
    let mut outcomes = Vec::new();
    ui.map_in_parallel(files, work, |_ui, outcome| outcomes.extend(outcome));
    outcomes
}

/// Migrates one file. If another process changes or replaces the file meanwhile, tries again until
/// the time of `--wait` is over. That other process may be another migration.
fn migrate_with_retries(
    path: &Path,
    args: &Args,
    batch: &Batch,
    options: &LoadOptions,
) -> Result<MigrationOutcome, Failure> {
    let start = Instant::now();
    loop {
        let result = try_migrate(path, args, batch, options);
        let may_retry = start.elapsed() < args.write.change.wait;
        match result {
            Err(failure) if failure.is_concurrent_change && may_retry => {}
            result => return result,
        }
    }
}

/// Migrates one file. Fails if the file is changed or replaced meanwhile. A file of version 3 is
/// not written. With `--check` or `-n`, no file is written.
fn try_migrate(
    path: &Path,
    args: &Args,
    batch: &Batch,
    options: &LoadOptions,
) -> Result<MigrationOutcome, Failure> {
    let file = SessionFile::open(path)?;
    let session = load(&file, options)
        .map_err(|error| load_failure(&to_visible(&path.to_string_lossy()), &file, error))?;
    let unchanged = MigrationOutcome::from_session(path, &session, status_of_unchanged(&session));
    if session.format == Format::V3 || args.check {
        return Ok(unchanged);
    }

    let locked = store::lock(&file, &args.write.change.write_options(session.dialect))?;
    if args.write.change.dry_run {
        // A file that is locked, in use or has several names is refused, as without `-n`. Returning
        // releases the lock.
        locked.refuse_hard_links()?;
        return Ok(unchanged);
    }
    let backup_suffix = args.backup.as_ref();
    let backup = backup_suffix.map(|suffix| store::with_suffix(path, suffix));
    // A change is always written in version 3, even an empty one.
    let mut fill = |out: &mut dyn std::io::Write| Change::default().write(&session, &file, out);
    let attempt = batch.rewrite(locked, backup.as_deref(), &mut fill)?;
    Ok(MigrationOutcome {
        // Fails if the session has grown since it was loaded.
        committed: Some(attempt.done()?),
        ..MigrationOutcome::from_session(path, &session, Status::Migrated)
    })
}

/// Returns the status of a session that is not migrated.
fn status_of_unchanged(session: &Session) -> Status {
    if session.format == Format::V3 {
        Status::Current
    } else {
        Status::Outdated
    }
}

impl MigrationOutcome {
    /// Returns the outcome for a session that was read. `session` is the session before it is
    /// migrated. If it is migrated, the caller adds the commit.
    fn from_session(path: &Path, session: &Session, status: Status) -> MigrationOutcome {
        let version = match session.format {
            Format::V1 => "v1",
            Format::Draft => "draft",
            Format::V2 => "v2",
            Format::V3 => "v3",
        };
        MigrationOutcome {
            path: path.to_owned(),
            old_file: Ok(OldFile {
                version,
                entries: session.entries.len(),
                bytes: session.file_len as usize,
            }),
            status,
            committed: None,
        }
    }

    fn from_failure(path: &Path, failure: Failure) -> MigrationOutcome {
        MigrationOutcome {
            path: path.to_owned(),
            old_file: Err(failure),
            status: Status::Failed,
            committed: None,
        }
    }

    /// Returns the version before the migration; `None` if the file could not be read.
    fn old_version(&self) -> Option<&'static str> {
        match &self.old_file {
            Ok(old_file) => Some(old_file.version),
            Err(_) => None,
        }
    }

    /// Returns the exit code of this outcome. A failure has its own exit code. With `--check`, a
    /// file that needs to be migrated has [`Exit::Found`].
    fn exit(&self, args: &Args) -> Exit {
        match &self.old_file {
            Err(failure) => failure.exit(),
            Ok(_) if args.check && self.status == Status::Outdated => Exit::Found,
            Ok(_) => Exit::Done,
        }
    }

    /// Prints on standard error the warnings of the commit, and the failure. Also prints the path
    /// of a migrated session that was given by its name.
    fn report_to_stderr(&self, args: &Args, ui: &mut Ui) {
        if let Some(committed) = &self.committed {
            ui.report_commit_warnings(committed);
        }
        if self.status == Status::Migrated && is_found_by_name(&args.sessions, &self.path) {
            ui.print_status(&format!("changed {}", self.path.to_string_lossy()));
        }
        if let Err(failure) = &self.old_file {
            ui.print_error(&failure.to_line());
        }
    }

    /// Returns the outcome as JSON. For a file that could not be read, versions and entries are
    /// `null`, and there is an `error`.
    fn outcome_json(&self) -> Vec<u8> {
        let row = Object::new()
            .str("path", &self.path.to_string_lossy())
            .str_or_null("from", self.old_version());
        let status = self.status.to_json();
        match &self.old_file {
            Ok(old_file) => row
                .str("to", "v3")
                .number("entries", old_file.entries as f64)
                .json("status", &status)
                .finish(),
            Err(failure) => row
                .str_or_null("to", None)
                .number_or_null("entries", None)
                .json("status", &status)
                .str("error", &failure.to_line())
                .finish(),
        }
    }
}

/// Prints the outcomes, and returns the worst exit code among them. A failure to print does not
/// undo a migration: that failure names the files that were migrated.
fn report_outcomes(
    outcomes: &[MigrationOutcome],
    args: &Args,
    ui: &mut Ui,
) -> Result<Exit, Failure> {
    let mut exit = Exit::Done;
    let mut migrated_paths = Vec::new();
    let mut failed_count = 0;
    for outcome in outcomes {
        outcome.report_to_stderr(args, ui);
        exit = exit.max(outcome.exit(args));
        match outcome.status {
            Status::Migrated => migrated_paths.push(outcome.path.to_string_lossy()),
            Status::Failed => failed_count += 1,
            _ => {}
        }
    }

    if outcomes.len() > 1 && failed_count > 0 && args.writes_files() {
        let migrated_count = migrated_paths.len();
        ui.print_status(&format!("{migrated_count} migrated, {failed_count} failed"));
    }
    if migrated_paths.is_empty() {
        print_outcomes(outcomes, args, ui)?
    } else {
        ui.print_after_write(&migrated_paths.join(" "), |ui| {
            print_outcomes(outcomes, args, ui)
        })?
    }
    Ok(exit)
}

/// Prints a single outcome as a line, unless it is a failure, which was reported before. Of several
/// outcomes, prints a line for each file that was migrated or needs it, and then a table of counts.
fn print_outcomes(outcomes: &[MigrationOutcome], args: &Args, ui: &mut Ui) -> Result<(), Failure> {
    if args.write.change.json {
        for outcome in outcomes {
            ui.print_json(&outcome.outcome_json())?;
        }
        return Ok(());
    }
    if args.write.change.dry_run {
        return print_plan(outcomes, ui);
    }
    if let [outcome] = outcomes {
        return match &outcome.old_file {
            Ok(old_file) => ui.print(&outcome_line(outcome, old_file, args)),
            Err(_) => Ok(()),
        };
    }

    for outcome in outcomes {
        if let Ok(old_file) = &outcome.old_file
            && matches!(outcome.status, Status::Migrated | Status::Outdated)
        {
            ui.print(&outcome_line(outcome, old_file, args))?;
        }
    }
    outcome_table(outcomes, args).print(ui)
}

/// Prints a row for each file to migrate, with its size. On standard error, prints how many files
/// need no migration. Failures were reported before.
fn print_plan(outcomes: &[MigrationOutcome], ui: &mut Ui) -> Result<(), Failure> {
    let columns = [
        Column::text("from"),
        Column::number("entries"),
        Column::text("session"),
    ];
    let mut plan = PlanTable::new(&columns, SESSIONS);
    let mut current_count = 0;
    for outcome in outcomes {
        let Ok(old_file) = &outcome.old_file else {
            continue;
        };
        if outcome.status != Status::Outdated {
            current_count += 1;
            continue;
        }
        let cells = vec![
            plain_cell(old_file.version.to_owned()),
            plain_cell(old_file.entries.to_string()),
            path_cell(&outcome.path, ui),
        ];
        plan.add_row(old_file.bytes, cells, ui)?;
    }
    plan.print(ui)?;

    if current_count > 0 {
        let sessions = format_count(current_count, "session is", "sessions are");
        ui.print_status(&format!("{sessions} version 3 already"));
    }
    Ok(())
}

/// Returns the outcome for a file that was read as a line, with the version and the number of
/// entries before the migration. With `--backup`, it ends with the path of the old file.
fn outcome_line(outcome: &MigrationOutcome, old_file: &OldFile, args: &Args) -> String {
    let path = to_visible(&outcome.path.to_string_lossy());
    let from = old_file.version;
    let entries = old_file.entries;
    match outcome.status {
        Status::Current => format!("{path}: already version 3, {entries} entries\n"),
        Status::Outdated => format!("{path}: {from}, {entries} entries, to be migrated\n"),
        // Of the other statuses, a file that was read has only `Migrated`.
        _ => {
            let backup = backup_note(outcome, args);
            format!("{path}: migrated from {from}, {entries} entries{backup}\n")
        }
    }
}

/// Returns the end of the line of a migrated file: `; the old file is a.jsonl~`. Empty without
/// `--backup`.
fn backup_note(outcome: &MigrationOutcome, args: &Args) -> String {
    let Some(suffix) = &args.backup else {
        return String::new();
    };
    let backup = store::with_suffix(&outcome.path, suffix);
    format!(
        "; the old file is {}",
        to_visible(&backup.to_string_lossy())
    )
}

/// Returns a table of counts, with a row for each version that was found. Files that could not be
/// read are in a row of their own.
fn outcome_table(outcomes: &[MigrationOutcome], args: &Args) -> Table {
    let migrated_title = if args.writes_files() {
        "migrated"
    } else {
        "to migrate"
    };
    let mut table = Table::new([
        Column::text("from"),
        Column::number("files"),
        Column::number("entries"),
        Column::number(migrated_title),
        Column::number("current"),
        Column::number("failed"),
    ]);
    // `None` is the version of a file that could not be read.
    for version in [Some("draft"), Some("v1"), Some("v2"), Some("v3"), None] {
        let mut counts = VersionCounts::default();
        for outcome in outcomes {
            if outcome.old_version() == version {
                counts.add_outcome(outcome);
            }
        }
        if counts.files > 0 {
            table.add_text_row([
                version.unwrap_or("-").to_owned(),
                counts.files.to_string(),
                counts.entries.to_string(),
                counts.migrated.to_string(),
                counts.current.to_string(),
                counts.failed.to_string(),
            ]);
        }
    }
    table
}

/// The counts of one version: a row of the table.
#[derive(Default)]
struct VersionCounts {
    files: usize,
    entries: usize,
    /// The number of files that were migrated, or need to be.
    migrated: usize,
    current: usize,
    failed: usize,
}

impl VersionCounts {
    /// Counts a file of this version. The entries of a file that could not be read are unknown.
    fn add_outcome(&mut self, outcome: &MigrationOutcome) {
        self.files += 1;
        if let Ok(old_file) = &outcome.old_file {
            self.entries += old_file.entries;
        }
        match outcome.status {
            Status::Migrated | Status::Outdated => self.migrated += 1,
            Status::Current => self.current += 1,
            Status::Failed => self.failed += 1,
            _ => {}
        }
    }
}
