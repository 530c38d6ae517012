//! Follows files that other programs write: waits until they may have changed, and reads what was
//! appended.

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
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::{Duration, Instant};

/// Changes within this time are read together.
const BATCH_DELAY: Duration = Duration::from_millis(20);
/// How often all files are looked at: the system may not report a change, as on a network file
/// system.
const WATCH_INTERVAL: Duration = Duration::from_secs(1);
/// The same where the system reports no changes at all.
const POLL_INTERVAL: Duration = Duration::from_millis(100);
/// The shortest pause after a look, in times that the look took, so that looking takes at most 1/41
/// of the time.
const PAUSE_RATIO: u32 = 40;

/// The files that may have changed.
#[derive(Default)]
pub enum ChangedFiles {
    #[default]
    Any,
    /// Sessions with these names, and new directories.
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

    /// Whether there may be files with other names than these.
    pub fn may_include_others(&self, known: &HashSet<OsString>) -> bool {
        match self {
            ChangedFiles::Any => true,
            ChangedFiles::Named(names) => !names.is_subset(known),
        }
    }
}

/// Watches files, and directories with all below them. Returns a function that waits until files
/// may have changed, and returns which.
///
/// Where the system reports changes, only the files that it names may have changed; a file's
/// directory is watched, so that the target of a link in the same directory is included. Now and
/// then, and all the time where the system reports nothing, any file may have changed.
///
/// The function fails if standard output was closed meanwhile, which ends the command successfully.
pub fn watch_files(
    paths: &[PathBuf],
) -> impl FnMut(&mut Ui) -> Result<ChangedFiles, Failure> + use<> {
    let (sender, names) = channel();
    let event_sender = sender.clone();
    let watcher = start_watcher(paths, event_sender);
    // When the function last returned changes.
    let mut last_report = Instant::now();
    move |ui| {
        // Keeps the channel open without a watcher.
        let _open = &sender;
        ui.flush()?;
        let interval = if watcher.is_ok() {
            WATCH_INTERVAL
        } else {
            POLL_INTERVAL
        };
        // In proportion to the time that the caller took to look at the files.
        let pause = last_report.elapsed() * PAUSE_RATIO;
        let changed = match names.recv_timeout(interval.max(pause)) {
            Ok(first) => {
                std::thread::sleep(BATCH_DELAY);
                let mut changed = HashSet::from_iter(names.try_iter());
                changed.insert(first);
                ChangedFiles::Named(changed)
            }
            Err(RecvTimeoutError::Timeout | RecvTimeoutError::Disconnected) => ChangedFiles::Any,
        };

        let stdout = ui.stdout_file().map_err(Failure::from_stdout_error)?;
        if stdout.is_some_and(has_no_reader) {
            return Err(Failure::from_stdout_error(io::ErrorKind::BrokenPipe.into()));
        }
        last_report = Instant::now();
        Ok(changed)
    }
}

/// Starts to send the names of files that change in these places.
fn start_watcher(paths: &[PathBuf], names: Sender<OsString>) -> notify::Result<RecommendedWatcher> {
    let send_names = move |event: notify::Result<Event>| {
        let Ok(event) = event else {
            return;
        };
        if !is_change(&event) {
            return;
        }
        for name in changed_names(&event) {
            // The receiver exists as long as the watcher.
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

/// Returns the directory that contains a path: the current one for a name alone.
pub fn parent_folder(path: &Path) -> &Path {
    path.parent()
        .filter(|folder| *folder != Path::new(""))
        .unwrap_or(Path::new("."))
}

/// Whether an event is a change, and not a look, as pisess itself causes.
fn is_change(event: &Event) -> bool {
    !matches!(
        event.kind,
        EventKind::Access(_) | EventKind::Modify(ModifyKind::Metadata(_))
    )
}

/// Returns the names of sessions in an event, and of new directories.
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
    /// The session, as far as it was read.
    pub open: OpenSession,
    pub path: PathBuf,
    /// The file as it was read; `None` if the session must be loaded again.
    snapshot: Option<Snapshot>,
    /// The ids of the entries that there were, if the file was replaced.
    known_ids: Option<HashSet<Vec<u8>>>,
    /// What was reported last about the file.
    last_trouble: Option<String>,
}

impl FollowedSession {
    /// Follows a session from where it was read. It must have been opened without a last line that
    /// is not whole.
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
            last_trouble: None,
        })
    }

    /// Reads what was written since. Returns the new entries in file order. If the file was
    /// replaced or truncated, these are the entries with ids that were not there before. A file
    /// that cannot be read is reported once, and waited for.
    pub fn new_entries(&mut self, ui: &mut Ui) -> Vec<EntryIx> {
        let (entries, trouble) = match self.read_new_entries(ui) {
            Ok(entries) => (entries, None),
            Err(failure) => (Vec::new(), Some(failure.to_line())),
        };
        if trouble != self.last_trouble
            && let Some(trouble) = &trouble
        {
            ui.warn(&format!("{trouble}; waiting for it"));
        }
        self.last_trouble = trouble;
        entries
    }

    /// Reads what was written since, as [`FollowedSession::new_entries`] describes. If the file
    /// cannot be read, all of it is read again the next time.
    fn read_new_entries(&mut self, ui: &mut Ui) -> Result<Vec<EntryIx>, Failure> {
        let changed_file = match &self.snapshot {
            Some(snapshot) => snapshot.look(&self.path)?,
            None => Some(SessionFile::open(&self.path)?),
        };
        let Some(file) = changed_file else {
            return Ok(Vec::new());
        };
        let has_grown = match &self.snapshot {
            Some(snapshot) => snapshot.is_start_of(&file)?,
            None => false,
        };
        let snapshot = file.snapshot().clone();
        let input = self.open.input.with_file(file);

        let old_count = self.open.session.entries.len();
        let first_new = if has_grown && self.open.append_new_entries(&input)? {
            self.open.input = input;
            old_count
        } else {
            self.load_again(input, old_count, ui)?;
            0
        };
        self.snapshot = Some(snapshot);

        let session = &self.open.session;
        let mut entries: Vec<EntryIx> = session.entry_indexes().skip(first_new).collect();
        if let Some(known_ids) = &mut self.known_ids {
            entries.retain(|&ix| known_ids.insert(session.id(ix).as_bytes().to_vec()));
        }
        Ok(entries)
    }

    /// Loads a file that was replaced or truncated, and remembers the ids of the first `old_count`
    /// entries, which were reported. The entries of another session are all new.
    fn load_again(&mut self, input: Input, old_count: usize, ui: &mut Ui) -> Result<(), Failure> {
        let session = &self.open.session;
        let known_ids = self.known_ids.get_or_insert_default();
        for ix in session.entry_indexes().take(old_count) {
            known_ids.insert(session.id(ix).as_bytes().to_vec());
        }
        // If loading fails, nothing can be appended to what is there.
        self.snapshot = None;

        let open = self.open.reload_from(input)?;
        if open.session.header.id != self.open.session.header.id {
            ui.warn(&format!("{}: this is another session now", open.input.name));
            self.known_ids = None;
        }
        self.open = open;
        Ok(())
    }
}
