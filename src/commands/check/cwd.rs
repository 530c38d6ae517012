//! Finds the working directory of a session whose header is missing.

use crate::agents::stores::{decode_project_name, is_name_of_project, parse_project_name};
use crate::load::read_header;
use crate::ops::check::FoundCwd;
use pisess_store::{Glance, in_folder, paths_in};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// What the working directory may be taken from.
#[derive(Clone, Debug, Default)]
pub struct CwdSources {
    /// The directory given by `--cwd`, absolute.
    pub cwd_option: Option<PathBuf>,
    pub home: Option<PathBuf>,
}

/// The maximum number of other sessions of a project to read.
const MAX_SESSIONS: usize = 64;

/// The maximum number of directories to list while looking for a project's directory.
const MAX_FOLDERS: usize = 1000;

impl CwdSources {
    /// Returns the working directory of a session, and what it is taken from: the option, the other
    /// sessions of its project, a directory that exists, or the name of the project's directory in
    /// the store alone.
    pub fn find_cwd(&self, session: &Path) -> Option<FoundCwd> {
        if let Some(given) = &self.cwd_option {
            return Some(new_found_cwd(path_string(given), "--cwd"));
        }
        let folder = session.parent()?;
        let name = folder.file_name()?.to_str()?;
        if let Some(cwd) = self.cwd_of_other_sessions(folder, name) {
            return Some(new_found_cwd(cwd, "the other sessions of its folder"));
        }
        let existing_folders = find_existing_projects(name, self.home.as_deref());
        match &existing_folders[..] {
            [] => {
                let cwd = decode_project_name(name, self.home.as_deref())?;
                let source = "the name of its folder, where \"-\" may be another character";
                Some(new_found_cwd(cwd, source))
            }
            [only_folder] => {
                let source = "the name of its folder, as that directory exists";
                Some(new_found_cwd(path_string(only_folder), source))
            }
            _ => None,
        }
    }

    /// Returns the working directory that the other sessions in a project's directory record.
    /// `folder` is that directory, `name` its name. A directory that is not named so in a store
    /// does not count. `None` if the sessions record several, or none.
    fn cwd_of_other_sessions(&self, folder: &Path, name: &str) -> Option<String> {
        let mut cwds = BTreeSet::new();
        for (path, _) in in_folder(folder).into_iter().take(MAX_SESSIONS) {
            let Ok(glance) = Glance::open(&path) else {
                continue;
            };
            let Ok(header) = read_header(&glance) else {
                continue;
            };
            let Some(cwd) = header.cwd else {
                continue;
            };
            let cwd = cwd.to_string_lossy().into_owned();
            if is_name_of_project(name, &cwd, self.home.as_deref()) {
                cwds.insert(cwd);
            }
        }
        if cwds.len() == 1 {
            cwds.pop_first()
        } else {
            None
        }
    }
}

fn new_found_cwd(path: String, source: &str) -> FoundCwd {
    FoundCwd {
        path,
        source: source.to_owned(),
    }
}

fn path_string(path: &Path) -> String {
    path.to_string_lossy().into_owned()
}

/// Returns the existing directories that a project's directory may be named after: in its name,
/// several characters are replaced by `-`, so that a `-` may separate directories or be part of
/// one's name. Returns none if too many directories have to be listed ([`MAX_FOLDERS`]).
fn find_existing_projects(name: &str, home: Option<&Path>) -> Vec<PathBuf> {
    let Some(project) = parse_project_name(name, home) else {
        return Vec::new();
    };
    let mut matching_folders = Vec::new();
    // Directories, each with the part of the name that its descendants have to match.
    let mut pending = vec![(project.root, project.path.to_owned())];
    let mut listed_count = 0;
    while let Some((folder, name_rest)) = pending.pop() {
        if name_rest.is_empty() {
            matching_folders.push(folder);
            continue;
        }
        listed_count += 1;
        if listed_count > MAX_FOLDERS {
            return Vec::new();
        }
        // What cannot be read is no evidence of a project.
        let Ok(paths) = paths_in(&folder) else {
            continue;
        };
        for path in paths {
            let Some(file_name) = path.file_name().and_then(|file_name| file_name.to_str()) else {
                continue;
            };
            let encoded = file_name.replace([':', '\\'], "-");
            let Some(rest_below) = name_rest.strip_prefix(&encoded) else {
                continue;
            };
            if rest_below.is_empty() {
                pending.push((path, String::new()));
            } else if let Some(below) = rest_below.strip_prefix('-') {
                pending.push((path, below.to_owned()));
            }
        }
    }
    matching_folders
}
