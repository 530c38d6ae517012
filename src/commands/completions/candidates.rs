//! Finds the candidates for the last word of a command line.

use super::entries::{EntryCandidates, models_near_end};
use super::matching::{copy_candidate, filter_candidates, new_candidate};
use crate::cli::help;
use crate::cli::locate::{ArchiveScope, Scope, SessionStores, read_archive_facts};
use crate::cli::named::resolve_name;
use crate::cli::options::value_name;
use crate::cli::output::Ui;
use crate::cli::period::TIME_EXAMPLES;
use crate::format::{ID_SUFFIX_LEN, id_suffix};
use crate::load::peek;
use crate::session::paths::is_windows_absolute;
use clap::{ArgMatches, Command};
use clap_complete::engine::{ArgValueCompleter, CompletionCandidate, complete};
use foldhash::HashMap;
use foldhash::HashSet;
use pisess_json::text::Text;
use pisess_store::workers::in_order;
use pisess_store::{Glance, modified_ms};
use std::cmp::Reverse;
use std::convert::Infallible;
use std::ffi::{OsStr, OsString};
use std::path::{MAIN_SEPARATOR_STR, Path, PathBuf};
use std::sync::Arc;

/// The maximum number of sessions that are offered. The newest are chosen.
const MAX_SESSIONS: usize = 100;
/// The maximum number of sessions of other projects that are searched for a word.
const MAX_OTHER_SESSIONS: usize = 500;
/// The number of newest sessions whose models are offered.
const MAX_MODEL_SESSIONS: usize = 20;
/// The number of bytes at the start of a session in which its first user message is searched for.
const HEAD_BYTES: u64 = 64 * 1024;

/// Returns the candidates for the last word of a command line of `command`. Options are offered
/// only if the word begins with `-`. A candidate with a control character is left out, because the
/// scripts read one candidate per line.
pub fn find_candidates(
    command: Command,
    words: &[OsString],
    ui: &mut Ui,
) -> Vec<CompletionCandidate> {
    let mut command = add_completers(command, words, ui);
    let last_index = words.len().saturating_sub(1);
    let mut candidates = complete(
        &mut command,
        words.to_vec(),
        last_index,
        Some(ui.current_folder()),
    )
    .unwrap_or_default();
    let offers_options = words.last().is_some_and(|word| is_option(word));
    candidates.retain(|candidate| {
        let value = candidate.get_value();
        let is_one_line = !value.to_string_lossy().contains(char::is_control);
        is_one_line && (offers_options || !is_option(value))
    });
    candidates
}

/// Whether a word or a candidate has the form of an option.
fn is_option(word: &OsStr) -> bool {
    word.as_encoded_bytes().starts_with(b"-")
}

/// The tools that pi has without extensions.
const TOOLS_OF_PI: [&str; 7] = ["bash", "edit", "find", "grep", "ls", "read", "write"];

/// Adds completers for values that clap does not know: sessions, entries, times, tools, models and
/// topics. An argument gets its completer by the name of its value in the help, for example
/// `SESSION`.
fn add_completers(command: Command, words: &[OsString], ui: &mut Ui) -> Command {
    let mut completers = completers_of_sessions(&command, words, ui);
    completers.extend(other_completers(&command, words, ui));
    command.mut_subcommands(|subcommand| {
        subcommand.mut_args(|arg| {
            let name = value_name(&arg);
            match completers.iter().find(|known| known.value_name == name) {
                Some(known) => arg.add(known.completer.clone()),
                None => arg,
            }
        })
    })
}

/// Returns the completers for sessions and entries, each with the name of the values that it
/// completes. clap calls a completer later, with the word to complete. It must own what it needs,
/// so sessions and entries are read now, and shared by the three completers.
fn completers_of_sessions(
    command: &Command,
    words: &[OsString],
    ui: &mut Ui,
) -> Vec<ValueCompleter> {
    let folder = ui.current_folder().to_owned();
    let home = ui.home();
    let given_session = find_session(command, words, ui);
    let sessions = list_sessions(words, given_session.is_none(), ui);
    let entries = match given_session {
        Some(path) => read_entries(&path, home.as_deref()),
        None => EntryCandidates::default(),
    };

    let completion = Arc::new(SessionCompletion {
        sessions,
        entries,
        folder,
        home,
    });
    let for_session = Arc::clone(&completion);
    let for_reference = Arc::clone(&completion);
    let for_either = completion;
    vec![
        ValueCompleter::new("SESSION", move |word| for_session.complete_session(word)),
        ValueCompleter::new("REF", move |word| for_reference.complete_reference(word)),
        ValueCompleter::new("SESSION|REF", move |word| for_either.complete_either(word)),
    ]
}

