//! Opens the files of other agents, and with a rollout of Codex those that belong to it: the other
//! rollouts of its thread, and the base from which it was forked.

use crate::cli::opencode;
use crate::cli::output::{Failure, to_visible};
use crate::import::{HistoryBase, JoinedSource, Origin, RolloutName, read_document};
use foldhash::{HashMap, HashSet};
use pisess_store::{self as store, FoundFile, Opened, Reach, ReadAt, StoreError};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Opens a file of another agent. Codex compresses older rollouts: such a file is decompressed, in
/// memory up to a limit, and beyond that in a temporary file.
pub fn open_source(path: &Path) -> Result<Opened, StoreError> {
    store::open(path, begins_as_foreign)
}

/// Finds out which agent wrote a file: `None` if it was none of the other agents.
///
/// # Errors
/// If the file cannot be read.
pub fn detect_file(path: &Path) -> Result<Option<Origin>, Failure> {
    let file = open_source(path)?;
    Origin::detect(&file)
        .map_err(|error| Failure::from_read_error(&to_visible(&path.to_string_lossy()), error))
}

/// Whether the first bytes of a file contain a line of another agent.
fn begins_as_foreign(start: &[u8]) -> bool {
    matches!(Origin::detect(&start.to_vec()), Ok(Some(_)))
}

/// The directories of Codex that have rollouts.
const STORE_FOLDERS: [&str; 2] = ["sessions", "archived_sessions"];

/// The rollouts that were found. Each store is searched once, when a file of it is opened.
#[derive(Default)]
pub struct Rollouts {
    by_store: Mutex<HashMap<PathBuf, Arc<Vec<Rollout>>>>,
}

#[derive(Clone)]
struct Rollout {
    name: RolloutName,
    path: PathBuf,
}

/// What precedes the first rollout of a thread.
struct Inherited {
    file: Opened,
    /// The number of its bytes that the thread inherits.
    end: u64,
    rollout_id: String,
}

impl Rollouts {
    /// Opens the source that a file belongs to.
    ///
    /// # Errors
    /// If one of its files cannot be read. A base that is missing or too short is left out, with
    /// those before it; the import reports this.
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

        let mut source = JoinedSource::default();
        for (index, rollout) in thread.iter().enumerate() {
            let file = open_source(&rollout.path)?;
            let base = read_base(&file, &rollout.path)?;
            if index == 0
                && let Some(base) = &base
            {
                for part in find_inherited(base, &stored)? {
                    source.push_inherited(Box::new(part.file), part.end, &part.rollout_id);
                }
            }
            source.push_own(Box::new(file), base.as_ref(), &rollout.name.rollout);
        }
        Ok(source)
    }

    /// Returns the session that started the one in a file as a sub-agent, if it is in the same
    /// store: of Codex, the last rollout of the thread; of OpenCode, the file beside it.
    pub fn find_owner(&self, file: &Path, id: &str) -> Option<PathBuf> {
        let beside = file.with_file_name(format!("{id}.json"));
        if beside.is_file() {
            return Some(beside);
        }
        self.find_last_of_thread(file, id)
    }

    /// Returns the last rollout of a thread, if it is in the same store as a file.
    fn find_last_of_thread(&self, file: &Path, thread: &str) -> Option<PathBuf> {
        let stored = self.find_near(file);
        let mut rollouts: Vec<Rollout> = stored
            .iter()
            .filter(|rollout| rollout.name.thread == thread)
            .cloned()
            .collect();
        rollouts.sort_by(|left, right| left.name.cmp(&right.name));
        find_last_readable(&rollouts).map(|last| last.path.clone())
    }

    /// Returns the rollouts in the store of a file; without a store, those in its directory. Each
    /// place is searched once: others wait for the thread that searches.
    fn find_near(&self, path: &Path) -> Arc<Vec<Rollout>> {
        let store_folder = path.ancestors().find(|folder| {
            let name = folder.file_name().unwrap_or_default();
            STORE_FOLDERS.iter().any(|known| name == *known)
        });
        let store_root = store_folder.and_then(Path::parent);
        let place = store_root.or(path.parent()).unwrap_or(Path::new(""));

        let mut by_store = self.by_store.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = by_store.get(place) {
            return Arc::clone(known);
        }
        let found = if let Some(root) = store_root {
            let mut folders = STORE_FOLDERS.map(|name| root.join(name)).to_vec();
            folders.retain(|folder| folder.is_dir());
            store::find(&folders, Reach::Whole)
        } else {
            // `find` takes an empty path for none.
            let folder = Path::new(".").join(place);
            store::find(&[folder], Reach::Own)
        };
        let mut rollouts = Vec::new();
        for file in found.files {
            if let Some(name) = RolloutName::parse(&file.path) {
                rollouts.push(Rollout {
                    name,
                    path: file.path,
                });
            }
        }
        let rollouts = Arc::new(rollouts);
        by_store.insert(place.to_owned(), Arc::clone(&rollouts));
        rollouts
    }
}

