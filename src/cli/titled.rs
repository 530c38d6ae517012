//! Sessions by words of their titles, as `list` shows them, or of their first messages.
//!
//! A title is not chosen to identify a session, so only commands that leave existing sessions as
//! they are take the session whose title has the words. Commands that change a session suggest it.

use super::locate::{Scope, SessionStores};
use super::named::{read_for_list, session_row, shown_title};
use super::output::{Failure, Ui, to_visible};
use super::session_report::report_listed;
use crate::format::{ID_SUFFIX_LEN, id_suffix};
use crate::ops::list::ListedSession;
use pisess_store::FoundFile;
use pisess_store::workers::in_order;
use std::cmp::Reverse;
use std::convert::Infallible;
use std::path::PathBuf;

/// The longest of the words must have this many characters, so that a mistyped option or number
/// selects no session.
const MIN_LONGEST_WORD: usize = 3;
/// The maximum number of sessions in a message.
const MAX_ROWS: usize = 8;

/// Returns the session in whose title or first message each of the words begins a word, and reports
/// which session it is. `failure` is returned if there is none.
///
/// # Errors
/// If no title has them, or if those of several sessions do.
pub fn resolve_title(words: &str, failure: Failure, ui: &mut Ui) -> Result<PathBuf, Failure> {
    let sessions = find_by_title(words, ui);
    require_one_title(words, &sessions, failure, ui)
}

/// Returns the only session whose title has the words, and reports which session it is. `failure`
/// is returned if there is none.
///
/// # Errors
/// If there are several.
pub fn require_one_title(
    words: &str,
    sessions: &[ListedSession],
    failure: Failure,
    ui: &mut Ui,
) -> Result<PathBuf, Failure> {
    match sessions {
        [] => Err(failure),
        [session] => {
            let how = format!("`{}` is in the title of", to_visible(words));
            report_listed(&how, session, ui)?;
            Ok(session.path.clone())
        }
        _ => {
            let what = format!(
                "`{}` is in the titles of {} sessions",
                to_visible(words),
                sessions.len()
            );
            Err(Failure::invalid(what)
                .with_hint("give more words, or the id")
                .with_details(title_rows(sessions, ui)))
        }
    }
}

/// Returns the failure of a name that no session has, with the sessions whose titles have its
/// words.
pub fn suggest_titles(words: &str, failure: Failure, ui: &Ui) -> Failure {
    let sessions = find_by_title(words, ui);
    match &sessions[..] {
        [] => failure,
        [session] => {
            let id = session.id.to_string_lossy();
            let id = id_suffix(&id, ID_SUFFIX_LEN);
            failure.with_hint(format!("did you mean {id}: {}?", shown_title(session)))
        }
        _ => failure
            .with_hint("titles with these words are below; give the id")
            .with_details(title_rows(&sessions, ui)),
    }
}

/// Returns the sessions whose titles have all of the words: those of the current project or, if
/// there are none, those of all projects.
pub fn find_by_title(words: &str, ui: &Ui) -> Vec<ListedSession> {
    let Some(words) = TitleWords::parse(words) else {
        return Vec::new();
    };
    let stores = SessionStores::locate(ui);
    for scope in [Scope::CurrentProject, Scope::All] {
        let files = stores.find_sessions(&scope).files;
        let sessions = filter_by_title(files, &words, ui);
        if !sessions.is_empty() {
            return sessions;
        }
    }
    Vec::new()
}

/// Reads sessions, and returns those whose titles have all of the words. Sub-agents are left out:
/// their first message is not from the user.
fn filter_by_title(mut files: Vec<FoundFile>, words: &TitleWords, ui: &Ui) -> Vec<ListedSession> {
    files.retain(|file| file.owner.is_none());
    let mut matches = Vec::new();
    let Ok(()) = in_order(
        files,
        ui.processor_count(),
        |file| {
            let session = read_for_list(&file.path)?;
            words.describe(&session).then_some(session)
        },
        |session| {
            matches.extend(session);
            Ok::<(), Infallible>(())
        },
    );
    matches
}

/// The words, in lower case, by which a session is looked for.
pub struct TitleWords(Vec<String>);

impl TitleWords {
    /// Returns the words of an argument; `None` if all are too short.
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

    /// Whether the words are in the title or the first message of a session. A name hides the first
    /// message, by which people may remember the session as well.
    pub fn describe(&self, session: &ListedSession) -> bool {
        let mut title = session.title().to_string_lossy().into_owned();
        if let Some(question) = &session.first_question {
            title.push(' ');
            title.push_str(&question.text.to_string_lossy());
        }
        self.are_in(&title)
    }

    /// Whether each of the words begins a word of a title. Upper and lower case are not told apart.
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

/// Returns rows for the first few sessions, most recently changed first, and the number of the
/// others.
fn title_rows(sessions: &[ListedSession], ui: &Ui) -> Vec<String> {
    let mut newest_first: Vec<&ListedSession> = sessions.iter().collect();
    newest_first.sort_by_key(|session| Reverse(session.modified_ms));
    let mut rows = Vec::new();
    for session in newest_first.iter().take(MAX_ROWS) {
        let id = session.id.to_string_lossy();
        let id = id_suffix(&id, ID_SUFFIX_LEN);
        rows.push(session_row(id, session, &shown_title(session), ui));
    }
    if sessions.len() > MAX_ROWS {
        rows.push(format!("and {} more", sessions.len() - MAX_ROWS));
    }
    rows
}
