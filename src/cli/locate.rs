//! Resolves the sessions of a command: given paths or names, those of the current directory, or all.

use crate::agents::stores::{Disk, Here, Store, Surroundings, absolute, blobs, stores};
use crate::cli::ids::Ids;
use crate::cli::output::{Failure, Ui};
use crate::format::age;
use crate::load::names::{NameError, Names, choose, is_of};
use crate::load::{LoadError, read_header};
use crate::ops::archive::Facts;
use crate::ops::list::{alone, titled};
use crate::session::Header;
use crate::session::paths::{below_home, is_windows};
use crate::session::period::Period;
use foldhash::{HashMap, HashSet};
use pisess_json::text::Text;
use pisess_store::{
    self as store, Archive, FoundFile, FoundFiles, Glance, OnDisk, Reach, StoreError, Trouble, with_suffix,
};
use std::cmp::Reverse;
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

/// The sessions that arguments refer to; none has been read yet.
#[derive(Debug)]
pub struct FoundSessions {
    /// Their files; `-` is one of them.
    pub files: Vec<FoundFile>,
    /// Those of them that were found by their name.
    pub by_name: Vec<PathBuf>,
    /// Why arguments were not found, or directories could not be searched.
    pub failures: Vec<Failure>,
    /// Where they were found.
    pub scope: Scope,
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
        let surroundings = Surroundings { env: &env, here: Here { home: home.as_deref(), folder: &folder } };
        let (stores, blobs) = (stores(surroundings, &OnDisk), blobs(surroundings, &OnDisk));
        Places { home, folder, stores, blobs, workers: ui.processors() }
    }

    fn here(&self) -> Here<'_> {
        Here { home: self.home.as_deref(), folder: &self.folder }
    }

    /// Looks up sessions by name.
    pub fn names(&self) -> Names<'_> {
        Names { stores: &self.stores, here: self.here(), workers: self.workers }
    }

    /// Returns the sessions that paths, names and `--all` refer to. Reports directories below these that cannot be
    /// searched.
    pub fn sessions(&self, paths: &[PathBuf], all: bool, ui: &mut Ui) -> FoundSessions {
        let scope = match (paths, all) {
            (_, true) => Scope::All,
            ([], false) => Scope::Here,
            _ => return named_by(paths, Reach::Whole, false, ui),
        };
        let FoundFiles { files, troubles, .. } = self.find(&scope);
        troubles.iter().for_each(|trouble| ui.warn(&trouble.to_string()));
        FoundSessions { files, by_name: Vec::new(), failures: Vec::new(), scope }
    }

    /// Returns the directories of both agents that contain sessions, each with the directory of their archives: beside the
    /// store, and with the same structure.
    fn archives(&self) -> impl Iterator<Item = (PathBuf, PathBuf)> {
        self.roots().into_iter().map(|root| (root.clone(), with_suffix(&root, ".archive")))
    }

    fn roots(&self) -> BTreeSet<PathBuf> {
        self.stores.iter().map(|store| OnDisk.real(&store.root)).collect()
    }

    /// Returns the archive for a session, given by its real path, if it is in a store.
    pub fn archive_of(&self, session: &Path) -> Option<PathBuf> {
        self.archives().find_map(|(root, archives)| {
            Some(with_suffix(&archives.join(session.strip_prefix(root).ok()?), ARCHIVED))
        })
    }

    /// Returns the path that the session in an archive had, if the archive, given by its real path, is beside a store.
    pub fn session_of(&self, archive: &Path) -> Option<PathBuf> {
        let session = archive.with_extension("");
        self.archives()
            .find_map(|(root, archives)| Some(root.join(session.strip_prefix(archives).ok()?)))
            .filter(|_| is_archive(archive))
    }

    /// Returns the archives of the project, or of all projects.
    pub fn archived(&self, all: bool) -> Result<Vec<PathBuf>, StoreError> {
        let mut found = BTreeSet::new();
        for (root, archives) in self.archives() {
            let is_own = |store: &&Store| OnDisk.real(&store.root) == root;
            let own = self.stores.iter().filter(is_own).filter(|_| !all);
            let is_flat = own.clone().any(Store::is_flat);
            let names = own.flat_map(|store| &store.folders).filter_map(|folder| folder.file_name());
            let folders =
                if all || is_flat { vec![archives] } else { names.map(|name| archives.join(name)).collect() };
            for folder in folders {
                let files = store::files_below(&folder)?.into_iter().filter(|(_, is_regular)| *is_regular);
                let files =
                    files.map(|(path, _)| path).filter(|path| path.to_string_lossy().ends_with(ARCHIVED));
                found.extend(files.filter(|path| !is_flat || self.is_of_project(path)));
            }
        }
        Ok(found.into_iter().collect())
    }

    /// Returns the archives of the project, or of all projects, to be read like sessions. One that cannot be read is an
    /// error, as if it was named.
    pub fn archived_files(&self, all: bool) -> Result<impl Iterator<Item = FoundFile>, StoreError> {
        let file = |path| FoundFile { path, owner: None, named: true };
        Ok(self.archived(all)?.into_iter().map(file))
    }

    /// Reports that the archived sessions of the project, or of all projects, are not read, if any of them may have
    /// entries in a period. Without a period, only their names are looked at.
    pub fn warn_of_archived(&self, all: bool, period: Period, ui: &mut Ui) {
        let may_count = |path: &PathBuf| {
            period == Period::default()
                || facts(path).is_some_and(|facts| {
                    period.may_have(facts.header.started_ms().unwrap_or(i64::MIN), facts.modified)
                })
        };
        let archives = self.archived(all).unwrap_or_default();
        match archives.iter().filter(|path| may_count(path)).count() {
            0 => {}
            1 => ui.warn("1 archived session is not included (hint: --archived)"),
            count => ui.warn(&format!("{count} archived sessions are not included (hint: --archived)")),
        }
    }

    /// Returns the sessions in a scope, and the directories that cannot be searched.
    pub fn find(&self, scope: &Scope) -> FoundFiles {
        match scope {
            Scope::Paths(paths) => store::find(paths, Reach::Whole),
            Scope::All => unnamed(self.folders(scope).into_iter()),
            Scope::Here => self.find_here(),
        }
    }

    /// Returns the directories that are searched, and the files that were given.
    pub fn folders(&self, scope: &Scope) -> Vec<PathBuf> {
        match scope {
            Scope::Paths(paths) => paths.clone(),
            Scope::All => self.stores.iter().map(|store| store.root.clone()).collect(),
            Scope::Here => self.stores.iter().flat_map(|store| &store.folders).cloned().collect(),
        }
    }

    fn find_here(&self) -> FoundFiles {
        let mut finding = unnamed(self.folders(&Scope::Here).into_iter());
        let flat: HashSet<_> =
            self.stores.iter().filter(|store| store.is_flat()).map(|store| &store.root).collect();
        if !flat.is_empty() {
            let mut known: HashMap<PathBuf, bool> = HashMap::default();
            finding.files.retain(|file| {
                // A sub-agent may work in another directory; that of the session that started it decides.
                let decides = file.owner.as_deref().unwrap_or(&file.path);
                let is_flat = decides.parent().is_some_and(|folder| flat.contains(&folder.to_owned()));
                !is_flat || *known.entry(decides.to_owned()).or_insert_with(|| self.is_of_project(decides))
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
        absolute(&cwd.to_string_lossy(), self.here())
    }
}

/// Whether a file is a session, or cannot be read, so that this is unknown.
fn may_be_session(path: &Path) -> bool {
    let is_other = |file: Glance| matches!(read_header(&file), Err(LoadError::NotASession { .. }));
    !Glance::open(path).is_ok_and(is_other)
}

/// Returns the header of a session or an archive, if it can be read.
fn header(path: &Path) -> Option<Header> {
    let session = || read_header(&Glance::open(path).ok()?).ok();
    facts(path).map(|facts| facts.header).or_else(session)
}

/// Returns what an archive records of its session, if it is one that can be read.
fn facts(path: &Path) -> Option<Facts> {
    let archive = Archive::read(&Glance::open(path).ok()?).ok()??;
    Facts::read(archive.head()).ok()
}

/// The end of the name of an archive, after that of the session.
const ARCHIVED: &str = ".zst";

/// Whether a path has the name of an archive.
pub fn is_archive(path: &Path) -> bool {
    path.as_os_str().as_encoded_bytes().ends_with(ARCHIVED.as_bytes())
}

/// The disk without the settings of one project.
struct WithoutSettings<'a>(&'a Path);

impl Disk for WithoutSettings<'_> {
    fn text(&self, path: &Path) -> Option<Vec<u8>> {
        if path.parent()?.parent()? == self.0 { None } else { OnDisk.text(path) }
    }

    fn exists(&self, path: &Path) -> bool {
        OnDisk.exists(path)
    }

    fn real(&self, path: &Path) -> PathBuf {
        OnDisk.real(path)
    }
}