/// Opens a source that is one file; one that is a single object is converted to lines.
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

/// Returns the rollouts of the thread of a given one, in the order in which they were written. If a
/// rollout was copied, as into an archive, the given file or the first one found counts.
fn list_thread(given: Rollout, stored: &[Rollout]) -> Vec<Rollout> {
    let mut thread = vec![given];
    for rollout in stored {
        let is_known = thread
            .iter()
            .any(|known| known.name.rollout == rollout.name.rollout);
        if rollout.name.thread == thread[0].name.thread && !is_known {
            thread.push(rollout.clone());
        }
    }
    thread.sort_by(|left, right| left.name.cmp(&right.name));
    thread
}

/// Opens the rollouts from which a thread was forked: `base`, the base of that, and so on, as far
/// as each is there and long enough. Returns them with the oldest first.
fn find_inherited(base: &HistoryBase, stored: &[Rollout]) -> Result<Vec<Inherited>, Failure> {
    let mut inherited = Vec::new();
    let mut seen = HashSet::default();
    let mut next = Some(base.clone());
    while let Some(base) = next {
        let found = stored
            .iter()
            .find(|rollout| rollout.name.rollout == base.rollout);
        let Some(rollout) = found else {
            break;
        };
        let file = open_source(&rollout.path)?;
        let is_long_enough = base.end <= file.len();
        // A cycle of bases ends, too.
        if !is_long_enough || !seen.insert(base.rollout.clone()) {
            break;
        }
        next = read_base(&file, &rollout.path)?;
        inherited.push(Inherited {
            file,
            end: base.end,
            rollout_id: base.rollout,
        });
    }
    inherited.reverse();
    Ok(inherited)
}

fn read_base(file: &Opened, path: &Path) -> Result<Option<HistoryBase>, Failure> {
    HistoryBase::read(file)
        .map_err(|error| Failure::from_read_error(&to_visible(&path.to_string_lossy()), error))
}

/// Leaves out the rollouts of a thread that are continued by others among the files, because the
/// last one stands for the thread. Files that the user named are kept.
pub fn retain_last_rollouts(files: &mut Vec<FoundFile>) {
    drop_compressed_copies(files);
    let mut threads: HashMap<String, Vec<Rollout>> = HashMap::default();
    for file in files.iter() {
        if let Some(name) = RolloutName::parse(&file.path) {
            let path = file.path.clone();
            let thread = threads.entry(name.thread.clone()).or_default();
            thread.push(Rollout { name, path });
        }
    }
    let mut last_of_thread: HashMap<String, RolloutName> = HashMap::default();
    for (thread, mut rollouts) in threads {
        rollouts.sort_by(|left, right| left.name.cmp(&right.name));
        if let Some(last) = find_last_readable(&rollouts) {
            last_of_thread.insert(thread, last.name.clone());
        }
    }
    files.retain(|file| {
        let Some(name) = RolloutName::parse(&file.path) else {
            return true;
        };
        let is_last = last_of_thread
            .get(&name.thread)
            .is_none_or(|last| last.rollout == name.rollout);
        is_last || file.named
    });
}

/// Leaves out compressed files that are there uncompressed, too: Codex was interrupted between
/// writing the one and removing the other.
fn drop_compressed_copies(files: &mut Vec<FoundFile>) {
    let mut plain_paths = HashSet::default();
    for file in files.iter() {
        plain_paths.insert(file.path.clone());
    }
    files.retain(|file| {
        let is_compressed = file.path.extension().is_some_and(|end| end == "zst");
        file.named || !is_compressed || !plain_paths.contains(&file.path.with_extension(""))
    });
}

/// Returns the last rollout of a thread that begins as one: a crash may leave an empty file. If
/// none does, the last one is returned. A single rollout is not read.
fn find_last_readable(in_order: &[Rollout]) -> Option<&Rollout> {
    let last = in_order.last()?;
    if in_order.len() == 1 {
        return Some(last);
    }
    let begins_as_rollout =
        |rollout: &&Rollout| matches!(detect_file(&rollout.path), Ok(Some(Origin::Codex)));
    in_order.iter().rev().find(begins_as_rollout).or(Some(last))
}
