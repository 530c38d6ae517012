//! The candidates at the end of a command line.

use super::entries::{Entries, models_near_end};
use super::matching::{copied, described, matching};
use crate::cli::guide;
use crate::cli::locate::{Places, facts};
use crate::cli::named::named;
use crate::cli::output::Ui;
use crate::cli::period::TIMES;
use crate::format::{ID, id_end};
use crate::load::peek;
use crate::session::paths::is_windows;
use clap::{Arg, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};
use foldhash::HashMap;
use foldhash::HashSet;
use pisess_json::text::Text;
use pisess_store::Glance;
use std::ffi::{OsStr, OsString};
use std::path::{MAIN_SEPARATOR_STR, Path, PathBuf};
use std::sync::Arc;

const SESSIONS: usize = 100;
const MODELS_OF: usize = 20;
/// The number of bytes at the start of a session that are searched for the first user message.
const START: u64 = 64 * 1024;
/// The number of bytes at the end of a session that are searched for its name.
const NAME_TAIL: u64 = 256 * 1024;

/// Returns the candidates for the last word of a command line of `command`.
pub fn candidates(command: Command, words: &[OsString], ui: &mut Ui) -> Vec<CompletionCandidate> {
    let mut command = with_completers(command, words, ui);
    let at = words.len().saturating_sub(1);
    let mut found =
        complete(&mut command, words.to_vec(), at, Some(ui.folder())).unwrap_or_default();
    let last = words.last().cloned().unwrap_or_default();
    // The scripts of the shells read lines.
    let is_line = |found: &OsStr| !found.to_string_lossy().contains(char::is_control);
    // Options are offered if the word begins one.
    let is_option = |word: &OsStr| word.as_encoded_bytes().starts_with(b"-");
    found.retain(|found| {
        is_line(found.get_value()) && (is_option(&last) || !is_option(found.get_value()))
    });
    found
}

/// Returns the command line with completers for what clap does not know.
fn with_completers(command: Command, words: &[OsString], ui: &mut Ui) -> Command {
    let sessions = sessions(words, ui);
    let folder = ui.folder().to_owned();
    let home = ui.home();
    let entries = match session_of(&command, words, ui) {
        Some(path) => entries_of(&path, home.as_deref()),
        None => Entries::default(),
    };
    let models = models(&command, words, ui);

    let mut help = Vec::new();
    for verb in command.get_subcommands() {
        help.push(CompletionCandidate::new(verb.get_name()).help(verb.get_about().cloned()));
    }
    help.extend(guide::topics().map(CompletionCandidate::new));

    let references = Arc::new(move |word: &str| entries.words(word));
    let paths = Arc::new(move |word: &str| {
        let mut words = session_words(word, &sessions);
        words.extend(files(word, &folder, home.as_deref().map(Path::new)));
        words
    });
    let references_or_paths = {
        let references = Arc::clone(&references);
        let paths = Arc::clone(&paths);
        move |word: &str| {
            let mut words = references(word);
            words.extend(paths(word));
            words
        }
    };
    let completers = [
        ("SESSION", completer(move |word| paths(word))),
        ("REF", completer(move |word| references(word))),
        ("SESSION|REF", completer(references_or_paths)),
        (
            "TIME",
            completer(|word| matching(word, TIMES.map(CompletionCandidate::new))),
        ),
        (
            "PROVIDER/ID",
            completer(move |word| matching(word, models.iter().map(Into::into))),
        ),
        (
            "COMMAND|TOPIC",
            completer(move |word| matching(word, help.iter().map(copied))),
        ),
    ];
    command.mut_subcommands(|verb| {
        verb.mut_args(|arg| {
            let name = value_name(&arg);
            match completers.iter().find(|(known, _)| *known == name) {
                Some((_, completer)) => arg.add(completer.clone()),
                None => arg,
            }
        })
    })
}

/// Returns the entries of a session, none if it cannot be read.
fn entries_of(path: &Path, home: Option<&str>) -> Entries {
    let Ok(file) = Glance::open(path) else {
        return Entries::default();
    };
    Entries::read(&file, home).unwrap_or_default()
}

fn completer(
    words: impl Fn(&str) -> Vec<CompletionCandidate> + Send + Sync + 'static,
) -> ArgValueCompleter {
    ArgValueCompleter::new(move |word: &OsStr| words(&word.to_string_lossy()))
}

/// Returns the name that the help shows for the value of an argument; an empty text for an option
/// without a value.
fn value_name(arg: &Arg) -> String {
    if let Some([name, ..]) = arg.get_value_names() {
        return name.to_string();
    }
    if arg.is_positional() {
        return arg.get_id().as_str().to_uppercase();
    }
    String::new()
}

#[derive(Debug)]
struct KnownSession {
    id: String,
    name: Option<String>,
    question: String,
}

impl KnownSession {
    fn new(id: &Text, name: Option<Text>, question: &Text) -> KnownSession {
        let name = name.map(|name| name.to_string_lossy().into_owned());
        let [id, question] = [id, question].map(|text| text.to_string_lossy().into_owned());
        KnownSession { id, name, question }
    }

    /// Returns the session as a candidate, described by its first user message, and its name if
    /// that is given.
    fn named(&self, value: &str, name: Option<&str>) -> CompletionCandidate {
        let words = [name, Some(self.question.trim())]
            .into_iter()
            .flatten()
            .filter(|words| !words.is_empty());
        described(value, words.collect::<Vec<_>>().join(": "))
    }
}

