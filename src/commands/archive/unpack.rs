//! Finds the archive that an argument names, opens it, and deletes it.

use super::list::ArchivedSession;
use super::report::{ArchiveResult, SessionFacts, Sizes};
use crate::cli::locate::{ArchiveScope, SessionStores};
use crate::cli::options::ChangeArgs;
use crate::cli::output::{Failure, Ui, to_visible};
use crate::cli::status::Status;
use crate::cli::titled::{TitlePolicy, TitleWords};
use crate::format::{ID_SUFFIX_LEN, id_suffix};
use crate::load::names::{NameError, SessionCandidate, choose_session};
use crate::ops::archive::ArchiveFacts;
use pisess_store::{
    self as store, Archive, Attempt, Disk, Locked, OnDisk, ReadAt, SessionFile, StoreError,
    WriteOptions,
};
use std::path::{Path, PathBuf};

/// Finds the archive that an argument names. The argument is the former path of the session, the
/// path of the archive, or the id or the name of the session. `title_policy` decides about words of
/// its title.
///
/// If the session still exists at its path after an interrupted run, the path nevertheless names
/// its archive.
pub fn find_archive(
    argument: &Path,
    title_policy: TitlePolicy,
    stores: &SessionStores,
    ui: &mut Ui,
) -> Result<PathBuf, Failure> {
    if let Some(archive) = find_archive_of_path(argument, stores, ui)? {
        return Ok(archive);
    }
    if !store::is_free(argument)? {
        return Ok(ui.resolve_path(argument));
    }

    let name = argument.to_string_lossy();
    let ArchivesByName { all, with_words } = ArchivesByName::read(&name, stores, ui)?;
    // An id or a name counts before words of a title.
    let error = match choose_session(&name, [all]) {
        Ok(session) => return Ok(session.path),
        Err(error) => error,
    };
    let is_unknown = matches!(error, NameError::Unknown { .. });
    let failure = unknown_archive_failure(&name, error, stores);
    if !is_unknown {
        return Err(failure);
    }
    choose_by_title(&name, with_words, title_policy, failure, ui)
}

/// The archives of all projects, to find one of them by a name.
struct ArchivesByName {
    all: Vec<SessionCandidate>,
    /// The archives whose sessions have the words of the name in their titles.
    with_words: Vec<TitledArchive>,
}

impl ArchivesByName {
    /// Reads the heads of the archives. One that cannot be read is left out, with a warning.
    fn read(name: &str, stores: &SessionStores, ui: &mut Ui) -> Result<ArchivesByName, Failure> {
        // `None` if the words are too short to search titles for them.
        let title_words = TitleWords::parse(name);
        let mut archives = ArchivesByName {
            all: Vec::new(),
            with_words: Vec::new(),
        };
        for path in stores.find_archives(ArchiveScope::AllProjects)? {
            match ArchivedSession::read(&path) {
                Ok(archived) => archives.add(archived.facts, path, title_words.as_ref()),
                Err(failure) => ui.warn(&failure.to_line()),
            }
        }
        Ok(archives)
    }

    /// Adds an archive; also to those with the words, if its session has them in its title.
    fn add(&mut self, facts: ArchiveFacts, path: PathBuf, title_words: Option<&TitleWords>) {
        let title = facts.title.to_string_lossy().into_owned();
        let session = facts.into_known(path);
        if let Some(title_words) = title_words
            && title_words.are_in(&title)
        {
            let id = id_suffix(&session.id, ID_SUFFIX_LEN);
            self.with_words.push(TitledArchive {
                path: session.path.clone(),
                row: format!("{id}: {}", to_visible(&title)),
            });
        }
        self.all.push(session);
    }
}

/// Returns the archive of the session that was at a path; `None` if there is none. The session may
/// no longer exist, so links are only followed in the directory of its path.
fn find_archive_of_path(
    path: &Path,
    stores: &SessionStores,
    ui: &Ui,
) -> Result<Option<PathBuf>, Failure> {
    let (Some(folder), Some(name)) = (path.parent(), path.file_name()) else {
        return Ok(None);
    };
    let session = OnDisk.resolve_links(&ui.resolve_path(folder)).join(name);
    match stores.archive_path(&session) {
        Some(archive) if !store::is_free(&archive)? => Ok(Some(archive)),
        _ => Ok(None),
    }
}

/// An archive whose session has the words of an argument in its title.
struct TitledArchive {
    path: PathBuf,
    /// The id and the title of the session, for messages.
    row: String,
}

