//! Finds session files below paths, even if some directories cannot be read.
//!
//! A search never stops at an unreadable path: the path becomes a [`SearchProblem`], and the search
//! goes on.
//!
//! A search for files that are only read goes everywhere ([`Reach::Whole`]). Hidden directories are
//! searched, because the agents' stores are hidden. Symbolic links are followed. A directory is
//! searched only once, however many links lead to it, so that the search ends.
//!
//! oh-my-pi keeps the sessions of sub-agents and advisors in a directory beside the session, with
//! the same name without `.jsonl`. [`FoundFile::owner`] of such a file is the session.

use super::error::{Action, StoreError};
use super::files::{self, DISK, FileType, Files};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

/// A session file, by path; its content has not been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundFile {
    /// Its path.
    pub path: PathBuf,
    /// The session whose sub-agent or advisor wrote it; if sub-agents are nested, the outermost
    /// session. `None` for a session of its own.
    pub owner: Option<Arc<Path>>,
    /// Whether the caller gave the path itself, and not a directory above it.
    pub is_given: bool,
}

/// A session file with its modification time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatedFile {
    /// Its path.
    pub path: PathBuf,
    /// When it was last changed.
    pub modified: SystemTime,
}

/// How far a search goes below the directories that are given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reach {
    /// Only the files that are directly in these directories, except hidden ones.
    Own,
    /// At any depth, except hidden files and directories, and directories behind symbolic links.
    /// For files that are changed.
    Visible,
    /// At any depth. For files that are only read.
    #[default]
    Whole,
}

/// The result of a search.
#[derive(Debug, Default)]
pub struct FoundFiles {
    /// The files, in the order of the given paths. The files below a given directory are sorted by
    /// path.
    pub files: Vec<FoundFile>,
    /// Paths that could not be searched, or are otherwise unusual.
    pub problems: Vec<SearchProblem>,
    /// The directories whose subdirectories were left out, because of [`Reach::Own`].
    pub shallow: Vec<PathBuf>,
}

/// A problem with one path of a search.
#[derive(Debug)]
pub struct SearchProblem {
    /// What is unusual about the path.
    pub text: String,
    /// The error, if it cannot be read.
    pub error: Option<StoreError>,
    /// Whether it is an error of a path that the caller gave.
    pub is_given: bool,
}

impl SearchProblem {
    /// A path that cannot be read.
    fn unreadable(error: StoreError, is_given: bool) -> SearchProblem {
        SearchProblem {
            text: error.to_string(),
            error: Some(error),
            is_given,
        }
    }

    /// A path that can be read, but is unusual. `what` is added to the path.
    fn note(path: &Path, what: &str) -> SearchProblem {
        SearchProblem {
            text: format!("{}: {what}", path.display()),
            error: None,
            is_given: false,
        }
    }
}

/// Finds the session files that paths refer to.
///
/// A path to a file refers to that file, whatever its name. A path to a directory refers to all
/// `*.jsonl` below it, as far as `reach` goes. Compressed rollouts of Codex are found as well,
/// except with [`Reach::Visible`], because they cannot be changed.
pub fn find(paths: &[PathBuf], reach: Reach) -> FoundFiles {
    find_with(paths, reach, |_| false)
}

/// Finds session files as [`find`] does. Of the files below directories, also those are found whose
/// own name `is_document` accepts, such as the `.json` files of other agents.
pub fn find_with(paths: &[PathBuf], reach: Reach, is_document: fn(&OsStr) -> bool) -> FoundFiles {
    let mut search = Search {
        reach,
        is_document: Some(is_document),
        ..Search::default()
    };
    for path in paths {
        search.add_path(path);
    }
    search.assign_owners();
    search.found
}

