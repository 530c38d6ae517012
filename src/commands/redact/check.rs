//! `pisess redact --check`: reports the secrets in any number of sessions.

use super::report::SecretPrinter;
use super::{Args, copy_error};
use crate::cli::foreign::{
    find_project_sessions_of, find_sessions_of, find_sources, find_sources_of_projects,
};
use crate::cli::locate::{ArchiveScope, SessionStores, existing_store_roots};
use crate::cli::named::{find_sessions, search_arguments_to_read, shown_title};
use crate::cli::open::Input;
use crate::cli::output::{Exit, Failure, Ui};
use crate::cli::rollouts::Rollouts;
use crate::cli::sessions::NO_SESSIONS_HERE;
use crate::cli::shared_secrets::SharedSecrets;
use crate::cli::sources::Sources;
use crate::format::format_count;
use crate::import::Origin;
use crate::ops::list::read_single;
use crate::ops::prune::pruned_file;
use crate::ops::redact::{FoundSecret, RedactionPlan, RedactionReport, redact_session};
use crate::redact::values::{SecretValue, ValueSearch};
use crate::redact::{Redactor, SecretNumber};
use crate::session::period::Period;
use foldhash::HashMap;
use pisess_json::text::Text;
use pisess_store::{self as store, FoundFile, Reach};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Searches sessions for secrets, and reports them without writing anything. If there is only one
/// session, its failure is returned. Among several, a failure is reported, and the others are
/// searched. With `--check`, a secret raises the exit code to [`Exit::Found`]; with `-n`, it does
/// not.
pub(super) fn report_secrets(args: &Args, ui: &mut Ui) -> Result<Exit, Failure> {
    let SessionsToSearch {
        files,
        mut failures,
        ..
    } = find_sessions_to_search(args, ui)?;
    let is_one = files.len() + failures.len() == 1;
    if is_one && let Some(failure) = failures.pop() {
        return Err(failure);
    }
    let mut exit = Exit::Done;
    for failure in &failures {
        exit = exit.max(ui.report_failure(failure));
    }

    let mut check = SecretCheck {
        args,
        files: &files,
        secrets: None,
        rollouts: Rollouts::default(),
        printer: SecretPrinter::new(&args.write.change, is_one),
        unsearched_pruned: 0,
        found_in: SessionsWithSecrets::default(),
    };
    for file in &files {
        let FileSearch::Failed(failure) = check.search_file(&file.path, ui)? else {
            continue;
        };
        // A directory of sessions may also have other files.
        if failure.is_transcript() && !file.is_given {
            continue;
        }
        if is_one {
            return Err(failure);
        }
        // A session without entries has nothing to search.
        if failure.exit() != Exit::Found {
            exit = exit.max(ui.report_failure(&failure));
        }
    }
    check.print_summary(ui)?;
    if check.printer.has_secrets() && !args.write.change.dry_run {
        exit = exit.max(Exit::Found);
    }
    Ok(exit)
}

/// Returns the secrets to search for in all sessions: those in the files of the options, and with
/// `--check`, as in `prune --secrets`, the secrets that are recognized in any of the sessions. A
/// dry run reports what copies would lack, and each copy is made of one session.
fn read_secrets(
    args: &Args,
    first_input: &Input,
    files: &[FoundFile],
    rollouts: &Rollouts,
    ui: &mut Ui,
) -> Result<SharedSecrets, Failure> {
    let given = args.redaction.values.read_values(Some(first_input), ui)?;
    if !args.check {
        return Ok(SharedSecrets::given_only(given));
    }
    Ok(SharedSecrets::recognize_in_files(
        files, given, rollouts, ui,
    ))
}

/// The search of several sessions for secrets, so far.
struct SecretCheck<'a> {
    args: &'a Args,
    files: &'a [FoundFile],
    /// The secrets to search for, once they are read: when the first session is open.
    secrets: Option<SharedSecrets>,
    rollouts: Rollouts,
    printer: SecretPrinter,
    /// The number of sessions whose pruned parts were not searched.
    unsearched_pruned: usize,
    found_in: SessionsWithSecrets,
}

/// What became of the search of one file.
enum FileSearch {
    /// The session was searched, and its secrets were printed.
    Searched,
    /// This session could not be searched, for this reason. Others still can.
    Failed(Failure),
}

