//! Reads sessions of OpenCode that are not in one file. OpenCode keeps sessions in a storage, where
//! each message and each part of a message has a file; newer versions keep them in a database,
//! which only OpenCode itself reads.
//!
//! ```text
//! storage/session/PROJECT/SESSION.json
//! storage/message/SESSION/MESSAGE.json
//! storage/part/MESSAGE/PART.json
//! ```
//!
//! Both are converted into the document that `opencode export` prints.

use crate::cli::external::find_agent;
use crate::cli::output::{Failure, Ui, to_visible};
use crate::cli::process::command_line::quote_word;
use crate::cli::process::run::ShellCommand;
use crate::import::Origin;
use crate::session::content::find_members;
use pisess_json::Raw;
use pisess_json::time::date_from_value;
use pisess_json::write::{Object, array};
use pisess_store::{self as store, Opened, ReadAt, SessionFile, Spooled, TempCopy};
use std::ffi::OsStr;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

/// The prefix of session ids.
const SESSION_PREFIX: &str = "ses_";

/// The time that OpenCode may take to export a session.
const EXPORT_TIME: Duration = Duration::from_secs(60);
/// The maximum size of an export, in bytes.
const MOST_EXPORT_BYTES: usize = 1 << 30;

/// Reads a session from the storage of OpenCode. `path` is the session's own file. Returns the
/// document that `opencode export` would print; `None` if the file is not in a storage, or if the
/// storage has no messages of the session.
///
/// Files that are not JSON, as a crash leaves them, are left out. Only one message at a time is
/// held in memory.
pub fn read_storage(session: &Opened, path: &Path) -> Result<Option<Spooled>, Failure> {
    let Some(place) = StoredSession::of_file(path) else {
        return Ok(None);
    };
    let info = session
        .read_range(0..session.len())
        .map_err(|error| Failure::from_read_error(&to_visible(&path.to_string_lossy()), error))?;
    if Raw::parse(&info).is_err() {
        return Ok(None);
    }

    let export = store::spool_written(&mut |out| {
        out.write_all(b"{\"info\":")?;
        out.write_all(&info)?;
        out.write_all(b",\"messages\":[")?;
        place.write_messages(out)?;
        out.write_all(b"]}")
    })?;
    Ok(Some(export))
}

/// A session in the storage of OpenCode.
struct StoredSession {
    storage: PathBuf,
    id: String,
}

impl StoredSession {
    /// Returns the session to which a file in the storage belongs; `None` if no messages of it are
    /// stored.
    ///
    /// ```text
    /// storage/session/PROJECT/ses_….json   the file
    /// storage/message/ses_…/               the messages of the session
    /// ```
    fn of_file(path: &Path) -> Option<StoredSession> {
        let name = path.file_name()?.to_str()?;
        let id = name.strip_suffix(".json")?;
        if !id.starts_with(SESSION_PREFIX) {
            return None;
        }
        // The path may be relative to the current directory, and too short for its ancestors.
        let path = real_path(path);
        let sessions = path.parent()?.parent()?;
        let storage = sessions.parent()?;
        if sessions.file_name() != Some(OsStr::new("session")) {
            return None;
        }
        let stored = StoredSession {
            storage: storage.to_owned(),
            id: id.to_owned(),
        };
        if stored.message_folder().is_dir() {
            Some(stored)
        } else {
            None
        }
    }

    fn message_folder(&self) -> PathBuf {
        self.storage.join("message").join(&self.id)
    }

    /// Writes the messages as the items of an array.
    fn write_messages(&self, out: &mut dyn Write) -> io::Result<()> {
        let unreadable = |failure: Failure| io::Error::other(failure.to_line());
        let mut separator: &[u8] = b"";
        for file in self.message_files().map_err(unreadable)? {
            let Some(message) = self.read_message(&file).map_err(unreadable)? else {
                continue;
            };
            out.write_all(separator)?;
            out.write_all(&message)?;
            separator = b",";
        }
        Ok(())
    }

