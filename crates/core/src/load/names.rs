//! Finds sessions by name: `last`, the start or end of an id, the start of a short id, or a name
//! that the user gave.
//!
//! In the stores of both agents, the sessions of the current project are searched first, then all,
//! as pi does. The agents' file names contain the ids, so files whose name contains another id are
//! skipped. Names given by the user are inside the files, and are searched for only if no id
//! matches. Then all files are read, so an id is also found in a file whose name contains another.
//! A match by id still counts more than one by name.

use super::peek;
use crate::agents::stores::{BaseDirs, Store, is_cwd};
use crate::format::{ID_SUFFIX_LEN, id_suffix};
use crate::load::{LoadError, WrongFile};
use crate::session::Header;
use crate::session::dialect::Dialect;
use foldhash::HashSet;
use pisess_json::text::Text;
use pisess_store::workers::in_order;
use pisess_store::{self as store, DatedFile, Glance, Reach};
use std::cmp::Reverse;
use std::convert::Infallible;
use std::path::{Path, PathBuf};

/// The minimum number of characters of a part of an id that names a session.
pub const MIN_ID_PART_LEN: usize = 4;
/// The minimum number of characters of the start of a name that names a session.
const MIN_NAME_PART_LEN: usize = 2;
/// The maximum number of sessions that an error lists if several match.
const MAX_CANDIDATES: usize = 8;
/// The maximum number of similar names to suggest.
const MAX_SUGGESTIONS: usize = 3;

/// Why a name does not identify exactly one session.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The current project has fewer sessions than the name requires.
    #[error("{}", no_last(*back, *sessions))]
    NoLast {
        /// The number of sessions to go back from the newest: 2 for `last~2`.
        back: usize,
        /// The number of sessions.
        sessions: usize,
    },
    /// No id and no name matches.
    #[error("{name}: no such file, and no session with that id or name")]
    Unknown {
        /// The name.
        name: String,
        /// Similar names.
        similar: Vec<String>,
    },
    /// Several sessions match.
    #[error("`{name}` matches {}", count_matches(*sessions, id_of_copies.as_deref()))]
    Ambiguous {
        /// The name.
        name: String,
        /// Some of them: the ones that changed last.
        candidates: Vec<SessionCandidate>,
        /// The number of sessions that match.
        sessions: usize,
        /// The id of the sessions if all of them are copies of one session.
        id_of_copies: Option<String>,
    },
}

impl NameError {
    /// Returns the hint that is printed below the error: what to try instead.
    pub fn hint(&self) -> String {
        match self {
            NameError::NoLast { sessions: 0, .. } => {
                "`pisess list --all` lists the sessions of all directories".to_owned()
            }
            NameError::NoLast { .. } => {
                "`pisess list` lists the sessions for this directory".to_owned()
            }
            NameError::Unknown { name, similar } => hint_for_unknown(name, similar),
            NameError::Ambiguous {
                id_of_copies: Some(_),
                ..
            } => "give the path".to_owned(),
            NameError::Ambiguous { .. } => "give the id or the path".to_owned(),
        }
    }

    /// Returns the id of the matching sessions if all of them are copies of one session.
    pub fn id_of_copies(&self) -> Option<&str> {
        match self {
            NameError::Ambiguous { id_of_copies, .. } => id_of_copies.as_deref(),
            _ => None,
        }
    }
}

fn count_matches(sessions: usize, id_of_copies: Option<&str>) -> String {
    if id_of_copies.is_some() {
        format!("{sessions} copies of one session")
    } else {
        format!("{sessions} sessions")
    }
}

/// Returns the hint for a name that no session has. `similar` are the names of sessions that it
/// resembles. Without any, the hint depends on what the name looks like: a reference to an entry,
/// such as `@^` or git's `HEAD~2`, a mistyped `last~1`, a quoted title, or a word, which may be one
/// of a title without quotes.
fn hint_for_unknown(name: &str, similar: &[String]) -> String {
    if !similar.is_empty() {
        return format!("did you mean {}?", similar.join(" or "));
    }
    if is_reference(name) {
        return hint_for_reference(name);
    }
    let has_several_words = name.contains(char::is_whitespace);
    let hint = if is_like_last(name) {
        "`last~1` is the session before `last`; an entry is given after its session, as in `last @^`"
    } else if has_several_words {
        "`pisess list --all` lists all sessions; `pisess grep --all TEXT` searches their text"
    } else {
        "`pisess list --all` lists all sessions; several words need quotes"
    };
    hint.to_owned()
}

