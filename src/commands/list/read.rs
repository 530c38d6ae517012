//! Reads the sessions to list.

use super::Args;
use crate::cli::foreign::{self, ConvertedSource};
use crate::cli::ids::Ids;
use crate::cli::open::{Input, refuse_stdout_as_input};
use crate::cli::output::{Failure, Ui, to_visible};
use crate::cli::pruned::{load_pruned, load_pruned_beside, split_result, warn_uncounted};
use crate::cli::rollouts::{Rollouts, detect_file, is_pipe};
use crate::cli::sources::Sources;
use crate::import::{Origin, SourceHead};
use crate::load::{LoadError, LoadOptions, WrongFile};
use crate::ops::list::{
    CountedKeys, FamilyFile, ListedSession, ReadSession, count_new_entries, read_first_question,
    read_session, sort_and_mark_related,
};
use crate::ops::prune::Restoration;
use crate::session::period::Period;
use crate::session::usage::SubAgents;
use pisess_json::text::Text;
use pisess_store::{self as store, FoundFile, Glance, ReadAt};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

/// Reads the files on all processors, and adds their sessions to the list. Reports files that
/// cannot be read: those named on the command line as errors, others as warnings. Returns whether
/// there was an error.
pub(super) fn read_sessions(
    list: &mut Vec<ListedSession>,
    files: Vec<FoundFile>,
    args: &Args,
    sources: Option<&Sources>,
    period: Period,
    ui: &mut Ui,
) -> bool {
    let reader = ListReader {
        agents: SubAgents::from_files(&files),
        sources,
        rollouts: Rollouts::default(),
        is_stdout: ui.stdout_predicate(),
    };
    // Entries that several forks share are counted once, for the session that started first.
    let files = if args.forks {
        sort_and_mark_related(files)
    } else {
        files.into_iter().map(unrelated_file).collect()
    };
    // If there are fewer files than processors, several processors read each file.
    let parallel_files = files.len().clamp(1, ui.processor_count());
    let workers_per_file = ui.processor_count() / parallel_files;
    let read_file = |FamilyFile { file, is_related }: FamilyFile| {
        let options = load_options(workers_per_file, is_related, period);
        let read_result = reader.read_file(&file, &options);
        (file, read_result)
    };

    // Reports wait until all files are read, because a line on standard error ends the progress
    // bar.
    let mut counted_keys = CountedKeys::default();
    let mut pruned_failures = Vec::new();
    let mut failures = Vec::new();
    ui.map_in_parallel(
        files,
        read_file,
        |_, (file, read_result)| match read_result {
            Ok(None) => {}
            Ok(Some(read)) => {
                list.push(count_new_entries(&mut counted_keys, read.session));
                pruned_failures.extend(read.pruned_failure);
            }
            Err(failure) => failures.push(UnreadFile {
                is_named: file.is_given,
                failure,
            }),
        },
    );
    for failure in &pruned_failures {
        warn_uncounted(failure, ui);
    }
    report_unread(&failures, ui)
}

/// Returns a file whose entries are all counted, whatever entries other files have.
fn unrelated_file(file: FoundFile) -> FamilyFile {
    FamilyFile {
        file,
        is_related: false,
    }
}

/// Reports files that could not be read. Returns whether one of them was named on the command line.
fn report_unread(files: &[UnreadFile], ui: &mut Ui) -> bool {
    let mut has_errors = false;
    for unread in files {
        if unread.is_named {
            ui.report_failure(&unread.failure);
            has_errors = true;
        } else {
            ui.warn(&unread.failure.to_note());
        }
    }
    has_errors
}

/// Reads sessions of any agent, on several threads.
struct ListReader<'a> {
    /// The sub-agents among the files.
    agents: SubAgents,
    /// The agents whose sessions are listed; `None` for pi and oh-my-pi.
    sources: Option<&'a Sources>,
    rollouts: Rollouts,
    is_stdout: &'a (dyn Fn(&File) -> bool + Sync),
}

impl ListReader<'_> {
    /// Reads one file. Returns `None` if it is not a session that is listed.
    fn read_file(
        &self,
        file: &FoundFile,
        options: &LoadOptions,
    ) -> Result<Option<SessionOfFile>, Failure> {
        let source = match self.sources {
            Some(sources) => detect_source(file, sources)?,
            None => FileSource::Own,
        };
        match source {
            FileSource::Own => read_session_file(file, options, &self.agents, self.is_stdout),
            FileSource::Other(origin) => read_foreign_file(file, origin, options, &self.rollouts),
            FileSource::NotListed => Ok(None),
        }
    }
}