    /// Reads a message with its parts; `None` if the message's file is not JSON.
    fn read_message(&self, file: &Path) -> Result<Option<Vec<u8>>, Failure> {
        let Some(info) = read_json(file)? else {
            return Ok(None);
        };
        let mut parts = Vec::new();
        for part in self.part_files(file)? {
            parts.extend(read_json(&part)?);
        }
        let message = Object::new()
            .json("info", &info)
            .json("parts", &array(parts));
        Ok(Some(message.finish()))
    }

    /// Returns the files of the messages in order. Their names begin with a time.
    fn message_files(&self) -> Result<Vec<PathBuf>, Failure> {
        json_files(&self.message_folder())
    }

    /// Returns the files of the parts of a message, in order.
    fn part_files(&self, message: &Path) -> Result<Vec<PathBuf>, Failure> {
        let id = message.file_stem().unwrap_or_default();
        let folder = self.storage.join("part").join(id);
        if folder.is_dir() {
            json_files(&folder)
        } else {
            Ok(Vec::new())
        }
    }
}

fn json_files(folder: &Path) -> Result<Vec<PathBuf>, Failure> {
    let mut files = store::paths_in(folder)?;
    files.retain(|file| file.extension() == Some(OsStr::new("json")));
    Ok(files)
}

/// Reads a file; `None` if its content is not JSON.
fn read_json(path: &Path) -> Result<Option<Vec<u8>>, Failure> {
    let file = SessionFile::open(path)?;
    let json = file
        .read_range(0..file.len())
        .map_err(|error| Failure::from_read_error(&to_visible(&path.to_string_lossy()), error))?;
    let is_json = Raw::parse(&json).is_ok();
    if is_json { Ok(Some(json)) } else { Ok(None) }
}

fn real_path(path: &Path) -> PathBuf {
    use crate::agents::stores::Disk as _;
    store::OnDisk.resolve_links(path)
}

/// Whether a name has the form of a session id.
pub fn is_session_id(name: &str) -> bool {
    let is_part_of_id = |c: char| c.is_ascii_alphanumeric() || c == '_';
    name.starts_with(SESSION_PREFIX) && name.chars().all(is_part_of_id)
}

/// Runs OpenCode to export a session from its database. Returns the path of the export, a temporary
/// file that exists until the command ends.
///
/// # Errors
/// If OpenCode is not installed, or if it does not export the session.
pub fn export_session(id: &str, ui: &mut Ui) -> Result<PathBuf, Failure> {
    let Some(program) = find_agent("opencode", ui) else {
        return Err(not_in_storage_failure(id));
    };
    let command = ShellCommand {
        session: id.to_owned(),
        option: "running",
        command: format!("{} export {id}", quote_word(program.as_os_str())),
        timeout: EXPORT_TIME,
        failure_outcome: "",
        hint: "`opencode session list` lists the sessions of a directory",
        most_output_bytes: MOST_EXPORT_BYTES,
    };
    let spinner = ui.start_spinner("waiting for OpenCode");
    let export = command.run(Vec::new())?;
    drop(spinner);
    let Ok(document) = Raw::parse(&export) else {
        return Err(command.failure("it printed something else than a session"));
    };

    let copy = TempCopy::create(&format!("{id}.json"), &export, find_update_time(document))?;
    let path = copy.path().to_owned();
    ui.keep_until_end(copy);
    Ok(path)
}

/// Returns the failure for a session that is not in a file, if OpenCode is not installed.
fn not_in_storage_failure(id: &str) -> Failure {
    let agent = Origin::OpenCode.display_name();
    let what = format_args!("{id}: not found in the storage of {agent}");
    let hint = format!(
        "newer versions have a database: install `opencode` to read it, \
         or import what `opencode export {id}` prints elsewhere"
    );
    Failure::invalid(what).with_path(id).with_hint(hint)
}

/// Returns the time at which the session was last written to. `None` if the export has no time.
fn find_update_time(document: Raw) -> Option<SystemTime> {
    let time = document.get("info")?.get("time")?;
    let [updated, created] = find_members(time, ["updated", "created"]);
    let time_ms = date_from_value(updated.or(created))?;
    let since_1970 = Duration::from_millis(u64::try_from(time_ms).ok()?);
    SystemTime::UNIX_EPOCH.checked_add(since_1970)
}