/// Finds the sessions of the sub-agents and advisors of a session: those in the directory beside
/// it, with the same name without `.jsonl`. [`FoundFile::owner`] is the session, even if it is a
/// sub-agent itself.
pub fn find_sub_agents(session: &Path) -> FoundFiles {
    let folder = session.with_extension("");
    if session.extension() != Some(OsStr::new("jsonl")) || !folder.is_dir() {
        return FoundFiles::default();
    }
    let mut found = find(&[folder], Reach::Whole);
    let owner: Arc<Path> = Arc::from(session);
    for file in &mut found.files {
        file.owner = Some(Arc::clone(&owner));
    }
    found
}

/// Returns the modification time of a file. `None` if the path is not a regular file, or cannot be
/// read.
pub fn modified(path: &Path) -> Option<SystemTime> {
    let stat = DISK.stat_at(path).ok()?;
    if stat.kind == FileType::Regular {
        Some(stat.modified)
    } else {
        None
    }
}

/// Returns the items whose paths lead to different files: of several paths of one file, which links
/// give it, only the first is kept. A path that cannot be examined is kept.
pub fn distinct_files<T>(items: Vec<T>, path_of: impl Fn(&T) -> &Path) -> Vec<T> {
    let mut known = KnownFiles::default();
    let mut distinct = Vec::new();
    for item in items {
        if known.insert(path_of(&item)) {
            distinct.push(item);
        }
    }
    distinct
}

/// A set of files. Several paths may lead to one file: links, or `x` and `./x`.
#[derive(Debug, Default)]
pub struct KnownFiles {
    /// The device and the inode of each file.
    identities: BTreeSet<(u64, u64)>,
}

impl KnownFiles {
    /// Adds the file at a path. Returns whether it is new; `true` also if the path cannot be
    /// examined.
    pub fn insert(&mut self, path: &Path) -> bool {
        match identity(path) {
            Some(identity) => self.identities.insert(identity),
            None => true,
        }
    }
}

/// Returns the device and the inode of the file at a path. `None` if it cannot be examined.
fn identity(path: &Path) -> Option<(u64, u64)> {
    let stat = DISK.stat_at(path).ok()?;
    Some((stat.device, stat.inode))
}

/// Returns the time of [`modified`] in milliseconds since 1970. `None` also for a time before 1970.
pub fn modified_ms(path: &Path) -> Option<i64> {
    ms_since_1970(modified(path)?)
}

/// Returns the time in milliseconds since 1970. `None` for a time before that.
pub(super) fn ms_since_1970(time: SystemTime) -> Option<i64> {
    let since_1970 = time.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    i64::try_from(since_1970.as_millis()).ok()
}

/// Returns the session files directly in a directory, including hidden ones, with their
/// modification times. Their order is not defined. A file or directory that cannot be read is
/// skipped: this is for stores, in which the user named no path.
pub fn session_files_in(folder: &Path) -> Vec<DatedFile> {
    let mut names = FolderNames::default();
    let no_documents = |_: &OsStr| false;
    // After an error, the names that were read before it are in `names`, and are used.
    let _ = names.read(folder, no_documents);

    let mut files = Vec::new();
    for name in names.files {
        let path = folder.join(name);
        // A link to nothing, or a file that was deleted meanwhile, has no such time.
        if let Some(modified) = modified(&path) {
            files.push(DatedFile { path, modified });
        }
    }
    files
}

/// A directory to be searched.
struct Folder {
    path: PathBuf,
    /// The session to which the files in it belong; see [`FoundFile::owner`].
    owner: Option<Arc<Path>>,
    /// Whether the caller gave its path.
    is_given: bool,
    /// Whether a symbolic link leads to it.
    is_link: bool,
}

#[derive(Default)]
struct Search {
    reach: Reach,
    /// Whether a file that does not end in `.jsonl` is found, by its name.
    is_document: Option<fn(&OsStr) -> bool>,
    found: FoundFiles,
    /// The directories that were searched, without symbolic links.
    searched_folders: BTreeSet<PathBuf>,
    /// The files that were given by their path.
    given_files: BTreeSet<PathBuf>,
    /// The given paths that may have the sub-agents of a session.
    artifacts: Vec<Artifacts>,
}

