//! Finds sessions: of the current directory, of all projects, and in archives.

use crate::agents::stores::{
    BaseDirs, Disk, Store, StoreEnv, locate_blob_store, locate_stores, resolve_user_path,
};
use crate::cli::output::Ui;
use crate::format::format_count;
use crate::import::is_document_name;
use crate::load::names::{self, NameError, NamedSession, SearchRange, is_in_project};
use crate::load::read_header;
use crate::ops::archive::ArchiveFacts;
use crate::session::Header;
use crate::session::blobs::BlobStore;
use crate::session::dialect::Dialect;
use crate::session::period::Period;
use foldhash::{HashMap, HashSet};
use pisess_json::text::Text;
use pisess_store::{
    self as store, Archive, FoundFile, FoundFiles, Glance, OnDisk, Reach, StoreError, with_suffix,
};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The sessions to read, for a command that reads many.
#[derive(Clone, Debug)]
pub enum Scope {
    /// These files, and the sessions below these directories.
    Paths(Vec<PathBuf>),
    /// The sessions of the current directory in the stores of both agents.
    CurrentProject,
    /// The sessions of all projects.
    All,
}

/// The projects whose archived sessions are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArchiveScope {
    CurrentProject,
    AllProjects,
}

impl ArchiveScope {
    /// Returns the scope that the option `--all` selects.
    pub fn from_all_option(all: bool) -> ArchiveScope {
        if all {
            ArchiveScope::AllProjects
        } else {
            ArchiveScope::CurrentProject
        }
    }
}

/// The root of a store, and that of its archives. The archives are beside the store, and have the
/// same structure of directories.
struct ArchiveRoot {
    store: PathBuf,
    archives: PathBuf,
}

/// The stores of both agents, as seen from one project. They are looked up once per run.
pub struct SessionStores {
    home: Option<PathBuf>,
    folder: PathBuf,
    stores: Vec<Store>,
    /// Where oh-my-pi keeps its blobs.
    pub blobs: BlobStore,
    workers: usize,
}

impl SessionStores {
    /// Looks up the stores of both agents.
    pub fn locate(ui: &Ui) -> SessionStores {
        SessionStores::locate_from(ui.current_folder(), ui)
    }

    /// Looks up the stores of both agents, as seen from `project`: its settings may move them.
    pub fn locate_from(project: &Path, ui: &Ui) -> SessionStores {
        let reads_project = true;
        with_store_env(project, reads_project, ui, |env| SessionStores {
            home: ui.home().map(PathBuf::from),
            folder: project.to_owned(),
            stores: locate_stores(env, &OnDisk),
            blobs: BlobStore::new(locate_blob_store(env, &OnDisk)),
            workers: ui.processor_count(),
        })
    }

