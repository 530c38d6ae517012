//! Finds the working directory of a session whose header is missing.

use crate::agents::stores::{decode_project_name, is_name_of_project, parse_project_name};
use crate::load::read_header;
use crate::ops::check::FoundCwd;
use pisess_store::{Glance, paths_in, session_files_in};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The sources from which the working directory of a session can be inferred.
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
    /// Returns the working directory of a session, and a description of its source.
    ///
    /// These sources are tried in order: `--cwd`; the headers of the other sessions in the
    /// session's folder; the name of that folder, which encodes the directory. Several directories
    /// have the same encoded name. If one of them exists, it is returned; if several exist, the
    /// result is `None`. If none exists, the name is decoded, although a `-` in it may stand for
    /// another character.
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

    /// Returns the working directory in the headers of the other sessions in a project's folder;
    /// `None` if they have several, or none. `name` is the folder's name. A working directory whose
    /// sessions belong in a folder with another name is ignored. At most [`MAX_SESSIONS`] files are
    /// read.
    fn cwd_of_other_sessions(&self, folder: &Path, name: &str) -> Option<String> {
        let mut cwds = BTreeSet::new();
        for file in session_files_in(folder).into_iter().take(MAX_SESSIONS) {
            let Ok(glance) = Glance::open(&file.path) else {
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

/// Returns the existing directories whose encoded path is `name`, the name of a project's folder.
/// There may be several, because the encoding replaces `/` and other characters by `-`: both
/// `/home/ada/tide-map` and `/home/ada/tide/map` become `--home-ada-tide-map--`.
///
/// Returns no directories if more than [`MAX_FOLDERS`] would have to be listed.
fn find_existing_projects(name: &str, home: Option<&Path>) -> Vec<PathBuf> {
    let Some(project) = parse_project_name(name, home) else {
        return Vec::new();
    };
    let mut matching_folders = Vec::new();
    // Directories to list, each with the part of the encoded path that is still to match below it.
    let mut pending = vec![(project.root, project.path.to_owned())];
    let mut listed_count = 0;
    while let Some((folder, encoded_rest)) = pending.pop() {
        let matches_whole_name = encoded_rest.is_empty();
        if matches_whole_name {
            matching_folders.push(folder);
            continue;
        }
        listed_count += 1;
        if listed_count > MAX_FOLDERS {
            return Vec::new();
        }

        // A directory that cannot be read is skipped.
        let Ok(paths) = paths_in(&folder) else {
            continue;
        };
        for path in paths {
            let Some(file_name) = path.file_name().and_then(|file_name| file_name.to_str()) else {
                continue;
            };
            if let Some(rest_below) = strip_folder_name(&encoded_rest, file_name) {
                pending.push((path, rest_below.to_owned()));
            }
        }
    }
    matching_folders
}

/// Removes the first directory, `file_name`, from an encoded path, and returns the rest. The rest
/// is empty if the path ends there. `None` if the path cannot begin with that directory.
fn strip_folder_name<'p>(encoded_path: &'p str, file_name: &str) -> Option<&'p str> {
    // An encoded path has `-` in place of each of these characters.
    let encoded_name = file_name.replace([':', '\\'], "-");
    let rest = encoded_path.strip_prefix(&encoded_name)?;
    if rest.is_empty() {
        return Some(rest);
    }
    // The separator of directories is encoded as `-`, too.
    rest.strip_prefix('-')
}