/// A given path in, or to, the directory of a session: its files may be of sub-agents.
struct Artifacts {
    /// The identity of the session's file.
    session: (u64, u64),
    /// The files of the path, as indexes of [`FoundFiles::files`].
    files: Range<usize>,
}

impl Search {
    /// Adds the files to which a given path refers. A path to a file adds the file, unless it was
    /// given before. A path to a directory adds the files in it, and in its subdirectories as far
    /// as the reach allows, sorted by path.
    ///
    /// A path that cannot be read becomes a problem of the result.
    fn add_path(&mut self, path: &Path) {
        let stat = match DISK.stat_at(path) {
            Ok(stat) => stat,
            Err(error) => {
                let error = StoreError::io(Action::Read, path, error);
                let problem = SearchProblem::unreadable(error, true);
                self.found.problems.push(problem);
                return;
            }
        };
        if stat.kind == FileType::Folder {
            self.add_given_folder(path);
        } else {
            self.add_given_file(path);
        }
    }

    /// Adds a given file, unless it was given before.
    fn add_given_file(&mut self, path: &Path) {
        let start = self.found.files.len();
        let owner = find_owner(path);
        let is_new = self.given_files.insert(path.to_owned());
        if is_new {
            self.add_file(path.to_owned(), owner.clone(), true);
        }
        if let Some(session) = owner {
            self.add_artifacts(&session, start);
        }
    }

    /// Adds the files in a given directory, and in its subdirectories as far as the reach allows,
    /// sorted by path.
    fn add_given_folder(&mut self, path: &Path) {
        let owner = find_owner(path);
        // A directory that is given alone is an ordinary one. Together with the session beside it,
        // it has the sub-agents of that session.
        let session = match &owner {
            Some(owner) => owner.to_path_buf(),
            None => session_beside(path),
        };

        let start = self.found.files.len();
        let mut unsearched = vec![Folder {
            path: path.to_owned(),
            owner,
            is_given: true,
            is_link: false,
        }];
        while let Some(folder) = unsearched.pop() {
            self.search_folder(folder, &mut unsearched);
        }
        // Without the files found before: the given paths keep their order.
        self.found.files[start..].sort_by(|a, b| a.path.as_os_str().cmp(b.path.as_os_str()));
        self.add_artifacts(&session, start);
    }

    /// Notes that the files found from `start` on are of sub-agents of `session`, if that session
    /// exists, and is found, too.
    fn add_artifacts(&mut self, session: &Path, start: usize) {
        if let Some(session) = identity(session) {
            let files = start..self.found.files.len();
            self.artifacts.push(Artifacts { session, files });
        }
    }

    /// Sets the owners of files whose session was found by another of the given paths. The session
    /// may be given first or last, and in any spelling: the owner is the path by which it was
    /// found.
    fn assign_owners(&mut self) {
        if self.artifacts.is_empty() {
            return;
        }
        let path_of_file = self.first_paths();
        for Artifacts { session, files } in &self.artifacts {
            let Some(owner) = path_of_file.get(session) else {
                continue; // The session was not found by a given path.
            };
            for file in &mut self.found.files[files.clone()] {
                // A link in the directory may lead to the session.
                if file.path != **owner {
                    file.owner = Some(Arc::clone(owner));
                }
            }
        }
    }

    /// Returns the path of each found file by its [`identity`]. If several paths of a file were
    /// found, the first one counts.
    fn first_paths(&self) -> BTreeMap<(u64, u64), Arc<Path>> {
        let mut path_of_file = BTreeMap::new();
        for file in &self.found.files {
            if let Some(identity) = identity(&file.path) {
                path_of_file
                    .entry(identity)
                    .or_insert_with(|| Arc::from(file.path.as_path()));
            }
        }
        path_of_file
    }