    /// Returns the directories from which relative paths and `~` start.
    pub fn here(&self) -> BaseDirs<'_> {
        BaseDirs {
            home: self.home.as_deref(),
            cwd: &self.folder,
        }
    }

    /// Returns the path of the session that a name identifies.
    pub fn find_by_name(&self, name: &str) -> Result<PathBuf, NameError> {
        let session = self.find_named_session(name)?;
        Ok(session.path)
    }

    /// Returns the session that a name identifies, and what of it matches.
    pub fn find_named_session(&self, name: &str) -> Result<NamedSession, NameError> {
        names::find_session(name, &self.stores, self.here(), self.workers)
    }

    /// Returns the session in a range that has exactly this name; case is ignored if no name has
    /// the same case. `None` if no session has it.
    pub fn find_by_whole_name(
        &self,
        name: &str,
        range: SearchRange,
    ) -> Result<Option<PathBuf>, NameError> {
        names::find_by_whole_name(name, range, &self.stores, self.here(), self.workers)
    }

    /// Returns all files with this session id, in the stores of all projects.
    pub fn find_copies(&self, id: &str) -> Vec<PathBuf> {
        names::find_copies(id, &self.stores)
    }

    /// Returns the sessions of the current project, the one whose file changed last first.
    pub fn newest_sessions(&self) -> impl Iterator<Item = PathBuf> {
        names::newest_sessions(&self.stores, self.here())
    }

    /// Returns the roots of each store and of its archives.
    fn archive_roots(&self) -> impl Iterator<Item = ArchiveRoot> {
        self.store_roots().into_iter().map(|store| ArchiveRoot {
            archives: with_suffix(&store, ".archive"),
            store,
        })
    }

    /// Returns the roots of the stores of both agents, which contain the sessions of all projects.
    pub fn store_roots(&self) -> BTreeSet<PathBuf> {
        self.stores
            .iter()
            .map(|store| OnDisk.resolve_links(&store.root))
            .collect()
    }

    /// Returns the path for the archive of a session; `None` if the session is in no store.
    /// `session` has to be a real path, without symbolic links.
    pub fn archive_path(&self, session: &Path) -> Option<PathBuf> {
        for ArchiveRoot { store, archives } in self.archive_roots() {
            if let Ok(in_store) = session.strip_prefix(store) {
                return Some(with_suffix(&archives.join(in_store), ARCHIVE_SUFFIX));
            }
        }
        None
    }

    /// Returns the former path of the session in an archive; `None` if the archive is not beside a
    /// store. `archive` has to be a real path, without symbolic links.
    pub fn archived_session_path(&self, archive: &Path) -> Option<PathBuf> {
        if !is_archive(archive) {
            return None;
        }
        let session = archive.with_extension("");
        for ArchiveRoot { store, archives } in self.archive_roots() {
            if let Ok(in_store) = session.strip_prefix(archives) {
                return Some(store.join(in_store));
            }
        }
        None
    }

    /// Returns the archives in a scope, sorted by path, each once.
    ///
    /// The archives of a store are beside its root. Stores whose roots are the same directory, once
    /// links are resolved, share their archives.
    pub fn find_archives(&self, scope: ArchiveScope) -> Result<Vec<PathBuf>, StoreError> {
        let mut found = BTreeSet::new();
        for root in self.archive_roots() {
            let archives = match scope {
                ArchiveScope::AllProjects => archives_below(&root.archives)?,
                ArchiveScope::CurrentProject => self.find_project_archives(&root)?,
            };
            found.extend(archives);
        }
        Ok(found.into_iter().collect())
    }

    /// Returns the archives of the current project below one root.
    fn find_project_archives(&self, root: &ArchiveRoot) -> Result<Vec<PathBuf>, StoreError> {
        // `root.store` is a path without links.
        let mut stores: Vec<&Store> = self.stores.iter().collect();
        stores.retain(|store| OnDisk.resolve_links(&store.root) == root.store);

        // A flat store has the sessions of all projects in one directory. Only the header of an
        // archive shows whether it belongs to the project.
        if stores.iter().any(|store| store.is_flat()) {
            let mut archives = archives_below(&root.archives)?;
            archives.retain(|path| self.belongs_to_project(path));
            return Ok(archives);
        }

        // Other stores have directories for the project. Below the root of the archives, the
        // directories for its archives have the same names.
        let mut archives = Vec::new();
        for folder in stores.iter().flat_map(|store| &store.folders) {
            if let Some(name) = folder.file_name() {
                archives.extend(archives_below(&root.archives.join(name))?);
            }
        }
        Ok(archives)
    }

    /// Returns the archives in a scope as files to read like sessions. They count as named, so that
    /// an archive that cannot be read is an error.
    pub fn find_archive_files(&self, scope: ArchiveScope) -> Result<Vec<FoundFile>, StoreError> {
        let mut files = Vec::new();
        for path in self.find_archives(scope)? {
            files.push(FoundFile {
                path,
                owner: None,
                is_given: true,
            });
        }
        Ok(files)
    }

    /// Warns that archived sessions in a scope are not read, if any of them may have entries in
    /// `period`. If the period is unlimited, the archives need not be opened for that.
    pub fn warn_archives_skipped(&self, scope: ArchiveScope, period: Period, ui: &mut Ui) {
        let archives = self.find_archives(scope).unwrap_or_default();
        let mut count = 0;
        for path in &archives {
            if may_have_entries_in(path, period) {
                count += 1;
            }
        }
        if count > 0 {
            let sessions = format_count(count, "archived session is", "archived sessions are");
            ui.warn(&format!("{sessions} not included (hint: --archived)"));
        }
    }

    /// Returns the sessions in a scope, with the directories that could not be searched.
    pub fn find_sessions(&self, scope: &Scope) -> FoundFiles {
        match scope {
            Scope::Paths(paths) => store::find_with(paths, Reach::Whole, is_document_name),
            Scope::All => search_existing(self.search_folders(scope)),
            Scope::CurrentProject => self.find_project_sessions(),
        }
    }

    /// Returns the directories of a scope that are searched; also files, if the scope names them.
    pub fn search_folders(&self, scope: &Scope) -> Vec<PathBuf> {
        match scope {
            Scope::Paths(paths) => paths.clone(),
            Scope::All => self.stores.iter().map(|store| store.root.clone()).collect(),
            Scope::CurrentProject => self
                .stores
                .iter()
                .flat_map(|store| &store.folders)
                .cloned()
                .collect(),
        }
    }

    /// Returns the sessions of the current project. A flat store has the sessions of all projects
    /// in one directory: there, the header of each session decides.
    fn find_project_sessions(&self) -> FoundFiles {
        let mut found = search_existing(self.search_folders(&Scope::CurrentProject));
        let mut flat_roots: HashSet<&Path> = HashSet::default();
        for store in &self.stores {
            if store.is_flat() {
                flat_roots.insert(&store.root);
            }
        }
        if flat_roots.is_empty() {
            return found;
        }

        // Many sub-agents have the same owner, so the header of each owner is read only once.
        let mut is_owner_of_project: HashMap<PathBuf, bool> = HashMap::default();
        found.files.retain(|file| {
            // A sub-agent may work in another directory, so its owner decides.
            let owner = file.owner.as_deref().unwrap_or(&file.path);
            let folder = owner.parent();
            let is_in_flat_store = folder.is_some_and(|folder| flat_roots.contains(folder));
            if !is_in_flat_store {
                // The directory of any other store belongs to the project alone.
                return true;
            }
            *is_owner_of_project
                .entry(owner.to_owned())
                .or_insert_with(|| self.belongs_to_project(owner))
        });
        found
    }

    /// Whether the current project is in the header of a session or an archive. A file whose header
    /// cannot be read does not belong to the project.
    fn belongs_to_project(&self, path: &Path) -> bool {
        read_any_header(path).is_some_and(|header| is_in_project(&header, self.here()))
    }

    /// Returns the sessions in the stores that record a working directory for which `is_wanted` is
    /// true, by this directory. Sub-agents are left out: they may work elsewhere.
    pub fn find_sessions_by_cwd(
        &self,
        is_wanted: impl Fn(&Path) -> bool,
    ) -> BTreeMap<PathBuf, Vec<FoundFile>> {
        let mut by_cwd: BTreeMap<PathBuf, Vec<FoundFile>> = BTreeMap::new();
        for file in self.find_sessions(&Scope::All).files {
            if file.owner.is_some() {
                continue;
            }
            let Some(cwd) = self.recorded_cwd(&file.path) else {
                continue;
            };
            if is_wanted(&cwd) {
                by_cwd.entry(cwd).or_default().push(file);
            }
        }
        by_cwd
    }

    /// Returns the working directory that a session or an archive records, as an absolute path.
    /// `None` if it records none.
    pub fn recorded_cwd(&self, path: &Path) -> Option<PathBuf> {
        read_any_header(path)?
            .cwd
            .map(|cwd| self.resolve_folder(&cwd))
    }

    /// Returns a directory recorded by a session as an absolute path.
    pub fn resolve_folder(&self, cwd: &Text) -> PathBuf {
        resolve_user_path(&cwd.to_string_lossy(), self.here())
    }
}

