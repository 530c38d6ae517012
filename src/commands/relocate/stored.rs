//! Reads the sessions in the stores, and finds the forks of a session among them.

use crate::cli::locate::{Scope, SessionStores};
use crate::cli::output::{Failure, Ui};
use crate::load::{LoadError, read_header};
use crate::session::Header;
use pisess_json::Raw;
use pisess_store::{self as store, Glance};
use std::io;
use std::path::{Path, PathBuf};

/// The sessions in the stores with their headers, without sessions of sub-agents.
pub struct StoredSessions {
    pub sessions: Vec<StoredSession>,
    /// The files and directories that could not be read.
    pub unread: Vec<Unread>,
}

/// A session in a store.
pub struct StoredSession {
    pub path: PathBuf,
    pub header: Header,
}

/// A file or directory of a store that could not be read.
pub struct Unread {
    pub path: PathBuf,
    pub failure: Failure,
}

impl StoredSessions {
    /// Reads the headers of all sessions in the stores.
    ///
    /// Sessions of sub-agents are left out: they move with the session that owns them. What cannot
    /// be read is kept for the report, and does not stop the search.
    pub fn read(ui: &Ui) -> StoredSessions {
        let found_files = SessionStores::locate(ui).find_sessions(&Scope::All);
        let mut stored = StoredSessions {
            sessions: Vec::new(),
            unread: Vec::new(),
        };
        for problem in found_files.problems {
            // A path without an error is unusual, but was read.
            if let Some(error) = problem.error {
                stored.unread.push(Unread {
                    path: error.path.clone(),
                    failure: error.into(),
                });
            }
        }
        for file in found_files.files {
            let is_sub_agent = file.owner.is_some();
            if !is_sub_agent {
                stored.add_session(file.path);
            }
        }
        stored
    }

    /// Reads the header of a session, and adds the session. Skips a file that is not a session, and
    /// a file that another process has moved or deleted meanwhile. Other failures are kept for the
    /// report.
    fn add_session(&mut self, path: PathBuf) {
        let file = match Glance::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == Some(io::ErrorKind::NotFound) => return,
            Err(error) => {
                let failure = error.into();
                self.unread.push(Unread { path, failure });
                return;
            }
        };
        match read_header(&file) {
            Ok(header) => self.sessions.push(StoredSession { path, header }),
            Err(LoadError::Io(error)) => {
                let failure = Failure::from_read_error(&path.to_string_lossy(), error);
                self.unread.push(Unread { path, failure });
            }
            // The file is not a session.
            Err(_) => {}
        }
    }

    /// Returns the forks of a session: the sessions whose headers name its path, or a former path
    /// of it, as their source.
    pub fn forks_of(&self, session: &Path) -> Vec<PathBuf> {
        let mut forks = Vec::new();
        for StoredSession { path, header } in &self.sessions {
            let Some(source) = forked_from(header) else {
                continue;
            };
            if source == session || is_former_path(&source, session) {
                forks.push(path.clone());
            }
        }
        forks
    }
}

/// Returns the path of the session from which a session was forked, as its header records it.
fn forked_from(header: &Header) -> Option<PathBuf> {
    let source = Raw::from_checked(&header.bytes).get_text("parentSession")?;
    Some(PathBuf::from(&*source.to_string_lossy()))
}

/// Whether `recorded` is a former path of a session: it has the same file name, which contains the
/// session's id, and no file is at that path. Such a path is left in the header of a fork if a move
/// could not change the fork.
fn is_former_path(recorded: &Path, session: &Path) -> bool {
    recorded != session
        && recorded.is_absolute()
        && recorded.file_name() == session.file_name()
        && store::is_free(recorded).unwrap_or(false)
}