    /// Adds the files of a directory, and appends its subdirectories to `unsearched`.
    fn search_folder(&mut self, folder: Folder, unsearched: &mut Vec<Folder>) {
        let unreadable = |error| {
            let error = StoreError::io(Action::ReadFolder, &folder.path, error);
            SearchProblem::unreadable(error, folder.is_given)
        };
        let real_path = match files::real(&folder.path) {
            Ok(real_path) => real_path,
            Err(error) => {
                self.found.problems.push(unreadable(error));
                return;
            }
        };

        // A directory to which several paths lead is searched once.
        if self.searched_folders.contains(&real_path) {
            if folder.is_link && is_below(&folder.path, &real_path) {
                let what = "a symbolic link to a parent directory; not followed";
                let note = SearchProblem::note(&folder.path, what);
                self.found.problems.push(note);
            }
            return;
        }
        self.searched_folders.insert(real_path);

        let mut names = FolderNames::default();
        let is_document = self.is_document.unwrap_or(|_| false);
        if let Err(error) = names.read(&folder.path, is_document) {
            // Names that were read before the error are kept.
            self.found.problems.push(unreadable(error));
        }
        names.retain_within(self.reach);
        if self.reach == Reach::Own && !names.folders.is_empty() {
            names.folders.clear();
            self.found.shallow.push(folder.path.clone());
        }
        // Sorted: the binary search below needs it.
        names.files.sort();

        for Subfolder { name, is_link } in names.folders {
            let mut session = name.clone();
            session.push(".jsonl");
            let is_beside_session = names.files.binary_search(&session).is_ok();
            let owner = match &folder.owner {
                // The outermost session owns the files of all sub-agents below it.
                Some(owner) => Some(Arc::clone(owner)),
                None if is_beside_session => Some(Arc::from(folder.path.join(session))),
                None => None,
            };
            unsearched.push(Folder {
                path: folder.path.join(name),
                owner,
                is_given: false,
                is_link,
            });
        }
        for name in names.files {
            self.add_file(folder.path.join(name), folder.owner.clone(), false);
        }
    }

    /// Adds a file, and notes a problem if its name is not UTF-8. A file that was found in a
    /// directory is left out if its path was given as well, before or after the directory: each
    /// file is in the result once.
    fn add_file(&mut self, path: PathBuf, owner: Option<Arc<Path>>, is_given: bool) {
        if path.to_str().is_none() {
            let note = SearchProblem::note(&path, "the name is not UTF-8");
            self.found.problems.push(note);
        }
        if !is_given && self.given_files.contains(&path) {
            return;
        }
        self.found.files.push(FoundFile {
            path,
            owner,
            is_given,
        });
    }
}

/// Whether a name begins with a dot.
fn is_hidden(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(b".")
}

/// Whether a file has the name of a session: `*.jsonl`, or `rollout-*.jsonl.zst`, the name of a
/// compressed rollout of Codex.
fn is_session_name(name: &OsStr) -> bool {
    if is_compressed_rollout(name) {
        return true;
    }
    Path::new(name).extension() == Some(OsStr::new("jsonl"))
}

/// Whether a file has the name of a compressed rollout of Codex.
fn is_compressed_rollout(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    name.starts_with(b"rollout-") && name.ends_with(b".jsonl.zst")
}

/// Whether a link is in the directory `real_folder` or below it, so that a link to that directory
/// leads upwards.
fn is_below(link: &Path, real_folder: &Path) -> bool {
    let Some(parent) = link.parent() else {
        return false;
    };
    match files::real(parent) {
        Ok(real_parent) => real_parent.starts_with(real_folder),
        Err(_) => false,
    }
}

/// The names in a directory.
#[derive(Default)]
struct FolderNames {
    /// The names of session files.
    files: Vec<OsString>,
    folders: Vec<Subfolder>,
}

struct Subfolder {
    name: OsString,
    /// Whether it is a symbolic link to a directory.
    is_link: bool,
}

