//! Where the session of a source is, or will be.

use crate::cli::locate::{Scope, SessionStores, agent_folder, stores_for_recorded_project};
use crate::cli::output::{Failure, Ui};
use crate::import::Survey;
use crate::session::dialect::Dialect;
use foldhash::HashMap;
use pisess_json::text::Text;
use pisess_store as store;
use std::path::{Path, PathBuf};

/// Where the session of a source is, or will be.
#[derive(Clone, Debug)]
pub struct Destination {
    pub source: Survey,
    /// The working directory of the session.
    pub cwd: Text<'static>,
    /// The id of the session, and its file.
    pub id: String,
    pub path: PathBuf,
    /// Whether it is there already.
    pub exists: bool,
    /// The id and the file of the session to make if that one cannot be continued.
    pub fallback: Option<(String, PathBuf)>,
    /// Whether the user gave the path, so that its directory is not made.
    pub is_explicit_path: bool,
}

/// Returns where the sessions of these sources are, or will be: first those that started the
/// others. `output` is a file, a directory, or `-`.
pub fn find_destinations(
    sources: Vec<Survey>,
    agent: Dialect,
    output: Option<&Path>,
    ui: &mut Ui,
) -> Result<Vec<Destination>, Failure> {
    let known = known_sessions(output, ui)?;
    let mut finder = DestinationFinder {
        agent,
        output,
        known_sessions: known,
        project_folders: HashMap::default(),
        ui,
    };
    let (agents, others): (Vec<_>, Vec<_>) = sources
        .into_iter()
        .partition(|source| source.sub_agent.is_some());
    let in_order = others.into_iter().chain(agents);
    Ok(in_order
        .map(|source| finder.find_destination(source))
        .collect())
}

/// Finds the destinations of sources, one after the other.
struct DestinationFinder<'a, 'w> {
    /// The agent whose sessions are made.
    agent: Dialect,
    output: Option<&'a Path>,
    /// The sessions that exist, and those that sources before will become, by their ids.
    known_sessions: HashMap<String, PathBuf>,
    /// The directories for the sessions of projects, by the project's directory.
    project_folders: HashMap<String, PathBuf>,
    ui: &'a Ui<'w>,
}

/// The id of a session, and its file.
type IdAndPath = (String, PathBuf);

impl DestinationFinder<'_, '_> {
    fn find_destination(&mut self, source: Survey) -> Destination {
        let cwd = match &source.cwd {
            Some(cwd) => cwd.clone(),
            None => Text::from(self.ui.current_folder().to_string_lossy().into_owned()),
        };

        let output_file = self.output.filter(|output| !output.is_dir());
        let fixed_path = match output_file {
            Some(path) => Some(path.to_owned()),
            None => sub_agent_path(&source, self.agent, &self.known_sessions),
        };
        if let Some(path) = fixed_path {
            return Destination {
                id: source.derive_session_id(self.agent, 0),
                exists: path != Path::new("-") && path.symlink_metadata().is_ok(),
                source,
                cwd,
                path,
                fallback: None,
                is_explicit_path: output_file.is_some(),
            };
        }

        let (newest, next_copy) = self.newest_copy(&source);
        let next_id = source.derive_session_id(self.agent, next_copy);
        let folder = self.session_folder(newest.as_ref(), &cwd);
        let next_path = folder.join(source.file_name(&next_id));
        match newest {
            Some((id, path)) => Destination {
                source,
                cwd,
                id,
                path,
                exists: true,
                fallback: Some((next_id, next_path)),
                is_explicit_path: false,
            },
            None => {
                // Another source of the same session finds it there.
                self.known_sessions
                    .insert(next_id.clone(), next_path.clone());
                Destination {
                    source,
                    cwd,
                    id: next_id,
                    path: next_path,
                    exists: false,
                    fallback: None,
                    is_explicit_path: false,
                }
            }
        }
    }

    /// Returns the newest session that was made of a source, and the number of the next one.
    fn newest_copy(&self, source: &Survey) -> (Option<IdAndPath>, u32) {
        let mut newest = None;
        let mut copy = 0;
        loop {
            let id = source.derive_session_id(self.agent, copy);
            let Some(path) = self.known_sessions.get(&id) else {
                return (newest, copy);
            };
            newest = Some((id, path.clone()));
            copy += 1;
        }
    }

    /// Returns the directory for a new session: the one that the user gave, that of the newest
    /// session made of the same source, or that of the project.
    fn session_folder(&mut self, newest: Option<&IdAndPath>, cwd: &Text) -> PathBuf {
        if let Some(output) = self.output {
            return output.to_owned();
        }
        if let Some(folder) = newest.and_then(|(_, path)| path.parent()) {
            return folder.to_owned();
        }

        let project = cwd.to_string_lossy();
        if let Some(folder) = self.project_folders.get(&*project) {
            return folder.clone();
        }
        let stores = stores_for_recorded_project(Path::new(&*project), self.ui);
        let folder = agent_folder(&stores, self.agent);
        let folder = folder.unwrap_or_else(|| self.ui.current_folder().to_owned());
        self.project_folders
            .insert(project.into_owned(), folder.clone());
        folder
    }
}

/// Returns the sessions that may have been made of a source, by their ids.
fn known_sessions(output: Option<&Path>, ui: &mut Ui) -> Result<HashMap<String, PathBuf>, Failure> {
    let files = match output {
        None => {
            let found = SessionStores::locate(ui).find_sessions(&Scope::All);
            // A session in a directory that cannot be read may be imported once more.
            for trouble in &found.troubles {
                ui.warn(&trouble.text);
            }
            found.files.into_iter().map(|file| file.path).collect()
        }
        Some(folder) if folder.is_dir() => store::paths_in(folder)?,
        Some(_) => Vec::new(),
    };
    let mut known = HashMap::default();
    for path in files {
        if let Some(id) = session_id_of_path(&path) {
            known.insert(id.to_owned(), path);
        }
    }
    Ok(known)
}

/// Returns the id of a session from the name of its file, `TIME_ID.jsonl`.
fn session_id_of_path(path: &Path) -> Option<&str> {
    let stem = path.file_stem()?.to_str()?;
    let (_, id) = stem.rsplit_once('_')?;
    Some(id)
}

/// Returns the file of a sub-agent, in the directory named like the newest session made of the one
/// that started it; `None` without that session.
fn sub_agent_path(
    survey: &Survey,
    agent: Dialect,
    known: &HashMap<String, PathBuf>,
) -> Option<PathBuf> {
    let sub_agent = survey.sub_agent.as_ref()?;
    let mut newest_owner = None;
    for copy in 0.. {
        let Some(owner) = known.get(&survey.derive_owner_id(agent, copy)?) else {
            break;
        };
        newest_owner = Some(owner);
    }
    let folder = newest_owner?.with_extension("");
    Some(folder.join(format!("{}.jsonl", sanitize_file_name(&sub_agent.id))))
}

/// Returns a text of which nothing but letters and digits is left that could be more than a file
/// name.
fn sanitize_file_name(text: &str) -> String {
    text.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "_")
}
