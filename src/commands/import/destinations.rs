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
    let mut known = known_sessions(output, ui)?;
    let ui = &*ui;
    let mut folders: HashMap<String, PathBuf> = HashMap::default();
    let destination = |source: Survey| {
        let here = || Text::from(ui.folder().to_string_lossy().into_owned());
        let cwd = source.cwd.clone().unwrap_or_else(here);
        let id = source.session_id(agent, 0);
        let file = output.filter(|output| !output.is_dir());
        if let Some(path) = file
            .map(Path::to_owned)
            .or_else(|| below_owner(&source, agent, &known))
        {
            let exists = path != Path::new("-") && path.symlink_metadata().is_ok();
            return Destination {
                source,
                cwd,
                id,
                path,
                exists,
                beside: None,
                is_given: file.is_some(),
            };
        }
        let mut own = || {
            let project = cwd.to_string_lossy();
            let stores = || stores_seen_from_recorded(Path::new(&*project), ui);
            let folder =
                || folder_of_agent(&stores(), agent).unwrap_or_else(|| ui.folder().to_owned());
            folders
                .entry(project.clone().into_owned())
                .or_insert_with(folder)
                .clone()
        };
        // The newest of those that were made of the source.
        let is_new = |copy: &u32| !known.contains_key(&source.session_id(agent, *copy));
        let next = (0..).find(is_new).unwrap_or_default();
        let last = next.checked_sub(1).and_then(|copy| {
            let id = source.session_id(agent, copy);
            Some((known.get(&id)?.clone(), id))
        });
        let beside = source.session_id(agent, next);
        let folder = match (output, &last) {
            (Some(folder), _) => folder.to_owned(),
            (None, Some((path, _))) => path.parent().map_or_else(&mut own, Path::to_owned),
            (None, None) => own(),
        };
        let new = folder.join(source.file_name(&beside));
        let exists = last.is_some();
        let (path, id) = last.unwrap_or((new.clone(), beside.clone()));
        // Another source of the same session finds it there.
        known.entry(id.clone()).or_insert_with(|| path.clone());
        let beside = exists.then_some((beside, new));
        Destination {
            source,
            cwd,
            id,
            path,
            exists,
            beside,
            is_given: false,
        }
    };
    let (agents, others): (Vec<_>, Vec<_>) = sources
        .into_iter()
        .partition(|source| source.sub_agent.is_some());
    Ok(others.into_iter().chain(agents).map(destination).collect())
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
    let id = |path: &PathBuf| Some(path.file_stem()?.to_str()?.rsplit_once('_')?.1.to_owned());
    let known = files.into_iter();
    Ok(known.filter_map(|path| Some((id(&path)?, path))).collect())
}

/// Returns the file of a sub-agent, in the directory named like the session that started it; `None`
/// without that session.
fn below_owner(
    survey: &Survey,
    agent: Dialect,
    known: &HashMap<String, PathBuf>,
) -> Option<PathBuf> {
    let (_, name) = survey.sub_agent.as_ref()?;
    let owner = (0..)
        .map_while(|copy| known.get(&survey.owner_id(agent, copy)?))
        .last()?;
    Some(
        owner
            .with_extension("")
            .join(format!("{}.jsonl", in_file_names(name))),
    )
}

/// Returns a text of which nothing but letters and digits is left that could be more than a file
/// name.
fn in_file_names(text: &str) -> String {
    text.chars()
        .map(|c| {
            if c.is_ascii_alphanumeric() || c == '-' {
                c
            } else {
                '_'
            }
        })
        .collect()
}