/// Returns the completers for times, tools, models, commands and topics.
fn other_completers(command: &Command, words: &[OsString], ui: &mut Ui) -> Vec<ValueCompleter> {
    let models = find_models(command, words, ui);
    let mut help_candidates = Vec::new();
    for subcommand in command.get_subcommands() {
        let about = subcommand.get_about().cloned();
        help_candidates.push(CompletionCandidate::new(subcommand.get_name()).help(about));
    }
    help_candidates.extend(help::topic_names().map(CompletionCandidate::new));
    vec![
        ValueCompleter::new("TIME", |word| {
            filter_candidates(word, TIME_EXAMPLES.map(CompletionCandidate::new))
        }),
        ValueCompleter::new("TOOL", |word| {
            filter_candidates(word, TOOLS_OF_PI.map(CompletionCandidate::new))
        }),
        ValueCompleter::new("PROVIDER/ID", move |word| {
            filter_candidates(word, models.iter().map(Into::into))
        }),
        ValueCompleter::new("COMMAND|TOPIC", move |word| {
            filter_candidates(word, help_candidates.iter().map(copy_candidate))
        }),
    ]
}

/// The completer for all arguments whose value has a name.
struct ValueCompleter {
    /// The name of the value in the help, such as `SESSION`.
    value_name: &'static str,
    completer: ArgValueCompleter,
}

impl ValueCompleter {
    /// `find` returns the candidates for a word.
    fn new(
        value_name: &'static str,
        find: impl Fn(&str) -> Vec<CompletionCandidate> + Send + Sync + 'static,
    ) -> ValueCompleter {
        ValueCompleter {
            value_name,
            completer: ArgValueCompleter::new(move |word: &OsStr| find(&word.to_string_lossy())),
        }
    }
}

/// What is needed to complete a session or an entry.
struct SessionCompletion {
    /// The sessions to offer by id or name.
    sessions: Vec<KnownSession>,
    /// The entries of the given session; none if no session is given.
    entries: EntryCandidates,
    /// The directory to which relative paths belong.
    folder: PathBuf,
    home: Option<String>,
}

impl SessionCompletion {
    /// Returns the sessions that a word may begin to name, and then the files whose paths it may
    /// begin.
    fn complete_session(&self, word: &str) -> Vec<CompletionCandidate> {
        let mut candidates = complete_sessions(word, &self.sessions);
        let home = self.home.as_deref().map(Path::new);
        candidates.extend(complete_files(word, &self.folder, home));
        candidates
    }

    /// Returns the references that a word may begin.
    fn complete_reference(&self, word: &str) -> Vec<CompletionCandidate> {
        self.entries.complete_reference(word)
    }

    /// Returns the references, and then the sessions and files.
    fn complete_either(&self, word: &str) -> Vec<CompletionCandidate> {
        let mut candidates = self.complete_reference(word);
        candidates.extend(self.complete_session(word));
        candidates
    }
}

/// Returns the entries of a session; no entries if it cannot be read.
fn read_entries(path: &Path, home: Option<&str>) -> EntryCandidates {
    let Ok(file) = Glance::open(path) else {
        return EntryCandidates::default();
    };
    EntryCandidates::read(&file, home).unwrap_or_default()
}

/// A session that may be offered.
#[derive(Debug)]
struct KnownSession {
    /// The session's id, or an alias such as `last`.
    id: String,
    name: Option<String>,
    /// The first user message, or the title of an archived session.
    question: String,
}

impl KnownSession {
    fn new(id: &Text, name: Option<Text>, question: &Text) -> KnownSession {
        KnownSession {
            id: id.to_string_lossy().into_owned(),
            name: name.map(|name| name.to_string_lossy().into_owned()),
            question: question.to_string_lossy().into_owned(),
        }
    }

    /// Returns the session under the alias `last`.
    fn as_last(&self) -> KnownSession {
        KnownSession {
            id: "last".to_owned(),
            name: None,
            question: self.question.clone(),
        }
    }