impl SecretCheck<'_> {
    /// Searches a session, and prints its secrets.
    ///
    /// # Errors
    /// If the command must end: the values of `--env-file` or `--secret-file` cannot be read, or
    /// the secrets cannot be printed.
    fn search_file(&mut self, path: &Path, ui: &mut Ui) -> Result<FileSearch, Failure> {
        let args = self.args;
        let input = match open_input(args, path, &self.rollouts, ui) {
            Ok(input) => input,
            Err(failure) => return Ok(FileSearch::Failed(failure)),
        };
        let wants_title = self.printer.has_headings();
        let secrets = self.secrets_to_find(&input, ui)?;
        let searched = match search_input(args, input, secrets, wants_title, ui) {
            Ok(searched) => searched,
            Err(failure) => return Ok(FileSearch::Failed(failure)),
        };

        self.printer.print_session(path, &searched, ui)?;
        if !searched.report.found.is_empty() {
            self.found_in.add(&searched.input);
        }
        if has_pruned_file(&searched.input)? {
            self.unsearched_pruned += 1;
        }
        Ok(FileSearch::Searched)
    }

    /// Returns the secrets that are searched for in all sessions. They are read with the first
    /// session, because a file of secrets may not be standard input if that session is.
    fn secrets_to_find(&mut self, first: &Input, ui: &mut Ui) -> Result<&SharedSecrets, Failure> {
        match &mut self.secrets {
            Some(secrets) => Ok(secrets),
            unread => {
                let secrets = read_secrets(self.args, first, self.files, &self.rollouts, ui)?;
                Ok(unread.insert(secrets))
            }
        }
    }

    /// Prints the number of secrets, what was not searched, and how to remove the secrets.
    fn print_summary(&self, ui: &mut Ui) -> Result<(), Failure> {
        self.printer.print_summary(ui)?;
        if self.unsearched_pruned > 0 {
            let sessions = format_count(self.unsearched_pruned, "session", "sessions");
            ui.warn(&format!(
                "the pruned parts of {sessions} were not searched (hint: `pisess prune --restore` puts them back)"
            ));
        }
        if self.args.check && !self.args.write.change.json {
            self.found_in.report_how_to_prune(self.args.all, ui);
        }
        Ok(())
    }
}

/// The sessions in which secrets were found.
#[derive(Default)]
struct SessionsWithSecrets {
    /// The sessions that `prune` can change, as arguments.
    own_arguments: Vec<String>,
    /// The number of sessions of other agents.
    foreign_count: usize,
}

impl SessionsWithSecrets {
    fn add(&mut self, input: &Input) {
        if input.foreign.is_some() {
            self.foreign_count += 1;
        } else if input.file().is_some() {
            // An archive has no such file, and `prune` does not change it.
            self.own_arguments.push(input.as_argument());
        }
    }

    /// Prints which command takes the secrets out. With `searches_all`, all sessions were searched.
    fn report_how_to_prune(&self, searches_all: bool, ui: &mut Ui) {
        /// The maximum number of sessions to name.
        const MOST_NAMED: usize = 3;

        let arguments = if self.own_arguments.len() <= MOST_NAMED {
            self.own_arguments.join(" ")
        } else if searches_all {
            "--all".to_owned()
        } else {
            "SESSION…".to_owned()
        };
        if !arguments.is_empty() {
            ui.print_status(&format!(
                "`pisess prune -n --secrets {arguments}` lists the strings that it would replace (hint: omit -n to replace them; add --purge to remove the secrets for good)"
            ));
        }
        if self.foreign_count > 0 {
            ui.print_status("pisess does not change sessions of other agents");
        }
    }
}

/// The sessions to search.
struct SessionsToSearch {
    files: Vec<FoundFile>,
    /// The failures of arguments that name nothing, and of directories that cannot be searched.
    failures: Vec<Failure>,
    /// The note for the user if there are no sessions. `None` if a failure says so.
    none_found_note: Option<String>,
}

impl SessionsToSearch {
    /// Returns the sessions that arguments name. A directory names all sessions at and below it.
    fn at_paths(paths: &[PathBuf], ui: &mut Ui) -> SessionsToSearch {
        let found = search_arguments_to_read(paths, Reach::Whole, ui);
        SessionsToSearch {
            files: found.files,
            failures: found.failures,
            none_found_note: found.none_found_note,
        }
    }

    /// Returns the sessions of the current directory in the stores.
    fn of_current_folder(stores: &SessionStores, ui: &mut Ui) -> SessionsToSearch {
        let no_paths = [];
        let all_projects = false;
        let found = find_sessions(stores, &no_paths, all_projects, ui);
        SessionsToSearch {
            files: found.files,
            failures: found.failures,
            none_found_note: Some(NO_SESSIONS_HERE.to_owned()),
        }
    }

    /// Warns if there are no sessions.
    fn warn_of_none(&self, ui: &mut Ui) {
        if self.files.is_empty()
            && let Some(note) = &self.none_found_note
        {
            ui.warn(note);
        }
    }
}

