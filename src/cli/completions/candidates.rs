//! The candidates at the end of a command line.

use crate::agents::row::RowOptions;
use crate::cli::archive::facts;
use crate::cli::locate::{Places, named};
use crate::cli::output::Ui;
use crate::cli::period::TIMES;
use crate::format::{ID, id_end};
use crate::load::peek::{self, Head};
use crate::load::{Options, load};
use crate::ops::tree::rows;
use crate::session::Session;
use crate::session::labels::Labels;
use crate::session::paths::is_windows;
use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};
use pisess_json::text::Text;
use pisess_store::{Glance, ReadAt};
use std::ffi::{OsStr, OsString};
use std::path::{MAIN_SEPARATOR_STR, Path, PathBuf};
use std::sync::Arc;

/// The number of sessions offered.
const SESSIONS: usize = 100;
/// The number of bytes at the start of a session that are searched for the first user message.
const START: u64 = 64 * 1024;
/// The number of bytes at the end of a session that are searched for its name.
const NAME_TAIL: u64 = 256 * 1024;
/// The number of bytes at the end of a session whose entries are offered.
const TAIL: u64 = 1 << 20;
/// The number of entries offered.
const ENTRIES: usize = 200;

/// A candidate and its description.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The word.
    pub value: String,
    /// Its description.
    pub help: Option<String>,
}

/// Returns the candidates for the last word of a command line of `command`.
pub fn candidates(mut command: Command, words: &[OsString], ui: &mut Ui) -> Vec<Candidate> {
    let sessions = Arc::new(sessions(words, ui));
    let entries = Arc::new(entries(&command, words, ui));
    command = with_completers(command, &sessions, &entries, ui.folder());
    let at = words.len().saturating_sub(1);
    let found = complete(&mut command, words.to_vec(), at, Some(ui.folder())).unwrap_or_default();
    let last = words.last().cloned().unwrap_or_default();
    found.iter().filter(|found| is_asked_for(found, &last)).map(candidate).collect()
}

/// Whether to offer a candidate: options are offered if the word begins one, or if nothing else matches.
fn is_asked_for(found: &CompletionCandidate, word: &OsStr) -> bool {
    let is_option = found.get_value().as_encoded_bytes().starts_with(b"-");
    !is_option || word.as_encoded_bytes().starts_with(b"-")
}

fn candidate(found: &CompletionCandidate) -> Candidate {
    let help = found.get_help().map(ToString::to_string);
    Candidate {
        value: found.get_value().to_string_lossy().into_owned(),
        help: help.and_then(|help| help.lines().next().map(str::to_owned)).filter(|help| !help.is_empty()),
    }
}

/// Returns the command line with completers for sessions and entries.
fn with_completers(
    command: Command,
    sessions: &Arc<Vec<Known>>,
    entries: &Arc<Vec<Candidate>>,
    folder: &Path,
) -> Command {
    command.mut_subcommands(|verb| {
        verb.mut_args(|arg| {
            if takes(&arg, "SESSION") {
                let (sessions, folder) = (sessions.clone(), folder.to_owned());
                arg.add(ArgValueCompleter::new(move |word: &OsStr| session_words(word, &sessions, &folder)))
            } else if takes(&arg, "TIME") {
                arg.add(ArgValueCompleter::new(|word: &OsStr| time_words(word)))
            } else if takes(&arg, "REF") {
                let entries = entries.clone();
                arg.add(ArgValueCompleter::new(move |word: &OsStr| entry_words(word, &entries)))
            } else {
                arg
            }
        })
    })
}

/// Whether the help shows the argument with this value name.
fn takes(arg: &Arg, name: &str) -> bool {
    let named = arg.get_value_names().map(|names| names.iter().any(|known| known.as_str() == name));
    let by_id = || arg.is_positional() && arg.get_id().as_str().eq_ignore_ascii_case(name);
    named.unwrap_or_else(by_id)
}

/// Returns the forms of a time that begin with the word.
fn time_words(word: &OsStr) -> Vec<CompletionCandidate> {
    let fits = |time: &&str| time.starts_with(&*word.to_string_lossy());
    TIMES.into_iter().filter(fits).map(CompletionCandidate::new).collect()
}

/// A session to offer.
#[derive(Debug)]
struct Known {
    id: String,
    name: Option<String>,
    question: String,
    is_archived: bool,
}

