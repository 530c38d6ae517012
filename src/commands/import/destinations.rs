//! Where the session of a source is, or will be.

use crate::cli::locate::{Places, Scope, folder_of_agent, stores_seen_from_recorded};
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
    pub beside: Option<(String, PathBuf)>,
    /// Whether the user gave the path, so that its directory is not made.
    pub is_given: bool,
}

/// Returns where the sessions of these sources are, or will be: first those that started the
/// others. `output` is a file, a directory, or `-`.
pub fn destinations(
    sources: Vec<Survey>,
    agent: Dialect,
    output: Option<&Path>,
    ui: &mut Ui,
) -> Result<Vec<Destination>, Failure> {
    let known = known_sessions(output, ui)?;
    let mut finder = Finder {
        agent,
        output,
        known,
        folders: HashMap::default(),
        ui,
    };
    let (agents, others): (Vec<_>, Vec<_>) = sources
        .into_iter()
        .partition(|source| source.sub_agent.is_some());
    let in_order = others.into_iter().chain(agents);
    Ok(in_order.map(|source| finder.find(source)).collect())
}

/// Finds the destinations of sources, one after the other.
struct Finder<'a, 'w> {
    /// The agent whose sessions are made.
    agent: Dialect,
    output: Option<&'a Path>,
    /// The sessions that exist, and those that sources before will become, by their ids.
    known: HashMap<String, PathBuf>,
    /// The directories for the sessions of projects, by the project's directory.
    folders: HashMap<String, PathBuf>,
    ui: &'a Ui<'w>,
}

/// The id of a session, and its file.
type IdAndPath = (String, PathBuf);

impl Finder<'_, '_> {
    fn find(&mut self, source: Survey) -> Destination {
        let cwd = match &source.cwd {
            Some(cwd) => cwd.clone(),
            None => Text::from(self.ui.folder().to_string_lossy().into_owned()),
        };

        let given = self.output.filter(|output| !output.is_dir());
        let fixed = match given {
            Some(path) => Some(path.to_owned()),
            None => below_owner(&source, self.agent, &self.known),
        };
        if let Some(path) = fixed {
            return Destination {
                id: source.session_id(self.agent, 0),
                exists: path != Path::new("-") && path.symlink_metadata().is_ok(),
                source,
                cwd,
                path,
                beside: None,
                is_given: given.is_some(),
            };
        }

        let (newest, next_copy) = self.newest_copy(&source);
        let next_id = source.session_id(self.agent, next_copy);
        let folder = self.folder(newest.as_ref(), &cwd);
        let next_path = folder.join(source.file_name(&next_id));
        match newest {
            Some((id, path)) => Destination {
                source,
                cwd,
                id,
                path,
                exists: true,
                beside: Some((next_id, next_path)),
                is_given: false,
            },
            None => {
                // Another source of the same session finds it there.
                self.known.insert(next_id.clone(), next_path.clone());
                Destination {
                    source,
                    cwd,
                    id: next_id,
                    path: next_path,
                    exists: false,
                    beside: None,
                    is_given: false,
                }
            }
        }
    }

    /// Returns the newest session that was made of a source, and the number of the next one.
    fn newest_copy(&self, source: &Survey) -> (Option<IdAndPath>, u32) {
        let mut newest = None;
        let mut copy = 0;
        loop {
            let id = source.session_id(self.agent, copy);
            let Some(path) = self.known.get(&id) else {
                return (newest, copy);
            };
            newest = Some((id, path.clone()));
            copy += 1;
        }
    }

    /// Returns the directory for a new session: the one that the user gave, that of the newest
    /// session made of the same source, or that of the project.
    fn folder(&mut self, newest: Option<&IdAndPath>, cwd: &Text) -> PathBuf {
        if let Some(output) = self.output {
            return output.to_owned();
        }
        if let Some(folder) = newest.and_then(|(_, path)| path.parent()) {
            return folder.to_owned();
        }

        let project = cwd.to_string_lossy();
        if let Some(folder) = self.folders.get(&*project) {
            return folder.clone();
        }
        let stores = stores_seen_from_recorded(Path::new(&*project), self.ui);
        let folder = folder_of_agent(&stores, self.agent);
        let folder = folder.unwrap_or_else(|| self.ui.folder().to_owned());
        self.folders.insert(project.into_owned(), folder.clone());
        folder
    }
}

/// Returns the sessions that may have been made of a source, by their ids.
fn known_sessions(output: Option<&Path>, ui: &mut Ui) -> Result<HashMap<String, PathBuf>, Failure> {
    let files = match output {
        None => {
            let found = Places::of(ui).find(&Scope::All);
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
        if let Some(id) = id_in_file_name(&path) {
            known.insert(id.to_owned(), path);
        }
    }
    Ok(known)
}

/// Returns the id of a session from the name of its file, `TIME_ID.jsonl`.
fn id_in_file_name(path: &Path) -> Option<&str> {
    let stem = path.file_stem()?.to_str()?;
    let (_, id) = stem.rsplit_once('_')?;
    Some(id)
}

/// Returns the file of a sub-agent, in the directory named like the newest session made of the one
/// that started it; `None` without that session.
fn below_owner(
    survey: &Survey,
    agent: Dialect,
    known: &HashMap<String, PathBuf>,
) -> Option<PathBuf> {
    let sub_agent = survey.sub_agent.as_ref()?;
    let mut newest_owner = None;
    for copy in 0.. {
        let Some(owner) = known.get(&survey.owner_id(agent, copy)?) else {
            break;
        };
        newest_owner = Some(owner);
    }
    let folder = newest_owner?.with_extension("");
    Some(folder.join(format!("{}.jsonl", in_file_names(&sub_agent.id))))
}

/// Returns a text of which nothing but letters and digits is left that could be more than a file
/// name.
fn in_file_names(text: &str) -> String {
    text.replace(|c: char| !c.is_ascii_alphanumeric() && c != '-', "_")
}