/// Finds the sessions to search. Without `--source`, these are sessions of pi and oh-my-pi, and
/// among the arguments also sessions of other agents. With `--source`, these are the sessions of
/// the agents that it names.
fn find_sessions_to_search(args: &Args, ui: &mut Ui) -> Result<SessionsToSearch, Failure> {
    let Some(sources) = args.sources(ui)? else {
        let sessions = find_own_sessions(args, ui)?;
        sessions.warn_of_none(ui);
        return Ok(sessions);
    };
    if args.archived {
        sources.refuse_without_archives()?;
    }
    if !sources.includes_own() {
        // This warns itself if there are none.
        let found = find_sources(&sources.origins, &args.sessions, args.all, ui)?;
        return Ok(SessionsToSearch {
            files: found.files,
            failures: found.failures,
            none_found_note: None,
        });
    }

    find_own_and_others(args, &sources, ui)
}

/// Finds the sessions to search of the agents in `sources`, which are pi, oh-my-pi or both, and
/// maybe others. Warns if there are none.
fn find_own_and_others(
    args: &Args,
    sources: &Sources,
    ui: &mut Ui,
) -> Result<SessionsToSearch, Failure> {
    let mut sessions = find_own_sessions(args, ui)?;
    let found_any = !sessions.files.is_empty();
    sessions.files = sources.retain_files(sessions.files, ui)?;
    if sources.origins.is_empty() && found_any {
        // If none of the files is of these agents, `retain_files` has warned of that.
        return Ok(sessions);
    }
    let sessions_of_others = find_others(args, &sources.origins, &sessions.files, ui);
    sessions.files.extend(sessions_of_others);
    sessions.warn_of_none(ui);
    Ok(sessions)
}

/// Finds the sessions of other agents, the `origins`, that are not among the files `found` before:
/// of all projects, of the current directory, or of the projects that the arguments name.
fn find_others(
    args: &Args,
    origins: &[Origin],
    found: &[FoundFile],
    ui: &mut Ui,
) -> Vec<FoundFile> {
    if args.all {
        return find_sessions_of(origins, ui);
    }
    if args.sessions.is_empty() {
        let current_folder = ui.current_folder().to_owned();
        return find_project_sessions_of(origins, &[current_folder], ui);
    }
    find_sources_of_projects(origins, &args.sessions, found, ui)
}

/// Finds the sessions that the arguments name; without arguments, all sessions of the current
/// directory, or of all projects. Archives are included only with `--archived`. Without it and
/// without arguments, a warning says that archives are not searched. The caller warns if there are
/// no sessions.
fn find_own_sessions(args: &Args, ui: &mut Ui) -> Result<SessionsToSearch, Failure> {
    let stores = SessionStores::locate(ui);
    let mut sessions = if args.all {
        SessionsToSearch::at_paths(&existing_store_roots(ui), ui)
    } else if !args.sessions.is_empty() {
        SessionsToSearch::at_paths(&args.sessions, ui)
    } else {
        SessionsToSearch::of_current_folder(&stores, ui)
    };

    let is_current_project = args.sessions.is_empty() && !args.all;
    let archive_scope = if is_current_project {
        ArchiveScope::CurrentProject
    } else {
        ArchiveScope::AllProjects
    };
    if args.archived {
        let archives = stores.find_archive_files(archive_scope)?;
        sessions.files.extend(archives);
    } else if args.sessions.is_empty() {
        stores.warn_archives_skipped(archive_scope, Period::default(), ui);
    }
    Ok(sessions)
}

impl Args {
    /// Returns the agents whose sessions are searched; `None` without `--source`. The environment
    /// does not count, unlike in other commands: it must not narrow a search for secrets.
    fn sources(&self, ui: &Ui) -> Result<Option<Sources>, Failure> {
        if self.source.is_given() {
            self.source.sources(ui)
        } else {
            Ok(None)
        }
    }
}

/// Opens a session. `--check` also reads sessions of other agents. A dry run refuses them, as the
/// real run does.
fn open_input(
    args: &Args,
    path: &Path,
    rollouts: &Rollouts,
    ui: &mut Ui,
) -> Result<Input, Failure> {
    if args.check {
        Input::open_found_to_read(path, rollouts, ui)
    } else {
        Input::open_unconverted(path, ui)
    }
}

/// A session, and the report of its secrets.
pub(super) struct SearchedSession {
    pub input: Input,
    pub report: RedactionReport,
    /// The texts of the secrets. They are never printed: they are compared with those of other
    /// sessions, so that the same secret is counted once.
    pub texts: HashMap<SecretNumber, Arc<[u8]>>,
    /// `None` if it was not asked for, or if the session has no secrets.
    pub heading: Option<SessionHeading>,
}