    /// Returns the session as a candidate. Its description is the first user message, preceded by
    /// `name` if that is given.
    fn to_candidate(&self, value: &str, name: Option<&str>) -> CompletionCandidate {
        let name = name.unwrap_or_default();
        let question = self.question.trim();
        let separator = if name.is_empty() || question.is_empty() {
            ""
        } else {
            ": "
        };
        new_candidate(value, format!("{name}{separator}{question}"))
    }
}

/// Returns the sessions that may be offered for the last word.
///
/// These are the sessions of the current directory, the newest first, preceded by `last`. If the
/// word is not empty and no session is given yet (`needs_session`), sessions of other projects
/// follow. `archive --restore` and `archive --delete` get the archived sessions instead.
fn list_sessions(words: &[OsString], needs_session: bool, ui: &Ui) -> Vec<KnownSession> {
    let word = match words.last() {
        Some(word) => word.to_string_lossy(),
        None => "".into(),
    };
    if is_path_or_option(&word) {
        return Vec::new();
    }
    let stores = SessionStores::locate(ui);
    if completes_archives(words) {
        return list_archived_sessions(&stores);
    }

    let paths: Vec<PathBuf> = stores.newest_sessions().take(MAX_SESSIONS).collect();
    let newest_sessions = read_known_sessions(&paths, ui);
    let mut sessions = Vec::new();
    sessions.extend(newest_sessions.first().map(KnownSession::as_last));
    sessions.extend(newest_sessions);
    // The first two words are `pisess` and the command.
    let is_argument = words.len() > 2;
    // Without a word, the sessions of other projects would be too many.
    if needs_session && is_argument && !word.is_empty() {
        let other_paths = list_other_projects(&stores, &paths);
        sessions.extend(read_known_sessions(&other_paths, ui));
    }
    sessions
}

/// Whether a word is written as a path or an option, and so is not the beginning of a name.
fn is_path_or_option(word: &str) -> bool {
    word.starts_with(['/', '\\', '.', '~', '-']) || is_windows_absolute(word.as_bytes())
}

/// Whether a command line is of `archive --restore` or `archive --delete`.
fn completes_archives(words: &[OsString]) -> bool {
    let has_word = |wanted: &str| words.iter().any(|word| word == wanted);
    has_word("archive") && (has_word("--restore") || has_word("--delete"))
}

/// Returns archived sessions of all projects. Archives that cannot be read are left out.
fn list_archived_sessions(stores: &SessionStores) -> Vec<KnownSession> {
    let archives = stores
        .find_archives(ArchiveScope::AllProjects)
        .unwrap_or_default();
    archives
        .iter()
        .take(MAX_SESSIONS)
        .filter_map(|path| read_archived_session(path))
        .collect()
}

/// Returns the sessions in all stores that are not in `known_paths`, the newest first, without
/// sessions of sub-agents.
fn list_other_projects(stores: &SessionStores, known_paths: &[PathBuf]) -> Vec<PathBuf> {
    let known: HashSet<&PathBuf> = known_paths.iter().collect();
    let mut others = Vec::new();
    for file in stores.find_sessions(&Scope::All).files {
        if file.owner.is_none() && !known.contains(&file.path) {
            others.push(file.path);
        }
    }
    others.sort_by_cached_key(|path| Reverse(modified_ms(path)));
    others.truncate(MAX_OTHER_SESSIONS);
    others
}

/// Reads sessions on all processors, and returns them in the same order. Sessions that cannot be
/// read are left out.
fn read_known_sessions(paths: &[PathBuf], ui: &Ui) -> Vec<KnownSession> {
    let mut sessions = Vec::new();
    let read = |path: &PathBuf| read_known_session(path);
    let add = |session: Option<KnownSession>| {
        sessions.extend(session);
        Ok::<(), Infallible>(())
    };
    // `add` cannot fail, so the result is `Ok` by its type.
    let Ok(()) = in_order(paths, ui.processor_count(), read, add);
    sessions
}

/// Reads the beginning of a session, and its name. The name may be anywhere in the file, and is
/// searched for from the end. `None` if the session cannot be read.
fn read_known_session(path: &Path) -> Option<KnownSession> {
    let file = Glance::open(path).ok()?;
    let head = peek::head(&file).ok()?;
    let name = peek::read_name(&head, &file).ok()?;
    Some(KnownSession::new(
        &head.header.id,
        name,
        &peek::read_opening(&file, HEAD_BYTES),
    ))
}