/// Returns the sessions of the current directory, newest first, or the archived ones for the options that take those; none if the word is written as a path.
fn sessions(words: &[OsString], ui: &Ui) -> Vec<Known> {
    let word = words.last().map(|word| word.to_string_lossy()).unwrap_or_default();
    if word.starts_with(['/', '\\', '.', '~', '-']) || is_windows(word.as_bytes()) {
        return Vec::new();
    }
    let places = Places::of(ui);
    let takes_archived = |word: &OsString| ["--restore", "--delete"].iter().any(|option| word == option);
    if words.iter().any(|word| word == "archive") && words.iter().any(takes_archived) {
        let archives = places.archived(true).unwrap_or_default();
        return archives.iter().take(SESSIONS).filter_map(|path| archived(path)).collect();
    }
    places.names().newest().take(SESSIONS).filter_map(|path| known(&path)).collect()
}

fn known(path: &Path) -> Option<Known> {
    let file = Glance::open(path).ok()?;
    let head = Head::read(&file).ok()?;
    let name = peek::name_near_end(&head, &file, NAME_TAIL).ok()?;
    Some(Known {
        id: head.header.id.to_string_lossy().into_owned(),
        name: name.map(|name| name.to_string_lossy().into_owned()),
        question: peek::opening(&file, START).to_string_lossy().into_owned(),
        is_archived: false,
    })
}

fn archived(path: &Path) -> Option<Known> {
    let (_, facts) = facts(path).ok()?;
    Some(Known {
        id: facts.header.id.to_string_lossy().into_owned(),
        name: facts.name.map(|name| name.to_string_lossy().into_owned()),
        question: facts.title.to_string_lossy().into_owned(),
        is_archived: true,
    })
}

/// Returns names that begin with the word, `last`, and files.
fn session_words(word: &OsStr, sessions: &[Known], here: &Path) -> Vec<CompletionCandidate> {
    let text = word.to_string_lossy();
    let fits = |value: &str| value.starts_with(&*text);
    let mut found = Vec::new();
    let mut offer = |value: &str, session: &Known| {
        let help = format!("{} ", session.question.trim());
        found.push(CompletionCandidate::new(value).help(Some(help.trim().to_owned().into())));
    };
    if let Some(newest) = sessions.first().filter(|first| fits("last") && !first.is_archived) {
        offer("last", newest);
    }
    for session in sessions {
        let end = id_end(&session.id, ID);
        let words =
            [session.name.as_deref(), session.name.is_none().then_some(end), Some(end), Some(&*session.id)];
        // For an empty word, this is the name, else the end of the id.
        let offered = words.into_iter().flatten().find(|value| fits(value));
        if let Some(value) = offered {
            offer(value, session);
        }
    }
    found.extend(files(word, here));
    found
}

/// Returns session files and directories that begin with the word.
fn files(word: &OsStr, here: &Path) -> Vec<CompletionCandidate> {
    let path = PathBuf::from(word);
    let ends_folder = word.to_string_lossy().ends_with(std::path::is_separator);
    let folder = if ends_folder { Some(&*path) } else { path.parent() };
    let start = if ends_folder { OsStr::new("") } else { path.file_name().unwrap_or_default() };
    let folder = folder.filter(|folder| !folder.as_os_str().is_empty());
    let mut found = Vec::new();
    for entry in std::fs::read_dir(here.join(folder.unwrap_or(Path::new("")))).into_iter().flatten().flatten()
    {
        let name = entry.file_name();
        let is_hidden = name.as_encoded_bytes().starts_with(b".") && start.is_empty();
        if is_hidden || !name.as_encoded_bytes().starts_with(start.as_encoded_bytes()) {
            continue;
        }
        let mut value = folder.map_or_else(PathBuf::new, Path::to_owned).join(&name).into_os_string();
        if entry.path().is_dir() {
            value.push(MAIN_SEPARATOR_STR);
        } else if Path::new(&name).extension() != Some(OsStr::new("jsonl")) {
            continue;
        }
        found.push(CompletionCandidate::new(value));
    }
    found.sort();
    found
}

/// Returns the entries of the named session, newest first.
fn entries(command: &Command, words: &[OsString], ui: &mut Ui) -> Vec<Candidate> {
    let Some(session) = session_of(command, words) else { return Vec::new() };
    let Ok(found) = named(&session, ui) else { return Vec::new() };
    let Ok(file) = Glance::open(&found.path) else { return Vec::new() };
    places(&file, ui.home().as_deref()).unwrap_or_default()
}

