//! The places where sessions are: those of the current directory in the stores, those of all
//! projects, and archives.

use crate::agents::stores::{
    Disk, Here, Store, Surroundings, locate_blobs, locate_stores, resolve_user_path,
};
use crate::cli::output::Ui;
use crate::format::counted;
use crate::load::names::{self, NameError, is_of};
use crate::load::read_header;
use crate::ops::archive::Facts;
use crate::session::Header;
use crate::session::dialect::Dialect;
use crate::session::period::Period;
use foldhash::{HashMap, HashSet};
use pisess_json::text::Text;
use pisess_store::{
    self as store, Archive, FoundFile, FoundFiles, Glance, OnDisk, Reach, StoreError, with_suffix,
};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The set of sessions to read, for a command that reads many.
#[derive(Clone, Debug)]
pub enum Scope {
    /// These files, and the sessions below these directories.
    Paths(Vec<PathBuf>),
    /// The sessions of the current directory, in the stores of both agents.
    Here,
    /// The sessions of all projects.
    All,
}

/// The places where sessions are, looked up once per run.
pub struct Places {
    home: Option<PathBuf>,
    folder: PathBuf,
    stores: Vec<Store>,
    /// The directory of oh-my-pi's blobs.
    pub blobs: Option<PathBuf>,
    workers: usize,
}

impl Places {
    /// Looks up the stores of both agents.
    pub fn of(ui: &Ui) -> Places {
        Places::seen_from(ui.folder(), ui)
    }

    /// Looks up the stores of both agents, as seen from a project.
    pub fn seen_from(project: &Path, ui: &Ui) -> Places {
        let (home, folder) = (ui.home().map(PathBuf::from), project.to_owned());
        let env = |name: &str| ui.env(name);
        let here = Here {
            home: home.as_deref(),
            folder: &folder,
        };
        let surroundings = Surroundings {
            env: &env,
            here,
            reads_project: true,
        };
        let stores = locate_stores(surroundings, &OnDisk);
        let blobs = locate_blobs(surroundings, &OnDisk);
        Places {
            home,
            folder,
            stores,
            blobs,
            workers: ui.processors(),
        }
    }