/// Returns the archive of the only session that has the words of an argument in its title, and
/// reports it. `archives` are the archives of all such sessions.
///
/// Words of a title do not suffice for each command. If they do not, or if there are none or
/// several archives, returns `failure`, with the archives as suggestions.
fn choose_by_title(
    words: &str,
    mut archives: Vec<TitledArchive>,
    title_policy: TitlePolicy,
    failure: Failure,
    ui: &mut Ui,
) -> Result<PathBuf, Failure> {
    if archives.len() > 1 {
        let rows = archives.into_iter().map(|archive| archive.row).collect();
        return Err(failure
            .with_hint("titles with these words are below; give the id")
            .with_details(rows));
    }
    let Some(TitledArchive { path, row }) = archives.pop() else {
        return Err(failure);
    };
    match title_policy {
        TitlePolicy::SuggestOnly => Err(failure.with_hint(format!("did you mean {row}?"))),
        TitlePolicy::Accept => {
            let words = to_visible(words);
            ui.print_status(&format!("`{words}` is in the title of {row}"));
            Ok(path)
        }
    }
}

/// Returns the failure for an argument that names no archived session, or several. If a session in
/// the stores has that name, the failure says that it is not archived. Otherwise it suggests
/// archived sessions with similar names.
fn unknown_archive_failure(argument: &str, error: NameError, stores: &SessionStores) -> Failure {
    // Several sessions have the name, or it is `last~N` with too large a number.
    let NameError::Unknown { similar, name } = &error else {
        return Failure::invalid(&error).with_hint(error.hint());
    };
    let list_hint = "`pisess archive --list --all` lists the archived sessions";
    if let Ok(path) = stores.find_by_name(argument) {
        let what = format_args!("{name} is not archived: {}", path.display());
        return Failure::invalid(what).with_hint(list_hint);
    }
    if similar.is_empty() {
        let what = format_args!("{name}: no archived session has that id or name");
        return Failure::invalid(what).with_hint(list_hint);
    }
    // The hint has the similar names.
    Failure::invalid(&error).with_hint(error.hint())
}

/// An archive that this process has locked.
pub(super) struct OpenArchive {
    pub name: String,
    pub file: SessionFile,
    pub archive: Archive,
    locked: Locked,
}

impl OpenArchive {
    /// Locks and opens an archive. Refuses a file that is not an archive.
    pub fn open(path: &Path, change: &ChangeArgs) -> Result<OpenArchive, Failure> {
        let name = to_visible(&path.to_string_lossy());
        let file = SessionFile::open(path)?;
        let mut locked = store::lock(&file, &write_options(change))?;
        // On overlayfs, locking may copy the file, so that the open one is no longer the locked
        // one.
        let file = if locked.is_stale() {
            locked.reopen()?
        } else {
            file
        };
        let archive =
            Archive::read(&file).map_err(|error| Failure::from_read_error(&name, error))?;
        let Some(archive) = archive else {
            let failure =
                Failure::invalid(format_args!("{name} is not an archive")).with_path(&name);
            return Err(failure.with_hint(
                "`pisess archive --list --all` lists the archives, whose names end in .zst; `pisess prune --restore` puts back what was pruned from a session",
            ));
        };
        Ok(OpenArchive {
            name,
            file,
            archive,
            locked,
        })
    }

    pub fn remove(self) -> Result<(), StoreError> {
        self.locked.remove().and_then(Attempt::done).map(drop)
    }

    /// Returns the facts of the session; `None` if the archive does not record them.
    pub fn facts(&self) -> Option<SessionFacts> {
        let facts = ArchiveFacts::decode(&self.archive.head).ok()?;
        Some(SessionFacts::from(&facts))
    }

    pub fn sizes(&self) -> Sizes {
        Sizes {
            files: self.archive.members.iter().map(|member| member.size).sum(),
            archive: self.file.len(),
        }
    }
}

/// Returns the options for the lock of an archive. `force` is not passed on: it overrides the
/// refusal of files that agents have open, and no agent opens archives. For archives, `--force`
/// only skips the question before a deletion.
pub(super) fn write_options(change: &ChangeArgs) -> WriteOptions {
    WriteOptions {
        wait: change.wait,
        ..WriteOptions::default()
    }
}

/// Deletes an archive. Without `--force`, asks the user first. With `-n`, only checks that the file
/// is an archive.
pub fn delete_archive(
    path: &Path,
    change: &ChangeArgs,
    ui: &mut Ui,
) -> Result<ArchiveResult, Failure> {
    let open = OpenArchive::open(path, change)?;
    let mut result = ArchiveResult {
        path: path.to_owned(),
        to: None,
        status: Status::Planned,
        needs_recursion: false,
        facts: open.facts(),
        sizes: Some(open.sizes()),
        errors: Vec::new(),
    };
    if change.dry_run {
        return Ok(result);
    }

    if !change.force && !ui.confirm(&deletion_question(&open))? {
        let what = format_args!("{} is not deleted", open.name);
        return Err(Failure::negative(what));
    }
    open.remove()?;
    result.status = Status::Deleted;
    Ok(result)
}

/// Returns the question whether to delete an archive. It contains the title of the session if that
/// is known.
fn deletion_question(open: &OpenArchive) -> String {
    let mut question = format!("delete {}", open.name);
    if let Ok(facts) = ArchiveFacts::decode(&open.archive.head)
        && !facts.title.is_empty()
    {
        question += &format!(" ({})", facts.title);
    }
    question
}
