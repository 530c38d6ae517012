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
    let (folder, home) = (ui.folder().to_owned(), ui.home());
    let read = |path: PathBuf| Entries::read(&Glance::open(&path).ok()?, home.as_deref()).ok();
    let entries = Arc::new(
        session_of(&command, words, ui)
            .and_then(read)
            .unwrap_or_default(),
    );
    let models = models(&command, words, ui);
    let about =
        |verb: &Command| CompletionCandidate::new(verb.get_name()).help(verb.get_about().cloned());
    let topics = guide::topics().map(CompletionCandidate::new);
    let help: Vec<_> = command.get_subcommands().map(about).chain(topics).collect();
    let session = Arc::new(move |word: &str| {
        let files = files(word, &folder, home.as_deref().map(Path::new));
        session_words(word, &sessions)
            .into_iter()
            .chain(files)
            .collect::<Vec<_>>()
    });
    let (entry, either) = (Arc::clone(&entries), Arc::clone(&session));
    let completers = [
        ("SESSION", completer(move |word| session(word))),
        ("REF", completer(move |word| entry.words(word))),
        (
            "SESSION|REF",
            completer(move |word| {
                entries
                    .words(word)
                    .into_iter()
                    .chain(either(word))
                    .collect()
            }),
        ),
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

fn completer(
    words: impl Fn(&str) -> Vec<CompletionCandidate> + Send + Sync + 'static,
) -> ArgValueCompleter {
    ArgValueCompleter::new(move |word: &OsStr| words(&word.to_string_lossy()))
}

/// Returns the name that the help shows for the value of an argument.
fn value_name(arg: &Arg) -> String {
    let named = arg
        .get_value_names()
        .and_then(|names| names.first())
        .map(ToString::to_string);
    let by_id = || {
        arg.is_positional()
            .then(|| arg.get_id().as_str().to_uppercase())
    };
    named.or_else(by_id).unwrap_or_default()
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
    let word = words
        .last()
        .map(|word| word.to_string_lossy())
        .unwrap_or_default();
    if word.starts_with(['/', '\\', '.', '~', '-']) || is_windows(word.as_bytes()) {
        return Vec::new();
    }
    let places = Places::of(ui);
    let takes_archived = |word: &OsString| {
        ["--restore", "--delete"]
            .iter()
            .any(|option| word == option)
    };
    if words.iter().any(|word| word == "archive") && words.iter().any(takes_archived) {
        let archives = places.archived(true).unwrap_or_default();
        return archives
            .iter()
            .take(SESSIONS)
            .filter_map(|path| archived(path))
            .collect();
    }
    let known: Vec<_> = places
        .newest()
        .take(SESSIONS)
        .filter_map(|path| known(&path))
        .collect();
    let last = |newest: &KnownSession| {
        let question = newest.question.clone();
        KnownSession {
            id: "last".to_owned(),
            name: None,
            question,
        }
    };
    known.first().map(last).into_iter().chain(known).collect()
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
    let word_of = |session: &KnownSession| {
        let name = session.name.as_deref();
        let is_shared = name.is_some()
            && sessions
                .iter()
                .filter(|other| other.name.as_deref() == name)
                .count()
                > 1;
        let end = id_end(&session.id, ID);
        let fits = |value: &&str| value.starts_with(word);
        // For an empty word, this is the name, else the end of the id.
        let offered = match name.filter(|_| !is_shared) {
            Some(name) => [name, end, &*session.id].into_iter().find(fits),
            None if name.is_some_and(|name| fits(&name)) => Some(end),
            None => [end, &*session.id].into_iter().find(fits),
        };
        offered.map(|value| session.named(value, name.filter(|_| is_shared)))
    };
    sessions.iter().filter_map(word_of).collect()
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
