//! Finds sessions by words of their titles, as `list` shows these, or of their first messages.
//!
//! A title is not chosen to identify a session. So words name one only if no other session has
//! them, the session is reported, and nothing is lost if another one was meant: the command leaves
//! existing sessions unchanged, or its change can be taken back. Otherwise the failure suggests the
//! sessions with the words.

use super::candidates::{describe_matches, share_an_id};
use super::foreign::resolve_foreign_title;
use super::locate::{Scope, SessionStores};
use super::named::{read_for_list, shown_title};
use super::output::{Failure, Ui, to_visible};
use super::process::command_line::{id_argument, quote_word};
use super::session_report::report_listed;
use super::sources::may_be_read;
use crate::format::{ID_SUFFIX_LEN, id_suffix};
use crate::ops::list::{ListedSession, read_beginning};
use pisess_store::workers::in_order;
use pisess_store::{FoundFile, Glance};
use std::convert::Infallible;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Whether a command accepts words of a title in place of the name of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TitlePolicy {
    /// The words name the session whose title has them, if there is only one.
    Accept,
    /// The command fails, and its error suggests the sessions whose titles have the words.
    SuggestOnly,
}

impl TitlePolicy {
    /// Returns the policy of a command that changes the sessions of these arguments. Words are
    /// accepted if the change can be taken back, for example by `prune --restore`.
    ///
    /// They are not accepted with `-q`, because the session would not be reported; nor among
    /// several arguments, which may be the words of one title without quotes.
    pub fn for_change(is_reversible: bool, arguments: &[PathBuf], ui: &Ui) -> TitlePolicy {
        if is_reversible && arguments.len() == 1 && !ui.is_quiet() {
            TitlePolicy::Accept
        } else {
            TitlePolicy::SuggestOnly
        }
    }
}

/// The minimum length of the longest word, in characters. Without it, a mistyped option or number
/// could select a session.
const MIN_LONGEST_WORD: usize = 3;

/// Returns the session whose title or first message has the words, and reports the session. If no
/// session of pi or oh-my-pi has them, it may be one of another agent. Returns `failure` if there
/// is none.
///
/// # Errors
/// If no session has the words, or if several do.
pub fn resolve_title(words: &str, failure: Failure, ui: &mut Ui) -> Result<PathBuf, Failure> {
    let sessions = find_by_title(words, ui);
    if sessions.is_empty() {
        return resolve_foreign_title(words, failure, ui);
    }
    require_one_title(words, &sessions, failure, ui)
}

/// Returns the only one of `sessions`, whose titles have the words, and reports it. Returns
/// `failure` if there is none.
///
/// # Errors
/// If there are none or several.
pub fn require_one_title(
    words: &str,
    sessions: &[ListedSession],
    failure: Failure,
    ui: &mut Ui,
) -> Result<PathBuf, Failure> {
    match sessions {
        [] => Err(failure),
        [session] => {
            report_titled(words, session, ui)?;
            Ok(session.path.clone())
        }
        _ => {
            let what = format!(
                "`{}` is in the titles of {} sessions",
                to_visible(words),
                sessions.len()
            );
            let hint = if share_an_id(sessions) {
                "give the path"
            } else {
                "give more words, or the id"
            };
            Err(Failure::invalid(what)
                .with_hint(hint)
                .with_details(describe_matches(sessions, ui)))
        }
    }
}

/// Returns the only session whose title or first message has the words, and reports the session.
/// `None` if there are none or several.
pub fn find_only_title(words: &str, ui: &mut Ui) -> Result<Option<PathBuf>, Failure> {
    let [session] = &find_by_title(words, ui)[..] else {
        return Ok(None);
    };
    report_titled(words, session, ui)?;
    Ok(Some(session.path.clone()))
}

fn report_titled(words: &str, session: &ListedSession, ui: &mut Ui) -> Result<(), Failure> {
    let how = format!("`{}` is in the title of", to_visible(words));
    report_listed(&how, session, ui)
}

/// Adds suggestions to the failure for an unknown name: sessions whose titles have the words of the
/// name.
pub fn suggest_titles(words: &str, failure: Failure, ui: &Ui) -> Failure {
    let sessions = find_by_title(words, ui);
    match &sessions[..] {
        [] => failure,
        [session] => {
            let id = session.id.to_string_lossy();
            let title = shown_title(session);
            let hint = match command_with_id(words, &id, ui) {
                Some(command) => format!("`{command}`, if you mean: {title}"),
                None => format!("did you mean {}: {title}?", id_suffix(&id, ID_SUFFIX_LEN)),
            };
            failure.with_hint(hint)
        }
        _ => {
            let key = if share_an_id(&sessions) { "path" } else { "id" };
            failure
                .with_hint(format!("titles with these words are below; give the {key}"))
                .with_details(describe_matches(&sessions, ui))
        }
    }
}

/// Returns the command line of this run with an id in place of the words of a title. `None` as for
/// [`command_with`], or if the id is not fit for a command.
fn command_with_id(words: &str, id: &str, ui: &Ui) -> Option<String> {
    command_with(OsStr::new(words), &id_argument(id)?, ui)
}