/// Reads an archived session; `None` if its archive cannot be read.
fn read_archived_session(path: &Path) -> Option<KnownSession> {
    let session = read_archive_facts(path)?;
    Some(KnownSession::new(
        &session.header.id,
        session.name,
        &session.title,
    ))
}

/// Returns the sessions whose name or id begins with `word`.
///
/// The candidate for a session is the first of these that begins with the word: its name, the
/// suffix of its id, its whole id. A name that several sessions have is not offered. Instead, a
/// word that begins such a name offers the suffix of each id, described by the name.
fn complete_sessions(word: &str, sessions: &[KnownSession]) -> Vec<CompletionCandidate> {
    let mut name_counts: HashMap<&str, usize> = HashMap::default();
    for session in sessions {
        if let Some(name) = &session.name {
            *name_counts.entry(name).or_default() += 1;
        }
    }

    let mut candidates = Vec::new();
    for session in sessions {
        let name = session.name.as_deref();
        let has_shared_name = name.is_some_and(|name| name_counts[name] > 1);
        let value = if has_shared_name {
            find_distinct_value(word, session)
        } else {
            find_value(word, session)
        };
        let described_name = if has_shared_name { name } else { None };
        if let Some(value) = value {
            candidates.push(session.to_candidate(value, described_name));
        }
    }
    candidates
}

/// Returns the first of these that begins with `word`: the name of a session, the suffix of its id,
/// its whole id.
fn find_value<'s>(word: &str, session: &'s KnownSession) -> Option<&'s str> {
    let id = &*session.id;
    let short_id = id_suffix(id, ID_SUFFIX_LEN);
    match session.name.as_deref() {
        Some(name) => first_with_prefix(word, &[name, short_id, id]),
        None => first_with_prefix(word, &[short_id, id]),
    }
}

/// Returns the value for a session whose name other sessions have, too: the suffix of its id if
/// `word` begins the name; otherwise the first that begins with `word` of that suffix and the whole
/// id.
fn find_distinct_value<'s>(word: &str, session: &'s KnownSession) -> Option<&'s str> {
    let id = &*session.id;
    let short_id = id_suffix(id, ID_SUFFIX_LEN);
    match session.name.as_deref() {
        Some(name) if name.starts_with(word) => Some(short_id),
        _ => first_with_prefix(word, &[short_id, id]),
    }
}

/// Returns the first of the values that begins with the word.
fn first_with_prefix<'v>(word: &str, values: &[&'v str]) -> Option<&'v str> {
    values.iter().copied().find(|value| value.starts_with(word))
}

/// Returns the directories and `*.jsonl` files whose paths begin with `word`, sorted. A relative
/// path is below `folder`. Hidden names are offered only if the last name in `word` is not empty,
/// and so begins with a dot.
fn complete_files(word: &str, folder: &Path, home: Option<&Path>) -> Vec<CompletionCandidate> {
    let TypedPath {
        folder_part,
        name_prefix,
    } = TypedPath::split(word);
    let Ok(entries) = std::fs::read_dir(folder.join(expand_home(folder_part, home))) else {
        return Vec::new();
    };
    let mut paths = Vec::new();
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name_bytes = name.as_encoded_bytes();
        let is_unwanted_hidden = name_bytes.starts_with(b".") && name_prefix.is_empty();
        let begins_with_prefix = name_bytes.starts_with(name_prefix.as_encoded_bytes());
        if is_unwanted_hidden || !begins_with_prefix {
            continue;
        }

        let is_folder = entry.path().is_dir();
        let is_session = Path::new(&name).extension() == Some(OsStr::new("jsonl"));
        if !is_folder && !is_session {
            continue;
        }
        let mut value = folder_part.join(&name).into_os_string();
        if is_folder {
            value.push(MAIN_SEPARATOR_STR);
        }
        paths.push(value.to_string_lossy().into_owned());
    }
    paths.sort_unstable();
    paths.into_iter().map(Into::into).collect()
}

/// Expands `~` at the start of a path to the home directory, as a shell does.
fn expand_home(path: &Path, home: Option<&Path>) -> PathBuf {
    match (path.strip_prefix("~"), home) {
        (Ok(below), Some(home)) => home.join(below),
        _ => path.to_owned(),
    }
}