/// Returns the hint for a reference to an entry where a session was expected. A reference of git is
/// replaced by the one of pisess with the same meaning: `HEAD~2` -> `@~2`.
fn hint_for_reference(name: &str) -> String {
    let reference = match suffix_of_head(name) {
        Some(suffix) => format!("@{suffix}"),
        None => name.to_owned(),
    };
    format!("an entry is given after its session, as in `last {reference}`")
}

/// Whether a name looks like `last` with a suffix that pisess does not accept: the suffix of a
/// reference to an entry, or `-` and a number.
fn is_like_last(name: &str) -> bool {
    let Some(suffix) = name.strip_prefix("last") else {
        return false;
    };
    if let Some(number) = suffix.strip_prefix('-') {
        return number.starts_with(|digit: char| digit.is_ascii_digit());
    }
    suffix.starts_with(['@', '^', '~', ':'])
}

/// Whether a name, which no session has, looks like a reference to an entry in pisess or to a
/// commit in git.
fn is_reference(name: &str) -> bool {
    name.starts_with(['@', ':'])
        || suffix_of_head(name).is_some()
        || ["id:", "label:"].iter().any(|form| name.starts_with(form))
}

/// Returns what follows `HEAD` in a name such as git's `HEAD~2`; `None` if the name is another
/// word.
fn suffix_of_head(name: &str) -> Option<&str> {
    let suffix = name.strip_prefix("HEAD")?;
    if suffix.is_empty() || suffix.starts_with(['@', '^', '~', ':']) {
        Some(suffix)
    } else {
        None
    }
}

/// Returns the message that the project has too few sessions for `last~back`.
fn no_last(back: usize, sessions: usize) -> String {
    match sessions {
        0 => "there is no session for this directory".to_owned(),
        1 => format!("last~{back}: there is only 1 session for this directory"),
        _ => format!("last~{back}: there are only {sessions} sessions for this directory"),
    }
}

/// A session that a name may identify.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SessionCandidate {
    /// The path of its file.
    pub path: PathBuf,
    /// The id.
    pub id: String,
    /// The name; `None` if it has none or if names were not read.
    pub name: Option<String>,
}

/// A session that a name identifies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NamedSession {
    /// The path of its file.
    pub path: PathBuf,
    /// What of the session matches.
    pub matched: Matched,
}

/// What of a session matches a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Matched {
    /// Its id or a part of it, or its whole name.
    IdOrName,
    /// Only the start of its name, so that another session may be meant.
    StartOfName,
}

/// Returns the session that a name identifies. `lists` are searched one after the other, until one
/// has a match. Lists after that are not requested from the iterator.
///
/// Within a list, the first of these that any session matches decides: its exact id; the start or
/// end of its id; the start of its short id, which `list` shows; its exact name.
///
/// If no list has such a match, names are compared again in all lists, ignoring case: first whole
/// names, then their starts.
///
/// # Errors
/// If no session of any list matches; the error suggests similar names of the last list. If several
/// sessions of one list match in the same way.
pub fn choose_session(
    name: &str,
    lists: impl IntoIterator<Item = Vec<SessionCandidate>>,
) -> Result<NamedSession, NameError> {
    let mut searched_lists = Vec::new();
    for sessions in lists {
        if let Some(path) = find_by_id_or_name(name, &sessions)? {
            let matched = Matched::IdOrName;
            return Ok(NamedSession { path, matched });
        }
        searched_lists.push(sessions);
    }

    // After all lists, so that an exact name in a later list counts more than a similar name in an
    // earlier one.
    for matched in [Matched::IdOrName, Matched::StartOfName] {
        for sessions in &searched_lists {
            if let Some(path) = find_ignoring_case(name, sessions, matched)? {
                return Ok(NamedSession { path, matched });
            }
        }
    }
    let last_list = searched_lists.pop().unwrap_or_default();
    Err(NameError::Unknown {
        name: name.to_owned(),
        similar: similar_names(name, &last_list),
    })
}