/// Returns the stores of both agents as seen from a project that a session records, with their real paths. The
/// settings of that project are not read, unless it is the current directory: a path in a session may be anyone's.
pub fn stores_seen_from_recorded(project: &Path, ui: &Ui) -> Vec<Store> {
    if project == ui.folder() {
        stores_seen_from(project, ui)
    } else {
        real_stores(project, &WithoutSettings(project), ui)
    }
}

/// Returns the stores of both agents as seen from a project that the user named, with their real paths.
pub fn stores_seen_from(project: &Path, ui: &Ui) -> Vec<Store> {
    real_stores(project, &OnDisk, ui)
}

fn real_stores(project: &Path, disk: &dyn Disk, ui: &Ui) -> Vec<Store> {
    let home = ui.home().map(PathBuf::from);
    let env = |name: &str| ui.env(name);
    let mut stores =
        stores(Surroundings { env: &env, here: Here { home: home.as_deref(), folder: project } }, disk);
    for store in &mut stores {
        let root = OnDisk.real(&store.root);
        for folder in &mut store.folders {
            if let Ok(name) = folder.strip_prefix(&store.root) {
                *folder = root.iter().chain(name).collect();
            }
        }
        store.root = root;
    }
    stores
}

/// Refuses to change all sessions below a directory that is too far up: the root, a home directory, or any directory
/// above an agent's store.
///
/// # Errors
/// If it is such a directory.
fn refuse_sweep(folder: &Path, ui: &Ui) -> Result<(), Failure> {
    let real = ui.absolute(folder);
    let home = ui.home().map(|home| ui.absolute(Path::new(&home)));
    let stores: Vec<_> = Places::of(ui).stores.into_iter().map(|store| ui.absolute(&store.root)).collect();
    let is_home = |agent: &str| real.join(agent).join("agent").is_dir();
    let what = match () {
        () if real.parent().is_none() => "the root directory",
        () if home.is_some_and(|home| home.starts_with(&real)) => "the home directory, or above it",
        () if [".pi", ".omp"].into_iter().any(is_home) => "a home directory",
        () if stores.iter().any(|store| *store != real && store.starts_with(&real)) => {
            "above an agent's store"
        }
        () => return Ok(()),
    };
    Err(Failure::cannot(format_args!(
        "-r would change every session below {}, which is {what}",
        folder.display()
    ))
    .hint("list them with -n; name a directory further down, or use --force"))
}