impl SearchedSession {
    /// Returns the text of a secret in the report, which has only its number: the redactor that
    /// made the report has numbered all its secrets.
    pub(super) fn text_of(&self, found: &FoundSecret) -> Arc<[u8]> {
        self.texts[&found.secret.number].clone()
    }
}

/// What the heading of a session has besides its path.
pub(super) struct SessionHeading {
    /// `None` if it may have a secret.
    pub id: Option<Text<'static>>,
    /// The title on one line, without secrets.
    pub title: String,
}

/// Searches a session for secrets: those that are recognized by their shape, and `secrets`. If
/// `wants_title`, also reads the title of a session that has some.
///
/// With `-o`, fails if the copy that the dry run announces could not be created.
fn search_input(
    args: &Args,
    input: Input,
    secrets: &SharedSecrets,
    wants_title: bool,
    ui: &Ui,
) -> Result<SearchedSession, Failure> {
    // This comes first, because a search takes long.
    refuse_existing_copy(args, &input)?;

    let workers = ui.processor_count();
    let values = secrets.values_for(&input, workers)?;
    let part = args.select_part(input, values, ui)?;
    let input = &part.input;
    let mut redactor = args
        .redaction
        .new_redactor(input, part.values.clone(), ui)?;
    let found = if wants_title {
        find_with_heading(input, &mut redactor, workers)
    } else {
        find_without_heading(input, &mut redactor, workers)
    };
    let FoundSecrets {
        mut report,
        heading,
    } = input.map_read_error(found)?;
    part.restore_lines(&mut report);
    Ok(SearchedSession {
        input: part.input,
        report,
        texts: redactor.texts_by_number(),
        heading,
    })
}

/// The secrets that a search of a session has found.
struct FoundSecrets {
    report: RedactionReport,
    heading: Option<SessionHeading>,
}

/// Finds the secrets of a session.
fn find_without_heading(
    input: &Input,
    redactor: &mut Redactor,
    workers: usize,
) -> io::Result<FoundSecrets> {
    let no_copy = None;
    Ok(FoundSecrets {
        report: redact_session(input.source(), redactor, workers, no_copy)?,
        heading: None,
    })
}

/// Finds the secrets of a session and, if there are some, its heading. The title for that is read
/// from a copy of the session without the secrets, which a [`RedactionPlan`] can write.
fn find_with_heading(
    input: &Input,
    redactor: &mut Redactor,
    workers: usize,
) -> io::Result<FoundSecrets> {
    let plan = RedactionPlan::new(input.source(), redactor, workers)?;
    let mut heading = None;
    if !plan.report.found.is_empty() {
        heading = read_heading(input, &plan, redactor.found_values());
    }
    Ok(FoundSecrets {
        report: plan.report,
        heading,
    })
}

/// Fails if `-o` names a file that the copy could not be written to. Standard output is never
/// refused.
fn refuse_existing_copy(args: &Args, input: &Input) -> Result<(), Failure> {
    let Some(output) = &args.write.output else {
        return Ok(());
    };
    if output == Path::new("-") {
        return Ok(());
    }
    let force = args.write.change.force;
    store::check_create(output, input.protected_file(), force).map_err(copy_error)
}

/// Reads the id and the title of a session, for its heading. The title is read from a temporary
/// copy that `plan` writes, without `secrets`. `None` if the copy cannot be written or read: then
/// the secrets are reported without a title.
fn read_heading(
    input: &Input,
    plan: &RedactionPlan,
    secrets: Vec<SecretValue>,
) -> Option<SessionHeading> {
    let spooled = store::spool_written(&mut |out| plan.write_copy(input.source(), out));
    let copy = spooled.ok()?;
    let path = input.path.as_deref().unwrap_or(Path::new("-"));
    // The heading has neither the time of the file nor what was pruned.
    let unused_modified_ms = 0;
    let pruned = None;
    let listed = read_single(path, &copy, unused_modified_ms, pruned).ok()?;

    // The copy keeps a secret where its text may be an ordinary word, and the id of another agent's
    // session is not from the copy. So both may have a secret.
    let secrets = ValueSearch::new(secrets);
    let mut title = shown_title(&listed);
    if secrets.has_value_in(&title) {
        "(title not shown, because it may have a secret)".clone_into(&mut title);
    }
    let id = match &input.foreign {
        Some(head) => Text::from(head.id.clone()),
        None => listed.id,
    };
    let may_show_id = !secrets.has_value_in(&id.to_string_lossy());
    Some(SessionHeading {
        id: if may_show_id { Some(id) } else { None },
        title,
    })
}

/// Whether parts of a session were pruned, which are in a file beside it.
fn has_pruned_file(input: &Input) -> Result<bool, Failure> {
    match input.file() {
        Some(file) => Ok(!store::is_free(&pruned_file(file.resolved()))?),
        None => Ok(false),
    }
}
