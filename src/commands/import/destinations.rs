//! Determines the session into which each source is imported: an existing one, or a new one.

use crate::agents::stores::normalize_path;
use crate::cli::foreign::session_id_of_path;
use crate::cli::locate::{
    Scope, SessionStores, agent_folder, stores_for_named_project, stores_for_recorded_project,
};
use crate::cli::output::{Failure, Ui};
use crate::import::Survey;
use crate::session::dialect::Dialect;
use foldhash::HashMap;
use pisess_json::text::Text;
use pisess_store as store;
use std::path::{Path, PathBuf};

/// The session into which a source is imported.
#[derive(Clone, Debug)]
pub struct Destination {
    pub source: Survey,
    /// The working directory of the session.
    pub cwd: Text<'static>,
    /// Whether the user gave the working directory.
    pub is_given_cwd: bool,
    /// The id of the session. `path` is its file.
    pub id: String,
    pub path: PathBuf,
    /// Whether the file exists already.
    pub exists: bool,
    /// The new session to create if the existing one cannot be continued.
    pub fallback: Option<IdAndPath>,
    /// Whether the user gave the path. Then its directory must exist, and is not made.
    pub is_explicit_path: bool,
}

/// The id of a session, and the path of its file.
#[derive(Clone, Debug)]
pub struct IdAndPath {
    pub id: String,
    pub path: PathBuf,
}

/// Where the user wants the sessions.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// A file, a directory, or `-`; without it, sessions are written to the stores.
    pub output: Option<&'a Path>,
    /// The working directory of the sessions; without it, each session has the directory of its
    /// source.
    pub cwd: Option<&'a Path>,
}

/// Returns the destinations of these sources. Sub-agents come last, because their paths depend on
/// the sessions of their owners.
pub fn find_destinations(
    sources: Vec<Survey>,
    agent: Dialect,
    place: Place,
    ui: &mut Ui,
) -> Result<Vec<Destination>, Failure> {
    let mut finder = DestinationFinder {
        agent,
        output: place.output,
        given_cwd: place.cwd.map(|cwd| absolute_path(cwd, ui)),
        known_sessions: find_known_sessions(place.output, ui)?,
        project_folders: HashMap::default(),
        ui,
    };
    let (sub_agents, sessions): (Vec<_>, Vec<_>) = sources
        .into_iter()
        .partition(|source| source.head.sub_agent.is_some());
    let mut destinations = Vec::new();
    for source in sessions.into_iter().chain(sub_agents) {
        destinations.push(finder.find_destination(source));
    }
    Ok(destinations)
}

/// Returns a directory that the user named as an absolute path.
fn absolute_path(folder: &Path, ui: &Ui) -> Text<'static> {
    let path = normalize_path(&ui.current_folder().join(folder));
    Text::from(path.to_string_lossy().into_owned())
}

/// Finds the destinations of sources, one after another.
struct DestinationFinder<'a, 'w> {
    /// The agent whose sessions are made.
    agent: Dialect,
    output: Option<&'a Path>,
    /// The working directory that the user gave, as an absolute path.
    given_cwd: Option<Text<'static>>,
    /// The sessions that exist, and those that earlier sources will become, by id.
    known_sessions: HashMap<String, PathBuf>,
    /// The directory for the sessions of each project, by the project's directory.
    project_folders: HashMap<String, PathBuf>,
    ui: &'a Ui<'w>,
}

/// The existing sessions that were imported from one source.
struct ImportedCopies {
    newest: Option<IdAndPath>,
    /// The number from which the id of the next copy is derived; counts from 0.
    next_number: u32,
}

impl DestinationFinder<'_, '_> {
    /// Returns the destination of a source. Its path is fixed in two cases: the user gave a file,
    /// or the source is a sub-agent of an imported session. Otherwise the source belongs to a
    /// session in the stores, or in the directory that the user gave.
    fn find_destination(&mut self, source: Survey) -> Destination {
        let cwd = self.choose_cwd(&source);
        if let Some(path) = self.output.filter(|output| !output.is_dir()) {
            return Destination {
                is_explicit_path: true,
                ..self.fixed_destination(source, cwd, path.to_owned())
            };
        }
        if let Some(path) = self.sub_agent_path(&source) {
            return self.fixed_destination(source, cwd, path);
        }
        self.stored_destination(source, cwd)
    }