    /// Returns what relative paths, and those below the home directory, start from.
    pub fn here(&self) -> Here<'_> {
        Here {
            home: self.home.as_deref(),
            folder: &self.folder,
        }
    }

    /// Returns the session with this name.
    pub fn named(&self, name: &str) -> Result<PathBuf, NameError> {
        names::find(name, &self.stores, self.here(), self.workers)
    }

    /// Returns the sessions of the current project, most recently changed first.
    pub fn newest(&self) -> impl Iterator<Item = PathBuf> {
        names::newest(&self.stores, self.here())
    }

    /// Returns the directories of both agents that contain sessions, each with the directory of
    /// their archives: beside the store, and with the same structure.
    fn archives(&self) -> impl Iterator<Item = (PathBuf, PathBuf)> {
        self.roots()
            .into_iter()
            .map(|root| (root.clone(), with_suffix(&root, ".archive")))
    }

    /// Returns the directories of both agents that contain the sessions of all projects.
    pub fn roots(&self) -> BTreeSet<PathBuf> {
        self.stores
            .iter()
            .map(|store| OnDisk.real(&store.root))
            .collect()
    }

    /// Returns the archive for a session, given by its real path, if it is in a store.
    pub fn archive_of(&self, session: &Path) -> Option<PathBuf> {
        self.archives().find_map(|(root, archives)| {
            Some(with_suffix(
                &archives.join(session.strip_prefix(root).ok()?),
                ARCHIVED,
            ))
        })
    }

    /// Returns the path that the session in an archive had, if the archive, given by its real path,
    /// is beside a store.
    pub fn session_of(&self, archive: &Path) -> Option<PathBuf> {
        if !is_archive(archive) {
            return None;
        }
        let session = archive.with_extension("");
        for (root, archives) in self.archives() {
            if let Ok(in_store) = session.strip_prefix(archives) {
                return Some(root.join(in_store));
            }
        }
        None
    }

    /// Returns the archives of the project, or of all projects.
    pub fn archived(&self, all: bool) -> Result<Vec<PathBuf>, StoreError> {
        let mut found = BTreeSet::new();
        for (root, archives) in self.archives() {
            // The stores of which only the folders for this project are searched.
            let mut own_stores = Vec::new();
            if !all {
                own_stores.extend(self.stores.iter());
                own_stores.retain(|store| OnDisk.real(&store.root) == root);
            }
            // The sessions of all projects are in one directory.
            let is_flat = own_stores.iter().any(|store| store.is_flat());

            let mut folders = Vec::new();
            if all || is_flat {
                folders.push(archives);
            } else {
                let own_folders = own_stores.iter().flat_map(|store| &store.folders);
                let names = own_folders.filter_map(|folder| folder.file_name());
                folders.extend(names.map(|name| archives.join(name)));
            }
            for folder in folders {
                for (path, is_regular) in store::files_below(&folder)? {
                    if is_regular && is_archive(&path) && (!is_flat || self.is_of_project(&path)) {
                        found.insert(path);
                    }
                }
            }
        }
        Ok(found.into_iter().collect())
    }

    /// Returns the archives of the project, or of all projects, to be read like sessions. One that
    /// cannot be read is an error, as if it was named.
    pub fn archived_files(&self, all: bool) -> Result<impl Iterator<Item = FoundFile>, StoreError> {
        let file = |path| FoundFile {
            path,
            owner: None,
            named: true,
        };
        Ok(self.archived(all)?.into_iter().map(file))
    }

    /// Reports that the archived sessions of the project, or of all projects, are not read, if any
    /// of them may have entries in a period. Without a period, only their names are looked at.
    pub fn warn_of_archived(&self, all: bool, period: Period, ui: &mut Ui) {
        let archives = self.archived(all).unwrap_or_default();
        let mut count = 0;
        for path in &archives {
            if may_have_entries_in(path, period) {
                count += 1;
            }
        }
        if count > 0 {
            let sessions = counted(count, "archived session is", "archived sessions are");
            ui.warn(&format!("{sessions} not included (hint: --archived)"));
        }
    }

    /// Returns the sessions in a scope, and the directories that cannot be searched.
    pub fn find(&self, scope: &Scope) -> FoundFiles {
        match scope {
            Scope::Paths(paths) => store::find(paths, Reach::Whole),
            Scope::All => unnamed(self.folders(scope)),
            Scope::Here => self.find_here(),
        }
    }

    /// Returns the directories that are searched, and the files that were given.
    pub fn folders(&self, scope: &Scope) -> Vec<PathBuf> {
        match scope {
            Scope::Paths(paths) => paths.clone(),
            Scope::All => self.stores.iter().map(|store| store.root.clone()).collect(),
            Scope::Here => self
                .stores
                .iter()
                .flat_map(|store| &store.folders)
                .cloned()
                .collect(),
        }
    }

    fn find_here(&self) -> FoundFiles {
        let mut finding = unnamed(self.folders(&Scope::Here));
        let flat: HashSet<_> = self
            .stores
            .iter()
            .filter(|store| store.is_flat())
            .map(|store| &store.root)
            .collect();
        if !flat.is_empty() {
            let mut known: HashMap<PathBuf, bool> = HashMap::default();
            finding.files.retain(|file| {
                // A sub-agent may work in another directory; that of the session that started it
                // decides.
                let decides = file.owner.as_deref().unwrap_or(&file.path);
                let is_flat = decides
                    .parent()
                    .is_some_and(|folder| flat.contains(&folder.to_owned()));
                !is_flat
                    || *known
                        .entry(decides.to_owned())
                        .or_insert_with(|| self.is_of_project(decides))
            });
        }
        finding
    }

    fn is_of_project(&self, path: &Path) -> bool {
        header(path).is_some_and(|header| is_of(&header, self.here()))
    }

    /// Returns the directory that a session or an archive records, if any, as an absolute path.
    pub fn cwd(&self, path: &Path) -> Option<PathBuf> {
        header(path)?.cwd.map(|cwd| self.absolute(&cwd))
    }

    /// Returns the absolute path of a directory that a session records.
    pub fn absolute(&self, cwd: &Text) -> PathBuf {
        resolve_user_path(&cwd.to_string_lossy(), self.here())
    }
}

/// Returns the header of a session or an archive, if it can be read.
fn header(path: &Path) -> Option<Header> {
    let session = || read_header(&Glance::open(path).ok()?).ok();
    facts(path).map(|facts| facts.header).or_else(session)
}

