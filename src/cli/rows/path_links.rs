//! Makes links of the paths in tool calls.

use crate::cli::output::{Links, Ui};
use crate::session::Session;
use std::path::{Path, PathBuf};

/// Finds the files for the paths that rows show.
pub struct PathLinks {
    links: Links,
    /// The working directory of the session.
    cwd: Option<PathBuf>,
    home: Option<PathBuf>,
}

impl PathLinks {
    /// Returns the links for a session; `None` if links are disabled.
    pub fn new(session: &Session, ui: &Ui) -> Option<PathLinks> {
        if !ui.links.are_enabled() {
            return None;
        }
        let cwd = session.header.cwd.as_ref();
        Some(PathLinks {
            links: ui.links.clone(),
            cwd: cwd.map(|cwd| PathBuf::from(&*cwd.to_string_lossy())),
            home: ui.home().map(PathBuf::from),
        })
    }

    /// Returns the address of a path as it is shown in a row: relative to the session's directory,
    /// or with `~`. `None` if the path is empty, or if the directory is unknown.
    pub fn address_of(&self, shown_path: &str) -> Option<String> {
        if shown_path.is_empty() {
            return None;
        }
        let file = match shown_path.strip_prefix("~/") {
            Some(below_home) => self.home.as_ref()?.join(below_home),
            None => self.cwd.as_ref()?.join(Path::new(shown_path)),
        };
        self.links.address_of(&file)
    }
}