/// Returns how far a change reaches below the directories in its arguments.
///
/// # Errors
/// If it would reach too far down from one of them ([`refuse_sweep`]), and `force` is not given.
pub fn reach_of_change(
    arguments: &[PathBuf],
    recursive: bool,
    force: bool,
    ui: &Ui,
) -> Result<Reach, Failure> {
    if recursive && !force {
        arguments.iter().try_for_each(|path| refuse_sweep(path, ui))?;
    }
    Ok(if recursive { Reach::Visible } else { Reach::Own })
}

/// Printed if a plan contains sessions that the change itself would leave out.
pub const NEEDS_RECURSION: &str = "some of these are in subdirectories, which need -r to be changed";

/// Whether a session is in a subdirectory of a directory in the arguments.
pub fn is_below(arguments: &[PathBuf], session: impl AsRef<Path>) -> bool {
    let session = session.as_ref();
    let is_deep = |folder: &PathBuf| session != folder && session.parent() != Some(folder);
    arguments.iter().any(|folder| session.starts_with(folder) && is_deep(folder))
}

/// Returns the sessions that arguments name: by file, name or directory. Reports the directories whose subdirectories are
/// not searched.
pub fn expanded(arguments: &[PathBuf], reach: Reach, ui: &mut Ui) -> FoundSessions {
    named_by(arguments, reach, true, ui)
}