/// Whose session a file is.
enum FileSource {
    /// Of pi or oh-my-pi, if it is a session at all.
    Own,
    /// Of another agent.
    Other(Origin),
    /// Of an agent whose sessions are not listed.
    NotListed,
}

/// Detects which agent wrote a file.
fn detect_source(file: &FoundFile, sources: &Sources) -> Result<FileSource, Failure> {
    let source = match detect_file(&file.path)? {
        Some(origin) if sources.origins.contains(&origin) => FileSource::Other(origin),
        None if sources.includes_own() || is_pipe(&file.path) => FileSource::Own,
        _ => FileSource::NotListed,
    };
    Ok(source)
}

/// A file that could not be read.
struct UnreadFile {
    /// Whether the file was named on the command line. Otherwise a search found it.
    is_named: bool,
    failure: Failure,
}

/// Returns the session on standard input if one of the paths is `-`.
pub(super) fn read_stdin_session(
    args: &Args,
    period: Period,
    ui: &mut Ui,
) -> Result<Option<ListedSession>, Failure> {
    let path = Path::new("-");
    let reads_stdin = args.sessions.paths.iter().any(|given| given == path);
    if !reads_stdin {
        return Ok(None);
    }
    let input = Input::open(path, ui)?;
    let is_related = false;
    let options = load_options(ui.processor_count(), is_related, period);
    // A stream counts as changed now.
    let modified_ms = Ids::new(ui)?.now_ms(ui);
    let session = read_once(path, input.source(), modified_ms, &options, &input.name)?;
    Ok(Some(session.listed))
}

/// Reads a session that cannot be read a second time: standard input, or a converted copy. So its
/// whole first user message is kept, and not only the start. `name` is for messages.
fn read_once(
    path: &Path,
    source: &dyn ReadAt,
    modified_ms: i64,
    options: &LoadOptions,
    name: &str,
) -> Result<ReadSession, Failure> {
    let agents = SubAgents::default();
    let pruned = None;
    let mut session = read_session(path, source, modified_ms, &agents, pruned, options)
        .map_err(|error| Failure::from_load_error(name, error))?;
    let listed = &mut session.listed;
    let whole_message = read_first_question(listed, source)
        .map_err(|error| Failure::from_read_error(name, error))?;
    if let Some(question) = listed.first_question.as_mut() {
        question.text = whole_message;
        question.is_whole = true;
    }
    Ok(session)
}

/// Returns the options for loading a session. If the session shares entries with others
/// (`is_related`), the keys of its entries are loaded, by which each entry is counted only once.
fn load_options(workers: usize, is_related: bool, period: Period) -> LoadOptions {
    LoadOptions {
        workers,
        entry_keys: is_related,
        list_stats: Some(period),
        usage: true,
        ..LoadOptions::default()
    }
}

/// A session that was read from a file.
struct SessionOfFile {
    session: ReadSession,
    /// The failure to read the pruned payloads of the session.
    pruned_failure: Option<Failure>,
}

/// A session file that is open for reading.
enum OpenFile {
    /// A file named on the command line. It may also be a FIFO or an archive.
    Named(Box<Input>),
    /// Found by a search.
    Found(Glance),
}

impl OpenFile {
    /// Opens a file. Refuses the file to which standard output is redirected.
    fn open(file: &FoundFile, is_stdout: &dyn Fn(&File) -> bool) -> Result<OpenFile, Failure> {
        if file.is_given {
            let input = Input::open_path(&file.path, is_stdout)?;
            return Ok(OpenFile::Named(Box::new(input)));
        }
        let glance = Glance::open(&file.path)?;
        refuse_stdout_as_input(&file.path, glance.handle(), is_stdout)?;
        Ok(OpenFile::Found(glance))
    }

    fn source(&self) -> &dyn ReadAt {
        match self {
            OpenFile::Named(input) => input.source(),
            OpenFile::Found(glance) => glance,
        }
    }

    /// Returns the modification time of the file at `path`, in milliseconds since 1970.
    fn modified_ms(&self, path: &Path) -> i64 {
        match self {
            OpenFile::Named(_) => store::modified_ms(path).unwrap_or_default(),
            OpenFile::Found(glance) => glance.modified_ms(),
        }
    }

