//! Opens the files of other agents. A file of Codex, a rollout, is opened together with the other
//! rollouts of its thread, and with the bases from which the thread was forked.

use crate::cli::opencode;
use crate::cli::output::{Failure, to_visible};
use crate::import::{HistoryBase, JoinedSource, Origin, RolloutName, read_document};
use foldhash::{HashMap, HashSet};
use pisess_store::{self as store, FoundFile, Opened, Reach, ReadAt, StoreError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Opens a file of another agent. Codex compresses old rollouts: such a file is decompressed into
/// memory or, beyond a limit, into a temporary file.
pub fn open_source(path: &Path) -> Result<Opened, StoreError> {
    store::open(path, begins_as_foreign)
}

/// Detects which agent wrote a file. `None` if none of the other agents did. A pipe is not
/// examined, because it can be read only once: it counts as none of theirs.
///
/// # Errors
/// If the file cannot be read.
pub fn detect_file(path: &Path) -> Result<Option<Origin>, Failure> {
    if is_pipe(path) {
        return Ok(None);
    }
    let file = open_source(path)?;
    Origin::detect(&file)
        .map_err(|error| Failure::from_read_error(&to_visible(&path.to_string_lossy()), error))
}

/// Whether a path leads to something that can be read only once, such as a FIFO.
pub fn is_pipe(path: &Path) -> bool {
    path.metadata().is_ok_and(|metadata| !metadata.is_file())
}

/// Whether the start of a file contains a line of another agent.
fn begins_as_foreign(start: &[u8]) -> bool {
    matches!(Origin::detect(&start.to_vec()), Ok(Some(_)))
}

/// The directories of Codex that contain rollouts.
const STORE_FOLDERS: [&str; 2] = ["sessions", "archived_sessions"];

/// A cache of the rollouts in each store. A store is searched once, when the first of its files is
/// opened.
#[derive(Default)]
pub struct Rollouts {
    by_store: Mutex<HashMap<PathBuf, Arc<Vec<Rollout>>>>,
}

#[derive(Clone)]
struct Rollout {
    name: RolloutName,
    path: PathBuf,
}

/// A part of another thread that precedes the first rollout of a thread.
struct Inherited {
    file: Opened,
    /// The number of bytes of the file that the thread inherits.
    end: u64,
    rollout_id: String,
}

impl Rollouts {
    /// Opens the source to which a file belongs, as one sequence of lines.
    ///
    /// A conversation of Codex (a thread) is written to several files (rollouts): see
    /// [`open_thread`]. Any other file is the whole source.
    ///
    /// # Errors
    /// If one of the source's files cannot be read. A base that is missing or too short is no
    /// error: it is left out together with the bases before it, and the import reports that.
    pub fn open(&self, path: &Path) -> Result<JoinedSource, Failure> {
        let file = open_source(path)?;
        let Some(name) = RolloutName::parse(path) else {
            return open_single(file, path);
        };
        let stored = self.find_near(path);
        let given = Rollout {
            name,
            path: path.to_owned(),
        };
        let thread = list_thread(given, &stored);
        open_thread(&thread, &stored)
    }

    /// Returns the session that started the sub-agent in `file`. `id` is the id of that session. In
    /// Codex, it is the last rollout of the thread `id`; in OpenCode, it is a file beside `file`.
    /// `None` if it is not in the same store.
    pub fn find_owner(&self, file: &Path, id: &str) -> Option<PathBuf> {
        let beside = file.with_file_name(format!("{id}.json"));
        if beside.is_file() {
            return Some(beside);
        }
        self.find_last_of_thread(file, id)
    }

    /// Returns the last rollout of a thread in the store of `file`; `None` if there is none.
    fn find_last_of_thread(&self, file: &Path, thread: &str) -> Option<PathBuf> {
        let stored = self.find_near(file);
        let mut rollouts: Vec<Rollout> = stored
            .iter()
            .filter(|rollout| rollout.name.thread_id == thread)
            .cloned()
            .collect();
        rollouts.sort_by(|left, right| left.name.cmp(&right.name));
        find_last_readable(&rollouts).map(|last| last.path.clone())
    }

    /// Returns the rollouts in the store of a file. If the file is in no store, returns the
    /// rollouts in its directory.
    ///
    /// Each place is searched only once. Other threads wait for that search, because the lock is
    /// held meanwhile.
    fn find_near(&self, path: &Path) -> Arc<Vec<Rollout>> {
        let store_root = store_root_above(path);
        let place = store_root.or(path.parent()).unwrap_or(Path::new(""));
        let mut by_store = self.by_store.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = by_store.get(place) {
            return Arc::clone(known);
        }
        let found_files = match store_root {
            Some(root) => find_in_store(root),
            None => find_beside(place),
        };
        let rollouts = Arc::new(retain_rollouts(found_files));
        by_store.insert(place.to_owned(), Arc::clone(&rollouts));
        rollouts
    }
}

/// Returns the files in the directories of a store of Codex.
fn find_in_store(root: &Path) -> Vec<FoundFile> {
    let mut folders = STORE_FOLDERS.map(|name| root.join(name)).to_vec();
    folders.retain(|folder| folder.is_dir());
    store::find(&folders, Reach::Whole).files
}

/// Returns the files in a directory, without its subdirectories.
fn find_beside(folder: &Path) -> Vec<FoundFile> {
    // `store::find` ignores an empty path, so the current directory is `.`.
    let folder = Path::new(".").join(folder);
    store::find(&[folder], Reach::Own).files
}

/// Opens a thread: first what it inherits, if it was forked, which are parts of other threads; then
/// its own rollouts, in the order in which they were written. `stored` are the rollouts among which
/// the inherited ones are searched for.
fn open_thread(thread: &[Rollout], stored: &[Rollout]) -> Result<JoinedSource, Failure> {
    let mut source = JoinedSource::default();
    for (index, rollout) in thread.iter().enumerate() {
        let file = open_source(&rollout.path)?;
        let base = read_base(&file, &rollout.path)?;
        // The base of the first rollout is in another thread. The base of a later one is a rollout
        // before it, which is in the source already.
        let is_first = index == 0;
        if is_first && let Some(base) = &base {
            for part in find_inherited(base, stored)? {
                source.push_inherited(Box::new(part.file), part.end, &part.rollout_id);
            }
        }
        source.push_own(Box::new(file), base.as_ref(), &rollout.name.rollout_id);
    }
    Ok(source)
}

/// Opens a source that consists of one file. A file with a single JSON object is converted to
/// lines.
fn open_single(file: Opened, path: &Path) -> Result<JoinedSource, Failure> {
    let stored_session = opencode::read_storage(&file, path)?;
    let document = match &stored_session {
        Some(export) => read_document(export),
        None => read_document(&file),
    };
    let document = document
        .map_err(|error| Failure::from_read_error(&to_visible(&path.to_string_lossy()), error))?;
    Ok(document.unwrap_or_else(|| JoinedSource::single(Box::new(file))))
}

/// Returns the root of the store that contains a file: the parent of its nearest ancestor with the
/// name `sessions` or `archived_sessions`. `None` if it has no such ancestor.
fn store_root_above(path: &Path) -> Option<&Path> {
    for folder in path.ancestors() {
        let name = folder.file_name().unwrap_or_default();
        if STORE_FOLDERS.iter().any(|known| name == *known) {
            return folder.parent();
        }
    }
    None
}

/// Returns the files that have the name of a rollout, as rollouts.
fn retain_rollouts(files: Vec<FoundFile>) -> Vec<Rollout> {
    let mut rollouts = Vec::new();
    for file in files {
        if let Some(name) = RolloutName::parse(&file.path) {
            rollouts.push(Rollout {
                name,
                path: file.path,
            });
        }
    }
    rollouts
}

/// Returns the rollouts that are in the same thread as `given`, in the order in which they were
/// written: `given` itself, and those of `stored`.
///
/// A rollout may have copies, such as one in an archive, with the same rollout id in their names.
/// Only one of them is returned: `given`, or else the first one in `stored`.
fn list_thread(given: Rollout, stored: &[Rollout]) -> Vec<Rollout> {
    let thread_id = given.name.thread_id.clone();
    let mut known_ids = HashSet::default();
    known_ids.insert(given.name.rollout_id.clone());

    let mut thread = vec![given];
    for rollout in stored {
        if rollout.name.thread_id != thread_id {
            continue;
        }
        let is_copy = !known_ids.insert(rollout.name.rollout_id.clone());
        if !is_copy {
            thread.push(rollout.clone());
        }
    }
    // Names sort by the time in them.
    thread.sort_by(|left, right| left.name.cmp(&right.name));
    thread
}

/// Opens the rollouts that a forked thread inherits from: the one that its first base names, the
/// one that the base of that rollout names, and so on. A base has the id of a rollout, and `end`,
/// the number of its first bytes that are inherited.
///
/// Stops at a base whose rollout is missing, has fewer bytes, or was opened before. The oldest
/// rollout is first in the result.
fn find_inherited(first_base: &HistoryBase, stored: &[Rollout]) -> Result<Vec<Inherited>, Failure> {
    let mut inherited = Vec::new();
    let mut seen_ids = HashSet::default();
    let mut next_base = Some(first_base.clone());
    while let Some(HistoryBase { rollout_id, end }) = next_base {
        let named_rollout = stored
            .iter()
            .find(|rollout| rollout.name.rollout_id == rollout_id);
        let Some(rollout) = named_rollout else {
            break;
        };
        let file = open_source(&rollout.path)?;
        if end > file.len() {
            break;
        }
        let forms_cycle = !seen_ids.insert(rollout_id.clone());
        if forms_cycle {
            break;
        }

        next_base = read_base(&file, &rollout.path)?;
        inherited.push(Inherited {
            file,
            end,
            rollout_id,
        });
    }
    // The newest rollout was found first.
    inherited.reverse();
    Ok(inherited)
}

fn read_base(file: &Opened, path: &Path) -> Result<Option<HistoryBase>, Failure> {
    HistoryBase::read(file)
        .map_err(|error| Failure::from_read_error(&to_visible(&path.to_string_lossy()), error))
}

/// Keeps only the last readable rollout of each thread, because it represents the whole thread. Of
/// a rollout that exists compressed and uncompressed, keeps the latter.
///
/// Files that the user named are kept as well, and all files that are not rollouts. If no rollout
/// of a thread can be read, all of them are kept, so that reading them reports the failures.
pub fn retain_last_rollouts(files: &mut Vec<FoundFile>) {
    drop_compressed_copies(files);
    let last_of_thread = find_last_of_threads(files);
    files.retain(|file| {
        if file.is_given {
            return true;
        }
        let Some(name) = RolloutName::parse(&file.path) else {
            return true;
        };
        match last_of_thread.get(&name.thread_id) {
            Some(last) => last.rollout_id == name.rollout_id,
            // None of the rollouts can be read.
            None => true,
        }
    });
}

/// Returns the last readable rollout of each thread, by the id of the thread.
fn find_last_of_threads(files: &[FoundFile]) -> HashMap<String, RolloutName> {
    let mut threads: HashMap<String, Vec<Rollout>> = HashMap::default();
    for file in files {
        if let Some(name) = RolloutName::parse(&file.path) {
            let path = file.path.clone();
            let thread = threads.entry(name.thread_id.clone()).or_default();
            thread.push(Rollout { name, path });
        }
    }

    let mut last_of_thread = HashMap::default();
    for (thread, mut rollouts) in threads {
        rollouts.sort_by(|left, right| left.name.cmp(&right.name));
        if let Some(last) = find_last_readable(&rollouts) {
            last_of_thread.insert(thread, last.name.clone());
        }
    }
    last_of_thread
}

/// Removes compressed files that also exist uncompressed. Codex leaves both if it is interrupted
/// after writing the one, and before removing the other.
fn drop_compressed_copies(files: &mut Vec<FoundFile>) {
    let mut plain_paths = HashSet::default();
    for file in files.iter() {
        plain_paths.insert(file.path.clone());
    }
    files.retain(|file| {
        let is_compressed = file.path.extension().is_some_and(|end| end == "zst");
        file.is_given || !is_compressed || !plain_paths.contains(&file.path.with_extension(""))
    });
}

/// Returns the last rollout of a thread that begins like a rollout, because a crash may leave an
/// empty file. If none does, returns the last one. A single rollout is returned without reading it.
fn find_last_readable(in_order: &[Rollout]) -> Option<&Rollout> {
    let last = in_order.last()?;
    if in_order.len() == 1 {
        return Some(last);
    }
    let begins_as_rollout =
        |rollout: &&Rollout| matches!(detect_file(&rollout.path), Ok(Some(Origin::Codex)));
    in_order.iter().rev().find(begins_as_rollout).or(Some(last))
}