/// Returns what an archive records of its session, if it is one that can be read.
pub fn facts(path: &Path) -> Option<Facts> {
    let archive = Archive::read(&Glance::open(path).ok()?).ok()??;
    Facts::read(&archive.head).ok()
}

/// Whether a session may have entries in a period. Without a period, its file is not read.
fn may_have_entries_in(path: &Path, period: Period) -> bool {
    if period == Period::default() {
        return true;
    }
    let Some(facts) = facts(path) else {
        return false;
    };
    let started_ms = facts.header.started_ms().unwrap_or(i64::MIN);
    period.may_have(started_ms, facts.modified)
}

/// Returns the archive of a session that is at this path, given by its real path, whatever store it
/// is in.
pub fn archive_named_after(session: &Path) -> Option<PathBuf> {
    for root in session.ancestors().skip(1) {
        let below = session.strip_prefix(root).ok()?;
        let archive = with_suffix(&with_suffix(root, ".archive").join(below), ARCHIVED);
        if store::modified(&archive).is_some() {
            return Some(archive);
        }
    }
    None
}

/// The end of the name of an archive, after that of the session.
const ARCHIVED: &str = ".zst";

/// Whether a path has the name of an archive.
pub fn is_archive(path: &Path) -> bool {
    path.as_os_str()
        .as_encoded_bytes()
        .ends_with(ARCHIVED.as_bytes())
}

/// Returns the stores of both agents as seen from a project that a session records, with their real
/// paths. The settings of that project are not read, unless it is the current directory: a path in
/// a session may be anyone's.
pub fn stores_seen_from_recorded(project: &Path, ui: &Ui) -> Vec<Store> {
    real_stores(project, project == ui.folder(), ui)
}

/// Returns the stores of both agents as seen from a project that the user named, with their real
/// paths.
pub fn stores_seen_from(project: &Path, ui: &Ui) -> Vec<Store> {
    real_stores(project, true, ui)
}

/// Returns the directory in which an agent keeps the sessions of the project from which its stores
/// are seen.
pub fn folder_of_agent(stores: &[Store], agent: Dialect) -> Option<PathBuf> {
    stores
        .iter()
        .find(|store| store.agent == agent)?
        .folders
        .first()
        .cloned()
}

fn real_stores(project: &Path, reads_project: bool, ui: &Ui) -> Vec<Store> {
    let home = ui.home().map(PathBuf::from);
    let env = |name: &str| ui.env(name);
    let here = Here {
        home: home.as_deref(),
        folder: project,
    };
    let mut found = locate_stores(
        Surroundings {
            env: &env,
            here,
            reads_project,
        },
        &OnDisk,
    );
    for store in &mut found {
        let root = OnDisk.real(&store.root);
        for folder in &mut store.folders {
            if let Ok(name) = folder.strip_prefix(&store.root) {
                *folder = root.iter().chain(name).collect();
            }
        }
        store.root = root;
    }
    found
}

/// Returns the absolute path of a directory that the user named; `~` is the home directory.
pub fn absolute_folder(path: &Path, ui: &Ui) -> PathBuf {
    let home = ui.home();
    resolve_user_path(
        &path.to_string_lossy(),
        Here {
            home: home.as_deref().map(Path::new),
            folder: ui.folder(),
        },
    )
}

/// Returns the directories of both agents that contain the sessions of all projects, as far as they
/// exist.
pub fn everything(ui: &Ui) -> Vec<PathBuf> {
    Places::of(ui)
        .roots()
        .into_iter()
        .filter(|root| root.exists())
        .collect()
}

/// Whether a directory exists, or cannot be looked at, which a search then reports.
fn may_exist(folder: &Path) -> bool {
    match folder.try_exists() {
        Ok(exists) => exists,
        Err(error) => error.kind() != std::io::ErrorKind::NotADirectory,
    }
}

/// Returns the files below directories that were not given by the user; missing directories are
/// skipped.
fn unnamed(mut folders: Vec<PathBuf>) -> FoundFiles {
    folders.retain(|folder| may_exist(folder));
    let mut finding = store::find(&folders, Reach::Whole);
    for trouble in &mut finding.troubles {
        trouble.named = false;
    }
    finding
}