    /// Returns what was pruned from the session at `path`; `None` if nothing was.
    fn load_pruned(&self, path: &Path) -> Result<Option<Restoration>, Failure> {
        match self {
            OpenFile::Named(input) => load_pruned(input),
            OpenFile::Found(glance) => load_pruned_beside(path, glance),
        }
    }
}

/// Reads one file. Returns `None` if the file is not a session and was not named on the command
/// line: a directory of sessions may also have other files. An event stream, and entries without a
/// header, are always failures, because the user may take them for a session.
fn read_session_file(
    file: &FoundFile,
    options: &LoadOptions,
    agents: &SubAgents,
    is_stdout: &dyn Fn(&File) -> bool,
) -> Result<Option<SessionOfFile>, Failure> {
    let path = &file.path;
    let open = OpenFile::open(file, is_stdout)?;
    let (pruned, pruned_failure) = split_result(open.load_pruned(path));
    let read_result = read_session(
        path,
        open.source(),
        open.modified_ms(path),
        agents,
        pruned.as_ref(),
        options,
    );

    match read_result {
        Ok(mut session) => {
            session.listed.owner.clone_from(&file.owner);
            Ok(Some(SessionOfFile {
                session,
                pruned_failure,
            }))
        }
        Err(error) if !file.is_given && is_other_file(&error) => Ok(None),
        Err(error) => {
            let name = to_visible(&path.to_string_lossy());
            Err(foreign::load_failure(&name, open.source(), error))
        }
    }
}

/// Whether a file is neither a session nor anything that the user may take for one.
fn is_other_file(error: &LoadError) -> bool {
    match error {
        LoadError::NotASession { what, .. } => {
            !matches!(what, WrongFile::EventStream | WrongFile::EntryFirst)
        }
        _ => false,
    }
}

/// Returns the session that started a sub-agent of another agent. `None` if the session is not one
/// of a sub-agent, or if its owner is not found.
///
/// The search finds the owner of a sub-agent of Claude Code, whose file is in a directory below the
/// owner's. The other agents name the owner in the first line of the sub-agent's file, or in the
/// name of its directory.
fn find_foreign_owner(
    file: &FoundFile,
    head: &SourceHead,
    rollouts: &Rollouts,
) -> Option<Arc<Path>> {
    if file.owner.is_some() {
        return file.owner.clone();
    }
    let agent = head.sub_agent.as_ref()?;
    let owner = rollouts
        .find_owner(&file.path, &agent.session)
        .or_else(|| foreign::find_owner_beside(&file.path, agent))?;
    Some(Arc::from(owner))
}

/// Reads a session of another agent, converted as by `import`. Returns `None` if the file is not a
/// session of that agent, or has no messages.
fn read_foreign_file(
    file: &FoundFile,
    origin: Origin,
    options: &LoadOptions,
    rollouts: &Rollouts,
) -> Result<Option<SessionOfFile>, Failure> {
    let Some(converted) = ConvertedSource::open_to_list(&file.path, rollouts)? else {
        return Ok(None);
    };
    if converted.head.origin != origin {
        return Ok(None);
    }
    let modified_ms = store::modified_ms(&file.path).unwrap_or_default();
    let name = to_visible(&file.path.to_string_lossy());
    let mut session = read_once(&file.path, &converted, modified_ms, options, &name)?;
    if converted.message_count() == 0 {
        return Ok(None);
    }
    let head = converted.head;

    // The list shows the id and the size of the agent's own file, and not of the converted session.
    session.listed.id = Text::from(head.id.clone());
    session.listed.bytes = std::fs::metadata(&file.path).map_or(0, |found| found.len());
    session.listed.other_agent = Some(origin.name());
    session.listed.owner = find_foreign_owner(file, &head, rollouts);
    Ok(Some(SessionOfFile {
        session,
        // `prune` does not change sessions of other agents.
        pruned_failure: None,
    }))
}

/// Reads the whole first user message from the session's file. `None` if the file has changed since
/// it was listed, or cannot be read.
pub(super) fn read_first_message(session: &ListedSession) -> Option<Text<'static>> {
    // A session that is standard output was left out of the list.
    let is_stdout = |_: &File| false;
    let input = Input::open_path(&session.path, &is_stdout).ok()?;
    read_first_question(session, input.source()).ok()
}