/// Returns the only session of a list whose id, short id or name is `name`, compared in this order;
/// `None` if there is none. An id also matches by its start or its end, a short id by its start.
///
/// # Errors
/// If several sessions match in the same way.
fn find_by_id_or_name(
    name: &str,
    sessions: &[SessionCandidate],
) -> Result<Option<PathBuf>, NameError> {
    let with_id = filter_sessions(sessions, |session| matches_id(name, &session.id));
    if let Some(path) = require_unique(name, prefer_exact_id(name, with_id))? {
        return Ok(Some(path));
    }
    let with_short_id = filter_sessions(sessions, |session| matches_short_id(name, &session.id));
    if let Some(path) = require_unique(name, with_short_id)? {
        return Ok(Some(path));
    }
    let with_name = filter_sessions(sessions, |session| session.name.as_deref() == Some(name));
    require_unique(name, with_name)
}

/// Returns the only session of a list whose name is `name` or, if wanted, starts with it, ignoring
/// case; `None` if there is none.
///
/// # Errors
/// If several sessions match.
fn find_ignoring_case(
    name: &str,
    sessions: &[SessionCandidate],
    wanted: Matched,
) -> Result<Option<PathBuf>, NameError> {
    let folded_name = name.to_lowercase();
    let with_name = filter_sessions(sessions, |session| {
        let Some(own_name) = &session.name else {
            return false;
        };
        let own_name = own_name.to_lowercase();
        match wanted {
            Matched::IdOrName => own_name == folded_name,
            Matched::StartOfName => is_start_of_name(&folded_name, &own_name),
        }
    });
    require_unique(name, with_name)
}

/// Whether a name starts with the wanted text, which must have at least [`MIN_NAME_PART_LEN`]
/// characters.
fn is_start_of_name(wanted: &str, name: &str) -> bool {
    wanted.chars().count() >= MIN_NAME_PART_LEN && name.starts_with(wanted)
}

/// Returns the sessions for which `is_match` is true.
fn filter_sessions(
    known: &[SessionCandidate],
    is_match: impl Fn(&SessionCandidate) -> bool,
) -> Vec<SessionCandidate> {
    known
        .iter()
        .filter(|session| is_match(session))
        .cloned()
        .collect()
}

/// Returns the path of the session that a name identifies in the stores of both agents.
///
/// `last` and `last~2` count back from the newest session of the current project. Any other name is
/// searched for in the lists of `SEARCH_STEPS`, each of which is made only if no list before has
/// a match. Up to `workers` threads read files for a list.
pub fn find_session(
    name: &str,
    stores: &[Store],
    here: BaseDirs,
    workers: usize,
) -> Result<NamedSession, NameError> {
    if let Some(back) = parse_steps_back(name) {
        let path = nth_newest(back, newest_sessions(stores, here))?;
        let matched = Matched::IdOrName;
        return Ok(NamedSession { path, matched });
    }
    // The iterator is lazy: a list is made when `choose_session` asks for it.
    let lists = SEARCH_STEPS
        .iter()
        .map(|step| list_candidates(name, *step, stores, here, workers));
    choose_session(name, lists)
}

/// Returns the session in a range whose whole name is `name`. If no name is exactly that, case is
/// ignored. Parts of names, and ids, are not compared. As in [`find_session`], `last` and `last~2`
/// are names. `None` if no session has the name.
///
/// # Errors
/// If several sessions have the name.
pub fn find_by_whole_name(
    name: &str,
    range: SearchRange,
    stores: &[Store],
    here: BaseDirs,
    workers: usize,
) -> Result<Option<PathBuf>, NameError> {
    if let Some(back) = parse_steps_back(name) {
        return Ok(newest_sessions(stores, here).nth(back));
    }
    let files = list_files(range, stores, here);
    let mut sessions = read_sessions(&files, workers);
    let folded_name = name.to_lowercase();
    sessions.retain(|session| {
        let own_name = session.name.as_deref().unwrap_or_default();
        own_name.to_lowercase() == folded_name
    });
    let exact = filter_sessions(&sessions, |session| session.name.as_deref() == Some(name));
    match require_unique(name, exact)? {
        Some(path) => Ok(Some(path)),
        None => require_unique(name, sessions),
    }
}