/// Returns the session named by the words before the last one, if another argument follows.
fn session_of(command: &Command, words: &[OsString]) -> Option<PathBuf> {
    let before = &words[..words.len().saturating_sub(1)];
    let matches = command.clone().ignore_errors(true).try_get_matches_from(before).ok()?;
    let (verb, matches) = matches.subcommand()?;
    let verb = command.find_subcommand(verb)?;
    let session = verb.get_positionals().find(|arg| takes(arg, "SESSION"))?;
    let mut given = matches.get_raw(session.get_id().as_str())?;
    given.next().map(PathBuf::from)
}

/// Returns `@`, labels and ids of the entries in the last MiB, each with its text.
///
/// # Errors
/// If the source is not a session, or cannot be read.
pub fn places(source: &dyn ReadAt, home: Option<&str>) -> Result<Vec<Candidate>, crate::load::LoadError> {
    let ends = peek::ends(source, TAIL)?;
    let rows_of =
        RowOptions { home: home.map(|home| Text::from(home).into_owned()), ..RowOptions::default() };
    let options = Options { rows: Some(rows_of), ..Options::default() };
    let session = load(&ends, &options)?;
    Ok(places_of(&session))
}

fn places_of(session: &Session) -> Vec<Candidate> {
    let drawing = rows(session, session.leaf);
    let labels = Labels::new(session);
    let row = |ix| Some(drawing.text(ix).to_string_lossy().into_owned()).filter(|row| !row.is_empty());
    let mut places = Vec::new();
    if let Some(leaf) = session.leaf {
        places.push(Candidate { value: "@".to_owned(), help: row(leaf) });
    }
    for (ix, change) in labels.iter() {
        let value = session.text(change.name).to_string_lossy().into_owned();
        places.push(Candidate { value, help: row(ix) });
    }
    for ix in session.all().rev().filter(|&ix| !session.entry(ix).id.is_empty()).take(ENTRIES) {
        places.push(Candidate { value: session.id(ix).to_string_lossy().into_owned(), help: row(ix) });
    }
    places
}

fn entry_words(word: &OsStr, entries: &[Candidate]) -> Vec<CompletionCandidate> {
    let word = word.to_string_lossy();
    let fits = entries.iter().filter(|entry| entry.value.starts_with(&*word));
    fits.map(|entry| CompletionCandidate::new(&entry.value).help(entry.help.clone().map(Into::into)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU64, Ordering};

    /// A reader that counts the bytes read.
    struct Counting {
        bytes: Vec<u8>,
        read: AtomicU64,
    }

    impl ReadAt for Counting {
        fn read_at(&self, buf: &mut [u8], offset: u64) -> std::io::Result<usize> {
            let read = self.bytes.read_at(buf, offset)?;
            self.read.fetch_add(read as u64, Ordering::Relaxed);
            Ok(read)
        }

        fn len(&self) -> u64 {
            self.bytes.len() as u64
        }
    }

    fn session(version: &str, entries: u32) -> Counting {
        let mut text = format!("{{\"type\":\"session\",{version}\"id\":\"s\",\"cwd\":\"/\"}}\n");
        for at in 0..entries {
            text += &format!(
                "{{\"type\":\"message\",\"id\":\"{at:08x}\",\"parentId\":null,\"message\":{{\"role\":\"user\",\"content\":\"question {at}\"}}}}\n"
            );
        }
        Counting { bytes: text.into_bytes(), read: AtomicU64::new(0) }
    }

    #[test]
    fn of_a_large_session_only_its_ends_are_read() {
        let large = session("\"version\":3,", 300_000);
        assert!(large.len() > 20 << 20);
        let places = places(&large, None).unwrap();
        let last =
            Candidate { value: format!("{:08x}", 299_999), help: Some("user: question 299999".to_owned()) };
        assert_eq!((&*places[0].value, &places[1]), ("@", &last));
        assert_eq!(places.len(), ENTRIES + 1);
        let read = large.read.load(Ordering::Relaxed);
        assert!(read <= TAIL + 16 * 1024, "{read}");
    }

    /// Entries of version 1 are identified by their number, which the end of the file does not determine.
    #[test]
    fn of_version_1_all_or_nothing_is_offered() {
        assert_eq!(places(&session("", 3), None).unwrap().len(), 4);
        assert_eq!(places(&session("", 20_000), None).unwrap(), []);
    }
}