/// Returns the command line of this run, as a shell reads it, with other words in place of an
/// argument. `None` if it is not an argument of its own, as in `--from=WORDS`, or if several
/// arguments are the same.
pub fn command_with(argument: &OsStr, words: &str, ui: &Ui) -> Option<String> {
    // The first argument is the program.
    let given_arguments = ui.arguments.get(1..)?;
    let mut command = "pisess".to_owned();
    let mut replaced_count = 0;
    for given in given_arguments {
        command.push(' ');
        if given == argument {
            command += words;
            replaced_count += 1;
        } else {
            command += &quote_word(given);
        }
    }
    if replaced_count == 1 {
        Some(command)
    } else {
        None
    }
}

/// Returns the sessions whose titles have all of the words: in the current project or, if it has
/// none, in all projects.
pub fn find_by_title(words: &str, ui: &Ui) -> Vec<ListedSession> {
    let of_project = find_titled_in(&Scope::CurrentProject, words, ui);
    if of_project.is_empty() {
        find_titled_in(&Scope::All, words, ui)
    } else {
        of_project
    }
}

/// Returns the sessions of a scope whose titles or first messages have all of the words.
pub fn find_titled_in(scope: &Scope, words: &str, ui: &Ui) -> Vec<ListedSession> {
    let Some(words) = TitleWords::parse(words) else {
        return Vec::new();
    };
    let files = SessionStores::locate(ui).find_sessions(scope).files;
    filter_by_title(files, &words, ui)
}

/// Reads sessions, and returns those whose titles have all of the words. Sub-agents are left out,
/// because their first message is not from the user. Sessions of agents that `--source` does not
/// name are left out, too.
fn filter_by_title(mut files: Vec<FoundFile>, words: &TitleWords, ui: &Ui) -> Vec<ListedSession> {
    files.retain(|file| file.owner.is_none());
    let sources = ui.sources.as_ref();
    let read_match = |file: FoundFile| {
        let session = read_if_titled(&file.path, words)?;
        if may_be_read(&session.path, sources) {
            Some(session)
        } else {
            None
        }
    };
    let mut matches = Vec::new();
    let add_match = |session: Option<ListedSession>| {
        matches.extend(session);
        Ok::<(), Infallible>(())
    };
    // `add_match` never fails, so all files are read.
    let Ok(()) = in_order(files, ui.processor_count(), read_match, add_match);
    matches
}

/// Reads a session, and returns it if its title has all of the words. Most sessions are ruled out
/// by their beginning, without reading the whole file.
fn read_if_titled(path: &Path, words: &TitleWords) -> Option<ListedSession> {
    if let Some(text) = read_title_and_question(path)
        && !words.are_in(&text)
    {
        return None;
    }
    let session = read_for_list(path)?;
    if words.describe(&session) {
        Some(session)
    } else {
        None
    }
}

/// Returns the name, the title and the first question of a session. Only its name and its beginning
/// are read. `None` if they do not show the title, or if the session cannot be read.
fn read_title_and_question(path: &Path) -> Option<String> {
    let file = Glance::open(path).ok()?;
    let beginning = read_beginning(path, &file)?;
    let name = beginning.name.clone().unwrap_or_default();
    let question = beginning.session.first_question.as_ref()?;
    let title = beginning.session.title();
    Some(format!("{name} {title} {}", question.text))
}

/// The words by which a session is searched for, in lower case.
pub struct TitleWords(Vec<String>);

impl TitleWords {
    /// Returns the words of an argument; `None` if all of them are too short.
    pub fn parse(argument: &str) -> Option<TitleWords> {
        let folded = argument.to_lowercase();
        let words: Vec<String> = folded.split_whitespace().map(str::to_owned).collect();
        let is_long_enough = |word: &String| word.chars().count() >= MIN_LONGEST_WORD;
        if words.iter().any(is_long_enough) {
            Some(TitleWords(words))
        } else {
            None
        }
    }

    /// Whether the title or the first message of a session has the words. If the session has a
    /// name, its title is the name; but users may rather remember the first message.
    pub fn describe(&self, session: &ListedSession) -> bool {
        let mut title = session.title().to_string_lossy().into_owned();
        if let Some(question) = &session.first_question {
            title.push(' ');
            title.push_str(&question.text.to_string_lossy());
        }
        self.are_in(&title)
    }

    /// Whether each of the words begins a word of a title. Case is ignored.
    pub fn are_in(&self, title: &str) -> bool {
        let folded = title.to_lowercase();
        self.0.iter().all(|word| has_word_start(&folded, word))
    }
}

/// Whether a text has a word that starts with `start`.
fn has_word_start(text: &str, start: &str) -> bool {
    for (offset, _) in text.match_indices(start) {
        let before = text[..offset].chars().next_back();
        if before.is_none_or(|before| !before.is_alphanumeric()) {
            return true;
        }
    }
    false
}