/// Returns the paths of all files in the stores of both agents that have exactly this id in their
/// headers: usually one, and several if a session was copied. Each file has one path, even if links
/// lead to it.
pub fn find_copies(id: &str, stores: &[Store]) -> Vec<PathBuf> {
    let mut paths = Vec::new();
    for session in read_sessions_with_id(id, &all_session_files(stores)) {
        if session.id == id {
            paths.push(session.path);
        }
    }
    store::distinct_files(paths, PathBuf::as_path)
}

/// A list of sessions in which a name is searched for.
#[derive(Clone, Copy)]
struct SearchStep {
    range: SearchRange,
    name_reading: NameReading,
}

/// Which sessions are in a list.
#[derive(Clone, Copy, Debug)]
pub enum SearchRange {
    /// Those of the current project.
    Project,
    /// All in the stores, including those of sub-agents.
    AllProjects,
}

/// The lists in which [`find_session`] searches, one after the other. Ids are in the names of most
/// files, but for names all files must be read, so ids come first.
const SEARCH_STEPS: [SearchStep; 4] = [
    SearchStep {
        range: SearchRange::Project,
        name_reading: NameReading::Skip,
    },
    SearchStep {
        range: SearchRange::AllProjects,
        name_reading: NameReading::Skip,
    },
    SearchStep {
        range: SearchRange::Project,
        name_reading: NameReading::Read,
    },
    SearchStep {
        range: SearchRange::AllProjects,
        name_reading: NameReading::Read,
    },
];

/// Returns the sessions to compare with the wanted name or id in one step of the search. If names
/// are not read, files whose names contain another id than the wanted one are not opened.
fn list_candidates(
    wanted: &str,
    step: SearchStep,
    stores: &[Store],
    here: BaseDirs,
    workers: usize,
) -> Vec<SessionCandidate> {
    let files = list_files(step.range, stores, here);
    match step.name_reading {
        NameReading::Skip => read_sessions_with_id(wanted, &files),
        NameReading::Read => read_sessions(&files, workers),
    }
}

fn list_files(range: SearchRange, stores: &[Store], here: BaseDirs) -> Vec<PathBuf> {
    match range {
        SearchRange::Project => newest_sessions(stores, here).collect(),
        SearchRange::AllProjects => all_session_files(stores),
    }
}

/// Returns the paths of the sessions of the current project in the stores of both agents, the most
/// recently changed first. The first path of each agent is the session that its `--continue` opens.
pub fn newest_sessions<'a>(
    stores: &'a [Store],
    here: BaseDirs<'a>,
) -> impl Iterator<Item = PathBuf> + use<'a> {
    let mut files = list_stored_files(stores);
    // Newest first; of the same time, the greatest path first.
    files.sort_by(|a, b| {
        let by_time = b.file.modified.cmp(&a.file.modified);
        by_time.then_with(|| b.file.path.as_os_str().cmp(a.file.path.as_os_str()))
    });

    // The iterator is lazy: files are opened only as far as the caller asks for sessions.
    let sessions = files
        .into_iter()
        .filter(move |stored| is_project_session(&stored.file.path, stored.store, here));
    sessions.map(|stored| stored.file.path)
}

/// A session file, and the store that has it.
struct StoredFile<'a> {
    file: DatedFile,
    store: &'a Store,
}

/// Returns the session files in the folders of the stores. A folder that two stores share is listed
/// once, for the first of them.
fn list_stored_files(stores: &[Store]) -> Vec<StoredFile<'_>> {
    let mut listed_folders = HashSet::default();
    let mut files = Vec::new();
    for store in stores {
        for folder in &store.folders {
            let is_new = listed_folders.insert(folder);
            if !is_new {
                continue;
            }
            for file in store::session_files_in(folder) {
                files.push(StoredFile { file, store });
            }
        }
    }
    files
}

/// Whether a file in a folder of a store is a session that the agent would continue in the current
/// project.
///
/// In a flat store, the `cwd` in the header decides to which project a session belongs; in any
/// other store, the folder does. Blank sessions of oh-my-pi do not count, because oh-my-pi does not
/// continue them.
fn is_project_session(path: &Path, store: &Store, here: BaseDirs) -> bool {
    let Ok(file) = Glance::open(path) else {
        return false;
    };
    let head = match peek::head(&file) {
        Ok(head) => head,
        // A session in a newer format counts, although its header is not read: `last` must not
        // silently name an older session.
        Err(LoadError::NotASession {
            what: WrongFile::Newer(_),
            ..
        }) => return true,
        Err(_) => return false,
    };
    if store.agent == Dialect::OhMyPi && peek::is_blank(&head, &file) {
        return false;
    }
    !store.is_flat() || is_in_project(&head.header, here)
}