    /// Returns the working directory of a source's session: the one that the user gave, else the
    /// one of the source, else the current directory.
    fn choose_cwd(&self, source: &Survey) -> Text<'static> {
        match self.given_cwd.as_ref().or(source.head.cwd.as_ref()) {
            Some(cwd) => cwd.clone(),
            None => absolute_path(Path::new(""), self.ui),
        }
    }

    /// Returns the newest session that was imported from a source, or a new session if there is
    /// none. A new one is then known, so that another source of the same session continues it.
    fn stored_destination(&mut self, source: Survey, cwd: Text<'static>) -> Destination {
        let copies = self.find_copies(&source);
        let next = self.next_copy(&source, &copies, &cwd);
        let Some(newest) = copies.newest else {
            let path = next.path.clone();
            self.known_sessions.insert(next.id.clone(), path);
            return self.new_destination(source, cwd, next);
        };
        Destination {
            exists: true,
            // If a user continued the newest session, nothing can be appended to it.
            fallback: Some(next),
            ..self.new_destination(source, cwd, newest)
        }
    }

    /// Returns the destination of a source whose session is at `path`, or will be.
    fn fixed_destination(&self, source: Survey, cwd: Text<'static>, path: PathBuf) -> Destination {
        // Standard output is never an existing session.
        let exists = path != Path::new("-") && path.symlink_metadata().is_ok();
        let session = IdAndPath {
            id: source.head.derive_session_id(self.agent, 0),
            path,
        };
        Destination {
            exists,
            ..self.new_destination(source, cwd, session)
        }
    }

    /// Returns the destination for a session that does not exist yet.
    fn new_destination(
        &self,
        source: Survey,
        cwd: Text<'static>,
        session: IdAndPath,
    ) -> Destination {
        Destination {
            source,
            cwd,
            is_given_cwd: self.given_cwd.is_some(),
            id: session.id,
            path: session.path,
            exists: false,
            fallback: None,
            is_explicit_path: false,
        }
    }

    /// Returns the path for the session of a sub-agent, in the directory of its owner's session.
    /// `None` if the source is not a sub-agent, or if its owner was not imported.
    ///
    /// Also `None` if the sub-agent was imported elsewhere, before its owner: then that session is
    /// continued where it is.
    fn sub_agent_path(&self, source: &Survey) -> Option<PathBuf> {
        let path = sub_agent_path(source, self.agent, &self.known_sessions)?;
        let is_there = path.symlink_metadata().is_ok();
        let is_elsewhere = !is_there && self.find_copies(source).newest.is_some();
        if is_elsewhere { None } else { Some(path) }
    }

    /// Returns the id and path of the next new session that would be created from a source.
    fn next_copy(&mut self, source: &Survey, copies: &ImportedCopies, cwd: &Text) -> IdAndPath {
        let id = source
            .head
            .derive_session_id(self.agent, copies.next_number);
        let folder = self.session_folder(copies.newest.as_ref(), cwd);
        let path = folder.join(source.head.file_name(&id));
        IdAndPath { id, path }
    }

    /// Finds the sessions that were imported from a source. The id of each is derived from the id
    /// of the source and from a number, which counts from 0.
    fn find_copies(&self, source: &Survey) -> ImportedCopies {
        let mut copies = ImportedCopies {
            newest: None,
            next_number: 0,
        };
        loop {
            let id = source
                .head
                .derive_session_id(self.agent, copies.next_number);
            let Some(path) = self.known_sessions.get(&id) else {
                return copies;
            };
            copies.newest = Some(IdAndPath {
                id,
                path: path.clone(),
            });
            copies.next_number += 1;
        }
    }

    /// Returns the directory for a new session. This is, in this order, the directory that the user
    /// gave; the directory of the newest session imported from the same source; the directory of
    /// the project in the agent's store; the current directory.
    fn session_folder(&mut self, newest: Option<&IdAndPath>, cwd: &Text) -> PathBuf {
        if let Some(output) = self.output {
            return output.to_owned();
        }
        if let Some(folder) = newest.and_then(|newest| newest.path.parent()) {
            return folder.to_owned();
        }
        self.project_folder(&cwd.to_string_lossy())
    }

    /// Returns the directory in the agent's store for the sessions of a project, or the current
    /// directory if the agent has no store. `project` is the directory of the project. The result
    /// is kept, because most sources of an import are of few projects.
    fn project_folder(&mut self, project: &str) -> PathBuf {
        if let Some(folder) = self.project_folders.get(project) {
            return folder.clone();
        }
        let stores = match &self.given_cwd {
            Some(_) => stores_for_named_project(Path::new(project), self.ui),
            None => stores_for_recorded_project(Path::new(project), self.ui),
        };
        let folder = agent_folder(&stores, self.agent)
            .unwrap_or_else(|| self.ui.current_folder().to_owned());
        self.project_folders
            .insert(project.to_owned(), folder.clone());
        folder
    }
}

/// Returns the sessions that may have been imported from a source, by id: those in the directory
/// `output`, or without it all sessions in the stores. If `output` is a file, there are none.
fn find_known_sessions(
    output: Option<&Path>,
    ui: &mut Ui,
) -> Result<HashMap<String, PathBuf>, Failure> {
    let paths = match output {
        None => find_stored_sessions(ui),
        Some(folder) if folder.is_dir() => store::paths_in(folder)?,
        Some(_) => Vec::new(),
    };
    let mut known_sessions = HashMap::default();
    for path in paths {
        if let Some(id) = session_id_of_path(&path) {
            known_sessions.insert(id.to_owned(), path);
        }
    }
    Ok(known_sessions)
}

/// Returns the paths of all sessions in the stores. If a directory cannot be read, its sessions are
/// unknown, and may be imported a second time: then warns.
fn find_stored_sessions(ui: &mut Ui) -> Vec<PathBuf> {
    let found_files = SessionStores::locate(ui).find_sessions(&Scope::All);
    for problem in &found_files.problems {
        ui.warn(&problem.text);
    }
    found_files
        .files
        .into_iter()
        .map(|file| file.path)
        .collect()
}

/// Returns the path for the session of a sub-agent. The directory of the path is named after the
/// newest session that was imported from its owner, the session that started the sub-agent. `None`
/// if the source is not a sub-agent, or if its owner was not imported.
fn sub_agent_path(
    source: &Survey,
    agent: Dialect,
    known_sessions: &HashMap<String, PathBuf>,
) -> Option<PathBuf> {
    let sub_agent = source.head.sub_agent.as_ref()?;
    // The imports of the owner are numbered without a gap, so the last known one is the newest.
    let mut newest_owner = None;
    for copy_number in 0.. {
        let owner_id = source.head.derive_owner_id(agent, copy_number)?;
        let Some(owner_path) = known_sessions.get(&owner_id) else {
            break;
        };
        newest_owner = Some(owner_path);
    }
    let folder = newest_owner?.with_extension("");
    Some(folder.join(format!("{}.jsonl", sanitize_file_name(&sub_agent.id))))
}

/// Replaces every character but ASCII letters, digits and `-` by `_`, so that the text cannot leave
/// its directory as part of a path.
fn sanitize_file_name(text: &str) -> String {
    text.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "_")
}