/// Returns the sessions of the current directory, newest first and again as `last`, or the archived
/// ones for the options that take those; none if the word is written as a path.
fn sessions(words: &[OsString], ui: &Ui) -> Vec<KnownSession> {
    let word = match words.last() {
        Some(word) => word.to_string_lossy(),
        None => "".into(),
    };
    let is_path = word.starts_with(['/', '\\', '.', '~', '-']) || is_windows(word.as_bytes());
    if is_path {
        return Vec::new();
    }

    let places = Places::of(ui);
    let has_word = |wanted: &str| words.iter().any(|word| word == wanted);
    if has_word("archive") && (has_word("--restore") || has_word("--delete")) {
        let archives = places.archived(true).unwrap_or_default();
        let archives = archives.iter().take(SESSIONS);
        return archives.filter_map(|path| archived(path)).collect();
    }

    let newest = places.newest().take(SESSIONS);
    let mut sessions: Vec<_> = newest.filter_map(|path| known(&path)).collect();
    if let Some(newest) = sessions.first() {
        let last = KnownSession {
            id: "last".to_owned(),
            name: None,
            question: newest.question.clone(),
        };
        sessions.insert(0, last);
    }
    sessions
}

fn known(path: &Path) -> Option<KnownSession> {
    let file = Glance::open(path).ok()?;
    let head = peek::head(&file).ok()?;
    let name = peek::name_near_end(&head, &file, NAME_TAIL).ok()?;
    Some(KnownSession::new(
        &head.header.id,
        name,
        &peek::opening(&file, START),
    ))
}

fn archived(path: &Path) -> Option<KnownSession> {
    let session = facts(path)?;
    Some(KnownSession::new(
        &session.header.id,
        session.name,
        &session.title,
    ))
}

/// Returns sessions. A session is offered by its name or, if others have the same name, by its id.
fn session_words(word: &str, sessions: &[KnownSession]) -> Vec<CompletionCandidate> {
    let mut names: HashMap<&str, usize> = HashMap::default();
    for session in sessions {
        if let Some(name) = &session.name {
            *names.entry(name).or_default() += 1;
        }
    }

    let mut candidates = Vec::new();
    for session in sessions {
        let id = &*session.id;
        let short_id = id_end(id, ID);
        match session.name.as_deref() {
            Some(name) if names[name] > 1 => {
                let is_name = name.starts_with(word);
                let offered = if is_name {
                    Some(short_id)
                } else {
                    first_beginning_with(word, &[short_id, id])
                };
                candidates.extend(offered.map(|id| session.named(id, Some(name))));
            }
            // For an empty word, this is the name, else the end of the id.
            Some(name) => {
                let offered = first_beginning_with(word, &[name, short_id, id]);
                candidates.extend(offered.map(|value| session.named(value, None)));
            }
            None => {
                let offered = first_beginning_with(word, &[short_id, id]);
                candidates.extend(offered.map(|id| session.named(id, None)));
            }
        }
    }
    candidates
}

fn first_beginning_with<'v>(word: &str, values: &[&'v str]) -> Option<&'v str> {
    values.iter().copied().find(|value| value.starts_with(word))
}

/// Returns session files and directories that begin with the word.
fn files(word: &str, folder: &Path, home: Option<&Path>) -> Vec<CompletionCandidate> {
    let path = Path::new(word);
    let (before, start) = if word.ends_with(std::path::is_separator) {
        (path, OsStr::new(""))
    } else {
        (
            path.parent().unwrap_or(Path::new("")),
            path.file_name().unwrap_or_default(),
        )
    };
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder.join(at_home(before, home)))
        .into_iter()
        .flatten()
        .flatten()
    {
        let name = entry.file_name();
        let is_hidden = name.as_encoded_bytes().starts_with(b".") && start.is_empty();
        if is_hidden
            || !name
                .as_encoded_bytes()
                .starts_with(start.as_encoded_bytes())
        {
            continue;
        }
        let mut value = before.join(&name).into_os_string();
        if entry.path().is_dir() {
            value.push(MAIN_SEPARATOR_STR);
        } else if Path::new(&name).extension() != Some(OsStr::new("jsonl")) {
            continue;
        }
        found.push(value.to_string_lossy().into_owned());
    }
    found.sort_unstable();
    found.into_iter().map(Into::into).collect()
}

/// Returns a path as the shell expands it: `~` at its start is the home directory.
fn at_home(path: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => path.to_owned(),
    }
}

/// Returns the models of the named session and of the newest sessions, if the last word is a model.
fn models(command: &Command, words: &[OsString], ui: &Ui) -> Vec<String> {
    let is_model = |word: &OsString| word.to_string_lossy().split('=').next() == Some("--model");
    if !words.iter().rev().take(2).any(is_model) {
        return Vec::new();
    }
    let newest = Places::of(ui).newest().take(MODELS_OF).collect::<Vec<_>>();
    let models = session_of(command, words, ui)
        .into_iter()
        .chain(newest)
        .filter_map(|path| {
            let file = Glance::open(&path).ok()?;
            models_near_end(&file).ok()
        });
    let mut seen = HashSet::default();
    models
        .flatten()
        .filter(|model| seen.insert(model.clone()))
        .collect()
}

/// Returns the session named by the words before the last one, if another argument follows.
fn session_of(command: &Command, words: &[OsString], ui: &Ui) -> Option<PathBuf> {
    let before = &words[..words.len().saturating_sub(1)];
    let matches = command
        .clone()
        .ignore_errors(true)
        .try_get_matches_from(before)
        .ok()?;
    let (verb, matches) = matches.subcommand()?;
    let verb = command.find_subcommand(verb)?;
    let session = verb
        .get_positionals()
        .find(|arg| value_name(arg) == "SESSION")?;
    let given = matches.get_raw(session.get_id().as_str())?.next()?;
    let given = at_home(Path::new(given), ui.home().as_deref().map(Path::new));
    named(&given, ui).ok()
}
