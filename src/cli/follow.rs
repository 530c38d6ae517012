//! Follows files that other programs write: waits for changes, and reads what was appended.

use crate::cli::open::{Input, OpenSession};
use crate::cli::output::{Failure, Ui};
use crate::cli::process::pipes::has_no_reader;
use crate::session::entry::EntryIx;
use foldhash::HashSet;
use notify::event::{CreateKind, ModifyKind};
use notify::{Event, EventKind, RecommendedWatcher, RecursiveMode, Watcher};
use pisess_store::{SessionFile, Snapshot};
use std::ffi::OsString;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// The time during which further changes are collected, to read them together.
const BATCH_DELAY: Duration = Duration::from_millis(20);
/// The time after which all files are looked at, even without a reported change. Some systems do
/// not report every change, for example on a network file system.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// The same time on a system that reports no changes at all.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The minimum pause after a look at the files, as a multiple of the time that the look took. With
/// 40, looking takes at most 1/41 of the time.
const PAUSE_RATIO: u32 = 40;

/// The files that may have changed.
#[derive(Default)]
pub enum ChangedFiles {
    #[default]
    Any,
    /// Only sessions with these file names, and new directories with these names.
    Named(HashSet<OsString>),
}

impl ChangedFiles {
    /// Whether the file at a path may have changed.
    pub fn may_include(&self, path: &Path) -> bool {
        match self {
            ChangedFiles::Any => true,
            ChangedFiles::Named(names) => path.file_name().is_some_and(|name| names.contains(name)),
        }
    }

    /// Whether a file with a name that is not in `known` may have changed.
    pub fn may_include_others(&self, known: &HashSet<OsString>) -> bool {
        match self {
            ChangedFiles::Any => true,
            ChangedFiles::Named(names) => !names.is_subset(known),
        }
    }
}

/// Watches files, and directories with everything below them.
///
/// If the system reports changes, only the files that it names may have changed. For a file, its
/// whole directory is watched, so that changes of a link's target in the same directory are
/// included. Every `WATCH_INTERVAL`, any file may have changed; if the system reports nothing,
/// every `POLL_INTERVAL`.
pub struct FileWatcher {
    /// Sends the names of files as long as it exists. It is an error if it cannot be started.
    watcher: notify::Result<RecommendedWatcher>,
    names: Receiver<OsString>,
    /// Keeps the channel of `names` open even if there is no watcher.
    _sender: Sender<OsString>,
    /// The time at which the last wait ended. Since then, the caller has looked at the files.
    last_report: Instant,
}

impl FileWatcher {
    /// Starts to watch files and directories.
    pub fn start(paths: &[PathBuf]) -> FileWatcher {
        let (sender, names) = channel();
        FileWatcher {
            watcher: start_watcher(paths, sender.clone()),
            names,
            _sender: sender,
            last_report: Instant::now(),
        }
    }

    /// Prints what is buffered, waits until files may have changed, and returns these files.
    ///
    /// Fails if standard output was closed meanwhile. This ends the command successfully.
    pub fn wait_for_changes(&mut self, ui: &mut Ui) -> Result<ChangedFiles, Failure> {
        ui.flush()?;
        let changed = self.receive_changes();
        let stdout = ui.stdout_file().map_err(Failure::from_stdout_error)?;
        if stdout.is_some_and(has_no_reader) {
            return Err(Failure::from_stdout_error(io::ErrorKind::BrokenPipe.into()));
        }
        self.last_report = Instant::now();
        Ok(changed)
    }

    /// Waits for the names of changed files, at most as long as the interval. The pause is also in
    /// proportion to the time that the last look at the files took.
    fn receive_changes(&self) -> ChangedFiles {
        let interval = if self.watcher.is_ok() {
            WATCH_INTERVAL
        } else {
            POLL_INTERVAL
        };
        let least_pause = self.last_report.elapsed() * PAUSE_RATIO;
        match self.names.recv_timeout(interval.max(least_pause)) {
            Ok(first) => {
                std::thread::sleep(BATCH_DELAY);
                let mut changed = HashSet::from_iter(self.names.try_iter());
                changed.insert(first);
                ChangedFiles::Named(changed)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => ChangedFiles::Any,
        }
    }
}

/// Starts a watcher, which sends the names of files that change at these paths.
fn start_watcher(paths: &[PathBuf], names: Sender<OsString>) -> notify::Result<RecommendedWatcher> {
    let send_names = move |event: notify::Result<Event>| {
        let Ok(event) = event else {
            return;
        };
        if !is_change(&event) {
            return;
        }
        for name in changed_names(&event) {
            // The receiver exists as long as the watcher, so sending cannot fail.
            let _ = names.send(name);
        }
    };
    let mut watcher = notify::recommended_watcher(send_names)?;
    for path in paths {
        if path.is_dir() {
            watcher.watch(path, RecursiveMode::Recursive)?;
        } else {
            watcher.watch(parent_folder(path), RecursiveMode::NonRecursive)?;
        }
    }
    Ok(watcher)
}

/// Returns the directory that contains a path; `.` for a file name alone.
pub fn parent_folder(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| *folder != Path::new(""))
        .unwrap_or(Path::new("."))
}

/// Whether an event reports a change. Reads do not count, because pisess itself causes them.
fn is_change(event: &Event) -> bool {
    !matches!(
        event.kind,
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_))
    )
}

