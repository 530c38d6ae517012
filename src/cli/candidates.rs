//! The rows below an error that several sessions match: one for each session, with what is needed
//! to choose one of them and to name it in the next command.

use super::ids::Ids;
use super::lookalikes::add_distinguishing_titles;
use super::named::{read_for_list, shown_title};
use super::output::{Clock, Ui, to_visible};
use crate::format::{ID_SUFFIX_LEN, format_age, id_suffix};
use crate::load::names::SessionCandidate;
use crate::ops::list::{ForkRows, ListedSession, build_rows};
use crate::session::paths::abbreviate_home;
use foldhash::{HashMap, HashSet};
use std::cmp::Reverse;
use std::path::Path;

/// The maximum number of sessions that have a row.
const MAX_ROWS: usize = 8;

/// How rows identify their sessions.
#[derive(Clone, Copy)]
struct RowForm {
    id: IdForm,
    /// Whether the rows have paths: an id that several copies have identifies none of them.
    has_paths: bool,
}

/// How ids are shown.
#[derive(Clone, Copy, PartialEq, Eq)]
enum IdForm {
    /// The sessions were searched by their ids, so their ends may be equal.
    Whole,
    /// The end, as in `list`.
    Suffix,
}

/// Returns a row for each session that an id or a name matches, the most recently changed first.
/// `candidates` are the first of these sessions, and `count` is the number of all: if it is
/// greater, a last row has the number of the others.
pub fn describe_candidates(candidates: &[SessionCandidate], count: usize, ui: &Ui) -> Vec<String> {
    let mut sessions = Vec::new();
    let mut unreadable_rows = Vec::new();
    for SessionCandidate { id, path, .. } in candidates {
        match read_for_list(path) {
            Some(session) => sessions.push(session),
            None => unreadable_rows.push(format!("{id}  {}", shown_path(path, ui))),
        }
    }
    sessions.sort_by_key(|session| Reverse(session.modified_ms));

    let form = RowForm {
        id: IdForm::Whole,
        has_paths: share_an_id(&sessions),
    };
    let mut rows = describe_sessions(&sessions, form, ui);
    rows.extend(unreadable_rows);
    add_rest(&mut rows, count);
    rows
}

/// Returns a row for each of the [`MAX_ROWS`] most recently changed sessions, the latest first. If
/// there are more sessions, a last row has the number of the others.
///
/// Each row also has a path if any two of the sessions share an id, because then an id need not
/// identify a session.
pub fn describe_matches(sessions: &[ListedSession], ui: &Ui) -> Vec<String> {
    let form = RowForm {
        id: IdForm::Suffix,
        has_paths: share_an_id(sessions),
    };
    let mut shown_sessions = sessions.to_vec();
    shown_sessions.sort_by_key(|session| Reverse(session.modified_ms));
    shown_sessions.truncate(MAX_ROWS);
    let mut rows = describe_sessions(&shown_sessions, form, ui);
    add_rest(&mut rows, sessions.len());
    rows
}

/// Adds a row with the number of sessions that have no row. `session_count` is the number of all.
fn add_rest(rows: &mut Vec<String>, session_count: usize) {
    let rest_count = session_count.saturating_sub(rows.len());
    if rest_count > 0 {
        rows.push(format!("and {rest_count} more"));
    }
}

/// Returns a row for each session. Titles of copies and forks of one conversation are followed by
/// the words that differ.
fn describe_sessions(sessions: &[ListedSession], form: RowForm, ui: &Ui) -> Vec<String> {
    let mut distinct_titles = HashMap::default();
    let list_rows = build_rows(sessions, ForkRows::Separate);
    add_distinguishing_titles(sessions, &list_rows, &mut distinct_titles);

    let mut rows = Vec::new();
    for (index, session) in sessions.iter().enumerate() {
        let title = match distinct_titles.get(&index) {
            Some(title) => to_visible(title),
            None => shown_title(session),
        };
        let mut row = describe_session(session, &title, form.id, ui);
        if form.has_paths {
            row += "  ";
            row += &shown_path(&session.path, ui);
        }
        rows.push(row);
    }
    rows
}

/// Whether any two of the sessions have the same id: a session and its copy. Then an id is not
/// enough to name a session, and the rows of [`describe_matches`] have paths.
pub fn share_an_id(sessions: &[ListedSession]) -> bool {
    let ids: HashSet<_> = sessions.iter().map(|session| &session.id).collect();
    ids.len() < sessions.len()
}

/// Returns the row of a session: its age, id, project, date and title.
fn describe_session(session: &ListedSession, title: &str, id_form: IdForm, ui: &Ui) -> String {
    let now_ms = match Ids::new(ui) {
        Ok(ids) => ids.now_ms(ui),
        Err(_) => (ui.world.now_ms)(),
    };
    let age = format_age(now_ms, session.modified_ms);
    let date = Clock::new(ui)
        .format_date_and_time(session.modified_ms)
        .date;
    let whole_id = session.id.to_string_lossy();
    let id = match id_form {
        IdForm::Whole => to_visible(&whole_id),
        IdForm::Suffix => to_visible(id_suffix(&whole_id, ID_SUFFIX_LEN)),
    };
    let project = shown_path(Path::new(&*session.cwd.to_string_lossy()), ui);
    format!("{age:>6}  {id}  {project}  {date}  {title}")
}

/// Returns a path as it is printed, with `~` for the home directory.
pub fn shown_path(path: &Path, ui: &Ui) -> String {
    let home = ui.home();
    to_visible(&abbreviate_home(&path.to_string_lossy(), home.as_deref()))
}