/// Returns the session at the index `back` of `newest`, the paths of the sessions from the newest
/// on: `last~2` is index 2.
///
/// # Errors
/// If there is no such index. The error has the number of sessions.
pub fn nth_newest(
    back: usize,
    newest: impl Iterator<Item = PathBuf>,
) -> Result<PathBuf, NameError> {
    let mut newer_sessions = 0;
    for path in newest {
        if newer_sessions == back {
            return Ok(path);
        }
        newer_sessions += 1;
    }
    Err(NameError::NoLast {
        back,
        sessions: newer_sessions,
    })
}

/// Returns all session files in all stores, including the sessions of sub-agents.
fn all_session_files(stores: &[Store]) -> Vec<PathBuf> {
    let roots: Vec<_> = stores.iter().map(|store| store.root.clone()).collect();
    store::find(&roots, Reach::Whole)
        .files
        .into_iter()
        .map(|file| file.path)
        .collect()
}

/// Whether the `cwd` in a session's header is the current project.
pub fn is_in_project(header: &Header, here: BaseDirs) -> bool {
    header
        .cwd
        .as_ref()
        .is_some_and(|cwd| is_cwd(&cwd.to_string_lossy(), here))
}

/// Parses `last` as 0 and `last~2` as 2; `None` for any other name.
pub fn parse_steps_back(name: &str) -> Option<usize> {
    match name.strip_prefix("last")? {
        "" => Some(0),
        "~" => Some(1),
        steps => steps.strip_prefix('~')?.parse().ok(),
    }
}

/// Returns the sessions in those files that may have the wanted id, without their names. A file is
/// skipped if its name contains another id.
fn read_sessions_with_id(wanted: &str, files: &[PathBuf]) -> Vec<SessionCandidate> {
    let mut sessions = Vec::new();
    for path in files {
        let may_be_wanted = match id_in_name(path) {
            Some(id) => matches_id(wanted, id) || matches_short_id(wanted, id),
            // The user may have renamed the file: only its header has the id.
            None => true,
        };
        if may_be_wanted {
            sessions.extend(read_candidate(path, NameReading::Skip));
        }
    }
    sessions
}

/// Whether an id is the wanted one, or starts or ends with it. A part of an id must have at least
/// [`MIN_ID_PART_LEN`] characters.
fn matches_id(wanted: &str, id: &str) -> bool {
    let is_long_enough = wanted.chars().count() >= MIN_ID_PART_LEN;
    id == wanted || is_long_enough && (id.starts_with(wanted) || id.ends_with(wanted))
}

/// Whether the short form of an id, as `list` shows it, starts with the wanted text. If two
/// sessions have the same short id, `list` shows four more characters, so these are compared, too.
fn matches_short_id(wanted: &str, id: &str) -> bool {
    wanted.chars().count() >= MIN_ID_PART_LEN
        && [ID_SUFFIX_LEN, ID_SUFFIX_LEN + 4]
            .iter()
            .any(|&length| id_suffix(id, length).starts_with(wanted))
}

/// Returns the sessions whose id is exactly the wanted one; if there are none, all of them.
fn prefer_exact_id(wanted: &str, mut sessions: Vec<SessionCandidate>) -> Vec<SessionCandidate> {
    let has_exact_match = sessions.iter().any(|session| session.id == wanted);
    if has_exact_match {
        sessions.retain(|session| session.id == wanted);
    }
    sessions
}

/// Returns the id in a file name that an agent gave, `2026-01-31T10-00-00-000Z_ID.jsonl`; `None`
/// for any other file name.
pub(crate) fn id_in_name(path: &Path) -> Option<&str> {
    let (time, id) = path.file_stem()?.to_str()?.split_once('_')?;
    let is_time = time.len() == "2026-01-31T10-00-00-000Z".len()
        && time.as_bytes()["2026-01-31".len()] == b'T'
        && time.ends_with('Z');
    if is_time { Some(id) } else { None }
}