impl FolderNames {
    /// Adds the names in a directory: of session files, of files for which `is_document` returns
    /// `true`, and of subdirectories. After an error, the names that were read before it are kept.
    fn read(&mut self, folder: &Path, is_document: fn(&OsStr) -> bool) -> std::io::Result<()> {
        for entry in std::fs::read_dir(folder)? {
            let entry = entry?;
            let name = entry.file_name();
            // A file that was deleted meanwhile has no type.
            let Ok(own_type) = entry.file_type() else {
                continue;
            };
            let is_link = own_type.is_symlink();
            let target_type = if is_link {
                let target = std::fs::metadata(entry.path());
                target.map(|target| target.file_type()).ok()
            } else {
                Some(own_type)
            };

            let is_folder = target_type.is_some_and(|target| target.is_dir());
            // A link to nothing counts as a file, so that opening it reports the error.
            let is_file = target_type.is_none_or(|target| target.is_file());
            if is_folder {
                self.folders.push(Subfolder { name, is_link });
            } else if is_file && (is_session_name(&name) || is_document(&name)) {
                self.files.push(name);
            }
        }
        Ok(())
    }

    /// Removes the names that a search with this reach does not go to: hidden files and
    /// directories, and links to directories, unless the reach is [`Reach::Whole`].
    ///
    /// Other subdirectories stay, even for [`Reach::Own`], which does not search them: the caller
    /// reports that it skips them.
    fn retain_within(&mut self, reach: Reach) {
        if reach == Reach::Whole {
            return;
        }
        self.files.retain(|name| !is_hidden(name));
        self.folders
            .retain(|subfolder| !subfolder.is_link && !is_hidden(&subfolder.name));
        // This reach is for files that are changed, and what is compressed cannot be changed.
        if reach == Reach::Visible {
            self.files.retain(|name| !is_compressed_rollout(name));
        }
    }
}

/// Returns the outermost session in whose directory of artifacts a path is: for
/// `…/a/b/agent.jsonl`, the session `…/a.jsonl` if it exists, or else `…/a/b.jsonl`.
fn find_owner(path: &Path) -> Option<Arc<Path>> {
    let mut owner = None;
    // From the innermost directory outwards, so that the last session found is the outermost one.
    for folder in path.ancestors().skip(1) {
        // The root and `..` have no name. What is before `..` is not above the path: `s/../s.jsonl`
        // is not in `s`.
        if folder.file_name().is_none() {
            break;
        }
        let session = session_beside(folder);
        if modified(&session).is_some() {
            owner = Some(session);
        }
    }
    owner.map(Arc::from)
}

/// Returns the path of the session whose sub-agents are in a directory: of `a/s/` or `a/s`, it is
/// `a/s.jsonl`.
fn session_beside(folder: &Path) -> PathBuf {
    // The components leave out a slash at the end.
    with_suffix(folder.components().as_path(), ".jsonl")
}

/// Returns the paths in a directory, sorted.
pub fn paths_in(folder: &Path) -> Result<Vec<PathBuf>, StoreError> {
    let failed = |error| StoreError::io(Action::ReadFolder, folder, error);
    let mut paths = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        paths.push(entry.map_err(failed)?.path());
    }
    paths.sort();
    Ok(paths)
}