/// Returns the names of sessions and of new directories in an event.
fn changed_names(event: &Event) -> impl Iterator<Item = OsString> {
    let is_folder =
        matches!(event.kind, EventKind::Create(CreateKind::Folder)) || event.need_rescan();
    let names = event.paths.iter().filter_map(|path| path.file_name());
    names
        .filter(move |name| is_folder || name.as_encoded_bytes().ends_with(b".jsonl"))
        .map(OsString::from)
}

/// A session that is followed.
pub struct FollowedSession {
    /// The session, as far as it has been read.
    pub open: OpenSession,
    pub path: PathBuf,
    /// The state of the file that was read last; `None` if the session must be loaded again.
    snapshot: Option<Snapshot>,
    /// The ids of all entries that were returned so far. `None` as long as the file only grows:
    /// then new entries are those that follow the ones read before, and ids are not needed.
    known_ids: Option<HashSet<Vec<u8>>>,
    /// The failure that was reported last, so that it is not repeated.
    last_warning: Option<String>,
}

impl FollowedSession {
    /// Follows an open session from the point up to which it was read.
    ///
    /// The session must have been opened with the option `whole_lines`. Otherwise, a last line
    /// that another program has only begun to write would be read as a malformed line, and its rest
    /// as another.
    pub fn from_open(open: OpenSession) -> Result<FollowedSession, Failure> {
        let file = open
            .input
            .file()
            .ok_or_else(|| open.input.failure("a stream cannot be followed"))?;
        let path = file.path().to_owned();
        let snapshot = Some(file.snapshot().clone());
        Ok(FollowedSession {
            open,
            path,
            snapshot,
            known_ids: None,
            last_warning: None,
        })
    }

    /// Reads what was written since the last call, and returns the new entries in file order. If
    /// the file was replaced or truncated, the new entries have ids that were not there before.
    ///
    /// If the file cannot be read, warns, and returns no entries; later calls try again. The same
    /// warning is not repeated until the file could be read.
    pub fn new_entries(&mut self, ui: &mut Ui) -> Vec<EntryIx> {
        let failure = match self.read_new_entries(ui) {
            Ok(entries) => {
                self.last_warning = None;
                return entries;
            }
            Err(failure) => failure,
        };

        let warning = failure.to_line();
        if self.last_warning.as_deref() != Some(&*warning) {
            ui.warn(&format!("{warning}; waiting for it"));
        }
        self.last_warning = Some(warning);
        Vec::new()
    }

    /// Does the work of [`FollowedSession::new_entries`]. If the file has not changed since the
    /// last call, returns no entries.
    fn read_new_entries(&mut self, ui: &mut Ui) -> Result<Vec<EntryIx>, Failure> {
        let changed_file = match &self.snapshot {
            Some(snapshot) => snapshot.look(&self.path)?,
            None => Some(SessionFile::open(&self.path)?),
        };
        let Some(file) = changed_file else {
            return Ok(Vec::new());
        };

        let snapshot = file.snapshot().clone();
        let candidates = self.load_changed_file(file, ui)?;
        // The file counts as read only now: after a failure above, the next call reads it again.
        self.snapshot = Some(snapshot);

        let session = &self.open.session;
        let Some(known_ids) = &mut self.known_ids else {
            return Ok(candidates);
        };
        let mut new_entries = Vec::new();
        for ix in candidates {
            let is_new = known_ids.insert(session.id(ix).as_bytes().to_vec());
            if is_new {
                new_entries.push(ix);
            }
        }
        Ok(new_entries)
    }

    /// Loads a file that has changed since the last call. Returns the entries that may be new.
    fn load_changed_file(
        &mut self,
        file: SessionFile,
        ui: &mut Ui,
    ) -> Result<Vec<EntryIx>, Failure> {
        let has_grown = match &self.snapshot {
            Some(snapshot) => snapshot.is_start_of(&file)?,
            None => false,
        };
        let input = self.open.input.with_file(file);
        let old_count = self.open.session.entries.len();

        if has_grown && self.open.append_new_entries(&input)? {
            self.open.input = input;
            // The entries read before keep their indexes, and the new ones follow.
            return Ok(self.open.session.entry_indexes().skip(old_count).collect());
        }
        self.load_again(input, old_count, ui)?;
        // Any entry may be new.
        Ok(self.open.session.entry_indexes().collect())
    }

    /// Loads a file that was replaced or truncated. Records the ids of the first `old_count`
    /// entries, which were returned already. If the file is another session now, all of its entries
    /// are new.
    fn load_again(&mut self, input: Input, old_count: usize, ui: &mut Ui) -> Result<(), Failure> {
        let session = &self.open.session;
        let known_ids = self.known_ids.get_or_insert_default();
        for ix in session.entry_indexes().take(old_count) {
            known_ids.insert(session.id(ix).as_bytes().to_vec());
        }
        // If loading fails, nothing can be appended to the session that was read before: the next
        // call loads the file again, even if it has not changed since.
        self.snapshot = None;

        let open = self.open.reload_from(input)?;
        if open.session.header.id != self.open.session.header.id {
            ui.warn(&format!("{}: this is another session now", open.input.name));
            // None of its entries was returned yet.
            self.known_ids = None;
        }
        self.open = open;
        Ok(())
    }
}