/// Returns the sessions in these files, with their names. Up to `workers` threads read them. The
/// result is in the order of the files; files that are not sessions are left out.
fn read_sessions(files: &[PathBuf], workers: usize) -> Vec<SessionCandidate> {
    let mut sessions = Vec::new();
    // Neither closure can fail: what cannot be read is left out.
    let Ok(()) = in_order(
        files,
        workers,
        |path| read_candidate(path, NameReading::Read),
        |session| {
            sessions.extend(session);
            Ok::<(), Infallible>(())
        },
    );
    sessions
}

/// Whether to read the name of a session. That takes longer than reading its id, because the name
/// may be anywhere in the file.
#[derive(Clone, Copy, PartialEq, Eq)]
enum NameReading {
    Read,
    Skip,
}

/// Reads the id of a session and, if requested, its name. `None` for a file that is not a session,
/// or cannot be read.
fn read_candidate(path: &Path, name_reading: NameReading) -> Option<SessionCandidate> {
    let file = Glance::open(path).ok()?;
    let head = peek::head(&file).ok()?;
    let name = match name_reading {
        NameReading::Read => peek::read_name(&head, &file).ok()?,
        NameReading::Skip => None,
    };
    let id = head.header.id.to_string_lossy().into_owned();
    Some(SessionCandidate {
        path: path.to_owned(),
        id,
        name: name.map(Text::into_string_lossy),
    })
}

/// Returns the path of the only session that matches a name; `None` if none does. Several paths of
/// one file, which links give it, are one session.
///
/// # Errors
/// If several match. The error lists the ones that changed last.
fn require_unique(
    name: &str,
    matches: Vec<SessionCandidate>,
) -> Result<Option<PathBuf>, NameError> {
    let mut matches = store::distinct_files(matches, |session| &session.path);
    if matches.len() <= 1 {
        return Ok(matches.pop().map(|session| session.path));
    }
    let sessions = matches.len();
    let id_of_copies = find_id_of_copies(&matches);
    // The sessions that changed last are the most likely to be meant.
    matches.sort_by_cached_key(|session| Reverse(store::modified(&session.path)));
    matches.truncate(MAX_CANDIDATES);
    Err(NameError::Ambiguous {
        name: name.to_owned(),
        candidates: matches,
        sessions,
        id_of_copies,
    })
}

/// Returns the id that all of these sessions have; `None` if they have several.
fn find_id_of_copies(sessions: &[SessionCandidate]) -> Option<String> {
    let (first, others) = sessions.split_first()?;
    if others.iter().all(|session| session.id == first.id) {
        Some(first.id.clone())
    } else {
        None
    }
}

/// Returns names and ids of sessions that are spelled like `wanted`, the most similar first.
///
/// The measure is the number of edits (insert, delete, replace, swap two neighbours) between the
/// texts. One edit is allowed, and one more for every four characters of `wanted` if it is compared
/// with a name, for every eight if with an id.
fn similar_names(wanted: &str, sessions: &[SessionCandidate]) -> Vec<String> {
    let length = wanted.chars().count();
    let max_name_distance = 1 + length / 4;
    let max_id_distance = 1 + length / 8;

    // The distance comes first in each pair, so that sorting puts the most similar name first.
    let mut similar: Vec<(usize, &str)> = Vec::new();
    for session in sessions {
        if let Some(name) = &session.name {
            let distance = strsim::osa_distance(wanted, name);
            if distance <= max_name_distance {
                similar.push((distance, name));
            }
        }
        if let Some(distance) = distance_to_id(wanted, &session.id)
            && distance <= max_id_distance
        {
            similar.push((distance, &session.id));
        }
    }
    similar.sort_unstable();
    // Several sessions may have the same name; equal pairs are neighbours now.
    similar.dedup();

    let mut suggestions = Vec::new();
    for (_distance, name) in similar.into_iter().take(MAX_SUGGESTIONS) {
        suggestions.push(name.to_owned());
    }
    suggestions
}

/// Returns the number of edits between `wanted` and the start of an id, of which the user may have
/// given only that. `None` if either is too short to be compared.
fn distance_to_id(wanted: &str, id: &str) -> Option<usize> {
    let length = wanted.chars().count();
    if length < MIN_ID_PART_LEN {
        return None;
    }
    // `length` counts characters, so the start of an id that is not ASCII may be too short, or
    // missing.
    let start = id.get(..length)?;
    Some(strsim::osa_distance(wanted, start))
}