/// Returns the path with `suffix` appended to its name.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with empty files of these names.
    fn folder_with(names: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for path in names.iter().map(|name| folder.path().join(name)) {
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        }
        folder
    }

    fn paths(found: &FoundFiles, root: &Path) -> Vec<String> {
        let relative = |path: &Path| path.strip_prefix(root).unwrap().display().to_string();
        let owned = |file: &FoundFile| {
            file.owner
                .as_deref()
                .map(|owner| format!(" of {}", relative(owner)))
        };
        found
            .files
            .iter()
            .map(|file| {
                format!(
                    "{}{}",
                    relative(&file.path),
                    owned(file).unwrap_or_default()
                )
            })
            .collect()
    }

    fn problems(found: &FoundFiles, root: &Path) -> Vec<String> {
        let root = format!("{}/", root.display());
        found
            .problems
            .iter()
            .map(|problem| problem.text.replace(&root, ""))
            .collect()
    }

    #[test]
    fn folders_are_searched_to_their_ends_and_hidden_ones_too() {
        let names = [
            "b.jsonl",
            "a.jsonl",
            ".hidden/--x--/c.jsonl",
            "d/e/f/g.jsonl",
            "h.txt",
            "d/.i.jsonl",
        ];
        let folder = folder_with(&names);
        let root = folder.path();
        let found = find(&[root.to_owned()], Reach::Whole);
        assert_eq!(
            paths(&found, root),
            [
                ".hidden/--x--/c.jsonl",
                "a.jsonl",
                "b.jsonl",
                "d/.i.jsonl",
                "d/e/f/g.jsonl"
            ]
        );
        assert!(found.problems.is_empty());
    }

    #[test]
    fn a_change_reaches_less() {
        let names = [
            "a.jsonl",
            ".h.jsonl",
            "b.txt",
            "deep/c.jsonl",
            "deep/er/d.jsonl",
            ".hidden/e.jsonl",
        ];
        let folder = folder_with(&names);
        let root = folder.path();
        #[cfg(unix)]
        std::os::unix::fs::symlink("deep", root.join("linked")).unwrap();
        let own = find(&[root.to_owned()], Reach::Own);
        assert_eq!(
            (paths(&own, root), own.shallow),
            (vec!["a.jsonl".to_owned()], vec![root.to_owned()])
        );
        let visible = find(&[root.to_owned()], Reach::Visible);
        assert_eq!(
            paths(&visible, root),
            ["a.jsonl", "deep/c.jsonl", "deep/er/d.jsonl"]
        );
        assert!(visible.shallow.is_empty());
        // What is given is searched, even if it is hidden or a link.
        assert_eq!(
            paths(&find(&[root.join(".hidden")], Reach::Visible), root),
            [".hidden/e.jsonl"]
        );
        #[cfg(unix)]
        assert_eq!(
            paths(&find(&[root.join("linked")], Reach::Own), root),
            ["linked/c.jsonl"]
        );
    }

    #[test]
    fn files_of_sub_agents_belong_to_the_outermost_session() {
        let folder = folder_with(&[
            "s.jsonl",
            "s/1.jsonl",
            "s/1/2.jsonl",
            "s/__advisor.jsonl",
            "t/1.jsonl",
        ]);
        let root = folder.path();
        let found = find(&[root.to_owned()], Reach::Whole);
        let of_s = [
            "s/1.jsonl of s.jsonl",
            "s/1/2.jsonl of s.jsonl",
            "s/__advisor.jsonl of s.jsonl",
        ];
        let mut wanted = vec!["s.jsonl", "t/1.jsonl"];
        wanted.splice(1..1, of_s);
        assert_eq!(paths(&found, root), wanted);
        for below in ["s/1/2.jsonl", "s/1"] {
            let found = find(&[root.join(below)], Reach::Whole);
            assert_eq!(paths(&found, root), ["s/1/2.jsonl of s.jsonl"], "{below}");
        }
    }

    #[test]
    fn a_directory_given_with_its_session_belongs_to_it() {
        let folder = folder_with(&["s.jsonl", "s/1.jsonl", "s/1/2.jsonl", "s/t/3.jsonl"]);
        let root = folder.path();
        for (session, artifacts) in [
            ("s.jsonl", "s"),
            ("s.jsonl", "s/"),
            ("./s.jsonl", "s"),
            ("s.jsonl", "./s"),
            ("s/../s.jsonl", "s"),
            ("./s.jsonl", "s/1.jsonl"),
            ("s/../s.jsonl", "s/t"),
            (".", "s"),
        ] {
            let session = root.join(session);
            let artifacts = root.join(artifacts);
            for given in [[&session, &artifacts], [&artifacts, &session]] {
                let found = find(&given.map(PathBuf::clone), Reach::Whole);
                let owner = found.files.iter().find(|file| file.owner.is_none());
                let owner = owner.unwrap().path.clone();
                assert!(owner.ends_with("s.jsonl"), "{given:?}: {owner:?}");
                for file in found.files {
                    let is_owner = file.path == owner;
                    let wanted = (!is_owner).then_some(&*owner);
                    assert_eq!(file.owner.as_deref(), wanted, "{given:?}");
                }
            }
        }
        // Alone, it is an ordinary directory.
        let found = find(&[root.join("s/")], Reach::Whole);
        assert_eq!(
            paths(&found, root),
            ["s/1.jsonl", "s/1/2.jsonl of s/1.jsonl", "s/t/3.jsonl"]
        );
    }

    #[test]
    fn find_returns_a_path_given_twice_once() {
        let folder = folder_with(&["a.jsonl", "b.jsonl"]);
        let root = folder.path();
        let found = find(
            &[
                root.join("b.jsonl"),
                root.to_owned(),
                root.join("b.jsonl"),
                root.to_owned(),
            ],
            Reach::Whole,
        );
        assert_eq!(paths(&found, root), ["b.jsonl", "a.jsonl"]);
        assert!(found.files[0].is_given && !found.files[1].is_given);
    }

    #[test]
    fn find_reports_a_missing_path_as_a_problem() {
        let folder = folder_with(&["a.jsonl"]);
        let root = folder.path();
        let found = find(&[root.join("none"), root.to_owned()], Reach::Whole);
        assert_eq!(paths(&found, root), ["a.jsonl"]);
        assert_eq!(
            problems(&found, root),
            ["cannot read none: no such file or directory"]
        );
        assert!(found.problems[0].is_given && found.problems[0].error.is_some());
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_and_loops_end() {
        use std::os::unix::fs::symlink;
        let folder = folder_with(&["a/s.jsonl"]);
        let root = folder.path();
        symlink(root, root.join("a/up")).unwrap();
        symlink(root.join("a"), root.join("b")).unwrap();
        symlink(root.join("a/s.jsonl"), root.join("t.jsonl")).unwrap();
        symlink(root.join("gone"), root.join("u.jsonl")).unwrap();
        symlink("self", root.join("self")).unwrap();
        let found = find(&[root.to_owned()], Reach::Whole);
        let files = paths(&found, root);
        assert_eq!(files.len(), 3, "{files:?}");
        assert!(
            files[0].ends_with("/s.jsonl") && files[1..] == ["t.jsonl", "u.jsonl"],
            "{files:?}"
        );
        let notes = problems(&found, root);
        assert_eq!(notes.len(), 1, "{notes:?}");
        assert!(notes[0].ends_with("a symbolic link to a parent directory; not followed"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn names_that_are_not_utf8_are_found_and_noted() {
        use std::os::unix::ffi::OsStrExt;
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        std::fs::write(root.join(OsStr::from_bytes(b"a\xff.jsonl")), "").unwrap();
        let found = find(&[root.to_owned()], Reach::Whole);
        assert_eq!(found.files.len(), 1);
        assert_eq!(
            problems(&found, root),
            ["a\u{fffd}.jsonl: the name is not UTF-8"]
        );
    }

    #[test]
    fn files_with_other_names_are_found_if_asked_for() {
        let folder = folder_with(&["a.jsonl", "b.json", "deep/ses_1.json", "ses_2.txt"]);
        let root = folder.path();
        let is_document = |name: &OsStr| {
            let name = name.to_str().unwrap();
            name.starts_with("ses_") && name.ends_with(".json")
        };
        let found = find_with(&[root.to_owned()], Reach::Whole, is_document);
        assert_eq!(paths(&found, root), ["a.jsonl", "deep/ses_1.json"]);
    }
}