/// Returns the header of a session or an archive; `None` if it cannot be read.
fn read_any_header(path: &Path) -> Option<Header> {
    if let Some(facts) = read_archive_facts(path) {
        return Some(facts.header);
    }
    let file = Glance::open(path).ok()?;
    read_header(&file).ok()
}

/// Returns the facts that an archive records of its session; `None` if it cannot be read.
pub fn read_archive_facts(path: &Path) -> Option<ArchiveFacts> {
    let archive = Archive::read(&Glance::open(path).ok()?).ok()??;
    ArchiveFacts::decode(&archive.head).ok()
}

/// Whether an archived session may have entries in a period. For an unlimited period, the archive
/// is not read.
fn may_have_entries_in(path: &Path, period: Period) -> bool {
    if period == Period::default() {
        return true;
    }
    let Some(facts) = read_archive_facts(path) else {
        return false;
    };
    // A session without a start time may have begun at any time.
    let started_ms = facts.header.started_ms().unwrap_or(i64::MIN);
    period.overlaps(started_ms, facts.modified_ms)
}

/// Returns the path of a session's archive, if there is one. The session itself exists, too: it was
/// restored, or an agent wrote it again.
///
/// The archive of `STORE/kites/s.jsonl` is `STORE.archive/kites/s.jsonl.zst`. Which of the
/// directories above the session is the store is not known, so each is tried, the nearest first.
/// `session` has to be a real path, without symbolic links.
pub fn find_archive_beside(session: &Path) -> Option<PathBuf> {
    for store in session.ancestors().skip(1) {
        let path_in_store = session.strip_prefix(store).ok()?;
        let archive_folder = with_suffix(store, ".archive");
        let archive = with_suffix(&archive_folder.join(path_in_store), ARCHIVE_SUFFIX);
        if store::modified(&archive).is_some() {
            return Some(archive);
        }
    }
    None
}

