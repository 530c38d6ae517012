//! Finds the files whose sessions are listed.

use super::Args;
use super::repository::repository_of;
use crate::cli::foreign::{
    find_arguments, find_sessions_of, find_sources_of_projects, refuse_stdin,
};
use crate::cli::locate::{ArchiveScope, SessionStores};
use crate::cli::named::find_sessions;
use crate::cli::output::{Failure, Ui};
use crate::cli::sessions::find_agents_of_named;
use crate::cli::sources::Sources;
use crate::session::period::Period;
use foldhash::HashMap;
use pisess_store::FoundFile;
use std::path::{Path, PathBuf};

/// The files of the sessions to list.
pub(super) struct FilesToRead {
    pub files: Vec<FoundFile>,
    /// Whether a path could not be read, which was reported.
    pub has_failures: bool,
    /// Whether a warning says that none of the sessions found is of the agents of `--source`.
    pub is_none_reported: bool,
}

/// Finds the files to read: those of pi and oh-my-pi, or those of `sources`. The sub-agents of
/// named sessions are added to these, and with `--archived` the archives. Reports paths that cannot
/// be read.
pub(super) fn find_files(
    args: &Args,
    sources: Option<&Sources>,
    period: Period,
    stores: &SessionStores,
    ui: &mut Ui,
) -> Result<FilesToRead, Failure> {
    let paths = &args.sessions.paths;
    // The sessions of a repository may belong to several projects.
    let all = args.sessions.all || args.repo && args.lists_cwd();
    if let Some(sources) = sources
        && !sources.includes_all()
    {
        refuse_stdin(paths)?;
        if args.sessions.archived {
            sources.refuse_without_archives()?;
        }
    }
    // Any path may be given if the sessions of all agents are listed.
    let finds_own = sources.is_none_or(Sources::includes_own);
    let mut found = SessionFiles::default();
    if finds_own {
        found = find_own_files(paths, all, sources, stores, ui)?;
    }
    if let Some(sources) = sources {
        found.add_other_agents(sources, paths, ui);
    }
    for failure in &found.failures {
        ui.report_failure(failure);
    }
    if found.files.is_empty()
        && let Some(note) = &found.none_found_note
    {
        ui.warn(note);
    }

    let archive_scope = ArchiveScope::from_all_option(all);
    // The user asks what was done in a period, which archives may answer, too.
    let may_miss_archives = paths.is_empty() && finds_own && !args.repo && args.period.is_given();
    if args.sessions.archived {
        let mut archives = stores.find_archive_files(archive_scope)?;
        if let Some(sources) = sources {
            archives.retain(|archive| sources.may_include(&archive.path));
        }
        found.files.extend(archives);
    } else if may_miss_archives {
        stores.warn_archives_skipped(archive_scope, period, ui);
    }
    Ok(FilesToRead {
        files: found.files,
        has_failures: !found.failures.is_empty(),
        is_none_reported: found.is_none_reported,
    })
}

/// The session files that a search has found.
#[derive(Default)]
struct SessionFiles {
    files: Vec<FoundFile>,
    failures: Vec<Failure>,
    /// The note for the user if there are no files. `None` if a failure says so.
    none_found_note: Option<String>,
    /// Whether a warning says already that no file is of the agents in `--source`.
    is_none_reported: bool,
}

impl SessionFiles {
    /// Adds the sessions of the other agents in `sources`: all of them, or the ones below `paths`.
    /// If the agents also include pi or oh-my-pi, their sessions were added before.
    fn add_other_agents(&mut self, sources: &Sources, paths: &[PathBuf], ui: &mut Ui) {
        if paths.is_empty() {
            self.files.extend(find_sessions_of(&sources.origins, ui));
            return;
        }
        if sources.includes_own() {
            let others = find_sources_of_projects(&sources.origins, paths, &self.files, ui);
            self.files.extend(others);
            return;
        }
        // Without sessions of pi and oh-my-pi, the paths were not looked at yet.
        let given = find_arguments(paths, ui);
        self.files.extend(given.files);
        self.failures.extend(given.failures);
    }
}

/// Finds the sessions of pi and oh-my-pi, with the sub-agents of named sessions. Keeps only the
/// sessions of the agents that `sources` names. `all` is whether the stores of all projects are
/// searched.
fn find_own_files(
    paths: &[PathBuf],
    all: bool,
    sources: Option<&Sources>,
    stores: &SessionStores,
    ui: &mut Ui,
) -> Result<SessionFiles, Failure> {
    let found = find_sessions(stores, paths, all, ui);
    let mut files = found.files;
    // `read_stdin_session` has read standard input already.
    files.retain(|file| file.path != Path::new("-"));
    add_sub_agents(&mut files, ui);

    let mut is_none_reported = false;
    if let Some(sources) = sources {
        let found_any = !files.is_empty();
        files = sources.retain_files(files, ui)?;
        // `retain_files` has warned if it left no file. It does not if other agents are named, too,
        // because their sessions are still to be found.
        let names_own_only = sources.origins.is_empty();
        is_none_reported = found_any && files.is_empty() && names_own_only;
    }
    Ok(SessionFiles {
        files,
        failures: found.failures,
        none_found_note: found.none_found_note,
        is_none_reported,
    })
}

/// Adds the sessions of sub-agents and advisors of each session that the user named. A search finds
/// them anyway.
fn add_sub_agents(files: &mut Vec<FoundFile>, ui: &mut Ui) {
    let found = find_agents_of_named(files);
    for problem in found.problems {
        ui.warn(&problem.text);
    }
    files.extend(found.files);
}

/// Keeps the files of sessions whose working directory is in the same git repository as the current
/// directory. The session of a sub-agent is kept if its owner is. `repositories` caches the
/// repository of each directory.
pub(super) fn retain_same_repository(
    files: &mut Vec<FoundFile>,
    repositories: &mut HashMap<PathBuf, Option<PathBuf>>,
    stores: &SessionStores,
    ui: &Ui,
) -> Result<(), Failure> {
    let own_repository = repository_of(ui.current_folder(), repositories).ok_or_else(|| {
        let failure = Failure::invalid("--repo: the current directory is not in a git repository");
        failure.with_hint("--all includes all projects")
    })?;
    files.retain(|file| {
        let session = file.owner.as_deref().unwrap_or(&file.path);
        let Some(cwd) = stores.recorded_cwd(session) else {
            return false;
        };
        repository_of(&cwd, repositories).as_ref() == Some(&own_repository)
    });
    Ok(())
}