/// Does the same; `is_strict` sets whether a subdirectory that cannot be searched is a failure.
fn named_by(arguments: &[PathBuf], reach: Reach, is_strict: bool, ui: &mut Ui) -> FoundSessions {
    let (mut paths, mut streams, mut by_name, mut unknown) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for argument in arguments {
        match named(argument, ui) {
            Ok(named) if named.path == Path::new("-") => streams.push(named.path),
            Ok(named) => {
                by_name.extend(named.by_name.then(|| named.path.clone()));
                paths.push(named.path);
            }
            Err(failure) => unknown.push(failure.path(argument.to_string_lossy())),
        }
    }
    let mut found = store::find(&paths, reach);
    let of_projects = (reach == Reach::Whole).then(|| of_projects(&paths, &found.files, ui)).flatten();
    let is_of_projects = of_projects.is_some();
    found.files = of_projects.unwrap_or(found.files);
    unknown.extend(failures(found.troubles, is_strict, ui));
    if found.files.is_empty() && unknown.is_empty() && (streams.is_empty() || !paths.is_empty()) {
        warn_of_none(&paths, reach, ui);
    }
    for folder in found.shallow {
        ui.warn(&format!("{}: subdirectories are left out (hint: -r includes them)", folder.display()));
    }
    if is_of_projects {
        paths = found.files.iter().map(|file| file.path.clone()).collect();
    }
    let mut files: Vec<_> =
        streams.into_iter().map(|path| FoundFile { path, owner: None, named: true }).collect();
    files.extend(found.files);
    FoundSessions { files, by_name, failures: unknown, scope: Scope::Paths(paths) }
}

/// Returns the failures for the paths that a search could not read; only notes are printed for those below them, unless
/// `is_strict` is set.
pub fn failures(troubles: Vec<Trouble>, is_strict: bool, ui: &mut Ui) -> Vec<Failure> {
    let mut failures = Vec::new();
    for trouble in troubles {
        match trouble {
            Trouble::Unreadable { error, named } if named || is_strict => failures.push(error.into()),
            trouble => ui.warn(&trouble.to_string()),
        }
    }
    failures
}

/// Returns the sessions in the stores that belong to directories, if these are projects, and none of the files `found` in
/// them is a session. Reports them: a directory in an argument otherwise means the files in it.
fn of_projects(folders: &[PathBuf], found: &[FoundFile], ui: &mut Ui) -> Option<Vec<FoundFile>> {
    if found.iter().any(|file| file.named || may_be_session(&file.path)) {
        return None;
    }
    let mut files = Vec::new();
    for folder in folders.iter().filter(|path| path.is_dir()) {
        let found = Places::seen_from(&ui.absolute(folder), ui).find(&Scope::Here).files;
        if !found.is_empty() {
            ui.warn(&format!("{}: the sessions of this project, from the agents' stores", folder.display()));
        }
        files.extend(found);
    }
    Some(files).filter(|files| !files.is_empty())
}

/// Reports that directories contain no sessions and, for what searches the stores as well, are no projects with sessions.
fn warn_of_none(folders: &[PathBuf], reach: Reach, ui: &mut Ui) {
    let place = match folders {
        [folder] if reach == Reach::Whole => {
            format!(" in {}, and no sessions of that directory in the stores", folder.display())
        }
        _ => String::new(),
    };
    ui.warn(&format!(
        "no *.jsonl files found{place} (hint: `pisess list --all` lists the sessions of all projects)"
    ));
}

/// Returns the directories of both agents that contain the sessions of all projects, as far as they exist.
pub fn everything(ui: &Ui) -> Vec<PathBuf> {
    Places::of(ui).roots().into_iter().filter(|root| root.exists()).collect()
}