/// Returns the archives below a directory, recognized by their names. Returns none if the directory
/// does not exist.
fn archives_below(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let mut archives = Vec::new();
    for file in store::files_below(folder)? {
        if file.is_regular && is_archive(&file.path) {
            archives.push(file.path);
        }
    }
    Ok(archives)
}

/// Follows the name of a session in the name of its archive.
const ARCHIVE_SUFFIX: &str = ".zst";

/// Whether a path has the name of an archive.
pub fn is_archive(path: &Path) -> bool {
    path.as_os_str()
        .as_encoded_bytes()
        .ends_with(ARCHIVE_SUFFIX.as_bytes())
}

/// Returns the stores of both agents as seen from a project that a session records, with real
/// paths. The settings in that project are not read unless it is the current directory: a session
/// is not trusted, so its path may point to settings of anyone.
pub fn stores_for_recorded_project(project: &Path, ui: &Ui) -> Vec<Store> {
    let reads_project = project == ui.current_folder();
    locate_real_stores(project, reads_project, ui)
}

/// Returns the stores of both agents as seen from a project that the user named, with real paths.
pub fn stores_for_named_project(project: &Path, ui: &Ui) -> Vec<Store> {
    let reads_project = true;
    locate_real_stores(project, reads_project, ui)
}

/// Returns the directory in which an agent keeps the sessions of a project. `stores` are the stores
/// as seen from that project. `None` if the agent has no store.
pub fn agent_folder(stores: &[Store], agent: Dialect) -> Option<PathBuf> {
    stores
        .iter()
        .find(|store| store.agent == agent)?
        .folders
        .first()
        .cloned()
}

/// Returns the stores of both agents as seen from a project. The settings in the project's
/// directory count only if `reads_project`. The roots of the stores, and the directories below
/// them, are real paths: without symbolic links.
fn locate_real_stores(project: &Path, reads_project: bool, ui: &Ui) -> Vec<Store> {
    let mut stores = with_store_env(project, reads_project, ui, |env| {
        locate_stores(env, &OnDisk)
    });
    for store in &mut stores {
        let real_root = OnDisk.resolve_links(&store.root);
        for folder in &mut store.folders {
            let Ok(below_root) = folder.strip_prefix(&store.root) else {
                continue;
            };
            // In a flat store, the directory is the root itself, and `below_root` is empty. `join`
            // would then add a slash at the end.
            let mut real_folder: PathBuf = real_root.iter().collect();
            real_folder.extend(below_root);
            *folder = real_folder;
        }
        store.root = real_root;
    }
    stores
}

/// Calls `locate` with everything that determines the stores as seen from a project: the
/// environment, the home directory and, if `reads_project`, the settings in the project's
/// directory.
fn with_store_env<T>(
    project: &Path,
    reads_project: bool,
    ui: &Ui,
    locate: impl FnOnce(StoreEnv) -> T,
) -> T {
    let home = ui.home().map(PathBuf::from);
    let env = |name: &str| ui.env_var(name);
    locate(StoreEnv {
        env: &env,
        base_dirs: BaseDirs {
            home: home.as_deref(),
            cwd: project,
        },
        reads_project,
    })
}

/// Returns a directory that the user named as an absolute path. `~` is the home directory.
pub fn resolve_user_folder(path: &Path, ui: &Ui) -> PathBuf {
    let home = ui.home();
    resolve_user_path(
        &path.to_string_lossy(),
        BaseDirs {
            home: home.as_deref().map(Path::new),
            cwd: ui.current_folder(),
        },
    )
}

/// Returns the existing roots of the stores of both agents, which contain the sessions of all
/// projects.
pub fn existing_store_roots(ui: &Ui) -> Vec<PathBuf> {
    SessionStores::locate(ui)
        .store_roots()
        .into_iter()
        .filter(|root| root.exists())
        .collect()
}

/// Whether a directory exists. If that cannot be determined, returns true: a search then reports
/// why.
fn may_exist(folder: &Path) -> bool {
    match folder.try_exists() {
        Ok(exists) => exists,
        Err(error) => error.kind() != std::io::ErrorKind::NotADirectory,
    }
}

/// Returns the files below directories that the user did not name. So missing directories are
/// skipped, and failures count as those of a search.
fn search_existing(mut folders: Vec<PathBuf>) -> FoundFiles {
    folders.retain(|folder| may_exist(folder));
    let mut finding = store::find(&folders, Reach::Whole);
    for problem in &mut finding.problems {
        problem.is_given = false;
    }
    finding
}