/// The parts of a path that is being typed.
struct TypedPath<'w> {
    /// The directory, as it is typed.
    folder_part: &'w Path,
    /// The beginning of a name in the directory.
    name_prefix: &'w OsStr,
}

impl TypedPath<'_> {
    /// Splits `a/b` into the directory `a` and the beginning `b` of a name. In `a/`, that beginning
    /// is empty.
    fn split(word: &str) -> TypedPath<'_> {
        let path = Path::new(word);
        if word.ends_with(std::path::is_separator) {
            return TypedPath {
                folder_part: path,
                name_prefix: OsStr::new(""),
            };
        }
        TypedPath {
            folder_part: path.parent().unwrap_or(Path::new("")),
            name_prefix: path.file_name().unwrap_or_default(),
        }
    }
}

/// Returns the models of the named session and of the newest sessions, if the last word is the
/// value of `--model`. Otherwise returns none, because reading the sessions takes time.
fn find_models(command: &Command, words: &[OsString], ui: &Ui) -> Vec<String> {
    // The last word is the value of `--model` if the word before it is `--model`, or if it is
    // itself `--model=VALUE`.
    let is_model = |word: &OsString| word.to_string_lossy().split('=').next() == Some("--model");
    let mut last_two_words = words.iter().rev().take(2);
    if !last_two_words.any(is_model) {
        return Vec::new();
    }

    let stores = SessionStores::locate(ui);
    let mut paths = Vec::new();
    paths.extend(find_session(command, words, ui));
    paths.extend(stores.newest_sessions().take(MAX_MODEL_SESSIONS));
    read_models(&paths)
}

/// Returns the models near the ends of sessions, each once. Sessions that cannot be read are
/// skipped.
fn read_models(paths: &[PathBuf]) -> Vec<String> {
    let mut models = Vec::new();
    for path in paths {
        let Ok(file) = Glance::open(path) else {
            continue;
        };
        for model in models_near_end(&file).unwrap_or_default() {
            if !models.contains(&model) {
                models.push(model);
            }
        }
    }
    models
}

/// The id of the argument `--from-session` of `pick`.
const FROM_SESSION: &str = "from_session";

/// Returns the path of the session whose entries complete the last word. The words before the last
/// one name the session, as in `pisess show last 1f`. `None` if they name no session, or if it is
/// not found.
fn find_session(command: &Command, words: &[OsString], ui: &Ui) -> Option<PathBuf> {
    let words_before = &words[..words.len().saturating_sub(1)];
    // Required arguments may still be missing.
    let matches = command
        .clone()
        .ignore_errors(true)
        .try_get_matches_from(words_before)
        .ok()?;
    let (name, matches) = matches.subcommand()?;
    let subcommand = command.find_subcommand(name)?;

    let argument = find_session_argument(subcommand, matches, words_before)?;
    let home = ui.home();
    let path_or_name = expand_home(Path::new(argument), home.as_deref().map(Path::new));
    resolve_name(&path_or_name, ui).ok()
}

/// Returns the argument that names the session whose entries complete the last word: SESSION, or
/// for `pick --from-session OTHER`, usually OTHER. `None` if neither is given.
fn find_session_argument<'m>(
    subcommand: &Command,
    matches: &'m ArgMatches,
    words_before: &[OsString],
) -> Option<&'m OsStr> {
    // The argument is found by the name of its value in the help.
    let session = subcommand
        .get_positionals()
        .find(|arg| value_name(arg) == "SESSION")?;

    // clap panics if it is asked for an argument that the command does not have.
    let has_from_session = subcommand
        .get_arguments()
        .any(|arg| arg.get_id() == FROM_SESSION);
    // `pick` copies entries of OTHER to SESSION. The value of `--at` is the entry of SESSION below
    // which they are copied; the other references are entries of OTHER.
    let is_value_of_at = words_before.last().is_some_and(|word| word == "--at");
    if has_from_session && !is_value_of_at {
        let other = first_raw_value(matches, FROM_SESSION);
        if other.is_some() {
            return other;
        }
    }
    first_raw_value(matches, session.get_id().as_str())
}

/// Returns the first value of an argument; `None` if the argument is not given.
fn first_raw_value<'m>(matches: &'m ArgMatches, id: &str) -> Option<&'m OsStr> {
    let mut values = matches.get_raw(id)?;
    values.next()
}