/// Returns the files below directories that were not given by the user; missing directories are skipped.
fn unnamed(folders: impl Iterator<Item = PathBuf>) -> FoundFiles {
    let folders: Vec<_> = folders.filter(|folder| folder.exists()).collect();
    let mut finding = store::find(&folders, Reach::Whole);
    finding.troubles.iter_mut().for_each(Trouble::unnamed);
    finding
}

/// A session argument, resolved.
#[derive(Debug)]
pub struct Named {
    /// Its path.
    pub path: PathBuf,
    /// Whether it was not given as a path, but found by its name.
    pub by_name: bool,
}

/// Resolves a session argument: `-`, an existing path, or else a name. An argument in the form of a path is
/// never a name.
///
/// # Errors
/// If it is a name that matches no session, or several.
pub fn named(argument: &Path, ui: &Ui) -> Result<Named, Failure> {
    let as_path = || Named { path: argument.to_owned(), by_name: false };
    let Some(name) = argument.to_str().filter(|name| !is_spelled_as_path(name)) else {
        return Ok(as_path());
    };
    if argument.symlink_metadata().is_ok() {
        return Ok(as_path());
    }
    let found = Places::of(ui).names().find(name);
    found.map(|path| Named { path, by_name: true }).map_err(|error| unknown(error, ui))
}

/// Whether an argument can only be a path.
pub fn is_spelled_as_path(name: &str) -> bool {
    let starts = ["/", "./", "../", "~/", "\\", ".\\", "..\\", "~\\"];
    let starts = starts.iter().any(|start| name.starts_with(start)) || is_windows(name.as_bytes());
    matches!(name, "" | "-" | "." | "..") || starts || name.ends_with(".jsonl")
}

fn unknown(error: NameError, ui: &Ui) -> Failure {
    let failure = Failure::cannot(&error).hint(error.hint());
    match error {
        NameError::Unknown { name, near } if near.is_empty() && is_archived(&name, ui) => failure
            .hint(format!("it is archived: `pisess archive --restore {name}` moves it back to its store")),
        NameError::Unknown { .. } => failure.missing(),
        NameError::Ambiguous { candidates, sessions, .. } => {
            let more = sessions.saturating_sub(candidates.len());
            let more = (more > 0).then(|| format!("and {more} more"));
            let ids: HashSet<_> = candidates.iter().map(|(id, _)| id).collect();
            // Copies of a session are told apart by their paths.
            let has_copies = ids.len() < candidates.len();
            let mut rows: Vec<_> =
                candidates.iter().map(|(id, path)| candidate(id, path, has_copies, ui)).collect();
            rows.sort_by_key(|&(modified, _)| Reverse(modified));
            failure.details(rows.into_iter().map(|(_, row)| row).chain(more).collect())
        }
        NameError::NoLast { .. } => failure,
    }
}

/// Whether the name or id is that of one archived session.
fn is_archived(name: &str, ui: &Ui) -> bool {
    let archives = Places::of(ui).archived(true).unwrap_or_default();
    let known = archives.into_iter().filter_map(|path| Some(facts(&path)?.known(path)));
    choose(name, &known.collect::<Vec<_>>()).is_ok()
}

/// Returns a row for a session that a name may refer to, with the facts that `list` shows, and its path if requested; and
/// the time by which `list` sorts it.
fn candidate(id: &str, path: &Path, with_path: bool, ui: &Ui) -> (Option<i64>, String) {
    let now = Ids::new(ui).map_or_else(|_| ui.now_ms(), |ids| ids.now_ms(ui));
    let home = ui.home();
    let shown = |path: &str| below_home(path, home.as_deref());
    let place = shown(&path.to_string_lossy());
    let listed = || {
        let source = Glance::open(path).ok()?;
        alone(path, &source, source.modified_ms()).ok()
    };
    let Some(session) = listed() else { return (None, format!("{id}  {place}")) };
    let (age, project) = (age(now, session.modified), shown(&session.cwd.to_string_lossy()));
    let title = titled(&session.title(), session.messages);
    let row = format!("{age:>6}  {id}  {project}  {}", if with_path { &place } else { &title });
    (Some(session.modified), row)
}
